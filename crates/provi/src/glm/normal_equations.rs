//! The rows of a gaussian model as the few sums that its posterior needs, whatever its prior and its noise.
//!
//! With a reference point m₀ near the least squares solution, r = y − o − Am₀ and δ = m − m₀,
//! ```text
//! G = AᵀWA,   t = AᵀWr,   S = Σ w_n r_n²,   Σ_n w_n (y_n − o_n − a_nᵀm)² = S − 2tᵀδ + δᵀGδ
//! P = Λ + G/σ²,   g(m) = Λ(m − ν) + (Gδ − t)/σ²,   p(z | x) = N(m − P⁻¹g(m), P⁻¹) for every m
//! ```
//! so that each pair (Λ, σ) costs one factorisation and no pass over the data. Sums of residuals lose far fewer digits than sums of responses.

use super::Prior;
use crate::base::error::{Error, Result};
use crate::base::gaussian::{Gaussian, Triangular, entropy_constant};
use crate::base::linalg::{PackedCholesky, congruence, norm};
use crate::base::matrix::{Matrix, packed_len};
use crate::base::scratch::Scratch;
use crate::glm::Family;
use crate::glm::rows::Rows;
use provi_kernels::{axpy, dot, triangle};

/// The sums of a gaussian model ([`crate::scales::LinearPredictor::normal_equations`]).
#[derive(Clone, Debug)]
pub struct NormalEquations {
    /// G.
    gram: Matrix,
    /// m₀.
    at: Vec<f64>,
    /// t.
    pull: Vec<f64>,
    /// S.
    squares: f64,
    /// Σ w_n.
    weight: f64,
    /// The noise deviation of the model itself.
    noise_sd: f64,
    /// The longest chain of additions behind a sum over rows.
    chain: usize,
    /// √Σ w_n y_n² + √Σ w_n o_n².
    size: f64,
}

/// Numbers of [`Rows::add_residual_sums`] before the slopes.
const SCALARS: usize = 4;
/// The least squares solution is found with this share of G's diagonal added to it: columns may depend on each other.
const RIDGE: f64 = 1e-8;

/// How many numbers [`Rows::add_residual_sums`] adds to.
pub(crate) const fn residual_sums(dim: usize) -> usize {
    SCALARS + dim
}

impl Rows {
    /// Adds ½Σ w_n r_n², Σ w_n, Σ w_n y_n², Σ w_n o_n² and −t at that point.
    pub(crate) fn add_residual_sums(&self, at: &[f64], sums: &mut [f64]) {
        let (scalars, slopes) = sums.split_at_mut(SCALARS);
        let unit = Family::Gaussian { noise_sd: 1.0 };
        self.add_energies(unit, at, (&mut scalars[..1], slopes), &mut Scratch::default());
        for (n, (w, y)) in self.weights.iter().zip(&self.response).enumerate() {
            let offset = self.offsets.as_ref().map_or(0.0, |offsets| offsets[n]);
            scalars[1] += w;
            scalars[2] += w * y * y;
            scalars[3] += w * offset * offset;
        }
    }
}

/// What is proved about a solution.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exactness {
    /// Bound of KL(q‖p).
    pub(crate) kl: f64,
    /// log p(x) is between these.
    pub(crate) log_evidence: [f64; 2],
    /// The mean of coordinate i differs from that of the posterior by at most this many of its deviations.
    pub(crate) mean: f64,
    /// Its standard deviation by at most this share of itself.
    pub(crate) sd: f64,
}

impl NormalEquations {
    /// `residuals` returns the sums of [`Rows::add_residual_sums`] at a point, and `chain` is the longest chain of additions behind any sum
    /// here.
    pub(crate) fn new(
        gram: Matrix,
        noise_sd: f64,
        chain: usize,
        residuals: impl Fn(&[f64]) -> Result<Vec<f64>>,
    ) -> Result<Self> {
        let d = gram.rows();
        let mut ridge = gram.clone();
        for i in 0..d {
            let own = gram[(i, i)];
            ridge[(i, i)] += if own > 0.0 { RIDGE * own } else { 1.0 };
        }
        let mut at = vec![0.0; d];
        let mut factor = PackedCholesky::with_dim(d);
        if factor.factor_square(&ridge).is_ok() {
            factor.hand_over();
            at = residuals(&at)?[SCALARS..].iter().map(|x| -x).collect();
            factor.solve(&mut at);
        }
        if at.iter().any(|x| !x.is_finite()) {
            at.fill(0.0);
        }
        let sums = residuals(&at)?;
        let pull = sums[SCALARS..].iter().map(|x| -x).collect();
        let size = sums[2].sqrt() + sums[3].sqrt();
        Ok(Self { gram, at, pull, squares: 2.0 * sums[0], weight: sums[1], noise_sd, chain, size })
    }

    /// The posterior for that prior and noise (`None`: the model's own), and −log p(x).
    pub(crate) fn solve(&self, prior: &Prior, noise_sd: Option<f64>) -> Result<(Gaussian<Triangular>, f64)> {
        let (d, precision) = (self.at.len(), self.precision(prior, noise_sd));
        let mut factor = PackedCholesky::with_dim(d);
        let what = "precision of the coefficients";
        factor.factor_square(&precision).map_err(|pivot| Error::NotPositiveDefinite {
            what,
            dim: d,
            pivot,
        })?;
        factor.hand_over();
        let mut parameters = [self.at.clone(), vec![0.0; packed_len(d)]].concat();
        // A second step removes what rounding left of the first.
        for _ in 0..2 {
            let mut step = self.gradient(&parameters[..d], prior, noise_sd);
            factor.solve(&mut step);
            axpy(-1.0, &step, &mut parameters[..d]);
        }
        factor.write_inverse_factor(&mut parameters[d..]);
        let q = Gaussian::checked(d, parameters)?;
        let neg_elbo = self.neg_elbo(&q, prior, noise_sd, d as f64)?;
        Ok((q, neg_elbo))
    }

    /// Σ w_n and Σ w_n E_q(y_n − s_n)² at the posterior q, where tr(PΣ) = d.
    pub(crate) fn expected_squares(
        &self,
        q: &Gaussian<Triangular>,
        prior: &Prior,
        noise_sd: Option<f64>,
    ) -> (f64, f64) {
        let variance = self.variance(noise_sd);
        let spread = (q.dim() as f64 - prior.trace(q.dim(), q.factor())).max(0.0);
        (self.weight, self.residual_squares(q.mean()) + variance * spread)
    }

    /// Bounds of the distance between q and the posterior, and of the evidence. With X = CᵀPC and g the gradient at q's mean,
    /// ```text
    /// KL(q‖p) = ½[tr X − d − log det X + gᵀP⁻¹g] ≤ ½[e²/(1 − e) + ‖Cᵀg‖²/(1 − e)],   e = ‖X − I‖_F
    /// |m_i − m_i*| ≤ sd_i ‖Cᵀg‖/(1 − e),   sd_i/√(1 + e) ≤ sd_i* ≤ sd_i/√(1 − e),   log p(x) = ELBO(q) + KL(q‖p)
    /// ```
    /// Rounding: an entry of a sum over n rows or d columns has an error of at most γ times the sum of the absolute values of its terms. For G that
    /// is at most γ√(G_iiG_jj), for t at most √G_jj times the errors of residuals in the norm of W (both by Cauchy and Schwarz), and for X in
    /// the Frobenius norm γ‖|C|ᵀ√diag P‖². `None` if rounding leaves nothing to say.
    pub(crate) fn exactness(
        &self,
        q: &Gaussian<Triangular>,
        prior: &Prior,
        noise_sd: Option<f64>,
    ) -> Result<Option<Exactness>> {
        let d = q.dim();
        let unit = f64::EPSILON;
        let gamma = 2.0 * (self.chain as f64 + 4.0 * d as f64 + 40.0) * unit;
        let variance = self.variance(noise_sd);
        let precision = self.precision(prior, noise_sd);
        let factor = q.factor_matrix();
        let x = congruence(&precision, &factor);
        let roots: Vec<f64> = (0..d).map(|i| precision[(i, i)].sqrt()).collect();
        let mut reach = vec![0.0; d];
        for (i, root) in roots.iter().enumerate() {
            factor.row(i).iter().zip(&mut reach).for_each(|(c, to)| *to += c.abs() * root);
        }
        let lost = gamma * dot(&reach, &reach) + prior.rounding() * dot(q.factor(), q.factor());
        let away: f64 = (0..d)
            .map(|i| {
                let unit = |j: usize| if i == j { 1.0 } else { 0.0 };
                (0..d).map(|j| (x[(i, j)] - unit(j)).powi(2)).sum::<f64>()
            })
            .sum();
        let e = away.sqrt() * (1.0 + 1e-10) + lost;
        if e.is_nan() || e >= 0.5 {
            return Ok(None);
        }
        // Sizes of the terms.
        let (mean, columns) =
            (q.mean(), (0..d).map(|i| self.gram[(i, i)].max(0.0).sqrt()).collect::<Vec<_>>());
        let weighed = |x: &[f64]| -> f64 { columns.iter().zip(x).map(|(a, x)| a * x.abs()).sum() };
        let delta: Vec<f64> = mean.iter().zip(&self.at).map(|(m, at)| m - at).collect();
        let residual_error =
            2.0 * (d as f64 + 8.0) * unit * (self.size + weighed(&self.at)) + gamma * self.squares.sqrt();
        let moved = gamma * weighed(&delta) + 2.0 * unit * (weighed(mean) + weighed(&self.at));
        let reach: Vec<f64> = (0..d).map(|i| (mean[i] - prior.center(i)).abs()).collect();
        let sizes = prior.sizes(&reach);
        let gradient = self.gradient(mean, prior, noise_sd);
        let errors: Vec<f64> = (0..d)
            .map(|j| {
                columns[j] * (residual_error + moved) / variance
                    + gamma
                        * (sizes[j]
                            + gradient[j].abs()
                            + columns[j] * (self.squares.sqrt() + weighed(&delta)) / variance)
                    + prior.rounding() * norm(&reach)
            })
            .collect();
        let mut pulled = vec![0.0; d];
        triangle::multiply_transposed(q.factor(), &gradient, &mut pulled);
        let absolute: Vec<f64> = q.factor().iter().map(|x| x.abs()).collect();
        let mut pulled_errors = vec![0.0; d];
        triangle::multiply_transposed(&absolute, &errors, &mut pulled_errors);
        let mut sized = vec![0.0; d];
        triangle::multiply_transposed(
            &absolute,
            &gradient.iter().map(|x| x.abs()).collect::<Vec<_>>(),
            &mut sized,
        );
        let slope = (norm(&pulled) + norm(&pulled_errors) + gamma * norm(&sized)) * (1.0 + 1e-10);
        let kl = 0.5 * (e * e + slope * slope) / (1.0 - e) * (1.0 + 1e-10);

        let trace: f64 = (0..d).map(|i| x[(i, i)]).sum();
        let value = self.neg_elbo(q, prior, noise_sd, trace)?;
        let root = self.squares.sqrt() + weighed(&delta);
        let (own, own_size) = prior.constant(d);
        let log_sd = 0.5 * variance.ln().abs() + 1.0;
        let entropy: f64 = (0..d).map(|i| factor[(i, i)].ln().abs() + 3.0).sum();
        let value_error = gamma
            * (root * root / variance
                + reach.iter().zip(&sizes).map(|(x, s)| x * s).sum::<f64>()
                + own.abs()
                + own_size
                + self.weight * log_sd
                + entropy
                + value.abs())
            + root * (residual_error + moved) / variance
            + prior.rounding() * dot(&reach, &reach)
            + (d as f64).sqrt() * lost;
        Ok(Some(Exactness {
            kl,
            log_evidence: [-value - value_error, -value + value_error + kl],
            mean: slope / (1.0 - e) * (1.0 + 1e-10),
            sd: ((1.0 - e).sqrt().recip() - 1.0) * (1.0 + 1e-10) + 4.0 * unit,
        }))
    }

    fn variance(&self, noise_sd: Option<f64>) -> f64 {
        let sd = noise_sd.unwrap_or(self.noise_sd);
        sd * sd
    }

    /// P.
    fn precision(&self, prior: &Prior, noise_sd: Option<f64>) -> Matrix {
        let mut precision = prior.quadratic(self.at.len()).to_matrix(self.at.len());
        precision.add_scaled(1.0 / self.variance(noise_sd), &self.gram);
        precision
    }

    /// g(m).
    fn gradient(&self, mean: &[f64], prior: &Prior, noise_sd: Option<f64>) -> Vec<f64> {
        let delta: Vec<f64> = mean.iter().zip(&self.at).map(|(m, at)| m - at).collect();
        let information = 1.0 / self.variance(noise_sd);
        let of_rows = |i: usize| information * (dot(self.gram.row(i), &delta) - self.pull[i]);
        let mut out: Vec<f64> = (0..mean.len()).map(of_rows).collect();
        _ = prior.energy(mean, &mut out);
        out
    }

    /// Σ w_n (y_n − o_n − a_nᵀm)².
    fn residual_squares(&self, mean: &[f64]) -> f64 {
        let delta: Vec<f64> = mean.iter().zip(&self.at).map(|(m, at)| m - at).collect();
        let square: f64 = (0..delta.len()).map(|i| delta[i] * dot(self.gram.row(i), &delta)).sum();
        (self.squares - 2.0 * dot(&self.pull, &delta) + square).max(0.0)
    }

    /// −ELBO of q, with every constant, from tr(PΣ).
    fn neg_elbo(
        &self,
        q: &Gaussian<Triangular>,
        prior: &Prior,
        noise_sd: Option<f64>,
        trace: f64,
    ) -> Result<f64> {
        let (d, variance) = (q.dim(), self.variance(noise_sd));
        let energy = prior.energy(q.mean(), &mut vec![0.0; d]) + prior.constant(d).0;
        let of_rows = 0.5 * self.residual_squares(q.mean()) / variance
            + 0.5 * self.weight * (2.0 * std::f64::consts::PI * variance).ln();
        Ok(energy + of_rows + 0.5 * trace - q.log_det()? - entropy_constant(d))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auto::scales::LinearPredictor;
    use crate::auto::solve::Solver;
    use crate::glm::Glm;
    use crate::glm::design::Design;

    /// Thirty rows with weights and offsets, a far column, and coefficients of which two are correlated.
    fn model() -> Glm {
        let mut x = [0.0; 90];
        provi_kernels::normals(5, 0, 0, &mut x);
        let mut entries = Vec::new();
        for row in x.chunks_exact(3) {
            entries.extend([1.0, row[0], 40.0 + row[1], row[2]]);
        }
        let y: Vec<f64> = x.chunks_exact(3).map(|row| 3.0 + row[0] - 0.5 * row[1] * row[2]).collect();
        let prior = Prior::scale(2.0).unwrap().with_mean(&[0.5, 0.0, -0.1, 0.0]).unwrap();
        let covariance = Matrix::new(2, 2, vec![1.0, 0.6, 0.6, 2.0]).unwrap();
        let prior = prior.with_covariance(4, &[&[1], &[3]], &covariance).unwrap();
        let weights: Vec<f64> = (0..30).map(|n| 0.5 + 0.1 * f64::from(n)).collect();
        let offsets: Vec<f64> = (0..30).map(|n| 0.02 * f64::from(n)).collect();
        let design = Design::dense(30, 4, &entries).unwrap();
        let model = Glm::linear(design, &y, 0.7, prior).unwrap();
        model.with_weights(&weights).unwrap().with_offsets(&offsets).unwrap()
    }

    #[test]
    fn they_give_the_posterior_and_its_evidence() {
        let model = model();
        let equations = model.normal_equations().unwrap().unwrap();
        for noise_sd in [0.7, 0.05, 11.0] {
            let at = LinearPredictor::with_noise_sd(model.clone(), noise_sd).unwrap();
            let other = Solver::default().run(&at).unwrap();
            let (q, neg_elbo) = equations.solve(model.prior(), Some(noise_sd)).unwrap();
            assert!((neg_elbo - other.neg_elbo).abs() < 1e-9 * (1.0 + neg_elbo.abs()), "{neg_elbo}");
            for i in 0..4 {
                let sd = other.gaussian.deviation(i);
                assert!((q.mean()[i] - other.gaussian.mean()[i]).abs() < 1e-6 * sd, "{i}");
                assert!((q.deviation(i) / sd - 1.0).abs() < 1e-6, "{i}");
            }
            let (weight, squares) = equations.expected_squares(&q, model.prior(), Some(noise_sd));
            let own = at.noise_slope(&q.clone().into()).unwrap();
            let slope = weight - squares / (noise_sd * noise_sd);
            assert!((slope - own).abs() < 1e-9 * (weight + own.abs()), "{slope} {own}");
        }
        // The model's own noise if none is given.
        let [own, given] = [None, Some(0.7)].map(|sd| equations.solve(model.prior(), sd).unwrap().1);
        assert!((own - given).abs() <= 0.0);
    }

    /// Bounds of another Gaussian hold, and are not much larger than its exact distance.
    #[test]
    fn what_is_proved_about_a_gaussian_is_true_and_tight() {
        let model = model();
        let equations = model.normal_equations().unwrap().unwrap();
        let (best, neg_elbo) = equations.solve(model.prior(), None).unwrap();
        let exact = equations.exactness(&best, model.prior(), None).unwrap().unwrap();
        assert!(exact.kl < 1e-15 && exact.mean < 1e-7 && exact.sd < 1e-9, "{exact:?}");
        let [low, high] = exact.log_evidence;
        assert!(low <= -neg_elbo && -neg_elbo <= high && high - low < 1e-8, "{low} {high} {neg_elbo}");
        for size in [1e-4, 1e-3] {
            let mut parameters = best.parameters().to_vec();
            let mut noise = vec![0.0; parameters.len()];
            provi_kernels::normals(6, 0, 0, &mut noise);
            for (i, (x, noise)) in parameters.iter_mut().zip(&noise).enumerate() {
                *x += size * noise * if i < 4 { best.deviation(i) } else { x.abs() };
            }
            let q = Gaussian::checked(4, parameters).unwrap();
            let found = equations.exactness(&q, model.prior(), None).unwrap().unwrap();
            // log p(x) is known, so KL = log p(x) − ELBO.
            let kl = -neg_elbo
                + Solver::default()
                    .run_from(&model, &q, &mut |_, _| std::ops::ControlFlow::Break(()))
                    .unwrap()
                    .neg_elbo;
            assert!(kl <= found.kl && found.kl < 4.0 * kl, "{size}: {kl} {}", found.kl);
            assert!(found.log_evidence[0] <= -neg_elbo && -neg_elbo <= found.log_evidence[1]);
            let mut largest = [0f64; 2];
            for i in 0..4 {
                let sd = q.deviation(i);
                largest[0] = largest[0].max((q.mean()[i] - best.mean()[i]).abs() / sd);
                largest[1] = largest[1].max((best.deviation(i) / sd - 1.0).abs());
            }
            assert!(largest[0] <= found.mean && largest[1] <= found.sd, "{largest:?} {found:?}");
            // Both are those of the worst functional, which the KL knows: ½‖Cᵀg‖² and e²/4 are parts of it.
            assert!(found.mean < 1.5 * (2.0 * kl).sqrt() && found.sd < 1.5 * kl.sqrt(), "{kl} {found:?}");
        }
    }
}

//! Gaussians whose covariance is a diagonal plus a matrix of low rank: an unproven recipe.
//!
//! ```text
//! q = N(m, Σ),   Σ = D² + BBᵀ,   D diagonal, B of k columns
//! f(q) = E V − Σ_i log d_i − ½ log det(I + BᵀD⁻²B) − (d/2)(1 + log 2π)
//! ∇_m f = E∇V,   ∂f/∂log d_i = ((E∇²V)_ii − (Σ⁻¹)_ii) d_i²,   ∇_B f = (E∇²V − Σ⁻¹)B
//! ```
//! The factors of these covariances are no subspace and f is not convex in (m, D, B), so no theorem says that the descent
//! ends at the best of the family. It begins at a member near the Laplace approximation and ends where the gradient
//! vanishes. Without exact expectations E is the mean over a fixed list of draws z = m + Dε + Bη with both signs,
//! and the derivatives of f are those of this mean.

use super::initial::laplace_near;
use super::{Auto, Certified, Run, Search};
use crate::base::draws::{Draws, Purpose, Seed};
use crate::base::error::{Error, Result};
use crate::base::gaussian::{Gaussian, Triangular, entropy_constant};
use crate::base::linalg::{Cholesky, eigen};
use crate::base::matrix::{Matrix, packed_index};
use crate::base::pattern::{Pattern, precision_of};
use crate::base::stop;
use crate::target::expectations::{Expectations, Moments};
use crate::target::mode::{Path, climb};
use crate::target::{Evaluator, Target};
use provi_kernels::{axpy, dot};

/// Draws of the list if expectations are not exact, at least, and for each column of B; each is used with both signs. B could
/// undo the noise of as many draws as it has columns, and f would have no minimum.
const PAIRS: usize = 256;
const PAIRS_OF_A_COLUMN: usize = 16;
/// Most columns of B if expectations are not exact.
const MOST_COLUMNS: usize = 64;
/// The least length of a column at the start: at zero its gradient vanishes, and it would stay there.
const LEAST_COLUMN: f64 = 0.01;
/// The squared decrement at which the descent ends is twice this, in nats: with exact expectations, and with draws.
const NATS: [f64; 2] = [1e-11, 1e-7];
/// Sweeps towards the member nearest to a Gaussian, and the decrease that ends them, in nats: the descent goes on from there.
const SWEEPS: usize = 20;
const LITTLE: f64 = 1e-6;
/// Newton steps of half a sweep.
const NEWTON: usize = 50;

impl Auto {
    /// Refuses what a descent among covariances of low rank has no use for.
    pub(super) fn refuse_unused(&self) -> Result<()> {
        let unused = [(self.starts > 1, "starts"), (self.evaluations.is_some(), "evaluations")];
        match unused.into_iter().find(|(asked, _)| *asked && !self.pattern.is_subspace()) {
            None => Ok(()),
            Some((_, what)) => {
                let why =
                    format!("it is sought by one descent until that ends; leave out the number of {what}");
                Err(Error::Pattern { family: self.pattern.to_string(), why })
            }
        }
    }
}

impl Run<'_, '_> {
    /// A descent among covariances of low rank plus a diagonal, from a member near the Laplace approximation.
    pub(super) fn low_rank(mut self, rank: usize) -> Result<Certified> {
        if self.watch.from.is_some() {
            return Err(Error::Checkpoint { what: "cannot be used: a search of low rank keeps none" });
        }
        let start = self.auto.start(self.target.dim())?;
        let (start, evaluations) = laplace_near(self.target.target(), &start)?;
        let fit = match stop::phase("the search", || descend(self.target, rank, &start, self.seed)) {
            Ok(found) => {
                let evaluations = evaluations + found.evaluations * found.draws.max(1) as u64;
                self.fit(found.gaussian, found.evaluations, found.draws, evaluations, !found.converged, None)?
            }
            // Stopped before the descent had a result: return a member of the family at the start.
            Err(Error::Stopped { .. }) => self.fit(diagonal(&start)?, 0, 0, evaluations, true, None)?,
            Err(error) => return Err(error),
        };
        let audited = self.audit(self.auto.audit, &fit.gaussian)?;
        Ok(Certified { fit, audited, search: Search::default(), audit_seconds: self.audit_seconds })
    }
}

/// A member of the family, found by the descent.
struct LowRank {
    gaussian: Gaussian<Triangular>,
    /// Evaluations of f.
    evaluations: u64,
    /// Draws for each of them.
    draws: usize,
    /// Whether the gradient vanishes there.
    converged: bool,
}

/// D and B of one covariance.
struct Parts {
    diagonal: Vec<f64>,
    /// d × k.
    columns: Matrix,
}

/// Descends from a member near a Gaussian.
fn descend(target: Evaluator<'_>, rank: usize, from: &Gaussian<Triangular>, seed: Seed) -> Result<LowRank> {
    let expectations = target.target().expectations();
    if expectations.is_none() && rank > MOST_COLUMNS {
        let why =
            format!("without exact expectations at most lowrank:{MOST_COLUMNS} can be told from its draws");
        return Err(Error::Pattern { family: Pattern::LowRank(rank).to_string(), why });
    }
    let near = near(&precision_of(from.dim(), from.factor())?, rank)?;
    let objective = Objective::new(target, expectations, from.mean(), &near, seed);
    let start = objective.start(&near);
    let nats = if expectations.is_some() { NATS[0] } else { NATS[1] };
    let mut path = Path::default();
    let end = climb(&objective, &start, nats, &mut path)?;
    let gaussian = objective.gaussian(&end.point)?;
    Ok(LowRank { gaussian, evaluations: end.evaluations, draws: objective.draws, converged: path.converged })
}

/// A member of every family near a Gaussian: its mean, and the diagonal of its factor.
fn diagonal(q: &Gaussian<Triangular>) -> Result<Gaussian<Triangular>> {
    let mut factor = vec![0.0; q.factor().len()];
    (0..q.dim()).map(|i| packed_index(i, i)).for_each(|at| factor[at] = q.factor()[at]);
    Gaussian::new(q.mean(), &factor)
}

/// Sweeps that decrease ½tr(HΣ) − ½ log det Σ, which is KL(N(m, Σ) ‖ N(m, H⁻¹)) up to a constant.
///
/// With B = DU, the minimiser in U for a given D has the eigenvectors u_j of DHD that belong to its smallest eigenvalues
/// λ_j < 1, each times √(1/λ_j − 1). Given U, the objective is
/// ```text
/// ½dᵀ(H∘(I + UUᵀ))d − Σ log d_i,
/// ```
/// convex and self-concordant: Newton steps of length 1/(1 + decrement) stay positive and converge.
fn near(h: &Matrix, rank: usize) -> Result<Parts> {
    let d = h.rows();
    let mut diagonal: Vec<f64> = (0..d).map(|i| h[(i, i)].sqrt().recip()).collect();
    let mut columns = Matrix::zeros(d, rank);
    let mut last = f64::INFINITY;
    for _ in 0..SWEEPS {
        let mut scaled = h.clone();
        for i in 0..d {
            scaled.row_mut(i).iter_mut().zip(&diagonal).for_each(|(x, b)| *x *= diagonal[i] * b);
        }
        let (values, vectors) = eigen("scaled precision", &scaled)?;
        // Eigenvalues are known to about this.
        let least = d as f64 * f64::EPSILON * values[d - 1];
        for j in 0..rank {
            let length = (values[j].max(least).recip() - 1.0).max(0.0).sqrt().max(LEAST_COLUMN);
            (0..d).for_each(|i| columns[(i, j)] = length * vectors[(j, i)]);
        }
        let mut product = h.clone();
        for i in 0..d {
            for l in 0..d {
                let one = if i == l { 1.0 } else { 0.0 };
                product[(i, l)] *= one + dot(columns.row(i), columns.row(l));
            }
        }
        let value = scales(&product, &mut diagonal)? - 0.5 * log_det_of_columns(&columns, &vec![1.0; d])?;
        if last - value <= LITTLE {
            break;
        }
        last = value;
    }
    for (i, &scale) in diagonal.iter().enumerate() {
        columns.row_mut(i).iter_mut().for_each(|x| *x *= scale);
    }
    Ok(Parts { diagonal, columns })
}

/// Minimises ½dᵀAd − Σ log d_i; returns the minimum.
fn scales(a: &Matrix, d: &mut [f64]) -> Result<f64> {
    let value = |d: &[f64]| {
        let rows = (0..d.len()).map(|i| 0.5 * d[i] * dot(a.row(i), d) - d[i].ln());
        rows.sum::<f64>()
    };
    for _ in 0..NEWTON {
        let mut hessian = a.clone();
        let pull: Vec<f64> = (0..d.len()).map(|i| dot(a.row(i), d) - d[i].recip()).collect();
        (0..d.len()).for_each(|i| hessian[(i, i)] += d[i].powi(-2));
        let mut step = pull.clone();
        Cholesky::new("scales of a low-rank covariance", &hessian)?.solve(&mut step);
        let decrement2 = dot(&step, &pull).max(0.0);
        axpy(-1.0 / (1.0 + decrement2.sqrt()), &step, d);
        if decrement2 <= LITTLE {
            break;
        }
    }
    Ok(value(d))
}

/// I + UᵀSU for a diagonal S.
fn small_gram(u: &Matrix, s: &[f64]) -> Matrix {
    let k = u.columns();
    let mut gram = Matrix::scaled_identity(k, 1.0);
    for (i, s) in s.iter().enumerate() {
        let row = u.row(i);
        for a in 0..k {
            (0..k).for_each(|b| gram[(a, b)] += s * row[a] * row[b]);
        }
    }
    gram
}

fn log_det_of_columns(u: &Matrix, s: &[f64]) -> Result<f64> {
    Ok(Cholesky::new("covariance of low rank", &small_gram(u, s))?.log_det())
}

/// −f as a log density in θ = (μ, λ, U): m = m₀ + D₀μ, D = D₀e^λ, B = D₀U, so that every unknown is of order 1.
struct Objective<'t> {
    target: Evaluator<'t>,
    expectations: Option<&'t dyn Expectations>,
    mean: Vec<f64>,
    scale: Vec<f64>,
    rank: usize,
    /// (ε, η), draw by draw; every second one is the negative of the one before.
    list: Vec<f64>,
    draws: usize,
}

impl<'t> Objective<'t> {
    fn new(
        target: Evaluator<'t>,
        expectations: Option<&'t dyn Expectations>,
        mean: &[f64],
        near: &Parts,
        seed: Seed,
    ) -> Self {
        let rank = near.columns.columns();
        let pairs = if expectations.is_some() { 0 } else { PAIRS.max(PAIRS_OF_A_COLUMN * rank) };
        let (width, draws) = (mean.len() + rank, 2 * pairs);
        let (mut list, mut half) = (vec![0.0; draws * width], vec![0.0; pairs * width]);
        Draws::new(seed, Purpose::Optimise).fill(0, 0, &mut half);
        for (pair, draw) in list.chunks_exact_mut(2 * width).zip(half.chunks_exact(width)) {
            let (first, second) = pair.split_at_mut(width);
            first.copy_from_slice(draw);
            second.iter_mut().zip(draw).for_each(|(x, y)| *x = -y);
        }
        Self { target, expectations, mean: mean.to_vec(), scale: near.diagonal.clone(), rank, list, draws }
    }

    fn start(&self, near: &Parts) -> Vec<f64> {
        let d = self.mean.len();
        let mut theta = vec![0.0; 2 * d];
        for (i, scale) in self.scale.iter().enumerate() {
            theta.extend(near.columns.row(i).iter().map(|x| x / scale));
        }
        theta
    }

    /// m, D and B.
    fn parts(&self, theta: &[f64]) -> (Vec<f64>, Parts) {
        let d = self.mean.len();
        let at = |i: usize| self.mean[i] + self.scale[i] * theta[i];
        let diagonal = (0..d).map(|i| self.scale[i] * theta[d + i].exp()).collect();
        let mut columns = Matrix::zeros(d, self.rank);
        for (i, from) in theta[2 * d..].chunks_exact(self.rank).enumerate() {
            columns.row_mut(i).iter_mut().zip(from).for_each(|(to, x)| *to = self.scale[i] * x);
        }
        ((0..d).map(at).collect(), Parts { diagonal, columns })
    }

    fn gaussian(&self, theta: &[f64]) -> Result<Gaussian<Triangular>> {
        let (mean, Parts { diagonal, columns }) = self.parts(theta);
        let d = mean.len();
        let mut covariance = Matrix::zeros(d, d);
        for i in 0..d {
            for j in 0..=i {
                let value = dot(columns.row(i), columns.row(j));
                (covariance[(i, j)], covariance[(j, i)]) = (value, value);
            }
            covariance[(i, i)] += diagonal[i] * diagonal[i];
        }
        Gaussian::from_covariance(&mean, covariance)
    }

    /// E V, and its gradient in θ.
    fn energy(&self, theta: &[f64], gradient: &mut [f64]) -> Result<f64> {
        let d = self.mean.len();
        let (mean, Parts { diagonal, columns }) = self.parts(theta);
        let (slopes, rest) = gradient.split_at_mut(d);
        let (logs, pulls) = rest.split_at_mut(d);
        if let Some(expectations) = self.expectations {
            let mut moments = Moments::new(d);
            expectations.expect(&self.gaussian(theta)?, &mut moments)?;
            for i in 0..d {
                let h = moments.hessian.row(i);
                slopes[i] = self.scale[i] * moments.gradient[i];
                logs[i] = h[i] * diagonal[i] * diagonal[i];
                let row = &mut pulls[i * self.rank..(i + 1) * self.rank];
                row.fill(0.0);
                h.iter().enumerate().for_each(|(j, h)| axpy(self.scale[i] * h, columns.row(j), row));
            }
            return Ok(moments.value);
        }
        let mut points = vec![0.0; self.draws * d];
        let width = d + self.rank;
        for (point, draw) in points.chunks_exact_mut(d).zip(self.list.chunks_exact(width)) {
            let (noise, common) = draw.split_at(d);
            for i in 0..d {
                point[i] = mean[i] + diagonal[i] * noise[i] + dot(columns.row(i), common);
            }
        }
        let (mut values, mut gradients) = (vec![0.0; self.draws], vec![0.0; self.draws * d]);
        self.target.evaluate(&points, &mut values, &mut gradients, &mut self.target.scratch(self.draws))?;
        [&mut *slopes, &mut *logs, &mut *pulls].into_iter().for_each(|part| part.fill(0.0));
        let share = -1.0 / self.draws as f64;
        for (own, draw) in gradients.chunks_exact(d).zip(self.list.chunks_exact(width)) {
            let (noise, common) = draw.split_at(d);
            for i in 0..d {
                slopes[i] += share * self.scale[i] * own[i];
                logs[i] += share * own[i] * noise[i] * diagonal[i];
                let row = &mut pulls[i * self.rank..(i + 1) * self.rank];
                axpy(share * self.scale[i] * own[i], common, row);
            }
        }
        Ok(share * values.iter().sum::<f64>())
    }
}

impl Target for Objective<'_> {
    fn dim(&self) -> usize {
        self.mean.len() * (2 + self.rank)
    }

    /// The entropy in the unknowns, with S = e^{−2λ} and G = I + UᵀSU:
    /// ```text
    /// Σ(log d₀ + λ) + ½ log det G;   its derivatives are 1 − s_i u_iᵀG⁻¹u_i in λ_i, and SUG⁻¹ in U
    /// ```
    fn log_density(&self, theta: &[f64], gradient: &mut [f64]) -> Result<f64> {
        let d = self.mean.len();
        let energy = match self.energy(theta, gradient) {
            Err(Error::NotFinite { .. } | Error::NotPositiveDefinite { .. }) => return Ok(f64::NEG_INFINITY),
            energy => energy?,
        };
        gradient.iter_mut().for_each(|x| *x = -*x);
        let narrow: Vec<f64> = theta[d..2 * d].iter().map(|x| (-2.0 * x).exp()).collect();
        let columns = Matrix::new(d, self.rank, theta[2 * d..].to_vec())?;
        let Ok(gram) = Cholesky::new("covariance of low rank", &small_gram(&columns, &narrow)) else {
            return Ok(f64::NEG_INFINITY);
        };
        let mut entropy = 0.5 * gram.log_det() + entropy_constant(d);
        for i in 0..d {
            entropy += self.scale[i].ln() + theta[d + i];
            let mut solved = columns.row(i).to_vec();
            gram.solve(&mut solved);
            gradient[d + i] += 1.0 - narrow[i] * dot(columns.row(i), &solved);
            let first = 2 * d + i * self.rank;
            axpy(narrow[i], &solved, &mut gradient[first..first + self.rank]);
        }
        Ok(entropy - energy)
    }
}

#[cfg(test)]
mod tests;

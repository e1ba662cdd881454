//! The spread of an estimate over data sets, if the model may be wrong: the sandwich and the bootstrap.
//!
//! The estimate is the mean of the best Gaussian. Both spreads are frequentist, and neither is the posterior's; no certificate covers them.
//! ```text
//! sandwich:   H⁻¹JH⁻¹,   H = Λ + Σ_n w_n φ_n''(s_n) a_n a_nᵀ,   J = Σ_c g_c g_cᵀ,   g_c = Σ_{n ∈ c} w_n φ_n'(s_n) a_n
//! ```
//! at s_n = a_nᵀm + o_n. Without clusters every row is its own (HC0); there is no small-sample factor. The prior's precision Λ is in H, and the
//! prior's slope in no g_c: the prior is held fixed, also one whose scales come from the data. It estimates the spread over
//! data sets of independent clusters, to leading order and for many of them: m solves E_q φ' = 0, and the sums are taken at m itself.
//!
//! The bootstrap is the Bayesian one: each cluster's weight is multiplied by an exponential variable, all of them scaled to the mean 1, and the
//! model is solved again.

use super::solve::{Solver, Stop};
use crate::base::chunked::{self, Chunks};
use crate::base::draws::{Draws, Purpose, Seed};
use crate::base::error::{Error, Result};
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::linalg::{Cholesky, multiply};
use crate::base::matrix::Matrix;
use crate::base::stop;
use crate::glm::Glm;
use std::ops::ControlFlow;

/// What the work is called if it is stopped.
const DURING: &str = "the bootstrap";
/// Refits between two looks at whether to stop.
const WAVE: usize = 16;

/// Which rows belong together: the number of its cluster for each row, from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clusters {
    of_row: Vec<usize>,
    count: usize,
}

impl Clusters {
    /// Every row its own.
    pub fn of_rows(rows: usize) -> Self {
        Self { of_row: (0..rows).collect(), count: rows }
    }

    /// From the labels of the rows.
    pub fn of_labels<T: Ord>(labels: &[T]) -> Self {
        let mut distinct: Vec<&T> = labels.iter().collect();
        distinct.sort();
        distinct.dedup();
        let of_row = labels.iter().map(|label| distinct.partition_point(|other| *other < label)).collect();
        Self { of_row, count: distinct.len() }
    }

    /// The number of clusters.
    pub fn count(&self) -> usize {
        self.count
    }

    fn check(&self, model: &Glm) -> Result<()> {
        match model.design().rows() {
            expected if expected == self.of_row.len() => Ok(()),
            expected => Err(Error::Shape { what: "clusters", found: self.of_row.len(), expected }),
        }
    }
}

/// H⁻¹JH⁻¹ at a mean. Cost: a pass over the rows, and a square root of H.
///
/// ```
/// use provi::{Design, robust::{Clusters, sandwich}, target::{Glm, Prior}};
///
/// // A mean with a flat prior: Σ(y − m)²/n².
/// let model = Glm::linear(Design::dense(4, 1, &[1.0; 4])?, &[0.0, 1.0, 3.0, 4.0], 1.0, Prior::scale(1e9)?)?;
/// let found = sandwich(&model, &[2.0], &Clusters::of_rows(4))?;
/// assert!((found[(0, 0)] - 10.0 / 16.0).abs() < 1e-9);
/// # Ok::<(), provi::Error>(())
/// ```
pub fn sandwich(model: &Glm, mean: &[f64], clusters: &Clusters) -> Result<Matrix> {
    clusters.check(model)?;
    let d = model.design().columns();
    if mean.len() != d {
        return Err(Error::Shape { what: "mean", found: mean.len(), expected: d });
    }
    let (rows, family) = (&model.rows, model.family());
    let mut curvature = model.linear.precision();
    rows.add_hessian(family, mean, &mut curvature);
    let predictors = rows.all_predictors(mean);
    let slope = |n: usize| rows.weights[n] * family.derivatives(predictors[n], rows.response[n])[1];
    // Rows of a cluster follow each other, so that one sum is held at a time.
    let mut order: Vec<usize> = (0..clusters.of_row.len()).collect();
    order.sort_by_key(|&n| clusters.of_row[n]);
    let mut meat = Matrix::zeros(d, d);
    let mut score = vec![0.0; d];
    for together in order.chunk_by(|&a, &b| clusters.of_row[a] == clusters.of_row[b]) {
        stop::check()?;
        score.fill(0.0);
        together.iter().for_each(|&n| rows.design().add_row(n, slope(n), &mut score));
        for i in 0..d {
            let factor = score[i];
            if factor.abs() > 0.0 {
                meat.row_mut(i).iter_mut().zip(&score).for_each(|(to, x)| *to += factor * x);
            }
        }
    }
    let bread = Cholesky::new("curvature at the mean", &curvature)?.inverse();
    Ok(multiply(&multiply(&bread, &meat), &bread))
}

/// Estimates from reweighted rows.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Bootstrap {
    /// The mean of the best Gaussian of each refit, a row each.
    pub means: Matrix,
    /// Refits that did not converge.
    pub unconverged: usize,
}

impl Bootstrap {
    /// Their covariance, with the divisor B.
    pub fn covariance(&self) -> Matrix {
        let (count, d) = (self.means.rows() as f64, self.means.columns());
        let centre: Vec<f64> =
            (0..d).map(|j| (0..self.means.rows()).map(|k| self.means[(k, j)]).sum::<f64>() / count).collect();
        let mut out = Matrix::zeros(d, d);
        for k in 0..self.means.rows() {
            let apart: Vec<f64> = self.means.row(k).iter().zip(&centre).map(|(x, c)| x - c).collect();
            for i in 0..d {
                out.row_mut(i).iter_mut().zip(&apart).for_each(|(to, x)| *to += apart[i] * x / count);
            }
        }
        out
    }
}

/// The exponential weights of one refit, of mean 1 over the clusters.
fn exponential_weights(count: usize, resample: u64, seed: Seed) -> Vec<f64> {
    let mut weights = vec![0.0; count];
    Draws::new(seed, Purpose::Terms).uniforms(resample, u32::MAX, &mut weights);
    weights.iter_mut().for_each(|u| *u = -u.ln());
    let total: f64 = weights.iter().sum();
    weights.iter().map(|g| g * count as f64 / total).collect()
}

/// Solves the model again with random weights, `count` times, from q. A pure function of the seed, for any number of threads.
pub fn bootstrap(
    model: &Glm,
    q: &Gaussian<Triangular>,
    clusters: &Clusters,
    count: usize,
    seed: Seed,
) -> Result<Bootstrap> {
    clusters.check(model)?;
    if count < 2 {
        return Err(Error::OutOfRange {
            what: "refits of the bootstrap",
            value: count as f64,
            needed: "at least 2",
        });
    }
    let given = model.weights().unwrap_or_else(|| vec![1.0; model.design().rows()]);
    let one = |resample: usize| -> Result<(Vec<f64>, bool)> {
        if stop::is_wanted() {
            return Err(Error::Stopped { during: DURING });
        }
        let factors = exponential_weights(clusters.count, resample as u64, seed);
        let weights: Vec<f64> = given.iter().zip(&clusters.of_row).map(|(w, &c)| w * factors[c]).collect();
        let again = model.clone().with_weights(&weights)?;
        let found = Solver::default().run_from(&again, q, &mut |_, _| match stop::is_wanted() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        })?;
        match found.stop {
            Stop::Interrupted => Err(Error::Stopped { during: DURING }),
            stop => Ok((found.gaussian.mean().to_vec(), matches!(stop, Stop::Reached | Stop::Stalled))),
        }
    };
    let d = model.design().columns();
    let (mut entries, mut unconverged) = (Vec::with_capacity(count * d), 0);
    for from in (0..count).step_by(WAVE) {
        let len = WAVE.min(count - from);
        let chunks = Chunks { len, size: 1, work: usize::MAX };
        let wave = chunked::map(chunks, |range| range.map(|i| one(from + i)).collect::<Result<Vec<_>>>());
        for part in wave {
            for (mean, converged) in part? {
                entries.extend(mean);
                unconverged += usize::from(!converged);
            }
        }
    }
    Ok(Bootstrap { means: Matrix::new(count, d, entries)?, unconverged })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::glm::design::Design;
    use crate::glm::{Family, Prior};

    const ROWS: usize = 300;

    /// A line whose noise grows with x, in clusters of three rows that share x and most of the noise.
    fn line() -> (Design, Vec<f64>, Vec<usize>) {
        let mut draws = vec![0.0; 3 * ROWS];
        provi_kernels::normals(9, 0, 0, &mut draws);
        let x: Vec<f64> = (0..ROWS).map(|n| draws[n / 3].abs().min(2.0) + 0.1).collect();
        let noise = |n: usize| x[n] * (0.5 * draws[ROWS + n] + draws[2 * ROWS + n / 3]);
        let y: Vec<f64> = (0..ROWS).map(|n| 1.0 + 0.5 * x[n] + noise(n)).collect();
        let entries: Vec<f64> = x.iter().flat_map(|&x| [1.0, x]).collect();
        (Design::dense(ROWS, 2, &entries).unwrap(), y, (0..ROWS).map(|n| n / 3).collect())
    }

    /// White's and Liang and Zeger's formulas in two dimensions, by hand.
    fn by_hand(design: &Design, y: &[f64], labels: &[usize]) -> ([f64; 2], [[f64; 2]; 2]) {
        let row = |n: usize| {
            let mut out = [0.0; 2];
            design.write_row(n, &mut out);
            out
        };
        let (mut gram, mut right) = ([[0.0; 2]; 2], [0.0; 2]);
        for (n, y) in y.iter().enumerate() {
            let a = row(n);
            for i in 0..2 {
                right[i] += a[i] * y;
                (0..2).for_each(|j| gram[i][j] += a[i] * a[j]);
            }
        }
        let det = gram[0][0] * gram[1][1] - gram[0][1] * gram[1][0];
        let inverse = [[gram[1][1] / det, -gram[0][1] / det], [-gram[1][0] / det, gram[0][0] / det]];
        let beta = [0, 1].map(|i| inverse[i][0] * right[0] + inverse[i][1] * right[1]);
        let mut sums = vec![[0.0; 2]; labels.len()];
        for (n, y) in y.iter().enumerate() {
            let a = row(n);
            let residual = y - a[0] * beta[0] - a[1] * beta[1];
            (0..2).for_each(|i| sums[labels[n]][i] += a[i] * residual);
        }
        let meat = |i: usize, j: usize| sums.iter().map(|g| g[i] * g[j]).sum::<f64>();
        let cell = |i: usize, j: usize| {
            let mut sum = 0.0;
            for k in 0..2 {
                for l in 0..2 {
                    sum += inverse[i][k] * meat(k, l) * inverse[l][j];
                }
            }
            sum
        };
        (beta, [[cell(0, 0), cell(0, 1)], [cell(1, 0), cell(1, 1)]])
    }

    #[test]
    fn with_a_flat_prior_it_is_white_s_and_that_of_clusters() {
        let (design, y, labels) = line();
        // Any noise: it cancels.
        for noise_sd in [0.3, 2.0] {
            let model = Glm::linear(design.clone(), &y, noise_sd, Prior::scale(1e8).unwrap()).unwrap();
            let mean = Solver::default().run(&model).unwrap().gaussian.mean().to_vec();
            for (own, labels) in [(true, (0..ROWS).collect::<Vec<_>>()), (false, labels.clone())] {
                let (beta, expected) = by_hand(&design, &y, &labels);
                let clusters = if own { Clusters::of_rows(ROWS) } else { Clusters::of_labels(&labels) };
                let found = sandwich(&model, &mean, &clusters).unwrap();
                for i in 0..2 {
                    assert!((mean[i] - beta[i]).abs() < 1e-9);
                    for j in 0..2 {
                        let (a, b) = (found[(i, j)], expected[i][j]);
                        assert!((a - b).abs() < 1e-8 * expected[i][i], "{a} {b}");
                    }
                }
                // The planted twin: the model's own covariance is another one.
                let naive = noise_sd * noise_sd / ROWS as f64;
                assert!((found[(0, 0)] - naive).abs() > 0.1 * naive);
            }
        }
    }

    /// By Newton's steps.
    fn mode(model: &Glm) -> Vec<f64> {
        let mut z = vec![0.0; 2];
        for _ in 0..60 {
            let mut curvature = model.linear.precision();
            let mut slope: Vec<f64> =
                (0..2).map(|i| (0..2).map(|j| curvature[(i, j)] * z[j]).sum()).collect();
            model.rows.add_hessian(model.family(), &z, &mut curvature);
            for (n, s) in model.rows.all_predictors(&z).into_iter().enumerate() {
                let first = model.family().derivatives(s, model.rows.response[n])[1];
                model.design().add_row(n, model.rows.weights[n] * first, &mut slope);
            }
            Cholesky::new("curvature", &curvature).unwrap().solve(&mut slope);
            z.iter_mut().zip(&slope).for_each(|(z, step)| *z -= step.clamp(-1.0, 1.0));
        }
        z
    }

    /// Trials, weights and a count coded anew for its noise: the scores add up to the prior's slope at the optimum, so that one cluster of all
    /// rows has a sandwich of H⁻¹Λ(m − ν)(m − ν)ᵀΛH⁻¹.
    #[test]
    fn one_cluster_of_all_rows_has_the_prior_s_slope() {
        let (design, y, _) = line();
        let counts: Vec<f64> = y.iter().map(|y| y.abs().floor()).collect();
        let prior = || Prior::scale(0.2).unwrap();
        let weights: Vec<f64> = (0..ROWS).map(|n| 0.5 + (n % 3) as f64).collect();
        for family in [Family::Poisson, Family::NegativeBinomial { noise_sd: 0.7 }] {
            let model = Glm::new(family, design.clone(), &counts, prior()).unwrap();
            let model = model.with_weights(&weights).unwrap();
            let mode = mode(&model);
            let found = sandwich(&model, &mode, &Clusters::of_labels(&[0; ROWS])).unwrap();
            let mut curvature = model.linear.precision();
            model.rows.add_hessian(family, &mode, &mut curvature);
            let mut slope: Vec<f64> = mode.iter().map(|m| m / 0.04).collect();
            Cholesky::new("curvature", &curvature).unwrap().solve(&mut slope);
            for i in 0..2 {
                for j in 0..2 {
                    let expected = slope[i] * slope[j];
                    assert!(
                        (found[(i, j)] - expected).abs() < 1e-5 * slope[i].abs().max(slope[j].abs()).powi(2)
                    );
                }
            }
        }
    }

    /// The delta method: with many rows the bootstrap's spread is the sandwich's. 400 refits know a deviation to 1/√800 = 3.5 % (one standard
    /// error), five of which are a false alarm of less than 1e-6; rows taken one by one miss the clusters, and are found out.
    #[test]
    fn the_bootstrap_agrees_with_the_sandwich() {
        let (design, y, labels) = line();
        let model = Glm::linear(design, &y, 1.0, Prior::scale(1e4).unwrap()).unwrap();
        let q = Solver::default().run(&model).unwrap().gaussian;
        let clusters = Clusters::of_labels(&labels);
        let expected = sandwich(&model, q.mean(), &clusters).unwrap();
        let ratio = |clusters: &Clusters| {
            let found = bootstrap(&model, &q, clusters, 400, Seed(3)).unwrap();
            assert_eq!((found.means.rows(), found.unconverged), (400, 0));
            (found.covariance()[(1, 1)] / expected[(1, 1)]).sqrt()
        };
        let (right, wrong) = (ratio(&clusters), ratio(&Clusters::of_rows(ROWS)));
        assert!((right - 1.0).abs() < 0.177, "{right}");
        assert!(wrong < 1.0 - 0.177, "{wrong}");
        let again = bootstrap(&model, &q, &clusters, 5, Seed(3)).unwrap();
        assert_eq!(again, bootstrap(&model, &q, &clusters, 5, Seed(3)).unwrap());
        assert!(bootstrap(&model, &q, &clusters, 1, Seed(3)).is_err());
        assert!(bootstrap(&model, &q, &Clusters::of_rows(4), 5, Seed(3)).is_err());
        assert!(sandwich(&model, &[0.0], &clusters).is_err());
    }

    #[test]
    fn weights_have_the_mean_one() {
        let weights = exponential_weights(500, 3, Seed(1));
        assert!((weights.iter().sum::<f64>() - 500.0).abs() < 1e-9 && weights.iter().all(|w| *w > 0.0));
        assert_ne!(weights, exponential_weights(500, 4, Seed(1)));
    }
}

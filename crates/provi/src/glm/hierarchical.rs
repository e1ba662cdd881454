//! The paper's hierarchical logistic model.

use super::{Glm, Prior};
use crate::base::error::{Error, Result};
use crate::base::linalg::Cholesky;
use crate::base::matrix::Matrix;
use crate::base::scalar::Positive;
use crate::glm::design::Design;

/// Hierarchical logistic regression \[hierarchical\]:
/// ```text
/// θ ~ N(0, Σ),   z_i ~ N(θ, Δ) for each group i,   p(y_ij = 1) = sigmoid(a_ijᵀz_i)
/// ```
/// as one linear-predictor model in (θ, z_1, …, z_n), k coordinates each, with joint prior precision
/// ```text
/// Λ_θθ = Σ⁻¹ + nΔ⁻¹,   Λ_θi = −Δ⁻¹,   Λ_ii = Δ⁻¹,   log det Λ = log det Σ⁻¹ + n log det Δ⁻¹
/// ```
/// Λ is positive definite, so the model is strongly convex. `features` is the N × k design, `groups[j]` the
/// group of row j, counted from 0 without gaps; `top` = Σ⁻¹ and `within` = Δ⁻¹.
pub fn hierarchical_logistic(
    features: &Design,
    labels: &[f64],
    groups: &[usize],
    top: &Matrix,
    within: &Matrix,
) -> Result<Glm> {
    let k = features.columns();
    if groups.len() != features.rows() {
        return Err(Error::Shape { what: "groups", found: groups.len(), expected: features.rows() });
    }
    let count = groups.iter().max().map_or(0, |&g| g.saturating_add(1));
    // More groups than rows would mean gaps; check that before allocating for a huge index.
    let mut seen = vec![false; count.min(groups.len() + 1)];
    for &g in groups {
        if let Some(seen) = seen.get_mut(g) {
            *seen = true;
        }
    }
    if let Some(gap) = seen.iter().position(|s| !s) {
        return Err(Error::OutOfRange {
            what: "group without rows",
            value: gap as f64,
            needed: "used: number the groups from 0 without gaps",
        });
    }
    let top = top.clone().checked_symmetric("precision of θ", k)?;
    let within = within.clone().checked_symmetric("precision of z_i", k)?;
    let log_det = Cholesky::new("precision of θ", &top)?.log_det()
        + count as f64 * Cholesky::new("precision of z_i", &within)?.log_det();

    let block = |i: usize| k + i * k;
    let entries = |m: &Matrix, i: usize, offset: usize, scale: f64| -> Vec<(usize, f64)> {
        m.row(i)
            .iter()
            .enumerate()
            .filter(|(_, x)| x.abs() > 0.0)
            .map(|(j, x)| (offset + j, scale * x))
            .collect()
    };
    let mut rows = Vec::with_capacity(k * (count + 1));
    for i in 0..k {
        let mut sum = top.clone();
        sum.add_scaled(count as f64, &within);
        let mut row = entries(&sum, i, 0, 1.0);
        (0..count).for_each(|g| row.extend(entries(&within, i, block(g), -1.0)));
        rows.push(row);
    }
    for g in 0..count {
        for i in 0..k {
            let mut row = entries(&within, i, 0, -1.0);
            row.extend(entries(&within, i, block(g), 1.0));
            rows.push(row);
        }
    }

    let mut triplets = Vec::new();
    for (n, &g) in groups.iter().enumerate() {
        features.for_each_in_row(n, |j, x| {
            if x.abs() > 0.0 {
                triplets.push((n, block(g) + j, x));
            }
        });
    }
    let design = Design::triplets(features.rows(), block(count), &triplets)?;
    let names = (0..k)
        .map(|j| format!("theta[{j}]"))
        .chain((0..count).flat_map(|g| (0..k).map(move |j| format!("z[{g},{j}]"))))
        .collect();
    let model = Glm::logistic(design, labels, Prior::sparse(rows, log_det))?.with_names(names)?;
    Ok(match (isotropic(&top), isotropic(&within)) {
        (Some(s), Some(r)) => model.with_known_convexity(hierarchical_convexity(s, r, count)),
        _ => model,
    })
}

/// Default standard deviation of a group's coefficients around those of the population.
pub const GROUP_SCALE: f64 = 1.0;

/// [`hierarchical_logistic`] with any prior of θ, including its mean, and Δ = τ²I; if no τ is given,
/// [`GROUP_SCALE`].
pub fn hierarchical_logistic_scaled(
    features: &Design,
    labels: &[f64],
    groups: &[usize],
    population: &Prior,
    group_sd: Option<f64>,
) -> Result<Glm> {
    let k = features.columns();
    population.check(k)?;
    let sd = Positive::new("sd between groups", group_sd.unwrap_or(GROUP_SCALE))?.get();
    let (top, within) = (population.quadratic(k).to_matrix(k), Matrix::scaled_identity(k, 1.0 / (sd * sd)));
    let model = hierarchical_logistic(features, labels, groups, &top, &within)?;
    let mean: Vec<f64> = (0..model.design().columns()).map(|i| population.center(i % k)).collect();
    if mean.iter().all(|x| x.abs() <= 0.0) {
        return Ok(model);
    }
    let prior = model.prior().clone().with_mean(&mean)?;
    model.with_prior(prior)
}

/// The number λ if `m` is λI.
fn isotropic(m: &Matrix) -> Option<f64> {
    let value = m[(0, 0)];
    (*m == Matrix::scaled_identity(m.rows(), value)).then_some(value)
}

/// λ_min(Λ) for Σ = I/s, Δ = I/r and n groups, rounded down \[hierarchical\]:
/// ```text
/// μ = 2sr/(τ + √(τ² − 4sr)),   τ = s + (n+1)r
/// ```
/// The textbook root ½[τ − √·] of the same quadratic cancels, and rounds upwards.
pub fn hierarchical_convexity(s: f64, r: f64, groups: usize) -> f64 {
    let tau = s + (groups as f64 + 1.0) * r;
    let root = (tau * tau - 4.0 * s * r).max(0.0).sqrt();
    2.0 * s * r / (tau + root) * (1.0 - 8.0 * f64::EPSILON)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::Target;

    #[test]
    fn the_closed_form_is_the_smallest_eigenvalue_of_the_joint_prior() {
        let features = Design::dense(4, 1, &[1.0, 2.0, -1.0, 0.5]).unwrap();
        let (s, r) = (0.7, 3.0);
        let model = hierarchical_logistic(
            &features,
            &[1.0, 0.0, 1.0, 1.0],
            &[0, 1, 2, 1],
            &Matrix::diagonal(&[s]),
            &Matrix::diagonal(&[r]),
        )
        .unwrap();
        let curvature = model.curvature().unwrap().unwrap();
        let spectrum = crate::base::linalg::eigenvalues("Λ", &curvature.lower().to_matrix(4)).unwrap();
        let closed = hierarchical_convexity(s, r, 3);
        assert!(closed <= spectrum[0] + 1e-14 && closed > spectrum[0] - 1e-13);
        assert!((curvature.convexity() - closed).abs() <= 0.0);
        // det Λ = det Σ⁻¹ · (det Δ⁻¹)³
        let product: f64 = spectrum.iter().product();
        assert!((product - s * r.powi(3)).abs() < 1e-10);
        assert_eq!(model.names()[..2], ["theta[0]", "z[0,0]"]);
    }

    #[test]
    fn scales_are_precisions_of_multiples_of_the_identity() {
        let features = Design::dense(2, 2, &[1.0, 2.0, -1.0, 0.5]).unwrap();
        let of = |top: f64, within: f64| {
            let identity = |x| Matrix::scaled_identity(2, x);
            hierarchical_logistic(&features, &[1.0, 0.0], &[0, 1], &identity(top), &identity(within)).unwrap()
        };
        let scaled = |a: Prior, b| hierarchical_logistic_scaled(&features, &[1.0, 0.0], &[0, 1], &a, b);
        assert_eq!(scaled(Prior::scale(0.5).unwrap(), Some(2.0)).unwrap().prior(), of(4.0, 0.25).prior());
        assert_eq!(scaled(Prior::default(), None).unwrap().prior(), of(1.0 / 6.25, 1.0).prior());
        assert!(scaled(Prior::default(), Some(0.0)).is_err());
        assert!(scaled(Prior::scales(&[1.0]).unwrap(), None).is_err());
    }

    #[test]
    fn a_mean_of_the_population_is_that_of_every_group() {
        let features = Design::dense(2, 2, &[1.0, 2.0, 1.0, 0.5]).unwrap();
        let top = Prior::centered(&[(2.0, 2.5), (0.0, 3.0)], 0, &[1.0, 1.25])
            .unwrap()
            .with_mean(&[2.0, 0.5])
            .unwrap();
        let model = hierarchical_logistic_scaled(&features, &[1.0, 0.0], &[0, 1], &top, Some(0.5)).unwrap();
        let marginals = model.prior().marginals(6).unwrap();
        let own = top.marginals(2).unwrap();
        for i in 0..6 {
            assert!((marginals[i].0 - own[i % 2].0).abs() < 1e-15);
            let spread = if i < 2 { 0.0 } else { 0.25 };
            assert!((marginals[i].1 - (own[i % 2].1.powi(2) + spread).sqrt()).abs() < 1e-12);
        }
    }

    #[test]
    fn the_density_is_the_hierarchy_written_out() {
        let features = Design::dense(2, 2, &[1.0, -0.5, 0.3, 2.0]).unwrap();
        let top = Matrix::new(2, 2, vec![1.0, 0.2, 0.2, 0.5]).unwrap();
        let within = Matrix::new(2, 2, vec![2.0, -0.3, -0.3, 1.5]).unwrap();
        let model = hierarchical_logistic(&features, &[1.0, -1.0], &[1, 0], &top, &within).unwrap();
        let z = [0.1, -0.4, 0.6, 0.2, -0.9, 1.3];
        let normal = |x: [f64; 2], p: &Matrix| {
            let quadratic: f64 =
                (0..2).flat_map(|i| (0..2).map(move |j| (i, j))).map(|(i, j)| x[i] * p[(i, j)] * x[j]).sum();
            let det = p[(0, 0)] * p[(1, 1)] - p[(0, 1)] * p[(1, 0)];
            0.5 * det.ln() - (2.0 * std::f64::consts::PI).ln() - 0.5 * quadratic
        };
        let sigmoid = |s: f64| 1.0 / (1.0 + (-s).exp());
        let expected = normal([z[0], z[1]], &top)
            + normal([z[2] - z[0], z[3] - z[1]], &within)
            + normal([z[4] - z[0], z[5] - z[1]], &within)
            + sigmoid(z[4] - 0.5 * z[5]).ln()
            + sigmoid(-(0.3 * z[2] + 2.0 * z[3])).ln();
        let value = model.log_density(&z, &mut [0.0; 6]).unwrap();
        assert!((value - expected).abs() < 1e-12);
    }

    #[test]
    fn gaps_in_the_group_numbers_are_refused() {
        let features = Design::dense(2, 1, &[1.0, 2.0]).unwrap();
        let one = Matrix::diagonal(&[1.0]);
        for groups in [[0, 2], [1, 1], [0, usize::MAX - 1]] {
            assert!(hierarchical_logistic(&features, &[1.0, 0.0], &groups, &one, &one).is_err());
        }
    }
}

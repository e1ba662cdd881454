//! Correlations between the effects of a group, by coordinates that run over all real numbers.
//!
//! Partial correlations z_ij = tanh x_ij, j < i, give every correlation matrix once:
//! ```text
//! R = LLᵀ,   L_ij = z_ij Π_{k<j} √(1 − z_ik²),   L_ii = Π_{k<i} √(1 − z_ik²)
//! ∂L_ij/∂x_ik = −z_ik L_ij for k < j,   ∂L_ij/∂x_ij = (1 − z_ij²) Π_{k<j} √(1 − z_ik²)
//! ```
//! Under the LKJ law with shape η, whose density is proportional to (det R)^{η−1}, they are independent (Lewandowski, Kurowicka and Joe
//! 2009): for K effects and j = 0, 1, … the density of z_ij is proportional to (1 − z²)^{b−1}, b = η + (K − 2 − j)/2.

use crate::base::linalg::Cholesky;
use crate::base::matrix::Matrix;
use crate::base::special::ln_gamma;

/// How many correlations K effects have.
pub(super) const fn pairs(effects: usize) -> usize {
    effects * effects.saturating_sub(1) / 2
}

/// The pairs (i, j), j < i, in the order of the coordinates.
pub(super) fn each_pair(effects: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..effects).flat_map(|i| (0..i).map(move |j| (i, j)))
}

/// L.
pub(super) fn factor(effects: usize, x: &[f64]) -> Matrix {
    let mut out = Matrix::zeros(effects, effects);
    let mut x = x.iter();
    for i in 0..effects {
        let mut rest = 1.0;
        for j in 0..i {
            let x = x.next().copied().unwrap_or(0.0);
            out[(i, j)] = x.tanh() * rest;
            // √(1 − tanh²x) = 1/cosh x.
            rest /= x.cosh();
        }
        out[(i, i)] = rest;
    }
    out
}

/// The correlations R_ij in the order of [`each_pair`].
pub(super) fn correlations(effects: usize, x: &[f64]) -> Vec<f64> {
    let l = factor(effects, x);
    each_pair(effects).map(|(i, j)| provi_kernels::dot(l.row(i), l.row(j))).collect()
}

/// DRD for deviations D.
pub(super) fn covariance(deviations: &[f64], x: &[f64]) -> Matrix {
    let k = deviations.len();
    let (l, mut out) = (factor(k, x), Matrix::zeros(k, k));
    for i in 0..k {
        for j in 0..k {
            out[(i, j)] = deviations[i] * deviations[j] * provi_kernels::dot(l.row(i), l.row(j));
        }
    }
    out
}

/// Slopes of −(n/2) log det Σ − ½tr(Σ⁻¹M), Σ = DRD, in log D and in x; M is the sum of n second moments.
/// ```text
/// ∂/∂log D_a = (Σ⁻¹M)_aa − n,   ∂/∂x = ⟨∂L/∂x, 2GL⟩,   G = ½R⁻¹(M̃ − nR)R⁻¹,   M̃ = D⁻¹MD⁻¹
/// ```
pub(super) fn slopes(
    deviations: &[f64],
    x: &[f64],
    moments: &Matrix,
    count: f64,
) -> Option<(Vec<f64>, Vec<f64>)> {
    let k = deviations.len();
    let l = factor(k, x);
    let unit = covariance(&vec![1.0; k], x);
    let inverse = Cholesky::new("correlation", &unit).ok()?.inverse();
    let mut scaled = moments.clone();
    for i in 0..k {
        for j in 0..k {
            scaled[(i, j)] /= deviations[i] * deviations[j];
        }
    }
    let product = crate::base::linalg::multiply(&inverse, &scaled);
    let of_deviations = (0..k).map(|a| product[(a, a)] - count).collect();
    let mut off = scaled;
    off.add_scaled(-count, &unit);
    let pull = crate::base::linalg::multiply(&crate::base::linalg::multiply(&inverse, &off), &inverse);
    // 2GL, G = ½·pull.
    let pull = crate::base::linalg::multiply(&pull, &l);
    let mut of_x = Vec::with_capacity(x.len());
    for (place, (i, j)) in each_pair(k).enumerate() {
        let z = x[place].tanh();
        let beyond: f64 = (j + 1..=i).map(|m| -z * l[(i, m)] * pull[(i, m)]).sum();
        // (1 − z²)Π = (1 − z²)L_ij/z, without a division by zero.
        let before: f64 = (0..j).map(|m| 1.0 / x[place - j + m].cosh()).product();
        of_x.push(beyond + (1.0 - z * z) * before * pull[(i, j)]);
    }
    Some((of_deviations, of_x))
}

/// log of the density of the coordinates x under the LKJ law with that shape; its slopes are added to `slope`.
pub(super) fn lkj(effects: usize, shape: f64, x: &[f64], slope: &mut [f64]) -> f64 {
    let mut total = 0.0;
    for (place, (_, j)) in each_pair(effects).enumerate() {
        let b = shape + 0.5 * (effects as f64 - 2.0 - j as f64);
        // ∫(1 − z²)^{b−1}dz = √π Γ(b)/Γ(b + ½); dz/dx = 1 − z² = cosh⁻²x.
        let log_cosh = x[place].abs() + (-2.0 * x[place].abs()).exp().ln_1p() - 2f64.ln();
        total += -2.0 * b * log_cosh - 0.5 * std::f64::consts::PI.ln() - ln_gamma(b) + ln_gamma(b + 0.5);
        slope[place] -= 2.0 * b * x[place].tanh();
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    const X: [f64; 3] = [0.4, -0.9, 0.7];

    #[test]
    fn the_factor_makes_a_correlation_matrix_and_its_partial_correlations() {
        let r = covariance(&[1.0; 3], &X);
        for i in 0..3 {
            assert!((r[(i, i)] - 1.0).abs() < 1e-14);
        }
        assert!((r[(1, 0)] - X[0].tanh()).abs() < 1e-15 && (r[(2, 0)] - X[1].tanh()).abs() < 1e-15);
        let partial = (r[(2, 1)] - r[(2, 0)] * r[(1, 0)])
            / ((1.0 - r[(2, 0)].powi(2)) * (1.0 - r[(1, 0)].powi(2))).sqrt();
        assert!((partial - X[2].tanh()).abs() < 1e-14);
        assert_eq!(correlations(3, &X).len(), pairs(3));
    }

    #[test]
    fn slopes_are_differences_of_the_log_density() {
        let moments = Matrix::new(3, 3, vec![4.0, 1.0, -0.5, 1.0, 3.0, 0.7, -0.5, 0.7, 9.0]).unwrap();
        let (count, sds) = (7.0, [1.3, 0.4, 2.2]);
        let value = |sds: &[f64], x: &[f64]| {
            let factor = Cholesky::new("covariance", &covariance(sds, x)).unwrap();
            let product = crate::base::linalg::multiply(&factor.inverse(), &moments);
            -0.5 * count * factor.log_det() - 0.5 * (0..3).map(|a| product[(a, a)]).sum::<f64>()
        };
        let (of_sds, of_x) = slopes(&sds, &X, &moments, count).unwrap();
        let step = 1e-5f64;
        for a in 0..3 {
            let difference = |side: f64| {
                let (mut sds, mut x) = (sds, X);
                sds[a] *= (side * step).exp();
                let first = value(&sds, &X);
                x[a] += side * step;
                [first, value(&[1.3, 0.4, 2.2], &x)]
            };
            let ([up, up_x], [down, down_x]) = (difference(1.0), difference(-1.0));
            assert!(((up - down) / (2.0 * step) - of_sds[a]).abs() < 1e-6 * (1.0 + of_sds[a].abs()), "{a}");
            assert!(((up_x - down_x) / (2.0 * step) - of_x[a]).abs() < 1e-6 * (1.0 + of_x[a].abs()), "{a}");
        }
    }

    /// The density that the coordinates give R is proportional to (det R)^{shape − 1}, and it integrates to one.
    #[test]
    fn the_law_is_that_of_its_name() {
        let shape = 1.7;
        let log_jacobian = |x: &[f64]| {
            // d(R_10, R_20, R_21)/dx is triangular.
            let sech = |x: f64| 1.0 / x.cosh();
            (sech(x[0]).powi(2) * sech(x[1]).powi(2) * sech(x[2]).powi(2) * sech(x[0]) * sech(x[1])).ln()
        };
        let of = |x: &[f64]| {
            let log_det = Cholesky::new("R", &covariance(&[1.0; 3], x)).unwrap().log_det();
            lkj(3, shape, x, &mut [0.0; 3]) - log_jacobian(x) - (shape - 1.0) * log_det
        };
        assert!((of(&X) - of(&[-1.1, 0.2, 0.05])).abs() < 1e-12);
        let (step, mut sum) = (0.05, 0.0);
        for k in -400..=400 {
            sum += step * lkj(2, shape, &[f64::from(k) * step], &mut [0.0]).exp();
        }
        assert!((sum - 1.0).abs() < 1e-9, "{sum}");
        let (up, down) = (
            lkj(3, shape, &[0.4, -0.9, 0.70001], &mut [0.0; 3]),
            lkj(3, shape, &[0.4, -0.9, 0.69999], &mut [0.0; 3]),
        );
        let mut slope = [0.0; 3];
        lkj(3, shape, &X, &mut slope);
        assert!(((up - down) / 2e-5 - slope[2]).abs() < 1e-6);
    }
}

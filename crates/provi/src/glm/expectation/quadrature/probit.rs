//! Probit rows, by trapezoids with a proved error [exact-bound].
//!
//! φ(z) = −log Φ(z) = z²/2 − K(z) + ½ log 2π, K(z) = log ∫₀^∞ e^{vz − v²/2}dv. At z = x + iy that integral is e^{K(x)} times the characteristic
//! function E e^{iyv} of v ~ N(x, 1) given v > 0, whose variance is K''(x) = 1 − φ''(x) ≤ 1. So |E e^{iyv}| ≥ E cos(y(v − Ev)) ≥ 1 − ½y²:
//! φ is analytic in |Im z| < √2, and where |y| ≤ b, with c = 1 − ½b²,
//! ```text
//! |φ''| ≤ 1 + 1/c + (b/c)²,     |φ' − φ'(x)| ≤ b + b/c,     0 ≤ −φ'(x) ≤ 0.8 + |x|,
//! |φ| ≤ ½x² + (0.8 + b)|x| + log 2 + b(0.8 + b + b/c)
//! ```

use super::{Rule, Terms, aliasing_in, rules, trapezoid_for};
use std::f64::consts::{LN_2, PI};

/// Half the width of the strip in which rows are bounded; √2 is too wide.
const STRIP: f64 = 1.0;
/// 1 − ½b².
const LEAST: f64 = 1.0 - 0.5 * STRIP * STRIP;
/// √(2/π) = −φ'(0), rounded up.
const FLAT: f64 = 0.8;
/// A bound of |φ'''|: Cauchy's estimate on circles of radius 0.7.
const THIRD: f64 = 3.2;

/// Rows by the rule of their deviation; those of one rule share its nodes.
pub(super) fn probit(means: &[f64], deviations: &[f64], response: &[f64], out: &mut Terms) {
    let level: Vec<usize> = deviations.iter().map(|&s| trapezoid_for(s)).collect();
    let mut order: Vec<usize> = (0..means.len()).collect();
    order.sort_by_key(|&n| level[n]);
    let sign = |n: usize| 2.0 * response[n] - 1.0;
    let mu: Vec<f64> = order.iter().map(|&n| sign(n) * means[n]).collect();
    let sigma: Vec<f64> = order.iter().map(|&n| deviations[n]).collect();
    let [mut value, mut first, mut second] = [(); 3].map(|()| vec![0.0; mu.len()]);
    let mut start = 0;
    while start < order.len() {
        let rule = &rules()[level[order[start]]];
        let end = start + order[start..].partition_point(|&n| level[n] == level[order[start]]);
        let group = start..end;
        provi_kernels::expectation::probit(
            &mu[group.clone()],
            &sigma[group.clone()],
            &rule.nodes,
            &rule.weights,
            &mut value[group.clone()],
            &mut first[group.clone()],
            &mut second[group.clone()],
        );
        for i in group {
            let n = order[i];
            (out.value[n], out.first[n], out.second[n]) = (value[i], sign(n) * first[i], second[i]);
            [out.value_error[n], out.slope_error[n]] =
                errors(rule, (mu[i], sigma[i]), [value[i], first[i].abs()]);
        }
        start = end;
    }
}

/// What Eφ, and what Eφ' and Eφ'', may be off by: between the nodes, beyond the last, and by rounding, that of the nodes included.
fn errors(rule: &Rule, (mu, sigma): (f64, f64), [value, first]: [f64; 2]) -> [f64; 2] {
    let (size, square) = (mu.abs() + sigma, mu * mu + sigma * sigma);
    let aliasing = aliasing_in(STRIP, rule.step, sigma) * (1.0 + 1e-10);
    let beside = STRIP + STRIP / LEAST;
    let steep = 1.0 + 1.0 / LEAST + (STRIP / LEAST).powi(2);
    let density = (-0.5 * rule.reach * rule.reach).exp() / (2.0 * PI).sqrt();
    let rounding = (rule.nodes.len() as f64 + 40.0) * f64::EPSILON;
    let moved = 4.0 * f64::EPSILON * (mu.abs() + (rule.reach + 1.0) * sigma);
    let between = 0.5 * square + (FLAT + STRIP) * size + LN_2 + STRIP * (FLAT + beside);
    // |φ| ≤ ½s² + 0.8|s| + log 2 and s² ≤ 2μ² + 2σ²t², ∫t²ϕ = Tϕ(T) + Q(T) beyond T.
    let beyond = (mu * mu + FLAT * mu.abs() + LN_2 + sigma * sigma) * rule.outside
        + (FLAT + rule.reach * sigma) * sigma * density;
    let slopes = (FLAT + mu.abs()) * rule.outside + sigma * density;
    [
        between * aliasing + 2.1 * beyond + rounding * (1.0 + value) + moved * first,
        (size + FLAT + beside + steep) * aliasing
            + 2.1 * (slopes + rule.outside)
            + rounding * (1.0 + first)
            + moved * THIRD,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::special::{inverse_mills, log_normal_cdf};

    type Complex = [f64; 2];

    fn times([a, b]: Complex, [c, d]: Complex) -> Complex {
        [a * c - b * d, a * d + b * c]
    }

    fn over(x: Complex, [c, d]: Complex) -> Complex {
        let square = c * c + d * d;
        times(x, [c / square, -d / square])
    }

    /// φ', φ'' and |E e^{iyv}| at x + iy, the integrals by Simpson's rule.
    fn at(x: f64, y: f64) -> (Complex, Complex, f64) {
        let (steps, reach) = (4000, x.max(0.0) + 12.0);
        let h = reach / f64::from(steps);
        let mut sums = [[0.0; 2]; 3];
        let mut mass = 0.0;
        for k in 0..=steps {
            let v = h * f64::from(k);
            let simpson = if k == 0 || k == steps { 1.0 } else { 2.0 + 2.0 * f64::from(k % 2) };
            let w = simpson * (v * (x - 0.5 * v)).exp();
            mass += w;
            for (power, sum) in sums.iter_mut().enumerate() {
                let term = w * v.powi(power as i32);
                sum[0] += term * (y * v).cos();
                sum[1] += term * (y * v).sin();
            }
        }
        let (mean, square) = (over(sums[1], sums[0]), over(sums[2], sums[0]));
        let twice = times(mean, mean);
        let first = [x - mean[0], y - mean[1]];
        let second = [1.0 - square[0] + twice[0], twice[1] - square[1]];
        (first, second, sums[0][0].hypot(sums[0][1]) / mass)
    }

    /// On a grid of the strip, and not on one that reaches a zero of Φ.
    #[test]
    fn a_probit_row_is_bounded_in_its_strip() {
        let size = |x: Complex| x[0].hypot(x[1]);
        let steep = 1.0 + 1.0 / LEAST + (STRIP / LEAST).powi(2);
        let (mut largest, mut wide, mut least) = (0.0f64, 0.0f64, 1.0f64);
        for j in -24..=24 {
            let x = 0.25 * f64::from(j);
            let real = -inverse_mills(x);
            assert!(
                -real <= FLAT + (-x).max(0.0)
                    && -log_normal_cdf(x) <= 0.5 * x * x + FLAT * x.abs() + LN_2 + 1e-14
            );
            for k in 0..=8 {
                let (first, second, modulus) = at(x, 0.125 * STRIP * f64::from(k));
                assert!(size([first[0] - real, first[1]]) <= STRIP + STRIP / LEAST, "{x} {k}");
                assert!(modulus >= LEAST, "{x} {k}: {modulus}");
                largest = largest.max(size(second));
                least = least.min(modulus);
                wide = wide.max(size(at(x, 2.8).1));
            }
        }
        assert!(largest <= steep && largest > 0.1 * steep && wide > 2.0 * steep, "{largest} {wide}");
        assert!(least < 1.3 * LEAST, "{least}");
    }

    /// A rule that is too coarse errs by less than is said, and not by much less.
    #[test]
    fn the_proved_error_of_a_probit_row_covers_a_coarse_rule() {
        let (rule, sigma, mut closest) = (&rules()[super::super::HERMITES], 3.0, 0.0f64);
        for mu in [-2.0, 0.0, 0.5, 1.9, 4.0] {
            let exact = |f: &dyn Fn(f64) -> f64| {
                let step = 1e-3;
                let each = (-10_000..=10_000).map(|j| step * f64::from(j));
                each.map(|t| step * (-0.5 * t * t).exp() / (2.0 * PI).sqrt() * f(mu + sigma * t)).sum::<f64>()
            };
            let found = |f: &dyn Fn(f64) -> f64| {
                rule.nodes.iter().zip(&rule.weights).map(|(t, w)| w * f(mu + sigma * t)).sum::<f64>()
            };
            let value = |s: f64| -log_normal_cdf(s);
            let slope = |s: f64| -inverse_mills(s);
            let [of_value, of_slope] = errors(rule, (mu, sigma), [1.0; 2]);
            let (off, leaning) =
                ((exact(&value) - found(&value)).abs(), (exact(&slope) - found(&slope)).abs());
            assert!(off <= of_value && leaning <= of_slope, "{mu}: {off} {of_value} {leaning} {of_slope}");
            closest = closest.max(leaning / of_slope);
        }
        assert!(closest > 1e-6, "{closest}");
    }
}

//! What is proved of a row's loss on an interval of its predictor [psi-envelope].

use crate::base::special::{inverse_mills, log_normal_cdf, sigmoid, softplus};
use crate::glm::Family;
use crate::glm::family::{Form, fourth};
use crate::theory::envelope::excess;
use provi_kernels::cloglog_success;

/// What is known of a row's φ on an interval about s, and at s itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Shape {
    /// The least mean curvature 2(φ(s+t) − φ(s) − φ'(s)t)/t², and the largest φ''.
    pub(crate) curvature: [f64; 2],
    /// max(0, −φ'''') and max(0, φ'''').
    pub(crate) fourth: [f64; 2],
}

impl Family {
    /// φ'''(s), and what bounds |φ'''| and |φ''''| nearby: φ''(s) times e^{distance}, or a constant.
    pub(crate) fn third(self, s: f64, y: f64) -> [f64; 2] {
        match self.form(y) {
            Form::Quadratic { .. } => [0.0; 2],
            Form::Logistic => {
                let second = self.second_derivative(s, y);
                // 1 − 2σ(s) = −tanh(s/2).
                [-second * (0.5 * s).tanh(), second]
            }
            Form::Rate(rate) => {
                let second = rate.at(s);
                [rate.sign * second, second]
            }
            Form::Ordered(halves) => halves.sum(|shift, y| Self::Bernoulli.third(s + shift, y)),
            // Cauchy's estimates; the cube is what rounding costs.
            Form::Probit => {
                let sign = 2.0 * y - 1.0;
                let ratio = inverse_mills(sign * s);
                [sign * fourth::probit(sign * s)[0], 9.0 + ratio * ratio * ratio]
            }
            Form::Cloglog(parts) => {
                let missed = if parts.rate > 0.0 { parts.rate * s.exp() } else { 0.0 };
                [parts.success * fourth::cloglog(s)[0] + missed, 15.0 * parts.success + missed]
            }
        }
    }

    /// What holds where |t| ≤ `reach`, rounded outwards. Logistic, w = φ'': φ'''' = w − 6w², which falls below zero only above w = 1/6 and is
    /// largest at w = 1/12. The mean curvature is least where s moves away from 0, for φ'' falls with |s|; of a rate and of probit, where φ''
    /// falls; of a cloglog success at an end, for φ'' rises and then falls [exact-draws].
    pub(crate) fn shape(self, s: f64, reach: f64, y: f64) -> Shape {
        let curvature = self.second_range(s - reach, s + reach, y);
        let [least, most] = curvature;
        match self.form(y) {
            Form::Quadratic { .. } => Shape { curvature, fourth: [0.0; 2] },
            Form::Logistic => {
                let fourth = |w: f64| w * (1.0 - 6.0 * w);
                let up = |x: f64| x.max(0.0) * (1.0 + 1e-12) + 1e-15 * most;
                let away = s.abs();
                let mean = mean_curvature([softplus(away), softplus(away + reach)], sigmoid(away), reach);
                let quartic = [up(-fourth(most)), up(fourth((1.0f64 / 12.0).clamp(least, most)))];
                Shape { curvature: [mean.max(least), most], fourth: quartic }
            }
            Form::Rate(rate) => {
                let mean = falling(rate.at(s), reach).max(least);
                Shape { curvature: [mean, most], fourth: [0.0, most] }
            }
            Form::Probit => {
                let t = (2.0 * y - 1.0) * s;
                let values = [t, t + reach].map(|t| -log_normal_cdf(t));
                let mean = mean_curvature(values, -inverse_mills(t), reach);
                let quartic = fourth::PROBIT.range(t - reach, t + reach);
                Shape { curvature: [mean.max(least), most], fourth: quartic }
            }
            Form::Cloglog(parts) => {
                let [value, slope, _] = cloglog_success(s);
                let mean = |sign: f64| {
                    let there = cloglog_success(s + sign * reach)[0];
                    mean_curvature([value, there], sign * slope, reach)
                };
                let rate = if parts.rate > 0.0 { parts.rate * s.exp() } else { 0.0 };
                let mean = parts.success * mean(1.0).min(mean(-1.0)) + falling(rate, reach);
                let [below, above] = fourth::CLOGLOG.range(s - reach, s + reach).map(|x| parts.success * x);
                let missed = if rate > 0.0 { rate * reach.exp() * (1.0 + 1e-12) } else { 0.0 };
                Shape { curvature: [mean.max(least), most], fourth: [below, above + missed] }
            }
            Form::Ordered(halves) => {
                let mut sum = Shape { curvature: [0.0; 2], fourth: [0.0; 2] };
                for (shift, y) in halves.iter() {
                    let part = Self::Bernoulli.shape(s + shift, reach, y);
                    for i in 0..2 {
                        sum.curvature[i] += part.curvature[i];
                        sum.fourth[i] += part.fourth[i];
                    }
                }
                sum
            }
        }
    }
}

/// 2(φ(s+t) − φ(s) − φ'(s)t)/t² for |t| = `reach`, rounded down, from the two values and the slope towards the second; they are good to 2⁶
/// units in the last place. 0 where that is not a number.
fn mean_curvature([here, there]: [f64; 2], slope: f64, reach: f64) -> f64 {
    let lost = 64.0 * f64::EPSILON * (here.abs() + there.abs() + (slope * reach).abs());
    (2.0 * (there - here - slope * reach - lost) / (reach * reach)).max(0.0)
}

/// The same of a rate, towards where it falls; 0 where that cancels.
fn falling(rate: f64, reach: f64) -> f64 {
    if reach > 1e-3 { 2.0 * rate * excess(reach) / (reach * reach) * (1.0 - 1e-12) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A second difference.
    fn bent(f: &dyn Fn(f64) -> f64, s: f64) -> f64 {
        (f(s - 1e-3) - 2.0 * f(s) + f(s + 1e-3)) / 1e-6
    }

    /// Against a scan of the interval, from both sides; a shape at a fraction of the interval is caught by the same scan.
    #[test]
    fn shapes_hold_on_the_interval_and_not_on_a_larger_one() {
        let mut caught = [0; 4];
        let gamma = Family::Gamma { noise_sd: 0.8 };
        let all = [
            (Family::Bernoulli, 0.7),
            (Family::Poisson, 0.7),
            (gamma, 0.7),
            (Family::Gaussian { noise_sd: 0.5 }, 0.7),
            (Family::Probit, 0.0),
            (Family::Probit, 1.0),
            (Family::Cloglog, 1.0),
            (Family::Cloglog, 0.7),
            (Family::Cloglog, 2.5),
        ];
        for (family, y) in all {
            for s in [-6.0, -1.9, -0.4, 0.0, 0.3, 1.0, 2.3, 5.0, 30.0] {
                for reach in [1e-9, 1e-4, 0.01, 0.3, 1.0, 2.5, 6.0] {
                    if family == Family::Cloglog && s > 3.0 {
                        // Beyond what differences resolve.
                        continue;
                    }
                    let fourth = |s: f64| match family {
                        Family::Poisson | Family::Gamma { .. } => family.second_derivative(s, y),
                        Family::Probit => bent(&|s| family.second_derivative(s, y), s),
                        Family::Cloglog => {
                            let parts = provi_kernels::Cloglog::of(y);
                            let rate = if parts.rate > 0.0 { parts.rate * s.exp() } else { 0.0 };
                            parts.success * bent(&|s| cloglog_success(s)[2], s) + rate
                        }
                        Family::Gaussian { .. } => 0.0,
                        _ => {
                            let w = family.second_derivative(s, y);
                            w * (1.0 - 6.0 * w)
                        }
                    };
                    // ∫₀¹ 2(1−v)φ''(s+vt)dv, by midpoints.
                    let mean = |t: f64| {
                        let at = |k: i32| (f64::from(k) + 0.5) / 200.0;
                        (0..200)
                            .map(|k| 2.0 * (1.0 - at(k)) * family.second_derivative(s + at(k) * t, y))
                            .sum::<f64>()
                            / 200.0
                    };
                    let [mut low, mut high, mut below, mut above] = [f64::INFINITY, 0.0f64, 0.0f64, 0.0f64];
                    for k in -60..=60 {
                        let t = reach * f64::from(k) / 60.0;
                        low = low.min(mean(t));
                        high = high.max(family.second_derivative(s + t, y));
                        below = below.max(-fourth(s + t));
                        above = above.max(fourth(s + t));
                    }
                    let shape = family.shape(s, reach, y);
                    let name = format!("{family:?} {s} {reach}: {shape:?} {low} {high} {below} {above}");
                    // The scan's own midpoints are good to 1e-4 of the largest curvature.
                    assert!(shape.curvature[0] <= low + 1e-4 * high && shape.curvature[1] >= high, "{name}");
                    assert!(shape.fourth[0] >= below && shape.fourth[1] >= above, "{name}");
                    let small = family.shape(s, 0.5 * reach, y);
                    caught[0] += u32::from(small.curvature[0] > low + 1e-3 * high);
                    caught[1] += u32::from(small.curvature[1] < high);
                    caught[2] += u32::from(small.fourth[0] < below);
                    caught[3] += u32::from(small.fourth[1] < above);
                    if family == Family::Cloglog && y.fract() > 0.0 {
                        // A sum of two ranges.
                        continue;
                    }
                    assert!(shape.curvature[0] >= 0.99 * low - 1e-6, "{name}");
                    assert!(
                        shape.fourth[0] <= below * 1.02 + 3e-4 && shape.fourth[1] <= above * 1.02 + 2e-3,
                        "{name}"
                    );
                }
            }
        }
        assert!(caught.iter().all(|&count| count > 3), "{caught:?}");
    }

    #[test]
    fn third_derivatives_are_differences_of_second_ones() {
        let all = [
            (Family::Bernoulli, 0.7),
            (Family::Poisson, 0.7),
            (Family::Gamma { noise_sd: 0.8 }, 0.7),
            (Family::Probit, 0.0),
            (Family::Probit, 1.0),
            (Family::Cloglog, 0.7),
            (Family::Cloglog, 1.0),
            (Family::Cloglog, 2.5),
        ];
        for (family, y) in all {
            for s in [-4.0, -0.7, 0.0, 1.2, 3.0] {
                let second = |s: f64| family.second_derivative(s, y);
                let slope = (second(s + 1e-5) - second(s - 1e-5)) / 2e-5;
                let [third, most] = family.third(s, y);
                assert!((slope - third).abs() < 1e-9 * (1.0 + most) && third.abs() <= most);
            }
        }
    }
}

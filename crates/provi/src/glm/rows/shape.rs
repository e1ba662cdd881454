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
    /// The remainder of Taylor's formula of third order lies between −fourth[0]·t⁴/24 and fourth[1]·t⁴/24; both are at least 0.
    pub(crate) fourth: [f64; 2],
}

/// The largest |φ⁽⁵⁾| of a logistic row: w|1−2σ||1−12w| with w = σ(1−σ), v = √(1−4w): a polynomial in v on [0, 1], ¼(1−v²)v|3v²−2|, below this.
const LOGISTIC_FIFTH: f64 = 0.1285;
/// Steps of a scan of mean fourth derivatives: so long, and at most so many on each side.
const STEP: f64 = 0.1;
const STEPS: f64 = 48.0;

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

    /// What holds where |t| ≤ each of `reaches`, for every true predictor within `off` of s, rounded outwards. Logistic, w = φ'': φ'''' = w − 6w², which
    /// falls below zero only above w = 1/6 and is largest at w = 1/12.
    ///
    /// The mean curvature of a step t from s is the mean of φ''(s + vt), v of density 2(1−v) on [0, 1]. For a logistic row it is least where s
    /// and t move away from 0, for φ'' falls with |s|; for a rate and for probit, where φ'' falls. For a cloglog success it is least at an end of
    /// the range of s and of t: φ'' rises and then falls, and the density of v is log-concave, so the mean rises and then falls with s (Ibragimov
    /// 1956); for t see [exact-draws].
    pub(crate) fn shapes(self, s: f64, off: f64, reaches: &[f64], y: f64) -> Vec<Shape> {
        let scans = match self.form(y) {
            Form::Logistic => vec![Scan::new(s, reaches)],
            Form::Ordered(halves) => halves.iter().map(|(shift, _)| Scan::new(s + shift, reaches)).collect(),
            _ => Vec::new(),
        };
        reaches.iter().map(|&reach| self.shape(s, off, reach, y, &scans)).collect()
    }

    /// For one reach, with the scan of each logistic part.
    fn shape(self, s: f64, off: f64, reach: f64, y: f64, scans: &[Scan]) -> Shape {
        let whole = reach + off;
        let curvature = self.second_range(s - whole, s + whole, y);
        let [least, most] = curvature;
        match self.form(y) {
            Form::Quadratic { .. } => Shape { curvature, fourth: [0.0; 2] },
            Form::Logistic => {
                let away = s.abs() + off;
                let mean = mean_curvature([softplus(away), softplus(away + reach)], sigmoid(away), reach);
                Shape {
                    curvature: [mean.max(least), most],
                    fourth: logistic_fourth(&scans[0], off, reach, curvature),
                }
            }
            Form::Rate(rate) => {
                let mean = falling(rate.at(s - rate.sign * off), reach).max(least);
                let rising = rate.at(s + rate.sign * off) * rising_fourth(reach);
                Shape { curvature: [mean, most], fourth: [0.0, rising.min(most)] }
            }
            Form::Probit => {
                let t = (2.0 * y - 1.0) * s;
                let away = t + off;
                let values = [away, away + reach].map(|t| -log_normal_cdf(t));
                let mean = mean_curvature(values, -inverse_mills(away), reach);
                let quartic = fourth::PROBIT.range(t - whole, t + whole);
                Shape { curvature: [mean.max(least), most], fourth: quartic }
            }
            Form::Cloglog(parts) => {
                let mean = |s: f64, sign: f64| {
                    let [value, slope, _] = cloglog_success(s);
                    let there = cloglog_success(s + sign * reach)[0];
                    mean_curvature([value, there], sign * slope, reach)
                };
                let ends = [s - off, s + off].map(|s| mean(s, 1.0).min(mean(s, -1.0)));
                let rate = |s: f64| if parts.rate > 0.0 { parts.rate * s.exp() } else { 0.0 };
                let mean = parts.success * ends[0].min(ends[1]) + falling(rate(s - off), reach);
                let [below, above] = fourth::CLOGLOG.range(s - whole, s + whole).map(|x| parts.success * x);
                let missed = if parts.rate > 0.0 { rate(s) * whole.exp() * (1.0 + 1e-12) } else { 0.0 };
                Shape { curvature: [mean.max(least), most], fourth: [below, above + missed] }
            }
            Form::Ordered(halves) => {
                let mut sum = Shape { curvature: [0.0; 2], fourth: [0.0; 2] };
                for ((shift, y), scan) in halves.iter().zip(scans) {
                    let part = Self::Bernoulli.shape(s + shift, off, reach, y, std::slice::from_ref(scan));
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

/// 24(eᵗ − 1 − t − t²/2 − t³/6)/t⁴, rounded up: the mean fourth derivative of a rate of one, towards where it rises.
fn rising_fourth(t: f64) -> f64 {
    let mean = match t > 0.5 {
        true => 24.0 * (t.exp() - 1.0 - t - 0.5 * t * t - t * t * t / 6.0) / t.powi(4),
        // Σ_k 24tᵏ/(k+4)!, each term at most t/5 times the one before.
        false => 1.0 / (1.0 - t / 5.0),
    };
    mean * (1.0 + 1e-10)
}

/// The mean of φ⁗(s + vt) of a logistic row, v of density 4(1−v)³ on [0, 1], at places t on both sides of 0; it is
/// 24(φ(s+t) − φ − φ't − φ''t²/2 − φ'''t³/6)/t⁴.
struct Scan {
    step: f64,
    /// For each k the least and the largest value where |t| is at most k steps, at the places alone.
    extremes: Vec<[f64; 2]>,
}

impl Scan {
    /// As far as the largest reach.
    fn new(s: f64, reaches: &[f64]) -> Self {
        let (value, slope) = (softplus(s), sigmoid(s));
        let second = slope * sigmoid(-s);
        let third = -second * (0.5 * s).tanh();
        let furthest = reaches.iter().fold(0.0, |m: f64, x| m.max(*x));
        let count = (furthest / STEP).ceil().clamp(1.0, STEPS);
        // No shorter than STEP, where the quotient cancels.
        let step = (furthest / count).max(STEP);
        let here = second * (1.0 - 6.0 * second);
        let (mut low, mut high) = (here, here);
        let mut extremes = vec![[here; 2]];
        for k in 1..=count as u32 {
            for t in [step * f64::from(k), -step * f64::from(k)] {
                let rest = softplus(s + t) - value - t * (slope + t * (0.5 * second + t * third / 6.0));
                // The sum of a few terms, each good to some units in the last place of the largest.
                let sizes = 1.0 + value + t.abs() * (1.0 + t.abs() * (second + t.abs() * third.abs()));
                let lost = 64.0 * f64::EPSILON * sizes;
                let mean = 24.0 / (t * t * t * t);
                let [least, most] = [(rest - lost) * mean, (rest + lost) * mean];
                // A NaN says nothing.
                low = if least.is_nan() { f64::NEG_INFINITY } else { low.min(least) };
                high = if most.is_nan() { f64::INFINITY } else { high.max(most) };
            }
            extremes.push([low, high]);
        }
        Self { step, extremes }
    }

    /// The extremes at some places, none of which is further than the number from a t with |t| ≤ `reach`.
    fn within(&self, reach: f64) -> ([f64; 2], f64) {
        if reach <= 0.5 * self.step {
            return (self.extremes[0], reach);
        }
        let k = (reach / self.step * (1.0 - 1e-12)).ceil() as usize;
        (self.extremes[k.min(self.extremes.len() - 1)], 0.5 * self.step * (1.0 + 1e-9))
    }
}

/// Of a logistic row: max(0, ∓ the mean of φ⁗(s + vt)) with v of density 4(1−v)³, over |t| ≤ reach. That mean changes by at most
/// |φ⁽⁵⁾|/5 per unit of t, and by |φ⁽⁵⁾| per unit of s: so a scan of t bounds it. φ⁗ = w − 6w² bounds it too, w = φ'' in its range.
fn logistic_fourth(scan: &Scan, off: f64, reach: f64, [least, most]: [f64; 2]) -> [f64; 2] {
    let fourth = |w: f64| w * (1.0 - 6.0 * w);
    let up = |x: f64| x.max(0.0) * (1.0 + 1e-12) + 1e-15 * most;
    let plain = [up(-fourth(most)), up(fourth((1.0f64 / 12.0).clamp(least, most)))];
    let ([low, high], around) = scan.within(reach);
    let between = LOGISTIC_FIFTH * (around / 5.0 + off);
    [plain[0].min(up(between - low)), plain[1].min(up(between + high))]
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

    /// Against a scan of the interval, from both sides, with predictors that are known to `off` alone; a shape at a fraction of the interval, or
    /// one that forgets `off`, is caught by the same scan.
    #[test]
    fn shapes_hold_on_the_interval_and_not_on_a_larger_one() {
        let mut caught = [0; 4];
        let mut forgotten = 0;
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
                for (off, reach) in [
                    (0.0, 1e-9),
                    (0.0, 1e-4),
                    (0.0, 0.01),
                    (0.0, 0.3),
                    (0.0, 1.0),
                    (0.0, 2.5),
                    (0.0, 6.0),
                    (0.3, 0.3),
                    (0.1, 2.5),
                ] {
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
                    let mean = |s: f64, t: f64| {
                        let at = |k: i32| (f64::from(k) + 0.5) / 200.0;
                        (0..200)
                            .map(|k| 2.0 * (1.0 - at(k)) * family.second_derivative(s + at(k) * t, y))
                            .sum::<f64>()
                            / 200.0
                    };
                    // ∫₀¹ 4(1−v)³φ''''(s+vt)dv, by midpoints; of the others the largest φ''''.
                    let mean_fourth = |s: f64, t: f64| match family {
                        Family::Probit | Family::Cloglog => fourth(s + t),
                        _ => {
                            let at = |k: i32| (f64::from(k) + 0.5) / 100.0;
                            let each = (0..100).map(|k| 4.0 * (1.0 - at(k)).powi(3) * fourth(s + at(k) * t));
                            each.sum::<f64>() / 100.0
                        }
                    };
                    let [mut low, mut high, mut below, mut above] = [f64::INFINITY, 0.0f64, 0.0f64, 0.0f64];
                    for k in -60..=60 {
                        let t = reach * f64::from(k) / 60.0;
                        for s in [s - off, s, s + off] {
                            low = low.min(mean(s, t));
                            high = high.max(family.second_derivative(s + t, y));
                            let quartic = mean_fourth(s, t);
                            below = below.max(-quartic);
                            above = above.max(quartic);
                        }
                    }
                    let shape = family.shapes(s, off, &[reach], y)[0];
                    let sure = family.shapes(s, 0.0, &[reach], y)[0];
                    forgotten += u32::from(off > 0.0 && sure.curvature[0] > low + 1e-3 * high);
                    // A scan that other reaches share is a little coarser.
                    let shared = family.shapes(s, off, &[0.0, reach, 3.0 * reach], y)[1];
                    let [least, most] = shared.fourth.map(|x| x * (1.0 + 2e-4) + 1e-5 * high);
                    assert!(
                        least >= below && most >= above,
                        "{family:?} {s} {reach}: {shared:?} {below} {above}"
                    );
                    assert_eq!(shared.curvature.map(f64::to_bits), shape.curvature.map(f64::to_bits));
                    let coarser = LOGISTIC_FIFTH * 0.3 * (3.0 * reach / STEPS).max(STEP);
                    assert!(
                        shared.fourth.iter().zip(shape.fourth).all(|(a, b)| *a <= b + coarser),
                        "{shared:?} {shape:?}"
                    );
                    let name = format!("{family:?} {s} {reach}: {shape:?} {low} {high} {below} {above}");
                    // The scan's own midpoints are good to 1e-4 of the largest curvature.
                    assert!(shape.curvature[0] <= low + 1e-4 * high && shape.curvature[1] >= high, "{name}");
                    // So are those of fourth derivatives.
                    let [least, most] = shape.fourth.map(|x| x * (1.0 + 2e-4) + 1e-5 * high);
                    assert!(least >= below && most >= above, "{name}");
                    let small = family.shapes(s, off, &[0.5 * reach], y)[0];
                    caught[0] += u32::from(small.curvature[0] > low + 1e-3 * high);
                    caught[1] += u32::from(small.curvature[1] < high);
                    caught[2] += u32::from(small.fourth[0] < below - 1e-5);
                    caught[3] += u32::from(small.fourth[1] < above - 1e-5 * high);
                    if family == Family::Cloglog && y.fract() > 0.0 {
                        // A sum of two ranges.
                        continue;
                    }
                    assert!(shape.curvature[0] >= 0.99 * low - 1e-6, "{name}");
                    // What lies between two places of a scan, and what |φ⁗| of the others may be off by.
                    let step = 0.5 * (reach / STEPS).max(STEP);
                    let between = LOGISTIC_FIFTH * (step / 5.0 + 2.0 * off) + 3e-4;
                    let [least, most] = [below, above].map(|x| x * 1.02 + between);
                    assert!(shape.fourth[0] <= least && shape.fourth[1] <= most + 2e-3, "{name}");
                }
            }
        }
        assert!(caught.iter().all(|&count| count > 3) && forgotten > 20, "{caught:?} {forgotten}");
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

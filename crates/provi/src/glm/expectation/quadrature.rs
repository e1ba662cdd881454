//! E φ, E φ' and E φ'' at s ~ N(μ, σ²): closed forms, or quadrature with error bounds.

mod hermite;
mod probit;

use crate::base::chunked::Chunks;
use crate::glm::Family;
use crate::glm::device::DeviceRule;
use crate::glm::family::{Form, Halves, Rate};
use provi_kernels::Cloglog;
use std::f64::consts::{LN_2, PI};
use std::sync::OnceLock;

/// One entry per row, without the weights.
pub(in crate::glm) struct Terms {
    pub(in crate::glm) value: Vec<f64>,
    pub(in crate::glm) first: Vec<f64>,
    pub(in crate::glm) second: Vec<f64>,
    /// Upper bound of the error of `value`.
    pub(in crate::glm) value_error: Vec<f64>,
    /// Upper bound of the errors of `first` and `second`.
    pub(in crate::glm) slope_error: Vec<f64>,
}

impl Terms {
    fn new(rows: usize) -> Self {
        let zeros = || vec![0.0; rows];
        Self { value: zeros(), first: zeros(), second: zeros(), value_error: zeros(), slope_error: zeros() }
    }

    /// Row n, if it is a rate:
    /// ```text
    /// E(κe^{±s} − ℓs) = κe^{±μ + σ²/2} − ℓμ
    /// ```
    fn rate(&mut self, n: usize, form: Rate, mean: f64, deviation: f64) {
        let rate = form.factor * (form.sign * mean + 0.5 * deviation * deviation).exp();
        let line = form.line.abs();
        self.value[n] = rate - form.line * mean;
        self.first[n] = form.sign * rate - form.line;
        self.second[n] = rate;
        // The rounding error of the exponent is multiplied by the rate.
        let exponent = mean.abs() + deviation * deviation;
        self.slope_error[n] = 4.0 * f64::EPSILON * (rate * (1.0 + exponent) + line);
        self.value_error[n] = self.slope_error[n] + 4.0 * f64::EPSILON * line * mean.abs();
    }

    /// Row n with a cloglog link. The rate is a formula; for the successes ψ = −log(1 − e^{−w}), w = eˢ, a trapezoid finer
    /// than for the logistic family. In |Im s| ≤ b < π/2 let c = cos b, so x = Re w ≥ c|w| [exact-bound]:
    /// ```text
    /// |ψ'| = |w/(e^w − 1)| ≤ x/(c(e^x − 1)) ≤ 1/c,    |ψ''| ≤ |ψ'|(|ψ'| + |w| + 1) ≤ 1.65/c² + 1/c,
    /// |ψ| ≤ |Re s| + log 2 + log(1/c) + π/2
    /// ```
    /// for |e^w − 1| ≥ e^x − 1, x² ≤ 0.65(e^x − 1), and 1 − e^{−x} ≥ x/(1 + x). What is cut off is at most what a logistic row loses.
    fn cloglog(&mut self, n: usize, mean: f64, deviation: f64, parts: Cloglog) {
        let Cloglog { success: y, rate, line } = parts;
        if rate > 0.0 {
            self.rate(n, Rate { sign: 1.0, factor: rate, line }, mean, deviation);
        }
        if y <= 0.0 {
            return;
        }
        let rule = &rules()[trapezoid_for(deviation)];
        let mut sums = [0.0; 3];
        for (t, w) in rule.nodes.iter().zip(&rule.weights) {
            let at = provi_kernels::cloglog_success(mean + deviation * t);
            sums.iter_mut().zip(at).for_each(|(sum, x)| *sum += w * x);
        }
        let cosine = STRIP.cos();
        let aliasing = aliasing_in(STRIP, rule.step, deviation) * (1.0 + 1e-10);
        let (size, steep) = (mean.abs() + LN_2, (1.65 / cosine + 1.0) / cosine);
        let density = (-0.5 * rule.reach * rule.reach).exp() / (2.0 * PI).sqrt();
        let rounding = (rule.nodes.len() as f64 + 40.0) * f64::EPSILON;
        self.value[n] += y * sums[0];
        self.first[n] += y * sums[1];
        self.second[n] += y * sums[2];
        self.value_error[n] += y
            * ((size + deviation - cosine.ln() + 0.5 * PI) * aliasing
                + 2.1 * (size * rule.outside + deviation * density)
                + rounding * (1.0 + size + deviation));
        self.slope_error[n] += y * (steep * aliasing + 2.1 * rule.outside + 2.0 * rounding);
    }

    fn followed_by(mut self, other: Self) -> Self {
        self.value.extend(other.value);
        self.first.extend(other.first);
        self.second.extend(other.second);
        self.value_error.extend(other.value_error);
        self.slope_error.extend(other.slope_error);
        self
    }
}

/// Rows processed together. A row's result does not depend on the other rows, so this number changes no bits.
const ROWS: usize = 512;
/// Cost of a row in multiply-adds: about thirty nodes of twenty each.
const NODE_WORK: usize = 600;

/// The expectations of every row.
pub(in crate::glm) fn expect(family: Family, means: &[f64], deviations: &[f64], response: &[f64]) -> Terms {
    let chunks = Chunks { len: means.len(), size: ROWS, work: means.len().saturating_mul(NODE_WORK) };
    let parts = crate::base::chunked::map(chunks, |range| {
        expect_rows(family, &means[range.clone()], &deviations[range.clone()], &response[range])
    });
    parts.into_iter().reduce(Terms::followed_by).unwrap_or_else(|| Terms::new(0))
}

/// The expectations of some rows, on one thread.
pub(in crate::glm) fn expect_rows(
    family: Family,
    means: &[f64],
    deviations: &[f64],
    response: &[f64],
) -> Terms {
    let rows = means.len();
    let mut out = Terms::new(rows);
    match family.form(1.0) {
        Form::Quadratic { precision: theta } => {
            for n in 0..rows {
                let residual = means[n] - response[n];
                out.value[n] = 0.5 * theta * (residual * residual + deviations[n] * deviations[n]);
                out.first[n] = theta * residual;
                out.second[n] = theta;
                let size = means[n].abs() + response[n].abs();
                out.value_error[n] =
                    8.0 * f64::EPSILON * theta * (size * size + deviations[n] * deviations[n]);
                out.slope_error[n] = 8.0 * f64::EPSILON * theta * (1.0 + size);
            }
        }
        Form::Rate(_) => {
            for n in 0..rows {
                if let Some(form) = family.rate(response[n]) {
                    out.rate(n, form, means[n], deviations[n]);
                }
            }
        }
        Form::Logistic => logistic(means, deviations, response, &mut out),
        Form::Probit => probit::probit(means, deviations, response, &mut out),
        Form::Cloglog(_) => {
            for n in 0..rows {
                out.cloglog(n, means[n], deviations[n], Cloglog::of(response[n]));
            }
        }
        Form::Ordered(_) => ordered(means, deviations, response, &mut out),
    }
    out
}

/// A quadrature rule for N(0, 1): Gauss–Hermite if the step h is zero, else nodes jh, |jh| ≤ T, with weights
/// h·e^{−t²/2}/√2π.
struct Rule {
    step: f64,
    reach: f64,
    widest: f64,
    /// P(N > T), the tail that is cut off; zero for a Gauss–Hermite rule.
    outside: f64,
    nodes: Vec<f64>,
    weights: Vec<f64>,
}

impl Rule {
    /// The discretisation error of the slopes, for a given standard deviation σ.
    fn error(&self, deviation: f64) -> f64 {
        if self.step > 0.0 {
            aliasing(self.step, deviation)
        } else {
            hermite::error(self.nodes.len(), deviation)
        }
    }

    /// Sets the largest deviation for which the error stays below [`GOAL`].
    fn fitted(mut self) -> Self {
        let (mut low, mut high) = (0.0, 1e3);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if self.error(middle) <= GOAL { low = middle } else { high = middle }
        }
        self.widest = low;
        self
    }
}

/// Number of Gauss–Hermite rules; trapezoid rules follow.
const HERMITES: usize = 4;
const LEVELS: usize = 17;
const GOAL: f64 = 1e-16;

/// The rules from narrow to wide: Gauss–Hermite, then trapezoids of step 0.7·2^{−j/2}. Each is used for deviations
/// up to its `widest`, with an error below [`GOAL`].
fn rules() -> &'static [Rule] {
    static RULES: OnceLock<Vec<Rule>> = OnceLock::new();
    RULES.get_or_init(|| {
        let hermites = hermite::rules().map(|(nodes, weights)| Rule {
            step: 0.0,
            reach: f64::INFINITY,
            widest: 0.0,
            outside: 0.0,
            nodes,
            weights,
        });
        let trapezoids = (0..LEVELS).map(|level| {
            let step = 0.7 * 0.5f64.powf(0.5 * level as f64);
            let half = (8.5 / step).ceil();
            let nodes: Vec<f64> = (-half as i64..=half as i64).map(|j| j as f64 * step).collect();
            let scale = step / (2.0 * PI).sqrt();
            let weights = nodes.iter().map(|t| scale * (-0.5 * t * t).exp()).collect();
            Rule { step, reach: half * step, widest: 0.0, outside: tail(half * step), nodes, weights }
        });
        hermites.chain(trapezoids).map(Rule::fitted).collect()
    })
}

fn rule_for(deviation: f64) -> usize {
    rules().partition_point(|r| r.widest < deviation).min(rules().len() - 1)
}

/// The rules for a device, two levels finer than the logistic family needs, so that every family is integrated well.
pub(in crate::glm) fn device_rules() -> Vec<DeviceRule<'static>> {
    let all = rules();
    let finer = |k: usize| &all[(k.max(HERMITES) + 2).min(all.len() - 1)];
    let of = |k: usize| {
        let rule = finer(k);
        DeviceRule { widest: all[k].widest, nodes: &rule.nodes, weights: &rule.weights }
    };
    (HERMITES..all.len()).map(of).collect()
}

/// A trapezoid one level finer than for the logistic family.
fn trapezoid_for(deviation: f64) -> usize {
    (rule_for(deviation).max(HERMITES) + 2).min(rules().len() - 1)
}

/// Half the width of the strip in which cloglog rows are bounded; π/2 is too wide.
const STRIP: f64 = 1.4;

/// E f(s) for s ~ N(mean, deviation²), for an f that is analytic in |Im s| < π/2.
pub(in crate::glm) fn mean_of(f: impl Fn(f64) -> f64, mean: f64, deviation: f64) -> f64 {
    let rule = &rules()[trapezoid_for(deviation)];
    rule.nodes.iter().zip(&rule.weights).map(|(t, w)| w * f(mean + deviation * t)).sum()
}

/// 2e^{a²/2}/(e^{2πa/h} − 1), a = min{2π/h, π/2σ}, computed through logarithms: the discretisation error for a
/// function that is analytic and bounded by 1 in |Im s| < π/2 [exact-bound].
fn aliasing(step: f64, deviation: f64) -> f64 {
    aliasing_in(0.5 * PI, step, deviation)
}

/// The same for |Im s| < strip.
fn aliasing_in(strip: f64, step: f64, deviation: f64) -> f64 {
    let a = (2.0 * PI / step).min(strip / deviation);
    let exponent = 2.0 * PI * a / step;
    // e^{a²/2}/(e^x − 1) = e^{a²/2 − x}/(1 − e^{−x})
    2.0 * (0.5 * a * a - exponent).exp() / -(-exponent).exp_m1()
}

/// The normal tail P(N > t).
fn tail(t: f64) -> f64 {
    0.5 * libm::erfc(t / std::f64::consts::SQRT_2)
}

/// Logistic rows, grouped by rule so that each group shares its nodes. The error bound is proved [exact-bound]; the
/// first line is for n Gauss–Hermite nodes, the others for a trapezoid rule:
/// ```text
/// |error of Eφ|, |error of Eφ'|, |error of Eφ''| ≤ n!(σ/ρ)²ⁿ/4cos²(ρ/2),   ρ = πn/(n+1)
///
/// |error of Eφ'|, |error of Eφ''| ≤ 2e^{a²/2}/(e^{2πa/h} − 1) + 2Q(T)
/// |error of Eφ| ≤ (|μ| + σ + log 2 + π/2)·2e^{a²/2}/(e^{2πa/h} − 1) + 2(|μ| + log 2)Q(T) + 2σe^{−T²/2}/√2π
/// ```
/// plus rounding: a sum of J terms loses at most (J + 8)ε times its absolute value. Q(T) = P(N > T).
fn logistic(means: &[f64], deviations: &[f64], response: &[f64], out: &mut Terms) {
    let level: Vec<usize> = deviations.iter().map(|&s| rule_for(s)).collect();
    if level.iter().all(|&l| l == level[0]) {
        // The usual case: all rows use the same rule.
        let Terms { value, first, second, .. } = out;
        let Some(rule) = level.first().map(|&level| &rules()[level]) else { return };
        let (nodes, weights) = (&rule.nodes, &rule.weights);
        provi_kernels::expectation::logistic(means, deviations, nodes, weights, value, first, second);
        let errors = Errors::new(rule);
        (0..means.len()).for_each(|n| errors.finish(n, means[n], deviations[n], response[n], out));
        return;
    }
    let mut order: Vec<usize> = (0..means.len()).collect();
    order.sort_by_key(|&n| level[n]);
    let gather = |from: &[f64]| order.iter().map(|&n| from[n]).collect::<Vec<f64>>();
    let (mu, sigma) = (gather(means), gather(deviations));
    let (mut value, mut first, mut second) = (vec![0.0; mu.len()], vec![0.0; mu.len()], vec![0.0; mu.len()]);
    let mut start = 0;
    while start < order.len() {
        let rule = &rules()[level[order[start]]];
        let end = start + order[start..].partition_point(|&n| level[n] == level[order[start]]);
        let group = start..end;
        provi_kernels::expectation::logistic(
            &mu[group.clone()],
            &sigma[group.clone()],
            &rule.nodes,
            &rule.weights,
            &mut value[group.clone()],
            &mut first[group.clone()],
            &mut second[group.clone()],
        );
        let errors = Errors::new(rule);
        for i in group {
            let n = order[i];
            (out.value[n], out.first[n], out.second[n]) = (value[i], first[i], second[i]);
            errors.finish(n, mu[i], sigma[i], response[n], out);
        }
        start = end;
    }
}

/// Ordered rows: their logistic parts, one after the other.
fn ordered(means: &[f64], deviations: &[f64], response: &[f64], out: &mut Terms) {
    let mut parts: Vec<(usize, f64, f64)> = Vec::with_capacity(2 * means.len());
    for (n, &y) in response.iter().enumerate() {
        parts.extend(Halves::of(y).iter().map(|(shift, y)| (n, shift, y)));
    }
    let of = |f: &dyn Fn(&(usize, f64, f64)) -> f64| parts.iter().map(f).collect::<Vec<f64>>();
    let (mu, sigma) = (of(&|(n, shift, _)| means[*n] + shift), of(&|(n, ..)| deviations[*n]));
    let mut each = Terms::new(parts.len());
    logistic(&mu, &sigma, &of(&|(.., y)| *y), &mut each);
    for (i, &(n, shift, _)) in parts.iter().enumerate() {
        out.value[n] += each.value[i];
        out.first[n] += each.first[i];
        out.second[n] += each.second[i];
        // The shift and the sum of two parts are rounded.
        let lost = 2.0 * f64::EPSILON * (1.0 + means[n].abs() + shift.abs());
        out.value_error[n] += each.value_error[i] + lost + 2.0 * f64::EPSILON * each.value[i].abs();
        out.slope_error[n] += each.slope_error[i] + lost;
    }
}

/// The error bound of a logistic row, with the numbers that all rows of its rule share.
struct Errors<'r> {
    rule: &'r Rule,
    rounding: f64,
    outside: f64,
    density: f64,
}

impl<'r> Errors<'r> {
    fn new(rule: &'r Rule) -> Self {
        Self {
            rule,
            rounding: (rule.nodes.len() as f64 + 8.0) * f64::EPSILON,
            outside: rule.outside,
            density: (-0.5 * rule.reach * rule.reach).exp() / (2.0 * PI).sqrt(),
        }
    }

    /// Adds the response to the sums of row n, and bounds their errors.
    fn finish(&self, n: usize, mu: f64, sigma: f64, y: f64, out: &mut Terms) {
        let Self { rule, rounding, outside, density } = self;
        // The error grows with σ. Up to the rule's widest deviation, GOAL bounds it.
        let aliasing = if sigma <= rule.widest { GOAL } else { rule.error(sigma) };
        // For Gauss–Hermite the same bound holds for the value.
        let spread = if rule.step > 0.0 { mu.abs() + LN_2 + sigma + 0.5 * PI } else { 1.0 };
        let size = mu.abs() + LN_2;
        let bound = |x: f64| x * (1.0 + 1e-10);
        out.value[n] -= y * mu;
        out.first[n] -= y;
        out.slope_error[n] = bound(aliasing + 2.0 * outside) + rounding;
        out.value_error[n] = bound(spread * aliasing + 2.0 * size * outside + 2.0 * sigma * density)
            + rounding * (size + sigma);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A brute-force rule: 200 001 nodes over ±10 standard deviations.
    fn reference(family: Family, mu: f64, sigma: f64, y: f64) -> [f64; 3] {
        let step = 1e-4;
        let mut sums = [0.0; 3];
        for j in -100_000..=100_000i32 {
            let t = f64::from(j) * step;
            let w = step * (-0.5 * t * t).exp() / (2.0 * PI).sqrt();
            let at = family.derivatives(mu + sigma * t, y);
            (0..3).for_each(|i| sums[i] += w * at[i]);
        }
        sums
    }

    #[test]
    fn expectations_match_brute_force_within_their_error_over_all_widths() {
        let [event, interval] = [-1.0, 3.5];
        for (family, y) in [
            (Family::Bernoulli, 1.0),
            (Family::Probit, 1.0),
            (Family::Cloglog, 1.0),
            (Family::Cloglog, event),
            (Family::Cloglog, interval),
            (Family::Ordered { gaps: crate::glm::Gaps::SOME }, -1.5),
        ] {
            let rates = family == Family::Cloglog && Cloglog::of(y).rate > 0.0;
            // The reference adds 200 001 terms; those of a rate are large.
            let unit = if rates { 1e-11 } else { 1e-13 };
            for sigma in [1e-8, 1e-3, 0.1, 0.2, 0.3, 0.33, 0.37, 1.0, 3.0, 12.0, 50.0] {
                for mu in [0.0, 0.7, -3.0, 25.0] {
                    if rates && sigma > 3.0 {
                        // The reference is not wide enough for a rate.
                        continue;
                    }
                    let terms = expect(family, &[mu], &[sigma], &[y]);
                    let truth = reference(family, mu, sigma, y);
                    let slack = unit * (1.0 + truth[0].abs());
                    assert!(
                        (terms.value[0] - truth[0]).abs() <= terms.value_error[0] + slack,
                        "{family:?} {mu} {sigma}"
                    );
                    assert!(
                        (terms.first[0] - truth[1]).abs()
                            <= terms.slope_error[0] + unit * (1.0 + truth[1].abs())
                    );
                    assert!(
                        (terms.second[0] - truth[2]).abs()
                            <= terms.slope_error[0] + unit * (1.0 + truth[2].abs())
                    );
                    assert!(
                        terms.slope_error[0] < 1e-11 * (1.0 + truth[1].abs()),
                        "{family:?} {mu} {sigma}: {}",
                        terms.slope_error[0]
                    );
                }
            }
        }
    }

    /// The bounds of a success in the strip hold on a grid of it, and a rule that is too coarse errs by less than they say; with a strip
    /// as wide as the logistic one they would not hold.
    #[test]
    fn a_cloglog_row_is_bounded_in_its_strip() {
        let product = |[a, b]: [f64; 2], [c, d]: [f64; 2]| [a * c - b * d, a * d + b * c];
        let size = |[a, b]: [f64; 2]| a.hypot(b);
        // |w/(e^w − 1)| and |h(h + w − 1)| at s = x + iy.
        let at = |x: f64, y: f64| {
            let w = [x.exp() * y.cos(), x.exp() * y.sin()];
            let below = [w[0].exp() * w[1].cos() - 1.0, w[0].exp() * w[1].sin()];
            let square = size(below).powi(2);
            let h = product(w, [below[0] / square, -below[1] / square]);
            [size(h), size(product(h, [h[0] + w[0] - 1.0, h[1] + w[1]]))]
        };
        let largest = |strip: f64| {
            let (mut slope, mut second) = (0.0f64, 0.0f64);
            for j in -200..=300 {
                for k in 0..=100 {
                    let [a, b] = at(0.02 * f64::from(j), 0.01 * strip * f64::from(k));
                    (slope, second) = (slope.max(a), second.max(b));
                }
            }
            [slope, second]
        };
        let cosine = STRIP.cos();
        let ([slope, second], steep) = (largest(STRIP), (1.65 / cosine + 1.0) / cosine);
        assert!(slope <= 1.0 / cosine && slope > 0.5 / cosine, "{slope}");
        assert!(second <= steep && second > 0.4 * steep, "{second}");
        assert!(largest(0.5 * PI)[0] > 10.0 * slope);
        let (rule, sigma) = (&rules()[HERMITES], 3.0);
        let bound = steep * aliasing_in(STRIP, rule.step, sigma) + 2.0 * rule.outside;
        for mu in [0.0, 0.5, 1.0, 2.0] {
            let truth = reference(Family::Cloglog, mu, sigma, 1.0)[1];
            let at = |(t, w): (&f64, &f64)| w * provi_kernels::cloglog_success(mu + sigma * t)[1];
            let sum: f64 = rule.nodes.iter().zip(&rule.weights).map(at).sum();
            assert!((sum - truth).abs() <= bound, "{mu}: {sum} {truth} {bound}");
        }
    }

    #[test]
    fn the_proved_error_covers_a_rule_that_is_too_coarse_and_is_not_absurd() {
        // σ = 3 with a rule meant for σ < 0.4: the bound must exceed the error, by less than 1e4.
        let rule = &rules()[HERMITES];
        let mut worst: f64 = 0.0;
        for mu in [0.0, 0.5, 1.0, 2.0] {
            let truth = reference(Family::Bernoulli, mu, 3.0, 0.0)[1];
            let sum: f64 = rule
                .nodes
                .iter()
                .zip(&rule.weights)
                .map(|(t, w)| w * Family::Bernoulli.derivatives(mu + 3.0 * t, 0.0)[1])
                .sum();
            worst = worst.max((sum - truth).abs());
        }
        let bound = aliasing(rule.step, 3.0);
        assert!(worst <= bound && worst > 1e-4 * bound, "{worst} {bound}");
    }

    #[test]
    fn a_row_does_not_depend_on_its_company() {
        let alone = expect(Family::Bernoulli, &[0.3], &[0.9], &[1.0]);
        let together = expect(Family::Bernoulli, &[2.0, 0.3, -1.0], &[5.0, 0.9, 0.1], &[0.0, 1.0, 1.0]);
        assert_eq!(alone.value[0].to_bits(), together.value[1].to_bits());
        assert_eq!(alone.second[0].to_bits(), together.second[1].to_bits());
    }
}

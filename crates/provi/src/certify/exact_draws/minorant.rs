//! The best quadratic below a row's φ on an interval.

use crate::base::special::{inverse_mills, log_normal_cdf, sigmoid, softplus};
use crate::glm::Family;
use crate::glm::family::Form;
use provi_kernels::{Cloglog, cloglog_success};

/// φ(s + t) ≥ value + slope·t + ½·bend·t² for |t| ≤ reach.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Minorant {
    pub(super) value: f64,
    pub(super) slope: f64,
    pub(super) bend: f64,
}

/// Where a quadratic touches φ, in deviations of t: beside the middle, for a cubic part costs less there.
pub(super) const PLACES: [f64; 4] = [0.1, 0.35, 0.5, 0.7];
/// The place that tells which side is better.
pub(super) const FIRST: f64 = 0.2;
/// Averages of φ'' are taken over no less than this: closer by, differences of φ cancel.
pub(super) const NEAR: f64 = 1e-3;

impl Minorant {
    /// The quadratic that touches φ at s + t₁, with the least averaged curvature
    /// ```text
    /// A(t) = 2[φ(s₁+t) − φ(s₁) − φ'(s₁)t]/t² = ∫₀¹ 2(1−v)φ''(s₁+vt) dv,   s₁ = s + t₁
    /// ```
    /// over the interval. φ'' increases and then decreases (or does only one of both), so A does too, and its least value is at an
    /// end: t³A' = 2(tF' − 2F) with F = ½t²A, F'' = φ''(s₁+t), and for t > 0 (tF' − 2F)'' = tφ'''(s₁+t) is first positive, then
    /// negative; both it and its slope are 0 at t = 0, so tF' − 2F changes sign at most once, from + to −. [exact-draws]
    pub(super) fn touching(family: Family, (s, y): (f64, f64), at: f64, reach: f64) -> Self {
        let s = s + at;
        let [value, slope, _] = family.derivatives(s, y);
        let bend = least_bend(family, (s, y), -reach - at, reach - at);
        Self::around(value, slope, bend, (s, at))
    }

    /// The quadratic with this value, slope and bend at s = s₀ + at, seen from s₀. Its terms may cancel, so its value is moved down by what their rounding, and
    /// that of s, may have lost.
    pub(super) fn around(value: f64, slope: f64, bend: f64, (s, at): (f64, f64)) -> Self {
        let (straight, bent) = (slope * at, 0.5 * bend * at * at);
        let lost = 8.0 * f64::EPSILON * (value.abs() + slope.abs() * (at.abs() + s.abs()) + bent);
        Self { value: value - straight + bent - lost, slope: slope - bend * at, bend }
    }

    /// The one of those with the largest mean under t ~ N(0, deviation²), which is what the mass of an envelope is made of.
    pub(super) fn best(family: Family, row: (f64, f64), deviation: f64, reach: f64) -> Self {
        let at = |place: f64| Self::touching(family, row, place * deviation, reach);
        let mean = |m: &Self| m.mean(deviation);
        let mut best = at(0.0);
        if matches!(family, Family::Gaussian { .. }) {
            return best;
        }
        let sides = [at(FIRST), at(-FIRST)];
        let sign = if mean(&sides[0]) >= mean(&sides[1]) { 1.0 } else { -1.0 };
        for other in sides.into_iter().chain(PLACES.map(|place| at(sign * place))) {
            if mean(&other) > mean(&best) {
                best = other;
            }
        }
        best
    }

    pub(super) fn mean(&self, deviation: f64) -> f64 {
        self.value + 0.5 * self.bend * deviation * deviation
    }
}

/// A bound from below of A over [low, high], low < 0 < high.
fn least_bend(family: Family, (s, y): (f64, f64), low: f64, high: f64) -> f64 {
    if let Family::Gaussian { .. } = family {
        return family.second_derivative(s, y);
    }
    if !(low.is_finite() && high.is_finite()) {
        // φ is convex.
        return 0.0;
    }
    // An average of φ'' is no less than its least value.
    let least = family.second_range(s + low, s + high, y)[0];
    if let Form::Cloglog(Cloglog { success, rate, .. }) = family.form(y)
        && success > 0.0
        && rate > 0.0
    {
        // Together they may rise, fall and rise again; each alone does not.
        let part = |y: f64| least_bend(Family::Cloglog, (s, y), low, high);
        return least.max((success * part(1.0) + rate * part(0.0)) * (1.0 - 1e-12));
    }
    if let Form::Ordered(halves) = family.form(y) {
        let part = |shift: f64, y: f64| [least_bend(Family::Bernoulli, (s + shift, y), low, high)];
        return least.max(halves.sum(part)[0] * (1.0 - 1e-12));
    }
    let ends = averaged(family, (s, y), low.min(-NEAR)).min(averaged(family, (s, y), high.max(NEAR)));
    least.max(ends)
}

/// A(t), rounded down.
fn averaged(family: Family, (s, y): (f64, f64), t: f64) -> f64 {
    let (difference, lost) = match family.form(y) {
        Form::Quadratic { precision } => (0.5 * precision * t * t, 0.0),
        Form::Logistic => {
            // softplus(s) − s/2 is even: on the left its values are small.
            let (s, t) = if s > 0.0 { (-s, -t) } else { (s, t) };
            let terms = [softplus(s + t), softplus(s), sigmoid(s) * t];
            (terms[0] - terms[1] - terms[2], 1e-15 * (terms[0] + terms[1] + t.abs()))
        }
        Form::Cloglog(Cloglog { success, .. }) if success > 0.0 => {
            let [value, slope, _] = cloglog_success(s);
            let terms = [cloglog_success(s + t)[0], value, slope * t];
            let size = terms[0] + terms[1] + terms[2].abs();
            (success * (terms[0] - terms[1] - terms[2]), 4e-14 * success * (1e-3 + size))
        }
        Form::Cloglog(Cloglog { rate, .. }) => {
            let (rate, rise) = (rate * s.exp(), t.exp_m1());
            (rate * (rise - t), 1e-15 * rate * (rise.abs() + t.abs()))
        }
        Form::Rate(form) => {
            let t = form.sign * t;
            let (rate, rise) = (form.at(s), t.exp_m1());
            (rate * (rise - t), 1e-15 * rate * (rise.abs() + t.abs()))
        }
        Form::Probit => {
            let sign = 2.0 * y - 1.0;
            let (s, t) = (sign * s, sign * t);
            let terms = [-log_normal_cdf(s + t), -log_normal_cdf(s), -inverse_mills(s) * t];
            let size = terms[0] + terms[1] + terms[2].abs();
            (terms[0] - terms[1] - terms[2], 4e-14 * size)
        }
        // A sum of averages.
        Form::Ordered(halves) => {
            return halves.sum(|shift, y| [averaged(Family::Bernoulli, (s + shift, y), t)])[0]
                * (1.0 - 1e-12);
        }
    };
    2.0 * (difference - lost) / (t * t) * (1.0 - 1e-12)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAMILIES: [Family; 7] = [
        Family::Ordered { gaps: crate::glm::Gaps::SOME },
        Family::Bernoulli,
        Family::Probit,
        Family::Cloglog,
        Family::Poisson,
        Family::Gamma { noise_sd: 0.9 },
        Family::Gaussian { noise_sd: 0.7 },
    ];

    /// On a fine grid of the interval no quadratic is above φ, and each touches it somewhere.
    #[test]
    fn quadratics_are_below_and_touch() {
        for family in FAMILIES {
            let coded: &[f64] = match family {
                Family::Cloglog => &[0.0, 1.0, 0.3, -1.0, 3.5, -5.0],
                Family::Ordered { .. } => &[0.0, 1.0, -0.2, -1.5, -6.0],
                _ => &[0.0, 1.0],
            };
            for &y in coded {
                for s in [-4.0, -1.3, -0.2, 0.0, 0.4, 2.0, 6.0] {
                    for (deviation, reach) in [(0.3, 0.9), (1.0, 4.0), (0.01, 0.05), (2.0, 16.0)] {
                        let found = Minorant::best(family, (s, y), deviation, reach);
                        let mut nearest = f64::INFINITY;
                        for i in -2000..=2000 {
                            let t = reach * f64::from(i) / 2000.0;
                            let [value, ..] = family.derivatives(s + t, y);
                            let below = found.value + found.slope * t + 0.5 * found.bend * t * t;
                            assert!(below <= value + 1e-12 * (1.0 + value.abs()), "{family:?} {s} {t}");
                            nearest = nearest.min(value - below);
                        }
                        assert!(
                            nearest < 1e-4 * (1.0 + deviation * deviation) * (1.0 + s.exp()),
                            "{nearest}"
                        );
                    }
                }
            }
        }
    }

    /// A planted constant: a bend one per cent larger is above φ somewhere.
    #[test]
    fn a_larger_bend_would_be_above() {
        for (s, y, reach) in [(0.5, 1.0, 2.0), (-1.0, 0.0, 3.0)] {
            for family in [Family::Bernoulli, Family::Probit, Family::Poisson] {
                let found = Minorant::touching(family, (s, y), 0.0, reach);
                let above = (-400..=400).any(|i| {
                    let t = reach * f64::from(i) / 400.0;
                    let [value, ..] = family.derivatives(s + t, y);
                    found.value + found.slope * t + 0.505 * found.bend * t * t > value + 1e-9
                });
                assert!(above, "{family:?} {s}");
            }
        }
    }

    #[test]
    fn touching_beside_the_middle_gains() {
        let [middle, best] = [
            Minorant::touching(Family::Bernoulli, (1.0, 0.0), 0.0, 3.0),
            Minorant::best(Family::Bernoulli, (1.0, 0.0), 1.0, 3.0),
        ];
        assert!(best.mean(1.0) > middle.mean(1.0) + 1e-3);
    }
}

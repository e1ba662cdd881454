//! Third and fourth derivatives of losses whose shape is proved on a grid [psi-envelope].
//!
//! If |f''| ≤ B, f is within ε = Bδ²/8 of its chords on a grid of step δ. Where its values there only rise or only fall between some turns, f is
//! on any interval no less than at its ends and at the turns inside, up to 2ε, and no more likewise. With f = φ'''' the B is a Cauchy estimate:
//! ```text
//! probit    |φ⁽⁶⁾| ≤ 24/ρ⁴·(1/c + (ρ/c)²) ≤ 143,  ρ = 0.95, c = 1 − ½ρ²      [exact-bound]
//! cloglog   |ψ⁽⁶⁾| ≤ 24/ρ⁴·(1.65/c² + 1/c) ≤ 170,  ρ = 1.1,  c = cos ρ         [exact-bound]
//! ```
//! so that δ = 2⁻¹⁰ gives 2ε ≤ 4.1e-5. Beyond the grid |φ''''| is below [`SLACK`] and what is left of it at the grid's end:
//! probit to the left |φ''''| ≤ 2/ρ²·(s/(1−½c) + cs/(1−½c)²), s = 1/(t+ρ)² ≥ K'' there, c = ρ²s = 0.6: at most 88/t⁴.

use crate::base::special::{inverse_mills, log_normal_cdf_curvature};

/// A function φ'''' with the ends of its grid and the turns between.
pub(crate) struct Curve {
    fourth: fn(f64) -> f64,
    ends: [f64; 2],
    turns: &'static [f64],
}

/// What the grid does not see, and what is beyond it.
const SLACK: f64 = 1.2e-4;

/// −log Φ.
pub(crate) const PROBIT: Curve =
    Curve { fourth: |t| probit(t)[1], ends: [-30.0, 9.0], turns: &[-0.029_8, 2.071_3] };

/// −log(1 − e^{−w}), w = eˢ.
pub(crate) const CLOGLOG: Curve =
    Curve { fourth: |s| cloglog(s)[1], ends: [-12.0, 4.5], turns: &[-0.940_05, 0.911_64, 1.854_08] };

impl Curve {
    /// max(0, −φ'''') and max(0, φ'''') on an interval, rounded up.
    pub(crate) fn range(&self, low: f64, high: f64) -> [f64; 2] {
        let [first, last] = self.ends;
        let inside = self.turns.iter().copied().filter(|&t| low < t && t < high);
        let mut out = [0.0f64; 2];
        for at in [low.clamp(first, last), high.clamp(first, last)].into_iter().chain(inside) {
            let value = (self.fourth)(at);
            out = [out[0].max(-value), out[1].max(value)];
        }
        // A NaN is no bound.
        if low.is_nan() || high.is_nan() { [f64::INFINITY; 2] } else { out.map(|x| x + SLACK) }
    }
}

/// The third and the fourth derivative of −log Φ, λ = ϕ/Φ and h = λ + t:
/// ```text
/// λ(1 − λh − h²),    λh³ + 4λ²h² + λ³h − 3λh − λ²
/// ```
pub(crate) fn probit(t: f64) -> [f64; 2] {
    let (ratio, second) = (inverse_mills(t), log_normal_cdf_curvature(t));
    if second <= 0.0 {
        return [0.0; 2];
    }
    let h = second / ratio;
    let fourth = second * (h * h + 4.0 * second + ratio * ratio - 3.0) - ratio * ratio;
    [ratio * (1.0 - second - h * h), fourth]
}

/// The third and the fourth derivative of −log(1 − e^{−w}), w = eˢ, h = w/(e^w − 1) and k = h + w − 1:
/// ```text
/// h(w − hk − k²),    h(w − 3kw − hw + 4hk² + k³ + h²k)
/// ```
pub(crate) fn cloglog(s: f64) -> [f64; 2] {
    let w = s.exp();
    let h = if w > 0.0 { w / w.exp_m1() } else { 1.0 };
    if h <= 0.0 {
        return [0.0; 2];
    }
    let k = h + w - 1.0;
    [h * (w - h * k - k * k), h * (w - 3.0 * k * w - h * w + 4.0 * h * k * k + k * k * k + h * h * k)]
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: f64 = 1.0 / 1024.0;

    fn grid([first, last]: [f64; 2]) -> impl Iterator<Item = f64> {
        let count = ((last - first) / STEP) as i32;
        (0..=count).map(move |k| first + STEP * f64::from(k))
    }

    /// The proof of the shape: node by node the values only rise or only fall between turns.
    #[test]
    fn fourth_derivatives_turn_where_they_are_said_to_and_nowhere_else() {
        for (curve, up) in [(&PROBIT, false), (&CLOGLOG, true)] {
            let mut rises = up;
            let mut turns = curve.turns.iter().copied().peekable();
            let mut before: Option<f64> = None;
            for t in grid(curve.ends) {
                // The cell of a turn may go either way, a little.
                let here = (curve.fourth)(t);
                assert!(probit(t)[0].abs() < 0.3 && cloglog(t)[0].abs() < 0.43);
                if turns.next_if(|&turn| turn < t).is_some() {
                    assert!(before.is_some_and(|before| (here - before).abs() < 1e-5), "{t}");
                    rises = !rises;
                } else if let Some(before) = before {
                    let step = if rises { here - before } else { before - here };
                    // Far smaller than the slack that is left, and above what rounding does.
                    assert!(step >= -1e-11, "{t}: {before} {here}");
                }
                before = Some(here);
            }
            assert!(turns.next().is_none());
            let [left, right] = curve.ends.map(|t| (curve.fourth)(t).abs());
            assert!(left.max(right) < 1e-5, "{left} {right}");
        }
        // What Cauchy's estimates leave, beyond the ends too.
        let chords = |bound: f64| bound * STEP * STEP / 4.0;
        let half = |r: f64| 1.0 - 0.5 * r * r;
        let probit = 24.0 / 0.95f64.powi(4) * (1.0 / half(0.95) + (0.95 / half(0.95)).powi(2));
        let cosine = 1.1f64.cos();
        let cloglog = 24.0 / 1.1f64.powi(4) * (1.65 / (cosine * cosine) + 1.0 / cosine);
        assert!(probit <= 143.0 && cloglog <= 170.0 && chords(probit.max(cloglog)) < 0.5 * SLACK);
        assert!(88.0 / 30f64.powi(4) + 1e-5 < SLACK);
        assert!(88.0 >= 2.0 / 0.6 * (1.0 / 0.7 + 0.6 / 0.49) * (1.0 + 0.6f64.sqrt()).powi(4));
    }

    /// Against a scan, from both sides; without one of the turns it would not hold.
    #[test]
    fn the_range_of_a_fourth_derivative_is_what_a_scan_finds() {
        for curve in [&PROBIT, &CLOGLOG] {
            for middle in [-60.0, -20.0, -11.0, -3.0, -1.0, -0.02, 0.9, 1.9, 2.1, 4.0, 8.0, 40.0] {
                for reach in [1e-6, 0.1, 0.7, 3.0, 50.0] {
                    let (low, high) = (middle - reach, middle + reach);
                    let mut seen = [0.0f64; 2];
                    for k in 0..=4000 {
                        let x = (curve.fourth)(low + (high - low) * f64::from(k) / 4000.0);
                        seen = [seen[0].max(-x), seen[1].max(x)];
                    }
                    let found = curve.range(low, high);
                    for (found, seen) in found.into_iter().zip(seen) {
                        assert!(found >= seen && found <= seen + 2.0 * SLACK + 0.01 * reach, "{low} {high}");
                    }
                }
            }
            for k in 0..curve.turns.len() {
                let mut turns = curve.turns.to_vec();
                let gone = turns.remove(k);
                let wrong = Curve { turns: turns.leak(), ..*curve };
                let [exact, found] = [curve, &wrong].map(|c| c.range(gone - 0.3, gone + 0.3));
                assert!(found[0] < exact[0] - SLACK || found[1] < exact[1] - SLACK);
            }
        }
    }

    #[test]
    fn derivatives_are_differences_of_the_one_before() {
        for t in [-25.0, -6.0, -4.5, -2.0, -0.5, 0.0, 0.4, 1.0, 2.5] {
            let near = |found: f64, f: &dyn Fn(f64) -> f64| {
                let slope = (f(t + 1e-4) - f(t - 1e-4)) / 2e-4;
                assert!((slope - found).abs() < 1e-7, "{t}: {slope} {found}");
            };
            near(probit(t)[0], &log_normal_cdf_curvature);
            near(probit(t)[1], &|t| probit(t)[0]);
            near(cloglog(t)[0], &|s| provi_kernels::cloglog_success(s)[2]);
            near(cloglog(t)[1], &|s| cloglog(s)[0]);
        }
    }
}

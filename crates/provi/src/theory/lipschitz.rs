//! Tails of a Lipschitz function of Gaussian variables beyond a place that it seldom passes [group-kl].
//!
//! Let F be σ-Lipschitz on standard Gaussian variables with P(F > a) ≤ η, and c = Φ⁻¹(1−η). The set {F ≤ a} has a measure of 1 − η at
//! least, and F ≤ a + σt within a distance t of it, so by the Gaussian isoperimetric inequality (Sudakov and Tsirelson; Borell)
//! ```text
//! P(F > a + σt) ≤ Φ(−c−t)   for every t ≥ 0
//! ```
//! A density with ∇²V ⪰ Λ is the image of N(0, Λ⁻¹) under a map that is 1-Lipschitz in the norm of Λ (Caffarelli), so this holds for it
//! too.

use crate::base::special::{inverse_mills, normal_density, upper_quantile};

/// A bound of E(e^{½F²} − e^{½a²})₊ for F ≥ 0 that is √(1−α)-Lipschitz with P(F > a) ≤ η:
/// ```text
/// ∫_a^∞ ve^{½v²}P(F > v)dv ≤ e^{½(a²−c²)}·α^{−½}e^{½x²}Φ(−x) − ηe^{½a²},   x = (c − √(1−α)·a)/√α
/// ```
/// By parts: what is left under the integral is the exponential of a quadratic of t with −½α at t². Infinite for η ≥ ½ and for α ≤ 0.
pub fn weight_beyond(reach: f64, tail: f64, rest: f64) -> f64 {
    if !(tail < 0.5 && rest > 0.0 && reach >= 0.0) {
        return f64::INFINITY;
    }
    // A larger η and a smaller α are bounds too.
    let tail = tail.max(1e-300) * (1.0 + 1e-9);
    let rest = rest.min(1.0) * (1.0 - 1e-9);
    let c = upper_quantile(tail);
    let x = (c - (1.0 - rest).sqrt() * reach) / rest.sqrt();
    // e^{½x²}Φ(−x) = ϕ(0)Φ(−x)/ϕ(x).
    let mills = normal_density(0.0) / inverse_mills(-x);
    let whole = (0.5 * (reach - c) * (reach + c)).exp() * mills / rest.sqrt();
    let inside = (0.5 * reach * reach).exp() * tail;
    let found = whole * (1.0 + 1e-8) - inside * (1.0 - 1e-8);
    if found.is_nan() { f64::INFINITY } else { found.max(0.0) }
}

/// Bounds of E(F − a)₊ and E(F² − a²)₊ for F ≥ 0 that is σ-Lipschitz with P(F > a) ≤ η:
/// ```text
/// σI₁ and 2aσI₁ + 2σ²I₂,   I₁ = ∫Φ(−c−t)dt = ϕ(c) − cη,   I₂ = ∫tΦ(−c−t)dt = ½[(1+c²)η − cϕ(c)]
/// ```
pub fn moments_beyond(reach: f64, spread: f64, tail: f64) -> [f64; 2] {
    if tail.is_nan() || tail >= 0.5 {
        return [f64::INFINITY; 2];
    }
    // Below this the differences cancel; a larger η is a bound too.
    let tail = tail.max(1e-12) * (1.0 + 1e-9);
    let c = upper_quantile(tail);
    let density = normal_density(c);
    let lost = 1e-13 * (1.0 + c * c) * density;
    let first = density - c * tail + lost;
    let second = 0.5 * ((1.0 + c * c) * tail - c * density) + lost * (1.0 + c);
    [spread * first, 2.0 * spread * (reach * first + spread * second)].map(|x| x * (1.0 + 1e-9))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::special::normal_cdf;

    /// A midpoint sum of f over [0, 40].
    fn integral(f: impl Fn(f64) -> f64) -> f64 {
        let step = 1e-4;
        (0..400_000).map(|k| step * f((f64::from(k) + 0.5) * step)).sum()
    }

    /// The closed forms are the integrals that they stand for.
    #[test]
    fn closed_forms_are_integrals_of_the_tail() {
        for (reach, tail, rest) in
            [(2.0f64, 1e-3, 0.1f64), (1.5, 1e-2, 0.02), (0.7, 1e-6, 0.5), (3.0, 2e-4, 0.3)]
        {
            let (c, slope) = (upper_quantile(tail), (1.0 - rest).sqrt());
            let expected = integral(|t| {
                let v = reach + slope * t;
                // Φ(−c−t) by its own logarithm: the other factor is large.
                slope * v * (0.5 * v * v + crate::base::special::log_normal_cdf(-c - t)).exp()
            });
            let found = weight_beyond(reach, tail, rest);
            assert!(found >= expected && found < expected * (1.0 + 1e-5), "{found} {expected}");
            for spread in [0.3, 2.0] {
                let expected = [
                    spread * integral(|t| normal_cdf(-c - t)),
                    2.0 * spread * integral(|t| (reach + spread * t) * normal_cdf(-c - t)),
                ];
                let found = moments_beyond(reach, spread, tail);
                for (found, expected) in found.iter().zip(expected) {
                    assert!(*found >= expected && *found < expected * (1.0 + 1e-4), "{found} {expected}");
                }
            }
        }
        assert!(
            weight_beyond(1.0, 0.5, 0.1).is_infinite() && weight_beyond(1.0, f64::NAN, 0.1).is_infinite()
        );
        assert!(weight_beyond(1.0, 0.1, 0.0).is_infinite() && moments_beyond(1.0, 1.0, 0.5)[0].is_infinite());
    }

    /// F = σ·max(ξ, 0) on the line: half-spaces are what isoperimetry is exact for, so an α one per cent too large is too little.
    #[test]
    fn a_larger_rest_would_be_too_little() {
        for (rest, reach) in [(0.1f64, 1.5f64), (0.3, 2.0), (0.05, 2.5)] {
            let spread = (1.0 - rest).sqrt();
            let tail = normal_cdf(-reach / spread);
            let cap = 0.5 * reach * reach;
            let weight = |t: f64| {
                let half = 0.5 * t * t;
                let beyond = (0.5 * (spread * t).powi(2) - half).exp() - (cap - half).exp();
                beyond.max(0.0) * normal_density(0.0)
            };
            let truth = integral(weight);
            let [found, planted] = [rest, 1.01 * rest].map(|rest| weight_beyond(reach, tail, rest));
            assert!(found >= truth * (1.0 - 1e-7) && found < truth * (1.0 + 1e-5), "{rest}: {truth} {found}");
            assert!(planted < truth, "{rest}: {planted} {truth}");
        }
    }
}

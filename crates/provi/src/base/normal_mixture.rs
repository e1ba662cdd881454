//! Mixtures of normal laws on the line.

use crate::base::error::Result;
use crate::base::scalar::Probability;
use crate::base::special::{normal_cdf_and_density, upper_quantile};

/// The most steps of a quantile: halvings of its range alone would end with 2⁻⁹⁰ of it.
const STEPS: usize = 90;

/// The quantile of a mixture: shares, means and deviations. Newton's steps from that of the normal law with the same mean and variance; a
/// step that leaves the range in which the quantile is known to be halves it instead.
pub(crate) fn quantile(parts: &[(f64, f64, f64)], level: f64) -> Result<f64> {
    let level = Probability::new("level", level)?.get();
    // What lies below x beyond the level, and the density.
    let at = |x: f64| -> (f64, f64) {
        parts.iter().fold((-level, 0.0), |(below, density), (share, mean, sd)| {
            let (own, slope) = normal_cdf_and_density((x - mean) / sd);
            (below + share * own, density + share * slope / sd)
        })
    };
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    let (mut mean, mut square) = (0.0, 0.0);
    for (share, center, sd) in parts {
        low = low.min(center - 40.0 * sd);
        high = high.max(center + 40.0 * sd);
        mean += share * center;
    }
    for (share, center, sd) in parts {
        square += share * (sd * sd + (center - mean).powi(2));
    }
    let width = square.sqrt();
    let tail = upper_quantile(level.min(1.0 - level).max(f64::MIN_POSITIVE));
    let mut x = mean + width * if level < 0.5 { -tail } else { tail };
    for _ in 0..STEPS {
        if !(x > low && x < high) {
            x = 0.5 * (low + high);
        }
        let (beyond, density) = at(x);
        *(if beyond < 0.0 { &mut low } else { &mut high }) = x;
        let last = x;
        x -= beyond / density;
        let near = 4.0 * f64::EPSILON * (last.abs() + width);
        if (x - last).abs() <= near || high - low <= near {
            break;
        }
    }
    // Not `clamp`, which panics if the numbers given were none.
    Ok(x.max(low).min(high))
}

/// The central interval of this probability.
pub(crate) fn interval(parts: &[(f64, f64, f64)], probability: f64) -> Result<[f64; 2]> {
    let tail = 0.5 * (1.0 - Probability::new("level", probability)?.get());
    Ok([quantile(parts, tail)?, quantile(parts, 1.0 - tail)?])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::special::normal_cdf;

    #[test]
    fn one_part_has_the_quantiles_of_a_normal_law_and_two_far_parts_have_their_own() {
        let [low, high] = interval(&[(1.0, 3.0, 2.0)], 0.95).unwrap();
        let half = 2.0 * 1.959_963_984_540_054;
        assert!((low - 3.0 + half).abs() < 1e-9 && (high - 3.0 - half).abs() < 1e-9, "{low} {high}");
        // A fifth of the mass far to the left: its own median is the tenth.
        let both = [(0.2, -1e3, 1.0), (0.8, 1e3, 5.0)];
        assert!((quantile(&both, 0.1).unwrap() + 1e3).abs() < 1e-6);
        assert!((quantile(&both, 0.6).unwrap() - 1e3).abs() < 1e-6);
        assert!(quantile(&both, 1.0).is_err());
        assert!(!quantile(&[(1.0, 0.0, f64::NAN)], 0.5).unwrap().is_finite());
    }

    /// Shares below a quantile add up to its level, wherever Newton's steps began.
    #[test]
    fn what_lies_below_a_quantile_is_its_level() {
        let narrow: Vec<_> = (0..40).map(|k| (0.025, f64::from(k * k), 1e-3 * f64::from(k + 1))).collect();
        let wide = vec![(0.999, 0.0, 1.0), (0.001, 3.0, 1e6)];
        for parts in [narrow, wide, vec![(0.5, -1e9, 1e-3), (0.5, 1e9, 1e-3)]] {
            for level in [1e-9, 0.0123, 0.25, 0.5123, 0.975, 0.999_99] {
                let x = quantile(&parts, level).unwrap();
                let below = |x: f64| -> f64 {
                    parts.iter().map(|(share, mean, sd)| share * normal_cdf((x - mean) / sd)).sum()
                };
                // The next numbers on both sides, far enough apart that rounding does not hide the slope.
                let step = 1e-12 * (1.0 + x.abs());
                assert!(below(x - step) <= level + 1e-13 && below(x + step) >= level - 1e-13, "{x} {level}");
            }
        }
    }
}

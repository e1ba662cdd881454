//! Mixtures of normal laws on the line.

use crate::base::error::Result;
use crate::base::scalar::Probability;
use crate::base::special::normal_cdf;

/// Bisections of a quantile: 2⁻⁶⁰ of its range.
const BISECTIONS: usize = 60;

/// The quantile of a mixture: shares, means and deviations.
pub(crate) fn quantile(parts: &[(f64, f64, f64)], level: f64) -> Result<f64> {
    let level = Probability::new("level", level)?.get();
    let below =
        |x: f64| -> f64 { parts.iter().map(|(share, mean, sd)| share * normal_cdf((x - mean) / sd)).sum() };
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for (_, mean, sd) in parts {
        low = low.min(mean - 40.0 * sd);
        high = high.max(mean + 40.0 * sd);
    }
    for _ in 0..BISECTIONS {
        let middle = 0.5 * (low + high);
        *(if below(middle) < level { &mut low } else { &mut high }) = middle;
    }
    Ok(0.5 * (low + high))
}

/// The central interval of this probability.
pub(crate) fn interval(parts: &[(f64, f64, f64)], probability: f64) -> Result<[f64; 2]> {
    let tail = 0.5 * (1.0 - Probability::new("level", probability)?.get());
    Ok([quantile(parts, tail)?, quantile(parts, 1.0 - tail)?])
}

#[cfg(test)]
mod tests {
    use super::*;

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
    }
}

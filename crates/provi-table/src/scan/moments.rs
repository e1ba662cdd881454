//! Mean, deviation and range of numbers that come in parts.

use serde::{Deserialize, Serialize};

use crate::frame::{Spread, mean};

/// Moments of at least one number; all numbers are finite.
///
/// ```text
/// mean = Σx/n,    norm = √Σ(x − mean)²
/// ```
/// Two parts merge by Chan's formula, whose rounding does not grow with the size of the mean:
/// ```text
/// δ = mean_b − mean_a,   mean = mean_a + δ·n_b/n,   norm² = norm_a² + norm_b² + δ²·n_a·n_b/n
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Moments {
    pub(crate) count: usize,
    pub(crate) mean: f64,
    pub(crate) norm: f64,
    /// In the order of `total_cmp`.
    pub(crate) min: f64,
    pub(crate) max: f64,
}

impl Moments {
    /// The moments of some numbers; `None` if there are none.
    pub(crate) fn of(values: impl ExactSizeIterator<Item = f64> + Clone) -> Option<Self> {
        let first = values.clone().next()?;
        let count = values.len();
        let mean = mean(values.clone());
        let (mut min, mut max, mut most) = (first, first, 0.0f64);
        for x in values.clone() {
            if x.total_cmp(&min).is_lt() {
                min = x;
            }
            if x.total_cmp(&max).is_gt() {
                max = x;
            }
            most = most.max((x - mean).abs());
        }
        let norm = match most > 0.0 {
            // Scaled, so that large values do not overflow.
            true => most * values.map(|x| ((x - mean) / most) * ((x - mean) / most)).sum::<f64>().sqrt(),
            false => 0.0,
        };
        Some(Self { count, mean, norm, min, max })
    }

    /// The moments of both; if one is `None`, the other's.
    pub(crate) fn merge(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        let (Some(a), Some(b)) = (one, other) else { return one.or(other) };
        let count = a.count + b.count;
        let (of_a, of_b) = (a.count as f64 / count as f64, b.count as f64 / count as f64);
        let apart = b.mean - a.mean;
        let mean = match apart.is_finite() {
            true => a.mean + apart * of_b,
            false => a.mean * of_a + b.mean * of_b,
        };
        let between = apart.abs() * (of_a * of_b).sqrt() * (count as f64).sqrt();
        Some(Self {
            count,
            mean,
            norm: a.norm.hypot(b.norm).hypot(between),
            min: if b.min.total_cmp(&a.min).is_lt() { b.min } else { a.min },
            max: if b.max.total_cmp(&a.max).is_gt() { b.max } else { a.max },
        })
    }

    /// Whether all of them are the same number.
    pub(crate) fn is_constant(&self) -> bool {
        self.min.total_cmp(&self.max).is_eq()
    }

    pub(crate) fn spread(&self) -> Spread {
        let sd = match self.count > 1 && self.norm.is_finite() {
            true => self.norm / ((self.count - 1) as f64).sqrt(),
            false => 0.0,
        };
        Spread { mean: self.mean, sd, distinct: if self.is_constant() { 1 } else { 2 } }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::frame::standard_deviation;

    fn close(a: f64, b: f64, scale: f64) -> bool {
        (a - b).abs() <= 1e-13 * scale
    }

    proptest! {
        #[test]
        fn pieces_merge_to_the_whole(
            values in prop::collection::vec(-1e3..1e3f64, 2..60),
            shift in prop::sample::select(vec![0.0, 1.0, 1e6]),
            cuts in prop::collection::vec(0usize..60, 1..4),
        ) {
            let values: Vec<f64> = values.iter().map(|x| x + shift).collect();
            let of = |part: &[f64]| Moments::of(part.iter().copied());
            let mut ends: Vec<usize> = cuts.iter().map(|cut| cut % values.len()).chain([0, values.len()]).collect();
            ends.sort_unstable();
            let pieces: Vec<Option<Moments>> = ends.windows(2).map(|w| of(&values[w[0]..w[1]])).collect();
            let left = pieces.iter().fold(None, |all, piece| Moments::merge(all, *piece)).unwrap();
            let right = pieces.iter().rev().fold(None, |all, piece| Moments::merge(*piece, all)).unwrap();
            let whole = mean(values.iter().copied());
            let scale = values.iter().fold(1.0f64, |most, x| most.max(x.abs()));
            for merged in [left, right] {
                prop_assert!(close(merged.mean, whole, scale));
                prop_assert!(close(merged.spread().sd, standard_deviation(&values, whole), scale));
                prop_assert_eq!(merged.count, values.len());
            }
            prop_assert_eq!((left.min, left.max), (right.min, right.max));
        }
    }

    #[test]
    fn large_numbers_do_not_overflow() {
        let of = |values: &[f64]| Moments::of(values.iter().copied());
        let merged = Moments::merge(of(&[1e300, -1e300]), of(&[1e300])).unwrap();
        let expected = standard_deviation(&[1e300, -1e300, 1e300], merged.mean);
        assert!((merged.spread().sd / expected - 1.0).abs() < 1e-14);
        assert!(!of(&[0.0, -0.0]).unwrap().is_constant());
    }
}

//! The noise of the energy estimator on a family of factors: how many dimensions it counts \[pattern\].

use crate::theory::upward;

/// The number that replaces d in the d + 3 of every noise bound, if the factors have a pattern \[pattern\]:
/// ```text
/// d_𝒱 = min{d, s + L(n−1, e)}, rounded up
/// E‖proj_𝒱 g‖² ≤ (d_𝒱+1)M²‖m−z̄‖² + (d_𝒱+3)M²‖C‖_F²     for C in the family
/// ```
/// The rows of C use n maximal sets of columns, the largest with s of them, and at most e columns of one are not in
/// another. L(k, e) bounds the expectation of the largest of k sums of e squared standard normals:
/// ```text
/// L(0, e) = 0,   L(k, 1) = 2 + 2 log k,   L(k, e) = e + 2√(e(1 + log k)) + 2(1 + log k)
/// ```
/// A full factor has n = 1 and s = d, so that d_𝒱 = d. For the mean field d_𝒱 ≤ 4 + 2 log(d−1).
pub fn pattern_dimension(d: usize, sets: usize, size: usize, beyond: usize) -> usize {
    let counted = size as f64 + largest_of(sets.saturating_sub(1), beyond);
    // Far beyond any d, the cast saturates.
    (upward(counted).ceil() as usize).clamp(1, d.max(1))
}

/// L(k, e).
fn largest_of(count: usize, size: usize) -> f64 {
    if count == 0 || size == 0 {
        return 0.0;
    }
    let (x, e) = (1.0 + (count as f64).ln(), size as f64);
    if size == 1 { 2.0 * x } else { e + 2.0 * (e * x).sqrt() + 2.0 * x }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_set_counts_every_dimension_and_single_columns_few() {
        for d in [1, 2, 7, 500] {
            assert_eq!(pattern_dimension(d, 1, d, 0), d);
            assert!(pattern_dimension(d, d, 1, 1) <= d);
        }
        assert_eq!(pattern_dimension(1000, 1000, 1, 1), 17);
        assert_eq!(pattern_dimension(1_000_000, 1_000_000, 1, 1), 31);
        assert!(pattern_dimension(1000, 100, 10, 10) < 60);
    }

    /// E max_k of sums of squares, by 2000 draws: below L, and not by much.
    #[test]
    fn the_largest_of_many_is_below_its_bound() {
        for (count, size) in [(1, 1), (10, 1), (300, 1), (10, 4), (100, 3)] {
            let (mut u, mut mean) = (vec![0.0; count * size], 0.0);
            let runs = 2_000;
            for run in 0..runs {
                provi_kernels::normals(21, run, 0, &mut u);
                let sums = u.chunks_exact(size).map(|part| part.iter().map(|x| x * x).sum::<f64>());
                mean += sums.fold(0.0, f64::max) / runs as f64;
            }
            let bound = largest_of(count, size);
            assert!(mean < bound && bound < 3.0 * mean, "{count} {size}: {mean} {bound}");
        }
    }
}

//! Sums of products, computed as if in twice the working precision.

/// A product.
#[derive(Clone, Copy, Debug)]
pub(super) struct Term(pub(super) f64, pub(super) f64);

/// Σ x·y with an error of at most ε times the sum plus n²ε² times Σ|x·y|: each product and each sum is split into
/// its rounded value and its rounding error, and the errors are summed separately.
pub(super) fn accurate(terms: impl Iterator<Item = Term>) -> f64 {
    let (mut sum, mut lost) = (0.0f64, 0.0f64);
    for Term(x, y) in terms {
        let product = x * y;
        let taken = x.mul_add(y, -product);
        let next = sum + product;
        let back = next - sum;
        lost += (sum - (next - back)) + (product - back) + taken;
        sum = next;
    }
    sum + lost
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cancels_keeps_its_digits() {
        // 10⁸·10⁸ and 1 − 2⁻⁵⁰ beside it: a plain sum gives 0 or 2.
        let small = 1.0 - f64::EPSILON;
        let terms = [Term(1e8, 1e8), Term(small, 1.0), Term(-1e8, 1e8)];
        assert_eq!(accurate(terms.into_iter()).to_bits(), small.to_bits());
        // (1 + 3ε)² − 1 = 6ε + 9ε², of which a rounded square keeps 6ε alone.
        let x = 1.0 + 3.0 * f64::EPSILON;
        let square = accurate([Term(x, x), Term(-1.0, 1.0)].into_iter());
        assert!(
            (square - 6.0 * f64::EPSILON - 9.0 * f64::EPSILON * f64::EPSILON).abs() <= 1e-31,
            "{square:e}"
        );
    }
}

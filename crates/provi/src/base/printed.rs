//! Rounding of bounds for printing: a bound that is printed with a few digits is still a bound.
//!
//! This is the only place where bounds are rounded for people. Rust prints the decimal nearest to a double exactly;
//! if that decimal lies on the wrong side, the next one does not. Nothing is multiplied by a power of ten, so no
//! rounding error enters. The functions return the double nearest to the decimal, which prints as that decimal.
//!
//! The comparison is between doubles: the printed text, read back as a double, is never below an upper bound nor
//! above a lower bound. The decimal itself may be, by half a unit in the last place of that double.

/// The least number with `digits` significant digits (at most 15) that is at least `x`. Returns x if it is not
/// finite.
///
/// ```
/// use provi::printed::raised;
///
/// assert_eq!(raised(0.044_81, 3), 0.0449);
/// assert_eq!(raised(-1717.2, 3), -1710.0);
/// ```
pub fn raised(x: f64, digits: usize) -> f64 {
    let digits = digits.clamp(1, 15);
    let text = format!("{x:.*e}", digits - 1);
    match text
        .split_once('e')
        .and_then(|(mantissa, exponent)| Some((mantissa, exponent.parse::<i32>().ok()?)))
    {
        Some((mantissa, exponent)) => not_below(x, mantissa, exponent + 1 - digits as i32),
        None => x,
    }
}

/// The least number with `places` decimals that is at least `x`. Returns x if it is not finite.
pub fn raised_at(x: f64, places: usize) -> f64 {
    not_below(x, &format!("{x:.places$}"), -(places as i32))
}

/// The greatest number with `places` decimals that is at most `x`. Returns x if it is not finite.
pub fn lowered_at(x: f64, places: usize) -> f64 {
    -raised_at(-x, places)
}

/// The number written as `decimal`·10^exponent, with the decimal point of `decimal` ignored, or the next number up
/// in the last digit: the first of the two that is at least x. Returns x itself if it has more than 38 digits, or
/// is ∞ or NaN.
fn not_below(x: f64, decimal: &str, exponent: i32) -> f64 {
    let digits: String = decimal.chars().filter(|c| *c != '.').collect();
    let Ok(nearest) = digits.parse::<i128>() else { return x };
    let shown = |whole: i128| format!("{whole}e{exponent}").parse::<f64>();
    [nearest, nearest + 1].map(shown).into_iter().flatten().find(|shown| *shown >= x).unwrap_or(x)
}

/// A bound printed with three digits, rounded up.
pub(crate) fn upper(x: f64) -> String {
    let up = raised(x, 3);
    let plain = !up.is_finite() || up <= 0.0 || (1e-3..1e5).contains(&up);
    if plain { up.to_string() } else { format!("{up:.2e}") }
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // decimals are compared with decimals
mod tests {
    use super::*;

    #[test]
    fn nothing_printed_is_on_the_wrong_side_and_nothing_is_a_digit_too_far() {
        for i in 0..40_000 {
            let size = 1.0037f64.powi(i - 20_000) * 1.000_000_3;
            for x in [size, -size] {
                for digits in [1, 2, 3, 5, 12] {
                    let up = raised(x, digits);
                    let unit = 10f64.powi(1 - digits as i32) * size * (1.0 + 1e-9);
                    assert!(up >= x && up - x <= unit, "{x} {up}");
                    let text = format!("{up:.*e}", digits - 1);
                    assert_eq!(text.parse::<f64>().unwrap(), up, "{x} {text}");
                }
                for places in [0, 2, 6] {
                    let (low, high) = (lowered_at(x, places), raised_at(x, places));
                    assert!(low <= x && x <= high, "{x} {low} {high}");
                    let far = 10f64.powi(-(places as i32)) * (1.0 + 1e-9) + 1e-15 * size;
                    assert!(high - x <= far && x - low <= far, "{x} {low} {high}");
                    assert!(format!("{high:.places$}").parse::<f64>().unwrap() >= x, "{x}");
                }
            }
        }
    }

    /// Rounding to nearest does not give a bound, nor does a product with a power of ten.
    #[test]
    fn other_ways_of_rounding_are_refuted() {
        let nearest = |x: f64| format!("{x:.2e}").parse::<f64>().unwrap();
        let scaled = |x: f64| (x * 1e6).ceil() / 1e6;
        assert!(nearest(1.234) < 1.234 && raised(1.234, 3) == 1.24);
        // The product is 513 771 663 187 637.03, which rounds to a whole number below it.
        let lost = 513_771_663.187_637_03;
        assert!(scaled(lost) < lost);
        assert!(raised_at(lost, 6) >= lost);
    }

    #[test]
    fn what_has_no_digits_stays() {
        assert_eq!(
            [0.0, f64::INFINITY, f64::NEG_INFINITY].map(|x| raised(x, 3)),
            [0.0, f64::INFINITY, f64::NEG_INFINITY]
        );
        assert!(raised(f64::NAN, 3).is_nan() && raised_at(f64::NAN, 3).is_nan());
        assert_eq!([raised_at(1e300, 6), lowered_at(-1e300, 6)], [1e300, -1e300]);
        assert_eq!(raised_at(-0.000_1, 2), 0.0);
        assert_eq!(
            [0.0, 1.2341e-12, 0.044_81, 123.41, 9.9999e4, 1.2e7].map(upper),
            ["0", "1.24e-12", "0.0449", "124", "1.00e5", "1.20e7"]
        );
    }
}

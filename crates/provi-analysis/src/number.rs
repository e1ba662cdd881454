//! Numbers printed for people.

use provi::printed::{lowered_at, raised, raised_at};

/// A whole number with thousands separators: 20,000.
pub fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Five significant digits, with an exponent only if it helps.
pub fn plain(value: f64) -> String {
    let size = value.abs();
    if value.is_infinite() {
        "∞".to_owned()
    } else if size >= 1e6 || (size > 0.0 && size < 1e-3) {
        format!("{value:.4e}")
    } else {
        let leading = if size > 0.0 { size.log10().floor() } else { 0.0 };
        let text = format!("{value:.*}", (4.0 - leading).clamp(0.0, 8.0) as usize);
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
    }
}

/// [`plain`], rounded up, so that a printed upper bound is still one.
pub fn above(value: f64) -> String {
    plain(raised(value, 5))
}

/// A bound of at least 0 with this many significant digits, rounded up.
pub fn bound(value: f64, digits: i32) -> String {
    if !(value > 0.0 && value.is_finite()) {
        return if value.is_infinite() { "∞".to_owned() } else { value.to_string() };
    }
    let up = raised(value, digits.max(1) as usize);
    let exponent = value.log10().floor() as i32;
    match (-3..5).contains(&exponent) {
        true => format!("{up:.*}", (digits - 1 - exponent).max(0) as usize),
        false => format!("{up:.*e}", (digits - 1).max(0) as usize),
    }
}

/// A lower bound above 0 with this many significant digits, rounded down.
pub fn at_least(value: f64, digits: i32) -> String {
    let exponent = value.log10().floor() as i32;
    let unit = 10f64.powi(exponent + 1 - digits.max(1));
    let mut down = (value / unit).floor() * unit;
    let show = |x: f64| match (-3..5).contains(&exponent) {
        true => format!("{x:.*}", (digits - 1 - exponent).max(0) as usize),
        false => format!("{x:.*e}", (digits - 1).max(0) as usize),
    };
    // Product and decimal may round up.
    if show(down).parse::<f64>().is_ok_and(|shown| shown > value) {
        down -= unit;
    }
    show(down)
}

/// A value with this many decimals, and a bound of the error of the printed number: `error` plus the rounding of
/// the value, rounded up.
pub fn within(value: f64, error: f64, places: usize) -> [String; 2] {
    let shown = format!("{value:.places$}");
    let rounding = shown.parse::<f64>().map_or(0.0, |shown| (shown - value).abs());
    // The decimal and the sum each have an error of at most one unit in the last place.
    let off = (error + rounding) * (1.0 + 4.0 * f64::EPSILON) + 2.0 * f64::EPSILON * value.abs();
    // Three digits of an error are enough, however large it is.
    let places = places.min(decimals(off));
    let off = if off.is_finite() { format!("{:.places$}", raised_at(off, places)) } else { "∞".to_owned() };
    [shown, off]
}

/// The ends of an interval with this many decimals, rounded outwards; a dash for a missing end.
pub fn outward_pair(lower: Option<f64>, upper: Option<f64>, places: usize) -> [String; 2] {
    let show = |x: Option<f64>| x.map_or("–".to_owned(), |x| format!("{x:.places$}"));
    [show(lower.map(|x| lowered_at(x, places))), show(upper.map(|x| raised_at(x, places)))]
}

/// A probability with three decimals; a value near 0 or 1 is not printed as exactly 0 or 1.
pub fn probability(p: f64) -> String {
    match p {
        p if p < 0.0005 => "<0.001".to_owned(),
        p if p > 0.9995 => ">0.999".to_owned(),
        p => format!("{p:.3}"),
    }
}

/// The most decimals of a number written in full; one that needs more gets an exponent.
const MOST_DECIMALS: usize = 6;

/// A number down to the third digit of its spread: `8.590e-8` if its spread is 1.2e-9, `0.0859` if its spread is
/// 0.012.
pub fn to_spread(value: f64, spread: f64) -> String {
    let places = decimals(spread);
    if places <= MOST_DECIMALS {
        return format!("{value:.places$}");
    }
    let last = spread.log10().floor() - 2.0;
    let first = if value.abs() > 0.0 { value.abs().log10().floor() } else { last };
    format!("{value:.*e}", (first - last).clamp(0.0, 15.0) as usize)
}

/// The common number of decimals for numbers with these spreads; `None` if that would show a row of zeros.
pub fn share_decimals(spreads: impl Iterator<Item = f64> + Clone) -> Option<usize> {
    let (least, most) =
        (spreads.clone().fold(f64::INFINITY, f64::min), spreads.fold(f64::NEG_INFINITY, f64::max));
    let places = decimals(least);
    (places <= MOST_DECIMALS && most <= 1e4 * least).then_some(places)
}

/// Number of decimals that show three digits of a positive number, within limits.
pub fn decimals(value: f64) -> usize {
    if value > 0.0 && value.is_finite() { (2.0 - value.log10().floor()).clamp(0.0, 12.0) as usize } else { 3 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lower_bound_is_never_printed_above_itself() {
        assert_eq!(
            [at_least(0.002_889, 3), at_least(2.056e-4, 3), at_least(1.0, 3)],
            ["0.00288", "2.05e-4", "1.00"]
        );
        for i in 1..20_000 {
            let value = f64::from(i) * 7.3e-6;
            assert!(at_least(value, 3).parse::<f64>().unwrap() <= value, "{value}");
        }
    }

    #[test]
    fn thousands_are_grouped() {
        assert_eq!(
            [0, 999, 1000, 20_000, 1_234_567].map(grouped),
            ["0", "999", "1,000", "20,000", "1,234,567"]
        );
    }

    #[test]
    fn numbers_are_short_and_faithful() {
        assert_eq!(
            [0.0, 0.16, 0.027_612_9, 890.2534, 123_456.7, 1e6, 2.5e-4, -3.25].map(plain),
            ["0", "0.16", "0.027613", "890.25", "123457", "1.0000e6", "2.5000e-4", "-3.25"]
        );
    }

    #[test]
    fn a_value_shown_is_within_its_error() {
        assert_eq!(within(0.743_6, 0.003_1, 3), ["0.744", "0.004"]);
        // For an exact value, the error is the rounding of the printed number.
        assert_eq!(within(0.743_6, 0.0, 3), ["0.744", "0.001"]);
        assert_eq!(within(250.0, 0.5, 0), ["250", "1"]);
        assert_eq!(within(1.0, f64::INFINITY, 1), ["1.0", "∞"]);
        assert_eq!(within(0.208, 467.618_2, 3), ["0.208", "468"]);
        for i in 0..5000 {
            let (value, error) = ((f64::from(i) * 0.7).sin() * 30.0, 1e-6 * 1.004f64.powi(i));
            for places in [0, 2, 5] {
                let [shown, off] = within(value, error, places).map(|text| text.parse::<f64>().unwrap());
                let unit = 10.0f64.powi(-(places as i32));
                assert!(shown - off <= value - error && shown + off >= value + error, "{value} {error}");
                assert!(off <= error * 1.01 + 1.6 * unit, "{value} {error} {off}");
            }
        }
    }

    #[test]
    fn an_upper_bound_is_never_shown_smaller() {
        for i in 1..20_000 {
            let value = 1.000_037f64.powi(i) * 3.7e-5;
            let text = above(value);
            let shown: f64 = text.parse().unwrap();
            assert!(shown >= value && shown <= value * 1.0003, "{value} {text}");
        }
        assert_eq!(above(0.009_999_999), "0.01");
    }

    #[test]
    fn a_short_bound_is_never_shown_smaller() {
        for i in 1..20_000 {
            let value = 1.0037f64.powi(i - 10_000);
            for digits in [2, 3] {
                let shown: f64 = bound(value, digits).parse().unwrap();
                assert!(shown >= value && shown <= value * 1.2, "{value} {shown}");
            }
        }
        assert_eq!(
            [0.0, 1.4321e-11, 0.01, 0.044_81, 9.999, 1717.2, 3.2e7].map(|x| bound(x, 3)),
            ["0", "1.44e-11", "0.0100", "0.0449", "10.00", "1720", "3.20e7"]
        );
    }

    #[test]
    fn nearly_sure_is_not_sure() {
        assert_eq!([0.0, 1.0, 0.5, 0.9994].map(probability), ["<0.001", ">0.999", "0.500", "0.999"]);
    }

    #[test]
    fn small_numbers_have_an_exponent_and_large_ones_no_row_of_zeros() {
        assert_eq!(to_spread(8.59e-8, 1.2e-9), "8.590e-8");
        assert_eq!(to_spread(0.0, 1.2e-9), "0e0");
        assert_eq!(to_spread(0.0859, 0.0123), "0.0859");
        assert_eq!(to_spread(-137.26, 1.7), "-137.26");
        assert_eq!(share_decimals([0.11, 0.137].into_iter()), Some(3));
        assert_eq!(share_decimals([1.2e-9, 3.1].into_iter()), None);
        assert_eq!(share_decimals([1.2e-9, 1.3e-9].into_iter()), None);
    }

    #[test]
    fn decimals_show_three_digits() {
        assert_eq!([0.0123, 0.5, 12.0, 1e9, 0.0].map(decimals), [4, 3, 1, 0, 3]);
    }
}

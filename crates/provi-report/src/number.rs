//! Numbers printed for people: significant digits, bounds rounded up, a true minus sign.

use provi::printed::{lowered_at, raised, raised_at};

/// The sign for a missing number.
pub const MISSING: &str = "–";

/// Exponents of ten that are written out; others become `a × 10ⁿ`.
const PLAIN: std::ops::Range<i32> = -4..6;

/// A decimal number: ± digits · 10^(exponent − digits.len() + 1), the first digit not 0 unless all are.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Decimal {
    negative: bool,
    digits: String,
    exponent: i32,
}

impl Decimal {
    /// Rounds a finite number to nearest.
    fn nearest(value: f64, digits: usize) -> Self {
        let text = format!("{:.*e}", digits.max(1) - 1, value.abs());
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        Self {
            negative: value < 0.0,
            digits: mantissa.chars().filter(char::is_ascii_digit).collect(),
            exponent: exponent.parse().unwrap_or(0),
        }
    }

    fn render(&self) -> String {
        let sign = if self.negative && self.digits.bytes().any(|b| b != b'0') { "−" } else { "" };
        if !PLAIN.contains(&self.exponent) {
            let (first, rest) = self.digits.split_at(1);
            let point = if rest.is_empty() { "" } else { "." };
            return format!("{sign}{first}{point}{rest} × {}", power_of_ten(self.exponent));
        }
        let text = if self.exponent < 0 {
            format!("0.{}{}", "0".repeat((-self.exponent - 1) as usize), self.digits)
        } else {
            let whole = self.exponent as usize + 1;
            let padded = format!("{:0<whole$}", self.digits);
            let (before, after) = padded.split_at(whole);
            let point = if after.is_empty() { "" } else { "." };
            format!("{}{point}{after}", grouped_digits(before))
        };
        format!("{sign}{text}")
    }
}

/// A number with `digits` significant digits, rounded to nearest: `−0.0276`, `1,720`, `3.20 × 10⁷`; `–` for NaN.
///
/// ```
/// assert_eq!(provi_report::number::significant(-0.027_613, 3), "−0.0276");
/// ```
pub fn significant(value: f64, digits: usize) -> String {
    not_finite(value).unwrap_or_else(|| {
        // A whole number with more digits than asked for is shown in full.
        let whole = if value.abs() >= 1.0 { value.abs().log10().floor() as usize + 1 } else { 0 };
        let digits = if whole <= PLAIN.end as usize { digits.max(whole) } else { digits };
        if exactly_zero(value) { "0".to_owned() } else { Decimal::nearest(value, digits).render() }
    })
}

/// A number of at least 0 with `digits` significant digits, rounded up, so that a printed upper bound is still one.
pub fn above(value: f64, digits: usize) -> String {
    not_finite(value).unwrap_or_else(|| match exactly_zero(value) {
        true => "0".to_owned(),
        false => Decimal::nearest(raised(value, digits), digits).render(),
    })
}

/// A number with the precision that fits its spread: three digits of the spread.
pub fn beside(value: f64, spread: f64) -> String {
    let digits = |size: f64| size.abs().log10().floor() as i32;
    if !(spread > 0.0 && spread.is_finite() && value.is_finite()) || exactly_zero(value) {
        return significant(value, 4);
    }
    let (last, top) = (digits(spread) - 2, digits(value).max(digits(spread)));
    if PLAIN.contains(&digits(spread)) && PLAIN.contains(&top) {
        fixed(value, (-last).max(0) as usize)
    } else {
        significant(value, (digits(value) - last + 1).clamp(1, 9) as usize)
    }
}

/// The ends of an interval with three digits of its width (two to eight decimals), each rounded outwards: the
/// interval shown contains the exact one.
///
/// ```
/// assert_eq!(provi_report::number::enclosing(-55.1239, -55.0811), ["−55.1239".to_owned(), "−55.0811".to_owned()]);
/// assert_eq!(provi_report::number::enclosing(-55.12391, -54.08109), ["−55.13".to_owned(), "−54.08".to_owned()]);
/// ```
pub fn enclosing(low: f64, high: f64) -> [String; 2] {
    let width = high - low;
    let places = if width > 0.0 && width.is_finite() { 2.0 - width.log10().floor() } else { 4.0 };
    let places = places.clamp(2.0, 8.0) as usize;
    [below_at(low, places), above_at(high, places)]
}

/// A number with `places` decimals, rounded down.
pub(crate) fn below_at(value: f64, places: usize) -> String {
    fixed(lowered_at(value, places), places)
}

/// A number with `places` decimals, rounded up.
pub(crate) fn above_at(value: f64, places: usize) -> String {
    fixed(raised_at(value, places), places)
}

/// A number with `places` decimals and a true minus sign.
pub fn fixed(value: f64, places: usize) -> String {
    not_finite(value).unwrap_or_else(|| {
        let text = format!("{:.places$}", value.abs());
        let (whole, rest) = text.split_once('.').unwrap_or((&text, ""));
        let point = if rest.is_empty() { "" } else { "." };
        let sign = if value < 0.0 && text.bytes().any(|b| (b'1'..=b'9').contains(&b)) { "−" } else { "" };
        format!("{sign}{}{point}{rest}", grouped_digits(whole))
    })
}

/// A whole number with thousands separators: 20,000.
pub fn grouped(value: u64) -> String {
    grouped_digits(&value.to_string())
}

/// A power of ten: 10⁻¹².
pub(crate) fn power_of_ten(exponent: i32) -> String {
    let raised = |c: char| match c {
        '-' => '⁻',
        c => ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'][c.to_digit(10).unwrap_or(0) as usize],
    };
    format!("10{}", exponent.to_string().chars().map(raised).collect::<String>())
}

fn not_finite(value: f64) -> Option<String> {
    if value.is_nan() {
        Some(MISSING.to_owned())
    } else if value.is_infinite() {
        Some(if value > 0.0 { "∞" } else { "−∞" }.to_owned())
    } else {
        None
    }
}

fn exactly_zero(value: f64) -> bool {
    value.abs() < f64::from_bits(1)
}

fn grouped_digits(digits: &str) -> String {
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (i, digit) in digits.chars().enumerate() {
        // Four digits read well without a comma; a year is not 2,026.
        if i > 0 && digits.len() > 4 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn significant_digits_are_kept_at_every_size() {
        let shown = |x| significant(x, 3);
        assert_eq!(
            [0.0, -0.0, 0.16, -0.027_612_9, 890.25, 123_456.7, 3.2e7, 1.19e-12, 9.999, 0.000_25].map(shown),
            [
                "0",
                "0",
                "0.160",
                "−0.0276",
                "890",
                "123,457",
                "3.20 × 10⁷",
                "1.19 × 10⁻¹²",
                "10.0",
                "0.000250"
            ]
        );
        assert_eq!([f64::NAN, f64::INFINITY, f64::NEG_INFINITY].map(shown), ["–", "∞", "−∞"]);
        assert_eq!([f64::MAX, 5e-324].map(shown), ["1.80 × 10³⁰⁸", "4.94 × 10⁻³²⁴"]);
    }

    #[test]
    fn an_upper_bound_is_never_shown_smaller() {
        for i in 1..20_000 {
            let value = 1.0037f64.powi(i - 10_000);
            for digits in [2, 3] {
                let text = above(value, digits).replace(',', "");
                let plain = match text.split_once(" × 10") {
                    None => text.clone(),
                    Some((mantissa, power)) => {
                        let lowered =
                            power.chars().map(|c| match "⁰¹²³⁴⁵⁶⁷⁸⁹".chars().position(|r| r == c)
                            {
                                Some(digit) => char::from(b'0' + digit as u8),
                                None => '-',
                            });
                        format!("{mantissa}e{}", lowered.collect::<String>())
                    }
                };
                let shown: f64 = plain.parse().unwrap();
                assert!(shown >= value && shown <= value * 1.2, "{value} {text}");
            }
        }
        assert_eq!(
            [0.0, 1.4321e-11, 0.01, 0.044_81, 9.999, 1717.2].map(|x| above(x, 3)),
            ["0", "1.44 × 10⁻¹¹", "0.0100", "0.0449", "10.0", "1720"]
        );
    }

    #[test]
    fn the_ends_of_an_interval_are_never_shown_inside_it() {
        let read = |text: &str| text.replace('−', "-").replace(',', "").parse::<f64>().unwrap();
        for i in 0..20_000 {
            let low = 1.0037f64.powi(i % 3000) * if i % 2 == 0 { -1.0 } else { 1.0 } * 0.013_579;
            let width = 1.0051f64.powi(i / 8 - 1200);
            let high = low + width;
            let [shown_low, shown_high] = enclosing(low, high);
            assert!(
                read(&shown_low) <= low && read(&shown_high) >= high,
                "{low} {high}: {shown_low} {shown_high}"
            );
            assert!(read(&shown_high) - read(&shown_low) <= width + 0.021, "{shown_low} {shown_high}");
        }
    }

    #[test]
    fn an_estimate_is_shown_to_the_precision_of_its_spread() {
        assert_eq!(beside(-1.216_93, 0.1268), "−1.217");
        assert_eq!(beside(12_345.678, 250.0), "12,346");
        assert_eq!(beside(3.2e-9, 1e-10), "3.200 × 10⁻⁹");
        assert_eq!(beside(-1e-9, 0.1), "0.000");
        assert_eq!(beside(1.0, f64::NAN), "1.000");
        assert_eq!(beside(f64::NAN, 1.0), "–");
    }
}

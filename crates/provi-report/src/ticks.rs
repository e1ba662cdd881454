//! Round numbers along an axis.

use crate::number::{fixed, power_of_ten};

/// Ticks of an axis, with their labels; labels are multiples of 10^factor if that keeps them short.
#[derive(Clone, Debug, PartialEq)]
pub struct Ticks {
    /// The positions, in the units of the data.
    pub values: Vec<f64>,
    /// The labels.
    pub labels: Vec<String>,
    /// The power of ten that the labels leave out; the axis shows it.
    pub factor: Option<i32>,
}

/// Multiples of 1, 2 or 5 times a power of ten, 3 to 10 of them, inside [low, high], about `aim` if possible.
///
/// Needs low < high, both finite and apart by more than rounding; see [`widened`].
pub fn linear(low: f64, high: f64, aim: usize) -> Ticks {
    let (low, high) = widened(low, high);
    let decade = (high - low).log10().floor() as i32;
    let mut best: Option<(i32, i32, i64, i64)> = None;
    for exponent in decade - 2..=decade {
        for mantissa in [1, 2, 5] {
            let (first, last) = multiples(low, high, mantissa, exponent);
            let count = last - first + 1;
            let off = |first: i64, last: i64| (last - first + 1 - aim as i64).abs();
            if (3..=10).contains(&count) && best.is_none_or(|(_, _, f, l)| off(first, last) < off(f, l)) {
                best = Some((mantissa, exponent, first, last));
            }
        }
    }
    let (mantissa, exponent, first, last) = best.unwrap_or((1, decade, 0, 0));
    let values: Vec<f64> = (first..=last).map(|k| decimal(k * i64::from(mantissa), exponent)).collect();
    let largest = low.abs().max(high.abs()).log10().floor() as i32;
    let factor = if largest >= 6 {
        Some(largest)
    } else if exponent < -5 {
        Some(largest.min(-1))
    } else {
        None
    };
    let shift = factor.unwrap_or(0);
    let places = (shift - exponent).max(0) as usize;
    let labels =
        (first..=last).map(|k| fixed(decimal(k * i64::from(mantissa), exponent - shift), places)).collect();
    Ticks { values, labels, factor }
}

/// Powers of ten inside [low, high], every n-th if there are more than ten; with their doubles and fives if there
/// are fewer than three; [`linear`] ticks if even those are fewer.
///
/// If the range is not inside (0, ∞), [`linear`] ticks.
pub fn logarithmic(low: f64, high: f64) -> Ticks {
    if !(low > 0.0 && low < high && high.is_finite()) {
        return linear(low, high, 5);
    }
    let (first, last) = (low.log10().ceil() as i32, high.log10().floor() as i32);
    let decades = last - first + 1;
    let inside = |x: f64| x >= low && x <= high;
    let mut marks: Vec<(i32, i32)> = if decades >= 3 {
        let stride = [1, 2, 5, 10, 20, 50, 100, 200].into_iter().find(|s| decades / s < 10).unwrap_or(200);
        // From a multiple of the stride, unless that leaves too few.
        let round = (first..=last).filter(|e| e.rem_euclid(stride) == 0).count();
        let anchor = if round >= 3 { 0 } else { first };
        (first..=last).filter(|e| (e - anchor).rem_euclid(stride) == 0).map(|e| (1, e)).collect()
    } else {
        (first - 1..=last + 1).flat_map(|e| [1, 2, 5].map(|m| (m, e))).collect()
    };
    marks.retain(|&(m, e)| inside(decimal(i64::from(m), e)));
    if marks.len() < 3 {
        return linear(low, high, 5);
    }
    let plain = marks.iter().all(|&(_, e)| (-3..=4).contains(&e));
    let label = |(m, e): (i32, i32)| match (plain, m) {
        (true, _) => fixed(decimal(i64::from(m), e), (-e).max(0) as usize),
        (false, 1) => power_of_ten(e),
        (false, m) => format!("{m}·{}", power_of_ten(e)),
    };
    Ticks {
        values: marks.iter().map(|&(m, e)| decimal(i64::from(m), e)).collect(),
        labels: marks.iter().map(|&mark| label(mark)).collect(),
        factor: None,
    }
}

/// A range with room inside: if it is empty, reversed or lost in rounding, it is opened around its middle.
pub fn widened(low: f64, high: f64) -> (f64, f64) {
    let clean = |x: f64| if x.is_finite() { x.clamp(-1e300, 1e300) } else { 0.0 };
    let (low, high) = (clean(low).min(clean(high)), clean(low).max(clean(high)));
    let size = low.abs().max(high.abs());
    let least = if size > 0.0 { (1e-9 * size).max(1e-300) } else { 1.0 };
    if high - low >= least {
        return (low, high);
    }
    let middle = 0.5 * low + 0.5 * high;
    let half = if high - low > 0.0 { least } else { least.max(0.1 * size) };
    (middle - half, middle + half)
}

/// k such that k·m·10^e lies in [low, high].
fn multiples(low: f64, high: f64, mantissa: i32, exponent: i32) -> (i64, i64) {
    let step = decimal(i64::from(mantissa), exponent);
    let at = |k: i64| decimal(k * i64::from(mantissa), exponent);
    let (mut first, mut last) = ((low / step).ceil() as i64, (high / step).floor() as i64);
    // Division rounds, so the ends are found by evaluating them.
    while at(first - 1) >= low {
        first -= 1;
    }
    while at(first) < low {
        first += 1;
    }
    while at(last + 1) <= high {
        last += 1;
    }
    while at(last) > high {
        last -= 1;
    }
    (first, last)
}

/// n·10^e, correctly rounded.
fn decimal(n: i64, exponent: i32) -> f64 {
    if n == 0 { 0.0 } else { format!("{n}e{exponent}").parse().unwrap_or(f64::NAN) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Is x a small integer times a power of ten?
    fn is_round(x: f64, digits: usize) -> bool {
        let text = format!("{:.*e}", digits - 1, x);
        (text.parse::<f64>().unwrap() - x).abs() <= 1e-14 * x.abs()
    }

    proptest! {
        #[test]
        fn linear_ticks_are_few_round_and_inside(
            middle in -1e3..1e3f64, log_width in -5.0..3.0f64, log_unit in -200.0..200.0f64, aim in 3usize..8,
        ) {
            let (unit, half) = (10f64.powf(log_unit), 10f64.powf(log_width));
            let (low, high) = ((middle - half) * unit, (middle + half) * unit);
            let ticks = linear(low, high, aim);
            prop_assert!((3..=10).contains(&ticks.values.len()), "{ticks:?}");
            prop_assert_eq!(ticks.values.len(), ticks.labels.len());
            let step = ticks.values[1] - ticks.values[0];
            for (i, &x) in ticks.values.iter().enumerate() {
                prop_assert!(x >= low && x <= high, "{x} outside {low}..{high}");
                prop_assert!(is_round(x, 12));
                prop_assert!((x - ticks.values[0] - i as f64 * step).abs() <= 1e-6 * step);
            }
            let mut labels = ticks.labels.clone();
            labels.dedup();
            prop_assert_eq!(labels.len(), ticks.values.len(), "labels tell ticks apart");
        }

        #[test]
        fn logarithmic_ticks_are_few_round_and_inside(start in -250.0..200.0f64, decades in 0.05..80.0f64) {
            let (low, high) = (10f64.powf(start), 10f64.powf(start + decades));
            let ticks = logarithmic(low, high);
            prop_assert!((3..=10).contains(&ticks.values.len()), "{low} {high} {ticks:?}");
            for &x in &ticks.values {
                prop_assert!(x >= low && x <= high && is_round(x, 4), "{x}");
            }
        }

        #[test]
        fn a_widened_range_has_room(low in -1e9..1e9f64, width in 0.0..1e-3f64) {
            let (a, b) = widened(low, low + width);
            prop_assert!(a <= low && b >= low + width && b > a);
            prop_assert_eq!(widened(a, b), (a, b), "once is enough");
        }
    }

    #[test]
    fn labels_are_short_at_every_size() {
        assert_eq!(linear(0.0, 1.0, 5).labels, ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        let large = linear(0.0, 3.1e7, 5);
        assert_eq!((large.labels[1].as_str(), large.factor), ("1", Some(7)));
        let small = linear(-2e-7, 2e-7, 5);
        assert_eq!((small.labels[0].as_str(), small.factor), ("−2", Some(-7)));
        assert_eq!(
            logarithmic(1e-12, 10.0).labels,
            ["10⁻¹²", "10⁻¹⁰", "10⁻⁸", "10⁻⁶", "10⁻⁴", "10⁻²", "10⁰"]
        );
        assert_eq!(logarithmic(0.5, 300.0).labels, ["1", "10", "100"].map(str::to_owned));
    }

    #[test]
    fn a_range_of_nothing_is_opened() {
        let (low, high) = widened(f64::MIN_POSITIVE, f64::MIN_POSITIVE);
        assert_eq!(widened(low, high), (low, high));
        assert_eq!(widened(0.0, 0.0), (-1.0, 1.0));
        assert_eq!(widened(f64::NAN, f64::INFINITY), (-1.0, 1.0));
        assert!(linear(5.0, 5.0, 5).values.len() >= 3);
    }
}

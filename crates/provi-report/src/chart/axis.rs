//! Axes, and the map from a value to a position.

use crate::ticks::{self, Ticks};

/// The largest absolute value that is drawn.
const LARGEST: f64 = 1e280;

/// One axis: its label with units, its kind, its range.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    pub(crate) label: String,
    pub(crate) kind: Kind,
    range: Option<(f64, f64)>,
    include: Vec<f64>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    Linear,
    Log,
    /// Row i, counted from the top, is at i.
    Names(Vec<String>),
    /// A scale whose numbers do not matter, such as a density.
    Bare,
}

impl Axis {
    fn of(label: &str, kind: Kind) -> Self {
        Self { label: label.to_owned(), kind, range: None, include: Vec::new() }
    }

    /// Equal distances for equal differences.
    pub fn linear(label: &str) -> Self {
        Self::of(label, Kind::Linear)
    }

    /// Equal distances for equal ratios; values ≤ 0 are left out.
    pub fn log(label: &str) -> Self {
        Self::of(label, Kind::Log)
    }

    /// Rows with names, from the top, for a y axis.
    pub fn names(label: &str, names: Vec<String>) -> Self {
        Self::of(label, Kind::Names(names))
    }

    /// Linear without numbers.
    pub fn bare(label: &str) -> Self {
        Self::of(label, Kind::Bare)
    }

    /// A fixed range; data outside it are cut.
    pub fn range(mut self, low: f64, high: f64) -> Self {
        self.range = (low.is_finite() && high.is_finite() && low < high).then_some((low, high));
        self
    }

    /// A value that the range must include.
    pub fn including(mut self, value: f64) -> Self {
        self.include.push(value);
        self
    }

    /// Whether this axis can show a value; near the largest numbers, widths overflow.
    pub(crate) fn shows(&self, value: f64) -> bool {
        value.abs() <= LARGEST && (self.kind != Kind::Log || value > 0.0)
    }

    /// The range for these values, with a margin.
    pub(crate) fn settle(&self, values: impl Iterator<Item = f64>) -> (f64, f64) {
        if let Kind::Names(names) = &self.kind {
            return (-0.5, names.len().max(1) as f64 - 0.5);
        }
        if let Some(range) = self.range.filter(|r| self.shows(r.0) && self.shows(r.1)) {
            return if self.kind == Kind::Log { range } else { ticks::widened(range.0, range.1) };
        }
        let all = values.chain(self.include.iter().copied()).filter(|&x| self.shows(x));
        let found = all.fold(None, |found: Option<(f64, f64)>, x| {
            Some(found.map_or((x, x), |(low, high)| (low.min(x), high.max(x))))
        });
        match (&self.kind, found) {
            (Kind::Log, None) => (0.1, 10.0),
            (Kind::Log, Some((low, high))) => {
                // At least half a decade, and a margin of 4 % on either side.
                let (low, high) = (low.max(1.0 / LARGEST).log10(), high.max(1.0 / LARGEST).log10());
                let spare = (0.04 * (high - low)).max(if high - low < 0.5 { 0.3 } else { 0.02 });
                (10f64.powf(low - spare), 10f64.powf(high + spare))
            }
            (_, found) => {
                let (low, high) = found.unwrap_or((0.0, 1.0));
                let (low, high) = ticks::widened(low, high);
                let spare = 0.04 * (high - low);
                // A range that starts at an included 0 keeps it as its edge.
                let at_zero =
                    |x: f64| x.abs() < 1e-12 * (high - low) && self.include.iter().any(|z| z.abs() < 1e-300);
                let bottom = if at_zero(low) { low } else { low - spare };
                (bottom, if at_zero(high) { high } else { high + spare })
            }
        }
    }

    pub(crate) fn ticks(&self, range: (f64, f64), pixels: f64) -> Ticks {
        let aim = ((pixels / 90.0).round() as usize).clamp(3, 8);
        match self.kind {
            Kind::Linear => ticks::linear(range.0, range.1, aim),
            Kind::Log => ticks::logarithmic(range.0, range.1),
            Kind::Names(_) | Kind::Bare => Ticks { values: Vec::new(), labels: Vec::new(), factor: None },
        }
    }
}

/// The position of a value along an axis, in pixels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    low: f64,
    high: f64,
    log: bool,
    start: f64,
    end: f64,
}

impl Scale {
    pub(crate) fn new(axis: &Axis, range: (f64, f64), start: f64, end: f64) -> Self {
        let log = axis.kind == Kind::Log;
        let at = |x: f64| if log { x.log10() } else { x };
        Self { low: at(range.0), high: at(range.1), log, start, end }
    }

    /// The position; NaN if the axis cannot show the value.
    pub(crate) fn place(&self, value: f64) -> f64 {
        let value = match self.log {
            true if value > 0.0 => value.log10(),
            true => f64::NAN,
            false => value,
        };
        // Halved, so that the width of a huge range does not overflow.
        let share = (0.5 * value - 0.5 * self.low) / (0.5 * self.high - 0.5 * self.low);
        self.start + share * (self.end - self.start)
    }

    pub(crate) fn is_log(&self) -> bool {
        self.log
    }

    /// The ends of the range, in the units of the data.
    pub(crate) fn range(&self) -> (f64, f64) {
        let back = |x: f64| if self.log { 10f64.powf(x) } else { x };
        (back(self.low), back(self.high))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_holds_its_data_and_keeps_zero_as_an_edge() {
        let (low, high) = Axis::linear("x").including(0.0).settle([3.0, f64::NAN, 7.0].into_iter());
        assert!(low.abs() < 1e-300 && high > 7.0);
        let (low, high) = Axis::log("x").settle([-1.0, 0.0, 2.0, 2000.0].into_iter());
        assert!(low > 0.0 && low < 2.0 && high > 2000.0);
        assert_eq!(Axis::log("x").settle(std::iter::empty()), (0.1, 10.0));
    }

    #[test]
    fn places_run_from_start_to_end() {
        let axis = Axis::log("x");
        let scale = Scale::new(&axis, (1.0, 100.0), 50.0, 250.0);
        assert!((scale.place(10.0) - 150.0).abs() < 1e-9 && scale.place(0.0).is_nan());
    }
}

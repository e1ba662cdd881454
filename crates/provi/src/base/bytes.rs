//! Byte counts, printed for people.

use std::fmt;

/// A number of bytes; printed with three digits and a decimal unit (kB, MB, GB, …).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bytes(pub u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut value = self.0 as f64;
        let mut units = ["B", "kB", "MB", "GB", "TB", "PB"].into_iter();
        let mut unit = units.next().unwrap_or_default();
        while value >= 999.5
            && let Some(next) = units.next()
        {
            (value, unit) = (value / 1000.0, next);
        }
        let digits = if value >= 99.95 || unit == "B" { 0 } else { usize::from(value < 9.995) + 1 };
        write!(f, "{value:.digits$} {unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_said_in_three_digits() {
        for (bytes, said) in [
            (0, "0 B"),
            (999, "999 B"),
            (1_234, "1.23 kB"),
            (45_678_000, "45.7 MB"),
            (1_600_240_000, "1.60 GB"),
        ] {
            assert_eq!(Bytes(bytes).to_string(), said);
        }
        assert_eq!(Bytes(999_900_000).to_string(), "1.00 GB");
    }
}

//! Amounts as people write them: bytes with a unit, and seconds.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::{Serialize, Serializer};
use thiserror::Error;

/// Bytes, such as `2GiB`, `500MB` or `1000000`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(pub u64);

/// Bytes for the rows of files; must be enough to read some.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowMemory(pub Size);

/// A duration of at least 0 seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seconds(pub Duration);

/// Why a text is not an amount.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum BadAmount {
    /// Not a number of bytes.
    #[error("write a number and a unit: B, kB, MB, GB, TB, KiB, MiB, GiB or TiB, as in 2GiB")]
    Size,
    /// Too few bytes to read rows.
    #[error("at least 1 MiB is needed to read anything")]
    TooSmall,
    /// Not a number of seconds.
    #[error("write a number of seconds, at least 0")]
    Seconds,
}

const UNITS: [(&str, u64); 9] = [
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1_000),
    ("B", 1),
];

impl FromStr for Size {
    type Err = BadAmount;

    fn from_str(text: &str) -> Result<Self, BadAmount> {
        let text = text.trim();
        let unit = UNITS.iter().find(|(unit, _)| {
            text.len() > unit.len()
                && text.is_char_boundary(text.len() - unit.len())
                && text[text.len() - unit.len()..].eq_ignore_ascii_case(unit)
        });
        let (number, factor) =
            unit.map_or((text, 1), |(unit, factor)| (&text[..text.len() - unit.len()], *factor));
        let number: f64 = number.trim().parse().map_err(|_| BadAmount::Size)?;
        let bytes = number * factor as f64;
        match (0.0..1e18).contains(&bytes) {
            true => Ok(Self(bytes as u64)),
            false => Err(BadAmount::Size),
        }
    }
}

impl FromStr for RowMemory {
    type Err = BadAmount;

    fn from_str(text: &str) -> Result<Self, BadAmount> {
        match text.parse()? {
            Size(..0x10_0000) => Err(BadAmount::TooSmall),
            size => Ok(Self(size)),
        }
    }
}

impl fmt::Display for RowMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for Size {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

/// Reads a text with a unit, or a number of bytes.
impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Bytes;

        impl Visitor<'_> for Bytes {
            type Value = Size;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of bytes, or one with a unit, as in 2GiB")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Size, E> {
                text.parse().map_err(E::custom)
            }

            fn visit_u64<E: de::Error>(self, bytes: u64) -> Result<Size, E> {
                Ok(Size(bytes))
            }

            fn visit_i64<E: de::Error>(self, bytes: i64) -> Result<Size, E> {
                let refused = |_| E::invalid_value(de::Unexpected::Signed(bytes), &self);
                u64::try_from(bytes).map(Size).map_err(refused)
            }
        }

        from.deserialize_any(Bytes)
    }
}

impl fmt::Display for Size {
    /// Printed in the largest binary unit that divides it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, factor) =
            UNITS[..4].iter().find(|(_, factor)| self.0.is_multiple_of(*factor)).unwrap_or(&UNITS[8]);
        write!(f, "{}{unit}", self.0 / factor)
    }
}

impl FromStr for Seconds {
    type Err = BadAmount;

    fn from_str(text: &str) -> Result<Self, BadAmount> {
        let seconds = text.trim().parse().map_err(|_| BadAmount::Seconds)?;
        Duration::try_from_secs_f64(seconds).map(Self).map_err(|_| BadAmount::Seconds)
    }
}

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units_of_either_kind() {
        for (text, bytes) in [
            ("2GiB", 2 << 30),
            ("1.5 GB", 1_500_000_000),
            ("64mib", 64 << 20),
            ("2000000", 2_000_000),
            ("3000 kB", 3_000_000),
        ] {
            assert_eq!(text.parse(), Ok(Size(bytes)), "{text}");
        }
        for text in ["", "GiB", "2 parsecs", "-1GiB", "nan", "1e30", "é"] {
            assert_eq!(text.parse::<Size>(), Err(BadAmount::Size), "{text}");
        }
        assert_eq!("12".parse(), Ok(Size(12)));
        assert_eq!("1048575".parse::<RowMemory>(), Err(BadAmount::TooSmall));
        assert_eq!("1MiB".parse(), Ok(RowMemory(Size(1 << 20))));
    }

    #[test]
    fn amounts_come_back_from_their_text() {
        for size in [Size(2 << 30), Size(1_500_000_000), Size(1_234_567)] {
            assert_eq!(size.to_string().parse(), Ok(size));
            assert_eq!(serde_json::from_str::<Size>(&serde_json::to_string(&size).unwrap()).unwrap(), size);
        }
        assert_eq!(serde_json::from_str::<Size>("2000").unwrap(), Size(2000));
        assert!(serde_json::from_str::<Size>("-1").unwrap_err().to_string().contains("a number of bytes"));
        assert_eq!("0.25".parse::<Seconds>().unwrap().to_string(), "0.25");
        assert_eq!("-1".parse::<Seconds>(), Err(BadAmount::Seconds));
    }
}

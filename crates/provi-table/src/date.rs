//! Dates as text, `2024-01-31`, `31.01.2024`, `1/31/2024`, with or without a time; and as days since 1970.

use serde::{Deserialize, Serialize};

/// Whether day or month comes first in dates whose year comes last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum DateOrder {
    /// All dates begin with the year, then the month.
    YearFirst,
    /// `31.01.2024`
    DayFirst,
    /// `1/31/2024`
    MonthFirst,
}

/// How the dates of a column are written, as far as they have been read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct DateForms {
    /// Whether there is a date with its year last: between points, and otherwise.
    points: bool,
    others: bool,
    /// Among those: whether a first number is above 12, and whether a second one is.
    first: bool,
    second: bool,
}

impl DateForms {
    /// How a date is written; `None` for text that is not a date.
    pub(crate) fn of(text: &str) -> Option<Self> {
        let (day, time) = split(text);
        if time.is_some_and(|time| seconds(time).is_none()) {
            return None;
        }
        let Parts { separator, numbers: [x, y, z], year_first } = Parts::of(day)?;
        let month_and_day = |x: u32, y: u32| (1..=12).contains(&x.min(y)) && (1..=31).contains(&x.max(y));
        match year_first {
            true => month_and_day(y, z).then(Self::default),
            false => month_and_day(x, y).then_some(Self {
                points: separator == '.',
                others: separator != '.',
                first: x > 12,
                second: y > 12,
            }),
        }
    }

    /// The forms of both.
    pub(crate) fn merge(self, other: Self) -> Self {
        Self {
            points: self.points || other.points,
            others: self.others || other.others,
            first: self.first || other.first,
            second: self.second || other.second,
        }
    }

    /// The only order that fits all dates, if there is one. Between points the day comes first, unless some date
    /// contradicts it.
    pub(crate) fn order(self) -> Option<DateOrder> {
        match (self.points || self.others, self.first, self.second) {
            (false, ..) => Some(DateOrder::YearFirst),
            (true, true, false) => Some(DateOrder::DayFirst),
            (true, false, true) => Some(DateOrder::MonthFirst),
            (true, false, false) => (!self.others).then_some(DateOrder::DayFirst),
            (true, true, true) => None,
        }
    }
}

/// Days since the start of 1970, in the Gregorian calendar, with the time as a fraction; a time with an offset is
/// converted to UTC. `None` if the calendar has no such day.
pub(crate) fn days(text: &str, order: DateOrder) -> Option<f64> {
    let (day, time) = split(text);
    let Parts { numbers: [x, y, z], year_first, .. } = Parts::of(day)?;
    let (year, month, day) = match (year_first, order) {
        (true, _) => (x, y, z),
        (false, DateOrder::MonthFirst) => (z, x, y),
        (false, _) => (z, y, x),
    };
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let length = match month {
        2 => 28 + u32::from(leap),
        4 | 6 | 9 | 11 => 30,
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        _ => return None,
    };
    if !(1..=length).contains(&day) {
        return None;
    }
    let seconds = time.map_or(Some(0.0), seconds)?;
    Some(f64::from(civil(year.cast_signed(), month.cast_signed(), day.cast_signed())) + seconds / 86_400.0)
}

/// Days since 1970-01-01. Years are counted from 1 March, so that the leap day is the last of a year; 400 years
/// have 146 097 days.
fn civil(year: i32, month: i32, day: i32) -> i32 {
    let year = if month > 2 { year } else { year - 1 };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The day of a date such as `2024-01-31`, counted from 1970-01-01; `None` for anything else.
pub fn day_of(date: &str) -> Option<f64> {
    let first = DateForms::of(date).and_then(DateForms::order) == Some(DateOrder::YearFirst);
    days(date, DateOrder::YearFirst).filter(|_| first)
}

/// The date of a day, counted from 1970-01-01: its inverse, without the time of day.
///
/// ```
/// assert_eq!(provi_table::date_of(19_753.2), "2024-01-31");
/// assert_eq!(provi_table::day_of("2024-01-31"), Some(19_753.0));
/// ```
pub fn date_of(day: f64) -> String {
    // The inverse of `civil`, by eras of 400 years that begin on 1 March.
    let since = day.floor() as i64 + 719_468;
    let (era, of_era) = (since.div_euclid(146_097), since.rem_euclid(146_097));
    let years = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * years + years / 4 - years / 100);
    let shifted = (5 * of_year + 2) / 153;
    let (day, month) =
        (of_year - (153 * shifted + 2) / 5 + 1, if shifted < 10 { shifted + 3 } else { shifted - 9 });
    let year = years + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

fn split(text: &str) -> (&str, Option<&str>) {
    match text.split_once(['T', ' ']) {
        Some((day, time)) => (day, Some(time.trim())),
        None => (text, None),
    }
}

/// Three numbers of a date, one of them a year of four digits, first or last.
struct Parts {
    separator: char,
    numbers: [u32; 3],
    year_first: bool,
}

impl Parts {
    fn of(text: &str) -> Option<Self> {
        let separator = text.chars().find(|c| matches!(c, '-' | '.' | '/'))?;
        let parts: Vec<&str> = text.split(separator).collect();
        let [a, b, c] = parts.as_slice() else { return None };
        let number = |part: &str| match part.len() {
            1 | 2 | 4 if part.bytes().all(|b| b.is_ascii_digit()) => part.parse::<u32>().ok(),
            _ => None,
        };
        let year_first = match (a.len(), b.len(), c.len()) {
            (4, 1 | 2, 1 | 2) => true,
            (1 | 2, 1 | 2, 4) => false,
            _ => return None,
        };
        Some(Self { separator, numbers: [number(a)?, number(b)?, number(c)?], year_first })
    }
}

/// The seconds since midnight of `13:45`, `13:45:07`, `13:45:07.25`, with `Z` or an offset such as `+01:00` or without.
fn seconds(text: &str) -> Option<f64> {
    let clock = text.strip_suffix('Z').unwrap_or(text);
    let (clock, offset) = match clock.find(['+', '-']) {
        Some(at) => (clock[..at].trim(), offset(&clock[at..])?),
        None => (clock.trim(), 0.0),
    };
    let below = |part: &str, limit: f64| {
        let digits = part.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        part.parse::<f64>().ok().filter(|value| digits && *value < limit)
    };
    let parts: Vec<&str> = clock.split(':').collect();
    let (hour, minute, second) = match parts.as_slice() {
        [hour, minute] => (below(hour, 25.0)?, below(minute, 60.0)?, 0.0),
        [hour, minute, second] => (below(hour, 25.0)?, below(minute, 60.0)?, below(second, 61.0)?),
        _ => return None,
    };
    Some(3600.0 * hour + 60.0 * minute + second - offset)
}

/// The seconds of `+01:00`, `-0530` or `+01`.
fn offset(text: &str) -> Option<f64> {
    let digits: String = text[1..].trim().chars().filter(|c| *c != ':').collect();
    let (hours, minutes) = match digits.len() {
        1 | 2 => (digits.as_str(), "0"),
        4 => digits.split_at(2),
        _ => return None,
    };
    let whole = |part: &str| part.parse::<u8>().ok().map(f64::from);
    let size = 3600.0 * whole(hours)? + 60.0 * whole(minutes)?;
    Some(if text.starts_with('-') { -size } else { size })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_has_its_date_back() {
        for day in (-200_000..200_000).step_by(37).map(f64::from) {
            assert_eq!(day_of(&date_of(day)), Some(day), "{}", date_of(day));
        }
    }

    #[test]
    fn the_usual_spellings_are_dates() {
        for text in [
            "2024-01-31",
            "2024/1/3",
            "31.01.2024",
            "1/31/2024",
            "2024-01-31T13:45",
            "2024-01-31 13:45:07.25",
            "2024-01-31T13:45:07Z",
            "2024-01-31T13:45:07+01:00",
        ] {
            assert!(DateForms::of(text).is_some(), "{text}");
        }
    }

    #[test]
    fn other_text_is_not() {
        for text in
            ["", "2024", "1-2-3", "2024-13-32", "1.2.3.4", "2024-01", "a-b-c", "2024-01-31 noon", "10.0.2"]
        {
            assert!(DateForms::of(text).is_none(), "{text}");
        }
    }

    fn order(texts: &[&str]) -> Option<DateOrder> {
        texts
            .iter()
            .map(|text| DateForms::of(text).unwrap())
            .fold(DateForms::default(), DateForms::merge)
            .order()
    }

    #[test]
    fn the_order_is_what_all_dates_of_a_column_fit() {
        use DateOrder::{DayFirst, MonthFirst, YearFirst};
        for (texts, expected) in [
            (&["2024-01-31", "2024/02/01"][..], Some(YearFirst)),
            (&["01/02/2024", "31/01/2024"], Some(DayFirst)),
            (&["01/02/2024", "1/31/2024"], Some(MonthFirst)),
            (&["01.02.2024"], Some(DayFirst)),
            (&["01/02/2024"], None),
            (&["31/01/2024", "01/31/2024"], None),
        ] {
            assert_eq!(order(texts), expected, "{texts:?}");
        }
    }

    #[test]
    #[allow(clippy::float_cmp)] // exact: whole and half days
    fn days_are_counted_from_1970() {
        let iso = |text| days(text, DateOrder::YearFirst);
        for (text, expected) in [
            ("1970-01-01", 0.0),
            ("1969-12-31", -1.0),
            ("1970-03-01", 59.0),
            ("2000-02-29", 11_016.0),
            ("2024-01-31", 19_753.0),
            ("0000-03-01", -719_468.0),
            ("2024-01-31T12:00", 19_753.5),
            ("2024-01-31 01:00:00+01:00", 19_753.0),
            ("2024-01-30T18:30-0530", 19_753.0),
            ("2024-01-31T12:00Z", 19_753.5),
        ] {
            assert_eq!(iso(text), Some(expected), "{text}");
        }
        assert_eq!(days("31.01.2024", DateOrder::DayFirst), iso("2024-01-31"));
        assert_eq!(days("1/31/2024", DateOrder::MonthFirst), iso("2024-01-31"));
        for text in ["2024-02-30", "2023-02-29", "2024-31-01", "1900-02-29", "2024-04-31"] {
            assert_eq!(iso(text), None, "{text}");
        }
        assert!(iso("2000-02-29").is_some());
    }

    #[test]
    fn every_day_of_four_centuries_follows_the_one_before() {
        let mut last = civil(1799, 12, 31);
        for year in 1800..2200 {
            for month in 1..=12 {
                for day in 1..=31 {
                    let text = format!("{year}-{month:02}-{day:02}");
                    if let Some(found) = days(&text, DateOrder::YearFirst) {
                        assert!((found - f64::from(last + 1)).abs() < 1e-9, "{text}");
                        last += 1;
                    }
                }
            }
        }
    }
}

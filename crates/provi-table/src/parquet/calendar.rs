//! Days and seconds since 1970 as dates.

/// `2024-01-31`, for the days since 1970-01-01 in the Gregorian calendar, extended to all years.
pub(crate) fn date(days: i64) -> String {
    // Years are counted from 1 March, so that the leap day is the last of a year; 400 years have 146 097 days.
    let shifted = days.saturating_add(719_468);
    let (era, day) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let of_month = of_year - (153 * month + 2) / 5 + 1;
    let (month, carry) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    format!("{:04}-{month:02}-{of_month:02}", era * 400 + year + carry)
}

/// `2024-01-31T13:45:07`, for the seconds since the start of 1970.
pub(crate) fn date_time(seconds: i64) -> String {
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    format!("{}T{:02}:{:02}:{:02}", date(days), second / 3600, second / 60 % 60, second % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_counted_across_leap_years_and_epochs() {
        for (days, expected) in [
            (0, "1970-01-01"),
            (-1, "1969-12-31"),
            (59, "1970-03-01"),
            (11_016, "2000-02-29"),
            (19_753, "2024-01-31"),
            (-719_468, "0000-03-01"),
        ] {
            assert_eq!(date(days), expected);
        }
        assert_eq!(date_time(19_753 * 86_400 + 49_507), "2024-01-31T13:45:07");
        assert_eq!(date_time(-1), "1969-12-31T23:59:59");
    }
}

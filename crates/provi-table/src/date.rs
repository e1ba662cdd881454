//! Telling dates from other text: `2024-01-31`, `31.01.2024`, `1/31/2024`, each with a time or without.

/// Does the text read as a date?
pub(crate) fn is_date(text: &str) -> bool {
    let (day, time) = match text.split_once(['T', ' ']) {
        Some((day, time)) => (day, Some(time.trim())),
        None => (text, None),
    };
    is_day(day) && time.is_none_or(is_time)
}

/// Year first or last, the other two within a calendar's range, in one of the orders in use.
fn is_day(text: &str) -> bool {
    let Some(separator) = text.chars().find(|c| matches!(c, '-' | '.' | '/')) else { return false };
    let parts: Vec<&str> = text.split(separator).collect();
    let number = |part: &str| match part.len() {
        1 | 2 | 4 if part.bytes().all(|b| b.is_ascii_digit()) => part.parse::<u32>().ok(),
        _ => None,
    };
    let [a, b, c] = parts.as_slice() else { return false };
    let (Some(x), Some(y), Some(z)) = (number(a), number(b), number(c)) else { return false };
    let month_and_day = |x: u32, y: u32| (1..=12).contains(&x.min(y)) && (1..=31).contains(&x.max(y));
    match (a.len(), b.len(), c.len()) {
        (4, 1 | 2, 1 | 2) => month_and_day(y, z),
        (1 | 2, 1 | 2, 4) => month_and_day(x, y),
        _ => false,
    }
}

/// `13:45`, `13:45:07`, `13:45:07.25`, with `Z` or an offset such as `+01:00` or without.
fn is_time(text: &str) -> bool {
    let clock = text.strip_suffix('Z').unwrap_or(text);
    let clock = clock.split_once(['+', '-']).map_or(clock, |(clock, _)| clock).trim();
    let parts: Vec<&str> = clock.split(':').collect();
    let below = |part: &str, limit: f64| {
        let digits = part.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        digits && part.parse::<f64>().is_ok_and(|value| value < limit)
    };
    match parts.as_slice() {
        [hour, minute] => below(hour, 25.0) && below(minute, 60.0),
        [hour, minute, second] => below(hour, 25.0) && below(minute, 60.0) && below(second, 61.0),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::is_date;

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
            assert!(is_date(text), "{text}");
        }
    }

    #[test]
    fn other_text_is_not() {
        for text in
            ["", "2024", "1-2-3", "2024-13-32", "1.2.3.4", "2024-01", "a-b-c", "2024-01-31 noon", "10.0.2"]
        {
            assert!(!is_date(text), "{text}");
        }
    }
}

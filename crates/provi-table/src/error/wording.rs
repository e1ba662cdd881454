//! Names, values and lists from users' data, made fit for a line of a message.

use crate::formula::Quoted;

/// A user's text, made fit for a message: no control characters, not too long.
pub(crate) fn shown(text: &str) -> String {
    shown_to(40, text)
}

pub(super) fn shown_to(longest: usize, text: &str) -> String {
    let mut shown = String::new();
    for (i, c) in text.chars().enumerate() {
        if i == longest {
            shown.push('…');
            break;
        }
        if c.is_control() { shown.extend(c.escape_default()) } else { shown.push(c) }
    }
    shown
}

pub(super) fn separator_name(separator: char) -> &'static str {
    match separator {
        ';' => "semicolon",
        '\t' => "tab",
        '|' => "bar",
        _ => "comma",
    }
}

pub(super) fn counted(columns: &[(String, usize)]) -> String {
    let words: Vec<String> =
        columns.iter().map(|(name, count)| format!("`{}` {count}", shown(name))).collect();
    words.join(", ")
}

pub(super) fn blank_or(text: &str) -> String {
    if text.is_empty() { "an empty field".to_owned() } else { format!("`{}`", shown(text)) }
}

pub(super) fn suggested(nearest: Option<&str>) -> String {
    nearest.map(|name| format!("did you mean `{}`? ", shown(name))).unwrap_or_default()
}

/// The bytes of a matrix of doubles, for people.
pub(super) fn bytes_of(rows: usize, columns: usize) -> String {
    said(8.0 * rows as f64 * columns as f64)
}

/// A number of bytes for people.
pub(super) fn bytes_said(bytes: u64) -> String {
    said(bytes as f64)
}

fn said(mut value: f64) -> String {
    let mut units = ["B", "kB", "MB", "GB", "TB", "PB", "EB"].into_iter();
    let mut unit = units.next().unwrap_or_default();
    while value >= 999.5
        && let Some(next) = units.next()
    {
        (value, unit) = (value / 1000.0, next);
    }
    let digits = usize::from(value < 99.95);
    format!("{value:.digits$} {unit}")
}

/// The most levels for which a group term is suggested instead of a category.
const FEW_LEVELS: usize = 5000;

/// The way out if a design is too wide.
pub(super) fn too_wide(column: Option<&str>, levels: usize) -> String {
    match column {
        Some(name) if levels <= FEW_LEVELS => format!(
            "leave an interaction out, or take `{}` with its {levels} levels as a group term, (1 | {})",
            shown(name),
            Quoted(name)
        ),
        Some(name) => format!(
            "a category with fewer levels than the {levels} of `{}` is needed, as a group term too: merge rare ones, or leave it out",
            shown(name)
        ),
        None => "leave terms out".to_owned(),
    }
}

pub(super) fn listed(names: &[String]) -> String {
    const MOST: usize = 12;
    let head: Vec<String> = names.iter().take(MOST).map(|name| format!("`{}`", shown(name))).collect();
    match names.len() {
        0 => "none".to_owned(),
        n if n > MOST => format!("{} and {} more", head.join(", "), n - MOST),
        _ => head.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_stays_on_one_short_line() {
        assert_eq!(shown("a\nb\t"), "a\\nb\\t");
        assert_eq!(shown(&"é".repeat(100)).chars().count(), 41);
    }

    #[test]
    fn a_long_list_is_counted_not_printed() {
        let names: Vec<String> = (0..14).map(|i| format!("x{i}")).collect();
        assert!(listed(&names).ends_with("`x11` and 2 more"));
        assert_eq!(listed(&names[..2]), "`x0`, `x1`");
        assert_eq!(listed(&[]), "none");
    }
}

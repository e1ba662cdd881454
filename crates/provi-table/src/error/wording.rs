//! Names, values and lists of others, fit for a line of ours.

/// Someone else's text, fit for a line of ours: no control characters, not too long.
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

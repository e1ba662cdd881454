//! An estimate of the width of text, without a font.

/// An upper bound of the width of text in pixels, for the usual sans-serif fonts.
///
/// Uses character classes with the widths of a wide font: labels that fit by this estimate fit everywhere.
pub(crate) fn width(text: &str, size: f64) -> f64 {
    text.chars().map(advance).sum::<f64>() * size
}

fn advance(c: char) -> f64 {
    match c {
        'i' | 'j' | 'l' | '\'' | '\u{300}'..='\u{36f}' => 0.28,
        ' ' | '.' | ',' | ':' | ';' | '|' | 'I' => 0.34,
        'f' | 't' | 'r' | '(' | ')' | '[' | ']' | '!' | '-' | '/' => 0.42,
        '⁰' | '¹' | '²' | '³' | '⁴' | '⁵' | '⁶' | '⁷' | '⁸' | '⁹' | '⁻' => 0.46,
        'm' | 'w' | 'M' | 'W' | '@' | '%' | '…' | '—' => 1.0,
        '−' | '×' | '±' | '≤' | '≥' | '=' | '+' | '<' | '>' | '≈' => 0.84,
        'A'..='Z' | '_' => 0.74,
        '0'..='9' | 'a'..='z' => 0.64,
        '\u{80}'..='\u{2dff}' => 0.76,
        // Ideographs and emoji fill a square.
        _ => 1.05,
    }
}

/// Text cut to a width, with an ellipsis in its middle: long names differ at either end.
pub(crate) fn fitted(text: &str, size: f64, room: f64) -> String {
    if width(text, size) <= room {
        return text.to_owned();
    }
    let all: Vec<char> = text.chars().collect();
    for kept in (1..all.len()).rev() {
        let (head, tail) = (kept.div_ceil(2), kept / 2);
        let cut: String = all[..head].iter().chain(&['…']).chain(&all[all.len() - tail..]).collect();
        if width(&cut, size) <= room {
            return cut;
        }
    }
    "…".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_name_fits_and_keeps_both_ends() {
        let cut = fitted("clinic[Saint-Petersburg-North-East-Annex]", 13.0, 120.0);
        assert!(width(&cut, 13.0) <= 120.0 && cut.starts_with("clin") && cut.ends_with("x]"), "{cut}");
        assert_eq!(fitted("age", 13.0, 120.0), "age");
        assert_eq!(fitted("age", 13.0, 0.0), "…");
    }
}

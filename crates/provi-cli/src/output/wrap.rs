//! Sentences wrapped into lines.

use unicode_width::UnicodeWidthStr;

/// The longest line.
const WIDTH: usize = 80;

/// `text` after `first`, wrapped at spaces into lines of at most 80 columns; further lines begin with `indent`
/// spaces. Ends with a line feed.
pub(crate) fn wrapped(first: &str, indent: usize, text: &str) -> String {
    let mut out = first.to_owned();
    let (mut column, mut fresh) = (first.width(), true);
    for word in text.split_whitespace() {
        if !fresh && column + 1 + word.width() > WIDTH {
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            (column, fresh) = (indent, true);
        }
        if !fresh {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += word.width();
        fresh = false;
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_short_and_no_word_is_lost() {
        let text = "δ ".repeat(100);
        let lines = wrapped("note  ", 6, &text);
        assert!(lines.lines().count() > 1 && lines.lines().all(|line| line.width() <= WIDTH), "{lines}");
        assert_eq!(lines.matches('δ').count(), 100);
        assert!(lines.lines().skip(1).all(|line| line.starts_with("      δ")));
        assert_eq!(wrapped("a ", 2, &"x".repeat(99)).lines().count(), 1);
    }
}

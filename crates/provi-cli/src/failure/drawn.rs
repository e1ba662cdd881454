//! A failure as it is printed: what happened, the place in the formula or contrast, and the way out.

use std::ops::Range;

use unicode_width::UnicodeWidthStr;

use crate::output::wrap::wrapped;

/// What the words are dressed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dress {
    /// ASCII, each sentence on a line of its own: for files and other programs.
    Plain,
    /// Drawn lines, sentences cut at 80 columns.
    Lines,
    /// The same in colour.
    Colours,
}

/// A text that a user gave, by its name, and which bytes of it are at fault.
pub(crate) struct Place<'a> {
    pub(crate) name: &'a str,
    pub(crate) text: &'a str,
    pub(crate) span: Range<usize>,
}

/// All of it, without a line feed at the end.
pub(crate) fn drawn(message: &str, place: Option<&Place<'_>>, help: Option<&str>, dress: Dress) -> String {
    let mut out = sentence("Error: ", RED, 2, message, dress);
    if let Some(place) = place {
        out.push_str(&place.drawn(dress));
    }
    if let Some(help) = help {
        out.push_str(&sentence("  help: ", CYAN, 8, help, dress));
    }
    out.truncate(out.trim_end().len());
    out
}

const RED: &str = "31";
const CYAN: &str = "36";

fn coloured(text: &str, colour: &str, dress: Dress) -> String {
    if dress == Dress::Colours { format!("\x1b[{colour}m{text}\x1b[0m") } else { text.to_owned() }
}

fn sentence(first: &str, colour: &str, indent: usize, text: &str, dress: Dress) -> String {
    // Where spaces or line feeds belong to what is quoted, the sentence stays as it is.
    let whole = dress == Dress::Plain || text.contains("  ") || text.contains('\n');
    let lines = if whole { format!("{first}{text}\n") } else { wrapped(first, indent, text) };
    lines.replacen(first.trim(), &coloured(first.trim(), colour, dress), 1)
}

impl Place<'_> {
    /// The line with the fault, and what is at fault underlined.
    fn drawn(&self, dress: Dress) -> String {
        let [corner, side, below, mark, end] = match dress {
            Dress::Plain => [",-", "|", ":", "^", "`----"],
            _ => ["╭─", "│", "·", "─", "╰────"],
        };
        let (start, stop) = self.bytes();
        let begin = self.text[..start].rfind('\n').map_or(0, |at| at + 1);
        let line = self.text[begin..].lines().next().unwrap_or_default();
        let number = self.text[..begin].matches('\n').count() + 1;
        let column = self.text[begin..start].chars().count() + 1;
        let room = " ".repeat(number.to_string().len() + 2);
        let before = self.text[begin..start].width();
        let width = self.text[start..stop.clamp(start, begin + line.len())].width().max(1);
        let marks = coloured(&mark.repeat(width), RED, dress);
        let (name, shown) = (self.name, line.replace('\t', " "));
        format!(
            "{room}{corner}[{name}:{number}:{column}]\n {number} {side} {shown}\n{room}{below} {}{marks}\n{room}{end}\n",
            " ".repeat(before)
        )
    }

    /// The span within the text, at borders of characters: where a word is missing it stands at the last one.
    fn bytes(&self) -> (usize, usize) {
        let last = self.text.char_indices().next_back().map_or(0, |(at, _)| at);
        let border = |mut at: usize| {
            while !self.text.is_char_boundary(at) {
                at -= 1;
            }
            at
        };
        let start = border(self.span.start.min(last));
        (start, border(self.span.end.clamp(start, self.text.len())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(text: &str, span: Range<usize>, dress: Dress) -> String {
        drawn("no", Some(&Place { name: "formula", text, span }), Some("try again"), dress)
    }

    #[test]
    fn the_fault_is_underlined_in_its_line() {
        let said = place("y ~ größe +\n  alter", 16..21, Dress::Plain);
        assert_eq!(
            said,
            "Error: no\n   ,-[formula:2:3]\n 2 |   alter\n   :   ^^^^^\n   `----\n  help: try again"
        );
        let wide = place("größe ~ 重さ", 10..16, Dress::Plain);
        assert!(wide.contains("[formula:1:9]\n 1 | größe ~ 重さ\n   :         ^^^^\n"), "{wide}");
    }

    #[test]
    fn no_span_breaks_it() {
        for text in ["", " ", "ü", "a\n", "y ~ größe"] {
            for start in 0..14 {
                for end in start..14 {
                    for dress in [Dress::Plain, Dress::Lines, Dress::Colours] {
                        assert!(place(text, start..end, dress).contains("help:"));
                    }
                }
            }
        }
    }

    #[test]
    fn terminals_get_lines_and_colours() {
        let said = place("y ~ a", 4..5, Dress::Lines);
        assert!(said.contains("╭─[formula:1:5]\n 1 │ y ~ a\n   ·     ─\n   ╰────\n"), "{said}");
        let said = place("y ~ a", 4..5, Dress::Colours);
        assert!(
            said.starts_with("\x1b[31mError:\x1b[0m no\n") && said.contains("\x1b[36mhelp:\x1b[0m"),
            "{said}"
        );
        let long = drawn(&"word ".repeat(40), None, None, Dress::Lines);
        assert!(long.lines().all(|line| line.width() <= 80) && long.lines().count() == 3, "{long}");
    }
}

//! Text in aligned columns.

use unicode_width::UnicodeWidthStr;

/// The side to which a column's text is aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Left,
    Right,
}

/// A heading and rows; no heading line if every heading is empty.
#[derive(Debug)]
pub(crate) struct Columns {
    sides: Vec<Side>,
    heading: Vec<String>,
    rows: Vec<Vec<String>>,
    bold: bool,
}

impl Columns {
    pub(crate) fn new(heading: &[(&str, Side)]) -> Self {
        Self {
            sides: heading.iter().map(|(_, side)| *side).collect(),
            heading: heading.iter().map(|(text, _)| (*text).to_owned()).collect(),
            rows: Vec::new(),
            bold: false,
        }
    }

    pub(crate) fn bold_heading(&mut self, bold: bool) {
        self.bold = bold;
    }

    pub(crate) fn push(&mut self, row: Vec<String>) {
        self.rows.push(row);
    }

    pub(crate) fn render(&self) -> String {
        let all = || std::iter::once(&self.heading).chain(&self.rows);
        let width = |column: usize| {
            all().filter_map(|row| row.get(column)).map(|text| text.width()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.sides.len()).map(width).collect();
        let line = |row: &Vec<String>| {
            let cells = row.iter().zip(&self.sides).zip(&widths).map(|((text, side), width)| {
                let pad = " ".repeat(width - text.width().min(*width));
                if *side == Side::Left { format!("{text}{pad}") } else { format!("{pad}{text}") }
            });
            cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
        };
        let mut out = String::new();
        if self.heading.iter().any(|text| !text.is_empty()) {
            let heading = line(&self.heading);
            out.push_str(&if self.bold {
                format!("\x1b[1m{heading}\x1b[0m\n")
            } else {
                format!("{heading}\n")
            });
        }
        for row in &self.rows {
            out.push_str(&line(row));
            out.push('\n');
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_whatever_the_alphabet() {
        let mut columns = Columns::new(&[("", Side::Left), ("mean", Side::Right)]);
        columns.push(vec!["μ".into(), "1.25".into()]);
        columns.push(vec!["größe".into(), "-10.50".into()]);
        assert_eq!(columns.render(), "         mean\nμ        1.25\ngröße  -10.50\n");
    }
}

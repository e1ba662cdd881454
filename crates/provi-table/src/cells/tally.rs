//! Counts of what the cells of a column can be read as.

use serde::{Deserialize, Serialize};

use super::{MissingWords, truth};
use crate::{column::ColumnKind, date::DateForms};

/// A cell of one of several files, for a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Spot {
    /// Index of the file.
    pub(crate) shard: usize,
    /// Line of the file, or row.
    pub(crate) line: usize,
    /// The text as written there.
    pub(crate) text: String,
}

impl Spot {
    /// The earlier of two, if there is any.
    pub(crate) fn earlier(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        match (one, other) {
            (Some(one), Some(other)) if (other.shard, other.line) < (one.shard, one.line) => Some(other),
            (one, other) => one.or(other),
        }
    }
}

/// How many cells of a column can be read as which type. The tallies of parts of a column merge to that of the
/// whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Tally {
    cells: usize,
    missing: usize,
    pub(crate) numbers: usize,
    truths: usize,
    first_text: Option<Spot>,
    first_truth: Option<Spot>,
    /// Whether every cell is a number with at most one comma, and some comma cannot be a thousands separator.
    commas: bool,
    proof: bool,
    /// Whether every cell is a date.
    dates: bool,
    /// How the dates are written.
    forms: DateForms,
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            cells: 0,
            missing: 0,
            numbers: 0,
            truths: 0,
            first_text: None,
            first_truth: None,
            commas: true,
            proof: false,
            dates: true,
            forms: DateForms::default(),
        }
    }
}

/// What a column of text holds, and how its numbers are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CellKind {
    pub(crate) kind: ColumnKind,
    pub(crate) decimal_comma: bool,
}

impl Tally {
    /// Counts a cell, already trimmed, with its place.
    pub(crate) fn see(&mut self, text: &str, words: &MissingWords, shard: usize, line: usize) {
        self.cells += 1;
        if words.mean_missing(text) {
            self.missing += 1;
            return;
        }
        if self.dates {
            match DateForms::of(text) {
                Some(forms) => self.forms = self.forms.merge(forms),
                None => (self.dates, self.forms) = (false, DateForms::default()),
            }
        }
        if text.parse::<f64>().is_ok() {
            self.numbers += 1;
            return;
        }
        let first = match truth(text) {
            Some(_) => {
                self.truths += 1;
                &mut self.first_truth
            }
            None => &mut self.first_text,
        };
        first.get_or_insert_with(|| Spot { shard, line, text: text.to_owned() });
        self.commas &= self.has_decimal_comma(text);
    }

    /// Whether a cell that is not a plain number is one with a decimal comma. Also records evidence that the comma
    /// is not a thousands separator.
    fn has_decimal_comma(&mut self, text: &str) -> bool {
        let Some((whole, part)) = text.split_once(',') else { return false };
        let digits = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
        let unsigned = whole.strip_prefix(['-', '+']).unwrap_or(whole);
        if !unsigned.chars().all(|c| c.is_ascii_digit()) || text.replacen(',', ".", 1).parse::<f64>().is_err()
        {
            return false;
        }
        self.proof |= digits != 3 || unsigned.is_empty() || unsigned.starts_with('0') || unsigned.len() > 3;
        true
    }

    /// The tally of both sets of cells.
    pub(crate) fn merge(self, other: Self) -> Self {
        Self {
            cells: self.cells + other.cells,
            missing: self.missing + other.missing,
            numbers: self.numbers + other.numbers,
            truths: self.truths + other.truths,
            first_text: Spot::earlier(self.first_text, other.first_text),
            first_truth: Spot::earlier(self.first_truth, other.first_truth),
            commas: self.commas && other.commas,
            proof: self.proof || other.proof,
            dates: self.dates && other.dates,
            // If not all cells are dates, their forms do not matter.
            forms: if self.dates && other.dates {
                self.forms.merge(other.forms)
            } else {
                DateForms::default()
            },
        }
    }

    /// How its dates are written.
    pub(crate) fn forms(&self) -> DateForms {
        self.forms
    }

    /// Number of cells with a value.
    pub(crate) fn present(&self) -> usize {
        self.cells - self.missing
    }

    /// The column's type.
    ///
    /// Numbers, if every cell that is not missing is a number; else booleans, if every one is; else dates, if every
    /// one is; else text. With `comma`, numbers may have a decimal comma if it cannot be a thousands separator.
    pub(crate) fn kind(&self, comma: bool) -> CellKind {
        let present = self.present();
        let decimal_comma = comma
            && present > 0
            && self.numbers < present
            && self.truths < present
            && self.commas
            && self.proof;
        let kind = if present == 0 {
            ColumnKind::Missing
        } else if self.numbers == present || decimal_comma {
            ColumnKind::Number
        } else if self.truths == present {
            ColumnKind::Boolean
        } else if self.dates {
            ColumnKind::Date
        } else {
            ColumnKind::Category
        };
        CellKind { kind, decimal_comma }
    }

    /// In a column of text, the first cell that is not a number. If text and numbers mix, true/false counts as
    /// text.
    pub(crate) fn first_text(&self) -> Option<&Spot> {
        self.first_text.as_ref().or(self.first_truth.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn tallies_of_parts_merge_to_that_of_the_whole(
            cells in prop::collection::vec(prop::sample::select(vec!["1", "1,5", "1,500", "", "NA", "true", "a", "2024-01-31", "31.01.2024", "1/2/2024"]), 0..12),
            cut in 0usize..12,
        ) {
            let cut = cut.min(cells.len());
            let tally = |range: std::ops::Range<usize>| {
                let mut tally = Tally::default();
                range.for_each(|row| tally.see(cells[row], &MissingWords::default(), 0, row));
                tally
            };
            let (whole, low, high) = (tally(0..cells.len()), tally(0..cut), tally(cut..cells.len()));
            prop_assert_eq!(&low.clone().merge(high.clone()), &whole);
            prop_assert_eq!(&high.merge(low), &whole);
        }
    }
}

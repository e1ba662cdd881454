//! Applies the user's own words for "no value" to a table that was read without them.

use std::borrow::Cow;

use crate::{
    cells::{Cells, MissingWords},
    column::{Cell, Column, Data, TypedBy},
    table::Table,
};

/// Whether a column may change its type once its missing cells are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Retype {
    /// It may: the table is complete.
    Whole,
    /// It may not: it is a block of a larger table.
    Block,
}

impl Table {
    /// The table in which these words mean "no value" as well.
    ///
    /// A column of text whose other cells are all numbers becomes a column of numbers; a column whose owner stated
    /// its type keeps it.
    pub(crate) fn with_missing(&self, words: &MissingWords, retype: Retype) -> Cow<'_, Self> {
        if words.is_empty() {
            return Cow::Borrowed(self);
        }
        let changed: Vec<(usize, Column)> = (0..self.names().len())
            .filter_map(|place| Some((place, self.column(place).with_missing(words, retype)?)))
            .collect();
        match changed.is_empty() {
            true => Cow::Borrowed(self),
            false => Cow::Owned(self.with_columns(changed)),
        }
    }
}

impl Table {
    /// The table in which a missing lower end of an interval is 0 and a missing upper end is infinite. Where both are missing they stay so.
    pub(crate) fn with_open_ends(&self, columns: Option<[&str; 2]>) -> Cow<'_, Self> {
        let places = columns.map(|names| names.map(|name| self.place(name)));
        let Some([Ok(first), Ok(last)]) = places else { return Cow::Borrowed(self) };
        let [lower, upper] = [first, last].map(|place| self.column(place));
        let (Data::Numbers(from), Data::Numbers(to)) = (&lower.data, &upper.data) else {
            return Cow::Borrowed(self);
        };
        let both = |row: usize| from[row].is_nan() && to[row].is_nan();
        let filled = |column: &Column, values: &[f64], open: f64| {
            let value = |(row, x): (usize, &f64)| if x.is_nan() && !both(row) { open } else { *x };
            let values: Vec<f64> = values.iter().enumerate().map(value).collect();
            let mut filled = Column { data: Data::Numbers(values), ..column.clone() };
            filled.count_missing(column);
            filled
        };
        let ends = Column { infinite: None, ..filled(upper, to, f64::INFINITY) };
        Cow::Owned(self.with_columns(vec![(first, filled(lower, from, 0.0)), (last, ends)]))
    }
}

impl Column {
    /// The column with more missing cells; `None` if no cell is one of the words.
    fn with_missing(&self, words: &MissingWords, retype: Retype) -> Option<Self> {
        let mut column = match &self.data {
            Data::Numbers(values) => self.without_numbers(values, words)?,
            Data::Booleans(values) => {
                let [no, yes] = ["false", "true"].map(|word| words.names(word));
                if !values.iter().any(|x| (*x > 0.5 && yes) || (*x < 0.5 && no)) {
                    return None;
                }
                let kept = |x: &f64| if (*x > 0.5 && yes) || (*x < 0.5 && no) { f64::NAN } else { *x };
                Self { data: Data::Booleans(values.iter().map(kept).collect()), ..self.clone() }
            }
            Data::Text { codes, levels, dates } => {
                let named: Vec<bool> = levels.iter().map(|level| words.names(level)).collect();
                if !named.contains(&true) {
                    return None;
                }
                if let (TypedBy::Cells { comma }, Retype::Whole) = (self.typed_by, retype) {
                    return Some(self.typed_again(codes, levels, comma, words));
                }
                without_levels(self, codes, levels, &named, *dates)
            }
            Data::Nothing => return None,
        };
        column.count_missing(self);
        if retype == Retype::Whole && column.missing == column.rows() {
            column.data = Data::Nothing;
        }
        Some(column)
    }

    fn without_numbers(&self, values: &[f64], words: &MissingWords) -> Option<Self> {
        let digits = |row: usize| self.long.as_ref().and_then(|long| long.name(row));
        let named = |row: usize| match digits(row) {
            Some(digits) => words.names(digits),
            None => words.names_number(values[row]),
        };
        let gaps: Vec<bool> = (0..values.len()).map(named).collect();
        if !gaps.contains(&true) {
            return None;
        }
        let mut column = self.clone();
        let kept = |(row, x): (usize, &f64)| if gaps[row] { f64::NAN } else { *x };
        column.data = Data::Numbers(values.iter().enumerate().map(kept).collect());
        column.infinite = None;
        (column.inexact, column.first_inexact) = (0, None);
        for (row, value) in values.iter().enumerate().filter(|(row, _)| !gaps[*row]) {
            if value.is_infinite() {
                column.note_infinite(row, &value.to_string());
            }
            if let Some(digits) = digits(row) {
                column.note_inexact(row, digits);
            }
        }
        Some(column)
    }

    /// The column that its cells would have made if these words had been known.
    fn typed_again(
        &self,
        codes: &[Option<u32>],
        levels: &[String],
        comma: bool,
        words: &MissingWords,
    ) -> Self {
        let mut cells = Cells::default();
        let gap = self.first_missing.as_ref().map_or("", |cell| cell.text.as_str());
        codes.iter().for_each(|code| cells.push(code.map_or(gap, |code| &levels[code as usize])));
        cells.finish(comma, words)
    }

    /// Counts the missing cells again; of the old ones, the first is known by its text.
    fn count_missing(&mut self, before: &Self) {
        (self.missing, self.first_missing) = (0, None);
        for row in 0..self.rows() {
            if self.is_missing(row) {
                let text = match &before.first_missing {
                    Some(first) if first.row == row => first.text.clone(),
                    _ => before.level(row).unwrap_or_default(),
                };
                self.missing += 1;
                self.first_missing.get_or_insert(Cell { row, text });
            }
        }
    }

    fn rows(&self) -> usize {
        match &self.data {
            Data::Numbers(values) | Data::Booleans(values) => values.len(),
            Data::Text { codes, .. } => codes.len(),
            Data::Nothing => 0,
        }
    }
}

fn without_levels(
    column: &Column,
    codes: &[Option<u32>],
    levels: &[String],
    gone: &[bool],
    dates: bool,
) -> Column {
    let mut kept = Vec::new();
    let mut places = vec![None; levels.len()];
    for (place, level) in levels.iter().enumerate().filter(|(place, _)| !gone[*place]) {
        places[place] = Some(kept.len() as u32);
        kept.push(level.clone());
    }
    let codes = codes.iter().map(|code| code.and_then(|code| places[code as usize])).collect();
    Column { data: Data::Text { codes, levels: kept, dates }, ..column.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Values, column::ColumnKind};

    fn words(words: &[&str]) -> MissingWords {
        MissingWords::new(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    fn csv(text: &str, na: &[&str]) -> Table {
        let table = Table::read(text.as_bytes(), "t.csv").unwrap();
        table.with_missing(&words(na), Retype::Whole).into_owned()
    }

    #[test]
    fn a_column_of_numbers_but_for_the_words_is_one_of_numbers() {
        let table = csv("x,z\n1.5,1\n-,2\n2,-9\n,3\n", &["-", "-9"]);
        assert_eq!((table.kind("x"), table.kind("z")), (Some(ColumnKind::Number), Some(ColumnKind::Number)));
        assert_eq!((table.column(0).missing, table.column(1).missing), (2, 1));
        assert_eq!(table.column(0).first_missing, Some(Cell { row: 1, text: "-".into() }));
        assert_eq!(table.column(1).first_missing, Some(Cell { row: 2, text: "-9".into() }));
        assert!(table.column(0).first_text.is_none());
    }

    #[test]
    fn a_category_loses_the_level_and_keeps_the_others() {
        let table = csv("t\na\nnone\nb\n", &["none"]);
        let Data::Text { codes, levels, dates: false } = &table.column(0).data else { panic!() };
        assert_eq!((codes.as_slice(), levels.len()), (&[Some(0), None, Some(1)][..], 2));
        assert_eq!(csv("t\nnone\nnone\n", &["none"]).kind("t"), Some(ColumnKind::Missing));
    }

    #[test]
    fn columns_in_memory_are_treated_alike_and_declared_categories_stay_so() {
        let text = |texts: &[&str]| Values::Text(texts.iter().map(|t| Some((*t).to_owned())).collect());
        let fixed = Values::Categories {
            codes: vec![Some(0), Some(1)],
            levels: vec!["1".into(), "-".into()],
            ordered: false,
        };
        let table = Table::from_columns(
            "frame",
            vec![
                ("n".to_owned(), Values::Numbers(vec![-9.0, 1.0])),
                ("i".to_owned(), Values::Integers(vec![Some(-9), Some(i64::MAX)])),
                ("t".to_owned(), text(&["1.5", "-"])),
                ("c".to_owned(), fixed),
                ("b".to_owned(), Values::Booleans(vec![Some(true), Some(false)])),
            ],
        )
        .unwrap();
        let table = table.with_missing(&words(&["-", "-9", "false"]), Retype::Whole);
        let kinds: Vec<ColumnKind> = table.names().iter().filter_map(|name| table.kind(name)).collect();
        use ColumnKind::{Boolean, Category, Number};
        assert_eq!(kinds, [Number, Number, Number, Category, Boolean]);
        assert!((0..5).all(|place| table.column(place).missing == 1));
        assert_eq!(table.level("i", 1).as_deref(), Some("9223372036854775807"));
    }

    #[test]
    fn a_block_keeps_its_kinds() {
        let table = Table::read(b"x\n-\n-\n", "t.csv").unwrap();
        let table = table.with_missing(&words(&["-"]), Retype::Block);
        assert_eq!((table.kind("x"), table.column(0).missing), (Some(ColumnKind::Category), 2));
    }

    #[test]
    fn no_word_leaves_the_table_as_it_is() {
        let table = Table::read(b"x\n1\n", "t.csv").unwrap();
        assert!(matches!(table.with_missing(&words(&["-9"]), Retype::Whole), Cow::Borrowed(_)));
    }
}

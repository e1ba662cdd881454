//! Tables from columns in memory.

use std::collections::HashSet;

use crate::{
    cells::{EXACT, whole_name},
    column::{Column, Data, LongNames, TypedBy, coded, number_level},
    error::{BadColumns, BadFile, Error, Result},
    table::Table,
};

/// The values of one column, one per row, with a type given by the owner of the data.
///
/// Text is trimmed, and blank text is missing, as in a file.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Values {
    /// Numbers; NaN where missing.
    Numbers(Vec<f64>),
    /// Whole numbers. One that a double cannot hold is noted, as in a file.
    Integers(Vec<Option<i64>>),
    /// Whole numbers of any length, in digits; anything else is missing.
    Digits(Vec<Option<String>>),
    /// true/false.
    Booleans(Vec<Option<bool>>),
    /// Text: categories, whose levels are sorted by their bytes.
    Text(Vec<Option<String>>),
    /// Categories whose levels have an order of their own; levels that no row has are left out.
    Categories {
        /// Each row's index among the levels.
        codes: Vec<Option<u32>>,
        /// Their names.
        levels: Vec<String>,
        /// Whether their order means something, as that of ratings: an ordered response need not list them.
        ordered: bool,
    },
    /// Dates, as text that sorts: `2024-01-31`, with or without a time.
    Dates(Vec<Option<String>>),
}

impl Table {
    /// A table of named columns, all of the same length. `name` is for messages; their line numbers are rows, from
    /// 1.
    ///
    /// ```
    /// use provi_table::{Formula, FrameOptions, ModelFrame, Table, Values};
    ///
    /// let size = Values::Categories {
    ///     codes: vec![Some(0), Some(1), Some(1)],
    ///     levels: vec!["small".into(), "large".into()],
    ///     ordered: false,
    /// };
    /// let columns = vec![("y".to_owned(), Values::Integers(vec![Some(0), Some(1), Some(1)])), ("size".to_owned(), size)];
    /// let table = Table::from_columns("frame", columns)?;
    /// let frame = ModelFrame::new(&table, &Formula::parse("y ~ size")?, &FrameOptions::default())?;
    /// assert_eq!(frame.names, ["(Intercept)", "size[large]"]); // in a file, `large` would come first
    /// # Ok::<(), provi_table::Error>(())
    /// ```
    pub fn from_columns(name: impl Into<String>, columns: Vec<(String, Values)>) -> Result<Self> {
        let name = name.into();
        let refused = |reason| Error::File(BadFile::Columns { table: name.clone(), reason });
        let Some(rows) = columns.first().map(|(_, values)| values.len()) else {
            return Err(refused(BadColumns::None));
        };
        if let Some((column, values)) = columns.iter().find(|(_, values)| values.len() != rows) {
            let (column, found, first) = (column.clone(), values.len(), columns[0].0.clone());
            return Err(refused(BadColumns::Length { column, found, first, expected: rows }));
        }
        let (mut names, mut typed) = (Vec::new(), Vec::new());
        for (column, values) in columns {
            typed.push(values.column(&column).map_err(refused)?);
            names.push(column.trim().to_owned());
        }
        let table = Self::new(name, names, typed, (1..=rows).collect())?;
        match rows {
            0 => Err(Error::File(BadFile::NoRows {
                table: table.name().to_owned(),
                columns: table.names().len(),
            })),
            _ => Ok(table),
        }
    }

    /// The contents as a stream of bytes, for a digest. The same names and values in the same order give the same
    /// bytes, whatever they were read from; other levels, or another order of them, give other bytes.
    pub fn digest_into(&self, mut take: impl FnMut(&[u8])) {
        let text = |take: &mut dyn FnMut(&[u8]), text: &str| {
            take(&(text.len() as u64).to_le_bytes());
            take(text.as_bytes());
        };
        take(&(self.rows() as u64).to_le_bytes());
        for (place, name) in self.names().iter().enumerate() {
            text(&mut take, name);
            match &self.column(place).data {
                Data::Numbers(values) | Data::Booleans(values) => {
                    take(if matches!(self.column(place).data, Data::Numbers(_)) { b"n" } else { b"b" });
                    // Every NaN is the same missing value, and −0 the same number as 0.
                    let number = |x: f64| if x.is_nan() { f64::NAN } else { x + 0.0 };
                    values.iter().for_each(|x| take(&number(*x).to_le_bytes()));
                    // Numbers that share a double differ by their digits.
                    if let Some(long) = &self.column(place).long {
                        take(b"l");
                        (0..self.rows())
                            .filter_map(|row| long.name(row))
                            .for_each(|name| text(&mut take, name));
                    }
                }
                Data::Text { codes, levels, dates } => {
                    take(if *dates { b"d" } else { b"t" });
                    take(&(levels.len() as u64).to_le_bytes());
                    levels.iter().for_each(|level| text(&mut take, level));
                    codes.iter().for_each(|code| take(&code.map_or(u32::MAX, |code| code).to_le_bytes()));
                }
                Data::Nothing => take(b"-"),
            }
        }
    }
}

impl Values {
    /// Number of rows.
    pub fn len(&self) -> usize {
        match self {
            Self::Numbers(values) => values.len(),
            Self::Integers(values) => values.len(),
            Self::Booleans(values) => values.len(),
            Self::Text(values) | Self::Dates(values) | Self::Digits(values) => values.len(),
            Self::Categories { codes, .. } => codes.len(),
        }
    }

    /// True if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn column(self, name: &str) -> std::result::Result<Column, BadColumns> {
        let rows = self.len();
        let mut column = Column::new(Data::Nothing);
        let data = match self {
            Self::Numbers(values) => {
                for (row, value) in values.iter().enumerate().filter(|(_, value)| value.is_infinite()) {
                    column.note_infinite(row, &value.to_string());
                }
                let coarse = |value: &f64| value.is_finite() && value.abs() >= EXACT;
                for (row, value) in values.iter().enumerate().filter(|(_, value)| coarse(value)) {
                    column.note_coarse(row, &number_level(*value));
                }
                Data::Numbers(values)
            }
            Self::Integers(values) => {
                let mut long = LongNames::default();
                for (row, value) in values.iter().enumerate() {
                    // The double holds the number exactly if converting back gives the same number.
                    if let Some(value) = value
                        && (*value as f64) as i128 != i128::from(*value)
                    {
                        column.note_inexact(row, &value.to_string());
                        long.note(row, &value.to_string());
                    }
                }
                column.long = long.finish(rows);
                Data::Numbers(values.iter().map(|x| x.map_or(f64::NAN, |x| x as f64)).collect())
            }
            Self::Digits(values) => {
                let mut long = LongNames::default();
                let mut numbers = Vec::with_capacity(rows);
                for (row, value) in values.iter().enumerate() {
                    let name = value.as_deref().and_then(|text| whole_name(text.trim()));
                    let number = name.as_deref().and_then(|name| name.parse().ok()).unwrap_or(f64::NAN);
                    if let Some(name) = name.filter(|name| *name != number_level(number)) {
                        column.note_inexact(row, &name);
                        long.note(row, &name);
                    }
                    numbers.push(number);
                }
                column.long = long.finish(rows);
                Data::Numbers(numbers)
            }
            Self::Booleans(values) => {
                let number = |x: &Option<bool>| x.map_or(f64::NAN, |x| f64::from(u8::from(x)));
                Data::Booleans(values.iter().map(number).collect())
            }
            Self::Text(values) => {
                column.typed_by = TypedBy::Cells { comma: false };
                text(&values, false)
            }
            Self::Dates(values) => text(&values, true),
            Self::Categories { codes, levels, ordered } => {
                column.ordered = ordered;
                categories(name, codes, &levels)?
            }
        };
        column.data = data;
        for row in 0..rows {
            if column.is_missing(row) {
                column.note_missing(row, "null");
            }
        }
        if column.missing == rows {
            column.data = Data::Nothing;
        }
        Ok(column)
    }
}

fn text(values: &[Option<String>], dates: bool) -> Data {
    let texts = values.iter().map(|value| value.as_deref().map(str::trim).filter(|text| !text.is_empty()));
    let (codes, levels) = coded(texts);
    Data::Text { codes, levels, dates }
}

/// The levels that occur, in their order.
fn categories(
    column: &str,
    codes: Vec<Option<u32>>,
    levels: &[String],
) -> std::result::Result<Data, BadColumns> {
    let mut used = vec![false; levels.len()];
    for (row, code) in codes.iter().enumerate() {
        let Some(code) = *code else { continue };
        let Some(used) = used.get_mut(code as usize) else {
            let (column, levels) = (column.to_owned(), levels.len());
            return Err(BadColumns::Code { column, row: row + 1, code, levels });
        };
        *used = true;
    }
    let (mut kept, mut places) = (Vec::new(), vec![None; levels.len()]);
    let mut seen = HashSet::new();
    for (place, level) in levels.iter().enumerate().filter(|(place, _)| used[*place]) {
        let level = level.trim();
        if level.is_empty() {
            continue;
        }
        if !seen.insert(level) {
            return Err(BadColumns::Level { column: column.to_owned(), level: level.to_owned() });
        }
        places[place] = Some(kept.len() as u32);
        kept.push(level.to_owned());
    }
    let codes = codes.into_iter().map(|code| code.and_then(|code| places[code as usize])).collect();
    Ok(Data::Text { codes, levels: kept, dates: false })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column::ColumnKind;
    use crate::error::BadValue;
    use crate::{Formula, FrameOptions, ModelFrame};

    fn bytes(table: &Table) -> Vec<u8> {
        let mut out = Vec::new();
        table.digest_into(|bytes| out.extend_from_slice(bytes));
        out
    }

    fn texts(values: &[&str]) -> Vec<Option<String>> {
        values.iter().map(|text| Some((*text).to_owned())).collect()
    }

    fn table(columns: Vec<(&str, Values)>) -> Result<Table> {
        Table::from_columns("frame", columns.into_iter().map(|(name, v)| (name.to_owned(), v)).collect())
    }

    #[test]
    fn columns_say_what_their_file_would() {
        let file = Table::read(b"x,n,b,t\n0.5,1,true,red\n,2,,blue\n-1e300,,false,\n", "frame").unwrap();
        let memory = table(vec![
            ("x", Values::Numbers(vec![0.5, f64::NAN, -1e300])),
            ("n", Values::Integers(vec![Some(1), Some(2), None])),
            ("b", Values::Booleans(vec![Some(true), None, Some(false)])),
            ("t", Values::Text(texts(&["red", "blue", " "]))),
        ])
        .unwrap();
        assert_eq!(bytes(&memory), bytes(&file));
        assert_eq!(memory.describe().complete_rows, file.describe().complete_rows);
    }

    #[test]
    fn levels_keep_their_order_and_those_without_a_row_are_left_out() {
        let levels = ["low", "never", "middle", "high"].map(str::to_owned).to_vec();
        let codes = vec![Some(3), Some(0), None, Some(2)];
        let table = table(vec![("size", Values::Categories { codes, levels, ordered: false })]).unwrap();
        let Data::Text { codes, levels, dates: false } = &table.column(0).data else { panic!() };
        assert_eq!(levels, &["low", "middle", "high"]);
        assert_eq!(codes, &[Some(2), Some(0), None, Some(1)]);
        assert_eq!(table.column(0).missing, 1);
    }

    #[test]
    fn levels_whose_order_means_something_need_not_be_listed() {
        let frame = |ordered| {
            let levels = ["poor", "fair", "good"].map(str::to_owned).to_vec();
            let rating = Values::Categories { codes: [2, 0, 1, 2].map(Some).to_vec(), levels, ordered };
            let table =
                table(vec![("rating", rating), ("x", Values::Numbers(vec![1.0, 2.0, 4.0, 3.0]))]).unwrap();
            ModelFrame::new(&table, &Formula::parse("ordered(rating) ~ x").unwrap(), &FrameOptions::default())
        };
        let found = frame(true).unwrap();
        assert_eq!(found.response, [3.0, 1.0, 2.0, 3.0]);
        assert_eq!(found.categories, ["poor", "fair", "good"]);
        // For a file the same order is written down.
        assert_eq!(found.formula, "ordered(rating, levels = c(\"poor\", \"fair\", \"good\")) ~ x");
        assert!(frame(false).unwrap_err().to_string().contains("no order of its levels is known"));
    }

    #[test]
    fn another_order_of_levels_is_another_table() {
        let of = |levels: [&str; 2], codes: [u32; 2]| {
            let values = Values::Categories {
                codes: codes.map(Some).to_vec(),
                levels: levels.map(str::to_owned).to_vec(),
                ordered: false,
            };
            bytes(&table(vec![("t", values)]).unwrap())
        };
        assert_eq!(
            of(["a", "b"], [0, 1]),
            bytes(&table(vec![("t", Values::Text(texts(&["a", "b"])))]).unwrap())
        );
        assert_ne!(of(["a", "b"], [0, 1]), of(["b", "a"], [1, 0]));
    }

    #[test]
    fn what_does_not_hold_together_is_refused_with_its_column() {
        let said = |columns| table(columns).unwrap_err().to_string();
        let numbers = |n: usize| Values::Numbers(vec![1.0; n]);
        assert_eq!(said(vec![]), "`frame`: no columns; at least one is needed");
        assert!(said(vec![("x", numbers(0))]).contains("no rows"));
        assert_eq!(
            said(vec![("x", numbers(2)), ("y", numbers(3))]),
            "`frame`: column `y` has 3 values, where column `x` has 2; columns of one length are needed"
        );
        assert!(said(vec![("x", numbers(1)), ("x", numbers(1))]).contains("`x`"));
        let stray = Values::Categories {
            codes: vec![Some(0), Some(2)],
            levels: vec!["a".into(), "b".into()],
            ordered: false,
        };
        assert_eq!(
            said(vec![("t", stray)]),
            "`frame`: row 2 of column `t` has the code 2, where there are 2 levels, counted from 0; give the level a name, or mark the value as missing"
        );
        let twice = Values::Categories {
            codes: vec![Some(0), Some(1)],
            levels: vec!["a".into(), "a ".into()],
            ordered: false,
        };
        assert_eq!(
            said(vec![("t", twice)]),
            "`frame`: column `t` has the level `a` twice; give each a name of its own"
        );
    }

    #[test]
    fn oddities_are_noted_as_in_a_file() {
        let table = table(vec![
            ("i", Values::Integers(vec![Some(i64::MAX), Some(1)])),
            ("x", Values::Numbers(vec![f64::INFINITY, 1.0])),
            ("d", Values::Dates(texts(&["2024-01-31", "2024-02-01"]))),
            ("o", Values::Text(vec![None, None])),
        ])
        .unwrap();
        assert_eq!(table.column(0).inexact, 1);
        assert!(matches!(table.numeric("x"), Err(Error::Value(BadValue::InfiniteValue { line: 1, .. }))));
        assert_eq!(table.kind("d"), Some(ColumnKind::Date));
        assert_eq!(table.kind("o"), Some(ColumnKind::Missing));
    }
}

//! Some rows of a table: their numbers and their levels.

use std::collections::HashMap;

use super::options::{Dropped, Missing};
use crate::{
    column::{Cell, Column, ColumnKind, Data, former_level, number_level, number_order},
    date::{DateForms, DateOrder, days},
    error::{BadDates, BadModel, BadValue, Error, Result},
    formula::{Comparison, Expression, TextTest, truth},
    table::Table,
};

/// The rows of a table that are used.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View<'a> {
    pub(crate) table: &'a Table,
    pub(crate) rows: &'a [usize],
}

/// What an expression is computed from: numbers by row of the table, answers by row of the view.
struct Inputs<'a> {
    columns: HashMap<&'a str, &'a [f64]>,
    answers: HashMap<&'a TextTest, Vec<f64>>,
}

impl Inputs<'_> {
    fn number(&self, name: &str, row: usize) -> f64 {
        self.columns.get(name).map_or(f64::NAN, |column| column[row])
    }

    fn answer(&self, test: &TextTest, i: usize) -> f64 {
        self.answers.get(test).map_or(f64::NAN, |rows| rows[i])
    }
}

/// The rows that have a value in each of `columns`, or an error for those that do not.
pub(crate) fn complete_rows(
    table: &Table,
    columns: &[&str],
    missing: Missing,
) -> Result<(Vec<usize>, Dropped)> {
    let mut gaps = Vec::new();
    for column in columns {
        let place = table.place(column)?;
        let found = table.column(place);
        if let Data::Nothing = found.data {
            table.numbers(place)?;
        }
        match (&found.first_missing, missing) {
            (Some(first), Missing::Error) => return Err(table.missing_error(place, first, found.missing)),
            (Some(_), Missing::Drop) => gaps.push(found),
            (None, _) => {}
        }
    }
    let rows = rows_without_gaps(table.rows(), &gaps);
    let mut counts = Vec::new();
    for column in columns {
        let missing = table.column(table.place(column)?).missing;
        if missing > 0 {
            counts.push(((*column).to_owned(), missing));
        }
    }
    if rows.is_empty() {
        return Err(Error::Model(BadModel::NoRowsLeft {
            table: table.name().to_owned(),
            rows: table.rows(),
            columns: counts,
        }));
    }
    let dropped = Dropped { rows: table.rows() - rows.len(), columns: counts };
    Ok((rows, dropped))
}

impl Table {
    /// The rows that have a value in each column.
    pub(crate) fn complete_rows(&self) -> Vec<usize> {
        let columns = (0..self.names().len()).map(|place| self.column(place));
        rows_without_gaps(self.rows(), &columns.filter(|column| column.missing > 0).collect::<Vec<_>>())
    }
}

/// The rows in which every one of `columns` has a value.
pub(crate) fn rows_without_gaps(rows: usize, columns: &[&Column]) -> Vec<usize> {
    let whole = |row: &usize| !columns.iter().any(|column| column.is_missing(*row));
    (0..rows).filter(whole).collect()
}

impl View<'_> {
    /// Line of the file that row `i` of the view comes from.
    pub(crate) fn line(&self, i: usize) -> usize {
        self.table.lines()[self.rows[i]]
    }

    /// Lines of the file, by row.
    pub(crate) fn lines(&self) -> Vec<usize> {
        (0..self.rows.len()).map(|i| self.line(i)).collect()
    }

    /// The numbers of a column.
    pub(crate) fn numbers(&self, column: &str) -> Result<Vec<f64>> {
        let values = self.table.numbers(self.table.place(column)?)?;
        Ok(self.rows.iter().map(|&row| values[row]).collect())
    }

    /// The values of an expression, all of them finite.
    pub(crate) fn evaluate(&self, x: &Expression) -> Result<Vec<f64>> {
        if let Expression::Column(column) = x {
            return self.numbers(column);
        }
        let value = |x: &Expression, inputs: &Inputs<'_>, i, row| {
            x.evaluate(&|name| inputs.number(name, row), &|test| inputs.answer(test, i))
        };
        self.each(x, &x.to_string(), value)
    }

    /// The values of an expression and its derivatives with respect to a column, all of them finite.
    pub(crate) fn slopes(&self, x: &Expression, column: &str) -> Result<(Vec<f64>, Vec<f64>)> {
        let slope = |x: &Expression, inputs: &Inputs<'_>, i, row| {
            let number = |name: &str| inputs.number(name, row);
            x.with_slope(column, &number, &|test| inputs.answer(test, i)).1
        };
        Ok((self.evaluate(x)?, self.each(x, &format!("slope of {x}"), slope)?))
    }

    /// What `of` makes of an expression in each row, all of it finite.
    fn each(
        &self,
        x: &Expression,
        term: &str,
        of: impl Fn(&Expression, &Inputs<'_>, usize, usize) -> f64,
    ) -> Result<Vec<f64>> {
        let mut names = Vec::new();
        x.numbers(&mut |name| names.push(name));
        let mut questions = Vec::new();
        x.tests(&mut |test| questions.push(test));
        let mut inputs = Inputs { columns: HashMap::new(), answers: HashMap::new() };
        for test in questions {
            inputs.answers.insert(test, self.answers(test)?);
        }
        for name in names {
            inputs.columns.insert(name, self.table.numbers(self.table.place(name)?)?);
        }
        let mut values = Vec::with_capacity(self.rows.len());
        for (i, &row) in self.rows.iter().enumerate() {
            let value = of(x, &inputs, i, row);
            if !value.is_finite() {
                let mut said: Vec<String> = Vec::new();
                x.numbers(&mut |name| {
                    let input = format!("{name} is {}", number_level(inputs.number(name, row)));
                    if !said.contains(&input) {
                        said.push(input);
                    }
                });
                return Err(self.not_finite(term, i, value, said.join(", ")));
            }
            values.push(value);
        }
        Ok(values)
    }

    /// 1 in rows where the comparison holds, 0 where it does not, and NaN where there is no value.
    fn answers(&self, test: &TextTest) -> Result<Vec<f64>> {
        let TextTest { column, comparison, texts } = test;
        let place = self.table.place(column)?;
        let found = self.table.column(place);
        if found.kind() == ColumnKind::Date {
            return self.answers_about_dates(test);
        }
        if let (true, Some(text)) = (comparison.is_order(), texts.first()) {
            return Err(Error::Dates(BadDates::TextOrder {
                table: self.table.name().to_owned(),
                column: column.clone(),
                found: text.clone(),
                span: None,
            }));
        }
        let is_one = |level: &str| texts.iter().any(|text| text == level);
        let answer = |level: &str| is_one(level) == (*comparison == Comparison::Equal);
        let of_row = |row: &usize| truth(found.level(*row).map(|level| answer(&level)));
        let Data::Text { codes, levels, .. } = &found.data else {
            return Ok(self.rows.iter().map(of_row).collect());
        };
        // Each level is compared once, not once per row.
        let own: Vec<bool> = levels.iter().map(|level| answer(level)).collect();
        Ok(self.rows.iter().map(|&row| truth(codes[row].map(|code| own[code as usize]))).collect())
    }

    fn answers_about_dates(&self, test: &TextTest) -> Result<Vec<f64>> {
        let TextTest { column, comparison, texts } = test;
        let day = |text: &String| {
            let first = DateForms::of(text).and_then(DateForms::order) == Some(DateOrder::YearFirst);
            let none = || {
                Error::Dates(BadDates::NoDateText { column: column.clone(), found: text.clone(), span: None })
            };
            days(text, DateOrder::YearFirst).filter(|_| first).ok_or_else(none)
        };
        let dates: Vec<f64> = texts.iter().map(day).collect::<Result<_>>()?;
        let answer = |x: &f64| {
            let holds = dates.iter().map(|date| comparison.holds(*x, *date));
            truth(holds.reduce(|one, other| Some(one? || other?)).flatten())
        };
        Ok(self.numbers(column)?.iter().map(answer).collect())
    }

    /// The error for a value in row `i` that is not finite.
    pub(crate) fn not_finite(&self, term: &str, i: usize, value: f64, inputs: String) -> Error {
        Error::Value(BadValue::NotFinite {
            table: self.table.name().to_owned(),
            term: term.into(),
            line: self.line(i),
            value: value.to_string().into(),
            inputs: inputs.into(),
            span: None,
        })
    }

    /// The levels of a column in these rows: numbers by value, text in the order of its column.
    pub(crate) fn levels(&self, column: &str) -> Result<Vec<String>> {
        let place = self.table.place(column)?;
        match &self.table.column(place).data {
            Data::Numbers(_) => {
                let long = self.table.column(place).long.as_ref();
                let (mut values, mut names) = (Vec::new(), Vec::new());
                for (value, &row) in self.numbers(column)?.iter().zip(self.rows) {
                    match long.and_then(|long| long.codes[row]) {
                        Some(code) => names.push(code),
                        None => values.push(value + 0.0),
                    }
                }
                values.sort_unstable_by(f64::total_cmp);
                values.dedup_by(|a, b| a.total_cmp(b).is_eq());
                let mut levels: Vec<String> = values.into_iter().map(number_level).collect();
                if let Some(long) = long {
                    names.sort_unstable();
                    names.dedup();
                    levels.extend(names.into_iter().map(|code| long.levels[code as usize].clone()));
                    levels.sort_by_cached_key(|level| number_order(level));
                }
                Ok(levels)
            }
            Data::Text { codes, levels, .. } => {
                let mut used = vec![false; levels.len()];
                self.rows.iter().filter_map(|&row| codes[row]).for_each(|code| used[code as usize] = true);
                let kept = levels.iter().zip(used).filter(|(_, used)| *used);
                Ok(kept.map(|(level, _)| level.clone()).collect())
            }
            Data::Booleans(_) | Data::Nothing => {
                let mut levels: Vec<String> = self.cells(column)?;
                levels.sort_unstable();
                levels.dedup();
                Ok(levels)
            }
        }
    }

    /// The index of each row among `levels`; `None` if it has another level.
    pub(crate) fn places(&self, column: &str, levels: &[String]) -> Result<Vec<Option<usize>>> {
        let known: HashMap<&str, usize> =
            levels.iter().zip(0..).map(|(level, place)| (level.as_str(), place)).collect();
        let place = self.table.place(column)?;
        let (codes, own) = match &self.table.column(place).data {
            Data::Text { codes, levels: own, .. } => (codes, own),
            Data::Numbers(_) => return self.places_of_numbers(column, &known),
            Data::Booleans(_) | Data::Nothing => {
                return Ok(self
                    .cells(column)?
                    .iter()
                    .map(|cell| known.get(cell.as_str()).copied())
                    .collect());
            }
        };
        // Each level is looked up once, not once per row.
        let own: Vec<Option<usize>> = own.iter().map(|level| known.get(level.as_str()).copied()).collect();
        let of_row = |&row: &usize| match codes[row] {
            Some(code) => Ok(own[code as usize]),
            None => Err(self.gap(place, row)),
        };
        self.rows.iter().map(of_row).collect()
    }

    /// A level matches a number if it is the number's name, now or in earlier versions; other levels match none. A
    /// number that no double holds is matched by its digits; levels of earlier fits, which had no digits, match all
    /// numbers that share the double.
    fn places_of_numbers(&self, column: &str, known: &HashMap<&str, usize>) -> Result<Vec<Option<usize>>> {
        let by = |named: &dyn Fn(f64, &str) -> bool| -> HashMap<u64, usize> {
            let number = |level: &str| level.parse::<f64>().ok().filter(|value| named(*value, level));
            let one = |(level, place): (&&str, &usize)| Some(((number(level)? + 0.0).to_bits(), *place));
            known.iter().filter_map(one).collect()
        };
        let former = by(&|value, level| former_level(value).as_deref() == Some(level));
        let now = by(&|value, level| number_level(value) == level);
        let values = self.numbers(column)?;
        let place = self.table.place(column)?;
        if let Some(i) = values.iter().position(|value| value.is_nan()) {
            return Err(self.gap(place, self.rows[i]));
        }
        let long = self.table.column(place).long.as_ref();
        let of = |(value, &row): (&f64, &usize)| {
            let bits = (value + 0.0).to_bits();
            let own = match long.and_then(|long| long.name(row)) {
                Some(digits) => known.get(digits),
                None => now.get(&bits),
            };
            own.or_else(|| former.get(&bits)).copied()
        };
        Ok(values.iter().zip(self.rows).map(of).collect())
    }

    fn gap(&self, place: usize, row: usize) -> Error {
        let first = Cell { row, text: String::new() };
        self.table.missing_error(place, &first, self.table.column(place).missing)
    }

    /// The cells of a column as names of categories.
    pub(crate) fn cells(&self, column: &str) -> Result<Vec<String>> {
        let place = self.table.place(column)?;
        let found = self.table.column(place);
        // An infinite number is not a category either.
        if found.numbers().is_some() {
            self.table.numbers(place)?;
        }
        let cell = |&row: &usize| found.level(row).ok_or_else(|| self.gap(place, row));
        self.rows.iter().map(cell).collect()
    }
}

//! Table and formula to what a model needs.

use std::{cmp::Ordering, collections::HashSet, sync::Arc};

use crate::{
    error::{Error, Result},
    formula::{Formula, Span, Spanned, Term},
    table::Table,
};

/// The intercept's name, as R writes it.
pub const INTERCEPT: &str = "(Intercept)";

/// Design matrix, response and names.
///
/// Every number is finite, `design.len() == rows * columns`, and no predictor is constant beside an
/// intercept. What values a response may take is the model's business; [`line_of_row`] lets it say
/// where in the file a bad one is.
///
/// [`line_of_row`]: ModelFrame::line_of_row
#[derive(Debug, Clone, PartialEq)]
pub struct ModelFrame {
    /// Names of the design's columns; the intercept, if any, comes first.
    pub names: Vec<String>,
    /// The design matrix, row by row.
    pub design: Vec<f64>,
    /// Rows of the design.
    pub rows: usize,
    /// Columns of the design, the intercept included.
    pub columns: usize,
    /// The response, one number per row.
    pub response: Vec<f64>,
    /// The response's name.
    pub response_name: String,
    /// Is the first column the intercept?
    pub intercept: bool,
    /// The formula in canonical text, `.` written out, so that it means the same for another table.
    pub formula: String,
    lines: Arc<[usize]>,
}

impl ModelFrame {
    /// The frame a formula cuts out of a table. Cost: one pass over the columns it names.
    ///
    /// ```
    /// use provi_table::{Formula, ModelFrame, Table};
    ///
    /// let table = Table::from_csv_bytes(b"y,age,town\n1,31,Basel\n0,45,Bern\n", "people.csv")?;
    /// let error = ModelFrame::new(&table, &Formula::parse("y ~ aeg")?).unwrap_err();
    /// assert_eq!(error.span(), Some(4..7));
    /// assert_eq!(
    ///     error.to_string(),
    ///     "no column `aeg` in `people.csv`; did you mean `age`? its columns are `y`, `age`, `town`"
    /// );
    /// # Ok::<(), provi_table::Error>(())
    /// ```
    pub fn new(table: &Table, formula: &Formula) -> Result<Self> {
        let response = table.numeric(formula.response()).map_err(|error| error.at(&formula.response.span))?;
        let places = predictors(table, formula)?;
        let mut predictors = Vec::with_capacity(places.len());
        for Spanned { node: place, span } in &places {
            let values = table.values(*place).map_err(|error| error.at(span))?;
            if formula.intercept {
                refuse_constant(table, *place, values, span)?;
            }
            predictors.push(values);
        }

        let named = places.iter().map(|place| table.names()[place.node].clone());
        let names: Vec<String> =
            formula.intercept.then(|| INTERCEPT.to_owned()).into_iter().chain(named).collect();
        let (rows, columns) = (table.rows(), names.len());
        let mut design = Vec::with_capacity(rows * columns);
        for row in 0..rows {
            design.extend(formula.intercept.then_some(1.0));
            design.extend(predictors.iter().map(|values| values[row]));
        }
        Ok(Self {
            names,
            design,
            rows,
            columns,
            response: response.to_vec(),
            response_name: formula.response().to_owned(),
            intercept: formula.intercept,
            formula: written_out(table, formula, places).to_string(),
            lines: table.lines(),
        })
    }

    /// Line of the file that a row comes from (the file's first line is 1), if there is such a row.
    pub fn line_of_row(&self, row: usize) -> Option<usize> {
        self.lines.get(row).copied()
    }
}

/// Indices of the columns the terms stand for, each once, with the term's place.
fn predictors(table: &Table, formula: &Formula) -> Result<Vec<Spanned<usize>>> {
    let response = table.place(formula.response())?;
    let mut seen = HashSet::from([response]);
    let mut places = Vec::new();
    for Spanned { node: term, span } in &formula.terms {
        match term {
            Term::Column(name) => {
                let place = table.place(name).map_err(|error| error.at(span))?;
                if seen.insert(place) {
                    places.push(Spanned { node: place, span: span.clone() });
                }
            }
            Term::Others => {
                for place in (0..table.names().len()).filter(|&place| seen.insert(place)) {
                    refuse_text(table, place, response, span)?;
                    places.push(Spanned { node: place, span: span.clone() });
                }
            }
        }
    }
    match formula.terms.first() {
        Some(dot) if places.is_empty() => {
            Err(Error::NothingUnderDot { table: table.name().to_owned(), span: dot.span.clone() })
        }
        _ => Ok(places),
    }
}

fn refuse_text(table: &Table, place: usize, response: usize, span: &Span) -> Result<()> {
    let Some((line, found)) = table.text(place) else { return Ok(()) };
    let numeric = (0..table.names().len()).filter(|&other| other != response && table.is_numeric(other));
    Err(Error::TextUnderDot {
        table: table.name().to_owned(),
        column: table.names()[place].clone(),
        line,
        found: found.to_owned(),
        numeric: numeric.map(|other| table.names()[other].clone()).collect(),
        span: span.clone(),
    })
}

fn refuse_constant(table: &Table, place: usize, values: &[f64], span: &Span) -> Result<()> {
    match values {
        [first, rest @ ..] if rest.iter().all(|value| value.partial_cmp(first) == Some(Ordering::Equal)) => {
            Err(Error::ConstantColumn {
                table: table.name().to_owned(),
                column: table.names()[place].clone(),
                value: first.to_string(),
                span: span.clone(),
            })
        }
        _ => Ok(()),
    }
}

/// The formula with every column named.
fn written_out(table: &Table, formula: &Formula, places: Vec<Spanned<usize>>) -> Formula {
    let term = |place: Spanned<usize>| Spanned {
        node: Term::Column(table.names()[place.node].clone()),
        span: place.span,
    };
    Formula { terms: places.into_iter().map(term).collect(), ..formula.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(csv: &str, formula: &str) -> Result<ModelFrame> {
        ModelFrame::new(&Table::from_csv_bytes(csv.as_bytes(), "t.csv")?, &Formula::parse(formula)?)
    }

    const FOUR: &str = "a,y,b,c\n1,0,2,3\n4,1,5,6\n";

    #[test]
    fn the_design_is_row_major_and_the_intercept_first() {
        let f = frame(FOUR, "y ~ c + a").unwrap();
        assert_eq!(f.names, ["(Intercept)", "c", "a"]);
        assert_eq!(f.design, [1.0, 3.0, 1.0, 1.0, 6.0, 4.0]);
        assert_eq!((f.rows, f.columns, f.intercept), (2, 3, true));
        assert_eq!(f.response, [0.0, 1.0]);
        assert_eq!(f.response_name, "y");
    }

    #[test]
    fn a_dot_is_all_other_columns_in_file_order() {
        assert_eq!(frame(FOUR, "y ~ .").unwrap().names, ["(Intercept)", "a", "b", "c"]);
        assert_eq!(frame(FOUR, "y ~ 0 + c + .").unwrap().names, ["c", "a", "b"]);
        assert_eq!(frame(FOUR, "y ~ . + b").unwrap().formula, "y ~ a + b + c");
        assert_eq!(frame(FOUR, "c ~ 0 + .").unwrap().formula, "c ~ 0 + a + y + b");
    }

    #[test]
    fn an_intercept_alone_is_a_column_of_ones() {
        let f = frame(FOUR, "y ~ 1").unwrap();
        assert_eq!((f.design.as_slice(), f.columns, f.formula.as_str()), ([1.0, 1.0].as_slice(), 1, "y ~ 1"));
    }

    #[test]
    fn a_row_knows_its_line() {
        let f = frame("y,x,\"a\nb\"\n1,2,\"u\nv\"\n0,3,w\n", "y ~ x").unwrap();
        assert_eq!((f.line_of_row(0), f.line_of_row(1), f.line_of_row(2)), (Some(3), Some(5), None));
    }

    #[test]
    fn only_columns_in_use_need_to_be_numbers() {
        let csv = "y,x,town,z\n1,2,Bern,NA\n0,3,Basel,inf\n";
        assert_eq!(frame(csv, "y ~ x").unwrap().columns, 2);
        assert!(matches!(frame(csv, "town ~ x"), Err(Error::TextColumn { line: 2, .. })));
        let missing = frame(csv, "y ~ x + z").unwrap_err();
        assert_eq!(missing.span(), Some(8..9));
        assert_eq!(
            missing.to_string(),
            "column `z` of `t.csv` has 1 missing value(s), the first `NA` on line 2; \
             none is dropped or guessed: fill them in, or delete those rows"
        );
    }

    #[test]
    fn an_empty_field_is_called_so() {
        let error = frame("y,x\n1,2\n0,\n1,\n", "y ~ x").unwrap_err();
        assert!(error.to_string().contains("has 2 missing value(s), the first an empty field on line 3;"));
    }

    #[test]
    fn an_infinite_value_is_found_on_its_line() {
        let error = frame("y,x\n1,2\n0,1e999\n", "y ~ x").unwrap_err();
        assert!(matches!(&error, Error::InfiniteValue { line: 3, found, .. } if found == "1e999"));
        assert_eq!(error.span(), Some(4..5));
    }

    #[test]
    fn a_dot_over_text_names_the_column_and_the_way_out() {
        let error = frame("town,y,x,z\nBern,1,2,3\nBasel,0,3,5\n", "y ~ .").unwrap_err();
        assert_eq!(error.span(), Some(4..5));
        assert_eq!(
            error.to_string(),
            "`.` takes in column `town` of `t.csv`, which holds text, `Bern` on line 2; \
             in place of `.`, name numeric columns, which are: `x`, `z`"
        );
    }

    #[test]
    fn a_constant_predictor_is_refused_beside_an_intercept_only() {
        let csv = "y,x,k\n1,2,7\n0,3,7\n";
        let error = frame(csv, "y ~ x + k").unwrap_err();
        assert!(matches!(&error, Error::ConstantColumn { value, .. } if value == "7"));
        assert_eq!(error.span(), Some(8..9));
        assert_eq!(frame(csv, "y ~ 0 + x + k").unwrap().columns, 2);
        assert_eq!(frame(csv, "k ~ x").unwrap().response, [7.0, 7.0]);
    }

    #[test]
    fn unknown_names_are_refused_on_both_sides() {
        let response = frame(FOUR, "Y ~ a").unwrap_err();
        assert!(matches!(&response, Error::UnknownColumn { nearest: Some(name), .. } if name == "y"));
        assert_eq!(response.span(), Some(0..1));
        assert_eq!(frame(FOUR, "y ~ a + nowhere").unwrap_err().span(), Some(8..15));
    }

    #[test]
    fn a_dot_over_nothing_is_refused() {
        assert!(matches!(frame("y\n1\n", "y ~ ."), Err(Error::NothingUnderDot { .. })));
        assert_eq!(frame("y,a\n1,2\n3,4\n", "y ~ a + .").unwrap().columns, 2);
    }

    #[test]
    fn true_and_false_make_a_response() {
        assert_eq!(frame("y,x\nTRUE,2\nfalse,3\n", "y ~ x").unwrap().response, [1.0, 0.0]);
    }
}

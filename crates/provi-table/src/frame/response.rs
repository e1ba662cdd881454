//! The response, and the weights beside it.

use super::learn::Learner;
use crate::{
    column::ColumnKind,
    error::{Error, Result},
    formula::{Expression, Response, Trials},
};

/// Response values, with the number of trials where they count successes.
pub(crate) struct Outcomes {
    pub(crate) values: Vec<f64>,
    pub(crate) trials: Option<Vec<f64>>,
    pub(crate) levels: Option<[String; 2]>,
}

impl Learner<'_> {
    pub(crate) fn outcomes(&self) -> Result<Outcomes> {
        match self.formula.response() {
            Response::Value(Expression::Column(name))
                if self.view.table.kind(name) == Some(ColumnKind::Category) =>
            {
                self.two_levels(name)
            }
            Response::Value(x) => {
                let values = self.view.evaluate(x).map_err(|error| self.point(error, x))?;
                Ok(Outcomes { values, trials: None, levels: None })
            }
            Response::Counts { successes, failures } => {
                let values = self.counts(successes, "successes")?;
                let failures = self.counts(failures, "failures")?;
                let trials = values.iter().zip(failures).map(|(s, f)| s + f).collect();
                Ok(Outcomes { values, trials: Some(trials), levels: None })
            }
            Response::Trials { successes, trials } => {
                let values = self.counts(successes, "successes")?;
                let trials = match trials {
                    Trials::Column(name) => self.counts(name, "trials")?,
                    Trials::Number(count) => vec![*count; values.len()],
                };
                for i in 0..values.len() {
                    if values[i] > trials[i] {
                        let needed = "at most the number of trials";
                        return Err(self.out_of_range("successes", successes, i, values[i], needed));
                    }
                }
                Ok(Outcomes { values, trials: Some(trials), levels: None })
            }
        }
    }

    /// Text with two levels: the reference is 0, the other 1.
    fn two_levels(&self, name: &str) -> Result<Outcomes> {
        let levels = self.view.levels(name).map_err(|error| self.point_at(error, name))?;
        let [first, second] = levels.as_slice() else {
            let table = self.view.table.name().to_owned();
            let error = Error::ResponseLevels { table, column: name.to_owned(), levels, span: None };
            return Err(self.point_at(error, name));
        };
        let levels = match self.reference(name, &levels)? {
            0 => [first.clone(), second.clone()],
            _ => [second.clone(), first.clone()],
        };
        let cells = self.view.cells(name)?;
        let values = cells.iter().map(|cell| f64::from(u8::from(*cell == levels[1]))).collect();
        Ok(Outcomes { values, trials: None, levels: Some(levels) })
    }

    /// Whole numbers from 0 up.
    fn counts(&self, column: &str, use_: &'static str) -> Result<Vec<f64>> {
        let values = self.view.numbers(column).map_err(|error| self.point_at(error, column))?;
        let wrong = |value: &f64| *value < 0.0 || value.fract().abs() > 0.0;
        match values.iter().position(wrong) {
            Some(i) => Err(self.out_of_range(use_, column, i, values[i], "a whole number from 0 up")),
            None => Ok(values),
        }
    }

    /// The weights, if there are any: not negative, and some of them positive.
    pub(crate) fn weights(&self) -> Result<Option<Vec<f64>>> {
        let Some(column) = &self.options.weights else { return Ok(None) };
        let values = self.view.numbers(column)?;
        if let Some(i) = values.iter().position(|weight| *weight < 0.0) {
            return Err(self.out_of_range("weights", column, i, values[i], "a number from 0 up"));
        }
        if values.iter().all(|weight| *weight <= 0.0) {
            return Err(self.out_of_range(
                "weights",
                column,
                0,
                values[0],
                "positive in some row, and is so in none",
            ));
        }
        Ok(Some(values))
    }

    fn out_of_range(
        &self,
        use_: &'static str,
        column: &str,
        i: usize,
        value: f64,
        needed: &'static str,
    ) -> Error {
        let error = Error::OutOfRange {
            table: self.view.table.name().to_owned(),
            use_,
            column: column.to_owned(),
            line: self.view.line(i),
            value: value.to_string(),
            needed,
            span: None,
        };
        self.point_at(error, column)
    }
}

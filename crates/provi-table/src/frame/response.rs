//! The response, and the weights beside it.

use super::learn::Learner;
use crate::{
    column::ColumnKind,
    error::{Error, Purpose, Result},
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
                let values = self.counts(successes, Purpose::Successes)?;
                let failures = self.counts(failures, Purpose::Failures)?;
                let trials = values.iter().zip(failures).map(|(s, f)| s + f).collect();
                Ok(Outcomes { values, trials: Some(trials), levels: None })
            }
            Response::Trials { successes, trials } => {
                let values = self.counts(successes, Purpose::Successes)?;
                let trials = match trials {
                    Trials::Column(name) => self.counts(name, Purpose::Trials)?,
                    Trials::Number(count) => vec![*count; values.len()],
                };
                for i in 0..values.len() {
                    if values[i] > trials[i] {
                        let purpose = Purpose::SuccessesOfTrials;
                        return Err(self.out_of_range(purpose, successes, i, values[i]));
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
    fn counts(&self, column: &str, purpose: Purpose) -> Result<Vec<f64>> {
        let values = self.view.numbers(column).map_err(|error| self.point_at(error, column))?;
        let wrong = |value: &f64| *value < 0.0 || value.fract().abs() > 0.0;
        match values.iter().position(wrong) {
            Some(i) => Err(self.out_of_range(purpose, column, i, values[i])),
            None => Ok(values),
        }
    }

    /// The weights, if there are any: not negative, and some of them positive.
    pub(crate) fn weights(&self) -> Result<Option<Vec<f64>>> {
        let Some(column) = &self.options.weights else { return Ok(None) };
        let values = self.view.numbers(column)?;
        if let Some(i) = values.iter().position(|weight| *weight < 0.0) {
            return Err(self.out_of_range(Purpose::Weights, column, i, values[i]));
        }
        if values.iter().all(|weight| *weight <= 0.0) {
            return Err(self.out_of_range(Purpose::SomeWeight, column, 0, values[0]));
        }
        Ok(Some(values))
    }

    fn out_of_range(&self, purpose: Purpose, column: &str, i: usize, value: f64) -> Error {
        let error = Error::OutOfRange {
            table: self.view.table.name().to_owned(),
            purpose,
            column: column.to_owned(),
            line: self.view.line(i),
            value: value.to_string(),
            span: None,
        };
        self.point_at(error, column)
    }
}

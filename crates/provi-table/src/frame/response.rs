//! The response and the weights.

use super::{learn::Learner, options::FrameOptions, view::View};
use crate::{
    column::ColumnKind,
    error::{BadValue, Error, Purpose, Result, UnfitColumn},
    formula::{Expression, Formula, Response, Trials},
    nearest::nearest,
};

/// What is known of times to an event, one triple for each row: the time from which on the row is watched, and the interval in which the
/// event came. It is a point where the event was seen, and ends at infinity where the row was censored on the right.
pub type Spans = Vec<[f64; 3]>;

/// Response values, with the numbers of trials if they count successes, and what is known of times to an event.
pub(crate) struct Outcomes {
    pub(crate) values: Vec<f64>,
    pub(crate) trials: Option<Vec<f64>>,
    pub(crate) spans: Option<Spans>,
}

/// How response, trials and weights are read from rows.
#[derive(Debug, Clone)]
pub(crate) struct Reading<'a> {
    pub(crate) formula: &'a Formula,
    pub(crate) options: &'a FrameOptions,
    /// For a response of text: the levels that count as 0 and 1.
    pub(crate) levels: Option<[String; 2]>,
    /// For a response of categories: the levels that count as 1, 2, …; otherwise none.
    pub(crate) categories: Vec<String>,
}

impl Formula {
    /// The columns that give the number of trials of a row.
    pub(crate) fn trial_columns(&self) -> Vec<&str> {
        match self.response() {
            Response::Counts { successes, failures } => vec![successes, failures],
            Response::Trials { trials: Trials::Column(name), .. } => vec![name],
            _ => Vec::new(),
        }
    }
}

impl Learner<'_> {
    /// For a response of text, which has two levels: the reference, which counts as 0, and the other.
    pub(crate) fn response_levels(&self) -> Result<Option<[String; 2]>> {
        let Response::Value(Expression::Column(name)) = self.formula.response() else { return Ok(None) };
        if self.facts.kind(name) != Some(ColumnKind::Category) {
            return Ok(None);
        }
        let levels = self.facts.levels(name).map_err(|error| self.point_at(error, name))?;
        let [first, second] = levels.as_slice() else {
            let table = self.facts.table().to_owned();
            let error = Error::Column(UnfitColumn::ResponseLevels {
                table,
                column: name.to_owned(),
                levels,
                span: None,
            });
            return Err(self.point_at(error, name));
        };
        Ok(Some(match self.reference(name, &levels)? {
            0 => [first.clone(), second.clone()],
            _ => [second.clone(), first.clone()],
        }))
    }
}

/// The most levels of a response of categories: those of a scale from 0 to 10.
const MOST_CATEGORIES: usize = 11;

impl Learner<'_> {
    /// The levels of an ordered response, from the lowest to the highest, or of one without an order, the base first; none for other responses.
    pub(crate) fn categories(&self) -> Result<Vec<String>> {
        let (name, listed, ordered) = match self.formula.response() {
            Response::Ordered { column, levels } => (column, levels, true),
            Response::Multinomial { column, levels } => (column, levels, false),
            _ => return Ok(Vec::new()),
        };
        let (table, column, span) = (self.facts.table().to_owned(), name.clone(), None);
        let refuse = |error: UnfitColumn| Err(self.point_at(Error::Column(error), name));
        let found = self.facts.levels(name).map_err(|error| self.point_at(error, name))?;
        // Numbers, and false before true, have an order; text that looks like numbers is sorted as text.
        let is_text = !matches!(self.facts.kind(name), Some(ColumnKind::Number | ColumnKind::Boolean));
        if listed.is_empty() && is_text && ordered && !self.facts.is_ordered(name) {
            return refuse(UnfitColumn::NoOrder { table, column, levels: found, span });
        }
        if let Some(level) = found.iter().find(|level| !listed.is_empty() && !listed.contains(level)) {
            let nearest = nearest(level, listed.iter().map(String::as_str)).map(Into::into);
            let level = level.as_str().into();
            return refuse(UnfitColumn::UnlistedLevel { table, column, level, nearest, span });
        }
        if let Some(level) = listed.iter().find(|level| !found.contains(level)) {
            return refuse(UnfitColumn::UnusedCategory { table, column, level: level.clone(), span });
        }
        if !(2..=MOST_CATEGORIES).contains(&found.len()) {
            let (levels, most) = (found.len(), MOST_CATEGORIES);
            let kind = if ordered { "ordered" } else { "multinomial" };
            return refuse(UnfitColumn::CountOfCategories { table, column, kind, levels, most, span });
        }
        Ok(if listed.is_empty() { found } else { listed.clone() })
    }

    /// The formula's text. Levels whose order only the owner of the data knows are listed, so that it means the same for a file.
    pub(crate) fn text(&self) -> Result<String> {
        let mut formula = self.formula.clone();
        if let Response::Ordered { column, levels } = &mut formula.response.node
            && levels.is_empty()
            && self.facts.is_ordered(column)
        {
            *levels = self.categories()?;
        }
        Ok(formula.to_string())
    }
}

impl Reading<'_> {
    /// Whether the response is text.
    pub(crate) fn is_text(&self, view: View<'_>) -> bool {
        let Response::Value(Expression::Column(name)) = self.formula.response() else { return false };
        view.table.kind(name) == Some(ColumnKind::Category)
    }

    pub(crate) fn outcomes(&self, view: View<'_>) -> Result<Outcomes> {
        match self.formula.response() {
            Response::Value(x) => {
                let values = match (x, &self.levels) {
                    (Expression::Column(name), Some(levels)) => self.indicator(view, name, levels)?,
                    _ => view.evaluate(x).map_err(|error| self.formula.point(error, x))?,
                };
                Ok(Outcomes { values, trials: None, spans: None })
            }
            Response::Ordered { column, .. } | Response::Multinomial { column, .. } => {
                let places = view.places(column, &self.categories)?;
                let number = |place: Option<usize>| place.map_or(f64::NAN, |place| place as f64 + 1.0);
                let values = places.into_iter().map(number).collect();
                Ok(Outcomes { values, trials: None, spans: None })
            }
            Response::Counts { successes, failures } => {
                let values = self.counts(view, successes, Purpose::Successes)?;
                let failures = self.counts(view, failures, Purpose::Failures)?;
                let trials = values.iter().zip(failures).map(|(s, f)| s + f).collect();
                Ok(Outcomes { values, trials: Some(trials), spans: None })
            }
            Response::Trials { successes, trials } => {
                let values = self.counts(view, successes, Purpose::Successes)?;
                let trials = match trials {
                    Trials::Column(name) => self.counts(view, name, Purpose::Trials)?,
                    Trials::Number(count) => vec![*count; values.len()],
                };
                for i in 0..values.len() {
                    if values[i] > trials[i] {
                        let purpose = Purpose::SuccessesOfTrials;
                        return Err(self.out_of_range(view, purpose, successes, i, values[i]));
                    }
                }
                Ok(Outcomes { values, trials: Some(trials), spans: None })
            }
            Response::Survival { entry, time, event } => {
                let times = self.checked(view, time, Purpose::Time, |t| t > 0.0)?;
                let is = |x: f64, label: f64| (x - label).abs() <= 0.0;
                let events = self.checked(view, event, Purpose::Event, |x| is(x, 0.0) || is(x, 1.0))?;
                let ends: Vec<f64> = times
                    .iter()
                    .zip(events)
                    .map(|(t, seen)| if seen > 0.5 { *t } else { f64::INFINITY })
                    .collect();
                self.spans(view, entry.as_deref(), (times, time), ends)
            }
            Response::Interval { entry, lower, upper } => {
                let from = self.checked(view, lower, Purpose::Lower, |t| t >= 0.0)?;
                let to = self.checked(view, upper, Purpose::Upper, |t| t > 0.0)?;
                for i in 0..to.len() {
                    if to[i] < from[i] {
                        return Err(self.out_of_range(view, Purpose::Upper, upper, i, to[i]));
                    }
                    if to[i].is_infinite() && from[i] <= 0.0 {
                        return Err(self.out_of_range(view, Purpose::Lower, lower, i, from[i]));
                    }
                }
                self.spans(view, entry.as_deref(), (from, upper), to)
            }
        }
    }

    /// Times to an event; `column` is where their last times are.
    fn spans(
        &self,
        view: View<'_>,
        entry: Option<&str>,
        (from, column): (Vec<f64>, &str),
        to: Vec<f64>,
    ) -> Result<Outcomes> {
        let entries = match entry {
            Some(entry) => self.checked(view, entry, Purpose::Entry, |t| t >= 0.0)?,
            None => vec![0.0; from.len()],
        };
        let values: Vec<f64> =
            from.iter().zip(&to).map(|(from, to)| if to.is_finite() { *to } else { *from }).collect();
        if let Some(i) = (0..values.len()).find(|&i| values[i] <= entries[i]) {
            return Err(self.out_of_range(view, Purpose::AfterEntry, column, i, values[i]));
        }
        let spans = (0..values.len()).map(|i| [entries[i], from[i], to[i]]).collect();
        Ok(Outcomes { values, trials: None, spans: Some(spans) })
    }

    /// The trials alone, without the successes; `None` for a response without trials.
    pub(crate) fn trials(&self, view: View<'_>) -> Result<Option<Vec<f64>>> {
        Ok(match self.formula.response() {
            Response::Value(_)
            | Response::Survival { .. }
            | Response::Interval { .. }
            | Response::Ordered { .. }
            | Response::Multinomial { .. } => None,
            Response::Counts { successes, failures } => {
                let successes = self.counts(view, successes, Purpose::Successes)?;
                let failures = self.counts(view, failures, Purpose::Failures)?;
                Some(successes.iter().zip(failures).map(|(s, f)| s + f).collect())
            }
            Response::Trials { trials: Trials::Column(name), .. } => {
                Some(self.counts(view, name, Purpose::Trials)?)
            }
            Response::Trials { trials: Trials::Number(count), .. } => Some(vec![*count; view.rows.len()]),
        })
    }

    /// 1 in the rows with the second of two levels, 0 in the others.
    fn indicator(&self, view: View<'_>, name: &str, levels: &[String; 2]) -> Result<Vec<f64>> {
        let places = view.places(name, levels)?;
        Ok(places.into_iter().map(|place| f64::from(u8::from(place == Some(1)))).collect())
    }

    /// Whole numbers of at least 0.
    fn counts(&self, view: View<'_>, column: &str, purpose: Purpose) -> Result<Vec<f64>> {
        self.checked(view, column, purpose, |value| value >= 0.0 && value.fract().abs() <= 0.0)
    }

    /// Numbers of which each is as its purpose needs it.
    fn checked(
        &self,
        view: View<'_>,
        column: &str,
        purpose: Purpose,
        is_right: impl Fn(f64) -> bool,
    ) -> Result<Vec<f64>> {
        let values = view.numbers(column).map_err(|error| error.at(self.formula.place_of(column)))?;
        match values.iter().position(|value| !is_right(*value)) {
            Some(i) => Err(self.out_of_range(view, purpose, column, i, values[i])),
            None => Ok(values),
        }
    }

    /// The weights, if there are any; none may be negative.
    pub(crate) fn weights(&self, view: View<'_>) -> Result<Option<Vec<f64>>> {
        let Some(column) = &self.options.weights else { return Ok(None) };
        let values = view.numbers(column)?;
        match values.iter().position(|weight| *weight < 0.0) {
            Some(i) => Err(self.out_of_range(view, Purpose::Weights, column, i, values[i])),
            None => Ok(Some(values)),
        }
    }

    /// Refuses weights that are all zero.
    pub(crate) fn refuse_no_weight(&self, view: View<'_>, weights: Option<&[f64]>) -> Result<()> {
        match (&self.options.weights, weights) {
            (Some(column), Some(weights)) if weights.iter().all(|weight| *weight <= 0.0) => {
                Err(self.out_of_range(view, Purpose::SomeWeight, column, 0, weights[0]))
            }
            _ => Ok(()),
        }
    }

    /// The error for the number in row `i`.
    pub(crate) fn out_of_range(
        &self,
        view: View<'_>,
        purpose: Purpose,
        column: &str,
        i: usize,
        value: f64,
    ) -> Error {
        Error::Value(BadValue::OutOfRange {
            table: view.table.name().to_owned(),
            purpose,
            column: column.to_owned(),
            line: view.line(i),
            value: value.to_string().into(),
            span: self.formula.place_of(column),
        })
    }
}

//! Predictions of an answer at new rows. The length of every array of results is looked at before the work.

use std::ffi::c_int;

use provi::predict::{Observation, Prediction};
use provi_analysis::run::predict::NewData;
use provi_table::{Missing, NewLevels};

use crate::answer::Answer;
use crate::error::{Refused, Result, status};
use crate::fit::dense;
use crate::pointer::{handle, product, put_if_wanted, room};
use crate::table::Table;

/// The mean response at the rows of a table, with its interval and its proved error.
///
/// # Safety
/// `answer` is NULL or an answer, `table` NULL or a table, and `length` numbers can be written to each of the others that is not NULL.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn provi_answer_predict(
    answer: *const Answer,
    table: *const Table,
    level: f64,
    new_groups: c_int,
    mean: *mut f64,
    low: *mut f64,
    high: *mut f64,
    error: *mut f64,
    length: usize,
) -> c_int {
    status(|| {
        // SAFETY: as the caller promises.
        let (answer, table) = unsafe { (handle("answer", answer)?, handle("table", table)?) };
        let fitted = &answer.fitted;
        let rows = table.table(&fitted.file.model.formula)?;
        room("an array of results", length, rows.rows())?;
        let (found, errors) = if fitted.file.likelihood().is_some() {
            let all = fitted.regression_rows(&rows, Missing::Error, false)?.predict(level)?;
            if let Some(levels) = all.iter().map(Vec::len).find(|&levels| levels != 1) {
                return Err(Refused::Levels { levels });
            }
            let found: Vec<Prediction> = all.into_iter().flatten().collect();
            let unproved = vec![f64::NAN; found.len()];
            (found, unproved)
        } else {
            predictions(&fitted.new_data(&rows, at(new_groups), Missing::Error)?, level)?
        };
        // SAFETY: as the caller promises.
        unsafe {
            put_all(&found, [mean, low, high], length)?;
            put_if_wanted("error", error, length, &errors)
        }
    })
}

/// The same at the rows of a design, whose columns are those of the coefficients.
///
/// # Safety
/// `answer` is NULL or an answer, `rows` × `columns` numbers are at `design`, and `rows` numbers can be written to each of the others
/// that is not NULL.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn provi_answer_predict_design(
    answer: *const Answer,
    rows: usize,
    columns: usize,
    design: *const f64,
    level: f64,
    mean: *mut f64,
    low: *mut f64,
    high: *mut f64,
    error: *mut f64,
) -> c_int {
    status(|| {
        // SAFETY: as the caller promises.
        let answer = unsafe { handle("answer", answer) }?;
        if columns != answer.dim() {
            return Err(Refused::Length {
                what: "a row of the design",
                found: columns,
                expected: answer.dim(),
            });
        }
        // SAFETY: as the caller promises.
        let design = unsafe { dense(rows, columns, design) }?;
        let (found, errors) = predictions(&answer.fitted.new_design(design, None)?, level)?;
        // SAFETY: as the caller promises.
        unsafe {
            put_all(&found, [mean, low, high], rows)?;
            put_if_wanted("error", error, rows, &errors)
        }
    })
}

/// The probability of each level of the response at the rows of a table: a row of levels for each row of the table.
///
/// # Safety
/// As for [`provi_answer_predict`].
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn provi_answer_predict_levels(
    answer: *const Answer,
    table: *const Table,
    level: f64,
    new_groups: c_int,
    mean: *mut f64,
    low: *mut f64,
    high: *mut f64,
    length: usize,
) -> c_int {
    status(|| {
        // SAFETY: as the caller promises.
        let (answer, table) = unsafe { (handle("answer", answer)?, handle("table", table)?) };
        let fitted = &answer.fitted;
        if fitted.file.model.categories.is_empty() {
            return Err(Refused::NoLevels);
        }
        let rows = table.table(&fitted.file.model.formula)?;
        let levels = fitted.file.model.categories.len();
        room("an array of results", length, product("an array of results", rows.rows(), levels)?)?;
        let found = match fitted.file.likelihood() {
            Some(_) => fitted.regression_rows(&rows, Missing::Error, false)?.predict(level)?,
            None => fitted.new_data(&rows, at(new_groups), Missing::Error)?.categories(level)?,
        };
        let found: Vec<Prediction> = found.into_iter().flatten().collect();
        // SAFETY: as the caller promises.
        unsafe { put_all(&found, [mean, low, high], length) }
    })
}

/// The probability of each row of a table that its event comes after a time.
///
/// # Safety
/// As for [`provi_answer_predict`].
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn provi_answer_predict_survival(
    answer: *const Answer,
    table: *const Table,
    time: f64,
    level: f64,
    new_groups: c_int,
    mean: *mut f64,
    low: *mut f64,
    high: *mut f64,
    error: *mut f64,
    length: usize,
) -> c_int {
    status(|| {
        // SAFETY: as the caller promises.
        let (answer, table) = unsafe { (handle("answer", answer)?, handle("table", table)?) };
        let fitted = &answer.fitted;
        fitted.needs_one_predictor("a probability after a time")?;
        let rows = table.table(&fitted.file.model.formula)?;
        room("an array of results", length, rows.rows())?;
        let new = fitted.new_data(&rows, at(new_groups), Missing::Error)?;
        let found = new.survival(time, level)?;
        let errors = vec![new.tv_bound().unwrap_or(f64::NAN); found.len()];
        // SAFETY: as the caller promises.
        unsafe {
            put_all(&found, [mean, low, high], length)?;
            put_if_wanted("error", error, length, &errors)
        }
    })
}

/// The standard deviation and the interval of a new response at each row of a table.
///
/// # Safety
/// As for [`provi_answer_predict`].
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn provi_answer_predict_observations(
    answer: *const Answer,
    table: *const Table,
    level: f64,
    new_groups: c_int,
    sd: *mut f64,
    low: *mut f64,
    high: *mut f64,
    length: usize,
) -> c_int {
    status(|| {
        // SAFETY: as the caller promises.
        let (answer, table) = unsafe { (handle("answer", answer)?, handle("table", table)?) };
        let fitted = &answer.fitted;
        fitted.needs_one_predictor("the interval of a new response")?;
        let rows = table.table(&fitted.file.model.formula)?;
        room("an array of results", length, rows.rows())?;
        // The rows of a binomial model say how many trials a response counts.
        let new = fitted.new_data_with_trials(&rows, at(new_groups), Missing::Error)?;
        let found = new.observations(level)?;
        let pick = |one: fn(&Observation) -> f64| found.iter().map(one).collect::<Vec<_>>();
        // SAFETY: as the caller promises.
        unsafe {
            put_if_wanted("sd", sd, length, &pick(|y| y.sd))?;
            put_if_wanted("low", low, length, &pick(|y| y.low))?;
            put_if_wanted("high", high, length, &pick(|y| y.high))
        }
    })
}

fn at(new_groups: c_int) -> NewLevels {
    if new_groups != 0 { NewLevels::Population } else { NewLevels::Refuse }
}

/// Predictions, and what is proved of each mean: NaN for nothing.
fn predictions(new: &NewData<'_>, level: f64) -> Result<(Vec<Prediction>, Vec<f64>)> {
    let found = new.predict(level)?;
    let errors = match new.mean_errors()? {
        Some(errors) => errors,
        None => vec![new.probability_error().unwrap_or(f64::NAN); found.len()],
    };
    Ok((found, errors))
}

/// # Safety
/// `length` numbers can be written to each that is not NULL.
unsafe fn put_all(found: &[Prediction], [mean, low, high]: [*mut f64; 3], length: usize) -> Result<()> {
    let pick = |one: fn(&Prediction) -> f64| found.iter().map(one).collect::<Vec<_>>();
    // SAFETY: as the caller promises.
    unsafe {
        put_if_wanted("mean", mean, length, &pick(|p| p.mean))?;
        put_if_wanted("low", low, length, &pick(|p| p.low))?;
        put_if_wanted("high", high, length, &pick(|p| p.high))
    }
}

//! The handle of an answer: its numbers, its texts and its files.

use std::ffi::{CString, c_char, c_int};
use std::path::Path;
use std::sync::{Arc, OnceLock};

use provi::Certificate;
use provi::functional::Functional;
use provi::target::Glm;
use provi_analysis::Fitted;
use provi_analysis::model::UnknownNoise;
use provi_analysis::show::rows;

use crate::error::{Refused, Result, boxed, status, text_or_null, value_or};
use crate::pointer::{c_text, free, handle, product, put, put_if_wanted, room, text};
use crate::run::{Progress, on_a_thread};
use crate::summary;

/// What is kept of the model, for draws of the posterior itself.
pub(crate) enum Kept {
    /// Nothing: the model is made again from its table.
    Formula,
    /// The model.
    Design(Arc<Glm>),
    /// The model whose noise was not given.
    UnknownNoise(Arc<UnknownNoise>),
    /// Nothing: the function may be gone.
    Density,
    /// Nothing: the answer is from a file.
    File,
}

/// An answer with its certificate. Nothing in it changes, so that any number of threads may ask.
pub(crate) struct Answer {
    pub(crate) fitted: Fitted,
    pub(crate) certificate: Certificate,
    pub(crate) kept: Kept,
    names: Vec<CString>,
    levels: Vec<CString>,
    json: OnceLock<CString>,
    summary: OnceLock<CString>,
    notes: OnceLock<CString>,
}

impl Answer {
    pub(crate) fn new(fitted: Fitted, kept: Kept) -> Self {
        let certificate = match fitted.certificate() {
            Some(certificate) => certificate.clone(),
            None => Certificate::nothing(fitted.names(), "the fit has no certificate"),
        };
        let texts = |texts: &[String]| texts.iter().map(|text| c_text(text)).collect();
        let (names, levels) = (texts(fitted.names()), texts(&fitted.file.model.categories));
        let [json, summary, notes] = [const { OnceLock::new() }; 3];
        Self { fitted, certificate, kept, names, levels, json, summary, notes }
    }

    pub(crate) fn dim(&self) -> usize {
        self.names.len()
    }
}

/// What is known of a coefficient: `provi_coefficient` in the header.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Coefficient {
    mean: f64,
    mean_error: f64,
    sd: f64,
    sd_error: f64,
    low: f64,
    high: f64,
    positive: f64,
    positive_error: f64,
    grounds: c_int,
}

impl Coefficient {
    /// Mean and sd, and the probability of being positive, each with what is proved of it; `declared` if that rests on a curvature which
    /// nobody has proved.
    fn new(
        row: &Functional,
        [(mean, mean_error), (sd, sd_error)]: [(f64, Option<f64>); 2],
        (positive, positive_error): (f64, Option<f64>),
        [low, high]: [f64; 2],
        declared: bool,
    ) -> Self {
        let grounds = match mean_error.zip(sd_error) {
            None => UNPROVED,
            Some(_) if row.is_mixed() || row.is_weighed() => SUMMED,
            Some(_) if declared => DECLARED,
            Some(_) => PROVED,
        };
        let [mean_error, sd_error, positive_error] =
            [mean_error, sd_error, positive_error].map(|error| error.unwrap_or(f64::NAN));
        Self { mean, mean_error, sd, sd_error, low, high, positive, positive_error, grounds }
    }
}

/// On what the errors of a coefficient rest.
const UNPROVED: c_int = 0;
const PROVED: c_int = 1;
const DECLARED: c_int = 2;
const SUMMED: c_int = 3;

/// Frees an answer, with its texts.
///
/// # Safety
/// `answer` is NULL, or an answer that is not used again.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn provi_answer_free(answer: *mut Answer) {
    status(|| {
        // SAFETY: as the caller promises.
        unsafe { free(answer) };
        Ok(())
    });
}

/// The number of coefficients; 0 for NULL.
///
/// # Safety
/// `answer` is NULL or an answer.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn provi_answer_dim(answer: *const Answer) -> usize {
    // SAFETY: as the caller promises.
    value_or(0, || Ok(unsafe { handle("answer", answer) }?.dim()))
}

/// The name of a coefficient.
///
/// # Safety
/// `answer` is NULL or an answer.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn provi_answer_name(answer: *const Answer, index: usize) -> *const c_char {
    text_or_null(|| {
        // SAFETY: as the caller promises.
        let answer = unsafe { handle("answer", answer) }?;
        let name = answer.names.get(index).ok_or(Refused::Index {
            what: "coefficient",
            index,
            count: answer.dim(),
        })?;
        Ok(name.as_ptr())
    })
}

/// The number of levels of the response, if it has some.
///
/// # Safety
/// `answer` is NULL or an answer.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn provi_answer_levels(answer: *const Answer) -> usize {
    // SAFETY: as the caller promises.
    value_or(0, || Ok(unsafe { handle("answer", answer) }?.levels.len()))
}

/// The name of a level.
///
/// # Safety
/// `answer` is NULL or an answer.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn provi_answer_level(answer: *const Answer, index: usize) -> *const c_char {
    text_or_null(|| {
        // SAFETY: as the caller promises.
        let levels = &unsafe { handle("answer", answer) }?.levels;
        let name = levels.get(index).ok_or(Refused::Index { what: "level", index, count: levels.len() })?;
        Ok(name.as_ptr())
    })
}

/// Whether what was asked for is proved: [`provi_analysis::record::fit_file::FitFile::is_certified`].
///
/// # Safety
/// `answer` is NULL or an answer.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn provi_answer_is_certified(answer: *const Answer) -> c_int {
    // SAFETY: as the caller promises.
    value_or(0, || Ok(c_int::from(unsafe { handle("answer", answer) }?.fitted.file.is_certified())))
}

/// Whether the fit was stopped before its end.
///
/// # Safety
/// `answer` is NULL or an answer.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn provi_answer_stopped_early(answer: *const Answer) -> c_int {
    // SAFETY: as the caller promises.
    value_or(0, || Ok(c_int::from(unsafe { handle("answer", answer) }?.fitted.file.stopped_early)))
}

/// The mean of the answer.
///
/// # Safety
/// `answer` is NULL or an answer, and `length` numbers can be written to `out`.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn provi_answer_mean(
    answer: *const Answer,
    out: *mut f64,
    length: usize,
) -> c_int {
    status(|| {
        // SAFETY: as the caller promises.
        let [mean, _] = unsafe { handle("answer", answer) }?.fitted.moments()?;
        // SAFETY: as the caller promises.
        unsafe { put("out", out, length, &mean) }
    })
}

/// The covariance of the answer.
///
/// # Safety
/// As for [`provi_answer_mean`].
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn provi_answer_covariance(
    answer: *const Answer,
    out: *mut f64,
    length: usize,
) -> c_int {
    status(|| {
        // SAFETY: as the caller promises.
        let answer = unsafe { handle("answer", answer) }?;
        room("out", length, product("out", answer.dim(), answer.dim())?)?;
        // SAFETY: there is no function to call.
        let nobody = unsafe { Progress::new(None, std::ptr::null_mut()) };
        // On a thread for its stack: sparse factors are made dense.
        let covariance =
            on_a_thread(&nobody, None, |_, _| Ok(answer.fitted.covariance("the covariance")?))?;
        // SAFETY: as the caller promises.
        unsafe { put("out", out, length, covariance.entries()) }
    })
}

/// The rows of the table, as every shell prints them.
///
/// # Safety
/// `answer` is NULL or an answer, and `length` coefficients can be written to `out`.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn provi_answer_posterior(
    answer: *const Answer,
    level: f64,
    out: *mut Coefficient,
    length: usize,
) -> c_int {
    status(|| {
        // SAFETY: as the caller promises.
        let answer = unsafe { handle("answer", answer) }?;
        room("out", length, answer.dim())?;
        let found = coefficients(answer, level)?;
        // SAFETY: as the caller promises.
        unsafe { put("out", out, length, &found) }
    })
}

fn coefficients(answer: &Answer, level: f64) -> Result<Vec<Coefficient>> {
    let measured = answer.fitted.file.posterior.as_ref();
    let rows = rows::coefficients(&answer.fitted, &answer.certificate).all()?;
    let declared = rows::rest_on_a_word(&rows, measured);
    let one = |(i, (_, row)): (usize, &rows::Row)| {
        Ok(Coefficient::new(
            row,
            rows::moments(row, measured, i),
            rows::positive(row, measured, i),
            row.interval(level)?,
            declared,
        ))
    };
    rows.iter().enumerate().map(one).collect()
}

/// A row for a linear expression in the names of the coefficients.
///
/// # Safety
/// `answer` is NULL or an answer, `expression` NULL or a text, and a coefficient can be written to `out`.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn provi_answer_contrast(
    answer: *const Answer,
    expression: *const c_char,
    level: f64,
    out: *mut Coefficient,
) -> c_int {
    status(|| {
        // SAFETY: as the caller promises.
        let (answer, expression) = unsafe { (handle("answer", answer)?, text("expression", expression)?) };
        let found = answer.fitted.contrast(expression, level)?;
        let row = (found.name, found.functional);
        let declared = rows::rest_on_a_word(std::slice::from_ref(&row), None);
        let (_, row) = row;
        let (moments, positive) = (rows::moments(&row, None, 0), rows::positive(&row, None, 0));
        let found = Coefficient::new(&row, moments, positive, found.interval, declared);
        // SAFETY: as the caller promises.
        unsafe { put("out", out, 1, &[found]) }
    })
}

/// The ELBO, and how far it is off.
///
/// # Safety
/// `answer` is NULL or an answer, and a number can be written to each of the others that is not NULL.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn provi_answer_elbo(
    answer: *const Answer,
    value: *mut f64,
    error: *mut f64,
) -> c_int {
    status(|| {
        // SAFETY: as the caller promises.
        let file = &unsafe { handle("answer", answer) }?.fitted.file;
        // SAFETY: as the caller promises.
        unsafe {
            put_if_wanted("value", value, 1, &[-file.neg_elbo])?;
            put_if_wanted("error", error, 1, &[file.neg_elbo_error])
        }
    })
}

/// Bounds of the log evidence; infinite where nothing is proved.
///
/// # Safety
/// As for [`provi_answer_elbo`].
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn provi_answer_evidence(
    answer: *const Answer,
    low: *mut f64,
    high: *mut f64,
) -> c_int {
    status(|| {
        // SAFETY: as the caller promises.
        let evidence = &unsafe { handle("answer", answer) }?.certificate.evidence;
        // SAFETY: as the caller promises.
        unsafe {
            put_if_wanted("low", low, 1, &[evidence.lower().unwrap_or(f64::NEG_INFINITY)])?;
            put_if_wanted("high", high, 1, &[evidence.upper().unwrap_or(f64::INFINITY)])
        }
    })
}

/// A bound of the KL to the posterior.
///
/// # Safety
/// `answer` is NULL or an answer.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn provi_answer_kl(answer: *const Answer) -> f64 {
    value_or(f64::INFINITY, || {
        // SAFETY: as the caller promises.
        Ok(unsafe { handle("answer", answer) }?.certificate.kl.bound().unwrap_or(f64::INFINITY))
    })
}

/// A bound of the gap to the best Gaussian.
///
/// # Safety
/// `answer` is NULL or an answer.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn provi_answer_gap(answer: *const Answer) -> f64 {
    value_or(f64::INFINITY, || {
        // SAFETY: as the caller promises.
        Ok(unsafe { handle("answer", answer) }?.certificate.gap.bound().unwrap_or(f64::INFINITY))
    })
}

/// A bound of the total variation from the posterior.
///
/// # Safety
/// `answer` is NULL or an answer.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn provi_answer_tv(answer: *const Answer) -> f64 {
    value_or(1.0, || {
        // SAFETY: as the caller promises.
        Ok(unsafe { handle("answer", answer) }?.certificate.tv.bound().unwrap_or(1.0))
    })
}

/// The text of fit.json.
///
/// # Safety
/// `answer` is NULL or an answer.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn provi_answer_json(answer: *const Answer) -> *const c_char {
    text_or_null(|| {
        // SAFETY: as the caller promises.
        let answer = unsafe { handle("answer", answer) }?;
        Ok(answer.json.get_or_init(|| c_text(&answer.fitted.file.to_json())).as_ptr())
    })
}

/// The table, what it is conditional on, and the certificate.
///
/// # Safety
/// `answer` is NULL or an answer.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn provi_answer_summary(answer: *const Answer) -> *const c_char {
    text_or_null(|| {
        // SAFETY: as the caller promises.
        let answer = unsafe { handle("answer", answer) }?;
        if let Some(text) = answer.summary.get() {
            return Ok(text.as_ptr());
        }
        let text = c_text(&summary::of(answer)?);
        Ok(answer.summary.get_or_init(|| text).as_ptr())
    })
}

/// What the answer is conditional on, and warnings about the data: a line each.
///
/// # Safety
/// `answer` is NULL or an answer.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn provi_answer_notes(answer: *const Answer) -> *const c_char {
    text_or_null(|| {
        // SAFETY: as the caller promises.
        let answer = unsafe { handle("answer", answer) }?;
        Ok(answer.notes.get_or_init(|| c_text(&answer.fitted.notes().join("\n"))).as_ptr())
    })
}

/// Writes fit.json into a folder.
///
/// # Safety
/// `answer` is NULL or an answer, and `folder` NULL or a text.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn provi_answer_save(
    answer: *const Answer,
    folder: *const c_char,
    force: c_int,
) -> c_int {
    status(|| {
        // SAFETY: as the caller promises.
        let (answer, folder) = unsafe { (handle("answer", answer)?, text("folder", folder)?) };
        answer.fitted.save(Path::new(folder), force != 0)?;
        Ok(())
    })
}

/// Reads an answer from its folder.
///
/// # Safety
/// `folder` is NULL or a text.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn provi_answer_load(folder: *const c_char) -> *mut Answer {
    boxed(|| {
        // SAFETY: as the caller promises.
        let fitted = Fitted::load(Path::new(unsafe { text("folder", folder) }?))?;
        Ok(Answer::new(fitted, Kept::File))
    })
}

#[cfg(test)]
mod tests {
    use super::Answer;
    use crate::table::Table;

    /// The header lets any number of threads ask the same handle.
    #[test]
    fn threads_may_share_what_does_not_change() {
        fn shared<T: Send + Sync>() {}
        shared::<Answer>();
        shared::<Table>();
    }
}

//! Draws of the answer, and of the posterior itself.

use std::ffi::{c_char, c_int};

use provi::stop::Signal;
use provi::{Matrix, Seed};
use provi_analysis::model::device;
use provi_analysis::run::posterior::PosteriorDraws;
use provi_analysis::run::sampled::{Law, refuse_many};

use crate::answer::{Answer, Kept};
use crate::error::{Refused, Result, status};
use crate::options::{self, ExactOptions};
use crate::pointer::{handle, maybe_text, put, put_if_wanted, room};
use crate::run::{Progress, on_a_thread};
use crate::table::Table;

/// Draws of the answer.
///
/// # Safety
/// `answer` is NULL or an answer, and `length` numbers can be written to `out`.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn provi_answer_sample(
    answer: *const Answer,
    draws: usize,
    seed: u64,
    out: *mut f64,
    length: usize,
) -> c_int {
    status(|| {
        // SAFETY: as the caller promises.
        let answer = unsafe { handle("answer", answer) }?;
        room("out", length, draws.saturating_mul(answer.dim()))?;
        let found = answer.fitted.sample(draws, Seed(seed))?;
        // SAFETY: as the caller promises.
        unsafe { put("out", out, length, found.entries()) }
    })
}

/// Draws of the posterior itself, and the proved total variation of their law from it.
///
/// # Safety
/// `answer` is NULL or an answer, `table` NULL or a table, `options` NULL or a text, `length` numbers can be written to `out`, and one to
/// `tv` if it is not NULL.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn provi_answer_sample_exact(
    answer: *const Answer,
    table: *const Table,
    draws: usize,
    seed: u64,
    options: *const c_char,
    out: *mut f64,
    length: usize,
    tv: *mut f64,
) -> c_int {
    status(|| {
        // SAFETY: as the caller promises.
        let (answer, given) = unsafe { (handle("answer", answer)?, maybe_text("options", options)?) };
        // SAFETY: as the caller promises.
        let table = unsafe { table.as_ref() };
        let asked = options::of_exact(given)?;
        room("out", length, draws.saturating_mul(answer.dim()))?;
        device::is_there(asked.device.unwrap_or_default())?;
        refuse_many(&answer.fitted.gaussian, draws, 2, false)?;
        // SAFETY: there is no function to call.
        let progress = unsafe { Progress::new(None, std::ptr::null_mut()) };
        let (found, law) =
            on_a_thread(&progress, asked.threads, |_| exact(answer, table, draws, Seed(seed), &asked))?;
        // SAFETY: as the caller promises.
        unsafe {
            put("out", out, length, found.entries())?;
            put_if_wanted("tv", tv, 1, &[law.total_variation(None).unwrap_or(1.0)])
        }
    })
}

fn exact(
    answer: &Answer,
    table: Option<&Table>,
    count: usize,
    seed: Seed,
    asked: &ExactOptions,
) -> Result<(Matrix, Law)> {
    let fitted = &answer.fitted;
    let drawn = |mut draws: PosteriorDraws<'_>| Ok((draws.draw(count)?, draws.law()));
    match (&answer.kept, table) {
        (Kept::Design(_) | Kept::UnknownNoise(_), Some(_)) => Err(Refused::StrayTable),
        (Kept::Design(glm), None) => {
            let glm = device::beside(glm, asked.device)?;
            let q = fitted.dense("an exact draw")?;
            drawn(PosteriorDraws::of_target(&*glm, &q, asked.tv, seed)?)
        }
        (Kept::UnknownNoise(open), None) => {
            open.needs_known_noise("exact draws")?;
            let glm = device::beside(&open.glm, asked.device)?;
            let q = fitted.dense("an exact draw")?;
            drawn(PosteriorDraws::of_target(&*glm, &q, asked.tv, seed)?)
        }
        (Kept::Density, _) => Err(Refused::NoModel { why: "a C function is not kept" }),
        (Kept::Formula, None) => Err(Refused::NoTable),
        (Kept::File, None) if !fitted.file.model.formula.is_empty() => Err(Refused::NoTable),
        (Kept::File, None) => Err(Refused::NoModel { why: "this answer is from a file" }),
        (Kept::Formula | Kept::File, Some(table)) => {
            let data = table.data(&fitted.file.model.formula)?;
            // A signal that nobody raises: work that needs one finds it.
            let model = Signal::default().cover(|| fitted.model(&data, false))?.on_device(asked.device)?;
            let q = fitted.dense("an exact draw")?;
            drawn(PosteriorDraws::new(&model, &q, asked.tv, seed)?)
        }
    }
}

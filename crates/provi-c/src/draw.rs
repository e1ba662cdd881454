//! Draws of the answer, and of the posterior itself.

use std::ffi::{c_char, c_int, c_void};
use std::time::Instant;

use provi::fit::Watch;
use provi::sparse::NormalLaw;
use provi::stop::Signal;
use provi::target::Evaluator;
use provi::{Matrix, Seed};
use provi_analysis::model::device;
use provi_analysis::run::posterior::PosteriorDraws;
use provi_analysis::run::sampled::{Law, refuse_many};
use provi_ffi::Function;

use crate::answer::{Answer, Kept};
use crate::density::CallerDensity;
use crate::error::{Refused, Result, status};
use crate::options::{self, ExactOptions};
use crate::pointer::{handle, maybe_text, product, put, put_if_wanted, room};
use crate::run::{At, Progress, ProgressFunction, Tell, in_place, on_a_thread};
use crate::table::Table;

/// Exact draws that are made between two looks at the caller's wish to stop, at most,
const PART: f64 = 64.0;
/// and proposals for them.
const PART_PROPOSALS: f64 = 4096.0;

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
        room("out", length, product("out", draws, answer.dim())?)?;
        let found = answer.fitted.sample(draws, Seed(seed))?;
        // SAFETY: as the caller promises.
        unsafe { put("out", out, length, found.entries()) }
    })
}

/// The draws of the answer from number `first` on, counted from 0.
///
/// # Safety
/// As for [`provi_answer_sample`].
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn provi_answer_sample_part(
    answer: *const Answer,
    first: u64,
    draws: usize,
    seed: u64,
    out: *mut f64,
    length: usize,
) -> c_int {
    status(|| {
        // SAFETY: as the caller promises.
        let answer = unsafe { handle("answer", answer) }?;
        room("out", length, product("out", draws, answer.dim())?)?;
        refuse_many(&answer.fitted.gaussian, draws, 2, false)?;
        let end = first.checked_add(draws as u64).ok_or(Refused::Draws { first, draws })?;
        let found = part(answer, first..end, Seed(seed));
        // SAFETY: as the caller promises.
        unsafe { put("out", out, length, found.entries()) }
    })
}

fn part(answer: &Answer, which: std::ops::Range<u64>, seed: Seed) -> Matrix {
    match &answer.fitted.mixture {
        Some(mixture) => {
            let [points, _] = mixture.sample_part(which, seed);
            points
        }
        None => answer.fitted.gaussian.sample_part(which, seed),
    }
}

/// Where exact draws are written, and what is known of them.
#[derive(Clone, Copy)]
struct Room {
    out: *mut f64,
    length: usize,
    made: *mut usize,
    tv: *mut f64,
}

/// Draws of the posterior itself, and the proved total variation of their law from it.
///
/// # Safety
/// `answer` is NULL or an answer, `table` NULL or a table, `options` NULL or a text, `progress` NULL or a function that may be called with
/// `user`, `length` numbers can be written to `out`, and one each to `made` and `tv` where they are not NULL.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn provi_answer_sample_exact(
    answer: *const Answer,
    table: *const Table,
    draws: usize,
    seed: u64,
    options: *const c_char,
    progress: Option<ProgressFunction>,
    user: *mut c_void,
    out: *mut f64,
    length: usize,
    made: *mut usize,
    tv: *mut f64,
) -> c_int {
    status(|| {
        // SAFETY: as the caller promises.
        let (answer, given) = unsafe { (handle("answer", answer)?, maybe_text("options", options)?) };
        // SAFETY: as the caller promises.
        let (table, progress) = unsafe { (table.as_ref(), Progress::new(progress, user)) };
        let asked = options::of_exact(given)?;
        check(answer, draws, length, &asked)?;
        let found = on_a_thread(&progress, asked.threads, |watch, tell| {
            let course = Course::begin([draws, length], &asked, watch, tell)?;
            exact(answer, table, Seed(seed), &asked, &course)
        })?;
        // SAFETY: as the caller promises.
        unsafe { written(found, draws, Room { out, length, made, tv }) }
    })
}

/// Draws of the law of a C function, with bounds of its curvature, near which the answer is.
///
/// # Safety
/// `density` is NULL or a function that keeps the promises of the header; the rest as for [`provi_answer_sample_exact`].
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn provi_answer_sample_exact_density(
    answer: *const Answer,
    density: Option<Function>,
    density_user: *mut c_void,
    draws: usize,
    seed: u64,
    options: *const c_char,
    progress: Option<ProgressFunction>,
    user: *mut c_void,
    out: *mut f64,
    length: usize,
    made: *mut usize,
    tv: *mut f64,
) -> c_int {
    status(|| {
        let density = density.ok_or(Refused::Null { what: "density", needed: "a function" })?;
        // SAFETY: as the caller promises.
        let (answer, given, progress) = unsafe {
            (handle("answer", answer)?, maybe_text("options", options)?, Progress::new(progress, user))
        };
        let (declared, asked) = options::of_exact_density(given)?;
        if declared.smoothness.is_none() || declared.convexity.is_none_or(|lower| lower <= 0.0) {
            return Err(Refused::NoCurvature);
        }
        check(answer, draws, length, &asked)?;
        let dim = answer.dim();
        // SAFETY: as the caller promises; the target does not outlive this call.
        let target = unsafe { CallerDensity::declared(density, density_user, dim, None, &declared) }?;
        let draw = |target: Evaluator<'_>, watch: &mut Watch<'_>, tell: Tell<'_>| {
            let course = Course::begin([draws, length], &asked, watch, tell)?;
            let q = answer.fitted.dense("an exact draw")?;
            let made = course.signal.cover(|| PosteriorDraws::of_target(target, &q, asked.tv, Seed(seed)))?;
            course.drawn(made)
        };
        let found = match declared.thread_safe {
            true => on_a_thread(&progress, asked.threads, |watch, tell| {
                draw(Evaluator::Parallel(&target), watch, tell)
            }),
            false => in_place(&progress, |watch, tell| draw(Evaluator::Serial(&target), watch, tell)),
        };
        // SAFETY: as the caller promises.
        unsafe { written(found?, draws, Room { out, length, made, tv }) }
    })
}

/// Refuses what can be refused before the work.
fn check(answer: &Answer, draws: usize, length: usize, asked: &ExactOptions) -> Result<()> {
    room("out", length, product("out", draws, answer.dim())?)?;
    device::is_there(asked.device.unwrap_or_default())?;
    Ok(refuse_many(&answer.fitted.gaussian, draws, 2, false)?)
}

/// Draws, row by row, how many they are, and what they are draws of.
type Drawn = (Vec<f64>, usize, Law);

/// # Safety
/// As for [`provi_answer_sample_exact`].
unsafe fn written((mut found, rows, law): Drawn, draws: usize, room: Room) -> Result<()> {
    if rows < draws && room.made.is_null() {
        return Err(Refused::Short { made: rows, asked: draws });
    }
    // Rows that were not made are none.
    found.resize(room.length, f64::NAN);
    // SAFETY: as the caller promises.
    unsafe {
        put("out", room.out, room.length, &found)?;
        put_if_wanted("made", room.made, 1, &[rows])?;
        put_if_wanted("tv", room.tv, 1, &[law.total_variation(None).unwrap_or(1.0)])
    }
}

/// How many draws are asked for, what ends them early, and who hears how many there are.
struct Course<'a> {
    count: usize,
    /// Numbers in all of them.
    length: usize,
    signal: Signal,
    tell: Tell<'a>,
}

impl<'a> Course<'a> {
    /// The clock starts now.
    fn begin(
        [count, length]: [usize; 2],
        asked: &ExactOptions,
        watch: &Watch<'_>,
        tell: Tell<'a>,
    ) -> Result<Self> {
        let deadline = asked.limit()?.and_then(|limit| Instant::now().checked_add(limit));
        let signal = watch.stop.map_or_else(Signal::default, Signal::on).at(deadline);
        Ok(Self { count, length, signal, tell })
    }

    /// The draws, or fewer if a stop is wanted before.
    fn drawn(&self, mut draws: PosteriorDraws<'_>) -> Result<Drawn> {
        let most = (PART_PROPOSALS / draws.proposals_bound()).clamp(1.0, PART) as usize;
        let (mut all, mut made) = (Vec::new(), 0);
        let bytes = self.length.saturating_mul(size_of::<f64>());
        all.try_reserve_exact(self.length).map_err(|_| Refused::Memory { what: "out", bytes })?;
        while made < self.count {
            let wanted = most.min(self.count - made);
            // The list of all draws is the same however it is cut into parts.
            let part = self.signal.cover(|| draws.draw(wanted))?;
            all.extend_from_slice(part.entries());
            made += part.rows();
            (self.tell)(At::draws(made, self.count));
            if part.rows() < wanted {
                break;
            }
        }
        Ok((all, made, draws.law()))
    }
}

fn exact(
    answer: &Answer,
    table: Option<&Table>,
    seed: Seed,
    asked: &ExactOptions,
    course: &Course<'_>,
) -> Result<Drawn> {
    let fitted = &answer.fitted;
    let signal = &course.signal;
    match (&answer.kept, table) {
        (Kept::Design(_) | Kept::UnknownNoise(_), Some(_)) => Err(Refused::StrayTable),
        (Kept::Design(glm), None) => {
            let glm = device::beside(glm, asked.device)?;
            let q = fitted.dense("an exact draw")?;
            course.drawn(signal.cover(|| PosteriorDraws::of_target(&*glm, &q, asked.tv, seed))?)
        }
        (Kept::UnknownNoise(open), None) => {
            open.needs_known_noise("exact draws")?;
            let glm = device::beside(&open.glm, asked.device)?;
            let q = fitted.dense("an exact draw")?;
            course.drawn(signal.cover(|| PosteriorDraws::of_target(&*glm, &q, asked.tv, seed))?)
        }
        (Kept::Density, _) => Err(Refused::NoModel {
            why: "a C function is not kept: give it to provi_answer_sample_exact_density",
        }),
        (Kept::Formula, None) => Err(Refused::NoTable),
        (Kept::File, None) if !fitted.file.model.formula.is_empty() => Err(Refused::NoTable),
        (Kept::File, None) => Err(Refused::NoModel {
            why: "this answer is from a file: fit the design again, or give a density to provi_answer_sample_exact_density",
        }),
        (Kept::Formula | Kept::File, Some(table)) => {
            let data = table.data(&fitted.file.model.formula)?;
            let model = signal.cover(|| fitted.model(&data, false))?.on_device(asked.device)?;
            let q = fitted.dense("an exact draw")?;
            course.drawn(signal.cover(|| PosteriorDraws::new(&model, &q, asked.tv, seed))?)
        }
    }
}

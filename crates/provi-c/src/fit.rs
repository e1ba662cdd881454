//! Fits: of a formula to a table, of a design to a response, and of a C function.

use std::ffi::{c_char, c_void};
use std::sync::Arc;
use std::time::Instant;

use provi::Design;
use provi::fit::Watch;
use provi::stop::Signal;
use provi::target::{DataPrior, Evaluator, Glm, Prior};
use provi_analysis::model::{self, Data, RegressionModel, UnknownNoise, device};
use provi_analysis::options::{FamilyName, ModelOptions, RunOptions, ScalesName};
use provi_analysis::record::about::About;
use provi_analysis::{Analysis, Fitted, Problem};
use provi_ffi::Function;

use crate::answer::{Answer, Kept};
use crate::density::{CallerDensity, check_dim};
use crate::error::{Refused, Result, boxed};
use crate::options::{self, DesignModel};
use crate::pointer::{array, copied, handle, maybe_text, product, text, texts};
use crate::run::{Progress, ProgressFunction, in_place, on_a_thread};
use crate::table::Table;

/// Fits a formula to a table.
///
/// # Safety
/// `table` is NULL or a table, the texts are NULL or texts, and `progress` is NULL or may be called with `user`.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn provi_fit_formula(
    table: *const Table,
    formula: *const c_char,
    options: *const c_char,
    progress: Option<ProgressFunction>,
    user: *mut c_void,
) -> *mut Answer {
    boxed(|| {
        // SAFETY: as the caller promises.
        let (table, formula, given, progress) = unsafe {
            let (formula, given) = (text("formula", formula)?, maybe_text("options", options)?);
            (handle("table", table)?, formula, given, Progress::new(progress, user))
        };
        let (model, run) = options::of_formula(given)?;
        device::is_there(run.device.unwrap_or_default())?;
        let data = table.data(formula)?;
        let fitted = on_a_thread(&progress, run.threads, move |watch, _| {
            timed(&run, watch, |run, watch, begin| formula_fit(data, formula, &model, run, watch, begin))
        })?;
        Ok(Answer::new(fitted, Kept::Formula))
    })
}

/// The fit of a formula. What is left of the time limit is counted from `begin`, as the search for scales counts too.
fn formula_fit(
    data: Data,
    formula: &str,
    model: &ModelOptions,
    run: &RunOptions,
    watch: &mut Watch<'_>,
    begin: Instant,
) -> Result<Fitted> {
    if RegressionModel::asked(&model::parse(formula)?, model).is_some() {
        let model = RegressionModel::build(&data, formula, model)?;
        left(run, watch, begin)?;
        return Ok(model.fit(run, watch)?);
    }
    let analysis = Analysis::of(data, formula, model)?.on_device(run.device)?;
    left(run, watch, begin)?;
    Ok(analysis.fit(run, watch)?)
}

/// Work whose clock starts now.
fn timed<T>(
    run: &RunOptions,
    watch: &mut Watch<'_>,
    work: impl FnOnce(&RunOptions, &mut Watch<'_>, Instant) -> Result<T>,
) -> Result<T> {
    let (begin, limit) = (Instant::now(), run.limit()?);
    let deadline = limit.and_then(|limit| begin.checked_add(limit));
    let stop = watch.stop.map_or_else(Signal::default, Signal::on).at(deadline);
    stop.cover(|| work(run, watch, begin))
}

fn left(run: &RunOptions, watch: &mut Watch<'_>, begin: Instant) -> Result<()> {
    watch.time_limit = run.limit()?.map(|limit| limit.saturating_sub(begin.elapsed()));
    Ok(())
}

/// Fits a design, row by row, to a response.
///
/// # Safety
/// `rows` × `columns` numbers are at `design`, `rows` at `response`, `columns` texts at `names` if it is not NULL; the rest as for
/// [`provi_fit_formula`].
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn provi_fit_design(
    rows: usize,
    columns: usize,
    design: *const f64,
    response: *const f64,
    names: *const *const c_char,
    options: *const c_char,
    progress: Option<ProgressFunction>,
    user: *mut c_void,
) -> *mut Answer {
    boxed(|| {
        product("design", rows, columns)?;
        // SAFETY: as the caller promises.
        let (response, names, given, progress) = unsafe {
            let names = (!names.is_null()).then(|| texts("names", names, columns)).transpose()?;
            let (response, given) = (array("response", response, rows)?, maybe_text("options", options)?);
            (response, names, given, Progress::new(progress, user))
        };
        let (about, run) = options::of_design(given)?;
        device::is_there(run.device.unwrap_or_default())?;
        // SAFETY: as the caller promises.
        let design = unsafe { dense(rows, columns, design) }?;
        let (fitted, kept) = on_a_thread(&progress, run.threads, move |watch, _| {
            timed(&run, watch, |run, watch, begin| {
                let glm = glm(design, response, names, about)?;
                let open = match (about.noise_sd, glm.family().noise_sd()) {
                    (None, Some(_)) => {
                        let treatment = about.scales.unwrap_or(ScalesName::Integrate);
                        Some(UnknownNoise::new(&glm, treatment, None)?)
                    }
                    _ => None,
                };
                left(run, watch, begin)?;
                Ok(match open {
                    None => {
                        let beside = device::beside(&glm, run.device)?;
                        let fitted = Problem::matrices(&beside, About::default()).fit(run, watch)?;
                        (fitted, Kept::Design(Arc::new(glm)))
                    }
                    Some(open) => {
                        let beside = device::beside(&open.glm, run.device)?.into_owned();
                        let problem = UnknownNoise { glm: beside, ..open.clone() };
                        let fitted = Problem::unknown_noise(&problem, About::default()).fit(run, watch)?;
                        (fitted, Kept::UnknownNoise(Arc::new(open)))
                    }
                })
            })
        })?;
        Ok(Answer::new(fitted, kept))
    })
}

/// A design of C's.
///
/// # Safety
/// `rows` × `columns` numbers are at `entries`.
pub(crate) unsafe fn dense(rows: usize, columns: usize, entries: *const f64) -> Result<Design> {
    let count = product("design", rows, columns)?;
    // SAFETY: as the caller promises.
    let entries = unsafe { array("design", entries, count) }?;
    Ok(Design::from_rows(rows, columns, copied("design", entries)?)?)
}

/// The model of a design, with the prior of the options or, without one, the default on the scale of the data.
fn glm(design: Design, response: &[f64], names: Option<Vec<String>>, about: DesignModel) -> Result<Glm> {
    let prior = about.prior_scale.map_or_else(|| Ok(Prior::default()), Prior::scale)?;
    // Where the noise is not known, the search for it begins here.
    let noise = about.noise_sd.unwrap_or(1.0);
    let made = match about.family {
        FamilyName::Gaussian => Glm::linear(design, response, noise, prior),
        FamilyName::Gamma => Glm::gamma(design, response, noise, prior),
        FamilyName::Negbinomial => Glm::negative_binomial(design, response, noise, prior),
        FamilyName::Bernoulli => Glm::logistic(design, response, prior),
        FamilyName::Probit => Glm::probit(design, response, prior),
        FamilyName::Cloglog => Glm::cloglog(design, response, prior),
        FamilyName::Poisson => Glm::poisson(design, response, prior),
        FamilyName::Exponential => Glm::exponential(design, response, prior),
        other => return Err(Refused::OfFormula { family: other.name() }),
    };
    let mut model = made?;
    if let Some(names) = names {
        model = model.with_names(names)?;
    }
    match about.prior_scale {
        Some(_) => Ok(model),
        None => {
            let default = DataPrior::new(&model.summary(), model.family(), provi::Target::dim(&model));
            Ok(model.with_prior(default.prior()?)?)
        }
    }
}

/// Fits a log density.
///
/// # Safety
/// `density` is NULL or a function that keeps the promises of the header, `dim` texts are at `names` if it is not NULL; the rest as
/// for [`provi_fit_formula`].
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn provi_fit_density(
    dim: usize,
    density: Option<Function>,
    density_user: *mut c_void,
    names: *const *const c_char,
    options: *const c_char,
    progress: Option<ProgressFunction>,
    user: *mut c_void,
) -> *mut Answer {
    boxed(|| {
        let density = density.ok_or(Refused::Null { what: "density", needed: "a function" })?;
        // Before `names`, of which there are so many.
        check_dim(dim)?;
        // SAFETY: as the caller promises.
        let (names, given, progress) = unsafe {
            let names = (!names.is_null()).then(|| texts("names", names, dim)).transpose()?;
            (names, maybe_text("options", options)?, Progress::new(progress, user))
        };
        let (declared, mut run) = options::of_density(given)?;
        device::is_there(run.device.unwrap_or_default())?;
        // SAFETY: as the caller promises; the target does not outlive this call.
        let target = unsafe { CallerDensity::declared(density, density_user, dim, names, &declared) }?;
        run.search.start = declared.start;
        let fit = |target, watch: &mut Watch<'_>| {
            timed(&run, watch, |run, watch, begin| {
                left(run, watch, begin)?;
                Ok(Problem::black_box(target, About::default()).fit(run, watch)?)
            })
        };
        let fitted = match declared.thread_safe {
            true => on_a_thread(&progress, run.threads, |watch, _| fit(Evaluator::Parallel(&target), watch)),
            false => in_place(&progress, |watch, _| fit(Evaluator::Serial(&target), watch)),
        };
        Ok(Answer::new(fitted?, Kept::Density))
    })
}

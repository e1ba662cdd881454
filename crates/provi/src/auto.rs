//! The default algorithm: mode → Laplace → exact or sampled steps → certificate → stop.
//!
//! A target with exact expectations is solved without noise ([`crate::solve`]); any other target by draws
//! ([`crate::ascent`]). The steps need no theorem: fresh draws at the answer measure how good it is
//! ([`crate::audit`]).

#[doc(hidden)]
pub mod ascent;
mod bare;
#[doc(hidden)]
pub mod boosting;
mod certified;
mod explore;
mod improper;
pub(crate) mod initial;
#[doc(hidden)]
pub mod loo;
mod low_rank;
#[doc(hidden)]
pub mod robust;
#[doc(hidden)]
pub mod scales;
mod search;
#[doc(hidden)]
pub mod solve;
mod sparse;

use crate::auto::ascent::{Ascent, Options};
use crate::auto::initial::{initial_point, nearest_laplace};
use crate::auto::solve::{Solver, Stop, Watcher};
use crate::base::coupling::Coupling;
use crate::base::draws::Seed;
use crate::base::error::{Error, Result};
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::pattern::Pattern;
use crate::base::scalar::{Positive, Probability};
use crate::base::stop;
use crate::certify::audit::{Audit, Audited, Goal, nothing};
use crate::sgd::fit::{Fit, NegElbo, neg_elbo_at_least};
use crate::sgd::memory::{Forecast, Size};
pub use crate::sgd::method::Choice;
use crate::sgd::plan::Promise;
use crate::target::curvature::Provenance;
use crate::target::evaluate::Evaluator;
use crate::target::mode::about_laplace;
use crate::target::watchdog::{Watching, check_gradient};
use crate::target::{Rejections, Target};
use crate::watch::checkpoint::{Checkpoint, Keeping, Mark, is_about};
use crate::watch::{AverageState, Snapshot, Watch};
pub use bare::{USUAL_CAP, USUAL_CAP_PER_DIMENSION};
pub use certified::Certified;
pub use search::{Beginnings, Ending, Place, Search, Start, StartFit};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// Options of the default algorithm. The defaults suit most models. Set the fields that differ and end with
/// `..Auto::default()`, because further fields may be added.
///
/// ```
/// use provi::{Auto, Design, Seed, target::{Glm, Prior}};
///
/// let design = Design::dense(4, 2, &[1.0, 0.5, 1.0, -1.5, 1.0, 2.0, 1.0, -0.3])?;
/// let target = Glm::logistic(design, &[1.0, 0.0, 1.0, 0.0], Prior::scale(2.5)?)?;
/// let answer = Auto::default().run(&target, Seed(0))?;
/// assert!(answer.certificate().proves_gap(1e-9));
/// # Ok::<(), provi::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Auto {
    /// Stop as soon as f − f* ≤ this many nats is proved.
    pub accuracy: Option<f64>,
    /// The most evaluations of log p with its gradient that a sampled search may spend, not counting audits. If
    /// `None`: 20 000 for a target that declares a curvature; [`USUAL_CAP`] + [`USUAL_CAP_PER_DIMENSION`]·d for a bare
    /// log density, whose search ends before if its ELBO no longer rises.
    pub evaluations: Option<u64>,
    /// How the answer is audited.
    pub audit: Audit,
    /// Where the search for the mode begins; if `None`, the origin. If the target is not finite there, a sampled search
    /// tries points around it.
    pub start: Option<Vec<f64>>,
    /// How many sampled searches to make, each from its own start and with all the evaluations. The search with the
    /// best ELBO is kept, and the others are compared with it ([`Search`]). If certificates are computed during the
    /// searches, they share δ. A target with exact expectations needs one start.
    pub starts: usize,
    /// The family in which q is sought. A family other than [`Pattern::Full`] needs exact expectations here, and the
    /// certificate then has a gap to the best Gaussian of the family as well \[pattern\]. [`Pattern::LowRank`] needs none, and
    /// nothing is proved about it beyond what holds for any Gaussian.
    pub pattern: Pattern,
    /// Bytes that the run may use on top of the target's data. A run that would need more is refused before it
    /// starts.
    pub memory_budget: Option<u64>,
}

impl Default for Auto {
    fn default() -> Self {
        Self {
            accuracy: None,
            evaluations: None,
            audit: Audit::default(),
            start: None,
            starts: 1,
            pattern: Pattern::Full,
            memory_budget: None,
        }
    }
}

/// The gap an exact run aims at when none is asked for, in nats.
const EXACT_GOAL: f64 = 1e-10;
/// The usual cap of evaluations of a target with a declared curvature.
const DECLARED_CAP: u64 = 20_000;
/// A sampled run computes its first certificate after this many evaluations, and each further one after twice as
/// many.
const FIRST_LOOK: u64 = 2_000;

/// First number of a checkpoint's memory if its numbers are in the standard coordinates of the target.
const STANDARD: f64 = -1.0;
/// What the error message says of a checkpoint of another model.
const OTHER: &str = "is that of another model";

impl Auto {
    /// Fits `&model` and certifies the answer. Draws are evaluated in parallel if that pays ([`Evaluator`]).
    pub fn run<'t>(&self, target: impl Into<Evaluator<'t>>, seed: Seed) -> Result<Certified> {
        self.run_with(target, seed, &mut Watch::default())
    }

    /// [`Auto::run`] with a watch, which sees progress, may stop the run, and saves or resumes checkpoints.
    pub fn run_with<'t>(
        &self,
        target: impl Into<Evaluator<'t>>,
        seed: Seed,
        watch: &mut Watch<'_>,
    ) -> Result<Certified> {
        let target = target.into();
        // A declared curvature is compared with the evaluations of the run.
        match declared_curvature(target.target())? {
            None => self.go(target, seed, watch),
            Some(curvature) => target.wrap(Watching(curvature), |view, seen| {
                let out = self.go(view, seed, watch)?;
                Ok(Certified { audited: out.audited.unless(seen()), ..out })
            }),
        }
    }

    fn go(&self, target: Evaluator<'_>, seed: Seed, watch: &mut Watch<'_>) -> Result<Certified> {
        if let Some(accuracy) = self.accuracy {
            Positive::new("accuracy", accuracy)?;
        }
        Probability::new("failure probability δ", self.audit.failure_probability)?;
        self.pattern.check(target.dim())?;
        let restricted = !self.pattern.is_full() && self.pattern.is_subspace();
        self.refuse_unused()?;
        if restricted && target.target().expectations().is_none() {
            let why = "the automatic method finds the best Gaussian of a family only where expectations are exact, as for \
                       linear predictors; use a method that plans its steps, such as prox-energy";
            return Err(Error::Pattern { family: self.pattern.to_string(), why: why.into() });
        }
        Forecast::new(Choice::Auto, &Size::of(target.target())).check(self.memory_budget)?;
        let begin = Instant::now();
        let signal = watch.signal(begin);
        let run = Run { auto: self, target, seed, begin, watch, trace: Vec::new(), audit_seconds: 0.0 };
        let go = || match (&self.pattern, target.target().expectations()) {
            (Pattern::LowRank(rank), _) => run.low_rank(*rank),
            (_, Some(_)) => run.exact(),
            (_, None) => run.sampled(),
        };
        let outcome = match signal {
            Some(signal) => signal.cover(go),
            None => go(),
        };
        // What the target said about the points it refused is probably the cause of the error.
        outcome.map_err(|error| match target.target().rejections() {
            Rejections { count, message: Some(message) } => {
                Error::Refused { error: Box::new(error), count, message }
            }
            _ => error,
        })
    }

    fn start(&self, dim: usize) -> Result<Vec<f64>> {
        match &self.start {
            Some(start) if start.len() != dim => {
                Err(Error::Shape { what: "start", found: start.len(), expected: dim })
            }
            Some(start) => Ok(start.clone()),
            None => Ok(vec![0.0; dim]),
        }
    }
}

/// The curvature, if it is declared and must therefore be watched.
fn declared_curvature(target: &dyn Target) -> Result<Option<crate::Curvature>> {
    match target.lower_curvature()? {
        Some(lower) if lower.provenance() != Provenance::Proved => target.curvature(),
        _ => Ok(None),
    }
}

/// Audits the answer of a run that began at `begin`, under the same watch. If the audit fails or is stopped,
/// nothing is proved and the result says why; the answer is still valid. An error is returned only if processes
/// that share the run can no longer reach each other.
pub fn audit_watched<'t>(
    audit: &Audit,
    target: impl Into<Evaluator<'t>>,
    q: &Gaussian<Triangular>,
    seed: Seed,
    watch: &mut Watch<'_>,
    begin: Instant,
) -> Result<Audited> {
    let target = target.into();
    let reason = match audit.run_since(begin, target, q, seed, watch) {
        Ok(audited) => return Ok(audited),
        Err(error @ Error::Reduce { .. }) => return Err(error),
        Err(Error::Stopped { .. }) => "the audit was stopped before it proved anything".to_owned(),
        Err(error) => format!("the audit failed: {error}"),
    };
    Ok(nothing(&target.target().names(), q, &reason))
}

struct Run<'r, 'w> {
    auto: &'r Auto,
    target: Evaluator<'r>,
    seed: Seed,
    begin: Instant,
    watch: &'r mut Watch<'w>,
    trace: Vec<Snapshot>,
    audit_seconds: f64,
}

impl Run<'_, '_> {
    /// Newton-like steps on the exact objective, from the Laplace approximation.
    fn exact(mut self) -> Result<Certified> {
        let target = self.target.target();
        let other = Error::Checkpoint { what: OTHER };
        // Standard coordinates do not keep a family.
        let family = match &self.auto.pattern {
            Pattern::Full => None,
            pattern => Some(pattern.entries(target.dim())?),
        };
        let mark = family.is_some().then(|| Mark::new(&format!("auto {}", self.auto.pattern), Vec::new()));
        let standard = if family.is_some() { None } else { target.standardized()? };
        // Whether the ELBO of a checkpoint was computed in these coordinates.
        let mut same_units = false;
        let (start, memory, evaluations, before) = match self.watch.from.take() {
            Some(from) => {
                from.check()?;
                if from.mark.is_some() != mark.is_some() {
                    return Err(Error::Checkpoint { what: "is that of another run" });
                }
                mark.as_ref().map_or(Ok(()), |own| from.check_mark(own))?;
                if from.step != from.trace.last().map_or(0, |last| last.step) {
                    return Err(other);
                }
                self.trace = from.trace;
                let Some((mean, factor)) = from.parameters.split_at_checked(target.dim()) else {
                    return Err(other);
                };
                let mut q = Gaussian::new(mean, factor)?;
                let (evaluations, memory) = match (&from.memory[..], &standard) {
                    ([mark, evaluations, memory @ ..], _) if *mark < 0.0 => (evaluations, memory.to_vec()),
                    // Older checkpoints hold numbers in the user's coordinates.
                    ([evaluations, ..], Some(standard)) => {
                        q = standard.map().standard_gaussian(&q);
                        (evaluations, Vec::new())
                    }
                    ([evaluations, memory @ ..], None) => (evaluations, memory.to_vec()),
                    ([], _) => return Err(other),
                };
                // A run ends after four looks without progress, so no valid checkpoint has counted more.
                if *evaluations < 0.0 || memory.first().is_some_and(|looks| !(0.0..4.0).contains(looks)) {
                    return Err(other);
                }
                same_units = from.memory[0] < 0.0 || standard.is_none();
                (q, memory, *evaluations as u64, from.seconds)
            }
            None => {
                let start = self.auto.start(target.dim())?;
                let (start, evaluations) = match (&standard, &family) {
                    (_, Some(family)) => nearest_laplace(target, &start, family)?,
                    (Some(standard), None) => {
                        about_laplace(standard.target(), &standard.map().to_standard(&start))?
                    }
                    (None, None) => about_laplace(target, &start)?,
                };
                (start, Vec::new(), evaluations, 0.0)
            }
        };
        let first = self.trace.last().map_or(0, |last| last.step);
        // Half the wanted gap leaves room for the terms that the certificate adds.
        let goal = self.auto.accuracy.map_or(EXACT_GOAL, |a| (0.5 * a).min(EXACT_GOAL));
        let solver = Solver { goal, ..Solver::default() };
        let (steps, begin) = (solver.iterations as u64, self.begin);
        let (watch, trace) = (&mut *self.watch, &mut self.trace);
        let mut keeping = Keeping::new(watch.keeper.take(), begin, before);
        let place =
            |step, q: &Gaussian<Triangular>, memory: &[f64], trace: &[Snapshot], seconds| Checkpoint {
                step,
                parameters: q.parameters().to_vec(),
                memory: [&[STANDARD, evaluations as f64], memory].concat(),
                average: AverageState::default(),
                trace: trace.to_vec(),
                seconds,
                mark: mark.clone(),
            };
        let mut lost = None;
        let watcher: &mut Watcher<'_> = &mut |look, state| {
            let step = first + look.iteration as u64;
            let gap = look.proved.then_some(look.gap);
            let snapshot = Snapshot { step, steps, gamma: 1.0, neg_elbo: look.neg_elbo, gap };
            // A resumed run computes the ELBO of its first iterate again. If the value differs, the checkpoint is
            // that of another model.
            if same_units
                && look.iteration == 0
                && trace.last().is_some_and(|last| !is_about(last.neg_elbo, look.neg_elbo))
            {
                lost = Some(Error::Checkpoint { what: OTHER });
                return ControlFlow::Break(());
            }
            if trace.last().is_none_or(|last| last.step < step) {
                trace.push(snapshot);
            }
            let told = watch.see(&snapshot, begin).unwrap_or_else(|error| {
                lost = Some(error);
                ControlFlow::Break(())
            });
            keeping.offer(told.is_break(), |seconds| {
                place(step, state.gaussian, &state.memory(), trace, seconds)
            });
            told
        };
        let solved = match &family {
            Some(family) => solver.take_up_within(target, &start, &memory, family, watcher),
            None => solver.take_up(target, &start, &memory, watcher),
        };
        if let Some(error) = lost {
            return Err(error);
        }
        let mut fit = match solved {
            Ok(solution) => {
                let stopped = solution.stop == Stop::Interrupted;
                let steps = first + solution.iterations as u64;
                let (value, error) = (solution.neg_elbo, solution.neg_elbo_error);
                let known = NegElbo { value, error, exact: solution.neg_elbo_proved };
                self.fit(solution.gaussian, steps, 0, evaluations, stopped, Some(known))?
            }
            // Stopped before its first look: return the starting point.
            Err(Error::Stopped { .. }) => {
                keeping.offer(true, |seconds| place(first, &start, &memory, &self.trace, seconds));
                let start = standard.as_ref().map_or_else(|| start.clone(), |s| s.map().own_gaussian(&start));
                self.fit(start, first, 0, evaluations, true, None)?
            }
            Err(error) => return Err(error),
        };
        fit.seconds += before;
        let audited = self.audit(self.auto.audit, &fit.gaussian)?;
        Ok(Certified { fit, audited, search: Search::default(), audit_seconds: self.audit_seconds })
    }

    fn audit(&mut self, audit: Audit, q: &Gaussian<Triangular>) -> Result<Audited> {
        let since = Instant::now();
        let audited = audit_watched(&audit, self.target, q, self.seed, self.watch, self.begin);
        let within = audited.and_then(|audited| audited.within(self.target.target(), q, &self.auto.pattern));
        self.audit_seconds += since.elapsed().as_secs_f64();
        within
    }

    /// Sampled steps from one start or several.
    fn sampled(mut self) -> Result<Certified> {
        if self.watch.from.is_some() {
            return Err(Error::Checkpoint { what: "cannot be used: a sampled search keeps none" });
        }
        let count = self.auto.starts.max(1) as u64;
        if count == 1 {
            let found = self.search(0)?;
            return self.conclude(found, 0, Vec::new(), 0);
        }
        let mut found: Vec<Result<Found>> = Vec::new();
        for which in 0..count {
            found.push(self.search(which));
            // A run that was stopped keeps the searches it has finished.
            if found.last().is_some_and(|found| found.as_ref().is_ok_and(|found| found.stopped)) {
                break;
            }
        }
        let fits: Vec<_> =
            found.iter().map(|found| found.as_ref().map(|f| f.q.clone()).map_err(Error::clone)).collect();
        let compared =
            stop::phase("the comparison of the starts", || search::compare(self.target, self.seed, &fits));
        let (kept, starts) = match compared {
            // Stopped before the starts could be compared: keep the first search that succeeded.
            Err(Error::Stopped { .. }) => (found.iter().position(Result::is_ok).unwrap_or(0), Vec::new()),
            compared => compared?,
        };
        let spent = found.iter().flatten().map(|found| found.evaluations).sum::<u64>();
        let best = found.swap_remove(kept)?;
        let others = spent - best.evaluations;
        self.conclude(best, others, starts, kept)
    }

    /// One search. If an accuracy is asked for, certificates are computed during the search.
    fn search(&mut self, which: u64) -> Result<Found> {
        let target = self.target.target();
        if target.curvature()?.is_none() && target.lower_curvature()?.is_none() {
            return self.search_bare(which);
        }
        let cap = self.auto.evaluations.unwrap_or(DECLARED_CAP);
        // The first start uses the run's own seed, so that asking for more starts does not change it.
        let seed = Seed(self.seed.0.wrapping_add(which.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        let centre = self.auto.start(target.dim())?;
        let (start, tries, check) = stop::phase("the search for a start", || {
            let (start, tries) = initial_point(target, &centre, seed, which)?;
            let check = check_gradient(target, &start, seed)?;
            Ok((start, tries, check))
        })?;
        let options = Options { start, ..Options::default() };
        // If it is cut off, it keeps the best point of its climb.
        let begin = || Ascent::new(self.target, seed, options);
        let mut ascent = stop::careful_phase("the search for the mode", Duration::ZERO, begin)?;
        let wanted = self.auto.accuracy.filter(|_| target.curvature().is_ok_and(|c| c.is_some()));
        let (mut look, mut next_look) = (0, FIRST_LOOK);
        let (mut stopped, mut audited, mut trace) = (false, None, Vec::new());
        // In pieces of whole steps, so that a watched run has the same bits as an unwatched one.
        let step = ascent.draws_per_step() as u64;
        let piece = step * 400u64.div_ceil(step);
        loop {
            let used = ascent.evaluations();
            let budget = cap.saturating_sub(used);
            if budget < 2 || stopped {
                break;
            }
            match stop::careful_phase("the search", Duration::ZERO, || ascent.advance(piece.min(budget))) {
                // The state before this piece of steps is complete.
                Err(Error::Stopped { .. }) => stopped = true,
                advanced => advanced?,
            }
            let snapshot = Snapshot {
                step: ascent.evaluations(),
                steps: cap,
                gamma: 1.0,
                neg_elbo: ascent.neg_elbo_estimate(),
                gap: None,
            };
            trace.push(snapshot);
            stopped |= self.watch.see(&snapshot, self.begin)?.is_break();
            if ascent.evaluations() <= used {
                break;
            }
            if let Some(accuracy) = wanted
                && ascent.evaluations() >= next_look
                && !stopped
            {
                look += 1;
                next_look *= 2;
                let look = Audit { goal: Goal::default(), ..self.look(look) };
                let found = self.audit(look, &ascent.current())?;
                if found.certificate().proves_gap(accuracy) {
                    audited = Some(found.selected());
                    break;
                }
            }
        }
        Ok(Found {
            q: ascent.current(),
            known: ascent.neg_elbo_known(),
            steps: ascent.steps(),
            draws_per_step: ascent.draws_per_step(),
            evaluations: ascent.evaluations() + check.evaluations + tries,
            scatter: check.scatter,
            rejected: ascent.rejected(),
            retreats: ascent.halvings(),
            looks: look,
            stopped,
            audited,
            trace,
            beginnings: None,
            ends: Vec::new(),
            rivals: Vec::new(),
        })
    }

    /// The answer of a search with its audit. `others` is the number of evaluations spent on starts that were not
    /// kept.
    fn conclude(mut self, found: Found, others: u64, starts: Vec<Start>, kept: usize) -> Result<Certified> {
        let audited = match found.audited {
            Some(audited) => audited,
            // The last of several looks has its own share of δ; a single look has all of δ.
            None if found.looks == 0 && !(starts.len() > 1 && self.auto.accuracy.is_some()) => {
                self.audit(self.auto.audit, &found.q)?
            }
            None => self.audit(self.look(found.looks + 1), &found.q)?,
        };
        self.trace = found.trace;
        let evaluations = found.evaluations + others;
        let Found { q, steps, draws_per_step, stopped, known, .. } = found;
        let fit = self.fit(q, steps, draws_per_step, evaluations, stopped, known)?;
        let message = self.target.target().rejections().message;
        let search = Search {
            rejected: found.rejected,
            retreats: found.retreats,
            message,
            starts,
            kept,
            beginnings: found.beginnings,
            scatter: found.scatter,
        };
        Ok(Certified { fit, audited, search, audit_seconds: self.audit_seconds })
    }

    /// The audit of the k-th look of a search; all looks of all searches share δ.
    fn look(&self, look: u32) -> Audit {
        let searches = u32::try_from(self.auto.starts.max(1)).unwrap_or(u32::MAX);
        Audit { look, searches, ..self.auto.audit }
    }

    fn fit(
        &mut self,
        gaussian: Gaussian<Triangular>,
        steps: u64,
        draws_per_step: usize,
        gradient_evaluations: u64,
        stopped_early: bool,
        known: Option<NegElbo>,
    ) -> Result<Fit> {
        let target = self.target.target();
        let neg_elbo = neg_elbo_at_least(target, &gaussian, self.seed, known)?;
        Ok(Fit {
            names: target.names(),
            gaussian,
            neg_elbo,
            pattern: self.auto.pattern.clone(),
            method: Choice::Auto.to_string(),
            steps,
            stopped_early,
            draws_per_step,
            coupling: Coupling::Independent,
            subsample: None,
            gradient_evaluations,
            seed: self.seed,
            seconds: self.begin.elapsed().as_secs_f64() - self.audit_seconds,
            promise: Promise::none(
                "the automatic method promises no bound before the run; its certificate bounds the answer after it".into(),
            ),
            trace: std::mem::take(&mut self.trace),
        })
    }
}

/// The result of one search.
struct Found {
    q: Gaussian<Triangular>,
    /// What is known about its ELBO.
    known: Option<NegElbo>,
    steps: u64,
    draws_per_step: usize,
    evaluations: u64,
    rejected: u64,
    retreats: u64,
    looks: u32,
    stopped: bool,
    audited: Option<Audited>,
    trace: Vec<Snapshot>,
    beginnings: Option<Beginnings>,
    /// Where the beginnings of a search on a bare log density ended, and its rivals.
    ends: Vec<Gaussian<Triangular>>,
    rivals: Vec<Gaussian<Triangular>>,
    /// Of the log density, if small differences could not check its gradient.
    scatter: Option<f64>,
}

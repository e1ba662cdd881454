//! The default way: mode → Laplace → exact steps or sampled ones → certificate → stop.
//!
//! A target with exact expectations is solved without noise ([`crate::solve`]); any other by draws
//! ([`crate::ascent`]). No theorem is needed for the steps: what the answer is worth is measured at it, from
//! fresh draws ([`crate::audit`]).

#[doc(hidden)]
pub mod ascent;
pub(crate) mod initial;
#[doc(hidden)]
pub mod scales;
mod search;
#[doc(hidden)]
pub mod solve;

use crate::auto::ascent::{Ascent, Options};
use crate::auto::initial::initial_point;
use crate::auto::solve::{Solver, Stop};
use crate::base::draws::Seed;
use crate::base::error::{Error, Result};
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::scalar::{Positive, Probability};
use crate::base::stop;
use crate::certify::audit::{Audit, Audited, nothing};
use crate::certify::certificate::Certificate;
use crate::certify::functional::Functional;
use crate::sgd::fit::{Fit, NegElbo, neg_elbo_at_least};
use crate::sgd::memory::{Forecast, Size};
pub use crate::sgd::method::Choice;
use crate::sgd::plan::Promise;
use crate::target::curvature::Provenance;
use crate::target::evaluate::Evaluator;
use crate::target::mode::about_laplace;
use crate::target::watchdog::{GRADIENT_CHECK, Watching, check_gradient};
use crate::target::{Rejections, Target};
use crate::watch::checkpoint::{Checkpoint, Keeping, is_about};
use crate::watch::{AverageState, Snapshot, Watch};
pub use search::{Search, Start, StartFit};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// What the automatic path may be told; the defaults suit most. Write what differs and `..Auto::default()`: there will be more.
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
    /// The most evaluations of log p with its gradient a sampled run may spend, audits apart.
    pub evaluations: u64,
    /// How the answer is audited.
    pub audit: Audit,
    /// Where the search for the mode begins; the origin otherwise. Where the target is not finite there, a sampled search
    /// tries points around it.
    pub start: Option<Vec<f64>>,
    /// Sampled searches from so many starts, each with all the evaluations; the best by ELBO is kept and the others are
    /// held against it ([`Search`]). Where they look at certificates on the way, they share δ. A target with exact expectations
    /// needs one.
    pub starts: usize,
    /// Bytes that the run may use on top of the target's data: one that would need more is refused at once.
    pub memory_budget: Option<u64>,
}

impl Default for Auto {
    fn default() -> Self {
        Self {
            accuracy: None,
            evaluations: 20_000,
            audit: Audit::default(),
            start: None,
            starts: 1,
            memory_budget: None,
        }
    }
}

/// The gap an exact run aims at when none is asked for, in nats.
const EXACT_GOAL: f64 = 1e-10;
/// The first look at a certificate comes after this many evaluations, each further one after twice as many.
const FIRST_LOOK: u64 = 2_000;

/// What the memory of a checkpoint begins with whose numbers are in the standard coordinates of the target.
const STANDARD: f64 = -1.0;
/// What is wrong with a checkpoint that does not fit.
const OTHER: &str = "is that of another model";

/// An answer with what is proved about it.
#[derive(Debug)]
#[non_exhaustive]
pub struct Certified {
    /// The answer.
    pub fit: Fit,
    /// What is proved about it: nothing, and why, where the audit failed.
    pub audited: Audited,
    /// How a sampled search went.
    pub search: Search,
    /// Seconds that the audit took, of looks on the way too.
    pub audit_seconds: f64,
}

/// The answer, and what is proved about it.
impl std::fmt::Display for Certified {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}\n\n{}", self.fit, self.certificate())
    }
}

impl Certified {
    /// The statements: what is proved about the answer.
    pub fn certificate(&self) -> &Certificate {
        self.audited.certificate()
    }

    /// Any linear combination vᵀz: its mean and sd under q, the probability of its sign, and how far the posterior's can be off.
    pub fn functional(&self, v: &[f64]) -> Result<Functional> {
        Functional::new(&self.fit.gaussian, v, self.audited.functional(v)?, self.certificate())
    }
}

impl Auto {
    /// Fits `&model` and certifies the answer, draws in parallel where that pays ([`Evaluator`]).
    pub fn run<'t>(&self, target: impl Into<Evaluator<'t>>, seed: Seed) -> Result<Certified> {
        self.run_with(target, seed, &mut Watch::default())
    }

    /// [`Auto::run`] with a watch that sees progress, may stop the run, and keeps or takes up checkpoints.
    pub fn run_with<'t>(
        &self,
        target: impl Into<Evaluator<'t>>,
        seed: Seed,
        watch: &mut Watch<'_>,
    ) -> Result<Certified> {
        let target = target.into();
        // A curvature on somebody's word is compared with what the run sees.
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
        Forecast::new(Choice::Auto, &Size::of(target.target())).check(self.memory_budget)?;
        let begin = Instant::now();
        let signal = watch.signal(begin);
        let run = Run { auto: self, target, seed, begin, watch, trace: Vec::new(), audit_seconds: 0.0 };
        let go = || match target.target().expectations() {
            Some(_) => run.exact(),
            None => run.sampled(),
        };
        let outcome = match signal {
            Some(signal) => signal.cover(go),
            None => go(),
        };
        // What the target said about the points it refused is likely the reason.
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

/// The curvature, if it rests on somebody's word and so needs watching.
fn declared_curvature(target: &dyn Target) -> Result<Option<crate::Curvature>> {
    match target.lower_curvature()? {
        Some(lower) if lower.provenance() != Provenance::Proved => target.curvature(),
        _ => Ok(None),
    }
}

/// Audits the answer of a run that began at `begin`, under the same watch. An audit that fails or is stopped proves nothing, and
/// says why: the answer is still one. An error is returned only where processes have lost each other.
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
        let standard = target.standardized()?;
        // Whether the ELBO of a checkpoint is one of these coordinates.
        let mut same_units = false;
        let (start, memory, evaluations, before) = match self.watch.from.take() {
            Some(from) => {
                from.check()?;
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
                    // Older checkpoints are in the user's coordinates, and so is what they remember.
                    ([evaluations, ..], Some(standard)) => {
                        q = standard.map().standard_gaussian(&q);
                        (evaluations, Vec::new())
                    }
                    ([evaluations, memory @ ..], None) => (evaluations, memory.to_vec()),
                    ([], _) => return Err(other),
                };
                // A run ends after four looks without progress: none was kept that had more.
                if *evaluations < 0.0 || memory.first().is_some_and(|looks| !(0.0..4.0).contains(looks)) {
                    return Err(other);
                }
                same_units = from.memory[0] < 0.0 || standard.is_none();
                (q, memory, *evaluations as u64, from.seconds)
            }
            None => {
                let start = self.auto.start(target.dim())?;
                let (start, evaluations) = match &standard {
                    Some(standard) => about_laplace(standard.target(), &standard.map().to_standard(&start))?,
                    None => about_laplace(target, &start)?,
                };
                (start, Vec::new(), evaluations, 0.0)
            }
        };
        let first = self.trace.last().map_or(0, |last| last.step);
        // Half the wanted gap leaves room for what the certificate adds.
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
                mark: None,
            };
        let mut lost = None;
        let solved = solver.take_up(target, &start, &memory, &mut |look, state| {
            let step = first + look.iteration as u64;
            let gap = look.proved.then_some(look.gap);
            let snapshot = Snapshot { step, steps, gamma: 1.0, neg_elbo: look.neg_elbo, gap };
            // A run taken up again sees its first place for the second time: with another ELBO it is the place of another model.
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
        });
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
            // Cut off before its first look: there is what it began with.
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
        self.audit_seconds += since.elapsed().as_secs_f64();
        audited
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
            // A run that was told to stop has what it has.
            if found.last().is_some_and(|found| found.as_ref().is_ok_and(|found| found.stopped)) {
                break;
            }
        }
        let fits: Vec<_> =
            found.iter().map(|found| found.as_ref().map(|f| f.q.clone()).map_err(Error::clone)).collect();
        let compared =
            stop::phase("the comparison of the starts", || search::compare(self.target, self.seed, &fits));
        let (kept, starts) = match compared {
            // Cut off before they could be compared: the first that came to anything.
            Err(Error::Stopped { .. }) => (found.iter().position(Result::is_ok).unwrap_or(0), Vec::new()),
            compared => compared?,
        };
        let spent = found.iter().flatten().map(|found| found.evaluations).sum::<u64>();
        let best = found.swap_remove(kept)?;
        let others = spent - best.evaluations;
        self.conclude(best, others, starts, kept)
    }

    /// One search, with looks at the certificate on the way if an accuracy is asked for.
    fn search(&mut self, which: u64) -> Result<Found> {
        let target = self.target.target();
        // The first start has the run's own seed, so that asking for more changes nothing in it.
        let seed = Seed(self.seed.0.wrapping_add(which.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        let centre = self.auto.start(target.dim())?;
        let (start, tries) = stop::phase("the search for a start", || {
            let (start, tries) = initial_point(target, &centre, seed, which)?;
            check_gradient(target, &start, seed)?;
            Ok((start, tries))
        })?;
        let options = Options { start, ..Options::default() };
        // Cut off, it has the best point of its climb.
        let begin = || Ascent::new(self.target, seed, options);
        let mut ascent = stop::careful_phase("the search for the mode", Duration::ZERO, begin)?;
        let wanted = self.auto.accuracy.filter(|_| target.curvature().is_ok_and(|c| c.is_some()));
        let (mut look, mut next_look) = (0, FIRST_LOOK);
        let (mut stopped, mut audited, mut trace) = (false, None, Vec::new());
        // Pieces of whole steps, so that a run that is watched has the same bits as one that is not.
        let step = ascent.draws_per_step() as u64;
        let piece = step * 400u64.div_ceil(step);
        loop {
            let used = ascent.evaluations();
            let budget = self.auto.evaluations.saturating_sub(used);
            if budget < 2 || stopped {
                break;
            }
            match stop::careful_phase("the search", Duration::ZERO, || ascent.advance(piece.min(budget))) {
                // What was reached before is whole.
                Err(Error::Stopped { .. }) => stopped = true,
                advanced => advanced?,
            }
            let snapshot = Snapshot {
                step: ascent.evaluations(),
                steps: self.auto.evaluations,
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
                let found = self.audit(self.look(look), &ascent.current())?;
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
            evaluations: ascent.evaluations() + GRADIENT_CHECK + tries,
            rejected: ascent.rejected(),
            retreats: ascent.halvings(),
            looks: look,
            stopped,
            audited,
            trace,
        })
    }

    /// The answer of a search with its audit; `others` evaluations were spent on starts that were not kept.
    fn conclude(mut self, found: Found, others: u64, starts: Vec<Start>, kept: usize) -> Result<Certified> {
        let audited = match found.audited {
            Some(audited) => audited,
            // The last look of several has its own share of δ; an only look has all of it.
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
        let search = Search { rejected: found.rejected, retreats: found.retreats, message, starts, kept };
        Ok(Certified { fit, audited, search, audit_seconds: self.audit_seconds })
    }

    /// The k-th look of one of the searches, which share δ.
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
            method: Choice::Auto.to_string(),
            steps,
            stopped_early,
            draws_per_step,
            subsample: None,
            gradient_evaluations,
            seed: self.seed,
            seconds: self.begin.elapsed().as_secs_f64() - self.audit_seconds,
            promise: Promise::none(
                "the automatic path promises nothing beforehand; its certificate speaks".into(),
            ),
            trace: std::mem::take(&mut self.trace),
        })
    }
}

/// What one search came to.
struct Found {
    q: Gaussian<Triangular>,
    /// About its ELBO.
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
}

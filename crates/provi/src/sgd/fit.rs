//! The run: estimator → step → average, and its answer.

mod located;
mod space;

pub use located::LocationScaleFit;

use crate::base::base_law::BaseLaw;
use crate::base::coupling::Coupling;
use crate::base::draws::{Draws, Purpose, Seed};
use crate::base::error::{Error, Result};
use crate::base::gaussian::{Gaussian, Symmetric, Triangular};
use crate::base::linalg::norm;
use crate::base::location_scale::LocationScale;
use crate::base::pattern::Pattern;
use crate::base::scratch::Scratch;
use crate::base::stop::{check, phase};
use crate::sgd::average::{Average, Averager};
use crate::sgd::method::{Guard, MISSING_SMOOTHNESS, Space};
use crate::sgd::optimize::{Progress, resume};
use crate::sgd::plan::{Plan, Promise};
use crate::sgd::subsample::Subsample;
use crate::target::Target;
use crate::target::evaluate::Evaluator;
use crate::target::expectations::Moments;
use crate::target::whiten::Through;
use crate::watch::checkpoint::{Checkpoint, Keeping, Mark};
pub use crate::watch::{Snapshot, Watch};
use space::{Dense, Family, Parameters, Walked};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// Most steps between two checks of the clock, and the time after which a check is overdue.
const LOOK_EVERY: u64 = 16;
const SLOW: Duration = Duration::from_millis(20);

/// Most points kept in a trace.
const TRACE_POINTS: u64 = 256;

/// The negative ELBO of an answer.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct NegElbo {
    /// f, with every constant of V and of the entropy.
    pub value: f64,
    /// An error bound if `exact`; otherwise a standard error, or an estimated quadrature error without a proof.
    pub error: f64,
    /// Whether it is computed by a closed form, or by a quadrature with a proved error.
    pub exact: bool,
}

/// "51.234567 (exact to 1e-10)" or "51.23 (estimated, standard error 0.02)".
impl std::fmt::Display for NegElbo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.6} ({})", self.value, self.grounds())
    }
}

impl NegElbo {
    /// A value with its error, which is a bound if it is `exact`.
    pub fn new(value: f64, error: f64, exact: bool) -> Self {
        Self { value, error, exact }
    }

    pub(crate) fn grounds(&self) -> String {
        let word = if self.exact { "exact to" } else { "estimated, standard error" };
        format!("{word} {:.1e}", self.error)
    }
}

/// An answer: q = N(m, CCᵀ) in the user's coordinates, and how it was reached.
///
/// q has a triangular factor whatever the method's factor space. `neg_elbo` is f(q) with every constant of the
/// target, so that −f(q) ≤ log p(x) if it is exact. `promise` is the bound promised before the run; how good q
/// really is, measurements at q must say. Memory: d(d+3)/2 numbers and a trace of about 256 points.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Fit {
    /// The names of the coordinates.
    pub names: Vec<String>,
    /// The answer q.
    pub gaussian: Gaussian<Triangular>,
    /// The negative ELBO f(q).
    pub neg_elbo: NegElbo,
    /// The family in which q was sought.
    pub pattern: Pattern,
    /// The method's name.
    pub method: String,
    /// Steps made.
    pub steps: u64,
    /// Whether fewer steps were made than planned.
    pub stopped_early: bool,
    /// Draws per step.
    pub draws_per_step: usize,
    /// How the draws of a step depend on each other.
    pub coupling: Coupling,
    /// How many terms each draw used, if not all.
    pub subsample: Option<Subsample>,
    /// Evaluations of log p with its gradient that led to the answer, including mode and coordinates but not the
    /// audit. B of N terms count as B/N of an evaluation.
    pub gradient_evaluations: u64,
    /// The seed.
    pub seed: Seed,
    /// Wall-clock seconds.
    pub seconds: f64,
    /// What the plan promised; without its value if the run stopped early.
    pub promise: Promise,
    /// The progress of the run at evenly spaced steps.
    pub trace: Vec<Snapshot>,
}

impl Fit {
    /// An answer that was found elsewhere: q itself, with its ELBO on this target ([`measure_neg_elbo`]).
    pub fn given(target: &dyn Target, q: &Gaussian<Triangular>, seed: Seed) -> Result<Self> {
        let begin = Instant::now();
        Ok(Self {
            neg_elbo: measure_neg_elbo(target, q, seed)?,
            names: target.names(),
            gaussian: q.clone(),
            pattern: Pattern::Full,
            method: "given".into(),
            steps: 0,
            stopped_early: false,
            draws_per_step: 0,
            coupling: Coupling::Independent,
            subsample: None,
            gradient_evaluations: 0,
            seed,
            seconds: begin.elapsed().as_secs_f64(),
            promise: Promise::none("the answer was given, not found by planned steps".into()),
            trace: Vec::new(),
        })
    }
}

impl Plan {
    /// Runs the plan on `&model`. Draws are evaluated in parallel if that pays ([`Evaluator`]). A plan with another base law
    /// than the normal is refused: its answer is no Gaussian ([`Plan::run_location_scale`]).
    pub fn run<'t>(&self, target: impl Into<Evaluator<'t>>, seed: Seed) -> Result<Fit> {
        self.run_with(target, seed, &mut Watch::default())
    }

    /// [`Plan::run`] with a watch, which sees progress, may stop the run, and saves or resumes checkpoints.
    pub fn run_with<'t>(
        &self,
        target: impl Into<Evaluator<'t>>,
        seed: Seed,
        watch: &mut Watch<'_>,
    ) -> Result<Fit> {
        if !self.base_law.is_gaussian() {
            return Err(Error::BaseLaw {
                law: self.base_law.to_string(),
                why: "the answer would be no Gaussian; run the plan with `run_location_scale`",
            });
        }
        self.run_location_scale_with(target, seed, watch)?.into_fit()
    }

    /// Runs the plan for any base law \[base-law\]. The answer of a normal law has the bits of [`Plan::run`].
    pub fn run_location_scale<'t>(
        &self,
        target: impl Into<Evaluator<'t>>,
        seed: Seed,
    ) -> Result<LocationScaleFit> {
        self.run_location_scale_with(target, seed, &mut Watch::default())
    }

    /// [`Plan::run_location_scale`] with a watch, as [`Plan::run_with`].
    pub fn run_location_scale_with<'t>(
        &self,
        target: impl Into<Evaluator<'t>>,
        seed: Seed,
        watch: &mut Watch<'_>,
    ) -> Result<LocationScaleFit> {
        let target = target.into();
        self.check(target.target())?;
        match &self.frame.factor {
            None => run(self, target, target.target(), seed, watch),
            Some(factor) => {
                let of_family = !self.pattern.is_full();
                let through = Through { center: &self.frame.center, factor, of_family };
                target.wrap(through, |view, _| run(self, view, target.target(), seed, watch))
            }
        }
    }

    fn check(&self, target: &dyn Target) -> Result<()> {
        if target.dim() != self.start.dim() {
            return Err(Error::Shape { what: "target", found: target.dim(), expected: self.start.dim() });
        }
        if self.method.guard() == Guard::Projection && self.smoothness.is_none() {
            return Err(MISSING_SMOOTHNESS);
        }
        Ok(())
    }
}

/// Runs `plan` in its own coordinates and returns the answer in the user's.
fn run(
    plan: &Plan,
    view: Evaluator<'_>,
    target: &dyn Target,
    seed: Seed,
    watch: &mut Watch<'_>,
) -> Result<LocationScaleFit> {
    let begin = Instant::now();
    let from = watch.from.as_ref().map(|from| from.step).filter(|step| *step > 0);
    let start = plan.start.clone();
    let outcome = match (plan.method.space(), plan.method.walk()) {
        (_, Some(walk)) => descend(&Walked(walk), plan, view, start.into_parameters(), seed, watch, begin)?,
        _ if !plan.pattern.is_full() => {
            let family = Family::new(plan)?;
            let w = family.parameters(&start);
            descend(&family, plan, view, w, seed, watch, begin)?
        }
        (Space::Triangular, None) => {
            descend(&Dense::<Triangular>::new(), plan, view, start.into_parameters(), seed, watch, begin)?
        }
        (Space::Symmetric, None) => {
            let w = start.to_symmetric()?.into_parameters();
            descend(&Dense::<Symmetric>::new(), plan, view, w, seed, watch, begin)?
        }
    };
    let q = LocationScale::of_shape(plan.base_law, plan.frame.restore(&outcome.gaussian));
    let measure = || located::neg_elbo_at_least(target, &q, seed);
    let neg_elbo = watch.signal(begin).map_or_else(measure, |signal| signal.cover(measure))?;
    let stopped_early = outcome.steps < plan.steps;
    let promise = if stopped_early {
        plan.promise.broken("the run stopped early: a bound holds only for a length fixed beforehand")
    } else {
        plan.promise.taken_up(from)
    };
    Ok(LocationScaleFit {
        names: target.names(),
        q,
        neg_elbo,
        pattern: plan.pattern.clone(),
        method: plan.method.to_string(),
        steps: outcome.steps,
        stopped_early,
        draws_per_step: plan.draws,
        coupling: plan.coupling,
        subsample: plan.subsample,
        gradient_evaluations: plan.evaluations + outcome.evaluations,
        seed,
        seconds: outcome.seconds,
        promise,
        trace: outcome.trace,
    })
}

struct Outcome {
    gaussian: Gaussian<Triangular>,
    steps: u64,
    evaluations: u64,
    trace: Vec<Snapshot>,
    seconds: f64,
}

/// A run is made in stretches of at least this many steps. Between two stretches its state is plain numbers.
const STRETCH: u64 = 1024;

/// Runs the estimator and the operator of the plan's method through [`resume`], stretch by stretch, from w.
fn descend(
    space: &dyn Parameters,
    plan: &Plan,
    view: Evaluator<'_>,
    mut w: Vec<f64>,
    seed: Seed,
    watch: &mut Watch<'_>,
    begin: Instant,
) -> Result<Outcome> {
    let d = plan.start.dim();
    // Start inside the set: the noise bound is used at w_0.
    space.operator(plan, d)?.apply(&mut w, 0.0, &space::UNKNOWN)?;
    let w = &mut w[..];
    let mut average = Averager::new(plan.average, w.len())?;
    let from = watch.from.take();
    let keeper = watch.keeper.take();
    let signal = watch.signal(begin);
    let mut recorder = Recorder::new(plan.steps, plan.base_law.entropy_of(d), watch, begin);
    let stretch = recorder.every * STRETCH.div_ceil(recorder.every);
    let (mut steps, mut before, mark) = (0, 0.0, mark(plan, seed));
    // What the sizes of later steps owe to earlier ones.
    let mut memory = Vec::new();
    if let Some(from) = from {
        from.check()?;
        from.check_mark(&mark)?;
        // Checkpoints are made between stretches and after the last step.
        let whole = from.step < plan.steps && from.step.is_multiple_of(stretch) || from.step == plan.steps;
        let points = from.step / recorder.every
            + u64::from(from.step == plan.steps && !from.step.is_multiple_of(recorder.every));
        let traced = from.trace.len() as u64 == points && from.trace.iter().all(|at| at.steps == plan.steps);
        if from.parameters.len() != w.len() || !whole || !traced {
            return Err(Error::Checkpoint { what: "is that of another plan" });
        }
        space
            .check_domain(d, &from.parameters[d..])
            .map_err(|_| Error::Checkpoint { what: "holds no Gaussian" })?;
        average.restore(&from.average, from.step)?;
        w.copy_from_slice(&from.parameters);
        space.start(plan, view, seed, d)?.remember(&from.memory)?;
        (steps, before, recorder.trace, memory) = (from.step, from.seconds, from.trace, from.memory);
    }
    let mut gammas = plan.schedule.stepper_from(steps);
    let mut keeping = Keeping::new(keeper, begin, before);
    let place =
        |step, w: &[f64], memory: &[f64], average: &Averager, trace: &[Snapshot], seconds| Checkpoint {
            step,
            parameters: w.to_vec(),
            memory: memory.to_vec(),
            average: average.state(),
            trace: trace.to_vec(),
            seconds,
            mark: Some(mark.clone()),
        };
    keeping.stand(|seconds| place(steps, w, &memory, &average, &recorder.trace, seconds));
    while steps < plan.steps {
        let (first, end) = (steps, (steps + stretch).min(plan.steps));
        let mut problem = space.start(plan, view, seed, d)?;
        problem.remember(&memory)?;
        let see = &mut |p: &Progress<'_>| recorder.see(space, d, p);
        let mut go = || resume(&mut *problem, w, &mut gammas, &mut average, first..end, see);
        // A step that is cut off between two evaluations is not made.
        steps += match &signal {
            Some(signal) => signal.steps("the steps", go)?,
            None => go()?,
        };
        memory = problem.memory();
        // A stretch that was cut short starts again.
        if steps == end {
            keeping.stand(|seconds| place(steps, w, &memory, &average, &recorder.trace, seconds));
        }
        keeping.save(steps < end);
        if let Some(error) = recorder.lost.take() {
            return Err(error);
        }
        if steps < end {
            break;
        }
    }
    let answer = average.finish(w)?;
    if answer.iter().any(|x| !x.is_finite()) {
        return Err(Error::Diverged { step: steps, gamma: plan.schedule.at(steps.saturating_sub(1)) });
    }
    // A plan without noise has no draws.
    let points = steps * plan.draws as u64;
    let evaluations = match &plan.law {
        // Rounded up, and in 128 bits: a long run may use more terms than 64 bits can count.
        Some(law) => {
            let terms = u128::from(points) * law.subsample().terms as u128;
            terms.div_ceil(law.count() as u128) as u64
        }
        None => points,
    };
    let seconds = keeping.seconds();
    Ok(Outcome { gaussian: space.answer(d, answer)?, steps, evaluations, trace: recorder.trace, seconds })
}

/// Identifies a run of this plan among runs with as many coordinates.
fn mark(plan: &Plan, seed: Seed) -> Mark {
    let (average, discount) = match plan.average {
        Average::Discounted { discount, includes_start } => {
            (format!("discounted {includes_start}"), discount)
        }
        other => (format!("{other:?}"), 0.0),
    };
    let mut words = format!(
        "{} {} {} {:?} {:?} {average} {}",
        plan.method, plan.steps, plan.draws, plan.subsample, plan.frame.coordinates, seed.0
    );
    if !plan.pattern.is_full() {
        words = format!("{words} {}", plan.pattern);
    }
    if !plan.base_law.is_gaussian() {
        words = format!("{words} {}", plan.base_law);
    }
    if plan.coupling != Coupling::Independent {
        words = format!("{words} {}", plan.coupling);
    }
    // Early steps only: some schedules must compute all earlier steps to reach a later one.
    let gammas = [0, plan.steps.saturating_sub(1).min(1000)].map(|t| plan.schedule.at(t).ln());
    let start = [norm(plan.start.mean()), norm(plan.start.factor())];
    let numbers = [plan.smoothness.unwrap_or(0.0), discount];
    Mark::new(&words, [gammas, start, numbers].concat())
}

/// Collects the trace at evenly spaced steps and passes snapshots to the watch.
struct Recorder<'w, 'a> {
    watch: &'w mut Watch<'a>,
    begin: Instant,
    every: u64,
    /// When the clock was last read, and how many steps lie between two readings.
    looked: (Instant, u64, u64),
    steps: u64,
    /// What the entropy of q adds to log det C.
    entropy: f64,
    sum: f64,
    count: u64,
    trace: Vec<Snapshot>,
    /// Why the processes of this run could not agree.
    lost: Option<Error>,
}

impl<'w, 'a> Recorder<'w, 'a> {
    fn new(steps: u64, entropy: f64, watch: &'w mut Watch<'a>, begin: Instant) -> Self {
        let every = steps.div_ceil(TRACE_POINTS).max(1);
        let trace = Vec::with_capacity(TRACE_POINTS as usize + 1);
        Self {
            watch,
            begin,
            every,
            looked: (begin, 0, 1),
            steps,
            entropy,
            sum: 0.0,
            count: 0,
            trace,
            lost: None,
        }
    }

    /// Whether to read clock and flag: after every step if steps are slow, after every sixteenth if they are fast.
    /// Processes that share a run agree on this, so that all of them check after the same steps.
    fn is_due(&mut self, made: u64) -> bool {
        let (last, at, between) = self.looked;
        if made < at + between {
            return false;
        }
        let slow = self.settle(last.elapsed() >= SLOW).is_break();
        self.looked = (Instant::now(), made, if slow { 1 } else { (2 * between).min(LOOK_EVERY) });
        true
    }

    fn see(&mut self, space: &dyn Parameters, dim: usize, progress: &Progress<'_>) -> ControlFlow<()> {
        if let Some(value) = progress.moved.value {
            self.sum += value;
            self.count += 1;
        }
        let made = progress.t + 1;
        let due = self.is_due(made);
        if self.lost.is_some() || due && self.settle(self.watch.wants_stop(self.begin)).is_break() {
            return ControlFlow::Break(());
        }
        if !made.is_multiple_of(self.every) && made != self.steps {
            return ControlFlow::Continue(());
        }
        let entropy = space.log_det(dim, &progress.w[dim..]).unwrap_or(f64::NAN) + self.entropy;
        let neg_elbo = self.sum / self.count.max(1) as f64 - entropy;
        let snapshot = Snapshot { step: made, steps: self.steps, gamma: progress.gamma, neg_elbo, gap: None };
        (self.sum, self.count) = (0.0, 0);
        self.trace.push(snapshot);
        let stop = self.watch.show(&snapshot).is_break();
        self.settle(stop)
    }

    /// An error ends the steps now and the run after them.
    fn settle(&mut self, stop: bool) -> ControlFlow<()> {
        self.watch.settle(stop).unwrap_or_else(|error| {
            self.lost = Some(error);
            ControlFlow::Break(())
        })
    }
}

/// f(q): exact if the target has exact expectations, otherwise from 1000 fresh draws. For an answer that was found
/// elsewhere; a [`Fit`] already has it.
pub fn measure_neg_elbo(target: &dyn Target, q: &Gaussian<Triangular>, seed: Seed) -> Result<NegElbo> {
    if q.dim() != target.dim() {
        return Err(Error::Shape { what: "gaussian", found: q.dim(), expected: target.dim() });
    }
    if let Some(standard) = target.standardized()? {
        return measure_neg_elbo(standard.target(), &standard.map().standard_gaussian(q), seed);
    }
    if let Some(expectations) = target.expectations() {
        let mut moments = Moments::new(q.dim());
        expectations.expect(q, &mut moments)?;
        let exact = moments.provenance == crate::target::curvature::Provenance::Proved;
        return Ok(NegElbo { value: moments.neg_elbo(q)?, error: moments.neg_elbo_error(q), exact });
    }
    neg_elbo_by_draws(target, q, BaseLaw::Gaussian, seed, MEASURED)
}

/// Draws for the ELBO of an answer.
const MEASURED: usize = 1000;

/// f(q) where the answer must not be lost: if the measurement is cut off or fails, returns what is `known` already,
/// or an estimate from few draws.
pub(crate) fn neg_elbo_at_least(
    target: &dyn Target,
    q: &Gaussian<Triangular>,
    seed: Seed,
    known: Option<NegElbo>,
) -> Result<NegElbo> {
    let by_draws = |count| neg_elbo_by_draws(target, q, BaseLaw::Gaussian, seed, count);
    at_least(|| measure_neg_elbo(target, q, seed), by_draws, known)
}

/// The measurement, or if it is cut off one by few draws.
fn at_least(
    measure: impl FnOnce() -> Result<NegElbo>,
    by_draws: impl Fn(usize) -> Result<NegElbo>,
    known: Option<NegElbo>,
) -> Result<NegElbo> {
    /// Number of draws if there is little time, and the fewest that have a standard error.
    const FEW: usize = 16;
    const FEWEST: usize = 2;
    match (phase("the measurement of the ELBO", measure), known) {
        (Ok(measured), known) if known.is_none() || measured.value.is_finite() => Ok(measured),
        (Err(error @ Error::Reduce { .. }), _) => Err(error),
        (_, Some(known)) => Ok(known),
        (Err(Error::Stopped { .. }), None) => {
            phase("the measurement of the ELBO", || by_draws(FEW)).or_else(|_| by_draws(FEWEST))
        }
        (failed, None) => failed,
    }
}

/// f of the law of m + Cu, (m, C) the shape of `q`.
fn neg_elbo_by_draws(
    target: &dyn Target,
    q: &Gaussian<Triangular>,
    law: BaseLaw,
    seed: Seed,
    count: usize,
) -> Result<NegElbo> {
    let draws = Draws::new(seed, Purpose::Audit).of(law);
    let (d, batch) = (q.dim(), target.batch().clamp(1, count));
    let (mut u, mut z, mut g) = (vec![0.0; batch * d], vec![0.0; batch * d], vec![0.0; batch * d]);
    let (mut values, mut scratch) = (vec![0.0; batch], Scratch::default());
    let (mut mean, mut square) = (0.0, 0.0);
    for first in (0..count).step_by(batch) {
        check()?;
        let size = batch.min(count - first);
        let (u, z, values) = (&mut u[..size * d], &mut z[..size * d], &mut values[..size]);
        for (k, u) in u.chunks_exact_mut(d).enumerate() {
            draws.fill((first + k) as u64, 0, u);
        }
        q.transport(u, z);
        target.log_densities(z, values, &mut g[..size * d], &mut scratch)?;
        for (k, (u, value)) in u.chunks_exact(d).zip(values.iter()).enumerate() {
            // −log p + log q at the same point: if q = p, every draw gives the same number.
            let excess = match law {
                BaseLaw::Gaussian => 0.5 * (d as f64 - provi_kernels::dot(u, u)),
                law => u.iter().map(|&u| law.log_density(u)).sum::<f64>() + law.entropy_of(d),
            };
            let value = -value + excess;
            let delta = value - mean;
            mean += delta / (first + k + 1) as f64;
            square += delta * (value - mean);
        }
    }
    let error = (square / (count * (count - 1)) as f64).sqrt();
    let neg_entropy = -q.log_det()? - law.entropy_of(d);
    Ok(NegElbo { value: mean + neg_entropy, error, exact: false })
}

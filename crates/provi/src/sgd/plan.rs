//! Planning: target + method + (accuracy or steps) → T, γ_t, average, and the bound that they promise, before any
//! draw.

mod adaptive;
mod comparison;
mod coordinates;
mod promise;
mod setting;
mod start;
mod terms;

pub use comparison::Needed;
pub use coordinates::{Coordinates, Frame};
pub use promise::{Constants, Norm, Promise, Said};

use crate::base::base_law::BaseLaw;
use crate::base::coupling::Coupling;
use crate::base::error::{Error, Result};
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::pattern::{Pattern, precision_of};
use crate::sgd::average::Average;
use crate::sgd::estimator::Control;
use crate::sgd::memory::{Forecast, Size};
use crate::sgd::method::{Choice, MISSING_SMOOTHNESS, Method, noise_base};
use crate::sgd::step::Ball;
use crate::sgd::subsample::{Law, Sampling, Subsample};
use crate::target::curvature::Curvature;
use crate::target::mode::{Mode, find_mode, laplace};
use crate::target::{Target, trusted_curvature};
use crate::theory::rate;
use crate::theory::recursion::{Contraction, Recursion};
use crate::theory::schedule::{Schedule, StepKind};
use adaptive::Aim;
use setting::Setting;
use std::ops::Deref;
use std::sync::Arc;
use terms::DrawnTerms;

/// The most steps of a plan.
pub const MOST_STEPS: u64 = 1_000_000_000_000;

/// What to plan: a method, and options with defaults.
///
/// Planning finds the mode and the Laplace factor, transforms the target's curvature into the chosen coordinates,
/// and bounds e_0 ≥ ‖w_0 − w*‖². The rest is `theory`: constants in, steps and a promise out. Cost: a mode (a few
/// dozen evaluations of the target), some factorisations of d × d matrices, and at most a few million scalar
/// operations. No draw is made.
///
/// | to plan | gives |
/// |---|---|
/// | [`Planner::to_distance`] | the shortest proved run to an accuracy \[schedule-optimal\] |
/// | [`Planner::to_steps`] | the best proved bound for a number of steps |
/// | [`Planner::with_schedule`] | your own steps, with the bound that the recursion gives for them \[recursion\] |
/// | [`Planner::convex`] | a bound on E f(w̄_T) − f*, also for μ = 0 \[rate-prox-convex\], [rate-proj-adaptive] |
/// | [`Planner::practical`] | steps that work in practice, mostly larger than the theorems cover |
///
/// ```
/// use provi::{Design, Method, Planner, Seed, target::{Glm, Prior}};
///
/// let design = Design::dense(4, 2, &[0.5, 1.0, -1.5, 0.3, 0.9, 2.0, -0.7, 0.1])?;
/// let target = Glm::linear(design, &[0.2, -1.0, 2.1, -0.4], 1.0, Prior::precision(1.0)?)?;
/// let plan = Planner::new(Method::ProxEnergy).to_distance(&target, 0.05)?;   // before any draw
/// let fit = plan.run(&target, Seed(7))?;
/// assert_eq!(fit.steps, plan.steps);
/// # Ok::<(), provi::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Planner {
    method: Method,
    draws: Option<usize>,
    coordinates: Option<Coordinates>,
    start: Option<Vec<f64>>,
    radius: Option<f64>,
    memory: Option<u64>,
    subsample: Option<Subsample>,
    pattern: Pattern,
    base_law: BaseLaw,
    coupling: Coupling,
}

impl Planner {
    /// A planner for one method.
    pub fn new(method: Method) -> Self {
        Self {
            method,
            draws: None,
            coordinates: None,
            start: None,
            radius: None,
            memory: None,
            subsample: None,
            pattern: Pattern::Full,
            base_law: BaseLaw::Gaussian,
            coupling: Coupling::Independent,
        }
    }

    /// Restricts q to a family, and w* to its best member \[pattern\].
    ///
    /// The steps hold and move only the entries of the pattern, their noise counts fewer dimensions, and the promise
    /// is about the best Gaussian *of the family*. Coordinates are those that keep the pattern: the family's own factor
    /// for H_lo (or for ∇²V at the mode), and a scale for each coordinate where a product would leave the pattern.
    pub fn pattern(mut self, pattern: Pattern) -> Self {
        self.pattern = pattern;
        self
    }

    /// Seeks the best q = law of m + Cu, C lower triangular, with this law of u in place of the normal one \[base-law\].
    ///
    /// The noise bounds have d + κ in place of d + 3, and the promise is about the best member *of that family*, in this order
    /// of the coordinates: it is not the best Gaussian. Only `prox-energy`, `proj-entropy-triangular` and their controlled forms are
    /// proved ([`Method::check_law`]). Such a plan is run with [`Plan::run_location_scale`], and its answer has no certificate.
    pub fn base_law(mut self, law: BaseLaw) -> Self {
        self.base_law = law;
        self
    }

    /// Sets the draws per step (default: 1 for a proved plan, [`PRACTICAL_DRAWS`] for a practical one).
    pub fn draws(mut self, draws: usize) -> Self {
        self.draws = Some(draws);
        self
    }

    /// Makes the draws of a step depend on each other (default: independent) [noise-coupled].
    ///
    /// A plan with a promise counts N antithetic draws as N/2 independent ones, N draws of a Latin hypercube as N − 1, and scrambled
    /// Sobol' points as one, whatever their number: so much is proved. Practical steps have the same sizes for every coupling.
    pub fn coupling(mut self, coupling: Coupling) -> Self {
        self.coupling = coupling;
        self
    }

    /// Makes every draw use `terms` of the target's N terms instead of all, chosen as `sampling` says
    /// [noise-subsample].
    ///
    /// The plan's constants become those of the subsampled estimator, so its promise holds. It needs more steps,
    /// each cheaper by the factor N/`terms`. Besides the curvature, planning needs a smoothness M_n of each term,
    /// and one pass over the terms for their gradients at the mode. `Sampling::Reshuffle` makes the same steps as
    /// `Uniform` and has no promise. Audits and the ELBO of an answer always use the whole target.
    pub fn subsample(mut self, terms: usize, sampling: Sampling) -> Self {
        self.subsample = Some(Subsample { terms, sampling });
        self
    }

    /// Sets the coordinates of the steps, and so the norm of the promise.
    pub fn coordinates(mut self, coordinates: Coordinates) -> Self {
        self.coordinates = Some(coordinates);
        self
    }

    /// Sets where the search for the mode begins (default: the origin).
    pub fn start(mut self, start: &[f64]) -> Self {
        self.start = Some(start.to_vec());
        self
    }

    /// Declares an upper bound of ‖w_0 − w*‖ and ‖w* − w̄‖, which the convex rates need if μ = 0.
    ///
    /// For an adaptive method it is the radius of the ball around (z̃, 0), z̃ the computed mode, that its steps do not leave. Nothing
    /// is assumed about w* then: the bound is about the best (m, C) of that ball, which is w* if the ball holds it.
    pub fn radius(mut self, radius: f64) -> Self {
        self.radius = Some(radius);
        self
    }

    /// Refuses, before anything large is allocated, a run that needs more than this many bytes on top of the
    /// target's data ([`crate::memory`]). An audit after the run is not counted.
    pub fn memory_budget(mut self, bytes: u64) -> Self {
        self.memory = Some(bytes);
        self
    }

    /// The shortest proved run with E‖w_T − w*‖² ≤ `accuracy`, in the norm of the coordinates.
    pub fn to_distance(&self, target: &dyn Target, accuracy: f64) -> Result<Plan> {
        let setting = self.setting(target, Coordinates::Curvature)?;
        if self.method.is_adaptive() {
            return self.plan_adaptive(setting, Aim::Distance(accuracy));
        }
        let constants = setting.constants(self)?;
        let start = constants.start;
        match self.method {
            Method::Exact => {
                let contraction = Contraction::prox(constants.convexity, constants.smoothness)?;
                let steps = constants.exact_steps_to(accuracy)?;
                self.finish_distance(
                    setting,
                    constants,
                    Schedule::constant(contraction.optimal_gamma())?,
                    steps,
                )
            }
            _ => {
                let recursion = Recursion::new(constants.convexity, constants.noise)?;
                let steps = recursion.steps_to(start, accuracy, MOST_STEPS)?;
                let schedule = recursion.optimal_schedule(start.max(f64::MIN_POSITIVE))?;
                self.finish_distance(setting, constants, schedule, steps)
            }
        }
    }

    /// The proved run of `steps` steps with the smallest bound on E‖w_T − w*‖².
    pub fn to_steps(&self, target: &dyn Target, steps: u64) -> Result<Plan> {
        let setting = self.setting(target, Coordinates::Curvature)?;
        if self.method.is_adaptive() {
            return self.plan_adaptive(setting, Aim::Steps(steps));
        }
        let constants = setting.constants(self)?;
        let start = constants.start;
        let schedule = match self.method {
            Method::Exact => Schedule::constant(
                Contraction::prox(constants.convexity, constants.smoothness)?.optimal_gamma(),
            )?,
            _ => Recursion::new(constants.convexity, constants.noise)?
                .optimal_schedule(start.max(f64::MIN_POSITIVE))?,
        };
        self.finish_distance(setting, constants, schedule, steps)
    }

    /// A run with the caller's own steps. The promise is the bound that the recursion gives for them, if any.
    pub fn with_schedule(&self, target: &dyn Target, schedule: Schedule, steps: u64) -> Result<Plan> {
        schedule.check()?;
        if schedule.is_set_by_draws() || self.method.follows_draws() {
            let why = "the draws decide these steps: use proj-adaptive, proj-adaptive-stl or dowg without a schedule";
            return Err(Error::Pairing { why });
        }
        let setting = self.setting(target, Coordinates::Curvature)?;
        match setting.constants(self) {
            Ok(constants) => self.finish_distance(setting, constants, schedule, steps),
            Err(error) if matches!(self.method, Method::Unproven(_)) => {
                let average = Average::Last;
                self.assemble(setting, None, schedule, average, steps, Promise::none(error.to_string()))
            }
            Err(error) => Err(error),
        }
    }

    /// The convex mode: γ = 1/√(aT) or √(2/(aT)), θ-averages, and a bound on E f(w̄_T) − f*. For μ = 0 it needs a
    /// declared radius. An adaptive method knows neither its noise nor ‖w_0 − w*‖: a ball is enough.
    pub fn convex(&self, target: &dyn Target, steps: u64) -> Result<Plan> {
        let setting = self.setting(target, Coordinates::Original)?;
        if self.method.is_adaptive() {
            return self.plan_adaptive(setting, Aim::Gap(steps));
        }
        let constants = setting.single_draw_constants(self)?;
        let start = constants.start;
        let kind = self.method.step_kind();
        let schedule = Schedule::convex(kind, constants.noise.growth, constants.smoothness, steps)?;
        let gamma = schedule.at(0);
        let (average, value) = match kind {
            StepKind::Prox => (
                Average::prox(constants.noise.growth, gamma)?,
                rate::prox_convex(constants.smoothness, constants.noise, start, steps)?,
            ),
            StepKind::Proj => (
                Average::proj(constants.noise.growth, gamma)?,
                rate::proj_convex(constants.noise, start, steps)?,
            ),
        };
        let key = if kind == StepKind::Prox { "rate-prox-convex" } else { "rate-proj-convex" };
        let promise = Promise::gap(value, key, constants.provenance);
        self.assemble(setting, Some(constants), schedule, average, steps, promise)
    }

    /// Steps that work in practice: Laplace coordinates, a step size suited to the local curvature, decay,
    /// averaging. They are larger than the theorems cover on all but the best-conditioned targets; the promise then
    /// says so.
    pub fn practical(&self, target: &dyn Target, steps: Option<u64>) -> Result<Plan> {
        let setting = Setting { for_practice: true, ..self.setting(target, Coordinates::Laplace)? };
        let base = noise_base(&self.pattern, self.base_law, target.dim())?;
        let (d, weight) = (base.dim() as f64, base.factor_weight()?);
        let steps = steps.unwrap_or(PRACTICAL_STEPS);
        if self.method.is_adaptive() {
            return self.plan_adaptive(setting, Aim::Steps(steps));
        }
        if self.method.follows_draws() {
            return self.plan_travelled(setting, steps);
        }
        let draws = setting.draws as f64;
        // In Laplace coordinates ∇²V ≈ I near the mode, where a = O(1 + (d+κ)/N) and b = O(d(d+κ)/N).
        let gamma = match self.method {
            Method::Exact => {
                1.0 / setting.curvature.as_ref().and_then(Curvature::smoothness).ok_or(MISSING_SMOOTHNESS)?
            }
            _ => {
                0.5 / (1.0
                    + weight * (1.0 + setting.terms.as_ref().map_or(0.0, |terms| terms.practical_spread(d)))
                        / draws)
            }
        };
        let (schedule, average) = match self.method.walk() {
            None => {
                let schedule = Schedule::practical(gamma, steps / 10, steps.max(1) as f64 / 100.0)?;
                (schedule, Average::Polynomial { power: 3.0 })
            }
            Some(walk) => {
                (walk.practical_schedule(gamma, steps, setting.draws, target.dim())?, Average::Last)
            }
        };
        let constants = setting.constants(self).ok();
        let promise = match (&constants, self.method) {
            (None, Method::Unproven(recipe)) => Promise::none(recipe.reason()),
            (Some(constants), _) => {
                promise::of_steps(self.method, constants, &schedule, average, steps, setting.frame.norm())
            }
            (None, _) => Promise::none("the target gives no μ > 0 and M to price the steps with".into()),
        };
        self.assemble(setting, constants, schedule, average, steps, promise)
    }

    fn setting(&self, target: &dyn Target, default: Coordinates) -> Result<Setting> {
        self.pattern.check(target.dim())?;
        self.method.check_pattern(&self.pattern)?;
        self.method.check_law(self.base_law)?;
        self.method.check_coupling(self.coupling)?;
        self.coupling.check_law(self.base_law)?;
        let draws = match self.method {
            Method::Exact => 0,
            _ => self.draws.unwrap_or(if default == Coordinates::Laplace { PRACTICAL_DRAWS } else { 1 }),
        };
        if draws == 0 && self.method != Method::Exact {
            return Err(Error::OutOfRange { what: "draws per step", value: 0.0, needed: "at least 1" });
        }
        if self.method == Method::Exact && target.expectations().is_none() {
            return Err(Error::MissingConstant {
                wanted: "method `exact`",
                constant: "expectations by one-dimensional integrals",
                way_out: "use a linear-predictor model, or a method that draws",
            });
        }
        if self.subsample.is_some() {
            self.method.check_subsampled()?;
        }
        let size = Size { draws, audit: false, subsample: self.subsample, ..Size::of(target) };
        Forecast::new(Choice::Planned(self.method), &size).check(self.memory)?;
        let curvature = trusted_curvature(target)?;
        if !matches!(self.method, Method::Unproven(_))
            && curvature.as_ref().is_none_or(|c| c.smoothness().is_none())
        {
            return Err(MISSING_SMOOTHNESS);
        }
        let zeros = vec![0.0; target.dim()];
        let mode = find_mode(target, self.start.as_deref().unwrap_or(&zeros))?;
        let mut evaluations = mode.evaluations;
        let local = laplace(target, &mode)?;
        evaluations += local.evaluations;
        let coordinates = self.coordinates.unwrap_or(default);
        // The factor of the family that is nearest to the Laplace approximation, where steps begin.
        let nearest = match self.pattern {
            Pattern::Full => local.gaussian.factor().to_vec(),
            _ => {
                let precision = precision_of(target.dim(), local.gaussian.factor())?;
                self.pattern.entries(target.dim())?.best_factor(&precision)?
            }
        };
        let frame =
            Frame::new(coordinates, &mode, local.gaussian.factor(), curvature.as_ref(), &self.pattern)?;
        let (curvature, start, error) =
            frame.view(target, &mode, &nearest, curvature, self.method.space())?;
        // The exact gradient is that of the Gaussian family.
        let error = error.filter(|_| self.base_law.is_gaussian());
        let terms = match self.subsample {
            Some(subsample) => Some(DrawnTerms::new(target, subsample, &frame)?),
            None => None,
        };
        let for_practice = false;
        Ok(Setting {
            mode,
            evaluations,
            frame,
            curvature,
            start,
            exact_start: error,
            draws,
            counted: self.coupling.counted(draws.max(1)),
            terms,
            for_practice,
        })
    }

    fn finish_distance(
        &self,
        setting: Setting,
        constants: Constants,
        schedule: Schedule,
        steps: u64,
    ) -> Result<Plan> {
        let norm = setting.frame.norm();
        let promise = promise::of_steps(self.method, &constants, &schedule, Average::Last, steps, norm);
        self.assemble(setting, Some(constants), schedule, Average::Last, steps, promise)
    }

    fn assemble(
        &self,
        setting: Setting,
        constants: Option<Constants>,
        schedule: Schedule,
        average: Average,
        steps: u64,
        promise: Promise,
    ) -> Result<Plan> {
        if steps > MOST_STEPS {
            let (value, needed) = (steps as f64, "at most 10¹²");
            return Err(Error::OutOfRange { what: "steps", value, needed });
        }
        // Within an epoch, the next terms depend on the earlier ones: not unbiased, and not covered by any bound
        // here.
        let reshuffled = self.subsample.is_some_and(|s| s.sampling == Sampling::Reshuffle);
        let (constants, promise) = if reshuffled {
            let reason = "reshuffled epochs: the bounds are for terms drawn independently of each other";
            (None, Promise::none(reason.into()))
        } else {
            (constants, promise)
        };
        let control = match self.method.is_controlled() {
            true => Some(setting.control()?),
            false => None,
        };
        Ok(Plan(Outline {
            control,
            ball: None,
            method: self.method,
            pattern: self.pattern.clone(),
            base_law: self.base_law,
            coupling: self.coupling,
            steps,
            draws: setting.draws,
            subsample: self.subsample,
            law: setting.terms.as_ref().map(|terms| Arc::clone(&terms.law)),
            schedule,
            average,
            promise,
            constants,
            frame: setting.frame,
            start: setting.start,
            smoothness: setting.curvature.as_ref().and_then(Curvature::smoothness),
            mode: setting.mode,
            evaluations: setting.evaluations,
        }))
    }
}

/// Default draws per step of a practical plan.
pub const PRACTICAL_DRAWS: usize = 10;

/// Default steps of a practical plan.
pub const PRACTICAL_STEPS: u64 = 20_000;

/// A run planned before its first draw: w_0, T, γ_0 … γ_{T−1}, which average of the iterates is the answer, and the
/// bound promised for it. A plan is plain data about one target. Two runs with the same seed give the same bits.
///
/// Cost of a step: N evaluations of the target, N passes over the d(d+1)/2 entries of C, and the method's operator
/// ([`Method`]).
///
/// Its contents can be read ([`Outline`]) but not changed: the promise holds for these steps and no others.
///
/// ```compile_fail,E0594
/// fn forge(mut plan: provi::Plan) -> provi::Result<()> {
///     plan.schedule = provi::Schedule::constant(0.5)?; // the promise would then be about other steps
///     Ok(())
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Plan(Outline);

impl Deref for Plan {
    type Target = Outline;

    fn deref(&self) -> &Outline {
        &self.0
    }
}

/// The contents of a [`Plan`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Outline {
    /// The method.
    pub method: Method,
    /// The family of q; w* is its best member.
    pub pattern: Pattern,
    /// The law of u in q = law of m + Cu; w* is the best of that family.
    pub base_law: BaseLaw,
    /// The number of steps T.
    pub steps: u64,
    /// The draws per step N; 0 for a method that does not draw.
    pub draws: usize,
    /// How the draws of a step depend on each other.
    pub coupling: Coupling,
    /// How many terms each draw uses, if not all.
    pub subsample: Option<Subsample>,
    /// How the terms are drawn, in the coordinates of the steps.
    pub(crate) law: Option<Arc<Law>>,
    /// The step sizes γ_t.
    pub schedule: Schedule,
    /// Which average of the iterates is the answer.
    pub average: Average,
    /// What the run promises.
    pub promise: Promise,
    /// The numbers behind the promise, if they are known.
    pub constants: Option<Constants>,
    /// The coordinates of the steps.
    pub(crate) frame: Frame,
    /// The start w_0, in those coordinates.
    pub(crate) start: Gaussian<Triangular>,
    /// The smoothness M in those coordinates.
    pub(crate) smoothness: Option<f64>,
    /// The quadratic that controls the draws, in those coordinates.
    pub(crate) control: Option<Control>,
    /// The ball that the steps do not leave, in those coordinates.
    pub(crate) ball: Option<Ball>,
    /// The mode of the posterior.
    pub mode: Mode,
    /// Evaluations of the target spent on mode and coordinates.
    pub evaluations: u64,
}

impl Plan {
    /// The same steps with another average of the iterates as the answer, and the bound that the recursion gives
    /// for it, if any.
    pub fn with_average(self, average: Average) -> Self {
        let plan = self.0;
        if average == plan.average {
            return Self(plan);
        }
        let promise = match &plan.constants {
            Some(constants) => {
                let norm = plan.frame.norm();
                promise::of_steps(plan.method, constants, &plan.schedule, average, plan.steps, norm)
            }
            None => Promise::none("no constants are known to price another average with".into()),
        };
        Self(Outline { average, promise, ..plan })
    }

    /// The coordinates of the steps.
    pub fn coordinates(&self) -> Coordinates {
        self.frame.coordinates
    }
}

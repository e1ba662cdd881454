//! Plans of steps that the draws decide: a ball instead of step sizes [rate-proj-adaptive].

use super::promise::{Constants, Norm, Promise};
use super::setting::Setting;
use super::{MOST_STEPS, Plan, Planner};
use crate::base::error::{Error, Result};
use crate::sgd::average::Average;
use crate::sgd::estimator::Kind;
use crate::sgd::method::noise_base;
use crate::sgd::optimize::first_reach;
use crate::sgd::step::Ball;
use crate::theory::noise::NoiseBound;
use crate::theory::schedule::Schedule;
use crate::theory::{ball, rate};

/// What a plan of adaptive steps is for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Aim {
    /// E‖w̄_T − w*‖² ≤ this.
    Distance(f64),
    /// A bound on E‖w̄_T − w*‖² for so many steps, or on the gap where μ = 0.
    Steps(u64),
    /// A bound on E f(w̄_T) − f* for so many steps.
    Gap(u64),
}

/// The set of the steps, and what is known about gradients on it.
struct Region {
    ball: Ball,
    /// D².
    diameter2: f64,
    /// Bounds of the noise; all of them hold.
    noise: Vec<NoiseBound>,
    /// Whether the ball is declared, so that nothing says that it holds w*.
    declared: bool,
}

impl Region {
    /// The declared ball, or the one that is proved to hold w*.
    fn new(planner: &Planner, setting: &Setting, declared: Option<f64>) -> Result<Self> {
        let (curvature, smoothness) = setting.smooth()?;
        let (d, convexity) = (curvature.dim(), curvature.convexity());
        let gradient_norm = setting.frame.gradient_norm(&setting.mode);
        let radius = match declared {
            Some(radius) => radius,
            None if convexity > 0.0 => ball::optimum_radius(d, convexity, gradient_norm)?,
            None => {
                return Err(Error::MissingConstant {
                    wanted: "a ball for adaptive steps",
                    constant: "a radius: nothing bounds ‖w* − (z̄, 0)‖ when μ = 0",
                    way_out: "declare one with `Planner::radius`, or use a proper prior",
                });
            }
        };
        let draws = setting.counted;
        let base = noise_base(&planner.pattern, planner.base_law, d)?;
        let everywhere = match planner.method.estimator() {
            Some(Kind::Stl) => ball::stl(d, smoothness, radius, gradient_norm, draws)?,
            _ => ball::entropy(base, smoothness, radius, gradient_norm, draws)?,
        };
        let mut noise = vec![everywhere];
        if declared.is_none() {
            noise.push(planner.method.noise_within(&planner.pattern, planner.base_law, curvature, draws)?);
        }
        Ok(Self {
            diameter2: ball::diameter2(d, smoothness, radius)?,
            ball: Ball { centre: setting.centre(), radius },
            noise,
            declared: declared.is_some(),
        })
    }

    /// The bound on E f(w̄_T) − f*, and the noise behind it. For a declared ball μ is not used: f* is the least value on the ball.
    fn gap(&self, convexity: f64, steps: u64) -> Result<(f64, NoiseBound)> {
        let convexity = if self.declared { 0.0 } else { convexity };
        let mut best: Option<(f64, NoiseBound)> = None;
        for &noise in &self.noise {
            let value = rate::proj_adaptive(convexity, noise, self.diameter2, steps)?;
            if best.is_none_or(|(least, _)| value < least) {
                best = Some((value, noise));
            }
        }
        best.ok_or(Error::Empty { what: "the bounds of the noise" })
    }

    /// The least T with E f(w̄_T) − f* ≤ `accuracy` by one of the bounds.
    fn steps_to(&self, convexity: f64, accuracy: f64) -> Result<u64> {
        let steps = |noise: &NoiseBound| {
            let steps = rate::proj_adaptive_steps(convexity, *noise, self.diameter2, accuracy)?;
            if steps <= MOST_STEPS {
                return Ok(steps);
            }
            Err(Error::OutOfReach { accuracy, steps: steps as f64, limit: MOST_STEPS as f64 })
        };
        // Both bounds grow with the noise at the same T, so that the least number of steps is the least of the two.
        let mut all = self.noise.iter().map(steps);
        let first = all.next().ok_or(Error::Empty { what: "the bounds of the noise" })?;
        all.fold(first, |best, next| match (best, next) {
            (Ok(a), Ok(b)) => Ok(a.min(b)),
            (Ok(a), Err(_)) | (Err(_), Ok(a)) => Ok(a),
            (Err(a), Err(b)) => Err(nearer(a, b)),
        })
    }
}

/// Of two numbers of steps that are out of reach, the smaller one.
fn nearer(a: Error, b: Error) -> Error {
    match (&a, &b) {
        (Error::OutOfReach { steps: first, .. }, Error::OutOfReach { steps: second, .. })
            if second < first =>
        {
            b
        }
        _ => a,
    }
}

impl Planner {
    /// T of [`Planner::to_distance`]: ½μE‖w̄_T − w*‖² ≤ E f(w̄_T) − f*.
    pub(super) fn adaptive_steps(&self, setting: &Setting, accuracy: f64) -> Result<u64> {
        let convexity = setting.smooth()?.0.convexity();
        let region = Region::new(self, setting, None)?;
        region.steps_to(convexity, 0.5 * convexity * accuracy * (1.0 - 1e-12))
    }

    /// A ball, the rule for the sizes of steps in it, and the bound.
    pub(super) fn plan_adaptive(&self, setting: Setting, aim: Aim) -> Result<Plan> {
        let (curvature, smoothness) = setting.smooth()?;
        let (dim, convexity) = (curvature.dim(), curvature.convexity());
        let by_distance = match aim {
            Aim::Distance(_) => true,
            Aim::Steps(_) => convexity > 0.0,
            Aim::Gap(_) => false,
        };
        let region = Region::new(self, &setting, self.radius.filter(|_| !by_distance))?;
        let steps = match aim {
            Aim::Distance(accuracy) => self.adaptive_steps(&setting, accuracy)?,
            Aim::Steps(steps) | Aim::Gap(steps) => steps,
        };
        let (gap, noise) = region.gap(convexity, steps)?;
        let provenance = curvature.provenance();
        let key = "rate-proj-adaptive";
        let promise = match (by_distance, region.declared) {
            (true, _) => {
                let value = 2.0 * gap / convexity * (1.0 + 4.0 * f64::EPSILON);
                Promise::of(value, key, setting.frame.norm(), provenance)
            }
            (false, true) => Promise::of(gap, key, Norm::BallGap, provenance),
            (false, false) => Promise::gap(gap, key, provenance),
        };
        let constants = Constants {
            dim,
            convexity,
            smoothness,
            residual_smoothness: curvature.residual_smoothness(),
            noise,
            start: region.diameter2,
            gradient_error: 0.0,
            provenance,
        };
        let schedule = Schedule::adaptive(region.diameter2)?;
        let ball = Some(region.ball);
        let plan =
            self.assemble(setting, Some(constants), schedule, Average::over_starts(), steps, promise)?;
        Ok(Plan(super::Outline { ball, ..plan.0 }))
    }

    /// The steps of DoWG from w_0; nothing is promised.
    pub(super) fn plan_travelled(&self, setting: Setting, steps: u64) -> Result<Plan> {
        setting.smooth()?;
        let schedule = Schedule::travelled(first_reach(setting.start.parameters())?)?;
        let promise = Promise::none(crate::sgd::method::Recipe::Dowg.reason());
        self.assemble(setting, None, schedule, Average::Travelled, steps, promise)
    }
}

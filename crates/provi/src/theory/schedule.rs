//! Step sizes: schedules t ↦ γ_t, each with the theorem it belongs to.
//!
//! A schedule is plain data, fixed before the first draw, as the bounds of [`theory`](crate::theory) require. The
//! recursion gives a bound for any such schedule. Two schedules name a rule instead, by which the draws decide.

use std::fmt;

use crate::base::error::{Error, Result};
use crate::base::scalar::{NonNegative, Positive};

/// The two ways to handle the non-smooth part: a proximal step, or a projection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum StepKind {
    /// w ← prox_{γh}(w − γg), g an estimate of ∇l.
    Prox,
    /// w ← proj_𝒲(w − γg), g an estimate of ∇f.
    Proj,
}

/// Step sizes γ_0, γ_1, …
///
/// They are fixed before the draws: a step size that depends on the draws voids every bound but [rate-proj-adaptive].
/// [`Schedule::stepper`] yields the steps of any schedule in constant time each;
/// [`Recursion::propagate`](crate::theory::Recursion::propagate) computes its bound.
///
/// ```
/// use provi::schedule::{Schedule, StepKind};
///
/// let schedule = Schedule::anytime(StepKind::Prox, 1.0, 4.0)?;               // μ = 1, a = 4
/// let gammas: Vec<f64> = schedule.stepper().take(3).collect();
/// assert_eq!(gammas, [0.125, 0.125, 0.125]);                                 // at the cap μ/2a, then decaying
/// assert!(schedule.at(1000) < 0.002);
/// # Ok::<(), provi::Error>(())
/// ```
///
/// The constructors check their arguments; check a value built or read in another way with [`Schedule::check`].
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum Schedule {
    /// γ_t = γ [rate-prox-strong], [rate-proj-strong].
    Constant {
        /// The step size γ.
        gamma: f64,
    },
    /// Decaying, for strongly convex problems, any number of steps [rate-prox-anytime], [rate-proj-anytime]:
    /// ```text
    /// prox  γ_t = min{μ/2a,  (2t+1)/(μ(t+1)²)}
    /// proj  γ_t = min{μ/2a, 2(2t+1)/(μ(t+1)²)}
    /// ```
    /// The min never exceeds its cap; the paper's printed switch at t* = 4⌊a/μ²⌋ can.
    Anytime {
        /// Prox or proj.
        kind: StepKind,
        /// The convexity μ.
        convexity: f64,
        /// The noise growth a.
        growth: f64,
    },
    /// γ = A·log T/T, for a number of steps T known ahead [rate-prox-log].
    LogOverT {
        /// A ≥ 1/μ.
        scale: f64,
        /// The number of steps T.
        steps: u64,
    },
    /// For convex problems and T known ahead: 1/√(aT) for prox, √(2/(aT)) for proj [rate-prox-convex],
    /// [rate-proj-convex].
    Convex {
        /// Prox or proj.
        kind: StepKind,
        /// The noise growth a.
        growth: f64,
        /// The number of steps T.
        steps: u64,
    },
    /// The step that minimises the recursion at every t [schedule-optimal]:
    /// ```text
    /// γ_t = μe_t/(ae_t + b),   e_{t+1} = (1 − 2γ_tμ + γ_t²a)e_t + γ_t²b
    /// ```
    Optimal {
        /// The convexity μ.
        convexity: f64,
        /// The noise growth a, not below μ².
        growth: f64,
        /// The noise floor b.
        floor: f64,
        /// e_0 ≥ ‖w_0 − w*‖².
        start: f64,
    },
    /// γ_t as listed; the last one repeats.
    Custom(Vec<f64>),
    /// γ_t = γ_0/(1 + max(0, t − hold)/scale): hold, then decay. No theorem covers it; only a certificate can say
    /// how good its answer is.
    Practical {
        /// The first step size γ_0.
        start: f64,
        /// Steps at γ_0.
        hold: u64,
        /// Steps after which, past `hold`, the step has halved.
        scale: f64,
    },
    /// γ_t = α/√(‖g_0‖² + … + ‖g_t‖²), set by the draws [rate-proj-adaptive]. [`Schedule::at`] gives α = D/√2, D the diameter
    /// of the set.
    Adaptive {
        /// α.
        scale: f64,
    },
    /// γ_t = r_t²/√(Σ_{s≤t} r_s²‖g_s‖²), r_t = max{r_ε, ‖w_s − w_0‖ for s ≤ t}, set by the draws \[dowg\]. [`Schedule::at`] gives
    /// r_ε.
    Travelled {
        /// r_ε: how far the first step goes.
        first: f64,
    },
}

impl Schedule {
    /// γ_t = γ, with no claim about a theorem.
    pub fn constant(gamma: f64) -> Result<Self> {
        Self::Constant { gamma }.checked()
    }

    /// γ_t = γ inside the range of the strongly convex theorem: (0, min{μ/2a, 1/μ}] for prox, (0, min{μ/2a, 2/μ}]
    /// for proj [rate-prox-strong], [rate-proj-strong].
    pub fn strong_constant(kind: StepKind, convexity: f64, growth: f64, gamma: f64) -> Result<Self> {
        let limit = strong_limit(kind, convexity, growth)?;
        let key = match kind {
            StepKind::Prox => "rate-prox-strong",
            StepKind::Proj => "rate-proj-strong",
        };
        within(gamma, limit, key, "`Schedule::Anytime` starts at its edge")?;
        Self::constant(gamma)
    }

    /// The decaying steps of the strongly convex theorems.
    pub fn anytime(kind: StepKind, convexity: f64, growth: f64) -> Result<Self> {
        Self::Anytime { kind, convexity, growth }.checked()
    }

    /// γ = A·log T/T with A ≥ 1/μ and γ ≤ min{μ/2a, 1/μ}, that is T large enough [rate-prox-log].
    pub fn log_over_t(convexity: f64, growth: f64, scale: f64, steps: u64) -> Result<Self> {
        let schedule = Self::LogOverT { scale, steps }.checked()?;
        if scale * convexity < 1.0 {
            return Err(Error::OutOfRange { what: "scale A", value: scale, needed: "at least 1/μ" });
        }
        let limit = strong_limit(StepKind::Prox, convexity, growth)?;
        within(schedule.at(0), limit, "rate-prox-log", "take more steps")?;
        Ok(schedule)
    }

    /// The constant step of the convex theorems. For prox it must be at most 1/M, which holds for enough steps.
    pub fn convex(kind: StepKind, growth: f64, smoothness: f64, steps: u64) -> Result<Self> {
        let schedule = Self::Convex { kind, growth, steps }.checked()?;
        if kind == StepKind::Prox {
            let limit = 1.0 / Positive::new("smoothness M", smoothness)?.get();
            within(schedule.at(0), limit, "rate-prox-convex", "take T ≥ M²/a steps")?;
        }
        Ok(schedule)
    }

    /// The optimal steps for the recursion with μ, a, b, from e_0 = `start`. A growth below μ² is raised to μ².
    pub fn optimal(convexity: f64, growth: f64, floor: f64, start: f64) -> Result<Self> {
        Self::Optimal { convexity, growth: growth.max(convexity * convexity), floor, start }.checked()
    }

    /// Listed steps; the last one repeats.
    pub fn custom(gammas: Vec<f64>) -> Result<Self> {
        Self::Custom(gammas).checked()
    }

    /// γ_0 for `hold` steps, then half of it after `scale` more, and so on like 1/t. No theorem covers it.
    pub fn practical(start: f64, hold: u64, scale: f64) -> Result<Self> {
        Self::Practical { start, hold, scale }.checked()
    }

    /// α/√(Σ‖g_s‖²) with α = D/√2 for a set of squared diameter D² [rate-proj-adaptive].
    pub fn adaptive(diameter2: f64) -> Result<Self> {
        Self::Adaptive { scale: (0.5 * diameter2).sqrt() }.checked()
    }

    /// The steps of DoWG, the first of length `first` \[dowg\].
    pub fn travelled(first: f64) -> Result<Self> {
        Self::Travelled { first }.checked()
    }

    /// Whether it names a rule by which the draws decide, so that a [`Problem`](crate::optimize::Problem) must follow it.
    pub fn is_set_by_draws(&self) -> bool {
        matches!(self, Self::Adaptive { .. } | Self::Travelled { .. })
    }

    /// Whether every parameter is in its range.
    pub fn check(&self) -> Result<()> {
        match self {
            Self::Constant { gamma } => Positive::new("step size γ", *gamma).map(drop),
            Self::Anytime { convexity, growth, .. } => {
                Positive::new("convexity μ", *convexity)?;
                NonNegative::new("noise growth a", *growth).map(drop)
            }
            Self::LogOverT { scale, steps } => {
                Positive::new("scale A", *scale)?;
                at_least(*steps, 2)
            }
            Self::Convex { growth, steps, .. } => {
                Positive::new("noise growth a", *growth)?;
                at_least(*steps, 1)
            }
            Self::Optimal { convexity, growth, floor, start } => {
                let square = Positive::new("convexity μ", *convexity)?.get().powi(2);
                NonNegative::new("noise floor b", *floor)?;
                Positive::new("start e₀", *start)?;
                NonNegative::new("noise growth a − μ²", growth - square).map(drop)
            }
            Self::Custom(gammas) if gammas.is_empty() => Err(Error::Empty { what: "the list of step sizes" }),
            Self::Custom(gammas) => {
                gammas.iter().try_for_each(|&g| Positive::new("step size γ", g).map(drop))
            }
            Self::Practical { start, scale, .. } => {
                Positive::new("step size γ₀", *start)?;
                Positive::new("decay scale", *scale).map(drop)
            }
            Self::Adaptive { scale } => Positive::new("scale α of adaptive steps", *scale).map(drop),
            Self::Travelled { first } => Positive::new("length of the first step", *first).map(drop),
        }
    }

    fn checked(self) -> Result<Self> {
        self.check().map(|()| self)
    }

    /// γ_t. Constant time, except for `Optimal`, which computes all earlier steps: use [`Schedule::stepper`] in a
    /// loop.
    pub fn at(&self, t: u64) -> f64 {
        match self {
            Self::Constant { gamma } => *gamma,
            Self::Anytime { kind, convexity, growth } => {
                let reach = match kind {
                    StepKind::Prox => 1.0,
                    StepKind::Proj => 2.0,
                };
                let t = t as f64;
                let decaying = reach * (2.0 * t + 1.0) / (convexity * (t + 1.0) * (t + 1.0));
                // |a|: a zero of either sign means that there is no cap.
                decaying.min(convexity / (2.0 * growth.abs()))
            }
            Self::LogOverT { scale, steps } => scale * (*steps as f64).ln() / *steps as f64,
            Self::Convex { kind: StepKind::Prox, growth, steps } => 1.0 / (growth * *steps as f64).sqrt(),
            Self::Convex { kind: StepKind::Proj, growth, steps } => (2.0 / (growth * *steps as f64)).sqrt(),
            Self::Optimal { .. } => self.stepper_from(t).next_gamma(),
            Self::Custom(gammas) => {
                let last = gammas.len().saturating_sub(1);
                let t = usize::try_from(t).unwrap_or(last).min(last);
                gammas.get(t).copied().unwrap_or(f64::NAN)
            }
            Self::Practical { start, hold, scale } => start / (1.0 + t.saturating_sub(*hold) as f64 / scale),
            Self::Adaptive { scale } => *scale,
            Self::Travelled { first } => *first,
        }
    }

    /// The steps in order, in constant time each.
    pub fn stepper(&self) -> Stepper<'_> {
        let error = if let Self::Optimal { start, .. } = self { *start } else { f64::NAN };
        Stepper { schedule: self, t: 0, error }
    }

    /// [`Schedule::stepper`] with the first t steps skipped. Constant time, except for `Optimal`, which computes
    /// all earlier steps.
    pub fn stepper_from(&self, t: u64) -> Stepper<'_> {
        let mut stepper = self.stepper();
        match self {
            Self::Optimal { .. } => {
                for _ in 0..t {
                    stepper.next_gamma();
                }
            }
            _ => stepper.t = t,
        }
        stepper
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant { gamma } => write!(f, "γ = {gamma:.4e}"),
            Self::Anytime { kind, convexity, growth } => {
                let two = if *kind == StepKind::Proj { "2" } else { "" };
                let cap = convexity / (2.0 * growth);
                write!(f, "γ_t = min{{{cap:.4e}, {two}(2t+1)/(μ(t+1)²)}}, μ = {convexity:.4e}")
            }
            Self::LogOverT { scale, steps } => write!(f, "γ = A·log T/T, A = {scale:.4e}, T = {steps}"),
            Self::Convex { kind: StepKind::Prox, growth, steps } => {
                write!(f, "γ = 1/√(aT), a = {growth:.4e}, T = {steps}")
            }
            Self::Convex { kind: StepKind::Proj, growth, steps } => {
                write!(f, "γ = √(2/(aT)), a = {growth:.4e}, T = {steps}")
            }
            Self::Optimal { convexity, growth, floor, start } => write!(
                f,
                "γ_t = μe_t/(ae_t + b), μ = {convexity:.4e}, a = {growth:.4e}, b = {floor:.4e}, e_0 = {start:.4e}"
            ),
            Self::Custom(gammas) => write!(f, "γ_t from a list of {}", gammas.len()),
            Self::Practical { start, hold, scale } => {
                write!(f, "γ_t = {start:.4e}/(1 + max(0, t − {hold})/{scale}), no theorem")
            }
            Self::Adaptive { scale } => write!(f, "γ_t = {scale:.4e}/√(‖g_0‖² + … + ‖g_t‖²)"),
            Self::Travelled { first } => {
                write!(f, "γ_t = r_t²/√(Σ r_s²‖g_s‖²), r_t the distance travelled, at first {first:.4e}")
            }
        }
    }
}

/// The steps of a [`Schedule`] in order; also an endless iterator.
#[derive(Clone, Debug)]
pub struct Stepper<'a> {
    schedule: &'a Schedule,
    t: u64,
    error: f64,
}

impl Stepper<'_> {
    /// Whether the schedule names a rule by which the draws decide.
    pub(crate) fn is_set_by_draws(&self) -> bool {
        self.schedule.is_set_by_draws()
    }

    /// γ_t for the t-th call, from zero.
    pub fn next_gamma(&mut self) -> f64 {
        let gamma = match self.schedule {
            Schedule::Optimal { convexity, growth, floor, .. } => {
                let gamma = optimal_gamma(*convexity, *growth, *floor, self.error);
                self.error = advance(*convexity, *growth, *floor, self.error, gamma);
                gamma
            }
            other => other.at(self.t),
        };
        self.t += 1;
        gamma
    }
}

impl Iterator for Stepper<'_> {
    type Item = f64;

    fn next(&mut self) -> Option<f64> {
        Some(self.next_gamma())
    }
}

/// argmin_γ of the recursion at e: μe/(ae + b); μ/a if there is no floor.
pub(crate) fn optimal_gamma(convexity: f64, growth: f64, floor: f64, e: f64) -> f64 {
    if floor > 0.0 { convexity / (growth + floor / e) } else { convexity / growth }
}

/// (1 − 2γμ + γ²a)e + γ²b, rounded upwards \[recursion\].
///
/// Written as ((1−γμ)² + γ²(a−μ²))e + γ²b, a sum of non-negative terms since a ≥ μ², so that nothing cancels. The
/// slacks cover the rounding of these operations and a few ulps in a and b. They inflate the result by about 20ε
/// (relative), unless γμ is within rounding of 1, where the result is almost zero anyway.
pub(crate) fn advance(convexity: f64, growth: f64, floor: f64, e: f64, gamma: f64) -> f64 {
    const ULP: f64 = f64::EPSILON;
    let x = gamma * convexity;
    let straight = (1.0 - x).abs() + 2.0 * ULP * x;
    let excess = (growth - convexity * convexity).max(0.0) + 4.0 * ULP * growth;
    let factor = straight * straight + gamma * gamma * excess;
    (factor * e + gamma * gamma * floor) * (1.0 + 16.0 * ULP) + f64::MIN_POSITIVE
}

/// The largest constant step of the strongly convex theorems: min{μ/2a, 1/μ} for prox, min{μ/2a, 2/μ} for proj.
pub(crate) fn strong_limit(kind: StepKind, convexity: f64, growth: f64) -> Result<f64> {
    let convexity = Positive::new("convexity μ", convexity)?.get();
    let growth = NonNegative::new("noise growth a", growth)?.get();
    let reach = match kind {
        StepKind::Prox => 1.0,
        StepKind::Proj => 2.0,
    };
    Ok((convexity / (2.0 * growth)).min(reach / convexity))
}

/// Refuses a step outside (0, limit].
pub(crate) fn within(gamma: f64, limit: f64, key: &'static str, way_out: &'static str) -> Result<()> {
    if gamma > 0.0 && gamma <= limit {
        Ok(())
    } else {
        Err(Error::StepOutsideProof { gamma, limit, key, way_out })
    }
}

fn at_least(steps: u64, least: u64) -> Result<()> {
    if steps >= least {
        return Ok(());
    }
    let needed = if least == 1 { "at least 1" } else { "at least 2" };
    Err(Error::OutOfRange { what: "steps T", value: steps as f64, needed })
}

#[cfg(test)]
mod tests;

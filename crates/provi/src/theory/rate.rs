//! The closed-form rates of the paper, with the corrections of the ledger [rate-*].
//!
//! T steps lead from w_0 to w_T. `noise` is the bound of g itself, not centred: the single-draw table of
//! [`noise`], or the user's declaration. `start2` is e_0 ≥ ‖w_0 − w*‖², `gradient2` an upper bound of ‖∇l(w*)‖²,
//! such as M²‖w* − w̄‖²; σ² = b + `gradient2`. Every step condition is checked, every result rounded upwards, and every
//! `…_steps` is the inverse: a T whose bound is at most the accuracy, or [`Error::OutOfReach`].
//!
//! The recursion is never looser. These rates are for reading, for quick estimates, and for convex problems.

mod adaptive;

pub use adaptive::{proj_adaptive, proj_adaptive_steps};

use super::noise::{self, NoiseBound};
use super::{MOST_STEPS, decay, settle_steps, upward};
use crate::base::error::{Error, Result};
use crate::base::scalar::{NonNegative, Positive};
use crate::theory::schedule::{StepKind, strong_limit, within};

/// e_0 from a computed mode z̃: returns (‖w_0 − (z̃,0)‖ + ‖∇V(z̃)‖/μ + √(d/μ))² ≥ ‖w_0 − w*‖².
pub fn start_distance2(distance: f64, d: usize, convexity: f64, gradient_norm: f64) -> Result<f64> {
    let distance = NonNegative::new("‖w_0 − (z̃,0)‖", distance)?.get();
    let gradient_norm = NonNegative::new("‖∇V(z̃)‖", gradient_norm)?.get();
    let radius = noise::optimum_distance2(d, convexity)?.sqrt();
    Ok(upward((distance + gradient_norm / convexity + radius).powi(2)))
}

/// Prox, strongly convex, constant γ ≤ min{μ/2a, 1/μ} [rate-prox-strong]:
/// ```text
/// E‖w_T−w*‖² ≤ (1−γμ)^T e_0 + 2γσ²/μ
/// ```
pub fn prox_strong_constant(
    convexity: f64,
    noise: NoiseBound,
    gradient2: f64,
    start2: f64,
    gamma: f64,
    steps: u64,
) -> Result<f64> {
    let sigma2 = sigma2(noise, gradient2)?;
    let limit = strong_limit(StepKind::Prox, convexity, noise.growth)?;
    within(gamma, limit, "rate-prox-strong", "`Schedule::Anytime` starts at its edge")?;
    Ok(upward(decay(gamma * convexity, steps) * start(start2)? + 2.0 * gamma * sigma2 / convexity))
}

/// T for [`prox_strong_constant`]; out of reach when 2γσ²/μ alone is above the accuracy.
pub fn prox_strong_constant_steps(
    convexity: f64,
    noise: NoiseBound,
    gradient2: f64,
    start2: f64,
    gamma: f64,
    accuracy: f64,
) -> Result<u64> {
    let floor = 2.0 * gamma * sigma2(noise, gradient2)? / convexity;
    let guess = linear_steps(gamma * convexity, floor, start2, accuracy)?;
    settle_steps(guess, accuracy, |t| prox_strong_constant(convexity, noise, gradient2, start2, gamma, t))
}

/// Prox, strongly convex, `Schedule::Anytime`, for every T ≥ 1 [rate-prox-anytime]:
/// ```text
/// E‖w_T−w*‖² ≤ 16⌈a/μ²⌉²e_0/T² + 8σ²/(μ²T)
/// ```
pub fn prox_strong_anytime(
    convexity: f64,
    noise: NoiseBound,
    gradient2: f64,
    start2: f64,
    steps: u64,
) -> Result<f64> {
    let (quadratic, linear) = prox_anytime_terms(convexity, noise, gradient2, start2)?;
    anytime(quadratic, linear, steps)
}

/// T for [`prox_strong_anytime`].
pub fn prox_strong_anytime_steps(
    convexity: f64,
    noise: NoiseBound,
    gradient2: f64,
    start2: f64,
    accuracy: f64,
) -> Result<u64> {
    let (quadratic, linear) = prox_anytime_terms(convexity, noise, gradient2, start2)?;
    anytime_steps(quadratic, linear, accuracy)
}

fn prox_anytime_terms(convexity: f64, noise: NoiseBound, gradient2: f64, start2: f64) -> Result<(f64, f64)> {
    let mu2 = Positive::new("convexity μ", convexity)?.get().powi(2);
    let ratio = upward(noise.growth / mu2).ceil();
    Ok((16.0 * ratio * ratio * start(start2)?, 8.0 * sigma2(noise, gradient2)? / mu2))
}

/// Prox, strongly convex, γ = A·log T/T with A ≥ 1/μ and γ ≤ min{μ/2a, 1/μ} [rate-prox-log]:
/// ```text
/// E‖w_T−w*‖² ≤ e_0/T + 2A·log T·σ²/(μT)
/// ```
pub fn prox_strong_log(
    convexity: f64,
    noise: NoiseBound,
    gradient2: f64,
    start2: f64,
    scale: f64,
    steps: u64,
) -> Result<f64> {
    let sigma2 = sigma2(noise, gradient2)?;
    let limit = strong_limit(StepKind::Prox, convexity, noise.growth)?;
    if scale.is_nan() || scale * convexity < 1.0 {
        return Err(Error::OutOfRange { what: "scale A", value: scale, needed: "at least 1/μ" });
    }
    let t = at_least_one(steps)?;
    let gamma = scale * t.ln() / t;
    within(gamma, limit, "rate-prox-log", "take more steps")?;
    Ok(upward(start(start2)? / t + 2.0 * gamma * sigma2 / convexity))
}

/// T ≥ 3 for [`prox_strong_log`], by bisection: from T = 3 on, both condition and bound improve with T.
pub fn prox_strong_log_steps(
    convexity: f64,
    noise: NoiseBound,
    gradient2: f64,
    start2: f64,
    scale: f64,
    accuracy: f64,
) -> Result<u64> {
    Positive::new("accuracy", accuracy)?;
    let reached = |t: u64| match prox_strong_log(convexity, noise, gradient2, start2, scale, t) {
        Ok(bound) => Ok(bound <= accuracy),
        Err(Error::StepOutsideProof { .. }) => Ok(false),
        Err(other) => Err(other),
    };
    let (mut low, mut high) = (2u64, 3u64);
    while !reached(high)? {
        (low, high) = (high, high * 2);
        if high as f64 > MOST_STEPS {
            return Err(Error::OutOfReach { accuracy, steps: high as f64, limit: MOST_STEPS });
        }
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if reached(middle)? { high = middle } else { low = middle }
    }
    Ok(high)
}

/// Prox, convex, any constant γ ≤ 1/M, for the average [`Average::prox`](crate::average::Average::prox)
/// [rate-prox-convex]:
/// ```text
/// E f(w̄_T) − f* ≤ γ(a·e_0/(1−θ^T) + b),   θ = 1/(1+2aγ²)
/// ```
/// and e_0/(2γT) + γb in the limit a = 0.
pub fn prox_convex_constant(
    smoothness: f64,
    noise: NoiseBound,
    start2: f64,
    gamma: f64,
    steps: u64,
) -> Result<f64> {
    let limit = 1.0 / Positive::new("smoothness M", smoothness)?.get();
    within(gamma, limit, "rate-prox-convex", "take a smaller step, or T ≥ M²/a for γ = 1/√(aT)")?;
    convex_constant(noise, 2.0, start2, gamma, steps)
}

/// Prox, convex, γ = 1/√(aT), T ≥ M²/a [rate-prox-convex]:
/// ```text
/// E f(w̄_T) − f* ≤ (2a·e_0 + b)/√(aT)
/// ```
pub fn prox_convex(smoothness: f64, noise: NoiseBound, start2: f64, steps: u64) -> Result<f64> {
    let growth = Positive::new("noise growth a", noise.growth)?.get();
    let root = (growth * at_least_one(steps)?).sqrt();
    let limit = 1.0 / Positive::new("smoothness M", smoothness)?.get();
    within(1.0 / root, limit, "rate-prox-convex", "take T ≥ M²/a steps")?;
    Ok(upward((2.0 * growth * start(start2)? + sigma2(noise, 0.0)?) / root))
}

/// T for [`prox_convex`].
pub fn prox_convex_steps(smoothness: f64, noise: NoiseBound, start2: f64, accuracy: f64) -> Result<u64> {
    let accuracy = Positive::new("accuracy", accuracy)?.get();
    let total = (2.0 * noise.growth * start(start2)? + noise.floor) / accuracy;
    let guess = (total * total / noise.growth).max(upward(smoothness * smoothness / noise.growth));
    settle_steps(guess, accuracy, |t| prox_convex(smoothness, noise, start2, t))
}

/// Proj, strongly convex, constant γ ≤ min{μ/2a, 2/μ} [rate-proj-strong]:
/// ```text
/// E‖w_T−w*‖² ≤ (1−μγ/2)^T e_0 + 2γb/μ
/// ```
pub fn proj_strong_constant(
    convexity: f64,
    noise: NoiseBound,
    start2: f64,
    gamma: f64,
    steps: u64,
) -> Result<f64> {
    let floor = sigma2(noise, 0.0)?;
    let limit = strong_limit(StepKind::Proj, convexity, noise.growth)?;
    within(gamma, limit, "rate-proj-strong", "`Schedule::Anytime` starts at its edge")?;
    Ok(upward(decay(0.5 * gamma * convexity, steps) * start(start2)? + 2.0 * gamma * floor / convexity))
}

/// T for [`proj_strong_constant`]; out of reach when 2γb/μ alone is above the accuracy.
pub fn proj_strong_constant_steps(
    convexity: f64,
    noise: NoiseBound,
    start2: f64,
    gamma: f64,
    accuracy: f64,
) -> Result<u64> {
    let floor = 2.0 * gamma * noise.floor / convexity;
    let guess = linear_steps(0.5 * gamma * convexity, floor, start2, accuracy)?;
    settle_steps(guess, accuracy, |t| proj_strong_constant(convexity, noise, start2, gamma, t))
}

/// Proj, strongly convex, `Schedule::Anytime`, for every T ≥ 1 [rate-proj-anytime]:
/// ```text
/// E‖w_T−w*‖² ≤ 16⌈2a/μ²⌉²e_0/T² + 16b/(μ²T)
/// ```
/// The paper prints 32a/(μ²T²); its proof does not give that, and it is not true.
pub fn proj_strong_anytime(convexity: f64, noise: NoiseBound, start2: f64, steps: u64) -> Result<f64> {
    let (quadratic, linear) = proj_anytime_terms(convexity, noise, start2)?;
    anytime(quadratic, linear, steps)
}

/// T for [`proj_strong_anytime`].
pub fn proj_strong_anytime_steps(
    convexity: f64,
    noise: NoiseBound,
    start2: f64,
    accuracy: f64,
) -> Result<u64> {
    let (quadratic, linear) = proj_anytime_terms(convexity, noise, start2)?;
    anytime_steps(quadratic, linear, accuracy)
}

fn proj_anytime_terms(convexity: f64, noise: NoiseBound, start2: f64) -> Result<(f64, f64)> {
    let mu2 = Positive::new("convexity μ", convexity)?.get().powi(2);
    let ratio = upward(2.0 * noise.growth / mu2).ceil();
    Ok((16.0 * ratio * ratio * start(start2)?, 16.0 * sigma2(noise, 0.0)? / mu2))
}

/// Proj, convex, any constant γ, for the average [`Average::proj`](crate::average::Average::proj) [rate-proj-convex]:
/// ```text
/// E f(w̄_T) − f* ≤ ½γ(a·e_0/(1−θ^T) + b),   θ = 1/(1+aγ²)
/// ```
/// and ½(e_0/(γT) + γb) in the limit a = 0.
pub fn proj_convex_constant(noise: NoiseBound, start2: f64, gamma: f64, steps: u64) -> Result<f64> {
    Positive::new("step size γ", gamma)?;
    Ok(0.5 * convex_constant(noise, 1.0, start2, gamma, steps)?)
}

/// Proj, convex, γ = √(2/(aT)) [rate-proj-convex]:
/// ```text
/// E f(w̄_T) − f* ≤ √(2a/T)·e_0 + b/√(2aT)
/// ```
pub fn proj_convex(noise: NoiseBound, start2: f64, steps: u64) -> Result<f64> {
    let growth = Positive::new("noise growth a", noise.growth)?.get();
    let root = (2.0 * growth * at_least_one(steps)?).sqrt();
    Ok(upward((2.0 * growth * start(start2)? + sigma2(noise, 0.0)?) / root))
}

/// T for [`proj_convex`].
pub fn proj_convex_steps(noise: NoiseBound, start2: f64, accuracy: f64) -> Result<u64> {
    let accuracy = Positive::new("accuracy", accuracy)?.get();
    let total = (2.0 * noise.growth * start(start2)? + noise.floor) / accuracy;
    settle_steps(total * total / (2.0 * noise.growth), accuracy, |t| proj_convex(noise, start2, t))
}

/// Proj with STL on a Gaussian target, γ ≤ μ/2a with a = 8(d+3)M²: no floor, a linear rate [rate-proj-stl-gaussian]:
/// ```text
/// E‖w_T−w*‖² ≤ (1−μγ/2)^T e_0
/// ```
pub fn proj_stl_gaussian(
    d: usize,
    smoothness: f64,
    convexity: f64,
    start2: f64,
    gamma: f64,
    steps: u64,
) -> Result<f64> {
    proj_strong_constant(convexity, noise::stl(d, smoothness, 0.0, 0.0)?, start2, gamma, steps)
}

/// T for [`proj_stl_gaussian`].
pub fn proj_stl_gaussian_steps(
    d: usize,
    smoothness: f64,
    convexity: f64,
    start2: f64,
    gamma: f64,
    accuracy: f64,
) -> Result<u64> {
    proj_strong_constant_steps(convexity, noise::stl(d, smoothness, 0.0, 0.0)?, start2, gamma, accuracy)
}

fn sigma2(noise: NoiseBound, gradient2: f64) -> Result<f64> {
    let NoiseBound { floor, .. } = NoiseBound::new(noise.growth, noise.floor)?;
    Ok(floor + NonNegative::new("‖∇l(w*)‖²", gradient2)?.get())
}

fn start(start2: f64) -> Result<f64> {
    Ok(NonNegative::new("start e₀", start2)?.get())
}

fn at_least_one(steps: u64) -> Result<f64> {
    if steps > 0 {
        Ok(steps as f64)
    } else {
        Err(Error::OutOfRange { what: "steps T", value: 0.0, needed: "at least 1" })
    }
}

fn anytime(quadratic: f64, linear: f64, steps: u64) -> Result<f64> {
    let t = at_least_one(steps)?;
    Ok(upward((quadratic / t + linear) / t))
}

/// The larger root of εT² = linear·T + quadratic.
fn anytime_steps(quadratic: f64, linear: f64, accuracy: f64) -> Result<u64> {
    let accuracy = Positive::new("accuracy", accuracy)?.get();
    let half = 0.5 * linear / accuracy;
    let guess = half + (half * half + quadratic / accuracy).sqrt();
    settle_steps(guess, accuracy, |t| anytime(quadratic, linear, t))
}

/// T with (1−x)^T e_0 + floor ≤ ε; infinite if there is none.
fn linear_steps(x: f64, floor: f64, start2: f64, accuracy: f64) -> Result<f64> {
    let room = Positive::new("accuracy", accuracy)?.get() - upward(floor);
    if room <= accuracy * 1e-12 {
        return Ok(f64::INFINITY);
    }
    Ok(((start(start2)? / room).ln() / -(-x).ln_1p() * (1.0 + 1e-14)).max(1.0))
}

/// γ(a·e_0/(1−θ^T) + b) with θ = 1/(1 + factor·aγ²).
fn convex_constant(noise: NoiseBound, factor: f64, start2: f64, gamma: f64, steps: u64) -> Result<f64> {
    let floor = sigma2(noise, 0.0)?;
    let t = at_least_one(steps)?;
    let x = factor * noise.growth * gamma * gamma;
    // a/(1−θ^T) = (x/(1−θ^T))/(factor·γ²); the first factor tends to 1/T as a tends to 0.
    let weight = if x > 0.0 { x / -(-t * x.ln_1p()).exp_m1() } else { 1.0 / t };
    Ok(upward(gamma * (weight / (factor * gamma * gamma) * start(start2)? + floor)))
}

#[cfg(test)]
mod tests;

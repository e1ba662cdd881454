//! Steps that the draws decide, on a set of known diameter [rate-proj-adaptive].

use super::{at_least_one, settle_steps, upward};
use crate::base::error::Result;
use crate::base::scalar::{NonNegative, Positive};
use crate::theory::noise::NoiseBound;

/// Proj on a set W of diameter D that holds w*, γ_t = D/√(2Σ_{s≤t}‖g_s‖²), for the mean of w_0..w_{T−1} [rate-proj-adaptive]:
/// ```text
/// E f(w̄_T) − f* ≤ √2·D·√((aD² + b)/T)                                convex
/// E f(w̄_T) − f* ≤ A/T + √((A/T)² + 2D²b/T),   A = 2aD²/μ             μ-strongly convex
/// ```
/// the smaller of the two. `noise` is the bound of g itself on W, `diameter2` is D². With `growth` 0 nothing is said about w*,
/// and f* may be the least value on W. The steps know neither μ nor the noise.
pub fn proj_adaptive(convexity: f64, noise: NoiseBound, diameter2: f64, steps: u64) -> Result<f64> {
    let (plain, floor, growth) = terms(convexity, noise, diameter2)?;
    let t = at_least_one(steps)?;
    let (share, simple) = (growth / t, (plain / t).sqrt());
    Ok(upward(simple.min(share + (share * share + floor / t).sqrt())))
}

/// T for [`proj_adaptive`].
pub fn proj_adaptive_steps(convexity: f64, noise: NoiseBound, diameter2: f64, accuracy: f64) -> Result<u64> {
    let accuracy = Positive::new("accuracy", accuracy)?.get();
    let (plain, floor, growth) = terms(convexity, noise, diameter2)?;
    let square = accuracy * accuracy;
    let guess = (plain / square).min((floor + 2.0 * accuracy * growth) / square);
    settle_steps(guess, accuracy, |t| proj_adaptive(convexity, noise, diameter2, t))
}

/// 2D²(aD² + b), 2D²b and A = 2aD²/μ, which is infinite for μ = 0 and a > 0.
fn terms(convexity: f64, noise: NoiseBound, diameter2: f64) -> Result<(f64, f64, f64)> {
    let NoiseBound { growth, floor } = NoiseBound::new(noise.growth, noise.floor)?;
    let convexity = NonNegative::new("convexity μ", convexity)?.get();
    let diameter2 = NonNegative::new("diameter D²", diameter2)?.get();
    let self_bounded = if growth > 0.0 { 2.0 * growth * diameter2 / convexity } else { 0.0 };
    let both = |x: f64| upward(2.0 * diameter2 * x);
    Ok((both(growth * diameter2 + floor), both(floor), upward(self_bounded)))
}

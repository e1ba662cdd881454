//! The limits of the verdict, all in one place; those of weighted draws also hold without a verdict.

pub use crate::certify::estimate::{FEWEST_EFFECTIVE, MOSTLY_KEPT};

/// "Good" needs a shift of every mean below this, in standard deviations.
pub const GOOD_SHIFT: f64 = 0.08;
/// "Good" needs |log(weighted sd/sd)| below this.
pub const GOOD_SD_CHANGE: f64 = 0.15;
/// "Good" needs an estimated KL below this, in nats.
pub const GOOD_KL: f64 = 0.08;
/// If log p/q varies by less than this, the weights are nearly equal and k̂ says nothing.
pub const NEARLY_EQUAL: f64 = 0.03;
/// Weighted answers need a k̂ of at most this,
pub const USUAL_K: f64 = 0.7;
/// or of at most this if they keep at least this part of the draws.
pub const HIGHEST_K: f64 = 0.8;
/// See [`HIGHEST_K`].
pub const KEPT: f64 = 0.1;
/// The residual may be at most this, beyond three standard errors, in standard deviations.
pub const RESIDUAL: f64 = 0.1;
/// Wide draws may find at most this part more mass, beyond three standard errors.
pub const WIDE_EXCESS: f64 = 0.1;
/// Climbs may find at most this part of mass in places that q's draws miss, beyond three standard errors: e⁻⁴, the part
/// beyond which the search calls a place a rival.
pub const ELSEWHERE: f64 = 0.018;
/// What "good" means, where it is proved: every mean within this many standard deviations,
pub const PROVED_MEAN: f64 = 0.1;
/// and every standard deviation within this part.
pub const PROVED_SD: f64 = 0.2;
/// An estimated KL above this makes an answer unusable, weighted or not.
pub const POOR_KL: f64 = 1.0;

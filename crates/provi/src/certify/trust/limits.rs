//! The limits of the verdict, all in one place.

/// "Good" needs a shift of every mean below this, in standard deviations.
pub const GOOD_SHIFT: f64 = 0.08;
/// "Good" needs |log(weighted sd/sd)| below this.
pub const GOOD_SD_CHANGE: f64 = 0.13;
/// "Good" needs an estimated KL below this, in nats.
pub const GOOD_KL: f64 = 0.08;
/// If log p/q varies by less than this, the weights are nearly equal and k̂ says nothing.
pub const NEARLY_EQUAL: f64 = 0.03;
/// Weighted answers need at least this many effective draws.
pub const FEWEST_EFFECTIVE: f64 = 200.0;
/// Weighted answers need a k̂ of at most this,
pub const USUAL_K: f64 = 0.7;
/// or of at most this if they keep at least this part of the draws.
pub const HIGHEST_K: f64 = 0.8;
/// See [`HIGHEST_K`].
pub const KEPT: f64 = 0.1;
/// If the weights keep at least this part of the draws, k̂ describes a tail without weight, and may be anything.
pub const MOSTLY_KEPT: f64 = 0.5;
/// The residual may be at most this, beyond three standard errors, in standard deviations.
pub const RESIDUAL: f64 = 0.1;
/// Wide draws may find at most this part more mass, beyond three standard errors.
pub const WIDE_EXCESS: f64 = 0.1;
/// An estimated KL above this makes an answer unusable, weighted or not.
pub const POOR_KL: f64 = 1.0;

//! How far to trust an answer about which nothing is proved: several witnesses, one verdict.
//!
//! Nothing here is a bound. Each witness can see a fault that the others miss:
//!
//! - *weights*: draws of q and wide draws, weighted towards p and Pareto smoothed, estimate how far the posterior's means
//!   and standard deviations are from those of q, if the tail (k̂) of q's own weights can be believed. They see the
//!   basin of q only.
//! - *KL*: the estimated KL(q‖p), of the same basin.
//! - *residual*: E_q∇V in units of q's standard deviations; it vanishes at the best Gaussian.
//! - *wide draws*: draws of q, stretched two to three times along one coordinate after the other. If they find more
//!   mass than q's own draws, q misses some.
//! - *climbs*: from draws at which the slope of log p disagrees with that of q, inside q and far out, and from points that
//!   depend on q by its mean alone. If draws around the tops that they reach find more mass than q's own draws, q misses some.
//! - *agreement*: how many beginnings ended at the answer, whether other places have about the same ELBO, and
//!   whether the ELBO had stopped rising.
//!
//! If the target declares its curvature, what its certificate proves ([`Proof`]) comes before all of them.
//!
//! The limits ([`limits`]) were set on some of a collection of models and checked on others; `docs/zoo.md` has the numbers.

mod elsewhere;
pub mod limits;
mod measure;
mod mixture;
mod proof;
mod stretch;
mod verdict;
mod wide;

pub use measure::{Trust, trust, trust_beside};
pub use mixture::trust_mixture;
pub use proof::Proof;
pub use verdict::Verdict;

/// What the search says about its answer; the default is that of an answer that no search found.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Agreement {
    /// Beginnings made.
    pub beginnings: usize,
    /// Those that ended at the answer.
    pub at_the_answer: usize,
    /// Other places with about the same ELBO.
    pub rivals: usize,
    /// Whether the ELBO had stopped rising; `None` if unknown.
    pub settled: Option<bool>,
    /// Whether several whole searches agree; `None` if there was one.
    pub searches_agree: Option<bool>,
}

/// The witnesses. Distances of means are in standard deviations of q. What was not measured, because a proof was enough,
/// is NaN.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Witnesses {
    /// Draws of q.
    pub draws: usize,
    /// The standard deviation of log p/q over them: 0 if q is the posterior.
    pub log_ratio_sd: f64,
    /// k̂ of the weights; `None` if no tail could be fitted.
    pub pareto_k: Option<f64>,
    /// (Σw)²/Σw² of the smoothed weights.
    pub effective_draws: f64,
    /// KL(q‖p) in the basin of q, estimated.
    pub kl: f64,
    /// Its standard error.
    pub kl_se: f64,
    /// The largest difference between a weighted mean and q's.
    pub mean_shift: f64,
    /// The largest |log(weighted sd/sd of q)|.
    pub sd_change: f64,
    /// The largest coordinate of E_q∇V, in q's own coordinates.
    pub residual: f64,
    /// Its standard error.
    pub residual_se: f64,
    /// The mass that wide draws see, divided by the mass that q's draws see, minus 1.
    pub wide_excess: f64,
    /// Its standard error.
    pub wide_excess_se: f64,
    /// The mass that draws around the tops of climbs find and q's draws miss, divided by the mass that q's draws see.
    pub elsewhere: f64,
    /// Its standard error.
    pub elsewhere_se: f64,
    /// What the search says.
    pub agreement: Agreement,
    /// What is proved, if the target declares its curvature.
    pub proof: Option<Proof>,
}

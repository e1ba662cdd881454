//! What is to be approximated: a density p(z, x) known through its logarithm and gradient.

#[cfg(feature = "autodiff")]
#[doc(hidden)]
pub mod autodiff;
mod closure;
mod constrained;
#[doc(hidden)]
pub mod curvature;
mod declared;
pub(crate) mod dual;
pub(crate) mod evaluate;
pub(crate) mod expectations;
pub(crate) mod finite_sum;
mod forward;
mod gaussian;
mod local;
#[doc(hidden)]
pub mod mode;
#[cfg(test)]
mod protocol;
mod rejections;
pub(crate) mod rounding;
pub(crate) mod solution;
#[doc(hidden)]
pub mod standard;
mod standardized;
#[doc(hidden)]
pub mod watchdog;
pub(crate) mod whiten;

pub use crate::base::scratch::Scratch;
pub use closure::Closure;
pub use constrained::{Constrained, Domain, ParameterSummary, Parameters};
pub use declared::Declared;
pub use evaluate::Evaluator;
pub use expectations::Expectations;
pub use finite_sum::{FiniteSum, Summed, TermSmoothness};
pub use gaussian::GaussianTarget;
pub use local::LocalCurvature;
#[doc(hidden)]
pub use local::Taylor;
pub use rejections::{RejectionLog, Rejections};
pub use rounding::Rounding;
pub use standardized::Standardized;

use crate::base::error::Result;
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::matrix::Matrix;
use crate::base::stop;
use crate::target::curvature::{Curvature, Provenance};

// Users find the models here, in the public module `target`; they live in `glm`. Nothing in this room uses them.
pub use crate::glm::{
    ColumnSummary, DataPrior, DataSummary, Family, GROUP_SCALE, Gaps, Glm, Likelihood, Prior, Regression,
    SparseForm, SparseGlm, Time, hierarchical_convexity, hierarchical_logistic, hierarchical_logistic_scaled,
};

/// A log density over ℝᵈ. [`Target::dim`] and [`Target::log_density`] are enough; each further method enables a
/// faster run or a proof.
///
/// A target returns log p, as its users write it. From the estimators on, everything is minimised, with V = −log p.
/// The cost of a run is mostly the cost of this target: one evaluation for each draw.
///
/// Threads: hand over `&model` everywhere. Draws are evaluated in parallel if the target is `Sync`, and one after
/// the other if it is handed over as [`Evaluator::Serial`]. Results have the same bits either way. A target is not
/// `Sync` if its evaluations already use all threads, or if they communicate with other processes
/// ([`crate::stream::Streamed`]): then one call follows the other.
pub trait Target {
    /// d, the number of coordinates.
    fn dim(&self) -> usize;

    /// Returns log p(z, x) and writes ∇ log p into `gradient`. Include every constant of log p if the evidence is
    /// of interest.
    ///
    /// Return NaN or −∞ where the density is not defined: the point is rejected, and steps are shortened before
    /// such places. Return an error if the evaluation itself failed: it ends the run.
    fn log_density(&self, z: &[f64], gradient: &mut [f64]) -> Result<f64>;

    /// [`Target::log_density`] at many points: `points` and `gradients` hold one point a row.
    ///
    /// The default is a loop. An override may share work between points, as long as the answer at a point
    /// does not depend on the other points of the call.
    fn log_densities(
        &self,
        points: &[f64],
        values: &mut [f64],
        gradients: &mut [f64],
        _scratch: &mut Scratch,
    ) -> Result<()> {
        let d = self.dim();
        for ((z, value), gradient) in
            points.chunks_exact(d).zip(values.iter_mut()).zip(gradients.chunks_exact_mut(d))
        {
            stop::check()?;
            *value = self.log_density(z, gradient)?;
        }
        Ok(())
    }

    /// The values of [`Target::log_densities`], in every bit, without the gradients, where they cost less alone. `Ok(false)`: they do not, and
    /// nothing was written.
    fn log_densities_alone(
        &self,
        _points: &[f64],
        _values: &mut [f64],
        _scratch: &mut Scratch,
    ) -> Result<bool> {
        Ok(false)
    }

    /// The most points that a sampled run hands to one call of [`Target::log_densities`]. The default keeps the
    /// points in cache and leaves several calls to share among threads. Return more if a call costs more than its
    /// points do, as a call into another language may. No number of an answer depends on this, except where an audit
    /// may be told to stop.
    fn batch(&self) -> usize {
        8
    }

    /// Writes ∇² log p at z into `out` (d × d) and returns `Ok(true)`. `Ok(false)` means that this target has no
    /// Hessian.
    fn hessian(&self, _z: &[f64], _out: &mut Matrix) -> Result<bool> {
        Ok(false)
    }

    /// Bounds of ∇²V = −∇² log p over all z, if any are known \[curvature\].
    fn curvature(&self) -> Result<Option<Curvature>> {
        Ok(None)
    }

    /// Whether [`Target::curvature`] is derived by this crate from a model of this crate. No other target can
    /// return true, because no other crate can name the argument: a curvature that another target returns is
    /// declared by its owner, wherever its numbers come from.
    #[doc(hidden)]
    fn proves_its_curvature(&self, _: own::Word) -> bool {
        false
    }

    /// The model itself, for proofs that need more of a model of this crate than this trait gives.
    #[doc(hidden)]
    fn model_of_its_own(&self, _: own::Word) -> Option<&dyn std::any::Any> {
        None
    }

    /// The lower bound alone, with the provenance of both bounds together. A gap needs no more, and this is often
    /// far cheaper.
    fn lower_curvature(&self) -> Result<Option<Curvature>> {
        self.curvature()
    }

    /// One name for each coordinate.
    fn names(&self) -> Vec<String> {
        (0..self.dim()).map(|i| format!("z{i}")).collect()
    }

    /// Expectations of V, ∇V and ∇²V under a Gaussian, where they reduce to one-dimensional integrals
    /// \[exact\].
    fn expectations(&self) -> Option<&dyn Expectations> {
        None
    }

    /// The same density term by term, if it is a sum over data [noise-subsample].
    fn finite_sum(&self) -> Option<&dyn FiniteSum> {
        None
    }

    /// (observations held in memory, numbers that describe them): what [`crate::memory`] counts as data.
    fn data_size(&self) -> (usize, usize) {
        (0, 0)
    }

    /// How many points this target has refused so far, and why, in its own words. For reports only: no result
    /// depends on it.
    fn rejections(&self) -> Rejections {
        Rejections::default()
    }

    /// The same density in coordinates that do not depend on the units of its data, if such coordinates are known
    /// \[whiten\]. Solvers and audits work in them and return answers in this target's own coordinates. A target
    /// that already uses such coordinates returns `None`.
    fn standardized(&self) -> Result<Option<Standardized<'_>>> {
        Ok(None)
    }

    /// Bounds of ∇²V near an answer, if they are better than the bounds over all z [cert-local].
    fn local_curvature<'s>(
        &'s self,
        _q: &Gaussian<Triangular>,
    ) -> Result<Option<Box<dyn LocalCurvature + 's>>> {
        Ok(None)
    }

    /// For each radius r, an upper bound of the rounding error of log p and of its gradient over all z = m + Cx,
    /// ‖x‖ ≤ r \[rounding\]. `None` means that no bound is known. An audit then allows 1e-12 of a value and 1e-11
    /// for each coordinate of Cᵀ∇V; that this is enough is part of what the target's owner declares.
    fn rounding(&self, _q: &Gaussian<Triangular>, _radii: &[f64]) -> Result<Option<Vec<Rounding>>> {
        Ok(None)
    }
}

/// A type that no other crate can name.
pub(crate) mod own {
    /// Only models of this crate can construct it.
    #[derive(Clone, Copy, Debug)]
    #[allow(unreachable_pub, reason = "it is in the signature of a public trait, and must not be nameable")]
    pub struct Word;
}

/// The curvature of a target with its true provenance: at best declared, unless this crate derived it.
pub(crate) fn trusted_curvature(target: &dyn Target) -> Result<Option<Curvature>> {
    let proved = target.proves_its_curvature(own::Word);
    let trusted = |c: Curvature| if proved { c } else { c.at_best(Provenance::Declared) };
    Ok(target.curvature()?.map(trusted))
}

/// [`Target::log_density`] for a target that implements [`Target::log_densities`] itself: a batch of one point. Do
/// not use it together with the default `log_densities`: each would call the other without end.
pub fn batch_of_one(target: &(impl Target + ?Sized), z: &[f64], gradient: &mut [f64]) -> Result<f64> {
    let mut value = [f64::NAN];
    target.log_densities(z, &mut value, gradient, &mut Scratch::default())?;
    Ok(value[0])
}

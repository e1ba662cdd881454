//! What is to be approximated: a density p(z, x) known through its logarithm and gradient.

#[cfg(feature = "autodiff")]
#[doc(hidden)]
pub mod autodiff;
mod closure;
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
#[doc(hidden)]
pub mod standard;
mod standardized;
#[doc(hidden)]
pub mod watchdog;
pub(crate) mod whiten;

pub use crate::base::scratch::Scratch;
pub use closure::Closure;
pub use declared::Declared;
pub use evaluate::Evaluator;
pub use expectations::Expectations;
pub use finite_sum::{FiniteSum, Summed, TermSmoothness};
pub use gaussian::GaussianTarget;
pub use local::LocalCurvature;
pub use rejections::{RejectionLog, Rejections};
pub use rounding::Rounding;
pub use standardized::Standardized;

use crate::base::error::Result;
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::matrix::Matrix;
use crate::base::stop;
use crate::target::curvature::{Curvature, Provenance};

// The face of the crate: models live in `glm`, and users find them here. Nothing in this room uses them.
pub use crate::glm::{
    ColumnSummary, DataPrior, DataSummary, Family, GROUP_SCALE, Glm, Prior, hierarchical_convexity,
    hierarchical_logistic, hierarchical_logistic_scaled,
};

/// A log density over ℝᵈ. Two methods are enough; the others unlock speed and proofs.
///
/// A target speaks log p, as its users do; from the estimators on everything is minimised, V = −log p. Its cost is the
/// cost of a run: one evaluation a draw.
///
/// Threads: `&model` is handed over the same way everywhere. Draws are evaluated in parallel when the target is `Sync`, and one
/// after the other when it is handed over as [`Evaluator::Serial`]. Results are the same bits either way. A target whose evaluations are passes that use all threads themselves, or that speak to other
/// processes, is not `Sync` ([`crate::stream::Streamed`]): one call follows the other.
pub trait Target {
    /// d, the number of coordinates.
    fn dim(&self) -> usize;

    /// log p(z, x), with every constant if an evidence is to be read off; ∇ log p into `gradient`.
    ///
    /// Return NaN or −∞ where the density is not defined, a rejection: steps shrink before such places. Return an error
    /// when evaluation itself failed: it ends the run.
    fn log_density(&self, z: &[f64], gradient: &mut [f64]) -> Result<f64>;

    /// [`Target::log_density`] at many points: `points` and `gradients` hold one point a row.
    ///
    /// The default is a loop. An override may share work between points, as long as the answer at a point
    /// does not depend on which other points are asked for.
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

    /// How many points [`Target::log_densities`] is handed at most by a sampled run. The default keeps them in cache and
    /// leaves several calls to share among threads; where a call costs more than its points, as into another language,
    /// say more. No number of an answer depends on it.
    fn batch(&self) -> usize {
        8
    }

    /// ∇² log p at z into `out` (d × d). `Ok(false)`: this target gives none.
    fn hessian(&self, _z: &[f64], _out: &mut Matrix) -> Result<bool> {
        Ok(false)
    }

    /// Bounds of ∇²V = −∇² log p over all z, if any are known \[curvature\].
    fn curvature(&self) -> Result<Option<Curvature>> {
        Ok(None)
    }

    /// Whether [`Target::curvature`] is derived from a model of this crate, whose density this is. Nobody else can say so, for
    /// nobody else can name the argument: what another target returns is its owner's word, wherever the numbers come from.
    #[doc(hidden)]
    fn proves_its_curvature(&self, _: own::Word) -> bool {
        false
    }

    /// The lower bound alone, with the provenance that both have together: all that a gap needs, and often far cheaper.
    fn lower_curvature(&self) -> Result<Option<Curvature>> {
        self.curvature()
    }

    /// A name for each coordinate.
    fn names(&self) -> Vec<String> {
        (0..self.dim()).map(|i| format!("z{i}")).collect()
    }

    /// Expectations of V, ∇V and ∇²V under a Gaussian, where they reduce to one-dimensional integrals
    /// \[exact\].
    fn expectations(&self) -> Option<&dyn Expectations> {
        None
    }

    /// The same density term by term, where it is a sum over data [noise-subsample].
    fn finite_sum(&self) -> Option<&dyn FiniteSum> {
        None
    }

    /// Observations held in memory, and the numbers that describe them: what [`crate::memory`] counts as data.
    fn data_size(&self) -> (usize, usize) {
        (0, 0)
    }

    /// The points that this target refused so far, and why, in its own words. For reports: no number depends on it.
    fn rejections(&self) -> Rejections {
        Rejections::default()
    }

    /// The same density in coordinates that do not depend on the units of its data, where they are known \[whiten\]. Solvers and
    /// audits work in those and give their answers in this target's own. A target that is in such coordinates gives `None`.
    fn standardized(&self) -> Result<Option<Standardized<'_>>> {
        Ok(None)
    }

    /// Bounds of ∇²V near an answer, where they are better than over all z [cert-local].
    fn local_curvature<'s>(
        &'s self,
        _q: &Gaussian<Triangular>,
    ) -> Result<Option<Box<dyn LocalCurvature + 's>>> {
        Ok(None)
    }

    /// What rounding does at most to log p and its gradient at every z = m + Cx, ‖x‖ ≤ r, for each radius r \[rounding\]. `None`: it
    /// is not known. An audit then allows 1e-12 of a value and 1e-11 for each coordinate of Cᵀ∇V: that this is enough is part of
    /// what the target's owner declares.
    fn rounding(&self, _q: &Gaussian<Triangular>, _radii: &[f64]) -> Result<Option<Vec<Rounding>>> {
        Ok(None)
    }
}

/// What only this crate can name.
pub(crate) mod own {
    /// A model of this crate speaks.
    #[derive(Clone, Copy, Debug)]
    #[allow(
        unreachable_pub,
        reason = "it stands in the signature of a public trait, and must not be nameable"
    )]
    pub struct Word;
}

/// The curvature of a target with the provenance that it deserves: declared at best, unless this crate derived it.
pub(crate) fn trusted_curvature(target: &dyn Target) -> Result<Option<Curvature>> {
    let proved = target.proves_its_curvature(own::Word);
    let trusted = |c: Curvature| if proved { c } else { c.at_best(Provenance::Declared) };
    Ok(target.curvature()?.map(trusted))
}

/// [`Target::log_density`] of a target that has a [`Target::log_densities`] of its own: a batch of one. The default of that
/// method calls this one in turn, without end.
pub fn batch_of_one(target: &(impl Target + ?Sized), z: &[f64], gradient: &mut [f64]) -> Result<f64> {
    let mut value = [f64::NAN];
    target.log_densities(z, &mut value, gradient, &mut Scratch::default())?;
    Ok(value[0])
}

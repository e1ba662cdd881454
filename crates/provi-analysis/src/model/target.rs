//! The target of a model: rows in memory, or files that are read again at each pass.

use std::borrow::Cow;
use std::sync::Arc;

use provi::scales::{FreeScales, Integration, NodeProof, ScaleMixture, ScaledModel};
use provi::sparse::SparseModel;
use provi::stream::{Reduce, Streamed};
use provi::target::{DataSummary, Evaluator, Family, Glm, Prior, SparseGlm};
use provi::{Audit, Seed, Target};

use super::blocks::Blocks;
use crate::error::Result;

/// A model whose files are read again at each pass.
pub type FileModel = Streamed<Blocks, Arc<dyn Reduce>>;

/// Rows in memory, or files that are read again at each pass; solved by a dense or by a sparse factor.
#[derive(Clone, Debug)]
pub enum ModelTarget {
    /// All rows in memory.
    Memory(Box<Glm>),
    /// All rows in memory, and so many coefficients that the precision is held sparsely.
    Sparse(Box<SparseGlm>),
    /// One block at a time, by one process or several.
    Files(Box<FileModel>),
    /// The same, with the precision held sparsely.
    SparseFiles(Box<SparseGlm<FileModel>>),
}

/// The model itself, however it is solved.
enum Plain<'a> {
    Memory(&'a Glm),
    Files(&'a FileModel),
}

impl ModelTarget {
    /// The log density.
    pub fn target(&self) -> &dyn Target {
        match self {
            Self::Memory(glm) => &**glm,
            Self::Sparse(model) => &**model,
            Self::Files(streamed) => &**streamed,
            Self::SparseFiles(model) => &**model,
        }
    }

    /// The target for evaluation, with parallel draws if its rows are in memory.
    pub fn evaluator(&self) -> Evaluator<'_> {
        match self {
            Self::Memory(glm) => Evaluator::Parallel(&**glm),
            Self::Sparse(model) => Evaluator::Parallel(&**model),
            Self::Files(streamed) => Evaluator::Serial(&**streamed),
            Self::SparseFiles(model) => Evaluator::Serial(&**model),
        }
    }

    fn plain(&self) -> Plain<'_> {
        match self {
            Self::Memory(glm) => Plain::Memory(glm),
            Self::Sparse(model) => Plain::Memory(model.glm()),
            Self::Files(streamed) => Plain::Files(streamed),
            Self::SparseFiles(model) => Plain::Files(model.glm()),
        }
    }

    /// The model, if its rows are in memory.
    pub fn glm(&self) -> Option<&Glm> {
        match self.plain() {
            Plain::Memory(glm) => Some(glm),
            Plain::Files(_) => None,
        }
    }

    /// The sparse form of the model, if it is solved by that.
    pub fn sparse(&self) -> Option<&SparseModel> {
        match self {
            Self::Sparse(model) => Some(model.sparse()),
            Self::SparseFiles(model) => Some(model.sparse()),
            Self::Memory(_) | Self::Files(_) => None,
        }
    }

    /// The likelihood.
    pub fn family(&self) -> Family {
        match self.plain() {
            Plain::Memory(glm) => glm.family(),
            Plain::Files(streamed) => streamed.family(),
        }
    }

    /// The prior.
    pub fn prior(&self) -> &Prior {
        match self.plain() {
            Plain::Memory(glm) => glm.prior(),
            Plain::Files(streamed) => streamed.prior(),
        }
    }

    /// Summary statistics of columns and responses.
    pub fn summary(&self) -> Cow<'_, DataSummary> {
        match self.plain() {
            Plain::Memory(glm) => Cow::Owned(glm.summary()),
            Plain::Files(streamed) => Cow::Borrowed(streamed.summary()),
        }
    }

    /// The same data with another prior.
    pub fn with_prior(self, prior: Prior) -> Result<Self> {
        Ok(match self {
            Self::Memory(glm) => Self::Memory(Box::new(glm.with_prior(prior)?)),
            Self::Sparse(model) => Self::Sparse(Box::new(model.with(|glm| glm.with_prior(prior))?)),
            Self::Files(streamed) => Self::Files(Box::new(streamed.with_prior(prior)?)),
            Self::SparseFiles(model) => {
                Self::SparseFiles(Box::new(model.with(|streamed| streamed.with_prior(prior))?))
            }
        })
    }

    /// The same rows, to integrate over the scales.
    pub(crate) fn rows(&self) -> ModelRows<'_> {
        match self {
            Self::Memory(glm) => ModelRows::Memory(glm),
            Self::Sparse(model) => ModelRows::Sparse(model),
            Self::Files(streamed) => ModelRows::Files(streamed),
            Self::SparseFiles(model) => ModelRows::SparseFiles(model),
        }
    }

    /// The model at the free scales that maximise its ELBO.
    pub(super) fn maximised(&self, free: &FreeScales, nats: f64) -> Result<ScaledModel<Self>> {
        fn held<M>(
            found: ScaledModel<M>,
            hold: impl FnOnce(Box<M>) -> ModelTarget,
        ) -> ScaledModel<ModelTarget> {
            let ScaledModel {
                model,
                shared,
                vanishing,
                noise_sd,
                gaps,
                gaussian,
                neg_elbo,
                evaluations,
                stopped_early,
            } = found;
            let model = hold(Box::new(model));
            ScaledModel {
                model,
                shared,
                vanishing,
                noise_sd,
                gaps,
                gaussian,
                neg_elbo,
                evaluations,
                stopped_early,
            }
        }
        Ok(match self {
            Self::Memory(glm) => held(free.maximise_to(&**glm, nats)?, Self::Memory),
            Self::Sparse(model) => held(free.maximise_to(&**model, nats)?, Self::Sparse),
            Self::Files(streamed) => held(free.maximise_to(&**streamed, nats)?, Self::Files),
            Self::SparseFiles(model) => held(free.maximise_to(&**model, nats)?, Self::SparseFiles),
        })
    }
}

/// The rows of a model of any origin, to integrate over its scales.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ModelRows<'a> {
    /// All rows in memory.
    Memory(&'a Glm),
    /// The same, with a sparse precision.
    Sparse(&'a SparseGlm),
    /// One block at a time, by one process or several.
    Files(&'a FileModel),
    /// The same, with a sparse precision.
    SparseFiles(&'a SparseGlm<FileModel>),
}

impl ModelRows<'_> {
    /// The mixture over the free scales.
    pub(crate) fn integrated(self, free: &FreeScales, how: &Integration) -> Result<ScaleMixture> {
        Ok(match self {
            Self::Memory(glm) => free.integrate(glm, how)?,
            Self::Sparse(model) => free.integrate(model, how)?,
            Self::Files(streamed) => free.integrate(streamed, how)?,
            Self::SparseFiles(model) => free.integrate(model, how)?,
        })
    }

    /// Weighs draws of a mixture over the free scales.
    pub(crate) fn weigh(
        self,
        mixture: &mut ScaleMixture,
        free: &FreeScales,
        draws: usize,
        seed: Seed,
    ) -> Result<()> {
        match self {
            Self::Memory(glm) => mixture.weigh(free, glm, draws, seed)?,
            Self::Sparse(model) => mixture.weigh(free, model, draws, seed)?,
            Self::Files(streamed) => mixture.weigh(free, streamed, draws, seed)?,
            Self::SparseFiles(model) => mixture.weigh(free, model, draws, seed)?,
        }
        Ok(())
    }

    /// Audits the nodes of a mixture; fewer proofs than nodes if a stop was wanted.
    pub(crate) fn prove(
        self,
        mixture: &ScaleMixture,
        free: &FreeScales,
        audit: &Audit,
        seed: Seed,
    ) -> Result<Vec<NodeProof>> {
        Ok(match self {
            Self::Memory(glm) => mixture.prove(free, glm, audit, seed)?,
            Self::Sparse(model) => mixture.prove(free, model, audit, seed)?,
            Self::Files(streamed) => mixture.prove(free, streamed, audit, seed)?,
            Self::SparseFiles(model) => mixture.prove(free, model, audit, seed)?,
        })
    }
}

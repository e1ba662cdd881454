//! A linear-predictor model with its sparse form beside it.

use crate::base::error::Result;
use crate::glm::model::Glm;
use crate::glm::sparse::{SparseForm, SparseModel};
use crate::target::Target;

/// A model that is solved by its sparse precision, for many coefficients of which few meet in a row: a [`Glm`], or a
/// [`Streamed`](crate::stream::Streamed) one.
#[derive(Clone, Debug)]
pub struct SparseGlm<M = Glm> {
    glm: M,
    sparse: SparseModel,
}

impl<M: SparseForm> SparseGlm<M> {
    /// Sorts the rows and finds an order of elimination; the model itself comes back if the factor would have more
    /// numbers than `largest`.
    pub fn within(glm: M, largest: usize) -> Result<std::result::Result<Self, M>> {
        Ok(match glm.sparse_within(largest)? {
            Some(sparse) => Ok(Self { glm, sparse }),
            None => Err(glm),
        })
    }

    /// The same rows under another prior or noise.
    pub fn with(self, change: impl FnOnce(M) -> Result<M>) -> Result<Self> {
        let glm = change(self.glm)?;
        let sparse = glm.sparse_again(&self.sparse)?;
        Ok(Self { glm, sparse })
    }
}

impl<M> SparseGlm<M> {
    /// The model.
    pub fn glm(&self) -> &M {
        &self.glm
    }

    /// Its sparse form.
    pub fn sparse(&self) -> &SparseModel {
        &self.sparse
    }
}

/// Only what costs O(d): bounds of the curvature and dense expectations are those of the model itself.
impl<M: Target> Target for SparseGlm<M> {
    crate::forward_target!(self => self.glm; dim log_density log_densities log_densities_alone batch names data_size rejections);
}

//! A linear-predictor model with its sparse form beside it.

use crate::base::error::Result;
use crate::glm::family::Family;
use crate::glm::model::Glm;
use crate::glm::prior::Prior;
use crate::glm::sparse::SparseModel;
use crate::target::Target;

/// A [`Glm`] that is solved by its sparse precision, for many coefficients of which few meet in a row.
///
/// Another prior or noise costs no pass over the rows as long as it ties no coefficients that were not tied before.
#[derive(Clone, Debug)]
pub struct SparseGlm {
    glm: Glm,
    sparse: SparseModel,
}

impl SparseGlm {
    /// Sorts the rows and finds an order of elimination; the model itself comes back if the factor would have more
    /// numbers than `largest`.
    pub fn within(glm: Glm, largest: usize) -> Result<std::result::Result<Self, Glm>> {
        Ok(match SparseModel::within(&glm.linear, &glm.rows, largest)? {
            Some(sparse) => Ok(Self { glm, sparse }),
            None => Err(glm),
        })
    }

    /// The model.
    pub fn glm(&self) -> &Glm {
        &self.glm
    }

    /// Its sparse form.
    pub fn sparse(&self) -> &SparseModel {
        &self.sparse
    }

    /// The same data under another prior.
    pub fn with_prior(self, prior: Prior) -> Result<Self> {
        let Self { glm, sparse } = self;
        Self::again(glm.with_prior(prior)?, &sparse)
    }

    /// The same responses with other parameters of the family.
    pub(crate) fn with_family(self, family: Family) -> Result<Self> {
        let Self { glm, sparse } = self;
        let glm = glm.with_family(family)?;
        if family.is_recoded() {
            // The sorted rows hold other offsets or weights.
            let sparse = glm.sparse()?;
            return Ok(Self { glm, sparse });
        }
        Self::again(glm, &sparse)
    }

    fn again(glm: Glm, sparse: &SparseModel) -> Result<Self> {
        let sparse = match sparse.under(&glm.linear)? {
            Some(sparse) => sparse,
            None => glm.sparse()?,
        };
        Ok(Self { glm, sparse })
    }
}

/// Only what costs O(d): bounds of the curvature and dense expectations are those of the [`Glm`].
impl Target for SparseGlm {
    crate::forward_target!(self => self.glm; dim log_density log_densities batch names data_size rejections);
}

//! Whether q has a dense or a sparse factor.

use provi::matrix::packed_len;
use provi::target::SparseGlm;
use provi_table::available_memory;

use super::memory::{ModelSize, refuse_large};
use super::target::ModelTarget;
use crate::error::{Error, Result};
use crate::options::FactorName;

/// With more coefficients, q has a sparse factor if that has few entries: a dense one costs d³ for every step.
const LARGEST_DENSE: usize = 2_000;
/// A sparse factor has at most this share of the entries of a dense one.
const SHARE: usize = 4;
/// How many arrays as large as the factor a solution holds.
const ARRAYS: u64 = 12;

/// The target with the factor that was asked for, or the better one. `search` says whether scales must be found.
pub(super) fn chosen(
    target: ModelTarget,
    asked: Option<FactorName>,
    size: &ModelSize,
    search: bool,
) -> Result<ModelTarget> {
    let dense = || refuse_large(size, search);
    let glm = match target {
        ModelTarget::Memory(glm) => glm,
        other if asked == Some(FactorName::Sparse) && other.sparse().is_none() => {
            return Err(Error::SparseNeedsRows);
        }
        other => return dense().map(|()| other),
    };
    let sparse = match asked {
        Some(name) => name == FactorName::Sparse,
        None => glm.design().is_sparse() && (size.coefficients > LARGEST_DENSE || dense().is_err()),
    };
    if !sparse {
        return dense().map(|()| ModelTarget::Memory(glm));
    }
    let room = available_memory().map_or(usize::MAX, |bytes| (bytes / (8 * ARRAYS)) as usize);
    let few = if asked.is_some() { usize::MAX } else { packed_len(size.coefficients) / SHARE };
    match SparseGlm::within(*glm, few.min(room))? {
        Ok(model) => Ok(ModelTarget::Sparse(Box::new(model))),
        // Crossed groups may fill it: then a dense one is as good, if it fits.
        Err(_) if asked.is_some() => Err(Error::FactorFilled { coefficients: size.coefficients }),
        Err(glm) => dense().map(|()| ModelTarget::Memory(Box::new(glm))),
    }
}

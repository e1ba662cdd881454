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
    let has_few_entries = match &target {
        ModelTarget::Memory(glm) => glm.design().is_sparse(),
        ModelTarget::Files(streamed) => streamed.is_sparse(),
        ModelTarget::Sparse(_) | ModelTarget::SparseFiles(_) => return Ok(target),
    };
    let sparse = match asked {
        Some(name) => name == FactorName::Sparse,
        None => has_few_entries && (size.coefficients > LARGEST_DENSE || dense().is_err()),
    };
    if !sparse {
        return dense().map(|()| target);
    }
    let room = available_memory().map_or(usize::MAX, |bytes| (bytes / (8 * ARRAYS)) as usize);
    let few = if asked.is_some() { usize::MAX } else { packed_len(size.coefficients) / SHARE };
    let target = match target {
        ModelTarget::Memory(glm) => match SparseGlm::within(*glm, few.min(room))? {
            Ok(model) => return Ok(ModelTarget::Sparse(Box::new(model))),
            Err(glm) => ModelTarget::Memory(Box::new(glm)),
        },
        ModelTarget::Files(streamed) => match SparseGlm::within(*streamed, few.min(room))? {
            Ok(model) => return Ok(ModelTarget::SparseFiles(Box::new(model))),
            Err(streamed) => ModelTarget::Files(Box::new(streamed)),
        },
        other => other,
    };
    // Crossed groups may fill it: then a dense one is as good, if it fits.
    match asked {
        Some(_) => Err(Error::FactorFilled { coefficients: size.coefficients }),
        None => dense().map(|()| target),
    }
}

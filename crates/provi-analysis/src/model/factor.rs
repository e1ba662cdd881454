//! Whether q has a dense or a sparse factor.

use provi::matrix::packed_len;
use provi::stream::Reduce;
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

/// The target with the factor that was asked for, or the better one. `search` says whether scales must be found. A
/// collective call: processes that share files agree on what the memory of each allows.
pub(super) fn chosen(
    target: ModelTarget,
    asked: Option<FactorName>,
    size: &ModelSize,
    search: bool,
) -> Result<ModelTarget> {
    let dense = || refuse_large(size, search);
    let room = available_memory().map_or(usize::MAX, |bytes| (bytes / (8 * ARRAYS)) as usize);
    match target {
        ModelTarget::Memory(glm) => {
            let refused = dense().is_err();
            match largest(asked, size, glm.design().is_sparse(), refused) {
                None => dense().map(|()| ModelTarget::Memory(glm)),
                Some(few) => match SparseGlm::within(*glm, few.min(room))? {
                    Ok(model) => Ok(ModelTarget::Sparse(Box::new(model))),
                    Err(_) if asked.is_some() => Err(filled(size)),
                    Err(glm) => dense().map(|()| ModelTarget::Memory(Box::new(glm))),
                },
            }
        }
        ModelTarget::Files(streamed) => {
            // The least room of any process, and whether any refuses a dense factor.
            let mut all = [-(room as f64), f64::from(u8::from(dense().is_err()))];
            streamed.reduce().largest(&mut all)?;
            let (room, refused) = (-all[0] as usize, all[1] > 0.5);
            match largest(asked, size, streamed.is_sparse(), refused) {
                None => dense().map(|()| ModelTarget::Files(streamed)),
                Some(few) => match SparseGlm::within(*streamed, few.min(room))? {
                    Ok(model) => Ok(ModelTarget::SparseFiles(Box::new(model))),
                    Err(_) if asked.is_some() => Err(filled(size)),
                    Err(streamed) => dense().map(|()| ModelTarget::Files(Box::new(streamed))),
                },
            }
        }
        found @ (ModelTarget::Sparse(_) | ModelTarget::SparseFiles(_)) => Ok(found),
    }
}

/// The most numbers that a sparse factor may have; `None` if a dense one is used. Crossed groups may fill it: then a dense
/// one is as good, if it fits.
fn largest(
    asked: Option<FactorName>,
    size: &ModelSize,
    has_few_entries: bool,
    dense_is_refused: bool,
) -> Option<usize> {
    match asked {
        Some(name) => (name == FactorName::Sparse).then_some(usize::MAX),
        None => (has_few_entries && (size.coefficients > LARGEST_DENSE || dense_is_refused))
            .then_some(packed_len(size.coefficients) / SHARE),
    }
}

fn filled(size: &ModelSize) -> Error {
    Error::FactorFilled { coefficients: size.coefficients }
}

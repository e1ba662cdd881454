//! A diagonal matrix below Λ, and so below ∇²V.

use super::PriorEntry;
use crate::base::error::{Error, Result};
use crate::base::linalg::sparse::Structure;

/// D ⪯ Λ, by places: λ·diag(Λ) with λ = 1 for a diagonal Λ, else with a λ for which Λ − λ·diag(Λ) has a Cholesky factor.
///
/// A computed factor is that of Λ − λ·diag(Λ) + E, |E_ij| ≤ γ√(Λ_iiΛ_jj), so that Λ ⪰ (λ − γ√(2n))·diag(Λ), n the entries of the
/// factor.
#[derive(Clone, Debug)]
pub(super) struct LowerBound {
    /// D_ii; none if nothing was found.
    pub(super) diagonal: Option<Vec<f64>>,
}

/// The least λ that is tried, 2⁻⁴⁰.
const HALVINGS: i32 = 40;

impl LowerBound {
    /// From the entries of Λ, each given up to an error of spectral norm `lost` in all.
    pub(super) fn new(structure: &Structure, prior: &[PriorEntry], lost: f64) -> Result<Self> {
        let mut diagonal = vec![0.0; structure.dim()];
        for entry in prior.iter().filter(|entry| entry.row == entry.column) {
            diagonal[entry.row] += entry.value;
        }
        let off = prior.iter().filter(|entry| entry.row != entry.column && entry.value.abs() > 0.0).count();
        let share = match off {
            0 => Some(1.0),
            _ => {
                let rows = structure.row_counts().into_iter().max().unwrap_or(0) as f64;
                let unit = (rows + 4.0) * f64::EPSILON * (2.0 * structure.len() as f64).sqrt();
                largest_share(structure, prior)?.map(|share| share - unit).filter(|share| *share > 0.0)
            }
        };
        let bound = share.map(|share| diagonal.iter().map(|x| share * x * (1.0 - 1e-12) - lost).collect());
        Ok(Self { diagonal: bound.filter(|d: &Vec<f64>| d.iter().all(|x| *x > 0.0)) })
    }
}

/// The largest 2^{−k} for which Λ − 2^{−k}·diag(Λ) has a factor.
fn largest_share(structure: &Structure, prior: &[PriorEntry]) -> Result<Option<f64>> {
    let mut values = vec![0.0; structure.len()];
    for k in 1..=HALVINGS {
        let share = 0.5f64.powi(k);
        values.fill(0.0);
        for entry in prior {
            let kept = if entry.row == entry.column { 1.0 - share } else { 1.0 };
            values[entry.index] += kept * entry.value;
        }
        match structure.factor("prior precision", &mut values) {
            Ok(()) => return Ok(Some(share)),
            Err(Error::NotPositiveDefinite { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

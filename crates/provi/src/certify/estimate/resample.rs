//! Resampling of draws in proportion to their weights.

use super::psis::largest;
use crate::base::draws::{Draws, Purpose, Seed};
use crate::base::error::Result;

/// Systematic resampling: returns `count` indices in increasing order. Index k is taken ⌊nW_k⌋ or ⌈nW_k⌉ times,
/// where W_k are the normalised weights and n = `count`; its expected number is exactly nW_k.
///
/// The positions are (i + U)/n on the cumulated weights, with one uniform U. Log weights may be −∞, but not all of
/// them. Cost: one pass.
///
/// ```
/// use provi::{Seed, estimate::resample};
/// let indices = resample(&[0.0, f64::NEG_INFINITY, 3f64.ln()], 4, Seed(1)).unwrap();
/// assert_eq!(indices, [0, 2, 2, 2]);
/// ```
pub fn resample(log_weights: &[f64], count: usize, seed: Seed) -> Result<Vec<usize>> {
    let max = largest(log_weights)?;
    let weight = |k: usize| (log_weights[k] - max).exp();
    let total: f64 = (0..log_weights.len()).map(weight).sum();
    // Step 0 of draw 1: the draws of an estimate with the same seed all use draw 0.
    let offset = Draws::new(seed, Purpose::Estimate).uniform(0, 1);
    let mut indices = Vec::with_capacity(count);
    let (mut cumulated, mut last) = (0.0, 0);
    for k in 0..log_weights.len() {
        let weight = weight(k);
        cumulated += weight;
        if weight > 0.0 {
            last = k;
        }
        while indices.len() < count && (indices.len() as f64 + offset) * total < cumulated * count as f64 {
            indices.push(k);
        }
    }
    // Rounding can leave the last position beyond the last weight.
    indices.resize(count, last);
    Ok(indices)
}

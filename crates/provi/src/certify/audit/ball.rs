//! The choice of the ball, by pilot draws that are used for nothing else.

use super::metric::Metric;
use super::residual::{Pilot, Residuals};
use crate::base::chunked::{self, Chunks};
use crate::base::error::Result;
use crate::base::linalg::{eigenvalue_error, eigenvalues, safe_congruence};
use crate::base::matrix::Matrix;
use crate::base::special::chi_square::chi_square_tail;
use crate::target::LocalCurvature;
use crate::target::curvature::Provenance;
use crate::theory::certificate::{Ball, Outside};

/// Number of radii at which the curvature is computed; the last ones are candidates for R.
const GRID: usize = 32;
/// Number of candidates whose bound is computed in full.
const CANDIDATES: usize = 8;

/// Where a bound of the curvature is costly: of how many radii one is asked for first, and the relative difference up to which the bound at a
/// larger radius stands for those at smaller ones.
const STRIDE: usize = 8;
const ALIKE: f64 = 0.01;

/// A ball with what is known about it before the audit's draws.
pub(super) struct Choice {
    pub(super) radius: f64,
    pub(super) metric: Metric,
    pub(super) least: f64,
    pub(super) outside: Outside,
    pub(super) alpha: f64,
    pub(super) alpha2: f64,
    /// The pilot's mean of ‖ŝ‖².
    pub(super) mean: f64,
    pub(super) provenance: Provenance,
}

impl Choice {
    /// The statement about the ball, given a bound of F on it.
    pub(super) fn ball(&self, fisher: f64) -> Ball {
        Ball { fisher, outside: self.outside, alpha: self.alpha, alpha2: self.alpha2 }
    }
}

/// Whether the least curvature up to a larger radius is little less than up to a smaller one.
fn are_alike(inner: f64, outer: f64) -> bool {
    outer > 0.0 && outer >= (1.0 - ALIKE) * inner
}

/// The least eigenvalue of CᵀH_rC at each radius, rounded down, as far as it is positive and once more.
fn all_least(factor: &Matrix, local: &dyn LocalCurvature, radii: &[f64]) -> Result<Vec<f64>> {
    let mut least: Vec<f64> = Vec::with_capacity(radii.len());
    for radii in radii.chunks(local.at_once().max(1)) {
        let lowers = local.lower(radii)?;
        // Where eigensolvers are cut off by all processes alike there is one matrix at a time.
        let work = lowers.len() * 4 * factor.rows().pow(3);
        let values = chunked::map(Chunks { len: lowers.len(), size: 1, work }, |range| {
            let lower = safe_congruence(&lowers[range.start], factor, 0.0, -1.0);
            Ok(eigenvalues("H_r", &lower)?[0] - eigenvalue_error(&lower))
        });
        for value in values {
            let value: f64 = value?;
            // H_r does not increase with r; rounding must not make it increase.
            least.push(value.min(least.last().copied().unwrap_or(f64::INFINITY)));
            if value <= 0.0 {
                return Ok(least);
            }
        }
    }
    Ok(least)
}

/// The same at every [`STRIDE`]-th radius. Between two that are alike the lower one holds, for H_r does not increase with r; otherwise the
/// radii between them are asked for too.
fn few_least(factor: &Matrix, local: &dyn LocalCurvature, radii: &[f64]) -> Result<Vec<f64>> {
    let few: Vec<f64> = radii.iter().copied().step_by(STRIDE).collect();
    let few = all_least(factor, local, &few)?;
    let mut least = few[..1].to_vec();
    for (k, radii) in radii[1..].chunks(STRIDE).enumerate() {
        let last = least[least.len() - 1];
        if last <= 0.0 {
            break;
        }
        match few.get(k + 1) {
            Some(&outer) if are_alike(last, outer) => least.extend(vec![outer.min(last); radii.len()]),
            _ => least.extend(all_least(factor, local, radii)?.iter().map(|value| value.min(last))),
        }
    }
    Ok(least)
}

/// The ball with the smallest predicted bound; `None` if no radius yields a certificate.
pub(super) fn choose(
    factor: &Matrix,
    local: &dyn LocalCurvature,
    residuals: &Residuals<'_>,
    pilot: &Pilot,
    delta: f64,
    draws: u64,
    provenance: Provenance,
) -> Result<Option<Choice>> {
    let d = factor.rows();
    let allowances = residuals.allowances();
    let gradient_norm = residuals.gradient_norm();
    let reach = (d as f64).sqrt() + 7.0;
    let radii: Vec<f64> = (0..=GRID).map(|i| reach * i as f64 / GRID as f64).collect();
    let at_once = local.at_once().max(1);
    let least = match local.is_costly() {
        true => few_least(factor, local, &radii)?,
        false => all_least(factor, local, &radii)?,
    };
    let known = least.len();
    let feasible: Vec<(usize, Outside)> = (1..known)
        .filter(|&i| radii[i] * radii[i] >= 0.5 * d as f64)
        .filter_map(|i| Some((i, Outside::new(d, &radii[..=i], &least[..=i], gradient_norm)?)))
        .filter(|(_, outside)| outside.moments[0] < 1.0)
        .collect();
    let stride = feasible.len().div_ceil(CANDIDATES).max(1);
    let mut best: Option<(f64, Choice)> = None;
    let candidates: Vec<(usize, Outside)> = feasible.into_iter().rev().step_by(stride).collect();
    // A draw inside the ball is evaluated at a point that may lie outside by at most this much.
    let padded = |&(i, _): &(usize, Outside)| radii[i] + allowances.at(radii[i]).shift;
    let ends = candidates.last().zip(candidates.first());
    let shared = match ends {
        // What holds up to the largest of them holds up to each.
        Some((inner, outer)) if local.is_costly() && are_alike(least[inner.0], least[outer.0]) => {
            let widest = candidates.iter().map(padded).fold(0.0, f64::max);
            if widest.is_finite() { local.bounds(&[widest])?.pop() } else { None }
        }
        _ => None,
    };
    let mut bounds = Vec::new();
    for (place, (i, outside)) in candidates.iter().copied().enumerate() {
        let radius = radii[i];
        if let Some(shared) = &shared {
            bounds = vec![shared.clone()];
        } else if place.is_multiple_of(at_once) {
            let next: Vec<f64> = candidates[place..].iter().take(at_once).map(padded).collect();
            if next.iter().any(|radius| !radius.is_finite()) {
                break;
            }
            bounds = local.bounds(&next)?;
            bounds.reverse();
        }
        let Some((lower, upper)) = bounds.pop() else { continue };
        let lower = safe_congruence(&lower, factor, 0.0, -1.0);
        let Some(upper) = upper.map(|h| safe_congruence(&h, factor, 0.0, 1.0)) else { continue };
        let Ok(metric) = Metric::new(lower, Some(&upper)) else { continue };
        let mean = pilot.mean_within(&metric, radius);
        if !mean.is_finite() {
            continue;
        }
        let up = |x: f64| (x * (1.0 + 1e-11)).min(1.0);
        let (alpha, alpha2) =
            (up(chi_square_tail(d, radius * radius)), up(chi_square_tail(d + 2, radius * radius)));
        if alpha >= 0.5 {
            continue;
        }
        let inside = ((1.0 - alpha) * draws as f64).max(1.0) as u64;
        let fisher = metric.fisher_upper(mean, inside, delta, &allowances.at(radius))?;
        let predicted = Ball { fisher, outside, alpha, alpha2 };
        // The step from q_B to q adds about α₂ times the spread of the curvature; an estimate is enough to choose.
        let price = predicted.kl() + alpha2 * d as f64;
        if best.as_ref().is_none_or(|(known, _)| price < *known) {
            best = Some((
                price,
                Choice { radius, metric, least: least[i], outside, alpha, alpha2, mean, provenance },
            ));
        }
    }
    Ok(best.map(|(_, choice)| choice))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    type Curve = fn(f64) -> f64;

    /// H_r = least(r)·I in one dimension, with the number of radii that were asked for.
    struct Flat {
        least: Curve,
        asked: Cell<usize>,
    }

    impl LocalCurvature for Flat {
        fn bounds(&self, radii: &[f64]) -> Result<Vec<(Matrix, Option<Matrix>)>> {
            self.asked.set(self.asked.get() + radii.len());
            let at = |r: &f64| Matrix::diagonal(&[(self.least)(*r)]);
            Ok(radii.iter().map(|r| (at(r), Some(at(&0.0)))).collect())
        }
    }

    /// Fewer radii give bounds that are below those of all radii, by a hundredth at most while they are positive, and end with them.
    #[test]
    fn a_few_radii_stand_for_those_between_them() {
        let one = Matrix::diagonal(&[1.0]);
        let radii: Vec<f64> = (0..=GRID).map(|i| 8.0 * i as f64 / GRID as f64).collect();
        let cases: [(Curve, usize); 4] = [
            (|_| 2.0, 5),
            (|r| 2.0 - 1e-3 * r, 5),
            (|r| 1.0 - 0.5 * r / 8.0, GRID + 6),
            // Flat, and then it falls.
            (|r| if r < 4.0 { 1.0 } else { 1.0 - (r - 4.0) }, 5 + GRID / 2),
        ];
        for (least, most) in cases {
            let local = |least| Flat { least, asked: Cell::new(0) };
            let (all, few) = (local(least), local(least));
            let (whole, found) =
                (all_least(&one, &all, &radii).unwrap(), few_least(&one, &few, &radii).unwrap());
            let positive = |values: &[f64]| values.iter().take_while(|x| **x > 0.0).count();
            assert_eq!(positive(&whole), positive(&found));
            for (whole, found) in whole.iter().zip(&found).filter(|(whole, _)| **whole > 0.0) {
                assert!(found <= whole && *found >= (1.0 - ALIKE) * whole, "{found} {whole}");
            }
            assert!(found.windows(2).all(|pair| pair[1] <= pair[0]));
            assert!(few.asked.get() <= most, "{} of {}", few.asked.get(), all.asked.get());
        }
    }
}

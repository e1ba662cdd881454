//! The choice of the ball, by pilot draws that are used for nothing else.

use super::metric::Metric;
use super::residual::{Pilot, Residuals};
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
    let mut least = Vec::with_capacity(GRID + 1);
    let at_once = local.at_once().max(1);
    for radii in radii.chunks(at_once) {
        for lower in local.lower(radii)? {
            let lower = safe_congruence(&lower, factor, 0.0, -1.0);
            let value = eigenvalues("H_r", &lower)?[0] - eigenvalue_error(&lower);
            // H_r does not increase with r; rounding must not make it increase.
            least.push(value.min(least.last().copied().unwrap_or(f64::INFINITY)));
            if value <= 0.0 {
                break;
            }
        }
        if least.last().is_some_and(|value| *value <= 0.0) {
            break;
        }
    }
    let known = least.len();
    let feasible: Vec<(usize, Outside)> = (1..known)
        .filter(|&i| radii[i] * radii[i] >= 0.5 * d as f64)
        .filter_map(|i| Some((i, Outside::new(d, &radii[..=i], &least[..=i], gradient_norm)?)))
        .filter(|(_, outside)| outside.moments[0] < 1.0)
        .collect();
    let stride = feasible.len().div_ceil(CANDIDATES).max(1);
    let mut best: Option<(f64, Choice)> = None;
    let candidates: Vec<(usize, Outside)> = feasible.into_iter().rev().step_by(stride).collect();
    let mut bounds = Vec::new();
    for (place, (i, outside)) in candidates.iter().copied().enumerate() {
        let radius = radii[i];
        if place.is_multiple_of(at_once) {
            // A draw inside the ball is evaluated at a point that may lie outside by at most this much.
            let padded = |&(i, _): &(usize, Outside)| radii[i] + allowances.at(radii[i]).shift;
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

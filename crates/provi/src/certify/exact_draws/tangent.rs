//! Proposals for any target with 0 ≺ H_lo ⪯ ∇²V ⪯ H_hi.

use super::envelope::uniforms;
use super::{BATCH, Cap, MOST_PROPOSALS, MOST_ROUNDING, Proposer};
use crate::base::draws::{Draws, Purpose, Seed};
use crate::base::error::{Error, Result};
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::linalg::{eigenvalue_error, eigenvalues, inverse_factor, norm, safe_congruence};
use crate::base::matrix::{Matrix, packed_len};
use crate::base::scratch::Scratch;
use crate::base::special::chi_square::chi_square_tail;
use crate::base::stop;
use crate::certify::rounding::Allowances;
use crate::target::curvature::{Curvature, Provenance};
use crate::target::mode::{Path, climb};
use crate::target::{Evaluator, trusted_curvature};
use crate::theory::betting;
use provi_kernels::dot;
use std::ops::Range;

/// How near the mode the tangent touches, in nats.
const NEAR: f64 = 1e-10;
/// ℓ − 1 is at least about so much.
const LEAST_WIDENING: f64 = 1e-7;
/// Proposals whose acceptance is measured where H_hi says too little, and the probability that the bound is wrong.
const PILOT: usize = 4_000;
const PILOT_DELTA: f64 = 1e-6;
/// The number of the first of them, which no other proposal reaches.
const PILOT_FIRST: u64 = 1 << 62;
/// Proposals between two looks at the clock, in batches: a target may be slow.
const WAVE: usize = 4 * BATCH;
/// What a value is off by, relatively, where its owner does not say.
const DECLARED: f64 = 1e-12;
/// Acceptances below e^{−this}, over the expected proposals, do not count.
const NEVER: f64 = 40.0;
/// ‖e‖ at the ends of the shells, in multiples of √d + 3, within which rounding is bounded.
const RADII: [f64; 5] = [1.0, 1.5, 2.5, 4.0, 8.0];

/// Proposals from a Gaussian function e^{height − ½‖e‖²}, z = c + Fe: one above the density, or K times a Gaussian density at which the density is cut off.
pub(super) struct OfTarget<'m> {
    target: Evaluator<'m>,
    gaussian: Gaussian<Triangular>,
    height: f64,
    is_above: bool,
}

/// What is known of the draws before any is made.
pub(super) struct Known {
    pub(super) proposals: f64,
    pub(super) rounding: f64,
    pub(super) provenance: Provenance,
}

/// H_lo and H_hi, and where they come from.
struct Bounds {
    lower: Matrix,
    upper: Matrix,
    slack: f64,
    provenance: Provenance,
}

/// V at the mean c of a Gaussian; σ ≥ ‖Fᵀ∇V(c)‖; ℓ ≤ λ_min(FᵀH_loF); G = FᵀH_hiF, and its largest eigenvalue at most.
struct Place {
    value: f64,
    slope: f64,
    least: f64,
    upper: Matrix,
    largest: f64,
}

impl<'m> OfTarget<'m> {
    /// Under a tangent function of H_lo, widened, at a point c near the mode. With σ ≥ ‖Fᵀ∇V(c)‖, 1 < ℓ ≤ λ_min(FᵀH_loF), G = FᵀH_hiF and z = c + Fe,
    /// ```text
    /// V(z) ≥ V(c) − σ‖e‖ + ½ℓ‖e‖² ≥ V(c) − σ²/(2(ℓ−1)) + ½‖e‖²,   V(z) ≤ V(c) + σ‖e‖ + ½eᵀGe ≤ V(c) + ½σ + ½eᵀ(G + σI)e
    /// proposals of a draw ≤ e^{σ²/(2(ℓ−1)) + ½σ} √det(G + σI)
    /// ```
    /// What F was computed from does not matter: σ, ℓ and G are those of F as it is [exact-draws].
    pub(super) fn under_tangent(
        target: Evaluator<'m>,
        q: &Gaussian<Triangular>,
        seed: Seed,
    ) -> Result<(Self, Known)> {
        let bounds = Bounds::of(target, q)?;
        let mut packed = vec![0.0; packed_len(q.dim())];
        inverse_factor("H_lo", &bounds.lower, &mut packed)?;
        let top = climb(target.target(), q.mean(), NEAR, &mut Path::default())?;
        let tangent = Gaussian::<Triangular>::new(&top.point, &packed)?;
        let first = Place::new(target, &tangent, &bounds)?;
        let hopeless = || Error::ExactDrawsCost { proposals: f64::INFINITY, most: MOST_PROPOSALS };
        if !(first.least > 0.5 && first.slope < 0.5) {
            return Err(hopeless());
        }
        let gaussian = scaled(&tangent, ((1.0 + first.slope.max(LEAST_WIDENING)) / first.least).sqrt())?;
        let place = Place::new(target, &gaussian, &bounds)?;
        let (sigma, room) = (place.slope, place.least - 1.0);
        if !(room > 0.0 && sigma.is_finite()) {
            return Err(hopeless());
        }
        let raised = sigma * sigma / (2.0 * room) * (1.0 + 1e-9);
        let values = eigenvalues("FᵀH_hiF", &place.upper)?;
        let lost = eigenvalue_error(&place.upper);
        let log_det: f64 = values.iter().map(|x| (x + sigma + lost).ln()).sum();
        let log_cost = (raised + 0.5 * (sigma + log_det)) * (1.0 + 1e-9) + 1e-9;
        let proposer = Self { target, gaussian, height: raised - place.value, is_above: true };
        let mut proposals = log_cost.exp();
        if proposals.is_nan() || proposals > MOST_PROPOSALS {
            proposals = match proposer.measured(seed) {
                // So far out that the target overflows: what is certain stands.
                Err(Error::TargetNotFinite { .. }) => proposals,
                found => found?,
            };
        }
        // By the cost that is certain, however large: the law must not rest on one that is measured.
        let rounding = proposer.rounding(&place, log_cost)?;
        Ok((proposer, Known { proposals, rounding, provenance: bounds.provenance }))
    }

    /// Under Kq, at which the density is cut off.
    pub(super) fn under_gaussian(
        target: Evaluator<'m>,
        q: &Gaussian<Triangular>,
        cap: &Cap,
    ) -> Result<(Self, Known)> {
        let bounds = Bounds::of(target, q)?;
        let place = Place::new(target, q, &bounds)?;
        let normaliser = 0.5 * q.dim() as f64 * (2.0 * std::f64::consts::PI).ln() + q.log_det()?;
        let height = cap.log_k - cap.f - normaliser;
        let proposer = Self { target, gaussian: q.clone(), height, is_above: false };
        let rounding = proposer.rounding(&place, cap.proposals.ln())?;
        Ok((proposer, Known { proposals: cap.proposals, rounding, provenance: bounds.provenance }))
    }

    /// A bound of the expected proposals of a draw from a lower confidence bound of the mean acceptance, which betting proves.
    fn measured(&self, seed: Seed) -> Result<f64> {
        let draws = Draws::new(seed, Purpose::Propose);
        let mut ratios = Vec::with_capacity(PILOT);
        let end = PILOT_FIRST + PILOT as u64;
        for first in (PILOT_FIRST..end).step_by(WAVE) {
            let numbers = first..(first + WAVE as u64).min(end);
            let (_, some) = self.proposed(&draws, numbers)?;
            ratios.extend(some.into_iter().map(|log| log.min(0.0).exp()));
        }
        Ok(betting::mean_lower(&ratios, PILOT as u64, 1.0, PILOT_DELTA).recip())
    }

    /// Proposals with these numbers, and log of density over envelope at each.
    fn proposed(&self, draws: &Draws, numbers: Range<u64>) -> Result<(Vec<f64>, Vec<f64>)> {
        let (d, count) = (self.gaussian.dim(), (numbers.end - numbers.start) as usize);
        let (mut e, mut z) = (vec![0.0; count * d], vec![0.0; count * d]);
        e.chunks_exact_mut(d).zip(numbers.clone()).for_each(|(e, k)| draws.fill(k, 0, e));
        self.gaussian.transport(&e, &mut z);
        let (mut values, mut slopes) = (vec![0.0; count], vec![0.0; count * d]);
        let mut scratch: Vec<Scratch> = self.target.scratch(count);
        if !self.target.evaluate_alone(&z, &mut values, &mut scratch)? {
            self.target.evaluate(&z, &mut values, &mut slopes, &mut scratch)?;
        }
        for ((value, k), z) in values.iter_mut().zip(numbers).zip(z.chunks_exact(d)) {
            // V is finite everywhere below a bound of its curvature.
            if !value.is_finite() {
                let (step, draw) = (k / BATCH as u64, (k % BATCH as u64) as usize);
                let quantity = "log-density";
                return Err(Error::TargetNotFinite { quantity, value: *value, step, draw, norm: norm(z) });
            }
        }
        let log_ratios =
            values.iter().zip(e.chunks_exact(d)).map(|(value, e)| value - (self.height - 0.5 * dot(e, e)));
        Ok((z, log_ratios.collect()))
    }

    /// Σ_k min(2η_k, 1)·ρ_{k−1} + ρ_last + 2e^{−40}: η_k bounds what rounding does to log of the acceptance where that is above −B, B = 40 + log of
    /// the expected proposals, and ‖e‖ ≤ R_k; ρ_k bounds the mass beyond, where the envelope has at most e^{B−40} times that of its Gaussian,
    /// P(‖e‖ > √d + t) ≤ e^{−t²/2}. There
    /// ```text
    /// V(c) − σ²/(2ℓ) ≤ V(z) ≤ B − height + ½R²,   ‖Fᵀ∇V(z)‖² ≤ 2λ·(the upper one − the lower one),   λ = λ_max(G)
    /// ```
    /// so that even an H_hi that is far too large costs little.
    fn rounding(&self, place: &Place, log_cost: f64) -> Result<f64> {
        let (target, d) = (self.target.target(), self.gaussian.dim());
        let allowances = Allowances::new(target, &self.gaussian)?;
        let stated = target.rounding(&self.gaussian, &[])?.is_some();
        let root = (d as f64).sqrt();
        let beyond = |radius: f64| {
            let tail = chi_square_tail(d, radius * radius).ln().max(-0.5 * (radius - root).powi(2));
            (log_cost + tail).min(0.0).exp() * (1.0 + 1e-9)
        };
        let never = NEVER + log_cost.max(0.0);
        let (mut sum, mut before) = (0.0, 1.0);
        let lowest = if place.least > 0.0 {
            place.value - place.slope * place.slope / (2.0 * place.least)
        } else {
            f64::NEG_INFINITY
        };
        for radius in RADII.map(|r| r * (root + 3.0)) {
            let allowance = allowances.at(radius);
            // A little more, for what lies on the other side of B by rounding.
            let highest = never + 1.0 - self.height + 0.5 * radius * radius;
            let size = highest.abs().max(lowest.abs());
            let value = if stated { allowance.value + allowance.constant } else { DECLARED * size };
            let slope = (2.0 * place.largest * (highest - lowest)).sqrt();
            let moved = allowance.shift * (slope + 0.5 * place.largest * allowance.shift);
            let sums = (d as f64 + 8.0) * f64::EPSILON * (self.height.abs() + radius * radius);
            let error = 2.0 * value + moved + sums;
            // Where a sum overflows nothing is known.
            sum += if error.is_nan() { before } else { (2.0 * error).min(1.0) * before };
            before = beyond(radius);
        }
        // A NaN is no bound.
        let whole = sum + before + 2.0 * (-NEVER).exp();
        Ok(if whole.is_nan() { f64::INFINITY } else { whole })
    }
}

impl Proposer for OfTarget<'_> {
    fn dim(&self) -> usize {
        self.gaussian.dim()
    }

    fn wave(&self) -> usize {
        WAVE
    }

    fn accepted(&self, draws: &Draws, numbers: Range<u64>) -> Result<Option<Vec<Vec<f64>>>> {
        let (points, log_ratios) = match self.proposed(draws, numbers.clone()) {
            Err(Error::Stopped { .. }) => return Ok(None),
            found => found?,
        };
        if stop::trips() {
            return Ok(None);
        }
        let mut out = Vec::new();
        for ((k, z), log_ratio) in numbers.zip(points.chunks_exact(self.dim())).zip(log_ratios) {
            // Twice the total variation bounds what rounding does to a logarithm; a little more for the far ends.
            if self.is_above && log_ratio > 2.0 * MOST_ROUNDING {
                return Err(Error::AboveTangent { excess: log_ratio, norm: norm(z) });
            }
            if uniforms(draws, k)[3].ln() <= log_ratio {
                out.push(z.to_vec());
            }
        }
        Ok(Some(out))
    }
}

impl Place {
    fn new(target: Evaluator<'_>, gaussian: &Gaussian<Triangular>, bounds: &Bounds) -> Result<Self> {
        let d = gaussian.dim();
        let mut gradient = vec![0.0; d];
        let value = -target.target().log_density(gaussian.mean(), &mut gradient)?;
        stop::check()?;
        let mut pulled = vec![0.0; d];
        provi_kernels::triangle::pull_back(gaussian.factor(), &gradient, &mut pulled);
        let lost = Allowances::new(target.target(), gaussian)?.at(0.0).slope;
        let slope = norm(&pulled) * (1.0 + 1e-12) + lost;
        let factor = gaussian.factor_matrix();
        let lower = safe_congruence(&bounds.lower, &factor, -bounds.slack, -1.0);
        let least = eigenvalues("FᵀH_loF", &lower)?[0] - eigenvalue_error(&lower);
        let upper = safe_congruence(&bounds.upper, &factor, bounds.slack, 1.0);
        let largest = eigenvalues("FᵀH_hiF", &upper)?[d - 1] + eigenvalue_error(&upper);
        Ok(Self { value, slope, least, upper, largest })
    }
}

impl Bounds {
    /// Those of a target, proved or declared.
    fn of(target: Evaluator<'_>, q: &Gaussian<Triangular>) -> Result<Self> {
        let d = q.dim();
        if d != target.dim() {
            return Err(Error::Shape { what: "gaussian", found: d, expected: target.dim() });
        }
        let is_known = |c: &Curvature| c.convexity() > 0.0 && c.provenance() != Provenance::Estimated;
        let curvature = trusted_curvature(target.target())?.filter(is_known);
        let both = curvature.as_ref().and_then(|c| Some((c, c.upper()?)));
        let (curvature, upper) = both.ok_or(Error::ExactDrawsCurvature)?;
        Ok(Self {
            lower: curvature.lower().to_matrix(d),
            upper: upper.to_matrix(d),
            slack: curvature.slack(),
            provenance: curvature.provenance(),
        })
    }
}

/// N(m, CCᵀ) with `factor` times its C.
fn scaled(q: &Gaussian<Triangular>, factor: f64) -> Result<Gaussian<Triangular>> {
    let entries: Vec<f64> = q.factor().iter().map(|x| x * factor).collect();
    Gaussian::new(q.mean(), &entries)
}

//! Means and standard deviations of every coefficient from the same draws [group-moments].
//!
//! For a coefficient ζ, centred and scaled by q, let ℓ(z) = E_p[ζ | z] and v = var_p(ζ | z). Both are known, for θ is Gaussian given z:
//! E_p[θ | z] = θ₀ − A⁻¹g(z), and its covariance is A⁻¹. Then
//! ```text
//! E_p ζ = E_r[Wℓ]/E_r W,   E_p ζ² = v + E_r[Wℓ²]/E_r W
//! |E_r[Wℓ] − E_r[min(W,K)·ℓ cut at ±c]| ≤ c·E_r(W−K)₊ + E_r W·E_p(|ℓ|−c)₊,   and so for ℓ² with c² and (ℓ²−c²)₊
//! ```
//! p is at least as log-concave as the prior, so |ℓ| is σ-Lipschitz in Gaussian variables, σ the prior's deviation of ζ, and what is beyond c
//! follows from P_p(|ℓ| > c) ≤ E_r[min(W,K); |ℓ| > c] + E_r(W−K)₊. Signs [measured-events]: P_p(ζ > 0) = E_r[Wg]/E_r W with g = P_p(ζ > 0 | z), which
//! is Φ(E_p[ζ | z]/√v), or 0 or 1 where v = 0.

use super::Plan;
use super::top::Place;
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::matrix::Matrix;
use crate::base::special::normal_cdf;
use crate::certify::audit::sharp::{Standing, standing};
use crate::glm::Glm;
use crate::theory::betting::Wager;
use crate::theory::bounded::{Bounded, Law};
use crate::theory::lipschitz;

/// c.
const CUT: f64 = 4.5;
/// The most coefficients whose moments are measured.
const COLUMNS: usize = 2000;
/// What rounding may do to ℓ, as a part of the numbers that it is made of.
const OFF: f64 = 1e-9;

/// A coefficient.
struct Coefficient {
    /// Its place in the model.
    index: usize,
    /// The group and the place there, unless it is part of θ.
    member: Option<(usize, usize)>,
    /// The entry of θ that it contains, and the sign.
    tied: Option<(usize, f64)>,
    /// Mean and deviation under q, and σ.
    mean: f64,
    deviation: f64,
    spread: f64,
    /// P(ζ > 0 | z) as a function of E[ζ | z], and its value under q.
    sign: Bounded,
    positive: f64,
}

/// Sums over the draws.
pub(super) struct Sums {
    coefficients: Vec<Coefficient>,
    /// Of Y and Y² for Y = min(W,K)ℓ and min(W,K)(ℓ² − 1), ℓ cut, and for Y = min(W,K)·1{|ℓ| > c}/K.
    first: Vec<[f64; 2]>,
    second: Vec<[f64; 2]>,
    rare: Vec<[f64; 2]>,
    /// ΣY and ΣY² for Y = min(W,K)(g − γ), γ that of q, and what Y may be off by in all.
    signs: Vec<[f64; 3]>,
    /// The largest error of an ℓ.
    off: f64,
    /// The largest relative error of a min(W,K).
    width: f64,
    draws: u64,
}

impl Sums {
    /// `None` if the coefficients of the audit are not the model's.
    pub(super) fn new(plan: &Plan, own: Option<(&Glm, &Gaussian<Triangular>)>, plain: bool) -> Option<Self> {
        let (model, q) = own?;
        let d = q.dim();
        if !plain || d > COLUMNS {
            return None;
        }
        let (laws, deviations) = (model.prior().marginals(d).ok()?, q.standard_deviations());
        let of = |index: usize, member: Option<(usize, usize)>, tied: Option<(usize, f64)>| Coefficient {
            index,
            member,
            tied,
            mean: q.mean()[index],
            deviation: deviations[index],
            spread: laws[index].1 / deviations[index] * (1.0 + 1e-6),
            sign: match tied {
                Some((t, _)) => {
                    Bounded { law: Law::Probit, at: 0.0, spread: 1.0 / plan.top.inverse[(t, t)].sqrt() }
                }
                None => Bounded { law: Law::Step, at: 0.0, spread: 1.0 },
            },
            positive: normal_cdf(q.mean()[index] / deviations[index]),
        };
        let mut coefficients: Vec<Coefficient> =
            plan.groups.top.iter().enumerate().map(|(t, &index)| of(index, None, Some((t, 1.0)))).collect();
        for (i, group) in plan.groups.each.iter().enumerate() {
            for (a, &index) in group.coefficients.iter().enumerate() {
                let tied = group.tied[a].filter(|_| plan.groups.moved).map(|t| (t, -1.0));
                coefficients.push(of(index, Some((i, a)), tied));
            }
        }
        coefficients.sort_unstable_by_key(|c| c.index);
        let sums = || vec![[0.0; 2]; d];
        let complete = coefficients.len() == d && coefficients.iter().all(|c| c.spread.is_finite());
        complete.then(|| Self {
            coefficients,
            first: sums(),
            second: sums(),
            rare: sums(),
            signs: vec![[0.0; 3]; d],
            off: 1e-12,
            width: 0.0,
            draws: 0,
        })
    }

    /// Adds the k-th draw of each group, with min(W, K).
    pub(super) fn take(&mut self, plan: &Plan, parts: &[Matrix], k: usize, place: &Place, weight: f64) {
        let step = plan.top.step(place);
        self.draws += 1;
        let cap = (0.5 * plan.reach * plan.reach).exp();
        // min(W, K) is off by a factor e^x, x twice the error of ½‖y‖² at its largest.
        self.width = self.width.max((2.0 * plan.reach * place.off(plan.reach)).exp_m1());
        let length = crate::base::linalg::norm(&place.y);
        for (i, c) in self.coefficients.iter().enumerate() {
            let own = c.member.map_or(0.0, |(group, a)| parts[group].row(k)[a]);
            let (moved, sizes) = c.tied.map_or((0.0, 0.0), |(t, sign)| {
                let point = plan.top.point[t];
                (sign * (point - step[t]), point.abs() + step[t].abs())
            });
            let l = (own + moved - c.mean) / c.deviation;
            let of_step = c.tied.map_or(0.0, |(t, _)| plan.top.inverse[(t, t)].sqrt() * place.off(length));
            let off = (OFF * (own.abs() + sizes + c.mean.abs()) + of_step) / c.deviation;
            self.off = self.off.max(off);
            let (zeta, apart) = (own + moved, off * c.deviation);
            let y = weight * (c.sign.value(zeta) - c.positive);
            let doubt = weight * c.sign.change(zeta, apart);
            let signs = &mut self.signs[i];
            *signs = [signs[0] + y, signs[1] + (y.abs() + doubt).powi(2), signs[2] + doubt];
            let cut = l.clamp(-CUT, CUT);
            let beyond = if l.abs() + off < CUT { 0.0 } else { (weight / cap).min(1.0) };
            let sides = [
                (&mut self.first[i], weight * cut),
                (&mut self.second[i], weight * (cut * cut - 1.0)),
                (&mut self.rare[i], beyond),
            ];
            for (sums, y) in sides {
                sums[0] += y;
                sums[1] += y * y;
            }
        }
    }

    /// What is proved of each coefficient, in its place. `weight` bounds E_r W from both sides, and `tail` E_r(W−K)₊; `rounding` bounds the total
    /// variation between the draws and r. Empty where rounding is too large.
    pub(super) fn conclude(
        &self,
        plan: &Plan,
        (delta, rounding): (f64, f64),
        (cap, tail): (f64, f64),
        weight: [f64; 2],
    ) -> (Vec<Standing>, Vec<[f64; 2]>) {
        let n = self.draws.max(1) as f64;
        // Steps of θ have the relative error of A besides.
        if !(self.off < 1e-4 && plan.top.relative() < 0.1 * OFF) || self.draws == 0 {
            return (Vec::new(), Vec::new());
        }
        let delta = delta / (7.0 * self.coefficients.len() as f64);
        // E Y ≤ Ȳ + this, for Y of that length and about that deviation; each Y may be off by `off`, and its law by `rounding`.
        let side = |sums: [f64; 2], range: f64, guess: f64, off: f64| {
            let wager = Wager::new(range, guess, plan.count, delta);
            let root = (sums[1] / n).sqrt() + off;
            wager.margin(self.draws, n * root * root)
                + off
                + (n + 8.0) * f64::EPSILON * root
                + range * rounding
        };
        let [least, most] = weight;
        let square = CUT * CUT;
        let all = self.coefficients.iter().enumerate().map(|(i, c)| {
            let variance =
                c.tied.map_or(0.0, |(t, _)| plan.top.inverse[(t, t)] / (c.deviation * c.deviation));
            let rare = self.rare[i][0] / n + side(self.rare[i], 1.0, 1e-3, 0.0);
            // Under p.
            let rare = (rare * cap + tail) / least;
            let [first, second] = lipschitz::moments_beyond(CUT, c.spread, rare);
            let off =
                [cap * (self.off + CUT * self.width), cap * (2.0 * CUT * self.off + square * self.width)];
            let margin = side(self.first[i], 2.0 * CUT * cap, plan.mean, off[0]) + CUT * tail + most * first;
            let middle = self.first[i][0] / n;
            let below = side(self.second[i], square * cap, 1.6 * plan.mean, off[1]);
            let above = below + square * tail + most * second;
            let middle_of_squares = self.second[i][0] / n;
            let whole = [least * (1.0 + variance * (1.0 - 1e-9)), most * (1.0 + variance * (1.0 + 1e-9))];
            let seconds = [middle_of_squares - below + whole[0], middle_of_squares + above + whole[1]];
            let moments = standing([middle - margin, middle + margin], seconds, weight);
            let [sum, squares, doubt] = self.signs[i];
            let reach = c.positive.max(1.0 - c.positive);
            let margin =
                side([sum, squares], 2.0 * cap * reach, 0.4 * plan.mean, cap * self.width) + doubt / n;
            let low = sum / n - margin - c.positive * tail;
            let high = sum / n + margin + (1.0 - c.positive) * tail;
            let below = if low < 0.0 { low / least } else { low / most };
            let above = if high > 0.0 { high / least } else { high / most };
            let end = |x: f64, nothing: f64| if x.is_nan() { nothing } else { x.clamp(0.0, 1.0) };
            (moments, [end(c.positive + below - 1e-12, 0.0), end(c.positive + above + 1e-12, 1.0)])
        });
        all.unzip()
    }
}

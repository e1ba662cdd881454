//! One group: its rows, and the sum over nodes that is its integral.

use super::{Layout, usual_reach};
use crate::base::error::Result;
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::linalg::norm;
use crate::glm::family::Form;
use crate::glm::{Family, Glm};
use crate::theory::strip::{self, Factor};
use provi_kernels::loss::{SPARE, Slots};
use provi_kernels::{axpy, dot};

/// What the rule may be off by, and what may be left beyond the last node on each side, as parts of the integral.
const RULE: f64 = 1e-9;
pub(super) const TAIL: f64 = 4e-10;
/// The most nodes of a group.
const NODES: i64 = 2000;
/// Rows at a time: a multiple of eight.
const ROWS: usize = 512;
/// Nodes are within so many τ of the mode at q's mean, besides what the mode moves by.
const FAR: f64 = 12.0;

/// The numbers of a pass over one group.
#[derive(Default)]
pub(crate) struct Room {
    predictors: Vec<f64>,
    energies: Vec<f64>,
    slots: Vec<f64>,
    nodes: Vec<f64>,
    weights: Vec<f64>,
}

impl Room {
    /// u_j and the part of the integral that each has.
    pub(crate) fn nodes(&self) -> (&[f64], &[f64]) {
        (&self.nodes, &self.weights)
    }
}

/// A group with the nodes for its effect.
pub(crate) struct Group {
    /// The column of its effect in the model.
    pub(crate) column: usize,
    /// x_n and z_n.
    pub(super) x: Vec<f64>,
    pub(super) z: Vec<f64>,
    pub(super) offsets: Vec<f64>,
    pub(super) response: Vec<f64>,
    pub(super) weights: Vec<f64>,
    /// 1/τ².
    pub(super) precision: f64,
    /// c, h, and the first and the last j of u_j = c + jh.
    pub(super) at: f64,
    pub(super) step: f64,
    nodes: [i64; 2],
    /// The largest |j|, and |u_j − c| there.
    limit: i64,
    pub(super) reach: f64,
    /// How fast φ' may grow: |φ'(t + d)| is at most e^{growth·|d|} times a bound of it at t.
    growth: f64,
    /// x_nᵀm + o_n and ‖Cᵀx_n‖ for q, and the most that the mode moves by for a unit of ‖C⁻¹(β − m)‖.
    pub(super) means: Vec<f64>,
    pub(super) spreads: Vec<f64>,
    pub(super) drift: f64,
}

/// x_nᵀβ + o_n.
fn bases<'g>(x: &'g [f64], offsets: &'g [f64], beta: &'g [f64]) -> impl Iterator<Item = f64> + 'g {
    x.chunks_exact(beta.len()).zip(offsets).map(|(x, o)| dot(x, beta) + o)
}

impl Group {
    /// Every group; `None` if one of them has no nodes with a proved error.
    pub(super) fn all(model: &Glm, layout: &Layout, q: &Gaussian<Triangular>) -> Result<Option<Vec<Self>>> {
        let (rows, family) = (&model.rows, model.family());
        let mut row = vec![0.0; q.dim()];
        let mut out = Vec::with_capacity(layout.groups.len());
        for (column, precision, which) in &layout.groups {
            let of = |values: &[f64]| which.iter().map(|&n| values[n]).collect::<Vec<f64>>();
            let (mut x, mut z) = (Vec::new(), Vec::new());
            for &n in which {
                row.fill(0.0);
                let mut own = 0.0;
                model.design().for_each_in_row(n, |j, value| match layout.shared.binary_search(&j) {
                    Ok(place) => row[place] += value,
                    Err(_) if j == *column => own += value,
                    Err(_) => {}
                });
                x.extend_from_slice(&row);
                z.push(own);
            }
            let offsets = rows.offsets.as_deref().map_or_else(|| vec![0.0; which.len()], of);
            let mut pulled = vec![0.0; q.dim()];
            let spreads: Vec<f64> = x
                .chunks_exact(q.dim())
                .map(|x| {
                    provi_kernels::triangle::multiply_transposed(q.factor(), x, &mut pulled);
                    norm(&pulled) * (1.0 + 1e-9)
                })
                .collect();
            let drift = spreads.iter().zip(&z).map(|(s, z)| s / z.abs()).fold(0.0, f64::max);
            let means = bases(&x, &offsets, q.mean()).collect();
            let group = Self {
                column: *column,
                response: of(&rows.response),
                weights: of(&rows.weights),
                precision: *precision,
                at: 0.0,
                step: 0.0,
                nodes: [0, 0],
                limit: 0,
                reach: 0.0,
                growth: 0.0,
                x,
                z,
                offsets,
                means,
                spreads,
                drift,
            };
            let Some(group) = group.with_nodes(family, q) else { return Ok(None) };
            out.push(group);
        }
        Ok(Some(out))
    }

    /// Each x_n with its weight.
    pub(super) fn rows(&self) -> impl Iterator<Item = (&[f64], f64)> + '_ {
        self.x.chunks_exact(self.x.len() / self.z.len()).zip(self.weights.iter().copied())
    }

    /// Rows times nodes.
    pub(super) fn work(&self) -> usize {
        self.z.len() * (self.nodes[1] - self.nodes[0] + 1) as usize
    }

    /// τ.
    pub(crate) fn scale(&self) -> f64 {
        self.precision.powf(-0.5)
    }

    /// log of what e^{−½u²/τ²}Πe^{−wφ} grows by at a distance from the line, over all ‖C⁻¹(β − m)‖ ≤ radius: infinite where no bound is known.
    fn log_growth(&self, family: Family, distance: f64, radius: f64) -> f64 {
        let own = 0.5 * self.precision * distance * distance;
        if family.is_rate() {
            return own + strip::rates_log_growth(self.mean_rate(radius), distance);
        }
        let factor = if family == Family::Probit { Factor::Probit } else { Factor::Logistic };
        let rows = self.z.iter().zip(&self.weights).map(|(z, w)| w * factor.log_growth(z * distance));
        own + rows.sum::<f64>()
    }

    /// A bound of E[Σw_ne^{s_n+u} | β]: it is Y − E u/τ², |E u − mode| ≤ τ, and the rate at the mode is at most Y or that at u = 0.
    pub(super) fn mean_rate(&self, radius: f64) -> f64 {
        let counts: f64 = self.weights.iter().zip(&self.response).map(|(w, y)| w * y).sum();
        let rate = |((m, s), w): ((&f64, &f64), &f64)| w * (m + radius * s).exp();
        let rates: f64 = self.means.iter().zip(&self.spreads).zip(&self.weights).map(rate).sum();
        (counts.max(rates) + self.precision.sqrt()) * (1.0 + 1e-9)
    }

    /// The relative error of the rule over all ‖C⁻¹(β − m)‖ ≤ radius, and the distance a that it comes from.
    pub(super) fn rule_error(&self, family: Family, radius: f64) -> (f64, f64) {
        strip::relative_error(self.step, |a| self.log_growth(family, a, radius))
    }

    /// A bound of the trace of Cᵀ∇²(−log Z)C over ‖C⁻¹(β − m)‖ ≤ radius.
    pub(super) fn steepest(&self, family: Family, radius: f64) -> f64 {
        let squares = self.spreads.iter().map(|s| s * s);
        match family.curvature_range().1 {
            Some(theta) => squares.zip(&self.weights).map(|(s, w)| theta * w * s).sum(),
            None => self.mean_rate(radius) * squares.fold(0.0, f64::max),
        }
    }

    /// Whether the family has bounds on a strip.
    fn is_known(&self, family: Family) -> bool {
        self.response.iter().zip(&self.weights).zip(&self.z).all(|((&y, w), z)| match family.form(y) {
            Form::Logistic => true,
            // Powers of Φ that are no whole numbers have branches.
            Form::Probit => (w - 1.0).abs() <= 0.0,
            Form::Rate(rate) => {
                rate.sign > 0.0
                    && (rate.factor - 1.0).abs() <= 0.0
                    && (z - 1.0).abs() <= 0.0
                    && self.scale() <= 10.0
            }
            _ => false,
        })
    }

    fn with_nodes(mut self, family: Family, q: &Gaussian<Triangular>) -> Option<Self> {
        if !self.is_known(family) {
            return None;
        }
        let (tau, usual) = (self.scale(), usual_reach(q.dim()));
        let largest = self.z.iter().fold(0.0f64, |a, z| a.max(z.abs()));
        self.growth = if matches!(family.form(0.0), Form::Logistic) { 0.0 } else { largest };
        self.at = self.mode(family)?;
        let bend: f64 = match family.curvature_range().1 {
            Some(theta) => self.z.iter().zip(&self.weights).map(|(z, w)| theta * w * z * z).sum(),
            None => self.mean_rate(usual),
        };
        self.step = 1.2 / (self.precision + bend).sqrt();
        let mut tries = 0;
        while self.rule_error(family, usual).0 > RULE {
            (self.step, tries) = (0.95 * self.step, tries + 1);
            if tries > 100 {
                return None;
            }
        }
        self.reach = FAR * tau + usual * self.drift;
        self.limit = (self.reach / self.step) as i64;
        self.nodes = [-4, 4];
        self.limit = self.limit.clamp(4, NODES / 2);
        let mut room = Room::default();
        let mut spare = vec![0.0; q.dim()];
        self.integrate(family, q.mean(), &mut spare, &mut room)?;
        let more = (2.5 * self.drift / self.step).ceil() as i64;
        let first = room.nodes.first().map_or(0, |u| ((u - self.at) / self.step).round() as i64);
        let last = room.nodes.last().map_or(0, |u| ((u - self.at) / self.step).round() as i64);
        self.nodes = [(first - more).max(-self.limit), (last + more).min(self.limit)];
        Some(self)
    }

    /// The mode of u at q's mean, by Newton's steps; `None` unless it is found within τ/10.
    fn mode(&self, family: Family) -> Option<f64> {
        let (mut u, tau) = (0.0, self.scale());
        for _ in 0..100 {
            let (mut slope, mut bend) = (self.precision * u, self.precision);
            let rows = self.means.iter().zip(&self.z).zip(self.weights.iter().zip(&self.response));
            for ((s, z), (w, &y)) in rows {
                let [_, first, second] = family.derivatives(s + z * u, y);
                slope += w * z * first;
                bend += w * z * z * second;
            }
            // V is 1/τ²-convex: the mode is within τ²|V'|.
            if slope.abs() * tau < 1e-6 {
                return Some(u);
            }
            u -= (slope / bend).clamp(-2.0 * tau, 2.0 * tau);
        }
        None
    }

    /// log Z + ½ log 2πτ² at β, whose gradient is added; the nodes and their weights are left in `room`. `None` where the nodes
    /// would have to reach too far.
    ///
    /// The energy E is convex in u, so that terms beyond the last node fall at least as fast as there: with r = e^{κh − drop} they are at
    /// most r/(1 − r) of it in all, even times e^{κ|u − u_N|}.
    pub(super) fn integrate(
        &self,
        family: Family,
        beta: &[f64],
        gradient: &mut [f64],
        room: &mut Room,
    ) -> Option<f64> {
        let [mut first, mut last] = self.nodes;
        let least = loop {
            self.energies(family, beta, [first, last], room);
            let e = &room.energies;
            let least = e.iter().copied().fold(f64::INFINITY, f64::min);
            let n = e.len();
            let ends = [(e[0], e[1], first), (e[n - 1], e[n - 2], last)];
            let [below, above] = ends.map(|(end, before, j)| {
                let far = self.step * j.abs() as f64;
                let fall = ((self.growth + 8.0 / far) * self.step - (end - before)).exp();
                fall < 1.0 && (least - end + self.growth * far).exp() * fall / (1.0 - fall) <= TAIL
            });
            if below && above {
                break least;
            }
            let before = [first, last];
            first = if below { first } else { (first - 2).max(-self.limit) };
            last = if above { last } else { (last + 2).min(self.limit) };
            if before == [first, last] {
                return None;
            }
        };
        let count = room.energies.len();
        room.weights.clear();
        room.weights.extend(room.energies.iter().map(|e| (least - e).exp()));
        let sum: f64 = room.weights.iter().sum();
        room.weights.iter_mut().for_each(|w| *w /= sum);
        for (x, slopes) in self.x.chunks_exact(beta.len()).zip(room.predictors.chunks_exact(count)) {
            axpy(-dot(slopes, &room.weights), x, gradient);
        }
        let log = (self.step * sum).ln() - least;
        log.is_finite().then_some(log)
    }

    /// E(u_j) = ½u_j²/τ² + Σwφ, and wφ' of each row in place of its predictors.
    fn energies(&self, family: Family, beta: &[f64], [first, last]: [i64; 2], room: &mut Room) {
        room.nodes.clear();
        room.nodes.extend((first..=last).map(|j| self.at + self.step * j as f64));
        let count = room.nodes.len();
        room.energies.clear();
        room.energies.extend(room.nodes.iter().map(|u| 0.5 * self.precision * u * u));
        room.predictors.clear();
        for (s, z) in bases(&self.x, &self.offsets, beta).zip(&self.z) {
            room.predictors.extend(room.nodes.iter().map(|u| s + z * u));
        }
        room.slots.resize(SPARE * count, 0.0);
        let rows = self.response.chunks(ROWS).zip(self.weights.chunks(ROWS));
        for ((response, weights), predictors) in rows.zip(room.predictors.chunks_mut(ROWS * count)) {
            let mut slots = Slots::new(count, &mut room.slots);
            family.energies_and_slopes(false, response, weights, predictors, &mut slots);
            slots.finish(&mut room.energies);
        }
    }
}

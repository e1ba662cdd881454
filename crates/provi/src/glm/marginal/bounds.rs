//! What quadrature and rounding may do to the marginal density and to its slopes [marginal-quadrature].

use super::group::{Group, TAIL};
use super::{Marginal, usual_reach};
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::linalg::norm;
use crate::glm::Family;
use crate::target::Rounding;
use crate::target::rounding::deviations;
use std::f64::consts::LN_2;

/// Relative error of a link function and of the products around it.
const LINK: f64 = 64.0 * f64::EPSILON;
/// Nodes whose energies are higher than the least by more have no weight to speak of.
const HIGH: f64 = 40.0;

/// Bounds for one group over ‖C⁻¹(β − m)‖ ≤ radius.
struct Lost {
    /// Of log Z.
    value: f64,
    /// Its size.
    size: f64,
    /// Of the slopes, and their sizes.
    slopes: Vec<f64>,
    sizes: Vec<f64>,
}

impl Marginal {
    /// Bounds of all errors over that ellipsoid; infinite where the rule has no bound.
    pub(super) fn error(&self, q: &Gaussian<Triangular>, radius: f64) -> Rounding {
        let p = q.dim();
        let reach: Vec<f64> = q.mean().iter().zip(deviations(q)).map(|(m, s)| m.abs() + radius * s).collect();
        let away: Vec<f64> = reach.iter().zip(&self.layout.center).map(|(b, c)| b + c.abs()).collect();
        let pulls: Vec<f64> = (0..p)
            .map(|i| self.layout.precision.row(i).iter().zip(&away).map(|(a, x)| a.abs() * x).sum())
            .collect();
        let energy: f64 = pulls.iter().zip(&away).map(|(pull, x)| pull * x).sum();
        let length = norm(&away);
        let unit = (2.0 * p as f64 + 16.0) * f64::EPSILON;
        let mut out = Rounding {
            value: unit * energy + self.layout.rounding * length * length,
            slopes: pulls.iter().map(|pull| unit * pull + self.layout.rounding * length).collect(),
            sizes: pulls,
            constant: self.constant_error,
        };
        let mut size = energy + self.constant.abs();
        for group in &self.groups {
            let lost = group.lost(self.family, &reach, radius);
            out.value += lost.value;
            size += lost.size;
            for j in 0..p {
                out.slopes[j] += lost.slopes[j];
                out.sizes[j] += lost.sizes[j];
            }
        }
        let chain = (self.groups.len() as f64 + 8.0) * f64::EPSILON;
        out.value += chain * size;
        out.slopes.iter_mut().zip(&out.sizes).for_each(|(lost, size)| *lost += chain * size);
        out
    }
}

impl Group {
    /// What E[ζ | β] and E[ζ² | β] may be off by for ζ = (u − mean)/deviation, over practically all draws of q.
    ///
    /// On the strip |ζ(u + ia)|ᵏ ≤ 2^{k−1}(|ζ|ᵏ + (a/s)ᵏ). For rates u moves by c = −log cos a besides, and Cauchy and Schwarz's
    /// inequality takes the weight e^{−tu} away at a factor of e^{½c²/τ²}: with E(u − Eu)^{2k} ≤ τ^{2k}·2ᵏ(2k−1)!!.
    pub(super) fn moment_errors(&self, family: Family, q: &Gaussian<Triangular>, of: (f64, f64)) -> [f64; 2] {
        let (radius, (mean, deviation)) = (usual_reach(q.dim()), of);
        let reach: Vec<f64> = q.mean().iter().zip(deviations(q)).map(|(m, s)| m.abs() + radius * s).collect();
        let lost = self.lost(family, &reach, radius).value;
        let (rule, a) = self.rule_error(family, radius);
        let far = (self.reach + (self.at - mean).abs()) / deviation;
        let wide = self.scale() / deviation;
        [1, 2].map(|k| {
            let strip = if family.is_rate() {
                let c = -a.cos().ln();
                let factor = (0.5 * self.precision * c * c).exp() * [1.0, 3f64.sqrt()][k as usize - 1];
                factor * 3f64.powi(k) * ((1.5 * wide).powi(k) + far.powi(k) + ((a + c) / deviation).powi(k))
            } else {
                2f64.powi(k - 1) * (far.powi(k) + (a / deviation).powi(k))
            };
            let all = 1.02 * (rule * strip + (rule + 4.0 * TAIL) * far.powi(k)) + 2.1 * lost * far.powi(k);
            if all.is_nan() { f64::INFINITY } else { all * (1.0 + 1e-6) }
        })
    }

    /// With every |u_j − c| ≤ reach. Numerators of slopes and Z itself are off by the same part of bounds: on the strip
    /// ∫|φ'(s + zu)||f| ≤ G·∫f, and beyond the last nodes φ' grows no faster than the rule for the ends allows.
    fn lost(&self, family: Family, reach: &[f64], radius: f64) -> Lost {
        let (p, m) = (reach.len(), self.z.len());
        let tau = self.scale();
        let far = self.at.abs() + self.reach;
        let unit = (p as f64 + 8.0) * f64::EPSILON;
        let (rule, distance) = self.rule_error(family, radius);
        let part = 1.02 * (rule + 2.0 * TAIL);
        let counts: f64 = self.weights.iter().zip(&self.response).map(|(w, y)| w * y.abs()).sum();
        // Bounds of Σw|φ|, of |φ'| at the nodes, of what a predictor may be off by, and of |φ'| on the strip.
        let (mut values, mut nodes, mut offs, mut strip) = (0.0, Vec::new(), 0.0f64, Vec::new());
        let mut rates = 0.0;
        for (n, (x, w)) in self.rows().enumerate() {
            let y = self.response[n].abs();
            let terms: f64 = x.iter().zip(reach).map(|(x, b)| x.abs() * b).sum();
            let off = unit * (terms + self.offsets[n].abs() + self.z[n].abs() * far);
            let near = self.means[n].abs() + radius * self.spreads[n] + off;
            let most = near + self.z[n].abs() * far;
            offs = offs.max(off);
            let (value, slope, beside) = match family {
                Family::Probit => (1.0 + most + 0.5 * most * most, 1.0 + most, 1.0 + most),
                _ if family.is_rate() => {
                    rates += w * (self.means[n] + radius * self.spreads[n] + self.at).exp();
                    (y * most, y, y)
                }
                _ => (LN_2 + (1.0 + y) * most, 1.0 + y, 2.0 * (1.0 + y) / (0.5 * self.z[n] * distance).cos()),
            };
            values += w * value;
            nodes.push(w * slope);
            strip.push(w * beside);
        }
        let spread = 0.5 * self.precision * far * far;
        // Where an energy is within HIGH of the least, and so of that at c, the sum of its rates is at most this.
        let (mut steep, mut beside) = (0.0, 0.0);
        if family.is_rate() {
            steep = rates + 2.0 * values + spread + HIGH;
            beside = self.mean_rate(radius) * (0.5 * tau * tau).exp();
            values += steep;
        }
        let slope: f64 = nodes.iter().sum::<f64>() + steep;
        let sums = (m as f64 + 64.0) * f64::EPSILON;
        let energy = slope * offs + (LINK + sums) * (values + spread) + 1e-13;
        let of_column = |j: usize, each: &[f64], all: f64| {
            let largest = self.rows().map(|(x, _)| x[j].abs()).fold(0.0, f64::max);
            self.rows().zip(each).map(|((x, _), s)| x[j].abs() * s).sum::<f64>() + largest * all
        };
        let mut out = Lost {
            value: if part < 0.01 {
                part + energy + LINK * (1.0 + self.step.ln().abs())
            } else {
                f64::INFINITY
            },
            size: values + spread + self.step.ln().abs() + 16.0,
            slopes: Vec::with_capacity(p),
            sizes: Vec::with_capacity(p),
        };
        let weights = 2.1 * energy + (self.work() as f64 / m as f64 + 64.0) * f64::EPSILON + sums;
        for j in 0..p {
            let size = of_column(j, &nodes, steep);
            let moved = of_column(j, &self.weights, steep) * offs;
            let lost = part * (of_column(j, &strip, beside) + size) + (weights + LINK) * size + moved;
            out.slopes.push(if part < 0.01 && lost.is_finite() { lost } else { f64::INFINITY });
            out.sizes.push(size + counts * f64::EPSILON);
        }
        out
    }
}

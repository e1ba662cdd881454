//! E V, E ∇V and E ∇²V of a linear-predictor model: one pass over the rows, then the prior.

use super::quadrature;
use crate::base::error::{Error, Result};
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::matrix::{Matrix, packed_index};
use crate::glm::Family;
use crate::glm::design::BLOCK;
use crate::glm::linear::Linear;
use crate::glm::rows::{Chains, Rows};
use crate::target::curvature::Provenance;
use crate::target::expectations::{Moments, product_size};
use provi_kernels::axpy;
use std::ops::Range;

/// How many sums precede the gradient: E V, its error, the error of the gradient, the bend of E V.
const SCALARS: usize = 4;

/// Memory for the sums of a pass over rows with `dim` columns.
pub(crate) fn sums(dim: usize) -> Vec<f64> {
    vec![0.0; SCALARS + dim]
}

/// |m_i| + ‖C_i‖, C_i the rows of C.
fn scales(q: &Gaussian<Triangular>) -> Vec<f64> {
    let row = |i: usize| &q.factor()[packed_index(i, 0)..packed_index(i, i) + 1];
    (0..q.dim()).map(|i| q.mean()[i].abs() + crate::base::linalg::norm(row(i))).collect()
}

/// Bound of the relative rounding error of a sum with this chain, to be multiplied by Σ|terms|. Each term itself
/// takes about `dim` operations.
fn unit(chain: usize, dim: usize) -> f64 {
    (chain + dim + 16) as f64 * f64::EPSILON
}

/// A row's share of [`Moments::bend`], for r_n = Σ_i |a_ni|(|m_i| + ‖C_i‖). The predictor s moves by Δ = α + bᵀu with
/// |α| + ‖b‖ ≤ r·r_n, and Eφ bends by ∫(1−t)E[φ''(s+tΔ)Δ²]dt.
/// ```text
/// φ'' ≤ θ:    ≤ ½θE[Δ²] ≤ ½θr²r_n²
/// φ'' = e^s:  ≤ ½E[e^s Δ²e^{|Δ|}] ≤ 2Eφ''·((1+σ_n)² + 1)·r²r_n²     where r·r_n(1+σ_n) ≤ 1/10
/// ```
/// For the second line weight u by e^s, which moves its mean by a vector of norm σ_n: then |Δ| ≤ r·r_n(1 + σ_n +
/// |ξ|), ξ standard normal, and (1+σ_n+|ξ|)² ≤ 2(1+σ_n)² + 2ξ², E e^{|ξ|/10} ≤ 1.1, E ξ²e^{|ξ|/10} ≤ 1.2.
fn bend(steepest: Option<f64>, second: f64, deviation: f64, reach: f64) -> f64 {
    match steepest {
        Some(theta) => 0.5 * theta * reach * reach,
        None if Moments::NEAR * reach * (1.0 + deviation) <= 0.1 => {
            2.0 * second * ((1.0 + deviation).powi(2) + 1.0) * reach * reach
        }
        None => f64::INFINITY,
    }
}

impl Rows {
    /// Adds to the sums of [`sums`], and Aᵀ diag(w·E φ''(s)) A to `hessian`; `chains` covers the blocks of all
    /// processes.
    ///
    /// One pass: a block of rows is still in cache when its Gram matrix is added.
    pub(crate) fn add_expectations(
        &self,
        family: Family,
        q: &Gaussian<Triangular>,
        chains: Chains,
        sums: &mut [f64],
        hessian: &mut Matrix,
    ) {
        let d = q.dim();
        let factor = self.design.factor(q.factor());
        let unit = unit(chains.sums, d);
        // μ_n and σ_n are sums of d products. Their errors are at most δ_n ≤ u_d(Σ_j |a_nj||m_j| + Σ_i |a_ni|‖C_i‖
        // + |μ_n|), C_i the rows of C. If θ_max bounds the second and the third derivative of φ, Eφ moves by at
        // most δ_n(|Eφ'| + σ_nEφ'') + θ_maxδ_n² and its derivatives by θ_maxδ_n. Rates e^{±s} are multiplied by at
        // most e^x, x = δ_n(1 + σ_n + δ_n).
        let predictor_unit = (0.5 * d as f64 + 4.0) * f64::EPSILON;
        let scales = scales(q);
        let steepest = family.curvature_range().1;
        let weigh = |range: Range<usize>, sums: &mut [f64], weights: &mut [f64]| {
            let mut room = [[0.0; BLOCK]; 5];
            let [means, deviations, squares, reaches, first] =
                room.each_mut().map(|buffer| &mut buffer[..range.len()]);
            self.predictors(range.clone(), q.mean(), means);
            self.design.row_variances(range.clone(), &factor, deviations);
            deviations.iter_mut().for_each(|v| *v = v.sqrt());
            self.design.row_sizes(range.clone(), &scales, squares, reaches);
            let terms = quadrature::expect_rows(family, means, deviations, &self.response[range.clone()]);
            let (sums, gradient) = sums.split_at_mut(SCALARS);
            for (k, n) in range.clone().enumerate() {
                let (w, deviation) = (self.weights[n], deviations[k]);
                let off = predictor_unit * (means[k].abs() + reaches[k]);
                let sizes = (terms.first[k].abs(), terms.second[k].abs());
                sums[0] += w * terms.value[k];
                let growth = match steepest {
                    Some(_) => off,
                    None => (off * (1.0 + deviation + off)).exp_m1(),
                };
                let moved = match steepest {
                    Some(theta) => off * (sizes.0 + deviation * sizes.1) + theta * off * off,
                    None => sizes.1 * growth + family.line(self.response[n]) * off,
                };
                sums[1] += w * (terms.value_error[k] + unit * terms.value[k].abs() + moved);
                // ‖(ε a_n, ε a_n(Cᵀa_n)ᵀ)‖ ≤ √2·ε·‖a_n‖·max{1, σ_n} for a row's error ε.
                let size = std::f64::consts::SQRT_2 * w * squares[k].sqrt() * deviation.max(1.0);
                let (tame, second) = (family.tame(self.response[n]), sizes.1 + terms.slope_error[k]);
                let slope = steepest.unwrap_or(sizes.1 + tame);
                sums[2] += size * (terms.slope_error[k] + unit * (sizes.0 + sizes.1) + growth * slope);
                sums[3] += w
                    * (bend(steepest, second, deviation, reaches[k]) + 0.25 * tame * reaches[k] * reaches[k]);
                first[k] = w * terms.first[k];
                weights[k] = w * terms.second[k];
            }
            self.design.pull_back(range, first, gradient);
        };
        let take = |part: &[f64]| axpy(1.0, part, sums);
        self.design.add_grams_and_sums(d + SCALARS, weigh, take, std::slice::from_mut(hessian));
    }
}

impl Linear {
    /// Refuses a q of another dimension.
    pub(crate) fn check_dim(&self, q: &Gaussian<Triangular>) -> Result<()> {
        match q.dim() == self.dim() {
            true => Ok(()),
            false => Err(Error::Shape { what: "gaussian", found: q.dim(), expected: self.dim() }),
        }
    }

    /// Completes the moments from the sums over the rows; `out.hessian` holds Λ and the share of the rows.
    pub(crate) fn conclude_moments(
        &self,
        q: &Gaussian<Triangular>,
        sums: &[f64],
        chains: Chains,
        out: &mut Moments,
    ) -> Result<()> {
        let d = self.dim();
        let (scalars, gradient) = sums.split_at(SCALARS);
        out.product.clear();
        out.gradient.copy_from_slice(gradient);
        let prior = self.prior.energy(q.mean(), &mut out.gradient) + 0.5 * self.prior.trace(d, q.factor());
        out.value = scalars[0] + prior + self.constant;
        // Λ(m−ν) and its quadratic forms are sums of d products that may cancel.
        let prior_unit = (d as f64 + 16.0) * f64::EPSILON;
        let lambda = self.precision();
        let precision = lambda.frobenius_norm();
        let factor_norm = crate::base::linalg::norm(q.factor());
        let distance = (0..d).map(|i| (q.mean()[i] - self.prior.center(i)).powi(2)).sum::<f64>().sqrt();
        let spread = distance * distance + factor_norm * factor_norm;
        let forms = precision * spread;
        let whole = scalars[0].abs() + prior.abs() + self.constant.abs();
        out.value_error =
            scalars[1] + prior_unit * (forms + whole) + self.lost * spread + self.constant_error;
        // The rounding error of AᵀDA is at most u times |A|ᵀD|A|, entry by entry, before the product with C.
        let gram = chains.grams as f64 * f64::EPSILON * product_size(&out.hessian, q);
        out.gradient_error = scalars[2]
            + gram
            + unit(chains.sums, d) * crate::base::linalg::norm(&out.gradient)
            + (prior_unit * precision + self.lost) * distance
            + self.lost * factor_norm;
        // ½(ΔᵀΛΔ + tr(ΔCᵀΛΔC)) ≤ ½r²(Σ_i √Λ_ii(|m_i| + ‖C_i‖))², Λ being positive semidefinite.
        let scales = scales(q);
        let prior_bend: f64 = (0..d).map(|i| (lambda[(i, i)] + self.lost).sqrt() * scales[i]).sum();
        out.bend = (scalars[3] + 0.5 * prior_bend * prior_bend) * (1.0 + 1e-9);
        out.provenance = Provenance::Proved;
        match out.value.is_finite() && out.gradient.iter().all(|x| x.is_finite()) {
            true => Ok(()),
            false => {
                Err(Error::NotFinite { what: "expectation of the potential", index: 0, value: out.value })
            }
        }
    }
}

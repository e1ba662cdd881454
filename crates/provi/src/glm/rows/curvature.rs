//! Gram matrices of the rows: the Hessian at a point, and its bound over all points.

use super::{Chains, Rows};
use crate::base::matrix::Matrix;
use crate::glm::Family;
use crate::glm::design::BLOCK;
use std::ops::Range;

impl Rows {
    /// Adds Aᵀ diag(w·φ''(Az + o)) A.
    pub(crate) fn add_hessian(&self, family: Family, z: &[f64], out: &mut Matrix) {
        let weigh = |range: Range<usize>, _: &mut [f64], weights: &mut [f64]| {
            let mut predictors = [0.0; BLOCK];
            let predictors = &mut predictors[..range.len()];
            self.predictors(range.clone(), z, predictors);
            family.second_derivatives(&self.response[range.clone()], predictors, weights);
            weights.iter_mut().zip(&self.weights[range]).for_each(|(second, w)| *second *= w);
        };
        self.add_grams_and_sums(0, weigh, |_| (), std::slice::from_mut(out));
    }

    /// Adds θAᵀWA.
    pub(crate) fn add_gram(&self, theta: f64, out: &mut Matrix) {
        let weigh = |range: Range<usize>, _: &mut [f64], weights: &mut [f64]| {
            weights.iter_mut().zip(&self.weights[range]).for_each(|(to, w)| *to = theta * w);
        };
        self.add_grams_and_sums(0, weigh, |_| (), std::slice::from_mut(out));
    }

    /// ‖√W A‖_F².
    pub(crate) fn square_norm(&self) -> f64 {
        self.design.weighted_square_norm(&self.weights)
    }

    /// The longest chains of additions behind the sums of a pass over these rows alone.
    pub(crate) fn chains(&self) -> Chains {
        let (inside, parts) = self.design.sum_terms();
        Chains { sums: inside + parts, grams: self.gram_terms() }
    }

    /// The longest chain of additions behind an entry of a Gram matrix, whoever adds.
    pub(crate) fn gram_terms(&self) -> usize {
        self.design.gram_terms().max(self.device_gram_chain())
    }
}

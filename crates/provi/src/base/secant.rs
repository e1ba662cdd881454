//! The last secant pairs, and the inverse Hessian they imply: the memory of L-BFGS.

use crate::base::linalg::norm;
use provi_kernels::{axpy, dot};
use std::collections::VecDeque;

/// Pairs s = Δx, y = Δ∇f, oldest first.
#[derive(Debug)]
pub(crate) struct Secants {
    memory: usize,
    pairs: VecDeque<(Vec<f64>, Vec<f64>, f64)>,
}

impl Secants {
    /// Room for `memory` pairs.
    pub(crate) fn new(memory: usize) -> Self {
        Self { memory, pairs: VecDeque::with_capacity(memory) }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    pub(crate) fn forget(&mut self) {
        self.pairs.clear();
    }

    /// Takes in a pair with sᵀy > 0; any other would spoil the metric.
    pub(crate) fn push(&mut self, s: Vec<f64>, y: Vec<f64>) {
        let curvature = dot(&s, &y);
        if curvature > 1e-12 * norm(&s) * norm(&y) {
            if self.pairs.len() == self.memory {
                self.pairs.pop_front();
            }
            self.pairs.push_back((s, y, 1.0 / curvature));
        }
    }

    /// The pairs as plain numbers, s and y in turn.
    pub(crate) fn write_to(&self, out: &mut Vec<f64>) {
        for (s, y, _) in &self.pairs {
            out.extend_from_slice(s);
            out.extend_from_slice(y);
        }
    }

    /// Takes in what [`Secants::write_to`] gave, of vectors of `width` numbers: the same bits.
    pub(crate) fn read_from(&mut self, width: usize, numbers: &[f64]) {
        for pair in numbers.chunks_exact(2 * width) {
            self.push(pair[..width].to_vec(), pair[width..].to_vec());
        }
    }

    /// sᵀy/yᵀy of the last pair, the usual size of the initial metric.
    pub(crate) fn scale(&self) -> f64 {
        self.pairs.back().map_or(1.0, |(s, y, _)| dot(s, y) / dot(y, y))
    }

    /// Bg by the two-loop recursion, with `initial` the metric that the pairs correct.
    pub(crate) fn apply(&self, g: &[f64], initial: impl FnOnce(&mut Vec<f64>)) -> Vec<f64> {
        let mut v = g.to_vec();
        let mut alphas = vec![0.0; self.pairs.len()];
        for (i, (s, y, rho)) in self.pairs.iter().enumerate().rev() {
            alphas[i] = rho * dot(s, &v);
            axpy(-alphas[i], y, &mut v);
        }
        initial(&mut v);
        for (i, (s, y, rho)) in self.pairs.iter().enumerate() {
            let beta = rho * dot(y, &v);
            axpy(alphas[i] - beta, s, &mut v);
        }
        v
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_pair_is_reproduced_and_old_ones_are_dropped() {
        let mut secants = Secants::new(2);
        for k in 1..=3 {
            let k = f64::from(k);
            secants.push(vec![k, 1.0], vec![2.0 * k + 1.0, k + 3.0]);
        }
        secants.push(vec![1.0, 0.0], vec![-1.0, 0.0]);
        let s = secants.apply(&[7.0, 6.0], |v| v.iter_mut().for_each(|x| *x *= secants.scale()));
        assert!((s[0] - 3.0).abs() < 1e-12 && (s[1] - 1.0).abs() < 1e-12, "{s:?}");
        assert_eq!(secants.pairs.len(), 2);
    }
}

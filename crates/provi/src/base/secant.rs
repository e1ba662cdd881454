//! The last secant pairs and the inverse Hessian that they imply: the memory of L-BFGS.
//!
//! [`Secants`] keeps the pairs of one search. Code that stores pairs differently, such as the many small ascents of
//! an audit, uses the same algebra through [`weight`], [`initial_scale`] and [`two_loops`].

use crate::base::linalg::norm;
use provi_kernels::{axpy, dot};
use std::collections::VecDeque;

/// A pair s = Δx, y = Δ∇f with its weight 1/sᵀy.
pub(crate) type Pair<'p> = (&'p [f64], &'p [f64], f64);

/// 1/sᵀy if the pair shows curvature (sᵀy > 0). `None` otherwise: such a pair would spoil the metric.
pub(crate) fn weight(s: &[f64], y: &[f64]) -> Option<f64> {
    let curvature = dot(s, y);
    (curvature > 1e-12 * norm(s) * norm(y)).then(|| 1.0 / curvature)
}

/// sᵀy/yᵀy of the last pair, the usual size of the initial metric.
pub(crate) fn initial_scale((s, y, _): Pair<'_>) -> f64 {
    dot(s, y) / dot(y, y)
}

/// v ← Bv by the two-loop recursion over the pairs, oldest first. `initial` applies the metric that the pairs
/// correct; `alphas` has room for one number per pair.
pub(crate) fn two_loops<'p>(
    v: &mut [f64],
    pairs: impl DoubleEndedIterator<Item = Pair<'p>> + ExactSizeIterator + Clone,
    alphas: &mut [f64],
    initial: impl FnOnce(&mut [f64]),
) {
    let alphas = &mut alphas[..pairs.len()];
    for ((s, y, weight), alpha) in pairs.clone().zip(alphas.iter_mut()).rev() {
        *alpha = weight * dot(s, v);
        axpy(-*alpha, y, v);
    }
    initial(v);
    for ((s, y, weight), alpha) in pairs.zip(alphas.iter()) {
        let beta = weight * dot(y, v);
        axpy(alpha - beta, s, v);
    }
}

/// Pairs, oldest first.
#[derive(Clone, Debug)]
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

    /// Adds a pair, if it shows curvature.
    pub(crate) fn push(&mut self, s: Vec<f64>, y: Vec<f64>) {
        if let Some(weight) = weight(&s, &y) {
            if self.pairs.len() == self.memory {
                self.pairs.pop_front();
            }
            self.pairs.push_back((s, y, weight));
        }
    }

    /// Appends the pairs as plain numbers, s and y in turn.
    pub(crate) fn write_to(&self, out: &mut Vec<f64>) {
        for (s, y, _) in &self.pairs {
            out.extend_from_slice(s);
            out.extend_from_slice(y);
        }
    }

    /// Adds the pairs that [`Secants::write_to`] wrote, of vectors with `width` numbers. The bits are the same.
    pub(crate) fn read_from(&mut self, width: usize, numbers: &[f64]) {
        for pair in numbers.chunks_exact(2 * width) {
            self.push(pair[..width].to_vec(), pair[width..].to_vec());
        }
    }

    /// The usual scale of the initial metric, from the last pair.
    pub(crate) fn scale(&self) -> f64 {
        self.pairs.back().map_or(1.0, |(s, y, weight)| initial_scale((s, y, *weight)))
    }

    /// Returns Bg; `initial` applies the metric that the pairs correct.
    pub(crate) fn apply(&self, g: &[f64], initial: impl FnOnce(&mut [f64])) -> Vec<f64> {
        let (mut v, mut alphas) = (g.to_vec(), vec![0.0; self.pairs.len()]);
        let pairs = self.pairs.iter().map(|(s, y, weight)| (&s[..], &y[..], *weight));
        two_loops(&mut v, pairs, &mut alphas, initial);
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

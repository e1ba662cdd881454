//! The backward pass: from ȳ = 1 at the result to the gradient at the input.

use super::arena::{Arena, Op};
use super::matrix::axpy;

impl Op {
    /// How many values the operation put on the tape.
    fn output_len(&self, arena: &Arena) -> usize {
        match *self {
            Op::Scalar { .. } | Op::Scalar2 { .. } | Op::Sum { .. } | Op::Dot { .. } | Op::Reduce { .. } => 1,
            Op::Constant { len }
            | Op::Scale { len, .. }
            | Op::Combine { len, .. }
            | Op::Map { len, .. }
            | Op::Zip { len, .. }
            | Op::Repeat { len, .. }
            | Op::CumulativeSum { len, .. }
            | Op::Gather { len, .. } => len,
            Op::SegmentSum { segments, .. } => segments,
            Op::MatVec { matrix, .. } => arena.matrices[matrix].rows(),
            Op::TransposeMatVec { matrix, .. } => arena.matrices[matrix].columns(),
        }
    }
}

impl Arena {
    /// Accumulates adjoints from `output` back to the input, which is at the front; then drops the matrices.
    pub(super) fn reverse(&mut self, output: usize, gradient: &mut [f64]) {
        let mut adjoints = std::mem::take(&mut self.adjoints);
        adjoints.clear();
        adjoints.resize(self.values.len(), 0.0);
        adjoints[output] = 1.0;
        let mut end = self.values.len();
        for op in self.ops.iter().rev() {
            match *op {
                // Scalar code makes long tapes of these two operations.
                Op::Scalar { input, slope } => {
                    end -= 1;
                    adjoints[input] += product(adjoints[end], slope);
                }
                Op::Scalar2 { inputs: [a, b], slopes } => {
                    end -= 1;
                    let y = adjoints[end];
                    adjoints[a] += product(y, slopes[0]);
                    adjoints[b] += product(y, slopes[1]);
                }
                op => {
                    let start = end - op.output_len(self);
                    let (before, after) = adjoints.split_at_mut(start);
                    self.pull_back(op, before, &after[..end - start]);
                    end = start;
                }
            }
        }
        gradient.copy_from_slice(&adjoints[..gradient.len()]);
        self.adjoints = adjoints;
        self.matrices.clear();
    }

    /// x̄ += ȳ · ∂y/∂x for one operation; `x` holds the adjoints of everything before it, `y` its own.
    fn pull_back(&self, op: Op, x: &mut [f64], y: &[f64]) {
        match op {
            Op::Constant { .. } | Op::Scalar { .. } | Op::Scalar2 { .. } => {}
            Op::Scale { input, len, factor } => axpy(factor, y, &mut x[input..input + len]),
            Op::Combine { inputs: [a, b], len, factor } => {
                axpy(1.0, y, &mut x[a..a + len]);
                axpy(factor, y, &mut x[b..b + len]);
            }
            Op::Map { input, len, slopes } => {
                add_products(y, &self.slopes[slopes..slopes + len], &mut x[input..input + len]);
            }
            Op::Zip { inputs: [a, b], len, slopes } => {
                add_products(y, &self.slopes[slopes..slopes + len], &mut x[a..a + len]);
                add_products(y, &self.slopes[slopes + len..slopes + 2 * len], &mut x[b..b + len]);
            }
            Op::Repeat { input, .. } => x[input] += y.iter().sum::<f64>(),
            Op::Sum { input, len } => x[input..input + len].iter_mut().for_each(|x| *x += y[0]),
            Op::Dot { inputs: [a, b], len } => {
                axpy(y[0], &self.values[b..b + len], &mut x[a..a + len]);
                axpy(y[0], &self.values[a..a + len], &mut x[b..b + len]);
            }
            Op::Reduce { input, len, slopes } => {
                let slopes = &self.slopes[slopes..slopes + len];
                x[input..input + len].iter_mut().zip(slopes).for_each(|(x, &s)| *x += product(y[0], s));
            }
            Op::CumulativeSum { input, len } => {
                let mut tail = 0.0;
                for (x, y) in x[input..input + len].iter_mut().zip(y).rev() {
                    tail += y;
                    *x += tail;
                }
            }
            Op::Gather { input, len, indices } => {
                for (&i, y) in self.indices[indices..indices + len].iter().zip(y) {
                    x[input + i] += y;
                }
            }
            Op::SegmentSum { input, len, indices, .. } => {
                let segments = &self.indices[indices..indices + len];
                x[input..input + len].iter_mut().zip(segments).for_each(|(x, &i)| *x += y[i]);
            }
            Op::MatVec { input, matrix } => {
                let a = &self.matrices[matrix];
                a.add_transpose_product(y, &mut x[input..input + a.columns()]);
            }
            Op::TransposeMatVec { input, matrix } => {
                let a = &self.matrices[matrix];
                a.add_product(y, &mut x[input..input + a.rows()]);
            }
        }
    }
}

/// adjoint · slope, but 0 if the adjoint is zero and the slope infinite: the result does not depend on this input.
fn product(adjoint: f64, slope: f64) -> f64 {
    if adjoint == 0.0 { 0.0 } else { adjoint * slope }
}

fn add_products(adjoints: &[f64], slopes: &[f64], x: &mut [f64]) {
    for ((x, &adjoint), &slope) in x.iter_mut().zip(adjoints).zip(slopes) {
        *x += product(adjoint, slope);
    }
}

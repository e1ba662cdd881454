//! Batch and match: the Gaussian whose scores match those of a batch.

use super::{Batch, Step, multiply_by};
use crate::base::linalg::{Cholesky, congruence, eigen, spectral_map};
use crate::base::matrix::{Matrix, unpack_lower};
use provi_kernels::{axpy, dot, triangle};

/// The match with weight λ, in the coordinates of q, where Σ = I and m = 0. With the columns
/// ```text
/// P = (√(λ/N)(u_k − ū), …, √(λ/(1+λ)) ū),   Q = the same of the scores g_k = −Cᵀπ_k
/// V = I + PPᵀ,   U = QQᵀ,   SUS + S = V
/// ```
/// the solution is, for few columns (N + 1 < d) and for many, with V = LLᵀ:
/// ```text
/// S = V − VQ(½I + (QᵀVQ + ¼I)^{½})⁻²QᵀV,   S = 2L(I + (I + 4LᵀUL)^{½})⁻¹Lᵀ
/// m ← m + C·λ/(1+λ)(Sḡ + ū),   Σ ← CSCᵀ
/// ```
/// Either way S is positive definite. The first formula subtracts, and both lose scores that are far smaller than the largest ones; a solution that
/// misses the equation by more than a millionth is refused, and the step counts as diverged.
pub(super) struct BatchAndMatch {
    /// P and Q, one column a row.
    points: Matrix,
    scores: Matrix,
    row: Vec<f64>,
    shift: Vec<f64>,
}

impl BatchAndMatch {
    pub(super) fn new(dim: usize, draws: usize) -> Self {
        let columns = || Matrix::zeros(draws + 1, dim);
        Self { points: columns(), scores: columns(), row: vec![0.0; dim], shift: vec![0.0; dim] }
    }

    /// S, the solution of SQQᵀS + S = I + PPᵀ, and its lower factor.
    fn solution(&self) -> Option<(Matrix, Cholesky)> {
        let few = self.points.rows() < self.points.columns();
        let checked = |s: Matrix| {
            let factor = Cholesky::new("matched covariance", &s).ok()?;
            (miss(&self.points, &self.scores, &s) < 1e-6).then_some((s, factor))
        };
        let by_few = if few { by_few_columns(&self.points, &self.scores).and_then(checked) } else { None };
        by_few.or_else(|| by_factor(&self.points, &self.scores).and_then(checked))
    }
}

/// ‖SQQᵀS + S − V‖/‖V‖.
fn miss(points: &Matrix, scores: &Matrix, s: &Matrix) -> f64 {
    let mut moved = Matrix::zeros(scores.rows(), scores.columns());
    for k in 0..scores.rows() {
        for i in 0..s.rows() {
            moved.row_mut(k)[i] = dot(s.row(i), scores.row(k));
        }
    }
    let v = spread(points);
    let mut apart = Matrix::zeros(s.rows(), s.rows());
    add_rows(&mut apart, &moved, 1.0);
    let (mut error, mut size) = (0.0, 0.0);
    for i in 0..s.rows() {
        for j in 0..=i {
            error += (apart[(i, j)] + s[(i, j)] - v[(i, j)]).powi(2);
            size += v[(i, j)].powi(2);
        }
    }
    (error / size).sqrt()
}

/// out ← out + α Σ xxᵀ over the rows x, lower half only.
fn add_rows(out: &mut Matrix, rows: &Matrix, alpha: f64) {
    for k in 0..rows.rows() {
        let x = rows.row(k);
        (0..x.len()).for_each(|i| axpy(alpha * x[i], &x[..=i], &mut out.row_mut(i)[..=i]));
    }
}

fn mirrored(mut m: Matrix) -> Matrix {
    crate::base::linalg::mirror_lower(&mut m);
    m
}

/// V = I + PPᵀ.
fn spread(points: &Matrix) -> Matrix {
    let mut v = Matrix::scaled_identity(points.columns(), 1.0);
    add_rows(&mut v, points, 1.0);
    v
}

/// V − VQ(½I + (QᵀVQ + ¼I)^{½})⁻²QᵀV, with an eigendecomposition of as many rows as Q has columns.
pub(super) fn by_few_columns(points: &Matrix, scores: &Matrix) -> Option<Matrix> {
    let count = scores.rows();
    // The rows of `moved` are the columns of VQ = Q + P(PᵀQ).
    let mut moved = scores.clone();
    for j in 0..count {
        for i in 0..points.rows() {
            axpy(dot(points.row(i), scores.row(j)), points.row(i), moved.row_mut(j));
        }
    }
    let mut inner = Matrix::zeros(count, count);
    for i in 0..count {
        (0..=i).for_each(|j| inner[(i, j)] = dot(scores.row(i), moved.row(j)));
    }
    let (values, vectors) = eigen("matched scores", &mirrored(inner)).ok()?;
    let mut turned = Matrix::zeros(count, scores.columns());
    for (k, value) in values.iter().enumerate() {
        let weight = 1.0 / (0.5 + (value.max(0.0) + 0.25).sqrt());
        for j in 0..count {
            axpy(weight * vectors[(k, j)], moved.row(j), turned.row_mut(k));
        }
    }
    let mut s = spread(points);
    add_rows(&mut s, &turned, -1.0);
    Some(mirrored(s))
}

/// 2L(I + (I + 4LᵀUL)^{½})⁻¹Lᵀ with V = LLᵀ.
pub(super) fn by_factor(points: &Matrix, scores: &Matrix) -> Option<Matrix> {
    let d = points.columns();
    let factor = Cholesky::new("spread of a batch", &mirrored(spread(points))).ok()?.packed_lower();
    let mut turned = Matrix::zeros(scores.rows(), d);
    triangle::pull_back(&factor, scores.entries(), turned.entries_mut());
    let mut inner = Matrix::zeros(d, d);
    add_rows(&mut inner, &turned, 1.0);
    let (values, vectors) = eigen("matched scores", &mirrored(inner)).ok()?;
    let between = spectral_map(&values, &vectors, |value| 2.0 / (1.0 + (1.0 + 4.0 * value.max(0.0)).sqrt()));
    // LWLᵀ is PᵀWP with P = Lᵀ.
    let lower = unpack_lower(d, &factor);
    let mut upper = Matrix::zeros(d, d);
    for i in 0..d {
        (0..=i).for_each(|j| upper[(j, i)] = lower[(i, j)]);
    }
    Some(congruence(&between, &upper))
}

/// √(λ/N)(x_k − x̄) and √(λ/(1+λ)) x̄ for the rows x_k of `from` times `sign`.
fn columns(from: &[f64], sign: f64, lambda: f64, out: &mut Matrix) {
    let (d, count) = (out.columns(), out.rows() - 1);
    let scale = (lambda / count as f64).sqrt();
    let (each, last) = out.entries_mut().split_at_mut(count * d);
    last.fill(0.0);
    from.chunks_exact(d).for_each(|x| axpy(sign / count as f64, x, last));
    for (x, out) in from.chunks_exact(d).zip(each.chunks_exact_mut(d)) {
        out.iter_mut().zip(x).zip(&*last).for_each(|((out, x), mean)| *out = scale * (sign * x - mean));
    }
    let weight = (lambda / (1.0 + lambda)).sqrt();
    last.iter_mut().for_each(|x| *x *= weight);
}

impl Step for BatchAndMatch {
    fn make(&mut self, w: &mut [f64], batch: &mut Batch, lambda: f64) -> Option<()> {
        let d = batch.dim;
        columns(&batch.u, 1.0, lambda, &mut self.points);
        columns(&batch.pulls, -1.0, lambda, &mut self.scores);
        let (s, factor) = self.solution()?;
        // λ/(1+λ)(Sḡ + ū): the last columns are ū and ḡ times √(λ/(1+λ)).
        let last = self.points.rows() - 1;
        let weight = (lambda / (1.0 + lambda)).sqrt();
        for i in 0..d {
            self.row[i] = weight * (dot(s.row(i), self.scores.row(last)) + self.points.row(last)[i]);
        }
        let (mean, lower) = w.split_at_mut(d);
        triangle::multiply(lower, &self.row, &mut self.shift);
        axpy(1.0, &self.shift, mean);
        multiply_by(lower, &factor.packed_lower(), &mut self.row);
        Some(())
    }
}

//! Dense factorisations. No other module uses the linear-algebra crate.
//!
//! Symmetric matrices are stored in full. Every product runs on one thread, so its bits do not depend on the number
//! of cores. A large product may be cut off before it is done ([`crate::stop`]); its result is then meaningless.

mod packed;
pub(crate) mod sparse;

pub(crate) use packed::PackedCholesky;

use crate::base::error::{Error, Result};
use crate::base::matrix::{Matrix, below_diagonal, packed_index, packed_len};
use crate::base::stop;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::linalg::{matmul, triangular_inverse, triangular_solve};
use faer::{Accum, Auto, MatMut, MatRef, Par, Side, Spec};
use std::ops::Range;

/// Multiply-adds between two checks of the stop signal: about a tenth of a second. Smaller products are made
/// without a check.
const LOOK: usize = 1 << 30;
/// Size from which on a factorisation runs on a thread of its own, so that it can be abandoned.
const LARGE: usize = 1024;

/// Calls `make` with panels of the columns 0..count until all are done or the work is cut off. Each column costs
/// `work` multiply-adds.
fn in_panels(count: usize, work: usize, mut make: impl FnMut(Range<usize>)) {
    let size = (LOOK / work.max(1)).max(1).next_multiple_of(64);
    // Processes that share the work ask each other only if it is long.
    let go_on = |first: &usize| if *first == 0 { !stop::trips() } else { !stop::trips_together() };
    for first in (0..count).step_by(size).take_while(go_on) {
        make(first..(first + size).min(count));
    }
}

/// Row-major data of an r×c matrix is the column-major data of its transpose.
fn transposed_view(m: &Matrix) -> MatRef<'_, f64> {
    MatRef::from_column_major_slice(m.entries(), m.columns(), m.rows())
}

fn transposed_view_mut(m: &mut Matrix) -> MatMut<'_, f64> {
    let (rows, columns) = (m.rows(), m.columns());
    MatMut::from_column_major_slice_mut(m.entries_mut(), columns, rows)
}

/// A·B.
pub(crate) fn multiply(a: &Matrix, b: &Matrix) -> Matrix {
    let mut out = Matrix::zeros(a.rows(), b.columns());
    // (AB)ᵀ = BᵀAᵀ: every matrix is seen through its transpose.
    in_panels(a.rows(), a.columns() * b.columns(), |panel| {
        matmul::matmul(
            transposed_view_mut(&mut out).subcols_mut(panel.start, panel.len()),
            Accum::Replace,
            transposed_view(b),
            transposed_view(a).subcols(panel.start, panel.len()),
            1.0,
            Par::Seq,
        );
    });
    out
}

/// tril(A·C) for square A and lower triangular C; the halves that are zero or not needed are not computed. The
/// upper half of the result is meaningless.
pub(crate) fn multiply_lower(a: &Matrix, c: &Matrix) -> Matrix {
    let d = a.rows();
    let mut out = Matrix::zeros(d, d);
    if d * d > LOOK / d.max(1) {
        // Rows of the result, at least up to their diagonals.
        in_panels(d, d * d, |panel| {
            matmul::matmul(
                transposed_view_mut(&mut out).submatrix_mut(0, panel.start, panel.end, panel.len()),
                Accum::Replace,
                transposed_view(c).subrows(0, panel.end),
                transposed_view(a).subcols(panel.start, panel.len()),
                1.0,
                Par::Seq,
            );
        });
        return out;
    }
    triangular::matmul(
        transposed_view_mut(&mut out),
        BlockStructure::TriangularUpper,
        Accum::Replace,
        transposed_view(c),
        BlockStructure::TriangularUpper,
        transposed_view(a),
        BlockStructure::Rectangular,
        1.0,
        Par::Seq,
    );
    out
}

/// out ← out + AᵀA, exactly symmetric, for `a` of size n × d held row by row.
pub(crate) fn add_gram(a: &[f64], columns: usize, out: &mut Matrix) {
    add_lower_gram(a, columns, out.entries_mut());
    mirror_lower(out);
}

/// out ← out + AᵀA, lower half only, with `out` of size d × d held row by row. The upper half is meaningless
/// afterwards.
pub(crate) fn add_lower_gram(a: &[f64], columns: usize, out: &mut [f64]) {
    let rows = a.len() / columns;
    let at = MatRef::from_column_major_slice(a, columns, rows);
    // The column-major upper half is the row-major lower half.
    triangular::matmul(
        MatMut::from_column_major_slice_mut(out, columns, columns),
        BlockStructure::TriangularUpper,
        Accum::Add,
        at,
        BlockStructure::Rectangular,
        at.transpose(),
        BlockStructure::Rectangular,
        1.0,
        Par::Seq,
    );
}

/// Copies the lower half onto the upper half.
pub(crate) fn mirror_lower(m: &mut Matrix) {
    below_diagonal(m.rows(), |i, j| m[(j, i)] = m[(i, j)]);
}

/// AᵀB.
pub(crate) fn multiply_transposed(a: &Matrix, b: &Matrix) -> Matrix {
    let mut out = Matrix::zeros(a.columns(), b.columns());
    in_panels(a.columns(), a.rows() * b.columns(), |panel| {
        matmul::matmul(
            transposed_view_mut(&mut out).subcols_mut(panel.start, panel.len()),
            Accum::Replace,
            transposed_view(b),
            transposed_view(a).transpose().subcols(panel.start, panel.len()),
            1.0,
            Par::Seq,
        );
    });
    out
}

/// PᵀHP for symmetric H, exactly symmetric.
pub(crate) fn congruence(h: &Matrix, p: &Matrix) -> Matrix {
    let mut out = multiply_transposed(p, &multiply(h, p));
    mirror_lower(&mut out);
    out
}

/// The lower triangular C with positive diagonal and CCᵀ = H⁻¹, packed into `out`. No inverse is formed: with H = WᵀW, C = W⁻¹.
pub(crate) fn inverse_factor(what: &'static str, h: &Matrix, out: &mut [f64]) -> Result<()> {
    let d = h.rows();
    let mut model = PackedCholesky::with_dim(d);
    model.factor_square(h).map_err(|pivot| Error::NotPositiveDefinite { what, dim: d, pivot })?;
    model.write_inverse_factor(out);
    Ok(())
}

/// Pᵀ(H + shift·I)P for positive semidefinite H, moved down (`side` = −1) or up (`side` = 1) by more than the
/// rounding error, so that it bounds the exact matrix from that side.
///
/// Both products are sums of d terms: |fl(PᵀHP) − PᵀHP| ≤ (d+2)ε·|P|ᵀ|H||P| entry by entry, and |H_ij| ≤ √(H_iiH_jj) makes that
/// at most (d+2)ε·wwᵀ, w = |P|ᵀ√(diag H). PᵀHP itself can be far smaller than wwᵀ when H is ill conditioned.
pub(crate) fn safe_congruence(h: &Matrix, p: &Matrix, shift: f64, side: f64) -> Matrix {
    let d = h.rows();
    let mut w = vec![0.0; p.columns()];
    for i in 0..d {
        let root = h[(i, i)].abs().sqrt();
        w.iter_mut().zip(p.row(i)).for_each(|(w, x)| *w += x.abs() * root);
    }
    let size = provi_kernels::dot(&w, &w);
    let rounding = 2.0 * (d as f64 + 4.0) * f64::EPSILON * size;
    let moved = shift.abs() * p.frobenius_norm().powi(2) * (1.0 + 1e-10);
    let mut out = congruence(h, p);
    (0..out.rows()).for_each(|i| out[(i, i)] += side * (rounding + moved));
    out
}

/// L with H = LLᵀ. Factoring again allocates nothing.
pub(crate) struct Cholesky {
    /// Lᵀ row by row, that is L column by column; the other half is meaningless.
    factor: Matrix,
    memory: MemBuffer,
}

impl Cholesky {
    /// Room for factors of size `dim`.
    pub(crate) fn with_dim(dim: usize) -> Self {
        let scratch = llt::factor::cholesky_in_place_scratch::<f64>(dim, Par::Seq, Spec::default());
        Self { factor: Matrix::zeros(dim, dim), memory: MemBuffer::new(scratch) }
    }

    /// The factor of `h`. The error names the matrix `what`.
    pub(crate) fn new(what: &'static str, h: &Matrix) -> Result<Self> {
        if h.rows() == 0 {
            return Err(Error::Empty { what });
        }
        let mut out = Self::with_dim(h.rows());
        out.factor_from(h, 0.0).map_err(|pivot| Error::NotPositiveDefinite { what, dim: h.rows(), pivot })?;
        Ok(out)
    }

    /// Factors h − shift·I. The error is the index of the first pivot that is not positive.
    pub(crate) fn factor_from(&mut self, h: &Matrix, shift: f64) -> std::result::Result<(), usize> {
        self.factor.entries_mut().copy_from_slice(h.entries());
        self.factor_in_place(shift)
    }

    /// Factors h − shift·I with rows and columns in reversed order. The error is the index of the first pivot that
    /// is not positive, in h's own order.
    pub(crate) fn factor_reversed(&mut self, h: &Matrix, shift: f64) -> std::result::Result<(), usize> {
        let d = self.dim();
        self.factor.entries_mut().iter_mut().zip(h.entries().iter().rev()).for_each(|(to, x)| *to = *x);
        self.factor_in_place(shift).map_err(|pivot| d - 1 - pivot.min(d - 1))
    }

    fn factor_in_place(&mut self, shift: f64) -> std::result::Result<(), usize> {
        for i in 0..self.dim() {
            self.factor[(i, i)] -= shift;
        }
        self.at_one_go(|factor, memory| {
            llt::factor::cholesky_in_place(
                transposed_view_mut(factor),
                Default::default(),
                Par::Seq,
                MemStack::new(memory),
                Spec::new(Auto::<f64>::auto()),
            )
            .map(|_| ())
            .map_err(|llt::factor::LltError::NonPositivePivot { index }| index)
        })
        .unwrap_or(Err(0))?;
        // A NaN pivot passes the comparison inside the factorisation.
        let bad = |x: f64| x.is_nan() || x <= 0.0;
        match (0..self.dim()).find(|&i| bad(self.factor[(i, i)])) {
            Some(pivot) => Err(pivot),
            None => Ok(()),
        }
    }

    /// Runs a factorisation that cannot check the stop signal. `None` if it was cut off; the factor is then
    /// meaningless.
    fn at_one_go<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut Matrix, &mut MemBuffer) -> T + Send + 'static,
    ) -> Option<T> {
        if self.dim() < LARGE {
            return Some(work(&mut self.factor, &mut self.memory));
        }
        let (d, nothing) = (self.dim(), || Self::with_dim(0));
        let mut own = std::mem::replace(self, nothing());
        let done = stop::apart(move || {
            let out = work(&mut own.factor, &mut own.memory);
            (own, out)
        });
        match done {
            Some((own, out)) => {
                *self = own;
                Some(out)
            }
            None => {
                self.factor = Matrix::zeros(d, d);
                None
            }
        }
    }

    pub(crate) fn dim(&self) -> usize {
        self.factor.rows()
    }

    fn lower(&self) -> MatRef<'_, f64> {
        transposed_view(&self.factor)
    }

    /// log det H = 2 Σ log L_ii.
    pub(crate) fn log_det(&self) -> f64 {
        2.0 * (0..self.dim()).map(|i| self.factor[(i, i)].ln()).sum::<f64>()
    }

    /// b ← H⁻¹b.
    pub(crate) fn solve(&self, b: &mut [f64]) {
        self.solve_lower(b);
        self.solve_upper(b);
    }

    /// b ← L⁻¹b for each of the vectors b that lie one after the other in `many`.
    pub(crate) fn solve_lower(&self, many: &mut [f64]) {
        let (d, count) = (self.dim(), many.len() / self.dim());
        triangular_solve::solve_lower_triangular_in_place(
            self.lower(),
            MatMut::from_column_major_slice_mut(many, d, count),
            Par::Seq,
        );
    }

    /// b ← L⁻ᵀb.
    pub(crate) fn solve_upper(&self, b: &mut [f64]) {
        let n = b.len();
        triangular_solve::solve_upper_triangular_in_place(
            self.lower().transpose(),
            MatMut::from_column_major_slice_mut(b, n, 1),
            Par::Seq,
        );
    }

    /// H⁻¹.
    pub(crate) fn inverse(&self) -> Matrix {
        let d = self.dim();
        let (mut room, mut out) = (Matrix::zeros(d, d), Matrix::zeros(d, d));
        triangular_inverse::invert_lower_triangular(transposed_view_mut(&mut room), self.lower(), Par::Seq);
        // H⁻¹ = L⁻ᵀL⁻¹ = GᵀG with G = L⁻¹. The column-major upper half is the row-major lower half.
        let inverse = transposed_view(&room);
        triangular::matmul(
            transposed_view_mut(&mut out),
            BlockStructure::TriangularUpper,
            Accum::Replace,
            inverse.transpose(),
            BlockStructure::TriangularUpper,
            inverse,
            BlockStructure::TriangularLower,
            1.0,
            Par::Seq,
        );
        mirror_lower(&mut out);
        out
    }

    /// L⁻¹, lower triangular.
    pub(crate) fn inverse_lower(&self) -> Matrix {
        let d = self.dim();
        let mut columns = Matrix::zeros(d, d);
        triangular_inverse::invert_lower_triangular(
            transposed_view_mut(&mut columns),
            self.lower(),
            Par::Seq,
        );
        let mut out = Matrix::zeros(d, d);
        for i in 0..d {
            for j in 0..=i {
                out[(i, j)] = columns[(j, i)];
            }
        }
        out
    }

    /// L, packed row by row.
    pub(crate) fn packed_lower(&self) -> Vec<f64> {
        /// Rows written together, so that the entries that are read lie together too.
        const SIDE: usize = 8;
        let d = self.dim();
        let mut packed = vec![0.0; packed_len(d)];
        let factor = self.factor.entries();
        for i in (0..d).step_by(SIDE) {
            let end = (i + SIDE).min(d);
            for j in 0..end {
                let first = i.max(j);
                for (k, x) in (first..end).zip(&factor[j * d + first..j * d + end]) {
                    packed[packed_index(k, j)] = *x;
                }
            }
        }
        packed
    }
}

/// Eigenvalues in ascending order.
pub(crate) fn eigenvalues(what: &'static str, h: &Matrix) -> Result<Vec<f64>> {
    let dim = h.rows();
    if h.entries().iter().any(|x| !x.is_finite()) {
        return Err(Error::Eigen { what, dim });
    }
    let failed = Error::Eigen { what, dim };
    match dim < LARGE {
        true => transposed_view(h).self_adjoint_eigenvalues(Side::Lower).ok(),
        false => {
            let h = h.clone();
            stop::apart(move || transposed_view(&h).self_adjoint_eigenvalues(Side::Lower).ok()).flatten()
        }
    }
    .ok_or(failed)
}

/// H = UDUᵀ: eigenvalues in ascending order, and the rows of the matrix are the eigenvectors.
pub(crate) fn eigen(what: &'static str, h: &Matrix) -> Result<(Vec<f64>, Matrix)> {
    let dim = h.rows();
    if h.entries().iter().any(|x| !x.is_finite()) {
        return Err(Error::Eigen { what, dim });
    }
    let evd = match dim < LARGE {
        true => transposed_view(h).self_adjoint_eigen(Side::Lower).ok(),
        false => {
            let h = h.clone();
            stop::apart(move || transposed_view(&h).self_adjoint_eigen(Side::Lower).ok()).flatten()
        }
    }
    .ok_or(Error::Eigen { what, dim })?;
    let values = (0..dim).map(|i| evd.S()[i]).collect();
    let mut vectors = Matrix::zeros(dim, dim);
    for k in 0..dim {
        for i in 0..dim {
            vectors[(k, i)] = evd.U()[(i, k)];
        }
    }
    Ok((values, vectors))
}

/// The eigenvalues of a small symmetric tridiagonal matrix replace its `diagonal`, in no particular order.
/// `vectors` must begin as the identity; its rows become the eigenvectors. Implicit QL steps. Returns false if they
/// do not converge or meet a NaN.
pub(crate) fn tridiagonal_eigen<const N: usize>(
    diagonal: &mut [f64],
    beside: &[f64],
    vectors: &mut [[f64; N]],
) -> bool {
    let n = diagonal.len();
    let mut e = [0.0; N];
    e[..beside.len()].copy_from_slice(beside);
    for l in 0..n {
        let mut rounds = 0;
        loop {
            let negligible =
                |m: usize| e[m].abs() <= 0.5 * f64::EPSILON * (diagonal[m].abs() + diagonal[m + 1].abs());
            let m = (l..n - 1).find(|&m| negligible(m)).unwrap_or(n - 1);
            if m == l {
                break;
            }
            rounds += 1;
            if rounds > 40 {
                return false;
            }
            // Wilkinson's shift.
            let mut g = (diagonal[l + 1] - diagonal[l]) / (2.0 * e[l]);
            g = diagonal[m] - diagonal[l] + e[l] / (g + (g * g + 1.0).sqrt().copysign(g));
            let (mut sine, mut cosine, mut p) = (1.0, 1.0, 0.0);
            for i in (l..m).rev() {
                let (f, b) = (sine * e[i], cosine * e[i]);
                let r = (f * f + g * g).sqrt();
                e[i + 1] = r;
                if r <= 0.0 {
                    // The matrix splits here into two blocks: start again with each of them.
                    diagonal[i + 1] -= p;
                    e[m] = 0.0;
                    break;
                }
                (sine, cosine) = (f / r, g / r);
                g = diagonal[i + 1] - p;
                let r = (diagonal[i] - g) * sine + 2.0 * cosine * b;
                p = sine * r;
                diagonal[i + 1] = g + p;
                g = cosine * r - b;
                let (upper, lower) = vectors.split_at_mut(i + 1);
                for (x, y) in upper[i].iter_mut().zip(&mut lower[0]) {
                    (*x, *y) = (cosine * *x - sine * *y, sine * *x + cosine * *y);
                }
                if i == l {
                    diagonal[l] -= p;
                    e[l] = g;
                    e[m] = 0.0;
                }
            }
        }
    }
    diagonal.iter().all(|x| x.is_finite())
}

/// Σ_k f(λ_k) v_k v_kᵀ from eigenvalues and row eigenvectors.
pub(crate) fn spectral_map(values: &[f64], vectors: &Matrix, f: impl Fn(f64) -> f64) -> Matrix {
    let dim = values.len();
    let mut scaled = vectors.clone();
    for (k, &value) in values.iter().enumerate() {
        let weight = f(value);
        scaled.row_mut(k).iter_mut().for_each(|x| *x *= weight);
    }
    let mut out = Matrix::zeros(dim, dim);
    in_panels(dim, dim * dim, |panel| {
        matmul::matmul(
            transposed_view_mut(&mut out).subcols_mut(panel.start, panel.len()),
            Accum::Replace,
            transposed_view(&scaled),
            transposed_view(vectors).transpose().subcols(panel.start, panel.len()),
            1.0,
            Par::Seq,
        );
    });
    mirror_lower(&mut out);
    out
}

/// Steps of Lanczos' iteration for a rough eigenvalue, and for one that a bound begins with, each without and with a direction to begin with; and
/// dimensions below which all eigenvalues cost no more.
const ROUGH: [usize; 2] = [12, 5];
const CLOSE: [usize; 2] = [24, 10];
const NARROW: usize = 48;

/// About where the largest eigenvalue of a matrix was reached: where to begin with a similar one. Empty where nothing is known.
#[derive(Clone, Debug, Default)]
pub(crate) struct Direction(Vec<f64>);

/// About the largest eigenvalue, from below: the largest one on a Krylov space. NaN where the eigensolver fails.
pub(crate) fn rough_eigenvalue(h: &Matrix, near: &mut Direction) -> f64 {
    lanczos(h, ROUGH, near)
}

fn lanczos(h: &Matrix, [cold, warm]: [usize; 2], near: &mut Direction) -> f64 {
    let d = h.rows();
    if d <= NARROW {
        return eigenvalues("a matrix", h).ok().and_then(|all| all.last().copied()).unwrap_or(f64::NAN);
    }
    // No symmetry of the matrix is likely to be that of this vector.
    let mut next: Vec<f64> = (0..d).map(|i| 1.0 + 0.5 * (1.7 * i as f64).sin()).collect();
    let mut most = cold;
    if near.0.len() == d {
        most = warm;
        let part = 0.1 / norm(&next);
        next.iter_mut().zip(&near.0).for_each(|(x, near)| *x = near + part * *x);
    }
    let mut basis: Vec<Vec<f64>> = Vec::with_capacity(most);
    let mut small = Matrix::zeros(most, most);
    let tiny = 1e-12 * h.frobenius_norm();
    while basis.len() < most {
        let (length, steps) = (norm(&next), basis.len());
        // An invariant space, or no number.
        if length.is_nan() || length <= tiny * (steps as f64) || length == 0.0 {
            break;
        }
        if steps > 0 {
            (small[(steps, steps - 1)], small[(steps - 1, steps)]) = (length, length);
        }
        let unit: Vec<f64> = next.iter().map(|x| x / length).collect();
        next = (0..d).map(|i| provi_kernels::dot(h.row(i), &unit)).collect();
        small[(steps, steps)] = provi_kernels::dot(&next, &unit);
        basis.push(unit);
        // Twice is enough.
        for _ in 0..2 {
            for v in &basis {
                let along = provi_kernels::dot(&next, v);
                provi_kernels::axpy(-along, v, &mut next);
            }
        }
    }
    let steps = basis.len();
    if steps == 0 {
        return f64::NAN;
    }
    let mut ritz = Matrix::zeros(steps, steps);
    for i in 0..steps {
        ritz.row_mut(i).copy_from_slice(&small.row(i)[..steps]);
    }
    let Ok((values, vectors)) = eigen("a matrix", &ritz) else { return f64::NAN };
    let Some(&last) = values.last().filter(|last| last.is_finite()) else { return f64::NAN };
    near.0 = vec![0.0; d];
    for (part, v) in vectors.row(steps - 1).iter().zip(&basis) {
        provi_kernels::axpy(*part, v, &mut near.0);
    }
    last
}

/// An upper bound of the largest eigenvalue: λI − H has a Cholesky factor. What LLᵀ may be off by is at most γ_{d+1}·tr LLᵀ in spectral norm (Rump,
/// *Verification of positive definiteness*, 2006).
pub(crate) fn largest_eigenvalue(h: &Matrix, near: &mut Direction) -> Result<f64> {
    let d = h.rows();
    let guess = if d <= NARROW { f64::NAN } else { lanczos(h, CLOSE, near) };
    let (mut negative, mut factor) = (Matrix::zeros(d, d), Cholesky::with_dim(d));
    negative.add_scaled(-1.0, h);
    let trace: f64 = (0..d).map(|i| h[(i, i)]).sum();
    for part in [1e-3, 1e-2, 0.1] {
        let bound = guess + part * guess.abs() + 1e-12 * h.frobenius_norm();
        if bound.is_finite() && factor.factor_from(&negative, -bound).is_ok() {
            let whole = d as f64 * bound - trace;
            return Ok(bound + 2.0 * (d as f64 + 4.0) * f64::EPSILON * (whole + bound.abs()));
        }
    }
    stop::check()?;
    Ok(eigenvalues("a matrix", h)?[d - 1] + eigenvalue_error(h))
}

/// An upper bound of the distance from a computed eigenvalue of `h` to the true one: the backward error of a
/// symmetric eigensolver, a small multiple of dε‖H‖.
pub(crate) fn eigenvalue_error(h: &Matrix) -> f64 {
    4.0 * h.rows() as f64 * f64::EPSILON * h.frobenius_norm()
}

/// The Euclidean norm ‖x‖.
pub(crate) fn norm(x: &[f64]) -> f64 {
    provi_kernels::dot(x, x).sqrt()
}

#[cfg(test)]
mod tests;

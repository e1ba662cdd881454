//! Cholesky factors packed row by row.

use super::LARGE;
use crate::base::matrix::{Matrix, packed_len};
use crate::base::stop;
use provi_kernels::{cholesky, triangle};

/// W with WᵀW = A − shift·I, and the working memory to factor again without allocation. From the second time on,
/// solving and inverting do not allocate either.
pub(crate) struct PackedCholesky {
    kernel: cholesky::Cholesky,
    /// W, packed; empty until [`hand_over`](Self::hand_over).
    lower: Vec<f64>,
}

impl PackedCholesky {
    /// Room for factors of size `dim`.
    pub(crate) fn with_dim(dim: usize) -> Self {
        Self { kernel: cholesky::Cholesky::new(dim), lower: Vec::new() }
    }

    pub(crate) fn dim(&self) -> usize {
        self.kernel.dim()
    }

    /// Factors A − shift·I. The error is the index of a pivot that is not positive. Success proves positive
    /// definiteness for a matrix within O(dε)‖A‖ of A − shift·I.
    pub(crate) fn factor(&mut self, packed: &[f64], shift: f64) -> std::result::Result<(), usize> {
        let row = |k: usize| &packed[k * (k + 1) / 2..][..=k];
        self.kernel.load_rows((0..self.dim()).map(row), shift);
        self.at_one_go(cholesky::Cholesky::factor_loaded).unwrap_or(Err(0))
    }

    /// Runs a factorisation that cannot check the stop signal. `None` if it was cut off; nothing is factored then.
    fn at_one_go<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut cholesky::Cholesky) -> T + Send + 'static,
    ) -> Option<T> {
        let dim = self.dim();
        if dim < LARGE {
            return Some(work(&mut self.kernel));
        }
        let mut kernel = std::mem::replace(&mut self.kernel, cholesky::Cholesky::new(0));
        let done = stop::apart(move || {
            let out = work(&mut kernel);
            (kernel, out)
        });
        let out;
        (self.kernel, out) = match done {
            Some((kernel, out)) => (kernel, Some(out)),
            None => (cholesky::Cholesky::new(dim), None),
        };
        out
    }

    /// Factors a square matrix, of which only the lower half is read.
    pub(crate) fn factor_square(&mut self, h: &Matrix) -> std::result::Result<(), usize> {
        self.kernel.load_rows(h.entries().chunks_exact(h.columns().max(1)), 0.0);
        self.at_one_go(cholesky::Cholesky::factor_loaded).unwrap_or(Err(0))
    }

    /// Makes the latest factor the one that [`solve`](Self::solve) uses, until the next call. Cost: one pass over
    /// it.
    pub(crate) fn hand_over(&mut self) {
        self.lower.resize(packed_len(self.dim()), 0.0);
        self.kernel.write(&mut self.lower);
    }

    /// b ← (A − shift·I)⁻¹b, with the factor that was handed over.
    pub(crate) fn solve(&self, b: &mut [f64]) {
        triangle::solve_transposed(&self.lower, b);
        triangle::solve(&self.lower, b);
    }

    /// (A − shift·I)⁻¹ of the latest factor, packed.
    pub(crate) fn invert(&mut self, out: &mut [f64]) {
        self.kernel.invert(out);
    }

    /// The lower triangular G with GGᵀ = (A − shift·I)⁻¹ of the latest factor, packed.
    pub(crate) fn write_inverse_factor(&mut self, out: &mut [f64]) {
        match self.at_one_go(cholesky::Cholesky::invert_factor) {
            Some(()) => self.kernel.write_inverted(out),
            // Cut off: nobody uses the result, but it stays a valid factor.
            None => out.fill(1.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::matrix::{packed_index, unpack_symmetric};

    #[test]
    fn it_solves_inverts_and_refuses() {
        for d in [7, 300] {
            let index = |i: usize, j: usize| packed_index(i.max(j), i.min(j));
            let mut packed = vec![0.0; packed_len(d)];
            provi_kernels::normals(4, 0, 0, &mut packed);
            packed.iter_mut().for_each(|x| *x /= d as f64);
            (0..d).for_each(|i| packed[index(i, i)] += 3.0);
            let mut cholesky = PackedCholesky::with_dim(d);
            assert!(cholesky.factor(&packed, 5.0).is_err());
            cholesky.factor(&packed, 1.0).unwrap();
            let mut inverse = vec![0.0; packed.len()];
            cholesky.invert(&mut inverse);
            cholesky.hand_over();
            let mut square = unpack_symmetric(d, &packed);
            (0..d).for_each(|i| square[(i, i)] -= 1.0);
            let mut factor = vec![0.0; packed.len()];
            cholesky.factor_square(&square).unwrap();
            cholesky.write_inverse_factor(&mut factor);
            for i in [0, d / 2, d - 1] {
                for j in 0..=i {
                    let row = |i: usize| &factor[packed_index(i, 0)..][..=j];
                    let product: f64 = row(i).iter().zip(row(j)).map(|(a, b)| a * b).sum();
                    assert!((product - inverse[packed_index(i, j)]).abs() < 1e-13, "d = {d}");
                }
            }
            for k in [0, d / 2, d - 1] {
                let mut b: Vec<f64> = (0..d).map(|i| packed[index(i, k)]).collect();
                b[k] -= 1.0;
                let product = |i: usize| (0..d).map(|j| inverse[index(i, j)] * b[j]).sum::<f64>();
                let unit = |i: usize| if i == k { 1.0 } else { 0.0 };
                assert!((0..d).all(|i| (product(i) - unit(i)).abs() < 1e-13), "d = {d}");
                cholesky.solve(&mut b);
                assert!((0..d).all(|i| (b[i] - unit(i)).abs() < 1e-13), "d = {d}");
            }
        }
    }
}

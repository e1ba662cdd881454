//! The Cholesky factor of a packed symmetric matrix, from whichever code is faster at its size.

use super::Cholesky;
use crate::matrix::{Matrix, packed_index, packed_len};
use provi_kernels::{cholesky, triangle};

/// The dimension from which blocks cut for the caches win. Below, the kernel takes from a seventh of the time (an inverse at
/// d = 20) to nine tenths of it (d = 700).
const BLOCKED_FROM: usize = 768;

/// A triangle whose square is A − shift·I, with what is needed to factor again, to solve and to invert without allocation.
pub(crate) struct PackedCholesky {
    route: Route,
    /// The triangle, packed, once it has been asked for.
    lower: Vec<f64>,
}

enum Route {
    /// WᵀW.
    Kernel(cholesky::Cholesky),
    /// LLᵀ, with room for L⁻¹ and the inverse.
    Blocked { cholesky: Cholesky, room: Matrix, square: Matrix },
}

impl PackedCholesky {
    /// Room for factors of size `dim`.
    pub(crate) fn with_dim(dim: usize) -> Self {
        let route = if dim < BLOCKED_FROM {
            Route::Kernel(cholesky::Cholesky::new(dim))
        } else {
            let (room, square) = (Matrix::zeros(dim, dim), Matrix::zeros(dim, dim));
            Route::Blocked { cholesky: Cholesky::with_dim(dim), room, square }
        };
        Self { route, lower: vec![0.0; packed_len(dim)] }
    }

    pub(crate) fn dim(&self) -> usize {
        match &self.route {
            Route::Kernel(cholesky) => cholesky.dim(),
            Route::Blocked { cholesky, .. } => cholesky.dim(),
        }
    }

    /// Factors A − shift·I; the error is a bad pivot. It succeeds for a matrix within O(dε)‖A‖ of the tested one.
    pub(crate) fn factor(&mut self, packed: &[f64], shift: f64) -> std::result::Result<(), usize> {
        match &mut self.route {
            Route::Kernel(cholesky) => cholesky.factor(packed, shift),
            Route::Blocked { cholesky, .. } => cholesky.factor_from_packed(packed, shift),
        }
    }

    /// Hands what was factored last to [`solve`](Self::solve), which keeps it until the next call. Cost: one pass over it.
    pub(crate) fn hand_over(&mut self) {
        match &self.route {
            Route::Kernel(cholesky) => cholesky.write(&mut self.lower),
            Route::Blocked { cholesky, .. } => cholesky.copy_packed_lower(&mut self.lower),
        }
    }

    /// b ← (A − shift·I)⁻¹b, for what was handed over.
    pub(crate) fn solve(&self, b: &mut [f64]) {
        match &self.route {
            Route::Kernel(_) => {
                triangle::solve_transposed(&self.lower, b);
                triangle::solve(&self.lower, b);
            }
            Route::Blocked { .. } => {
                triangle::solve(&self.lower, b);
                triangle::solve_transposed(&self.lower, b);
            }
        }
    }

    /// (A − shift·I)⁻¹ of what was factored last, packed.
    pub(crate) fn invert(&mut self, out: &mut [f64]) {
        match &mut self.route {
            Route::Kernel(cholesky) => cholesky.invert(out),
            Route::Blocked { cholesky, room, square } => {
                cholesky.inverse_into(room, square);
                for i in 0..cholesky.dim() {
                    out[packed_index(i, 0)..packed_index(i, i) + 1].copy_from_slice(&square.row(i)[..=i]);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_routes_solve_invert_and_refuse() {
        for d in [7, BLOCKED_FROM] {
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

//! The two products of a gradient, AZ and AᵀR, row block by row block, by each library that is at hand.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};

/// A design of N rows and d columns with S points, and room for what is made of them.
#[derive(Clone)]
pub(crate) struct Products<'a> {
    pub(crate) rows: &'a [f64],
    pub(crate) d: usize,
    pub(crate) points: Vec<f64>,
    pub(crate) predictors: Vec<f64>,
    pub(crate) pulls: Vec<f64>,
}

impl<'a> Products<'a> {
    pub(crate) fn new(rows: &'a [f64], d: usize, points: &[f64]) -> Self {
        let samples = points.len() / d;
        Self {
            rows,
            d,
            points: points.to_vec(),
            predictors: vec![0.0; rows.len() / d * samples],
            pulls: vec![0.0; points.len()],
        }
    }

    /// Rows of a block times S, and the call for each block: (A, Z, S = AZ or R, AᵀR).
    fn in_blocks(&mut self, block: usize, mut call: impl FnMut(&[f64], &[f64], &mut [f64], &mut [f64])) {
        let (d, samples) = (self.d, self.points.len() / self.d);
        self.pulls.fill(0.0);
        for (rows, predictors) in self.rows.chunks(block * d).zip(self.predictors.chunks_mut(block * samples))
        {
            call(rows, &self.points, predictors, &mut self.pulls);
        }
    }

    pub(crate) fn own(&mut self, block: usize) {
        let d = self.d;
        self.in_blocks(block, |rows, points, predictors, pulls| {
            provi_kernels::design::predict(rows, d, points, predictors);
            provi_kernels::design::pull_back(rows, d, predictors, pulls);
        });
    }

    pub(crate) fn faer(&mut self, block: usize) {
        let (d, samples) = (self.d, self.points.len() / self.d);
        self.in_blocks(block, |rows, points, predictors, pulls| {
            let count = rows.len() / d;
            // Row-major data is the column-major data of the transpose: (AZᵀ)ᵀ = ZAᵀ.
            let at = MatRef::from_column_major_slice(rows, d, count);
            let z = MatRef::from_column_major_slice(points, d, samples);
            let out = MatMut::from_column_major_slice_mut(predictors, samples, count);
            matmul(out, Accum::Replace, z.transpose(), at, 1.0, Par::Seq);
            let r = MatRef::from_column_major_slice(predictors, samples, count);
            let out = MatMut::from_column_major_slice_mut(pulls, d, samples);
            matmul(out, Accum::Add, at, r.transpose(), 1.0, Par::Seq);
        });
    }

    pub(crate) fn matrixmultiply(&mut self, block: usize) {
        let (d, samples) = (self.d, self.points.len() / self.d);
        self.in_blocks(block, |rows, points, predictors, pulls| {
            let (count, stride) = (rows.len() / d, |n: usize| n as isize);
            let (one, d_, s_) = (1, stride(d), stride(samples));
            assert!(predictors.len() == count * samples && points.len() == samples * d);
            assert!(pulls.len() == samples * d);
            // SAFETY: count × d, samples × d and count × samples entries lie behind the pointers, as asserted, and
            // what is written overlaps nothing that is read.
            unsafe {
                matrixmultiply::dgemm(
                    count,
                    d,
                    samples,
                    1.0,
                    rows.as_ptr(),
                    d_,
                    one,
                    points.as_ptr(),
                    one,
                    d_,
                    0.0,
                    predictors.as_mut_ptr(),
                    s_,
                    one,
                );
                matrixmultiply::dgemm(
                    samples,
                    count,
                    d,
                    1.0,
                    predictors.as_ptr(),
                    one,
                    s_,
                    rows.as_ptr(),
                    d_,
                    one,
                    1.0,
                    pulls.as_mut_ptr(),
                    d_,
                    one,
                );
            }
        });
    }
}

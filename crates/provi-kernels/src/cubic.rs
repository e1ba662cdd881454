//! Homogeneous cubics at many points.

use crate::{dispatch::dispatch, lanes::Simd};

/// The most columns.
pub const COLUMNS: usize = 64;

/// `out[p]` = Σ_{i≥j≥k} c_ijk x_ix_jx_k for the points x_p of d entries, with the c_ijk in lexicographic order of (i, j, k).
///
/// The result of a point depends on no other point. Each c_ijk is multiplied by x_k, and sums over k, j and i are taken in this order. Cost:
/// d³/3 flops per point.
///
/// # Panics
/// If d is larger than [`COLUMNS`], `points` does not have d entries for each of `out`, or there are not d(d+1)(d+2)/6 `coefficients`.
pub fn forms(coefficients: &[f64], d: usize, points: &[f64], out: &mut [f64]) {
    assert!(d <= COLUMNS, "cubic::forms: at most {COLUMNS} columns");
    assert_eq!(coefficients.len(), d * (d + 1) * (d + 2) / 6, "cubic::forms: coefficients of d = {d}");
    assert_eq!(points.len(), d * out.len(), "cubic::forms: points of d = {d} entries");
    if d == 0 {
        return out.fill(0.0);
    }
    dispatch!(plain::forms, forms_lanes(coefficients: &[f64], d: usize, points: &[f64], out: &mut [f64]));
}

/// A point in each lane.
#[inline(always)]
fn forms_lanes<S: Simd>(simd: S, coefficients: &[f64], d: usize, points: &[f64], out: &mut [f64]) {
    let mut panel = [[[0.0; 8]; 2]; COLUMNS];
    for (points, out) in points.chunks(16 * d).zip(out.chunks_mut(16)) {
        for (lane, point) in points.chunks_exact(d).enumerate() {
            for (column, x) in panel.iter_mut().zip(point) {
                column[lane / 8][lane % 8] = *x;
            }
        }
        let sums = panel_forms(simd, coefficients, &panel[..d]);
        let mut found = [[0.0; 8]; 2];
        for (sum, found) in sums.into_iter().zip(&mut found) {
            simd.store(sum, found);
        }
        out.copy_from_slice(&found.as_flattened()[..out.len()]);
    }
}

#[inline(always)]
fn panel_forms<S: Simd>(simd: S, coefficients: &[f64], panel: &[[[f64; 8]; 2]]) -> [S::Vector; 2] {
    let add = |to: &mut [S::Vector; 2], by: [S::Vector; 2], column: &[[f64; 8]; 2]| {
        for ((to, by), x) in to.iter_mut().zip(by).zip(column) {
            *to = simd.mul_add(by, simd.load(x), *to);
        }
    };
    let zeros = [simd.splat(0.0); 2];
    let (mut all, mut rest) = (zeros, coefficients);
    for i in 0..panel.len() {
        let mut outer = zeros;
        for j in 0..=i {
            let (now, later) = rest.split_at(j + 1);
            let mut inner = zeros;
            for (c, column) in now.iter().zip(panel) {
                add(&mut inner, [simd.splat(*c); 2], column);
            }
            add(&mut outer, inner, &panel[j]);
            rest = later;
        }
        add(&mut all, outer, &panel[i]);
    }
    all
}

mod plain {
    pub(super) fn forms(coefficients: &[f64], d: usize, points: &[f64], out: &mut [f64]) {
        for (x, out) in points.chunks_exact(d).zip(out) {
            let mut coefficients = coefficients.iter();
            *out = 0.0;
            for i in 0..d {
                for j in 0..=i {
                    for (k, c) in (0..=j).zip(coefficients.by_ref()) {
                        *out += c * x[i] * x[j] * x[k];
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::check::{agree, each_level, numbers};

    #[test]
    fn forms_agree_with_their_twin() {
        for d in [0, 1, 2, 3, 7, 8, 20, 64] {
            for count in [0, 1, 8, 15, 16, 17, 40] {
                let c = numbers(1, d * (d + 1) * (d + 2) / 6);
                let points = numbers(2, d * count);
                agree(1e-13, || {
                    let mut out = vec![f64::NAN; count];
                    super::forms(&c, d, &points, &mut out);
                    out
                });
            }
        }
    }

    /// (x₁ + 2x₂)³, and the same bits alone as among others.
    #[test]
    fn a_cube_is_a_cube_and_a_point_is_alone() {
        let c = [1.0, 6.0, 12.0, 8.0];
        let points = numbers(3, 2 * 19);
        each_level(|| {
            let mut out = [0.0; 19];
            super::forms(&c, 2, &points, &mut out);
            for (x, all) in points.chunks_exact(2).zip(out) {
                let mut alone = [0.0];
                super::forms(&c, 2, x, &mut alone);
                assert_eq!(alone[0].to_bits(), all.to_bits());
                assert!((all - (x[0] + 2.0 * x[1]).powi(3)).abs() < 1e-14);
            }
        });
    }

    #[test]
    #[should_panic(expected = "cubic::forms: coefficients of d = 2")]
    fn too_few_coefficients_are_named() {
        super::forms(&[1.0; 3], 2, &[0.0; 2], &mut [0.0]);
    }
}

//! From sums over the rows to Taylor's formula around an answer [psi-envelope].

use super::Linear;
use super::joint::{Cubic, Start, harmonic, lifted};
use crate::base::chunked::{self, Chunks};
use crate::base::error::Result;
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::linalg::{
    Direction, add_gram, eigenvalue_error, eigenvalues, largest_eigenvalue, mirror_lower, safe_congruence,
};
use crate::base::matrix::{Matrix, packed_index, packed_len};
use crate::glm::rows::{Layout, POWER};
use crate::target::Taylor;
use crate::theory::envelope::Ring;
use std::ops::Range;

/// The most coefficients: quartics are matrices of d(d+1)/2 columns, and a pass over the rows makes one for each radius.
const MOST: usize = crate::glm::device::FORM_COLUMNS;
/// Rows for each d³: from so many on quartics are next to nothing even if d columns bound them, which costs less above this number of
/// coefficients.
const NARROW: usize = 12;
const MANY: usize = 40;

impl Linear {
    /// The sums to make, for so many radii and rows; nothing where there are too many coefficients.
    ///
    /// Bounded by d columns, a quartic at ‖x‖ = √d is about d³/10N, and by d(d+1)/2 columns 3/(d+2) of that.
    pub(crate) fn taylor_layout(&self, rings: usize, rows: usize) -> Option<Layout> {
        let dim = self.dim();
        let is_flat = dim > NARROW && rows >= MANY * dim.pow(3);
        let known = dim <= MOST && rings > 0;
        known.then_some(Layout { dim, rings, is_flat })
    }

    /// From the sums over all rows.
    pub(crate) fn conclude_taylor(
        &self,
        q: &Gaussian<Triangular>,
        radii: &[f64],
        layout: Layout,
        sums: &[f64],
    ) -> Result<Taylor> {
        let (d, factor) = (layout.dim, q.factor_matrix());
        let slack = self.prior.rounding() + self.lost;
        let prior = [-1.0, 1.0].map(|side| safe_congruence(&self.precision(), &factor, side * slack, side));
        // The sums of errors are of non-negative numbers; this covers what they lose themselves.
        let up = 1.0 + 1e-9;
        let matrix = |range: Range<usize>, size: usize| {
            let mut out = Matrix::zeros(size, size);
            out.entries_mut().copy_from_slice(&sums[range]);
            mirror_lower(&mut out);
            out
        };
        let hessian = |ring: usize, side: usize| {
            let mut h = matrix(layout.curvature(ring, side), d);
            h.add_scaled(1.0, &prior[side]);
            (h, up * sums[layout.curvature_error(ring, side)])
        };
        let curvature = |ring: usize| -> Result<[f64; 2]> {
            let mut out = [0.0; 2];
            for side in 0..2 {
                let (h, lost) = hessian(ring, side);
                let lost = lost + eigenvalue_error(&h);
                if !lost.is_finite() {
                    out[side] = [0.0, f64::INFINITY][side];
                    continue;
                }
                let values = eigenvalues("the curvature around an answer", &h)?;
                out[side] = if side == 0 { values[0] - lost } else { values[d - 1] + lost };
            }
            // V is convex.
            Ok([out[0].max(0.0), out[1]])
        };
        let third = &sums[layout.third()];
        let (cubic, cubic_error) = (third.to_vec(), up * sums[layout.third_error()]);
        let trace: Vec<f64> = third
            .chunks_exact(layout.wide())
            .map(|row| (0..d).map(|j| row[packed_index(j, j)]).sum())
            .collect();
        let (rest, off) = harmonic(third, &trace);
        let size = largest_on_the_sphere(&rest, d)? + off + cubic_error;
        let whole = Cubic::new(&rest, d, off + cubic_error)?;
        // ∓½(∇²U(0) − I), moved to its safe side.
        let bends: [(Matrix, f64); 2] = std::array::from_fn(|side| {
            let (mut h, lost) = hessian(0, side);
            (0..d).for_each(|i| h[(i, i)] -= 1.0);
            let mut out = Matrix::zeros(d, d);
            out.add_scaled([-0.5, 0.5][side], &h);
            (lifted(&out), 0.5 * lost)
        });
        let of_side = |k: usize, side: usize, (alone, start): &mut (Direction, Start)| -> Result<[f64; 2]> {
            let (ring, radius) = (k + 1, radii[k]);
            let error = up * sums[layout.quartic_error(ring, side)];
            let (bend, bend_error) = &bends[side];
            if !(error + bend_error + cubic_error).is_finite() {
                return Ok([f64::INFINITY; 2]);
            }
            let form = matrix(layout.quartic(ring, side), layout.quartic_columns());
            let (quartic, form) = match layout.is_flat {
                true => (largest(&form)?, lifted(&form)),
                false => (flattened(&form, d, alone)?, form),
            };
            let errors = bend_error + radius * radius * error / 24.0;
            Ok([error + quartic, whole.joint(radius, (bend, &form), errors, start)?])
        };
        // d⁶ for each matrix. One radius after the other, for their best choices are alike.
        let work = radii.len() * 2 * 40 * layout.wide() * layout.wide();
        let sides = chunked::map(Chunks { len: 2, size: 1, work }, |range| {
            range
                .map(|side| {
                    let mut near = <(Direction, Start)>::default();
                    (0..radii.len()).map(|k| of_side(k, side, &mut near)).collect::<Result<Vec<_>>>()
                })
                .collect::<Result<Vec<_>>>()
        });
        let sides: Vec<Vec<[f64; 2]>> = sides.into_iter().collect::<Result<Vec<_>>>()?.concat();
        let mut rings = Vec::with_capacity(radii.len());
        for (k, &radius) in radii.iter().enumerate() {
            let of = |i: usize| [sides[0][k][i], sides[1][k][i]];
            rings.push(Ring { radius, quartic: of(0), joint: of(1), curvature: curvature(k + 1)? });
        }
        let rates = self.family.has_tail().then(|| {
            let reach = sums[layout.lengths()].powf(1.0 / f64::from(POWER)) * (1.0 + 1e-9);
            let beside = (0..d).map(|i| prior[1][(i, i)]).sum::<f64>() + sums[layout.tame()];
            [sums[layout.rate()] * (1.0 + 1e-9), reach.max(1e-8), beside * (1.0 + 1e-9)]
        });
        Ok(Taylor { curvature: curvature(0)?, trace, cubic, cubic_error, harmonic: size, rings, rates })
    }
}

/// An upper bound of the largest eigenvalue, or 0.
fn largest(a: &Matrix) -> Result<f64> {
    let values = eigenvalues("fourth derivatives around an answer", a)?;
    Ok(values[a.rows() - 1].max(0.0) + eigenvalue_error(a))
}

/// A bound of ⟨X, AX⟩ for X = vec(xxᵀ) of unit x: ⟨vec I, X⟩ = 1 = ‖X‖, so λ_max(A − θ·vec I vec Iᵀ) + θ for every θ. Rows in all directions alike
/// have their best θ at tr A/(d(d+2)).
fn flattened(a: &Matrix, d: usize, near: &mut Direction) -> Result<f64> {
    let wide = a.rows();
    let trace: f64 = (0..wide).map(|i| a[(i, i)]).sum();
    if trace <= 0.0 {
        return Ok(0.0);
    }
    let theta = trace / (d * (d + 2)) as f64;
    let mut moved = a.clone();
    for i in 0..d {
        for j in 0..d {
            moved[(packed_index(i, i), packed_index(j, j))] -= theta;
        }
    }
    let lost = 4.0 * f64::EPSILON * (theta * d as f64 + trace);
    Ok((largest_eigenvalue(&moved, near)? + theta + lost).max(0.0))
}

/// A bound of the harmonic rest of a cubic on the sphere:
/// ```text
/// T₀ = T − (τ_iδ_jk + τ_jδ_ik + τ_kδ_ij)/(d+2),   |T₀[x,x,x]| ≤ ‖T₀‖₂·‖xxᵀ − I/d‖ = ‖T₀‖₂√(1−1/d)
/// ```
/// for T₀ as a matrix of d rows takes I to zero. `rest` is T₀ᵀ row by row, so that its Gram matrix is T₀T₀ᵀ.
fn largest_on_the_sphere(rest: &[f64], d: usize) -> Result<f64> {
    let wide = packed_len(d);
    let mut scaled = rest.to_vec();
    for i in 0..d {
        for j in 0..i {
            scaled[packed_index(i, j) * d..][..d].iter_mut().for_each(|x| *x *= std::f64::consts::SQRT_2);
        }
    }
    let mut gram = Matrix::zeros(d, d);
    add_gram(&scaled, d, &mut gram);
    let whole: f64 = (0..d).map(|i| gram[(i, i)]).sum();
    let largest = eigenvalues("third derivatives around an answer", &gram)?[d - 1];
    let lost = eigenvalue_error(&gram) + (wide as f64 + 8.0) * f64::EPSILON * whole;
    Ok((largest.max(0.0) + lost).sqrt() * (1.0 - 1.0 / d as f64).sqrt() * (1.0 + 1e-12))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::draws::{Draws, Purpose, Seed};
    use crate::base::linalg::norm;

    fn normals(draw: u64, count: usize) -> Vec<f64> {
        let mut out = vec![0.0; count];
        Draws::new(Seed(5), Purpose::Sample).fill(draw, 0, &mut out);
        out
    }

    fn squared(a: &[f64]) -> Vec<f64> {
        let each = (0..a.len()).flat_map(|i| (0..=i).map(move |j| (i, j)));
        each.map(|(i, j)| a[i] * a[j] * if i == j { 1.0 } else { std::f64::consts::SQRT_2 }).collect()
    }

    #[test]
    fn quartics_and_cubics_are_bounded_on_the_sphere_and_the_bounds_are_close() {
        for d in [1usize, 2, 3, 5] {
            let rows: Vec<Vec<f64>> = (0..40).map(|n| normals(n, d)).collect();
            let wide = packed_len(d);
            let mut quartic = Matrix::zeros(wide, wide);
            let mut third = vec![0.0; d * wide];
            for (n, a) in rows.iter().enumerate() {
                let v = squared(a);
                let sign = if n % 3 == 0 { 1.0 } else { -0.4 };
                for i in 0..wide {
                    (0..wide).for_each(|j| quartic[(i, j)] += v[i] * v[j]);
                }
                for i in 0..d {
                    (0..wide).for_each(|j| third[i * wide + j] += sign * a[i] * v[j]);
                }
            }
            let bound = flattened(&quartic, d, &mut Direction::default()).unwrap();
            let trace: Vec<f64> =
                third.chunks_exact(wide).map(|row| (0..d).map(|j| row[packed_index(j, j)]).sum()).collect();
            let (rest, off) = harmonic(&third, &trace);
            let harmonic = largest_on_the_sphere(&rest, d).unwrap() + off;
            let (mut most, mut largest, mut plain) = (0.0f64, 0.0f64, 0.0f64);
            for k in 0..20_000 {
                let mut x = normals(1000 + k, d);
                let size = norm(&x);
                x.iter_mut().for_each(|x| *x /= size);
                let dot = |a: &[f64]| a.iter().zip(&x).map(|(a, x)| a * x).sum::<f64>();
                most = most.max(rows.iter().map(|a| dot(a).powi(4)).sum());
                let cubic: f64 = rows
                    .iter()
                    .enumerate()
                    .map(|(n, a)| if n % 3 == 0 { 1.0 } else { -0.4 } * dot(a).powi(3))
                    .sum();
                largest = largest.max((cubic - 3.0 / (d as f64 + 2.0) * dot(&trace)).abs());
                plain = plain.max(cubic.abs());
            }
            assert!(most <= bound && bound < 1.5 * most, "{d}: {most} {bound}");
            assert!(largest <= harmonic && harmonic < 2.5 * largest + 1e-9, "{d}: {largest} {harmonic}");
            // Without its trace the cubic is smaller: the bound would not hold for all of it.
            assert!(d > 3 || plain > harmonic, "{d}: {plain} {harmonic}");
        }
    }
}

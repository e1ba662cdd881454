//! From sums over the rows to Taylor's formula around an answer [psi-envelope].

use super::Linear;
use crate::base::error::Result;
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::linalg::{add_gram, eigenvalue_error, eigenvalues, mirror_lower, norm, safe_congruence};
use crate::base::matrix::{Matrix, packed_index, packed_len};
use crate::glm::rows::{Layout, POWER};
use crate::target::Taylor;
use crate::theory::envelope::Ring;
use std::ops::Range;

/// The most coefficients: quartics are matrices of d(d+1)/2 columns, and a pass over the rows makes one for each radius.
const MOST: usize = 31;
/// Rows for each d³: from so many on quartics are next to nothing even if d columns bound them, which costs less above this number of
/// coefficients.
const NARROW: usize = 12;
const MANY: usize = 40;
/// Columns up to which every quartic is flattened at its own best.
const FEW: usize = 80;

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
        let curvature = |ring: usize| -> Result<[f64; 2]> {
            let mut out = [0.0; 2];
            for side in 0..2 {
                let mut h = matrix(layout.curvature(ring, side), d);
                h.add_scaled(1.0, &prior[side]);
                let lost = up * sums[layout.curvature_error(ring, side)] + eigenvalue_error(&h);
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
        let mut rings = Vec::with_capacity(radii.len());
        let mut theta = None;
        for (k, &radius) in radii.iter().enumerate() {
            let ring = k + 1;
            let errors = [0, 1].map(|side| up * sums[layout.quartic_error(ring, side)]);
            let mut quartic = [f64::INFINITY; 2];
            let places = [layout.lower_quartic(ring), layout.upper_quartic(ring)];
            for (side, place) in places.into_iter().enumerate().filter(|(side, _)| errors[*side].is_finite())
            {
                quartic[side] = errors[side]
                    + match side == 0 && !layout.is_flat {
                        true => flattened(&matrix(place, layout.wide()), d, &mut theta)?,
                        false => largest(&matrix(place, d))?,
                    };
            }
            rings.push(Ring { radius, quartic, curvature: curvature(ring)? });
        }
        let (trace, harmonic) = split(&sums[layout.third()], d)?;
        let (cubic, cubic_error) = (sums[layout.third()].to_vec(), up * sums[layout.third_error()]);
        let harmonic = harmonic + cubic_error;
        let rates = self.family.has_tail().then(|| {
            let reach = sums[layout.lengths()].powf(1.0 / f64::from(POWER)) * (1.0 + 1e-9);
            let beside = (0..d).map(|i| prior[1][(i, i)]).sum::<f64>() + sums[layout.tame()];
            [sums[layout.rate()] * (1.0 + 1e-9), reach.max(1e-8), beside * (1.0 + 1e-9)]
        });
        Ok(Taylor { curvature: curvature(0)?, trace, cubic, cubic_error, harmonic, rings, rates })
    }
}

/// An upper bound of the largest eigenvalue, or 0.
fn largest(a: &Matrix) -> Result<f64> {
    let values = eigenvalues("fourth derivatives around an answer", a)?;
    Ok(values[a.rows() - 1].max(0.0) + eigenvalue_error(a))
}

/// A bound of ⟨X, AX⟩ for X = vec(xxᵀ) of unit x: ⟨vec I, X⟩ = 1 = ‖X‖, so λ_max(A − θ·vec I vec Iᵀ) + θ for every θ. A large A is
/// flattened at the θ that was best for the first, as a part of its trace.
fn flattened(a: &Matrix, d: usize, known: &mut Option<f64>) -> Result<f64> {
    let wide = a.rows();
    let trace: f64 = (0..wide).map(|i| a[(i, i)]).sum();
    if trace <= 0.0 {
        return Ok(0.0);
    }
    let bound = |theta: f64| -> Result<f64> {
        let mut moved = a.clone();
        for i in 0..d {
            for j in 0..d {
                moved[(packed_index(i, i), packed_index(j, j))] -= theta;
            }
        }
        let values = eigenvalues("fourth derivatives around an answer", &moved)?;
        let lost = eigenvalue_error(&moved) + 4.0 * f64::EPSILON * (theta * d as f64 + trace);
        Ok((values[wide - 1] + theta + lost).max(0.0))
    };
    if wide > FEW {
        if let Some(part) = known {
            return bound(*part * trace);
        }
        // Rows in all directions alike would have their best at tr A/(d(d+2)).
        let middle = 1.0 / (d * (d + 2)) as f64;
        let mut best = f64::INFINITY;
        for part in [0.7, 1.0, 1.5].map(|x| x * middle) {
            let found = bound(part * trace)?;
            if found < best {
                (best, *known) = (found, Some(part));
            }
        }
        return Ok(best);
    }
    // Convex in θ: golden sections of [0, λ_max].
    let golden = 0.5 * (5f64.sqrt() - 1.0);
    let plain = bound(0.0)?;
    let (mut low, mut high) = (0.0, plain);
    let (mut left, mut right) = (high - golden * high, golden * high);
    let (mut at_left, mut at_right) = (bound(left)?, bound(right)?);
    for _ in 0..6 {
        if at_left < at_right {
            (high, right, at_right) = (right, left, at_left);
            left = high - golden * (high - low);
            at_left = bound(left)?;
        } else {
            (low, left, at_left) = (left, right, at_right);
            right = low + golden * (high - low);
            at_right = bound(right)?;
        }
    }
    Ok(at_left.min(at_right).min(plain))
}

/// τ of a cubic, and a bound of its harmonic rest on the sphere, rounding included:
/// ```text
/// T₀ = T − (τ_iδ_jk + τ_jδ_ik + τ_kδ_ij)/(d+2),   |T₀[x,x,x]| ≤ ‖T₀‖₂·‖xxᵀ − I/d‖ = ‖T₀‖₂√(1−1/d)
/// ```
/// for T₀ as a matrix of d rows takes I to zero.
fn split(third: &[f64], d: usize) -> Result<(Vec<f64>, f64)> {
    let wide = packed_len(d);
    let trace: Vec<f64> =
        third.chunks_exact(wide).map(|row| (0..d).map(|j| row[packed_index(j, j)]).sum()).collect();
    // T₀ᵀ row by row, so that its Gram matrix is T₀T₀ᵀ.
    let mut rest = vec![0.0; wide * d];
    for i in 0..d {
        for j in 0..d {
            for k in 0..=j {
                let mut part = 0.0;
                part += if j == k { trace[i] } else { 0.0 };
                part += if i == k { trace[j] } else { 0.0 };
                part += if i == j { trace[k] } else { 0.0 };
                let scale = if j == k { 1.0 } else { std::f64::consts::SQRT_2 };
                let place = packed_index(j, k);
                rest[place * d + i] = third[i * wide + place] - scale * part / (d as f64 + 2.0);
            }
        }
    }
    let mut gram = Matrix::zeros(d, d);
    add_gram(&rest, d, &mut gram);
    let whole: f64 = (0..d).map(|i| gram[(i, i)]).sum();
    let largest = eigenvalues("third derivatives around an answer", &gram)?[d - 1];
    let lost = eigenvalue_error(&gram) + (wide as f64 + 8.0) * f64::EPSILON * whole;
    let part = (1.0 - 1.0 / d as f64).sqrt();
    let slack = 32.0 * (d as f64 + 8.0) * f64::EPSILON * (norm(third) + norm(&trace));
    let bound = (largest.max(0.0) + lost).sqrt() * part * (1.0 + 1e-12) + slack;
    Ok((trace, bound))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::draws::{Draws, Purpose, Seed};

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
            let bound = flattened(&quartic, d, &mut None).unwrap();
            let (trace, harmonic) = split(&third, d).unwrap();
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

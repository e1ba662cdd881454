//! Quadratic, cubic and quartic of Taylor's formula on a sphere, bounded together by one eigenvalue [psi-envelope].
//!
//! For a unit ω let X = vec(ωωᵀ), in coordinates X_ij, j ≤ i, with √2 off the diagonal: ‖X‖ = 1 and ⟨vec I, X⟩ = 1. Then
//! ```text
//! ωᵀEω = Xᵀ(E⊗I)X,   |T₀(ω,ω,ω)| ≤ ‖T₀X‖ ≤ ½σ + ‖T₀X‖²/(2σ),   ‖T₀X‖² = XᵀFX = XᵀKX
//! ∓½ωᵀEω + R|T₀(ω,ω,ω)|/6 + R²·XᵀAX/24 ≤ Rσ/12 + θ + λ_max(R/(12σ)·(aF + (1−a)K) + R²A/24 ∓ ½E⊗I − θ·vec I vec Iᵀ)
//! ```
//! for every σ > 0, a and θ, with F = T₀ᵀT₀ and K = Σ_i T_i⊗T_i, both on symmetric matrices. So choices of σ and θ by rough eigenvalues are safe:
//! only the last one has to be a bound.

use crate::base::error::Result;
use crate::base::linalg::{
    Direction, add_gram, eigenvalue_error, eigenvalues, largest_eigenvalue, norm, rough_eigenvalue,
};
use crate::base::matrix::{Matrix, packed_index, packed_len};

/// a: of the two forms of the cubic, which have the same values but not the same eigenvalues.
const MIX: f64 = 0.1;
/// Columns up to which σ and θ are looked for longer, and how many others are tried: where nothing is known, and near what was best for another radius.
const FEW: usize = 80;
const TRIES: [[usize; 2]; 2] = [[16, 8], [6, 2]];

/// σ, as a logarithm in units of its natural scale, and θ in those of rows in all directions alike; whether they were best for another radius, and
/// where the eigenvalue was reached.
pub(super) struct Start {
    place: [f64; 2],
    is_known: bool,
    near: Direction,
}

impl Default for Start {
    fn default() -> Self {
        Self { place: [-0.15, 1.1], is_known: false, near: Direction::default() }
    }
}

/// The cubic T₀ of a model.
pub(super) struct Cubic {
    dim: usize,
    /// aF + (1−a)K.
    form: Matrix,
    /// The root of its largest eigenvalue, which is about that of ‖T₀X‖².
    scale: f64,
    /// ‖T₀‖², every entry counted, and what T₀(ω, ω, ω) may be off by.
    square: f64,
    error: f64,
}

/// √2 off the diagonal.
fn weight(i: usize, j: usize) -> f64 {
    if i == j { 1.0 } else { std::f64::consts::SQRT_2 }
}

/// Row and column of every packed place.
fn pairs(d: usize) -> Vec<(usize, usize)> {
    (0..d).flat_map(|i| (0..=i).map(move |j| (i, j))).collect()
}

fn place(i: usize, j: usize) -> usize {
    if i >= j { packed_index(i, j) } else { packed_index(j, i) }
}

/// E⊗I on symmetric matrices, X ↦ ½(EX + XE): ⟨X, (E⊗I)X⟩ = ωᵀEω.
pub(super) fn lifted(e: &Matrix) -> Matrix {
    let (d, pairs) = (e.rows(), pairs(e.rows()));
    let mut out = Matrix::zeros(packed_len(d), packed_len(d));
    // Entries of pairs without a common index are zero.
    for (at, &(j, k)) in pairs.iter().enumerate() {
        let mut add = |l: usize, m: usize, entry: f64| {
            out[(at, place(l, m))] +=
                0.25 * weight(j, k) * weight(l, m) * entry * if l == m { 2.0 } else { 1.0 };
        };
        for other in 0..d {
            // Pairs with k, and with j; a pair of equals stands for both orders.
            add(other, k, e[(j, other)]);
            add(other, j, e[(k, other)]);
        }
    }
    out
}

impl Cubic {
    /// From T₀ᵀ, d columns without the roots of two, and what its form may be off by.
    pub(super) fn new(rest: &[f64], dim: usize, error: f64) -> Result<Self> {
        let (wide, pairs) = (packed_len(dim), pairs(dim));
        // Σ_i T_iab T_ice.
        let mut transposed = vec![0.0; wide * dim];
        for (at, row) in rest.chunks_exact(dim).enumerate() {
            row.iter().enumerate().for_each(|(i, x)| transposed[i * wide + at] = *x);
        }
        let mut gram = Matrix::zeros(wide, wide);
        add_gram(&transposed, wide, &mut gram);
        let mut form = Matrix::zeros(wide, wide);
        for (at, &(j, k)) in pairs.iter().enumerate() {
            for (to, &(l, m)) in pairs.iter().enumerate() {
                let scale = weight(j, k) * weight(l, m);
                let across = gram[(place(l, j), place(m, k))] + gram[(place(l, k), place(m, j))];
                form[(at, to)] = scale * (MIX * gram[(at, to)] + (1.0 - MIX) * 0.5 * across);
            }
        }
        let square: f64 =
            pairs.iter().enumerate().map(|(at, &(j, k))| weight(j, k).powi(2) * gram[(at, at)]).sum();
        let scale = rough_eigenvalue(&form, &mut Direction::default()).max(0.0).sqrt();
        Ok(Self { dim, form, scale, square, error })
    }

    /// The bound at radius R, for ∓½E lifted as `bend` and the form of ζ: lifted too, or on symmetric matrices from the start. `error` is that of
    /// the forms. `start` becomes what was best.
    pub(super) fn joint(
        &self,
        radius: f64,
        (bend, quartic): (&Matrix, &Matrix),
        error: f64,
        start: &mut Start,
    ) -> Result<f64> {
        let (d, wide) = (self.dim, self.form.rows());
        let quartic_part = radius * radius / 24.0;
        let trace = |m: &Matrix| (0..wide).map(|i| m[(i, i)].abs()).sum::<f64>();
        let (cubic_trace, quartic_trace) = (trace(&self.form), trace(quartic));
        let least = f64::MIN_POSITIVE.sqrt();
        let parts = |[log_sigma, part]: [f64; 2]| {
            let sigma = (self.scale * log_sigma.exp()).max(least);
            let cubic_part = radius / (12.0 * sigma);
            let theta =
                part * (cubic_part * cubic_trace + quartic_part * quartic_trace) / (d * (d + 2)) as f64;
            (sigma, cubic_part, theta)
        };
        let matrix = |[sigma, part]: [f64; 2]| {
            let (_, cubic_part, theta) = parts([sigma, part]);
            let mut out = Matrix::zeros(wide, wide);
            let terms = bend.entries().iter().zip(self.form.entries()).zip(quartic.entries());
            for (to, ((bend, cubic), quartic)) in out.entries_mut().iter_mut().zip(terms) {
                *to = bend + cubic_part * cubic + quartic_part * quartic;
            }
            for i in 0..d {
                for j in 0..d {
                    out[(packed_index(i, i), packed_index(j, j))] -= theta;
                }
            }
            out
        };
        let near = &mut start.near;
        let mut rough = |at: [f64; 2]| {
            let (sigma, _, theta) = parts(at);
            radius * sigma / 12.0 + theta + rough_eigenvalue(&matrix(at), near)
        };
        let tries = TRIES[usize::from(wide > FEW)][usize::from(start.is_known)];
        let mut best = start.place;
        let mut found = rough(best);
        // Steps along each coordinate; a step that fails is taken the other way, then halved.
        let (mut steps, mut failures) = ([0.2, 0.35], [0; 2]);
        for k in 0..tries {
            let i = 1 - k % 2;
            let mut trial = best;
            trial[i] += steps[i];
            let value = rough(trial);
            if value < found {
                (best, found, failures[i]) = (trial, value, 0);
            } else {
                failures[i] += 1;
                steps[i] *= if failures[i] % 2 == 0 { -0.5 } else { -1.0 };
            }
        }
        (start.place, start.is_known) = (best, true);
        let (sigma, cubic_part, theta) = parts(best);
        let held = matrix(best);
        // Sums of d products in F and K, and of a few in the rest.
        let sizes = cubic_part * self.square
            + quartic_part * quartic_trace
            + theta.abs() * d as f64
            + bend.frobenius_norm()
            + d as f64;
        let lost = 64.0 * (d as f64 + 8.0) * f64::EPSILON * sizes;
        let largest = match wide <= FEW {
            true => {
                eigenvalues("Taylor's formula around an answer", &held)?[wide - 1] + eigenvalue_error(&held)
            }
            false => largest_eigenvalue(&held, &mut start.near)?,
        };
        let bound = radius * sigma / 12.0 + theta + largest + lost;
        Ok(bound + radius * self.error / 6.0 + error)
    }
}

/// The rest T₀ of a cubic without its trace, T₀ᵀ row by row without roots of two, and what its form may be off by.
pub(super) fn harmonic(third: &[f64], trace: &[f64]) -> (Vec<f64>, f64) {
    let d = trace.len();
    let wide = packed_len(d);
    let mut rest = vec![0.0; wide * d];
    for i in 0..d {
        for (place, (j, k)) in pairs(d).into_iter().enumerate() {
            let mut part = 0.0;
            part += if j == k { trace[i] } else { 0.0 };
            part += if i == k { trace[j] } else { 0.0 };
            part += if i == j { trace[k] } else { 0.0 };
            rest[place * d + i] = third[i * wide + place] / weight(j, k) - part / (d as f64 + 2.0);
        }
    }
    (rest, 32.0 * (d as f64 + 8.0) * f64::EPSILON * (norm(third) + norm(trace)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::draws::{Draws, Purpose, Seed};

    fn normals(draw: u64, count: usize) -> Vec<f64> {
        let mut out = vec![0.0; count];
        Draws::new(Seed(6), Purpose::Sample).fill(draw, 0, &mut out);
        out
    }

    /// vec(ωωᵀ).
    fn squared(a: &[f64]) -> Vec<f64> {
        pairs(a.len()).into_iter().map(|(i, j)| a[i] * a[j] * weight(i, j)).collect()
    }

    fn form(m: &Matrix, x: &[f64]) -> f64 {
        (0..x.len()).map(|i| x[i] * provi_kernels::dot(m.row(i), x)).sum()
    }

    /// Against random directions: above all of them, not far above the largest; and each term left out, or a third of it, is found out.
    #[test]
    fn the_eigenvalue_bounds_the_three_terms_together() {
        for d in [1usize, 2, 3, 5, 13] {
            let rows: Vec<Vec<f64>> = (0..60).map(|n| normals(n, d)).collect();
            let wide = packed_len(d);
            let (mut quartic, mut third) = (Matrix::zeros(wide, wide), vec![0.0; d * wide]);
            for (n, a) in rows.iter().enumerate() {
                let (v, sign) = (squared(a), if n % 3 == 0 { 0.5 } else { -0.2 });
                for i in 0..wide {
                    (0..wide).for_each(|j| quartic[(i, j)] += 0.05 * v[i] * v[j]);
                }
                for i in 0..d {
                    (0..wide).for_each(|j| third[i * wide + j] += sign * a[i] * v[j]);
                }
            }
            let mut e = Matrix::zeros(d, d);
            for i in 0..d {
                for j in 0..=i {
                    let x = normals(500 + (i * d + j) as u64, 1)[0];
                    (e[(i, j)], e[(j, i)]) = (x, x);
                }
            }
            let trace: Vec<f64> =
                third.chunks_exact(wide).map(|row| (0..d).map(|j| row[packed_index(j, j)]).sum()).collect();
            let (rest, error) = harmonic(&third, &trace);
            let cubic = Cubic::new(&rest, d, error).unwrap();
            let lift = lifted(&e);
            for radius in [0.5, 3.0] {
                let bound = cubic.joint(radius, (&lift, &quartic), 0.0, &mut Start::default()).unwrap();
                let mut most = f64::NEG_INFINITY;
                let mut without = [f64::NEG_INFINITY; 3];
                for k in 0..20_000u64 {
                    let mut x = normals(1000 + k, d);
                    let size = norm(&x);
                    x.iter_mut().for_each(|x| *x /= size);
                    let v = squared(&x);
                    let whole: f64 =
                        (0..d).map(|i| x[i] * provi_kernels::dot(&third[i * wide..][..wide], &v)).sum();
                    let rest = whole - 3.0 * provi_kernels::dot(&trace, &x) / (d as f64 + 2.0);
                    let quadratic: f64 = (0..d).map(|i| x[i] * provi_kernels::dot(e.row(i), &x)).sum();
                    assert!((form(&lift, &v) - quadratic).abs() < 1e-10 * (1.0 + quadratic.abs()));
                    let squares: f64 = rows.iter().map(|a| 0.05 * provi_kernels::dot(a, &x).powi(4)).sum();
                    let terms = [quadratic, radius * rest.abs() / 6.0, radius * radius * squares / 24.0];
                    most = most.max(terms.iter().sum());
                    for (i, without) in without.iter_mut().enumerate() {
                        *without = without.max(terms.iter().sum::<f64>() + 2.0 * terms[i]);
                    }
                    // The two forms of the cubic are the same on ωωᵀ: ‖T₀X‖² ≥ T₀(ω, ω, ω)².
                    assert!(form(&cubic.form, &v) >= rest * rest * (1.0 - 1e-9) - 1e-12);
                }
                assert!(most <= bound, "{d} {radius}: {most} {bound}");
                // In two dimensions |T₀(ω, ω, ω)| turns and ‖T₀X‖ does not, which costs 6 % at the peak of the quadratic. In many,
                // random directions find less of the largest value.
                let missed = if d <= 3 {
                    0.08
                } else if d <= 5 {
                    0.2
                } else {
                    0.7
                };
                assert!(bound - most <= missed * bound.abs(), "{d} {radius}: {most} {bound}");
                let is_found = |i: usize| without[i] > bound || without[i] - most < 0.05 * most.abs();
                assert!(d > 5 || (0..3).all(is_found), "{d} {radius}: {without:?} {bound}");
            }
        }
    }
}

//! Bounds of the rounding errors of the numbers that an audit measures \[rounding\].
//!
//! A draw u is exact, but z = m + Cu is a double ẑ = z + δ, |δ_i| ≤ γ_{d+2}(|m_i| + Σ_j|C_ij||u_j|). So the target
//! is evaluated at another draw, û = u + C⁻¹δ, and its value and gradient are those at û up to the target's own
//! rounding. The distance from û to u is bounded by a number that depends on the draw only through ‖u‖. Its effect
//! on a residual is bounded by the residual's Lipschitz constant, which the confidence bound needs anyway.

use crate::base::chunked::{self, Chunks};
use crate::base::error::Result;
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::linalg::norm;
use crate::base::matrix::packed_index;
use crate::base::stop;
use crate::target::Target;
use crate::target::rounding::deviations;
use crate::target::standard::Standard;
use std::ops::Range;

/// The least allowance for a coordinate of Cᵀ∇V − u. It is the whole allowance if a target does not state its
/// rounding error; that it is enough is then part of what the target's owner declares.
const LEAST: f64 = 1e-11;

/// The radii at which allowances are computed, in units of √d + 7: no draw lies beyond the third, but ascents may.
const RADII: [f64; 5] = [0.0, 0.5, 1.0, 4.0, 32.0];

/// The allowance at every z = m + Cu with ‖u‖ at most a given radius.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Allowance {
    /// Bound of the error of V at the point where it was evaluated.
    pub(super) value: f64,
    /// Bound of the Euclidean norm of the error of Cᵀ∇V − u at that point.
    pub(super) slope: f64,
    /// Bound of ‖û − u‖: the distance of that point from the intended one, in the coordinates where q is standard.
    pub(super) shift: f64,
    /// The error of the constant of V.
    pub(super) constant: f64,
}

impl Allowance {
    const NO_BOUND: Self =
        Self { value: f64::INFINITY, slope: f64::INFINITY, shift: f64::INFINITY, constant: f64::INFINITY };
}

/// Allowances for one q, by distance from its mean.
#[derive(Clone, Debug)]
pub(super) struct Allowances {
    radii: Vec<f64>,
    each: Vec<Allowance>,
    /// ‖|C⁻¹|(‖C_i‖)_i‖: if each row of C moves by at most r times its size, C⁻¹C moves by at most r times this.
    relative_inverse: f64,
}

impl Allowances {
    /// Cost: one pass over the target's data, and d solves with C.
    pub(super) fn new(target: &dyn Target, q: &Gaussian<Triangular>) -> Result<Self> {
        let d = q.dim();
        let radii: Vec<f64> = RADII.iter().map(|r| r * usual_reach(d)).collect();
        let own = target.rounding(q, &radii)?;
        let shifts = Shifts::new(q);
        let each = radii.iter().enumerate().map(|(k, &radius)| {
            let least = LEAST * (d as f64).sqrt();
            let (value, slope, constant) = match own.as_ref().and_then(|own| own.get(k)) {
                Some(own) => {
                    // Cᵀπ is a sum of d products; then u is subtracted.
                    let unit = (d as f64 + 8.0) * f64::EPSILON;
                    let errors: Vec<f64> =
                        own.slopes.iter().zip(&own.sizes).map(|(lost, size)| lost + unit * size).collect();
                    let slope = pulled_norm(q, &errors) + 4.0 * f64::EPSILON * radius;
                    (own.value, if slope >= least { slope } else { least }, own.constant)
                }
                None => (0.0, least, 0.0),
            };
            let allowance = Allowance { value, slope, shift: shifts.at(radius), constant };
            let numbers = [value, slope, allowance.shift, constant];
            if numbers.iter().all(|x| x.is_finite()) { allowance } else { Allowance::NO_BOUND }
        });
        Ok(Self { each: each.collect(), radii, relative_inverse: shifts.relative_inverse() })
    }

    /// The allowance for every u of at most that norm.
    pub(super) fn at(&self, radius: f64) -> Allowance {
        let place = self.radii.partition_point(|&r| r < radius);
        self.each.get(place).copied().unwrap_or(Allowance::NO_BOUND)
    }

    /// An upper bound of ‖|C⁻¹|(‖C_i‖)_i‖; infinite if double precision does not resolve C⁻¹.
    pub(super) fn relative_inverse(&self) -> f64 {
        self.relative_inverse
    }

    /// The allowance for practically all draws.
    pub(super) fn usual(&self, dim: usize) -> Allowance {
        self.at(usual_reach(dim))
    }

    /// No rounding at all: for tests of the effect of allowances.
    #[cfg(test)]
    pub(super) fn none() -> Self {
        let each = vec![Allowance { value: 0.0, slope: 0.0, shift: 0.0, constant: 0.0 }];
        Self { radii: vec![f64::INFINITY], each, relative_inverse: 0.0 }
    }
}

/// An upper bound of ‖|C⁻¹|(‖C_i‖)_i‖.
#[cfg(test)]
pub(super) fn relative_inverse(q: &Gaussian<Triangular>) -> f64 {
    Shifts::new(q).relative_inverse()
}

/// √d + 7: a draw lies farther out with probability below 10⁻¹¹.
pub(super) fn usual_reach(d: usize) -> f64 {
    (d as f64).sqrt() + 7.0
}

/// ‖|C|ᵀe‖.
fn pulled_norm(q: &Gaussian<Triangular>, errors: &[f64]) -> f64 {
    let mut pulled = vec![0.0; errors.len()];
    for (i, error) in errors.iter().enumerate() {
        let row = &q.factor()[packed_index(i, 0)..=packed_index(i, i)];
        pulled.iter_mut().zip(row).for_each(|(sum, c)| *sum += error * c.abs());
    }
    norm(&pulled) * (1.0 + 1e-9)
}

/// ‖|C⁻¹|δ(r)‖ for δ_i = (17d + 4)ε·(|m_i| + r‖C_i‖), which bounds ẑ − z for every ‖u‖ ≤ r: (d + 4)ε for the sum m + Cu, and
/// 16dε for the map of q into standard coordinates ([`Standard::RELATIVE`]).
///
/// A column b̂ of C⁻¹ by substitution has |b̂ − b| ≤ γ_d|C⁻¹||C||b̂|. With v = Σ_i|b̂_i|δ_i and |C|v ≤ τδ this makes
/// |C⁻¹|δ ≤ v/(1 − γτ).
struct Shifts<'q> {
    q: &'q Gaussian<Triangular>,
    spreads: Vec<f64>,
    unit: f64,
    /// |C⁻¹| times |m|, and times the ‖C_i‖.
    center: Vec<f64>,
    spread: Vec<f64>,
}

/// Columns of C⁻¹ solved by one thread at a time.
const COLUMNS: usize = 64;

impl<'q> Shifts<'q> {
    fn new(q: &'q Gaussian<Triangular>) -> Self {
        let (d, spreads) = (q.dim(), deviations(q));
        let work = d.saturating_mul(d).saturating_mul(d);
        let solve = |columns: Range<usize>| {
            let (mut center, mut spread, mut column) = (vec![0.0; d], vec![0.0; d], vec![0.0; d]);
            for i in columns.take_while(|_| !stop::trips()) {
                column.fill(0.0);
                column[i] = 1.0;
                provi_kernels::triangle::solve(q.factor(), &mut column);
                for (k, x) in column.iter().enumerate().skip(i) {
                    center[k] += x.abs() * q.mean()[i].abs();
                    spread[k] += x.abs() * spreads[i];
                }
            }
            (center, spread)
        };
        let parts = chunked::alike(work, || chunked::map(Chunks { len: d, size: COLUMNS, work }, solve));
        let (mut center, mut spread) = (vec![0.0; d], vec![0.0; d]);
        for (c, s) in parts {
            provi_kernels::axpy(1.0, &c, &mut center);
            provi_kernels::axpy(1.0, &s, &mut spread);
        }
        let unit = (d as f64 + 4.0) * f64::EPSILON + Standard::relative(d);
        Self { q, spreads, unit, center, spread }
    }

    fn at(&self, radius: f64) -> f64 {
        // At m itself only the map has an error. A bound on a small ball holds there too, and avoids sizes of zero.
        self.unit * self.norm(1.0, radius.max(1e-3))
    }

    /// ‖|C⁻¹|(‖C_i‖)_i‖.
    fn relative_inverse(&self) -> f64 {
        self.norm(0.0, 1.0)
    }

    /// ‖|C⁻¹|δ‖ for δ_i = center·|m_i| + radius·‖C_i‖.
    fn norm(&self, center: f64, radius: f64) -> f64 {
        let d = self.q.dim();
        let solved: Vec<f64> = (0..d).map(|i| center * self.center[i] + radius * self.spread[i]).collect();
        let mut worst = 0.0f64;
        for i in 0..d {
            let row = &self.q.factor()[packed_index(i, 0)..=packed_index(i, i)];
            let back: f64 = row.iter().zip(&solved).map(|(c, v)| c.abs() * v).sum();
            let given = center * self.q.mean()[i].abs() + radius * self.spreads[i];
            // NaN if C is beyond the range of doubles; then there is no bound.
            let ratio = back / given;
            worst = if ratio.is_nan() { f64::INFINITY } else { worst.max(ratio) };
        }
        let lost = self.unit * worst;
        if lost < 0.5 { norm(&solved) / (1.0 - lost) * (1.0 + 1e-9) } else { f64::INFINITY }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two numbers whose sum is a + b exactly (Knuth).
    fn two_sum(a: f64, b: f64) -> (f64, f64) {
        let sum = a + b;
        let part = sum - a;
        (sum, (a - (sum - part)) + (b - part))
    }

    #[test]
    fn a_transported_draw_is_within_its_allowance_and_the_allowance_is_not_absurd() {
        for (mean, c) in [([3.0, -1e7], [0.5, 0.4, 1e-3]), ([1e9, 2.0], [0.3, -4.0, 0.01])] {
            let q = Gaussian::<Triangular>::new(&mean, &c).unwrap();
            let shifts = Shifts::new(&q);
            let mut worst = 0.0f64;
            for k in 0..2_000u64 {
                let (mut u, mut z) = ([0.0; 2], [0.0; 2]);
                provi_kernels::normals(3, k, 0, &mut u);
                q.transport(&u, &mut z);
                // δ = z − (m + Cu) with products and sums split without loss, then C⁻¹δ.
                let exact = |terms: &[f64]| {
                    let mut parts: Vec<f64> = Vec::new();
                    for &x in terms {
                        let mut x = x;
                        for part in parts.iter_mut() {
                            (x, *part) = two_sum(x, *part);
                        }
                        parts.push(x);
                    }
                    parts.iter().rev().sum::<f64>()
                };
                let product = |a: f64, b: f64| (a * b, a.mul_add(b, -(a * b)));
                let p = [product(c[0], u[0]), product(c[1], u[0]), product(c[2], u[1])];
                let first = exact(&[z[0], -mean[0], -p[0].0, -p[0].1]);
                let second = exact(&[z[1], -mean[1], -p[1].0, -p[1].1, -p[2].0, -p[2].1]);
                let x = first / c[0];
                let off = norm(&[x, (second - c[1] * x) / c[2]]);
                let bound = shifts.at(norm(&u));
                assert!(off <= bound, "{off} {bound}");
                worst = worst.max(off / bound);
            }
            assert!(worst > 1e-4, "{worst}");
        }
    }

    #[test]
    fn a_factor_beyond_what_doubles_resolve_has_no_bound() {
        let d = 40;
        // C⁻¹ of this one grows like 2^d, and C C⁻¹ with it.
        let factor: Vec<f64> =
            (0..d).flat_map(|i| (0..=i).map(move |j| if i == j { 1e-3 } else { -1.0 })).collect();
        let q = Gaussian::<Triangular>::new(&vec![1.0; d], &factor).unwrap();
        assert!(Shifts::new(&q).at(1.0).is_infinite());
        let here = Shifts::new(&Gaussian::standard(3)).at(0.0);
        assert!(here > 0.0 && here < 1e-16, "{here:e}");
    }
}

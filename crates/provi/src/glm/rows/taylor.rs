//! Third and fourth derivatives of the rows around an answer, in the coordinates where q is standard [psi-envelope].
//!
//! There the predictor of a row is s_n + a_n·x with a_n = Cᵀ times the row, and |a_n·x| ≤ r‖a_n‖ on the ball of radius r.

use super::shape::Shape;
use super::{Layout, POWER, Rows};
use crate::base::chunked::{self, Chunks};
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::linalg::{add_lower_gram, norm};
use crate::base::matrix::packed_index;
use crate::base::scratch::Scratch;
use crate::base::stop;
use crate::glm::Family;
use crate::glm::design::BLOCK;
use crate::glm::family::{CLOGLOG_STEEPEST, Form};
use crate::target::rounding::deviations;
use provi_kernels::axpy;
use std::ops::Range;

/// Chunks of partial sums, at most, and rows of one, at least: the sums may be millions of numbers, which are cleared and added for each.
const PARTS: usize = 16;
const LEAST: usize = 4 * BLOCK;

/// A row in the coordinates where q is standard.
#[derive(Clone, Copy)]
struct Seen {
    /// s_n and ‖a_n‖, and what they may be off by, the latter included in the former.
    mean: f64,
    off: f64,
    length: f64,
    error: f64,
    weight: f64,
    response: f64,
}

impl Rows {
    /// Adds to the sums of a [`Layout`]; `total` is the number of rows of all blocks.
    ///
    /// A computed a_n is off by at most e_n = (d+8)ε·Σ_j|A_nj|‖C_j‖ and a predictor by off_n, so a form Σ_nθ_n(a_n·x)^k of unit x by at most
    /// Σ_nθ_n(k·e_nb^{k−1} + (N+16)ε·b^k), b = ‖a_n‖ + e_n: N additions, whatever their order. Cost: one pass of d²(d+1)/2 a row, and for each
    /// radius the Gram matrix of d(d+1)/2 columns, or of d.
    pub(crate) fn add_taylor(
        &self,
        family: Family,
        q: &Gaussian<Triangular>,
        radii: &[f64],
        total: usize,
        layout: Layout,
        sums: &mut [f64],
    ) {
        let (d, wide) = (layout.dim, layout.wide());
        let (centers, spreads): (Vec<f64>, _) = (q.mean().iter().map(|m| m.abs()).collect(), deviations(q));
        let unit = (d as f64 + 8.0) * f64::EPSILON;
        let chain = (total as f64 + 64.0) * f64::EPSILON;
        let size = self.len().div_ceil(PARTS).next_multiple_of(BLOCK).max(LEAST);
        let columns = layout.quartic_columns();
        let work = self.len().saturating_mul(radii.len() * columns * columns / 2 + d * wide);
        let room = BLOCK * (2 * wide + d) + 4 * BLOCK;
        let chunks = Chunks { len: self.len(), size, work };
        let part = |range: Range<usize>, sums: &mut [f64], room: &mut [f64]| {
            let (squared, room) = room.split_at_mut(BLOCK * wide);
            let (scaled, room) = room.split_at_mut(BLOCK * wide);
            let (whitened, room) = room.split_at_mut(BLOCK * d);
            for first in range.clone().step_by(BLOCK) {
                if stop::trips() {
                    return;
                }
                let rows = first..(first + BLOCK).min(range.end);
                let count = rows.len();
                let mut buffers = room.chunks_exact_mut(BLOCK).map(|b| &mut b[..count]);
                let [means, squares, near, far] = std::array::from_fn(|_| buffers.next().unwrap_or_default());
                self.predictors(rows.clone(), q.mean(), means);
                self.design.row_sizes(rows.clone(), &centers, squares, near);
                self.design.row_sizes(rows.clone(), &spreads, squares, far);
                let mut seen = Vec::with_capacity(count);
                for (k, n) in rows.clone().enumerate() {
                    let a = &mut whitened[k * d..][..d];
                    a.fill(0.0);
                    self.design.for_each_in_row(n, |j, x| {
                        axpy(x, &q.factor()[packed_index(j, 0)..=packed_index(j, j)], &mut a[..=j]);
                    });
                    let squared = &mut squared[k * wide..][..wide];
                    for i in 0..d {
                        let twice = std::f64::consts::SQRT_2 * a[i];
                        let row = &mut squared[packed_index(i, 0)..=packed_index(i, i)];
                        row.iter_mut().zip(&a[..i]).for_each(|(to, x)| *to = twice * x);
                        row[i] = a[i] * a[i];
                    }
                    let offset = self.offset_size(n);
                    let error = unit * far[k];
                    seen.push(Seen {
                        mean: means[k],
                        off: (unit * (near[k] + offset)).max(1e-13 * means[k].abs()),
                        length: norm(a) * (1.0 + 1e-12) + 2.0 * error,
                        error,
                        weight: self.weights[n],
                        response: self.response[n],
                    });
                }
                let block = Block { layout, chain, seen: &seen, whitened, squared, scaled };
                block.add(family, radii, sums);
            }
        };
        chunked::reduce(chunks, (layout.width(), room), &mut Scratch::default(), part, |part| {
            axpy(1.0, part, sums);
        });
    }
}

/// A block of rows: a_n, and vec(a_na_nᵀ) with √2 off the diagonal.
struct Block<'b> {
    layout: Layout,
    chain: f64,
    seen: &'b [Seen],
    whitened: &'b [f64],
    squared: &'b [f64],
    scaled: &'b mut [f64],
}

impl Block<'_> {
    fn add(self, family: Family, radii: &[f64], sums: &mut [f64]) {
        let Self { layout, chain, seen, whitened, squared, scaled } = self;
        let (d, wide) = (layout.dim, layout.wide());
        for (k, row) in seen.iter().enumerate() {
            let [third, second] = family.third(row.mean, row.response);
            let b = row.length;
            // The bound changes by at most a factor e^off.
            let lost =
                chain * b + 3.1 * row.error + b * if row.off < 0.5 { 1.7 * row.off } else { f64::INFINITY };
            sums[layout.third_error()] += row.weight * second * 1.01 * b * b * lost;
            let weight = row.weight * third;
            if weight.abs() > 0.0 {
                let third = &mut sums[layout.third()];
                for (a, to) in whitened[k * d..][..d].iter().zip(third.chunks_exact_mut(wide)) {
                    axpy(weight * a, &squared[k * wide..][..wide], to);
                }
            }
            let (sign, factor) = match family.form(row.response) {
                Form::Rate(rate) => (rate.sign, rate.factor),
                Form::Cloglog(parts) => {
                    sums[layout.tame()] += row.weight * parts.success * CLOGLOG_STEEPEST * b * b;
                    (1.0, parts.rate)
                }
                _ => (1.0, 0.0),
            };
            if factor > 0.0 {
                let exponent = sign * row.mean + row.off + 0.5 * b * b;
                sums[layout.rate()] += row.weight * factor * exponent.exp();
            }
            sums[layout.lengths()] += b.powi(POWER);
        }
        let rings = radii.len() + 1;
        let mut reaches = vec![0.0; rings];
        let mut all: Vec<Shape> = Vec::with_capacity(seen.len() * rings);
        for row in seen {
            let wide = row.length * (1.0 + 1e-12);
            reaches[1..].iter_mut().zip(radii).for_each(|(reach, radius)| *reach = radius * wide);
            all.extend(family.shapes(row.mean, row.off, &reaches, row.response));
        }
        for ring in 0..rings {
            let shape = |k: usize| all[k * rings + ring];
            // Adds Σ_nθ_nv_nv_nᵀ, and what it may be off by as a form of degree `power` in x.
            let mut add = |sums: &mut [f64],
                           source: &[f64],
                           columns: usize,
                           power: i32,
                           place: (usize, Range<usize>),
                           theta: &dyn Fn(usize) -> f64| {
                let mut any = false;
                for (k, row) in seen.iter().enumerate() {
                    let mut theta = row.weight * theta(k);
                    let b = row.length;
                    let part =
                        f64::from(power) * 1.05 * row.error * b.powi(power - 1) + chain * b.powi(power);
                    sums[place.0] += theta * part;
                    if !theta.is_finite() {
                        theta = 0.0;
                        sums[place.0] = f64::INFINITY;
                    }
                    any |= theta > 0.0;
                    let root = theta.sqrt();
                    let to = &mut scaled[k * columns..][..columns];
                    to.iter_mut().zip(&source[k * columns..]).for_each(|(to, x)| *to = root * x);
                }
                if any {
                    add_lower_gram(&scaled[..seen.len() * columns], columns, &mut sums[place.1]);
                }
            };
            for side in 0..2 {
                let place = (layout.curvature_error(ring, side), layout.curvature(ring, side));
                add(sums, whitened, d, 2, place, &|k| shape(k).curvature[side]);
            }
            for side in 0..if ring > 0 { 2 } else { 0 } {
                let place = (layout.quartic_error(ring, side), layout.quartic(ring, side));
                let fourth = |k: usize| shape(k).fourth[side];
                match layout.is_flat {
                    true => add(sums, whitened, d, 2, place, &|k| fourth(k) * seen[k].length.powi(2)),
                    false => add(sums, squared, wide, 4, place, &fourth),
                }
            }
        }
    }
}

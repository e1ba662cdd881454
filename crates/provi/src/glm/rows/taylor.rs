//! Third and fourth derivatives of the rows around an answer, in the coordinates where q is standard [psi-envelope].
//!
//! There the predictor of a row is s_n + a_n·x with a_n = Cᵀ times the row, and |a_n·x| ≤ r‖a_n‖ on the ball of radius r.

pub(super) mod aside;

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

/// Rows that are taken together, at most, here and by a device, and blocks of them whose smaller sums are one partial sum.
const TOGETHER: usize = 64 * BLOCK;
const TOGETHER_THERE: usize = 4 * TOGETHER;
const A_PART: usize = 4;

/// A row in the coordinates where q is standard.
#[derive(Clone, Copy, Debug)]
struct Seen {
    /// s_n and ‖a_n‖, and what they may be off by, the latter included in the former.
    mean: f64,
    off: f64,
    length: f64,
    error: f64,
    weight: f64,
    response: f64,
    /// φ‴, and what bounds it nearby.
    third: f64,
    steepest: f64,
}

impl Seen {
    /// What (a_n·x)^power may be off by for unit x, and in a sum of rows.
    fn lost(&self, power: i32, chain: f64) -> f64 {
        let b = self.length;
        f64::from(power) * 1.05 * self.error * b.powi(power - 1) + chain * b.powi(power)
    }
}

impl Rows {
    /// Adds to the sums of a [`Layout`]; `total` is the number of rows of all blocks.
    ///
    /// A computed a_n is off by at most e_n = (d+8)ε·Σ_j|A_nj|‖C_j‖ and a predictor by off_n, so a form Σ_nθ_n(a_n·x)^k of unit x by at most
    /// Σ_nθ_n(k·e_nb^{k−1} + (N+16)ε·b^k), b = ‖a_n‖ + e_n: N additions, whatever their order. Cost: one pass of d²(d+1)/2 a row, and for each
    /// radius the Gram matrix of d(d+1)/2 columns, or of d. These matrices are large, so threads share them and not the rows: no partial sums.
    pub(crate) fn add_taylor(
        &self,
        family: Family,
        q: &Gaussian<Triangular>,
        radii: &[f64],
        total: usize,
        layout: Layout,
        sums: &mut [f64],
    ) {
        let (d, wide, columns) = (layout.dim, layout.wide(), layout.quartic_columns());
        let (centers, spreads): (Vec<f64>, _) = (q.mean().iter().map(|m| m.abs()).collect(), deviations(q));
        let chain = (total as f64 + 64.0) * f64::EPSILON;
        let around = Around { family, q, radii, layout, chain, centers: &centers, spreads: &spreads };
        let (small, quartics) = sums.split_at_mut(layout.small());
        let mut scratch = Scratch::default();
        let mut is_there = self.has_forms_aside(family, q, aside::work(layout));
        let together = if is_there { TOGETHER_THERE } else { TOGETHER };
        for first in (0..self.len()).step_by(together) {
            let count = together.min(self.len() - first);
            let chunks = Chunks { len: count, size: BLOCK, work: count * (d * d + 32 * radii.len()) };
            let blocks = chunked::map(chunks, |range| {
                Block::new(self, around, first + range.start..first + range.end)
            });
            let forms = is_there.then(|| self.forms_of(&blocks, around, first)).flatten();
            is_there = forms.is_some();
            let work = count * (wide + (radii.len() + 1) * d) * d;
            let chunks = Chunks { len: blocks.len(), size: A_PART, work };
            let part = |range: Range<usize>, sums: &mut [f64], room: &mut [f64]| {
                for block in blocks[range].iter().take_while(|_| !stop::trips()) {
                    block.add_scalars(around, sums);
                    if forms.is_none() {
                        block.add_small(around, sums, room);
                    }
                }
            };
            let room = wide.max(BLOCK * d);
            chunked::reduce(chunks, (small.len(), room), &mut scratch, part, |part| {
                axpy(1.0, part, small);
            });
            if let Some(forms) = forms {
                aside::add(&forms, layout, small, quartics);
                continue;
            }
            let size = columns * columns;
            chunked::fill(quartics, size, count * quartics.len() / 2, |place, sums| {
                let (ring, side) = (place / size / 2 + 1, place / size % 2);
                let mut room = vec![0.0; BLOCK * columns];
                for block in blocks.iter().take_while(|_| !stop::trips()) {
                    block.add_quartic(around, (ring, side), sums, &mut room);
                }
            });
            if stop::trips() {
                return;
            }
        }
    }
}

/// Of which family and around which answer, and the layout of the sums.
#[derive(Clone, Copy)]
struct Around<'a> {
    family: Family,
    q: &'a Gaussian<Triangular>,
    radii: &'a [f64],
    layout: Layout,
    /// What a sum over all rows may lose, relatively.
    chain: f64,
    /// |m|, and the deviations of q.
    centers: &'a [f64],
    spreads: &'a [f64],
}

/// A block of rows: a_n, and what holds of the row up to each radius, the first of which is 0.
struct Block {
    dim: usize,
    rings: usize,
    seen: Vec<Seen>,
    whitened: Vec<f64>,
    shapes: Vec<Shape>,
}

/// vec(aaᵀ) with √2 off the diagonal.
fn square(a: &[f64], to: &mut [f64]) {
    for i in 0..a.len() {
        let twice = std::f64::consts::SQRT_2 * a[i];
        let row = &mut to[packed_index(i, 0)..=packed_index(i, i)];
        row.iter_mut().zip(&a[..i]).for_each(|(to, x)| *to = twice * x);
        row[i] = a[i] * a[i];
    }
}

impl Block {
    fn new(rows: &Rows, around: Around<'_>, range: Range<usize>) -> Self {
        let (d, count) = (around.layout.dim, range.len());
        let unit = (d as f64 + 8.0) * f64::EPSILON;
        let mut room = vec![0.0; 4 * count];
        let mut buffers = room.chunks_exact_mut(count);
        let [means, squares, near, far] = std::array::from_fn(|_| buffers.next().unwrap_or_default());
        rows.predictors(range.clone(), around.q.mean(), means);
        rows.design.row_sizes(range.clone(), around.centers, squares, near);
        rows.design.row_sizes(range.clone(), around.spreads, squares, far);
        let rings = around.radii.len() + 1;
        let mut whitened = vec![0.0; count * d];
        let mut reaches = vec![0.0; rings];
        let (mut seen, mut shapes) = (Vec::with_capacity(count), Vec::with_capacity(count * rings));
        for (k, n) in range.enumerate() {
            let a = &mut whitened[k * d..][..d];
            rows.design.for_each_in_row(n, |j, x| {
                axpy(x, &around.q.factor()[packed_index(j, 0)..=packed_index(j, j)], &mut a[..=j]);
            });
            let offset = rows.offset_size(n);
            let error = unit * far[k];
            let [third, steepest] = around.family.third(means[k], rows.response[n]);
            let row = Seen {
                mean: means[k],
                off: (unit * (near[k] + offset)).max(1e-13 * means[k].abs()),
                length: norm(a) * (1.0 + 1e-12) + 2.0 * error,
                error,
                weight: rows.weights[n],
                response: rows.response[n],
                third,
                steepest,
            };
            let wide = row.length * (1.0 + 1e-12);
            reaches[1..].iter_mut().zip(around.radii).for_each(|(reach, radius)| *reach = radius * wide);
            shapes.extend(around.family.shapes(row.mean, row.off, &reaches, row.response));
            seen.push(row);
        }
        Self { dim: d, rings, seen, whitened, shapes }
    }

    /// Of row k up to a radius.
    fn shape(&self, k: usize, ring: usize) -> Shape {
        self.shapes[k * self.rings + ring]
    }

    /// A bound of φ″ of row k up to a radius.
    fn curvature(&self, k: usize, (ring, side): (usize, usize)) -> f64 {
        self.shape(k, ring).curvature[side]
    }

    /// γ_n of row k up to a radius; with the flat layout times ‖a_n‖².
    fn fourth(&self, k: usize, (ring, side): (usize, usize), layout: Layout) -> f64 {
        let fourth = self.shape(k, ring).fourth[side];
        if layout.is_flat { fourth * self.seen[k].length.powi(2) } else { fourth }
    }

    /// What is no form: errors, lengths, rates.
    fn add_scalars(&self, around: Around<'_>, sums: &mut [f64]) {
        let Around { family, layout, chain, .. } = around;
        for row in &self.seen {
            let b = row.length;
            // The bound changes by at most a factor e^off.
            let lost =
                chain * b + 3.1 * row.error + b * if row.off < 0.5 { 1.7 * row.off } else { f64::INFINITY };
            sums[layout.third_error()] += row.weight * row.steepest * 1.01 * b * b * lost;
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
        // What Σ_nθ_nv_nv_nᵀ may be off by as a form of degree `power` in x.
        let mut add_error = |place: usize, power: i32, theta: &dyn Fn(usize) -> f64| {
            for (k, row) in self.seen.iter().enumerate() {
                let (theta, part) = (row.weight * theta(k), row.lost(power, chain));
                sums[place] = if theta.is_finite() { sums[place] + theta * part } else { f64::INFINITY };
            }
        };
        let power = layout.quartic_power();
        for (ring, side) in layout.places(0) {
            add_error(layout.curvature_error(ring, side), 2, &|k| self.curvature(k, (ring, side)));
        }
        for (ring, side) in layout.places(1) {
            add_error(layout.quartic_error(ring, side), power, &|k| self.fourth(k, (ring, side), layout));
        }
    }

    /// The cubic form and the curvatures.
    fn add_small(&self, around: Around<'_>, sums: &mut [f64], room: &mut [f64]) {
        let layout = around.layout;
        let (d, wide) = (layout.dim, layout.wide());
        for (row, a) in self.seen.iter().zip(self.whitened.chunks_exact(d)) {
            let weight = row.weight * row.third;
            if weight.abs() > 0.0 {
                let squared = &mut room[..wide];
                square(a, squared);
                for (a, to) in a.iter().zip(sums[layout.third()].chunks_exact_mut(wide)) {
                    axpy(weight * a, squared, to);
                }
            }
        }
        for (ring, side) in layout.places(0) {
            let theta = |k: usize| self.curvature(k, (ring, side));
            let out = &mut sums[layout.curvature(ring, side)];
            self.add_form(d, theta, |a, to| to.copy_from_slice(a), out, room);
        }
    }

    fn add_quartic(&self, around: Around<'_>, place: (usize, usize), sums: &mut [f64], room: &mut [f64]) {
        let layout = around.layout;
        let theta = |k: usize| self.fourth(k, place, layout);
        match layout.is_flat {
            true => self.add_form(layout.dim, theta, |a, to| to.copy_from_slice(a), sums, room),
            false => self.add_form(layout.wide(), theta, square, sums, room),
        }
    }

    /// Adds Σ_nθ_nv_nv_nᵀ for v made of a_n.
    fn add_form(
        &self,
        columns: usize,
        theta: impl Fn(usize) -> f64,
        make: impl Fn(&[f64], &mut [f64]),
        sums: &mut [f64],
        room: &mut [f64],
    ) {
        let room = &mut room[..self.seen.len() * columns];
        let mut any = false;
        for (k, (row, to)) in self.seen.iter().zip(room.chunks_exact_mut(columns)).enumerate() {
            let theta = row.weight * theta(k);
            // A θ that is no number leaves its mark on the error.
            let root = if theta.is_finite() { theta.sqrt() } else { 0.0 };
            any |= root > 0.0;
            make(&self.whitened[k * self.dim..][..self.dim], to);
            to.iter_mut().for_each(|x| *x *= root);
        }
        if any {
            add_lower_gram(room, columns, sums);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::draws::{Draws, Purpose, Seed};
    use crate::glm::design::Design;
    use crate::target::{Glm, Prior};

    pub(super) const RADII: [f64; 2] = [1.0, 2.5];

    /// A model of more rows than are taken together, with one row of a very large response if `is_wild`.
    pub(super) fn model(is_wild: bool) -> Glm {
        let (rows, dim) = (TOGETHER + 3 * BLOCK + 7, 3);
        let mut entries = vec![0.0; rows * dim];
        Draws::new(Seed(8), Purpose::Sample).fill(0, 0, &mut entries);
        if is_wild {
            entries[..dim].fill(600.0);
        }
        let counts: Vec<f64> = (0..rows).map(|n| (n % 4) as f64).collect();
        Glm::poisson(Design::dense(rows, dim, &entries).unwrap(), &counts, Prior::scale(1.0).unwrap())
            .unwrap()
    }

    pub(super) fn standard() -> Gaussian<Triangular> {
        Gaussian::new(&[0.1, -0.2, 0.3], &[1.0, 0.0, 1.0, 0.0, 0.0, 1.0]).unwrap()
    }

    fn sums(model: &Glm, layout: Layout) -> Vec<f64> {
        let (mut sums, rows) = (vec![0.0; layout.width()], &model.rows);
        rows.add_taylor(Family::Poisson, &standard(), &RADII, rows.len(), layout, &mut sums);
        sums
    }

    /// Row by row as they are defined; the same bits on any number of threads.
    #[test]
    fn sums_over_many_rows_are_those_of_their_definition() {
        let (model, q) = (model(false), standard());
        for is_flat in [false, true] {
            let layout = Layout { dim: 3, rings: RADII.len(), is_flat };
            let found = sums(&model, layout);
            #[cfg(feature = "parallel")]
            for threads in [1, 2, 3] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let other = pool.install(|| sums(&model, layout));
                assert!(found.iter().zip(&other).all(|(a, b)| a.to_bits() == b.to_bits()), "{threads}");
            }
            let mut plain = vec![0.0; layout.width()];
            let columns = layout.quartic_columns();
            for n in 0..model.rows.len() {
                let mut a = [0.0; 3];
                model.rows.design.for_each_in_row(n, |j, x| a[j] = x);
                let s: f64 = a.iter().zip(q.mean()).map(|(a, m)| a * m).sum();
                let (b, response) = (norm(&a), model.rows.response[n]);
                let reaches = [0.0, RADII[0] * b, RADII[1] * b];
                let shapes = Family::Poisson.shapes(s, 0.0, &reaches, response);
                let mut squared = [0.0; 6];
                square(&a, &mut squared);
                assert!((norm(&squared) - b * b).abs() < 1e-12 * b * b);
                let mut add = |range: Range<usize>, theta: f64, left: &[f64], right: &[f64]| {
                    for (row, x) in plain[range].chunks_exact_mut(right.len()).zip(left) {
                        axpy(theta * x, right, row);
                    }
                };
                add(layout.third(), Family::Poisson.third(s, response)[0], &a, &squared);
                for (ring, shape) in shapes.iter().enumerate() {
                    for side in 0..2 {
                        add(layout.curvature(ring, side), shape.curvature[side], &a, &a);
                        let (theta, v) = match is_flat {
                            true => (shape.fourth[side] * b * b, &a[..]),
                            false => (shape.fourth[side], &squared[..]),
                        };
                        if ring > 0 {
                            add(layout.quartic(ring, side), theta, v, v);
                        }
                    }
                }
            }
            let compare = |range: Range<usize>, columns: usize, is_lower: bool| {
                for (k, (x, y)) in found[range.clone()].iter().zip(&plain[range]).enumerate() {
                    let is_there = !is_lower || k % columns <= k / columns;
                    assert!(!is_there || (x - y).abs() <= 1e-9 * (1.0 + y.abs()), "{k}: {x} {y}");
                }
            };
            compare(layout.third(), layout.wide(), false);
            for (ring, side) in [(0, 0), (1, 0), (1, 1), (2, 0), (2, 1)] {
                compare(layout.curvature(ring, side), 3, true);
                if ring > 0 {
                    compare(layout.quartic(ring, side), columns, true);
                }
            }
        }
    }

    /// A row without a bound leaves none, whatever follows it; what does not need one keeps its own.
    #[test]
    fn a_row_without_a_bound_is_not_forgotten() {
        let layout = Layout { dim: 3, rings: RADII.len(), is_flat: false };
        let found = sums(&model(true), layout);
        for ring in 1..=2 {
            assert!(found[layout.quartic_error(ring, 1)].is_infinite(), "{ring}");
            assert!(found[layout.quartic(ring, 1)].iter().all(|x| x.is_finite()));
        }
    }
}

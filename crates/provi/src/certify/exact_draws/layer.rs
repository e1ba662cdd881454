//! A Gaussian above the density on a slab.

use super::logistic::LogisticRows;
use super::minorant::Minorant;
use crate::base::chunked::{self, Chunks};
use crate::base::error::Result;
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::linalg::{congruence, inverse_factor, norm, safe_congruence};
use crate::base::matrix::{Matrix, packed_index, packed_len, unpack_lower};
use crate::base::scratch::Scratch;
use crate::base::special::{log_normal_cdf, normal_cdf};
use crate::glm::design::BLOCK;
use crate::glm::{Family, Glm};
use crate::target::Target;
use crate::target::rounding::deviations;
use provi_kernels::triangle;
use std::ops::Range;

/// What a Gaussian is flatter than the sum of quadratics that it replaces, relatively: it pays for every rounding of its factor and
/// of its middle.
const FLATTER: f64 = 1e-7;

/// ‖Cᵀ∇V‖ at which the mode is near enough, and the most steps towards it.
const AT_MODE: f64 = 1e-6;
const MOST_STEPS: usize = 40;
/// Two normal tails, in multiply-adds.
const TAILS: usize = 128;

/// The rows of a model as q sees them.
pub(super) struct Frame<'m> {
    pub(super) model: &'m Glm,
    pub(super) q: Gaussian<Triangular>,
    /// s_n = a_nᵀm + o_n and ‖Cᵀa_n‖.
    pub(super) middles: Vec<f64>,
    pub(super) spreads: Vec<f64>,
    /// a_nᵀ(z − m) for z near the mode, where lines touch.
    tops: Vec<f64>,
    factor: Matrix,
}

impl<'m> Frame<'m> {
    pub(super) fn new(model: &'m Glm, q: Gaussian<Triangular>) -> Self {
        let rows = &model.rows;
        let middles = rows.all_predictors(q.mean());
        let spreads = row_deviations(model, &q);
        let mut tops = rows.all_predictors(&near_mode(model, &q));
        tops.iter_mut().zip(&middles).for_each(|(top, s)| *top -= s);
        let factor = q.factor_matrix();
        Self { model, q, middles, spreads, tops, factor }
    }

    pub(super) fn len(&self) -> usize {
        self.middles.len()
    }

    /// f of some rows, in order, on all threads; `work` is what a row costs, in multiply-adds.
    pub(super) fn each_of<T: Send + Copy>(
        &self,
        some: &[usize],
        work: usize,
        f: impl Fn(usize) -> T + Sync,
    ) -> Vec<T> {
        in_order(some.len(), work, |k| f(some[k]))
    }
}

/// f of 0, 1, …, on all threads.
pub(super) fn in_order<T: Send + Copy>(len: usize, work: usize, f: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let chunks = Chunks { len, size: 2 * BLOCK, work: work.saturating_mul(len) };
    chunked::map(chunks, |range| range.map(&f).collect::<Vec<T>>()).concat()
}

/// A point near the mode: steps along −CCᵀ∇V from the mean, halved until ‖Cᵀ∇V‖ falls.
///
/// Lines below every φ sum to one whose slope is ∇V where they touch. With a prior far wider than q a slope that q does not see moves the
/// Gaussian of the prior far away: its mass has a factor e^{½gᵀΛ⁻¹g}. Any point is safe; the mode costs least.
fn near_mode(model: &Glm, q: &Gaussian<Triangular>) -> Vec<f64> {
    let d = q.dim();
    // −Cᵀ∇V.
    let pull = |z: &[f64]| {
        let (mut slope, mut out) = (vec![0.0; d], vec![0.0; d]);
        model.log_density(z, &mut slope).ok()?;
        triangle::multiply_transposed(q.factor(), &slope, &mut out);
        Some(out)
    };
    let mut z = q.mean().to_vec();
    let Some(mut here) = pull(&z) else { return z };
    let (mut length, mut step) = (1.0, vec![0.0; d]);
    for _ in 0..MOST_STEPS {
        if norm(&here) < AT_MODE {
            break;
        }
        triangle::multiply(q.factor(), &here, &mut step);
        let there: Vec<f64> = z.iter().zip(&step).map(|(z, s)| z + length * s).collect();
        match pull(&there).filter(|there| norm(there) < norm(&here)) {
            Some(pulled) => (z, here) = (there, pulled),
            None => length *= 0.5,
        }
    }
    z
}

/// ‖Cᵀa_n‖ of every row.
fn row_deviations(model: &Glm, q: &Gaussian<Triangular>) -> Vec<f64> {
    let design = &model.rows.design;
    let factor = design.factor(q.factor());
    let mut out = vec![0.0; design.rows()];
    let work = design.entries().saturating_mul(design.columns());
    chunked::fill(&mut out, BLOCK, work, |first, out| {
        design.row_variances(first..first + out.len(), &factor, out);
        out.iter_mut().for_each(|v| *v = v.sqrt());
    });
    out
}

/// e^{−E(z)} ≤ e^{height − ½‖e‖²} for z = center + Fe on the slab |a_nᵀz + o_n − s_n| ≤ reach_n, E = V without its constant.
pub(super) struct Layer {
    /// z = center + Fe.
    pub(super) gaussian: Gaussian<Triangular>,
    pub(super) height: f64,
    /// log ∫e^{height − ½‖e‖²} dz.
    pub(super) log_mass: f64,
    pub(super) reach: Vec<f64>,
    /// a_nᵀcenter + o_n − s_n and ‖Fᵀa_n‖.
    pub(super) shifts: Vec<f64>,
    pub(super) spreads: Vec<f64>,
}

impl Layer {
    /// Sums the quadratics below the rows' φ ([`Minorant`]) and the prior to one, and takes a Gaussian a little flatter than it:
    /// ```text
    /// E(z) ≥ Q(z) = Q(c) + ρ·e + ½eᵀGe,  G = FᵀHF ⪰ (1 + θ/2)I   ⇒   E(z) ≥ ½‖e‖² + Q(c) − ‖ρ‖²/θ
    /// ```
    /// for −‖ρ‖‖e‖ + ¼θ‖e‖² ≥ −‖ρ‖²/θ. G is computed from F as it is and moved down by what rounding may have lost, so nothing is asked of
    /// the factorisation. `None`: H is too flat, or too badly conditioned for that.
    pub(super) fn new(frame: &Frame<'_>, reach: Vec<f64>) -> Result<Option<Self>> {
        let (model, d) = (frame.model, frame.q.dim());
        let rows = &model.rows;
        let quadratics = quadratics(frame, &reach);
        let weights: Vec<f64> = quadratics.iter().zip(&rows.weights).map(|(m, w)| m.bend * w).collect();
        let mut h = vec![model.linear.precision()];
        let weigh = |range: Range<usize>, _: &mut [f64], to: &mut [f64]| to.copy_from_slice(&weights[range]);
        // By the processor, so that exact draws have the same bits with a device and without one.
        rows.design.add_grams_and_sums(0, weigh, |_| (), &mut h);
        let mut h = h.swap_remove(0);
        let size = rows.design.weighted_square_norm(&weights) + h.frobenius_norm();
        let slack = (rows.design.gram_terms() as f64 + 8.0) * f64::EPSILON * size
            + model.linear.prior.rounding()
            + model.linear.lost;
        (0..d).for_each(|i| h[(i, i)] -= slack);

        // In the coordinates where q is standard H is near I, however the columns are scaled.
        let mut flat = congruence(&h, &frame.factor);
        flat.entries_mut().iter_mut().for_each(|x| *x *= 1.0 - FLATTER);
        let mut inner = vec![0.0; packed_len(d)];
        if inverse_factor("an envelope", &flat, &mut inner).is_err() {
            return Ok(None);
        }
        let factor = lower_product(frame.q.factor(), &inner, d);
        let square = unpack_lower(d, &factor);
        let mut g = safe_congruence(&h, &square, 0.0, -1.0);
        (0..d).for_each(|i| g[(i, i)] -= 1.0 + FLATTER);
        if g.frobenius_norm().is_nan() || g.frobenius_norm() > 0.5 * FLATTER {
            return Ok(None);
        }

        let mut center = frame.q.mean().to_vec();
        let mut step = vec![0.0; d];
        for _ in 0..2 {
            let (_, slope) = gather(frame, &quadratics, &center);
            // −FFᵀ∇Q.
            triangle::multiply_transposed(&factor, &slope, &mut step);
            let pulled = step.clone();
            triangle::multiply(&factor, &pulled, &mut step);
            center.iter_mut().zip(&step).for_each(|(c, s)| *c -= s);
        }
        let (value, slope) = gather(frame, &quadratics, &center);
        triangle::multiply_transposed(&factor, &slope, &mut step);
        let Ok(gaussian) = Gaussian::new(&center, &factor) else { return Ok(None) };
        let spreads = row_deviations(model, &gaussian);
        let lost = lost(frame, &quadratics, &gaussian, &spreads);
        let rest = norm(&step) + lost.slope;
        let height = -(value - lost.value - rest * rest / FLATTER);
        let log_mass = height + 0.5 * d as f64 * (2.0 * std::f64::consts::PI).ln() + gaussian.log_det()?;
        if !log_mass.is_finite() {
            return Ok(None);
        }
        let mut shifts = rows.all_predictors(&center);
        shifts.iter_mut().zip(&frame.middles).for_each(|(shift, s)| *shift -= s);
        Ok(Some(Self { gaussian, height, log_mass, reach, shifts, spreads }))
    }

    /// P(σt_n > reach) under this Gaussian, for a bound of another slab.
    pub(super) fn tail(&self, n: usize, sign: f64, reach: f64) -> f64 {
        if !reach.is_finite() {
            return 0.0;
        }
        normal_cdf(-self.cut(n, sign, reach))
    }

    /// log of the sum of both tails over every `step`-th row. Where they underflow, that of the largest of them for all: an upper bound.
    pub(super) fn log_tails(&self, reach: &[f64], step: usize) -> f64 {
        let both = |n: usize| [1.0, -1.0].map(|sign| -self.cut(n, sign, reach[n]));
        let chunks = Chunks { len: reach.len(), size: step * 2 * BLOCK, work: reach.len() / step * TAILS };
        let parts = chunked::map(chunks, |range| {
            let places = range.step_by(step).filter(|&n| reach[n].is_finite()).flat_map(both);
            places.fold((0.0, f64::NEG_INFINITY), |(sum, largest), x| {
                (sum + normal_cdf(x), f64::max(largest, x))
            })
        });
        let sum: f64 = parts.iter().map(|part| part.0).sum();
        if sum > 0.0 {
            return sum.ln();
        }
        let largest = parts.iter().map(|part| part.1).fold(f64::NEG_INFINITY, f64::max);
        log_normal_cdf(largest) + (2.0 * reach.len() as f64).ln()
    }

    /// R: what has ‖e‖ ≤ R lies in this slab, for |t_n| ≤ |shift_n| + ‖Fᵀa_n‖‖e‖. A little less than that, for rounding; 0 if there is none.
    pub(super) fn free_radius(&self) -> f64 {
        let of = |n: usize| (self.reach[n] - self.shifts[n].abs()) / self.spreads[n];
        // A row without a spread is beyond its bound everywhere or nowhere.
        let least =
            (0..self.reach.len()).filter(|&n| self.reach[n].is_finite()).map(of).fold(f64::MAX, f64::min);
        (least * (1.0 - 1e-6)).max(0.0)
    }

    /// The same bound in deviations.
    pub(super) fn cut(&self, n: usize, sign: f64, reach: f64) -> f64 {
        (reach - sign * self.shifts[n]) / self.spreads[n]
    }
}

/// The quadratic below each row's φ on its interval.
fn quadratics(frame: &Frame<'_>, reach: &[f64]) -> Vec<Minorant> {
    let (rows, family) = (&frame.model.rows, frame.model.linear.family);
    let is_finite = |range: &Range<usize>| reach[range.clone()].iter().all(|r| r.is_finite());
    let one = |n: usize| {
        let (row, spread) = ((frame.middles[n], rows.response[n]), frame.spreads[n]);
        if reach[n].is_finite() {
            // What the slab is compared with is rounded.
            Minorant::best(family, row, spread, reach[n] * (1.0 + 1e-9))
        } else {
            Minorant::touching(family, row, frame.tops[n], reach[n])
        }
    };
    let chunks = Chunks { len: frame.len(), size: BLOCK, work: frame.len().saturating_mul(8000) };
    let parts = chunked::map(chunks, |range| match family {
        Family::Bernoulli if is_finite(&range) => LogisticRows {
            middles: &frame.middles[range.clone()],
            responses: &rows.response[range.clone()],
            deviations: &frame.spreads[range.clone()],
            reaches: &reach[range],
        }
        .best(),
        _ => range.map(one).collect(),
    });
    parts.concat()
}

/// The product of two packed lower triangular matrices: its diagonal is that of the products, so its determinant is known.
fn lower_product(left: &[f64], right: &[f64], d: usize) -> Vec<f64> {
    let mut out = vec![0.0; packed_len(d)];
    for i in 0..d {
        for k in 0..=i {
            let x = left[packed_index(i, k)];
            for j in 0..=k {
                out[packed_index(i, j)] += x * right[packed_index(k, j)];
            }
        }
    }
    out
}

/// Q and its gradient.
fn gather(frame: &Frame<'_>, quadratics: &[Minorant], z: &[f64]) -> (f64, Vec<f64>) {
    let rows = &frame.model.rows;
    let mut slope = vec![0.0; z.len()];
    let value = frame.model.linear.prior.energy(z, &mut slope);
    let mut sums = [vec![value], slope].concat();
    over_blocks(frame, sums.len(), &mut sums, |range, sums| {
        let (mut sum, mut slopes, mut predictors) = (0.0, [0.0; BLOCK], [0.0; BLOCK]);
        rows.predictors(range.clone(), z, &mut predictors[..range.len()]);
        for ((to, s), n) in slopes.iter_mut().zip(predictors).zip(range.clone()) {
            let (m, t, w) = (quadratics[n], s - frame.middles[n], rows.weights[n]);
            sum += w * (m.value + t * (m.slope + 0.5 * m.bend * t));
            *to = w * (m.slope + m.bend * t);
        }
        sums[0] += sum;
        rows.design.pull_back(range.clone(), &slopes[..range.len()], &mut sums[1..]);
    });
    (sums[0], sums.split_off(1))
}

/// Adds to `sums` what `f` adds for each block of rows, in an order that does not depend on threads: blocks of a chunk one after the other,
/// then the chunks.
fn over_blocks(
    frame: &Frame<'_>,
    width: usize,
    sums: &mut [f64],
    f: impl Fn(Range<usize>, &mut [f64]) + Sync,
) {
    chunked::reduce(
        chunks_of_blocks(frame),
        (width, 0),
        &mut Scratch::default(),
        |range, partial, _| {
            for first in range.clone().step_by(BLOCK) {
                f(first..(first + BLOCK).min(range.end), partial);
            }
        },
        |partial| sums.iter_mut().zip(partial).for_each(|(sum, x)| *sum += x),
    );
}

/// Chunks of whole blocks.
fn chunks_of_blocks(frame: &Frame<'_>) -> Chunks {
    let chunks = frame.model.rows.design.chunks(1);
    Chunks { size: chunks.size.next_multiple_of(BLOCK), ..chunks }
}

/// What rounding may have done to Q(c), and to Fᵀ∇Q(c).
struct Lost {
    value: f64,
    slope: f64,
}

/// From Σ|terms| of both sums, their chains of additions, and predictors that are off by (d + 8)ε(Σ_j|a_nj||c_j| + |o_n| + |s_n|). The chain of
/// the value is no longer than the rows of a block and the blocks, that of a slope no longer than the rows of a chunk and the chunks.
fn lost(
    frame: &Frame<'_>,
    quadratics: &[Minorant],
    gaussian: &Gaussian<Triangular>,
    spreads: &[f64],
) -> Lost {
    let (rows, prior) = (&frame.model.rows, &frame.model.linear.prior);
    let (d, center) = (gaussian.dim() as f64, gaussian.mean());
    let sizes: Vec<f64> = center.iter().map(|x| x.abs()).collect();
    let unit = (BLOCK as f64 + rows.len() as f64 / BLOCK as f64 + 64.0) * f64::EPSILON;
    let chunks = chunks_of_blocks(frame);
    let chain = chunks.size.min(rows.len()) + rows.len().div_ceil(chunks.size);
    let slope_unit = (chain as f64 + 64.0) * f64::EPSILON;
    let mut sums = [0.0; 2];
    over_blocks(frame, 2, &mut sums, |range, sums| {
        let mut room = [[0.0; BLOCK]; 3];
        let [squares, reaches, predictors] = room.each_mut().map(|part| &mut part[..range.len()]);
        rows.design.row_sizes(range.clone(), &sizes, squares, reaches);
        rows.predictors(range.clone(), center, predictors);
        for ((n, reach), s) in range.zip(reaches.iter()).zip(predictors.iter()) {
            let (m, t, w) = (quadratics[n], (s - frame.middles[n]).abs(), rows.weights[n]);
            let offset = rows.offset_size(n);
            let off = (d + 8.0) * f64::EPSILON * (reach + offset + frame.middles[n].abs());
            let pull = m.slope.abs() + m.bend * (t + off);
            sums[0] += w * (unit * (m.value.abs() + t * pull) + off * pull);
            sums[1] += w * spreads[n] * (slope_unit * pull + m.bend * off);
        }
    });
    let [value, slope] = sums;
    let away: Vec<f64> = (0..center.len()).map(|i| (center[i] - prior.center(i)).abs()).collect();
    let pulls = prior.sizes(&away);
    let energy = 0.5 * pulls.iter().zip(&away).map(|(p, x)| p * x).sum::<f64>();
    let own = (2.0 * d + 16.0) * f64::EPSILON;
    let of_prior: f64 = pulls.iter().zip(deviations(gaussian)).map(|(p, sd)| p * sd).sum();
    // Products of Fᵀ and the slope lose as much again.
    Lost {
        value: 2.0 * (value + (unit + own) * energy),
        slope: 2.0 * (slope + (slope_unit + own) * of_prior),
    }
}

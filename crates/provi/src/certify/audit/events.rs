//! Probabilities under p of what the coefficients decide, from the same draws [measured-events].
//!
//! In the coordinates where q = N(0, I) let g be a function of ℓ = v·x with values in [0, 1], γ = E_q g, and P(x) = T[x,x,x]/6 − ½τ·x for any
//! cubic T with trace τ. P has no mean, and E_q[P | ℓ] = T[v,v,v](ℓ³ − 3ℓ)/6; so
//! ```text
//! ∫(g − γ)p̃ = E_q[(ϖ − 1 + P)(g − γ)] − T[v,v,v]·E[(ξ³ − 3ξ)g(ξ)]/6
//! ```
//! With T near ∇³U(0) what is left of ϖ − 1 + P is as small as KL, and the last term is known. E_p g = γ + ∫(g − γ)p̃/∫p̃.

use super::Session;
use crate::base::linalg::norm;
use crate::base::matrix::{Matrix, packed_index, packed_len};
use crate::target::Taylor;
use crate::target::rounding::deviations;
use crate::theory::betting::{Wager, not_below};
use crate::theory::bounded::{self, Bounded, Law};
use provi_kernels::{cubic, dot, triangle};
use std::sync::Arc;

/// A part of its range that the mean of a variable is not believed to leave; where it seems to, the bound stops there.
const NEAR: f64 = 0.05;

/// A question about the coefficients z that has a number between 0 and 1 as its answer under the posterior: E_p G(weights·z + offset).
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// The weights of the coefficients, not all zero.
    pub weights: Vec<f64>,
    /// What is added.
    pub offset: f64,
    /// G: whether it is positive, or the probability that a link makes of it.
    pub law: Law,
}

/// One of them, in the coordinates where q is standard.
#[derive(Clone, Debug)]
pub(super) struct Event {
    direction: Direction,
    g: Bounded,
    mean: f64,
    third: f64,
    /// How far the argument may be moved by rounding of its numbers, in units of ℓ.
    apart: f64,
}

#[derive(Clone, Debug)]
enum Direction {
    /// One of those whose moments are measured.
    Shared(usize),
    Own(Vec<f64>),
    /// Rounding, or weights that are all zero, leave none.
    Unknown,
}

impl Direction {
    /// v, from those that are shared.
    fn of<'v>(&'v self, shared: &'v [f64], dim: usize) -> Option<&'v [f64]> {
        match self {
            Self::Shared(k) => shared.get(k * dim..(k + 1) * dim),
            Self::Own(v) => Some(v),
            Self::Unknown => None,
        }
    }
}

/// A cubic without mean: P(x) = Σ_{i≥j≥k} c_ijk x_ix_jx_k + the linear term that takes its mean under each ℓ.
#[derive(Clone, Debug)]
pub(super) struct Cubic {
    dim: usize,
    /// For each i the c_ijk in the order of the packed (j, k), j ≤ i.
    coefficients: Vec<f64>,
    linear: Vec<f64>,
    /// ‖c‖.
    size: f64,
    /// G_ab = Σ_jk T_ajkT_bjk.
    gram: Matrix,
}

impl Cubic {
    pub(super) fn new(taylor: &Taylor) -> Self {
        let dim = taylor.trace.len();
        let (wide, third) = (packed_len(dim), &taylor.cubic);
        let mut coefficients = Vec::with_capacity(dim * (dim + 1) * (dim + 2) / 6);
        let mut trace = vec![0.0; dim];
        for i in 0..dim {
            for j in 0..=i {
                for k in 0..=j {
                    let scale = if j == k { 1.0 } else { std::f64::consts::FRAC_1_SQRT_2 };
                    let entry = scale * third[i * wide + packed_index(j, k)];
                    // How many of the places (i, j, k) are equal, over six.
                    let share = if i == k {
                        trace[i] += entry;
                        1.0 / 6.0
                    } else if i == j {
                        trace[k] += entry;
                        0.5
                    } else if j == k {
                        trace[i] += entry;
                        0.5
                    } else {
                        1.0
                    };
                    coefficients.push(share * entry);
                }
            }
        }
        let size = norm(&coefficients);
        let linear = trace.iter().map(|t| -0.5 * t).collect();
        Self { dim, coefficients, linear, size, gram: gram(taylor) }
    }

    /// E_q[½P²] = ‖T‖²/12: P = T\[x,x,x\]/6 − ½τ·x is T with Hermite polynomials of degree three in place of powers.
    pub(super) fn half_square(&self) -> f64 {
        self.square() / 12.0
    }

    /// E_q[½P²xxᵀ] = ‖T‖²/12·I + ½G [psi-moments].
    pub(super) fn half_square_matrix(&self) -> Matrix {
        let mut out = self.gram.clone();
        out.entries_mut().iter_mut().for_each(|g| *g *= 0.5);
        let plain = self.half_square();
        (0..self.dim).for_each(|i| out[(i, i)] += plain);
        out
    }

    /// vᵀE_q[½P²xxᵀ]v for a unit v.
    pub(super) fn half_square_along(&self, v: &[f64]) -> f64 {
        let form: f64 = v.iter().enumerate().map(|(i, vi)| vi * dot(self.gram.row(i), v)).sum();
        self.half_square() + 0.5 * form
    }

    /// What rounding may have done to each of the three.
    pub(super) fn half_square_lost(&self) -> f64 {
        let d = self.dim as f64;
        (d * d * d + 64.0) * f64::EPSILON * 12.0 * self.half_square()
    }

    /// ‖T‖².
    fn square(&self) -> f64 {
        (0..self.dim).map(|i| self.gram[(i, i)]).sum()
    }

    /// E_q[½P²rʲ; r > R] is at most this, for the moments E_q[rᵏ; r > R]. P = T₀\[x,x,x\]/6 + (τ·x)(y − ½) for y = r²/(2(d+2)) and the rest T₀ of T without its trace; on a
    /// sphere the two are orthogonal, with mean squares 6‖T₀‖²r⁶/(36d(d+2)(d+4)) and ‖τ‖²r²(y−½)²/d, and (y−½)² ≤ y² from y = ¼ on.
    pub(super) fn half_square_beyond(&self, radius: f64, tails: [f64; 9], j: usize) -> f64 {
        let d = self.dim as f64;
        let (square, trace) = (self.square(), 4.0 * dot(&self.linear, &self.linear));
        let rest = (square - 3.0 * trace / (d + 2.0)).max(0.0) + 1e-9 * square;
        let near = if radius * radius >= 0.5 * (d + 2.0) { 0.0 } else { 0.25 * tails[2 + j] };
        let by_rest = rest / (6.0 * d * (d + 2.0) * (d + 4.0)) * tails[6 + j];
        let by_trace = trace / d * (tails[6 + j] / (4.0 * (d + 2.0).powi(2)) + near);
        0.5 * (by_rest + by_trace) * (1.0 + 1e-9)
    }

    /// T[x,x,x]/6 for a number of x.
    fn forms(&self, points: &[f64], out: &mut [f64]) {
        cubic::forms(&self.coefficients, self.dim, points, out);
    }

    /// P(x) for a number of x.
    pub(super) fn at(&self, points: &[f64], out: &mut [f64]) {
        self.forms(points, out);
        for (out, x) in out.iter_mut().zip(points.chunks_exact(self.dim)) {
            *out += dot(&self.linear, x);
        }
    }

    /// What rounding may have done to it where ‖x‖ = r, that of x itself included: 16(d+16)ε(1+r), where |∇P| ≤ 3‖c‖(r² + √d).
    pub(super) fn lost_at(&self, r: f64) -> f64 {
        self.lost() * (1.0 + r) * (1.0 + r * r)
    }

    fn lost(&self) -> f64 {
        let d = self.dim as f64;
        (self.coefficients.len() as f64 + 64.0 * (d + 16.0)) * f64::EPSILON * self.size * d
    }

    /// E_q[|P|; r > R] is at most this, for the moments E_q[rᵏ; r > R].
    pub(super) fn beyond(&self, tails: [f64; 9]) -> f64 {
        (self.square().sqrt() / 6.0 * tails[3] + norm(&self.linear) * tails[1]) * (1.0 + 1e-9)
    }
}

/// G_ab = Σ_jk T_ajkT_bjk, of the T whose entries with i ≥ j ≥ k [`Cubic`] takes.
fn gram(taylor: &Taylor) -> Matrix {
    let (d, wide) = (taylor.trace.len(), packed_len(taylor.trace.len()));
    let mut rows = vec![0.0; d * wide];
    for i in 0..d {
        for j in 0..=i {
            for k in 0..=j {
                let scale = if j == k { 1.0 } else { std::f64::consts::FRAC_1_SQRT_2 };
                let entry = scale * taylor.cubic[i * wide + packed_index(j, k)];
                for (a, b, c) in [(i, j, k), (j, i, k), (k, i, j)] {
                    // Each unordered pair once, so that a row's square is a sum over all ordered ones.
                    let twice = if b == c { 1.0 } else { std::f64::consts::SQRT_2 };
                    rows[a * wide + packed_index(b, c)] = twice * entry;
                }
            }
        }
    }
    let mut out = Matrix::zeros(d, d);
    for i in 0..d {
        for j in 0..d {
            out[(i, j)] = dot(&rows[i * wide..(i + 1) * wide], &rows[j * wide..(j + 1) * wide]);
        }
    }
    out
}

impl Session<'_> {
    /// The sign of every coefficient, and what was asked besides. `directions` are those of [`Session::directions`]; without them no sign is
    /// asked for.
    pub(super) fn events(&self, directions: &[f64]) -> Arc<[Event]> {
        let d = self.q.dim();
        let unit = |i: usize| -> Vec<f64> { (0..d).map(|j| f64::from(u8::from(i == j))).collect() };
        let mut out = Vec::new();
        if !directions.is_empty() {
            for i in 0..d {
                let mixed = self.image.intercept() == Some(i);
                // A constant column may be negative.
                let place = if mixed { Some(d) } else { (self.image.pull(&unit(i))[i] > 0.0).then_some(i) };
                out.push(self.event(&unit(i), 0.0, Law::Step, place));
            }
        }
        out.extend(self.questions.iter().map(|ask| self.event(&ask.weights, ask.offset, ask.law, None)));
        out.into()
    }

    fn event(&self, weights: &[f64], offset: f64, law: Law, place: Option<usize>) -> Event {
        let d = self.q.dim();
        let v = self.image.pull(weights);
        let mut pulled = vec![0.0; d];
        triangle::multiply_transposed(self.q.factor(), &v, &mut pulled);
        let (spread, at) = (norm(&pulled), dot(&v, self.q.mean()) + offset);
        let unit = 16.0 * (d as f64 + 16.0) * f64::EPSILON;
        let sizes: f64 = deviations(self.q).iter().zip(&v).map(|(sd, v)| sd * v.abs()).sum();
        let means: f64 = v.iter().zip(self.q.mean()).map(|(v, m)| (v * m).abs()).sum();
        // Relative to the deviation: of the mean, and of the deviation itself at |ξ| ≤ 40.
        let apart = unit * (means + offset.abs() + 40.0 * sizes) / spread;
        let g = Bounded { law, at, spread };
        if !(spread > 0.0 && (at / spread).is_finite() && apart < 1e-6) {
            let g = Bounded { law, at: 0.0, spread: 1.0 };
            return Event { direction: Direction::Unknown, g, mean: 0.5, third: 0.0, apart: 0.0 };
        }
        let [mean, third] = g.moments();
        let own = || pulled.iter().map(|x| x / spread).collect();
        let direction = place.map_or_else(|| Direction::Own(own()), Direction::Shared);
        Event { direction, g, mean, third, apart }
    }
}

/// A place at ±x with the weight that multiplies g − γ there, and what that may be off by.
#[derive(Clone, Copy)]
pub(super) struct Weighed {
    pub(super) sign: f64,
    pub(super) weight: f64,
    pub(super) off: f64,
}

/// Sums over the draws.
pub(super) struct Tally {
    events: Arc<[Event]>,
    /// ΣY, an upper bound of ΣY², and of Σ|error of Y|.
    sums: Vec<[f64; 3]>,
    draws: u64,
}

/// What is known besides the draws.
pub(super) struct Known<'k> {
    /// |Y| ≤ this for |g − γ| ≤ 1.
    pub(super) range: f64,
    pub(super) planned: u64,
    pub(super) failure_probability: f64,
    pub(super) guesses: &'k [f64],
    /// The cubic, with the directions that are shared.
    pub(super) cubic: Option<(&'k Cubic, &'k [f64])>,
    /// What ∫(g − γ)p̃ lacks, for |g − γ| ≤ 1: on either side, and above only where g is 1.
    pub(super) either: f64,
    pub(super) above: f64,
    /// ∫p̃ from both sides.
    pub(super) whole: [f64; 2],
}

impl Tally {
    pub(super) fn new(events: &Arc<[Event]>) -> Self {
        Self { events: events.clone(), sums: vec![[0.0; 3]; events.len()], draws: 0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Adds a draw: x, its ℓ in the shared directions, and the weights at x or at ±x, whose sum is Y's. `apart` bounds the error of an ℓ.
    pub(super) fn take(&mut self, x: &[f64], shared: &[f64], places: &[Weighed], apart: f64) {
        self.draws += 1;
        for (event, sums) in self.events.iter().zip(&mut self.sums) {
            let l = match &event.direction {
                Direction::Shared(k) => shared[*k],
                Direction::Own(v) => dot(v, x),
                Direction::Unknown => continue,
            };
            let (mut y, mut off) = (0.0, 0.0);
            for place in places {
                let l = place.sign * l;
                y += place.weight * (event.g.value(l) - event.mean);
                off += place.off + place.weight.abs() * event.g.change(l, apart + event.apart);
            }
            sums[0] += y;
            sums[1] += (y.abs() + off).powi(2);
            sums[2] += off;
        }
    }

    /// Roots of the mean squares: what a pilot tells the bets.
    pub(super) fn guesses(&self) -> Vec<f64> {
        let n = self.draws.max(1) as f64;
        self.sums.iter().map(|sums| (sums[1] / n).sqrt()).collect()
    }

    /// Bounds of E_p g for each event, in their order; empty where nothing was drawn.
    pub(super) fn conclude(&self, known: &Known<'_>) -> Vec<[f64; 2]> {
        let [least, most] = known.whole;
        if self.draws == 0 || self.is_empty() || !(known.range.is_finite() && most.is_finite() && least > 0.0)
        {
            return Vec::new();
        }
        let delta = known.failure_probability / (2.0 * self.events.len() as f64);
        let n = self.draws as f64;
        let each = self.events.iter().zip(&self.sums).zip(known.guesses);
        each.map(|((event, &[sum, squares, off]), &guess)| {
            if matches!(event.direction, Direction::Unknown) {
                return [0.0, 1.0];
            }
            let mean = event.mean;
            let reach = mean.max(1.0 - mean) + 1e-9;
            let range = known.range * reach;
            let wager = Wager::new(range * (1.0 + NEAR), guess, known.planned, delta);
            let squares = squares * (1.0 + 1e-9);
            let lost = off / n * (1.0 + 1e-9) + (n + 8.0) * f64::EPSILON * (squares / n).sqrt();
            let [low, high] = [-1.0, 1.0].map(|sign: f64| {
                let bound = sign * sum / n + wager.margin(self.draws, squares) + lost;
                sign * not_below(bound, -NEAR * range)
            });
            let (mut cubic, mut slack) = (0.0, known.either * reach + 4.0 * (bounded::LOST + event.apart));
            if let Some((all, directions)) = known.cubic
                && let Some(v) = event.direction.of(directions, all.dim)
            {
                let mut along = [0.0];
                all.forms(v, &mut along);
                let [along] = along;
                cubic = -along * event.third;
                // |d/dt E[(ξ³ − 3ξ)1{ξ > t}]| ≤ 1, and the linear term is right up to rounding.
                slack += (along.abs() + all.size) * (bounded::LOST + event.apart) + 8.0 * all.lost();
            }
            let [low, high] =
                [low + cubic - slack - mean * known.above, high + cubic + slack + (1.0 - mean) * known.above];
            let below = if low < 0.0 { low / least } else { low / most };
            let above = if high > 0.0 { high / least } else { high / most };
            let widen = 1e-12;
            // A NaN says nothing.
            let clamp = |x: f64, nothing: f64| if x.is_nan() { nothing } else { x.clamp(0.0, 1.0) };
            [clamp(mean + below - widen, 0.0), clamp(mean + above + widen, 1.0)]
        })
        .collect()
    }
}

#[cfg(test)]
mod tests;

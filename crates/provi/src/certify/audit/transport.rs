//! Draws of G = U + U* − ‖x‖², each with its own ascent to U*(x) = sup_y x·y − U(y) [cert-transport].
//!
//! Any y bounds G(x) from above, so the bounds are valid however far an ascent came. Every draw climbs by L-BFGS
//! from y = x, with its own state; the points at which draws need the target are evaluated together. When a draw is
//! done, another takes its place.

use super::metric::Metric;
use crate::base::chunked;
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::linalg::norm;
use crate::base::scratch::Scratch;
use crate::base::secant;
use crate::base::stop;
use crate::certify::rounding::{Allowance, Allowances};
use crate::sgd::memory::ascents_at_once;
use crate::target::evaluate::Evaluator;
use crate::theory::certificate as theory;
use provi_kernels::{axpy, dot};

/// Draws transported and pulled back together, among those that climb at once.
const TOGETHER: usize = 16;
/// Secant pairs of a draw.
const PAIRS: usize = 5;
/// Most evaluations of a draw, including the one at x.
const EVALUATIONS: f64 = 40.0;
/// A draw is done when the estimated rest of U*(x) is below this part of Ĝ.
const PART: f64 = 0.02;
/// The part of the slope that a step must gain (Armijo), and the smallest step.
const GAIN: f64 = 1e-4;
const LEAST_STEP: f64 = 1e-6;

/// The draws that climb.
pub(super) struct Ascents<'a> {
    target: Evaluator<'a>,
    q: &'a Gaussian<Triangular>,
    /// The metric of H_lo.
    metric: &'a Metric,
    allowances: &'a Allowances,
    /// A draw is done when the estimated rest is below this many nats, or after its most evaluations.
    enough: f64,
    /// Or when the rest is below this part of its bound.
    part: f64,
    most: f64,
    /// Rows of [`Path`]; those still climbing come first.
    paths: Vec<f64>,
    under_way: usize,
    /// Where the draws need the target next, and its values there.
    trials: Vec<f64>,
    points: Vec<f64>,
    pulls: Vec<f64>,
    slopes: Vec<f64>,
    values: Vec<f64>,
    scratch: Vec<Scratch>,
    evaluations: u64,
    /// Whether the target failed at a trial point; the bounds found until then are kept.
    refused: bool,
    /// The bounds Ĝ, in the order of the draws.
    bounds: Vec<f64>,
    /// The first draw whose ascent ended because of other draws. The bounds of the draws before it do not depend on
    /// that.
    first_ended: usize,
}

impl<'a> Ascents<'a> {
    pub(super) fn new(
        target: Evaluator<'a>,
        q: &'a Gaussian<Triangular>,
        metric: &'a Metric,
        allowances: &'a Allowances,
        enough: f64,
    ) -> Self {
        let d = q.dim();
        let slots = ascents_at_once(d);
        let zeros = || vec![0.0; slots * d];
        Self {
            target,
            q,
            metric,
            allowances,
            enough,
            part: PART,
            most: EVALUATIONS,
            paths: vec![0.0; slots * Path::width(d)],
            under_way: 0,
            trials: zeros(),
            points: zeros(),
            pulls: zeros(),
            slopes: zeros(),
            values: vec![0.0; slots],
            scratch: target.scratch(slots),
            evaluations: 0,
            refused: false,
            bounds: Vec::new(),
            first_ended: usize::MAX,
        }
    }

    /// For bounds that are needed one by one, not for their mean: a small part of a bound is then not small enough.
    pub(super) fn by_themselves(self) -> Self {
        Self { part: 0.0, ..self }
    }

    /// Adds a draw x with V(x), ∇U(x) − x and the square of that in the metric.
    pub(super) fn take(&mut self, x: &[f64], potential: f64, slope: &[f64], square: f64) {
        self.take_until(x, potential, slope, square, f64::NEG_INFINITY);
    }

    /// Adds a draw that is done when its bound is at most `goal`.
    pub(super) fn take_until(&mut self, x: &[f64], potential: f64, slope: &[f64], square: f64, goal: f64) {
        let allowance = self.allowances.at(norm(x));
        // ∇U was evaluated at x̂, and the gap is that of x̂.
        let residual = self.metric.residual(square, allowance.slope + allowance.shift);
        let bound = theory::transport_gap(0.0, 0.0, 0.0, residual, 0.0);
        self.bounds.push(bound);
        if 0.5 * square <= self.enough || bound <= goal || self.refused {
            return;
        }
        let (d, k) = (x.len(), self.under_way);
        let row = &mut self.paths[k * Path::width(d)..][..Path::width(d)];
        let draw = self.bounds.len() - 1;
        let here = Here { draw, x, potential, slope, bound, goal, allowance };
        Path::new(row, d).start(here, &mut self.trials[k * d..][..d]);
        self.under_way += 1;
        let slots = self.values.len();
        if self.under_way == slots {
            while self.under_way > slots / 2 {
                self.go_on();
            }
        }
    }

    /// Completes all ascents. Returns the mean of Ĝ and the evaluations that it took.
    pub(super) fn finish(self) -> (f64, u64) {
        let (bounds, _, evaluations) = self.into_bounds();
        let mut mean = 0.0;
        for (k, bound) in bounds.iter().enumerate() {
            mean += (bound - mean) / (k + 1) as f64;
        }
        (theory::running_mean_upper(mean, bounds.len() as u64), evaluations)
    }

    /// Completes all ascents. Returns Ĝ of each draw, the first draw whose ascent ended because of other draws, and
    /// the number of evaluations.
    pub(super) fn into_bounds(mut self) -> (Vec<f64>, usize, u64) {
        while self.under_way > 0 {
            self.go_on();
        }
        (self.bounds, self.first_ended, self.evaluations)
    }

    /// Makes one round. If a stop is wanted, ends all ascents; what they have found are valid bounds.
    fn go_on(&mut self) {
        match stop::check_early() {
            Ok(()) => self.round(),
            Err(_) => self.abandon(),
        }
    }

    /// Ends all ascents where they are.
    fn abandon(&mut self) {
        let (d, width) = (self.q.dim(), Path::width(self.q.dim()));
        for path in self.paths[..self.under_way * width].chunks_exact_mut(width) {
            let path = Path::new(path, d);
            path.marks[DONE] = 1.0;
            self.first_ended = self.first_ended.min(path.marks[DRAW] as usize);
        }
        self.dismiss();
    }

    /// One evaluation for every climbing draw. If the target fails at a trial point, stops the ascents and keeps
    /// the bounds so far: no draw of q lies at a trial point, so the failure does not matter for what the draws
    /// prove.
    fn round(&mut self) {
        let (d, count, width) = (self.q.dim(), self.under_way, Path::width(self.q.dim()));
        let (q, metric, allowances) = (self.q, self.metric, self.allowances);
        let (enough, part, most) = (self.enough, self.part, self.most);
        let work = count.saturating_mul(d * (d + 4 * PAIRS));
        let (trials, points) = (&mut self.trials[..count * d], &mut self.points[..count * d]);
        let (values, pulls) = (&mut self.values[..count], &mut self.pulls[..count * d]);
        chunked::fill_together(
            [(&mut *points, TOGETHER * d), (&mut *trials, TOGETHER * d)],
            work,
            |_, [z, y]| q.transport(y, z),
        );
        self.evaluations += count as u64;
        if self.target.evaluate(points, values, pulls, &mut self.scratch).is_err() {
            self.refused = true;
            return self.abandon();
        }
        let values = &*values;
        chunked::fill_together(
            [
                (&mut *points, TOGETHER * d),
                (pulls, TOGETHER * d),
                (trials, TOGETHER * d),
                (&mut self.slopes[..count * d], TOGETHER * d),
                (&mut self.paths[..count * width], TOGETHER * width),
            ],
            work,
            |chunk, [spent, pulls, trials, slopes, paths]| {
                pulls.iter_mut().for_each(|x| *x = -*x);
                provi_kernels::triangle::pull_back(q.factor(), pulls, slopes);
                for (slope, path) in slopes.chunks_exact_mut(d).zip(paths.chunks_exact(width)) {
                    axpy(-1.0, &path[..d], slope);
                }
                // The points are no longer needed; their memory receives what the metric works in.
                spent.copy_from_slice(slopes);
                let squares = metric.squares(spent);
                let values = values[chunk * TOGETHER..].iter();
                let rows = trials.chunks_exact_mut(d).zip(slopes.chunks_exact(d)).zip(values).zip(squares);
                for (path, (((trial, slope), value), square)) in paths.chunks_exact_mut(width).zip(rows) {
                    let path = Path::new(path, d);
                    let allowance = allowances.at(norm(trial));
                    let residual = metric.residual(square, allowance.slope + path.marks[SHIFT]);
                    let there = Place { potential: -value, slope, square, residual, allowance };
                    path.advance(trial, &there, [enough, part], most);
                }
            },
        );
        self.dismiss();
    }

    /// Removes the draws that are done; the last ones take their rows.
    fn dismiss(&mut self) {
        let (d, width) = (self.q.dim(), Path::width(self.q.dim()));
        let mut k = 0;
        while k < self.under_way {
            let path = Path::new(&mut self.paths[k * width..][..width], d);
            let Some((draw, bound)) = path.arrived() else {
                k += 1;
                continue;
            };
            self.bounds[draw] = bound;
            self.under_way -= 1;
            let last = self.under_way;
            self.paths.copy_within(last * width..(last + 1) * width, k * width);
            self.trials.copy_within(last * d..(last + 1) * d, k * d);
        }
    }
}

/// The target at a trial point.
struct Place<'p> {
    potential: f64,
    /// ∇U(y) − x.
    slope: &'p [f64],
    /// ‖∇U(y) − x‖² in the metric, as measured, and its root rounded up.
    square: f64,
    residual: f64,
    /// The rounding allowance there.
    allowance: Allowance,
}

/// A draw, the target's values at it, and the bound that they give.
struct Here<'p> {
    draw: usize,
    x: &'p [f64],
    potential: f64,
    /// ∇U(x) − x.
    slope: &'p [f64],
    bound: f64,
    goal: f64,
    allowance: Allowance,
}

/// The ascent of one draw, stored in a row of numbers: it minimises ψ(y) = V(m + Cy) − x·y.
struct Path<'r> {
    x: &'r mut [f64],
    /// The best point so far in ψ, its slope ∇ψ, and the direction of the next trial.
    y: &'r mut [f64],
    slope: &'r mut [f64],
    direction: &'r mut [f64],
    /// Secant pairs Δy, Δ∇ψ, in turn; a new pair overwrites the oldest.
    pairs: &'r mut [f64],
    /// 1/ΔyᵀΔ∇ψ of each pair, and working memory of the recursion.
    weights: &'r mut [f64],
    marks: &'r mut [f64],
}

/// Indices of single numbers of a path in [`Path::marks`]. The number of the draw.
const DRAW: usize = 0;
/// V at x.
const START: usize = 1;
/// ψ at y.
const HEIGHT: usize = 2;
/// ∇ψ·direction.
const FALL: usize = 3;
const STEP: usize = 4;
/// Number of pairs recorded so far.
const TAKEN: usize = 5;
const SPENT: usize = 6;
/// The smallest Ĝ so far.
const BOUND: usize = 7;
const DONE: usize = 8;
/// Bound of the rounding error of V at x, and of the distance from x̂ to x.
const LOST: usize = 9;
const SHIFT: usize = 10;
/// A bound that is small enough.
const GOAL: usize = 11;
const MARKS: usize = 12;

impl<'r> Path<'r> {
    const fn width(d: usize) -> usize {
        (4 + 2 * PAIRS) * d + 2 * PAIRS + MARKS
    }

    fn new(row: &'r mut [f64], d: usize) -> Self {
        let (x, row) = row.split_at_mut(d);
        let (y, row) = row.split_at_mut(d);
        let (slope, row) = row.split_at_mut(d);
        let (direction, row) = row.split_at_mut(d);
        let (pairs, row) = row.split_at_mut(2 * PAIRS * d);
        let (marks, weights) = row.split_at_mut(MARKS);
        Self { x, y, slope, direction, pairs, weights, marks }
    }

    fn start(mut self, here: Here<'_>, trial: &mut [f64]) {
        self.x.copy_from_slice(here.x);
        self.y.copy_from_slice(here.x);
        self.slope.copy_from_slice(here.slope);
        self.marks.fill(0.0);
        self.marks[DRAW] = here.draw as f64;
        self.marks[START] = here.potential;
        self.marks[HEIGHT] = here.potential - dot(here.x, here.x);
        self.marks[SPENT] = 1.0;
        self.marks[BOUND] = here.bound;
        self.marks[GOAL] = here.goal;
        (self.marks[LOST], self.marks[SHIFT]) = (here.allowance.value, here.allowance.shift);
        self.aim();
        self.try_next(trial);
    }

    /// The number of the draw and its Ĝ, if it is done.
    fn arrived(&self) -> Option<(usize, f64)> {
        (self.marks[DONE] > 0.0).then(|| (self.marks[DRAW] as usize, self.marks[BOUND]))
    }

    /// Uses the values at the trial point, and writes the next trial point. If the target is not finite there, ψ
    /// did not decrease.
    fn advance(mut self, trial: &mut [f64], there: &Place<'_>, [enough, part]: [f64; 2], most: f64) {
        self.marks[SPENT] += 1.0;
        let mut fell = false;
        let mut height = f64::INFINITY;
        if there.potential.is_finite() && there.square.is_finite() {
            let (along, distance) = self.along(trial);
            // A sum of d products; and x̂·(ŷ − x̂) instead of x·(y − x).
            let (size, here, at) = (norm(self.x), self.marks[SHIFT], there.allowance);
            let rounding = (trial.len() + 8) as f64 * f64::EPSILON * size * distance;
            let moved = size * (here + at.shift) + here * (distance + here + at.shift);
            let (start, lost) = (self.marks[START], self.marks[LOST] + at.value + moved);
            let along = along + rounding;
            let bound = theory::transport_gap(start, there.potential, along, there.residual, lost);
            self.marks[BOUND] = self.marks[BOUND].min(bound);
            height = there.potential - dot(self.x, trial);
            fell = height <= self.marks[HEIGHT] + GAIN * self.marks[STEP] * self.marks[FALL];
            let near = 0.5 * there.square <= enough.max(part * self.marks[BOUND]);
            if near || self.marks[BOUND] <= self.marks[GOAL] {
                self.marks[DONE] = 1.0;
            }
        }
        if fell {
            self.remember(trial, there.slope);
            self.y.copy_from_slice(trial);
            self.slope.copy_from_slice(there.slope);
            self.marks[HEIGHT] = height;
            self.aim();
        } else {
            self.shorten(height);
        }
        if self.marks[SPENT] >= most || self.marks[STEP] < LEAST_STEP {
            self.marks[DONE] = 1.0;
        }
        self.try_next(trial);
    }

    /// x·(y − x) and ‖y − x‖.
    fn along(&self, y: &[f64]) -> (f64, f64) {
        let (mut sum, mut square) = (0.0, 0.0);
        for (x, y) in self.x.iter().zip(y) {
            sum += x * (y - x);
            square += (y - x) * (y - x);
        }
        (sum, square.sqrt())
    }

    /// Records the pair of the step to `y`, if it shows curvature.
    fn remember(&mut self, y: &[f64], slope: &[f64]) {
        let d = y.len();
        let place = self.marks[TAKEN] as usize % PAIRS;
        let (step, turn) = self.pairs[2 * place * d..][..2 * d].split_at_mut(d);
        step.iter_mut().zip(y.iter().zip(&*self.y)).for_each(|(s, (new, old))| *s = new - old);
        turn.iter_mut().zip(slope.iter().zip(&*self.slope)).for_each(|(t, (new, old))| *t = new - old);
        if let Some(weight) = secant::weight(step, turn) {
            self.weights[place] = weight;
            self.marks[TAKEN] += 1.0;
        } else if self.marks[TAKEN] >= PAIRS as f64 {
            // The oldest pair was overwritten by a useless one: start again without pairs.
            self.marks[TAKEN] = 0.0;
        }
    }

    /// The direction −B∇ψ by the two-loop recursion. B starts from I, because q is near p; later from the scale of
    /// the last pair.
    fn aim(&mut self) {
        let (d, taken) = (self.x.len(), self.marks[TAKEN] as usize);
        let kept = taken.saturating_sub(PAIRS)..taken;
        let (weights, alphas) = self.weights.split_at_mut(PAIRS);
        let weights = &*weights;
        let v = &mut *self.direction;
        v.copy_from_slice(self.slope);
        let pairs = kept.map(|k| {
            let (step, turn) = self.pairs[2 * (k % PAIRS) * d..][..2 * d].split_at(d);
            (step, turn, weights[k % PAIRS])
        });
        let scale = pairs.clone().next_back().map(secant::initial_scale);
        secant::two_loops(v, pairs, alphas, |v| {
            if let Some(scale) = scale {
                v.iter_mut().for_each(|x| *x *= scale);
            }
        });
        v.iter_mut().for_each(|x| *x = -*x);
        self.marks[FALL] = dot(self.slope, v);
        self.marks[STEP] = 1.0;
        if self.marks[FALL] >= 0.0 || self.marks[FALL].is_nan() {
            // Rounding has spoilt the pairs, or the slope is zero.
            self.marks[TAKEN] = 0.0;
            self.direction.iter_mut().zip(&*self.slope).for_each(|(v, g)| *v = -g);
            self.marks[FALL] = -dot(self.slope, self.slope);
        }
    }

    /// A shorter step: to the minimum of the parabola through the known values, at most half and at least a tenth
    /// of the step.
    fn shorten(&mut self, height: f64) {
        let (step, fall) = (self.marks[STEP], self.marks[FALL]);
        let bend = height - self.marks[HEIGHT] - step * fall;
        let guess =
            if bend.is_finite() && bend > 0.0 { -0.5 * fall * step * step / bend } else { 0.5 * step };
        self.marks[STEP] = guess.clamp(0.1 * step, 0.5 * step);
    }

    fn try_next(&self, trial: &mut [f64]) {
        trial.copy_from_slice(self.y);
        axpy(self.marks[STEP], self.direction, trial);
    }
}

#[cfg(test)]
mod tests;

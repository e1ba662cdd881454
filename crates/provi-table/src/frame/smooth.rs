//! Penalised cubic splines: natural ones and cyclic ones, with coefficients that are independent under the penalty.

use serde::{Deserialize, Serialize};

use super::basis::{distinct, mean, quantile};
use crate::formula::Smoothing;

/// The curve of a smooth: columns z₁..z_{k−2} whose coefficients are N(0, τ²), independently.
///
/// With u = (x − first knot)/(last knot − first knot), a cubic spline f has a second derivative that is linear between knots.
/// If γ are its values there and h the distances of the knots, in units of u,
/// ```text
/// ∫ f″(u)² du = γᵀBγ,   B_ii = (h_{i−1} + h_i)/3,   B_{i,i+1} = h_i/6,   B = LLᵀ
/// ```
/// A natural spline has γ = 0 at both ends, and column j has γ = L⁻ᵀe_j at the others; a cyclic one has Σ γ_i(h_{i−1} + h_i)/2 =
/// 0, and column j has γ = L⁻ᵀq_j with orthonormal q_j ⊥ L⁻¹(h_{i−1} + h_i)/2. So ∫ (Σ b_j z_j″)² = c·Σ b_j²: the prior N(0, τ²) is
/// the penalty of that integral, and what it leaves free is a straight line, or for a cyclic spline a constant.
///
/// Over the n rows from which they were learned, the columns have mean 0, those of a natural spline are orthogonal to x, and
/// Σ_n |z(x_n)|²/n = 1: under the prior, given τ, the mean square of the curve's values over the data, around its straight line, is τ² in
/// expectation.
///
/// Knots of a natural spline are at quantiles of the distinct values, so that none coincide; those of a cyclic one are
/// equidistant from 0 to the period. Beyond its outer knots a natural spline is a straight line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Smooth {
    /// The k knots, ascending; of a cyclic spline, the first and the last are one period apart.
    pub knots: Vec<f64>,
    /// Whether it is cyclic.
    pub cyclic: bool,
    /// The values of each column at the knots.
    pub values: Vec<Vec<f64>>,
    /// The second derivatives of each column with respect to u at the knots.
    pub seconds: Vec<Vec<f64>>,
}

impl Smooth {
    /// The curve over `points`; `None` unless enough of them are distinct ([`Smooth::distinct`]).
    pub(crate) fn learn(points: &[f64], how: Smoothing) -> Option<Self> {
        if Self::distinct(points, how) < Self::needed(how) {
            return None;
        }
        let last = how.knots - 1;
        let knots: Vec<f64> = match how.period {
            Some(period) => (0..=last).map(|i| period * (i as f64 / last as f64)).collect(),
            None => {
                let mut sorted: Vec<f64> = points.iter().map(|x| x + 0.0).collect();
                sorted.sort_unstable_by(f64::total_cmp);
                sorted.dedup_by(|a, b| a.total_cmp(b).is_eq());
                (0..=last).map(|i| quantile(&sorted, i as f64 / last as f64)).collect()
            }
        };
        let mut curve = Self { knots, cyclic: how.period.is_some(), values: Vec::new(), seconds: Vec::new() };
        let steps: Vec<f64> = (0..last).map(|i| curve.step(i)).collect();
        if !steps.iter().all(|step| *step > 0.0) {
            return None;
        }
        curve.seconds = if curve.cyclic { cyclic(&steps)? } else { natural(&steps)? };
        curve.values =
            curve.seconds.iter().map(|seconds| integrated(&steps, seconds, curve.cyclic)).collect();
        // Once more, because rounding leaves a little of what is taken out.
        for _ in 0..2 {
            curve.take_out_the_rest(points);
        }
        let mut row = Vec::new();
        points.iter().for_each(|x| curve.evaluate(*x, &mut row));
        let size = (row.iter().map(|z| z * z).sum::<f64>() / points.len() as f64).sqrt();
        curve.values.iter_mut().chain(&mut curve.seconds).flatten().for_each(|value| *value /= size);
        curve.is_sound().then_some(curve)
    }

    /// The number of distinct points; modulo the period, if there is one.
    pub(crate) fn distinct(points: &[f64], how: Smoothing) -> usize {
        match how.period {
            Some(period) => distinct(&points.iter().map(|x| x.rem_euclid(period)).collect::<Vec<_>>()),
            None => distinct(points),
        }
    }

    /// The number of distinct points that it needs: one for each knot, of which a cyclic one has one less.
    pub(crate) fn needed(how: Smoothing) -> usize {
        how.knots - usize::from(how.period.is_some())
    }

    /// The number of columns, k − 2.
    pub fn count(&self) -> usize {
        self.values.len()
    }

    /// Whether it is what a formula asks for.
    pub(super) fn is(&self, how: Smoothing) -> bool {
        let period = self.cyclic.then(|| self.range());
        self.knots.len() == how.knots && period.map(f64::to_bits) == how.period.map(f64::to_bits)
    }

    /// The distance of the outer knots.
    fn range(&self) -> f64 {
        self.knots[self.knots.len() - 1] - self.knots[0]
    }

    /// The distance of knot i to the next, in units of u.
    fn step(&self, i: usize) -> f64 {
        (self.knots[i + 1] - self.knots[i]) / self.range()
    }

    pub(crate) fn is_sound(&self) -> bool {
        let k = self.knots.len();
        let of_knots = |column: &Vec<f64>| column.len() == k && column.iter().all(|value| value.is_finite());
        k >= 3
            && self.knots.iter().all(|knot| knot.is_finite())
            && self.range().is_finite()
            && self.knots.windows(2).all(|pair| pair[0] < pair[1])
            && (0..k - 1).all(|i| self.step(i) > 0.0)
            && self.values.len() == k - 2
            && self.seconds.len() == k - 2
            && self.values.iter().chain(&self.seconds).all(of_knots)
    }

    /// Subtracts from each column its mean over `points`, and the straight line through them if it is not cyclic.
    fn take_out_the_rest(&mut self, points: &[f64]) {
        let n = points.len();
        let (first, range) = (self.knots[0], self.range());
        let centre = mean(points.iter().map(|x| (x - first) / range));
        let away: Vec<f64> = points.iter().map(|x| (x - first) / range - centre).collect();
        let squares: f64 = away.iter().map(|u| u * u).sum();
        let (mut rows, width) = (Vec::new(), self.count());
        points.iter().for_each(|x| self.evaluate(*x, &mut rows));
        for (j, values) in self.values.iter_mut().enumerate() {
            let column = rows.iter().skip(j).step_by(width);
            let middle = column.clone().sum::<f64>() / n as f64;
            let slope = match self.cyclic {
                true => 0.0,
                false => column.zip(&away).map(|(z, u)| z * u).sum::<f64>() / squares,
            };
            for (value, knot) in values.iter_mut().zip(&self.knots) {
                *value -= middle + slope * ((knot - first) / range - centre);
            }
        }
    }

    /// Where x lies: its place within the period, and the interval of knots.
    fn place(&self, x: f64) -> (f64, usize) {
        let last = self.knots.len() - 1;
        let x = match self.cyclic {
            true => self.knots[0] + (x - self.knots[0]).rem_euclid(self.range()),
            false => x,
        };
        (x, self.knots.partition_point(|knot| *knot <= x).clamp(1, last) - 1)
    }

    /// The columns at x, appended to `row`.
    pub(crate) fn evaluate(&self, x: f64, row: &mut Vec<f64>) {
        self.each(x, |value, _| row.push(value));
    }

    /// The derivatives of the columns at x, appended to `row`.
    pub(super) fn slopes(&self, x: f64, row: &mut Vec<f64>) {
        self.each(x, |_, slope| row.push(slope));
    }

    /// Calls `see` on the value and the derivative of each column at x. On the interval from knot i to i + 1, of length h, with b = the
    /// part of it before x and a = 1 − b,
    /// ```text
    /// f = a·f_i + b·f_{i+1} + ((a³ − a)γ_i + (b³ − b)γ_{i+1})·h²/6
    /// ```
    /// and beyond the outer knots of a natural spline f and f′ continue as those of a straight line.
    fn each(&self, x: f64, mut see: impl FnMut(f64, f64)) {
        let (x, i) = self.place(x);
        let (left, right) = (self.knots[i], self.knots[i + 1]);
        let inside = x.clamp(left, right);
        let (a, b) = ((right - inside) / (right - left), (inside - left) / (right - left));
        let (h, range) = (self.step(i), self.range());
        for (values, seconds) in self.values.iter().zip(&self.seconds) {
            let ([f, g], [s, t]) = ([values[i], values[i + 1]], [seconds[i], seconds[i + 1]]);
            let bent = ((a * a * a - a) * s + (b * b * b - b) * t) * h * h / 6.0;
            let slope = (g - f) / h + ((3.0 * b * b - 1.0) * t - (3.0 * a * a - 1.0) * s) * h / 6.0;
            see(a * f + b * g + bent + slope * ((x - inside) / range), slope / range);
        }
    }
}

/// The lower Cholesky factor of a positive definite matrix.
fn cholesky(matrix: &[Vec<f64>]) -> Option<Vec<Vec<f64>>> {
    let mut factor: Vec<Vec<f64>> = Vec::with_capacity(matrix.len());
    for (i, entries) in matrix.iter().enumerate() {
        let mut row: Vec<f64> = Vec::with_capacity(i + 1);
        for j in 0..=i {
            let above = if j < i { &factor[j] } else { &row };
            let left = entries[j] - row.iter().zip(&above[..j]).map(|(a, b)| a * b).sum::<f64>();
            match j < i {
                true => row.push(left / factor[j][j]),
                false if left > 0.0 => row.push(left.sqrt()),
                false => return None,
            }
        }
        factor.push(row);
    }
    Some(factor)
}

/// L⁻¹b
fn forward(factor: &[Vec<f64>], b: &[f64]) -> Vec<f64> {
    let mut x: Vec<f64> = Vec::with_capacity(b.len());
    for (row, b) in factor.iter().zip(b) {
        let left = b - row.iter().zip(&x).map(|(a, x)| a * x).sum::<f64>();
        x.push(left / row[x.len()]);
    }
    x
}

/// L⁻ᵀb
fn backward(factor: &[Vec<f64>], b: &[f64]) -> Vec<f64> {
    let mut x = b.to_vec();
    for i in (0..x.len()).rev() {
        x[i] /= factor[i][i];
        for j in 0..i {
            x[j] -= factor[i][j] * x[i];
        }
    }
    x
}

fn unit(length: usize, place: usize) -> Vec<f64> {
    (0..length).map(|i| f64::from(u8::from(i == place))).collect()
}

/// The second derivatives at all knots of each column of a natural spline: L⁻ᵀe_j, and 0 at both ends.
fn natural(steps: &[f64]) -> Option<Vec<Vec<f64>>> {
    let inner = steps.len() - 1;
    let entry = |i: usize, j: usize| match i.abs_diff(j) {
        0 => (steps[i] + steps[i + 1]) / 3.0,
        1 => steps[i.max(j)] / 6.0,
        _ => 0.0,
    };
    let matrix: Vec<Vec<f64>> = (0..inner).map(|i| (0..inner).map(|j| entry(i, j)).collect()).collect();
    let factor = cholesky(&matrix)?;
    let column = |j: usize| {
        let own = backward(&factor, &unit(inner, j));
        std::iter::once(0.0).chain(own).chain([0.0]).collect()
    };
    Some((0..inner).map(column).collect())
}

/// The same of a cyclic spline: L⁻ᵀq_j, where q_j are the columns but the first of the reflection that takes L⁻¹w to the first axis.
fn cyclic(steps: &[f64]) -> Option<Vec<Vec<f64>>> {
    let m = steps.len();
    let before = |i: usize| steps[(i + m - 1) % m];
    let mut matrix = vec![vec![0.0; m]; m];
    for i in 0..m {
        let next = (i + 1) % m;
        matrix[i][i] += (before(i) + steps[i]) / 3.0;
        matrix[i][next] += steps[i] / 6.0;
        matrix[next][i] += steps[i] / 6.0;
    }
    let factor = cholesky(&matrix)?;
    let weights: Vec<f64> = (0..m).map(|i| (before(i) + steps[i]) / 2.0).collect();
    let mut normal = forward(&factor, &weights);
    let length = normal.iter().map(|v| v * v).sum::<f64>().sqrt();
    normal[0] += length.copysign(normal[0]);
    let squares: f64 = normal.iter().map(|v| v * v).sum();
    let column = |j: usize| {
        let mut reflected = unit(m, j);
        reflected.iter_mut().zip(&normal).for_each(|(q, v)| *q -= 2.0 * normal[j] * v / squares);
        let own = backward(&factor, &reflected);
        let first = own[0];
        own.into_iter().chain([first]).collect()
    };
    Some((1..m).map(column).collect())
}

/// The values at the knots of a spline with these second derivatives that is 0 at the first knot: with f′ = 0 there, or, if it is cyclic,
/// with the same value at the last knot.
fn integrated(steps: &[f64], seconds: &[f64], cyclic: bool) -> Vec<f64> {
    let from = |mut slope: f64| {
        let mut values = vec![0.0];
        for (i, h) in steps.iter().enumerate() {
            let (s, t) = (seconds[i], seconds[i + 1]);
            values.push(values[i] + slope * h + (2.0 * s + t) * h * h / 6.0);
            slope += (s + t) * h / 2.0;
        }
        values
    };
    let values = from(0.0);
    if !cyclic {
        return values;
    }
    let total: f64 = steps.iter().sum();
    let mut values = from(-values[steps.len()] / total);
    values[steps.len()] = 0.0;
    values
}

#[cfg(test)]
mod tests;

//! Means and deviations of p from the same draws [psi-moments].

use super::Psi;
use crate::base::error::Result;
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::linalg::{congruence, norm};
use crate::base::matrix::packed_index;
use crate::certify::audit::MOMENTS;
use crate::certify::audit::every::{Every, Guesses};
use crate::certify::audit::sharp::{Standing, standing};
use crate::target::expectations::Moments;
use crate::target::rounding::deviations;
use crate::theory::betting::{Wager, not_below};
use provi_kernels::{design, dot, triangle};

/// A part of its range that the mean of a variable is not believed to leave; where it seems to, the bound stops there.
const NEAR: f64 = 0.02;

/// Sums over draws, for each direction v: Y and Y² of Y = weight·Xℓ and of weight·Xℓ², ℓ = v·x, X = ψ − ½P².
pub(super) struct Sums<'a> {
    directions: &'a [f64],
    dim: usize,
    first: Vec<[f64; 2]>,
    second: Vec<[f64; 2]>,
    draws: u64,
    /// The most that a Y may be off by, and the furthest that a place of evaluation may be away.
    lost: [f64; 2],
    shift: f64,
    every: Option<Every>,
    /// ℓ of the last draw in each direction.
    along: Vec<f64>,
}

impl<'a> Sums<'a> {
    pub(super) fn new(directions: &'a [f64], dim: usize) -> Self {
        let count = directions.len() / dim;
        let zeros = || vec![[0.0; 2]; count];
        let every = Every::new(dim).filter(|_| count > 0);
        let along = vec![0.0; count];
        Self {
            directions,
            dim,
            first: zeros(),
            second: zeros(),
            draws: 0,
            lost: [0.0; 2],
            shift: 0.0,
            every,
            along,
        }
    }

    /// ℓ of the last draw in each direction.
    pub(super) fn along(&self) -> &[f64] {
        &self.along
    }

    /// Takes in x with the weighted X there, from below and from above; returns what an ℓ may be off by.
    pub(super) fn take(&mut self, x: &[f64], [low, high]: [f64; 2], shift: f64) -> f64 {
        self.draws += 1;
        let (middle, most, size) = (0.5 * (low + high), low.abs().max(high.abs()), norm(x));
        // ℓ is a sum of d products, for a v that is a unit vector up to rounding.
        let sums = (self.dim as f64 + 8.0) * f64::EPSILON * (1.0 + size) + shift;
        let off =
            [0.5 * (high - low) * size + most * sums, (0.5 * (high - low) * size + 3.0 * most * sums) * size];
        for (lost, off) in self.lost.iter_mut().zip(off) {
            *lost = if off.is_nan() { f64::INFINITY } else { lost.max(off * (1.0 + 1e-9)) };
        }
        self.shift = if shift.is_nan() { f64::INFINITY } else { self.shift.max(shift) };
        if let Some(every) = &mut self.every {
            every.take(x, [middle; 2], off.map(|off| off * (1.0 + 1e-9)));
        }
        design::predict(self.directions, self.dim, x, &mut self.along);
        for ((first, second), l) in self.first.iter_mut().zip(&mut self.second).zip(&self.along) {
            for (to, y) in [(first, middle * l), (second, middle * l * l)] {
                to[0] += y;
                to[1] += y * y;
            }
        }
        sums
    }

    /// Roots of the mean squares of both variables.
    pub(super) fn guesses(&mut self) -> Guesses {
        let squares = self.first.iter().zip(&self.second).map(|(a, b)| [a[1], b[1]]);
        Guesses::new(squares, self.draws, self.every.as_mut())
    }

    /// Bounds of the errors of mean and deviation in every direction, in deviations of q.
    pub(super) fn everywhere(
        &mut self,
        psi: &Psi,
        (q, moments): (&Gaussian<Triangular>, &Moments),
        whole: [f64; 2],
        error: f64,
    ) -> Result<Option<[f64; 2]>> {
        let Some(every) = &mut self.every else { return Ok(None) };
        let delta = MOMENTS * psi.moments_delta;
        let Some(mut found) = every.conclude(psi.ranges, psi.guesses.every, psi.count, delta)? else {
            return Ok(None);
        };
        let (factor, d) = (q.factor_matrix(), q.dim());
        let mut pull = vec![0.0; d];
        triangle::multiply_transposed(q.factor(), &moments.gradient, &mut pull);
        found.first.iter_mut().zip(&pull).for_each(|(first, pull)| *first -= pull);
        found.second.add_scaled(-1.0, &congruence(&moments.hessian, &factor));
        found.second.add_scaled(1.0, &psi.cubic.half_square_matrix());
        (0..d).for_each(|i| found.second[(i, i)] += 1.0);
        // |C||v| ≤ the rows' norms for a unit v, and a form is off by at most d times its entries.
        let lost = rounding(moments, &deviations(q)) * d as f64;
        found.first_error += lost + psi.outside.rest(1);
        found.second_error += lost + error + known_lost(psi);
        found.errors(whole, psi.outside.rest(2), self.shift)
    }

    /// What is proved of each direction, for bounds of ∫p̃ and an f that is off by at most `error`.
    pub(super) fn conclude(
        &self,
        psi: &Psi,
        (q, moments): (&Gaussian<Triangular>, &Moments),
        whole: [f64; 2],
        error: f64,
    ) -> Vec<Standing> {
        let delta = MOMENTS * psi.moments_delta / (4.0 * self.first.len() as f64);
        let n = self.draws.max(1) as f64;
        // A bound of E Y from one side, for Y·sign ≤ `top`; not below −`floor`, so that no bet sees more than their sum. ΣY² and no less:
        // see [`Wager`] and [sharp-moments].
        let side = |sums: [f64; 2], sign: f64, top: f64, floor: f64, guess: f64, off: f64| {
            let wager = Wager::new(top + floor, guess, psi.count, delta);
            let root = (sums[1] / n).sqrt() * (1.0 + 1e-9) + off;
            let lost = (n + 8.0) * f64::EPSILON * root + off;
            not_below(sign * sums[0] / n + wager.margin(self.draws, n * root * root) + lost, -floor)
        };
        let each = self.directions.chunks_exact(self.dim).enumerate();
        each.map(|(k, v)| {
            let (first, second, guess) = (self.first[k], self.second[k], psi.guesses.each[k]);
            let [reach, square] = psi.ranges;
            let mean =
                [-1.0, 1.0].map(|sign| sign * side(first, sign, reach, NEAR * reach, guess[0], self.lost[0]));
            let [below, above] = [-1.0, 1.0]
                .map(|sign| sign * side(second, sign, square, NEAR * square, guess[1], self.lost[1]));
            // The part beyond R is not negative.
            let (known, lost) = (psi.cubic.half_square_along(v), psi.cubic.half_square_lost());
            let [below, above] = [below + known - known_lost(psi), above + known + lost];
            let [pull, bend, lost] = stein(q, moments, v);
            let rest = [psi.outside.rest(1), psi.outside.rest(2)];
            let numerator = [mean[0] - pull - lost - rest[0], mean[1] - pull + lost + rest[0]];
            let squares =
                [below.max(0.0) + 1.0 - bend - lost - error, above + rest[1] + 1.0 - bend + lost + error];
            let tiny = 1e-13;
            let found = standing(
                [numerator[0] - tiny, numerator[1] + tiny],
                [squares[0] - tiny, squares[1] + tiny],
                whole,
            );
            Standing { shift: self.shift, ..found }
        })
        .collect()
    }
}

/// What E_q[½P²ℓ²; r ≤ R] may be off by: rounding, and what is beyond R.
fn known_lost(psi: &Psi) -> f64 {
    let beyond = psi.cubic.half_square_beyond(psi.outside.radius, psi.outside.tails(), 2);
    psi.cubic.half_square_lost() + beyond
}

/// v·E∇U and vᵀ(E∇²U − I)v under q, for a unit v in its coordinates, and what either may be off by.
fn stein(q: &Gaussian<Triangular>, moments: &Moments, v: &[f64]) -> [f64; 3] {
    let d = q.dim();
    let row = |i: usize| &q.factor()[packed_index(i, 0)..=packed_index(i, i)];
    let z: Vec<f64> = (0..d).map(|i| dot(row(i), &v[..=i])).collect();
    // |C||v|, for z may cancel.
    let sizes: Vec<f64> = (0..d).map(|i| row(i).iter().zip(v).map(|(c, v)| (c * v).abs()).sum()).collect();
    let pull = dot(&z, &moments.gradient);
    let bend: f64 = (0..d).map(|i| z[i] * dot(moments.hessian.row(i), &z)).sum();
    [pull, bend - 1.0, rounding(moments, &sizes)]
}

/// What v·E∇U and vᵀE∇²Uv may be off by, where |C||v| is at most `sizes`.
fn rounding(moments: &Moments, sizes: &[f64]) -> f64 {
    let pulls: f64 = sizes.iter().zip(&moments.gradient).map(|(s, g)| s * g.abs()).sum();
    // E∇²V is positive semidefinite: |H_ij| ≤ √(H_iiH_jj).
    let root: f64 = sizes.iter().enumerate().map(|(i, s)| s * moments.hessian[(i, i)].abs().sqrt()).sum();
    let unit = (3.0 * sizes.len() as f64 + 32.0) * f64::EPSILON;
    (moments.gradient_error * norm(sizes) + unit * (pulls + root * root + 1.0)) * (1.0 + 1e-9)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// V = ½(z−c)ᵀH(z−c): both expectations in closed form.
    #[test]
    fn gradients_and_curvatures_under_q_are_pulled_back() {
        let q = Gaussian::<Triangular>::new(&[0.5, -1.0], &[0.8, 0.3, 0.6]).unwrap();
        let mut moments = Moments::new(2);
        moments.gradient = vec![0.7, -0.2];
        moments.hessian.entries_mut().copy_from_slice(&[2.0, 0.5, 0.5, 1.5]);
        moments.gradient_error = 1e-9;
        let v = [0.6, 0.8];
        let z = [0.8 * 0.6, 0.3 * 0.6 + 0.6 * 0.8];
        let [pull, bend, lost] = stein(&q, &moments, &v);
        assert!((pull - (0.7 * z[0] - 0.2 * z[1])).abs() < 1e-15);
        let form = 2.0 * z[0] * z[0] + z[0] * z[1] + 1.5 * z[1] * z[1];
        assert!((bend - (form - 1.0)).abs() < 1e-15);
        assert!(lost > 0.5e-9 * norm(&z) && lost < 2e-9);
    }
}

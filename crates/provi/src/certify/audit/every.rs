//! Means and deviations in every direction at once [every-direction].
//!
//! In the coordinates where q = N(0, I), both sharp routes measure E y of vectors y = c₁x and E Y of matrices Y = c₂xxᵀ, from which
//! ∫ℓp̃ and ∫ℓ²p̃ follow for ℓ = v·x. Betting on matrices bounds v·E y and vᵀE Yv for all unit v together ([`Wager::spread`]): so every
//! linear combination of the coefficients has its mean and deviation bounded, not only those that were thought of before.

use super::sharp::{Standing, standing};
use crate::base::error::Result;
use crate::base::linalg::{eigenvalue_error, eigenvalues, mirror_lower, norm};
use crate::base::matrix::Matrix;
use crate::theory::betting::Wager;
use provi_kernels::{axpy, dot, gram};

/// The most columns; the sums cost 3d²/2 per draw.
const COLUMNS: usize = 100;
/// Draws whose xxᵀ are added together.
const TOGETHER: usize = 32;

/// Sums over draws.
pub(super) struct Every {
    dim: usize,
    draws: u64,
    /// Σy, Σ‖y‖² and Σyyᵀ.
    first: Vec<f64>,
    lengths: f64,
    first_squares: Matrix,
    /// ΣY and ΣY².
    second: Matrix,
    second_squares: Matrix,
    /// The last x, whose xxᵀ are added to the three together with these weights, and room for that.
    recent: Vec<f64>,
    weights: [Vec<f64>; 3],
    room: Vec<f64>,
    /// The most that a y and a Y may be off by.
    lost: [f64; 2],
}

/// What a pilot tells the bets: standard deviations of the two variables for each direction, and in every direction.
#[derive(Clone, Debug, Default)]
pub(super) struct Guesses {
    pub(super) each: Vec<[f64; 2]>,
    pub(super) every: [f64; 2],
}

impl Guesses {
    /// From ΣY² of both variables in each direction, over a number of draws whose Y have means near zero.
    pub(super) fn new(
        squares: impl Iterator<Item = [f64; 2]>,
        draws: u64,
        every: Option<&mut Every>,
    ) -> Self {
        let n = draws.max(1) as f64;
        Self {
            each: squares.map(|sums| sums.map(|s| (s / n).sqrt())).collect(),
            every: every.map_or([0.0; 2], Every::deviations),
        }
    }

    /// The largest of the variables that measure means.
    pub(super) fn largest_mean(&self) -> f64 {
        self.each.iter().map(|guess| guess[0]).fold(0.0, f64::max)
    }
}

/// Bounds of v·E y and vᵀE Yv for all unit v: a vector and a matrix, and the most that each is off by.
pub(super) struct Everywhere {
    pub(super) first: Vec<f64>,
    pub(super) first_error: f64,
    pub(super) second: Matrix,
    pub(super) second_error: f64,
}

impl Every {
    /// `None` if there are too many columns.
    pub(super) fn new(dim: usize) -> Option<Self> {
        let square = || Matrix::zeros(dim, dim);
        (dim <= COLUMNS).then(|| Self {
            dim,
            draws: 0,
            first: vec![0.0; dim],
            lengths: 0.0,
            first_squares: square(),
            second: square(),
            second_squares: square(),
            recent: Vec::with_capacity(TOGETHER * dim),
            weights: [const { Vec::new() }; 3],
            room: vec![0.0; TOGETHER * dim],
            lost: [0.0; 2],
        })
    }

    /// Adds y = c₁x and Y = c₂xxᵀ, which may be off by `off`.
    pub(super) fn take(&mut self, x: &[f64], [first, second]: [f64; 2], off: [f64; 2]) {
        self.draws += 1;
        let square = dot(x, x);
        axpy(first, x, &mut self.first);
        self.lengths += first * first * square;
        self.recent.extend_from_slice(x);
        for (weights, w) in self.weights.iter_mut().zip([first * first, second, second * second * square]) {
            weights.push(w);
        }
        if self.recent.len() == self.room.len() {
            self.settle();
        }
        for (lost, off) in self.lost.iter_mut().zip(off) {
            *lost = if off.is_nan() { f64::INFINITY } else { lost.max(off) };
        }
    }

    /// Adds what is left of the sums of xxᵀ.
    fn settle(&mut self) {
        let sums = [&mut self.first_squares, &mut self.second, &mut self.second_squares];
        for (sum, weights) in sums.into_iter().zip(&mut self.weights) {
            let room = &mut self.room[..self.recent.len()];
            gram::add_lower(&self.recent, self.dim, weights, room, sum.entries_mut());
            weights.clear();
        }
        self.recent.clear();
    }

    /// Roots of the mean squares of y and Y in a typical direction: what a pilot tells the bets.
    pub(super) fn deviations(&mut self) -> [f64; 2] {
        self.settle();
        let n = self.draws.max(1) as f64;
        let second = self.trace() / self.dim as f64;
        // √(E‖y‖² · E(v·y)²) is what the bound of a mean is made of.
        [self.lengths / (self.dim as f64).sqrt(), second].map(|sum| (sum / n).sqrt())
    }

    fn trace(&self) -> f64 {
        (0..self.dim).map(|i| self.second_squares[(i, i)]).sum()
    }

    /// What holds with probability 1 − δ for every number of draws at once, where ‖y‖ and ‖Y‖ are at most `ranges`.
    pub(super) fn conclude(
        &mut self,
        ranges: [f64; 2],
        guesses: [f64; 2],
        planned: u64,
        delta: f64,
    ) -> Result<Option<Everywhere>> {
        self.settle();
        let (d, n) = (self.dim, self.draws as f64);
        for sum in [&mut self.first_squares, &mut self.second, &mut self.second_squares] {
            mirror_lower(sum);
        }
        let sums = [&self.first_squares, &self.second, &self.second_squares];
        let sums = sums.into_iter().flat_map(Matrix::entries);
        if self.draws == 0 || !self.lost.iter().chain(&self.first).chain(sums).all(|x| x.is_finite()) {
            return Ok(None);
        }
        // One statement of matrices of size d + 1, which holds for ±y, and two of size d.
        let wager =
            |k: usize, size: usize| Wager::new(ranges[k], guesses[k], planned, delta / (3 * size) as f64);
        let largest = |sum: &Matrix| -> Result<f64> {
            let values = eigenvalues("moments of the draws", sum)?;
            Ok((values[d - 1] + eigenvalue_error(sum)).max(0.0))
        };
        // A sum of squares of numbers that are each off by `lost`, with what n additions lose.
        let widened = |squares: f64, lost: f64| {
            let root = (squares / n).sqrt() * (1.0 + (n + 8.0) * f64::EPSILON) + lost;
            n * root * root
        };
        let unit = (n + 16.0) * f64::EPSILON;
        // The matrix of y is [0 yᵀ; y 0], and its square [‖y‖² 0; 0 yyᵀ]: for (α, v), 2αv·(E y − ȳ) ≤ α²A + B, and the best α gives √(AB).
        let bet = wager(0, d + 1);
        let whole = bet.spread(self.draws, widened(self.lengths, self.lost[0]));
        let one = bet.spread(self.draws, widened(largest(&self.first_squares)?, self.lost[0]));
        let first_error = (whole * one).sqrt() + self.lost[0] + unit * (self.lengths / n).sqrt();
        let bet = wager(1, d);
        let spread = bet.spread(self.draws, widened(largest(&self.second_squares)?, self.lost[1]));
        let second_error = spread + self.lost[1] + unit * (self.trace() / n).sqrt();
        let mut second = self.second.clone();
        second.entries_mut().iter_mut().for_each(|x| *x /= n);
        let first = self.first.iter().map(|x| x / n).collect();
        Ok(Some(Everywhere { first, first_error, second, second_error }))
    }
}

impl Everywhere {
    /// Bounds of the errors of mean and deviation in every direction, in deviations of q, where ∫ℓp̃ = v·first and ∫ℓ²p̃ = 1 + vᵀ(second)v
    /// up to the errors, and ∫p̃ lies in `whole`. The second moments may be larger by `more`.
    pub(super) fn errors(&self, whole: [f64; 2], more: f64, shift: f64) -> Result<Option<[f64; 2]>> {
        let d = self.first.len();
        let values = eigenvalues("moments of the posterior", &self.second)?;
        let lost = eigenvalue_error(&self.second) + self.second_error + 1e-13;
        let mean = norm(&self.first) * (1.0 + 1e-12) + self.first_error + 1e-13;
        let squares = [1.0 + values[0] - lost, 1.0 + values[d - 1] + lost + more];
        let errors = Standing { shift, ..standing([-mean, mean], squares, whole) }.errors();
        Ok(errors.iter().all(|x| x.is_finite()).then_some(errors))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::draws::{Draws, Purpose, Seed};

    /// x uniform on the sphere of radius √3: E x = 0, E xxᵀ = I. A tilt c = 1 + ½x₁ has E cx = ½e₁, and a stretch c = 1 + ½(x₁² − 1) has E cx₁² = 1.4,
    /// by E x₁⁴ = 9/5.
    #[test]
    fn every_direction_is_covered_and_a_shift_is_seen() {
        let (d, n) = (3, 20_000u64);
        let draws = Draws::new(Seed(5), Purpose::Sample);
        let measured = |c: &dyn Fn(&[f64]) -> f64| {
            let mut every = Every::new(d).unwrap();
            let mut x = vec![0.0; d];
            for k in 0..n {
                draws.fill(k, 0, &mut x);
                let size = norm(&x);
                x.iter_mut().for_each(|x| *x *= 3f64.sqrt() / size);
                every.take(&x, [c(&x); 2], [0.0; 2]);
            }
            let guesses = every.deviations();
            every.conclude([6.0, 12.0], guesses, n, 1e-6).unwrap().unwrap()
        };
        let plain = measured(&|_| 1.0);
        assert!(norm(&plain.first) < plain.first_error, "{:?} {}", plain.first, plain.first_error);
        // √(2·17·E‖y‖·…/n): no more than a few times what one direction would need.
        assert!(
            plain.first_error < 0.15 && plain.second_error < 0.15,
            "{} {}",
            plain.first_error,
            plain.second_error
        );
        for (i, j) in [(0, 0), (1, 0), (2, 1), (2, 2)] {
            let truth = f64::from(u8::from(i == j));
            assert!((plain.second[(i, j)] - truth).abs() < plain.second_error);
        }
        let tilted = measured(&|x| 1.0 + 0.5 * x[0]);
        assert!((tilted.first[0] - 0.5).abs() < tilted.first_error && tilted.first[0] > tilted.first_error);
        let stretched = measured(&|x| 1.0 + 0.5 * (x[0] * x[0] - 1.0));
        assert!((stretched.second[(0, 0)] - 1.4).abs() < stretched.second_error);
        assert!(stretched.second[(0, 0)] - 1.0 > stretched.second_error, "{}", stretched.second_error);
    }

    #[test]
    fn a_number_that_is_not_finite_proves_nothing() {
        let mut every = Every::new(2).unwrap();
        every.take(&[1.0, 0.5], [f64::NAN; 2], [0.0; 2]);
        assert!(every.conclude([1.0; 2], [0.1; 2], 10, 1e-6).unwrap().is_none());
        assert!(Every::new(2).unwrap().conclude([1.0; 2], [0.1; 2], 10, 1e-6).unwrap().is_none());
        assert!(Every::new(COLUMNS + 1).is_none());
    }
}

//! Means and standard deviations of p from the same draws [sharp-moments].
//!
//! For a unit vector v and ℓ = v·x, with p̃ and h as in [`super`]:
//! ```text
//! ∫ℓp̃  = E_q[ℓ min(ϖ, K)] + R₁,   |R₁| ≤ ∫|ℓ|(min(p̃, h) − Kq)₊ + ∫|ℓ|(p̃ − h)₊
//! ∫ℓ²p̃ = E_q[ℓ² min(ϖ, K)] + R₂,  0 ≤ R₂ ≤ the same with ℓ²
//! ```
//! Under q the variables are taken in antithetic pairs, with ℓ clipped at ±T: the clipping leaves out at most
//! K·E(|ξ| − T)₊ and K·E(ξ² − T²)₊. R₁ and R₂ follow from the bounds of the two small means alone ([`santalo`]): of
//! all densities below h with that mass, the one at the ends has the largest moments.

use crate::base::error::Result;
use crate::base::linalg::norm;
use crate::base::special::{normal_cdf, normal_density};
use crate::certify::audit::MOMENTS;
use crate::certify::audit::every::{Every, Guesses};
use crate::theory::betting::{Wager, not_below};
use crate::theory::envelope::tail_moments;
use crate::theory::santalo;
use provi_kernels::design;

/// T.
const CUT: f64 = 3.5;
/// The part of a variable's range in which its mean is expected; if the mean seems to lie outside, the bound stops
/// at its end.
const NEAR: f64 = 0.1;

/// 2∫_T^∞ (x − T) and 2∫_T^∞ (x² − T²) under the standard normal distribution, rounded up.
fn beyond_the_cut() -> [f64; 2] {
    let (density, tail) = (normal_density(CUT), normal_cdf(-CUT));
    let up = 1.0 + 1e-9;
    [2.0 * (density - CUT * tail) * up, 2.0 * (CUT * density + (1.0 - CUT * CUT) * tail) * up]
}

/// The mean and the standard deviation under p of a linear function that q makes standard normal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Standing {
    pub(crate) mean: [f64; 2],
    pub(crate) deviation: [f64; 2],
    /// Bound of the rounding error in q's own numbers.
    pub(crate) shift: f64,
}

impl Standing {
    /// Bounds of the distance of mean and standard deviation from q's 0 and 1.
    pub(crate) fn errors(&self) -> [f64; 2] {
        let [low, high] = self.mean;
        let [least, most] = self.deviation;
        [not_below(high, -low) + self.shift, not_below(most - 1.0, 1.0 - least) + self.shift]
    }

    /// Intervals of mean and standard deviation under p, for a function that has this mean and that standard
    /// deviation under q. `lost` bounds the rounding error of both.
    pub(crate) fn interval(&self, mean: f64, deviation: f64, lost: f64) -> [[f64; 2]; 2] {
        let (up, down) = (deviation * (1.0 + 1e-12) + lost, (deviation * (1.0 - 1e-12) - lost).max(0.0));
        // A multiple of an interval of non-negative numbers, rounded outwards.
        let low = |x: f64| if x < 0.0 { up * x } else { down * x };
        let high = |x: f64| if x > 0.0 { up * x } else { down * x };
        let off = up * self.shift + 2.0 * lost;
        let (least, most) = (low(self.mean[0]) - off, high(self.mean[1]) + off);
        // Adding the mean rounds once more.
        let last = f64::EPSILON * (mean.abs() + least.abs().max(most.abs()));
        let deviation = [(low(self.deviation[0]) - off).max(0.0), high(self.deviation[1]) + off];
        [[mean + least - last, mean + most + last], deviation]
    }
}

/// Sums over pairs, for each direction.
pub(super) struct Sums {
    /// Unit vectors, one after the other.
    directions: Vec<f64>,
    dim: usize,
    /// Σ Y and Σ Y² of Y = ½ℓ(w₊ − w₋) and of Y = ℓ²(½(w₊ + w₋) − 1), with ℓ clipped.
    odd: Vec<[f64; 2]>,
    even: Vec<[f64; 2]>,
    pairs: u64,
    /// The largest error of a weight, and the largest distance to a point of evaluation.
    lost: f64,
    shift: f64,
    every: Option<Every>,
    /// ℓ of the last pair in each direction, not clipped.
    along: Vec<f64>,
}

/// Draws further out than this count for no direction at once.
fn reach(dim: usize) -> f64 {
    (dim as f64).sqrt() + CUT
}

impl Sums {
    pub(super) fn new(directions: Vec<f64>, dim: usize) -> Self {
        let count = directions.len() / dim;
        let every = Every::new(dim).filter(|_| count > 0);
        Self {
            directions,
            dim,
            odd: vec![[0.0; 2]; count],
            even: vec![[0.0; 2]; count],
            pairs: 0,
            lost: 0.0,
            shift: 0.0,
            every,
            along: vec![0.0; count],
        }
    }

    /// ℓ of the last pair in each direction.
    pub(super) fn along(&self) -> &[f64] {
        &self.along
    }

    /// Adds x with the bounds of min(ϖ, K) at x and at −x, each from below and from above; returns what an ℓ may be off by.
    pub(super) fn take(&mut self, x: &[f64], here: [f64; 2], there: [f64; 2], shift: f64) -> f64 {
        let middle = |[low, high]: [f64; 2]| 0.5 * (low + high);
        let off = (here[1] - here[0]).max(there[1] - there[0]);
        // A NaN makes the error infinite.
        self.lost = if off.is_nan() { f64::INFINITY } else { self.lost.max(off) };
        self.shift = if shift.is_nan() { f64::INFINITY } else { self.shift.max(shift) };
        self.pairs += 1;
        let (odd, even) = (0.5 * (middle(here) - middle(there)), 0.5 * (middle(here) + middle(there)) - 1.0);
        if let Some(every) = &mut self.every {
            let size = norm(x);
            let inside = f64::from(u8::from(size <= reach(self.dim)));
            let off = (off + 16.0 * f64::EPSILON * (odd.abs() + even.abs())) * size * inside;
            every.take(x, [odd * inside, even * inside], [off, off * size]);
        }
        design::predict(&self.directions, self.dim, x, &mut self.along);
        for ((odds, evens), l) in self.odd.iter_mut().zip(&mut self.even).zip(&self.along) {
            let l = l.clamp(-CUT, CUT);
            for (sums, y) in [(odds, l * odd), (evens, l * l * even)] {
                sums[0] += y;
                sums[1] += y * y;
            }
        }
        (self.dim as f64 + 8.0) * f64::EPSILON * (1.0 + norm(x)) + shift
    }

    /// Whether weights are known from both sides.
    pub(super) fn is_sharp(&self) -> bool {
        self.pairs > 0 && self.lost < 1e-3
    }

    /// The standard deviations of the two variables.
    pub(super) fn guesses(&mut self) -> Guesses {
        let squares = self.odd.iter().zip(&self.even).map(|(odd, even)| [odd[1], even[1]]);
        Guesses::new(squares, self.pairs, self.every.as_mut())
    }

    /// Bounds of the errors of mean and deviation in every direction, in deviations of q [every-direction]. `spread` bounds the deviation
    /// under h.
    pub(super) fn everywhere(
        &mut self,
        guesses: &Guesses,
        spread: f64,
        rest: &Rest,
    ) -> Result<Option<[f64; 2]>> {
        let Some(every) = &mut self.every else { return Ok(None) };
        let (d, k, reach) = (self.dim as f64, rest.cap, reach(self.dim) * (1.0 + 1e-12));
        let ranges = [0.5 * k * reach, (k - 1.0).max(1.0) * reach * reach];
        let found =
            every.conclude(ranges, guesses.every, rest.planned, MOMENTS * rest.failure_probability)?;
        let Some(mut found) = found else { return Ok(None) };
        // Outside the reach, in one direction: E[|v·x|; r > T] ≤ E[r; r > T]/√d and E[(v·x)²; r > T] = E[r²; r > T]/d. A draw that rounding moved
        // over it counts in neither.
        let tails = tail_moments(self.dim, reach * (1.0 - 1e-9));
        let [inner, outer] = [santalo::rare_moments(rest.inner), rest.beyond()];
        let beyond = [0, 1].map(|j| spread.powi(j + 1) * (rest.mass * inner[j as usize] + outer[j as usize]));
        found.first_error += k * tails[1] / d.sqrt() + beyond[0];
        found.second_error += tails[2] / d;
        found.errors(rest.whole, k * tails[2] / d + beyond[1], self.shift)
    }

    /// What is proved about each direction. `guesses` are standard deviations from a pilot; `spreads` those of ℓ
    /// under h; `mass` bounds ∫p̃ from both sides; `failure_probability` is for all directions together.
    pub(super) fn conclude(&self, guesses: &Guesses, spreads: &[f64], rest: &Rest) -> Vec<Standing> {
        let delta = MOMENTS * rest.failure_probability / (4.0 * self.odd.len() as f64);
        let [inner, outer] = [santalo::rare_moments(rest.inner), rest.beyond()];
        let cut = beyond_the_cut();
        let (n, k, d) = (self.pairs.max(1) as f64, rest.cap, self.dim as f64);
        // ℓ is a sum of d products, for a v that is a unit vector up to rounding.
        let sums = (d + 8.0) * f64::EPSILON * (d.sqrt() + 40.0) * k;
        let all = (0..self.odd.len()).map(|i| {
            let spread = spreads[i] * (1.0 + 1e-9);
            // A bound of E Y from one side, for Y·sign ≤ `top`: not below −NEAR·`scale`, so that no bet sees more than their sum.
            // ΣY² and no less: where Ȳ is so far below that stop that a larger μ would win less, it makes the margin infinite. Each Y
            // may be off by `off`.
            let side = |sums: [f64; 2], sign: f64, top: f64, scale: f64, guess: f64, off: f64| {
                let wager = Wager::new(top + NEAR * scale, guess, rest.planned, delta);
                let root = (sums[1] / n).sqrt() + off;
                // The rounding error is at most n·ε of Σ|Y| ≤ √(nΣY²).
                let lost = (n + 8.0) * f64::EPSILON * root;
                not_below(
                    sign * sums[0] / n + wager.margin(self.pairs, n * root * root) + lost,
                    -NEAR * scale,
                )
            };
            let (odd, even, guess) = (self.odd[i], self.even[i], guesses.each[i]);
            let reach = CUT * k;
            let tail = spread * (rest.mass * inner[0] + outer[0]) + k * cut[0] + CUT * (self.lost + sums);
            let mean = [-1.0, 1.0]
                .map(|sign| sign * (side(odd, sign, 0.5 * reach, reach, guess[0], CUT * self.lost) + tail));
            let square = CUT * CUT;
            let above = side(even, 1.0, square * (k - 1.0).max(0.0), square, guess[1], square * self.lost);
            let below = -side(even, -1.0, square, square, guess[1], square * self.lost);
            let slop = square * (self.lost + sums);
            let far = spread * spread * (rest.mass * inner[1] + outer[1]);
            let second =
                [below + 1.0 - cut[1] - slop, above + 1.0 + (k - 1.0).max(0.0) * cut[1] + slop + far];
            Standing { shift: self.shift, ..standing(mean, second, rest.whole) }
        });
        all.collect()
    }
}

/// What is known about p̃ besides the pairs.
pub(super) struct Rest {
    /// K.
    pub(super) cap: f64,
    pub(super) planned: u64,
    pub(super) failure_probability: f64,
    /// M, and bounds of the two small means under it: of (min(p̃, h) − Kq)₊/h, and η.
    pub(super) mass: f64,
    pub(super) inner: f64,
    pub(super) eta: f64,
    /// ∫p̃ from both sides.
    pub(super) whole: [f64; 2],
}

impl Rest {
    fn beyond(&self) -> [f64; 2] {
        [santalo::first_beyond(self.mass, self.eta), santalo::second_beyond(self.mass, self.eta)]
    }
}

/// ∫ℓp̃ and ∫ℓ²p̃ over ∫p̃.
pub(in crate::certify::audit) fn standing(first: [f64; 2], second: [f64; 2], whole: [f64; 2]) -> Standing {
    let [least, most] = whole;
    // The mass that makes the quotient smallest or largest, by its sign.
    let low = if first[0] < 0.0 { first[0] / least } else { first[0] / most };
    let high = if first[1] > 0.0 { first[1] / least } else { first[1] / most };
    let largest = low.abs().max(high.abs());
    let (up, down) = (1.0 + 1e-12, 1.0 - 1e-12);
    let square = (second[0] / most * down - largest * largest).max(0.0);
    let widen = 1e-12 * (1.0 + largest);
    Standing {
        mean: [low - widen, high + widen],
        deviation: [square.sqrt() * down, (second[1] / least * up).sqrt() * up],
        shift: 0.0,
    }
}

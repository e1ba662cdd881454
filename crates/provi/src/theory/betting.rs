//! Confidence bounds for means of bounded variables, by betting. They hold for every number of draws at once.
//!
//! A bettor bets that the mean of Y ∈ [0, 1] is below μ: the i-th bet λ_i turns a wealth W into W·(1 − λ_i(Y_i −
//! μ)). If the mean is at least μ, these bets lose on average, so the probability that W ever reaches 1/δ is at
//! most δ (Ville). A μ with W(μ) ≥ 1/δ is therefore above the mean, with probability at least 1 − δ, and looking
//! after every draw costs nothing. (Waudby-Smith and Ramdas, *Estimating means of bounded random variables by
//! betting*, 2024.)

/// A bet always leaves at least this share of the wealth.
const LEFT: f64 = 0.05;

/// An upper confidence bound of E Y from independent draws of Y ∈ [0, 1], in their order \[betting\]:
/// ```text
/// inf{μ ≥ floor : Π_i (1 − λ_i(Y_i − μ)) ≥ 1/δ},   λ_i = min{√(2 log(1/δ)/(n v_{i−1})), 0.95/(1 − floor)}
/// ```
/// where n is the number of planned draws and v_{i−1} the variance of the draws before the i-th. It holds for every
/// number of draws at once with probability 1 − δ: the draws may end at any time, for any reason. No smaller answer
/// than `floor` is needed; a `floor` that is known to be below the mean allows larger bets.
///
/// log W is increasing and concave in μ, so Newton's steps from the left never pass the root. A bound of the
/// rounding error of log W is subtracted.
pub fn mean_upper(draws: &[f64], planned: u64, floor: f64, failure_probability: f64) -> f64 {
    let log = (1.0 / failure_probability).ln() * (1.0 + 1e-12);
    let floor = floor.clamp(0.0, 0.999);
    let cap = (1.0 - LEFT) / (1.0 - floor);
    let bets = bets(draws, planned.max(1) as f64, log, cap);
    // log W, its slope in μ, and a bound of its rounding error.
    let wealth = |mean: f64| {
        let (mut sum, mut slope, mut size) = (0.0, 0.0, 0.0);
        for (y, bet) in draws.iter().zip(&bets) {
            let gain = -bet * (y - mean);
            let grown = gain.ln_1p();
            sum += grown;
            size += grown.abs();
            slope += bet / (1.0 + gain);
        }
        (sum - (draws.len() + 16) as f64 * f64::EPSILON * size, slope)
    };
    let mut mean = floor;
    for _ in 0..100 {
        let (found, slope) = wealth(mean);
        if found >= log {
            return mean.min(1.0);
        }
        // A little too far, so that the last step reaches the root.
        let step = (log - found) / slope;
        mean += step * (1.0 + 1e-9) + 1e-15;
        if mean >= 1.0 || mean.is_nan() {
            return 1.0;
        }
    }
    1.0
}

/// An upper bound that is not needed below `floor`. A NaN is no bound.
pub(crate) fn not_below(bound: f64, floor: f64) -> f64 {
    if bound.is_nan() { f64::INFINITY } else { bound.max(floor) }
}

/// A lower confidence bound of E Y: one minus the upper bound of 1 − Y. No larger answer than `ceiling` is needed.
pub fn mean_lower(draws: &[f64], planned: u64, ceiling: f64, failure_probability: f64) -> f64 {
    let flipped: Vec<f64> = draws.iter().map(|y| 1.0 - y).collect();
    (1.0 - mean_upper(&flipped, planned, 1.0 - ceiling, failure_probability) - f64::EPSILON).max(0.0)
}

/// One bet for all draws, fixed beforehand: its bound needs only Σ(Y−Ȳ)², not the single draws.
#[derive(Clone, Copy, Debug)]
pub struct Wager {
    /// The bet λ.
    bet: f64,
    /// κ with log(1 − x) ≥ −x − κx² for x ≤ λ·range.
    bend: f64,
    log: f64,
}

impl Wager {
    /// For `planned` draws of a Y with Y − E Y ≤ `range` and a standard deviation of about `deviation`: of a few bets the one that would leave
    /// the least margin.
    pub fn new(range: f64, deviation: f64, planned: u64, failure_probability: f64) -> Self {
        let log = (1.0 / failure_probability).ln() * (1.0 + 1e-12);
        let made = |share: f64| Self { bet: share / range, bend: bend(share), log };
        let shares = std::iter::successors(Some(1.0 - LEFT), |share| (*share > 1e-6).then_some(0.85 * share));
        let squares = planned as f64 * deviation * deviation;
        let all = shares.map(made).map(|wager| (wager.margin(planned, squares), wager));
        all.fold((f64::INFINITY, made(0.5)), |best, next| if next.0 < best.0 { next } else { best }).1
    }

    /// t such that, with probability at least 1 − δ, E Y ≤ Ȳ + t for every number n of draws at once \[betting\]; `squares` ≥ Σ(Y−Ȳ)². From
    /// ```text
    /// log Π(1 − λ(Y−μ)) ≥ nλt − κλ²(Σ(Y−Ȳ)² + nt²) ≥ log(1/δ),   t = μ − Ȳ
    /// ```
    /// Infinite if no t is large enough.
    pub fn margin(&self, draws: u64, squares: f64) -> f64 {
        let n = draws as f64;
        let square = self.bend * self.bet * self.bet;
        let (linear, needed) = (n * self.bet, self.log + square * squares * (1.0 + 1e-9));
        let discriminant = linear * linear - 4.0 * n * square * needed;
        if discriminant.is_nan() || discriminant < 0.0 {
            return f64::INFINITY;
        }
        // The smaller root, without cancellation.
        2.0 * needed / (linear + discriminant.sqrt()) * (1.0 + 1e-9)
    }

    /// The same for symmetric matrices, in every direction at once \[every-direction\]: for λ_max(Y) ≤ `range` and δ divided by their
    /// size, with probability at least 1 − δ for every number n of draws
    /// ```text
    /// E Y ⪯ Ȳ + κλΣY²/n + log(1/δ)/(nλ)
    /// ```
    /// Returns vᵀ(the last two terms)v for a unit v with `squares` ≥ vᵀΣY²v. Nothing is subtracted from Y², because Ȳ and Y need not
    /// commute.
    pub fn spread(&self, draws: u64, squares: f64) -> f64 {
        let n = draws as f64;
        (self.bend * self.bet * squares + self.log / self.bet) / n * (1.0 + 1e-9)
    }
}

/// (−x − log(1−x))/x², rounded up. It grows with x; below 1/1000 it is ½ + x/3 plus terms that stay below x.
fn bend(x: f64) -> f64 {
    if x < 1e-3 { 0.5 + x } else { (-x - (-x).ln_1p()) / (x * x) * (1.0 + 1e-9) }
}

/// The bets λ_i, each computed from the draws before it.
fn bets(draws: &[f64], planned: f64, log: f64, cap: f64) -> Vec<f64> {
    // Before any draw: a variance of 1/4, the largest possible.
    let (mut mean, mut squares) = (0.5, 0.25);
    let each = draws.iter().enumerate().map(|(i, y)| {
        let variance = squares / (i + 1) as f64;
        let bet = (2.0 * log / (planned * variance)).sqrt().min(cap);
        let off = y - mean;
        squares += off * off;
        mean += off / (i + 2) as f64;
        bet
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::draws::{Draws, Purpose, Seed};

    fn uniforms(stream: u64, count: usize) -> Vec<f64> {
        let mut out = vec![0.0; count];
        Draws::new(Seed(stream), Purpose::Sample).uniforms(0, 0, &mut out);
        out
    }

    /// Y = c·xxᵀ with x on four points of the plane and c heavy: E Y in closed form. At δ = 1/20 over 400 runs a bound that holds fails at
    /// most 20 times on average, and more than 40 times with probability below 1e-5. Without the sum of squares, or at the δ of a number,
    /// it is smaller; without the term of confidence it fails in most runs.
    #[test]
    fn matrices_are_bounded_in_every_direction() {
        let points = [[1.0, 0.0], [0.6, 0.8], [-0.8, 0.6], [0.0, 1.0]];
        let (draws, delta) = (400u64, 0.05);
        let wager = Wager::new(4.0, 0.6, draws, delta / 2.0);
        let mean = {
            // c is 4 with probability 1/16, and 0 otherwise, at each of the points alike.
            let mut sum = [0.0; 3];
            for [a, b] in points {
                for (s, y) in sum.iter_mut().zip([a * a, a * b, b * b]) {
                    *s += 0.25 * 0.25 * y;
                }
            }
            sum
        };
        let (mut failed, mut planted) = (0, 0);
        for run in 0..400 {
            let u = uniforms(1000 + run, 2 * draws as usize);
            let (mut first, mut second) = ([0.0; 3], [0.0; 3]);
            for pair in u.chunks_exact(2) {
                let [a, b] = points[(4.0 * pair[0]) as usize];
                let c = if pair[1] < 1.0 / 16.0 { 4.0 } else { 0.0 };
                for (k, y) in [a * a, a * b, b * b].into_iter().enumerate() {
                    first[k] += c * y / draws as f64;
                    // x has length 1.
                    second[k] += c * c * y;
                }
            }
            let exceeds = |factor: f64| {
                (0..180).any(|turn| {
                    let (b, a) = f64::from(turn).to_radians().sin_cos();
                    let form = |m: [f64; 3]| a * a * m[0] + 2.0 * a * b * m[1] + b * b * m[2];
                    form(mean) > form(first) + factor * wager.spread(draws, form(second))
                })
            };
            failed += usize::from(exceeds(1.0));
            planted += usize::from(exceeds(0.1));
        }
        assert!(failed <= 40, "{failed}");
        assert!(planted > 40, "{planted}");
    }

    /// Difficult distributions on [0, 1] with their means.
    type Law = (&'static str, fn(f64) -> f64, f64);

    const LAWS: [Law; 6] = [
        ("rare", |u| if u < 0.002 { 1.0 } else { 0.0 }, 0.002),
        ("often", |u| if u < 0.97 { 1.0 } else { 0.0 }, 0.97),
        ("coin", |u| if u < 0.5 { 1.0 } else { 0.0 }, 0.5),
        ("skewed", |u| u * u * u * u, 0.2),
        ("narrow", |u| 0.7 + 0.01 * u, 0.705),
        ("constant", |_| 0.25, 0.25),
    ];

    /// At δ = 1/20 over 400 runs, with a look after every tenth draw: an exact bound would be expected to fail at most 20 times, and the
    /// chance of more than 40 is below 1e-5. A bound at ten times the δ fails more often, which the same count sees.
    #[test]
    fn bounds_cover_at_every_look() {
        for (name, law, mean) in LAWS {
            let (mut above, mut below) = (0, 0);
            for run in 0..400 {
                let y: Vec<f64> = uniforms(run, 300).into_iter().map(law).collect();
                let looks = (10..=300).step_by(58);
                above += u32::from(looks.clone().any(|k| mean_upper(&y[..k], 300, 0.0, 0.05) < mean - 1e-12));
                below += u32::from(looks.clone().any(|k| mean_lower(&y[..k], 300, 1.0, 0.05) > mean + 1e-12));
            }
            assert!(above <= 40 && below <= 40, "{name}: {above} {below}");
        }
    }

    /// The counterpart of the test above: a wealth of 1.2 instead of 1/δ = 20 is not enough.
    #[test]
    fn a_bound_that_asks_for_too_little_wealth_is_caught() {
        let (_, law, mean) = LAWS[2];
        let misses = (0..400).filter(|&run| {
            let y: Vec<f64> = uniforms(run, 300).into_iter().map(law).collect();
            mean_upper(&y, 300, 0.0, 1.0 / 1.2) < mean
        });
        assert!(misses.count() > 40);
    }

    /// Close to Ȳ + σ√(2 log(1/δ)/n) where the range does not matter, and to log(1/δ)/(0.95n) where nothing was seen.
    #[test]
    fn bounds_are_as_tight_as_they_should_be() {
        let n = 20_000;
        let log = 1e6f64.ln();
        let none = mean_upper(&vec![0.0; n], n as u64, 0.0, 1e-6);
        assert!(none > log / n as f64 && none < 1.1 * log / (0.95 * n as f64), "{none}");
        let y: Vec<f64> = uniforms(7, n).into_iter().map(|u| 0.7 + 0.1 * u).collect();
        let mean = y.iter().sum::<f64>() / n as f64;
        let normal = 0.1 / 12f64.sqrt() * (2.0 * log / n as f64).sqrt();
        for (floor, slack) in [(0.0, 1.5), (0.6, 1.2)] {
            let above = mean_upper(&y, n as u64, floor, 1e-6) - mean;
            assert!(above > 0.9 * normal && above < slack * normal, "{floor}: {above} {normal}");
        }
        let below = mean - mean_lower(&y, n as u64, 0.8, 1e-6);
        assert!(below > 0.9 * normal && below < 1.3 * normal, "{below} {normal}");
    }

    /// As above, for bets fixed beforehand, on both sides of signed variables; the twin asks for a wealth of 1.2 only.
    #[test]
    fn fixed_bets_cover_and_are_tight() {
        let n = 300;
        let mut misses = [0, 0, 0];
        for run in 0..400 {
            let y: Vec<f64> =
                uniforms(run, n).into_iter().map(|u| if u < 0.1 { 0.9 } else { -0.1 }).collect();
            let mean = y.iter().sum::<f64>() / n as f64;
            let squares: f64 = y.iter().map(|y| (y - mean) * (y - mean)).sum();
            let above = |delta| mean + Wager::new(0.9, 0.3, n as u64, delta).margin(n as u64, squares);
            let below = mean - Wager::new(0.1, 0.3, n as u64, 0.05).margin(n as u64, squares);
            misses[0] += u32::from(above(0.05) < 0.0);
            misses[1] += u32::from(below > 0.0);
            misses[2] += u32::from(above(1.0 / 1.2) < 0.0);
        }
        assert!(misses[0] <= 40 && misses[1] <= 40 && misses[2] > 40, "{misses:?}");
        // σ√(2 log(1/δ)/n) where the range does not matter, and no less.
        let (n, log) = (1_000_000u64, 1e6f64.ln());
        let margin = Wager::new(1.0, 0.1, n, 1e-6).margin(n, 0.01 * n as f64);
        let normal = 0.1 * (2.0 * log / n as f64).sqrt();
        assert!(margin >= normal && margin < 1.15 * normal, "{margin} {normal}");
        assert!(Wager::new(1.0, 0.1, 10, 1e-6).margin(3, 0.03).is_infinite());
    }

    #[test]
    fn few_draws_say_little_and_nothing_panics() {
        assert!(mean_upper(&[], 100, 0.0, 1e-6) >= 1.0);
        assert!(mean_lower(&[], 100, 1.0, 1e-6) <= 0.0);
        assert!(mean_upper(&[0.0], 0, 0.0, 1e-6) >= 1.0);
        assert!(mean_upper(&[f64::NAN; 3], 3, 0.0, 1e-6) >= 1.0);
        assert!(mean_upper(&[0.1; 50], 50, 0.4, 1e-6) >= 0.4);
    }
}

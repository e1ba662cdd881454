//! The best quadratics below logistic rows, many rows at a time.

use super::minorant::{FIRST, Minorant, NEAR, PLACES};
use crate::glm::Family;
use crate::glm::design::BLOCK;

/// The most that a middle may be away from 0: beyond it the allowances for rounding are not enough.
const FARTHEST: f64 = 1000.0;

/// Some rows of successes and failures, at most [`BLOCK`].
#[derive(Clone, Copy)]
pub(super) struct LogisticRows<'a> {
    /// s_n, 0 or 1, the deviation of t_n, and the half-width of its interval, which may be infinite.
    pub(super) middles: &'a [f64],
    pub(super) responses: &'a [f64],
    pub(super) deviations: &'a [f64],
    pub(super) reaches: &'a [f64],
}

/// Numbers of a block, by row.
type Lane = [f64; BLOCK];

/// log(1 + eˣ) at places, and what follows from it: all from e^{−|x|}, a block at a time.
struct At {
    x: Lane,
    /// log(1 + e^{−|x|}) and 1/(1 + e^{|x|}).
    low: Lane,
    tail: Lane,
}

impl At {
    fn new(count: usize, x: impl Fn(usize) -> f64) -> Self {
        let mut at = Self { x: [0.0; BLOCK], low: [0.0; BLOCK], tail: [0.0; BLOCK] };
        let mut below = [0.0; BLOCK];
        for k in 0..count {
            at.x[k] = x(k);
            below[k] = -at.x[k].abs();
        }
        provi_kernels::link::logistic(&below[..count], &mut at.low[..count], &mut at.tail[..count]);
        at
    }

    /// log(1 + e^{sign·x}), for a sign of 1 or −1.
    fn softplus(&self, k: usize, sign: f64) -> f64 {
        self.low[k] + (sign * self.x[k]).max(0.0)
    }

    fn sigmoid(&self, k: usize) -> f64 {
        if self.x[k] > 0.0 { 1.0 - self.tail[k] } else { self.tail[k] }
    }
}

impl LogisticRows<'_> {
    /// [`Minorant::best`] of each row for its half-width a little widened, in order, up to rounding. The argument is written there; here
    /// every function is a value of log(1 + eˣ) or its slope at one of nine places of the row:
    /// ```text
    /// φ(s) = log(1 + eᵗ), t = (1 − 2y)s;   the ends t ± reach;   t + place·deviation for seven places
    /// A = 2[φ(end) − φ(s₁) − φ'(s₁)(end − s₁)]/(end − s₁)²,   on the side where s₁ ≤ 0
    /// ```
    /// The functions are within 4 units in the last place, 9e-16, so that the difference is off by less than
    /// 4e-15(φ(end) + φ(s₁) + |end − s₁|).
    pub(super) fn best(self) -> Vec<Minorant> {
        let Self { middles, responses, deviations, reaches } = self;
        let count = middles.len();
        let sign = |k: usize| 1.0 - 2.0 * responses[k];
        let middle = |k: usize| sign(k) * middles[k];
        // What the slab is compared with is rounded.
        let wide = |k: usize| reaches[k] * (1.0 + 1e-9);
        let ends = [-1.0, 1.0].map(|side| At::new(count, |k| middle(k) + side * wide(k)));
        let mut least = [0.0; BLOCK];
        for k in 0..count {
            let far = if ends[0].x[k].abs() < ends[1].x[k].abs() { &ends[1] } else { &ends[0] };
            least[k] = far.tail[k] * (1.0 - far.tail[k]) * (1.0 - 1e-12);
        }
        let touching = |place: &dyn Fn(usize) -> f64| {
            let top = At::new(count, |k| middle(k) + place(k) * deviations[k]);
            let mut out = [Minorant { value: 0.0, slope: 0.0, bend: 0.0 }; BLOCK];
            for (k, out) in out[..count].iter_mut().enumerate() {
                let averaged = |end: &At| {
                    let side = if top.x[k] > 0.0 { -1.0 } else { 1.0 };
                    let t = end.x[k] - top.x[k];
                    let (there, here) = (end.softplus(k, side), top.low[k]);
                    let difference = there - here - top.tail[k] * (side * t);
                    let lost = 4e-15 * (there + here + t.abs());
                    2.0 * (difference - lost) / (t * t) * (1.0 - 1e-12)
                };
                let bend = least[k].max(averaged(&ends[0]).min(averaged(&ends[1])));
                let (at, slope) = (place(k) * deviations[k], top.sigmoid(k));
                *out = Minorant::around(top.softplus(k, 1.0), slope, bend, (top.x[k], at));
            }
            out
        };
        let mean = |m: &Minorant, k: usize| m.mean(deviations[k]);
        let mut best = touching(&|_| 0.0);
        let sides = [FIRST, -FIRST].map(|place| touching(&|_| place));
        let better: Vec<f64> = (0..count)
            .map(|k| if mean(&sides[0][k], k) >= mean(&sides[1][k], k) { 1.0 } else { -1.0 })
            .collect();
        let places = PLACES.map(|place| touching(&|k| better[k] * place));
        for other in sides.iter().chain(&places) {
            for k in 0..count {
                if mean(&other[k], k) > mean(&best[k], k) {
                    best[k] = other[k];
                }
            }
        }
        let of_row = |k: usize| match self.is_plain(k) {
            true => Minorant { slope: sign(k) * best[k].slope, ..best[k] },
            false => {
                let row = (middles[k], responses[k]);
                Minorant::best(Family::Bernoulli, row, deviations[k], wide(k))
            }
        };
        (0..count).map(of_row).collect()
    }

    /// Whether the interval of a row is neither so short that differences cancel nor so far away that its ends are rounded by much.
    fn is_plain(&self, k: usize) -> bool {
        let short = self.reaches[k] - PLACES[PLACES.len() - 1] * self.deviations[k];
        let is_coded = ((self.responses[k] - 0.5).abs() - 0.5).abs() <= 0.0;
        is_coded && short > NEAR && self.reaches[k].is_finite() && self.middles[k].abs() < FARTHEST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Many rows at a time are one row at a time, up to rounding, whatever their number and whatever else is in the block.
    #[test]
    fn a_block_has_the_quadratics_of_its_rows() {
        let mut rows = Vec::new();
        for s in [-40.0, -4.0, -1.3, -0.2, 0.0, 0.4, 2.0, 6.0, 700.0, 5000.0] {
            for (deviation, reach) in [(0.3, 0.9), (1.0, 4.0), (0.004, 0.05), (1e-5, 1e-4), (2.0, 16.0)] {
                for y in [0.0, 1.0] {
                    rows.push([s, y, deviation, reach]);
                }
            }
        }
        let part = |part: &[[f64; 4]]| {
            let [middles, responses, deviations, reaches]: [Vec<f64>; 4] =
                std::array::from_fn(|i| part.iter().map(|row| row[i]).collect());
            LogisticRows {
                middles: &middles,
                responses: &responses,
                deviations: &deviations,
                reaches: &reaches,
            }
            .best()
        };
        let whole = part(&rows);
        for ([s, y, deviation, reach], found) in rows.iter().zip(&whole) {
            let wide = reach * (1.0 + 1e-9);
            let alone = Minorant::best(Family::Bernoulli, (*s, *y), *deviation, wide);
            let near = |a: f64, b: f64| (a - b).abs() <= 1e-6 * (1e-6 + a.abs().max(b.abs()));
            // Both are the best of seven places; where two are alike either may be taken.
            assert!(near(found.mean(*deviation), alone.mean(*deviation)), "{s} {y}: {found:?} {alone:?}");
            for i in -1000..=1000 {
                let t = reach * f64::from(i) / 1000.0;
                let [value, ..] = Family::Bernoulli.derivatives(s + t, *y);
                let below = found.value + found.slope * t + 0.5 * found.bend * t * t;
                assert!(below <= value + 1e-12 * (1.0 + value.abs()), "{s} {y} {t}");
            }
        }
        let halves = [part(&rows[..37]), part(&rows[37..])].concat();
        assert_eq!(halves, whole);
    }
}

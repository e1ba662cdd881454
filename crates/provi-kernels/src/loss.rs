//! The losses of a block of rows at several points: their sums, and each predictor's slope.
//!
//! For rows n with responses y_n and weights w_n, and predictors s_{n,k} at `predictors[n·S + k]`:
//! ```text
//! energies_k ← energies_k + Σ_n w_n φ(s_{n,k}),     predictors_{n,k} ← w_n φ′(s_{n,k})
//! ```
//! without the part of φ that depends only on y. Blocks of at most [`MOST_ROWS`] rows in all, each except the last
//! with a multiple of eight rows, share [`Slots`]: row n adds to slot n mod 8 of its point, and the slots are
//! summed in order at the end. The result of a point depends on no other point.

mod unweighted;

pub use unweighted::logistic_unweighted;

use crate::{
    dispatch::dispatch,
    lanes::Simd,
    link::exp_one,
    potential::{self, NegLogNormalCdf, Potential, Softplus},
};

/// Numbers of working memory for each point.
pub const SPARE: usize = 16 + 2 * (SPREAD + 8);

/// Rows whose responses and weights are spread over the points at once: enough rows that the written numbers have
/// left the store buffer when they are read in other pieces.
const SPREAD: usize = 64;

/// Rows whose factors 1 + e ≤ 2 may be multiplied without overflow.
pub const MOST_ROWS: usize = 1000;

/// Sums in progress, in memory that the caller provides.
#[derive(Debug)]
pub struct Slots<'a> {
    samples: usize,
    sums: &'a mut [f64],
    products: &'a mut [f64],
    responses: &'a mut [f64],
    weights: &'a mut [f64],
}

impl<'a> Slots<'a> {
    /// Empty sums for `samples` points, in at least [`SPARE`] numbers for each.
    ///
    /// # Panics
    /// If there is less memory.
    pub fn new(samples: usize, room: &'a mut [f64]) -> Self {
        assert!(room.len() >= SPARE * samples, "loss: room for {SPARE} numbers a point");
        let (sums, rest) = room[..SPARE * samples].split_at_mut(8 * samples);
        let (products, rest) = rest.split_at_mut(8 * samples);
        let (responses, weights) = rest.split_at_mut((SPREAD + 8) * samples);
        sums.fill(0.0);
        products.fill(1.0);
        Self { samples, sums, products, responses, weights }
    }

    /// Adds the sums to the energies, one for each point.
    ///
    /// # Panics
    /// If there are not as many energies as points.
    pub fn finish(self, energies: &mut [f64]) {
        assert_eq!(energies.len(), self.samples, "loss: one energy a point");
        for (k, energy) in energies.iter_mut().enumerate() {
            let (mut sum, mut product) = (0.0, 1.0);
            for slot in (k..8 * self.samples).step_by(self.samples) {
                sum += self.sums[slot];
                product *= self.products[slot];
            }
            *energy += sum + product.ln();
        }
    }
}

macro_rules! loss {
    ($(#[$doc:meta])* $name:ident($($extra:ident: $extra_kind:ty)?) = $loss:ty: $make:expr) => {
        $(#[$doc])*
        ///
        /// # Panics
        /// If the lengths do not fit together.
        pub fn $name(
            $($extra: $extra_kind,)?
            response: &[f64],
            weights: &[f64],
            predictors: &mut [f64],
            slots: &mut Slots<'_>,
        ) {
            assert_eq!(response.len(), weights.len(), "loss: lengths of response and weights");
            assert_eq!(predictors.len(), response.len() * slots.samples, "loss: predictors are rows × points");
            if predictors.is_empty() {
                return;
            }
            let (loss, rows): ($loss, _) = ($make, (response, weights));
            dispatch!(
                plain::sums,
                sums_lanes(
                    loss: $loss,
                    rows: (&[f64], &[f64]),
                    predictors: &mut [f64],
                    slots: &mut Slots<'_>
                )
            );
        }
    };
}

loss! {
    /// φ(s) = log(1 + eᵗ), t = (1 − 2y)s, for y of 0 or 1. Cost: about 2 ns per entry with AVX-512.
    logistic() = Logistic: Logistic
}

loss! {
    /// φ(s) = log(1 + eˢ) − ys, for a share y of successes.
    binomial() = Binomial: Binomial
}

loss! {
    /// φ(s) = −log Φ((2y − 1)s), for y of 0 or 1.
    probit() = Probit: Probit
}

loss! {
    /// φ(s) = eˢ − ys.
    poisson() = Poisson: Poisson
}

loss! {
    /// φ(s) = α(s + ye⁻ˢ), α the shape of a gamma response.
    gamma(shape: f64) = Gamma: Gamma(shape)
}

loss! {
    /// φ(s) = −y log(1 − e^{−r}) + (1 − y)r, r = eˢ, for a share y of successes: the complementary log-log link.
    cloglog() = Cloglog: Cloglog
}

loss! {
    /// φ(s) = log(1 + eˢ) − ys for y of 0 or 1, and log(1 + e^{s−h}) + log(1 + e^{−s−h}), h = −y/2, for y < 0: a category between two others.
    ordered() = Ordered: Ordered
}

loss! {
    /// φ(s) = ½θ(s − y)², θ the precision of the noise.
    gaussian(precision: f64) = Gaussian: Gaussian(precision)
}

/// One entry: what it adds to its slot's sum and product, and its slope.
trait Loss: Copy {
    /// The code for a response: for a binary one, the sign of its predictor.
    fn code(self, y: f64) -> f64;

    fn at<S: Simd>(self, simd: S, s: f64, code: f64, w: f64, slot: &mut [f64; 2]) -> f64;

    /// φ and φ′ by the textbook formulas.
    fn plain(self, s: f64, y: f64) -> [f64; 2];
}

#[derive(Clone, Copy)]
struct Logistic;

impl Loss for Logistic {
    #[inline(always)]
    fn code(self, y: f64) -> f64 {
        1.0 - 2.0 * y
    }

    #[inline(always)]
    fn at<S: Simd>(self, simd: S, s: f64, sign: f64, w: f64, slot: &mut [f64; 2]) -> f64 {
        let [value, slope, _] = Softplus.at(simd, sign * s);
        slot[0] = simd.fma(w, value, slot[0]);
        w * sign * slope
    }

    fn plain(self, s: f64, y: f64) -> [f64; 2] {
        let sign = 1.0 - 2.0 * y;
        let [value, slope, _] = Softplus.plain(sign * s);
        [value, sign * slope]
    }
}

#[derive(Clone, Copy)]
struct Binomial;

impl Loss for Binomial {
    #[inline(always)]
    fn code(self, y: f64) -> f64 {
        y
    }

    #[inline(always)]
    fn at<S: Simd>(self, simd: S, s: f64, y: f64, w: f64, slot: &mut [f64; 2]) -> f64 {
        let [value, slope, _] = Softplus.at(simd, s);
        slot[0] = simd.fma(w, value - y * s, slot[0]);
        w * (slope - y)
    }

    fn plain(self, s: f64, y: f64) -> [f64; 2] {
        let [value, slope, _] = Softplus.plain(s);
        [value - y * s, slope - y]
    }
}

#[derive(Clone, Copy)]
struct Probit;

impl Loss for Probit {
    #[inline(always)]
    fn code(self, y: f64) -> f64 {
        2.0 * y - 1.0
    }

    #[inline(always)]
    fn at<S: Simd>(self, simd: S, s: f64, sign: f64, w: f64, slot: &mut [f64; 2]) -> f64 {
        let [value, slope, _] = NegLogNormalCdf.at(simd, sign * s);
        slot[0] = simd.fma(w, value, slot[0]);
        w * sign * slope
    }

    fn plain(self, s: f64, y: f64) -> [f64; 2] {
        let sign = 2.0 * y - 1.0;
        let [value, slope, _] = NegLogNormalCdf.plain(sign * s);
        [value, sign * slope]
    }
}

#[derive(Clone, Copy)]
struct Poisson;

impl Loss for Poisson {
    #[inline(always)]
    fn code(self, y: f64) -> f64 {
        y
    }

    #[inline(always)]
    fn at<S: Simd>(self, simd: S, s: f64, y: f64, w: f64, slot: &mut [f64; 2]) -> f64 {
        let rate = exp_one(simd, s);
        slot[0] = simd.fma(w, rate - y * s, slot[0]);
        w * (rate - y)
    }

    fn plain(self, s: f64, y: f64) -> [f64; 2] {
        [s.exp() - y * s, s.exp() - y]
    }
}

#[derive(Clone, Copy)]
struct Gamma(f64);

impl Loss for Gamma {
    #[inline(always)]
    fn code(self, y: f64) -> f64 {
        self.0 * y
    }

    #[inline(always)]
    fn at<S: Simd>(self, simd: S, s: f64, scaled: f64, w: f64, slot: &mut [f64; 2]) -> f64 {
        let rate = scaled * exp_one(simd, -s);
        slot[0] = simd.fma(w, simd.fma(self.0, s, rate), slot[0]);
        w * (self.0 - rate)
    }

    fn plain(self, s: f64, y: f64) -> [f64; 2] {
        let rate = self.0 * y * (-s).exp();
        [self.0 * s + rate, self.0 - rate]
    }
}

#[derive(Clone, Copy)]
struct Cloglog;

impl Loss for Cloglog {
    #[inline(always)]
    fn code(self, y: f64) -> f64 {
        y
    }

    /// Two exponentials and a logarithm, one entry at a time.
    #[inline(always)]
    fn at<S: Simd>(self, simd: S, s: f64, y: f64, w: f64, slot: &mut [f64; 2]) -> f64 {
        let [value, slope] = self.plain(s, y);
        slot[0] = simd.fma(w, value, slot[0]);
        w * slope
    }

    fn plain(self, s: f64, y: f64) -> [f64; 2] {
        let [value, slope, _] = potential::Cloglog::of(y).at(s);
        [value, slope]
    }
}

#[derive(Clone, Copy)]
struct Ordered;

impl Ordered {
    /// Values and slopes of the two halves log(1 + e^{s−h}) and log(1 + e^{−s−h}), of which the last category lacks the first and the first
    /// category the second.
    #[inline(always)]
    fn halves(y: f64, up: [f64; 3], down: [f64; 3]) -> [f64; 2] {
        let [up, rise] = if y > 0.5 { [0.0; 2] } else { [up[0], up[1]] };
        let [down, fall] = if (0.0..0.5).contains(&y) { [0.0; 2] } else { [down[0], down[1]] };
        [up + down, rise - fall]
    }

    /// h.
    #[inline(always)]
    fn half(y: f64) -> f64 {
        if y < 0.0 { -0.5 * y } else { 0.0 }
    }
}

impl Loss for Ordered {
    #[inline(always)]
    fn code(self, y: f64) -> f64 {
        y
    }

    #[inline(always)]
    fn at<S: Simd>(self, simd: S, s: f64, y: f64, w: f64, slot: &mut [f64; 2]) -> f64 {
        let half = Self::half(y);
        let [value, slope] = Self::halves(y, Softplus.at(simd, s - half), Softplus.at(simd, -s - half));
        slot[0] = simd.fma(w, value, slot[0]);
        w * slope
    }

    fn plain(self, s: f64, y: f64) -> [f64; 2] {
        let half = Self::half(y);
        Self::halves(y, Softplus.plain(s - half), Softplus.plain(-s - half))
    }
}

#[derive(Clone, Copy)]
struct Gaussian(f64);

impl Loss for Gaussian {
    #[inline(always)]
    fn code(self, y: f64) -> f64 {
        y
    }

    #[inline(always)]
    fn at<S: Simd>(self, simd: S, s: f64, y: f64, w: f64, slot: &mut [f64; 2]) -> f64 {
        let slope = self.0 * (s - y);
        slot[0] = simd.fma(w, 0.5 * slope * (s - y), slot[0]);
        w * slope
    }

    fn plain(self, s: f64, y: f64) -> [f64; 2] {
        [0.5 * self.0 * (s - y) * (s - y), self.0 * (s - y)]
    }
}

#[inline(always)]
fn sums_lanes<S: Simd, L: Loss>(
    simd: S,
    loss: L,
    (response, weights): (&[f64], &[f64]),
    predictors: &mut [f64],
    slots: &mut Slots<'_>,
) {
    let samples = slots.samples;
    let size = 8 * samples;
    let pieces = response.chunks(SPREAD).zip(weights.chunks(SPREAD));
    for ((y, w), predictors) in pieces.zip(predictors.chunks_mut(SPREAD * samples)) {
        // Each row's numbers are repeated for each point, so that the code below need not distinguish rows from
        // points.
        let codes = spread(simd, y, samples, slots.responses, |y| loss.code(y));
        let flat_w = spread(simd, w, samples, slots.weights, |w| w);
        for ((s, y), w) in predictors.chunks_mut(size).zip(codes.chunks(size)).zip(flat_w.chunks(size)) {
            group(simd, loss, s, y, w, slots.sums, slots.products);
        }
    }
}

/// `f` of each row's number, repeated for each point. A row is written in whole registers; the next row overwrites
/// what lies beyond its end.
#[inline(always)]
fn spread<'a, S: Simd>(
    simd: S,
    rows: &[f64],
    samples: usize,
    out: &'a mut [f64],
    f: impl Fn(f64) -> f64,
) -> &'a [f64] {
    if samples == 1 {
        rows.iter().zip(out.iter_mut()).for_each(|(&x, out)| *out = f(x));
    } else {
        for (n, &x) in rows.iter().enumerate() {
            let x = simd.splat(f(x));
            let row = &mut out[n * samples..][..samples.next_multiple_of(8)];
            row.as_chunks_mut::<8>().0.iter_mut().for_each(|chunk| simd.store(x, chunk));
        }
    }
    &out[..rows.len() * samples]
}

/// At most eight rows, entry by entry.
#[inline(always)]
fn group<S: Simd, L: Loss>(
    simd: S,
    loss: L,
    s: &mut [f64],
    y: &[f64],
    w: &[f64],
    sums: &mut [f64],
    products: &mut [f64],
) {
    let count = s.len();
    // Two registers at a time, whose chains of multiply-adds fill each other's gaps.
    let (s, s_rest) = s.as_chunks_mut::<16>();
    let (y, y_rest) = y[..count].as_chunks::<16>();
    let (w, w_rest) = w[..count].as_chunks::<16>();
    let (sums, sums_rest) = sums[..count].as_chunks_mut::<16>();
    let (products, products_rest) = products[..count].as_chunks_mut::<16>();
    for ((((s, y), w), sum), product) in s.iter_mut().zip(y).zip(w).zip(sums).zip(products) {
        entries(simd, loss, s, y, w, sum, product);
    }
    let (s, s_tail) = s_rest.as_chunks_mut::<8>();
    let (y, y_tail) = y_rest.as_chunks::<8>();
    let (w, w_tail) = w_rest.as_chunks::<8>();
    let (sums, sums_tail) = sums_rest.as_chunks_mut::<8>();
    let (products, products_tail) = products_rest.as_chunks_mut::<8>();
    for ((((s, y), w), sum), product) in s.iter_mut().zip(y).zip(w).zip(sums).zip(products) {
        entries(simd, loss, s, y, w, sum, product);
    }
    if s_tail.is_empty() {
        return;
    }
    let (mut s, mut sum, mut product) = (padded(s_tail), padded(sums_tail), padded(products_tail));
    entries(simd, loss, &mut s, &padded(y_tail), &padded(w_tail), &mut sum, &mut product);
    s_tail.copy_from_slice(&s[..s_tail.len()]);
    sums_tail.copy_from_slice(&sum[..s_tail.len()]);
    products_tail.copy_from_slice(&product[..s_tail.len()]);
}

#[inline(always)]
fn entries<S: Simd, L: Loss, const N: usize>(
    simd: S,
    loss: L,
    s: &mut [f64; N],
    y: &[f64; N],
    w: &[f64; N],
    sum: &mut [f64; N],
    product: &mut [f64; N],
) {
    for l in 0..N {
        let mut slot = [sum[l], product[l]];
        s[l] = loss.at(simd, s[l], y[l], w[l], &mut slot);
        [sum[l], product[l]] = slot;
    }
}

#[inline(always)]
fn padded(tail: &[f64]) -> [f64; 8] {
    let mut eight = [0.0; 8];
    eight[..tail.len()].copy_from_slice(tail);
    eight
}

mod plain {
    pub(super) fn sums<L: super::Loss>(
        loss: L,
        (response, weights): (&[f64], &[f64]),
        predictors: &mut [f64],
        slots: &mut super::Slots<'_>,
    ) {
        let rows = response.iter().zip(weights).zip(predictors.chunks_exact_mut(slots.samples));
        for ((&y, &w), predictors) in rows {
            for (s, sum) in predictors.iter_mut().zip(slots.sums.iter_mut()) {
                let [value, slope] = loss.plain(*s, y);
                *sum += w * value;
                *s = w * slope;
            }
        }
    }
}

#[cfg(test)]
mod tests;

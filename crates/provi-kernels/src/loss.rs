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
    potential::{NegLogNormalCdf, Potential, Softplus},
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
mod tests {
    use super::{SPARE, Slots};
    use crate::check::{agree, each_level, numbers};

    type Kernel = fn(&[f64], &[f64], &mut [f64], &mut Slots<'_>);

    const ALL: [Kernel; 7] = [
        super::logistic,
        |y, _, s, slots| super::logistic_unweighted(y, s, slots),
        super::binomial,
        super::probit,
        super::poisson,
        |y, w, s, slots| super::gamma(2.3, y, w, s, slots),
        |y, w, s, slots| super::gaussian(1.7, y, w, s, slots),
    ];

    /// Energies, then slopes.
    fn run(kernel: Kernel, y: &[f64], w: &[f64], s: &[f64], samples: usize) -> Vec<f64> {
        let (mut slopes, mut out) = (s.to_vec(), vec![0.25; samples]);
        let mut room = vec![f64::NAN; SPARE * samples];
        let mut slots = Slots::new(samples, &mut room);
        // In two blocks, the first of a multiple of eight rows.
        let cut = y.len() / 16 * 8;
        let (before, after) = slopes.split_at_mut(cut * samples);
        kernel(&y[..cut], &w[..cut], before, &mut slots);
        kernel(&y[cut..], &w[cut..], after, &mut slots);
        slots.finish(&mut out);
        out.extend(slopes);
        out
    }

    fn problem(rows: usize, samples: usize) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
        let y = (0..rows).map(|n| f64::from(u8::from(n % 3 == 1))).collect();
        let s = numbers(5, rows * samples).iter().map(|x| 30.0 * x.powi(3)).collect();
        (y, vec![1.0; rows], s)
    }

    #[test]
    fn every_shape_agrees_with_the_twins() {
        for (rows, samples) in
            [(0, 1), (1, 1), (7, 1), (8, 1), (900, 1), (5, 2), (16, 3), (23, 8), (9, 10), (3, 17), (4, 0)]
        {
            let (y, w, s) = problem(rows, samples);
            for (i, kernel) in ALL.into_iter().enumerate() {
                let w: Vec<f64> =
                    if i == 1 { w.clone() } else { numbers(7, rows).iter().map(|w| w.abs()).collect() };
                agree(1e-13, || run(kernel, &y, &w, &s, samples));
            }
        }
    }

    #[test]
    fn a_point_does_not_see_its_neighbours() {
        let (rows, samples) = (45, 11);
        let (y, w, s) = problem(rows, samples);
        each_level(|| {
            for kernel in ALL {
                let all = run(kernel, &y, &w, &s, samples);
                for k in 0..samples {
                    let own: Vec<f64> = (0..rows).map(|n| s[n * samples + k]).collect();
                    let alone = run(kernel, &y, &w, &own, 1);
                    assert_eq!(alone[0].to_bits(), all[k].to_bits());
                    let slopes = (0..rows).map(|n| all[samples + n * samples + k].to_bits());
                    assert!(slopes.eq(alone[1..].iter().map(|x| x.to_bits())));
                }
            }
        });
    }

    #[test]
    fn products_of_the_most_rows_do_not_overflow() {
        each_level(|| {
            let rows = super::MOST_ROWS;
            let (y, w, s) = (vec![0.0; rows], vec![1.0; rows], vec![0.0; rows]);
            let out = run(ALL[1], &y, &w, &s, 1);
            let truth = 0.25 + rows as f64 * std::f64::consts::LN_2;
            assert!((out[0] / truth - 1.0).abs() < 1e-13, "{} {truth}", out[0]);
        });
    }
}

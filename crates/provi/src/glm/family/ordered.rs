//! Categories in an order, with proportional odds.
//!
//! With cut points 0 = c_1 < c_2 < … < c_{K−1} and c_0 = −∞, c_K = ∞, category k of K has the probability
//! ```text
//! P(y > k) = sigmoid(s − c_k),   P(y = k) = sigmoid(s − c_{k−1}) − sigmoid(s − c_k)
//! ```
//! The first cut point is 0 because the model's intercept takes its place. A difference of two sigmoids is a product: for a < b
//! ```text
//! sigmoid(b) − sigmoid(a) = sigmoid(b)·sigmoid(−a)·(1 − e^{a−b})
//! ```
//! so −log P(y = k) is the sum of two logistic potentials and a constant, and what holds for logistic rows holds for this one. With the gap
//! δ = c_k − c_{k−1}, h = δ/2 and s' = s − (c_{k−1} + c_k)/2 it is
//! ```text
//! log(1 + e^{s'−h}) + log(1 + e^{−s'−h}) − log(1 − e^{−δ})
//! ```
//! The first and the last category are logistic rows alone.

use crate::base::error::{Error, Result};
use crate::base::special;

/// The distances between neighbouring cut points of ordered categories: K − 2 numbers above 0 for K categories.
///
/// ```
/// use provi::target::Gaps;
///
/// let gaps = Gaps::new(&[1.5, 0.7])?;
/// assert_eq!((gaps.categories(), gaps.widths()), (4, &[1.5, 0.7][..]));
/// assert_eq!(gaps.cuts(), [0.0, 1.5, 2.2]);
/// assert!(Gaps::new(&[0.0]).is_err());
/// # Ok::<(), provi::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(into = "Vec<f64>", try_from = "Vec<f64>")
)]
pub struct Gaps {
    count: usize,
    widths: [f64; Self::MOST],
}

impl Gaps {
    /// The most gaps: those of eleven categories, as of a scale from 0 to 10.
    pub const MOST: usize = 9;

    /// Gaps from below upwards. None is for two categories.
    pub fn new(widths: &[f64]) -> Result<Self> {
        if widths.len() > Self::MOST {
            return Err(Error::Shape {
                what: "gaps between cut points",
                found: widths.len(),
                expected: Self::MOST,
            });
        }
        if let Some(&value) = widths.iter().find(|width| !(**width > 0.0 && width.is_finite())) {
            return Err(Error::OutOfRange {
                what: "gap between cut points",
                value,
                needed: "above 0 and finite",
            });
        }
        let mut all = [0.0; Self::MOST];
        all[..widths.len()].copy_from_slice(widths);
        Ok(Self { count: widths.len(), widths: all })
    }

    /// The distances from each cut point to the next.
    pub fn widths(&self) -> &[f64] {
        &self.widths[..self.count]
    }

    /// K, the number of categories.
    pub fn categories(&self) -> usize {
        self.count + 2
    }

    /// c_1 = 0, c_2, …, c_{K−1}.
    pub fn cuts(&self) -> Vec<f64> {
        let mut at = 0.0;
        let rest = self.widths().iter().map(|width| {
            at += width;
            at
        });
        std::iter::once(0.0).chain(rest).collect()
    }

    /// c_k, for k from 1 to K − 1.
    pub(crate) fn cut(&self, k: usize) -> f64 {
        self.widths[..k - 1].iter().sum()
    }

    /// The response of a row as [`Halves`] reads it, and the offset of its predictor, for a category from 1 to K.
    pub(crate) fn code(&self, category: f64) -> (f64, f64) {
        let k = category as usize;
        match k {
            ..=1 => (0.0, 0.0),
            k if k >= self.categories() => (1.0, -self.cut(k - 1)),
            k => {
                let gap = self.widths[k - 2];
                (-gap, -(self.cut(k - 1) + 0.5 * gap))
            }
        }
    }

    /// −log(1 − e^{−δ}) for a category between two others, 0 for the first and the last.
    pub(crate) fn constant(&self, category: f64) -> f64 {
        let (y, _) = self.code(category);
        match y {
            y if y >= 0.0 => 0.0,
            // Each formula where it keeps its digits.
            y if y < -std::f64::consts::LN_2 => -(-y.exp()).ln_1p(),
            y => -(-y.exp_m1()).ln(),
        }
    }

    /// The predictor at which the mean number of the category, 1 + Σ_k P(y > k), is x: Newton's method in a bracket, for the mean rises from 1 to
    /// K. Infinite at the ends.
    pub(crate) fn predictor_of_mean(&self, x: f64) -> f64 {
        let most = self.categories() as f64;
        if x <= 1.0 || x >= most {
            return if x <= 1.0 { f64::NEG_INFINITY } else { f64::INFINITY };
        }
        let (mut low, mut high) = (-LAST, self.cut(self.categories() - 1) + LAST);
        let mut at = 0.5 * (low + high);
        for _ in 0..200 {
            let (mut mean, mut slope) = (1.0, 0.0);
            for p in self.exceeding(at) {
                (mean, slope) = (mean + p, slope + p * (1.0 - p));
            }
            if mean < x {
                low = at
            } else {
                high = at
            }
            let newton = at - (mean - x) / slope;
            let next = if newton > low && newton < high { newton } else { 0.5 * (low + high) };
            if (next - at).abs() <= 1e-13 * (1.0 + at.abs()) {
                return next;
            }
            at = next;
        }
        at
    }

    /// P(y = k) at a predictor.
    pub(crate) fn probability(&self, k: usize, s: f64) -> f64 {
        let (y, shift) = self.code(k as f64);
        let [value] = Halves::of(y).sum(|half, y| {
            let t = s + shift + half;
            [special::softplus(if y > 0.5 { -t } else { t })]
        });
        (-value - self.constant(k as f64)).exp()
    }

    /// P(y > k) for k from 1 to K − 1, from the sigmoid of each s − c_k.
    pub(crate) fn exceeding(self, s: f64) -> impl Iterator<Item = f64> {
        (1..self.categories()).map(move |k| special::sigmoid(s - self.cut(k)))
    }
}

impl Gaps {
    /// The standard deviation of the number of a category, from P_k = P(y > k) for k from 1 to K − 1:
    /// ```text
    /// E y = 1 + Σ_k P_k,   E y² = 1 + Σ_k (2k + 1)P_k
    /// ```
    pub(crate) fn deviation(above: impl Iterator<Item = f64>) -> f64 {
        let add =
            |[mean, square]: [f64; 2], (k, p): (usize, f64)| [mean + p, square + (2 * k + 3) as f64 * p];
        let [mean, square] = above.enumerate().fold([1.0, 1.0], add);
        // Rounding may leave nothing where one category is almost certain.
        (square - mean * mean).max(f64::MIN_POSITIVE).sqrt()
    }
}

impl From<Gaps> for Vec<f64> {
    fn from(gaps: Gaps) -> Self {
        gaps.widths().to_vec()
    }
}

impl TryFrom<Vec<f64>> for Gaps {
    type Error = Error;

    fn try_from(widths: Vec<f64>) -> Result<Self> {
        Self::new(&widths)
    }
}

/// So far beyond the outer cut points every category but one has no probability in double precision.
const LAST: f64 = 745.0;

/// The logistic rows that an ordered row is the sum of, each as (what is added to the predictor, response).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Halves {
    rows: [(f64, f64); 2],
    count: usize,
}

impl Halves {
    /// ```text
    /// y = 0, 1    a logistic row: the first category, the last
    /// y < 0       two of them, −y = δ the gap that the category fills
    /// ```
    pub(crate) fn of(y: f64) -> Self {
        let half = 0.5 * y;
        match y < 0.0 {
            true => Self { rows: [(half, 0.0), (-half, 1.0)], count: 2 },
            false => Self { rows: [(0.0, y), (0.0, 0.0)], count: 1 },
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.rows[..self.count].iter().copied()
    }

    /// The sum of `of(shift, response)` over them.
    pub(crate) fn sum<const N: usize>(&self, of: impl Fn(f64, f64) -> [f64; N]) -> [f64; N] {
        let mut sums = [0.0; N];
        for (shift, y) in self.iter() {
            sums.iter_mut().zip(of(shift, y)).for_each(|(sum, x)| *sum += x);
        }
        sums
    }
}

#[cfg(test)]
impl Gaps {
    /// Four categories.
    pub(crate) const SOME: Self = Self { count: 2, widths: [1.5, 0.4, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0] };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::glm::Family;
    use crate::glm::design::Design;
    use crate::glm::rows::Rows;

    fn some(widths: &[f64]) -> Gaps {
        Gaps::new(widths).unwrap()
    }

    /// The probability of each category as the difference of two sigmoids, and their sum.
    #[test]
    fn categories_have_the_differences_of_sigmoids() {
        for widths in [&[][..], &[0.3], &[1.5, 0.4], &[1e-3, 5.0, 0.1, 0.7, 2.0, 0.2, 0.9, 1.1, 0.5]] {
            let gaps = some(widths);
            let cuts = gaps.cuts();
            for s in [-7.0, -0.4, 0.0, 0.8, 3.0, 11.0] {
                let above = |k: usize| match k {
                    0 => 1.0,
                    k if k == gaps.categories() => 0.0,
                    k => special::sigmoid(s - cuts[k - 1]),
                };
                let mut total = 0.0;
                for k in 1..=gaps.categories() {
                    let (plain, found) = (above(k - 1) - above(k), gaps.probability(k, s));
                    assert!((found - plain).abs() < 1e-14, "{widths:?} {s} {k}: {found} {plain}");
                    total += found;
                }
                assert!((total - 1.0).abs() < 1e-13);
            }
        }
        // Where the difference has no digits left, the product has them all: (1 − e^{−δ})e^{−s}.
        let far = some(&[1.0]).probability(2, 60.0);
        assert!((far / ((1f64.exp() - 1.0) * (-60f64).exp()) - 1.0).abs() < 1e-14, "{far}");
    }

    /// −log p changes with each log gap as claimed.
    #[test]
    fn the_slopes_in_the_gaps_are_those_of_the_density() {
        let widths = [1.5, 0.4, 0.9];
        for category in 1..=5 {
            for s in [-1.3, 0.2, 2.6] {
                let value = |i: usize, by: f64| {
                    let mut other = widths;
                    other[i] *= by.exp();
                    -some(&other).probability(category, s).ln()
                };
                let family = Family::Ordered { gaps: some(&widths) };
                let (_, shift) = some(&widths).code(category as f64);
                let claimed = family.gap_slopes(s + shift, 0.0, category);
                for i in 0..3 {
                    let slope = (value(i, 1e-5) - value(i, -1e-5)) / 2e-5;
                    assert!((slope - claimed[i]).abs() < 1e-8, "{category} {s} {i}: {slope} {}", claimed[i]);
                }
                assert!(claimed[3..].iter().all(|x| x.abs() <= 0.0));
            }
        }
    }

    #[test]
    fn the_predictor_of_a_mean_has_that_mean() {
        for widths in [&[][..], &[0.3], &[1.5, 40.0], &[1e-3, 5.0, 0.1, 0.7, 2.0, 0.2, 0.9, 1.1, 0.5]] {
            let gaps = some(widths);
            for s in [-9.0, -0.4, 0.0, 0.8, 3.0, 7.0] {
                let mean = 1.0 + gaps.exceeding(s).sum::<f64>();
                let back = gaps.predictor_of_mean(mean);
                let again = 1.0 + gaps.exceeding(back).sum::<f64>();
                assert!((again - mean).abs() < 1e-12 * mean, "{widths:?} {s}: {back}");
            }
            let most = gaps.categories() as f64;
            assert!(gaps.predictor_of_mean(1.0) < -1e300 && gaps.predictor_of_mean(most) > 1e300);
        }
    }

    #[test]
    fn two_categories_are_a_binary_response() {
        let gaps = some(&[]);
        let [binary, ordered] = [0.0, 1.0].map(|above| {
            let family = if above > 0.0 { Family::Ordered { gaps } } else { Family::Bernoulli };
            let design = Design::dense(3, 1, &[1.0, 0.5, -1.0]).unwrap();
            let y = [0.0, 1.0, 1.0].map(|y| y + above);
            let rows = Rows::new(family, design, &y).unwrap();
            let mut energy = 0.0;
            for n in 0..3 {
                energy += rows.likelihood_of(n).log_density(0.7);
            }
            energy
        });
        assert!((binary - ordered).abs() < 1e-15);
    }

    #[test]
    fn what_is_no_gap_or_no_category_is_refused() {
        for widths in [&[-1.0][..], &[f64::NAN], &[f64::INFINITY], &[1.0; 10]] {
            assert!(Gaps::new(widths).is_err(), "{widths:?}");
        }
        let family = Family::Ordered { gaps: Gaps::SOME };
        let rows = |y: f64| Rows::new(family, Design::dense(1, 1, &[1.0]).unwrap(), &[y]);
        assert!(rows(4.0).is_ok());
        for y in [0.0, 5.0, 1.5, f64::NAN] {
            assert!(rows(y).unwrap_err().to_string().contains("the number of a category"), "{y}");
        }
        let fewer = Family::Ordered { gaps: some(&[1.0]) };
        assert!(rows(4.0).unwrap().with_family(fewer).unwrap_err().to_string().contains("categories"));
    }
}

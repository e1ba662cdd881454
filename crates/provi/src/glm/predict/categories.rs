//! The probability of each of some ordered categories, and quantiles that no formula gives.

use super::{Prediction, predict_mixture};
use crate::base::error::{Error, Result};
use crate::base::scalar::Probability;
use crate::base::special;
use crate::glm::Family;
use crate::glm::expectation::mean_slopes;

/// P(y = k) of each category at each row, for ordered categories: its mean under q, and the interval of P(y = k | s). The parts are those of
/// [`predict_mixture`]; of a single answer, one with the share 1. A list for each row, with as many numbers as categories.
///
/// P(y = k | s) rises with s and then falls, so no formula gives its quantiles: those of 800 points or more of equal probability take their place.
/// ```
/// use provi::{Design, Gaussian, predict::{Rows, categories, predict}, target::{Family, Gaps}};
///
/// let family = Family::Ordered { gaps: Gaps::new(&[2.0])? };
/// let q = Gaussian::new(&[1.0], &[1e-9])?;
/// let design = Design::dense(1, 1, &[1.0])?;
/// let at = predict(family, &q, &Rows::new(&design), 0.95)?;
/// let found = &categories(&[(1.0, family, at)], 0.95)?[0];
/// let lowest = 1.0 / (1.0 + 1f64.exp());
/// assert!((found[0].mean - lowest).abs() < 1e-6 && (found[2].mean - lowest).abs() < 1e-6);
/// assert!((found.iter().map(|p| p.mean).sum::<f64>() - 1.0).abs() < 1e-12);
/// # Ok::<(), provi::Error>(())
/// ```
pub fn categories(
    parts: &[(f64, Family, Vec<Prediction>)],
    probability: f64,
) -> Result<Vec<Vec<Prediction>>> {
    let mut all = Vec::with_capacity(parts.len());
    for (share, family, part) in parts {
        let gaps = family.gaps().ok_or(Error::NoGaps { family: family.name() })?;
        all.push((*share, gaps, part));
    }
    let Some((_, first, rows)) = all.first() else { return Ok(Vec::new()) };
    let (count, rows) = (first.categories(), rows.len());
    if let Some((_, other, _)) = all.iter().find(|(_, gaps, _)| gaps.categories() != count) {
        return Err(Error::Shape { what: "categories", found: other.categories(), expected: count });
    }
    // P(y > k) of every part at every row, k = 0 to K.
    let mut above = vec![vec![vec![1.0; rows]]; all.len()];
    for ((_, gaps, part), above) in all.iter().zip(&mut above) {
        let deviations: Vec<f64> = part.iter().map(|at| at.predictor_sd).collect();
        for cut in gaps.cuts() {
            let means: Vec<f64> = part.iter().map(|at| at.predictor - cut).collect();
            above.push(mean_slopes(Family::Bernoulli, &means, &deviations));
        }
        above.push(vec![0.0; rows]);
    }
    let whole = predict_mixture(parts, probability)?;
    let spread = Spread::new(parts, probability)?;
    let row = |n: usize| {
        let of = |k: usize| {
            let parts = all.iter().zip(&above);
            let mean: f64 = parts.map(|((share, ..), p)| share * (p[k - 1][n] - p[k][n])).sum();
            let [low, high] = spread.interval(n, |part, s| all[part].1.probability(k, s));
            Prediction { mean: mean.clamp(0.0, 1.0), low, high, ..whole[n] }
        };
        (1..=count).map(of).collect()
    };
    Ok((0..rows).map(row).collect())
}

/// How many points at least stand for a mixture whose quantiles no formula gives, and for each of its parts.
const POINTS: [usize; 2] = [800, 25];

/// A mixture as points of equal probability in each part, for the quantiles of functions of its predictor.
pub(super) struct Spread<'a> {
    parts: &'a [(f64, Family, Vec<Prediction>)],
    /// Standard normal quantiles.
    points: Vec<f64>,
    tail: f64,
}

impl<'a> Spread<'a> {
    pub(super) fn new(parts: &'a [(f64, Family, Vec<Prediction>)], probability: f64) -> Result<Self> {
        let count = POINTS[0].div_ceil(parts.len().max(1)).max(POINTS[1]);
        let points = (0..count).map(|i| -special::upper_quantile((i as f64 + 0.5) / count as f64)).collect();
        let tail = 0.5 * (1.0 - Probability::new("probability of an interval", probability)?.get());
        Ok(Self { parts, points, tail })
    }

    /// The equal-tailed interval of `f(part, s)` at row n.
    pub(super) fn interval(&self, n: usize, f: impl Fn(usize, f64) -> f64) -> [f64; 2] {
        let mut values: Vec<(f64, f64)> = Vec::with_capacity(self.parts.len() * self.points.len());
        for (part, (share, _, at)) in self.parts.iter().enumerate() {
            let of = |u: &f64| (f(part, at[n].predictor + u * at[n].predictor_sd), *share);
            values.extend(self.points.iter().map(of));
        }
        values.sort_by(|a, b| a.0.total_cmp(&b.0));
        let total: f64 = values.iter().map(|(_, share)| share).sum();
        [self.tail, 1.0 - self.tail].map(|level| {
            let mut sum = 0.0;
            let reaches = |&(_, share): &(f64, f64)| {
                sum += share;
                sum >= level * total
            };
            let place = values.iter().position(reaches).unwrap_or(values.len().saturating_sub(1));
            values.get(place).map_or(f64::NAN, |(value, _)| *value)
        })
    }
}

/// The equal-tailed interval of the mean category g_j(s) at row n, over parts j with gaps of their own. g_j rises with s, so
/// ```text
/// P(g ≤ x) = Σ_j share_j Φ((g_j⁻¹(x) − μ_j)/σ_j)
/// ```
/// which is solved for x by bisection.
pub(super) fn interval_of_mean(
    parts: &[(f64, Family, Vec<Prediction>)],
    n: usize,
    probability: f64,
) -> Result<[f64; 2]> {
    let tail = 0.5 * (1.0 - Probability::new("probability of an interval", probability)?.get());
    let most = parts.iter().filter_map(|(_, family, _)| family.gaps()).map(|gaps| gaps.categories()).max();
    let most = most.unwrap_or(2) as f64;
    let total: f64 = parts.iter().map(|(share, ..)| share).sum();
    let below = |x: f64| -> f64 {
        let of = |(share, family, part): &(f64, Family, Vec<Prediction>)| {
            let at = &part[n];
            let s = family.gaps().map_or(at.predictor, |gaps| gaps.predictor_of_mean(x));
            share * special::normal_cdf((s - at.predictor) / at.predictor_sd.max(f64::MIN_POSITIVE))
        };
        parts.iter().map(of).sum::<f64>() / total
    };
    Ok([tail, 1.0 - tail].map(|level| {
        let (mut low, mut high) = (1.0, most);
        for _ in 0..STEPS {
            let middle = 0.5 * (low + high);
            if below(middle) < level { low = middle } else { high = middle }
        }
        0.5 * (low + high)
    }))
}

/// Bisections: eleven categories down to 10^{−11}.
const STEPS: usize = 40;

#[cfg(test)]
mod tests {
    use super::super::{Rows, predict, response};
    use super::*;
    use crate::base::draws::Seed;
    use crate::base::gaussian::Gaussian;
    use crate::glm::Gaps;
    use crate::glm::design::Design;

    /// Probabilities of categories are those of the draws, for a mixture of two gaps too.
    #[test]
    fn categories_have_the_probabilities_of_the_draws() {
        let design = Design::dense(3, 2, &[1.0, 0.5, 1.0, -2.0, 1.0, 0.0]).unwrap();
        let (rows, draws) = (Rows { offsets: Some(&[0.1, 0.0, -0.3]), ..Rows::new(&design) }, 40_000);
        let q = Gaussian::new(&[0.3, -0.6], &[0.5, -0.2, 0.4]).unwrap();
        let families =
            [&[1.5, 0.4][..], &[0.6, 1.1]].map(|w| Family::Ordered { gaps: Gaps::new(w).unwrap() });
        let part = |share: f64, family: Family| (share, family, predict(family, &q, &rows, 0.9).unwrap());
        for parts in [vec![part(1.0, families[0])], vec![part(0.3, families[0]), part(0.7, families[1])]] {
            let (found, means) = (categories(&parts, 0.9).unwrap(), predict_mixture(&parts, 0.9).unwrap());
            let points = q.sample(draws, Seed(5));
            for (n, of_row) in found.iter().enumerate() {
                let shares: f64 = of_row.iter().map(|p| p.mean).sum();
                let number: f64 = of_row.iter().zip(1..).map(|(p, k)| f64::from(k) * p.mean).sum();
                assert!((shares - 1.0).abs() < 1e-12 && (number - means[n].mean).abs() < 1e-12);
                for (k, p) in of_row.iter().enumerate() {
                    let at = |i: usize| {
                        let which = usize::from(parts.len() > 1 && i % 10 >= 3);
                        let s = rows.predictors(points.row(i))[n];
                        let gaps = families[which].gaps().unwrap();
                        (gaps.probability(k + 1, s), response(families[which], s))
                    };
                    let values: Vec<(f64, f64)> = (0..draws).map(at).collect();
                    let mean = values.iter().map(|v| v.0).sum::<f64>() / draws as f64;
                    let variance = values.iter().map(|v| (v.0 - mean).powi(2)).sum::<f64>() / draws as f64;
                    // Six standard errors: false alarm near 2e-9 each.
                    assert!((mean - p.mean).abs() < 6.0 * (variance / draws as f64).sqrt(), "{n} {k}");
                    let share = |inside: &dyn Fn(&(f64, f64)) -> bool| {
                        values.iter().filter(|v| inside(v)).count() as f64 / draws as f64
                    };
                    // The interval is one of 800 points: 0.0025 besides six standard errors of 0.0015.
                    let inside = share(&|v| (p.low..=p.high).contains(&v.0));
                    assert!((inside - 0.9).abs() < 0.0115, "{n} {k}: {inside}");
                    // Six standard errors of 0.0015.
                    let inside = share(&|v| (means[n].low..=means[n].high).contains(&v.1));
                    assert!((inside - 0.9).abs() < 0.009, "{n}: {inside}");
                }
            }
        }
        assert!(categories(&[part(1.0, Family::Poisson)], 0.9).is_err());
    }
}

//! The distribution of the terms, ready to draw from.

use super::alias::Alias;
use super::{Sampling, Subsample, shuffle};
use crate::base::draws::{Draws, Purpose, Seed};
use crate::base::error::{Error, Result};

/// An almost flat term is drawn as often as a term with this share of the mean M_n, because it still has a slope.
const LEAST_SHARE: f64 = 1e-3;

/// B of N terms for each draw. Memory: three numbers per term for `importance`, none otherwise.
#[derive(Clone, Debug)]
pub struct Law {
    subsample: Subsample,
    count: usize,
    importance: Option<(Vec<f64>, Alias)>,
}

impl Law {
    /// For N = `count` terms; `smoothness` holds the M_n, which `importance` needs.
    pub fn new(subsample: Subsample, count: usize, smoothness: Option<&[f64]>) -> Result<Self> {
        if subsample.terms == 0 || subsample.terms > count {
            return Err(Error::SubsampleSize { terms: subsample.terms, count });
        }
        let importance = match (subsample.sampling, smoothness) {
            (Sampling::Importance, None) => {
                return Err(Error::MissingConstant {
                    wanted: "importance sampling",
                    constant: "the smoothness M_n of each term",
                    way_out: "declare it, or draw terms uniformly",
                });
            }
            (Sampling::Importance, Some(smoothness)) => {
                if smoothness.len() != count {
                    let (what, found) = ("smoothness of the terms", smoothness.len());
                    return Err(Error::Shape { what, found, expected: count });
                }
                let probabilities = proportional(smoothness);
                let alias = Alias::new(&probabilities);
                Some((probabilities, alias))
            }
            _ => None,
        };
        Ok(Self { subsample, count, importance })
    }

    /// The number of terms and the kind of sampling from which it was made.
    pub fn subsample(&self) -> Subsample {
        self.subsample
    }

    /// The number of terms N.
    pub fn count(&self) -> usize {
        self.count
    }

    /// π_n; for `reshuffle` the probability 1/N of a single draw.
    pub fn probability(&self, n: usize) -> f64 {
        match &self.importance {
            Some((probabilities, _)) => probabilities[n],
            None => 1.0 / self.count as f64,
        }
    }

    /// The probabilities of all terms.
    pub fn probabilities(&self) -> Vec<f64> {
        (0..self.count).map(|n| self.probability(n)).collect()
    }

    /// 1/(Bπ_n): the weight that corrects for how rarely term n is drawn.
    pub fn weight(&self, n: usize) -> f64 {
        1.0 / (self.subsample.terms as f64 * self.probability(n))
    }

    /// Writes the B terms of draw k of step t with their weights. `draws` is the number of draws per step; `room`
    /// has space for 2B numbers.
    pub fn draw(
        &self,
        seed: Seed,
        (step, draw, draws): (u64, usize, usize),
        terms: &mut [usize],
        weights: &mut [f64],
        room: &mut [f64],
    ) {
        let source = Draws::new(seed, Purpose::Terms);
        match self.subsample.sampling {
            Sampling::Reshuffle => {
                // Positions are counted through draws, steps and epochs; a run has fewer than 2¹²⁸ of them.
                let (size, count) = (terms.len() as u128, self.count as u128);
                let first = (u128::from(step) * draws as u128 + draw as u128) * size;
                for (place, n) in (first..).zip(terms.iter_mut()) {
                    let (epoch, i) = ((place / count) as u64, (place % count) as u64);
                    *n = shuffle::entry(source.key(), epoch, self.count as u64, i) as usize;
                }
            }
            _ => {
                source.uniforms(step, draw as u32, room);
                let (columns, heights) = room.split_at(terms.len());
                for ((n, column), height) in terms.iter_mut().zip(columns).zip(heights) {
                    *n = match &self.importance {
                        Some((_, alias)) => alias.pick(*column, *height),
                        None => ((column * self.count as f64) as usize).min(self.count - 1),
                    };
                }
            }
        }
        weights.iter_mut().zip(terms).for_each(|(weight, n)| *weight = self.weight(*n));
    }
}

/// π_n ∝ M_n, where terms below [`LEAST_SHARE`] of the mean are raised to it; 1/N if all M_n are zero.
///
/// Raising costs less than it gains: Σ M_n²/π_n stays below its value for 1/N, because such different terms make N
/// ΣM_n² larger.
fn proportional(smoothness: &[f64]) -> Vec<f64> {
    let count = smoothness.len() as f64;
    let mean = smoothness.iter().sum::<f64>() / count;
    if mean <= 0.0 || !mean.is_finite() {
        return vec![1.0 / count; smoothness.len()];
    }
    let raised: Vec<f64> = smoothness.iter().map(|m| (m / mean).max(LEAST_SHARE)).collect();
    let total: f64 = raised.iter().sum();
    raised.into_iter().map(|m| m / total).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn law(sampling: Sampling, terms: usize, smoothness: &[f64]) -> Law {
        Law::new(Subsample { terms, sampling }, smoothness.len(), Some(smoothness)).unwrap()
    }

    #[test]
    fn importance_never_spreads_more_than_uniform() {
        let lists: [&[f64]; 5] = [
            &[1.0; 7],
            &[0.0, 0.0, 0.0, 1.0],
            &[1e-9, 1.0, 2.0, 1e6],
            &[1.0, 1.0, 1.0, 1e-4],
            &[3.0, 0.5, 0.1, 0.7, 0.7],
        ];
        for list in lists {
            let spread = |sampling| -> f64 {
                let law = law(sampling, 1, list);
                list.iter().enumerate().map(|(n, m)| m * m / law.probability(n)).sum()
            };
            let (importance, uniform) = (spread(Sampling::Importance), spread(Sampling::Uniform));
            assert!(importance <= uniform * (1.0 + 1e-12), "{list:?}: {importance} {uniform}");
            let least = list.iter().sum::<f64>().powi(2);
            assert!(importance <= 1.01 * least, "{list:?}: {importance} {least}");
        }
        assert!(law(Sampling::Importance, 1, &[0.0; 3]).probability(2) > 0.3);
    }

    /// Counts of 40 000 terms against their probabilities: χ² with 4 degrees of freedom, 10⁻⁶ beyond 33.
    #[test]
    fn terms_come_as_often_as_they_should() {
        let smoothness = [3.0, 0.5, 0.1, 0.7, 2.0];
        for sampling in [Sampling::Uniform, Sampling::Importance] {
            let law = law(sampling, 4, &smoothness);
            let mut counts = [0.0f64; 5];
            let (mut terms, mut weights, mut room) = ([0; 4], [0.0; 4], [0.0; 8]);
            for step in 0..5000 {
                for draw in 0..2 {
                    law.draw(Seed(11), (step, draw, 2), &mut terms, &mut weights, &mut room);
                    terms.iter().for_each(|&n| counts[n] += 1.0);
                }
            }
            let chi = |p: &dyn Fn(usize) -> f64| -> f64 {
                (0..5).map(|n| (counts[n] - 4e4 * p(n)).powi(2) / (4e4 * p(n))).sum()
            };
            assert!(chi(&|n| law.probability(n)) < 33.0, "{sampling}: {counts:?}");
            let other = match sampling {
                Sampling::Uniform => law_probability(&smoothness),
                _ => vec![0.2; 5],
            };
            assert!(chi(&|n| other[n]) > 33.0, "the other law would show");
        }
    }

    fn law_probability(smoothness: &[f64]) -> Vec<f64> {
        law(Sampling::Importance, 1, smoothness).probabilities()
    }

    #[test]
    fn epochs_go_on_through_draws_and_steps() {
        let law = law(Sampling::Reshuffle, 3, &[1.0; 10]);
        let (mut seen, mut terms, mut weights) = (Vec::new(), [0; 3], [0.0; 3]);
        for step in 0..10 {
            for draw in 0..2 {
                law.draw(Seed(2), (step, draw, 2), &mut terms, &mut weights, &mut [0.0; 6]);
                seen.extend(terms);
                assert!(weights.iter().all(|w| (w - 10.0 / 3.0).abs() < 1e-15));
            }
        }
        for epoch in seen.chunks(10) {
            let mut sorted = epoch.to_vec();
            sorted.sort_unstable();
            assert!(sorted.into_iter().eq(0..10));
        }
        assert_ne!(seen[..10], seen[10..20]);
    }

    #[test]
    fn sizes_and_missing_constants_are_refused() {
        let make = |terms, sampling, smoothness: Option<&[f64]>| {
            Law::new(Subsample { terms, sampling }, 5, smoothness).unwrap_err().to_string()
        };
        assert!(make(0, Sampling::Uniform, None).contains("0 of 5 terms"));
        assert!(make(6, Sampling::Uniform, None).contains("6 of 5 terms"));
        assert!(make(2, Sampling::Importance, None).contains("M_n"));
        assert!(make(2, Sampling::Importance, Some(&[1.0])).contains("expected 5"));
    }
}

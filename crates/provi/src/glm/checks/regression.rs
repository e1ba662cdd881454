//! Checks of regressions whose rows are no log-concave function of one linear predictor.

use super::{Checks, PIT_DRAWS, Pit, Statistic, calibration, histogram, randomised, statistic, summaries};
use crate::base::draws::Seed;
use crate::base::error::{Error, Result};
use crate::base::matrix::Matrix;
use crate::base::stop;
use crate::glm::regression::{Likelihood, NewRows, Regression};
use crate::glm::sparse::NormalLaw;

impl Checks {
    /// Checks a regression at q, its further parameters drawn with the coefficients; a pure function of the seed.
    ///
    /// Predicted means are averages over the draws. Successes among trials have residuals and no calibration: their probability varies between
    /// rows, for which the intervals of a calibration make no room. Student's t may have no variance, so its residuals are those of
    /// [`Pit`] alone. For three levels or more, calibration is that of the level which is the likeliest in each row.
    pub fn of_regression(model: &Regression, q: &impl NormalLaw, seed: Seed) -> Result<Self> {
        Self::of_regression_with_draws(model, &q.sample_part(0..Self::REPLICATES as u64, seed), seed)
    }

    /// The same with coordinates that were drawn before, a row for each replicate.
    pub fn of_regression_with_draws(model: &Regression, points: &Matrix, seed: Seed) -> Result<Self> {
        if points.rows() == 0 {
            return Err(Error::Empty { what: "draws of the checks" });
        }
        stop::phase("the checks", || made(model, points, seed))
    }

    /// [`Checks::with_left_out`] of a regression. Of three levels or more, the probabilities of those that were not seen are not known without the
    /// row: there is no calibration then.
    pub fn with_regression_left_out(
        mut self,
        model: &Regression,
        left_out: &[[f64; 2]],
        seed: Seed,
    ) -> Result<Self> {
        let all = model.design().rows();
        if left_out.len() != all {
            return Err(Error::Shape { what: "rows left out", found: left_out.len(), expected: all });
        }
        let chosen = Self::rows_of(all);
        if model.likelihood().outcomes() == 2 {
            let seen: Vec<f64> = chosen.iter().map(|&n| model.response()[n] - 1.0).collect();
            // The probability of the first level lies below the second, and is all that there is up to itself.
            let first = |(&n, &y): (&usize, &f64)| left_out[n][usize::from(y < 0.5)];
            let predicted: Vec<f64> = chosen.iter().zip(&seen).map(|at| 1.0 - first(at)).collect();
            self.calibration = calibration(&predicted, &seen, |_| 1.0);
            self.pit = Pit { left_out: true, ..Pit::default() };
            return Ok(self);
        }
        self.calibration = Vec::new();
        self.pit = Pit::new(randomised(chosen.iter().map(|&n| left_out[n]), seed), true);
        Ok(self)
    }
}

fn made(model: &Regression, points: &Matrix, seed: Seed) -> Result<Checks> {
    let chosen = Checks::rows_of(model.design().rows());
    let take = |values: &[f64]| -> Vec<f64> { chosen.iter().map(|&n| values[n]).collect() };
    let design = model.design().select(&chosen)?;
    let (offsets, trials) = (model.given_offsets().map(take), model.given_trials().map(take));
    let rows = NewRows { design: &design, offsets: offsets.as_deref(), trials: trials.as_deref() };
    let (likelihood, seen) = (model.likelihood(), take(model.response()));
    let replicated = rows.responses(likelihood, points, 0, seed)?;
    let replicates: Vec<&[f64]> = (0..replicated.rows()).map(|k| replicated.row(k)).collect();
    let moments = rows.moments(likelihood, points)?;
    let binary = likelihood.outcomes() == 2;
    let whole = !matches!(likelihood, Likelihood::Student { .. });
    let pit = match binary {
        true => Pit::default(),
        false => Pit::new(randomised(ends(model, &chosen, points)?.into_iter(), seed), false),
    };
    Ok(Checks {
        rows: chosen.len(),
        histogram: if binary { Vec::new() } else { histogram(&seen, &replicates, whole) },
        calibration: match likelihood {
            Likelihood::Multinomial { .. } => {
                let (predicted, hit) = foretold(&moments, &seen);
                calibration(&predicted, &hit, |_| 1.0)
            }
            _ => Vec::new(),
        },
        residuals: match likelihood {
            Likelihood::BetaBinomial | Likelihood::ZeroInflatedPoisson => {
                let residual =
                    |(own, y): (&Vec<[f64; 2]>, &f64)| (own[0][0], (y - own[0][0]) / own[0][1].sqrt());
                moments.iter().zip(&seen).map(residual).collect()
            }
            _ => Vec::new(),
        },
        statistics: match likelihood {
            Likelihood::Multinomial { levels } => shares(levels, &seen, &replicates),
            _ => summaries(&seen, &replicates, whole.then_some((0.0, "share of zeros")), false),
        },
        pit,
    })
}

/// The probability of the second of two levels, or of the likeliest one of several, and whether it came true.
fn foretold(moments: &[Vec<[f64; 2]>], seen: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let one = |(own, y): (&Vec<[f64; 2]>, &f64)| {
        let level = match own.len() {
            2 => 1,
            _ => (0..own.len()).max_by(|&a, &b| own[a][0].total_cmp(&own[b][0])).unwrap_or(0),
        };
        (own[level][0], f64::from(u8::from((y - 1.0 - level as f64).abs() < 0.5)))
    };
    moments.iter().zip(seen).map(one).unzip()
}

/// How many rows have each level.
fn shares(levels: usize, seen: &[f64], replicates: &[&[f64]]) -> Vec<Statistic> {
    let one = |level: usize| {
        let share =
            |y: &[f64]| y.iter().filter(|y| (**y - level as f64).abs() < 0.5).count() as f64 / y.len() as f64;
        statistic(&format!("share of level {level}"), seen, replicates, &share)
    };
    (1..=levels).map(one).collect()
}

/// P(new < y) and P(new ≤ y) of each row, averaged over draws.
fn ends(model: &Regression, chosen: &[usize], points: &Matrix) -> Result<Vec<[f64; 2]>> {
    let count = points.rows().min(PIT_DRAWS);
    let few = Matrix::new(count, points.columns(), points.entries()[..count * points.columns()].to_vec())?;
    let mut out = Vec::with_capacity(chosen.len());
    for &row in chosen {
        stop::check()?;
        let found = model.cumulative_of(row, &few)?;
        out.push([0, 1].map(|end| found.iter().map(|at| at[end]).sum::<f64>() / count as f64));
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::gaussian::Gaussian;
    use crate::glm::Prior;
    use crate::glm::design::Design;

    const ROWS: usize = 400;
    const STUDENT: Likelihood = Likelihood::Student { sd: None, degrees: None, scale: 2.0 };

    /// Rows drawn at `truth` from a likelihood, and a narrow q around it.
    fn drawn(likelihood: Likelihood, truth: &[f64]) -> (Regression, Gaussian) {
        let mut x = vec![0.0; ROWS];
        provi_kernels::normals(4, 0, 0, &mut x);
        let entries: Vec<f64> = x.iter().flat_map(|x| [1.0, *x]).collect();
        let design = Design::dense(ROWS, 2, &entries).unwrap();
        let trials = vec![12.0; ROWS];
        let own = (likelihood == Likelihood::BetaBinomial).then_some(&trials[..]);
        let rows = NewRows { design: &design, offsets: None, trials: own };
        let point = Matrix::new(1, truth.len(), truth.to_vec()).unwrap();
        let y = rows.responses(likelihood, &point, 0, Seed(6)).unwrap();
        let model = Regression::new(likelihood, design.clone(), y.row(0), own, Prior::scale(3.0).unwrap());
        let mut covariance = Matrix::zeros(truth.len(), truth.len());
        (0..truth.len()).for_each(|i| covariance.row_mut(i)[i] = 1e-4);
        (model.unwrap(), Gaussian::from_covariance(truth, covariance).unwrap())
    }

    /// Rows of the law itself pass: of five bands of 95 %, three or more are left with a probability of 0.0012, and so much the less of twenty
    /// summaries six.
    #[test]
    fn rows_of_the_law_pass_its_checks() {
        let cases: [(Likelihood, &[f64]); 5] = [
            (STUDENT, &[0.8, -1.1, 0.2, 1.2]),
            (Likelihood::BetaBinomial, &[-0.4, 0.9, -1.5]),
            (Likelihood::ZeroInflatedPoisson, &[0.9, 0.6, -0.7]),
            (Likelihood::Multinomial { levels: 3 }, &[0.4, -0.9, -0.3, 1.1]),
            (Likelihood::Multinomial { levels: 2 }, &[0.4, -0.9]),
        ];
        let (mut left, mut far) = (0, 0);
        for (likelihood, truth) in cases {
            let (model, q) = drawn(likelihood, truth);
            let found = Checks::of_regression(&model, &q, Seed(1)).unwrap();
            assert_eq!(found, Checks::of_regression(&model, &q, Seed(1)).unwrap());
            left += usize::from(found.pit.outside() > 0);
            far += found
                .statistics
                .iter()
                .filter(|s| s.observed < s.replicated[0] || s.observed > s.replicated[2])
                .count();
            let off =
                found.calibration.iter().filter(|b| !(b.interval.0..=b.interval.1).contains(&b.predicted));
            assert!(off.count() <= 3, "{likelihood:?} {:?}", found.calibration);
            let squares = found.residuals.iter().map(|r| r.1 * r.1).sum::<f64>() / ROWS as f64;
            assert!(found.residuals.is_empty() || (0.7..1.4).contains(&squares), "{likelihood:?} {squares}");
            let levels = likelihood.outcomes();
            let total: f64 = found.histogram.iter().map(|b| b.observed).sum();
            assert!(levels == 2 || (total - ROWS as f64).abs() < 0.5, "{likelihood:?} {total}");
            assert_eq!(found.calibration.is_empty(), levels == 1);
            assert_eq!(found.pit.values.len(), if levels == 2 { 0 } else { ROWS });
            // Rows that are predicted by themselves, said to be left out: the same, but for the levels that were not seen.
            let ends = ends(&model, &(0..ROWS).collect::<Vec<_>>(), &q.sample(100, Seed(1))).unwrap();
            let same = found.clone().with_regression_left_out(&model, &ends, Seed(1)).unwrap();
            assert!(same.pit.left_out && same.pit.outside() == found.pit.outside());
            for (a, b) in same.calibration.iter().zip(&found.calibration) {
                assert!((a.predicted - b.predicted).abs() < 0.01 && (a.observed - b.observed).abs() < 0.01);
            }
            assert_eq!(same.calibration.len(), if levels == 2 { 10 } else { 0 });
            assert!(found.with_regression_left_out(&model, &ends[1..], Seed(1)).is_err());
        }
        assert!(left < 3 && far < 6, "{left} {far}");
    }

    /// Rows of another law do not: outliers, successes that vary, zeros besides and levels that do not depend on x.
    #[test]
    fn rows_of_another_law_fail() {
        let cases: [(Likelihood, &[f64], &[f64]); 4] = [
            // Two degrees of freedom, held to be thirty.
            (STUDENT, &[0.8, -1.1, 0.2, 0.0], &[0.8, -1.1, 0.2, 3.4]),
            (Likelihood::BetaBinomial, &[-0.4, 0.9, -1.0], &[-0.4, 0.9, -4.0]),
            (Likelihood::ZeroInflatedPoisson, &[1.2, 0.6, 0.3], &[1.2, 0.6, -3.0]),
            (Likelihood::Multinomial { levels: 3 }, &[0.4, -1.9, -0.3, 2.1], &[0.4, 1.9, -0.3, -2.1]),
        ];
        for (likelihood, truth, held) in cases {
            let (model, q) = drawn(likelihood, truth);
            let wrong = Gaussian::from_covariance(held, q.covariance()).unwrap();
            let found = Checks::of_regression(&model, &wrong, Seed(1)).unwrap();
            assert!(found.pit.outside() > 2, "{likelihood:?} {}", found.pit.outside());
        }
    }
}

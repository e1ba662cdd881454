//! A fit as plain data: everything its report and its plots show.

use crate::effects::EffectsFacts;
use crate::quantities::Quantities;

/// A fit, its certificate and its checks. Numbers that are not finite are shown as missing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FitPage {
    /// The heading.
    pub title: String,
    /// The model and its data.
    pub model: ModelFacts,
    /// What is proved.
    pub certificate: CertificateFacts,
    /// What the model says about each variable.
    pub effects: EffectsFacts,
    /// The posterior, coefficient by coefficient.
    pub coefficients: Vec<Coefficient>,
    /// Whether the bounds of their errors rest on a curvature that somebody declared.
    pub declared: bool,
    /// How many of them come before the effects of groups; 0 if there are no groups.
    pub population: usize,
    /// What e to the power of a coefficient is, such as "odds ratio"; empty if it is nothing.
    pub ratio: String,
    /// Linear combinations that were asked for.
    pub contrasts: Vec<Coefficient>,
    /// How much the means depend on the prior; empty if nobody asked.
    pub sensitivity: Vec<SensitivityFacts>,
    /// Another spread of the estimates, if it was asked for.
    pub robust: Option<RobustFacts>,
    /// What was not proved, one sentence each.
    pub unproved: Vec<String>,
    /// The posterior on the model's own scale, if that differs from the coefficients' scale.
    pub quantities: Quantities,
    /// The effects of groups, one list for each term and column.
    pub groups: Vec<GroupEffects>,
    /// Correlations: the lower triangle row by row, with its diagonal, d(d+1)/2 numbers; empty if unknown.
    pub correlation: Vec<f64>,
    /// The progress of the run.
    pub trace: Vec<TracePoint>,
    /// Steps of the run; by default those of the last point of the trace.
    pub steps: Option<u64>,
    /// Seconds of the whole run, if known.
    pub seconds: Option<f64>,
    /// The log evidence.
    pub evidence: Evidence,
    /// Checks of the model against the data.
    pub checks: Vec<Check>,
    /// What the statements rest on, one sentence each.
    pub assumptions: Vec<String>,
    /// Versions, seed, digest of the data, constants and their origin, as (name, value).
    pub provenance: Vec<(String, String)>,
    /// The command that makes this fit again.
    pub command: String,
}

/// A coefficient's mean under three priors.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SensitivityFacts {
    /// The coefficient.
    pub name: String,
    /// Its mean under a prior half as wide, the given one, and one twice as wide.
    pub means: [f64; 3],
    /// The largest distance from its mean under the given prior, in its sds.
    pub moves: f64,
    /// Whether that is visible.
    pub leans: bool,
}

/// A spread of the estimates that does not rest on the model being right.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RobustFacts {
    /// Its name: "sandwich".
    pub name: String,
    /// What it is and what it is not, in sentences.
    pub notes: Vec<String>,
    /// Coefficient, its mean, its posterior sd, and this spread.
    pub rows: Vec<(String, [f64; 3])>,
}

/// What one column of a group term contributes, level by level.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GroupEffects {
    /// The term, such as `(1 | clinic)`.
    pub name: String,
    /// The levels.
    pub levels: Vec<Coefficient>,
}

/// The model and its data.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelFacts {
    /// `y ~ x + (1 | g)`.
    pub formula: String,
    /// The likelihood, in words.
    pub family: String,
    /// Where the data came from.
    pub data: String,
    /// Rows used.
    pub rows: u64,
    /// Rows left out, and why: "3 rows with missing values".
    pub dropped: Option<String>,
    /// Priors, one line each.
    pub priors: Vec<String>,
    /// What the whole answer is conditional on: "noise sd = 5 (fixed)".
    pub conditional_on: Vec<String>,
    /// Further facts, as (name, value).
    pub further: Vec<(String, String)>,
}

/// A verdict as a traffic light.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Light {
    /// Proved, and tight enough to use.
    Green,
    /// Proved, but loose, or on constants that are not proved.
    #[default]
    Amber,
    /// Not proved.
    Red,
}

/// The certificate in words.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CertificateFacts {
    /// The verdict as a traffic light.
    pub light: Light,
    /// The verdict in a sentence.
    pub headline: String,
    /// What that means for a reader who does not know the terms; may be empty.
    pub meaning: String,
    /// The statements.
    pub statements: Vec<StatementFacts>,
    /// What all statements share, such as the probability with which they hold.
    pub footnote: String,
}

/// One line of the certificate.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StatementFacts {
    /// "KL to posterior".
    pub what: String,
    /// "≤ 0.0449 nats", or why nothing is proved.
    pub value: String,
    /// Whether it is proved.
    pub proved: bool,
    /// The meaning in plain words; may be empty.
    pub meaning: String,
    /// "[local-kl], certain".
    pub grounds: String,
}

/// One coefficient of the posterior.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Coefficient {
    /// The name, as in the formula.
    pub name: String,
    /// Posterior mean.
    pub mean: f64,
    /// Posterior standard deviation.
    pub sd: f64,
    /// The ends of the central 95 % interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// Proved bound of the error of `mean`.
    pub mean_error: Option<f64>,
    /// Proved bound of the error of `sd`.
    pub sd_error: Option<f64>,
    /// The mean of the prior; `None` for a flat prior.
    pub prior_mean: Option<f64>,
    /// The prior's standard deviation.
    pub prior_sd: Option<f64>,
}

/// The progress of the run at one step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TracePoint {
    /// Steps made so far.
    pub step: u64,
    /// −ELBO, in nats.
    pub value: f64,
    /// A bound of the distance to the best Gaussian, in nats.
    pub gap_bound: Option<f64>,
}

/// The log evidence: what is proved and what is estimated, in nats.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evidence {
    /// Proved lower bound.
    pub lower: Option<f64>,
    /// Proved upper bound.
    pub upper: Option<f64>,
    /// The ELBO.
    pub elbo: Option<f64>,
    /// Estimate and its standard error.
    pub estimate: Option<(f64, f64)>,
    /// Why an end is missing, or how far to trust the estimate; may be empty.
    pub remark: String,
}

/// A check of the model against the data.
#[derive(Clone, Debug, PartialEq)]
pub enum Check {
    /// A histogram of the data, compared with replicated data.
    Predictive {
        /// The quantity and its unit.
        axis: String,
        /// The bins, from left to right.
        bins: Vec<PredictiveBin>,
        /// Whether to draw square roots of the counts, so that rare counts are visible (a rootogram).
        rooted: bool,
    },
    /// Observed frequencies against predicted probabilities.
    Calibration {
        /// The bins, in order of the prediction.
        bins: Vec<CalibrationBin>,
        /// Whether each row was predicted without itself.
        left_out: bool,
        /// Whether it is of the level that is the likeliest in each row, of several.
        likeliest: bool,
    },
    /// Where each response lies in its predictive distribution.
    Pit(PitFacts),
    /// Residuals against fitted values.
    Residuals {
        /// What is on the y axis: "Pearson residual".
        kind: String,
        /// What is on the x axis: "fitted mean, mm".
        axis: String,
        /// (fitted, residual).
        points: Vec<(f64, f64)>,
    },
    /// Summaries of the data, compared with those of replicated data.
    Statistics {
        /// The summaries.
        rows: Vec<Statistic>,
    },
}

/// Values of predictive distribution functions, with a simultaneous band.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PitFacts {
    /// Number of values.
    pub rows: u64,
    /// Whether each row was predicted without itself.
    pub left_out: bool,
    /// The probability of the whole band, for independent uniform values.
    pub level: f64,
    /// (place, share of values up to it, lower end, upper end).
    pub band: Vec<[f64; 4]>,
    /// Ten bins; `replicated` are the ends of their simultaneous intervals around the expected count.
    pub bins: Vec<PredictiveBin>,
    /// (normal quantile, quantile residual, row); empty for discrete responses.
    pub quantiles: Vec<(f64, f64, u64)>,
    /// The lower and the upper end of the band of quantiles.
    pub quantile_band: [Vec<(f64, f64)>; 2],
}

impl PitFacts {
    /// Places where the share leaves the band.
    pub fn outside(&self) -> usize {
        let rounding = 1e-12;
        self.band
            .iter()
            .filter(|[_, share, low, high]| *share < low - rounding || *share > high + rounding)
            .count()
    }
}

/// A bin of a predictive check.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PredictiveBin {
    /// Left edge.
    pub low: f64,
    /// Right edge.
    pub high: f64,
    /// Observed rows in the bin.
    pub observed: f64,
    /// Replicated rows: 2.5 % quantile, median, 97.5 % quantile.
    pub replicated: [f64; 3],
}

/// A bin of a calibration plot.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CalibrationBin {
    /// Mean predicted probability.
    pub predicted: f64,
    /// Observed frequency.
    pub observed: f64,
    /// The 95 % interval of the observed frequency.
    pub interval: (f64, f64),
    /// Number of rows.
    pub rows: u64,
}

/// A summary of the data, compared with its distribution over replicated data.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Statistic {
    /// "standard deviation".
    pub name: String,
    /// Its value for the observed data.
    pub observed: f64,
    /// Its value for replicated data: 2.5 % quantile, median, 97.5 % quantile.
    pub replicated: [f64; 3],
}

impl Statistic {
    /// Whether the observed value is usual among replicated ones.
    pub fn is_usual(&self) -> bool {
        self.replicated[0] <= self.observed && self.observed <= self.replicated[2]
    }
}

impl FitPage {
    /// The correlation of two coefficients, if it is known and finite.
    pub fn correlation_of(&self, i: usize, j: usize) -> Option<f64> {
        let d = self.coefficients.len();
        let (row, column) = (i.max(j), i.min(j));
        let complete = row < d && self.correlation.len() == d * (d + 1) / 2;
        let value = complete.then(|| self.correlation[row * (row + 1) / 2 + column])?;
        value.is_finite().then_some(value.clamp(-1.0, 1.0))
    }

    /// The coefficients without the effects of groups, which have their own section.
    pub fn of_population(&self) -> &[Coefficient] {
        match self.population {
            0 => &self.coefficients,
            count => &self.coefficients[..count.min(self.coefficients.len())],
        }
    }

    /// The `most` coefficients furthest from 0 in their own standard deviations, in the order of the model; without effects of groups.
    pub fn clearest(&self, most: usize) -> Vec<&Coefficient> {
        let all = self.of_population();
        let clarity = |c: &Coefficient| {
            let ratio = (c.mean / c.sd).abs();
            if ratio.is_nan() { -1.0 } else { ratio }
        };
        let mut order: Vec<usize> = (0..all.len()).collect();
        order.sort_by(|&a, &b| clarity(&all[b]).total_cmp(&clarity(&all[a])).then(a.cmp(&b)));
        order.truncate(most);
        order.sort_unstable();
        order.into_iter().map(|i| &all[i]).collect()
    }

    /// The `most` pairs with the largest |correlation|, largest first.
    pub(crate) fn strongest_pairs(&self, most: usize) -> Vec<(usize, usize, f64)> {
        let d = self.coefficients.len();
        let mut best: Vec<(usize, usize, f64)> = Vec::new();
        for i in 1..d {
            for j in 0..i {
                let Some(r) = self.correlation_of(i, j) else { continue };
                if best.len() < most || best.last().is_some_and(|b| r.abs() > b.2.abs()) {
                    let at = best.partition_point(|b| b.2.abs() >= r.abs());
                    best.insert(at, (j, i, r));
                    best.truncate(most);
                }
            }
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str, mean: f64, sd: f64) -> Coefficient {
        Coefficient { name: name.to_owned(), mean, sd, ..Coefficient::default() }
    }

    #[test]
    fn the_clearest_come_in_the_order_of_the_model() {
        let coefficients = vec![
            named("a", 1.0, 1.0),
            named("b", f64::NAN, 1.0),
            named("c", -9.0, 1.0),
            named("d", 5.0, 1.0),
        ];
        let page = FitPage { coefficients, ..FitPage::default() };
        let names: Vec<_> = page.clearest(2).iter().map(|c| c.name.as_str()).collect();
        assert_eq!(names, ["c", "d"]);
        assert_eq!(page.clearest(9).len(), 4);
    }

    #[test]
    fn pairs_come_strongest_first() {
        let page = FitPage {
            coefficients: vec![named("a", 0.0, 1.0), named("b", 0.0, 1.0), named("c", 0.0, 1.0)],
            correlation: vec![1.0, 0.2, 1.0, f64::NAN, -0.7, 1.0],
            ..FitPage::default()
        };
        assert_eq!(page.strongest_pairs(5), [(1, 2, -0.7), (0, 1, 0.2)]);
        assert_eq!((page.correlation_of(0, 2), page.correlation_of(2, 1)), (None, Some(-0.7)));
    }
}

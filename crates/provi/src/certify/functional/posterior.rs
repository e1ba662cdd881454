//! Proved values of the posterior's own means and standard deviations.

use crate::target::curvature::Provenance;

/// The posterior's own mean and standard deviation of every coefficient: a value, and a bound of its error
/// [sharp-moments].
/// ```text
/// |E_p z_i − mean_i| ≤ mean_error_i,     |sd_p z_i − sd_i| ≤ sd_error_i,     |P_p(z_i > 0) − positive_i| ≤ positive_error_i
/// ```
/// An audit bounds E_p z_i from both sides, by draws weighted with p/q; where another of its statements is sharper, the interval ends there. The value is the middle of that
/// interval, so it is not q's mean: it is nearer to the posterior's if the draws resolve the difference.
///
/// They can be read but not changed; those from a file are the file's claim.
/// ```compile_fail,E0594
/// fn forge(mut moments: provi::functional::PosteriorMoments) {
///     moments.confidence = 1.0;
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PosteriorMoments(pub(crate) PosteriorMomentsFields);

crate::certify::certificate::read_only!(PosteriorMoments, PosteriorMomentsFields);

/// The contents of [`PosteriorMoments`], coefficient by coefficient.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct PosteriorMomentsFields {
    /// The posterior mean.
    pub mean: Vec<f64>,
    /// Bound of its error.
    pub mean_error: Vec<f64>,
    /// The posterior standard deviation.
    pub sd: Vec<f64>,
    /// Bound of its error.
    pub sd_error: Vec<f64>,
    /// P(z_i > 0) under the posterior [measured-events]; empty if it was not measured.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub positive: Vec<f64>,
    /// Bound of its error.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub positive_error: Vec<f64>,
    /// The probability over the audit's draws with which all bounds hold, together with the certificate.
    pub confidence: f64,
    /// The ledger key.
    pub key: String,
    /// The weakest origin of the constants.
    pub provenance: Provenance,
}

impl PosteriorMoments {
    /// From intervals of means and of standard deviations, in the order of the coefficients; `None` if one of them
    /// is not finite.
    pub(crate) fn new(
        intervals: &[[[f64; 2]; 2]],
        confidence: f64,
        key: &str,
        provenance: Provenance,
    ) -> Option<Self> {
        let half = |which: usize| {
            intervals.iter().map(move |both| {
                let [low, high] = both[which];
                let middle = 0.5 * low + 0.5 * high;
                // The error of a difference of two doubles is at most half a unit in its last place.
                (middle, (high - middle).max(middle - low).max(0.0) * (1.0 + 2.0 * f64::EPSILON))
            })
        };
        let (mean, mean_error): (Vec<f64>, Vec<f64>) = half(0).unzip();
        let (sd, sd_error): (Vec<f64>, Vec<f64>) = half(1).unzip();
        let whole = [&mean, &mean_error, &sd, &sd_error].into_iter().flatten().all(|x| x.is_finite());
        let fields = PosteriorMomentsFields {
            mean,
            mean_error,
            sd,
            sd_error,
            positive: Vec::new(),
            positive_error: Vec::new(),
            confidence,
            key: key.into(),
            provenance,
        };
        (whole && !intervals.is_empty()).then_some(Self(fields))
    }

    /// With bounds of P(z_i > 0), if there is one for each coefficient.
    pub(crate) fn with_signs(mut self, signs: &[[f64; 2]]) -> Self {
        if signs.len() == self.0.mean.len() {
            (self.0.positive, self.0.positive_error) = signs
                .iter()
                .map(|[low, high]| {
                    let middle = 0.5 * low + 0.5 * high;
                    (middle, (high - middle).max(middle - low).max(0.0) + f64::EPSILON)
                })
                .unzip();
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_the_middle_of_its_interval_and_the_error_reaches_both_ends() {
        let intervals = [[[-0.3, 0.1], [0.9, 1.2]], [[1e9, 1e9 + 3.0], [0.0, 2e-300]]];
        let found = PosteriorMoments::new(&intervals, 0.99, "sharp-moments", Provenance::Proved).unwrap();
        for (i, [[low, high], [least, most]]) in intervals.into_iter().enumerate() {
            assert!(
                found.mean[i] - found.mean_error[i] <= low && found.mean[i] + found.mean_error[i] >= high
            );
            assert!(found.sd[i] - found.sd_error[i] <= least && found.sd[i] + found.sd_error[i] >= most);
            assert!(2.0 * found.mean_error[i] <= (high - low) * (1.0 + 1e-12));
        }
        let endless = [[[0.0, f64::INFINITY], [0.0, 1.0]]];
        assert!(PosteriorMoments::new(&endless, 0.99, "sharp-moments", Provenance::Proved).is_none());
    }
}

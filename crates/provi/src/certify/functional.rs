//! Linear functionals vᵀz of a certified answer: value, error, interval and sign.

mod bounds;
mod compare;
mod posterior;
mod sign;

pub use bounds::{EveryBound, GlobalBound, LocalBound, MomentBounds, MomentBoundsFields};
pub use posterior::{PosteriorMoments, PosteriorMomentsFields};
pub use sign::SignProbability;

use crate::base::error::{Error, Result};
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::normal_mixture;
use crate::base::scalar::Probability;
use crate::base::special::{normal_cdf, upper_quantile};
use crate::certify::certificate::{Certificate, Statement};
use crate::glm::sparse::NormalLaw;

/// vᵀz under q, and bounds on how far the posterior can be from it.
/// ```text
/// mean = vᵀm,   sd = ‖Cᵀv‖,   P(vᵀz > 0) = Φ(mean/sd)
/// ```
/// The errors of mean and sd are those of [cert-moments] and [local-moments] for this v; that of the sign is
/// [cert-event]. A coefficient is the functional of its unit vector.
///
/// ```
/// use provi::{Auto, Design, Seed, target::{Glm, Prior}};
///
/// let design = Design::dense(4, 2, &[1.0, 0.5, 1.0, -1.5, 1.0, 2.0, 1.0, -0.3])?;
/// let target = Glm::logistic(design, &[1.0, 0.0, 1.0, 0.0], Prior::scale(1.0)?)?;
/// let answer = Auto::default().run(&target, Seed(0))?;
/// let v = [-1.0, 1.0];
/// let slope_above_intercept = answer.functional(&v)?;
/// println!("{slope_above_intercept}");
/// assert!(slope_above_intercept.positive.lower > 0.2);
/// # Ok::<(), provi::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Functional {
    /// The mean vᵀm.
    pub mean: f64,
    /// The standard deviation ‖Cᵀv‖.
    pub sd: f64,
    /// Bound of |E_p vᵀz − vᵀm|.
    pub mean_error: Statement,
    /// Bound of |sd_p vᵀz − ‖Cᵀv‖|.
    pub sd_error: Statement,
    /// P(vᵀz > 0), with bounds.
    pub positive: SignProbability,
    /// If the answer is a mixture of Gaussians: share, mean and deviation that each gives it. Empty for one Gaussian.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub(crate) parts: Vec<(f64, f64, f64)>,
    /// Quantiles from weighted draws, by ascending level. Empty if there are none.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub(crate) quantiles: Vec<(f64, f64)>,
}

/// Three lines: mean, sd and sign, each with what is proved about it.
impl std::fmt::Display for Functional {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "mean       {:.5}, error {}", self.mean, self.mean_error)?;
        writeln!(f, "sd         {:.5}, error {}", self.sd, self.sd_error)?;
        write!(f, "P(> 0)     {}", self.positive)
    }
}

impl Functional {
    /// From the errors of v's mean and sd ([`crate::audit::Audited::functional`], [`MomentBounds::functional`]).
    /// The zero functional is refused.
    pub fn new(
        q: &impl NormalLaw,
        v: &[f64],
        [mean_error, sd_error]: [Statement; 2],
        certificate: &Certificate,
    ) -> Result<Self> {
        let sd = q.deviation_of(v)?;
        if sd.is_nan() || sd <= 0.0 {
            return Err(Error::OutOfRange { what: "sd of the functional", value: sd, needed: "positive" });
        }
        let mean = provi_kernels::dot(v, q.mean());
        let positive = SignProbability::new(mean / sd, certificate);
        Ok(Self { mean, sd, mean_error, sd_error, positive, parts: Vec::new(), quantiles: Vec::new() })
    }

    /// From a mixture: the shares, means and deviations of its parts.
    pub(crate) fn of_parts(
        parts: Vec<(f64, f64, f64)>,
        [mean_error, sd_error]: [Statement; 2],
        certificate: &Certificate,
    ) -> Result<Self> {
        let mean: f64 = parts.iter().map(|(share, mean, _)| share * mean).sum();
        let square = |(share, m, sd): &(f64, f64, f64)| share * (sd * sd + (m - mean).powi(2));
        let sd = parts.iter().map(square).sum::<f64>().sqrt();
        if sd.is_nan() || sd <= 0.0 {
            return Err(Error::OutOfRange { what: "sd of the functional", value: sd, needed: "positive" });
        }
        let sides = [1.0, -1.0].map(|side| -> f64 {
            parts.iter().map(|(share, m, sd)| share * normal_cdf(side * m / sd)).sum::<f64>().min(1.0)
        });
        let positive = SignProbability::from_sides(sides, certificate);
        Ok(Self { mean, sd, mean_error, sd_error, positive, parts, quantiles: Vec::new() })
    }

    /// The functional of coordinate `index`, with its errors from the certificate. Cost: one row of C.
    pub fn coordinate(q: &impl NormalLaw, index: usize, certificate: &Certificate) -> Result<Self> {
        let [mean_error, sd_error] = certificate.moment_errors(index, q.mean().len())?;
        let (mean, sd) = (q.mean()[index], q.deviation(index));
        let positive = SignProbability::new(mean / sd, certificate);
        Ok(Self { mean, sd, mean_error, sd_error, positive, parts: Vec::new(), quantiles: Vec::new() })
    }

    /// With what is measured of the sign of that coefficient [measured-events].
    pub fn knowing(mut self, posterior: Option<&PosteriorMoments>, index: usize) -> Self {
        if let Some(own) = posterior
            && let (Some(value), Some(error)) = (own.positive.get(index), own.positive_error.get(index))
        {
            let ends = [value - error, value + error];
            self.positive = self.positive.narrowed(ends, own.confidence, own.provenance);
        }
        self
    }

    /// The central interval of q with probability `level`, between its quantiles.
    pub fn interval(&self, level: f64) -> Result<[f64; 2]> {
        let tail = 0.5 * (1.0 - Probability::new("level", level)?.get());
        if let [Some(low), Some(high)] = [tail, 1.0 - tail].map(|level| between(&self.quantiles, level)) {
            return Ok([low, high]);
        }
        if !self.parts.is_empty() {
            return normal_mixture::interval(&self.parts, level);
        }
        let level = Probability::new("level", level)?.get();
        let half = upper_quantile(0.5 * (1.0 - level)) * self.sd;
        Ok([self.mean - half, self.mean + half])
    }

    /// Whether mean, deviation and interval come from weighted draws.
    pub fn is_weighed(&self) -> bool {
        !self.quantiles.is_empty()
    }

    /// Whether the answer is a mixture of Gaussians, so that the interval is not that of a single one.
    pub fn is_mixed(&self) -> bool {
        !self.parts.is_empty()
    }

    /// Proved digits of the mean and of the sd; `None` if there is no bound.
    pub fn digits(&self) -> [Option<u32>; 2] {
        [(self.mean, &self.mean_error), (self.sd, &self.sd_error)]
            .map(|(value, error)| error.bound().map(|bound| proved_digits(value, bound)))
    }
}

/// The errors of vᵀz if no bounds were kept: not proved, for the reason that the certificate gives.
pub fn unbounded(q: &Gaussian<Triangular>, v: &[f64], certificate: &Certificate) -> Result<[Statement; 2]> {
    q.deviation_of(v)?;
    let reason = certificate.kl.reason().unwrap_or("no bounds were kept");
    Ok([Statement::missing(reason), Statement::missing(reason)])
}

/// How many significant digits of a value are proved by a bound of its error: the largest D ≤ 15 with
/// ```text
/// error ≤ ½·10^(e+1−D),   e = ⌊log₁₀|value|⌋
/// ```
/// half a unit of the D-th digit. 0 if not even the first digit is proved.
///
/// ```
/// use provi::functional::proved_digits;
/// assert_eq!([proved_digits(-1.217, 0.004), proved_digits(-1.217, 0.006), proved_digits(0.0, 0.1)], [3, 2, 0]);
/// ```
pub fn proved_digits(value: f64, error: f64) -> u32 {
    if !(value.abs() > 0.0 && value.is_finite() && error >= 0.0) {
        return 0;
    }
    let unit = value.abs().log10().floor() + 1.0;
    (unit - (2.0 * error.max(f64::MIN_POSITIVE)).log10()).floor().clamp(0.0, 15.0) as u32
}

/// The quantile at that level from some that are known, by ascending level: linear in the score of a normal law between two of them. `None`
/// beyond them.
pub(crate) fn between(known: &[(f64, f64)], level: f64) -> Option<f64> {
    let above = known.iter().position(|(at, _)| *at >= level - 1e-12)?;
    let (high_level, high) = known[above];
    if (high_level - level).abs() <= 1e-12 {
        return Some(high);
    }
    let (low_level, low) = *known.get(above.checked_sub(1)?)?;
    let [a, b, x] = [low_level, high_level, level].map(|level| -upper_quantile(level));
    Some(low + (high - low) * (x - a) / (b - a))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn functional(mean: f64, sd: f64) -> Functional {
        let q = Gaussian::<Triangular>::new(&[mean], &[sd]).unwrap();
        let certificate = Certificate::nothing(&["x".into()], "nothing was tried");
        let none = || Statement::missing("nothing was tried");
        Functional::new(&q, &[1.0], [none(), none()], &certificate).unwrap()
    }

    #[test]
    fn intervals_are_quantiles() {
        for (level, quantile) in [(0.5, 0.674_489_750_196_081_7), (0.95, 1.959_963_984_540_054)] {
            let [low, high] = functional(3.0, 2.0).interval(level).unwrap();
            assert!(
                (low - (3.0 - 2.0 * quantile)).abs() < 1e-12 && (high - (3.0 + 2.0 * quantile)).abs() < 1e-12
            );
        }
        assert!([0.0, 1.0, f64::NAN].iter().all(|&level| functional(0.0, 1.0).interval(level).is_err()));
    }

    #[test]
    fn a_digit_is_proved_to_half_its_unit() {
        assert_eq!([0.5, 0.51, 0.05, 5e-12, 0.0].map(|error| proved_digits(1.0, error)), [1, 0, 2, 12, 15]);
        assert_eq!([999.0, 1000.0].map(|value| proved_digits(value, 0.5)), [3, 4]);
        assert_eq!(functional(1.0, 1.0).digits(), [None, None]);
    }

    #[test]
    fn what_is_no_question_is_refused() {
        let q = Gaussian::<Triangular>::standard(2);
        let certificate = Certificate::nothing(&[], "");
        let ask = |v: &[f64]| {
            Functional::new(&q, v, [Statement::missing(""), Statement::missing("")], &certificate)
        };
        assert!(
            unbounded(&q, &[1.0], &certificate).is_err() && unbounded(&q, &[1.0, 0.0], &certificate).is_ok()
        );
        assert!(ask(&[0.0, 0.0]).is_err() && ask(&[1.0]).is_err() && ask(&[f64::NAN, 1.0]).is_err());
    }
}

//! The maximum of a profile with one free scale, nearest to where the search begins.
//!
//! With more coefficients than rows the ELBO grows without bound as the noise goes to zero, because every row is
//! fitted exactly. The wanted maximum lies above that, so the search goes from its guess in short steps to the
//! first place where the slope changes sign, and narrows it down. The same data in another form (a row twice, or
//! once with weight 2) give the same scale.

use super::NATS;
use crate::base::error::{Error, Result};

/// Step length of the search, in the logarithm of the scale.
const STEP: f64 = 0.35;
/// The scale is not needed more accurately than this.
const WIDTH: f64 = 1e-10;

/// The logarithm of the scale, at most `reach` from the start, and how many slopes were computed. `slope` returns
/// the slope of the ELBO. The search may end where the ELBO, if it is concave there, has less than `nats` to gain.
///
/// If the slope keeps its sign as far as it can be computed, that end is the answer: the scale goes to zero or
/// infinity.
pub(super) fn climb(
    start: f64,
    reach: f64,
    nats: f64,
    slope: &dyn Fn(f64) -> Result<f64>,
) -> Result<(f64, u64)> {
    let mut evaluations = 1;
    let mut known = (start, slope(start)?);
    if known.1 == 0.0 || !known.1.is_finite() {
        return Ok((start, evaluations));
    }
    let direction = known.1.signum();
    let mut beyond = loop {
        let next = known.0 + direction * STEP;
        // Where the slope vanishes, the ELBO gains nothing more.
        if (next - start).abs() > reach || known.1.abs() * STEP < nats.max(NATS) {
            return Ok((known.0, evaluations));
        }
        evaluations += 1;
        match slope(next) {
            Ok(value) if value.is_finite() && value * direction > 0.0 => known = (next, value),
            Ok(value) if value.is_finite() => break (next, value),
            Err(error) if error.is_of_the_data() || matches!(error, Error::Stopped { .. }) => {
                return Err(error);
            }
            // Beyond this scale the model cannot be solved.
            _ => return Ok((known.0, evaluations)),
        }
    };
    // Regula falsi (Illinois variant): the slope of the end that stays is halved.
    let mut stayed = 0i32;
    while (beyond.0 - known.0).abs() > WIDTH && beyond.1 != 0.0 && evaluations < 200 {
        let middle = known.0 + (beyond.0 - known.0) * known.1 / (known.1 - beyond.1);
        let value = slope(middle)?;
        evaluations += 1;
        if value.abs() * (beyond.0 - known.0).abs() < nats {
            return Ok((middle, evaluations));
        }
        if value * direction > 0.0 {
            if stayed > 0 {
                beyond.1 *= 0.5;
            }
            (known, stayed) = ((middle, value), 1);
        } else {
            if stayed < 0 {
                known.1 *= 0.5;
            }
            (beyond, stayed) = ((middle, value), -1);
        }
    }
    Ok((if beyond.1 == 0.0 { beyond.0 } else { known.0 }, evaluations))
}

#[cfg(test)]
mod tests {
    use super::*;

    const REACH: f64 = 16.0;

    /// A slope that is zero at the given places, with alternating sign; at the first zero it falls from above.
    fn with_zeros(zeros: &'static [f64]) -> impl Fn(f64) -> Result<f64> {
        move |x| Ok(zeros.iter().fold(-1.0, |product, zero| product * (x - zero)))
    }

    #[test]
    fn the_first_maximum_on_the_way_is_found() {
        // Maxima at 0.3 and −4, a minimum between them at −2.
        let slope = with_zeros(&[0.3, -2.0, -4.0]);
        for (start, maximum) in [(2.0, 0.3), (0.0, 0.3), (-1.9, 0.3), (-2.1, -4.0), (-9.0, -4.0)] {
            let (found, evaluations) = climb(start, REACH, 0.0, &slope).unwrap();
            assert!((found - maximum).abs() < 1e-9 && evaluations < 60, "{start}: {found} by {evaluations}");
        }
    }

    #[test]
    fn a_rough_search_is_shorter_and_misses_no_more_than_it_may() {
        // The slope of −50(x − 0.3)² − (x − 0.3)⁴.
        let slope = |x: f64| Ok(-100.0 * (x - 0.3) - 4.0 * (x - 0.3f64).powi(3));
        let (_, fine) = climb(2.0, REACH, 0.0, &slope).unwrap();
        let (found, rough) = climb(2.0, REACH, 1e-3, &slope).unwrap();
        assert!(
            50.0 * (found - 0.3f64).powi(2) + (found - 0.3f64).powi(4) < 1e-3 && rough < fine,
            "{rough} {fine}"
        );
    }

    #[test]
    fn a_slope_that_keeps_its_sign_is_followed_to_the_end_of_the_range() {
        let (found, _) = climb(1.0, REACH, 0.0, &|_| Ok(-3.0)).unwrap();
        assert!((1.0 - REACH..1.0 - REACH + STEP).contains(&found));
        let (found, _) = climb(1.0, REACH, 0.0, &|x| Ok(if x < -2.0 { f64::NAN } else { -1.0 })).unwrap();
        assert!((-2.0..-2.0 + STEP).contains(&found), "{found}");
        // A deviation that tends to zero: the slope is −τ².
        let (found, _) = climb(1.0, REACH, 0.0, &|x| Ok(-(2.0 * x).exp())).unwrap();
        assert!((2.0 * found).exp() < NATS / STEP && (2.0 * (found + STEP)).exp() > NATS / STEP);
    }
}

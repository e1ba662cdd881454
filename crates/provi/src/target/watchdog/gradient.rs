//! The gradient against differences of the log density, which may be noisy.
//!
//! Central differences of steps h have an error of about h²|f‴|/6 + σ/h, where σ is the scatter of neighbouring values.
//! For a formula σ is rounding, and small steps are best. A log density that solves a differential equation with an
//! adaptive step scatters by the solver's tolerance instead: small steps then show noise only, and would call a right
//! gradient wrong. So if small steps disagree, or say nothing, σ is measured by fourth differences, which vanish on
//! smooth functions (Moré and Wild, *Estimating computational noise*, SISC 33(3), 2011), and if it explains what was
//! seen, larger steps decide.

use crate::base::draws::{Draws, Purpose, Seed};
use crate::base::error::{Error, Result};
use crate::base::linalg::norm;
use crate::base::stop;
use crate::target::Target;
use provi_kernels::dot;

/// The two usual steps, relative to the size of the point.
const COARSE: f64 = 1e-4;
const FINE: f64 = 1e-5;
/// Spacings of the points whose fourth differences measure the scatter, and how many points on each side.
const SPACINGS: [f64; 2] = [2.5e-5, 2.5e-4];
const SIDE: i32 = 4;
/// Noise explains a disagreement of up to this many of its standard deviations.
const SIGMAS: f64 = 6.0;
/// Steps that decide where the usual ones are too small.
const LARGER: [f64; 4] = [1e-3, 4e-3, 1.6e-2, 6.4e-2];
/// A difference decides if its error is below this part of a usual slope.
const TELLING: f64 = 0.2;
/// The usual differences say nothing if they differ by more than this part of a usual slope.
const SILENT: f64 = 0.01;

/// What a check of the gradient found, if it found no fault.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct GradientCheck {
    /// How much neighbouring values of the log density scatter, if so much that small differences say nothing about
    /// the gradient; larger ones agree with it.
    pub scatter: Option<f64>,
    /// Evaluations made.
    pub evaluations: u64,
}

/// Compares the gradient with central differences of the log density along three random directions near `z`.
///
/// A wrong gradient is an [`Error::WrongGradient`]; a density so noisy that no difference can tell is an
/// [`Error::NoisyDensity`]. If the density is not finite near `z`, nothing is reported here; the run itself will fail
/// with an error.
pub fn check_gradient(target: &dyn Target, z: &[f64], seed: Seed) -> Result<GradientCheck> {
    let d = target.dim();
    if z.len() != d {
        return Err(Error::Shape { what: "point", found: z.len(), expected: d });
    }
    let mut found = GradientCheck::default();
    let draws = Draws::new(seed, Purpose::Pilot);
    let (mut point, mut direction) = (vec![0.0; d], vec![0.0; d]);
    let (mut gradient, mut other) = (vec![0.0; d], vec![0.0; d]);
    draws.fill(u64::MAX, 0, &mut point);
    for (x, z) in point.iter_mut().zip(z) {
        *x = z + 0.1 * *x * z.abs().max(1.0);
    }
    stop::check()?;
    let value = target.log_density(&point, &mut gradient)?;
    found.evaluations += 1;
    for attempt in 1..=3 {
        draws.fill(u64::MAX, attempt, &mut direction);
        let scale = norm(&point).max(1.0) / norm(&direction);
        direction.iter_mut().for_each(|x| *x *= scale);
        let mut line = |h: f64| {
            let moved: Vec<f64> = point.iter().zip(&direction).map(|(x, u)| x + h * u).collect();
            stop::check()?;
            found.evaluations += 1;
            target.log_density(&moved, &mut other)
        };
        let slope = dot(&gradient, &direction);
        // Two step sizes distinguish a wrong gradient from a kink or a large third derivative.
        let (coarse, fine) = (difference(&mut line, COARSE)?, difference(&mut line, FINE)?);
        if !(value.is_finite() && slope.is_finite() && coarse.is_finite() && fine.is_finite()) {
            return Ok(found);
        }
        let usual = norm(&gradient) * norm(&direction) / (d as f64).sqrt();
        let least = 1e-3 * usual + 1e-6 * (1.0 + 1e-3 * value.abs());
        let (apart, off) = ((coarse - fine).abs(), (slope - fine).abs());
        if off <= least + 3.0 * apart && apart <= SILENT * usual + least {
            continue;
        }
        let wrong = |difference| Error::WrongGradient { gradient: slope, difference, norm: norm(&point) };
        let scatter = scatter(&mut line)?;
        let explained = SIGMAS * scatter / FINE >= off.max(apart) - least;
        if !explained {
            // Not noise: a kink or a large third derivative if the two differ, else a wrong gradient.
            match off <= least + 3.0 * apart {
                true => continue,
                false => return Err(wrong(fine)),
            }
        }
        match by_larger_steps(&mut line, slope, scatter, usual, least)? {
            Larger::Agree => found.scatter = Some(found.scatter.unwrap_or(0.0).max(scatter)),
            Larger::Disagree(difference) => return Err(wrong(difference)),
            Larger::Silent => {
                let norm = norm(&point);
                return Err(Error::NoisyDensity { scatter, gradient: slope, difference: coarse, norm });
            }
        }
    }
    Ok(found)
}

fn difference(value: &mut dyn FnMut(f64) -> Result<f64>, h: f64) -> Result<f64> {
    Ok((value(h)? - value(-h)?) / (2.0 * h))
}

/// The standard deviation of the noise of a function, by fourth differences: Δ⁴ of independent noise has variance 70σ².
fn scatter(value: &mut dyn FnMut(f64) -> Result<f64>) -> Result<f64> {
    let mut most = 0.0f64;
    for spacing in SPACINGS {
        let points: Vec<f64> =
            (-SIDE..=SIDE).map(|k| value(f64::from(k) * spacing)).collect::<Result<_>>()?;
        let fourth = |w: &[f64]| w[0] - 4.0 * w[1] + 6.0 * w[2] - 4.0 * w[3] + w[4];
        let squares: Vec<f64> = points.windows(5).map(|w| fourth(w).powi(2)).collect();
        most = most.max((squares.iter().sum::<f64>() / (70.0 * squares.len() as f64)).sqrt());
    }
    Ok(most)
}

enum Larger {
    Agree,
    Disagree(f64),
    Silent,
}

/// What differences of larger steps say about the slope: each has an error of a few σ/h and, by the half step, of its
/// third derivative.
fn by_larger_steps(
    value: &mut dyn FnMut(f64) -> Result<f64>,
    slope: f64,
    scatter: f64,
    usual: f64,
    least: f64,
) -> Result<Larger> {
    let mut seen = Larger::Silent;
    for h in LARGER {
        let (whole, half) = (difference(value, h)?, difference(value, 0.5 * h)?);
        let room = least + SIGMAS * scatter / h + 2.0 * (whole - half).abs();
        // Also false where something is not finite.
        if room <= TELLING * usual {
            if (slope - half).abs() <= room {
                return Ok(Larger::Agree);
            }
            seen = Larger::Disagree(half);
        }
    }
    Ok(seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::Closure;

    #[test]
    fn a_right_gradient_passes_and_a_wrong_one_does_not() {
        let make = |factor: f64| {
            Closure::new(3, move |z: &[f64], g: &mut [f64]| {
                for i in 0..3 {
                    g[i] = -z[i] - 0.4 * z[i].powi(3);
                }
                g[1] *= factor;
                -z.iter().map(|x| 0.5 * x * x + 0.1 * x.powi(4)).sum::<f64>()
            })
            .unwrap()
        };
        assert!(check_gradient(&make(1.0), &[0.5, -2.0, 1.0], Seed(1)).is_ok());
        for wrong in [-1.0, 0.0, 1.1] {
            let error = check_gradient(&make(wrong), &[0.5, -2.0, 1.0], Seed(1)).unwrap_err();
            assert!(matches!(error, Error::WrongGradient { .. }), "{error}");
        }
        let undefined = Closure::new(1, |_: &[f64], _: &mut [f64]| f64::NAN).unwrap();
        assert!(check_gradient(&undefined, &[0.0], Seed(1)).is_ok());
    }

    /// Noise of an adaptive solver: values are right to about σ, and jump from point to point.
    fn noisy(sigma: f64, factor: f64) -> Closure<impl Fn(&[f64], &mut [f64]) -> f64 + Sync> {
        Closure::new(3, move |z: &[f64], g: &mut [f64]| {
            for i in 0..3 {
                g[i] = -z[i] - 0.4 * z[i].powi(3);
            }
            g[1] *= factor;
            let bits = z.iter().fold(7u64, |a, x| (a ^ x.to_bits()).wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let noise = ((bits >> 11) as f64 / (1u64 << 53) as f64 - 0.5) * 12f64.sqrt() * sigma;
            noise - z.iter().map(|x| 0.5 * x * x + 0.1 * x.powi(4)).sum::<f64>()
        })
        .unwrap()
    }

    #[test]
    fn the_noise_of_a_solver_is_named_and_a_wrong_gradient_is_still_wrong() {
        let z = [0.5, -2.0, 1.0];
        for seed in 1..=20 {
            for sigma in [1e-7, 1e-6, 1e-5, 1e-4] {
                let found = check_gradient(&noisy(sigma, 1.0), &z, Seed(seed)).unwrap();
                if let Some(scatter) = found.scatter {
                    assert!(scatter > 0.2 * sigma && scatter < 5.0 * sigma, "{sigma} {scatter}");
                }
                // Noise of 1e-6 is 0.1 in a difference of step 1e-5, which is too much to be silent about.
                assert!(sigma < 1e-5 || found.scatter.is_some(), "{sigma} {found:?}");
                let error = check_gradient(&noisy(sigma, -1.0), &z, Seed(seed)).unwrap_err();
                assert!(matches!(error, Error::WrongGradient { .. }), "{sigma}: {error}");
            }
            // So much noise that nothing can be told: that is said, and no gradient is called wrong.
            for factor in [1.0, -1.0] {
                let error = check_gradient(&noisy(3.0, factor), &z, Seed(seed)).unwrap_err();
                assert!(matches!(error, Error::NoisyDensity { .. }), "{error}");
                assert!(error.to_string().contains("tolerances"), "{error}");
            }
        }
        // Without noise nothing is measured.
        let clean = check_gradient(&noisy(0.0, 1.0), &z, Seed(1)).unwrap();
        assert_eq!((clean.scatter, clean.evaluations), (None, 13));
    }

    /// Growth y' = θy(1 − y), solved by Heun's method with steps that an error estimate chooses, against exact slopes.
    fn growth(tolerance: f64, sign: f64) -> Closure<impl Fn(&[f64], &mut [f64]) -> f64 + Sync> {
        let solve = move |theta: f64| {
            let right = |y: f64| theta * y * (1.0 - y);
            let (mut t, mut y, mut h) = (0.0, 0.1, 0.1f64);
            while t < 3.0 {
                h = h.min(3.0 - t);
                let (a, b) = (right(y), right(y + h * right(y)));
                let error = (0.5 * h * (b - a)).abs();
                if error <= tolerance {
                    (t, y) = (t + h, y + 0.5 * h * (a + b));
                }
                h *= (0.9 * (tolerance / error.max(1e-300)).sqrt()).clamp(0.2, 3.0);
            }
            y
        };
        let exact = |theta: f64| 1.0 / (1.0 + 9.0 * (-3.0 * theta).exp());
        Closure::new(1, move |z: &[f64], g: &mut [f64]| {
            let (y, truth) = (solve(z[0]), exact(z[0]));
            let slope = 3.0 * truth * (1.0 - truth);
            g[0] = sign * (-(y - 0.6) * slope / 0.0025 - z[0]);
            -0.5 * ((y - 0.6) / 0.05).powi(2) - 0.5 * z[0] * z[0]
        })
        .unwrap()
    }

    #[test]
    fn a_differential_equation_with_loose_tolerances_is_not_called_a_wrong_gradient() {
        for seed in 1..=20 {
            for tolerance in [1e-5, 1e-6] {
                let right = check_gradient(&growth(tolerance, 1.0), &[0.8], Seed(seed));
                assert!(!matches!(right, Err(Error::WrongGradient { .. })), "{tolerance} {seed}: {right:?}");
                let wrong = check_gradient(&growth(tolerance, -1.0), &[0.8], Seed(seed)).unwrap_err();
                assert!(matches!(wrong, Error::WrongGradient { .. }), "{tolerance} {seed}: {wrong}");
            }
        }
    }
}

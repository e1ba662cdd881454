//! Where a search begins: a first point at which the target is finite, and the Gaussian of a family near the mode.

use crate::base::draws::{Draws, Purpose, Seed};
use crate::base::error::{Error, Result};
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::pattern::{Entries, precision_of};
use crate::base::stop;
use crate::target::Target;
use crate::target::mode::about_laplace;

/// Most points tried, as in Stan.
const TRIES: u64 = 100;
/// Half the width of the cube from which they are drawn, as in Stan.
const RADIUS: f64 = 2.0;

/// The first point of a list at which the target is finite: `centre` itself if `which` is 0, then points uniform in
/// centre ± 2 in every coordinate. Each `which` has its own list. Also returns the number of tries.
pub(crate) fn initial_point(
    target: &dyn Target,
    centre: &[f64],
    seed: Seed,
    which: u64,
) -> Result<(Vec<f64>, u64)> {
    point_within(target, centre, RADIUS, seed, which)
}

/// [`initial_point`] with another half width of the cube.
pub(crate) fn point_within(
    target: &dyn Target,
    centre: &[f64],
    radius: f64,
    seed: Seed,
    which: u64,
) -> Result<(Vec<f64>, u64)> {
    let d = target.dim();
    if centre.len() != d {
        return Err(Error::Shape { what: "start", found: centre.len(), expected: d });
    }
    let draws = Draws::new(seed, Purpose::Pilot);
    let mut gradient = vec![0.0; d];
    for attempt in 0..TRIES {
        let mut point = centre.to_vec();
        if which > 0 || attempt > 0 {
            for (i, x) in point.iter_mut().enumerate() {
                *x += radius * (2.0 * draws.uniform((which << 32) + attempt + 1, i as u32) - 1.0);
            }
        }
        let value = target.log_density(&point, &mut gradient)?;
        stop::check()?;
        if value.is_finite() && gradient.iter().all(|x| x.is_finite()) {
            return Ok((point, attempt + 1));
        }
    }
    Err(Error::NoStart { tries: TRIES, radius })
}

/// The Gaussian of a family nearest to an approximate Laplace approximation, found in standard coordinates if the target
/// has them, and the evaluations that it took.
pub(crate) fn nearest_laplace(
    target: &dyn Target,
    start: &[f64],
    family: &Entries,
) -> Result<(Gaussian<Triangular>, u64)> {
    let (whole, evaluations) = laplace_near(target, start)?;
    let factor = family.best_factor(&precision_of(whole.dim(), whole.factor())?)?;
    Ok((Gaussian::new(whole.mean(), &factor)?, evaluations))
}

/// About the Laplace approximation, sought in standard coordinates if the target has them.
pub(crate) fn laplace_near(target: &dyn Target, start: &[f64]) -> Result<(Gaussian<Triangular>, u64)> {
    match target.standardized()? {
        Some(standard) => {
            let (q, evaluations) = about_laplace(standard.target(), &standard.map().to_standard(start))?;
            Ok((standard.map().own_gaussian(&q), evaluations))
        }
        None => about_laplace(target, start),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::Closure;

    #[test]
    fn the_centre_comes_first_and_other_starts_differ() {
        let target =
            Closure::new(2, |z: &[f64], _: &mut [f64]| if z[0] > 1.0 { 0.0 } else { f64::NAN }).unwrap();
        let at = |centre: f64, which| initial_point(&target, &[centre, 0.0], Seed(1), which).unwrap();
        assert_eq!(at(1.5, 0), (vec![1.5, 0.0], 1));
        let (found, tries) = at(0.0, 0);
        assert!(found[0] > 1.0 && found[0] < 2.0 && found[1].abs() < 2.0 && tries > 1);
        assert_ne!(at(0.0, 1).0, at(0.0, 2).0);
        let error = initial_point(&target, &[-5.0, 0.0], Seed(1), 0).unwrap_err();
        assert_eq!(error, Error::NoStart { tries: 100, radius: 2.0 });
    }
}

//! A Gaussian to start from, for fewer passes over the data than an accurate mode takes.

use super::{Path, climb, find_mode_along, laplace, potential};
use crate::base::error::{Error, Result};
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::linalg::PackedCholesky;
use crate::base::matrix::{Matrix, packed_len};
use crate::base::secant::Secants;
use crate::base::stop;
use crate::target::Target;
use provi_kernels::{axpy, dot};

/// A point is near the mode if half its squared decrement is below this many nats: far less than q moves
/// afterwards.
const NEAR: f64 = 1e-2;
/// Most steps with one Hessian, corrected by secant pairs (a Hessian costs several gradients); and most steps in
/// all.
const STEPS: usize = 10;
const MOST_STEPS: usize = 100;
/// Most halvings of one step once V is finite there.
const HALVINGS: usize = 30;

/// An approximate Laplace approximation, and the evaluations that it took (Hessians counted once each). A search
/// that is cut off returns the Gaussian of its last Hessian. Before the first Hessian it returns the best point of
/// a short climb, with equal width in every direction, or an error if there is no time for that either.
pub(crate) fn about_laplace(target: &dyn Target, start: &[f64]) -> Result<(Gaussian<Triangular>, u64)> {
    let (mut way, mut path) = (None, Path::default());
    let outcome = stop::phase("the search for the mode", || {
        if let Some(found) = near_mode(target, start, &mut way)? {
            return Ok(found);
        }
        // The slower, more careful search, whose error says what is wrong.
        let mode = find_mode_along(target, start, &mut path)?;
        let local = laplace(target, &mode)?;
        Ok((local.gaussian, mode.evaluations + local.evaluations))
    });
    let Err(stopped @ Error::Stopped { .. }) = outcome else { return outcome };
    let (reached, curved) = way.map_or((start.to_vec(), None), |way: Search| {
        let curved = way.holds_curvature.then_some(());
        (way.z.clone(), curved.map(|()| way))
    });
    if let Some(way) = curved {
        let factor = stop::phase("the factor at the end of the search for the mode", || Ok(way.gaussian()));
        if factor.is_ok() {
            return factor;
        }
    }
    if path.gaussian().is_none() {
        // Gradients cost far less than the Hessian for which there was no time. Why the climb ends does not matter,
        // only how far it came.
        let _ = stop::phase("a short climb towards the mode", || climb(target, &reached, NEAR, &mut path));
    }
    path.gaussian().ok_or(stopped)
}

/// The state of the search for the mode.
struct Search {
    z: Vec<f64>,
    pull: Vec<f64>,
    /// The last Hessian, factored.
    model: PackedCholesky,
    holds_curvature: bool,
    evaluations: u64,
}

impl Search {
    /// N(z, H⁻¹).
    fn gaussian(mut self) -> (Gaussian<Triangular>, u64) {
        let d = self.z.len();
        let mut parameters = vec![0.0; d + packed_len(d)];
        let (mean, factor) = parameters.split_at_mut(d);
        mean.copy_from_slice(&self.z);
        self.model.write_inverse_factor(factor);
        (Gaussian::from_parameters(d, parameters), self.evaluations)
    }

    /// Computes ∇²V at z and its factor; returns false if there is none.
    fn renew(&mut self, target: &dyn Target, hessian: &mut Matrix) -> Result<bool> {
        let given = target.hessian(&self.z, hessian)?;
        stop::check()?;
        if !given {
            return Ok(false);
        }
        hessian.entries_mut().iter_mut().for_each(|x| *x = -*x);
        self.holds_curvature = false;
        if self.model.factor_square(hessian).is_err() {
            return Ok(false);
        }
        self.model.hand_over();
        stop::check()?;
        self.holds_curvature = true;
        Ok(true)
    }
}

/// Quasi-Newton steps in the metric of a Hessian. The Hessian is renewed when the steps end or become many. The
/// last full Newton step needs no evaluation. `None` if V is not convex or not finite along the steps, or if a line
/// search fails.
fn near_mode(
    target: &dyn Target,
    start: &[f64],
    way: &mut Option<Search>,
) -> Result<Option<(Gaussian<Triangular>, u64)>> {
    let d = target.dim();
    if start.len() != d || d == 0 {
        return Ok(None);
    }
    let mut hessian = Matrix::zeros(d, d);
    let way = way.insert(Search {
        z: start.to_vec(),
        pull: vec![0.0; d],
        model: PackedCholesky::with_dim(d),
        holds_curvature: false,
        evaluations: 2,
    });
    if !way.renew(target, &mut hessian)? {
        return Ok(None);
    }
    let (mut trial, mut trial_pull) = (vec![0.0; d], vec![0.0; d]);
    let mut value = potential(target, &way.z, &mut way.pull)?;
    let mut secants = Secants::new(STEPS);
    // Steps since the last Hessian, and whether it is still accurate: its one step went where it predicted.
    let (mut age, mut holds) = (0, true);
    for _ in 0..MOST_STEPS {
        let step = secants.apply(&way.pull, |v| way.model.solve(v));
        let decrement2 = dot(&step, &way.pull);
        if !(value.is_finite() && decrement2 >= 0.0) {
            return Ok(None);
        }
        let near = decrement2 <= 2.0 * NEAR;
        if near && holds {
            let mut parameters = vec![0.0; d + packed_len(d)];
            let (mean, factor) = parameters.split_at_mut(d);
            mean.iter_mut().zip(way.z.iter().zip(&step)).for_each(|(m, (z, step))| *m = z - step);
            way.model.write_inverse_factor(factor);
            return Ok(Some((Gaussian::from_parameters(d, parameters), way.evaluations)));
        }
        if stop::is_urgent() {
            return Err(Error::Stopped { during: "the search for the mode" });
        }
        if near || age == STEPS {
            way.evaluations += 1;
            if !way.renew(target, &mut hessian)? {
                return Ok(None);
            }
            secants.forget();
            (age, holds) = (0, true);
            continue;
        }
        let mut t = 1.0;
        let mut halvings = 0;
        let next = loop {
            trial.copy_from_slice(&way.z);
            axpy(-t, &step, &mut trial);
            let next = potential(target, &trial, &mut trial_pull)?;
            way.evaluations += 1;
            if next <= value - 1e-4 * t * decrement2 {
                break next;
            }
            // A trial outside the range of doubles, as where eˢ meets counts of 10¹⁰, only says that the step is
            // too long.
            if next.is_finite() {
                halvings += 1;
            }
            if halvings == HALVINGS || t < f64::MIN_POSITIVE {
                return Ok(None);
            }
            t *= 0.5;
        };
        if age == 0 {
            let mut rest = trial_pull.clone();
            way.model.solve(&mut rest);
            holds = t >= 1.0 && dot(&rest, &trial_pull) <= 1e-12 * decrement2;
        } else {
            holds = false;
        }
        let difference = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a - b).collect();
        secants.push(difference(&trial, &way.z), difference(&trial_pull, &way.pull));
        std::mem::swap(&mut way.z, &mut trial);
        std::mem::swap(&mut way.pull, &mut trial_pull);
        value = next;
        age += 1;
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::stop::Polls;
    use crate::glm::design::Design;
    use crate::glm::{Glm, Prior};
    use crate::target::mode::find_mode;
    use crate::target::{Closure, GaussianTarget};

    #[test]
    fn the_start_is_near_the_laplace_approximation() {
        let mut entries = vec![0.0; 300];
        provi_kernels::normals(2, 0, 0, &mut entries);
        let labels: Vec<f64> = (0..100).map(|n| f64::from(n % 3 == 0)).collect();
        let design = Design::dense(100, 3, &entries).unwrap();
        let model = Glm::logistic(design, &labels, Prior::scale(3.0).unwrap()).unwrap();
        for start in [[0.0; 3], [5.0, -5.0, 5.0]] {
            let mode = find_mode(&model, &start).unwrap();
            let local = laplace(&model, &mode).unwrap();
            let (q, evaluations) = about_laplace(&model, &start).unwrap();
            assert!(evaluations < mode.evaluations + local.evaluations);
            for i in 0..3 {
                assert!((q.mean()[i] - mode.point[i]).abs() < 0.1, "{q:?} {mode:?}");
            }
            for (x, y) in q.factor().iter().zip(local.gaussian.factor()) {
                assert!((x - y).abs() < 0.02, "{q:?} {local:?}");
            }
        }
    }

    /// Cut off anywhere, with time for gradients afterwards: a Gaussian, at a better point than the start or with its curvature.
    #[test]
    fn a_search_that_is_cut_off_keeps_its_best_point() {
        let mut entries = vec![0.0; 2_000];
        provi_kernels::normals(2, 0, 0, &mut entries);
        let labels: Vec<f64> = (0..200).map(|n| f64::from(n % 3 == 0)).collect();
        let design = Design::dense(200, 10, &entries).unwrap();
        let model = Glm::logistic(design, &labels, Prior::scale(3.0).unwrap()).unwrap();
        let start = [1.0; 10];
        let value = |z: &[f64]| potential(&model, z, &mut [0.0; 10]).unwrap();
        let polls = Polls::new("the search for the mode", u64::MAX);
        polls.signal().cover(|| about_laplace(&model, &start)).unwrap();
        let all = polls.made();
        assert!(all > 6, "{all}");
        let mut isotropic = 0;
        for cut in 1..=all {
            let polls = Polls::new("the search for the mode", cut);
            let (q, _) = polls.signal().cover(|| about_laplace(&model, &start)).unwrap();
            assert_eq!(polls.made(), cut, "what was cut off is not gone on with");
            let covariance = q.covariance();
            let shapeless = (1..10).all(|i| covariance[(i, 0)].abs() <= 0.0);
            // With the curvature of the start, the start itself is an answer.
            let better = value(q.mean()) < value(&start) || !shapeless && q.mean() == start;
            assert!(better, "cut off at {cut} of {all}: {:?}", q.mean());
            isotropic += u64::from(shapeless);
        }
        // Before the first Hessian it has no shape, afterwards it has.
        assert!(isotropic > 0 && isotropic < all, "{isotropic} of {all}");
    }

    #[test]
    fn a_gaussian_needs_one_hessian_and_one_step() {
        let precision = Matrix::new(2, 2, vec![2.0, 0.5, 0.5, 1.0]).unwrap();
        let target = GaussianTarget::new(&[30.0, -1.0], precision).unwrap();
        let (q, evaluations) = about_laplace(&target, &[0.0; 2]).unwrap();
        let best = target.optimum().unwrap();
        for (x, y) in q.parameters().iter().zip(best.parameters()) {
            assert!((x - y).abs() < 1e-12, "{q:?}");
        }
        assert_eq!(evaluations, 3);
    }

    #[test]
    fn what_is_not_convex_or_has_no_hessian_goes_the_careful_way() {
        let slope = Closure::new(1, |_: &[f64], g: &mut [f64]| {
            g[0] = 1.0;
            0.0
        })
        .unwrap();
        assert!(about_laplace(&slope, &[0.0]).is_err());
        let blind = Closure::new(1, |z: &[f64], g: &mut [f64]| {
            g[0] = -z[0];
            -0.5 * z[0] * z[0]
        })
        .unwrap();
        assert!((about_laplace(&blind, &[3.0]).unwrap().0.factor()[0] - 1.0).abs() < 1e-6);
        assert!(about_laplace(&blind, &[3.0, 0.0]).is_err());
    }
}

//! A Gaussian to start from, for fewer passes over the data than a mode to working accuracy takes.

use super::{find_mode, laplace, potential};
use crate::error::Result;
use crate::gaussian::{Gaussian, Triangular};
use crate::linalg::PackedCholesky;
use crate::matrix::{Matrix, packed_len};
use crate::secant::Secants;
use crate::target::Target;
use provi_kernels::{axpy, dot};

/// Half the squared decrement below which a point is near the mode, in nats: far less than q moves afterwards.
const NEAR: f64 = 1e-2;
/// Steps with one Hessian, which costs several gradients, corrected by secant pairs; and steps in all.
const STEPS: usize = 10;
const MOST_STEPS: usize = 100;
/// Halvings of one step, once it leads to numbers.
const HALVINGS: usize = 30;

/// About the Laplace approximation, and the evaluations that it took (Hessians counted once each).
pub(crate) fn about_laplace(target: &dyn Target, start: &[f64]) -> Result<(Gaussian<Triangular>, u64)> {
    if let Some(found) = near_mode(target, start)? {
        return Ok(found);
    }
    // The careful way, which also says what is wrong.
    let mode = find_mode(target, start)?;
    let local = laplace(target, &mode)?;
    Ok((local.gaussian, mode.evaluations + local.evaluations))
}

/// Quasi-Newton steps in the metric of a Hessian, which is renewed when the steps end or grow many; a last full Newton step
/// needs no evaluation. `None` where V is not convex on the way, not finite, or a line search fails.
fn near_mode(target: &dyn Target, start: &[f64]) -> Result<Option<(Gaussian<Triangular>, u64)>> {
    let d = target.dim();
    if start.len() != d || d == 0 {
        return Ok(None);
    }
    let mut hessian = Matrix::zeros(d, d);
    let mut model = PackedCholesky::with_dim(d);
    if !renew(target, start, &mut hessian, &mut model)? {
        return Ok(None);
    }
    let (mut z, mut pull) = (start.to_vec(), vec![0.0; d]);
    let (mut trial, mut trial_pull) = (vec![0.0; d], vec![0.0; d]);
    let mut value = potential(target, &z, &mut pull)?;
    let mut evaluations = 2;
    let mut secants = Secants::new(STEPS);
    // Steps since the Hessian was taken, and whether it still holds: the one step went just where it said.
    let (mut age, mut holds) = (0, true);
    for _ in 0..MOST_STEPS {
        let step = secants.apply(&pull, |v| model.solve(v));
        let decrement2 = dot(&step, &pull);
        if !(value.is_finite() && decrement2 >= 0.0) {
            return Ok(None);
        }
        let near = decrement2 <= 2.0 * NEAR;
        if near && holds {
            let mut parameters = vec![0.0; d + packed_len(d)];
            let (mean, factor) = parameters.split_at_mut(d);
            mean.iter_mut().zip(z.iter().zip(&step)).for_each(|(m, (z, step))| *m = z - step);
            model.write_inverse_factor(factor);
            return Ok(Some((Gaussian::from_parameters(d, parameters), evaluations)));
        }
        if near || age == STEPS {
            evaluations += 1;
            if !renew(target, &z, &mut hessian, &mut model)? {
                return Ok(None);
            }
            secants.forget();
            (age, holds) = (0, true);
            continue;
        }
        let mut t = 1.0;
        let mut halvings = 0;
        let next = loop {
            trial.copy_from_slice(&z);
            axpy(-t, &step, &mut trial);
            let next = potential(target, &trial, &mut trial_pull)?;
            evaluations += 1;
            if next <= value - 1e-4 * t * decrement2 {
                break next;
            }
            // A trial beyond the range of numbers, as where eˢ meets counts of 10¹⁰, says nothing but that it is too far.
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
            model.solve(&mut rest);
            holds = t >= 1.0 && dot(&rest, &trial_pull) <= 1e-12 * decrement2;
        } else {
            holds = false;
        }
        let difference = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a - b).collect();
        secants.push(difference(&trial, &z), difference(&trial_pull, &pull));
        std::mem::swap(&mut z, &mut trial);
        std::mem::swap(&mut pull, &mut trial_pull);
        value = next;
        age += 1;
    }
    Ok(None)
}

/// ∇²V at z and its factor; false where there is none.
fn renew(target: &dyn Target, z: &[f64], hessian: &mut Matrix, model: &mut PackedCholesky) -> Result<bool> {
    if !target.hessian(z, hessian)? {
        return Ok(false);
    }
    hessian.entries_mut().iter_mut().for_each(|x| *x = -*x);
    if model.factor_square(hessian).is_err() {
        return Ok(false);
    }
    model.hand_over();
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::Design;
    use crate::target::{Closure, GaussianTarget, Glm, Prior};

    #[test]
    fn the_start_is_near_the_laplace_approximation() {
        let mut entries = vec![0.0; 300];
        provi_kernels::normals(2, 0, 0, &mut entries);
        let labels: Vec<f64> = (0..100).map(|n| f64::from(n % 3 == 0)).collect();
        let design = Design::dense(&entries, 100, 3).unwrap();
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

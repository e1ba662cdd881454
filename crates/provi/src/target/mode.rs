//! The posterior mode: damped Newton if the target has a Hessian, L-BFGS otherwise. A search that does not converge
//! is an error.

mod lbfgs;
mod start;
#[cfg(test)]
mod wide;

use crate::base::error::{Error, Result};
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::linalg::{Cholesky, PackedCholesky, eigen, norm, spectral_map};
use crate::base::matrix::{Matrix, below_diagonal, packed_len};
use crate::base::scratch::Scratch;
use crate::base::stop;
use crate::target::Target;
pub(crate) use lbfgs::Path;
pub(crate) use start::about_laplace;

const NEWTON_ITERATIONS: usize = 200;
const LBFGS_ITERATIONS: usize = 5000;

/// A point where ∇ log p vanishes to working accuracy, reached by climbing from the start.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Mode {
    /// The mode z̄.
    pub point: Vec<f64>,
    /// log p(z̄, x).
    pub log_density: f64,
    /// ‖∇ log p(z̄, x)‖.
    pub gradient_norm: f64,
    /// Evaluations of the density with its gradient (Hessians counted once each).
    pub evaluations: u64,
}

/// Climbs from `start` to a mode. Never returns a point that did not converge; the error says why.
pub fn find_mode(target: &dyn Target, start: &[f64]) -> Result<Mode> {
    find_mode_along(target, start, &mut Path::default())
}

/// As [`find_mode`]; also records the path.
fn find_mode_along(target: &dyn Target, start: &[f64], path: &mut Path) -> Result<Mode> {
    let d = target.dim();
    if start.len() != d {
        return Err(Error::Shape { what: "start", found: start.len(), expected: d });
    }
    if d == 0 {
        return Err(Error::Empty { what: "target (dimension 0)" });
    }
    let mut hessian = Matrix::zeros(d, d);
    if target.hessian(start, &mut hessian)? {
        newton(target, start, hessian, path)
    } else {
        lbfgs::find(target, start, LBFGS_ITERATIONS, 1e-14, lbfgs::Ending::Mode, path)
    }
}

/// A point near a mode, to start from: L-BFGS to within about `nats` of the mode, or as far as it gets. Also
/// records the path.
pub(crate) fn climb(target: &dyn Target, start: &[f64], nats: f64, path: &mut Path) -> Result<Mode> {
    climb_for(target, start, nats, LBFGS_ITERATIONS, path)
}

/// [`climb`] in at most this many steps.
pub(crate) fn climb_for(
    target: &dyn Target,
    start: &[f64],
    nats: f64,
    iterations: usize,
    path: &mut Path,
) -> Result<Mode> {
    if start.len() != target.dim() {
        return Err(Error::Shape { what: "start", found: start.len(), expected: target.dim() });
    }
    lbfgs::find(target, start, iterations, 2.0 * nats, lbfgs::Ending::Anywhere, path)
}

/// V = −log p at a point, with its gradient; +∞ if the value or the gradient is not finite.
fn potential(target: &dyn Target, z: &[f64], pull: &mut [f64]) -> Result<f64> {
    let value = -target.log_density(z, pull)?;
    // If the evaluation was cut off, its value is meaningless.
    stop::check()?;
    pull.iter_mut().for_each(|x| *x = -*x);
    let finite = value.is_finite() && pull.iter().all(|x| x.is_finite());
    Ok(if finite { value } else { f64::INFINITY })
}

fn no_mode(iterations: usize, pull: &[f64], why: &'static str) -> Error {
    Error::NoMode { iterations, gradient_norm: norm(pull), why }
}

/// Newton's method with a positive definite model and Armijo backtracking. It stops if the expected decrease
/// ½gᵀH⁻¹g is below 1e-18 nats, or if rounding ends the progress within 1e-10 nats.
fn newton(target: &dyn Target, start: &[f64], mut hessian: Matrix, path: &mut Path) -> Result<Mode> {
    let d = start.len();
    let (mut z, mut pull) = (start.to_vec(), vec![0.0; d]);
    let mut evaluations = 1;
    let mut value = potential(target, &z, &mut pull)?;
    if value.is_infinite() {
        return Err(no_mode(0, &pull, "the density is not finite at the start; give another start"));
    }
    let (mut trial, mut trial_pull) = (vec![0.0; d], vec![0.0; d]);
    for iteration in 0..NEWTON_ITERATIONS {
        // A target may have a Hessian at the start and none at another point.
        let given = iteration == 0 || target.hessian(&z, &mut hessian)?;
        stop::check()?;
        if given {
            hessian.entries_mut().iter_mut().for_each(|x| *x = -*x);
            evaluations += 1;
        } else {
            evaluations += difference_hessian(Differences::Central, target, &z, &mut hessian)?;
        }
        let trace: f64 = (0..d).map(|i| hessian[(i, i)].abs()).sum();
        path.stand(&z, d as f64 / trace, evaluations);
        let (model, convex) = positive_model(&hessian)?;
        let mut step = pull.clone();
        model.solve(&mut step);
        let decrement2 = provi_kernels::dot(&step, &pull);
        if decrement2 <= 2e-18 {
            return Ok(Mode { point: z, log_density: -value, gradient_norm: norm(&pull), evaluations });
        }
        // The step length, and the first length at which V is finite: how far beyond that range the search began
        // says nothing about the gradient.
        let (mut t, mut first) = (1.0, 1.0);
        loop {
            for i in 0..d {
                trial[i] = z[i] - t * step[i];
            }
            let next = potential(target, &trial, &mut trial_pull)?;
            evaluations += 1;
            if next.is_infinite() {
                first = 0.5 * t;
            }
            if next <= value - 1e-4 * t * decrement2 {
                value = next;
                std::mem::swap(&mut z, &mut trial);
                std::mem::swap(&mut pull, &mut trial_pull);
                break;
            }
            // If a full step shrinks the gradient but changes V only within rounding, the search has converged.
            // Where V is a small difference of large sums, as for huge counts, the gradient shows progress long
            // before V does.
            let shrinks = || {
                let mut rest = trial_pull.clone();
                model.solve(&mut rest);
                provi_kernels::dot(&rest, &trial_pull) <= 0.25 * decrement2
            };
            let settled = decrement2 <= 1e-10 * value.abs().max(1.0) && norm(&trial_pull) < norm(&pull);
            if settled || (convex && t >= 1.0 && next.is_finite() && shrinks()) {
                value = next;
                std::mem::swap(&mut z, &mut trial);
                std::mem::swap(&mut pull, &mut trial_pull);
                break;
            }
            t *= 0.5;
            if t < 1e-12 * first || t < f64::MIN_POSITIVE {
                if decrement2 <= 1e-10 * value.abs().max(1.0) {
                    return Ok(Mode {
                        point: z,
                        log_density: -value,
                        gradient_norm: norm(&pull),
                        evaluations,
                    });
                }
                return Err(no_mode(
                    iteration + 1,
                    &pull,
                    "the line search found no decrease; check the gradient",
                ));
            }
        }
        if norm(&z) > 1e100 {
            return Err(no_mode(
                iteration + 1,
                &pull,
                "the density grows without end; is the posterior proper?",
            ));
        }
    }
    Err(no_mode(NEWTON_ITERATIONS, &pull, "too many iterations; is the posterior proper?"))
}

/// The Cholesky factor of H, and true; or, if H is not positive definite, the factor of |H| with small eigenvalues
/// raised, and false.
fn positive_model(h: &Matrix) -> Result<(Cholesky, bool)> {
    match Cholesky::new("Hessian", h) {
        Ok(model) => Ok((model, true)),
        Err(_) => Ok((Cholesky::new("Hessian", &lifted(h)?)?, false)),
    }
}

/// |H| with small eigenvalues raised.
fn lifted(h: &Matrix) -> Result<Matrix> {
    let (values, vectors) = eigen("Hessian", h)?;
    let top = values.iter().fold(0.0f64, |a, x| a.max(x.abs())).max(f64::MIN_POSITIVE);
    Ok(spectral_map(&values, &vectors, |x| x.abs().max(1e-8 * top)))
}

/// The Gaussian given by the mode and the curvature there.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Laplace {
    /// N(z̄, PPᵀ) with P lower triangular and PPᵀ = (∇²V(z̄))⁻¹.
    pub gaussian: Gaussian<Triangular>,
    /// Evaluations of the density with its gradient.
    pub evaluations: u64,
    /// Whether ∇²V was positive definite; otherwise |∇²V| was used instead.
    pub convex: bool,
}

/// The Laplace approximation at a mode. If the target has no Hessian, it is computed from differences of gradients.
pub fn laplace(target: &dyn Target, mode: &Mode) -> Result<Laplace> {
    laplace_by(Differences::Central, target, mode)
}

/// A rougher approximation for half the evaluations, for use when later steps correct it.
pub(crate) fn rough_laplace(target: &dyn Target, mode: &Mode) -> Result<Laplace> {
    laplace_by(Differences::Forward, target, mode)
}

fn laplace_by(differences: Differences, target: &dyn Target, mode: &Mode) -> Result<Laplace> {
    let d = target.dim();
    let mut hessian = Matrix::zeros(d, d);
    let mut evaluations = 1;
    if target.hessian(&mode.point, &mut hessian)? {
        hessian.entries_mut().iter_mut().for_each(|x| *x = -*x);
    } else {
        evaluations = difference_hessian(differences, target, &mode.point, &mut hessian)?;
    }
    stop::check()?;
    let mut model = PackedCholesky::with_dim(d);
    let convex = model.factor_square(&hessian).is_ok();
    if !convex {
        let refused = |pivot| Error::NotPositiveDefinite { what: "Hessian", dim: d, pivot };
        model.factor_square(&lifted(&hessian)?).map_err(refused)?;
    }
    // Frees memory for what follows.
    drop(hessian);
    let mut parameters = vec![0.0; d + packed_len(d)];
    let (mean, factor) = parameters.split_at_mut(d);
    mean.copy_from_slice(&mode.point);
    model.write_inverse_factor(factor);
    Ok(Laplace { gaussian: Gaussian::checked(d, parameters)?, evaluations, convex })
}

/// How the gradient is differenced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Differences {
    /// From both sides: 2d evaluations, error of second order in the width.
    Central,
    /// From one side: d + 1 evaluations, error of first order in the width.
    Forward,
}

/// Points evaluated in one batch, so that they share the passes over the data.
const TOGETHER: usize = 64;

/// ∇²V by differences of ∇V, symmetrised.
fn difference_hessian(
    differences: Differences,
    target: &dyn Target,
    z: &[f64],
    out: &mut Matrix,
) -> Result<u64> {
    let d = z.len();
    let central = differences == Differences::Central;
    let mut scratch = Scratch::default();
    let mut points = vec![0.0; TOGETHER.min(d) * d];
    // ∇log p at the point behind each point, or at z for all of them.
    let mut behind = vec![0.0; if central { points.len() } else { d }];
    let mut values = [[0.0; TOGETHER]; 2];
    if !central {
        target.log_density(z, &mut behind)?;
    }
    for (batch, rows) in out.entries_mut().chunks_mut((TOGETHER * d).max(1)).enumerate() {
        let (first, count) = (batch * TOGETHER, rows.len() / d);
        let points = &mut points[..rows.len()];
        let mut evaluate = |side: f64, values: &mut [f64], gradients: &mut [f64]| {
            for (i, point) in (first..).zip(points.chunks_exact_mut(d)) {
                point.copy_from_slice(z);
                point[i] += side * width(z[i]);
            }
            target.log_densities(points, values, gradients, &mut scratch)
        };
        let [ahead_values, behind_values] = &mut values;
        stop::check()?;
        evaluate(1.0, &mut ahead_values[..count], rows)?;
        if central {
            stop::check()?;
            evaluate(-1.0, &mut behind_values[..count], &mut behind[..count * d])?;
        }
        for (k, row) in rows.chunks_exact_mut(d).enumerate() {
            let (i, behind) = (first + k, if central { &behind[k * d..][..d] } else { &behind[..] });
            let scale = if central { 0.5 } else { 1.0 } / width(z[i]);
            let finite = ahead_values[k].is_finite() && behind_values[k].is_finite();
            row.iter_mut().zip(behind).for_each(|(x, behind)| *x = (behind - *x) * scale);
            if !(finite && row.iter().all(|x| x.is_finite())) {
                shorter_difference(target, z, i, row)?;
            }
        }
    }
    below_diagonal(d, |i, j| {
        let mean = 0.5 * (out[(i, j)] + out[(j, i)]);
        (out[(i, j)], out[(j, i)]) = (mean, mean);
    });
    Ok(if central { 2 * d } else { d + 1 } as u64)
}

/// ε^{1/3} balances rounding against the third derivative.
fn width(z: f64) -> f64 {
    6e-6 * z.abs().max(1.0)
}

/// ∂ᵢ∇V from a smaller difference, if the usual one leaves the region where the density is finite.
fn shorter_difference(target: &dyn Target, z: &[f64], i: usize, row: &mut [f64]) -> Result<()> {
    let mut point = z.to_vec();
    let (mut up, mut down) = (vec![0.0; z.len()], vec![0.0; z.len()]);
    let mut h = width(z[i]);
    for _ in 0..3 {
        h *= 0.1;
        point[i] = z[i] + h;
        let above = potential(target, &point, &mut up)?;
        point[i] = z[i] - h;
        let below = potential(target, &point, &mut down)?;
        if above.is_finite() && below.is_finite() {
            row.iter_mut().zip(up.iter().zip(&down)).for_each(|(x, (u, d))| *x = (u - d) / (2.0 * h));
            return Ok(());
        }
    }
    Err(no_mode(0, &up, "the density is not finite next to the mode"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::glm::design::Design;
    use crate::glm::{Glm, Prior};
    use crate::target::Closure;

    fn logistic() -> Glm {
        let mut entries = vec![0.0; 200];
        provi_kernels::normals(2, 0, 0, &mut entries);
        let labels: Vec<f64> = (0..50).map(|n| f64::from(n % 3 == 0)).collect();
        Glm::logistic(Design::dense(50, 4, &entries).unwrap(), &labels, Prior::scale(3.0).unwrap()).unwrap()
    }

    #[test]
    fn newton_and_lbfgs_find_the_same_mode_and_curvature() {
        let model = logistic();
        let blind = Closure::new(4, |z: &[f64], g: &mut [f64]| model.log_density(z, g).unwrap()).unwrap();
        let a = find_mode(&model, &[5.0, -5.0, 5.0, 0.0]).unwrap();
        let b = find_mode(&blind, &[5.0, -5.0, 5.0, 0.0]).unwrap();
        for i in 0..4 {
            assert!((a.point[i] - b.point[i]).abs() < 1e-6, "{a:?} {b:?}");
        }
        assert!(a.gradient_norm < 1e-8 && b.gradient_norm < 1e-5);
        let (p, q) = (laplace(&model, &a).unwrap(), laplace(&blind, &b).unwrap());
        for (x, y) in p.gaussian.factor().iter().zip(q.gaussian.factor()) {
            assert!((x - y).abs() < 1e-5);
        }
    }

    #[test]
    fn a_hessian_that_fails_on_the_way_is_differenced() {
        struct Once(Glm);
        impl Target for Once {
            fn dim(&self) -> usize {
                self.0.dim()
            }
            fn log_density(&self, z: &[f64], gradient: &mut [f64]) -> Result<f64> {
                self.0.log_density(z, gradient)
            }
            fn hessian(&self, z: &[f64], out: &mut Matrix) -> Result<bool> {
                let given = norm(z) <= 0.0 && self.0.hessian(z, out)?;
                if !given {
                    out.entries_mut().fill(f64::NAN);
                }
                Ok(given)
            }
        }
        let (once, always) = (find_mode(&Once(logistic()), &[0.0; 4]), find_mode(&logistic(), &[0.0; 4]));
        let (once, always) = (once.unwrap(), always.unwrap());
        assert!(
            once.point.iter().zip(&always.point).all(|(a, b)| (a - b).abs() < 1e-7),
            "{once:?} {always:?}"
        );
    }

    #[test]
    fn a_far_start_of_a_poisson_model_converges() {
        let model = Glm::poisson(
            Design::dense(3, 1, &[1.0, 1.0, 2.0]).unwrap(),
            &[3.0, 0.0, 9.0],
            Prior::scale(10.0).unwrap(),
        )
        .unwrap();
        for start in [-40.0, 40.0] {
            let mode = find_mode(&model, &[start]).unwrap();
            assert!(mode.gradient_norm < 1e-6, "{mode:?}");
        }
    }

    #[test]
    fn a_density_without_a_mode_is_refused() {
        let slope = Closure::new(1, |z: &[f64], g: &mut [f64]| {
            g[0] = 1.0;
            z[0]
        })
        .unwrap();
        assert!(matches!(find_mode(&slope, &[0.0]), Err(Error::NoMode { .. })));
        let nowhere = Closure::new(1, |_: &[f64], _: &mut [f64]| f64::NAN).unwrap();
        assert!(matches!(find_mode(&nowhere, &[0.0]), Err(Error::NoMode { .. })));
        assert!(find_mode(&slope, &[0.0, 1.0]).is_err());
    }

    #[test]
    fn a_wrong_gradient_is_noticed() {
        let wrong = Closure::new(2, |z: &[f64], g: &mut [f64]| {
            g[0] = z[0];
            g[1] = z[1] - 3.0;
            -0.5 * (z[0] * z[0] + z[1] * z[1])
        })
        .unwrap();
        assert!(find_mode(&wrong, &[1.0, 1.0]).is_err());
    }

    #[test]
    fn differences_need_no_single_batch_and_shrink_before_a_wall() {
        // V = Σ (1 + i)zᵢ²/2; the density ends close to the mode along coordinate 20.
        let d = TOGETHER + 3;
        let walled = Closure::new(d, |z: &[f64], g: &mut [f64]| {
            (0..d).for_each(|i| g[i] = -(1.0 + i as f64) * z[i]);
            if z[20].abs() > 1e-6 { f64::NEG_INFINITY } else { 0.5 * provi_kernels::dot(z, g) }
        })
        .unwrap();
        let mode = Mode { point: vec![0.0; d], log_density: 0.0, gradient_norm: 0.0, evaluations: 0 };
        let found = laplace(&walled, &mode).unwrap();
        assert_eq!(found.evaluations, 2 * d as u64);
        for i in 0..d {
            let scale = found.gaussian.factor()[crate::base::matrix::packed_index(i, i)];
            assert!((scale * (1.0 + i as f64).sqrt() - 1.0).abs() < 1e-9, "{i}: {scale}");
        }
        let rough = rough_laplace(&walled, &mode).unwrap();
        assert_eq!(rough.evaluations, d as u64 + 1);
        for (x, y) in rough.gaussian.factor().iter().zip(found.gaussian.factor()) {
            assert!((x - y).abs() < 1e-9, "{x} {y}");
        }
    }

    #[test]
    fn the_rosenbrock_valley_is_followed_to_its_end() {
        let banana = Closure::new(2, |z: &[f64], g: &mut [f64]| {
            let (a, b) = (1.0 - z[0], z[1] - z[0] * z[0]);
            g[0] = 2.0 * a + 400.0 * z[0] * b;
            g[1] = -200.0 * b;
            -(a * a + 100.0 * b * b)
        })
        .unwrap();
        let mode = find_mode(&banana, &[-1.2, 1.0]).unwrap();
        assert!((mode.point[0] - 1.0).abs() < 1e-5 && (mode.point[1] - 1.0).abs() < 1e-5);
    }
}

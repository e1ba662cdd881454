//! Checks of what a target's owner declared: the gradient and the curvature.

mod gradient;

pub use gradient::{GradientCheck, check_gradient};

use crate::base::error::Result;
use crate::base::linalg::norm;
use crate::base::scratch::Scratch;
use crate::target::curvature::{Curvature, Quadratic};
use crate::target::evaluate::Wrap;
use crate::target::{FiniteSum, Standardized, Target};
use provi_kernels::dot;
use std::sync::{Mutex, PoisonError};

/// A target whose declared curvature is compared with every secant between consecutive evaluations:
/// ```text
/// ΔzᵀH_loΔz ≤ ΔzᵀΔ∇V ≤ ΔzᵀH_hiΔz
/// ```
/// Evaluations pass through unchanged. A secant outside the bounds is recorded; it voids the results that rest on
/// them.
#[derive(Debug)]
pub struct Watchdog<'a, T: ?Sized> {
    inner: &'a T,
    curvature: Curvature,
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    last: Option<(Vec<f64>, Vec<f64>)>,
    violation: Option<Violation>,
}

/// Puts a watchdog around a target ([`Evaluator::wrap`](crate::target::Evaluator)).
pub(crate) struct Watching(pub(crate) Curvature);

impl Wrap for Watching {
    type Around<'t, T: Target + ?Sized + 't> = Watchdog<'t, T>;
    type Seen = Option<Violation>;

    fn around<'t, T: Target + ?Sized>(self, inner: &'t T) -> Watchdog<'t, T> {
        Watchdog::new(inner, self.0)
    }

    fn seen<T: Target + ?Sized>(around: &Watchdog<'_, T>) -> Option<Violation> {
        around.violation()
    }
}

/// A secant outside the declared bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Violation {
    /// ΔzᵀΔ∇V/‖Δz‖².
    pub secant: f64,
    /// ΔzᵀH_loΔz/‖Δz‖².
    pub lower: f64,
    /// ΔzᵀH_hiΔz/‖Δz‖².
    pub upper: Option<f64>,
}

impl std::fmt::Display for Violation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { secant, lower, upper } = self;
        write!(
            f,
            "the declared curvature is wrong: between two points it was {secant:.4e}, outside [{lower:.4e}, "
        )?;
        match upper {
            Some(upper) => write!(f, "{upper:.4e}]"),
            None => f.write_str("∞)"),
        }
    }
}

impl<'a, T: Target + ?Sized> Watchdog<'a, T> {
    /// Watches `inner` against `curvature`.
    pub fn new(inner: &'a T, curvature: Curvature) -> Self {
        Self { inner, curvature, seen: Mutex::default() }
    }

    /// The first secant outside the bounds, if any was seen.
    pub fn violation(&self) -> Option<Violation> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).violation
    }

    fn compare(&self, seen: &mut Seen, a: (&[f64], &[f64]), b: (&[f64], &[f64])) {
        if seen.violation.is_some() {
            return;
        }
        let step: Vec<f64> = a.0.iter().zip(b.0).map(|(x, y)| x - y).collect();
        let square = dot(&step, &step);
        // Δ∇V = −Δ∇ log p.
        let secant: f64 = step.iter().zip(b.1.iter().zip(a.1)).map(|(s, (x, y))| s * (x - y)).sum();
        if !(square > 0.0 && secant.is_finite()) {
            return;
        }
        let form = |h: &Quadratic| match h {
            Quadratic::Scalar(value) => value * square,
            Quadratic::Matrix(h) => (0..step.len()).map(|i| step[i] * dot(h.row(i), &step)).sum(),
        };
        let lower = form(self.curvature.lower());
        let upper = self.curvature.upper().map(form);
        let rounding = 1e-9 * (norm(a.1) + norm(b.1)) * square.sqrt() + 1e-9 * lower.abs();
        if secant < lower - rounding || upper.is_some_and(|upper| secant > upper * (1.0 + 1e-9) + rounding) {
            let violation = Violation {
                secant: secant / square,
                lower: lower / square,
                upper: upper.map(|x| x / square),
            };
            seen.violation = Some(violation);
        }
    }
}

impl<T: Target + ?Sized> Target for Watchdog<'_, T> {
    crate::forward_target!(self => self.inner;
        dim batch hessian names expectations data_size rejections local_curvature rounding);

    fn log_density(&self, z: &[f64], gradient: &mut [f64]) -> Result<f64> {
        let value = self.inner.log_density(z, gradient)?;
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((point, slope)) = seen.last.take() {
            self.compare(&mut seen, (z, gradient), (&point, &slope));
        }
        seen.last = Some((z.to_vec(), gradient.to_vec()));
        Ok(value)
    }

    fn log_densities(
        &self,
        points: &[f64],
        values: &mut [f64],
        gradients: &mut [f64],
        scratch: &mut Scratch,
    ) -> Result<()> {
        self.inner.log_densities(points, values, gradients, scratch)?;
        let d = self.dim();
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        for k in 1..values.len() {
            let at = |k: usize| (&points[k * d..(k + 1) * d], &gradients[k * d..(k + 1) * d]);
            self.compare(&mut seen, at(k), at(k - 1));
        }
        Ok(())
    }

    fn curvature(&self) -> Result<Option<Curvature>> {
        Ok(Some(self.curvature.clone()))
    }

    /// `None`: single terms would be evaluated unwatched.
    fn finite_sum(&self) -> Option<&dyn FiniteSum> {
        None
    }

    /// `None`: in other coordinates the target would be evaluated unwatched.
    fn standardized(&self) -> Result<Option<Standardized<'_>>> {
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::Closure;

    #[test]
    fn a_secant_outside_the_declared_curvature_is_remembered() {
        let target = Closure::new(1, |z: &[f64], g: &mut [f64]| {
            g[0] = -z[0] - z[0].powi(3);
            -0.5 * z[0] * z[0] - 0.25 * z[0].powi(4)
        })
        .unwrap();
        let declared =
            |m: f64| Curvature::declared(1, Quadratic::Scalar(1.0), Some(Quadratic::Scalar(m))).unwrap();
        let watch = |m: f64, points: &[f64]| {
            let dog = Watchdog::new(&target, declared(m));
            let (mut values, mut gradients) = (vec![0.0; points.len()], vec![0.0; points.len()]);
            dog.log_densities(points, &mut values, &mut gradients, &mut Scratch::default()).unwrap();
            dog.violation()
        };
        assert!(watch(4.0, &[-0.9, 0.0, 0.9]).is_none());
        let violation = watch(4.0, &[0.0, 3.0]).unwrap();
        assert!((violation.secant - 10.0).abs() < 1e-12, "{violation}");
        let dog = Watchdog::new(&target, declared(4.0));
        for z in [0.0, 3.0] {
            dog.log_density(&[z], &mut [0.0]).unwrap();
        }
        assert!(dog.violation().is_some());
    }
}

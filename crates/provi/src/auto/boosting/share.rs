//! The part of the target that one component is to fit, and the steps that fit it.
//!
//! With the parts r_c(z) = w_c N_c(z)/q(z) of the components at the present mixture,
//! ```text
//! ELBO(q') ≥ Σ_c w_c E_{N'_c}[log p + log r_c − log N'_c] + const,     equal at q' = q
//! ```
//! so a component that increases its own ELBO for the target log p + log r_c increases that of the mixture (Arenz, Neumann and
//! Zhong, *Efficient gradient-free variational inference using policy search*, ICML 2018). The steps are those of
//! [`ascent`](crate::ascent), by natural gradients, and r_c is taken anew after each piece of them.

use crate::auto::ascent::Ascent;
use crate::base::draws::Seed;
use crate::base::error::{Error, Result};
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::mixture::{Mixture, log_sum_exp, whiten};
use crate::base::scratch::Scratch;
use crate::target::Target;
use crate::target::evaluate::{Evaluator, Wrap};
use provi_kernels::{axpy, triangle};
use std::sync::Arc;

/// log p + log r_c.
struct Share<'t, T: ?Sized> {
    inner: &'t T,
    mixture: Arc<Mixture>,
    which: usize,
}

impl<T: Target + ?Sized> Share<'_, T> {
    /// Adds log r_c and its slope −Σ_j r_j Σ_j⁻¹… of all components but c, which comes with 1 − r_c.
    fn add(&self, z: &[f64], value: &mut f64, gradient: &mut [f64], logs: &mut [f64], u: &mut [f64]) {
        self.mixture.log_joint(z, logs, u);
        let total = log_sum_exp(logs);
        *value += logs[self.which] - total;
        for (j, (q, log)) in self.mixture.components().iter().zip(&*logs).enumerate() {
            let part = (log - total).exp();
            let factor = if j == self.which { part - 1.0 } else { part };
            if factor != 0.0 {
                whiten(q, z, u);
                triangle::solve_transposed(q.factor(), u);
                axpy(factor, u, gradient);
            }
        }
    }
}

impl<T: Target + ?Sized> Target for Share<'_, T> {
    fn dim(&self) -> usize {
        self.inner.dim()
    }

    fn batch(&self) -> usize {
        self.inner.batch()
    }

    fn log_density(&self, z: &[f64], gradient: &mut [f64]) -> Result<f64> {
        let mut value = self.inner.log_density(z, gradient)?;
        let (mut logs, mut u) = (vec![0.0; self.mixture.len()], vec![0.0; z.len()]);
        self.add(z, &mut value, gradient, &mut logs, &mut u);
        Ok(value)
    }

    fn log_densities(
        &self,
        points: &[f64],
        values: &mut [f64],
        gradients: &mut [f64],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let (d, k) = (self.dim(), self.mixture.len());
        let (room, inner) = scratch.split(k + d);
        self.inner.log_densities(points, values, gradients, inner)?;
        let (logs, u) = room.split_at_mut(k);
        let all = points.chunks_exact(d).zip(values).zip(gradients.chunks_exact_mut(d));
        all.for_each(|((z, value), gradient)| self.add(z, value, gradient, logs, u));
        Ok(())
    }
}

struct Sharing {
    mixture: Arc<Mixture>,
    which: usize,
}

impl Wrap for Sharing {
    type Around<'t, T: Target + ?Sized + 't> = Share<'t, T>;
    type Seen = ();

    fn around<'t, T: Target + ?Sized>(self, inner: &'t T) -> Share<'t, T> {
        Share { inner, mixture: self.mixture, which: self.which }
    }

    fn seen<T: Target + ?Sized>(_: &Share<'_, T>) {}
}

/// One component after steps of about `budget` evaluations, shortened as after `turns` turns ([`Ascent`]); `None` if they led
/// where the target is not finite.
pub(super) fn improved(
    view: Evaluator<'_>,
    mixture: &Mixture,
    which: usize,
    seed: Seed,
    (budget, turns): (u64, u64),
    evaluations: &mut u64,
) -> Result<Option<Gaussian<Triangular>>> {
    let wrap = Sharing { mixture: Arc::new(mixture.clone()), which };
    let from = mixture.components()[which].clone();
    view.wrap(wrap, |view, _| {
        let mut ascent = Ascent::from_gaussian(view, seed, from).damped(turns);
        let outcome = ascent.advance(budget);
        *evaluations += ascent.evaluations();
        match outcome {
            Ok(()) => {
                let q = ascent.current();
                let usable =
                    q.parameters().iter().all(|x| x.is_finite()) && q.log_det().is_ok_and(f64::is_finite);
                Ok(usable.then_some(q))
            }
            Err(error @ (Error::Target { .. } | Error::Stopped { .. } | Error::Reduce { .. })) => Err(error),
            Err(_) => Ok(None),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::Closure;

    #[test]
    fn the_share_is_the_target_times_the_part_of_a_component() {
        let target = Closure::new(2, |z: &[f64], gradient: &mut [f64]| {
            (gradient[0], gradient[1]) = (-z[0].powi(3), -z[1]);
            -0.25 * z[0].powi(4) - 0.5 * z[1] * z[1]
        })
        .unwrap();
        let parts = [([-1.0, 0.0], [0.5, 0.1, 1.0]), ([1.0, 0.5], [0.8, -0.3, 0.9])];
        let parts = parts.map(|(m, c)| Gaussian::<Triangular>::new(&m, &c).unwrap());
        let mixture = Arc::new(Mixture::new(&[0.4, 0.6], parts.to_vec()).unwrap());
        let share = Share { inner: &target, mixture: Arc::clone(&mixture), which: 1 };
        for z in [[0.2, -0.3], [1.5, 2.0], [-2.0, 0.4]] {
            let mut gradient = [0.0; 2];
            let value = share.log_density(&z, &mut gradient).unwrap();
            let own = parts[1].log_density(&z).unwrap() + 0.6f64.ln() - mixture.log_density(&z).unwrap();
            let plain = target.log_density(&z, &mut [0.0; 2]).unwrap();
            assert!((value - plain - own).abs() < 1e-12);
            for i in 0..2 {
                let at = |s: f64| {
                    let mut z = z;
                    z[i] += s * 1e-5;
                    share.log_density(&z, &mut [0.0; 2]).unwrap()
                };
                let slope = (at(1.0) - at(-1.0)) / 2e-5;
                assert!((gradient[i] - slope).abs() < 1e-6 * (1.0 + slope.abs()), "{gradient:?} {slope}");
            }
        }
    }
}

//! Bare log densities whose answers are known by quadrature, or whose shape is.

use crate::common::normals;
use provi::target::Closure;

const LOG_2PI: f64 = 1.837_877_066_409_345_5;

/// Mean and standard deviation.
pub(crate) type Moments = (f64, f64);

/// θ_j ~ N(μ, τ), group means y_j ~ N(θ_j, 1/√n), μ ~ N(0, 5), τ ~ N⁺(0, 1); coordinates μ, log τ, θ (centred).
#[derive(Clone, Debug)]
pub(crate) struct Hierarchy {
    means: Vec<f64>,
    precision: f64,
}

impl Hierarchy {
    /// J groups of n observations, with this τ.
    pub(crate) fn new(groups: usize, n: usize, tau: f64, seed: u64) -> Self {
        let u = normals(seed, 2 * groups);
        let sd = (n as f64).sqrt().recip();
        let means = (0..groups).map(|j| 1.0 + tau * u[2 * j] + sd * u[2 * j + 1]).collect();
        Self { means, precision: n as f64 }
    }

    pub(crate) fn dim(&self) -> usize {
        2 + self.means.len()
    }

    pub(crate) fn density(&self, z: &[f64], g: &mut [f64]) -> f64 {
        let (mu, log_tau, theta) = (z[0], z[1], &z[2..]);
        let tau = log_tau.exp();
        let mut value = -0.02 * mu * mu - 0.5 * tau * tau + log_tau;
        (g[0], g[1]) = (-0.04 * mu, -tau * tau + 1.0);
        for (j, (theta, y)) in theta.iter().zip(&self.means).enumerate() {
            let (r, e) = ((theta - mu) / tau, theta - y);
            value -= 0.5 * (r * r + self.precision * e * e) + log_tau;
            g[0] += r / tau;
            g[1] += r * r - 1.0;
            g[2 + j] = -r / tau - self.precision * e;
        }
        value
    }

    pub(crate) fn target(&self) -> Closure<impl Fn(&[f64], &mut [f64]) -> f64 + Clone> {
        let own = self.clone();
        Closure::new(self.dim(), move |z: &[f64], g: &mut [f64]| own.density(z, g)).unwrap()
    }

    /// Mean and sd of log τ: μ and θ are integrated in closed form, log τ on a grid.
    pub(crate) fn log_tau(&self) -> Moments {
        let (count, mean) =
            (self.means.len() as f64, self.means.iter().sum::<f64>() / self.means.len() as f64);
        let square: f64 = self.means.iter().map(|y| (y - mean).powi(2)).sum();
        let log_density = |x: f64| {
            let (tau2, noise) = ((2.0 * x).exp(), self.precision.recip());
            let v = tau2 + noise;
            // ȳ ~ N(0, 25 + v/J), and the squares about ȳ.
            let wide = 25.0 + v / count;
            -0.5 * tau2 + x
                - 0.5 * (count - 1.0) * v.ln()
                - 0.5 * square / v
                - 0.5 * wide.ln()
                - 0.5 * mean * mean / wide
        };
        moments(-8.0, 3.0, log_density)
    }
}

/// Mean and sd of a density on a line, by the trapezoidal rule.
pub(crate) fn moments(low: f64, high: f64, log_density: impl Fn(f64) -> f64) -> Moments {
    let count = 40_000;
    let at = |k: usize| low + (high - low) * k as f64 / count as f64;
    let logs: Vec<f64> = (0..=count).map(|k| log_density(at(k))).collect();
    let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum = |f: &dyn Fn(f64) -> f64| -> f64 {
        logs.iter().enumerate().map(|(k, l)| (l - top).exp() * f(at(k))).sum()
    };
    let (mass, first) = (sum(&|_| 1.0), sum(&|x| x));
    let mean = first / mass;
    (mean, (sum(&|x| (x - mean).powi(2)) / mass).sqrt())
}

/// Varying intercepts and slopes over a centred covariate: two hierarchies side by side.
pub(crate) fn varying_slopes(
    intercepts: &Hierarchy,
    slopes: &Hierarchy,
) -> Closure<impl Fn(&[f64], &mut [f64]) -> f64 + Clone> {
    let (a, b) = (intercepts.clone(), slopes.clone());
    let half = a.dim();
    Closure::new(half + b.dim(), move |z: &[f64], g: &mut [f64]| {
        let (first, second) = g.split_at_mut(half);
        a.density(&z[..half], first) + b.density(&z[half..], second)
    })
    .unwrap()
}

/// Y ≈ uvᵀ with unit normal priors: z and −z have the same density, and the origin is a saddle.
pub(crate) fn factorisation(n: usize) -> Closure<impl Fn(&[f64], &mut [f64]) -> f64 + Clone> {
    let truth = normals(3, 2 * n);
    let noise = normals(4, n * n);
    let y: Vec<f64> = (0..n * n).map(|k| truth[k / n] * truth[n + k % n] + 0.3 * noise[k]).collect();
    Closure::new(2 * n, move |z: &[f64], g: &mut [f64]| {
        let mut value = 0.0;
        for i in 0..2 * n {
            value -= 0.5 * z[i] * z[i];
            g[i] = -z[i];
        }
        for i in 0..n {
            for j in 0..n {
                let e = (y[i * n + j] - z[i] * z[n + j]) / 0.09;
                value -= 0.5 * 0.09 * e * e;
                g[i] += e * z[n + j];
                g[n + j] += e * z[i];
            }
        }
        value
    })
    .unwrap()
}

/// Mass on a ring of radius 5.
pub(crate) fn ring() -> Closure<impl Fn(&[f64], &mut [f64]) -> f64 + Clone> {
    Closure::new(2, |z: &[f64], g: &mut [f64]| {
        let r = z[0].hypot(z[1]).max(1e-12);
        let e = (r - 5.0) / 0.3;
        (0..2).for_each(|i| g[i] = -e / 0.3 * z[i] / r);
        -0.5 * e * e
    })
    .unwrap()
}

/// z₁ ~ N(0, 2), z₂ given z₁ ~ N(z₁²/2, 0.5): a banana.
pub(crate) fn banana() -> Closure<impl Fn(&[f64], &mut [f64]) -> f64 + Clone> {
    Closure::new(2, |z: &[f64], g: &mut [f64]| {
        let e = (z[1] - 0.5 * z[0] * z[0]) / 0.25;
        g[0] = -z[0] / 4.0 + e * z[0];
        g[1] = -e;
        -z[0] * z[0] / 8.0 - 0.125 * e * e
    })
    .unwrap()
}

/// y_t = sin(ωt) + noise: the likelihood of ω has a mode for every period that nearly fits. Coordinates 3 log ω
/// and log σ; the truth is ω = 2.
pub(crate) fn frequency() -> Closure<impl Fn(&[f64], &mut [f64]) -> f64 + Clone> {
    let noise = normals(8, 25);
    let data: Vec<(f64, f64)> =
        (0..25).map(|k| (0.2 * f64::from(k), (0.4 * f64::from(k)).sin() + 0.2 * noise[k as usize])).collect();
    Closure::new(2, move |z: &[f64], g: &mut [f64]| {
        let (omega, sigma) = ((z[0] / 3.0).exp(), z[1].exp());
        let mut value = -0.5 * (z[0] * z[0] / 9.0 + z[1] * z[1]);
        (g[0], g[1]) = (-z[0] / 9.0, -z[1]);
        for (t, y) in &data {
            let e = (y - (omega * t).sin()) / sigma;
            value -= 0.5 * e * e + z[1] + 0.5 * LOG_2PI;
            g[0] += e / sigma * (omega * t).cos() * t * omega / 3.0;
            g[1] += e * e - 1.0;
        }
        value
    })
    .unwrap()
}

//! Unbiased estimates of ∇l or ∇f. `pull` is computed once; each estimator adds its own line.
//!
//! With π = ∇V(Cu + m):
//! ```text
//! energy    g = (π,           proj(πuᵀ))               unbiased for ∇l
//! entropy   g = (π,           proj(πuᵀ − C⁻ᵀ))         unbiased for ∇f
//! stl       g = (π − C⁻ᵀu,    proj((π − C⁻ᵀu)uᵀ))      unbiased for ∇f
//! score     g = (ρC⁻ᵀu,       proj(ρ(C⁻ᵀuuᵀ − C⁻ᵀ)))   unbiased for ∇f, ρ = log q − log p less a baseline; no bound
//! exact     g = ∇l itself, where expectations are available
//! ```
//! Energy and entropy can be *controlled* by a quadratic ([`Control`]): π − c(z − ẑ) is drawn in place of π, and the gradient of what
//! was taken away, (c(m − ẑ), cC), is added exactly [noise-controlled].
//! Energy and entropy are unbiased for every base law of u; stl and score use ∇ log q and log q of a Gaussian, and refuse others.
//! The baseline of a score draw is the mean of log q − log p over the other draws of its step, which are independent of it, so that
//! nothing is biased and a constant of log p does not matter; a single draw has none.
//! A batch averages N draws, independent or coupled ([`Coupling`]). Each draw uses the whole target, or some of its terms ([`Source`]).

mod exact;
mod source;

pub use exact::Exact;
pub(crate) use source::NO_TERMS;
pub use source::{Source, Terms};

use crate::base::base_law::BaseLaw;
use crate::base::coupling::Coupling;
use crate::base::draws::Draws;
use crate::base::error::{Error, Result};
use crate::base::gaussian::Factor;
use crate::base::linalg::norm;
use crate::base::scratch::Scratch;
use crate::base::together::Together;
use crate::sgd::optimize::{Estimator, Formed, Moved};
use provi_kernels::{axpy, dot};

/// Which gradient a draw estimates, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
#[non_exhaustive]
pub enum Kind {
    /// ∇l, from the pull of V alone.
    Energy,
    /// ∇f, from the pull and the exact gradient of the entropy.
    Entropy,
    /// ∇f by sticking the landing; its noise vanishes where q = p.
    Stl,
    /// ∇f by the score function, with the other draws of a step as baseline. No noise bound is known; for comparison only.
    Score,
}

impl Kind {
    /// Whether it estimates ∇l and leaves the gradient of the entropy to the step.
    pub(crate) fn leaves_the_entropy(self) -> bool {
        match self {
            Self::Energy => true,
            Self::Entropy | Self::Stl | Self::Score => false,
        }
    }

    /// Refuses draws of a law for which the estimator would be biased \[base-law\].
    pub(crate) fn check_law(self, law: BaseLaw) -> Result<()> {
        match self {
            Self::Energy | Self::Entropy => Ok(()),
            _ if law.is_gaussian() => Ok(()),
            Self::Stl | Self::Score => Err(Error::BaseLaw {
                law: law.to_string(),
                why: "stl and score use log q of a Gaussian; use the energy or the entropy estimator",
            }),
        }
    }

    /// Refuses draws that depend on each other where that would make a bias [noise-coupled].
    pub(crate) fn check_coupling(self, coupling: Coupling) -> Result<()> {
        match self {
            Self::Score if coupling != Coupling::Independent => Err(Error::Pairing {
                why: "the baseline of a score draw is the mean of the other draws of its step, which must not depend on it",
            }),
            _ => Ok(()),
        }
    }
}

/// The quadratic ½c‖z − ẑ‖² whose gradient is drawn exactly [noise-controlled].
#[derive(Clone, Debug, PartialEq)]
pub struct Control {
    /// c.
    pub curvature: f64,
    /// ẑ, the mode or near it.
    pub centre: Vec<f64>,
}

/// The mean of N draws of one estimator, ready for a step.
///
/// The factor's part is kept as Σ_k left_k u_kᵀ/N − c·C⁻ᵀ and never formed: a step applies it in one pass.
/// Nothing is allocated after construction.
#[derive(Debug)]
pub struct Sampled<'a, F: Factor> {
    kind: Kind,
    target: Source<'a>,
    draws: Together,
    batch: usize,
    u: Vec<f64>,
    points: Vec<f64>,
    values: Vec<f64>,
    left: Vec<f64>,
    inverse: F::Inverse,
    inverse_weight: f64,
    scratch: Vec<Scratch>,
    evaluations: u64,
    control: Option<Control>,
}

impl<'a, F: Factor> Sampled<'a, F> {
    /// An estimator of `batch` ≥ 1 draws per step, each on the whole target or on its own terms.
    pub fn new(kind: Kind, target: impl Into<Source<'a>>, draws: Draws, batch: usize) -> Result<Self> {
        kind.check_law(draws.law())?;
        kind.check_coupling(draws.coupling())?;
        let target = target.into();
        let d = target.dim();
        check_batch(d, batch)?;
        Ok(Self {
            kind,
            draws: Together::new(draws, d, batch)?,
            batch,
            u: vec![0.0; batch * d],
            points: vec![0.0; batch * d],
            values: vec![0.0; batch],
            left: vec![0.0; batch * d],
            inverse: F::inverse_room(if kind.leaves_the_entropy() { 0 } else { d }),
            inverse_weight: 0.0,
            scratch: target.scratch(batch),
            target,
            evaluations: 0,
            control: None,
        })
    }

    /// Draws the residual of a quadratic instead. Only energy and entropy have this form.
    pub fn controlled(mut self, control: Control) -> Result<Self> {
        if !matches!(self.kind, Kind::Energy | Kind::Entropy) {
            return Err(Error::Pairing {
                why: "only the energy and the entropy estimator take a control variate",
            });
        }
        let (found, expected) = (control.centre.len(), self.target.dim());
        if found != expected {
            return Err(Error::Shape { what: "centre of the control variate", found, expected });
        }
        self.control = Some(control);
        Ok(self)
    }

    /// Evaluations so far of the target's density with its gradient, whole or by terms.
    pub fn evaluations(&self) -> u64 {
        self.evaluations
    }

    /// g_t(w) as a flat vector like w, for inspection; the run itself never forms it.
    pub fn gradient(&mut self, w: &[f64], t: u64, out: &mut [f64]) -> Result<()> {
        self.prepare(w, t)?;
        out.fill(0.0);
        self.subtract(out, -1.0);
        if let Some(Control { curvature, centre }) = &self.control {
            axpy(*curvature, w, out);
            axpy(-curvature, centre, &mut out[..centre.len()]);
        }
        Ok(())
    }

    /// Draws and evaluates at w; afterwards [`Sampled::parts`] is up to date.
    pub(crate) fn pull(&mut self, w: &[f64], t: u64) -> Result<()> {
        let d = self.target.dim();
        let (mean, factor) = w.split_at(d);
        self.draws.fill(t, &mut self.u);
        F::transport(factor, mean, &self.u, &mut self.points);
        self.target.evaluate(t, &self.points, &mut self.values, &mut self.left, &mut self.scratch)?;
        self.evaluations += self.batch as u64;
        check_finite(t, &self.points, &self.values, &self.left)?;
        // The only minus sign: from here on everything is minimised.
        self.values.iter_mut().for_each(|v| *v = -*v);
        self.left.iter_mut().for_each(|g| *g = -*g);
        Ok(())
    }

    /// After [`Sampled::pull`]: the u_k, the π_k for modification, and the mean of −log p.
    pub(crate) fn parts(&mut self) -> (&[f64], &mut [f64], f64) {
        (&self.u, &mut self.left, self.values.iter().sum::<f64>() / self.batch as f64)
    }

    /// Draws, evaluates and forms the low-rank parts at w.
    fn prepare(&mut self, w: &[f64], t: u64) -> Result<()> {
        self.pull(w, t)?;
        let d = self.target.dim();
        let factor = &w[d..];
        self.inverse_weight = 0.0;
        if !self.kind.leaves_the_entropy() {
            F::prepare_inverse(factor, &mut self.inverse)?;
        }
        if let Some(Control { curvature, centre }) = &self.control {
            for (left, z) in self.left.chunks_exact_mut(d).zip(self.points.chunks_exact(d)) {
                axpy(-curvature, z, left);
                axpy(*curvature, centre, left);
            }
        }
        match self.kind {
            Kind::Energy => {}
            Kind::Entropy => self.inverse_weight = 1.0,
            Kind::Stl => {
                for (left, u) in self.left.chunks_exact_mut(d).zip(self.u.chunks_exact(d)) {
                    // The point is no longer needed; its memory holds C⁻ᵀu.
                    let solved = &mut self.points[..d];
                    solved.copy_from_slice(u);
                    F::solve_transposed(factor, &self.inverse, solved);
                    axpy(-1.0, solved, left);
                }
            }
            Kind::Score => {
                let constant = F::log_det(d, factor)? + 0.5 * d as f64 * (2.0 * std::f64::consts::PI).ln();
                let draws = || self.u.chunks_exact(d).zip(&self.values);
                let ratio = |(u, value): (&[f64], &f64)| value - 0.5 * dot(u, u) - constant;
                let total: f64 = draws().map(ratio).sum();
                let mut weights = 0.0;
                for (left, (u, value)) in self.left.chunks_exact_mut(d).zip(draws()) {
                    let own = ratio((u, value));
                    let others = (self.batch - 1) as f64;
                    let weight = if self.batch > 1 { own - (total - own) / others } else { own };
                    left.copy_from_slice(u);
                    F::solve_transposed(factor, &self.inverse, left);
                    left.iter_mut().for_each(|x| *x *= weight);
                    weights += weight;
                }
                self.inverse_weight = weights / self.batch as f64;
            }
        }
        Ok(())
    }

    /// w ← w − γc(w − (ẑ, 0)), the exact part of a controlled draw; returns an upper bound of how far it moves.
    fn contract(&self, w: &mut [f64], gamma: f64) -> f64 {
        let Some(Control { curvature, centre }) = &self.control else { return 0.0 };
        let share = gamma * curvature;
        let (mean, factor) = w.split_at_mut(centre.len());
        let mut shift2 = 0.0;
        for (m, z) in mean.iter_mut().zip(centre) {
            let step = share * (*m - z);
            *m -= step;
            shift2 += step * step;
        }
        let mut shrinkage2 = 0.0;
        for c in factor {
            let step = share * *c;
            *c -= step;
            shrinkage2 += step * step;
        }
        // An entry of a symmetric factor may stand for two.
        (shift2 + 2.0 * shrinkage2).sqrt() * (1.0 + 1e-12)
    }

    /// w ← w − γg from the prepared parts; returns an upper bound of ‖γg‖.
    fn subtract(&mut self, w: &mut [f64], gamma: f64) -> f64 {
        let d = self.target.dim();
        let (mean, factor) = w.split_at_mut(d);
        let scale = gamma / self.batch as f64;
        let mut distance = 0.0;
        for (left, u) in self.left.chunks_exact(d).zip(self.u.chunks_exact(d)) {
            axpy(-scale, left, mean);
            distance += norm(left) * (1.0 + dot(u, u)).sqrt();
        }
        F::rank_update(factor, -scale, &self.left, &self.u);
        distance *= scale.abs();
        if self.inverse_weight.abs() > 0.0 {
            let weight = gamma * self.inverse_weight;
            distance += weight.abs() * F::add_inverse(&mut self.inverse, weight, factor);
        }
        distance * (1.0 + 1e-12)
    }
}

/// Refuses a target without coordinates or a step without draws.
pub(crate) fn check_batch(dim: usize, batch: usize) -> Result<()> {
    if batch == 0 || u32::try_from(batch).is_err() {
        return Err(Error::OutOfRange {
            what: "draws per step",
            value: batch as f64,
            needed: "between 1 and 4294967295",
        });
    }
    if dim == 0 {
        return Err(Error::Empty { what: "target (dimension 0)" });
    }
    Ok(())
}

/// Refuses a log-density or gradient that is not finite, naming step, draw and ‖z‖.
pub(crate) fn check_finite(step: u64, points: &[f64], values: &[f64], gradients: &[f64]) -> Result<()> {
    let d = points.len() / values.len();
    for (draw, (&value, gradient)) in values.iter().zip(gradients.chunks_exact(d)).enumerate() {
        // A finite sum of squares has only finite terms; the search is needed only for the message.
        let bad = if !value.is_finite() {
            Some(("log-density", value))
        } else if dot(gradient, gradient).is_finite() {
            None
        } else {
            gradient.iter().find(|x| !x.is_finite()).map(|&x| ("gradient", x))
        };
        if let Some((quantity, value)) = bad {
            let norm = norm(&points[draw * d..(draw + 1) * d]);
            return Err(Error::TargetNotFinite { quantity, value, step, draw, norm });
        }
    }
    Ok(())
}

impl<F: Factor> Estimator for Sampled<'_, F> {
    fn descend(&mut self, w: &mut [f64], t: u64, gamma: f64) -> Result<Moved> {
        self.prepare(w, t)?;
        let value = self.values.iter().sum::<f64>() / self.batch as f64;
        let towards = self.contract(w, gamma);
        Ok(Moved { distance: towards + self.subtract(w, gamma), value: Some(value) })
    }
}

impl<F: Factor> Formed for Sampled<'_, F> {
    fn form(&mut self, w: &[f64], t: u64, out: &mut [f64]) -> Result<Option<f64>> {
        self.gradient(w, t, out)?;
        Ok(Some(self.values.iter().sum::<f64>() / self.batch as f64))
    }

    fn square(&self, x: &[f64]) -> f64 {
        let (mean, factor) = x.split_at(self.target.dim());
        dot(mean, mean) + F::square_norm(mean.len(), factor)
    }
}

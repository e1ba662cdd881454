//! Steps within a family: only the entries of the pattern are held and moved \[pattern\].

use crate::base::draws::Draws;
use crate::base::error::Result;
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::linalg::norm;
use crate::base::pattern::Entries;
use crate::base::scratch::Scratch;
use crate::base::stop;
use crate::base::together::Together;
use crate::sgd::estimator::{Source, check_batch, check_finite};
use crate::sgd::optimize::{Moved, Operator, Problem};
use crate::sgd::step::prox::lift;
use crate::target::expectations::{Expectations, Moments};
use provi_kernels::{axpy, dot};
use std::sync::Arc;

/// What keeps the diagonal positive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Floor {
    /// C_ii ← ½(C_ii + √(C_ii² + 4γ)), after an estimate of ∇l [prox-h].
    Prox,
    /// C_ii ← max(C_ii, 1/√M), after an estimate of ∇f [proj-tri]. Holds 1/√M.
    Least(f64),
}

/// The operator of the diagonal, on w = (m, the entries of the pattern).
#[derive(Clone, Debug)]
pub(crate) struct Diagonal {
    pub(crate) entries: Arc<Entries>,
    pub(crate) floor: Floor,
}

impl Operator for Diagonal {
    fn apply(&mut self, w: &mut [f64], gamma: f64, _moved: &Moved) -> Result<()> {
        let d = self.entries.dim();
        for i in 0..d {
            let c = &mut w[d + self.entries.diagonal(i)];
            *c = match self.floor {
                Floor::Prox => lift(*c, gamma),
                Floor::Least(least) => c.max(least),
            };
        }
        Ok(())
    }
}

/// One step on w = (m, the entries of the pattern), with the mean of N draws:
/// ```text
/// g = (π, proj_𝒱(πuᵀ))                 then the prox,                 if the floor is `Prox`
/// g = (π, proj_𝒱(πuᵀ) − diag(1/C_ii))  then the projection,           otherwise
/// ```
/// The projection on 𝒱 drops the entries outside of the pattern, which are never computed. Cost besides the target:
/// one pass over the entries for each draw to form Cu, one to apply the update. Nothing is allocated after the first
/// step.
pub(crate) struct Within<'a> {
    target: Source<'a>,
    source: Together,
    batch: usize,
    diagonal: Diagonal,
    u: Vec<f64>,
    points: Vec<f64>,
    values: Vec<f64>,
    pulls: Vec<f64>,
    scratch: Vec<Scratch>,
}

impl<'a> Within<'a> {
    /// `batch` ≥ 1 draws per step from this stream.
    pub(crate) fn new(
        target: impl Into<Source<'a>>,
        source: Draws,
        batch: usize,
        diagonal: Diagonal,
    ) -> Result<Self> {
        let target = target.into();
        let d = target.dim();
        check_batch(d, batch)?;
        let room = || vec![0.0; batch * d];
        Ok(Self {
            scratch: target.scratch(batch),
            target,
            source: Together::new(source, d, batch)?,
            batch,
            diagonal,
            u: room(),
            points: room(),
            values: vec![0.0; batch],
            pulls: room(),
        })
    }
}

impl Problem for Within<'_> {
    fn advance(&mut self, w: &mut [f64], t: u64, gamma: f64) -> Result<Moved> {
        let entries = Arc::clone(&self.diagonal.entries);
        let d = entries.dim();
        let (mean, factor) = w.split_at_mut(d);
        self.source.fill(t, &mut self.u);
        for (u, z) in self.u.chunks_exact(d).zip(self.points.chunks_exact_mut(d)) {
            entries.transport(mean, factor, u, z);
        }
        self.target.evaluate(t, &self.points, &mut self.values, &mut self.pulls, &mut self.scratch)?;
        check_finite(t, &self.points, &self.values, &self.pulls)?;
        // The only minus sign: from here on everything is minimised.
        self.pulls.iter_mut().for_each(|g| *g = -*g);
        let (scale, mut distance) = (gamma / self.batch as f64, 0.0);
        if let Floor::Least(_) = self.diagonal.floor {
            for i in 0..d {
                let c = &mut factor[entries.diagonal(i)];
                distance += gamma / *c;
                *c += gamma / *c;
            }
        }
        for (pull, u) in self.pulls.chunks_exact(d).zip(self.u.chunks_exact(d)) {
            axpy(-scale, pull, mean);
            entries.rank_one(-scale, pull, u, factor);
            distance += scale * norm(pull) * (1.0 + dot(u, u)).sqrt();
        }
        let value = -self.values.iter().sum::<f64>() / self.batch as f64;
        let moved = Moved { distance: distance * (1.0 + 1e-12), value: Some(value) };
        self.diagonal.apply(w, gamma, &moved)?;
        Ok(moved)
    }
}

/// Proximal steps without noise on w = (m, the entries of the pattern): ∇l by exact expectations, projected on 𝒱.
pub(crate) struct ExactWithin<'a> {
    target: &'a dyn Expectations,
    diagonal: Diagonal,
    moments: Moments,
    /// ∇l on 𝒯ᵈ, and its part in the pattern.
    gradient: Vec<f64>,
    kept: Vec<f64>,
}

impl<'a> ExactWithin<'a> {
    pub(crate) fn new(target: &'a dyn Expectations, entries: Arc<Entries>) -> Self {
        let d = entries.dim();
        let moments = Moments::new(d);
        let gradient = Gaussian::<Triangular>::standard(d).parameters().to_vec();
        let kept = vec![0.0; d + entries.len()];
        Self { target, diagonal: Diagonal { entries, floor: Floor::Prox }, moments, gradient, kept }
    }
}

impl Problem for ExactWithin<'_> {
    fn advance(&mut self, w: &mut [f64], _t: u64, gamma: f64) -> Result<Moved> {
        let entries = &self.diagonal.entries;
        let d = entries.dim();
        let parameters = [w[..d].to_vec(), entries.scatter(&w[d..])].concat();
        let q = Gaussian::<Triangular>::from_parameters(d, parameters);
        stop::evaluation(|| self.target.expect(&q, &mut self.moments))?;
        self.moments.free_energy_gradient(&q, &mut self.gradient);
        let (mean, factor) = self.kept.split_at_mut(d);
        mean.copy_from_slice(&self.gradient[..d]);
        entries.gather(&self.gradient[d..], factor);
        axpy(-gamma, &self.kept, w);
        let distance = gamma * norm(&self.kept) * (1.0 + 1e-12);
        let moved = Moved { distance, value: Some(self.moments.value) };
        self.diagonal.apply(w, gamma, &moved)?;
        Ok(moved)
    }
}

#[cfg(test)]
mod tests;

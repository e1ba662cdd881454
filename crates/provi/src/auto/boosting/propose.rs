//! Where a further component could help: places where p exceeds the mixture.
//!
//! Draws z of g, which is q and q stretched, estimate the mass that q misses: v = max{0, p/Z − q}/g. A few of them, in
//! proportion to v, are the centres of candidates (Miller, Foti and Adams, *Variational boosting*, ICML 2017). Each has several
//! shapes: that of the nearest component, narrower ones, the moments of the missed mass around it, and the curvature of log p there.
//! A climb from the draw with the largest log p/q may find another mode, and the search for the first component has left
//! places of its own. The rise of the mixture's ELBO with the best weight decides between them.

use super::strata::{Strata, log_densities};
use crate::auto::explore::is_near;
use crate::base::draws::{Draws, Purpose, Seed};
use crate::base::error::{Error, Result};
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::matrix::Matrix;
use crate::base::mixture::{Mixture, log_sum_exp, whiten};
use crate::certify::estimate::resample;
use crate::target::evaluate::Evaluator;
use crate::target::mode::{Mode, Path, climb_for, rough_laplace};
use provi_kernels::dot;

/// Draws of g.
const DRAWS: usize = 480;
/// Stretches are 1 + these/√d: the draws then lie farther out by about so many standard deviations.
const STRETCHES: [f64; 3] = [0.0, 1.5, 4.0];
/// Centres of candidates, and the factors by which their shapes are narrower than the nearest component.
const CENTRES: usize = 4;
const NARROWER: [f64; 3] = [1.0, 0.5, 0.2];
/// Pairs of draws that rank a candidate.
const PAIRS: usize = 16;
/// How near a top a climb ends, in nats, and its most steps.
const NEAR: f64 = 0.05;
const CLIMB: usize = 100;
/// The part of the nearest covariance that is added to a covariance of moments.
const RIDGE: f64 = 0.1;

/// A component that could be added, with the best weight for it and the rise of the ELBO that a few draws show.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) q: Gaussian<Triangular>,
    pub(super) share: f64,
    pub(super) rise: f64,
}

/// The candidates, the best first. `places` are those that the search for the first component has left.
pub(super) fn candidates(
    view: Evaluator<'_>,
    mixture: &Mixture,
    places: &[Gaussian<Triangular>],
    seed: Seed,
    round: u64,
    evaluations: &mut u64,
) -> Result<Vec<Candidate>> {
    let missed = Missed::draw(view, mixture, seed, round, evaluations)?;
    let mut shapes: Vec<Gaussian<Triangular>> = places
        .iter()
        .filter(|place| !mixture.components().iter().any(|q| is_near(q, place)))
        .cloned()
        .collect();
    for &centre in &missed.centres(seed.part(round))? {
        missed.shapes_at(view, mixture, centre, evaluations, &mut shapes)?;
    }
    shapes.extend(missed.climbed(view, mixture, evaluations)?);
    let stream = (round << 8) + 1;
    let own = Strata::draw(view, mixture, seed, stream, PAIRS, evaluations)?;
    let mut out = Vec::new();
    for q in shapes {
        let mut strata = own.clone();
        strata.push(view, &q, seed, stream, evaluations)?;
        if let Some((share, rise)) = strata.best_share(mixture, &q) {
            out.push(Candidate { q, share, rise });
        }
    }
    out.sort_by(|a, b| b.rise.total_cmp(&a.rise));
    Ok(out)
}

/// Draws of g, and the mass that q misses at them.
struct Missed {
    points: Vec<f64>,
    dim: usize,
    log_p: Vec<f64>,
    log_q: Vec<f64>,
    /// log v; −∞ where p is below q.
    log_v: Vec<f64>,
    /// The component nearest to each draw: the one with the largest part in q there.
    nearest: Vec<usize>,
}

impl Missed {
    fn draw(
        view: Evaluator<'_>,
        mixture: &Mixture,
        seed: Seed,
        round: u64,
        evaluations: &mut u64,
    ) -> Result<Self> {
        let (d, k) = (mixture.dim(), mixture.len());
        let g = stretched(mixture)?;
        let draws = Draws::new(seed, Purpose::Pilot);
        let (mut points, mut u) = (vec![0.0; DRAWS * d], vec![0.0; d]);
        for (n, z) in points.chunks_exact_mut(d).enumerate() {
            draws.fill((1 << 57) + (round << 24), n as u32, &mut u);
            // One uniform point in each of DRAWS equal parts.
            let shift = draws.uniform((1 << 57) + (round << 24) + 1, n as u32);
            g.components()[g.component_at((n as f64 + shift) / DRAWS as f64)].transport(&u, z);
        }
        let log_p = log_densities(view, &points, evaluations)?;
        let mut out = Self {
            dim: d,
            log_q: Vec::with_capacity(DRAWS),
            log_v: Vec::with_capacity(DRAWS),
            nearest: Vec::with_capacity(DRAWS),
            points,
            log_p,
        };
        let (mut logs, mut all) = (vec![0.0; k], vec![0.0; g.len()]);
        let mut log_g = Vec::with_capacity(DRAWS);
        for z in out.points.chunks_exact(d) {
            mixture.log_joint(z, &mut logs, &mut u);
            out.log_q.push(log_sum_exp(&logs));
            let nearest = (0..k).max_by(|a, b| logs[*a].total_cmp(&logs[*b]));
            out.nearest.push(nearest.unwrap_or(0));
            g.log_joint(z, &mut all, &mut u);
            log_g.push(log_sum_exp(&all));
        }
        let weights: Vec<f64> = out.log_p.iter().zip(&log_g).map(|(p, g)| p - g).collect();
        let log_z = log_sum_exp(&weights) - (DRAWS as f64).ln();
        for n in 0..DRAWS {
            // log(p/Z − q) where that is positive.
            let (p, q) = (out.log_p[n] - log_z, out.log_q[n]);
            let log = if p > q { p + (-(q - p).exp()).ln_1p() } else { f64::NEG_INFINITY };
            out.log_v.push(if log.is_nan() { f64::NEG_INFINITY } else { log - log_g[n] });
        }
        Ok(out)
    }

    fn point(&self, n: usize) -> &[f64] {
        &self.points[n * self.dim..][..self.dim]
    }

    /// Draws in proportion to the mass that q misses there.
    fn centres(&self, seed: Seed) -> Result<Vec<usize>> {
        if self.log_v.iter().all(|v| *v == f64::NEG_INFINITY) {
            return Ok(Vec::new());
        }
        let mut out = resample(&self.log_v, CENTRES, seed)?;
        out.dedup();
        Ok(out)
    }

    /// Gaussians around one draw.
    fn shapes_at(
        &self,
        view: Evaluator<'_>,
        mixture: &Mixture,
        n: usize,
        evaluations: &mut u64,
        out: &mut Vec<Gaussian<Triangular>>,
    ) -> Result<()> {
        let (z, parent) = (self.point(n), &mixture.components()[self.nearest[n]]);
        for narrower in NARROWER {
            let factor: Vec<f64> = parent.factor().iter().map(|x| narrower * x).collect();
            out.extend(Gaussian::new(z, &factor));
        }
        out.extend(self.moments(z, parent));
        let mode = Mode { point: z.to_vec(), log_density: 0.0, gradient_norm: 0.0, evaluations: 0 };
        let local = settled(rough_laplace(view.target(), &mode))?;
        *evaluations += local.as_ref().map_or(self.dim as u64 + 1, |local| local.evaluations);
        out.extend(local.map(|local| local.gaussian).filter(|q| q.log_det().is_ok_and(f64::is_finite)));
        Ok(())
    }

    /// The moments of the missed mass around a point, seen through a window as wide as half a component.
    fn moments(&self, centre: &[f64], parent: &Gaussian<Triangular>) -> Option<Gaussian<Triangular>> {
        let d = self.dim;
        let mut u = vec![0.0; d];
        let mut here = vec![0.0; d];
        whiten(parent, centre, &mut here);
        let logs: Vec<f64> = (0..DRAWS)
            .map(|n| {
                whiten(parent, self.point(n), &mut u);
                let square: f64 = u.iter().zip(&here).map(|(u, c)| (u - c).powi(2)).sum();
                self.log_v[n] - 2.0 * square / (d as f64).sqrt()
            })
            .collect();
        let total = log_sum_exp(&logs);
        if !total.is_finite() {
            return None;
        }
        let weights: Vec<f64> = logs.iter().map(|log| (log - total).exp()).collect();
        // Fewer draws have no covariance.
        if dot(&weights, &weights).recip() < 2.0 * d as f64 + 2.0 {
            return None;
        }
        let mut mean = vec![0.0; d];
        weights.iter().enumerate().for_each(|(n, w)| provi_kernels::axpy(*w, self.point(n), &mut mean));
        let mut covariance = Matrix::zeros(d, d);
        covariance.add_scaled(RIDGE, &parent.covariance());
        for (n, w) in weights.iter().enumerate() {
            let z = self.point(n);
            for i in 0..d {
                for j in 0..d {
                    covariance[(i, j)] += w * (z[i] - mean[i]) * (z[j] - mean[j]);
                }
            }
        }
        Gaussian::from_covariance(&mean, covariance).ok()
    }

    /// The Gaussian at the top above the draw with the largest log p/q, if no component is near it.
    fn climbed(
        &self,
        view: Evaluator<'_>,
        mixture: &Mixture,
        evaluations: &mut u64,
    ) -> Result<Option<Gaussian<Triangular>>> {
        let ratio = |n: &usize| self.log_p[*n] - self.log_q[*n];
        let finite = (0..DRAWS).filter(|n| ratio(n).is_finite());
        let Some(start) = finite.max_by(|a, b| ratio(a).total_cmp(&ratio(b))) else { return Ok(None) };
        let climb = climb_for(view.target(), self.point(start), NEAR, CLIMB, &mut Path::default());
        let Some(top) = settled(climb)? else { return Ok(None) };
        *evaluations += top.evaluations;
        let Some(local) = settled(rough_laplace(view.target(), &top))? else { return Ok(None) };
        *evaluations += local.evaluations;
        let usable = local.gaussian.log_det().is_ok_and(f64::is_finite);
        let new = !mixture.components().iter().any(|q| is_near(q, &local.gaussian));
        Ok((usable && new).then_some(local.gaussian))
    }
}

/// The mixture, and the same stretched.
fn stretched(mixture: &Mixture) -> Result<Mixture> {
    let d = mixture.dim();
    let (mut weights, mut components) = (Vec::new(), Vec::new());
    for farther in STRETCHES {
        let stretch = 1.0 + farther / (d as f64).sqrt();
        for (w, q) in mixture.weights().iter().zip(mixture.components()) {
            let factor: Vec<f64> = q.factor().iter().map(|x| stretch * x).collect();
            weights.push(w / STRETCHES.len() as f64);
            components.push(Gaussian::new(q.mean(), &factor)?);
        }
    }
    Mixture::new(&weights, components)
}

/// An error that concerns one place is no error of the whole.
fn settled<T>(found: Result<T>) -> Result<Option<T>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(error @ (Error::Target { .. } | Error::Stopped { .. } | Error::Reduce { .. })) => Err(error),
        Err(_) => Ok(None),
    }
}

//! The ELBO of several Gaussians on the same draws, so that their differences have little noise.

use crate::base::draws::{Draws, Purpose, Seed};
use crate::base::error::Result;
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::stop;
use crate::target::evaluate::Evaluator;
use provi_kernels::dot;

/// An estimated ELBO.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Score {
    /// E_q log p/q.
    pub(crate) elbo: f64,
    /// Its standard error.
    pub(crate) se: f64,
    /// The standard deviation of log p/q: 0 where q is the posterior.
    pub(crate) spread: f64,
}

/// Draws ±u, the same for every Gaussian.
#[derive(Debug)]
pub(crate) struct Scorer<'a> {
    view: Evaluator<'a>,
    u: Vec<f64>,
    pairs: usize,
    /// Evaluations made so far.
    pub(crate) evaluations: u64,
}

impl<'a> Scorer<'a> {
    /// With this many pairs of draws; each `stream` has its own.
    pub(crate) fn new(view: Evaluator<'a>, seed: Seed, pairs: usize, stream: u64) -> Self {
        let d = view.dim();
        let (draws, mut u) = (Draws::new(seed, Purpose::Pilot), vec![0.0; pairs * d]);
        u.chunks_exact_mut(d).enumerate().for_each(|(k, u)| draws.fill((1 << 48) + stream, k as u32, u));
        Self { view, u, pairs, evaluations: 0 }
    }

    /// log p/q at every draw, u and −u in turn halves; `None` if the target is not finite at one of them.
    pub(crate) fn ratios(&mut self, q: &Gaussian<Triangular>) -> Result<Option<Vec<f64>>> {
        let (d, half) = (q.dim(), self.u.len());
        let Ok(log_det) = q.log_det() else { return Ok(None) };
        let mut points = vec![0.0; 2 * half];
        let (ahead, behind) = points.split_at_mut(half);
        q.transport(&self.u, ahead);
        for (z, mirror) in ahead.chunks_exact(d).zip(behind.chunks_exact_mut(d)) {
            (0..d).for_each(|i| mirror[i] = 2.0 * q.mean()[i] - z[i]);
        }
        let (mut ratios, mut gradients) = (vec![0.0; 2 * self.pairs], vec![0.0; 2 * half]);
        let mut scratch = self.view.scratch(ratios.len());
        self.view.evaluate(&points, &mut ratios, &mut gradients, &mut scratch)?;
        stop::check()?;
        self.evaluations += ratios.len() as u64;
        let normaliser = log_det + 0.5 * d as f64 * (2.0 * std::f64::consts::PI).ln();
        for (k, ratio) in ratios.iter_mut().enumerate() {
            let u = &self.u[(k % self.pairs) * d..][..d];
            *ratio += 0.5 * dot(u, u) + normaliser;
        }
        Ok(ratios.iter().all(|x| x.is_finite()).then_some(ratios))
    }

    /// The ELBO of q; `None` if the target is not finite at one of the draws.
    pub(crate) fn score(&mut self, q: &Gaussian<Triangular>) -> Result<Option<Score>> {
        Ok(self.ratios(q)?.map(|ratios| Score::of(&ratios)))
    }
}

impl Score {
    /// From log ratios at draws u, and after them at −u.
    pub(crate) fn of(ratios: &[f64]) -> Self {
        let pairs = ratios.len() / 2;
        let (elbo, se) = mean_of_pairs(ratios, &vec![0.0; ratios.len()]);
        let square: f64 = ratios.iter().map(|r| (r - elbo).powi(2)).sum();
        Self { elbo, se, spread: (square / (2.0 * pairs as f64 - 1.0)).sqrt() }
    }
}

/// The mean of a − b with its standard error; both are log ratios at the same draws ±u.
pub(crate) fn mean_of_pairs(a: &[f64], b: &[f64]) -> (f64, f64) {
    let pairs = a.len() / 2;
    let of = |k: usize| 0.5 * (a[k] - b[k] + a[pairs + k] - b[pairs + k]);
    let mean = (0..pairs).map(of).sum::<f64>() / pairs as f64;
    let square: f64 = (0..pairs).map(|k| (of(k) - mean).powi(2)).sum();
    (mean, (square / (pairs as f64 * (pairs as f64 - 1.0))).sqrt())
}

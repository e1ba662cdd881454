//! Draws to keep: of the Gaussian, or resampled towards the posterior.

use provi::estimate::{Estimates, Reliability, log_ratios, psis, resample, weighted_draws};
use provi::target::Evaluator;
use provi::{Gaussian, Matrix, Seed};

use crate::capacity::refuse_beyond;
use crate::error::{Error, Result};

/// Independent draws have no chains; several let the tools that compare chains work as they do.
const CHAINS: usize = 4;
/// Draws a chain that a fit leaves in its folder,
const DRAWS: usize = 500;
/// as long as these are no more numbers than that.
const MOST_NUMBERS: usize = 1 << 22;
/// Draws of q for each draw that is resampled, and the fewest of them: k̂ needs a tail to look at.
const POOL: usize = 4;
const LEAST_POOL: usize = 4000;

/// Draws, one a row, chain after chain.
#[derive(Debug)]
pub struct Sampled {
    /// Of the columns.
    pub names: Vec<String>,
    /// A draw a row.
    pub points: Matrix,
    /// A divisor of the number of draws.
    pub chains: usize,
    /// What they come from.
    pub seed: Seed,
    /// log q at each.
    pub log_q: Vec<f64>,
    /// log p(z, x) at each, with every constant; none without data.
    pub log_joint: Option<Vec<f64>>,
    /// The same draws on the scale of a Stan model, with their names.
    pub constrained: Option<(Vec<String>, Matrix)>,
    /// k̂ of the weights they were resampled by; none for draws of q.
    pub resampled: Option<f64>,
}

impl Sampled {
    /// Draws of q, with their log joint density where the target is at hand and finite.
    pub fn of_gaussian(
        q: &Gaussian,
        names: &[String],
        target: Option<Evaluator<'_>>,
        count: usize,
        seed: Seed,
    ) -> Result<Self> {
        let points = q.sample(count, seed);
        let log_q = log_densities(q, &points)?;
        let log_joint = match target {
            None => None,
            Some(target) => {
                let ratios = log_ratios(target, q, &points)?;
                Some(ratios.iter().zip(&log_q).map(|(ratio, log_q)| ratio + log_q).collect())
            }
        };
        let chains = chains(count);
        Ok(Self {
            names: names.to_vec(),
            points,
            chains,
            seed,
            log_q,
            log_joint,
            constrained: None,
            resampled: None,
        })
    }

    /// What a fit leaves in its folder. Draws where the target is not finite have no log joint density, and are still draws.
    pub fn of_fit(q: &Gaussian, target: Evaluator<'_>, seed: Seed) -> Result<Self> {
        let [chains, draws] = usual_draws(q.dim());
        let count = chains * draws;
        let names = target.target().names();
        Self::of_gaussian(q, &names, Some(target), count, seed)
            .or_else(|_| Self::of_gaussian(q, &names, None, count, seed))
    }

    /// The same of a target whose density is a pass over files for every few hundred draws: the draws alone.
    pub fn of_files(q: &Gaussian, names: &[String], seed: Seed) -> Result<Self> {
        let [chains, draws] = usual_draws(q.dim());
        Self::of_gaussian(q, names, None, chains * draws, seed)
    }

    /// Draws in proportion to their Pareto smoothed importance weights, out of more draws of q.
    pub fn resampled(
        q: &Gaussian,
        target: Evaluator<'_>,
        count: usize,
        seed: Seed,
        force: bool,
    ) -> Result<Self> {
        let pool = POOL.saturating_mul(count).max(LEAST_POOL);
        let (all, mut ratios) = weighted_draws(target, q, seed, pool)?;
        let estimates = Estimates::from_log_ratios(&ratios)?;
        if !force && matches!(estimates.reliability(), Reliability::Unreliable | Reliability::Unknown) {
            return Err(Error::HeavyTail { pareto_k: estimates.pareto_k, draws: pool });
        }
        let raw = ratios.clone();
        psis(&mut ratios)?;
        let chosen = resample(&ratios, count, seed)?;
        let entries = chosen.iter().flat_map(|&k| all.row(k).iter().copied()).collect();
        let points = Matrix::new(count, q.dim(), entries)?;
        let log_q = log_densities(q, &points)?;
        let log_joint = chosen.iter().zip(&log_q).map(|(&k, log_q)| raw[k] + log_q).collect();
        Ok(Self {
            names: target.target().names(),
            points,
            chains: chains(count),
            seed,
            log_q,
            log_joint: Some(log_joint),
            constrained: None,
            resampled: Some(estimates.pareto_k),
        })
    }

    /// log p(z, x) − log q(z), for draws of q.
    pub fn log_weights(&self) -> Option<Vec<f64>> {
        let joint = self.log_joint.as_ref().filter(|_| self.resampled.is_none())?;
        Some(joint.iter().zip(&self.log_q).map(|(p, q)| p - q).collect())
    }
}

/// Refuses more draws than there is room for, with so many copies of each number and, if they are resampled, with the
/// draws that they are taken from.
pub fn refuse_many(q: &Gaussian, count: usize, copies: usize, resampled: bool) -> Result<()> {
    // The draw, log q, log p and a weight.
    let one = 8 * (q.dim() as u128 + 3);
    let pool = if resampled { (POOL as u128 * count as u128).max(LEAST_POOL as u128) } else { 0 };
    let what = || format!("{count} draws of {} coefficients", q.dim());
    refuse_beyond(what, one * (copies as u128 * count as u128 + pool))
}

/// Chains, and draws of each, where nobody says how many.
pub fn usual_draws(dim: usize) -> [usize; 2] {
    [CHAINS, (MOST_NUMBERS / (CHAINS * dim.max(1))).clamp(1, DRAWS)]
}

fn log_densities(q: &Gaussian, points: &Matrix) -> Result<Vec<f64>> {
    let density = |k| {
        provi::stop::check()?;
        q.log_density(points.row(k))
    };
    (0..points.rows()).map(|k| Ok(density(k)?)).collect()
}

/// As many chains as there are, if the draws are so many times as many.
fn chains(count: usize) -> usize {
    if count.is_multiple_of(CHAINS) { CHAINS } else { 1 }
}

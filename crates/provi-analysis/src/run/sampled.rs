//! Draws to store: of the Gaussian, or resampled towards the posterior.

use provi::estimate::{Estimates, log_ratios, psis, resample, weighted_draws};
use provi::scales::ScaleMixture;
use provi::sparse::AnyGaussian;
use provi::target::{Evaluator, Regression};
use provi::{Gaussian, Matrix, Seed};

use crate::capacity::refuse_beyond;
use crate::error::{Error, Result};
use crate::model::ModelTarget;
use crate::number::bound;
use crate::record::fit_file::FitFile;
use crate::run::fitted::Fitted;

/// Independent draws have no chains; they are split into several so that tools that compare chains work.
const CHAINS: usize = 4;
/// Draws per chain that a fit leaves in its folder,
const DRAWS: usize = 500;
/// as long as there are at most this many numbers.
const MOST_NUMBERS: usize = 1 << 22;
/// Log likelihoods of rows that a fit leaves in its folder, at most: 8 MiB of them.
pub const FEW_LIKELIHOODS: usize = 1 << 20;
/// Draws of q for each resampled draw, and the least number of them: k̂ needs a tail to be fitted.
const POOL: usize = 4;
const LEAST_POOL: usize = 4000;

/// What draws are draws of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Law {
    /// Of q, the fitted Gaussian, which the certificate speaks of.
    Gaussian,
    /// Of q, resampled by Pareto smoothed importance weights: nothing is proved of them.
    Psis,
    /// Of the posterior itself, up to a total variation from rounding [exact-draws].
    Exact {
        /// A bound of it.
        rounding: f64,
        /// Whether that rests on a curvature that somebody declared.
        declared: bool,
    },
    /// Of the mixture of Gaussians over scales that are integrated over [scale-mixture].
    Mixture,
    /// Of a law whose total variation from the posterior is bounded [exact-draws].
    Tv {
        /// The bound.
        bound: f64,
        /// The probability that it holds.
        confidence: f64,
        /// Whether that rests on a curvature that somebody declared.
        declared: bool,
    },
}

impl Law {
    /// The word that every store, table and file says.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gaussian => "gaussian",
            Self::Psis => "psis",
            Self::Exact { .. } => "exact",
            Self::Mixture => "mixture",
            Self::Tv { .. } => "tv",
        }
    }

    /// What is proved of the total variation between this law and the posterior; `gaussian` is what is proved of q's.
    pub fn total_variation(self, gaussian: Option<f64>) -> Option<f64> {
        match self {
            Self::Gaussian => gaussian,
            Self::Psis | Self::Mixture => None,
            Self::Exact { rounding, .. } => Some(rounding),
            Self::Tv { bound, .. } => Some(bound),
        }
    }

    /// A sentence for whoever reads the store; `certified` tells whether anything is proved about the Gaussian.
    pub fn note(self, certified: bool) -> String {
        match self {
            Self::Gaussian if certified => "independent draws of the certified Gaussian".to_owned(),
            Self::Gaussian => {
                "independent draws of the fitted Gaussian, about which nothing is proved".to_owned()
            }
            Self::Psis => "Pareto smoothed importance resampling: not covered by the certificate".to_owned(),
            Self::Exact { declared, .. } => {
                format!("independent draws of the posterior itself, by rejection{}", if_right(declared))
            }
            Self::Mixture => {
                "independent draws of a mixture of Gaussians over the scales, with the scales of each draw"
                    .to_owned()
            }
            Self::Tv { bound: tv, confidence, declared } => format!(
                "independent draws whose law is within {} of the posterior in total variation, with probability {confidence}{}",
                bound(tv, 2),
                if_right(declared)
            ),
        }
    }
}

/// What draws rest on.
fn if_right(declared: bool) -> &'static str {
    if declared { ", if the declared curvature is right" } else { "" }
}

/// Draws, one per row, chain after chain.
#[derive(Debug)]
pub struct Sampled {
    /// Names of the columns.
    pub names: Vec<String>,
    /// One draw per row.
    pub points: Matrix,
    /// Number of chains, a divisor of the number of draws.
    pub chains: usize,
    /// The seed of the draws.
    pub seed: Seed,
    /// log q at each draw; empty for a mixture over scales.
    pub log_q: Vec<f64>,
    /// log p(z, x) at each draw, with every constant; `None` without data.
    pub log_joint: Option<Vec<f64>>,
    /// log p(y_n | draw) of every row n of the data: a row for each draw. `None` without data, or if they are too many to be kept.
    pub log_likelihood: Option<Matrix>,
    /// The same draws on the scale of a Stan model, with their names.
    pub constrained: Option<(Vec<String>, Matrix)>,
    /// The scales of each draw with their labels, if they are integrated over.
    pub scales: Option<(Vec<String>, Matrix)>,
    /// k̂ of the weights by which they were resampled; `None` for others.
    pub resampled: Option<f64>,
    /// What they are draws of.
    pub law: Law,
}

impl Sampled {
    /// Draws of q, with their log joint density if the target is available and finite.
    pub fn of_gaussian(
        q: &AnyGaussian,
        names: &[String],
        target: Option<Evaluator<'_>>,
        count: usize,
        seed: Seed,
    ) -> Result<Self> {
        let points = q.sample(count, seed);
        let log_q = log_densities(|z| q.log_density(z), &points)?;
        let log_joint = match (q, target) {
            (AnyGaussian::Dense(q), Some(target)) => Some(log_joint(target, q, &points, &log_q)?),
            _ => None,
        };
        let chains = chains(count);
        Ok(Self {
            names: names.to_vec(),
            points,
            chains,
            seed,
            log_q,
            log_joint,
            log_likelihood: None,
            constrained: None,
            scales: None,
            resampled: None,
            law: Law::Gaussian,
        })
    }

    /// Draws of a mixture over scales, with the scales of each.
    pub fn of_mixture(mixture: &ScaleMixture, file: &FitFile, count: usize, seed: Seed) -> Self {
        let [points, scales] = mixture.sample(count, seed);
        let labels = file.mixture.iter().flat_map(|record| &record.scales).map(|s| s.name.clone()).collect();
        Self {
            names: file.names.clone(),
            chains: chains(points.rows()),
            points,
            seed,
            log_q: Vec::new(),
            log_joint: None,
            log_likelihood: None,
            constrained: None,
            scales: Some((labels, scales)),
            resampled: None,
            law: Law::Mixture,
        }
    }

    /// Draws of the posterior that were made before, with both of their log densities.
    pub fn of_posterior(
        q: &Gaussian,
        target: Evaluator<'_>,
        points: Matrix,
        law: Law,
        seed: Seed,
    ) -> Result<Self> {
        let log_q = log_densities(|z| q.log_density(z), &points)?;
        let log_joint = Some(log_joint(target, q, &points, &log_q)?);
        let (names, chains) = (target.target().names(), chains(points.rows()));
        Ok(Self {
            names,
            points,
            chains,
            seed,
            log_q,
            log_joint,
            log_likelihood: None,
            constrained: None,
            scales: None,
            resampled: None,
            law,
        })
    }

    /// The draws of a mixture that a fit leaves in its folder.
    pub fn of_scales(mixture: &ScaleMixture, file: &FitFile, seed: Seed) -> Self {
        let [chains, draws] = usual_draws(mixture.dim());
        Self::of_mixture(mixture, file, chains * draws, seed)
    }

    /// The draws that a fit leaves in its folder. If the target is not finite at some draws, the log joint density
    /// is left out.
    pub fn of_fit(q: &AnyGaussian, target: Evaluator<'_>, seed: Seed) -> Result<Self> {
        let [chains, draws] = usual_draws(q.dim());
        let count = chains * draws;
        let names = target.target().names();
        Self::of_gaussian(q, &names, Some(target), count, seed)
            .or_else(|_| Self::of_gaussian(q, &names, None, count, seed))
    }

    /// The same if each few hundred draws would need a pass over files: the draws alone.
    pub fn of_files(q: &AnyGaussian, names: &[String], seed: Seed) -> Result<Self> {
        let [chains, draws] = usual_draws(q.dim());
        Self::of_gaussian(q, names, None, chains * draws, seed)
    }

    /// Draws resampled in proportion to their Pareto smoothed importance weights, from a larger number of draws of
    /// q.
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
        if !force {
            refuse_heavy_tail(&estimates)?;
        }
        let raw = ratios.clone();
        psis(&mut ratios)?;
        let chosen = resample(&ratios, count, seed)?;
        let entries = chosen.iter().flat_map(|&k| all.row(k).iter().copied()).collect();
        let points = Matrix::new(count, q.dim(), entries)?;
        let log_q = log_densities(|z| q.log_density(z), &points)?;
        let log_joint = chosen.iter().zip(&log_q).map(|(&k, log_q)| raw[k] + log_q).collect();
        Ok(Self {
            names: target.target().names(),
            points,
            chains: chains(count),
            seed,
            log_q,
            log_joint: Some(log_joint),
            log_likelihood: None,
            constrained: None,
            scales: None,
            resampled: Some(estimates.pareto_k),
            law: Law::Psis,
        })
    }

    /// Adds the log likelihood of every row, if its rows are in memory and there are at most `most` numbers; the draws stay as they are if that fails.
    pub fn add_log_likelihood(&mut self, target: &ModelTarget, fit: &Fitted, most: usize) -> Result<()> {
        if let Some(glm) = target.glm().filter(|glm| self.keeps(glm.design().rows(), most)) {
            let scales = self.scales.as_ref();
            let families = scales.and_then(|(_, scales)| fit.families_of(glm.family(), scales));
            self.keep(glm.log_likelihoods(&self.points, families.as_deref())?);
        }
        Ok(())
    }

    /// The same for a family beyond one log-concave function of one predictor.
    pub fn add_log_likelihood_of(&mut self, regression: &Regression, most: usize) -> Result<()> {
        if self.keeps(regression.design().rows(), most) {
            self.keep(regression.log_likelihoods(&self.points)?);
        }
        Ok(())
    }

    fn keeps(&self, rows: usize, most: usize) -> bool {
        self.points.rows().saturating_mul(rows) <= most
    }

    fn keep(&mut self, found: Matrix) {
        self.log_likelihood = Some(found).filter(|found| found.entries().iter().all(|x| x.is_finite()));
    }

    /// log p(z, x) − log q(z), for draws of q.
    pub fn log_weights(&self) -> Option<Vec<f64>> {
        let joint = self.log_joint.as_ref().filter(|_| self.law == Law::Gaussian)?;
        Some(joint.iter().zip(&self.log_q).map(|(p, q)| p - q).collect())
    }
}

/// Refuses weights whose tail is too heavy for resampling, unless they keep most draws all the same.
pub fn refuse_heavy_tail(found: &Estimates) -> Result<()> {
    match found.reliability().allows_weights() {
        true => Ok(()),
        false => {
            let Estimates { pareto_k, effective_draws: effective, draws, .. } = *found;
            Err(Error::HeavyTail { pareto_k, effective, draws })
        }
    }
}

/// Refuses more draws than memory allows, with `copies` of each number and, if they are resampled, the draws from
/// which they are taken.
pub fn refuse_many(q: &AnyGaussian, count: usize, copies: usize, resampled: bool) -> Result<()> {
    // The draw, log q, log p and a weight.
    let one = 8 * (q.dim() as u128 + 3);
    let pool = if resampled { (POOL as u128 * count as u128).max(LEAST_POOL as u128) } else { 0 };
    let what = || format!("{count} draws of {} coefficients", q.dim());
    refuse_beyond(what, one * (copies as u128 * count as u128 + pool))
}

/// Default numbers of chains and of draws per chain.
pub fn usual_draws(dim: usize) -> [usize; 2] {
    [CHAINS, (MOST_NUMBERS / (CHAINS * dim.max(1))).clamp(1, DRAWS)]
}

fn log_densities(log_q: impl Fn(&[f64]) -> provi::Result<f64>, points: &Matrix) -> Result<Vec<f64>> {
    let density = |k| {
        provi::stop::check()?;
        log_q(points.row(k))
    };
    (0..points.rows()).map(|k| Ok(density(k)?)).collect()
}

/// log p(z, x) at points where log q is known.
fn log_joint(target: Evaluator<'_>, q: &Gaussian, points: &Matrix, log_q: &[f64]) -> Result<Vec<f64>> {
    let ratios = log_ratios(target, q, points)?;
    Ok(ratios.iter().zip(log_q).map(|(ratio, log_q)| ratio + log_q).collect())
}

/// The usual number of chains if it divides the number of draws, else one.
fn chains(count: usize) -> usize {
    if count.is_multiple_of(CHAINS) { CHAINS } else { 1 }
}

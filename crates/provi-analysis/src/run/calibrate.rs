//! Simulation-based calibration: a posterior is right on average over the prior if the truth's rank among its draws is uniform.
//!
//! ```text
//! θ ~ prior,   y ~ p(y | θ),   θ_1, …, θ_L ~ posterior given y:   #{l : f(θ_l) < f(θ)} is uniform on {0, …, L}
//! ```
//! for any function f of parameters and data (Talts, Betancourt, Simpson, Vehtari and Gelman 2018), here every coefficient, every scale that is
//! integrated over, and the log likelihood.

mod regression;

use std::ops::ControlFlow;
use std::path::Path;

use provi::scales::FreeScales;
use provi::solve::Solver;
use provi::target::{Evaluator, Family, Glm};
use provi::{Gaussian, Matrix, Seed, Target};
use rayon::prelude::*;
use serde::Serialize;

use super::posterior::PosteriorDraws;
use super::simulation::{Simulation, Truth};
use crate::error::{Error, Result};
use crate::model::{Data, Integrating, Model, RegressionModel, Scale, parse};
use crate::options::ModelOptions;
use crate::record::scale::family_with;
pub use regression::calibrate_regression;

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CalibrateAsked {
    /// Number of simulated data sets.
    pub simulations: usize,
    /// Posterior draws for each of them, among which the truth is ranked.
    pub draws: usize,
    /// Probability of a false alarm, over all quantities together.
    pub level: f64,
    /// The seed of everything.
    pub seed: Seed,
}

impl Default for CalibrateAsked {
    fn default() -> Self {
        Self { simulations: 200, draws: 99, level: 0.01, seed: Seed(0) }
    }
}

impl CalibrateAsked {
    /// The fewest simulations that say anything.
    pub const LEAST_SIMULATIONS: usize = 20;

    /// Refuses numbers out of range.
    pub fn check(&self) -> Result<()> {
        let out = |what, value: f64, needed| Err(provi::Error::OutOfRange { what, value, needed }.into());
        if self.simulations < Self::LEAST_SIMULATIONS {
            return out("simulations", self.simulations as f64, "at least 20");
        }
        if !(9..=9999).contains(&self.draws) {
            return out("draws", self.draws as f64, "between 9 and 9999");
        }
        if !(self.level > 0.0 && self.level < 1.0) {
            return out("level", self.level, "between 0 and 1");
        }
        Ok(())
    }
}

/// What posterior draws were draws of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DrawnFrom {
    /// The posterior itself, by rejection.
    Exact,
    /// The fitted Gaussian: exact draws would cost too much.
    Gaussian,
    /// The mixture of Gaussians over scales that are integrated over.
    Mixture,
    /// Draws of the Gaussian of a search and of a wide Student's law around it, resampled towards the posterior by Pareto smoothed weights.
    Weighted,
}

/// The ranks of one quantity.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QuantityRanks {
    /// The coefficient, the scale, or `log likelihood`.
    pub name: String,
    /// A rank for each simulation, from 0 to the number of draws.
    pub ranks: Vec<u32>,
    /// Where its ECDF leaves the band, if it does.
    pub outside: Option<Outside>,
}

/// The point at which an ECDF is farthest outside its band.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outside {
    /// The share of ranks that should lie below.
    pub expected: f64,
    /// The share that does.
    pub found: f64,
    /// What the shape of the ranks says, in words.
    pub meaning: String,
}

/// The band of the ECDF at one point.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BandPoint {
    /// Ranks below this one are counted.
    pub rank: u32,
    /// The probability of such a rank.
    pub expected: f64,
    /// The fewest of them within the band.
    pub low: usize,
    /// The most.
    pub high: usize,
}

/// Ranks, and whether they are uniform.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Calibration {
    /// Simulations asked for.
    pub asked: usize,
    /// Simulations made, failures included.
    pub made: usize,
    /// How many of them gave no ranks, and the first few reasons.
    pub failed: usize,
    /// How many gave none because the weights of their draws have too heavy a tail. That depends on the data and on the draws, so the ranks of
    /// the others are uniform only nearly.
    pub refused: usize,
    /// The first few reasons, each with the number of its simulation.
    pub failures: Vec<String>,
    /// Posterior draws in each.
    pub draws: usize,
    /// The seed.
    pub seed: u64,
    /// Probability of a false alarm over all quantities, at most.
    pub level: f64,
    /// What the draws were draws of, and how many times.
    pub drawn_from: Vec<(DrawnFrom, usize)>,
    /// The band, the same for every quantity.
    pub band: Vec<BandPoint>,
    /// The ranks.
    pub quantities: Vec<QuantityRanks>,
}

impl Calibration {
    /// Whether no quantity leaves the band, no simulation failed, and few gave no ranks.
    pub fn is_uniform(&self) -> bool {
        self.failed == 0 && !self.is_thin() && self.quantities.iter().all(|one| one.outside.is_none())
    }

    /// Whether the ranks are too few to stand for all simulations: none, or more than one in ten has heavy weights.
    pub fn is_thin(&self) -> bool {
        self.ranked() == 0 || ONE_IN * self.refused > self.made
    }

    /// Simulations that gave ranks.
    pub fn ranked(&self) -> usize {
        self.made - self.failed - self.refused
    }

    /// Whether it was stopped before its end.
    pub fn is_stopped(&self) -> bool {
        self.made < self.asked
    }
}

/// The most coefficients of groups that are ranked besides those of the population.
const MOST_EFFECTS: usize = 20;
/// Simulations without ranks that are too many: one in so many.
const ONE_IN: usize = 10;
/// The most reasons of failures that are kept.
const MOST_REASONS: usize = 5;
/// The points at which the ECDF is compared, at most.
const POINTS: u32 = 20;

/// How the posterior of simulated data is found and drawn from.
pub(super) type Fit<'a> = dyn Fn(&Glm, &Truth, usize, Seed) -> Result<Drawn> + Sync + 'a;

/// Draws of a posterior.
pub(super) struct Drawn {
    /// Coefficients, one draw per row.
    pub(super) points: Matrix,
    /// The scales that are integrated over, one draw per row, and those of the truth; `None` if there are none.
    pub(super) scales: Option<(Matrix, Vec<f64>)>,
    pub(super) from: DrawnFrom,
}

/// A model to be calibrated, of either kind.
#[derive(Debug)]
pub enum Subject {
    /// One log-concave function of one predictor.
    Model(Box<Model>),
    /// Any other.
    Regression(Box<RegressionModel>),
}

impl Subject {
    /// From a file; `-` is standard input.
    pub fn read(path: &Path, formula: &str, options: &ModelOptions) -> Result<Self> {
        match RegressionModel::asked(&parse(formula)?, options) {
            None => Ok(Self::Model(Box::new(Model::read(path, formula, options)?))),
            Some(_) => Self::build(
                &Data::read(path).map_err(|error| Error::table(error, formula))?,
                formula,
                options,
            ),
        }
    }

    /// From data in memory.
    pub fn build(data: &Data, formula: &str, options: &ModelOptions) -> Result<Self> {
        Ok(match RegressionModel::asked(&parse(formula)?, options) {
            None => Self::Model(Box::new(Model::build(data, formula, options, None)?)),
            Some(_) => Self::Regression(Box::new(RegressionModel::build(data, formula, options)?)),
        })
    }

    /// The formula.
    pub fn formula(&self) -> &str {
        match self {
            Self::Model(model) => &model.formula,
            Self::Regression(model) => &model.record().formula,
        }
    }

    /// The name of the family.
    pub fn family(&self) -> &str {
        match self {
            Self::Model(model) => model.family.name(),
            Self::Regression(model) => &model.record().family,
        }
    }

    /// The prior, in words.
    pub fn prior_lines(&self) -> Vec<String> {
        match self {
            Self::Model(model) => model.prior_lines(),
            Self::Regression(model) => model.record().prior.clone(),
        }
    }

    /// [`calibrate`] or [`calibrate_regression`].
    pub fn calibrate(
        &self,
        asked: &CalibrateAsked,
        told: &mut dyn FnMut(usize, usize) -> ControlFlow<()>,
    ) -> Result<Calibration> {
        match self {
            Self::Model(model) => calibrate(model, asked, told),
            Self::Regression(model) => calibrate_regression(model, asked, told),
        }
    }
}

/// Calibrates a model at the design of its own data. The default prior is that of the table, and does not change with simulated responses.
/// `told` is called with the number of simulations made so far, and may end it: what was made is kept. The result is the same for any number of
/// threads.
pub fn calibrate(
    model: &Model,
    asked: &CalibrateAsked,
    told: &mut dyn FnMut(usize, usize) -> ControlFlow<()>,
) -> Result<Calibration> {
    let simulation = Simulation::new(model, "simulation-based calibration", asked.seed)?;
    let fit = |glm: &Glm, truth: &Truth, draws: usize, seed: Seed| match simulation.integrating {
        None => known(glm, draws, seed),
        Some(how) => integrated(glm, how, truth, draws, seed),
    };
    ranked(model, &simulation, asked, &fit, told)
}

/// Draws of the posterior itself.
fn exact<'t>(target: impl Into<Evaluator<'t>>, q: &Gaussian, draws: usize, seed: Seed) -> Result<Matrix> {
    let points = PosteriorDraws::of_target(target, q, None, seed)?.draw(draws)?;
    match points.rows() == draws {
        true => Ok(points),
        false => Err(provi::Error::Stopped { during: "the simulations" }.into()),
    }
}

/// The posterior at known scales: exact draws, or those of the best Gaussian if exact ones cost too much.
fn known(glm: &Glm, draws: usize, seed: Seed) -> Result<Drawn> {
    let q: Gaussian = Solver::default().run(glm)?.gaussian;
    match exact(glm, &q, draws, seed) {
        Ok(points) => Ok(Drawn { points, scales: None, from: DrawnFrom::Exact }),
        Err(Error::Library(
            provi::Error::ExactDrawsCost { .. } | provi::Error::ExactDrawsRounding { .. },
        )) => Ok(Drawn { points: q.sample(draws, seed), scales: None, from: DrawnFrom::Gaussian }),
        Err(error) => Err(error),
    }
}

/// The mixture over scales, begun as a fit begins: from the scales of the largest ELBO of these data.
fn integrated(glm: &Glm, how: &Integrating, truth: &Truth, draws: usize, seed: Seed) -> Result<Drawn> {
    let search = FreeScales { correlated: Vec::new(), ..how.free.clone() };
    let found = search.maximise(glm)?;
    let mut free = how.free.clone();
    for ((set, sd), vanishing) in free.shared.iter_mut().zip(&found.shared).zip(&found.vanishing) {
        if !vanishing {
            set.1 = *sd;
        }
    }
    free.noise_sd = free.noise_sd.and(found.noise_sd).or(free.noise_sd);
    free.gaps = found.gaps;
    let mixture = free.integrate(&found.model, &how.how)?;
    let [points, scales] = mixture.sample(draws, seed);
    let own = mixture.scales_at(&truth.log_scales);
    Ok(Drawn { points, scales: Some((scales, own)), from: DrawnFrom::Mixture })
}

/// The family at values of the free scales, in the order of the library.
type FamilyAt<'a> = dyn Fn(&[f64]) -> Family + Sync + 'a;

/// The ranks of every quantity under a way to fit.
pub(super) fn ranked(
    model: &Model,
    simulation: &Simulation<'_>,
    asked: &CalibrateAsked,
    fit: &Fit<'_>,
    told: &mut dyn FnMut(usize, usize) -> ControlFlow<()>,
) -> Result<Calibration> {
    if simulation.glm.weights().is_some() {
        return Err(Error::WeightedSimulation);
    }
    let dim = simulation.glm.dim();
    let coefficients = if dim - model.population <= MOST_EFFECTS { dim } else { model.population };
    let mut names: Vec<String> = simulation.glm.names()[..coefficients].to_vec();
    names.extend(
        simulation.integrating.iter().flat_map(|how| how.labels(&model.scales)).map(|(name, _)| name),
    );
    names.push("log likelihood".to_owned());
    let open = |how: &&Integrating| how.free.noise_sd.is_some() || !how.free.gaps.is_empty();
    let integrating = simulation.integrating.filter(open);
    // The family with the noise and the gaps among these values of the free scales.
    let (scales, family) = (&model.scales, simulation.glm.family());
    let family_at = |values: &[f64]| {
        let place = |scale: &Scale| {
            let order = integrating.map(|how| &how.order)?;
            order.iter().position(|&i| scales[i].name == scale.name)
        };
        let value = |scale: &Scale| place(scale).map_or(scale.sd, |place| values[place]);
        family_with(family, scales, &value)
    };
    let family_at: Option<&FamilyAt<'_>> = integrating.map(|_| &family_at as _);
    let one = |number: u64| -> Result<(Vec<u32>, DrawnFrom)> {
        let truth = simulation.truth(number)?;
        let glm = simulation.replicated(&truth, number)?;
        let drawn = fit(&glm, &truth, asked.draws, asked.seed.part(number))?;
        let ranks = ranks(&glm, &truth, &drawn, coefficients, family_at)?;
        Ok((ranks, drawn.from))
    };
    repeated(names, asked, &one, told)
}

/// The ranks of one simulation, and what they are among.
type One<'a> = dyn Fn(u64) -> Result<(Vec<u32>, DrawnFrom)> + Sync + 'a;

/// All simulations, and whether their ranks are uniform.
fn repeated(
    names: Vec<String>,
    asked: &CalibrateAsked,
    one: &One<'_>,
    told: &mut dyn FnMut(usize, usize) -> ControlFlow<()>,
) -> Result<Calibration> {
    asked.check()?;
    let mut found: Vec<Result<(Vec<u32>, DrawnFrom)>> = Vec::with_capacity(asked.simulations);
    let wave = rayon::current_num_threads().max(1);
    // Each simulation answers the stop that this thread was given.
    let here = provi::stop::Carried::from_here();
    let is_cut_off = |one: &Result<_>| matches!(one, Err(Error::Library(provi::Error::Stopped { .. })));
    while found.len() < asked.simulations {
        let last = (found.len() + wave).min(asked.simulations);
        let numbers: Vec<u64> = (found.len() as u64..last as u64).collect();
        let made: Vec<_> = numbers.into_par_iter().map(|number| here.within(|| one(number))).collect();
        // What was cut off is no simulation, and neither is what came after it.
        let whole = made.iter().position(is_cut_off).unwrap_or(made.len());
        let cut_off = whole < made.len();
        found.extend(made.into_iter().take(whole));
        if cut_off {
            break;
        }
        if told(found.len(), asked.simulations).is_break() {
            break;
        }
    }
    let made = found.len();
    let (mut failures, mut refused) = (Vec::new(), 0);
    let mut drawn_from: Vec<(DrawnFrom, usize)> = Vec::new();
    let mut all: Vec<Vec<u32>> = vec![Vec::with_capacity(made); names.len()];
    for (number, result) in found.into_iter().enumerate() {
        match result {
            Err(Error::HeavyTail { .. }) => refused += 1,
            Err(error) => failures.push(format!("simulation {number}: {error}")),
            Ok((ranks, from)) => {
                all.iter_mut().zip(ranks).for_each(|(all, rank)| all.push(rank));
                match drawn_from.iter_mut().find(|(other, _)| *other == from) {
                    Some((_, count)) => *count += 1,
                    None => drawn_from.push((from, 1)),
                }
            }
        }
    }
    drawn_from.sort();
    let failed = failures.len();
    failures.truncate(MOST_REASONS);
    let band = band(made - failed - refused, asked.draws as u32, names.len(), asked.level);
    let quantity = |(name, ranks): (String, Vec<u32>)| QuantityRanks {
        outside: outside(&ranks, &band, asked.draws as u32),
        name,
        ranks,
    };
    Ok(Calibration {
        asked: asked.simulations,
        made,
        failed,
        refused,
        failures,
        draws: asked.draws,
        seed: asked.seed.0,
        level: asked.level,
        drawn_from,
        quantities: names.into_iter().zip(all).map(quantity).collect(),
        band,
    })
}

/// The rank of the truth among the draws, for each quantity.
fn ranks(
    glm: &Glm,
    truth: &Truth,
    drawn: &Drawn,
    coefficients: usize,
    family_at: Option<&FamilyAt<'_>>,
) -> Result<Vec<u32>> {
    let count = drawn.points.rows();
    let mut out = coordinate_ranks(&truth.point, &drawn.points, coefficients);
    let mut families = None;
    if let Some((scales, own)) = &drawn.scales {
        out.extend(coordinate_ranks(own, scales, own.len()));
        families = family_at.map(|at| {
            let draws = (0..count).map(|k| at(scales.row(k)));
            draws.chain([at(own)]).collect::<Vec<Family>>()
        });
    }
    let points = with_last(&drawn.points, &truth.point)?;
    out.push(log_likelihood_rank(&glm.log_likelihoods(&points, families.as_deref())?)?);
    Ok(out)
}

/// How many draws are below the truth, for each of the first coordinates.
fn coordinate_ranks(truth: &[f64], draws: &Matrix, coordinates: usize) -> Vec<u32> {
    let below = |j: usize| (0..draws.rows()).filter(|&k| draws.row(k)[j] < truth[j]).count() as u32;
    (0..coordinates).map(below).collect()
}

/// The draws with the truth behind them.
fn with_last(draws: &Matrix, truth: &[f64]) -> Result<Matrix> {
    let mut entries = draws.entries().to_vec();
    entries.extend(truth);
    Ok(Matrix::new(draws.rows() + 1, truth.len(), entries)?)
}

/// The rank of the truth, the last row, by the sum of its row.
fn log_likelihood_rank(logs: &Matrix) -> Result<u32> {
    let sum = |k: usize| logs.row(k).iter().sum::<f64>();
    let count = logs.rows() - 1;
    let own = sum(count);
    if !own.is_finite() {
        return Err(provi::Error::Empty { what: "log likelihood of the truth (it is not finite)" }.into());
    }
    Ok((0..count).filter(|&k| sum(k) < own).count() as u32)
}

/// A simultaneous band of the ECDF of uniform ranks: at each point the count below is binomial, and each of its tails beyond the band has at
/// most the level divided by twice the number of points and quantities. By the union bound a false alarm anywhere has at most that level.
pub(super) fn band(count: usize, draws: u32, quantities: usize, level: f64) -> Vec<BandPoint> {
    let points = POINTS.min(draws + 1);
    let tail = level / (2.0 * f64::from(points - 1) * quantities.max(1) as f64);
    let ranks = (1..points).map(|j| (u64::from(j) * u64::from(draws + 1) / u64::from(points)) as u32);
    let point = |rank: u32| {
        let expected = f64::from(rank) / f64::from(draws + 1);
        let [low, high] = binomial_band(count, expected, tail);
        BandPoint { rank, expected, low, high }
    };
    ranks.map(point).collect()
}

/// The least and the largest count outside of which each tail of Binomial(n, p) has at most this probability.
fn binomial_band(count: usize, p: f64, tail: f64) -> [usize; 2] {
    let (n, odds) = (count as f64, (p / (1.0 - p)).ln());
    let mut logs = Vec::with_capacity(count + 1);
    let mut log = n * (-p).ln_1p();
    for k in 0..=count {
        logs.push(log);
        log += odds + ((n - k as f64) / (k as f64 + 1.0)).ln();
    }
    let (mut low, mut below) = (0, 0.0);
    while low < count && below + logs[low].exp() <= tail {
        below += logs[low].exp();
        low += 1;
    }
    let (mut high, mut above) = (count, 0.0);
    while high > low && above + logs[high].exp() <= tail {
        above += logs[high].exp();
        high -= 1;
    }
    [low, high]
}

/// Where the ECDF of the ranks is farthest outside the band, in standard deviations.
fn outside(ranks: &[u32], band: &[BandPoint], draws: u32) -> Option<Outside> {
    let n = ranks.len() as f64;
    let far = |point: &BandPoint| {
        let found = ranks.iter().filter(|rank| **rank < point.rank).count();
        let is_out = found < point.low || found > point.high;
        let share = found as f64 / n;
        let distance = (share - point.expected).abs() / (point.expected * (1.0 - point.expected)).sqrt();
        is_out.then_some((distance, point.expected, share))
    };
    let worst = band.iter().filter_map(far).max_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(Outside { expected: worst.1, found: worst.2, meaning: meaning(ranks, draws).to_owned() })
}

/// What the shape of ranks that are not uniform says. The mean of uniform ranks u = (rank + ½)/(L + 1) is ½, and that of (u − ½)² is 1/12.
fn meaning(ranks: &[u32], draws: u32) -> &'static str {
    let n = ranks.len() as f64;
    let u = |rank: &u32| (f64::from(*rank) + 0.5) / f64::from(draws + 1) - 0.5;
    let shift = ranks.iter().map(u).sum::<f64>() / n * (12.0 * n).sqrt();
    // The variance of (u − ½)² is 1/180.
    let spread = (ranks.iter().map(|r| u(r).powi(2)).sum::<f64>() / n - 1.0 / 12.0) * (180.0 * n).sqrt();
    match (shift.abs() > spread.abs(), shift > 0.0, spread > 0.0) {
        (true, true, _) => "draws lie below the truth too often",
        (true, false, _) => "draws lie above the truth too often",
        (false, _, true) => "draws are too narrow: the truth is too often beyond them",
        (false, _, false) => "draws are too wide: the truth is too often in their middle",
    }
}

#[cfg(test)]
mod tests;

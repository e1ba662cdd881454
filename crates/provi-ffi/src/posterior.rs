//! The posterior on the scale of the model's own parameters, estimated from draws.

use crate::{Include, Result, StanModel};
use provi::estimate::{Estimates, psis, weighted_draws};
use provi::{Gaussian, Matrix, Seed};

/// Means, standard deviations and intervals of constrained quantities; estimates, not bounds.
///
/// The map from the unconstrained space is not linear, so these are averages over draws of the Gaussian, mapped to
/// the constrained scale. If importance weights can be trusted (a small k̂, or most draws kept), they are used: the averages are then
/// nearer to the posterior than the Gaussian is.
#[derive(Clone, Debug, PartialEq)]
pub struct Posterior {
    /// The names of the quantities.
    pub names: Vec<String>,
    /// Their means.
    pub mean: Vec<f64>,
    /// Their standard deviations.
    pub sd: Vec<f64>,
    /// Lower ends of central intervals of the level asked for.
    pub lower: Vec<f64>,
    /// Upper ends of these intervals.
    pub upper: Vec<f64>,
    /// k̂ of the weights.
    pub pareto_k: f64,
    /// Whether the weights were used.
    pub weighted: bool,
    /// Number of draws of the Gaussian.
    pub draws: usize,
}

impl Posterior {
    /// From this many draws of `q`; a pure function of the seed.
    pub fn measure(
        model: &StanModel,
        q: &Gaussian,
        include: Include,
        draws: usize,
        level: f64,
        seed: Seed,
    ) -> Result<Self> {
        let (points, mut weights) = weighted_draws(model, q, seed, draws)?;
        let weighted = Estimates::from_log_ratios(&weights)?.reliability().allows_weights();
        let pareto_k = psis(&mut weights)?;
        let top = weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        weights.iter_mut().for_each(|w| *w = if weighted { (*w - top).exp() } else { 1.0 });
        let total: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|w| *w /= total);
        let table = model.constrain(&points, include, seed.0 as u32)?;
        let names = model.constrained_names(include)?;
        let mut out = Self {
            names,
            mean: Vec::new(),
            sd: Vec::new(),
            lower: Vec::new(),
            upper: Vec::new(),
            pareto_k,
            weighted,
            draws,
        };
        for j in 0..table.columns() {
            let column = Column::new(&table, j, &weights);
            out.mean.push(column.mean);
            out.sd.push(column.sd);
            out.lower.push(column.quantile(0.5 - 0.5 * level));
            out.upper.push(column.quantile(0.5 + 0.5 * level));
        }
        Ok(out)
    }
}

/// One quantity: its values in order, with their weights.
struct Column {
    values: Vec<(f64, f64)>,
    mean: f64,
    sd: f64,
}

impl Column {
    fn new(table: &Matrix, j: usize, weights: &[f64]) -> Self {
        let mut values: Vec<(f64, f64)> =
            weights.iter().enumerate().map(|(row, &w)| (table[(row, j)], w)).collect();
        let mean: f64 = values.iter().map(|(x, w)| w * x).sum();
        let variance: f64 = values.iter().map(|(x, w)| w * (x - mean) * (x - mean)).sum();
        values.sort_by(|a, b| a.0.total_cmp(&b.0));
        Self { values, mean, sd: variance.sqrt() }
    }

    /// The first value whose cumulative weight reaches `level`.
    fn quantile(&self, level: f64) -> f64 {
        let mut sum = 0.0;
        let reached = |&&(_, w): &&(f64, f64)| {
            sum += w;
            sum >= level
        };
        self.values.iter().find(reached).or(self.values.last()).map_or(f64::NAN, |x| x.0)
    }
}

//! Answers of location-scale families with another base law than the normal one.

use std::time::Instant;

use provi::auto::Choice;
use provi::estimate::{Estimates, USUAL_DRAWS, log_ratios_under};
use provi::estimator::Kind;
use provi::fit::Watch;
use provi::method::{Guard, Recipe, Space};
use provi::scalar::Probability;
use provi::target::Evaluator;
use provi::{BaseLaw, LocationScale, Matrix, Method, Seed, Target};

use super::problem::Problem;
use super::recording;
use super::{Aim, covered};
use crate::capacity::refuse_beyond;
use crate::error::{Error, Result};
use crate::options::{RunOptions, Size};
use crate::record::located::{LOCATED, LocatedFile};

/// Draws behind intervals, at most,
const MARGINAL_DRAWS: usize = 20_000;
/// as long as there are no more numbers than this; and at least
const MOST_NUMBERS: usize = 1 << 22;
const FEWEST_DRAWS: usize = 1000;
/// The fewest of them that an interval leaves out on either side.
const FEWEST_BEYOND: f64 = 10.0;

/// An answer q = law of m + Cu, and its record \[base-law\].
///
/// A type of its own beside [`Fitted`](crate::Fitted): no certificate speaks of such a q.
#[derive(Clone, Debug)]
pub struct Located {
    /// Its record.
    pub file: LocatedFile,
    /// The answer.
    pub q: LocationScale,
}

/// One coefficient under q.
#[derive(Clone, Debug, PartialEq)]
pub struct Marginal {
    /// Its name.
    pub name: String,
    /// Its mean.
    pub mean: f64,
    /// Its standard deviation.
    pub sd: f64,
    /// The central interval, from draws of q.
    pub interval: [f64; 2],
    /// The share of these draws that are positive.
    pub positive: f64,
}

impl Located {
    /// From its record.
    pub fn of(file: LocatedFile) -> Result<Self> {
        if file.schema != LOCATED {
            return Err(Error::NotLocated { found: file.schema });
        }
        let law: BaseLaw = file.base_law.parse()?;
        let d = file.mean.len();
        let right = [file.names.len(), file.sd.len(), file.factor.len()].iter().all(|len| *len == d);
        if !right || file.factor.iter().enumerate().any(|(i, row)| row.len() != i + 1) {
            return Err(Error::NotLocated { found: "names, mean and factor of different sizes".to_owned() });
        }
        let q = LocationScale::new(law, &file.mean, &file.factor.concat())?;
        Ok(Self { file, q })
    }

    /// Draws of q, one per row; a pure function of the seed. Refused if memory does not suffice.
    pub fn sample(&self, count: usize, seed: Seed) -> Result<Matrix> {
        let d = self.q.dim();
        refuse_beyond(|| format!("{count} draws of {d} coefficients"), 16 * count as u128 * d as u128)?;
        Ok(self.q.sample(count, seed))
    }

    /// How many draws [`Located::marginals`] uses.
    pub fn marginal_draws(&self) -> usize {
        (MOST_NUMBERS / self.q.dim().max(1)).clamp(FEWEST_DRAWS, MARGINAL_DRAWS)
    }

    /// Every coefficient, with central intervals of probability `level`. Means and standard deviations are exact; a coordinate of q is a sum of
    /// independent variables that are not normal, so that its quantiles come from draws.
    pub fn marginals(&self, level: f64) -> Result<Vec<Marginal>> {
        let level = Probability::new("level", level).map_err(Error::Option)?.get();
        if 0.5 * (1.0 - level) * (self.marginal_draws() as f64) < FEWEST_BEYOND {
            let needed = "smaller: quantiles come from draws, and too few lie beyond such an interval";
            return Err(Error::Option(provi::Error::OutOfRange { what: "level", value: level, needed }));
        }
        let points = self.sample(self.marginal_draws(), Seed(self.file.seed))?;
        let mut column = vec![0.0; points.rows()];
        let mut one = |(i, name): (usize, &String)| {
            column.iter_mut().enumerate().for_each(|(k, x)| *x = points.row(k)[i]);
            column.sort_by(f64::total_cmp);
            let at = |p: f64| quantile(&column, p);
            Marginal {
                name: name.clone(),
                mean: self.file.mean[i],
                sd: self.file.sd[i],
                interval: [at(0.5 * (1.0 - level)), at(0.5 * (1.0 + level))],
                positive: column.iter().filter(|x| **x > 0.0).count() as f64 / column.len() as f64,
            }
        };
        Ok(self.file.names.iter().enumerate().map(&mut one).collect())
    }
}

/// The quantile of sorted values, between its two neighbours.
fn quantile(sorted: &[f64], p: f64) -> f64 {
    let place = p * (sorted.len() - 1) as f64;
    let below = place.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (place - below as f64) * (sorted[above] - sorted[below])
}

impl Problem<'_> {
    /// The best member of the family of a base law, sought by planned steps: a promise where there is a theorem \[base-law\], estimates from
    /// weighted draws, and no certificate. Options of the audit have no meaning here and are refused.
    pub fn locate(self, law: BaseLaw, options: &RunOptions, watch: &mut Watch<'_>) -> Result<Located> {
        let begin = Instant::now();
        let refuse = |why| Err(Error::Option(provi::Error::BaseLaw { law: law.to_string(), why }));
        let audit = &options.audit;
        if audit.accuracy.is_some() || audit.kl.is_some() || audit.table_accuracy.is_some() {
            return refuse(
                "nothing is certified of a q that is no Gaussian; leave out accuracy, kl and table-accuracy",
            );
        }
        let method = match options.method {
            Some(Choice::Planned(method)) => method,
            Some(Choice::Auto) => {
                return refuse(
                    "the method auto seeks a Gaussian; leave it out, or take prox-controlled or prox-energy",
                );
            }
            None => usual_method(options, self.target().target())?,
        };
        method.check_law(law)?;
        let smooth = is_smooth(self.target().target())?;
        if !smooth && !matches!(method, Method::Unproven(_)) {
            return refuse(
                "no upper bound of the curvature is known, so that no method has a theorem; leave out the method and the distance \
                 for steps that are called unproven",
            );
        }
        if !smooth && options.distance.is_some() {
            return refuse(
                "no upper bound of the curvature is known, so that no distance can be promised; give steps",
            );
        }
        let of_rows = self.glm().is_some() || self.regression_model().is_some();
        let heavy = !matches!(law, BaseLaw::Gaussian | BaseLaw::Uniform);
        if !smooth && of_rows && heavy {
            // E exp(s) is infinite under Student's t, and under the others where s is wide.
            return refuse(
                "−log p rises like an exponential of a predictor, whose mean under such tails may be infinite, and with it the KL; \
                 take the base law gaussian or uniform",
            );
        }
        let options = &RunOptions { method: Some(Choice::Planned(method)), ..options.clone() };
        let prepared = self.prepare(options)?;
        let (target, seed) = (prepared.target(), prepared.seed());
        let mut planner = options.step.planner(method)?.base_law(law);
        if let Some(start) = &options.search.start {
            planner = planner.start(start);
        }
        if let Some(Size(bytes)) = options.memory_budget {
            planner = planner.memory_budget(bytes);
        }
        watch.time_limit = match watch.time_limit {
            None => options.limit()?,
            limit => limit,
        };
        let plan = covered(watch, begin, || Aim::of(options).plan(target.target(), &planner))?;
        let fit = plan.run_location_scale_with(target, seed, watch)?;
        let weigh = || weigh(&fit.q, target, seed);
        let estimates = match watch.signal(begin) {
            Some(signal) => signal.during("the estimates", weigh),
            None => weigh(),
        };
        let estimates = estimates.map_err(|error| match error {
            Error::Option(provi::Error::BaseLaw { why, .. }) => why.to_owned(),
            error => error.to_string(),
        });
        let mut model = prepared.record().clone();
        if !smooth && heavy {
            model.warnings.push(UNKNOWN_TAILS.to_owned());
        }
        let rows = (0..fit.q.dim()).map(|i| fit.q.factor()[i * (i + 1) / 2..(i + 1) * (i + 2) / 2].to_vec());
        let file = LocatedFile {
            schema: LOCATED.to_owned(),
            provi: env!("CARGO_PKG_VERSION").to_owned(),
            model,
            base_law: law.to_string(),
            kurtosis: law.kurtosis(),
            names: fit.names,
            mean: fit.q.mean().to_vec(),
            sd: fit.q.standard_deviations(),
            factor: rows.collect(),
            neg_elbo: fit.neg_elbo.value,
            neg_elbo_error: fit.neg_elbo.error,
            entropy: fit.q.entropy(),
            method: fit.method,
            family_of_q: (!fit.pattern.is_full()).then(|| fit.pattern.to_string()),
            steps: fit.steps,
            stopped_early: fit.stopped_early,
            draws_per_step: fit.draws_per_step,
            coupling: fit.coupling.named_if_any().map(str::to_owned),
            subsample: fit.subsample,
            gradient_evaluations: fit.gradient_evaluations,
            seed: seed.0,
            seconds: fit.seconds,
            plan_bound: recording::bound(&fit.promise, plan.constants.as_ref()),
            estimates: recording::estimates(&estimates),
        };
        Ok(Located { file, q: fit.q })
    }
}

/// The method if none is named: with its control variate a plan needs the fewest steps. It has no bound for a subsample or a family of factors.
/// Without an upper bound of the curvature no method has a theorem, and the steps of prox-energy are called unproven.
fn usual_method(options: &RunOptions, target: &dyn Target) -> Result<Method> {
    let controlled = options.step.subsample.is_none() && options.step.pattern().is_full();
    Ok(match (is_smooth(target)?, controlled) {
        (true, true) => Method::ProxControlled,
        (true, false) => Method::ProxEnergy,
        (false, _) => Method::Unproven(Recipe::new(Kind::Energy, Guard::Prox, Space::Triangular)?),
    })
}

/// Whether an upper bound of the curvature is known.
fn is_smooth(target: &dyn Target) -> Result<bool> {
    Ok(target.curvature()?.is_some_and(|curvature| curvature.smoothness().is_some()))
}

/// Note about a density whose curvature has no known upper bound.
const UNKNOWN_TAILS: &str = "no upper bound of the curvature is known: if log p falls faster than the tails of this law allow, the ELBO is −∞, and its estimate and \
                             standard error mean nothing";

/// Estimates by weighted draws of q.
fn weigh(q: &LocationScale, target: Evaluator<'_>, seed: Seed) -> Result<Estimates> {
    if q.law() == BaseLaw::Uniform {
        // Weights see the posterior only where q has mass.
        let why = "a uniform q has no mass outside of its box, where weighted draws see nothing";
        return Err(Error::Option(provi::Error::BaseLaw { law: q.law().to_string(), why }));
    }
    let points = q.sample(USUAL_DRAWS, seed);
    let ratios = log_ratios_under(target, &points, |z| q.log_density(z))?;
    Ok(Estimates::from_log_ratios(&ratios)?)
}

#[cfg(test)]
mod tests;

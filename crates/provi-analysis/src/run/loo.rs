//! Leave-one-out cross-validation of a fit: which way, from which draws, and what is proved.

use std::str::FromStr;

use provi::estimate::weighted_draws;
use provi::loo::{self, BELIEVED, Loo, Refits, Smoothed, Waic};
use provi::scales::FreeScales;
use provi::target::{Family, Glm};
use provi::{Audit, Matrix, Provenance, Seed, Target};
use serde::Serialize;

use super::posterior::PosteriorDraws;
use super::sampled::Law;
use crate::capacity::refuse_beyond;
use crate::error::{Error, Result};
use crate::model::{Model, ModelTarget, Origin, RegressionModel, Scale};
use crate::number::grouped;
use crate::record::scale::family_with;
use crate::run::fitted::Fitted;

/// Multiply-adds that refits may take if nobody asked for them: ten seconds, about.
pub const MOST_WORK: f64 = 2e10;

/// How rows are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum LooMethod {
    /// Solve the model again without each row
    Refit,
    /// Pareto smoothed importance ratios of draws
    Psis,
}

impl FromStr for LooMethod {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match text {
            "refit" => Ok(Self::Refit),
            "psis" => Ok(Self::Psis),
            other => Err(format!("method = {other:?}; it is \"refit\" or \"psis\"")),
        }
    }
}

/// A question about leaving out rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LooAsked {
    /// The way; without it refits, if they take at most [`MOST_WORK`], and importance ratios otherwise.
    pub method: Option<LooMethod>,
    /// Whether every refit is audited, for bounds of elpd on both sides.
    pub certify: bool,
    /// Draws behind importance ratios and WAIC.
    pub draws: usize,
    /// Their seed, and that of the audits; the fit's own if none is given.
    pub seed: Option<u64>,
}

impl Default for LooAsked {
    fn default() -> Self {
        Self { method: None, certify: false, draws: 4000, seed: None }
    }
}

/// The rows of a fit's model, and the scales that are integrated over.
#[derive(Clone, Copy, Debug)]
pub struct LooRows<'a> {
    /// The model, with free scales at any values.
    pub glm: &'a Glm,
    /// The free scales.
    pub free: Option<&'a FreeScales>,
    /// Whether q has a sparse factor, so that nothing is refitted.
    pub sparse: bool,
    /// The line of the file that each row comes from; empty if they come from no file.
    pub lines: &'a [usize],
}

impl<'a> LooRows<'a> {
    /// Those of a model of a formula; refused if they are not in memory.
    pub fn of(model: &'a Model) -> Result<Self> {
        let glm = model.target.glm().ok_or(Error::LooNeedsRows)?;
        let sparse = matches!(model.target, ModelTarget::Sparse(_));
        Ok(Self { glm, free: model.integrating.as_ref().map(|how| &how.free), sparse, lines: &model.lines })
    }

    /// Draws and the family of each, from a mixture over scales or any Gaussian.
    fn drawn(&self, fit: &Fitted, count: usize, seed: Seed) -> Result<(Matrix, Option<Vec<Family>>, Law)> {
        if let Some(mixture) = &fit.mixture {
            let [points, scales] = mixture.sample(count, seed);
            return Ok((points, fit.families_of(self.glm.family(), &scales), Law::Mixture));
        }
        if !self.sparse {
            let q = fit.dense("leaving out rows")?;
            let exact = PosteriorDraws::of_target(self.glm, &q, None, seed).and_then(|mut draws| {
                let each = self.glm.data_size().1 as f64 * draws.proposals_bound();
                if each * count as f64 > MOST_WORK {
                    let (proposals, most) = (draws.proposals_bound(), 0.0);
                    return Err(provi::Error::ExactDrawsCost { proposals, most }.into());
                }
                let points = draws.draw(count)?;
                if points.rows() < count {
                    return Err(provi::Error::Stopped { during: "the draws" }.into());
                }
                Ok((points, None, draws.law()))
            });
            match exact {
                Err(Error::Library(
                    provi::Error::ExactDrawsCost { .. } | provi::Error::ExactDrawsRounding { .. },
                )) => {}
                found => return found,
            }
        }
        Ok((fit.gaussian.sample(count, seed), None, Law::Gaussian))
    }
}

/// The rows of a fit, left out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FittedLoo {
    /// refit or psis.
    pub method: &'static str,
    /// Why this way was taken.
    pub because: String,
    /// What the draws are draws of: exact, gaussian, weighted (a Gaussian's, weighted towards the posterior) or mixture; null for refits.
    pub draws_of: Option<&'static str>,
    /// How many there are.
    pub draws: usize,
    /// elpd_loo.
    pub elpd: loo::Total,
    /// p_loo.
    pub p_loo: loo::Total,
    /// Proved lower bound of the posterior's own elpd_loo.
    pub elpd_lower: Option<f64>,
    /// Proved upper bound of it.
    pub elpd_upper: Option<f64>,
    /// The probability with which the bounds hold, at least.
    pub confidence: Option<f64>,
    /// From the same draws; null for refits.
    pub waic: Option<Waic>,
    /// Rows whose k̂ is above 0.7 and that were refitted.
    pub replaced: usize,
    /// Those that could not be.
    pub doubtful: usize,
    /// Rows whose refit did not converge.
    pub unconverged: usize,
    /// Whether scales are integrated over.
    #[serde(skip)]
    pub integrated: bool,
    /// What the numbers are conditional on, as sentences.
    pub notes: Vec<String>,
    /// The rows in the order of the model.
    pub rows: Vec<loo::LeftOut>,
    /// A value of the predictive distribution function for each row, uniform if the model is right.
    pub pit: Vec<f64>,
    /// The line of the file that each row comes from (its first line is 1); empty if they come from no file.
    pub lines: Vec<usize>,
}

impl FittedLoo {
    /// The rows alone.
    pub fn loo(&self) -> Loo {
        Loo { rows: self.rows.clone() }
    }

    /// What the numbers are, as sentences.
    pub fn grounds(&self) -> Vec<String> {
        let mut out = Vec::new();
        match self.draws_of {
            None => out.push(format!(
                "elpd: the log density of each row under the best {} of the posterior without it, an estimate for the posterior",
                if self.integrated { "Gaussians, one for each value of the scales," } else { "Gaussian" }
            )),
            Some("exact") => out.push(format!(
                "elpd: an estimate from {} independent draws of the posterior itself, by Pareto smoothed importance ratios",
                grouped(self.draws as u64)
            )),
            Some(WEIGHTED) => out.push(format!(
                "elpd: an estimate from {} draws of the fitted Gaussian, weighted towards the posterior without the row by Pareto smoothed \
                 importance ratios",
                grouped(self.draws as u64)
            )),
            Some(other) => out.push(format!(
                "elpd: an estimate from {} draws of the fitted {}, by Pareto smoothed importance ratios; it is as far from the posterior's \
                 as those are",
                grouped(self.draws as u64),
                if other == "mixture" { "mixture over the scales" } else { "Gaussian" }
            )),
        }
        if self.replaced > 0 {
            out.push(format!(
                "{} had k̂ above {BELIEVED} and {} refitted",
                rows(self.replaced),
                if self.replaced == 1 { "was" } else { "were" }
            ));
        }
        if self.doubtful > 0 {
            out.push(format!(
                "{} with k̂ above {BELIEVED} that {} not refitted: do not rely on elpd_loo",
                rows(self.doubtful),
                if self.doubtful == 1 { "was" } else { "were" }
            ));
        }
        if self.unconverged > 0 {
            out.push(format!(
                "the refits without {} did not converge: their elpd is that of a Gaussian that is not the best one",
                rows(self.unconverged)
            ));
        }
        if let Some(waic) = self.waic.filter(|waic| waic.doubtful > 0) {
            out.push(format!(
                "{} with a variance of the log likelihood above {}: do not rely on WAIC",
                rows(waic.doubtful),
                loo::WAIC_BELIEVED
            ));
        }
        out.extend(self.notes.iter().cloned());
        out
    }
}

impl Fitted {
    /// The same fit with checks of rows that were predicted without themselves.
    pub fn with_left_out(&self, glm: &Glm, found: &FittedLoo, seed: u64) -> Result<Self> {
        let mut out = self.clone();
        if let Some(checks) = out.file.checks.take() {
            let ends: Vec<[f64; 2]> = found.rows.iter().map(|row| [row.below, row.up_to]).collect();
            out.file.checks = Some(checks.with_left_out(glm, &ends, Seed(seed))?);
        }
        Ok(out)
    }
}

impl Fitted {
    /// The same for a family beyond one log-concave function of one predictor.
    pub fn with_regression_left_out(
        &self,
        model: &RegressionModel,
        found: &FittedLoo,
        seed: u64,
    ) -> Result<Self> {
        let mut out = self.clone();
        if let Some(checks) = out.file.checks.take() {
            let ends: Vec<[f64; 2]> = found.rows.iter().map(|row| [row.below, row.up_to]).collect();
            out.file.checks = Some(checks.with_regression_left_out(model.regression(), &ends, Seed(seed))?);
        }
        Ok(out)
    }
}

fn rows(count: usize) -> String {
    format!("{} row{}", grouped(count as u64), if count == 1 { "" } else { "s" })
}

impl Fitted {
    /// The family at each draw of a mixture, if its noise or its gaps were drawn. The columns of `scales` are those that are integrated over,
    /// in the order of the library.
    pub fn families_of(&self, family: Family, scales: &Matrix) -> Option<Vec<Family>> {
        let all = &self.file.model.scales;
        let mut open: Vec<&Scale> = all.iter().filter(|scale| scale.origin == Origin::Integrated).collect();
        open.sort_by_key(|scale| scale.rank());
        if open.iter().all(|scale| scale.is_of_groups()) {
            return None;
        }
        let at = |k: usize| {
            let place = |scale: &Scale| open.iter().position(|other| other.name == scale.name);
            family_with(family, all, &|scale| place(scale).map_or(scale.sd, |place| scales.row(k)[place]))
        };
        Some((0..scales.rows()).map(at).collect())
    }

    /// Leaves out every row of the model that was fitted. `progress` is called with the rows done and their number.
    pub fn loo(
        &self,
        rows: LooRows<'_>,
        asked: &LooAsked,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<FittedLoo> {
        let count = rows.glm.design().rows();
        let nodes = self.mixture.as_ref().map_or(1, |mixture| mixture.nodes.len());
        let work = loo::work(rows.glm, count, nodes);
        let times = if nodes > 1 { format!(" at {nodes} values of the scales") } else { String::new() };
        let cost = format!("{} refits{times} take about {work:.0e} multiply-adds", grouped(count as u64));
        let wanted = asked.method.or(asked.certify.then_some(LooMethod::Refit));
        let (method, because) = match wanted {
            Some(_) if rows.sparse && wanted != Some(LooMethod::Psis) => {
                return Err(Error::SparseFactor { what: "a refit without a row".to_owned() });
            }
            Some(method) => (method, "asked for".to_owned()),
            None if rows.sparse => {
                (LooMethod::Psis, "a model with a sparse factor is not refitted".to_owned())
            }
            None if work <= MOST_WORK => (LooMethod::Refit, format!("{cost}, of {MOST_WORK:.0e} allowed")),
            None => (LooMethod::Psis, format!("{cost}, more than {MOST_WORK:.0e}")),
        };
        if asked.certify && method != LooMethod::Refit {
            return Err(Error::LooCertify);
        }
        if asked.certify {
            self.needs_known_scales("a bound of elpd")?;
        }
        let whole = match (&self.mixture, rows.free) {
            (Some(_), Some(_)) => None,
            (None, None) if rows.sparse => None,
            (None, None) => Some(loo::whole(rows.glm, &*self.dense("a refit without a row")?)?),
            _ => return Err(Error::LooOtherModel),
        };
        let seed = Seed(asked.seed.unwrap_or(self.file.seed));
        // Draws that no audit of the fit has seen.
        let audits = Seed(seed.0 ^ 0x006c_6f6f);
        let all: Vec<usize> = (0..count).collect();
        let mut failure = 0.0;
        let mut refitted = |which: &[usize]| -> Result<Vec<loo::LeftOut>> {
            let (of, before) = (which.len(), count - which.len());
            let mut told = |done: usize| progress(before + done, before + of);
            if let (Some(mixture), Some(free)) = (&self.mixture, rows.free) {
                return Ok(loo::refits_of_mixture(rows.glm, free, mixture, which, &mut told)?);
            }
            let Some(whole) = &whole else {
                return Err(Error::SparseFactor { what: "a refit without a row".to_owned() });
            };
            // What is proved rests on this model alone, not on the file of the fit.
            let audit = Audit::default();
            let audited = match method {
                LooMethod::Refit => Some(audit.run(rows.glm, whole, audits)?),
                LooMethod::Psis => None,
            };
            let evidence = audited.as_ref().map(|audited| &audited.certificate().evidence);
            let evidence = evidence.filter(|found| found.provenance() == Some(Provenance::Proved));
            failure = evidence.map_or(0.0, |found| 1.0 - found.confidence().unwrap_or(1.0))
                + if asked.certify { audit.failure_probability } else { 0.0 };
            let how = Refits { evidence, audit: asked.certify.then_some(&audit), seed: audits };
            Ok(loo::refits(rows.glm, whole, which, &how, &mut told)?)
        };
        let (mut found, waic, draws_of, draws, replaced) = match method {
            LooMethod::Refit => (refitted(&all)?, None, None, 0, 0),
            LooMethod::Psis => {
                if asked.draws < LEAST_DRAWS {
                    return Err(Error::LooDraws { draws: asked.draws, least: LEAST_DRAWS });
                }
                let what = || format!("{} draws of {} coefficients", asked.draws, self.gaussian.dim());
                refuse_beyond(what, 8 * 3 * asked.draws as u128 * self.gaussian.dim() as u128)?;
                let (points, noise, law) = rows.drawn(self, asked.draws, seed)?;
                let Smoothed { rows: mut found, waic, .. } =
                    Smoothed::of_draws(rows.glm, &points, noise.as_deref(), &mut |_| ())?;
                let doubted = |row: &loo::LeftOut| row.pareto_k.is_some_and(|k| k.is_nan() || k > BELIEVED);
                let worst: Vec<usize> = all.iter().copied().filter(|&n| doubted(&found[n])).collect();
                let mut replaced = 0;
                if !rows.sparse && !worst.is_empty() && loo::work(rows.glm, worst.len(), nodes) <= MOST_WORK {
                    for (&n, row) in worst.iter().zip(refitted(&worst)?) {
                        let mut row = row;
                        // The draws' own lpd, beside those of the other rows; and the k̂ that was doubted.
                        (row.lpd, row.pareto_k) = (found[n].lpd, found[n].pareto_k);
                        found[n] = row;
                    }
                    replaced = worst.len();
                }
                (found, Some(waic), Some(law.name()), points.rows(), replaced)
            }
        };
        if method == LooMethod::Psis {
            // Bounds of some rows are none of the sum.
            found.iter_mut().for_each(|row| (row.lower, row.upper) = (None, None));
        }
        if let Some(row) = found.iter().position(|row| !row.elpd.is_finite()) {
            return Err(Error::LooNotFinite { row: row + 1, line: rows.lines.get(row).copied() });
        }
        let loo = Loo { rows: found };
        let [elpd_lower, elpd_upper] = loo.bounds();
        let proved = elpd_lower.or(elpd_upper).is_some();
        let mut notes = Vec::new();
        if self.file.model.scales.iter().any(|scale| scale.origin == Origin::Maximised) {
            notes.push(
                "scales stay at their estimates, which the row that is left out helped to find".to_owned(),
            );
        }
        Ok(FittedLoo {
            method: if method == LooMethod::Refit { "refit" } else { "psis" },
            because,
            draws_of,
            draws,
            elpd: loo.elpd(),
            p_loo: loo.p_loo(),
            elpd_lower,
            elpd_upper,
            confidence: proved.then_some(1.0 - failure),
            waic,
            replaced,
            integrated: self.mixture.is_some(),
            notes,
            doubtful: loo.doubtful(),
            unconverged: loo.unconverged(),
            lines: rows.lines.to_vec(),
            pit: loo.pit(seed),
            rows: loo.rows,
        })
    }
}

impl Fitted {
    /// The same for a family beyond one log-concave function of one predictor: by importance ratios of draws of the fitted Gaussian, which are
    /// weighted towards the posterior too.
    pub fn loo_of_regression(
        &self,
        model: &RegressionModel,
        asked: &LooAsked,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<FittedLoo> {
        if asked.certify || asked.method == Some(LooMethod::Refit) {
            self.needs_one_predictor("leaving out rows by refits")?;
        }
        if asked.draws < LEAST_DRAWS {
            return Err(Error::LooDraws { draws: asked.draws, least: LEAST_DRAWS });
        }
        let (rows, count) = (model.regression(), model.regression().design().rows());
        let what = || format!("{} draws of {} coefficients", asked.draws, self.gaussian.dim());
        refuse_beyond(what, 8 * 3 * asked.draws as u128 * self.gaussian.dim() as u128)?;
        let seed = Seed(asked.seed.unwrap_or(self.file.seed));
        let q = self.dense("leaving out rows")?;
        let (points, ratios) = weighted_draws(model.target(), &q, seed, asked.draws)?;
        let mut told = |done: usize| progress(done, count);
        let Smoothed { rows: found, waic, .. } =
            Smoothed::of_weighted_draws(rows, &points, &ratios, &mut told)?;
        if let Some(row) = found.iter().position(|row| !row.elpd.is_finite()) {
            return Err(Error::LooNotFinite { row: row + 1, line: model.lines().get(row).copied() });
        }
        let loo = Loo { rows: found };
        Ok(FittedLoo {
            method: "psis",
            because: format!("rows of family {} are not refitted", rows.likelihood().name()),
            draws_of: Some(WEIGHTED),
            draws: points.rows(),
            elpd: loo.elpd(),
            p_loo: loo.p_loo(),
            elpd_lower: None,
            elpd_upper: None,
            confidence: None,
            waic: Some(waic),
            replaced: 0,
            integrated: false,
            notes: Vec::new(),
            doubtful: loo.doubtful(),
            unconverged: 0,
            lines: model.lines().to_vec(),
            pit: loo.pit(seed),
            rows: loo.rows,
        })
    }
}

/// Draws of a Gaussian with weights towards the posterior.
const WEIGHTED: &str = "weighted";

/// Fewer draws have no tail to which a distribution could be fitted.
const LEAST_DRAWS: usize = 100;

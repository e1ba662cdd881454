//! Rows left out one at a time: the model is solved again without each.

use super::LeftOut;
use crate::auto::scales::{FreeScales, ScaleMixture};
use crate::auto::solve::{Solution, Solver, Stop};
use crate::base::chunked::{self, Chunks};
use crate::base::draws::Seed;
use crate::base::error::{Error, Result};
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::special::log_sum_exp;
use crate::base::stop;
use crate::certify::audit::Audit;
use crate::certify::certificate::Interval;
use crate::glm::Glm;
use crate::glm::sparse::NormalLaw;
use crate::target::curvature::Provenance;
use std::ops::ControlFlow;

/// What the work is called if it is stopped.
const DURING: &str = "leaving out one row after the other";
/// Rows between two calls of `progress`.
const WAVE: usize = 64;
/// Iterations that a refit takes, about, with its line searches and its curvature.
const PASSES: usize = 8;
/// Multiply-adds that the expectations of a row cost beside its d²/2.
const ROW: usize = 64;

/// How rows are left out.
#[derive(Clone, Copy, Debug, Default)]
pub struct Refits<'a> {
    /// What is proved of the log evidence of the model with all its rows: bounds of each elpd_i follow, with the probability that this
    /// holds.
    pub evidence: Option<&'a Interval>,
    /// Audits every refit for the other side of the bounds; all refits share its δ.
    pub audit: Option<&'a Audit>,
    /// The seed of the audits.
    pub seed: Seed,
}

/// Multiply-adds that it takes to leave out so many rows, about.
pub fn work(model: &Glm, rows: usize, nodes: usize) -> f64 {
    let (n, d) = (model.design().rows(), model.design().columns());
    let entries = model.design().entries() as f64;
    let pass = entries * (0.5 * d as f64 + 1.0) + (n * ROW) as f64 + (d * d * d) as f64;
    rows as f64 * nodes as f64 * PASSES as f64 * pass
}

/// Leaves out these rows of a model whose best Gaussian is q. `progress` is called with the number of rows done so far.
///
/// The same bits for any number of threads. Stopped work ([`crate::stop`]) returns [`Error::Stopped`].
///
/// ```
/// use provi::{Design, loo::{Refits, refits}, solve::Solver, target::{Glm, Prior}};
///
/// let design = Design::dense(4, 1, &[1.0, 1.0, 1.0, 1.0])?;
/// let model = Glm::linear(design, &[0.1, 0.2, 0.4, 9.0], 1.0, Prior::scale(10.0)?)?;
/// let q = Solver::default().run(&model)?.gaussian;
/// let found = refits(&model, &q, &[0, 3], &Refits::default(), &mut |_| ())?;
/// assert!(found[1].elpd < found[0].elpd - 10.0 && found[1].up_to > 0.999);     // the last row is far off
/// # Ok::<(), provi::Error>(())
/// ```
pub fn refits(
    model: &Glm,
    q: &Gaussian<Triangular>,
    rows: &[usize],
    how: &Refits<'_>,
    progress: &mut dyn FnMut(usize),
) -> Result<Vec<LeftOut>> {
    check(model, rows)?;
    check_dim(model, q.dim())?;
    let audit = how.audit.map(|audit| Audit {
        // They share δ, so that all of them hold together.
        failure_probability: audit.failure_probability / rows.len().max(1) as f64,
        ..*audit
    });
    let means = model.rows.all_predictors(q.mean());
    let variances = q.row_variances(model.design())?;
    let one = |row: usize| -> Result<LeftOut> {
        let law = model.rows.likelihood_of(row);
        let lpd = law.log_predictive(means[row], variances[row].sqrt());
        if law.is_void() {
            let [below, up_to] = law.mean_cumulative(means[row], variances[row].sqrt());
            let (lower, upper) = (Some(0.0), Some(0.0));
            return Ok(LeftOut {
                elpd: 0.0,
                lpd,
                lower,
                upper,
                below,
                up_to,
                pareto_k: None,
                refitted: true,
                converged: true,
            });
        }
        let found = solved(model, q, row)?;
        let proved = match &audit {
            Some(audit) => {
                let audited = audit.run(&found.model, &found.q, how.seed)?;
                let evidence = &audited.certificate().evidence;
                match evidence.provenance() {
                    Some(Provenance::Proved) => [evidence.lower(), evidence.upper()],
                    _ => [found.evidence_lower, None],
                }
            }
            None => [found.evidence_lower, None],
        };
        let [lower, upper] = bounds(how.evidence, proved);
        let (elpd, [below, up_to]) = found.predicted(model, row)?;
        let converged = found.converged;
        Ok(LeftOut { elpd, lpd, lower, upper, below, up_to, pareto_k: None, refitted: true, converged })
    };
    each(model, rows, 1, one, progress)
}

/// The same for a model whose scales are integrated over: at every node of the mixture, which keeps its place. `model` has the scales that
/// are free at any values.
pub fn refits_of_mixture(
    model: &Glm,
    free: &FreeScales,
    mixture: &ScaleMixture,
    rows: &[usize],
    progress: &mut dyn FnMut(usize),
) -> Result<Vec<LeftOut>> {
    check(model, rows)?;
    struct Node {
        log_weight: f64,
        model: Glm,
        q: Gaussian<Triangular>,
        means: Vec<f64>,
        variances: Vec<f64>,
    }
    let mut nodes = Vec::new();
    for node in mixture.nodes.iter().filter(|node| node.weight > 0.0) {
        let model = free.model_at(model, &node.log_scales)?;
        let q = node.gaussian.to_dense()?.into_owned();
        check_dim(&model, q.dim())?;
        let (means, variances) = (model.rows.all_predictors(q.mean()), q.row_variances(model.design())?);
        nodes.push(Node { log_weight: node.weight.ln(), model, q, means, variances });
    }
    let one = |row: usize| -> Result<LeftOut> {
        let (mut with, mut without, mut cumulative) = (Vec::new(), Vec::new(), Vec::new());
        let mut converged = true;
        for node in &nodes {
            let law = node.model.rows.likelihood_of(row);
            let lpd = law.log_predictive(node.means[row], node.variances[row].sqrt());
            let (elpd, up_to) = match law.is_void() {
                true => (0.0, law.mean_cumulative(node.means[row], node.variances[row].sqrt())),
                false => {
                    let found = solved(&node.model, &node.q, row)?;
                    converged &= found.converged;
                    found.predicted(&node.model, row)?
                }
            };
            with.push(node.log_weight + lpd);
            without.push(node.log_weight - elpd);
            cumulative.push(up_to);
        }
        let total = log_sum_exp(&without);
        let mean = |side: usize| -> f64 {
            without.iter().zip(&cumulative).map(|(log, p)| (log - total).exp() * p[side]).sum()
        };
        Ok(LeftOut {
            elpd: -total,
            lpd: log_sum_exp(&with),
            lower: None,
            upper: None,
            below: mean(0),
            up_to: mean(1),
            pareto_k: None,
            refitted: true,
            converged,
        })
    };
    each(model, rows, nodes.len(), one, progress)
}

fn check(model: &Glm, rows: &[usize]) -> Result<()> {
    let length = model.design().rows();
    match rows.iter().find(|&&row| row >= length) {
        Some(&index) => Err(Error::Index { what: "the rows of the model", index, length }),
        None => Ok(()),
    }
}

fn check_dim(model: &Glm, found: usize) -> Result<()> {
    match model.design().columns() {
        expected if expected == found => Ok(()),
        expected => Err(Error::Shape { what: "Gaussian", found, expected }),
    }
}

/// Does the work for each row, several at once, in their order.
fn each(
    model: &Glm,
    rows: &[usize],
    nodes: usize,
    one: impl Fn(usize) -> Result<LeftOut> + Sync,
    progress: &mut dyn FnMut(usize),
) -> Result<Vec<LeftOut>> {
    let mut out = Vec::with_capacity(rows.len());
    for wave in rows.chunks(WAVE) {
        let work = work(model, wave.len(), nodes).min(1e15) as usize;
        let chunks = Chunks { len: wave.len(), size: 1, work };
        let guarded = |row: usize| match stop::is_wanted() {
            true => Err(Error::Stopped { during: DURING }),
            false => one(row),
        };
        for part in chunked::map(chunks, |range| range.map(|i| guarded(wave[i])).collect::<Result<Vec<_>>>())
        {
            out.extend(part?);
        }
        progress(out.len());
    }
    Ok(out)
}

/// The model without a row, solved.
struct Solved {
    model: Glm,
    q: Gaussian<Triangular>,
    /// A proved lower bound of its log evidence: the ELBO.
    evidence_lower: Option<f64>,
    /// Whether it is the best one, as far as the arithmetic allows.
    converged: bool,
}

/// The best Gaussian of a model with all its rows, found from q: that of a fit, which may have another one, of a small family or
/// stopped early.
pub fn whole(model: &Glm, q: &Gaussian<Triangular>) -> Result<Gaussian<Triangular>> {
    check_dim(model, q.dim())?;
    best(model, q).map(|found| found.gaussian)
}

fn best(model: &Glm, q: &Gaussian<Triangular>) -> Result<Solution> {
    let found = Solver::default().run_from(model, q, &mut |_, _| match stop::is_wanted() {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    })?;
    match found.stop {
        Stop::Interrupted => Err(Error::Stopped { during: DURING }),
        _ => Ok(found),
    }
}

fn solved(model: &Glm, q: &Gaussian<Triangular>, row: usize) -> Result<Solved> {
    let without = model.without(row)?;
    let found = best(&without, q)?;
    let lower = -found.neg_elbo - found.neg_elbo_error;
    let evidence_lower = (found.neg_elbo_proved && lower.is_finite()).then_some(lower);
    let converged = matches!(found.stop, Stop::Reached | Stop::Stalled);
    Ok(Solved { model: without, q: found.gaussian, evidence_lower, converged })
}

impl Solved {
    /// elpd of the row, and P(new < y), P(new ≤ y).
    fn predicted(&self, whole: &Glm, row: usize) -> Result<(f64, [f64; 2])> {
        let mut mean = [0.0];
        whole.rows.predictors(row..row + 1, self.q.mean(), &mut mean);
        let variance = self.q.row_variances(&whole.design().select(&[row])?)?[0];
        let law = whole.rows.likelihood_of(row);
        Ok((law.log_predictive(mean[0], variance.sqrt()), law.mean_cumulative(mean[0], variance.sqrt())))
    }
}

/// L − U_{−i} and U − L_{−i}, rounded outwards.
fn bounds(whole: Option<&Interval>, [lower, upper]: [Option<f64>; 2]) -> [Option<f64>; 2] {
    let outwards = |a: f64, b: f64, sign: f64| a - b + sign * 2.0 * f64::EPSILON * (a.abs() + b.abs());
    let of =
        |a: Option<f64>, b: Option<f64>, sign: f64| Some(outwards(a?, b?, sign)).filter(|x| x.is_finite());
    [of(whole.and_then(Interval::lower), upper, -1.0), of(whole.and_then(Interval::upper), lower, 1.0)]
}

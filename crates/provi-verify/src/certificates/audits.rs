//! Audits from draws of answers whose true values are known, over a grid of data sizes and priors.

use super::posterior::{Hidden, Line};
use crate::algebra::form;
use crate::problems::normals;
use crate::space::objective;
use crate::statistics::Mean;
use provi::certificate::Statement;
use provi::draws::{Draws, Purpose};
use provi::mode::{find_mode, laplace};
use provi::solve::Solver;
use provi::target::{Evaluator, Family};
use provi::{Audit, Gaussian, Result, Seed, Target, Triangular};
use rayon::prelude::*;
use std::sync::OnceLock;

/// One number of a certificate, and its true value.
#[derive(Clone, Debug)]
pub(crate) struct Claim {
    /// The ledger key that proved it.
    pub(crate) key: String,
    /// Which data, prior and answer it is about.
    pub(crate) name: String,
    /// The bound.
    pub(crate) bound: f64,
    /// The true value, or an interval around it.
    pub(crate) truth: f64,
    /// Standard error of the true value, if it was sampled.
    pub(crate) error: f64,
}

/// Everything one audit claimed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Audited {
    /// N/d, prior sd.
    pub(crate) cell: (f64, f64),
    pub(crate) is_best: bool,
    pub(crate) gap: Vec<Claim>,
    pub(crate) kl: Vec<Claim>,
    pub(crate) tv: Vec<Claim>,
    /// The distances of log p(x) from the lower and from the upper end.
    pub(crate) evidence: Vec<Claim>,
    pub(crate) means: Vec<Claim>,
    pub(crate) deviations: Vec<Claim>,
}

/// N/d and the prior's standard deviation.
const GRID: [(usize, f64); 12] = [
    (10, 0.5),
    (10, 1.0),
    (10, 2.5),
    (30, 0.5),
    (30, 1.0),
    (30, 2.5),
    (100, 0.5),
    (100, 1.0),
    (100, 2.5),
    (1000, 0.5),
    (1000, 1.0),
    (1000, 2.5),
];

/// TV(q, p) = E_q(1 − p/q)_+, an average of numbers between 0 and 1.
fn total_variation(hidden: &Hidden, q: &Gaussian<Triangular>, draws: u64) -> Result<Mean> {
    let d = q.dim();
    let stream = Draws::new(Seed(31), Purpose::Estimate);
    let normaliser = q.log_det()? + 0.5 * d as f64 * (2.0 * std::f64::consts::PI).ln();
    let (mut u, mut z, mut gradient) = (vec![0.0; d], vec![0.0; d], vec![0.0; d]);
    let parts: Result<Vec<f64>> = (0..draws)
        .map(|t| {
            stream.fill(t, 0, &mut u);
            q.transport(&u, &mut z);
            let log_p = hidden.target.log_density(&z, &mut gradient)? - hidden.log_evidence;
            let log_q = -0.5 * crate::algebra::dot(&u, &u) - normaliser;
            Ok((1.0 - (log_p - log_q).exp()).max(0.0))
        })
        .collect();
    Ok(Mean::of(&parts?))
}

fn audit(
    hidden: &Hidden,
    q: &Gaussian<Triangular>,
    best: f64,
    name: &str,
    quick: bool,
    seed: u64,
) -> Result<Audited> {
    let audit = Audit { draws: if quick { 3_000 } else { 20_000 }, price: 0.1, ..Audit::default() };
    let audited = audit.run(Evaluator::Serial(&hidden.target), q, Seed(seed))?;
    let c = audited.certificate();
    let f = objective(&hidden.target, q)?;
    let kl = f + hidden.log_evidence;
    let mut out = Audited::default();
    // Bound, true value and error in the given unit.
    let claim_in = |unit: f64, statement: &Statement, truth: f64, error: f64| {
        let proved = statement.proof()?;
        let (key, bound) = (proved.key().to_owned(), proved.value() / unit);
        Some(Claim { key, name: name.to_owned(), bound, truth, error })
    };
    let claim = |statement: &Statement, truth: f64, error: f64| claim_in(1.0, statement, truth, error);
    out.gap.extend(claim(&c.gap, f - best, 0.0));
    out.kl.extend(claim(&c.kl, kl, 0.0));
    let variation = total_variation(hidden, q, if quick { 1_000 } else { 10_000 })?;
    out.tv.extend(claim(&c.tv, variation.value, variation.error));
    if let (Some(lower), Some(upper)) = (c.evidence.lower(), c.evidence.upper()) {
        let key = c.evidence.key().unwrap_or_default().to_owned();
        // The width of the interval, and the part of it that is needed: from its lower end to the true value.
        let width = upper - lower;
        let name = name.to_owned();
        out.evidence.push(Claim { key, name, bound: width, truth: hidden.log_evidence - lower, error: 0.0 });
    }
    let d = q.dim();
    let unit = |i: usize| (0..d).map(|j| f64::from(u8::from(i == j))).collect::<Vec<f64>>();
    for v in (0..d).map(unit).chain([normals(seed + 77, d)]) {
        let [mean, sd] = audited.functional(&v)?;
        let (true_mean, true_sd) = hidden.functional(&v);
        let own = form(&q.covariance(), &v, &v).sqrt();
        // In units of the deviation under q.
        let shift = (true_mean - crate::algebra::dot(&v, q.mean())).abs() / own;
        out.means.extend(claim_in(own, &mean, shift, 0.0));
        out.deviations.extend(claim_in(own, &sd, (true_sd / own - 1.0).abs(), 0.0));
    }
    Ok(out)
}

fn cell(i: usize, d: usize, family: Family, quick: bool) -> Result<Vec<Audited>> {
    let (rows, prior_sd) = GRID[i];
    let key = 30_000 + 100 * i as u64 + 10_000 * d as u64;
    let scale = if family == Family::Poisson { 0.4 } else { 1.0 };
    let lines: Vec<Line> =
        (0..d).map(|j| Line::random(family, key + 3 * j as u64, rows, prior_sd.powi(-2), scale)).collect();
    let hidden = Hidden::new(&lines, key + 99)?;
    let best = Solver::default().run(&hidden.target)?.gaussian;
    let f = objective(&hidden.target, &best)?;
    let mode = find_mode(&hidden.target, &vec![0.0; d])?;
    let laplace = laplace(&hidden.target, &mode)?.gaussian;
    let wide: Vec<f64> = best.factor().iter().map(|x| 1.2 * x).collect();
    let wide = Gaussian::<Triangular>::new(best.mean(), &wide)?;
    let answers = [("best", best), ("Laplace", laplace), ("wide", wide)];
    answers
        .iter()
        .enumerate()
        .map(|(k, (answer, q))| {
            let name = format!("{}, d = {d}, N/d = {rows}, prior sd {prior_sd}, {answer}", family.name());
            let mut found = audit(&hidden, q, f, &name, quick, key + k as u64)?;
            found.cell = (rows as f64, prior_sd);
            found.is_best = k == 0 && family == Family::Bernoulli;
            Ok(found)
        })
        .collect()
}

/// All audits, made once per process: they depend only on the effort.
pub(crate) fn audits(quick: bool) -> Result<&'static [Audited]> {
    static DONE: [OnceLock<Vec<Audited>>; 2] = [OnceLock::new(), OnceLock::new()];
    let cell_of = &DONE[usize::from(quick)];
    if let Some(found) = cell_of.get() {
        return Ok(found);
    }
    let mut jobs = Vec::new();
    for i in 0..GRID.len() {
        if quick && ![1, 4, 7].contains(&i) {
            continue;
        }
        let sizes: &[usize] = if quick { &[3] } else { &[2, 5] };
        for &d in sizes {
            jobs.push((i, d, Family::Bernoulli));
            if GRID[i].0 <= 100 && GRID[i].1 < 2.0 {
                jobs.push((i, d, Family::Poisson));
            }
        }
    }
    let found: Result<Vec<Vec<Audited>>> =
        jobs.into_par_iter().map(|(i, d, family)| cell(i, d, family, quick)).collect();
    let found = found?.concat();
    Ok(cell_of.get_or_init(|| found))
}

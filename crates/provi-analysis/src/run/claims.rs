//! Stored claims compared with recomputed ones.
//!
//! Every number of a fit.json that states something about the posterior is recomputed, and the file passes only if
//! each number is confirmed. A number that does not depend on draws must agree up to rounding. A bound from draws
//! passes if the bound from fresh draws is at most [`SAMPLED`] times as large: audits of the same fit differ by
//! chance, but not by more. What the file states about the run alone (seconds, steps, trace) is not a claim.

mod contrasts;
mod elbo;
mod estimates;
mod evidence;
mod mixture;
mod model;
mod moments;
mod promise;
mod sparse;

use provi::certificate::{Certificate, Statement};
use provi::sparse::AnyGaussian;
use provi::target::Evaluator;
use provi::{Audit, Gaussian, Pattern, Provenance, Seed};
use serde::Serialize;

use crate::error::{Error, Result};
use crate::model::RegressionModel;
use crate::number::bound;
use crate::options::AuditOptions;
use crate::record::fit_file::FitFile;
use crate::run::assessment::Assessment;
use crate::run::fitted::Fitted;
use crate::run::fresh_seed;
use crate::run::problem::Problem;

/// Relative tolerance for a number that does not depend on draws, besides what [`Rounding`] measures.
const RELATIVE: f64 = 1e-5;
/// Absolute tolerance for the other numbers, in nats.
const ABSOLUTE: f64 = 1e-12;
/// The same tolerance in standard deviations: √(2·KL).
const DEVIATIONS: f64 = 1.5e-6;

/// If both bounds come from draws, the recomputed one may be this many times the stored one.
///
/// An audit draws until the allowance for chance, c, is at most a fifth of √F, and the bound is (√F̂ + c)² \[confidence\].
/// At δ = 1e-6 the allowance is 5.3 deviations of √F̂, so that a deviation is at most 4 % of √F, and 7 % of the bound: the
/// difference of two audits has a deviation of 10 % at most, and a bound half as large again is five of these off. A stored
/// bound that is too small by more than that was not made by an audit of this fit.
pub const SAMPLED: f64 = 1.5;

/// The most draws that a file can ask for; more are made only if the caller says so.
const MOST_DRAWS: u64 = 10_000_000;

/// One claim of a file, and the recomputed value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Claim {
    /// What the claim is about.
    pub what: String,
    /// The claim.
    pub stored: String,
    /// The recomputed value.
    pub now: String,
    /// How the two compare.
    pub verdict: Verdict,
}

/// Whether a claim is confirmed. Later variants are worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Nothing was claimed.
    NotClaimed,
    /// A number that does not depend on draws is confirmed, or better.
    Reproduced,
    /// Other draws prove about the same.
    Agrees,
    /// The caller asked for fewer draws or another risk than the file was made with, and these prove less.
    Incomparable,
    /// It was claimed and not confirmed.
    NotReproduced,
    /// An estimate from fresh draws contradicts the claim by more than its error.
    Contradicted,
}

impl Verdict {
    /// The verdict in words.
    pub fn word(self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::Agrees => "agrees",
            Self::NotClaimed => "not claimed",
            Self::Incomparable => "NOT checked: fewer draws or another risk than the file's",
            Self::NotReproduced => "NOT reproduced",
            Self::Contradicted => "NOT reproduced: the estimate contradicts it",
        }
    }

    /// Whether the claim stands.
    pub fn stands(self) -> bool {
        self <= Self::Agrees
    }
}

/// The claims of a fit, recomputed independently.
#[derive(Clone, Debug)]
pub struct Rechecked {
    /// What is proved and estimated now.
    pub assessment: Assessment,
    /// Every claim of the fit, compared with it.
    pub claims: Vec<Claim>,
    /// The seed of the fresh draws.
    pub seed: Seed,
}

impl Rechecked {
    /// Whether no claim fails.
    pub fn is_reproduced(&self) -> bool {
        self.claims.iter().all(|claim| claim.verdict.stands())
    }
}

impl Problem<'_> {
    /// Audits a stored fit of this model again, with draws of a fresh seed unless one is given.
    pub fn recheck(&self, fitted: &Fitted, audit: &AuditOptions, seed: Option<u64>) -> Result<Rechecked> {
        let names = self.target().target().names();
        if names != fitted.names() {
            return Err(Error::OtherCoefficients { stored: fitted.names().to_vec(), given: names });
        }
        check(Some(&fitted.file), self, &fitted.gaussian, audit, seed)
    }
}

/// Most audits of one check.
const ATTEMPTS: u64 = 3;

/// Audits q, and compares every claim of the file with the result. Pilot draws choose the route and the ball, so
/// two audits of one fit may prove their bounds by different statements. If the first audit does not confirm a
/// claim, up to two more follow, with the next seeds; the file passes if all of its claims stand in one audit. What
/// each audit proves holds with its own probability 1 − δ, all three together with 1 − 3δ.
pub fn check(
    record: Option<&FitFile>,
    problem: &Problem<'_>,
    q: &AnyGaussian,
    audit: &AuditOptions,
    seed: Option<u64>,
) -> Result<Rechecked> {
    let (run, first) = terms(audit, seed, record)?;
    if let Some(model) = problem.integrated() {
        return mixture::check(record, problem, model, q, audit, &run, first);
    }
    if let Some(model) = problem.sparse() {
        return sparse::check(record, problem, model, q, first);
    }
    let q = &*q.to_dense()?;
    // The file stores a covariance, whose factor is that of a family up to rounding. A file that names a family of which its
    // Gaussian is not, or no family at all, has no such gap.
    let named = record.and_then(|record| record.family_of_q.as_ref()?.parse::<Pattern>().ok());
    let member = named.as_ref().and_then(|pattern| pattern.member(q).ok());
    let pattern = named.filter(|_| member.is_some()).unwrap_or_default();
    let q = member.as_ref().unwrap_or(q);
    let mut best: Option<(usize, Rechecked)> = None;
    for attempt in 0..ATTEMPTS {
        let seed = Seed(first.0.wrapping_add(attempt));
        let mut assessment = Assessment::measure(problem.target(), q, &pattern, seed, &run);
        if let Some(reason) = problem.regression_model().and_then(RegressionModel::why_nothing_is_proved) {
            // The same as before, with the reason that concerns this family.
            assessment.certificate = Certificate::nothing(&problem.target().target().names(), &reason);
        }
        let claims =
            record.map_or(Vec::new(), |record| compare(record, problem, q, &assessment, audit, seed));
        let failed = claims.iter().filter(|claim| !claim.verdict.stands()).count();
        if best.as_ref().is_none_or(|(least, _)| failed < *least) {
            best = Some((failed, Rechecked { assessment, claims, seed: first }));
        }
        if failed == 0 {
            break;
        }
    }
    best.map(|(_, found)| found).ok_or_else(|| provi::Error::Empty { what: "audit" }.into())
}

/// The audit that can judge a file: with the file's failure probability, at least its draws, and a fresh seed,
/// unless the caller says otherwise. A seed known beforehand would let the maker of a file tune it.
pub fn terms(audit: &AuditOptions, seed: Option<u64>, record: Option<&FitFile>) -> Result<(Audit, Seed)> {
    let seed = seed.map_or_else(fresh_seed, Seed);
    let asked = audit.audit()?;
    let Some(stored) = record.and_then(|record| record.certificate.as_ref()) else {
        return Ok((asked, seed));
    };
    let delta = stored.grounds.failure_probability;
    let audit = Audit {
        failure_probability: match audit.failure_probability {
            None if delta > 0.0 && delta < 1.0 => delta,
            _ => asked.failure_probability,
        },
        draws: match audit.audit_draws {
            None => asked.draws.max(stored.grounds.limit().min(MOST_DRAWS)),
            Some(draws) => draws,
        },
        ..asked
    };
    Ok((audit, seed))
}

/// Whether the caller asks for less than the file's own audit had. A bound that is not confirmed then refutes
/// nothing.
fn is_weaker(audit: &AuditOptions, stored: &Certificate) -> bool {
    let delta = stored.grounds.failure_probability;
    let other = |given: f64| (given - delta).abs() > RELATIVE * delta;
    audit.audit_draws.is_some_and(|draws| draws < stored.grounds.limit())
        || audit.failure_probability.is_some_and(other)
}

/// The effect of rounding on the gap: the file stores a covariance, whose factor is recomputed.
#[derive(Clone, Copy, Debug)]
struct Rounding {
    /// The effect on √gap, measured by going from factor to covariance and back once more.
    root: f64,
}

impl Rounding {
    fn measure(target: Evaluator<'_>, q: &Gaussian, now: &Certificate) -> Self {
        if !is_certain(&now.gap) {
            return Self { root: 0.0 };
        }
        // One draw: only the gap is needed, and it is exact.
        let audit = Audit { draws: 1, ..Audit::default() };
        let again =
            Gaussian::from_covariance(q.mean(), q.covariance()).and_then(|q| audit.run(target, &q, Seed(0)));
        let gaps = again.ok().and_then(|again| now.gap.bound().zip(again.certificate().gap.bound()));
        let root = |(a, b): (f64, f64)| 10.0 * (a.sqrt() - b.sqrt()).abs();
        Self { root: gaps.map_or(0.0, root).max(Self::of_family(target, q, now).map_or(0.0, root)) }
    }

    /// The gap within the family, before and after.
    fn of_family(target: Evaluator<'_>, q: &Gaussian, now: &Certificate) -> Option<(f64, f64)> {
        let family = now.family.as_ref()?;
        let pattern: Pattern = family.name.parse().ok()?;
        let again = Gaussian::from_covariance(q.mean(), q.covariance()).ok()?;
        let again = pattern.member(&again).ok()?;
        let audited = Audit { draws: 1, ..Audit::default() }.run(target, &again, Seed(0)).ok()?;
        let audited = audited.within(target.target(), &again, &pattern).ok()?;
        family.gap.bound().zip(audited.certificate().family.as_ref()?.gap.bound())
    }

    fn explains(self, old: f64, new: f64) -> bool {
        new.sqrt() <= old.max(0.0).sqrt() * (1.0 + RELATIVE) + self.root + 1e-12
    }
}

/// What is compared, and with what.
struct Comparison<'a> {
    record: &'a FitFile,
    problem: &'a Problem<'a>,
    q: &'a Gaussian,
    now: &'a Assessment,
    seed: Seed,
    rounding: Rounding,
    /// Whether the caller asked for less than the file's own audit had.
    weaker: bool,
}

/// Every claim of the file, compared with `now`, found for q by an audit with these options and this seed.
fn compare(
    record: &FitFile,
    problem: &Problem<'_>,
    q: &Gaussian,
    now: &Assessment,
    audit: &AuditOptions,
    seed: Seed,
) -> Vec<Claim> {
    let stored = record.certificate.as_ref();
    let comparison = Comparison {
        record,
        problem,
        q,
        now,
        seed,
        rounding: Rounding::measure(problem.target(), q, &now.certificate),
        weaker: stored.is_some_and(|stored| is_weaker(audit, stored)),
    };
    let mut claims = comparison.model();
    claims.extend(comparison.elbo());
    if let Some(stored) = stored {
        claims.extend(comparison.distances(stored));
        claims.extend(comparison.moments(stored));
        claims.extend(comparison.evidence(&stored.evidence));
    }
    claims.extend(comparison.moment_bounds());
    claims.extend(comparison.posterior());
    claims.extend(comparison.contrasts());
    claims.extend(comparison.promise());
    claims.extend(comparison.estimates());
    claims.extend(comparison.checks());
    claims
}

impl Comparison<'_> {
    /// Gap, KL and total variation; before them the gap within a family.
    fn distances(&self, stored: &Certificate) -> Vec<Claim> {
        let now = &self.now.certificate;
        let row = |what: &str, old: &Statement, new: &Statement, slack: f64| Claim {
            what: what.to_owned(),
            stored: shown(old.bound()),
            now: shown(new.bound()),
            verdict: self.judge(old, new, slack),
        };
        let mut kl = row("KL, nats", &stored.kl, &now.kl, ABSOLUTE);
        if let (Some(claimed), Some((estimate, error))) = (stored.kl.bound(), self.estimated_kl())
            && claimed < estimate - error - ABSOLUTE
        {
            kl.verdict = kl.verdict.max(Verdict::Contradicted);
            kl.now = format!("{}, estimated {}", kl.now, bound(estimate, 3));
        }
        let mut out = vec![
            row("gap, nats", &stored.gap, &now.gap, ABSOLUTE),
            kl,
            row("total variation", &stored.tv, &now.tv, DEVIATIONS),
        ];
        if let Some(family) = &stored.family {
            let none = Statement::NotProved { reason: String::new() };
            let found = now.family.as_ref().filter(|now| now.name == family.name);
            let now = found.map_or(&none, |now| &now.gap);
            out.insert(0, row(&format!("gap within {}, nats", family.name), &family.gap, now, ABSOLUTE));
        }
        out
    }

    /// Compares a claim with what is proved now; `slack` is the effect of rounding on a bound near 0.
    fn judge(&self, old: &Statement, new: &Statement, slack: f64) -> Verdict {
        let Some(claimed) = old.bound() else { return Verdict::NotClaimed };
        let Some(found) = new.bound() else { return Verdict::NotReproduced };
        let founded = !is_better_founded(old.provenance(), new.provenance());
        if !claimed.is_finite() || claimed < 0.0 || !founded {
            return Verdict::NotReproduced;
        }
        if is_surer(old.confidence(), new.confidence()) {
            return if is_certain(old) { Verdict::NotReproduced } else { self.missed() };
        }
        if is_certain(old) {
            let explained = self.rounding.explains(claimed, found);
            return if explained { Verdict::Reproduced } else { Verdict::NotReproduced };
        }
        if found <= SAMPLED * claimed + slack { Verdict::Agrees } else { self.missed() }
    }

    /// The verdict on a sampled claim that is not confirmed.
    fn missed(&self) -> Verdict {
        if self.weaker { Verdict::Incomparable } else { Verdict::NotReproduced }
    }
}

fn is_certain(s: &Statement) -> bool {
    s.confidence().is_some_and(|c| c >= 1.0)
}

/// Whether a claim states a higher probability than was found. A claim without a probability counts as higher.
fn is_surer(old: Option<f64>, new: Option<f64>) -> bool {
    match (old, new) {
        (Some(old), Some(new)) => old.is_nan() || 1.0 - old < (1.0 - new) * (1.0 - 1e-3) - 1e-15,
        _ => true,
    }
}

/// Whether a claim states a better origin of its constants than was found. A claim without an origin counts as
/// better.
fn is_better_founded(old: Option<Provenance>, new: Option<Provenance>) -> bool {
    match (old, new) {
        (Some(old), Some(new)) => old < new,
        _ => true,
    }
}

fn shown(x: Option<f64>) -> String {
    x.map_or("–".to_owned(), |x| if x >= 0.0 { format!("≤ {}", bound(x, 3)) } else { format!("≤ {x}") })
}

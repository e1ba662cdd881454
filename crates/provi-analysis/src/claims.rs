//! Stored claims held against recomputed ones.

use provi::certificate::{Certificate, Interval, Statement};
use provi::estimator::Evaluator;
use provi::expectation::Moments;
use provi::{Audit, Gaussian, Provenance, Seed};
use serde::Serialize;

use crate::error::{Error, Result};
use crate::fit_file::FitFile;
use crate::fitted::Fitted;
use crate::fresh::fresh_seed;
use crate::options::AuditOptions;
use crate::subject::Subject;
use crate::words::number::bound;
use crate::worth::Worth;

/// What rounding may do to a number that no draw touches, beside what [`Rounding`] measures.
const RELATIVE: f64 = 1e-5;
/// And to the others, in nats.
const ABSOLUTE: f64 = 1e-12;
/// Sampled bounds of the same thing from other draws: one twice the other is not chance.
const SAMPLED: f64 = 2.0;

/// One claim of a file, beside what was found now.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Claim {
    /// What is claimed something about.
    pub what: String,
    /// The claim.
    pub stored: String,
    /// What comes out now.
    pub now: String,
    /// How they go together.
    pub verdict: Verdict,
}

/// Whether a claim comes out again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// A number that draws do not touch comes out the same, or better.
    Reproduced,
    /// Other draws prove much the same.
    Agrees,
    /// Nothing was claimed.
    NotClaimed,
    /// Fewer draws, or less risk, than the file was made with prove less.
    Incomparable,
    /// It was claimed and does not come out.
    NotReproduced,
}

impl Verdict {
    /// For people.
    pub fn word(self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::Agrees => "agrees",
            Self::NotClaimed => "not claimed",
            Self::Incomparable => "not comparable: fewer draws or less risk",
            Self::NotReproduced => "NOT reproduced",
        }
    }
}

/// The claims of a fit, found out again by somebody who did not make it.
#[derive(Clone, Debug)]
pub struct Rechecked {
    /// What is proved and estimated now.
    pub worth: Worth,
    /// Every claim of the fit beside it.
    pub claims: Vec<Claim>,
    /// The seed of the fresh draws.
    pub seed: Seed,
}

impl Rechecked {
    /// No claim fails?
    pub fn is_reproduced(&self) -> bool {
        self.claims.iter().all(|claim| claim.verdict != Verdict::NotReproduced)
    }
}

impl Subject<'_> {
    /// Audits a kept fit of this very model anew, with draws of a fresh seed unless one is given.
    pub fn recheck(&self, fitted: &Fitted, audit: &AuditOptions, seed: Option<u64>) -> Result<Rechecked> {
        let (target, names) = (self.target(), self.target().target().names());
        if names != fitted.names() {
            return Err(Error::OtherCoefficients { stored: fitted.names().to_vec(), given: names });
        }
        let (audit, seed) = terms(audit, seed, Some(&fitted.file))?;
        let worth = Worth::measure(target, &fitted.gaussian, seed, &audit);
        let claims = compare(&fitted.file, target, &fitted.gaussian, &worth.certificate);
        Ok(Rechecked { worth, claims, seed })
    }
}

/// The audit that can judge a file: with the failure probability and at least the draws of its own, and a fresh seed,
/// unless somebody says otherwise. A seed that the maker of a file could know would let the file be tuned to it.
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
            None => asked.draws.max(stored.grounds.draws),
            Some(draws) => draws,
        },
        ..asked
    };
    Ok((audit, seed))
}

/// What the gap owes to rounding: the file holds a covariance, whose factor is computed anew.
#[derive(Clone, Copy, Debug)]
struct Rounding {
    /// Of √gap, measured by going from factor to covariance and back once more.
    root: f64,
}

impl Rounding {
    fn measure(target: Evaluator<'_>, q: &Gaussian, now: &Certificate) -> Self {
        if !is_certain(&now.gap) {
            return Self { root: 0.0 };
        }
        // One draw: only the gap is wanted, and that is exact.
        let audit = Audit { draws: 1, ..Audit::default() };
        let again =
            Gaussian::from_covariance(q.mean(), q.covariance()).and_then(|q| audit.run(target, &q, Seed(0)));
        let gaps = again.ok().and_then(|again| now.gap.bound.zip(again.certificate.gap.bound));
        Self { root: gaps.map_or(0.0, |(a, b)| 10.0 * (a.sqrt() - b.sqrt()).abs()) }
    }

    fn explains(self, old: f64, new: f64) -> bool {
        new.sqrt() <= old.max(0.0).sqrt() * (1.0 + RELATIVE) + self.root + 1e-12
    }
}

/// Every claim of the file.
pub fn compare(record: &FitFile, target: Evaluator<'_>, q: &Gaussian, now: &Certificate) -> Vec<Claim> {
    let rounding = Rounding::measure(target, q, now);
    let mut claims: Vec<Claim> = neg_elbo(record, target, q).into_iter().collect();
    let Some(stored) = &record.certificate else { return claims };
    let (old, new) = (&stored.grounds, &now.grounds);
    // Comparable where the audit had at least the file's means: a cap that cut it short shows in its draws.
    let fair =
        new.failure_probability >= old.failure_probability * (1.0 - RELATIVE) && 2 * new.draws >= old.draws;
    let mut push = |what: &str, old: &Statement, new: &Statement| {
        claims.push(Claim {
            what: what.to_owned(),
            stored: shown(old.bound),
            now: shown(new.bound),
            verdict: judge(old, new, fair, rounding),
        });
    };
    push("gap, nats", &stored.gap, &now.gap);
    push("KL, nats", &stored.kl, &now.kl);
    push("total variation", &stored.tv, &now.tv);
    // Of all moments the one that comes out worst speaks for them.
    let found = |name: &str| now.moments.iter().find(|m| m.name == name);
    let pairs = stored.moments.iter().filter_map(|old| found(&old.name).map(|new| (old, new)));
    let pairs: Vec<_> = pairs
        .flat_map(|(old, new)| {
            [("mean ± of", &old.mean_error, &new.mean_error), ("sd ± of", &old.sd_error, &new.sd_error)]
                .map(|(what, a, b)| (format!("{what} {}", old.name), a, b))
        })
        .collect();
    let growth = |(_, old, new): &&(String, &Statement, &Statement)| match (old.bound, new.bound) {
        (Some(old), Some(new)) => new / old.max(f64::MIN_POSITIVE),
        (Some(_), None) => f64::INFINITY,
        (None, _) => 0.0,
    };
    if let Some((what, old, new)) = pairs.iter().max_by(|a, b| growth(a).total_cmp(&growth(b))) {
        push(what, old, new);
    }
    claims.push(evidence(&stored.evidence, &now.evidence, fair));
    claims
}

fn judge(old: &Statement, new: &Statement, fair: bool, rounding: Rounding) -> Verdict {
    match (old.bound, new.bound) {
        (None, _) => Verdict::NotClaimed,
        (Some(_), None) => Verdict::NotReproduced,
        (Some(old_bound), Some(new_bound)) if is_certain(old) || is_certain(new) => {
            if rounding.explains(old_bound, new_bound) { Verdict::Reproduced } else { Verdict::NotReproduced }
        }
        (Some(old), Some(new)) => sampled(new <= SAMPLED * old + ABSOLUTE, fair),
    }
}

fn is_certain(s: &Statement) -> bool {
    s.confidence.is_some_and(|c| c >= 1.0)
}

fn sampled(agrees: bool, fair: bool) -> Verdict {
    match (agrees, fair) {
        (true, _) => Verdict::Agrees,
        (false, true) => Verdict::NotReproduced,
        (false, false) => Verdict::Incomparable,
    }
}

/// Two intervals that both hold overlap, and other draws do not make one twice as wide.
fn evidence(old: &Interval, new: &Interval, fair: bool) -> Claim {
    let verdict = match (old.lower.zip(old.upper), new.lower.zip(new.upper)) {
        (Some((a, b)), Some((c, d))) => {
            let rounding = ABSOLUTE + 1e-12 * (a.abs() + d.abs());
            if a > d + rounding || c > b + rounding || a > b {
                Verdict::NotReproduced
            } else {
                sampled(d - c <= SAMPLED * (b - a) + rounding, fair)
            }
        }
        (Some(_), None) => Verdict::NotReproduced,
        (None, _) => match (old.lower, new.lower) {
            (None, _) => Verdict::NotClaimed,
            (Some(a), Some(c)) if a <= c + ABSOLUTE + 1e-12 * a.abs() => Verdict::Reproduced,
            _ => Verdict::NotReproduced,
        },
    };
    let side = |x: Option<f64>| x.map_or("–".to_owned(), |x| format!("{x:.4}"));
    let show = |i: &Interval| format!("{} to {}", side(i.lower), side(i.upper));
    Claim { what: "log evidence".to_owned(), stored: show(old), now: show(new), verdict }
}

/// f(q), which the file must have right where quadrature has it exactly.
fn neg_elbo(record: &FitFile, target: Evaluator<'_>, q: &Gaussian) -> Option<Claim> {
    let mut moments = Moments::new(q.dim());
    target.target().expectations()?.expect(q, &mut moments).ok()?;
    let now = moments.neg_elbo(q).ok()?;
    let exact = moments.provenance == Provenance::Proved && record.neg_elbo_exact;
    let room = record.neg_elbo_error.abs() + moments.value_error + ABSOLUTE + 1e-9 * now.abs();
    let verdict = match (exact, (now - record.neg_elbo).abs() <= room) {
        (_, true) => Verdict::Reproduced,
        (true, false) => Verdict::NotReproduced,
        // An estimated quadrature error is no bound: leave it room.
        (false, false) if (now - record.neg_elbo).abs() <= 1e-4 + 6.0 * room => Verdict::Agrees,
        (false, false) => Verdict::NotReproduced,
    };
    Some(Claim {
        what: "−ELBO, nats".to_owned(),
        stored: format!("{:.6}", record.neg_elbo),
        now: format!("{now:.6}"),
        verdict,
    })
}

fn shown(x: Option<f64>) -> String {
    x.map_or("–".to_owned(), |x| if x >= 0.0 { format!("≤ {}", bound(x, 3)) } else { format!("≤ {x}") })
}

//! The claims of a fit with a sparse precision: all of them are recomputed without draws.

use provi::Seed;
use provi::certificate::{Certificate, Statement};
use provi::sparse::{AnyGaussian, SparseModel};

use super::model::differences;
use super::{Claim, RELATIVE, Rechecked, Verdict, is_better_founded, shown};
use crate::error::Result;
use crate::number::above;
use crate::record::fit_file::FitFile;
use crate::run::assessment::Assessment;
use crate::run::problem::Problem;

/// Absolute tolerance of a bound, in nats: the gap of the same Gaussian rounds by as much where it is tiny.
const ABSOLUTE: f64 = 1e-9;

/// Computes everything again that the file states, and compares.
pub(super) fn check(
    record: Option<&FitFile>,
    problem: &Problem<'_>,
    model: &SparseModel,
    q: &AnyGaussian,
    seed: Seed,
) -> Result<Rechecked> {
    let now = match q.as_sparse() {
        Some(q) => Certificate::sparse(model, q)?,
        None => Certificate::nothing(
            &[],
            "the model has a sparse factor, and this Gaussian a dense one: see --factor",
        ),
    };
    let claims = record.map_or(Vec::new(), |record| compare(record, problem, q, &now));
    Ok(Rechecked { assessment: Assessment::of_sparse(now), claims, seed })
}

fn compare(record: &FitFile, problem: &Problem<'_>, q: &AnyGaussian, now: &Certificate) -> Vec<Claim> {
    let mut claims = differences(&record.model, problem.record());
    let claim = |what: &str, stored: String, now: String, stands: bool| Claim {
        what: what.to_owned(),
        stored,
        now,
        verdict: if stands { Verdict::Reproduced } else { Verdict::NotReproduced },
    };
    let off = record.mean.iter().zip(q.mean()).map(|(a, b)| (a - b).abs() / (a.abs() + b.abs()).max(1e-300));
    let off = off.fold(0.0, f64::max);
    let same = off <= 1e-12 && record.mean.len() == q.dim();
    claims.push(claim("means", "as stored".to_owned(), format!("within {off:.1e}"), same));
    // The evidence is at least −f − error; what the file says of f must lie between.
    let f = now.evidence.lower().map(|lower| -lower);
    let (stored, error) = (record.neg_elbo, record.neg_elbo_error);
    let room = ABSOLUTE + 1e-9 * stored.abs() + 2.0 * error.abs();
    claims.push(claim(
        "−ELBO, nats",
        format!("{stored:.6} ± {}", above(error)),
        f.map_or("–".to_owned(), |f| format!("at most {f:.6}")),
        f.is_some_and(|f| (f - stored).abs() <= room && error >= 0.0),
    ));
    let Some(old) = &record.certificate else { return claims };
    let bound = |what: &str, old: &Statement, new: &Statement| {
        let stands = match (old.bound(), new.bound()) {
            (None, _) => {
                return Claim {
                    verdict: Verdict::NotClaimed,
                    ..claim(what, shown(None), shown(new.bound()), true)
                };
            }
            (Some(_), None) => false,
            (Some(old_bound), Some(new_bound)) => {
                new_bound <= old_bound * (1.0 + RELATIVE) + ABSOLUTE
                    && !is_better_founded(old.provenance(), new.provenance())
            }
        };
        claim(what, shown(old.bound()), shown(new.bound()), stands)
    };
    claims.push(bound("gap, nats", &old.gap, &now.gap));
    claims.push(bound("KL, nats", &old.kl, &now.kl));
    claims.push(bound("total variation", &old.tv, &now.tv));
    let lower = |c: &Certificate| c.evidence.lower();
    claims.push(match (lower(old), lower(now)) {
        (None, _) => Claim {
            verdict: Verdict::NotClaimed,
            ..claim("evidence", "–".to_owned(), "–".to_owned(), true)
        },
        (Some(a), b) => {
            let stands = old.evidence.upper().is_none() && b.is_some_and(|b| a <= b + room);
            claim("evidence", format!("≥ {a:.6}"), b.map_or("–".to_owned(), |b| format!("≥ {b:.6}")), stands)
        }
    });
    // Nothing is proved of single coefficients or contrasts here, so nothing may be claimed.
    let listed = old.moments.iter().flat_map(|m| [&m.mean_error, &m.sd_error]);
    let of_contrasts =
        record.contrasts.iter().flat_map(|c| [&c.functional.mean_error, &c.functional.sd_error]);
    let claimed = listed.chain(of_contrasts).filter(|s| s.bound().is_some()).count();
    if claimed > 0 || record.posterior.is_some() || record.moment_bounds.is_some() {
        claims.push(claim("errors of means and sds", format!("{claimed} bounds"), "none".to_owned(), false));
    }
    for stored in &record.contrasts {
        let mean: f64 = stored.weights.iter().zip(q.mean()).map(|(v, m)| v * m).sum();
        let sd = provi::sparse::NormalLaw::deviation_of(q, &stored.weights).unwrap_or(f64::NAN);
        let (a, b) = (stored.functional.mean, stored.functional.sd);
        let stands = (mean - a).abs() <= 1e-6 * sd && (sd / b - 1.0).abs() <= 1e-6;
        claims.push(claim(
            &stored.expression,
            format!("{a:.6}, sd {b:.6}"),
            format!("{mean:.6}, sd {sd:.6}"),
            stands,
        ));
    }
    claims
}

//! The claims of a mixture over scales: proved again at every node, with fresh draws.

use provi::certificate::Certificate;
use provi::scales::ScaleMixture;
use provi::sparse::AnyGaussian;
use provi::{Audit, Seed};

use super::model::differences;
use super::{Claim, Comparison, Rechecked, Rounding, Verdict, is_weaker};
use crate::error::{Error, Result};
use crate::options::AuditOptions;
use crate::record::fit_file::FitFile;
use crate::run::assessment::Assessment;
use crate::run::contrast::Contrast;
use crate::run::integrated::OpenScales;
use crate::run::problem::Problem;

/// Relative tolerance of numbers that do not depend on draws: a file stores a covariance.
const RELATIVE: f64 = 1e-6;

/// Audits every node of the stored mixture again, and compares the claims of the file with the result.
pub(super) fn check(
    record: Option<&FitFile>,
    problem: &Problem<'_>,
    model: OpenScales<'_>,
    q: &AnyGaussian,
    audit: &AuditOptions,
    run: &Audit,
    seed: Seed,
) -> Result<Rechecked> {
    let Some((record, stored)) = record.and_then(|record| Some((record, record.mixture.as_ref()?))) else {
        return Err(Error::ScalesIntegrated { what: "the certificate of one Gaussian".to_owned() });
    };
    let mixture = stored.mixture()?;
    // The file states the failure probability of all nodes together.
    let proofs = model.rows.prove(&mixture, &model.how.free, run, seed)?;
    let (certificate, posterior) = mixture.certificate(&record.names, &proofs);
    let now = Assessment::of_mixture(certificate, posterior);
    let claimed = record.certificate.as_ref();
    if q.as_sparse().is_some() {
        return sparse(record, problem, model, &mixture, now, seed);
    }
    let q = &*q.to_dense()?;
    let comparison = Comparison {
        record,
        problem,
        q,
        now: &now,
        seed,
        rounding: Rounding { root: 0.0 },
        weaker: claimed.is_some_and(|claimed| is_weaker(audit, claimed)),
    };
    let mut claims = comparison.model();
    claims.extend(sums(&mixture, model.how, [q.mean(), &q.standard_deviations()]));
    if let Some(claimed) = claimed {
        claims.extend(comparison.distances(claimed));
        claims.extend(comparison.moments(claimed));
        claims.extend(comparison.evidence(&claimed.evidence));
    }
    claims.extend(comparison.posterior());
    for stored in &record.contrasts {
        let found = Contrast::read_one(&stored.expression, &record.names, None)
            .and_then(|read| read.measure_mixture(&mixture, &now.certificate))
            .ok();
        claims.push(comparison.contrast_beside(stored, found));
    }
    Ok(Rechecked { assessment: now, claims, seed })
}

/// The same if the nodes have sparse precisions: nothing is claimed but a lower bound of the evidence.
fn sparse(
    record: &FitFile,
    problem: &Problem<'_>,
    model: OpenScales<'_>,
    mixture: &ScaleMixture,
    now: Assessment,
    seed: Seed,
) -> Result<Rechecked> {
    let mut claims = differences(&record.model, problem.record());
    claims.extend(sums(mixture, model.how, [&record.mean, &mixture.standard_deviations()]));
    let lower = |c: &Certificate| c.evidence.lower();
    if let Some(stored) = record.certificate.as_ref().and_then(lower) {
        let found = lower(&now.certificate);
        let stands = found.is_some_and(|found| stored <= found + 1e-6 * (1.0 + found.abs()));
        claims.push(Claim {
            what: "evidence".to_owned(),
            stored: format!("≥ {stored:.6}"),
            now: found.map_or("–".to_owned(), |found| format!("≥ {found:.6}")),
            verdict: if stands { Verdict::Reproduced } else { Verdict::NotReproduced },
        });
    }
    Ok(Rechecked { assessment: now, claims, seed })
}

/// Weights, masses and moments that follow from the nodes.
fn sums(
    mixture: &ScaleMixture,
    how: &crate::model::Integrating,
    [stored_mean, stored]: [&[f64]; 2],
) -> Vec<Claim> {
    let claim = |what: &str, stored: String, now: String, same: bool| Claim {
        what: what.to_owned(),
        stored,
        now,
        verdict: if same { Verdict::Reproduced } else { Verdict::NotReproduced },
    };
    let logs: Vec<f64> = mixture.nodes.iter().map(|node| node.log_mass + node.elbo + node.kl).collect();
    let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let total: f64 = logs.iter().map(|x| (x - top).exp()).sum();
    let off = mixture
        .nodes
        .iter()
        .zip(&logs)
        .map(|(node, log)| (node.weight - (log - top).exp() / total).abs())
        .fold(0.0, f64::max);
    let mut out = vec![claim(
        "weights of the scales",
        "as stored".to_owned(),
        format!("within {off:.1e}"),
        off <= RELATIVE,
    )];
    if let provi::scales::Rule::Lattice { .. } = mixture.rule {
        // Prior density times the volume of a cell, which is the same for all.
        let volumes =
            mixture.nodes.iter().map(|node| node.log_mass - how.how.log_density(&how.free, &node.log_scales));
        let (low, high) =
            volumes.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
        out.push(claim(
            "prior masses of the scales",
            "as stored".to_owned(),
            format!("within {:.1e}", high - low),
            high - low <= RELATIVE,
        ));
    }
    let (mean, sd) = (mixture.mean(), mixture.standard_deviations());
    let moved = mean.iter().zip(stored_mean).zip(&sd).map(|((a, b), sd)| (a - b).abs() / sd);
    let spread = sd.iter().zip(stored).map(|(a, b)| (a / b - 1.0).abs());
    let off = moved.chain(spread).fold(0.0, f64::max);
    out.push(claim(
        "mean and covariance of the mixture",
        "as stored".to_owned(),
        format!("within {off:.1e} sd"),
        off <= RELATIVE,
    ));
    out
}

//! The answer of a model whose scales are integrated over: a mixture of Gaussians, and proofs at its nodes.

use std::time::Instant;

use provi::fit::{NegElbo, Watch};
use provi::scales::ScaleMixture;
use provi::sparse::AnyGaussian;
use provi::{Audit, Fit, Seed, Target};

use super::assessment::Assessment;
use super::sparse;
use super::strategy::{Answer, Found, covered};
use crate::error::{Error, Result};
use crate::model::{Integrating, ModelRows, Scale};
use crate::record::fit_file::EstimatesRecord;
use crate::record::mixture::MixtureRecord;

/// The most draws that are weighed.
const WEIGHED: usize = 20_000;

/// An answer, and the mixture behind it.
#[derive(Debug)]
pub(super) struct Integrated {
    pub(super) answer: Answer,
    pub(super) mixture: ScaleMixture,
    pub(super) record: MixtureRecord,
    pub(super) estimates: EstimatesRecord,
}

/// A model whose scales are integrated over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenScales<'a> {
    pub(crate) rows: ModelRows<'a>,
    pub(crate) how: &'a Integrating,
}

/// Integrates over the scales, then audits every node. A stop during the integration leaves the last lattice that was whole, or nothing
/// (`None`); a stop during the audits leaves the mixture without a proof.
pub(super) fn integrate(
    model: OpenScales<'_>,
    target: &dyn Target,
    scales: &[Scale],
    audit: &Audit,
    seed: Seed,
    watch: &mut Watch<'_>,
) -> Result<Option<Integrated>> {
    let OpenScales { rows, how } = model;
    let begin = Instant::now();
    let mut mixture = match covered(watch, begin, || rows.integrated(&how.free, &how.how)) {
        Err(Error::Library(provi::Error::Stopped { .. })) => return Ok(None),
        found => found?,
    };
    if how.how.draws > 0 {
        let draws = WEIGHED.min(audit.draws as usize);
        covered(watch, begin, || rows.weigh(&mut mixture, &how.free, draws, seed))?;
    }
    let seconds = begin.elapsed().as_secs_f64();
    let auditing = Instant::now();
    let proofs = covered(watch, begin, || rows.prove(&mixture, &how.free, audit, seed))?;
    let stopped = proofs.len() < mixture.nodes.len();
    let names = target.names();
    let (certificate, posterior) = mixture.certificate(&names, &proofs);
    let mut fit = match heaviest(&mixture) {
        Some(q) => sparse::found(names, q, NegElbo::new(-mixture.elbo(), 0.0, false), seed),
        None => Found::from(Fit::given(target, &mixture.gaussian()?, seed)?),
    };
    fit.method = "auto".to_owned();
    fit.steps = mixture.nodes.len() as u64;
    fit.seconds = seconds;
    fit.stopped_early = stopped;
    // A lower bound of the log evidence, up to the integration over the scales.
    fit.neg_elbo.value = -mixture.elbo();
    fit.neg_elbo.error = if mixture.evidence_change.is_finite() { mixture.evidence_change } else { 0.0 };
    fit.neg_elbo.exact = false;
    let record = MixtureRecord::new(&mixture, &how.labels(scales), &proofs)?;
    let kl: f64 = mixture.nodes.iter().map(|node| node.weight * node.kl).sum();
    // Of sparse nodes only lower bounds of the evidence are known.
    let sparse = fit.gaussian.as_sparse().is_some();
    let finite = |x: f64| x.is_finite().then_some(x);
    let estimated = |x: f64| finite(x).filter(|_| !sparse);
    let estimates = EstimatesRecord {
        kl: estimated(kl),
        log_evidence: estimated(mixture.log_evidence),
        standard_error: estimated(mixture.evidence_change),
        reason: sparse
            .then(|| "at each value of the scales only a lower bound of the evidence is known".to_owned()),
        elbo: finite(-fit.neg_elbo.value),
        elbo_standard_error: finite(mixture.evidence_change),
        draws: how.how.draws * mixture.nodes.len(),
        ..EstimatesRecord::default()
    };
    let assessment = Assessment::of_mixture(certificate, posterior);
    let audit_seconds = auditing.elapsed().as_secs_f64();
    let notes = notes(&mixture, stopped, proofs.len());
    let answer = Answer { fit, assessment, notes, search: None, audit_seconds };
    Ok(Some(Integrated { answer, mixture, record, estimates }))
}

/// The Gaussian of the heaviest node, if the nodes have sparse precisions.
fn heaviest(mixture: &ScaleMixture) -> Option<AnyGaussian> {
    let node = mixture.nodes.iter().max_by(|a, b| a.weight.total_cmp(&b.weight))?;
    node.gaussian.as_sparse().map(|_| node.gaussian.clone())
}

fn notes(mixture: &ScaleMixture, stopped: bool, proofs: usize) -> Vec<String> {
    let mut out = Vec::new();
    if stopped {
        out.push(format!(
            "the run was stopped: {proofs} of the {} values of the scales were audited, so nothing is proved",
            mixture.nodes.len()
        ));
    }
    if !mixture.evidence_change.is_finite() {
        out.push("the integration over the scales was stopped before its first refinement: how accurate it is, is not known".to_owned());
    }
    if mixture.unsolved > 0 {
        out.push(format!(
            "at {} values of the scales no model could be solved; they count as if they had no mass",
            mixture.unsolved
        ));
    }
    if let provi::scales::Rule::Lattice { complete: false, .. } = mixture.rule {
        out.push(
            "the posterior of the scales spreads too far for the sum over them, which was cut off: give them a narrower prior"
                .to_owned(),
        );
    }
    out
}

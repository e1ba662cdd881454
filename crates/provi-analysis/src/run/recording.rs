//! A fit as a record of fit.json.

use provi::estimate::Estimates;
use provi::fit::Snapshot;
use provi::plan::{Constants, Coordinates, Promise};
use provi::{Gaussian, Plan};
use serde::Serialize;

use super::strategy::Answer;
use crate::model::{Model, Origin};
use crate::record::fit_file::{
    BoundRecord, ConstantsRecord, EstimatesRecord, FitFile, Kind, LARGEST_COVARIANCE, LARGEST_METRIC,
    ModelRecord, Phases, SCHEMA, TracePoint, factor_bytes, sha256,
};
use crate::record::gaussian_file::is_spoiled;
use crate::record::store::{FACTOR, SPARSE};
use crate::record::trust::TrustRecord;

/// The record of an answer; checks and contrasts are added later.
pub fn fit_file(model: ModelRecord, plan: Option<&Plan>, answer: &Answer) -> FitFile {
    let fit = &answer.fit;
    let dim = fit.names.len();
    let dense = fit.gaussian.as_dense().filter(|_| dim <= LARGEST_COVARIANCE);
    let covariance = dense.map(Gaussian::covariance);
    let apart = covariance.as_ref().is_none_or(|found| is_spoiled(fit.gaussian.mean(), found.entries()));
    FitFile {
        schema: SCHEMA.to_owned(),
        provi: env!("CARGO_PKG_VERSION").to_owned(),
        model,
        names: fit.names.clone(),
        mean: fit.gaussian.mean().to_vec(),
        covariance: covariance.map(|found| (0..dim).map(|i| found.row(i).to_vec()).collect()),
        factor_file: apart
            .then(|| if fit.gaussian.as_sparse().is_some() { SPARSE } else { FACTOR }.to_owned()),
        factor_sha256: apart.then(|| sha256(&factor_bytes(&fit.gaussian))),
        neg_elbo: fit.neg_elbo.value,
        neg_elbo_error: fit.neg_elbo.error,
        neg_elbo_exact: fit.neg_elbo.exact,
        method: fit.method.to_string(),
        family_of_q: (!fit.pattern.is_full()).then(|| fit.pattern.to_string()),
        coordinates: word(plan.map_or(Coordinates::Original, Plan::coordinates)).unwrap_or_default(),
        steps: fit.steps,
        stopped_early: fit.stopped_early,
        draws_per_step: fit.draws_per_step,
        coupling: fit.coupling.named_if_any().map(str::to_owned),
        subsample: fit.subsample,
        gradient_evaluations: fit.gradient_evaluations,
        seed: fit.seed.0,
        seconds: fit.seconds,
        phases: Some(Phases { scales: None, fit: fit.seconds, audit: answer.audit_seconds }),
        plan_bound: bound(&fit.promise, plan.and_then(|plan| plan.constants.as_ref())),
        trace: fit.trace.iter().map(point).collect(),
        certificate: Some(answer.assessment.certificate.clone()),
        estimates: Some(estimates(&answer.assessment.estimates)),
        trust: answer.assessment.trust.as_ref().map(TrustRecord::new),
        moment_bounds: answer.assessment.moment_bounds.clone().filter(|_| dim <= LARGEST_METRIC),
        posterior: answer.assessment.posterior.clone(),
        mixture: None,
        checks: None,
        prior_sensitivity: None,
        robust: None,
        contrasts: Vec::new(),
        constrained: None,
    }
}

/// The record of a model and its data.
pub fn model(model: &Model) -> ModelRecord {
    // A prior whose marginals cannot be computed has been refused before.
    let marginals = model.target.prior().marginals(model.dim()).unwrap_or_default();
    let (prior_mean, prior_sd) = marginals.into_iter().unzip();
    ModelRecord {
        kind: Kind::Formula,
        title: None,
        family: model.family.name().to_owned(),
        family_chosen: model.family_chosen,
        formula: model.formula.clone(),
        success: model.success.clone(),
        categories: model.categories.clone(),
        data: model.data_name.clone(),
        data_sha256: model.data_sha256.clone(),
        library: None,
        rows: model.rows,
        dropped: model.dropped.clone(),
        rows_sha256: model.rows_sha256.clone(),
        weights: model.options.weights.clone(),
        offset: model.options.offset.clone(),
        exposure: model.options.exposure.clone(),
        warnings: model.warnings.clone(),
        search: None,
        population: model.population,
        prior: model.prior_lines(),
        prior_mean,
        prior_sd,
        prior_at_means: crate::record::fit_file::PriorAtMeans::of(model.target.prior(), model.population),
        prior_covariance: model.prior_gaussian.as_ref().map(|prior| {
            let covariance = prior.covariance();
            (0..model.population).map(|i| covariance.row(i).to_vec()).collect()
        }),
        prior_from: model.prior_from.clone(),
        time_unit: model.family.time_unit(),
        noise_sd: match model.scales.iter().find(|scale| scale.is_noise()) {
            Some(noise) if noise.origin == Origin::Integrated => Some(noise.sd),
            _ => model.noise_sd(),
        },
        scales: model.scales.clone(),
        correlations: model.integrating.as_ref().map(|how| how.correlations.clone()).unwrap_or_default(),
        options: model.options.clone(),
        recipe: Some(model.recipe.clone()),
        variables: model.variables.clone(),
    }
}

/// Estimates, with null for what is infinite.
pub fn estimates(found: &std::result::Result<Estimates, String>) -> EstimatesRecord {
    let finite = |x: f64| x.is_finite().then_some(x);
    match found {
        Err(reason) => EstimatesRecord { reason: Some(reason.clone()), ..EstimatesRecord::default() },
        Ok(e) => EstimatesRecord {
            kl: finite(e.kl),
            kl_standard_error: finite(e.kl_se),
            log_evidence: finite(e.log_evidence),
            standard_error: finite(e.log_evidence_se),
            elbo: finite(e.elbo),
            elbo_standard_error: finite(e.elbo_se),
            pareto_k: finite(e.pareto_k),
            reliability: Some(e.reliability().to_string()),
            draws: e.draws,
            reason: None,
        },
    }
}

/// The record of a promise.
pub fn bound(promise: &Promise, constants: Option<&Constants>) -> BoundRecord {
    BoundRecord {
        value: promise.value,
        key: promise.key.map(str::to_owned),
        norm: promise.norm,
        constants: constants.map(|c| ConstantsRecord {
            dim: c.dim,
            convexity: c.convexity,
            smoothness: c.smoothness,
            residual_smoothness: c.residual_smoothness,
            noise_growth: c.noise.growth,
            noise_floor: c.noise.floor,
            start: c.start,
        }),
        provenance: promise.provenance,
        reason: promise.reason.clone(),
        taken_up: promise.taken_up,
    }
}

fn point(at: &Snapshot) -> TracePoint {
    let neg_elbo = at.neg_elbo.is_finite().then_some(at.neg_elbo);
    TracePoint { step: at.step, gamma: at.gamma, neg_elbo, gap: at.gap.filter(|gap| gap.is_finite()) }
}

/// The library's own name for an enum's variant.
fn word(value: impl Serialize) -> Option<String> {
    serde_json::to_value(value).ok()?.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Data;
    use crate::options::{ModelOptions, RunOptions};
    use crate::record::store::Store;
    use crate::run::Strategy;
    use provi::fit::Watch;
    use provi::sparse::AnyGaussian;

    fn fitted() -> (FitFile, AnyGaussian) {
        let data = Data::new(b"y,x\n0,1.5\n1,-0.3\n1,0.25\n0,0.5\n".to_vec(), "t.csv".to_owned());
        let model = Model::build(&data, "y ~ x", &ModelOptions::default(), None).unwrap();
        let strategy =
            Strategy::of(&RunOptions { steps: Some(20), ..RunOptions::default() }, model.target.target())
                .unwrap();
        let answer = strategy.run(model.target.evaluator(), provi::Seed(1), &mut Watch::default()).unwrap();
        (fit_file(super::model(&model), strategy.plan(), &answer), answer.fit.gaussian)
    }

    #[test]
    fn a_fit_reads_back_as_it_was_written() {
        let (file, _) = fitted();
        let back: FitFile = serde_json::from_str(&file.to_json()).unwrap();
        assert_eq!(back, file);
    }

    #[test]
    fn a_fit_of_before_certificates_is_still_read() {
        let (file, _) = fitted();
        let mut value: serde_json::Value = serde_json::from_str(&file.to_json()).unwrap();
        value.as_object_mut().unwrap().retain(|key, _| key != "certificate" && key != "estimates");
        let back: FitFile = serde_json::from_value(value).unwrap();
        assert!(back.certificate.is_none() && back.mean == file.mean);
    }

    #[test]
    fn what_is_infinite_is_written_as_null() {
        let mut flat = Estimates::from_log_ratios(&[0.0; 9]).unwrap();
        (flat.kl, flat.pareto_k) = (f64::INFINITY, f64::NAN);
        let text = serde_json::to_string(&estimates(&Ok(flat))).unwrap();
        assert!(text.contains("\"kl\":null") && text.contains("\"pareto_k\":null"), "{text}");
    }

    #[test]
    fn keys_of_a_later_version_do_not_disturb() {
        let (file, _) = fitted();
        let text = file.to_json().replacen('{', "{\"prediction\": {\"kl\": 0.1},", 1);
        assert_eq!(serde_json::from_str::<FitFile>(&text).unwrap(), file);
    }

    #[test]
    fn a_factor_is_kept_beside_the_fit_with_its_hash() {
        let (mut file, q) = fitted();
        file.covariance = None;
        file.factor_file = Some(FACTOR.to_owned());
        file.factor_sha256 = Some(sha256(&factor_bytes(&q)));
        let dir = tempfile::tempdir().unwrap();
        Store::open(dir.path(), false).unwrap().save_alone(&file, &q).unwrap();
        let bytes = std::fs::read(dir.path().join(FACTOR)).unwrap();
        let q = q.as_dense().unwrap();
        assert_eq!(bytes.len(), 8 * q.factor().len());
        assert_eq!(file.factor_sha256, Some(sha256(&bytes)));
        assert_eq!(bytes[..8], q.factor()[0].to_le_bytes());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2, "no temporary file is left");
    }
}

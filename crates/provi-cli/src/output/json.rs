//! A fit put into the words of fit.json.

use provi::fit::Snapshot;
use provi::plan::{Constants, Promise};
use provi::{Fit, Plan};
use serde::Serialize;

use super::fit_file::{
    BoundRecord, ConstantsRecord, FitFile, LARGEST_COVARIANCE, ModelRecord, PriorRecord, SCHEMA, TracePoint,
};
use super::{sha256, store::FACTOR};
use crate::failure::Result;
use crate::model::Model;

pub(crate) fn fit_file(model: &Model, plan: &Plan, fit: &Fit) -> Result<FitFile> {
    let small = model.dim() <= LARGEST_COVARIANCE;
    Ok(FitFile {
        schema: SCHEMA.to_owned(),
        provi: env!("CARGO_PKG_VERSION").to_owned(),
        model: ModelRecord {
            family: model.family.name().to_owned(),
            formula: model.formula.clone(),
            prior: PriorRecord { distribution: "normal".to_owned(), mean: 0.0, sd: model.prior_scale },
            noise_sd: model.noise_sd(),
            rows: model.rows,
            data_sha256: model.data_sha256.clone(),
        },
        names: fit.names.clone(),
        mean: fit.gaussian.mean().to_vec(),
        covariance: small.then(|| {
            let covariance = fit.gaussian.covariance();
            (0..model.dim()).map(|i| covariance.row(i).to_vec()).collect()
        }),
        factor_file: (!small).then(|| FACTOR.to_owned()),
        factor_sha256: (!small).then(|| sha256(&factor_bytes(fit))),
        neg_elbo: fit.neg_elbo.value,
        neg_elbo_error: fit.neg_elbo.error,
        neg_elbo_exact: fit.neg_elbo.exact,
        method: fit.method.to_string(),
        coordinates: word(plan.coordinates()).unwrap_or_default(),
        steps: fit.steps,
        stopped_early: fit.stopped_early,
        draws_per_step: fit.draws_per_step,
        gradient_evaluations: fit.gradient_evaluations,
        seed: fit.seed.0,
        seconds: fit.seconds,
        plan_bound: bound(&fit.promise, plan.constants.as_ref()),
        trace: fit.trace.iter().map(point).collect(),
    })
}

/// C, packed row by row, as little-endian doubles.
pub(crate) fn factor_bytes(fit: &Fit) -> Vec<u8> {
    fit.gaussian.factor().iter().flat_map(|x| x.to_le_bytes()).collect()
}

fn bound(promise: &Promise, constants: Option<&Constants>) -> BoundRecord {
    BoundRecord {
        value: promise.value,
        key: promise.key.map(str::to_owned),
        norm: promise.norm.and_then(word),
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
    }
}

fn point(at: &Snapshot) -> TracePoint {
    let neg_elbo = at.neg_elbo.is_finite().then_some(at.neg_elbo);
    TracePoint { step: at.step, gamma: at.gamma, neg_elbo }
}

/// The library's own word for one of its enums.
fn word(value: impl Serialize) -> Option<String> {
    serde_json::to_value(value).ok()?.as_str().map(str::to_owned)
}

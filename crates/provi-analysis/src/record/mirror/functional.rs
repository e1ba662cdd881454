//! Linear functionals, and the bounds of the error of any functional.

use provi::functional::{Functional, MomentBounds, PosteriorMoments};
use serde::{Deserialize, Serialize};

use super::certificate::StatementKeys;
use super::{Mirror, ProvenanceKey};

/// A functional's value, errors and sign.
#[derive(Serialize, Deserialize)]
pub(in crate::record) struct FunctionalKeys {
    mean: f64,
    sd: f64,
    mean_error: StatementKeys,
    sd_error: StatementKeys,
    positive: SignKeys,
}

/// The probability that it is positive.
#[derive(Serialize, Deserialize)]
struct SignKeys {
    value: f64,
    lower: f64,
    upper: f64,
    error: StatementKeys,
}

impl Mirror for FunctionalKeys {
    type Of = Functional;

    fn of(value: &Functional) -> Result<Self, String> {
        let positive = SignKeys {
            value: value.positive.value,
            lower: value.positive.lower,
            upper: value.positive.upper,
            error: (&value.positive.error).into(),
        };
        let (mean_error, sd_error) = ((&value.mean_error).into(), (&value.sd_error).into());
        Ok(Self { mean: value.mean, sd: value.sd, mean_error, sd_error, positive })
    }
}

/// The posterior's own moments, in the order of the names.
#[derive(Serialize, Deserialize)]
pub(in crate::record) struct PosteriorKeys {
    mean: Vec<f64>,
    mean_error: Vec<f64>,
    sd: Vec<f64>,
    sd_error: Vec<f64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    positive: Vec<f64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    positive_error: Vec<f64>,
    confidence: f64,
    key: String,
    provenance: ProvenanceKey,
}

impl Mirror for PosteriorKeys {
    type Of = PosteriorMoments;

    fn of(value: &PosteriorMoments) -> Result<Self, String> {
        Ok(Self {
            mean: value.mean.clone(),
            mean_error: value.mean_error.clone(),
            sd: value.sd.clone(),
            sd_error: value.sd_error.clone(),
            positive: value.positive.clone(),
            positive_error: value.positive_error.clone(),
            confidence: value.confidence,
            key: value.key.clone(),
            provenance: value.provenance.into(),
        })
    }
}

/// Metrics, packed row by row, with the numbers that turn them into errors.
#[derive(Serialize, Deserialize)]
pub(in crate::record) struct MomentBoundsKeys {
    global: Option<GlobalKeys>,
    local: Option<LocalKeys>,
    #[serde(default)]
    every: Option<EveryKeys>,
    confidence: f64,
    reason: String,
}

#[derive(Serialize, Deserialize)]
struct GlobalKeys {
    metric: Vec<f64>,
    kl: f64,
    provenance: ProvenanceKey,
}

#[derive(Serialize, Deserialize)]
struct LocalKeys {
    metric: Vec<f64>,
    fisher: f64,
    outside: [f64; 3],
    alpha: f64,
    alpha2: f64,
    provenance: ProvenanceKey,
}

#[derive(Serialize, Deserialize)]
struct EveryKeys {
    mean: f64,
    sd: f64,
    provenance: ProvenanceKey,
}

impl Mirror for MomentBoundsKeys {
    type Of = MomentBounds;

    fn of(value: &MomentBounds) -> Result<Self, String> {
        let global = value.global.as_ref().map(|bound| GlobalKeys {
            metric: bound.metric.clone(),
            kl: bound.kl,
            provenance: bound.provenance.into(),
        });
        let local = value.local.as_ref().map(|bound| LocalKeys {
            metric: bound.metric.clone(),
            fisher: bound.fisher,
            outside: bound.outside,
            alpha: bound.alpha,
            alpha2: bound.alpha2,
            provenance: bound.provenance.into(),
        });
        let every = value.every.as_ref().map(|bound| EveryKeys {
            mean: bound.mean,
            sd: bound.sd,
            provenance: bound.provenance.into(),
        });
        Ok(Self { global, local, every, confidence: value.confidence, reason: value.reason.clone() })
    }
}

//! Enums of plans: origins of constants, norms, subsamples.

use provi::Provenance;
use provi::plan::Norm;
use provi::subsample::{Sampling, Subsample};
use serde::{Deserialize, Serialize};

use super::Mirror;

/// The origin of a constant.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::record) enum ProvenanceKey {
    Proved,
    Declared,
    Estimated,
}

impl From<Provenance> for ProvenanceKey {
    fn from(provenance: Provenance) -> Self {
        match provenance {
            Provenance::Proved => Self::Proved,
            Provenance::Declared => Self::Declared,
            Provenance::Estimated => Self::Estimated,
        }
    }
}

impl Mirror for ProvenanceKey {
    type Of = Provenance;

    fn of(value: &Provenance) -> Result<Self, String> {
        Ok((*value).into())
    }
}

/// What a promise bounds.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::record) enum NormKey {
    Original,
    LowerCurvature,
    Laplace,
    Scaled,
    Gap,
    BallGap,
}

impl Mirror for NormKey {
    type Of = Norm;

    fn of(value: &Norm) -> Result<Self, String> {
        match value {
            Norm::Original => Ok(Self::Original),
            Norm::LowerCurvature => Ok(Self::LowerCurvature),
            Norm::Laplace => Ok(Self::Laplace),
            Norm::Scaled => Ok(Self::Scaled),
            Norm::Gap => Ok(Self::Gap),
            Norm::BallGap => Ok(Self::BallGap),
            other => Err(format!("fit.json has no word for the norm {other:?}")),
        }
    }
}

/// The terms that each draw used.
#[derive(Serialize, Deserialize)]
pub(in crate::record) struct SubsampleKeys {
    terms: usize,
    sampling: SamplingKey,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum SamplingKey {
    Uniform,
    Importance,
    Reshuffle,
}

impl Mirror for SubsampleKeys {
    type Of = Subsample;

    fn of(value: &Subsample) -> Result<Self, String> {
        let sampling = match value.sampling {
            Sampling::Uniform => SamplingKey::Uniform,
            Sampling::Importance => SamplingKey::Importance,
            Sampling::Reshuffle => SamplingKey::Reshuffle,
            other => return Err(format!("fit.json has no word for the sampling {other}")),
        };
        Ok(Self { terms: value.terms, sampling })
    }
}

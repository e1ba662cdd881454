//! What is proved about an answer.

use provi::Certificate;
use provi::certificate::{Grounds, Interval, Statement};
use serde::{Deserialize, Serialize};

use super::{Mirror, ProvenanceKey};

/// A certificate's statements and the numbers behind them.
#[derive(Serialize, Deserialize)]
pub(in crate::record) struct CertificateKeys {
    gap: StatementKeys,
    /// Absent for a q that was sought among all Gaussians, and in older files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    family: Option<FamilyKeys>,
    kl: StatementKeys,
    tv: StatementKeys,
    evidence: IntervalKeys,
    moments: Vec<MomentKeys>,
    grounds: GroundsKeys,
}

/// The gap to the best Gaussian of a family.
#[derive(Serialize, Deserialize)]
struct FamilyKeys {
    name: String,
    gap: StatementKeys,
}

/// One bound with its grounds, or a reason.
#[derive(Serialize, Deserialize)]
pub(super) struct StatementKeys {
    bound: Option<f64>,
    confidence: Option<f64>,
    key: Option<String>,
    provenance: Option<ProvenanceKey>,
    reason: Option<String>,
}

impl From<&Statement> for StatementKeys {
    fn from(statement: &Statement) -> Self {
        Self {
            bound: statement.bound(),
            confidence: statement.confidence(),
            key: statement.key().map(str::to_owned),
            provenance: statement.provenance().map(Into::into),
            reason: statement.reason().map(str::to_owned),
        }
    }
}

/// Both sides of the bounds of log p(x).
#[derive(Serialize, Deserialize)]
struct IntervalKeys {
    lower: Option<f64>,
    upper: Option<f64>,
    confidence: Option<f64>,
    key: Option<String>,
    provenance: Option<ProvenanceKey>,
    reason: Option<String>,
}

impl From<&Interval> for IntervalKeys {
    fn from(interval: &Interval) -> Self {
        Self {
            lower: interval.lower(),
            upper: interval.upper(),
            confidence: interval.confidence(),
            key: interval.key().map(str::to_owned),
            provenance: interval.provenance().map(Into::into),
            reason: interval.reason().map(str::to_owned),
        }
    }
}

/// A coordinate's mean and sd.
#[derive(Serialize, Deserialize)]
struct MomentKeys {
    name: String,
    mean_error: StatementKeys,
    sd_error: StatementKeys,
}

/// The numbers on which a certificate rests.
#[derive(Serialize, Deserialize)]
struct GroundsKeys {
    failure_probability: f64,
    draws: u64,
    evaluations: u64,
    convexity: Option<f64>,
    gradient_norm: Option<f64>,
    global_fisher_mean: Option<f64>,
    global_lipschitz: Option<f64>,
    radius: Option<f64>,
    local_fisher_mean: Option<f64>,
    local_lipschitz: Option<f64>,
    local_convexity: Option<f64>,
    outside: Option<f64>,
    /// Absent in files older than the transport route, like the next key.
    #[serde(default)]
    transport_mean: Option<f64>,
    #[serde(default)]
    transport_lipschitz: Option<f64>,
    /// Absent in files older than the sharp route.
    #[serde(default)]
    mass_draws: Option<u64>,
}

impl From<&Grounds> for GroundsKeys {
    fn from(grounds: &Grounds) -> Self {
        Self {
            failure_probability: grounds.failure_probability,
            draws: grounds.draws,
            evaluations: grounds.evaluations,
            convexity: grounds.convexity,
            gradient_norm: grounds.gradient_norm,
            global_fisher_mean: grounds.global_fisher_mean,
            global_lipschitz: grounds.global_lipschitz,
            radius: grounds.radius,
            local_fisher_mean: grounds.local_fisher_mean,
            local_lipschitz: grounds.local_lipschitz,
            local_convexity: grounds.local_convexity,
            outside: grounds.outside,
            transport_mean: grounds.transport_mean,
            transport_lipschitz: grounds.transport_lipschitz,
            mass_draws: grounds.mass_draws,
        }
    }
}

impl Mirror for CertificateKeys {
    type Of = Certificate;

    fn of(value: &Certificate) -> Result<Self, String> {
        let moments = value.moments.iter().map(|moment| MomentKeys {
            name: moment.name.clone(),
            mean_error: (&moment.mean_error).into(),
            sd_error: (&moment.sd_error).into(),
        });
        Ok(Self {
            gap: (&value.gap).into(),
            family: value
                .family
                .as_ref()
                .map(|family| FamilyKeys { name: family.name.clone(), gap: (&family.gap).into() }),
            kl: (&value.kl).into(),
            tv: (&value.tv).into(),
            evidence: (&value.evidence).into(),
            moments: moments.collect(),
            grounds: (&value.grounds).into(),
        })
    }
}

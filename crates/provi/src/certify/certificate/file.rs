//! Statements as data: one key for each part, null where it does not apply. These keys are part of fit.json.

use super::{Bound, Provenance};

#[derive(serde::Serialize, serde::Deserialize)]
pub(super) struct Statement {
    bound: Option<f64>,
    confidence: Option<f64>,
    key: Option<String>,
    provenance: Option<Provenance>,
    reason: Option<String>,
}

#[derive(serde::Serialize, serde::Deserialize)]
pub(super) struct Interval {
    lower: Option<f64>,
    upper: Option<f64>,
    confidence: Option<f64>,
    key: Option<String>,
    provenance: Option<Provenance>,
    reason: Option<String>,
}

/// The reason used if a file gives none.
const NO_REASON: &str = "no bound";

fn read(bound: Option<f64>, from: &Statement) -> Result<super::Statement, String> {
    let Some(value) = bound else {
        let reason = from.reason.clone().unwrap_or_else(|| NO_REASON.to_owned());
        return Ok(super::Statement::NotProved { reason });
    };
    match (from.confidence, &from.key, from.provenance) {
        (Some(confidence), Some(key), Some(provenance)) => {
            Ok(super::Statement::Proved(Bound { value, confidence, key: key.clone(), provenance }))
        }
        _ => Err(format!("the bound {value:e} lacks its confidence, key or provenance")),
    }
}

impl From<super::Statement> for Statement {
    fn from(s: super::Statement) -> Self {
        match s {
            super::Statement::Proved(Bound { value, confidence, key, provenance }) => Self {
                bound: Some(value),
                confidence: Some(confidence),
                key: Some(key),
                provenance: Some(provenance),
                reason: None,
            },
            super::Statement::NotProved { reason } => {
                Self { bound: None, confidence: None, key: None, provenance: None, reason: Some(reason) }
            }
        }
    }
}

impl TryFrom<Statement> for super::Statement {
    type Error = String;

    fn try_from(s: Statement) -> Result<Self, String> {
        read(s.bound, &s)
    }
}

impl From<super::Interval> for Interval {
    fn from(i: super::Interval) -> Self {
        Self {
            lower: i.lower(),
            upper: i.upper(),
            confidence: i.confidence(),
            key: i.key().map(Into::into),
            provenance: i.provenance(),
            reason: i.reason().map(Into::into),
        }
    }
}

impl TryFrom<Interval> for super::Interval {
    type Error = String;

    fn try_from(i: Interval) -> Result<Self, String> {
        let Interval { lower, upper, confidence, key, provenance, reason } = i;
        let grounds = Statement { bound: None, confidence, key, provenance, reason };
        Ok(Self::new(read(lower, &grounds)?, read(upper, &grounds)?))
    }
}

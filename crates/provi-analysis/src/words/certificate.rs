//! The certificate in words: a headline, five statements, and the probability they share.

use provi::certificate::{Certificate, MomentStatement, Statement};
use provi::{Provenance, certificate::Interval};

use serde::Serialize;

use super::number::{bound, decimals, grouped, outward_pair};

/// A KL bound above this one says little: TV can be nearly ¼; above the next, nothing.
const LITTLE: f64 = 0.1;
const NOTHING: f64 = 1.0;

/// A certificate for shells that only render.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CertificateWords {
    /// Both distances in a sentence.
    pub headline: String,
    /// How much the bound of the KL says.
    pub worth: Worth,
    /// What all of it is conditional on.
    pub condition: Option<String>,
    /// Five of them.
    pub statements: Vec<StatementWords>,
    /// The probability that the sampled ones share; none where all are certain.
    pub probability: Option<String>,
}

/// One statement.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StatementWords {
    /// What is bounded.
    pub what: &'static str,
    /// By what; none where nothing is proved.
    pub value: Option<String>,
    /// The ledger's key, and where its constants came from; or why nothing is proved.
    pub grounds: String,
}

impl CertificateWords {
    /// `condition` says what all of it is conditional on.
    pub fn new(c: &Certificate, condition: Option<String>) -> Self {
        let words = |(what, row): (&'static str, Row)| match row {
            Ok((value, grounds)) => StatementWords { what, value: Some(value), grounds },
            Err(reason) => StatementWords { what, value: None, grounds: reason },
        };
        Self {
            headline: headline(c),
            worth: worth(c),
            condition,
            statements: rows(c).into_iter().map(words).collect(),
            probability: probability(c),
        }
    }
}

/// The five statements, in their order.
pub fn rows(c: &Certificate) -> [(&'static str, Row); 5] {
    [
        ("gap to best Gaussian", value(&c.gap, " nats")),
        ("KL to posterior", value(&c.kl, " nats")),
        ("total variation", value(&c.tv, "")),
        ("moments", moments(&c.moments)),
        ("log evidence", evidence(&c.evidence)),
    ]
}

/// How much a bound of the KL says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Worth {
    /// It is small.
    Tight,
    /// Little.
    Loose,
    /// Next to nothing, or there is none.
    Nothing,
}

/// What the certificate's own bound says.
pub fn worth(c: &Certificate) -> Worth {
    match c.kl.bound {
        Some(kl) if kl <= LITTLE => Worth::Tight,
        Some(kl) if kl <= NOTHING => Worth::Loose,
        _ => Worth::Nothing,
    }
}

/// Both distances, so that a tiny gap does not pass for a good posterior.
pub fn headline(c: &Certificate) -> String {
    let gap = match c.gap.bound {
        Some(gap) => format!("within {} nats of the best Gaussian", bound(gap, 3)),
        None => "not shown to be near the best Gaussian".to_owned(),
    };
    let kl = match c.kl.bound {
        Some(kl) if kl <= LITTLE => format!("within {} nats of the posterior", bound(kl, 3)),
        Some(kl) if kl <= NOTHING => {
            format!("within {} nats of the posterior, which is loose", bound(kl, 3))
        }
        Some(kl) => {
            format!("NOT shown to be near the posterior: KL ≤ {} nats says next to nothing", bound(kl, 3))
        }
        None => "NOT shown to be near the posterior: no KL bound".to_owned(),
    };
    format!("{gap}; {kl}")
}

/// A value with its grounds, or the reason why there is none.
pub type Row = Result<(String, String), String>;

fn value(s: &Statement, unit: &str) -> Row {
    match s.bound {
        Some(x) => Ok((format!("≤ {}{unit}", bound(x, 3)), grounds(s))),
        None => Err(reason(&s.reason)),
    }
}

fn moments(moments: &[MomentStatement]) -> Row {
    let worst = |pick: fn(&MomentStatement) -> &Statement| {
        let size = |s: &Statement| s.bound.unwrap_or(f64::INFINITY);
        moments.iter().map(pick).max_by(|a, b| size(a).total_cmp(&size(b)))
    };
    match (worst(|m| &m.mean_error), worst(|m| &m.sd_error)) {
        (Some(Statement { bound: Some(mean), .. }), Some(s @ Statement { bound: Some(sd), .. })) => {
            Ok((format!("means ± {}, sds ± {}", bound(*mean, 3), bound(*sd, 3)), grounds(s)))
        }
        (Some(s @ Statement { bound: None, .. }), _) | (_, Some(s)) => Err(reason(&s.reason)),
        _ => Err("no coefficients".to_owned()),
    }
}

fn evidence(e: &Interval) -> Row {
    match (e.lower, e.upper) {
        (Some(lower), Some(upper)) => {
            let places = decimals(upper - lower).clamp(2, 8);
            let [low, high] = outward_pair(Some(lower), Some(upper), places);
            Ok((format!("{low} to {high}"), key(e.key.as_deref(), e.provenance)))
        }
        (Some(lower), None) => {
            let [low, _] = outward_pair(Some(lower), None, 4);
            Err(format!("an upper bound ({}); at least {low}", reason(&e.reason)))
        }
        _ => Err(reason(&e.reason)),
    }
}

/// Why there is no bound.
pub fn reason(reason: &Option<String>) -> String {
    reason.clone().unwrap_or_else(|| "no bound".to_owned())
}

/// "[cert-gap], certain".
fn grounds(s: &Statement) -> String {
    let certain = if s.confidence.is_some_and(|c| c >= 1.0) { ", certain" } else { "" };
    format!("{}{certain}", key(s.key.as_deref(), s.provenance))
}

fn key(key: Option<&str>, provenance: Option<Provenance>) -> String {
    let constants = match provenance {
        None | Some(Provenance::Proved) => String::new(),
        Some(weaker) => format!(", constants {weaker}"),
    };
    format!("[{}]{constants}", key.unwrap_or("no key"))
}

/// What the sampled statements share; none where all are certain.
pub fn probability(c: &Certificate) -> Option<String> {
    let sampled = [&c.gap, &c.kl, &c.tv].iter().any(|s| s.confidence.is_some_and(|p| p < 1.0));
    sampled.then(|| {
        format!(
            "holds as a whole with probability 1 − {:e}, over the {} draws of the audit",
            c.grounds.failure_probability,
            grouped(c.grounds.draws)
        )
    })
}

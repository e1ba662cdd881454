//! What is proved about an answer: each statement with its number, its confidence and its grounds.
//!
//! What is proved can be read and not changed, so that nobody but an audit makes a claim. One way around that is meant: with the
//! feature `serde` a certificate is read back from a file. Such a claim is the file's, unverified; who doubts it audits anew, as
//! `provi certify` does.

use crate::base::printed;
use crate::target::curvature::Provenance;
use std::fmt;

/// Lets the second type be read through the first.
macro_rules! read_only {
    ($claim:ty, $fields:ty) => {
        impl std::ops::Deref for $claim {
            type Target = $fields;

            fn deref(&self) -> &$fields {
                &self.0
            }
        }
    };
}
pub(crate) use read_only;

/// One proved bound, or the reason why there is none. It can be read and not changed.
/// ```compile_fail,E0594
/// fn forge(mut statement: provi::certificate::Statement) {
///     statement.bound = Some(1e-9);
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Statement(pub(crate) StatementFields);

read_only!(Statement, StatementFields);

/// What a [`Statement`] says.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct StatementFields {
    /// The bound.
    pub bound: Option<f64>,
    /// With which probability over the audit's draws it holds; 1 for a deterministic one.
    pub confidence: Option<f64>,
    /// The ledger key of the statement that won.
    pub key: Option<String>,
    /// The weakest origin of its constants.
    pub provenance: Option<Provenance>,
    /// Why there is no bound, or what limits it.
    pub reason: Option<String>,
}

impl Statement {
    pub(crate) fn proved(bound: f64, confidence: f64, key: &str, provenance: Provenance) -> Self {
        Self(StatementFields {
            bound: Some(bound),
            confidence: Some(confidence),
            key: Some(key.into()),
            provenance: Some(provenance),
            reason: None,
        })
    }

    pub(crate) fn missing(reason: &str) -> Self {
        let reason = Some(reason.into());
        Self(StatementFields { bound: None, confidence: None, key: None, provenance: None, reason })
    }

    /// The same, or none where the bound is not finite.
    fn only_finite(&mut self) {
        if self.bound.is_some_and(|bound| !bound.is_finite()) {
            (self.0.bound, self.0.confidence, self.0.reason) = (None, None, Some(NOT_FINITE.to_owned()));
        }
    }

    /// The smaller of two bounds that hold together.
    pub(crate) fn or_better(self, other: Self) -> Self {
        match (self.bound, other.bound) {
            (Some(a), Some(b)) if b < a => other,
            (None, Some(_)) => other,
            _ => self,
        }
    }
}

/// Why there is no bound where an audit came to an infinite one.
const NOT_FINITE: &str = "no finite bound";

/// A two-sided bound of log p(x). It can be read and not changed.
/// ```compile_fail,E0594
/// fn forge(mut interval: provi::certificate::Interval) {
///     interval.lower = Some(0.0);
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Interval(pub(crate) IntervalFields);

read_only!(Interval, IntervalFields);

/// What an [`Interval`] says.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct IntervalFields {
    /// log p(x) is at least this.
    pub lower: Option<f64>,
    /// log p(x) is at most this.
    pub upper: Option<f64>,
    /// With which probability over the audit's draws both hold.
    pub confidence: Option<f64>,
    /// The ledger key.
    pub key: Option<String>,
    /// The weakest origin of its constants.
    pub provenance: Option<Provenance>,
    /// Why a side is missing.
    pub reason: Option<String>,
}

impl Interval {
    pub(crate) fn missing(reason: &str) -> Self {
        Self(IntervalFields {
            lower: None,
            upper: None,
            confidence: None,
            key: None,
            provenance: None,
            reason: Some(reason.into()),
        })
    }

    fn only_finite(&mut self) {
        let fields = &mut self.0;
        fields.lower = fields.lower.filter(|x| x.is_finite());
        fields.upper = fields.upper.filter(|x| x.is_finite());
        if (fields.lower.is_none() || fields.upper.is_none()) && fields.reason.is_none() {
            fields.reason = Some(NOT_FINITE.to_owned());
        }
    }
}

/// How far one coordinate's posterior mean and standard deviation can be from q's.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct MomentStatement {
    /// The coordinate.
    pub name: String,
    /// |E_p − E_q|.
    pub mean_error: Statement,
    /// |sd_p − sd_q|.
    pub sd_error: Statement,
}

/// The numbers a certificate rests on, for the reader who checks.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Grounds {
    /// δ of this look, shared by every statement printed together.
    pub failure_probability: f64,
    /// Fresh draws used.
    pub draws: u64,
    /// Evaluations of log p with its gradient, pilot included.
    pub evaluations: u64,
    /// μ = λ_min(H_lo).
    pub convexity: Option<f64>,
    /// ‖G‖, the exact gradient in the dual norm of H_lo.
    pub gradient_norm: Option<f64>,
    /// The mean of ‖ŝ‖² in the H_lo metric, and its Lipschitz constant L.
    pub global_fisher_mean: Option<f64>,
    /// L of the global statement.
    pub global_lipschitz: Option<f64>,
    /// R, the radius of the ball.
    pub radius: Option<f64>,
    /// The mean of ‖ŝ‖² on the ball, in the H_R metric.
    pub local_fisher_mean: Option<f64>,
    /// L of the local statement.
    pub local_lipschitz: Option<f64>,
    /// λ_min(H_R), in coordinates where q is standard.
    pub local_convexity: Option<f64>,
    /// T_0: p outside the ball over p inside, at most.
    pub outside: Option<f64>,
    /// The mean of Ĝ, where the transport route ran.
    #[cfg_attr(feature = "serde", serde(default))]
    pub transport_mean: Option<f64>,
    /// L of the transport statement.
    #[cfg_attr(feature = "serde", serde(default))]
    pub transport_lipschitz: Option<f64>,
}

/// What holds about an answer, on what grounds.
///
/// `gap` is the distance to the best Gaussian, `kl` the distance to the posterior: a small gap says nothing
/// about the second.
///
/// It can be read, and withdrawn, and not changed.
/// ```compile_fail,E0594
/// fn forge(mut certificate: provi::Certificate, better: provi::certificate::Statement) {
///     certificate.kl = better;
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Certificate(pub(crate) CertificateFields);

read_only!(Certificate, CertificateFields);

/// What a [`Certificate`] says.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CertificateFields {
    /// f(w) − f*, nats.
    pub gap: Statement,
    /// KL(q‖p), nats.
    pub kl: Statement,
    /// TV(q, p).
    pub tv: Statement,
    /// log p(x).
    pub evidence: Interval,
    /// Every coordinate's mean and sd.
    pub moments: Vec<MomentStatement>,
    /// The numbers behind.
    pub grounds: Grounds,
}

impl Certificate {
    /// A certificate that claims nothing, and says why.
    pub fn nothing(names: &[String], reason: &str) -> Self {
        let none = || Statement::missing(reason);
        Self(CertificateFields {
            gap: none(),
            kl: none(),
            tv: none(),
            evidence: Interval::missing(reason),
            moments: names
                .iter()
                .map(|name| MomentStatement { name: name.clone(), mean_error: none(), sd_error: none() })
                .collect(),
            grounds: Grounds::default(),
        })
    }

    /// The same without bounds that are not finite: they bound nothing, and a file has no word for them.
    pub fn only_finite(mut self) -> Self {
        let c = &mut self.0;
        [&mut c.gap, &mut c.kl, &mut c.tv].into_iter().for_each(Statement::only_finite);
        let moments = c.moments.iter_mut().flat_map(|m| [&mut m.mean_error, &mut m.sd_error]);
        moments.for_each(Statement::only_finite);
        c.evidence.only_finite();
        self
    }

    /// Withdraws every statement, as when a declared constant is seen to be wrong.
    pub fn revoke(&mut self, reason: &str) {
        let names: Vec<String> = self.moments.iter().map(|m| m.name.clone()).collect();
        let grounds = std::mem::take(&mut self.0.grounds);
        *self = Self::nothing(&names, reason);
        self.0.grounds = grounds;
    }

    /// The smaller bound of f(w) − f*, with its own confidence: `gap`, or `kl`, since
    /// ```text
    /// f(w) − f* = KL(q‖p) − KL(q*‖p) ≤ KL(q‖p)
    /// ```
    /// so that a gap is never shown above the KL beside it.
    pub fn smallest_gap(&self) -> &Statement {
        match (self.gap.bound, self.kl.bound) {
            (Some(gap), Some(kl)) if kl < gap => &self.kl,
            (None, Some(_)) => &self.kl,
            _ => &self.gap,
        }
    }

    /// Whether f − f* ≤ `accuracy` is proved.
    pub fn proves_gap(&self, accuracy: f64) -> bool {
        self.smallest_gap().bound.is_some_and(|bound| bound <= accuracy)
    }
}

/// Five lines: gap, KL, TV, moments, evidence.
impl fmt::Display for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        line(f, "gap to the best Gaussian", "nats", self.smallest_gap())?;
        line(f, "KL to the posterior", "nats", &self.kl)?;
        line(f, "total variation", "", &self.tv)?;
        let worst = |pick: fn(&MomentStatement) -> &Statement| {
            self.moments
                .iter()
                .map(pick)
                .max_by(|a, b| {
                    let size = |s: &Statement| s.bound.unwrap_or(f64::INFINITY);
                    size(a).total_cmp(&size(b))
                })
                .cloned()
        };
        let (mean, sd) = (worst(|m| &m.mean_error), worst(|m| &m.sd_error));
        let bounds = |s: &Option<Statement>| s.as_ref().and_then(|s| s.bound);
        match (&mean, &sd, bounds(&mean), bounds(&sd)) {
            (_, Some(s), Some(mean), Some(sd)) => writeln!(
                f,
                "{:<26}every mean within {}, every sd within {}   {}",
                "moments",
                printed::upper(mean),
                printed::upper(sd),
                ground(s)
            )?,
            (Some(s), ..) => line(f, "moments", "", s)?,
            _ => {}
        }
        match (self.evidence.lower, self.evidence.upper) {
            (Some(lower), Some(upper)) => {
                let (lower, upper) = (printed::lowered_at(lower, 6), printed::raised_at(upper, 6));
                let s = Statement(StatementFields {
                    bound: Some(upper),
                    confidence: self.evidence.confidence,
                    key: self.evidence.key.clone(),
                    provenance: self.evidence.provenance,
                    reason: None,
                });
                write!(f, "{:<26}between {lower:.6} and {upper:.6}   {}", "log evidence", ground(&s))
            }
            (Some(lower), None) => write!(
                f,
                "{:<26}at least {:.6}, no upper bound: {}",
                "log evidence",
                printed::lowered_at(lower, 6),
                self.evidence.reason.as_deref().unwrap_or("none")
            ),
            _ => write!(
                f,
                "{:<26}not proved: {}",
                "log evidence",
                self.evidence.reason.as_deref().unwrap_or("no bound")
            ),
        }
    }
}

fn line(f: &mut fmt::Formatter<'_>, what: &str, unit: &str, s: &Statement) -> fmt::Result {
    match s.bound {
        Some(bound) => {
            let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
            writeln!(f, "{what:<26}≤ {}{unit}   {}", printed::upper(bound), ground(s))
        }
        None => writeln!(f, "{what:<26}not proved: {}", s.reason.as_deref().unwrap_or("no bound")),
    }
}

/// "proved, confidence 1 − 1e-6 [local-kl]".
fn ground(s: &Statement) -> String {
    let provenance = s.provenance.map_or(String::new(), |p| p.to_string());
    let confidence = match s.confidence {
        Some(c) if c < 1.0 => format!(", confidence 1 − {:.0e}", 1.0 - c),
        _ => String::new(),
    };
    format!("{provenance}{confidence} [{}]", s.key.as_deref().unwrap_or(""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gap_is_never_shown_above_the_kl() {
        let mut c = Certificate::nothing(&["a".into()], "none");
        c.0.gap = Statement::proved(0.5, 1.0, "cert-gap", Provenance::Proved);
        c.0.kl = Statement::proved(0.2, 0.99, "cert-kl", Provenance::Proved);
        assert_eq!(c.smallest_gap(), &c.kl);
        assert!(c.proves_gap(0.3) && !c.proves_gap(0.1));
        let first = c.to_string().lines().next().unwrap().to_owned();
        assert!(first.contains("≤ 0.2") && first.contains("confidence 1 − 1e-2 [cert-kl]"), "{first}");
        // A gap below the KL keeps its certainty.
        c.0.gap = Statement::proved(0.1, 1.0, "cert-gap", Provenance::Proved);
        assert_eq!(c.smallest_gap(), &c.gap);
    }

    #[test]
    fn a_revoked_certificate_claims_nothing() {
        let mut c = Certificate::nothing(&["a".into()], "none");
        c.0.gap = Statement::proved(0.1, 1.0, "cert-gap", Provenance::Declared);
        assert!(c.proves_gap(0.2) && !c.proves_gap(0.05));
        c.revoke("seen curvature 5 above the declared M = 4");
        assert!(!c.proves_gap(0.2));
        assert!(c.to_string().contains("above the declared M"));
        assert_eq!(c.to_string().lines().count(), 5);
    }
}

//! What is proved about an answer: each statement with its number, its confidence and its grounds.
//!
//! A certificate can be read but not changed, so that only an audit makes a claim. There is one intended exception:
//! with the feature `serde` a certificate is read back from a file. Such a claim is the file's and not verified; to
//! check it, audit again, as `provi certify` does.

mod family;
#[cfg(feature = "serde")]
mod file;
mod sparse;

pub use family::FamilyGap;

use crate::base::error::{Error, Result};
use crate::base::printed;
use crate::target::curvature::Provenance;
use std::fmt;

/// Gives read-only access to the second type through the first.
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

/// One proved bound, or the reason why there is none.
/// ```
/// # use provi::certificate::Statement;
/// fn say(statement: &Statement) -> String {
///     match statement {
///         Statement::Proved(bound) => format!("at most {} by [{}]", bound.value(), bound.key()),
///         Statement::NotProved { reason } => format!("nothing: {reason}"),
///     }
/// }
/// ```
/// Any code may construct "not proved". A [`Bound`] comes only from an audit, or from a file as that file's claim.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(into = "file::Statement", try_from = "file::Statement"))]
pub enum Statement {
    /// A bound is proved.
    Proved(Bound),
    /// Nothing is proved.
    NotProved {
        /// Why nothing is proved.
        reason: String,
    },
}

/// A bound, with its confidence and its grounds. It can be read but not changed.
/// ```compile_fail,E0616
/// fn forge(mut bound: provi::certificate::Bound) {
///     bound.value = 1e-9;
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    value: f64,
    confidence: f64,
    key: String,
    provenance: Provenance,
}

impl Bound {
    /// The bound itself.
    pub fn value(&self) -> f64 {
        self.value
    }

    /// The probability over the audit's draws with which it holds; 1 for a deterministic bound.
    pub fn confidence(&self) -> f64 {
        self.confidence
    }

    /// The ledger key of the theorem that gave the smallest bound.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The weakest origin of its constants.
    pub fn provenance(&self) -> Provenance {
        self.provenance
    }
}

impl Bound {
    /// "proved, confidence 1 − 1e-6 [local-kl]": the grounds without the number, because rounding the number
    /// depends on its side.
    pub(crate) fn grounds(&self) -> String {
        let confidence = match self.confidence {
            c if c < 1.0 => format!(", confidence 1 − {:.0e}", 1.0 - c),
            _ => String::new(),
        };
        format!("{}{confidence} [{}]", self.provenance, self.key)
    }
}

impl Statement {
    pub(crate) fn proved(bound: f64, confidence: f64, key: &str, provenance: Provenance) -> Self {
        Self::Proved(Bound { value: bound, confidence, key: key.into(), provenance })
    }

    pub(crate) fn missing(reason: &str) -> Self {
        Self::NotProved { reason: reason.into() }
    }

    /// The bound with its grounds, if one is proved.
    pub fn proof(&self) -> Option<&Bound> {
        match self {
            Self::Proved(bound) => Some(bound),
            Self::NotProved { .. } => None,
        }
    }

    /// The number alone, if a bound is proved.
    pub fn bound(&self) -> Option<f64> {
        self.proof().map(Bound::value)
    }

    /// The confidence, if a bound is proved.
    pub fn confidence(&self) -> Option<f64> {
        self.proof().map(Bound::confidence)
    }

    /// The ledger key, if a bound is proved.
    pub fn key(&self) -> Option<&str> {
        self.proof().map(Bound::key)
    }

    /// The weakest origin of its constants, if a bound is proved.
    pub fn provenance(&self) -> Option<Provenance> {
        self.proof().map(Bound::provenance)
    }

    /// Why no bound is proved.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Proved(_) => None,
            Self::NotProved { reason } => Some(reason),
        }
    }

    /// The same grounds with another number.
    pub(crate) fn with_bound(mut self, value: f64) -> Self {
        if let Self::Proved(bound) = &mut self {
            bound.value = value;
        }
        self
    }

    /// Replaces a bound that is not finite by "not proved".
    fn only_finite(&mut self) {
        if self.bound().is_some_and(|bound| !bound.is_finite()) {
            *self = Self::missing(NOT_FINITE);
        }
    }

    /// The smaller of two bounds that hold together.
    pub(crate) fn or_better(self, other: Self) -> Self {
        match (self.bound(), other.bound()) {
            (Some(a), Some(b)) if b < a => other,
            (None, Some(_)) => other,
            _ => self,
        }
    }
}

/// "≤ 0.013   proved, confidence 1 − 1e-6 [local-kl]", or "not proved: …".
impl fmt::Display for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, "")
    }
}

impl Statement {
    fn write(&self, f: &mut fmt::Formatter<'_>, unit: &str) -> fmt::Result {
        match self {
            Self::Proved(bound) => {
                write!(f, "≤ {}{unit}   {}", printed::upper(bound.value), bound.grounds())
            }
            Self::NotProved { reason } => write!(f, "not proved: {reason}"),
        }
    }
}

/// The reason given if an audit's bound is infinite.
const NOT_FINITE: &str = "no finite bound";

/// The reason given if a lower bound is above the upper one.
const CONTRADICTION: &str =
    "its two sides contradict each other: the density and what else is known about the model disagree";

/// Sides that cross by less than this, relatively, do so by rounding.
const CROSSING: f64 = 1e-12;

/// A two-sided bound of log p(x): one statement for each side. It can be read but not changed.
/// ```compile_fail,E0616
/// fn forge(mut interval: provi::certificate::Interval, better: provi::certificate::Statement) {
///     interval.lower = better;
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(into = "file::Interval", try_from = "file::Interval"))]
pub struct Interval {
    lower: Statement,
    upper: Statement,
}

impl Interval {
    /// From both sides, each with its grounds or its reason. Sides that cross cannot both hold, as when a density and its expectations
    /// disagree: then neither is stated.
    pub(crate) fn new(lower: Statement, upper: Statement) -> Self {
        match (lower.bound(), upper.bound()) {
            (Some(low), Some(high)) if low > high + CROSSING * (1.0 + low.abs()) => {
                Self::missing(CONTRADICTION)
            }
            _ => Self { lower, upper },
        }
    }

    pub(crate) fn missing(reason: &str) -> Self {
        Self::new(Statement::missing(reason), Statement::missing(reason))
    }

    /// The statements of the lower and the upper side.
    pub fn sides(&self) -> [&Statement; 2] {
        [&self.lower, &self.upper]
    }

    /// log p(x) is at least this.
    pub fn lower(&self) -> Option<f64> {
        self.lower.bound()
    }

    /// log p(x) is at most this.
    pub fn upper(&self) -> Option<f64> {
        self.upper.bound()
    }

    /// The probability over the audit's draws with which the proved sides hold together.
    pub fn confidence(&self) -> Option<f64> {
        self.proofs().map(Bound::confidence).reduce(f64::min)
    }

    /// The ledger key.
    pub fn key(&self) -> Option<&str> {
        self.proofs().map(Bound::key).last()
    }

    /// The weakest origin of its constants.
    pub fn provenance(&self) -> Option<Provenance> {
        self.proofs().map(Bound::provenance).reduce(Provenance::weakest)
    }

    /// Why a side is missing.
    pub fn reason(&self) -> Option<&str> {
        self.upper.reason().or(self.lower.reason())
    }

    fn proofs(&self) -> impl Iterator<Item = &Bound> {
        self.sides().into_iter().filter_map(Statement::proof)
    }

    fn only_finite(&mut self) {
        self.lower.only_finite();
        self.upper.only_finite();
    }
}

/// "between −51.2 and −51.1   proved, confidence 1 − 1e-6 [cert-evidence]".
impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at_least = |lower: &Bound| printed::lowered_at(lower.value, 6);
        match (&self.lower, &self.upper) {
            (Statement::Proved(lower), Statement::Proved(upper)) => {
                let most = printed::raised_at(upper.value, 6);
                write!(f, "between {:.6} and {most:.6}   {}", at_least(lower), upper.grounds())
            }
            (Statement::Proved(lower), Statement::NotProved { reason }) => {
                write!(f, "at least {:.6}, no upper bound: {reason}", at_least(lower))
            }
            (Statement::NotProved { reason }, _) => write!(f, "not proved: {reason}"),
        }
    }
}

/// Bounds on how far one coordinate's posterior mean and standard deviation can be from q's.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct MomentStatement {
    /// The coordinate.
    pub name: String,
    /// Bound of |E_p − E_q|.
    pub mean_error: Statement,
    /// Bound of |sd_p − sd_q|.
    pub sd_error: Statement,
}

/// The numbers on which a certificate rests, for a reader who checks it.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Grounds {
    /// δ of this look, shared by all statements of the certificate.
    pub failure_probability: f64,
    /// Fresh draws used.
    pub draws: u64,
    /// Evaluations of log p with its gradient, including the pilot.
    pub evaluations: u64,
    /// μ = λ_min(H_lo).
    pub convexity: Option<f64>,
    /// ‖G‖, the exact gradient in the dual norm of H_lo.
    pub gradient_norm: Option<f64>,
    /// The mean of ‖ŝ‖² in the H_lo metric.
    pub global_fisher_mean: Option<f64>,
    /// The Lipschitz constant L of the global statement.
    pub global_lipschitz: Option<f64>,
    /// R, the radius of the ball.
    pub radius: Option<f64>,
    /// The mean of ‖ŝ‖² on the ball, in the H_R metric.
    pub local_fisher_mean: Option<f64>,
    /// The Lipschitz constant L of the local statement.
    pub local_lipschitz: Option<f64>,
    /// λ_min(H_R), in coordinates where q is standard.
    pub local_convexity: Option<f64>,
    /// T_0: an upper bound of p(outside the ball)/p(inside).
    pub outside: Option<f64>,
    /// The mean of Ĝ, if the transport route was used.
    #[cfg_attr(feature = "serde", serde(default))]
    pub transport_mean: Option<f64>,
    /// The Lipschitz constant L of the transport statement.
    #[cfg_attr(feature = "serde", serde(default))]
    pub transport_lipschitz: Option<f64>,
    /// Draws in addition to `draws` that measured the mass of p, if it was measured.
    #[cfg_attr(feature = "serde", serde(default))]
    pub mass_draws: Option<u64>,
}

impl Grounds {
    /// All fresh draws.
    pub fn all_draws(&self) -> u64 {
        self.draws.saturating_add(self.mass_draws.unwrap_or(0))
    }

    /// The limit on draws with which an audit spends as many.
    pub fn limit(&self) -> u64 {
        let of_mass = self.mass_draws.unwrap_or(0) as f64 / DRAWS_OF_MASS;
        self.draws.max(of_mass.ceil() as u64)
    }
}

/// The most draws that measure the mass of p, for each draw that an audit may spend: most of them need at most one evaluation. They are made
/// only where a pilot foresees that they narrow the bound.
pub(crate) const DRAWS_OF_MASS: f64 = 11.6;

/// What is proved about an answer, and on what grounds.
///
/// `gap` is the distance to the best Gaussian, `kl` the distance to the posterior: a small gap says nothing
/// about the second.
///
/// It can be read and withdrawn, but not changed.
/// ```compile_fail,E0594
/// fn forge(mut certificate: provi::Certificate, better: provi::certificate::Statement) {
///     certificate.kl = better;
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Certificate(pub(crate) CertificateFields);

read_only!(Certificate, CertificateFields);

/// The contents of a [`Certificate`].
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct CertificateFields {
    /// Bound of f(w) − f*, in nats: f* is the least of all Gaussians.
    pub gap: Statement,
    /// What is proved within the family in which q was sought, if that is not every Gaussian.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub family: Option<FamilyGap>,
    /// Bound of KL(q‖p), in nats.
    pub kl: Statement,
    /// Bound of the total variation distance TV(q, p), between 0 and 1.
    pub tv: Statement,
    /// Bounds of log p(x), in nats.
    pub evidence: Interval,
    /// Bounds of the errors of every coordinate's mean and sd.
    pub moments: Vec<MomentStatement>,
    /// The numbers on which the statements rest.
    pub grounds: Grounds,
}

impl Certificate {
    /// A certificate that proves nothing, with the reason.
    pub fn nothing(names: &[String], reason: &str) -> Self {
        let none = || Statement::missing(reason);
        Self(CertificateFields {
            gap: none(),
            family: None,
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

    /// The errors of a coordinate's mean and sd, of `dim`. A certificate that lists no coordinates proves nothing of any.
    pub(crate) fn moment_errors(&self, index: usize, dim: usize) -> Result<[Statement; 2]> {
        match self.moments.get(index) {
            Some(moment) if index < dim => Ok([moment.mean_error.clone(), moment.sd_error.clone()]),
            None if index < dim && self.moments.is_empty() => {
                let none = || {
                    Statement::missing(self.kl.reason().unwrap_or("the certificate lists no coefficients"))
                };
                Ok([none(), none()])
            }
            _ => Err(Error::Index { what: "coordinates", index, length: dim.min(self.moments.len()) }),
        }
    }

    /// The same without bounds that are not finite: they prove nothing, and a file cannot hold them.
    pub fn only_finite(mut self) -> Self {
        let c = &mut self.0;
        [&mut c.gap, &mut c.kl, &mut c.tv].into_iter().for_each(Statement::only_finite);
        let moments = c.moments.iter_mut().flat_map(|m| [&mut m.mean_error, &mut m.sd_error]);
        moments.for_each(Statement::only_finite);
        c.evidence.only_finite();
        if let Some(family) = &mut c.family {
            family.gap.only_finite();
        }
        self
    }

    /// Withdraws every statement, for example because a declared constant proved wrong.
    pub fn revoke(&mut self, reason: &str) {
        let names: Vec<String> = self.moments.iter().map(|m| m.name.clone()).collect();
        let grounds = std::mem::take(&mut self.0.grounds);
        let family = self.0.family.take().map(|family| family.name);
        *self = Self::nothing(&names, reason);
        self.0.grounds = grounds;
        self.0.family = family.map(|name| FamilyGap::new(name, Statement::missing(reason)));
    }

    /// The smaller bound of f(w) − f*, with its own confidence: that of `gap`, or that of `kl`, since
    /// ```text
    /// f(w) − f* = KL(q‖p) − KL(q*‖p) ≤ KL(q‖p)
    /// ```
    /// so that a printed gap never exceeds the printed KL.
    ///
    /// The KL of a mixture over scales [scale-mixture] says nothing about a best Gaussian.
    pub fn smallest_gap(&self) -> &Statement {
        if self.is_of_mixture() {
            return &self.gap;
        }
        match (self.gap.bound(), self.kl.bound()) {
            (Some(gap), Some(kl)) if kl < gap => &self.kl,
            (None, Some(_)) => &self.kl,
            _ => &self.gap,
        }
    }

    /// Whether it is about a mixture over scales.
    pub fn is_of_mixture(&self) -> bool {
        self.kl.key() == Some("scale-mixture") || self.evidence.key() == Some("scale-mixture")
    }

    /// The bound of f(w) − f* for the family in which q was sought.
    pub fn own_gap(&self) -> &Statement {
        self.family.as_ref().map_or_else(|| self.smallest_gap(), |family| &family.gap)
    }

    /// Whether f − f* ≤ `accuracy` is proved, f* being the least of the family in which q was sought.
    pub fn proves_gap(&self, accuracy: f64) -> bool {
        self.own_gap().bound().is_some_and(|bound| bound <= accuracy)
    }
}

/// Five lines: gap, KL, TV, moments, evidence; two more for a family.
impl fmt::Display for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(family) = &self.family {
            writeln!(f, "{:<26}{}", "family of q", family.name)?;
            line(f, "gap to the best of it", " nats", &family.gap)?;
        }
        line(f, "gap to the best Gaussian", " nats", self.smallest_gap())?;
        line(f, "KL to the posterior", " nats", &self.kl)?;
        line(f, "total variation", "", &self.tv)?;
        let worst = |pick: fn(&MomentStatement) -> &Statement| {
            let size = |s: &&Statement| s.bound().unwrap_or(f64::INFINITY);
            self.moments.iter().map(pick).max_by(|a, b| size(a).total_cmp(&size(b)))
        };
        match (worst(|m| &m.mean_error), worst(|m| &m.sd_error)) {
            (Some(Statement::Proved(mean)), Some(Statement::Proved(sd))) => writeln!(
                f,
                "{:<26}every mean within {}, every sd within {}   {}",
                "moments",
                printed::upper(mean.value),
                printed::upper(sd.value),
                sd.grounds()
            )?,
            (Some(mean @ Statement::NotProved { .. }), _) => line(f, "moments", "", mean)?,
            (_, Some(sd)) => line(f, "moments", "", sd)?,
            (_, None) => {
                line(f, "moments", "", &Statement::missing(self.kl.reason().unwrap_or("none are listed")))?
            }
        }
        write!(f, "{:<26}{}", "log evidence", self.evidence)
    }
}

fn line(f: &mut fmt::Formatter<'_>, what: &str, unit: &str, s: &Statement) -> fmt::Result {
    write!(f, "{what:<26}")?;
    s.write(f, unit)?;
    writeln!(f)
}

#[cfg(test)]
mod tests;

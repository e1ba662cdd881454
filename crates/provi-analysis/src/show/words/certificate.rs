//! The certificate in words: a headline, its statements, and the probability they share.

use provi::certificate::{Certificate, MomentStatement, Statement};
use provi::estimate::Reliability;
use provi::{Provenance, certificate::Interval};

use serde::Serialize;

use crate::number::{at_least, bound, decimals, grouped, outward_pair};
use crate::record::fit_file::{EstimatesRecord, FitFile};

/// A KL bound above this says little: TV can be nearly ¼. Above the next number it says nothing.
const LITTLE: f64 = 0.1;
const NOTHING: f64 = 1.0;
/// A lower bound of the KL below this part of the upper one says next to nothing.
const TELLING: f64 = 0.1;
/// If the gap is at most this, the optimum counts as found.
const OPTIMUM: f64 = 1e-3;

/// What a certificate is about, so that nobody takes it as praise of the model.
pub const SCOPE: &str =
    "about the computation, given this model and prior: it does not say that they suit the data";

/// A certificate in words, for shells that only render.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CertificateWords {
    /// Whether the optimum was found, and how near the posterior it is proved to be.
    pub headline: String,
    /// How much the KL bound says.
    pub tightness: Tightness,
    /// What the certificate is about, and what not.
    pub scope: &'static str,
    /// What all statements are conditional on.
    pub condition: Option<String>,
    /// The five statements, after that about the family of q if it has one.
    pub statements: Vec<StatementWords>,
    /// The probability that the sampled statements share; `None` if all are certain.
    pub probability: Option<String>,
}

/// One statement.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StatementWords {
    /// What is bounded.
    pub what: &'static str,
    /// The bound; `None` if nothing is proved.
    pub value: Option<String>,
    /// The ledger key and the origin of its constants; or why nothing is proved.
    pub grounds: String,
}

impl CertificateWords {
    /// From a certificate; `least` is a lower bound of the KL ([`FitFile::least_kl`]), `condition` what all of it is conditional on.
    pub fn new(
        c: &Certificate,
        least: Option<f64>,
        estimates: Option<&EstimatesRecord>,
        condition: Option<String>,
    ) -> Self {
        let words = |(what, row): (&'static str, Row)| match row {
            Ok((value, grounds)) => StatementWords { what, value: Some(value), grounds },
            Err(reason) => StatementWords { what, value: None, grounds: reason },
        };
        Self {
            headline: headline(c, estimates),
            tightness: tightness(c),
            scope: SCOPE,
            condition,
            statements: rows(c, least).into_iter().map(words).collect(),
            probability: probability(c),
        }
    }
}

impl FitFile {
    /// Whether anything is proved about the distance to the posterior or to the best Gaussian.
    pub fn is_certified(&self) -> bool {
        let any = |c: &Certificate| c.own_gap().bound().is_some() || c.kl.bound().is_some();
        self.certificate.as_ref().is_some_and(any)
    }

    /// A lower bound of KL(q‖p) = log p(x) − ELBO, if the ELBO is exact and the evidence bounded from below. It holds where the evidence's does.
    pub fn least_kl(&self) -> Option<f64> {
        let lower = self.certificate.as_ref()?.evidence.lower().filter(|_| self.neg_elbo_exact)?;
        // A sum of numbers that nearly cancel.
        let lost = self.neg_elbo_error + 4.0 * f64::EPSILON * (lower.abs() + self.neg_elbo.abs());
        Some(lower + self.neg_elbo - lost).filter(|least| *least > 0.0)
    }
}

/// The five statements, in their order, after that about the family of q if it has one. The KL has two sides where `least`
/// says something.
pub fn rows(c: &Certificate, least: Option<f64>) -> Vec<(&'static str, Row)> {
    let family = c.family.as_ref().map(|family| ("gap to best of family", value(&family.gap, " nats")));
    let all = [
        ("gap to best Gaussian", value(c.smallest_gap(), " nats")),
        ("KL to posterior", kl(&c.kl, least)),
        ("total variation", value(&c.tv, "")),
        ("moments", moments(&c.moments)),
        ("log evidence", evidence(&c.evidence)),
    ];
    family.into_iter().chain(all).collect()
}

/// How much a KL bound says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Tightness {
    /// The bound is small.
    Tight,
    /// The bound says little.
    Loose,
    /// The bound says almost nothing, or there is none.
    Nothing,
}

/// How much the certificate's own KL bound says.
pub fn tightness(c: &Certificate) -> Tightness {
    match c.kl.bound() {
        Some(kl) if kl <= LITTLE => Tightness::Tight,
        Some(kl) if kl <= NOTHING => Tightness::Loose,
        _ => Tightness::Nothing,
    }
}

/// Whether the optimum was found and how near the posterior the answer is proved to be; if that is not near, what
/// the estimates say.
pub fn headline(c: &Certificate, estimates: Option<&EstimatesRecord>) -> String {
    if c.is_of_mixture() {
        return match c.kl.bound() {
            Some(kl) => format!(
                "Scales integrated over, by a sum that stands still. At its nodes: within {} nats of the posterior.",
                bound(kl, 3)
            ),
            None => "Scales integrated over, by a sum that stands still. At its nodes: accuracy not proved."
                .to_owned(),
        };
    }
    let gap = match (&c.family, c.own_gap().bound()) {
        (Some(family), Some(gap)) if gap <= OPTIMUM => {
            format!("Optimum of the family {} found.", family.name)
        }
        (Some(family), Some(gap)) => {
            format!("Within {} nats of the best Gaussian of the family {}.", bound(gap, 3), family.name)
        }
        (Some(family), None) => format!("Not proved to be the best Gaussian of the family {}.", family.name),
        (None, gap) => of_all(gap),
    };
    let estimate = estimates.and_then(estimated).map_or(String::new(), |kl| format!("; estimated {kl}"));
    let kl = match c.kl.bound() {
        Some(kl) if kl <= LITTLE => format!("Within {} nats of the posterior.", bound(kl, 3)),
        Some(kl) if kl <= NOTHING => {
            format!("Within {} nats of the posterior, a loose bound{estimate}.", bound(kl, 3))
        }
        Some(kl) => format!("Accuracy not proved (KL ≤ {}){estimate}.", bound(kl, 3)),
        None => format!("Accuracy not proved (no bound of the KL){estimate}."),
    };
    format!("{gap} {kl}")
}

fn of_all(gap: Option<f64>) -> String {
    match gap {
        Some(gap) if gap <= OPTIMUM => "Optimum found.".to_owned(),
        Some(gap) => format!("Within {} nats of the best Gaussian.", bound(gap, 3)),
        None => "Not proved to be the best Gaussian.".to_owned(),
    }
}

/// The estimated KL with two digits, and a warning if its weights say that it can be far off.
fn estimated(e: &EstimatesRecord) -> Option<String> {
    // An estimate near zero may be negative.
    let kl = e.kl?.max(0.0);
    let shown = match kl {
        kl if kl >= 1e-3 => format!("{kl:.*}", decimals(kl).saturating_sub(1)),
        kl => format!("{kl:.1e}"),
    };
    Some(format!("KL {shown}{}", if is_unreliable(e) { ", unreliable" } else { "" }))
}

/// Whether the importance weights are too uneven or too few for the estimates to be trusted.
pub fn is_unreliable(e: &EstimatesRecord) -> bool {
    // Equal weights have no tail to fit, and so no k̂; nearly equal ones have a tail of little weight.
    let said = e.reliability.as_deref();
    let exact = [Reliability::Exact, Reliability::Even].iter().any(|r| said == Some(&r.to_string()));
    let verdict = e.pareto_k.map_or(Reliability::Unknown, |k| Reliability::new(k, e.draws));
    !exact && matches!(verdict, Reliability::Unreliable | Reliability::Unknown)
}

/// What k̂ says about the estimates. If the KL is proved to be small, a heavy tail is no warning, because nothing
/// that is proved depends on it.
pub fn tail(c: Option<&Certificate>, e: &EstimatesRecord) -> Option<String> {
    let said = e.reliability.clone()?;
    let proved = c.and_then(|c| c.kl.bound()).is_some_and(|kl| kl <= LITTLE);
    let verdict = e.pareto_k.map_or(Reliability::Unknown, |k| Reliability::new(k, e.draws));
    let doubtful = matches!(verdict, Reliability::Usable | Reliability::Unreliable);
    Some(match proved && doubtful {
        true => "no alarm: it is about these estimates alone, and no bound above rests on them".to_owned(),
        false => said,
    })
}

/// If the estimated KL is above this many nats, the Gaussian is poor, whether proved or not.
const POOR: f64 = 1.0;

/// Whether to warn the reader: nothing is proved, and the estimates are bad, unreliable or missing.
pub fn is_trouble(c: &Certificate, estimates: Option<&EstimatesRecord>) -> bool {
    let fine = |e: &EstimatesRecord| !is_unreliable(e) && e.kl.is_some_and(|kl| kl <= POOR);
    tightness(c) == Tightness::Nothing && !estimates.is_some_and(fine)
}

/// A value with its grounds, or the reason why there is none.
pub type Row = Result<(String, String), String>;

fn value(s: &Statement, unit: &str) -> Row {
    match s.bound() {
        Some(x) => Ok((format!("≤ {}{unit}", bound(x, 3)), grounds(s))),
        None => Err(reason(s.reason())),
    }
}

/// Both sides, unless the lower one says next to nothing.
fn kl(s: &Statement, least: Option<f64>) -> Row {
    match (s.bound(), least) {
        (Some(most), Some(least)) if least > TELLING * most && least <= most => {
            Ok((format!("{} to {} nats", at_least(least, 3), bound(most, 3)), grounds(s)))
        }
        _ => value(s, " nats"),
    }
}

fn moments(moments: &[MomentStatement]) -> Row {
    let worst = |pick: fn(&MomentStatement) -> &Statement| {
        let size = |s: &Statement| s.bound().unwrap_or(f64::INFINITY);
        moments.iter().map(pick).max_by(|a, b| size(a).total_cmp(&size(b)))
    };
    let (Some(mean), Some(sd)) = (worst(|m| &m.mean_error), worst(|m| &m.sd_error)) else {
        return Err("none are listed, as nothing is known of the KL".to_owned());
    };
    match (mean.bound(), sd.bound()) {
        (Some(mean), Some(sd_bound)) => {
            Ok((format!("means ± {}, sds ± {}", bound(mean, 3), bound(sd_bound, 3)), grounds(sd)))
        }
        (None, _) => Err(reason(mean.reason())),
        _ => Err(reason(sd.reason())),
    }
}

fn evidence(e: &Interval) -> Row {
    match (e.lower(), e.upper()) {
        (Some(lower), Some(upper)) => {
            let places = decimals(upper - lower).clamp(2, 8);
            let [low, high] = outward_pair(Some(lower), Some(upper), places);
            Ok((format!("{low} to {high}"), key(e.key(), e.provenance())))
        }
        (Some(lower), None) => {
            let [low, _] = outward_pair(Some(lower), None, 4);
            Err(format!("an upper bound ({}); at least {low}", reason(e.reason())))
        }
        _ => Err(reason(e.reason())),
    }
}

/// Why there is no bound.
pub fn reason(reason: Option<&str>) -> String {
    reason.unwrap_or("no bound").to_owned()
}

/// "[cert-gap], certain". What rests on estimated constants is not called certain, even if no draw is behind it.
fn grounds(s: &Statement) -> String {
    let certain = s.confidence().is_some_and(|c| c >= 1.0) && s.provenance() != Some(Provenance::Estimated);
    format!("{}{}", key(s.key(), s.provenance()), if certain { ", certain" } else { "" })
}

fn key(key: Option<&str>, provenance: Option<Provenance>) -> String {
    let constants = match provenance {
        None | Some(Provenance::Proved) => String::new(),
        Some(weaker) => format!(", constants {weaker}"),
    };
    format!("[{}]{constants}", key.unwrap_or("no key"))
}

/// The probability that the sampled statements share; `None` if all are certain.
pub fn probability(c: &Certificate) -> Option<String> {
    let sampled =
        [c.own_gap(), c.smallest_gap(), &c.kl, &c.tv].iter().any(|s| s.confidence().is_some_and(|p| p < 1.0));
    sampled.then(|| {
        let what = match c.kl.key() {
            Some("scale-mixture") => "what is said of the nodes holds",
            _ => "holds",
        };
        format!(
            "{what} as a whole with probability 1 − {:e}, over the {} draws of the audit",
            c.grounds.failure_probability,
            grouped(c.grounds.all_draws())
        )
    })
}

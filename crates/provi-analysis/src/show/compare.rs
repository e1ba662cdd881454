//! Models of the same data, compared by bounds of their log evidence.

use provi::Provenance;
use provi::certificate::Interval;
use provi::evidence::{LogBayesFactor, Strength, Verdict};
use serde::Serialize;

use crate::error::{Error, Result};
use crate::record::fit_file::{FitFile, ModelRecord};
use crate::show::words::condition;

/// What the certificates of several fits say about each other.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    schema: &'static str,
    provi: &'static str,
    /// The models; the first has the largest lower bound.
    pub models: Vec<Compared>,
    /// Lower bound of the probability that all bounds hold together.
    pub confidence: f64,
    /// What the numbers are conditional on, where that differs between the fits.
    pub notes: Vec<String>,
}

/// One of the fits.
#[derive(Clone, Debug, Serialize)]
pub struct Compared {
    /// Its name.
    pub fit: String,
    /// The likelihood.
    pub family: String,
    /// The formula.
    pub formula: String,
    /// The family in which q was sought.
    pub family_of_q: String,
    /// Bounds of the log evidence.
    pub evidence: Interval,
    /// log p(x|first) − log p(x|this); `None` for the first.
    pub log_bayes_factor: Option<LogBayesFactor>,
    /// Whether the bounds exclude 0.
    pub decided: Option<bool>,
    /// How much better the first is at least, if that is decided.
    pub strength: Option<Strength>,
    /// The ELBO.
    pub elbo: f64,
    /// By how much the ELBO is below the largest; `None` unless all are fits of one model.
    pub elbo_below: Option<Below>,
}

/// By how many nats the ELBO of a fit is below the largest one, if all are fits of one model. The difference of the KLs to
/// the posterior is the same number, since the evidence is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Below {
    /// The difference.
    pub nats: f64,
    /// A bound of its error if exact, otherwise a standard error.
    pub error: f64,
    /// Whether both ELBOs are computed and not estimated from draws.
    pub exact: bool,
}

/// A fit with its name.
#[derive(Clone, Copy)]
struct Entry<'a> {
    name: &'a str,
    file: &'a FitFile,
    evidence: &'a Interval,
}

impl Comparison {
    /// Compares fits, each with the name by which it is called. Fits of different data are refused, unless `force` is given.
    pub fn new(fits: &[(String, &FitFile)], force: bool) -> Result<Self> {
        let mut entries = Vec::with_capacity(fits.len());
        for (name, file) in fits {
            let Some(certificate) = &file.certificate else {
                return Err(Error::NoCertificate { fit: name.clone() });
            };
            entries.push(Entry { name, file, evidence: &certificate.evidence });
        }
        if !force {
            refuse_other_data(fits)?;
        }
        let notes = notes(&entries);
        let lower = |entry: &Entry<'_>| entry.evidence.lower().unwrap_or(f64::NEG_INFINITY);
        entries.sort_by(|a, b| lower(b).total_cmp(&lower(a)));
        let below = below(&entries);
        let model = |(i, entry): (usize, &Entry<'_>)| {
            let factor = (i > 0).then(|| LogBayesFactor::new(entries[0].evidence, entry.evidence));
            let verdict = factor.as_ref().map(LogBayesFactor::verdict);
            let file = entry.file;
            Compared {
                fit: entry.name.to_owned(),
                family: file.model.family.clone(),
                formula: file.model.formula.clone(),
                family_of_q: file.family_of_q.as_deref().unwrap_or("full").to_owned(),
                evidence: entry.evidence.clone(),
                log_bayes_factor: factor,
                decided: verdict.map(|verdict| verdict != Verdict::Open),
                strength: verdict.and_then(|verdict| match verdict {
                    Verdict::First(strength) | Verdict::Second(strength) => Some(strength),
                    _ => None,
                }),
                elbo: -file.neg_elbo,
                elbo_below: below.as_ref().map(|below| below[i]),
            }
        };
        let failure = |entry: &Entry<'_>| entry.evidence.confidence().map_or(0.0, |c| 1.0 - c);
        Ok(Self {
            schema: "provi-compare/1",
            provi: env!("CARGO_PKG_VERSION"),
            models: entries.iter().enumerate().map(model).collect(),
            confidence: (1.0 - entries.iter().map(failure).sum::<f64>()).max(0.0),
            notes,
        })
    }

    /// Whether these are fits of one model that differ in the family of q.
    pub fn is_of_families(&self) -> bool {
        let differ = self.models.windows(2).any(|pair| pair[0].family_of_q != pair[1].family_of_q);
        differ && self.models.iter().all(|model| model.elbo_below.is_some())
    }
}

/// The left side of a canonical formula.
fn response(file: &FitFile) -> &str {
    file.model.formula.split('~').next().unwrap_or_default().trim()
}

/// Refuses fits of different data, each with its name: neither their evidence nor their predictions of rows can be compared.
pub fn refuse_other_data(fits: &[(String, &FitFile)]) -> Result<()> {
    let [(name, first), others @ ..] = fits else { return Ok(()) };
    for (other_name, other) in others {
        let (a, b) = (&first.model, &other.model);
        let pairs = [
            ("their data's SHA-256", a.data_sha256.clone(), b.data_sha256.clone()),
            ("response", response(first).to_owned(), response(other).to_owned()),
            ("number of rows", a.rows.to_string(), b.rows.to_string()),
            ("weights", weights(a), weights(b)),
            ("the rows they leave out", left_out(a, b), left_out(b, a)),
        ];
        // A program that says nothing about its data leaves an empty digest, which matches none.
        let differ = |(what, one, other): &(&str, String, String)| {
            one != other || (what.ends_with("SHA-256") && one.is_empty())
        };
        if let Some((what, one, other_one)) = pairs.into_iter().find(differ) {
            let (first, second) = (name.clone(), other_name.clone());
            return Err(Error::NotComparable { first, second, what, one, other: other_one });
        }
    }
    Ok(())
}

fn weights(model: &ModelRecord) -> String {
    model.weights().unwrap_or("none").to_owned()
}

/// Which rows a fit leaves out, as text that differs if the rows differ. Files without a digest of their rows name
/// the columns for which rows were left out: the same columns leave out the same rows.
fn left_out(model: &ModelRecord, other: &ModelRecord) -> String {
    let columns: Vec<String> = model
        .dropped
        .columns
        .iter()
        .map(|(column, missing)| format!("{missing} without `{column}`"))
        .collect();
    let columns = if columns.is_empty() { "none".to_owned() } else { columns.join(", ") };
    match (model.rows_sha256.is_empty(), other.rows_sha256.is_empty()) {
        (false, false) if model.rows_sha256 == other.rows_sha256 => String::new(),
        (true, true) if model.dropped.rows == 0 && other.dropped.rows == 0 => String::new(),
        (false, false) => {
            format!("{columns}: rows {}…", &model.rows_sha256[..model.rows_sha256.len().min(8)])
        }
        _ => columns,
    }
}

/// What the numbers are conditional on, if that differs between the fits.
fn notes(entries: &[Entry<'_>]) -> Vec<String> {
    let differs = |show: &dyn Fn(&FitFile) -> String| {
        let mut found: Vec<String> = entries.iter().map(|entry| show(entry.file)).collect();
        found.dedup();
        (found.len() > 1).then(|| found.join(", "))
    };
    let mut notes = Vec::new();
    let scales = |file: &FitFile| condition(&file.model).unwrap_or("unconditional".to_owned());
    if let Some(found) = differs(&scales) {
        notes.push(format!(
            "the scales differ ({found}): each evidence is conditional on its own, and a maximised scale flatters its model"
        ));
    }
    let prior = |file: &FitFile| file.model.prior.join(" and ");
    if let Some(found) = differs(&prior) {
        notes.push(format!(
            "the fixed prior differs ({found}): the evidence weighs the prior as much as the likelihood"
        ));
    }
    if differs(&|file| kind_of_density(file).to_owned()).is_some() {
        notes.push(OTHER_DENSITY.to_owned());
    }
    for entry in entries {
        if entry.evidence.provenance() == Some(Provenance::Declared) {
            let name = entry.name;
            notes.push(format!("{name}: its bounds hold if its constants are right, which are declared"));
        }
    }
    notes
}

/// What is said if families give a response a density and a probability.
pub const OTHER_DENSITY: &str = "one family gives the response a density and another a probability: their ratio depends on the response's unit";

/// Whether the family gives its response a density or a probability.
pub fn kind_of_density(file: &FitFile) -> &'static str {
    match file.model.family.as_str() {
        "gaussian" | "gamma" | "exponential" | "weibull" | "student" => "a density",
        _ => "a probability",
    }
}

fn below(entries: &[Entry<'_>]) -> Option<Vec<Below>> {
    let model = |entry: &Entry<'_>| {
        let model = &entry.file.model;
        (model.title().to_owned(), model.family.clone(), model.prior.clone(), condition(model))
    };
    let same = entries.windows(2).all(|pair| model(&pair[0]) == model(&pair[1]));
    let single = entries.iter().all(|entry| entry.file.mixture.is_none());
    let best = entries.iter().map(|entry| entry.file).min_by(|a, b| a.neg_elbo.total_cmp(&b.neg_elbo))?;
    let one = |entry: &Entry<'_>| {
        let file = entry.file;
        let exact = file.neg_elbo_exact && best.neg_elbo_exact;
        let error = match (std::ptr::eq(file, best), exact) {
            (true, _) => 0.0,
            (false, true) => file.neg_elbo_error + best.neg_elbo_error,
            (false, false) => file.neg_elbo_error.hypot(best.neg_elbo_error),
        };
        Below { nats: file.neg_elbo - best.neg_elbo, error, exact }
    };
    (same && single).then(|| entries.iter().map(one).collect())
}

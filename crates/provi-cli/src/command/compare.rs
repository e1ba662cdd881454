//! `provi compare`: compares models of the same data by bounds of their log evidence.

use std::path::{Path, PathBuf};

use clap::Args;
use provi::certificate::Interval;
use provi::evidence::{LogBayesFactor, Strength, Verdict};
use provi_analysis::Fitted;
use provi_analysis::number::{above, decimals, outward_pair};
use provi_analysis::record::fit_file::{FitFile, ModelRecord, to_json};
use provi_analysis::show::words::condition;
use serde::Serialize;

use super::Outcome;
use crate::failure::{Failure, Result};
use crate::output::columns::{Columns, Side};
use crate::output::style;
use crate::output::wrap::wrapped;

const HELP: &str = "\
Each fit's certificate bounds the log evidence from both sides. The model with
the largest lower bound comes first; log BF is its log evidence minus the
other's, in nats. `decided` means that the bounds exclude 0, and the word then
says how much it is at least: slight below 1, positive to 3, strong to 5, very
strong above. Bounds that include 0 decide nothing, however likely one model
looks.

Fits of different data, responses, rows or weights are refused, because their
evidence cannot be compared.

Fits of one model that differ in the family of q (--family-of-q) have the same
evidence. For them the ELBOs are compared as well: what a smaller family costs
in nats, exactly where expectations are exact.

Examples:
  provi compare small.fit large.fit
  provi compare *.fit --json";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct CompareArgs {
    /// Folders of fits, or their fit.json
    #[arg(value_name = "DIR", required = true, num_args = 2..)]
    fits: Vec<PathBuf>,
    /// Accept fits of different data
    #[arg(long)]
    force: bool,
    /// Print the result as JSON, and nothing else, on standard output
    #[arg(long)]
    json: bool,
}

/// A fit with its path.
struct Entry {
    path: PathBuf,
    file: FitFile,
    evidence: Interval,
}

pub(crate) fn execute(args: &CompareArgs) -> Result<Outcome> {
    let mut entries = Vec::new();
    for path in &args.fits {
        let file = Fitted::load(path)?.file;
        let Some(certificate) = &file.certificate else {
            return Err(Failure::NoCertificate { path: path.clone() });
        };
        let evidence = certificate.evidence.clone();
        entries.push(Entry { path: path.clone(), file, evidence });
    }
    if !args.force {
        refuse_other_data(&entries.iter().map(|entry| (&*entry.path, &entry.file)).collect::<Vec<_>>())?;
    }
    let notes = notes(&entries);
    let lower = |entry: &Entry| entry.evidence.lower().unwrap_or(f64::NEG_INFINITY);
    entries.sort_by(|a, b| lower(b).total_cmp(&lower(a)));
    let factors: Vec<LogBayesFactor> =
        entries[1..].iter().map(|other| LogBayesFactor::new(&entries[0].evidence, &other.evidence)).collect();
    let text = if args.json {
        to_json(&Report::new(&entries, &factors, &notes))
    } else {
        describe(&entries, &factors, &notes) + &families(&entries)
    };
    Ok(Outcome::said(text))
}

/// The left side of a canonical formula.
fn response(file: &FitFile) -> &str {
    file.model.formula.split('~').next().unwrap_or_default().trim()
}

/// Refuses fits of different data: neither their evidence nor their predictions of rows can be compared.
pub(super) fn refuse_other_data(entries: &[(&Path, &FitFile)]) -> Result<()> {
    let [(path, first), others @ ..] = entries else { return Ok(()) };
    for (other_path, other) in others {
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
            let (first, second) = (path.to_path_buf(), other_path.to_path_buf());
            return Err(Failure::NotComparable { first, second, what, one, other: other_one });
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
fn notes(entries: &[Entry]) -> Vec<String> {
    let differs = |show: &dyn Fn(&FitFile) -> String| {
        let mut found: Vec<String> = entries.iter().map(|entry| show(&entry.file)).collect();
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
    notes
}

/// What is said if families give a response a density and a probability.
pub(super) const OTHER_DENSITY: &str = "one family gives the response a density and another a probability: their ratio depends on the response's unit";

/// Whether the family gives its response a density or a probability.
pub(super) fn kind_of_density(file: &FitFile) -> &'static str {
    match file.model.family.as_str() {
        "gaussian" | "gamma" | "exponential" => "a density",
        _ => "a probability",
    }
}

/// The verdict in words. No other model has a larger lower bound than the first, so a decision is always for the
/// first.
fn word(verdict: Verdict) -> String {
    match verdict {
        Verdict::First(strength) | Verdict::Second(strength) => format!("decided, {strength}"),
        _ => "not decided".to_owned(),
    }
}

/// The family of q, by name.
fn family(file: &FitFile) -> &str {
    file.family_of_q.as_deref().unwrap_or("full")
}

/// By how many nats the ELBO of a fit is below the largest one, if all are fits of one model. The difference of the KLs to
/// the posterior is the same number, since the evidence is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct Below {
    nats: f64,
    /// A bound of its error if exact, otherwise a standard error.
    error: f64,
    exact: bool,
}

fn below(entries: &[Entry]) -> Option<Vec<Below>> {
    let model = |entry: &Entry| {
        let model = &entry.file.model;
        (model.title().to_owned(), model.family.clone(), model.prior.clone(), condition(model))
    };
    let same = entries.windows(2).all(|pair| model(&pair[0]) == model(&pair[1]));
    let single = entries.iter().all(|entry| entry.file.mixture.is_none());
    let best = entries.iter().map(|entry| &entry.file).min_by(|a, b| a.neg_elbo.total_cmp(&b.neg_elbo))?;
    let one = |entry: &Entry| {
        let file = &entry.file;
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

/// The ELBOs of fits of one model that differ in the family of q; empty for others.
fn families(entries: &[Entry]) -> String {
    let differ = entries.windows(2).any(|pair| family(&pair[0].file) != family(&pair[1].file));
    let Some(below) = below(entries).filter(|_| differ) else { return String::new() };
    let heading = [
        ("", Side::Left),
        ("family of q", Side::Left),
        ("ELBO", Side::Right),
        ("below the largest", Side::Right),
    ];
    let mut columns = Columns::new(&heading);
    columns.bold_heading(style::bold());
    for (entry, below) in entries.iter().zip(&below) {
        let elbo = format!("{:.4}", -entry.file.neg_elbo);
        let nats = match (below.error > 0.0, below.exact) {
            (false, _) => String::new(),
            (true, true) => format!("{:.4} ± {}, certain", below.nats, above(below.error)),
            (true, false) => format!("{:.4}, standard error {}", below.nats, above(below.error)),
        };
        columns.push(vec![entry.path.display().to_string(), family(&entry.file).to_owned(), elbo, nats]);
    }
    let note = "one model, so one evidence: what an ELBO is below another, its KL to the posterior is above";
    format!("\n{}{}", columns.render(), wrapped("", 0, note))
}

fn describe(entries: &[Entry], factors: &[LogBayesFactor], notes: &[String]) -> String {
    let heading = [
        ("", Side::Left),
        ("log evidence", Side::Right),
        ("log BF of the first", Side::Right),
        ("", Side::Left),
    ];
    let mut columns = Columns::new(&heading);
    columns.bold_heading(style::bold());
    let interval = |lower: Option<f64>, upper: Option<f64>| {
        let width = lower.zip(upper).map_or(0.01, |(l, u)| u - l);
        let [low, high] = outward_pair(lower, upper, decimals(width).clamp(2, 8));
        format!("{low} to {high}")
    };
    for (i, entry) in entries.iter().enumerate() {
        let factor = i.checked_sub(1).map(|i| &factors[i]);
        let (bounds, verdict) = match factor {
            Some(f) => (interval(f.lower, f.upper), word(f.verdict())),
            None => (String::new(), String::new()),
        };
        let evidence = interval(entry.evidence.lower(), entry.evidence.upper());
        columns.push(vec![entry.path.display().to_string(), evidence, bounds, verdict]);
    }
    let mut text = columns.render();
    for entry in entries.iter().filter(|e| e.evidence.lower().is_none() || e.evidence.upper().is_none()) {
        let reason = entry.evidence.reason().unwrap_or("no bound");
        text.push_str(&wrapped("note  ", 6, &format!("{} lacks a bound: {reason}", entry.path.display())));
    }
    for note in notes {
        text.push_str(&wrapped("note  ", 6, note));
    }
    let failure: f64 = entries.iter().map(failure_probability).sum();
    let holds = if failure > 0.0 {
        format!("all bounds hold together with probability at least 1 − {failure:.1e} (union bound)")
    } else {
        "all bounds are certain".to_owned()
    };
    text + &wrapped("", 0, &holds)
}

fn failure_probability(entry: &Entry) -> f64 {
    entry.evidence.confidence().map_or(0.0, |c| 1.0 - c)
}

/// What --json prints.
#[derive(Serialize)]
struct Report<'a> {
    schema: &'static str,
    provi: &'static str,
    /// The models; the first has the largest lower bound.
    models: Vec<ModelReport<'a>>,
    /// Lower bound of the probability that all bounds hold together.
    confidence: f64,
    notes: &'a [String],
}

#[derive(Serialize)]
struct ModelReport<'a> {
    fit: String,
    family: &'a str,
    formula: &'a str,
    /// The family in which q was sought.
    family_of_q: &'a str,
    evidence: &'a Interval,
    /// log p(x|first) − log p(x|this); null for the first.
    log_bayes_factor: Option<&'a LogBayesFactor>,
    decided: Option<bool>,
    /// How much better the first is at least, if that is decided.
    strength: Option<Strength>,
    /// By how much the ELBO is below the largest; null unless all are fits of one model.
    elbo_below: Option<Below>,
}

impl<'a> Report<'a> {
    fn new(entries: &'a [Entry], factors: &'a [LogBayesFactor], notes: &'a [String]) -> Self {
        let below = below(entries);
        let model = |(i, entry): (usize, &'a Entry)| {
            let factor = i.checked_sub(1).map(|i| &factors[i]);
            let verdict = factor.map(LogBayesFactor::verdict);
            ModelReport {
                fit: entry.path.display().to_string(),
                family: &entry.file.model.family,
                formula: &entry.file.model.formula,
                family_of_q: family(&entry.file),
                evidence: &entry.evidence,
                log_bayes_factor: factor,
                decided: verdict.map(|v| v != Verdict::Open),
                strength: verdict.and_then(|v| match v {
                    Verdict::First(strength) | Verdict::Second(strength) => Some(strength),
                    _ => None,
                }),
                elbo_below: below.as_ref().map(|below| below[i]),
            }
        };
        Self {
            schema: "provi-compare/1",
            provi: env!("CARGO_PKG_VERSION"),
            models: entries.iter().enumerate().map(model).collect(),
            confidence: (1.0 - entries.iter().map(failure_probability).sum::<f64>()).max(0.0),
            notes,
        }
    }
}

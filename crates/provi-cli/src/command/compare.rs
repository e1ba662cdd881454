//! `provi compare`: compares models of the same data by bounds of their log evidence.

use std::path::PathBuf;

use clap::Args;
use provi::Provenance;
use provi::evidence::Verdict;
use provi_analysis::number::{above, decimals, outward_pair};
use provi_analysis::record::fit_file::to_json;
use provi_analysis::show::compare::Compared;
use provi_analysis::{Comparison, Error, Fitted};

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

pub(crate) fn execute(args: &CompareArgs) -> Result<Outcome> {
    let load = |path: &PathBuf| Ok((path.display().to_string(), Fitted::load(path)?.file));
    let files = args.fits.iter().map(load).collect::<Result<Vec<_>>>()?;
    let named: Vec<_> = files.iter().map(|(name, file)| (name.clone(), file)).collect();
    let found = Comparison::new(&named, args.force).map_err(|error| match error {
        Error::NoCertificate { fit } => Failure::NoCertificate { path: fit.into() },
        other => other.into(),
    })?;
    let text = if args.json { to_json(&found) } else { describe(&found) + &families(&found) };
    Ok(Outcome::said(text))
}

/// The verdict in words. No other model has a larger lower bound than the first, so a decision is always for the
/// first.
fn word(verdict: Verdict) -> String {
    match verdict {
        Verdict::First(strength) | Verdict::Second(strength) => format!("decided, {strength}"),
        _ => "not decided".to_owned(),
    }
}

/// The ELBOs of fits of one model that differ in the family of q; empty for others.
fn families(found: &Comparison) -> String {
    if !found.is_of_families() {
        return String::new();
    }
    let heading = [
        ("", Side::Left),
        ("family of q", Side::Left),
        ("ELBO", Side::Right),
        ("below the largest", Side::Right),
    ];
    let mut columns = Columns::new(&heading);
    columns.bold_heading(style::bold());
    for model in &found.models {
        let Some(below) = model.elbo_below else { continue };
        let elbo = format!("{:.4}", model.elbo);
        let nats = match (below.error > 0.0, below.exact) {
            (false, _) => String::new(),
            (true, true) => format!("{:.4} ± {}, certain", below.nats, above(below.error)),
            (true, false) => format!("{:.4}, standard error {}", below.nats, above(below.error)),
        };
        columns.push(vec![model.fit.clone(), model.family_of_q.clone(), elbo, nats]);
    }
    let note = "one model, so one evidence: what an ELBO is below another, its KL to the posterior is above";
    format!("\n{}{}", columns.render(), wrapped("", 0, note))
}

fn describe(found: &Comparison) -> String {
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
    for model in &found.models {
        let (bounds, verdict) = match &model.log_bayes_factor {
            Some(f) => (interval(f.lower, f.upper), word(f.verdict())),
            None => (String::new(), String::new()),
        };
        let evidence = interval(model.evidence.lower(), model.evidence.upper());
        columns.push(vec![model.fit.clone(), evidence, bounds, verdict]);
    }
    let mut text = columns.render();
    for model in found.models.iter().filter(|e| e.evidence.lower().is_none() || e.evidence.upper().is_none())
    {
        let reason = model.evidence.reason().unwrap_or("no bound");
        text.push_str(&wrapped("note  ", 6, &format!("{} lacks a bound: {reason}", model.fit)));
    }
    for note in &found.notes {
        text.push_str(&wrapped("note  ", 6, note));
    }
    let failure = 1.0 - found.confidence;
    let grounds = found.models.iter().filter_map(|model| model.evidence.provenance());
    let grounds = grounds.fold(Provenance::Proved, Provenance::weakest);
    let given = match grounds {
        Provenance::Proved => "",
        Provenance::Declared => "if those constants are right, ",
        _ => "as far as the sums over the scales go, which are estimates, ",
    };
    let bounded = |model: &Compared| model.evidence.lower().is_some() || model.evidence.upper().is_some();
    if !found.models.iter().any(bounded) {
        return text;
    }
    let all = if found.models.iter().all(|e| e.evidence.lower().is_some() && e.evidence.upper().is_some()) {
        "all bounds"
    } else {
        "the bounds that exist"
    };
    let holds = if failure > 0.0 {
        format!("{given}{all} hold together with probability at least 1 − {failure:.1e} (union bound)")
    } else {
        format!("{given}{all} {}", if grounds == Provenance::Estimated { "hold" } else { "are certain" })
    };
    text + &wrapped("", 0, &holds)
}

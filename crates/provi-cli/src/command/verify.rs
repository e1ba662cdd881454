//! `provi verify`: tests the statements of the ledger by experiment.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args as Group;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use indicatif::{ProgressBar, ProgressStyle};
use provi_analysis::record::store::{self, refuse_fit};
use provi_verify::outcome::Verdict;
use provi_verify::{ENTRIES, Entry, Finding, Trial, find, page};

use super::Outcome;
use crate::failure::Result;
use crate::output::columns::{Columns, Side};
use crate::output::style;

const VERIFY: &str = "\
Every statement of the ledger (docs/theory.md) has an experiment, which compares
measured numbers with claimed ones and gives a verdict. VIOLATED: a one-sided
confidence limit (six standard errors, a false alarm of 1e-9 per check) lies
beyond the bound. tight: a measurement reaches at least half of its bound.
holds: neither. Seeds
are fixed. Exit status 1: something is violated.

Examples:
  provi verify --quick
  provi verify recursion noise-stl
  provi verify --all --out evidence";

/// The HTML page.
const INDEX: &str = "index.html";

#[derive(Debug, Group)]
#[command(after_help = VERIFY)]
pub(crate) struct VerifyArgs {
    /// The statements to test, by their keys [default: all]
    #[arg(value_name = "KEY", conflicts_with = "all", value_parser = keys(), hide_possible_values = true)]
    keys: Vec<Entry>,
    /// Test every statement
    #[arg(long)]
    all: bool,
    /// Use fewer runs, draws and steps, and no large data sets: seconds instead of minutes
    #[arg(long)]
    quick: bool,
    /// Runs per curve [default: 40, or 32 if quick]
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u64).range(2..=1_000_000))]
    seeds: Option<u64>,
    /// Write index.html, README.md and the pictures to this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print no progress, only the result
    #[arg(long)]
    quiet: bool,
    /// Make the claims of this key wrong, to see that the test detects it
    #[arg(long, value_name = "KEY", hide = true, value_parser = keys(), hide_possible_values = true)]
    plant: Option<Entry>,
}

fn keys() -> impl TypedValueParser<Value = Entry> {
    // Every possible value is a key, so the lookup cannot fail.
    PossibleValuesParser::new(ENTRIES.iter().map(|e| e.key)).map(|key| find(&key).unwrap_or(ENTRIES[0]))
}

pub(crate) fn execute(args: &VerifyArgs) -> Result<Outcome> {
    let wanted: Vec<Entry> = ENTRIES
        .iter()
        .filter(|e| args.keys.is_empty() || args.keys.iter().any(|k| k.key == e.key))
        .copied()
        .collect();
    // A folder that cannot be written is refused before the work.
    args.out.as_deref().map_or(Ok(()), refuse_fit)?;
    let trial = Trial::new(args.quick, args.seeds);
    // One line for each statement; on a terminal a bar as well.
    let lines = !args.quiet && !std::io::stderr().is_terminal();
    let bar = progress(args.quiet || lines, wanted.len());
    let mut findings = Vec::new();
    for entry in &wanted {
        bar.set_message(entry.key);
        let planted = args.plant.is_some_and(|p| p.key == entry.key);
        let finding = entry.run(trial, planted)?;
        let (made, seconds) = (findings.len() + 1, finding.time.as_secs_f64());
        let line =
            format!("{made} of {}  {}: {}, {seconds:.1} s", wanted.len(), entry.key, finding.verdict());
        // Printed as they come, so that they are seen even if the rest is stopped.
        if lines {
            eprintln!("{line}")
        } else {
            bar.println(line)
        }
        findings.push(finding);
        bar.inc(1);
    }
    bar.finish_and_clear();
    let mut text = table(&findings);
    if let Some(dir) = &args.out {
        let mut files = page::files(&findings, &command(args));
        // The page comes last, so that everything it shows already exists.
        files.sort_by_key(|file| file.name == INDEX);
        let files: Vec<_> = files.into_iter().map(|file| (file.name, file.text.into_bytes())).collect();
        store::write_files(dir, &files)?;
        text.push_str(&format!("\nwrote {}\n", dir.join(INDEX).display()));
    }
    Ok(Outcome { text, proved: findings.iter().all(|f| f.verdict() != Verdict::Violated) })
}

fn progress(hidden: bool, entries: usize) -> ProgressBar {
    if hidden {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(entries as u64);
    if let Ok(style) = ProgressStyle::with_template("{bar:20} {pos} of {len}  {msg}  {elapsed}") {
        bar.set_style(style.progress_chars("━╸ "));
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

fn table(findings: &[Finding]) -> String {
    let heading = [
        ("key", Side::Left),
        ("verdict", Side::Left),
        ("checks", Side::Right),
        ("used", Side::Right),
        ("of the bound, at", Side::Left),
    ];
    let mut columns = Columns::new(&heading);
    columns.bold_heading(style::bold());
    for f in findings {
        let telling = f.outcome.telling();
        let used = telling.and_then(|c| c.ratio()).map_or_else(String::new, percent);
        let name = telling.map_or_else(String::new, |c| c.name.clone());
        columns.push(vec![
            f.entry.key.to_owned(),
            f.verdict().to_string(),
            f.outcome.checks.len().to_string(),
            used,
            name,
        ]);
    }
    let violated: Vec<&Finding> = findings.iter().filter(|f| f.verdict() == Verdict::Violated).collect();
    let mut text = columns.render();
    for f in &violated {
        text.push_str(&format!("\n{}: {}\n", f.entry.key, f.entry.null));
        for c in f.outcome.checks.iter().filter(|c| c.is_violated()).take(5) {
            text.push_str(&format!(
                "  {}: measured {:e}, confidence limit {:e}, claimed {:e}\n",
                c.name, c.measured, c.limit, c.bound
            ));
        }
    }
    let checks: usize = findings.iter().map(|f| f.outcome.checks.len()).sum();
    text.push_str(&format!(
        "\n{} statements, {checks} checks: {}\n",
        findings.len(),
        if violated.is_empty() {
            "nothing violated".to_owned()
        } else {
            format!("{} VIOLATED", violated.len())
        }
    ));
    text
}

fn percent(ratio: f64) -> String {
    if ratio >= 0.01 { format!("{:.0}%", 100.0 * ratio) } else { format!("{:.0e}", ratio) }
}

/// The command that makes the same evidence again.
fn command(args: &VerifyArgs) -> String {
    let mut out = String::from("provi verify");
    if args.keys.is_empty() {
        out.push_str(" --all");
    }
    for entry in &args.keys {
        out.push_str(&format!(" {}", entry.key));
    }
    if args.quick {
        out.push_str(" --quick");
    }
    if let Some(seeds) = args.seeds {
        out.push_str(&format!(" --seeds {seeds}"));
    }
    if let Some(dir) = &args.out {
        out.push_str(&format!(" --out {}", dir.display()));
    }
    out
}

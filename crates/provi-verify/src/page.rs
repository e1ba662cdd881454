//! The results, as one page for people and one table for the repository.

use crate::outcome::{Check, Relation, TIGHT, Verdict};
use crate::registry::{Chapter, Finding};
use crate::statistics::{FALSE_ALARM, SIGMAS};
use provi_report::{Block, Column, Form, Light, Page, Section, Table};

/// The most checks a statement's table shows.
const SHOWN: usize = 6;

/// A file of the evidence: name and text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// The name inside the folder.
    pub name: String,
    /// The contents.
    pub text: String,
}

/// Everything a folder of evidence holds: the page, the pictures, and a table that links them.
pub fn files(findings: &[Finding], command: &str) -> Vec<File> {
    let mut out = vec![
        File { name: "index.html".into(), text: html(findings, command) },
        File { name: "README.md".into(), text: markdown(findings, command) },
    ];
    for figure in findings.iter().flat_map(|f| &f.outcome.figures) {
        out.push(File {
            name: format!("{}.svg", figure.name),
            text: figure.scene().to_svg(Form::Standalone),
        });
    }
    out
}

/// How verdicts are reached, in words.
fn rules() -> String {
    format!(
        "A bound is called violated only when a one-sided confidence limit of what was measured lies beyond it: {SIGMAS} \
         standard errors, a false alarm of {FALSE_ALARM:e} for each check. It is called tight when a measurement reaches \
         {:.0}% of it or more, so that the constant could not be halved. Deterministic comparisons forgive rounding of \
         one part in 10⁹. Seeds are fixed: the same command gives the same numbers.",
        100.0 * TIGHT
    )
}

fn count(findings: &[Finding], verdict: Verdict) -> usize {
    findings.iter().filter(|f| f.verdict() == verdict).count()
}

/// The page.
pub fn html(findings: &[Finding], command: &str) -> String {
    let [tight, holds, violated] =
        [Verdict::Tight, Verdict::Holds, Verdict::Violated].map(|v| count(findings, v));
    let checks: usize = findings.iter().map(|f| f.outcome.checks.len()).sum();
    let mut summary = vec![
        Block::Verdict {
            light: if violated == 0 { Light::Green } else { Light::Red },
            word: if violated == 0 { "nothing violated".into() } else { "VIOLATED".into() },
            headline: format!("{tight} tight, {holds} hold, {violated} violated"),
            meaning: format!(
                "{} statements, {checks} comparisons of measured with claimed numbers.",
                findings.len()
            ),
        },
        Block::Text(rules()),
        Block::Code(command.to_owned()),
    ];
    let rows = findings.iter().map(|f| {
        let telling = f.outcome.telling();
        let used = telling.and_then(Check::ratio).map_or_else(String::new, number);
        let place = telling.map_or_else(String::new, |c| c.name.clone());
        let checks = f.outcome.checks.len().to_string();
        vec![f.entry.key.to_owned(), f.verdict().to_string(), checks, used, place]
    });
    summary.push(Block::Table(Table {
        columns: vec![
            Column::words("key"),
            Column::words("verdict"),
            Column::numbers("checks"),
            Column::numbers("used"),
            Column::words("of the bound, at"),
        ],
        rows: rows.collect(),
        note: "The comparison shown is the one that uses most of its bound; slightly above 1, it is so within its \
               confidence limit."
            .into(),
    }));
    let mut sections = vec![Section { heading: "Verdicts".into(), blocks: summary }];
    for chapter in Chapter::ALL {
        let blocks: Vec<Block> =
            findings.iter().filter(|f| f.entry.chapter == chapter).flat_map(statement).collect();
        if !blocks.is_empty() {
            sections.push(Section { heading: chapter.title().into(), blocks });
        }
    }
    Page {
        title: "The theory on trial".into(),
        subtitle: "Every statement of provi's ledger, with its experiment and its verdict".into(),
        sections,
        footer: "Keys are those of docs/theory.md.".into(),
        interactive: false,
    }
    .html()
}

fn columns() -> Vec<Column> {
    vec![
        Column::words("comparison"),
        Column::numbers("measured"),
        Column::numbers("claimed"),
        Column::numbers("ratio"),
    ]
}

fn cells(check: &Check) -> Vec<String> {
    let relation = match check.relation {
        Relation::AtMost => "≤",
        Relation::AtLeast => "≥",
        Relation::Equal(_) => "=",
        Relation::Refutes => "> (printed)",
    };
    vec![
        check.name.clone(),
        number(check.measured),
        format!("{relation} {}", number(check.bound)),
        check.ratio().map_or_else(String::new, number),
    ]
}

/// Three digits, as people write them.
fn number(x: f64) -> String {
    if x.abs() <= 0.0 {
        "0".into()
    } else if !x.is_finite() {
        format!("{x}")
    } else if (1e-3..1e5).contains(&x.abs()) {
        let places = (2 - x.abs().log10().floor() as i32).max(0) as usize;
        format!("{x:.places$}")
    } else {
        format!("{x:.2e}")
    }
}

/// A statement: verdict, pictures, and the comparisons that reach most of their bounds.
fn statement(finding: &Finding) -> Vec<Block> {
    let verdict = finding.verdict();
    let mut out = vec![Block::Verdict {
        light: match verdict {
            Verdict::Violated => Light::Red,
            _ => Light::Green,
        },
        word: verdict.to_string(),
        headline: finding.entry.key.into(),
        meaning: format!("Null hypothesis: {}.", finding.entry.null),
    }];
    for figure in &finding.outcome.figures {
        let scenes = figure.scenes();
        let rows = scenes.len().div_ceil(2);
        for (i, row) in scenes.chunks(2).enumerate() {
            let caption = if i + 1 == rows { figure.caption.clone() } else { String::new() };
            out.push(Block::Figure { scenes: row.to_vec(), key: None, caption });
        }
    }
    if !finding.outcome.notes.is_empty() {
        out.push(Block::List(finding.outcome.notes.clone()));
    }
    let mut checks: Vec<&Check> = finding.outcome.checks.iter().collect();
    checks.sort_by(|a, b| {
        let weight = |c: &Check| (c.is_violated(), c.ratio().unwrap_or(0.0));
        let (a, b) = (weight(a), weight(b));
        b.0.cmp(&a.0).then(b.1.total_cmp(&a.1))
    });
    let shown = if finding.entry.chapter == Chapter::Errata { checks.len() } else { SHOWN };
    let left = checks.len().saturating_sub(shown);
    if finding.entry.chapter == Chapter::Errata {
        checks = finding.outcome.checks.iter().collect();
    }
    out.push(Block::Table(Table {
        columns: columns(),
        rows: checks.into_iter().take(shown).map(cells).collect(),
        note: if left > 0 { format!("and {left} more that use less of their bounds") } else { String::new() },
    }));
    out
}

/// The table of a repository: key, verdict, number, picture.
fn markdown(findings: &[Finding], command: &str) -> String {
    let mut out = String::from(
        "# Evidence\n\nThe statements of [the ledger](../theory.md) on trial: an experiment, a verdict and a picture for \
         each. `index.html` is the whole page, with the null hypotheses and the numbers. Made by\n\n",
    );
    out.push_str(&format!("```sh\n{command}\n```\n\n{}\n\n", rules()));
    out.push_str(
        "| key | verdict | checks | most of a bound used | where | picture |\n|---|---|---:|---:|---|---|\n",
    );
    for f in findings {
        let telling = f.outcome.telling().map(cells).unwrap_or_default();
        let cell = |i: usize| telling.get(i).map_or("", |s| s.as_str()).replace('|', "\\|");
        let pictures: Vec<String> =
            f.outcome.figures.iter().map(|g| format!("[{0}]({0}.svg)", g.name)).collect();
        out.push_str(&format!(
            "| {} | {} | {} | {} | {} | {} |\n",
            f.entry.key,
            f.verdict(),
            f.outcome.checks.len(),
            cell(3),
            cell(0),
            pictures.join(", ")
        ));
    }
    out
}

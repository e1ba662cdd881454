//! `provi inspect`: describes a table, and warns of what would trouble a fit.

use std::path::PathBuf;

use clap::Args as Group;
use provi_analysis::model::{self, Data};
use provi_analysis::number::{grouped, plain};
use provi_analysis::record::fit_file::to_json;
use provi_table::{
    ColumnKind, ColumnSummary, Contents, Formula, FrameOptions, Missing, ModelFrame, Table, TableSummary,
};
use serde::Serialize;

use super::Outcome;
use crate::failure::{Failure, Result};
use crate::output::columns::{Columns, Side};
use crate::output::style;
use crate::output::wrap::wrapped;

const HELP: &str = "\
Nothing is fitted. With a formula the warnings are about that model; without
one, every binary column is tried as the response of all other numeric columns.

Examples:
  provi inspect wells.csv
  provi inspect wells.csv 'switch ~ arsenic * dist'
  provi inspect wells.parquet --json";

#[derive(Debug, Group)]
#[command(after_help = HELP)]
pub(crate) struct InspectArgs {
    /// The data: CSV, TSV (also gzipped) or Parquet, or - for standard input
    data: PathBuf,
    /// A model to check, such as 'y ~ a + b'
    formula: Option<String>,
    /// Cell texts that mean a missing value, 'none,-9', in addition to an empty cell, NA, NaN, null, n/a, . and ?
    #[arg(long, value_name = "WORDS", value_delimiter = ',', allow_hyphen_values = true)]
    na: Vec<String>,
    /// Print the result as JSON, and nothing else, on standard output
    #[arg(long)]
    json: bool,
}

/// Most binary columns that are tried as a response.
const MOST_RESPONSES: usize = 5;
/// Most columns that are all put into a model if no formula is given.
const MOST_COLUMNS: usize = 200;

/// What --json prints.
#[derive(Serialize)]
struct Report {
    schema: &'static str,
    #[serde(flatten)]
    table: TableSummary,
    sha256: String,
    warnings: Vec<String>,
}

pub(crate) fn execute(args: &InspectArgs) -> Result<Outcome> {
    let text = args.formula.as_deref().unwrap_or_default();
    let refuse = |error| Failure::table(error, text);
    let formula = args.formula.as_deref().map(model::parse).transpose()?;
    let data = Data::read(&args.data).map_err(refuse)?;
    let table = data.table().map_err(refuse)?;
    let table = table.with_na(&args.na);
    let summary = table.describe();
    let mut warnings: Vec<String> = summary.columns.iter().flat_map(column_warnings).collect();
    match &formula {
        Some(formula) => warnings.extend(model_warnings(&frame(&table, formula).map_err(refuse)?)?),
        None => warnings.extend(unasked(&table, &summary)?),
    }
    let text = if args.json {
        to_json(&Report {
            schema: "provi-inspect/1",
            table: summary,
            sha256: data.sha256().map_err(refuse)?.to_owned(),
            warnings,
        })
    } else {
        describe(&summary, &warnings)
    };
    Ok(Outcome::said(text))
}

fn frame(table: &Table, formula: &Formula) -> std::result::Result<ModelFrame, provi_table::Error> {
    ModelFrame::new(table, formula, &FrameOptions { missing: Missing::Drop, ..FrameOptions::default() })
}

fn column_warnings(column: &ColumnSummary) -> Vec<String> {
    let name = &column.name;
    let mut out = Vec::new();
    let mut say = |when: bool, text: String| out.extend(when.then_some(text));
    say(column.count == 0, format!("`{name}` has no value at all"));
    say(
        column.count > 1 && column.constant,
        format!("`{name}` has the same value everywhere: with an intercept it adds no information"),
    );
    say(
        column.infinite > 0,
        format!("`{name}` has {} infinite number(s), which no model takes", column.infinite),
    );
    say(
        column.inexact > 0,
        format!("`{name}` has {} whole number(s) with more digits than a double holds", column.inexact),
    );
    say(
        column.numbers_among_text > 0,
        format!(
            "`{name}` is text, but {} of its cells are numbers: look for a stray word, or name the words for missing values: --na",
            column.numbers_among_text
        ),
    );
    say(column.decimal_comma, format!("the numbers of `{name}` are written with a decimal comma"));
    say(
        column.kind == ColumnKind::Date,
        format!(
            "`{name}` holds dates: they count as days since 1970-01-01; factor({name}) takes them as categories"
        ),
    );
    out
}

/// The warnings of a fit of this model, and the rows that it would leave out.
fn model_warnings(frame: &ModelFrame) -> Result<Vec<String>> {
    let mut out = model::warnings(frame)?;
    if frame.dropped.rows > 0 {
        let rows = frame.dropped.rows;
        out.push(format!("{rows} row(s) have missing values in columns in use, and would be dropped"));
    }
    Ok(out)
}

/// Warnings for each binary column as the response of all other numeric columns.
fn unasked(table: &Table, summary: &TableSummary) -> Result<Vec<String>> {
    let usable = |c: &&ColumnSummary| {
        matches!(c.kind, ColumnKind::Number | ColumnKind::Boolean)
            && !c.constant
            && c.infinite == 0
            && c.count > 0
    };
    let columns: Vec<&ColumnSummary> = summary.columns.iter().filter(usable).collect();
    let binary = |c: &&&ColumnSummary| match c.contents {
        Contents::Numbers { min, max, .. } => c.integer && min.abs() <= 0.0 && (max - 1.0).abs() <= 0.0,
        _ => c.kind == ColumnKind::Boolean,
    };
    let mut out = Vec::new();
    if columns.len() < 2 || columns.len() > MOST_COLUMNS {
        return Ok(out);
    }
    let responses: Vec<&&ColumnSummary> = columns.iter().filter(binary).take(MOST_RESPONSES).collect();
    let response = responses.first().map_or(columns[0], |c| **c);
    let asked = if responses.is_empty() { vec![response] } else { responses.into_iter().copied().collect() };
    for response in asked {
        let others = columns.iter().filter(|c| c.name != response.name);
        let terms: Vec<String> = others.map(|c| quoted(&c.name)).collect();
        let text = format!("{} ~ {}", quoted(&response.name), terms.join(" + "));
        // If such a model cannot be made, there is no warnings.
        let Ok(frame) = Formula::parse(&text).and_then(|formula| frame(table, &formula)) else { continue };
        for warning in model_warnings(&frame)? {
            if !out.contains(&warning) {
                out.push(warning);
            }
        }
    }
    Ok(out)
}

fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

fn kind(column: &ColumnSummary) -> &'static str {
    match column.kind {
        ColumnKind::Number if column.integer => "integer",
        ColumnKind::Number => "number",
        ColumnKind::Boolean => "true/false",
        ColumnKind::Category => "category",
        ColumnKind::Date => "date",
        _ => "empty",
    }
}

fn describe(summary: &TableSummary, warnings: &[String]) -> String {
    let heading = [
        ("", Side::Left),
        ("kind", Side::Left),
        ("missing", Side::Right),
        ("min", Side::Right),
        ("mean", Side::Right),
        ("sd", Side::Right),
        ("max", Side::Right),
        ("levels", Side::Left),
    ];
    let mut columns = Columns::new(&heading);
    columns.bold_heading(style::bold());
    for c in &summary.columns {
        let mut row = vec![c.name.clone(), kind(c).to_owned(), grouped(c.missing as u64)];
        match &c.contents {
            Contents::Numbers { min, mean, sd, max } => {
                row.extend([min, mean, sd, max].map(|x| plain(*x)));
                row.push(String::new());
            }
            Contents::Levels { levels, top } => {
                row.extend([const { String::new() }; 4]);
                let shown: Vec<String> = top.iter().take(3).map(|(l, n)| format!("{l} ({n})")).collect();
                let more = if *levels > shown.len() { ", …" } else { "" };
                row.push(format!("{levels}: {}{more}", shown.join(", ")));
            }
            _ => row.extend([const { String::new() }; 5]),
        }
        columns.push(row);
    }
    let mut text = format!(
        "data   {}: {} rows, {} columns; {} rows complete\n\n{}",
        summary.name,
        grouped(summary.rows as u64),
        grouped(summary.columns.len() as u64),
        grouped(summary.complete_rows as u64),
        columns.render()
    );
    match warnings {
        [] => text.push_str("\nno warnings\n"),
        _ => {
            text.push_str("\nwarnings\n");
            warnings.iter().for_each(|warning| text.push_str(&wrapped("- ", 2, warning)));
        }
    }
    text
}

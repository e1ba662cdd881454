//! `provi effects`: what a model says about its variables.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args as Group;
use provi::Seed;
use provi_analysis::Fitted;
use provi_analysis::model::Data;
use provi_analysis::number::{bound, grouped, share_decimals};
use provi_analysis::record::fit_file::write_json;
use provi_analysis::record::store;
use provi_analysis::run::effects::{
    Compare, Effect, EffectKind, EffectScale, Effects, EffectsAsked, Setting,
};
use provi_analysis::run::posterior::PosteriorDraws;
use provi_analysis::show::effects::CURVE;
use provi_analysis::show::rows::LEVEL;
use provi_report::{Form, grid};
use serde::Serialize;

use super::Outcome;
use crate::failure::{Failure, Result};
use crate::output::columns::{Columns, Side};
use crate::output::flow::{self, Stop};
use crate::output::style;
use crate::output::wrap::wrapped;

const HELP: &str = "\
Without --data: the predicted response over the range of each variable, or at
each of its levels. The other variables are held at their means and most common
levels, an exposure at 1; the values are printed. --at holds them elsewhere.
With --data: averages over the rows of FILE, each row with its own values of the
other variables: the slope for a number, contrasts with the reference level for
a category. FILE may be the data of the fit or any other table with its columns.

--kind predictions, slopes or contrasts asks for one of them, on the grid as
over the data. Slopes are derivatives of the whole formula, through its
transformations and interactions. --values gives the values of a grid; a
contrast compares with the first, and without --values a number with itself + 1.
--by splits: on a grid by a second variable of the model, over the data by any
column. --compare ratio is a risk ratio or rate ratio, odds-ratio that of odds;
of averages, if there is --data.

An estimate with a ± is certified: the posterior's own differs by no more.
Without --exact the estimates belong to the fitted Gaussian. With --exact they,
and all intervals, come from draws of the posterior itself.

A file has 41 points of a curve, where the table on the screen has 5.
`provi explain effects` says more.

Examples:
  provi effects wells.fit
  provi effects wells.fit arsenic --by educ --at dist=20
  provi effects wells.fit --data wells.csv
  provi effects wells.fit --data wells.csv --by educ --kind slopes
  provi effects wells.fit arsenic --values 0.5,1,2 --compare odds-ratio
  provi effects wells.fit --out effects.svg";

#[derive(Debug, Group)]
#[command(after_help = HELP)]
pub(crate) struct EffectsArgs {
    /// The fit: fit.json or its folder
    fit: PathBuf,
    /// The variables [default: every one]
    #[arg(value_name = "VARIABLE")]
    variables: Vec<String>,
    /// Split by a second variable or, with --data, by a column
    #[arg(long, value_name = "COLUMN")]
    by: Option<String>,
    /// Average over the rows of this table, CSV, TSV or Parquet
    #[arg(long, value_name = "FILE")]
    data: Option<PathBuf>,
    /// What to show [default: predictions; with --data slopes, and contrasts of categories]
    #[arg(long)]
    kind: Option<EffectKind>,
    /// The scale of the numbers
    #[arg(long, default_value = "response")]
    scale: EffectScale,
    /// How contrasts compare
    #[arg(long, default_value = "difference")]
    compare: Compare,
    /// Values of the one variable, with commas between them
    #[arg(long, value_name = "LIST", value_delimiter = ',', allow_hyphen_values = true)]
    values: Vec<String>,
    /// Hold another variable at a value, such as age=40; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair, conflicts_with = "data")]
    at: Vec<(String, String)>,
    /// Points of a grid [default: 5 on the screen, 41 in a file]
    #[arg(long, value_name = "N")]
    points: Option<usize>,
    /// Probability of the intervals
    #[arg(long, value_name = "P", default_value_t = LEVEL)]
    level: f64,
    /// Draws behind intervals that have no formula
    #[arg(long, value_name = "N", default_value_t = 4000, value_parser = clap::value_parser!(u32).range(100..))]
    draws: u32,
    /// Draw from the posterior itself, by rejection; FILE must be the data of the fit
    #[arg(long, requires = "data")]
    exact: bool,
    /// Seed of the random draws
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Write a file by its ending: csv, json, svg, png or html
    #[arg(long, value_name = "FILE", conflicts_with_all = ["csv", "json"])]
    out: Option<PathBuf>,
    /// Print CSV
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// `name=value`.
fn pair(text: &str) -> std::result::Result<(String, String), String> {
    let wrong = || format!("`{text}` does not read NAME=VALUE");
    let (name, value) = text.split_once('=').ok_or_else(wrong)?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

/// Most effects on the screen; files have all.
const MOST_ROWS: usize = 60;

/// Pixels of a PNG for each unit of the drawing.
const PIXELS: f64 = 2.0;

/// What --json prints.
#[derive(Serialize)]
struct Report<'a> {
    schema: &'static str,
    provi: &'static str,
    formula: &'a str,
    family: &'a str,
    #[serde(flatten)]
    effects: &'a Effects,
}

/// How the answer is given.
#[derive(Clone, Copy, PartialEq, Eq)]
enum As {
    Text,
    Csv,
    Json,
    Svg,
    Png,
    Html,
}

impl EffectsArgs {
    fn form(&self) -> Result<As> {
        let ending = |path: &Path| path.extension().and_then(|e| e.to_str()).map(str::to_lowercase);
        Ok(match &self.out {
            Some(path) => match ending(path).as_deref() {
                Some("csv") => As::Csv,
                Some("json") => As::Json,
                Some("svg") => As::Svg,
                Some("png") => As::Png,
                Some("html") => As::Html,
                _ => return Err(Failure::UnknownEffectsFile { path: path.clone() }),
            },
            None if self.csv => As::Csv,
            None if self.json => As::Json,
            None => As::Text,
        })
    }

    fn asked(&self, form: As) -> EffectsAsked {
        EffectsAsked {
            variables: self.variables.clone(),
            by: self.by.clone(),
            kind: self.kind,
            scale: self.scale,
            compare: self.compare,
            values: self.values.clone(),
            at: self.at.clone(),
            points: self.points.unwrap_or(match form {
                As::Text => EffectsAsked::default().points,
                _ => CURVE,
            }),
            level: self.level,
            draws: self.draws as usize,
            seed: Some(self.seed),
        }
    }
}

pub(crate) fn execute(args: &EffectsArgs) -> Result<Outcome> {
    let form = args.form()?;
    let fit = Fitted::load(&args.fit)?;
    if let Some(path) = &args.out {
        store::refuse_fit(path)?;
    }
    let refuse = |error| Failure::table(error, &fit.file.model.formula);
    let data = args.data.as_ref().map(|path| Data::read(path)).transpose().map_err(refuse)?;
    let table = data.as_ref().map(|data| data.table()).transpose().map_err(refuse)?;
    let exact = match (&data, args.exact) {
        (Some(data), true) => {
            let model = fit.model(data, false)?;
            let mut draws =
                PosteriorDraws::new(&model, &*fit.dense("a draw of the posterior")?, None, Seed(args.seed))?;
            let law = draws.law();
            Some((draws.draw(args.draws as usize)?, law))
        }
        _ => None,
    };
    let found = fit.effects(&args.asked(form), table.as_deref(), exact)?;
    let bytes = match form {
        As::Text => return Ok(Outcome::said(text(&found, &fit))),
        As::Csv | As::Json => {
            let fill = |to: &mut dyn Write| match form {
                As::Csv => csv(to, &found),
                _ => {
                    let model = &fit.file.model;
                    let (formula, family) = (model.formula.as_str(), model.family.as_str());
                    let provi = env!("CARGO_PKG_VERSION");
                    let schema = "provi-effects/1";
                    Ok(write_json(to, &Report { schema, provi, formula, family, effects: &found })?)
                }
            };
            return match &args.out {
                Some(path) => flow::to_file(path, fill),
                None => flow::to_stdout(fill),
            };
        }
        As::Html => found.page(&fit).html().into_bytes(),
        As::Svg | As::Png => {
            let facts = found.facts(&fit);
            let scene = grid(&format!("effects on {}", found.response), &facts.charts(), 3);
            match form {
                As::Svg => scene.to_svg(Form::Standalone).into_bytes(),
                _ => scene.to_png(PIXELS).map_err(|error| Failure::Draw(error.to_string()))?,
            }
        }
    };
    let path = args.out.clone().unwrap_or_default();
    store::write_file(&path, &bytes)?;
    Ok(Outcome::said(format!("written to {}\n", path.display())))
}

fn csv(to: &mut dyn Write, found: &Effects) -> std::result::Result<(), Stop> {
    let mut writer = csv::Writer::from_writer(to);
    let place = |error: csv::Error| std::io::Error::other(error.to_string());
    let heading = ["variable", "kind", "value", "reference", "by", "rows", "estimate", "low", "high"];
    let outcomes = found.has_outcomes();
    let outcome: &[&str] = if outcomes { &["outcome"] } else { &[] };
    writer
        .write_record(heading.iter().chain(&["error", "status", "interval"]).chain(outcome))
        .map_err(place)?;
    let setting = |at: &Option<Setting>| match at {
        Some(Setting::Number(x)) => x.to_string(),
        Some(other) => other.to_string(),
        None => String::new(),
    };
    for effect in &found.effects {
        let row = [
            effect.variable.clone(),
            effect.kind.to_owned(),
            setting(&effect.value),
            setting(&effect.reference),
            setting(&effect.by),
            effect.rows.to_string(),
            effect.estimate.to_string(),
            effect.low.to_string(),
            effect.high.to_string(),
            effect.error.map_or(String::new(), |error| error.to_string()),
            effect.status.to_owned(),
            effect.interval.to_owned(),
        ];
        let outcome = outcomes.then(|| effect.outcome.clone().unwrap_or_default());
        writer.write_record(row.into_iter().chain(outcome)).map_err(place)?;
    }
    Ok(writer.flush()?)
}

/// The tables and what they mean.
fn text(found: &Effects, fit: &Fitted) -> String {
    let mut text = String::new();
    let title = format!("{} of {}", found.quantity(), found.response);
    text.push_str(&wrapped("", 0, &title));
    for said in found.setting() {
        text.push_str(&wrapped("", 0, &said));
    }
    text.push('\n');
    let shown = &found.effects[..found.effects.len().min(MOST_ROWS)];
    let apart = shown.iter().all(|effect| effect.kind == "prediction");
    if apart {
        for own in shown.chunk_by(|a, b| a.variable == b.variable) {
            text.push_str(&table(found, own, false));
            text.push('\n');
        }
    } else {
        text.push_str(&table(found, shown, true));
        text.push('\n');
    }
    if found.effects.len() > shown.len() {
        let more = grouped((found.effects.len() - shown.len()) as u64);
        text.push_str(&format!("… and {more} more; --csv has all\n"));
    }
    for said in found.grounds(fit) {
        text.push_str(&wrapped("", 0, &said));
    }
    text
}

/// One table: of one variable by its values, or of several with their names.
fn table(found: &Effects, shown: &[Effect], named: bool) -> String {
    let tail = |p: f64| format!("{}%", (p * 1e6).round() / 1e4);
    let ends = [tail(0.5 * (1.0 - found.level)), tail(0.5 * (1.0 + found.level))];
    let certified = shown.iter().any(|effect| effect.error.is_some());
    let estimate = match (found.compare, named) {
        ("difference", true) => "estimate",
        ("difference", false) => found.unit,
        _ => "median",
    };
    let variable = shown.first().map_or("", |effect| effect.variable.as_str());
    let numbers = shown.iter().all(|e| matches!(e.value, Some(Setting::Number(_))));
    let mut heading = match named {
        true => vec![("variable", Side::Left), ("effect", Side::Left)],
        false => vec![(variable, if numbers { Side::Right } else { Side::Left })],
    };
    heading.extend(found.by.as_deref().map(|by| (by, Side::Left)));
    let outcomes = found.has_outcomes();
    heading.extend(outcomes.then_some((found.response.as_str(), Side::Left)));
    heading.push((estimate, Side::Right));
    heading.extend(certified.then_some(("±", Side::Right)));
    heading.extend([(ends[0].as_str(), Side::Right), (ends[1].as_str(), Side::Right)]);
    let mut columns = Columns::new(&heading);
    columns.bold_heading(style::bold());
    // Predictions of one variable have a unit in common, and so do the decimals.
    let places = match named {
        true => None,
        false => share_decimals(shown.iter().map(Effect::spread).filter(|spread| *spread > 0.0)),
    };
    for effect in shown {
        let show = |x: f64| places.map_or_else(|| effect.number(x), |places| format!("{x:.places$}"));
        let mut row = match named {
            true => vec![short(&effect.variable), short(&effect.what(found.compare))],
            false => vec![short(&effect.what(found.compare))],
        };
        row.extend(
            found.by.as_ref().map(|_| effect.by.as_ref().map_or(String::new(), |by| short(&by.to_string()))),
        );
        row.extend(outcomes.then(|| effect.outcome.as_deref().map_or(String::new(), short)));
        row.push(show(effect.estimate));
        if certified {
            row.push(effect.error.map_or("–".to_owned(), |error| bound(error, 2)));
        }
        row.extend([show(effect.low), show(effect.high)]);
        columns.push(row);
    }
    columns.render()
}

/// A long text with an ellipsis, so that a row has at most 80 characters.
fn short(text: &str) -> String {
    const MOST: usize = 20;
    match text.chars().count() > MOST {
        true => format!("{}…", text.chars().take(MOST - 1).collect::<String>()),
        false => text.to_owned(),
    }
}

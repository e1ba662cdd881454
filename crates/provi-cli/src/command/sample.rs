//! `provi sample`: draws of a fit.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use provi::Seed;
use provi_analysis::Fitted;
use provi_analysis::fit_file::to_json;
use provi_analysis::model::Data;
use provi_analysis::sampled::Sampled;
use provi_analysis::{store, zarr};
use serde::Serialize;

use super::Outcome;
use crate::failure::{Failure, Result};

const HELP: &str = "\
Draws of the fitted Gaussian need no data, and the certificate speaks of them.
With --psis they are resampled by their importance weights, Pareto smoothed, and
come closer to the posterior where k̂ is small; no certificate covers that. Above
k̂ = 0.7 they are refused.

The same seed gives the same draws. A zarr store is a folder that ArviZ opens;
`provi fit --out` leaves one beside fit.json.

Examples:
  provi sample wells.fit > draws.csv
  provi sample wells.fit -n 10000 --seed 3 --out draws.zarr
  provi sample wells.fit --psis --data wells.csv --format json";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct SampleArgs {
    /// The folder of a fit, or its fit.json
    #[arg(value_name = "DIR")]
    fit: PathBuf,
    /// Number of draws
    #[arg(short = 'n', long = "number", value_name = "N", default_value_t = 4000,
        value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    number: u32,
    /// What makes the draws repeatable
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// How they are written [default: by the end of PATH, csv otherwise]
    #[arg(long)]
    format: Option<Format>,
    /// Where they are written [default: standard output]
    #[arg(long, value_name = "PATH")]
    out: Option<PathBuf>,
    /// Resample by Pareto smoothed importance weights
    #[arg(long, requires = "data")]
    psis: bool,
    /// The data of the fit, for --psis, and for log densities in zarr and json
    #[arg(long, value_name = "FILE")]
    data: Option<PathBuf>,
    /// Go on with other data or with k̂ above 0.7, and replace PATH
    #[arg(long)]
    force: bool,
}

/// What draws are written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Csv,
    Zarr,
    Json,
}

impl Format {
    fn of(path: Option<&Path>) -> Self {
        match path.and_then(Path::extension).and_then(|e| e.to_str()) {
            Some("zarr") => Self::Zarr,
            Some("json") => Self::Json,
            _ => Self::Csv,
        }
    }
}

pub(crate) fn execute(args: &SampleArgs) -> Result<Outcome> {
    let format = args.format.unwrap_or_else(|| Format::of(args.out.as_deref()));
    if format == Format::Zarr && args.out.is_none() {
        return Err(Failure::ZarrNeedsFolder);
    }
    // What cannot be written is found before the work.
    if let Some(path) = &args.out {
        store::check_free(path, args.force)?;
    }
    let fit = Fitted::load(&args.fit)?;
    let model = match &args.data {
        None => None,
        Some(path) => {
            let data = Data::read(path).map_err(|error| Failure::table(error, &fit.file.model.formula))?;
            Some(fit.model(&data, args.force)?)
        }
    };
    let (q, count, seed) = (&fit.gaussian, args.number as usize, Seed(args.seed));
    let target = model.as_ref().map(|model| model.target.evaluator());
    let sampled = match target {
        Some(target) if args.psis => Sampled::resampled(q, target, count, seed, args.force)?,
        target => Sampled::of_gaussian(q, &fit.file.names, target, count, seed)?,
    };
    let text = match format {
        Format::Csv => csv(&sampled),
        Format::Json => to_json(&Report::new(&sampled)),
        Format::Zarr => String::new(),
    };
    match &args.out {
        None => Ok(Outcome::said(text)),
        Some(path) => {
            match format {
                Format::Zarr => store::write_folder(path, &zarr::files(&sampled, &fit.file, q)?)?,
                _ => store::write_file(path, text.as_bytes())?,
            }
            Ok(Outcome::said(format!("written to {}\n", path.display())))
        }
    }
}

/// A header, then a line a draw; numbers read back to the same bits.
fn csv(sampled: &Sampled) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    // Neither writing to memory nor rows of one length can fail.
    let _ = writer.write_record(&sampled.names);
    for k in 0..sampled.points.rows() {
        let _ = writer.write_record(sampled.points.row(k).iter().map(f64::to_string));
    }
    String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
}

/// The JSON format.
#[derive(Serialize)]
struct Report<'a> {
    schema: &'static str,
    provi: &'static str,
    seed: u64,
    /// Resampled by importance weights, so that no certificate speaks of the draws?
    psis: bool,
    pareto_k: Option<f64>,
    names: &'a [String],
    draws: Vec<&'a [f64]>,
    log_q: &'a [f64],
    /// log p(z, x); null without data.
    lp: Option<&'a [f64]>,
}

impl<'a> Report<'a> {
    fn new(sampled: &'a Sampled) -> Self {
        Self {
            schema: "provi-draws/1",
            provi: env!("CARGO_PKG_VERSION"),
            seed: sampled.seed.0,
            psis: sampled.resampled.is_some(),
            pareto_k: sampled.resampled.filter(|k| k.is_finite()),
            names: &sampled.names,
            draws: (0..sampled.points.rows()).map(|k| sampled.points.row(k)).collect(),
            log_q: &sampled.log_q,
            lp: sampled.log_joint.as_deref(),
        }
    }
}

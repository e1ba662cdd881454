//! `provi sample`: draws of a fit.

use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use provi::{Matrix, Seed};
use provi_analysis::Fitted;
use provi_analysis::model::Data;
use provi_analysis::record::fit_file::write_json;
use provi_analysis::record::store;
use provi_analysis::run::sampled::{self, Sampled};
use provi_analysis::show::zarr;
use serde::Serialize;

use super::Outcome;
use crate::failure::{Failure, Result};
use crate::output::flow::{self, Fill, Stop};

const HELP: &str = "\
Draws of the fitted Gaussian need no data, and the certificate covers them. With
--psis they are resampled by their Pareto smoothed importance weights. They are
then closer to the posterior if k̂ is small, but no certificate covers them.
Above k̂ = 0.7 --psis is refused.

The same seed gives the same draws. CSV is written as it is drawn, in little
memory for any number of draws; the other formats and --psis hold all of them,
and refuse more than memory allows. A zarr store is a folder that ArviZ opens;
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
    /// Seed of the random draws
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// Format of the draws [default: by the ending of PATH, otherwise csv]
    #[arg(long)]
    format: Option<Format>,
    /// File or folder to write [default: standard output]
    #[arg(long, value_name = "PATH")]
    out: Option<PathBuf>,
    /// Resample by Pareto smoothed importance weights
    #[arg(long, requires = "data")]
    psis: bool,
    /// The data of the fit, for --psis, and for log densities in zarr and json
    #[arg(long, value_name = "FILE")]
    data: Option<PathBuf>,
    /// Accept other data or k̂ above 0.7, and replace PATH
    #[arg(long)]
    force: bool,
}

/// The format in which draws are written.
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

    /// How many copies of each number are held: as drawn, and as written.
    fn copies(self) -> usize {
        match self {
            Self::Csv | Self::Json => 2,
            Self::Zarr => 3,
        }
    }
}

pub(crate) fn execute(args: &SampleArgs) -> Result<Outcome> {
    let format = args.format.unwrap_or_else(|| Format::of(args.out.as_deref()));
    if format == Format::Zarr && args.out.is_none() {
        return Err(Failure::ZarrNeedsFolder);
    }
    // A path that cannot be written is refused before the work.
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
    if format == Format::Csv && !args.psis {
        // However many draws there are, only a part of them is held in memory.
        return args.write(|to| csv(to, &fit.file.names, args.number, |which| q.sample_part(which, seed)));
    }
    sampled::refuse_many(q, count, format.copies(), args.psis)?;
    let sampled = match target {
        Some(target) if args.psis => Sampled::resampled(q, target, count, seed, args.force)?,
        target => Sampled::of_gaussian(q, &fit.file.names, target, count, seed)?,
    };
    match (format, &args.out) {
        (Format::Csv, _) => {
            let entries = sampled.points.entries();
            let part = |which: Range<u64>| {
                let [first, last] = [which.start, which.end].map(|k| k as usize * q.dim());
                // Rows of a matrix are those of a part of it.
                Matrix::new((last - first) / q.dim(), q.dim(), entries[first..last].to_vec())
                    .unwrap_or_else(|_| Matrix::zeros(0, q.dim()))
            };
            args.write(|to| csv(to, &sampled.names, args.number, part))
        }
        (Format::Json, _) => args.write(|to| Ok(write_json(to, &Report::new(&sampled))?)),
        (Format::Zarr, None) => Err(Failure::ZarrNeedsFolder),
        (Format::Zarr, Some(path)) => {
            store::write_folder(path, &zarr::files(&sampled, &fit.file, q)?)?;
            Ok(Outcome::said(format!("written to {}\n", path.display())))
        }
    }
}

impl SampleArgs {
    /// Writes them to the path, or to standard output.
    fn write(&self, fill: impl Fill) -> Result<Outcome> {
        match &self.out {
            None => flow::to_stdout(fill),
            Some(path) => flow::to_file(path, fill),
        }
    }
}

/// Draws held in memory at once.
const PART: u64 = 1000;

/// A header, then one line per draw; numbers read back to the same bits.
fn csv(
    to: &mut dyn Write,
    names: &[String],
    count: u32,
    part: impl Fn(Range<u64>) -> Matrix,
) -> std::result::Result<(), Stop> {
    let mut writer = csv::Writer::from_writer(to);
    writer.write_record(names).map_err(place)?;
    for first in (0..u64::from(count)).step_by(PART as usize) {
        let points = part(first..(first + PART).min(count.into()));
        for k in 0..points.rows() {
            writer.write_record(points.row(k).iter().map(f64::to_string)).map_err(place)?;
        }
    }
    Ok(writer.flush()?)
}

/// The error of the system, with its kind: a reader that closed the pipe is not an error.
fn place(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

/// The JSON format.
#[derive(Serialize)]
struct Report<'a> {
    schema: &'static str,
    provi: &'static str,
    seed: u64,
    /// Whether the draws were resampled by importance weights; the certificate does not cover them then.
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

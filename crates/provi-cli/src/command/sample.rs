//! `provi sample`: draws of a fit.

use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::{ArgGroup, Args, ValueEnum};
use provi::target::Evaluator;
use provi::{Gaussian, Matrix, Seed};
use provi_analysis::Fitted;
use provi_analysis::model::compiled::Compiled;
use provi_analysis::model::{Data, Model, RegressionModel, device};
use provi_analysis::number::grouped;
use provi_analysis::options::{DeviceName, LibraryOptions, RunOptions};
use provi_analysis::record::fit_file::{FitFile, write_json};
use provi_analysis::record::store;
use provi_analysis::run::posterior::PosteriorDraws;
use provi_analysis::run::sampled::{self, Law, Sampled};
use provi_analysis::show::zarr;
use serde::Serialize;

use super::library::open_again;
use super::{Ending, Outcome};
use crate::failure::{Failure, Result};
use crate::interrupt;
use crate::output::flow::{self, Fill, Stop};

const HELP: &str = "\
Draws of the fitted Gaussian need no data, and the certificate covers them. With
--psis they are resampled by their Pareto smoothed importance weights. They are
then closer to the posterior if k̂ is small, but no certificate covers them.
Above k̂ = 0.7 --psis is refused, unless the weights keep half of the draws.

With --exact they are independent draws of the posterior itself, by rejection.
There is no chain, no warm-up and nothing to diagnose. A Stan model, a library
or a multinomial fit has them where bounds of its curvature are declared. If a
draw would take too many proposals, --exact is refused and says how many; --tv
TV then allows draws whose law is proved to be within TV of the posterior in
total variation. Ctrl-C and --time-limit end exact draws within a second and
keep those already made. `provi explain exact-draws` says more.

The same seed gives the same draws. CSV is written as it is drawn, in little
memory for any number of draws; the other formats and --psis hold all of them,
and refuse more than memory allows. A zarr store is a folder that ArviZ opens;
`provi fit --out` leaves one beside fit.json.

Examples:
  provi sample wells.fit > draws.csv
  provi sample wells.fit -n 10000 --seed 3 --out draws.zarr
  provi sample wells.fit --exact --data wells.csv -n 10000 --out draws.csv
  provi sample density.fit --exact --library density.so -n 10000 --out draws.csv
  provi sample wells.fit --psis --data wells.csv --format json";

#[derive(Debug, Args)]
#[command(after_help = HELP, group(ArgGroup::new("of_fit").args(["data", "stan", "library"]).multiple(true)))]
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
    /// Draw from the posterior itself, by rejection
    #[arg(long, requires = "of_fit", conflicts_with = "psis")]
    pub(super) exact: bool,
    /// If exact draws cost too much, allow draws within this proved total variation of the posterior
    #[arg(long, value_name = "TV", requires = "exact", allow_negative_numbers = true)]
    tv: Option<f64>,
    /// End exact draws this long after the start and keep those already made
    #[arg(long, value_name = "SECONDS", requires = "exact", allow_negative_numbers = true)]
    time_limit: Option<f64>,
    /// Resample by Pareto smoothed importance weights
    #[arg(long, requires = "of_fit")]
    psis: bool,
    /// The data of the fit, for --exact and --psis, and for log densities and log likelihoods of rows
    #[arg(long, value_name = "FILE")]
    data: Option<PathBuf>,
    /// The Stan model of the fit, for --exact and --psis, and for log densities
    #[arg(long, value_name = "MODEL", conflicts_with = "library")]
    stan: Option<PathBuf>,
    /// The library of the fit, for the same
    #[arg(long, value_name = "LIBRARY")]
    library: Option<PathBuf>,
    /// Where log densities of many draws are taken: auto, cpu or cuda:0 (cuda:1, …) [default: auto]
    #[arg(long, value_name = "NAME", requires = "data")]
    device: Option<DeviceName>,
    /// Accept other data or weights with a heavy tail, and replace PATH
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

/// What a command line asks for, found before the work.
struct Asked {
    format: Format,
    fit: Fitted,
    origin: Option<Origin>,
}

/// The model of the fit.
enum Origin {
    /// Of a table.
    Table(Box<Model>),
    /// Of a family beyond one log-concave function of one linear predictor.
    Regression(Box<RegressionModel>),
    /// From a library.
    Library(Box<Compiled>),
}

impl Origin {
    fn target(&self) -> Evaluator<'_> {
        match self {
            Self::Table(model) => model.target.evaluator(),
            Self::Regression(model) => model.target(),
            Self::Library(compiled) => compiled.target(),
        }
    }

    fn table(&self) -> Option<&Model> {
        match self {
            Self::Table(model) => Some(model),
            Self::Regression(_) | Self::Library(_) => None,
        }
    }

    /// Draws of the posterior itself, or within a total variation of it.
    fn draws(&self, q: &Gaussian, tv: Option<f64>, seed: Seed) -> provi_analysis::Result<PosteriorDraws<'_>> {
        match self {
            Self::Table(model) => PosteriorDraws::new(model, q, tv, seed),
            other => PosteriorDraws::of_target(other.target(), q, tv, seed),
        }
    }
}

impl Asked {
    fn new(args: &SampleArgs) -> Result<Self> {
        let format = args.format.unwrap_or_else(|| Format::of(args.out.as_deref()));
        if format == Format::Zarr && args.out.is_none() {
            return Err(Failure::ZarrNeedsFolder);
        }
        // A path that cannot be written is refused before the work.
        if let Some(path) = &args.out {
            store::check_free(path, args.force)?;
        }
        device::is_there(args.device.unwrap_or_default())?;
        let fit = Fitted::load(&args.fit)?;
        let origin = args.origin(&fit)?;
        Ok(Self { format, fit, origin })
    }
}

pub(crate) fn execute(args: &SampleArgs) -> Result<Outcome> {
    let Asked { format, fit, origin } = Asked::new(args)?;
    let (q, count, seed) = (&fit.gaussian, args.number as usize, Seed(args.seed));
    let (target, model) = (origin.as_ref().map(Origin::target), origin.as_ref().and_then(Origin::table));
    if format == Format::Csv && !args.psis {
        // However many draws there are, only a part of them is held in memory.
        return args
            .write(|to| csv(to, &fit.draw_names(), args.number, |which| Ok(fit.draw_part(which, seed)?)));
    }
    if args.psis {
        fit.needs_known_scales("resampling")?;
    }
    sampled::refuse_many(q, count, format.copies(), args.psis)?;
    let sampled = match (&fit.mixture, target) {
        (Some(mixture), _) => Sampled::of_mixture(mixture, &fit.file, count, seed),
        (None, Some(target)) if args.psis => {
            Sampled::resampled(&*fit.dense("resampling")?, target, count, seed, args.force)?
        }
        (None, target) => Sampled::of_gaussian(q, &fit.file.names, target, count, seed)?,
    };
    let sampled =
        args.with_likelihoods(format, sampled, &fit, origin.as_ref())?.with_parameters(&fit.file)?;
    args.say_of_device(model);
    args.write_held(format, &fit, &sampled)
}

/// Draws of the posterior itself. A stop keeps those that there are.
pub(crate) fn exact(args: &SampleArgs) -> Result<Ending> {
    let begin = Instant::now();
    interrupt::watch();
    let limit = RunOptions { time_limit: args.time_limit, ..RunOptions::default() }.limit()?;
    let signal = interrupt::limited(begin, limit, 0);
    let Asked { format, fit, origin } = Asked::new(args)?;
    // The option asks for the model.
    let Some(origin) = origin else { return Err(provi_analysis::Error::ExactNeedsRows.into()) };
    let model = origin.table();
    interrupt::begin();
    let (q, names, count) = (&fit.gaussian, &fit.file.names, args.number as usize);
    if format != Format::Csv {
        sampled::refuse_many(q, count, format.copies(), false)?;
    }
    let dense = fit.dense("a draw of the posterior")?;
    let mut draws = signal.cover(|| origin.draws(&dense, args.tv, Seed(args.seed)))?;
    let law = draws.law();
    let mut said = begin;
    let mut part = |which: Range<u64>| -> std::result::Result<Matrix, Stop> {
        let points = signal.cover(|| draws.draw((which.end - which.start) as usize))?;
        if said.elapsed() >= SAY_EVERY {
            said = Instant::now();
            eprintln!("{} of {} draws", grouped(draws.made()), grouped(count as u64));
        }
        Ok(points)
    };
    let outcome = if format == Format::Csv {
        args.write(|to| csv(to, names, args.number, &mut part))?
    } else {
        let mut entries = Vec::new();
        for first in (0..u64::from(args.number)).step_by(PART as usize) {
            let which = first..(first + PART).min(args.number.into());
            let (wanted, points) = (which.end - which.start, part(which).map_err(Stop::into_failure)?);
            entries.extend_from_slice(points.entries());
            if (points.rows() as u64) < wanted {
                break;
            }
        }
        let points = Matrix::new(entries.len() / q.dim(), q.dim(), entries)?;
        if points.rows() == 0 {
            return Err(provi_analysis::Error::from(provi::Error::Stopped { during: "the draws" }).into());
        }
        let sampled = Sampled::of_posterior(&dense, origin.target(), points, law, Seed(args.seed))?;
        let sampled = args.with_likelihoods(format, sampled, &fit, Some(&origin))?;
        args.write_held(format, &fit, &sampled)?
    };
    args.say_of_device(model);
    let made = draws.made();
    if matches!(law, Law::Tv { .. } | Law::Exact { declared: true, .. }) {
        eprintln!("{}", law.note(fit.file.is_certified()));
    }
    // A reader that has gone away is no stop.
    let stopped = made < count as u64 && signal.is_wanted();
    if stopped {
        eprintln!("stopped: {} of {} draws were made, and are written", grouped(made), grouped(count as u64));
    }
    Ok(Ending { outcome, stopped, failure: None })
}

impl SampleArgs {
    /// The model of the fit, if its data or its library are named.
    fn origin(&self, fit: &Fitted) -> Result<Option<Origin>> {
        if self.stan.is_some() || self.library.is_some() {
            let given = LibraryOptions {
                stan: self.stan.clone(),
                library: self.library.clone(),
                data_file: self.data.clone(),
                ..LibraryOptions::default()
            };
            if fit.file.model.library.is_none() && !self.force {
                let (what, stored) = ("--stan or --library".to_owned(), "none".to_owned());
                let given = self.stan.as_ref().or(self.library.as_ref());
                let given = given.map(|path| path.display().to_string()).unwrap_or_default();
                return Err(Failure::OtherModel { what, stored, given });
            }
            return Ok(Some(Origin::Library(Box::new(open_again(&fit.file, &given, self.force)?))));
        }
        let Some(path) = &self.data else { return Ok(None) };
        let data = Data::read(path).map_err(|error| Failure::table(error, &fit.file.model.formula))?;
        Ok(Some(match fit.file.likelihood() {
            Some(_) => {
                let model = fit.regression(&data, self.force)?;
                if self.exact && model.target().target().curvature()?.is_none() {
                    fit.needs_one_predictor("draws of the posterior itself")?;
                }
                Origin::Regression(Box::new(model))
            }
            None => Origin::Table(Box::new(fit.model(&data, self.force)?.on_device(self.device)?)),
        }))
    }

    /// What is to be known of the card, after the work.
    fn say_of_device(&self, model: Option<&Model>) {
        let Some(model) = model else { return };
        let rows = model.target.device_rows();
        let not_used = device::not_used(rows, self.device);
        not_used.into_iter().chain(device::said(rows, self.device)).for_each(|said| eprintln!("{said}"));
    }

    /// With the log likelihood of every row, for a store that has a place for them; refused if memory does not suffice.
    fn with_likelihoods(
        &self,
        format: Format,
        mut sampled: Sampled,
        fit: &Fitted,
        origin: Option<&Origin>,
    ) -> Result<Sampled> {
        let Some(origin) = origin.filter(|_| format == Format::Zarr) else { return Ok(sampled) };
        let draws = sampled.points.rows() as u128;
        let room = |rows: usize| {
            let what = || format!("the log likelihoods of {rows} rows at {draws} draws");
            provi_analysis::capacity::refuse_beyond(what, 8 * 3 * draws * rows as u128)
        };
        match origin {
            Origin::Table(model) => {
                room(model.rows)?;
                sampled.add_log_likelihood(&model.target, fit, usize::MAX)?;
            }
            Origin::Regression(model) => {
                room(model.regression().design().rows())?;
                sampled.add_log_likelihood_of(model.regression(), usize::MAX)?;
            }
            Origin::Library(_) => {}
        }
        Ok(sampled)
    }

    /// Draws that are all there.
    fn write_held(&self, format: Format, fit: &Fitted, sampled: &Sampled) -> Result<Outcome> {
        let q = &fit.gaussian;
        match (format, &self.out) {
            (Format::Csv, _) => {
                let entries = sampled.points.entries();
                let part = |which: Range<u64>| {
                    let [first, last] = [which.start, which.end].map(|k| k as usize * q.dim());
                    // Rows of a matrix are those of a part of it.
                    Matrix::new((last - first) / q.dim(), q.dim(), entries[first..last].to_vec())
                        .unwrap_or_else(|_| Matrix::zeros(0, q.dim()))
                };
                self.write(|to| {
                    csv(to, &sampled.names, sampled.points.rows() as u32, |which| Ok(part(which)))
                })
            }
            (Format::Json, _) => self.write(|to| Ok(write_json(to, &Report::new(sampled, &fit.file))?)),
            (Format::Zarr, None) => Err(Failure::ZarrNeedsFolder),
            (Format::Zarr, Some(path)) => {
                store::write_folder(path, &zarr::files(sampled, fit)?)?;
                Ok(Outcome::said(format!("written to {}\n", path.display())))
            }
        }
    }

    /// Writes them to the path, or to standard output.
    fn write(&self, fill: impl Fill) -> Result<Outcome> {
        match &self.out {
            None => flow::to_stdout(fill),
            Some(path) => flow::to_file(path, fill),
        }
    }
}

/// Between two lines that say how many there are.
const SAY_EVERY: Duration = Duration::from_secs(5);

/// Draws held in memory at once.
const PART: u64 = 1000;

/// A header, then one line per draw; numbers read back to the same bits.
pub(super) fn csv(
    to: &mut dyn Write,
    names: &[String],
    count: u32,
    mut part: impl FnMut(Range<u64>) -> std::result::Result<Matrix, Stop>,
) -> std::result::Result<(), Stop> {
    let mut writer = csv::Writer::from_writer(to);
    writer.write_record(names).map_err(place)?;
    for first in (0..u64::from(count)).step_by(PART as usize) {
        let which = first..(first + PART).min(count.into());
        let wanted = which.end - which.start;
        let points = part(which)?;
        for k in 0..points.rows() {
            writer.write_record(points.row(k).iter().map(f64::to_string)).map_err(place)?;
        }
        if (points.rows() as u64) < wanted {
            break;
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
    /// What they are draws of: gaussian, mixture, psis, exact or tv.
    law: &'static str,
    /// What is proved of the total variation between that and the posterior; null where nothing is.
    tv_bound: Option<f64>,
    /// The law in words, with what the bound rests on.
    note: String,
    names: &'a [String],
    draws: Vec<&'a [f64]>,
    log_q: &'a [f64],
    /// log p(z, x); null without data.
    lp: Option<&'a [f64]>,
    /// The scales of each draw, if they are integrated over.
    #[serde(skip_serializing_if = "Option::is_none")]
    scales: Option<Scales<'a>>,
}

/// Scales, with a row for each draw.
#[derive(Serialize)]
struct Scales<'a> {
    names: &'a [String],
    draws: Vec<&'a [f64]>,
}

impl<'a> Report<'a> {
    fn new(sampled: &'a Sampled, file: &FitFile) -> Self {
        let certified = file.certificate.as_ref().and_then(|c| c.tv.bound());
        Self {
            schema: "provi-draws/1",
            provi: env!("CARGO_PKG_VERSION"),
            seed: sampled.seed.0,
            psis: sampled.resampled.is_some(),
            pareto_k: sampled.resampled.filter(|k| k.is_finite()),
            law: sampled.law.name(),
            tv_bound: sampled.law.total_variation(certified),
            note: sampled.law.note(file.is_certified()),
            names: &sampled.names,
            draws: (0..sampled.points.rows()).map(|k| sampled.points.row(k)).collect(),
            log_q: &sampled.log_q,
            lp: sampled.log_joint.as_deref(),
            scales: sampled.scales.as_ref().map(|(names, values)| Scales {
                names,
                draws: (0..values.rows()).map(|k| values.row(k)).collect(),
            }),
        }
    }
}

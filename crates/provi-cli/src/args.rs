//! The command line, defined with clap.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{ArgGroup, Args as Group, Parser, Subcommand};
use provi::Method;
use provi_analysis::model::Model;
use provi_analysis::options::{
    AuditOptions, CompiledOptions, DeviceName, FileOptions, LibraryOptions, ModelOptions, RowMemory,
    RunOptions, StepOptions,
};
use provi_analysis::run::robust::RobustMethod;

use crate::command::calibrate::CalibrateArgs;
use crate::command::compare::CompareArgs;
use crate::command::completions::CompletionsArgs;
use crate::command::effects::EffectsArgs;
use crate::command::explain::ExplainArgs;
use crate::command::inspect::InspectArgs;
use crate::command::location_scale::LocationScaleArgs;
use crate::command::loo::LooArgs;
use crate::command::man::ManArgs;
use crate::command::predict::PredictArgs;
use crate::command::prior::PriorArgs;
use crate::command::probe_library::ProbeLibraryArgs;
use crate::command::report::ReportArgs;
use crate::command::sample::SampleArgs;
use crate::command::summary::SummaryArgs;
use crate::command::verify::VerifyArgs;
use crate::failure::Result;

const EXAMPLES: &str = "\
Example: provi fit wells.csv 'switch ~ arsenic + dist' --out wells.fit

Exit status: 0 finished; 1 something asked for is not proved; 2 failed;
3 stopped early; 130 aborted by Ctrl-C. `provi explain status` says more.";

/// Gaussian variational inference that proves its answers
#[derive(Debug, Parser)]
#[command(name = "provi", version, after_help = EXAMPLES, max_term_width = 100, disable_help_subcommand = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Fit an embedded data set: posterior, certificate, estimates
    Demo(DemoArgs),
    /// Fit a model: posterior and certificate; fit.json in a folder
    Fit(Box<FitArgs>),
    /// Simulate responses from the prior, before any fit
    Prior(Box<PriorArgs>),
    /// Check posteriors by simulation: ranks of the truth
    Calibrate(Box<CalibrateArgs>),
    /// Show a fit from its folder: posterior, contrasts, certificate
    Summary(SummaryArgs),
    /// Write a fit as one HTML page, or one of its plots
    Report(ReportArgs),
    /// Predict new rows with a fit: means, intervals, draws
    Predict(PredictArgs),
    /// Show effects of variables: curves, slopes, contrasts, ratios
    Effects(EffectsArgs),
    /// Write draws of a fit: CSV, JSON, or Zarr for ArviZ
    Sample(SampleArgs),
    /// Compare models of the same data by their log evidence
    Compare(CompareArgs),
    /// Leave out one row at a time: elpd, WAIC, k̂, models compared
    Loo(LooArgs),
    /// Check a fit, provi's or another tool's, against its data
    Certify(Box<CertifyArgs>),
    /// Describe a table, and warn of what would trouble a fit
    Inspect(InspectArgs),
    /// Plan steps for an accuracy, or bound given steps
    Plan(Box<PlanArgs>),
    /// Show the constants of a model: d, N, μ, M, κ, K, tr H_lo⁻¹
    Constants(Box<ConstantsArgs>),
    /// Seek a q with another base law than the normal one
    LocationScale(Box<LocationScaleArgs>),
    /// Test every statement of the theory by experiment
    Verify(VerifyArgs),
    /// Explain a word of the output
    Explain(ExplainArgs),
    /// Print completions for a shell
    Completions(CompletionsArgs),
    /// Write the manual pages
    Man(ManArgs),
    /// Try a library in another process; provi calls this itself
    #[command(hide = true)]
    ProbeLibrary(ProbeLibraryArgs),
}

const DEMO: &str = "\
Fits the Wisconsin diagnostic breast cancer data: 569 tumours, benign or not,
three measurements each.

Examples:
  provi demo
  provi demo --quiet";

#[derive(Debug, Group)]
#[command(after_help = DEMO)]
pub(crate) struct DemoArgs {
    /// Print no progress, only the result
    #[arg(long)]
    pub(crate) quiet: bool,
}

const CONSTANTS: &str = "\
Every bound of provi rests on these numbers. M bounds the curvature of the negative log
posterior from above, μ from below; κ = M/μ says how hard the problem is. In
whitened coordinates κ is the smallest that can be proved.

Examples:
  provi constants wells.csv 'switch ~ arsenic + dist'
  provi constants heights.csv 'height ~ .' --family gaussian --noise-sd 5 --prior-scale 10
  provi constants wells.csv 'switch ~ arsenic + dist' --json > constants.json";

#[derive(Debug, Group)]
#[command(after_help = CONSTANTS)]
pub(crate) struct ConstantsArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// Print the result as JSON, and nothing else, on standard output
    #[arg(long)]
    pub(crate) json: bool,
}

const PLAN: &str = "\
Nothing is fitted. The bound is on the expected squared distance to the best
Gaussian, in the norm that is printed with it.

Examples:
  provi plan wells.csv 'switch ~ arsenic + dist' --distance 0.01
  provi plan wells.csv 'switch ~ arsenic + dist' --steps 100000 --method proj-stl --draws 10
  provi plan wells.csv 'switch ~ arsenic + dist' --distance 0.01 --json > plan.json";

#[derive(Debug, Group)]
#[command(after_help = PLAN)]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    #[command(flatten)]
    pub(crate) goal: Goal,
    /// How steps are made [default: exact]
    #[arg(long, value_parser = planned())]
    pub(crate) method: Option<Method>,
    #[command(flatten)]
    pub(crate) steps: StepOptions,
    /// Print the result as JSON, and nothing else, on standard output
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Group)]
#[group(required = true, multiple = false)]
pub(crate) struct Goal {
    /// Plan the fewest steps to an expected squared distance of at most E
    #[arg(long, value_name = "E", allow_negative_numbers = true)]
    pub(crate) distance: Option<f64>,
    /// Compute the bound that T steps promise
    #[arg(long, value_name = "T", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) steps: Option<u64>,
}

const FIT: &str = "\
The answer is audited from fresh draws, however it was found. Its certificate
bounds the gap to the best Gaussian and the distance to the posterior, two
different things. Estimates without proof are printed separately. With
--accuracy the exit status is 1 unless that gap is proved.

Scales that are not given (the noise of a family that has one, the deviations
between groups and their correlations) have priors and are integrated over, by a
sum that is refined until it stands still: an estimate. With --scales maximise
they are those of the largest ELBO, and every statement is conditional on them.

The other methods follow a plan. With --distance the plan provably comes that
near the best Gaussian (exit status 1 if there is no such plan); otherwise it
has steps that work in practice. --distance or --steps alone choose exact or
proj-stl. Ctrl-C, SIGTERM and --time-limit stop a fit early and keep the answer
so far; a second Ctrl-C aborts. With --out, --resume continues a stopped fit.

Exit status: 0 finished; 1 something that was asked for is not proved, or a
check failed; 2 failed; 3 the search was stopped early, and nothing that was
asked for is missing; 130 aborted by a second Ctrl-C.

Examples:
  provi fit wells.csv 'switch ~ arsenic + dist'
  provi fit cases.csv 'case ~ age + dose + (1 | clinic)' --out cases.fit
  provi fit visits.csv 'visits ~ age * town' --family poisson --exposure years
  provi fit claims.csv 'cost ~ age + region' --family gamma
  provi fit lung.csv 'surv(time, event) ~ age + sex' --family weibull
  provi fit trials.parquet 'cured | trials(n) ~ dose' --prior 'dose=normal(1, 0.5)'
  provi fit heights.csv 'height ~ 0 + .' --family gaussian --noise-sd 5
  provi fit --stan schools_model.so --data schools.json --starts 4
  provi fit --library density.so --mu 1 --smoothness 4
  provi fit big.parquet 'y ~ .' --method prox-energy --subsample 256 --sampling importance
  provi fit wells.csv 'switch ~ arsenic + dist' --family-of-q meanfield
  provi fit --config cases.fit/run.toml --seed 1 --out again.fit
  provi fit --resume cases.fit";

#[derive(Clone, Debug, Group)]
#[command(
    after_help = FIT,
    group(ArgGroup::new("of_library").args(["stan", "library", "config"]).multiple(true)),
    group(ArgGroup::new("of_stan").args(["stan", "config"]).multiple(true))
)]
pub(crate) struct FitArgs {
    /// The data: CSV, TSV (also gzipped) or Parquet, or - for standard input; a folder or a pattern for many files
    #[arg(required_unless_present_any = ["config", "resume", "stan", "library"])]
    pub(crate) data: Option<PathBuf>,
    /// The model, such as 'y ~ a + b', 'y ~ .' or 'y ~ x + (1 | group)'
    #[arg(required_unless_present_any = ["config", "resume", "stan", "library"])]
    pub(crate) formula: Option<String>,
    #[command(flatten)]
    pub(crate) model: ModelOptions,
    #[command(flatten)]
    pub(crate) compiled: CompiledOptions,
    #[command(flatten)]
    pub(crate) run: RunOptions,
    /// Fit again with every prior half and twice as wide, and show what changes
    #[arg(long, conflicts_with_all = ["json", "stan", "library"])]
    pub(crate) prior_sensitivity: bool,
    /// Show beside the posterior sd a frequentist spread of the estimate, for a model that may be wrong; no certificate covers it
    #[arg(long, value_name = "NAME", conflicts_with_all = ["stan", "library", "distributed"])]
    pub(crate) robust: Option<RobustMethod>,
    /// For --robust: rows with the same value of this column belong together
    #[arg(long, value_name = "COLUMN", requires = "robust")]
    pub(crate) cluster: Option<String>,
    /// For --robust bootstrap: the number of refits [default: 200]
    #[arg(long, value_name = "B", requires = "robust", value_parser = clap::value_parser!(u32).range(2..=1_000_000))]
    pub(crate) refits: Option<u32>,
    /// Read options from a run file; the command line takes precedence
    #[arg(long, value_name = "FILE", conflicts_with = "resume")]
    pub(crate) config: Option<PathBuf>,
    /// Resume a fit that was stopped, with the options in its folder
    #[arg(long, value_name = "DIR", conflicts_with_all = ["data", "formula", "stan", "library", "out", "force", "method", "distance", "steps", "draws", "coupling", "coordinates", "subsample", "sampling", "family_of_q", "seed"])]
    pub(crate) resume: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) files: FileOptions,
    /// Make one fit with all processes that mpirun started, each reading its share of the data
    #[arg(long, conflicts_with_all = ["stan", "library"])]
    pub(crate) distributed: bool,
    /// Write fit.json, draws.zarr, run.toml and log.txt to this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Replace a fit that the folder holds
    #[arg(long, requires = "out")]
    pub(crate) force: bool,
    /// Print fit.json, and nothing else, on standard output
    #[arg(long)]
    pub(crate) json: bool,
    /// Print no progress, only the result
    #[arg(long)]
    pub(crate) quiet: bool,
}

impl FitArgs {
    pub(crate) fn seed(&self) -> u64 {
        self.run.seed.unwrap_or(0)
    }
}

const CERTIFY: &str = "\
Nothing is fitted. The certificate is computed again, from the data and fresh
draws, and compared with the one in the file if there is one. The draws have a
new seed each time, so that no fit can be tuned to them; the seed is printed,
and --seed repeats it. Every number of the file that states something about the
posterior is computed again: a bound from draws agrees if the new one is at most
1.5 times the stored one; a number that needs no draws must be the same. Exit
status 1: a stored claim is not reproduced, contradicts an estimate or cannot
be checked, or --accuracy is not proved. The audit uses the failure probability
of the stored one and at least as many draws.

FIT is one of
  fit.json of provi, or its folder: FORMULA and options are read from it
  JSON with `mean` (or `m`) and `covariance` (`cov`, `S`) or its lower
    triangular factor (`factor`, `L`, `C`; full or packed row by row), and
    optionally `names`
  CSV with the header `name,mean,<name1>,<name2>,…` and for each coefficient
    its name, its mean and its row of the covariance
Names are matched in any order; without them the order is the model's, the
intercept first.

Examples:
  provi certify wells.fit wells.csv
  provi certify wells.fit wells.csv --accuracy 1e-6 --seed 12
  provi certify laplace.csv wells.csv 'switch ~ arsenic + dist' --prior-scale 1
  provi certify pathfinder.json --stan schools_model.so --data schools.json";

#[derive(Debug, Group)]
#[command(
    after_help = CERTIFY,
    group(ArgGroup::new("of_library").args(["stan", "library"])),
    group(ArgGroup::new("of_stan").args(["stan"]))
)]
pub(crate) struct CertifyArgs {
    /// The fit: fit.json or its folder, or a mean and covariance in JSON or CSV
    pub(crate) fit: PathBuf,
    /// The data: CSV, TSV (also gzipped) or Parquet, or - for standard input; a folder or a pattern for many files
    #[arg(required_unless_present_any = ["stan", "library"])]
    pub(crate) data: Option<PathBuf>,
    /// The model, such as 'y ~ a + b' or 'y ~ .' [default: the fit's]
    pub(crate) formula: Option<String>,
    /// Options that are not given are those of the fit.
    #[command(flatten)]
    pub(crate) model: ModelOptions,
    #[command(flatten)]
    pub(crate) library: LibraryOptions,
    #[command(flatten)]
    pub(crate) audit: AuditOptions,
    /// Seed of the random draws [default: a fresh one each time, which is printed]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Where log densities of many draws are taken: auto, cpu or cuda:0 (cuda:1, …) [default: auto]
    #[arg(long, value_name = "NAME")]
    pub(crate) device: Option<DeviceName>,
    /// Read the data block by block in about this much memory, such as 2GiB or 500MB
    #[arg(long, value_name = "SIZE", conflicts_with_all = ["stan", "library"])]
    pub(crate) memory: Option<RowMemory>,
    /// Accept data or a model other than those of the fit
    #[arg(long)]
    pub(crate) force: bool,
    /// Print the result as JSON, and nothing else, on standard output
    #[arg(long)]
    pub(crate) json: bool,
}

/// The data and the formula.
#[derive(Debug, Group)]
pub(crate) struct ModelArgs {
    /// The data: CSV, TSV (also gzipped) or Parquet, or - for standard input
    pub(crate) data: PathBuf,
    /// The model, such as 'y ~ a + b', 'y ~ .' or 'y ~ x + (1 | group)'
    pub(crate) formula: String,
    #[command(flatten)]
    pub(crate) options: ModelOptions,
}

impl ModelArgs {
    /// Reads the model from them.
    pub(crate) fn read(&self) -> Result<Model> {
        Ok(Model::read(&self.data, &self.formula, &self.options)?)
    }
}

/// The library's method names, listed in the help and parsed by the library.
pub(crate) fn planned() -> impl TypedValueParser<Value = Method> {
    PossibleValuesParser::new(Method::named().map(|(name, _)| name)).try_map(|name| name.parse::<Method>())
}

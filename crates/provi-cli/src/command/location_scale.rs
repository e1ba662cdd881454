//! `provi location-scale`: the best member of a family with another base law than the normal one.

use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use provi::fit::{Snapshot, Watch};
use provi::scalar::Probability;
use provi::{BaseLaw, Method, Seed};
use provi_analysis::Problem;
use provi_analysis::number::{above, grouped, plain, probability, share_decimals, to_spread};
use provi_analysis::options::{RunOptions, StepOptions};
use provi_analysis::record::fit_file::write_json;
use provi_analysis::record::store::check_free;
use provi_analysis::run::located::{Located, Marginal};
use provi_analysis::show::rows::LEVEL;
use provi_analysis::show::words::{counted, method_within};

use super::fit::start_threads;
use super::sample::csv;
use super::{Ending, Outcome};
use crate::args::{ModelArgs, planned};
use crate::failure::Result;
use crate::interrupt;
use crate::output::columns::{Columns, Side};
use crate::output::wrap::wrapped;
use crate::output::{estimates, flow, style, summary};

const HELP: &str = "\
q is the law of m + Cu: C lower triangular, the coordinates of u independent
with mean 0, variance 1 and the base law. It is sought by planned steps. Where
the theorems of the paper carry over, the bound on the distance to the best
member of this family is printed. No certificate speaks of such a q: `provi fit`
seeks Gaussians, and proves. `provi explain base-law` says more.

Laws: student-t:8 (more than 4 degrees of freedom), laplace, logistic, uniform,
gaussian. Methods: prox-controlled, prox-energy, proj-controlled and
proj-entropy-triangular have theorems for every law.

Ctrl-C and --time-limit stop the steps and keep the answer so far, without a
promise. Exit status 1 if the distance asked for is not proved.

Examples:
  provi location-scale wells.csv 'switch ~ arsenic + dist' --base-law student-t:8
  provi location-scale wells.csv 'switch ~ arsenic' --base-law laplace --distance 0.1 --json
  provi location-scale wells.csv 'switch ~ arsenic' --base-law logistic -n 10000 --out draws.csv";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct LocationScaleArgs {
    #[command(flatten)]
    model: ModelArgs,
    /// The law of the coordinates of u
    #[arg(long, value_name = "LAW")]
    base_law: BaseLaw,
    /// How steps are made [default: prox-controlled; prox-energy with a subsample or a family of q; unproven steps without a bound of the curvature]
    #[arg(long, value_parser = planned())]
    method: Option<Method>,
    /// Run a plan that provably reaches an expected squared distance of at most E
    #[arg(long, value_name = "E", conflicts_with = "steps", allow_negative_numbers = true)]
    distance: Option<f64>,
    /// Number of steps [default: the method's own]
    #[arg(long, value_name = "T", value_parser = clap::value_parser!(u64).range(1..))]
    steps: Option<u64>,
    #[command(flatten)]
    step: StepOptions,
    /// Seed of the random draws
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// Threads to use; the result is the same for any number [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    threads: Option<u32>,
    /// Stop after this many seconds and keep the answer so far, without a promise
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    time_limit: Option<f64>,
    /// The probability of the intervals
    #[arg(long, value_name = "P", default_value_t = LEVEL, allow_negative_numbers = true)]
    level: f64,
    /// Write draws of q to this file, as CSV
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Number of draws in that file
    #[arg(short = 'n', long = "number", value_name = "N", default_value_t = 4000, requires = "out",
        value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    number: u32,
    /// Replace that file
    #[arg(long, requires = "out")]
    force: bool,
    /// Print the result as JSON, and nothing else, on standard output
    #[arg(long)]
    json: bool,
    /// Print no progress, only the result
    #[arg(long)]
    quiet: bool,
}

/// Time between two lines of progress.
const SAY_EVERY: Duration = Duration::from_secs(5);

pub(crate) fn execute(args: &LocationScaleArgs) -> Result<Ending> {
    let begin = Instant::now();
    let level = Probability::new("--level", args.level)?.get();
    let options = RunOptions {
        method: args.method.map(provi::auto::Choice::Planned),
        distance: args.distance,
        steps: args.steps,
        step: args.step.clone(),
        seed: Some(args.seed),
        time_limit: args.time_limit,
        ..RunOptions::default()
    };
    let limit = options.limit()?;
    args.method.map_or(Ok(()), |method| method.check_law(args.base_law))?;
    args.out.as_ref().map_or(Ok(()), |path| check_free(path, args.force))?;
    args.threads.map_or(Ok(()), |threads| start_threads(threads, args.quiet))?;
    let stop = interrupt::watch();
    let signal = interrupt::limited(begin, limit, 0);
    let model = signal.cover(|| args.model.read())?;
    interrupt::begin();
    let mut said = begin;
    let mut observer = |at: &Snapshot| {
        if !args.quiet && said.elapsed() >= SAY_EVERY {
            said = Instant::now();
            eprintln!("step {}, ELBO {:.4}", grouped(at.step), -at.neg_elbo);
        }
        ControlFlow::Continue(())
    };
    let left = limit.map(|limit| limit.saturating_sub(begin.elapsed()));
    let mut watch =
        Watch { observer: Some(&mut observer), stop: Some(stop), time_limit: left, ..Watch::default() };
    let found = Problem::model(&model).locate(args.base_law, &options, &mut watch)?;
    if let Some(path) = &args.out {
        let draw = |which| Ok(found.q.sample_part(which, Seed(args.seed)));
        flow::to_file(path, |to: &mut dyn Write| csv(to, &found.file.names, args.number, draw))?;
    }
    let stopped = found.file.stopped_early;
    let proved = args.distance.is_none_or(|e| found.file.plan_bound.value.is_some_and(|bound| bound <= e));
    if let (Some(distance), false) = (args.distance, proved) {
        eprintln!("the distance asked for, {distance}, was not proved");
    }
    if args.json {
        let said = flow::to_stdout(|to: &mut dyn Write| Ok(write_json(to, &found.file)?))?;
        return Ok(Ending { outcome: Outcome { proved, ..said }, stopped, failure: None });
    }
    let mut text = summary::recorded_model(&found.file.model, found.file.names.len());
    text.push_str(&describe(&found, level)?);
    if let Some(path) = &args.out {
        text.push_str(&format!("\n{} draws written to {}\n", grouped(args.number.into()), path.display()));
    }
    Ok(Ending { outcome: Outcome { text, proved }, stopped, failure: None })
}

fn describe(found: &Located, level: f64) -> Result<String> {
    let file = &found.file;
    let rows = found.marginals(level)?;
    let early = if file.stopped_early { " (stopped early)" } else { "" };
    let law = format!("{}, kurtosis {} where the normal law has 3", file.base_law, plain(file.kurtosis));
    let certain = match file.base_law.as_str() {
        "gaussian" => "`provi fit` seeks a Gaussian too, and proves how far it is from the posterior",
        _ => "how far the posterior's are is not proved: no certificate speaks of a q that is no Gaussian",
    };
    let about = format!(
        "mean, sd: those of q; interval, P(>0): of {} draws of q; {certain}",
        grouped(found.marginal_draws() as u64)
    );
    Ok(format!(
        "{}ELBO   {:.4} (standard error {}; with the entropy of this law)\nrun    {}, {}{early}, {:.2} s, seed {}\n{}\n{}{}\n{}",
        wrapped("law    ", 7, &law),
        -file.neg_elbo,
        above(file.neg_elbo_error),
        method_within(
            &file.method,
            file.draws_per_step,
            file.coupling.as_deref(),
            file.subsample,
            file.family_of_q.as_deref()
        ),
        counted(file.steps, "step"),
        file.seconds,
        file.seed,
        summary::bound(&file.plan_bound),
        table(&rows, level),
        wrapped("", 0, &about),
        estimates::describe(None, &file.estimates, false),
    ))
}

fn table(rows: &[Marginal], level: f64) -> String {
    let tail = |p: f64| format!("{}%", (p * 1e6).round() / 1e4);
    let (low, high) = (tail(0.5 * (1.0 - level)), tail(0.5 * (1.0 + level)));
    let right = |text| (text, Side::Right);
    let mut columns = Columns::new(&[
        ("", Side::Left),
        right("mean"),
        right("sd"),
        right(&low),
        right(&high),
        right("P(>0)"),
    ]);
    columns.bold_heading(style::bold());
    let shared = share_decimals(rows.iter().map(|row| row.sd));
    for row in rows {
        let number = |x: f64| shared.map_or_else(|| to_spread(x, row.sd), |places| format!("{x:.places$}"));
        let [low, high] = row.interval;
        columns.push(vec![
            row.name.clone(),
            number(row.mean),
            number(row.sd),
            number(low),
            number(high),
            probability(row.positive),
        ]);
    }
    columns.render()
}

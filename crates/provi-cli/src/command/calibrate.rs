//! `provi calibrate`: simulation-based calibration at the design of a table.

use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use provi::Seed;
use provi_analysis::number::{grouped, plain};
use provi_analysis::options::RunOptions;
use provi_analysis::record::fit_file::write_json;
use provi_analysis::record::store::{refuse_fit, write_file};
use provi_analysis::run::calibrate::{CalibrateAsked, Calibration, Subject};
use serde::Serialize;

use super::fit::start_threads;
use super::{Ending, Outcome};
use crate::args::ModelArgs;
use crate::failure::Result;
use crate::interrupt;
use crate::output::columns::{Columns, Side};
use crate::output::flow;
use crate::output::style;
use crate::output::wrap::wrapped;

const HELP: &str = "\
Parameters are drawn from the prior, responses from the model at the rows of the
table, and the model is fitted to them, many times. If posteriors are right, the
rank of the true parameter among posterior draws is uniform, for every
coefficient, every scale that is integrated over, and the log likelihood. The
draws are those of the posterior itself where that is cheap enough, otherwise of
the fitted Gaussian; of the mixture, if scales are integrated over. Families
that are not log-concave have draws of the fitted Gaussian and of a wider law
around it, resampled towards the posterior: those are calibrated, not the
Gaussian that a fit reports. The output says which.

The ECDF of the ranks is held against a band that right posteriors leave with
probability at most --level, over all quantities together. Exit status 1 if one
leaves it, if a simulation failed, or if more than a tenth had no good weights.
Ctrl-C and --time-limit end it early and keep the simulations made. The result
is the same for any number of threads.

Examples:
  provi calibrate wells.csv 'switch ~ arsenic + dist'
  provi calibrate wells.csv 'switch ~ arsenic + dist' --simulations 1000 --out ranks.html
  provi calibrate visits.csv 'visits ~ age' --family poisson --time-limit 60 --json";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct CalibrateArgs {
    #[command(flatten)]
    model: ModelArgs,
    /// Number of simulated data sets
    #[arg(long, value_name = "N", default_value_t = 200,
        value_parser = clap::value_parser!(u32).range(20..=1_000_000))]
    simulations: u32,
    /// Posterior draws in each, among which the truth is ranked
    #[arg(short = 'n', long = "draws", value_name = "L", default_value_t = 99,
        value_parser = clap::value_parser!(u32).range(9..=9999))]
    draws: u32,
    /// Probability of a false alarm, over all quantities together
    #[arg(long, value_name = "P", default_value_t = 0.01, allow_negative_numbers = true)]
    level: f64,
    /// Seed of everything
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// Threads to use; the result is the same for any number [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    threads: Option<u32>,
    /// Stop after this many seconds and keep the simulations made
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    time_limit: Option<f64>,
    /// Write an HTML page with the plots of the ranks
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print the result as JSON, and nothing else, on standard output
    #[arg(long)]
    json: bool,
    /// Print no progress, only the result
    #[arg(long)]
    quiet: bool,
}

/// What --json prints.
#[derive(Serialize)]
struct Report<'a> {
    schema: &'static str,
    formula: &'a str,
    family: &'a str,
    /// Whether no quantity leaves the band and no simulation failed.
    uniform: bool,
    #[serde(flatten)]
    found: &'a Calibration,
}

/// Time between two lines of progress.
const SAY_EVERY: Duration = Duration::from_secs(5);

pub(crate) fn execute(args: &CalibrateArgs) -> Result<Ending> {
    let begin = Instant::now();
    let asked = CalibrateAsked {
        simulations: args.simulations as usize,
        draws: args.draws as usize,
        level: args.level,
        seed: Seed(args.seed),
    };
    asked.check()?;
    let limit = RunOptions { time_limit: args.time_limit, ..RunOptions::default() }.limit()?;
    if let Some(path) = &args.out {
        refuse_fit(path)?;
    }
    args.threads.map_or(Ok(()), |threads| start_threads(threads, args.quiet))?;
    interrupt::watch();
    let signal = interrupt::limited(begin, limit, 0);
    let model = signal.cover(|| Subject::read(&args.model.data, &args.model.formula, &args.model.options))?;
    interrupt::begin();
    let mut said = begin;
    let mut told = |made: usize, of: usize| {
        if !args.quiet && said.elapsed() >= SAY_EVERY {
            said = Instant::now();
            eprintln!("{} of {} simulations", grouped(made as u64), grouped(of as u64));
        }
        if signal.is_wanted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let found = signal.cover(|| model.calibrate(&asked, &mut told))?;
    if found.ranked() == 0 && found.is_stopped() {
        return Err(provi_analysis::Error::from(provi::Error::Stopped { during: "the simulations" }).into());
    }
    if let Some(path) = &args.out {
        let command = format!(
            "provi calibrate {} '{}' --simulations {} -n {} --level {} --seed {}",
            args.model.data.display(),
            args.model.formula,
            args.simulations,
            args.draws,
            args.level,
            args.seed
        );
        write_file(path, found.page(model.formula(), &command).html().as_bytes())?;
    }
    let proved = found.is_uniform();
    let stopped = found.is_stopped();
    if args.json {
        let (formula, family) = (model.formula(), model.family());
        let report = Report { schema: "provi-calibrate/1", formula, family, uniform: proved, found: &found };
        let said = flow::to_stdout(|to: &mut dyn Write| Ok(write_json(to, &report)?))?;
        return Ok(Ending { outcome: Outcome { proved, ..said }, stopped, failure: None });
    }
    let mut text = format!("model  {}, {}\n", model.formula(), model.family());
    for (i, line) in model.prior_lines().iter().enumerate() {
        text.push_str(&wrapped(if i == 0 { "prior  " } else { "       " }, 9, line));
    }
    text.push_str(&format!("\n{}\n", table(&found)));
    text.push_str(&wrapped("", 0, &found.verdict()));
    found.notes().iter().for_each(|note| text.push_str(&wrapped("- ", 2, note)));
    if let Some(path) = &args.out {
        text.push_str(&format!("written to {}\n", path.display()));
    }
    Ok(Ending { outcome: Outcome { text, proved }, stopped, failure: None })
}

/// A line for each quantity: the mean of its ranks as a share, the share in the outermost tenths, and what that says.
fn table(found: &Calibration) -> String {
    let heading = [
        ("", Side::Left),
        ("mean rank", Side::Right),
        ("lowest tenth", Side::Right),
        ("highest tenth", Side::Right),
        ("ranks", Side::Left),
    ];
    let mut columns = Columns::new(&heading);
    columns.bold_heading(style::bold());
    let all = f64::from(found.draws as u32 + 1);
    for one in &found.quantities {
        let n = one.ranks.len().max(1) as f64;
        let share = |rank: &u32| (f64::from(*rank) + 0.5) / all;
        let mean = one.ranks.iter().map(share).sum::<f64>() / n;
        let part = |within: &dyn Fn(f64) -> bool| {
            let count = one.ranks.iter().filter(|rank| within(share(rank))).count();
            format!("{:.3}", count as f64 / n)
        };
        let said = match &one.outside {
            None => "within the band".to_owned(),
            Some(out) => format!(
                "{} ({} below where {} is expected)",
                out.meaning,
                plain(out.found),
                plain(out.expected)
            ),
        };
        let (low, high) = (part(&|u| u < 0.1), part(&|u| u >= 0.9));
        columns.push(vec![one.name.clone(), format!("{mean:.3}"), low, high, said]);
    }
    columns.render()
}

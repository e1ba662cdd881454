//! The options of a run: what to prove, how steps are made, when to stop.

use std::time::Duration;

use provi::audit::Goal;
use provi::auto::Choice;
use provi::coupling::Coupling;
use provi::plan::Coordinates;
use provi::scalar::{Positive, Probability};
use provi::subsample::{Sampling, Subsample};
use provi::{Audit, Method, Pattern, Planner};

use super::{DeviceName, Size, as_text, options};
use crate::error::{Error, Result};

options! {
/// How an answer is found and audited. The library chooses what is not set. Every option of a run is a field of
/// this type or of one of its groups, and nowhere else: command, run file and Python read it from here.
pub struct RunOptions {
    /// What to prove
    #[cfg_attr(feature = "clap", command(flatten))]
    pub audit: AuditOptions,
    /// How the answer is found [default: auto]
    #[cfg_attr(feature = "clap", arg(long, value_parser = methods()))]
    #[serde(with = "as_text")]
    pub method: Option<Choice>,
    /// Run a plan that provably reaches an expected squared distance of at most E
    #[cfg_attr(feature = "clap", arg(long, value_name = "E", conflicts_with = "steps", allow_negative_numbers = true))]
    pub distance: Option<f64>,
    /// Number of steps [default: the method's own]
    #[cfg_attr(feature = "clap", arg(long, value_name = "T", value_parser = clap::value_parser!(u64).range(1..)))]
    pub steps: Option<u64>,
    /// How planned steps are made
    #[cfg_attr(feature = "clap", command(flatten))]
    pub step: StepOptions,
    /// Seed of the random draws [default: 0]
    #[cfg_attr(feature = "clap", arg(long, value_name = "N"))]
    pub seed: Option<u64>,
    /// Threads to use; the result is the same for any number [default: one per core]
    #[cfg_attr(feature = "clap", arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..)))]
    pub threads: Option<u32>,
    /// Where log densities of many draws are taken: auto, cpu or cuda:0 (cuda:1, …). auto uses a card if there is one and the table is large
    /// enough; the numbers are the same up to rounding, which every certificate counts [default: auto]
    #[cfg_attr(feature = "clap", arg(long, value_name = "NAME"))]
    pub device: Option<DeviceName>,
    /// Stop after this many seconds and keep the answer so far, without a promise
    #[cfg_attr(feature = "clap", arg(long, value_name = "SECONDS", allow_negative_numbers = true))]
    pub time_limit: Option<f64>,
    /// Refuse a run that needs more memory than this on top of the data, such as 2GiB [default: what is free]
    #[cfg_attr(feature = "clap", arg(long, value_name = "SIZE"))]
    pub memory_budget: Option<Size>,
    /// A linear combination of coefficients, such as 'a - b' or '0.5*a + b'; repeatable
    #[cfg_attr(feature = "clap", arg(long = "contrast", value_name = "EXPR", allow_hyphen_values = true))]
    #[serde(rename = "contrast")]
    pub contrasts: Vec<String>,
    /// How a black box is searched; the command and its files have these keys next to the library's
    #[cfg_attr(feature = "clap", arg(skip))]
    #[serde(skip)]
    pub search: SearchOptions,
}
}

/// Heading under which help texts list the options of compiled models.
#[cfg(feature = "clap")]
pub(super) const COMPILED: &str = "Compiled models";

/// The help of `--evaluations`, with the library's own numbers.
#[cfg(feature = "clap")]
fn evaluations_help() -> String {
    use provi::auto::{USUAL_CAP, USUAL_CAP_PER_DIMENSION};
    format!(
        "The most evaluations of log p that the search may spend; it ends before if the ELBO no longer rises [default: {USUAL_CAP} + {USUAL_CAP_PER_DIMENSION} per parameter]"
    )
}

options! {
/// How the automatic method searches if it draws.
pub struct SearchOptions {
    /// Search from this many starts, and compare the results
    #[cfg_attr(feature = "clap", arg(long, value_name = "K", requires = "of_library", value_parser = clap::value_parser!(u32).range(1..), help_heading = COMPILED))]
    pub starts: Option<u32>,
    /// The most evaluations of log p that the search may spend
    #[cfg_attr(feature = "clap", arg(long, value_name = "N", requires = "of_library", value_parser = clap::value_parser!(u64).range(1..), help_heading = COMPILED, help = evaluations_help()))]
    pub evaluations: Option<u64>,
    /// Where the search begins (default: the origin). The command reads it from a file of the model's own values.
    #[cfg_attr(feature = "clap", arg(skip))]
    #[serde(skip)]
    pub start: Option<Vec<f64>>,
}
}

/// The library's method names, listed in the help and parsed by the library; `auto` comes first, unproven recipes last.
#[cfg(feature = "clap")]
fn methods() -> impl clap::builder::TypedValueParser<Value = Choice> {
    use clap::builder::{PossibleValuesParser, TypedValueParser};
    let names = Method::named().chain(Method::recipes()).map(|(name, _)| name);
    let names = std::iter::once("auto").chain(names);
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Choice>())
}

impl RunOptions {
    /// The named method. Without a name: the automatic method, unless an option is about planned steps.
    pub fn choice(&self) -> Result<Choice> {
        let planned = [
            ("distance", self.distance.is_some()),
            ("steps", self.steps.is_some()),
            ("draws", self.step.draws.is_some()),
            ("coupling", self.step.coupling.is_some()),
            ("coordinates", self.step.coordinates.is_some()),
            ("subsample", self.step.subsample.is_some()),
        ];
        match (self.method, planned.iter().find(|(_, given)| *given)) {
            (Some(Choice::Auto), Some((option, _))) => Err(Error::AutoHasNoPlan { option }),
            (Some(choice), _) => Ok(choice),
            (None, None) => Ok(Choice::default()),
            (None, Some(_)) => Ok(Choice::Planned(self.step.default_plan(self.distance.is_some()))),
        }
    }

    /// Refuses what can be refused before any data are read.
    pub fn check(&self) -> Result<()> {
        self.limit()?;
        self.audit.audit()?;
        let subsample = self.step.subsample()?;
        let Choice::Planned(method) = self.choice()? else { return Ok(()) };
        method.check_pattern(&self.step.pattern())?;
        method.check_coupling(self.step.coupling.unwrap_or_default())?;
        subsample.map_or(Ok(()), |_| Ok(method.check_subsampled()?))
    }

    /// The time limit as a duration; `None` for no limit.
    pub fn limit(&self) -> Result<Option<Duration>> {
        let to_duration = |seconds| match Duration::try_from_secs_f64(seconds) {
            Ok(limit) if !limit.is_zero() => Ok(limit),
            _ => Err(Error::TimeLimit(seconds)),
        };
        self.time_limit.map(to_duration).transpose()
    }
}

options! {
/// What to prove, and how many draws to spend.
pub struct AuditOptions {
    /// The gap to prove: no Gaussian is better by more than this many nats
    #[cfg_attr(
        feature = "clap",
        arg(
            long,
            value_name = "EPS",
            allow_negative_numbers = true,
            help = "Prove that no Gaussian (of its family) is better by more than EPS nats; exit status 1 if that fails"
        )
    )]
    pub accuracy: Option<f64>,
    /// The KL to the posterior to prove, in nats; the audit makes more draws for it if needed
    #[cfg_attr(
        feature = "clap",
        arg(
            long,
            value_name = "NATS",
            allow_negative_numbers = true,
            help = "Prove that the answer is within NATS of the posterior; exit status 1 if that fails"
        )
    )]
    pub kl: Option<f64>,
    /// The fraction of its sd within which to prove every posterior mean and sd; the audit makes more draws for it if needed
    #[cfg_attr(
        feature = "clap",
        arg(
            long,
            value_name = "PART",
            allow_negative_numbers = true,
            help = "Prove every mean and sd of the table to within PART of its sd, such as 0.01; exit status 1 if that fails"
        )
    )]
    pub table_accuracy: Option<f64>,
    /// The probability that a sampled statement of the certificate fails
    #[cfg_attr(feature = "clap", arg(long, value_name = "D", allow_negative_numbers = true, help = format!(
        "The probability that a sampled statement of the certificate fails [default: {:e}]",
        Audit::default().failure_probability
    )))]
    pub failure_probability: Option<f64>,
    /// The most draws the audit may spend
    #[cfg_attr(feature = "clap", arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help = format!(
        "The most draws the audit may spend [default: {}]",
        Audit::default().draws
    )))]
    pub audit_draws: Option<u64>,
}
}

impl AuditOptions {
    /// The audit that the options ask for. Numbers out of range are refused here, before the work.
    pub fn audit(&self) -> Result<Audit> {
        let default = Audit::default();
        if let Some(accuracy) = self.accuracy {
            Positive::new("accuracy", accuracy)?;
        }
        let delta = self.failure_probability.unwrap_or(default.failure_probability);
        Probability::new("failure probability", delta)?;
        let goal = Goal { kl: self.kl, table: self.table_accuracy };
        goal.check()?;
        let draws = self.audit_draws.unwrap_or(default.draws);
        Ok(Audit { failure_probability: delta, draws, goal, ..default })
    }
}

options! {
/// How planned steps are made.
pub struct StepOptions {
    /// Draws per step [default: the plan's own]
    #[cfg_attr(feature = "clap", arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..)))]
    pub draws: Option<u32>,
    /// How the draws of a step depend on each other: independent, antithetic, latin or sobol [default: independent]
    #[cfg_attr(feature = "clap", arg(long, value_name = "NAME"))]
    #[serde(with = "as_text")]
    pub coupling: Option<Coupling>,
    /// Coordinates of the steps: original, curvature or laplace [default: the plan's own]
    #[cfg_attr(feature = "clap", arg(long, value_name = "NAME"))]
    #[serde(deserialize_with = "as_text::deserialize")]
    pub coordinates: Option<Coordinates>,
    /// Use this many rows of the data for each draw instead of all, for prox-energy and proj-entropy
    #[cfg_attr(feature = "clap", arg(long, value_name = "B", value_parser = clap::value_parser!(u32).range(1..)))]
    pub subsample: Option<u32>,
    /// How these rows are drawn: uniform, importance or reshuffle [default: uniform]
    #[cfg_attr(feature = "clap", arg(long, value_name = "NAME"))]
    #[serde(with = "as_text")]
    pub sampling: Option<Sampling>,
    /// Family in which q is sought: full, meanfield, blocks:3,4, arrow:K, banded:K or, with the method auto, lowrank:K [default: full]
    #[cfg_attr(feature = "clap", arg(long, value_name = "NAME"))]
    #[serde(with = "as_text")]
    pub family_of_q: Option<Pattern>,
}
}

impl StepOptions {
    /// The terms that each draw uses, if not all. A kind of sampling without a number of terms is refused.
    pub fn subsample(&self) -> Result<Option<Subsample>> {
        match (self.subsample, self.sampling) {
            (None, Some(sampling)) => Err(Error::SamplingOfNothing { sampling }),
            (None, None) => Ok(None),
            (Some(terms), law) => {
                Ok(Some(Subsample { terms: terms as usize, sampling: law.unwrap_or_default() }))
            }
        }
    }

    /// A planner with the options that are set; the library has defaults for the rest.
    pub fn planner(&self, method: Method) -> Result<Planner> {
        let mut planner = Planner::new(method);
        if let Some(draws) = self.draws {
            planner = planner.draws(draws as usize);
        }
        if let Some(coupling) = self.coupling {
            planner = planner.coupling(coupling);
        }
        if let Some(coordinates) = self.coordinates {
            planner = planner.coordinates(coordinates);
        }
        if let Some(Subsample { terms, sampling }) = self.subsample()? {
            planner = planner.subsample(terms, sampling);
        }
        Ok(planner.pattern(self.pattern()))
    }

    /// The family in which q is sought.
    pub fn pattern(&self) -> Pattern {
        self.family_of_q.clone().unwrap_or_default()
    }

    /// The method if none is named: exact expectations make by far the shortest proved plans; in practice, draws
    /// are cheaper. With a subsample neither of these two methods has a bound, and sticking the landing leaves a family
    /// of q; prox-energy is used then. Exact expectations have no draws that could depend on each other; a control variate is what those
    /// help most.
    pub fn default_plan(&self, proved: bool) -> Method {
        let is_coupled = self.coupling.is_some_and(|coupling| coupling != Coupling::Independent);
        match (self.subsample, proved) {
            (Some(_), _) => Method::ProxEnergy,
            (None, true) if is_coupled && self.pattern().is_full() => Method::ProxControlled,
            (None, true) if is_coupled => Method::ProxEnergy,
            (None, true) => Method::Exact,
            (None, false) if !self.pattern().is_full() => Method::ProxEnergy,
            (None, false) => Method::ProjStl,
        }
    }

    /// Draws per step: the option, or `untold` if it is not set.
    pub fn draws_or(&self, untold: usize) -> usize {
        self.draws.map_or(untold, |draws| draws as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{Layer, keys_of};

    fn refused(method: &str, step: StepOptions) -> String {
        let options = RunOptions { method: Some(method.parse().unwrap()), step, ..RunOptions::default() };
        options.check().unwrap_err().to_string()
    }

    #[test]
    fn coupled_draws_without_a_method_have_one_that_draws() {
        let of = |coupling: Option<Coupling>, family_of_q: Option<Pattern>| {
            StepOptions { coupling, family_of_q, ..StepOptions::default() }.default_plan(true)
        };
        for (_, coupling) in Coupling::named() {
            let expected = match coupling {
                Coupling::Independent => [Method::Exact; 2],
                _ => [Method::ProxControlled, Method::ProxEnergy],
            };
            let found = [None, Some(Pattern::MeanField)].map(|family| of(Some(coupling), family));
            assert_eq!(found, expected, "{coupling:?}");
            assert!(found.iter().all(|method| method.check_coupling(coupling).is_ok()));
        }
    }

    #[test]
    fn a_subsample_goes_with_the_methods_that_have_a_bound_for_it() {
        let some = StepOptions { subsample: Some(32), ..StepOptions::default() };
        let alone = StepOptions { sampling: Some(Sampling::Importance), ..StepOptions::default() };
        assert_eq!(
            refused("auto", some.clone()),
            "subsample is an option of planned steps, and the method auto plans none"
        );
        assert!(refused("proj-stl", some.clone()).contains("noise bound"));
        assert!(refused("exact", some.clone()).contains("all the data"));
        assert!(refused("prox-energy", alone).starts_with("sampling importance"));
        let options = RunOptions { step: some.clone(), ..RunOptions::default() };
        assert_eq!(options.choice().unwrap(), Choice::Planned(Method::ProxEnergy));
        let law = StepOptions { sampling: Some(Sampling::Reshuffle), ..StepOptions::default() };
        let both = law.over(some).subsample().unwrap();
        assert_eq!(both, Some(Subsample { terms: 32, sampling: Sampling::Reshuffle }));
    }

    #[test]
    fn a_family_of_q_goes_with_the_methods_that_keep_it() {
        let some = StepOptions { family_of_q: Some(Pattern::MeanField), ..StepOptions::default() };
        for method in ["proj-stl", "proj-entropy"] {
            assert!(refused(method, some.clone()).contains("prox-energy"), "{method}");
        }
        let options = RunOptions { step: some.clone(), ..RunOptions::default() };
        assert_eq!(options.choice().unwrap(), Choice::Auto);
        let steps = RunOptions { steps: Some(9), ..options };
        assert_eq!(steps.choice().unwrap(), Choice::Planned(Method::ProxEnergy));
        assert!(steps.check().is_ok());
        let read: StepOptions = toml::from_str("family-of-q = 'blocks:3,4'").unwrap();
        assert_eq!(read.pattern(), Pattern::Blocks(vec![3, 4]));
        assert_eq!(toml::from_str::<StepOptions>(&toml::to_string(&read).unwrap()).unwrap(), read);
        let error = toml::from_str::<StepOptions>("family-of-q = 'diagonal'").unwrap_err().to_string();
        assert!(error.contains("meanfield"), "{error}");
    }

    #[test]
    fn every_text_about_the_usual_evaluations_has_the_numbers_of_the_library() {
        use provi::auto::{USUAL_CAP, USUAL_CAP_PER_DIMENSION};
        let spaced = format!("{} {:03}", USUAL_CAP / 1000, USUAL_CAP % 1000);
        let words = format!("by default {spaced} and {USUAL_CAP_PER_DIMENSION} for each coordinate");
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
        for (path, words) in [
            ("crates/provi-py/python/provi/_model.py", &words),
            ("docs/guide/black-box.md", &words),
            ("docs/reference/python.md", &words),
            (
                "docs/reference/command.md",
                &format!("[default: {USUAL_CAP} + {USUAL_CAP_PER_DIMENSION} per parameter]"),
            ),
        ] {
            let text = std::fs::read_to_string(format!("{root}/{path}")).unwrap();
            assert!(text.contains(words), "{path} does not say {words:?}");
        }
    }

    #[test]
    fn an_option_is_a_key_of_files_by_the_name_of_its_field() {
        let own = keys_of::<RunOptions>();
        assert_eq!(own[..4], ["audit", "method", "distance", "steps"]);
        assert!(own.contains(&"time-limit") && own.contains(&"contrast") && !own.contains(&"search"));
        let text = "method = 'proj-stl'\nmemory-budget = '2GiB'\n[step]\ndraws = 3\n";
        let read: RunOptions = toml::from_str(text).unwrap();
        assert_eq!(read.memory_budget, Some(Size(2 << 30)));
        let again: RunOptions = toml::from_str(&toml::to_string(&read).unwrap()).unwrap();
        assert_eq!(again, read);
        assert!(toml::from_str::<RunOptions>("speed = 3").is_err());
    }

    #[test]
    fn options_above_hide_those_below_one_by_one() {
        let read = |text: &str| -> RunOptions { toml::from_str(text).unwrap() };
        let below =
            read("steps = 9\nseed = 1\ncontrast = ['a', 'b']\n[audit]\naccuracy = 0.1\naudit-draws = 7\n");
        let above = read("seed = 2\ncontrast = ['c']\n[audit]\naccuracy = 0.2\n");
        let both = read("steps = 9\nseed = 2\ncontrast = ['c']\n[audit]\naccuracy = 0.2\naudit-draws = 7\n");
        assert_eq!(above.over(below.clone()), both);
        assert_eq!(RunOptions::default().over(below.clone()), below);
        assert!(RunOptions::default().is_unset() && !below.is_unset());
    }
}

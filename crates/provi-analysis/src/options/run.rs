//! What a user may say about a run: what is to be proved, how steps are made, when to stop.

use std::time::Duration;

use provi::auto::Choice;
use provi::plan::Coordinates;
use provi::scalar::{Positive, Probability};
use provi::subsample::{Sampling, Subsample};
use provi::{Audit, Method, Planner};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// How an answer is found and audited. What is not said is the library's.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunOptions {
    /// The way to the answer; without one the automatic path, unless an option speaks of planned steps.
    pub method: Option<Choice>,
    /// Run a plan that provably reaches this expected squared distance.
    pub distance: Option<f64>,
    /// Number of planned steps.
    pub steps: Option<u64>,
    /// How planned steps are made.
    pub step: StepOptions,
    /// The most evaluations of log p that the automatic path may spend where it draws.
    pub evaluations: Option<u64>,
    /// Where the search for the mode begins; the origin otherwise.
    pub start: Option<Vec<f64>>,
    /// Bytes that the run may use on top of the data.
    pub memory_budget: Option<u64>,
    /// What is to be proved.
    pub audit: AuditOptions,
    /// What makes the draws repeatable; 0 otherwise.
    pub seed: Option<u64>,
    /// End after so many seconds with what there is.
    pub time_limit: Option<f64>,
    /// Linear combinations of coefficients, such as `a - b`.
    pub contrasts: Vec<String>,
    /// Searches from so many starts, where the automatic path draws; one otherwise.
    pub starts: Option<usize>,
}

impl RunOptions {
    /// The named method; without a name the automatic path, unless an option speaks of planned steps.
    pub fn choice(&self) -> Result<Choice> {
        let planned = [
            ("distance", self.distance.is_some()),
            ("steps", self.steps.is_some()),
            ("draws", self.step.draws.is_some()),
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
        match (self.step.subsample()?, self.choice()?) {
            (Some(_), Choice::Planned(method)) => Ok(method.check_subsampled()?),
            _ => Ok(()),
        }
    }

    /// The limit as a duration; none for no limit.
    pub fn limit(&self) -> Result<Option<Duration>> {
        let to_duration = |seconds| match Duration::try_from_secs_f64(seconds) {
            Ok(limit) if !limit.is_zero() => Ok(limit),
            _ => Err(Error::TimeLimit(seconds)),
        };
        self.time_limit.map(to_duration).transpose()
    }
}

/// What is to be proved, and at which price.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct AuditOptions {
    /// The gap that is to be proved: no Gaussian is better by more than so many nats
    #[cfg_attr(
        feature = "clap",
        arg(
            long,
            value_name = "EPS",
            allow_negative_numbers = true,
            help = "Prove that no Gaussian is better by more than EPS nats; exit status 1 if that fails"
        )
    )]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<f64>,
    /// The probability that a sampled statement of the certificate fails
    #[cfg_attr(feature = "clap", arg(long, value_name = "D", allow_negative_numbers = true, help = format!(
        "The probability that a sampled statement of the certificate fails [default: {:e}]",
        Audit::default().failure_probability
    )))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_probability: Option<f64>,
    /// The most draws the audit may spend
    #[cfg_attr(feature = "clap", arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help = format!(
        "The most draws the audit may spend [default: {}]",
        Audit::default().draws
    )))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit_draws: Option<u64>,
}

impl AuditOptions {
    /// Is nothing said?
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// What is said here, and otherwise there.
    pub fn over(&self, other: Self) -> Self {
        Self {
            accuracy: self.accuracy.or(other.accuracy),
            failure_probability: self.failure_probability.or(other.failure_probability),
            audit_draws: self.audit_draws.or(other.audit_draws),
        }
    }

    /// The audit that is asked for; numbers out of range are refused before the work, not after.
    pub fn audit(&self) -> Result<Audit> {
        let default = Audit::default();
        if let Some(accuracy) = self.accuracy {
            Positive::new("accuracy", accuracy)?;
        }
        let delta = self.failure_probability.unwrap_or(default.failure_probability);
        Probability::new("failure probability", delta)?;
        Ok(Audit { failure_probability: delta, draws: self.audit_draws.unwrap_or(default.draws), ..default })
    }
}

/// How planned steps are made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct StepOptions {
    /// Draws per step [default: the plan's own]
    #[cfg_attr(feature = "clap", arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..)))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub draws: Option<u32>,
    /// Coordinates of the steps: original, curvature or laplace [default: the plan's own]
    #[cfg_attr(feature = "clap", arg(long, value_name = "NAME"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coordinates: Option<Coordinates>,
    /// Every draw sees so many rows of the data in place of all, for prox-energy and proj-entropy
    #[cfg_attr(feature = "clap", arg(long, value_name = "B", value_parser = clap::value_parser!(u32).range(1..)))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subsample: Option<u32>,
    /// How these rows are drawn: uniform, importance or reshuffle [default: uniform]
    #[cfg_attr(feature = "clap", arg(long, value_name = "NAME"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampling: Option<Sampling>,
}

impl StepOptions {
    /// Is nothing said?
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// What is said here, and otherwise there.
    pub fn over(&self, other: Self) -> Self {
        Self {
            draws: self.draws.or(other.draws),
            coordinates: self.coordinates.or(other.coordinates),
            subsample: self.subsample.or(other.subsample),
            sampling: self.sampling.or(other.sampling),
        }
    }

    /// The terms that a draw sees, if not all; a law without a number of them is refused.
    pub fn subsample(&self) -> Result<Option<Subsample>> {
        match (self.subsample, self.sampling) {
            (None, Some(sampling)) => Err(Error::SamplingOfNothing { sampling }),
            (None, None) => Ok(None),
            (Some(terms), law) => {
                Ok(Some(Subsample { terms: terms as usize, sampling: law.unwrap_or_default() }))
            }
        }
    }

    /// A planner with what is said; the library knows the rest.
    pub fn planner(&self, method: Method) -> Result<Planner> {
        let mut planner = Planner::new(method);
        if let Some(draws) = self.draws {
            planner = planner.draws(draws as usize);
        }
        if let Some(coordinates) = self.coordinates {
            planner = planner.coordinates(coordinates);
        }
        if let Some(Subsample { terms, sampling }) = self.subsample()? {
            planner = planner.subsample(terms, sampling);
        }
        Ok(planner)
    }

    /// The method where none is named: exact expectations make by far the shortest proved plans; in practice draws are
    /// cheaper. On some of the rows neither has a bound.
    pub fn default_plan(&self, proved: bool) -> Method {
        match (self.subsample, proved) {
            (Some(_), _) => Method::ProxEnergy,
            (None, true) => Method::Exact,
            (None, false) => Method::ProjStl,
        }
    }

    /// Draws per step: those that are given, or the number of a plan that was told none.
    pub fn draws_or(&self, untold: usize) -> usize {
        self.draws.map_or(untold, |draws| draws as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(method: &str, step: StepOptions) -> String {
        let options = RunOptions { method: Some(method.parse().unwrap()), step, ..RunOptions::default() };
        options.check().unwrap_err().to_string()
    }

    #[test]
    fn a_subsample_goes_with_the_methods_that_have_a_bound_for_it() {
        let some = StepOptions { subsample: Some(32), ..StepOptions::default() };
        let alone = StepOptions { sampling: Some(Sampling::Importance), ..StepOptions::default() };
        assert_eq!(
            refused("auto", some.clone()),
            "subsample speaks of planned steps, which the method auto does not make"
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
}

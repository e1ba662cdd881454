//! How a sampled search went: points that the target refused, and several starts compared.

use crate::base::draws::Seed;
use crate::base::error::{Error, Result};
use crate::base::gaussian::{Gaussian, Triangular};
use crate::certify::estimate::estimate;
use crate::certify::trust::Agreement;
use crate::target::evaluate::Evaluator;

/// Number of draws for the estimates of a start.
const DRAWS: usize = 2_000;
/// Fits agree if they differ by at most this many nats (beyond four standard errors) and this many standard
/// deviations.
const NATS: f64 = 0.1;
const DEVIATIONS: f64 = 0.25;

/// What happened during a sampled search. Nothing in it is a proof.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Search {
    /// Draws at which the target was not finite; the steps were shortened because of them.
    pub rejected: u64,
    /// Steps taken back because of them.
    pub retreats: u64,
    /// One reason in the target's own words, if it gave any.
    pub message: Option<String>,
    /// One entry for each start, if several were asked for. The first begins at the given start or the origin.
    pub starts: Vec<Start>,
    /// Index of the start that was kept.
    pub kept: usize,
    /// How the beginnings of the kept start ended; `None` if the target declares a curvature, because then one
    /// beginning is enough.
    pub beginnings: Option<Beginnings>,
    /// How much neighbouring values of the log density scatter, if small differences could not check its gradient
    /// because of that.
    pub scatter: Option<f64>,
}

/// How many beginnings of a search on a bare log density ended where, and why the search ended.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Beginnings {
    /// Beginnings made.
    pub tried: usize,
    /// Those whose best Gaussian lies among the draws of the answer.
    pub at_the_answer: usize,
    /// Those that found no place with a finite ELBO.
    pub failed: usize,
    /// Other places whose ELBO is about as large as the answer's: the posterior has mass there too.
    pub rivals: Vec<Place>,
    /// Why the search ended.
    pub ending: Ending,
}

/// A place other than the answer.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Place {
    /// Beginnings that ended there.
    pub beginnings: usize,
    /// The ELBO after a short ascent from there.
    pub elbo: f64,
    /// Its standard error.
    pub elbo_se: f64,
}

/// Why a search on a bare log density ended. Rises are those of the averaged answer's ELBO while the evaluations
/// doubled, in nats.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
#[non_exhaustive]
pub enum Ending {
    /// The ELBO no longer rose: its rise was negligible, or within the noise.
    Settled {
        /// The last rise.
        rise: f64,
        /// Its standard error.
        se: f64,
    },
    /// The evaluations were spent while the ELBO still rose.
    Rising {
        /// The last rise.
        rise: f64,
        /// Its standard error.
        se: f64,
    },
    /// The ELBO fell, even with short steps; the best answer was kept.
    Falling,
    /// The run was stopped.
    Stopped,
    /// The evaluations were spent before two answers could be compared.
    #[default]
    Unknown,
}

impl Ending {
    /// Whether the ELBO had stopped rising.
    pub fn is_settled(self) -> bool {
        matches!(self, Self::Settled { .. })
    }
}

impl std::fmt::Display for Ending {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Settled { rise, se } => write!(
                f,
                "the ELBO no longer rises ({rise:+.4} ± {se:.4} nats while the evaluations doubled)"
            ),
            Self::Rising { rise, se } => write!(
                f,
                "the ELBO still rises ({rise:+.4} ± {se:.4} nats while the evaluations doubled); allow more evaluations"
            ),
            Self::Falling => f.write_str("the ELBO fell even with short steps; the best answer was kept"),
            Self::Stopped => f.write_str("the search was stopped"),
            Self::Unknown => f.write_str(
                "the evaluations were spent before the ELBO was seen to settle; allow more evaluations",
            ),
        }
    }
}

impl std::fmt::Display for Beginnings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { tried, at_the_answer, failed, rivals, ending } = self;
        let elsewhere = tried.saturating_sub(at_the_answer + failed);
        write!(f, "{at_the_answer} of {tried} beginnings ended at the answer")?;
        if elsewhere > 0 {
            write!(f, ", {elsewhere} elsewhere")?;
        }
        if *failed > 0 {
            write!(f, ", {failed} nowhere")?;
        }
        match rivals.len() {
            0 => {}
            1 => f.write_str("; another place has about the same ELBO")?,
            n => write!(f, "; {n} other places have about the same ELBO")?,
        }
        write!(f, "; {ending}")
    }
}

/// One of several starts.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Start {
    /// Its fit, or why it failed.
    pub outcome: std::result::Result<StartFit, String>,
}

/// The fit of one start, by estimates.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct StartFit {
    /// The ELBO, estimated.
    pub elbo: f64,
    /// Its standard error.
    pub elbo_se: f64,
    /// k̂ of its importance weights.
    pub pareto_k: f64,
    /// The largest difference from the kept fit over the coordinates: of a mean, in standard deviations, or of the
    /// logarithm of a standard deviation.
    pub distance: f64,
}

impl Search {
    /// What the search says about its answer, for [`trust`](crate::trust::trust).
    pub fn agreement(&self) -> Agreement {
        let mut out = Agreement { searches_agree: self.agree(), ..Agreement::default() };
        if let Some(found) = &self.beginnings {
            (out.beginnings, out.at_the_answer) = (found.tried, found.at_the_answer);
            (out.rivals, out.settled) = (found.rivals.len(), Some(found.ending.is_settled()));
        }
        out
    }

    /// Whether every start found about the same answer; `None` with fewer than two starts.
    pub fn agree(&self) -> Option<bool> {
        if self.starts.len() < 2 {
            return None;
        }
        let best = self.starts[self.kept].outcome.as_ref().ok()?;
        let agrees = |start: &Start| {
            start.outcome.as_ref().is_ok_and(|fit| {
                let noise = 4.0 * fit.elbo_se.hypot(best.elbo_se);
                best.elbo - fit.elbo <= NATS + noise && fit.distance <= DEVIATIONS
            })
        };
        Some(self.starts.iter().all(agrees))
    }

    /// Sentences for a report; empty if nothing happened.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.rejected > 0 {
            let said = self.message.as_ref().map_or(String::new(), |m| format!("; it said: {m}"));
            let Self { rejected, retreats, .. } = self;
            notes.push(format!(
                "the target refused {rejected} draw(s) during the search, and the steps were shortened {retreats} time(s){said}"
            ));
        }
        if let Some(scatter) = self.scatter {
            notes.push(format!(
                "neighbouring values of the log density scatter by {scatter:.1e}: noise, such as that of a solver for differential equations; \
                 its gradient agrees with larger differences. If the search does not settle, tighten the solver's tolerances (rtol, atol)"
            ));
        }
        let fits = || self.starts.iter().filter_map(|start| start.outcome.as_ref().ok());
        let failed = self.starts.iter().find_map(|start| start.outcome.as_ref().err());
        let (low, high) =
            fits().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), x| (a.min(x.elbo), b.max(x.elbo)));
        let distance = fits().map(|fit| fit.distance).fold(0.0, f64::max);
        let count = self.starts.len();
        match self.agree() {
            None => {}
            Some(true) => notes.push(format!(
                "{count} starts agree: their ELBO within {:.2} nats, their answers within {distance:.2} standard deviations",
                high - low
            )),
            Some(false) => {
                let failed = failed.map_or(String::new(), |why| format!("; a start failed: {why}"));
                notes.push(format!(
                    "{count} starts disagree: ELBO from {low:.2} to {high:.2}, answers up to {distance:.2} standard deviations apart{failed}; \
                     the posterior may have several modes or a hard corner, and the answer kept is the best of them, not a mixture"
                ));
            }
        }
        notes
    }
}

/// Compares fits by estimates from the same draws. Returns the index of the best, and the estimates of each.
pub(super) fn compare(
    target: Evaluator<'_>,
    seed: Seed,
    fits: &[Result<Gaussian<Triangular>>],
) -> Result<(usize, Vec<Start>)> {
    let measured: Vec<Result<StartFit>> = fits
        .iter()
        .map(|fit| {
            let found = estimate(target, fit.as_ref().map_err(Error::clone)?, seed, DRAWS)?;
            let (elbo, elbo_se, pareto_k) = (found.elbo, found.elbo_se, found.pareto_k);
            Ok(StartFit { elbo, elbo_se, pareto_k, distance: 0.0 })
        })
        .collect();
    let value = |k: usize| measured[k].as_ref().map_or(f64::NEG_INFINITY, |fit| fit.elbo);
    // The first of equals: another start is kept only if it is better.
    let best = (0..fits.len()).rev().max_by(|&a, &b| value(a).total_cmp(&value(b))).unwrap_or(0);
    let kept = fits[best].as_ref().map_err(Error::clone)?;
    let starts = measured.into_iter().zip(fits).map(|(fit, q)| {
        let outcome = fit.and_then(|fit| {
            let distance = distance(kept, q.as_ref().map_err(Error::clone)?);
            Ok(StartFit { distance, ..fit })
        });
        Start { outcome: outcome.map_err(|error| error.to_string()) }
    });
    Ok((best, starts.collect()))
}

/// max_i of |m_i − m'_i|/s_i and |log(s'_i/s_i)|.
fn distance(kept: &Gaussian<Triangular>, other: &Gaussian<Triangular>) -> f64 {
    let (a, b) = (kept.standard_deviations(), other.standard_deviations());
    let apart = |i: usize| {
        let shift = (kept.mean()[i] - other.mean()[i]).abs() / a[i];
        shift.max((b[i] / a[i]).ln().abs())
    };
    (0..a.len()).map(apart).fold(0.0, f64::max)
}

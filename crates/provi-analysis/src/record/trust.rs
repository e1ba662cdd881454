//! What fit.json stores about a search on a black box, and how far its answer can be trusted.

use provi::auto::Beginnings;
use provi::trust::{Trust, Verdict};
use serde::{Deserialize, Serialize};

/// How far to trust the answer of a black box: by estimates, and by bounds where its curvature is declared.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TrustRecord {
    /// `good`, `fair` or `do not use`; null if it could not be measured.
    pub verdict: Option<String>,
    /// Its reasons, one sentence each; or why there is no verdict.
    pub reasons: Vec<String>,
    /// The numbers behind it; null if there is no verdict.
    #[serde(default)]
    pub witnesses: Option<WitnessesRecord>,
    /// Whether a proof is enough for the verdict; otherwise it is estimated.
    #[serde(default)]
    pub proved: bool,
}

/// The witnesses; null if infinite. Distances of means are in standard deviations.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WitnessesRecord {
    /// Draws of the Gaussian.
    pub draws: usize,
    /// The standard deviation of log p/q over them.
    pub log_ratio_sd: Option<f64>,
    /// k̂ of the importance weights.
    pub pareto_k: Option<f64>,
    /// (Σw)²/Σw² of the smoothed weights.
    pub effective_draws: f64,
    /// The estimated KL, of the Gaussian's own basin.
    pub kl: Option<f64>,
    /// Its standard error.
    pub kl_standard_error: Option<f64>,
    /// The largest difference between a weighted mean and the Gaussian's.
    pub mean_shift: Option<f64>,
    /// The largest |log(weighted sd/sd)|.
    pub sd_change: Option<f64>,
    /// The largest coordinate of E∇V in the Gaussian's own coordinates.
    pub residual: Option<f64>,
    /// Its standard error.
    pub residual_standard_error: Option<f64>,
    /// The part of mass that draws from farther out find in addition.
    pub wide_excess: Option<f64>,
    /// Its standard error.
    pub wide_excess_standard_error: Option<f64>,
    /// The part of mass that climbs find in places that the Gaussian's draws miss.
    #[serde(default)]
    pub elsewhere: Option<f64>,
    /// Its standard error.
    #[serde(default)]
    pub elsewhere_standard_error: Option<f64>,
    /// The proved bound of the KL, if the curvature is declared.
    #[serde(default)]
    pub proved_kl: Option<f64>,
    /// The proved bound of the largest error of a mean, in standard deviations of the posterior.
    #[serde(default)]
    pub proved_mean_error: Option<f64>,
    /// The proved bound of the largest |sd/sd of the posterior − 1|.
    #[serde(default)]
    pub proved_sd_error: Option<f64>,
}

impl TrustRecord {
    /// The record of a verdict, or of why there is none.
    pub fn new(found: &Result<Trust, String>) -> Self {
        let finite = |x: f64| x.is_finite().then_some(x);
        match found {
            Err(reason) => Self { verdict: None, reasons: vec![reason.clone()], ..Self::default() },
            Ok(trust) => {
                let w = &trust.witnesses;
                let witnesses = WitnessesRecord {
                    draws: w.draws,
                    log_ratio_sd: finite(w.log_ratio_sd),
                    pareto_k: w.pareto_k,
                    effective_draws: w.effective_draws,
                    kl: finite(w.kl),
                    kl_standard_error: finite(w.kl_se),
                    mean_shift: finite(w.mean_shift),
                    sd_change: finite(w.sd_change),
                    residual: finite(w.residual),
                    residual_standard_error: finite(w.residual_se),
                    wide_excess: finite(w.wide_excess),
                    wide_excess_standard_error: finite(w.wide_excess_se),
                    elsewhere: finite(w.elsewhere),
                    elsewhere_standard_error: finite(w.elsewhere_se),
                    proved_kl: w.proof.and_then(|proof| proof.kl),
                    proved_mean_error: w.proof.and_then(|proof| proof.mean_error),
                    proved_sd_error: w.proof.and_then(|proof| proof.sd_error),
                };
                let proved = w.proof.is_some_and(|proof| proof.is_enough());
                let (verdict, reasons) = (Some(trust.verdict.to_string()), trust.reasons.clone());
                Self { verdict, reasons, witnesses: Some(witnesses), proved }
            }
        }
    }

    /// Whether the answer should not be used as it is.
    pub fn is_bad(&self) -> bool {
        self.verdict.as_deref() != Some(&Verdict::Good.to_string())
            && self.verdict.as_deref() != Some(&Verdict::Fair.to_string())
    }

    /// Whether weighted draws are better than the Gaussian's own, and can be believed.
    pub fn wants_weights(&self) -> bool {
        self.verdict.as_deref() == Some(&Verdict::Fair.to_string())
    }

    /// The verdict in one line, the same in every shell.
    pub fn line(&self) -> String {
        let reasons = self.reasons.join("; ");
        let grounds = match self.proved {
            true => "by the declared curvature",
            false => "estimated, not proved",
        };
        match &self.verdict {
            None => format!("unknown: {reasons}"),
            Some(verdict) if self.wants_weights() => {
                format!("{verdict}, use weighted draws: {reasons} ({grounds})")
            }
            Some(verdict) => format!("{verdict}: {reasons} ({grounds})"),
        }
    }
}

/// How many beginnings of a search ended where, and why the search ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SearchRecord {
    /// Beginnings made.
    pub beginnings: usize,
    /// Those that ended at the answer.
    pub at_the_answer: usize,
    /// Those that found no place with a finite ELBO.
    pub failed: usize,
    /// Other places with about the same ELBO.
    pub rivals: Vec<RivalRecord>,
    /// Whether the ELBO had stopped rising.
    pub settled: bool,
    /// All of this in one line.
    pub words: String,
}

/// Another place with about the same ELBO.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RivalRecord {
    /// Beginnings that ended there.
    pub beginnings: usize,
    /// The ELBO after a short ascent from there.
    pub elbo: f64,
    /// Its standard error.
    pub elbo_standard_error: f64,
}

impl SearchRecord {
    /// The record of a search.
    pub fn new(found: &Beginnings) -> Self {
        let rival = |place: &provi::auto::Place| RivalRecord {
            beginnings: place.beginnings,
            elbo: place.elbo,
            elbo_standard_error: place.elbo_se,
        };
        Self {
            beginnings: found.tried,
            at_the_answer: found.at_the_answer,
            failed: found.failed,
            rivals: found.rivals.iter().map(rival).collect(),
            settled: found.ending.is_settled(),
            words: found.to_string(),
        }
    }
}

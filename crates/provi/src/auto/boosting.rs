//! Mixtures of Gaussians, built one component at a time: a recipe for densities that are not log-concave. Nothing is proved about it.
//!
//! The first component is the Gaussian of the default search on a bare log density. A further one is sought where p exceeds the mixture
//! (`propose`), fitted to its part of the target (`share`) together with the others, and all weights are chosen anew
//! (`strata`). It is kept if the ELBO of the mixture rises beyond its noise, on draws that had no part in the fit. The search ends
//! when that fails twice in succession.
//!
//! Sources: Guo, Wang, Fan, Broderick and Dunson, *Boosting variational inference*, 2016; Miller, Foti and Adams, *Variational boosting:
//! iteratively refining posterior approximations*, ICML 2017; Locatello, Khanna, Ghosh and Rätsch, *Boosting variational inference: an
//! optimization perspective*, AISTATS 2018; for the steps of the components Arenz, Neumann and Zhong, ICML 2018, and Lin, Khan and
//! Schmidt, *Fast and simple natural-gradient variational inference with mixture of exponential-family approximations*, ICML 2019.

mod propose;
mod share;
mod strata;

use super::bare::usual_cap;
use super::explore::is_near;
use super::search::{Beginnings, Ending};
use super::{Auto, Found, Run};
use crate::base::draws::Seed;
use crate::base::error::{Error, Result};
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::mixture::Mixture;
use crate::base::stop;
use crate::certify::trust::{Agreement, Trust, trust_mixture};
use crate::target::Rejections;
use crate::target::evaluate::Evaluator;
use crate::watch::{Snapshot, Watch};
use std::time::Instant;
use strata::{Strata, Value};

/// The most components if no other number is given.
pub const USUAL_COMPONENTS: usize = 8;
/// The most components that can be asked for.
pub const MOST_COMPONENTS: usize = 64;
/// The usual cap of evaluations is so many times that of the search for one Gaussian.
const USUAL_CAPS: u64 = 6;
/// A component is kept if the ELBO rises by more than this many nats, and than this many standard errors.
const NEGLIGIBLE: f64 = 0.01;
const SIGMAS: f64 = 2.0;
/// The search ends after so many successive rounds without a component that is kept.
const FAILURES: u32 = 2;
/// Candidates that are fitted in a round, and the pieces of steps for each.
const FITTED: usize = 2;
const PIECES: u64 = 3;
/// Steps of a piece, and pairs of draws of each component that choose the weights and that compare two mixtures.
const STEPS: u64 = 12;
const WEIGHING: usize = 64;
const COMPARING: usize = 128;
/// Sweeps over all components at the end; the steps get shorter, as after so many turns. Pairs of draws for the last weights.
const SWEEPS: [u64; 3] = [8, 24, 60];
const LAST_WEIGHING: usize = 256;
/// Pairs of draws of each component for the ELBO that is reported; they count among those of the estimates.
const REPORTED: usize = 512;
/// A component with a smaller weight is dropped.
const LEAST_WEIGHT: f64 = 1e-3;
/// Streams of draws are numbered by rounds; those after the last round begin here.
const AFTER: u64 = 1 << 20;
/// What the search is called if it is stopped.
const SEARCH: &str = "the search for a component";

/// Options of the search for a mixture. Set the fields that differ and end with `..Boosting::default()`.
///
/// ```
/// use provi::{Seed, boosting::Boosting, target::Closure, trust::Verdict};
///
/// // 0.3 N(−4, 1) + 0.7 N(4, 1), times 2.
/// let target = Closure::new(1, |z: &[f64], gradient: &mut [f64]| {
///     let log = |weight: f64, mean: f64| (2.0 * weight).ln() - 0.5 * (z[0] - mean).powi(2) - 0.918_938_533;
///     let (a, b) = (log(0.3, -4.0), log(0.7, 4.0));
///     let sum = a.max(b) + (-(a - b).abs()).exp().ln_1p();
///     gradient[0] = -((a - sum).exp() * (z[0] + 4.0) + (b - sum).exp() * (z[0] - 4.0));
///     sum
/// })?;
/// let answer = Boosting::default().run(&target, Seed(1))?;
/// assert_eq!(answer.mixture.len(), 2);
/// let trust = answer.trust.expect("it was not stopped");
/// assert!(trust.verdict == Verdict::Good && (trust.estimates.log_evidence - 2f64.ln()).abs() < 0.01);
/// # Ok::<(), provi::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Boosting {
    /// The most components, 1 to [`MOST_COMPONENTS`].
    pub components: usize,
    /// The most evaluations of log p with its gradient, not counting those of the estimates. If `None`: six times those of a search for one
    /// Gaussian, 120 000 + 600·d. Half of them at most are spent on the first component.
    pub evaluations: Option<u64>,
    /// Where the search begins; if `None`, the origin.
    pub start: Option<Vec<f64>>,
}

impl Default for Boosting {
    fn default() -> Self {
        Self { components: USUAL_COMPONENTS, evaluations: None, start: None }
    }
}

/// A mixture, with what is estimated about it. Nothing here is a proof.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Boosted {
    /// One name for each coordinate.
    pub names: Vec<String>,
    /// The answer; the components with larger weights come first.
    pub mixture: Mixture,
    /// Its ELBO, from draws of each component that had no part in the search.
    pub elbo: f64,
    /// The standard error of the ELBO.
    pub elbo_se: f64,
    /// How far to trust the answer, with the estimates of the evidence and the KL; or why that is unknown.
    pub trust: std::result::Result<Trust, String>,
    /// What happened in each round.
    pub rounds: Vec<Round>,
    /// Why the search ended.
    pub ending: BoostingEnding,
    /// How the beginnings of the first component's search ended.
    pub beginnings: Option<Beginnings>,
    /// Evaluations of log p with its gradient, not counting those of the estimates.
    pub gradient_evaluations: u64,
    /// The seed.
    pub seed: Seed,
    /// Wall-clock seconds.
    pub seconds: f64,
    /// Whether the run was stopped.
    pub stopped_early: bool,
}

/// A round of the search: one component was tried.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Round {
    /// Components after it.
    pub components: usize,
    /// The rise of the ELBO with the component that was tried.
    pub rise: f64,
    /// Its standard error.
    pub rise_se: f64,
    /// Whether the component was kept.
    pub kept: bool,
    /// Evaluations so far.
    pub evaluations: u64,
}

/// Why the search for a mixture ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
#[non_exhaustive]
pub enum BoostingEnding {
    /// No further component raised the ELBO beyond its noise.
    Settled,
    /// There were as many components as allowed.
    Components,
    /// The evaluations were spent.
    Evaluations,
    /// The run was stopped.
    Stopped,
}

impl std::fmt::Display for BoostingEnding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Settled => "no further component raised the ELBO beyond its noise",
            Self::Components => "there were as many components as allowed; more may raise the ELBO",
            Self::Evaluations => "the evaluations were spent; more may raise the ELBO",
            Self::Stopped => "the search was stopped",
        })
    }
}

impl std::fmt::Display for Boosted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (k, d) = (self.mixture.len(), self.mixture.dim());
        let of = if k == 1 { "one Gaussian".to_owned() } else { format!("a mixture of {k} Gaussians") };
        writeln!(f, "{of} in {d} dimensions: unproven, all numbers are estimates")?;
        writeln!(f, "  ELBO      {:.4} ± {:.1e}", self.elbo, self.elbo_se)?;
        if let Ok(trust) = &self.trust {
            let e = &trust.estimates;
            writeln!(f, "  log p(x)  {:.4} ± {:.1e}", e.log_evidence, e.log_evidence_se)?;
            writeln!(f, "  KL(q‖p)   {:.3} ± {:.1e}", e.kl, e.kl_se)?;
            writeln!(f, "  k̂ = {:.2}, {:.0} effective draws of {}", e.pareto_k, e.effective_draws, e.draws)?;
        }
        let weights: Vec<String> = self.mixture.weights().iter().map(|w| format!("{w:.3}")).collect();
        writeln!(f, "  weights   {}", weights.join(", "))?;
        writeln!(f, "  search    {} evaluations; {}", self.gradient_evaluations, self.ending)?;
        match &self.trust {
            Ok(trust) => write!(f, "  trust     {trust}"),
            Err(why) => write!(f, "  trust     unknown: {why}"),
        }
    }
}

impl Boosting {
    /// Fits a mixture to `&model`. The same seed gives the same bits on any number of threads.
    pub fn run<'t>(&self, target: impl Into<Evaluator<'t>>, seed: Seed) -> Result<Boosted> {
        self.run_with(target, seed, &mut Watch::default())
    }

    /// [`Boosting::run`] with a watch, which sees progress and may stop the run: the mixture so far is then kept.
    pub fn run_with<'t>(
        &self,
        target: impl Into<Evaluator<'t>>,
        seed: Seed,
        watch: &mut Watch<'_>,
    ) -> Result<Boosted> {
        let target = target.into();
        if !(1..=MOST_COMPONENTS).contains(&self.components) {
            let value = self.components as f64;
            return Err(Error::OutOfRange { what: "number of components", value, needed: "1 to 64" });
        }
        if watch.from.is_some() || watch.keeper.is_some() {
            return Err(Error::Checkpoint { what: "cannot be used: a search for a mixture keeps none" });
        }
        let begin = Instant::now();
        let cap = self.evaluations.unwrap_or_else(|| USUAL_CAPS * usual_cap(target.dim()));
        let first = usual_cap(target.dim()).min(cap / 2);
        let auto = Auto { evaluations: Some(first), start: self.start.clone(), ..Auto::default() };
        let signal = watch.signal(begin);
        let run = Run { auto: &auto, target, seed, begin, watch, trace: Vec::new(), audit_seconds: 0.0 };
        let go = || {
            Search { run, most: self.components, cap, spent: 0, rounds: Vec::new(), ends: Vec::new() }.go()
        };
        let outcome = match signal {
            Some(signal) => signal.cover(go),
            None => go(),
        };
        // What the target said about the points it refused is probably the cause of the error.
        outcome.map_err(|error| match target.target().rejections() {
            Rejections { count, message: Some(message) } => {
                Error::Refused { error: Box::new(error), count, message }
            }
            _ => error,
        })
    }
}

struct Search<'r, 'w> {
    run: Run<'r, 'w>,
    most: usize,
    cap: u64,
    spent: u64,
    rounds: Vec<Round>,
    /// Where the beginnings of the first search ended.
    ends: Vec<Gaussian<Triangular>>,
}

impl Search<'_, '_> {
    fn go(mut self) -> Result<Boosted> {
        let target = self.run.target;
        let found = self.run.search_bare(0)?;
        self.spent = found.evaluations;
        let Found { q, beginnings, ends, rivals, stopped, .. } = found;
        // The rivals were carried on for a while; ends come after them.
        self.ends = rivals.iter().chain(&ends).cloned().collect();
        let mut mixture = Mixture::new(&[1.0], vec![q])?;
        let mut ending = if stopped { BoostingEnding::Stopped } else { self.grow(&mut mixture)? };
        if mixture.len() > 1 && ending != BoostingEnding::Stopped {
            match stop::phase(SEARCH, || self.polish(&mixture)) {
                Ok(found) => mixture = found,
                Err(Error::Stopped { .. }) => ending = BoostingEnding::Stopped,
                Err(error) => return Err(error),
            }
        }
        mixture = sorted(&mixture)?;
        let near = |q: &Gaussian<Triangular>| mixture.components().iter().any(|c| is_near(c, q));
        let settled = match ending {
            // Its one Gaussian is as settled as the search for it was.
            _ if mixture.len() == 1 => beginnings.as_ref().map(|b| b.ending.is_settled()),
            BoostingEnding::Settled => Some(true),
            // Every mixture along the way is fitted, and the residual says whether it wants to move.
            BoostingEnding::Components | BoostingEnding::Evaluations => None,
            BoostingEnding::Stopped => Some(false),
        };
        let agreement = Agreement {
            beginnings: beginnings.as_ref().map_or(0, |b| b.tried),
            at_the_answer: ends.iter().filter(|end| near(end)).count(),
            rivals: rivals.iter().filter(|rival| !near(rival)).count(),
            settled,
            searches_agree: None,
        };
        let (elbo, elbo_se) = self.reported(&mixture)?;
        let trust = match trust_mixture(target, &mixture, self.run.seed, agreement) {
            Ok(trust) => Ok(trust),
            Err(error @ Error::Reduce { .. }) => return Err(error),
            Err(error) => Err(error.to_string()),
        };
        let stopped_early = ending == BoostingEnding::Stopped
            || beginnings.as_ref().is_some_and(|b| b.ending == Ending::Stopped);
        Ok(Boosted {
            names: target.target().names(),
            mixture,
            elbo,
            elbo_se,
            trust,
            rounds: self.rounds,
            ending,
            beginnings,
            gradient_evaluations: self.spent,
            seed: self.run.seed,
            seconds: self.run.begin.elapsed().as_secs_f64(),
            stopped_early,
        })
    }

    /// Adds components while the ELBO rises.
    fn grow(&mut self, mixture: &mut Mixture) -> Result<BoostingEnding> {
        let (mut failures, mut round, mut shown) = (0, 0, f64::NAN);
        loop {
            if mixture.len() >= self.most {
                return Ok(BoostingEnding::Components);
            }
            if self.spent + self.cost(mixture) > self.cap {
                return Ok(BoostingEnding::Evaluations);
            }
            round += 1;
            let (new, elbo, (rise, rise_se)) = match stop::phase(SEARCH, || self.round(mixture, round)) {
                Err(Error::Stopped { .. }) => return Ok(BoostingEnding::Stopped),
                found => found?,
            };
            let kept = rise > NEGLIGIBLE && rise > SIGMAS * rise_se;
            failures = if kept { 0 } else { failures + 1 };
            if kept {
                *mixture = pruned(&new)?;
            }
            let components = mixture.len();
            self.rounds.push(Round { components, rise, rise_se, kept, evaluations: self.spent });
            if kept || shown.is_nan() {
                shown = elbo;
            }
            let at = Snapshot { step: self.spent, steps: self.cap, gamma: 1.0, neg_elbo: -shown, gap: None };
            if self.run.watch.see(&at, self.run.begin)?.is_break() {
                return Ok(BoostingEnding::Stopped);
            }
            if failures == FAILURES {
                return Ok(BoostingEnding::Settled);
            }
        }
    }

    /// About the evaluations of a round, and of what comes after the last one.
    fn cost(&self, mixture: &Mixture) -> u64 {
        let (d, k) = (mixture.dim() as u64, mixture.len() as u64 + 1);
        let proposing = 2_000 + 8 * (d + 1) + 32 * self.ends.len() as u64;
        let fitting = FITTED as u64 * PIECES * (self.piece() + 2 * WEIGHING as u64);
        let sweep = k * (self.piece() + 4 * WEIGHING as u64);
        let comparing = 4 * COMPARING as u64 * k;
        let after = 2 * k * (SWEEPS.len() as u64 * self.piece() + 3 * LAST_WEIGHING as u64);
        proposing + fitting + sweep + comparing + after
    }

    /// Evaluations of a piece of steps.
    fn piece(&self) -> u64 {
        2 * STEPS * self.run.target.dim().max(8) as u64
    }

    /// Tries one more component: the mixture with it, its ELBO, and the rise of the ELBO with its standard error.
    fn round(&mut self, old: &Mixture, round: u64) -> Result<(Mixture, f64, (f64, f64))> {
        let (view, seed) = (self.run.target, self.run.seed);
        let found = propose::candidates(view, old, &self.ends, seed, round, &mut self.spent)?;
        // The best one, and the best one elsewhere.
        let elsewhere = found.iter().position(|other| other.q.mean() != found[0].q.mean());
        let tried = found.first().into_iter().chain(elsewhere.map(|k| &found[k])).take(FITTED);
        let own = Strata::draw(view, old, seed, (round << 8) + 2, WEIGHING, &mut self.spent)?;
        let mut best: Option<(Mixture, Value)> = None;
        for (k, candidate) in tried.enumerate() {
            let mut trial = with(old, &candidate.q, candidate.share)?;
            let mut value = None;
            for piece in 0..PIECES {
                let part = (round << 16) + ((k as u64) << 8) + piece;
                trial = self.improve(&trial, old.len(), part, (self.piece(), 0))?;
                let strata = self.beside(&own, &trial, (round << 8) + 2)?;
                trial = trial.with_weights(strata.best_weights(&trial));
                value = Some(strata.value(&trial));
            }
            if let Some(value) = value
                && best.as_ref().is_none_or(|(_, other)| value.elbo > other.elbo)
            {
                best = Some((trial, value));
            }
        }
        // Without a candidate p exceeds q nowhere.
        let Some((trial, _)) = best else { return Ok((old.clone(), f64::NAN, (0.0, 0.0))) };
        let mut swept = trial.clone();
        for c in 0..swept.len() {
            swept = self.improve(&swept, c, (round << 16) + (1 << 15) + c as u64, (self.piece(), 4))?;
        }
        swept = self.weigh(&swept, (round << 8) + 6, WEIGHING)?;
        // On draws that had no part in the fit.
        let stream = (round << 8) + 7;
        let own = Strata::draw(view, old, seed, stream, COMPARING, &mut self.spent)?;
        let before = own.value(old);
        let of_trial = self.beside(&own, &trial, stream)?.value(&trial);
        let of_swept = self.value(&swept, stream, COMPARING)?;
        let mut out: Option<(Mixture, f64, (f64, f64))> = None;
        for (new, value) in [(trial, of_trial), (swept, of_swept)] {
            let rise = value.rise_over(&before);
            if out.as_ref().is_none_or(|(.., other)| rise.0 > other.0) {
                out = Some((new, value.elbo, rise));
            }
        }
        out.ok_or(Error::Empty { what: "candidates" })
    }

    /// The mixture after a piece of steps of one component.
    fn improve(
        &mut self,
        mixture: &Mixture,
        which: usize,
        part: u64,
        (budget, turns): (u64, u64),
    ) -> Result<Mixture> {
        stop::check_early()?;
        let (view, seed) = (self.run.target, self.run.seed.part(part));
        match share::improved(view, mixture, which, seed, (budget, turns), &mut self.spent)? {
            None => Ok(mixture.clone()),
            Some(q) => {
                let mut components = mixture.components().to_vec();
                components[which] = q;
                Mixture::new(mixture.weights(), components)
            }
        }
    }

    /// The draws of a mixture, given those of all its components but the last.
    fn beside(&mut self, own: &Strata, mixture: &Mixture, stream: u64) -> Result<Strata> {
        stop::check_early()?;
        let (view, seed) = (self.run.target, self.run.seed);
        let mut strata = own.clone();
        if let Some(last) = mixture.components().last() {
            strata.push(view, last, seed, stream, &mut self.spent)?;
        }
        Ok(strata)
    }

    /// The mixture with its best weights.
    fn weigh(&mut self, mixture: &Mixture, stream: u64, pairs: usize) -> Result<Mixture> {
        stop::check_early()?;
        let (view, seed) = (self.run.target, self.run.seed);
        let strata = Strata::draw(view, mixture, seed, stream, pairs, &mut self.spent)?;
        Ok(mixture.with_weights(strata.best_weights(mixture)))
    }

    fn value(&mut self, mixture: &Mixture, stream: u64, pairs: usize) -> Result<Value> {
        stop::check_early()?;
        let (view, seed) = (self.run.target, self.run.seed);
        Ok(Strata::draw(view, mixture, seed, stream, pairs, &mut self.spent)?.value(mixture))
    }

    /// Sweeps over all components with shorter and shorter steps; the last one whose ELBO is not lower is kept.
    fn polish(&mut self, mixture: &Mixture) -> Result<Mixture> {
        let (mut here, mut best) = (mixture.clone(), mixture.clone());
        let mut value = self.value(&best, AFTER, LAST_WEIGHING)?;
        for (sweep, turns) in SWEEPS.into_iter().enumerate() {
            if self.spent + here.len() as u64 * (2 * self.piece() + 4 * LAST_WEIGHING as u64) > self.cap {
                break;
            }
            for c in 0..here.len() {
                let part = (AFTER << 16) + ((sweep as u64) << 8) + c as u64;
                here = self.improve(&here, c, part, (2 * self.piece(), turns))?;
            }
            here = self.weigh(&here, AFTER + 1 + sweep as u64, LAST_WEIGHING)?;
            let found = self.value(&here, AFTER, LAST_WEIGHING)?;
            let (rise, se) = found.rise_over(&value);
            if rise > -se {
                (best, value) = (here.clone(), found);
            } else {
                here = best.clone();
            }
        }
        pruned(&best)
    }

    /// The ELBO from fresh draws; NaN if there was no time for them.
    fn reported(&self, mixture: &Mixture) -> Result<(f64, f64)> {
        let (view, seed) = (self.run.target, self.run.seed);
        let draw = || Strata::draw(view, mixture, seed, AFTER + 16, REPORTED, &mut 0);
        match stop::phase("the estimates", draw) {
            Ok(strata) => {
                let Value { elbo, se, .. } = strata.value(mixture);
                Ok((elbo, if elbo.is_finite() { se } else { f64::INFINITY }))
            }
            Err(Error::Stopped { .. }) => Ok((f64::NAN, f64::NAN)),
            Err(error) => Err(error),
        }
    }
}

/// The mixture with one more component; the others keep their proportions.
fn with(old: &Mixture, q: &Gaussian<Triangular>, share: f64) -> Result<Mixture> {
    let mut weights: Vec<f64> = old.weights().iter().map(|w| (1.0 - share) * w).collect();
    weights.push(share);
    let mut components = old.components().to_vec();
    components.push(q.clone());
    Mixture::new(&weights, components)
}

/// The mixture without the components of hardly any weight.
fn pruned(mixture: &Mixture) -> Result<Mixture> {
    let kept = || mixture.weights().iter().zip(mixture.components()).filter(|(w, _)| **w >= LEAST_WEIGHT);
    let total: f64 = kept().map(|(w, _)| w).sum();
    let weights: Vec<f64> = kept().map(|(w, _)| w / total).collect();
    Mixture::new(&weights, kept().map(|(_, q)| q.clone()).collect())
}

/// The mixture with its components in the order of their weights.
fn sorted(mixture: &Mixture) -> Result<Mixture> {
    let mut order: Vec<usize> = (0..mixture.len()).collect();
    order.sort_by(|a, b| mixture.weights()[*b].total_cmp(&mixture.weights()[*a]));
    let weights: Vec<f64> = order.iter().map(|c| mixture.weights()[*c]).collect();
    Mixture::new(&weights, order.iter().map(|c| mixture.components()[*c].clone()).collect())
}

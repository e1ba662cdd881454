//! The audit: fresh draws at the answer, and what they prove about it.
//!
//! Nothing here knows how q was found: a fit made elsewhere is audited the same way.
//!
//! An audit evaluates log p at independent draws of q. The estimates beside a certificate ([`crate::estimate`])
//! need the same values, so the first of them are kept ([`Audited::log_ratios`]). That is sound because no decision
//! depended on them: q is fixed before the audit begins, the ball and the number of draws are chosen by the pilot's
//! draws, which are different ones, and the values are kept in the order of the draws, whatever they are. An audit
//! that was chosen *because* of what it proved gives none.

mod audited;
mod ball;
mod bounds;
mod events;
mod every;
mod goal;
mod groups;
mod image;
mod measure;
mod metric;
mod psi;
mod residual;
mod route;
mod sharp;
mod transport;
mod within;

use crate::base::draws::Seed;
use crate::base::error::{Error, Result};
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::matrix::Matrix;
use crate::base::scalar::Probability;
use crate::base::stop;
use crate::certify::certificate::{
    Certificate, CertificateFields, Grounds, Interval, MomentStatement, Statement,
};
use crate::glm::Glm;
use crate::target::curvature::{Curvature, Provenance};
use crate::target::evaluate::Evaluator;
use crate::target::expectations::Moments;
use crate::target::watchdog::Watching;
use crate::target::{own, trusted_curvature};
use crate::theory::certificate::{self as theory, Ball};
use crate::watch::Watch;
pub use audited::Audited;
use ball::Choice;
use bounds::Bounds;
pub use events::Question;
pub use goal::{Goal, worst_of_table};
use image::Image;
use measure::{Lost, Measurement};
use residual::go_on;
use route::Transport;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// Options of an audit. Set the fields that differ and end with `..Audit::default()`, because further fields may be
/// added.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Audit {
    /// δ: all statements of the certificate hold together with probability at least 1 − δ.
    pub failure_probability: f64,
    /// The most draws to spend.
    pub draws: u64,
    /// Which look at a certificate this is. 0: the only one, which may spend all of δ. The k-th of several spends
    /// δ/(k(k+1)), so that stopping at the first success is allowed.
    pub look: u32,
    /// How many searches compute certificates and share δ: each look of each search spends this fraction of its δ.
    pub searches: u32,
    /// Draw until the confidence bound of F is at most (1 + price)² times the sample mean.
    pub price: f64,
    /// What the audit should prove; it makes more draws than `draws` for it if needed.
    pub goal: Goal,
}

/// Of the share of δ that moments have: what those of each coefficient have, those in every direction too, and probabilities.
const MOMENTS: f64 = 0.4;
const EVENTS: f64 = 1.0 - 2.0 * MOMENTS;

/// The draws of an audit that nobody asked for more.
pub(crate) const USUAL: u64 = 20_000;

impl Default for Audit {
    fn default() -> Self {
        Self {
            failure_probability: 1e-6,
            draws: USUAL,
            look: 0,
            searches: 1,
            price: 0.2,
            goal: Goal::default(),
        }
    }
}

/// Called between the draws of an audit with (draws made, draws wanted): continue, or certify with the draws made.
///
/// The stopping time may depend on the draws, because a target may take longer for some of them: a certificate from
/// fewer draws spends δ once more, over all the places where it might have stopped, and holds with probability 1 −
/// 2δ \[confidence\].
pub(crate) type Between<'a> = dyn FnMut(u64, u64) -> Result<ControlFlow<()>> + 'a;

/// The reason if the measurements prove nothing.
const UNRESOLVED: &str = "rounding hides the answer: double precision does not resolve draws of q, or sums of the model's terms, \
     finely enough; centre or rescale the data";

/// The reason if nothing is measured.
const STOPPED: &str = "the audit was stopped before its first draws";

impl Audit {
    /// Audits q, an answer for `&model`, and returns what is proved.
    pub fn run<'t>(
        &self,
        target: impl Into<Evaluator<'t>>,
        q: &Gaussian<Triangular>,
        seed: Seed,
    ) -> Result<Audited> {
        self.ask(target, q, seed, &[])
    }

    /// [`Audit::run`] with questions whose answers are numbers between 0 and 1: [`Audited::answers`] has them, in their order, where
    /// they were measured [measured-events].
    pub fn ask<'t>(
        &self,
        target: impl Into<Evaluator<'t>>,
        q: &Gaussian<Triangular>,
        seed: Seed,
        questions: &[Question],
    ) -> Result<Audited> {
        let (target, d) = (target.into(), q.dim());
        if let Some(other) = questions.iter().find(|ask| ask.weights.len() != d) {
            return Err(Error::Shape { what: "question", found: other.weights.len(), expected: d });
        }
        self.looks(q, |look| look.measure(target, (q, questions), seed, &mut go_on))
    }

    /// [`Audit::run`] with a watch, which sees its draws and may stop it. Fewer draws prove less; statements that
    /// need no draws are proved in any case. The certificate of an audit that may stop early holds with probability
    /// 1 − 2δ \[confidence\].
    pub fn run_with<'t>(
        &self,
        target: impl Into<Evaluator<'t>>,
        q: &Gaussian<Triangular>,
        seed: Seed,
        watch: &mut Watch<'_>,
    ) -> Result<Audited> {
        self.run_since(Instant::now(), target.into(), q, seed, watch)
    }

    /// The audit as the last part of a run that began at `begin` under the same watch.
    pub(crate) fn run_since(
        &self,
        begin: Instant,
        target: Evaluator<'_>,
        q: &Gaussian<Triangular>,
        seed: Seed,
        watch: &mut Watch<'_>,
    ) -> Result<Audited> {
        let signal = watch.signal(begin);
        let stopped = signal.as_ref().is_some_and(stop::Signal::is_wanted);
        let more = if stopped { watch.grace(begin) } else { Duration::ZERO };
        let mut between = watch.between_draws(begin)?;
        let mut go = || {
            self.looks(q, |look| {
                stop::patient_phase("the audit", more, || look.measure(target, (q, &[]), seed, &mut between))
            })
        };
        match signal {
            Some(signal) => signal.cover(go),
            None => go(),
        }
    }

    fn measure(
        &self,
        target: Evaluator<'_>,
        (q, questions): (&Gaussian<Triangular>, &[Question]),
        seed: Seed,
        between: &mut Between<'_>,
    ) -> Result<Audited> {
        Probability::new("failure probability δ", self.failure_probability)?;
        let d = target.dim();
        if q.dim() != d {
            return Err(Error::Shape { what: "gaussian", found: q.dim(), expected: d });
        }
        let model = target.target().model_of_its_own(own::Word);
        let own = model.and_then(|model| model.downcast_ref::<Glm>()).map(|model| (model, q));
        match target.target().standardized()? {
            Some(standard) => {
                let (seen, map) = (standard.evaluator(target), standard.map());
                let image = Image::new(d, map);
                let standard = map.standard_gaussian(q);
                Ok(self.go(seen, (&standard, image, own, questions), seed, between)?.through(map, q))
            }
            None => self.go(target, (q, Image::EXACT, own, questions), seed, between),
        }
    }

    fn go(
        &self,
        target: Evaluator<'_>,
        (q, image, own, questions): (&Gaussian<Triangular>, Image<'_>, Option<Own<'_>>, &[Question]),
        seed: Seed,
        between: &mut Between<'_>,
    ) -> Result<Audited> {
        let names = target.target().names();
        let curvature = trusted_curvature(target.target())?;
        let Some(curvature) = curvature.filter(|c| c.convexity() >= 0.0) else {
            let reason =
                "no curvature is known: V is not known to be convex (declare μ and M to get a proof)";
            return Ok(nothing(&names, q, reason));
        };
        if curvature.provenance() == Provenance::Proved {
            let session = Session::new(self, target, (q, image), seed, curvature, between)?;
            return Session { own, questions, ..session }.certify(&names);
        }
        // A declared curvature is compared with the evaluations of the draws.
        target.wrap(Watching(curvature.clone()), |view, seen| {
            let session = Session::new(self, view, (q, image), seed, curvature, between)?;
            let audited = Session { questions, ..session }.certify(&names)?;
            Ok(audited.unless(seen()))
        })
    }
}

impl Audit {
    /// The share of δ of this look: δ/(Kk(k+1)) for the k-th look of one of K searches, and all of δ for a single
    /// look. Over all looks of all searches the shares sum to at most δ \[confidence\].
    pub(crate) fn share(&self) -> f64 {
        let look = f64::from(self.look);
        let looks = if self.look == 0 { 1.0 } else { look * (look + 1.0) };
        self.failure_probability / (looks * f64::from(self.searches.max(1)))
    }
}

/// A result that proves nothing, with the reason.
pub(crate) fn nothing(names: &[String], q: &Gaussian<Triangular>, reason: &str) -> Audited {
    let (certificate, bounds) = (Certificate::nothing(names, reason), Bounds::nothing(q, reason));
    Audited { certificate, bounds, log_ratios: Vec::new(), revoked: None }
}

/// f(w), exact up to a proved error.
#[derive(Clone, Copy)]
struct ExactValue {
    value: f64,
    error: f64,
    provenance: Provenance,
}

/// A model in the user's coordinates, and the Gaussian there.
type Own<'a> = (&'a Glm, &'a Gaussian<Triangular>);

/// An audit in progress.
struct Session<'a> {
    options: &'a Audit,
    target: Evaluator<'a>,
    q: &'a Gaussian<Triangular>,
    image: Image<'a>,
    factor: Matrix,
    seed: Seed,
    curvature: Curvature,
    delta: f64,
    moments: Option<Moments>,
    exact: Option<ExactValue>,
    /// Bound of the difference between f of the user's q and f of its image; part of the error of `exact`.
    moved: f64,
    grounds: Grounds,
    between: &'a mut Between<'a>,
    /// What is audited, if it is a model of this crate.
    own: Option<Own<'a>>,
    questions: &'a [Question],
}

impl<'a> Session<'a> {
    fn new(
        options: &'a Audit,
        target: Evaluator<'a>,
        (q, image): (&'a Gaussian<Triangular>, Image<'a>),
        seed: Seed,
        curvature: Curvature,
        between: &'a mut Between<'a>,
    ) -> Result<Self> {
        let delta = options.share();
        let mut moments = None;
        if let Some(expectations) = target.target().expectations() {
            let mut found = Moments::new(q.dim());
            expectations.expect(q, &mut found)?;
            moments = Some(found).filter(|m| m.provenance != Provenance::Estimated);
        }
        let exact = match &moments {
            Some(m) => {
                let (value, error) = (m.neg_elbo(q)?, m.neg_elbo_error(q));
                Some(ExactValue { value, error, provenance: m.provenance })
            }
            None => None,
        };
        let convexity = Some(curvature.convexity());
        // A look spends its share of δ; the certificate selected among all looks holds with the whole δ.
        let failure_probability = options.failure_probability;
        let grounds = Grounds { failure_probability, convexity, ..Grounds::default() };
        Ok(Self {
            options,
            target,
            q,
            image,
            factor: q.factor_matrix(),
            seed,
            curvature,
            delta,
            moments,
            exact,
            moved: 0.0,
            grounds,
            between,
            own: None,
            questions: &[],
        })
    }

    fn certify(mut self, names: &[String]) -> Result<Audited> {
        let measurement = self.measure()?;
        let Measurement { global, choice, transport, mass, mut measured, draws, delta, rounding } =
            measurement;
        let deterministic_gap = self.gap()?;
        let confidence = 1.0 - self.grounds.failure_probability;
        let mut log_ratios = std::mem::take(&mut measured.log_ratios);
        if let Some(mass) = &mass {
            let most = residual::KEPT.min(self.options.draws as usize);
            let room = most.saturating_sub(log_ratios.len());
            log_ratios.extend(mass.log_ratios.iter().take(room));
        }
        let mut bounds = Bounds { confidence, ..Bounds::nothing(self.q, "") };
        let mut kl = Statement::missing(if draws > 0 { self.why_no_global_bound() } else { STOPPED });
        let mut tv = kl.clone();
        if let Some(metric) = global.as_ref().filter(|_| draws > 0) {
            let fisher = metric.fisher_upper(measured.global_mean, draws, delta, &rounding.draws)?;
            self.grounds.global_fisher_mean = Some(measured.global_mean);
            self.grounds.global_lipschitz = Some(metric.lipschitz());
            let provenance = self.curvature.provenance();
            if fisher.is_finite() {
                let bound = theory::kl(fisher);
                kl = Statement::proved(bound, confidence, "cert-kl", provenance);
                tv = Statement::proved(theory::total_variation(bound), confidence, "cert-kl", provenance);
                bounds.fisher = Some((fisher, provenance));
            } else {
                (kl, tv) = (Statement::missing(UNRESOLVED), Statement::missing(UNRESOLVED));
            }
        }
        if let Some(transport) = transport.filter(|_| draws > 0) {
            let bound = transport.bound(draws, delta, &rounding.draws)?;
            let Transport { mean, lipschitz, .. } = transport;
            self.grounds.transport_mean = Some(mean);
            self.grounds.transport_lipschitz = Some(lipschitz);
            let provenance = self.curvature.provenance();
            let proved = |bound| Statement::proved(bound, confidence, "cert-transport", provenance);
            if bound.is_finite() {
                kl = kl.or_better(proved(bound));
                tv = tv.or_better(proved(theory::total_variation(bound)));
                bounds.kl = Some((bound, provenance));
            }
        }
        bounds.metric =
            global.or_else(|| self.lower_metric()).map(|m| (m, self.curvature.lower_provenance()));
        let mut evidence = self.exact_evidence(&kl, confidence);
        // f is at most this.
        let mut value_upper = self.exact.map(|f| f.value + f.error);
        if let Some(choice) = choice.filter(|_| measured.inside > 0) {
            let local = self.local(&choice, &measured, delta, &rounding)?;
            if let Some(bound) = local.kl.filter(|bound| bound.is_finite()) {
                let statement = Statement::proved(bound, confidence, "local-kl", choice.provenance);
                tv = tv.or_better(Statement::proved(
                    theory::total_variation(bound),
                    confidence,
                    "local-kl",
                    choice.provenance,
                ));
                kl = kl.or_better(statement);
                if bounds.kl.is_none_or(|(known, _)| bound < known) {
                    bounds.kl = Some((bound, choice.provenance));
                }
            } else if kl.bound().is_none() && local.kl.is_none() {
                kl = Statement::missing(
                    "the passage from the ball to the whole space needs H_hi or a closed form; TV and moments hold",
                );
            }
            tv = tv.or_better(Statement::proved(
                local.ball.total_variation(),
                confidence,
                "local-tv",
                choice.provenance,
            ));
            evidence = self.exact_evidence(&kl, confidence);
            if let Some(interval) = local.evidence.filter(|sides| sides.iter().all(|x| x.is_finite())) {
                let grounds = ("local-evidence", choice.provenance);
                evidence = narrower(evidence, interval, confidence, grounds);
            }
            bounds.local = Some((choice.metric, local.ball, choice.provenance));
            value_upper = value_upper.or(local.value_upper);
        }
        if let Some(mass) = mass.filter(|mass| mass.upper.is_finite()) {
            let of_f = self.exact.map_or(mass.provenance, |f| f.provenance);
            let provenance = mass.provenance.weakest(of_f);
            let [of_kl, of_evidence, of_moments] = mass.keys;
            // KL(q‖p) = log ∫p̃ + f − f̂, for the f̂ that was used.
            let bound = value_upper.map(|most| theory::mass_kl(mass.upper, most - mass.constant).max(0.0));
            if let Some(bound) = bound.filter(|bound| bound.is_finite()) {
                let proved = |bound| Statement::proved(bound, confidence, of_kl, provenance);
                kl = kl.or_better(proved(bound));
                tv = tv.or_better(proved(theory::total_variation(bound)));
                if bounds.kl.is_none_or(|(known, _)| bound < known) {
                    bounds.kl = Some((bound, provenance));
                }
            }
            bounds.standings = Some((mass.standings, of_moments, provenance));
            bounds.events = Some(mass.events).filter(|events| events.len() >= self.questions.len());
            bounds.asked = self.questions.len();
            bounds.every = mass.every.map(|errors| (errors, provenance));
            // −f ≤ log p(x) = log ∫p̃ − f̂.
            let [lower, upper] = theory::mass_evidence([mass.lower, mass.upper], mass.constant);
            let lower = self.exact.map_or(lower, |f| lower.max(-f.value - f.error));
            evidence = narrower(evidence, [lower, upper], confidence, (of_evidence, provenance));
        }
        bounds.reason = kl.reason().unwrap_or_default().to_owned();
        // f* is the minimum over Gaussians, so KL(q‖p) bounds the gap too, at its own confidence.
        let gap = deterministic_gap.unwrap_or_else(|| kl.clone());
        let moments = names
            .iter()
            .enumerate()
            .map(|(i, name)| {
                let mut v = vec![0.0; names.len()];
                v[i] = 1.0;
                let [mean_error, sd_error] = bounds.functional(&v);
                MomentStatement { name: name.clone(), mean_error, sd_error }
            })
            .collect();
        let certificate = Certificate(CertificateFields {
            gap,
            family: None,
            kl,
            tv,
            evidence,
            moments,
            grounds: self.grounds,
        });
        Ok(Audited { certificate, bounds, log_ratios, revoked: None })
    }

    fn why_no_global_bound(&self) -> &'static str {
        if self.curvature.convexity() <= 0.0 {
            "V is not known to be strongly convex (μ = 0), and no ball carries a local certificate"
        } else if self.curvature.upper().is_some() {
            "H_lo is too flat to be factored in double precision, and no ball carries a local certificate"
        } else {
            "no upper curvature H_hi is known, and no ball carries a local certificate"
        }
    }

    /// [cert-gap] from the exact gradient, for a q whose f is within `moved` of the one measured.
    fn gap(&mut self) -> Result<Option<Statement>> {
        let Some(moments) = &self.moments else { return Ok(None) };
        if self.curvature.convexity() <= 0.0 {
            return Ok(None);
        }
        let mut gradient = vec![0.0; self.q.parameters().len()];
        moments.neg_elbo_gradient(self.q, &mut gradient);
        // If H_lo is too flat to factor safely, there is no deterministic statement.
        let Ok(dual) = self.curvature.dual_norm() else { return Ok(None) };
        let dual = dual.square(&gradient)?.sqrt();
        // The dual norm of an error of Euclidean size ε is at most ε/√μ.
        let error = moments.neg_elbo_gradient_error(self.q) / self.curvature.convexity().sqrt();
        self.grounds.gradient_norm = Some(dual + error);
        let bound = theory::gap(dual, error) + self.moved;
        if !bound.is_finite() {
            return Ok(None);
        }
        let provenance = self.curvature.lower_provenance().weakest(moments.provenance);
        Ok(Some(Statement::proved(bound, 1.0, "cert-gap", provenance)))
    }

    /// The local statements of the chosen ball.
    fn local(
        &mut self,
        choice: &Choice,
        measured: &residual::Measured,
        delta: f64,
        rounding: &Lost,
    ) -> Result<Local> {
        let (d, lost) = (self.q.dim(), rounding.inside);
        let fisher = choice.metric.fisher_upper(measured.local_mean, measured.inside, delta, &lost)?;
        let ball = choice.ball(fisher);
        self.grounds.radius = Some(choice.radius);
        self.grounds.local_fisher_mean = Some(measured.local_mean);
        self.grounds.local_lipschitz = Some(choice.metric.lipschitz());
        self.grounds.local_convexity = Some(choice.least);
        self.grounds.outside = Some(choice.outside.moments[0]);

        // E_{q_B}D from draws, if f is not exact: first Γ, then Bernstein.
        let center = measured.center_value;
        let mut evidence = None;
        let mut floor = None; // −f ≤ this
        let mut inside = None; // E_{q_B}D ≤ this
        let log_inside = (-choice.alpha).ln_1p();
        if let Some(exact) = self.exact {
            floor = Some(-exact.value + exact.error);
        } else if let Some(spread) = choice.metric.deviation_from_identity() {
            let root = theory::running_mean_upper(measured.square_mean, measured.inside).sqrt()
                + lost.slope
                + (1.0 + spread) * lost.shift;
            let gamma = theory::fisher_upper(root * root, spread, measured.inside, delta)?;
            let range = 2.0 * choice.radius * (measured.gradient_norm + spread * choice.radius);
            // ‖∇U‖ ≤ g_0 + ‖∇²U‖·‖x‖ wherever û may be, times the distance of û from u.
            let slope = measured.gradient_norm + (1.0 + spread) * (choice.radius + lost.shift);
            let moved = lost.value + lost.constant + lost.shift * slope + rounding.value_mean_lost;
            let width = theory::bernstein(gamma, range, measured.inside, delta) + moved;
            let mean = measured.local_value_mean - log_inside;
            evidence = Some([-(mean + width), -(mean - width) + ball.kl()]);
            floor = Some(-(measured.local_value_mean - width) + log_inside + ball.kl());
            inside = Some(measured.local_value_mean + width);
        }
        let excess = match (self.upper(), floor) {
            (Some(upper), Some(floor)) => {
                // Diagonal entries of CᵀH_hiC, each increased by more than the rounding error.
                let trace = (0..d).map(|i| upper[(i, i)]).sum::<f64>() * (1.0 + 1e-12);
                Some(ball.excess_from_upper_curvature(center + measured.center_lost + floor, trace, d))
            }
            (None, Some(floor)) => self.tail_integral(choice)?.map(|j| j + ball.weigh_outside(floor)),
            _ => None,
        };
        // f = E_{q_B}D + ∫_{Bᶜ}(D − E_{q_B}D)dq.
        let value_upper = inside.zip(self.upper()).map(|(mean, upper)| {
            let trace = (0..d).map(|i| upper[(i, i)]).sum::<f64>() * (1.0 + 1e-12);
            let beyond =
                ball.excess_from_upper_curvature(center + measured.center_lost - mean, trace, d).max(0.0);
            mean + beyond + 1e-12 * (1.0 + mean.abs())
        });
        Ok(Local { kl: excess.map(|x| ball.kl_of_whole(x)), ball, evidence, value_upper })
    }

    /// J ≥ ∫_{Bᶜ} D dq in closed form, if the target has one.
    fn tail_integral(&self, choice: &Choice) -> Result<Option<f64>> {
        match self.target.target().expectations() {
            Some(expectations) => expectations.tail_integral(self.q, choice.radius),
            None => Ok(None),
        }
    }

    /// −f ≤ log p(x) ≤ −f + KL(q‖p) [cert-evidence]; f exact up to its error.
    fn exact_evidence(&self, kl: &Statement, confidence: f64) -> Interval {
        let Some(f) = self.exact else {
            return Interval::missing("f is not exact here, and no ball carries a local certificate");
        };
        let lower = -f.value - f.error;
        match kl {
            Statement::Proved(kl) => {
                let key = if kl.key() == "local-kl" { "local-evidence" } else { "cert-evidence" };
                let provenance = kl.provenance().weakest(f.provenance);
                let side = |bound| Statement::proved(bound, confidence, key, provenance);
                Interval::new(side(lower), side(-f.value + f.error + kl.value()))
            }
            Statement::NotProved { reason } => Interval::new(
                Statement::proved(lower, 1.0, "cert-evidence", f.provenance),
                Statement::missing(reason),
            ),
        }
    }
}

struct Local {
    ball: Ball,
    kl: Option<f64>,
    evidence: Option<[f64; 2]>,
    /// An upper bound of f, if f is not exact.
    value_upper: Option<f64>,
}

/// The intersection of two intervals that hold together.
fn narrower(
    known: Interval,
    [lower, upper]: [f64; 2],
    confidence: f64,
    (key, provenance): (&str, Provenance),
) -> Interval {
    let [known_lower, known_upper] = known.sides();
    let side = |known: &Statement, bound: f64, is_better: fn(f64, f64) -> bool| match known.bound() {
        Some(old) if !is_better(bound, old) => known.clone(),
        _ => Statement::proved(bound, confidence, key, provenance),
    };
    Interval::new(
        side(known_lower, lower, |new, old| new > old),
        side(known_upper, upper, |new, old| new < old),
    )
}

#[cfg(test)]
mod tests;

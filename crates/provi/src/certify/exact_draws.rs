//! Independent draws of the posterior itself, by rejection [exact-draws].
//!
//! What proposes them is an envelope of the density. For any target with 0 ≺ H_lo ⪯ ∇²V ⪯ H_hi that is the tangent Gaussian function of H_lo
//! (`tangent`). For a model with a linear predictor and a log-concave likelihood (`rows`) it is far tighter. On a slab {|t_n| ≤ reach_n for every row}, t_n the predictor less its
//! value at the mean of q, each φ_n is above a quadratic, so the density is below a Gaussian function; slabs around each other, the last
//! of them the whole space, make an envelope. A proposal from it is accepted with probability density/envelope. What is accepted has
//! the law of the posterior: no chain, no warm-up, no diagnostic. Which slabs is chosen for the least mass of the envelope, which bounds the
//! expected number of proposals of a draw beforehand.
//!
//! ```text
//! e^{−E(z)} ≤ e^{h_j − ½‖e‖²},  z = c_j + F_je,  on slab j;     Σ_j W_j ≥ ∫e^{−E},   W_0 = M_0,  W_j = M_j·Σ_{n,±} P_j(±t_n > reach_{j−1,n})
//! ```
//! Draws are a function of the seed: proposals are numbered, and those accepted are handed over in their order, so that any number of
//! threads gives the same bits.

mod chain;
mod envelope;
mod layer;
mod logistic;
mod minorant;
mod rounding;
mod rows;
mod tangent;
#[cfg(test)]
mod tests;

use crate::base::draws::{Draws, Purpose, Seed};
use crate::base::error::{Error, Result};
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::matrix::Matrix;
use crate::base::stop;
use crate::glm::Glm;
use crate::target::curvature::Provenance;
use crate::target::expectations::{Expectations, Moments};
use crate::target::standard::Standard;
use crate::target::{Evaluator, own};
use chain::Search;
use envelope::{Capped, Envelope, Slabs};
use layer::Frame;
use rows::{DEVICE_WAVE, OfRows};
use std::borrow::Cow;
use std::collections::VecDeque;
use std::ops::Range;
use tangent::OfTarget;

/// The most proposals that are expected for one draw.
pub const MOST_PROPOSALS: f64 = 1e5;
/// The most that rounding may move the law of a draw, in total variation: some 10⁷ rows.
pub const MOST_ROUNDING: f64 = 1e-5;

/// Proposals that are evaluated together.
const BATCH: usize = 64;

/// What makes proposals, and keeps some of them.
trait Proposer {
    /// d.
    fn dim(&self) -> usize;

    /// Proposals between two looks at the clock.
    fn wave(&self) -> usize;

    /// What is accepted of proposals with these numbers, in their order; `None` if the work was cut off.
    fn accepted(&self, draws: &Draws, numbers: Range<u64>) -> Result<Option<Vec<Vec<f64>>>>;
}

/// The two of them.
enum Way<'m> {
    Rows(Box<OfRows<'m>>),
    Target(OfTarget<'m>),
}

impl Way<'_> {
    fn proposer(&self) -> &dyn Proposer {
        match self {
            Self::Rows(rows) => rows.as_ref(),
            Self::Target(target) => target,
        }
    }
}

/// Draws of the posterior of a linear-predictor model, or of any target with curvature bounds 0 ≺ H_lo ⪯ ∇²V ⪯ H_hi.
///
/// ```
/// use provi::{Design, Gaussian, Matrix, Seed, exact_draws::ExactDraws, target::{Glm, Prior}};
///
/// let design = Design::dense(4, 1, &[0.5, -1.5, 2.0, -0.3])?;
/// let model = Glm::logistic(design, &[1.0, 0.0, 1.0, 1.0], Prior::scale(2.5)?)?;
/// // Any Gaussian near the posterior will do: a better one costs fewer proposals.
/// let q = Gaussian::from_covariance(&[1.0], Matrix::diagonal(&[1.2]))?;
/// let mut draws = ExactDraws::new(&model, &q, Seed(1))?;
/// assert!(draws.proposals_bound() < 3.0 && draws.rounding() < 1e-9);
/// let some = draws.draw(100)?;                                            // one a row
/// assert_eq!((some.rows(), some.columns()), (100, 1));
/// # Ok::<(), provi::Error>(())
/// ```
pub struct ExactDraws<'m> {
    way: Way<'m>,
    map: Option<Standard>,
    draws: Draws,
    proposals: f64,
    rounding: f64,
    near: Option<(f64, f64)>,
    provenance: Provenance,
    /// The next proposal.
    next: u64,
    ready: VecDeque<Vec<f64>>,
    made: u64,
}

impl std::fmt::Debug for ExactDraws<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ExactDraws").field("proposals", &self.proposals).finish_non_exhaustive()
    }
}

/// p̃ = p·e^{f̂} against Kq.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cap {
    pub(crate) log_k: f64,
    /// f̂.
    pub(crate) f: f64,
    /// A bound of ∫(p̃ − Kq)₊/∫p̃, which bounds the total variation between p and the law of min(p̃, Kq), with probability 1 − δ.
    pub(crate) total_variation: f64,
    /// The expected number of proposals of q for a draw: K/E_q min(ϖ, K), at most.
    pub(crate) proposals: f64,
}

/// A linear-predictor model, which knows more than its curvature.
fn as_model(target: Evaluator<'_>) -> Option<&Glm> {
    target.target().model_of_its_own(own::Word).and_then(|model| model.downcast_ref())
}

/// In coordinates that do not depend on units, as audits are.
#[allow(clippy::type_complexity)] // the map, the model, q
fn in_standard<'m>(
    model: &'m Glm,
    q: &Gaussian<Triangular>,
) -> Result<(Option<Standard>, Cow<'m, Glm>, Gaussian<Triangular>)> {
    model.linear.check_dim(q)?;
    Ok(match model.in_standard() {
        Some((map, moved)) => {
            let q = map.standard_gaussian(q);
            (Some(map), Cow::Owned(moved), q)
        }
        None => (None, Cow::Borrowed(model), q.clone()),
    })
}

impl<'m> ExactDraws<'m> {
    /// Finds an envelope. `q` decides about its cost alone: the law of the draws does not depend on it.
    ///
    /// Refuses where a draw would take more than [`MOST_PROPOSALS`], or where rounding could be seen. Cost: some thirty Gram matrices for rows, a
    /// search for the mode otherwise.
    pub fn new(target: impl Into<Evaluator<'m>>, q: &Gaussian<Triangular>, seed: Seed) -> Result<Self> {
        let target = target.into();
        match as_model(target) {
            Some(model) => Self::of_model(model, q, seed),
            None => {
                let (proposer, known) = OfTarget::under_tangent(target, q, seed)?;
                Self::of_target(proposer, known, None, seed)
            }
        }
    }

    /// Checks what is known of draws of any target.
    fn of_target(
        proposer: OfTarget<'m>,
        known: tangent::Known,
        near: Option<(f64, f64)>,
        seed: Seed,
    ) -> Result<Self> {
        let tangent::Known { proposals, rounding, provenance } = known;
        if proposals.is_nan() || proposals > MOST_PROPOSALS {
            return Err(Error::ExactDrawsCost { proposals, most: MOST_PROPOSALS });
        }
        if near.is_none() && (rounding.is_nan() || rounding > MOST_ROUNDING) {
            return Err(Error::ExactDrawsRounding { distance: rounding, most: MOST_ROUNDING });
        }
        Ok(Self {
            near,
            provenance,
            ..Self::through(Way::Target(proposer), None, seed, [proposals, rounding])
        })
    }

    fn of_model(model: &'m Glm, q: &Gaussian<Triangular>, seed: Seed) -> Result<Self> {
        let (map, model, q) = in_standard(model, q)?;
        let frame = Frame::new(&model, q);
        let search = Search::of(&frame, model.rows.goes_aside(DEVICE_WAVE));
        let Some(layers) = chain::cheapest(&frame, search)? else {
            return Err(Error::ExactDrawsCost { proposals: f64::INFINITY, most: MOST_PROPOSALS });
        };
        let slabs = Slabs::new(layers, frame.middles.clone());
        // log ∫e^{−E} ≥ const − f.
        let mut moments = Moments::new(frame.q.dim());
        model.expect(&frame.q, &mut moments)?;
        let scale = moments.neg_elbo(&frame.q)? + moments.neg_elbo_error(&frame.q) - model.linear.constant;
        let proposals = (slabs.log_mass() + scale).exp();
        stop::check()?;
        // A NaN is no bound.
        if proposals.is_nan() || proposals > MOST_PROPOSALS {
            return Err(Error::ExactDrawsCost { proposals, most: MOST_PROPOSALS });
        }
        let distance = rounding::distance(&frame, &slabs, scale);
        if distance.is_nan() || distance > MOST_ROUNDING {
            return Err(Error::ExactDrawsRounding { distance, most: MOST_ROUNDING });
        }
        drop(frame);
        let proposer = OfRows { model, envelope: Box::new(slabs) };
        Ok(Self::through(Way::Rows(Box::new(proposer)), map, seed, [proposals, distance]))
    }

    /// Draws of min(p̃, Kq) with the K and its total variation that `measure` finds in the coordinates of audits. Refuses where `most` is not
    /// proved.
    pub(crate) fn capped(
        target: Evaluator<'m>,
        q: &Gaussian<Triangular>,
        (most, confidence): (f64, f64),
        seed: Seed,
        measure: impl FnOnce(Evaluator<'_>, &Gaussian<Triangular>) -> Result<Option<Cap>>,
    ) -> Result<Self> {
        if !(0.0..=1.0).contains(&most) {
            return Err(Error::OutOfRange {
                what: "total variation",
                value: most,
                needed: "between 0 and 1",
            });
        }
        let refused = |found: f64| Error::NearDraws { found, most };
        let checked = |cap: &Cap, lost: f64| {
            let total_variation = cap.total_variation + lost;
            // A NaN is no bound.
            if total_variation.is_nan() || total_variation > most {
                return Err(refused(total_variation.min(1.0)));
            }
            Ok(total_variation)
        };
        let Some(model) = as_model(target) else {
            let cap = measure(target, q)?.ok_or_else(|| refused(1.0))?;
            stop::check()?;
            let (proposer, known) = OfTarget::under_gaussian(target, q, &cap)?;
            let total_variation = checked(&cap, known.rounding)?;
            return Self::of_target(proposer, known, Some((total_variation, confidence)), seed);
        };
        let (map, model, q) = in_standard(model, q)?;
        let cap = measure(Evaluator::Parallel(&*model), &q)?.ok_or_else(|| refused(1.0))?;
        stop::check()?;
        let frame = Frame::new(&model, q.clone());
        let lost = rounding::of_gaussian(&frame, cap.proposals);
        drop(frame);
        let total_variation = checked(&cap, lost)?;
        if cap.proposals > MOST_PROPOSALS {
            return Err(Error::ExactDrawsCost { proposals: cap.proposals, most: MOST_PROPOSALS });
        }
        let log_scale = cap.log_k + model.linear.constant - cap.f;
        let envelope = Box::new(Capped::new(q, log_scale, model.rows.len())?);
        let way = Way::Rows(Box::new(OfRows { model, envelope }));
        let mut out = Self::through(way, map, seed, [cap.proposals, lost]);
        out.near = Some((total_variation, confidence));
        Ok(out)
    }

    /// A bound of the total variation between the posterior and the law of a draw, and the probability that it holds; `None` where draws are
    /// exact up to [`ExactDraws::rounding`].
    pub fn total_variation(&self) -> Option<(f64, f64)> {
        self.near
    }

    /// Draws of anything that proposes, in other coordinates.
    fn through(way: Way<'m>, map: Option<Standard>, seed: Seed, [proposals, rounding]: [f64; 2]) -> Self {
        let draws = Draws::new(seed, Purpose::Propose);
        let (near, provenance, ready) = (None, Provenance::Proved, VecDeque::new());
        Self { way, map, draws, proposals, rounding, near, provenance, next: 0, ready, made: 0 }
    }

    /// Where the curvature comes from on which the law of the draws rests: declared by the target's owner, or proved from the model.
    pub fn provenance(&self) -> Provenance {
        self.provenance
    }

    /// d.
    pub fn dim(&self) -> usize {
        self.way.proposer().dim()
    }

    /// A bound of the expected number of proposals for one draw, known before any is made. Of a target that is no linear-predictor model and whose
    /// H_hi is far above H_lo it is measured, and holds with probability 1 − 10⁻⁶.
    pub fn proposals_bound(&self) -> f64 {
        self.proposals
    }

    /// A bound of the total variation between the posterior and the law of a draw, from rounding alone. A draw is then rounded to double
    /// precision; the normals and uniforms behind it are taken to be what they stand for. A target that does not state its rounding errors declares
    /// that they are at most 10⁻¹² of its values.
    pub fn rounding(&self) -> f64 {
        self.rounding
    }

    /// Proposals made so far.
    pub fn proposed(&self) -> u64 {
        self.next
    }

    /// Proposals accepted so far: those handed over, and those that wait.
    pub fn accepted(&self) -> u64 {
        self.made + self.ready.len() as u64
    }

    /// Draws handed over so far.
    pub fn made(&self) -> u64 {
        self.made
    }

    /// The next `count` draws, one a row; fewer once a stop is wanted ([`crate::stop`]).
    ///
    /// The list of all draws is the same however it is cut into parts. Memory: the part, and a few thousand proposals.
    pub fn draw(&mut self, count: usize) -> Result<Matrix> {
        while self.ready.len() < count && !stop::is_wanted() {
            let numbers = self.next..self.next + self.way.proposer().wave() as u64;
            let Some(taken) = self.way.proposer().accepted(&self.draws, numbers.clone())? else { break };
            self.ready.extend(taken);
            self.next = numbers.end;
        }
        let (rows, d) = (count.min(self.ready.len()), self.dim());
        let mut out = Matrix::zeros(rows, d);
        for (k, z) in self.ready.drain(..rows).enumerate() {
            match &self.map {
                Some(map) => out.row_mut(k).copy_from_slice(&map.to_own(&z)),
                None => out.row_mut(k).copy_from_slice(&z),
            }
        }
        self.made += rows as u64;
        Ok(out)
    }
}

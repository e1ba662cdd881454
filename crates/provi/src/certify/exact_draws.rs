//! Independent draws of the posterior itself, by rejection [exact-draws].
//!
//! For a model with a linear predictor and a log-concave likelihood. On a slab {|t_n| ≤ reach_n for every row}, t_n the predictor less its
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
#[cfg(test)]
mod tests;

use crate::base::chunked::{self, Chunks};
use crate::base::draws::{Draws, Purpose, Seed};
use crate::base::error::{Error, Result};
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::matrix::Matrix;
use crate::base::stop;
use crate::glm::Glm;
use crate::glm::rows::Found;
use crate::target::expectations::{Expectations, Moments};
use crate::target::standard::Standard;
use chain::Search;
use envelope::{Capped, Envelope, Slabs, uniforms};
use layer::Frame;
use std::borrow::Cow;
use std::collections::VecDeque;

/// The most proposals that are expected for one draw.
pub const MOST_PROPOSALS: f64 = 1e5;
/// The most that rounding may move the law of a draw, in total variation: some 10⁷ rows.
pub const MOST_ROUNDING: f64 = 1e-5;

/// Proposals that are evaluated together.
const BATCH: usize = 64;
/// Proposals between two looks at the clock: whole batches, at most so many,
const MOST_WAVE: usize = 4096;
/// and about so many multiply-adds.
const WAVE_WORK: usize = 1 << 29;
/// The same where a device takes the densities.
const DEVICE_WAVE: usize = 1024;

/// Draws of the posterior of a linear-predictor model.
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
    model: Cow<'m, Glm>,
    map: Option<Standard>,
    envelope: Box<dyn Envelope>,
    draws: Draws,
    proposals: f64,
    rounding: f64,
    near: Option<(f64, f64)>,
    wave: usize,
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
    /// Refuses where a draw would take more than [`MOST_PROPOSALS`], or where rounding could be seen. Cost: some thirty Gram matrices.
    pub fn new(model: &'m Glm, q: &Gaussian<Triangular>, seed: Seed) -> Result<Self> {
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
        Ok(Self::through(model, map, Box::new(slabs), seed, [proposals, distance]))
    }

    /// Draws of min(p̃, Kq) with the K and its total variation that `measure` finds in standard coordinates. Refuses where `most` is not
    /// proved.
    pub(crate) fn capped(
        model: &'m Glm,
        q: &Gaussian<Triangular>,
        (most, confidence): (f64, f64),
        seed: Seed,
        measure: impl FnOnce(&Glm, &Gaussian<Triangular>) -> Result<Option<Cap>>,
    ) -> Result<Self> {
        if !(0.0..=1.0).contains(&most) {
            return Err(Error::OutOfRange {
                what: "total variation",
                value: most,
                needed: "between 0 and 1",
            });
        }
        let (map, model, q) = in_standard(model, q)?;
        let refused = |found: f64| Error::NearDraws { found, most };
        let cap = measure(&model, &q)?.ok_or_else(|| refused(1.0))?;
        stop::check()?;
        let frame = Frame::new(&model, q.clone());
        let lost = rounding::of_gaussian(&frame);
        drop(frame);
        let total_variation = cap.total_variation + lost;
        // A NaN is no bound.
        if total_variation.is_nan() || total_variation > most {
            return Err(refused(total_variation.min(1.0)));
        }
        if cap.proposals > MOST_PROPOSALS {
            return Err(Error::ExactDrawsCost { proposals: cap.proposals, most: MOST_PROPOSALS });
        }
        let log_scale = cap.log_k + model.linear.constant - cap.f;
        let envelope = Box::new(Capped::new(q, log_scale, model.rows.len())?);
        let mut out = Self::through(model, map, envelope, seed, [cap.proposals, lost]);
        out.near = Some((total_variation, confidence));
        Ok(out)
    }

    /// A bound of the total variation between the posterior and the law of a draw, and the probability that it holds; `None` where draws are
    /// exact up to [`ExactDraws::rounding`].
    pub fn total_variation(&self) -> Option<(f64, f64)> {
        self.near
    }

    /// Draws through any envelope.
    fn through(
        model: Cow<'m, Glm>,
        map: Option<Standard>,
        envelope: Box<dyn Envelope>,
        seed: Seed,
        [proposals, rounding]: [f64; 2],
    ) -> Self {
        let point = model.rows.design.entries() + 16 * model.rows.len();
        let wave = match model.rows.goes_aside(DEVICE_WAVE) {
            true => DEVICE_WAVE,
            false => (WAVE_WORK / point.max(1)).clamp(BATCH, MOST_WAVE) / BATCH * BATCH,
        };
        let draws = Draws::new(seed, Purpose::Propose);
        let ready = VecDeque::new();
        Self { model, map, envelope, draws, proposals, rounding, near: None, wave, next: 0, ready, made: 0 }
    }

    /// d.
    pub fn dim(&self) -> usize {
        self.model.linear.dim()
    }

    /// A bound of the expected number of proposals for one draw, known before any is made. It rests on f: for a probit model, whose f has no
    /// proved error, it is an estimate of such a bound.
    pub fn proposals_bound(&self) -> f64 {
        self.proposals
    }

    /// A bound of the total variation between the posterior and the law of a draw, from rounding alone. A draw is then rounded to double
    /// precision; the normals and uniforms behind it are taken to be what they stand for.
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
            self.propose()?;
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

    /// Makes a wave of proposals, all of them or, if the work is cut off, none.
    fn propose(&mut self) -> Result<()> {
        let (d, first) = (self.dim(), self.next);
        // Those of a piece together, as far as there are some.
        let mut order: Vec<(usize, u64)> = (first..first + self.wave as u64)
            .map(|k| (self.envelope.piece(uniforms(&self.draws, k)[0]), k))
            .collect();
        order.sort_unstable();
        let batches: Vec<&[(usize, u64)]> =
            order.chunk_by(|a, b| a.0 == b.0).flat_map(|piece| piece.chunks(BATCH)).collect();
        let point = self.model.rows.design.entries() + 16 * self.model.rows.len() + d * d;
        let chunks = Chunks { len: batches.len(), size: 1, work: point.saturating_mul(self.wave) };
        let this = &*self;
        let proposed = chunked::map(Chunks { work: self.wave * d * d, ..chunks }, |range| {
            range.map(|b| this.made_from(batches[b])).collect::<Vec<_>>()
        });
        let mut proposed: Vec<Proposed> = proposed.into_iter().flatten().collect();
        this.take_aside(&mut proposed);
        let parts =
            chunked::map(chunks, |range| range.map(|b| this.judged(&proposed[b])).collect::<Vec<_>>());
        if stop::trips() {
            return Ok(());
        }
        let mut taken = Vec::new();
        for part in parts.into_iter().flatten() {
            taken.extend(part?);
        }
        taken.sort_unstable_by_key(|(k, _)| *k);
        self.ready.extend(taken.into_iter().map(|(_, z)| z));
        self.next += self.wave as u64;
        Ok(())
    }

    /// Some proposals of one piece.
    fn made_from(&self, batch: &[(usize, u64)]) -> Proposed {
        let (d, piece) = (self.dim(), batch[0].0);
        let mut points = vec![0.0; batch.len() * d];
        let mut room = vec![0.0; 3 * d];
        let bounds: Vec<f64> = points
            .chunks_exact_mut(d)
            .zip(batch)
            .map(|(z, &(_, k))| self.envelope.propose(&self.model, &self.draws, k, piece, z, &mut room))
            .collect();
        Proposed { piece, numbers: batch.iter().map(|&(_, k)| k).collect(), points, bounds, energies: None }
    }

    /// Lets a device take the energies of all proposals, if there is one. Those that will be rejected wherever their predictors lie are then
    /// left out: what is left has to be looked at by the processor.
    fn take_aside(&self, proposed: &mut [Proposed]) {
        let d = self.dim();
        if !self.model.rows.goes_aside(self.wave) {
            return;
        }
        let all: Vec<f64> = proposed.iter().flat_map(|part| part.points.iter().copied()).collect();
        let rows = &self.model.rows;
        let Some(taken) = rows.energies_aside(self.model.linear.family, &all, false) else { return };
        let mut energies = taken.energies.into_iter();
        for part in proposed {
            let own: Vec<f64> = energies.by_ref().take(part.numbers.len()).collect();
            let kept: Vec<usize> = (0..own.len())
                .filter(|&i| {
                    let log_ratio = self.log_ratio(&part.points[i * d..][..d], own[i], part.bounds[i]);
                    // At least one row is beyond an inner slab, if there is one, so that this is the most that is asked for. An excess is
                    // an error, and a NaN is looked at by whoever judges.
                    let accepted = uniforms(&self.draws, part.numbers[i])[3].ln() <= log_ratio;
                    accepted || log_ratio.is_nan()
                })
                .collect();
            part.points = kept.iter().flat_map(|i| part.points[i * d..][..d].iter().copied()).collect();
            part.numbers = kept.iter().map(|&i| part.numbers[i]).collect();
            part.bounds = kept.iter().map(|&i| part.bounds[i]).collect();
            part.energies = Some(kept.iter().map(|&i| own[i]).collect());
        }
    }

    /// log of density over envelope.
    fn log_ratio(&self, z: &[f64], energy: f64, bound: f64) -> f64 {
        let energy = energy + self.model.linear.prior.energy(z, &mut vec![0.0; z.len()]);
        -energy - bound
    }

    /// What is accepted of some proposals of one piece, with their numbers.
    fn judged(&self, part: &Proposed) -> Result<Vec<(u64, Vec<f64>)>> {
        let d = self.dim();
        if part.numbers.is_empty() {
            return Ok(Vec::new());
        }
        let slab = self.envelope.slab(part.piece);
        let found = match &part.energies {
            Some(energies) if part.bounds.iter().all(|&bound| self.envelope.is_inside(part.piece, bound)) => {
                Found::inside(energies)
            }
            Some(energies) => self.model.rows.places_in(slab, &part.points, energies.clone()),
            None => self.model.rows.energies_in(slab, &part.points),
        };
        let mut out = Vec::new();
        for (i, (&k, z)) in part.numbers.iter().zip(part.points.chunks_exact(d)).enumerate() {
            let beyond = if slab.inner.is_some() { found.beyond[i] } else { 1.0 };
            if found.outside[i] > 0.0 || beyond < 1.0 {
                continue;
            }
            let log_ratio = self.log_ratio(z, found.energies[i], part.bounds[i]);
            // Twice the total variation bounds what rounding does to a logarithm; a little more for the far ends.
            if self.envelope.is_above() && log_ratio > 2.0 * MOST_ROUNDING {
                return Err(Error::AboveEnvelope { excess: log_ratio, proposal: k });
            }
            if uniforms(&self.draws, k)[3].ln() <= log_ratio - beyond.ln() {
                out.push((k, z.to_vec()));
            }
        }
        Ok(out)
    }
}

/// Proposals of one piece.
struct Proposed {
    piece: usize,
    numbers: Vec<u64>,
    points: Vec<f64>,
    bounds: Vec<f64>,
    /// From a device.
    energies: Option<Vec<f64>>,
}

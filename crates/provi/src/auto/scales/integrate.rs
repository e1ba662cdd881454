//! Scales integrated out: a mixture of Gaussians, one for each of many values of the scales.
//!
//! With η the logarithms of the free scales and π their prior density,
//! ```text
//! p(z, η | x) = p(z | η, x)·p(η | x),   p(η | x) ∝ p(x | η)π(η),   p(x) = ∫p(x | η)π(η)dη
//! ```
//! At each η the best Gaussian q_η replaces p(z | η, x), and log p(x | η) = ELBO(η) + KL(q_η‖p), where the KL is zero for a gaussian
//! model and estimated by importance weights for others. The integral over η is a sum over a lattice: in coordinates t in which the
//! density has unit curvature at its mode, the trapezoidal rule of step h errs by about e^{−2π²/h²} on a normal density, and nodes are added
//! as long as they are not negligible. The lattice is refined until nothing moves: first by the centres of its cells, which doubles the
//! nodes, then by half the step, and so on; what stands still is kept with the fewer nodes. For more than six scales and correlations weighted draws of a Student t take the place of the
//! lattice. What the integration over η leaves open is an estimate, never a proof.

use super::mixture::{Rule, ScaleMixture, ScaleNode};
use super::predictor::LinearPredictor;
use super::prior::ScalePrior;
use super::{FreeScales, Profile, correlation};
use crate::base::draws::{Draws, Purpose, Seed};
use crate::base::error::{Error, Result};
use crate::base::linalg::{eigen, norm};
use crate::base::matrix::Matrix;
use crate::base::special::{ln_gamma, log_sum_exp};
use crate::base::stop;
use crate::certify::estimate::estimate;
use crate::glm::normal_equations::NormalEquations;
use crate::glm::sparse::AnyGaussian;
use crate::target::Target;
use crate::target::mode::{Path, climb};
use provi_kernels::{axpy, dot};
use std::collections::{BTreeMap, BTreeSet};

/// How scales are integrated out.
#[derive(Clone, Debug, PartialEq)]
pub struct Integration {
    /// The prior of each free scale: first those of the sets of coefficients, then that of the noise.
    pub priors: Vec<ScalePrior>,
    /// The shape η of the LKJ prior of each list of correlated sets, whose density is proportional to (det R)^{η−1}.
    pub correlations: Vec<f64>,
    /// Draws behind the estimate of KL(q_η‖p) at each η; 0 leaves the ELBO uncorrected, which is exact for gaussian models.
    pub draws: usize,
    /// The seed of these draws, which are the same at each η, and of weighted draws of η.
    pub seed: Seed,
    /// The best Gaussian at the guesses of the scales, if it is known: the first solution begins there.
    pub start: Option<AnyGaussian>,
}

impl Integration {
    /// With the usual number of draws, for scales without correlations.
    pub fn new(priors: Vec<ScalePrior>) -> Self {
        Self { priors, correlations: Vec::new(), draws: 256, seed: Seed(0), start: None }
    }

    /// The logarithm of the prior density at these logarithms of scales and coordinates of correlations.
    pub fn log_density(&self, free: &FreeScales, log_scales: &[f64]) -> f64 {
        self.log_prior(free, log_scales, &mut vec![0.0; log_scales.len()])
    }

    /// The logarithm of the prior density at η; its slopes are added to `slope`.
    fn log_prior(&self, free: &FreeScales, eta: &[f64], slope: &mut [f64]) -> f64 {
        let mut value = 0.0;
        for ((prior, x), slope) in self.priors.iter().zip(eta).zip(&mut *slope) {
            let [density, pull] = prior.of_logarithm(*x);
            value += density;
            *slope += pull;
        }
        let mut place = free.scales();
        for ((sets, x), shape) in free.blocks(eta).zip(&self.correlations) {
            value += correlation::lkj(sets.len(), *shape, x, &mut slope[place..place + x.len()]);
            place += x.len();
        }
        value
    }

    /// Refuses priors that do not fit the scales.
    fn check(&self, free: &FreeScales) -> Result<()> {
        let fits = |what: &'static str, found: usize, expected: usize| match found == expected {
            true => Ok(()),
            false => Err(Error::Shape { what, found, expected }),
        };
        fits("priors of scales", self.priors.len(), free.scales())?;
        fits("priors of correlations", self.correlations.len(), free.correlated.len())?;
        if let Some(&value) = self.correlations.iter().find(|x| !(x.is_finite() && **x > 0.0)) {
            let what = "shape of an LKJ prior";
            return Err(Error::OutOfRange { what, value, needed: "positive and finite" });
        }
        self.priors.iter().try_for_each(ScalePrior::check)
    }
}

/// How near to the mode the search goes, in nats.
const NATS: f64 = 1e-6;
/// The step of the differences of slopes at the mode.
const DIFFERENCE: f64 = 0.05;
/// The least curvature that is believed: a direction that is flatter is walked in steps of 1/√ of it.
const FLATTEST: f64 = 0.05;
/// The lattices, one after the other, until the answer moves by less than `STILL`: the stride in units of the finest step, and whether the
/// centres of the cells belong to it.
const LATTICES: [(i32, bool); 7] =
    [(8, false), (8, true), (4, false), (4, true), (2, false), (2, true), (1, false)];
/// The finest step: the first lattice has the step 1.5.
const FINEST: f64 = 0.1875;
/// In nats of the evidence, and in standard deviations of a mean: for one or two scales, and for more, whose lattices are larger.
const STILL: [f64; 2] = [1e-3, 5e-3];
/// For the ends of the scales' intervals, in standard deviations.
const STILL_ENDS: f64 = 0.03;
/// Nodes this many nats below the best one have no neighbours of their own: for one scale, and for more, whose lattices are larger.
const fn negligible(scales: usize) -> f64 {
    match scales {
        1 => 12.0,
        2 | 3 => 10.0,
        _ => 9.0,
    }
}
/// The most nodes, and the most numbers that all their Gaussians may hold, if that leaves `FEW` nodes.
const MOST: usize = 16_000;
const NUMBERS: usize = 100_000_000;
const FEW: usize = 300;
/// The most scales and correlations for which a lattice is walked.
const LATTICE: usize = 6;
/// For more: the number of weighted draws, and the degrees of freedom of their law.
const WEIGHTED: u64 = 600;
const DEGREES: f64 = 5.0;

impl FreeScales {
    /// Integrates over the free scales. Cost: one warm-started solution of the model for each node, some tens for one scale and some
    /// hundreds for two or three. If it is stopped ([`crate::stop`]), the last lattice that was whole is the answer; before the first there is
    /// none.
    ///
    /// ```
    /// use provi::{Design, scales::{FreeScales, Integration, ScalePrior}, target::{Glm, Prior}};
    ///
    /// // Three groups of two: the deviation between groups is hardly known, and the answer says so.
    /// let (mut triplets, mut y) = (Vec::new(), Vec::new());
    /// for (group, center) in [-1.0, 0.5, 1.5].into_iter().enumerate() {
    ///     for noise in [-0.1, 0.1] {
    ///         triplets.push((y.len(), group, 1.0));
    ///         y.push(center + noise);
    ///     }
    /// }
    /// let model = Glm::linear(Design::triplets(6, 3, &triplets)?, &y, 0.2, Prior::scale(1.0)?)?;
    /// let free = FreeScales { shared: vec![((0..3).collect(), 1.0)], ..FreeScales::default() };
    /// let found = free.integrate(&model, &Integration::new(vec![ScalePrior::HalfStudentT { degrees: 3.0, scale: 2.5 }]))?;
    /// let [low, high] = [0.025, 0.975].map(|p| found.scale_quantile(0, p).unwrap());
    /// assert!(low < 0.8 && high > 3.0, "{low} {high}");
    /// # Ok::<(), provi::Error>(())
    /// ```
    pub fn integrate<M: LinearPredictor>(&self, model: &M, how: &Integration) -> Result<ScaleMixture> {
        let start = self.start()?;
        how.check(self)?;
        if start.is_empty() {
            let needed = "at least one; without any the model itself is the answer";
            return Err(Error::OutOfRange { what: "number of free scales", value: 0.0, needed });
        }
        let mut whole = None;
        let outcome = stop::phase("the integration over scales", || {
            let equations = self.equations(model, &start)?;
            let walk = Walk::new(self, model, equations.as_ref(), &start, how)?;
            if start.len() > LATTICE { walk.draw(&mut whole) } else { walk.lattice(&mut whole) }
        });
        match (outcome, whole) {
            (Ok(()) | Err(Error::Stopped { .. }), Some(whole)) => Ok(whole),
            (Err(error), _) => Err(error),
            (Ok(()), None) => Err(Error::Stopped { during: "the integration over scales" }),
        }
    }
}

/// log p(η | x) up to the evidence, with the ELBO in place of log p(x | η): a target in η.
struct Posterior<'a, M> {
    profile: Profile<'a, M>,
    how: &'a Integration,
}

impl<M: LinearPredictor> Target for Posterior<'_, M> {
    fn dim(&self) -> usize {
        self.profile.dim()
    }

    fn log_density(&self, eta: &[f64], gradient: &mut [f64]) -> Result<f64> {
        let value = self.profile.log_density(eta, gradient)?;
        Ok(value + self.how.log_prior(self.profile.free, eta, gradient))
    }
}

/// What is known at one value of the scales.
struct Nodes<'a> {
    free: &'a FreeScales,
    start: &'a [f64],
    how: &'a Integration,
    equations: Option<&'a NormalEquations>,
    /// Row j: how η moves with t_j.
    axes: Matrix,
    /// The solution at the mode.
    from: AnyGaussian,
}

impl Nodes<'_> {
    /// The node at each η; `None` where no model can be solved, as at a scale that is zero in double precision. Each solution begins at the
    /// Gaussian beside its η, or at that of the mode.
    fn at<M: LinearPredictor>(
        &self,
        model: &M,
        places: &[(Vec<f64>, Option<AnyGaussian>)],
    ) -> Result<Vec<Option<ScaleNode>>> {
        let node = |model: &M, (eta, from): &(Vec<f64>, Option<AnyGaussian>)| {
            self.node(model, eta, from.as_ref().unwrap_or(&self.from))
        };
        model.for_each(places, &node).into_iter().collect()
    }

    /// The node at η, with the prior density in place of its mass and without a weight.
    fn node<M: LinearPredictor>(
        &self,
        model: &M,
        eta: &[f64],
        from: &AnyGaussian,
    ) -> Result<Option<ScaleNode>> {
        stop::check()?;
        let mut slope = vec![0.0; eta.len()];
        let log_prior = self.how.log_prior(self.free, eta, &mut slope);
        let profile =
            Profile { goal: model.node_goal(), ..Profile::new(self.free, model, self.equations, self.start) };
        *profile.last.borrow_mut() = Some(from.clone());
        let mut of_elbo = vec![0.0; eta.len()];
        let elbo = match profile.log_density(eta, &mut of_elbo) {
            Ok(elbo) if (elbo + log_prior).is_finite() => elbo,
            Err(error @ Error::Stopped { .. }) => return Err(error),
            Err(error) if error.is_of_the_data() => return Err(error),
            _ => return Ok(None),
        };
        axpy(1.0, &of_elbo, &mut slope);
        let rise = (0..eta.len()).map(|j| dot(self.axes.row(j), &slope)).collect();
        let Some(gaussian) = profile.last.take() else { return Ok(None) };
        let kl = match self.how.draws {
            0 => 0.0,
            draws => {
                let model = profile.at(eta)?;
                let found = estimate(&model as &dyn Target, &*gaussian.to_dense()?, self.how.seed, draws)?;
                // KL ≥ 0; the noise of an estimate may say otherwise.
                if found.kl.is_finite() { found.kl.max(0.0) } else { 0.0 }
            }
        };
        Ok(Some(ScaleNode::new(eta.to_vec(), rise, 0.0, [log_prior, elbo, kl], gaussian)))
    }
}

/// Nodes around the mode.
struct Walk<'a, M> {
    model: &'a M,
    nodes: Nodes<'a>,
    mode: Vec<f64>,
    /// log |dη/dt|.
    log_volume: f64,
}

impl<'a, M: LinearPredictor> Walk<'a, M> {
    fn new(
        free: &'a FreeScales,
        model: &'a M,
        equations: Option<&'a NormalEquations>,
        start: &'a [f64],
        how: &'a Integration,
    ) -> Result<Self> {
        let profile = Profile { goal: model.node_goal(), ..Profile::new(free, model, equations, start) };
        *profile.last.borrow_mut() = how.start.clone();
        let posterior = Posterior { profile, how };
        let mode = climb(&posterior, start, NATS, &mut Path::default())?.point;
        let (from, _) = posterior.profile.best_at(&mode)?;
        let k = mode.len();
        let (mut slope, mut hessian) = (vec![0.0; k], Matrix::zeros(k, k));
        for i in 0..k {
            for sign in [1.0, -1.0] {
                let mut eta = mode.clone();
                eta[i] += sign * DIFFERENCE;
                // The solution above the mode says where the one below it is.
                let above = posterior.profile.last.take().filter(|_| sign < 0.0);
                let begin = above.and_then(|above| from.toward(&above, -1.0));
                *posterior.profile.last.borrow_mut() = Some(begin.unwrap_or_else(|| from.clone()));
                posterior.log_density(&eta, &mut slope)?;
                for (j, x) in slope.iter().enumerate() {
                    let part = -sign * x / (4.0 * DIFFERENCE);
                    hessian[(i, j)] += part;
                    hessian[(j, i)] += part;
                }
            }
        }
        let (curvatures, mut axes) = eigen("curvature in the scales", &hessian)?;
        let mut log_volume = 0.0;
        for (j, curvature) in curvatures.iter().enumerate() {
            let width = 1.0 / curvature.max(FLATTEST).sqrt();
            axes.row_mut(j).iter_mut().for_each(|x| *x *= width);
            log_volume += width.ln();
        }
        let nodes = Nodes { free, start, how, equations, axes, from };
        Ok(Self { model, nodes, mode, log_volume })
    }

    /// η at t.
    fn place(&self, t: impl Iterator<Item = f64>) -> Vec<f64> {
        let mut eta = self.mode.clone();
        for (j, t) in t.enumerate() {
            eta.iter_mut().zip(self.nodes.axes.row(j)).for_each(|(eta, axis)| *eta += t * axis);
        }
        eta
    }

    /// About how much lies beyond a lattice, as a share of all: what its negligible nodes have.
    fn beyond<'n>(&self, nodes: impl Iterator<Item = &'n ScaleNode>) -> f64 {
        let parts: Vec<f64> = nodes.map(ScaleNode::log_part).collect();
        let top = parts.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let rim = top - negligible(self.mode.len());
        let rest: Vec<f64> = parts.iter().copied().filter(|part| *part < rim).collect();
        (log_sum_exp(&rest) - log_sum_exp(&parts)).exp()
    }

    /// A mixture of these nodes.
    fn mixture(&self, nodes: Vec<ScaleNode>, rule: Rule, unsolved: usize) -> Result<ScaleMixture> {
        ScaleMixture::new(nodes, rule, unsolved, self.nodes.free.effects().collect(), self.nodes.axes.clone())
    }

    /// The most nodes.
    fn most(&self) -> usize {
        MOST.min((NUMBERS / self.nodes.from.fill()).max(FEW))
    }

    /// The lattice, refined until the answer stands still. Each one that is whole goes to `whole`.
    fn lattice(self, whole: &mut Option<ScaleMixture>) -> Result<()> {
        let k = self.mode.len();
        // Places in units of the finest step.
        let mut known: BTreeMap<Vec<i32>, Option<ScaleNode>> = BTreeMap::new();
        for (stride, centred) in LATTICES {
            // In one dimension the centres of the cells make the next lattice.
            if centred && k == 1 {
                continue;
            }
            let mut complete = self.flood(&mut known, stride, 0)?;
            if centred {
                complete &= self.flood(&mut known, stride, stride / 2)?;
            }
            let belongs = |place: &[i32]| {
                let all = |offset: i32| place.iter().all(|t| (t - offset) % stride == 0);
                all(0) || (centred && all(stride / 2))
            };
            let share = if centred { 0.5f64 } else { 1.0 };
            let step = f64::from(stride) * FINEST * share.powf(1.0 / k as f64);
            let log_cell = self.log_volume + k as f64 * step.ln();
            let nodes = known
                .iter()
                .filter(|(place, _)| belongs(place))
                .filter_map(|(_, node)| node.clone())
                .map(|node| ScaleNode { log_mass: node.log_mass + log_cell, ..node });
            let unsolved = known.values().filter(|node| node.is_none()).count();
            let mut found = self.mixture(nodes.collect(), Rule::Lattice { step, complete }, unsolved)?;
            let beyond = self.beyond(known.values().flatten());
            let ends = match whole {
                Some(last) => found.compare(last, beyond)?,
                None => f64::INFINITY,
            };
            let still =
                found.evidence_change.max(found.mean_change) < STILL[usize::from(k > 2)] && ends < STILL_ENDS;
            match whole {
                // The finer one has shown that the coarser one, with fewer nodes, is as good; or it has too many nodes to be whole.
                Some(last) if (still || !complete) && last.is_complete() => {
                    (last.evidence_change, last.mean_change) = (found.evidence_change, found.mean_change);
                }
                _ => *whole = Some(found),
            }
            let next = match (centred, k) {
                (_, 1) | (false, _) => 2 * known.len(),
                (true, _) => known.len() << (k - 1),
            };
            if still || !complete || next > self.most() {
                break;
            }
        }
        Ok(())
    }

    /// Adds nodes of the lattice of that stride, shifted by `offset` in each direction, from the mode outwards, until all at its rim are
    /// negligible: whether they are.
    fn flood(
        &self,
        known: &mut BTreeMap<Vec<i32>, Option<ScaleNode>>,
        stride: i32,
        offset: i32,
    ) -> Result<bool> {
        let k = self.mode.len();
        // Each with the neighbour from which it was reached.
        let mut rim: Vec<(Vec<i32>, Option<Vec<i32>>)> = vec![(vec![offset; k], None)];
        let mut seen = BTreeSet::from([vec![offset; k]]);
        let mut best = f64::NEG_INFINITY;
        while !rim.is_empty() {
            let fresh: Vec<&(Vec<i32>, _)> =
                rim.iter().filter(|(place, _)| !known.contains_key(place)).collect();
            if known.len() + fresh.len() > self.most() {
                return Ok(false);
            }
            let with_start = |(place, from): &&(Vec<i32>, Option<Vec<i32>>)| {
                let eta = self.place(place.iter().map(|&t| f64::from(t) * FINEST));
                let from = from.as_ref().filter(|_| self.nodes.equations.is_none());
                (eta, from.and_then(|from| beginning(known, place, from)))
            };
            let found = self.nodes.at(self.model, &fresh.iter().map(with_start).collect::<Vec<_>>())?;
            let fresh: Vec<Vec<i32>> = fresh.into_iter().map(|(place, _)| place.clone()).collect();
            known.extend(fresh.into_iter().zip(found));
            let value =
                |place: &Vec<i32>| known[place].as_ref().map_or(f64::NEG_INFINITY, ScaleNode::log_part);
            let values: Vec<f64> = rim.iter().map(|(place, _)| value(place)).collect();
            best = values.iter().copied().fold(best, f64::max);
            let mut next = Vec::new();
            for ((place, _), value) in rim.iter().zip(values) {
                if value < best - negligible(k) {
                    continue;
                }
                for j in 0..k {
                    for sign in [-1, 1] {
                        let mut there = place.clone();
                        there[j] += sign * stride;
                        if seen.insert(there.clone()) {
                            next.push((there, Some(place.clone())));
                        }
                    }
                }
            }
            rim = next;
        }
        Ok(true)
    }

    /// Weighted draws of a Student t around the mode.
    fn draw(self, whole: &mut Option<ScaleMixture>) -> Result<()> {
        let k = self.mode.len();
        let draws = Draws::new(self.nodes.how.seed, Purpose::Scales);
        let constant = ln_gamma(0.5 * (DEGREES + k as f64))
            - ln_gamma(0.5 * DEGREES)
            - 0.5 * k as f64 * (DEGREES * std::f64::consts::PI).ln();
        let mut e = vec![0.0; k + DEGREES as usize];
        let (mut places, mut densities) = (Vec::new(), Vec::new());
        for which in 0..WEIGHTED {
            draws.fill(which, 0, &mut e);
            let (t, chi) = e.split_at(k);
            let shrink = norm(chi) / DEGREES.sqrt();
            let square = (norm(t) / shrink).powi(2);
            densities.push(constant - 0.5 * (DEGREES + k as f64) * (square / DEGREES).ln_1p());
            places.push((self.place(t.iter().map(|t| t / shrink)), None));
        }
        let found = self.nodes.at(self.model, &places)?;
        let unsolved = found.iter().filter(|node| node.is_none()).count();
        let weighted = |(node, density): (Option<ScaleNode>, f64)| {
            let node = node?;
            let log_mass = node.log_mass + self.log_volume - density - (WEIGHTED as f64).ln();
            Some(ScaleNode { log_mass, ..node })
        };
        let nodes = found.into_iter().zip(densities).filter_map(weighted).collect();
        *whole = Some(self.mixture(nodes, Rule::Draws { count: WEIGHTED }, unsolved)?);
        Ok(())
    }
}

/// Where the solution at a place begins: on the straight line through the solutions at the place beside it from which it was
/// reached, and at the one that is as far on its other side, or else at the one behind.
fn beginning(
    known: &BTreeMap<Vec<i32>, Option<ScaleNode>>,
    place: &[i32],
    from: &[i32],
) -> Option<AnyGaussian> {
    let gaussian = |at: &[i32]| known.get(at)?.as_ref().map(|node| &node.gaussian);
    let steps = |count: i32| -> Vec<i32> {
        from.iter().zip(place).map(|(from, place)| from + count * (place - from)).collect()
    };
    let near = gaussian(from)?;
    let line = |count: i32| near.toward(gaussian(&steps(count))?, 1.0 / f64::from(count));
    line(2).or_else(|| line(-1)).or_else(|| Some(near.clone()))
}

#[cfg(test)]
mod tests;

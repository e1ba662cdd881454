//! A linear-predictor model whose rows come in blocks.

use super::pass::{OWN, Shards, Sums};
use super::survey::Survey;
use super::{Alone, Reduce, Source};
use crate::base::error::{Error, Result};
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::matrix::Matrix;
use crate::base::scratch::Scratch;
use crate::base::stop::Agreement;
use crate::glm::device::{MOST_DRAWS, OnDevice};
use crate::glm::linear::Linear;
use crate::glm::linear::local::LocalBounds;
use crate::glm::normal_equations::{NormalEquations, residual_sums};
use crate::glm::rows::{DataSummary, Likelihood, Rows, Spread, width};
use crate::glm::{Family, Prior};
use crate::target::curvature::Curvature;
use crate::target::expectations::Expectations;
use crate::target::standard::Standard;
use crate::target::{LocalCurvature, Rounding, Standardized, Target, own};
use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::{Arc, OnceLock};

/// Most points of one pass: enough for all the draws of an audit in a few passes.
const BATCH: usize = 512;
/// Most numbers of the points of one pass.
const BATCH_NUMBERS: usize = 1 << 22;
/// Most radii whose curvature is bounded in one pass, if memory allows.
const RADII: usize = 64;

/// A linear-predictor model whose rows come in blocks, held by this process or by several: as
/// [`crate::target::Glm`], but the data are read again at each pass [linear-predictor].
///
/// Every result is a sum over the rows plus a share of the prior. It takes one pass over the blocks and, if several
/// processes hold shards of the data, one reduction. Construction makes the first pass, which counts the rows and
/// forms AᵀWA for up to 2000 columns, so the curvature needs no further pass. Memory: one block, d² numbers unless only
/// the sparse form is used, and at most 512 points with their gradients; nothing grows with the number of rows.
///
/// Threads: all threads work on one block at a time. Two passes must not run at once, and reductions must come from
/// one thread, so the type is not `Sync`: hand it over as [`crate::target::Evaluator::Serial`]. On one process the
/// bits do not depend on the number of threads. How the rows are split into blocks, and blocks over processes,
/// changes sums only by rounding.
///
/// Processes: every process makes the same calls with the same arguments and gets the same bits back. Steps depend
/// on numbers, so all processes must run the same build on the same kind of processor. A process that fails takes
/// part in the reduction of its pass and reports that: it returns its own error, the others [`Error::Rank`]. The
/// processes must agree on a clock or a flag that may stop a run ([`Streamed::agreement`],
/// [`crate::fit::Watch::agree`], [`crate::stop::Signal::among`]): every pass then carries the wishes of each
/// process, and all stop at the same pass.
///
/// ```
/// use provi::stream::{Memory, Rows, Streamed};
/// use provi::{Auto, Design, Seed, target::{Evaluator, Family, Prior}};
///
/// let block = |entries: &[f64], labels: &[f64]| {
///     Rows::new(Family::Bernoulli, Design::dense(labels.len(), 2, entries)?, labels)
/// };
/// let blocks = vec![block(&[1.0, 0.5, 1.0, -1.5], &[1.0, 0.0])?, block(&[1.0, 2.0], &[1.0])?];
/// let model = Streamed::new(Family::Bernoulli, Memory::new(2, blocks)?, Prior::scale(2.5)?)?;
/// assert_eq!(model.rows(), 3);
/// let answer = Auto::default().run(Evaluator::Serial(&model), Seed(0))?;
/// assert!(answer.certificate().proves_gap(1e-9));
/// # Ok::<(), provi::Error>(())
/// ```
///
/// The compiler refuses draws in parallel:
/// ```compile_fail,E0277
/// fn run(model: &provi::stream::Streamed<provi::stream::Memory>) {
///     let _ = provi::Auto::default().run(model, provi::Seed(0));
/// }
/// ```
pub struct Streamed<S, R = Alone> {
    pub(super) linear: Linear,
    pub(super) shards: Arc<Shards<S, R>>,
    pub(super) survey: Arc<Survey>,
    /// The constant of Σ_n w_n φ_n.
    likelihood: Likelihood,
    /// The map through which rows are seen, if this is a model in standard coordinates.
    view: Option<Arc<Standard>>,
    /// A device that takes energies, block by block.
    device: Option<OnDevice>,
    /// AᵀWA in the standard coordinates that were asked for first; later ones differ at most in their scales.
    standard: Arc<OnceLock<(Standard, Matrix)>>,
    /// Makes the type usable by one thread at a time only.
    thread: PhantomData<Cell<()>>,
}

impl<S: Source> Streamed<S> {
    /// A model of all the rows of a source. Cost: one pass.
    pub fn new(family: Family, source: S, prior: Prior) -> Result<Self> {
        Self::distributed(family, source, prior, Alone)
    }
}

impl<S: Source, R: Reduce> Streamed<S, R> {
    /// A model of the rows of every process's source: a collective call. Cost: one pass.
    pub fn distributed(family: Family, source: S, prior: Prior, reduce: R) -> Result<Self> {
        let d = source.columns();
        let shards = Shards { source, reduce };
        let ready = match d {
            0 => Err(Error::Empty { what: "data (no columns)" }),
            // This also checks the family's own parameters.
            _ => family.checked_response(&[]).and_then(|_| prior.check(d)),
        };
        let survey = Survey::new(family, &shards, ready)?;
        let likelihood = survey.likelihood;
        let linear = Linear::new(family, d, prior, likelihood)?;
        let (shards, survey) = (Arc::new(shards), Arc::new(survey));
        let standard = Arc::default();
        Ok(Self {
            linear,
            shards,
            survey,
            likelihood,
            view: None,
            device: None,
            standard,
            thread: PhantomData,
        })
    }

    /// Names the coefficients.
    pub fn with_names(self, names: Vec<String>) -> Result<Self> {
        Ok(Self { linear: self.linear.with_names(names)?, ..self })
    }

    /// The same data with another prior. Cost: no pass.
    pub fn with_prior(self, prior: Prior) -> Result<Self> {
        let linear = self.linear.with_prior(prior, self.likelihood)?;
        Ok(Self { linear, ..self })
    }

    /// Lets a device take log densities of many draws. Each block is copied there at each pass, compared with the processor at a few draws, and
    /// forgotten, so that the card's memory bounds a block and not the data; more draws share a pass. A model with
    /// [`Streamed::refused_by_devices`] stays as it is.
    pub fn with_device(mut self, device: OnDevice) -> Self {
        if self.refused_by_devices().is_none() {
            self.device = Some(device);
        }
        self
    }

    /// Why no device can have these blocks, if that is so.
    pub fn refused_by_devices(&self) -> Option<&'static str> {
        if self.shards.reduce.size() > 1 {
            // All processes must take as many draws in a pass.
            return Some("several processes share the rows");
        }
        self.linear.family.refused_by_devices(self.survey.sparse)
    }

    /// The device, if there is one.
    pub fn device(&self) -> Option<&OnDevice> {
        self.device.as_ref()
    }

    /// The most rows of a block.
    pub fn largest_block(&self) -> usize {
        self.survey.largest.0
    }

    /// Whether a device takes energies of so many draws.
    fn goes_aside(&self, draws: usize) -> bool {
        self.device.as_ref().is_some_and(|on| on.pays(self.largest_block(), self.linear.dim(), draws))
    }

    /// Summary statistics of columns and responses over all processes. Cost: no pass.
    pub fn summary(&self) -> &DataSummary {
        &self.survey.data
    }

    /// The number of rows N of all processes.
    pub fn rows(&self) -> usize {
        self.survey.rows
    }

    /// The likelihood.
    pub fn family(&self) -> Family {
        self.linear.family
    }

    /// The prior.
    pub fn prior(&self) -> &Prior {
        &self.linear.prior
    }

    /// Whether any block of any process is held sparsely.
    pub fn is_sparse(&self) -> bool {
        self.survey.sparse
    }

    /// The source of this process's blocks.
    pub fn source(&self) -> &S {
        &self.shards.source
    }

    /// The reduction over the processes.
    pub fn reduce(&self) -> &R {
        &self.shards.reduce
    }

    /// Whether any process passes `true`: a collective call, with the same answer for all.
    pub fn agree(&self, own: bool) -> Result<bool> {
        let mut any = [if own { 1.0 } else { 0.0 }];
        self.shards.reduce.largest(&mut any)?;
        Ok(any[0] > 0.5)
    }

    /// How the processes agree on stopping a run.
    pub fn agreement(&self) -> Agreement
    where
        S: Send + Sync + 'static,
        R: 'static,
    {
        let shards = Arc::clone(&self.shards);
        Agreement::new(move |values| shards.reduce.largest(values))
    }

    /// One pass: `add` adds a block's share to the numbers, of which the first [`OWN`] belong to the pass, and to
    /// the matrices.
    pub(super) fn pass(&self, sums: Sums<'_>, mut add: impl FnMut(&Rows, &mut Sums<'_>)) -> Result<()> {
        let see = |rows: &Rows, sums: &mut Sums<'_>| match &self.view {
            Some(map) => add(&rows.in_standard(map), sums),
            None => add(rows, sums),
        };
        self.shards.pass(self.linear.family, Some(self.survey.own), sums, see).map(|_| ())
    }

    /// The same over blocks that the device may have, and whose rounding counts it: also that of one that was lost, for what it gave before.
    fn pass_aside(&self, sums: Sums<'_>, mut add: impl FnMut(&Rows, &mut Sums<'_>)) -> Result<()> {
        self.pass(sums, |rows, sums| match &self.device {
            Some(on) => add(&rows.clone().with_device(on.clone()), sums),
            None => add(rows, sums),
        })
    }

    /// The same model in standard coordinates. Cost: one pass the first time, for AᵀWA.
    fn in_standard(&self, map: &Standard) -> Result<Self> {
        let mut out =
            Self { linear: self.linear.in_standard(map), view: Some(Arc::new(map.clone())), ..self.clone() };
        let d = self.linear.dim();
        if self.standard.get().is_none() {
            let gram = out.formed_gram()?;
            // If another call has set it meanwhile, its value is the same.
            let _ = self.standard.set((map.clone(), gram));
        }
        let Some((first, gram)) = self.standard.get() else { return Ok(out) };
        // Scales are powers of two, so nothing is rounded.
        let ratios: Vec<f64> = first.scales().iter().zip(map.scales()).map(|(a, b)| a / b).collect();
        let mut gram = gram.clone();
        for (i, a) in ratios.iter().enumerate() {
            gram.row_mut(i).iter_mut().zip(&ratios).for_each(|(x, b)| *x *= a * b);
        }
        let square_norm = (0..d).map(|i| gram[(i, i)]).sum();
        out.survey = Arc::new(Survey { gram: gram.into(), square_norm, ..(*self.survey).clone() });
        Ok(out)
    }

    /// AᵀWA. Cost: none, or one pass the first time if there are many columns.
    fn gram(&self) -> Result<&Matrix> {
        match self.survey.gram.get() {
            Some(gram) => Ok(gram),
            None => {
                let gram = self.formed_gram()?;
                Ok(self.survey.gram.get_or_init(|| gram))
            }
        }
    }

    fn formed_gram(&self) -> Result<Matrix> {
        let mut gram = Matrix::zeros(self.linear.dim(), self.linear.dim());
        let sums = Sums { numbers: &mut [0.0; OWN], matrices: std::slice::from_mut(&mut gram) };
        self.pass(sums, |rows, sums| rows.add_gram(1.0, &mut sums.matrices[0]))?;
        Ok(gram)
    }

    /// One pass that computes a few numbers.
    pub(crate) fn over_blocks<const COUNT: usize>(
        &self,
        mut add: impl FnMut(&Rows, &mut [f64]),
    ) -> Result<[f64; COUNT]> {
        let mut numbers = vec![0.0; OWN + COUNT];
        self.pass(Sums { numbers: &mut numbers, matrices: &mut [] }, |rows, sums| {
            add(rows, &mut sums.numbers[OWN..]);
        })?;
        Ok(std::array::from_fn(|i| numbers[OWN + i]))
    }

    /// The sums of a gaussian model. Cost: two passes.
    pub(crate) fn gaussian_sums(&self) -> Result<Option<NormalEquations>> {
        let Family::Gaussian { noise_sd } = self.family() else { return Ok(None) };
        let chains = self.survey.chains;
        let chain = chains.grams.max(chains.sums).max(self.survey.energies[1] as usize).max(self.survey.rows);
        let residuals = |at: &[f64]| {
            let mut numbers = vec![0.0; OWN + residual_sums(at.len())];
            self.pass(Sums { numbers: &mut numbers, matrices: &mut [] }, |rows, sums| {
                rows.add_residual_sums(at, &mut sums.numbers[OWN..]);
            })?;
            Ok(numbers.split_off(OWN))
        };
        NormalEquations::new(self.gram()?.clone(), noise_sd, chain, residuals).map(Some)
    }

    /// Mean and spread of the responses over all processes.
    pub(crate) fn response_spread(&self) -> Spread {
        self.survey.response
    }

    /// The same data with another noise level. Cost: no pass, or one where the rows' weights or constants depend on the noise.
    pub(crate) fn with_noisy_family(self, family: Family) -> Result<Self> {
        family.checked_response(&[])?;
        if family.count_shape().is_some() || family.gaps().is_some() || self.survey.spans {
            let survey = Survey::new(family, &self.shards, Ok(()))?;
            let likelihood = survey.likelihood;
            let linear = self.linear.with_likelihood(family, likelihood);
            let (survey, standard) = (Arc::new(survey), Arc::default());
            return Ok(Self { linear, survey, likelihood, standard, view: None, ..self });
        }
        let (weight, [logs, log_sizes]) = (self.survey.response.weight, self.survey.logs);
        let [fixed, slope] = match family.gamma_shape() {
            Some(_) => family.gamma_constants(),
            // δ(log t − log k): the events count.
            None if family.hazard_shape().is_some() => {
                [family.constant(1.0) * self.survey.response.mean, 1.0]
            }
            None => [family.constant(0.0), 0.0],
        };
        let constant = weight * fixed + slope * logs;
        let size = weight * (1.0 + fixed.abs()) + slope.abs() * log_sizes;
        let likelihood = Likelihood { constant, size, rows: self.survey.rows };
        Ok(Self { linear: self.linear.with_likelihood(family, likelihood), likelihood, ..self })
    }

    /// Λ + θAᵀWA, and a bound of its rounding error over N rows: about θNε‖√W A‖_F², plus the rounding of the sum.
    /// Without AᵀWA it is Λ, for a θ of 0.
    fn bound(&self, gram: Option<&Matrix>, theta: f64) -> (Matrix, f64) {
        let mut h = self.linear.precision();
        gram.into_iter().for_each(|gram| h.add_scaled(theta, gram));
        let lost = theta * (self.survey.rows as f64 + 4.0) * self.survey.square_norm + h.frobenius_norm();
        (h, f64::EPSILON * lost)
    }
}

impl<S, R> Clone for Streamed<S, R> {
    /// Shares the source and the results of the first pass.
    fn clone(&self) -> Self {
        Self {
            linear: self.linear.clone(),
            shards: Arc::clone(&self.shards),
            survey: Arc::clone(&self.survey),
            likelihood: self.likelihood,
            view: self.view.clone(),
            device: self.device.clone(),
            standard: Arc::clone(&self.standard),
            thread: PhantomData,
        }
    }
}

impl<S, R> std::fmt::Debug for Streamed<S, R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = f.debug_struct("Streamed");
        out.field("family", &self.linear.family).field("rows", &self.survey.rows);
        out.field("columns", &self.linear.dim()).finish_non_exhaustive()
    }
}

impl<S: Source, R: Reduce> Target for Streamed<S, R> {
    fn dim(&self) -> usize {
        self.linear.dim()
    }

    fn log_density(&self, z: &[f64], gradient: &mut [f64]) -> Result<f64> {
        crate::target::batch_of_one(self, z, gradient)
    }

    /// Cost: one pass for all the points.
    fn log_densities(
        &self,
        points: &[f64],
        values: &mut [f64],
        gradients: &mut [f64],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let count = values.len();
        let (numbers, inner) = scratch.split(OWN + count + gradients.len());
        numbers.fill(0.0);
        self.pass_aside(Sums { numbers: &mut *numbers, matrices: &mut [] }, |rows, sums| {
            let (energies, pulls) = sums.numbers[OWN..].split_at_mut(count);
            rows.add_energies(self.linear.family, points, (energies, pulls), inner);
        })?;
        values.copy_from_slice(&numbers[OWN..OWN + count]);
        gradients.copy_from_slice(&numbers[OWN + count..]);
        self.linear.conclude_densities(points, values, gradients);
        Ok(())
    }

    fn log_densities_alone(&self, points: &[f64], values: &mut [f64], scratch: &mut Scratch) -> Result<bool> {
        self.log_densities(points, values, &mut [], scratch).map(|()| true)
    }

    fn batch(&self) -> usize {
        let most = if self.goes_aside(MOST_DRAWS) { MOST_DRAWS } else { BATCH };
        (BATCH_NUMBERS / self.dim()).clamp(1, most)
    }

    fn hessian(&self, z: &[f64], out: &mut Matrix) -> Result<bool> {
        *out = Matrix::zeros(self.dim(), self.dim());
        let sums = Sums { numbers: &mut [0.0; OWN], matrices: std::slice::from_mut(out) };
        self.pass(sums, |rows, sums| rows.add_hessian(self.linear.family, z, &mut sums.matrices[0]))?;
        out.add_scaled(1.0, &self.linear.precision());
        out.entries_mut().iter_mut().for_each(|x| *x = -*x);
        Ok(true)
    }

    /// Cost: that of AᵀWA, if it is not yet formed.
    fn curvature(&self) -> Result<Option<Curvature>> {
        let gram = match self.family().curvature_range() {
            (low, None) if low <= 0.0 => None,
            _ => Some(self.gram()?),
        };
        self.linear.curvature(|theta| self.bound(gram, theta)).map(Some)
    }

    fn proves_its_curvature(&self, _: own::Word) -> bool {
        true
    }

    fn lower_curvature(&self) -> Result<Option<Curvature>> {
        let gram = if self.family().curvature_range().0 > 0.0 { Some(self.gram()?) } else { None };
        self.linear.lower_curvature(|theta| self.bound(gram, theta)).map(Some)
    }

    fn names(&self) -> Vec<String> {
        self.linear.names()
    }

    fn expectations(&self) -> Option<&dyn Expectations> {
        Some(self)
    }

    /// The size of the largest block of any process: no more is held at a time.
    fn data_size(&self) -> (usize, usize) {
        self.survey.largest
    }

    /// Cost: one pass the first time.
    fn standardized(&self) -> Result<Option<Standardized<'_>>> {
        if self.linear.is_standard() {
            return Ok(None);
        }
        let map = self.linear.standard(&self.survey.data, self.survey.sparse);
        if map.is_identity() {
            return Ok(None);
        }
        let target = self.in_standard(&map)?;
        Ok(Some(Standardized::single(map, target)))
    }

    fn local_curvature<'s>(
        &'s self,
        q: &Gaussian<Triangular>,
    ) -> Result<Option<Box<dyn LocalCurvature + 's>>> {
        Ok(Some(Box::new(LocalBounds::new(self, q, RADII))))
    }

    /// Cost: one pass.
    fn rounding(&self, q: &Gaussian<Triangular>, radii: &[f64]) -> Result<Option<Vec<Rounding>>> {
        self.linear.check_dim(q)?;
        let mut numbers = vec![0.0; OWN + radii.len() * width(q.dim())];
        let mut aside = [0.0_f64; 2];
        self.pass_aside(Sums { numbers: &mut numbers, matrices: &mut [] }, |rows, sums| {
            rows.add_rounding(self.linear.family, q, radii, None, &mut sums.numbers[OWN..]);
            let chains = rows.device_chains();
            aside = std::array::from_fn(|k| aside[k].max(chains[k] as f64));
        })?;
        // The processor's chain counts the blocks, whoever adds inside them.
        let chains = std::array::from_fn(|k| self.survey.energies[k] + aside[k]);
        Ok(Some(self.linear.conclude_rounding(q, radii, &numbers[OWN..], chains)))
    }
}

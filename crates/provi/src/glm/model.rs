//! Models with a linear predictor and a Gaussian prior.

mod aside;
mod expectations;

use super::linear::Linear;
use super::linear::local::{LocalBounds, LocalModel};
use super::{DataPrior, DataSummary, Family, Gaps, Prior};
use crate::base::error::Result;
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::matrix::Matrix;
use crate::base::scratch::Scratch;
use crate::base::stop;
use crate::glm::design::Design;
use crate::glm::device::{MOST_DRAWS, OnDevice, USUAL_DRAWS};
use crate::glm::rows::{Rows, Time, Within, width};
use crate::glm::sparse::{SparseForm, SparseModel};
use crate::target::curvature::Curvature;
use crate::target::expectations::Expectations;
use crate::target::standard::Standard;
use crate::target::{FiniteSum, LocalCurvature, Rounding, Standardized, Target, Taylor, own};

/// A linear-predictor model [linear-predictor]:
/// ```text
/// V(z) = ½(z−ν)ᵀΛ(z−ν) + Σ_n w_n φ_n(a_nᵀz + o_n) + const,   θ_min ≤ φ_n'' ≤ θ_max
/// H_lo = Λ + θ_min AᵀWA,   H_hi = Λ + θ_max AᵀWA
/// ```
/// with every constant of the prior and the likelihood included, so that the ELBO bounds the log evidence. Cost:
/// one pass over A for a batch of points. The curvature forms AᵀWA once, O(nd²), and computes its eigenvalues,
/// O(d³).
///
/// ```
/// use provi::{Design, target::{Glm, Prior, Target}};
///
/// let design = Design::dense(3, 2, &[1.0, 0.5, 1.0, -1.5, 1.0, 2.0])?;
/// let target = Glm::logistic(design, &[1.0, 0.0, 1.0], Prior::scale(2.5)?)?;
/// let curvature = target.curvature()?.unwrap();
/// assert_eq!(curvature.convexity(), 1.0 / 6.25);          // the prior's precision
/// # Ok::<(), provi::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Glm {
    pub(crate) linear: Linear,
    pub(crate) rows: Rows,
}

impl Glm {
    /// A model of any [`Family`].
    pub fn new(family: Family, design: Design, response: &[f64], prior: Prior) -> Result<Self> {
        Self::of_rows(Rows::new(family, design, response)?, prior)
    }

    /// A model of rows that were made before.
    pub fn of_rows(rows: Rows, prior: Prior) -> Result<Self> {
        let family = rows.family();
        let linear = Linear::new(family, rows.design().columns(), prior, rows.likelihood(family))?;
        Ok(Self { linear, rows })
    }

    /// The same model with its precision held sparsely, for many coefficients of which few meet in a row. Cost: about
    /// that of a pass over the rows.
    pub fn sparse(&self) -> Result<SparseModel> {
        SparseModel::any_size(|largest| self.sparse_within(largest))
    }

    /// Linear regression with known noise standard deviation: a Gaussian posterior.
    pub fn linear(design: Design, response: &[f64], noise_sd: f64, prior: Prior) -> Result<Self> {
        Self::new(Family::Gaussian { noise_sd }, design, response, prior)
    }

    /// Logistic regression; labels 0/1 or −1/1.
    pub fn logistic(design: Design, labels: &[f64], prior: Prior) -> Result<Self> {
        Self::new(Family::Bernoulli, design, labels, prior)
    }

    /// Logistic regression on counts: k_n successes in n_n trials, with the binomial coefficients in the evidence.
    /// ```text
    /// V(z) = … + Σ_n n_n [log(1+e^{s_n}) − (k_n/n_n) s_n] − Σ_n log C(n_n, k_n)
    /// ```
    pub fn binomial(design: Design, successes: &[f64], trials: &[f64], prior: Prior) -> Result<Self> {
        Self::of_rows(Rows::binomial(design, successes, trials)?, prior)
    }

    /// The same for any family with trials: [`Family::Binomial`], or [`Family::Cloglog`].
    pub fn successes(
        family: Family,
        design: Design,
        successes: &[f64],
        trials: &[f64],
        prior: Prior,
    ) -> Result<Self> {
        Self::of_rows(Rows::successes(family, design, successes, trials)?, prior)
    }

    /// Regression with the complementary log-log link, P(1) = 1 − exp(−e^s); labels 0/1 or −1/1. Its curvature has no upper bound M.
    pub fn cloglog(design: Design, labels: &[f64], prior: Prior) -> Result<Self> {
        Self::new(Family::Cloglog, design, labels, prior)
    }

    /// Probit regression; labels 0/1 or −1/1.
    pub fn probit(design: Design, labels: &[f64], prior: Prior) -> Result<Self> {
        Self::new(Family::Probit, design, labels, prior)
    }

    /// Poisson regression with log link. Its curvature has no upper bound M.
    pub fn poisson(design: Design, counts: &[f64], prior: Prior) -> Result<Self> {
        Self::new(Family::Poisson, design, counts, prior)
    }

    /// Regression of positive responses with mean e^{s_n} and standard deviation `noise_sd`·e^{s_n}: a gamma distribution of shape
    /// α = 1/noise_sd². Its curvature has no upper bound M.
    /// ```text
    /// V(z) = … + α Σ_n w_n [s_n + y_n e^{−s_n}] + const
    /// ```
    pub fn gamma(design: Design, response: &[f64], noise_sd: f64, prior: Prior) -> Result<Self> {
        Self::new(Family::Gamma { noise_sd }, design, response, prior)
    }

    /// Regression of positive responses with an exponential distribution of mean e^{s_n}: [`Glm::gamma`] of shape 1.
    pub fn exponential(design: Design, response: &[f64], prior: Prior) -> Result<Self> {
        Self::new(Family::Exponential, design, response, prior)
    }

    /// Regression of times to an event, censored on the right: t_n, and 1 where the event was observed then, or 0 where it comes later. The
    /// hazard is (1/σ)t^{1/σ−1}u^{−1/σ}e^s for [`Family::Weibull`], e^s/u for [`Family::ExponentialTime`], so a coefficient is the logarithm of
    /// a ratio of hazards. Its curvature has no upper bound M.
    /// ```text
    /// V(z) = … + Σ_n w_n [κ_n e^{s_n} − δ_n s_n] + const,   κ_n = (t_n/u)^{1/σ}
    /// ```
    pub fn survival(
        family: Family,
        design: Design,
        times: &[f64],
        events: &[f64],
        prior: Prior,
    ) -> Result<Self> {
        Self::of_rows(Rows::survival(family, design, times, events)?, prior)
    }

    /// The same for times that are seen, censored on the right, on the left or by an interval, and for rows that are watched from a late
    /// entry on.
    ///
    /// ```
    /// use provi::{Design, target::{Family, Glm, Prior, Time}};
    ///
    /// let times = [Time::at(2.0), Time::between(1.0, 3.0), Time::after(4.0).entered(1.0)];
    /// let family = Family::Weibull { noise_sd: 0.8, unit: 2.0, coarse: false };
    /// let model = Glm::times(family, Design::dense(3, 1, &[1.0; 3])?, &times, Prior::scale(2.0)?)?;
    /// assert_eq!(model.design().rows(), 3);
    /// # Ok::<(), provi::Error>(())
    /// ```
    pub fn times(family: Family, design: Design, times: &[Time], prior: Prior) -> Result<Self> {
        Self::of_rows(Rows::times(family, design, times)?, prior)
    }

    /// Regression of counts with mean e^{s_n} and variance e^{s_n} + σ²e^{2s_n}, σ = `noise_sd`: Poisson counts whose rates have a gamma
    /// distribution of shape r = 1/σ².
    /// ```text
    /// V(z) = … + Σ_n w_n [(y_n + r) log(1 + e^{s_n}/r) − y_n s_n] + const
    /// ```
    pub fn negative_binomial(design: Design, counts: &[f64], noise_sd: f64, prior: Prior) -> Result<Self> {
        Self::new(Family::NegativeBinomial { noise_sd }, design, counts, prior)
    }

    /// Categories 1, 2, …, K in an order, logit link (proportional odds), with known distances between the cut points:
    /// ```text
    /// P(y > k) = sigmoid(s − c_k),   c_1 = 0,   c_{k+1} = c_k + δ_k
    /// ```
    /// An intercept takes the place of −c_1. Gaps that are not known are integrated over
    /// ([`crate::scales::FreeScales::gaps`]).
    ///
    /// ```
    /// use provi::{Design, target::{Glm, Prior, Target}};
    ///
    /// let design = Design::dense(3, 1, &[1.0, 1.0, 1.0])?;
    /// let model = Glm::ordered(design, &[1.0, 3.0, 2.0], &[1.2], Prior::scale(1.0)?)?;
    /// assert_eq!(model.observed_responses(), [1.0, 3.0, 2.0]);
    /// # Ok::<(), provi::Error>(())
    /// ```
    pub fn ordered(design: Design, categories: &[f64], gaps: &[f64], prior: Prior) -> Result<Self> {
        Self::new(Family::Ordered { gaps: Gaps::new(gaps)? }, design, categories, prior)
    }

    /// Poisson regression on means y_n ≥ 0 of counts, such as claims per year. The weights w_n are the exposures of
    /// these means:
    /// ```text
    /// w_n [y_n s_n − e^{s_n}]   is   log Poisson(w_n y_n; w_n e^{s_n})   up to what does not depend on z
    /// ```
    /// That part is the same as in [`Glm::poisson`], −w_n log Γ(y_n + 1), so the evidence is not that of a density
    /// over y. The posterior, and every bound that leads to it, is the same.
    pub fn poisson_rates(design: Design, means: &[f64], prior: Prior) -> Result<Self> {
        Self::of_rows(Rows::poisson_rates(design, means)?, prior)
    }

    /// Multiplies each observation's log likelihood by a weight of at least 0.
    pub fn with_weights(self, weights: &[f64]) -> Result<Self> {
        self.with_rows(|rows| rows.with_weights(weights))
    }

    /// Adds a known offset to each linear predictor.
    pub fn with_offsets(self, offsets: &[f64]) -> Result<Self> {
        self.with_rows(|rows| rows.with_offsets(offsets))
    }

    /// The weight of each row; `None` if all are 1. The trials of a binomial model are not weights.
    pub fn weights(&self) -> Option<Vec<f64>> {
        let trials = self.rows.trials();
        let each = |n: usize| {
            self.rows.given_weights()[n] / trials.map_or(1.0, |trials| trials[n].max(f64::MIN_POSITIVE))
        };
        let weights: Vec<f64> = (0..self.rows.weights.len()).map(each).collect();
        // A row without trials carries no information, whatever its weight.
        let plain = |n: usize| trials.is_some_and(|t| t[n] <= 0.0) || (weights[n] - 1.0).abs() <= 1e-12;
        (!(0..weights.len()).all(plain)).then_some(weights)
    }

    /// The offset of each row's linear predictor, if there are offsets.
    pub fn offsets(&self) -> Option<&[f64]> {
        self.rows.given_offsets()
    }

    /// The same responses with other parameters of the family.
    pub(crate) fn with_family(self, family: Family) -> Result<Self> {
        self.with_rows(|rows| rows.with_family(family))
    }

    pub(super) fn with_rows(self, change: impl FnOnce(Rows) -> Result<Rows>) -> Result<Self> {
        let rows = change(self.rows)?;
        let family = rows.family();
        Ok(Self { linear: self.linear.with_likelihood(family, rows.likelihood(family)), rows })
    }

    /// Names the coefficients.
    pub fn with_names(self, names: Vec<String>) -> Result<Self> {
        Ok(Self { linear: self.linear.with_names(names)?, rows: self.rows })
    }

    /// The likelihood family.
    pub fn family(&self) -> Family {
        self.linear.family
    }

    /// The prior.
    pub fn prior(&self) -> &Prior {
        &self.linear.prior
    }

    /// The same data under another prior.
    pub fn with_prior(self, prior: Prior) -> Result<Self> {
        let likelihood = self.rows.likelihood(self.linear.family);
        Ok(Self { linear: self.linear.with_prior(prior, likelihood)?, rows: self.rows })
    }

    /// Summary statistics of columns and responses. Cost: one pass.
    pub fn summary(&self) -> DataSummary {
        self.rows.known_summary().clone()
    }

    /// The same data with the default prior, [`DataPrior`].
    /// ```
    /// use provi::{Design, target::{Glm, Prior, Target}};
    ///
    /// let design = Design::dense(4, 2, &[1.0, 0.5, 1.0, -1.5, 1.0, 2.0, 1.0, -0.3])?;
    /// let model = Glm::logistic(design, &[1.0, 0.0, 1.0, 0.0], Prior::default())?.with_data_prior()?;
    /// let laws = model.prior().marginals(model.dim())?;                 // mean and sd of each coefficient
    /// assert!(laws.iter().all(|(_, sd)| *sd > 0.0) && *model.prior() != Prior::default());
    /// # Ok::<(), provi::Error>(())
    /// ```
    pub fn with_data_prior(self) -> Result<Self> {
        let prior = DataPrior::new(&self.summary(), self.family(), self.linear.dim()).prior()?;
        self.with_prior(prior)
    }

    /// The design matrix.
    pub fn design(&self) -> &Design {
        self.rows.design()
    }

    /// The same model; a device takes the log densities of large blocks of draws. Statements stay proofs, for the rounding of its sums is
    /// counted; numbers differ from those without it by no more than that.
    pub fn with_device(self, device: OnDevice) -> Self {
        Self { rows: self.rows.with_device(device), ..self }
    }

    /// The device, if there is one.
    pub fn device(&self) -> Option<&OnDevice> {
        self.rows.device()
    }

    /// Why no device can take these rows, if that is so.
    pub fn refused_by_devices(&self) -> Option<&'static str> {
        self.rows.refused_by_devices()
    }

    /// Sets a lower bound of μ known in closed form, in case an eigensolver's error would hide it.
    pub(crate) fn with_known_convexity(self, convexity: f64) -> Self {
        Self { linear: self.linear.with_known_convexity(convexity), rows: self.rows }
    }

    /// The same model in standard coordinates, unless it is in those already.
    pub(crate) fn in_standard(&self) -> Option<(Standard, Self)> {
        if self.linear.is_standard() {
            return None;
        }
        let map = self.linear.standard(self.rows.known_summary(), self.rows.design().is_sparse());
        let moved = || Self { linear: self.linear.in_standard(&map), rows: self.rows.in_standard(&map) };
        let target = (!map.is_identity()).then(moved)?;
        Some((map, target))
    }

    /// [`Target::rounding`], on the part of each ellipsoid whose predictors are `within` their intervals.
    pub(crate) fn rounding_in(
        &self,
        q: &Gaussian<Triangular>,
        radii: &[f64],
        within: Option<Within<'_>>,
    ) -> Vec<Rounding> {
        let mut sums = vec![0.0; radii.len() * width(q.dim())];
        self.rows.add_rounding(self.linear.family, q, radii, within, &mut sums);
        self.linear.conclude_rounding(q, radii, &sums, self.rows.longest_chains())
    }

    /// Λ + θAᵀWA, and a bound of its rounding error over n rows: about θnε‖√W A‖_F².
    fn bound(&self, theta: f64) -> (Matrix, f64) {
        let mut h = self.linear.precision();
        self.rows.add_gram(theta, &mut h);
        (h, theta * (self.rows.len() as f64 + 4.0) * f64::EPSILON * self.rows.square_norm())
    }
}

impl Target for Glm {
    fn dim(&self) -> usize {
        self.linear.dim()
    }

    /// As many points as a pass over few columns processes side by side on a machine with wide vectors; many more for a device.
    fn batch(&self) -> usize {
        if self.rows.goes_aside(USUAL_DRAWS) { MOST_DRAWS } else { 16 }
    }

    fn log_density(&self, z: &[f64], gradient: &mut [f64]) -> Result<f64> {
        crate::target::batch_of_one(self, z, gradient)
    }

    /// Cost: one pass over A.
    fn log_densities(
        &self,
        points: &[f64],
        values: &mut [f64],
        gradients: &mut [f64],
        scratch: &mut Scratch,
    ) -> Result<()> {
        values.fill(0.0);
        gradients.fill(0.0);
        self.rows.add_energies(self.linear.family, points, (values, gradients), scratch);
        self.linear.conclude_densities(points, values, gradients);
        Ok(())
    }

    fn log_densities_alone(&self, points: &[f64], values: &mut [f64], scratch: &mut Scratch) -> Result<bool> {
        self.log_densities(points, values, &mut [], scratch).map(|()| true)
    }

    fn hessian(&self, z: &[f64], out: &mut Matrix) -> Result<bool> {
        *out = self.linear.precision();
        self.rows.add_hessian(self.linear.family, z, out);
        out.entries_mut().iter_mut().for_each(|x| *x = -*x);
        Ok(true)
    }

    fn curvature(&self) -> Result<Option<Curvature>> {
        self.linear.curvature(|theta| self.bound(theta)).map(Some)
    }

    fn proves_its_curvature(&self, _: own::Word) -> bool {
        true
    }

    fn model_of_its_own(&self, _: own::Word) -> Option<&dyn std::any::Any> {
        Some(self)
    }

    fn lower_curvature(&self) -> Result<Option<Curvature>> {
        self.linear.lower_curvature(|theta| self.bound(theta)).map(Some)
    }

    fn names(&self) -> Vec<String> {
        self.linear.names()
    }

    fn expectations(&self) -> Option<&dyn Expectations> {
        Some(self)
    }

    fn finite_sum(&self) -> Option<&dyn FiniteSum> {
        Some(self)
    }

    fn data_size(&self) -> (usize, usize) {
        (self.rows.len(), self.rows.stored())
    }

    /// Cost: one pass the first time, to summarise the columns. Dense rows are shared.
    fn standardized(&self) -> Result<Option<Standardized<'_>>> {
        Ok(self.in_standard().map(|(map, target)| Standardized::shared(map, target)))
    }

    fn local_curvature<'s>(
        &'s self,
        q: &Gaussian<Triangular>,
    ) -> Result<Option<Box<dyn LocalCurvature + 's>>> {
        Ok(Some(Box::new(LocalBounds::new(self, q, GRAMS_AT_ONCE))))
    }

    /// Cost: one pass over A; d² per row if it is dense.
    fn rounding(&self, q: &Gaussian<Triangular>, radii: &[f64]) -> Result<Option<Vec<Rounding>>> {
        self.linear.check_dim(q)?;
        Ok(Some(self.rounding_in(q, radii, None)))
    }
}

impl LocalModel for Glm {
    fn gram_terms(&self) -> usize {
        self.rows.gram_terms()
    }

    fn terms(&self) -> usize {
        self.rows.len()
    }

    fn local_grams(
        &self,
        q: &Gaussian<Triangular>,
        radii: &[f64],
        sizes: &mut [f64],
        grams: &mut [Matrix],
    ) -> Result<()> {
        grams.fill(self.linear.precision());
        self.rows.add_local_grams(self.linear.family, q, radii, sizes, grams);
        Ok(())
    }

    fn taylor(&self, q: &Gaussian<Triangular>, radii: &[f64]) -> Result<Option<Taylor>> {
        let Some(layout) = self.linear.taylor_layout(radii.len(), self.rows.len()) else { return Ok(None) };
        let mut sums = vec![0.0; layout.width()];
        self.rows.add_taylor(self.linear.family, q, radii, self.rows.len(), layout, &mut sums);
        // Half a sum is no bound.
        stop::check()?;
        self.linear.conclude_taylor(q, radii, layout, &sums).map(Some)
    }
}

/// Radii whose bounds are computed in one pass. More would share work, but some might turn out not to be needed.
const GRAMS_AT_ONCE: usize = 4;

#[cfg(test)]
mod tests;

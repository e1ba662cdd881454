//! Regressions whose rows are no log-concave function of one linear predictor.
//!
//! A row has one linear predictor or several, with the same columns, and the rows share a few further parameters, such as a noise. All of
//! them are coordinates of one density. [`Glm`](super::Glm) is for rows that are a log-concave function of one predictor: more is proved there.

mod beta_binomial;
mod likelihood;
mod multinomial;
mod predict;
mod score;
mod simulate;
mod student;
#[cfg(test)]
mod tests;
mod zero_inflated;

pub use likelihood::Likelihood;
pub use predict::NewRows;

use super::Prior;
use super::design::{BLOCK, Design};
use crate::base::error::{Error, Result};
use crate::base::matrix::Matrix;
use crate::base::scratch::Scratch;
use crate::base::stop;
use crate::target::curvature::Curvature;
use crate::target::standard::Standard;
use crate::target::{Standardized, Target};
use likelihood::At;

/// A regression with a density of its rows and a normal prior of its coefficients:
/// ```text
/// log p(z, y) = Σ_n w_n log L(y_n; X_nβ₁ + o_n, …, X_nβ_P + o_n, θ) + Σ_p log N(β_p; ν, Λ⁻¹) + log π(θ),   z = (β₁, …, β_P, θ)
/// ```
/// with every constant. θ are the likelihood's own parameters, on a scale without bounds; see [`Likelihood`] for them and their priors.
/// Cost: one pass over X for a batch of points.
///
/// ```
/// use provi::{Auto, Design, Seed, target::{Likelihood, Prior, Regression, Target}};
///
/// let design = Design::dense(6, 2, &[1.0, 0.0, 1.0, 1.0, 1.0, 2.0, 1.0, 3.0, 1.0, 4.0, 1.0, 5.0])?;
/// let response = [0.1, 1.2, 1.8, 3.1, 40.0, 5.2];                     // the fifth is an outlier
/// let student = Likelihood::Student { sd: Some(0.5), degrees: None, scale: 5.0 };
/// let model = Regression::new(student, design, &response, None, Prior::scale(10.0)?)?;
/// assert_eq!(model.names(), ["z0", "z1", "log(nu-1)"]);
/// let answer = Auto { start: Some(model.start()), ..Auto::default() }.run(&model, Seed(1))?;
/// assert!((answer.fit.gaussian.mean()[1] - 1.0).abs() < 0.2);          // it hardly moves the slope
/// # Ok::<(), provi::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Regression {
    likelihood: Likelihood,
    design: Design,
    response: Vec<f64>,
    /// Trials of each row; empty if the likelihood has none.
    trials: Vec<f64>,
    /// The part of each row's log likelihood that depends on nothing but its response.
    constants: Vec<f64>,
    weights: Option<Vec<f64>>,
    offsets: Option<Vec<f64>>,
    /// Of the coefficients of one predictor.
    prior: Prior,
    names: Vec<String>,
    /// Whether the columns are centred and scaled already.
    standard: bool,
}

impl Regression {
    /// From a design and its responses; `trials` for counts of successes only. Multinomial responses are the numbers 1, 2, … of their levels.
    pub fn new(
        likelihood: Likelihood,
        design: Design,
        response: &[f64],
        trials: Option<&[f64]>,
        prior: Prior,
    ) -> Result<Self> {
        likelihood.check()?;
        let (rows, columns) = (design.rows(), design.columns());
        for (what, found) in [("response", response.len()), ("trials", trials.map_or(rows, <[f64]>::len))] {
            if found != rows {
                return Err(Error::Shape { what, found, expected: rows });
            }
        }
        prior.check(columns)?;
        let trials = likelihood.check_response(response, trials)?;
        let constants = likelihood.constants(response, &trials);
        let names = likelihood.coordinates(&(0..columns).map(|j| format!("z{j}")).collect::<Vec<_>>(), &[]);
        let response = response.to_vec();
        let (weights, offsets) = (None, None);
        Ok(Self {
            likelihood,
            design,
            response,
            trials,
            constants,
            weights,
            offsets,
            prior,
            names,
            standard: false,
        })
    }

    /// Multiplies each row's log likelihood by a weight of at least 0.
    pub fn with_weights(mut self, weights: &[f64]) -> Result<Self> {
        if weights.len() != self.design.rows() {
            return Err(Error::Shape { what: "weights", found: weights.len(), expected: self.design.rows() });
        }
        if let Some(value) = weights.iter().find(|w| !(w.is_finite() && **w >= 0.0)) {
            return Err(Error::OutOfRange {
                what: "weight",
                value: *value,
                needed: "a finite number of at least 0",
            });
        }
        self.weights = Some(weights.to_vec());
        Ok(self)
    }

    /// Adds a known offset to each linear predictor.
    pub fn with_offsets(mut self, offsets: &[f64]) -> Result<Self> {
        if offsets.len() != self.design.rows() {
            return Err(Error::Shape { what: "offsets", found: offsets.len(), expected: self.design.rows() });
        }
        if let Some(value) = offsets.iter().find(|o| !o.is_finite()) {
            return Err(Error::OutOfRange { what: "offset", value: *value, needed: "a finite number" });
        }
        self.offsets = Some(offsets.to_vec());
        Ok(self)
    }

    /// The same rows with another prior of the coefficients of one predictor.
    pub fn with_prior(mut self, prior: Prior) -> Result<Self> {
        prior.check(self.design.columns())?;
        self.prior = prior;
        Ok(self)
    }

    /// Names the columns, and for several predictors their levels behind the first: a coefficient is then `level:column`.
    pub fn with_names(mut self, columns: &[String], levels: &[String]) -> Result<Self> {
        if columns.len() != self.design.columns() {
            let expected = self.design.columns();
            return Err(Error::Shape { what: "names", found: columns.len(), expected });
        }
        self.names = self.likelihood.coordinates(columns, levels);
        Ok(self)
    }

    /// The likelihood.
    pub fn likelihood(&self) -> Likelihood {
        self.likelihood
    }

    /// The prior of the coefficients of one predictor.
    pub fn prior(&self) -> &Prior {
        &self.prior
    }

    /// The design matrix.
    pub fn design(&self) -> &Design {
        &self.design
    }

    /// Number of coefficients, of all predictors together; the further parameters follow them.
    pub fn coefficients(&self) -> usize {
        self.likelihood.predictors() * self.design.columns()
    }

    /// A point from which a search may begin: the prior's means, and a moderate value of each further parameter.
    pub fn start(&self) -> Vec<f64> {
        let columns = self.design.columns();
        let each = (0..columns).map(|j| self.prior.center(j));
        let coefficients =
            std::iter::repeat_n(each.collect::<Vec<f64>>(), self.likelihood.predictors()).flatten();
        coefficients.chain(self.likelihood.start()).collect()
    }

    /// The responses: numbers, counts, successes, or the numbers 1, 2, … of levels.
    pub fn response(&self) -> &[f64] {
        &self.response
    }

    /// Whether rows have weights.
    pub fn is_weighted(&self) -> bool {
        self.weights.is_some()
    }

    pub(crate) fn given_offsets(&self) -> Option<&[f64]> {
        self.offsets.as_deref()
    }

    pub(crate) fn given_trials(&self) -> Option<&[f64]> {
        (!self.trials.is_empty()).then_some(&self.trials[..])
    }

    /// Whether a row has no weight.
    pub(crate) fn is_void(&self, n: usize) -> bool {
        self.weight(n) <= 0.0
    }

    fn offset(&self, n: usize) -> f64 {
        self.offsets.as_ref().map_or(0.0, |offsets| offsets[n])
    }

    fn weight(&self, n: usize) -> f64 {
        self.weights.as_ref().map_or(1.0, |weights| weights[n])
    }

    fn trial(&self, n: usize) -> f64 {
        self.trials.get(n).copied().unwrap_or(1.0)
    }

    /// The columns centred at their means, if one column is constant, and scaled. Sparse rows are only scaled.
    fn map(&self) -> Standard {
        let (rows, columns) = (self.design.rows() as f64, self.design.columns());
        let (mut means, mut squares) = (vec![0.0; columns], vec![0.0; columns]);
        let (mut least, mut most) = (vec![f64::INFINITY; columns], vec![f64::NEG_INFINITY; columns]);
        let mut row = vec![0.0; columns];
        for n in 0..self.design.rows() {
            self.design.write_row(n, &mut row);
            for (j, x) in row.iter().enumerate() {
                means[j] += x / rows;
                (least[j], most[j]) = (least[j].min(*x), most[j].max(*x));
            }
        }
        for n in 0..self.design.rows() {
            self.design.write_row(n, &mut row);
            row.iter().enumerate().for_each(|(j, x)| squares[j] += (x - means[j]).powi(2) / rows);
        }
        let is_constant = |j: &usize| least[*j].total_cmp(&most[*j]).is_eq() && least[*j].abs() > 0.0;
        let constant =
            (0..columns).find(is_constant).filter(|_| !self.design.is_sparse()).map(|j| (j, least[j]));
        let centred = |j: usize| constant.is_some_and(|(i, _)| i != j);
        let unit = self.likelihood.unit();
        let size = |j: usize| match (constant, squares[j] > 0.0) {
            (Some((i, _)), _) if i == j => unit.recip(),
            (_, true) => squares[j].sqrt() / unit,
            (_, false) => means[j].abs() / unit,
        };
        let further = self.likelihood.parameters().len();
        let centers = (0..columns).map(|j| if centred(j) { means[j] } else { 0.0 });
        let centers = centers.chain(std::iter::repeat_n(0.0, further)).collect();
        let sizes: Vec<f64> = (0..columns).map(size).chain(std::iter::repeat_n(1.0, further)).collect();
        Standard::new(constant, centers, &sizes)
    }
}

impl Target for Regression {
    fn dim(&self) -> usize {
        self.coefficients() + self.likelihood.parameters().len()
    }

    fn log_density(&self, z: &[f64], gradient: &mut [f64]) -> Result<f64> {
        crate::target::batch_of_one(self, z, gradient)
    }

    /// Cost: one pass over X.
    fn log_densities(
        &self,
        points: &[f64],
        values: &mut [f64],
        gradients: &mut [f64],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let (d, columns, predictors) = (self.dim(), self.design.columns(), self.likelihood.predictors());
        let (count, own) = (values.len(), self.coefficients());
        let at: Vec<At> = points.chunks_exact(d).map(|z| self.likelihood.at(&z[own..])).collect();
        let width = count * predictors;
        let room = scratch.floats(2 * width * columns + BLOCK * width);
        let (coefficients, room) = room.split_at_mut(width * columns);
        let (pulled, etas) = room.split_at_mut(width * columns);
        for (z, held) in points.chunks_exact(d).zip(coefficients.chunks_exact_mut(own)) {
            held.copy_from_slice(&z[..own]);
        }
        values.fill(0.0);
        gradients.fill(0.0);
        pulled.fill(0.0);
        for first in (0..self.design.rows()).step_by(BLOCK) {
            stop::check()?;
            let rows = first..(first + BLOCK).min(self.design.rows());
            let etas = &mut etas[..rows.len() * width];
            self.design.predict(rows.clone(), coefficients, etas);
            for (n, etas) in rows.clone().zip(etas.chunks_exact_mut(width)) {
                let (y, trials, weight, offset) =
                    (self.response[n], self.trial(n), self.weight(n), self.offset(n));
                let points = at.iter().zip(etas.chunks_exact_mut(predictors));
                for ((at, etas), (value, gradient)) in
                    points.zip(values.iter_mut().zip(gradients.chunks_exact_mut(d)))
                {
                    etas.iter_mut().for_each(|eta| *eta += offset);
                    *value += weight * at.weighted_row(y, trials, weight, etas, &mut gradient[own..]);
                    etas.iter_mut().for_each(|slope| *slope *= weight);
                }
            }
            self.design.pull_back(rows, etas, pulled);
        }
        let constant: f64 = (0..self.design.rows()).map(|n| self.weight(n) * self.constants[n]).sum();
        let constant = constant - predictors as f64 * self.prior.constant(columns).0;
        for (k, (z, gradient)) in points.chunks_exact(d).zip(gradients.chunks_exact_mut(d)).enumerate() {
            let pulled = &mut pulled[k * own..(k + 1) * own];
            for (z, slope) in z[..own].chunks_exact(columns).zip(pulled.chunks_exact_mut(columns)) {
                // The energy adds its pull: that of −log p.
                slope.iter_mut().for_each(|x| *x = -*x);
                values[k] -= self.prior.energy(z, slope);
            }
            gradient[..own].iter_mut().zip(pulled.iter()).for_each(|(to, x)| *to = -x);
            values[k] += constant + self.likelihood.log_prior(&z[own..], &mut gradient[own..]);
        }
        Ok(())
    }

    /// Of multinomial responses only; the curvature of others is taken by differences.
    fn hessian(&self, z: &[f64], out: &mut Matrix) -> Result<bool> {
        match self.likelihood {
            Likelihood::Multinomial { .. } => {
                self.multinomial_hessian(z, out);
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Of multinomial responses only: the others are not log-concave.
    fn curvature(&self) -> Result<Option<Curvature>> {
        match self.likelihood {
            Likelihood::Multinomial { levels } => self.multinomial_curvature(levels).map(Some),
            _ => Ok(None),
        }
    }

    fn names(&self) -> Vec<String> {
        self.names.clone()
    }

    fn data_size(&self) -> (usize, usize) {
        (self.design.rows(), self.design.entries() + 4 * self.design.rows())
    }

    /// Of one predictor only. Cost: two passes over X.
    fn standardized(&self) -> Result<Option<Standardized<'_>>> {
        let columns = self.design.columns();
        if self.standard || self.likelihood.predictors() > 1 {
            return Ok(None);
        }
        let map = self.map();
        if map.is_identity() {
            return Ok(None);
        }
        let (shifts, factors) = map.columns();
        let own = map.head(columns);
        let moved = Self {
            design: self.design.seen(&shifts[..columns], &factors[..columns]),
            prior: self.prior.in_standard(columns, &own).prior,
            standard: true,
            ..self.clone()
        };
        Ok(Some(Standardized::shared(map, moved)))
    }
}

//! Rows of a linear-predictor model: the share of the data in every sum that the model needs.
//!
//! A model in memory ([`crate::target::Glm`]) has a prior and one block of rows; a streamed model
//! ([`crate::stream`]) a prior and many blocks. Both ask each block for its share and add the prior themselves, so
//! every pass is written once: energies and their gradients in `energy`, curvature in `curvature` and on an
//! ellipsoid in `local`, sums over q's predictors in `spread`, and expectations in `expectation`.

mod aside;
mod curvature;
mod energy;
mod layout;
mod local;
mod recoded;
mod response;
mod rounding;
mod shape;
mod slab;
mod spread;
mod summary;
mod taylor;
mod times;

use crate::base::chunked;
use crate::base::error::{Error, Result};
use crate::base::matrix::check_finite;
use crate::glm::Family;
use crate::glm::design::{BLOCK, Design};
use crate::target::standard::Standard;
pub(crate) use layout::{Layout, POWER};
pub(crate) use recoded::GivenRow;
pub(crate) use response::Spread;
pub(crate) use rounding::{Within, width};
pub(crate) use slab::{Found, Slab};
pub(crate) use spread::Row;
use std::ops::Range;
use std::sync::OnceLock;
pub use summary::{ColumnSummary, DataSummary};
pub(crate) use times::Lever;
pub use times::Time;

/// The rows' part of the constant of V.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Likelihood {
    pub(crate) constant: f64,
    /// Sum of the absolute values of its terms.
    pub(crate) size: f64,
    /// Number of rows.
    pub(crate) rows: usize,
}

/// The longest chains of additions behind the sums of a pass. The rounding error of a sum is at most the length of
/// its longest chain times one unit in the last place of Σ|terms|, whatever the order in which chains are joined.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chains {
    /// For E V, its error and the gradient.
    pub(crate) sums: usize,
    /// For an entry of the Hessian.
    pub(crate) grams: usize,
}

/// A block of rows: design, response, weights, trials and offsets, checked for a family on construction.
///
/// ```
/// use provi::{Design, stream::Rows, target::Family};
///
/// let design = Design::dense(2, 2, &[1.0, 0.5, 1.0, -1.5])?;
/// let rows = Rows::new(Family::Poisson, design, &[3.0, 0.0])?.with_offsets(&[0.1, 0.2])?;
/// assert_eq!((rows.len(), rows.design().columns()), (2, 2));
/// # Ok::<(), provi::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Rows {
    pub(crate) family: Family,
    pub(crate) design: Design,
    pub(crate) response: Vec<f64>,
    /// The factor of each row's φ: the user's weight, times the trials of a binomial row.
    pub(crate) weights: Vec<f64>,
    trials: Option<Vec<f64>>,
    /// Whether all weights are 1.
    unweighted: bool,
    pub(crate) offsets: Option<Vec<f64>>,
    /// What the responses, weights and offsets of a recoded family follow from.
    given: Option<Box<recoded::Given>>,
    /// Computed on first use.
    known: OnceLock<Box<DataSummary>>,
    /// A device that may have the rows.
    aside: Option<aside::Aside>,
}

impl Rows {
    /// Rows of any [`Family`]. Each has a weight of one and no offset.
    pub fn new(family: Family, design: Design, response: &[f64]) -> Result<Self> {
        let rows = design.rows();
        if response.len() != rows {
            return Err(Error::Shape { what: "response", found: response.len(), expected: rows });
        }
        let response = family.checked_response(response)?;
        let weights = vec![1.0; rows];
        let known = OnceLock::new();
        let (trials, offsets, given, aside) = (None, None, None, None);
        let rows = Self {
            family,
            design,
            response,
            weights,
            trials,
            unweighted: true,
            offsets,
            given,
            known,
            aside,
        };
        Ok(rows.recoded())
    }

    /// Counts: k_n successes in n_n trials, logit link.
    pub fn binomial(design: Design, successes: &[f64], trials: &[f64]) -> Result<Self> {
        Self::successes(Family::Binomial, design, successes, trials)
    }

    /// The same for a family with trials: binomial or cloglog.
    pub fn successes(family: Family, design: Design, successes: &[f64], trials: &[f64]) -> Result<Self> {
        if !matches!(family, Family::Binomial | Family::Cloglog) {
            return Err(Error::NoTrials { family: family.name() });
        }
        if trials.len() != successes.len() {
            return Err(Error::Shape { what: "trials", found: trials.len(), expected: successes.len() });
        }
        let whole = |x: f64| (0.0..=9.0e15).contains(&x) && (x - x.floor()).abs() <= 0.0;
        let (link, family) = (family, family.name());
        for (row, (&k, &n)) in successes.iter().zip(trials).enumerate() {
            if !whole(n) || n < 1.0 {
                let needed = "a whole number of trials, at least 1";
                return Err(Error::Response { family, row, value: n, needed });
            }
            if !whole(k) || k > n {
                let needed = "a whole number from 0 to the trials of its row";
                return Err(Error::Response { family, row, value: k, needed });
            }
        }
        let mut rows = Self::new(link, design, &vec![0.0; successes.len()])?;
        rows.response = successes.iter().zip(trials).map(|(k, n)| k / n).collect();
        rows.trials = Some(trials.to_vec());
        rows.with_weights(&vec![1.0; trials.len()])
    }

    /// Means y_n ≥ 0 of Poisson counts; the weights are the exposures of these means: see
    /// [`crate::target::Glm::poisson_rates`].
    pub fn poisson_rates(design: Design, means: &[f64]) -> Result<Self> {
        let family = Family::Poisson.name();
        if let Some(row) = means.iter().position(|y| !(0.0..=9.0e15).contains(y)) {
            let needed = "a number of at least 0";
            return Err(Error::Response { family, row, value: means[row], needed });
        }
        let whole: Vec<f64> = means.iter().map(|y| y.floor()).collect();
        let rows = Self::new(Family::Poisson, design, &whole)?;
        Ok(Self { response: means.to_vec(), ..rows })
    }

    /// Multiplies each row's log likelihood by a weight of at least 0.
    pub fn with_weights(mut self, weights: &[f64]) -> Result<Self> {
        self.check_length("weights", weights)?;
        check_finite("weights", weights)?;
        if let Some(&value) = weights.iter().find(|&&w| w < 0.0) {
            return Err(Error::OutOfRange { what: "weight", value, needed: "at least 0" });
        }
        if self.given.is_some() {
            return Ok(self.recoded_with_weights(weights));
        }
        self.weights = match &self.trials {
            Some(trials) => weights.iter().zip(trials).map(|(w, n)| w * n).collect(),
            None => weights.to_vec(),
        };
        self.unweighted = self.weights.iter().all(|w| w.to_bits() == 1f64.to_bits());
        self.has_changed();
        Ok(self)
    }

    /// The rows with the weight of one of them at 0.
    pub(crate) fn without(mut self, row: usize) -> Self {
        if self.given.is_some() {
            let mut weights = self.given_weights().to_vec();
            weights[row] = 0.0;
            return self.recoded_with_weights(&weights);
        }
        self.weights[row] = 0.0;
        self.unweighted = false;
        self.has_changed();
        self
    }

    /// Adds a known offset to each linear predictor.
    pub fn with_offsets(mut self, offsets: &[f64]) -> Result<Self> {
        self.check_length("offsets", offsets)?;
        check_finite("offsets", offsets)?;
        if self.given.is_some() {
            return Ok(self.recoded_with_offsets(offsets));
        }
        self.offsets = Some(offsets.to_vec());
        self.has_changed();
        Ok(self)
    }

    /// Forgets what was derived from the rows.
    fn has_changed(&mut self) {
        self.known = OnceLock::new();
        self.aside = self.aside.as_ref().map(aside::Aside::renewed);
    }

    fn check_length(&self, what: &'static str, values: &[f64]) -> Result<()> {
        match values.len() == self.len() {
            true => Ok(()),
            false => Err(Error::Shape { what, found: values.len(), expected: self.len() }),
        }
    }

    /// The number of rows: at least one.
    #[allow(clippy::len_without_is_empty, reason = "a design has rows")]
    pub fn len(&self) -> usize {
        self.response.len()
    }

    /// The family they were checked for.
    pub fn family(&self) -> Family {
        self.family
    }

    /// Their design matrix.
    pub fn design(&self) -> &Design {
        &self.design
    }

    /// [`Rows::summary`], computed once and kept.
    pub(crate) fn known_summary(&self) -> &DataSummary {
        self.known.get_or_init(|| Box::new(self.summary()))
    }

    /// The same rows in standard coordinates; a dense design is shared.
    pub(crate) fn in_standard(&self, map: &Standard) -> Self {
        let (shifts, factors) = map.columns();
        let aside = self.aside.as_ref().map(|aside| aside.in_standard(map));
        Self { design: self.design.seen(&shifts, &factors), known: OnceLock::new(), aside, ..self.clone() }
    }

    /// Some of the rows, with another design.
    pub(crate) fn part(&self, which: &[usize], design: Design) -> Self {
        let of = |values: &[f64]| which.iter().map(|&n| values[n]).collect::<Vec<f64>>();
        Self {
            family: self.family,
            design,
            response: of(&self.response),
            weights: of(&self.weights),
            trials: self.trials.as_deref().map(of),
            unweighted: self.unweighted,
            offsets: self.offsets.as_deref().map(of),
            given: self.part_of_given(which),
            known: OnceLock::new(),
            aside: None,
        }
    }

    /// Trials of each row, for the binomial family.
    pub(crate) fn trials(&self) -> Option<&[f64]> {
        self.trials.as_deref()
    }

    /// The same responses with other parameters of the family.
    pub(crate) fn with_family(mut self, family: Family) -> Result<Self> {
        if self.given.is_some() {
            family.checked_response(&[])?;
            return self.recoded_for(family);
        }
        self.response = family.checked_response(&self.response)?;
        self.family = family;
        self.aside = self.aside.as_ref().map(aside::Aside::renewed);
        Ok(self)
    }

    /// How many numbers are stored, including the indices of sparse rows.
    pub(crate) fn stored(&self) -> usize {
        let indices = if self.design.is_sparse() { self.design.entries() + self.design.rows() } else { 0 };
        self.design.entries() + indices
    }

    /// The part of Σ_n w_n φ_n that does not depend on z, and the sum of the absolute values of its terms: log C(n,
    /// k) is a difference of large numbers.
    pub(crate) fn constant(&self, family: Family) -> [f64; 2] {
        if let Some(found) = self.recoded_constant(family) {
            return found;
        }
        let rows = self.response.iter().zip(&self.weights);
        let add = |[sum, size]: [f64; 2], [x, y]: [f64; 2]| [sum + x, size + y];
        match &self.trials {
            // −log C(n, k), multiplied by the row's own weight w/n.
            Some(trials) => rows
                .zip(trials)
                .map(|((&y, w), &n)| ln_choose(n, (y * n).round()).map(|x| w / n * x))
                .fold([0.0; 2], |sums, [log, size]| add(sums, [-log, size])),
            None => rows
                .map(|(&y, w)| (w, family.constant(y)))
                .fold([0.0; 2], |sums, (w, x)| add(sums, [w * x, w * (1.0 + x.abs())])),
        }
    }

    /// [`Rows::constant`] in the form that a model takes.
    pub(crate) fn likelihood(&self, family: Family) -> Likelihood {
        let [constant, size] = self.constant(family);
        Likelihood { constant, size, rows: self.len() }
    }

    /// Predictors of the rows of `range` at the points, offsets included.
    pub(crate) fn predictors(&self, range: Range<usize>, points: &[f64], out: &mut [f64]) {
        let count = points.len() / self.design.columns();
        self.design.predict(range.clone(), points, out);
        if let Some(offsets) = &self.offsets {
            for (offset, out) in offsets[range].iter().zip(out.chunks_exact_mut(count)) {
                out.iter_mut().for_each(|s| *s += offset);
            }
        }
    }

    /// a_nᵀz + o_n for every row.
    pub(crate) fn all_predictors(&self, z: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.len()];
        chunked::fill(&mut out, BLOCK, self.design.entries(), |first, out| {
            self.predictors(first..first + out.len(), z, out);
        });
        out
    }
}

/// log C(n, k), and the sum of the absolute values of the terms that it is made of.
pub(super) fn ln_choose(n: f64, k: f64) -> [f64; 2] {
    let logs = [n, k, n - k].map(|x| libm::lgamma(x + 1.0));
    [logs[0] - logs[1] - logs[2], logs.iter().sum::<f64>() + 1.0]
}

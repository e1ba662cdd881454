//! Another processor, such as a card, that takes the passes over rows: what it must be able to do, and when it is used.
//!
//! The library knows no vendor. A crate that talks to a card implements [`Device`], and a shell hands it to a model
//! ([`crate::target::Glm::with_device`]). The rows are copied once and stay there; energies and their gradients at many points are then
//! taken there, where there are enough of them.
//!
//! - **Rounding.** The device states the order of its sums and the error of its functions ([`DeviceRounding`]). Every bound counts the larger
//!   of these and of the processor's own, for the processor may take over at any time.
//! - **Trust.** Before rows on a device are used, a few draws of the first block are taken by the processor too. Both must agree within twice
//!   the stated bound; otherwise the processor goes on, with a warning ([`OnDevice::warnings`]).
//! - **Loss.** A device that fails is not asked again. The processor takes the block that was lost, and every other one.

use super::design::Design;
use crate::base::matrix::packed_len;
use std::fmt;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// rows × columns × draws of a block from which a device is used: about a tenth of a second of a processor with four cores.
pub const LEAST_WORK: u64 = 1 << 32;

/// A processor takes as long for fewer draws than this, for it has to read the rows.
const READING_DRAWS: u64 = 8;

/// Draws that an audit takes together. Where a block of so many is too little work, a device is not used.
pub const USUAL_DRAWS: usize = 512;

/// Draws that are handed over at once, at most.
pub const MOST_DRAWS: usize = 4096;

/// Rows of a Gram matrix that are handed over at once.
pub const STRIPE: usize = 1 << 20;

/// Threads that a device may use for copies, where it is called.
pub fn threads() -> usize {
    #[cfg(feature = "parallel")]
    return rayon::current_num_threads();
    #[cfg(not(feature = "parallel"))]
    1
}

/// Columns up to which [`Held::forms`] is asked for.
pub const FORM_COLUMNS: usize = 31;

/// φ of the rows that a device may know, for a predictor s and a response y.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum DeviceFamily {
    /// log(1 + eˢ) − ys, y of 0 or 1.
    Logistic,
    /// The same for a share y of successes.
    Binomial,
    /// −log Φ((2y − 1)s), y of 0 or 1.
    Probit,
    /// eˢ − ys.
    Poisson,
    /// α(s + ye⁻ˢ).
    Gamma {
        /// α.
        shape: f64,
    },
    /// −y log(1 − e^{−r}) + (1 − y)r, r = eˢ, for a share y of successes.
    Cloglog,
    /// ½θ(s − y)².
    Gaussian {
        /// θ.
        precision: f64,
    },
}

/// Rows as they are copied to a device: V(z) = Σ_n w_n φ(a_nᵀz + o_n).
#[derive(Clone, Copy, Debug)]
pub struct DeviceRows<'a> {
    /// φ.
    pub family: DeviceFamily,
    /// y_n.
    pub response: &'a [f64],
    /// w_n; all 1 if there are none.
    pub weights: Option<&'a [f64]>,
    /// o_n; all 0 if there are none.
    pub offsets: Option<&'a [f64]>,
    pub(crate) design: &'a Design,
}

impl DeviceRows<'_> {
    /// Their number.
    #[allow(clippy::len_without_is_empty, reason = "a design has rows")]
    pub fn len(&self) -> usize {
        self.response.len()
    }

    /// d, the length of a row.
    pub fn columns(&self) -> usize {
        self.design.columns()
    }

    /// Writes rows `first`, `first + 1`, …, one after the other, as many as `out` has room for: the numbers that the processor uses.
    pub fn write(&self, first: usize, out: &mut [f64]) {
        self.design.write_rows(first, out);
    }
}

/// What a device states about its arithmetic for rows of a family and a shape.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeviceRounding {
    /// The longest chain of additions behind an energy.
    pub value_chain: usize,
    /// The longest chain of additions behind an entry of its gradient.
    pub slope_chain: usize,
    /// The longest chain of additions behind an entry of a Gram matrix of all rows, taken in stripes that begin at multiples of [`STRIPE`].
    pub gram_chain: usize,
    /// A bound of the error of φ and of φ', relative to 1 + the sum of the absolute values of their terms.
    pub function: f64,
}

/// A quadrature rule for N(0, 1), for rows whose predictors have a standard deviation up to `widest`.
#[derive(Clone, Copy, Debug)]
pub struct DeviceRule<'a> {
    /// Of the last rule it is not read.
    pub widest: f64,
    /// t_j.
    pub nodes: &'a [f64],
    /// The weights of the nodes.
    pub weights: &'a [f64],
}

/// Sums of expectations over the rows, s_n ~ N(a_nᵀm + o_n, ‖Cᵀa_n‖²):
/// ```text
/// value = Σ_n w_n E φ,   gradient = Σ_n w_n E φ' a_n,   hessian = Σ_n w_n E φ'' a_n a_nᵀ
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceMoments {
    /// The first sum.
    pub value: f64,
    /// d numbers.
    pub gradient: Vec<f64>,
    /// d × d numbers.
    pub hessian: Vec<f64>,
}

/// Weights of the forms of as many rows as each has numbers.
#[derive(Clone, Debug)]
pub struct DeviceFormWeights<'a> {
    /// Of the cubic form, of either sign.
    pub third: &'a [f64],
    /// Of each quadratic form; none is negative.
    pub quadratic: Vec<&'a [f64]>,
    /// Of each quartic form; none is negative.
    pub quartic: Vec<&'a [f64]>,
}

/// Forms of b_n = Cᵀa_n, with s(b) = vec(bbᵀ), √2 off the diagonal, packed by rows:
/// ```text
/// third = Σ_n v_n b_n s(b_n)ᵀ,   quadratic = Σ_n v_n b_n b_nᵀ,   quartic = Σ_n v_n s(b_n) s(b_n)ᵀ
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceForms {
    /// d × d(d+1)/2 numbers.
    pub third: Vec<f64>,
    /// d × d numbers each, symmetric.
    pub quadratic: Vec<Vec<f64>>,
    /// d(d+1)/2 × d(d+1)/2 numbers each, symmetric.
    pub quartic: Vec<Vec<f64>>,
}

impl DeviceForms {
    /// The forms of no rows.
    pub fn zeros(columns: usize, weights: &DeviceFormWeights<'_>) -> Self {
        let wide = packed_len(columns);
        Self {
            third: vec![0.0; columns * wide],
            quadratic: vec![vec![0.0; columns * columns]; weights.quadratic.len()],
            quartic: vec![vec![0.0; wide * wide]; weights.quartic.len()],
        }
    }

    /// Refuses forms of other sizes than those that were asked for, and numbers that are not finite.
    pub(crate) fn checked(
        self,
        columns: usize,
        weights: &DeviceFormWeights<'_>,
    ) -> Result<Self, DeviceFailure> {
        let wide = packed_len(columns);
        let are = |forms: &[Vec<f64>], count: usize, len: usize| {
            forms.len() == count && forms.iter().all(|form| form.len() == len)
        };
        let fits = self.third.len() == columns * wide
            && are(&self.quadratic, weights.quadratic.len(), columns * columns)
            && are(&self.quartic, weights.quartic.len(), wide * wide);
        let all = self.quadratic.iter().chain(&self.quartic).chain([&self.third]);
        if fits && all.flatten().all(|x| x.is_finite()) {
            return Ok(self);
        }
        let what = if fits { "numbers that are not finite" } else { "forms of the wrong size" };
        Err(DeviceFailure::Lost(format!("it returned {what}")))
    }
}

/// Why a device did not do what it was asked for.
#[derive(Clone, Debug, PartialEq)]
pub enum DeviceFailure {
    /// These rows do not fit, or are not known there; others may be.
    Refused(String),
    /// It stopped working.
    Lost(String),
}

impl fmt::Display for DeviceFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Refused(reason) | Self::Lost(reason)) = self;
        f.write_str(reason)
    }
}

/// Another processor. Every sum it takes has one order, whatever the other points of the call: the same bits from run to run.
pub trait Device: fmt::Debug + Send + Sync {
    /// Its name for people.
    fn name(&self) -> String;

    /// Bytes that so many rows, and the work on a block of so many draws, need there.
    fn needed(&self, rows: usize, columns: usize, draws: usize) -> u64;

    /// Bytes free there now.
    fn free(&self) -> Result<u64, DeviceFailure>;

    /// What holds for its arithmetic.
    fn rounding(&self, family: DeviceFamily, rows: usize, columns: usize) -> DeviceRounding;

    /// Copies rows to it.
    fn hold(&self, rows: &DeviceRows<'_>) -> Result<Box<dyn Held>, DeviceFailure>;
}

/// Rows that are on a device.
pub trait Held: fmt::Debug + Send + Sync {
    /// Σ_n w_n φ(a_nᵀz_k + o_n) at points z_k, one after the other, and the gradients if there is room for them.
    fn energies(
        &self,
        points: &[f64],
        energies: &mut [f64],
        gradients: Option<&mut [f64]>,
    ) -> Result<(), DeviceFailure>;

    /// Expectations under N(m, CCᵀ), C packed by rows; it may be 0. They only choose where a search goes on, so that nothing is stated of
    /// their rounding.
    fn expectations(
        &self,
        mean: &[f64],
        factor: &[f64],
        rules: &[DeviceRule<'_>],
    ) -> Result<DeviceMoments, DeviceFailure>;

    /// Σ_n v_n a_n a_nᵀ over as many rows as there are numbers v_n ≥ 0, from row `first` on: d × d numbers, symmetric.
    fn gram(&self, first: usize, values: &[f64]) -> Result<Vec<f64>, DeviceFailure>;

    /// Forms of the rows from `first` on, for N(m, CCᵀ) with C packed by rows, of at most [`FORM_COLUMNS`] columns. The sums may be in any order, but
    /// a number b_nj is at most d roundings off.
    fn forms(
        &self,
        first: usize,
        factor: &[f64],
        weights: &DeviceFormWeights<'_>,
    ) -> Result<DeviceForms, DeviceFailure>;
}

/// A device in use: clones share it, what it was used for, and whether it still works.
#[derive(Clone, Debug)]
pub struct OnDevice(Arc<State>);

#[derive(Debug)]
struct State {
    device: Box<dyn Device>,
    least_work: u64,
    gone: AtomicBool,
    draws: AtomicU64,
    grams: AtomicU64,
    forms: AtomicU64,
    warnings: Mutex<Vec<String>>,
    notes: Mutex<Vec<String>>,
}

impl OnDevice {
    /// For blocks of at least [`LEAST_WORK`].
    pub fn new(device: impl Device + 'static) -> Self {
        Self::with_least_work(device, LEAST_WORK)
    }

    /// For blocks of at least that many rows × columns × draws.
    pub fn with_least_work(device: impl Device + 'static, least_work: u64) -> Self {
        Self(Arc::new(State {
            device: Box::new(device),
            least_work,
            gone: AtomicBool::new(false),
            draws: AtomicU64::new(0),
            grams: AtomicU64::new(0),
            forms: AtomicU64::new(0),
            warnings: Mutex::default(),
            notes: Mutex::default(),
        }))
    }

    /// The device.
    pub fn device(&self) -> &dyn Device {
        &*self.0.device
    }

    /// Whether a block of so many draws is enough work, rows × columns × draws, and the device still works.
    pub fn pays(&self, rows: usize, columns: usize, draws: usize) -> bool {
        let entries = (rows as u64).saturating_mul(columns as u64);
        let work = entries.saturating_mul((draws as u64).max(READING_DRAWS));
        work >= self.0.least_work && !self.is_gone()
    }

    /// Whether it has failed, so that the processor does everything.
    pub fn is_gone(&self) -> bool {
        self.0.gone.load(Ordering::Acquire)
    }

    /// How many energies it has taken so far.
    pub fn draws(&self) -> u64 {
        self.0.draws.load(Ordering::Relaxed)
    }

    /// How many Gram matrices it has taken so far.
    pub fn grams(&self) -> u64 {
        self.0.grams.load(Ordering::Relaxed)
    }

    /// Of how many rows it has taken cubic and quartic forms so far.
    pub fn forms(&self) -> u64 {
        self.0.forms.load(Ordering::Relaxed)
    }

    /// That it was given up, and why.
    pub fn warnings(&self) -> Vec<String> {
        self.0.warnings.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What it did not take, and why; it is used for the rest.
    pub fn notes(&self) -> Vec<String> {
        self.0.notes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn took_grams(&self, count: usize) {
        self.0.grams.fetch_add(count as u64, Ordering::Relaxed);
    }

    pub(crate) fn took_forms(&self, rows: usize) {
        self.0.forms.fetch_add(rows as u64, Ordering::Relaxed);
    }

    pub(crate) fn took(&self, draws: usize) {
        self.0.draws.fetch_add(draws as u64, Ordering::Relaxed);
    }

    /// Notes what the device could not do, once for each reason.
    pub(crate) fn failed(&self, failure: &DeviceFailure) {
        let name = self.device().name();
        match failure {
            DeviceFailure::Lost(reason) => {
                if !self.0.gone.swap(true, Ordering::AcqRel) {
                    add(&self.0.warnings, format!("{name} was lost, and the processor took over: {reason}"));
                }
            }
            DeviceFailure::Refused(reason) => {
                add(&self.0.notes, format!("the processor took some passes instead of {name}: {reason}"));
            }
        }
    }

    /// Notes that its numbers are not what they should be, and gives it up.
    pub(crate) fn disagrees(&self, what: &str, off: f64, bound: f64) {
        if !self.0.gone.swap(true, Ordering::AcqRel) {
            let name = self.device().name();
            add(
                &self.0.warnings,
                format!(
                    "{name} and the processor differ by {off:.1e} in {what}, and rounding allows {bound:.1e}: the processor took over; \
                 have the device tested before it is used again"
                ),
            );
        }
    }
}

/// Adds a text, unless it is there.
fn add(to: &Mutex<Vec<String>>, text: String) {
    let mut texts = to.lock().unwrap_or_else(PoisonError::into_inner);
    if !texts.contains(&text) {
        texts.push(text);
    }
}

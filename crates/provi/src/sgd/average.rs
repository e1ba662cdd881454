//! Which point of a run is the answer: the last iterate, or an average that a theorem or practice prefers.

use std::fmt;

use crate::base::error::{Error, Result};
use crate::base::scalar::NonNegative;
pub use crate::watch::AverageState;

/// How w_0, …, w_T become one answer: w̄ = Σ weight_t w_t/Σ weight_t.
///
/// It is always a convex combination, so it stays in every convex set that contains the iterates. Since ‖·‖² is
/// convex, it is in the mean no farther from w* than the same average of their bounds. Cost: one pass over w per
/// step; nothing for `Last`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum Average {
    /// w_T.
    Last,
    /// (w_1 + … + w_T)/T.
    Uniform,
    /// Weights θ^{t+1}: earlier iterates weigh more, as the convex theorems require [rate-prox-convex],
    /// [rate-proj-convex].
    Discounted {
        /// θ in (0, 1].
        discount: f64,
        /// Over w_0..w_{T−1} (proj) instead of w_1..w_T (prox).
        includes_start: bool,
    },
    /// Weights growing like t^power over w_1..w_T (1: ∝ t), to forget the start. No theorem covers it.
    Polynomial {
        /// The power, zero or more.
        power: f64,
    },
    /// Weights r_t² over w_0..w_{T−1}, r_t the distance travelled so far \[dowg\].
    Travelled,
}

impl Average {
    /// The average of the convex prox theorem: θ = 1/(1 + 2aγ²) over w_1..w_T.
    pub fn prox(growth: f64, gamma: f64) -> Result<Self> {
        Self::Discounted { discount: 1.0 / (1.0 + 2.0 * growth * gamma * gamma), includes_start: false }
            .checked()
    }

    /// The average of the convex proj theorem: θ = 1/(1 + aγ²) over w_0..w_{T−1}.
    pub fn proj(growth: f64, gamma: f64) -> Result<Self> {
        Self::Discounted { discount: 1.0 / (1.0 + growth * gamma * gamma), includes_start: true }.checked()
    }

    /// (w_0 + … + w_{T−1})/T, the mean of the points where gradients were taken [rate-proj-adaptive].
    pub fn over_starts() -> Self {
        Self::Discounted { discount: 1.0, includes_start: true }
    }

    /// Whether its parameter is in range.
    pub fn check(&self) -> Result<()> {
        match *self {
            Self::Last | Self::Uniform | Self::Travelled => Ok(()),
            Self::Discounted { discount, .. } if discount > 0.0 && discount <= 1.0 => Ok(()),
            Self::Discounted { discount, .. } => {
                Err(Error::OutOfRange { what: "discount θ", value: discount, needed: "in (0, 1]" })
            }
            Self::Polynomial { power } => NonNegative::new("power", power).map(drop),
        }
    }

    fn checked(self) -> Result<Self> {
        self.check().map(|()| self)
    }

    fn includes_start(&self) -> bool {
        matches!(self, Self::Discounted { includes_start: true, .. } | Self::Travelled)
    }
}

impl fmt::Display for Average {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Last => write!(f, "the last iterate"),
            Self::Uniform => write!(f, "the mean of the iterates"),
            Self::Discounted { discount, includes_start } => {
                let span = if *includes_start { "w_0..w_{T−1}" } else { "w_1..w_T" };
                if *discount >= 1.0 {
                    return write!(f, "the mean of {span}");
                }
                write!(f, "the mean of {span} with weights θ^(t+1), 1 − θ = {:.4e}", 1.0 - discount)
            }
            Self::Polynomial { power } => write!(f, "the mean of w_1..w_T with weights ∝ t^{power}"),
            Self::Travelled => write!(f, "the mean of w_0..w_{{T−1}} with weights r_t²"),
        }
    }
}

/// The running average of a run over flat parameter vectors.
///
/// ```text
/// mean ← mean + c_k(w − mean),   c_k = weight_k/(weight_0 + … + weight_k)
/// ```
/// c_k is computed from c_{k−1} in constant time and without a sum of weights, so nothing overflows or underflows
/// in a long run: every state is a convex combination of the vectors added.
///
/// Pass it w_t for t = 0..T−1, before each step ([`Averager::add`]), then w_T ([`Averager::finish`]); it knows
/// which of them count.
#[derive(Clone, Debug)]
pub struct Averager {
    kind: Average,
    mean: Vec<f64>,
    count: u64,
    coefficient: f64,
    /// The weight of the vector before, over that of the next one; for `Travelled`.
    ratio: f64,
    /// Whether it has already seen the last vector.
    closed: bool,
}

impl Averager {
    /// The state of the average, for a checkpoint.
    pub fn state(&self) -> AverageState {
        AverageState { mean: self.mean.clone(), count: self.count, coefficient: self.coefficient }
    }

    /// Restores an average that was saved after `steps` steps. Refuses a state with another length, or of another
    /// number of vectors.
    pub fn restore(&mut self, state: &AverageState, steps: u64) -> Result<()> {
        let count = match self.kind {
            Average::Last => 0,
            _ if self.kind.includes_start() => steps,
            // w_T itself is added at the end.
            _ => steps.saturating_sub(1),
        };
        let proper = count == 0 || state.coefficient > 0.0 && state.coefficient <= 1.0;
        if state.count != count || !proper {
            return Err(Error::Checkpoint { what: "has an average of other steps" });
        }
        if state.mean.len() != self.mean.len() {
            let (found, expected) = (state.mean.len(), self.mean.len());
            return Err(Error::Shape { what: "average", found, expected });
        }
        self.mean.copy_from_slice(&state.mean);
        (self.count, self.coefficient, self.closed) = (state.count, state.coefficient, false);
        Ok(())
    }

    /// An empty average of vectors of length `len`. `Average::Last` keeps no storage.
    pub fn new(kind: Average, len: usize) -> Result<Self> {
        kind.check()?;
        let len = if kind == Average::Last { 0 } else { len };
        Ok(Self { kind, mean: vec![0.0; len], count: 0, coefficient: f64::NAN, ratio: 1.0, closed: false })
    }

    /// The kind of average.
    pub fn kind(&self) -> Average {
        self.kind
    }

    /// Whether `add(t, w_t)` would do anything; if not, w_t need not be up to date.
    pub fn wants(&self, t: u64) -> bool {
        self.kind != Average::Last && (t > 0 || self.kind.includes_start())
    }

    /// Adds w_t, before step t. O(len), no allocation.
    pub fn add(&mut self, t: u64, w: &[f64]) -> Result<()> {
        if let Some(coefficient) = self.take(t, w.len())? {
            blend(&mut self.mean, w, coefficient);
        }
        Ok(())
    }

    /// Counts w_t and returns its coefficient c, for a caller that updates the mean itself.
    pub(crate) fn take(&mut self, t: u64, len: usize) -> Result<Option<f64>> {
        if !self.wants(t) {
            return Ok(None);
        }
        self.fits(len)?;
        self.coefficient = self.next_coefficient();
        self.count += 1;
        Ok(Some(self.coefficient))
    }

    /// Declares weight_{k−1}/weight_k for the next vector. Only [`Average::Travelled`] asks for it.
    pub(crate) fn weigh(&mut self, ratio: f64) {
        self.ratio = ratio;
    }

    /// The mean so far, for a caller that updates it itself; empty for `Average::Last`.
    pub(crate) fn mean_mut(&mut self) -> &mut [f64] {
        &mut self.mean
    }

    /// Declares that no step follows the last vector that was added: that vector is w_T. An average over
    /// w_0..w_{T−1} keeps it too.
    pub(crate) fn close(&mut self) {
        self.closed = true;
    }

    /// The answer after T steps: `last` is w_T.
    pub fn finish(&self, last: &[f64]) -> Result<Vec<f64>> {
        let mut out = last.to_vec();
        self.finish_into(last, &mut out)?;
        Ok(out)
    }

    /// [`Averager::finish`] into a given vector.
    pub fn finish_into(&self, last: &[f64], out: &mut [f64]) -> Result<()> {
        self.fits(last.len())?;
        if out.len() != last.len() {
            return Err(Error::Shape {
                what: "room for the average",
                found: out.len(),
                expected: last.len(),
            });
        }
        let nothing_yet = self.kind.includes_start() && self.count == 0;
        if self.kind == Average::Last || nothing_yet {
            out.copy_from_slice(last);
            return Ok(());
        }
        out.copy_from_slice(&self.mean);
        if !self.kind.includes_start() && !self.closed {
            blend(out, last, self.next_coefficient());
        }
        Ok(())
    }

    /// Refuses vectors of another length.
    pub(crate) fn fits(&self, len: usize) -> Result<()> {
        if self.kind == Average::Last || self.mean.len() == len {
            Ok(())
        } else {
            Err(Error::Shape { what: "w", found: len, expected: self.mean.len() })
        }
    }

    /// c_k for the k-th vector (from zero); c_0 = 1.
    fn next_coefficient(&self) -> f64 {
        if self.count == 0 {
            return 1.0;
        }
        let k = self.count as f64;
        match self.kind {
            Average::Last => 1.0,
            Average::Uniform => 1.0 / (k + 1.0),
            // 1/c_k = Σ_{j≤k} θ^{j−k} = 1 + (1/c_{k−1})/θ
            Average::Discounted { discount, .. } => {
                let x = discount * self.coefficient;
                x / (1.0 + x)
            }
            Average::Polynomial { power } => (power + 1.0) / (k + 1.0 + power),
            // 1/c_k = 1 + (1/c_{k−1})·weight_{k−1}/weight_k
            Average::Travelled => self.coefficient / (self.coefficient + self.ratio),
        }
    }
}

/// mean ← mean + c(w − mean).
pub(crate) fn blend(mean: &mut [f64], w: &[f64], c: f64) {
    if c >= 1.0 {
        mean.copy_from_slice(w);
    } else if c > 0.0 {
        for (m, &x) in mean.iter_mut().zip(w) {
            *m += c * (x - *m);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn iterate(t: u64) -> Vec<f64> {
        vec![(t as f64 * 0.7).sin() + 2.0, (t as f64 * 1.3).cos() * 5.0]
    }

    fn run(kind: Average, steps: u64) -> Vec<f64> {
        let mut averager = Averager::new(kind, 2).unwrap();
        (0..steps).for_each(|t| averager.add(t, &iterate(t)).unwrap());
        averager.finish(&iterate(steps)).unwrap()
    }

    fn direct(range: std::ops::RangeInclusive<u64>, weight: impl Fn(f64) -> f64) -> Vec<f64> {
        let total: f64 = range.clone().map(|t| weight(t as f64)).sum();
        let sum = |i: usize| range.clone().map(|t| weight(t as f64) * iterate(t)[i]).sum::<f64>() / total;
        vec![sum(0), sum(1)]
    }

    fn assert_close(found: &[f64], expected: &[f64]) {
        for (x, y) in found.iter().zip(expected) {
            assert!((x - y).abs() <= 1e-12 * (1.0 + y.abs()), "{found:?} against {expected:?}");
        }
    }

    #[test]
    fn averages_equal_their_weighted_sums() {
        for steps in [1, 2, 3, 10, 300] {
            assert_close(&run(Average::Last, steps), &iterate(steps));
            assert_close(&run(Average::Uniform, steps), &direct(1..=steps, |_| 1.0));
            assert_close(&run(Average::Polynomial { power: 0.0 }, steps), &direct(1..=steps, |_| 1.0));
            assert_close(&run(Average::Polynomial { power: 1.0 }, steps), &direct(1..=steps, |t| t));
            assert_close(
                &run(Average::Polynomial { power: 2.0 }, steps),
                &direct(1..=steps, |t| t * (t + 1.0)),
            );
            for discount in [0.3f64, 0.9, 0.999_999, 1.0] {
                let weight = |t: f64| discount.powf(t + 1.0);
                let prox = Average::Discounted { discount, includes_start: false };
                assert_close(&run(prox, steps), &direct(1..=steps, weight));
                let proj = Average::Discounted { discount, includes_start: true };
                assert_close(&run(proj, steps), &direct(0..=steps - 1, weight));
            }
        }
    }

    #[test]
    fn before_any_step_every_average_is_the_start() {
        for kind in [
            Average::Last,
            Average::Uniform,
            Average::prox(2.0, 0.1).unwrap(),
            Average::proj(2.0, 0.1).unwrap(),
        ] {
            assert_eq!(Averager::new(kind, 2).unwrap().finish(&[3.0, 4.0]).unwrap(), [3.0, 4.0]);
        }
    }

    #[test]
    fn long_runs_neither_overflow_nor_leave_the_hull() {
        for kind in [
            Average::Discounted { discount: 0.5, includes_start: true },
            Average::Discounted { discount: 1.0 - 1e-6, includes_start: false },
            Average::Uniform,
            Average::Polynomial { power: 3.0 },
        ] {
            let mut averager = Averager::new(kind, 1).unwrap();
            let steps = 3_000_000u64;
            (0..steps).for_each(|t| averager.add(t, &[if t % 2 == 0 { 1.0 } else { 2.0 }]).unwrap());
            let answer = averager.finish(&[1.0]).unwrap()[0];
            assert!((1.0..=2.0).contains(&answer), "{kind}: {answer}");
        }
        let kind = Average::Discounted { discount: 0.5, includes_start: true };
        let mut averager = Averager::new(kind, 1).unwrap();
        (0..3000).for_each(|t| averager.add(t, &[if t == 0 { 0.0 } else { 1.0 }]).unwrap());
        assert!(
            (averager.finish(&[1.0]).unwrap()[0] - 0.5).abs() < 1e-15,
            "the start keeps half of all weight"
        );
    }

    #[test]
    fn the_running_coefficient_matches_its_closed_form_after_a_million_steps() {
        let discount = 1.0 - 2e-6;
        let mut averager = Averager::new(Average::Discounted { discount, includes_start: true }, 1).unwrap();
        let steps = 1_000_000u64;
        (0..steps).for_each(|t| averager.add(t, &[t as f64]).unwrap());
        let log = (-2e-6f64).ln_1p();
        let closed = 2e-6 * ((steps - 1) as f64 * log).exp() / -(steps as f64 * log).exp_m1();
        assert!((averager.coefficient / closed - 1.0).abs() < 1e-9);
    }

    #[test]
    fn discounts_outside_the_unit_interval_are_refused() {
        for discount in [0.0, -0.1, 1.1, f64::NAN] {
            assert!(Averager::new(Average::Discounted { discount, includes_start: true }, 1).is_err());
        }
        assert!(Averager::new(Average::Polynomial { power: -1.0 }, 1).is_err());
        assert!(Average::prox(f64::NAN, 0.1).is_err());
    }
}

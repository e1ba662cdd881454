//! Rows that are coded anew for each noise: times to an event as counts, and counts with gamma rates as trials.
//!
//! ```text
//! weibull      κeˢ − δs = e^{s'} − δs' + δ(s' − s),        s' = s + (1/σ) log(t/u): a Poisson row with response δ and this offset
//! negbinomial  (y + r) log(1 + e^{s'}) − ys',              s' = s − log r: y + r logistic trials with y successes, y + r not whole
//! ```

use super::Rows;
use crate::base::error::{Error, Result};
use crate::glm::Family;
use crate::glm::design::Design;

/// What was observed and given, from which responses, weights and offsets follow.
#[derive(Clone, Debug)]
pub(super) struct Given {
    /// log(t/u) of times, or counts.
    values: Vec<f64>,
    weights: Vec<f64>,
    offsets: Option<Vec<f64>>,
}

impl Rows {
    /// Times to an event: t_n, and 1 where the event was observed then, or 0 where the row was censored, so that its event comes later.
    /// `family` is [`Family::Weibull`] or [`Family::ExponentialTime`].
    pub fn survival(family: Family, design: Design, times: &[f64], events: &[f64]) -> Result<Self> {
        if family.hazard_shape().is_none() {
            return Err(Error::NoEvents { family: family.name() });
        }
        if events.len() != times.len() {
            return Err(Error::Shape { what: "events", found: events.len(), expected: times.len() });
        }
        let is = |x: f64, label: f64| (x - label).abs() <= 0.0;
        if let Some(row) = events.iter().position(|&x| !is(x, 0.0) && !is(x, 1.0)) {
            let needed = "an event of 1 (seen at that time) or 0 (censored: not seen until then)";
            return Err(Error::Response { family: family.name(), row, value: events[row], needed });
        }
        let mut rows = Self::new(family, design, times)?;
        rows.response = events.to_vec();
        Ok(rows)
    }

    /// Codes rows that were just made from their responses; all times are those of events.
    pub(super) fn recoded(mut self) -> Self {
        let values = match (self.family.time_unit(), self.family.count_shape()) {
            (Some(unit), _) => {
                let logs = self.response.iter().map(|t| (t / unit).ln()).collect();
                self.response.fill(1.0);
                logs
            }
            (None, Some(_)) => self.response.clone(),
            (None, None) => return self,
        };
        self.given = Some(Box::new(Given { values, weights: self.weights.clone(), offsets: None }));
        self.coded()
    }

    /// Other weights, if the rows are recoded.
    pub(super) fn recoded_with_weights(mut self, weights: &[f64]) -> Self {
        if let Some(given) = &mut self.given {
            given.weights = weights.to_vec();
        }
        self.coded()
    }

    /// Other offsets, if the rows are recoded.
    pub(super) fn recoded_with_offsets(mut self, offsets: &[f64]) -> Self {
        if let Some(given) = &mut self.given {
            given.offsets = Some(offsets.to_vec());
        }
        self.coded()
    }

    /// The same for another noise.
    pub(super) fn recoded_for(mut self, family: Family) -> Self {
        self.family = family;
        self.coded()
    }

    /// Responses, weights and offsets, from what was given.
    fn coded(mut self) -> Self {
        let Some(given) = &self.given else { return self };
        let offset = |n: usize| given.offsets.as_ref().map_or(0.0, |offsets| offsets[n]);
        let values = || given.values.iter().enumerate();
        if let Some(shape) = self.family.hazard_shape() {
            self.offsets = Some(values().map(|(n, log)| offset(n) + shape * log).collect());
            self.weights.clone_from(&given.weights);
        } else if let Some(r) = self.family.count_shape() {
            let shift = r.ln();
            self.offsets = Some((0..given.values.len()).map(|n| offset(n) - shift).collect());
            self.response = values().map(|(_, y)| y / (y + r)).collect();
            self.weights = values().map(|(n, y)| given.weights[n] * (y + r)).collect();
        }
        self.unweighted = self.weights.iter().all(|w| w.to_bits() == 1f64.to_bits());
        self.known = std::sync::OnceLock::new();
        self
    }

    /// Some of the rows.
    pub(super) fn part_of_given(&self, which: &[usize]) -> Option<Box<Given>> {
        let of = |values: &[f64]| which.iter().map(|&n| values[n]).collect::<Vec<f64>>();
        self.given.as_ref().map(|given| {
            Box::new(Given {
                values: of(&given.values),
                weights: of(&given.weights),
                offsets: given.offsets.as_deref().map(of),
            })
        })
    }

    /// The weights and the offsets that were given.
    pub(crate) fn given_weights(&self) -> &[f64] {
        self.given.as_ref().map_or(&self.weights, |given| &given.weights)
    }

    pub(crate) fn given_offsets(&self) -> Option<&[f64]> {
        match &self.given {
            Some(given) => given.offsets.as_deref(),
            None => self.offsets.as_deref(),
        }
    }

    /// The offsets that were given; those of times to an event with log(t/u), whatever the noise.
    pub(super) fn plain_offsets(&self) -> Option<std::borrow::Cow<'_, [f64]>> {
        match (&self.given, self.family.hazard_shape()) {
            (Some(given), Some(_)) => {
                let offset = |n: usize| given.offsets.as_ref().map_or(0.0, |offsets| offsets[n]);
                Some(given.values.iter().enumerate().map(|(n, log)| offset(n) + log).collect())
            }
            _ => self.given_offsets().map(std::borrow::Cow::Borrowed),
        }
    }

    /// The response of row n as it was observed: a time or a count; with trials, the share of successes.
    pub(crate) fn observed(&self, n: usize) -> f64 {
        match (&self.given, self.family.time_unit()) {
            (Some(given), Some(unit)) => given.values[n].exp() * unit,
            (Some(given), None) => given.values[n],
            (None, _) => self.response[n],
        }
    }

    /// log(t/u) of a time or a count, if the rows are recoded, and the weight that was given.
    pub(crate) fn given_of(&self, n: usize) -> Option<[f64; 2]> {
        self.given.as_ref().map(|given| [given.values[n], given.weights[n]])
    }

    /// Whether the event of row n was seen; true for responses that are not times.
    pub(crate) fn is_event(&self, n: usize) -> bool {
        self.family.hazard_shape().is_none() || self.response[n] > 0.5
    }

    /// The part of row n's offset that the noise determines.
    pub(crate) fn lever(&self, n: usize) -> f64 {
        match (&self.given, self.family.hazard_shape()) {
            (Some(given), Some(shape)) => shape * given.values[n],
            _ => 0.0,
        }
    }

    /// The constants of recoded rows, and the sum of their sizes.
    pub(super) fn recoded_constant(&self, family: Family) -> Option<[f64; 2]> {
        let given = self.given.as_ref()?;
        let add = |[sum, size]: [f64; 2], [x, y]: [f64; 2]| [sum + x, size + y];
        let each = given.weights.iter().enumerate().map(|(n, w)| {
            let x = match family.time_unit() {
                Some(unit) => {
                    family.constant(self.response[n]) + self.response[n] * (given.values[n] + unit.ln())
                }
                None => family.constant(given.values[n]),
            };
            // Sums of a few terms of about the size of y log y.
            let size = match family.time_unit() {
                Some(unit) => self.response[n] * (given.values[n].abs() + unit.ln().abs()),
                None => {
                    libm::lgamma(given.values[n] + 1.0)
                        + given.values[n] * (1.0 + self.log_shape(family).abs())
                }
            };
            [w * x, w * (4.0 + x.abs() + 4.0 * size)]
        });
        Some(each.fold([0.0; 2], add))
    }

    fn log_shape(&self, family: Family) -> f64 {
        family.count_shape().unwrap_or(1.0).ln()
    }

    /// Σ w_nδ_n log t_n and Σ w_nδ_n |log t_n|, for times to an event.
    pub(crate) fn log_times(&self) -> [f64; 2] {
        let (Some(given), Some(unit)) = (&self.given, self.family.time_unit()) else { return [0.0; 2] };
        let logs = given.values.iter().zip(&given.weights).zip(&self.response);
        logs.map(|((log, w), event)| {
            [w * event * (log + unit.ln()), w * event * (log.abs() + unit.ln().abs())]
        })
        .fold([0.0; 2], |[sum, size], [x, y]| [sum + x, size + y])
    }
}

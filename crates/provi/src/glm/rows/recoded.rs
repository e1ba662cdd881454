//! Rows that are coded anew for each noise: times to an event as counts, and counts with gamma rates as trials.
//!
//! ```text
//! weibull      κeˢ − δs = e^{s'} − δs' + δ(s' − s),        s' = s + (1/σ) log(t/u): a Poisson row with response δ and this offset; with late
//!              entries or intervals as in `times`
//! negbinomial  (y + r) log(1 + e^{s'}) − ys',              s' = s − log r: y + r logistic trials with y successes, y + r not whole
//! ordered      one or two logistic rows,                  s' = s less the middle of the gap that its category fills ([`crate::target::Gaps`])
//! ```

use super::Rows;
use super::times::{Known, Lever, Seen, Span, Time, Times};
use crate::base::error::{Error, Result};
use crate::glm::Family;
use crate::glm::design::Design;

/// What was observed and given, from which responses, weights and offsets follow.
#[derive(Clone, Debug)]
pub(super) struct Given {
    /// log(t/u) of times, or counts, or categories.
    values: Vec<f64>,
    weights: Vec<f64>,
    offsets: Option<Vec<f64>>,
    /// How times are known.
    seen: Vec<Seen>,
    /// Of times, if some have entries or lie in intervals.
    spans: Option<Vec<Span>>,
}

impl Given {
    /// What is known of the time of row n.
    fn known(&self, n: usize) -> Option<Known> {
        let span = self.spans.as_ref().map_or(Span::WHOLE, |spans| spans[n]);
        self.seen.get(n).map(|&seen| Known { seen, log: self.values[n], span })
    }
}

/// A response of a recoded family as it was given.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GivenRow {
    /// log(t/u) of a time, or a count, or a category.
    pub(crate) value: f64,
    pub(crate) weight: f64,
    known: Option<Known>,
}

impl GivenRow {
    /// The constant of the row, without its weight, and the sum of the absolute values of its terms.
    pub(crate) fn constant(&self, family: Family) -> [f64; 2] {
        match (self.known, family.hazard_shape(), family.time_unit()) {
            (Some(known), Some(shape), Some(unit)) => known.constant(shape, unit),
            _ if family.gaps().is_some() => [family.constant(self.value); 2],
            _ => {
                // Sums of a few terms of about the size of y log y.
                let log_shape = family.count_shape().unwrap_or(1.0).ln();
                let size = libm::lgamma(self.value + 1.0) + self.value * (1.0 + log_shape.abs());
                [family.constant(self.value), size]
            }
        }
    }

    /// The response of a time under another noise, and by how much its predictor differs from that under the one before.
    pub(crate) fn time_under(&self, family: Family, before: Family) -> Option<(f64, f64)> {
        let known = self.known?;
        let [new, old] = [family.hazard_shape()?, before.hazard_shape()?].map(|shape| known.coded(shape));
        Some((known.response(new, family.is_coarse()), new.offset - old.offset))
    }
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
        let refuse = |row, value, needed| Error::Response { family: family.name(), row, value, needed };
        let each = |(row, (&t, &event)): (usize, (&f64, &f64))| {
            Time::seen(t, event).map_err(|needed| refuse(row, event, needed))
        };
        let times: Result<Vec<Time>> = times.iter().zip(events).enumerate().map(each).collect();
        Self::times(family, design, &times?)
    }

    /// Times to an event that are seen, censored on the right, on the left or by an interval, from a late entry on or from the beginning.
    /// `family` is as for [`Rows::survival`].
    pub fn times(family: Family, design: Design, times: &[Time]) -> Result<Self> {
        let (Some(_), Some(unit)) = (family.hazard_shape(), family.time_unit()) else {
            return Err(Error::NoEvents { family: family.name() });
        };
        let all = Times::new(family.name(), times, unit)?;
        let last: Vec<f64> = times.iter().map(|time| time.last()).collect();
        let mut rows = Self::new(family, design, &last)?;
        rows.family = family.with_coarse(family.is_coarse() || all.coarse);
        rows.take_times(all);
        rows.coded().with_spans_that_fit()
    }

    fn take_times(&mut self, times: Times) {
        let Times { logs: values, seen, spans, .. } = times;
        self.given =
            Some(Box::new(Given { values, weights: self.weights.clone(), offsets: None, seen, spans }));
    }

    /// Codes rows that were just made from their responses; all times are those of events.
    pub(super) fn recoded(mut self) -> Self {
        let (values, seen) = match self.family.time_unit() {
            Some(unit) => {
                let logs = self.response.iter().map(|t| (t / unit).ln()).collect();
                (logs, vec![Seen::At; self.response.len()])
            }
            None if self.family.is_recoded() => (self.response.clone(), Vec::new()),
            None => return self,
        };
        let (weights, offsets, spans) = (self.weights.clone(), None, None);
        self.given = Some(Box::new(Given { values, weights, offsets, seen, spans }));
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
    pub(super) fn recoded_for(mut self, family: Family) -> Result<Self> {
        let within = self.given.as_ref().is_some_and(|given| given.seen.contains(&Seen::Within));
        if within && !family.is_coarse() {
            let found = "times within intervals (say `coarse: true`)";
            return Err(Error::OtherFamily { found, expected: family.name() });
        }
        if let (Some(gaps), Some(before)) = (family.gaps(), self.family.gaps())
            && gaps.categories() != before.categories()
        {
            let (found, expected) = (gaps.categories(), before.categories());
            return Err(Error::Shape { what: "categories", found, expected });
        }
        self.family = family;
        self.coded().with_spans_that_fit()
    }

    /// Refuses intervals whose hazards double precision cannot hold side by side.
    fn with_spans_that_fit(self) -> Result<Self> {
        let (Some(given), Some(shape)) = (&self.given, self.family.hazard_shape()) else { return Ok(self) };
        let wide = |&n: &usize| given.known(n).is_some_and(|known| known.is_too_wide(shape));
        match (0..given.seen.len()).find(wide) {
            Some(row) => {
                let needed = "an interval whose ends are nearer to each other: with so small a noise sd, the hazard before it is less than 1e-304 of \
                              that within it; give a larger noise sd, or leave the row out";
                Err(Error::Response { family: self.family.name(), row, value: self.observed(row), needed })
            }
            None => Ok(self),
        }
    }

    /// Responses, weights and offsets, from what was given.
    fn coded(mut self) -> Self {
        let Some(given) = &self.given else { return self };
        let offset = |n: usize| given.offsets.as_ref().map_or(0.0, |offsets| offsets[n]);
        let values = || given.values.iter().enumerate();
        if let Some(shape) = self.family.hazard_shape() {
            let times = || (0..given.values.len()).filter_map(|n| Some((n, given.known(n)?)));
            let coarse = self.family.is_coarse();
            self.offsets = Some(times().map(|(n, known)| offset(n) + known.coded(shape).offset).collect());
            self.response = times().map(|(_, known)| known.response(known.coded(shape), coarse)).collect();
            self.weights.clone_from(&given.weights);
        } else if let Some(r) = self.family.count_shape() {
            let shift = r.ln();
            self.offsets = Some((0..given.values.len()).map(|n| offset(n) - shift).collect());
            self.response = values().map(|(_, y)| y / (y + r)).collect();
            self.weights = values().map(|(n, y)| given.weights[n] * (y + r)).collect();
        } else if let Some(gaps) = self.family.gaps() {
            let coded: Vec<(f64, f64)> = given.values.iter().map(|&category| gaps.code(category)).collect();
            self.response = coded.iter().map(|(y, _)| *y).collect();
            self.offsets = Some(coded.iter().enumerate().map(|(n, (_, shift))| offset(n) + shift).collect());
            self.weights.clone_from(&given.weights);
        }
        self.unweighted = self.weights.iter().all(|w| w.to_bits() == 1f64.to_bits());
        self.has_changed();
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
                seen: which.iter().filter_map(|&n| given.seen.get(n).copied()).collect(),
                spans: given.spans.as_ref().map(|spans| which.iter().map(|&n| spans[n]).collect()),
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

    /// The offsets that were given; those of times to an event with log((t − e)/u), the time for which a row was watched, whatever the noise.
    pub(super) fn plain_offsets(&self) -> Option<std::borrow::Cow<'_, [f64]>> {
        match (&self.given, self.family.hazard_shape()) {
            (Some(given), Some(_)) => {
                let offset = |n: usize| given.offsets.as_ref().map_or(0.0, |offsets| offsets[n]);
                let watched = |n: usize| given.known(n).map_or(0.0, Known::log_watched);
                Some((0..given.values.len()).map(|n| offset(n) + watched(n)).collect())
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

    /// What was given of row n, if the rows are recoded.
    pub(crate) fn given_of(&self, n: usize) -> Option<GivenRow> {
        self.given.as_ref().map(|given| GivenRow {
            value: given.values[n],
            weight: given.weights[n],
            known: given.known(n),
        })
    }

    /// What is known of the time of row n, if it is one: the entry, and between which times its event came.
    pub(crate) fn time(&self, n: usize) -> Option<Time> {
        let (given, unit) = (self.given.as_ref()?, self.family.time_unit()?);
        Some(given.known(n)?.time(unit))
    }

    /// Whether the event of row n came before the row was last seen; true for responses that are not times.
    pub(crate) fn is_event(&self, n: usize) -> bool {
        let known = self.given.as_ref().and_then(|given| given.seen.get(n));
        known.is_none_or(|&seen| seen != Seen::After)
    }

    /// Whether times have entries or lie in intervals.
    pub(crate) fn has_spans(&self) -> bool {
        self.given.as_ref().is_some_and(|given| given.spans.is_some())
    }

    /// How row n depends on the noise, or on the gaps; zeros for families that are neither those of times nor ordered.
    pub(crate) fn lever(&self, n: usize) -> Lever {
        if let (Some(given), Some(_)) = (&self.given, self.family.gaps()) {
            return Lever { category: given.values[n] as usize, ..Lever::default() };
        }
        let known = self.given.as_ref().and_then(|given| given.known(n));
        match (known, self.family.hazard_shape()) {
            (Some(known), Some(shape)) => known.coded(shape).lever,
            _ => Lever::default(),
        }
    }

    /// The size of the numbers whose sum is the offset of row n: that of the one that was given and of what the coding adds, which may cancel.
    /// The cut points of ordered categories are sums of up to nine gaps, and half a gap is added and subtracted once more: three times as many units
    /// cover what that rounds.
    pub(crate) fn offset_size(&self, n: usize) -> f64 {
        let Some(offset) = self.offsets.as_ref().map(|offsets| offsets[n]) else { return 0.0 };
        let Some(given) = &self.given else { return offset.abs() };
        let own = given.offsets.as_ref().map_or(0.0, |offsets| offsets[n]);
        let size = own.abs() + (offset - own).abs();
        match self.family.gaps() {
            Some(_) => 3.0 * (size + (-0.5 * self.response[n]).max(0.0)),
            None => size,
        }
    }

    /// Whether some rows have a lever that is not zero.
    pub(crate) fn has_levers(&self) -> bool {
        self.family.hazard_shape().is_some() || self.family.gaps().is_some()
    }

    /// The constants of recoded rows, and the sum of their sizes.
    pub(super) fn recoded_constant(&self, family: Family) -> Option<[f64; 2]> {
        self.given.as_ref()?;
        let each = (0..self.len()).filter_map(|n| {
            let row = self.given_of(n)?;
            let ([x, size], w) = (row.constant(family), row.weight);
            Some([w * x, w * (4.0 + x.abs() + 4.0 * size)])
        });
        Some(each.fold([0.0; 2], |[sum, size], [x, y]| [sum + x, size + y]))
    }

    /// Σ w_nδ_n log t_n and Σ w_nδ_n |log t_n|, for times to an event; δ_n is 1 where it was seen at that time.
    pub(crate) fn log_times(&self) -> [f64; 2] {
        let (Some(given), Some(unit)) = (&self.given, self.family.time_unit()) else { return [0.0; 2] };
        let events = (0..self.len()).filter(|&n| given.seen[n] == Seen::At);
        events
            .map(|n| (given.weights[n], given.values[n]))
            .map(|(w, log)| [w * (log + unit.ln()), w * (log.abs() + unit.ln().abs())])
            .fold([0.0; 2], |[sum, size], [x, y]| [sum + x, size + y])
    }
}

//! Whether the route pays, and with which K, P and κ: decided by pilot draws that are used for nothing else.

use super::hat::Hat;
use super::moments::Sums;
use super::{COLUMNS, MOST, Pairs, Sharp, conjugates};
use crate::base::draws::{Draws, Purpose};
use crate::base::error::{Error, Result};
use crate::base::linalg::{norm, safe_congruence};
use crate::base::stop;
use crate::certify::audit::events::{Event, Tally};
use crate::certify::audit::every::Guesses;
use crate::certify::audit::metric::Metric;
use crate::certify::audit::residual::{Residuals, go_on};
use crate::certify::audit::{Session, USUAL};
use crate::target::LocalCurvature;
use crate::theory::santalo;
use provi_kernels::triangle;
use std::sync::Arc;

/// Pilot draws: pairs that choose K, and ascents that choose each h.
const PILOT_PAIRS: u64 = 300;
const PILOT_ASCENTS: u64 = 200;

/// Radii, in the coordinates where q is standard, whose least curvature is tried as P.
const RADII: [f64; 4] = [0.2, 0.4, 0.7, 1.1];
/// If only H_lo is known: the shares of H_lo that are mixed with I.
const PARTS: [f64; RADII.len()] = [0.02, 0.07, 0.2, 0.4];
/// Shares of the draws: pairs of q, draws of h, ascents.
const SHARES: [f64; 3] = [0.4, 1.5, 0.6];
/// How many times as many draws may be spent. It is the least number for which the bound is foreseen within `USEFUL` of the KL that the pilot
/// saw, or for which more would gain little; where more draws than usual were asked for, the least for which it is within `TIGHT` of it.
const TIMES: [f64; 3] = [1.0, 2.0, 4.0];
const USEFUL: f64 = 1.3;
/// Twice the draws must be foreseen to bring the bound to this part of itself.
const GAIN: f64 = 0.9;
const TIGHT: f64 = 1.1;

impl Session<'_> {
    /// The route, if the pilot predicts a bound below `plain` nats.
    pub(in crate::certify::audit) fn consider_sharp(
        &mut self,
        residuals: &Residuals<'_>,
        metric: &Metric,
        plain: f64,
        delta: f64,
    ) -> Result<Option<Sharp>> {
        let total = self.options.draws as f64;
        let spend = |times: f64| SHARES.map(|share| (share * times * total).clamp(1.0, MOST as f64) as u64);
        let counts = spend(1.0);
        let (delta, moments_delta) = (delta / 8.0, delta / 2.0);
        let log = (1.0 / delta).ln();
        // The cost of confidence alone if h has the mass of q.
        let floor = log * (1.0 / counts[1] as f64 + 1.0 / counts[2] as f64);
        if plain <= 1.2 * floor {
            return Ok(None);
        }
        // Once a stop is wanted, the remaining time is better spent on the draws of the other statements.
        if stop::check_early().is_err() {
            return Ok(None);
        }
        let draws = Draws::new(self.seed, Purpose::Pilot);
        let mut pilot = Pilot { residuals, metric, f: self.exact.map(|f| f.value), draws };
        let core = pilot.core(self)?;
        let Some(core) = core.filter(|core| (core.excess(counts[0], log) + floor).ln_1p() < plain) else {
            return Ok(None);
        };
        let mut best: Option<(Price, Hat, Vec<f64>)> = None;
        let local = self.target.target().local_curvature(self.q)?;
        for k in 0..RADII.len() {
            if stop::check_early().is_err() {
                return Ok(None);
            }
            let Some(hat) = self.candidate(local.as_deref(), k)? else { continue };
            let Some(heights) = pilot.heights(self, &hat)? else { continue };
            let Some(price) = price(&hat, &heights, counts, log) else { continue };
            let better = best.as_ref().is_none_or(|(known, ..)| price.nats < known.nats);
            if better {
                best = Some((price, hat, heights));
            } else {
                // The radii are in order: from the best one on they only get worse.
                break;
            }
        }
        let Some((_, hat, heights)) = best else { return Ok(None) };
        // All of it where a goal is set: what is foreseen is the KL alone.
        let times = if self.options.goal.is_empty() { &TIMES[..] } else { &TIMES[TIMES.len() - 1..] };
        let foreseen = times.iter().filter_map(|&times| {
            let counts = spend(times);
            let price = price(&hat, &heights, counts, log)?;
            Some((counts, price, (core.excess(counts[0], log) + price.nats).ln_1p()))
        });
        let (enough, gain) = if self.options.draws > USUAL { (TIGHT, 1.0) } else { (USEFUL, GAIN) };
        let mut chosen: Option<([u64; 3], Price, f64)> = None;
        for found in foreseen {
            if chosen.is_some_and(|(.., known)| known <= enough * core.seen || found.2 > gain * known) {
                break;
            }
            chosen = Some(found);
        }
        let Some((counts, price, predicted)) = chosen else { return Ok(None) };
        let Core { cap, believed, directions, guesses, events, event_guesses, .. } = core;
        Ok((predicted < plain).then_some(Sharp {
            hat: hat.at(price.height),
            constant: pilot.f.unwrap_or_default(),
            cap,
            believed,
            counts,
            delta,
            moments_delta,
            directions,
            guesses,
            events,
            event_guesses,
            foreseen: predicted,
        }))
    }

    /// The coefficients as unit vectors in the coordinates where q is standard: those of the audit, which are the
    /// user's up to their units, and the user's intercept if it differs. Empty if there are too many.
    pub(in crate::certify::audit) fn directions(&self) -> Vec<f64> {
        let d = self.q.dim();
        if d > COLUMNS {
            return Vec::new();
        }
        let unit = |i: usize| (0..d).map(|j| f64::from(u8::from(i == j))).collect::<Vec<f64>>();
        let intercept = self.image.intercept().map(|i| self.image.pull(&unit(i)));
        let mut out = Vec::new();
        for v in (0..d).map(unit).chain(intercept) {
            let mut pulled = vec![0.0; d];
            triangle::multiply_transposed(self.q.factor(), &v, &mut pulled);
            let size = norm(&pulled);
            out.extend(pulled.iter().map(|x| x / size));
        }
        if out.iter().all(|x| x.is_finite()) { out } else { Vec::new() }
    }

    /// The k-th candidate for P: the least curvature near q, or H_lo mixed into I.
    fn candidate(&self, local: Option<&dyn LocalCurvature>, k: usize) -> Result<Option<Hat>> {
        let d = self.q.dim();
        let lower = match local {
            Some(local) => local.lower(&RADII[k..=k])?.swap_remove(0),
            None => self.curvature.lower().to_matrix(d),
        };
        let mut precision = safe_congruence(&lower, &self.factor, 0.0, -1.0);
        if local.is_none() {
            precision.entries_mut().iter_mut().for_each(|x| *x *= PARTS[k]);
            (0..d).for_each(|i| precision[(i, i)] += 1.0 - PARTS[k]);
        }
        Ok(Hat::new(&precision))
    }
}

/// What the pilot's pairs chose.
struct Core {
    /// log K.
    cap: f64,
    believed: [f64; 2],
    /// The mean of min(ϖ, K) and its deviation, and log of the mean.
    mean: f64,
    deviation: f64,
    seen: f64,
    directions: Vec<f64>,
    guesses: Guesses,
    events: Arc<[Event]>,
    event_guesses: Vec<f64>,
}

impl Core {
    /// The predicted bound of E_q min(ϖ, K) − 1 with its confidence, from so many pairs.
    fn excess(&self, count: u64, log: f64) -> f64 {
        (self.mean + self.deviation * (2.0 * log / count as f64).sqrt() - 1.0).max(0.0)
    }
}

/// The predicted second and third terms, and the κ at which they are least.
#[derive(Clone, Copy)]
struct Price {
    nats: f64,
    height: f64,
}

/// The pilot draws.
struct Pilot<'p> {
    residuals: &'p Residuals<'p>,
    metric: &'p Metric,
    /// f̂, once it is known.
    f: Option<f64>,
    draws: Draws,
}

impl Pilot<'_> {
    /// K, the mean of min(ϖ, K), and the spread of the moments.
    fn core(&mut self, session: &mut Session<'_>) -> Result<Option<Core>> {
        let (mut values, mut points, draws) = (Vec::new(), Vec::new(), self.draws);
        let fill = |k: u64, x: &mut [f64]| {
            draws.fill(k / 2, 1, x);
            if k % 2 == 1 {
                x.iter_mut().for_each(|x| *x = -*x);
            }
        };
        let (mut ask, count) = (go_on, session.pilot_draws(PILOT_PAIRS));
        let visited = self.residuals.visit(&fill, 2 * count, [None; 2], &mut ask, &mut |at| {
            values.push(-at.value);
            points.extend_from_slice(at.u);
        });
        session.grounds.evaluations += values.len() as u64;
        match visited {
            Err(Error::TargetNotFinite { .. } | Error::Target { .. }) => return Ok(None),
            other => other?,
        }
        let (mean, deviation) = spread(&values);
        let f = *self.f.get_or_insert(-mean);
        values.iter_mut().for_each(|value| *value += f);
        let cap = (4.0 * deviation).clamp(0.3, 2.5);
        let (d, directions) = (session.q.dim(), session.directions());
        let events = session.events(&directions);
        let mut pairs = Pairs::new(Sums::new(directions.clone(), d), Tally::new(&events), cap.exp());
        for (x, value) in points.chunks_exact(d).zip(&values) {
            pairs.take(x, [(value - cap).min(0.0).exp(); 2], 0.0);
        }
        let (mean, deviation) = spread(&pairs.upper);
        let (guesses, event_guesses) = (pairs.sums.guesses(), pairs.tally.guesses());
        let near = 0.03 + 4.0 * deviation / (count as f64).sqrt();
        let believed = [(mean - near).max(0.0), (mean + near).min(1.0)];
        let (mean, deviation) = (cap.exp() * mean, cap.exp() * deviation);
        let seen = mean.ln().max(0.0);
        let core = Core { cap, believed, mean, deviation, seen, directions, guesses, events, event_guesses };
        Ok((mean + deviation).is_finite().then_some(core))
    }

    /// Upper bounds of L at draws of N(0, P).
    fn heights(&self, session: &mut Session<'_>, hat: &Hat) -> Result<Option<Vec<f64>>> {
        let draws = self.draws;
        let fill = |k: u64, y: &mut [f64]| draws.fill(k, 2, y);
        let (mut ask, f) = (go_on, self.f.unwrap_or_default());
        let count = session.pilot_draws(PILOT_ASCENTS);
        let found = conjugates(self.residuals, self.metric, hat, f, &fill, count, None, &mut ask);
        let (heights, evaluations) = match found {
            Err(Error::TargetNotFinite { .. } | Error::Target { .. }) => return Ok(None),
            other => other?,
        };
        session.grounds.evaluations += evaluations;
        Ok(Some(heights))
    }
}

/// The predicted second and third terms under h at the best κ.
fn price(hat: &Hat, heights: &[f64], counts: [u64; 3], log: f64) -> Option<Price> {
    let (_, deviation) = spread(heights);
    let top = heights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if !top.is_finite() || !deviation.is_finite() {
        return None;
    }
    let unit = (deviation / 3.0).max(1e-6);
    let mut best: Option<Price> = None;
    for step in -8..=24 {
        let height = top + 0.5 * f64::from(step) * unit;
        let n = heights.len() as f64;
        let seen: f64 = heights.iter().map(|l| -(height - l).min(0.0).exp_m1()).sum::<f64>() / n;
        // The part that so few draws do not show is assumed to decay exponentially.
        let hidden = 0.5 / n * unit.min(1.0) * (-(height - top).max(0.0) / unit).exp();
        let mass = (height + hat.volume).exp();
        let eta = seen + hidden + log / counts[2] as f64;
        let nats = mass * log / counts[1] as f64 + santalo::mass_beyond(mass, eta);
        if nats.is_finite() && best.is_none_or(|known| nats < known.nats) {
            best = Some(Price { nats, height });
        }
    }
    best
}

/// Mean and standard deviation.
fn spread(values: &[f64]) -> (f64, f64) {
    let n = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / n;
    (mean, (values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certify::certificate::DRAWS_OF_MASS;

    #[test]
    fn the_shares_add_up_to_what_certificates_say() {
        let [pairs, inner, outer] = SHARES;
        let most = TIMES[TIMES.len() - 1] * (2.0 * pairs + inner + outer);
        assert!((most - DRAWS_OF_MASS).abs() < 1e-12);
    }
}

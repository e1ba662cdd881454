//! Whether the route is worth its draws, and on which ball: by the envelope and by pilot draws that are used for nothing else.

use super::moments::Sums;
use super::{Drawing, Psi, Signs, value};
use crate::base::chunked::{self, Chunks};
use crate::base::draws::{Draws, Purpose};
use crate::base::error::{Error, Result};
use crate::base::linalg::norm;
use crate::base::stop;
use crate::certify::audit::events::{Cubic, Tally};
use crate::certify::audit::residual::{Beside, Fill, Residuals, go_on};
use crate::certify::audit::sharp::MOST;
use crate::certify::audit::{Session, USUAL};
use crate::certify::certificate::DRAWS_OF_MASS;
use crate::target::Taylor;
use crate::theory::cells::Cells;
use crate::theory::envelope::{Envelope, Far, Outside};
use provi_kernels::{cubic, dot};

/// Pilot draws.
const PILOT: u64 = 600;
/// Radii with their own bounds: at equal distances for few coefficients; for more, where a normal vector has its length and beyond.
const EVEN: u32 = 15;
const FURTHEST: f64 = 11.0;
const FEW: usize = 12;
const BEYOND: [f64; 6] = [-0.8, 0.4, 1.6, 2.9, 4.5, 6.5];
/// Balls that may be priced, every how many are at first, and what one costs in multiply-adds.
const BALLS: u32 = 24;
const STRIDE: u32 = 4;
const PRICE: usize = 1 << 20;
/// Parts of the draws that may be spent, with what is enough for each: the bound of KL as a multiple of what the pilot saw, and the errors of means, in
/// deviations, and of signs. A close bound is worth some draws, and many are for a useful one. The pilot foresees too much rather than too little.
/// From each part but the first, the least is taken that is enough, of [`STEPS`] at equal distances from the part before.
const PARTS: [(f64, f64, [f64; 2]); 5] = [
    (0.03125, 1.07, [0.01, 0.003]),
    (0.0625, 1.2, [0.02, 0.01]),
    (0.125, 1.25, [0.04, 0.02]),
    (0.25, 1.6, [0.04, 0.03]),
    (0.5, 1.5, [0.04, 0.03]),
];
const STEPS: u32 = 8;

impl Session<'_> {
    /// Whether this route will prove less than `plain` nats, as far as the pilot can tell.
    pub(in crate::certify::audit) fn consider_psi(
        &mut self,
        residuals: &Residuals<'_>,
        plain: f64,
        delta: f64,
    ) -> Result<Option<Psi>> {
        let Some(exact) = self.exact else { return Ok(None) };
        let d = self.q.dim();
        // Once a stop is wanted the time is better spent on the draws of the other statements.
        if d > cubic::COLUMNS || stop::check_early().is_err() {
            return Ok(None);
        }
        let root = (d as f64).sqrt();
        let radii: Vec<f64> = match d <= FEW {
            true => (1..=EVEN).map(|k| (root + FURTHEST) * f64::from(k) / f64::from(EVEN)).collect(),
            false => BEYOND.iter().map(|beyond| root + beyond).collect(),
        };
        let Some(taylor) = self.taylor(&radii)? else { return Ok(None) };
        let Some((envelope, direction)) = envelope(residuals, &taylor, exact.value)? else { return Ok(None) };
        let far = match (taylor.rates, self.upper()) {
            (Some([rate, reach, trace]), _) => Far::Rates { rate, reach, trace },
            (None, Some(upper)) => Far::Curved((0..d).map(|i| upper[(i, i)]).sum::<f64>() * (1.0 + 1e-12)),
            (None, None) => return Ok(None),
        };
        let (delta, moments_delta) = (delta / 4.0, delta / 2.0);
        let most = (DRAWS_OF_MASS * self.options.draws as f64).clamp(1.0, MOST as f64);
        let log = (1.0 / delta).ln();
        let error = taylor.cubic_error;
        let Some((cells, outside, radius)) = ball(&envelope, far, error, log / most) else { return Ok(None) };
        let cubic = Cubic::new(&taylor);
        let sides = cells.ranges(0);
        let ranges = [1, 2].map(|j| cells.ranges(j).into_iter().fold(0.0, f64::max));
        let beyond = outside.whole([0.0; 2], exact.error)[1] - 1.0;
        // What is known of ψ, and what confidence alone costs.
        let known = cubic.half_square();
        let is_finite = sides.iter().chain(&ranges).chain([&known, &error]).all(|x| x.is_finite());
        if sides[0] * log / most + beyond >= plain || !is_finite || sides[0] + sides[1] <= 0.0 {
            return Ok(None);
        }
        let Some(bend) = envelope.steepest(radius) else { return Ok(None) };
        let drawing = Drawing::new(cells, &direction);
        let directions = self.directions();
        let draws = Draws::new(self.seed, Purpose::Pilot);
        let fill: &Fill<'_> = &|k, x| drawing.fill(&draws, k, 3, x);
        let (mut values, mut sums, mut above) = (Vec::new(), Sums::new(&directions, d), None);
        let range = drawing.cells.event_range(&envelope, error);
        let events = if range.is_finite() { self.events(&directions) } else { [].into() };
        let mut tally = Tally::new(&events);
        let mut signs = Signs { events, guesses: Vec::new(), error, envelope, range };
        let beside: &Beside<'_> = &|draws, numbers| cubic.at(draws, numbers);
        let count = self.pilot_draws(PILOT);
        let visited = residuals.visit_values((fill, beside), count, &mut go_on, &mut |at| {
            let place = drawing.place(&draws, values.len() as u64, 3);
            let lost = cubic.lost_at(norm(at.u));
            let (mut found, [shift, off]) =
                value(residuals, &drawing, &place, &at, (exact.value, bend), lost);
            let mut weighed = None;
            if !tally.is_empty() {
                weighed = signs.weigh(&place, &at, (at.value - exact.value, off), lost);
                found = found.filter(|_| weighed.is_some());
            }
            let [low, high] = found.unwrap_or_else(|| {
                above.get_or_insert((at.value - exact.value, norm(at.u)));
                [-sides[1], sides[0]]
            });
            values.push(high);
            let apart = sums.take(at.u, [low, high], shift);
            if let Some(weighed) = weighed {
                tally.take(at.u, sums.along(), &[weighed], apart);
            }
        });
        self.grounds.evaluations += values.len() as u64;
        match visited {
            Err(Error::TargetNotFinite { .. } | Error::Target { .. }) => return Ok(None),
            other => other?,
        }
        if let Some((value, radius)) = above {
            return Err(Error::Envelope { value, radius });
        }
        let n = values.len().max(1) as f64;
        let mean = values.iter().sum::<f64>() / n;
        let deviation = (values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n).sqrt();
        let foresee = |count: f64| {
            let width = deviation * (2.0 * log / count).sqrt() + 1.1 * sides[0] * log / count;
            (mean + known + width + beyond).max(0.0).ln_1p()
        };
        let seen = (mean + known).max(0.0).ln_1p();
        let guesses = sums.guesses();
        let moments = (2.0 * self.q.dim() as f64 / moments_delta).ln();
        let mean_error = |count: f64| {
            guesses.largest_mean() * (2.0 * moments / count).sqrt() + 1.1 * ranges[0] * moments / count
        };
        // All of them where more is asked for.
        let is_usual = self.options.goal.is_empty() && self.options.draws <= USUAL;
        let signed = tally.guesses();
        let sign = signed.iter().fold(0.0, |m: f64, x| m.max(*x));
        let sign_error =
            |count: f64| sign * (2.0 * moments / count).sqrt() + 1.1 * signs.range * moments / count;
        let is_enough = |&(part, near, [means, sure]): &(f64, f64, [f64; 2])| {
            let count = part * most;
            let is_close = foresee(count) <= near * seen && mean_error(count) <= means;
            is_usual && is_close && (signed.is_empty() || sign_error(count) <= sure)
        };
        let count = steps().find(is_enough).map_or(most, |(part, ..)| part * most);
        let (foreseen, mean_error) = (foresee(count), mean_error(count));
        signs.guesses = signed;
        Ok((foreseen < plain).then_some(Psi {
            drawing,
            outside,
            bend,
            sides,
            ranges,
            count: count.max(1.0) as u64,
            delta,
            moments_delta,
            believed: [-1.0, 1.0].map(|side| {
                let away = 16.0 * deviation / n.sqrt() + 1e-3 * (sides[0] + sides[1]);
                (mean + side * away).clamp(-sides[1], sides[0])
            }),
            directions,
            guesses,
            cubic,
            signs,
            foreseen,
            seen,
            mean_error,
        }))
    }

    fn taylor(&self, radii: &[f64]) -> Result<Option<Taylor>> {
        match self.target.target().local_curvature(self.q)? {
            Some(local) => local.taylor(radii),
            None => Ok(None),
        }
    }
}

/// The parts of the draws that may be spent, from the least on, with what is enough for each.
fn steps() -> impl Iterator<Item = (f64, f64, [f64; 2])> {
    let between = PARTS.windows(2).flat_map(|pair| {
        let ((before, ..), (part, near, errors)) = (pair[0], pair[1]);
        let step = move |k: u32| before + (part - before) * f64::from(k) / f64::from(STEPS);
        (1..=STEPS).map(move |k| (step(k), near, errors))
    });
    PARTS.into_iter().take(1).chain(between)
}

/// The envelope of log q/p̃, and the direction of τ; any where τ is zero.
fn envelope(residuals: &Residuals<'_>, taylor: &Taylor, f: f64) -> Result<Option<(Envelope, Vec<f64>)>> {
    let d = residuals.dim();
    let mut gradient = vec![0.0; d];
    residuals.visit(&|_, u| u.fill(0.0), 1, [None; 2], &mut go_on, &mut |at| {
        gradient.copy_from_slice(at.residual);
    })?;
    let here = residuals.allowances().at(0.0);
    let trace = norm(&taylor.trace);
    let direction: Vec<f64> = if trace > 0.0 && trace.is_finite() {
        taylor.trace.iter().map(|x| x / trace).collect()
    } else {
        (0..d).map(|i| f64::from(u8::from(i == 0))).collect()
    };
    let along = dot(&gradient, &direction);
    let across: Vec<f64> = gradient.iter().zip(&direction).map(|(g, v)| g - along * v).collect();
    let bias: Vec<f64> = gradient.iter().zip(&taylor.trace).map(|(g, t)| g + 0.5 * t).collect();
    // Sums of d products, and a τ that is its length times its direction up to rounding.
    let unit = 32.0 * (d as f64 + 8.0) * f64::EPSILON;
    let off = here.slope + unit * (norm(&gradient) + trace);
    let centre = residuals.center_value() - f;
    let lost = residuals.center_lost() + here.constant + unit * (residuals.center_value().abs() + f.abs());
    let [least, most] = taylor.curvature;
    let envelope = Envelope {
        dim: d,
        centre: [centre - lost, centre + lost],
        gradient: [along, norm(&across) * (1.0 + 1e-12) + off],
        bias: norm(&bias) * (1.0 + 1e-12) + off,
        trace,
        harmonic: taylor.harmonic,
        bend: [1.0 - least, most - 1.0],
        rings: taylor.rings.clone(),
    };
    Ok(envelope.is_finite().then_some((envelope, direction)))
}

/// The ball with the least price: what is beyond it, and what confidence costs in it, `share` of its range. Every few balls are priced
/// first, then those beside the best.
fn ball(envelope: &Envelope, far: Far, error: f64, share: f64) -> Option<(Cells, Outside, f64)> {
    let (first, reach) = ((envelope.dim as f64).sqrt() + 1.0, envelope.reach() * (1.0 - 1e-6));
    let priced = |k: u32| {
        let radius = first + (reach - first) * f64::from(k) / f64::from(BALLS - 1);
        let outside = Outside::new(envelope, far, radius)?;
        let beyond = outside.whole([0.0; 2], 0.0)[1] - 1.0;
        let cells = Cells::new(envelope, radius, error).filter(|_| beyond.is_finite())?;
        let price = beyond + share * cells.ranges(0)[0];
        price.is_finite().then_some((price, k, (cells, outside, radius)))
    };
    let least = |balls: &[u32]| {
        let chunks = Chunks { len: balls.len(), size: 1, work: balls.len() * PRICE };
        let all = chunked::map(chunks, |range| balls[range].iter().filter_map(|k| priced(*k)).next());
        all.into_iter().flatten().min_by(|a, b| a.0.total_cmp(&b.0))
    };
    let coarse = least(&(0..BALLS).step_by(STRIDE as usize).chain([BALLS - 1]).collect::<Vec<_>>())?;
    let near = coarse.1.saturating_sub(STRIDE - 1)..(coarse.1 + STRIDE).min(BALLS);
    let fine = least(&near.filter(|k| *k != coarse.1).collect::<Vec<_>>());
    let (_, _, best) = match fine {
        Some(fine) if fine.0 < coarse.0 => fine,
        _ => coarse,
    };
    Some(best)
}

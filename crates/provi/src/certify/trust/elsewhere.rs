//! Mass in places that the draws of q do not show.
//!
//! q's own draws see q's basin, and stretched ones a little more. A narrow part inside q, or a part far away, may hold
//! mass that neither meets. But a density leads there: where its slope disagrees with that of q, a short climb ends at
//! the top of the other part. With G the Laplace approximation at such a top, ∫ p·G/(q + G) is estimated twice, by
//! draws of G and by draws of q,
//! ```text
//! E_G[p/(q + G)]   and   E_q[(p/q)·G/(q + G)]
//! ```
//! Both have the same mean, and the integrand of the first is bounded where G fits. If the first is larger, q's draws
//! miss that much mass: the evidence with the draws of G mixed in, minus the evidence without them.

use super::limits::ELSEWHERE;
use super::stretch::{ISOTROPIC, Stretch};
use crate::base::draws::Draws;
use crate::base::error::{Error, Result};
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::linalg::norm;
use crate::base::stop;
use crate::target::evaluate::Evaluator;
use crate::target::mode::{Mode, Path, climb_for, rough_laplace};
use provi_kernels::{axpy, dot};

/// Draws of q that are climbed from, those with the most unusual slopes; and draws from farther out, those that the
/// density pulls back to q the least, and those that it pulls most strongly.
const INSIDE: usize = 4;
const AWAY: usize = 5;
const STEEP: usize = 3;
/// Far draws that are looked at, and how far they are stretched.
pub(super) const FAR_DRAWS: usize = 400;
const STRETCHES: [f64; 2] = [4.0, 8.0];
/// A draw from farther out is climbed from if the cosine between its slope and the way back to q is below this, or if
/// its slope differs from that of q by this many times its distance.
const PULLED_BACK: f64 = 0.5;
const STRONGLY: f64 = 2.0;
/// Points anywhere that are climbed from, and the sds of the Gaussians from which they are drawn, in turn.
const ANYWHERE: usize = 16;
const RADII: [f64; 2] = [2.0, 6.0];
/// How near a top a climb ends, in nats, and its most steps.
const NEAR: f64 = 0.05;
const CLIMB: usize = 100;
/// Different places that are looked at, at most, and draws at each.
const PLACES: usize = 8;
const DRAWS: usize = 400;
/// Draws of q that show how much of a place q sees.
const OWN_DRAWS: usize = 4_000;
/// Lanes of the stream of draws; 0 and 2 are those of q's own and of the wide draws.
pub(super) const FAR_LANE: u32 = 3;
const FIRST_PLACE_LANE: u32 = 4;
const ANYWHERE_LANE: u32 = FIRST_PLACE_LANE + PLACES as u32;

/// The draws of q with the most unusual slopes, the most unusual first.
#[derive(Debug, Default)]
pub(super) struct Unusual(Vec<(f64, usize)>);

impl Unusual {
    /// Sees draw k, whose whitened slope differs from q's by a vector of this length.
    pub(super) fn see(&mut self, k: usize, difference: f64, dim: usize) {
        // Slopes of a good q differ by much less than this.
        if difference <= (dim as f64).sqrt() + 3.0 {
            return;
        }
        let at = self.0.partition_point(|(other, _)| *other >= difference);
        self.0.insert(at, (difference, k));
        self.0.truncate(INSIDE);
    }
}

/// Draws from farther out whose slopes do not lead back to q: their rank, the smallest first, and the points.
#[derive(Debug, Default)]
pub(super) struct Outside {
    away: Vec<(f64, Vec<f64>)>,
    steep: Vec<(f64, Vec<f64>)>,
}

impl Outside {
    /// Sees the point z with the whitened slopes Cᵀ∇ log p and −u = Cᵀ∇ log q; for a Gaussian q, z = m + Cu.
    pub(super) fn see(&mut self, z: &[f64], u: &[f64], slope: &[f64]) {
        let keep = |list: &mut Vec<(f64, Vec<f64>)>, rank: f64, most: usize| {
            let at = list.partition_point(|(other, _)| *other <= rank);
            if at < most {
                list.insert(at, (rank, z.to_vec()));
                list.truncate(most);
            }
        };
        let cosine = -dot(u, slope) / (norm(u) * norm(slope));
        if cosine < PULLED_BACK {
            keep(&mut self.away, cosine, AWAY);
        }
        let difference = u.iter().zip(slope).map(|(u, s)| (u + s).powi(2)).sum::<f64>().sqrt() / norm(u);
        if difference.is_finite() && difference > STRONGLY {
            keep(&mut self.steep, -difference, STEEP);
        }
    }

    /// Sees points of a batch, of which the density is finite at some.
    pub(super) fn see_all(
        &mut self,
        q: &Gaussian<Triangular>,
        z: &[f64],
        u: &[f64],
        values: &[f64],
        slopes: &[f64],
    ) {
        let d = q.dim();
        let mut whitened = vec![0.0; slopes.len()];
        provi_kernels::triangle::pull_back(q.factor(), slopes, &mut whitened);
        for (k, value) in values.iter().enumerate() {
            if value.is_finite() {
                let at = k * d..(k + 1) * d;
                self.see(&z[at.clone()], &u[at.clone()], &whitened[at]);
            }
        }
    }

    fn points(self) -> impl Iterator<Item = Vec<f64>> {
        self.away.into_iter().chain(self.steep).map(|(_, z)| z)
    }
}

/// What is judged: its density, and its own draws.
pub(super) trait Law {
    /// log q(z).
    fn log_density(&self, z: &[f64]) -> Result<f64>;

    /// Writes draw k of q; `u` is working memory.
    fn draw(&self, stream: &Draws, k: usize, u: &mut [f64], z: &mut [f64]);

    /// The Gaussians of which it is made.
    fn components(&self) -> &[Gaussian<Triangular>];

    /// Writes the logarithms of their parts in q at z, which sum to one.
    fn log_shares(&self, z: &[f64], shares: &mut [f64]);
}

impl Law for Gaussian<Triangular> {
    fn log_density(&self, z: &[f64]) -> Result<f64> {
        Gaussian::log_density(self, z)
    }

    fn draw(&self, stream: &Draws, k: usize, u: &mut [f64], z: &mut [f64]) {
        stream.fill(k as u64, 0, u);
        self.transport(u, z);
    }

    fn components(&self) -> &[Gaussian<Triangular>] {
        std::slice::from_ref(self)
    }

    fn log_shares(&self, _: &[f64], shares: &mut [f64]) {
        shares[0] = 0.0;
    }
}

/// What [`look`] needs to know about q's own draws.
pub(super) struct Seen<'a> {
    pub(super) stream: &'a Draws,
    pub(super) ratios: &'a [f64],
    pub(super) log_evidence: f64,
    pub(super) unusual: &'a Unusual,
}

/// The mass of the place of which q's draws miss most, relative to the mass that they show, with its standard error;
/// zeros if every climb ends where they show the mass.
pub(super) fn look(
    target: Evaluator<'_>,
    q: &dyn Law,
    seen: &Seen<'_>,
    outside: Outside,
) -> Result<(f64, f64)> {
    let d = target.dim();
    let mut starts = Vec::new();
    for &(_, k) in &seen.unusual.0 {
        let (mut u, mut z) = (vec![0.0; d], vec![0.0; d]);
        q.draw(seen.stream, k, &mut u, &mut z);
        starts.push(settled(stepped(target, &z))?.unwrap_or(z));
    }
    starts.extend(outside.points());
    starts.extend(anywhere(q, seen.stream));
    let mut places: Vec<Gaussian<Triangular>> = Vec::new();
    let mut most = (0.0, 0.0);
    for start in starts {
        if places.len() == PLACES {
            break;
        }
        let Some(place) = settled(climbed(target, &start, &places))? else { continue };
        let lane = FIRST_PLACE_LANE + places.len() as u32;
        if let Some(found) = missed(target, q, &place, seen, lane)?
            && found.0 - 3.0 * found.1 > most.0 - 3.0 * most.1
        {
            most = found;
        }
        places.push(place);
        if most.0 - 3.0 * most.1 > ELSEWHERE {
            break;
        }
    }
    Ok(most)
}

/// Points that depend on q by its mean only: around the mean and around the origin, near and far on the scale of the
/// coordinates themselves, which is that of a search that knows nothing.
fn anywhere(q: &dyn Law, stream: &Draws) -> Vec<Vec<f64>> {
    let components = q.components();
    let d = components[0].dim();
    let point = |k: usize| {
        let (mut z, pair) = (vec![0.0; d], k / 2);
        stream.fill(k as u64, ANYWHERE_LANE, &mut z);
        // Around each component at one radius, then at the next. The origin takes its radii in turn.
        let radius = if k.is_multiple_of(2) { pair / components.len() } else { pair };
        z.iter_mut().for_each(|x| *x *= RADII[radius % RADII.len()]);
        if k.is_multiple_of(2) {
            axpy(1.0, components[pair % components.len()].mean(), &mut z);
        }
        z
    };
    (0..ANYWHERE).map(point).collect()
}

/// The point of one Newton step, if that is higher: the first step of a climb may be longer than a spike is wide.
fn stepped(target: Evaluator<'_>, start: &[f64]) -> Result<Option<Vec<f64>>> {
    let (target, d) = (target.target(), start.len());
    let (mut slope, mut there) = (vec![0.0; d], vec![0.0; d]);
    let log_density = target.log_density(start, &mut slope)?;
    let here = Mode { point: start.to_vec(), log_density, gradient_norm: norm(&slope), evaluations: 1 };
    let local = rough_laplace(target, &here)?;
    let mut whitened = vec![0.0; d];
    provi_kernels::triangle::pull_back(local.gaussian.factor(), &slope, &mut whitened);
    local.gaussian.transport(&whitened, &mut there);
    let higher = target.log_density(&there, &mut slope)? > log_density;
    Ok((local.convex && higher).then_some(there))
}

/// An error that concerns one place is no error of the whole.
fn settled<T>(found: Result<Option<T>>) -> Result<Option<T>> {
    match found {
        Err(error @ (Error::Target { .. } | Error::Stopped { .. } | Error::Reduce { .. })) => Err(error),
        Err(_) => Ok(None),
        found => found,
    }
}

/// The stretch of far draw k in d dimensions.
pub(super) fn far_stretch(k: usize, d: usize) -> Stretch {
    Stretch {
        factor: STRETCHES[k % STRETCHES.len()],
        along: (d > ISOTROPIC).then_some(k / STRETCHES.len() % d),
    }
}

/// Looks at points far out.
pub(super) fn far(
    target: Evaluator<'_>,
    q: &Gaussian<Triangular>,
    stream: &Draws,
    outside: &mut Outside,
) -> Result<()> {
    let d = q.dim();
    let (mut u, mut z) = (vec![0.0; FAR_DRAWS * d], vec![0.0; FAR_DRAWS * d]);
    for (k, u) in u.chunks_exact_mut(d).enumerate() {
        stream.fill(k as u64, FAR_LANE, u);
        far_stretch(k, d).apply(q, u);
    }
    q.transport(&u, &mut z);
    let (mut values, mut slopes) = (vec![0.0; FAR_DRAWS], vec![0.0; FAR_DRAWS * d]);
    let mut scratch = target.scratch(FAR_DRAWS);
    target.evaluate(&z, &mut values, &mut slopes, &mut scratch)?;
    stop::check()?;
    outside.see_all(q, &z, &u, &values, &slopes);
    Ok(())
}

/// The Gaussian at the top above a point; `None` if that is one of the places known already.
fn climbed(
    target: Evaluator<'_>,
    start: &[f64],
    known: &[Gaussian<Triangular>],
) -> Result<Option<Gaussian<Triangular>>> {
    let top = climb_for(target.target(), start, NEAR, CLIMB, &mut Path::default())?;
    // Two climbs to one top end within a standard deviation of each other.
    let same = |place: &Gaussian<Triangular>| {
        let at_mean = place.log_density(place.mean())?;
        Ok::<_, Error>(at_mean - place.log_density(&top.point)? < 0.5)
    };
    for place in known {
        if same(place)? {
            return Ok(None);
        }
    }
    rough_laplace(target.target(), &top).map(|found| Some(found.gaussian))
}

/// How much more mass draws of a place find there than draws of q do, with its standard error.
pub(super) fn missed(
    target: Evaluator<'_>,
    q: &dyn Law,
    place: &Gaussian<Triangular>,
    seen: &Seen<'_>,
    lane: u32,
) -> Result<Option<(f64, f64)>> {
    let d = target.dim();
    let (mut u, mut z) = (vec![0.0; DRAWS * d], vec![0.0; DRAWS * d]);
    u.chunks_exact_mut(d).enumerate().for_each(|(k, u)| seen.stream.fill(k as u64, lane, u));
    place.transport(&u, &mut z);
    let (mut values, mut slopes) = (vec![0.0; DRAWS], vec![0.0; DRAWS * d]);
    let mut scratch = target.scratch(DRAWS);
    target.evaluate(&z, &mut values, &mut slopes, &mut scratch)?;
    stop::check()?;
    let there = values.iter().zip(z.chunks_exact(d)).map(|(value, z)| {
        let both = log_sum(q.log_density(z)?, place.log_density(z)?);
        let log = value - seen.log_evidence - both;
        // A point without density has no mass.
        Ok(if log.is_nan() || *value == f64::INFINITY { 0.0 } else { log.exp() })
    });
    let there = there.collect::<Result<Vec<f64>>>()?;
    let (mut u, mut z) = (vec![0.0; d], vec![0.0; d]);
    let mut here = Vec::with_capacity(OWN_DRAWS);
    for (k, ratio) in seen.ratios.iter().take(OWN_DRAWS).enumerate() {
        q.draw(seen.stream, k, &mut u, &mut z);
        let (own, other) = (q.log_density(&z)?, place.log_density(&z)?);
        here.push((ratio - seen.log_evidence + other - log_sum(own, other)).exp());
    }
    let ((there, a), (here, b)) = (mean_and_error(&there), mean_and_error(&here));
    let found = (there - here, a.hypot(b));
    Ok((found.0.is_finite() && found.1.is_finite()).then_some(found))
}

/// log(eᵃ + eᵇ).
fn log_sum(a: f64, b: f64) -> f64 {
    let top = a.max(b);
    if top.is_finite() { top + ((a - top).exp() + (b - top).exp()).ln() } else { top }
}

fn mean_and_error(x: &[f64]) -> (f64, f64) {
    let n = x.len() as f64;
    let mean = x.iter().sum::<f64>() / n;
    (mean, (x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n * (n - 1.0))).sqrt())
}

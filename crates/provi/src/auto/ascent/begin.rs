//! The Gaussian that the steps begin with.
//!
//! If the climb ends at a mode with V convex around it, this is the Laplace approximation. Otherwise a mode is no
//! guide: the density of a hierarchical model may grow without end towards a corner that holds no mass. The ELBO is
//! what counts, so it is estimated for a local Gaussian at several points of the climb, and the best Gaussian is
//! taken.

use crate::base::draws::{Draws, Purpose, Seed};
use crate::base::error::{Error, Result};
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::stop;
use crate::target::evaluate::Evaluator;
use crate::target::mode::{Mode, Path, climb, rough_laplace};

/// Points of the climb that are compared, and pairs of draws at each.
const PLACES: usize = 10;
const PAIRS: usize = 8;
/// Where V is not convex, the local curvature says little about the width: narrower Gaussians are tried too.
const WIDTHS: [f64; 3] = [1.0, 0.3, 0.1];

/// The first q, and the evaluations that it took. If the search is cut off before it has one, q is the best point
/// of the climb with equal width in every direction.
pub(super) fn begin(
    view: Evaluator<'_>,
    seed: Seed,
    start: &[f64],
    nats: f64,
) -> Result<(Gaussian<Triangular>, u64)> {
    let mut path = Path::default();
    let found = search(view, seed, start, nats, &mut path);
    // What was computed after the cut is meaningless; what the climb recorded before is valid.
    match stop::was_cut_off().then(stop::check) {
        Some(Err(stopped)) => path.gaussian().ok_or(stopped),
        _ => found,
    }
}

fn search(
    view: Evaluator<'_>,
    seed: Seed,
    start: &[f64],
    nats: f64,
    path: &mut Path,
) -> Result<(Gaussian<Triangular>, u64)> {
    let target = view.target();
    let mode = climb(target, start, nats, path)?;
    let mut evaluations = mode.evaluations;
    let mut failure = None;
    match rough_laplace(target, &mode) {
        Ok(laplace) => {
            evaluations += laplace.evaluations;
            // If a stop is wanted, a convex place is good enough.
            if (path.converged || stop::is_urgent()) && laplace.convex {
                return Ok((laplace.gaussian, evaluations));
            }
        }
        Err(error @ Error::Stopped { .. }) => return Err(error),
        Err(error) => failure = Some(error),
    }
    let mut race = Race::new(view, seed);
    let last = path.points.len().saturating_sub(1);
    for k in 0..PLACES.min(last + 1) {
        let point = path.points[k * last / (PLACES.min(last + 1) - 1).max(1)].clone();
        race.enter(Mode { point, ..mode.clone() })?;
        if race.best.is_some() && stop::is_urgent() {
            break;
        }
    }
    if !(race.best.is_some() && stop::is_urgent()) {
        race.enter(mode)?;
    }
    evaluations += race.evaluations;
    match (race.best, failure) {
        (Some((_, q)), _) => Ok((q, evaluations)),
        (None, Some(error)) => Err(error),
        (None, None) => {
            let why = "the density is not finite around any point of the way up";
            Err(Error::NoMode { iterations: path.points.len(), gradient_norm: f64::NAN, why })
        }
    }
}

/// Local Gaussians, compared on the same draws.
struct Race<'a> {
    view: Evaluator<'a>,
    /// Half of the draws; the other half are their mirror images.
    u: Vec<f64>,
    best: Option<(f64, Gaussian<Triangular>)>,
    evaluations: u64,
}

impl<'a> Race<'a> {
    fn new(view: Evaluator<'a>, seed: Seed) -> Self {
        let d = view.dim();
        let (draws, mut u) = (Draws::new(seed, Purpose::Pilot), vec![0.0; PAIRS * d]);
        u.chunks_exact_mut(d).enumerate().for_each(|(k, u)| draws.fill(0, k as u32, u));
        Self { view, u, best: None, evaluations: 0 }
    }

    fn enter(&mut self, place: Mode) -> Result<()> {
        let laplace = match rough_laplace(self.view.target(), &place) {
            Ok(laplace) => laplace,
            // Failures of the target itself end the run; a point without a curvature is skipped.
            Err(error @ (Error::Target { .. } | Error::Stopped { .. })) => return Err(error),
            Err(_) => return Ok(()),
        };
        self.evaluations += laplace.evaluations;
        for width in WIDTHS {
            let factor: Vec<f64> = laplace.gaussian.factor().iter().map(|x| width * x).collect();
            let Ok(q) = Gaussian::new(&place.point, &factor) else { continue };
            let elbo = self.elbo(&q)?;
            if elbo.is_finite() && self.best.as_ref().is_none_or(|(best, _)| elbo > *best) {
                self.best = Some((elbo, q));
            }
        }
        Ok(())
    }

    fn elbo(&mut self, q: &Gaussian<Triangular>) -> Result<f64> {
        let d = q.dim();
        let mut points = vec![0.0; 2 * PAIRS * d];
        let (ahead, behind) = points.split_at_mut(PAIRS * d);
        q.transport(&self.u, ahead);
        for (z, mirror) in ahead.chunks_exact(d).zip(behind.chunks_exact_mut(d)) {
            (0..d).for_each(|i| mirror[i] = 2.0 * q.mean()[i] - z[i]);
        }
        let (mut values, mut gradients) = ([0.0; 2 * PAIRS], vec![0.0; points.len()]);
        let mut scratch = self.view.scratch(values.len());
        self.view.evaluate(&points, &mut values, &mut gradients, &mut scratch)?;
        self.evaluations += values.len() as u64;
        Ok(values.iter().sum::<f64>() / values.len() as f64 - q.neg_entropy()?)
    }
}

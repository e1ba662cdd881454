//! Where a search on a bare log density begins.
//!
//! A single climb from one point finds whatever mode is near, and a mode is no guide: the density of a hierarchical
//! model may grow without end towards a corner that holds no mass. So there are many cheap beginnings, and the ELBO
//! decides between them:
//!
//! - *paths*: a short quasi-Newton climb from a near or diffuse point. Each of its points with the metric learned so
//!   far is a Gaussian, and the one with the best ELBO is the candidate (Zhang, Carpenter, Gelman and Vehtari,
//!   *Pathfinder*, JMLR 23(306), 2022). The climb's end is only one of them.
//! - *wide ascents* ([`wide`]): short ascents of the ELBO from a wide diagonal Gaussian, which pass no mode at all.
//!   They are made if the paths leave doubt.
//!
//! The best candidates that lie in different places survive, and the search goes on from each.

pub(crate) mod score;
mod wide;

use crate::auto::initial::{initial_point, point_within};
use crate::base::draws::Seed;
use crate::base::error::{Error, Result};
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::stop;
use crate::target::evaluate::Evaluator;
use crate::target::mode::{Mode, Path, climb_for, rough_laplace};
use score::{Score, Scorer};

/// Beginnings of a round, and most rounds: another one follows if the best place was found only once.
const ROUND: usize = 8;
const ROUNDS: usize = 4;
/// Most steps of the climb from the first point, and from another.
const FIRST_CLIMB: usize = 400;
const CLIMB: usize = 100;
/// How near a mode a climb ends, in nats.
const NEAR: f64 = 0.05;
/// Half the widths of the cubes from which points are drawn, in turn.
const RADII: [f64; 4] = [2.0, 2.0, 0.5, 6.0];
/// Points of a path that are compared, and pairs of draws for each.
const PLACES: usize = 6;
const PAIRS: usize = 8;
/// Candidates that the search goes on from, at most.
const SURVIVORS: usize = 3;
/// If log p/q of the best candidate varies by more than this many nats, there is doubt.
const DOUBT: f64 = 1.0;
/// The widths of the wide ascents' Gaussians.
const WIDE: [f64; 2] = [1.0, 0.3];
/// Narrower Gaussians are tried where the usual width reaches a place without density.
const WIDTHS: [f64; 3] = [1.0, 0.3, 0.1];

/// A Gaussian to go on from.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    /// The Gaussian.
    pub(crate) q: Gaussian<Triangular>,
    /// Its ELBO.
    pub(crate) score: Score,
}

/// What the beginnings found.
#[derive(Debug, Default)]
pub(crate) struct Explored {
    /// The best candidate of each beginning; `None` if it found none.
    pub(crate) ends: Vec<Option<Candidate>>,
    /// Which of them survive, the best first.
    pub(crate) survivors: Vec<usize>,
    /// Evaluations made.
    pub(crate) evaluations: u64,
}

/// Explores from `centre`, for at most about `budget` evaluations. A search that is cut off returns what it has
/// found, if anything. `first` is a point at which the target is finite.
pub(crate) fn explore(
    view: Evaluator<'_>,
    seed: Seed,
    centre: &[f64],
    first: &[f64],
    budget: u64,
) -> Result<Explored> {
    let scorer = Scorer::new(view, seed, PAIRS, 0);
    let mut explorer = Explorer { view, seed, scorer, budget, found: Explored::default(), own: 0 };
    let outcome = explorer.go(centre, first);
    let mut found = explorer.finish();
    match outcome {
        // What was found before the cut is whole.
        Err(Error::Stopped { .. }) if !found.survivors.is_empty() => Ok(found),
        Err(error @ (Error::Stopped { .. } | Error::Target { .. } | Error::Reduce { .. })) => Err(error),
        // Any other error concerns one place.
        _ => {
            found.survivors.truncate(SURVIVORS);
            Ok(found)
        }
    }
}

struct Explorer<'a> {
    view: Evaluator<'a>,
    seed: Seed,
    scorer: Scorer<'a>,
    budget: u64,
    found: Explored,
    /// Evaluations other than those of the scorer.
    own: u64,
}

impl Explorer<'_> {
    fn spent(&self) -> u64 {
        self.own + self.scorer.evaluations
    }

    /// Whether to end here: a stop is wanted and there is something to keep, or the budget is spent.
    fn is_over(&self) -> bool {
        let some = self.found.ends.iter().any(Option::is_some);
        some && (stop::is_wanted() || self.spent() >= self.budget)
    }

    fn go(&mut self, centre: &[f64], first: &[f64]) -> Result<()> {
        for round in 0..ROUNDS {
            for k in 0..ROUND {
                if self.is_over() {
                    return Ok(());
                }
                let which = round * ROUND + k;
                let end = self.path(centre, first, which)?;
                self.found.ends.push(end);
            }
            if self.count_best() >= 2 {
                break;
            }
        }
        for which in self.ranked().into_iter().take(SURVIVORS) {
            if self.is_over() || self.spent() + self.view.dim() as u64 >= self.budget {
                return Ok(());
            }
            self.sharpen(which)?;
        }
        let doubtful = self.best().is_none_or(|best| best.score.spread > DOUBT);
        if doubtful || 2 * self.count_best() < self.found.ends.len() {
            for (k, width) in WIDE.into_iter().enumerate() {
                if self.is_over() || self.spent() + wide::COST > self.budget {
                    return Ok(());
                }
                let end = self.wide(first, k as u64, width)?;
                self.found.ends.push(end);
            }
            for which in self.found.ends.len() - WIDE.len()..self.found.ends.len() {
                if self.is_over() || self.spent() + self.view.dim() as u64 >= self.budget {
                    return Ok(());
                }
                self.sharpen(which)?;
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Explored {
        self.found.evaluations = self.spent();
        for which in self.ranked() {
            let Some(here) = &self.found.ends[which] else { continue };
            let new =
                |kept: &usize| self.found.ends[*kept].as_ref().is_none_or(|kept| !is_near(&kept.q, &here.q));
            if self.found.survivors.iter().all(new) {
                self.found.survivors.push(which);
            }
        }
        self.found
    }

    /// The beginnings that found something, the best first.
    fn ranked(&self) -> Vec<usize> {
        let value = |k: &usize| self.found.ends[*k].as_ref().map_or(f64::NEG_INFINITY, |c| c.score.elbo);
        let mut order: Vec<usize> =
            (0..self.found.ends.len()).filter(|k| self.found.ends[*k].is_some()).collect();
        order.sort_by(|a, b| value(b).total_cmp(&value(a)));
        order
    }

    fn best(&self) -> Option<&Candidate> {
        self.ranked().first().and_then(|k| self.found.ends[*k].as_ref())
    }

    /// How many beginnings ended where the best one did.
    fn count_best(&self) -> usize {
        let Some(best) = self.best() else { return 0 };
        self.found.ends.iter().flatten().filter(|end| is_near(&best.q, &end.q)).count()
    }

    /// A climb, and the best Gaussian along it.
    fn path(&mut self, centre: &[f64], first: &[f64], which: usize) -> Result<Option<Candidate>> {
        let target = self.view.target();
        // A given start may be far from everything: every other point is drawn around the origin.
        let origin = vec![0.0; target.dim()];
        let around = if which.is_multiple_of(2) { &origin[..] } else { centre };
        let start = match which {
            0 => first.to_vec(),
            _ => match point_within(target, around, RADII[which % RADII.len()], self.seed, which as u64) {
                Ok((point, tries)) => {
                    self.own += tries;
                    point
                }
                Err(Error::NoStart { tries, .. }) => {
                    self.own += tries;
                    return Ok(None);
                }
                Err(error) => return Err(error),
            },
        };
        let mut path = Path::with_metrics(target.dim());
        let most = if which == 0 { FIRST_CLIMB } else { CLIMB };
        let mode = match climb_for(target, &start, NEAR, most, &mut path) {
            Ok(mode) => mode,
            Err(error @ (Error::Target { .. } | Error::Stopped { .. } | Error::Reduce { .. })) => {
                return Err(error);
            }
            Err(_) => return Ok(None),
        };
        self.own += mode.evaluations;
        let count = path.metrics.len();
        let mut best: Option<Candidate> = None;
        for k in 0..PLACES.min(count) {
            // The last point, and others towards the beginning.
            let at = count - 1 - k * (count - 1) / (PLACES.min(count) - 1).max(1);
            let Some(q) = path.metrics[at].gaussian(&path.points[at]) else { continue };
            self.consider(&q, &mut best)?;
            if best.is_some() && stop::is_urgent() {
                break;
            }
        }
        Ok(best)
    }

    /// Scores q, or a narrower one where q reaches too far, and keeps the better candidate.
    fn consider(&mut self, q: &Gaussian<Triangular>, best: &mut Option<Candidate>) -> Result<()> {
        for width in WIDTHS {
            let factor: Vec<f64> = q.factor().iter().map(|x| width * x).collect();
            let Ok(q) = Gaussian::new(q.mean(), &factor) else { return Ok(()) };
            if let Some(score) = self.scorer.score(&q)? {
                if best.as_ref().is_none_or(|best| score.elbo > best.score.elbo) {
                    *best = Some(Candidate { q, score });
                }
                return Ok(());
            }
        }
        Ok(())
    }

    /// Tries the curvature at the candidate's mean instead of the learned one.
    fn sharpen(&mut self, which: usize) -> Result<()> {
        let Some(mut best) = self.found.ends[which].take() else { return Ok(()) };
        let mode =
            Mode { point: best.q.mean().to_vec(), log_density: 0.0, gradient_norm: 0.0, evaluations: 0 };
        let outcome = rough_laplace(self.view.target(), &mode).and_then(|local| {
            self.own += local.evaluations;
            let mut found = Some(best.clone());
            self.consider(&local.gaussian, &mut found)?;
            if let Some(found) = found {
                best = found;
            }
            Ok(())
        });
        self.found.ends[which] = Some(best);
        match outcome {
            Err(error @ (Error::Target { .. } | Error::Stopped { .. } | Error::Reduce { .. })) => Err(error),
            _ => Ok(()),
        }
    }

    /// A wide ascent: the first from the given start, others from diffuse points around the origin.
    fn wide(&mut self, first: &[f64], k: u64, width: f64) -> Result<Option<Candidate>> {
        let start = match k {
            0 => first.to_vec(),
            _ => match initial_point(self.view.target(), &vec![0.0; first.len()], self.seed, (1 << 20) + k) {
                Ok((point, tries)) => {
                    self.own += tries;
                    point
                }
                Err(error @ (Error::Target { .. } | Error::Stopped { .. } | Error::Reduce { .. })) => {
                    return Err(error);
                }
                Err(_) => return Ok(None),
            },
        };
        let (q, evaluations) = wide::ascend(self.view, self.seed, k, &start, width)?;
        self.own += evaluations;
        let mut best = None;
        if let Some(q) = q {
            self.consider(&q, &mut best)?;
        }
        Ok(best)
    }
}

/// Whether the mean of one lies among the draws of the other, in either direction: ‖C⁻¹(m' − m)‖ ≤ √d + 3.
pub(crate) fn is_near(a: &Gaussian<Triangular>, b: &Gaussian<Triangular>) -> bool {
    let most = (a.dim() as f64).sqrt() + 3.0;
    distance(a, b.mean()) <= most || distance(b, a.mean()) <= most
}

/// ‖C⁻¹(z − m)‖.
fn distance(q: &Gaussian<Triangular>, z: &[f64]) -> f64 {
    let constant = 0.5 * q.dim() as f64 * (2.0 * std::f64::consts::PI).ln();
    match (q.log_density(z), q.log_det()) {
        (Ok(value), Ok(log_det)) => (-2.0 * (value + constant + log_det)).max(0.0).sqrt(),
        _ => f64::INFINITY,
    }
}

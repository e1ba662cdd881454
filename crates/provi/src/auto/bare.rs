//! The search on a bare log density: no curvature is declared, so nothing is known about its shape.
//!
//! [`explore`](super::explore) gives a few Gaussians in different places. Each is carried on by a short ascent of the
//! ELBO; those that fall behind are left. The best is carried on while its ELBO rises. To see that, the averaged
//! answers of two moments, the second after twice as many evaluations, are compared on the same draws, so that the
//! difference of their ELBOs has little noise. The search ends where the difference is negligible beyond its noise, or
//! within its noise once half of the evaluations are spent, or where all are; [`Ending`] says which. In few dimensions a settled answer
//! is refined by a few long steps on many points of a net, whose noise is far smaller than that of as many independent draws.

use super::explore::score::{Score, Scorer, mean_of_pairs};
use super::explore::{Candidate, Explored, explore, is_near};
use super::search::{Beginnings, Ending, Place};
use super::{Auto, Found, Run, improper};
use crate::auto::ascent::{Ascent, Options};
use crate::auto::initial::initial_point;
use crate::base::draws::Seed;
use crate::base::error::{Error, Result};
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::stop;
use crate::sgd::fit::NegElbo;
use crate::target::watchdog::check_gradient;
use crate::watch::Snapshot;
use std::time::Duration;

/// The usual cap of evaluations of a search on a bare log density: this many,
pub const USUAL_CAP: u64 = 20_000;
/// and this many for each dimension.
pub const USUAL_CAP_PER_DIMENSION: u64 = 100;
/// The part of the cap that the beginnings may take.
const EXPLORING: f64 = 0.4;
/// Evaluations of the first short ascent of each survivor, and least steps.
const SHORT: u64 = 400;
const SHORT_STEPS: u64 = 6;
/// Rounds of short ascents, each twice as long as the last.
const ROUNDS: u32 = 2;
/// A survivor this many nats behind the best, beyond the noise, is left.
const BEHIND: f64 = 5.0;
/// Pairs of draws that compare survivors, and two moments of the search.
const COMPARING: usize = 64;
const SETTLING: usize = 256;
/// The first comparison of two moments comes after this many evaluations and steps.
const FIRST_LOOK: u64 = 1_000;
const FIRST_STEPS: u64 = 16;
/// A rise of the ELBO below this many nats is negligible.
const NEGLIGIBLE: f64 = 1e-3;
/// Standard errors that count as noise.
const SIGMAS: f64 = 2.0;
/// If the first answer is this many nats below where it began, beyond the noise, its steps led away.
const LOST: f64 = 0.1;
/// If the ELBO falls, steps are made as short as after this many turns; after this many falls the search ends.
const TURNS: u64 = 30;
const FALLS: u32 = 2;
/// An answer in at most so many dimensions is refined by this many steps on so many pairs of points, if that is no more than a quarter of the
/// cap.
const FEW: usize = 16;
const NET_STEPS: u64 = 2;
const NET: usize = 1 << 10;
const REFINING: u64 = 2 * NET_STEPS * NET as u64;
/// Where log p/q varies less than this, a search has hardly any noise.
const SPREAD: f64 = 0.05;
/// Rivals of the answer are those within this many nats of it, beyond the noise.
const RIVAL: f64 = 4.0;
/// What the comparison is called if it is stopped.
const COMPARISON: &str = "the comparison of the beginnings";

/// The cap if none is given.
pub(super) fn usual_cap(dim: usize) -> u64 {
    USUAL_CAP + USUAL_CAP_PER_DIMENSION * dim as u64
}

/// One survivor under way.
struct Racer<'a> {
    ascent: Ascent<'a>,
    /// Its best answer so far.
    q: Gaussian<Triangular>,
    score: Score,
    falls: u32,
}

impl<'a> Racer<'a> {
    /// Goes back to the best answer, with short steps from there.
    fn fall_back(&mut self, run: &Run<'a, '_>, seed: Seed) {
        self.falls += 1;
        let seed = Seed(seed.0.wrapping_add(u64::from(self.falls)));
        let fresh = Ascent::from_gaussian(run.target, seed, self.q.clone()).damped(TURNS << (2 * self.falls));
        self.ascent = fresh.continuing(&self.ascent);
    }
}

impl<'a> Run<'a, '_> {
    /// The search, in the target's standard coordinates if it has some.
    pub(super) fn search_bare(&mut self, which: u64) -> Result<Found> {
        let target = self.target.target();
        let Some(standard) = target.standardized()? else { return self.search_as_it_is(which) };
        let start = self.auto.start.as_ref().map(|_| self.auto.start(target.dim())).transpose()?;
        let start = start.map(|start| standard.map().to_standard(&start));
        let auto = Auto { start, ..self.auto.clone() };
        let (view, watch) = (standard.evaluator(self.target), &mut *self.watch);
        let (seed, begin) = (self.seed, self.begin);
        let mut inside =
            Run { auto: &auto, target: view, seed, begin, watch, trace: Vec::new(), audit_seconds: 0.0 };
        let found = inside.search_as_it_is(which)?;
        let own = |q: &Gaussian<Triangular>| standard.map().own_gaussian(q);
        let (ends, rivals) = (found.ends.iter().map(own).collect(), found.rivals.iter().map(own).collect());
        Ok(Found { q: own(&found.q), ends, rivals, ..found })
    }

    /// The search in the target's own coordinates.
    fn search_as_it_is(&mut self, which: u64) -> Result<Found> {
        let target = self.target.target();
        let seed = Seed(self.seed.0.wrapping_add(which.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        let centre = self.auto.start(target.dim())?;
        let (first, tries, check) = stop::phase("the search for a start", || {
            let (first, tries) = initial_point(target, &centre, seed, which)?;
            let check = check_gradient(target, &first, seed)?;
            Ok::<_, Error>((first, tries, check))
        })?;
        let cap = self.auto.evaluations.unwrap_or_else(|| usual_cap(target.dim()));
        let budget = (EXPLORING * cap as f64) as u64;
        let view = self.target;
        let explored = stop::careful_phase("the search for the mode", Duration::ZERO, || {
            explore(view, seed, &centre, &first, budget)
        })?;
        let mut state = State {
            cap,
            spent: explored.evaluations + check.evaluations + tries,
            trace: Vec::new(),
            stopped: false,
            wasted: 0,
        };
        let mut racers: Vec<Racer<'a>> = explored
            .survivors
            .iter()
            .filter_map(|k| explored.ends[*k].clone())
            .map(|Candidate { q, score }| Racer {
                ascent: Ascent::from_gaussian(view, seed, q.clone()),
                q,
                score,
                falls: 0,
            })
            .collect();
        if racers.is_empty() {
            // Nothing has a finite ELBO: the careful search finds a small place, or says what is wrong.
            let options = Options { start: first, ..Options::default() };
            let begin = || Ascent::new(view, seed, options);
            let ascent = stop::careful_phase("the search for the mode", Duration::ZERO, begin)?;
            let unknown = Score { elbo: f64::NEG_INFINITY, se: 0.0, spread: f64::INFINITY };
            racers.push(Racer { q: ascent.current(), ascent, score: unknown, falls: 0 });
        }
        self.race(&mut racers, &mut state, seed)?;
        let mut best = racers.remove(0);
        let before = best.q.clone();
        let ending = match self.settle(&mut best, &mut state, seed) {
            Ok(ending) => ending,
            Err(
                error @ (Error::Diverged { .. }
                | Error::TargetNotFinite { .. }
                | Error::NotPositiveDefinite { .. }),
            ) => {
                improper::check(view, &before, &best.q)?;
                return Err(error);
            }
            Err(error) => return Err(error),
        };
        if !state.stopped {
            improper::check(view, &before, &best.q)?;
        }
        let (beginnings, rivals) = record(&explored, &best, &racers, ending);
        let ends = explored.ends.into_iter().flatten().map(|end| end.q).collect();
        let known = best.ascent.neg_elbo_known().or_else(|| {
            let (value, error) = (-best.score.elbo, best.score.se);
            value.is_finite().then_some(NegElbo { value, error, exact: false })
        });
        let others: u64 = racers.iter().map(|racer| racer.ascent.evaluations()).sum();
        Ok(Found {
            known,
            steps: best.ascent.steps(),
            draws_per_step: best.ascent.draws_per_step(),
            evaluations: state.spent + best.ascent.evaluations() + others + state.wasted,
            rejected: best.ascent.rejected(),
            retreats: best.ascent.halvings(),
            looks: 0,
            stopped: state.stopped,
            audited: None,
            trace: state.trace,
            beginnings: Some(beginnings),
            ends,
            rivals,
            scatter: check.scatter,
            q: best.q,
        })
    }

    /// Short ascents of every survivor. The best one comes first, and those that fell behind or came to the same
    /// place are gone; the others are rivals.
    fn race(&mut self, racers: &mut Vec<Racer<'a>>, state: &mut State, seed: Seed) -> Result<()> {
        let mut scorer = Scorer::new(self.target, seed, COMPARING, 1);
        if racers.len() > 1 {
            // The draws that found the candidates praise them too much.
            for racer in racers.iter_mut() {
                match stop::phase(COMPARISON, || scorer.score(&racer.q)) {
                    Ok(Some(score)) => racer.score = score,
                    Ok(None) => racer.score.elbo = f64::NEG_INFINITY,
                    Err(Error::Stopped { .. }) => state.stopped = true,
                    Err(error) => return Err(error),
                }
            }
        }
        for round in 0..ROUNDS {
            if racers.len() < 2 || state.stopped {
                break;
            }
            for racer in racers.iter_mut() {
                let step = racer.ascent.draws_per_step() as u64;
                let piece = (SHORT << round).max(SHORT_STEPS * step);
                let room = state.room(racer.ascent.evaluations()) / 8;
                self.carry_on(racer, piece.min(room), state)?;
                if state.stopped {
                    break;
                }
                match stop::phase(COMPARISON, || scorer.score(&racer.ascent.current())) {
                    Ok(Some(score)) if score.elbo > racer.score.elbo => {
                        (racer.q, racer.score) = (racer.ascent.current(), score);
                    }
                    Ok(_) => racer.fall_back(self, seed),
                    Err(Error::Stopped { .. }) => state.stopped = true,
                    Err(error) => return Err(error),
                }
            }
            racers.sort_by(|a, b| b.score.elbo.total_cmp(&a.score.elbo));
            let mut kept: Vec<Racer<'a>> = Vec::new();
            for racer in racers.drain(..) {
                let same = kept.iter().any(|k| is_near(&k.q, &racer.q));
                let behind = kept.first().is_some_and(|best| {
                    best.score.elbo - racer.score.elbo > BEHIND + 3.0 * best.score.se.hypot(racer.score.se)
                });
                match same || behind {
                    true => state.wasted += racer.ascent.evaluations(),
                    false => kept.push(racer),
                }
            }
            *racers = kept;
        }
        state.spent += scorer.evaluations;
        Ok(())
    }

    /// Makes steps, and shows them.
    fn carry_on(&mut self, racer: &mut Racer<'a>, budget: u64, state: &mut State) -> Result<()> {
        // In pieces of whole steps, so that a watched run has the same bits as an unwatched one.
        let step = racer.ascent.draws_per_step() as u64;
        let piece = step * 400u64.div_ceil(step);
        let end = racer.ascent.evaluations() + budget;
        loop {
            let used = racer.ascent.evaluations();
            let left = end.saturating_sub(used);
            if left < 2 || state.stopped {
                return Ok(());
            }
            let advance = || racer.ascent.advance(piece.min(left));
            match stop::careful_phase("the search", Duration::ZERO, advance) {
                // The state before this piece of steps is complete.
                Err(Error::Stopped { .. }) => state.stopped = true,
                advanced => advanced?,
            }
            let snapshot = Snapshot {
                step: state.spent + racer.ascent.evaluations(),
                steps: state.cap,
                gamma: 1.0,
                neg_elbo: racer.ascent.neg_elbo_estimate(),
                gap: None,
            };
            state.trace.push(snapshot);
            state.stopped |= self.watch.see(&snapshot, self.begin)?.is_break();
            if racer.ascent.evaluations() <= used {
                return Ok(());
            }
        }
    }

    /// Carries the best one on while its ELBO rises.
    fn settle(&mut self, best: &mut Racer<'a>, state: &mut State, seed: Seed) -> Result<Ending> {
        let mut scorer = Scorer::new(self.target, seed, SETTLING, 2);
        let mut before: Option<Vec<f64>> = None;
        // Where there is room, the first answer is compared with where it began: steps may lead away from there.
        let mut begin = None;
        if state.room(best.ascent.evaluations()) >= 16 * SETTLING as u64 {
            begin = match stop::phase(COMPARISON, || scorer.ratios(&best.q)) {
                Err(Error::Stopped { .. }) => {
                    state.stopped = true;
                    return Ok(Ending::Stopped);
                }
                ratios => ratios?,
            };
            state.spent += 2 * SETTLING as u64;
        }
        let mut gain = (f64::INFINITY, 0.0);
        let step = best.ascent.draws_per_step() as u64;
        let mut look = FIRST_LOOK.max(FIRST_STEPS * step);
        let is_refined = best.q.dim() <= FEW && state.cap >= 4 * REFINING;
        // Kept back for the last steps.
        let kept = if is_refined { REFINING + 2 * SETTLING as u64 } else { 0 };
        let ending = loop {
            let room = state.room(best.ascent.evaluations()).saturating_sub(kept);
            let here = best.ascent.evaluations();
            self.carry_on(best, look.min(room), state)?;
            if state.stopped {
                if best.ascent.steps() > 0 && best.falls == 0 {
                    best.q = best.ascent.current();
                }
                break Ending::Stopped;
            }
            let answer = best.ascent.current();
            let ratios = match stop::phase("the comparison of two moments", || scorer.ratios(&answer)) {
                Err(Error::Stopped { .. }) => {
                    state.stopped = true;
                    best.q = answer;
                    break Ending::Stopped;
                }
                ratios => ratios?,
            };
            state.spent += 2 * SETTLING as u64;
            let left = state.room(best.ascent.evaluations()).saturating_sub(kept);
            let over = left < 2 * step || best.ascent.evaluations() <= here;
            if let (Some(now), Some(last)) = (&ratios, &before) {
                gain = mean_of_pairs(now, last);
            }
            let (rise, se) = gain;
            let fell = match (&ratios, &before, &begin) {
                (None, Some(_), _) | (None, _, Some(_)) => true,
                (Some(_), Some(_), _) => rise < -3.0 * se - NEGLIGIBLE,
                (Some(now), None, Some(begin)) => {
                    let (rise, se) = mean_of_pairs(now, begin);
                    rise < -3.0 * se - LOST
                }
                _ => false,
            };
            if fell && best.falls < FALLS && !over {
                best.fall_back(self, seed);
                continue;
            }
            if let Some(now) = ratios.filter(|_| !fell) {
                (best.q, best.score) = (answer, Score::of(&now));
                // Noise hides a rise that is worth more evaluations, as long as there are many left.
                let ample = over || best.ascent.evaluations() >= state.cap / 2;
                let settled =
                    before.is_some() && (rise + SIGMAS * se <= NEGLIGIBLE || ample && rise <= SIGMAS * se);
                if is_refined && (settled || over) {
                    self.refine(best, state, seed, (&mut scorer, &now))?;
                }
                before = Some(now);
                if settled {
                    break Ending::Settled { rise, se };
                }
            } else if before.is_none() && begin.is_none() {
                // Draws beyond the edge of the density: no ELBO, but the steps go on.
                best.q = answer;
            } else {
                break Ending::Falling;
            }
            if over {
                break match gain.0.is_finite() {
                    true => Ending::Rising { rise, se },
                    false => Ending::Unknown,
                };
            }
            look = best.ascent.evaluations().max(look);
        };
        Ok(ending)
    }

    /// Long steps with little noise from the settled answer; the answer stays if they are seen to lower its ELBO.
    fn refine(
        &mut self,
        best: &mut Racer<'a>,
        state: &mut State,
        seed: Seed,
        (scorer, before): (&mut Scorer<'a>, &[f64]),
    ) -> Result<()> {
        // Where there is hardly any noise there is nothing to do.
        if best.score.spread < SPREAD {
            return Ok(());
        }
        let fresh = Ascent::from_gaussian(self.target, seed, best.q.clone()).on_nets(NET)?;
        let fresh = fresh.continuing(&best.ascent);
        let compared = scorer.evaluations;
        let before_nets = std::mem::replace(&mut best.ascent, fresh);
        let found = match self.carry_on(best, REFINING, state) {
            Ok(()) if !state.stopped => stop::phase(COMPARISON, || scorer.ratios(&best.ascent.current())),
            Err(
                Error::Diverged { .. } | Error::TargetNotFinite { .. } | Error::NotPositiveDefinite { .. },
            )
            | Ok(()) => Ok(None),
            Err(error) => Err(error),
        };
        let ratios = match found {
            Err(Error::Stopped { .. }) => None,
            found => found?,
        };
        state.spent += scorer.evaluations - compared;
        match ratios.map(|now| (mean_of_pairs(&now, before), now)) {
            Some(((rise, se), now)) if rise > -SIGMAS * se => {
                (best.q, best.score) = (best.ascent.current(), Score::of(&now));
            }
            _ => best.ascent = before_nets.continuing(&best.ascent),
        }
        Ok(())
    }
}

/// What a search has spent and shown.
struct State {
    cap: u64,
    /// Evaluations other than those of the ascents under way.
    spent: u64,
    /// Evaluations of ascents that were left.
    wasted: u64,
    trace: Vec<Snapshot>,
    stopped: bool,
}

impl State {
    fn room(&self, ascent: u64) -> u64 {
        self.cap.saturating_sub(self.spent + self.wasted + ascent)
    }
}

/// How many beginnings ended where, and the Gaussians of the rivals.
fn record(
    explored: &Explored,
    best: &Racer<'_>,
    rivals: &[Racer<'_>],
    ending: Ending,
) -> (Beginnings, Vec<Gaussian<Triangular>>) {
    let mut places = Vec::new();
    let mut out = Beginnings { tried: explored.ends.len(), ending, ..Beginnings::default() };
    out.failed = explored.ends.iter().filter(|end| end.is_none()).count();
    for end in explored.ends.iter().flatten() {
        if is_near(&best.q, &end.q) {
            out.at_the_answer += 1;
        }
    }
    for rival in rivals {
        // Short ascents may have come to the same place after all.
        if is_near(&best.q, &rival.q) {
            continue;
        }
        let count = explored.ends.iter().flatten().filter(|end| is_near(&rival.q, &end.q)).count();
        let noise = 3.0 * rival.score.se.hypot(best.score.se);
        if best.score.elbo - rival.score.elbo <= RIVAL + noise {
            out.rivals.push(Place { beginnings: count, elbo: rival.score.elbo, elbo_se: rival.score.se });
            places.push(rival.q.clone());
        }
    }
    (out, places)
}

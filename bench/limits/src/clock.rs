//! The least of many short runs, all contenders taking turns, so that a busy machine touches them alike.

use std::time::Instant;

/// A piece of work to be timed.
pub(crate) type Work<'a> = Box<dyn FnMut() + 'a>;

/// How long a contender keeps its turn, in seconds, and how many calls it has at least.
const TURN: f64 = 2e-3;
const CALLS: usize = 3;

/// Nanoseconds of one call of each contender: the least seen in `seconds` for all of them together.
pub(crate) fn least(seconds: f64, contenders: &mut [Work<'_>]) -> Vec<f64> {
    let mut best = vec![f64::INFINITY; contenders.len()];
    // Calls far below a microsecond are timed in bundles, or the clock is what is measured.
    let bundles: Vec<u32> = contenders
        .iter_mut()
        .map(|work| {
            work();
            let start = Instant::now();
            work();
            (2e-6 / start.elapsed().as_secs_f64().max(1e-9)).ceil() as u32
        })
        .collect();
    let begin = Instant::now();
    while begin.elapsed().as_secs_f64() < seconds {
        for ((work, best), &bundle) in contenders.iter_mut().zip(&mut best).zip(&bundles) {
            let turn = Instant::now();
            // The first calls find the caches as another left them, and are not counted. One was too few for a contender that
            // shares no data with the others: its least time was a quarter longer than with three.
            (0..CALLS).for_each(|_| work());
            let mut calls = 0;
            loop {
                let start = Instant::now();
                (0..bundle).for_each(|_| work());
                *best = best.min(start.elapsed().as_nanos() as f64 / f64::from(bundle));
                calls += 1;
                if calls >= CALLS && turn.elapsed().as_secs_f64() > TURN {
                    break;
                }
            }
        }
    }
    best
}

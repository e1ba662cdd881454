//! Processes played by threads: each has its own blocks, and all get the same bits.

use super::blocks::{COLUMNS, Data, FAMILIES, prior};
use super::equal::{assert_close, numbers};
use provi::fit::{Snapshot, Watch};
use provi::scales::FreeScales;
use provi::stop::{Agreement, Signal, Stop};
use provi::stream::{Memory, Reduce, Rows, Source, Streamed};
use provi::target::{Evaluator, Family};
use provi::{Auto, Error, Method, Planner, Result, Seed};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};

/// What the ranks of one run share.
pub(crate) struct Meeting {
    size: usize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    parts: Vec<Vec<f64>>,
    arrived: usize,
    round: usize,
    /// A rank went home.
    left: bool,
}

impl Meeting {
    /// Waits for all; fails where one of them is not coming any more.
    fn wait(&self) -> Result<()> {
        let mut state = self.state.lock().unwrap();
        state.arrived += 1;
        let round = state.round;
        if state.arrived == self.size {
            (state.arrived, state.round) = (0, round + 1);
            self.changed.notify_all();
        }
        let state = self.changed.wait_while(state, |state| state.round == round && !state.left).unwrap();
        match state.round == round {
            true => Err(Error::Reduce { message: "a rank went home".into() }),
            false => Ok(()),
        }
    }
}

/// One of them.
pub(crate) struct Rank {
    meeting: Arc<Meeting>,
    rank: usize,
    size: usize,
}

impl Drop for Rank {
    fn drop(&mut self) {
        self.meeting.state.lock().unwrap().left = true;
        self.meeting.changed.notify_all();
    }
}

impl Rank {
    /// Combines the parts in the order of the ranks, so that each gets the same bits.
    fn combine(&self, values: &mut [f64], with: impl Fn(f64, f64) -> f64) -> Result<()> {
        self.meeting.state.lock().unwrap().parts[self.rank] = values.to_vec();
        self.meeting.wait()?;
        let parts = self.meeting.state.lock().unwrap().parts.clone();
        self.meeting.wait()?;
        if parts.iter().any(|part| part.len() != values.len()) {
            return Err(Error::Reduce { message: "the ranks made different calls".into() });
        }
        for (i, value) in values.iter_mut().enumerate() {
            *value = parts[1..].iter().fold(parts[0][i], |sum, part| with(sum, part[i]));
        }
        Ok(())
    }
}

impl Reduce for Rank {
    fn sum(&self, values: &mut [f64]) -> Result<()> {
        self.combine(values, |a, b| a + b)
    }
    fn largest(&self, values: &mut [f64]) -> Result<()> {
        self.combine(values, f64::max)
    }
    fn rank(&self) -> usize {
        self.rank
    }
    fn size(&self) -> usize {
        self.size
    }
}

/// Runs `work` on so many ranks; their answers in order.
pub(crate) fn on_ranks<T: Send>(size: usize, work: impl Fn(Rank) -> T + Sync) -> Vec<T> {
    let state = Mutex::new(State { parts: vec![Vec::new(); size], ..State::default() });
    let meeting = Arc::new(Meeting { size, state, changed: Condvar::new() });
    std::thread::scope(|scope| {
        let start = |rank| {
            let (meeting, work) = (Arc::clone(&meeting), &work);
            scope.spawn(move || work(Rank { meeting, rank, size }))
        };
        let threads: Vec<_> = (0..size).map(start).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// The blocks of one of so many ranks: every so-many-th one.
pub(crate) fn shard(data: &Data, rank: &Rank) -> Memory {
    let blocks = data.blocks(&[100, 130, 131, 300]);
    let own = blocks.into_iter().enumerate().filter(|(k, _)| k % rank.size == rank.rank);
    Memory::new(COLUMNS, own.map(|(_, block)| block).collect()).unwrap()
}

fn bits(numbers: &[f64]) -> Vec<u64> {
    numbers.iter().map(|x| x.to_bits()).collect()
}

#[test]
fn every_sum_is_that_of_one_process_and_the_same_bits_on_all() {
    for family in FAMILIES {
        let data = Data::new(family, 400);
        let whole = data.in_memory();
        let expected = numbers(&whole, &whole);
        // Seven ranks have five blocks: two have none.
        for size in [1, 2, 3, 7] {
            let found = on_ranks(size, |rank| {
                let source = shard(&data, &rank);
                let model = Streamed::distributed(family, source, prior(), rank).unwrap();
                assert_eq!(model.rows(), 400);
                numbers(&model, &model)
            });
            assert_close(&format!("{} on {size}", family.name()), &expected, &found[0]);
            assert!(found.iter().all(|other| bits(other) == bits(&found[0])), "{family:?} on {size}");
        }
    }
}

#[test]
fn every_rank_walks_to_the_answer_of_one_process() {
    for family in [Family::Bernoulli, Family::Poisson] {
        let data = Data::new(family, 400);
        let whole = Auto::default().run(&data.in_memory(), Seed(4)).unwrap();
        for size in [2, 3] {
            let found = on_ranks(size, |rank| {
                let source = shard(&data, &rank);
                let model = Streamed::distributed(family, source, prior(), rank).unwrap();
                let answer = Auto::default().run(Evaluator::Serial(&model), Seed(4)).unwrap();
                let certificate = answer.certificate().clone();
                let bounds = [certificate.gap.bound(), certificate.kl.bound()].map(|x| x.unwrap_or(-1.0));
                (answer.fit.gaussian.parameters().to_vec(), bounds)
            });
            assert_close(family.name(), whole.fit.gaussian.parameters(), &found[0].0);
            assert!(found.iter().all(|x| bits(&x.0) == bits(&found[0].0) && bits(&x.1) == bits(&found[0].1)));
        }
    }
}

#[test]
fn the_noise_is_that_of_all_responses() {
    let family = Family::Gaussian { noise_sd: 1.0 };
    let data = Data::new(family, 400);
    let expected = FreeScales::noise(&data.in_memory()).noise_sd.unwrap();
    let found = on_ranks(3, |rank| {
        let model = Streamed::distributed(family, shard(&data, &rank), prior(), rank).unwrap();
        FreeScales::noise(&model).noise_sd.unwrap()
    });
    assert!(found.iter().all(|x| (x - expected).abs() < 1e-12), "{found:?} {expected}");
}

#[test]
fn a_flag_on_one_rank_stops_all_at_the_same_step() {
    let data = Data::new(Family::Bernoulli, 400);
    for method in [None, Some(Method::ProxEnergy)] {
        let found = on_ranks(3, |rank| {
            let (which, source) = (rank.rank, shard(&data, &rank));
            let model = Streamed::distributed(Family::Bernoulli, source, prior(), rank).unwrap();
            let stop = Stop::default();
            let mut looks = 0;
            let mut observer = |_: &Snapshot| {
                looks += 1;
                // Rank 1 alone changes its mind.
                stop.store(which == 1 && looks >= 2, std::sync::atomic::Ordering::Relaxed);
                ControlFlow::Continue(())
            };
            let mut watch = Watch {
                observer: Some(&mut observer),
                stop: Some(&stop),
                agree: Some(model.agreement()),
                ..Watch::default()
            };
            let fit = match method {
                None => Auto::default().run_with(Evaluator::Serial(&model), Seed(1), &mut watch).unwrap().fit,
                Some(method) => {
                    let plan = Planner::new(method).to_steps(&model, 400).unwrap();
                    plan.run_with(Evaluator::Serial(&model), Seed(1), &mut watch).unwrap()
                }
            };
            assert!(fit.stopped_early, "{method:?}");
            (fit.steps, bits(fit.gaussian.parameters()))
        });
        assert!(found.iter().all(|x| *x == found[0]), "{method:?}");
    }
}

/// Where the steps of one process are slow, all look after each step: the wish of another one ends the run there.
#[test]
fn slow_ranks_agree_after_every_step() {
    let data = Data::new(Family::Bernoulli, 400);
    let found = on_ranks(3, |rank| {
        let which = rank.rank;
        let model = Streamed::distributed(Family::Bernoulli, shard(&data, &rank), prior(), rank).unwrap();
        let stop = Stop::default();
        let mut observer = |at: &Snapshot| {
            if which == 0 {
                std::thread::sleep(std::time::Duration::from_millis(25));
            }
            if which == 2 && at.step == 3 {
                stop.ask();
            }
            ControlFlow::Continue(())
        };
        let mut watch = Watch {
            observer: Some(&mut observer),
            stop: Some(&stop),
            agree: Some(model.agreement()),
            ..Watch::default()
        };
        let plan = Planner::new(Method::ProxEnergy).to_steps(&model, 200).unwrap();
        plan.run_with(Evaluator::Serial(&model), Seed(1), &mut watch).unwrap().steps
    });
    assert_eq!(
        found, [3; 3],
        "asked after the third step: the pass of the fourth says so, and it is not made"
    );
}

/// Blocks of one rank, which raises a flag at one of its passes.
struct Asking {
    blocks: Memory,
    passes: AtomicUsize,
    asks_at: Option<usize>,
    stop: Stop,
}

impl Source for Asking {
    fn columns(&self) -> usize {
        self.blocks.columns()
    }
    fn each(&self, block: &mut dyn FnMut(&Rows) -> Result<()>) -> Result<()> {
        if Some(self.passes.fetch_add(1, Ordering::Relaxed)) == self.asks_at {
            self.stop.ask();
        }
        self.blocks.each(block)
    }
}

impl Asking {
    fn new(data: &Data, rank: &Rank, (who, pass): (usize, usize)) -> Self {
        let asks_at = (rank.rank == who).then_some(pass);
        Self { blocks: shard(data, rank), passes: AtomicUsize::new(0), asks_at, stop: Stop::default() }
    }
}

/// Whichever pass a rank is asked at, in the search for the mode, the search, the audit or the estimates: all end at that pass,
/// with the same bits, and with what a process of its own keeps.
fn a_flag_stops_all_ranks_at_its_pass(tried: impl Fn(usize) -> bool) {
    let data = Data::new(Family::Bernoulli, 400);
    let run = |model: &Streamed<Asking, Rank>, agree| {
        let stop = model.source().stop.clone();
        let patience = Some(std::time::Duration::ZERO);
        let mut watch = Watch { stop: Some(&stop), patience, agree: Some(agree), ..Watch::default() };
        Auto::default().run_with(Evaluator::Serial(model), Seed(1), &mut watch).map(|answer| {
            let bound = answer.certificate().kl.bound().unwrap_or(-1.0);
            let all = [answer.fit.gaussian.parameters(), &[bound, answer.fit.neg_elbo.value]].concat();
            (answer.fit.stopped_early, answer.fit.steps, bits(&all))
        })
    };
    let passes = |size: usize, asked: (usize, usize)| {
        on_ranks(size, |rank| {
            let source = Asking::new(&data, &rank, asked);
            let model = Streamed::distributed(Family::Bernoulli, source, prior(), rank).unwrap();
            (run(&model, model.agreement()), model.source().passes.load(Ordering::Relaxed))
        })
    };
    let whole = passes(3, (0, usize::MAX));
    let last = whole[0].1;
    assert!(whole[0].0.as_ref().is_ok_and(|(stopped, ..)| !stopped) && last > 10, "{last}");
    let mut kinds = [0; 4];
    for pass in (1..last).filter(|pass| tried(*pass)) {
        // One process that is asked at the same pass ends in the same way.
        let (alone, _) = passes(1, (0, pass)).remove(0);
        let found = passes(3, (pass % 3, pass));
        assert!(found.iter().all(|other| *other == found[0]), "{pass}: {found:?}");
        match (&found[0].0, &alone) {
            (Err(error), Err(own)) => assert_eq!(error, own, "{pass}"),
            (Ok((stopped, steps, _)), Ok((own, own_steps, _))) => {
                assert_eq!((stopped, steps), (own, own_steps), "{pass}");
            }
            other => panic!("{pass}: {other:?}"),
        }
        kinds[match &found[0].0 {
            Err(Error::Stopped { .. }) => 0,
            Err(other) => panic!("{pass}: {other}"),
            Ok((true, 0, _)) => 1,
            Ok((true, ..)) => 2,
            Ok((false, ..)) => 3,
        }] += 1;
    }
    // Nothing yet; before the search; during it; after it.
    assert!(kinds[1..].iter().all(|count| *count > 0), "{kinds:?} of {last}");
}

#[test]
fn a_flag_at_some_passes_stops_all_ranks_at_that_pass() {
    a_flag_stops_all_ranks_at_its_pass(|pass| pass < 16 || pass % 16 == 0);
}

#[test]
#[ignore = "slow: a run for every pass; some passes are tried above; cargo xtask heavy runs it"]
fn a_flag_at_any_pass_stops_all_ranks_at_that_pass() {
    a_flag_stops_all_ranks_at_its_pass(|_| true);
}

/// The search for the scales keeps its best ones so far, the same on all ranks.
#[test]
fn a_flag_stops_the_search_for_the_scales_on_all_ranks() {
    // A gaussian model needs a few passes for all scales, others some for each.
    for (family, least) in [(Family::Gaussian { noise_sd: 1.0 }, 0), (Family::Bernoulli, 4)] {
        let data = Data::new(family, 400);
        let scales = |pass: usize| {
            on_ranks(3, |rank| {
                let source = Asking::new(&data, &rank, (1, pass));
                let model = Streamed::distributed(family, source, prior(), rank).unwrap();
                let signal = Signal::on(&model.source().stop).with_patience(std::time::Duration::ZERO);
                let free = FreeScales { shared: vec![(vec![1, 2], 1.0)], ..FreeScales::default() };
                let found = signal.among(Some(model.agreement())).cover(|| free.maximise(&model));
                let found = found.map(|found| (found.stopped_early, found.shared[0].to_bits()));
                (found, model.source().passes.load(Ordering::Relaxed))
            })
        };
        let last = scales(usize::MAX)[0].1;
        let mut stopped = 0;
        for pass in 1..last {
            let found = scales(pass);
            assert!(found.iter().all(|other| *other == found[0]), "{pass}: {found:?}");
            stopped += u64::from(found[0].0.as_ref().is_ok_and(|(stopped, _)| *stopped));
        }
        assert!(stopped >= least, "{stopped} of {last}");
    }
}

/// A large factorisation is the same work on all ranks: they wait for it in rounds, and leave it together.
#[test]
fn ranks_leave_a_large_factorisation_together() {
    let d = 1100;
    for asked in [false, true] {
        let found = on_ranks(2, |rank| {
            let which = rank.rank;
            let entries: Vec<f64> = (0..3 * d).map(|k| ((k * k + which) as f64).sin()).collect();
            let design = provi::Design::dense(3, d, &entries).unwrap();
            let rows = Rows::new(Family::Bernoulli, design, &[1.0, 0.0, 1.0]).unwrap();
            let source = Memory::new(d, vec![rows]).unwrap();
            let prior = provi::target::Prior::scale(1.0).unwrap();
            let model = Streamed::distributed(Family::Bernoulli, source, prior, rank).unwrap();
            let stop = Stop::default();
            let signal = Signal::on(&stop).with_patience(std::time::Duration::ZERO);
            signal.among(Some(model.agreement())).during("a factorisation", || {
                // Once it is under way: no pass tells the other rank.
                if asked && which == 1 {
                    stop.ask();
                }
                provi::target::Target::curvature(&model)
                    .map(|found| found.unwrap().smoothness().map(f64::to_bits))
            })
        });
        assert_eq!(found[0], found[1]);
        assert_eq!(found[0].is_err(), asked, "{found:?}");
    }
}

#[test]
fn a_run_whose_ranks_cannot_agree_ends() {
    let data = Data::new(Family::Bernoulli, 60);
    let model = Streamed::new(Family::Bernoulli, data.source(&[]), prior()).unwrap();
    let lost = Error::Reduce { message: "gone".into() };
    let refused = lost.clone();
    let agree = Some(Agreement::new(move |_: &mut [f64]| Err(refused.clone())));
    let mut watch = Watch { agree, ..Watch::default() };
    assert_eq!(Auto::default().run_with(Evaluator::Serial(&model), Seed(1), &mut watch).unwrap_err(), lost);
    let plan = Planner::new(Method::ProxEnergy).to_steps(&model, 100).unwrap();
    assert_eq!(plan.run_with(Evaluator::Serial(&model), Seed(1), &mut watch).unwrap_err(), lost);
}

#[test]
fn ranks_of_different_width_are_refused_by_all() {
    let data = Data::new(Family::Bernoulli, 400);
    let found = on_ranks(3, |rank| {
        let source = if rank.rank == 2 { Memory::new(3, Vec::new()).unwrap() } else { shard(&data, &rank) };
        let prior = provi::target::Prior::scale(1.0).unwrap();
        Streamed::distributed(Family::Bernoulli, source, prior, rank).unwrap_err()
    });
    let refused = |found, expected| Error::Shape { what: "a row of another process", found, expected };
    assert_eq!(found, [refused(3, 4), refused(3, 4), refused(4, 3)]);
}

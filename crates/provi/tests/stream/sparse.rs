//! The sparse form of a streamed model gives the answer of the sparse form in memory.

use super::blocks::{COLUMNS, Data, FAMILIES, GROUPED};
use super::equal::assert_close;
use super::processes::{Rank, bits, on_ranks};
use provi::certificate::Certificate;
use provi::scales::{FreeScales, Integration, ScalePrior};
use provi::sparse::{NormalLaw, SparseModel, SparseSolution, SparseSolver};
use provi::stop::{Signal, Stop};
use provi::stream::{Memory, Rows, Source, Streamed};
use provi::target::{Family, Glm, Prior, SparseGlm};
use provi::{Error, Result};
use std::sync::atomic::{AtomicUsize, Ordering};

const ROWS: usize = 300;
const ENDS: [usize; 4] = [1, 100, 130, 270];

fn prior() -> Prior {
    Prior::scale(0.8).unwrap()
}

fn whole(data: &Data) -> Glm {
    Glm::of_rows(data.grouped_block(0, ROWS).unwrap(), prior()).unwrap()
}

fn shard(data: &Data, rank: &Rank) -> Memory {
    let (size, own) = (provi::stream::Reduce::size(rank), provi::stream::Reduce::rank(rank));
    let blocks = data.grouped_blocks(&ENDS).into_iter().enumerate().filter(|(k, _)| k % size == own);
    Memory::new(GROUPED, blocks.map(|(_, block)| block).collect()).unwrap()
}

fn solved(model: &SparseModel) -> SparseSolution {
    SparseSolver::default().run(model).unwrap()
}

/// The means, the deviations and f.
fn numbers(solution: &SparseSolution) -> Vec<f64> {
    let q = &solution.gaussian;
    let deviations = (0..GROUPED).map(|i| q.deviation(i));
    q.mean().iter().copied().chain(deviations).chain([solution.neg_elbo]).collect()
}

#[test]
fn blocks_and_processes_give_the_answer_of_one_piece() {
    for family in FAMILIES {
        let data = Data::new(family, ROWS);
        let one = whole(&data).sparse().unwrap();
        let expected = solved(&one);
        // Seven ranks have five blocks: two have none.
        for size in [1, 2, 7] {
            let found = on_ranks(size, |rank| {
                let source = shard(&data, &rank);
                let model = Streamed::distributed(family, source, prior(), rank).unwrap();
                let sparse = model.sparse().unwrap();
                assert_eq!(sparse.fill(), one.fill());
                let solution = solved(&sparse);
                let certificate = Certificate::sparse(&sparse, &solution.gaussian).unwrap();
                assert!(certificate.gap.bound().unwrap() < 1e-8, "{family:?}");
                solution
            });
            let what = format!("{} on {size}", family.name());
            assert_close(&what, &numbers(&expected), &numbers(&found[0]));
            // The errors that are claimed cover the difference; more processes round more.
            let [a, b] = [&expected, &found[0]];
            let room = a.neg_elbo_error + b.neg_elbo_error + a.gap.unwrap().value + b.gap.unwrap().value;
            assert!((a.neg_elbo - b.neg_elbo).abs() <= room, "{what}");
            assert!(b.neg_elbo_error <= 3.0 * a.neg_elbo_error, "{what}");
            let first = bits(&numbers(&found[0]));
            assert!(found.iter().all(|other| bits(&numbers(other)) == first), "{what}");
        }
    }
}

/// A Gaussian found from blocks has the coordinates of one found from a single piece: each model states its gap.
#[test]
fn a_gaussian_from_blocks_is_certified_by_the_model_in_memory() {
    for family in [Family::Bernoulli, Family::Poisson] {
        let data = Data::new(family, ROWS);
        let one = whole(&data).sparse().unwrap();
        for ends in [&ENDS[..], &[37, 150, 151], &[]] {
            let source = Memory::new(GROUPED, data.grouped_blocks(ends)).unwrap();
            let read = Streamed::new(family, source, prior()).unwrap().sparse().unwrap();
            let (a, b) = (solved(&one), solved(&read));
            for (model, q) in [(&one, &b.gaussian), (&read, &a.gaussian)] {
                let gap = Certificate::sparse(model, q).unwrap().gap.bound();
                assert!(gap.is_some_and(|gap| gap < 1e-8), "{family:?} {ends:?} {gap:?}");
            }
        }
    }
}

/// Another row at each pass, in as many blocks of as many rows.
struct Changing {
    blocks: [Memory; 2],
    passes: AtomicUsize,
}

impl Source for Changing {
    fn columns(&self) -> usize {
        GROUPED
    }

    fn each(&self, visit: &mut dyn FnMut(&Rows) -> Result<()>) -> Result<()> {
        let later = self.passes.fetch_add(1, Ordering::Relaxed) > 1;
        self.blocks[usize::from(later)].each(visit)
    }
}

#[test]
fn rows_that_change_between_passes_are_noticed() {
    let data = Data::new(Family::Bernoulli, ROWS);
    let half =
        |first: usize| Memory::new(GROUPED, vec![data.grouped_block(first, first + 20).unwrap()]).unwrap();
    let source = Changing { blocks: [half(0), half(200)], passes: AtomicUsize::new(0) };
    let model = Streamed::new(Family::Bernoulli, source, prior()).unwrap().sparse().unwrap();
    let said = SparseSolver::default().run(&model).unwrap_err().to_string();
    assert!(said.contains("were the rows changed"), "{said}");
}

/// A precision that is large at the boundary of the blocks is not seen twice, and none is lost: with the rows of one
/// block given twice the answer is another one.
#[test]
fn a_block_that_comes_twice_is_noticed() {
    let data = Data::new(Family::Bernoulli, ROWS);
    let expected = numbers(&solved(&whole(&data).sparse().unwrap()));
    let mut blocks = data.grouped_blocks(&ENDS);
    blocks.push(blocks[0].clone());
    let model = Streamed::new(Family::Bernoulli, Memory::new(GROUPED, blocks).unwrap(), prior()).unwrap();
    let found = numbers(&solved(&model.sparse().unwrap()));
    assert!(expected.iter().zip(&found).any(|(a, b)| (a - b).abs() > 1e-4));
}

#[test]
fn scales_are_integrated_over_alike() {
    let groups: Vec<usize> = (COLUMNS..COLUMNS + 23).collect();
    let free = |noise: Option<f64>| FreeScales {
        shared: vec![(groups.clone(), 1.0)],
        noise_sd: noise,
        ..FreeScales::default()
    };
    // The second has rows that depend on the noise.
    for (family, noise) in
        [(Family::Bernoulli, None), (Family::NegativeBinomial { noise_sd: 0.8 }, Some(0.8))]
    {
        let (data, free) = (Data::new(family, ROWS), free(noise));
        let one = SparseGlm::within(whole(&data), usize::MAX).unwrap().unwrap();
        let source = Memory::new(GROUPED, data.grouped_blocks(&ENDS)).unwrap();
        let read = Streamed::new(family, source, prior()).unwrap();
        let read = SparseGlm::within(read, usize::MAX).unwrap().unwrap();
        let (a, b) = (free.maximise(&one).unwrap(), free.maximise(&read).unwrap());
        // Sparse solutions are known to a gap of 1e-8, and where a scale vanishes the search ends when differences are no larger
        // than some of these.
        assert!((a.neg_elbo - b.neg_elbo).abs() < 1e-6, "{family:?}: {} {}", a.neg_elbo, b.neg_elbo);
        // In one of them the scale vanishes, and nothing depends on how near to 0 the search came.
        assert_eq!(a.vanishing, b.vanishing, "{family:?}");
        assert!(a.vanishing[0] || (a.shared[0] / b.shared[0] - 1.0).abs() < 1e-4, "{family:?}");
        let mut priors = vec![ScalePrior::HalfNormal { scale: 1.0 }];
        priors.extend(noise.map(|_| ScalePrior::HalfNormal { scale: 1.0 }));
        let how = Integration::new(priors);
        let (a, b) = (free.integrate(&one, &how).unwrap(), free.integrate(&read, &how).unwrap());
        assert_eq!(a.nodes.len(), b.nodes.len());
        assert!(
            (a.log_evidence - b.log_evidence).abs() < 1e-4,
            "{family:?}: {} {}",
            a.log_evidence,
            b.log_evidence
        );
    }
}

/// Counts its passes, and raises a flag at one of them.
struct Asking {
    blocks: Memory,
    passes: AtomicUsize,
    at: usize,
    stop: Stop,
}

impl Source for Asking {
    fn columns(&self) -> usize {
        GROUPED
    }

    fn each(&self, visit: &mut dyn FnMut(&Rows) -> Result<()>) -> Result<()> {
        if self.passes.fetch_add(1, Ordering::Relaxed) + 1 == self.at {
            self.stop.ask();
        }
        self.blocks.each(visit)
    }
}

#[test]
fn a_flag_at_any_pass_stops_all_ranks_at_that_pass() {
    let data = Data::new(Family::Bernoulli, ROWS);
    let run = |at: usize| {
        on_ranks(2, |rank| {
            let at = if provi::stream::Reduce::rank(&rank) == 1 { at } else { usize::MAX };
            let (passes, stop) = (AtomicUsize::new(0), Stop::default());
            let source = Asking { blocks: shard(&data, &rank), passes, at, stop };
            let model = Streamed::distributed(Family::Bernoulli, source, prior(), rank).unwrap();
            let signal = Signal::on(&model.source().stop).with_patience(std::time::Duration::ZERO);
            let found = signal.among(Some(model.agreement())).cover(|| {
                let solution = SparseSolver::default().run(&model.sparse()?)?;
                Ok::<_, Error>((format!("{:?}", solution.stop), bits(solution.gaussian.mean())))
            });
            (found.map_err(|error| error.to_string()), model.source().passes.load(Ordering::Relaxed))
        })
    };
    let last = run(usize::MAX)[0].1;
    let mut kept = 0;
    for pass in 1..=last {
        let found = run(pass);
        assert_eq!(found[0], found[1], "{pass}");
        assert!(found[0].1 <= pass + 1, "{pass}: {found:?}");
        kept += usize::from(found[0].0.as_ref().is_ok_and(|(stop, _)| stop == "Interrupted"));
    }
    assert!(kept >= 2, "{kept} of {last}");
}

#[test]
fn many_columns_need_no_square_matrix() {
    // A matrix of 8·10¹⁰ bytes would not fit.
    const GROUPS: usize = 100_000;
    let block = |first: usize| {
        let row = |n: usize| [(n, 0, 1.0), (n, 1 + first + n, 1.0)];
        let entries: Vec<_> = (0..GROUPS / 10).flat_map(row).collect();
        let design = provi::Design::triplets(GROUPS / 10, 1 + GROUPS, &entries).unwrap();
        let y: Vec<f64> = (0..GROUPS / 10).map(|n| f64::from(u8::from(n % 3 == 0))).collect();
        Rows::new(Family::Bernoulli, design, &y).unwrap()
    };
    let blocks = (0..10).map(|k| block(k * (GROUPS / 10))).collect();
    let source = Memory::new(1 + GROUPS, blocks).unwrap();
    let model = Streamed::new(Family::Bernoulli, source, Prior::scale(1.0).unwrap()).unwrap();
    let solution = SparseSolver { goal: 1e-6, ..SparseSolver::default() }.run(&model.sparse().unwrap());
    assert!(solution.unwrap().gap.unwrap().value <= 1e-6);
}

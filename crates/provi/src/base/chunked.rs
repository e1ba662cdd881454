//! Work split into chunks. The chunks depend only on the size of the problem, so results have the same bits on any
//! number of threads. Between two chunks the work may be cut off ([`crate::stop`]); the output is then left
//! unfinished.

use crate::base::scratch::Scratch;
use crate::base::stop;
#[cfg(feature = "parallel")]
use crate::base::stop::Carried;
use std::ops::Range;

/// The least work for which threads are woken, in multiply-adds or operations of similar cost: about 100 µs.
#[cfg(feature = "parallel")]
const WORTH: usize = 1 << 18;
/// Numbers that partial sums may occupy beyond what each thread needs.
#[cfg(feature = "parallel")]
const PARTIALS: usize = 1 << 20;

/// The least work inside which processes with a shared signal may be cut off, in multiply-adds: about a tenth of a
/// second.
const LONG: usize = 1 << 28;

/// Runs work of that size, which every process makes alike. If several processes share a signal and the work is long,
/// each may be cut off inside it, and all agree at its end.
pub(crate) fn alike<T>(work: usize, run: impl FnOnce() -> T) -> T {
    if work < LONG { run() } else { stop::alike(run) }
}

/// The range 0..len in chunks of `size`, and the cost `work` of all of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunks {
    pub(crate) len: usize,
    pub(crate) size: usize,
    #[cfg_attr(not(feature = "parallel"), allow(dead_code, reason = "it decides about threads alone"))]
    pub(crate) work: usize,
}

impl Chunks {
    fn count(self) -> usize {
        self.len.div_ceil(self.size)
    }

    fn range(self, k: usize) -> Range<usize> {
        k * self.size..((k + 1) * self.size).min(self.len)
    }

    /// Whether threads are available, idle as far as is known, and worth waking. The answer affects who computes,
    /// never the result.
    #[cfg(feature = "parallel")]
    fn pays(self) -> bool {
        self.count() > 1 && self.work >= WORTH && rayon::current_num_threads() > 1 && !BUSY.get()
    }
}

#[cfg(feature = "parallel")]
std::thread_local! {
    /// Whether this thread is doing its share of work that keeps all threads busy.
    static BUSY: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Runs `f`, a share of work that keeps all threads busy. Work that `f` would split further stays on this thread,
/// in the memory of one thread.
#[cfg(feature = "parallel")]
pub(crate) fn share<T>(f: impl FnOnce() -> T) -> T {
    /// Restores the previous value, even if `f` panics.
    struct Before(bool);
    impl Drop for Before {
        fn drop(&mut self) {
            BUSY.set(self.0);
        }
    }
    let _before = Before(BUSY.replace(true));
    f()
}

/// Calls `f(first, chunk)` on each chunk of `out`; `first` is the chunk's first index.
pub(crate) fn fill(out: &mut [f64], size: usize, work: usize, f: impl Fn(usize, &mut [f64]) + Sync) {
    let chunks = Chunks { len: out.len(), size, work };
    #[cfg(feature = "parallel")]
    if chunks.pays() {
        use rayon::prelude::*;
        let signal = Carried::from_here();
        out.par_chunks_mut(size).enumerate().for_each(|(k, chunk)| {
            if !signal.trips() {
                signal.within(|| f(k * size, chunk));
            }
        });
        return;
    }
    let chunks = out.chunks_mut(chunks.size).enumerate().take_while(|_| !stop::trips());
    chunks.for_each(|(k, chunk)| f(k * size, chunk));
}

/// Calls `f(k, chunks)` with the k-th chunk of each of several arrays. Each array has its own chunk size; all have
/// the same number of chunks. Processes that share a signal must make this call alike: at the same place, with the
/// same work.
pub(crate) fn fill_together<const N: usize>(
    outs: [(&mut [f64], usize); N],
    work: usize,
    f: impl Fn(usize, [&mut [f64]; N]) + Sync,
) {
    alike(work, || fill_chunks(outs, work, f));
}

fn fill_chunks<const N: usize>(
    outs: [(&mut [f64], usize); N],
    work: usize,
    f: impl Fn(usize, [&mut [f64]; N]) + Sync,
) {
    let (len, size) = (outs[0].0.len(), outs[0].1);
    let chunks = Chunks { len, size, work };
    assert!(
        outs.iter().all(|(out, size)| out.len().div_ceil(*size) == chunks.count()),
        "every array must have the same number of chunks"
    );
    let mut rest = outs.map(|(out, size)| out.chunks_mut(size));
    let mut next = || rest.each_mut().map(|chunks| chunks.next().unwrap_or_default());
    #[cfg(feature = "parallel")]
    if chunks.pays() {
        use rayon::prelude::*;
        let all: Vec<[&mut [f64]; N]> = (0..chunks.count()).map(|_| next()).collect();
        let signal = Carried::from_here();
        all.into_par_iter().enumerate().for_each(|(k, chunk)| {
            if !signal.trips() {
                signal.within(|| f(k, chunk));
            }
        });
        return;
    }
    (0..chunks.count()).take_while(|_| !stop::trips()).for_each(|k| f(k, next()));
}

/// Returns f of each chunk, in order.
pub(crate) fn map<T: Send>(chunks: Chunks, f: impl Fn(Range<usize>) -> T + Sync) -> Vec<T> {
    #[cfg(feature = "parallel")]
    if chunks.pays() {
        use rayon::prelude::*;
        let signal = Carried::from_here();
        let share = |k| signal.within(|| f(chunks.range(k)));
        return (0..chunks.count()).into_par_iter().map(share).collect();
    }
    (0..chunks.count()).map(|k| f(chunks.range(k))).collect()
}

/// Calls `here` on this thread and, where threads are available, `there` on another one at the same time; one after the other otherwise.
pub(crate) fn beside<T>(there: impl FnOnce() + Send, here: impl FnOnce() -> T) -> T {
    #[cfg(feature = "parallel")]
    if (Chunks { len: 2, size: 1, work: WORTH }).pays() {
        let signal = Carried::from_here();
        return rayon::in_place_scope(|scope| {
            scope.spawn(|_| signal.within(there));
            here()
        });
    }
    let out = here();
    there();
    out
}

/// Partial sums over chunks. `make(range, partial, spare)` adds a chunk's share to `partial`, which begins as
/// `width` zeros; `spare` is working memory of `room` numbers. `take(partial)` receives the partial sums in index
/// order.
///
/// Memory: one partial on one thread; on several as many as fit into some 8 MB, and at least one for each thread. Nothing
/// is allocated once `scratch` has grown.
pub(crate) fn reduce(
    chunks: Chunks,
    (width, room): (usize, usize),
    scratch: &mut Scratch,
    make: impl Fn(Range<usize>, &mut [f64], &mut [f64]) + Sync,
    mut take: impl FnMut(&[f64]),
) {
    // Whole cache lines, so that the memory after a partial sum starts on a cache line.
    let sums = width.next_multiple_of(8);
    let piece = (sums + room).next_multiple_of(8).max(8);
    let make_in = |k: usize, piece: &mut [f64]| {
        let (partial, spare) = piece.split_at_mut(sums);
        partial[..width].fill(0.0);
        make(chunks.range(k), &mut partial[..width], &mut spare[..room]);
    };
    #[cfg(feature = "parallel")]
    if chunks.pays() {
        use rayon::prelude::*;
        let wave = chunks.count().min(rayon::current_num_threads().max(PARTIALS / piece));
        let signal = Carried::from_here();
        let pieces = scratch.floats(wave * piece);
        for first in (0..chunks.count()).step_by(wave) {
            let pieces = &mut pieces[..wave.min(chunks.count() - first) * piece];
            pieces.par_chunks_mut(piece).enumerate().for_each(|(k, piece)| {
                if !signal.trips() {
                    signal.within(|| make_in(first + k, piece));
                }
            });
            if signal.trips() {
                return;
            }
            pieces.chunks(piece).for_each(|piece| take(&piece[..width]));
        }
        return;
    }
    let piece = scratch.floats(piece);
    for k in (0..chunks.count()).take_while(|_| !stop::trips()) {
        make_in(k, piece);
        take(&piece[..width]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(feature = "parallel")]
    #[test]
    fn a_share_of_work_wakes_no_threads() {
        let chunks = Chunks { len: 10, size: 4, work: 1 << 30 };
        let two = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        two.install(|| {
            assert!(chunks.pays());
            assert!(!share(|| share(|| chunks.pays()) || chunks.pays()));
            assert!(std::panic::catch_unwind(|| share(|| panic!("on purpose"))).is_err());
            assert!(chunks.pays());
        });
    }

    #[test]
    fn chunks_cover_everything_once_and_in_order() {
        for work in [0, 1 << 30] {
            let mut out = vec![0.0; 10];
            fill(&mut out, 4, work, |first, chunk| {
                chunk.iter_mut().enumerate().for_each(|(i, x)| *x += (first + i) as f64);
            });
            assert!(out.iter().enumerate().all(|(i, x)| (x - i as f64).abs() < 1e-15));
            let (mut a, mut b) = (vec![0.0; 10], vec![0.0; 5]);
            fill_together([(&mut a, 4), (&mut b, 2)], work, |k, [a, b]| {
                a.iter_mut().chain(b).for_each(|x| *x += 1.0 + k as f64);
            });
            assert_eq!(
                (&a[..], &b[..]),
                (&[1., 1., 1., 1., 2., 2., 2., 2., 3., 3.][..], &[1., 1., 2., 2., 3.][..])
            );
            let chunks = Chunks { len: 10, size: 4, work };
            assert_eq!(map(chunks, |r| (r.start, r.end)), [(0, 4), (4, 8), (8, 10)]);
            let mut seen = Vec::new();
            let make = |r: Range<usize>, partial: &mut [f64], _: &mut [f64]| {
                r.for_each(|i| partial[0] += i as f64);
            };
            reduce(chunks, (1, 3), &mut Scratch::default(), make, |partial| seen.push(partial[0] as usize));
            assert_eq!(seen, [6, 22, 17]);
        }
    }

    /// Two processes, played by threads, make the same long call; the second is told to stop inside its sixth chunk. It
    /// ends there, and both know that they are cut off.
    #[test]
    fn processes_are_cut_off_inside_a_long_call_and_all_of_them() {
        use crate::base::stop::{self, Agreement, Signal, Stop};
        use std::sync::{Barrier, Mutex};
        use std::time::Duration;

        let run = |work: usize| {
            let meeting = std::sync::Arc::new((Barrier::new(2), Mutex::new([0.0; 4])));
            let process = |own: usize| {
                let shared = std::sync::Arc::clone(&meeting);
                let agreement = Agreement::new(move |values: &mut [f64]| {
                    let (barrier, largest) = &*shared;
                    largest
                        .lock()
                        .unwrap()
                        .iter_mut()
                        .zip(&*values)
                        .for_each(|(all, own)| *all = own.max(*all));
                    barrier.wait();
                    values.copy_from_slice(&largest.lock().unwrap()[..values.len()]);
                    barrier.wait();
                    Ok(())
                });
                let stop = Stop::default();
                let signal = Signal::on(&stop).with_patience(Duration::ZERO).among(Some(agreement));
                signal.cover(|| {
                    stop::careful_phase("a product", Duration::ZERO, || {
                        let mut filled = vec![0.0; 40];
                        fill_together([(&mut filled, 4)], work, |k, [chunk]| {
                            chunk.fill(1.0);
                            if own == 1 && k == 5 {
                                stop.ask();
                            }
                        });
                        (filled.iter().sum::<f64>() as usize, stop::was_cut_off())
                    })
                })
            };
            std::thread::scope(|s| {
                let other = s.spawn(|| share_if_parallel(|| process(1)));
                (share_if_parallel(|| process(0)), other.join().unwrap())
            })
        };
        assert_eq!(run(LONG), ((40, true), (24, true)));
        // Too short to ask each other about: the call is finished, and the next reduction says what is wanted.
        assert_eq!(run(LONG - 1), ((40, false), (40, false)));
    }

    /// On one thread, so that chunks come in order.
    fn share_if_parallel<T>(f: impl FnOnce() -> T) -> T {
        #[cfg(feature = "parallel")]
        return share(f);
        #[cfg(not(feature = "parallel"))]
        return f();
    }
}

//! Work that several threads share.

use std::{
    panic::resume_unwind,
    sync::{Mutex, PoisonError},
    thread,
};

/// Threads are started for work of at least this many values; starting them costs about as much as reading so many.
pub(crate) const WORTH: usize = 1 << 16;

/// As many threads as the machine has cores.
pub(crate) fn all() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// `f` of each item, in the order of the items: the same for any number of threads.
///
/// At most `threads` threads take one item after the other, and have ended when this function returns. One thread, or one
/// item, is this thread's own work. A panic of `f` is one of the caller.
pub(crate) fn each<T: Send, R: Send>(
    threads: usize,
    items: impl ExactSizeIterator<Item = T> + Send,
    f: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    let count = items.len();
    let hands = threads.min(count);
    if hands <= 1 {
        return items.map(f).collect();
    }
    let queue = Mutex::new(items.enumerate());
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || {
        let mut made = Vec::new();
        while let Some((place, item)) = next() {
            made.push((place, f(item)));
        }
        made
    };
    let mut made = thread::scope(|scope| {
        let others: Vec<_> = (1..hands).map(|_| scope.spawn(work)).collect();
        let mut made = work();
        for other in others {
            match other.join() {
                Ok(more) => made.extend(more),
                Err(panic) => resume_unwind(panic),
            }
        }
        made
    });
    made.sort_unstable_by_key(|(place, _)| *place);
    made.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_items_for_any_number_of_threads() {
        let expected: Vec<usize> = (0..1000).map(|i| i * i).collect();
        for threads in [0, 1, 2, 3, 16] {
            assert_eq!(each(threads, 0..1000, |i| i * i), expected);
            assert_eq!(each(threads, 0..0, |i: usize| i), []);
        }
    }

    #[test]
    fn items_may_be_written_to() {
        let mut values = vec![0; 100];
        each(3, values.chunks_mut(7).enumerate(), |(k, part)| part.fill(k));
        assert!(values.iter().enumerate().all(|(i, value)| *value == i / 7));
    }

    #[test]
    #[should_panic(expected = "a bug")]
    fn a_panic_is_one_of_the_caller() {
        each(2, 0..100, |i| assert!(i < 50, "a bug"));
    }
}

//! How many threads to start.

use std::thread::available_parallelism;

/// The most threads for each core, and
const PER_CORE: usize = 4;
/// the most on any machine, because a run file may come from a larger machine. Each further thread has its own
/// stack and sums.
const ANYWHERE: usize = 64;

/// As many as were asked for, but no more than are useful: the answer is the same for any number. Also returns a
/// note if it is fewer.
pub fn sensible(asked: usize) -> (usize, Option<String>) {
    let cores = available_parallelism().map_or(1, usize::from);
    let most = (PER_CORE * cores).max(ANYWHERE);
    let words = || {
        let cores = if cores == 1 { "1 core is".to_owned() } else { format!("{cores} cores are") };
        format!(
            "threads {asked}: {cores} here, so {most} threads are started; the answer is the same for any number"
        )
    };
    (asked.min(most), (asked > most).then(words))
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_no_machine_could_use_is_cut_down_with_a_word() {
        assert_eq!(super::sensible(3), (3, None));
        let (threads, words) = super::sensible(100_000_000);
        assert!((64..100_000).contains(&threads) && words.unwrap().contains("the answer is the same"));
    }
}

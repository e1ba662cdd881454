//! A seed that nobody can know beforehand.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

use provi::Seed;

/// A whole number below 2⁵³ from the operating system's randomness; JSON readers that know only doubles keep it
/// exactly.
///
/// If the seed of a check were known beforehand, a q could be tuned until its draws happened to look good. The
/// confidence of a bound requires draws that q does not depend on, so a check uses a fresh seed and reports it.
pub fn fresh_seed() -> Seed {
    // The standard library keys its hash maps with randomness of the operating system.
    Seed(RandomState::new().build_hasher().finish() >> 11)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_differ_and_are_exact_in_a_double() {
        let seeds: Vec<u64> = (0..100).map(|_| fresh_seed().0).collect();
        let distinct: std::collections::BTreeSet<_> = seeds.iter().collect();
        // By chance two of a hundred agree once in 10¹².
        assert_eq!(distinct.len(), seeds.len());
        assert!(seeds.iter().all(|&seed| seed < 1 << 53));
    }
}

//! The certificates on trial: on random problems whose posterior is known by quadrature, every certified number
//! covers the truth.
//!
//! Each certificate may fail with probability 1e-6. Two hundred and forty problems, two thousand certificates: a violation is
//! a bug, not bad luck.

mod answers;
mod events;
mod line;
mod problem;
mod provenance;
mod psi;
mod sharp;
pub(crate) mod study;
mod transport;
mod truth;
mod twins;
mod verdict;

use std::ops::Range;

use verdict::{Check, on_threads, summary, trial};

const PROBLEMS: u64 = 240;
const SOME: u64 = 24;
const DRAWS: u64 = 1200;

/// Every bound on these problems; none is below the truth.
fn tried(problems: Range<u64>) -> Vec<Check> {
    let count = problems.end - problems.start;
    let found = on_threads(count, |i| trial(problems.start + i, DRAWS));
    let unknown = found.iter().filter(|checks| checks.is_empty()).count();
    let checks: Vec<Check> = found.into_iter().flatten().collect();
    let violations: Vec<&Check> = checks.iter().filter(|c| c.is_violated()).collect();
    println!("{} bounds on the problems {problems:?}, {unknown} unknown\n{}", checks.len(), summary(&checks));
    assert!(
        violations.is_empty(),
        "{} violations: {:#?}",
        violations.len(),
        &violations[..violations.len().min(5)]
    );
    // None of the usual problems; in a part of a longer trial a few.
    let few = if count > PROBLEMS { 3 + count / 500 } else { 0 };
    assert!(unknown as u64 <= few, "quadrature does not know the truth of {unknown} problems");
    checks
}

/// A longer trial, whole or a part of it: `PROVI_PROBLEMS=10000`, `PROVI_PROBLEMS=4000..6000`.
fn asked() -> Option<Range<u64>> {
    let asked = std::env::var("PROVI_PROBLEMS").ok()?;
    let whole =
        |text: &str| text.parse::<u64>().expect("PROVI_PROBLEMS: a number, or two with .. between them");
    Some(asked.split_once("..").map_or_else(|| 0..whole(&asked), |(from, to)| whole(from)..whole(to)))
}

#[test]
fn certified_numbers_of_some_problems_cover_the_truth() {
    assert!(tried(0..SOME).len() >= 50);
}

#[test]
#[ignore = "slow: all problems; some of them are tried above; cargo xtask heavy runs it"]
fn every_certified_number_covers_the_truth() {
    let checks = tried(asked().unwrap_or(0..PROBLEMS));
    // Every route was on trial.
    for (what, key) in [
        ("gap", "cert-gap"),
        ("gap", "cert-kl"),
        ("gap", "local-kl"),
        ("KL", "cert-kl"),
        ("KL", "local-kl"),
        ("KL", "sharp-kl"),
        ("KL", "psi-kl"),
        ("TV", "cert-kl"),
        ("TV", "local-kl"),
        ("TV", "local-tv"),
        ("TV", "psi-kl"),
        ("evidence above", "cert-evidence"),
        ("evidence above", "local-evidence"),
        ("evidence above", "sharp-evidence"),
        ("evidence above", "psi-evidence"),
        ("evidence below", "psi-evidence"),
        ("mean", "cert-moments"),
        ("mean", "local-moments"),
        ("mean", "sharp-moments"),
        ("mean", "psi-moments"),
        ("sd", "psi-moments"),
        ("mean", "every-direction"),
        ("sd", "every-direction"),
        ("sd", "sharp-moments"),
        ("sd", "cert-moments"),
        ("sd", "local-moments"),
    ] {
        let count = checks.iter().filter(|c| c.what == what && c.key == key).count();
        assert!(count >= 20, "{what} by {key}: only {count}");
    }
}

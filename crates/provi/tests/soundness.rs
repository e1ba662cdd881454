//! The certificates on trial: on random problems whose posterior is known by quadrature, every certified number
//! covers the truth.
//!
//! Each certificate may fail with probability 1e-6. Two hundred and forty problems, two thousand certificates: a violation is
//! a bug, not bad luck.

mod common;

#[path = "soundness/answers.rs"]
mod answers;
#[path = "soundness/line.rs"]
mod line;
#[path = "soundness/problem.rs"]
mod problem;
#[path = "soundness/provenance.rs"]
mod provenance;
#[path = "soundness/sharp.rs"]
mod sharp;
#[path = "soundness/transport.rs"]
mod transport;
#[path = "soundness/truth.rs"]
mod truth;
#[path = "soundness/twins.rs"]
mod twins;
#[path = "soundness/verdict.rs"]
mod verdict;

use verdict::{Check, on_threads, summary, trial};

const PROBLEMS: u64 = 240;
const DRAWS: u64 = 1200;

#[test]
fn every_certified_number_covers_the_truth() {
    let checks: Vec<Check> = on_threads(PROBLEMS, |i| trial(i, DRAWS)).into_iter().flatten().collect();
    let violations: Vec<&Check> = checks.iter().filter(|c| c.is_violated()).collect();
    println!("{} bounds on {PROBLEMS} problems\n{}", checks.len(), summary(&checks));
    assert!(
        violations.is_empty(),
        "{} violations: {:#?}",
        violations.len(),
        &violations[..violations.len().min(5)]
    );
    // Every route was on trial.
    for (what, key) in [
        ("gap", "cert-gap"),
        ("gap", "cert-kl"),
        ("gap", "local-kl"),
        ("KL", "cert-kl"),
        ("KL", "local-kl"),
        ("KL", "sharp-kl"),
        ("TV", "cert-kl"),
        ("TV", "local-kl"),
        ("TV", "local-tv"),
        ("TV", "sharp-kl"),
        ("evidence above", "cert-evidence"),
        ("evidence above", "local-evidence"),
        ("evidence above", "sharp-evidence"),
        ("mean", "cert-moments"),
        ("mean", "local-moments"),
        ("mean", "sharp-moments"),
        ("sd", "sharp-moments"),
        ("sd", "cert-moments"),
        ("sd", "local-moments"),
    ] {
        let count = checks.iter().filter(|c| c.what == what && c.key == key).count();
        assert!(count >= 50, "{what} by {key}: only {count}");
    }
}

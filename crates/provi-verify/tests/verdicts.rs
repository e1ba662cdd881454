//! Verdicts are green for the statements as they are, and red for a planted fault.

use provi_verify::outcome::Verdict;
use provi_verify::{ENTRIES, Trial, find};

/// The ledger's headings: `### key` or `### key, key`.
fn ledger() -> Vec<&'static str> {
    let text = include_str!("../../../docs/theory.md");
    text.lines().filter_map(|line| line.strip_prefix("### ")).flat_map(|keys| keys.split(", ")).collect()
}

#[test]
fn every_key_of_the_ledger_has_an_experiment() {
    let keys = ledger();
    assert!(keys.len() > 35, "{keys:?}");
    for key in keys {
        assert!(find(key).is_some(), "no experiment for {key}");
    }
}

#[test]
fn keys_are_unique_and_pictures_have_names_of_their_own() {
    let mut keys: Vec<&str> = ENTRIES.iter().map(|e| e.key).collect();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), ENTRIES.len());
}

/// The twin of every experiment: its claims made wrong by the fault the table states. That nothing is red without a fault
/// is what `provi verify --quick` says, a step of `cargo xtask test`.
#[test]
#[ignore = "slow: every experiment once; cargo xtask heavy"]
fn every_verdict_turns_red_for_its_planted_fault() {
    let trial = Trial::new(true, None);
    let (mut figures, mut unseen) = (Vec::new(), Vec::new());
    for entry in ENTRIES {
        assert!(entry.fault > 0.0 && entry.fault < 1.0);
        let planted = entry.run(trial, true).unwrap();
        if planted.verdict() != Verdict::Violated {
            unseen.push((entry.key, entry.fault));
        }
        figures.extend(planted.outcome.figures.into_iter().map(|f| f.name));
    }
    assert!(unseen.is_empty(), "planted faults that do not show: {unseen:?}");
    let count = figures.len();
    figures.sort();
    figures.dedup();
    assert_eq!(figures.len(), count, "pictures would overwrite one another");
}

/// Sums over grids and lines are quick: these are green, and red for their faults, at every test run.
#[test]
fn groups_and_events_are_green_and_turn_red() {
    let trial = Trial::new(true, None);
    for key in ["group-kl", "group-evidence", "group-moments", "marginal-quadrature", "measured-events"] {
        let entry = find(key).unwrap();
        let verdict = |planted: bool| entry.run(trial, planted).unwrap().verdict();
        assert_ne!(verdict(false), Verdict::Violated, "{key}");
        assert_eq!(verdict(true), Verdict::Violated, "{key}");
    }
}

/// So are the projection on a ball and DoWG without noise; the worst game of adaptive steps is in the first of their checks.
#[test]
fn balls_and_adaptive_steps_are_green_and_turn_red() {
    let trial = Trial::new(true, Some(4));
    for key in ["proj-ball", "rate-proj-adaptive", "dowg"] {
        let entry = find(key).unwrap();
        let verdict = |planted: bool| entry.run(trial, planted).unwrap().verdict();
        assert_ne!(verdict(false), Verdict::Violated, "{key}");
        assert_eq!(verdict(true), Verdict::Violated, "{key}");
    }
}

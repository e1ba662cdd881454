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

/// The twin of every experiment: its claims made wrong by the fault the table states. And without it, nothing is red.
#[test]
fn every_verdict_turns_red_for_its_planted_fault_and_for_nothing_else() {
    let trial = Trial::new(true, None);
    let (mut figures, mut red, mut unseen) = (Vec::new(), Vec::new(), Vec::new());
    for entry in ENTRIES {
        assert!(entry.fault > 0.0 && entry.fault < 1.0);
        let fair = entry.run(trial, false).unwrap();
        red.extend(fair.outcome.checks.iter().filter(|c| c.is_violated()).map(|c| (entry.key, c.clone())));
        if entry.run(trial, true).unwrap().verdict() != Verdict::Violated {
            unseen.push((entry.key, entry.fault));
        }
        figures.extend(fair.outcome.figures.into_iter().map(|f| f.name));
    }
    assert!(red.is_empty(), "violated without a fault: {red:?}");
    assert!(unseen.is_empty(), "planted faults that do not show: {unseen:?}");
    let count = figures.len();
    figures.sort();
    figures.dedup();
    assert_eq!(figures.len(), count, "pictures would overwrite one another");
}

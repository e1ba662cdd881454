//! `provi verify`, as users meet it.

use crate::common::Bench;

#[test]
fn the_keys_asked_for_are_tried_and_the_page_needs_nothing_else() {
    let bench = Bench::new();
    let said = bench.provi(&["verify", "--quick", "--quiet", "prox-h", "hierarchical", "--out", "evidence"]);
    assert_eq!(said.status, 0, "{}", said.stderr);
    let (table, key) = (&said.stdout, |key: &str| said.stdout.contains(key));
    assert!(key("prox-h") && key("hierarchical") && !key("recursion") && key("nothing violated"), "{table}");
    let read = |name: &str| std::fs::read_to_string(bench.path("evidence").join(name)).unwrap();
    let page = read("index.html");
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("Null hypothesis"));
    assert!(!page.contains("<script") && !page.contains("src=") && !page.contains("href=\"http"));
    assert!(read("prox-h.svg").starts_with("<svg"));
    assert!(read("README.md").contains("provi verify prox-h hierarchical --quick --out evidence"));
}

#[test]
fn a_planted_fault_turns_its_own_verdict_red_and_the_exit_status_to_one() {
    let bench = Bench::new();
    let said =
        bench.provi(&["verify", "--quick", "--quiet", "prox-h", "hierarchical", "--plant", "hierarchical"]);
    assert_eq!(said.status, 1);
    let line = |key: &str| said.stdout.lines().find(|l| l.starts_with(key)).unwrap_or_default().to_owned();
    assert!(line("hierarchical").contains("VIOLATED") && line("prox-h").contains("tight"), "{}", said.stdout);
    assert!(said.stdout.contains("1 VIOLATED"), "{}", said.stdout);
}

#[test]
fn an_unknown_key_is_refused_with_those_there_are() {
    let said = Bench::new().provi(&["verify", "noise-enrgy"]);
    assert_eq!(said.status, 2);
    assert!(said.stderr.contains("noise-energy"), "{}", said.stderr);
}

//! The help texts, word for word.

mod common;

use common::{Bench, assert_snapshot};

#[test]
fn help_is_as_stored() {
    let bench = Bench::new();
    assert_snapshot("help", &bench.provi(&["--help"]).exits(0).stdout);
    let commands = [
        "demo",
        "fit",
        "summary",
        "sample",
        "compare",
        "certify",
        "plan",
        "constants",
        "explain",
        "inspect",
        "predict",
        "report",
        "completions",
        "man",
        "verify",
    ];
    for command in commands {
        let said = bench.provi(&[command, "--help"]).exits(0);
        assert!(said.stdout.contains("Examples:"), "{command}");
        assert_snapshot(&format!("help-{command}"), &said.stdout);
    }
}

#[test]
fn the_first_help_fits_one_screen() {
    let text = Bench::new().provi(&["--help"]).exits(0).stdout;
    assert!(text.lines().count() <= 32 && text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn no_command_is_a_usage_error() {
    Bench::new().provi(&[]).exits(2);
}

//! The help texts, word for word.

use std::path::Path;

use crate::common::{Bench, assert_snapshot};

/// In the order of the first help.
const COMMANDS: [&str; 20] = [
    "demo",
    "fit",
    "prior",
    "calibrate",
    "summary",
    "report",
    "predict",
    "effects",
    "sample",
    "compare",
    "loo",
    "certify",
    "inspect",
    "plan",
    "constants",
    "location-scale",
    "verify",
    "explain",
    "completions",
    "man",
];

#[test]
fn help_is_as_stored() {
    let bench = Bench::new();
    assert_snapshot("help", &bench.provi(&["--help"]).exits(0).stdout);
    for command in COMMANDS {
        let said = bench.provi(&[command, "--help"]).exits(0);
        assert!(said.stdout.contains("Examples:"), "{command}");
        assert_snapshot(&format!("help-{command}"), &said.stdout);
    }
}

/// Cards are those of the machine that runs the test.
#[test]
fn the_version_says_which_cards_it_sees() {
    let said = Bench::new().provi(&["--version"]).exits(0);
    let lines: Vec<&str> = said.stdout.lines().collect();
    assert_eq!(lines[0], format!("provi {}", env!("CARGO_PKG_VERSION")));
    assert!(lines.len() == 2 && lines[1].starts_with("cards: "), "{}", said.stdout);
    assert!(
        lines[1].starts_with("cards: none; ") || lines[1].contains("compute capability"),
        "{}",
        said.stdout
    );
}

/// The page of the guide that holds every help text, made of the command itself.
#[test]
fn the_reference_of_the_command_is_its_help() {
    let bench = Bench::new();
    let said = |args: &[&str]| bench.provi(args).exits(0).stdout;
    let mut page = "# The command, option by option\n\n\
        Made from `provi COMMAND --help` by the tests (`PROVI_BLESS=1 cargo test --workspace --test all help::`); not to be edited by hand. The \
        options of `provi fit` are the keys of a [run file](../guide/reproducing.md) too, and \
        [those of Python](python.md) with `_` for `-`.\n"
        .to_owned();
    let mut section = |title: &str, text: &str| {
        let text: Vec<&str> = text.lines().map(str::trim_end).collect();
        page.push_str(&format!("\n## {title}\n\n```text\n{}\n```\n", text.join("\n").trim_end()));
    };
    section("provi", &said(&["--help"]));
    for command in COMMANDS {
        section(&format!("provi {command}"), &said(&[command, "--help"]));
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/command.md");
    if std::env::var_os("PROVI_BLESS").is_some() {
        std::fs::write(&path, page).unwrap();
        return;
    }
    let stored = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        stored == page,
        "docs/reference/command.md is older than the help texts; PROVI_BLESS=1 rewrites it"
    );
}

#[test]
fn every_command_is_listed_here() {
    let help = Bench::new().provi(&["--help"]).exits(0).stdout;
    let listed =
        help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names: Vec<&str> = listed.filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(names, COMMANDS);
}

#[test]
fn the_first_help_fits_one_screen() {
    let text = Bench::new().provi(&["--help"]).exits(0).stdout;
    assert!(text.lines().count() <= 34 && text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn no_command_is_a_usage_error() {
    Bench::new().provi(&[]).exits(2);
}

//! Every command of the guide, run as written; `PROVI_BLESS=1` writes what it says into the chapter.
//!
//! In a block of kind `console`, a line that begins with `$ ` is a command and what follows is its output; `…` alone stands
//! for any number of lines. A block of kind `toml` is a run file. `status=N` after the kind is the exit status of the last command, 0 otherwise.

use std::path::{Path, PathBuf};

use crate::common::Bench;

/// A command, and what it is said to print.
#[derive(Debug, Default)]
struct Step {
    command: String,
    output: Vec<String>,
}

/// Splits a command line at spaces outside quotes.
fn words(command: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in command.chars() {
        match (c, quote) {
            (c, Some(q)) if c == q => quote = None,
            ('\'' | '"', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (' ', None) => words.extend(word.take()),
            (c, _) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// The time a run took is the machine's, not the guide's.
fn untimed(line: &str) -> String {
    if !line.contains(" s, seed ") {
        return line.to_owned();
    }
    // Every phase has its own: `scales 2.00 s, fit 0.20 s, audit 6.00 s, seed 0`.
    let masked =
        line.split(", ").map(|part| match part.strip_suffix(" s").map(|part| part.rsplit_once(' ')) {
            Some(Some((phase, _))) => format!("{phase} 0.01 s"),
            Some(None) => "0.01 s".to_owned(),
            None => part.to_owned(),
        });
    masked.collect::<Vec<_>>().join(", ")
}

/// Below this a number is rounding, which differs between processors.
const ROUNDING: f64 = 1e-6;

/// The same word, or numbers that rounding may have made of one.
fn same_word(a: &str, b: &str) -> bool {
    let number = |word: &str| word.trim_matches([',', ';', ':', '(', ')']).parse::<f64>().ok();
    let digits = |word: &str| {
        let (mean, sd) = word.split_once('/')?;
        Some([mean.parse::<i32>().ok()?, sd.parse::<i32>().ok()?])
    };
    // Steps in the billions: the constants behind them are good to rounding.
    let count = |word: &str| word.contains(',').then(|| number(&word.replace(',', ""))).flatten();
    match (number(a).zip(number(b)), count(a).zip(count(b)), digits(a).zip(digits(b))) {
        (Some((x, y)), ..) => (x - y).abs() <= ROUNDING + 1e-3 * x.abs().max(y.abs()),
        (_, Some((x, y)), _) => (x - y).abs() <= 1e-9 * x.abs(),
        (.., Some((x, y))) => x.iter().zip(&y).all(|(x, y)| (x - y).abs() <= 1),
        _ => a == b,
    }
}

/// The same words, whatever the space between them. k̂ of weights that differ by rounding alone is anything.
fn same_line(a: &str, b: &str) -> bool {
    let (a, b): (Vec<&str>, Vec<&str>) = (a.split_whitespace().collect(), b.split_whitespace().collect());
    let noise = |words: &[&str]| words.first() == Some(&"Pareto") && words.contains(&"exact:");
    (noise(&a) && noise(&b)) || (a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| same_word(a, b)))
}

/// Whether lines are as expected, `…` standing for any number of them.
fn fits(expected: &[String], found: &[String]) -> bool {
    match expected {
        [] => found.is_empty(),
        [first, rest @ ..] if first == "…" => (0..=found.len()).any(|skip| fits(rest, &found[skip..])),
        [first, rest @ ..] => {
            found.first().is_some_and(|line| same_line(first, line)) && fits(rest, &found[1..])
        }
    }
}

/// What takes longer than all the rest: the end of a command that the heavy tier runs alone.
const SLOW: [&str; 1] = ["--group-scale month=1 --quiet"];

/// Runs the blocks of a chapter, or all of it but the slow commands, and returns its text with the output that was seen.
fn run(chapter: &Path, slow_too: bool) -> String {
    let bench = Bench::new();
    for folder in ["tests/reference", "tests/gallery"] {
        for entry in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|e| e == "csv") {
                std::fs::copy(&path, bench.path(path.file_name().unwrap().to_str().unwrap())).unwrap();
            }
        }
    }
    // The library with BridgeStan's symbols stands for the model that its chapter compiles.
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../provi-ffi/tests/models");
    std::fs::copy(crate::libraries::bridgestan(""), bench.path("regression_model.so")).unwrap();
    std::fs::copy(models.join("regression.json"), bench.path("regression.json")).unwrap();
    let text = std::fs::read_to_string(chapter).unwrap();
    let (mut out, mut lines) = (Vec::new(), text.lines());
    while let Some(line) = lines.next() {
        out.push(line.to_owned());
        if line == "```toml" {
            let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            bench
                .write("guide.toml", &block.join("\n"))
                .provi(&["fit", "--config", "guide.toml", "--quiet"])
                .exits(0);
            out.extend(block.into_iter().chain(["```"]).map(str::to_owned));
            continue;
        }
        assert_ne!(line, "```sh", "a command of {} is not run; say `console`", chapter.display());
        let Some(kind) = line.strip_prefix("```console") else { continue };
        let status: i32 = kind.trim().strip_prefix("status=").map_or(0, |n| n.parse().unwrap());
        let mut steps: Vec<Step> = Vec::new();
        for line in lines.by_ref().take_while(|line| *line != "```") {
            match line.strip_prefix("$ ") {
                Some(command) => steps.push(Step { command: command.to_owned(), ..Step::default() }),
                None => steps.last_mut().expect("a block begins with a command").output.push(line.to_owned()),
            }
        }
        let count = steps.len();
        for (i, step) in steps.into_iter().enumerate() {
            out.push(format!("$ {}", step.command));
            if !slow_too && SLOW.iter().any(|end| step.command.ends_with(end)) {
                out.extend(step.output);
                continue;
            }
            let words = words(&step.command);
            assert_eq!(words[0], "provi", "{}", step.command);
            let said = bench.provi(&words[1..].iter().map(String::as_str).collect::<Vec<_>>());
            let said = said.exits(if i + 1 == count { status } else { 0 });
            let shown = if said.stdout.is_empty() { said.stderr } else { said.stdout };
            let mut found: Vec<String> = shown.lines().map(untimed).collect();
            while found.last().is_some_and(String::is_empty) {
                found.pop();
            }
            out.extend(if fits(&step.output, &found) { step.output } else { found });
        }
        out.push("```".to_owned());
    }
    out.join("\n") + "\n"
}

#[test]
fn every_quick_command_of_the_guide_says_what_the_guide_says() {
    check(|_| true, false);
}

#[test]
#[ignore = "slow: an audit of many rows; the other commands of the chapter are run beside it; cargo xtask heavy runs it"]
fn every_slow_command_of_the_guide_says_what_the_guide_says() {
    let mut seen = 0;
    check(
        |text| {
            let count = SLOW.iter().filter(|end| text.lines().any(|line| line.ends_with(*end))).count();
            seen += count;
            count > 0
        },
        true,
    );
    assert_eq!(seen, SLOW.len(), "a command is in the list, and not in the guide");
}

/// Runs the chapters whose text is wanted.
fn check(mut wanted: impl FnMut(&str) -> bool, slow_too: bool) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut chapters: Vec<PathBuf> =
        std::fs::read_dir(root.join("docs/guide")).unwrap().map(|entry| entry.unwrap().path()).collect();
    chapters.sort();
    for chapter in chapters.iter().filter(|path| path.extension().is_some_and(|e| e == "md")) {
        let written = std::fs::read_to_string(chapter).unwrap();
        if !wanted(&written) {
            continue;
        }
        let found = run(chapter, slow_too);
        if std::env::var_os("PROVI_BLESS").is_some() {
            std::fs::write(chapter, found).unwrap();
        } else {
            assert_eq!(found, written, "{} differs; PROVI_BLESS=1 rewrites it", chapter.display());
        }
    }
}

#[test]
fn a_gap_stands_for_any_number_of_lines() {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    assert!(fits(&lines("a\n…\nd"), &lines("a\nb\nc\nd")));
    assert!(fits(&lines("…"), &[]));
    assert!(!fits(&lines("a\n…\nd"), &lines("a\nb\nc")));
    assert!(same_line("x  0.1234  4.1e-15  9/7", "x 0.12341 7.7e-16 9/8"));
    assert!(!same_line("x 0.123", "x 0.125") && !same_line("x 0.5", "y 0.5"));
    assert_eq!(
        words("provi fit a.csv 'y ~ x' --prior \"a b\" ''"),
        ["provi", "fit", "a.csv", "y ~ x", "--prior", "a b", ""]
    );
    assert_eq!(untimed("run    auto, 3 steps, 12.34 s, seed 0"), "run    auto, 3 steps, 0.01 s, seed 0");
    let phases = "run    auto, 3 steps, scales 2.34 s, fit 0.21 s, audit 6.78 s, seed 0";
    let masked = "run    auto, 3 steps, scales 0.01 s, fit 0.01 s, audit 0.01 s, seed 0";
    assert_eq!(untimed(phases), masked);
}

/// Messages that the program puts together from parts, or whose numbers the guide writes out.
const COMPOSED: [&str; 14] = [
    "Optimum found. Accuracy not proved (KL ≤",
    "); estimated KL",
    "nats was not proved; proved is",
    ", unreliable: the weights have a heavy tail, so these estimates can be far off",
    "is above 0.7, the limit, of the importance weights: draws resampled by them cannot be trusted",
    "prior and data disagree: posterior means are more than 2 prior sds from the prior mean,",
    "prior and data disagree: the noise sd",
    "prior and data disagree: the sd between groups",
    "coefficients, most of them for the",
    "is being written to by another run, process",
    "the checkpoint is cut short or damaged: its checksum does not agree; start the run anew",
    "the checkpoint is that of another run",
    "a proved method needs a smoothness M (an upper bound of ∇²V), which the target does not give",
    "log-density is NaN at step",
];

/// The texts of all crates, each run of white space one space, as a message reads.
fn sources(folder: &Path, into: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, into);
        } else if path.extension().is_some_and(|kind| kind == "rs" || kind == "txt") {
            let text = std::fs::read_to_string(path).unwrap().replace("\\\n", "").replace("\\\"", "\"");
            into.extend(text.split_whitespace().flat_map(|word| [word, " "]));
        }
    }
}

/// A message that is looked up in the guide is one that the program says.
#[test]
fn every_message_in_the_chapter_of_messages_is_said() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut said = String::new();
    for entry in std::fs::read_dir(root.join("crates")).unwrap() {
        let source = entry.unwrap().path().join("src");
        if source.is_dir() {
            sources(&source, &mut said);
        }
    }
    let chapter = std::fs::read_to_string(root.join("docs/guide/troubleshooting.md")).unwrap();
    // Bold code: `**` and one or two back-quotes at either end.
    let (mut looked_up, mut unsaid) = (0, Vec::new());
    for message in chapter.split("**").skip(1).step_by(2).filter(|text| text.starts_with('`')) {
        let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in message.split('…') {
            let part = part.trim_matches([' ', '`']);
            let part = part.strip_prefix("not proved: ").unwrap_or(part);
            if part.chars().count() < 12 {
                continue;
            }
            looked_up += 1;
            if !said.contains(part) && !COMPOSED.contains(&part) {
                unsaid.push(part.to_owned());
            }
        }
    }
    assert!(unsaid.is_empty(), "the program does not say {unsaid:#?}");
    assert!(looked_up > 80, "{looked_up}");
}

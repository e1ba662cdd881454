//! Options × inputs, at random from a fixed seed: whatever is said and whatever is read, the command ends by itself, soon
//! after a time limit and never silent for longer than a second past it, with a status from the documented list, and says why where
//! it failed.
//!
//! A small tier by default; `PROVI_FUZZ=5000` makes as many cases, `PROVI_FUZZ_FROM` begins elsewhere in the list.
#![cfg(unix)]

#[path = "fuzz/chance.rs"]
mod chance;
mod common;
#[path = "fuzz/inputs.rs"]
mod inputs;
#[path = "fuzz/words.rs"]
mod words;

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use chance::Chance;
use common::Bench;
use words::Case;

/// Cases of the small tier, and the processes that run at once. The heavy tier begins behind them (`xtask/src/main.rs`).
const CASES: u64 = 120;
const WORKERS: u64 = 2;

/// What the command may say with its status.
const DOCUMENTED: [i32; 5] = [0, 1, 2, 3, 130];

/// Processor seconds past a time limit. A run answers within a second; the rest is the audit's first draws and the pages
/// of a build without optimisation. On a machine that is busy with other things no clock on the wall would do.
const ALLOWANCE: f64 = 4.0;

/// Processor seconds between two signs of life past a time limit or a ctrl-C, for each core: what a second on the wall can hold at
/// most. A line on either stream is a sign, and so is the end. A silence is measured by what the process itself has computed in it,
/// for on a machine that is busy with other things it may last longer on the wall while nothing is wrong; the tests are compiled
/// with optimisation, so what a user waits for is no longer than this. Ticks of the system's count and the time between two looks
/// are a tenth of that.
const SILENCE: f64 = 1.1;

/// Processor seconds of a command without a time limit, before somebody loses patience.
const LASTS: f64 = 5.0;

/// A process that does nothing at all for so long waits for something that does not come.
const HANGS: Duration = Duration::from_secs(300);

/// Address space of a process, in kB: what needs more is refused by a forecast, not by the machine.
const ROOM: u64 = 12_000_000;

/// Options that no case says: they start other programs, or need a compiled library, and have tests of their own.
const ELSEWHERE: [&str; 7] =
    ["--help", "--bridgestan", "--distributed", "--generated", "--library", "--stan", "--transformed"];

#[test]
fn every_option_of_a_fit_is_among_the_words() {
    let help = Bench::new().provi(&["fit", "--help"]).exits(0).stdout;
    let options = help.lines().filter_map(|line| {
        let line = line.trim_start();
        let named = line
            .strip_prefix("-")
            .filter(|rest| !rest.starts_with('-'))
            .and_then(|rest| rest.split_once(", "));
        let long = named.map_or(line, |(_, long)| long);
        long.starts_with("--").then(|| long.split([' ', '=']).next().unwrap_or_default())
    });
    let words = include_str!("fuzz/words.rs");
    let unknown: Vec<&str> =
        options.filter(|name| !ELSEWHERE.contains(name) && !words.contains(&format!("\"{name}\""))).collect();
    assert!(help.contains("--memory-budget") && unknown.is_empty(), "add {unknown:?} to fuzz/words.rs");
}

#[test]
fn no_words_and_no_input_abort_hang_or_end_without_a_word() {
    let number =
        |name: &str, default| std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(default);
    let (cases, from) = (number("PROVI_FUZZ", CASES), number("PROVI_FUZZ_FROM", 0));
    let wrong = Mutex::new(Vec::new());
    let seen = Mutex::new([0u64; 5]);
    std::thread::scope(|scope| {
        for worker in 0..WORKERS {
            let (wrong, seen) = (&wrong, &seen);
            scope.spawn(move || {
                let bench = inputs::bench();
                for number in (from..from + cases).filter(|case| case % WORKERS == worker) {
                    match run(&bench, &Case::new(number, &mut Chance::new(number))) {
                        Ok(status) => {
                            let at = DOCUMENTED.iter().position(|known| *known == status).unwrap_or(0);
                            seen.lock().unwrap()[at] += 1;
                        }
                        Err(reason) => wrong.lock().unwrap().push(reason),
                    }
                }
            });
        }
    });
    let (wrong, seen) = (wrong.into_inner().unwrap(), seen.into_inner().unwrap());
    assert!(wrong.is_empty(), "{} of {cases} cases:\n\n{}", wrong.len(), wrong.join("\n\n"));
    // The cases are no good if they reach nothing: commands that succeed, and that are refused.
    assert!(cases < CASES || seen[0] > cases / 20 && seen[2] > cases / 20, "statuses {seen:?}");
    eprintln!("{cases} cases; statuses {DOCUMENTED:?}: {seen:?}");
}

/// The status, or what is wrong with it.
fn run(bench: &Bench, case: &Case) -> Result<i32, String> {
    let (stdout, stderr) =
        (bench.path(&format!("{}.out", case.number)), bench.path(&format!("{}.err", case.number)));
    let mut child = Command::new("sh")
        .args(["-c", &format!("ulimit -v {ROOM}; exec \"$@\""), "sh", env!("CARGO_BIN_EXE_provi")])
        .args(&case.words)
        .current_dir(bench.dir.path())
        .env("NO_COLOR", "1")
        .stdin(Stdio::null())
        .stdout(fs::File::create(&stdout).unwrap())
        .stderr(fs::File::create(&stderr).unwrap())
        .spawn()
        .unwrap();
    let ended = wait(&mut child, case, &[&stdout, &stderr]);
    let [printed, said] = [&stdout, &stderr].map(|path| {
        let text = String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
        fs::remove_file(path).unwrap();
        text
    });
    let wrong = |what: String| {
        let words = case.words.iter().map(|word| format!("'{}'", word.replace('\'', r"'\''")));
        let line = words.collect::<Vec<_>>().join(" ");
        let said: String = said.chars().take(1500).collect();
        Err(format!("case {}: {what}\nprovi {line}   {:?}\n{said}", case.number, case.interrupts))
    };
    let (status, pressed) = match ended {
        Ok(ended) => ended,
        Err(what) => return wrong(what),
    };
    if said.contains("panicked") || printed.contains("panicked") {
        return wrong("a panic".to_owned());
    }
    match (status.code(), status.signal()) {
        // Before a run is under watch ctrl-C ends the process as it ends any other.
        (None, Some(2)) if pressed => Ok(130),
        (Some(2), _) if said.trim().is_empty() => wrong("status 2 without a word".to_owned()),
        (Some(130), _) if !pressed => wrong("130, and nobody pressed ctrl-C".to_owned()),
        (Some(code), _) if DOCUMENTED.contains(&code) => Ok(code),
        (code, signal) => wrong(format!("status {code:?}, signal {signal:?}")),
    }
}

/// Until it ends, pressing ctrl-C when it is time to; whether it was pressed.
fn wait(child: &mut Child, case: &Case, streams: &[&Path]) -> Result<(ExitStatus, bool), String> {
    // Whoever asked for silence has it: then only the end counts.
    let quiet = case.words.iter().any(|word| word == "--quiet" || word == "-q");
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let heard = || streams.iter().map(|path| fs::metadata(path).map_or(0, |found| found.len())).sum::<u64>();
    // Past a limit or a ctrl-C: what was computed and printed at the last sign of life.
    let mut last: Option<(f64, u64)> = None;
    let begin = Instant::now();
    let mut interrupts = case.interrupts.iter();
    let mut next = interrupts.next();
    let mut limit = case.time_limit;
    let mut pressed = false;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return Ok((status, pressed));
        }
        let spent = processor_seconds(child.id());
        // What has no time limit may last, and answers ctrl-C.
        let lasts = limit.is_none() && spent > LASTS;
        if lasts || next.is_some_and(|at| begin.elapsed() >= *at) {
            let _ =
                Command::new("kill").args(["-INT", &child.id().to_string()]).stderr(Stdio::null()).status();
            pressed = true;
            next = interrupts.next();
            limit = limit.or(Some(LASTS));
        }
        let late = pressed || case.time_limit.is_some_and(|limit| begin.elapsed().as_secs_f64() >= limit);
        if late && !quiet {
            let printed = heard();
            let since = match last {
                Some((since, before)) if before == printed => since,
                _ => spent,
            };
            last = Some((since, printed));
            if spent - since > SILENCE * cores as f64 {
                child.kill().unwrap();
                child.wait().unwrap();
                let silent = spent - since;
                return Err(format!("silent for {silent:.1} s of the processor, past its limit or a ctrl-C"));
            }
        }
        if limit.is_some_and(|limit| spent > limit + ALLOWANCE) || begin.elapsed() > HANGS {
            child.kill().unwrap();
            child.wait().unwrap();
            return Err(format!(
                "not ended after {spent:.0} s of the processor and {:.0} s, with a time limit of {:?} s",
                begin.elapsed().as_secs_f64(),
                case.time_limit
            ));
        }
        std::thread::sleep(Duration::from_millis(3));
    }
}

/// The watch above sees what it is for: a process that goes on after its limit without a word.
#[test]
fn a_process_that_goes_on_in_silence_is_caught() {
    let dir = tempfile::tempdir().unwrap();
    let run = |script: &str| {
        let path = dir.path().join("out");
        let out = fs::File::create(&path).unwrap();
        let mut child = Command::new("sh").args(["-c", script]).stdout(out).spawn().unwrap();
        let case = Case { number: 0, words: Vec::new(), time_limit: Some(0.01), interrupts: Vec::new() };
        wait(&mut child, &case, &[&path])
    };
    let silent = run("while :; do :; done").unwrap_err();
    assert!(silent.contains("silent for"), "{silent}");
    // One that prints on its way is only told to end in time.
    let late = run("while :; do echo on; done").unwrap_err();
    assert!(late.contains("not ended after"), "{late}");
    assert!(run("true").unwrap().0.success());
}

/// Of all its threads, where the system says so.
fn processor_seconds(process: u32) -> f64 {
    let Ok(stat) = fs::read_to_string(format!("/proc/{process}/stat")) else { return 0.0 };
    let after = stat.rsplit(')').next().unwrap_or_default();
    let ticks =
        |at: usize| after.split_whitespace().nth(at).and_then(|x| x.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(11) + ticks(12)) / 100.0
}

//! Options × inputs, at random from a fixed seed: whatever is said and whatever is read, the command ends by itself, soon
//! after a time limit, with a status from the documented list, and says why where it failed.
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
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use chance::Chance;
use common::Bench;
use words::Case;

/// Cases of the small tier, and the processes that run at once.
const CASES: u64 = 600;
const WORKERS: u64 = 2;

/// What the command may say with its status.
const DOCUMENTED: [i32; 5] = [0, 1, 2, 3, 130];

/// Processor seconds past a time limit. A run answers within a second; the rest is the audit's first draws and the pages
/// of a build without optimisation. On a machine that is busy with other things no clock on the wall would do.
const ALLOWANCE: f64 = 4.0;

/// Processor seconds of a command without a time limit, before somebody loses patience.
const LASTS: f64 = 5.0;

/// A process that does nothing at all for so long waits for something that does not come.
const HANGS: Duration = Duration::from_secs(300);

/// Address space of a process, in kB: what needs more is refused by a forecast, not by the machine.
const ROOM: u64 = 12_000_000;

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
    let ended = wait(&mut child, case);
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
fn wait(child: &mut Child, case: &Case) -> Result<(ExitStatus, bool), String> {
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

/// Of all its threads, where the system says so.
fn processor_seconds(process: u32) -> f64 {
    let Ok(stat) = fs::read_to_string(format!("/proc/{process}/stat")) else { return 0.0 };
    let after = stat.rsplit(')').next().unwrap_or_default();
    let ticks =
        |at: usize| after.split_whitespace().nth(at).and_then(|x| x.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(11) + ticks(12)) / 100.0
}

//! Processes that are stopped: all at the same place, with what one process would keep.

use std::fs;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::{PROVI, data, mpirun, process_of, run, wait_for, words};

/// A limit that is over before anything begins: every phase has its second of patience and no more.
const OVER: [&str; 4] = ["--time-limit", "0.000001", "--quiet", "--json"];

#[test]
fn a_time_limit_ends_several_processes_as_it_ends_one() {
    let dir = data();
    for (formula, options) in [
        // A search for the mode, and the steps after it.
        ("y ~ x + w", &[][..]),
        // A search for the noise before them.
        ("w ~ x + g", &["--family", "gaussian"]),
        ("y ~ x + w", &["--method", "prox-energy", "--steps", "400"]),
    ] {
        let read = |command: &mut Command, data: &str| {
            command.args(["fit", data, formula]).args(options).args(OVER);
            if data != "all.csv" {
                command.arg("--distributed");
            }
            let output = run(command.current_dir(&dir));
            let fit: Value = serde_json::from_slice(&output.stdout)
                .unwrap_or_else(|error| panic!("{formula}: {error}: {}", words(&output)));
            (output.status.code(), fit)
        };
        let (code, alone) = read(&mut Command::new(PROVI), "all.csv");
        assert_eq!((code, &alone["stopped_early"]), (Some(3), &Value::Bool(true)), "{formula}");
        for ranks in [2, 3] {
            let (code, fit) = read(&mut mpirun(ranks), "text");
            assert_eq!(code, Some(3), "{formula} on {ranks}");
            for key in ["stopped_early", "steps", "names"] {
                assert_eq!(fit[key], alone[key], "{formula} on {ranks}: {key}");
            }
            // The scales are those of the first solution, and a note says so.
            let notes = |fit: &Value| fit["model"]["warnings"].as_array().map(Vec::len);
            assert_eq!(notes(&fit), notes(&alone), "{formula} on {ranks}");
            for key in ["gap", "kl"] {
                let proved = |fit: &Value| fit["certificate"][key]["bound"].is_f64();
                assert_eq!(proved(&fit), proved(&alone), "{formula} on {ranks}: {key}");
            }
        }
    }
}

/// A signal to one process is a wish of all: the run ends with what it has, and the answer is kept.
#[test]
fn a_signal_to_one_rank_ends_all_with_an_answer() {
    for (signal, told) in [("-INT", 1), ("-TERM", 0)] {
        let dir = data();
        let at = dir.path();
        let mut command = mpirun(2);
        command.args(["fit", "parquet", "y ~ x + w", "--method", "prox-energy", "--steps", "300000"]);
        command.args(["--distributed", "--checkpoint-every", "0.02", "--quiet", "--out", "cut.fit"]);
        let job = command.current_dir(at).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        wait_for(&at.join("cut.fit/checkpoint.bin"));
        let process = process_of(told, at).expect("the rank runs");
        Command::new("kill").args([signal, &process]).status().unwrap();
        let output = job.wait_with_output().unwrap();
        let said = words(&output);
        assert_eq!(output.status.code(), Some(3), "{said}");
        assert!(said.contains(&format!("rank {told} of 2 was told to end")), "{said}");
        let fit: Value = serde_json::from_slice(&fs::read(at.join("cut.fit/fit.json")).unwrap()).unwrap();
        assert_eq!(fit["stopped_early"], true);
        assert!(fit["steps"].as_u64().is_some_and(|steps| steps > 0 && steps < 300_000));
    }
}

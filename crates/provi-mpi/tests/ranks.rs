//! Processes started by `mpirun`: one answer, however many there are.

#[path = "ranks/stopped.rs"]
mod stopped;

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parquet::data_type::DoubleType;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use serde_json::Value;

const PROVI: &str = env!("CARGO_BIN_EXE_provi-mpi");

/// `mpirun` on any machine: as root, with more processes than cores, and patient where they wait. Each job has a folder of its own for its
/// session: two that begin at once would both make the common one, and one of them fail.
fn mpirun(ranks: usize) -> Command {
    static JOBS: AtomicUsize = AtomicUsize::new(0);
    let session = std::env::temp_dir().join(format!(
        "mpi-{}-{}",
        std::process::id(),
        JOBS.fetch_add(1, Ordering::Relaxed)
    ));
    fs::create_dir_all(&session).unwrap();
    let mut command = Command::new("mpirun");
    command.env("OMPI_MCA_orte_tmpdir_base", &session).env("PRTE_MCA_prte_tmpdir_base", &session);
    command.args(["-n", &ranks.to_string(), PROVI]);
    for (name, value) in [
        ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
        ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
        ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
        ("OMPI_MCA_mpi_yield_when_idle", "1"),
        ("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"),
        ("RAYON_NUM_THREADS", "1"),
    ] {
        command.env(name, value);
    }
    command
}

fn run(command: &mut Command) -> Output {
    command.output().unwrap()
}

fn words(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The fit that a command prints.
fn fit(command: &mut Command) -> Value {
    let output = run(command.args(["--json", "--quiet", "--seed", "3"]));
    assert!(output.status.success(), "{}", words(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Reproducible numbers in 0..1.
fn noise(k: usize) -> f64 {
    ((k as f64 + 1.0) * 0.754_877_666_246_692_8).fract()
}

/// Rows y, x, w, g of a logistic model with an effect of x, and of one of four groups.
fn rows(count: usize) -> Vec<[f64; 4]> {
    let row = |n: usize| {
        let (x, w, g) = (4.0 * noise(n) - 2.0, noise(3 * n + 1), (n % 4) as f64);
        let s = 0.8 * x - 0.3 + 0.4 * (g - 1.5);
        [f64::from(noise(7 * n + 2) < 1.0 / (1.0 + (-s).exp())), x, w, g]
    };
    (0..count).map(row).collect()
}

fn text(rows: &[[f64; 4]]) -> String {
    let line = |[y, x, w, g]: &[f64; 4]| format!("{y},{x},{w},g{g}\n");
    std::iter::once("y,x,w,g\n".to_owned()).chain(rows.iter().map(line)).collect()
}

/// The numbers alone, in row groups of fifty.
fn write_parquet(path: &Path, rows: &[[f64; 4]]) {
    let schema = "message m { required double y; required double x; required double w; }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let properties = Arc::new(WriterProperties::builder().build());
    let mut file = SerializedFileWriter::new(File::create(path).unwrap(), schema, properties).unwrap();
    for rows in rows.chunks(50) {
        let mut group = file.next_row_group().unwrap();
        let mut place = 0;
        while let Some(mut column) = group.next_column().unwrap() {
            let values: Vec<f64> = rows.iter().map(|row| row[place]).collect();
            column.typed::<DoubleType>().write_batch(&values, None, None).unwrap();
            column.close().unwrap();
            place += 1;
        }
        group.close().unwrap();
    }
    file.close().unwrap();
}

/// Three shards of unequal length, as text and as Parquet, and all rows in one file.
fn data() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let rows = rows(330);
    fs::write(dir.path().join("all.csv"), text(&rows)).unwrap();
    for kind in ["text", "parquet"] {
        fs::create_dir(dir.path().join(kind)).unwrap();
    }
    for (k, (from, to)) in [(0, 200), (200, 210), (210, 330)].into_iter().enumerate() {
        fs::write(dir.path().join(format!("text/part-{k}.csv")), text(&rows[from..to])).unwrap();
        write_parquet(&dir.path().join(format!("parquet/part-{k}.parquet")), &rows[from..to]);
    }
    dir
}

fn numbers(value: &Value) -> Vec<f64> {
    value
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|x| x.as_f64().map_or_else(|| numbers(x), |x| vec![x]))
        .collect()
}

/// Equal to 1e-10, relative to the largest.
fn agree(what: &str, one: &[f64], other: &[f64]) {
    let size = one.iter().fold(1.0f64, |most, x| most.max(x.abs()));
    assert_eq!(one.len(), other.len(), "{what}");
    for (a, b) in one.iter().zip(other) {
        assert!((a - b).abs() <= 1e-10 * size, "{what}: {a} and {b}");
    }
}

fn agree_all(what: &str, one: &Value, other: &Value) {
    for key in ["mean", "covariance"] {
        agree(&format!("{what}, {key}"), &numbers(&one[key]), &numbers(&other[key]));
    }
    let value = |fit: &Value, path: &str| fit.pointer(path).and_then(Value::as_f64).unwrap();
    for path in ["/neg_elbo", "/certificate/kl/bound", "/estimates/log_evidence"] {
        let (a, b) = (value(one, path), value(other, path));
        // A bound comes out of draws and of eigenvalues: the rounding of the sums grows on the way.
        assert!((a - b).abs() <= 1e-7 * (1.0 + a.abs()), "{what}, {path}: {a} and {b}");
    }
    assert_eq!(one["names"], other["names"], "{what}");
    assert_eq!(one["model"]["rows"], other["model"]["rows"], "{what}");
}

#[test]
fn any_number_of_ranks_gives_the_answer_of_one_process() {
    let dir = data();
    for (shards, formula, options) in [
        ("text", "y ~ x + w + (1 | g)", &["--group-scale", "0.7"][..]),
        ("parquet/part-*.parquet", "y ~ x + log(1 + w)", &["--standardize"]),
        ("text", "w ~ x + g", &["--family", "gaussian"]),
    ] {
        let mut alone = Command::new(PROVI);
        let alone = fit(alone.args(["fit", "all.csv", formula]).args(options).current_dir(dir.path()));
        for ranks in 1..=3 {
            let mut together = mpirun(ranks);
            together.args(["fit", shards, formula, "--distributed"]).args(options);
            let together = fit(together.current_dir(dir.path()));
            agree_all(&format!("{formula}, {ranks} ranks"), &alone, &together);
        }
    }
}

#[test]
fn a_damaged_shard_ends_every_rank_with_one_message() {
    let dir = data();
    let shard = dir.path().join("parquet/part-2.parquet");
    let mut bytes = fs::read(&shard).unwrap();
    // In the pages of the last row group; the footer stays whole.
    let end = bytes.len() - 600;
    bytes[end - 900..end - 300].fill(0xAB);
    fs::write(&shard, bytes).unwrap();
    let mut command = mpirun(3);
    let output = run(command
        .args(["fit", "parquet", "y ~ x + w", "--distributed", "--quiet"])
        .current_dir(dir.path()));
    let said = words(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("part-2.parquet") && said.contains("row group"), "{said}");
    assert_eq!(said.matches("part-2.parquet").count(), 1, "{said}");
}

#[test]
fn what_all_ranks_refuse_is_said_once_and_decides_the_exit_status() {
    let dir = data();
    let mut command = mpirun(2);
    let output = run(command.args(["fit", "text", "y ~ nothing", "--distributed"]).current_dir(dir.path()));
    let said = words(&output);
    assert_eq!((output.status.code(), said.matches("no column `nothing`").count()), (Some(2), 1), "{said}");

    let mut command = mpirun(2);
    command.args(["fit", "text", "y ~ x", "--distributed", "--quiet", "--accuracy", "1e-300"]);
    let output = run(command.current_dir(dir.path()));
    assert_eq!(output.status.code(), Some(1), "{}", words(&output));

    let output = run(mpirun(2).args(["fit", "all.csv", "y ~ x"]).current_dir(dir.path()));
    assert!(words(&output).contains("one of 2 processes"), "{}", words(&output));
}

const LONG: [&str; 9] = [
    "y ~ x + w",
    "--method",
    "prox-energy",
    "--steps",
    "6000",
    "--distributed",
    "--checkpoint-every",
    "0.02",
    "--quiet",
];

/// The process of one rank of the job whose folder is `dir`, by what the system says of it.
fn process_of(rank: usize, dir: &Path) -> Option<String> {
    let wanted = format!("OMPI_COMM_WORLD_RANK={rank}");
    for entry in fs::read_dir("/proc").ok()?.flatten() {
        let path = entry.path();
        let Ok(environment) = fs::read(path.join("environ")) else { continue };
        let own = fs::read_link(path.join("cwd")).is_ok_and(|cwd| cwd == dir);
        if own && environment.split(|&byte| byte == 0).any(|pair| pair == wanted.as_bytes()) {
            return Some(entry.file_name().to_string_lossy().into_owned());
        }
    }
    None
}

fn wait_for(path: &Path) {
    let begin = Instant::now();
    while !path.exists() && begin.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(path.exists(), "no {}", path.display());
}

#[test]
fn a_rank_that_is_killed_ends_the_job_and_its_run_goes_on_to_the_same_bits() {
    let dir = data();
    let at = dir.path();
    let fit = |command: &mut Command, out: &str| {
        let output = run(command.args(["fit", "parquet"]).args(LONG).args(["--out", out]).current_dir(at));
        assert!(output.status.success(), "{}", words(&output));
    };
    fit(&mut mpirun(2), "whole.fit");
    let answer = |out: &str| {
        let mut fit: Value =
            serde_json::from_slice(&fs::read(at.join(out).join("fit.json")).unwrap()).unwrap();
        (fit["seconds"], fit["phases"]) = (Value::Null, Value::Null);
        fit
    };
    let start = || {
        let mut command = mpirun(2);
        command.args(["fit", "parquet"]).args(LONG).args(["--out", "cut.fit"]);
        command.current_dir(at).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    };
    for killed in [1, 0] {
        let _ = fs::remove_dir_all(at.join("cut.fit"));
        let job = start();
        wait_for(&at.join("cut.fit/checkpoint.bin"));
        if let Some(process) = process_of(killed, at) {
            Command::new("kill").args(["-9", &process]).status().unwrap();
        }
        let output = job.wait_with_output().unwrap();
        if at.join("cut.fit/fit.json").exists() {
            continue; // It was faster than the kill.
        }
        let said = words(&output);
        assert!(!output.status.success());
        assert!(said.contains(&format!("rank {killed}")), "{said}");
        assert!(said.contains("checkpoint") && said.contains("--resume cut.fit"), "{said}");
        let mut command = mpirun(2);
        let output =
            run(command.args(["fit", "--resume", "cut.fit", "--distributed", "--quiet"]).current_dir(at));
        assert!(output.status.success(), "{}", words(&output));
        assert_eq!(answer("cut.fit"), answer("whole.fit"));
    }
}

//! More rows than memory: what a fit holds beyond the program itself does not grow with the rows.
#![cfg(target_os = "linux")]

use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use crate::common::Bench;
use parquet::data_type::DoubleType;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use serde_json::Value;

const ROWS: usize = 800_000;
const GROUP: usize = 50_000;
/// What `--memory` asks for, in MiB. The design of [`ROWS`] rows is as large alone.
const MEMORY: u64 = 32;

/// Numbers in −1..1 without a pattern that a model could see.
fn number(n: usize, column: usize) -> f64 {
    let mut x = (n as u64) << 3 | column as u64;
    x = (x ^ x >> 31).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ x >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (x ^ x >> 32) as f64 / 2f64.powi(63) - 1.0
}

/// A response and four predictors.
fn write(path: &Path, rows: usize) {
    let schema = "message m { required double y; required double a; required double b; required double c; required double d; }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let properties = WriterProperties::builder().set_dictionary_enabled(false).build();
    let mut file =
        SerializedFileWriter::new(File::create(path).unwrap(), schema, Arc::new(properties)).unwrap();
    for first in (0..rows).step_by(GROUP) {
        let mut group = file.next_row_group().unwrap();
        for column in 0..5 {
            let value = |n: usize| match column {
                0 => {
                    let s = 0.5 + number(n, 1) - 0.7 * number(n, 2);
                    f64::from(0.5 * (number(n, 0) + 1.0) < 1.0 / (1.0 + (-s).exp()))
                }
                _ => number(n, column),
            };
            let values: Vec<f64> = (first..(first + GROUP).min(rows)).map(value).collect();
            let mut writer = group.next_column().unwrap().unwrap();
            writer.typed::<DoubleType>().write_batch(&values, None, None).unwrap();
            writer.close().unwrap();
        }
        group.close().unwrap();
    }
    file.close().unwrap();
}

/// The most that a process ever held, by the system's own mark, read until it ends.
fn high_water(child: &mut Child) -> u64 {
    let status = format!("/proc/{}/status", child.id());
    let mut most = 0;
    while child.try_wait().unwrap().is_none() {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let mark = text
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix("kB")?.trim().parse().ok());
        most = mark.map_or(most, |kib: u64| most.max(1024 * kib));
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    most
}

/// Fits a file, and returns the most that the process held.
fn fit(bench: &Bench, rows: &str, to: &str) -> u64 {
    let mut child = Command::new(env!("CARGO_BIN_EXE_provi"))
        .args(["fit", rows, "y ~ a + b + c + d", "--memory", &format!("{MEMORY}MiB")])
        .args(["--audit-draws", "500", "--json", "--quiet"])
        .current_dir(bench.dir.path())
        .stdout(Stdio::from(File::create(bench.path(to)).unwrap()))
        .spawn()
        .unwrap();
    let most = high_water(&mut child);
    assert!(child.wait().unwrap().success());
    most
}

/// The same command over a few rows holds the program, its stacks and the matrices of d²: pages of the program's file alone are more in a build for
/// tests than all blocks together. The difference is what the rows take.
#[test]
#[ignore = "slow: eight hundred thousand rows; cargo xtask heavy runs it"]
fn many_rows_are_fitted_and_certified_in_the_memory_that_was_stated() {
    let bench = Bench::new();
    write(&bench.path("few.parquet"), 2000);
    write(&bench.path("rows.parquet"), ROWS);
    let program = fit(&bench, "few.parquet", "few.json");
    let most = fit(&bench, "rows.parquet", "fit.json");
    let rows = most.saturating_sub(program);
    assert!(program > 8 << 20 && rows <= MEMORY << 20, "{rows} bytes of {MEMORY} MiB, after {program}");
    let fit: Value = serde_json::from_slice(&std::fs::read(bench.path("fit.json")).unwrap()).unwrap();
    let bound = |which: &str| fit["certificate"][which]["bound"].as_f64().unwrap();
    assert!(bound("gap") < 1e-10 && bound("kl") < 2e-3, "{} {}", bound("gap"), bound("kl"));
    let truth = [0.5, 1.0, -0.7, 0.0, 0.0];
    for (mean, truth) in fit["mean"].as_array().unwrap().iter().zip(truth) {
        // Six standard deviations of the posterior, which are near 0.005.
        assert!((mean.as_f64().unwrap() - truth).abs() < 0.03, "{mean} and {truth}");
    }
}

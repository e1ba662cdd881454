//! More rows than memory: two million of them within 64 MiB.
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

const ROWS: usize = 2_000_000;
const GROUP: usize = 100_000;
const LIMIT: u64 = 64 << 20;

/// Numbers in −1..1 without a pattern that a model could see.
fn number(n: usize, column: usize) -> f64 {
    let mut x = (n as u64) << 3 | column as u64;
    x = (x ^ x >> 31).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ x >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (x ^ x >> 32) as f64 / 2f64.powi(63) - 1.0
}

/// Eighty megabytes of doubles: a response and four predictors.
fn write(path: &Path) {
    let schema = "message m { required double y; required double a; required double b; required double c; required double d; }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let properties = WriterProperties::builder().set_dictionary_enabled(false).build();
    let mut file =
        SerializedFileWriter::new(File::create(path).unwrap(), schema, Arc::new(properties)).unwrap();
    for first in (0..ROWS).step_by(GROUP) {
        let mut group = file.next_row_group().unwrap();
        for column in 0..5 {
            let value = |n: usize| match column {
                0 => {
                    let s = 0.5 + number(n, 1) - 0.7 * number(n, 2);
                    f64::from(0.5 * (number(n, 0) + 1.0) < 1.0 / (1.0 + (-s).exp()))
                }
                _ => number(n, column),
            };
            let values: Vec<f64> = (first..first + GROUP).map(value).collect();
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

#[test]
#[ignore = "slow: two million rows; cargo xtask heavy runs it"]
fn two_million_rows_are_fitted_and_certified_within_64_mib() {
    let bench = Bench::new();
    write(&bench.path("rows.parquet"));
    let mut child = Command::new(env!("CARGO_BIN_EXE_provi"))
        .args(["fit", "rows.parquet", "y ~ a + b + c + d", "--memory", "64MiB"])
        .args(["--audit-draws", "1000", "--json", "--quiet"])
        .current_dir(bench.dir.path())
        .stdout(Stdio::from(File::create(bench.path("fit.json")).unwrap()))
        .spawn()
        .unwrap();
    let most = high_water(&mut child);
    assert!(child.wait().unwrap().success());
    // In memory the design alone, with its intercept, is eighty megabytes.
    assert!(most > 8 << 20 && most <= LIMIT, "{most} bytes of {LIMIT}");
    let fit: Value = serde_json::from_slice(&std::fs::read(bench.path("fit.json")).unwrap()).unwrap();
    let bound = |which: &str| fit["certificate"][which]["bound"].as_f64().unwrap();
    assert!(bound("gap") < 1e-10 && bound("kl") < 1e-3, "{} {}", bound("gap"), bound("kl"));
    let truth = [0.5, 1.0, -0.7, 0.0, 0.0];
    for (mean, truth) in fit["mean"].as_array().unwrap().iter().zip(truth) {
        // Six standard deviations of the posterior, which are near 0.003.
        assert!((mean.as_f64().unwrap() - truth).abs() < 0.02, "{mean} and {truth}");
    }
}

//! Passes over a file that is read block by block: `provi-limits stream FILE MIB` prints their rows a second, as JSON, for
//! `bench/stream.py` to set beside another reader's.

use crate::process::peak_memory;
use provi_analysis::model::{Data, Model};
use provi_analysis::options::ModelOptions;
use std::path::Path;
use std::time::Instant;

/// Points of a pass: one gradient, and the ten that the Python side makes too.
const POINTS: [usize; 2] = [1, 10];
/// Passes of each kind; the least time counts.
const PASSES: usize = 3;

pub(crate) fn run(file: &str, mebibytes: &str) -> Result<(), String> {
    let memory: u64 = mebibytes.parse().map_err(|_| format!("{mebibytes} is no number of MiB"))?;
    let begin = Instant::now();
    let data = Data::files(Path::new(file), memory << 20);
    let options = ModelOptions { family: "bernoulli".parse().ok(), ..ModelOptions::default() };
    let model = Model::build(&data, "y ~ .", &options, None).map_err(|error| error.to_string())?;
    let ready = begin.elapsed().as_secs_f64();
    let (target, d) = (model.target.target(), model.dim());
    let mut found = Vec::new();
    for count in POINTS {
        let points: Vec<f64> = (0..count * d).map(|k| 0.01 * (k % 7) as f64).collect();
        let (mut values, mut gradients) = (vec![0.0; count], vec![0.0; count * d]);
        let mut least = f64::INFINITY;
        for _ in 0..PASSES {
            let begin = Instant::now();
            target
                .log_densities(&points, &mut values, &mut gradients, &mut provi::target::Scratch::default())
                .map_err(|error| error.to_string())?;
            least = least.min(begin.elapsed().as_secs_f64());
        }
        found.push(format!("\"{count}\": {least}, \"value_{count}\": {}", values[0]));
    }
    let rows = model.rows;
    println!(
        "{{\"rows\": {rows}, \"ready\": {ready}, {}, \"peak\": {}}}",
        found.join(", "),
        peak_memory().unwrap_or(0)
    );
    Ok(())
}

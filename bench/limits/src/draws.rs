//! Draws of the posterior itself, on all threads, beside how many a second there are to be.

use crate::table::Row;
use provi::exact_draws::ExactDraws;
use provi::solve::Solver;
use provi::target::{Glm, Prior};
use provi::{Design, Gaussian, Seed, Triangular};
use provi_analysis::Analysis;
use provi_analysis::model::{Data, ModelTarget};
use provi_analysis::options::ModelOptions;
use std::time::Instant;

const DEMO: &[u8] = include_bytes!("../../../crates/provi-cli/data/tumours.csv");
/// Draws of one call.
const AT_ONCE: usize = 4000;

/// The envelope, and a draw through it; `wanted` is how many there are to be in a second. A call may find draws of the one before ready,
/// so all calls are timed together.
fn of(name: &str, model: &Glm, q: &Gaussian<Triangular>, wanted: f64, seconds: f64) -> Vec<Row> {
    let begin = Instant::now();
    let mut exact = ExactDraws::new(model, q, Seed(1)).expect("an envelope");
    let envelope = begin.elapsed().as_nanos() as f64;
    let begin = Instant::now();
    while begin.elapsed().as_secs_f64() < seconds {
        exact.draw(AT_ONCE).expect("draws");
    }
    let draw = begin.elapsed().as_nanos() as f64 / exact.accepted() as f64;
    let taken = exact.proposed() as f64 / exact.accepted() as f64;
    vec![
        Row::new(
            format!("exact draw, {name}, {taken:.1} proposals"),
            draw,
            format!("{wanted} a second"),
            1e9 / wanted,
        )
        .bar(1.0),
        Row::new(format!("its envelope, {name}"), envelope, "1000 of its draws", 1000.0 * draw),
    ]
}

/// The demo, and correlated columns whose logits have a standard deviation of about 1.2.
pub(crate) fn rows(seconds: f64) -> Vec<Row> {
    let best = |model: &Glm| Solver::default().run(model).expect("a solution").gaussian;
    let options = ModelOptions { prior_scale: Some(1.0), ..ModelOptions::default() };
    let data = Data::new(DEMO.to_vec(), "tumours.csv".to_owned());
    let demo = Analysis::of(data, "benign ~ .", &options).expect("the demo's table");
    let ModelTarget::Memory(model) = &demo.model().target else { return Vec::new() };
    let mut out = of("demo", model, &best(model), 5e4, seconds);
    let (rows, d) = (1000, 20);
    let mut noise = vec![0.0; rows * (d + 2)];
    provi_kernels::normals(40, 0, 0, &mut noise);
    let (own, shared) = noise.split_at(rows * d);
    let entries: Vec<f64> = (0..rows * d).map(|e| 0.8 * own[e] + 0.6 * shared[e / d]).collect();
    let label = |n: usize| {
        let s: f64 = entries[n * d..(n + 1) * d]
            .iter()
            .enumerate()
            .map(|(j, x)| x * f64::from(1 - 2 * (j % 2) as i8))
            .sum();
        f64::from(shared[rows + n] < 0.3 * s / 1.7)
    };
    let labels: Vec<f64> = (0..rows).map(label).collect();
    let design = Design::from_rows(rows, d, entries.clone()).expect("finite entries");
    let model = Glm::logistic(design, &labels, Prior::scale(2.5).expect("positive")).expect("binary labels");
    out.extend(of("1000 × 20", &model, &best(&model), 2e3, seconds));
    out
}

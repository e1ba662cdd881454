//! Exact expectations of models, beside reading the data once; on one thread and on all.

use crate::clock::{Work, least};
use crate::gradient::data;
use crate::machine;
use crate::table::Row;
use provi::expectation::{Expectations, Moments};
use provi::target::{Family, Glm, Prior, Scratch};
use provi::{Design, Gaussian, Target, Triangular};
use std::hint::black_box;

const ROWS: usize = 20_000;
const COLUMNS: usize = 50;

fn model(family: Family) -> (Glm, Gaussian<Triangular>) {
    let (entries, labels) = data(ROWS, COLUMNS);
    let design = Design::from_rows(ROWS, COLUMNS, entries).expect("finite entries");
    let model =
        Glm::new(family, design, &labels, Prior::scale(1.0).expect("positive")).expect("binary labels");
    let mut factor = vec![0.0; COLUMNS * (COLUMNS + 1) / 2];
    (0..COLUMNS).for_each(|i| factor[i * (i + 3) / 2] = 0.1);
    (model, Gaussian::new(&[0.05; COLUMNS], &factor).expect("a positive diagonal"))
}

/// E V, E ∇V and E ∇²V beside what they cannot do without: d²/2 multiply-adds a row for AᵀWA, and as many for the
/// variances of the predictors, at the machine's peak.
pub(crate) fn rows(seconds: f64) -> Vec<Row> {
    let work = (ROWS * COLUMNS * COLUMNS) as f64;
    let families = [("logistic", Family::Bernoulli), ("probit", Family::Probit)];
    families
        .into_iter()
        .map(|(name, family)| {
            let (model, q) = model(family);
            let mut moments = Moments::new(COLUMNS);
            let mut contenders: Vec<Work<'_>> = vec![
                Box::new(|| model.expect(black_box(&q), &mut moments).expect("finite")),
                Box::new(|| _ = black_box(machine::multiply_adds(black_box(0.9), 0.1))),
            ];
            let times = least(seconds, &mut contenders);
            let kernel = format!("exact {name} expectations, {ROWS} × {COLUMNS}");
            let limit = work * times[1] / machine::MULTIPLY_ADDS;
            Row::new(kernel, times[0], "its nd² multiply-adds at peak", limit)
        })
        .collect()
}

/// The same work on every thread of the machine, beside one thread.
pub(crate) fn threads(seconds: f64) -> Vec<Row> {
    let (model, q) = model(Family::Bernoulli);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let pool = |n: usize| rayon::ThreadPoolBuilder::new().num_threads(n).build().expect("threads");
    let pools = [pool(1), pool(threads)];
    let points = vec![0.1; 10 * COLUMNS];
    let mut contenders: Vec<Work<'_>> = Vec::new();
    for pool in &pools {
        let (mut values, mut gradients) = (vec![0.0; 10], vec![0.0; 10 * COLUMNS]);
        let (mut scratch, mut moments) = (Scratch::default(), Moments::new(COLUMNS));
        let (model, points, q) = (&model, &points, &q);
        contenders.push(Box::new(move || {
            pool.install(|| {
                model.log_densities(points, &mut values, &mut gradients, &mut scratch).expect("finite")
            });
        }));
        contenders.push(Box::new(move || pool.install(|| model.expect(q, &mut moments).expect("finite"))));
    }
    let times = least(seconds, &mut contenders);
    let share = 1.0 / threads as f64;
    let row = |what: &str, i: usize| {
        let limit = format!("one thread's time over {threads}");
        Row::new(format!("{what}, {threads} threads"), times[i + 2], limit, share * times[i])
    };
    vec![row("logistic gradient, 10 draws", 0), row("exact logistic expectations", 1)]
}

//! How fast a card is: medians of a few runs after a first one that is not counted.

use crate::problem::{Problem, Trapezoid, normals};
use provi::device::FORM_COLUMNS;
use provi_gpu::{Card, CardRows, Error, Family, FormWeights, Normal, Result};
use std::time::Instant;

fn seconds(card: &Card, repeats: usize, mut run: impl FnMut() -> Result<()>) -> Result<f64> {
    run()?;
    card.wait()?;
    let mut times = Vec::new();
    for _ in 0..repeats {
        let start = Instant::now();
        run()?;
        card.wait()?;
        times.push(start.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    Ok(times[repeats / 2])
}

pub(crate) fn all(card: &Card, sizes: &str, count: usize) -> Result<()> {
    println!("\n{:<22} {:<34} {:>11} {:>12}", "rows", "pass", "ms", "TFLOP/s");
    for size in sizes.split(',') {
        let parsed = size.split_once('x').and_then(|(n, d)| Some((n.parse().ok()?, d.parse().ok()?)));
        let Some((rows, columns)): Option<(usize, usize)> = parsed else {
            return Err(Error::OutOfRange { what: "size", value: size.into(), needed: "rows x columns" });
        };
        one(card, rows, columns, count)?;
    }
    Ok(())
}

fn one(card: &Card, rows: usize, columns: usize, count: usize) -> Result<()> {
    let mut problem = Problem::new(Family::Logistic, rows, columns, false);
    let line = |what: &str, time: f64, flops: f64| {
        let size = format!("{rows} × {columns}");
        println!("{size:<22} {what:<34} {:>11.3} {:>12.1}", 1e3 * time, flops / time / 1e12);
    };
    let start = Instant::now();
    let logistic = CardRows::new(card, &problem.table())?;
    card.wait()?;
    line("rows to the card", start.elapsed().as_secs_f64(), 0.0);
    let mean: Vec<f64> = normals(13, columns).iter().map(|m| 0.1 * m).collect();
    let factor: Vec<f64> = normals(14, columns * (columns + 1) / 2).iter().map(|c| 0.001 * c).collect();
    let q = Normal { mean: &mean, factor: &factor };
    let time = seconds(card, 3, || card.draws(&q, 1, 2, 0, count).map(drop))?;
    line(&format!("{count} draws"), time, 0.0);
    let draws = card.draws(&q, 1, 2, 0, count)?;
    let product = 2.0 * rows as f64 * columns as f64;
    let time = seconds(card, 3, || logistic.energies(&draws).map(drop))?;
    line(&format!("{count} densities, logistic"), time, product * count as f64);
    let few = card.draws(&q, 1, 2, 0, 1024)?;
    let time = seconds(card, 3, || logistic.energies_and_gradients(&few).map(drop))?;
    line("1024 densities with gradients", time, 2.0 * product * 1024.0);
    let rules = Trapezoid::three();
    let rules = rules.each_ref().map(Trapezoid::rule);
    let time = seconds(card, 3, || logistic.expectations(&q, &rules).map(drop))?;
    line("exact expectations with Hessian", time, product * columns as f64 * 2.0);
    if columns <= FORM_COLUMNS {
        let third = normals(16, rows);
        let positive: Vec<f64> = third.iter().map(|w| w * w).collect();
        let weights = FormWeights { third: &third, quadratic: vec![&positive], quartic: vec![&positive] };
        let time = seconds(card, 3, || logistic.forms(0, &factor, &weights).map(drop))?;
        let wide = (columns * (columns + 1) / 2) as f64;
        let count = rows as f64 * wide * (2.0 * columns as f64 + wide);
        line("a cubic, a quadratic, a quartic form", time, count);
    }
    drop(logistic);
    for family in [Family::Poisson, Family::Binomial, Family::Probit, Family::Cloglog] {
        problem = Problem { family, ..problem };
        let rows = CardRows::new(card, &problem.table())?;
        let part = 4096.min(count);
        let draws = card.draws(&q, 1, 2, 0, part)?;
        let time = seconds(card, 3, || rows.energies(&draws).map(drop))?;
        line(&format!("{part} densities, {family:?}"), time, product * part as f64);
    }
    Ok(())
}

//! Group effects by the hundred thousand: the best Gaussian of a mixed logistic model, by its sparse precision.
//!
//! `cargo run --release --example groups -- 1000000 100000 20` fits a million rows with twenty columns and a hundred
//! thousand groups; a fourth number adds crossed groups. Prints one line: rows, coefficients, numbers in the factor,
//! passes, seconds, gap. With the word `integrate` the scale of the groups is integrated out as well.

use provi::scales::{FreeScales, Integration, ScalePrior};
use provi::sparse::SparseSolver;
use provi::target::{Glm, Prior, SparseGlm};
use provi::{Design, Result};
use std::time::Instant;

/// Uniform numbers in (0, 1), from a multiplicative congruential generator.
struct Uniform(u64);

impl Uniform {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        (-2.0 * self.next().ln()).sqrt() * (std::f64::consts::TAU * self.next()).cos()
    }
}

fn main() -> Result<()> {
    let given: Vec<usize> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let number = |k: usize, otherwise: usize| given.get(k).copied().unwrap_or(otherwise);
    let (rows, groups, columns, crossed) = (number(0, 10_000), number(1, 1000), number(2, 5), number(3, 0));
    let mut random = Uniform(1);
    let fixed: Vec<f64> = (0..columns).map(|_| 0.3 * random.normal()).collect();
    let effects: Vec<f64> = (0..groups + crossed).map(|_| 0.8 * random.normal()).collect();
    let width = 1 + columns + groups + crossed;
    let (mut starts, mut indices, mut values, mut labels) = (vec![0], Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rows {
        let mut predictor = -0.3;
        indices.push(0);
        values.push(1.0);
        for (j, slope) in fixed.iter().enumerate() {
            let x = random.normal();
            predictor += slope * x;
            indices.push(1 + j);
            values.push(x);
        }
        let first = (random.next() * groups as f64) as usize;
        let second = (random.next() * crossed as f64) as usize;
        for effect in [Some(first), (crossed > 0).then_some(groups + second)].into_iter().flatten() {
            predictor += effects[effect];
            indices.push(1 + columns + effect);
            values.push(1.0);
        }
        starts.push(indices.len());
        labels.push(f64::from(u8::from(random.next() < 1.0 / (1.0 + (-predictor).exp()))));
    }
    let design = Design::csr(rows, width, starts, indices, values)?;
    let scales: Vec<f64> = (0..width).map(|j| if j <= columns { 2.5 } else { 0.8 }).collect();
    let model = Glm::logistic(design, &labels, Prior::scales(&scales)?)?;
    if std::env::args().any(|word| word == "integrate") {
        return integrated(model, 1 + columns, groups);
    }
    let begin = Instant::now();
    let sparse = model.sparse()?;
    let sorted = begin.elapsed().as_secs_f64();
    let solution = SparseSolver::default().run(&sparse)?;
    let deviations = solution.gaussian.standard_deviations()?;
    let gap = solution.gap.map_or(f64::INFINITY, |gap| gap.value);
    println!(
        "{rows} rows, {} coefficients, {} numbers, {} passes, {sorted:.2} s + {:.2} s, gap {gap:.1e} nats",
        solution.gaussian.dim(),
        solution.gaussian.fill(),
        solution.expectation_evaluations,
        begin.elapsed().as_secs_f64() - sorted,
    );
    for j in 0..=columns.min(3) {
        println!("coefficient {j}: {:.4} ± {:.4}", solution.gaussian.mean()[j], deviations[j]);
    }
    Ok(())
}

/// The scale of the groups, integrated out.
fn integrated(model: Glm, first: usize, groups: usize) -> Result<()> {
    let begin = Instant::now();
    let Ok(model) = SparseGlm::within(model, usize::MAX)? else { unreachable!("any size is allowed") };
    let free = FreeScales { shared: vec![((first..first + groups).collect(), 1.0)], ..FreeScales::default() };
    let prior = ScalePrior::HalfStudentT { degrees: 3.0, scale: 2.5 };
    let how = Integration { draws: 0, ..Integration::new(vec![prior]) };
    let found = free.integrate(&model, &how)?;
    let [low, middle, high] =
        [0.025, 0.5, 0.975].map(|share| found.scale_quantile(0, share).unwrap_or(f64::NAN));
    println!(
        "{} nodes, {:.2} s; sd of the groups: median {middle:.4}, 95 % in [{low:.4}, {high:.4}]",
        found.nodes.len(),
        begin.elapsed().as_secs_f64(),
    );
    Ok(())
}

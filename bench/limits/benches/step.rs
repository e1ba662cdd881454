//! What one step costs beyond its gradient, and what a plan costs beyond its steps.
//!
//! Claims under test: a Prox-SGD step of one draw is less than a pass over C, and a batch is one pass; the prox and the triangular
//! projection are O(d); the symmetric projection is O(1) while the carried eigenvalue bound suffices, a Cholesky
//! factorisation when it does not, more only when the constraint is active; an average is one pass over w; a plan of any
//! length is priced at once. Whole steps of Proj-SGD are in `proj.rs`.

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use provi::average::{Average, Averager};
use provi::draws::{Draws, Purpose};
use provi::estimator::{Kind, Sampled};
use provi::optimize::{Composite, Moved, Operator, Problem};
use provi::step::{FusedProx, ProjSymmetric, ProjTriangular, Prox};
use provi::target::Evaluator;
use provi::theory::{NoiseBound, Recursion};
use provi::{Gaussian, Result, Seed, Symmetric, Target, Triangular};
use std::hint::black_box;

/// A move of known size, and one of which nothing is known.
const SMALL: Moved = Moved { distance: 1e-9, value: None };
const UNKNOWN: Moved = Moved { distance: f64::MAX, value: None };

fn triangular(c: &mut Criterion) {
    for d in [100, 1000] {
        let mut w = Gaussian::<Triangular>::standard(d).parameters().to_vec();
        let mut prox = Prox::new(d);
        c.bench_function(&format!("prox_operator/d={d}"), |b| {
            b.iter(|| prox.apply(black_box(&mut w), 1e-12, &SMALL).unwrap());
        });
        let mut proj = ProjTriangular::new(d, 4.0).unwrap();
        c.bench_function(&format!("proj_triangular_step/d={d}"), |b| {
            b.iter(|| proj.apply(black_box(&mut w), 1e-12, &SMALL).unwrap());
        });
    }
}

/// log p = −½‖z‖², as cheap as a gradient can be.
struct Sphere(usize);

impl Target for Sphere {
    fn dim(&self) -> usize {
        self.0
    }

    fn log_density(&self, z: &[f64], gradient: &mut [f64]) -> Result<f64> {
        gradient.iter_mut().zip(z).for_each(|(g, z)| *g = -z);
        Ok(-0.5 * provi_kernels::dot(z, z))
    }
}

/// Whole steps, random numbers included: in blocks of one pass, and as product, update and prox.
fn prox_sgd(c: &mut Criterion) {
    for (d, batch) in [(50, 1), (100, 1), (200, 1), (500, 1), (1000, 1), (50, 8), (200, 8), (1000, 8)] {
        let (target, draws) = (Sphere(d), Draws::new(Seed(1), Purpose::Optimise));
        let view = Evaluator::Serial(&target);
        let fused = FusedProx::new(view, draws, batch).unwrap();
        let sampled = Sampled::<Triangular>::new(Kind::Energy, view, draws, batch).unwrap();
        let three_pass = Composite { estimator: sampled, operator: Prox::new(d) };
        let problems: [(&str, Box<dyn Problem + '_>); 2] =
            [("fused", Box::new(fused)), ("three-pass", Box::new(three_pass))];
        for (name, mut problem) in problems {
            let mut w = Gaussian::<Triangular>::standard(d).parameters().to_vec();
            let mut t = 0;
            c.bench_function(&format!("prox_step/d={d}/S={batch}/{name}"), |b| {
                b.iter(|| {
                    t += 1;
                    problem.advance(black_box(&mut w), t, 1e-4).unwrap()
                });
            });
        }
    }
}

fn symmetric(c: &mut Criterion) {
    let d = 100;
    let inside = Gaussian::<Symmetric>::standard(d).parameters().to_vec();
    // 1/√M = ½ lies below every eigenvalue of I, 1/√M = 2 above.
    let cases = [("skipped", 4.0, SMALL), ("cholesky", 4.0, UNKNOWN), ("eigen", 0.25, UNKNOWN)];
    for (name, smoothness, moved) in cases {
        let mut proj = ProjSymmetric::new(d, smoothness).unwrap();
        proj.apply(&mut inside.clone(), 1e-12, &UNKNOWN).unwrap();
        c.bench_function(&format!("proj_symmetric_step_{name}/d={d}"), |b| {
            b.iter_batched_ref(
                || inside.clone(),
                |w| proj.apply(black_box(w), 1e-12, &moved).unwrap(),
                BatchSize::SmallInput,
            );
        });
    }
}

fn averages(c: &mut Criterion) {
    for d in [100, 1000] {
        let w = Gaussian::<Triangular>::standard(d).parameters().to_vec();
        let mut average = Averager::new(Average::Polynomial { power: 3.0 }, w.len()).unwrap();
        let mut t = 0;
        c.bench_function(&format!("average/d={d}"), |b| {
            b.iter(|| {
                t += 1;
                average.add(t, black_box(&w)).expect("same length");
            });
        });
    }
}

fn plans(c: &mut Criterion) {
    let recursion = Recursion::new(1.0, NoiseBound { growth: 50.0, floor: 1e6 }).unwrap();
    c.bench_function("steps_to/T=1e9", |b| {
        b.iter(|| recursion.steps_to(black_box(10.0), 1e-3, u64::MAX).unwrap());
    });
}

criterion_group!(benches, prox_sgd, triangular, symmetric, averages, plans);
criterion_main!(benches);

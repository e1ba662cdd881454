//! What one step costs beyond its gradient, and what a plan costs beyond its steps.
//!
//! Claims under test: a Prox-SGD step of one draw is less than a pass over C, and a batch is one pass; the prox and the triangular
//! projection are O(d); the symmetric projection is O(1) while the carried eigenvalue bound suffices, a Cholesky
//! factorisation when it does not, more only when the constraint is active; a whole step of Proj-SGD with STL is O(d²)
//! while the constraint is idle, beside an eigendecomposition and an inverse in the textbook (`naive_…`, without its
//! gradient); an average is one pass over w; a plan of any length is priced at once.

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use faer::Mat;
use faer::linalg::solvers::DenseSolveCore;
use provi::average::{Average, Averager};
use provi::draws::{Draws, Purpose};
use provi::estimator::{Evaluator, Kind, Sampled};
use provi::optimize::{Composite, Moved, Operator, Problem};
use provi::step::{FusedProx, ProjEntropy, ProjStl, ProjSymmetric, ProjTriangular, Prox};
use provi::theory::{NoiseBound, Recursion};
use provi::{Gaussian, Result, Seed, Symmetric, Target, Triangular};
use provi_kernels::{axpy, dot};
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

/// log p = −½ zᵀQDQz, D from 1 to 10, Q a reflection: O(d) to evaluate, with axes like no others.
struct Reflected {
    axis: Vec<f64>,
}

const SMOOTHNESS: f64 = 10.0;

impl Reflected {
    fn new(d: usize) -> Self {
        let mut axis = vec![0.0; d];
        Draws::new(Seed(8), Purpose::Sample).fill(0, 0, &mut axis);
        let size = dot(&axis, &axis).sqrt();
        axis.iter_mut().for_each(|x| *x /= size);
        Self { axis }
    }
}

impl Target for Reflected {
    fn dim(&self) -> usize {
        self.axis.len()
    }

    fn log_density(&self, z: &[f64], gradient: &mut [f64]) -> provi::Result<f64> {
        let last = (z.len() - 1) as f64;
        gradient.copy_from_slice(z);
        axpy(-2.0 * dot(&self.axis, z), &self.axis, gradient);
        gradient.iter_mut().enumerate().for_each(|(i, x)| *x *= -1.0 - (SMOOTHNESS - 1.0) * i as f64 / last);
        let along = dot(&self.axis, gradient);
        axpy(-2.0 * along, &self.axis, gradient);
        Ok(0.5 * dot(z, gradient))
    }
}

/// Steps of a run that has been under way for 2000: what they cost, checks, projections and refreshes included.
fn run(c: &mut Criterion, name: &str, d: usize, problem: &mut dyn Problem) {
    let mut w = Gaussian::<Symmetric>::standard(d).parameters().to_vec();
    let gamma = 0.5 / (SMOOTHNESS * (d + 3) as f64);
    let mut t = 0;
    let mut go = || {
        t += 1;
        problem.advance(black_box(&mut w), t, gamma).unwrap()
    };
    let mut warm = false;
    c.bench_function(&format!("{name}/d={d}"), |b| {
        if !std::mem::replace(&mut warm, true) {
            (0..2000).for_each(|_| _ = go());
        }
        b.iter(&mut go);
    });
}

fn whole_steps(c: &mut Criterion) {
    let draws = Draws::new(Seed(9), Purpose::Optimise);
    for d in [50, 200] {
        let target = Reflected::new(d);
        let view = Evaluator::Serial(&target);
        // 1/√M below the optimum's λ_min, and at it.
        for (name, m) in [("", 4.0 * SMOOTHNESS), ("_active", SMOOTHNESS)] {
            let mut stl = ProjStl::new(view, draws, 1, m).unwrap();
            run(c, &format!("proj_stl{name}"), d, &mut stl);
            let mut entropy = ProjEntropy::new(view, draws, 1, m).unwrap();
            run(c, &format!("proj_entropy{name}"), d, &mut entropy);
        }
        // C = QD^{-1/2}Q, the optimum of both.
        let spread = |i: usize| (1.0 + (SMOOTHNESS - 1.0) * i as f64 / (d - 1) as f64).powf(-0.5);
        let reflection =
            Mat::from_fn(d, d, |i, j| f64::from(u8::from(i == j)) - 2.0 * target.axis[i] * target.axis[j]);
        let scaled = Mat::from_fn(d, d, |i, j| reflection[(i, j)] * spread(j));
        let factor = &scaled * &reflection;
        let floor = 1.0 / SMOOTHNESS.sqrt();
        faer::set_global_parallelism(faer::Par::Seq);
        c.bench_function(&format!("naive_proj/d={d}"), |b| {
            b.iter(|| {
                let evd = black_box(&factor).self_adjoint_eigen(faer::Side::Lower).unwrap();
                let scaled = Mat::from_fn(d, d, |i, j| evd.U()[(i, j)] * evd.S()[j].max(floor));
                let projected = &scaled * evd.U().transpose();
                let inverse = projected.partial_piv_lu().inverse();
                (projected, inverse)
            });
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

criterion_group!(benches, prox_sgd, triangular, symmetric, whole_steps, averages, plans);
criterion_main!(benches);

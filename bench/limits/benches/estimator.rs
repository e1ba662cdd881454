//! What one gradient costs: the estimators on both factor spaces, the models, the exact expectation.
//!
//! Claims under test: a draw is one pass over C (and one over A for a model); STL on 𝒯ᵈ adds a triangular
//! solve, on 𝒮ᵈ a Cholesky factorisation; a gradient by automatic differentiation is a small multiple of a value.

use criterion::{Criterion, criterion_group, criterion_main};
use provi::autodiff::{Autodiff, Matrix as DataMatrix};
use provi::draws::{Draws, Purpose};
use provi::estimator::{Kind, Sampled};
use provi::expectation::{Expectations, Moments};
use provi::gaussian::Factor;
use provi::optimize::Estimator;
use provi::target::{Evaluator, GaussianTarget, Glm, Prior, Scratch};
use provi::{Design, Gaussian, Matrix, Seed, Symmetric, Target, Triangular};
use std::hint::black_box;

const SIZES: [usize; 2] = [100, 1000];
const KINDS: [(&str, Kind); 3] = [("energy", Kind::Energy), ("entropy", Kind::Entropy), ("stl", Kind::Stl)];

/// One descent of one draw, with a step too small to move anything.
fn descend<F: Factor>(c: &mut Criterion, suffix: &str, d: usize) {
    let target = GaussianTarget::new(&vec![0.0; d], Matrix::scaled_identity(d, 1.0)).unwrap();
    for (name, kind) in KINDS {
        let draws = Draws::new(Seed(1), Purpose::Optimise);
        let mut estimator = Sampled::<F>::new(kind, Evaluator::Serial(&target), draws, 1).unwrap();
        let mut w = Gaussian::<F>::standard(d).parameters().to_vec();
        let mut t = 0;
        c.bench_function(&format!("{name}{suffix}/d={d}"), |b| {
            b.iter(|| {
                t += 1;
                estimator.descend(black_box(&mut w), t, 1e-12).unwrap()
            });
        });
    }
}

fn estimators(c: &mut Criterion) {
    for d in SIZES {
        descend::<Triangular>(c, "", d);
    }
    descend::<Symmetric>(c, "_symmetric", 100);
}

fn data(rows: usize, d: usize) -> (Vec<f64>, Vec<f64>) {
    let mut entries = vec![0.0; rows * d];
    for (n, row) in entries.chunks_exact_mut(d).enumerate() {
        Draws::new(Seed(2), Purpose::Sample).fill(n as u64, 0, row);
    }
    let labels = entries.chunks_exact(d).map(|row| f64::from(row[0] > 0.0)).collect();
    (entries, labels)
}

fn models(c: &mut Criterion) {
    let (rows, d) = (2000, 20);
    let (entries, labels) = data(rows, d);
    let design = Design::dense(rows, d, &entries).unwrap();
    let glm = Glm::logistic(design, &labels, Prior::scale(1.0).unwrap()).unwrap();
    for draws in [1, 8] {
        let points = vec![0.1; draws * d];
        let (mut values, mut gradients) = (vec![0.0; draws], vec![0.0; draws * d]);
        let mut scratch = Scratch::default();
        c.bench_function(&format!("glm/n={rows},d={d},draws={draws}"), |b| {
            b.iter(|| {
                glm.log_densities(black_box(&points), &mut values, &mut gradients, &mut scratch).unwrap();
            });
        });
    }
    let (q, mut moments) = (Gaussian::standard(d), Moments::new(d));
    c.bench_function(&format!("exact/n={rows},d={d}"), |b| {
        b.iter(|| glm.expect(black_box(&q), &mut moments).unwrap());
    });

    let matrix = DataMatrix::new(rows, d, entries).unwrap();
    let tape = Autodiff::new(d, |z| {
        let eta = matrix.matvec(z);
        (eta * &labels).sum() - eta.softplus().sum() - 0.5 * z.dot(z)
    });
    let (z, mut gradient) = (vec![0.1; d], vec![0.0; d]);
    c.bench_function(&format!("autodiff_value/n={rows},d={d}"), |b| {
        b.iter(|| tape.value(black_box(&z)).unwrap())
    });
    c.bench_function(&format!("autodiff_gradient/n={rows},d={d}"), |b| {
        b.iter(|| tape.value_and_gradient(black_box(&z), &mut gradient).unwrap());
    });
}

fn draws(c: &mut Criterion) {
    for d in SIZES {
        let (q, mut u, mut z) = (Gaussian::<Triangular>::standard(d), vec![0.0; d], vec![0.0; d]);
        let stream = Draws::new(Seed(3), Purpose::Sample);
        let mut t = 0;
        c.bench_function(&format!("normals/d={d}"), |b| {
            b.iter(|| {
                t += 1;
                stream.fill(t, 0, black_box(&mut u));
            });
        });
        c.bench_function(&format!("transport/d={d}"), |b| b.iter(|| q.transport(black_box(&u), &mut z)));
    }
}

criterion_group!(benches, estimators, models, draws);
criterion_main!(benches);

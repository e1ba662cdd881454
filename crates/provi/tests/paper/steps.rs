//! §4: the prox and the projections solve their defining problems.

use crate::common::*;
use provi::gaussian::Factor;
use provi::optimize::{Moved, Operator};
use provi::step::{ProjSymmetric, ProjTriangular, Prox};
use provi::{Matrix, Symmetric, Triangular};

const UNKNOWN: Moved = Moved { distance: f64::MAX, value: None };

fn random_flat(key: u64, d: usize, scale: f64) -> Vec<f64> {
    normals(key, d + d * (d + 1) / 2).iter().map(|x| scale * x).collect()
}

/// Diagonal entries of a packed triangle behind a mean.
fn diagonal(d: usize, w: &[f64]) -> Vec<f64> {
    (0..d).map(|i| w[d + i * (i + 1) / 2 + i]).collect()
}

#[test]
fn prox_h() {
    let d = 3;
    let prox = |w: &[f64], gamma: f64| {
        let mut out = w.to_vec();
        Prox::new(d).apply(&mut out, gamma, &UNKNOWN).unwrap();
        out
    };
    for key in 0..200 {
        let scale = 10f64.powi(key as i32 % 17 - 8);
        let gamma = 10f64.powi(key as i32 % 11 - 8);
        let (v, other) = (random_flat(100 + key, d, scale), random_flat(400 + key, d, scale));
        let w = prox(&v, gamma);
        // Stationarity of −log det C + ‖w − v‖²/2γ: off the diagonal w = v, on it −1/x + (x − c)/γ = 0.
        for i in 0..v.len() {
            if (diagonal(d, &(0..v.len()).map(|i| i as f64).collect::<Vec<f64>>())).contains(&(i as f64)) {
                let (x, c) = (w[i], v[i]);
                assert!(x > 0.0);
                let residual = x * x - c * x - gamma;
                assert!(residual.abs() <= 1e-14 * (x * x + (c * x).abs() + gamma), "c = {c}, γ = {gamma}");
            } else {
                assert_eq!(w[i].to_bits(), v[i].to_bits(), "only the diagonal moves");
            }
        }
        let apart = distance2::<Triangular>(d, &w, &prox(&other, gamma));
        assert!(apart <= distance2::<Triangular>(d, &v, &other) * (1.0 + 1e-12), "non-expansive");
    }
    // Large negative pivots, where the textbook root cancels to 0: x = γ/(x − c) ≈ γ/|c|.
    for c in [-1e8, -1e12, -1e150] {
        let w = prox(&[0.0, 0.0, 0.0, c, 0.0, c, 0.0, 0.0, c], 1e-3);
        for x in diagonal(d, &w) {
            assert!((x * -c / 1e-3 - 1.0).abs() < 1e-12, "c = {c}: {x}");
        }
    }
}

/// ⟨v − P(v), y − P(v)⟩ ≤ 0 for every y of the set characterises the projection P; it is idempotent and
/// non-expansive.
fn check_projection<F: Factor>(
    d: usize,
    project: impl Fn(&[f64]) -> Vec<f64>,
    feasible: impl Fn(&[f64]) -> f64,
) {
    for key in 0..150 {
        let scale = 10f64.powi(key as i32 % 9 - 4);
        let mut v = random_flat(800 + key, d, scale);
        if key % 3 == 0 {
            v[d] = -1e6 * scale; // a large negative pivot
        }
        let p = project(&v);
        let size = 1.0 + square_norm::<F>(d, &v).sqrt();
        assert!(feasible(&p) >= -1e-12 * size, "in the set");
        assert!(distance2::<F>(d, &p, &project(&p)).sqrt() <= 1e-12 * size, "idempotent");
        let normal = difference(&v, &p);
        for other in 0..5 {
            let u = random_flat(2000 + 10 * key + other, d, scale);
            let y = project(&u);
            let along = difference(&y, &p);
            let angle = dot(&normal[..d], &along[..d])
                + inner(&F::to_matrix(d, &normal[d..]), &F::to_matrix(d, &along[d..]));
            let slack = 1e-12 * size * (size + square_norm::<F>(d, &along).sqrt());
            assert!(angle <= slack, "obtuse: {angle}");
            let (after, before) = (distance2::<F>(d, &p, &y), distance2::<F>(d, &v, &u));
            assert!(after.sqrt() <= before.sqrt() + 1e-12 * size, "non-expansive");
        }
    }
}

#[test]
fn proj_sym() {
    let (d, smoothness) = (4, 4.0);
    let project = |w: &[f64]| {
        let mut out = w.to_vec();
        ProjSymmetric::new(d, smoothness).unwrap().apply(&mut out, 0.1, &UNKNOWN).unwrap();
        out
    };
    check_projection::<Symmetric>(d, project, |w| extremes(&Symmetric::to_matrix(d, &w[d..])).0 - 0.5);
    // The carried bound on λ_min skips work, never a projection: a walk through the edge of the set.
    let mut operator = ProjSymmetric::new(d, smoothness).unwrap();
    let mut w = [vec![0.0; d], pack(&Matrix::scaled_identity(d, 2.0))].concat();
    let mut active = 0;
    for t in 0..400 {
        let step: Vec<f64> = random_flat(9000 + t, d, 0.05);
        w.iter_mut().zip(&step).for_each(|(x, s)| *x += s);
        (0..d).for_each(|i| w[d + i * (i + 1) / 2 + i] -= 0.01);
        let mut moved = step.clone();
        (0..d).for_each(|i| moved[d + i * (i + 1) / 2 + i] -= 0.01);
        let distance = square_norm::<Symmetric>(d, &moved).sqrt();
        let expected = project(&w);
        operator.apply(&mut w, 0.1, &Moved { distance, value: None }).unwrap();
        assert!(distance2::<Symmetric>(d, &w, &expected) < 1e-24);
        active = operator.decompositions();
    }
    assert!(active > 0 && active < 400);
    // A singular value decomposition would reflect −3 to 3.
    let flipped = project(&[vec![0.0; 4], pack(&Matrix::diagonal(&[-3.0, 1.0, 1.0, 1.0]))].concat());
    assert!((flipped[d] - 0.5).abs() < 1e-14);
}

#[test]
fn proj_tri() {
    let (d, smoothness) = (4, 4.0);
    let project = |w: &[f64]| {
        let mut out = w.to_vec();
        ProjTriangular::new(d, smoothness).unwrap().apply(&mut out, 0.1, &UNKNOWN).unwrap();
        out
    };
    let least = |w: &[f64]| diagonal(d, w).into_iter().fold(f64::INFINITY, f64::min) - 0.5;
    check_projection::<Triangular>(d, project, least);
    // It contains w*: C*_ii ≥ σ_min(C*) ≥ 1/√M. On it ‖∇h‖² ≤ dM and ∇h is M-Lipschitz.
    let model = regression(provi::target::Family::Bernoulli, 81, 4, 0.5, false);
    let smooth = provi::Target::curvature(&model).unwrap().unwrap().smoothness().unwrap();
    let star = optimum(&model);
    assert!(diagonal(d, star.parameters()).iter().all(|c| *c >= smooth.powf(-0.5)));
    for key in 0..100 {
        let (a, b) = (project(&random_flat(3000 + key, d, 1.0)), project(&random_flat(3500 + key, d, 1.0)));
        let slope = |w: &[f64]| -> Vec<f64> { diagonal(d, w).iter().map(|c| -1.0 / c).collect() };
        let (ga, gb) = (slope(&a), slope(&b));
        assert!(dot(&ga, &ga) <= d as f64 * smoothness * (1.0 + 1e-12));
        let bend = difference(&ga, &gb);
        assert!(
            dot(&bend, &bend).sqrt()
                <= smoothness * distance2::<Triangular>(d, &a, &b).sqrt() * (1.0 + 1e-12)
        );
    }
}

/// The nearest point, a radius that holds w*, and noise that nothing about w* goes into.
#[test]
fn proj_ball() {
    use provi::step::{Ball, BallTriangular};
    use provi::theory::ball;
    let (d, smoothness) = (2, 4.0);
    let centre = vec![0.3, -0.2];
    let radius = ball::optimum_radius(d, 0.5, 0.1).unwrap();
    assert!((radius - (2.0 + 0.2)).abs() < 1e-12, "√(d/μ) + ε/μ");
    assert!((ball::diameter2(d, smoothness, 1.5).unwrap() - 4.0 * (2.25 - 0.5)).abs() < 1e-12);
    assert!(ball::diameter2(d, smoothness, 0.7).is_err(), "no factor lies in so small a ball");
    // (X + √(dM))² + (Y² − X²)/N with ε = 0, X = MR = 4, Y = √(d+3)·4.
    let bound = ball::entropy(d, smoothness, 1.0, 0.0, 2).unwrap();
    let expected = (4.0 + 8f64.sqrt()).powi(2) + (80.0 - 16.0) / 2.0;
    assert!((bound.floor / expected - 1.0).abs() < 1e-12 && bound.growth.abs() < 1e-300);
    let inside = |w: &[f64]| {
        let away: f64 = w.iter().zip(centre.iter().chain(&[0.0; 3])).map(|(w, c)| (w - c).powi(2)).sum();
        away <= 1.5f64.powi(2) * (1.0 + 1e-12) && diagonal(d, w).iter().all(|c| *c >= 0.5 * (1.0 - 1e-12))
    };
    let project = |w: &[f64]| {
        let ball = Ball { centre: centre.clone(), radius: 1.5 };
        let mut out = w.to_vec();
        BallTriangular::new(ball, smoothness).unwrap().apply(&mut out, 0.0, &UNKNOWN).unwrap();
        out
    };
    for key in 0..60 {
        let (x, y) = (random_flat(700 + 2 * key, d, 2.0), random_flat(701 + 2 * key, d, 2.0));
        let (p, q) = (project(&x), project(&y));
        assert!(inside(&p), "{p:?}");
        // The nearest point p to x: ⟨x − p, q − p⟩ ≤ 0 for every q of the set.
        let angle: f64 = x.iter().zip(&p).zip(&q).map(|((x, p), q)| (x - p) * (q - p)).sum();
        assert!(angle <= 1e-9, "{key}: {angle}");
        // Scaling towards the centre alone leaves the floor or is not nearest: the planted fault.
        let wrong: Vec<f64> = p.iter().map(|p| 0.9 * p).collect();
        let found: f64 = x.iter().zip(&wrong).zip(&p).map(|((x, w), p)| (x - w) * (p - w)).sum();
        assert!(!inside(&wrong) || found > 0.0 || x == p, "{key}: a wrong projection is not seen");
    }
}

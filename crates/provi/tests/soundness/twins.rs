//! The twins: each constant of a certificate, planted wrong, is caught by some problem.

use super::answers::optimum;
use super::line::{Line, Plant};
use super::problem::{Dice, Problem, Recipe};
use crate::common::{normals, objective};
use provi::target::Family;
use provi::theory::certificate::{self as theory, Outside};
use provi::{Gaussian, Matrix};

/// Problems on the line, from flat to peaked.
fn problems() -> Vec<Problem> {
    let mut out = Vec::new();
    let gamma = Family::Gamma { noise_sd: 0.9 };
    let normal = Family::Gaussian { noise_sd: 0.7 };
    for family in [Family::Bernoulli, Family::Probit, Family::Cloglog, Family::Poisson, gamma, normal] {
        for (rows, precision, separable) in [(6, 0.3, true), (30, 1.0, false), (60, 0.05, false)] {
            let mut dice = Dice::new(40_000 + out.len() as u64);
            let scale = if matches!(family, Family::Poisson | Family::Gamma { .. }) { 0.4 } else { 1.0 };
            let recipe = Recipe {
                family,
                blocks: vec![1],
                rows,
                precision,
                scale,
                separable,
                decorated: rows == 30,
                rotated: true,
            };
            out.push(recipe.build(format!("{family:?} {rows}"), &mut dice));
        }
    }
    out
}

/// Every claim at every answer and radius, judged: (claims, violations, the worst of them).
fn verdicts(plants: &[Plant]) -> Vec<(usize, usize, String)> {
    let mut out = vec![(0, 0, String::new()); plants.len()];
    let mut worst = vec![0.0; plants.len()];
    for problem in &problems() {
        let truth = problem.truth();
        let best = optimum(&problem.target);
        let f_star = objective(&problem.target, &best);
        let (mean, deviation) = (best.mean()[0], best.factor()[0]);
        for (shift, scale) in
            [(0.0, 1.0), (0.3, 1.0), (-1.0, 1.0), (2.0, 1.0), (0.0, 0.5), (0.0, 2.0), (0.0, 4.0), (-1.0, 1.5)]
        {
            let q = Gaussian::new(&[mean + shift * deviation], &[scale * deviation]).unwrap();
            let line = Line::new(problem, &truth, f_star, &q);
            let cuts = [0.3, 0.6, 1.0, 1.6, 2.4, 3.5].map(|radius| line.cut(radius));
            for (index, &plant) in plants.iter().enumerate() {
                let mut claims = line.global(plant);
                for cut in &cuts {
                    for grid in [0, 1] {
                        claims.extend(line.local(cut, grid, plant));
                    }
                }
                for (what, bound, truth) in claims {
                    let miss = truth - bound - 1e-7 * (1.0 + truth.abs());
                    out[index].0 += 1;
                    if miss.is_nan() || miss > 0.0 {
                        out[index].1 += 1;
                        if miss.is_nan() || miss > worst[index] {
                            worst[index] = miss;
                            out[index].2 = format!(
                                "{what} {bound:.6} < {truth:.6}: {}, ({shift}, {scale})",
                                problem.name
                            );
                        }
                    }
                }
            }
        }
    }
    out
}

/// One mistake hides: sd_p ≥ a√β − ω, without √(1+T_0), cannot be caught on the line. Cutting a log-concave density to an
/// interval lowers its variance, so the factor is never needed there.
#[test]
fn the_theorems_hold_with_every_number_exact() {
    for (claims, violations, worst) in verdicts(&[Plant::Nothing, Plant::NoOutsideInDeviation]) {
        assert!(claims > 5_000 && violations == 0, "{violations} of {claims}: {worst}");
    }
}

#[test]
#[ignore = "slow: every constant planted wrong on many problems; cargo xtask heavy runs it"]
fn every_planted_constant_is_caught() {
    let found = verdicts(&Plant::EXPOSED);
    let mut missed = Vec::new();
    for (plant, (claims, violations, worst)) in Plant::EXPOSED.iter().zip(found) {
        println!("{plant:?}: {violations} of {claims}, worst {worst}");
        if violations == 0 {
            missed.push(plant);
        }
    }
    assert!(missed.is_empty(), "not caught: {missed:?}");
}

/// The denominator of T_0 by a plain left-endpoint sum is too large in many dimensions: p = N(0, I) itself shows it.
#[test]
fn a_left_endpoint_sum_of_the_inside_is_caught_in_many_dimensions() {
    let mut caught = 0;
    for (d, steps, beyond) in [(20usize, 4, 0.5), (40, 4, 0.5), (40, 6, 1.0), (80, 6, 0.5)] {
        let radius = (d as f64).sqrt() + beyond;
        let radii: Vec<f64> = (0..=steps).map(|i| radius * f64::from(i) / f64::from(steps)).collect();
        let bound = Outside::new(d, &radii, &vec![1.0; radii.len()], 0.0).unwrap().moments[0];
        // P(χ²_d > R²) for even d is a Poisson sum.
        let x = 0.5 * radius * radius;
        let (mut term, mut tail) = ((-x).exp(), 0.0);
        for k in 1..=d / 2 {
            tail += term;
            term *= x / k as f64;
        }
        let truth = tail / (1.0 - tail);
        assert!(bound >= truth, "d = {d}: {bound} {truth}");
        // The same exponents, each at the left end of its shell.
        let width = radius / f64::from(steps);
        let (mut exponent, mut sum) = (0.0, 0.0);
        for i in (0..steps as usize).rev() {
            exponent += radii[i] * width;
            sum += f64::exp(exponent) * (radii[i + 1].powi(d as i32) - radii[i].powi(d as i32)) / d as f64;
        }
        let numerator = (1..d).fold(1.0 / radius, |n, k| (radius.powi(k as i32) + k as f64 * n) / radius);
        caught += u32::from(numerator / sum < truth);
    }
    assert!(caught > 0);
}

/// ŝ(u) = δ + εu for a Gaussian target of unit precision and q = N(δ, (1+ε)²)-like: F = δ² + ε² to first order is nearly
/// all mean, so the bound ½F is tight and only its confidence term stands between a few draws and a false claim.
#[test]
fn without_the_lipschitz_term_a_few_draws_prove_falsehoods() {
    let (shift, scale, n) = (1.0, 1.2f64, 4);
    let kl = 0.5 * (shift * shift + scale * scale - 1.0) - scale.ln();
    let lipschitz = scale - 1.0 / scale;
    let (mut plain, mut proved) = (0, 0);
    for seed in 0..400 {
        let u = normals(60_000 + seed, n);
        let mean = u.iter().map(|u| (shift + lipschitz * u).powi(2)).sum::<f64>() / n as f64;
        plain += u32::from(theory::kl(mean) < kl);
        let fisher = theory::fisher_upper(mean, lipschitz, n as u64, 1e-6).unwrap();
        proved += u32::from(theory::kl(fisher) < kl);
    }
    assert!(plain > 80 && proved == 0, "{plain} {proved}");
}

/// D on a ball from a few draws, with and without the width of its interval.
#[test]
fn without_bernstein_a_few_draws_prove_falsehoods() {
    // p = N(0, 1/4), q = N(0, 1), R = 1.5: D(x) = 1.5x² + const, s̃ = 3x, |D − ED| ≤ 2R·3R.
    let (radius, n) = (1.5, 40u64);
    let inside = |u: &f64| u.abs() <= radius;
    let all: Vec<f64> = normals(70_000, 400_000).into_iter().filter(inside).collect();
    let truth = all.iter().map(|x| 1.5 * x * x).sum::<f64>() / all.len() as f64;
    let (mut plain, mut proved) = (0, 0);
    for run in all.chunks_exact(n as usize).take(400) {
        let mean = run.iter().map(|x| 1.5 * x * x).sum::<f64>() / n as f64;
        let square = run.iter().map(|x| 9.0 * x * x).sum::<f64>() / n as f64;
        let gamma = theory::fisher_upper(square, 3.0, n, 1e-6).unwrap();
        let width = theory::bernstein(gamma, 2.0 * radius * 3.0 * radius, n, 1e-6);
        plain += u32::from(mean < truth - 0.02);
        proved += u32::from(mean + width < truth - 0.02);
    }
    assert!(plain > 80 && proved == 0, "{plain} {proved}");
}

/// The quadrature itself: a Gaussian posterior is known in closed form.
#[test]
fn the_truth_of_a_gaussian_posterior_is_its_closed_form() {
    let family = Family::Gaussian { noise_sd: 0.8 };
    let recipe = Recipe {
        family,
        blocks: vec![3, 2, 1, 2],
        rows: 40,
        precision: 0.4,
        scale: 1.0,
        separable: false,
        decorated: true,
        rotated: true,
    };
    let problem = recipe.build("closed form".into(), &mut Dice::new(5));
    let truth = problem.truth();
    let best = optimum(&problem.target);
    assert!(truth.error < 1e-9, "{}", truth.error);
    assert!((objective(&problem.target, &best) + truth.log_evidence).abs() < 1e-9);
    let covariance: Matrix = best.covariance();
    for i in 0..8 {
        assert!((truth.mean[i] - best.mean()[i]).abs() < 1e-9);
        for j in 0..8 {
            assert!((truth.covariance[(i, j)] - covariance[(i, j)]).abs() < 1e-9);
        }
    }
}

//! Draws of the posterior itself against certified intervals, up to twenty-one coefficients, hierarchies included [exact-draws].

use crate::common::{hierarchy, mean_and_error, normals, optimum, product, transposed};
use provi::exact_draws::ExactDraws;
use provi::solve::Solver;
use provi::target::{Evaluator, Family, Glm, Prior};
use provi::{Audit, Design, Gaussian, Matrix, Seed, Target, Triangular};

const DRAWS: usize = 20_000;
/// Standard errors that a mean may be off: a false alarm has probability 2e-9 for each.
const ERRORS: f64 = 6.0;

/// Rows with correlated columns whose logits have a standard deviation of about 1.2.
fn regression(family: Family, rows: usize, d: usize, key: u64) -> Glm {
    let (noise, shared) = (normals(key, rows * d), normals(key + 1, rows));
    let entries: Vec<f64> = (0..rows * d).map(|e| 0.8 * noise[e] + 0.6 * shared[e / d]).collect();
    let truth: Vec<f64> = normals(key + 2, d).iter().map(|x| x / (d as f64).sqrt()).collect();
    let coins = normals(key + 3, rows);
    let y: Vec<f64> = (0..rows)
        .map(|n| {
            let s: f64 = (0..d).map(|j| entries[n * d + j] * truth[j]).sum();
            match family {
                Family::Poisson => (0.5 + 0.5 * s + 0.4 * coins[n]).exp().round(),
                _ => f64::from(u8::from(coins[n] < s / 1.7)),
            }
        })
        .collect();
    Glm::new(family, Design::from_rows(rows, d, entries).unwrap(), &y, Prior::scale(2.5).unwrap()).unwrap()
}

/// Every mean lies within its certified interval, widened by its standard error; returns the proposals of a draw.
fn agrees(model: &Glm, q: &Gaussian<Triangular>, draws: usize) -> f64 {
    let mut exact = ExactDraws::new(model, q, Seed(8)).unwrap();
    assert!(exact.rounding() < 1e-8, "{}", exact.rounding());
    let points = exact.draw(draws).unwrap();
    let audit = Audit { draws: 20_000, ..Audit::default() };
    let audited = audit.run(Evaluator::Parallel(model), q, Seed(1)).unwrap();
    for (i, moment) in audited.certificate().moments.iter().enumerate() {
        let column: Vec<f64> = (0..draws).map(|k| points[(k, i)]).collect();
        let (mean, error) = mean_and_error(&column);
        let proved = moment.mean_error.bound().unwrap();
        let off = (mean - q.mean()[i]).abs();
        assert!(off <= proved + ERRORS * error, "{}: {off} > {proved} + 6·{error}", moment.name);
        // The deviation of a sample of n has a relative error of about 1/√(2n).
        let sd = error * (draws as f64).sqrt();
        let own = q.standard_deviations()[i];
        let proved = moment.sd_error.bound().unwrap();
        assert!(
            (sd - own).abs() <= proved + 1.5 * ERRORS * error,
            "{}: sd {sd}, {own} ± {proved}",
            moment.name
        );
    }
    let per_draw = exact.proposed() as f64 / exact.made() as f64;
    println!("d = {}, {} proposals a draw, at most {}", model.dim(), per_draw, exact.proposals_bound());
    per_draw
}

#[test]
fn means_lie_in_their_certified_intervals() {
    lie_in_their_intervals(&[
        (Family::Bernoulli, 500, 5, 2.0),
        (Family::Probit, 300, 6, 20.0),
        (Family::Poisson, 100, 2, 20.0),
        (Family::Poisson, 300, 6, 20.0),
    ]);
}

#[test]
#[ignore = "slow: ten to twenty-one coefficients; fewer are tried above; cargo xtask heavy runs it"]
fn means_of_many_coefficients_lie_in_their_certified_intervals() {
    lie_in_their_intervals(&[
        (Family::Bernoulli, 200, 10, 10.0),
        (Family::Bernoulli, 1000, 21, 20.0),
        (Family::Poisson, 1000, 20, 20.0),
    ]);
}

/// Family, rows, columns, and the most proposals a draw may take.
fn lie_in_their_intervals(problems: &[(Family, usize, usize, f64)]) {
    for &(family, rows, d, most) in problems {
        let model = regression(family, rows, d, 40);
        let q = Solver::default().run(&model).unwrap().gaussian;
        let per_draw = agrees(&model, &q, DRAWS);
        assert!(per_draw < most, "{family:?} {rows} × {d}: {per_draw} proposals a draw");
    }
}

#[test]
fn hierarchies_and_counts_have_draws() {
    let model = hierarchy(3, 1, 4, 1.0, 2.0, 1.0);
    agrees(&model, &optimum(&model), DRAWS);
    let design = Design::dense(4, 2, &[1.0, 0.3, 1.0, -0.8, 1.0, 1.4, 1.0, 0.1]).unwrap();
    let counts =
        Glm::binomial(design, &[3.0, 0.0, 9.0, 4.0], &[7.0, 5.0, 11.0, 8.0], Prior::scale(1.5).unwrap());
    let counts = counts.unwrap().with_weights(&[1.0, 0.5, 1.0, 2.0]).unwrap();
    agrees(&counts, &optimum(&counts), DRAWS);
}

/// Units and shifts of the columns change neither the cost nor, beyond rounding, a draw.
#[test]
fn columns_in_other_units_give_the_same_draws() {
    let (rows, d) = (150, 3);
    let noise = normals(5, rows * d);
    let y: Vec<f64> = (0..rows).map(|n| f64::from(u8::from(noise[n * d] + noise[n * d + 1] > 0.2))).collect();
    let model = |shift: f64, scale: f64| {
        let entries: Vec<f64> =
            (0..rows).flat_map(|n| [1.0, shift + scale * noise[n * d], noise[n * d + 2]]).collect();
        let design = Design::from_rows(rows, d, entries).unwrap();
        Glm::logistic(design, &y, Prior::scale(1.0).unwrap()).unwrap().with_data_prior().unwrap()
    };
    let drawn = |model: &Glm, q: &Gaussian<Triangular>| {
        let mut exact = ExactDraws::new(model, q, Seed(4)).unwrap();
        (exact.proposals_bound(), exact.draw(200).unwrap())
    };
    let own = model(0.0, 1.0);
    let q = optimum(&own);
    // β₀ + β₁x = (β₀ − β₁·shift/scale) + (β₁/scale)(shift + scale·x).
    let (shift, scale) = (5.0, 0.1);
    let map =
        Matrix::new(3, 3, vec![1.0, -shift / scale, 0.0, 0.0, 1.0 / scale, 0.0, 0.0, 0.0, 1.0]).unwrap();
    let mean: Vec<f64> = (0..d).map(|i| (0..d).map(|j| map[(i, j)] * q.mean()[j]).sum()).collect();
    let covariance = product(&product(&map, &q.covariance()), &transposed(&map));
    let moved = Gaussian::from_covariance(&mean, covariance).unwrap();
    let (plain, other) = (drawn(&own, &q), drawn(&model(shift, scale), &moved));
    assert!((plain.0 / other.0 - 1.0).abs() < 1e-3, "{} {}", plain.0, other.0);
    let worst = (0..200).map(|k| (plain.1[(k, 2)] - other.1[(k, 2)]).abs()).fold(0.0, f64::max);
    assert!(worst < 1e-3, "{worst}");
}

/// Where exact draws are refused, those of min(p, Kq) have a proved total variation, and their means show no more than that.
#[test]
fn near_draws_have_a_proved_total_variation() {
    let model = regression(Family::Bernoulli, 200, 6, 40);
    let q = optimum(&model);
    let mut near = ExactDraws::near(&model, &q, &Audit::default(), 0.05, Seed(2)).unwrap();
    let (bound, confidence) = near.total_variation().unwrap();
    assert!(bound > 0.0 && bound <= 0.05 && confidence > 0.999, "{bound}");
    let mut exact = ExactDraws::new(&model, &q, Seed(3)).unwrap();
    assert!(exact.total_variation().is_none());
    let (a, b) = (near.draw(DRAWS).unwrap(), exact.draw(DRAWS).unwrap());
    for i in 0..model.dim() {
        // P(z_i > m_i): an event, so TV bounds the difference.
        let share = |points: &Matrix| {
            (0..DRAWS).filter(|&k| points[(k, i)] > q.mean()[i]).count() as f64 / DRAWS as f64
        };
        let error = (0.5 / DRAWS as f64).sqrt();
        assert!((share(&a) - share(&b)).abs() <= bound + ERRORS * error, "{i}");
    }
    let refused = ExactDraws::near(&model, &q, &Audit::default(), 1e-9, Seed(2)).unwrap_err();
    assert!(refused.to_string().contains("no draws within"), "{refused}");
}

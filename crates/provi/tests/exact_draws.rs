//! Draws of the posterior itself against certified intervals, up to twenty-one coefficients, hierarchies included [exact-draws].

use crate::common::{hierarchy, mean_and_error, normals, optimum, product, transposed};
use provi::exact_draws::ExactDraws;
use provi::solve::Solver;
use provi::target::{Declared, Evaluator, Family, GaussianTarget, Glm, Prior};
use provi::{
    Audit, Auto, Curvature, Design, Gaussian, Matrix, Provenance, Quadratic, Seed, Target, Triangular,
};

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

/// V(z) = Σ_i [½a_iy_i² + b_i log cosh(y_i − s_i)] with y = Rz, R a rotation: a_i ≤ the curvature along y_i ≤ a_i + b_i, and each y_i has a law
/// in one dimension that a sum over a grid gives.
struct Rotated {
    a: [f64; 2],
    b: [f64; 2],
    shift: [f64; 2],
    angle: f64,
}

impl Rotated {
    fn y(&self, z: &[f64]) -> [f64; 2] {
        let (sin, cos) = self.angle.sin_cos();
        [cos * z[0] - sin * z[1], sin * z[0] + cos * z[1]]
    }

    fn potential(&self, i: usize, y: f64) -> f64 {
        0.5 * self.a[i] * y * y + self.b[i] * (y - self.shift[i]).cosh().ln()
    }

    /// RᵀDR.
    fn turned(&self, d: [f64; 2]) -> Matrix {
        let (sin, cos) = self.angle.sin_cos();
        let across = sin * cos * (d[1] - d[0]);
        let entries =
            vec![cos * cos * d[0] + sin * sin * d[1], across, across, sin * sin * d[0] + cos * cos * d[1]];
        Matrix::new(2, 2, entries).unwrap()
    }

    /// With the curvature times `factor` declared as H_lo, and times 1 as H_hi.
    fn declared(self, factor: f64, upper: f64) -> Declared<Self> {
        let lower = self.turned(self.a.map(|a| factor * a));
        let upper = self.turned([0, 1].map(|i| upper * (self.a[i] + self.b[i])));
        let curvature = Curvature::declared(2, Quadratic::Matrix(lower), Some(Quadratic::Matrix(upper)));
        Declared::new(self).with_curvature(curvature.unwrap()).unwrap()
    }

    /// P(y_i ≤ ·) on a grid, linear between its points.
    fn distribution(&self, i: usize) -> impl Fn(f64) -> f64 {
        let (points, reach) = (20_000, 12.0);
        let at = move |k: usize| -reach + 2.0 * reach * k as f64 / points as f64;
        let mut sums = vec![0.0];
        for k in 0..points {
            let middle = 0.5 * (at(k) + at(k + 1));
            sums.push(sums[k] + (-self.potential(i, middle)).exp());
        }
        move |y: f64| {
            let place = ((y + reach) / (2.0 * reach) * points as f64).clamp(0.0, points as f64 - 1.0);
            let k = place as usize;
            (sums[k] + (place - k as f64) * (sums[k + 1] - sums[k])) / sums[points]
        }
    }
}

impl Target for Rotated {
    fn dim(&self) -> usize {
        2
    }

    fn log_density(&self, z: &[f64], gradient: &mut [f64]) -> provi::Result<f64> {
        let (y, (sin, cos)) = (self.y(z), self.angle.sin_cos());
        let slope = |i: usize| -self.a[i] * y[i] - self.b[i] * (y[i] - self.shift[i]).tanh();
        gradient[0] = cos * slope(0) + sin * slope(1);
        gradient[1] = -sin * slope(0) + cos * slope(1);
        Ok(-self.potential(0, y[0]) - self.potential(1, y[1]))
    }
}

fn rotated() -> Rotated {
    Rotated { a: [0.8, 3.0], b: [1.0, 2.0], shift: [0.7, -1.2], angle: 0.6 }
}

/// sup |F_n − F| over what makes a false alarm of probability 1e-7.
fn kolmogorov(mut sample: Vec<f64>, cdf: impl Fn(f64) -> f64) -> f64 {
    let n = sample.len() as f64;
    sample.sort_by(f64::total_cmp);
    let gap = |(k, &x): (usize, &f64)| (cdf(x) - k as f64 / n).abs().max((cdf(x) - (k + 1) as f64 / n).abs());
    sample.iter().enumerate().map(gap).fold(0.0, f64::max) / (0.5 * (2.0f64 / 1e-7).ln() / n).sqrt()
}

/// A black box with declared curvature: the law of each y_i, whatever q; a draw's number alone decides what it is. Draws of q fail the same test.
#[test]
fn any_target_with_curvature_bounds_has_exact_draws() {
    let target = rotated().declared(1.0, 1.0);
    let q = Auto::default().run(&target, Seed(1)).unwrap().fit.gaussian;
    let own = rotated();
    let laws = [own.distribution(0), own.distribution(1)];
    let worst = |points: &Matrix| {
        let each = (0..2).map(|i| {
            let sample = (0..points.rows()).map(|k| rotated().y(points.row(k))[i]).collect();
            kolmogorov(sample, &laws[i])
        });
        each.fold(0.0, f64::max)
    };
    for q in [&q, &Gaussian::from_covariance(&[3.0, -2.0], Matrix::diagonal(&[4.0, 0.1])).unwrap()] {
        let mut exact = ExactDraws::new(&target, q, Seed(8)).unwrap();
        // √((1.8/0.8)(5/3)) = 1.94.
        assert!((exact.proposals_bound() - 1.94).abs() < 0.01, "{}", exact.proposals_bound());
        assert!(
            exact.rounding() < 1e-9 && exact.provenance() == Provenance::Declared,
            "{}",
            exact.rounding()
        );
        let points = exact.draw(40_000).unwrap();
        assert!(worst(&points) < 1.0, "{}", worst(&points));
        let per_draw = exact.proposed() as f64 / (exact.accepted() as f64);
        assert!(per_draw < 1.94 && per_draw > 1.1, "{per_draw}");
        // In parts, and one after the other.
        let mut again = ExactDraws::new(&target as &dyn Target, q, Seed(8)).unwrap();
        let parts = [again.draw(7).unwrap(), again.draw(100).unwrap()];
        assert_eq!(parts[0].row(6), points.row(6));
        assert_eq!(parts[1].row(99), points.row(106));
    }
    assert!(worst(&q.sample(40_000, Seed(8))) > 1.0);
    // A loose H_hi: the cost is measured, and the law is the same.
    let loose = rotated().declared(0.1, 1e8);
    let mut exact = ExactDraws::new(&loose, &q, Seed(8)).unwrap();
    let points = exact.draw(20_000).unwrap();
    let per_draw = exact.proposed() as f64 / (exact.accepted() as f64);
    assert!(worst(&points) < 1.0 && exact.proposals_bound() > per_draw, "{per_draw}");
    // 4000 pilot proposals, of which some 240 are accepted, know the share within √(2 log 10⁶/240).
    assert!(exact.proposals_bound() < 1.5 * per_draw, "{} {per_draw}", exact.proposals_bound());
}

/// An H_lo that does not hold is seen, and draws without an H_hi, whose rounding nobody bounds, are refused.
#[test]
fn a_declared_bound_that_does_not_hold_is_noticed() {
    let target = rotated().declared(1.5, 2.0);
    let q = Gaussian::standard(2);
    let found = ExactDraws::new(&target, &q, Seed(8)).unwrap().draw(10_000).unwrap_err();
    assert!(found.to_string().contains("declare a smaller one"), "{found}");
    let lower = Curvature::declared(2, Quadratic::Scalar(0.8), None).unwrap();
    let open = Declared::new(rotated()).with_curvature(lower).unwrap();
    let refused = ExactDraws::new(&open, &q, Seed(8)).unwrap_err();
    assert!(refused.to_string().contains("declare both"), "{refused}");
    assert!(ExactDraws::new(&rotated(), &q, Seed(8)).is_err());
}

/// Of a Gaussian target every proposal is accepted, but for rounding.
#[test]
fn a_gaussian_target_costs_one_proposal() {
    let precision = Matrix::new(2, 2, vec![2.0, -0.6, -0.6, 1.0]).unwrap();
    let target = GaussianTarget::new(&[4.0, -1.0], precision).unwrap();
    let mut exact = ExactDraws::new(&target, &Gaussian::standard(2), Seed(1)).unwrap();
    assert!(exact.proposals_bound() < 1.0 + 1e-4 && exact.provenance() == Provenance::Proved);
    exact.draw(1000).unwrap();
    assert!(exact.proposed() - exact.accepted() < 2, "{} {}", exact.proposed(), exact.accepted());
}

/// Where exact draws cost too much, those of min(p, Kq) have a proved total variation, for a black box too.
#[test]
fn near_draws_of_a_black_box_have_a_proved_total_variation() {
    let target = rotated().declared(1.0, 1.0);
    let q = Auto::default().run(&target, Seed(1)).unwrap().fit.gaussian;
    let mut near = ExactDraws::near(&target, &q, &Audit::default(), 0.05, Seed(2)).unwrap();
    let (bound, _) = near.total_variation().unwrap();
    assert!(bound > 0.0 && bound <= 0.05, "{bound}");
    let points = near.draw(40_000).unwrap();
    // The bound of the cost is that of the same K: with another height it would be wrong by as much.
    let per_draw = near.proposed() as f64 / near.accepted() as f64;
    let known = near.proposals_bound();
    assert!(per_draw < known && per_draw > 0.7 * known, "{per_draw} {known}");
    for i in 0..2 {
        let own = rotated();
        let law = own.distribution(i);
        let sample: Vec<f64> = (0..points.rows()).map(|k| rotated().y(points.row(k))[i]).collect();
        // The law of large numbers for a distribution function, at the level of `kolmogorov`.
        let allowed = (0.5 * (2.0f64 / 1e-7).ln() / sample.len() as f64).sqrt();
        assert!(kolmogorov(sample, law) * allowed < allowed + bound, "{i}");
    }
}

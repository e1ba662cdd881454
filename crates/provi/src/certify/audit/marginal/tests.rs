use super::*;
use crate::certify::audit::residual::go_on;
use crate::glm::design::Design;
use crate::glm::{Family, Prior};
use crate::target::trusted_curvature;

const ROWS: usize = 18;
const WITHIN: f64 = 0.8;

/// `y ~ 1 + x + (1 | g)` with three groups of six rows; `z` makes the rows of the effects.
fn model(family: Family, z: impl Fn(usize) -> f64) -> Glm {
    let column = |n: usize| (1.3 * n as f64).sin() + 0.2;
    let entries: Vec<(usize, usize, f64)> =
        (0..ROWS).flat_map(|n| [(n, 0, 1.0), (n, 1, column(n)), (n, 2 + n % 3, z(n))]).collect();
    let own = 1.0 / (WITHIN * WITHIN);
    let prior =
        Prior::precisions(&[0.3, 0.5, own, own, own]).unwrap().with_mean(&[0.4, 0.0, 0.0, 0.0, 0.0]).unwrap();
    let design = Design::triplets(ROWS, 5, &entries).unwrap();
    let response: Vec<f64> = (0..ROWS)
        .map(|n| match family {
            Family::Poisson => f64::from((n * n % 5) as u8),
            _ => f64::from(u8::from((2.1 * n as f64).cos() + column(n) > 0.1)),
        })
        .collect();
    let offsets: Vec<f64> = (0..ROWS).map(|n| 0.2 * (n as f64).cos()).collect();
    let model = match family {
        Family::Binomial => {
            let many: Vec<f64> = (0..ROWS).map(|n| (3 * n % 11) as f64).collect();
            Glm::binomial(design, &many, &[10.0; ROWS], prior)
        }
        family => Glm::new(family, design, &response, prior),
    };
    model.unwrap().with_offsets(&offsets).unwrap()
}

fn models() -> Vec<(&'static str, Glm)> {
    vec![
        ("logistic", model(Family::Bernoulli, |_| 1.0)),
        ("slopes", model(Family::Bernoulli, |n| 0.4 + 0.1 * n as f64)),
        ("trials", model(Family::Binomial, |_| 1.0)),
        ("probit", model(Family::Probit, |_| 1.0)),
        ("counts", model(Family::Poisson, |_| 1.0)),
    ]
}

/// log p(x), the means and deviations of all coefficients, by a fine sum in each u_g inside a sum over a grid of β.
struct Truth {
    evidence: f64,
    mean: Vec<f64>,
    deviation: Vec<f64>,
}

/// The integral over u_g of the group's rows by the midpoint rule, with its first two moments: 400 nodes over ±10τ.
fn inner(model: &Glm, g: usize, beta: [f64; 2]) -> [f64; 3] {
    let (mut row, step) = ([0.0; 5], WITHIN / 20.0);
    let mut sums = [0.0; 3];
    for k in 0..400 {
        let u = step * (f64::from(k) - 199.5);
        let mut log = -0.5 * (u / WITHIN).powi(2) - (WITHIN * std::f64::consts::TAU.sqrt()).ln();
        for n in (g..ROWS).step_by(3) {
            model.design().write_row(n, &mut row);
            let s = row[0] * beta[0] + row[1] * beta[1] + row[2 + g] * u + model.offsets().unwrap()[n];
            log -= model.rows.weights[n] * model.family().derivatives(s, model.rows.response[n])[0];
        }
        let weight = step * log.exp();
        sums = [sums[0] + weight, sums[1] + weight * u, sums[2] + weight * u * u];
    }
    sums
}

fn truth(model: &Glm, q: &Gaussian<Triangular>) -> Truth {
    let [constant, _] = model.rows.constant(model.family());
    let (side, step) = (41, 0.4);
    let (mut mass, mut first, mut second) = (0.0, vec![0.0; 5], vec![0.0; 5]);
    let mut z = [0.0; 2];
    let precision = [0.3, 0.5];
    for cell in 0..side * side {
        let u = [cell % side, cell / side].map(|k| step * (k as f64 - 20.0));
        q.transport(&u, &mut z);
        let away = [z[0] - 0.4, z[1]];
        let prior: f64 = (0..2)
            .map(|j| {
                -0.5 * precision[j] * away[j] * away[j] + 0.5 * (precision[j] / std::f64::consts::TAU).ln()
            })
            .sum();
        let groups: Vec<[f64; 3]> = (0..3).map(|g| inner(model, g, z)).collect();
        let weight = (prior - constant).exp() * groups.iter().map(|g| g[0]).product::<f64>();
        mass += weight;
        for j in 0..5 {
            let [x, y] = if j < 2 {
                [z[j], z[j] * z[j]]
            } else {
                [groups[j - 2][1], groups[j - 2][2]].map(|s| s / groups[j - 2][0])
            };
            first[j] += weight * x;
            second[j] += weight * y;
        }
    }
    let evidence = (mass * step * step).ln() + q.log_det().unwrap();
    let mean: Vec<f64> = first.iter().map(|x| x / mass).collect();
    let deviation = second.iter().zip(&mean).map(|(y, m)| (y / mass - m * m).sqrt()).collect();
    Truth { evidence, mean, deviation }
}

/// Near the posterior: Laplace's approximation.
fn laplace(model: &Glm) -> Gaussian<Triangular> {
    let d = model.design().columns();
    let (mut z, mut slope, mut bend) = (vec![0.0; d], vec![0.0; d], Matrix::zeros(d, d));
    for _ in 0..60 {
        model.log_density(&z, &mut slope).unwrap();
        model.hessian(&z, &mut bend).unwrap();
        bend.entries_mut().iter_mut().for_each(|x| *x = -*x);
        crate::base::linalg::Cholesky::new("Hessian", &bend).unwrap().solve(&mut slope);
        z.iter_mut().zip(&slope).for_each(|(z, s)| *z += s.clamp(-1.0, 1.0));
    }
    let inverse = crate::base::linalg::Cholesky::new("Hessian", &bend).unwrap().inverse();
    Gaussian::from_covariance(&z, inverse).unwrap()
}

/// The route alone.
fn measured(model: &Glm, q: &Gaussian<Triangular>, draws: u64) -> Option<Mass> {
    let options = Audit { draws, ..Audit::default() };
    let mut between = go_on;
    let curvature = trusted_curvature(model).unwrap().unwrap();
    let target = Evaluator::Parallel(model);
    let session =
        Session::new(&options, target, (q, Image::EXACT), Seed(5), curvature, &mut between).unwrap();
    let mut session = Session { own: Some((model, q)), ..session };
    let layout = Layout::of(model).unwrap();
    let plan = session.plan_marginal(model, q, layout, 1e-6).unwrap()?;
    session.measure_marginal(&plan, 1e-6, 0).unwrap()
}

/// The marginal density is that of brute force, constants and slopes included, within the error that is said; the derivative of the log is
/// its gradient.
#[test]
fn the_marginal_is_the_integral() {
    for (name, model) in models() {
        let whole = laplace(&model);
        let layout = Layout::of(&model).unwrap();
        assert_eq!(layout.shared, [0, 1]);
        let q = shared_part(&whole, &layout.shared).unwrap();
        let marginal = Marginal::new(&model, layout, &q).unwrap().unwrap();
        let [constant, _] = model.rows.constant(model.family());
        let errors = marginal.rounding(&q, &[3.0]).unwrap().unwrap().remove(0);
        assert!(errors.value < 1e-7 && errors.slopes.iter().all(|x| *x < 1e-5), "{name}: {errors:?}");
        let (mut z, mut slope, mut other) = ([0.0; 2], [0.0; 2], [0.0; 2]);
        for k in 0..24 {
            let angle = 0.7 * f64::from(k);
            let size = 0.125 * f64::from(k);
            q.transport(&[size * angle.cos(), size * angle.sin()], &mut z);
            let value = marginal.log_density(&z, &mut slope).unwrap();
            let away = [z[0] - 0.4, z[1]];
            let prior: f64 = [0.3f64, 0.5]
                .iter()
                .zip(away)
                .map(|(p, x)| -0.5 * p * x * x + 0.5 * (p / std::f64::consts::TAU).ln())
                .sum();
            let expected = prior - constant + (0..3).map(|g| inner(&model, g, z)[0].ln()).sum::<f64>();
            assert!(
                (value - expected).abs() < errors.value + 1e-10,
                "{name}: {value} {expected} {}",
                errors.value
            );
            for j in 0..2 {
                let mut sides = [0.0; 2];
                for (side, sign) in sides.iter_mut().zip([-1.0, 1.0]) {
                    let mut moved = z;
                    moved[j] += sign * 1e-4;
                    *side = marginal.log_density(&moved, &mut other).unwrap();
                }
                let difference = (sides[1] - sides[0]) / 2e-4;
                assert!(
                    (difference - slope[j]).abs() < 1e-5 * (1.0 + slope[j].abs()),
                    "{name} {j}: {difference} {}",
                    slope[j]
                );
            }
        }
    }
}

/// Evidence, means and deviations against brute force, from a good and from a wrong Gaussian. The intervals are narrow, and a mass that is off
/// by what a group's normalising constant is would be outside.
#[test]
fn quadrature_agrees() {
    for (name, model) in models() {
        let good = laplace(&model);
        let mut covariance = good.covariance();
        covariance.entries_mut().iter_mut().for_each(|x| *x *= 1.3);
        let mean: Vec<f64> =
            good.mean().iter().zip(good.standard_deviations()).map(|(m, s)| m + 0.3 * s).collect();
        let wrong = Gaussian::from_covariance(&mean, covariance).unwrap();
        let truth = truth(&model, &shared_part(&good, &[0, 1]).unwrap());
        for (q, narrow) in [(&good, 0.05), (&wrong, 0.2)] {
            let mass = measured(&model, q, 4_000).unwrap_or_else(|| panic!("{name}: no bound"));
            let sides = [mass.lower.ln() - mass.constant, mass.upper.ln() - mass.constant];
            println!("{name}: {sides:?} {}", truth.evidence);
            assert!(
                sides[0] <= truth.evidence && truth.evidence <= sides[1],
                "{name}: {sides:?} {}",
                truth.evidence
            );
            assert!(sides[1] - sides[0] < narrow, "{name}: {sides:?}");
            let planted = truth.evidence + 0.5 * (std::f64::consts::TAU * WITHIN * WITHIN).ln();
            assert!(planted > sides[1] || planted < sides[0], "{name}: {planted}");
            assert_eq!(mass.standings.len(), 5, "{name}");
            for (j, standing) in mass.standings.iter().enumerate() {
                let sd = q.standard_deviations()[j];
                let [mean, deviation] = standing.interval(q.mean()[j], sd, 0.0);
                println!("  {j}: {mean:?} {} {deviation:?} {}", truth.mean[j], truth.deviation[j]);
                let inside = |[low, high]: [f64; 2], x: f64| low <= x && x <= high;
                assert!(inside(mean, truth.mean[j]), "{name} {j}: {mean:?} {}", truth.mean[j]);
                assert!(
                    inside(deviation, truth.deviation[j]),
                    "{name} {j}: {deviation:?} {}",
                    truth.deviation[j]
                );
            }
        }
    }
}

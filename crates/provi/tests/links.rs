//! The complementary log-log link against answers found without the library.

use provi::predict::{Rows, predict};
use provi::target::{Family, Glm, Prior, Target};
use provi::{Auto, Design, Gaussian, Seed};

const X: [f64; 10] = [-1.6, -1.1, -0.8, -0.3, 0.0, 0.2, 0.6, 0.9, 1.4, 2.0];
const Y: [f64; 10] = [0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 1.0];

fn design() -> Design {
    let entries: Vec<f64> = X.iter().flat_map(|&x| [1.0, x]).collect();
    Design::dense(10, 2, &entries).unwrap()
}

/// log P(y | s), as the textbook writes it.
fn log_probability(y: f64, s: f64) -> f64 {
    let none = (-s.exp()).exp();
    if y > 0.5 { (1.0 - none).ln() } else { none.ln() }
}

/// Newton's method for the maximum of the likelihood, with differences for derivatives: independent of every formula of the library.
fn maximum_likelihood() -> [f64; 2] {
    let value =
        |b: [f64; 2]| -> f64 { X.iter().zip(Y).map(|(x, y)| log_probability(y, b[0] + b[1] * x)).sum() };
    let h = 1e-4;
    let mut b = [0.0, 0.5];
    for _ in 0..60 {
        let at = |i: f64, j: f64| value([b[0] + i * h, b[1] + j * h]);
        let g = [(at(1.0, 0.0) - at(-1.0, 0.0)) / (2.0 * h), (at(0.0, 1.0) - at(0.0, -1.0)) / (2.0 * h)];
        let middle = at(0.0, 0.0);
        let aa = (at(1.0, 0.0) - 2.0 * middle + at(-1.0, 0.0)) / (h * h);
        let bb = (at(0.0, 1.0) - 2.0 * middle + at(0.0, -1.0)) / (h * h);
        let ab = (at(1.0, 1.0) - at(1.0, -1.0) - at(-1.0, 1.0) + at(-1.0, -1.0)) / (4.0 * h * h);
        let det = aa * bb - ab * ab;
        b = [b[0] - (bb * g[0] - ab * g[1]) / det, b[1] - (aa * g[1] - ab * g[0]) / det];
    }
    b
}

#[test]
fn the_gradient_vanishes_at_the_maximum_likelihood_and_the_density_is_the_textbook_s() {
    let beta = maximum_likelihood();
    let model = Glm::cloglog(design(), &Y, Prior::scale(1e6).unwrap()).unwrap();
    let mut gradient = [0.0; 2];
    let value = model.log_density(&beta, &mut gradient).unwrap();
    assert!(gradient.iter().all(|g| g.abs() < 1e-6), "{gradient:?}");
    let data: f64 = X.iter().zip(Y).map(|(x, y)| log_probability(y, beta[0] + beta[1] * x)).sum();
    let prior = -2.0 * (1e6 * (2.0 * std::f64::consts::PI).sqrt()).ln();
    assert!((value - data - prior).abs() < 1e-9, "{value} {data} {prior}");
}

/// Evidence and means by a sum over a grid lie within what the certificate proves.
#[test]
fn certificates_cover_what_a_grid_finds() {
    let model = Glm::cloglog(design(), &Y, Prior::scale(1.5).unwrap()).unwrap();
    let found = Auto::default().run(&model, Seed(1)).unwrap();
    let (q, certificate) = (&found.fit.gaussian, found.certificate());
    let (sd, half) = (q.standard_deviations(), 300);
    let step = 9.0 / f64::from(half);
    let (mut sums, mut unused) = ([0.0f64; 3], [0.0; 2]);
    let elbo = -provi::expectation::neg_elbo(&model, q).unwrap();
    for i in -half..=half {
        for j in -half..=half {
            let z = [q.mean()[0] + step * f64::from(i) * sd[0], q.mean()[1] + step * f64::from(j) * sd[1]];
            let p = (model.log_density(&z, &mut unused).unwrap() - elbo).exp();
            [1.0, z[0], z[1]].into_iter().zip(&mut sums).for_each(|(x, sum)| *sum += p * x);
        }
    }
    let kl = (sums[0] * step * step * sd[0] * sd[1]).ln();
    let bound = certificate.kl.bound().unwrap();
    assert!(kl > 0.0 && kl <= bound + 1e-9 && bound < 20.0 * kl, "{kl} {bound}");
    let (low, high) = (certificate.evidence.lower().unwrap(), certificate.evidence.upper().unwrap());
    assert!(low <= elbo + kl + 1e-9 && elbo + kl <= high + 1e-9, "{low} {} {high}", elbo + kl);
    for k in 0..2 {
        let error = (sums[1 + k] / sums[0] - q.mean()[k]).abs();
        assert!(error <= certificate.moments[k].mean_error.bound().unwrap() + 1e-9, "{k}: {error}");
    }
}

/// Successes among trials are their trials one by one, with the binomial coefficient in the evidence.
#[test]
fn a_row_of_trials_is_its_trials_one_by_one() {
    let prior = || Prior::scale(1.5).unwrap();
    let counts = Design::dense(2, 2, &[1.0, 0.3, 1.0, -0.8]).unwrap();
    let grouped = Glm::successes(Family::Cloglog, counts, &[2.0, 0.0], &[3.0, 2.0], prior()).unwrap();
    let rows: Vec<f64> = [[1.0, 0.3]; 3].into_iter().chain([[1.0, -0.8]; 2]).flatten().collect();
    let single =
        Glm::cloglog(Design::dense(5, 2, &rows).unwrap(), &[1.0, 1.0, 0.0, 0.0, 0.0], prior()).unwrap();
    let (mut a, mut b) = ([0.0; 2], [0.0; 2]);
    for z in [[0.4, -1.1], [-2.0, 0.6]] {
        let difference = grouped.log_density(&z, &mut a).unwrap() - single.log_density(&z, &mut b).unwrap();
        assert!((difference - 3f64.ln()).abs() < 1e-13, "{difference}");
        assert!((a[0] - b[0]).abs() < 1e-13 && (a[1] - b[1]).abs() < 1e-13);
    }
    let [a, b] = [&grouped, &single].map(|model| Auto::default().run(model, Seed(3)).unwrap().fit.gaussian);
    assert!((a.mean()[0] - b.mean()[0]).abs() < 1e-6 && (a.factor()[0] - b.factor()[0]).abs() < 1e-6);
    let design = Design::dense(1, 1, &[1.0]).unwrap();
    let refusal = Glm::successes(Family::Probit, design, &[1.0], &[2.0], prior()).unwrap_err().to_string();
    assert_eq!(refusal, "family probit has no trials; use binomial or cloglog");
}

/// E[1 − exp(−e^s)] by a fine sum, for narrow and wide predictors.
#[test]
fn mean_probabilities_are_integrals() {
    for (mean, sd) in [(-0.5, 0.01), (0.7, 0.6), (-2.0, 2.5), (1.0, 8.0)] {
        let q = Gaussian::new(&[mean], &[sd]).unwrap();
        let design = Design::dense(1, 1, &[1.0]).unwrap();
        let found = predict(Family::Cloglog, &q, &Rows::new(&design), 0.9).unwrap()[0].mean;
        let step = 1e-4;
        let expected: f64 = (-100_000..=100_000)
            .map(|i| {
                let t = step * f64::from(i);
                let density = (-0.5 * t * t).exp() / (2.0 * std::f64::consts::PI).sqrt();
                step * density * (1.0 - (-(mean + sd * t).exp()).exp())
            })
            .sum();
        assert!((found - expected).abs() < 1e-9, "{mean} {sd}: {found} {expected}");
    }
}

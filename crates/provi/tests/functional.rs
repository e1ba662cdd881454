//! Linear functionals of a certified answer: against quadrature, and from kept numbers as from the audit.

use provi::auto::Certified;
use provi::certificate::Statement;
use provi::functional::{Functional, MomentBounds};
use provi::predict::{Rows, predict};
use provi::target::{Family, Glm, Prior};
use provi::{Auto, Design, Gaussian, Seed, Target, Triangular};

/// Rows of two predictors and their labels.
fn model(family: Family, rows: usize, scale: f64) -> Glm {
    let x = Gaussian::<Triangular>::new(&[0.3, -0.2], &[1.0, 0.6, 0.9]).unwrap().sample(rows, Seed(5));
    let noise = Gaussian::<Triangular>::standard(1).sample(rows, Seed(6));
    let score = |n: usize| 0.8 * x[(n, 0)] - 0.4 * x[(n, 1)] + 0.7 * noise[(n, 0)];
    let label =
        |n: usize| if family == Family::Poisson { score(n).exp().round() } else { f64::from(score(n) > 0.0) };
    let labels: Vec<f64> = (0..rows).map(label).collect();
    let design = Design::dense(rows, 2, x.entries()).unwrap();
    Glm::new(family, design, &labels, Prior::scale(scale).unwrap()).unwrap()
}

fn ask(answer: &Certified, v: &[f64]) -> Functional {
    let errors = answer.audited.functional(v).unwrap();
    Functional::new(&answer.fit.gaussian, v, errors, answer.certificate()).unwrap()
}

/// E, sd and P(> 0) of vᵀz and E sigmoid(vᵀz) under the posterior, by the midpoint rule on a grid along v and across it, with 0 on an edge.
fn truth(model: &Glm, q: &Gaussian, v: &[f64]) -> [f64; 4] {
    let length = v[0].hypot(v[1]);
    let (along, across) = ([v[0] / length, v[1] / length], [-v[1] / length, v[0] / length]);
    let dot = |a: &[f64; 2], b: &[f64]| a[0] * b[0] + a[1] * b[1];
    let widest = q.standard_deviations().iter().fold(0.0f64, |a, &b| a.max(b));
    let (cells, h) = (120i32, 14.0 * widest / 120.0);
    let (center, offset) = (dot(&along, q.mean()), dot(&across, q.mean()));
    let first = (center / h).floor() as i32 - cells / 2;
    let (mut sums, mut gradient) = ([0.0; 5], [0.0; 2]);
    let top = model.log_density(q.mean(), &mut gradient).unwrap();
    for i in first..first + cells {
        let t = (f64::from(i) + 0.5) * h;
        for j in 0..cells {
            let s = offset + (f64::from(j - cells / 2) + 0.5) * h;
            let z = [t * along[0] + s * across[0], t * along[1] + s * across[1]];
            let weight = (model.log_density(&z, &mut gradient).unwrap() - top).exp();
            let value = t * length;
            let probability = 1.0 / (1.0 + (-value).exp());
            let terms = [1.0, value, value * value, f64::from(t > 0.0), probability];
            for (sum, x) in sums.iter_mut().zip(terms) {
                *sum += weight * x;
            }
        }
    }
    let mean = sums[1] / sums[0];
    [mean, (sums[2] / sums[0] - mean * mean).sqrt(), sums[3] / sums[0], sums[4] / sums[0]]
}

#[test]
fn the_bounds_hold_against_quadrature_and_are_not_absurd() {
    for (family, rows, scale) in [(Family::Bernoulli, 150, 1.0), (Family::Poisson, 80, 1.0)] {
        let model = model(family, rows, scale);
        let answer = Auto::default().run(&model, Seed(1)).unwrap();
        for v in [[1.0, 0.0], [0.0, 1.0], [1.0, -1.0], [0.5, 2.0]] {
            let [mean, sd, positive, _] = truth(&model, &answer.fit.gaussian, &v);
            let f = ask(&answer, &v);
            let bounds = [&f.mean_error, &f.sd_error].map(|s| s.bound().unwrap());
            assert!((f.mean - mean).abs() <= bounds[0], "{family:?} {rows} {v:?}: {f:?} {mean}");
            assert!((f.sd - sd).abs() <= bounds[1], "{family:?} {rows} {v:?}: {f:?} {sd}");
            let sign = &f.positive;
            assert!(sign.lower <= positive && positive <= sign.upper, "{rows} {v:?}: {sign:?} {positive}");
            assert!((sign.value - positive).abs() <= sign.error.bound().unwrap());
            // Loose, as bounds are, and still of use: below the deviation itself, and no sign at all costs half.
            assert!(bounds[0] < f.sd && bounds[1] < f.sd, "{family:?} {rows} {v:?}: {bounds:?} {}", f.sd);
            assert!(sign.upper - sign.lower < 0.45, "{family:?} {rows} {v:?}: {sign:?}");
        }
    }
}

#[test]
fn unit_vectors_and_kept_numbers_give_the_certificates_bounds() {
    for (family, rows) in
        [(Family::Bernoulli, 300), (Family::Poisson, 80), (Family::Gaussian { noise_sd: 0.5 }, 40)]
    {
        let answer = Auto::default().run(&model(family, rows, 1.5), Seed(2)).unwrap();
        let kept = answer.audited.moment_bounds().unwrap();
        let q = &answer.fit.gaussian;
        // What was measured for one coefficient alone is not kept: then the kept bound is the wider one.
        let close = |found: &MomentBounds, v: &[f64], expected: [&Statement; 2]| {
            for (kept, expected) in found.functional(q, v).unwrap().iter().zip(expected) {
                let is_kept = !expected
                    .key()
                    .is_some_and(|key| ["sharp-moments", "psi-moments", "group-moments"].contains(&key));
                let (kept, expected) = (kept.bound().unwrap(), expected.bound().unwrap());
                assert!(
                    kept >= expected * (1.0 - 1e-12) && (!is_kept || kept <= expected * (1.0 + 1e-8) + 1e-15),
                    "{kept} {expected}"
                );
            }
        };
        for (i, moment) in answer.certificate().moments.iter().enumerate() {
            let unit = [0, 1].map(|j| f64::from(i == j));
            let coordinate = Functional::coordinate(q, i, answer.certificate()).unwrap();
            assert_eq!(coordinate, ask(&answer, &unit));
            close(&kept, &unit, [&moment.mean_error, &moment.sd_error]);
        }
        for v in [[1.0, -1.0], [-0.3, 20.0], [1.0, -1.0 + 1e-6]] {
            let [mean, sd] = answer.audited.functional(&v).unwrap();
            close(&kept, &v, [&mean, &sd]);
        }
    }
}

#[test]
fn a_revoked_audit_keeps_nothing() {
    let mut answer = Auto::default().run(&model(Family::Bernoulli, 150, 1.0), Seed(1)).unwrap();
    answer.audited.revoke("seen to be wrong");
    let kept = answer.audited.moment_bounds().unwrap();
    assert!(kept.global.is_none() && kept.local.is_none());
    let f = ask(&answer, &[1.0, -1.0]);
    assert!(f.mean_error.bound().is_none() && f.positive.error.bound().is_none());
    assert_eq!(
        kept.functional(&answer.fit.gaussian, &[1.0, 0.0]).unwrap()[0].reason(),
        Some("seen to be wrong")
    );
    assert!(kept.bounded_mean(&[1.0, 0.0], 0.25, 1.0).unwrap().bound().is_none());
}

/// What `provi predict` says of probabilities: off by at most the total variation, which is of use.
#[test]
fn a_predicted_probability_is_off_by_at_most_the_total_variation() {
    let model = model(Family::Bernoulli, 150, 1.0);
    let answer = Auto::default().run(&model, Seed(1)).unwrap();
    let tv = answer.certificate().tv.bound().unwrap();
    assert!(tv < 0.4, "{tv}");
    let kept = answer.audited.moment_bounds().unwrap();
    for v in [[1.0, 0.0], [0.0, 1.0], [1.0, -1.0], [0.5, 2.0]] {
        let [.., probability] = truth(&model, &answer.fit.gaussian, &v);
        let design = Design::dense(1, 2, &v).unwrap();
        let found = predict(Family::Bernoulli, &answer.fit.gaussian, &Rows::new(&design), 0.95).unwrap()[0];
        assert!((found.mean - probability).abs() <= tv, "{v:?}: {} {probability} {tv}", found.mean);
        // And by what a coupling says of a function of slope ¼, which is less where the predictor hardly varies.
        let coupled = kept.bounded_mean(&v, 0.25, 1.0).unwrap().bound().unwrap();
        assert!((found.mean - probability).abs() <= coupled, "{v:?}: {} {probability} {coupled}", found.mean);
        let small = kept.bounded_mean(&v.map(|x| 1e-3 * x), 0.25, 1.0).unwrap().bound().unwrap();
        assert!(small < 0.1 * tv, "{small} {tv}");
        // The plug-in sigmoid of the mean would be off by more than the integral is.
        let plugged = 1.0 / (1.0 + (-found.predictor).exp());
        assert!((found.mean - probability).abs() < (plugged - probability).abs(), "{v:?}");
    }
}

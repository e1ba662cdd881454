//! Regressions beyond one log-concave function of one predictor, against answers found without the library.

use provi::fit::Fit;
use provi::mode::find_mode;
use provi::regression::NewRows;
use provi::target::{Glm, Likelihood, Prior, Regression, Target};
use provi::{Auto, Design, Matrix, Provenance, Seed};

const X: [f64; 32] = [
    -1.5, -1.2, -0.9, -0.7, -0.5, -0.4, -0.2, -0.1, 0.0, 0.1, 0.2, 0.3, 0.5, 0.6, 0.8, 0.9, 1.1, 1.2, 1.4,
    1.6, -1.4, -1.1, -0.8, -0.6, -0.3, 0.05, 0.15, 0.4, 0.7, 1.0, 1.3, 1.5,
];
const COUNTS: [f64; 32] = [
    0.0, 0.0, 3.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 4.0, 3.0, 6.0, 5.0, 1.0, 5.0, 0.0, 0.0, 8.0, 0.0,
    1.0, 1.0, 2.0, 0.0, 4.0, 1.0, 0.0, 0.0, 6.0, 4.0, 0.0,
];
const SUCCESSES: [f64; 32] = [
    4.0, 0.0, 5.0, 8.0, 1.0, 9.0, 3.0, 5.0, 0.0, 6.0, 12.0, 9.0, 3.0, 7.0, 19.0, 6.0, 2.0, 7.0, 9.0, 12.0,
    1.0, 4.0, 7.0, 9.0, 2.0, 5.0, 16.0, 7.0, 7.0, 0.0, 13.0, 15.0,
];

fn design() -> Design {
    Design::dense(32, 2, &X.iter().flat_map(|x| [1.0, *x]).collect::<Vec<f64>>()).unwrap()
}

fn prior() -> Prior {
    Prior::scale(3.0).unwrap()
}

fn trials() -> Vec<f64> {
    [8.0, 12.0, 20.0, 15.0].repeat(8)
}

/// 1 up to five successes, 2 up to nine, 3 above.
fn levels() -> Vec<f64> {
    SUCCESSES.iter().map(|k| 1.0 + f64::from(u8::from(*k > 5.0)) + f64::from(u8::from(*k > 9.0))).collect()
}

fn model(likelihood: Likelihood, response: &[f64], trials: Option<&[f64]>) -> Regression {
    Regression::new(likelihood, design(), response, trials, prior()).unwrap()
}

/// Modes and log densities by R 4: optim (BFGS) on dpois, lbeta, dt and a softmax, with dnorm(·, 0, 3) of the coefficients, dlogis of logits,
/// a doubled dt(·/2.5, 3) of sigma and a dgamma(·, 2, 0.1) of nu above 1, each with its Jacobian.
#[test]
fn modes_are_those_of_another_program() {
    let mut far = COUNTS;
    far[19] = 30.0;
    let (trials, levels) = (trials(), levels());
    let student = Likelihood::Student { sd: None, degrees: None, scale: 2.5 };
    let cases: [(Regression, &[f64], f64); 4] = [
        (
            model(Likelihood::ZeroInflatedPoisson, &COUNTS, None),
            &[0.808_921_9, 0.719_492_2, -0.306_502_0],
            -54.354_137_676_8,
        ),
        (
            model(Likelihood::BetaBinomial, &SUCCESSES, Some(&trials)),
            &[-0.219_300_8, 0.575_641_1, -1.378_133_8],
            -85.852_554_995_8,
        ),
        (
            model(student, &far, None),
            &[1.172_946_4, 0.680_400_6, 0.539_593_6, 0.717_821_2],
            -84.605_148_013_8,
        ),
        (
            model(Likelihood::Multinomial { levels: 3 }, &levels, None),
            &[-0.114_404_4, 0.883_479_6, -1.477_414_2, 2.081_109_9],
            -36.561_524_523_4,
        ),
    ];
    for (model, at, value) in cases {
        let mode = find_mode(&model, &model.start()).unwrap();
        for (found, expected) in mode.point.iter().zip(at) {
            assert!((found - expected).abs() < 2e-4, "{:?}: {:?}", model.likelihood(), mode.point);
        }
        assert!((mode.log_density - value).abs() < 1e-7, "{:?}: {}", model.likelihood(), mode.log_density);
    }
}

/// With two levels it is logistic regression: the same density, and an answer within its certified gap of the exact solver's.
#[test]
fn two_levels_are_logistic_regression() {
    let labels: Vec<f64> = levels().iter().map(|y| f64::from(u8::from(*y > 1.5))).collect();
    let numbers: Vec<f64> = labels.iter().map(|y| y + 1.0).collect();
    let glm = Glm::logistic(design(), &labels, prior()).unwrap();
    let two = model(Likelihood::Multinomial { levels: 2 }, &numbers, None);
    let [a, b] = [&glm as &dyn Target, &two].map(|target| {
        let mut gradient = [0.0; 2];
        (target.log_density(&[0.3, -0.8], &mut gradient).unwrap(), gradient)
    });
    assert!((a.0 - b.0).abs() < 1e-11 && (a.1[0] - b.1[0]).abs() < 1e-11 && (a.1[1] - b.1[1]).abs() < 1e-11);
    let [ours, theirs] = [two.curvature().unwrap().unwrap(), glm.curvature().unwrap().unwrap()];
    assert!((ours.smoothness().unwrap() / theirs.smoothness().unwrap() - 1.0).abs() < 1e-8);
    assert_eq!(ours.provenance(), Provenance::Declared);
    let exact = Auto::default().run(&glm, Seed(1)).unwrap();
    let answer = Auto::default().run(&two, Seed(1)).unwrap();
    let gap = answer.certificate().gap.bound().unwrap();
    let at = Fit::given(&glm, &answer.fit.gaussian, Seed(2)).unwrap().neg_elbo.value;
    let found = at - exact.fit.neg_elbo.value;
    assert!(found > -1e-8 && found <= gap && gap < 0.5, "{found} {gap}");
    // The evidence of both contains the same number.
    let [ours, theirs] = [answer.certificate(), exact.certificate()];
    let bounds = |c: &provi::Certificate| [c.evidence.lower().unwrap(), c.evidence.upper().unwrap()];
    assert!(bounds(ours)[0] <= bounds(theirs)[1] && bounds(theirs)[0] <= bounds(ours)[1]);
}

/// Four hundred rows of known parameters: every coordinate within four standard deviations, and a twin with another slope beyond them.
#[test]
fn parameters_of_simulated_rows_are_found_again() {
    const ROWS: usize = 400;
    let x = |n: usize| 1.3 * (n as f64 * 0.7).sin();
    let design = Design::dense(ROWS, 2, &(0..ROWS).flat_map(|n| [1.0, x(n)]).collect::<Vec<f64>>()).unwrap();
    let trials = vec![14.0; ROWS];
    let student = Likelihood::Student { sd: None, degrees: None, scale: 2.0 };
    let cases: [(Likelihood, &[f64]); 4] = [
        (student, &[0.8, -1.1, 0.2, 1.2]),
        (Likelihood::BetaBinomial, &[-0.4, 0.9, -1.5]),
        (Likelihood::ZeroInflatedPoisson, &[0.9, 0.6, -0.7]),
        (Likelihood::Multinomial { levels: 3 }, &[0.4, -0.9, -0.3, 1.1]),
    ];
    for (likelihood, truth) in cases {
        let new = NewRows { design: &design, offsets: None, trials: Some(&trials) };
        let point = Matrix::new(1, truth.len(), truth.to_vec()).unwrap();
        let drawn = new.responses(likelihood, &point, 0, Seed(5)).unwrap();
        let trials = (likelihood == Likelihood::BetaBinomial).then_some(&trials[..]);
        let model = Regression::new(likelihood, design.clone(), drawn.row(0), trials, prior()).unwrap();
        let auto = Auto { start: Some(model.start()), ..Auto::default() };
        let answer = auto.run(&model, Seed(3)).unwrap();
        let (mean, sd) = (answer.fit.gaussian.mean(), answer.fit.gaussian.standard_deviations());
        for i in 0..truth.len() {
            assert!((mean[i] - truth[i]).abs() < 4.0 * sd[i], "{likelihood:?} {i}: {} {}", mean[i], truth[i]);
        }
        assert!((mean[1] - truth[1] - 1.0).abs() > 4.0 * sd[1], "a twin whose slope is larger by 1");
        assert_eq!(answer.certificate().gap.bound().is_some(), likelihood.is_log_concave());
    }
}

/// Columns in other units, and far from zero, give the same answer in those units.
#[test]
fn units_do_not_matter() {
    let of = |unit: f64, shift: f64, scale: f64| {
        let entries: Vec<f64> = X.iter().flat_map(|x| [1.0, unit * (x + shift)]).collect();
        let design = Design::dense(32, 2, &entries).unwrap();
        let response: Vec<f64> = COUNTS.iter().map(|y| scale * y).collect();
        // Of the slope, and of the value at x = 0.
        let prior = Prior::centered(
            &[(scale * 1.8, scale * 9.0), (0.0, scale * 9.0 / unit)],
            0,
            &[1.0, unit * shift],
        );
        let likelihood = Likelihood::Student { sd: None, degrees: Some(4.0), scale: 2.4 * scale };
        let model = Regression::new(likelihood, design, &response, None, prior.unwrap()).unwrap();
        let auto = Auto { start: Some(model.start()), ..Auto::default() };
        let q = auto.run(&model, Seed(8)).unwrap().fit.gaussian;
        [q.mean()[1] * unit / scale, q.standard_deviations()[1] * unit / scale, q.mean()[2] - scale.ln()]
    };
    let plain = of(1.0, 0.0, 1.0);
    for other in [of(1e-4, 0.0, 1.0), of(1.0, 2000.0, 1.0), of(1e5, 0.0, 1e6), of(0.01, -300.0, 1e-5)] {
        for (a, b) in plain.iter().zip(other) {
            assert!((a - b).abs() < 0.1 * plain[1], "{plain:?} {other:?}");
        }
    }
}

//! Regressions beyond one log-concave function of one predictor, against answers found without the library.

use provi::estimate::log_ratios;
use provi::exact_draws::ExactDraws;
use provi::fit::Fit;
use provi::loo::{LeftOut, Smoothed};
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

/// Two levels are labels: from the same draws the same rows are left out alike. Draws of a Gaussian that is too wide, weighted towards the posterior,
/// give what independent draws of the posterior give; without the weights they do not.
#[test]
fn two_levels_are_left_out_as_labels_are() {
    let labels: Vec<f64> = SUCCESSES.iter().map(|k| f64::from(u8::from(*k > 6.0))).collect();
    let numbers: Vec<f64> = labels.iter().map(|y| y + 1.0).collect();
    let levels = model(Likelihood::Multinomial { levels: 2 }, &numbers, None);
    let plain = Glm::logistic(design(), &labels, prior()).unwrap();
    let q = Auto::default().run(&plain, Seed(1)).unwrap().fit.gaussian;
    let exact = ExactDraws::new(&plain, &q, Seed(2)).unwrap().draw(20_000).unwrap();
    let own = Smoothed::of_draws(&plain, &exact, None, &mut |_| ()).unwrap();
    let same = Smoothed::of_weighted_draws(&levels, &exact, &vec![0.3; 20_000], &mut |_| ()).unwrap();
    for (a, b) in own.rows.iter().zip(&same.rows) {
        for (a, b) in [(a.elpd, b.elpd), (a.lpd, b.lpd), (a.below, b.below), (a.up_to, b.up_to)] {
            assert!((a - b).abs() < 1e-9, "{a} {b}");
        }
    }
    assert!((own.waic.p_waic - same.waic.p_waic).abs() < 1e-9);
    let mut covariance = q.covariance();
    covariance.entries_mut().iter_mut().for_each(|x| *x *= 1.7);
    let wide = provi::Gaussian::from_covariance(q.mean(), covariance).unwrap();
    let points = wide.sample(20_000, Seed(3));
    let ratios = log_ratios(&levels, &wide, &points).unwrap();
    let elpd = |ratios: &[f64]| {
        let found = Smoothed::of_weighted_draws(&levels, &points, ratios, &mut |_| ()).unwrap();
        found.rows.iter().map(|row| row.elpd).sum::<f64>()
    };
    let expected: f64 = own.rows.iter().map(|row| row.elpd).sum();
    assert!((elpd(&ratios) - expected).abs() < 0.05, "{} {expected}", elpd(&ratios));
    assert!((elpd(&vec![0.0; 20_000]) - expected).abs() > 0.2, "{}", elpd(&vec![0.0; 20_000]));
}

/// A row at a point, written out: its log likelihood, P(new < y) and P(new ≤ y).
type RowAt<'a> = dyn Fn(usize, [f64; 2]) -> [f64; 3] + 'a;

/// elpd, P(new < y) and P(new ≤ y) of each row without itself, by a sum over a grid:
/// ```text
/// elpd_i = log ∫ p(z) Π_n L_n^{w_n} dz − log ∫ p(z) Π_{n≠i} L_n^{w_n} dz
/// ```
fn left_out_on_a_grid(
    weights: &[f64],
    axes: [Vec<f64>; 2],
    log_prior: &dyn Fn([f64; 2]) -> f64,
    row: &RowAt<'_>,
) -> Vec<[f64; 3]> {
    // Far above and below, a sum of densities would leave the range of numbers: the largest is taken out first.
    let points = || axes[0].iter().flat_map(|a| axes[1].iter().map(move |b| [*a, *b]));
    let at = |z: [f64; 2]| -> (f64, Vec<[f64; 3]>) {
        let rows: Vec<[f64; 3]> = (0..weights.len()).map(|n| row(n, z)).collect();
        (log_prior(z) + rows.iter().zip(weights).map(|(row, w)| w * row[0]).sum::<f64>(), rows)
    };
    let all: Vec<(f64, Vec<[f64; 3]>)> = points().map(at).collect();
    let top = all.iter().map(|(log, _)| *log).fold(f64::NEG_INFINITY, f64::max);
    let of = |(i, weight): (usize, &f64)| {
        let [mut whole, mut without, mut below, mut up_to] = [0.0; 4];
        for (log, rows) in &all {
            let share = (log - top - weight * rows[i][0]).exp();
            whole += (log - top).exp();
            without += share;
            below += share * rows[i][1];
            up_to += share * rows[i][2];
        }
        [(whole / without).ln(), below / without, up_to / without]
    };
    weights.iter().enumerate().map(of).collect()
}

fn axis(low: f64, high: f64) -> Vec<f64> {
    (0..=200).map(|i| low + (high - low) * f64::from(i) / 200.0).collect()
}

/// What the library finds from draws of a fitted Gaussian that are weighted towards the posterior.
fn left_out_by_draws(model: &Regression) -> Vec<LeftOut> {
    let auto = Auto { start: Some(model.start()), ..Auto::default() };
    let q = auto.run(model, Seed(4)).unwrap().fit.gaussian;
    let points = q.sample(40_000, Seed(5));
    let ratios = log_ratios(model, &q, &points).unwrap();
    Smoothed::of_weighted_draws(model, &points, &ratios, &mut |_| ()).unwrap().rows
}

/// Every row within 0.03 of an integral over the posterior without it, in one or two dimensions. Twins fail: a constant that is wrong,
/// and rows that are not left out.
#[test]
fn rows_left_out_are_those_of_integrals() {
    const N: usize = 14;
    const NUMBERS: [f64; N] = [0.3, -0.2, 1.1, 0.9, 14.0, 0.1, 0.6, -1.0, 2.0, 0.4, 0.8, -0.5, 0.2, 1.4];
    const LEVELS: [f64; N] = [1.0, 2.0, 1.0, 3.0, 1.0, 2.0, 2.0, 1.0, 1.0, 3.0, 2.0, 1.0, 2.0, 1.0];
    let (counts, successes, trials) = (&COUNTS[..N], &SUCCESSES[..N], &trials()[..N]);
    let ones = Design::dense(N, 1, &[1.0; N]).unwrap();
    let built = |likelihood, response: &[f64], trials| {
        Regression::new(likelihood, ones.clone(), response, trials, prior()).unwrap()
    };
    let normal = |b: f64| -0.5 * (b / 3.0).powi(2);
    let logistic = |x: f64| -x - 2.0 * (-x).exp().ln_1p();
    // Student's t with two degrees of freedom has a distribution function without integrals; a row counts for nothing and another one twice.
    let mut weights = [1.0; N];
    (weights[2], weights[5]) = (0.0, 2.0);
    let student = |sd: f64| {
        move |n: usize, [b, _]: [f64; 2]| {
            let x = (NUMBERS[n] - b) / sd;
            let up_to = 0.5 + x / (2.0 * (2.0 + x * x).sqrt());
            [-1.5 * (1.0 + 0.5 * x * x).ln() - sd.ln() - 8f64.sqrt().ln(), up_to, up_to]
        }
    };
    let likelihood = Likelihood::Student { sd: Some(0.8), degrees: Some(2.0), scale: 1.0 };
    let model = built(likelihood, &NUMBERS, None).with_weights(&weights).unwrap();
    let found = left_out_by_draws(&model);
    assert!(found[2].pareto_k.is_none());
    let expected =
        |sd: f64| left_out_on_a_grid(&weights, [axis(-3.0, 4.0), vec![0.0]], &|z| normal(z[0]), &student(sd));
    compare("student", &found, &expected(0.8), &expected(0.96));

    // Both tails of a probability of the smallest mean: P(k) as a product of ratios.
    let beta_binomial = |scale: f64| {
        move |n: usize, [eta, x]: [f64; 2]| {
            let total = (-x).exp() * scale;
            let p = 1.0 / (1.0 + (-eta).exp());
            let [a, b] = [p * total, (1.0 - p) * total];
            let chance = |k: u32| {
                let k = f64::from(k);
                let mut log = 0.0;
                for i in 0..trials[n] as u32 {
                    let i = f64::from(i);
                    log += if i < k {
                        ((trials[n] - i) / (k - i)).ln() + (a + i).ln()
                    } else {
                        (b + i - k).ln()
                    };
                    log -= (a + b + i).ln();
                }
                log
            };
            let y = successes[n] as u32;
            let below: f64 = (0..y).map(|k| chance(k).exp()).sum();
            [chance(y), below, below + chance(y).exp()]
        }
    };
    let found = left_out_by_draws(&built(Likelihood::BetaBinomial, successes, Some(trials)));
    let expected = |scale: f64| {
        let log_prior = |[b, x]: [f64; 2]| normal(b) + logistic(x);
        left_out_on_a_grid(&[1.0; N], [axis(-4.0, 3.0), axis(-8.0, 4.0)], &log_prior, &beta_binomial(scale))
    };
    compare("betabinomial", &found, &expected(1.0), &expected(3.0));

    let inflated = |scale: f64| {
        move |n: usize, [eta, x]: [f64; 2]| {
            let (zeros, mean) = (1.0 / (1.0 + (-x).exp()), scale * eta.exp());
            let chance = |k: u32| {
                let factorial: f64 = (1..=k).map(f64::from).product();
                let count = (1.0 - zeros) * (-mean).exp() * mean.powi(k as i32) / factorial;
                if k == 0 { zeros + count } else { count }
            };
            let y = counts[n] as u32;
            let below: f64 = (0..y).map(chance).sum();
            [chance(y).ln(), below, below + chance(y)]
        }
    };
    let found = left_out_by_draws(&built(Likelihood::ZeroInflatedPoisson, counts, None));
    let expected = |scale: f64| {
        let log_prior = |[b, x]: [f64; 2]| normal(b) + logistic(x);
        left_out_on_a_grid(&[1.0; N], [axis(-4.0, 3.0), axis(-8.0, 7.0)], &log_prior, &inflated(scale))
    };
    compare("zipoisson", &found, &expected(1.0), &expected(9.0));

    let multinomial = |[b, c]: [f64; 2], n: usize, scale: f64| {
        let odds = [1.0, scale * b.exp(), c.exp()];
        let chance = |k: usize| odds[k] / odds.iter().sum::<f64>();
        let y = LEVELS[n] as usize - 1;
        let below: f64 = (0..y).map(chance).sum();
        [chance(y).ln(), below, below + chance(y)]
    };
    let found = left_out_by_draws(&built(Likelihood::Multinomial { levels: 3 }, &LEVELS, None));
    let expected = |scale: f64| {
        let log_prior = |[b, c]: [f64; 2]| normal(b) + normal(c);
        let axes = [axis(-6.0, 5.0), axis(-10.0, 5.0)];
        left_out_on_a_grid(&[1.0; N], axes, &log_prior, &|n, z| multinomial(z, n, scale))
    };
    compare("multinomial", &found, &expected(1.0), &expected(20.0));
}

fn compare(name: &str, found: &[LeftOut], expected: &[[f64; 3]], twin: &[[f64; 3]]) {
    let off = |of: &dyn Fn(&LeftOut) -> f64, with: &[[f64; 3]]| {
        found.iter().zip(with).map(|(a, b)| (of(a) - b[0]).abs()).fold(0.0, f64::max)
    };
    let own = off(&|row| row.elpd, expected);
    for (n, (row, [_, below, up_to])) in found.iter().zip(expected).enumerate() {
        assert!((row.below - below).abs() < 0.01, "{name} {n}: {} {below}", row.below);
        assert!((row.up_to - up_to).abs() < 0.01, "{name} {n}: {} {up_to}", row.up_to);
    }
    assert!(own < 0.03, "{name}: {own}");
    assert!(off(&|row| row.elpd, twin) > 0.03, "{name}: a wrong constant");
    assert!(off(&|row| row.lpd, expected) > 0.06, "{name}: rows that are not left out");
}

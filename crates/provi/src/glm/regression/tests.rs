use super::*;
use crate::base::draws::Seed;
use crate::base::linalg::eigenvalues;
use crate::glm::Glm;

fn design() -> Design {
    let x = [0.3, -1.2, 0.8, 2.1, -0.4, 1.5, -2.2, 0.0];
    let entries: Vec<f64> = x.iter().flat_map(|x| [1.0, *x, 0.5 * x * x - 1.0]).collect();
    Design::dense(8, 3, &entries).unwrap()
}

fn prior() -> Prior {
    Prior::scales(&[2.0, 1.5, 0.7]).unwrap().with_mean(&[0.3, -0.1, 0.2]).unwrap()
}

const COUNTS: [f64; 8] = [0.0, 2.0, 0.0, 5.0, 1.0, 0.0, 40.0, 3.0];
const TRIALS: [f64; 8] = [4.0, 2.0, 9.0, 6.0, 1.0, 30.0, 90.0, 3.0];
const SUCCESSES: [f64; 8] = [0.0, 2.0, 5.0, 5.0, 1.0, 26.0, 40.0, 0.0];
const NUMBERS: [f64; 8] = [0.3, -2.5, 11.0, 0.1, 2.2, 1.9, -0.7, 0.0];
const LEVELS: [f64; 8] = [1.0, 3.0, 2.0, 2.0, 4.0, 1.0, 3.0, 1.0];

/// One of each kind.
fn models() -> Vec<Regression> {
    let student = |sd, degrees| Likelihood::Student { sd, degrees, scale: 1.7 };
    let make = |likelihood, response: &[f64], trials: Option<&[f64]>| {
        Regression::new(likelihood, design(), response, trials, prior()).unwrap()
    };
    vec![
        make(student(None, None), &NUMBERS, None),
        make(student(Some(0.8), None), &NUMBERS, None),
        make(student(None, Some(4.0)), &NUMBERS, None),
        make(student(Some(1.3), Some(80.0)), &NUMBERS, None),
        make(Likelihood::Multinomial { levels: 4 }, &LEVELS, None),
        make(Likelihood::BetaBinomial, &SUCCESSES, Some(&TRIALS)),
        make(Likelihood::ZeroInflatedPoisson, &COUNTS, None),
    ]
}

fn weighted(model: Regression) -> Regression {
    let weights = [1.0, 0.5, 2.0, 0.0, 1.5, 1.0, 0.25, 3.0];
    let offsets = [0.1, 0.0, -0.4, 0.2, 0.0, 0.7, 0.0, -0.2];
    model.with_weights(&weights).unwrap().with_offsets(&offsets).unwrap()
}

/// Points of every sign and size.
fn points(dim: usize) -> Vec<Vec<f64>> {
    let at = |k: usize, i: usize| 1.3 * ((3 * k + 2 * i + 1) as f64 * 1.7).sin();
    (0..5).map(|k| (0..dim).map(|i| at(k, i)).collect()).collect()
}

#[test]
fn gradients_are_those_of_differences() {
    for model in models().into_iter().flat_map(|m| [m.clone(), weighted(m)]) {
        let d = model.dim();
        for z in points(d) {
            let (mut gradient, mut other) = (vec![0.0; d], vec![0.0; d]);
            model.log_density(&z, &mut gradient).unwrap();
            for i in 0..d {
                let mut value = |h: f64| {
                    let mut z = z.clone();
                    z[i] += h;
                    model.log_density(&z, &mut other).unwrap()
                };
                // Of fourth order.
                let h = 1e-3;
                let near = value(h) - value(-h);
                let far = value(2.0 * h) - value(-2.0 * h);
                let slope = (8.0 * near - far) / (12.0 * h);
                let error = (gradient[i] - slope).abs() / (1.0 + slope.abs());
                assert!(error < 1e-7, "{:?} {i}: {} {slope}", model.likelihood(), gradient[i]);
            }
        }
    }
}

#[test]
fn many_points_have_the_bits_of_one() {
    for model in models() {
        let (d, points) = (model.dim(), points(model.dim()));
        let (mut values, mut gradients) = (vec![0.0; 5], vec![0.0; 5 * d]);
        model.log_densities(&points.concat(), &mut values, &mut gradients, &mut Scratch::default()).unwrap();
        for (k, z) in points.iter().enumerate() {
            let mut gradient = vec![0.0; d];
            let value = model.log_density(z, &mut gradient).unwrap();
            assert!((value - values[k]).abs() <= 1e-12 * value.abs());
            for (a, b) in gradient.iter().zip(&gradients[k * d..]) {
                assert!((a - b).abs() <= 1e-12 * (1.0 + a.abs()));
            }
        }
    }
}

/// The sum of e^log over a fine grid.
fn integral(from: f64, to: f64, log: impl Fn(f64) -> f64) -> f64 {
    const STEPS: usize = 40_000;
    let h = (to - from) / STEPS as f64;
    (0..STEPS).map(|k| log(from + (k as f64 + 0.5) * h).exp()).sum::<f64>() * h
}

/// A wrong constant would show: each law has the mass 1.
#[test]
fn laws_of_rows_and_parameters_have_mass_one() {
    let one = |likelihood: Likelihood, y: f64, trials: f64, eta: f64, further: &[f64]| {
        let constant = likelihood.constants(&[y], &[trials])[0];
        likelihood.at(further).row(y, trials, &mut [eta], &mut vec![0.0; further.len()]) + constant
    };
    for degrees in [3.0, 8.0, 120.0] {
        let student = Likelihood::Student { sd: None, degrees: Some(degrees), scale: 1.0 };
        let mass = integral(-600.0, 600.0, |y| one(student, y, 1.0, 0.4, &[0.3]));
        assert!((mass - 1.0).abs() < 1e-5, "{degrees}: {mass}");
    }
    for t in [-20.0, -3.0, 0.0, 2.0] {
        let mass: f64 =
            (0..=60).map(|k| one(Likelihood::BetaBinomial, k.into(), 60.0, -0.7, &[t]).exp()).sum();
        assert!((mass - 1.0).abs() < 1e-9, "{t}: {mass}");
        let zip = |k: u32| one(Likelihood::ZeroInflatedPoisson, k.into(), 1.0, 1.2, &[t]).exp();
        assert!(((0..60).map(zip).sum::<f64>() - 1.0).abs() < 1e-12);
    }
    let levels: f64 = (1..=4)
        .map(|k| {
            Likelihood::Multinomial { levels: 4 }
                .at(&[])
                .row(k.into(), 1.0, &mut [0.3, -2.0, 5.0], &mut [])
                .exp()
        })
        .sum();
    assert!((levels - 1.0).abs() < 1e-14);
    let laws = [
        Likelihood::Student { sd: None, degrees: Some(4.0), scale: 3.5 },
        Likelihood::Student { sd: Some(1.0), degrees: None, scale: 1.0 },
        Likelihood::BetaBinomial,
        Likelihood::ZeroInflatedPoisson,
    ];
    for likelihood in laws {
        let mass = integral(-40.0, 40.0, |x| likelihood.log_prior(&[x], &mut [0.0]));
        assert!((mass - 1.0).abs() < 1e-6, "{likelihood:?}: {mass}");
    }
}

/// Values of R 4: dt((1.5 − 0.2)/2, 5, log = TRUE) − log(2); log of the beta-binomial by lbeta; log(0.3 + 0.7·dpois(0, e^0.4)).
#[test]
fn densities_are_those_of_another_program() {
    let student = Likelihood::Student { sd: Some(2.0), degrees: Some(5.0), scale: 1.0 };
    let found = student.at(&[]).row(1.5, 1.0, &mut [0.2], &mut []);
    assert!((found - STUDENT).abs() < 1e-12, "{found}");
    let t = (0.2f64 / 0.8).ln();
    let likelihood = Likelihood::BetaBinomial;
    let constant = likelihood.constants(&[7.0], &[12.0])[0];
    let found = likelihood.at(&[t]).row(7.0, 12.0, &mut [0.5], &mut [0.0]) + constant;
    assert!((found - BETA_BINOMIAL).abs() < 1e-12, "{found}");
    let t = (0.3f64 / 0.7).ln();
    let found = Likelihood::ZeroInflatedPoisson.at(&[t]).row(0.0, 1.0, &mut [0.4], &mut [0.0]);
    assert!((found - ZERO).abs() < 1e-12, "{found}");
}

const STUDENT: f64 = -1.905_123_923_469_045_4;
const BETA_BINOMIAL: f64 = -2.242_353_855_017_239_7;
const ZERO: f64 = -0.782_036_853_931_703;

/// The value of each limit is that of the family without the further parameter.
#[test]
fn limits_are_the_plain_families() {
    let z = [0.4, -0.6, 0.3];
    let plain = |glm: Glm| glm.log_density(&z, &mut [0.0; 3]).unwrap();
    let value = |likelihood, response: &[f64], trials: Option<&[f64]>, further: &[f64]| {
        let model = Regression::new(likelihood, design(), response, trials, prior()).unwrap();
        let mut gradient = vec![0.0; model.dim()];
        let prior = likelihood.log_prior(further, &mut vec![0.0; further.len()]);
        model.log_density(&[&z[..], further].concat(), &mut gradient).unwrap() - prior
    };
    let close = |a: f64, b: f64, within: f64| assert!((a - b).abs() < within, "{a} {b}");
    let student = |degrees| Likelihood::Student { sd: Some(2.0), degrees: Some(degrees), scale: 1.0 };
    let normal = plain(Glm::linear(design(), &NUMBERS, 2.0, prior()).unwrap());
    close(value(student(1e9), &NUMBERS, None, &[]), normal, 1e-5);
    assert!((value(student(5.0), &NUMBERS, None, &[]) - normal).abs() > 0.1, "a twin that is no limit");
    let binomial = plain(Glm::binomial(design(), &SUCCESSES, &TRIALS, prior()).unwrap());
    close(value(Likelihood::BetaBinomial, &SUCCESSES, Some(&TRIALS), &[-22.0]), binomial, 1e-5);
    assert!((value(Likelihood::BetaBinomial, &SUCCESSES, Some(&TRIALS), &[-2.0]) - binomial).abs() > 0.1);
    let poisson = plain(Glm::poisson(design(), &COUNTS, prior()).unwrap());
    close(value(Likelihood::ZeroInflatedPoisson, &COUNTS, None, &[-25.0]), poisson, 1e-8);
    assert!((value(Likelihood::ZeroInflatedPoisson, &COUNTS, None, &[0.0]) - poisson).abs() > 0.1);
    let labels: Vec<f64> = LEVELS.iter().map(|y| f64::from(u8::from(*y > 1.5))).collect();
    let levels: Vec<f64> = labels.iter().map(|y| y + 1.0).collect();
    let logistic = plain(Glm::logistic(design(), &labels, prior()).unwrap());
    close(value(Likelihood::Multinomial { levels: 2 }, &levels, None, &[]), logistic, 1e-12);
}

/// λ_min of the difference of both bounds and −∇² log p at random points; `half` is the constant of the upper bound.
fn sandwich(model: &Regression, half: f64) -> f64 {
    let d = model.dim();
    let curvature = model.curvature().unwrap().unwrap();
    let lower = curvature.lower().to_matrix(d);
    let mut upper = lower.clone();
    let full = curvature.upper().unwrap().to_matrix(d);
    upper.add_scaled(half / 0.5, &full);
    upper.add_scaled(-half / 0.5, &lower);
    let mut least = f64::INFINITY;
    let mut draws = points(d);
    // Where a level is as likely as its base and the others are unlikely, the bound is met.
    draws.push((0..d).map(|i| if i % 3 == 0 { if i == 0 { 0.0 } else { -40.0 } } else { 0.0 }).collect());
    for z in draws {
        let mut hessian = Matrix::zeros(d, d);
        assert!(model.hessian(&z, &mut hessian).unwrap());
        let (mut above, mut below) = (upper.clone(), hessian.clone());
        above.add_scaled(1.0, &hessian);
        below.entries_mut().iter_mut().for_each(|x| *x = -*x);
        below.add_scaled(-1.0, &lower);
        for difference in [above, below] {
            least = least.min(eigenvalues("difference", &difference).unwrap()[0]);
        }
    }
    least
}

#[test]
fn the_curvature_of_levels_lies_between_its_bounds_and_a_smaller_constant_fails() {
    let model = models().remove(4);
    assert!(sandwich(&model, 0.5) > -1e-9);
    assert!(sandwich(&weighted(model.clone()), 0.5) > -1e-9);
    assert!(sandwich(&model, 0.45) < -1e-3);
}

#[test]
fn the_hessian_of_levels_is_that_of_differences() {
    let model = weighted(models().remove(4));
    let d = model.dim();
    for z in points(d) {
        let mut hessian = Matrix::zeros(d, d);
        model.hessian(&z, &mut hessian).unwrap();
        for i in 0..d {
            let gradient = |h: f64| {
                let (mut z, mut out) = (z.clone(), vec![0.0; d]);
                z[i] += h;
                model.log_density(&z, &mut out).unwrap();
                out
            };
            let (up, down) = (gradient(1e-5), gradient(-1e-5));
            for j in 0..d {
                let slope = (up[j] - down[j]) / 2e-5;
                assert!((slope - hessian[(i, j)]).abs() < 1e-6 * (1.0 + slope.abs()));
            }
        }
    }
}

/// p_b(b) = p(Tb)|det T|, with gradients Tᵀ∇log p.
#[test]
fn standard_coordinates_hold_the_same_density() {
    for model in models().into_iter().filter(|m| m.likelihood().predictors() == 1) {
        let d = model.dim();
        let standard = model.standardized().unwrap().unwrap();
        assert!(standard.target().standardized().unwrap().is_none());
        for z in points(d) {
            let b = standard.map().to_standard(&z);
            let (mut own, mut moved) = (vec![0.0; d], vec![0.0; d]);
            let value = model.log_density(&z, &mut own).unwrap() + standard.map().log_det();
            let found = standard.target().log_density(&b, &mut moved).unwrap();
            assert!((value - found).abs() < 1e-10 * (1.0 + value.abs()), "{value} {found}");
            for (a, b) in standard.map().pull(&own).iter().zip(&moved) {
                assert!((a - b).abs() < 1e-9 * (1.0 + a.abs()));
            }
        }
    }
}

#[test]
fn rows_alone_add_up_to_the_whole() {
    for model in models().into_iter().chain(models().into_iter().map(weighted)) {
        let d = model.dim();
        let z = &points(d)[1];
        let each = model.log_likelihoods(&Matrix::new(1, d, z.clone()).unwrap()).unwrap();
        let own = model.coefficients();
        let mut value = each.entries().iter().sum::<f64>();
        for z in z[..own].chunks_exact(3) {
            value -= model.prior.energy(z, &mut [0.0; 3]) + model.prior.constant(3).0;
        }
        value += model.likelihood.log_prior(&z[own..], &mut vec![0.0; d - own]);
        let whole = model.log_density(z, &mut vec![0.0; d]).unwrap();
        assert!((whole - value).abs() < 1e-11 * (1.0 + whole.abs()), "{whole} {value}");
    }
}

/// Means and variances of 60 000 draws against those of the law, at five standard errors of a mean; twins with other parameters are rejected.
#[test]
fn drawn_responses_have_the_law_of_the_likelihood() {
    const ROWS: usize = 60_000;
    let design = Design::dense(ROWS, 1, &vec![1.0; ROWS]).unwrap();
    let trials = vec![12.0; ROWS];
    let new = NewRows { design: &design, offsets: None, trials: Some(&trials) };
    let draw = |likelihood, point: &[f64]| {
        let point = Matrix::new(1, point.len(), point.to_vec()).unwrap();
        new.responses(likelihood, &point, 0, Seed(4)).unwrap().entries().to_vec()
    };
    let moments = |values: &[f64]| {
        let mean = values.iter().sum::<f64>() / ROWS as f64;
        [mean, values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / ROWS as f64]
    };
    let agree = |values: &[f64], mean: f64, variance: f64| {
        let [found, spread] = moments(values);
        let fourth = values.iter().map(|x| (x - found).powi(4)).sum::<f64>() / ROWS as f64;
        let root = (ROWS as f64).sqrt();
        (found - mean).abs() < 5.0 * spread.sqrt() / root
            && (spread - variance).abs() < 5.0 * (fourth - spread * spread).sqrt() / root
    };
    let student = Likelihood::Student { sd: None, degrees: None, scale: 1.0 };
    let drawn = draw(student, &[0.7, 0.4, 9f64.ln()]);
    let variance = 0.8f64.exp() * 10.0 / 8.0;
    assert!(agree(&drawn, 0.7, variance) && !agree(&drawn, 0.7, 0.8f64.exp()));
    let (p, rho) = (1.0 / (1.0 + (-0.4f64).exp()), 1.0 / (1.0 + 1.5f64.exp()));
    let drawn = draw(Likelihood::BetaBinomial, &[0.4, -1.5]);
    let binomial = 12.0 * p * (1.0 - p);
    assert!(agree(&drawn, 12.0 * p, binomial * (1.0 + 11.0 * rho)) && !agree(&drawn, 12.0 * p, binomial));
    // Nearly all or nothing: gamma numbers of so small a shape underflow, their logarithms do not.
    let drawn = draw(Likelihood::BetaBinomial, &[0.4, 5.6]);
    assert!(agree(&drawn, 12.0 * p, binomial * (1.0 + 11.0 / (1.0 + (-5.6f64).exp()))));
    let (pi, rate) = (1.0 / (1.0 + 0.5f64.exp()), 1.1f64.exp());
    let drawn = draw(Likelihood::ZeroInflatedPoisson, &[1.1, -0.5]);
    let mean = (1.0 - pi) * rate;
    assert!(agree(&drawn, mean, mean * (1.0 + pi * rate)) && !agree(&drawn, mean, mean));
    let drawn = draw(Likelihood::Multinomial { levels: 3 }, &[0.5, -0.8]);
    let weights = [1.0, 0.5f64.exp(), (-0.8f64).exp()];
    for (k, weight) in weights.iter().enumerate() {
        let p = weight / weights.iter().sum::<f64>();
        let of_level: Vec<f64> =
            drawn.iter().map(|y| f64::from(u8::from((y - (k as f64 + 1.0)).abs() < 0.5))).collect();
        assert!(agree(&of_level, p, p * (1.0 - p)) && !agree(&of_level, p + 0.02, p * (1.0 - p)));
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let make = |likelihood, response: &[f64], trials: Option<&[f64]>| {
        Regression::new(likelihood, design(), response, trials, prior()).map(drop).unwrap_err().to_string()
    };
    let with = |y: f64| [[1.0; 7].as_slice(), &[y]].concat();
    assert!(make(Likelihood::ZeroInflatedPoisson, &with(1.5), None).contains("a whole number of at least 0"));
    assert!(make(Likelihood::ZeroInflatedPoisson, &[0.0; 8], None).contains("above 0 in any row"));
    assert!(make(Likelihood::BetaBinomial, &with(3.0), Some(&[2.0; 8])).contains("among the trials"));
    assert!(make(Likelihood::BetaBinomial, &with(1.0), None).contains("trials"));
    assert!(make(Likelihood::Multinomial { levels: 3 }, &with(4.0), None).contains("the number of a level"));
    assert!(make(Likelihood::Multinomial { levels: 1 }, &with(1.0), None).contains("at least 2"));
    let student = |sd, degrees| Likelihood::Student { sd, degrees, scale: 1.0 };
    assert!(make(student(None, None), &with(f64::NAN), None).contains("a finite number"));
    assert!(make(student(Some(-1.0), None), &with(1.0), None).contains("noise"));
    assert!(make(student(None, Some(0.0)), &with(1.0), None).contains("degrees"));
}

/// Far out the densities are their limits: binomial rows, rows whose trials are all alike, and noise that is far smaller than every residual.
#[test]
fn far_out_there_are_limits_and_no_nan() {
    let design = Design::dense(3, 1, &[1.0; 3]).unwrap();
    let at = |likelihood, response: &[f64], trials, z: &[f64]| {
        let model = Regression::new(likelihood, design.clone(), response, trials, Prior::scale(3.0).unwrap())
            .unwrap();
        let (mut gradient, mut other) = (vec![0.0; z.len()], vec![0.0; z.len()]);
        let value = model.log_density(z, &mut gradient).unwrap();
        assert!(value.is_finite() && gradient.iter().all(|x| x.is_finite()), "{z:?} {value} {gradient:?}");
        // The prior alone, of rows that count for nothing.
        let prior = model.with_weights(&[0.0; 3]).unwrap().log_density(z, &mut other).unwrap();
        value - prior
    };
    let (p, trials) = (1.0 / (1.0 + (-0.4f64).exp()), [3.0; 3]);
    let binomial = at(Likelihood::BetaBinomial, &[0.0, 3.0, 1.0], Some(&trials), &[0.4, -1e4]);
    let expected = 3.0 * (1.0 - p).ln() + 3.0 * p.ln() + 3f64.ln() + p.ln() + 2.0 * (1.0 - p).ln();
    assert!((binomial - expected).abs() < 1e-9, "{binomial} {expected}");
    let alike = at(Likelihood::BetaBinomial, &[0.0, 3.0, 3.0], Some(&trials), &[0.4, 1e4]);
    let expected = (1.0 - p).ln() + 2.0 * p.ln();
    assert!((alike - expected).abs() < 1e-9, "{alike} {expected}");
    at(Likelihood::BetaBinomial, &[0.0, 3.0, 3.0], Some(&trials), &[-300.0, 590.0]);
    let student = Likelihood::Student { sd: None, degrees: Some(1.0), scale: 1.0 };
    // Cauchy: log σ − log π − 2 log |y − η| each, as σ → 0.
    let narrow = at(student, &[1.0, 2.0, -3.0], None, &[0.5, -500.0]);
    let far: f64 = [0.5f64, 1.5, 3.5].iter().map(|x| 2.0 * x.ln()).sum();
    let expected = 3.0 * (-500.0 - std::f64::consts::PI.ln()) - far;
    assert!((narrow - expected).abs() < 1e-9, "{narrow} {expected}");
    for x in [-1e5, 1e5] {
        at(student, &[1.0, 2.0, -3.0], None, &[0.5, x]);
        at(
            Likelihood::Student { sd: None, degrees: None, scale: 1.0 },
            &[1.0, 2.0, -3.0],
            None,
            &[0.5, x, -x.min(30.0)],
        );
    }
}

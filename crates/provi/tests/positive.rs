//! Positive responses: the gamma and the exponential family against answers found without the library.

use crate::common::grid;
use provi::scales::{FreeScales, Integration, ScalePrior};
use provi::target::{Glm, Prior, Target};
use provi::{Auto, Design, Seed};

/// Waiting times of twelve visitors, in minutes, with a column of ones and a column of numbers.
const X: [f64; 12] = [-1.2, -0.7, -0.5, -0.1, 0.0, 0.2, 0.4, 0.8, 0.9, 1.3, 1.6, 2.1];
const Y: [f64; 12] = [0.4, 1.1, 0.7, 0.9, 2.2, 1.0, 1.9, 1.4, 4.1, 2.9, 3.3, 8.0];

fn model(noise_sd: f64, prior_sd: f64) -> Glm {
    let entries: Vec<f64> = X.iter().flat_map(|&x| [1.0, x]).collect();
    let design = Design::dense(12, 2, &entries).unwrap();
    Glm::gamma(design, &Y, noise_sd, Prior::scale(prior_sd).unwrap()).unwrap()
}

/// Fisher scoring for the log link: β ← β + (XᵀX)⁻¹Xᵀ(y/μ − 1), whatever the shape, as in the textbooks on generalised linear models.
fn maximum_likelihood() -> [f64; 2] {
    let mut beta = [0.0; 2];
    let sums = |f: &dyn Fn(usize) -> f64| -> f64 { (0..12).map(f).sum() };
    let (n, sx, sxx) = (12.0, sums(&|i| X[i]), sums(&|i| X[i] * X[i]));
    for _ in 0..300 {
        let pull = |i: usize| Y[i] / (beta[0] + beta[1] * X[i]).exp() - 1.0;
        let (a, b) = (sums(&pull), sums(&|i| X[i] * pull(i)));
        let det = n * sxx - sx * sx;
        beta = [beta[0] + (sxx * a - sx * b) / det, beta[1] + (n * b - sx * a) / det];
    }
    beta
}

/// log of the density of a gamma law with mean e^s and relative deviation σ, as the textbook writes it.
fn log_density(y: f64, s: f64, sigma: f64) -> f64 {
    let (shape, scale) = (sigma.powi(-2), s.exp() * sigma * sigma);
    (shape - 1.0) * y.ln() - y / scale - shape * scale.ln() - libm::lgamma(shape)
}

#[test]
fn the_gradient_vanishes_at_the_maximum_likelihood_and_the_density_is_the_textbook_s() {
    let beta = maximum_likelihood();
    for (noise_sd, prior_sd) in [(0.5, 1e6), (1.0, 1e6)] {
        let model = model(noise_sd, prior_sd);
        let mut gradient = [0.0; 2];
        let value = model.log_density(&beta, &mut gradient).unwrap();
        assert!(gradient.iter().all(|g| g.abs() < 1e-9), "{gradient:?}");
        let prior: f64 = beta
            .iter()
            .map(|b| -0.5 * (b / prior_sd).powi(2) - (prior_sd * (2.0 * std::f64::consts::PI).sqrt()).ln())
            .sum();
        let data: f64 = X.iter().zip(Y).map(|(x, y)| log_density(y, beta[0] + beta[1] * x, noise_sd)).sum();
        assert!((value - prior - data).abs() < 1e-9, "{value} {prior} {data}");
    }
    // The exponential family is the gamma one with shape 1.
    let entries: Vec<f64> = X.iter().flat_map(|&x| [1.0, x]).collect();
    let design = Design::dense(12, 2, &entries).unwrap();
    let exponential = Glm::exponential(design, &Y, Prior::scale(2.5).unwrap()).unwrap();
    let (mut a, mut b) = ([0.0; 2], [0.0; 2]);
    let at = [0.3, 0.9];
    let values =
        [exponential.log_density(&at, &mut a).unwrap(), model(1.0, 2.5).log_density(&at, &mut b).unwrap()];
    assert_eq!(values[0].to_bits(), values[1].to_bits());
    assert_eq!(a.map(f64::to_bits), b.map(f64::to_bits));
}

/// Evidence, means and deviations by a sum over a grid of both coefficients lie within what the certificate proves, and near the answer.
#[test]
fn certificates_cover_what_a_grid_finds() {
    for noise_sd in [0.4, 1.0, 2.0] {
        grid::assert_covered(&model(noise_sd, 2.0), 0.05);
    }
}

/// The noise of the largest ELBO is a maximum, and is the one that was found by a scan of models at given noises.
#[test]
fn the_noise_is_where_the_elbo_is_largest() {
    let start = model(1.0, 2.5);
    let found = FreeScales::noise(&start).maximise(&start).unwrap();
    let best = found.noise_sd.unwrap();
    let elbo = |noise_sd: f64| {
        let model = model(noise_sd, 2.5);
        let q = Auto::default().run(&model, Seed(0)).unwrap().fit.gaussian;
        -provi::expectation::neg_elbo(&model, &q).unwrap()
    };
    let top = elbo(best);
    assert!((top + found.neg_elbo).abs() < 1e-8, "{top} {}", found.neg_elbo);
    for factor in [0.5, 0.9, 0.99, 1.01, 1.1, 2.0] {
        assert!(elbo(factor * best) < top, "{factor}");
    }
    // Near the moment estimate of the deviation of y/μ.
    assert!((0.2..0.6).contains(&best), "{best}");
}

/// One coefficient and the noise: what is integrated over agrees with a sum over a grid of both, to what the estimated KL at each noise
/// leaves.
#[test]
fn the_noise_is_integrated_over_as_a_grid_does() {
    let design = || Design::dense(12, 1, &[1.0; 12]).unwrap();
    let prior = ScalePrior::HalfStudentT { degrees: 3.0, scale: 1.0 };
    let start = Glm::gamma(design(), &Y, 1.0, Prior::scale(2.5).unwrap()).unwrap();
    let found = FreeScales::noise(&start).integrate(&start, &Integration::new(vec![prior])).unwrap();
    let mut sums = [0.0f64; 4];
    for i in 0..1500 {
        let sigma = 0.2 * (1e-3 * 2.0 * f64::from(i)).exp();
        let model = Glm::gamma(design(), &Y, sigma, Prior::scale(2.5).unwrap()).unwrap();
        // half_t(3, 1), and dσ = σ d log σ.
        let law = 4.0 / (std::f64::consts::PI * 3f64.sqrt()) / (1.0 + sigma * sigma / 3.0).powi(2) * sigma;
        for j in -300..=500 {
            let z = 0.01 * f64::from(j);
            let p = law * model.log_density(&[z], &mut [0.0]).unwrap().exp() * 0.01 * 2e-3;
            [1.0, sigma, z, z * z].into_iter().zip(&mut sums).for_each(|(x, sum)| *sum += p * x);
        }
    }
    let [sigma, mean, square] = [1, 2, 3].map(|k| sums[k] / sums[0]);
    assert!((found.log_evidence - sums[0].ln()).abs() < 2e-3, "{} {}", found.log_evidence, sums[0].ln());
    let near = |a: f64, b: f64, share: f64| assert!((a - b).abs() < share * b.abs(), "{a} {b}");
    near(found.scale_mean(0).unwrap(), sigma, 2e-3);
    near(found.mean()[0], mean, 5e-3);
    // The best Gaussian at each noise is narrower than the posterior there.
    near(found.standard_deviations()[0], (square - mean * mean).sqrt(), 0.03);
}

#[test]
fn responses_that_are_not_positive_are_named() {
    let design = Design::dense(2, 1, &[1.0, 1.0]).unwrap();
    let refusal = Glm::exponential(design, &[1.0, -3.0], Prior::scale(1.0).unwrap()).unwrap_err().to_string();
    assert_eq!(refusal, "response -3 at row 1 is not a number above 0 (family exponential)");
}

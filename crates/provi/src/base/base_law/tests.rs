use super::*;
use crate::base::draws::{Draws, Purpose, Seed};

fn laws() -> Vec<BaseLaw> {
    let t = [4.5, 6.0, 30.0, 49.9, 50.1, 1e6].map(|nu| BaseLaw::student_t(nu).unwrap());
    [BaseLaw::Gaussian, BaseLaw::Laplace, BaseLaw::Logistic, BaseLaw::Uniform].into_iter().chain(t).collect()
}

/// 2∫₀^edge φ(u)s(u)du for an even φ, by the double-exponential trapezoid rule, which is exact to rounding for densities that
/// are smooth on the open half line.
fn mean(law: BaseLaw, phi: impl Fn(f64) -> f64) -> f64 {
    let step = 1.0 / 256.0;
    let sum: f64 = (-1280..=1280)
        .map(|i| {
            let tau = f64::from(i) * step;
            let (grown, slope) = (0.5 * PI * tau.sinh(), 0.5 * PI * tau.cosh());
            // (0, ∞) by e^grown; a support that ends by a logistic map of the line.
            let (u, weight) = if law == BaseLaw::Uniform {
                let share = sigmoid(2.0 * grown);
                (3f64.sqrt() * share, 2.0 * slope * 3f64.sqrt() * share * sigmoid(-2.0 * grown))
            } else {
                (grown.exp(), slope * grown.exp())
            };
            let density = law.log_density(u).exp();
            if density > 0.0 { phi(u) * density * weight } else { 0.0 }
        })
        .sum();
    2.0 * step * sum
}

#[test]
fn densities_integrate_to_one_and_have_variance_one_and_their_kurtosis() {
    for law in laws() {
        let near = |value: f64, truth: f64, what: &str| {
            assert!((value - truth).abs() <= 1e-11 * truth.abs(), "{law}: {what} {value} {truth}");
        };
        near(mean(law, |_| 1.0), 1.0, "mass");
        near(mean(law, |u| u * u), 1.0, "variance");
        near(mean(law, |u| u.powi(4)), law.kurtosis(), "kurtosis");
        near(mean(law, |u| -law.log_density(u)), law.entropy(), "entropy");
        near(law.entropy_of(7), 7.0 * law.entropy(), "entropy of seven");
    }
}

#[test]
fn every_law_is_symmetric_and_its_distribution_is_the_integral_of_its_density() {
    for law in laws() {
        assert!((law.distribution(0.0) - 0.5).abs() < 1e-15);
        for k in 1..40 {
            let u = 0.04 * f64::from(k);
            assert!((law.log_density(u) - law.log_density(-u)).abs() < 1e-15);
            assert!((law.distribution(u) + law.distribution(-u) - 1.0).abs() < 1e-14);
            // Simpson's rule over a short step: its error is the step to the fifth power.
            let (h, density) = (0.01, |x: f64| law.log_density(x).exp());
            let simpson = h / 6.0 * (density(u) + 4.0 * density(u + 0.5 * h) + density(u + h));
            let grown = law.distribution(u + h) - law.distribution(u);
            assert!((grown - simpson).abs() < 1e-10, "{law} {u}: {grown} {simpson}");
        }
    }
}

/// A t with many degrees of freedom is nearly normal, and the two ways to compute its constants agree where they meet.
#[test]
fn the_constants_of_student_s_t_keep_their_digits() {
    for x in [FAR, 1.3 * FAR, 2.0 * FAR] {
        assert!((ln_gamma_ratio(x) - (ln_gamma(x + 0.5) - ln_gamma(x))).abs() < 1e-13);
        assert!((digamma_difference(x) - (digamma(x + 0.5) - digamma(x))).abs() < 1e-14);
    }
    let far = BaseLaw::student_t(1e14).unwrap();
    assert!((far.entropy() - BaseLaw::Gaussian.entropy()).abs() < 1e-13);
    assert!((far.log_density(1.3) - BaseLaw::Gaussian.log_density(1.3)).abs() < 1e-13);
    // ν = 6 by hand: density Γ(3.5)/(Γ(3)√(4π)) at 0, with Γ(3.5) = 15√π/8.
    let six = BaseLaw::student_t(6.0).unwrap();
    assert!((six.log_density(0.0) - (15.0f64 / 32.0).ln()).abs() < 1e-15);
}

fn draws(law: BaseLaw, count: u64) -> Vec<f64> {
    let stream = Draws::new(Seed(29), Purpose::Sample).of(law);
    let mut out = vec![0.0; 5];
    (0..count / 5)
        .flat_map(|step| {
            stream.fill(step, 3, &mut out);
            out.clone()
        })
        .collect()
}

/// √n·sup|F_n − F|.
fn kolmogorov(law: BaseLaw, mut sample: Vec<f64>) -> f64 {
    sample.sort_by(f64::total_cmp);
    let n = sample.len() as f64;
    let distance = sample.iter().enumerate().map(|(i, &u)| {
        let f = law.distribution(u);
        (f - i as f64 / n).abs().max((f - (i + 1) as f64 / n).abs())
    });
    n.sqrt() * distance.fold(0.0, f64::max)
}

/// Level: P(√n·sup|F_n − F| > x) ≤ 2e^{−2x²} for every n (Massart), which is 2e-9 at x = 3.22; ten laws, 2e-8. The correlations
/// of neighbours and of their squares are within six standard errors but for 4e-9 each. The twins have a variance of 1.21.
#[test]
fn draws_have_their_law_and_neighbours_are_uncorrelated() {
    for law in laws() {
        let sample = draws(law, 100_000);
        let distance = kolmogorov(law, sample.clone());
        assert!(distance < 3.22, "{law}: {distance}");
        let wide: Vec<f64> = sample.iter().map(|u| 1.1 * u).collect();
        assert!(kolmogorov(law, wide) > 3.22, "{law}: a variance of 1.21 is not seen");
        let n = sample.len() as f64;
        let product = |f: fn(f64) -> f64| sample.windows(2).map(|w| f(w[0]) * f(w[1])).sum::<f64>() / n;
        assert!(product(|u| u).abs() < 6.0 / n.sqrt(), "{law}");
        // A bounded function of the size, centred by the sample.
        let size = |u: f64| f64::from(u.abs() > 0.7);
        let p = sample.iter().map(|&u| size(u)).sum::<f64>() / n;
        let pair = sample.windows(2).map(|w| (size(w[0]) - p) * (size(w[1]) - p)).sum::<f64>() / n;
        assert!(pair.abs() < 6.0 * p * (1.0 - p) / n.sqrt(), "{law}");
    }
}

#[test]
#[allow(clippy::float_cmp)] // the same bits are the claim
fn the_draws_of_the_normal_law_are_those_of_before_and_prefixes_agree() {
    for law in laws() {
        let stream = Draws::new(Seed(3), Purpose::Optimise).of(law);
        let (mut short, mut long) = ([0.0; 3], [0.0; 11]);
        stream.fill(8, 1, &mut short);
        stream.fill(8, 1, &mut long);
        assert_eq!(short, long[..3]);
    }
    let (mut own, mut plain) = ([0.0; 6], [0.0; 6]);
    Draws::new(Seed(3), Purpose::Audit).of(BaseLaw::Gaussian).fill(2, 0, &mut own);
    Draws::new(Seed(3), Purpose::Audit).fill(2, 0, &mut plain);
    assert_eq!(own, plain);
}

#[test]
fn names_round_trip_and_others_are_refused() {
    for law in laws() {
        assert_eq!(law.to_string().parse::<BaseLaw>().unwrap(), law);
    }
    for wrong in ["normal", "student-t", "student-t:4", "student-t:x", "student-t:inf", "student-t:NaN", ""] {
        assert!(wrong.parse::<BaseLaw>().is_err(), "{wrong}");
    }
}

#[test]
fn no_point_outside_its_support_has_a_density() {
    let uniform = BaseLaw::Uniform;
    assert!(uniform.log_density(1.74).is_infinite() && uniform.log_density(-1.8).is_infinite());
    assert!((uniform.distribution(5.0) - 1.0).abs() < 1e-15 && uniform.distribution(-5.0).abs() < 1e-15);
    assert!(draws(uniform, 10_000).iter().all(|&u| uniform.log_density(u).is_finite()));
    for law in laws() {
        assert!(law.log_density(f64::NAN).is_nan());
        assert!(law.log_density(f64::INFINITY) == f64::NEG_INFINITY, "{law}");
    }
}

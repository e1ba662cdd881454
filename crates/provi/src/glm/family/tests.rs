use super::*;

const ALL: [Family; 11] = [
    Family::Gaussian { noise_sd: 0.7 },
    Family::Bernoulli,
    Family::Probit,
    Family::Cloglog,
    Family::Poisson,
    Family::Gamma { noise_sd: 0.6 },
    Family::Exponential,
    Family::Weibull { noise_sd: 0.6, unit: 1.3, coarse: false },
    Family::Weibull { noise_sd: 0.6, unit: 1.3, coarse: true },
    Family::NegativeBinomial { noise_sd: 0.7 },
    Family::Ordered { gaps: Gaps::SOME },
];

#[test]
fn derivatives_match_differences_and_the_curvature_range() {
    for family in ALL {
        // With intervals, −1 is an event, 3.5 and −5 are intervals; of ordered categories, −1.5 fills a gap of that width.
        let responses: &[f64] = match family {
            _ if family.is_coarse() => &[-1.0, 0.0, 1.0, 3.5, -5.0],
            Family::Ordered { .. } => &[0.0, 1.0, -1.5, -0.01],
            _ => &[0.0, 1.0],
        };
        for &y in responses {
            for i in -40..=40 {
                let s = 0.2 * f64::from(i);
                let h = 1e-5;
                let at = |s| family.derivatives(s, y);
                assert_eq!(at(s)[2].to_bits(), family.second_derivative(s, y).to_bits(), "{family:?} {s}");
                let scale = 1.0 + at(s)[1].abs() + at(s)[2].abs();
                assert!(((at(s + h)[0] - at(s - h)[0]) / (2.0 * h) - at(s)[1]).abs() < 1e-8 * scale);
                assert!(((at(s + h)[1] - at(s - h)[1]) / (2.0 * h) - at(s)[2]).abs() < 1e-8 * scale);
                let (low, high) = family.curvature_range();
                assert!(at(s)[2] >= low - 1e-15);
                assert!(high.is_none_or(|high| at(s)[2] <= high + 1e-15));
            }
        }
    }
}

#[test]
fn the_likelihood_is_a_probability() {
    for s in [-3.0, 0.4, 9.0] {
        for family in [Family::Bernoulli, Family::Probit, Family::Cloglog] {
            let total: f64 = [0.0, 1.0].iter().map(|&y| (-family.derivatives(s, y)[0]).exp()).sum();
            assert!((total - 1.0).abs() < 1e-14);
        }
    }
    let poisson: f64 = (0..60)
        .map(|y| {
            (-Family::Poisson.derivatives(1.3, f64::from(y))[0] - Family::Poisson.constant(f64::from(y)))
                .exp()
        })
        .sum();
    assert!((poisson - 1.0).abs() < 1e-12);
    let gaussian = Family::Gaussian { noise_sd: 0.7 };
    let integral: f64 = (-2000..2000)
        .map(|i| 0.01 * (-gaussian.derivatives(0.3, 0.01 * f64::from(i))[0] - gaussian.constant(0.0)).exp())
        .sum();
    assert!((integral - 1.0).abs() < 1e-10);
    for family in [Family::Gamma { noise_sd: 0.6 }, Family::Gamma { noise_sd: 1.7 }, Family::Exponential] {
        // In the logarithm of y, where the density is smooth; its mean is eˢ and its deviation σeˢ.
        let s = 0.4f64;
        let sum = |power: i32| -> f64 {
            let at = |i: i32| {
                let y = (1e-3 * f64::from(i)).exp();
                1e-3 * y.powi(power + 1) * (-family.derivatives(s, y)[0] - family.constant(y)).exp()
            };
            (-120_000..8_000).map(at).sum()
        };
        let (mean, sigma) = (sum(1), family.noise_sd().unwrap_or(1.0));
        assert!((sum(0) - 1.0).abs() < 1e-9, "{family:?} {}", sum(0));
        assert!((mean - s.exp()).abs() < 1e-9);
        assert!(((sum(2) - mean * mean).sqrt() / mean - sigma).abs() < 1e-8);
    }
}

/// −log p changes with log σ as claimed; [`crate::glm::rows::Rows`] has the same test for the families that it codes anew.
#[test]
fn the_slope_in_the_noise_is_that_of_the_density() {
    for (family, y) in [(Family::Gaussian { noise_sd: 0.7 }, -0.4), (Family::Gamma { noise_sd: 0.6 }, 2.3)] {
        let (s, sigma) = (0.9, family.noise_sd().unwrap());
        let value = |log: f64| {
            let other = family.with_noise_sd(sigma * log.exp()).unwrap();
            other.derivatives(s, y)[0] + other.constant(y)
        };
        let slope = (value(1e-5) - value(-1e-5)) / 2e-5;
        let claimed = family.noise_slope(y, s, 0.0, crate::glm::rows::Lever::default());
        assert!((slope - claimed).abs() < 1e-8, "{family:?}: {slope} {claimed}");
    }
    assert!(Family::Poisson.with_noise_sd(1.0).is_none() && Family::Exponential.noise_sd().is_none());
}

/// The constant of a count with gamma rates does not lose its digits where it is nearly a Poisson count.
#[test]
fn counts_with_gamma_rates_are_poisson_counts_where_the_rates_are_alike() {
    for y in [0.0, 1.0, 7.0, 250.0] {
        for s in [-2.0, 0.5, 4.0f64] {
            let at = |noise_sd: f64| {
                let family = Family::NegativeBinomial { noise_sd };
                let r = 1.0 / (noise_sd * noise_sd);
                (y + r) * family.derivatives(s - r.ln(), y / (y + r))[0] + family.constant(y)
            };
            let plain = Family::Poisson.derivatives(s, y)[0] + Family::Poisson.constant(y);
            // −log p differs by ½σ²(y − (y − eˢ)²) + O(σ⁴).
            let first = 0.5 * (y - (y - s.exp()).powi(2));
            for noise_sd in [1e-2f64, 1e-3] {
                let bound = noise_sd.powi(4) * (y + s.exp()).powi(3) + 1e-9 * (1.0 + plain.abs());
                let off = at(noise_sd) - plain - first * noise_sd * noise_sd;
                assert!(off.abs() < bound, "{y} {s} {noise_sd}: {off}");
            }
            let sum: f64 = (0..4000)
                .map(|k| {
                    let (y, r) = (f64::from(k), 2.0);
                    let family = Family::NegativeBinomial { noise_sd: 0.5f64.sqrt() };
                    (-(y + r) * family.derivatives(0.7 - f64::ln(r), y / (y + r))[0] - family.constant(y))
                        .exp()
                })
                .sum();
            assert!((sum - 1.0).abs() < 1e-11, "{sum}");
        }
    }
}

#[test]
fn blocks_agree_with_single_terms() {
    let weights = [1.0, 2.0, 0.5];
    let predictors = [0.3, -2.0, 5.0, 0.0, -0.7, 1.1];
    for family in ALL {
        let response = if family.gaps().is_some() { [1.0, 0.0, -1.5] } else { [1.0, 0.0, 1.0] };
        let (mut slopes, mut energies) = (predictors, [0.0; 2]);
        let mut room = [0.0; 2 * loss::SPARE];
        let mut slots = Slots::new(2, &mut room);
        family.energies_and_slopes(false, &response, &weights, &mut slopes, &mut slots);
        slots.finish(&mut energies);
        for k in 0..2 {
            let mut energy = 0.0;
            for n in 0..3 {
                let [value, slope, _] = family.derivatives(predictors[2 * n + k], response[n]);
                energy += weights[n] * value;
                assert!((slopes[2 * n + k] - weights[n] * slope).abs() < 1e-13);
            }
            assert!((energies[k] - energy).abs() < 1e-13);
        }
    }
}

#[test]
fn wrong_responses_are_named() {
    let message = |f: Family, y: &[f64]| f.checked_response(y).unwrap_err().to_string();
    assert_eq!(
        message(Family::Bernoulli, &[0.0, 2.0]),
        "response 2 at row 1 is not 0 or 1 (−1 or 1) (family bernoulli)"
    );
    assert!(message(Family::Poisson, &[1.5]).contains("whole number"));
    let huge = message(Family::Poisson, &[3.0, 1e16]);
    assert!(huge.contains("response 10000000000000000 at row 1 is not a count up to 9e15"), "{huge}");
    assert!(huge.contains("model the logarithms") && Family::Poisson.checked_response(&[9e15]).is_ok());
    assert!(message(Family::Probit, &[-1.0, 0.0]).contains("−1 or 1"));
    assert!(message(Family::Gaussian { noise_sd: 1.0 }, &[f64::INFINITY]).contains("finite"));
    assert!(message(Family::Gaussian { noise_sd: 0.0 }, &[1.0]).contains("noise sd"));
    assert!(message(Family::Gamma { noise_sd: 0.0 }, &[1.0]).contains("noise sd"));
    for family in [Family::Gamma { noise_sd: 1.0 }, Family::Exponential] {
        let refusal = message(family, &[2.0, 0.0]);
        assert!(refusal.contains("response 0 at row 1 is not a number above 0"), "{refusal}");
    }
    let weibull = Family::Weibull { noise_sd: 1.0, unit: 2.0, coarse: false };
    assert!(
        message(weibull, &[2.0, 0.0]).contains("response 0 at row 1 is not a time above 0; drop the row")
    );
    assert!(
        message(Family::Weibull { noise_sd: 1.0, unit: 0.0, coarse: false }, &[1.0]).contains("unit of time")
    );
    assert!(message(Family::NegativeBinomial { noise_sd: 0.5 }, &[1.5]).contains("whole number"));
    assert!(message(Family::NegativeBinomial { noise_sd: 0.0 }, &[1.0]).contains("noise sd"));
    assert_eq!(Family::Bernoulli.checked_response(&[-1.0, 1.0]).unwrap(), [0.0, 1.0]);
}

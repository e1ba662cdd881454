//! No input makes the automatic path, the audit or the estimates panic: wild data, wild answers, wild options.

use proptest::collection::vec;
use proptest::prelude::*;
use provi::estimate::{estimate, psis, resample};
use provi::target::{Closure, Declared, Evaluator, Family, Glm, Prior};
use provi::watchdog::check_gradient;
use provi::{Audit, Auto, Curvature, Design, Gaussian, Quadratic, Seed, Triangular};

fn wild() -> impl Strategy<Value = f64> {
    prop_oneof![
        6 => -3.0..3.0f64,
        2 => (-300.0..300.0f64).prop_map(|x| 10f64.powf(x)),
        1 => (-300.0..300.0f64).prop_map(|x| -(10f64.powf(x))),
        1 => prop::sample::select(vec![f64::NAN, f64::INFINITY, 0.0, -0.0, f64::MAX, 5e-324, 1e154]),
    ]
}

fn family() -> impl Strategy<Value = Family> {
    prop_oneof![
        Just(Family::Bernoulli),
        Just(Family::Probit),
        Just(Family::Poisson),
        (0.01..10.0f64).prop_map(|noise_sd| Family::Gaussian { noise_sd }),
    ]
}

/// A claim is a bound, or says why there is none.
fn is_honest(certificate: &provi::Certificate) -> bool {
    [&certificate.gap, &certificate.kl, &certificate.tv]
        .into_iter()
        .all(|s| s.bound().is_none_or(|b| b >= 0.0) && (s.bound().is_some() || s.reason().is_some()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_model_is_fitted_and_certified_or_refused(
        family in family(), entries in vec(wild(), 12), labels in vec(0..2u8, 6), precision in wild(), seed in any::<u64>()
    ) {
        let y: Vec<f64> = labels.iter().map(|&x| f64::from(x)).collect();
        let model = Design::dense(6, 2, &entries)
            .and_then(|design| Glm::new(family, design, &y, Prior::precision(precision)?));
        if let Ok(model) = model {
            let audit = Audit { draws: 200, ..Audit::default() };
            if let Ok(answer) = (Auto { audit, ..Auto::default() }).run(&model, Seed(seed)) {
                prop_assert!(is_honest(answer.certificate()), "{}", answer.certificate());
                let _ = answer.audited.functional(&entries[..2]);
                let _ = (answer.fit.to_string(), answer.certificate().to_string());
            }
        }
    }

    #[test]
    fn any_gaussian_is_audited_or_refused(
        family in family(), entries in vec(-2.0..2.0f64, 12), labels in vec(0..2u8, 6), mean in vec(wild(), 2),
        factor in vec(wild(), 3), delta in wild(), draws in 0..300u64, look in 0..5u32
    ) {
        let y: Vec<f64> = labels.iter().map(|&x| f64::from(x)).collect();
        let model = Glm::new(family, Design::dense(6, 2, &entries).unwrap(), &y, Prior::scale(2.5).unwrap()).unwrap();
        if let Ok(q) = Gaussian::<Triangular>::new(&mean, &factor) {
            let audit = Audit { failure_probability: delta, draws, look, ..Audit::default() };
            if let Ok(audited) = audit.run(&model, &q, Seed(1)) {
                prop_assert!(is_honest(audited.certificate()), "{}", audited.certificate());
            }
            let _ = estimate(Evaluator::Serial(&model), &q, Seed(1), draws as usize);
        }
    }

    #[test]
    fn any_black_box_finishes_or_is_refused(
        a in wild(), b in wild(), c in wild(), lower in wild(), upper in wild(), start in wild(), budget in 0..600u64
    ) {
        let target = Closure::new(1, move |z: &[f64], g: &mut [f64]| {
            g[0] = -a * z[0] + b * z[0].cos();
            -0.5 * a * z[0] * z[0] + b * z[0].sin() + c
        }).unwrap();
        let _ = check_gradient(&target, &[start], Seed(0));
        let auto = Auto { evaluations: Some(budget), start: Some(vec![start]), accuracy: Some(0.1), ..Auto::default() };
        let _ = auto.run(&target, Seed(0));
        let curvature = Curvature::declared(1, Quadratic::Scalar(lower), Some(Quadratic::Scalar(upper)));
        if let Ok(curvature) = curvature {
            let declared = Declared::new(target).with_curvature(curvature).unwrap();
            if let Ok(answer) = auto.run(&declared, Seed(0)) {
                prop_assert!(is_honest(answer.certificate()), "{}", answer.certificate());
            }
        }
    }

    #[test]
    fn any_ratios_are_smoothed_or_refused(mut ratios in vec(wild(), 0..60), count in 0..50usize) {
        let _ = resample(&ratios, count, Seed(3));
        let _ = psis(&mut ratios);
    }
}

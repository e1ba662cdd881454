use super::*;
use crate::auto::solve::Solver;
use crate::base::stop::Polls;
use crate::glm::design::Design;

/// A logistic model with one slope and four groups of five.
fn grouped() -> (Glm, FreeScales) {
    let mut noise = [0.0; 20];
    provi_kernels::normals(3, 1, 4, &mut noise);
    let mut triplets = Vec::new();
    for n in 0..20 {
        triplets.extend([(n, 0, noise[n]), (n, 1 + n / 5, 1.0)]);
    }
    let y: Vec<f64> = (0..20).map(|n| f64::from(u8::from(n % 5 <= n / 5))).collect();
    let prior = Prior::scale(1.0).unwrap().with_mean(&[0.0, 0.1, 0.1, 0.1, 0.1]).unwrap();
    let model = Glm::logistic(Design::triplets(20, 5, &triplets).unwrap(), &y, prior).unwrap();
    (model, FreeScales { shared: vec![((1..5).collect(), 1.0)], ..FreeScales::default() })
}

#[test]
fn the_gradient_is_that_of_the_profile() {
    let (model, free) = grouped();
    let start = [0.3f64];
    let profile = Profile::new(&free, &model, None, &start);
    let mut gradient = [0.0];
    let mut at = |x: f64| (profile.log_density(&[x], &mut gradient).unwrap(), gradient[0]);
    let ((up, _), (down, _), (_, slope)) = (at(0.301), at(0.299), at(0.3));
    assert!(((up - down) / 0.002 - slope).abs() < 1e-5, "{} {slope}", (up - down) / 0.002);
}

#[test]
fn no_other_scale_has_a_larger_elbo() {
    let (model, free) = grouped();
    let found = free.maximise(&model).unwrap();
    let tau = found.shared[0];
    let elbo = |tau: f64| {
        let prior = model.prior().with_scale(5, &[1, 2, 3, 4], tau).unwrap();
        -Solver::default().run(&model.clone().with_prior(prior).unwrap()).unwrap().neg_elbo
    };
    assert!((elbo(tau) + found.neg_elbo).abs() < 1e-8);
    for factor in [0.5, 0.9, 0.99, 1.01, 1.1, 2.0] {
        assert!(elbo(tau * factor) < elbo(tau), "{factor}");
    }
    assert!(!found.vanishing[0] && tau > 0.3 && tau < 3.0, "{tau}");
}

#[test]
fn a_search_that_is_stopped_has_the_best_scales_so_far() {
    let (model, free) = grouped();
    let whole = free.maximise(&model).unwrap();
    assert!(!whole.stopped_early);
    // With patience for the first solution and no more.
    let asked = crate::base::stop::Stop::default();
    asked.ask();
    let patient = crate::base::stop::Signal::on(&asked).with_patience(std::time::Duration::MAX);
    let cut = patient.cover(|| free.maximise(&model)).unwrap();
    assert!(cut.stopped_early && cut.evaluations == 1, "{cut:?}");
    assert!((cut.shared[0] - 1.0).abs() < 1e-12 && cut.neg_elbo >= whole.neg_elbo);
    let there = Solver::default().run(&cut.model).unwrap();
    assert!((there.neg_elbo - cut.neg_elbo).abs() < 1e-9, "the Gaussian is that of these scales");
    // Cut off before the first solution: the first guesses, with an approximate mode.
    for cut in 1..4 {
        let begun = Polls::new("the search", cut).signal().cover(|| free.maximise(&model)).unwrap();
        assert!(begun.stopped_early && begun.evaluations == 0, "{cut}: {begun:?}");
        assert!((begun.shared[0] - 1.0).abs() < 1e-12 && !begun.vanishing[0]);
        let (mut at, mut away) = ([0.0; 5], [0.0; 5]);
        let there = begun.model.log_density(begun.gaussian.mean(), &mut at).unwrap();
        assert!(there > begun.model.log_density(&[0.0; 5], &mut away).unwrap(), "{cut}");
    }
    // Without any time there is no result to keep.
    let hasty = crate::base::stop::Signal::on(&asked).with_patience(std::time::Duration::ZERO);
    let nothing = hasty.cover(|| free.maximise(&model)).unwrap_err();
    assert!(matches!(nothing, Error::Stopped { .. }), "{nothing}");
    // A signal that nobody raises changes no bit.
    let watched = crate::base::stop::Signal::default().cover(|| free.maximise(&model)).unwrap();
    assert_eq!((watched.gaussian, watched.shared), (whole.gaussian, whole.shared));
}

#[test]
fn groups_that_do_not_differ_are_said_to_vanish() {
    let (model, free) = grouped();
    let y: Vec<f64> = (0..20).map(|n| f64::from(u8::from(n % 5 < 2))).collect();
    let prior = model.prior().clone().with_mean(&[0.0; 5]).unwrap();
    let mut triplets: Vec<_> = (0..20).map(|n| (n, 1 + n / 5, 1.0)).collect();
    triplets.extend((0..20).map(|n| (n, 0, 1.0)));
    let model = Glm::logistic(Design::triplets(20, 5, &triplets).unwrap(), &y, prior).unwrap();
    let found = free.maximise(&model).unwrap();
    assert!(found.vanishing[0] && found.shared[0] < 0.1, "{:?}", found.shared);
}

#[test]
fn a_small_scale_at_a_maximum_inside_does_not_vanish() {
    // One row per group, noise 1: the textbook's τ² is mean(y²) − 1, or 0 if that is negative. At τ² = 0.01 a
    // hundredth of the information comes from the data, and the maximum is still interior.
    let maximise = |square: f64| {
        let triplets: Vec<_> = (0..20).map(|n| (n, n, 1.0)).collect();
        let y: Vec<f64> = (0..20).map(|n| if n % 2 == 0 { square.sqrt() } else { -square.sqrt() }).collect();
        let design = Design::triplets(20, 20, &triplets).unwrap();
        let model = Glm::linear(design, &y, 1.0, Prior::scale(1.0).unwrap()).unwrap();
        let shared = vec![((0..20).collect(), 0.5)];
        FreeScales { shared, ..FreeScales::default() }.maximise(&model).unwrap()
    };
    let inside = maximise(1.01);
    assert!((inside.shared[0] - 0.1).abs() < 1e-3 && !inside.vanishing[0], "{:?}", inside.shared);
    let outside = maximise(0.99);
    assert!(outside.shared[0] < 0.05 && outside.vanishing[0], "{:?}", outside.shared);
}

#[test]
fn only_independent_coefficients_and_gaussian_noise_have_scales() {
    let (model, _) = grouped();
    let noise = FreeScales { noise_sd: Some(1.0), ..FreeScales::default() };
    assert_eq!(
        noise.maximise(&model).unwrap_err().to_string(),
        "family bernoulli has no noise deviation to choose"
    );
    let mut full = crate::base::matrix::Matrix::diagonal(&[1.0; 5]);
    (full[(1, 2)], full[(2, 1)]) = (0.5, 0.5);
    let tied = model.with_prior(Prior::precision_matrix(full).unwrap()).unwrap();
    let free = FreeScales { shared: vec![(vec![1], 1.0)], ..FreeScales::default() };
    assert!(free.maximise(&tied).unwrap_err().to_string().contains("coefficient 1"));
}

/// Two crossed groups, the second with slopes that are correlated with its intercepts.
fn crossed(family: crate::glm::Family) -> (Glm, FreeScales) {
    let (rows, a, b) = (240, 12, 8);
    let (mut x, mut noise) = (vec![0.0; rows], vec![0.0; rows]);
    provi_kernels::normals(5, 0, 0, &mut x);
    provi_kernels::normals(5, 1, 0, &mut noise);
    let (mut triplets, mut y) = (Vec::new(), Vec::new());
    for n in 0..rows {
        let (g, h) = (n % a, (n * 7 + n / 5) % b);
        triplets.extend([(n, 0, 1.0), (n, 1, x[n]), (n, 2 + g, 1.0)]);
        triplets.extend([(n, 2 + a + h, 1.0), (n, 2 + a + b + h, x[n])]);
        let slope = ((3 * h) % b) as f64 - 3.5;
        let effect = (g as f64 - 5.5) / 6.0 + (h as f64 - 3.5) / 4.0 + slope / 4.0 * x[n];
        y.push(match family {
            crate::glm::Family::Gaussian { .. } => effect + 0.7 * noise[n],
            _ => f64::from(u8::from(effect + noise[n] > 0.0)),
        });
    }
    let d = 2 + a + 2 * b;
    let design = Design::triplets(rows, d, &triplets).unwrap();
    let model = Glm::new(family, design, &y, Prior::scale(1.5).unwrap()).unwrap();
    let sets = [2..2 + a, 2 + a..2 + a + b, 2 + a + b..d];
    let shared = sets.into_iter().map(|set| (set.collect(), 1.0)).collect();
    let noise_sd = matches!(family, crate::glm::Family::Gaussian { .. }).then_some(1.0);
    (model, FreeScales { shared, noise_sd, correlated: vec![vec![1, 2]], ..FreeScales::default() })
}

#[test]
fn the_scales_of_a_sparse_model_are_those_of_the_dense_one() {
    use crate::glm::{Family, SparseGlm};
    for family in [Family::Gaussian { noise_sd: 1.0 }, Family::Bernoulli] {
        let (model, mut free) = crossed(family);
        let sparse = SparseGlm::within(model.clone(), usize::MAX).unwrap().unwrap();
        for eta in [[0.0, 0.0, 0.0, 0.3], [-0.5, 0.2, -1.0, -0.8]] {
            let eta: Vec<f64> = match free.noise_sd {
                Some(_) => [&eta[..3], &[-0.2], &eta[3..]].concat(),
                None => eta.to_vec(),
            };
            let [a, b] = [
                Profile::new(&free, &model, None, &eta).best_at(&eta).unwrap().1,
                Profile::new(&free, &sparse, None, &eta).best_at(&eta).unwrap().1,
            ];
            assert!((a - b).abs() < 1e-7, "{family:?}: {a} {b}");
        }
        let (a, b) = (free.maximise(&model).unwrap(), free.maximise(&sparse).unwrap());
        for (a, b) in a.shared.iter().chain(&a.noise_sd).zip(b.shared.iter().chain(&b.noise_sd)) {
            assert!((a / b - 1.0).abs() < 1e-3, "{family:?}: {a} {b}");
        }
        assert!((a.neg_elbo - b.neg_elbo).abs() < 1e-6, "{} {}", a.neg_elbo, b.neg_elbo);
        assert!(b.gaussian.as_sparse().is_some());
        // Without the correlation, one scale less: integrated over.
        free.correlated.clear();
        free.shared.pop();
        let prior = ScalePrior::HalfStudentT { degrees: 3.0, scale: 2.5 };
        let how = Integration { draws: 0, ..Integration::new(vec![prior; free.parameters()]) };
        let (a, b) = (free.integrate(&model, &how).unwrap(), free.integrate(&sparse, &how).unwrap());
        assert!((a.log_evidence - b.log_evidence).abs() < 1e-4, "{family:?}");
        let (sd, other) = (a.standard_deviations(), b.standard_deviations());
        for i in 0..model.dim() {
            assert!((a.mean()[i] - b.mean()[i]).abs() < 1e-3 * sd[i], "{family:?} {i}");
            assert!((sd[i] / other[i] - 1.0).abs() < 1e-3, "{family:?} {i}");
        }
        let [points, scales] = b.sample(3, crate::Seed(1));
        assert_eq!((points.columns(), scales.columns()), (model.dim(), free.parameters()));
        // At each node the gap and a lower bound of the evidence are proved, and nothing of the posterior.
        let audit = crate::Audit::default();
        let proofs = b.prove(&free, &sparse, &audit, crate::Seed(1)).unwrap();
        for (proof, node) in proofs.iter().zip(&b.nodes) {
            let found = &proof.certificate;
            assert_eq!(found.gap.key(), Some("sparse-optimum"));
            assert!(found.gap.bound().unwrap() < 1e-5 && found.kl.bound().is_none());
            assert!((found.evidence.lower().unwrap() - node.elbo).abs() < 1e-6);
        }
        let (certificate, posterior) = b.certificate(&model.names(), &proofs);
        assert!(posterior.is_none() && certificate.evidence.upper().is_none());
        assert!((certificate.evidence.lower().unwrap() - b.elbo()).abs() < 2e-3, "{certificate}");
    }
}

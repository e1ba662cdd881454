use super::*;
use crate::record::about::About;
use provi::target::GaussianTarget;

/// N((1, −2), [[2, 0.6], [0.6, 0.5]]) with log p(x) = −3.
fn target() -> GaussianTarget {
    let covariance = Matrix::new(2, 2, vec![2.0, 0.6, 0.6, 0.5]).unwrap();
    let inverse = Matrix::new(2, 2, vec![0.5 / 0.64, -0.6 / 0.64, -0.6 / 0.64, 2.0 / 0.64]).unwrap();
    let target = GaussianTarget::new(&[1.0, -2.0], inverse).unwrap();
    let found = target.optimum().unwrap().covariance();
    assert!(found.entries().iter().zip(covariance.entries()).all(|(a, b)| (a - b).abs() < 1e-12));
    // ∫ exp(−½zᵀΣ⁻¹z) dz = 2π·√det Σ.
    let target = target.constant(-3.0 - (2.0 * std::f64::consts::PI).ln() - 0.5 * 0.64f64.ln()).unwrap();
    assert!((target.log_evidence() + 3.0).abs() < 1e-12);
    target
}

fn located(law: &str, options: &RunOptions) -> Result<Located> {
    let target = target();
    let problem = Problem::black_box(Evaluator::Serial(&target), About::default());
    problem.locate(law.parse().unwrap(), options, &mut Watch::default())
}

/// For a Gaussian target f depends on m and CCᵀ alone, so that every law has its optimum at the target's moments, and
/// ELBO = log p(x) − d(½ log 2πe − H(s)).
#[test]
fn of_a_gaussian_target_every_law_finds_the_moments_and_its_own_elbo() {
    for law in ["student-t:6", "laplace", "logistic", "uniform"] {
        let found = located(law, &RunOptions { steps: Some(4000), ..RunOptions::default() }).unwrap();
        let file = &found.file;
        assert_eq!((file.base_law.as_str(), file.method.as_str()), (law, "prox-controlled"));
        for (i, (mean, sd)) in [(1.0, 2f64.sqrt()), (-2.0, 0.5f64.sqrt())].into_iter().enumerate() {
            assert!((file.mean[i] - mean).abs() < 0.02 * sd, "{law}: {:?}", file.mean);
            assert!((file.sd[i] / sd - 1.0).abs() < 0.02, "{law}: {:?}", file.sd);
        }
        let lost = 2.0 * (0.5 * (1.0 + (2.0 * std::f64::consts::PI).ln())) - found.q.law().entropy_of(2);
        let elbo = -3.0 - lost;
        // Four standard errors: a false alarm in 16,000 tries. The gap of the steps is below 0.001.
        let off = -file.neg_elbo - elbo;
        assert!(off.abs() < 4.0 * file.neg_elbo_error + 1e-3, "{law}: {} for {elbo}", -file.neg_elbo);
        // The entropy of the normal law would be rejected where the laws are far apart.
        let far = ["laplace", "uniform"].contains(&law);
        assert!(!far || lost > 4.0 * file.neg_elbo_error + 1e-3, "{law}");
        match law {
            "uniform" => assert!(file.estimates.reason.as_ref().is_some_and(|why| why.contains("box"))),
            _ => {
                let (evidence, error) =
                    (file.estimates.log_evidence.unwrap(), file.estimates.standard_error.unwrap());
                assert!((evidence + 3.0).abs() < 4.0 * error + 0.05, "{law}: {evidence} ± {error}");
            }
        }
        let text = crate::record::fit_file::to_json(file);
        let back = Located::of(serde_json::from_str(&text).unwrap()).unwrap();
        assert_eq!((&back.file, &back.q), (file, &found.q));
    }
}

/// The first coordinate is m_1 + C_11 u_1, whose law is the base law itself.
#[test]
fn intervals_are_those_of_the_law_and_not_of_a_gaussian() {
    let found = located("uniform", &RunOptions { steps: Some(50), ..RunOptions::default() }).unwrap();
    let rows = found.marginals(0.95).unwrap();
    let half = 0.95 * 3f64.sqrt() * rows[0].sd;
    // A quantile of 20,000 draws has an error of √(p(1−p)/n)·2√3 = 0.004 sd; five of them.
    for (end, side) in rows[0].interval.into_iter().zip([-1.0, 1.0]) {
        assert!((end - rows[0].mean - side * half).abs() < 0.02 * rows[0].sd, "{rows:?}");
        assert!((end - rows[0].mean - side * 1.96 * rows[0].sd).abs() > 0.2 * rows[0].sd, "{rows:?}");
    }
    assert!(found.marginals(1.5).is_err());
    assert!(found.marginals(0.999_999_9).unwrap_err().to_string().contains("quantiles come from draws"));
}

#[test]
fn what_has_no_meaning_for_such_a_q_is_refused() {
    let refused = |options: RunOptions| located("laplace", &options).unwrap_err().to_string();
    let by = |name: &str| RunOptions { method: Some(name.parse().unwrap()), ..RunOptions::default() };
    assert!(refused(by("auto")).contains("prox-controlled"));
    assert!(refused(by("proj-stl")).contains("laplace"));
    let audit = crate::options::AuditOptions { accuracy: Some(0.1), ..Default::default() };
    assert!(refused(RunOptions { audit, ..RunOptions::default() }).contains("certified"));
    let mut file = located("laplace", &RunOptions { steps: Some(5), ..RunOptions::default() }).unwrap().file;
    file.factor[1].pop();
    assert!(Located::of(file.clone()).is_err());
    file.schema = "provi-fit/1".to_owned();
    assert!(Located::of(file).unwrap_err().to_string().contains("provi-fit/1"));
}

/// E exp(s) is infinite under a Student's t: for counts no member of its family has a finite ELBO.
#[test]
fn tails_that_make_the_kl_infinite_are_refused() {
    let design = provi::Design::dense(4, 1, &[1.0, 0.5, -0.3, 0.2]).unwrap();
    let prior = provi::target::Prior::scale(1.0).unwrap();
    let model = provi::target::Glm::poisson(design, &[1.0, 0.0, 2.0, 1.0], prior).unwrap();
    let located = |law: &str, options: &RunOptions| {
        Problem::matrices(&model, About::default()).locate(
            law.parse().unwrap(),
            options,
            &mut Watch::default(),
        )
    };
    let some = RunOptions { steps: Some(50), ..RunOptions::default() };
    for law in ["student-t:30", "laplace", "logistic"] {
        assert!(located(law, &some).unwrap_err().to_string().contains("may be infinite"), "{law}");
    }
    let found = located("uniform", &some).unwrap();
    assert!(found.file.method.contains("unproven") && found.file.model.warnings.is_empty());
    let promised = RunOptions { distance: Some(0.1), ..RunOptions::default() };
    assert!(located("uniform", &promised).unwrap_err().to_string().contains("no distance"));
    let named = RunOptions { method: Some("prox-energy".parse().unwrap()), ..some };
    assert!(located("uniform", &named).unwrap_err().to_string().contains("no method has a theorem"));
}

/// A promise is about the best member of the family of the law.
#[test]
fn a_distance_is_promised_where_the_curvature_is_known() {
    let found = located("student-t:6", &RunOptions { distance: Some(0.1), ..RunOptions::default() }).unwrap();
    let bound = found.file.plan_bound.value.unwrap();
    assert!(bound <= 0.1 && found.file.plan_bound.key.is_some());
    let c = found.q.factor();
    let star = [2f64.sqrt(), 0.6 / 2f64.sqrt(), (0.5f64 - 0.18).sqrt()];
    let off: f64 = c.iter().zip(star).map(|(a, b)| (a - b) * (a - b)).sum();
    let off = off + (found.file.mean[0] - 1.0).powi(2) + (found.file.mean[1] + 2.0).powi(2);
    // One run of an expectation that is far below its bound.
    assert!(off < 0.1, "{off}");
}

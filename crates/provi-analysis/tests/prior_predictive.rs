//! What the prior expects: against laws that are known, and the warnings.

use std::ops::ControlFlow;

use provi::Seed;
use provi_analysis::Analysis;
use provi_analysis::model::Data;
use provi_analysis::options::ModelOptions;
use provi_analysis::run::calibrate::CalibrateAsked;
use provi_analysis::run::prior_predictive::{PriorAsked, PriorPredictive, ResponseKind};

/// Forty rows: a number y around 50, a label b, a count c, successes k of n, a time t with its event e, a number x from 0 to 1.
fn data() -> Data {
    let row = |n: u32| {
        let x = f64::from(n) / 39.0;
        let (y, t) = (50.0 + 4.0 * x + f64::from(n % 7), 1.0 + f64::from(n % 5));
        format!(
            "{y},{},{},{},{},{t},{},{x}\n",
            n % 2,
            n % 4,
            n % 3,
            3 + n % 2,
            u32::from(!n.is_multiple_of(3))
        )
    };
    let rows: String = (0..40).map(row).collect();
    Data::new(format!("y,b,c,k,n,t,e,x\n{rows}").into_bytes(), "t.csv".to_owned())
}

fn options(family: &str, priors: &[&str]) -> ModelOptions {
    let prior = priors.iter().map(|prior| prior.parse().unwrap()).collect();
    ModelOptions { family: family.parse().ok(), prior, ..ModelOptions::default() }
}

fn found(formula: &str, options: &ModelOptions) -> PriorPredictive {
    let asked = PriorAsked { draws: 400, seed: Seed(2) };
    Analysis::of(data(), formula, options).unwrap().prior_predictive(&asked).unwrap()
}

/// y = β + noise with β ~ N(50, 3²) and noise sd 4: the mean of 40 rows has sd √(9 + 16/40), a single response 5.
#[test]
fn simulated_responses_have_the_law_of_prior_and_model() {
    let known = ModelOptions { noise_sd: Some(4.0), ..options("gaussian", &["normal(50, 3)"]) };
    let found = found("y ~ 1", &known);
    assert_eq!((found.kind, found.rows, found.overflowed), (ResponseKind::Number, 40, 0));
    assert!(found.warnings.is_empty(), "{:?}", found.warnings);
    let mean = &found.statistics[0];
    let sd = (9.0f64 + 0.4).sqrt();
    // The 5 % and the 95 % quantile of 400 normal draws have a standard error of 2.11 sd/√400: five of them.
    for (simulated, z) in mean.simulated.iter().zip([-1.6449, -0.6745, 0.0, 0.6745, 1.6449]) {
        assert!((simulated - 50.0 - z * sd).abs() < 5.0 * 2.11 * sd / 20.0, "{mean:?}");
    }
    // Responses of one data set share β: at most as exact as 400 draws of it.
    assert!((found.simulated[3] - 50.0).abs() < 0.8 && (found.simulated[5] - 58.22).abs() < 1.2);
    assert!((found.observed[3] - 55.0).abs() < 1.5);
    assert_eq!(self::found("y ~ 1", &known), found);
}

#[test]
fn every_kind_of_response_has_its_statistics() {
    for (family, formula, kind, first) in [
        ("bernoulli", "b ~ x", ResponseKind::Binary, "share of ones"),
        ("probit", "b ~ x", ResponseKind::Binary, "share of ones"),
        ("cloglog", "b ~ x", ResponseKind::Binary, "share of ones"),
        ("binomial", "k | trials(n) ~ x", ResponseKind::Share, "mean share of successes"),
        ("poisson", "c ~ x", ResponseKind::Count, "mean"),
        ("negbinomial", "c ~ x", ResponseKind::Count, "mean"),
        ("gamma", "y ~ x", ResponseKind::Number, "mean"),
        ("exponential", "y ~ x", ResponseKind::Number, "mean"),
        ("weibull", "surv(t, e) ~ x", ResponseKind::Time, "median time, censored ones as they are"),
        ("exponential", "surv(t, e) ~ x", ResponseKind::Time, "median time, censored ones as they are"),
    ] {
        let found = found(formula, &options(family, &["normal(0, 0.5)"]));
        assert_eq!((found.kind, found.statistics[0].name.as_str()), (kind, first), "{family}");
        assert!(found.simulated.iter().all(|x| x.is_finite()), "{family}: {found:?}");
        assert_eq!(found.probabilities.len(), if family_has(family) { 20 } else { 0 });
        if kind == ResponseKind::Time {
            assert!(found.simulated[6] <= 5.0 + 1e-9 && found.observed.is_empty());
        }
        let page = found.page("t", "provi prior t.csv").html();
        assert!(page.contains("What the prior of t expects") && page.contains("<svg"), "{family}");
    }
    assert!(found("y ~ x", &options("gaussian", &[])).prior.iter().any(|line| line.contains("half_t(3,")));
}

fn family_has(family: &str) -> bool {
    ["bernoulli", "probit", "cloglog", "binomial"].contains(&family)
}

#[test]
fn implausible_priors_are_called_out() {
    let said = |formula: &str, options: &ModelOptions| found(formula, options).warnings.join("\n");
    assert_eq!(said("b ~ x", &options("bernoulli", &[])), "");
    assert!(said("b ~ x", &options("bernoulli", &["normal(0, 50)"])).contains("below 0.01 or above 0.99"));
    assert!(
        said("c ~ x", &options("poisson", &["normal(5, 5)"])).contains("a hundred times the largest one")
    );
    assert!(said("c ~ x", &options("poisson", &["normal(0, 300)"])).contains("too large for a number"));
    let known = |prior: &str| ModelOptions { noise_sd: Some(1.0), ..options("gaussian", &[prior]) };
    assert!(said("y ~ x", &known("normal(0, 3000)")).contains("times as wide as the data"));
    assert!(said("y ~ x", &known("normal(0, 1)")).contains("excludes what was observed"));
    assert_eq!(said("y ~ x", &known("normal(25, 25)")), "");
}

#[test]
fn what_cannot_be_simulated_is_refused() {
    let weighted = ModelOptions { weights: Some("n".to_owned()), ..options("bernoulli", &[]) };
    let analysis = Analysis::of(data(), "b ~ x", &weighted).unwrap();
    let asked = CalibrateAsked { simulations: 20, ..CalibrateAsked::default() };
    let said = analysis.calibrate(&asked, &mut |_, _| ControlFlow::Continue(())).unwrap_err().to_string();
    assert!(said.contains("weights are no law of responses"), "{said}");
    assert!(analysis.prior_predictive(&PriorAsked { draws: 1, seed: Seed(0) }).is_err());
}

#[test]
fn a_calibration_has_a_page_with_its_ranks() {
    let analysis = Analysis::of(data(), "b ~ x", &options("bernoulli", &[])).unwrap();
    let asked = CalibrateAsked { simulations: 24, ..CalibrateAsked::default() };
    let mut told = 0;
    let found = analysis
        .calibrate(&asked, &mut |made, _| {
            told = made;
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!((told, found.made, found.quantities.len()), (24, 24, 3));
    assert!(found.verdict().starts_with("no sign of a wrong posterior"), "{}", found.verdict());
    let page = found.page("b ~ x", "").html();
    assert!(page.contains("ECDF of ranks") && page.matches("<svg").count() >= 6);
}

//! Genuine Stan models, compiled by `cargo xtask stan`, which runs these tests with `PROVI_STAN_MODELS` set to their folder.

#[path = "fixture/w2.rs"]
mod w2;

use provi::estimate::estimate;
use provi::expectation::neg_elbo;
use provi::target::Target;
use provi::watchdog::check_gradient;
use provi::{Auto, Matrix, Seed};
use provi_ffi::{Include, StanModel};
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    std::env::var_os("PROVI_STAN_MODELS").expect("set by cargo xtask stan").into()
}

fn open(name: &str) -> StanModel {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models").join(format!("{name}.json"));
    let data = if name == "logistic" { w2::problem().0 } else { std::fs::read_to_string(data).unwrap() };
    StanModel::open(&folder().join(format!("{name}_model.so")), Some(&data), 1).unwrap()
}

#[test]
#[ignore = "needs compiled models: cargo xtask stan"]
fn gradients_of_every_model_agree_with_differences() {
    for name in ["logistic", "regression", "schools", "poisson", "hierarchical"] {
        let model = open(name);
        assert_eq!(model.name(), format!("{name}_model"));
        assert!(model.is_thread_safe());
        let d = model.dim();
        for (k, scale) in [0.0, 0.3, 1.0].into_iter().enumerate() {
            let z: Vec<f64> = (0..d).map(|i| scale * ((7 * i + 3 * k) as f64).sin()).collect();
            check_gradient(&model, &z, Seed(k as u64)).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        assert_eq!(model.rejections().count, 0, "{name}");
    }
}

#[test]
#[ignore = "needs compiled models: cargo xtask stan"]
fn w2_in_stan_is_the_librarys_own_model_and_reaches_its_optimum() {
    let (model, (_, twin, optimum)) = (open("logistic"), w2::problem());
    let z: Vec<f64> = (0..31).map(|i| 0.05 * f64::from(i % 7) - 0.1).collect();
    let (mut a, mut b) = (vec![0.0; 31], vec![0.0; 31]);
    let (value, expected) = (model.log_density(&z, &mut a).unwrap(), twin.log_density(&z, &mut b).unwrap());
    assert!((value - expected).abs() < 1e-9, "{value} {expected}");
    assert!(a.iter().zip(&b).all(|(x, y)| (x - y).abs() < 1e-9));
    let answer = Auto::default().run(&model, Seed(1)).unwrap();
    let gap = neg_elbo(&twin, &answer.fit.gaussian).unwrap() - optimum;
    assert!((-1e-8..=0.01).contains(&gap), "{gap}");
}

#[test]
#[ignore = "needs compiled models: cargo xtask stan"]
fn every_model_is_fitted_and_its_draws_come_back() {
    for name in ["regression", "schools", "poisson", "hierarchical"] {
        let model = open(name);
        let answer = Auto::default().run(&model, Seed(1)).unwrap();
        let q = &answer.fit.gaussian;
        let found = estimate(&model, q, Seed(1), 4000).unwrap();
        println!(
            "{name}: k̂ = {:.2}, ELBO {:.3}, evaluations {}",
            found.pareto_k, found.elbo, answer.fit.gradient_evaluations
        );
        assert!(found.pareto_k < 0.9, "{name}: {}", found.pareto_k);
        let include = Include { transformed: true, generated: true };
        let draws =
            model.constrain(&Matrix::new(1, q.dim(), q.mean().to_vec()).unwrap(), include, 1).unwrap();
        let names = model.constrained_names(include).unwrap();
        let value = |name: &str| draws[(0, names.iter().position(|x| x == name).unwrap())];
        match name {
            "regression" => {
                assert!((value("variance") - value("sigma").powi(2)).abs() < 1e-12);
                assert!((value("sigma") - 0.8).abs() < 0.3 && (value("beta") + 1.2).abs() < 0.5);
            }
            "schools" => {
                let theta = value("mu") + value("tau") * value("eta.3");
                assert!((value("theta.3") - theta).abs() < 1e-12);
            }
            _ => {}
        }
    }
}

#[test]
#[ignore = "needs compiled models: cargo xtask stan"]
fn stan_says_what_is_wrong_with_data_and_points() {
    let path = folder().join("regression_model.so");
    let refused = |data: Option<&str>| StanModel::open(&path, data, 1).unwrap_err().to_string();
    assert!(refused(None).contains("variable does not exist"), "{}", refused(None));
    let negative = r#"{"N": -1, "x": [], "y": []}"#;
    assert!(
        refused(Some(negative)).contains("must be greater than or equal to 0"),
        "{}",
        refused(Some(negative))
    );
    assert!(refused(Some("{")).contains("JSON"), "{}", refused(Some("{")));
    let model = open("regression");
    let value = model.log_density(&[0.0, 0.0, -1e4], &mut [0.0; 3]).unwrap();
    assert!(value.is_infinite());
    let reason = model.rejections().message.unwrap();
    assert!(reason.contains("Scale parameter is 0"), "{reason}");
    let free = model.unconstrain(r#"{"alpha": 1, "beta": 2, "sigma": 3}"#).unwrap();
    assert!((free[2] - 3f64.ln()).abs() < 1e-14);
    assert!(model.unconstrain(r#"{"alpha": 1, "beta": 2, "sigma": -3}"#).is_err());
}

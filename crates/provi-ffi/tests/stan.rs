//! A library with BridgeStan's symbols: opened, evaluated, constrained, and refused for every reason there is.

use crate::libraries::bridgestan;
use provi::expectation::neg_elbo;
use provi::target::{Scratch, Target};
use provi::watchdog::check_gradient;
use provi::{Auto, Matrix, Seed};
use provi_ffi::{Error, Include, StanModel};
use std::path::Path;

const BOTH: Include = Include { transformed: true, generated: true };

fn regression(mode: &str) -> StanModel {
    let data = r#"{"x": [-1, 0, 1, 2], "y": [-0.8, 0.3, 0.9, 2.2], "mode": "MODE"}"#;
    StanModel::open(&bridgestan(""), Some(&data.replace("MODE", mode)), 1).unwrap()
}

#[test]
fn a_model_says_its_name_its_sizes_and_its_names() {
    let model = regression("");
    assert_eq!((model.name(), model.dim(), model.version()), ("regression_model", 3, [2, 3, 0]));
    assert!(model.is_thread_safe() && model.info().contains("STAN_THREADS=true"));
    assert_eq!(model.names(), ["alpha", "beta", "free(sigma)"]);
    let names = |transformed, generated| model.constrained_names(Include { transformed, generated }).unwrap();
    assert_eq!(names(false, false), ["alpha", "beta", "sigma"]);
    assert_eq!(names(true, true), ["alpha", "beta", "sigma", "variance", "y_next"]);
}

#[test]
fn gradients_agree_with_differences_and_batches_with_points() {
    let model = regression("");
    check_gradient(&model, &[0.3, 0.5, -0.2], Seed(1)).unwrap();
    let points = [0.3, 0.5, -0.2, 1.0, -1.0, 0.7];
    let (mut values, mut gradients) = ([0.0; 2], [0.0; 6]);
    model.log_densities(&points, &mut values, &mut gradients, &mut Scratch::default()).unwrap();
    for k in 0..2 {
        let mut gradient = [0.0; 3];
        let value = model.log_density(&points[3 * k..3 * k + 3], &mut gradient).unwrap();
        assert_eq!(value.to_bits(), values[k].to_bits());
        assert_eq!(gradient.map(f64::to_bits), [0, 1, 2].map(|i| gradients[3 * k + i].to_bits()));
    }
}

#[test]
fn draws_come_back_to_the_constrained_scale_and_values_go_there() {
    let model = regression("");
    let points = Matrix::new(2, 3, vec![0.1, 0.2, 0.5, -0.1, 0.4, -1.0]).unwrap();
    let out = model.constrain(&points, BOTH, 7).unwrap();
    assert_eq!((out.rows(), out.columns()), (2, 5));
    for row in 0..2 {
        let sigma = points[(row, 2)].exp();
        assert!((out[(row, 2)] - sigma).abs() < 1e-15 && (out[(row, 3)] - sigma * sigma).abs() < 1e-15);
    }
    assert!((out[(0, 4)] - out[(1, 4)]).abs() > 0.0, "each draw has its own random numbers");
    assert_eq!(model.constrain(&points, BOTH, 7).unwrap(), out, "and the seed decides them");
    let free = model.unconstrain(r#"{"alpha": 0.1, "beta": 0.2, "sigma": 2.0}"#).unwrap();
    assert!((free[2] - 2f64.ln()).abs() < 1e-15);
    let error = model.unconstrain(r#"{"alpha": 0.1}"#).unwrap_err();
    assert!(matches!(&error, Error::Unconstrain { message } if message.contains("name=beta")), "{error}");
    let error = regression("gq").constrain(&points, BOTH, 7).unwrap_err();
    assert!(
        matches!(&error, Error::Constrain { draw: 0, message } if message.contains("normal_rng")),
        "{error}"
    );
    assert!(model.constrain(&Matrix::zeros(1, 2), BOTH, 7).is_err());
}

#[test]
fn w2_through_the_interface_reaches_the_gold_optimum_on_any_threads() {
    let (json, twin, optimum) = crate::w2::problem();
    let model = StanModel::open(&bridgestan(""), Some(&json), 1).unwrap();
    let point: Vec<f64> = (0..31).map(|i| 0.03 * f64::from(i) - 0.4).collect();
    let (mut a, mut b) = (vec![0.0; 31], vec![0.0; 31]);
    let (value, expected) =
        (model.log_density(&point, &mut a).unwrap(), twin.log_density(&point, &mut b).unwrap());
    assert!((value - expected).abs() < 1e-9 && a.iter().zip(&b).all(|(x, y)| (x - y).abs() < 1e-9));
    let answer = Auto::default().run(&model, Seed(1)).unwrap();
    let gap = neg_elbo(&twin, &answer.fit.gaussian).unwrap() - optimum;
    assert!((-1e-8..0.01).contains(&gap), "{gap}");
    // The fixture counts who is inside: without STAN_THREADS=true only one at a time is.
    let serial = json.replacen('{', r#"{"mode": "serial", "#, 1);
    let serial = StanModel::open(&bridgestan(""), Some(&serial), 1).unwrap();
    assert!(!serial.is_thread_safe());
    let few = Auto { evaluations: Some(2_000), ..Auto::default() };
    let same = few.run(&serial, Seed(1)).unwrap().fit.gaussian;
    assert_eq!(serial.rejections().count, 0);
    assert_eq!(few.run(&model, Seed(1)).unwrap().fit.gaussian, same);
}

#[test]
fn hessians_are_the_librarys_own_whole_or_by_products_and_differenced_elsewhere() {
    let (json, twin, _) = crate::w2::problem();
    let twice = json.replacen('{', r#"{"mode": "twice", "#, 1);
    let point: Vec<f64> = (0..31).map(|i| 0.02 * f64::from(i) - 0.3).collect();
    let mut expected = Matrix::zeros(31, 31);
    assert!(twin.hessian(&point, &mut expected).unwrap());
    for library in ["", "products_only"] {
        let model = StanModel::open(&bridgestan(library), Some(&twice), 1).unwrap();
        let mut found = Matrix::zeros(31, 31);
        assert!(model.hessian(&point, &mut found).unwrap(), "{library}");
        let off = |(a, b): (&f64, &f64)| (a - b).abs();
        assert!(found.entries().iter().zip(expected.entries()).map(off).fold(0.0, f64::max) < 1e-10);
        // Newton's steps with it find the mode that the model's twin has.
        let mode = provi::mode::find_mode(&model, &[0.0; 31]).unwrap();
        let theirs = provi::mode::find_mode(&twin, &[0.0; 31]).unwrap();
        assert!((mode.log_density - theirs.log_density).abs() < 1e-9);
    }
    // A library that would difference its gradients is not asked; one that refuses is no failure.
    let plain = StanModel::open(&bridgestan(""), Some(&json), 1).unwrap();
    assert!(!plain.hessian(&point, &mut expected).unwrap());
    let refusing = regression("twice");
    assert!(!refusing.hessian(&[0.1, 0.2, 0.3], &mut Matrix::zeros(3, 3)).unwrap());
    assert!(provi::mode::find_mode(&refusing, &[0.0; 3]).is_ok());
}

#[test]
fn a_refused_point_has_no_density_and_its_reason_is_kept() {
    for (mode, reason) in [
        ("error", "Exception: location is 2, but must be at most 1"),
        ("mute", "error code -1 without a message"),
        ("nan", "the log density is NaN"),
    ] {
        let model = regression(mode);
        assert!(model.log_density(&[0.0; 3], &mut [0.0; 3]).unwrap().is_finite());
        assert_eq!(model.rejections().count, 0);
        let value = model.log_density(&[2.0, 0.0, 0.0], &mut [0.0; 3]).unwrap();
        assert!(value < 0.0 && value.is_infinite(), "{mode}: {value}");
        assert_eq!(model.rejections().count, 1);
        assert_eq!(model.rejections().message.as_deref(), Some(reason));
    }
    let overflow = regression("");
    overflow.log_density(&[0.0, 0.0, 1e4], &mut [0.0; 3]).unwrap();
    assert!(overflow.rejections().message.unwrap().contains("must be positive finite"));
}

#[test]
fn estimates_treat_refused_points_as_outside() {
    let model = regression("error");
    let q = provi::Gaussian::new(&[0.0; 3], &[1.0, 0.0, 0.5, 0.0, 0.0, 0.3]).unwrap();
    let found = provi::estimate::estimate(&model, &q, Seed(2), 500).unwrap();
    assert!(found.log_evidence.is_finite() && model.rejections().count > 10);
}

#[test]
fn what_cannot_be_opened_is_refused_with_the_reason() {
    let open = |path: &Path, data: &str| StanModel::open(path, Some(data), 1).unwrap_err();
    let fine = bridgestan("");
    assert!(matches!(open(Path::new("nowhere.so"), ""), Error::NotFound { .. }));
    assert!(matches!(open(Path::new(file!()).file_name().unwrap().as_ref(), ""), Error::NotFound { .. }));
    let text = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    let error = open(&text, "");
    assert!(matches!(&error, Error::Unloadable { reason, .. } if !reason.is_empty()), "{error}");
    let error = open(&bridgestan("other_version"), "");
    assert!(matches!(&error, Error::Version { found, .. } if found == "1.3.0"), "{error}");
    let error = open(&bridgestan("missing_symbol"), "");
    assert!(matches!(&error, Error::MissingSymbol { symbol: "bs_param_constrain", .. }), "{error}");
    let error = open(&fine, r#"{"y": [1]}"#);
    assert!(matches!(&error, Error::Construction { message, .. } if message.contains("name=x")), "{error}");
    let error = open(&fine, "{\"x\": [1], \0");
    assert!(matches!(&error, Error::ZeroByte { position: 11, .. }), "{error}");
}

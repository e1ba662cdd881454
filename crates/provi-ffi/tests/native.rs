//! Densities in C, C++ and Fortran behind `include/provi.h`.

use crate::libraries::{bridgestan, example};
use provi::{Auto, Seed, Target};
use provi_ffi::{Error, NativeModel};

#[test]
fn c_and_fortran_say_the_same_density_and_it_is_fitted() {
    for (name, safe) in [("density.c", true), ("density.f90", false)] {
        let Some(path) = example(name) else { continue };
        let model = NativeModel::open(&path, None).unwrap();
        assert_eq!((model.dim(), model.is_thread_safe()), (2, safe), "{name}");
        let expected: [&str; 2] = if safe { ["left", "right"] } else { ["z0", "z1"] };
        assert_eq!(model.names(), expected);
        let mut gradient = [0.0; 2];
        let value = model.log_density(&[2.0, -2.5], &mut gradient).unwrap();
        // −½ − 2·¼ − log 2π + log 2.
        assert!((value - (-1.0 - std::f64::consts::PI.ln())).abs() < 1e-14, "{name}: {value}");
        assert!((gradient[0] + 1.0).abs() < 1e-15 && (gradient[1] - 2.0).abs() < 1e-15, "{name}");
        let answer = Auto::default().run(&model, Seed(1)).unwrap();
        // A normalised Gaussian: its log evidence is 0.
        assert!(answer.fit.neg_elbo.value.abs() < 1e-9, "{name}: {:?}", answer.fit.neg_elbo);
        let proved = answer.certificate().gap.bound().is_some();
        assert_eq!(proved, safe, "{name}: curvature is declared in C alone");
    }
}

#[test]
fn cpp_takes_data_and_its_exceptions_become_words() {
    let Some(path) = example("density.cpp") else { return };
    let refused = |data| match NativeModel::open(&path, data).unwrap_err() {
        Error::Construction { message, .. } => message,
        other => panic!("{other}"),
    };
    assert!(refused(None).contains("waiting times is needed"));
    assert!(refused(Some("1 -2")).contains("-2.000000 is not positive"));
    assert!(refused(Some("1 two")).contains("no number"));
    let model = NativeModel::open(&path, Some("0.5 1.5 1.0")).unwrap();
    let answer = Auto::default().run(&model, Seed(1)).unwrap();
    // The posterior of the rate is Gamma(4, 4): the mode of log rate is 0.
    assert!((answer.fit.gaussian.mean()[0]).abs() < 0.2 && model.rejections().count == 0);
    let outside = model.log_density(&[800.0], &mut [0.0]).unwrap();
    assert!(outside.is_infinite() && model.rejections().count == 1);
}

#[test]
fn a_library_of_another_interface_is_refused_by_name() {
    let error = NativeModel::open(&bridgestan(""), None).unwrap_err();
    assert!(matches!(&error, Error::MissingSymbol { symbol: "provi_abi_version", .. }), "{error}");
    assert!(error.to_string().contains("see include/provi.h"), "{error}");
}

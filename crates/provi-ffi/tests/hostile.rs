//! Foreign code that misbehaves: null pointers, sizes that cannot be, results that were never written, two callers at once.
//!
//! The heavy tier runs these under valgrind too, which sees every read and write of the library and every model left open.

#[path = "fixture/libraries.rs"]
mod libraries;

use libraries::hostile;
use provi::target::{Scratch, Target};
use provi::{Error as Core, Matrix};
use provi_ffi::{Density, Error, Include, NativeModel, StanModel};
use std::ffi::{c_int, c_void};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI32, Ordering};

/// Objects of a library that nobody has freed.
fn alive(path: &Path) -> c_int {
    // SAFETY: the fixture, which was loaded before and stays so; `alive` is an int, and nobody calls it meanwhile.
    unsafe {
        let library = std::mem::ManuallyDrop::new(libloading::Library::new(path).unwrap());
        **library.get::<*const c_int>("alive").unwrap()
    }
}

fn native() -> Option<PathBuf> {
    hostile("hostile.c", "")
}

#[test]
fn a_library_of_provi_h_is_refused_with_the_reason_and_its_model_is_closed() {
    let Some(path) = native() else { return };
    for (fault, words) in [
        ("null model", "refused the data: provi_open returned NULL"),
        ("dim 0", "a number of coordinates that cannot be fitted: 0"),
        ("dim huge", "a number of coordinates that cannot be fitted: 18446744073709551615"),
        ("curvature nan", "bounds of the curvature that cannot be"),
        ("curvature crossed", "bounds of the curvature that cannot be"),
    ] {
        let error = NativeModel::open(&path, Some(fault)).unwrap_err();
        assert!(error.to_string().contains(words), "{fault}: {error}");
        assert_eq!(alive(&path), 0, "{fault}: its model is left open");
    }
    let model = NativeModel::open(&path, Some("null name")).unwrap();
    assert_eq!(model.names(), ["z0", "z1"]);
    for (fault, words) in [("mute", "provi_log_density_gradient returned 5"), ("empty words", "returned 5")] {
        let model = NativeModel::open(&path, Some(fault)).unwrap();
        let error = model.log_density(&[0.0; 2], &mut [0.0; 2]).unwrap_err();
        assert!(error.to_string().contains(words), "{fault}: {error}");
    }
    let model = NativeModel::open(&path, Some("unwritten")).unwrap();
    let (mut values, mut gradients) = ([-1.0; 2], [7.0; 4]);
    model.log_densities(&[0.0; 4], &mut values, &mut gradients, &mut Scratch::default()).unwrap();
    assert!(values.iter().all(|x| *x == f64::NEG_INFINITY), "numbers of an earlier call: {values:?}");
    assert!(gradients.iter().all(|x| x.is_nan()) && model.rejections().count == 2);
    let (half, mut out) = (NativeModel::open(&path, Some("half a hessian")).unwrap(), Matrix::zeros(2, 2));
    assert!(!half.hessian(&[0.0; 2], &mut out).unwrap());
    drop((model, half));
    let whole = NativeModel::open(&path, None).unwrap();
    assert!(whole.hessian(&[0.0; 2], &mut out).unwrap() && out[(1, 1)] < 0.0);
    let sizes = [
        whole.log_density(&[0.0; 3], &mut [0.0; 2]).unwrap_err(),
        whole.log_densities(&[0.0; 4], &mut [0.0; 2], &mut [0.0; 2], &mut Scratch::default()).unwrap_err(),
        whole.hessian(&[0.0; 2], &mut Matrix::zeros(1, 2)).unwrap_err(),
    ];
    assert!(sizes.iter().all(|error| matches!(error, Core::Shape { .. })), "{sizes:?}");
    drop(whole);
}

#[test]
fn a_symbol_at_address_0_is_not_there_and_data_for_nobody_are_refused() {
    let Some(path) = hostile("hostile.c", "NULL_SYMBOLS") else { return };
    let model = NativeModel::open(&path, None).unwrap();
    assert!(!model.hessian(&[0.0; 2], &mut Matrix::zeros(2, 2)).unwrap());
    assert!(model.curvature().unwrap().is_none());
    drop(model);
    assert_eq!(alive(&path), 0);
    let Some(path) = hostile("hostile.c", "NO_OPEN") else { return };
    NativeModel::open(&path, None).unwrap();
    let error = NativeModel::open(&path, Some("1 2 3")).unwrap_err();
    assert!(error.to_string().contains("no provi_open"), "{error}");
}

#[test]
fn a_stan_library_is_refused_with_the_reason_and_everything_is_freed() {
    let Some(path) = hostile("hostile_stan.c", "") else { return };
    let open = |fault| StanModel::open(&path, Some(fault), 1);
    for (fault, words) in [
        ("null model", "refused the data: bs_model_construct returned NULL without a message"),
        ("null names", "names of its parameters: NULL"),
        ("null constrained names", "names of its quantities: NULL"),
        ("few names", "1 names for 2 parameters"),
        ("more than names", "2 names for 3 quantities"),
        ("constrained -1", "2 names for -1 quantities"),
        ("dim -1", "cannot be fitted: -1"),
        ("dim 0", "cannot be fitted: 0"),
        ("dim huge", "2 names for 2147483647 parameters"),
    ] {
        let error = open(fault).unwrap_err();
        assert!(error.to_string().contains(words), "{fault}: {error}");
        assert_eq!(alive(&path), 0, "{fault}: something is left open");
    }
    let model = open("null texts").unwrap();
    assert!(model.name().is_empty() && !model.is_thread_safe(), "nothing is said, so nothing is allowed");
    drop(model);
    for fault in ["chatty", "null print"] {
        let model = open(fault).unwrap();
        assert!(model.log_density(&[0.0; 2], &mut [0.0; 2]).unwrap().is_finite(), "{fault}");
    }
    for (fault, words) in
        [("mute", "error code -1 without a message"), ("unwritten", "the log density is NaN")]
    {
        let model = open(fault).unwrap();
        assert!(model.log_density(&[0.0; 2], &mut [0.0; 2]).unwrap().is_infinite());
        assert_eq!(model.rejections().message.as_deref(), Some(words));
    }
    let (model, mut gradient) = (open("no gradient").unwrap(), [7.0; 2]);
    model.log_density(&[0.0; 2], &mut gradient).unwrap();
    assert!(gradient.iter().all(|x| x.is_nan()), "numbers of an earlier call: {gradient:?}");
    drop(model);
    let mut out = Matrix::zeros(2, 2);
    assert!(!open("half a hessian").unwrap().hessian(&[0.0; 2], &mut out).unwrap());
    assert!(open("").unwrap().hessian(&[0.0; 2], &mut out).unwrap());
    for (fault, words) in [("mute json", "error code -1"), ("unwritten json", "a free coordinate is NaN")] {
        let error = open(fault).unwrap().unconstrain("{}").unwrap_err();
        assert!(error.to_string().contains(words), "{fault}: {error}");
    }
    let (generated, point) = (Include { transformed: false, generated: true }, Matrix::zeros(1, 2));
    let error = open("mute constrain").unwrap().constrain(&point, generated, 1).unwrap_err();
    assert!(
        matches!(&error, Error::Constrain { message, .. } if message.contains("error code -1")),
        "{error}"
    );
    // A stop is noticed between two draws.
    let stop = provi::stop::Stop::default();
    stop.ask();
    let signal = provi::stop::Signal::on(&stop).with_patience(std::time::Duration::ZERO);
    let model = open("").unwrap();
    let stopped = signal.during("the draws", || model.constrain(&point, generated, 1)).unwrap_err();
    assert!(matches!(stopped, Error::Core(provi::Error::Stopped { during: "the draws" })), "{stopped}");
    drop(model);
    let unwritten = open("unwritten constrain").unwrap().constrain(&point, generated, 1).unwrap();
    assert!(unwritten.entries().iter().all(|x| x.is_nan()));
    let error = open("").unwrap().constrain(&point, generated, 13).unwrap_err();
    assert!(error.to_string().contains("bs_rng_construct returned NULL"), "{error}");
    let sizes = [
        open("").unwrap().log_density(&[0.0; 3], &mut [0.0; 2]).unwrap_err(),
        open("")
            .unwrap()
            .log_densities(&[0.0; 2], &mut [0.0; 2], &mut [0.0; 4], &mut Scratch::default())
            .unwrap_err(),
    ];
    assert!(sizes.iter().all(|error| matches!(error, Core::Shape { .. })), "{sizes:?}");
    assert_eq!(alive(&path), 0);
}

static INSIDE: AtomicI32 = AtomicI32::new(0);

/// A function of no value that fails where a second caller is inside.
extern "C" fn alone(_: usize, _: usize, _: *const f64, _: *mut f64, _: *mut f64, _: *mut c_void) -> c_int {
    let before = INSIDE.fetch_add(1, Ordering::SeqCst);
    std::thread::sleep(std::time::Duration::from_millis(1));
    INSIDE.fetch_sub(1, Ordering::SeqCst);
    c_int::from(before != 0)
}

#[test]
fn a_c_function_has_one_caller_at_a_time() {
    // SAFETY: it reads and writes nothing.
    let densities = [(); 2].map(|()| unsafe { Density::new(alone, std::ptr::null_mut(), 1, false) });
    std::thread::scope(|scope| {
        // Two threads for each of two models of one function.
        for density in densities.iter().chain(&densities) {
            scope.spawn(move || {
                for _ in 0..20 {
                    let at_once = |_| "two callers at once".to_owned();
                    density.evaluate(&[0.0], &mut [0.0], &mut [0.0], at_once).unwrap();
                }
            });
        }
    });
}

/// Does nothing, for any number of callers.
extern "C" fn nothing(_: usize, _: usize, _: *const f64, _: *mut f64, _: *mut f64, _: *mut c_void) -> c_int {
    0
}

/// Evaluates the density it is handed, and returns 3 if that is refused.
extern "C" fn again(_: usize, _: usize, _: *const f64, _: *mut f64, _: *mut f64, user: *mut c_void) -> c_int {
    // SAFETY: the test hands over a density that outlives the call.
    let inner = unsafe { &*user.cast::<Density>() };
    let refused = inner.evaluate(&[0.0], &mut [0.0], &mut [0.0], |_| String::new()).is_err();
    if refused { 3 } else { 0 }
}

#[test]
fn a_c_function_is_not_called_from_inside_another() {
    let call = |outer_safe, inner_safe| {
        // SAFETY: `nothing` touches nothing, and `again` is handed the other, which outlives it.
        let mut inner = unsafe { Density::new(nothing, std::ptr::null_mut(), 1, inner_safe) };
        let user = (&raw mut inner).cast();
        // SAFETY: as above.
        let outer = unsafe { Density::new(again, user, 1, outer_safe) };
        outer.evaluate(&[0.0], &mut [0.0], &mut [0.0], |code| code.to_string())
    };
    assert_eq!(call(false, false).unwrap_err().to_string(), Core::Target { message: "3".into() }.to_string());
    for (outer, inner) in [(true, false), (false, true), (true, true)] {
        call(outer, inner).unwrap();
    }
}

#[test]
fn lengths_are_checked_before_a_c_function_writes() {
    // SAFETY: it reads and writes nothing.
    let density = unsafe { Density::new(nothing, std::ptr::null_mut(), 2, false) };
    for (points, values, gradients) in [(4, 2, 3), (3, 2, 4), (4, 1, 4), (0, 1, 0)] {
        let (z, mut v, mut g) = (vec![0.0; points], vec![0.0; values], vec![0.0; gradients]);
        let error = density.evaluate(&z, &mut v, &mut g, |_| String::new()).unwrap_err();
        assert!(matches!(error, Core::Shape { .. }), "{error}");
    }
}

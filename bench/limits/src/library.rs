//! A gradient through a compiled library, beside calling its C function in a loop.

use crate::clock::{Work, least};
use crate::gradient::data;
use crate::table::Row;
use provi::Target;
use provi::target::Scratch;
use provi_ffi::StanModel;
use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::path::Path;
use std::process::Command;

const ROWS: usize = 500;
const COLUMNS: usize = 20;
const POINTS: usize = 8;

type Construct = unsafe extern "C" fn(*const c_char, c_uint, *mut *mut c_char) -> *mut c_void;
type Gradient = unsafe extern "C" fn(
    *const c_void,
    bool,
    bool,
    *const f64,
    *mut f64,
    *mut f64,
    *mut *mut c_char,
) -> c_int;

/// Eight points of a logistic regression through the library of the tests; nothing if it cannot be compiled.
pub(crate) fn row(seconds: f64) -> Option<Row> {
    let source =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/provi-ffi/tests/fixture/bridgestan.rs");
    let path = std::env::temp_dir().join(format!("provi-limits-{}.so", std::process::id()));
    let mut rustc = Command::new("rustc");
    rustc.args(["--edition", "2024", "-O", "-o"]).arg(&path).arg(source);
    if !rustc.output().is_ok_and(|output| output.status.success()) {
        return None;
    }
    let row = measured(&path, seconds);
    let _ = std::fs::remove_file(&path);
    row
}

fn measured(path: &Path, seconds: f64) -> Option<Row> {
    let (x, y) = data(ROWS, COLUMNS);
    let list = |values: &[f64]| values.iter().map(f64::to_string).collect::<Vec<_>>().join(",");
    let json = format!("{{\"D\": {COLUMNS}, \"x\": [{}], \"y\": [{}]}}", list(&x), list(&y));
    let model = StanModel::open(path, Some(&json), 1).ok()?;
    // SAFETY: the library of the tests, just compiled: nothing runs when it is loaded.
    let library = unsafe { libloading::Library::new(path) }.ok()?;
    // SAFETY: the signatures of bridgestan.h; the copies are used while `library` is alive.
    let (construct, gradient) = unsafe {
        (
            *library.get::<Construct>("bs_model_construct").ok()?,
            *library.get::<Gradient>("bs_log_density_gradient").ok()?,
        )
    };
    let text = CString::new(json).ok()?;
    // SAFETY: a text that lives through the call. The model is never freed: the program ends soon.
    let raw = unsafe { construct(text.as_ptr(), 1, std::ptr::null_mut()) };
    if raw.is_null() {
        return None;
    }
    let mut points = vec![0.0; POINTS * COLUMNS];
    provi_kernels::normals(3, 0, 0, &mut points);
    let mut out = (vec![0.0; POINTS], vec![0.0; POINTS * COLUMNS]);
    let mut other = out.clone();
    let mut scratch = Scratch::default();
    let points = &points;
    let mut contenders: [Work<'_>; 2] = [
        Box::new(|| model.log_densities(points, &mut out.0, &mut out.1, &mut scratch).expect("finite")),
        Box::new(|| {
            for k in 0..POINTS {
                let (z, g) = (&points[k * COLUMNS..], &mut other.1[k * COLUMNS..]);
                let mut message = std::ptr::null_mut();
                // SAFETY: the model is alive; COLUMNS numbers at least behind both pointers.
                unsafe {
                    gradient(raw, false, true, z.as_ptr(), &mut other.0[k], g.as_mut_ptr(), &mut message)
                };
            }
        }),
    ];
    let times = least(seconds, &mut contenders);
    let (kernel, limit) =
        (format!("gradient of a library, {ROWS} × {COLUMNS}, 8 points"), "its C function in a loop");
    Some(Row::new(kernel, times[0], limit, times[1]).bar(1.1))
}

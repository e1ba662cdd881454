//! A density exported by the C functions of `include/provi.h`.

use crate::density::{Density, Function};
use crate::error::{Error, Result};
use crate::gate::Gate;
use crate::handle::Handle;
use crate::library::{Library, c_text, fits_hessian, rust_text};
use provi::target::{RejectionLog, Rejections, Scratch, Target};
use provi::{Curvature, Matrix, Quadratic};
use std::ffi::{c_char, c_int, c_void};
use std::path::Path;

/// The name of the interface in messages.
const INTERFACE: &str = "the interface of provi.h";
const ABI_VERSION: c_int = 1;

type Words = unsafe extern "C" fn(*mut c_void) -> *const c_char;

/// A log density exported as C functions by any language.
///
/// A point whose log density is NaN or −∞ counts as rejected. A call that returns a code other than 0 ends the run,
/// with the library's own message.
#[derive(Debug)]
pub struct NativeModel {
    library: Library,
    handle: Handle<c_void>,
    density: Density,
    hessian: Option<unsafe extern "C" fn(usize, *const f64, *mut f64, *mut c_void) -> c_int>,
    error: Option<Words>,
    names: Vec<String>,
    curvature: Option<Curvature>,
    rejections: RejectionLog,
}

// SAFETY: the model is called through its gate, which lets several threads in only if the library declares that it
// allows them; by provi.h nothing in it belongs to the thread that made it.
unsafe impl Send for NativeModel {}
// SAFETY: as above.
unsafe impl Sync for NativeModel {}

impl NativeModel {
    /// Opens the library at `path`, with the contents of a data file if there is one.
    pub fn open(path: &Path, data: Option<&str>) -> Result<Self> {
        let data = data.map(|data| c_text("data", data)).transpose()?;
        // Loading also runs code of the library.
        let _alone = Gate::Single.enter()?;
        let library = Library::open(path, INTERFACE)?;
        // SAFETY: the signature of provi.h.
        let version: unsafe extern "C" fn() -> c_int = unsafe { library.need("provi_abi_version")? };
        // SAFETY: a function of no arguments.
        let version = unsafe { version() };
        if version != ABI_VERSION {
            let (found, needed) = (version.to_string(), "1");
            return Err(Error::Version { path: path.into(), interface: INTERFACE, found, needed });
        }
        // SAFETY: the signatures of provi.h, here and in the rest of this function.
        let error: Option<Words> = unsafe { library.find("provi_error") };
        // SAFETY: as above.
        let (density, hessian, close): (Function, _, _) = unsafe {
            (
                library.need("provi_log_density_gradient")?,
                library.find("provi_hessian"),
                library.find("provi_close"),
            )
        };
        // SAFETY: as above.
        let dim: unsafe extern "C" fn(*mut c_void) -> usize = unsafe { library.need("provi_dim")? };
        // SAFETY: as above.
        let open: Option<unsafe extern "C" fn(*const c_char) -> *mut c_void> =
            unsafe { library.find("provi_open") };
        let mut model = std::ptr::null_mut();
        let refused = |message| Err(Error::Construction { path: path.into(), message });
        if open.is_none() && data.is_some() {
            return refused("it has no provi_open to hand them to; leave the data out".to_owned());
        }
        if let Some(open) = open {
            // SAFETY: null, or a text that lives through the call.
            model = unsafe { open(data.as_ref().map_or(std::ptr::null(), |data| data.as_ptr())) };
            if model.is_null() {
                return refused(words(error, model, "provi_open returned NULL"));
            }
        }
        // SAFETY: made by provi_open, and nobody else closes it.
        let mut handle = unsafe { Handle::new(model, close) };
        // SAFETY: the model is alive.
        let dim = unsafe { dim(model) };
        if dim == 0 || dim > 1 << 24 {
            let what = "a number of coordinates that cannot be fitted";
            return Err(Error::Nonsense { path: path.into(), what, found: dim.to_string() });
        }
        // SAFETY: as above.
        let thread_safe: Option<unsafe extern "C" fn(*mut c_void) -> c_int> =
            unsafe { library.find("provi_thread_safe") };
        // SAFETY: the model is alive.
        let thread_safe = thread_safe.is_some_and(|ask| unsafe { ask(model) } == 1);
        let names = names(&library, dim, model);
        let curvature = curvature(&library, dim, model)?;
        handle.gate = Gate::new(thread_safe);
        // SAFETY: provi.h: the function takes this model, on any thread, on several if it declares so; both live as
        // long as the handle beside it.
        let density = unsafe { Density::new(density, model, dim, thread_safe) };
        Ok(Self {
            handle,
            density,
            hessian,
            error,
            names,
            curvature,
            library,
            rejections: RejectionLog::default(),
        })
    }

    /// The path from which it was opened.
    pub fn path(&self) -> &Path {
        self.library.path()
    }

    /// Whether several threads may evaluate at once.
    pub fn is_thread_safe(&self) -> bool {
        self.handle.gate == Gate::Open
    }
}

/// The library's own message, or `otherwise`.
fn words(error: Option<Words>, model: *mut c_void, otherwise: &str) -> String {
    // SAFETY: provi.h: null, or a text that stays readable until the next call on this thread.
    let said = error.and_then(|error| unsafe { rust_text(error(model)) });
    said.filter(|said| !said.trim().is_empty()).unwrap_or_else(|| otherwise.to_owned())
}

fn names(library: &Library, dim: usize, model: *mut c_void) -> Vec<String> {
    // SAFETY: the signature of provi.h.
    let name: Option<unsafe extern "C" fn(usize, *mut c_void) -> *const c_char> =
        unsafe { library.find("provi_name") };
    let plain = |i: usize| format!("z{i}");
    // SAFETY: i < d, the model is alive, and so is the text.
    let given = |i: usize| name.and_then(|name| unsafe { rust_text(name(i, model)) });
    (0..dim).map(|i| given(i).unwrap_or_else(|| plain(i))).collect()
}

fn curvature(library: &Library, dim: usize, model: *mut c_void) -> Result<Option<Curvature>> {
    type Ask = unsafe extern "C" fn(*mut f64, *mut f64, *mut c_void) -> c_int;
    // SAFETY: the signature of provi.h.
    let Some(ask) = (unsafe { library.find::<Ask>("provi_curvature") }) else { return Ok(None) };
    let (mut convexity, mut smoothness) = (0.0, f64::INFINITY);
    // SAFETY: room for one number each; the model is alive.
    if unsafe { ask(&mut convexity, &mut smoothness, model) } != 0 {
        return Ok(None);
    }
    let upper = (smoothness < f64::INFINITY).then_some(Quadratic::Scalar(smoothness));
    Curvature::declared(dim, Quadratic::Scalar(convexity), upper).map(Some).map_err(|reason| {
        let what = "bounds of the curvature that cannot be";
        Error::Nonsense { path: library.path().into(), what, found: reason.to_string() }
    })
}

impl Target for NativeModel {
    fn dim(&self) -> usize {
        self.density.dim()
    }

    fn log_density(&self, z: &[f64], gradient: &mut [f64]) -> provi::Result<f64> {
        provi::target::batch_of_one(self, z, gradient)
    }

    fn log_densities(
        &self,
        points: &[f64],
        values: &mut [f64],
        gradients: &mut [f64],
        _scratch: &mut Scratch,
    ) -> provi::Result<()> {
        let explain = |code| {
            let otherwise = format!("provi_log_density_gradient returned {code}");
            words(self.error, self.handle.pointer(), &otherwise)
        };
        self.density.evaluate(points, values, gradients, explain)?;
        for value in values {
            if value.is_nan() {
                self.rejections.note("the log density is NaN");
                *value = f64::NEG_INFINITY;
            } else if *value == f64::NEG_INFINITY {
                self.rejections.note("the log density is -infinity");
            }
        }
        Ok(())
    }

    fn hessian(&self, z: &[f64], out: &mut Matrix) -> provi::Result<bool> {
        let Some(hessian) = self.hessian else { return Ok(false) };
        let d = self.density.dim();
        fits_hessian(d, z, out)?;
        // Numbers that the library leaves unwritten count as a refusal.
        out.entries_mut().fill(f64::NAN);
        let _turn = self.handle.gate.enter()?;
        // SAFETY: d and d² numbers; the model is alive, and the gate passed.
        let code = unsafe { hessian(d, z.as_ptr(), out.entries_mut().as_mut_ptr(), self.handle.pointer()) };
        Ok(code == 0 && out.entries().iter().all(|x| x.is_finite()))
    }

    fn curvature(&self) -> provi::Result<Option<Curvature>> {
        Ok(self.curvature.clone())
    }

    fn names(&self) -> Vec<String> {
        self.names.clone()
    }

    fn rejections(&self) -> Rejections {
        self.rejections.so_far()
    }
}

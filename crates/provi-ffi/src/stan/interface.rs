//! The C functions of BridgeStan that are called, from its public header `bridgestan.h`, version 2.

use crate::error::{Error, Result};
use crate::handle::Handle;
use crate::library::{Library, rust_text};
use std::ffi::{c_char, c_int, c_uint};
use std::path::Path;

/// The name of the interface in messages.
pub(crate) const INTERFACE: &str = "the BridgeStan interface";

/// `bs_model`, opaque.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Model([u8; 0]);
/// `bs_rng`, opaque.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Rng([u8; 0]);

type Message = *mut *mut c_char;
type Construct = unsafe extern "C" fn(*const c_char, c_uint, Message) -> *mut Model;
type Text = unsafe extern "C" fn(*const Model) -> *const c_char;
type Gradient =
    unsafe extern "C" fn(*const Model, bool, bool, *const f64, *mut f64, *mut f64, Message) -> c_int;
type Hessian = unsafe extern "C" fn(
    *const Model,
    bool,
    bool,
    *const f64,
    *mut f64,
    *mut f64,
    *mut f64,
    Message,
) -> c_int;
type HessianProduct = unsafe extern "C" fn(
    *const Model,
    bool,
    bool,
    *const f64,
    *const f64,
    *mut f64,
    *mut f64,
    Message,
) -> c_int;
type Constrain =
    unsafe extern "C" fn(*const Model, bool, bool, *const f64, *mut f64, *mut Rng, Message) -> c_int;
type UnconstrainJson = unsafe extern "C" fn(*const Model, *const c_char, *mut f64, Message) -> c_int;
type Print = extern "C" fn(*const c_char, usize);
type SetPrint = unsafe extern "C" fn(Print, Message) -> c_int;

/// The functions, copied out of a library that is never unloaded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interface {
    pub(super) construct: Construct,
    pub(super) destruct: unsafe extern "C" fn(*mut Model),
    free: unsafe extern "C" fn(*mut c_char),
    pub(super) name: Text,
    pub(super) info: Text,
    pub(super) names: unsafe extern "C" fn(*const Model, bool, bool) -> *const c_char,
    pub(super) unconstrained_names: Text,
    pub(super) num: unsafe extern "C" fn(*const Model, bool, bool) -> c_int,
    pub(super) unconstrained_num: unsafe extern "C" fn(*const Model) -> c_int,
    pub(super) constrain: Constrain,
    pub(super) unconstrain_json: UnconstrainJson,
    pub(super) gradient: Gradient,
    pub(super) hessian: Option<Hessian>,
    pub(super) hessian_product: Option<HessianProduct>,
    rng_construct: unsafe extern "C" fn(c_uint, Message) -> *mut Rng,
    rng_destruct: unsafe extern "C" fn(*mut Rng),
    pub(super) set_print: Option<SetPrint>,
}

impl Interface {
    /// Loads a library of version 2, any minor version, and finds its functions.
    pub(super) fn open(path: &Path) -> Result<(Self, [i32; 3])> {
        let library = Library::open(path, INTERFACE)?;
        let number = |name| -> Result<i32> {
            // SAFETY: the header declares `extern const int`.
            let at: *const c_int = unsafe { library.need(name)? };
            // SAFETY: the symbol's address, in a library that stays loaded.
            Ok(unsafe { at.read_unaligned() })
        };
        let version = [number("bs_major_version")?, number("bs_minor_version")?, number("bs_patch_version")?];
        if version[0] != 2 {
            return Err(Error::Version {
                path: library.path().into(),
                interface: INTERFACE,
                found: version.map(|x| x.to_string()).join("."),
                needed: "2",
            });
        }
        // SAFETY: the types above are the signatures of the header, the same through all of version 2.
        let out = unsafe {
            Self {
                construct: library.need("bs_model_construct")?,
                destruct: library.need("bs_model_destruct")?,
                free: library.need("bs_free_error_msg")?,
                name: library.need("bs_name")?,
                info: library.need("bs_model_info")?,
                names: library.need("bs_param_names")?,
                unconstrained_names: library.need("bs_param_unc_names")?,
                num: library.need("bs_param_num")?,
                unconstrained_num: library.need("bs_param_unc_num")?,
                constrain: library.need("bs_param_constrain")?,
                unconstrain_json: library.need("bs_param_unconstrain_json")?,
                gradient: library.need("bs_log_density_gradient")?,
                hessian: library.find("bs_log_density_hessian"),
                hessian_product: library.find("bs_log_density_hessian_vector_product"),
                rng_construct: library.need("bs_rng_construct")?,
                rng_destruct: library.need("bs_rng_destruct")?,
                set_print: library.find("bs_set_print_callback"),
            }
        };
        Ok((out, version))
    }

    /// The text of an error message, which is then freed; empty if there is none.
    pub(super) fn take(&self, message: *mut c_char) -> String {
        if message.is_null() {
            return String::new();
        }
        // SAFETY: the library has put a string of its own there; it is freed once, by the library.
        unsafe {
            let text = rust_text(message).unwrap_or_default();
            (self.free)(message);
            text.trim().to_owned()
        }
    }

    /// A random number generator for generated quantities, freed at the end.
    pub(super) fn generator(&self, seed: u32) -> Result<Handle<Rng>> {
        let mut message = std::ptr::null_mut();
        // SAFETY: an error leaves a message.
        let rng = unsafe { (self.rng_construct)(seed, &mut message) };
        // SAFETY: made by `rng_construct`, and nobody else frees it.
        let rng = unsafe { Handle::new(rng, Some(self.rng_destruct)) };
        let message = self.take(message);
        if rng.pointer().is_null() {
            let message = or_else(message, "bs_rng_construct returned NULL without a message");
            return Err(Error::Constrain { draw: 0, message });
        }
        Ok(rng)
    }
}

/// The library's own message, or `otherwise` if it has none.
pub(super) fn or_else(message: String, otherwise: &str) -> String {
    if message.is_empty() { otherwise.to_owned() } else { message }
}

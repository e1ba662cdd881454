//! Opening a shared library and finding its functions.

use crate::error::{Error, Result};
use provi::Matrix;
use std::ffi::{CStr, CString, c_char, c_void};
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};

/// A loaded library that stays loaded.
///
/// It is never unloaded: its functions may be called as long as the process lives, and threads that called it may
/// still have to run the destructors of their thread-local tapes.
#[derive(Debug)]
pub(crate) struct Library {
    inner: ManuallyDrop<libloading::Library>,
    path: PathBuf,
    interface: &'static str,
}

impl Library {
    /// Loads the library at `path` with everything it needs, so that missing parts are reported now.
    pub(crate) fn open(path: &Path, interface: &'static str) -> Result<Self> {
        // A bare name would be searched for in the system's folders.
        let full = path.canonicalize().map_err(|_| Error::NotFound { path: path.into() })?;
        let unloadable = |e: libloading::Error| Error::Unloadable { path: path.into(), reason: describe(&e) };
        #[cfg(unix)]
        let inner = {
            use libloading::os::unix::{Library as Unix, RTLD_LOCAL, RTLD_NOW};
            // SAFETY: loading runs the library's initialisers. Its owner, who asked for it to be loaded, is
            // responsible for their soundness; the shells try it in another process first.
            unsafe { Unix::open(Some(full.as_os_str()), RTLD_NOW | RTLD_LOCAL) }.map_err(unloadable)?.into()
        };
        #[cfg(not(unix))]
        // SAFETY: as above.
        let inner = unsafe { libloading::Library::new(full.as_os_str()) }.map_err(unloadable)?;
        Ok(Self { inner: ManuallyDrop::new(inner), path: path.into(), interface })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// A symbol, or none.
    ///
    /// # Safety
    /// `T` must be the type of the symbol: a function pointer with its signature, or a pointer to the datum.
    pub(crate) unsafe fn find<T: Copy>(&self, name: &'static str) -> Option<T> {
        const { assert!(size_of::<T>() == size_of::<*mut c_void>(), "a pointer") };
        // SAFETY: any symbol has an address.
        let address: *mut c_void = unsafe { *self.inner.get::<*mut c_void>(name).ok()? };
        // SAFETY: the caller vouches for the type, which is as large as an address; the library is never unloaded, so the copy
        // stays valid. A symbol may have the address 0, which no function and no datum has.
        (!address.is_null()).then(|| unsafe { std::mem::transmute_copy(&address) })
    }

    /// A symbol that must be there.
    ///
    /// # Safety
    /// As [`Library::find`].
    pub(crate) unsafe fn need<T: Copy>(&self, name: &'static str) -> Result<T> {
        // SAFETY: passed on to the caller.
        unsafe { self.find(name) }.ok_or_else(|| Error::MissingSymbol {
            path: self.path.clone(),
            symbol: name,
            interface: self.interface,
        })
    }
}

/// The innermost reason: the system's own message.
fn describe(error: &dyn std::error::Error) -> String {
    error.source().map_or_else(|| error.to_string(), describe)
}

/// A text for C.
pub(crate) fn c_text(what: &'static str, text: &str) -> Result<CString> {
    CString::new(text).map_err(|e| Error::ZeroByte { what, position: e.nul_position() })
}

/// A text from C; `None` for a null pointer.
///
/// # Safety
/// `text` is null or points to a zero-terminated string that lives through this call.
pub(crate) unsafe fn rust_text(text: *const c_char) -> Option<String> {
    // SAFETY: not null, and the caller vouches for the rest.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}

/// Checks that `z` has `dim` numbers and `out` room for their Hessian, before foreign code reads the one and writes
/// the other.
pub(crate) fn fits_hessian(dim: usize, z: &[f64], out: &Matrix) -> provi::Result<()> {
    let sizes =
        [("point", z.len()), ("rows of a Hessian", out.rows()), ("columns of a Hessian", out.columns())];
    match sizes.into_iter().find(|(_, found)| *found != dim) {
        Some((what, found)) => Err(provi::Error::Shape { what, found, expected: dim }),
        None => Ok(()),
    }
}

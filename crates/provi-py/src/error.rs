//! The library's errors as Python exceptions: a fitting type, and the library's own message with options spelled as keywords.

use provi::Error;
use provi_analysis::Error as Refusal;
use provi_analysis::options::in_keywords;
use provi_ffi::Error as LibraryError;
use pyo3::PyErr;
use pyo3::exceptions::{
    PyFileExistsError, PyFileNotFoundError, PyIndexError, PyMemoryError, PyOSError, PyRuntimeError,
    PyValueError,
};

/// `ValueError` if an argument is wrong; `RuntimeError` if the work failed.
pub(crate) fn raise(error: Error) -> PyErr {
    let text = match error {
        // What the user's own function said.
        Error::Target { .. } => error.to_string(),
        _ => in_keywords(&error.to_string()),
    };
    match error {
        Error::Index { .. } => PyIndexError::new_err(text),
        Error::Memory { .. } => PyMemoryError::new_err(text),
        // If the density is not finite where the search begins, the argument was wrong.
        Error::NoMode { iterations: 0, .. } | Error::Improper { .. } => PyValueError::new_err(text),
        Error::Target { .. } | Error::Diverged { .. } | Error::NoMode { .. } | Error::Eigen { .. } => {
            PyRuntimeError::new_err(text)
        }
        _ => PyValueError::new_err(text),
    }
}

/// The same for errors of an analysis.
pub(crate) fn refuse(error: Refusal) -> PyErr {
    let text = in_keywords(&error.to_string());
    match error {
        Refusal::Library(error) | Refusal::Option(error) => raise(error),
        Refusal::Compiled(error) => refuse_library(error),
        Refusal::Room { .. } | Refusal::TooManyCoefficients { .. } => PyMemoryError::new_err(text),
        Refusal::FitExists { .. } | Refusal::RunExists { .. } | Refusal::Exists { .. } => {
            PyFileExistsError::new_err(text)
        }
        Refusal::Write { .. } | Refusal::Busy { .. } => PyOSError::new_err(text),
        Refusal::NotComparable { .. } => PyValueError::new_err(format!(
            "{text}; compare models of the same response in the same rows, or say force=True"
        )),
        Refusal::NoFit { path, .. } if !path.exists() => PyFileNotFoundError::new_err(text),
        _ => PyValueError::new_err(text),
    }
}

/// The same for errors of a compiled library.
pub(crate) fn refuse_library(error: LibraryError) -> PyErr {
    let text = error.to_string();
    match error {
        LibraryError::Core(error) => raise(error),
        LibraryError::NotFound { .. } => PyFileNotFoundError::new_err(text),
        LibraryError::Unreadable { .. } | LibraryError::Unloadable { .. } => PyOSError::new_err(text),
        LibraryError::Crashed { .. }
        | LibraryError::Probe { .. }
        | LibraryError::NoCompiler { .. }
        | LibraryError::Compilation { .. }
        | LibraryError::Constrain { .. } => PyRuntimeError::new_err(text),
        _ => PyValueError::new_err(text),
    }
}

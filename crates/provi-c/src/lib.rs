//! provi as a library of C functions: `include/provi_fit.h` says what each of them promises.
//!
//! A thin shell, like those for Python and R: arrays, texts and options in, the library's own types behind handles, arrays and texts
//! out. Mathematics, defaults and names of methods live in `provi-analysis` and below.
//!
//! | file | what it holds |
//! |---|---|
//! | `table.rs` | the handle of a table, and its columns |
//! | `options.rs` | JSON → the options of every shell |
//! | `fit.rs` | fits of a formula, of a design and of a C function |
//! | `density.rs` | a C function as a target |
//! | `run.rs` | a fit under watch: progress, stopping, threads |
//! | `answer.rs` | the handle of an answer, and its numbers and texts |
//! | `draw.rs` | draws of the answer, and of the posterior itself |
//! | `predict.rs` | predictions at new rows |
//! | `summary.rs` | an answer as text |
//! | `pointer.rs` | pointers → slices and texts, and back |
//! | `error.rs` | the last message of each thread; panics caught |
//!
//! No panic leaves a function, and every error has a message: that of `provi_last_error`.

mod answer;
mod density;
mod draw;
mod error;
mod fit;
mod options;
mod pointer;
mod predict;
mod run;
mod summary;
mod table;

use std::ffi::{CString, c_char};
use std::sync::OnceLock;

use error::text_or_null;
use pointer::c_text;

/// The version of the library.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn provi_version() -> *const c_char {
    static VERSION: OnceLock<CString> = OnceLock::new();
    text_or_null(|| Ok(VERSION.get_or_init(|| c_text(env!("CARGO_PKG_VERSION"))).as_ptr()))
}

/// The line about cards that `provi --version` prints; the driver is asked once.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn provi_devices() -> *const c_char {
    static DEVICES: OnceLock<CString> = OnceLock::new();
    text_or_null(|| Ok(DEVICES.get_or_init(|| c_text(&provi_gpu::survey())).as_ptr()))
}

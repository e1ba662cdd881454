//! The last message of each thread, and the net below every function.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use provi_analysis::options::in_keywords;

use crate::pointer::c_text;

/// The crate's result type.
pub(crate) type Result<T> = std::result::Result<T, Refused>;

/// What is refused here, and what the library refuses in its own words.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refused {
    #[error("{what} is NULL; give {needed}")]
    Null { what: &'static str, needed: &'static str },
    #[error("{what} has {found} entries, more than memory has addresses; check the length")]
    Size { what: &'static str, found: usize },
    #[error("{what} has {rows} × {columns} entries, more than memory has addresses; check both numbers")]
    Product { what: &'static str, rows: usize, columns: usize },
    #[error(
        "{what} needs {bytes} bytes, and the system gives no memory for them; hand over less at a time, or free some first"
    )]
    Memory { what: &'static str, bytes: usize },
    #[error("{what} is not UTF-8: byte {place} begins no character; convert it first")]
    NotUtf8 { what: &'static str, place: usize },
    #[error("{what} has the length {found}; it must be {expected}")]
    Length { what: &'static str, found: usize, expected: usize },
    #[error(
        "column `{column}` has {found} values, and the columns before it have {expected}; give it {expected}, with missing ones where \
         there are none"
    )]
    Column { column: String, found: usize, expected: usize },
    #[error("a table that was read from `{path}` takes no further columns; make one with provi_table_new")]
    FileColumns { path: String },
    #[error(
        "column `{column}`: row {row} has the level {code} of {levels}; count from 0, with a negative number for a missing value"
    )]
    Level { column: String, row: usize, code: i32, levels: usize },
    #[error("the options are not JSON: {reason}; write them as {{\"seed\": 1}}")]
    NotJson { reason: String },
    #[error("{said}; leave one of the two out")]
    Twice { said: String },
    #[error("{}", unknown(.key, .known))]
    Unknown { key: String, known: Vec<String> },
    #[error("option {key} = {value}: {reason}")]
    Value { key: String, value: String, reason: String },
    #[error("the option {key} is about columns of a table; fit a formula, or leave it out")]
    OfTables { key: String },
    #[error("a design says nothing of its response; give the option family: {known}")]
    NoFamily { known: String },
    #[error("the family {family} needs more than one number for each response; fit a formula to a table")]
    OfFormula { family: &'static str },
    #[error("the family {family} has no noise; leave the option {key} out")]
    NoNoise { family: &'static str, key: &'static str },
    #[error(
        "threads = {threads}, and one thread alone calls a density that is not thread-safe; declare it with thread_safe = true if it is, or \
         leave threads out"
    )]
    OneThread { threads: u32 },
    #[error(
        "the draws {first} to {first} + {draws} have numbers above 2^64 - 1; begin earlier, or take fewer"
    )]
    Draws { first: u64, draws: usize },
    #[error("stopped after {made} of {asked} draws; give `made`, and those that there are are kept")]
    Short { made: usize, asked: usize },
    #[error("threads = {threads}; must be between 1 and {most}")]
    Threads { threads: u32, most: u32 },
    #[error("dim = {dim}; must be between 1 and {most}")]
    Dim { dim: usize, most: usize },
    #[error(
        "smoothness is declared without convexity; declare that too, 0 if all that is known is that -log p is convex"
    )]
    NoConvexity,
    #[error("there is no {what} {index}: there are {count}, counted from 0")]
    Index { what: &'static str, index: usize, count: usize },
    #[error(
        "exact draws of a density need bounds of its curvature; give the options convexity, above 0, and smoothness"
    )]
    NoCurvature,
    #[error("exact draws of a formula need the rows that it was fitted to; give their table")]
    NoTable,
    #[error("this answer is not of a formula; exact draws of a design take no table: give NULL")]
    StrayTable,
    #[error(
        "exact draws need the model: it is kept by the answer of provi_fit_design, and made again from the table of a formula; {why}"
    )]
    NoModel { why: &'static str },
    #[error("a response of this family has {levels} levels; ask provi_answer_predict_levels")]
    Levels { levels: usize },
    #[error("the response of this answer has no levels; ask provi_answer_predict")]
    NoLevels,
    #[error("{}", analysis(.0))]
    Analysis(#[from] provi_analysis::Error),
    #[error(
        "the system gives no thread: {0}; end some threads of this program, or give the option threads a smaller number"
    )]
    Thread(#[from] std::io::Error),
    #[error(
        "a bug in provi: {0}; the answer is lost, and the program may go on: please report it, with what was asked for"
    )]
    Bug(String),
}

impl From<provi::Error> for Refused {
    fn from(error: provi::Error) -> Self {
        Self::Analysis(error.into())
    }
}

/// The library's own words, with options as they are written in JSON, and the way out from C.
fn analysis(error: &provi_analysis::Error) -> String {
    use provi_analysis::Error;
    let text = error.to_string();
    match error {
        // What the caller's own function said.
        Error::Library(provi::Error::Target { .. }) => text,
        Error::Response { .. } => {
            in_keywords(&text) + "; correct the value, recode the column, or name another family"
        }
        Error::Room { .. } => in_keywords(&text) + "; ask for less at a time",
        Error::FitExists { .. } => {
            in_keywords(&text) + "; name another folder, or give force = 1 to replace it"
        }
        _ => in_keywords(&text),
    }
}

fn unknown(key: &str, known: &[String]) -> String {
    let near = provi_table::nearest(key, known.iter().map(String::as_str));
    let near = near.map_or(String::new(), |near| format!("did you mean `{near}`? "));
    format!("there is no option `{key}`; {near}the options are {}", known.join(", "))
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// The message of the last function that failed on this thread; empty if none did.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn provi_last_error() -> *const c_char {
    // A thread that ends has no place for messages any more.
    const NONE: &CStr = c"";
    LAST.try_with(|last| last.borrow().as_ptr()).unwrap_or(NONE.as_ptr())
}

fn remember(refused: &Refused) {
    // As above.
    let _ = LAST.try_with(|last| *last.borrow_mut() = c_text(&refused.to_string()));
}

/// The work, and a panic in it as an error.
pub(crate) fn caught<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(bug(&*panic)))
}

fn kept<T>(work: impl FnOnce() -> Result<T>) -> Option<T> {
    caught(work).inspect_err(remember).ok()
}

/// 0, or 1 with a message.
pub(crate) fn status(work: impl FnOnce() -> Result<()>) -> c_int {
    c_int::from(kept(work).is_none())
}

/// A new handle, or NULL with a message.
pub(crate) fn boxed<T>(work: impl FnOnce() -> Result<T>) -> *mut T {
    kept(work).map_or(ptr::null_mut(), |made| Box::into_raw(Box::new(made)))
}

/// A text, or NULL with a message.
pub(crate) fn text_or_null(work: impl FnOnce() -> Result<*const c_char>) -> *const c_char {
    kept(work).unwrap_or(ptr::null())
}

/// A number, or what stands for none with a message.
pub(crate) fn value_or<T>(none: T, work: impl FnOnce() -> Result<T>) -> T {
    kept(work).unwrap_or(none)
}

fn bug(panic: &(dyn Any + Send)) -> Refused {
    let words =
        panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    Refused::Bug(words.unwrap_or("it panicked").to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last() -> String {
        // SAFETY: a text of this thread, copied before any further call.
        unsafe { CStr::from_ptr(provi_last_error()) }.to_str().unwrap().to_owned()
    }

    #[test]
    fn a_panic_is_a_message() {
        assert_eq!(last(), "");
        assert_eq!(status(|| Ok(())), 0);
        assert_eq!(status(|| panic!("row {}", 3)), 1);
        assert!(last().starts_with("a bug in provi: row 3; the answer is lost"), "{}", last());
        assert!(boxed::<u8>(|| Err(Refused::NoTable)).is_null());
        assert!(last().starts_with("exact draws of a formula"));
        assert_eq!(status(|| Ok(())), 0);
        assert!(last().starts_with("exact draws of a formula"), "what succeeds leaves the message alone");
    }

    #[test]
    fn an_option_is_spelled_as_in_json() {
        let error = provi_analysis::Error::AutoHasNoPlan { option: "noise-sd" };
        assert!(analysis(&error).starts_with("noise_sd is an option"), "{}", analysis(&error));
    }
}

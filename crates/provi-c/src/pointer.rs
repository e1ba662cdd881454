//! Pointers of C as slices and texts, and the way back. All that can be looked at without reading is refused here: NULL, and
//! lengths that are not the ones needed.

use std::ffi::{CStr, CString, c_char};
use std::{ptr, slice};

use crate::error::{Refused, Result};

/// What a handle points to.
///
/// # Safety
/// The handle is NULL, or was made here and not freed, and nothing writes to it while the reference lives.
pub(crate) unsafe fn handle<'a, T>(what: &'static str, handle: *const T) -> Result<&'a T> {
    // SAFETY: passed on to the caller.
    unsafe { handle.as_ref() }.ok_or(Refused::Null { what, needed: MADE })
}

/// The same, to be changed.
///
/// # Safety
/// As for [`handle`], and nothing reads it while the reference lives either.
pub(crate) unsafe fn handle_mut<'a, T>(what: &'static str, handle: *mut T) -> Result<&'a mut T> {
    // SAFETY: passed on to the caller.
    unsafe { handle.as_mut() }.ok_or(Refused::Null { what, needed: MADE })
}

const MADE: &str = "a handle that provi returned, which is NULL if its function failed";

/// Frees a handle; NULL is none.
///
/// # Safety
/// The handle is NULL, or came from [`crate::error::boxed`] and is not used again.
pub(crate) unsafe fn free<T>(handle: *mut T) {
    if !handle.is_null() {
        // SAFETY: as the caller promises, from `Box::into_raw`, and once.
        drop(unsafe { Box::from_raw(handle) });
    }
}

/// An array; of length 0 it may be NULL.
///
/// # Safety
/// If it is not NULL, so many entries can be read there, and nothing writes to them while the slice lives.
pub(crate) unsafe fn array<'a, T>(what: &'static str, first: *const T, length: usize) -> Result<&'a [T]> {
    if length == 0 {
        return Ok(&[]);
    }
    if first.is_null() {
        return Err(Refused::Null { what, needed: "an array" });
    }
    if length.checked_mul(size_of::<T>()).is_none_or(|bytes| isize::try_from(bytes).is_err()) {
        return Err(Refused::Size { what, found: length });
    }
    // SAFETY: not NULL, of a size that can be; the rest is the caller's promise.
    Ok(unsafe { slice::from_raw_parts(first, length) })
}

/// How many entries so many rows of so many columns have; refused if memory has fewer addresses.
pub(crate) fn product(what: &'static str, rows: usize, columns: usize) -> Result<usize> {
    let fits = |count: &usize| {
        count.checked_mul(size_of::<f64>()).is_some_and(|bytes| isize::try_from(bytes).is_ok())
    };
    rows.checked_mul(columns).filter(fits).ok_or(Refused::Product { what, rows, columns })
}

/// Results of an array of the caller's, if there is memory for them: a failed allocation would end the process, and here the
/// caller's numbers decide how large it is.
pub(crate) fn collected<T, U>(
    what: &'static str,
    values: &[T],
    one: impl FnMut((usize, &T)) -> Result<U>,
) -> Result<Vec<U>> {
    let mut out = Vec::new();
    let bytes = values.len().saturating_mul(size_of::<U>());
    out.try_reserve_exact(values.len()).map_err(|_| Refused::Memory { what, bytes })?;
    for found in values.iter().enumerate().map(one) {
        out.push(found?);
    }
    Ok(out)
}

/// A copy of an array of the caller's, if there is memory for it.
pub(crate) fn copied<T: Copy>(what: &'static str, values: &[T]) -> Result<Vec<T>> {
    let mut out = Vec::new();
    let bytes = size_of_val(values);
    out.try_reserve_exact(values.len()).map_err(|_| Refused::Memory { what, bytes })?;
    out.extend_from_slice(values);
    Ok(out)
}

/// Copies values into an array of exactly that length.
///
/// # Safety
/// If it is not NULL, so many entries can be written there.
pub(crate) unsafe fn put<T: Copy>(
    what: &'static str,
    first: *mut T,
    length: usize,
    values: &[T],
) -> Result<()> {
    room(what, length, values.len())?;
    match (first.is_null(), values.is_empty()) {
        (_, true) => Ok(()),
        (true, false) => Err(Refused::Null { what, needed: "an array for the results" }),
        (false, false) => {
            // SAFETY: the caller's array has that many entries, and the values are ours, so they do not overlap.
            unsafe { ptr::copy_nonoverlapping(values.as_ptr(), first, values.len()) };
            Ok(())
        }
    }
}

/// The same for results that the caller may not want: NULL.
///
/// # Safety
/// As for [`put`].
pub(crate) unsafe fn put_if_wanted<T: Copy>(
    what: &'static str,
    first: *mut T,
    length: usize,
    values: &[T],
) -> Result<()> {
    match first.is_null() {
        true => Ok(()),
        // SAFETY: passed on to the caller.
        false => unsafe { put(what, first, length, values) },
    }
}

/// Refuses an array of another length than is needed, before the work.
pub(crate) fn room(what: &'static str, found: usize, expected: usize) -> Result<()> {
    match found == expected {
        true => Ok(()),
        false => Err(Refused::Length { what, found, expected }),
    }
}

/// A text.
///
/// # Safety
/// It is NULL, or ends with a zero byte and stays as it is while the reference lives.
pub(crate) unsafe fn text<'a>(what: &'static str, text: *const c_char) -> Result<&'a str> {
    // SAFETY: passed on to the caller.
    unsafe { maybe_text(what, text) }?.ok_or(Refused::Null { what, needed: "a text" })
}

/// A text that may be left out: NULL.
///
/// # Safety
/// As for [`text`].
pub(crate) unsafe fn maybe_text<'a>(what: &'static str, text: *const c_char) -> Result<Option<&'a str>> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: not NULL; the rest is the caller's promise.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map(Some).map_err(|error| Refused::NotUtf8 { what, place: error.valid_up_to() })
}

/// Texts, each of which may be NULL.
///
/// # Safety
/// As for [`array`] and [`text`].
pub(crate) unsafe fn maybe_texts(
    what: &'static str,
    first: *const *const c_char,
    length: usize,
) -> Result<Vec<Option<String>>> {
    // SAFETY: passed on to the caller.
    let pointers = unsafe { array(what, first, length) }?;
    // SAFETY: as above.
    collected(what, pointers, |(_, &pointer)| Ok(unsafe { maybe_text(what, pointer) }?.map(str::to_owned)))
}

/// Texts, none of which is NULL.
///
/// # Safety
/// As for [`array`] and [`text`].
pub(crate) unsafe fn texts(
    what: &'static str,
    first: *const *const c_char,
    length: usize,
) -> Result<Vec<String>> {
    // SAFETY: passed on to the caller.
    let found = unsafe { maybe_texts(what, first, length) }?;
    let one = |text: Option<String>| text.ok_or(Refused::Null { what, needed: "a text for each entry" });
    found.into_iter().map(one).collect()
}

/// A text for C. What C takes for its end is replaced: a name that was read from a file may hold anything.
pub(crate) fn c_text(text: &str) -> CString {
    CString::new(text.replace('\0', "\u{fffd}")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_seen_without_reading_is_refused() {
        // SAFETY: NULL, an array of length 0, and one whose size is refused before it is read.
        let found = unsafe {
            let wrong = ptr::dangling::<f64>();
            [array("x", ptr::null::<f64>(), 2), array("x", wrong, 0), array("x", wrong, usize::MAX)]
        };
        let [null, nothing, huge] = found;
        assert_eq!(null.unwrap_err().to_string(), "x is NULL; give an array");
        assert!(nothing.unwrap().is_empty());
        assert!(huge.unwrap_err().to_string().starts_with("x has 18446744073709551615 entries"));
    }

    #[test]
    fn what_no_memory_holds_is_refused() {
        let said = product("design", usize::MAX / 2, 3).unwrap_err().to_string();
        assert!(said.starts_with(&format!("design has {} × 3 entries", usize::MAX / 2)), "{said}");
        assert_eq!(product("design", 2, 3).unwrap(), 6);
        // Entries without a size make an array of any length; copies of them with one need too much.
        const MANY: &[()] = &[(); usize::MAX];
        let said = collected("values", MANY, |_| Ok(0u64)).unwrap_err().to_string();
        assert!(
            said.starts_with("values needs 18446744073709551615 bytes, and the system gives no memory"),
            "{said}"
        );
        assert_eq!(copied("values", &[1, 2]).unwrap(), [1, 2]);
    }

    #[test]
    fn results_fit_exactly_or_are_not_written() {
        let mut out = [0u32; 3];
        // SAFETY: the lengths are those of the array, or refused.
        let [short, exact, unwanted] = unsafe {
            [
                put("mean", out.as_mut_ptr(), 3, &[1, 2]),
                put("mean", out.as_mut_ptr(), 3, &[1, 2, 3]),
                put_if_wanted("mean", ptr::null_mut(), 0, &[1]),
            ]
        };
        assert_eq!(short.unwrap_err().to_string(), "mean has the length 3; it must be 2");
        exact.unwrap();
        unwanted.unwrap();
        assert_eq!(out, [1, 2, 3]);
    }

    #[test]
    fn a_text_is_utf_8() {
        // SAFETY: texts of this program.
        let [good, bad] = unsafe { [c"größe", c"gr\xf6\xdfe"].map(|words| text("name", words.as_ptr())) };
        assert_eq!(good.unwrap(), "größe");
        assert_eq!(
            bad.unwrap_err().to_string(),
            "name is not UTF-8: byte 2 begins no character; convert it first"
        );
        assert_eq!(c_text("a\0b").to_str(), Ok("a\u{fffd}b"));
    }
}

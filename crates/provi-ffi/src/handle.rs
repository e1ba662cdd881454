//! A foreign object that is closed exactly once.

use crate::gate::Gate;

/// An object that foreign code made, and the function that frees it.
#[derive(Debug)]
pub(crate) struct Handle<T> {
    pointer: *mut T,
    close: Option<unsafe extern "C" fn(*mut T)>,
    /// Whether several threads may use it at the same time; one at a time until the code is known to allow more.
    pub(crate) gate: Gate,
}

impl<T> Handle<T> {
    /// Takes ownership of an object; null if the code has none.
    ///
    /// # Safety
    /// `close` accepts `pointer` once, unless that is null, on any thread; nobody else closes it.
    pub(crate) unsafe fn new(pointer: *mut T, close: Option<unsafe extern "C" fn(*mut T)>) -> Self {
        Self { pointer, close, gate: Gate::Single }
    }

    /// The pointer; valid as long as the handle lives.
    pub(crate) fn pointer(&self) -> *mut T {
        self.pointer
    }
}

impl<T> Drop for Handle<T> {
    fn drop(&mut self) {
        if let Some(close) = self.close.filter(|_| !self.pointer.is_null()) {
            let _turn = self.gate.enter_to_close();
            // SAFETY: `new` promises that it may be closed; it is closed here alone.
            unsafe { close(self.pointer) }
        }
    }
}

//! Who may call a library at the same time.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// One call at a time, over all libraries: two models of one library share its globals, and two libraries may share a third.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Open to all threads, or to one at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gate {
    Open,
    Single,
}

impl Gate {
    pub(crate) fn new(thread_safe: bool) -> Self {
        if thread_safe { Self::Open } else { Self::Single }
    }

    /// Hold the result while calling.
    pub(crate) fn enter(self) -> Option<MutexGuard<'static, ()>> {
        (self == Self::Single).then(|| ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

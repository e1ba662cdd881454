//! Which threads may call foreign code at the same time.

use provi::{Error, Result};
use std::cell::Cell;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// One call at a time, over all libraries: two models of one library share its globals, and two libraries may share
/// a third library.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

thread_local! {
    /// Whether this thread has the turn.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Open to all threads, or to one at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// Several threads may be in the code at once; its owner declares that.
    Open,
    /// One thread at a time, among all code with such gates.
    Single,
}

impl Gate {
    /// The gate of code that is, or is not, safe for several threads.
    pub fn new(thread_safe: bool) -> Self {
        if thread_safe { Self::Open } else { Self::Single }
    }

    /// Waits for a turn; hold the result while calling. An error if this thread already has the turn: it would wait
    /// for itself forever, and code that takes one call at a time may not be entered twice.
    pub fn enter(self) -> Result<Turn> {
        match self {
            Self::Open => Ok(Turn { _held: None }),
            Self::Single if is_inside() => Err(reentered()),
            Self::Single => Ok(Turn::wait()),
        }
    }

    /// Waits for a turn to close something. If this thread already has the turn, it uses it: closing must not fail.
    pub(crate) fn enter_to_close(self) -> Turn {
        if self == Self::Open || is_inside() { Turn { _held: None } } else { Turn::wait() }
    }

    /// An error if entering this gate, on any thread, on behalf of a call of this thread that has the turn would
    /// wait forever.
    pub fn check(self) -> Result<()> {
        if self == Self::Single && is_inside() { Err(reentered()) } else { Ok(()) }
    }
}

/// The right to call, until it is dropped.
#[derive(Debug)]
#[must_use = "the turn ends when this is dropped"]
pub struct Turn {
    _held: Option<Held>,
}

impl Turn {
    fn wait() -> Self {
        let guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        INSIDE.set(true);
        Self { _held: Some(Held { _guard: guard }) }
    }
}

#[derive(Debug)]
struct Held {
    _guard: MutexGuard<'static, ()>,
}

impl Drop for Held {
    fn drop(&mut self) {
        INSIDE.set(false);
    }
}

fn is_inside() -> bool {
    INSIDE.get()
}

fn reentered() -> Error {
    let message = "foreign code called provi, which would have to call such code again; code that does not declare itself \
                   thread-safe is called once at a time: declare it so if it is, or evaluate nothing from inside it";
    Error::Target { message: message.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::Gate;

    #[test]
    fn a_turn_is_not_given_twice_to_a_thread_and_closing_needs_no_second() {
        let turn = Gate::Single.enter().unwrap();
        assert!(Gate::Single.enter().unwrap_err().to_string().contains("once at a time"));
        assert!(Gate::Single.check().is_err() && Gate::Open.check().is_ok());
        drop(Gate::Single.enter_to_close());
        // Closing did not end the turn.
        assert!(Gate::Single.enter().is_err());
        drop(Gate::Open.enter().unwrap());
        drop(turn);
        drop(Gate::Single.enter().unwrap());
        Gate::Single.check().unwrap();
    }

    #[test]
    fn another_thread_waits_for_its_turn() {
        let turn = Gate::Single.enter().unwrap();
        let other = std::thread::spawn(|| {
            // Not inside: it may wait.
            Gate::Single.check().unwrap();
            let _turn = Gate::Single.enter().unwrap();
        });
        assert!(!other.is_finished());
        drop(turn);
        other.join().unwrap();
    }
}

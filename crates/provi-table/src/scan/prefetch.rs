//! One thread makes the next item while another works on the last.

use std::{
    ops::ControlFlow,
    panic::resume_unwind,
    sync::mpsc::{Receiver, sync_channel},
    thread,
};

use crate::error::{Error, Result};

/// Passes an item on; breaks once no more are wanted.
pub(super) type Give<'a, T> = dyn FnMut(T) -> Result<ControlFlow<()>> + 'a;

/// Visits, on this thread, the items that `make` produces on another thread, in order.
///
/// At most three items exist at a time: one with the visitor, one ready, one being made. The thread has ended when
/// this function returns. An error of the visitor stops the thread and takes precedence over an error of `make`.
pub(super) fn prefetched<T: Send, E: From<Error>>(
    make: impl FnOnce(&mut Give<'_, T>) -> Result<()> + Send,
    visit: &mut dyn FnMut(T) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    thread::scope(|scope| {
        let (sender, receiver) = sync_channel(1);
        let maker = scope.spawn(move || {
            make(&mut |item| {
                Ok(match sender.send(item) {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(_) => ControlFlow::Break(()),
                })
            })
        });
        let visited = all(receiver, visit);
        match maker.join() {
            Ok(made) => visited.and_then(|()| made.map_err(E::from)),
            Err(panic) => resume_unwind(panic),
        }
    })
}

/// Visits every item. The receiver is dropped on return, so that the sender does not wait for it.
fn all<T, E>(
    receiver: Receiver<T>,
    visit: &mut dyn FnMut(T) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    receiver.into_iter().try_for_each(visit)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::error::BadFile;

    fn numbers(count: usize, made: &AtomicUsize) -> impl FnOnce(&mut Give<'_, usize>) -> Result<()> + Send {
        move |give| {
            for i in 0..count {
                made.fetch_add(1, Ordering::SeqCst);
                if give(i)?.is_break() {
                    return Ok(());
                }
            }
            Err(Error::File(BadFile::EmptyFile { table: "end".into() }))
        }
    }

    #[test]
    fn items_come_in_order_and_an_error_behind_them_is_passed_on() {
        let (mut seen, made) = (Vec::new(), AtomicUsize::new(0));
        let visited: Result<()> = prefetched(numbers(100, &made), &mut |i| {
            seen.push(i);
            Ok(())
        });
        assert_eq!(visited, Err(Error::File(BadFile::EmptyFile { table: "end".into() })));
        assert_eq!(seen, (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn no_more_than_two_items_are_made_ahead_of_the_visitor() {
        let (mut visited, made) = (0, AtomicUsize::new(0));
        let outcome: Result<()> = prefetched(numbers(50, &made), &mut |_| {
            visited += 1;
            // One visited, one ready, one in the maker's hands; it may have begun the count of that one.
            assert!(made.load(Ordering::SeqCst) <= visited + 2);
            Ok(())
        });
        assert!(outcome.is_err());
    }

    #[test]
    fn a_visitor_that_fails_stops_the_maker() {
        let made = AtomicUsize::new(0);
        let outcome: Result<()> = prefetched(numbers(1000, &made), &mut |i| match i {
            3 => Err(Error::File(BadFile::NotFound { path: "stop".into() })),
            _ => Ok(()),
        });
        assert_eq!(outcome, Err(Error::File(BadFile::NotFound { path: "stop".into() })));
        assert!(made.load(Ordering::SeqCst) <= 6);
    }

    #[test]
    #[should_panic(expected = "a bug")]
    fn a_panic_of_the_maker_is_one_of_the_caller() {
        let _: Result<()> = prefetched(|_: &mut Give<'_, ()>| panic!("a bug"), &mut |()| Ok(()));
    }
}

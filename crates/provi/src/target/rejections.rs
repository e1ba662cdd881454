//! Points that a target refused, with its reason.

use std::sync::{Mutex, PoisonError};

/// How many points were refused, and one reason among those given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rejections {
    /// Points refused.
    pub count: u64,
    /// One reason in the target's own words: the alphabetically first, so that the order of threads does not
    /// matter.
    pub message: Option<String>,
}

/// Records rejections from any thread.
///
/// ```
/// use provi::target::RejectionLog;
///
/// let log = RejectionLog::default();
/// log.note("scale parameter is -1, but must be positive");
/// assert_eq!(log.so_far().count, 1);
/// ```
#[derive(Debug, Default)]
pub struct RejectionLog(Mutex<Rejections>);

impl RejectionLog {
    /// Records one refused point.
    pub fn note(&self, message: &str) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        seen.count += 1;
        if seen.message.as_deref().is_none_or(|known| message < known) {
            seen.message = Some(message.to_owned());
        }
    }

    /// The rejections so far.
    pub fn so_far(&self) -> Rejections {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_kept_does_not_depend_on_the_order() {
        for order in [["b", "a", "c"], ["c", "b", "a"]] {
            let log = RejectionLog::default();
            order.iter().for_each(|word| log.note(word));
            assert_eq!(log.so_far(), Rejections { count: 3, message: Some("a".into()) });
        }
    }
}

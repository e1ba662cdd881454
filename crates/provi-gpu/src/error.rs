//! What can go wrong between the processor and a card.

/// Why a card cannot be used, or stopped being usable. Every message names the way out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The driver's library is not on this machine, or is too old.
    #[error("no CUDA: {reason}; everything runs on the processor")]
    NoDriver {
        /// What the loader or the driver said.
        reason: String,
    },
    /// The driver works and reports no such card.
    #[error("no card cuda:{index}: cards on this machine: {count}")]
    NoCard {
        /// The card asked for.
        index: u32,
        /// How many there are.
        count: u32,
    },
    /// The card lacks 64-bit matrix instructions.
    #[error(
        "{name} has compute capability {major}.{minor}, and the kernels need 8.0; everything runs on the processor"
    )]
    TooOld {
        /// The card's name.
        name: String,
        /// Its compute capability.
        major: i32,
        /// After the point.
        minor: i32,
    },
    /// What would not fit on the card.
    #[error(
        "the card has {free} bytes free and {what} need {needed}; give it fewer rows or draws at a time, or stay on the processor"
    )]
    Memory {
        /// What was to be stored.
        what: &'static str,
        /// Bytes needed.
        needed: u64,
        /// Bytes free.
        free: u64,
    },
    /// A call of the driver failed. A card that was lost in the middle of a run is reported so.
    #[error(
        "the card failed in {call}: {name} ({code}); results that were read before are kept; open the card again, or go on with the processor"
    )]
    Driver {
        /// The driver's function.
        call: &'static str,
        /// Its return code.
        code: i32,
        /// The name of the code.
        name: String,
    },
    /// A length that does not fit the others.
    #[error("{what}: {found} numbers, and {expected} are needed")]
    Shape {
        /// Which argument.
        what: &'static str,
        /// Its length.
        found: usize,
        /// The length that fits.
        expected: usize,
    },
    /// A number outside its range.
    #[error("{what} = {value}, and {needed} is needed")]
    OutOfRange {
        /// Which number.
        what: &'static str,
        /// Its value, printed.
        value: String,
        /// The range.
        needed: &'static str,
    },
}

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

pub(crate) fn same_length(what: &'static str, found: usize, expected: usize) -> Result<()> {
    if found == expected { Ok(()) } else { Err(Error::Shape { what, found, expected }) }
}

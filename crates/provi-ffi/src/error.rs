//! What a library is refused for.

use std::path::PathBuf;

/// The crate's result type.
pub type Result<T> = std::result::Result<T, Error>;

/// Everything this crate refuses. Messages of the library itself are passed on as they are.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No file at that path.
    #[error("no file `{}`; check the path; a relative one starts at the current folder", .path.display())]
    NotFound {
        /// The path as given.
        path: PathBuf,
    },
    /// A file cannot be read or a folder not entered.
    #[error("cannot read `{}`: {reason}", .path.display())]
    Unreadable {
        /// The path.
        path: PathBuf,
        /// The system's words.
        reason: String,
    },
    /// The system cannot load it.
    #[error("`{}` cannot be loaded as a shared library: {reason}", .path.display())]
    Unloadable {
        /// The path.
        path: PathBuf,
        /// The system's words.
        reason: String,
    },
    /// A function that is called is not there.
    #[error("`{}` has no symbol `{symbol}`, which {interface} needs{}", .path.display(), hint(.interface))]
    MissingSymbol {
        /// The library.
        path: PathBuf,
        /// The symbol looked for.
        symbol: &'static str,
        /// The interface it belongs to.
        interface: &'static str,
    },
    /// Another version of the interface.
    #[error("`{}` speaks version {found} of {interface}, and version {needed} is needed; compile it anew", .path.display())]
    Version {
        /// The library.
        path: PathBuf,
        /// The interface.
        interface: &'static str,
        /// The version found.
        found: String,
        /// The versions that will do.
        needed: &'static str,
    },
    /// The library would not make a model of these data.
    #[error("`{}` refused the data: {message}", .path.display())]
    Construction {
        /// The library.
        path: PathBuf,
        /// Its own words.
        message: String,
    },
    /// A text that C cannot hold.
    #[error("{what} holds a zero byte at position {position}; it must be plain text")]
    ZeroByte {
        /// The text.
        what: &'static str,
        /// Where.
        position: usize,
    },
    /// A number of parameters or a name that makes no sense.
    #[error("`{}` gives {what}: {found}", .path.display())]
    Nonsense {
        /// The library.
        path: PathBuf,
        /// What was asked for.
        what: &'static str,
        /// The answer.
        found: String,
    },
    /// A draw that could not be brought to the constrained scale.
    #[error("draw {draw} cannot be brought to the constrained scale: {message}")]
    Constrain {
        /// Its row.
        draw: usize,
        /// The library's own words.
        message: String,
    },
    /// Values of parameters that could not be brought to the unconstrained scale.
    #[error("the initial values were refused: {message}")]
    Unconstrain {
        /// The library's own words.
        message: String,
    },
    /// The Gaussian's draws or their weights.
    #[error("{0}")]
    Core(#[from] provi::Error),
    /// The library took the probing process with it.
    #[error("`{}` crashed while {stage} ({how}); it was probed in a process of its own, and nothing else is lost: check the library with its own tools", .path.display())]
    Crashed {
        /// The library.
        path: PathBuf,
        /// What it was doing.
        stage: String,
        /// How the process ended.
        how: String,
    },
    /// The probing process could not be started or understood.
    #[error("the library cannot be probed: {reason}")]
    Probe {
        /// Why.
        reason: String,
    },
    /// A `.stan` file and nothing to compile it with.
    #[error("`{}` has to be compiled, and no BridgeStan was found ({looked}); {}", .model.display(), crate::compile::INSTRUCTION)]
    NoCompiler {
        /// The model.
        model: PathBuf,
        /// Where it was looked for.
        looked: String,
    },
    /// A `.stan` file with a name that make would take for something else.
    #[error("`{}` cannot be compiled under this name, as make splits names at spaces and reads signs such as $, % and :; rename it to letters, digits, - and _", .model.display())]
    UnfitName {
        /// The model.
        model: PathBuf,
    },
    /// The compiler refused a `.stan` file.
    #[error("`{}` does not compile ({command}):\n{output}", .model.display())]
    Compilation {
        /// The model.
        model: PathBuf,
        /// What was run.
        command: String,
        /// The end of what it said.
        output: String,
    },
}

fn hint(interface: &str) -> &'static str {
    if interface == crate::stan::INTERFACE {
        "; is it a library of BridgeStan, and not of CmdStan or an older version?"
    } else {
        "; see include/provi.h"
    }
}

impl From<Error> for provi::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::Core(error) => error,
            other => Self::Target { message: other.to_string() },
        }
    }
}

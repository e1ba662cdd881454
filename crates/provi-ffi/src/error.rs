//! Errors of a library.

use std::path::PathBuf;

/// The crate's result type.
pub type Result<T> = std::result::Result<T, Error>;

/// Everything that this crate refuses. Messages of the library itself are passed on unchanged.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no file at that path.
    #[error("no file `{}`; check the path; a relative one starts at the current folder", .path.display())]
    NotFound {
        /// The path as given.
        path: PathBuf,
    },
    /// A file cannot be read, or a folder not entered.
    #[error("cannot read `{}`: {reason}", .path.display())]
    Unreadable {
        /// The path.
        path: PathBuf,
        /// The system's message.
        reason: String,
    },
    /// The system cannot load the library.
    #[error("`{}` cannot be loaded as a shared library: {reason}", .path.display())]
    Unloadable {
        /// The path.
        path: PathBuf,
        /// The system's message.
        reason: String,
    },
    /// A function that provi calls is missing.
    #[error("`{}` has no symbol `{symbol}`, which {interface} needs{}", .path.display(), hint(.interface))]
    MissingSymbol {
        /// The library.
        path: PathBuf,
        /// The symbol looked for.
        symbol: &'static str,
        /// The interface it belongs to.
        interface: &'static str,
    },
    /// The library has another version of the interface.
    #[error("`{}` has version {found} of {interface}, and version {needed} is needed; compile it again", .path.display())]
    Version {
        /// The library.
        path: PathBuf,
        /// The interface.
        interface: &'static str,
        /// The version found.
        found: String,
        /// The versions that work.
        needed: &'static str,
    },
    /// The library could not make a model from these data.
    #[error("`{}` refused the data: {message}", .path.display())]
    Construction {
        /// The library.
        path: PathBuf,
        /// The library's own message.
        message: String,
    },
    /// A text with a zero byte, which C cannot hold.
    #[error("{what} holds a zero byte at position {position}; it must be plain text")]
    ZeroByte {
        /// The text.
        what: &'static str,
        /// Position of the zero byte.
        position: usize,
    },
    /// A number of parameters or a name that makes no sense.
    #[error("`{}` gives {what}: {found}", .path.display())]
    Nonsense {
        /// The library.
        path: PathBuf,
        /// What was asked for.
        what: &'static str,
        /// The library's answer.
        found: String,
    },
    /// A draw that could not be mapped to the constrained scale.
    #[error("draw {draw} cannot be mapped to the constrained scale: {message}")]
    Constrain {
        /// Row of the draw.
        draw: usize,
        /// The library's own message.
        message: String,
    },
    /// Values of parameters that could not be mapped to the unconstrained scale.
    #[error("the initial values were refused: {message}")]
    Unconstrain {
        /// The library's own message.
        message: String,
    },
    /// An error of the library provi, about the Gaussian's draws or their weights.
    #[error("{0}")]
    Core(#[from] provi::Error),
    /// The library crashed the probing process.
    #[error("`{}` crashed while {stage} ({how}); it was probed in another process, and nothing else is lost: check the library with its own tools", .path.display())]
    Crashed {
        /// The library.
        path: PathBuf,
        /// What it was doing.
        stage: String,
        /// How the process ended.
        how: String,
    },
    /// The probing process could not be started, or its output not read.
    #[error("the library cannot be probed: {reason}")]
    Probe {
        /// Why.
        reason: String,
    },
    /// A `.stan` file, but no BridgeStan to compile it.
    #[error("`{}` must be compiled, and no BridgeStan was found ({looked}); {}", .model.display(), crate::compile::INSTRUCTION)]
    NoCompiler {
        /// The model.
        model: PathBuf,
        /// Where it was looked for.
        looked: String,
    },
    /// A `.stan` file with a name that make would misread.
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
        /// The command.
        command: String,
        /// The end of its output.
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

//! Output that is written as it is made, so that a long list takes little memory.

use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::Path;

use provi_analysis::Error;
use provi_analysis::record::store;

use crate::command::Outcome;
use crate::failure::{Failure, Result};

/// Why a writer stopped: an error of the destination, or of the contents.
#[derive(Debug)]
pub(crate) enum Stop {
    Place(io::Error),
    Matter(Failure),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Place(error)
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Matter(error.into())
    }
}

impl Stop {
    /// For matter that is held, and written later.
    pub(crate) fn into_failure(self) -> Failure {
        match self {
            Self::Place(error) => Failure::Print(error.to_string()),
            Self::Matter(failure) => failure,
        }
    }
}

/// Writes a text bit by bit.
pub(crate) trait Fill: FnOnce(&mut dyn Write) -> std::result::Result<(), Stop> {}

impl<F: FnOnce(&mut dyn Write) -> std::result::Result<(), Stop>> Fill for F {}

/// Writes to standard output. If the reader has closed the pipe (`| head`), that is not an error.
pub(crate) fn to_stdout(fill: impl Fill) -> Result<Outcome> {
    let mut out = BufWriter::new(io::stdout().lock());
    let end = fill(&mut out).and_then(|()| Ok(out.flush()?));
    // The rest of the buffer is discarded.
    let _ = out.into_parts();
    match end {
        Err(Stop::Place(error)) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::Print(error.to_string()))
        }
        Err(Stop::Matter(failure)) => Err(failure),
        _ => Ok(Outcome::said(String::new())),
    }
}

/// Writes to a file, completely or not at all.
pub(crate) fn to_file(path: &Path, fill: impl Fill) -> Result<Outcome> {
    store::write_file_with(path, fill).map_err(|stop| match stop {
        Stop::Place(error) => Failure::from(Error::write(path, &error)),
        Stop::Matter(failure) => failure,
    })?;
    Ok(Outcome::said(format!("written to {}\n", path.display())))
}

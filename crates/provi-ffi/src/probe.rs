//! The first call in another process, so that a library that crashes is reported and does not crash provi.
//!
//! A library crate has no program of its own that it could run, so the work is shared: a shell offers a command
//! that ends in [`child`] (`provi probe-library`, `python -m provi._probe`), and calls [`check`] with that command
//! before it opens a library itself. The child does not report errors other than crashes; the shell finds them when
//! it opens the library.

use crate::children;
use crate::error::{Error, Result};
use crate::{NativeModel, StanModel};
use provi::Target;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

/// Which interface a library has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A model of BridgeStan.
    Stan,
    /// The functions of `include/provi.h`.
    Native,
}

impl Kind {
    /// Its name on a command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Stan => "stan",
            Self::Native => "native",
        }
    }

    /// The interface with that name.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Stan, Self::Native].into_iter().find(|kind| kind.word() == word)
    }
}

/// What to open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Its interface.
    pub kind: Kind,
    /// The library.
    pub path: PathBuf,
    /// The contents of its data file.
    pub data: Option<String>,
    /// The seed of [`StanModel::open`].
    pub seed: u32,
}

const STAGES: [&str; 3] = ["being loaded", "making a model of the data", "evaluating the density"];

/// Tries the library in a child: `command` must run [`child`] with the three arguments that are added here; the
/// data are on its standard input.
pub fn check(mut command: Command, request: &Request) -> Result<()> {
    command.arg(request.kind.word()).arg(&request.path).arg(request.seed.to_string());
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    let data = request.data.as_ref().map(|data| format!("+{data}")).unwrap_or_default();
    let output = children::run(&mut command, Some(data.as_bytes()), &[])
        .map_err(|reason| Error::Probe { reason: reason.to_string() })?;
    if output.status.success() {
        return Ok(());
    }
    let reached = String::from_utf8_lossy(&output.stdout).lines().filter(|line| *line == STAGE).count();
    let Some(stage) = reached.checked_sub(1).and_then(|at| STAGES.get(at)) else {
        let reason = format!("{command:?} ended with {} before it began", output.status);
        return Err(Error::Probe { reason });
    };
    let how = ending(output.status);
    Err(Error::Crashed { path: request.path.clone(), stage: (*stage).into(), how })
}

/// A line that the child prints on standard output for each stage it enters; a library may print there too.
const STAGE: &str = "provi-probe-stage";

/// What the child does: it loads, constructs and evaluates once, and prints each stage. It returns only if nothing
/// crashed.
///
/// The arguments are those that [`check`] added.
pub fn child(kind: &str, path: &Path, seed: &str) -> Result<()> {
    let unknown = |what: &str| Error::Probe { reason: format!("unknown {what}") };
    let kind = Kind::from_word(kind).ok_or_else(|| unknown("kind of library"))?;
    let seed = seed.parse().map_err(|_| unknown("seed"))?;
    let mut data = String::new();
    std::io::stdin().read_to_string(&mut data).map_err(|e| Error::Probe { reason: e.to_string() })?;
    let data = data.strip_prefix('+');
    let enter = || {
        let mut out = std::io::stdout();
        // If this fails, the parent has ended and nobody needs the line. It starts on a new line, whatever was
        // printed before.
        let _ = writeln!(out, "\n{STAGE}").and_then(|()| out.flush());
    };
    enter();
    // If it cannot be loaded, the parent's own attempt gives a better message.
    if crate::library::Library::open(path, "a library").is_err() {
        return Ok(());
    }
    enter();
    let model: Box<dyn Target> = match kind {
        Kind::Stan => match StanModel::open(path, data, seed) {
            Ok(model) => Box::new(model),
            Err(_) => return Ok(()),
        },
        Kind::Native => match NativeModel::open(path, data) {
            Ok(model) => Box::new(model),
            Err(_) => return Ok(()),
        },
    };
    enter();
    let d = model.dim();
    let _ = model.log_density(&vec![0.0; d], &mut vec![0.0; d]);
    Ok(())
}

fn ending(status: ExitStatus) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        let name = match signal {
            4 => "illegal instruction",
            6 => "abort",
            7 => "bus error",
            8 => "arithmetic error",
            9 => "killed",
            11 => "segmentation fault",
            _ => return format!("signal {signal}"),
        };
        return format!("signal {signal}, {name}");
    }
    status.to_string()
}

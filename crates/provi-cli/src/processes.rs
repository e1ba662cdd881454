//! `--distributed` hands over to the program that uses MPI, so that this one needs no MPI to build or to run.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use crate::failure::{Failure, Result};

/// The program for several processes.
const PROGRAM: &str = "provi-mpi";

/// Replaces this process by that program, with the same arguments; on Unix it stays the process that `mpirun`
/// started. Returns only if that fails.
pub(crate) fn hand_over() -> Result<std::convert::Infallible> {
    let mut command = Command::new(program());
    command.args(std::env::args_os().skip(1));
    Err(Failure::NoProcesses { reason: become_it(command) })
}

/// The program beside this one, or on the path.
fn program() -> OsString {
    let beside = std::env::current_exe().ok().map(|own| own.with_file_name(PROGRAM));
    beside.filter(|path| path.exists()).map_or(PROGRAM.into(), PathBuf::into_os_string)
}

#[cfg(unix)]
fn become_it(mut command: Command) -> String {
    use std::os::unix::process::CommandExt;
    command.exec().to_string()
}

#[cfg(not(unix))]
fn become_it(mut command: Command) -> String {
    match command.status() {
        Ok(status) => std::process::exit(status.code().unwrap_or(2)),
        Err(error) => error.to_string(),
    }
}

//! `provi` as one of the processes of an MPI job: `mpirun -n 8 provi fit … --distributed` hands over to it.
#![forbid(unsafe_code)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::Arc;

use provi::stream::Reduce;
use provi_mpi::Job;

fn main() -> ExitCode {
    let Some((job, ranks)) = Job::start() else {
        eprintln!(
            "MPI cannot be started: it must let one thread after another call it (MPI_THREAD_SERIALIZED)"
        );
        return ExitCode::from(2);
    };
    let ranks = Arc::new(ranks);
    let crew = Arc::clone(&ranks);
    match catch_unwind(AssertUnwindSafe(|| provi_cli::main_among(crew))) {
        Ok(code) => {
            drop(job);
            code
        }
        Err(_) => {
            // The others would wait for this process for ever.
            eprintln!("rank {} of {} panicked, and ends the job", ranks.rank(), ranks.size());
            ranks.abort(101)
        }
    }
}

//! Sums over the processes that `mpirun` started.
//!
//! Each process holds some of the rows of one model. Every pass over the data ends in one allreduce, after which
//! every process has the same numbers and makes the same steps. The command for several processes is `provi-mpi`,
//! to which `provi fit --distributed` hands over.
//!
//! Without the feature `mpi` this crate is empty, so that nothing else needs MPI to build.
#![forbid(unsafe_code)]

#[cfg(feature = "mpi")]
mod ranks;

#[cfg(feature = "mpi")]
pub use ranks::{Job, Ranks};

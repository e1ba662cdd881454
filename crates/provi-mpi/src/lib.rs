//! Sums over the processes that `mpirun` started.
//!
//! Each process holds some of the rows of one model; what a pass over the data adds up ends in one allreduce, after which
//! every process knows the same numbers and takes the same steps. The command of several processes is `provi-mpi`, to which
//! `provi fit --distributed` hands over.
//!
//! Without the feature `mpi` this crate is empty, so that nothing else needs an MPI to build.
#![forbid(unsafe_code)]

#[cfg(feature = "mpi")]
mod ranks;

#[cfg(feature = "mpi")]
pub use ranks::{Job, Ranks};

//! [`Reduce`] on MPI.

use std::sync::{Mutex, PoisonError};

use mpi::Threading;
use mpi::collective::SystemOperation;
use mpi::environment::Universe;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives};
use provi::Result;
use provi::stream::Reduce;

/// MPI for as long as this lives.
pub struct Job {
    _universe: Universe,
}

impl std::fmt::Debug for Job {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Job").finish_non_exhaustive()
    }
}

impl Job {
    /// Starts MPI; `None` if it was started before, or cannot be used from one thread after another.
    pub fn start() -> Option<(Self, Ranks)> {
        let (universe, provided) = mpi::initialize_with_threading(Threading::Serialized)?;
        if provided < Threading::Serialized {
            return None;
        }
        let world = universe.world();
        let (rank, size) = (world.rank() as usize, world.size() as usize);
        Some((Self { _universe: universe }, Ranks { rank, size, received: Mutex::new(Vec::new()) }))
    }
}

/// All processes of the job.
#[derive(Debug)]
pub struct Ranks {
    rank: usize,
    size: usize,
    /// What an allreduce receives: it grows to the largest sum and is kept. The lock also keeps calls one after another.
    received: Mutex<Vec<f64>>,
}

/// Numbers of one allreduce, whose count is a 32-bit integer.
const MOST: usize = 1 << 27;

impl Ranks {
    /// Ends every process of the job at once, for a failure that the others cannot know of.
    pub fn abort(&self, code: i32) -> ! {
        SimpleCommunicator::world().abort(code)
    }

    fn all(&self, values: &mut [f64], operation: SystemOperation) {
        let world = SimpleCommunicator::world();
        let mut received = self.received.lock().unwrap_or_else(PoisonError::into_inner);
        for values in values.chunks_mut(MOST) {
            if received.len() < values.len() {
                received.resize(values.len(), 0.0);
            }
            let received = &mut received[..values.len()];
            // MPI promises the same bits to every process.
            world.all_reduce_into(&*values, received, operation);
            values.copy_from_slice(received);
        }
    }
}

impl Reduce for Ranks {
    fn sum(&self, values: &mut [f64]) -> Result<()> {
        self.all(values, SystemOperation::sum());
        Ok(())
    }

    fn largest(&self, values: &mut [f64]) -> Result<()> {
        self.all(values, SystemOperation::max());
        Ok(())
    }

    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }
}

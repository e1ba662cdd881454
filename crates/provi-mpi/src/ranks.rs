//! [`Reduce`] on MPI.

use std::marker::PhantomData;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use mpi::Threading;
use mpi::collective::SystemOperation;
use mpi::environment::Universe;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives};
use provi::stream::Reduce;
use provi::{Error, Result};

/// MPI while this value lives; dropping it ends MPI. MPI requires that the thread that started it also ends it, so
/// this value cannot be sent to another thread.
pub struct Job {
    shared: Arc<Mutex<Mpi>>,
    _here: PhantomData<*const ()>,
}

/// What every call needs. The processes can be reached only through the lock, and after MPI has ended there is
/// nothing behind it.
struct Mpi {
    universe: Option<Universe>,
    /// Buffer that receives an allreduce; it grows to the largest sum and is kept.
    received: Vec<f64>,
}

impl std::fmt::Debug for Job {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Job").finish_non_exhaustive()
    }
}

impl Job {
    /// Starts MPI; `None` if it was started before, or does not allow calls from one thread after another.
    pub fn start() -> Option<(Self, Ranks)> {
        let (universe, provided) = mpi::initialize_with_threading(Threading::Serialized)?;
        if provided < Threading::Serialized {
            return None;
        }
        let world = universe.world();
        let (rank, size) = (world.rank() as usize, world.size() as usize);
        let shared = Arc::new(Mutex::new(Mpi { universe: Some(universe), received: Vec::new() }));
        let ranks = Ranks { rank, size, shared: Arc::clone(&shared) };
        Some((Self { shared, _here: PhantomData }, ranks))
    }
}

impl Drop for Job {
    /// Waits for a call in progress, and ends MPI; later calls are refused.
    fn drop(&mut self) {
        lock(&self.shared).universe = None;
    }
}

/// All processes of the job. Calls come one after another; after the [`Job`] has ended they are refused.
pub struct Ranks {
    rank: usize,
    size: usize,
    shared: Arc<Mutex<Mpi>>,
}

impl std::fmt::Debug for Ranks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ranks").field("rank", &self.rank).field("size", &self.size).finish_non_exhaustive()
    }
}

/// Most numbers of one allreduce, whose count is a 32-bit integer.
const MOST: usize = 1 << 27;

fn lock(shared: &Mutex<Mpi>) -> MutexGuard<'_, Mpi> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Ranks {
    /// Ends every process of the job at once, for a failure that the others cannot notice.
    pub fn abort(&self, code: i32) -> ! {
        let ended = match self.shared.try_lock() {
            Ok(mpi) => mpi.universe.is_none(),
            Err(TryLockError::Poisoned(mpi)) => mpi.get_ref().universe.is_none(),
            // A thread that is in a call holds the lock, so MPI is running.
            Err(TryLockError::WouldBlock) => false,
        };
        if ended {
            // There is no job any more: only this process ends.
            std::process::exit(code)
        }
        SimpleCommunicator::world().abort(code)
    }

    fn all(&self, values: &mut [f64], operation: SystemOperation) -> Result<()> {
        let mut mpi = lock(&self.shared);
        let Mpi { universe, received } = &mut *mpi;
        let Some(universe) = universe else {
            let message = "the processes were asked for a sum after their job had ended".to_owned();
            return Err(Error::Target { message });
        };
        let world = universe.world();
        for values in values.chunks_mut(MOST) {
            if received.len() < values.len() {
                received.resize(values.len(), 0.0);
            }
            let received = &mut received[..values.len()];
            // MPI promises the same bits to every process.
            world.all_reduce_into(&*values, received, operation);
            values.copy_from_slice(received);
        }
        Ok(())
    }
}

impl Reduce for Ranks {
    fn sum(&self, values: &mut [f64]) -> Result<()> {
        self.all(values, SystemOperation::sum())
    }

    fn largest(&self, values: &mut [f64]) -> Result<()> {
        self.all(values, SystemOperation::max())
    }

    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }
}

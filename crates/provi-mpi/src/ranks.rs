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

/// MPI for as long as this lives. It is ended where this is dropped: MPI wants that to be the thread that started it, so this
/// cannot be sent to another.
pub struct Job {
    shared: Arc<Mutex<Mpi>>,
    _here: PhantomData<*const ()>,
}

/// What every call needs: there is no other way to the processes than through the lock, and nothing behind it once MPI has
/// ended.
struct Mpi {
    universe: Option<Universe>,
    /// What an allreduce receives: it grows to the largest sum and is kept.
    received: Vec<f64>,
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
        let shared = Arc::new(Mutex::new(Mpi { universe: Some(universe), received: Vec::new() }));
        let ranks = Ranks { rank, size, shared: Arc::clone(&shared) };
        Some((Self { shared, _here: PhantomData }, ranks))
    }
}

impl Drop for Job {
    /// Waits for a call that is under way, and ends MPI; calls that come later are refused.
    fn drop(&mut self) {
        lock(&self.shared).universe = None;
    }
}

/// All processes of the job. Calls come one after another; once the [`Job`] is gone they are refused.
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

/// Numbers of one allreduce, whose count is a 32-bit integer.
const MOST: usize = 1 << 27;

fn lock(shared: &Mutex<Mpi>) -> MutexGuard<'_, Mpi> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Ranks {
    /// Ends every process of the job at once, for a failure that the others cannot know of.
    pub fn abort(&self, code: i32) -> ! {
        let ended = match self.shared.try_lock() {
            Ok(mpi) => mpi.universe.is_none(),
            Err(TryLockError::Poisoned(mpi)) => mpi.get_ref().universe.is_none(),
            // A thread that is in a call holds it, and MPI is there.
            Err(TryLockError::WouldBlock) => false,
        };
        if ended {
            // There is no job any more: this process is on its own.
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

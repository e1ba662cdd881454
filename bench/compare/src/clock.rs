//! Processor time: on a shared machine the wall clock measures the neighbours.

use rustix::time::{ClockId, clock_gettime};

/// Seconds of processor time that this process has used, all threads together.
fn processor_seconds() -> f64 {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    now.tv_sec as f64 + 1e-9 * now.tv_nsec as f64
}

/// Enough repetitions that a short run is not a single reading, and a long one is not repeated.
const LEAST_SECONDS: f64 = 0.2;
const MOST_RUNS: usize = 15;

/// What `work` returns, and the median of its processor seconds over some runs. The first of several is a rehearsal and is
/// not counted: the other packages are timed after one too.
pub(crate) fn timed<T, E>(mut work: impl FnMut() -> Result<T, E>) -> Result<(T, f64), E> {
    let mut seconds = Vec::new();
    loop {
        let begin = processor_seconds();
        let out = work()?;
        seconds.push(processor_seconds() - begin);
        if seconds.iter().sum::<f64>() >= LEAST_SECONDS || seconds.len() == MOST_RUNS {
            let counted = if seconds.len() > 1 { &mut seconds[1..] } else { &mut seconds[..] };
            counted.sort_by(f64::total_cmp);
            return Ok((out, counted[counted.len() / 2]));
        }
    }
}

//! Measures the cost of a sum over the processes: `mpirun -n 2 provi-allreduce` prints a table with a row for each
//! size.
#![forbid(unsafe_code)]

use std::time::Instant;

use provi::stream::Reduce;
use provi_mpi::Job;

/// Numbers in one sum: a flag, gradients at a few points, a Hessian, a large Hessian.
const SIZES: [usize; 6] = [1, 100, 1_000, 10_000, 100_000, 1_000_000];

fn main() -> std::process::ExitCode {
    let Some((_job, ranks)) = Job::start() else {
        eprintln!("MPI cannot be started; is this run by mpirun?");
        return std::process::ExitCode::from(2);
    };
    let first = ranks.rank() == 0;
    if first {
        println!("{} processes\n\n| numbers | µs, median | µs, 9 of 10 below |\n|---|---|---|", ranks.size());
    }
    for size in SIZES {
        let mut values = vec![1.0; size];
        let mut times: Vec<f64> = (0..(2_000_000 / size).clamp(20, 2_000))
            .map(|_| {
                values.fill(1.0);
                let begin = Instant::now();
                // A sum over MPI does not return an error: on failure it ends the job.
                let _ = ranks.sum(&mut values);
                begin.elapsed().as_secs_f64() * 1e6
            })
            .collect();
        times.sort_by(f64::total_cmp);
        if first {
            println!("| {size} | {:.1} | {:.1} |", times[times.len() / 2], times[times.len() * 9 / 10]);
        }
    }
    std::process::ExitCode::SUCCESS
}

//! MPI after its end: refused, on every thread. In a file of its own, as a process can start MPI once.

use std::sync::Arc;

use provi::stream::Reduce;
use provi_mpi::Job;

#[test]
fn no_call_reaches_mpi_once_its_job_is_gone() {
    let Some((job, ranks)) = Job::start() else {
        println!("skipped: this MPI starts no process on its own");
        return;
    };
    let mut values = [1.0, 2.0];
    ranks.sum(&mut values).unwrap();
    assert_eq!(values.map(|x| (x / ranks.size() as f64).to_bits()), [1.0f64, 2.0].map(f64::to_bits));
    let ranks = Arc::new(ranks);
    drop(job);
    let late = Arc::clone(&ranks);
    let other = std::thread::spawn(move || late.largest(&mut [1.0]).unwrap_err().to_string());
    for error in [ranks.sum(&mut values).unwrap_err().to_string(), other.join().unwrap()] {
        assert!(error.contains("after their job had ended"), "{error}");
    }
    assert!(Job::start().is_none(), "a process starts MPI once");
}

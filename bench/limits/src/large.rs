//! A few steps of Prox-SGD with a dense factor of 20 000 dimensions, and the memory they took.

use crate::process::peak_memory;
use provi::auto::Choice;
use provi::average::{Average, Averager};
use provi::draws::{Draws, Purpose};
use provi::memory::{Bytes, Forecast, Size};
use provi::optimize::minimise;
use provi::step::FusedProx;
use provi::target::{Closure, Evaluator};
use provi::{Gaussian, Method, Result, Schedule, Seed, Triangular};
use std::ops::ControlFlow;
use std::time::Instant;

const DIM: usize = 20_000;
const STEPS: u64 = 20;

pub(crate) fn run() -> Result<()> {
    let size = Size { dim: DIM, rows: 0, stored: 0, draws: 1, exact: false, audit: false, subsample: None };
    let forecast = Forecast::new(Choice::Planned(Method::ProxEnergy), &size);
    println!("a planned run of prox-energy, d = {DIM}: {forecast}");
    let target = Closure::new(DIM, |z: &[f64], gradient: &mut [f64]| {
        gradient.iter_mut().zip(z).for_each(|(g, z)| *g = -z);
        -0.5 * provi_kernels::dot(z, z)
    })?;
    let draws = Draws::new(Seed(1), Purpose::Optimise);
    let mut problem = FusedProx::new(Evaluator::Serial(&target), draws, 1)?;
    let mut w = Gaussian::<Triangular>::standard(DIM).parameters().to_vec();
    let mut average = Averager::new(Average::Uniform, w.len())?;
    let begin = Instant::now();
    let schedule = Schedule::Constant { gamma: 1e-6 };
    minimise(&mut problem, &mut w, &schedule, &mut average, STEPS, &mut |_| ControlFlow::Continue(()))?;
    let seconds = begin.elapsed().as_secs_f64() / STEPS as f64;
    let mean = average.finish(&w)?;
    println!(
        "{STEPS} steps of {:.0} ms; mean of the diagonal's last entry {:.6}",
        1e3 * seconds,
        mean[mean.len() - 1]
    );
    if let Some(peak) = peak_memory() {
        println!("peak memory: {}", Bytes(peak));
    }
    Ok(())
}

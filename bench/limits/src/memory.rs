//! What every way to an answer was forecast to need, beside what it took: each in a process of its own.

use crate::process::peak_memory;
use provi::auto::Choice;
use provi::memory::{Bytes, Forecast, Size};
use provi::plan::{Coordinates, Planner};
use provi::target::{Closure, Declared, Glm, Prior};
use provi::{Audit, Auto, Design, Method, Result, Seed, Target};
use std::process::{Command, ExitCode};

/// Large enough for d² to hide the program itself, small enough for an eigendecomposition in seconds.
const DIM: usize = 600;
const ROWS: usize = 1200;
const STEPS: u64 = 20;
const DRAWS: usize = 4;

/// One child a way; the table.
pub(crate) fn table() -> ExitCode {
    let Ok(program) = std::env::current_exe() else { return ExitCode::from(2) };
    println!("d = {DIM}, {ROWS} rows; {STEPS} steps of {DRAWS} draws, then the audit\n");
    println!("| way | forecast | taken | taken / forecast |\n|---|---|---|---|");
    let ways = Method::named().map(|(name, _)| name).chain(["auto, exact", "auto, black box"]);
    for way in ways {
        match Command::new(&program).args(["memory-of", way]).output() {
            Ok(done) if done.status.success() => print!("{}", String::from_utf8_lossy(&done.stdout)),
            Ok(done) => println!("| {way} | failed: {} | | |", String::from_utf8_lossy(&done.stderr).trim()),
            Err(error) => println!("| {way} | failed: {error} | | |"),
        }
    }
    ExitCode::SUCCESS
}

/// The child: one way, one line.
pub(crate) fn of(way: &str) -> Result<()> {
    let before = peak_memory().unwrap_or(0);
    let model = model()?;
    let (choice, exact) = match way {
        "auto, exact" => (Choice::Auto, true),
        "auto, black box" => (Choice::Auto, false),
        name => (
            Choice::Planned(Method::named().find(|(n, _)| *n == name).expect("a name from the list").1),
            true,
        ),
    };
    let size = Size { draws: DRAWS, exact, ..Size::of(&model) };
    let forecast = Forecast::new(choice, &size).peak();
    match choice {
        Choice::Auto if exact => drop(Auto::default().run(&model, Seed(1))?),
        Choice::Auto => {
            let inner =
                Closure::new(DIM, |z: &[f64], g: &mut [f64]| model.log_density(z, g).unwrap_or(f64::NAN))?;
            let curvature = model.curvature()?.expect("a logistic regression has one");
            let black_box = Declared::new(inner).with_curvature(curvature)?;
            let auto = Auto { evaluations: Some(2 * DIM as u64), ..Auto::default() };
            drop(auto.run(&black_box, Seed(1))?);
        }
        Choice::Planned(method) => {
            let planner = Planner::new(method).draws(DRAWS).coordinates(Coordinates::Laplace);
            let fit = planner.practical(&model, Some(STEPS))?.run(&model, Seed(1))?;
            let audit = Audit { draws: 1000, ..Audit::default() };
            drop(audit.run(&model, &fit.gaussian, Seed(2))?);
        }
    }
    let taken = peak_memory().unwrap_or(0).saturating_sub(before);
    println!("| {way} | {forecast} | {} | {:.2} |", Bytes(taken), taken as f64 / forecast.0.max(1) as f64);
    Ok(())
}

fn model() -> Result<Glm> {
    let (entries, labels) = crate::gradient::data(ROWS, DIM);
    let scaled: Vec<f64> = entries.iter().map(|x| x / (DIM as f64).sqrt()).collect();
    Glm::logistic(Design::dense(ROWS, DIM, &scaled)?, &labels, Prior::scale(1.0)?)
}

//! provi's side of the comparison: runs one workload in one mode and writes what it found, with its processor time.
//!
//! ```text
//! provi-compare KIND DIRECTORY MODE F_STAR SEED OUT
//! ```
//! KIND is `linear`, `logistic`, `hierarchical` or `gaussian`; DIRECTORY holds its numbers ([`problem`]); MODE is `exact`,
//! `black-box` or `optimum`. Every rung of a ladder is a run of its own from the start, so that its time is what a user
//! who had asked for just that much would have waited. MODE `recipes` writes rows of a table instead: the gaps of the planned methods and of the
//! unproven recipes at equal numbers of gradients ([`recipes`]), and `draws` those of ways to make gradients less noisy ([`draws`]). `OUT.json` lists the rungs, `OUT.f64` holds m and the packed
//! lower C of each. F_STAR only ends the ladder; the gaps in the tables are computed elsewhere, by one program for all.

mod clock;
mod draws;
mod ladder;
mod problem;
mod recipes;

use ladder::Ladder;
use problem::Problem;
use provi::Seed;
use std::path::Path;

/// Anything that can go wrong: this is a program for the bench alone.
type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [kind, directory, mode, f_star, seed, out] = arguments.as_slice() else {
        return Err("usage: provi-compare KIND DIRECTORY MODE F_STAR SEED OUT".into());
    };
    let problem = Problem::read(kind, Path::new(directory))?;
    let f_star: f64 = f_star.parse()?;
    if mode == "recipes" {
        return Ok(std::fs::write(out, recipes::table(&problem, f_star, seed.parse()?)?)?);
    }
    if mode == "draws" {
        return Ok(std::fs::write(out, draws::table(&problem, f_star, seed.parse()?)?)?);
    }
    let ladder = match mode.as_str() {
        "exact" => Ladder::exact(&problem)?,
        "black-box" => Ladder::black_box(&problem, f_star, Seed(seed.parse()?))?,
        "optimum" => Ladder::optimum(&problem)?,
        _ => return Err(format!("no mode `{mode}`: exact, black-box, optimum, recipes or draws").into()),
    };
    ladder.write(Path::new(out))
}

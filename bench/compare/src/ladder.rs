//! Runs of growing length, each from the start.

use crate::Outcome;
use crate::clock::timed;
use crate::problem::{BlackBox, Problem};
use provi::ascent::{Ascent, Options};
use provi::expectation::neg_elbo;
use provi::mode::{find_mode, laplace};
use provi::solve::Solver;
use provi::{Auto, Gaussian, Seed, Triangular};
use std::path::Path;

/// A black-box ladder ends here, in nats, or after this many evaluations.
const FLOOR: f64 = 0.003;
const MOST_EVALUATIONS: u64 = 20_000;

/// One run.
struct Rung {
    /// Iterations of the exact solver, or evaluations of the gradient.
    effort: u64,
    /// Processor seconds until q was there, mode and curvature included.
    seconds: f64,
    q: Gaussian<Triangular>,
}

/// What one mode found.
pub(crate) struct Ladder {
    rungs: Vec<Rung>,
    /// Processor seconds until the exact solver has proved a gap of 1e-10 nats.
    solved: Option<f64>,
    /// Processor seconds of the whole automatic path: the last rung's answer, its ELBO and its certificate.
    whole: Option<f64>,
}

impl Ladder {
    /// The Laplace approximation, from which the exact solver starts, then the solver stopped after 1, 2, … iterations.
    pub(crate) fn exact(problem: &Problem) -> Outcome<Self> {
        let target = problem.target();
        let (q, seconds) = timed(|| -> provi::Result<_> {
            let mode = find_mode(target, &vec![0.0; target.dim()])?;
            Ok(laplace(target, &mode)?.gaussian)
        })?;
        let mut rungs = vec![Rung { effort: 0, seconds, q }];
        let (solution, solved) = timed(|| Solver::default().run(target))?;
        for iterations in 1..=solution.iterations {
            let solver = Solver { iterations, ..Solver::default() };
            let (solution, seconds) = timed(|| solver.run(target))?;
            rungs.push(Rung { effort: iterations as u64, seconds, q: solution.gaussian });
        }
        let (_, whole) = timed(|| Auto::default().run(target, Seed(0)))?;
        Ok(Self { rungs, solved: Some(solved), whole: Some(whole) })
    }

    /// The ascent with a growing number of steps, log density and gradient its only knowledge.
    pub(crate) fn black_box(problem: &Problem, f_star: f64, seed: Seed) -> Outcome<Self> {
        let expectations = problem.target().expectations().ok_or("no expectations to measure a gap with")?;
        let target = BlackBox(problem.target());
        let mut rungs: Vec<Rung> = Vec::new();
        let mut steps = 0;
        let enough = loop {
            let (ascent, seconds) = timed(|| -> provi::Result<_> {
                let mut ascent = Ascent::new(&target, seed, Options::default())?;
                ascent.advance(steps * ascent.draws_per_step() as u64)?;
                Ok(ascent)
            })?;
            let (effort, q) = (ascent.evaluations(), ascent.current());
            let gap = neg_elbo(expectations, &q)? - f_star;
            rungs.push(Rung { effort, seconds, q });
            if gap <= FLOOR || effort > MOST_EVALUATIONS {
                break effort;
            }
            steps += 1 + steps / 3;
        };
        let auto = Auto { evaluations: Some(enough), ..Auto::default() };
        let (_, whole) = timed(|| auto.run(&target, seed))?;
        Ok(Self { rungs, solved: None, whole: Some(whole) })
    }

    /// The optimum as exactly as the solver goes, not timed.
    pub(crate) fn optimum(problem: &Problem) -> Outcome<Self> {
        let solution = Solver { goal: 0.0, ..Solver::default() }.run(problem.target())?;
        let effort = solution.iterations as u64;
        Ok(Self {
            rungs: vec![Rung { effort, seconds: 0.0, q: solution.gaussian }],
            solved: None,
            whole: None,
        })
    }

    /// `out.json` and `out.f64`.
    pub(crate) fn write(&self, out: &Path) -> Outcome<()> {
        let rungs: Vec<serde_json::Value> = self
            .rungs
            .iter()
            .map(|rung| serde_json::json!({ "effort": rung.effort, "seconds": rung.seconds }))
            .collect();
        let text =
            serde_json::json!({ "rungs": rungs, "solved": self.solved, "whole": self.whole }).to_string();
        std::fs::write(out.with_extension("json"), text)?;
        let bytes: Vec<u8> =
            self.rungs.iter().flat_map(|rung| rung.q.parameters()).flat_map(|x| x.to_le_bytes()).collect();
        Ok(std::fs::write(out.with_extension("f64"), bytes)?)
    }
}

//! Proved methods and unproven recipes at equal numbers of gradients.

use crate::Outcome;
use crate::problem::Problem;
use provi::expectation::neg_elbo;
use provi::{Method, Planner, Seed};

/// Gradients that a run may spend, including those of the mode and its curvature.
pub(crate) const BUDGETS: [u64; 2] = [2_000, 20_000];
/// Draws per step.
const DRAWS: [usize; 2] = [10, 100];
/// Runs with seeds of their own; the table has the median.
const SEEDS: u64 = 3;

/// A row of the table for each method and batch: the median exact gap of its practical plan at each budget.
pub(crate) fn table(problem: &Problem, f_star: f64, first: u64) -> Outcome<String> {
    let proved = [("prox-energy", Method::ProxEnergy), ("proj-stl", Method::ProjStl)];
    let mut text = String::new();
    for (name, method) in proved.into_iter().chain(Method::recipes()) {
        for draws in DRAWS {
            text.push_str(&format!("| `{name}` | {draws} |"));
            for budget in BUDGETS {
                let planner = Planner::new(method).draws(draws);
                let gap = median(problem, &planner, draws, budget, f_star, first)?;
                text.push_str(&format!(" {} |", shown(gap)));
            }
            text.push('\n');
        }
    }
    Ok(text)
}

/// The median exact gap over the seeds from `first` on.
pub(crate) fn median(
    problem: &Problem,
    planner: &Planner,
    draws: usize,
    budget: u64,
    f_star: f64,
    first: u64,
) -> Outcome<f64> {
    let target = problem.target();
    let expectations = target.expectations().ok_or("the workload has no exact expectations")?;
    let spent = planner.practical(target, Some(100))?.evaluations;
    let plan = planner.practical(target, Some((budget.saturating_sub(spent) / draws as u64).max(1)))?;
    let mut gaps = Vec::new();
    for seed in first..first + SEEDS {
        // A run that diverges has no gap.
        gaps.push(match plan.run(target, Seed(seed)) {
            Ok(fit) => neg_elbo(expectations, &fit.gaussian)? - f_star,
            Err(_) => f64::INFINITY,
        });
    }
    gaps.sort_by(f64::total_cmp);
    Ok(gaps[gaps.len() / 2])
}

/// A gap as the tables have it.
pub(crate) fn shown(gap: f64) -> String {
    match gap {
        gap if gap.is_infinite() => "diverged".to_owned(),
        gap if gap < 1e-8 => "< 1e-8".to_owned(),
        gap if gap < 0.1 => format!("{gap:.1e}"),
        gap => format!("{gap:.2}"),
    }
}

//! Ways to make a gradient less noisy, at equal numbers of gradients.

use crate::Outcome;
use crate::problem::Problem;
use crate::recipes::{BUDGETS, median, shown};
use provi::coupling::Coupling;
use provi::estimator::Kind;
use provi::method::{Guard, Recipe, Space};
use provi::{Method, Planner};

/// Draws per step: powers of two, which suit Sobol' points.
const DRAWS: [usize; 2] = [16, 128];

/// A row of the table for each estimator, coupling and batch: the median exact gap of its practical plan at each budget.
pub(crate) fn table(problem: &Problem, f_star: f64, first: u64) -> Outcome<String> {
    let score = Recipe::new(Kind::Score, Guard::Projection, Space::Triangular)?;
    let methods = [
        ("prox-energy", Method::ProxEnergy),
        ("prox-controlled", Method::ProxControlled),
        ("proj-stl", Method::ProjStl),
        ("score function with its baseline", Method::Unproven(score)),
    ];
    let mut text = String::new();
    for (name, method) in methods {
        for (coupling, how) in Coupling::named() {
            if method.check_coupling(how).is_err() {
                continue;
            }
            for draws in DRAWS {
                text.push_str(&format!("| {name} | {coupling} | {draws} |"));
                for budget in BUDGETS {
                    let planner = Planner::new(method).draws(draws).coupling(how);
                    text.push_str(&format!(
                        " {} |",
                        shown(median(problem, &planner, draws, budget, f_star, first)?)
                    ));
                }
                text.push('\n');
            }
        }
    }
    Ok(text)
}

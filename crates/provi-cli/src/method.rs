//! Which method runs when none is named. The one place where the command chooses.

use provi::method::{Guard, Recipe, Space};
use provi::{Method, Target, estimator::Kind};

use crate::failure::Result;

/// The named method, or the one that suits the target.
///
/// Exact expectations make the shortest plans, proved or not. A target without M gets the steps of Algorithm 1
/// outside its theorem, hence under the name of an unproven recipe.
pub(crate) fn choose(named: Option<Method>, target: &dyn Target) -> Result<Method> {
    if let Some(method) = named {
        return Ok(method);
    }
    let smooth = target.curvature()?.is_some_and(|c| c.smoothness().is_some());
    Ok(match (smooth, target.expectations()) {
        (true, Some(_)) => Method::Exact,
        (true, None) => Method::ProxEnergy,
        (false, _) => Method::Unproven(Recipe::new(Kind::Energy, Guard::Prox, Space::Triangular)?),
    })
}

//! Which method runs when none is named. The one place where the command chooses.

use provi::method::{Guard, Recipe, Space};
use provi::{Method, Target, estimator::Kind};

use crate::failure::Result;

/// The named method, or the one that suits the target.
///
/// Exact expectations make by far the shortest proved plans; in practice draws are cheaper. A target without M
/// gets the steps of Algorithm 1 outside its theorem, hence under the name of an unproven recipe.
pub(crate) fn choose(named: Option<Method>, target: &dyn Target, proved: bool) -> Result<Method> {
    if let Some(method) = named {
        return Ok(method);
    }
    let smooth = target.curvature()?.is_some_and(|c| c.smoothness().is_some());
    Ok(match (smooth, proved) {
        (true, true) if target.expectations().is_some() => Method::Exact,
        (true, true) => Method::ProxEnergy,
        (true, false) => Method::ProjStl,
        (false, _) => Method::Unproven(Recipe::new(Kind::Energy, Guard::Prox, Space::Triangular)?),
    })
}

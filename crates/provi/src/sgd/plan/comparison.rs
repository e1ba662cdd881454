//! How many steps every proved method needs for one accuracy.

use super::{Coordinates, MOST_STEPS, Planner};
use crate::base::error::Result;
use crate::sgd::method::Method;
use crate::target::Target;
use crate::theory::noise;
use crate::theory::rate;
use crate::theory::recursion::Recursion;
use crate::theory::schedule::StepKind;

/// The steps that one method needs for one accuracy.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Needed {
    /// The method.
    pub method: Method,
    /// T by the recursion, as [`Planner::to_distance`] plans it.
    pub steps: Result<u64>,
    /// T by the closed form for a single draw per step [rate-prox-anytime], [rate-proj-anytime],
    /// [rate-proj-stl-gaussian]. `None` for a method without noise, whose contraction is its closed form, for controlled
    /// draws, whose bounds are for the recursion, and for adaptive steps, which have no other form.
    pub closed_form: Option<Result<u64>>,
}

impl Planner {
    /// The steps that each proved method needs for E‖w_T − w*‖² ≤ `accuracy`, with this planner's draws,
    /// coordinates, start, family, base law and coupling. Methods that leave the family, or have no theorem for the law or the coupling, are left out.
    pub fn compare(&self, target: &dyn Target, accuracy: f64) -> Result<Vec<Needed>> {
        let needed = |method: Method| {
            let planner = Self { method, ..self.clone() };
            // The two factor spaces measure the distance of the start differently, so each method has its own
            // setting.
            let setting = planner.setting(target, Coordinates::Curvature)?;
            let steps = setting.constants(&planner).and_then(|constants| match method {
                _ if method.is_adaptive() => planner.adaptive_steps(&setting, accuracy),
                Method::Exact => constants.exact_steps_to(accuracy),
                _ => Recursion::new(constants.convexity, constants.noise)?.steps_to(
                    constants.start,
                    accuracy,
                    MOST_STEPS,
                ),
            });
            let has_closed_form = method != Method::Exact && !method.is_controlled() && !method.is_adaptive();
            let closed_form = has_closed_form.then(|| {
                let constants = setting.single_draw_constants(&planner)?;
                let (convexity, smoothness, start) =
                    (constants.convexity, constants.smoothness, constants.start);
                match method.step_kind() {
                    StepKind::Prox => {
                        let distance2 = noise::optimum_distance2(constants.dim, convexity)?;
                        let gradient2 = smoothness * smoothness * distance2;
                        rate::prox_strong_anytime_steps(
                            convexity,
                            constants.noise,
                            gradient2,
                            start,
                            accuracy,
                        )
                    }
                    StepKind::Proj if constants.noise.floor <= 0.0 => {
                        let gamma = convexity / (2.0 * constants.noise.growth);
                        rate::proj_strong_constant_steps(convexity, constants.noise, start, gamma, accuracy)
                    }
                    StepKind::Proj => {
                        rate::proj_strong_anytime_steps(convexity, constants.noise, start, accuracy)
                    }
                }
            });
            Ok(Needed { method, steps, closed_form })
        };
        let exact = target.expectations().is_some();
        let methods = Method::named()
            .map(|(_, m)| m)
            .filter(|m| exact || *m != Method::Exact)
            .filter(|m| m.check_pattern(&self.pattern).is_ok() && m.check_law(self.base_law).is_ok())
            .filter(|m| m.check_coupling(self.coupling).is_ok());
        methods.map(needed).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::glm::design::Design;
    use crate::glm::{Glm, Prior};

    #[test]
    fn the_recursion_never_needs_more_than_the_closed_form() {
        let entries = [0.5, 1.0, -1.5, 0.3, 0.9, 2.0, -0.7, 0.1];
        let design = Design::dense(4, 2, &entries).unwrap();
        let prior = || Prior::precision(1.0).unwrap();
        let linear = Glm::linear(design.clone(), &[0.2, -1.0, 2.1, -0.4], 1.0, prior()).unwrap();
        let logistic = Glm::logistic(design, &[0.0, 1.0, 1.0, 0.0], prior()).unwrap();
        for target in [linear, logistic] {
            let rows = Planner::new(Method::ProxEnergy).compare(&target, 0.05).unwrap();
            assert_eq!(rows.len(), 9);
            for row in rows {
                let planned = Planner::new(row.method).to_distance(&target, 0.05).unwrap();
                let steps = row.steps.unwrap();
                assert_eq!(steps, planned.steps, "{}", row.method);
                if let Some(closed_form) = row.closed_form {
                    assert!(steps <= closed_form.unwrap(), "{}", row.method);
                }
            }
        }
    }
}

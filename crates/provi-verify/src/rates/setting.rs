//! One method on one problem, with its constants, its start and its curves.

use crate::figure::{Axis, Mark, Panel, Series};
use crate::outcome::{Check, Outcome};
use crate::problems::{Problem, gaussian, hierarchical, logistic, w1};
use crate::trial::Trial;
use crate::walk::{Errors, Walk, checkpoints, far_start};
use provi::theory::noise::{self, Base};
use provi::theory::{NoiseBound, Recursion};
use provi::{BaseLaw, Method, Result, Schedule};

/// The problems of the rate experiments: κ ≤ 5, unequal groups in the hierarchical one.
pub(crate) fn problems(trial: &Trial) -> Result<Vec<Problem>> {
    let mut out = vec![gaussian(3, 2.0, 21)?, logistic(4)?, hierarchical()?];
    if !trial.quick {
        out.push(w1()?);
    }
    Ok(out)
}

/// A method on a problem.
pub(crate) struct Setting<'a> {
    pub(crate) problem: &'a Problem,
    pub(crate) method: Method,
    pub(crate) start: Vec<f64>,
    /// ‖w_0 − w*‖².
    pub(crate) e0: f64,
    /// The law of the draws; w* of the problem is the best member of its family.
    base_law: BaseLaw,
}

impl<'a> Setting<'a> {
    pub(crate) fn new(problem: &'a Problem, method: Method) -> Result<Self> {
        Self::of_law(problem, method, BaseLaw::Gaussian)
    }

    /// With draws of another law.
    pub(crate) fn of_law(problem: &'a Problem, method: Method, base_law: BaseLaw) -> Result<Self> {
        let start = far_start(problem);
        let e0 = Walk::new(problem, method, &start).start_distance2()?;
        Ok(Self { problem, method, start, e0, base_law })
    }

    /// The draws as the noise bounds see them.
    fn base(&self) -> Result<Base> {
        Base::new(self.problem.dim(), self.base_law.kurtosis())
    }

    pub(crate) fn walk(&self) -> Walk<'_> {
        Walk { base_law: self.base_law, ..Walk::new(self.problem, self.method, &self.start) }
    }

    pub(crate) fn name(&self) -> String {
        format!("{}, {}", self.problem.name, self.method.name())
    }

    /// a, b of one draw of g itself, with the true ‖w*−w̄‖²: the sharpest constants of the closed forms.
    pub(crate) fn table(&self) -> Result<NoiseBound> {
        let p = self.problem;
        let (d, m) = (p.dim(), p.smoothness);
        match self.method {
            Method::ProxEnergy => noise::energy(self.base()?, m, p.mode2),
            Method::ProjStl => noise::stl(d, m, self.residual(), p.curvature.trace_inverse()),
            _ => noise::entropy(self.base()?, m, m, p.mode2),
        }
    }

    /// ‖∇l(w*)‖² ≤ M²‖w*−w̄‖².
    pub(crate) fn gradient2(&self) -> f64 {
        self.problem.smoothness.powi(2) * self.problem.mode2
    }

    fn residual(&self) -> f64 {
        self.problem.curvature.residual_smoothness().unwrap_or(self.problem.smoothness)
    }

    /// The recursion with the batch constants, again with the true ‖w*−w̄‖².
    pub(crate) fn recursion(&self) -> Result<Recursion> {
        let p = self.problem;
        let (d, m) = (p.dim(), p.smoothness);
        let v_star = noise::v_star_bound(self.base()?, m, p.mode2)?;
        let noise = match self.method {
            Method::ProxEnergy => noise::energy_batch(self.base()?, m, 1, v_star),
            Method::ProjStl => noise::stl(d, m, self.residual(), p.curvature.trace_inverse()),
            _ => noise::entropy_batch(self.base()?, m, 1, v_star),
        }?;
        Recursion::new(p.convexity, noise)
    }

    /// Number of runs: fewer if a step costs more.
    pub(crate) fn runs(&self, trial: &Trial) -> u64 {
        let all = trial.runs(32, 40);
        if self.problem.dim() > 10 { (all / 4).max(4) } else { all }
    }

    /// Number of steps of one run.
    pub(crate) fn steps(&self, trial: &Trial) -> u64 {
        trial.effort(2_000, if self.problem.dim() > 10 { 4_000 } else { 10_000 })
    }

    /// Runs the schedule and compares every checkpoint with `claim`.
    pub(crate) fn hold(
        &self,
        schedule: &Schedule,
        name: &str,
        claim: impl Fn(u64) -> Result<f64>,
        trial: &Trial,
        outcome: &mut Outcome,
    ) -> Result<Errors> {
        let at = checkpoints(self.steps(trial), 3);
        let errors = self.walk().errors(schedule, &at, self.runs(trial))?;
        for (i, &t) in at.iter().enumerate() {
            let bound = claim(t)?;
            // While a bound is still near that of the start, it says nothing about a rate.
            if bound <= 0.5 * self.e0 || i + 1 == at.len() {
                // Below 1e-24 only rounding is visible.
                let claimed = trial.upper(bound) + 1e-24;
                outcome.check(Check::mean_at_most(
                    format!("{}, {name}, t = {t}", self.name()),
                    errors.mean(i),
                    claimed,
                ));
            }
        }
        Ok(errors)
    }

    /// The panel of a run with the propagated recursion and the closed form.
    pub(crate) fn beside_bounds(
        &self,
        title: String,
        errors: &Errors,
        schedule: &Schedule,
        claim: impl Fn(u64) -> Result<f64>,
    ) -> Result<Panel> {
        let recursion = self.recursion()?;
        let propagated = curve(errors, |t| Ok(recursion.propagate(schedule, t, self.e0)))?;
        Ok(self.panel(title, errors, Some(propagated), Some(curve(errors, claim)?)))
    }

    /// A log–log panel: mean, 10–90% band, recursion, closed form.
    pub(crate) fn panel(
        &self,
        title: String,
        errors: &Errors,
        recursion: Option<Vec<(f64, f64)>>,
        closed: Option<Vec<(f64, f64)>>,
    ) -> Panel {
        let mut series =
            vec![Series::new("mean over runs", Mark::Measured, 0, errors.means()).with_band(errors.band())];
        // A closed form above ten times the start is not drawn.
        let seen =
            |p: Vec<(f64, f64)>| p.into_iter().filter(|(_, y)| *y <= 10.0 * self.e0).collect::<Vec<_>>();
        if let Some(points) = recursion {
            series.push(Series::new("recursion", Mark::SecondBound, 1, seen(points)));
        }
        if let Some(points) = closed {
            series.push(Series::new("closed form", Mark::Bound, 2, seen(points)));
        }
        Panel { title, x: Axis::log("step t"), y: Axis::log("‖w_t − w*‖²"), series }
    }
}

/// A reference slope through the last point of a curve, over its last two decades.
pub(crate) fn slope(points: &[(f64, f64)], exponent: f64, name: &str) -> Series {
    let (Some(&(first, _)), Some(&(x, y))) = (points.first(), points.last()) else {
        return Series::new(name, Mark::Reference, 7, vec![]);
    };
    let least = (first / x).max(0.01);
    let shape = [least, 1.0].map(|s| (x * s, 0.5 * y * f64::powf(s, exponent)));
    Series::new(name, Mark::Reference, 7, shape.to_vec())
}

/// A claim at every checkpoint.
pub(crate) fn curve(errors: &Errors, claim: impl Fn(u64) -> Result<f64>) -> Result<Vec<(f64, f64)>> {
    errors.at.iter().map(|&t| Ok((t as f64, claim(t)?))).collect()
}

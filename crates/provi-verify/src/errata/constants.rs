//! Errors in noise bounds and rates.

use crate::algebra::difference;
use crate::outcome::{Check, Outcome};
use crate::problems::{gaussian, logistic};
use crate::trial::Trial;
use provi::schedule::{Schedule, StepKind};
use provi::theory::{NoiseBound, Recursion, noise, rate};
use provi::{Gaussian, Result, Triangular};
use provi_testkit::cubature::{THREE_POINTS, cubature};

pub(super) fn demonstrations(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    entropy_floor(trial, &mut outcome)?;
    anytime(trial, &mut outcome)?;
    stl_proof(trial, &mut outcome)?;
    start(trial, &mut outcome)?;
    Ok(outcome)
}

/// dL for 2dL: V = −½z² with M = 1 at C = ½ between w̄ = 0 and w* = ¼, E‖g‖² = 4C² + 2 + 1/C² = 7.
fn entropy_floor(trial: &Trial, outcome: &mut Outcome) -> Result<()> {
    let (c, e, region) = (0.5f64, 1.0 / 16.0, 4.0);
    let moment = cubature(1, &THREE_POINTS, |u| {
        let pull = -c * u[0];
        Ok(pull * pull + (pull * u[0] - 1.0 / c).powi(2))
    })?;
    let bound = noise::entropy(1, 1.0, region, e)?;
    outcome.check(Check::refutes("noise-entropy: dL in place of 2dL", moment, bound.at(e) - region));
    outcome.check(Check::at_most("noise-entropy: 2dL", moment, trial.upper(bound.at(e))));
    Ok(())
}

/// ⌊·⌋ for ⌈·⌉ in the switch, 32a/(μ²T²), and T/log T.
fn anytime(trial: &Trial, outcome: &mut Outcome) -> Result<()> {
    let ratio = 9.9;
    let t = 4.0 * f64::floor(ratio);
    let (step, cap) = ((2.0 * t + 1.0) / (t + 1.0).powi(2), 1.0 / (2.0 * ratio));
    outcome.check(Check::refutes("anytime: the step at t* = 4⌊a/μ²⌋, against its cap", step, cap));
    let used = Schedule::anytime(StepKind::Prox, 1.0, ratio)?;
    let largest = (0..200).map(|t| used.at(t)).fold(0.0f64, f64::max);
    outcome.check(Check::at_most("anytime: the largest step of min{·,·}", largest, cap));

    // f = ½w², g = w + τwξ: the recursion is an equality.
    let noise = NoiseBound::new(100.0, 0.0)?;
    let schedule = Schedule::anytime(StepKind::Proj, 1.0, 100.0)?;
    let truth = Recursion::new(1.0, noise)?.propagate(&schedule, 200, 1.0);
    outcome.check(Check::refutes("rate-proj-anytime: 32a/(μ²T²)", truth, 32.0 * 100.0 / 40_000.0));
    let bound = rate::proj_strong_anytime(1.0, noise, 1.0, 200)?;
    outcome.check(Check::at_most("rate-proj-anytime: 16⌈2a/μ²⌉²/T²", truth, trial.upper(bound)));

    // A constant step T/log T is never inside the theorem, and the recursion explodes.
    let noise = NoiseBound::new(4.0, 1.0)?;
    let (steps, recursion) = (100u64, Recursion::new(1.0, noise)?);
    let log = (steps as f64).ln();
    let wrong = recursion.propagate(&Schedule::constant(steps as f64 / log)?, 10, 1.0);
    outcome.check(Check::refutes("prox remark: error after ten steps of T/log T", wrong, 1.0));
    let right = recursion.propagate(&Schedule::constant(log / steps as f64)?, steps, 1.0);
    let bound = rate::prox_strong_log(1.0, noise, 0.0, 1.0, 1.0, steps)?;
    outcome.check(Check::at_most("prox remark: log T/T", right, trial.upper(bound)));
    Ok(())
}

/// ∇ log q_{w*} with m* − m, and h as the mean of log q_{w*}.
fn stl_proof(trial: &Trial, outcome: &mut Outcome) -> Result<()> {
    let star = Gaussian::<Triangular>::new(&[0.4], &[0.8])?;
    let w = Gaussian::<Triangular>::new(&[1.0], &[1.3])?;
    // E ∇_z log q_{w*} under q_w is −Σ*⁻¹(m − m*): by differences of E log q_{w*} in m.
    let mean_log = |shift: f64| -> Result<f64> {
        cubature(1, &THREE_POINTS, |u| star.log_density(&[w.mean()[0] + shift + w.factor()[0] * u[0]]))
    };
    let slope = (mean_log(1e-4)? - mean_log(-1e-4)?) / 2e-4;
    let right = -difference(w.mean(), star.mean())[0] / 0.64;
    outcome.check(Check::equal(
        "STL proof: slope of E log q_{w*} with m − m*",
        slope,
        trial.upper(right),
        1e-6,
    ));
    outcome.check(Check::refutes("STL proof: off by, with m* − m", (slope + right).abs(), 1e-3));
    // h(w) is the mean of log q_w, not of log q_{w*}.
    let own = cubature(1, &THREE_POINTS, |u| w.log_density(&[w.mean()[0] + w.factor()[0] * u[0]]))?;
    outcome.check(Check::equal("STL proof: E log q_w = h(w)", own, trial.upper(w.neg_entropy()?), 1e-12));
    outcome.check(Check::refutes(
        "STL proof: E log q_{w*} off by",
        (mean_log(0.0)? - w.neg_entropy()?).abs(),
        1e-3,
    ));
    Ok(())
}

/// C_0 ≻ 0 alone: the noise bound of the entropy estimator fails at a narrow w_0.
fn start(trial: &Trial, outcome: &mut Outcome) -> Result<()> {
    let problem = logistic(1)?;
    let m = problem.smoothness;
    let bound = noise::entropy(1, m, m, problem.mode2)?;
    let moment = |scale: f64| -> Result<f64> {
        let rule = provi_testkit::cubature::trapezoid(0.1);
        cubature(1, &rule, |u| {
            let mut pull = [0.0];
            problem.target().log_density(&[problem.star.mean()[0] + scale * u[0]], &mut pull)?;
            Ok(pull[0].powi(2) + (-pull[0] * u[0] - 1.0 / scale).powi(2))
        })
    };
    let e = |scale: f64| (scale - problem.star.factor()[0]).powi(2);
    outcome.check(Check::refutes("start: E‖g‖² at C_0 = 0.01 ≻ 0", moment(0.01)?, bound.at(e(0.01))));
    let edge = m.powf(-0.5);
    outcome.check(Check::at_most(
        "start: E‖g‖² on the edge of 𝒲_M",
        moment(edge)?,
        trial.upper(bound.at(e(edge))),
    ));
    // KL = l + h forgets the evidence: on a Gaussian target at its optimum KL is 0.
    let problem = gaussian(2, 3.0, 91)?;
    let target =
        provi::target::GaussianTarget::new(problem.star.mean(), problem.curvature.lower().to_matrix(2))?
            .constant(-3.0)?;
    let f = crate::space::objective(&target, &problem.star)?;
    outcome.check(Check::refutes("KL = l + h: at q = p it would be", f.abs(), 1e-3));
    outcome.check(Check::at_most(
        "KL = f + log p(x): at q = p",
        (f + target.log_evidence()).abs(),
        trial.upper(1e-9),
    ));
    Ok(())
}

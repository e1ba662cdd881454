//! Errors in the models: likelihoods, Hessians, constants.

use crate::outcome::{Check, Outcome};
use crate::problems::design_rows;
use crate::space::hessian;
use crate::trial::Trial;
use provi::target::{Glm, Prior, hierarchical_logistic};
use provi::{Design, Matrix, Result, Target};
use std::f64::consts::PI;

pub(super) fn demonstrations(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    linear(trial, &mut outcome)?;
    logistic(trial, &mut outcome)?;
    hierarchical(trial, &mut outcome)?;
    related_work(trial, &mut outcome);
    Ok(outcome)
}

/// ¼AAᵀ for σ⁻²AAᵀ, and the sign of ½ log 2πσ².
fn linear(trial: &Trial, outcome: &mut Outcome) -> Result<()> {
    // One row a = 1, σ = 1, prior 1: M = 2.
    let model = Glm::linear(Design::dense(1, 1, &[1.0])?, &[0.3], 1.0, Prior::precision(1.0)?)?;
    let found = hessian(&model, &[0.2])?[(0, 0)];
    outcome.check(Check::refutes("linear regression: curvature with ¼AAᵀ", found, 1.25));
    outcome.check(Check::at_most("linear regression: curvature with σ⁻²AAᵀ", found, trial.upper(2.0)));
    // The evidence of one observation is N(y; 0, 1 + σ²); with the other sign it would be off by log 2πσ².
    let noise = 0.7f64;
    let model = Glm::linear(Design::dense(1, 1, &[1.0])?, &[0.3], noise, Prior::precision(1.0)?)?;
    let q = provi::solve::Solver::default().run(&model)?.gaussian;
    let evidence = -crate::space::objective(&model, &q)?;
    let variance = 1.0 + noise * noise;
    let truth = -0.5 * (2.0 * PI * variance).ln() - 0.5 * 0.09 / variance;
    outcome.check(Check::equal(
        "linear regression: log evidence with +½ log 2πσ²",
        evidence,
        trial.upper(truth),
        1e-9,
    ));
    let wrong = evidence + (2.0 * PI * noise * noise).ln();
    outcome.check(Check::refutes(
        "linear regression: log evidence with −½ log 2πσ², off by",
        (wrong - truth).abs(),
        1e-3,
    ));
    Ok(())
}

/// θ_min for θ_max, the sign of the second derivative, the label model.
fn logistic(trial: &Trial, outcome: &mut Outcome) -> Result<()> {
    let prior = 0.5;
    let model = Glm::logistic(Design::dense(1, 1, &[2.0])?, &[1.0], Prior::precision(prior)?)?;
    let found = hessian(&model, &[0.0])?[(0, 0)];
    outcome.check(Check::refutes("linear predictor: M with θ_min", found, prior));
    outcome.check(Check::at_most("linear predictor: M with θ_max", found, trial.upper(prior + 0.25 * 4.0)));
    // φ'' by differences of the density: +φ''a².
    let at = |z: f64| -> Result<f64> {
        let mut slope = [0.0];
        Ok(-model.log_density(&[z], &mut slope)?)
    };
    let h = 1e-4;
    let second = (at(h)? - 2.0 * at(0.0)? + at(-h)?) / (h * h);
    outcome.check(Check::equal(
        "linear predictor: ∇²V by differences, +φ''aaᵀ",
        second,
        trial.upper(prior + 1.0),
        1e-5,
    ));
    outcome.check(Check::refutes(
        "linear predictor: off by, with −φ''aaᵀ",
        (second - (prior - 1.0)).abs(),
        1e-3,
    ));
    outcome.check(Check::at_most(
        "logistic: φ'' at 0, against θ_max = ¼",
        (found - prior) / 4.0,
        trial.upper(0.25),
    ));
    // p(x) = sigmoid(x·s) for x = ±1 sums to one; p(x = 1) = sigmoid(x·s) read with x = −1 gives two values for one event.
    let sigmoid = |s: f64| 1.0 / (1.0 + (-s).exp());
    let s = 1.3;
    outcome.check(Check::equal(
        "label model: p(1) + p(−1)",
        sigmoid(s) + sigmoid(-s),
        trial.upper(1.0),
        1e-12,
    ));
    outcome.check(Check::refutes(
        "label model: p(x = 1) read with x = ±1, two values apart by",
        (sigmoid(s) - sigmoid(-s)).abs(),
        1e-3,
    ));
    Ok(())
}

/// Σ⁻¹ + Δ⁻¹ for Σ⁻¹ + nΔ⁻¹ in the θ block, and the sign of the likelihood.
fn hierarchical(trial: &Trial, outcome: &mut Outcome) -> Result<()> {
    let (groups, s, r) = (3usize, 0.7, 2.5);
    let rows = 6;
    let features = Design::from_rows(rows, 1, design_rows(95, rows, 1, 1.0))?;
    let membership: Vec<usize> = (0..rows).map(|n| n % groups).collect();
    let labels: Vec<f64> = (0..rows).map(|n| (n % 2) as f64).collect();
    let model = hierarchical_logistic(
        &features,
        &labels,
        &membership,
        &Matrix::scaled_identity(1, s),
        &Matrix::scaled_identity(1, r),
    )?;
    // −∂²log p/∂θ² by differences of the density.
    let d = model.dim();
    let at = |theta: f64| -> Result<f64> {
        let (mut z, mut slope) = (vec![0.1; d], vec![0.0; d]);
        z[0] = theta;
        Ok(-model.log_density(&z, &mut slope)?)
    };
    let h = 1e-3;
    let second = (at(0.1 + h)? - 2.0 * at(0.1)? + at(0.1 - h)?) / (h * h);
    outcome.check(Check::refutes("hierarchical: ∂²V/∂θ² with Σ⁻¹ + Δ⁻¹", second, s + r));
    outcome.check(Check::equal(
        "hierarchical: ∂²V/∂θ² with Σ⁻¹ + nΔ⁻¹",
        second,
        trial.upper(s + groups as f64 * r),
        1e-4,
    ));
    // log p = +log(1 + e^{..}) would be a probability above one.
    outcome.check(Check::refutes(
        "hierarchical: a probability with log(1 + e^{·})",
        1.0 + f64::exp(0.5),
        1.0,
    ));
    outcome.check(Check::at_most(
        "hierarchical: a probability with −log(1 + e^{·})",
        1.0 / (1.0 + f64::exp(0.5)),
        trial.lower(1.0),
    ));
    Ok(())
}

/// (1−t)N(0,1) + tN(1/t, 1) against N(0,1): an upper bound t of TV, and a lower bound of W₂, the difference of the
/// norms in L², as E X² = 1 + t·t⁻².
pub(super) fn mixture(t: f64) -> [f64; 2] {
    [t, (1.0 + 1.0 / t).sqrt() - 1.0]
}

/// Total variation does not bound W₂ on ℝᵈ.
fn related_work(trial: &Trial, outcome: &mut Outcome) {
    let [variation, transport] = mixture(1e-4);
    outcome.check(Check::refutes("related work: W₂ of a mixture with TV ≤ 1e-4, against 1", transport, 1.0));
    outcome.check(Check::at_most("related work: its total variation", variation, trial.lower(1e-4)));
}

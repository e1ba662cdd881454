//! Errors in the algorithms: decompositions, domains, costs.

use crate::algebra::{combination, form, outer};
use crate::outcome::{Check, Outcome};
use crate::trial::Trial;
use provi::gaussian::Factor;
use provi::optimize::{Moved, Operator};
use provi::step::ProjSymmetric;
use provi::{Gaussian, Matrix, Result, Symmetric, Triangular};
use provi_testkit::space::Space;

const UNKNOWN: Moved = Moved { distance: f64::MAX, value: None };

pub(super) fn demonstrations(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    decomposition(trial, &mut outcome)?;
    domain(trial, &mut outcome)?;
    cost(trial, &mut outcome)?;
    space(trial, &mut outcome);
    Ok(outcome)
}

/// Clamping singular values leaves diag(2, −3) outside the set, or, with the signs dropped, farther than need be.
fn decomposition(trial: &Trial, outcome: &mut Outcome) -> Result<()> {
    let m = 4.0;
    let floor = f64::powf(m, -0.5);
    let before = [2.0, 0.0, -3.0];
    let mut w = [vec![0.0; 2], before.to_vec()].concat();
    ProjSymmetric::new(2, m)?.apply(&mut w, 0.1, &UNKNOWN)?;
    let projected =
        (w[2] - before[0]).powi(2) + 2.0 * (w[3] - before[1]).powi(2) + (w[4] - before[2]).powi(2);
    // Singular values 2 and 3 are above the floor: UD̃Vᵀ is the matrix itself, with an eigenvalue of −3.
    outcome.check(Check::refutes(
        "Algorithms 2, 3: floor 1/√M, against the eigenvalue a singular value decomposition leaves",
        floor,
        -3.0,
    ));
    // Read as U D̃ Uᵀ, it becomes diag(2, 3): inside, but not the nearest point.
    outcome.check(Check::refutes(
        "Algorithms 2, 3: squared distance with UD̃Uᵀ of singular values",
        36.0,
        projected,
    ));
    outcome.check(Check::equal(
        "Algorithms 2, 3: squared distance with eigenvalues",
        projected,
        trial.upper((3.0 + floor).powi(2)),
        1e-12,
    ));
    Ok(())
}

/// A triangular matrix with positive diagonal need not have xᵀCx > 0.
fn domain(trial: &Trial, outcome: &mut Outcome) -> Result<()> {
    let q = Gaussian::<Triangular>::new(&[0.0, 0.0], &[1.0, -10.0, 1.0])?;
    let value = form(&q.factor_matrix(), &[1.0, 1.0], &[1.0, 1.0]);
    outcome.check(Check::refutes(
        "domain on 𝒯ᵈ: 0, against xᵀCx of a factor with positive diagonal",
        0.0,
        value,
    ));
    outcome.check(Check::at_most("domain on 𝒯ᵈ: |log det C| there", q.log_det()?.abs(), trial.lower(1e-12)));
    Ok(())
}

/// The cheaper step: d square roots for the prox; for the projection an eigendecomposition whenever it is active.
fn cost(trial: &Trial, outcome: &mut Outcome) -> Result<()> {
    let mut projection = ProjSymmetric::new(3, 4.0)?;
    for k in 0..10 {
        let mut w = [vec![0.0; 3], crate::problems::normals(96 + k, 6)].concat();
        projection.apply(&mut w, 0.1, &UNKNOWN)?;
    }
    let active = projection.decompositions() as f64;
    outcome.check(Check::refutes(
        "cost: eigendecompositions of ten projections, against the prox's none",
        active,
        0.0,
    ));
    outcome.check(Check::at_most("cost: and no more than one a step", active, trial.lower(10.0)));
    Ok(())
}

/// Projecting a gradient on 𝒯ᵈ takes a symmetric factor out of 𝒮ᵈ.
fn space(trial: &Trial, outcome: &mut Outcome) {
    let g = outer(&[1.0, 2.0], &[0.5, -1.0]);
    let lack = |c: &Matrix| (c[(0, 1)] - c[(1, 0)]).abs();
    let c = Symmetric::to_matrix(2, &[1.0, 0.2, 1.0]);
    let wrong = combination(&c, -0.1, &<Triangular as Space>::project(&g));
    let right = combination(&c, -0.1, &<Symmetric as Space>::project(&g));
    outcome.check(Check::refutes("Algorithm 2: asymmetry of a step with proj on 𝒯ᵈ", lack(&wrong), 1e-3));
    outcome.check(Check::at_most(
        "Algorithm 2: asymmetry of a step with proj on 𝒮ᵈ",
        lack(&right),
        trial.lower(1e-15),
    ));
}

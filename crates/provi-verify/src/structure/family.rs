//! Families of factors: their optimum, their noise, their gap and their promise.

use crate::algebra::{difference, dot, form, product, trace, transposed};
use crate::figure::{Axis, Figure, Mark, Panel, Series};
use crate::outcome::{Check, Outcome};
use crate::problems::{Problem, gaussian, logistic, normals};
use crate::space::{distance2, objective};
use crate::statistics::Mean;
use crate::trial::Trial;
use provi::estimator::Kind;
use provi::method::noise_dimension;
use provi::plan::Coordinates;
use provi::target::GaussianTarget;
use provi::theory::noise;
use provi::{Audit, Auto, Gaussian, Matrix, Method, Pattern, Planner, Result, Seed, Triangular};
use provi_testkit::cubature::{THREE_POINTS, cubature, raw_gradient, size2};

/// The families of the experiment, in dimension d ≥ 4.
fn families(d: usize) -> Vec<Pattern> {
    vec![Pattern::MeanField, Pattern::Blocks(vec![2, d - 2]), Pattern::Arrow(1), Pattern::Banded(1)]
}

/// Whether C_ij, j ≤ i, may differ from zero: the definition, apart from the library's.
fn has(pattern: &Pattern, i: usize, j: usize) -> bool {
    match pattern {
        Pattern::MeanField => i == j,
        Pattern::Blocks(sizes) => {
            let block = |k: usize| {
                let mut end = 0;
                sizes.iter().position(|size| {
                    end += size;
                    k < end
                })
            };
            block(i) == block(j)
        }
        Pattern::Arrow(k) => i == j || j < *k,
        Pattern::Banded(k) => i - j <= *k,
        _ => true,
    }
}

/// The entries of a square matrix that are in the family.
fn projected(pattern: &Pattern, x: &Matrix) -> Matrix {
    let mut out = Matrix::zeros(x.rows(), x.rows());
    for i in 0..x.rows() {
        (0..=i).filter(|&j| has(pattern, i, j)).for_each(|j| out[(i, j)] = x[(i, j)]);
    }
    out
}

/// A random factor of the family with a positive diagonal.
fn member(pattern: &Pattern, d: usize, key: u64) -> Result<Gaussian<Triangular>> {
    let mut c = projected(pattern, &Matrix::new(d, d, normals(key, d * d))?);
    (0..d).for_each(|i| c[(i, i)] = 0.5 + c[(i, i)].abs());
    Gaussian::new(&normals(key + 1, d), &crate::algebra::pack(&c))
}

fn best(problem: &Problem, pattern: &Pattern) -> Result<Gaussian<Triangular>> {
    let auto = Auto { pattern: pattern.clone(), ..Auto::default() };
    Ok(auto.run(problem.target(), Seed(0))?.fit.gaussian)
}

/// Where the optimum of the family lies: its gradient in the family is zero, its diagonal is at least 1/√M and it is near
/// the mode, with the constants of all factors.
fn optimum(problem: &Problem, pattern: &Pattern, trial: &Trial, outcome: &mut Outcome) -> Result<()> {
    let (d, name, star) = (problem.dim(), &problem.name, best(problem, pattern)?);
    let c = star.factor_matrix();
    let least = (0..d).map(|i| c[(i, i)].powi(2)).fold(f64::INFINITY, f64::min);
    let claim = trial.lower(1.0 / problem.smoothness);
    outcome.check(Check::at_least(format!("{name}, {pattern}: least C*_ii²"), least, claim));
    let mode = provi::mode::find_mode(problem.target(), &vec![0.0; d])?;
    let shift = difference(star.mean(), &mode.point);
    let low = problem.curvature.lower().to_matrix(d);
    let inside = form(&low, &shift, &shift) + trace(&product(&product(&transposed(&c), &low), &c));
    outcome.check(Check::at_most(
        format!("{name}, {pattern}: ‖w*−w̄‖² in H_lo"),
        inside,
        trial.upper(d as f64),
    ));
    // The gap of other members, exactly, below its bound.
    let lowest = objective(problem.target(), &star)?;
    for k in 0..trial.effort(2, 6) {
        let q = member(pattern, d, 900 + 10 * k)?;
        let audit = Audit { draws: 100, ..Audit::default() };
        let audited = audit.run(problem.target(), &q, Seed(k))?.within(problem.target(), &q, pattern)?;
        let bound = audited.certificate().own_gap().bound().unwrap_or(f64::INFINITY);
        let exact = objective(problem.target(), &q)? - lowest;
        outcome.check(Check::at_most(
            format!("{name}, {pattern}: gap of member {k}"),
            exact,
            trial.upper(bound),
        ));
    }
    Ok(())
}

/// E‖w_T − w*‖² of planned steps, w* the best of the family; and the same distance to the best of all Gaussians, which no
/// promise is about.
fn promise(problem: &Problem, pattern: &Pattern, trial: &Trial, outcome: &mut Outcome) -> Result<()> {
    let (d, star) = (problem.dim(), best(problem, pattern)?);
    let planner =
        Planner::new(Method::ProxEnergy).pattern(pattern.clone()).coordinates(Coordinates::Original);
    let plan = planner.draws(4).to_distance(problem.target(), 0.02 * problem.mode2)?;
    let promised = plan.promise.value.unwrap_or(0.0);
    let (mut own, mut other) = (Vec::new(), Vec::new());
    for seed in 0..trial.runs(6, 40) {
        let q = plan.run(problem.target(), Seed(seed))?.gaussian;
        own.push(distance2::<Triangular>(d, q.parameters(), star.parameters()));
        other.push(distance2::<Triangular>(d, q.parameters(), problem.star.parameters()));
    }
    let name = format!("{}, {pattern}", problem.name);
    let bound = trial.upper(promised);
    outcome.check(Check::mean_at_most(format!("{name}: E‖w_T−w*‖² of the family"), Mean::of(&own), bound));
    // The best mean field of this target is far from the best Gaussian; that of the others is not.
    if *pattern == Pattern::MeanField && problem.curvature.residual_smoothness() <= Some(0.0) {
        let far = Mean::of(&other).lower();
        outcome.check(Check::refutes(
            format!("{name}: the promise for the best of all Gaussians"),
            far,
            promised,
        ));
    }
    Ok(())
}

/// [pattern].
pub(crate) fn pattern(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    for problem in [gaussian(4, 4.0, 11)?, logistic(4)?] {
        for pattern in families(4) {
            optimum(&problem, &pattern, trial, &mut outcome)?;
            promise(&problem, &pattern, trial, &mut outcome)?;
        }
    }
    // The best mean field of a Gaussian target has the variances 1/(Σ⁻¹)_ii.
    let problem = gaussian(4, 4.0, 11)?;
    let (q, h) = (best(&problem, &Pattern::MeanField)?, problem.curvature.lower().to_matrix(4));
    for i in 0..4 {
        let claim = trial.upper(1.0 / h[(i, i)]);
        outcome.check(Check::equal(format!("mean field: variance {i}"), q.covariance()[(i, i)], claim, 1e-4));
    }
    // The noise of the projected estimator, exactly, for a quadratic V with ∇²V = MI: below the bound, and not by much.
    for d in [2, 4, 5] {
        let all =
            [vec![Pattern::MeanField, Pattern::Arrow(1)], if d > 3 { families(d) } else { vec![] }].concat();
        for (k, pattern) in all.iter().enumerate() {
            let (m, mode) = (1.5, normals(70 + d as u64, d));
            let target = GaussianTarget::new(&mode, Matrix::scaled_identity(d, m))?;
            let q = member(pattern, d, 950 + k as u64)?;
            let exact = cubature(d, &THREE_POINTS, |u| {
                let (left, x) = raw_gradient(Kind::Energy, &target, &q, u)?;
                Ok(size2(&(left, projected(pattern, &x))))
            })?;
            let shift = difference(q.mean(), &mode);
            let counted = noise_dimension(pattern, d);
            let (mean2, factor2) = (dot(&shift, &shift), dot(q.factor(), q.factor()));
            let claim = trial.upper(noise::energy_second_moment(counted, m, mean2, factor2)?);
            outcome.check(Check::at_most(format!("E‖proj g‖², {pattern}, d = {d}"), exact, claim));
        }
    }
    // At m = z̄ and C = I the mean field has E Σπ_i²(1 + u_i²) = 4d whatever d, and its bound grows like log d.
    let sizes = [2usize, 5, 10, 30, 100, 1000, 10_000, 100_000];
    let of = |value: &dyn Fn(usize) -> f64| sizes.iter().map(|&d| (d as f64, value(d))).collect::<Vec<_>>();
    let bound = of(&|d| noise_dimension(&Pattern::MeanField, d) as f64 + 3.0);
    outcome.check(Check::at_most("mean field, d = 10⁵: E‖proj g‖²/(M²‖C‖²)", 4.0, bound[7].1));
    outcome.figures.push(Figure {
        name: "pattern".into(),
        caption: "The noise of the energy estimator at C = I, in units of M²‖C‖²: for the mean field it does not grow with d, and \
                  its bound grows like 2 log d; for all factors it is d + 3 before the projection on 𝒯ᵈ."
            .into(),
        panels: vec![Panel {
            title: "Mean field and all factors".into(),
            x: Axis::log("dimension d"),
            y: Axis::log("E‖g‖²/(M²‖C‖²)"),
            series: vec![
                Series::new("mean field", Mark::Measured, 0, of(&|_| 4.0)),
                Series::new("bound d_𝒱 + 3 of the mean field", Mark::Bound, 0, bound),
                Series::new("bound d + 3 of all factors", Mark::Bound, 1, of(&|d| d as f64 + 3.0)),
            ],
        }],
    });
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use crate::outcome::Verdict;
    use crate::{Trial, find};

    /// The statements as they are, and with every constant halved.
    #[test]
    fn the_experiment_turns_red_for_its_planted_fault_alone() {
        let entry = find("pattern").unwrap();
        let [fair, planted] = [false, true].map(|fault| entry.run(Trial::new(true, None), fault).unwrap());
        assert_ne!(fair.verdict(), Verdict::Violated, "{:?}", fair.outcome.checks);
        assert_eq!(planted.verdict(), Verdict::Violated);
        let of_noise = |check: &&crate::outcome::Check| check.name.starts_with("E‖proj g‖²");
        assert!(planted.outcome.checks.iter().filter(of_noise).any(crate::outcome::Check::is_violated));
    }
}

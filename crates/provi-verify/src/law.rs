//! Base laws: the noise, the optimum and the convergence of q = law of m + Cu, with u of another law than the normal.

mod star;

use crate::algebra::{difference, dot};
use crate::figure::{Axis, Figure, Panel};
use crate::noise::Noise;
use crate::outcome::{Check, Outcome, Relation};
use crate::problems::{Problem, gaussian, logistic, normals};
use crate::rates::Setting;
use crate::space::distance2;
use crate::statistics::Mean;
use crate::trial::Trial;
use provi::estimator::Kind;
use provi::plan::Coordinates;
use provi::schedule::StepKind;
use provi::target::GaussianTarget;
use provi::theory::noise::{self, Base};
use provi::theory::rate;
use provi::{BaseLaw, Gaussian, Matrix, Method, Planner, Result, Schedule, Seed, Triangular};
use provi_testkit::cubature::{cubature, raw_gradient, size2};
use star::{objective, of_law, three_points};

/// The two methods that have a theorem for every law.
const METHODS: [Method; 2] = [Method::ProxEnergy, Method::ProjEntropyTriangular];

/// The kurtosis of each law, from its own draws: E‖g‖² = (1+κ)M²C² for V = ½M(z−z̄)² at m = z̄ in one dimension, where no
/// projection loses anything.
fn kurtosis(trial: &Trial, outcome: &mut Outcome) -> Result<()> {
    let problem = gaussian(1, 1.0, 80)?;
    let w = [problem.star.mean()[0], 1.7];
    let claim = |kurtosis: f64| {
        noise::energy_second_moment(Base::new(1, kurtosis)?, problem.smoothness, 0.0, 1.7f64.powi(2))
    };
    // ν = 20: the mean of a fourth power has a standard error only if the eighth moment exists, and a good one if more do.
    for law in [BaseLaw::student_t(20.0)?, BaseLaw::Laplace, BaseLaw::Logistic, BaseLaw::Uniform] {
        let noise = Noise { base_law: law, ..Noise::new(&problem, Kind::Energy) };
        let mean = noise.measure::<Triangular>(&w, &[0.0; 2], trial.effort(40_000, 400_000), 31)?;
        let bound = trial.upper(claim(law.kurtosis())?);
        outcome.check(Check::mean_at_most(format!("{law}: E‖g‖² on the line"), mean, bound));
        let name = format!("{law}: E‖g‖² on the line is attained");
        outcome.check(Check {
            name,
            measured: mean.value,
            limit: mean.upper(),
            bound,
            relation: Relation::AtLeast,
        });
        if law == BaseLaw::Laplace {
            let wrong = claim(BaseLaw::Gaussian.kurtosis())?;
            outcome.check(Check::refutes("laplace with the kurtosis of the normal law", mean.lower(), wrong));
        }
    }
    Ok(())
}

/// The lemma behind every bound, attained before the projection by an isotropic quadratic whatever m and C.
fn second_moment(trial: &Trial, outcome: &mut Outcome) -> Result<()> {
    for law in [BaseLaw::student_t(5.0)?, BaseLaw::Laplace, BaseLaw::Logistic, BaseLaw::Uniform] {
        for (d, m) in [(1, 0.7), (2, 3.0), (3, 1.3)] {
            let mode = normals(330 + d as u64, d);
            let target = GaussianTarget::new(&mode, Matrix::scaled_identity(d, m))?;
            let mut entries = normals(340 + d as u64, d + d * (d + 1) / 2);
            (0..d).for_each(|i| entries[d + i * (i + 3) / 2] = 0.5 + entries[d + i * (i + 3) / 2].abs());
            let q = Gaussian::<Triangular>::new(&entries[..d], &entries[d..])?;
            let points = three_points(law.kurtosis());
            let exact = cubature(d, &points, |u| Ok(size2(&raw_gradient(Kind::Energy, &target, &q, u)?)))?;
            let shift = difference(q.mean(), &mode);
            let base = Base::new(d, law.kurtosis())?;
            let claim =
                noise::energy_second_moment(base, m, dot(&shift, &shift), dot(q.factor(), q.factor()))?;
            let name = format!("{law}, isotropic quadratic, d = {d}, before the projection");
            outcome.check(Check::equal(name, exact, trial.upper(claim), 1e-10));
        }
    }
    Ok(())
}

/// Both estimators along a path to w*, on the set C_ii ≥ 1/√M.
fn paths(problem: &Problem, law: BaseLaw, trial: &Trial, outcome: &mut Outcome) -> Result<Panel> {
    let (d, m) = (problem.dim(), problem.smoothness);
    let base = Base::new(d, law.kurtosis())?;
    let measure = |kind| Noise { base_law: law, ..Noise::new(problem, kind) }.path::<Triangular>(None, trial);
    let (energy, entropy) = (measure(Kind::Energy)?, measure(Kind::Entropy)?);
    let bound = noise::energy(base, m, problem.mode2)?;
    energy.check(outcome, &format!("{}, energy", problem.name), bound, trial);
    let other = noise::entropy(base, m, m, problem.mode2)?;
    entropy.check(outcome, &format!("{}, entropy", problem.name), other, trial);
    Ok(Panel {
        title: format!("Noise: {}", problem.name),
        x: Axis::log("‖w − w*‖²"),
        y: Axis::log("E‖g‖²"),
        series: vec![
            energy.measured("energy", 0),
            energy.bound("its bound", 0, bound),
            entropy.measured("entropy", 1),
            entropy.bound("its bound", 1, other),
        ],
    })
}

/// Where the best member lies, and that it is not the best Gaussian.
fn optimum(
    problem: &Problem,
    law: BaseLaw,
    gauss: &Gaussian<Triangular>,
    trial: &Trial,
    outcome: &mut Outcome,
) -> Result<()> {
    let (d, name) = (problem.dim(), &problem.name);
    let least = (0..d).map(|i| problem.star.factor()[i * (i + 3) / 2].powi(2)).fold(f64::INFINITY, f64::min);
    let floor = trial.lower(1.0 / problem.smoothness);
    outcome.check(Check::at_least(format!("{name}: least C*_ii²"), least, floor));
    let reach = trial.upper(d as f64 / problem.convexity);
    outcome.check(Check::at_most(format!("{name}: ‖w*−w̄‖²"), problem.mode2, reach));
    let apart = distance2::<Triangular>(d, problem.star.parameters(), gauss.parameters());
    outcome.check(Check::refutes(format!("{name}: (m, C) of the best Gaussian"), apart, 1e-7));
    let worse = objective(problem.target(), law, gauss.parameters())? - problem.best;
    outcome.check(Check::refutes(format!("{name}: f at (m, C) of the best Gaussian"), worse, 1e-9));
    Ok(())
}

/// A constant step against its closed form, and planned steps against their promise.
fn rates(problem: &Problem, law: BaseLaw, trial: &Trial, outcome: &mut Outcome) -> Result<Panel> {
    let mut panel = None;
    for method in METHODS {
        let setting = Setting::of_law(problem, method, law)?;
        let (table, mu, e0) = (setting.table()?, problem.convexity, setting.e0);
        let gamma = mu / (2.0 * table.growth);
        let kind = method.step_kind();
        let schedule = Schedule::strong_constant(kind, mu, table.growth, gamma)?;
        let claim = |t| match kind {
            StepKind::Prox => rate::prox_strong_constant(mu, table, setting.gradient2(), e0, gamma, t),
            StepKind::Proj => rate::proj_strong_constant(mu, table, e0, gamma, t),
        };
        let errors = setting.hold(&schedule, "γ = μ/2a", claim, trial, outcome)?;
        if method == Method::ProxEnergy {
            let title = format!("Rate: {}", problem.name);
            panel = Some(setting.beside_bounds(title, &errors, &schedule, claim)?);
        }
        let planner = Planner::new(method).base_law(law).coordinates(Coordinates::Original).draws(4);
        let plan = planner.to_distance(problem.target(), 0.02 * problem.mode2)?;
        let runs: Result<Vec<f64>> = (0..trial.runs(6, 40))
            .map(|seed| {
                let fit = plan.run_location_scale(problem.target(), Seed(seed))?;
                Ok(distance2::<Triangular>(problem.dim(), fit.q.parameters(), problem.star.parameters()))
            })
            .collect();
        let promised = trial.upper(plan.promise.value.unwrap_or(0.0));
        let name = format!("{}, {method}: promise", problem.name);
        outcome.check(Check::mean_at_most(name, Mean::of(&runs?), promised));
    }
    panel.ok_or(provi::Error::Empty { what: "list of methods" })
}

/// [base-law].
pub(crate) fn base_law(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    second_moment(trial, &mut outcome)?;
    kurtosis(trial, &mut outcome)?;
    let mut panels = Vec::new();
    for law in [BaseLaw::Laplace, BaseLaw::Uniform] {
        // A quadratic V sees two moments of u alone: the best (m, C) is that of the best Gaussian.
        let mut quadratic = gaussian(3, 2.0, 21)?;
        quadratic.name = format!("{}, {law}", quadratic.name);
        panels.push(paths(&quadratic, law, trial, &mut outcome)?);
        rates(&quadratic, law, trial, &mut outcome)?;
        let plain = logistic(2)?;
        let gauss = plain.star.clone();
        let own = of_law(plain, law)?;
        optimum(&own, law, &gauss, trial, &mut outcome)?;
        paths(&own, law, trial, &mut outcome)?;
        panels.push(rates(&own, law, trial, &mut outcome)?);
    }
    outcome.figures.push(Figure {
        name: "base-law".into(),
        caption: "Laplace and uniform draws in place of normal ones. The noise of both estimators along a path to w* and its \
                  bounds, with d + κ for d + 3; and Prox-SGD with a constant step μ/2a on a logistic regression, to the best \
                  member of the law's own family (mean and 10–90% of runs), below the recursion and the closed form."
            .into(),
        panels,
    });
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use crate::outcome::{Check, Verdict};
    use crate::{Trial, find};

    /// The statements as they are, and with every constant halved.
    #[test]
    fn the_experiment_turns_red_for_its_planted_fault_alone() {
        let entry = find("base-law").unwrap();
        let [fair, planted] = [false, true].map(|fault| entry.run(Trial::new(true, None), fault).unwrap());
        let violated: Vec<&Check> = fair.outcome.checks.iter().filter(|c| c.is_violated()).collect();
        assert!(violated.is_empty(), "{violated:?}");
        assert_eq!(fair.verdict(), Verdict::Tight);
        assert_eq!(planted.verdict(), Verdict::Violated);
        for part in ["before the projection", "on the line"] {
            let seen = |check: &&Check| check.name.contains(part) && check.is_violated();
            assert!(planted.outcome.checks.iter().any(|check| seen(&check)), "{part}");
        }
    }
}

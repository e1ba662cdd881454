//! What a statement rests on, and what is said when there is nothing to rest on.

use super::answers::{Kind, answer, optimum};
use super::problem::{Dice, Problem, problem};
use super::verdict::{Check, Facts, Opaque, assert_provenance, compare, on_threads, summary};
use provi::audit::{Audit, Goal};
use provi::target::{Closure, Declared, Evaluator};
use provi::{Curvature, Provenance, Seed, Target};

const NO_GOAL: Goal = Goal { kl: None, table: None };
const AUDIT: Audit =
    Audit { failure_probability: 1e-6, draws: 1200, look: 0, searches: 1, price: 0.2, goal: NO_GOAL };

/// A problem as a black box: nothing but values and gradients.
fn closed(problem: &Problem) -> impl Target + '_ {
    Closure::new(problem.dim(), |z: &[f64], g: &mut [f64]| problem.target.log_density(z, g).unwrap()).unwrap()
}

/// The model's own bounds, on its owner's word.
fn word(problem: &Problem) -> Curvature {
    let own = problem.target.curvature().unwrap().unwrap();
    Curvature::declared(problem.dim(), own.lower().clone(), own.upper().cloned()).unwrap()
}

/// Strong priors, so that a ball exists without local curvature, and Bernstein speaks.
fn is_small(problem: &Problem) -> bool {
    problem.rows() <= 300 && problem.dim() <= 20
}

#[test]
fn black_boxes_with_declared_curvature_are_covered_and_say_declared() {
    are_covered_and_say_declared(20, 4);
}

#[test]
#[ignore = "slow: many problems; some of them are tried above; cargo xtask heavy runs it"]
fn many_black_boxes_with_declared_curvature_are_covered_and_say_declared() {
    are_covered_and_say_declared(90, 20);
}

/// For the first `problems`, of which more than `least` have an interval of the evidence by draws.
fn are_covered_and_say_declared(problems: u64, least: usize) {
    let trial = |index: u64| -> Vec<Check> {
        let problem = problem(index);
        if !is_small(&problem) {
            return Vec::new();
        }
        let mut dice = Dice::new(88_000 + index);
        let (truth, best) = (problem.truth(), optimum(&problem.target));
        let target = Declared::new(closed(&problem)).with_curvature(word(&problem)).unwrap();
        let mut out = Vec::new();
        for kind in Kind::ALL {
            let q = answer(kind, &problem.target, &best, &mut dice);
            let facts = Facts::new(&problem, &truth, &q, &best);
            let audited = AUDIT.run(Evaluator::Serial(&target), &q, Seed(index)).unwrap();
            assert_provenance(&audited, Provenance::Declared, &problem.name);
            out.extend(compare(&problem, kind, &truth, &facts, &q, &audited, &mut dice));
        }
        out
    };
    let checks: Vec<Check> = on_threads(problems, trial).into_iter().flatten().collect();
    println!("{}", summary(&checks));
    let violations: Vec<&Check> = checks.iter().filter(|c| c.is_violated()).collect();
    assert!(violations.is_empty(), "{violations:#?}");
    let intervals = checks.iter().filter(|c| c.what == "evidence above" && c.key == "local-evidence").count();
    assert!(intervals > least, "only {intervals} intervals by draws");
}

/// A declared curvature over a model that proves its own: what rests on the declaration says so, even where the
/// ball's curvature is the model's.
#[test]
fn a_declaration_is_never_laundered_by_a_model() {
    for index in [0, 1, 2, 3, 12, 20] {
        let problem = problem(index);
        let best = optimum(&problem.target);
        let declared = Declared::new(&problem.target).with_curvature(word(&problem)).unwrap();
        for target in [&declared as &dyn Target, &Opaque(&declared)] {
            let audited = AUDIT.run(Evaluator::Serial(target), &best, Seed(index)).unwrap();
            assert_provenance(&audited, Provenance::Declared, &problem.name);
        }
    }
}

#[test]
fn what_is_not_known_is_not_claimed() {
    let problem = problem(4);
    let best = optimum(&problem.target);
    let target = closed(&problem);
    let audited = AUDIT.run(Evaluator::Serial(&target), &best, Seed(1)).unwrap();
    let c = audited.certificate();
    let mut all = vec![c.gap.clone(), c.kl.clone(), c.tv.clone()];
    all.extend(c.moments.iter().flat_map(|m| [m.mean_error.clone(), m.sd_error.clone()]));
    all.extend(audited.functional(&vec![1.0; problem.dim()]).unwrap());
    for s in all {
        assert!(s.bound().is_none() && s.provenance().is_none(), "{s:?}");
        assert!(s.reason().as_ref().is_some_and(|r| r.contains("curvature")));
    }
    assert!(c.evidence.lower().is_none() && c.evidence.upper().is_none() && c.evidence.reason().is_some());
}

/// Where H_lo is too flat to factor in double precision the audit says so, and does not fail.
#[test]
fn a_curvature_too_flat_to_factor_gets_a_reason_and_no_error() {
    let features = crate::common::design(3, 30, 2, 1.0, false);
    let groups: Vec<usize> = (0..30).map(|n| n % 3).collect();
    let precision = |x: f64| provi::Matrix::scaled_identity(2, x);
    let labels = crate::common::labels(30);
    let target =
        provi::target::hierarchical_logistic(&features, &labels, &groups, &precision(1e-12), &precision(1e4))
            .unwrap();
    let q = provi::Gaussian::<provi::Triangular>::standard(8);
    let audited = AUDIT.run(Evaluator::Serial(&target), &q, Seed(1)).unwrap();
    let c = audited.certificate();
    assert!(
        c.gap.bound().is_none() && c.gap.reason().as_ref().is_some_and(|r| r.contains("flat")),
        "{:?}",
        c.gap
    );
    assert!(c.evidence.lower().is_some() && c.evidence.upper().is_none());
}

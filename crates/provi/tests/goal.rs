//! What an audit is asked to prove: it makes draws until it has.

use provi::audit::{Goal, worst_of_table};
use provi::estimate::Estimates;
use provi::target::{Glm, Prior};
use provi::{Audit, Auto, Design, Gaussian, Seed};

fn table() -> (Glm, Gaussian) {
    let rows = 120;
    let x: Vec<f64> =
        (0..rows).flat_map(|i| [1.0, (f64::from(i) * 0.7).sin() * 1.3, (f64::from(i) * 1.1).cos()]).collect();
    let y: Vec<f64> = (0..rows as usize)
        .map(|i| f64::from(u8::from(x[3 * i + 1] + 0.4 > f64::from(i as u32 % 5) * 0.4)))
        .collect();
    let design = Design::dense(rows as usize, 3, &x).unwrap();
    let target = Glm::logistic(design, &y, Prior::scale(2.5).unwrap()).unwrap();
    let q = Auto::default().run(&target, Seed(0)).unwrap().fit.gaussian;
    (target, q)
}

fn audit(goal: Goal) -> Audit {
    Audit { draws: 4000, goal, ..Audit::default() }
}

#[test]
fn more_draws_are_made_until_a_goal_is_proved() {
    let (target, q) = table();
    let first = audit(Goal::default()).run(&target, &q, Seed(1)).unwrap();
    let (bound, worst) = (
        first.certificate().kl.bound().unwrap(),
        worst_of_table(&q, first.certificate(), first.posterior_moments().as_ref()),
    );
    let many = Audit { draws: 200_000, ..Audit::default() }.run(&target, &q, Seed(2)).unwrap();
    let better = many.certificate().kl.bound().unwrap();
    assert!(better < bound, "{better} {bound}");
    let goal = Goal { kl: Some(0.5 * (bound + better)), table: Some(0.5 * worst) };
    let found = audit(goal).run(&target, &q, Seed(1)).unwrap();
    assert!(goal.kl_is_met(found.certificate()));
    assert!(goal.table_is_met(&q, found.certificate(), found.posterior_moments().as_ref()));
    assert!(found.certificate().grounds.all_draws() > first.certificate().grounds.all_draws());
    // A look of several spends its share of δ; what is said of the one kept holds with all of it.
    assert_eq!(found.certificate().kl.confidence(), first.certificate().kl.confidence());
}

#[test]
fn what_no_number_of_draws_can_prove_is_not_tried() {
    let (target, q) = table();
    let first = audit(Goal::default()).run(&target, &q, Seed(1)).unwrap();
    let kl = Estimates::from_log_ratios(first.log_ratios()).unwrap().kl;
    let goal = Goal { kl: Some(0.5 * kl), table: None };
    let found = audit(goal).run(&target, &q, Seed(1)).unwrap();
    assert!(!goal.kl_is_met(found.certificate()));
    // As many draws as for a goal that the first look reaches.
    let once = audit(Goal { kl: Some(1e3), table: None }).run(&target, &q, Seed(1)).unwrap();
    assert_eq!(found.certificate().grounds.all_draws(), once.certificate().grounds.all_draws());
    for wrong in [0.0, -1.0, f64::NAN] {
        assert!(audit(Goal { kl: Some(wrong), table: None }).run(&target, &q, Seed(1)).is_err());
        assert!(audit(Goal { kl: None, table: Some(wrong) }).run(&target, &q, Seed(1)).is_err());
    }
}

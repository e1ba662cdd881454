//! Caps, refusals and agreement of the two ways to read a schedule.
#![allow(clippy::float_cmp)] // products of dyadics, exact

use super::*;

#[test]
fn the_anytime_step_respects_its_cap_where_the_printed_switch_does_not() {
    let (convexity, growth) = (1.0, 9.9);
    let cap = convexity / (2.0 * growth);
    let schedule = Schedule::anytime(StepKind::Prox, convexity, growth).unwrap();
    assert!(schedule.stepper().take(10_000).all(|gamma| gamma > 0.0 && gamma <= cap));
    let switch = 4 * 9u64; // t* = 4⌊a/μ²⌋
    let printed = (2.0 * switch as f64 + 1.0) / (switch as f64 + 1.0).powi(2);
    assert!(printed > cap && (printed - 0.0533).abs() < 1e-4);
    let ceiling = 4.0 * 10.0;
    assert!((2.0 * ceiling + 1.0) / f64::powi(ceiling + 1.0, 2) <= cap);
}

#[test]
fn steps_outside_the_proof_are_refused() {
    let refused = Schedule::strong_constant(StepKind::Prox, 0.5, 20.0, 0.3).unwrap_err();
    assert!(matches!(refused, Error::StepOutsideProof { limit, .. } if limit == 0.0125));
    assert!(Schedule::strong_constant(StepKind::Prox, 0.5, 20.0, 0.0125).is_ok());
    assert!(Schedule::strong_constant(StepKind::Proj, 2.0, 0.1, 1.01).is_err());
    assert!(Schedule::log_over_t(1.0, 50.0, 1.0, 100).is_err());
    assert!(Schedule::log_over_t(1.0, 50.0, 1.0, 1000).is_ok());
    assert!(Schedule::log_over_t(1.0, 50.0, 0.9, 1000).is_err());
    assert!(Schedule::convex(StepKind::Prox, 1.0, 10.0, 99).is_err());
    assert!(Schedule::convex(StepKind::Prox, 1.0, 10.0, 100).is_ok());
    assert!(Schedule::convex(StepKind::Proj, 1.0, 10.0, 1).is_ok());
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(Schedule::constant(bad).is_err());
        assert!(Schedule::custom(vec![0.1, bad]).is_err());
        assert!(Schedule::practical(0.1, 3, bad).is_err());
    }
    assert!(Schedule::custom(vec![]).is_err());
}

#[test]
fn the_stepper_and_at_agree() {
    for schedule in [
        Schedule::constant(0.1).unwrap(),
        Schedule::anytime(StepKind::Proj, 0.3, 7.0).unwrap(),
        Schedule::optimal(1.0, 4.0, 0.5, 10.0).unwrap(),
        Schedule::custom(vec![0.3, 0.2, 0.1]).unwrap(),
        Schedule::practical(0.1, 5, 10.0).unwrap(),
    ] {
        for (t, gamma) in schedule.stepper().take(40).enumerate() {
            assert_eq!(gamma.to_bits(), schedule.at(t as u64).to_bits(), "{schedule}");
        }
    }
}

#[test]
fn a_practical_schedule_holds_then_decays() {
    let schedule = Schedule::practical(0.1, 5, 10.0).unwrap();
    assert_eq!(schedule.at(5), 0.1);
    assert_eq!(schedule.at(15), 0.05);
}

#[test]
fn the_optimal_step_starts_below_its_cap_and_falls() {
    let schedule = Schedule::optimal(0.5, 3.0, 2.0, 1e6).unwrap();
    let gammas: Vec<f64> = schedule.stepper().take(1000).collect();
    assert!(gammas[0] <= 0.5 / 3.0 && gammas.windows(2).all(|g| g[1] < g[0]));
    let linear = Schedule::optimal(0.5, 3.0, 0.0, 1.0).unwrap();
    assert!(linear.stepper().take(100_000).all(|gamma| gamma == 0.5 / 3.0));
}

#[cfg(feature = "serde")]
#[test]
fn schedules_round_trip_through_serde() {
    for schedule in
        [Schedule::optimal(1.0, 4.0, 0.5, 10.0).unwrap(), Schedule::custom(vec![0.1, 0.2]).unwrap()]
    {
        let text = serde_json::to_string(&schedule).unwrap();
        assert_eq!(serde_json::from_str::<Schedule>(&text).unwrap(), schedule);
    }
}

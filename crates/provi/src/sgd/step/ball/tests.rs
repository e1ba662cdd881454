//! The projections against the conditions that define them, and against alternating projections.

use super::*;
use crate::base::gaussian::Triangular;
use crate::base::matrix::packed_len;
use crate::sgd::step::ProjTriangular;
use proptest::prelude::*;

const UNKNOWN: Moved = Moved { distance: f64::MAX, value: None };
const SMOOTH: f64 = 4.0;

fn ball(d: usize, radius: f64) -> Ball {
    Ball { centre: (0..d).map(|i| 0.3 * i as f64 - 0.2).collect(), radius }
}

fn inner<F: Factor>(d: usize, a: &[f64], b: &[f64]) -> f64 {
    let plus: Vec<f64> = a.iter().zip(b).map(|(x, y)| x + y).collect();
    let minus: Vec<f64> = a.iter().zip(b).map(|(x, y)| x - y).collect();
    let square = |x: &[f64]| x[..d].iter().map(|m| m * m).sum::<f64>() + F::square_norm(d, &x[d..]);
    0.25 * (square(&plus) - square(&minus))
}

fn less(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(x, y)| x - y).collect()
}

fn project<F: Factor>(d: usize, radius: f64, w: &[f64]) -> Vec<f64> {
    let mut out = w.to_vec();
    operator::<F>(d, radius).apply(&mut out, 1.0, &UNKNOWN).unwrap();
    out
}

fn operator<F: Factor>(d: usize, radius: f64) -> Box<dyn Operator> {
    if is_triangular::<F>() {
        Box::new(BallTriangular::new(ball(d, radius), SMOOTH).unwrap())
    } else {
        Box::new(BallSymmetric::new(ball(d, radius), SMOOTH).unwrap())
    }
}

fn is_triangular<F: Factor>() -> bool {
    F::square_norm(2, &[0.0, 1.0, 0.0]) < 1.5
}

/// Dykstra's alternating projections on the floor and on the ball, which end at the nearest point of both.
fn alternating<F: Factor>(d: usize, radius: f64, w: &[f64]) -> Vec<f64> {
    let ball = ball(d, radius);
    let centre = [ball.centre.clone(), vec![0.0; packed_len(d)]].concat();
    let (mut x, mut p, mut q) = (w.to_vec(), vec![0.0; w.len()], vec![0.0; w.len()]);
    for _ in 0..20_000 {
        let mut y: Vec<f64> = x.iter().zip(&p).map(|(x, p)| x + p).collect();
        let before = y.clone();
        if is_triangular::<F>() {
            ProjTriangular::new(d, SMOOTH).unwrap().apply(&mut y, 1.0, &UNKNOWN).unwrap();
        } else {
            ProjSymmetric::new(d, SMOOTH).unwrap().apply(&mut y, 1.0, &UNKNOWN).unwrap();
        }
        p = less(&before, &y);
        let z: Vec<f64> = y.iter().zip(&q).map(|(y, q)| y + q).collect();
        let apart = less(&z, &centre);
        let share = (radius / inner::<F>(d, &apart, &apart).sqrt()).min(1.0);
        x = centre.iter().zip(&apart).map(|(c, a)| c + share * a).collect();
        q = less(&z, &x);
    }
    x
}

/// Feasible, idempotent, and ⟨y − Py, v − Py⟩ ≤ 0 for the points v of the set that are tried: the condition that makes Py nearest.
fn check<F: Factor>(d: usize, radius: f64, a: &[f64], b: &[f64]) -> std::result::Result<(), TestCaseError> {
    let (pa, pb) = (project::<F>(d, radius, a), project::<F>(d, radius, b));
    let centre = [ball(d, radius).centre, vec![0.0; packed_len(d)]].concat();
    let apart = less(&pa, &centre);
    prop_assert!(inner::<F>(d, &apart, &apart).sqrt() <= radius * (1.0 + 1e-12));
    let mut clamped = pa.clone();
    if is_triangular::<F>() {
        ProjTriangular::new(d, SMOOTH).unwrap().apply(&mut clamped, 1.0, &UNKNOWN).unwrap();
    } else {
        ProjSymmetric::new(d, SMOOTH).unwrap().apply(&mut clamped, 1.0, &UNKNOWN).unwrap();
    }
    let moved = less(&clamped, &pa);
    prop_assert!(inner::<F>(d, &moved, &moved).sqrt() <= 1e-11);
    let again = less(&project::<F>(d, radius, &pa), &pa);
    prop_assert!(inner::<F>(d, &again, &again).sqrt() <= 1e-10);
    let scale = 1.0 + inner::<F>(d, a, a);
    for s in [0.01, 0.5, 1.0] {
        let v: Vec<f64> = pa.iter().zip(&pb).map(|(x, y)| x + s * (y - x)).collect();
        prop_assert!(inner::<F>(d, &less(a, &pa), &less(&v, &pa)) <= 1e-9 * scale);
    }
    let (before, after) = (less(a, b), less(&pa, &pb));
    prop_assert!(inner::<F>(d, &after, &after) <= inner::<F>(d, &before, &before) * (1.0 + 1e-9) + 1e-18);
    Ok(())
}

proptest! {
    #[test]
    fn both_projections_are_nearest_points(
        a in proptest::collection::vec(-3.0..3.0f64, 14), b in proptest::collection::vec(-3.0..3.0f64, 14),
        radius in 1.0..4.0f64,
    ) {
        check::<Triangular>(4, radius, &a, &b)?;
        check::<Symmetric>(4, radius, &a, &b)?;
    }
}

#[test]
fn alternating_projections_end_at_the_closed_form() {
    for (k, radius) in [1.1, 1.5, 2.5].into_iter().enumerate() {
        let w: Vec<f64> = (0..14).map(|i| 2.5 * ((i * i + 3 * k) as f64 * 0.71).sin()).collect();
        for (closed, other) in [
            (project::<Triangular>(4, radius, &w), alternating::<Triangular>(4, radius, &w)),
            (project::<Symmetric>(4, radius, &w), alternating::<Symmetric>(4, radius, &w)),
        ] {
            let apart = closed.iter().zip(&other).fold(0.0f64, |most, (x, y)| most.max((x - y).abs()));
            assert!(apart < 1e-5, "{radius}: {apart}\n{closed:?}\n{other:?}");
        }
    }
}

/// The multiplier of the ball, on factors where only some entries are at the floor; a shrinkage that clamps after it scales
/// (projecting on the two sets one after the other) would leave the ball.
#[test]
fn the_ball_is_reached_exactly_where_it_binds() {
    let (d, radius) = (2, 1.2);
    let w = [1.3, -0.5, 2.0, 0.9, 0.2];
    let p = project::<Triangular>(d, radius, &w);
    let centre = ball(d, radius).centre;
    let square = |w: &[f64]| {
        (w[0] - centre[0]).powi(2) + (w[1] - centre[1]).powi(2) + w[2..].iter().map(|c| c * c).sum::<f64>()
    };
    assert!((square(&p).sqrt() - radius).abs() < 1e-12 && (p[4] - 0.5).abs() < 1e-15);
    let s = p[3] / w[3];
    assert!(s < 1.0 && (p[2] / w[2] - s).abs() < 1e-12);
    assert!(((p[0] - centre[0]) / (w[0] - centre[0]) - s).abs() < 1e-12);
    let one_after_the_other = {
        let share = radius / square(&[1.3, -0.5, 2.0, 0.9, 0.5]).sqrt();
        let mut w: Vec<f64> = w.iter().map(|x| x * share).collect();
        (w[0], w[1]) = (centre[0] + share * (1.3 - centre[0]), centre[1] + share * (-0.5 - centre[1]));
        w[4] = 0.5;
        w
    };
    assert!(square(&one_after_the_other).sqrt() > radius * 1.01);
    assert!(BallTriangular::new(ball(d, 0.5), SMOOTH).is_err());
    assert!(BallSymmetric::new(ball(d, f64::NAN), SMOOTH).is_err());
}

/// Small moves after the ball has bound: what the symmetric projection remembers about λ_min must not be stale.
#[test]
fn moves_after_the_ball_has_bound_are_projected_too() {
    let mut kept = BallSymmetric::new(ball(2, 1.0), SMOOTH).unwrap();
    let mut w = vec![-0.2, 0.1, 5.0, 0.3, 0.6];
    kept.apply(&mut w, 1.0, &UNKNOWN).unwrap();
    for k in 0..40 {
        let shift = 0.02 * (f64::from(k) * 0.9).sin();
        (w[2], w[3], w[4]) = (w[2] - 0.02, w[3] + shift, w[4] - 0.01);
        let fresh = project::<Symmetric>(2, 1.0, &w);
        kept.apply(&mut w, 1.0, &Moved { distance: 0.06, value: None }).unwrap();
        assert!(w.iter().zip(&fresh).all(|(a, b)| (a - b).abs() < 1e-12), "{k}: {w:?} {fresh:?}");
    }
}

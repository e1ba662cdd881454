//! Audits by an envelope and cells against quadrature [psi-kl], [psi-moments].

use super::answers::{Kind, answer, optimum};
use super::problem::{Dice, Problem, Recipe};
use crate::common::objective;
use provi::audit::Audit;
use provi::certificate::Certificate;
use provi::target::{Family, Target};
use provi::theory::envelope::Envelope;
use provi::{Gaussian, Seed, Triangular};

const GAMMA: Family = Family::Gamma { noise_sd: 1.3 };

pub(super) fn problem(family: Family, d: usize, rows: usize, precision: f64, seed: u64) -> Problem {
    let scale =
        if matches!(family, Family::Poisson | Family::Cloglog | Family::Gamma { .. }) { 0.4 } else { 1.0 };
    let recipe = Recipe {
        family,
        blocks: vec![d],
        rows,
        precision,
        scale,
        separable: false,
        decorated: true,
        rotated: true,
    };
    recipe.build(format!("{family:?}, d = {d}, N = {rows}"), &mut Dice::new(seed))
}

fn audited(problem: &Problem, q: &Gaussian<Triangular>, seed: u64) -> Certificate {
    let audit = Audit { draws: 20_000, ..Audit::default() };
    audit.run(&problem.target, q, Seed(seed)).unwrap().certificate().clone()
}

/// Weighted rows with offsets, one coefficient included; δ = 1e-6 for each audit. KL, evidence, means and deviations cover the truth from
/// every side; at the optimum they are close to it.
#[test]
fn audits_by_cells_cover_what_quadrature_finds_and_are_close_to_it() {
    let mut by_cells = 0;
    let cases = [
        (Family::Bernoulli, 1, 150, 0.5),
        (Family::Bernoulli, 2, 250, 0.3),
        (Family::Poisson, 1, 60, 0.5),
        (Family::Poisson, 2, 80, 0.5),
        (Family::Probit, 1, 120, 0.5),
        (Family::Probit, 2, 200, 0.3),
        (Family::Cloglog, 1, 90, 0.5),
        (Family::Cloglog, 2, 150, 0.5),
        (Family::Gamma { noise_sd: 0.7 }, 1, 40, 0.5),
        (Family::Gamma { noise_sd: 1.2 }, 2, 60, 0.5),
    ];
    for (seed, (family, d, rows, precision)) in (70..).zip(cases) {
        let problem = problem(family, d, rows, precision, seed);
        let truth = problem.truth();
        let best = optimum(&problem.target);
        for kind in Kind::ALL {
            let q = answer(kind, &problem.target, &best, &mut Dice::new(seed));
            let kl = objective(&problem.target, &q) + truth.log_evidence;
            let c = audited(&problem, &q, seed);
            let Some(bound) = c.kl.bound() else { continue };
            let (lower, upper) = (c.evidence.lower().unwrap(), c.evidence.upper().unwrap());
            println!("{} {kind:?}: KL {kl:.3e} ≤ {bound:.3e} by {:?}", problem.name, c.kl.key());
            assert!(bound >= kl - 1e-9, "{} {kind:?}: {kl} {bound}", problem.name);
            assert!(lower <= truth.log_evidence + 1e-9 && truth.log_evidence <= upper + 1e-9, "{kind:?}");
            if c.kl.key() == Some("psi-kl") {
                by_cells += 1;
                if kind == Kind::Optimum {
                    assert!(bound <= 1.2 * kl + 1e-9, "{}: {kl} {bound}", problem.name);
                    assert!(upper - lower <= 0.4 * kl + 1e-9, "{}: {lower} {upper}", problem.name);
                }
            }
        }
    }
    assert!(by_cells >= 14, "{by_cells}");
}

/// One coefficient, so that every number is an integral: with any one constant at half its size E_q[ψ; r ≤ R] and what is beyond do not
/// make ∫p̃, or a point is above its envelope.
#[test]
fn the_envelope_of_a_model_holds_at_every_point_and_each_constant_of_it_is_needed() {
    let mut caught = [false; 5];
    for (family, rows, seed) in [
        (Family::Bernoulli, 12, 1),
        (Family::Bernoulli, 40, 2),
        (Family::Poisson, 10, 3),
        (GAMMA, 10, 4),
        (Family::Probit, 12, 5),
        (Family::Cloglog, 12, 6),
    ] {
        let problem = problem(family, 1, rows, 0.3, seed);
        let best = optimum(&problem.target);
        for (shift, scale) in [(0.0, 1.0), (0.5, 0.9), (-0.3, 1.2)] {
            let s = scale * best.factor()[0];
            let q = Gaussian::<Triangular>::new(&[best.mean()[0] + shift * s], &[s]).unwrap();
            let potential = |x: f64| -problem.target.log_density(&[q.mean()[0] + s * x], &mut [0.0]).unwrap();
            let local = problem.target.local_curvature(&q).unwrap().unwrap();
            let radii: Vec<f64> = (1..=16).map(|k| 0.5 * f64::from(k)).collect();
            let taylor = local.taylor(&radii).unwrap().unwrap();
            let mut slope = [0.0];
            let centre = -problem.target.log_density(q.mean(), &mut slope).unwrap();
            let (tau, g) = (taylor.trace[0], -slope[0] * s);
            let [least, most] = taylor.curvature;
            let envelope = Envelope {
                dim: 1,
                centre: [-1e-9, 1e-9],
                gradient: [g * tau.signum(), 1e-9],
                bias: (g + 0.5 * tau).abs() + 1e-9,
                trace: tau.abs(),
                harmonic: taylor.harmonic,
                bend: [1.0 - least, most - 1.0],
                rings: taylor.rings.clone(),
            };
            // D' − D'(0).
            let drop = |x: f64| potential(x) - centre - 0.5 * x * x;
            let above = |envelope: &Envelope| {
                let at = (-800..=800).map(|k| 0.0099 * f64::from(k));
                let over = at.map(|x| {
                    let [a, b] = envelope.bounds([x.abs(); 2], [x * tau.signum(); 2]);
                    (-drop(x) - a).max(drop(x) - b)
                });
                over.fold(f64::NEG_INFINITY, f64::max)
            };
            let found = above(&envelope);
            assert!(found <= 1e-8, "{} {shift} {scale}: {found}", problem.name);
            let planted = |change: &dyn Fn(&mut Envelope)| {
                let mut wrong = envelope.clone();
                change(&mut wrong);
                above(&wrong) > 1e-6
            };
            // In one dimension there is no harmonic cubic: half of the quartic.
            for side in 0..2 {
                caught[side] |= planted(&|e| {
                    let bend = 0.5 * e.bend[side];
                    e.rings.iter_mut().for_each(|r| {
                        r.joint[side] -= 0.5 * (r.joint[side] - bend);
                        r.curvature[side] = [-1e9, 1e9][side];
                    })
                });
            }
            caught[2] |= planted(&|e| e.trace *= 0.5);
            caught[3] |=
                planted(&|e| e.rings.iter_mut().for_each(|r| (r.joint[0] = 1e9, r.curvature[0] += 0.2).0));
            caught[4] |= planted(&|e| e.bend = [0.0; 2]);
        }
    }
    assert_eq!(caught, [true; 5]);
}

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

/// More than 12 coefficients and 40d³ rows: quartics are bounded by d columns [psi-envelope].
#[test]
fn the_envelope_of_very_many_rows_holds_at_every_point_and_is_not_far_away() {
    let d = 13;
    let target = super::study::logistic(d, 40 * d * d * d, 1.0, 8);
    let q = optimum(&target);
    let radii = [1.0, 2.0, 4.0, 6.0, 8.0];
    let taylor = target.local_curvature(&q).unwrap().unwrap().taylor(&radii).unwrap().unwrap();
    let norm = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
    let mut slope = vec![0.0; d];
    let potential = |x: &[f64], slope: &mut [f64]| {
        let mut z = vec![0.0; d];
        q.transport(x, &mut z);
        -target.log_density(&z, slope).unwrap()
    };
    let centre = potential(&vec![0.0; d], &mut slope);
    let mut gradient = vec![0.0; d];
    for j in 0..d {
        // −Cᵀ∇log p.
        let column = (j..d).map(|i| q.factor_matrix()[(i, j)] * -slope[i]);
        gradient[j] = column.sum();
    }
    let trace = norm(&taylor.trace);
    let along: f64 = gradient.iter().zip(&taylor.trace).map(|(g, t)| g * t / trace).sum();
    let bias: Vec<f64> = gradient.iter().zip(&taylor.trace).map(|(g, t)| g + 0.5 * t).collect();
    let [least, most] = taylor.curvature;
    let envelope = Envelope {
        dim: d,
        centre: [-1e-9, 1e-9],
        gradient: [along, norm(&gradient) + 1e-9],
        bias: norm(&bias) + 1e-9,
        trace,
        harmonic: taylor.harmonic,
        bend: [1.0 - least, most - 1.0],
        rings: taylor.rings,
    };
    let (mut dice, mut closest) = (Dice::new(4), [f64::INFINITY; 2]);
    for k in 0..200 {
        // Along τ first, where the cubic is largest.
        let mut x: Vec<f64> =
            if k < 2 { taylor.trace.clone() } else { (0..d).map(|_| dice.normal()).collect() };
        let r = [1.5, 3.0, 5.0, 7.5][k % 4];
        let scale = r / norm(&x) * if k % 2 == 0 { 1.0 } else { -1.0 };
        x.iter_mut().for_each(|x| *x *= scale);
        let u: f64 = x.iter().zip(&taylor.trace).map(|(x, t)| x * t / trace).sum();
        let drop = potential(&x, &mut slope) - centre - 0.5 * r * r;
        let [a, b] = envelope.bounds([r; 2], [u; 2]);
        assert!(-a - 1e-8 <= drop && drop <= b + 1e-8, "r = {r}: {drop} not in {:?}", [-a, b]);
        closest = [closest[0].min(a + drop), closest[1].min(b - drop)];
        if r > 5.0 {
            assert!(a + b < 0.6, "r = {r}: {a} {b}");
        }
    }
    println!("{closest:?}");
    // Not everything would be within it: some point is near each side.
    assert!(closest.iter().all(|x| *x < 0.02), "{closest:?}");
}

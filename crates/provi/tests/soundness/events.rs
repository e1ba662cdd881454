//! Measured probabilities against quadrature [measured-events].

use super::answers::{Kind, answer, optimum};
use super::problem::{Dice, Problem};
use super::psi::problem;
use crate::common::dot;
use provi::audit::{Audit, Question};
use provi::target::Family;
use provi::theory::bounded::{Bounded, Law};
use provi::{Gaussian, Seed, Triangular};

/// E_p G(weights·z + offset) in d ≤ 2: Simpson's rule along Cᵀ·weights on either side of the jump, the trapezoid rule across.
fn truth(problem: &Problem, q: &Gaussian<Triangular>, log_evidence: f64, ask: &Question) -> f64 {
    let d = q.dim();
    let mut pulled = vec![0.0; d];
    let factor = q.factor_matrix();
    for i in 0..d {
        (0..d).for_each(|j| pulled[j] += factor[(i, j)] * ask.weights[i]);
    }
    let spread = dot(&pulled, &pulled).sqrt();
    let v: Vec<f64> = pulled.iter().map(|x| x / spread).collect();
    let g = Bounded { law: ask.law, at: dot(&ask.weights, q.mean()) + ask.offset, spread };
    let across: Vec<f64> = if d == 1 { vec![0.0] } else { (-40..=40).map(|k| 0.25 * f64::from(k)).collect() };
    let width = if d == 1 { 1.0 } else { 0.25 };
    let log_det = q.log_det().unwrap();
    let mut z = vec![0.0; d];
    let mut density = |l: f64| -> f64 {
        across
            .iter()
            .map(|s| {
                let x = if d == 1 { vec![l * v[0]] } else { vec![l * v[0] - s * v[1], l * v[1] + s * v[0]] };
                q.transport(&x, &mut z);
                width * (-problem.value(&z) - log_evidence + log_det).exp()
            })
            .sum()
    };
    let jump = (-g.at / g.spread).clamp(-11.0, 11.0);
    let mut sum = 0.0;
    for (low, high) in [(-12.0, jump), (jump, 12.0)] {
        let n = 400;
        for k in 0..=n {
            let l = low + (high - low) * f64::from(k) / f64::from(n);
            let inside = l + if k == 0 {
                1e-9
            } else if k == n {
                -1e-9
            } else {
                0.0
            };
            let weight = if k == 0 || k == n { 1.0 } else { f64::from(2 + 2 * (k % 2)) };
            sum += (high - low) / f64::from(3 * n) * weight * g.value(inside) * density(l);
        }
    }
    sum
}

/// Signs of every coefficient, signs of combinations and probabilities behind links, at good and wrong answers: all intervals cover the truth, and
/// at the optimum they are too narrow for q's own probabilities.
#[test]
fn measured_probabilities_cover_what_quadrature_finds_and_are_narrow() {
    let cases = [
        (Family::Bernoulli, 1, 150, 0.5),
        (Family::Bernoulli, 2, 250, 0.3),
        (Family::Bernoulli, 2, 30, 0.5),
        (Family::Poisson, 2, 80, 0.5),
        (Family::Probit, 2, 60, 0.5),
    ];
    let (mut measured, mut refuted, mut close) = (0, 0, 0);
    for (seed, (family, d, rows, precision)) in (170..).zip(cases) {
        let problem = problem(family, d, rows, precision, seed);
        let log_evidence = problem.truth().log_evidence;
        let best = optimum(&problem.target);
        let mut dice = Dice::new(seed);
        let mut asks: Vec<Question> = (0..d)
            .map(|i| Question {
                weights: (0..d).map(|j| f64::from(u8::from(i == j))).collect(),
                offset: 0.0,
                law: Law::Step,
            })
            .collect();
        for law in [Law::Step, Law::Logistic, Law::Probit] {
            asks.push(Question { weights: dice.direction(d), offset: 0.3, law });
        }
        for kind in Kind::ALL {
            let q = answer(kind, &problem.target, &best, &mut Dice::new(seed));
            // More than usual, so that all of them are spent, and not as few as the table needs.
            let audit = Audit { draws: 20_001, ..Audit::default() };
            let audited = audit.ask(&problem.target, &q, Seed(seed), &asks).unwrap();
            let answers = audited.answers();
            if answers.is_empty() {
                continue;
            }
            let own = audited.posterior_moments();
            for (i, (ask, [low, high])) in asks.iter().zip(answers).enumerate() {
                let truth = truth(&problem, &q, log_evidence, ask);
                let name = format!("{} {kind:?} {ask:?}: {truth} in [{low}, {high}]", problem.name);
                assert!(*low <= truth + 1e-7 && truth <= *high + 1e-7, "{name}");
                if let Some(own) = own.as_ref().filter(|own| i < d && !own.positive.is_empty()) {
                    assert!((own.positive[i] - truth).abs() <= own.positive_error[i] + 1e-7, "{name}");
                }
                measured += 1;
                if kind == Kind::Optimum && audited.certificate().kl.key() == Some("psi-kl") {
                    let kl = audited.certificate().kl.bound().unwrap();
                    println!("{name} width {:.2e}, KL {kl:.1e}", high - low);
                    close += 1;
                    assert!(high - low < 0.5 * kl.sqrt(), "{name} {kl}");
                    let sd = q.factor_matrix();
                    let spread = (0..d)
                        .map(|j| (0..d).map(|i| sd[(i, j)] * ask.weights[i]).sum::<f64>().powi(2))
                        .sum::<f64>()
                        .sqrt();
                    let at = dot(&ask.weights, q.mean()) + ask.offset;
                    let [plain, _] = Bounded { law: ask.law, at, spread }.moments();
                    refuted += u32::from(plain < *low || plain > *high);
                }
            }
        }
    }
    assert!(measured > 60 && close >= 15 && refuted >= 3, "{measured} {close} {refuted}");
}

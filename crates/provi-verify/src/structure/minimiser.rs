//! Convexity and smoothness of the objective, and where its minimiser lies.

use crate::algebra::{difference, extremes, form, general_inverse, pack, product, trace, transposed};
use crate::figure::{Axis, Figure, Mark, Panel, Series};
use crate::outcome::{Check, Outcome};
use crate::problems::{Problem, normals, regression, small, w1, w2, w4};
use crate::space::{Space, gradient, inner, square_norm};
use crate::trial::Trial;
use provi::target::Family;
use provi::{Gaussian, Matrix, Result, Symmetric, Triangular};

/// A random point of 𝒲_M, near its edge.
fn point<F: Space>(key: u64, d: usize, smoothness: f64) -> Result<Gaussian<F>> {
    let floor = smoothness.powf(-0.5);
    let noise = Matrix::new(d, d, normals(key, d * d))?;
    let c = if F::SYMMETRIC {
        crate::algebra::spectral(&F::project(&noise), |x| floor * (1.0 + x * x))
    } else {
        let mut c = F::project(&noise);
        (0..d).for_each(|i| c[(i, i)] = floor * (1.0 + c[(i, i)].powi(2)));
        c
    };
    Gaussian::new(&normals(key + 1, d), &pack(&c))
}

/// ∇h = −proj(C⁻ᵀ), flat.
fn entropy_gradient<F: Space>(q: &Gaussian<F>) -> Vec<f64> {
    let x = transposed(&general_inverse(&q.factor_matrix()));
    [vec![0.0; q.dim()], pack(&F::project(&x)).iter().map(|x| -x).collect()].concat()
}

/// l is μ-strongly convex and M-smooth, h convex, and M-smooth on the set: the worst of random pairs.
fn objective<F: Space>(problem: &Problem, trial: &Trial, outcome: &mut Outcome) -> Result<()> {
    let (d, m, mu) = (problem.dim(), problem.smoothness, problem.convexity);
    let (mut strong, mut smooth, mut bent, mut middle) = (f64::INFINITY, 0.0f64, 0.0f64, f64::NEG_INFINITY);
    for k in 0..trial.effort(20, 200) {
        let (a, b) = (point::<F>(5000 + 2 * k, d, m)?, point::<F>(7000 + 2 * k, d, m)?);
        let delta = difference(a.parameters(), b.parameters());
        let length = square_norm::<F>(d, &delta).sqrt();
        let slope =
            difference(&gradient(problem.target(), &a, false)?, &gradient(problem.target(), &b, false)?);
        strong = strong.min(inner::<F>(d, &slope, &delta) / (length * length));
        smooth = smooth.max(square_norm::<F>(d, &slope).sqrt() / length);
        let slope = difference(&entropy_gradient(&a), &entropy_gradient(&b));
        bent = bent.max(square_norm::<F>(d, &slope).sqrt() / length);
        let half: Vec<f64> = a.parameters().iter().zip(b.parameters()).map(|(x, y)| 0.5 * (x + y)).collect();
        let half = Gaussian::<F>::new(&half[..d], &half[d..])?;
        middle = middle.max(half.neg_entropy()? - 0.5 * (a.neg_entropy()? + b.neg_entropy()?));
    }
    let name = format!("{}, {}", problem.name, if F::SYMMETRIC { "𝒮" } else { "𝒯" });
    outcome.check(Check::at_least(format!("{name}: strong convexity of l"), strong, trial.lower(mu)));
    outcome.check(Check::at_most(format!("{name}: smoothness of l"), smooth, trial.upper(m)));
    if F::SYMMETRIC {
        outcome.check(Check::at_most(format!("{name}: smoothness of h on 𝒲_M"), bent, trial.upper(m)));
    }
    outcome.check(Check::at_most(format!("{name}: h at the middle less the mean of the ends"), middle, 0.0));
    Ok(())
}

/// w* ∈ 𝒲_M, its distance to the mode, its precision.
fn minimiser(problem: &Problem, trial: &Trial, outcome: &mut Outcome) -> Result<()> {
    let d = problem.dim();
    let c = problem.star.factor_matrix();
    let covariance = problem.star.covariance();
    let name = &problem.name;
    let least = extremes(&covariance).0;
    outcome.check(Check::at_least(
        format!("{name}: σ_min(C*)²"),
        least,
        trial.lower(1.0 / problem.smoothness),
    ));
    let mode = provi::mode::find_mode(problem.target(), &vec![0.0; d])?;
    let shift = difference(problem.star.mean(), &mode.point);
    let low = problem.curvature.lower().to_matrix(d);
    let seen = product(&product(&transposed(&c), &low), &c);
    let inside = form(&low, &shift, &shift) + trace(&seen);
    outcome.check(Check::at_most(format!("{name}: ‖w*−w̄‖² in H_lo"), inside, trial.upper(d as f64)));
    let radius = d as f64 / problem.convexity;
    outcome.check(Check::at_most(format!("{name}: ‖w*−w̄‖²"), problem.mode2, trial.upper(radius)));
    outcome.check(Check::at_most(format!("{name}: λ_max(C*ᵀH_loC*)"), extremes(&seen).1, 1.0 + 1e-7));
    if let Some(high) = problem.curvature.upper() {
        let seen = product(&product(&transposed(&c), &high.to_matrix(d)), &c);
        outcome.check(Check::at_least(format!("{name}: λ_min(C*ᵀH_hiC*)"), extremes(&seen).0, 1.0 - 1e-7));
    }
    let bound = problem.curvature.trace_inverse();
    outcome.check(Check::at_most(format!("{name}: ‖C*‖²"), trace(&covariance), trial.upper(bound)));
    Ok(())
}

/// h along a segment from I: −log det(I + tR).
fn along(direction: &[f64; 4]) -> Vec<(f64, f64)> {
    (-20..=20)
        .map(|i| 0.1 * f64::from(i))
        .map(|t| {
            let [a, b, c, d] = direction.map(|x| t * x);
            (t, -((1.0 + a) * (1.0 + d) - b * c).ln())
        })
        .filter(|p| p.1.is_finite())
        .collect()
}

/// [structure].
pub(crate) fn structure(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut problems = small()?;
    for problem in &problems {
        objective::<Triangular>(problem, trial, &mut outcome)?;
        objective::<Symmetric>(problem, trial, &mut outcome)?;
    }
    if !trial.quick {
        problems.extend([w1()?, w2()?, w4()?]);
    }
    let mut scatter = Vec::new();
    for k in 0..trial.effort(6, 60) {
        let (d, precision) = (1 + k as usize % 5, 10f64.powf(-1.5 + (k % 7) as f64 * 0.4));
        let model = regression(Family::Bernoulli, 4000 + 5 * k, d, precision)?;
        problems.push(Problem::new(format!("random logistic {k}"), model)?);
    }
    for problem in &problems {
        minimiser(problem, trial, &mut outcome)?;
        scatter.push((problem.condition(), problem.mode2 * problem.convexity / problem.dim() as f64));
    }
    // On general matrices h is not convex: I + tR with R a quarter turn gives −log(1 + t²).
    let turn = along(&[0.0, -1.0, 1.0, 0.0]);
    let ends = 0.5 * (turn[10].1 + turn[turn.len() - 11].1);
    outcome.check(Check::refutes(
        "general matrices: h at I, below the mean of its ends?",
        turn[turn.len() / 2].1,
        ends,
    ));
    outcome.figures.push(Figure {
        name: "structure".into(),
        caption: "Left: −log det along I + tR. Convex for a triangular or symmetric R, not for a quarter turn: on general \
                  matrices the entropy is not convex. Right: the distance of w* to the mode, in units of its bound d/μ."
            .into(),
        panels: vec![
            Panel {
                title: "Convexity of the entropy".into(),
                x: Axis::linear("t"),
                y: Axis::linear("−log det(I + tR)"),
                series: vec![
                    Series::new("R triangular", Mark::Measured, 0, along(&[0.3, 0.0, 1.0, -0.4])),
                    Series::new("R symmetric", Mark::Measured, 1, along(&[0.3, 0.25, 0.25, -0.2])),
                    Series::new("R a quarter turn", Mark::Measured, 3, turn),
                ],
            },
            Panel {
                title: "From the mode to w*".into(),
                x: Axis::log("condition number κ"),
                y: Axis::log("‖w* − w̄‖²·μ/d"),
                series: vec![
                    Series::new("problems", Mark::Points, 0, scatter.clone()),
                    Series::new("bound", Mark::Bound, 1, {
                        let most = scatter.iter().fold(1.0f64, |a, p| a.max(p.0));
                        vec![(1.0, 1.0), (most, 1.0)]
                    }),
                ],
            },
        ],
    });
    Ok(outcome)
}

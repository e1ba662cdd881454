//! The recipes against their formulas in the user's coordinates, and on targets whose answer is known.

use super::batch_and_match::{by_factor, by_few_columns};
use super::*;
use crate::base::draws::{Purpose, Seed};
use crate::base::gaussian::Gaussian;
use crate::base::linalg::{Cholesky, congruence, eigen, multiply, multiply_transposed, spectral_map};
use crate::base::matrix::unpack_lower;
use crate::target::{Evaluator, GaussianTarget};
use crate::{Average, BaseLaw, Method, Pattern, Planner};

fn normals(count: usize, key: u64) -> Vec<f64> {
    let mut out = vec![0.0; count];
    provi_kernels::normals(key, 0, 0, &mut out);
    out
}

/// A positive definite matrix with eigenvalues above `least`.
fn positive(d: usize, key: u64, least: f64) -> Matrix {
    let a = Matrix::new(d, d, normals(d * d, key)).unwrap();
    let mut out = multiply_transposed(&a, &a);
    (0..d).for_each(|i| out[(i, i)] += least);
    mirror_lower(&mut out);
    out
}

fn inverse(h: &Matrix) -> Matrix {
    Cholesky::new("test", h).unwrap().inverse()
}

fn distance(a: &Matrix, b: &Matrix) -> f64 {
    let mut difference = a.clone();
    difference.add_scaled(-1.0, b);
    difference.frobenius_norm() / b.frobenius_norm()
}

/// N(mean, precision⁻¹), and q at some distance from it: its mean, its covariance, w.
struct Case {
    mean: Vec<f64>,
    precision: Matrix,
    q: Gaussian<Triangular>,
}

impl Case {
    /// The variances of q are `wide`² times those of the target in some random coordinates.
    fn new(d: usize, wide: f64) -> Self {
        let precision = positive(d, 11, 1.0);
        let mut covariance = inverse(&precision);
        covariance.entries_mut().iter_mut().for_each(|x| *x *= wide * wide);
        (0..d).for_each(|i| covariance[(i, i)] *= 1.0 + 0.1 * i as f64);
        let q = Gaussian::from_covariance(&normals(d, 12), covariance).unwrap();
        Self { mean: normals(d, 13), precision, q }
    }

    fn dim(&self) -> usize {
        self.mean.len()
    }

    /// CᵀE∇V and CᵀE∇²VC − I at q.
    fn moments(&self, q: &Gaussian<Triangular>) -> (Vec<f64>, Matrix) {
        let d = self.dim();
        let c = unpack_lower(d, q.factor());
        let away: Vec<f64> = q.mean().iter().zip(&self.mean).map(|(a, b)| a - b).collect();
        let pull: Vec<f64> = (0..d).map(|i| provi_kernels::dot(self.precision.row(i), &away)).collect();
        let mut slope = vec![0.0; d];
        triangle::multiply_transposed(q.factor(), &pull, &mut slope);
        let mut excess = congruence(&self.precision, &c);
        (0..d).for_each(|i| excess[(i, i)] -= 1.0);
        (slope, excess)
    }
}

fn after(d: usize, w: Vec<f64>) -> Gaussian<Triangular> {
    Gaussian::checked(d, w).unwrap()
}

fn mean_distance(a: &[f64], b: &[f64]) -> f64 {
    norm(&a.iter().zip(b).map(|(a, b)| a - b).collect::<Vec<f64>>())
}

#[test]
fn moments_have_no_noise_where_q_is_p() {
    let case = Case::new(6, 1.0);
    let target = GaussianTarget::new(&case.mean, case.precision.clone()).unwrap();
    let best = target.optimum().unwrap();
    for (_, walk) in Walk::named() {
        let draws = Draws::new(Seed(3), Purpose::Optimise);
        let mut walker = Walker::new(walk, Evaluator::Serial(&target), draws, 3).unwrap();
        let mut w = best.parameters().to_vec();
        for t in 0..5 {
            assert!(walker.advance(&mut w, t, 0.02).unwrap().distance < 1e-12, "{walk}");
        }
        assert_eq!(walker.evaluations(), 15);
    }
}

#[test]
fn one_exact_natural_step_of_length_one_reaches_a_gaussian() {
    let case = Case::new(7, 3.0);
    let (slope, excess) = case.moments(&case.q);
    let mut w = case.q.parameters().to_vec();
    NaturalGradient::new(7).move_by(&mut w, &slope, &excess, 1.0).unwrap();
    let q = after(7, w);
    assert!(distance(&q.covariance(), &inverse(&case.precision)) < 1e-12);
    assert!(mean_distance(q.mean(), &case.mean) < 1e-12);
}

/// Λ + ρG + c·ρ²GΛ⁻¹G in the user's coordinates: the retraction has c = ½.
fn retracted(case: &Case, rho: f64, c: f64) -> Matrix {
    let covariance = case.q.covariance();
    let precision = inverse(&covariance);
    let mut g = case.precision.clone();
    g.add_scaled(-1.0, &precision);
    let mut out = precision;
    out.add_scaled(rho, &g);
    out.add_scaled(c * rho * rho, &congruence(&covariance, &g));
    out
}

#[test]
fn a_natural_step_that_would_take_too_much_precision_is_retracted() {
    // q is narrower than the target by a factor of four: a whole step would divide Λ by sixteen.
    let case = Case::new(5, 0.25);
    let (slope, excess) = case.moments(&case.q);
    let rho = 0.9;
    let mut w = case.q.parameters().to_vec();
    NaturalGradient::new(5).move_by(&mut w, &slope, &excess, rho).unwrap();
    let q = after(5, w);
    let found = inverse(&q.covariance());
    assert!(distance(&found, &retracted(&case, rho, 0.5)) < 1e-12);
    for planted in [0.0, 1.0] {
        assert!(distance(&found, &retracted(&case, rho, planted)) > 0.1, "{planted}");
    }
    // m − ρΣE∇V with the new Σ.
    let away: Vec<f64> = case.q.mean().iter().zip(&case.mean).map(|(a, b)| a - b).collect();
    let pull: Vec<f64> = (0..5).map(|i| provi_kernels::dot(case.precision.row(i), &away)).collect();
    let covariance = q.covariance();
    for i in 0..5 {
        let expected = case.q.mean()[i] - rho * provi_kernels::dot(covariance.row(i), &pull);
        assert!((q.mean()[i] - expected).abs() < 1e-12);
    }
}

#[test]
fn no_natural_step_takes_more_than_half_of_the_precision() {
    let d = 6;
    for key in 0..40 {
        // Any symmetric Ĝ, far from positive definite.
        let a = Matrix::new(d, d, normals(d * d, key)).unwrap();
        let scale = 10f64.powi(key as i32 % 5 - 2);
        let mut excess = Matrix::zeros(d, d);
        for i in 0..d {
            (0..d).for_each(|j| excess[(i, j)] = scale * (a[(i, j)] + a[(j, i)]));
        }
        let mut w = Gaussian::<Triangular>::standard(d).parameters().to_vec();
        NaturalGradient::new(d).move_by(&mut w, &[0.0; 6], &excess, 1.0).unwrap();
        let (values, _) = eigen("test", &after(d, w).covariance()).unwrap();
        assert!(values[d - 1] <= 2.0 + 1e-9, "{key}: {values:?}");
    }
}

/// ½(S + aηI + (S(S + 4ηI))^{½}), S = MΣM, in the user's coordinates: the proximal step has a = 2.
fn backward(case: &Case, eta: f64, a: f64) -> Matrix {
    let d = case.dim();
    let mut m = Matrix::scaled_identity(d, 1.0);
    m.add_scaled(-eta, &case.precision);
    let s = congruence(&case.q.covariance(), &m);
    let mut shifted = s.clone();
    (0..d).for_each(|i| shifted[(i, i)] += 4.0 * eta);
    // S commutes with S + 4ηI, so the product is symmetric.
    let mut product = multiply(&s, &shifted);
    mirror_lower(&mut product);
    let (values, vectors) = eigen("test", &product).unwrap();
    let mut out = spectral_map(&values, &vectors, |x| x.max(0.0).sqrt());
    out.add_scaled(1.0, &s);
    (0..d).for_each(|i| out[(i, i)] += a * eta);
    out.entries_mut().iter_mut().for_each(|x| *x *= 0.5);
    out
}

#[test]
fn a_bures_wasserstein_step_is_the_formula_of_its_authors() {
    let case = Case::new(6, 1.7);
    let eta = 0.05;
    let (slope, excess) = case.moments(&case.q);
    let mut w = case.q.parameters().to_vec();
    BuresWasserstein::new(6).move_by(&mut w, &slope, &excess, eta).unwrap();
    let q = after(6, w);
    assert!(distance(&q.covariance(), &backward(&case, eta, 2.0)) < 1e-10);
    for planted in [0.0, 1.0, 4.0] {
        assert!(distance(&q.covariance(), &backward(&case, eta, planted)) > 1e-3, "{planted}");
    }
    for i in 0..6 {
        let away: Vec<f64> = case.q.mean().iter().zip(&case.mean).map(|(a, b)| a - b).collect();
        let expected = case.q.mean()[i] - eta * provi_kernels::dot(case.precision.row(i), &away);
        assert!((q.mean()[i] - expected).abs() < 1e-12);
    }
}

/// In one dimension: W₂²/(2η) − log σ is least at the new σ, and errors shrink as derived.
#[test]
fn bures_wasserstein_steps_are_proximal_and_contract_as_derived() {
    let (h, eta) = (2.0, 0.15);
    let precision = Matrix::scaled_identity(1, h);
    let best: f64 = h.sqrt().recip();
    let step = |mean: f64, sd: f64| {
        let case =
            Case { mean: vec![0.3], precision: precision.clone(), q: Gaussian::new(&[mean], &[sd]).unwrap() };
        let (slope, excess) = case.moments(&case.q);
        let mut w = case.q.parameters().to_vec();
        BuresWasserstein::new(1).move_by(&mut w, &slope, &excess, eta).unwrap();
        (w[0], w[1])
    };
    let (mean, sd) = step(1.0, 2.0);
    let pushed = (1.0 - eta * h) * 2.0;
    let objective = |sd: f64| (sd - pushed).powi(2) / (2.0 * eta) - sd.ln();
    assert!(objective(sd) < objective(sd * 1.001) && objective(sd) < objective(sd * 0.999));
    assert!(((mean - 0.3) / 0.7 - (1.0 - eta * h)).abs() < 1e-12);
    // The fixed point, and the derivative there.
    assert!((step(0.3, best).1 - best).abs() < 1e-14);
    let small = 1e-6;
    let rate = (step(0.3, best + small).1 - best) / small;
    assert!((rate - (1.0 - eta * h) / (1.0 + eta * h)).abs() < 1e-5, "{rate}");
}

#[test]
fn both_formulas_of_a_match_solve_its_equation() {
    for (d, columns) in [(9, 4), (5, 12), (6, 6)] {
        let scaled = |key, size: f64| {
            let entries = normals(columns * d, key).iter().map(|x| size * x).collect();
            Matrix::new(columns, d, entries).unwrap()
        };
        let (points, scores) = (scaled(21, 1.3), scaled(22, 2.0));
        let mut v = multiply_transposed(&points, &points);
        (0..d).for_each(|i| v[(i, i)] += 1.0);
        let u = multiply_transposed(&scores, &scores);
        for s in [by_few_columns(&points, &scores).unwrap(), by_factor(&points, &scores).unwrap()] {
            let residual = |s: &Matrix| {
                let mut left = congruence(&u, s);
                left.add_scaled(1.0, s);
                distance(&left, &v)
            };
            assert!(residual(&s) < 1e-10, "{d} {columns}: {}", residual(&s));
            let mut planted = s.clone();
            planted.entries_mut().iter_mut().for_each(|x| *x *= 1.1);
            assert!(residual(&planted) > 1e-2);
        }
    }
}

/// The update in the user's coordinates, from the draws and the scores themselves.
#[test]
fn a_match_is_the_update_of_its_authors() {
    let (d, n, lambda) = (4, 9, 2.5);
    let case = Case::new(d, 1.4);
    let u = normals(n * d, 31);
    let mut z = vec![0.0; n * d];
    case.q.transport(&u, &mut z);
    let scores: Vec<f64> = z.iter().map(|z| -0.5 * z - 0.2 * z.sin()).collect();
    let average = |x: &[f64]| -> Vec<f64> {
        (0..d).map(|i| x.iter().skip(i).step_by(d).sum::<f64>() / n as f64).collect()
    };
    let covariance = |x: &[f64], mean: &[f64]| {
        let centred = x.chunks_exact(d).flat_map(|x| x.iter().zip(mean).map(|(x, m)| x - m)).collect();
        let centred = Matrix::new(n, d, centred).unwrap();
        let mut out = multiply_transposed(&centred, &centred);
        out.entries_mut().iter_mut().for_each(|x| *x /= n as f64);
        out
    };
    let (zm, gm) = (average(&z), average(&scores));
    let outer = |x: &[f64]| {
        let row = Matrix::new(1, d, x.to_vec()).unwrap();
        multiply_transposed(&row, &row)
    };
    let away: Vec<f64> = case.q.mean().iter().zip(&zm).map(|(a, b)| a - b).collect();
    let mut v = case.q.covariance();
    v.add_scaled(lambda, &covariance(&z, &zm));
    v.add_scaled(lambda / (1.0 + lambda), &outer(&away));
    let mut uu = covariance(&scores, &gm);
    uu.entries_mut().iter_mut().for_each(|x| *x *= lambda);
    uu.add_scaled(lambda / (1.0 + lambda), &outer(&gm));

    let mut batch = Batch::new(d, n);
    batch.u.copy_from_slice(&u);
    let pulls: Vec<f64> = scores.iter().map(|g| -g).collect();
    triangle::pull_back(case.q.factor(), &pulls, &mut batch.pulls);
    let mut w = case.q.parameters().to_vec();
    BatchAndMatch::new(d, n).make(&mut w, &mut batch, lambda).unwrap();
    let q = after(d, w);
    let s = q.covariance();
    let mut left = congruence(&uu, &s);
    left.add_scaled(1.0, &s);
    assert!(distance(&left, &v) < 1e-12, "{}", distance(&left, &v));
    for i in 0..d {
        let matched = provi_kernels::dot(s.row(i), &gm) + zm[i];
        let expected = (case.q.mean()[i] + lambda * matched) / (1.0 + lambda);
        assert!((q.mean()[i] - expected).abs() < 1e-12);
    }
}

#[test]
fn a_few_matches_of_large_batches_reach_a_gaussian() {
    let case = Case::new(5, 2.0);
    let target = GaussianTarget::new(&case.mean, case.precision.clone()).unwrap();
    let draws = Draws::new(Seed(5), Purpose::Optimise);
    let mut walker = Walker::new(Walk::BatchAndMatch, Evaluator::Serial(&target), draws, 40).unwrap();
    let mut w = case.q.parameters().to_vec();
    for t in 0..6 {
        walker.advance(&mut w, t, 200.0).unwrap();
    }
    let q = after(5, w);
    assert!(distance(&q.covariance(), &inverse(&case.precision)) < 1e-8);
    assert!(mean_distance(q.mean(), &case.mean) < 1e-8);
}

/// From N(0, I) in the user's coordinates, with a few draws: noise and error vanish together.
#[test]
fn every_recipe_reaches_a_gaussian_exactly() {
    let mut precision = positive(4, 41, 1.0);
    precision.entries_mut().iter_mut().for_each(|x| *x *= 0.3);
    let mean = normals(4, 42);
    let target = GaussianTarget::new(&mean, precision.clone()).unwrap();
    for (walk, gamma) in
        [(Walk::NaturalGradient, 0.3), (Walk::BuresWasserstein, 0.1), (Walk::BatchAndMatch, 3.0)]
    {
        let draws = Draws::new(Seed(7), Purpose::Optimise);
        let mut walker = Walker::new(walk, Evaluator::Serial(&target), draws, 12).unwrap();
        let mut w = Gaussian::<Triangular>::standard(4).parameters().to_vec();
        for t in 0..1_500 {
            walker.advance(&mut w, t, gamma).unwrap();
        }
        let q = after(4, w);
        let found = distance(&q.covariance(), &inverse(&precision));
        assert!(found < 1e-9, "{walk}: {found}");
        assert!(mean_distance(q.mean(), &mean) < 1e-9, "{walk}");
    }
}

#[test]
fn plans_of_recipes_promise_nothing_and_refuse_what_they_cannot_do() {
    let target = GaussianTarget::new(&[1.0, 2.0], positive(2, 51, 1.0)).unwrap();
    for (name, method) in Method::recipes().filter(|(_, method)| method.walk().is_some()) {
        let planner = Planner::new(method);
        let plan = planner.practical(&target, Some(40)).unwrap();
        assert_eq!(plan.average, Average::Last);
        assert_eq!(plan.promise.value, None);
        let text = plan.to_string();
        assert!(text.starts_with(name) && text.contains("unproven recipe"), "{text}");
        let fit = plan.run(&target, Seed(1)).unwrap();
        assert_eq!(fit.method, name);
        assert_eq!(fit.gradient_evaluations, plan.evaluations + 400);
        assert!(fit.promise.reason.as_ref().is_some_and(|reason| reason.contains("unproven")));
        assert!(planner.to_distance(&target, 0.1).unwrap_err().to_string().contains("unproven"), "{name}");
        assert!(planner.clone().pattern(Pattern::MeanField).practical(&target, None).is_err());
        assert!(planner.clone().base_law(BaseLaw::Laplace).practical(&target, None).is_err());
        assert!(Planner::new(method).draws(0).practical(&target, None).is_err());
    }
    assert_eq!(Method::recipes().filter(|(_, m)| m.check_subsampled().is_err()).count(), 1);
    let law = Draws::new(Seed(1), Purpose::Optimise).of(BaseLaw::Laplace);
    assert!(Walker::new(Walk::NaturalGradient, Evaluator::Serial(&target), law, 3).is_err());
}

#[test]
fn a_target_that_is_not_finite_is_named_and_too_long_steps_diverge() {
    let broken = crate::target::Closure::new(1, |_: &[f64], g: &mut [f64]| {
        g[0] = f64::NAN;
        0.0
    })
    .unwrap();
    let steep = GaussianTarget::new(&[1.0], Matrix::scaled_identity(1, 1e3)).unwrap();
    for (_, walk) in Walk::named() {
        let draws = Draws::new(Seed(1), Purpose::Optimise);
        let mut walker = Walker::new(walk, Evaluator::Serial(&broken), draws, 2).unwrap();
        let error = walker.advance(&mut [0.0, 1.0], 0, 0.5).unwrap_err();
        assert!(matches!(error, Error::TargetNotFinite { .. }), "{error}");
        let mut walker = Walker::new(walk, Evaluator::Serial(&steep), draws, 2).unwrap();
        let mut w = [0.0, 1.0];
        for t in 0..2000 {
            if walker.advance(&mut w, t, 1e200).is_err() {
                break;
            }
            assert!(w[1] > 0.0 || !w[1].is_finite());
        }
    }
}

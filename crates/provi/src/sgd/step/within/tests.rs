use super::*;
use crate::base::draws::{Purpose, Seed};
use crate::base::matrix::packed_index;
use crate::base::pattern::Pattern;
use crate::sgd::estimator::{Kind, Sampled};
use crate::sgd::optimize::Estimator;
use crate::sgd::step::{ProjTriangular, Prox};
use crate::target::Closure;
use crate::target::evaluate::Evaluator;

/// V(z) = Σ_i cosh(z_i)/2 + ½(Σz)²: neither quadratic nor separable.
fn target(d: usize) -> impl crate::Target {
    Closure::new(d, |z: &[f64], g: &mut [f64]| {
        let sum: f64 = z.iter().sum();
        g.iter_mut().zip(z).for_each(|(g, z)| *g = -0.5 * z.sinh() - sum);
        -z.iter().map(|z| 0.5 * z.cosh()).sum::<f64>() - 0.5 * sum * sum
    })
    .unwrap()
}

fn patterns(d: usize) -> [Pattern; 5] {
    let blocks = Pattern::Blocks(vec![2, d - 2]);
    [Pattern::Full, Pattern::MeanField, blocks, Pattern::Arrow(1), Pattern::Banded(2)]
}

/// A step within a family is the step of all factors, made from a factor of the family and with the gradient's other
/// entries dropped: both estimators, both floors.
#[test]
fn a_step_is_the_projection_of_the_step_of_all_factors() {
    let (d, batch, gamma) = (5, 3, 0.05);
    let target = target(d);
    let draws = || Draws::new(Seed(4), Purpose::Optimise);
    for pattern in patterns(d) {
        let entries = Arc::new(pattern.entries(d).unwrap());
        for floor in [Floor::Prox, Floor::Least(0.9)] {
            let mut w = vec![0.2; d + entries.len()];
            (0..d).for_each(|i| w[d + entries.diagonal(i)] = 1.0 + 0.1 * i as f64);
            let mut whole = [w[..d].to_vec(), entries.scatter(&w[d..])].concat();
            let kind = if floor == Floor::Prox { Kind::Energy } else { Kind::Entropy };
            let evaluator = Evaluator::from(&target as &dyn crate::Target);
            let mut estimator = Sampled::<Triangular>::new(kind, evaluator, draws(), batch).unwrap();
            estimator.descend(&mut whole, 7, gamma).unwrap();
            entries.clear_others(&mut whole[d..]);
            let moved = Moved::default();
            match floor {
                Floor::Prox => Prox::new(d).apply(&mut whole, gamma, &moved).unwrap(),
                Floor::Least(least) => {
                    ProjTriangular::new(d, least.powi(-2)).unwrap().apply(&mut whole, gamma, &moved).unwrap();
                }
            }
            let evaluator = Evaluator::from(&target as &dyn crate::Target);
            let diagonal = Diagonal { entries: Arc::clone(&entries), floor };
            let mut steps = Within::new(evaluator, draws(), batch, diagonal).unwrap();
            let moved = steps.advance(&mut w, 7, gamma).unwrap();
            let own = [w[..d].to_vec(), entries.scatter(&w[d..])].concat();
            for (a, b) in own.iter().zip(&whole) {
                assert!((a - b).abs() < 1e-13, "{pattern} {floor:?}: {a} {b}");
            }
            assert!(moved.distance > 0.0 && moved.value.is_some());
        }
    }
}

/// The mean of many projected draws is the projected gradient: here of ½zᵀHz, whose gradient HC is exact.
#[test]
fn the_projected_estimator_is_unbiased() {
    let d = 4;
    let h = |i: usize, j: usize| if i == j { 2.0 + i as f64 } else { 0.6 };
    let gaussian = Closure::new(d, move |z: &[f64], g: &mut [f64]| {
        for i in 0..d {
            g[i] = -(0..d).map(|j| h(i, j) * z[j]).sum::<f64>();
        }
        0.5 * z.iter().zip(&*g).map(|(z, g)| z * g).sum::<f64>()
    })
    .unwrap();
    for pattern in patterns(d) {
        let entries = Arc::new(pattern.entries(d).unwrap());
        let mut w = vec![0.3; d + entries.len()];
        (0..d).for_each(|i| w[d + entries.diagonal(i)] = 1.5);
        let (start, c) = (w.clone(), entries.scatter(&w[d..]));
        let evaluator = Evaluator::from(&gaussian as &dyn crate::Target);
        let diagonal = Diagonal { entries: Arc::clone(&entries), floor: Floor::Least(1e-9) };
        let (draws, batch, gamma) = (Draws::new(Seed(5), Purpose::Optimise), 400_000, 1e-3);
        Within::new(evaluator, draws, batch, diagonal).unwrap().advance(&mut w, 0, gamma).unwrap();
        for i in 0..d {
            let (first, columns) = entries.row(i);
            for (k, &j) in columns.iter().enumerate() {
                let found = (start[d + first + k] - w[d + first + k]) / gamma;
                let entry = |r: usize| if r >= j { c[packed_index(r, j)] } else { 0.0 };
                let barrier = if i == j { 1.0 / 1.5 } else { 0.0 };
                let exact = (0..d).map(|r| h(i, r) * entry(r)).sum::<f64>() - barrier;
                // The deviation of one draw is below 25: six standard errors of the mean.
                assert!(
                    (found - exact).abs() < 6.0 * 25.0 / 400_000f64.sqrt(),
                    "{pattern} {i} {j}: {found} {exact}"
                );
            }
        }
    }
}

use super::*;
use crate::Seed;
use crate::auto::scales::LinearPredictor;
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::matrix::Matrix;
use crate::glm::design::Design;
use crate::glm::expectation::{Moments, neg_elbo};
use crate::glm::sparse::NormalLaw;
use crate::glm::{Family, Glm, Prior, hierarchical_logistic};
use crate::solve::Solver;
use crate::target::Target;

/// An intercept, a column far from zero, and effects of groups: nested (g within h), crossed, or with slopes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Groups {
    Nested,
    Crossed,
    Slopes,
}

const ALL: [Groups; 3] = [Groups::Nested, Groups::Crossed, Groups::Slopes];
const FAMILIES: [Family; 8] = [
    Family::Gaussian { noise_sd: 0.8 },
    Family::Bernoulli,
    Family::Probit,
    Family::Cloglog,
    Family::Poisson,
    Family::Gamma { noise_sd: 0.8 },
    Family::Weibull { noise_sd: 0.6, unit: 1.3, coarse: false },
    Family::NegativeBinomial { noise_sd: 0.7 },
];

fn model(groups: Groups, family: Family, rows: usize, seed: u64) -> Glm {
    let mut x = vec![0.0; rows];
    provi_kernels::normals(seed, 0, 0, &mut x);
    let mut noise = vec![0.0; rows];
    provi_kernels::normals(seed, 1, 0, &mut noise);
    let (a, b) = (6, 4);
    let mut triplets = Vec::new();
    for n in 0..rows {
        let (g, h) = match groups {
            Groups::Nested => (n % a, (n % a) / 2),
            Groups::Crossed | Groups::Slopes => (n % a, (n * 7 + n / 5) % b),
        };
        triplets.extend([(n, 0, 1.0), (n, 1, 20.0 + 3.0 * x[n]), (n, 2 + g, 1.0)]);
        triplets.push((n, 2 + a + h, if groups == Groups::Slopes { x[n] } else { 1.0 }));
    }
    let response = |n: usize| match family {
        Family::Gaussian { .. } => noise[n] + x[n],
        Family::Poisson | Family::NegativeBinomial { .. } => {
            (1.5 + noise[n] + 0.3 * x[n]).exp().floor().min(9.0)
        }
        Family::Gamma { .. } | Family::Weibull { .. } => (0.5 * noise[n] + 0.3 * x[n]).exp(),
        _ => f64::from(u8::from(noise[n] + x[n] > 0.2)),
    };
    let y: Vec<f64> = (0..rows).map(response).collect();
    let design = Design::triplets(rows, 2 + a + b, &triplets).unwrap();
    let laws: Vec<(f64, f64)> =
        (0..2 + a + b).map(|j| (0.1, [2.5, 0.8, 0.7, 1.3][j.min(2 + (j + 1) % 2)])).collect();
    let mut at = vec![0.0; 2 + a + b];
    (at[0], at[1]) = (1.0, 20.0);
    let mut prior = Prior::centered(&laws, 0, &at).unwrap();
    if groups == Groups::Slopes {
        let covariance = Matrix::new(2, 2, vec![1.0, 0.4, 0.4, 0.5]).unwrap();
        let (first, second): (Vec<usize>, Vec<usize>) = ((2..2 + b).collect(), (2 + a..2 + a + b).collect());
        prior = prior.with_covariance(2 + a + b, &[&first, &second], &covariance).unwrap();
    }
    let weights: Vec<f64> = (0..rows).map(|n| 0.5 + (n % 3) as f64).collect();
    let offsets: Vec<f64> = (0..rows).map(|n| 0.1 * (n % 4) as f64).collect();
    let model = Glm::new(family, design, &y, prior).unwrap();
    model.with_weights(&weights).unwrap().with_offsets(&offsets).unwrap()
}

/// The largest difference of means and deviations, in deviations.
fn distance(sparse: &SparseGaussian, dense: &Gaussian<Triangular>) -> f64 {
    let deviations = sparse.standard_deviations().unwrap();
    let means = sparse.mean().iter().zip(dense.mean()).zip(deviations).map(|((a, b), sd)| (a - b).abs() / sd);
    let spreads = deviations.iter().zip(dense.standard_deviations()).map(|(a, b)| (a / b - 1.0).abs());
    means.chain(spreads).fold(0.0, f64::max)
}

#[test]
fn the_sparse_answer_is_the_dense_one() {
    for groups in ALL {
        for family in FAMILIES {
            let model = model(groups, family, 60, 4);
            let dense = Solver { goal: 1e-13, ..Solver::default() }.run(&model).unwrap();
            let solver = SparseSolver { goal: 1e-15, ..SparseSolver::default() };
            let sparse = solver.run(&model.sparse().unwrap()).unwrap();
            let gap = sparse.gap.unwrap();
            assert!(gap.value < 1e-14, "{groups:?} {family:?}: {gap:?} {:?}", sparse.stop);
            assert_eq!(gap.provenance, Provenance::Proved);
            let room = sparse.neg_elbo_error + dense.neg_elbo_error + gap.value + dense.gap.unwrap().value;
            assert!((sparse.neg_elbo - dense.neg_elbo).abs() <= room, "{groups:?} {family:?}");
            assert!(sparse.neg_elbo_error < 1e-8, "{groups:?} {family:?}: {:e}", sparse.neg_elbo_error);
            // The dense answer may be √(2·gap) away.
            assert!(distance(&sparse.gaussian, &dense.gaussian) < 1e-6, "{groups:?} {family:?}");
            let own = neg_elbo(&model, &sparse.gaussian.to_dense().unwrap()).unwrap();
            assert!((own - sparse.neg_elbo).abs() < 1e-9 * (1.0 + own.abs()), "{groups:?} {family:?}");
        }
    }
}

/// θ ~ N(0, Σ), z_i ~ N(θ, Δ) with matrices that are not multiples of the identity: Λ ties everything to θ.
#[test]
fn the_papers_hierarchy_has_a_lower_bound_without_a_closed_form() {
    let rows = 40;
    let mut x = vec![0.0; 2 * rows];
    provi_kernels::normals(9, 0, 0, &mut x);
    let y: Vec<f64> = (0..rows).map(|n| f64::from(u8::from(x[2 * n] + 0.5 * x[2 * n + 1] > 0.1))).collect();
    let groups: Vec<usize> = (0..rows).map(|n| n % 5).collect();
    let top = Matrix::new(2, 2, vec![1.0, 0.2, 0.2, 0.5]).unwrap();
    let within = Matrix::new(2, 2, vec![2.0, -0.5, -0.5, 1.0]).unwrap();
    let features = Design::dense(rows, 2, &x).unwrap();
    let model = hierarchical_logistic(&features, &y, &groups, &top, &within).unwrap();
    let dense = Solver { goal: 1e-13, ..Solver::default() }.run(&model).unwrap();
    let sparse = SparseSolver::default().run(&model.sparse().unwrap()).unwrap();
    assert!(sparse.gap.unwrap().value <= 1e-10);
    assert!(sparse.neg_elbo - dense.neg_elbo <= 1e-10 + sparse.neg_elbo_error + dense.neg_elbo_error);
    assert!(distance(&sparse.gaussian, &dense.gaussian) < 1e-4);
}

/// At wrong q's the bound is above the gap, and within the ratio of curvature to prior of it.
#[test]
fn the_gap_bound_holds_at_wrong_gaussians_and_fails_with_a_wrong_constant() {
    for family in FAMILIES {
        let model = model(Groups::Crossed, family, 60, 7);
        let sparse = model.sparse().unwrap();
        let best = SparseSolver { goal: 1e-16, ..SparseSolver::default() }.run(&sparse).unwrap();
        let mut tightest = f64::INFINITY;
        for (k, size) in [1e-4, 1e-2, 0.1, 0.5].into_iter().enumerate() {
            let mut shift = vec![0.0; model.dim()];
            provi_kernels::normals(11, 0, k as u32, &mut shift);
            let mean: Vec<f64> = sparse.prior_mean().iter().zip(&shift).map(|(m, x)| m + size * x).collect();
            let mut precision = sparse.curvature_at(&mean).unwrap();
            precision.iter_mut().for_each(|x| *x *= 1.0 + size);
            let point = at(&sparse, mean, precision).unwrap().unwrap();
            let gap = point.neg_elbo - best.neg_elbo;
            let (bound, _) = point.bound.unwrap();
            assert!(bound >= gap - point.neg_elbo_error, "{family:?}: {bound} {gap}");
            tightest = tightest.min(bound / gap);
        }
        assert!(tightest < 2e4, "{family:?}: {tightest}");
    }
    // With a prior alone the bound of the means is exact: ½δᵀΛδ, and half of it would be too small.
    let design = Design::triplets(2, 2, &[(0, 0, 1e-9), (1, 1, 1e-9)]).unwrap();
    let model = Glm::logistic(design, &[1.0, 0.0], Prior::scale(2.0).unwrap()).unwrap();
    let sparse = model.sparse().unwrap();
    let best = SparseSolver::default().run(&sparse).unwrap();
    let mean = vec![1.0, -2.0];
    let precision = sparse.curvature_at(&mean).unwrap();
    let point = at(&sparse, mean, precision).unwrap().unwrap();
    let (gap, bound) = (point.neg_elbo - best.neg_elbo, point.bound.unwrap().0);
    assert!(bound >= gap * (1.0 - 1e-7) && 0.5 * bound < gap && bound < 1.001 * gap, "{bound} {gap}");
}

#[test]
fn draws_densities_and_predictors_are_those_of_the_dense_gaussian() {
    let model = model(Groups::Slopes, Family::Bernoulli, 60, 2);
    let solution = SparseSolver::default().run(&model.sparse().unwrap()).unwrap();
    let (sparse, dense) = (&solution.gaussian, solution.gaussian.to_dense().unwrap());
    assert!((sparse.entropy() - dense.entropy().unwrap()).abs() < 1e-8);
    let draws = sparse.sample(4000, Seed(5));
    assert_eq!(sparse.sample_part(3990..4000, Seed(5)).row(9), draws.row(3999));
    for k in 0..20 {
        let (a, b) = (sparse.log_density(draws.row(k)).unwrap(), dense.log_density(draws.row(k)).unwrap());
        assert!((a - b).abs() < 1e-7 * (1.0 + b.abs()), "{a} {b}");
    }
    // −2 log q is a sum of d squares: its mean over 4000 draws is within six standard errors, false alarm near 2e-9.
    let d = model.dim() as f64;
    let peak = sparse.log_density(sparse.mean()).unwrap();
    let squares = (0..4000).map(|k| 2.0 * (peak - sparse.log_density(draws.row(k)).unwrap())).sum::<f64>();
    assert!((squares / 4000.0 - d).abs() < 6.0 * (2.0 * d / 4000.0).sqrt());
    let exact = model.design().all_row_variances(dense.factor());
    for ((mean, deviation), (n, variance)) in
        sparse.predictors(model.design()).unwrap().into_iter().zip(exact.iter().enumerate())
    {
        assert!((deviation / variance.sqrt() - 1.0).abs() < 1e-7);
        assert!((mean - model.design().row_product(n, dense.mean())).abs() < 1e-9);
    }
    let functional = [(0, 1.0), (1, 20.0), (3, -2.0)];
    let covariance = dense.covariance();
    let square: f64 = functional
        .iter()
        .flat_map(|&(i, a)| functional.iter().map(move |&(j, b)| (i, j, a * b)))
        .map(|(i, j, c)| c * covariance[(i, j)])
        .sum();
    assert!((sparse.deviation_of(&functional).unwrap() / square.sqrt() - 1.0).abs() < 1e-7);
    assert!(sparse.deviation_of(&[(99, 1.0)]).is_err() && sparse.log_density(&[0.0]).is_err());
}

#[test]
fn rows_without_entries_and_coefficients_without_rows_are_allowed() {
    let design = Design::triplets(5, 4, &[(0, 0, 1.0), (1, 1, -2.0), (3, 0, 1.0), (4, 1, 1.0)]).unwrap();
    let model = Glm::logistic(design, &[1.0, 0.0, 1.0, 0.0, 1.0], Prior::scale(1.5).unwrap()).unwrap();
    let dense = Solver::default().run(&model).unwrap();
    let sparse = SparseSolver::default().run(&model.sparse().unwrap()).unwrap();
    assert!((sparse.neg_elbo - dense.neg_elbo).abs() < 1e-9);
    assert!((sparse.gaussian.standard_deviations().unwrap()[3] - 1.5).abs() < 1e-12);
}

/// The moments of the sparse pass are those of the dense one, within both errors.
#[test]
fn moments_are_those_of_the_dense_pass() {
    for family in FAMILIES {
        let model = model(Groups::Nested, family, 60, 3);
        let sparse = model.sparse().unwrap();
        let solution = SparseSolver { iterations: 1, ..SparseSolver::default() }.run(&sparse).unwrap();
        let dense = solution.gaussian.to_dense().unwrap();
        let mut moments = Moments::new(model.dim());
        model.expectations().unwrap().expect(&dense, &mut moments).unwrap();
        let own = moments.neg_elbo(&dense).unwrap();
        assert!((own - solution.neg_elbo).abs() < 1e-9 * (1.0 + own.abs()), "{family:?}");
    }
}

#[cfg(feature = "parallel")]
#[test]
fn the_bits_do_not_depend_on_the_threads() {
    let model = model(Groups::Crossed, Family::Bernoulli, 3000, 6);
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| SparseSolver::default().run(&model.sparse().unwrap()).unwrap())
    };
    let (one, three) = (run(1), run(3));
    assert_eq!(one.neg_elbo.to_bits(), three.neg_elbo.to_bits());
    assert_eq!(one.gaussian.mean(), three.gaussian.mean());
}

/// With an offset of −10 the curvature of Poisson rows at a wide prior's mean is tiny, and a Gaussian so wide has no finite rate.
#[test]
fn a_wide_prior_starts_narrower() {
    let entries: Vec<_> = (0..12).flat_map(|n| [(n, 0, 1.0), (n, 1 + n / 4, 1.0)]).collect();
    let design = Design::triplets(12, 4, &entries).unwrap();
    let y: Vec<f64> = (0..12).map(|n| f64::from(n % 4)).collect();
    let prior = Prior::scales(&[200.0, 1.0, 1.0, 1.0]).unwrap();
    let model = Glm::new(Family::Poisson, design, &y, prior).unwrap().with_offsets(&[-10.0; 12]).unwrap();
    let dense = Solver::default().run(&model).unwrap();
    let sparse = SparseSolver::default().run(&model.sparse().unwrap()).unwrap();
    assert!((sparse.neg_elbo - dense.neg_elbo).abs() < 1e-7, "{} {}", sparse.neg_elbo, dense.neg_elbo);
    assert!(sparse.expectation_evaluations > 2 + sparse.iterations as u64);
}

/// A long set of rows with two values: a plain sum loses more than the error allows.
#[test]
fn the_error_of_the_elbo_covers_long_sums() {
    let rows = 200_000;
    let design = Design::triplets(rows, 1, &(0..rows).map(|n| (n, 0, 1.0)).collect::<Vec<_>>()).unwrap();
    let y: Vec<f64> = (0..rows).map(|n| f64::from(u8::from(n % 3 == 0))).collect();
    let many = Glm::logistic(design, &y, Prior::scale(1.0).unwrap()).unwrap();
    let solution = SparseSolver::default().run(&many.sparse().unwrap()).unwrap();
    // The same model as two rows with weights.
    let ones = y.iter().sum::<f64>();
    let design = Design::triplets(2, 1, &[(0, 0, 1.0), (1, 0, 1.0)]).unwrap();
    let two = Glm::logistic(design, &[1.0, 0.0], Prior::scale(1.0).unwrap()).unwrap();
    let two = two.with_weights(&[ones, rows as f64 - ones]).unwrap();
    let exact = SparseSolver::default().run(&two.sparse().unwrap()).unwrap();
    let room = solution.neg_elbo_error + exact.neg_elbo_error + solution.gap.unwrap().value;
    let difference = (solution.neg_elbo - exact.neg_elbo).abs();
    assert!(difference <= room + exact.gap.unwrap().value && difference < 1e-8, "{difference:e}");
}

#[test]
fn another_prior_needs_no_pass_and_a_warm_start_ends_at_the_same_answer() {
    for groups in ALL {
        let model = model(groups, Family::Bernoulli, 60, 5);
        let sparse = model.sparse().unwrap();
        let solver = SparseSolver { goal: 1e-14, ..SparseSolver::default() };
        let first = solver.run(&sparse).unwrap();
        let wider = Prior::scale(1.7).unwrap();
        let other = model.clone().with_prior(wider).unwrap();
        let moved = sparse.under(&other.linear).unwrap().unwrap();
        let cold = solver.run(&other.sparse().unwrap()).unwrap();
        let warm =
            solver.run_from(&moved, &first.gaussian, &mut |_| std::ops::ControlFlow::Continue(())).unwrap();
        let room = cold.neg_elbo_error + warm.neg_elbo_error + 1e-13;
        assert!((warm.neg_elbo - cold.neg_elbo).abs() < room, "{groups:?}");
        assert!(distance(&warm.gaussian, &cold.gaussian.to_dense().unwrap()) < 1e-6, "{groups:?}");
        assert!(warm.expectation_evaluations <= cold.expectation_evaluations);
        // The same q again has the gap that the solver said.
        let facts = moved.facts(&warm.gaussian).unwrap().unwrap();
        assert!((facts.neg_elbo - warm.neg_elbo).abs() <= 2.0 * warm.neg_elbo_error);
        let (gap, own) = (facts.gap.unwrap().value, warm.gap.unwrap().value);
        assert!(gap < 1e-13 && own < 1e-13, "{gap:e} {own:e}");
        // Under the prior that it is not the best for, its gap is large, and the bound is above it.
        let there = sparse.facts(&warm.gaussian).unwrap();
        let strange = there.unwrap();
        assert!(strange.gap.unwrap().value >= strange.neg_elbo - first.neg_elbo - 1e-9);
        assert!(strange.neg_elbo > first.neg_elbo + 1e-3);
    }
    // A prior that ties what nothing tied has no place in the old structure.
    let model = model(Groups::Nested, Family::Bernoulli, 60, 5);
    let mut full = Matrix::diagonal(&vec![1.0; model.dim()]);
    (full[(2, 5)], full[(5, 2)]) = (0.3, 0.3);
    let tied = model.clone().with_prior(Prior::precision_matrix(full).unwrap()).unwrap();
    assert!(model.sparse().unwrap().under(&tied.linear).unwrap().is_none());
}

#[test]
fn covariances_and_slopes_in_the_noise_are_those_of_the_dense_gaussian() {
    let family = Family::Gaussian { noise_sd: 0.8 };
    let model = model(Groups::Slopes, family, 60, 2);
    let sparse = model.sparse().unwrap();
    let q = SparseSolver::default().run(&sparse).unwrap().gaussian;
    let covariance = q.to_dense().unwrap().covariance();
    let pairs: Vec<_> = (0..model.dim()).flat_map(|i| (0..model.dim()).map(move |j| (i, j))).collect();
    let any = super::super::AnyGaussian::from(q.clone());
    let scale = |i: usize, j: usize| (covariance[(i, i)] * covariance[(j, j)]).sqrt();
    for (found, &(i, j)) in any.covariances(pairs.iter().copied()).unwrap().iter().zip(&pairs) {
        assert!((found - covariance[(i, j)]).abs() < 1e-9 * scale(i, j), "{i} {j}");
    }
    for i in 0..model.dim() {
        assert!((any.deviation(i) / covariance[(i, i)].sqrt() - 1.0).abs() < 1e-9);
    }
    let exact = q.predictors(model.design()).unwrap();
    let y = &model.rows.response;
    let weights = &model.rows.weights;
    let offsets = model.offsets().unwrap();
    let squares: f64 =
        (0..60).map(|n| weights[n] * ((y[n] - offsets[n] - exact[n].0).powi(2) + exact[n].1.powi(2))).sum();
    let (weight, slope) = (weights.iter().sum::<f64>(), sparse.noise_slope(&q).unwrap());
    assert!((slope / (weight - squares / 0.64) - 1.0).abs() < 1e-9);
    for family in [
        Family::Weibull { noise_sd: 0.6, unit: 1.3, coarse: false },
        Family::NegativeBinomial { noise_sd: 0.7 },
        Family::Gamma { noise_sd: 0.8 },
    ] {
        let model = self::model(Groups::Crossed, family, 60, 2);
        let sparse = model.sparse().unwrap();
        let q = SparseSolver::default().run(&sparse).unwrap().gaussian;
        let dense = super::super::AnyGaussian::from(q.to_dense().unwrap());
        let slopes = [sparse.noise_slope(&q).unwrap(), LinearPredictor::noise_slope(&model, &dense).unwrap()];
        assert!((slopes[0] - slopes[1]).abs() < 1e-7 * (1.0 + slopes[1].abs()), "{slopes:?}");
    }
}

#[test]
fn bytes_restore_the_same_bits_and_broken_ones_are_refused() {
    let model = model(Groups::Slopes, Family::Bernoulli, 60, 2);
    let sparse = model.sparse().unwrap();
    let one = SparseSolver::default().run(&sparse).unwrap().gaussian;
    let two = SparseSolver { iterations: 1, ..SparseSolver::default() }.run(&sparse).unwrap().gaussian;
    let other = self::model(Groups::Nested, Family::Probit, 60, 2).sparse().unwrap();
    let three = SparseSolver::default().run(&other).unwrap().gaussian;
    let bytes = SparseGaussian::to_bytes(&[&one, &two, &three]);
    let back = SparseGaussian::from_bytes(&bytes).unwrap();
    assert_eq!(back, [one.clone(), two, three]);
    assert_eq!(back[0].mean(), one.mean());
    assert_eq!(back[0].standard_deviations().unwrap(), one.standard_deviations().unwrap());
    for cut in (0..bytes.len()).step_by(13) {
        assert!(SparseGaussian::from_bytes(&bytes[..cut]).is_err(), "{cut}");
    }
    assert!(SparseGaussian::from_bytes(&[&bytes[..], &[0; 8]].concat()).is_err());
    // Whatever a word is changed to, the bytes give Gaussians that can be used, or an error.
    for word in 0..bytes.len() / 8 {
        for value in [0u64, 1, 3, u64::MAX, f64::NAN.to_bits(), (-1.0f64).to_bits(), 1e300f64.to_bits()] {
            let mut changed = bytes.clone();
            changed[8 * word..8 * word + 8].copy_from_slice(&value.to_le_bytes());
            if let Ok(found) = SparseGaussian::from_bytes(&changed) {
                found.iter().for_each(|q| {
                    let _ =
                        (q.standard_deviations().is_ok(), q.sample(1, Seed(1)), q.log_density(one.mean()));
                });
            }
        }
    }
}

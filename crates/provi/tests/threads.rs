//! A model's passes give the same bits on one, two and three threads, in every family, dense and sparse.
#![cfg(feature = "parallel")]

use provi::expectation::{Expectations, Moments};
use provi::target::{Evaluator, Family, Glm, Prior, Scratch};
use provi::{Audit, Design, Gaussian, Matrix, Seed, Target};

const ROWS: usize = 6_001;
const COLUMNS: usize = 24;
const DRAWS: usize = 3;
const FAMILIES: [Family; 4] =
    [Family::Gaussian { noise_sd: 0.8 }, Family::Bernoulli, Family::Probit, Family::Poisson];

/// Large enough that every pass is worth threads, small enough to be quick.
fn model(family: Family, sparse: bool, weighted: bool) -> Glm {
    let mut entries = vec![0.0; ROWS * COLUMNS];
    provi_kernels::normals(5, 1, 0, &mut entries);
    entries.iter_mut().for_each(|x| *x *= 0.3);
    let design = if sparse {
        let kept = (0..entries.len()).filter(|e| !e.is_multiple_of(3));
        let triplets: Vec<_> = kept.map(|e| (e / COLUMNS, e % COLUMNS, entries[e])).collect();
        Design::triplets(ROWS, COLUMNS, &triplets).unwrap()
    } else {
        Design::dense(ROWS, COLUMNS, &entries).unwrap()
    };
    let y: Vec<f64> = (0..ROWS).map(|n| f64::from(u8::from(n % 3 == 0))).collect();
    let model = Glm::new(family, design, &y, Prior::precision(1.0).unwrap()).unwrap();
    if !weighted {
        return model;
    }
    let weights: Vec<f64> = (0..ROWS).map(|n| 0.5 + (n % 7) as f64 / 7.0).collect();
    model.with_weights(&weights).unwrap().with_offsets(&vec![0.1; ROWS]).unwrap()
}

/// Everything that sums over rows.
fn bits(model: &Glm) -> Vec<u64> {
    let mut points = vec![0.0; DRAWS * COLUMNS];
    provi_kernels::normals(6, 1, 0, &mut points);
    let (mut values, mut gradients) = (vec![0.0; DRAWS], vec![0.0; DRAWS * COLUMNS]);
    model.log_densities(&points, &mut values, &mut gradients, &mut Scratch::default()).unwrap();
    let mut hessian = Matrix::zeros(COLUMNS, COLUMNS);
    assert!(model.hessian(&points[..COLUMNS], &mut hessian).unwrap());
    let curvature = model.curvature().unwrap().unwrap();
    let mut factor = vec![0.0; COLUMNS * (COLUMNS + 1) / 2];
    (0..COLUMNS).for_each(|i| factor[i * (i + 3) / 2] = 0.05);
    let q = Gaussian::new(&[0.01; COLUMNS], &factor).unwrap();
    let mut moments = Moments::new(COLUMNS);
    model.expect(&q, &mut moments).unwrap();
    let numbers = values.iter().chain(&gradients).chain(hessian.entries()).copied();
    let numbers = numbers.chain([curvature.convexity(), curvature.smoothness().unwrap_or(0.0)]);
    let numbers = numbers.chain(moments.gradient.iter().chain(moments.hessian.entries()).copied());
    let numbers = numbers.chain([moments.value, moments.value_error, moments.gradient_error]);
    numbers.map(f64::to_bits).collect()
}

#[test]
fn one_two_and_three_threads_give_the_same_bits_in_every_family_dense_and_sparse() {
    let on = |threads: usize, model: &Glm| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| bits(model))
    };
    for family in FAMILIES {
        for sparse in [false, true] {
            let model = model(family, sparse, sparse);
            let one = on(1, &model);
            assert_eq!(one, on(2, &model), "{family:?}, sparse: {sparse}");
            assert_eq!(one, on(3, &model), "{family:?}, sparse: {sparse}");
        }
    }
}

/// An audit's draws, their residuals and their metrics.
#[test]
fn an_audit_gives_the_same_bits_on_one_and_three_threads() {
    let model = model(Family::Bernoulli, false, false);
    let q = provi::solve::Solver::default().run(&model).unwrap().gaussian;
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        // More than two batches, and a price that wants them all.
        let audit = Audit { draws: 1_100, price: 1e-3, ..Audit::default() };
        let audited = pool.install(|| audit.run(&model, &q, Seed(1)).unwrap());
        let certificate = audited.certificate();
        let grounds = &certificate.grounds;
        assert_eq!(grounds.draws, 1_100);
        let means = [grounds.global_fisher_mean, grounds.local_fisher_mean, grounds.gradient_norm];
        let of_moments = certificate.moments.iter().flat_map(|m| [m.mean_error.bound(), m.sd_error.bound()]);
        let bounds = [certificate.kl.bound(), certificate.tv.bound()].into_iter().chain(of_moments);
        let proved = means.into_iter().chain(bounds).map(|x| x.expect("a ball carries a certificate"));
        proved.chain(audited.log_ratios().iter().copied()).map(f64::to_bits).collect::<Vec<_>>()
    };
    assert_eq!(run(1), run(3));
}

/// The three means of the sharp bound, its ascents and its moments.
#[test]
fn a_sharp_bound_has_the_same_bits_on_one_two_and_three_threads() {
    let model = crate::common::gold("W2").target;
    let q = provi::solve::Solver::default().run(&model).unwrap().gaussian;
    let audit = Audit { draws: 1_500, ..Audit::default() };
    let serial = audit.run(Evaluator::Serial(&model), &q, Seed(1)).unwrap();
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let audited = pool.install(|| audit.run(&model, &q, Seed(1)).unwrap());
        assert_eq!(audited.certificate(), serial.certificate());
        let grounds = &audited.certificate().grounds;
        assert_eq!(audited.certificate().kl.key(), Some("sharp-kl"));
        let of_moments = audited.certificate().moments.iter().map(|m| m.mean_error.bound());
        let numbers = [audited.certificate().evidence.lower(), audited.certificate().kl.bound()]
            .into_iter()
            .chain(of_moments);
        (numbers.map(|x| x.unwrap().to_bits()).collect::<Vec<_>>(), grounds.evaluations)
    };
    let one = run(1);
    assert_eq!(one, run(2));
    assert_eq!(one, run(3));
}

/// Sums of third and fourth derivatives over the rows, cells and moments.
#[test]
fn a_bound_by_cells_has_the_same_bits_on_one_two_and_three_threads() {
    let model = model(Family::Bernoulli, false, false);
    let q = provi::solve::Solver::default().run(&model).unwrap().gaussian;
    let audit = Audit { draws: 3_000, ..Audit::default() };
    let serial = audit.run(Evaluator::Serial(&model), &q, Seed(1)).unwrap();
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let audited = pool.install(|| audit.run(&model, &q, Seed(1)).unwrap());
        assert_eq!(audited.certificate(), serial.certificate());
        let c = audited.certificate();
        assert_eq!(c.kl.key(), Some("psi-kl"));
        let of_moments = c.moments.iter().flat_map(|m| [m.mean_error.bound(), m.sd_error.bound()]);
        let numbers = [c.evidence.lower(), c.kl.bound()].into_iter().chain(of_moments);
        numbers.map(|x| x.unwrap().to_bits()).collect::<Vec<_>>()
    };
    let one = run(1);
    assert_eq!(one, run(2));
    assert_eq!(one, run(3));
}

/// Draws in parallel outside, rows inside.
#[test]
fn nested_threads_give_the_bits_of_one() {
    let model = model(Family::Bernoulli, false, false);
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let plan = provi::Planner::new(provi::Method::ProxEnergy).draws(19).to_steps(&model, 4).unwrap();
        let fit = pool.install(|| plan.run(&model, Seed(3)).unwrap());
        fit.gaussian.parameters().iter().map(|x| x.to_bits()).collect::<Vec<_>>()
    };
    assert_eq!(run(1), run(3));
}

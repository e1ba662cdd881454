//! One process: blocks against one piece.

use super::blocks::{COLUMNS, Data, FAMILIES, near, prior};
use provi::auto::Choice;
use provi::expectation::{Expectations, Moments};
use provi::memory::{Forecast, Size};
use provi::scales::{FreeScales, Integration, ScalePrior};
use provi::stream::{Rows, Source, Streamed};
use provi::target::{Evaluator, Family, Scratch};
use provi::{Audit, Auto, Error, Matrix, Method, Planner, Result, Seed, Target};
use std::sync::atomic::{AtomicUsize, Ordering};

const ROWS: usize = 900;
/// Blocks of 1, 699, 130, 3 and 67 rows.
const ENDS: [usize; 4] = [1, 700, 830, 833];

pub(crate) fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-10 * (1.0 + a.abs().max(b.abs()))
}

#[track_caller]
pub(crate) fn assert_close<'a>(
    what: &str,
    a: impl IntoIterator<Item = &'a f64>,
    b: impl IntoIterator<Item = &'a f64>,
) {
    let (a, b): (Vec<f64>, Vec<f64>) = (a.into_iter().copied().collect(), b.into_iter().copied().collect());
    assert_eq!(a.len(), b.len(), "{what}");
    for (x, y) in a.iter().zip(&b) {
        assert!(close(*x, *y), "{what}: {x} is not {y}");
    }
}

/// Everything that is a sum over rows.
pub(crate) fn numbers(target: &dyn Target, expectations: &dyn Expectations) -> Vec<f64> {
    let mut points = vec![0.0; 3 * COLUMNS];
    provi_kernels::normals(6, 1, 0, &mut points);
    let (mut values, mut gradients) = (vec![0.0; 3], vec![0.0; 3 * COLUMNS]);
    target.log_densities(&points, &mut values, &mut gradients, &mut Scratch::default()).unwrap();
    let mut hessian = Matrix::zeros(COLUMNS, COLUMNS);
    assert!(target.hessian(&points[..COLUMNS], &mut hessian).unwrap());
    let (curvature, lower) =
        (target.curvature().unwrap().unwrap(), target.lower_curvature().unwrap().unwrap());
    let (mut moments, q) = (Moments::new(COLUMNS), near());
    expectations.expect(&q, &mut moments).unwrap();
    let mut out = [values, gradients, hessian.entries().to_vec(), moments.gradient].concat();
    out.extend(moments.hessian.entries());
    out.extend([moments.value, curvature.convexity(), curvature.smoothness().unwrap_or(-1.0)]);
    out.extend(curvature.lower().to_matrix(COLUMNS).entries());
    out.push(lower.convexity());
    out.extend(expectations.tail_integral(&q, 4.0).unwrap());
    let local = target.local_curvature(&q).unwrap().unwrap();
    let radii = [0.0, 0.5, 3.0];
    for (low, high) in local.bounds(&radii).unwrap() {
        out.extend(low.entries());
        out.extend(high.unwrap().entries());
    }
    for low in local.lower(&radii).unwrap() {
        out.extend(low.entries());
    }
    out
}

#[test]
fn every_sum_of_every_family_is_that_of_the_model_in_memory() {
    for family in FAMILIES {
        let data = Data::new(family, ROWS);
        let (whole, blocks) = (data.in_memory(), Streamed::new(family, data.source(&ENDS), prior()).unwrap());
        assert_eq!((blocks.rows(), blocks.dim(), blocks.names()), (ROWS, COLUMNS, whole.names()));
        assert_close(family.name(), &numbers(&whole, &whole), &numbers(&blocks, &blocks));
    }
}

#[test]
fn errors_of_expectations_cover_the_difference_and_stay_of_one_size() {
    for family in FAMILIES {
        let data = Data::new(family, ROWS);
        let (whole, blocks) = (data.in_memory(), Streamed::new(family, data.source(&ENDS), prior()).unwrap());
        let (mut a, mut b) = (Moments::new(COLUMNS), Moments::new(COLUMNS));
        whole.expect(&near(), &mut a).unwrap();
        blocks.expect(&near(), &mut b).unwrap();
        assert!((a.value - b.value).abs() <= a.value_error + b.value_error, "{family:?}");
        let difference: f64 = a.gradient.iter().zip(&b.gradient).map(|(x, y)| (x - y).powi(2)).sum();
        assert!(difference.sqrt() <= a.gradient_error + b.gradient_error, "{family:?}");
        assert!(close(a.value_error, b.value_error) && a.provenance() == b.provenance());
        assert!(
            b.gradient_error < 2.0 * a.gradient_error,
            "{family:?}: {} {}",
            b.gradient_error,
            a.gradient_error
        );
    }
}

#[test]
fn the_automatic_path_gives_the_same_answer_and_the_same_certificate() {
    for family in FAMILIES {
        let data = Data::new(family, 200);
        let (whole, blocks) =
            (data.in_memory(), Streamed::new(family, data.source(&[50, 51]), prior()).unwrap());
        let a = Auto::default().run(&whole, Seed(3)).unwrap();
        let b = Auto::default().run(Evaluator::Serial(&blocks), Seed(3)).unwrap();
        assert_close(family.name(), a.fit.gaussian.parameters(), b.fit.gaussian.parameters());
        assert!(
            close(a.fit.neg_elbo.value, b.fit.neg_elbo.value) && b.fit.neg_elbo.exact == a.fit.neg_elbo.exact
        );
        let (a, b) = (a.certificate(), b.certificate());
        let statements =
            |c: &provi::Certificate| [c.kl.bound(), c.tv.bound(), c.evidence.lower(), c.evidence.upper()];
        for (x, y) in statements(a).into_iter().zip(statements(b)) {
            assert_eq!(x.is_some(), y.is_some(), "{family:?}");
            let (x, y) = (x.unwrap_or(0.0), y.unwrap_or(0.0));
            assert!((x - y).abs() <= 1e-8 * (1.0 + x.abs()), "{family:?}: {x} {y}");
        }
        // The gap is of the size of rounding, where only the promise is the same.
        assert_eq!(a.proves_gap(1e-9), b.proves_gap(1e-9));
        assert_eq!((a.grounds.radius, a.grounds.draws), (b.grounds.radius, b.grounds.draws));
    }
}

#[test]
fn planned_runs_go_the_same_way() {
    let data = Data::new(Family::Bernoulli, 120);
    let whole = data.in_memory();
    let blocks = Streamed::new(Family::Bernoulli, data.source(&[40]), prior()).unwrap();
    for method in [Method::ProxEnergy, Method::ProjStl, Method::Exact] {
        let draws = if method == Method::Exact { 1 } else { 5 };
        let a = Planner::new(method).draws(draws).to_steps(&whole, 40).unwrap().run(&whole, Seed(1)).unwrap();
        let plan = Planner::new(method).draws(draws).to_steps(&blocks, 40).unwrap();
        let b = plan.run(Evaluator::Serial(&blocks), Seed(1)).unwrap();
        assert_close(&method.to_string(), a.gaussian.parameters(), b.gaussian.parameters());
    }
}

#[test]
fn scales_are_chosen_alike() {
    let mut free = FreeScales::default();
    // The shape of the second is 1 before the search, where log y has no part in the constant.
    for family in [
        Family::Gaussian { noise_sd: 0.8 },
        Family::Gamma { noise_sd: 1.0 },
        Family::Weibull { noise_sd: 1.0, unit: 1.4, coarse: false },
        Family::NegativeBinomial { noise_sd: 1.0 },
    ] {
        let data = Data::new(family, 150);
        let (whole, blocks) =
            (data.in_memory(), Streamed::new(family, data.source(&[20, 90]), prior()).unwrap());
        let noise = FreeScales::noise(&blocks);
        assert!(close(noise.noise_sd.unwrap(), FreeScales::noise(&whole).noise_sd.unwrap()));
        free = FreeScales { shared: vec![(vec![1, 2], 1.0)], ..noise };
        let (a, b) = (free.maximise(&whole).unwrap(), free.maximise(&blocks).unwrap());
        assert!(
            (a.noise_sd.unwrap() - b.noise_sd.unwrap()).abs() < 1e-6,
            "{:?} {:?}",
            a.noise_sd,
            b.noise_sd
        );
        assert!((a.shared[0] - b.shared[0]).abs() < 1e-4 && (a.neg_elbo - b.neg_elbo).abs() < 1e-8);
    }
    let poisson = Data::new(Family::Poisson, 30);
    let poisson = Streamed::new(Family::Poisson, poisson.source(&[]), prior()).unwrap();
    assert_eq!(free.maximise(&poisson).unwrap_err(), Error::NoNoise { family: "poisson" });
}

#[test]
fn scales_are_integrated_over_alike() {
    let half_t = ScalePrior::HalfStudentT { degrees: 3.0, scale: 2.5 };
    for (family, draws) in [(Family::Gaussian { noise_sd: 0.8 }, 0), (Family::Bernoulli, 64)] {
        let data = Data::new(family, 150);
        let whole = data.in_memory();
        let blocks = Streamed::new(family, data.source(&[20, 90]), prior()).unwrap();
        let shared = vec![(vec![1], 1.0), (vec![2], 1.0)];
        let free = FreeScales { shared, correlated: vec![vec![0, 1]], ..FreeScales::default() };
        let how = Integration { correlations: vec![2.0], draws, ..Integration::new(vec![half_t; 2]) };
        let (a, b) = (free.integrate(&whole, &how).unwrap(), free.integrate(&blocks, &how).unwrap());
        assert_eq!(a.nodes.len(), b.nodes.len(), "{family:?}");
        assert!((a.log_evidence - b.log_evidence).abs() < 1e-6, "{} {}", a.log_evidence, b.log_evidence);
        for (x, y) in a.mean().iter().zip(&b.mean()) {
            assert!((x - y).abs() < 1e-6, "{family:?}: {x} {y}");
        }
    }
}

/// Counts the passes made over it.
pub(crate) struct Counted<S> {
    pub(crate) inner: S,
    pub(crate) passes: AtomicUsize,
}

impl<S: Source> Source for Counted<S> {
    fn columns(&self) -> usize {
        self.inner.columns()
    }
    fn each(&self, visit: &mut dyn FnMut(&Rows) -> Result<()>) -> Result<()> {
        self.passes.fetch_add(1, Ordering::Relaxed);
        self.inner.each(visit)
    }
}

#[test]
fn construction_is_one_pass_and_an_audit_a_handful() {
    for family in FAMILIES {
        let data = Data::new(family, 200);
        let source = Counted { inner: data.source(&[70]), passes: AtomicUsize::new(0) };
        let model = Streamed::new(family, &source, prior()).unwrap();
        let passes = || source.passes.swap(0, Ordering::Relaxed);
        assert_eq!(passes(), 1);
        model.curvature().unwrap();
        model.clone().with_prior(prior()).unwrap();
        assert_eq!(passes(), 0);
        let found = Auto::default().run(Evaluator::Serial(&model), Seed(2)).unwrap();
        let all = passes();
        let audit = Audit { draws: 1000, ..Audit::default() };
        let certificate =
            audit.run(Evaluator::Serial(&model), &found.fit.gaussian, Seed(2)).unwrap().certificate().clone();
        let audited = passes();
        // E V; the centre; what rounding takes; 400 pilot draws; the radii; the candidates; 1000 draws; the tail of rates. Where
        // those leave more than a nat, the ascents of the transport bound: most draws need a few evaluations.
        // Or the mass of p: pilots for each h, then pairs, draws of h and ascents.
        let grounds = &certificate.grounds;
        let most = match (grounds.transport_mean, grounds.mass_draws) {
            (None, None) => 9,
            (_, None) => 9 + 16,
            _ => 9 + 60,
        };
        assert!(audited <= most, "{family:?}: {audited} passes");
        // One of them for AᵀWA of centred columns.
        // Where f is not exact, the draws that measure it are made beside those.
        let most = match (found.certificate().grounds.mass_draws, family) {
            (Some(_), Family::Probit) => 500,
            (Some(_), _) => 300,
            (None, _) => 62,
        };
        assert!(all <= most, "{family:?}: {all} passes");
    }
}

#[test]
fn memory_is_a_block_s_whatever_the_number_of_blocks() {
    let data = Data::new(Family::Bernoulli, ROWS);
    let need = |ends: &[usize]| {
        let model = Streamed::new(Family::Bernoulli, data.source(ends), prior()).unwrap();
        Forecast::new(Choice::Auto, &Size::of(&model)).peak()
    };
    let tenths: Vec<usize> = (1..10).map(|k| k * ROWS / 10).collect();
    let halves = [ROWS / 2];
    let one = Streamed::new(Family::Bernoulli, data.source(&tenths), prior()).unwrap();
    assert_eq!(one.data_size().0, ROWS / 10);
    assert!(need(&tenths) < need(&halves) && need(&halves) < need(&[]));
}

#[cfg(feature = "parallel")]
#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let data = Data::new(Family::Bernoulli, 20_000);
    let model = || Streamed::new(Family::Bernoulli, data.source(&[9_000, 9_100]), prior()).unwrap();
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let bits = |x: Vec<f64>| x.into_iter().map(f64::to_bits).collect::<Vec<_>>();
        pool.install(|| bits(numbers(&model(), &model())))
    };
    let one = on(1);
    assert_eq!(one, on(2));
    assert_eq!(one, on(3));
}

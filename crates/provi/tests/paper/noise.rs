//! §3: how noisy an estimate can be. Gaussian targets by exact cubature, others by draws.

use crate::common::*;
use provi::draws::{Draws, Purpose, Seed};
use provi::estimator::{Kind, Sampled};
use provi::target::{Evaluator, Family, Glm};
use provi::theory::noise::{self, NoiseBound};
use provi::{Curvature, Gaussian, Matrix, Symmetric, Target, Triangular};

/// E‖g‖² of one draw on a Gaussian target, exactly: a polynomial of degree 4 in u.
fn second_moment<F: Space>(kind: Kind, target: &dyn Target, q: &Gaussian<F>, projected: bool) -> f64 {
    cubature(q.dim(), &THREE_POINTS, |u| {
        let (left, x) = raw_gradient(kind, target, q, u);
        let x = if projected { F::project(&x) } else { x };
        dot(&left, &left) + inner(&x, &x)
    })
}

/// ‖w* − w̄‖² with its parts replaced by what is known: the optimum of the target and its mode.
fn mode_distance2(target: &dyn Target, star: &Gaussian<Triangular>) -> f64 {
    let mode = provi::mode::find_mode(target, &vec![0.0; star.dim()]).unwrap();
    let shift = difference(star.mean(), &mode.point);
    dot(&shift, &shift) + dot(star.factor(), star.factor())
}

struct Case {
    name: &'static str,
    target: Glm,
    star: Gaussian<Triangular>,
    curvature: Curvature,
    mode2: f64,
}

/// Small models with strong priors; κ ≤ 5, but for the hierarchical one, whose prior alone has κ = 6.
fn cases() -> Vec<Case> {
    let models = [
        ("linear", regression(Family::Gaussian { noise_sd: 1.2 }, 101, 3, 4.0, false)),
        ("logistic", regression(Family::Bernoulli, 102, 3, 2.0, true)),
        ("probit", regression(Family::Probit, 103, 3, 4.0, false)),
        ("hierarchical", hierarchy(104, 2, 1, 4.0, 2.0, 0.1)),
    ];
    models
        .into_iter()
        .map(|(name, target)| {
            let curvature = target.curvature().unwrap().unwrap();
            let limit = if name == "hierarchical" { 10.0 } else { 5.0 };
            assert!(curvature.condition().unwrap() <= limit, "{name}: {:?}", curvature.condition());
            let star = optimum(&target);
            let mode2 = mode_distance2(&target, &star);
            Case { name, target, star, curvature, mode2 }
        })
        .collect()
}

impl Case {
    fn smoothness(&self) -> f64 {
        self.curvature.smoothness().unwrap()
    }

    /// E‖g_N(w) − centre‖² from 3000 draws of the library, as (mean, standard error).
    fn measure<F: Space>(&self, kind: Kind, q: &Gaussian<F>, batch: usize, centre: &[f64]) -> (f64, f64) {
        let d = q.dim();
        let draws = Draws::new(Seed(111), Purpose::Optimise);
        let evaluator = Evaluator::Serial(&self.target);
        let mut estimator = Sampled::<F>::new(kind, evaluator, draws, batch).unwrap();
        let mut g = vec![0.0; q.parameters().len()];
        let squares: Vec<f64> = (0..3000)
            .map(|t| {
                estimator.gradient(q.parameters(), t, &mut g).unwrap();
                distance2::<F>(d, &g, centre)
            })
            .collect();
        mean_and_error(&squares)
    }

    /// Along a path from far away to w*, the measured noise stays below the bound (one-sided, six standard errors).
    fn check_path<F: Space>(
        &self,
        kind: Kind,
        batch: usize,
        bound: NoiseBound,
        centre: impl Fn(&Gaussian<F>) -> Vec<f64>,
    ) {
        let star = F::of(&self.star);
        let far = in_set::<F>(120, self.star.dim(), self.smoothness(), 30.0);
        for s in [1.0, 0.3, 0.1, 0.03, 0.0] {
            let q = between(&star, &far, s);
            let e = distance2::<F>(q.dim(), q.parameters(), star.parameters());
            let (mean, error) = self.measure(kind, &q, batch, &centre(&star));
            let allowed = bound.at(e) + 1e-24; // rounding, where the bound is 0
            assert!(
                mean - SIGMAS * error <= allowed,
                "{}, {kind:?}, N = {batch}, s = {s}: {mean} ± {error} is above {allowed}",
                self.name
            );
        }
    }
}

fn zero<F: Space>(star: &Gaussian<F>) -> Vec<f64> {
    vec![0.0; star.parameters().len()]
}

fn assert_bound(found: NoiseBound, growth: f64, floor: f64) {
    assert!((found.growth - growth).abs() <= 1e-12 * growth, "{found:?}, expected {growth}, {floor}");
    assert!((found.floor - floor).abs() <= 1e-12 * floor, "{found:?}, expected {growth}, {floor}");
}

#[test]
fn noise_energy() {
    // Attained before the projection for V = ½M‖z−z̄‖², whatever m and C; strict after it for d > 1.
    for (d, smoothness) in [(1, 0.7), (2, 3.0), (3, 1.0), (4, 2.5)] {
        let target = gaussian_target(130 + d as u64, &vec![smoothness; d]);
        let mean = target.optimum().unwrap().mean().to_vec();
        for key in 0..6 {
            let q = in_set::<Triangular>(140 + 2 * key, d, smoothness, 4.0);
            let shift = difference(q.mean(), &mean);
            let (mean2, factor2) = (dot(&shift, &shift), dot(q.factor(), q.factor()));
            let exact = second_moment(Kind::Energy, &target, &q, false);
            let bound = noise::energy_second_moment(d, smoothness, mean2, factor2).unwrap();
            assert!((exact / bound - 1.0).abs() < 1e-12, "d = {d}: {exact} is not {bound}");
            let wrong = smoothness.powi(2) * ((d + 1) as f64 * mean2 + (d + 2) as f64 * factor2);
            assert!((exact / wrong - 1.0).abs() > 1e-6, "(d+2) in place of (d+3) would show");
            for projected in [
                second_moment(Kind::Energy, &target, &q, true),
                second_moment(Kind::Energy, &target, &q.to_symmetric().unwrap(), true),
            ] {
                assert!(projected <= bound * (1.0 + 1e-12));
                assert!(d == 1 || projected < bound * (1.0 - 1e-6));
            }
        }
    }
    // Anisotropic Gaussian targets, exactly, and others by draws: a(‖w−w*‖²) + b everywhere.
    assert_bound(noise::energy(2, 3.0, 0.5).unwrap(), 90.0, 45.0);
    for case in cases() {
        let bound = noise::energy(case.star.dim(), case.smoothness(), case.mode2).unwrap();
        case.check_path::<Triangular>(Kind::Energy, 1, bound, zero);
        case.check_path::<Symmetric>(Kind::Energy, 1, bound, zero);
        let radius = noise::optimum_distance2(case.star.dim(), case.curvature.convexity()).unwrap();
        assert!(case.mode2 <= radius, "{}: ‖w*−w̄‖² ≤ d/μ", case.name);
    }
}

#[test]
fn noise_entropy() {
    // 4(d+3)M², 4(d+3)M²‖w*−w̄‖² + 2dL: with dL, as the appendix prints, the floor would be 100 here.
    assert_bound(noise::entropy(2, 3.0, 5.0, 0.5).unwrap(), 180.0, 110.0);
    // Exact on an anisotropic Gaussian target, on the edge of 𝒲_L for L = M, 10M, 1000M, in both spaces.
    let target = gaussian_target(150, &[0.5, 1.0, 2.0]);
    let star = target.optimum().unwrap();
    let mode2 = dot(star.factor(), star.factor());
    fn check<F: Space>(target: &dyn Target, star: &Gaussian<F>, mode2: f64) {
        for region in [2.0, 20.0, 2000.0] {
            let bound = noise::entropy(3, 2.0, region, mode2).unwrap();
            for key in 0..8 {
                let q = in_set::<F>(160 + key, 3, region, if key < 4 { 0.0 } else { 3.0 });
                let e = distance2::<F>(3, q.parameters(), star.parameters());
                assert!(second_moment(Kind::Entropy, target, &q, true) <= bound.at(e));
            }
        }
    }
    check(&target, &star, mode2);
    check(&target, &star.to_symmetric().unwrap(), mode2);
    for case in cases() {
        let smooth = case.smoothness();
        let bound = noise::entropy(case.star.dim(), smooth, smooth, case.mode2).unwrap();
        case.check_path::<Triangular>(Kind::Entropy, 1, bound, zero);
        case.check_path::<Symmetric>(Kind::Entropy, 1, bound, zero);
    }
}

#[test]
fn noise_stl() {
    // 4(d+3)(K² + 2M²) and 4c_dK² tr H_lo⁻¹, with c_2 = 7/2 + 2√2.
    let c_2 = 3.5 + 8f64.sqrt();
    assert_bound(noise::stl(2, 3.0, 1.0, 0.5).unwrap(), 4.0 * 5.0 * 19.0, 4.0 * c_2 * 0.5);
    // A Gaussian target: nothing at all at w*, and below a‖w−w*‖² elsewhere in 𝒲_M.
    let target = gaussian_target(170, &[0.5, 1.0, 2.0]);
    let star = target.optimum().unwrap().to_symmetric().unwrap();
    let draws = Draws::new(Seed(171), Purpose::Optimise);
    let mut estimator = Sampled::<Symmetric>::new(Kind::Stl, Evaluator::Serial(&target), draws, 1).unwrap();
    let mut g = vec![0.0; 9];
    for t in 0..200 {
        estimator.gradient(star.parameters(), t, &mut g).unwrap();
        assert!(dot(&g, &g).sqrt() < 1e-12, "{g:?}");
    }
    let bound = noise::stl(3, 2.0, 0.0, 0.0).unwrap();
    for key in 0..10 {
        let far = in_set::<Symmetric>(180 + key, 3, 2.0, 5.0);
        for s in [1.0, 0.1, 1e-3] {
            let q = between(&star, &far, s);
            let e = distance2::<Symmetric>(3, q.parameters(), star.parameters());
            assert!(second_moment(Kind::Stl, &target, &q, true) <= bound.at(e));
        }
    }
    for case in cases() {
        let residual = case.curvature.residual_smoothness().unwrap();
        let trace = case.curvature.trace_inverse();
        let bound = noise::stl(case.star.dim(), case.smoothness(), residual, trace).unwrap();
        case.check_path::<Symmetric>(Kind::Stl, 1, bound, zero);
    }
}

#[test]
fn stl_k() {
    for case in cases() {
        let d = case.star.dim();
        let residual = case.curvature.residual_smoothness().unwrap();
        let precision = inverse(&case.star.covariance());
        let mut largest = 0.0f64;
        for k in 0..60 {
            let z: Vec<f64> = normals(190 + k, d).iter().map(|x| x * 10f64.powi(k as i32 % 4 - 1)).collect();
            let (low, high) = extremes(&combination(&precision, -1.0, &hessian(&case.target, &z)));
            largest = largest.max(high).max(-low);
        }
        assert!(largest <= residual + 1e-8, "{}: ∇²r reaches {largest}, K = {residual}", case.name);
        assert!(residual <= case.smoothness() - case.curvature.convexity() + 1e-10);
        assert_eq!(residual <= 0.0, case.name == "linear", "K = 0 exactly for Gaussian targets");
    }
    assert!((noise::residual_smoothness(5.0, 2.0, None).unwrap() - 3.0).abs() < 1e-15);
    assert!((noise::residual_smoothness(5.0, 2.0, Some(1.0)).unwrap() - 1.0).abs() < 1e-15);
}

#[test]
fn stl_floor() {
    for (d, c) in [(1, 3.0 + 6f64.sqrt()), (2, 3.5 + 8f64.sqrt()), (6, 9.5)] {
        assert!((noise::stl_floor_constant(d) - c).abs() < 1e-13);
    }
    for (key, d) in [(200, 2), (210, 2), (220, 3)] {
        for family in [Family::Bernoulli, Family::Probit] {
            let target = regression(family, key, d, 1.0, false);
            let curvature = target.curvature().unwrap().unwrap();
            let star = optimum(&target).to_symmetric().unwrap();
            let residual = curvature.residual_smoothness().unwrap();
            let bound = noise::stl_moment_at_optimum(d, residual, curvature.trace_inverse()).unwrap();
            // ‖(s, suᵀ)‖² = ‖s‖²(1 + ‖u‖²) before the projection.
            let rule: Vec<(f64, f64)> = if d == 2 {
                trapezoid(0.25)
            } else {
                trapezoid(0.25).into_iter().step_by(2).map(|(u, w)| (u, 2.0 * w)).collect()
            };
            let moment = cubature(d, &rule, |u| {
                let (left, x) = raw_gradient(Kind::Stl, &target, &star, u);
                dot(&left, &left) + inner(&x, &x)
            });
            assert!(moment > 0.0 && moment <= bound, "{family:?}, d = {d}: S* = {moment}, bound {bound}");
            let mean: Vec<f64> = (0..d)
                .map(|i| cubature(d, &rule, |u| raw_gradient(Kind::Stl, &target, &star, u).0[i]))
                .collect();
            assert!(dot(&mean, &mean).sqrt() < 1e-6, "E∇r = 0 at w*");
        }
    }
}

/// E‖g_N(w) − centre‖² exactly, on a Gaussian target: ‖Eg − centre‖² + Var/N.
fn batch_moment(mean: &[f64], centre: &[f64], variance: f64, n: f64, norm2: impl Fn(&[f64]) -> f64) -> f64 {
    norm2(&difference(mean, centre)) + variance / n
}

fn check_batches<F: Space>(kind: Kind, spectrum: &[f64]) {
    let d = spectrum.len();
    let target = gaussian_target(230, spectrum);
    let smoothness = spectrum.iter().fold(0.0f64, |a, x| a.max(*x));
    let star = F::of(&target.optimum().unwrap());
    let with_entropy = kind != Kind::Energy;
    let norm2 = |g: &[f64]| square_norm::<F>(d, g);
    let variance =
        |q: &Gaussian<F>| second_moment(kind, &target, q, true) - norm2(&gradient(&target, q, with_entropy));
    let energy_variance =
        |q: &Gaussian<F>| second_moment(Kind::Energy, &target, q, true) - norm2(&gradient(&target, q, false));
    let v_star = energy_variance(&star);
    let centre = gradient(&target, &star, with_entropy);
    for key in 0..6 {
        let far = in_set::<F>(240 + key, d, smoothness, 4.0);
        for s in [0.0, 0.05, 0.5, 1.0, 20.0] {
            if s > 1.0 && with_entropy {
                continue; // beyond the segment the point may leave the set
            }
            let Some(q) = beyond(&star, &far, s) else { continue };
            let e = distance2::<F>(d, q.parameters(), star.parameters());
            let mean = gradient(&target, &q, with_entropy);
            let spread = variance(&q);
            for draws in [1, 2, 3, 10, 1_000_000] {
                let bound = match kind {
                    Kind::Energy => noise::energy_batch(d, smoothness, draws, v_star),
                    Kind::Entropy => noise::entropy_batch(d, smoothness, draws, v_star),
                    _ => noise::stl_batch(d, smoothness, 0.0, 0.0, draws),
                };
                let exact = batch_moment(&mean, &centre, spread, draws as f64, norm2);
                let allowed = bound.unwrap().at(e);
                assert!(
                    exact <= allowed * (1.0 + 1e-9) + 1e-20,
                    "{kind:?}, N = {draws}: {exact} > {allowed}"
                );
            }
        }
    }
}

/// w* + s(w − w*) where that is in the domain.
fn beyond<F: Space>(star: &Gaussian<F>, far: &Gaussian<F>, s: f64) -> Option<Gaussian<F>> {
    let d = star.dim();
    let w: Vec<f64> = star.parameters().iter().zip(far.parameters()).map(|(a, b)| a + s * (b - a)).collect();
    Gaussian::new(&w[..d], &w[d..]).ok()
}

#[test]
fn noise_centred() {
    // Written out once: d = 2, M = 3, N = 4, V* = 7.
    assert_bound(noise::energy_batch(2, 3.0, 4, 7.0).unwrap(), 0.5 * 9.0 + 2.0 * 5.0 * 9.0 / 4.0, 3.5);
    assert_bound(noise::energy_batch(2, 3.0, 1, 7.0).unwrap(), 2.0 * 5.0 * 9.0, 14.0);
    check_batches::<Triangular>(Kind::Energy, &[0.5, 1.0, 2.0]);
    check_batches::<Symmetric>(Kind::Energy, &[0.5, 1.0, 2.0]);
    // Tight where nothing else is: the mean of infinitely many draws on an isotropic target.
    let target = gaussian_target(250, &[2.0, 2.0]);
    let star = target.optimum().unwrap();
    let q = in_set::<Triangular>(251, 2, 2.0, 3.0);
    let e = distance2::<Triangular>(2, q.parameters(), star.parameters());
    let bend = difference(&gradient(&target, &q, false), &gradient(&target, &star, false));
    let bound = noise::energy_batch(2, 2.0, 1_000_000_000, 0.0).unwrap().at(e);
    assert!((dot(&bend, &bend) / bound - 1.0).abs() < 1e-6);
    // V* ≤ (d+3)M²‖w*−w̄‖², measured.
    for case in cases() {
        let d = case.star.dim();
        let v_star = noise::v_star_bound(d, case.smoothness(), case.mode2).unwrap();
        let centre = gradient(&case.target, &case.star, false);
        let (mean, error) = case.measure(Kind::Energy, &case.star, 1, &centre);
        assert!(mean - SIGMAS * error <= v_star, "{}: V* = {mean}", case.name);
        let bound = noise::energy_batch(d, case.smoothness(), 1, v_star).unwrap();
        case.check_path::<Triangular>(Kind::Energy, 1, bound, |star| gradient(&case.target, star, false));
    }
}

#[test]
fn noise_batch() {
    assert_bound(noise::entropy_batch(2, 3.0, 4, 7.0).unwrap(), 36.0 + 22.5, 3.5);
    let single = 4.0 * 5.0 * (1.0 + 18.0);
    let floor = 4.0 * (3.5 + 8f64.sqrt()) * 0.5 / 4.0;
    assert_bound(noise::stl_batch(2, 3.0, 1.0, 0.5, 4).unwrap(), 0.75 * 36.0 + single / 4.0, floor);
    assert_bound(noise::exact_proj(3.0).unwrap(), 36.0, 0.0);
    assert_bound(noise::exact_prox(3.0).unwrap(), 9.0, 0.0);
    check_batches::<Triangular>(Kind::Entropy, &[0.5, 1.0, 2.0]);
    check_batches::<Symmetric>(Kind::Entropy, &[0.5, 1.0, 2.0]);
    check_batches::<Symmetric>(Kind::Stl, &[0.5, 1.0, 2.0]);
    for case in cases() {
        let d = case.star.dim();
        let v_star = noise::v_star_bound(d, case.smoothness(), case.mode2).unwrap();
        let residual = case.curvature.residual_smoothness().unwrap();
        for draws in [2, 8] {
            let energy = noise::energy_batch(d, case.smoothness(), draws, v_star).unwrap();
            case.check_path::<Triangular>(Kind::Energy, draws, energy, |w| gradient(&case.target, w, false));
            let entropy = noise::entropy_batch(d, case.smoothness(), draws, v_star).unwrap();
            case.check_path::<Triangular>(Kind::Entropy, draws, entropy, zero);
            case.check_path::<Symmetric>(Kind::Entropy, draws, entropy, zero);
            let trace = case.curvature.trace_inverse();
            let stl = noise::stl_batch(d, case.smoothness(), residual, trace, draws).unwrap();
            case.check_path::<Symmetric>(Kind::Stl, draws, stl, zero);
        }
    }
}

/// A finite sum of terms with their probabilities: isotropic quadratics and logistic terms, each with its
/// share of the prior.
struct Term {
    probability: f64,
    smoothness: f64,
    stationary: Vec<f64>,
    target: Box<dyn Target>,
}

#[test]
fn noise_subsample() {
    let d = 2;
    let q = Gaussian::<Triangular>::new(&[0.7, -0.4], &[0.8, 0.3, 0.5]).unwrap();
    let factor2 = dot(q.factor(), q.factor());
    // E‖g‖² of the reweighted term, averaged over terms: Σ_n π_n E‖g_n/π_n‖².
    let measure = |terms: &[Term], rule: &[(f64, f64)]| -> f64 {
        let moment = |t: &Term| {
            cubature(d, rule, |u| {
                let (left, x) = raw_gradient(Kind::Energy, t.target.as_ref(), &q, u);
                dot(&left, &left) + inner(&x, &x)
            })
        };
        terms.iter().map(|t| moment(t) / t.probability).sum()
    };
    let bound = |terms: &[Term]| {
        let weight = |t: &Term| t.smoothness.powi(2) / t.probability;
        let mean2 = |t: &Term| {
            let shift = difference(q.mean(), &t.stationary);
            weight(t) * dot(&shift, &shift)
        };
        let (total, means) = (terms.iter().map(weight).sum(), terms.iter().map(mean2).sum());
        noise::subsample_second_moment(d, total, means, factor2).unwrap()
    };

    let quadratics: Vec<Term> = [(0.2, 1.5), (0.5, 0.4), (0.3, 3.0)]
        .into_iter()
        .enumerate()
        .map(|(n, (probability, smoothness))| {
            let stationary = normals(260 + n as u64, d);
            let precision = Matrix::scaled_identity(d, smoothness);
            let target = provi::target::GaussianTarget::new(&stationary, precision).unwrap();
            Term { probability, smoothness, stationary, target: Box::new(target) }
        })
        .collect();
    let (exact, allowed) = (measure(&quadratics, &THREE_POINTS), bound(&quadratics));
    assert!((exact / allowed - 1.0).abs() < 1e-12, "attained by isotropic quadratics: {exact}, {allowed}");
    let swapped: f64 = quadratics.iter().map(|t| t.smoothness.powi(2)).sum();
    assert!(swapped * (d as f64 + 3.0) * factor2 < 0.9 * exact, "forgetting 1/π_n would show");

    // Logistic terms with a third of the prior each; every term is its own small model.
    let rows = [[1.0, -0.5], [0.3, 2.0], [-1.2, 0.4]];
    let logistic: Vec<Term> = rows
        .iter()
        .zip([0.5, 0.3, 0.2])
        .enumerate()
        .map(|(n, (row, probability))| {
            let design = provi::Design::dense(1, d, row).unwrap();
            let prior = provi::target::Prior::precision(1.0 / 3.0).unwrap();
            let target = Glm::logistic(design, &[f64::from(u8::from(n != 1))], prior).unwrap();
            let stationary = provi::mode::find_mode(&target, &[0.0; 2]).unwrap().point;
            let smoothness = target.curvature().unwrap().unwrap().smoothness().unwrap();
            Term { probability, smoothness, stationary, target: Box::new(target) }
        })
        .collect();
    let exact = measure(&logistic, &trapezoid(0.25));
    assert!(exact <= bound(&logistic), "{exact} is above {}", bound(&logistic));

    // The centred forms reduce to the plain ones for a single term, and carry Σ M_n²/π_n in the 1/N terms.
    let (m, n, v) = (3.0, 4, 7.0);
    assert_eq!(noise::energy_subsample(d, m, 9.0, n, v), noise::energy_batch(d, m, n, v));
    assert_eq!(noise::entropy_subsample(d, m, 9.0, n, v), noise::entropy_batch(d, m, n, v));
    assert_bound(noise::energy_subsample(d, m, 20.0, n, v).unwrap(), 0.5 * 9.0 + 2.0 * 5.0 * 20.0 / 4.0, 3.5);
    assert_bound(noise::entropy_subsample(d, m, 20.0, n, v).unwrap(), 36.0 + 50.0, 3.5);
}

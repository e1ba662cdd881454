//! §2: what is known of ∇²V, and what follows for the objective and its minimiser.

use crate::common::*;
use provi::gaussian::Factor;
use provi::target::{Family, Glm, hierarchical_convexity};
use provi::{Gaussian, Matrix, Symmetric, Target, Triangular};

const FAMILIES: [Family; 4] =
    [Family::Gaussian { noise_sd: 0.8 }, Family::Bernoulli, Family::Probit, Family::Poisson];

fn models() -> Vec<(String, Glm)> {
    let mut out = Vec::new();
    for family in FAMILIES {
        for sparse in [false, true] {
            let name = format!("{family:?}, sparse: {sparse}");
            out.push((name, regression(family, 11, 4, 0.5, sparse)));
        }
    }
    out.push(("hierarchical, isotropic".into(), hierarchy(21, 2, 3, 0.7, 2.0, 0.0)));
    out.push(("hierarchical, general".into(), hierarchy(22, 2, 3, 0.7, 2.0, 0.3)));
    out
}

/// Points near and far, in random directions.
fn points(d: usize) -> impl Iterator<Item = Vec<f64>> {
    (0..60u64).map(move |k| {
        let scale = [0.0, 0.1, 1.0, 5.0, 40.0][k as usize % 5];
        normals(1000 + k, d).iter().map(|x| scale * x).collect()
    })
}

#[test]
fn curvature() {
    for (name, model) in models() {
        let d = model.dim();
        let curvature = model.curvature().unwrap().unwrap();
        let low = curvature.lower().to_matrix(d);
        let high = curvature.upper().map(|h| h.to_matrix(d));
        assert_eq!(high.is_none(), model.family() == Family::Poisson, "{name}");
        assert!((curvature.convexity() / extremes(&low).0 - 1.0).abs() < 1e-10, "{name}");
        assert!((curvature.trace_inverse() / trace(&inverse(&low)) - 1.0).abs() < 1e-10, "{name}");
        for z in points(d) {
            let h = hessian(&model, &z);
            let tolerance = 1e-12 * h.frobenius_norm();
            let (least, most) = extremes(&h);
            assert!(curvature.convexity() <= least + tolerance, "{name}");
            assert!(extremes(&combination(&h, -1.0, &low)).0 >= -tolerance, "{name}: H_lo is above ∇²V");
            if let Some(high) = &high {
                assert!(most <= curvature.smoothness().unwrap() + tolerance, "{name}");
                assert!(extremes(&combination(high, -1.0, &h)).0 >= -tolerance, "{name}: H_hi is below ∇²V");
            }
        }
    }
}

#[test]
fn curvature_is_not_looser_than_it_need_be() {
    // Where every predictor is 0 a logistic model attains H_hi; a Gaussian one does everywhere. A slack of 1% or
    // a θ_max of 1/8 would show here or above.
    let logistic = hierarchy(23, 2, 3, 1.0, 1.0, 0.2);
    let at_zero = extremes(&hessian(&logistic, &[0.0; 8])).1;
    let smoothness = logistic.curvature().unwrap().unwrap().smoothness().unwrap();
    assert!((smoothness / at_zero - 1.0).abs() < 1e-10);
    let linear = regression(FAMILIES[0], 24, 5, 0.3, false);
    let exact = extremes(&hessian(&linear, &[0.0; 5]));
    let curvature = linear.curvature().unwrap().unwrap();
    assert!((curvature.convexity() / exact.0 - 1.0).abs() < 1e-10);
    assert!((curvature.smoothness().unwrap() / exact.1 - 1.0).abs() < 1e-10);
    assert!(curvature.residual_smoothness().unwrap().abs() <= 0.0, "a Gaussian posterior has K = 0");
}

fn trace(a: &Matrix) -> f64 {
    (0..a.rows()).map(|i| a[(i, i)]).sum()
}

#[test]
fn linear_predictor() {
    for family in FAMILIES {
        let (low, high) = family.curvature_range();
        let expected = match family {
            Family::Gaussian { .. } => (1.0 / 0.64, Some(1.0 / 0.64)),
            Family::Bernoulli => (0.0, Some(0.25)),
            Family::Probit => (0.0, Some(1.0)),
            _ => (0.0, None),
        };
        assert!((low - expected.0).abs() < 1e-15);
        assert_eq!(high.is_none(), expected.1.is_none());
        assert!((high.unwrap_or(0.0) - expected.1.unwrap_or(0.0)).abs() < 1e-15);

        // H = Λ + θAᵀWA, formed by hand from the same normals as the model.
        let (key, d, precision) = (31, 3, 0.5);
        let rows = 6 * d;
        let model = regression(family, key, d, precision, false);
        let a: Vec<f64> = normals(key, rows * d).iter().map(|x| 0.7 * x).collect();
        let weights: Vec<f64> = normals(key + 1, rows).iter().map(|x| 0.2 + x.abs()).collect();
        let by_hand = |theta: f64| {
            let mut h = Matrix::scaled_identity(d, precision);
            for n in 0..rows {
                for i in 0..d {
                    for j in 0..d {
                        h[(i, j)] += theta * weights[n] * a[n * d + i] * a[n * d + j];
                    }
                }
            }
            h
        };
        let curvature = model.curvature().unwrap().unwrap();
        let gap = combination(&curvature.lower().to_matrix(d), -1.0, &by_hand(low));
        assert!(gap.frobenius_norm() < 1e-11);
        if let Some(high) = high {
            let gap = combination(&curvature.upper().unwrap().to_matrix(d), -1.0, &by_hand(high));
            assert!(gap.frobenius_norm() < 1e-11);
        }
    }
}

#[test]
fn hierarchical() {
    let (s, r, groups, k) = (0.7, 2.5, 4, 2);
    let model = hierarchy(41, k, groups, s, r, 0.0);
    let d = model.dim();
    assert_eq!(d, k * (groups + 1));
    let curvature = model.curvature().unwrap().unwrap();
    let prior = curvature.lower().to_matrix(d);
    // Λ by blocks: Σ⁻¹ + nΔ⁻¹ on θ (not Σ⁻¹ + Δ⁻¹), −Δ⁻¹ beside it, Δ⁻¹ on each z_i.
    for i in 0..d {
        for j in 0..d {
            let (gi, gj) = (i / k, j / k);
            let expected = match (gi, gj) {
                _ if i % k != j % k => 0.0,
                (0, 0) => s + groups as f64 * r,
                (0, _) | (_, 0) => -r,
                _ if gi == gj => r,
                _ => 0.0,
            };
            assert!((prior[(i, j)] - expected).abs() < 1e-14, "Λ[{i}, {j}]");
        }
    }
    let truth = extremes(&prior).0;
    let tau = s + (groups as f64 + 1.0) * r;
    let textbook = 0.5 * (tau - (tau * tau - 4.0 * s * r).sqrt());
    assert!((truth - textbook).abs() < 1e-12 && curvature.convexity() > 0.0);
    assert!(curvature.convexity() <= truth * (1.0 + 1e-13));
    assert!((curvature.convexity() / truth - 1.0).abs() < 1e-10);
    // Many groups and a vague top: the closed form keeps its digits, rounded down.
    let (s, r, n) = (1e-6, 1.0, 100_000);
    let convexity = hierarchical_convexity(s, r, n);
    let expected = s / (n as f64 + 1.0); // to first order in s/r
    assert!((convexity / expected - 1.0).abs() < 1e-9);
    // The general prior: bracketed, attained at z = 0 from above.
    let general = hierarchy(42, k, groups, s.max(0.5), r, 0.3);
    let curvature = general.curvature().unwrap().unwrap();
    let at_zero = extremes(&hessian(&general, &vec![0.0; d])).1;
    assert!(curvature.convexity() > 0.0 && (curvature.smoothness().unwrap() / at_zero - 1.0).abs() < 1e-10);
}

/// ∇h = −proj(C⁻ᵀ), flat, with a zero mean part.
fn entropy_gradient<F: Space>(q: &Gaussian<F>) -> Vec<f64> {
    let x = transposed(&inverse(&q.factor_matrix()));
    [vec![0.0; q.dim()], pack(&F::project(&x)).iter().map(|x| -x).collect()].concat()
}

/// ⟨a, b⟩ for flat vectors of the space.
fn flat_inner<F: Space>(d: usize, a: &[f64], b: &[f64]) -> f64 {
    dot(&a[..d], &b[..d]) + inner(&F::to_matrix(d, &a[d..]), &F::to_matrix(d, &b[d..]))
}

/// h is convex and M-smooth on 𝒲_M; l is μ-strongly convex and M-smooth.
fn check_objective<F: Space>(model: &Glm) {
    let d = model.dim();
    let curvature = model.curvature().unwrap().unwrap();
    let (mu, smoothness) = (curvature.convexity(), curvature.smoothness().unwrap());
    let low = curvature.lower().to_matrix(d);
    for k in 0..40 {
        let (a, b) =
            (in_set::<F>(5000 + 2 * k, d, smoothness, 1.0), in_set::<F>(7000 + 2 * k, d, smoothness, 1.0));
        let delta = difference(a.parameters(), b.parameters());
        let length2 = square_norm::<F>(d, &delta);

        let middle: Vec<f64> =
            a.parameters().iter().zip(b.parameters()).map(|(x, y)| 0.5 * (x + y)).collect();
        let middle = Gaussian::<F>::new(&middle[..d], &middle[d..]).unwrap();
        let h = |q: &Gaussian<F>| q.neg_entropy().unwrap();
        assert!(h(&middle) <= 0.5 * (h(&a) + h(&b)) + 1e-12, "h is convex");
        let bend = difference(&entropy_gradient(&a), &entropy_gradient(&b));
        assert!(square_norm::<F>(d, &bend).sqrt() <= smoothness * length2.sqrt() * (1.0 + 1e-12));
        assert!(flat_inner::<F>(d, &bend, &delta) >= -1e-12);

        let bend = difference(&gradient(model, &a, false), &gradient(model, &b, false));
        let growth = flat_inner::<F>(d, &bend, &delta);
        let c = F::to_matrix(d, &delta[d..]);
        let in_metric = form(&low, &delta[..d], &delta[..d]) + inner(&c, &product(&low, &c));
        assert!(growth >= in_metric * (1.0 - 1e-12) && in_metric >= mu * length2 * (1.0 - 1e-12));
        assert!(square_norm::<F>(d, &bend).sqrt() <= smoothness * length2.sqrt() * (1.0 + 1e-12));
    }
}

/// What every minimiser satisfies, at an optimum found independently.
fn check_minimiser(model: &Glm, optimum: &Gaussian<Triangular>) {
    let d = model.dim();
    let curvature = model.curvature().unwrap().unwrap();
    let covariance = optimum.covariance();
    let smoothness = curvature.smoothness().unwrap();
    assert!(extremes(&covariance).0 >= (1.0 - 1e-10) / smoothness, "σ_min(C*) ≥ 1/√M");
    let precision = inverse(&covariance);
    let gap = combination(&precision, -1.0, &moments(model, optimum).hessian);
    assert!(gap.frobenius_norm() < 1e-7 * precision.frobenius_norm(), "(C*C*ᵀ)⁻¹ = E∇²V");
    let low = curvature.lower().to_matrix(d);
    let high = curvature.upper().cloned().unwrap().to_matrix(d);
    let tolerance = 1e-8 * precision.frobenius_norm();
    assert!(extremes(&combination(&precision, -1.0, &low)).0 >= -tolerance);
    assert!(extremes(&combination(&high, -1.0, &precision)).0 >= -tolerance);
    assert!(trace(&covariance) <= curvature.trace_inverse(), "‖C*‖_F² ≤ tr H_lo⁻¹");

    let mode = provi::mode::find_mode(model, &vec![0.0; d]).unwrap();
    let shift = difference(optimum.mean(), &mode.point);
    let spread = inner(&optimum.factor_matrix(), &product(&low, &optimum.factor_matrix()));
    let total = form(&low, &shift, &shift) + spread;
    assert!(total <= d as f64 * (1.0 + 1e-10), "‖w* − w̄‖²_H_lo = {total} is above d = {d}");
}

#[test]
fn structure() {
    for model in [regression(Family::Bernoulli, 51, 3, 0.5, false), hierarchy(52, 1, 3, 1.0, 2.0, 0.0)] {
        check_objective::<Triangular>(&model);
        check_objective::<Symmetric>(&model);
        check_minimiser(&model, &optimum(&model));
    }
    check_minimiser(
        &regression(FAMILIES[0], 53, 4, 0.5, false),
        &optimum(&regression(FAMILIES[0], 53, 4, 0.5, false)),
    );
    check_minimiser(
        &regression(Family::Probit, 54, 3, 0.5, false),
        &optimum(&regression(Family::Probit, 54, 3, 0.5, false)),
    );
    for name in ["W2", "W4"] {
        let gold = gold(name);
        check_minimiser(&gold.target, &gold.optimum);
    }
}

#[test]
fn structure_of_the_domain() {
    // On general matrices −log det is not convex: along I + tR, R a quarter turn, it is −log(1 + t²).
    let along = |t: f64| {
        let c = Matrix::new(2, 2, vec![1.0, -t, t, 1.0]).unwrap();
        -(c[(0, 0)] * c[(1, 1)] - c[(0, 1)] * c[(1, 0)]).ln()
    };
    assert!((along(0.7) + (1.0f64 + 0.49).ln()).abs() < 1e-15);
    assert!(along(0.0) > 0.5 * (along(-1.0) + along(1.0)) + 0.5);
    // On 𝒯ᵈ the domain is the diagonal: xᵀCx < 0 at x = (1, 1) is no objection.
    let q = Gaussian::<Triangular>::new(&[0.0, 0.0], &[1.0, -10.0, 1.0]).unwrap();
    assert!(form(&q.factor_matrix(), &[1.0, 1.0], &[1.0, 1.0]) < 0.0);
    assert!(q.log_det().unwrap().abs() < 1e-15);
    assert!(Gaussian::<Symmetric>::new(&[0.0, 0.0], &[1.0, -10.0, 1.0]).is_err());
    assert!(Triangular::check_domain(1, &[0.0]).is_err());
}

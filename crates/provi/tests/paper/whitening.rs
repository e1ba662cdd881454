//! §6: Gaussian VI is affine-equivariant, and H_lo^{-1/2} gives the best provable condition number.

use crate::common::*;
use provi::plan::Coordinates;
use provi::target::Family;
use provi::{Gaussian, Matrix, Method, Planner, Seed, Target, Triangular};

/// λ_max(PᵀH_hiP)/λ_min(PᵀH_loP).
fn condition(low: &Matrix, high: &Matrix, p: &Matrix) -> f64 {
    let seen = |h: &Matrix| {
        let x = product(&product(&transposed(p), h), p);
        combination(&Matrix::zeros(x.rows(), x.rows()), 0.5, &combination(&x, 1.0, &transposed(&x)))
    };
    extremes(&seen(high)).1 / extremes(&seen(low)).0
}

#[test]
fn whiten() {
    let model = hierarchy(401, 2, 3, 1.0, 3.0, 0.2);
    let d = model.dim();
    let curvature = model.curvature().unwrap().unwrap();
    let (low, high) = (curvature.lower().to_matrix(d), curvature.upper().unwrap().to_matrix(d));
    let p = cholesky(&inverse(&low));
    let best = condition(&low, &high, &p);
    let root = spectral(&low, |x| x.powf(-0.5));
    let relative = extremes(&product(&product(&root, &high), &root)).1;
    assert!((best / relative - 1.0).abs() < 1e-9, "κ̃ = λ_max(H_lo⁻¹H_hi)");
    for key in 0..40 {
        let other = Matrix::new(d, d, normals(410 + key, d * d)).unwrap();
        let near = combination(&p, 0.02, &other);
        assert!(condition(&low, &high, &other) >= best * (1.0 - 1e-9));
        assert!(condition(&low, &high, &near) >= best * (1.0 - 1e-9));
    }
    // The library's curvature coordinates are these.
    let planner = Planner::new(Method::Exact).coordinates(Coordinates::Curvature);
    let constants = planner.to_steps(&model, 10).unwrap().constants.unwrap();
    assert!(constants.convexity <= 1.0 && constants.convexity > 1.0 - 1e-9);
    assert!(constants.smoothness >= best * (1.0 - 1e-9) && constants.smoothness < best * (1.0 + 1e-9));
    // Linear regression becomes perfectly conditioned, in either sense.
    let linear = regression(Family::Gaussian { noise_sd: 0.3 }, 450, 4, 0.2, false);
    for coordinates in [Coordinates::Curvature, Coordinates::Laplace] {
        let planner = Planner::new(Method::Exact).coordinates(coordinates);
        let constants = planner.to_steps(&linear, 3).unwrap().constants.unwrap();
        assert!(constants.smoothness / constants.convexity < 1.0 + 1e-9, "{coordinates:?}");
    }
    // The same optimum from any coordinates, and the factor handed back is triangular, the user's own.
    let star = optimum(&model);
    for coordinates in [Coordinates::Original, Coordinates::Curvature, Coordinates::Laplace] {
        let plan = Planner::new(Method::Exact).coordinates(coordinates).to_distance(&model, 1e-16).unwrap();
        let fit = plan.run(&model, Seed(1)).unwrap();
        let gap = distance2::<Triangular>(d, fit.gaussian.parameters(), star.parameters());
        assert!(gap < 1e-15, "{coordinates:?}: {gap}");
        assert!((fit.neg_elbo.value - objective(&model, &star)).abs() < 1e-9);
    }
}

#[test]
fn whiten_transfers_bounds_to_every_direction() {
    // With w̃ = P⁻¹w, any pair of factors: |vᵀ(m−m*)| and |‖Cᵀv‖ − ‖C*ᵀv‖| are at most ‖Pᵀv‖·‖w̃−w̃*‖.
    let d = 3;
    for key in 0..50 {
        let a = in_set::<Triangular>(460 + key, d, 1.0, 1.0);
        let b = in_set::<Triangular>(560 + key, d, 4.0, 2.0);
        let p = in_set::<Triangular>(660 + key, d, 2.0, 1.0).factor_matrix();
        let back = inverse(&p);
        let white = |q: &Gaussian<Triangular>| {
            let m: Vec<f64> = (0..d).map(|i| dot(back.row(i), q.mean())).collect();
            (m, product(&back, &q.factor_matrix()))
        };
        let ((ma, ca), (mb, cb)) = (white(&a), white(&b));
        let (dm, dc) = (difference(&ma, &mb), combination(&ca, -1.0, &cb));
        let length = (dot(&dm, &dm) + inner(&dc, &dc)).sqrt();
        let v = normals(760 + key, d);
        let size = {
            let pulled: Vec<f64> = (0..d).map(|j| (0..d).map(|i| p[(i, j)] * v[i]).sum()).collect();
            dot(&pulled, &pulled).sqrt()
        };
        let sd = |q: &Gaussian<Triangular>| form(&q.covariance(), &v, &v).sqrt();
        let (mean, deviation) = (dot(&v, &difference(a.mean(), b.mean())).abs(), (sd(&a) - sd(&b)).abs());
        assert!(mean.hypot(deviation) <= size * length * (1.0 + 1e-12));
    }
}

//! What the integration tests share: gold data, small problems, plain linear algebra, exact optima.
//!
//! The linear algebra is written again here, without the library's, so that the two check each other.
#![allow(dead_code)] // each test crate uses its own part

use provi::average::Averager;
use provi::draws::{Draws, Purpose, Seed};
use provi::estimator::{Kind, Sampled};
use provi::expectation::Moments;
use provi::gaussian::Factor;
use provi::optimize::{Composite, Moved, Operator, Progress, minimise};
use provi::step::{ProjSymmetric, ProjTriangular, Prox};
use provi::target::{Evaluator, Family, GaussianTarget, Glm, Prior, hierarchical_logistic};
use provi::{Average, Design, Gaussian, Matrix, Method, Schedule, Symmetric, Target, Triangular};
use std::f64::consts::PI;
use std::ops::ControlFlow;

/// The standard errors that a two-sided statistical check allows: a false alarm has probability 2e-9, and the
/// suite makes fewer than 5000 such checks, so together they stay below its budget of 1e-5.
pub(crate) const SIGMAS: f64 = 6.0;

/// Reproducible standard normals for test data.
pub(crate) fn normals(key: u64, count: usize) -> Vec<f64> {
    let mut out = vec![0.0; count];
    Draws::new(Seed(key), Purpose::Sample).fill(key, 0, &mut out);
    out
}

/// A numeric CSV file with a header: its rows.
pub(crate) fn csv(name: &str) -> Vec<Vec<f64>> {
    let path = format!("{}/tests/data/{name}.csv", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let parse = |line: &str| line.split(',').map(|x| x.trim().parse().unwrap()).collect();
    text.lines().skip(1).filter(|line| !line.is_empty()).map(parse).collect()
}

/// A workload with its optimum, computed elsewhere.
pub(crate) struct Gold {
    pub(crate) target: Glm,
    pub(crate) optimum: Gaussian<Triangular>,
    pub(crate) f_star: f64,
}

/// W1: linear regression with noise 1. W2: logistic regression, the intercept last. W4: hierarchical logistic
/// regression. All priors are standard normal.
pub(crate) fn gold(name: &str) -> Gold {
    let rows = csv(name);
    let response: Vec<f64> = rows.iter().map(|r| *r.last().unwrap()).collect();
    let prior = || Prior::precision(1.0).unwrap();
    let flat = |rows: &[Vec<f64>], skip: usize, intercept: bool| {
        let width = rows[0].len() - 1 - skip + usize::from(intercept);
        let entries: Vec<f64> = rows
            .iter()
            .flat_map(|r| {
                let features = r[skip..r.len() - 1].iter().copied();
                features.chain(intercept.then_some(1.0)).collect::<Vec<f64>>()
            })
            .collect();
        Design::from_rows(rows.len(), width, entries).unwrap()
    };
    let target = match name {
        "W1" => Glm::linear(flat(&rows, 0, false), &response, 1.0, prior()).unwrap(),
        "W2" => Glm::logistic(flat(&rows, 0, true), &response, prior()).unwrap(),
        "W4" => {
            let groups: Vec<usize> = rows.iter().map(|r| r[0] as usize).collect();
            let features = flat(&rows, 1, false);
            let identity = Matrix::scaled_identity(features.columns(), 1.0);
            hierarchical_logistic(&features, &response, &groups, &identity, &identity).unwrap()
        }
        _ => panic!("no workload {name}"),
    };
    let path = format!("{}/tests/data/{name}.optimum.json", env!("CARGO_MANIFEST_DIR"));
    let json: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let list = |key: &str| -> Vec<f64> {
        json[key].as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
    };
    let optimum = Gaussian::new(&list("m"), &list("C")).unwrap();
    Gold { target, optimum, f_star: json["f_star"].as_f64().unwrap() }
}

/// A design of independent normals of the given size, dense or sparse (every third entry dropped).
pub(crate) fn design(key: u64, rows: usize, columns: usize, scale: f64, sparse: bool) -> Design {
    let mut entries = normals(key, rows * columns);
    entries.iter_mut().for_each(|x| *x *= scale);
    if !sparse {
        return Design::from_rows(rows, columns, entries).unwrap();
    }
    let triplets: Vec<(usize, usize, f64)> = entries
        .iter()
        .enumerate()
        .filter(|(i, _)| i % 3 != 1)
        .map(|(i, &x)| (i / columns, i % columns, x))
        .collect();
    Design::triplets(rows, columns, &triplets).unwrap()
}

/// Responses any family accepts.
pub(crate) fn labels(rows: usize) -> Vec<f64> {
    (0..rows).map(|n| f64::from(u8::from(n % 3 == 0 || n % 7 == 2))).collect()
}

/// A regression of any family with weights and offsets.
pub(crate) fn regression(family: Family, key: u64, d: usize, precision: f64, sparse: bool) -> Glm {
    let rows = 6 * d;
    let weights: Vec<f64> = normals(key + 1, rows).iter().map(|x| 0.2 + x.abs()).collect();
    let offsets: Vec<f64> = normals(key + 2, rows).iter().map(|x| 0.3 * x).collect();
    let design = design(key, rows, d, 0.7, sparse);
    Glm::new(family, design, &labels(rows), Prior::precision(precision).unwrap())
        .unwrap()
        .with_weights(&weights)
        .unwrap()
        .with_offsets(&offsets)
        .unwrap()
}

/// A hierarchical model of `groups` groups with k features; priors diag(s), diag(r) with a little coupling.
pub(crate) fn hierarchy(key: u64, k: usize, groups: usize, s: f64, r: f64, coupling: f64) -> Glm {
    let rows = 4 * groups;
    let features = design(key, rows, k, 0.5, false);
    let membership: Vec<usize> = (0..rows).map(|n| n % groups).collect();
    let precision = |value: f64| {
        let mut out = Matrix::scaled_identity(k, value);
        for i in 1..k {
            out[(i, i - 1)] = coupling * value;
            out[(i - 1, i)] = coupling * value;
        }
        out
    };
    hierarchical_logistic(&features, &labels(rows), &membership, &precision(s), &precision(r)).unwrap()
}

/// ab.
pub(crate) fn product(a: &Matrix, b: &Matrix) -> Matrix {
    let mut out = Matrix::zeros(a.rows(), b.columns());
    for i in 0..a.rows() {
        for k in 0..a.columns() {
            for j in 0..b.columns() {
                out[(i, j)] += a[(i, k)] * b[(k, j)];
            }
        }
    }
    out
}

/// aᵀ.
pub(crate) fn transposed(a: &Matrix) -> Matrix {
    let mut out = Matrix::zeros(a.columns(), a.rows());
    for i in 0..a.rows() {
        for j in 0..a.columns() {
            out[(j, i)] = a[(i, j)];
        }
    }
    out
}

/// a + αb.
pub(crate) fn combination(a: &Matrix, alpha: f64, b: &Matrix) -> Matrix {
    let entries = a.entries().iter().zip(b.entries()).map(|(x, y)| x + alpha * y).collect();
    Matrix::new(a.rows(), a.columns(), entries).unwrap()
}

/// a⁻¹ by Gauss–Jordan with row pivots.
pub(crate) fn inverse(a: &Matrix) -> Matrix {
    let d = a.rows();
    let (mut a, mut out) = (a.clone(), Matrix::scaled_identity(d, 1.0));
    for i in 0..d {
        let pivot = (i..d).max_by(|&p, &q| a[(p, i)].abs().total_cmp(&a[(q, i)].abs())).unwrap();
        for j in 0..d {
            for m in [&mut a, &mut out] {
                let swap = m[(i, j)];
                m[(i, j)] = m[(pivot, j)];
                m[(pivot, j)] = swap;
            }
        }
        let scale = 1.0 / a[(i, i)];
        a.row_mut(i).iter_mut().for_each(|x| *x *= scale);
        out.row_mut(i).iter_mut().for_each(|x| *x *= scale);
        for k in (0..d).filter(|&k| k != i) {
            let factor = a[(k, i)];
            for m in [&mut a, &mut out] {
                let row = m.row(i).to_vec();
                m.row_mut(k).iter_mut().zip(&row).for_each(|(x, y)| *x -= factor * y);
            }
        }
    }
    out
}

/// The lower triangular L with LLᵀ = a.
pub(crate) fn cholesky(a: &Matrix) -> Matrix {
    let d = a.rows();
    let mut l = Matrix::zeros(d, d);
    for i in 0..d {
        for j in 0..=i {
            let sum: f64 = (0..j).map(|k| l[(i, k)] * l[(j, k)]).sum();
            l[(i, j)] = if i == j { (a[(i, i)] - sum).sqrt() } else { (a[(i, j)] - sum) / l[(j, j)] };
        }
    }
    l
}

/// Eigenvalues (ascending) and eigenvectors (columns) of a symmetric matrix, by Jacobi's rotations.
pub(crate) fn eigen(a: &Matrix) -> (Vec<f64>, Matrix) {
    let d = a.rows();
    let (mut a, mut v) = (a.clone(), Matrix::scaled_identity(d, 1.0));
    for _sweep in 0..60 {
        let off: f64 = (0..d).flat_map(|i| (0..i).map(move |j| (i, j))).map(|p| a[p] * a[p]).sum();
        if off <= 1e-30 * a.frobenius_norm().powi(2) {
            break;
        }
        for p in 0..d {
            for q in p + 1..d {
                if a[(p, q)].abs() <= f64::MIN_POSITIVE {
                    continue;
                }
                let theta = 0.5 * (a[(q, q)] - a[(p, p)]) / a[(p, q)];
                let t = theta.signum() / (theta.abs() + theta.hypot(1.0));
                let c = 1.0 / t.hypot(1.0);
                let s = t * c;
                for k in 0..d {
                    let (x, y) = (a[(k, p)], a[(k, q)]);
                    (a[(k, p)], a[(k, q)]) = (c * x - s * y, s * x + c * y);
                    let (x, y) = (v[(k, p)], v[(k, q)]);
                    (v[(k, p)], v[(k, q)]) = (c * x - s * y, s * x + c * y);
                }
                for k in 0..d {
                    let (x, y) = (a[(p, k)], a[(q, k)]);
                    (a[(p, k)], a[(q, k)]) = (c * x - s * y, s * x + c * y);
                }
            }
        }
    }
    let mut order: Vec<usize> = (0..d).collect();
    order.sort_by(|&i, &j| a[(i, i)].total_cmp(&a[(j, j)]));
    let mut vectors = Matrix::zeros(d, d);
    for (column, &from) in order.iter().enumerate() {
        (0..d).for_each(|i| vectors[(i, column)] = v[(i, from)]);
    }
    (order.iter().map(|&i| a[(i, i)]).collect(), vectors)
}

/// The least and the largest eigenvalue.
pub(crate) fn extremes(a: &Matrix) -> (f64, f64) {
    let (values, _) = eigen(a);
    (values[0], values[values.len() - 1])
}

/// V f(Λ) Vᵀ of a symmetric matrix.
pub(crate) fn spectral(a: &Matrix, f: impl Fn(f64) -> f64) -> Matrix {
    let (values, v) = eigen(a);
    let mut scaled = v.clone();
    for i in 0..a.rows() {
        for (j, &value) in values.iter().enumerate() {
            scaled[(i, j)] *= f(value);
        }
    }
    product(&scaled, &transposed(&v))
}

/// The lower half, packed row by row.
pub(crate) fn pack(a: &Matrix) -> Vec<f64> {
    (0..a.rows()).flat_map(|i| a.row(i)[..=i].to_vec()).collect()
}

/// Σ a_ij b_ij.
pub(crate) fn inner(a: &Matrix, b: &Matrix) -> f64 {
    dot(a.entries(), b.entries())
}

/// Σ x_i y_i.
pub(crate) fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// xᵀAy.
pub(crate) fn form(a: &Matrix, x: &[f64], y: &[f64]) -> f64 {
    (0..a.rows()).map(|i| x[i] * dot(a.row(i), y)).sum()
}

/// x − y.
pub(crate) fn difference(x: &[f64], y: &[f64]) -> Vec<f64> {
    x.iter().zip(y).map(|(x, y)| x - y).collect()
}

/// proj(X) in the factor's space: tril or (X + Xᵀ)/2, as a square matrix.
pub(crate) trait Space: Factor {
    const SYMMETRIC: bool;

    fn project(x: &Matrix) -> Matrix {
        let mut out = x.clone();
        for i in 0..x.rows() {
            for j in 0..i {
                if Self::SYMMETRIC {
                    out[(i, j)] = 0.5 * (x[(i, j)] + x[(j, i)]);
                    out[(j, i)] = out[(i, j)];
                } else {
                    out[(j, i)] = 0.0;
                }
            }
        }
        out
    }

    /// q in this space.
    fn of(q: &Gaussian<Triangular>) -> Gaussian<Self> {
        let sigma = q.covariance();
        let factor = if Self::SYMMETRIC { spectral(&sigma, |x| x.sqrt()) } else { cholesky(&sigma) };
        Gaussian::new(q.mean(), &pack(&factor)).unwrap()
    }
}

impl Space for Triangular {
    const SYMMETRIC: bool = false;
}

impl Space for Symmetric {
    const SYMMETRIC: bool = true;
}

/// ‖w − v‖² in the Frobenius norm, for flat vectors (m, packed C).
pub(crate) fn distance2<F: Factor>(d: usize, w: &[f64], v: &[f64]) -> f64 {
    let delta = difference(w, v);
    square_norm::<F>(d, &delta)
}

/// ‖(m, C)‖² for a flat vector: off-diagonals of a symmetric factor count twice.
pub(crate) fn square_norm<F: Factor>(d: usize, w: &[f64]) -> f64 {
    let c = F::to_matrix(d, &w[d..]);
    dot(&w[..d], &w[..d]) + dot(c.entries(), c.entries())
}

/// −∇² log p at z.
pub(crate) fn hessian(target: &dyn Target, z: &[f64]) -> Matrix {
    let mut out = Matrix::zeros(z.len(), z.len());
    assert!(target.hessian(z, &mut out).unwrap());
    out.entries_mut().iter_mut().for_each(|x| *x = -*x);
    out
}

/// E V, E ∇V, E ∇²V under q.
pub(crate) fn moments<F: Factor>(target: &dyn Target, q: &Gaussian<F>) -> Moments {
    let mut out = Moments::new(q.dim());
    target.expectations().unwrap().expect(&q.to_triangular().unwrap(), &mut out).unwrap();
    out
}

/// ∇l (or ∇f, `with_entropy`) on the factor's space, flat: (E∇V, proj(E∇²V·C − C⁻ᵀ)).
pub(crate) fn gradient<F: Space>(target: &dyn Target, q: &Gaussian<F>, with_entropy: bool) -> Vec<f64> {
    let moments = moments(target, q);
    let c = q.factor_matrix();
    let mut x = product(&moments.hessian, &c);
    if with_entropy {
        x = combination(&x, -1.0, &transposed(&inverse(&c)));
    }
    [moments.gradient, pack(&F::project(&x))].concat()
}

/// f(w) with every constant.
pub(crate) fn objective<F: Factor>(target: &dyn Target, q: &Gaussian<F>) -> f64 {
    provi::expectation::neg_elbo(target.expectations().unwrap(), &q.to_triangular().unwrap()).unwrap()
}

/// The minimiser of f, to ‖∇f‖ ≤ 1e-10: the natural-gradient fixed point m ← m − P⁻¹E∇V, Σ ← P⁻¹ with P = E∇²V.
pub(crate) fn optimum(target: &dyn Target) -> Gaussian<Triangular> {
    let d = target.dim();
    let mut q = Gaussian::<Triangular>::standard(d);
    for _ in 0..2000 {
        let at = moments(target, &q);
        let covariance = inverse(&at.hessian);
        let step: Vec<f64> = (0..d).map(|i| dot(covariance.row(i), &at.gradient)).collect();
        let mean = difference(q.mean(), &step);
        q = Gaussian::new(&mean, &pack(&cholesky(&covariance))).unwrap();
        if gradient(target, &q, true).iter().all(|x| x.abs() < 1e-11) {
            return q;
        }
    }
    panic!("the fixed point did not converge");
}

/// Mean and standard error of a list.
pub(crate) fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}

/// xyᵀ.
pub(crate) fn outer(x: &[f64], y: &[f64]) -> Matrix {
    let entries = x.iter().flat_map(|x| y.iter().map(move |y| x * y)).collect();
    Matrix::new(x.len(), y.len(), entries).unwrap()
}

/// One draw of an estimator written out from its formula, before the projection on the factor's space.
pub(crate) fn raw_gradient<F: Factor>(
    kind: Kind,
    target: &dyn Target,
    q: &Gaussian<F>,
    u: &[f64],
) -> (Vec<f64>, Matrix) {
    let d = q.dim();
    let inverse = transposed(&inverse(&q.factor_matrix()));
    let (mut z, mut pull) = (vec![0.0; d], vec![0.0; d]);
    q.transport(u, &mut z);
    let value = -target.log_density(&z, &mut pull).unwrap();
    pull.iter_mut().for_each(|x| *x = -*x);
    let solved: Vec<f64> = (0..d).map(|i| dot(inverse.row(i), u)).collect();
    match kind {
        Kind::Entropy => {
            let x = combination(&outer(&pull, u), -1.0, &inverse);
            (pull, x)
        }
        Kind::Stl => {
            let residual = difference(&pull, &solved);
            let x = outer(&residual, u);
            (residual, x)
        }
        Kind::Score => {
            let log_q = -0.5 * dot(u, u) - q.log_det().unwrap() - 0.5 * d as f64 * (2.0 * PI).ln();
            let ratio = log_q + value;
            let left: Vec<f64> = solved.iter().map(|x| ratio * x).collect();
            let x = combination(&outer(&left, u), -ratio, &inverse);
            (left, x)
        }
        _ => {
            let x = outer(&pull, u);
            (pull, x)
        }
    }
}

/// Nodes and weights for N(0, 1), exact for polynomials up to degree 5.
pub(crate) const THREE_POINTS: [(f64, f64); 3] =
    [(-1.732_050_807_568_877_2, 1.0 / 6.0), (0.0, 2.0 / 3.0), (1.732_050_807_568_877_2, 1.0 / 6.0)];

/// Nodes and weights for N(0, 1): the trapezoid rule, exact to rounding for smooth functions.
pub(crate) fn trapezoid() -> Vec<(f64, f64)> {
    let step = 0.25;
    let weight = |u: f64| step * (-0.5 * u * u).exp() / (2.0 * PI).sqrt();
    (-34..=34).map(|j| f64::from(j) * step).map(|u| (u, weight(u))).collect()
}

/// E φ(u), u ~ N(0, I), by the tensor product of a rule.
pub(crate) fn cubature(d: usize, rule: &[(f64, f64)], mut phi: impl FnMut(&[f64]) -> f64) -> f64 {
    let (mut index, mut u, mut total) = (vec![0; d], vec![0.0; d], 0.0);
    loop {
        let mut weight = 1.0;
        for i in 0..d {
            u[i] = rule[index[i]].0;
            weight *= rule[index[i]].1;
        }
        total += weight * phi(&u);
        let Some(next) = index.iter().position(|&k| k + 1 < rule.len()) else { return total };
        index[next] += 1;
        index[..next].fill(0);
    }
}

/// A Gaussian target with a prescribed spectrum, rotated.
pub(crate) fn gaussian_target(key: u64, spectrum: &[f64]) -> GaussianTarget {
    let d = spectrum.len();
    let noise = Matrix::new(d, d, normals(key, d * d)).unwrap();
    let (_, v) = eigen(&combination(&noise, 1.0, &transposed(&noise)));
    let precision = product(&product(&v, &Matrix::diagonal(spectrum)), &transposed(&v));
    let precision = Symmetric::project(&precision);
    GaussianTarget::new(&normals(key + 1, d), precision).unwrap()
}

/// A random point of the set where σ_min(C) ≥ 1/√L (𝒮ᵈ) or C_ii ≥ 1/√L (𝒯ᵈ), on its edge for stretch 0.
pub(crate) fn in_set<F: Space>(key: u64, d: usize, region: f64, stretch: f64) -> Gaussian<F> {
    let x = Matrix::new(d, d, normals(key, d * d)).unwrap();
    let floor = region.powf(-0.5);
    let mut c = F::project(&x);
    if F::SYMMETRIC {
        c = spectral(&c, |v| floor * (1.0 + stretch * v * v));
    } else {
        (0..d).for_each(|i| c[(i, i)] = floor * (1.0 + stretch * c[(i, i)].powi(2)));
    }
    Gaussian::new(&normals(key + 1, d), &pack(&c)).unwrap()
}

/// w* + s(w − w*).
pub(crate) fn between<F: Factor>(star: &Gaussian<F>, far: &Gaussian<F>, s: f64) -> Gaussian<F> {
    let d = star.dim();
    let w: Vec<f64> = star.parameters().iter().zip(far.parameters()).map(|(a, b)| a + s * (b - a)).collect();
    Gaussian::new(&w[..d], &w[d..]).unwrap()
}

/// One method as the library pairs it: estimator, operator and factor space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pairing {
    ProxEnergy,
    ProjEntropy,
    ProjEntropyTriangular,
    ProjStl,
}

impl Pairing {
    pub(crate) const ALL: [Self; 4] =
        [Self::ProxEnergy, Self::ProjEntropy, Self::ProjEntropyTriangular, Self::ProjStl];

    pub(crate) fn method(self) -> Method {
        match self {
            Self::ProxEnergy => Method::ProxEnergy,
            Self::ProjEntropy => Method::ProjEntropy,
            Self::ProjEntropyTriangular => Method::ProjEntropyTriangular,
            Self::ProjStl => Method::ProjStl,
        }
    }

    pub(crate) fn is_symmetric(self) -> bool {
        matches!(self, Self::ProjEntropy | Self::ProjStl)
    }

    /// q as a flat vector in the method's space.
    pub(crate) fn flat(self, q: &Gaussian<Triangular>) -> Vec<f64> {
        if self.is_symmetric() { Symmetric::of(q).parameters().to_vec() } else { q.parameters().to_vec() }
    }

    /// ‖w − v‖² in the method's space.
    pub(crate) fn distance2(self, d: usize, w: &[f64], v: &[f64]) -> f64 {
        if self.is_symmetric() { distance2::<Symmetric>(d, w, v) } else { distance2::<Triangular>(d, w, v) }
    }

    /// A run of `steps` steps from `start`, each w_{t+1} shown to `see`; returns the `average` of it.
    pub(crate) fn run(self, run: &Run<'_>, seed: u64, see: &mut dyn FnMut(u64, &[f64])) -> Vec<f64> {
        let d = run.target.dim();
        let draws = Draws::new(Seed(seed), Purpose::Optimise);
        let evaluator = Evaluator::Serial(run.target);
        let kind = self.method().estimator().unwrap();
        let mut operator: Box<dyn Operator> = match self {
            Self::ProxEnergy => Box::new(Prox::new(d)),
            Self::ProjEntropyTriangular => Box::new(ProjTriangular::new(d, run.smoothness).unwrap()),
            _ => Box::new(ProjSymmetric::new(d, run.smoothness).unwrap()),
        };
        let mut w = run.start.to_vec();
        let mut averager = Averager::new(run.average, w.len()).unwrap();
        operator.apply(&mut w, 0.0, &Moved { distance: f64::MAX, value: None }).unwrap();
        let mut watch = |p: &Progress<'_>| {
            see(p.t + 1, p.w);
            ControlFlow::Continue(())
        };
        let (steps, schedule) = (run.steps, run.schedule);
        if self.is_symmetric() {
            let estimator = Sampled::<Symmetric>::new(kind, evaluator, draws, run.draws).unwrap();
            let mut problem = Composite { estimator, operator };
            minimise(&mut problem, &mut w, schedule, &mut averager, steps, &mut watch).unwrap();
        } else {
            let estimator = Sampled::<Triangular>::new(kind, evaluator, draws, run.draws).unwrap();
            let mut problem = Composite { estimator, operator };
            minimise(&mut problem, &mut w, schedule, &mut averager, steps, &mut watch).unwrap();
        }
        averager.finish(&w).unwrap()
    }

    /// The mean of ‖w_t − w*‖² over `seeds` runs at each checkpoint.
    pub(crate) fn mean_errors(
        self,
        run: &Run<'_>,
        star: &[f64],
        seeds: u64,
        checkpoints: &[u64],
    ) -> Vec<f64> {
        let mut means = vec![0.0; checkpoints.len()];
        for seed in 0..seeds {
            self.run(run, 1000 + seed, &mut |t, w| {
                if let Some(i) = checkpoints.iter().position(|&c| c == t) {
                    means[i] += self.distance2(run.target.dim(), w, star) / seeds as f64;
                }
            });
        }
        means
    }
}

/// What a run needs besides its pairing.
#[derive(Clone, Copy)]
pub(crate) struct Run<'a> {
    pub(crate) target: &'a dyn Target,
    pub(crate) smoothness: f64,
    pub(crate) start: &'a [f64],
    pub(crate) schedule: &'a Schedule,
    pub(crate) average: Average,
    pub(crate) draws: usize,
    pub(crate) steps: u64,
}

/// (m, C) at squared distance about 2d/μ from anywhere sensible: ones for the mean, twice the widest scale for C.
pub(crate) fn far_start(d: usize, convexity: f64) -> Vec<f64> {
    let scale = convexity.powf(-0.5);
    [vec![scale; d], pack(&Matrix::scaled_identity(d, 2.0 * scale))].concat()
}

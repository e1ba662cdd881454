//! What the integration tests share: gold data, small problems, exact optima. Plain linear algebra comes from the test kit.
#![allow(dead_code, unused_imports, reason = "each program uses its own part")]

pub(crate) mod grid;

pub(crate) use provi_testkit::algebra::{
    cholesky, combination, difference, dot, eigen, extremes, form, inner, inverse, outer, pack, product,
    spectral, transposed,
};
pub(crate) use provi_testkit::cubature::{THREE_POINTS, trapezoid};
pub(crate) use provi_testkit::normals;
pub(crate) use provi_testkit::space::Space as _;
pub(crate) use provi_testkit::space::{distance2, square_norm};

use provi::average::Averager;
use provi::draws::{Draws, Purpose, Seed};
use provi::estimator::{Kind, Sampled};
use provi::expectation::Moments;
use provi::gaussian::Factor;
use provi::optimize::{Composite, Moved, Operator, Progress, minimise};
use provi::step::{ProjSymmetric, ProjTriangular, Prox};
use provi::target::{Evaluator, Family, GaussianTarget, Glm, Prior, hierarchical_logistic};
use provi::{Average, Design, Gaussian, Matrix, Method, Schedule, Symmetric, Target, Triangular};
use std::ops::ControlFlow;

/// The standard errors that a two-sided statistical check allows: a false alarm has probability 2e-9, and the
/// suite makes fewer than 5000 such checks, so together they stay below its budget of 1e-5.
pub(crate) const SIGMAS: f64 = 6.0;

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

/// The factor spaces of the kit, with q carried over by plain algebra.
pub(crate) trait Space: provi_testkit::space::Space {
    /// q in this space.
    fn of(q: &Gaussian<Triangular>) -> Gaussian<Self> {
        let sigma = q.covariance();
        let factor = if Self::SYMMETRIC { spectral(&sigma, |x| x.sqrt()) } else { cholesky(&sigma) };
        Gaussian::new(q.mean(), &pack(&factor)).unwrap()
    }
}

impl<F: provi_testkit::space::Space> Space for F {}

/// −∇² log p at z.
pub(crate) fn hessian(target: &dyn Target, z: &[f64]) -> Matrix {
    provi_testkit::space::hessian(target, z).unwrap()
}

/// E V, E ∇V, E ∇²V under q.
pub(crate) fn moments<F: Factor>(target: &dyn Target, q: &Gaussian<F>) -> Moments {
    provi_testkit::space::moments(target, q).unwrap()
}

/// ∇l (or ∇f, `with_entropy`) on the factor's space, flat.
pub(crate) fn gradient<F: Space>(target: &dyn Target, q: &Gaussian<F>, with_entropy: bool) -> Vec<f64> {
    provi_testkit::space::gradient(target, q, with_entropy).unwrap()
}

/// f(w) with every constant.
pub(crate) fn objective<F: Factor>(target: &dyn Target, q: &Gaussian<F>) -> f64 {
    provi_testkit::space::objective(target, q).unwrap()
}

/// One draw of an estimator written out from its formula, before the projection on the factor's space.
pub(crate) fn raw_gradient<F: Factor>(
    kind: Kind,
    target: &dyn Target,
    q: &Gaussian<F>,
    u: &[f64],
) -> (Vec<f64>, Matrix) {
    provi_testkit::cubature::raw_gradient(kind, target, q, u).unwrap()
}

/// E φ(u), u ~ N(0, I), by the tensor product of a rule.
pub(crate) fn cubature(d: usize, rule: &[(f64, f64)], mut phi: impl FnMut(&[f64]) -> f64) -> f64 {
    provi_testkit::cubature::cubature(d, rule, |u| Ok(phi(u))).unwrap()
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

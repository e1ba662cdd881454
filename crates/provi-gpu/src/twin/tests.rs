use super::functions::{add, exp_negative, exp_one, ln_one, potential};
use crate::{
    Family, FormWeights, Forms, Normal, Rule, Table,
    family::Kind,
    rounding::{self, Sizes},
    twin,
};

/// `count` numbers in (−1, 1), the same for the same seed.
fn numbers(seed: u64, count: usize) -> Vec<f64> {
    let mut x = vec![0.0; count];
    provi_kernels::uniforms(seed, 0, 0, &mut x);
    x.iter().map(|u| 2.0 * u - 1.0).collect()
}

const FAMILIES: [Family; 7] = [
    Family::Logistic,
    Family::Binomial,
    Family::Probit,
    Family::Poisson,
    Family::Gamma { shape: 2.3 },
    Family::Cloglog,
    Family::Gaussian { precision: 1.7 },
];

struct Problem {
    family: Family,
    columns: usize,
    design: Vec<f64>,
    response: Vec<f64>,
    weights: Option<Vec<f64>>,
    offsets: Option<Vec<f64>>,
}

impl Problem {
    fn new(family: Family, rows: usize, columns: usize, weighted: bool) -> Self {
        let response = match family {
            Family::Logistic | Family::Probit => (0..rows).map(|n| f64::from(u8::from(n % 3 == 1))).collect(),
            _ => numbers(2, rows).iter().map(|x| x.abs()).collect(),
        };
        Self {
            family,
            columns,
            design: numbers(1, rows * columns),
            response,
            weights: weighted.then(|| numbers(3, rows).iter().map(|w| 2.0 * w.abs()).collect()),
            offsets: weighted.then(|| numbers(4, rows)),
        }
    }

    fn table(&self) -> Table<'_> {
        Table {
            family: self.family,
            columns: self.columns,
            design: &self.design,
            response: &self.response,
            weights: self.weights.as_deref(),
            offsets: self.offsets.as_deref(),
        }
    }
}

/// The sum of all terms to twice the precision, by Knuth's error of an addition and the fused error of a product.
#[derive(Clone, Copy, Default)]
struct Twice(f64, f64);

impl Twice {
    fn add(self, x: f64) -> Self {
        let sum = self.0 + x;
        let back = sum - self.0;
        Twice(sum, self.1 + ((self.0 - (sum - back)) + (x - back)))
    }

    fn add_product(self, a: f64, b: f64) -> Self {
        let product = a * b;
        let sum = self.add(product);
        Twice(sum.0, sum.1 + a.mul_add(b, -product))
    }

    fn minus(self, x: f64) -> f64 {
        (self.0 - x) + self.1
    }
}

/// `provi_kernels::loss` of the same rows at one point: the energy and the slopes.
fn by_kernels(table: &Table<'_>, point: &[f64]) -> (f64, Vec<f64>) {
    use provi_kernels::loss;
    let weights = table.weights.map_or_else(|| vec![1.0; table.response.len()], <[f64]>::to_vec);
    let mut energy = [0.0];
    let mut slopes: Vec<f64> = (0..table.response.len())
        .map(|n| {
            let row = &table.design[n * table.columns..][..table.columns];
            let offset = table.offsets.map_or(0.0, |o| o[n]);
            provi_kernels::dot(row, point) + offset
        })
        .collect();
    for (from, part) in slopes.chunks_mut(loss::MOST_ROWS / 8 * 8).enumerate() {
        let rows = from * (loss::MOST_ROWS / 8 * 8)..;
        let (y, w) = (&table.response[rows.clone()][..part.len()], &weights[rows][..part.len()]);
        let mut room = vec![0.0; loss::SPARE];
        let mut slots = loss::Slots::new(1, &mut room);
        match table.family {
            Family::Logistic => loss::logistic(y, w, part, &mut slots),
            Family::Binomial => loss::binomial(y, w, part, &mut slots),
            Family::Probit => loss::probit(y, w, part, &mut slots),
            Family::Poisson => loss::poisson(y, w, part, &mut slots),
            Family::Gamma { shape } => loss::gamma(shape, y, w, part, &mut slots),
            Family::Cloglog => loss::cloglog(y, w, part, &mut slots),
            Family::Gaussian { precision } => loss::gaussian(precision, y, w, part, &mut slots),
        }
        slots.finish(&mut energy);
    }
    (energy[0], slopes)
}

#[test]
fn energies_and_gradients_are_those_of_the_kernels() {
    for family in FAMILIES {
        for (rows, columns, weighted) in
            [(1, 1, false), (64, 3, true), (65, 4, false), (700, 9, true), (5000, 5, false)]
        {
            let problem = Problem::new(family, rows, columns, weighted);
            let table = problem.table();
            let points: Vec<f64> = numbers(7, 3 * columns).iter().map(|x| 2.0 * x).collect();
            let (energies, gradients) = twin::energies_and_gradients(&table, &points).unwrap();
            assert_eq!(twin::energies(&table, &points).unwrap(), energies);
            for (k, point) in points.chunks_exact(columns).enumerate() {
                let (energy, slopes) = by_kernels(&table, point);
                let room = 1e-13 * (1.0 + energy.abs() + rows as f64);
                assert!((energies[k] - energy).abs() <= room, "{family:?} {rows}: {} {energy}", energies[k]);
                for j in 0..columns {
                    let sum: f64 = (0..rows).map(|n| slopes[n] * problem.design[n * columns + j]).sum();
                    let size: f64 =
                        (0..rows).map(|n| (slopes[n] * problem.design[n * columns + j]).abs()).sum();
                    let found = gradients[k * columns + j];
                    assert!(
                        (found - sum).abs() <= 1e-13 * (1.0 + size),
                        "{family:?} {rows} {j}: {found} {sum}"
                    );
                }
            }
        }
    }
}

/// The slope of a number is the difference of the next: a wrong derivative would not pass.
#[test]
fn each_derivative_is_the_slope_of_the_one_before() {
    for (i, kind) in Kind::ALL.into_iter().enumerate() {
        let codes: &[f64] = match kind {
            Kind::Logistic | Kind::LogisticWeighted | Kind::Probit => &[-1.0, 1.0],
            _ => &[0.0, 0.4, 1.0],
        };
        for &code in codes {
            for s in numbers(20 + i as u64, 200).iter().map(|x| 6.0 * x) {
                let (h, at) = (1e-5, potential(kind, s, code, 1.3));
                let (below, above) = (potential(kind, s - h, code, 1.3), potential(kind, s + h, code, 1.3));
                for order in 0..2 {
                    let slope = (above[order] - below[order]) / (2.0 * h);
                    let room = 1e-6 * (1.0 + at[0].abs() + at[1].abs() + at[2].abs());
                    assert!((slope - at[order + 1]).abs() < room, "{kind:?} {code} {s} {order}");
                }
                let mut slot = [0.25, 1.0];
                let slope = add(kind, s, [code, 0.7], 1.3, &mut slot);
                let weight = if kind == Kind::Logistic { 1.0 } else { 0.7 };
                let value = slot[0] + if kind == Kind::Logistic { ln_one(slot[1]) } else { 0.0 };
                assert!((value - (0.25 + weight * at[0])).abs() <= 1e-14 * (1.0 + at[0].abs()));
                assert!((slope - weight * at[1]).abs() <= 1e-15 * (1.0 + at[1].abs()));
            }
        }
    }
}

#[test]
fn functions_are_within_their_stated_errors() {
    let points: Vec<f64> = numbers(5, 20_000).iter().map(|x| 720.0 * x.powi(3)).collect();
    let mut by_kernel = vec![0.0; points.len()];
    provi_kernels::link::exp(&points, &mut by_kernel);
    let (mut softplus, mut sigmoid) = (by_kernel.clone(), by_kernel.clone());
    provi_kernels::link::logistic(&points, &mut softplus, &mut sigmoid);
    for (i, &s) in points.iter().enumerate() {
        let room = |truth: f64, units: f64| units * rounding::UNIT * truth.abs() + 1e-307;
        // The kernel's own error of 2 ulp, of 4 ulp for the softplus, comes on top.
        let exp = by_kernel[i];
        assert!((exp_one(s) - exp).abs() <= room(exp, 6.0) || exp_one(s).to_bits() == exp.to_bits(), "{s}");
        assert!((exp_negative(s) - exp_one(-s.abs())).abs() < 4e-308, "{s}");
        let [value, first, _] = potential(Kind::LogisticWeighted, s, 1.0, 0.0);
        assert!((value - softplus[i]).abs() <= room(softplus[i], 10.0), "{s}");
        assert!((first - sigmoid[i]).abs() <= room(sigmoid[i], 12.0), "{s}");
        let [value, first, second] = potential(Kind::Cloglog, s / 8.0, 1.0, 0.0);
        let truth = provi_kernels::cloglog_success(s / 8.0);
        for (found, truth) in [value, first, second].into_iter().zip(truth) {
            assert!(
                (found - truth).abs() <= 2e-14 * (truth.abs() + 1e-15),
                "{} {found:e} {truth:e}",
                s / 8.0
            );
        }
        let x = 1.0 + points[i].abs() * 1e100;
        assert!((ln_one(x) - x.ln()).abs() <= 6.0 * rounding::UNIT * x.ln().abs() + 1e-300);
    }
    assert_eq!(exp_negative(f64::NAN).to_bits(), exp_negative(708.0).to_bits());
    let mut slot = [0.0, 1.0];
    add(Kind::Logistic, f64::NAN, [-1.0, 1.0], 0.0, &mut slot);
    assert!(slot[0].is_nan(), "a NaN stays a NaN");
}

/// The bound of `rounding` against the same energies with predictors, terms and sums in twice the precision. φ itself comes
/// from the twin at the rounded exact predictor, within ε_φ and one rounding of s.
#[test]
fn the_bound_holds_and_is_not_vacuous() {
    for (family, rows, columns) in [
        (Family::Logistic, 3000, 7),
        (Family::Logistic, 70_000, 2),
        (Family::Binomial, 3000, 7),
        (Family::Gaussian { precision: 1.7 }, 40_000, 3),
    ] {
        let problem = Problem::new(family, rows, columns, family != Family::Logistic);
        let table = problem.table();
        let kind = if family == Family::Logistic { Kind::LogisticWeighted } else { table.kind() };
        let point: Vec<f64> = numbers(9, columns).iter().map(|x| 20.0 * x).collect();
        let (mut exact, mut sizes) = (Twice::default(), Sizes { terms: 0.0, predictors: 0.0, slope: 1.0 });
        for n in 0..rows {
            let [offset, code, weight] = table.numbers(kind, n);
            let row = twin::row(&table, n);
            let s =
                row.iter().zip(&point).fold(Twice::default().add(offset), |s, (x, z)| s.add_product(*x, *z));
            let s = s.0 + s.1;
            let [value, slope, _] = potential(kind, s, code, family.parameter());
            exact = exact.add_product(weight, value);
            let line = if family == Family::Binomial { 2.0 * (code * s).abs() } else { 0.0 };
            sizes.terms += weight * (value.abs() + line);
            sizes.slope = sizes.slope.max(slope.abs());
            sizes.predictors +=
                weight * (offset.abs() + row.iter().zip(&point).map(|(x, z)| (x * z).abs()).sum::<f64>());
        }
        let bound = rounding::energy(family, table.shape(), sizes);
        let found = twin::energies(&table, &point).unwrap()[0];
        let error = exact.minus(found).abs();
        assert!(error <= bound, "{family:?}: {error:e} > {bound:e}");
        assert!(bound <= 1e-11 * sizes.terms.max(sizes.predictors), "{family:?}: {bound:e}");
        // Planted: predictors in single precision, one term left out, another order's longest chain forgotten.
        let single: Vec<f64> = point.iter().map(|&z| f64::from(z as f32)).collect();
        let planted = twin::energies(&table, &single).unwrap()[0];
        assert!(exact.minus(planted).abs() > bound, "{family:?}");
    }
}

/// Gram matrices of stripes against sums in twice the precision: γ_h of the sum of the sizes of the terms, h = gram_chain.
#[test]
fn gram_matrices_are_within_their_chain() {
    let (rows, columns) = (20_000, 3);
    let problem = Problem::new(Family::Logistic, rows, columns, false);
    let table = problem.table();
    let values: Vec<f64> = numbers(21, rows - 100).iter().map(|v| 1.0 + v).collect();
    let found = twin::gram(&table, 100, &values).unwrap();
    let chain = rounding::gamma(table.shape().gram_chain());
    for i in 0..columns {
        for j in 0..columns {
            let (mut exact, mut size) = (Twice::default(), 0.0);
            for (n, v) in values.iter().enumerate() {
                let row = twin::row(&table, 100 + n);
                let product = row[i] * v;
                // v·x is rounded once; what that loses is a product of its own.
                exact = exact.add_product(product, row[j]).add_product(row[i].mul_add(*v, -product), row[j]);
                size += (row[i] * v * row[j]).abs();
            }
            let error = exact.minus(found[i * columns + j]).abs();
            assert!(error <= chain * size, "{error:e} {size}");
            assert_eq!(found[i * columns + j].to_bits(), found[j * columns + i].to_bits());
        }
    }
    // A weight that is left out is seen.
    let mut planted = values.clone();
    planted[7] = 0.0;
    let other = twin::gram(&table, 100, &planted).unwrap();
    assert!((other[0] - found[0]).abs() > chain * found[0]);
    assert!(twin::gram(&table, 101, &values).is_err() && twin::gram(&table, 0, &[]).is_err());
}

/// Forms where a Gaussian is standard against their definition, term by term in any order of the sums; a part of the rows.
#[test]
fn forms_are_those_of_their_definition() {
    let (rows, columns, first) = (5000, 3, 70);
    let problem = Problem::new(Family::Logistic, rows, columns, false);
    let table = problem.table();
    let factor = [1.1, -0.3, 0.8, 0.2, 0.4, 1.7];
    let count = rows - first - 9;
    let (third, one, two) = (numbers(31, count), numbers(32, count), numbers(33, count));
    let [one, two] = [one, two].map(|v| v.iter().map(|v| 1.0 + v).collect::<Vec<_>>());
    let weights = FormWeights { third: &third, quadratic: vec![&one, &two], quartic: vec![&two] };
    let found = twin::forms(&table, first, &factor, &weights).unwrap();
    let mut truth = Forms::zeros(columns, &weights);
    let mut size = 0.0;
    for n in 0..count {
        let x = twin::row(&table, first + n);
        let entry = |j: usize| (j..3).map(|i| x[i] * factor[i * (i + 1) / 2 + j]).sum::<f64>();
        let b = [entry(0), entry(1), entry(2)];
        let r = std::f64::consts::SQRT_2;
        let s = [b[0] * b[0], r * b[1] * b[0], b[1] * b[1], r * b[2] * b[0], r * b[2] * b[1], b[2] * b[2]];
        let add = |to: &mut [f64], v: f64, left: &[f64], right: &[f64]| {
            for (to, x) in to.chunks_exact_mut(right.len()).zip(left) {
                to.iter_mut().zip(right).for_each(|(to, y)| *to += v * x * y);
            }
        };
        add(&mut truth.third, third[n], &b, &s);
        add(&mut truth.quadratic[0], one[n], &b, &b);
        add(&mut truth.quadratic[1], two[n], &b, &b);
        add(&mut truth.quartic[0], two[n], &s, &s);
        let square = b.iter().map(|b| b * b).sum::<f64>();
        size += 2.0 * (square + square * square);
    }
    let all = |forms: &Forms| {
        let parts = forms.quadratic.iter().chain(&forms.quartic).flatten();
        forms.third.iter().chain(parts).copied().collect::<Vec<_>>()
    };
    let (found, truth) = (all(&found), all(&truth));
    let bound = rounding::gamma(count + 16) * size;
    assert!(found.iter().zip(&truth).all(|(a, b)| (a - b).abs() <= bound), "{bound}");
    // Far from what one row adds.
    assert!(bound < 1e-6);
    let short = FormWeights { third: &third, quadratic: vec![&one[1..]], quartic: Vec::new() };
    assert!(twin::forms(&table, first, &factor, &short).is_err());
    assert!(twin::forms(&table, 80, &factor, &weights).is_err());
    assert!(twin::forms(&table, first, &factor[1..], &weights).is_err());
}

/// Sums alone: terms of one size, whose rounding errors pile up along the chain. γ_h holds, h = value_chain; the γ of a chain of
/// log₂ N additions does not.
#[test]
fn the_chain_is_as_long_as_stated() {
    let rows = 1 << 17;
    let problem = Problem {
        family: Family::Gaussian { precision: 2.0 },
        columns: 1,
        design: vec![1.0; rows],
        response: vec![0.1f64.sqrt(); rows],
        weights: None,
        offsets: None,
    };
    let table = problem.table();
    let found = twin::energies(&table, &[0.0]).unwrap()[0];
    let term = potential(Kind::Gaussian, 0.0, 0.1f64.sqrt(), 2.0)[0];
    let exact = (0..rows).fold(Twice::default(), |sum, _| sum.add(term));
    let error = exact.minus(found).abs();
    assert!(error <= rounding::gamma(table.shape().value_chain()) * exact.0, "{error:e}");
    assert!(error > 0.0, "the terms are chosen to round");
}

#[test]
fn draws_have_the_bits_of_the_kernels_normals() {
    let (mean, factor) = ([0.5, -1.0, 2.0], [1.0, 0.5, 2.0, 0.25, -0.5, 1.5]);
    let q = Normal { mean: &mean, factor: &factor };
    let z = twin::draws(&q, 7, 3, u32::MAX, 2).unwrap();
    for (k, draw) in [u32::MAX, 0].into_iter().enumerate() {
        let mut u = [0.0; 3];
        provi_kernels::normals(7, 3, draw, &mut u);
        assert_eq!(z[3 * k].to_bits(), u[0].mul_add(1.0, 0.5).to_bits());
        assert!((z[3 * k + 2] - (2.0 + 0.25 * u[0] - 0.5 * u[1] + 1.5 * u[2])).abs() < 1e-14);
    }
}

/// Five Gauss–Hermite nodes are enough to compare sums; three more rules show which one a row takes.
fn rules() -> [Rule<'static>; 2] {
    const SQRT_3: f64 = 1.732_050_807_568_877_2;
    [
        Rule { widest: 1.0, nodes: &[-SQRT_3, 0.0, SQRT_3], weights: &[1.0 / 6.0, 2.0 / 3.0, 1.0 / 6.0] },
        Rule { widest: f64::INFINITY, nodes: &[-1.0, 1.0], weights: &[0.5, 0.5] },
    ]
}

#[test]
fn expectations_are_those_of_the_kernels() {
    for family in FAMILIES {
        for (rows, columns, weighted) in [(1, 1, true), (300, 5, false), (5000, 3, true), (70, 140, true)] {
            let problem = Problem::new(family, rows, columns, weighted);
            let table = problem.table();
            let mean = numbers(11, columns);
            let factor: Vec<f64> = numbers(12, columns * (columns + 1) / 2).iter().map(|x| 0.5 * x).collect();
            let q = Normal { mean: &mean, factor: &factor };
            let found = twin::expectations(&table, &q, &rules()).unwrap();
            let (mut value, mut gradient, mut hessian) =
                (0.0, vec![0.0; columns], vec![0.0; columns * columns]);
            let mut size = 1.0;
            for n in 0..rows {
                let x = twin::row(&table, n);
                let [offset, code, weight] = table.numbers(table.kind(), n);
                let mu: f64 = x.iter().zip(&mean).map(|(x, m)| x * m).sum::<f64>() + offset;
                let spread: f64 = (0..columns)
                    .map(|c| (c..columns).map(|i| factor[i * (i + 1) / 2 + c] * x[i]).sum::<f64>().powi(2))
                    .sum();
                let at = expected(family, code, mu, spread.sqrt());
                value += weight * at[0];
                size += weight * (at[0].abs() + at[1].abs() + at[2].abs());
                for i in 0..columns {
                    gradient[i] += weight * at[1] * x[i];
                    (0..columns).for_each(|j| hessian[i * columns + j] += weight * at[2] * x[i] * x[j]);
                }
            }
            let room = 1e-12 * size;
            assert!((found.value - value).abs() <= room, "{family:?} {rows}: {} {value}", found.value);
            assert!(found.gradient.iter().zip(&gradient).all(|(a, b)| (a - b).abs() <= room), "{family:?}");
            assert!(found.hessian.iter().zip(&hessian).all(|(a, b)| (a - b).abs() <= room), "{family:?}");
        }
    }
}

type Quadrature = fn(&[f64], &[f64], &[f64], &[f64], &mut [f64], &mut [f64], &mut [f64]);

/// By the kernels' quadrature for the logit and the probit link, by sums over `potential` or closed forms for the others.
fn expected(family: Family, code: f64, mu: f64, sigma: f64) -> [f64; 3] {
    let rule = rules()[usize::from(sigma > 1.0)];
    let sums = |kernel: Quadrature, sign: f64| {
        let [mut a, mut b, mut c] = [[0.0]; 3];
        kernel(&[sign * mu], &[sigma], rule.nodes, rule.weights, &mut a, &mut b, &mut c);
        [a[0], sign * b[0], c[0]]
    };
    let rate = |sign: f64| (sign * mu + 0.5 * sigma * sigma).exp();
    match family {
        Family::Logistic => sums(provi_kernels::expectation::logistic, code),
        Family::Probit => sums(provi_kernels::expectation::probit, code),
        Family::Binomial => {
            let [value, first, second] = sums(provi_kernels::expectation::logistic, 1.0);
            [value - code * mu, first - code, second]
        }
        Family::Poisson => [rate(1.0) - code * mu, rate(1.0) - code, rate(1.0)],
        Family::Gamma { shape } => {
            [shape * mu + code * rate(-1.0), shape - code * rate(-1.0), code * rate(-1.0)]
        }
        Family::Gaussian { precision } => {
            let residual = mu - code;
            [0.5 * precision * (residual * residual + sigma * sigma), precision * residual, precision]
        }
        Family::Cloglog => {
            let mut all = [0.0; 3];
            for (t, w) in rule.nodes.iter().zip(rule.weights) {
                let s = mu + sigma * t;
                let success = provi_kernels::cloglog_success(s);
                (0..3).for_each(|i| all[i] += w * (code * success[i] + (1.0 - code) * s.exp()));
            }
            all
        }
    }
}

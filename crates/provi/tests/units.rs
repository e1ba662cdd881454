//! One posterior in several units: the same certificate, whatever the columns are measured in.

use crate::common::normals;
use provi::audit::Audited;
use provi::stream::{Memory, Rows, Streamed};
use provi::target::{Evaluator, Family, Glm, Prior};
use provi::{Audit, Auto, Certificate, Design, Gaussian, Seed, Target, Triangular};

const ROWS: usize = 120;

/// t = shift + scale·x, and by how much the shift outweighs the spread: so much of ε is lost in the user's numbers.
#[derive(Clone, Copy, Debug)]
struct Unit {
    shift: f64,
    scale: f64,
}

const PLAIN: Unit = Unit { shift: 0.0, scale: 1.0 };
/// Years; seconds since 1970 over weeks and over minutes; very small and very large numbers.
const UNITS: [Unit; 7] = [
    Unit { shift: 2000.0, scale: 4.0 },
    Unit { shift: 1.6e9, scale: 1048576.0 },
    Unit { shift: 1.6e9, scale: 64.0 },
    Unit { shift: 0.0, scale: 1e-9 },
    Unit { shift: 0.0, scale: 1e9 },
    Unit { shift: -1e-3, scale: 1e-9 },
    Unit { shift: 1e100, scale: 1e98 },
];

impl Unit {
    /// What rounding in these units may move, in deviations of the posterior.
    fn lost(self) -> f64 {
        1e-8 + 1e-14 * (self.shift / self.scale).abs()
    }
}

/// x on a grid, so that t is the same number in every unit, and a second predictor without units.
fn columns() -> (Vec<f64>, Vec<f64>) {
    let x = normals(1, ROWS).iter().map(|x| (x * 64.0).round() / 64.0).collect();
    (x, normals(2, ROWS))
}

fn response(family: Family) -> Vec<f64> {
    let ((x, w), noise) = (columns(), normals(3, ROWS));
    let one = |n: usize| {
        let s = 0.3 + 0.8 * x[n] - 0.5 * w[n];
        match family {
            Family::Gaussian { .. } => s + 0.5 * noise[n],
            Family::Poisson => (s + 0.3 * noise[n]).exp().round(),
            _ => f64::from(u8::from(s + 1.5 * noise[n] > 0.0)),
        }
    };
    (0..ROWS).map(one).collect()
}

/// Intercept, t and w, stored with or without their zeros.
fn design(unit: Unit, sparse: bool) -> Design {
    let (x, w) = columns();
    let row = |n: usize| [1.0, unit.shift + unit.scale * x[n], w[n]];
    if sparse {
        let entries = |n: usize| row(n).into_iter().enumerate().map(move |(j, x)| (n, j, x));
        let triplets: Vec<_> = (0..ROWS).flat_map(entries).filter(|e| e.2.abs() > 0.0).collect();
        return Design::triplets(ROWS, 3, &triplets).unwrap();
    }
    let entries: Vec<f64> = (0..ROWS).flat_map(row).collect();
    Design::dense(ROWS, 3, &entries).unwrap()
}

/// The intercept at x = ½, 2 for the slope of x and 1.5 for that of w, whatever the unit.
fn prior(unit: Unit) -> Prior {
    let laws = [(0.2, 2.5), (0.1 / unit.scale, 2.0 / unit.scale), (0.0, 1.5)];
    Prior::centered(&laws, 0, &[1.0, unit.shift + 0.5 * unit.scale, 0.0]).unwrap()
}

fn model(family: Family, unit: Unit, sparse: bool) -> Glm {
    Glm::new(family, design(unit, sparse), &response(family), prior(unit)).unwrap()
}

const FAMILIES: [Family; 4] =
    [Family::Bernoulli, Family::Probit, Family::Poisson, Family::Gaussian { noise_sd: 0.5 }];

/// q in other units: β_t = b_x/scale, and the intercept at t = 0.
fn moved(q: &Gaussian<Triangular>, unit: Unit) -> Gaussian<Triangular> {
    let ratio = unit.shift / unit.scale;
    let map = [[1.0, -ratio, 0.0], [0.0, 1.0 / unit.scale, 0.0], [0.0, 0.0, 1.0]];
    let apply = |v: [f64; 3]| map.map(|row| (0..3).map(|k| row[k] * v[k]).sum::<f64>());
    let (m, c) = (q.mean(), q.factor_matrix());
    let mut covariance = provi::Matrix::zeros(3, 3);
    let images: Vec<[f64; 3]> = (0..3).map(|l| apply([c[(0, l)], c[(1, l)], c[(2, l)]])).collect();
    for i in 0..3 {
        for j in 0..3 {
            covariance[(i, j)] = images.iter().map(|v| v[i] * v[j]).sum();
        }
    }
    Gaussian::from_covariance(&apply([m[0], m[1], m[2]]), covariance).unwrap()
}

/// The statements of two certificates of one posterior agree to `lost`, those of the slope of t each in its own unit.
fn agree(what: &str, (a, own): (&Certificate, Unit), (b, unit): (&Certificate, Unit), lost: f64) {
    let near = |name: &str, x: Option<f64>, y: Option<f64>, least: f64| {
        let (Some(x), Some(y)) = (x, y) else { panic!("{what}, {unit:?}: {name} {x:?} and {y:?}") };
        assert!(
            (x - y).abs() <= lost * (x.abs() + y.abs()) + least,
            "{what}, {unit:?}: {name} {x:e} and {y:e}"
        );
    };
    // Below a hundred millionth of a nat rounding speaks, and it may speak differently.
    near("KL", a.kl.bound(), b.kl.bound(), 1e-10);
    near("TV", a.tv.bound(), b.tv.bound(), 1e-5);
    near("gap", a.gap.bound(), b.gap.bound(), 1e-10 + lost * lost);
    near("evidence", a.evidence.lower(), b.evidence.lower(), 1e-8);
    near("evidence", a.evidence.upper(), b.evidence.upper(), 1e-8);
    assert_eq!(a.kl.key(), b.kl.key(), "{what}, {unit:?}");
    for (i, scales) in [(1, [own.scale, unit.scale]), (2, [1.0; 2])] {
        let bound = |c: &Certificate, scale: f64| c.moments[i].mean_error.bound().map(|x| x * scale);
        near("mean", bound(a, scales[0]), bound(b, scales[1]), 1e-7);
        let bound = |c: &Certificate, scale: f64| c.moments[i].sd_error.bound().map(|x| x * scale);
        near("sd", bound(a, scales[0]), bound(b, scales[1]), 1e-7);
    }
}

/// Bounds of the predictor at a time: a functional in which the user's numbers cancel.
fn at(audited: &Audited, unit: Unit, x: f64) -> [f64; 2] {
    let v = [1.0, unit.shift + unit.scale * x, 0.3];
    audited.functional(&v).unwrap().map(|s| s.bound().unwrap())
}

#[test]
fn a_fit_has_the_same_certificate_in_every_unit() {
    for family in FAMILIES {
        let run = |unit| Auto::default().run(&model(family, unit, false), Seed(5)).unwrap();
        let plain = run(PLAIN);
        for unit in UNITS {
            let other = run(unit);
            let lost = unit.lost();
            let both = [&plain, &other].map(|run| run.certificate());
            agree(family.name(), (both[0], PLAIN), (both[1], unit), lost);
            let (own, theirs) = (&plain.fit.gaussian, &other.fit.gaussian);
            let sd = own.standard_deviations();
            for i in 1..3 {
                let scale = if i == 1 { unit.scale } else { 1.0 };
                let away = (theirs.mean()[i] * scale - own.mean()[i]).abs() / sd[i];
                assert!(away <= 1e-5 + lost, "{family:?}, {unit:?}: {away:e}");
                let wider = theirs.standard_deviations()[i] * scale / sd[i];
                assert!((wider - 1.0).abs() <= 1e-5 + lost, "{family:?}, {unit:?}: {wider}");
            }
            for x in [0.0, 0.75] {
                for (a, b) in at(&plain.audited, PLAIN, x).into_iter().zip(at(&other.audited, unit, x)) {
                    assert!((a - b).abs() <= lost * (a + b) + 1e-7, "{family:?}, {unit:?}: {a:e} {b:e}");
                }
            }
            // What is kept for functionals thought of later says the same, a little more widely.
            let kept = other.audited.moment_bounds().unwrap();
            let v = [0.0, unit.scale, 0.0];
            let [now, later] = [other.audited.functional(&v).unwrap(), kept.functional(theirs, &v).unwrap()];
            for (now, later) in now.iter().zip(&later) {
                // What was measured for one coefficient alone is not kept.
                let is_kept = !now
                    .key()
                    .is_some_and(|key| ["sharp-moments", "psi-moments", "group-moments"].contains(&key));
                let (now, later) = (now.bound().unwrap(), later.bound().unwrap());
                assert!(
                    later >= now * (1.0 - 1e-9) && (!is_kept || later <= now * 1.001 + 1e-7),
                    "{now:e} {later:e}"
                );
            }
        }
    }
}

#[test]
fn somebody_elses_gaussian_has_the_same_certificate_in_every_unit() {
    let family = Family::Bernoulli;
    let best = Auto::default().run(&model(family, PLAIN, false), Seed(5)).unwrap().fit.gaussian;
    // Away from the best one, so that the bounds say something.
    let mean: Vec<f64> =
        best.mean().iter().zip(best.standard_deviations()).map(|(m, s)| m + 0.2 * s).collect();
    let q = Gaussian::<Triangular>::new(&mean, best.factor()).unwrap();
    let audit = |unit: Unit, q: &Gaussian<Triangular>| {
        Audit::default().run(&model(family, unit, false), q, Seed(3)).unwrap().certificate().clone()
    };
    let plain = audit(PLAIN, &q);
    for unit in UNITS.into_iter().filter(|unit| (unit.shift / unit.scale).abs() < 1e4) {
        agree("given", (&plain, PLAIN), (&audit(unit, &moved(&q, unit)), unit), 1e-6);
    }
}

#[test]
fn sparse_and_streamed_rows_have_the_certificate_of_dense_ones() {
    for family in [Family::Bernoulli, Family::Poisson] {
        for unit in [PLAIN, UNITS[1], UNITS[4]] {
            let run = |model: &dyn Target| {
                Auto::default().run(Evaluator::Serial(model), Seed(5)).unwrap().audited.certificate().clone()
            };
            let dense = run(&model(family, unit, false));
            agree("sparse", (&run(&model(family, unit, true)), unit), (&dense, unit), unit.lost());
            let y = response(family);
            let block = |range: std::ops::Range<usize>| {
                let rows: Vec<usize> = range.clone().collect();
                Rows::new(family, design(unit, false).select(&rows).unwrap(), &y[range]).unwrap()
            };
            let source = Memory::new(3, vec![block(0..50), block(50..51), block(51..ROWS)]).unwrap();
            let streamed = Streamed::new(family, source, prior(unit)).unwrap();
            agree("streamed", (&run(&streamed), unit), (&dense, unit), unit.lost());
        }
    }
}

/// A prior in the user's own units is another prior in each of them: there is no posterior to compare, but an answer.
#[test]
fn a_prior_in_the_users_own_units_is_still_certified() {
    for unit in [PLAIN, UNITS[0], UNITS[3], UNITS[4]] {
        for family in FAMILIES {
            let model = model(family, unit, false).with_prior(Prior::scale(2.5).unwrap()).unwrap();
            let found = Auto::default().run(&model, Seed(5)).unwrap().certificate().clone();
            assert!(found.kl.bound().is_some_and(|kl| kl < 0.3), "{family:?}, {unit:?}: {:?}", found.kl);
        }
    }
}

/// Counts whose sums leave no digit for the terms of a likelihood that cancel: the posterior is narrow, and is found.
#[test]
fn huge_counts_are_fitted() {
    let (x, _) = columns();
    for size in [1e10, 1e12, 1e15] {
        let y: Vec<f64> = x.iter().map(|x| (size * (0.1 * x).exp()).round()).collect();
        let entries: Vec<f64> = x.iter().flat_map(|x| [1.0, *x]).collect();
        for prior in [Prior::scale(2.5).unwrap(), Prior::scale(100.0).unwrap()] {
            let model = Glm::poisson(Design::dense(ROWS, 2, &entries).unwrap(), &y, prior).unwrap();
            let found = Auto::default().run(&model, Seed(1)).unwrap();
            let mean = found.fit.gaussian.mean();
            assert!((mean[0] - size.ln()).abs() < 1e-6 && (mean[1] - 0.1).abs() < 1e-6, "{size:e}: {mean:?}");
            let sd = found.fit.gaussian.standard_deviations()[0];
            assert!((sd * (size * ROWS as f64).sqrt() - 1.0).abs() < 0.2, "{size:e}: {sd:e}");
            let kl = &found.certificate().kl;
            assert!(kl.bound().is_some_and(|kl| kl < 1e-3), "{size:e}: {kl:?}");
        }
    }
}

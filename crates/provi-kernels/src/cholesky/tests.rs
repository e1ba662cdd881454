use super::*;
use crate::check::{SIZES, agree, each_level, numbers};
use proptest::prelude::*;

fn at(i: usize, j: usize) -> usize {
    i.max(j) * (i.max(j) + 1) / 2 + i.min(j)
}

/// QDQ with Q = I − 2vvᵀ/‖v‖² a reflection and D from `least` to 1 in equal ratios, packed.
fn positive(seed: u64, d: usize, least: f64) -> Vec<f64> {
    let v = numbers(seed, d);
    let square: f64 = v.iter().map(|x| x * x).sum();
    let q = |i: usize, j: usize| if i == j { 1.0 } else { 0.0 } - 2.0 * v[i] * v[j] / square;
    let value = |k: usize| least.powf(k as f64 / (d.max(2) - 1) as f64);
    let mut packed = Vec::new();
    for i in 0..d {
        packed.extend((0..=i).map(|j| (0..d).map(|k| q(i, k) * value(k) * q(k, j)).sum::<f64>()));
    }
    packed
}

/// ‖CX − I‖ entry by entry at most, |WᵀW − C| likewise, and |GW − I|.
fn residuals(d: usize, c: &[f64], shift: f64) -> [f64; 3] {
    let mut cholesky = Cholesky::new(d);
    cholesky.factor(c, shift).unwrap();
    let [mut w, mut x, mut g] = [(); 3].map(|()| vec![f64::NAN; c.len()]);
    cholesky.write(&mut w);
    cholesky.write_inverse(&mut g);
    cholesky.invert(&mut x);
    let shifted = |i: usize, j: usize| c[at(i, j)] - if i == j { shift } else { 0.0 };
    let mut worst = [0.0f64; 3];
    for i in 0..d {
        for j in 0..d {
            let one = if i == j { 1.0 } else { 0.0 };
            let product: f64 = (0..d).map(|k| shifted(i, k) * x[at(k, j)]).sum();
            let square: f64 = (i.max(j)..d).map(|k| w[at(k, i)] * w[at(k, j)]).sum();
            let own: f64 = (j..=i).map(|k| g[at(i, k)] * w[at(k, j)]).sum();
            let own = if j <= i { (own - one).abs() } else { 0.0 };
            let off = [(product - one).abs(), (square - shifted(i, j)).abs(), own];
            worst = [0, 1, 2].map(|n| if off[n] <= worst[n] { worst[n] } else { off[n] });
        }
    }
    worst
}

#[test]
fn the_inverse_is_one_up_to_the_condition_number() {
    each_level(|| {
        for d in SIZES.into_iter().filter(|d| *d > 0).chain([50, 127]) {
            for least in [0.5, 1e-3, 1e-8, 1e-12] {
                let c = positive(d as u64, d, least);
                let scale = f64::EPSILON * (d as f64).sqrt();
                for shift in [0.0, 0.9 * if d == 1 { 1.0 } else { least }] {
                    let [inverse, square, own] = residuals(d, &c, shift);
                    assert!(square <= 8.0 * scale, "d = {d}: {square:e}");
                    assert!(own <= 80.0 * scale / least.sqrt(), "d = {d}, λ = {least:e}: {own:e}");
                    assert!(inverse <= 80.0 * scale / least, "d = {d}, λ = {least:e}: {inverse:e}");
                }
            }
        }
    });
}

#[test]
fn every_level_agrees_with_the_twins() {
    for d in SIZES {
        let c = positive(d as u64, d, 0.1);
        agree(1e-14, || {
            let mut cholesky = Cholesky::new(d);
            cholesky.factor(&c, 0.01).unwrap();
            let [mut w, mut x, mut g] = [(); 3].map(|()| c.clone());
            cholesky.write(&mut w);
            cholesky.invert(&mut x);
            cholesky.write_inverse(&mut g);
            [w, x, g].concat()
        });
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn any_size_is_inverted(seed in 0u64..1000, d in 1usize..90, power in 0i32..10) {
        let least = 10f64.powi(-power);
        let [inverse, square, own] = residuals(d, &positive(seed, d, least), 0.0);
        let scale = f64::EPSILON * (d as f64).sqrt();
        prop_assert!(square <= 8.0 * scale && inverse <= 80.0 * scale / least, "{square:e} {inverse:e}");
        prop_assert!(own <= 80.0 * scale / least.sqrt(), "{own:e}");
    }
}

#[test]
fn what_is_not_positive_definite_is_refused_and_leaves_no_trace() {
    each_level(|| {
        for d in SIZES.into_iter().filter(|d| *d > 1) {
            let c = positive(d as u64, d, 0.1);
            let mut cholesky = Cholesky::new(d);
            assert!(cholesky.factor(&c, 0.1 * (1.0 + 1e-9)).is_err(), "d = {d}");
            assert!(cholesky.factor(&c, 2.0).is_err());
            for (bad, row) in [(f64::NAN, 0), (f64::INFINITY, d / 2), (-1.0, d - 1), (0.0, d / 2)] {
                let mut identity = vec![0.0; c.len()];
                (0..d).for_each(|i| identity[at(i, i)] = 1.0);
                identity[at(row, row)] = bad;
                assert_eq!(cholesky.factor(&identity, 0.0), Err(row), "d = {d}, {bad}");
            }
            let again = |cholesky: &mut Cholesky| {
                let mut x = vec![0.0; c.len()];
                cholesky.factor(&c, 0.0).unwrap();
                cholesky.invert(&mut x);
                x.into_iter().map(f64::to_bits).collect::<Vec<_>>()
            };
            assert_eq!(again(&mut cholesky), again(&mut Cholesky::new(d)));
        }
    });
}

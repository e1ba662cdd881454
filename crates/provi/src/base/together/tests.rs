#![allow(clippy::float_cmp)] // opposite numbers have the same bits

use super::*;
use crate::base::base_law::BaseLaw;
use crate::base::draws::{Purpose, Seed};
use crate::base::special::normal_cdf;

const LAWS: [BaseLaw; 4] = [BaseLaw::Gaussian, BaseLaw::Laplace, BaseLaw::Logistic, BaseLaw::Uniform];

fn stream(coupling: Coupling, law: BaseLaw) -> Draws {
    Draws::new(Seed(41), Purpose::Optimise).of(law).coupled(coupling)
}

fn steps(coupling: Coupling, law: BaseLaw, dim: usize, batch: usize, count: u64) -> Vec<Vec<f64>> {
    let mut together = Together::new(stream(coupling, law), dim, batch).unwrap();
    let mut out = vec![0.0; dim * batch];
    (0..count)
        .map(|step| {
            together.fill(step, &mut out);
            out.clone()
        })
        .collect()
}

#[test]
fn names_round_trip_and_independent_draws_have_the_bits_of_single_ones() {
    for (name, coupling) in Coupling::named() {
        assert_eq!((name.parse::<Coupling>().unwrap(), coupling.to_string().as_str()), (coupling, name));
        assert_eq!(coupling.named_if_any().is_none(), coupling == Coupling::Independent);
    }
    assert!("halton".parse::<Coupling>().is_err());
    let together = &steps(Coupling::Independent, BaseLaw::Gaussian, 3, 4, 6)[5];
    for (k, u) in together.chunks_exact(3).enumerate() {
        let mut alone = [0.0; 3];
        stream(Coupling::Independent, BaseLaw::Gaussian).fill(5, k as u32, &mut alone);
        assert!(u.iter().zip(alone).all(|(a, b)| a.to_bits() == b.to_bits()));
    }
}

#[test]
fn quantiles_are_the_inverses_of_the_distributions() {
    for law in LAWS {
        for k in 1..400 {
            let p = f64::from(k) / 400.0;
            let u = law.quantile(p);
            assert!(
                (law.distribution(u) - p).abs() < 1e-15 + 4e-15 * p,
                "{law} {p}: {}",
                law.distribution(u)
            );
            assert!((law.quantile(1.0 - p) + u).abs() < 1e-13, "{law} {p}");
        }
        assert!([0.0, 1.0].iter().all(|&p| law.quantile(p).is_finite() && law.quantile(p).abs() < 40.0));
    }
    // The error of the normal quantile is that of a root of log Φ: in the far tail too.
    for tail in [2e-16, 1e-12, 1e-6, 1e-3, 0.3] {
        let u = BaseLaw::Gaussian.quantile(tail);
        assert!((normal_cdf(u) / tail - 1.0).abs() < 1e-13, "{tail}");
    }
    let student = BaseLaw::student_t(8.0).unwrap();
    assert!(Together::new(stream(Coupling::Latin, student), 2, 4).is_err());
    assert!(Together::new(stream(Coupling::Antithetic, student), 2, 4).is_ok());
}

/// √n·sup|F_n − F| of every third draw: those of a step depend on each other, those of different steps do not. Level: 2e^{−2x²} = 2e-9 at
/// x = 3.22 for each of 24 tests, 5e-8 in all. The twin has a variance of 1.44.
#[test]
fn every_draw_alone_has_the_base_law() {
    let kolmogorov = |law: BaseLaw, mut sample: Vec<f64>| {
        sample.sort_by(f64::total_cmp);
        let n = sample.len() as f64;
        let far = sample.iter().enumerate().map(|(i, &u)| {
            let f = law.distribution(u);
            (f - i as f64 / n).abs().max((f - (i + 1) as f64 / n).abs())
        });
        n.sqrt() * far.fold(0.0, f64::max)
    };
    for coupling in [Coupling::Antithetic, Coupling::Latin, Coupling::Sobol] {
        for law in LAWS {
            let all = steps(coupling, law, 5, 6, 20_000);
            for (draw, j) in [(1, 0), (5, 4)] {
                let sample: Vec<f64> = all.iter().map(|u| u[draw * 5 + j]).collect();
                let wide = sample.iter().map(|u| 1.2 * u).collect();
                let distance = kolmogorov(law, sample);
                assert!(distance < 3.22, "{coupling} {law}: {distance}");
                assert!(kolmogorov(law, wide) > 3.22, "{coupling} {law}: a variance of 1.44 is not seen");
            }
        }
    }
}

/// Within six standard errors but for 2e-9 each: coordinates of one draw are uncorrelated, and so are their squares.
#[test]
fn the_coordinates_of_a_draw_and_the_draws_of_two_steps_are_uncorrelated() {
    for (_, coupling) in Coupling::named() {
        let all = steps(coupling, BaseLaw::Gaussian, 3, 5, 20_000);
        let n = all.len() as f64;
        let mean = |f: &dyn Fn(&[f64]) -> f64| all.iter().map(|u| f(u)).sum::<f64>() / n;
        for draw in 0..5 {
            let at = |u: &[f64], j: usize| u[draw * 3 + j];
            for (i, j) in [(0, 1), (1, 2), (0, 2)] {
                assert!(mean(&|u| at(u, i) * at(u, j)).abs() < 6.0 / n.sqrt(), "{coupling} {draw}");
                let squares = mean(&|u| (at(u, i).powi(2) - 1.0) * (at(u, j).powi(2) - 1.0));
                assert!(squares.abs() < 6.0 * 2.0 / n.sqrt(), "{coupling} {draw}: {squares}");
            }
        }
        let across = all.windows(2).map(|w| w[0][0] * w[1][0]).sum::<f64>() / n;
        assert!(across.abs() < 6.0 / n.sqrt(), "{coupling}: steps depend on each other");
    }
}

#[test]
fn a_latin_hypercube_has_one_draw_in_each_stratum_and_pairs_are_opposite() {
    for batch in [1, 2, 5, 16] {
        for u in steps(Coupling::Latin, BaseLaw::Gaussian, 4, batch, 3) {
            for j in 0..4 {
                let mut strata: Vec<usize> =
                    u.chunks_exact(4).map(|u| (normal_cdf(u[j]) * batch as f64) as usize).collect();
                strata.sort_unstable();
                assert_eq!(strata, (0..batch).collect::<Vec<_>>());
            }
        }
    }
    let odd = &steps(Coupling::Antithetic, BaseLaw::Laplace, 2, 5, 1)[0];
    assert!((0..2).all(|j| odd[j] == -odd[2 + j] && odd[4 + j] == -odd[6 + j] && odd[8 + j] != 0.0));
}

/// Every permutation of n.
fn permutations(n: usize) -> Vec<Vec<usize>> {
    match n {
        0 => vec![vec![]],
        _ => permutations(n - 1)
            .into_iter()
            .flat_map(|p| {
                (0..n).map(move |at| {
                    let mut longer = p.clone();
                    longer.insert(at, n - 1);
                    longer
                })
            })
            .collect(),
    }
}

/// Var of the mean over a Latin hypercube times (n − 1)/σ², for f that is constant on the n² boxes: by all orders of the second coordinate, exactly.
fn latin_share(n: usize, f: &dyn Fn(usize, usize) -> f64) -> f64 {
    let boxes = (0..n).flat_map(|i| (0..n).map(move |j| (i, j)));
    let (cells, mean) = ((n * n) as f64, boxes.clone().map(|(i, j)| f(i, j)).sum::<f64>() / (n * n) as f64);
    let variance = boxes.map(|(i, j)| (f(i, j) - mean).powi(2)).sum::<f64>() / cells;
    let orders = permutations(n);
    let one = |order: &Vec<usize>| order.iter().enumerate().map(|(i, &j)| f(i, j)).sum::<f64>() / n as f64;
    let spread = orders.iter().map(|p| (one(p) - mean).powi(2)).sum::<f64>() / orders.len() as f64;
    spread * (n - 1) as f64 / variance
}

/// [noise-coupled], by enumeration: σ²/(N−1) is attained by products of two mean-zero functions of a stratum, exceeded by none, and sums
/// have no variance. A bound of σ²/N would fail.
#[test]
fn the_variance_of_a_latin_hypercube_is_that_of_one_draw_less_and_no_smaller_bound_holds() {
    for n in 2..=6 {
        let centred = |i: usize| i as f64 - 0.5 * (n - 1) as f64;
        let product = latin_share(n, &|i, j| centred(i) * (centred(j) + centred(j).powi(3)));
        assert!((product - 1.0).abs() < 1e-12, "{n}: {product}");
        assert!(product > (n - 1) as f64 / n as f64 * 1.0001, "σ²/N is exceeded");
        assert!(latin_share(n, &|i, j| (i * i) as f64 + 3.0 * (j as f64).sqrt()) < 1e-12);
        for seed in 0..20 {
            let mut values = vec![0.0; n * n];
            provi_kernels::normals(seed, 0, 0, &mut values);
            let share = latin_share(n, &|i, j| values[i * n + j] + 0.3 * centred(i));
            assert!(share <= 1.0 + 1e-12, "{n}: {share}");
        }
    }
}

/// The means of N antithetic draws of an even function are those of N/2 draws, and of an odd function nothing.
#[test]
fn antithetic_draws_of_an_even_function_are_half_as_many() {
    for u in steps(Coupling::Antithetic, BaseLaw::Gaussian, 2, 8, 20) {
        let f = |u: &[f64]| u[0] * u[1] + u[0].powi(2);
        let halved: f64 = u.chunks_exact(4).map(|pair| f(&pair[..2])).sum::<f64>() / 4.0;
        let mean: f64 = u.chunks_exact(2).map(f).sum::<f64>() / 8.0;
        assert!((mean - halved).abs() < 1e-15);
        assert!(u.chunks_exact(2).map(|u| u[0].powi(3) + u[1].sin()).sum::<f64>().abs() < 1e-13);
    }
    assert_eq!([1, 2, 3, 8].map(|n| Coupling::Antithetic.counted(n)), [1, 1, 1, 4]);
    assert_eq!([1, 2, 3, 8].map(|n| Coupling::Latin.counted(n)), [1, 1, 2, 7]);
    assert_eq!([1, 2, 3, 8].map(|n| Coupling::Sobol.counted(n)), [1, 1, 1, 1]);
    assert_eq!([1, 2, 3, 8].map(|n| Coupling::Independent.counted(n)), [1, 2, 3, 8]);
}

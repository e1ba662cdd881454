use super::{SPARE, Slots};
use crate::check::{agree, each_level, numbers};

type Kernel = fn(&[f64], &[f64], &mut [f64], &mut Slots<'_>);

const ALL: [Kernel; 9] = [
    super::logistic,
    |y, _, s, slots| super::logistic_unweighted(y, s, slots),
    super::binomial,
    super::probit,
    super::poisson,
    |y, w, s, slots| super::gamma(2.3, y, w, s, slots),
    super::cloglog,
    super::ordered,
    |y, w, s, slots| super::gaussian(1.7, y, w, s, slots),
];

/// Energies, then slopes.
fn run(kernel: Kernel, y: &[f64], w: &[f64], s: &[f64], samples: usize) -> Vec<f64> {
    let (mut slopes, mut out) = (s.to_vec(), vec![0.25; samples]);
    let mut room = vec![f64::NAN; SPARE * samples];
    let mut slots = Slots::new(samples, &mut room);
    // In two blocks, the first of a multiple of eight rows.
    let cut = y.len() / 16 * 8;
    let (before, after) = slopes.split_at_mut(cut * samples);
    kernel(&y[..cut], &w[..cut], before, &mut slots);
    kernel(&y[cut..], &w[cut..], after, &mut slots);
    slots.finish(&mut out);
    out.extend(slopes);
    out
}

fn problem(rows: usize, samples: usize) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
    let y = (0..rows).map(|n| f64::from(u8::from(n % 3 == 1))).collect();
    let s = numbers(5, rows * samples).iter().map(|x| 30.0 * x.powi(3)).collect();
    (y, vec![1.0; rows], s)
}

#[test]
fn every_shape_agrees_with_the_twins() {
    for (rows, samples) in
        [(0, 1), (1, 1), (7, 1), (8, 1), (900, 1), (5, 2), (16, 3), (23, 8), (9, 10), (3, 17), (4, 0)]
    {
        let (y, w, s) = problem(rows, samples);
        for (i, kernel) in ALL.into_iter().enumerate() {
            let w: Vec<f64> =
                if i == 1 { w.clone() } else { numbers(7, rows).iter().map(|w| w.abs()).collect() };
            agree(1e-13, || run(kernel, &y, &w, &s, samples));
        }
    }
}

#[test]
fn a_point_does_not_see_its_neighbours() {
    let (rows, samples) = (45, 11);
    let (y, w, s) = problem(rows, samples);
    each_level(|| {
        for kernel in ALL {
            let all = run(kernel, &y, &w, &s, samples);
            for k in 0..samples {
                let own: Vec<f64> = (0..rows).map(|n| s[n * samples + k]).collect();
                let alone = run(kernel, &y, &w, &own, 1);
                assert_eq!(alone[0].to_bits(), all[k].to_bits());
                let slopes = (0..rows).map(|n| all[samples + n * samples + k].to_bits());
                assert!(slopes.eq(alone[1..].iter().map(|x| x.to_bits())));
            }
        }
    });
}

/// A category that lacks a half does not get it back however large a predictor is.
#[test]
fn ordered_categories_far_away_lose_nothing_or_all() {
    each_level(|| {
        for (y, s, value, slope) in [
            (1.0, 1e9, 0.0, 0.0),
            (0.0, -1e9, 0.0, 0.0),
            (1.0, -1e9, 1e9, -1.0),
            (0.0, 1e9, 1e9, 1.0),
            (-3.0, 1e9, 1e9 - 1.5, 1.0),
            (-3.0, -1e9, 1e9 - 1.5, -1.0),
        ] {
            let out = run(super::ordered, &[y], &[1.0], &[s], 1);
            assert!(
                (out[0] - 0.25 - value).abs() < 1e-6 && (out[1] - slope).abs() < 1e-12,
                "{y} {s}: {out:?}"
            );
        }
    });
}

#[test]
fn products_of_the_most_rows_do_not_overflow() {
    each_level(|| {
        let rows = super::MOST_ROWS;
        let (y, w, s) = (vec![0.0; rows], vec![1.0; rows], vec![0.0; rows]);
        let out = run(ALL[1], &y, &w, &s, 1);
        let truth = 0.25 + rows as f64 * std::f64::consts::LN_2;
        assert!((out[0] / truth - 1.0).abs() < 1e-13, "{} {truth}", out[0]);
    });
}

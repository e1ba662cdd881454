//! Ordered categories against answers found without the library.

use crate::common::grid;
use provi::scales::{FreeScales, Integration, ScalePrior};
use provi::stream::{Memory, Rows, Streamed};
use provi::target::{Family, Gaps, Glm, Prior, SparseGlm, Target};
use provi::{Auto, Design, Seed};

const X: [f64; 12] = [-1.2, -0.7, -0.5, -0.1, 0.0, 0.2, 0.4, 0.8, 0.9, 1.3, 1.6, 2.1];
const Y: [f64; 12] = [1.0, 1.0, 2.0, 3.0, 1.0, 2.0, 4.0, 3.0, 2.0, 4.0, 3.0, 4.0];

fn rows(range: std::ops::Range<usize>) -> Design {
    Design::dense(range.len(), 2, &X[range].iter().flat_map(|&x| [1.0, x]).collect::<Vec<f64>>()).unwrap()
}

fn model(gaps: [f64; 2]) -> Glm {
    Glm::ordered(rows(0..12), &Y, &gaps, Prior::scale(2.0).unwrap()).unwrap()
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// Differences of cumulative probabilities, as textbooks write them.
#[test]
fn the_density_is_the_textbook_s() {
    let (weights, offsets): (Vec<f64>, Vec<f64>) =
        (0..12).map(|n| (0.5 + 0.1 * f64::from(n), 0.2 - 0.03 * f64::from(n))).unzip();
    let z = [-0.4, 0.9];
    for gaps in [[0.7, 1.1], [0.05, 3.0]] {
        let model = model(gaps).with_weights(&weights).unwrap().with_offsets(&offsets).unwrap();
        let cuts = [f64::NEG_INFINITY, 0.0, gaps[0], gaps[0] + gaps[1], f64::INFINITY];
        let row = |n: usize| {
            let (s, k) = (z[0] + z[1] * X[n] + offsets[n], Y[n] as usize);
            weights[n] * (sigmoid(cuts[k] - s) - sigmoid(cuts[k - 1] - s)).ln()
        };
        let prior: f64 =
            z.iter().map(|z| -z * z / 8.0 - (2.0 * (2.0 * std::f64::consts::PI).sqrt()).ln()).sum();
        let expected = prior + (0..12).map(row).sum::<f64>();
        let found = model.log_density(&z, &mut [0.0; 2]).unwrap();
        assert!((found - expected).abs() < 1e-12, "{gaps:?}: {found} {expected}");
        assert_eq!(model.observed_responses(), Y);
        assert_eq!(model.weights().unwrap().to_vec(), weights);
        assert_eq!(model.offsets().unwrap(), offsets);
    }
}

#[test]
fn certificates_cover_what_a_grid_finds() {
    for gaps in [[0.7, 1.1], [0.05, 3.0], [4.0, 0.3]] {
        grid::assert_covered(&model(gaps), 0.1);
    }
}

/// The gaps that are found are where the ELBO is largest: in memory, streamed, and with a sparse factor.
#[test]
fn the_gaps_are_where_the_elbo_is_largest() {
    let elbo = |gaps: [f64; 2]| {
        let model = model(gaps);
        let q = Auto::default().run(&model, Seed(0)).unwrap().fit.gaussian;
        -provi::expectation::neg_elbo(&model, &q).unwrap()
    };
    let free = FreeScales { gaps: vec![1.0; 2], ..FreeScales::default() };
    let found = free.maximise(&model([1.0; 2])).unwrap();
    let best = [found.gaps[0], found.gaps[1]];
    let top = elbo(best);
    assert!((top + found.neg_elbo).abs() < 1e-8, "{top} {}", found.neg_elbo);
    for factor in [0.5, 0.9, 0.99, 1.01, 1.1, 2.0] {
        assert!(elbo([factor * best[0], best[1]]) < top, "{best:?} {factor}");
        assert!(elbo([best[0], factor * best[1]]) < top, "{best:?} {factor}");
    }
    let family = Family::Ordered { gaps: Gaps::new(&[1.0; 2]).unwrap() };
    let blocks = [0..5, 5..12].map(|part| Rows::new(family, rows(part.clone()), &Y[part]).unwrap());
    let streamed =
        Streamed::new(family, Memory::new(2, blocks.to_vec()).unwrap(), Prior::scale(2.0).unwrap()).unwrap();
    let also = free.maximise(&streamed).unwrap();
    let sparse = free.maximise(&SparseGlm::within(model([1.0; 2]), 100).unwrap().unwrap()).unwrap();
    for gaps in [&also.gaps, &sparse.gaps] {
        assert!(gaps.iter().zip(best).all(|(a, b)| (a - b).abs() < 1e-3 * b), "{gaps:?} {best:?}");
    }
    assert!(
        free.maximise(&Glm::logistic(rows(0..12), &[1.0; 12], Prior::scale(1.0).unwrap()).unwrap()).is_err()
    );
}

/// One coefficient and one gap: what is integrated over agrees with a sum over a grid of both.
#[test]
fn a_gap_is_integrated_over_as_a_grid_does() {
    let categories: Vec<f64> = Y.iter().map(|y| y.min(3.0)).collect();
    let at = |gap: f64| {
        let design = Design::dense(12, 1, &[1.0; 12]).unwrap();
        Glm::ordered(design, &categories, &[gap], Prior::scale(2.0).unwrap()).unwrap()
    };
    let prior = ScalePrior::HalfStudentT { degrees: 3.0, scale: 2.5 };
    let free = FreeScales { gaps: vec![1.0], ..FreeScales::default() };
    let found = free.integrate(&at(1.0), &Integration::new(vec![prior])).unwrap();
    let mut sums = [0.0f64; 4];
    for i in 0..1000 {
        let gap = 0.02 * (8e-3 * f64::from(i)).exp();
        let model = at(gap);
        // half_t(3, 2.5), and dδ = δ d log δ.
        let unit = gap / 2.5;
        let law = 4.0 / (std::f64::consts::PI * 3f64.sqrt() * 2.5) / (1.0 + unit * unit / 3.0).powi(2) * gap;
        for j in -500..=600 {
            let z = 0.01 * f64::from(j);
            let p = law * model.log_density(&[z], &mut [0.0]).unwrap().exp() * 0.01 * 8e-3;
            [1.0, gap, z, z * z].into_iter().zip(&mut sums).for_each(|(x, sum)| *sum += p * x);
        }
    }
    let [gap, mean, square] = [1, 2, 3].map(|k| sums[k] / sums[0]);
    let evidence = sums[0].ln();
    assert!((found.log_evidence - evidence).abs() < 5e-3, "{} {evidence}", found.log_evidence);
    let near = |a: f64, b: f64, room: f64| assert!((a - b).abs() < room, "{a} {b}");
    near(found.scale_mean(0).unwrap(), gap, 5e-3 * gap);
    let sd = (square - mean * mean).sqrt();
    near(found.mean()[0], mean, 0.05 * sd);
    near(found.standard_deviations()[0], sd, 0.05 * sd);
}

use super::*;
use crate::target::{Closure, GaussianTarget};

/// Log ratios that other languages can reproduce: a 64-bit congruential generator, then one formula each.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Pareto,
    Bounded,
    Normal,
}

fn log_ratios(kind: Kind, scale: f64, count: usize, seed: u64) -> Vec<f64> {
    let mut state = seed;
    let mut uniform = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 11) as f64 + 0.5) / 9_007_199_254_740_992.0
    };
    let mut next = || match kind {
        Kind::Pareto => -scale * uniform().ln(),
        Kind::Bounded => -scale * uniform().powi(2),
        Kind::Normal => {
            let radius = (-2.0 * uniform().ln()).sqrt();
            1000.0 + scale * radius * (2.0 * std::f64::consts::PI * uniform()).cos()
        }
    };
    (0..count).map(|_| next()).collect()
}

/// (kind, scale, S, k̂, smoothed log weights of the largest, third and fifth largest ratio, log Σ), from
/// `psislw(.., normalize=False)` of ArviZ 0.23.4; the seed is the row's number, from one.
#[rustfmt::skip]
const ARVIZ: [(Kind, f64, usize, f64, [f64; 3], f64); 9] = [
    (Kind::Pareto, 0.2, 1000, 0.2304041054231152, [1.4333761034095918, 1.2735054797338388, 1.142547724957161], 7.12957780571856),
    (Kind::Pareto, 0.5, 200, 0.5827069096686237, [2.912703376819148, 2.3665456867614347, 2.029964087620809], 5.994701492631286),
    (Kind::Pareto, 0.9, 4000, 0.8646690659322424, [7.342799156305806, 6.484756699096152, 5.976695293246662], 10.04625482125543),
    (Kind::Pareto, 1.5, 100, 1.1303382301490539, [7.464328179868851, 5.603228648585611, 4.889466743816865], 8.208605360743855),
    (Kind::Pareto, 0.7, 25, 0.5859391376241644, [1.6284959005131219, 1.1906290651507128, 1.0829291969154733], 3.9653006514225795),
    (Kind::Pareto, 0.5, 20, f64::INFINITY, [0.9545566394063307, 0.8078046328094133, 0.5886957686084219], 3.391377286327139),
    (Kind::Bounded, 1.0, 500, -1.363477547087602, [-5.621960967063676e-06, -5.621960967063676e-06, -5.621960967063676e-06], 5.944109288340323),
    (Kind::Normal, 0.5, 1000, 0.19939269489254904, [1001.6984610870463, 1001.4155568897746, 1001.2936586061635], 1007.0285248378211),
    (Kind::Normal, 3.0, 2000, 0.9982363507510273, [1009.8662233567974, 1009.2201177893975, 1008.6257589630433], 1011.8737857349342),
];

#[test]
fn smoothing_is_that_of_arviz() {
    for (row, (kind, scale, count, k, smoothed, log_sum)) in ARVIZ.into_iter().enumerate() {
        let raw = log_ratios(kind, scale, count, row as u64 + 1);
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by(|&i, &j| raw[j].total_cmp(&raw[i]));
        let mut found = raw.clone();
        let found_k = psis(&mut found).unwrap();
        let same = found_k.to_bits() == k.to_bits() || (found_k - k).abs() < 1e-10;
        assert!(same, "{kind:?} {scale} {count}: k̂ = {found_k}, expected {k}");
        for (place, expected) in [0, 2, 4].into_iter().zip(smoothed) {
            let value = found[order[place]];
            assert!((value - expected).abs() < 1e-10, "{kind:?} {scale} {count}: {value} {expected}");
        }
        assert!((log_mean_exp(&found) + (count as f64).ln() - log_sum).abs() < 1e-10);
    }
}

#[test]
fn zero_weights_are_left_where_they_are() {
    let mut ratios = log_ratios(Kind::Pareto, 0.2, 1000, 1);
    ratios.iter_mut().step_by(3).for_each(|r| *r = f64::NEG_INFINITY);
    let k = psis(&mut ratios).unwrap();
    // ArviZ 0.23.4.
    assert!((k - 0.15165626930204087).abs() < 1e-10);
    assert!((log_mean_exp(&ratios) + 1000f64.ln() - 6.719286721981919).abs() < 1e-10);
    assert!(ratios.iter().step_by(3).all(|&r| r == f64::NEG_INFINITY));
    let found = Estimates::from_log_ratios(&ratios).unwrap();
    assert!(found.elbo == f64::NEG_INFINITY && found.kl == f64::INFINITY && found.log_evidence.is_finite());
    assert!(found.elbo_se == f64::INFINITY && found.kl_se == f64::INFINITY);
}

#[test]
fn what_cannot_be_weighed_is_refused() {
    let infinite = f64::INFINITY;
    for bad in [vec![], vec![0.0, f64::NAN], vec![infinite, 0.0], vec![-infinite; 40]] {
        assert!(psis(&mut bad.clone()).is_err(), "{bad:?}");
        assert!(Estimates::from_log_ratios(&bad).is_err(), "{bad:?}");
        assert!(resample(&bad, 3, Seed(1)).is_err(), "{bad:?}");
    }
    assert!(Estimates::from_log_ratios(&[1.0]).is_err());
    let target = Closure::new(1, |z: &[f64], g: &mut [f64]| {
        g[0] = -z[0];
        if z[0] > 2.0 { f64::NAN } else { -0.5 * z[0] * z[0] }
    })
    .unwrap();
    let found = estimate(Evaluator::Serial(&target), &Gaussian::standard(1), Seed(1), 1000);
    assert!(matches!(found, Err(Error::TargetNotFinite { .. })), "{found:?}");
    assert!(estimate(Evaluator::Serial(&target), &Gaussian::standard(2), Seed(1), 10).is_err());
}

#[test]
fn equal_ratios_have_no_tail_and_no_error() {
    for count in [2, 24, 1000] {
        let found = Estimates::from_log_ratios(&vec![-7.25; count]).unwrap();
        assert!((found.log_evidence + 7.25).abs() < 1e-14 && found.log_evidence_se < 1e-15);
        assert!(found.pareto_k == f64::INFINITY && found.kl.abs() < 1e-14 && found.kl_se < 1e-15);
        assert_eq!(found.reliability(), Reliability::Exact);
    }
}

#[test]
fn verdicts_depend_on_the_number_of_draws() {
    let verdict = Reliability::new;
    assert_eq!([verdict(0.3, 4000), verdict(-1.0, 30)], [Reliability::Good; 2]);
    assert_eq!([verdict(0.6, 4000), verdict(0.7, 10_000)], [Reliability::Usable; 2]);
    assert_eq!([verdict(0.71, 1_000_000), verdict(0.6, 300), verdict(0.3, 15)], [Reliability::Unreliable; 3]);
    assert_eq!([verdict(f64::INFINITY, 10), verdict(f64::NAN, 10)], [Reliability::Unknown; 2]);
    assert!(
        (Reliability::limit(100) - 0.5).abs() < 1e-15 && (Reliability::limit(10_000) - 0.7).abs() < 1e-15
    );
}

fn example() -> GaussianTarget {
    let precision = Matrix::new(2, 2, vec![2.0, 0.5, 0.5, 1.0]).unwrap();
    GaussianTarget::new(&[1.0, -1.0], precision).unwrap().constant(-3.0).unwrap()
}

/// A Gaussian wider than [`example`] and off its centre, so that the weights are bounded; its exact ELBO.
fn wider() -> (Gaussian<Triangular>, f64) {
    let q = Gaussian::new(&[1.2, -0.9], &[0.9, 0.1, 1.3]).unwrap();
    let mut moments = crate::target::expectations::Moments::new(2);
    crate::target::expectations::Expectations::expect(&example(), &q, &mut moments).unwrap();
    let elbo = -moments.neg_elbo(&q).unwrap();
    (q, elbo)
}

#[test]
fn the_target_itself_is_estimated_without_error() {
    let target = example();
    let q = target.optimum().unwrap();
    let found = estimate(&target, &q, Seed(5), 1000).unwrap();
    assert!((found.log_evidence - target.log_evidence()).abs() < 1e-13 && found.log_evidence_se < 1e-15);
    assert!(found.kl.abs() < 1e-13 && found.kl_se < 1e-15, "{found:?}");
    assert_eq!(found.reliability(), Reliability::Exact);
    assert!((found.effective_draws - 1000.0).abs() < 1e-9);
}

#[test]
fn estimates_are_within_five_standard_errors() {
    let (target, (q, elbo)) = (example(), wider());
    let found = estimate(&target, &q, Seed(11), 20_000).unwrap();
    // Two-sided normal tail beyond five: 6e-7 for each of the three.
    let within = |value: f64, se: f64, truth: f64| (value - truth).abs() < 5.0 * se && se < 0.01;
    assert!(within(found.log_evidence, found.log_evidence_se, target.log_evidence()), "{found}");
    assert!(within(found.elbo, found.elbo_se, elbo), "{found}");
    assert!(within(found.kl, found.kl_se, target.log_evidence() - elbo), "{found}");
    assert_eq!(found.reliability(), Reliability::Good);
    // Planted: a log q that forgets log det C.
    let forgotten = found.log_evidence - q.log_det().unwrap();
    assert!(!within(forgotten, found.log_evidence_se, target.log_evidence()));
    let serial = estimate(Evaluator::Serial(&target), &q, Seed(11), 20_000).unwrap();
    assert_eq!(found, serial);
}

#[test]
fn standard_errors_are_the_spread_over_seeds() {
    let (target, (q, _)) = (example(), wider());
    let runs: Vec<Estimates> =
        (0..400).map(|seed| estimate(Evaluator::Serial(&target), &q, Seed(seed), 500).unwrap()).collect();
    let spread = |value: fn(&Estimates) -> f64| {
        let (_, error) = mean_and_error(runs.iter().map(value));
        error * (runs.len() as f64).sqrt()
    };
    let mean = |value: fn(&Estimates) -> f64| runs.iter().map(value).sum::<f64>() / runs.len() as f64;
    for (spread, claimed) in [
        (spread(|e| e.log_evidence), mean(|e| e.log_evidence_se)),
        (spread(|e| e.elbo), mean(|e| e.elbo_se)),
        (spread(|e| e.kl), mean(|e| e.kl_se)),
    ] {
        // A standard deviation from 400 runs is itself known to 1/√800 = 3.5%; six of these.
        assert!((spread / claimed - 1.0).abs() < 0.21, "{spread} {claimed}");
    }
}

#[test]
fn resampling_takes_each_draw_as_often_as_its_weight_says() {
    let weights = [0.1, 0.0, 0.35, 0.05, 0.5f64];
    let log_weights: Vec<f64> = weights.iter().map(|w| w.ln() + 800.0).collect();
    for seed in 0..50 {
        let indices = resample(&log_weights, 30, Seed(seed)).unwrap();
        assert!(indices.len() == 30 && indices.is_sorted());
        for (k, weight) in weights.iter().enumerate() {
            let times = indices.iter().filter(|&&i| i == k).count() as f64;
            assert!((times - 30.0 * weight).abs() < 1.0, "{k}: {times}");
        }
    }
    assert_eq!(resample(&[-3.0], 2, Seed(1)).unwrap(), [0, 0]);
}

#[test]
fn resampled_draws_move_towards_the_target() {
    let (target, (q, _)) = (example(), wider());
    let (points, mut ratios) = weighted_draws(&target, &q, Seed(3), 20_000).unwrap();
    assert_eq!(Estimates::from_log_ratios(&ratios).unwrap(), estimate(&target, &q, Seed(3), 20_000).unwrap());
    psis(&mut ratios).unwrap();
    let indices = resample(&ratios, 20_000, Seed(3)).unwrap();
    let mean = indices.iter().map(|&k| points[(k, 0)]).sum::<f64>() / 20_000.0;
    // The mean of q is 1.2, that of p is 1; sd/√(effective draws) < 0.01, and six of these.
    assert!((mean - 1.0).abs() < 0.06, "{mean}");
}

#[test]
fn ratios_at_given_points_are_those_of_the_draws() {
    let (target, (q, _)) = (example(), wider());
    let (points, expected) = weighted_draws(&target, &q, Seed(3), 600).unwrap();
    let found = super::log_ratios(&target, &q, &points).unwrap();
    assert!(found.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-12));
    assert!(super::log_ratios(Evaluator::Serial(&target), &q, &Matrix::zeros(3, 1)).is_err());
}

#[cfg(feature = "serde")]
#[test]
fn infinities_survive_json() {
    let found = Estimates::from_log_ratios(&[0.0, f64::NEG_INFINITY, -1.0]).unwrap();
    let json = serde_json::to_string(&found).unwrap();
    assert_eq!(serde_json::from_str::<Estimates>(&json).unwrap(), found);
}

#[test]
fn a_heavy_tail_of_little_weight_does_not_forbid_weights() {
    // Quantiles of a Pareto law with shape 1, alone and on top of equal weights.
    let n = 4000;
    let of = |base: f64, part: f64| -> Estimates {
        let weight = |i: usize| base + part * n as f64 / (i as f64 + 0.5);
        Estimates::from_log_ratios(&(0..n).map(|i| weight(i).ln()).collect::<Vec<_>>()).unwrap()
    };
    let (alone, little) = (of(0.0, 1.0), of(1.0, 1e-3));
    assert!(alone.pareto_k > 0.7 && little.pareto_k > 0.7, "{alone} {little}");
    assert!(alone.kept() < 0.1 && little.kept() > 0.9, "{} {}", alone.kept(), little.kept());
    assert_eq!((alone.reliability(), little.reliability()), (Reliability::Unreliable, Reliability::Even));
    assert!(!alone.reliability().allows_weights() && little.reliability().allows_weights());
    // Between the two: the weights keep more than half, then less.
    let kept: Vec<(f64, bool)> = [1e-3, 3e-3, 0.01, 0.05, 0.3]
        .map(|part| of(1.0, part))
        .map(|e| (e.kept(), e.reliability().allows_weights()))
        .to_vec();
    assert!(kept.iter().all(|(kept, allowed)| *allowed == (*kept >= 0.5)), "{kept:?}");
    assert!(kept.iter().any(|k| k.1) && kept.iter().any(|k| !k.1), "{kept:?}");
}

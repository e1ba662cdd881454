use super::*;
use crate::certify::trust::elsewhere::{Outside, missed};
use crate::target::Closure;

/// Σ wᵢ N(mᵢ·1, sᵢ²I) over d coordinates, normalised: all of its mass is known.
fn parts<const N: usize>(
    d: usize,
    parts: [(f64, f64, f64); N],
) -> Closure<impl Fn(&[f64], &mut [f64]) -> f64 + Sync> {
    Closure::new(d, move |z: &[f64], g: &mut [f64]| {
        let log = |(w, m, s): (f64, f64, f64)| {
            let square: f64 = z.iter().map(|x| ((x - m) / s).powi(2)).sum();
            w.ln() - 0.5 * square - d as f64 * (s.ln() + 0.5 * (2.0 * std::f64::consts::PI).ln())
        };
        let logs = parts.map(log);
        let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = logs.iter().map(|l| (l - top).exp()).sum();
        for (g, x) in g.iter_mut().zip(z) {
            let pull = |(l, (_, m, s)): (&f64, (f64, f64, f64))| (l - top).exp() * (m - x) / (s * s);
            *g = logs.iter().zip(parts).map(pull).sum::<f64>() / total;
        }
        top + total.ln()
    })
    .unwrap()
}

fn gaussian(d: usize, mean: f64, sd: f64) -> Gaussian<Triangular> {
    let mut factor = vec![0.0; crate::base::matrix::packed_len(d)];
    (0..d).for_each(|i| factor[crate::base::matrix::packed_index(i, i)] = sd);
    Gaussian::new(&vec![mean; d], &factor).unwrap()
}

/// Estimates that know the evidence of the part that q sees.
fn knowing(log_evidence: f64) -> Estimates {
    let found = Estimates::from_log_ratios(&[0.0; 100]).unwrap();
    Estimates { log_evidence, log_evidence_se: 0.0, ..found }
}

#[test]
fn wide_draws_find_the_mass_that_is_missing_and_no_other() {
    // Five standard errors on each of 2 × 3 means: a false alarm of 4e-6.
    for seed in 1..=3 {
        let alone = parts(1, [(1.0, 0.0, 1.0)]);
        let (excess, se, _) =
            wide((&alone).into(), &gaussian(1, 0.0, 1.0), Seed(seed), &knowing(0.0), &mut Outside::default())
                .unwrap();
        assert!(excess.abs() < 5.0 * se && se < 0.05, "{excess} {se}");
        // q sees 0.7 of the mass; the rest is three sds away.
        let two = parts(1, [(0.7, 0.0, 1.0), (0.3, 3.0, 0.5)]);
        let known = knowing(0.7f64.ln());
        let (excess, se, _) =
            wide((&two).into(), &gaussian(1, 0.0, 1.0), Seed(seed), &known, &mut Outside::default()).unwrap();
        assert!((excess - 3.0 / 7.0).abs() < 5.0 * se && se < 0.06, "{excess} {se}");
    }
}

#[test]
fn the_residual_is_the_distance_to_the_best_gaussian() {
    let target = parts(2, [(1.0, 1.0, 0.5)]);
    // The right width: the residual has no noise at all.
    let q = gaussian(2, 1.3, 0.5);
    let mut own = Own::new((&target).into(), &q, Seed(1)).unwrap();
    own.draw(4_000).unwrap();
    let (residual, se) = own.residual();
    assert!((residual - 0.6).abs() < 1e-9 && se < 1e-7, "{residual} {se}");
    // Half the width: s̃ has mean s(m − m*)/σ² = 0.3 and standard deviation |s²/σ² − 1| = 0.75.
    let q = gaussian(2, 1.3, 0.25);
    let mut own = Own::new((&target).into(), &q, Seed(1)).unwrap();
    own.draw(4_000).unwrap();
    let (residual, se) = own.residual();
    let expected = 0.75 / 4_000f64.sqrt();
    // Of two means the larger is taken; five standard errors, a false alarm of 1e-6.
    assert!((residual - 0.3).abs() < 5.0 * expected && (se / expected - 1.0).abs() < 0.1, "{residual} {se}");
    // At the best Gaussian it vanishes.
    let q = gaussian(2, 1.0, 0.5);
    let mut own = Own::new((&target).into(), &q, Seed(1)).unwrap();
    own.draw(4_000).unwrap();
    assert!(own.residual().0 < 1e-7);
}

#[test]
fn draws_of_another_place_find_the_mass_that_q_misses_and_no_other() {
    let stream = Draws::new(Seed(1), Purpose::Estimate);
    let find = |target: &(dyn crate::Target + Sync),
                q: &Gaussian<Triangular>,
                place: &Gaussian<Triangular>,
                seen: f64| {
        let mut own = Own::new(target.into(), q, Seed(1)).unwrap();
        own.draw(4_000).unwrap();
        let unusual = Unusual::default();
        let seen =
            Seen { stream: &stream, ratios: &own.seen.ratios, log_evidence: seen.ln(), unusual: &unusual };
        missed(target.into(), q, place, &seen, 4).unwrap().unwrap()
    };
    // A spike with a tenth of the mass, far outside of what q's draws meet.
    let target = parts(2, [(0.9, 0.0, 1.0), (0.1, 20.0, 0.1)]);
    let (found, se) = find(&target, &gaussian(2, 0.0, 1.0), &gaussian(2, 20.0, 0.1), 0.9);
    assert!((found - 1.0 / 9.0).abs() < 1e-6 && se < 1e-6, "{found} {se}");
    // A place inside q that holds what q says it does; five standard errors, a false alarm of 6e-7.
    let alone = parts(2, [(1.0, 0.0, 1.0)]);
    let (found, se) = find(&alone, &gaussian(2, 0.0, 1.0), &gaussian(2, 0.5, 0.3), 1.0);
    assert!(found.abs() < 5.0 * se && se < 0.01, "{found} {se}");
}

#[test]
fn a_part_far_away_and_a_spike_inside_are_found_by_climbs() {
    let said = |target: &(dyn crate::Target + Sync), q: &Gaussian<Triangular>, seed: u64| {
        trust(target, q, Seed(seed), Agreement::default()).unwrap()
    };
    for seed in 1..=5 {
        // A fifth of the mass, eight sds away along both coordinates: wider draws do not reach it.
        let far = parts(2, [(0.8, -4.0, 1.0), (0.2, 4.0, 0.3)]);
        let found = said(&far, &gaussian(2, -4.0, 1.0), seed);
        assert_eq!(found.verdict, Verdict::DoNotUse, "{found}");
        assert!((found.witnesses.elsewhere - 0.25).abs() < 0.02, "{:?}", found.witnesses);
        // A tenth of the mass in a spike that a few of 20 000 draws come near.
        let spike = parts(2, [(0.9, -2.0, 2.0), (0.1, 2.0, 0.1)]);
        let found = said(&spike, &gaussian(2, -2.0, 2.0), seed);
        assert_eq!(found.verdict, Verdict::DoNotUse, "{found}");
        // One Gaussian, also a heavy-tailed neighbour of it, has no other place.
        let one = parts(2, [(0.9, 0.0, 1.0), (0.1, 0.0, 1.2)]);
        let found = said(&one, &gaussian(2, 0.0, 1.0), seed);
        assert_eq!(found.verdict, Verdict::Good, "{found}");
        assert!(found.witnesses.elsewhere < 0.01, "{:?}", found.witnesses);
    }
}

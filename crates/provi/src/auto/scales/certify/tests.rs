use super::*;
use crate::auto::scales::{FreeScales, Integration, ScalePrior};
use crate::base::draws::Seed;
use crate::certify::audit::Audit;
use crate::glm::design::Design;
use crate::glm::{Glm, Prior};

/// Parts with errors of zero are combined exactly; the law of total variance.
#[test]
fn without_errors_the_moments_are_those_of_the_mixture() {
    let part =
        |weight, mean, sd| Part { weight, ratio: [1.0, 1.0], mean, mean_error: 0.0, sd, sd_error: 0.0 };
    let [(mean, mean_error), (sd, sd_error)] = combined(&[part(0.25, -1.0, 0.5), part(0.75, 3.0, 2.0)]);
    assert!((mean - 2.0).abs() < 1e-15 && mean_error < 1e-15);
    assert!((sd - (0.25 * 0.25 + 0.75 * 4.0 + 0.25 * 9.0 + 0.75 * 1.0f64).sqrt()).abs() < 1e-15);
    assert!(sd_error < 1e-7, "{sd_error}");
}

/// Every mixture that the parts' errors and the ratios allow lies within the bounds, and the extreme ones come near to them.
#[test]
fn no_allowed_mixture_leaves_the_bounds() {
    let (weights, means, sds) = ([0.2, 0.5, 0.3], [-1.0, 0.4, 2.0], [0.6, 1.0, 0.8]);
    let (a, b, rho) = (0.05, 0.03, 0.1);
    let part = |k: usize| Part {
        weight: weights[k],
        ratio: [1.0 - rho, 1.0 + rho],
        mean: means[k],
        mean_error: a,
        sd: sds[k],
        sd_error: b,
    };
    let [(mean, mean_error), (sd, sd_error)] = combined(&[part(0), part(1), part(2)]);
    let mut worst = [0.0f64; 2];
    for code in 0..3u32.pow(9) {
        let sign = |digit: u32| f64::from(code / 3u32.pow(digit) % 3) - 1.0;
        let raw: Vec<f64> = (0..3).map(|k| weights[k as usize] * (1.0 + rho * sign(k))).collect();
        let total: f64 = raw.iter().sum();
        let ratio_allowed = raw.iter().zip(weights).all(|(w, own)| (w / total / own - 1.0).abs() <= rho);
        if !ratio_allowed {
            continue;
        }
        let m: Vec<f64> = (0..3).map(|k| means[k as usize] + a * sign(3 + k)).collect();
        let s: Vec<f64> = (0..3).map(|k| sds[k as usize] + b * sign(6 + k)).collect();
        let there: f64 = raw.iter().zip(&m).map(|(w, m)| w / total * m).sum();
        let variance: f64 =
            raw.iter().zip(&m).zip(&s).map(|((w, m), s)| w / total * (s * s + (m - there).powi(2))).sum();
        worst[0] = worst[0].max((there - mean).abs());
        worst[1] = worst[1].max((variance.sqrt() - sd).abs());
    }
    assert!(worst[0] <= mean_error && worst[0] > 0.6 * mean_error, "{worst:?} {mean_error}");
    assert!(worst[1] <= sd_error && worst[1] > 0.4 * sd_error, "{worst:?} {sd_error}");
    // A bound that forgot the weights would be too small.
    assert!(worst[0] > a, "{worst:?}");
}

/// One logistic coefficient with a free deviation: everything by sums over a fine grid of both.
#[test]
fn what_is_stated_holds_for_the_posterior_over_coefficient_and_scale() {
    let x = [0.5, -1.0, 1.5, 2.0, -0.3, 0.8, -2.0, 1.1];
    let y = [1.0, 0.0, 1.0, 1.0, 1.0, 0.0, 0.0, 1.0];
    let model = Glm::logistic(Design::dense(8, 1, &x).unwrap(), &y, Prior::scale(1.0).unwrap()).unwrap();
    let free = FreeScales { shared: vec![(vec![0], 1.0)], ..FreeScales::default() };
    let prior = ScalePrior::LogNormal { center: 0.0, sd: 0.7 };
    let found = free.integrate(&model, &Integration::new(vec![prior])).unwrap();
    let audit = Audit { draws: 50_000, ..Audit::default() };
    let proofs = found.prove(&free, &model, &audit, Seed(3)).unwrap();
    assert_eq!(proofs.len(), found.nodes.len());
    #[cfg(feature = "parallel")]
    {
        let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let again = alone.install(|| found.prove(&free, &model, &audit, Seed(3))).unwrap();
        assert!(proofs.iter().zip(&again).all(|(a, b)| a.certificate == b.certificate));
    }
    let (certificate, posterior) = found.certificate(&["x".into()], &proofs);

    let step = 0.02;
    let (mut logs, mut points) = (Vec::new(), Vec::new());
    for i in 0..400 {
        let eta = -4.0 + step * f64::from(i);
        for j in 0..2400 {
            let z = -16.0 + step * f64::from(j);
            let fit: f64 = x.iter().zip(&y).map(|(x, y)| x * z * y - (x * z).exp().ln_1p()).sum();
            let normal = -0.5 * (2.0 * std::f64::consts::PI).ln() - eta - 0.5 * (z / eta.exp()).powi(2);
            logs.push(fit + normal + prior.of_logarithm(eta)[0]);
            points.push(z);
        }
    }
    let whole = log_sum_exp(&logs);
    let of = |f: &dyn Fn(f64) -> f64| -> f64 {
        points.iter().zip(&logs).map(|(z, log)| (log - whole).exp() * f(*z)).sum()
    };
    let log_evidence = whole + 2.0 * f64::ln(step);
    let mean = of(&|z| z);
    let sd = of(&|z| (z - mean).powi(2)).sqrt();
    let (low, high) = (certificate.evidence.lower().unwrap(), certificate.evidence.upper().unwrap());
    assert!(low <= log_evidence && log_evidence <= high && high - low < 0.2, "{low} {log_evidence} {high}");
    let posterior = posterior.unwrap();
    for (value, error, exact) in
        [(posterior.mean[0], posterior.mean_error[0], mean), (posterior.sd[0], posterior.sd_error[0], sd)]
    {
        assert!((value - exact).abs() <= error && error < 0.25 * sd, "{value} ± {error}, {exact}");
    }
    let own = found.coordinate(0, &certificate).unwrap();
    assert!((own.mean - mean).abs() <= own.mean_error.bound().unwrap());
    assert!((own.sd - sd).abs() <= own.sd_error.bound().unwrap());
    // P(z > 0), TV and KL against the sums.
    let above = of(&|z| f64::from(u8::from(z > 0.0)));
    assert!(own.positive.lower <= above && above <= own.positive.upper, "{own:?} {above}");
    assert!(certificate.kl.provenance() == Some(Provenance::Estimated) && certificate.gap.bound().is_none());
    assert!(certificate.kl.bound().unwrap() < 0.2, "{}", certificate.kl);
    // The interval is the mixture's: its tails differ from those of a Gaussian with the same moments.
    let [left, right] = own.interval(0.95).unwrap();
    let inside = of(&|z| f64::from(u8::from(z > left && z < right)));
    assert!((inside - 0.95).abs() < 0.01, "{inside}");

    // Numbers of weighted draws take the place of the mixture's own, and their bounds include how far they are from those.
    let mut weighed = found.clone();
    weighed.weigh(&free, &model, 20_000, Seed(5)).unwrap();
    let other = weighed.coordinate(0, &certificate).unwrap();
    assert!(other.is_weighed() && !own.is_weighed());
    let pairs = [
        (other.mean, own.mean, mean, &other.mean_error, &own.mean_error),
        (other.sd, own.sd, sd, &other.sd_error, &own.sd_error),
    ];
    for (shown, of_mixture, exact, error, least) in pairs {
        let (error, expected) = (error.bound().unwrap(), least.bound().unwrap() + (shown - of_mixture).abs());
        assert!(
            (error / expected - 1.0).abs() < 1e-9 && (shown - exact).abs() <= error,
            "{error} {expected}"
        );
    }
    let [left, right] = other.interval(0.95).unwrap();
    let inside = of(&|z| f64::from(u8::from(z > left && z < right)));
    assert!((inside - 0.95).abs() < 0.01, "{inside}");

    // Nothing is claimed if a proof is missing, or if the nodes' evidence has no bound.
    let (nothing, none) = found.certificate(&["x".into()], &proofs[1..]);
    assert!(nothing.kl.bound().is_none() && none.is_none());
    let mut weak = proofs.clone();
    weak[0].certificate = Certificate::nothing(&["x".into()], "not tried");
    assert!(found.certificate(&["x".into()], &weak).0.kl.bound().is_none());
}

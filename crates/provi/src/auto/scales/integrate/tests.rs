use super::*;
use crate::base::special::log_sum_exp;
use crate::glm::design::Design;
use crate::glm::{Glm, Prior};

const HALF_T: ScalePrior = ScalePrior::HalfStudentT { degrees: 3.0, scale: 2.5 };

/// y_j = z_j + noise of deviation σ, one row for each of the coefficients, which share their deviation in sets of `each`.
fn one_row_each(y: &[f64], sigma: f64, each: usize) -> (Glm, FreeScales) {
    let n = y.len();
    let triplets: Vec<_> = (0..n).map(|j| (j, j, 1.0)).collect();
    let design = Design::triplets(n, n, &triplets).unwrap();
    let model = Glm::linear(design, y, sigma, Prior::scale(1.0).unwrap()).unwrap();
    let shared = (0..n / each).map(|b| ((b * each..(b + 1) * each).collect(), 1.0)).collect();
    (model, FreeScales { shared, ..FreeScales::default() })
}

fn gaussian(prior: ScalePrior) -> Integration {
    Integration { draws: 0, ..Integration::new(vec![prior]) }
}

/// The law of log τ for [`one_row_each`] by a fine sum: places, shares, and the log evidence.
fn line(y: &[f64], sigma: f64, prior: ScalePrior) -> (Vec<f64>, Vec<f64>, f64) {
    let step = 0.002;
    let places: Vec<f64> = (0..16_000).map(|k| -24.0 + step * f64::from(k)).collect();
    let logs: Vec<f64> = places
        .iter()
        .map(|eta| {
            let variance = (2.0 * eta).exp() + sigma * sigma;
            let each = |y: &f64| -0.5 * (2.0 * std::f64::consts::PI * variance).ln() - 0.5 * y * y / variance;
            y.iter().map(each).sum::<f64>() + prior.of_logarithm(*eta)[0]
        })
        .collect();
    let whole = log_sum_exp(&logs);
    (places, logs.iter().map(|x| (x - whole).exp()).collect(), whole + step.ln())
}

fn mean_of(places: &[f64], shares: &[f64], f: impl Fn(f64) -> f64) -> f64 {
    places.iter().zip(shares).map(|(x, share)| share * f(*x)).sum()
}

/// To 1e-3 of a deviation: where the sum stands still to that, it is not refined further.
#[test]
fn one_scale_is_integrated_as_finely_as_a_table_of_thousands() {
    let y = [-1.3, 0.4, 2.1, -0.2, 0.9];
    for (prior, sigma) in [(HALF_T, 0.5), (ScalePrior::Exponential { rate: 1.0 }, 1.5)] {
        let (model, free) = one_row_each(&y, sigma, 5);
        let found = free.integrate(&model, &gaussian(prior)).unwrap();
        let (places, shares, log_evidence) = line(&y, sigma, prior);
        assert!((found.log_evidence - log_evidence).abs() < 1e-4, "{} {log_evidence}", found.log_evidence);
        let tau = mean_of(&places, &shares, f64::exp);
        let spread = mean_of(&places, &shares, |x| (x.exp() - tau).powi(2)).sqrt();
        assert!((found.scale_mean(0).unwrap() - tau).abs() < 1e-3 * spread, "{tau}");
        assert!((found.scale_sd(0).unwrap() / spread - 1.0).abs() < 1e-3, "{spread}");
        // Given τ the mean is y·τ²/(τ² + σ²), and the variance is σ² times that share.
        let share = |x: f64| 1.0 / (1.0 + sigma * sigma * (-2.0 * x).exp());
        let (mean, sds) = (found.mean(), found.standard_deviations());
        for (i, y) in y.iter().enumerate() {
            let first = mean_of(&places, &shares, |x| y * share(x));
            let second = mean_of(&places, &shares, |x| (y * share(x)).powi(2) + sigma * sigma * share(x));
            let sd = (second - first * first).sqrt();
            assert!((mean[i] - first).abs() < 1e-3 * sd && (sds[i] / sd - 1.0).abs() < 1e-3, "{i}");
            assert!((found.covariance().unwrap()[(i, i)].sqrt() / sds[i] - 1.0).abs() < 1e-9);
        }
        // The ends of intervals, in deviations of log τ.
        let width = {
            let middle = mean_of(&places, &shares, |x| x);
            mean_of(&places, &shares, |x| (x - middle).powi(2)).sqrt()
        };
        for level in [0.025, 0.5, 0.975] {
            let mut sum = 0.0;
            let exact = places.iter().zip(&shares).find(|(_, share)| {
                sum += **share;
                sum >= level
            });
            let off = (found.scale_quantile(0, level).unwrap().ln() - exact.unwrap().0).abs() / width;
            assert!(off < 0.1, "{prior:?}, {level}: {off}");
        }
        assert!(matches!(found.rule, Rule::Lattice { complete: true, .. }) && found.unsolved == 0);
        assert!(found.evidence_change < 1e-3 && found.mean_change < 1e-3, "{found:?}");
        // A mistake in the size of a cell, or a prior without its Jacobian, would be seen.
        assert!(2f64.ln() > 1e3 * (found.log_evidence - log_evidence).abs());
    }
}

/// Groups that do not differ: the posterior of their deviation reaches down to zero and is no point.
#[test]
fn a_scale_at_its_boundary_keeps_its_uncertainty() {
    let y = [0.1, -0.2, 0.05, 0.15, -0.1, 0.0];
    let (model, free) = one_row_each(&y, 1.0, 6);
    assert!(free.maximise(&model).unwrap().vanishing[0]);
    let found = free.integrate(&model, &gaussian(HALF_T)).unwrap();
    let (places, shares, log_evidence) = line(&y, 1.0, HALF_T);
    assert!((found.log_evidence - log_evidence).abs() < 1e-4, "{} {log_evidence}", found.log_evidence);
    let tau = mean_of(&places, &shares, f64::exp);
    assert!((found.scale_mean(0).unwrap() / tau - 1.0).abs() < 1e-3, "{tau}");
    let [low, high] = [0.025, 0.975].map(|p| found.scale_quantile(0, p).unwrap());
    assert!(low < 0.05 && high > 0.8, "{low} {high}");
}

/// Six groups of three rows with both deviations free, against a fine sum in two dimensions.
#[test]
fn two_scales_are_integrated_as_finely_as_a_table() {
    let (groups, rows) = (6, 3);
    let y: Vec<f64> = (0..groups * rows)
        .map(|n| {
            [1.2, -0.7, 0.3, 2.0, -1.5, 0.4][n / rows]
                + [0.3, -0.5, 0.35][n % rows] * (1.0 + 0.2 * (n / rows) as f64)
        })
        .collect();
    let triplets: Vec<_> = (0..y.len()).map(|n| (n, n / rows, 1.0)).collect();
    let design = Design::triplets(y.len(), groups, &triplets).unwrap();
    let model = Glm::linear(design, &y, 1.0, Prior::scale(1.0).unwrap()).unwrap();
    let free = FreeScales {
        shared: vec![((0..groups).collect(), 1.0)],
        noise_sd: Some(1.0),
        ..FreeScales::default()
    };
    let priors = vec![HALF_T, ScalePrior::HalfNormal { scale: 1.0 }];
    let found =
        free.integrate(&model, &Integration { draws: 0, ..Integration::new(priors.clone()) }).unwrap();

    let n = rows as f64;
    let parts: Vec<(f64, f64)> = y
        .chunks(rows)
        .map(|y| {
            let mean = y.iter().sum::<f64>() / n;
            (mean, y.iter().map(|y| (y - mean).powi(2)).sum())
        })
        .collect();
    let step = 0.02;
    let (mut logs, mut places) = (Vec::new(), Vec::new());
    for i in 0..900 {
        for j in 0..300 {
            let (tau, sigma) = (-14.0 + step * f64::from(i), -3.5 + step * f64::from(j));
            let noise = (2.0 * sigma).exp();
            let between = noise + n * (2.0 * tau).exp();
            let one = |(mean, within): &(f64, f64)| {
                -0.5 * n * (2.0 * std::f64::consts::PI).ln()
                    - (n - 1.0) * sigma
                    - 0.5 * between.ln()
                    - 0.5 * within / noise
                    - 0.5 * n * mean * mean / between
            };
            let prior = priors[0].of_logarithm(tau)[0] + priors[1].of_logarithm(sigma)[0];
            logs.push(parts.iter().map(one).sum::<f64>() + prior);
            places.push([tau, sigma]);
        }
    }
    let whole = log_sum_exp(&logs);
    let exact = whole + 2.0 * f64::ln(step);
    assert!((found.log_evidence - exact).abs() < 1e-3, "{} {exact}", found.log_evidence);
    for k in 0..2 {
        let of = |f: &dyn Fn(f64) -> f64| -> f64 {
            places.iter().zip(&logs).map(|(place, log)| (log - whole).exp() * f(place[k])).sum()
        };
        let mean = of(&f64::exp);
        let sd = of(&|x| (x.exp() - mean).powi(2)).sqrt();
        assert!((found.scale_mean(k).unwrap() - mean).abs() < 0.01 * sd, "{k}: {mean}");
        assert!((found.scale_sd(k).unwrap() / sd - 1.0).abs() < 0.01, "{k}: {sd}");
    }
}

/// One logistic coefficient with a free deviation. Without a correction the sum over scales of e^{ELBO} is a lower bound of the evidence.
#[test]
fn what_the_elbo_misses_is_added_back() {
    let x = [0.5, -1.0, 1.5, 2.0, -0.3, 0.8, -2.0, 1.1];
    let y = [1.0, 0.0, 1.0, 1.0, 1.0, 0.0, 0.0, 1.0];
    let model = Glm::logistic(Design::dense(8, 1, &x).unwrap(), &y, Prior::scale(1.0).unwrap()).unwrap();
    let free = FreeScales { shared: vec![(vec![0], 1.0)], ..FreeScales::default() };
    let prior = ScalePrior::HalfNormal { scale: 3.0 };
    let (step, mut logs, mut points) = (0.02, Vec::new(), Vec::new());
    for i in 0..900 {
        let eta = -14.0 + step * f64::from(i);
        for j in 0..1200 {
            let z = -8.0 + step * f64::from(j);
            let fit: f64 = x.iter().zip(&y).map(|(x, y)| x * z * y - (x * z).exp().ln_1p()).sum();
            let normal = -0.5 * (2.0 * std::f64::consts::PI).ln() - eta - 0.5 * (z / eta.exp()).powi(2);
            // Deviations that the grid of z does not resolve have next to no mass.
            if eta > -3.5 {
                logs.push(fit + normal + prior.of_logarithm(eta)[0]);
                points.push(z);
            }
        }
        if eta <= -3.5 {
            logs.push(8.0 * 0.5f64.ln() + prior.of_logarithm(eta)[0] - step.ln());
            points.push(0.0);
        }
    }
    let whole = log_sum_exp(&logs);
    let exact = whole + 2.0 * f64::ln(step);
    let mean: f64 = points.iter().zip(&logs).map(|(z, log)| (log - whole).exp() * z).sum();
    let how = Integration { draws: 4000, ..Integration::new(vec![prior]) };
    let found = free.integrate(&model, &how).unwrap();
    assert!((found.log_evidence - exact).abs() < 0.01, "{} {exact}", found.log_evidence);
    assert!((found.mean()[0] - mean).abs() < 0.03 * found.standard_deviations()[0], "{mean}");
    let plain = free.integrate(&model, &Integration { draws: 0, ..how }).unwrap();
    assert!(plain.log_evidence < exact && plain.log_evidence > exact - 0.1, "{}", plain.log_evidence);
}

/// Sets of coefficients that have nothing to do with each other: the evidence is a product.
#[test]
fn five_scales_are_integrated_by_a_lattice_and_seven_by_weighted_draws() {
    let all = [
        -1.3, 0.4, 2.1, 0.7, -0.8, 1.9, 1.1, -2.2, 0.3, -0.9, 1.6, 2.5, 0.2, 0.9, -1.4, 0.6, -0.5, 1.2, 1.0,
        0.1, -1.8,
    ];
    let prior = ScalePrior::LogNormal { center: 0.0, sd: 0.7 };
    let found = |count: usize| {
        let y = &all[..3 * count];
        let (model, free) = one_row_each(y, 0.6, 3);
        let how = Integration { draws: 0, ..Integration::new(vec![prior; count]) };
        let exact: f64 = y.chunks(3).map(|y| line(y, 0.6, prior).2).sum();
        (model, free.clone(), how.clone(), exact)
    };
    let (model, free, how, exact) = found(5);
    let lattice = free.integrate(&model, &how).unwrap();
    assert!(matches!(lattice.rule, Rule::Lattice { complete: true, .. }), "{:?}", lattice.rule);
    assert!((lattice.log_evidence - exact).abs() < 0.02, "{} {exact}", lattice.log_evidence);
    let (model, free, how, exact) = found(7);
    let found = free.integrate(&model, &how).unwrap();
    assert!(
        matches!(found.rule, Rule::Draws { .. }) && found.evidence_change < 0.2,
        "{}",
        found.evidence_change
    );
    // Four standard errors: a false alarm has probability 1e-4, once, for this seed.
    assert!(
        (found.log_evidence - exact).abs() < 4.0 * found.evidence_change,
        "{} {exact}",
        found.log_evidence
    );
    assert_eq!(free.integrate(&model, &how).unwrap(), found);
}

/// 20 000 draws; each mean within five standard errors, a false alarm of 6e-7 each.
#[test]
fn draws_have_the_moments_of_the_mixture() {
    let (model, free) = one_row_each(&[-1.3, 0.4, 2.1, -0.2, 0.9], 0.5, 5);
    let found = free.integrate(&model, &gaussian(HALF_T)).unwrap();
    let [coefficients, scales] = found.sample(20_000, Seed(4));
    let (mean, sds) = (found.mean(), found.standard_deviations());
    let error = 5.0 / (20_000f64).sqrt();
    for i in 0..5 {
        let drawn = (0..20_000).map(|k| coefficients.row(k)[i]).sum::<f64>() / 20_000.0;
        assert!((drawn - mean[i]).abs() < error * sds[i], "{i}: {drawn}");
    }
    let logs: Vec<f64> = (0..20_000).map(|k| scales.row(k)[0].ln()).collect();
    let drawn = logs.iter().sum::<f64>() / 20_000.0;
    let [means, deviations] = found.log_scale_moments();
    assert!((drawn - means[0]).abs() < error * deviations[0], "{drawn}");
    let spread = logs.iter().map(|x| (x - drawn).powi(2)).sum::<f64>() / 20_000.0;
    assert!((spread.sqrt() / deviations[0] - 1.0).abs() < 0.05, "{spread}");
    // No two draws of a scale are the same: they are no nodes of the lattice.
    let mut sorted = logs.clone();
    sorted.sort_by(f64::total_cmp);
    assert!(sorted.windows(2).all(|pair| pair[0] < pair[1]));
    // Signs and quantiles agree with each other.
    let v = [0.0, 0.0, 1.0, 0.0, 0.0];
    let middle = found.quantile(&v, 0.5).unwrap();
    let above = (0..20_000).filter(|&k| coefficients.row(k)[2] > middle).count() as f64 / 20_000.0;
    assert!((above - 0.5).abs() < 2.5 / (20_000f64).sqrt());
    assert!(found.positive(&v).unwrap() > 0.99 && found.quantile(&v[..2], 0.5).is_err());
}

#[test]
fn what_cannot_be_integrated_is_said() {
    let (model, free) = one_row_each(&[1.0, 2.0], 0.5, 2);
    let message = |free: &FreeScales, priors: Vec<ScalePrior>| {
        free.integrate(&model, &Integration::new(priors)).unwrap_err().to_string()
    };
    assert!(message(&free, vec![HALF_T; 2]).contains("priors of scales"));
    assert!(
        message(&free, vec![ScalePrior::Exponential { rate: 0.0 }]).contains("rate of an exponential prior")
    );
    assert!(message(&FreeScales::default(), Vec::new()).contains("number of free scales"));
    assert!(free.integrate(&model, &gaussian(HALF_T)).unwrap().scale_mean(1).is_err());
}

#[test]
fn what_was_whole_before_a_stop_is_kept() {
    let (model, free) = one_row_each(&[1.0, 2.0, -0.5], 0.5, 3);
    let uncut = free.integrate(&model, &gaussian(HALF_T)).unwrap();
    let asked = crate::base::stop::Stop::default();
    asked.ask();
    let hasty = crate::base::stop::Signal::on(&asked).with_patience(std::time::Duration::ZERO);
    let nothing = hasty.cover(|| free.integrate(&model, &gaussian(HALF_T))).unwrap_err();
    assert!(matches!(nothing, Error::Stopped { .. }), "{nothing}");
    // Cut off at later and later polls: nothing, then a coarser lattice, then the same bits as without a signal.
    let (mut none, mut coarser, mut same) = (0, 0, 0);
    for cut in (0..14).map(|power| 1 << power) {
        let signal = crate::base::stop::Polls::new("the integration over scales", cut).signal();
        match signal.cover(|| free.integrate(&model, &gaussian(HALF_T))) {
            Err(Error::Stopped { .. }) => none += 1,
            Ok(found) if found == uncut => same += 1,
            Ok(found) => {
                coarser += 1;
                assert!((found.log_evidence - uncut.log_evidence).abs() < 0.1, "{found:?}");
            }
            Err(error) => panic!("{error}"),
        }
    }
    println!("{none} {coarser} {same}");
    assert!(same > 0);
}

#[test]
#[cfg(feature = "parallel")]
fn any_number_of_threads_gives_the_same_bits() {
    let (model, free) = one_row_each(&[1.0, 2.0, -0.5, 0.3, -1.2, 0.8], 0.5, 3);
    let how = Integration { draws: 64, ..Integration::new(vec![HALF_T; 2]) };
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| free.integrate(&model, &how)).unwrap()
    };
    assert_eq!(on(1), on(3));
}

/// Groups with an intercept and a slope each, correlated: against a sum over the two deviations and the correlation, where the marginal law of
/// each group's rows is a normal one.
#[test]
fn correlated_effects_are_integrated_as_finely_as_a_table() {
    let groups = [[0.9, 1.6, 2.6], [-0.4, -0.9, -1.2], [0.1, 0.6, 0.3], [1.2, 1.9, 3.1], [-1.0, -1.2, -2.1]];
    let (x, sigma) = ([-1.0, 0.0, 1.0], 0.4);
    let (mut triplets, mut y) = (Vec::new(), Vec::new());
    for (g, rows) in groups.iter().enumerate() {
        for (x, value) in x.iter().zip(rows) {
            triplets.extend([(y.len(), 2 * g, 1.0), (y.len(), 2 * g + 1, *x)]);
            y.push(*value);
        }
    }
    let design = Design::triplets(15, 10, &triplets).unwrap();
    let model = Glm::linear(design, &y, sigma, Prior::scale(1.0).unwrap()).unwrap();
    let sets = [0, 1].map(|first| ((0..5).map(|g| 2 * g + first).collect(), 1.0));
    let free = FreeScales { shared: sets.to_vec(), correlated: vec![vec![0, 1]], ..FreeScales::default() };
    let how = Integration { correlations: vec![1.5], draws: 0, ..Integration::new(vec![HALF_T; 2]) };
    let found = free.integrate(&model, &how).unwrap();

    // p(y | τ, ρ) group by group, on a table of 60 × 60 × 60.
    let (mut logs, mut values) = (Vec::new(), Vec::new());
    let line = |low: f64, high: f64| (0..60).map(move |k| low + (high - low) * (f64::from(k) + 0.5) / 60.0);
    for a in line(-2.5, 3.0) {
        for b in line(-4.0, 2.5) {
            for r in line(-4.0, 4.0) {
                let (first, second, rho) = (a.exp(), b.exp(), r.tanh());
                let mut covariance = Matrix::zeros(3, 3);
                for i in 0..3 {
                    for j in 0..3 {
                        let noise = if i == j { sigma * sigma } else { 0.0 };
                        covariance[(i, j)] = first * first
                            + first * second * rho * (x[i] + x[j])
                            + second * second * x[i] * x[j]
                            + noise;
                    }
                }
                let factor = crate::base::linalg::Cholesky::new("y", &covariance).unwrap();
                let of_group = |rows: &[f64; 3]| {
                    let mut solved = *rows;
                    factor.solve(&mut solved);
                    -0.5 * (factor.log_det() + dot(rows, &solved) + 3.0 * (2.0 * std::f64::consts::PI).ln())
                };
                let prior: f64 = [a, b].map(|eta| HALF_T.of_logarithm(eta)[0]).iter().sum();
                let own = correlation::lkj(2, 1.5, &[r], &mut [0.0]);
                logs.push(groups.iter().map(of_group).sum::<f64>() + prior + own);
                values.push([first, second, rho]);
            }
        }
    }
    let whole = log_sum_exp(&logs);
    let cell = (5.5 * 6.5 * 8.0f64 / 60f64.powi(3)).ln();
    assert!((found.log_evidence - whole - cell).abs() < 3e-3, "{} {}", found.log_evidence, whole + cell);
    for which in 0..3 {
        let mean = |f: &dyn Fn(f64) -> f64| -> f64 {
            logs.iter().zip(&values).map(|(log, value)| (log - whole).exp() * f(value[which])).sum()
        };
        let first = mean(&|x| x);
        let sd = mean(&|x| (x - first).powi(2)).sqrt();
        assert!((found.scale_mean(which).unwrap() - first).abs() < 0.01 * sd, "{which}: {first}");
        assert!((found.scale_sd(which).unwrap() / sd - 1.0).abs() < 0.01, "{which}: {sd}");
        for level in [0.025, 0.5, 0.975] {
            // Each cell of the table has its mass all over its width.
            let (back, width): (fn(f64) -> f64, f64) =
                [(f64::ln as fn(f64) -> f64, 5.5), (f64::ln, 6.5), (f64::atanh, 8.0)][which];
            let end = back(found.scale_quantile(which, level).unwrap());
            let below = mean(&|x| ((end - back(x)) * 60.0 / width + 0.5).clamp(0.0, 1.0));
            assert!((below - level).abs() < 0.006, "{which}: {below} at {level}");
        }
        let [low, high] = [0.025, 0.975].map(|level| found.scale_quantile(which, level).unwrap());
        let step = (high - low) / 400.0;
        let sum: f64 = (0..400)
            .map(|k| step * found.scale_density(which, low + step * (f64::from(k) + 0.5)).unwrap())
            .sum();
        assert!((sum - 0.95).abs() < 1e-4, "{which}: {sum}");
    }
    // Draws have the same law.
    let [_, draws] = found.sample(20_000, Seed(4));
    let mean = (0..20_000).map(|i| draws[(i, 2)]).sum::<f64>() / 20_000.0;
    println!("{} nodes, {:?}", found.nodes.len(), found.rule);
    assert!(
        (mean - found.scale_mean(2).unwrap()).abs()
            < 5.0 * found.scale_sd(2).unwrap() / 20_000f64.sqrt() + 5e-3
    );
}

/// With fewer rows than columns and rows that are fitted exactly, deviations differ by many powers of ten; both ways to the factor agree where
/// both can be gone.
#[test]
fn a_mixture_has_a_gaussian_whatever_its_condition() {
    let mut x = [0.0; 40];
    provi_kernels::normals(8, 0, 0, &mut x);
    let how = Integration { draws: 0, ..Integration::new(vec![ScalePrior::Exponential { rate: 1.0 }]) };
    for (y, noise) in [([0.3, -1.0, 0.8, 2.0, -0.4], 0.5), ([0.0; 5], 1e-9)] {
        let model =
            Glm::linear(Design::dense(5, 8, &x).unwrap(), &y, noise, Prior::scale(1e3).unwrap()).unwrap();
        let free = FreeScales { noise_sd: Some(noise), ..FreeScales::default() };
        let found = free.integrate(&model, &how).unwrap();
        for q in [found.gaussian().unwrap(), found.gaussian_by_the_heaviest().unwrap()] {
            for (i, sd) in found.standard_deviations().iter().enumerate() {
                assert!((q.deviation(i) / sd - 1.0).abs() < 1e-6, "{i}");
                assert!((q.mean()[i] - found.mean()[i]).abs() <= 0.0);
            }
        }
    }
}

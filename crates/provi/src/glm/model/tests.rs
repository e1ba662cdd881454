use super::*;
use crate::glm::Time;

fn model(family: Family, sparse: bool) -> Glm {
    let mut entries = vec![0.0; 30];
    provi_kernels::normals(5, 1, 0, &mut entries);
    let design = if sparse {
        let triplets: Vec<_> = (0..30).map(|e| (e / 3, e % 3, entries[e])).collect();
        Design::triplets(10, 3, &triplets).unwrap()
    } else {
        Design::dense(10, 3, &entries).unwrap()
    };
    let positive = family.gamma_shape().or(family.hazard_shape()).is_some();
    let least = if positive { 0.5 } else { 0.0 };
    let y: Vec<f64> = (0..10).map(|n| least + f64::from(n % 2)).collect();
    let weights: Vec<f64> = (0..10).map(|n| 0.5 + 0.1 * f64::from(n)).collect();
    let prior = Prior::precision_matrix(
        Matrix::new(3, 3, vec![2.0, 0.3, 0.0, 0.3, 1.0, 0.1, 0.0, 0.1, 0.7]).unwrap(),
    );
    let prior = prior.unwrap().with_mean(&[0.1, -0.2, 0.3]).unwrap();
    let model = match family.is_coarse() {
        true => Glm::times(family, design, &Time::mixed(10), prior),
        false => Glm::new(family, design, &y, prior),
    };
    model.unwrap().with_weights(&weights).unwrap().with_offsets(&[0.25; 10]).unwrap()
}

const ALL: [Family; 12] = [
    Family::Gaussian { noise_sd: 0.8 },
    Family::Bernoulli,
    Family::Probit,
    Family::Cloglog,
    Family::Poisson,
    Family::Gamma { noise_sd: 0.8 },
    Family::Exponential,
    Family::Weibull { noise_sd: 0.6, unit: 1.3, coarse: false },
    Family::ExponentialTime { unit: 0.7, coarse: false },
    Family::Weibull { noise_sd: 0.6, unit: 1.3, coarse: true },
    Family::ExponentialTime { unit: 0.7, coarse: true },
    Family::NegativeBinomial { noise_sd: 0.7 },
];

/// In every bit, for one point and for several.
#[test]
fn values_alone_are_those_with_gradients() {
    for family in ALL {
        for sparse in [false, true] {
            let model = model(family, sparse);
            let mut points = vec![0.0; 9];
            provi_kernels::normals(7, 1, 0, &mut points);
            let (mut both, mut gradients, mut alone) = ([0.0; 3], [0.0; 9], [1.0; 3]);
            let scratch = &mut Scratch::default();
            model.log_densities(&points, &mut both, &mut gradients, scratch).unwrap();
            assert!(model.log_densities_alone(&points, &mut alone, scratch).unwrap());
            assert_eq!(both.map(f64::to_bits), alone.map(f64::to_bits), "{family:?}");
            // Written, not added to.
            assert!(model.log_densities_alone(&points, &mut alone, scratch).unwrap());
            assert_eq!(both.map(f64::to_bits), alone.map(f64::to_bits), "{family:?}");
        }
    }
}

#[test]
fn gradient_and_hessian_match_differences_dense_and_sparse() {
    for family in ALL {
        for sparse in [false, true] {
            let model = model(family, sparse);
            let z = [0.4, -0.3, 0.8];
            let (mut g, mut up, mut down) = ([0.0; 3], [0.0; 3], [0.0; 3]);
            let mut h = Matrix::zeros(3, 3);
            model.log_density(&z, &mut g).unwrap();
            assert!(model.hessian(&z, &mut h).unwrap());
            for i in 0..3 {
                let step = 1e-5;
                let (mut zu, mut zd) = (z, z);
                zu[i] += step;
                zd[i] -= step;
                let slope = (model.log_density(&zu, &mut up).unwrap()
                    - model.log_density(&zd, &mut down).unwrap())
                    / (2.0 * step);
                assert!((slope - g[i]).abs() < 1e-7, "{family:?} {slope} {}", g[i]);
                for j in 0..3 {
                    assert!(((up[j] - down[j]) / (2.0 * step) - h[(i, j)]).abs() < 1e-7);
                }
            }
        }
    }
}

#[test]
fn a_batch_equals_its_single_points() {
    for family in ALL {
        let model = model(family, false);
        let points = [0.1, 0.2, 0.3, -1.0, 2.0, 0.5];
        let (mut values, mut gradients) = ([0.0; 2], [0.0; 6]);
        model.log_densities(&points, &mut values, &mut gradients, &mut Scratch::default()).unwrap();
        for k in 0..2 {
            let mut gradient = [0.0; 3];
            let value = model.log_density(&points[3 * k..3 * k + 3], &mut gradient).unwrap();
            assert!((value - values[k]).abs() < 1e-13);
            for i in 0..3 {
                assert!((gradient[i] - gradients[3 * k + i]).abs() < 1e-13);
            }
        }
    }
}

#[test]
fn a_binomial_row_is_its_trials_one_by_one() {
    let prior = || Prior::scale(1.5).unwrap();
    let counts = Design::dense(2, 2, &[1.0, 0.3, 1.0, -0.8]).unwrap();
    let grouped = Glm::binomial(counts, &[2.0, 0.0], &[3.0, 2.0], prior()).unwrap();
    let grouped = grouped.with_weights(&[1.0, 0.5]).unwrap();
    let rows: Vec<f64> = [[1.0, 0.3]; 3].into_iter().chain([[1.0, -0.8]; 2]).flatten().collect();
    let single = Design::dense(5, 2, &rows).unwrap();
    let single = Glm::logistic(single, &[1.0, 1.0, 0.0, 0.0, 0.0], prior()).unwrap();
    let single = single.with_weights(&[1.0, 1.0, 1.0, 0.5, 0.5]).unwrap();
    let (mut a, mut b) = ([0.0; 2], [0.0; 2]);
    let z = [0.4, -1.1];
    // Three orders of two successes in three trials; the row of weight ½ has one.
    let difference = grouped.log_density(&z, &mut a).unwrap() - single.log_density(&z, &mut b).unwrap();
    assert!((difference - 3f64.ln()).abs() < 1e-13);
    assert!((a[0] - b[0]).abs() < 1e-13 && (a[1] - b[1]).abs() < 1e-13);
    let bound = |model: &Glm| model.curvature().unwrap().unwrap().smoothness().unwrap();
    assert!((bound(&grouped) - bound(&single)).abs() < 1e-12);
}

#[test]
fn impossible_counts_are_refused() {
    let refused = |k: f64, n: f64| {
        let design = Design::dense(1, 1, &[1.0]).unwrap();
        Glm::binomial(design, &[k], &[n], Prior::scale(1.0).unwrap()).unwrap_err().to_string()
    };
    assert!(refused(3.0, 2.0).contains("response 3 at row 0 is not a whole number from 0 to the trials"));
    assert!(refused(1.5, 2.0).contains("response 1.5"));
    assert!(refused(0.0, 0.0).contains("at least 1"));
}

#[test]
fn sizes_and_weights_are_checked() {
    let design = Design::dense(2, 1, &[1.0, 2.0]).unwrap();
    let prior = Prior::precision(1.0).unwrap();
    assert!(Glm::logistic(design.clone(), &[1.0], prior.clone()).is_err());
    assert!(Glm::logistic(design.clone(), &[1.0, 0.5], prior.clone()).is_err());
    let ok = Glm::logistic(design, &[1.0, 0.0], prior).unwrap();
    assert!(ok.clone().with_weights(&[1.0, -1.0]).is_err());
    assert!(ok.clone().with_offsets(&[1.0]).is_err());
    assert!(ok.with_names(vec!["a".into(), "b".into()]).is_err());
}

/// Σ w_n[y_n s_n − e^{s_n}] is what counts and rates share; a rate need not be whole, and its posterior is that of its counts.
#[test]
fn a_rate_is_its_count_over_its_exposure() {
    let design = || Design::dense(3, 2, &[1.0, 0.4, 1.0, -0.7, 1.0, 1.3]).unwrap();
    let prior = || Prior::scale(2.0).unwrap();
    let (counts, years) = ([3.0, 0.0, 5.0], [2.0, 1.5, 4.0]);
    let rates: Vec<f64> = counts.iter().zip(&years).map(|(k, t)| k / t).collect();
    let by_rate = Glm::poisson_rates(design(), &rates, prior()).unwrap().with_weights(&years).unwrap();
    let offsets: Vec<f64> = years.iter().map(|t: &f64| t.ln()).collect();
    let by_count = Glm::poisson(design(), &counts, prior()).unwrap().with_offsets(&offsets).unwrap();
    let at = |model: &Glm, z: [f64; 2]| {
        let mut gradient = [0.0; 2];
        (model.log_density(&z, &mut gradient).unwrap(), gradient)
    };
    let (here, there) = ([0.3, -0.2], [-0.5, 0.9]);
    let rise = |model: &Glm| at(model, there).0 - at(model, here).0;
    assert!((rise(&by_rate) - rise(&by_count)).abs() < 1e-12);
    let (a, b) = (at(&by_rate, here).1, at(&by_count, here).1);
    assert!((a[0] - b[0]).abs() < 1e-12 && (a[1] - b[1]).abs() < 1e-12);

    let whole = Glm::poisson_rates(design(), &counts, prior()).unwrap();
    assert_eq!(at(&whole, here), at(&Glm::poisson(design(), &counts, prior()).unwrap(), here));
    for bad in [-0.5, f64::NAN, f64::INFINITY] {
        let refused = Glm::poisson_rates(design(), &[1.0, bad, 2.0], prior()).unwrap_err().to_string();
        assert!(refused.contains("row 1") && refused.contains("at least 0"), "{refused}");
    }
}

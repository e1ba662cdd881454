use super::*;
use proptest::prelude::*;

fn gaussian(d: usize, seed: u64) -> Gaussian<Triangular> {
    let mut parameters = vec![0.0; d + packed_len(d)];
    provi_kernels::normals(seed, 0, 0, &mut parameters);
    for i in 0..d {
        let pivot = &mut parameters[d + packed_index(i, i)];
        *pivot = 0.1 + pivot.abs();
    }
    Gaussian::from_parameters(d, parameters)
}

/// T, column by column.
fn matrix(map: &Standard, d: usize) -> Matrix {
    let mut out = Matrix::zeros(d, d);
    for j in 0..d {
        let mut unit = vec![0.0; d];
        unit[j] = 1.0;
        for (i, x) in map.to_own(&unit).into_iter().enumerate() {
            out[(i, j)] = x;
        }
    }
    out
}

proptest! {
    #[test]
    fn a_gaussian_goes_there_and_back(
        d in 1usize..9, seed in 0u64..100, which in 0usize..9, k in 0.5..3.0f64, far in -3.0..6.0f64,
    ) {
        let (i, mut centers, mut sizes) = (which % d, vec![0.0; d], vec![0.0; d]);
        provi_kernels::normals(seed, 1, 0, &mut centers);
        provi_kernels::normals(seed, 2, 0, &mut sizes);
        centers.iter_mut().for_each(|c| *c *= 10f64.powf(far));
        sizes.iter_mut().for_each(|s| *s = s.exp());
        centers[i] = 0.0;
        let map = Standard::new(Some((i, k)), centers.clone(), &sizes);
        let q = gaussian(d, seed);
        let own = map.own_gaussian(&q);
        // The law of Tb: T CCᵀTᵀ, up to what the largest terms of each entry may lose.
        let t = matrix(&map, d);
        let expected = crate::base::linalg::multiply(&crate::base::linalg::multiply(&t, &q.covariance()), &{
            let mut transposed = Matrix::zeros(d, d);
            (0..d * d).for_each(|e| transposed[(e / d, e % d)] = t[(e % d, e / d)]);
            transposed
        });
        let found = own.covariance();
        let deviations = own.standard_deviations();
        for a in 0..d {
            prop_assert!(own.factor()[packed_index(a, a)] > 0.0);
            for b in 0..d {
                let unit = 1e-9 * (deviations[a] * deviations[b] + expected[(a, b)].abs());
                prop_assert!((found[(a, b)] - expected[(a, b)]).abs() <= unit, "({a}, {b}) of {map:?}");
            }
        }
        // Back again, up to what numbers of the user's size can say: ε·|c|.
        let back = map.standard_gaussian(&own);
        let lost = 1e-13 * (1.0 + 10f64.powf(far) * 30.0) * (d * d) as f64;
        for (x, y) in back.parameters().iter().zip(q.parameters()) {
            prop_assert!((x - y).abs() <= lost * (1.0 + y.abs()), "{x} {y} {map:?}");
        }
        // vᵀβ = (Tᵀv)ᵀb.
        let v: Vec<f64> = (0..d).map(|j| 1.0 + j as f64).collect();
        let (own, standard) = (provi_kernels::dot(&v, own.mean()), provi_kernels::dot(&map.pull(&v), q.mean()));
        prop_assert!((own - standard).abs() <= lost * (1.0 + own.abs()), "{own} {standard}");
    }
}

#[test]
fn scales_alone_round_nothing() {
    let map = Standard::new(Some((0, 1.0)), vec![0.0; 3], &[0.9, 3e-9, 7e8]);
    let q = gaussian(3, 4);
    assert_eq!(map.own_gaussian(&map.standard_gaussian(&q)), q);
    assert!(!map.is_identity() && !map.is_centred());
    assert!(Standard::new(Some((0, 1.0)), vec![0.0; 2], &[1.2, 0.8]).is_identity());
    assert!(!Standard::new(Some((0, 2.0)), vec![0.0; 2], &[1.0, 1.0]).is_identity());
    let pivots = matrix(&map, 3);
    let expected: f64 = (0..3).map(|j| pivots[(j, j)].ln()).sum();
    assert!((map.log_det() - expected).abs() < 1e-13);
}

#[test]
fn sizes_without_a_power_of_two_have_one() {
    let sizes = [0.0, f64::NAN, 1.4, 1.5, 0.7, f64::INFINITY, f64::MIN_POSITIVE];
    let powers = [1.0, 1.0, 1.0, 2.0, 0.5, 2f64.powi(400), 2f64.powi(-400)];
    assert_eq!(sizes.map(power_of_two).map(f64::to_bits), powers.map(f64::to_bits));
}

/// Seconds since 1970: at the mean the predictor is the intercept of the centred model, to the last digit.
#[test]
fn a_prediction_at_the_mean_does_not_cancel() {
    let center = 1.6e9 + 12345.0;
    let map = Standard::new(Some((0, 1.0)), vec![0.0, center], &[1.0, 1e6]);
    assert_eq!(map.pull(&[1.0, center]), [1.0, 0.0]);
    let b = [0.3, -0.8];
    let back = map.to_standard(&map.to_own(&b));
    assert!((back[0] - b[0]).abs() < 1e-12 && (back[1] - b[1]).abs() < 1e-16, "{back:?}");
}

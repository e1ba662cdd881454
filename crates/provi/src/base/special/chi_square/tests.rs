use super::*;

/// (d, λ, r², log P(χ'²_d(λ) > r²)), from 60-digit arithmetic.
const NONCENTRAL: [(usize, f64, f64, f64); 25] = [
    (1, 0.5, 1.0, -0.8469909317303637),
    (1, 1e-08, 30.0, -16.957318003417093),
    (2, 3.0, 0.1, -0.011356174615750673),
    (3, 4.0, 10.0, -1.4957610542582334),
    (5, 0.01, 400.0, -191.95338237199044),
    (5, 100.0, 60.0, -0.006568434822497041),
    (5, 100.0, 140.0, -3.002796679127692),
    (5, 100.0, 2000.0, -604.2587448270417),
    (20, 1.0, 50.0, -7.6590058917382775),
    (20, 1.0, 100.0, -25.57432034781153),
    (20, 25.0, 2500.0, -995.5090452629225),
    (31, 9.5, 81.0, -7.541277617926281),
    (100, 0.3, 225.0, -24.889024888032075),
    (100, 400.0, 350.0, -5.89473668488435e-05),
    (100, 2000.0, 2100.0, -0.7019256533908146),
    (1000, 10.0, 1400.0, -32.904762447101156),
    (1000, 5000.0, 9000.0, -167.3989174413192),
    (10000, 1.0, 11000.0, -26.293980371337206),
    (10000, 50000.0, 60500.0, -1.9430007374860985),
    (50000, 100000.0, 147000.0, -9.980204749307553e-06),
    (50000, 100000.0, 153000.0, -11.31483197832768),
    (7, 40000.0, 43000.0, -29.94024113157232),
    (7, 40000.0, 60000.0, -1014.3216965015547),
    (1, 1e-300, 2.0, -1.8496055099332482),
    (3, 0.0, 7.0, -2.6325099953127196),
];

#[test]
fn the_noncentral_tail_is_bounded_from_above_and_tightly() {
    for (d, lambda, r2, ln_tail) in NONCENTRAL {
        let excess = ln_noncentral_chi_square_tail_upper(d, lambda, r2) - ln_tail;
        assert!(excess > 0.0 && excess < 5e-11, "d = {d}, λ = {lambda}, r² = {r2}: {excess:e}");
    }
    let tail = ln_noncentral_chi_square_tail_upper(1, 0.5, 1.0).exp();
    assert!((tail.ln() + 0.846_990_931_730_363_7).abs() < 5e-11);
}

#[test]
fn the_central_tail_is_the_exponential_for_two_degrees() {
    for r2 in [0.0, 1e-3, 1.0, 30.0, 1400.0, 5000.0] {
        assert!((ln_gamma_upper(1.0, 0.5 * r2) + 0.5 * r2).abs() <= 1e-15 * r2);
        assert!((chi_square_tail(2, r2) - (-0.5 * r2).exp()).abs() <= 1e-12 * (-0.5 * r2).exp());
    }
}

#[test]
fn the_bound_never_exceeds_one_and_ends_for_every_input() {
    let bound = ln_noncentral_chi_square_tail_upper;
    for lambda in [0.0, 1e-320, 1.0, 1e6, 1e15, 1e300, f64::MAX, f64::INFINITY] {
        assert!(bound(3, lambda, 0.0) == 0.0 && bound(3, lambda, -1.0) == 0.0);
        for r2 in [1e-320, 1.0, 1e4, 1e15, 1e300, f64::MAX] {
            let found = bound(3, lambda, r2);
            assert!(found <= 0.0, "λ = {lambda}, r² = {r2}: {found}");
            assert!(found > -r2, "λ = {lambda}, r² = {r2}: {found}");
        }
    }
    assert!(bound(3, f64::NAN, 1.0).is_nan() && bound(3, 1.0, f64::NAN).is_nan());
    assert!(bound(3, 1.0, f64::INFINITY) == f64::NEG_INFINITY);
}

#[test]
fn chernoff_is_above_the_sum() {
    for (d, lambda, r2, ln_tail) in NONCENTRAL {
        if lambda > 0.0 {
            let bound = ln_chernoff(0.5 * d as f64, 0.5 * lambda, 0.5 * r2);
            assert!(bound > ln_tail && bound < ln_tail + 8.0, "d = {d}, λ = {lambda}, r² = {r2}: {bound}");
        }
    }
}

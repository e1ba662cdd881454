//! Every operation, one at a time.

use num_dual::{Dual64, DualNum};

use super::super::{Matrix, Var, gradient, logsumexp};
use super::{assert_close, check};

const POINT: [f64; 4] = [0.3, 1.7, 0.9, 2.4];
const SIGNED: [f64; 4] = [-1.3, 0.4, -0.2, 2.1];
const WEIGHTS: [f64; 4] = [0.5, -1.0, 2.0, 0.25];

fn weighted(terms: impl Iterator<Item = Dual64>) -> Dual64 {
    terms.zip(WEIGHTS).map(|(x, w)| x * w).sum()
}

/// The scalar method and its elementwise twin, at each point.
macro_rules! unary {
    ($($name:ident at $point:ident: |$x:ident| $dual:expr;)*) => {$(
        #[test]
        fn $name() {
            check(&$point, |z| z.$name().dot(&WEIGHTS), |z| weighted(z.iter().map(|&$x| $dual)));
            check(
                &$point,
                |z| z.iter().zip(WEIGHTS).map(|(x, w)| w * x.$name()).sum(),
                |z| weighted(z.iter().map(|&$x| $dual)),
            );
        }
    )*};
}

unary! {
    exp at SIGNED: |x| x.exp();
    exp_m1 at SIGNED: |x| x.exp_m1();
    ln at POINT: |x| x.ln();
    ln_1p at POINT: |x| x.ln_1p();
    sqrt at POINT: |x| x.sqrt();
    square at SIGNED: |x| x * x;
    recip at SIGNED: |x| x.recip();
    abs at SIGNED: |x| if x.re < 0.0 { -x } else { x };
    sin at SIGNED: |x| x.sin();
    cos at SIGNED: |x| x.cos();
    tan at SIGNED: |x| x.tan();
    atan at SIGNED: |x| x.atan();
    sinh at SIGNED: |x| x.sinh();
    cosh at SIGNED: |x| x.cosh();
    tanh at SIGNED: |x| x.tanh();
    sigmoid at SIGNED: |x| ((-x).exp() + 1.0).recip();
    softplus at SIGNED: |x| x.exp().ln_1p();
    log_sigmoid at SIGNED: |x| -(-x).exp().ln_1p();
}

/// Central differences of order eight; error near 1e-11 for functions of unit scale.
fn difference(f: impl Fn(f64) -> f64, x: f64) -> f64 {
    const STENCIL: [f64; 4] = [4.0 / 5.0, -1.0 / 5.0, 4.0 / 105.0, -1.0 / 280.0];
    let h = 0.01;
    let pairs = STENCIL.iter().zip(1..).map(|(c, k)| c * (f(x + h * f64::from(k)) - f(x - h * f64::from(k))));
    pairs.sum::<f64>() / h
}

#[test]
fn special_functions_have_their_slopes() {
    fn agrees(f: impl for<'t> Fn(Var<'t>) -> Var<'t>) {
        for x in SIGNED.into_iter().chain(POINT).chain([-5.3, 7.5]) {
            let slope = gradient(|z| f(z.at(0)), &[x]).unwrap().1[0];
            assert_close(slope, difference(|x| f(Var::constant(x)).value(), x), 1e-8);
        }
    }
    agrees(|x| x.ln_gamma());
    agrees(|x| x.erf());
    agrees(|x| x.erfc());
    agrees(|x| x.normal_cdf());
    agrees(|x| x.log_normal_cdf());
    check(&SIGNED, |z| z.erf().sum() + z.erfc().sum(), |_| Dual64::new(4.0, 0.0));
    let elementwise = gradient(|z| (z.ln_gamma() * z.normal_cdf() + z.log_normal_cdf()).sum(), &POINT);
    let scalars =
        gradient(|z| z.iter().map(|x| x.ln_gamma() * x.normal_cdf() + x.log_normal_cdf()).sum(), &POINT);
    assert_eq!(elementwise.unwrap().1, scalars.unwrap().1);
}

#[test]
fn tails_keep_their_slopes() {
    let at = |f: for<'t> fn(Var<'t>) -> Var<'t>, x: f64| {
        let (value, slope) = gradient(|z| f(z.at(0)), &[x]).unwrap();
        (value, slope[0])
    };
    assert_eq!(at(|x| x.softplus(), 800.0), (800.0, 1.0));
    assert_eq!(at(|x| x.softplus(), -800.0), (0.0, 0.0));
    assert_eq!(at(|x| x.log_sigmoid(), -800.0), (-800.0, 1.0));
    assert_eq!(at(|x| x.tanh(), 800.0), (1.0, 0.0));
    assert_close(at(|x| x.sigmoid(), -300.0).1 / (-300f64).exp(), 1.0, 1e-14);
    assert_close(at(|x| x.tanh(), 20.0).1 / (4.0 * (-40f64).exp()), 1.0, 1e-14);
    let (value, slope) = at(|x| x.log_normal_cdf(), -40.0);
    assert_close(value / -804.608_442_013_753_8, 1.0, 1e-15);
    assert_close(slope / 40.024_968_847_207_26, 1.0, 1e-15);
    assert_close(at(|x| x.log_normal_cdf(), -1e8).1 / 1e8, 1.0, 1e-15);
    assert_close(at(|x| x.ln_gamma(), 1e-9).1 / (-1e9 - 0.577_215_664_901_532_9), 1.0, 1e-15);
    assert_close(at(|x| x.ln_gamma(), 1e12).1 / 1e12f64.ln(), 1.0, 1e-12);
}

#[test]
fn scalar_operators() {
    let both = |z: &[Dual64]| {
        let (a, b) = (z[0], z[1]);
        (a + b) * (a - b) / (b * b)
            + (a * 2.0 - 1.0) / 4.0
            + (-a + 3.0)
            + (b.recip() * 1.5)
            + (-b + 5.0) * 0.5
    };
    check(
        &POINT,
        |z| {
            let (a, b) = (z.at(0), z.at(1));
            let mut sum = (a + b) * (a - b) / (b * b);
            sum += (a * 2.0 - 1.0) / 4.0;
            sum -= -(3.0 + -a);
            sum += 1.5 / b + 0.5 * (5.0 - b);
            sum *= 2.0;
            sum /= 2.0;
            sum
        },
        both,
    );
    check(
        &POINT,
        |z| {
            z.iter().product::<Var>()
                + z.at(0).powi(3)
                + z.at(1).powi(-2)
                + z.at(2).powi(0)
                + z.at(3).powf(1.7)
        },
        |z| z[0] * z[1] * z[2] * z[3] + z[0].powi(3) + z[1].powi(-2) + 1.0 + z[3].powf(1.7),
    );
    check(&POINT, |z| z.at(0).powf(z.at(1)), |z| (z[1] * z[0].ln()).exp());
    check(&POINT, |z| z.at(0).max(z.at(1)) - z.at(2).min(0.5) + z.at(3).max(0.5), |z| z[1] - 0.5 + z[3]);
    check(
        &SIGNED,
        |z| logsumexp(&[z.at(0), z.at(1), z.at(2)]),
        |z| (z[0].exp() + z[1].exp() + z[2].exp()).ln(),
    );
    assert!(logsumexp(&[]).value() == f64::NEG_INFINITY);
    let (value, slope) = gradient(|z| logsumexp(&[z.at(0), z.at(1)]), &[1000.0, 0.0]).unwrap();
    assert_eq!((value, slope), (1000.0, vec![1.0, 0.0]));
}

#[test]
fn vector_operators_with_every_operand() {
    let list = WEIGHTS.to_vec();
    let slice = &WEIGHTS[..];
    check(
        &POINT,
        |z| {
            let s = z.at(1);
            let mut v = (z + z * 2.0 - 1.0) / 3.0 - z / (z + s);
            v += 3.0 + s - z;
            v -= s;
            v *= s;
            v /= 2.0;
            (v * v + s * z + s / z + (s - z) + (2.0 - z) + 1.0 / z - (-z)).sum()
        },
        |z| {
            let s = z[1];
            let term = |x: Dual64| {
                let v = (x * 3.0 - 1.0) / 3.0 - x / (x + s);
                let v = (v + 3.0 + s - x - s) * s / 2.0;
                v * v + s * x + s / x + (s - x) + (-x + 2.0) + x.recip() + x
            };
            z.iter().map(|&x| term(x)).sum()
        },
    );
    check(
        &POINT,
        |z| {
            ((z + &list) * &WEIGHTS / slice - slice
                + (&list - z) * (slice * z)
                + (&WEIGHTS + z) / z
                + slice / z)
                .sum()
        },
        |z| {
            let terms = z.iter().zip(WEIGHTS);
            terms.map(|(&x, w)| x + (-x + w) * (x * w) + (x + w) / x + x.recip() * w).sum()
        },
    );
    check(
        &POINT,
        |z| (z.powi(3) + z.powf(1.5) + z.powf(z) + z.powf(&WEIGHTS) + z.max(1.0) + z.min(z.at(2))).sum(),
        |z| {
            let terms = z.iter().zip(WEIGHTS);
            terms
                .map(|(&x, w)| {
                    let (large, small) =
                        (if x.re > 1.0 { x } else { Dual64::from(1.0) }, if x.re < 0.9 { x } else { z[2] });
                    x.powi(3) + x.powf(1.5) + (x * x.ln()).exp() + x.powf(w) + large + small
                })
                .sum()
        },
    );
}

#[test]
fn reductions() {
    check(&SIGNED, |z| z.sum() * z.mean(), |z| z.iter().sum::<Dual64>().powi(2) / 4.0);
    check(&SIGNED, |z| z.dot(z.sin()), |z| z.iter().map(|x| x * x.sin()).sum());
    check(
        &SIGNED,
        |z| z.dot(&WEIGHTS) * z.dot(z.at(0)),
        |z| weighted(z.iter().copied()) * z.iter().sum::<Dual64>() * z[0],
    );
    check(&SIGNED, |z| z.norm_squared().sqrt(), |z| z.iter().map(|x| x * x).sum::<Dual64>().sqrt());
    check(&SIGNED, |z| (3.0 * z).logsumexp(), |z| z.iter().map(|&x| (x * 3.0).exp()).sum::<Dual64>().ln());
    let (value, slope) = gradient(|z| z.logsumexp(), &[-1000.0, -2000.0]).unwrap();
    assert_eq!((value, slope), (-1000.0, vec![1.0, 0.0]));
}

#[test]
fn parts_and_rearrangements() {
    check(
        &SIGNED,
        |z| z.slice(1..3).dot(z.slice(2..)) + z.slice(..=0).sum(),
        |z| z[1] * z[2] + z[2] * z[3] + z[0],
    );
    check(
        &SIGNED,
        |z| (z.gather(&[3, 0, 3, 1]) * &WEIGHTS * z).sum(),
        |z| weighted([z[3] * z[0], z[0] * z[1], z[3] * z[2], z[1] * z[3]].into_iter()),
    );
    check(
        &SIGNED,
        |z| z.segment_sum(&[1, 0, 1, 1], 3).powi(3).sum(),
        |z| (z[0] + z[2] + z[3]).powi(3) + z[1].powi(3),
    );
    check(
        &SIGNED,
        |z| z.cumulative_sum().sin().dot(&WEIGHTS),
        |z| {
            let mut sum = Dual64::from(0.0);
            weighted(z.iter().map(|x| {
                sum += *x;
                sum.sin()
            }))
        },
    );
    check(
        &SIGNED,
        |z| z.concat(&[z.slice(1..2), z.exp()]).slice(2..6).dot(&WEIGHTS),
        |z| weighted([z[2], z[3], z[1], z[0].exp()].into_iter()),
    );
    check(
        &SIGNED,
        |z| z.stack([z.at(2) * z.at(1), 2.0.into(), z.at(0), z.at(0)]).dot(z.constants(&WEIGHTS)),
        |z| weighted([z[2] * z[1], Dual64::from(2.0), z[0], z[0]].into_iter()),
    );
}

#[test]
fn an_iterator_may_compute_while_it_is_stacked() {
    check(
        &SIGNED,
        |z| {
            let rows = z.iter().map(|x| z.stack(z.iter().map(|y| (x * y).tanh())).sum());
            z.stack(rows).dot(&WEIGHTS)
        },
        |z| weighted(z.iter().map(|x| z.iter().map(|y| (x * y).tanh()).sum())),
    );
}

#[test]
fn functions_of_the_caller_may_use_the_tape() {
    check(
        &SIGNED,
        |z| {
            let cube = |x: f64| {
                let _ = z.map(|y| (y, 1.0)).sum();
                (x.powi(3), 3.0 * x * x)
            };
            z.map(cube).dot(&WEIGHTS) + z.at(0).map(cube)
        },
        |z| weighted(z.iter().map(|x| x.powi(3))) + z[0].powi(3),
    );
}

#[test]
fn matrices() {
    // Five rows: one block of four and a remainder.
    let data: Vec<f64> = (0..20).map(|i| f64::from(i * i % 11) - 4.0).collect();
    let a = Matrix::new(5, 4, data.clone()).unwrap();
    let row = |i: usize, z: &[Dual64]| (0..4).map(|j| z[j] * data[4 * i + j]).sum::<Dual64>();
    check(&SIGNED, |z| a.matvec(z).sin().sum(), |z| (0..5).map(|i| row(i, z).sin()).sum());
    check(
        &SIGNED,
        |z| a.transpose_matvec(a.matvec(z).tanh()).sin().sum(),
        |z| {
            let t: Vec<Dual64> = (0..5).map(|i| row(i, z).tanh()).collect();
            (0..4).map(|j| (0..5).map(|i| t[i] * data[4 * i + j]).sum::<Dual64>().sin()).sum()
        },
    );
    let square = Matrix::new(4, 4, &data[..16]).unwrap();
    check(
        &SIGNED,
        |z| square.quadratic_form(z.exp()),
        |z| {
            let e: Vec<Dual64> = z.iter().map(|x| x.exp()).collect();
            (0..4).map(|i| e[i] * row(i, &e)).sum()
        },
    );
}

#[test]
fn branches_that_do_not_count_do_no_harm() {
    let (value, slope) =
        gradient(|z| z.at(0).sqrt().min(-1.0) + z.sqrt().min(-1.0).sum() + z.at(0), &[0.0]).unwrap();
    assert_eq!((value, slope), (-2.0, vec![1.0]));
    assert_eq!(gradient(|z| z.at(0).abs(), &[0.0]).unwrap(), (0.0, vec![0.0]));
    assert_eq!(gradient(|z| z.at(0).powf(2.0) + z.at(0).powi(0), &[0.0]).unwrap(), (1.0, vec![0.0]));
    assert_eq!(gradient(|_| Var::constant(3.0), &[1.0, 2.0]).unwrap(), (3.0, vec![0.0, 0.0]));
    assert_eq!(gradient(|z| z.sum(), &[]).unwrap(), (0.0, vec![]));
    assert!(gradient(|z| z.at(0).max(f64::NAN), &[1.0]).unwrap().0.is_nan());
}

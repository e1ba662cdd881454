//! A mistake in the user's function is an error of the evaluation, never a panic.

use super::super::{Autodiff, Matrix, Tape, Var, Vector, gradient, value_and_gradient};
use crate::base::error::Error;

const POINT: [f64; 3] = [1.0, 2.0, 3.0];

fn mistake(f: impl for<'t> Fn(Vector<'t>) -> Var<'t>) -> Error {
    let mut slopes = [0.0; 3];
    let error = value_and_gradient(&mut Tape::new(), f, &POINT, &mut slopes).unwrap_err();
    assert!(slopes.iter().all(|x| x.is_nan()));
    error
}

#[test]
fn lengths_that_differ_are_named() {
    let two = [1.0, 2.0];
    let shape = |what, found, expected| Error::Shape { what, found, expected };
    assert_eq!(mistake(|z| (z + z.slice(1..)).sum()), shape("right side of `+`", 2, 3));
    assert_eq!(mistake(|z| (z - &two).sum()), shape("right side of `-`", 2, 3));
    assert_eq!(mistake(|z| (&two - z).sum()), shape("left side of `-`", 2, 3));
    assert_eq!(mistake(|z| (z * &two).sum()), shape("right side of `*`", 2, 3));
    assert_eq!(mistake(|z| (z / z.slice(..1)).sum()), shape("right side of `/`", 1, 3));
    assert_eq!(mistake(|z| (&two / z).sum()), shape("left side of `/`", 2, 3));
    assert_eq!(mistake(|z| z.dot(z.slice(1..))), shape("vector in `dot`", 2, 3));
    assert_eq!(mistake(|z| z.dot(&two)), shape("slice in `dot`", 2, 3));
    assert_eq!(mistake(|z| z.max(&two).sum()), shape("operand of `max`", 2, 3));
    assert_eq!(mistake(|z| z.segment_sum(&[0, 0], 1).sum()), shape("list of groups", 2, 3));
    let a = Matrix::new(2, 4, [1.0; 8]).unwrap();
    assert_eq!(mistake(|z| a.matvec(z).sum()), shape("vector in `matvec`", 3, 4));
    assert_eq!(mistake(|z| a.transpose_matvec(z).sum()), shape("vector in `transpose_matvec`", 3, 2));
    assert!(matches!(mistake(|z| a.quadratic_form(z)), Error::Shape { found: 2, expected: 4, .. }));
}

#[test]
fn indices_out_of_range_are_named() {
    let index = |what, index, length| Error::Index { what, index, length };
    assert_eq!(mistake(|z| z.at(3)), index("vector in `at`", 3, 3));
    assert_eq!(mistake(|z| z.slice(1..9).sum()), index("vector in `slice`", 9, 3));
    assert_eq!(mistake(|z| z.slice(0..=usize::MAX).sum()), index("vector in `slice`", usize::MAX, 3));
    assert_eq!(mistake(|z| z.gather(&[0, 7]).sum()), index("vector in `gather`", 7, 3));
    assert_eq!(mistake(|z| z.segment_sum(&[0, 1, 2], 2).sum()), index("result of `segment_sum`", 2, 2));
    #[expect(clippy::reversed_empty_ranges)]
    let backwards = mistake(|z| z.slice(2..1).sum());
    assert_eq!(backwards, index("vector in `slice`", 2, 3));
}

#[test]
fn the_first_mistake_is_the_one_reported() {
    let f = |z: Vector<'_>| {
        let lost = z.at(5);
        assert!(lost.value().is_nan() && (z + z.slice(..1)).at(2).value().is_nan());
    };
    let error = mistake(|z| {
        f(z);
        z.at(9)
    });
    assert_eq!(error, Error::Index { what: "vector in `at`", index: 5, length: 3 });
}

#[test]
fn a_mistake_leaves_the_tape_usable() {
    let f = Autodiff::new(2, |z| if z.at(0).value() > 0.0 { z.at(2) } else { z.sum() });
    let mut slopes = vec![0.0; 2];
    assert!(f.value_and_gradient(&[1.0, 0.0], &mut slopes).is_err());
    assert_eq!(f.value_and_gradient(&[-1.0, 0.5], &mut slopes), Ok(-0.5));
    assert_eq!(slopes, vec![1.0; 2]);
}

#[test]
fn points_and_gradients_of_the_wrong_length_are_refused() {
    let f = Autodiff::new(2, |z| z.sum());
    assert_eq!(f.value(&POINT), Err(Error::Shape { what: "point", found: 3, expected: 2 }));
    let short = f.value_and_gradient(&[0.0, 0.0], &mut [0.0]);
    assert_eq!(short, Err(Error::Shape { what: "gradient", found: 1, expected: 2 }));
}

#[test]
fn matrices_are_checked_at_the_door() {
    assert!(matches!(Matrix::new(2, 2, [1.0; 3]), Err(Error::Shape { found: 3, expected: 4, .. })));
    assert!(matches!(Matrix::new(0, 2, []), Err(Error::Empty { .. })));
    assert!(matches!(Matrix::new(usize::MAX, 2, [1.0]), Err(Error::Shape { .. })));
    assert!(matches!(Matrix::new(1, 2, [0.0, f64::NAN]), Err(Error::NotFinite { index: 1, .. })));
}

#[test]
fn a_function_may_differentiate_another() {
    let (value, slopes) = gradient(
        |z| {
            let inner = gradient(|y| y.dot(y), &[z.at(0).value()]).unwrap();
            z.sum() * inner.1[0]
        },
        &POINT,
    )
    .unwrap();
    assert_eq!((value, slopes), (12.0, vec![2.0; 3]));
}

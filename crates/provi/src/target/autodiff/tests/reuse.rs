//! Memory kept from one evaluation to the next, and tapes shared by threads.

use super::super::{Autodiff, Matrix, Tape, Var, Vector, value_and_gradient};

/// Touches every array of the tape.
fn busy<'t>(z: Vector<'t>, matrix: &Matrix) -> Var<'t> {
    let eta = matrix.matvec(z);
    let groups = z.gather(&[0, 1, 1, 2]).segment_sum(&[1, 0, 1, 0], 2);
    let scalars = z.stack(z.iter().map(|x| x.sin() * 2.0));
    eta.softplus().sum() + groups.norm_squared() + scalars.logsumexp() + z.map(|x| (x, 1.0)).mean()
}

fn matrix() -> Matrix {
    Matrix::new(40, 3, (0..120).map(|i| f64::from(i % 7) - 3.0).collect::<Vec<_>>()).unwrap()
}

#[test]
fn a_tape_stops_growing_after_the_first_evaluation() {
    let (mut tape, matrix, mut slopes) = (Tape::new(), matrix(), [0.0; 3]);
    let mut evaluate = |x: f64| {
        value_and_gradient(&mut tape, |z| busy(z, &matrix), &[x, 0.5, -x], &mut slopes).unwrap();
        tape.bytes()
    };
    let first = evaluate(0.0);
    assert!(first > 0);
    assert!((1..100).all(|i| evaluate(f64::from(i)) == first));
}

#[test]
fn a_matrix_is_not_held_after_a_gradient() {
    let data: std::sync::Arc<[f64]> = vec![1.0, 2.0].into();
    let (mut tape, mut slopes) = (Tape::new(), [0.0; 2]);
    let matrix = Matrix::new(1, 2, data.clone()).unwrap();
    value_and_gradient(&mut tape, |z| matrix.matvec(z).sum(), &[1.0, 1.0], &mut slopes).unwrap();
    drop(matrix);
    assert_eq!(std::sync::Arc::strong_count(&data), 1);
}

#[test]
fn threads_share_one_function_and_get_the_same_bits() {
    let matrix = matrix();
    let f = Autodiff::new(3, |z| busy(z, &matrix));
    let evaluate = |i: i32| {
        let mut slopes = [0.0; 3];
        let value = f.value_and_gradient(&[f64::from(i) * 0.01, 0.5, -0.5], &mut slopes).unwrap();
        (value, slopes)
    };
    let alone: Vec<_> = (0..200).map(evaluate).collect();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert!((0..200).map(evaluate).eq(alone.iter().copied())));
        }
    });
    let tapes = f.tapes.lock().unwrap();
    assert!((1..=4).contains(&tapes.len()));
}

#[test]
fn a_panic_in_the_function_loses_no_more_than_its_tape() {
    let f = Autodiff::new(1, |z| {
        assert!(z.at(0).value() > 0.0);
        z.sum()
    });
    assert!(std::panic::catch_unwind(|| f.value(&[-1.0])).is_err());
    assert_eq!(f.value(&[2.0]), Ok(2.0));
}

#![allow(clippy::float_cmp)] // sums and products of small integers, exact

use super::*;
use crate::base::matrix::Matrix;

fn pair() -> (Design, Design) {
    let dense = Design::dense(2, 3, &[1.0, 0.0, 2.0, 0.0, 0.0, 3.0]).unwrap();
    let sparse = Design::triplets(2, 3, &[(1, 2, 1.0), (0, 2, 2.0), (0, 0, 1.0), (1, 2, 2.0)]).unwrap();
    (dense, sparse)
}

#[test]
fn an_intercept_is_a_first_column_of_ones() {
    let (dense, sparse) = pair();
    let expected = Design::dense(2, 4, &[1.0, 1.0, 0.0, 2.0, 1.0, 0.0, 0.0, 3.0]).unwrap();
    assert_eq!(dense.with_intercept(), expected);
    let triplets = [(0, 0, 1.0), (0, 1, 1.0), (0, 3, 2.0), (1, 0, 1.0), (1, 3, 3.0)];
    assert_eq!(sparse.with_intercept(), Design::triplets(2, 4, &triplets).unwrap());
}

#[test]
fn columns_are_divided_and_keep_their_storage() {
    let (dense, sparse) = pair();
    let expected = Design::dense(2, 3, &[0.5, 0.0, 8.0, 0.0, 0.0, 12.0]).unwrap();
    assert_eq!(dense.with_columns_over(&[2.0, 1.0, 0.25]), expected);
    let triplets = [(0, 0, 0.5), (0, 2, 8.0), (1, 2, 12.0)];
    assert_eq!(sparse.with_columns_over(&[2.0, 1.0, 0.25]), Design::triplets(2, 3, &triplets).unwrap());
}

#[test]
fn shifted_columns_are_seen_alike_and_sparse_rows_keep_the_zeros_of_the_others() {
    let (dense, sparse) = pair();
    let (shifts, factors) = ([0.0, 0.0, 2.0], [4.0, 1.0, 0.5]);
    let seen = sparse.seen(&shifts, &factors);
    assert_eq!(seen, Design::triplets(2, 3, &[(0, 0, 4.0), (0, 2, 0.0), (1, 2, 0.5)]).unwrap());
    assert!(seen.is_sparse() && seen.entries() == 3);
    // An entry that was not stored becomes minus the shift of its column, times the factor.
    let filled = sparse.seen(&[0.0, 1.0, 0.0], &[1.0, 2.0, 1.0]);
    let triplets = [(0, 0, 1.0), (0, 1, -2.0), (0, 2, 2.0), (1, 1, -2.0), (1, 2, 3.0)];
    assert_eq!(filled, Design::triplets(2, 3, &triplets).unwrap());
    // A small dense design is copied. A larger one is read through its view by all readers, and what is computed from it is its own.
    let expected = Design::dense(2, 3, &[4.0, 0.0, 0.0, 0.0, 0.0, 0.5]).unwrap();
    assert_eq!(dense.seen(&shifts, &factors), expected);
    let Storage::Dense(rows) = &dense.storage else { unreachable!() };
    let view = Design { storage: Storage::Dense(rows.seen(&shifts, &factors, 5)), ..dense.clone() };
    assert_ne!(view, expected);
    assert_eq!(view.select(&[0, 1]).unwrap(), expected);
    assert_eq!(view.clone().with_intercept(), expected.clone().with_intercept());
    assert_eq!(view.clone().with_columns_over(&[2.0; 3]), expected.clone().with_columns_over(&[2.0; 3]));
    let (points, factor) = ([1.0, 2.0, 3.0, -1.0, 0.5, 2.0], [2.0, 1.0, 3.0, -1.0, 0.5, 4.0]);
    let run = |a: &Design| {
        let (mut s, mut g, mut row) = ([0.0; 4], [0.0; 6], [1.0; 3]);
        a.predict(0..2, &points, &mut s);
        a.pull_back(0..2, &s, &mut g);
        a.add_row(1, 2.0, &mut row);
        let mut h = [Matrix::zeros(3, 3)];
        a.add_grams_and_sums(0, |_, _, w| w.copy_from_slice(&[2.0, 0.5]), |_| (), &mut h);
        let (mut squares, mut reaches) = ([0.0; 2], [0.0; 2]);
        a.row_sizes(0..2, &[1.0, 2.0, 3.0], &mut squares, &mut reaches);
        (s, g, row, h, a.all_row_variances(&factor), (squares, reaches), a.row_product(0, &points[..3]))
    };
    assert_eq!(run(&view), run(&expected));
}

#[test]
fn dense_and_sparse_agree_on_every_operation() {
    let (dense, sparse) = pair();
    let points = [1.0, 2.0, 3.0, -1.0, 0.5, 2.0];
    let factor = [2.0, 1.0, 3.0, -1.0, 0.5, 4.0];
    let run = |a: &Design| {
        let mut s = [0.0; 4];
        a.predict(0..2, &points, &mut s);
        let mut g = [0.0; 6];
        a.pull_back(0..2, &s, &mut g);
        let mut h = [Matrix::zeros(3, 3), Matrix::zeros(3, 3)];
        let weigh = |_: Range<usize>, _: &mut [f64], w: &mut [f64]| w.copy_from_slice(&[2.0, 0.5, 4.0, 1.0]);
        a.add_grams_and_sums(0, weigh, |_| (), &mut h);
        let v = a.all_row_variances(&factor);
        (s, g, h, v, a.weighted_square_norm(&[2.0, 0.5]))
    };
    let (a, b) = (run(&dense), run(&sparse));
    assert_eq!(a.0, [7.0, 3.0, 9.0, 6.0]);
    assert_eq!((a.0, a.1, &a.3), (b.0, b.1, &b.3));
    for (k, scale) in [1.0, 2.0].into_iter().enumerate() {
        for (x, y) in a.2[k].entries().iter().zip(b.2[0].entries()) {
            assert!((x - scale * y).abs() < 1e-14);
        }
    }
    // Cᵀa_1 = 3·(row 2 of C) = (−3, 1.5, 12).
    assert!((a.3[1] - (9.0 + 2.25 + 144.0)).abs() < 1e-12);
    assert!((a.4 - b.4).abs() < 1e-14 && (a.4 - 14.5).abs() < 1e-14);
}

#[test]
fn chains_of_a_gram_matrix_are_blocks_of_rows_if_dense_and_chunks_if_sparse() {
    let rows = 40_000;
    let dense = Design::from_rows(rows, 1, vec![1.0; rows]).unwrap();
    let triplets: Vec<_> = (0..rows).map(|n| (n, 0, 1.0)).collect();
    let sparse = Design::triplets(rows, 1, &triplets).unwrap();
    assert_eq!(dense.gram_terms(), 128 + 40 + 16 + 8);
    assert_eq!(sparse.gram_terms(), 2500 + 16 + 8);
    assert_eq!((dense.sum_terms(), sparse.sum_terms()), ((128 + 20, 16), (128 + 20, 16)));
}

#[test]
fn malformed_designs_are_refused() {
    assert!(Design::dense(0, 2, &[]).is_err());
    assert!(Design::dense(1, 2, &[1.0]).is_err());
    let named = |row, column| Some(Error::DesignEntry { row, column, value: f64::INFINITY });
    let holed = [1.0, 2.0, 3.0, f64::INFINITY];
    assert_eq!(Design::dense(2, 2, &holed).err(), named(1, 1));
    assert_eq!(Design::csr(3, 9, vec![0, 2, 2, 4], vec![1, 2, 5, 7], holed.to_vec()).err(), named(2, 7));
    assert_eq!(Design::triplets(3, 9, &[(1, 4, 1.0), (2, 3, f64::INFINITY)]).err(), named(2, 3));
    assert!(Design::triplets(1, 1, &[(1, 0, 1.0)]).is_err());
    assert!(Design::csr(1, 2, vec![0, 2], vec![0, 5], vec![1.0, 1.0]).is_err());
    assert!(Design::csr(2, 2, vec![0, 2, 1], vec![0], vec![1.0]).is_err());
    assert!(Design::dense(usize::MAX, usize::MAX, &[1.0]).is_err());
}

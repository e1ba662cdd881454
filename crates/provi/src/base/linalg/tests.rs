use super::*;

fn spd(d: usize) -> Matrix {
    let mut a = Matrix::zeros(d + 3, d);
    provi_kernels::normals(3, 0, 0, a.entries_mut());
    let mut h = Matrix::scaled_identity(d, 0.3);
    add_gram(a.entries(), d, &mut h);
    h
}

fn assert_near(a: &Matrix, b: &Matrix, tolerance: f64) {
    for (x, y) in a.entries().iter().zip(b.entries()) {
        assert!((x - y).abs() <= tolerance, "{x} {y}");
    }
}

#[test]
fn gram_and_products_match_the_definition() {
    let a = Matrix::new(3, 2, vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
    let mut g = Matrix::zeros(2, 2);
    add_gram(a.entries(), 2, &mut g);
    assert_eq!(g.entries(), [35.0, 44.0, 44.0, 56.0]);
    let b = Matrix::new(2, 1, vec![1.0, -1.0]).unwrap();
    assert_eq!(multiply(&a, &b).entries(), [-1.0, -1.0, -1.0]);
    assert_eq!(congruence(&g, &b).entries(), [3.0]);
    let (h, mut c) = (spd(9), spd(9));
    (0..9).for_each(|i| c.row_mut(i)[i + 1..].fill(0.0));
    let (all, lower) = (multiply(&h, &c), multiply_lower(&h, &c));
    for i in 0..9 {
        (0..=i).for_each(|j| assert!((all[(i, j)] - lower[(i, j)]).abs() < 1e-12));
    }
}

#[test]
fn a_safe_congruence_stays_on_its_side_of_an_ill_conditioned_product() {
    // H = I + t·11ᵀ with t = 10¹⁴, P = [1 0; −1 1]: PᵀHP = [2 −1; −1 1+t], and the 2 drowns in rounding.
    let t = 1e14;
    let h = Matrix::new(2, 2, vec![1.0 + t, t, t, 1.0 + t]).unwrap();
    let p = Matrix::new(2, 2, vec![1.0 / 3.0, 0.0, -1.0 / 3.0, 1.0]).unwrap();
    let exact = 2.0 / 9.0;
    let (low, high) = (safe_congruence(&h, &p, 0.0, -1.0), safe_congruence(&h, &p, 0.0, 1.0));
    assert!(low[(0, 0)] <= exact && high[(0, 0)] >= exact);
    assert!((congruence(&h, &p)[(0, 0)] - exact).abs() > 1e-4);
}

#[test]
fn cholesky_solves_inverts_and_refuses() {
    let h = spd(7);
    let c = Cholesky::new("h", &h).unwrap();
    assert_near(&multiply(&h, &c.inverse()), &Matrix::scaled_identity(7, 1.0), 1e-12);
    let mut b = h.row(2).to_vec();
    c.solve(&mut b);
    assert!(b.iter().enumerate().all(|(i, x)| (x - f64::from(u8::from(i == 2))).abs() < 1e-12));
    let l = crate::base::matrix::unpack_lower(7, &c.packed_lower());
    let mut lt = Matrix::zeros(7, 7);
    for i in 0..7 {
        for j in 0..7 {
            lt[(j, i)] = l[(i, j)];
        }
    }
    assert_near(&multiply(&l, &lt), &h, 1e-12);
    assert_near(&multiply(&c.inverse_lower(), &l), &Matrix::scaled_identity(7, 1.0), 1e-12);
    let mut packed = vec![f64::NAN; packed_len(7)];
    inverse_factor("h", &h, &mut packed).unwrap();
    let f = crate::base::matrix::unpack_lower(7, &packed);
    assert_near(&multiply_transposed(&f, &multiply(&h, &f)), &Matrix::scaled_identity(7, 1.0), 1e-12);
    let indefinite = Matrix::new(2, 2, vec![1.0, 2.0, 2.0, 1.0]).unwrap();
    assert!(matches!(
        Cholesky::new("h", &indefinite),
        Err(Error::NotPositiveDefinite { pivot: 1, dim: 2, .. })
    ));
    assert!(Cholesky::new("h", &Matrix::new(1, 1, vec![f64::NAN]).unwrap()).is_err());
}

#[test]
fn a_tridiagonal_matrix_is_rebuilt_from_its_eigenpairs() {
    for n in 1..=9 {
        let mut entries = [0.0; 18];
        provi_kernels::normals(5, n as u64, 0, &mut entries);
        let mut cases = vec![(entries[..n].to_vec(), entries[9..9 + n - 1].to_vec())];
        cases.push((vec![1.0; n], vec![0.0; n - 1]));
        cases.push((vec![0.0; n], vec![1.0; n - 1]));
        for (diagonal, beside) in cases {
            let mut values = diagonal.clone();
            let mut vectors: [[f64; 9]; 9] =
                std::array::from_fn(|i| std::array::from_fn(|j| f64::from(u8::from(i == j))));
            assert!(tridiagonal_eigen(&mut values, &beside, &mut vectors[..n]));
            for i in 0..n {
                for j in 0..n {
                    let found: f64 = (0..n).map(|k| values[k] * vectors[k][i] * vectors[k][j]).sum();
                    let entry = match i.abs_diff(j) {
                        0 => diagonal[i],
                        1 => beside[i.min(j)],
                        _ => 0.0,
                    };
                    assert!((found - entry).abs() < 1e-14, "n = {n}: {found} {entry}");
                }
            }
        }
    }
    assert!(!tridiagonal_eigen(&mut [f64::NAN, 1.0], &[1.0], &mut [[1.0, 0.0], [0.0, 1.0]]));
}

#[test]
fn eigen_rebuilds_the_matrix_and_refuses_nan() {
    let h = spd(6);
    let (values, vectors) = eigen("h", &h).unwrap();
    assert_near(&spectral_map(&values, &vectors, |x| x), &h, 1e-12);
    for (x, y) in values.iter().zip(eigenvalues("h", &h).unwrap()) {
        assert!((x - y).abs() < eigenvalue_error(&h));
    }
    assert!(eigenvalues("h", &Matrix::new(1, 1, vec![f64::NAN]).unwrap()).is_err());
}

/// Above the largest eigenvalue wherever the search begins: with nothing known, there, and where it cannot be seen.
#[test]
fn the_largest_eigenvalue_is_bounded_from_every_direction() {
    let d = 70;
    let h = spd(d);
    let (values, vectors) = eigen("a matrix", &h).unwrap();
    let truth = values[d - 1];
    for (near, part) in [(vec![], 2e-3), (vectors.row(d - 1).to_vec(), 2e-3), (vectors.row(0).to_vec(), 0.11)]
    {
        let mut near = Direction(near);
        let rough = rough_eigenvalue(&h, &mut near);
        assert!(rough <= truth * (1.0 + 1e-12) && rough >= 0.8 * truth, "{rough} {truth}");
        let bound = largest_eigenvalue(&h, &mut near).unwrap();
        assert!(bound >= truth && bound <= truth * (1.0 + part), "{bound} {truth}");
        let along = provi_kernels::dot(&near.0, vectors.row(d - 1)).abs() / norm(&near.0);
        assert!(along > 0.9, "{along}");
    }
    assert!(rough_eigenvalue(&Matrix::zeros(d, d), &mut Direction::default()).abs() < 1e-300);
    let mut near = Direction::default();
    let mut broken = h.clone();
    broken[(3, 3)] = f64::NAN;
    assert!(rough_eigenvalue(&broken, &mut near).is_nan() && near.0.is_empty());
    assert!(largest_eigenvalue(&broken, &mut near).is_err());
}

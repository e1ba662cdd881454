use super::*;
use crate::base::matrix::packed_len;

fn precision(d: usize) -> Matrix {
    let mut a = Matrix::zeros(d, d);
    provi_kernels::normals(11, 0, 0, a.entries_mut());
    let mut h = Matrix::scaled_identity(d, 0.5);
    crate::base::linalg::add_gram(a.entries(), d, &mut h);
    h
}

fn all(d: usize) -> Vec<Pattern> {
    vec![
        Pattern::Full,
        Pattern::MeanField,
        Pattern::Blocks(vec![2, d - 3, 1]),
        Pattern::Arrow(2),
        Pattern::Banded(1),
        Pattern::Banded(d - 1),
    ]
}

#[test]
fn names_round_trip() {
    for pattern in all(5) {
        assert_eq!(pattern.to_string().parse::<Pattern>().unwrap(), pattern);
    }
    assert_eq!("arrow:0".parse::<Pattern>().unwrap(), Pattern::MeanField);
    for wrong in
        ["", "diagonal", "blocks:", "blocks:2,0", "blocks:2,x", "arrow", "arrow:-1", "banded:1.5", "full:2"]
    {
        let error = wrong.parse::<Pattern>().unwrap_err().to_string();
        assert!(error.contains("meanfield"), "{wrong}: {error}");
    }
}

#[test]
fn a_pattern_of_another_size_is_refused() {
    assert!(Pattern::Blocks(vec![2, 2]).check(5).unwrap_err().to_string().contains("4 coordinates"));
    assert!(Pattern::Blocks(vec![usize::MAX, 2]).check(1).is_err());
    assert!(Pattern::Blocks(vec![0, 5]).check(5).is_err());
    assert!(Pattern::Arrow(6).check(5).is_err());
    assert!(Pattern::Arrow(5).check(5).is_ok());
    assert!(Pattern::Banded(5).check(5).is_err());
    assert!(Pattern::Banded(4).check(5).is_ok());
}

#[test]
fn the_entries_are_those_of_the_definition() {
    let is_in = |pattern: &Pattern, i: usize, j: usize| match pattern {
        Pattern::Full | Pattern::LowRank(_) => j <= i,
        Pattern::MeanField => i == j,
        Pattern::Blocks(_) => j <= i && (i < 2) == (j < 2) && (i == 4) == (j == 4),
        Pattern::Arrow(k) => i == j || (j < *k && j < i),
        Pattern::Banded(k) => j <= i && i - j <= *k,
    };
    for pattern in all(5) {
        let entries = pattern.entries(5).unwrap();
        let ones = entries.scatter(&vec![1.0; entries.len()]);
        for i in 0..5 {
            assert_eq!(entries.row(i).1.last(), Some(&i));
            for j in 0..=i {
                let expected = f64::from(u8::from(is_in(&pattern, i, j)));
                assert!((ones[packed_index(i, j)] - expected).abs() < 1e-15, "{pattern} {i} {j}");
            }
        }
    }
}

/// The reach by its definition, from the sets of the rows.
#[test]
fn the_reach_is_that_of_the_rows() {
    for pattern in all(6).into_iter().chain([Pattern::Arrow(5), Pattern::Arrow(6), Pattern::Blocks(vec![6])])
    {
        let entries = pattern.entries(6).unwrap();
        let sets: Vec<&[usize]> = (0..6).map(|i| entries.row(i).1).collect();
        let within = |a: &[usize], b: &[usize]| a.iter().all(|x| b.contains(x));
        let most: Vec<&[usize]> = (0..6)
            .filter(|&i| (0..6).all(|k| k == i || !within(sets[i], sets[k])))
            .map(|i| sets[i])
            .collect();
        let (n, s, e) = pattern.reach(6);
        assert_eq!(n, most.len(), "{pattern}");
        assert_eq!(s, most.iter().map(|set| set.len()).max().unwrap(), "{pattern}");
        let beyond = |a: &[usize], b: &[usize]| a.iter().filter(|x| !b.contains(x)).count();
        let widest = most.iter().flat_map(|a| most.iter().map(move |b| beyond(a, b))).max().unwrap();
        assert!(e >= widest && (e > 0 || widest == 0), "{pattern}: {e} {widest}");
    }
}

/// ½tr(CᵀHC) − log det C is stationary in every entry of the pattern, and the mean field and the blocks have the
/// closed forms that everybody knows.
#[test]
fn the_best_factor_is_stationary_in_its_pattern() {
    let d = 6;
    let h = precision(d);
    for pattern in all(d) {
        let entries = pattern.entries(d).unwrap();
        let packed = entries.best_factor(&h).unwrap();
        let c = unpack_lower(d, &packed);
        for i in 0..d {
            for &j in entries.row(i).1 {
                let pull: f64 = (0..d).map(|k| h[(i, k)] * c[(k, j)]).sum();
                let barrier = if i == j { 1.0 / c[(i, i)] } else { 0.0 };
                assert!((pull - barrier).abs() < 1e-11, "{pattern} {i} {j}: {pull} {barrier}");
            }
        }
        let mut cleared = packed.clone();
        entries.clear_others(&mut cleared);
        assert_eq!(cleared, packed);
    }
    let mean_field = Pattern::MeanField.entries(d).unwrap().best_factor(&h).unwrap();
    for i in 0..d {
        assert!((mean_field[packed_index(i, i)].powi(-2) / h[(i, i)] - 1.0).abs() < 1e-13);
    }
    let blocks = Pattern::Blocks(vec![2, 4]).entries(d).unwrap().best_factor(&h).unwrap();
    let q = Gaussian::<Triangular>::new(&[0.0; 6], &blocks).unwrap().covariance();
    let first = Cholesky::new("h", &Entries::block(&h, &[0, 1])).unwrap().inverse();
    assert!((q[(0, 1)] - first[(0, 1)]).abs() < 1e-12 && (q[(1, 1)] - first[(1, 1)]).abs() < 1e-12);
    let full = Pattern::Full.entries(d).unwrap().best_factor(&h).unwrap();
    let inverse = Cholesky::new("h", &h).unwrap().inverse();
    let whole = Gaussian::<Triangular>::new(&[0.0; 6], &full).unwrap().covariance();
    assert!(whole.entries().iter().zip(inverse.entries()).all(|(a, b)| (a - b).abs() < 1e-12));
    let back = precision_of(d, &full).unwrap();
    assert!(back.entries().iter().zip(h.entries()).all(|(a, b)| (a - b).abs() < 1e-9));
}

/// An arrow is exact for local coordinates that are independent given the first ones, and only in that order.
#[test]
fn an_arrow_has_its_global_coordinates_first() {
    let d = 5;
    let mut h = precision(d);
    for i in 2..d {
        (2..d).filter(|&j| j != i).for_each(|j| h[(i, j)] = 0.0);
        h[(i, i)] += 5.0;
    }
    (h[(0, 0)], h[(1, 1)]) = (h[(0, 0)] + 20.0, h[(1, 1)] + 20.0);
    let objective = |pattern: Pattern, h: &Matrix| {
        let c = pattern.entries(d).unwrap().best_factor(h).unwrap();
        -(0..d).map(|i| c[packed_index(i, i)].ln()).sum::<f64>()
    };
    let full = objective(Pattern::Full, &h);
    assert!((objective(Pattern::Arrow(2), &h) - full).abs() < 1e-12);
    let turned = Entries::block(&h, &[4, 3, 2, 1, 0]);
    assert!(objective(Pattern::Arrow(2), &turned) > full + 1e-3);
}

/// The coordinates that a plan uses keep the pattern.
#[test]
fn a_scale_keeps_the_pattern() {
    let d = 6;
    let h = precision(d);
    for pattern in all(d) {
        let entries = pattern.entries(d).unwrap();
        let mut values = vec![0.0; entries.len()];
        provi_kernels::normals(12, 0, 0, &mut values);
        let mut packed = entries.scatter(&values);
        (0..d).for_each(|i| packed[packed_index(i, i)] = 1.0 + i as f64);
        let q = Gaussian::<Triangular>::new(&vec![0.0; d], &packed).unwrap();
        let pushed = q.pushed(&vec![0.0; d], &pattern.scale(&h).unwrap());
        let mut kept = pushed.factor().to_vec();
        entries.clear_others(&mut kept);
        assert_eq!(kept, pushed.factor(), "{pattern}");
        assert_eq!(kept.len(), packed_len(d));
    }
}

/// A factor goes through its covariance and back, as in a file, and is of its family again; another is not.
#[test]
fn a_member_is_known_up_to_rounding() {
    let d = 6;
    for pattern in all(d) {
        let factor = pattern.entries(d).unwrap().best_factor(&precision(d)).unwrap();
        let q = Gaussian::<Triangular>::new(&vec![0.5; d], &factor).unwrap();
        let back = Gaussian::from_covariance(q.mean(), q.covariance()).unwrap();
        let member = pattern.member(&back).unwrap();
        assert!(member.factor().iter().zip(q.factor()).all(|(a, b)| (a - b).abs() < 1e-12));
        let entries = pattern.entries(d).unwrap();
        let mut kept = member.factor().to_vec();
        entries.clear_others(&mut kept);
        assert_eq!(kept, member.factor());
    }
    let full = Pattern::Full.entries(d).unwrap().best_factor(&precision(d)).unwrap();
    let full = Gaussian::<Triangular>::new(&vec![0.5; d], &full).unwrap();
    assert!(Pattern::MeanField.member(&full).is_err() && Pattern::Banded(1).member(&full).is_err());
}

#[test]
fn products_on_the_entries_are_those_of_the_matrix() {
    let d = 6;
    for pattern in all(d) {
        let entries = pattern.entries(d).unwrap();
        let mut numbers = vec![0.0; entries.len() + 3 * d];
        provi_kernels::normals(13, 0, 0, &mut numbers);
        let (mut factor, rest) = (numbers[..entries.len()].to_vec(), &numbers[entries.len()..]);
        let (mean, u, left) = (&rest[..d], &rest[d..2 * d], &rest[2 * d..]);
        let c = unpack_lower(d, &entries.scatter(&factor));
        let mut z = vec![0.0; d];
        entries.transport(mean, &factor, u, &mut z);
        entries.rank_one(0.3, left, u, &mut factor);
        let after = unpack_lower(d, &entries.scatter(&factor));
        for i in 0..d {
            assert!((z[i] - mean[i] - provi_kernels::dot(c.row(i), u)).abs() < 1e-13);
            for &j in entries.row(i).1 {
                assert!((after[(i, j)] - c[(i, j)] - 0.3 * left[i] * u[j]).abs() < 1e-13);
            }
        }
    }
}

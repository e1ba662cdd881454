use super::*;
use crate::base::linalg::Cholesky;
use crate::base::matrix::Matrix;

/// Nested groups, crossed groups, a band, a full matrix, coordinates that nothing ties, blocks, and groups of one and of two
/// coordinates in runs that are longer than what one thread processes together.
fn structures() -> Vec<(usize, Vec<Vec<u32>>)> {
    let nested = (0..6).map(|g| vec![0, 1, 2, 3 + g / 2, 6 + g]).collect();
    let crossed = (0..20u32).map(|n| vec![0, 1 + n % 5, 6 + (n * 7 + n / 5) % 4]).collect();
    let band = (0..11).map(|i| vec![i, i + 1]).collect();
    let full = vec![(0..9).collect::<Vec<u32>>()];
    let blocks = (0..3).map(|g| (40 * g..40 * g + 40).collect()).chain([vec![0, 40, 80]]).collect();
    let [single, pairs] = [1, 2].map(|size| {
        let own = |g: u32| (3 + size * g..3 + size * (g + 1)).collect::<Vec<u32>>();
        (0..300).flat_map(|g| [[vec![0, 1, 2], own(g)].concat(), own(g)]).collect()
    });
    vec![
        (12, nested),
        (10, crossed),
        (12, band),
        (9, full),
        (5, vec![vec![0, 3]]),
        (121, blocks),
        (303, single),
        (603, pairs),
    ]
}

#[test]
fn fronts_of_a_run_are_alike_and_none_is_below_another() {
    let mut longest = 0;
    for (dim, sets) in structures() {
        let (structure, _, _) = problem(dim, &sets, 1);
        let mut next = 0;
        for run in structure.runs() {
            assert_eq!(run.start, next);
            next = run.end;
            let fronts = &structure.fronts()[run.clone()];
            let last = &fronts[fronts.len() - 1];
            for front in fronts {
                assert_eq!((front.columns, structure.below(front)), (last.columns, structure.below(last)));
                assert!(structure.below(front).iter().all(|&row| row as usize >= last.first + last.columns));
            }
            longest = longest.max(run.len());
        }
        assert_eq!(next, structure.fronts().len());
    }
    assert!(longest > 2 * factor::TOGETHER, "{longest}");
}

fn problem(dim: usize, sets: &[Vec<u32>], seed: u64) -> (Structure, Vec<f64>, Matrix) {
    let mut cliques = Cliques::default();
    sets.iter().for_each(|set| cliques.push(set));
    let structure = Structure::new(dim, &cliques).unwrap();
    let cliques = cliques.placed(structure.places());
    let (mut values, mut dense, mut room) = (vec![0.0; structure.len()], Matrix::zeros(dim, dim), Vec::new());
    for place in 0..dim {
        values[structure.diagonal(place)] += 0.1;
        dense[(place, place)] += 0.1;
    }
    for k in 0..cliques.len() {
        let set = cliques.get(k);
        let mut a = vec![0.0; set.len()];
        provi_kernels::normals(seed, 0, k as u32, &mut a);
        structure.each_column(set, &mut room, |b, first, step, rows| {
            for (i, &row) in (b..set.len()).zip(rows) {
                values[first + step * row] += a[i] * a[b];
            }
        });
        for (i, x) in a.iter().enumerate() {
            for (j, y) in a.iter().enumerate() {
                dense[(set[i] as usize, set[j] as usize)] += x * y;
            }
        }
    }
    (structure, values, dense)
}

fn roots(structure: &Structure, values: &[f64]) -> Vec<f64> {
    (0..structure.dim()).map(|p| values[structure.diagonal(p)].sqrt()).collect()
}

#[test]
fn factor_solutions_and_determinant_are_those_of_the_dense_matrix() {
    for (dim, sets) in structures() {
        let (structure, mut values, dense) = problem(dim, &sets, 3);
        let exact = Cholesky::new("test", &dense).unwrap();
        structure.factor("test", &mut values).unwrap();
        assert!((2.0 * structure.half_log_det(&values) - exact.log_det()).abs() < 1e-10);
        let mut x: Vec<f64> = (0..dim).map(|i| (i as f64).sin()).collect();
        let mut y = x.clone();
        exact.solve(&mut y);
        structure.solve_lower(&values, &mut x);
        structure.solve_upper(&values, &mut x);
        x.iter().zip(&y).for_each(|(x, y)| assert!((x - y).abs() < 1e-9 * (1.0 + y.abs())));
    }
}

/// λ_max|Σ_F^{−½}(Z_F − Σ_F)Σ_F^{−½}| for a front F: what the error bound is about.
fn relative_error(structure: &Structure, selected: &Selected, covariance: &Matrix, s: usize) -> f64 {
    let front = &structure.fronts()[s];
    let rows: Vec<u32> = (0..front.height()).map(|i| structure.row(front, i) as u32).collect();
    let f = rows.len();
    let (mut exact, mut found) = (Matrix::zeros(f, f), Matrix::zeros(f, f));
    structure.each_column(&rows, &mut Vec::new(), |b, first, step, local| {
        for (a, &row) in (b..f).zip(local) {
            let value = selected.values()[first + step * row];
            (found[(a, b)], found[(b, a)]) = (value, value);
        }
    });
    for a in 0..f {
        for b in 0..f {
            exact[(a, b)] = covariance[(rows[a] as usize, rows[b] as usize)];
        }
    }
    let factor = Cholesky::new("test", &exact).unwrap();
    let mut difference = found;
    difference.add_scaled(-1.0, &exact);
    // L⁻¹ΔL⁻ᵀ, column by column and then row by row.
    for _ in 0..2 {
        factor.solve_lower(difference.entries_mut());
        let copy = difference.clone();
        (0..f).for_each(|a| (0..f).for_each(|b| difference[(a, b)] = copy[(b, a)]));
    }
    difference.frobenius_norm()
}

#[test]
fn the_selected_inverse_is_the_inverse_within_its_bound_and_a_planted_error_is_seen() {
    for (dim, sets) in structures() {
        let (structure, mut values, dense) = problem(dim, &sets, 5);
        let roots = roots(&structure, &values);
        structure.factor("test", &mut values).unwrap();
        let selected = Selected::new(&structure, &values, &roots).unwrap();
        let covariance = Cholesky::new("test", &dense).unwrap().inverse();
        let mut largest = 0.0f64;
        for s in 0..structure.fronts().len() {
            let found = relative_error(&structure, &selected, &covariance, s);
            // The dense inverse has errors of its own, of the same size.
            assert!(found <= 2.0 * selected.error(s) + 1e-13, "{found} {}", selected.error(s));
            largest = largest.max(selected.error(s));
        }
        assert!((largest - selected.largest_error()).abs() <= 0.0 && largest < 1e-8, "{largest}");
        // One entry off by a millionth of the product of its deviations.
        let front = &structure.fronts()[0];
        let index = front.values + (front.height() - 1) * front.columns;
        let row = structure.row(front, front.height() - 1);
        let size = (covariance[(row, row)] * covariance[(front.first, front.first)]).sqrt();
        let mut planted = selected.clone();
        planted.values[index] += 1e-6 * size;
        let found = relative_error(&structure, &planted, &covariance, 0);
        assert!(found > 100.0 * planted.error(0), "{found} {}", planted.error(0));
    }
}

#[test]
fn a_matrix_that_is_not_positive_definite_names_its_coordinate() {
    let (structure, mut values, _) = problem(12, &structures()[0].1, 3);
    values[structure.diagonal(structure.places()[7] as usize)] = -1.0;
    let error = structure.factor("the precision", &mut values).unwrap_err().to_string();
    assert!(error.contains("pivot 7 of 12"), "{error}");
}

#[test]
fn the_square_of_a_factor_is_the_matrix_and_every_entry_has_its_place() {
    for (dim, sets) in structures() {
        let (structure, values, dense) = problem(dim, &sets, 8);
        let mut factor = values.clone();
        structure.factor("test", &mut factor).unwrap();
        let square = structure.square(&factor);
        structure.each_entry(|row, column, index| {
            assert_eq!(
                (structure.index(row, column), structure.index(column, row)),
                (Some(index), Some(index))
            );
            assert!(
                (square[index] - dense[(row, column)]).abs() < 1e-12 * (1.0 + dense[(row, column)].abs())
            );
        });
        let stored = (0..dim).flat_map(|a| (0..=a).map(move |b| (a, b)));
        let count = stored.filter(|&(a, b)| structure.index(a, b).is_some()).count();
        let mut expected = 0;
        structure.each_entry(|_, _, _| expected += 1);
        assert_eq!(count, expected);
    }
}

#[test]
fn a_structure_is_restored_from_its_parts_and_others_are_refused() {
    // Blocks that meet in a root.
    let (dim, sets) = structures().remove(5);
    let (structure, ..) = problem(dim, &sets, 8);
    let parts = || -> Vec<(usize, usize, Vec<u32>)> {
        let fronts = structure.fronts().iter();
        fronts.map(|front| (front.first, front.columns, structure.below(front).to_vec())).collect()
    };
    let order = structure.order().to_vec();
    assert_eq!(Structure::restored(order.clone(), parts()), Some(structure.clone()));
    let mut twice = order.clone();
    twice[0] = twice[1];
    assert_eq!(Structure::restored(twice, parts()), None);
    // A row below that the next front does not have: an update would have no place.
    let mut open = parts();
    let (first, end) = (open[0].0 + open[0].1, dim as u32 - 1);
    open[0].2 = vec![first as u32, end];
    let parent = structure.owner(first);
    if parent + 1 < open.len() {
        open[parent].2.retain(|row| *row != end);
        assert_eq!(Structure::restored(order.clone(), open), None);
    }
    for change in [
        |parts: &mut Vec<(usize, usize, Vec<u32>)>| parts[0].1 = 0,
        |parts: &mut Vec<(usize, usize, Vec<u32>)>| parts[0].2.push(99),
        |parts: &mut Vec<(usize, usize, Vec<u32>)>| parts[0].2.insert(0, 0),
        |parts: &mut Vec<(usize, usize, Vec<u32>)>| drop(parts.pop()),
    ] {
        let mut changed = parts();
        change(&mut changed);
        assert_eq!(Structure::restored(order.clone(), changed), None);
    }
}

use super::*;
use crate::theory::envelope::tests::{Rows, density, integrate};

/// The mean of what `f` makes of draws, cell by cell on a grid of uniforms.
fn mean(cells: &Cells, f: impl Fn(&Place) -> f64) -> f64 {
    let side = 12;
    let grid = |k: i32| (f64::from(k) + 0.5) / f64::from(side);
    let each = cells.cells.iter().zip(&cells.before).map(|(cell, before)| {
        let first = (*before as f64 + 0.5) / (1u64 << BITS) as f64;
        let across = if cells.across.len() == 1 { 1 } else { side };
        let sum: f64 = (0..side)
            .flat_map(|i| (0..across).map(move |j| (i, j)))
            .map(|(i, j)| f(&cells.place([first, grid(i), grid(j)])))
            .sum();
        share(cell.count) * sum / f64::from(side * across)
    });
    each.sum()
}

fn problems() -> Vec<Rows> {
    (0..3)
        .flat_map(|seed| [(1, false), (2, false), (1, true), (2, true)].map(|(d, e)| Rows::new(d, e, seed)))
        .collect()
}

#[test]
fn shares_add_up_and_every_number_finds_its_cell() {
    let rows = Rows::new(2, false, 1);
    let cells = Cells::new(&rows.envelope(6.0), 5.0).unwrap();
    assert_eq!(cells.cells.iter().map(|c| c.count).sum::<u64>(), 1 << BITS);
    for (cell, before) in cells.cells.iter().zip(&cells.before) {
        for number in [*before, before + cell.count - 1] {
            let place = cells.place([(number as f64 + 0.5) / (1u64 << BITS) as f64, 0.5, 0.5]);
            let (u, rho) = (&cells.along[cell.along], &cells.across[cell.across]);
            assert!(u.low <= place.u && place.u <= u.high && rho.low <= place.rho && place.rho <= rho.high);
        }
    }
    assert!(Cells::new(&rows.envelope(4.0), 5.0).is_none(), "beyond what is known");
}

#[test]
fn weights_make_draws_of_cells_draws_of_q_in_the_ball() {
    for dim in 1..=3 {
        let mut envelope = Rows::new(dim.min(2), false, 2).envelope(6.0);
        envelope.dim = dim;
        let cells = Cells::new(&envelope, 5.0).unwrap();
        let tails = crate::theory::envelope::tail_moments(dim, 5.0);
        let squares = mean(&cells, |p| p.weight[1] * (p.u * p.u + p.rho * p.rho));
        let whole = mean(&cells, |p| p.weight[1]);
        assert!((whole - (1.0 - tails[0])).abs() < 1e-3, "{dim}: {whole}");
        assert!((squares - (dim as f64 - tails[2])).abs() < 2e-3, "{dim}: {squares}");
        assert!(mean(&cells, |p| p.weight[1] * p.u).abs() < 1e-9);
    }
}

#[test]
fn values_are_bounded_unbiased_and_void_above_the_envelope() {
    let mut smallest = f64::INFINITY;
    for rows in problems() {
        let (d, v, radius) = (rows.dim, rows.direction(), 4.5);
        let cells = Cells::new(&rows.envelope(6.0), radius).unwrap();
        let range = [0, 1, 2].map(|j| cells.range(j));
        smallest = smallest.min(range[0] / cells.price());
        // The rest of x has two directions in the plane, and none on the line.
        let sum = mean(&cells, |p| {
            let each = [1.0, -1.0].map(|sign| {
                let x = [p.u * v[0] - sign * p.rho * v[1], p.u * v[1] + sign * p.rho * v[0]];
                let drop = rows.drop(x);
                let [low, high] = p.value(drop, 1e-9).expect("below the envelope");
                assert!(low >= 0.0 && low <= high + 1e-300 && high <= range[0]);
                let r = p.u.hypot(p.rho);
                assert!(high * r <= range[1] && high * r * r <= range[2]);
                if p.weight[1] > 0.0 {
                    assert!(
                        p.value(-p.bounds[0] - 1e-6, 1e-9).is_none()
                            && p.value(p.bounds[1] + 1e-6, 1e-9).is_none()
                    );
                    assert!(p.value(f64::NAN, 1e-9).is_none());
                }
                0.5 * (low + high)
            });
            0.5 * (each[0] + each[1])
        });
        let truth =
            integrate(
                d,
                |x| if x[0].hypot(x[1]) <= radius { density(d, x) * excess(rows.drop(x)) } else { 0.0 },
            );
        assert!((sum / truth - 1.0).abs() < 4e-3, "d = {d}: {sum} {truth}");
    }
    // 1/0.8 where the envelope alone decides.
    assert!(smallest < 1.3, "{smallest}");
}

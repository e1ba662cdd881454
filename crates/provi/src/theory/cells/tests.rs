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
    let cells = Cells::new(&rows.envelope(6.0), 5.0, 0.0).unwrap();
    assert_eq!(cells.cells.iter().map(|c| c.count).sum::<u64>(), 1 << BITS);
    for (cell, before) in cells.cells.iter().zip(&cells.before) {
        for number in [*before, before + cell.count - 1] {
            let place = cells.place([(number as f64 + 0.5) / (1u64 << BITS) as f64, 0.5, 0.5]);
            let (u, rho) = (&cells.along[cell.along], &cells.across[cell.across]);
            assert!(u.low <= place.u && place.u <= u.high && rho.low <= place.rho && place.rho <= rho.high);
        }
    }
    assert!(Cells::new(&rows.envelope(4.0), 5.0, 0.0).is_none(), "beyond what is known");
}

#[test]
fn weights_make_draws_of_cells_draws_of_q_in_the_ball() {
    for dim in 1..=3 {
        let mut envelope = Rows::new(dim.min(2), false, 2).envelope(6.0);
        envelope.dim = dim;
        let cells = Cells::new(&envelope, 5.0, 0.0).unwrap();
        let tails = crate::theory::envelope::tail_moments(dim, 5.0);
        let squares = mean(&cells, |p| p.weight[1] * (p.u * p.u + p.rho * p.rho));
        let whole = mean(&cells, |p| p.weight[1]);
        assert!((whole - (1.0 - tails[0])).abs() < 1e-3, "{dim}: {whole}");
        assert!((squares - (dim as f64 - tails[2])).abs() < 2e-3, "{dim}: {squares}");
        assert!(mean(&cells, |p| p.weight[1] * p.u).abs() < 1e-9);
    }
}

/// −a ≤ t ≤ b, |P| ≤ p, |t − P| ≤ β: excess(t) − ½P² is within its bounds, which are reached up to a half.
#[test]
fn what_a_square_leaves_of_an_excess_is_bounded() {
    for [a, b, cubic, band] in [
        [0.3, 0.2, 0.25, 0.1],
        [0.05, 0.04, 0.05, 0.002],
        [2.0, 3.0, 1.5, 1.0],
        [-0.1, 0.4, 0.3, 0.2],
        [4.0, 0.5, 1.0, 9.0],
        [1.0, 1.0, 0.0, 1.0],
    ] {
        let found = apart([a, b], cubic, band);
        let mut reached = [0.0f64; 2];
        for i in 0..=300 {
            let t = -a + (a + b) * f64::from(i) / 300.0;
            for j in 0..=300 {
                let p = cubic * (f64::from(j) / 150.0 - 1.0);
                if (t - p).abs() <= band {
                    let x = excess(t) - 0.5 * p * p;
                    assert!(x <= found[0] && -x <= found[1], "{t} {p}: {x} {found:?}");
                    reached = [reached[0].max(x), reached[1].max(-x)];
                }
            }
        }
        assert!(found[0] <= 2.0 * reached[0] + 1e-9, "{a} {b} {cubic} {band}: {found:?} {reached:?}");
    }
    // An infinite band leaves what the two sides say apart.
    assert!(apart([1.0, 2.0], 0.0, f64::INFINITY)[0] <= excess(2.0).max(excess(-1.0)) * (1.0 + 1e-9));
    assert!(apart([1.0, 2.0], 0.0, f64::INFINITY)[1] <= 0.0);
}

#[test]
fn values_are_bounded_unbiased_and_void_beyond_what_holds() {
    let mut smallest = f64::INFINITY;
    for rows in problems() {
        let (d, v, radius) = (rows.dim, rows.direction(), 4.5);
        let cells = Cells::new(&rows.envelope(6.0), radius, 1e-9).unwrap();
        let ranges = [0, 1, 2].map(|j| cells.ranges(j));
        smallest = smallest.min(ranges[0][0].max(ranges[0][1]) / cells.price());
        // The rest of x has two directions in the plane, and none on the line.
        let sum = mean(&cells, |p| {
            let each = [1.0, -1.0].map(|sign| {
                let x = [p.u * v[0] - sign * p.rho * v[1], p.u * v[1] + sign * p.rho * v[0]];
                let (drop, cubic) = ((rows.drop(x), 1e-9), (rows.cubic(x), 1e-9));
                let [low, high] = p.value(drop, cubic).expect("below the envelope");
                assert!(low <= high && high <= ranges[0][0] && -low <= ranges[0][1]);
                let r = p.u.hypot(p.rho);
                for (j, range) in ranges.iter().enumerate() {
                    assert!(high * r.powi(j as i32) <= range[0] && -low * r.powi(j as i32) <= range[1]);
                }
                if p.weight[1] > 0.0 {
                    for wrong in [-p.bounds[0] - 1e-6, p.bounds[1] + 1e-6, f64::NAN] {
                        assert!(p.value((wrong, 1e-9), cubic).is_none());
                    }
                    // A cubic whose square is too large for what is left.
                    let far = (2.0 * (p.apart[1] + excess(drop.0))).sqrt() + 1e-3;
                    assert!(p.value(drop, (far, 1e-9)).is_none());
                }
                0.5 * (low + high)
            });
            0.5 * (each[0] + each[1])
        });
        let of = |f: &dyn Fn([f64; 2]) -> f64| {
            integrate(d, |x| if x[0].hypot(x[1]) <= radius { density(d, x) * f(x) } else { 0.0 })
        };
        let whole = of(&|x| excess(rows.drop(x)));
        let half_square = of(&|x| 0.5 * rows.cubic(x).powi(2));
        assert!(((sum + half_square) / whole - 1.0).abs() < 4e-3, "d = {d}: {sum} {half_square} {whole}");
    }
    // 1/0.8 where the envelope alone decides.
    assert!(smallest < 1.3, "{smallest}");
}

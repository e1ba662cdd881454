use super::*;
use crate::formula::Smoothing;

/// Points with ties and gaps.
fn points() -> Vec<f64> {
    (0..60).map(|i| (0.37 * f64::from((i * 17) % 41)).powf(1.3) - 3.0).collect()
}

fn natural_curve(knots: usize) -> Smooth {
    Smooth::learn(&points(), Smoothing { knots, period: None }).unwrap()
}

fn cyclic_curve(knots: usize) -> Smooth {
    Smooth::learn(&points(), Smoothing { knots, period: Some(7.5) }).unwrap()
}

fn at(curve: &Smooth, x: f64) -> Vec<f64> {
    let mut row = Vec::new();
    curve.evaluate(x, &mut row);
    row
}

fn slope_at(curve: &Smooth, x: f64) -> Vec<f64> {
    let mut row = Vec::new();
    curve.slopes(x, &mut row);
    row
}

/// f″ with respect to u near x: the difference of second order, which is exact for a cubic up to rounding.
fn second_at(curve: &Smooth, x: f64, step: f64) -> Vec<f64> {
    let range = curve.knots[curve.knots.len() - 1] - curve.knots[0];
    let [before, here, after] = [-step, 0.0, step].map(|by| at(curve, x + by));
    let one = |j: usize| (before[j] - 2.0 * here[j] + after[j]) * (range / step).powi(2);
    (0..here.len()).map(one).collect()
}

/// ∫ z_i″ z_j″ du by Gauss–Legendre with two nodes on every interval: exact for a product of straight lines.
fn penalty(curve: &Smooth) -> Vec<Vec<f64>> {
    let k = curve.count();
    let mut out = vec![vec![0.0; k]; k];
    for pair in curve.knots.windows(2) {
        let (middle, half) = (0.5 * (pair[0] + pair[1]), 0.5 * (pair[1] - pair[0]));
        let range = curve.knots[curve.knots.len() - 1] - curve.knots[0];
        for node in [-1.0, 1.0].map(|sign| middle + sign * half / 3f64.sqrt()) {
            let second = second_at(curve, node, 0.2 * half);
            for i in 0..k {
                for j in 0..k {
                    out[i][j] += half / range * second[i] * second[j];
                }
            }
        }
    }
    out
}

/// Whether the penalty is a multiple of the identity, to nine digits.
fn is_unit(penalty: &[Vec<f64>]) -> bool {
    let most = penalty[0][0];
    let near = |i: usize, j: usize| (penalty[i][j] - if i == j { most } else { 0.0 }).abs() <= 1e-9 * most;
    (0..penalty.len()).all(|i| (0..penalty.len()).all(|j| near(i, j)))
}

#[test]
fn the_penalty_of_the_coefficients_is_the_integral_of_squared_second_derivatives() {
    for knots in [3, 4, 7, 12] {
        assert!(is_unit(&penalty(&natural_curve(knots))), "{knots}");
    }
    for knots in [4, 5, 9, 14] {
        assert!(is_unit(&penalty(&cyclic_curve(knots))), "{knots}");
    }
    // Wrong penalties are found: a column that is too large by a thousandth, and masses of the intervals without their neighbours.
    let mut wrong = natural_curve(7);
    wrong.values[2].iter_mut().chain(&mut wrong.seconds[2]).for_each(|value| *value *= 1.001);
    assert!(!is_unit(&penalty(&wrong)));
    let mut wrong = natural_curve(7);
    let steps: Vec<f64> = (0..6).map(|i| wrong.step(i)).collect();
    for j in 0..5 {
        let lumped = ((steps[j] + steps[j + 1]) / 2.0).sqrt();
        wrong.seconds[j] = (0..7).map(|i| if i == j + 1 { 1.0 / lumped } else { 0.0 }).collect();
        wrong.values[j] = integrated(&steps, &wrong.seconds[j], false);
    }
    assert!(!is_unit(&penalty(&wrong)));
}

/// A natural spline with given values β at its knots has second derivatives γ with Bγ = Dβ: the equations of textbooks, solved by
/// elimination.
fn textbook(knots: &[f64], values: &[f64], x: f64) -> f64 {
    let h: Vec<f64> = knots.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let inner = knots.len() - 2;
    let mut a: Vec<[f64; 4]> = (0..inner)
        .map(|i| {
            let right = (values[i + 2] - values[i + 1]) / h[i + 1] - (values[i + 1] - values[i]) / h[i];
            [h[i] / 6.0, (h[i] + h[i + 1]) / 3.0, h[i + 1] / 6.0, right]
        })
        .collect();
    for i in 1..inner {
        let by = a[i][0] / a[i - 1][1];
        a[i][1] -= by * a[i - 1][2];
        a[i][3] -= by * a[i - 1][3];
    }
    let mut second = vec![0.0; knots.len()];
    for i in (0..inner).rev() {
        second[i + 1] = (a[i][3] - a[i][2] * second[i + 2]) / a[i][1];
    }
    let i = (0..h.len()).rev().find(|&i| knots[i] <= x).unwrap_or(0);
    let (left, right) = (knots[i + 1] - x, x - knots[i]);
    (second[i] * left.powi(3) + second[i + 1] * right.powi(3)) / (6.0 * h[i])
        + (values[i] / h[i] - second[i] * h[i] / 6.0) * left
        + (values[i + 1] / h[i] - second[i + 1] * h[i] / 6.0) * right
}

#[test]
fn columns_are_the_natural_splines_through_their_values_at_the_knots() {
    let curve = natural_curve(8);
    let rows: Vec<Vec<f64>> = curve.knots.iter().map(|knot| at(&curve, *knot)).collect();
    let (first, last) = (curve.knots[0], curve.knots[7]);
    for i in 0..=100 {
        let x = first + (last - first) * f64::from(i) / 100.0;
        for (j, found) in at(&curve, x).into_iter().enumerate() {
            let values: Vec<f64> = rows.iter().map(|row| row[j]).collect();
            let expected = textbook(&curve.knots, &values, x);
            assert!((found - expected).abs() <= 1e-10, "{x}, {j}: {found} and {expected}");
        }
    }
    // One, x and the columns are independent, so that they give every natural spline: a straight line without any curve. The second
    // derivatives of the columns at the inner knots are the rows of L⁻¹, and none of its diagonal entries is zero.
    assert!((0..6).all(|j| curve.seconds[j][j + 1].abs() > 1e-3));
}

#[test]
fn columns_have_mean_zero_no_trend_and_the_size_one() {
    let points = points();
    for (curve, natural) in [(natural_curve(9), true), (cyclic_curve(9), false)] {
        let rows: Vec<Vec<f64>> = points.iter().map(|x| at(&curve, *x)).collect();
        let n = points.len() as f64;
        let size = rows.iter().flatten().map(|z| z * z).sum::<f64>() / n;
        assert!((size - 1.0).abs() <= 1e-12, "{size}");
        let centre = points.iter().sum::<f64>() / n;
        for j in 0..curve.count() {
            let mean = rows.iter().map(|row| row[j]).sum::<f64>() / n;
            let trend = rows.iter().zip(&points).map(|(row, x)| row[j] * (x - centre)).sum::<f64>() / n;
            assert!(mean.abs() <= 1e-13, "{j}: {mean}");
            assert!(!natural || trend.abs() <= 1e-12, "{j}: {trend}");
        }
    }
}

#[test]
fn a_cyclic_curve_and_its_first_two_derivatives_close() {
    let (curve, period) = (cyclic_curve(7), 7.5);
    let near = |a: &[f64], b: &[f64], by: f64| {
        a.iter().zip(b).for_each(|(a, b)| assert!((a - b).abs() <= by * (1.0 + b.abs()), "{a} and {b}"));
    };
    let inside = period - 1e-9;
    near(&at(&curve, inside), &at(&curve, 0.0), 1e-7);
    near(&slope_at(&curve, inside), &slope_at(&curve, 0.0), 1e-7);
    let step = 0.1;
    // Within the outer pieces f″ is a straight line: both continue to the same value at the ends.
    let to_end = |x: f64, by: f64| -> Vec<f64> {
        let (near, far) = (second_at(&curve, x, step), second_at(&curve, x + by, step));
        near.iter().zip(&far).map(|(a, b)| a - (b - a) * step / by.abs()).collect()
    };
    near(&to_end(step, step), &to_end(period - step, -step), 1e-8);
    for x in [0.3, 5.1, 7.4] {
        near(&at(&curve, x + 3.0 * period), &at(&curve, x), 1e-12);
        near(&at(&curve, x - 2.0 * period), &at(&curve, x), 1e-12);
    }
}

#[test]
fn beyond_its_knots_a_natural_curve_is_a_straight_line() {
    let curve = natural_curve(6);
    for (end, side) in [(curve.knots[0], -1.0), (curve.knots[5], 1.0)] {
        let (value, slope) = (at(&curve, end), slope_at(&curve, end));
        for away in [0.5, 4.0, 1e3] {
            let far = end + side * away;
            for (j, found) in at(&curve, far).into_iter().enumerate() {
                let expected = value[j] + slope[j] * side * away;
                assert!((found - expected).abs() <= 1e-11 * (1.0 + expected.abs()), "{found}, {expected}");
                assert!((slope_at(&curve, far)[j] - slope[j]).abs() <= 1e-12 * (1.0 + slope[j].abs()));
            }
        }
        // No jump of the second derivative either: it is 0 at the end.
        second_at(&curve, end, 1e-3).iter().for_each(|second| assert!(second.abs() <= 0.2, "{second}"));
    }
}

#[test]
fn units_do_not_matter_and_too_few_points_are_refused() {
    let curve = natural_curve(7);
    let scaled: Vec<f64> = points().iter().map(|x| 1e150 * x).collect();
    let far = Smooth::learn(&scaled, Smoothing { knots: 7, period: None }).unwrap();
    for (a, b) in at(&curve, 2.0).into_iter().zip(at(&far, 2e150)) {
        assert!((a - b).abs() <= 1e-12, "{a} and {b}");
    }
    let few = [1.0, 2.0, 2.0, 3.0, 4.0];
    let how = |knots, period| Smoothing { knots, period };
    assert!(Smooth::learn(&few, how(4, None)).is_some() && Smooth::learn(&few, how(5, None)).is_none());
    // Two of the four are the same time of the day.
    assert!(Smooth::learn(&few, how(4, Some(3.0))).is_some());
    assert!(Smooth::learn(&few, how(5, Some(3.0))).is_none());
}

//! The most correlated pairs, as ellipses that contain 50 % and 95 % of the posterior.

use crate::chart::{Axis, Chart};
use crate::fit::FitPage;
use crate::number::fixed;

/// Most charts drawn.
const MOST: usize = 6;
/// √(−2 ln(1 − p)): the radius that contains the share p of a Gaussian in the plane.
const RADII: [f64; 2] = [2.447_746_830_680_816, 1.177_410_022_515_475];

/// One chart for each pair, the strongest correlation first.
pub(crate) fn charts(page: &FitPage) -> Vec<Chart> {
    let proper = |i: usize| {
        let c = &page.coefficients[i];
        c.mean.is_finite() && c.sd.is_finite() && c.sd > 0.0
    };
    let pairs = page.strongest_pairs(MOST).into_iter().filter(|p| proper(p.0) && proper(p.1));
    pairs.map(|(i, j, r)| chart(page, i, j, r)).collect()
}

fn chart(page: &FitPage, i: usize, j: usize, r: f64) -> Chart {
    let (a, b) = (&page.coefficients[i], &page.coefficients[j]);
    let label = format!("joint posterior of {} and {}, correlation {}", a.name, b.name, fixed(r, 2));
    let covariance = [a.sd * a.sd, r * a.sd * b.sd, b.sd * b.sd];
    let mut chart = Chart::new(label, Axis::linear(&a.name), Axis::linear(&b.name))
        .titled(format!("r = {}", fixed(r, 2)))
        .sized(250.0, 260.0);
    for radius in RADII {
        chart = chart.series(0).ellipse("", (a.mean, b.mean), covariance, radius);
    }
    chart
}

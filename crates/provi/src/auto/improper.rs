//! Densities that do not fall off somewhere, named for what they are.

use crate::base::error::{Error, Result};
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::linalg::norm;
use crate::base::matrix::packed_index;
use crate::target::evaluate::Evaluator;

/// How far from the centre the density is probed, in standard deviations; there a normal one has fallen by 50 nats.
const FAR: f64 = 10.0;
/// A density that has fallen by less than this is flat, and one that has grown by as much grows without end.
const FALL: f64 = 0.5;

/// Only a coordinate whose standard deviation has grown by this factor since the beginning, or whose mean is as far
/// away as the next number, is suspected: a density may grow into a narrow corner and be proper all the same.
const GROWN: f64 = 1e4;
const AWAY: f64 = 1e12;

/// Looks whether log p falls off on both sides of q along each coordinate that is suspected; `before` is where the
/// search began. The error says where it does not.
pub(super) fn check(
    view: Evaluator<'_>,
    before: &Gaussian<Triangular>,
    q: &Gaussian<Triangular>,
) -> Result<()> {
    let d = q.dim();
    let (first, sds) = (before.standard_deviations(), q.standard_deviations());
    let suspected = |i: &usize| sds[*i] >= GROWN * first[*i] || q.mean()[*i].abs() > AWAY;
    if !(0..d).any(|i| suspected(&i)) {
        return Ok(());
    }
    let mut points = vec![0.0; (2 * d + 1) * d];
    points[2 * d * d..].copy_from_slice(q.mean());
    for i in 0..d {
        // Coordinate i changes most along row i of C.
        let (row, mut v, mut shift) = (packed_index(i, 0), vec![0.0; d], vec![0.0; d]);
        v[..=i].copy_from_slice(&q.factor()[row..=row + i]);
        let length = norm(&v);
        v.iter_mut().for_each(|x| *x *= FAR / length);
        provi_kernels::triangle::multiply(q.factor(), &v, &mut shift);
        for j in 0..d {
            points[2 * i * d + j] = q.mean()[j] + shift[j];
            points[(2 * i + 1) * d + j] = q.mean()[j] - shift[j];
        }
    }
    let (mut values, mut gradients) = (vec![0.0; 2 * d + 1], vec![0.0; points.len()]);
    let mut scratch = view.scratch(values.len());
    view.evaluate(&points, &mut values, &mut gradients, &mut scratch)?;
    let centre = values[2 * d];
    // Far away, rounding hides a change of log p, but not its slope.
    let slope = |i: usize| {
        let (ahead, g) = (&points[2 * i * d..][..d], &gradients[2 * d * d..]);
        (0..d).map(|j| g[j] * (ahead[j] - q.mean()[j])).sum::<f64>().abs()
    };
    let fall = |i: usize| match (centre - values[2 * i]).min(centre - values[2 * i + 1]) {
        fall if fall < FALL && slope(i) > FALL => fall.min(-slope(i)),
        fall => fall,
    };
    let worst =
        (0..d).filter(suspected).min_by(|&a, &b| fall(a).total_cmp(&fall(b))).filter(|&i| fall(i) < FALL);
    match worst {
        Some(i) => {
            let how = if fall(i) < -FALL { "grows without end" } else { "is flat" };
            let name = view.target().names().get(i).cloned().unwrap_or_default();
            Err(Error::Improper { how, name, sd: sds[i], fall: fall(i) })
        }
        None => Ok(()),
    }
}

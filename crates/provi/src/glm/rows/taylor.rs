//! Third and fourth derivatives of the rows around an answer, in the coordinates where q is standard [psi-envelope].
//!
//! There the predictor of a row is s_n + a_n·x with a_n = Cᵀ times the row, and |a_n·x| ≤ r‖a_n‖ on the ball of radius r.

use super::{Layout, POWER, Rows};
use crate::base::chunked::{self, Chunks};
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::linalg::{add_lower_gram, norm};
use crate::base::matrix::packed_index;
use crate::base::scratch::Scratch;
use crate::base::special::{sigmoid, softplus};
use crate::base::stop;
use crate::glm::Family;
use crate::glm::design::BLOCK;
use crate::glm::family::Form;
use crate::target::rounding::deviations;
use crate::theory::envelope::excess;
use provi_kernels::axpy;
use std::ops::Range;

/// Chunks of partial sums, at most.
const PARTS: usize = 16;

/// What is known of a row's φ on an interval about s, and at s itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Shape {
    /// The least mean curvature 2(φ(s+t) − φ(s) − φ'(s)t)/t², and the largest φ''.
    pub(crate) curvature: [f64; 2],
    /// max(0, −φ'''') and max(0, φ'''').
    pub(crate) fourth: [f64; 2],
}

impl Family {
    /// φ'''(s), and φ''(s), which bounds |φ'''| and |φ''''| for every family that is known here.
    pub(crate) fn third(self, s: f64, y: f64) -> Option<[f64; 2]> {
        match self.form(y) {
            Form::Quadratic { .. } => Some([0.0; 2]),
            Form::Logistic => {
                let second = self.second_derivative(s, y);
                // 1 − 2σ(s) = −tanh(s/2).
                Some([-second * (0.5 * s).tanh(), second])
            }
            Form::Rate(rate) => {
                let second = rate.at(s);
                Some([rate.sign * second, second])
            }
            Form::Ordered(halves) => {
                let part = |shift: f64, y: f64| Self::Bernoulli.third(s + shift, y).unwrap_or_default();
                Some(halves.sum(part))
            }
            Form::Probit | Form::Cloglog(_) => None,
        }
    }

    /// What holds where |t| ≤ `reach`, rounded outwards. Logistic, w = φ'': φ'''' = w − 6w², which falls below zero only above w = 1/6 and is
    /// largest at w = 1/12; the mean curvature is least where s moves away from 0, for φ'' falls with |s|. A rate: where it falls.
    pub(crate) fn shape(self, s: f64, reach: f64, y: f64) -> Option<Shape> {
        let curvature = self.second_range(s - reach, s + reach, y);
        let [least, most] = curvature;
        match self.form(y) {
            Form::Quadratic { .. } => Some(Shape { curvature, fourth: [0.0; 2] }),
            Form::Logistic => {
                let fourth = |w: f64| w * (1.0 - 6.0 * w);
                let up = |x: f64| x.max(0.0) * (1.0 + 1e-12) + 1e-15 * most;
                let away = s.abs();
                let rise = softplus(away + reach) - softplus(away) - sigmoid(away) * reach;
                let lost = 8.0 * f64::EPSILON * (softplus(away + reach) + reach);
                let mean = 2.0 * (rise - lost) / (reach * reach);
                let mean = if mean.is_finite() { mean.max(least) } else { least };
                let quartic = [up(-fourth(most)), up(fourth((1.0f64 / 12.0).clamp(least, most)))];
                Some(Shape { curvature: [mean, most], fourth: quartic })
            }
            Form::Rate(rate) => {
                let mean = if reach > 1e-3 {
                    2.0 * rate.at(s) * excess(reach) / (reach * reach) * (1.0 - 1e-12)
                } else {
                    least
                };
                Some(Shape { curvature: [mean.max(least), most], fourth: [0.0, most] })
            }
            Form::Ordered(halves) => {
                let mut sum = Shape { curvature: [0.0; 2], fourth: [0.0; 2] };
                for (shift, y) in halves.iter() {
                    let part = Self::Bernoulli.shape(s + shift, reach, y)?;
                    for i in 0..2 {
                        sum.curvature[i] += part.curvature[i];
                        sum.fourth[i] += part.fourth[i];
                    }
                }
                Some(sum)
            }
            Form::Probit | Form::Cloglog(_) => None,
        }
    }
}

/// A row in the coordinates where q is standard.
#[derive(Clone, Copy)]
struct Seen {
    /// s_n and ‖a_n‖, and what they may be off by, the latter included in the former.
    mean: f64,
    off: f64,
    length: f64,
    error: f64,
    weight: f64,
    response: f64,
}

impl Rows {
    /// Adds to the sums of a [`Layout`]; `total` is the number of rows of all blocks.
    ///
    /// A computed a_n is off by at most e_n = (d+8)ε·Σ_j|A_nj|‖C_j‖ and a predictor by off_n, so a form Σ_nθ_n(a_n·x)^k of unit x by at most
    /// Σ_nθ_n(k·e_nb^{k−1} + (N+16)ε·b^k), b = ‖a_n‖ + e_n: N additions, whatever their order. Cost: one pass, for each radius the Gram matrix
    /// of d(d+1)/2 columns.
    pub(crate) fn add_taylor(
        &self,
        family: Family,
        q: &Gaussian<Triangular>,
        radii: &[f64],
        total: usize,
        layout: Layout,
        sums: &mut [f64],
    ) {
        let (d, wide) = (layout.dim, layout.wide());
        let (centers, spreads): (Vec<f64>, _) = (q.mean().iter().map(|m| m.abs()).collect(), deviations(q));
        let unit = (d as f64 + 8.0) * f64::EPSILON;
        let chain = (total as f64 + 64.0) * f64::EPSILON;
        let size = self.len().div_ceil(PARTS).next_multiple_of(BLOCK).max(BLOCK);
        let work = self.len().saturating_mul(radii.len() * wide * wide / 2 + d * wide);
        let room = BLOCK * (2 * wide + d) + 4 * BLOCK;
        let chunks = Chunks { len: self.len(), size, work };
        let part = |range: Range<usize>, sums: &mut [f64], room: &mut [f64]| {
            let (squared, room) = room.split_at_mut(BLOCK * wide);
            let (scaled, room) = room.split_at_mut(BLOCK * wide);
            let (whitened, room) = room.split_at_mut(BLOCK * d);
            for first in range.clone().step_by(BLOCK) {
                if stop::trips() {
                    return;
                }
                let rows = first..(first + BLOCK).min(range.end);
                let count = rows.len();
                let mut buffers = room.chunks_exact_mut(BLOCK).map(|b| &mut b[..count]);
                let [means, squares, near, far] = std::array::from_fn(|_| buffers.next().unwrap_or_default());
                self.predictors(rows.clone(), q.mean(), means);
                self.design.row_sizes(rows.clone(), &centers, squares, near);
                self.design.row_sizes(rows.clone(), &spreads, squares, far);
                let mut seen = Vec::with_capacity(count);
                for (k, n) in rows.clone().enumerate() {
                    let a = &mut whitened[k * d..][..d];
                    a.fill(0.0);
                    self.design.for_each_in_row(n, |j, x| {
                        axpy(x, &q.factor()[packed_index(j, 0)..=packed_index(j, j)], &mut a[..=j]);
                    });
                    let squared = &mut squared[k * wide..][..wide];
                    for i in 0..d {
                        let twice = std::f64::consts::SQRT_2 * a[i];
                        let row = &mut squared[packed_index(i, 0)..=packed_index(i, i)];
                        row.iter_mut().zip(&a[..i]).for_each(|(to, x)| *to = twice * x);
                        row[i] = a[i] * a[i];
                    }
                    let offset = self.offset_size(n);
                    let error = unit * far[k];
                    seen.push(Seen {
                        mean: means[k],
                        off: (unit * (near[k] + offset)).max(1e-13 * means[k].abs()),
                        length: norm(a) * (1.0 + 1e-12) + 2.0 * error,
                        error,
                        weight: self.weights[n],
                        response: self.response[n],
                    });
                }
                let block = Block { layout, chain, seen: &seen, whitened, squared, scaled };
                block.add(family, radii, sums);
            }
        };
        chunked::reduce(chunks, (layout.width(), room), &mut Scratch::default(), part, |part| {
            axpy(1.0, part, sums);
        });
    }
}

/// A block of rows: a_n, and vec(a_na_nᵀ) with √2 off the diagonal.
struct Block<'b> {
    layout: Layout,
    chain: f64,
    seen: &'b [Seen],
    whitened: &'b [f64],
    squared: &'b [f64],
    scaled: &'b mut [f64],
}

impl Block<'_> {
    fn add(self, family: Family, radii: &[f64], sums: &mut [f64]) {
        let Self { layout, chain, seen, whitened, squared, scaled } = self;
        let (d, wide) = (layout.dim, layout.wide());
        for (k, row) in seen.iter().enumerate() {
            let Some([third, second]) = family.third(row.mean, row.response) else { continue };
            let b = row.length;
            // φ'' changes by at most a factor e^off, and |φ''''| ≤ φ''.
            let lost =
                chain * b + 3.1 * row.error + b * if row.off < 0.5 { 1.7 * row.off } else { f64::INFINITY };
            sums[layout.third_error()] += row.weight * second * 1.01 * b * b * lost;
            let weight = row.weight * third;
            if weight.abs() > 0.0 {
                let third = &mut sums[layout.third()];
                for (a, to) in whitened[k * d..][..d].iter().zip(third.chunks_exact_mut(wide)) {
                    axpy(weight * a, &squared[k * wide..][..wide], to);
                }
            }
            if let Some(rate) = family.rate(row.response) {
                let exponent = rate.sign * row.mean + row.off + 0.5 * b * b;
                sums[layout.rate()] += row.weight * rate.factor * exponent.exp();
            }
            sums[layout.lengths()] += b.powi(POWER);
        }
        for ring in 0..=radii.len() {
            let radius = if ring == 0 { 0.0 } else { radii[ring - 1] };
            let shapes: Vec<Shape> = seen
                .iter()
                .filter_map(|row| {
                    let reach = radius * row.length * (1.0 + 1e-12) + row.off;
                    family.shape(row.mean, reach, row.response)
                })
                .collect();
            // Adds Σ_nθ_nv_nv_nᵀ, and what it may be off by as a form of degree `power` in x.
            let mut add = |sums: &mut [f64],
                           source: &[f64],
                           columns: usize,
                           power: i32,
                           place: (usize, Range<usize>),
                           theta: &dyn Fn(usize) -> f64| {
                let mut any = false;
                for (k, row) in seen.iter().enumerate() {
                    let mut theta = row.weight * theta(k);
                    let b = row.length;
                    let part =
                        f64::from(power) * 1.05 * row.error * b.powi(power - 1) + chain * b.powi(power);
                    sums[place.0] += theta * part;
                    if !theta.is_finite() {
                        theta = 0.0;
                        sums[place.0] = f64::INFINITY;
                    }
                    any |= theta > 0.0;
                    let root = theta.sqrt();
                    let to = &mut scaled[k * columns..][..columns];
                    to.iter_mut().zip(&source[k * columns..]).for_each(|(to, x)| *to = root * x);
                }
                if any {
                    add_lower_gram(&scaled[..seen.len() * columns], columns, &mut sums[place.1]);
                }
            };
            for side in 0..2 {
                let place = (layout.curvature_error(ring, side), layout.curvature(ring, side));
                add(sums, whitened, d, 2, place, &|k| shapes[k].curvature[side]);
            }
            if ring > 0 {
                let place = (layout.quartic_error(ring, 0), layout.lower_quartic(ring));
                add(sums, squared, wide, 4, place, &|k| shapes[k].fourth[0]);
                // γ(a·x)⁴ ≤ γ‖a‖²(a·x)² for a unit x.
                let place = (layout.quartic_error(ring, 1), layout.upper_quartic(ring));
                add(sums, whitened, d, 2, place, &|k| shapes[k].fourth[1] * seen[k].length.powi(2));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The response of every row.
    const Y: f64 = 0.7;

    /// Against a scan of the interval, from both sides; a shape at a fraction of the interval is caught by the same scan.
    #[test]
    fn shapes_hold_on_the_interval_and_not_on_a_larger_one() {
        let mut caught = [0; 4];
        let gamma = Family::Gamma { noise_sd: 0.8 };
        for family in [Family::Bernoulli, Family::Poisson, gamma, Family::Gaussian { noise_sd: 0.5 }] {
            for s in [-6.0, -1.9, -0.4, 0.0, 0.3, 1.0, 2.3, 5.0, 30.0] {
                for reach in [1e-9, 1e-4, 0.01, 0.3, 1.0, 2.5, 6.0] {
                    let fourth = |s: f64| match family {
                        Family::Poisson | Family::Gamma { .. } => family.second_derivative(s, Y),
                        Family::Gaussian { .. } => 0.0,
                        _ => {
                            let w = family.second_derivative(s, Y);
                            w * (1.0 - 6.0 * w)
                        }
                    };
                    // ∫₀¹ 2(1−v)φ''(s+vt)dv, by midpoints.
                    let mean = |t: f64| {
                        let at = |k: i32| (f64::from(k) + 0.5) / 200.0;
                        (0..200)
                            .map(|k| 2.0 * (1.0 - at(k)) * family.second_derivative(s + at(k) * t, Y))
                            .sum::<f64>()
                            / 200.0
                    };
                    let [mut low, mut high, mut below, mut above] = [f64::INFINITY, 0.0f64, 0.0f64, 0.0f64];
                    for k in -60..=60 {
                        let t = reach * f64::from(k) / 60.0;
                        low = low.min(mean(t));
                        high = high.max(family.second_derivative(s + t, Y));
                        below = below.max(-fourth(s + t));
                        above = above.max(fourth(s + t));
                    }
                    let shape = family.shape(s, reach, Y).unwrap();
                    let name = format!("{family:?} {s} {reach}: {shape:?} {low} {high} {below} {above}");
                    // The scan's own midpoints are good to 1e-4 of the largest curvature.
                    assert!(shape.curvature[0] <= low + 1e-4 * high && shape.curvature[1] >= high, "{name}");
                    assert!(shape.fourth[0] >= below && shape.fourth[1] >= above, "{name}");
                    assert!(shape.curvature[0] >= 0.99 * low - 1e-6, "{name}");
                    assert!(
                        shape.fourth[0] <= below * 1.01 + 1e-4 && shape.fourth[1] <= above * 1.01 + 2e-3,
                        "{name}"
                    );
                    let small = family.shape(s, 0.5 * reach, Y).unwrap();
                    caught[0] += u32::from(small.curvature[0] > low + 1e-3 * high);
                    caught[1] += u32::from(small.curvature[1] < high);
                    caught[2] += u32::from(small.fourth[0] < below);
                    caught[3] += u32::from(small.fourth[1] < above);
                }
            }
        }
        assert!(caught.iter().all(|&count| count > 3), "{caught:?}");
        assert!(Family::Probit.shape(0.0, 1.0, Y).is_none() && Family::Probit.third(0.0, Y).is_none());
    }

    #[test]
    fn third_derivatives_are_differences_of_second_ones() {
        for family in [Family::Bernoulli, Family::Poisson, Family::Gamma { noise_sd: 0.8 }] {
            for s in [-4.0, -0.7, 0.0, 1.2, 3.0] {
                let second = |s: f64| family.second_derivative(s, Y);
                let slope = (second(s + 1e-5) - second(s - 1e-5)) / 2e-5;
                let [third, most] = family.third(s, Y).unwrap();
                assert!((slope - third).abs() < 1e-9 * (1.0 + most) && third.abs() <= most);
            }
        }
    }
}

//! Bounds of the rounding error of the rows' energies and slopes, on an ellipsoid \[rounding\].

use super::Rows;
use super::energy::ROWS_A_SLOT;
use crate::base::chunked;
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::scratch::Scratch;
use crate::base::special::{sigmoid, softplus};
use crate::glm::Family;
use crate::glm::design::BLOCK;
use crate::glm::family::Form;
use crate::target::rounding::deviations;
use provi_kernels::{Cloglog, axpy};
use std::f64::consts::LN_2;

/// Number of sums over the rows for one radius: the error of V, Σ|terms| of V, and both for each slope.
pub(crate) const fn width(dim: usize) -> usize {
    2 + 2 * dim
}

/// Relative error of a link function and of the products around it: the kernels' functions are within 4 units in
/// the last place, the probit's within 4e-15.
const LINK: f64 = 16.0 * f64::EPSILON;
const PROBIT_LINK: f64 = 64.0 * f64::EPSILON;

/// Where predictors are, besides what a radius says: |s_n − middle_n| ≤ reach_n.
#[derive(Clone, Copy)]
pub(crate) struct Within<'a> {
    pub(crate) middles: &'a [f64],
    pub(crate) reach: &'a [f64],
}

impl Within<'_> {
    /// Middle and half-width of the part of |s − mean| ≤ spread that lies in row n's interval, with an allowance `off` at its ends.
    fn part(self, n: usize, mean: f64, spread: f64, off: f64) -> (f64, f64) {
        let (middle, reach) = (self.middles[n], self.reach[n] + off);
        let (low, high) = ((mean - spread).max(middle - reach), (mean + spread).min(middle + reach));
        if !(low.is_finite() && high.is_finite()) {
            return (mean, spread);
        }
        // Where both have nothing in common every bound holds; rounding moves the ends by less than the allowance.
        (0.5 * (low + high), (0.5 * (high - low)).max(0.0) * (1.0 + 1e-12))
    }
}

/// One row: bounds of |φ| and |φ'| over an interval of predictors, and of the rounding error of each.
struct Share {
    value: f64,
    slope: f64,
    lost_value: f64,
    lost_slope: f64,
}

/// The largest t = (1 − 2y)s over an interval: log(1 + eᵗ) rises with t, and its slope does.
fn highest(mean: f64, spread: f64, y: f64) -> f64 {
    (1.0 - 2.0 * y) * mean + spread
}

impl Share {
    /// That of log(1 + eᵗ), from its value and slope at the largest t.
    fn of_success(value: f64, slope: f64, off: f64, link: f64) -> Self {
        let (value, slope) = (value * (1.0 + 1e-12), slope * (1.0 + 1e-12));
        Self { value, slope, lost_value: slope * off + link * (1.0 + value), lost_slope: 0.25 * off + link }
    }
}

/// The rows of a block over their intervals. The functions of successes and failures are taken many at a time, and are within 4 units in the
/// last place; those of other families row by row.
struct Shares {
    family: Family,
    /// log(1 + eᵗ) and its slope at each row's largest t.
    ends: Option<[[f64; BLOCK]; 2]>,
}

impl Shares {
    fn new(family: Family, middles: &[f64], reaches: &[f64], responses: &[f64]) -> Self {
        let ends = matches!(family, Family::Bernoulli).then(|| {
            let (mut most, mut ends) = ([0.0; BLOCK], [[0.0; BLOCK]; 2]);
            let rows = middles.iter().zip(reaches).zip(responses);
            most.iter_mut().zip(rows).for_each(|(to, ((mean, spread), y))| *to = highest(*mean, *spread, *y));
            let [values, slopes] = ends.each_mut().map(|part| &mut part[..middles.len()]);
            provi_kernels::link::logistic(&most[..middles.len()], values, slopes);
            ends
        });
        Self { family, ends }
    }

    fn of_row(&self, k: usize, mean: f64, spread: f64, y: f64, off: f64, least: f64) -> Share {
        match &self.ends {
            Some([values, slopes]) => Share::of_success(values[k], slopes[k], off, LINK.max(least)),
            None => self.family.rounding(mean, spread, y, off, least),
        }
    }
}

impl Family {
    /// For predictors with |s − mean| ≤ spread, each computed with an error of at most `off`; the interval includes
    /// these errors.
    ///
    /// φ(s + δ) − φ(s) is at most |δ|·sup|φ'|, and φ' moves by at most |δ|·sup φ''. The response k/n of a binomial
    /// row has itself a relative error of ε/2, which the allowance for the link covers: the bounds are about the
    /// model of the counts.
    /// `least` is what the functions' relative error is taken to be at least.
    fn rounding(self, mean: f64, spread: f64, y: f64, off: f64, least: f64) -> Share {
        let size = mean.abs() + spread;
        let (link, probit_link) = (LINK.max(least), PROBIT_LINK.max(least));
        match self.form(y) {
            Form::Quadratic { precision: theta } => {
                let gap = (mean - y).abs() + spread;
                let (value, slope) = (0.5 * theta * gap * gap, theta * gap);
                Share {
                    value,
                    slope,
                    lost_value: slope * off + link * value,
                    lost_slope: theta * off + link * slope,
                }
            }
            Form::Logistic if matches!(self, Self::Bernoulli) => {
                let most = highest(mean, spread, y);
                Share::of_success(softplus(most), sigmoid(most), off, link)
            }
            Form::Logistic => {
                let value = LN_2 + (1.0 + y) * size;
                Share {
                    value,
                    slope: 1.0,
                    lost_value: off + link * (1.0 + value),
                    lost_slope: 0.25 * off + link,
                }
            }
            Form::Probit => {
                // −log Φ(−t) ≤ log 2 + t + ½t², and its slope is at most 1 + t.
                let (value, slope) = (1.0 + size + 0.5 * size * size, 1.0 + size);
                Share {
                    value,
                    slope,
                    lost_value: slope * off + probit_link * value,
                    lost_slope: off + probit_link * slope,
                }
            }
            Form::Cloglog(Cloglog { success: share, rate, line }) => {
                // −log(1 − e^{−r}) falls with s, and its slope is between −1 and 0.
                let rate = if rate > 0.0 { rate * (mean + spread).exp() } else { 0.0 };
                let success = if share > 0.0 {
                    share * (provi_kernels::cloglog_success(mean - spread)[0] + 1e-12)
                } else {
                    0.0
                };
                let (value, slope) =
                    ((success + rate) * (1.0 + 1e-12) + line * size, share + rate * (1.0 + 1e-12) + line);
                Share {
                    value,
                    slope,
                    lost_value: slope * off + probit_link * (1.0 + value),
                    lost_slope: slope * off + probit_link * slope,
                }
            }
            Form::Rate(form) => {
                let rate = form.factor * (form.sign * mean + spread).exp() * (1.0 + 1e-12);
                let line = form.line.abs();
                let (value, slope) = (rate + line * size, rate + line);
                Share {
                    value,
                    slope,
                    lost_value: slope * off + link * value,
                    lost_slope: rate * off + link * slope,
                }
            }
            Form::Ordered(halves) => {
                let [value, slope, lost_value, lost_slope] = halves.sum(|shift, y| {
                    // The shift is rounded once more.
                    let off = off + f64::EPSILON * (size + shift.abs());
                    let part = Self::Binomial.rounding(mean + shift, spread + off, y, off, least);
                    [part.value, part.slope, part.lost_value, part.lost_slope]
                });
                // Their sum is rounded too.
                let unit = 2.0 * f64::EPSILON;
                Share {
                    value,
                    slope,
                    lost_value: lost_value + unit * value,
                    lost_slope: lost_slope + unit * slope,
                }
            }
        }
    }
}

impl Rows {
    /// Adds for each radius, in [`width`] numbers, the rounding error of Σ_n w_nφ_n and of its slopes before
    /// summation, and the sums of absolute values, on {m + Cx, ‖x‖ ≤ r}, or on its part in `within`.
    ///
    /// The error of a predictor a_nᵀz + o_n is at most (d + 4)ε·(Σ_j|a_nj||z_j| + |o_n|), |z_j| ≤ |m_j| + r‖C_j‖.
    /// Cost: one pass; d² per row for a dense design.
    pub(crate) fn add_rounding(
        &self,
        family: Family,
        q: &Gaussian<Triangular>,
        radii: &[f64],
        within: Option<Within<'_>>,
        sums: &mut [f64],
    ) {
        let d = q.dim();
        let factor = self.design.factor(q.factor());
        let (centers, spreads): (Vec<f64>, _) = (q.mean().iter().map(|m| m.abs()).collect(), deviations(q));
        let unit = (d as f64 + 4.0) * f64::EPSILON;
        if radii.is_empty() {
            return;
        }
        let (least, spread_out) = (self.device_link(), radii.iter().any(|&radius| radius > 0.0));
        let mut chunks = self.design.chunks(radii.len() + d);
        chunks.size = chunks.size.next_multiple_of(BLOCK);
        // For each radius two numbers, then what it loses of each slope, then their sizes.
        let count = radii.len();
        let (slopes_at, slopes) = (2 * count, 2 * count);
        chunked::reduce(
            chunks,
            (slopes_at + slopes * d, (7 + slopes) * BLOCK),
            &mut Scratch::default(),
            |range, partial, room| {
                let (scalars, of_slopes) = partial.split_at_mut(slopes_at);
                let (room, pulls) = room.split_at_mut(7 * BLOCK);
                for first in range.clone().step_by(BLOCK) {
                    let rows = first..(first + BLOCK).min(range.end);
                    let mut parts = room.chunks_exact_mut(BLOCK).map(|part| &mut part[..rows.len()]);
                    let [means, deviations, squares, near, far, middles, reaches] =
                        std::array::from_fn(|_| parts.next().unwrap_or_default());
                    let pulls = &mut pulls[..slopes * rows.len()];
                    self.predictors(rows.clone(), q.mean(), means);
                    match spread_out {
                        true => self.design.row_variances(rows.clone(), &factor, deviations),
                        false => deviations.fill(0.0),
                    }
                    self.design.row_sizes(rows.clone(), &centers, squares, near);
                    self.design.row_sizes(rows.clone(), &spreads, squares, far);
                    for (r, (&radius, scalars)) in radii.iter().zip(scalars.chunks_exact_mut(2)).enumerate() {
                        let off =
                            |k: usize, n: usize| unit * (near[k] + radius * far[k] + self.offset_size(n));
                        for (k, n) in rows.clone().enumerate() {
                            let off = off(k, n);
                            // Mean and deviation themselves have errors of that size.
                            let spread = radius * deviations[k].sqrt() * (1.0 + 1e-9) + 2.0 * off;
                            (middles[k], reaches[k]) = within.map_or((means[k], spread), |within| {
                                within.part(n, means[k], spread, 4.0 * off)
                            });
                        }
                        let shares = Shares::new(family, middles, reaches, &self.response[rows.clone()]);
                        for (k, n) in rows.clone().enumerate() {
                            let (w, off) = (self.weights[n], off(k, n));
                            let share =
                                shares.of_row(k, middles[k], reaches[k], self.response[n], off, least);
                            scalars[0] += w * share.lost_value;
                            scalars[1] += w * share.value;
                            let pulls = &mut pulls[k * slopes..(k + 1) * slopes];
                            (pulls[2 * r], pulls[2 * r + 1]) = (w * share.lost_slope, w * share.slope);
                        }
                    }
                    self.design.pull_back_sizes(rows, pulls, of_slopes);
                }
            },
            |partial| {
                let (scalars, of_slopes) = partial.split_at(slopes_at);
                let parts = scalars.chunks_exact(2).zip(of_slopes.chunks_exact(2 * d));
                for ((scalars, slopes), sums) in parts.zip(sums.chunks_exact_mut(width(d))) {
                    axpy(1.0, scalars, &mut sums[..2]);
                    axpy(1.0, slopes, &mut sums[2..]);
                }
            },
        );
    }

    /// How this processor adds energies and slopes.
    pub(crate) fn energy_chains(&self) -> EnergyChains {
        let chunks = self.design.chunks(1);
        let inside = chunks.size.min(self.len());
        EnergyChains {
            value: inside.min(ROWS_A_SLOT) + inside.div_ceil(ROWS_A_SLOT) + SLOTS,
            slope: inside,
            chunks: self.len().div_ceil(chunks.size),
        }
    }
}

/// The longest chains of additions behind energies and their slopes. A chunk of rows is added in groups of [`ROWS_A_SLOT`], each in slots
/// that are joined at its end, and the groups one after the other; a slope takes row after row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct EnergyChains {
    /// Behind an energy, inside a chunk.
    pub(crate) value: usize,
    /// Behind a slope, inside a chunk.
    pub(crate) slope: usize,
    /// Over the chunks.
    pub(crate) chunks: usize,
}

/// Slots that a group of rows is added in, and its logarithm.
const SLOTS: usize = 9;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::glm::design::Design;
    use crate::target::rounding::gamma;

    /// The part of an interval that lies in another one, and bounds over it that are no larger.
    #[test]
    fn a_slab_cuts_what_a_radius_allows() {
        let within = Within { middles: &[1.0, -2.0, 0.0], reach: &[0.5, 3.0, f64::INFINITY] };
        let near = |(a, b): (f64, f64), (c, d): (f64, f64)| (a - c).abs() < 1e-9 && (b - d).abs() < 1e-9;
        // [−9, 9] ∩ [0.5, 1.5]; [−1, 2] ∩ [−5, 1]; no bound.
        assert!(near(within.part(0, 0.0, 9.0, 0.0), (1.0, 0.5)));
        assert!(near(within.part(1, 0.5, 1.5, 0.0), (0.0, 1.0)));
        assert!(near(within.part(2, 0.5, 1.5, 0.0), (0.5, 1.5)));
        // Nothing in common: a point.
        assert!(within.part(0, -8.0, 1.0, 0.0).1 <= 0.0);
        let (mean, spread) = within.part(0, 0.0, 9.0, 1e-12);
        let (all, cut) = (
            Family::Poisson.rounding(0.0, 9.0, 2.0, 1e-15, 0.0),
            Family::Poisson.rounding(mean, spread, 2.0, 1e-15, 0.0),
        );
        assert!(cut.value >= 1.5f64.exp() && cut.value < 1e-2 * all.value, "{}", cut.value);
        assert!(cut.lost_value < 1e-2 * all.lost_value);
    }

    /// A logistic row's bounds hold over its interval, and are reached at an end of it.
    #[test]
    fn bounds_of_a_logistic_row_are_reached() {
        for (mean, spread) in [(0.0, 0.1), (-3.0, 0.5), (40.0, 2.0), (-700.0, 30.0), (2.0, 9.0)] {
            for y in [0.0, 1.0] {
                let share = Family::Bernoulli.rounding(mean, spread, y, 1e-13, 0.0);
                let ends = [mean - spread, mean + spread].map(|s| {
                    let t = (1.0 - 2.0 * y) * s;
                    (softplus(t), sigmoid(t))
                });
                let most = |f: fn(&(f64, f64)) -> f64| ends.iter().map(f).fold(0.0, f64::max);
                let (value, slope) = (most(|end| end.0), most(|end| end.1));
                assert!(share.value >= value && share.value <= value * (1.0 + 1e-11), "{mean} {y}");
                assert!(share.slope >= slope && share.slope <= slope * (1.0 + 1e-11), "{mean} {y}");
                assert!(share.lost_value >= slope * 1e-13, "{mean} {y}");
            }
        }
    }

    /// Energies of many equal rows, whose roundings all go one way inside a chain, are within γ of the chain that is stated; of a chain a
    /// sixty-fourth as long they would not be (eight lanes share the rows), and one through all rows would be far longer.
    #[test]
    fn energies_are_summed_in_the_chains_that_are_stated() {
        let rows = 300_000;
        let mut worst = 0.0_f64;
        for k in 0..24 {
            let y = 0.1 + 0.037 * f64::from(k);
            let block = Rows::new(
                Family::Gaussian { noise_sd: 1.0 },
                Design::dense(rows, 1, &vec![0.0; rows]).unwrap(),
                &vec![y; rows],
            )
            .unwrap();
            let (mut energy, mut slope) = ([0.0], [0.0]);
            block.add_energies_here(block.family, &[0.0], (&mut energy, &mut slope), &mut Scratch::default());
            // N times ½y² in two doubles.
            let term = 0.5 * y * y;
            let (whole, n) = (term * rows as f64, rows as f64);
            let exact = term.mul_add(n, -whole);
            let off = ((energy[0] - whole) - exact).abs() / whole;
            let chains = block.energy_chains();
            let chain = chains.value + chains.chunks;
            assert!(off <= gamma(chain as f64), "{y}: {off:e}");
            assert!(chain < rows / 100 && chains.slope + chains.chunks > 9 * chain, "{chains:?}");
            worst = worst.max(off / gamma(chain as f64));
        }
        assert!(worst > 1.0 / 64.0, "{worst}");
    }
}

//! Draws of q that are stretched, and what draws of both kinds say about the posterior's means and standard deviations.
//!
//! Draw k is stretched c times along v, the direction in which one coordinate changes most: u = w + (c − 1)(wᵀv)v with w ~ N(0, I).
//! Coordinates take turns, four draws each; above 500, where there are fewer draws, they are picked at equal distances. In few dimensions every
//! other draw is stretched in all directions, u = cw.
//!
//! Draws of q alone show a heavy tail of the posterior only where q has its last draws, and there with the largest weights: by chance it looks
//! short or long. So all draws are weighted by the mixture that they come from (Veach and Guibas, *Optimally
//! combining sampling techniques*, SIGGRAPH 1995): with n draws of q and nⱼ of the stretched qⱼ,
//! ```text
//! weight ∝ p/(n q + Σⱼ nⱼ qⱼ)
//! ```
//! For a Gaussian q, vᵀu is the standardised coordinate xᵢ = (zᵢ − mᵢ)/sdᵢ, so the ratio costs O(d):
//! ```text
//! qⱼ/q = c⁻¹ exp{½(1 − c⁻²)xᵢ²},   or c⁻ᵈ exp{½(1 − c⁻²)‖u‖²} if stretched in all directions
//! ```
//! For a mixture q it is the mean of those of its components, in proportion to their parts in q at z.

use super::elsewhere::Law;
use super::stretch::{ISOTROPIC, Stretch};
use crate::base::draws::Draws;
use crate::base::error::Result;
use crate::base::gaussian::Gaussian;
use crate::base::mixture::{log_sum_exp, whiten};
use crate::base::stop;
use crate::certify::estimate::psis;
use provi_kernels::dot;

/// Stretched draws, and how far they are stretched in turn.
pub(super) const DRAWS: usize = 2_000;
pub(super) const STRETCHES: [f64; 2] = [2.0, 3.0];

/// The stretch of wide draw k in d dimensions.
pub(super) fn stretch(k: usize, d: usize) -> Stretch {
    let turn = if d <= DRAWS / 4 { k / 4 % d } else { k * d / DRAWS };
    Stretch {
        factor: STRETCHES[k / 2 % STRETCHES.len()],
        along: (d > ISOTROPIC || k % 2 == 1).then_some(turn),
    }
}

/// log Σⱼ nⱼ qⱼ/q at any point. In logarithms throughout: far from a component its ratio is infinite where its part in q is zero.
#[derive(Clone, Debug)]
pub(super) struct Farther {
    /// Standard deviations of each component.
    sds: Vec<Vec<f64>>,
    /// nⱼ along each coordinate, and in all directions, for each stretch.
    along: Vec<[f64; STRETCHES.len()]>,
    everywhere: [f64; STRETCHES.len()],
    log_shares: Vec<f64>,
    terms: Vec<f64>,
    u: Vec<f64>,
}

impl Farther {
    pub(super) fn new(law: &dyn Law) -> Self {
        let components = law.components();
        let d = components[0].dim();
        let mut out = Self {
            sds: components.iter().map(Gaussian::standard_deviations).collect(),
            along: vec![[0.0; STRETCHES.len()]; d],
            everywhere: [0.0; STRETCHES.len()],
            log_shares: vec![0.0; components.len()],
            terms: Vec::with_capacity(components.len() * STRETCHES.len() * (d + 1)),
            u: vec![0.0; d],
        };
        for k in 0..DRAWS {
            let counts = stretch(k, d).along.map_or(&mut out.everywhere, |i| &mut out.along[i]);
            counts[k / 2 % STRETCHES.len()] += 1.0;
        }
        out
    }

    pub(super) fn at(&mut self, law: &dyn Law, z: &[f64]) -> f64 {
        law.log_shares(z, &mut self.log_shares);
        let d = z.len();
        self.terms.clear();
        for ((q, sds), share) in law.components().iter().zip(&self.sds).zip(&self.log_shares) {
            for (j, c) in STRETCHES.into_iter().enumerate() {
                let half = 0.5 * (1.0 - (c * c).recip());
                for i in 0..d {
                    let x = (z[i] - q.mean()[i]) / sds[i];
                    self.terms.push(share + self.along[i][j].ln() + half * x * x - c.ln());
                }
                if self.everywhere[j] > 0.0 {
                    whiten(q, z, &mut self.u);
                    let radius2 = dot(&self.u, &self.u);
                    self.terms.push(share + self.everywhere[j].ln() + half * radius2 - d as f64 * c.ln());
                }
            }
        }
        log_sum_exp(&self.terms)
    }
}

/// Draws with their log p/q and log Σⱼ nⱼ qⱼ/q; the points of stretched draws, while those of q can be made again.
#[derive(Clone, Debug, Default)]
pub(super) struct Weighed {
    pub(super) points: Vec<f64>,
    pub(super) ratios: Vec<f64>,
    pub(super) farther: Vec<f64>,
}

/// The largest shift of a mean, in standard deviations, and the largest |log| of a ratio of standard deviations,
/// between all draws weighted towards p and the same draws weighted towards q: their common noise cancels.
pub(super) fn moved(
    law: &dyn Law,
    stream: &Draws,
    own: &Weighed,
    wide: &Weighed,
    (mean, sds): (&[f64], &[f64]),
) -> Result<(f64, f64)> {
    let (d, count) = (mean.len(), own.ratios.len());
    // log(n + Σⱼ nⱼ qⱼ/q).
    let all = own.farther.iter().chain(&wide.farther).map(|f| log_sum_exp(&[(count as f64).ln(), *f]));
    let all: Vec<f64> = all.collect();
    let mut plain: Vec<f64> = all.iter().map(|all| (-all).exp()).collect();
    let ratios = own.ratios.iter().chain(&wide.ratios);
    let mut weights: Vec<f64> = ratios.zip(&all).map(|(r, all)| r - all).collect();
    psis(&mut weights)?;
    let top = weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    weights.iter_mut().for_each(|w| *w = (*w - top).exp());
    for list in [&mut plain, &mut weights] {
        let total: f64 = list.iter().sum();
        list.iter_mut().for_each(|w| *w /= total);
    }
    let (mut u, mut z) = (vec![0.0; d], vec![0.0; d]);
    // Towards p and towards q: Σx and Σx².
    let mut sums = vec![[0.0; 4]; d];
    for (k, (weight, plain)) in weights.iter().zip(&plain).enumerate() {
        if k % 1024 == 0 {
            stop::check()?;
        }
        match k.checked_sub(count) {
            None => law.draw(stream, k, &mut u, &mut z),
            Some(k) => z.copy_from_slice(&wide.points[k * d..][..d]),
        }
        for (i, sums) in sums.iter_mut().enumerate() {
            let x = (z[i] - mean[i]) / sds[i];
            sums[0] += weight * x;
            sums[1] += weight * x * x;
            sums[2] += plain * x;
            sums[3] += plain * x * x;
        }
    }
    let of = |s: &[f64; 4]| {
        let (weighted, plain) = (s[1] - s[0] * s[0], s[3] - s[2] * s[2]);
        // All weight on one draw leaves no variance, or rounding of either sign: an infinite change, and never a NaN, which a maximum drops.
        ((s[0] - s[2]).abs(), (0.5 * (weighted / plain).max(0.0).ln()).abs())
    };
    Ok(sums.iter().map(of).fold((0.0, 0.0), |a: (f64, f64), b| (a.0.max(b.0), a.1.max(b.1))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::draws::{Purpose, Seed};
    use crate::base::gaussian::Triangular;
    use crate::base::mixture::Mixture;
    use crate::certify::trust::limits::GOOD_SD_CHANGE;
    use crate::certify::trust::mixture::Drawn;

    fn q() -> Gaussian<Triangular> {
        Gaussian::new(&[1.0, -2.0], &[2.0, 0.8, 0.5]).unwrap()
    }

    /// N(z; m, S) in two dimensions, by its formula.
    fn density(z: &[f64], m: &[f64], s: [f64; 3]) -> f64 {
        let det = s[0] * s[2] - s[1] * s[1];
        let (a, b) = (z[0] - m[0], z[1] - m[1]);
        let square = (s[2] * a * a - 2.0 * s[1] * a * b + s[0] * b * b) / det;
        (-0.5 * square).exp() / (2.0 * std::f64::consts::PI * det.sqrt())
    }

    /// The covariance C(I + (c² − 1)vvᵀ)Cᵀ = S + (c² − 1)(Cv)(Cv)ᵀ, or c²S.
    fn stretched(how: Stretch) -> [f64; 3] {
        let (s, more) = ([4.0, 1.6, 0.89], how.factor * how.factor - 1.0);
        let w = match how.along {
            None => return s.map(|x| (1.0 + more) * x),
            Some(0) => [2.0, 0.8],
            Some(_) => {
                let length = 0.89f64.sqrt();
                [2.0 * 0.8 / length, (0.64 + 0.25) / length]
            }
        };
        [s[0] + more * w[0] * w[0], s[1] + more * w[0] * w[1], s[2] + more * w[1] * w[1]]
    }

    #[test]
    fn the_ratio_is_that_of_the_densities() {
        let (q, mut farther) = (q(), Farther::new(&q()));
        for z in [[1.0, -2.0], [4.0, 0.0], [-7.0, -1.0], [1.0, 1.0]] {
            let own = density(&z, q.mean(), [4.0, 1.6, 0.89]);
            let of = |k: usize| density(&z, q.mean(), stretched(stretch(k, 2))) / own;
            let expected: f64 = (0..DRAWS).map(of).sum();
            let found = farther.at(&q, &z).exp();
            assert!((found / expected - 1.0).abs() < 1e-9, "{found} {expected}");
        }
        // A mixture of a Gaussian with itself is the same.
        let twice = Mixture::new(&[0.3, 0.7], vec![q.clone(), q.clone()]).unwrap();
        let law = Drawn::new(&twice, Seed(1));
        let found = Farther::new(&law).at(&law, &[4.0, 0.0]);
        assert!((found - farther.at(&q, &[4.0, 0.0])).abs() < 1e-9);
        // Far from both of its components, where the part of one of them is zero and its ratio infinite.
        let apart =
            Mixture::new(&[0.5, 0.5], vec![q, Gaussian::new(&[900.0, 0.0], &[1.0, 0.0, 1.0]).unwrap()]);
        let apart = apart.unwrap();
        let law = Drawn::new(&apart, Seed(1));
        for z in [[1.0, -2.0], [900.0, 0.0], [-4000.0, 3.0], [1e200, 0.0]] {
            assert!(!Farther::new(&law).at(&law, &z).is_nan(), "{z:?}");
        }
    }

    /// Every coordinate has its turn up to the number of draws, and beyond it they are spread evenly.
    #[test]
    fn no_part_of_the_coordinates_is_left_out() {
        for d in [1, 7, 499, 500, 501, 777, 2000, 6000] {
            let mut turns: Vec<usize> = (0..DRAWS).filter_map(|k| stretch(k, d).along).collect();
            turns.sort_unstable();
            turns.dedup();
            assert_eq!(turns.len(), d.min(DRAWS), "{d}");
            let widest = turns.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(1);
            assert!(widest <= d.div_ceil(DRAWS) && d - turns[turns.len() - 1] <= d.div_ceil(DRAWS), "{d}");
        }
    }

    /// t₃, whose second moment is 3, beside a Gaussian of its middle. With stretched draws each of 25 seeds finds more than a good answer may have, and
    /// less than what is missing; own draws alone find from a third of it to twice as much, and sometimes too little.
    #[test]
    fn stretched_draws_see_a_heavy_tail_every_time() {
        let q = Gaussian::new(&[0.0], &[1.27]).unwrap();
        let log_p = |x: f64| -2.0 * (x * x / 3.0).ln_1p();
        let normaliser = 1.27f64.ln() + 0.5 * (2.0 * std::f64::consts::PI).ln();
        let change = |wide_draws: bool, seed: u64| {
            let stream = Draws::new(Seed(seed), Purpose::Estimate);
            let mut farther = Farther::new(&q);
            let mut own = Weighed::default();
            let mut wide = Weighed::default();
            let mut u = [0.0];
            for k in 0..8_000 {
                stream.fill(k, 0, &mut u);
                own.ratios.push(log_p(1.27 * u[0]) + 0.5 * u[0] * u[0] + normaliser);
                own.farther.push(if wide_draws { farther.at(&q, &[1.27 * u[0]]) } else { f64::NEG_INFINITY });
            }
            for k in 0..if wide_draws { DRAWS } else { 0 } {
                stream.fill(k as u64, 2, &mut u);
                stretch(k, 1).apply(&q, &mut u);
                wide.points.push(1.27 * u[0]);
                wide.ratios.push(log_p(1.27 * u[0]) + 0.5 * u[0] * u[0] + normaliser);
                wide.farther.push(farther.at(&q, &[1.27 * u[0]]));
            }
            moved(&q, &stream, &own, &wide, (&[0.0], &[1.27])).unwrap().1
        };
        let known = (3f64.sqrt() / 1.27).ln();
        let ends = |wide_draws: bool| {
            let found = (1..=25).map(|seed| change(wide_draws, seed));
            found.fold((f64::INFINITY, 0.0), |(least, most): (f64, f64), x| (least.min(x), most.max(x)))
        };
        let (with, without) = (ends(true), ends(false));
        assert!(with.0 > GOOD_SD_CHANGE && with.1 < known, "{with:?} of {known}");
        assert!(without.0 < GOOD_SD_CHANGE && without.1 > known, "{without:?} of {known}");
    }
}

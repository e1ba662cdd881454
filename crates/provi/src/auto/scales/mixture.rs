//! The answer when scales are integrated out: a mixture of Gaussians, and what follows from it.

use super::correlation::{correlations, pairs};
use super::marginals::WeightedMarginals;
use crate::base::draws::{Draws, Purpose, Seed};
use crate::base::error::{Error, Result};
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::linalg::{mirror_lower, multiply};
use crate::base::matrix::{Matrix, packed_len};
use crate::base::normal_mixture::quantile;
use crate::base::special::{log_sum_exp, normal_cdf};
use crate::base::stop;
use crate::glm::sparse::{AnyGaussian, NormalLaw};
use provi_kernels::{axpy, dot, triangle};
use std::ops::Range;

/// One value of the scales, with the best Gaussian there.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ScaleNode {
    /// Logarithms of the scales: first those of the sets of coefficients, then that of the noise; then, for correlated effects, the inverse
    /// hyperbolic tangents of their partial correlations.
    pub log_scales: Vec<f64>,
    /// The slopes of their log density along the axes of the mixture's kernel.
    pub rise: Vec<f64>,
    /// Its share of the posterior. All shares together are one.
    pub weight: f64,
    /// The logarithm of the prior mass that it stands for: the prior density times the volume of its cell.
    pub log_mass: f64,
    /// The ELBO of its Gaussian: log p(x | scales) is at least this.
    pub elbo: f64,
    /// An estimate of KL(q‖p) given these scales: what the ELBO misses.
    pub kl: f64,
    /// The Gaussian of the coefficients, given these scales.
    pub gaussian: AnyGaussian,
}

impl ScaleNode {
    /// From its parts, such as those of a file.
    pub fn new(
        log_scales: Vec<f64>,
        rise: Vec<f64>,
        weight: f64,
        [log_mass, elbo, kl]: [f64; 3],
        gaussian: AnyGaussian,
    ) -> Self {
        Self { log_scales, rise, weight, log_mass, elbo, kl, gaussian }
    }

    /// The logarithm of its part of the evidence, as far as it is known.
    pub(super) fn log_part(&self) -> f64 {
        self.log_mass + self.elbo + self.kl
    }
}

/// How the integral over the scales was formed.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Rule {
    /// A sum over a lattice.
    Lattice {
        /// Its step, in units in which the density has unit curvature at its mode.
        step: f64,
        /// Whether everything beyond it is negligible. If not, there were too many nodes.
        complete: bool,
    },
    /// Weighted draws.
    Draws {
        /// Their number.
        count: u64,
    },
}

/// The posterior of coefficients and scales as a mixture of Gaussians ([`FreeScales::integrate`](super::FreeScales::integrate)).
///
/// Given the scales, the coefficients have the best Gaussian there. A scale is a continuous quantity: its law is smoothed in its logarithm by a
/// normal kernel of covariance b²AAᵀ, where A has unit curvature. Smoothing spreads the law out, so each node first moves by κAAᵀ∇log p, κ = 1 − √(1 − b²),
/// to where the density rises. For a normal law both together change nothing; for others the error is of the order b⁴, and skewness stays.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ScaleMixture {
    /// The nodes, with weights that add up to one.
    pub nodes: Vec<ScaleNode>,
    /// The number of effects in each list of correlated sets.
    pub correlated: Vec<usize>,
    /// The axes of the kernel: row j says how the logarithms move along axis j.
    pub axes: Matrix,
    /// log p(x), integrated over the scales: an estimate. Light nodes that are not among `nodes` are part of it.
    pub log_evidence: f64,
    /// By how much it moved when the step was halved the last time; for weighted draws, its standard error.
    pub evidence_change: f64,
    /// By how much a mean of a coefficient or of a logarithm of a scale moved at most, in its standard deviations; for weighted draws, the
    /// standard error of a mean.
    pub mean_change: f64,
    /// How the integral was formed.
    pub rule: Rule,
    /// Values of the scales at which no model could be solved. They count as if they had no mass.
    pub unsolved: usize,
    /// Marginals from weighted draws, if there are any ([`ScaleMixture::weigh`]).
    pub marginals: Option<WeightedMarginals>,
}

/// The lightest nodes are left out, which have this share together: for one or two scales, and for more.
const LEAST: [f64; 2] = [1e-5, 1e-4];
/// The kernel's deviation along an axis, and in steps of the lattice where that is more.
const KERNEL: f64 = 0.2;
const KERNEL_STEPS: f64 = 0.5;
const WIDEST: f64 = 0.6;
/// What is beyond a lattice is about this many deviations away.
const FAR: f64 = 5.0;
/// The ends of intervals that are compared between lattices.
const ENDS: [f64; 2] = [0.025, 0.975];
/// No node moves farther than this along an axis.
const FARTHEST: f64 = 1.0;
/// The step of the differences of correlations along an axis.
const DIFFERENCE: f64 = 1e-3;
/// Correlations nearer to one than this are as good as one.
const MOST_CORRELATED: f64 = 1.0 - 1e-15;

impl ScaleMixture {
    /// From nodes whose weights are not known yet.
    pub(super) fn new(
        mut nodes: Vec<ScaleNode>,
        rule: Rule,
        unsolved: usize,
        correlated: Vec<usize>,
        axes: Matrix,
    ) -> Result<Self> {
        let top = nodes.iter().map(ScaleNode::log_part).fold(f64::NEG_INFINITY, f64::max);
        if !top.is_finite() {
            let (what, needed) = ("number of scales at which the model could be solved", "at least one");
            return Err(Error::OutOfRange { what, value: 0.0, needed });
        }
        nodes.iter_mut().for_each(|node| node.weight = (node.log_part() - top).exp());
        let count = nodes.len() as f64;
        let total: f64 = nodes.iter().map(|node| node.weight).sum();
        nodes.iter_mut().for_each(|node| node.weight /= total);
        let squares: f64 = nodes.iter().map(|node| node.weight * node.weight).sum();
        let mut weights: Vec<f64> = nodes.iter().map(|node| node.weight).collect();
        weights.sort_by(f64::total_cmp);
        let mut light = 0.0;
        let least = weights.into_iter().find(|weight| {
            light += weight;
            light > LEAST[usize::from(axes.rows() > 2)]
        });
        nodes.retain(|node| least.is_none_or(|least| node.weight >= least));
        let kept: f64 = nodes.iter().map(|node| node.weight).sum();
        nodes.iter_mut().for_each(|node| node.weight /= kept);
        let change = match rule {
            Rule::Lattice { .. } => f64::INFINITY,
            Rule::Draws { .. } => (squares - 1.0 / count).max(0.0).sqrt(),
        };
        Self::restored(nodes, (correlated, axes), rule, top + total.ln(), [change, change], unsolved)
    }

    /// A mixture that was made before, such as that of a file. Refused if its nodes do not fit together.
    pub fn restored(
        nodes: Vec<ScaleNode>,
        (correlated, axes): (Vec<usize>, Matrix),
        rule: Rule,
        log_evidence: f64,
        [evidence_change, mean_change]: [f64; 2],
        unsolved: usize,
    ) -> Result<Self> {
        let Some(first) = nodes.first() else { return Err(Error::Empty { what: "nodes of the scales" }) };
        let (dim, scales) = (first.gaussian.dim(), first.log_scales.len());
        for node in &nodes {
            if node.gaussian.dim() != dim {
                let what = "coefficients of a node of the scales";
                return Err(Error::Shape { what, found: node.gaussian.dim(), expected: dim });
            }
            for found in [node.log_scales.len(), node.rise.len()] {
                if found != scales {
                    return Err(Error::Shape { what: "scales of a node", found, expected: scales });
                }
            }
        }
        let expected = scales;
        let correlations: usize = correlated.iter().map(|k| pairs(*k)).sum();
        for found in [axes.rows(), axes.columns(), correlations.max(scales)] {
            if found != expected {
                return Err(Error::Shape { what: "axes of the scales", found, expected });
            }
        }
        let total: f64 = nodes.iter().map(|node| node.weight).sum();
        let whole =
            nodes.iter().all(|node| node.weight >= 0.0 && node.log_scales.iter().all(|x| x.is_finite()));
        if !whole || (total - 1.0).abs() > 1e-9 || total.is_nan() {
            let needed = "1, from weights that are not negative and scales that are finite";
            return Err(Error::OutOfRange { what: "sum of the weights of the scales", value: total, needed });
        }
        let marginals = None;
        Ok(Self {
            nodes,
            correlated,
            axes,
            log_evidence,
            evidence_change,
            mean_change,
            rule,
            unsolved,
            marginals,
        })
    }

    /// The same with marginals that were made before; those that do not fit are left out.
    pub fn with_marginals(mut self, marginals: Option<WeightedMarginals>) -> Self {
        let dim = self.dim();
        self.marginals = marginals.filter(|marginals| marginals.fits(dim));
        self
    }

    /// Notes how far this one is from one with a wider step, and that a share of the posterior lies beyond both; returns how far the ends of the
    /// scales' intervals moved, in deviations of their logarithms.
    pub(super) fn compare(&mut self, last: &Self, beyond: f64) -> Result<f64> {
        self.evidence_change = (self.log_evidence - last.log_evidence).abs() + beyond;
        let moved = |here: [Vec<f64>; 2], there: &[f64]| {
            let [means, deviations] = here;
            let each = means.iter().zip(there).zip(deviations);
            each.map(|((here, there), sd)| (here - there).abs() / sd.max(f64::MIN_POSITIVE))
                .fold(0.0, f64::max)
        };
        let of_scales = moved(self.log_scale_moments(), &last.log_scale_moments()[0]);
        self.mean_change =
            of_scales.max(moved([self.mean(), self.standard_deviations()], &last.mean())) + FAR * beyond;
        let mut ends = 0f64;
        for which in 0..self.parameters() {
            let (here, there) = (self.scale_parts(which)?, last.scale_parts(which)?);
            let mean: f64 = here.iter().map(|(weight, mean, _)| weight * mean).sum();
            let square: f64 =
                here.iter().map(|(weight, m, sd)| weight * (sd * sd + (m - mean).powi(2))).sum();
            for level in ENDS {
                let moved = quantile(&here, level)? - quantile(&there, level)?;
                ends = ends.max(moved.abs() / square.sqrt());
            }
        }
        Ok(ends)
    }

    /// The mean of the coefficients.
    pub fn mean(&self) -> Vec<f64> {
        let mut out = vec![0.0; self.dim()];
        self.nodes.iter().for_each(|node| axpy(node.weight, node.gaussian.mean(), &mut out));
        out
    }

    /// The number of coefficients.
    pub fn dim(&self) -> usize {
        self.nodes.first().map_or(0, |node| node.gaussian.dim())
    }

    /// Their covariance: within the Gaussians and between them. Cost: d³/6 for each node, and more for sparse ones.
    pub fn covariance(&self) -> Result<Matrix> {
        let (d, mean) = (self.dim(), self.mean());
        let mut out = Matrix::zeros(d, d);
        let mut away = vec![0.0; d];
        for node in &self.nodes {
            away.iter_mut().zip(node.gaussian.mean()).zip(&mean).for_each(|((x, m), mean)| *x = m - mean);
            let q = node.gaussian.to_dense()?;
            let row = |i: usize| &q.factor()[packed_len(i)..packed_len(i + 1)];
            for i in 0..d {
                for j in 0..=i {
                    // Row j of a lower triangular factor ends at its diagonal.
                    out[(i, j)] += node.weight * (dot(&row(i)[..=j], row(j)) + away[i] * away[j]);
                }
            }
        }
        mirror_lower(&mut out);
        Ok(out)
    }

    /// The Gaussian with their mean and covariance.
    pub fn gaussian(&self) -> Result<Gaussian<Triangular>> {
        match Gaussian::from_covariance(&self.mean(), self.covariance()?) {
            Err(Error::NotPositiveDefinite { .. }) => self.gaussian_by_the_heaviest(),
            found => found,
        }
    }

    /// The same where rounding spoils the covariance, as with fewer rows than columns and little noise. In the coordinates in which the heaviest
    /// node has the covariance I, the others differ from it by moderate factors: with C₀ the factor of that node,
    /// ```text
    /// Σ = C₀MC₀ᵀ,   M = Σ_k w_k (X_kX_kᵀ + v_kv_kᵀ),   X_k = C₀⁻¹C_k,   v_k = C₀⁻¹(m_k − m),   C = C₀·chol(M)
    /// ```
    pub(super) fn gaussian_by_the_heaviest(&self) -> Result<Gaussian<Triangular>> {
        let (d, mean) = (self.dim(), self.mean());
        let heavier = |a: &&ScaleNode, b: &&ScaleNode| a.weight.total_cmp(&b.weight);
        let Some(first) = self.nodes.iter().max_by(heavier) else {
            return Err(Error::Empty { what: "nodes of the scales" });
        };
        let heaviest = first.gaussian.to_dense()?;
        let mut moved = Matrix::zeros(d, d);
        let mut b = vec![0.0; d];
        let mut add = |weight: f64, b: &mut [f64]| {
            triangle::solve(heaviest.factor(), b);
            for i in 0..d {
                axpy(weight * b[i], &b[..=i], &mut moved.row_mut(i)[..=i]);
            }
        };
        for node in &self.nodes {
            let q = node.gaussian.to_dense()?;
            for j in 0..d {
                (0..d).for_each(|i| b[i] = if i < j { 0.0 } else { q.factor()[packed_len(i) + j] });
                add(node.weight, &mut b);
            }
            (0..d).for_each(|i| b[i] = node.gaussian.mean()[i] - mean[i]);
            add(node.weight, &mut b);
        }
        mirror_lower(&mut moved);
        let moved = Gaussian::from_covariance(&vec![0.0; d], moved)?;
        let factor = multiply(&heaviest.factor_matrix(), &moved.factor_matrix());
        let packed: Vec<f64> = (0..d).flat_map(|i| factor.row(i)[..=i].to_vec()).collect();
        Gaussian::new(&mean, &packed)
    }

    /// Their standard deviations.
    pub fn standard_deviations(&self) -> Vec<f64> {
        let mean = self.mean();
        let mut squares = vec![0.0; mean.len()];
        for node in &self.nodes {
            for (i, square) in squares.iter_mut().enumerate() {
                let own = node.gaussian.deviation(i);
                *square += node.weight * (own * own + (node.gaussian.mean()[i] - mean[i]).powi(2));
            }
        }
        squares.into_iter().map(f64::sqrt).collect()
    }

    /// log q of the coefficients. Cost: d² for each node.
    pub fn log_density(&self, z: &[f64]) -> Result<f64> {
        let logs = self
            .nodes
            .iter()
            .map(|node| Ok(node.weight.ln() + node.gaussian.log_density(z)?))
            .collect::<Result<Vec<f64>>>()?;
        Ok(log_sum_exp(&logs))
    }

    /// What the ELBOs of the nodes add up to: the logarithm of a sum that stands for the evidence, with a lower bound in place of each part.
    pub fn elbo(&self) -> f64 {
        log_sum_exp(&self.nodes.iter().map(|node| node.log_mass + node.elbo).collect::<Vec<_>>())
    }

    /// The value that vᵀz exceeds with probability 1 − `level`.
    pub fn quantile(&self, v: &[f64], level: f64) -> Result<f64> {
        if v.len() != self.dim() {
            return Err(Error::Shape { what: "functional", found: v.len(), expected: self.dim() });
        }
        quantile(&self.parts(v)?, level)
    }

    /// vᵀz: the share, the mean and the deviation that each node gives it.
    pub(crate) fn parts(&self, v: &[f64]) -> Result<Vec<(f64, f64, f64)>> {
        let part = |node: &ScaleNode| {
            Ok((node.weight, dot(v, node.gaussian.mean()), node.gaussian.deviation_of(v)?))
        };
        self.nodes.iter().map(part).collect()
    }

    /// P(vᵀz > 0).
    pub fn positive(&self, v: &[f64]) -> Result<f64> {
        if v.len() != self.dim() {
            return Err(Error::Shape { what: "functional", found: v.len(), expected: self.dim() });
        }
        let parts = self.parts(v)?.into_iter().map(|(share, mean, sd)| share * normal_cdf(mean / sd));
        Ok(parts.sum::<f64>().min(1.0))
    }

    /// The mean of a scale or of a correlation: first the scales of the sets of coefficients, then that of the noise, then the correlations of
    /// each list of sets, in the order (1, 0), (2, 0), (2, 1).
    pub fn scale_mean(&self, which: usize) -> Result<f64> {
        Ok(self.scale_powers(which)?[0])
    }

    /// Its standard deviation.
    pub fn scale_sd(&self, which: usize) -> Result<f64> {
        let [first, second] = self.scale_powers(which)?;
        Ok((second - first * first).max(0.0).sqrt())
    }

    /// The value that it exceeds with probability 1 − `level`.
    pub fn scale_quantile(&self, which: usize, level: f64) -> Result<f64> {
        Ok(self.scale_quantiles(which, [level])?[0])
    }

    /// Several such values.
    pub fn scale_quantiles<const N: usize>(&self, which: usize, levels: [f64; N]) -> Result<[f64; N]> {
        let parts = self.scale_parts(which)?;
        let mut out = levels;
        for x in &mut out {
            *x = self.back(which, quantile(&parts, *x)?);
        }
        Ok(out)
    }

    /// The density of a scale or a correlation at that value.
    pub fn scale_density(&self, which: usize, value: f64) -> Result<f64> {
        let parts = self.scale_parts(which)?;
        let (u, stretch) = match which < self.scales() {
            true => (value.ln(), 1.0 / value),
            false => (value.atanh(), 1.0 / (1.0 - value * value)),
        };
        if !u.is_finite() {
            return Ok(0.0);
        }
        let one = |(weight, mean, sd): &(f64, f64, f64)| {
            weight * (-0.5 * ((u - mean) / sd).powi(2)).exp() / (sd * (2.0 * std::f64::consts::PI).sqrt())
        };
        Ok(stretch * parts.iter().map(one).sum::<f64>())
    }

    /// How many of the numbers of a node are logarithms of scales.
    fn scales(&self) -> usize {
        self.parameters() - self.correlated.iter().map(|k| pairs(*k)).sum::<usize>()
    }

    /// How many scales and correlations there are.
    fn parameters(&self) -> usize {
        self.nodes.first().map_or(0, |node| node.log_scales.len())
    }

    /// The scales and correlations that belong to the numbers of a node.
    pub fn scales_at(&self, eta: &[f64]) -> Vec<f64> {
        let (scales, mut rest) = eta.split_at(self.scales());
        let mut out: Vec<f64> = scales.iter().map(|x| x.exp()).collect();
        for &effects in &self.correlated {
            let (own, beyond) = rest.split_at(pairs(effects));
            out.extend(correlations(effects, own));
            rest = beyond;
        }
        out
    }

    /// The logarithm of a scale or the inverse hyperbolic tangent of a correlation at η.
    fn forth(&self, which: usize, eta: &[f64]) -> f64 {
        match which < self.scales() {
            true => eta[which],
            false => self.scales_at(eta)[which].clamp(-MOST_CORRELATED, MOST_CORRELATED).atanh(),
        }
    }

    /// The scale or the correlation itself.
    fn back(&self, which: usize, u: f64) -> f64 {
        if which < self.scales() { u.exp() } else { u.tanh() }
    }

    /// The law of the logarithm of a scale or the inverse hyperbolic tangent of a correlation: normal parts, each with its share.
    fn scale_parts(&self, which: usize) -> Result<Vec<(f64, f64, f64)>> {
        self.check_scale(which)?;
        let kernel = self.kernel();
        let part = |node: &ScaleNode| {
            let center = self.center(node);
            let along = |j: usize| {
                if which < self.scales() {
                    return self.axes[(j, which)];
                }
                let at = |side: f64| {
                    let mut eta = center.clone();
                    axpy(side * DIFFERENCE, self.axes.row(j), &mut eta);
                    self.forth(which, &eta)
                };
                (at(1.0) - at(-1.0)) / (2.0 * DIFFERENCE)
            };
            let sd = (0..center.len()).map(|j| along(j).powi(2)).sum::<f64>().sqrt();
            (node.weight, self.forth(which, &center), kernel * sd)
        };
        Ok(self.nodes.iter().map(part).collect())
    }

    /// Where the kernel of a node is centred.
    fn center(&self, node: &ScaleNode) -> Vec<f64> {
        let kernel = self.kernel();
        let inward = 1.0 - (1.0 - kernel * kernel).sqrt();
        let mut out = node.log_scales.clone();
        for (j, rise) in node.rise.iter().enumerate() {
            axpy((inward * rise).clamp(-FARTHEST, FARTHEST), self.axes.row(j), &mut out);
        }
        out
    }

    /// Draws: coefficients and scales, one pair of rows for each; a pure function of the seed.
    pub fn sample(&self, count: usize, seed: Seed) -> [Matrix; 2] {
        self.sample_part(0..count as u64, seed)
    }

    /// The draws with these numbers from the same list, which can be made part by part.
    pub fn sample_part(&self, which: Range<u64>, seed: Seed) -> [Matrix; 2] {
        let count = which.end.saturating_sub(which.start) as usize;
        let (d, k) = (self.dim(), self.parameters());
        let draws = Draws::new(seed, Purpose::Scales);
        let kernel = self.kernel();
        let mut ends = Vec::with_capacity(self.nodes.len());
        let mut sum = 0.0;
        for node in &self.nodes {
            sum += node.weight;
            ends.push(sum);
        }
        let (mut coefficients, mut scales) = (Matrix::zeros(count, d), Matrix::zeros(count, k));
        let mut e = vec![0.0; d.max(k)];
        for (i, number) in which.enumerate().take_while(|_| !stop::trips()) {
            let u = draws.uniform(number, 0) * sum;
            let node = &self.nodes[ends.partition_point(|end| *end < u).min(ends.len() - 1)];
            draws.fill(number, 1, &mut e[..d]);
            node.gaussian.transport(&e[..d], coefficients.row_mut(i));
            draws.fill(number, 2, &mut e[..k]);
            let mut eta = self.center(node);
            for (j, e) in e[..k].iter().enumerate() {
                axpy(kernel * e, self.axes.row(j), &mut eta);
            }
            scales.row_mut(i).copy_from_slice(&self.scales_at(&eta));
        }
        [coefficients, scales]
    }

    fn check_scale(&self, which: usize) -> Result<()> {
        let length = self.parameters();
        match which < length {
            true => Ok(()),
            false => Err(Error::Index { what: "scales", index: which, length }),
        }
    }

    /// E s and E s².
    fn scale_powers(&self, which: usize) -> Result<[f64; 2]> {
        self.check_scale(which)?;
        let mut sums = [0.0; 2];
        for node in &self.nodes {
            let value = self.scales_at(&node.log_scales)[which];
            sums[0] += node.weight * value;
            sums[1] += node.weight * value * value;
        }
        Ok(sums)
    }

    /// Means and deviations of the logarithms of the scales.
    pub(super) fn log_scale_moments(&self) -> [Vec<f64>; 2] {
        let k = self.parameters();
        let mut means = vec![0.0; k];
        self.nodes.iter().for_each(|node| axpy(node.weight, &node.log_scales, &mut means));
        let deviation = |j: usize| -> f64 {
            let squares = self.nodes.iter().map(|node| node.weight * (node.log_scales[j] - means[j]).powi(2));
            squares.sum::<f64>().sqrt()
        };
        let deviations = (0..k).map(deviation).collect();
        [means, deviations]
    }

    /// Whether nothing but negligible nodes was left out.
    pub(super) fn is_complete(&self) -> bool {
        !matches!(self.rule, Rule::Lattice { complete: false, .. })
    }

    /// b: the kernel's deviation along an axis.
    fn kernel(&self) -> f64 {
        match self.rule {
            Rule::Lattice { step, .. } => KERNEL.max(KERNEL_STEPS * step).min(WIDEST),
            Rule::Draws { .. } => KERNEL,
        }
    }
}

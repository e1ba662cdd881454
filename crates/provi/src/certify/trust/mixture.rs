//! The witnesses of a mixture of Gaussians.
//!
//! They are those of a Gaussian, with the mixture's density in the weights. Draw k is one of the component that the number
//! (U + kφ) mod 1 chooses, φ the golden ratio: each component then has about its share of any number of draws. The residual is the largest of
//! ```text
//! w_c |E_c C_cᵀ∇(V + log q)|
//! ```
//! over components and coordinates: it vanishes where no component wants to move.

use super::elsewhere::{self, FAR_DRAWS, FAR_LANE, Law, Outside, Seen, Unusual, far_stretch};
use super::measure::{self, BATCH, Trust};
use super::stretch::Stretch;
use super::wide::{self, Farther, Weighed};
use super::{Agreement, Witnesses};
use crate::base::draws::{Draws, Purpose, Seed};
use crate::base::error::{Error, Result};
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::linalg::norm;
use crate::base::mixture::{Mixture, log_sum_exp, whiten};
use crate::base::stop;
use crate::certify::estimate::Estimates;
use crate::target::evaluate::Evaluator;
use provi_kernels::{dot, triangle};

/// φ − 1.
const GOLDEN: f64 = 0.618_033_988_749_894_9;
/// Lanes of the stream of draws, as for a Gaussian; the shift U has a step of its own.
const OWN_LANE: u32 = 0;
const SHIFT_LANE: u32 = 1;
const WIDE_LANE: u32 = 2;
const SHIFT_STEP: u64 = 1 << 60;

/// Measures how far a mixture can be trusted; a pure function of the seed. Makes about 25 000 evaluations, and up to 5000 and 16 for each
/// dimension more where the climbs are long and end in many places.
///
/// ```
/// use provi::{Gaussian, Seed, mixture::Mixture, target::Closure, trust::{Agreement, Verdict, trust_mixture}};
///
/// let target = Closure::new(1, |z: &[f64], gradient: &mut [f64]| {
///     let parts = [0.3 * (-0.5 * (z[0] + 4.0).powi(2)).exp(), 0.7 * (-0.5 * (z[0] - 4.0).powi(2)).exp()];
///     let sum = parts[0] + parts[1];
///     gradient[0] = -(parts[0] * (z[0] + 4.0) + parts[1] * (z[0] - 4.0)) / sum;
///     sum.ln()
/// })?;
/// let at = |mean: f64| Gaussian::new(&[mean], &[1.0]);
/// let q = Mixture::new(&[0.3, 0.7], vec![at(-4.0)?, at(4.0)?])?;
/// let found = trust_mixture(&target, &q, Seed(1), Agreement::default())?;
/// assert_eq!(found.verdict, Verdict::Good);
/// # Ok::<(), provi::Error>(())
/// ```
pub fn trust_mixture<'t>(
    target: impl Into<Evaluator<'t>>,
    q: &Mixture,
    seed: Seed,
    agreement: Agreement,
) -> Result<Trust> {
    let target = target.into();
    if target.dim() != q.dim() {
        return Err(Error::Shape { what: "mixture", found: q.dim(), expected: target.dim() });
    }
    stop::phase("the estimates", || {
        let law = Drawn::new(q, seed);
        let mut own = Own::new(target, &law);
        let estimates = measure::estimates_of(|count| {
            own.draw(count)?;
            Ok(own.seen.ratios.clone())
        })?;
        let moments = (&q.mean()[..], &q.standard_deviations()[..]);
        let (residual, residual_se) = own.residual();
        let mut outside = Outside::default();
        let (wide_excess, wide_excess_se, stretched) = wide(target, &law, &estimates, &mut outside)?;
        let (mean_shift, sd_change) = wide::moved(&law, &law.stream, &own.seen, &stretched, moments)?;
        far(target, &law, &mut outside)?;
        let seen = Seen {
            stream: &law.stream,
            ratios: &own.seen.ratios,
            log_evidence: estimates.log_evidence,
            unusual: &own.unusual,
        };
        let (elsewhere, elsewhere_se) = elsewhere::look(target, &law, &seen, outside)?;
        let witnesses = Witnesses {
            draws: estimates.draws,
            log_ratio_sd: measure::spread(&own.seen.ratios),
            pareto_k: Some(estimates.pareto_k).filter(|k| k.is_finite()),
            effective_draws: estimates.effective_draws,
            kl: estimates.kl,
            kl_se: estimates.kl_se,
            mean_shift,
            sd_change,
            residual,
            residual_se,
            wide_excess,
            wide_excess_se,
            elsewhere,
            elsewhere_se,
            agreement,
            proof: None,
        };
        let (verdict, reasons) = witnesses.verdict();
        Ok(Trust { estimates, witnesses, verdict, reasons })
    })
}

/// A mixture with its list of draws.
pub(super) struct Drawn<'a> {
    q: &'a Mixture,
    stream: Draws,
    shift: f64,
}

impl<'a> Drawn<'a> {
    pub(super) fn new(q: &'a Mixture, seed: Seed) -> Self {
        let stream = Draws::new(seed, Purpose::Estimate);
        Self { q, stream, shift: stream.uniform(SHIFT_STEP, SHIFT_LANE) }
    }

    /// The component of draw k.
    fn component(&self, k: usize) -> usize {
        self.q.component_at((self.shift + k as f64 * GOLDEN).fract())
    }
}

impl Law for Drawn<'_> {
    fn log_density(&self, z: &[f64]) -> Result<f64> {
        self.q.log_density(z)
    }

    fn draw(&self, stream: &Draws, k: usize, u: &mut [f64], z: &mut [f64]) {
        stream.fill(k as u64, OWN_LANE, u);
        self.q.components()[self.component(k)].transport(u, z);
    }

    fn components(&self) -> &[Gaussian<Triangular>] {
        self.q.components()
    }

    fn log_shares(&self, z: &[f64], shares: &mut [f64]) {
        self.q.log_joint(z, shares, &mut vec![0.0; z.len()]);
        let total = log_sum_exp(shares);
        if total.is_finite() {
            shares.iter_mut().for_each(|x| *x -= total);
        } else {
            // So far out that every component has vanished the first one stands for all.
            shares.fill(f64::NEG_INFINITY);
            shares[0] = 0.0;
        }
    }
}

/// Draws of the mixture with their log ratios, and sums of the residuals of its components.
struct Own<'a> {
    target: Evaluator<'a>,
    law: &'a Drawn<'a>,
    seen: Weighed,
    farther: Farther,
    /// For each component: draws with a finite slope, and sums of s = Cᵀ∇(V + log q) and of its squares.
    counts: Vec<usize>,
    sums: Vec<Vec<f64>>,
    squares: Vec<Vec<f64>>,
    unusual: Unusual,
}

impl<'a> Own<'a> {
    fn new(target: Evaluator<'a>, law: &'a Drawn<'a>) -> Self {
        let (d, k) = (law.q.dim(), law.q.len());
        let sums = vec![vec![0.0; d]; k];
        let squares = sums.clone();
        Self {
            target,
            law,
            seen: Weighed::default(),
            farther: Farther::new(law),
            counts: vec![0; k],
            sums,
            squares,
            unusual: Unusual::default(),
        }
    }

    /// Makes draws until there are `count`.
    fn draw(&mut self, count: usize) -> Result<()> {
        let (q, d) = (self.law.q, self.law.q.dim());
        let mut scratch = self.target.scratch(BATCH);
        let (mut u, mut slope, mut whitened) = (vec![0.0; d], vec![0.0; d], vec![0.0; d]);
        while self.seen.ratios.len() < count {
            let begin = self.seen.ratios.len();
            let size = BATCH.min(count - begin);
            let (mut z, mut gradients) = (vec![0.0; size * d], vec![0.0; size * d]);
            for (k, z) in z.chunks_exact_mut(d).enumerate() {
                self.law.draw(&self.law.stream, begin + k, &mut u, z);
            }
            let mut values = vec![0.0; size];
            self.target.evaluate(&z, &mut values, &mut gradients, &mut scratch)?;
            stop::check()?;
            for (k, value) in values.into_iter().enumerate() {
                let (z, own) = (&z[k * d..][..d], &gradients[k * d..][..d]);
                if value.is_nan() || value == f64::INFINITY {
                    let (quantity, norm) = ("log-density", norm(z));
                    return Err(Error::TargetNotFinite { quantity, value, step: 0, draw: begin + k, norm });
                }
                self.seen.ratios.push(value - q.log_density_with_gradient(z, &mut slope)?);
                self.seen.farther.push(self.farther.at(self.law, z));
                slope.iter_mut().zip(own).for_each(|(q, p)| *q -= p);
                let c = self.law.component(begin + k);
                triangle::multiply_transposed(q.components()[c].factor(), &slope, &mut whitened);
                if whitened.iter().all(|x| x.is_finite()) {
                    self.counts[c] += 1;
                    for (i, s) in whitened.iter().enumerate() {
                        self.sums[c][i] += s;
                        self.squares[c][i] += s * s;
                    }
                    self.unusual.see(begin + k, norm(&whitened), d);
                }
            }
        }
        Ok(())
    }

    /// The largest w_c times a coordinate of the mean of s, with its standard error.
    fn residual(&self) -> (f64, f64) {
        let mut most = (0.0, 0.0);
        for (c, w) in self.law.q.weights().iter().enumerate().filter(|(c, _)| self.counts[*c] > 1) {
            let n = self.counts[c] as f64;
            for (sum, square) in self.sums[c].iter().zip(&self.squares[c]) {
                let mean = sum / n;
                let se = ((square / n - mean * mean).max(0.0) / (n - 1.0)).sqrt();
                if w * mean.abs() > most.0 {
                    most = (w * mean.abs(), w * se);
                }
            }
        }
        most
    }
}

/// Σ_c w_c times the density of component c, stretched, at z; its logarithm.
fn log_stretched(how: Stretch, q: &Mixture, z: &[f64]) -> Result<f64> {
    let (d, mut u) = (q.dim(), vec![0.0; q.dim()]);
    let mut logs = Vec::with_capacity(q.len());
    for (w, c) in q.weights().iter().zip(q.components()) {
        whiten(c, z, &mut u);
        Stretch { factor: how.factor.recip(), ..how }.apply(c, &mut u);
        let half = 0.5 * d as f64 * (2.0 * std::f64::consts::PI).ln();
        logs.push(w.ln() - 0.5 * dot(&u, &u) - c.log_det()? - half - how.log_volume(d));
    }
    Ok(log_sum_exp(&logs))
}

/// Stretched draws: their points, log p, and how each was stretched. What the slopes say is seen by `outside`.
fn stretched(
    target: Evaluator<'_>,
    law: &Drawn<'_>,
    (begin, count, lane): (usize, usize, u32),
    how: impl Fn(usize) -> Stretch,
    outside: &mut Outside,
) -> Result<(Vec<f64>, Vec<f64>)> {
    let (q, d) = (law.q, law.q.dim());
    let (mut u, mut z) = (vec![0.0; d], vec![0.0; count * d]);
    for (k, z) in z.chunks_exact_mut(d).enumerate() {
        law.stream.fill((begin + k) as u64, lane, &mut u);
        let component = &q.components()[law.component(begin + k)];
        how(begin + k).apply(component, &mut u);
        component.transport(&u, z);
    }
    let (mut values, mut gradients) = (vec![0.0; count], vec![0.0; count * d]);
    target.evaluate(&z, &mut values, &mut gradients, &mut target.scratch(count))?;
    stop::check()?;
    let (mut own, mut ours, mut theirs) = (vec![0.0; d], vec![0.0; d], vec![0.0; d]);
    for (k, (z, gradient)) in z.chunks_exact(d).zip(gradients.chunks_exact(d)).enumerate() {
        if values[k].is_finite() && q.log_density_with_gradient(z, &mut own)?.is_finite() {
            let factor = q.components()[law.component(begin + k)].factor();
            triangle::multiply_transposed(factor, &own, &mut ours);
            triangle::multiply_transposed(factor, gradient, &mut theirs);
            ours.iter_mut().for_each(|x| *x = -*x);
            outside.see(z, &ours, &theirs);
        }
    }
    Ok((z, values))
}

/// How much more mass draws from farther out see, with its standard error, and the draws.
fn wide(
    target: Evaluator<'_>,
    law: &Drawn<'_>,
    own: &Estimates,
    outside: &mut Outside,
) -> Result<(f64, f64, Weighed)> {
    let d = law.q.dim();
    let how = |k: usize| wide::stretch(k, d);
    let (mut farther, mut found) = (Farther::new(law), Weighed::default());
    let mut weights = Vec::with_capacity(wide::DRAWS);
    for begin in (0..wide::DRAWS).step_by(BATCH) {
        let (z, values) = stretched(target, law, (begin, BATCH, WIDE_LANE), how, outside)?;
        for (k, (z, value)) in z.chunks_exact(d).zip(values).enumerate() {
            // A point without density has no weight.
            let value = if value.is_nan() || value == f64::INFINITY { f64::NEG_INFINITY } else { value };
            weights.push((value - log_stretched(how(begin + k), law.q, z)? - own.log_evidence).exp());
            found.ratios.push(value - law.q.log_density(z)?);
            found.farther.push(farther.at(law, z));
        }
        found.points.extend(z);
    }
    let n = weights.len() as f64;
    let mean = weights.iter().sum::<f64>() / n;
    let square: f64 = weights.iter().map(|w| (w - mean).powi(2)).sum();
    Ok((mean - 1.0, (square / (n * (n - 1.0))).sqrt().hypot(own.log_evidence_se * mean), found))
}

/// Looks at points far out.
fn far(target: Evaluator<'_>, law: &Drawn<'_>, outside: &mut Outside) -> Result<()> {
    let how = |k: usize| far_stretch(k, law.q.dim());
    stretched(target, law, (0, FAR_DRAWS, FAR_LANE), how, outside)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mass of a stretched mixture is 1: the mean of its density over that of a wide Gaussian, by draws of the latter.
    /// 20 000 draws, within 5 standard errors.
    #[test]
    fn stretched_densities_have_mass_one() {
        let at = |mean: [f64; 2], factor: [f64; 3]| Gaussian::new(&mean, &factor).unwrap();
        let q = Mixture::new(
            &[0.4, 0.6],
            vec![at([-1.0, 0.0], [0.5, 0.3, 1.0]), at([1.0, 1.0], [1.0, 0.0, 0.4])],
        );
        let q = q.unwrap();
        let wide = at([0.0, 0.5], [6.0, 0.0, 6.0]);
        let mass = |how: Stretch, forgotten: f64| {
            let n = 20_000;
            let sample = wide.sample(n, Seed(2));
            let of = |k: usize| {
                let z = sample.row(k);
                (log_stretched(how, &q, z).unwrap() + forgotten - wide.log_density(z).unwrap()).exp()
            };
            let values: Vec<f64> = (0..n).map(of).collect();
            let mean = values.iter().sum::<f64>() / n as f64;
            let square: f64 = values.iter().map(|x| (x - mean).powi(2)).sum();
            (mean, square.sqrt() / n as f64)
        };
        for along in [None, Some(0), Some(1)] {
            let how = Stretch { factor: 2.0, along };
            let (mean, se) = mass(how, 0.0);
            assert!((mean - 1.0).abs() < 5.0 * se, "{mean} ± {se}");
            // Planted: the logarithm of the stretch is forgotten.
            let (mean, se) = mass(how, 2f64.ln());
            assert!((mean - 1.0).abs() > 5.0 * se, "{mean} ± {se}");
        }
    }
}

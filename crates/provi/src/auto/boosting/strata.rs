//! Draws of a mixture, as many of every component: its ELBO with little noise, and its best weights.
//!
//! With N pairs of draws of each component, r = log p − log q and r̄_c the mean of r over the draws of component c,
//! ```text
//! ELBO ≈ Σ_c w_c r̄_c,     se² = Σ_c w_c² s_c²/N
//! ```
//! where s_c² is the variance of the means of the pairs.

use crate::base::draws::{Draws, Purpose, Seed};
use crate::base::error::Result;
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::mixture::{Mixture, log_sum_exp};
use crate::base::stop;
use crate::target::evaluate::Evaluator;

/// Most steps of the search for the weights, and the change of a log weight that ends it.
const STEPS: usize = 200;
const STILL: f64 = 1e-4;
/// The least weight during that search: from 0 no weight comes back.
const LEAST: f64 = 1e-8;

/// Draws ±u of every component, and log p at them.
#[derive(Clone, Debug)]
pub(super) struct Strata {
    pairs: usize,
    layers: Vec<Layer>,
}

/// The draws of one component: those of u, and after them those of −u.
#[derive(Clone, Debug)]
struct Layer {
    points: Vec<f64>,
    log_p: Vec<f64>,
}

/// An ELBO, and the part of every pair of draws in it: w_c times the mean of its two log ratios.
#[derive(Clone, Debug)]
pub(super) struct Value {
    pub(super) elbo: f64,
    pub(super) se: f64,
    parts: Vec<Vec<f64>>,
}

impl Strata {
    /// Draws this many pairs of each component. The u of a component depend on its number in the mixture and on the
    /// stream, so that two mixtures with the same stream can be compared with little noise.
    pub(super) fn draw(
        view: Evaluator<'_>,
        mixture: &Mixture,
        seed: Seed,
        stream: u64,
        pairs: usize,
        evaluations: &mut u64,
    ) -> Result<Self> {
        let components = mixture.components().iter().enumerate();
        let layers = components.map(|(c, q)| Layer::draw(view, q, seed, (stream, c), pairs, evaluations));
        Ok(Self { pairs, layers: layers.collect::<Result<_>>()? })
    }

    /// Adds the draws of one more component.
    pub(super) fn push(
        &mut self,
        view: Evaluator<'_>,
        q: &Gaussian<Triangular>,
        seed: Seed,
        stream: u64,
        evaluations: &mut u64,
    ) -> Result<()> {
        let place = (stream, self.layers.len());
        self.layers.push(Layer::draw(view, q, seed, place, self.pairs, evaluations)?);
        Ok(())
    }

    /// The ELBO of the mixture whose components these are.
    pub(super) fn value(&self, mixture: &Mixture) -> Value {
        let (k, d) = (mixture.len(), mixture.dim());
        let (mut logs, mut u) = (vec![0.0; k], vec![0.0; d]);
        let mut out = Value { elbo: 0.0, se: 0.0, parts: Vec::new() };
        for (layer, w) in self.layers.iter().zip(mixture.weights()) {
            let mut ratios = Vec::with_capacity(layer.log_p.len());
            for (z, log_p) in layer.points.chunks_exact(d).zip(&layer.log_p) {
                mixture.log_joint(z, &mut logs, &mut u);
                ratios.push(log_p - log_sum_exp(&logs));
            }
            // A component of weight 0 has no part, whatever its draws.
            let part = |n: usize| if *w > 0.0 { 0.5 * w * (ratios[n] + ratios[self.pairs + n]) } else { 0.0 };
            let parts: Vec<f64> = (0..self.pairs).map(part).collect();
            let (mean, square) = mean_and_square(&parts);
            out.elbo += mean;
            out.se += square;
            out.parts.push(parts);
        }
        if !out.elbo.is_finite() {
            (out.elbo, out.se) = (f64::NEG_INFINITY, 0.0);
        }
        out.se = out.se.sqrt();
        out
    }

    /// The weights with the largest ELBO, from those of the mixture.
    ///
    /// The ELBO is concave in w, and its slope is E_c log p/q up to a constant. The entropy of a mixture is smooth relative
    /// to that of its weights with the constant 1, since KL(q_w‖q_v) ≤ KL(w‖v), so that each step
    /// ```text
    /// w_c ← w_c exp(E_c log p/q) / Σ
    /// ```
    /// would increase the ELBO if the expectations were exact.
    pub(super) fn best_weights(&self, mixture: &Mixture) -> Vec<f64> {
        let (k, d) = (mixture.len(), mixture.dim());
        // log N_j at every draw of every component.
        let mut u = vec![0.0; d];
        let tables: Vec<Vec<f64>> = self
            .layers
            .iter()
            .map(|layer| {
                let mut table = vec![0.0; layer.log_p.len() * k];
                for (z, logs) in layer.points.chunks_exact(d).zip(table.chunks_exact_mut(k)) {
                    mixture.log_components(z, logs, &mut u);
                }
                table
            })
            .collect();
        let mut weights = mixture.weights().to_vec();
        let mut joint = vec![0.0; k];
        for _ in 0..STEPS {
            let logs: Vec<f64> = weights.iter().map(|w| w.max(LEAST).ln()).collect();
            let slope = |(layer, table): (&Layer, &Vec<f64>)| {
                let mut sum = 0.0;
                for (log_p, own) in layer.log_p.iter().zip(table.chunks_exact(k)) {
                    joint.iter_mut().zip(own).zip(&logs).for_each(|((to, own), log)| *to = own + log);
                    sum += log_p - log_sum_exp(&joint);
                }
                sum / layer.log_p.len() as f64
            };
            let next: Vec<f64> =
                self.layers.iter().zip(&tables).map(slope).zip(&logs).map(|(s, l)| s + l).collect();
            let total = log_sum_exp(&next);
            if !total.is_finite() {
                break;
            }
            let next: Vec<f64> = next.iter().map(|x| (x - total).exp()).collect();
            // Weights near 0 may still fall; they do not matter.
            let moved = next.iter().zip(&weights).map(|(a, b)| (a - b).abs() / (a.max(*b) + 1e-3));
            let moved = moved.fold(0.0, f64::max);
            weights = next;
            if moved < STILL {
                break;
            }
        }
        weights
    }

    /// The best weight of one more component, and the rise of the ELBO with it: the others keep their proportions.
    /// `q` is the mixture without it, and its draws come first.
    pub(super) fn best_share(&self, q: &Mixture, more: &Gaussian<Triangular>) -> Option<(f64, f64)> {
        let (k, d) = (q.len(), q.dim());
        let (mut logs, mut u) = (vec![0.0; k], vec![0.0; d]);
        let constant = -more.log_det().ok()? - 0.5 * d as f64 * (2.0 * std::f64::consts::PI).ln();
        // (weight without the new share, log p, log q, log of the new component); the last layer has its share instead.
        let mut seen = Vec::new();
        for (c, layer) in self.layers.iter().enumerate() {
            let weight = q.weights().get(c).copied();
            for (z, log_p) in layer.points.chunks_exact(d).zip(&layer.log_p) {
                q.log_joint(z, &mut logs, &mut u);
                let old = log_sum_exp(&logs);
                crate::base::mixture::whiten(more, z, &mut u);
                seen.push((weight, *log_p, old, constant - 0.5 * provi_kernels::dot(&u, &u)));
            }
        }
        let count = 2.0 * self.pairs as f64;
        let elbo = |share: f64| {
            let (rest, own) = ((1.0 - share).ln(), share.ln());
            let part = |(weight, log_p, old, new): &(Option<f64>, f64, f64, f64)| {
                let weight = weight.map_or(share, |w| (1.0 - share) * w);
                if weight > 0.0 { weight * (log_p - log_sum_exp(&[rest + old, own + new])) } else { 0.0 }
            };
            seen.iter().map(part).sum::<f64>() / count
        };
        let before = elbo(0.0);
        let best = (-16..=8).map(|x| 1.0 / (1.0 + (-0.5 * f64::from(x)).exp()));
        let best = best.map(|share| (share, elbo(share) - before)).filter(|(_, rise)| rise.is_finite());
        best.max_by(|a, b| a.1.total_cmp(&b.1))
    }
}

impl Layer {
    fn draw(
        view: Evaluator<'_>,
        q: &Gaussian<Triangular>,
        seed: Seed,
        (stream, component): (u64, usize),
        pairs: usize,
        evaluations: &mut u64,
    ) -> Result<Self> {
        let d = q.dim();
        let draws = Draws::new(seed, Purpose::Pilot);
        let mut u = vec![0.0; pairs * d];
        for (n, u) in u.chunks_exact_mut(d).enumerate() {
            draws.fill((1 << 56) + (stream << 24) + component as u64, n as u32, u);
        }
        let mut points = vec![0.0; 2 * pairs * d];
        let (ahead, behind) = points.split_at_mut(pairs * d);
        q.transport(&u, ahead);
        for (z, mirror) in ahead.chunks_exact(d).zip(behind.chunks_exact_mut(d)) {
            (0..d).for_each(|i| mirror[i] = 2.0 * q.mean()[i] - z[i]);
        }
        let log_p = log_densities(view, &points, evaluations)?;
        Ok(Self { points, log_p })
    }
}

/// log p at points; −∞ where it is not defined.
pub(super) fn log_densities(view: Evaluator<'_>, points: &[f64], evaluations: &mut u64) -> Result<Vec<f64>> {
    let count = points.len() / view.dim();
    let (mut values, mut gradients) = (vec![0.0; count], vec![0.0; points.len()]);
    let mut scratch = view.scratch(count);
    view.evaluate(points, &mut values, &mut gradients, &mut scratch)?;
    stop::check()?;
    *evaluations += count as u64;
    values.iter_mut().filter(|x| x.is_nan() || **x == f64::INFINITY).for_each(|x| *x = f64::NEG_INFINITY);
    Ok(values)
}

impl Value {
    /// How much larger this ELBO is than another one from the same stream, with the standard error of the difference.
    pub(super) fn rise_over(&self, other: &Self) -> (f64, f64) {
        let (mut rise, mut square) = (0.0, 0.0);
        for c in 0..self.parts.len().max(other.parts.len()) {
            let (ours, theirs) = (self.parts.get(c), other.parts.get(c));
            let n = ours.or(theirs).map_or(0, Vec::len);
            let at = |parts: Option<&Vec<f64>>, k: usize| parts.map_or(0.0, |parts| parts[k]);
            let parts: Vec<f64> = (0..n).map(|k| at(ours, k) - at(theirs, k)).collect();
            let (mean, own) = mean_and_square(&parts);
            rise += mean;
            square += own;
        }
        match rise.is_nan() {
            true => (f64::NEG_INFINITY, 0.0),
            false => (rise, if rise.is_finite() { square.sqrt() } else { 0.0 }),
        }
    }
}

/// The mean, and the square of its standard error.
fn mean_and_square(x: &[f64]) -> (f64, f64) {
    let n = x.len() as f64;
    let mean = x.iter().sum::<f64>() / n;
    (mean, x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n * (n - 1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::Closure;

    fn at(mean: f64, sd: f64) -> Gaussian<Triangular> {
        Gaussian::new(&[mean], &[sd]).unwrap()
    }

    /// The mixture as a target.
    fn target_of(q: &Mixture) -> Closure<impl Fn(&[f64], &mut [f64]) -> f64> {
        let q = q.clone();
        Closure::new(1, move |z: &[f64], g: &mut [f64]| q.log_density_with_gradient(z, g).unwrap()).unwrap()
    }

    /// The components overlap, so each slope has noise; 2000 pairs, and a tolerance of about five standard errors.
    #[test]
    fn the_weights_of_overlapping_components_are_found_from_any_beginning() {
        let exact = Mixture::new(&[0.3, 0.7], vec![at(-1.0, 1.0), at(1.5, 0.7)]).unwrap();
        let target = target_of(&exact);
        for begin in [0.5, 0.05, 0.99] {
            let other = exact.with_weights(vec![begin, 1.0 - begin]);
            let strata = Strata::draw((&target).into(), &other, Seed(1), 1, 2_000, &mut 0).unwrap();
            let found = strata.best_weights(&other);
            assert!((found[0] - 0.3).abs() < 0.01 && (found[0] + found[1] - 1.0).abs() < 1e-12, "{found:?}");
            let (best, before) = (strata.value(&exact.with_weights(found)), strata.value(&other));
            assert!(best.elbo.abs() < 5.0 * best.se + 1e-3 && best.elbo > before.elbo, "{best:?}");
        }
    }

    /// q = N(1, ¼) and p = N(0, 1): the ELBO is −KL = log ½ + ½ − (¼ + 1)/2. 400 pairs, five standard errors: a false alarm of 6e-7.
    #[test]
    fn the_elbo_has_its_value_and_its_error() {
        let normal = Mixture::new(&[1.0], vec![at(0.0, 1.0)]).unwrap();
        let (target, q) = (target_of(&normal), Mixture::new(&[1.0], vec![at(1.0, 0.5)]).unwrap());
        let mut count = 0;
        let strata = Strata::draw((&target).into(), &q, Seed(1), 1, 400, &mut count).unwrap();
        let (value, exact) = (strata.value(&q), 0.5f64.ln() + 0.5 - 0.625);
        assert!((value.elbo - exact).abs() < 5.0 * value.se && value.se > 0.0, "{value:?} {exact}");
        assert_eq!(count, 800);
        // The variance of a pair's mean: that of 3u²/8, since odd parts cancel.
        let expected = 0.375 * 2f64.sqrt() / 400f64.sqrt();
        assert!((value.se / expected - 1.0).abs() < 0.3, "{} {expected}", value.se);
        // Planted: the entropy of twice the width.
        assert!((value.elbo + 2f64.ln() - exact).abs() > 5.0 * value.se);
    }

    #[test]
    fn a_further_component_gets_its_share_and_an_idle_one_none() {
        let exact = Mixture::new(&[0.4, 0.6], vec![at(-5.0, 1.0), at(5.0, 1.0)]).unwrap();
        let target = target_of(&exact);
        let one = Mixture::new(&[1.0], vec![at(-5.0, 1.0)]).unwrap();
        let strata = |more: &Gaussian<Triangular>| {
            let mut strata = Strata::draw((&target).into(), &one, Seed(1), 1, 50, &mut 0).unwrap();
            strata.push((&target).into(), more, Seed(1), 1, &mut 0).unwrap();
            strata.best_share(&one, more).unwrap()
        };
        let (share, rise) = strata(&at(5.0, 1.0));
        // On a grid of half a unit of log odds.
        assert!((share - 0.6).abs() < 0.07 && (rise - (1.0f64 / 0.4).ln()).abs() < 0.02, "{share} {rise}");
        let (share, rise) = strata(&at(50.0, 1.0));
        assert!(share < 1e-3 && rise < 0.0, "{share} {rise}");
    }
}

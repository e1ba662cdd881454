//! A short ascent of the ELBO from a wide Gaussian with a diagonal covariance.
//!
//! It never looks for a mode, so a density that grows without end in a corner without mass does not draw it there.
//! A step costs the same number of evaluations in any dimension. With g and h the averages of ∂ᵢV and of its slope
//! along uᵢ over pairs ±u,
//! ```text
//! r = s²h − 1,   P = 1 + ρr + ½(ρr)²,     s ← s/√P,   m ← m − ρs²g/P
//! ```
//! is the diagonal of the natural-gradient step of [`crate::ascent`].

use crate::base::draws::{Draws, Purpose, Seed};
use crate::base::error::Result;
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::matrix::{packed_index, packed_len};
use crate::base::stop;
use crate::target::evaluate::Evaluator;

/// Pairs of draws of a step.
const PAIRS: usize = 8;
/// Steps; the last third is averaged.
pub(super) const STEPS: u64 = 90;
/// Retreats from places where the target is not finite, at most.
const RETREATS: u32 = 30;
/// The part of a natural-gradient step that is made, at first.
const RATE: f64 = 0.3;
/// The mean begins this far from the given point, in standard deviations: a symmetric density must not keep it there.
const APART: f64 = 0.1;

/// Evaluations of a whole ascent.
pub(super) const COST: u64 = 2 * PAIRS as u64 * STEPS;

/// The Gaussian after [`STEPS`] steps, and the evaluations made; `None` if the target is not finite around it.
pub(super) fn ascend(
    view: Evaluator<'_>,
    seed: Seed,
    stream: u64,
    start: &[f64],
    width: f64,
) -> Result<(Option<Gaussian<Triangular>>, u64)> {
    let d = start.len();
    let draws = Draws::new(seed, Purpose::Pilot);
    let stream = (1 << 52) + (stream << 20);
    let (mut u, mut points) = (vec![0.0; PAIRS * d], vec![0.0; 2 * PAIRS * d]);
    let (mut values, mut gradients) = ([0.0; 2 * PAIRS], vec![0.0; 2 * PAIRS * d]);
    let mut scratch = view.scratch(2 * PAIRS);
    draws.fill(stream, u32::MAX, &mut u[..d]);
    let mut mean: Vec<f64> = start.iter().zip(&u).map(|(x, u)| x + APART * width * u).collect();
    let mut sd = vec![width; d];
    let mut safe: Option<(Vec<f64>, Vec<f64>)> = None;
    let (mut total, mut count) = (vec![0.0; 2 * d], 0.0);
    let (mut evaluations, mut retreats, mut step) = (0, 0, 0);
    while step < STEPS {
        if stop::is_wanted() {
            return Ok((None, evaluations));
        }
        for (k, u) in u.chunks_exact_mut(d).enumerate() {
            draws.fill(stream + 1 + step + (u64::from(retreats) << 10), k as u32, u);
        }
        for (k, z) in points.chunks_exact_mut(d).enumerate() {
            let (u, side) = (&u[(k % PAIRS) * d..][..d], if k < PAIRS { 1.0 } else { -1.0 });
            (0..d).for_each(|i| z[i] = mean[i] + side * sd[i] * u[i]);
        }
        view.evaluate(&points, &mut values, &mut gradients, &mut scratch)?;
        stop::check()?;
        evaluations += 2 * PAIRS as u64;
        if !(values.iter().all(|x| x.is_finite()) && gradients.iter().all(|x| x.is_finite())) {
            retreats += 1;
            if retreats > RETREATS {
                return Ok((None, evaluations));
            }
            if let Some((safe, _)) = &safe {
                mean.iter_mut().zip(safe).for_each(|(m, safe)| *m = 0.5 * (*m + safe));
            }
            sd.iter_mut().for_each(|s| *s *= 0.5);
            continue;
        }
        safe = Some((mean.clone(), sd.clone()));
        let late = (step as f64 - 0.4 * STEPS as f64).max(0.0);
        let rate = RATE * (1.0 + 0.2 * late).powf(-0.7);
        for i in 0..d {
            let (mut pull, mut slope, mut square) = (0.0, 0.0, 0.0);
            for k in 0..PAIRS {
                let (ahead, behind) = (gradients[k * d + i], gradients[(PAIRS + k) * d + i]);
                pull -= ahead + behind;
                slope -= 0.5 * (ahead - behind) * u[k * d + i];
                square += u[k * d + i] * u[k * d + i];
            }
            pull *= 0.5 / PAIRS as f64;
            let bend = (rate * (sd[i] * slope / square - 1.0)).clamp(-1.0, 2.0);
            let precision = 1.0 + bend + 0.5 * bend * bend;
            mean[i] -= sd[i] * (rate * sd[i] * pull / precision).clamp(-1.0, 1.0);
            sd[i] /= precision.sqrt();
        }
        step += 1;
        if 3 * step > 2 * STEPS {
            count += 1.0;
            for i in 0..d {
                total[i] += mean[i];
                total[d + i] += sd[i].ln();
            }
        }
    }
    total.iter_mut().for_each(|x| *x /= count);
    let mut factor = vec![0.0; packed_len(d)];
    (0..d).for_each(|i| factor[packed_index(i, i)] = total[d + i].exp());
    Ok((Gaussian::new(&total[..d], &factor).ok(), evaluations))
}

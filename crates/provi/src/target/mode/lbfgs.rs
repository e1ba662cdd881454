//! L-BFGS with a strong Wolfe line search.

use super::{Mode, no_mode, potential};
use crate::base::error::Result;
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::linalg::norm;
use crate::base::matrix::{Matrix, below_diagonal, packed_index, packed_len};
use crate::base::secant::Secants;
use crate::base::stop;
use crate::target::Target;
use provi_kernels::{axpy, dot};

const MEMORY: usize = 12;

/// What the search must return.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// A mode; an error says why none was found.
    Mode,
    /// The best point reached, as a start for an algorithm that needs no mode.
    Anywhere,
}

/// Points passed during the climb, thinned to at most [`Path::MOST`]; whether the climb ended at a mode; and its
/// best point.
#[derive(Debug, Default)]
pub(crate) struct Path {
    pub(crate) points: Vec<Vec<f64>>,
    /// The metric learned before each point, if they are kept ([`Path::with_metrics`]).
    pub(crate) metrics: Vec<Metric>,
    pub(crate) converged: bool,
    learning: Option<Vec<f64>>,
    seen: usize,
    every: usize,
    last: Option<Stand>,
}

/// An estimate of (∇²V)⁻¹ at a point of a climb: a diagonal, corrected by the last secant pairs.
#[derive(Clone, Debug)]
pub(crate) struct Metric {
    diagonal: Vec<f64>,
    pairs: Secants,
}

impl Metric {
    /// N(point, metric); `None` if the metric is not positive definite to working precision.
    pub(crate) fn gaussian(&self, point: &[f64]) -> Option<Gaussian<Triangular>> {
        let d = point.len();
        let mut covariance = Matrix::zeros(d, d);
        let mut unit = vec![0.0; d];
        for i in 0..d {
            unit[i] = 1.0;
            let row =
                self.pairs.apply(&unit, |v| v.iter_mut().zip(&self.diagonal).for_each(|(v, a)| *v *= a));
            covariance.row_mut(i).copy_from_slice(&row);
            unit[i] = 0.0;
        }
        below_diagonal(d, |i, j| {
            let mean = 0.5 * (covariance[(i, j)] + covariance[(j, i)]);
            (covariance[(i, j)], covariance[(j, i)]) = (mean, mean);
        });
        Gaussian::from_covariance(point, covariance).ok()
    }
}

/// The diagonal after one more pair: the best fit to the pair among diagonals near the last one (Gilbert and
/// Lemaréchal, *Some numerical experiments with variable-storage quasi-Newton algorithms*, 1989).
fn learn(diagonal: &mut [f64], s: &[f64], y: &[f64]) {
    let sum = |f: &dyn Fn(usize) -> f64| (0..s.len()).map(f).sum::<f64>();
    let a = sum(&|i| y[i] * y[i] * diagonal[i]);
    let (b, c) = (dot(s, y), sum(&|i| s[i] * s[i] / diagonal[i]));
    if !(a > 0.0 && b > 1e-12 * norm(s) * norm(y) && c > 0.0) {
        return;
    }
    for (i, x) in diagonal.iter_mut().enumerate() {
        let precision = a / (b * *x) + y[i] * y[i] / b - a * s[i] * s[i] / (b * c * *x * *x);
        if precision.is_finite() && precision > 0.0 {
            *x = precision.recip();
        }
    }
}

/// The best point so far, and an estimate of the posterior's width there.
#[derive(Debug)]
struct Stand {
    point: Vec<f64>,
    variance: f64,
    evaluations: u64,
}

impl Path {
    const MOST: usize = 32;

    /// A path that also keeps the metric learned before each of its points.
    pub(crate) fn with_metrics(dim: usize) -> Self {
        Self { learning: Some(vec![1.0; dim]), ..Self::default() }
    }

    fn pass(&mut self, point: &[f64], history: &Secants) {
        self.every = self.every.max(1);
        if self.seen.is_multiple_of(self.every) {
            self.points.push(point.to_vec());
            if let Some(diagonal) = &self.learning {
                self.metrics.push(Metric { diagonal: diagonal.clone(), pairs: history.clone() });
            }
        }
        self.seen += 1;
        if self.points.len() > Self::MOST {
            let (mut at, mut of) = (0.., 0..);
            self.points.retain(|_| at.next().is_some_and(|k: usize| k.is_multiple_of(2)));
            self.metrics.retain(|_| of.next().is_some_and(|k: usize| k.is_multiple_of(2)));
            self.every *= 2;
        }
    }

    /// The last point and its metric are kept, whatever the thinning leaves out.
    fn arrive(&mut self, point: &[f64], history: &Secants) {
        if let Some(diagonal) = self.learning.clone().filter(|_| !history.is_empty()) {
            self.points.push(point.to_vec());
            self.metrics.push(Metric { diagonal, pairs: history.clone() });
        }
    }

    fn learn(&mut self, s: &[f64], y: &[f64], first: bool) {
        if let Some(diagonal) = &mut self.learning {
            let curvature = dot(s, y);
            if first && curvature > 0.0 {
                diagonal.fill(curvature / dot(y, y));
            }
            learn(diagonal, s, y);
        }
    }

    /// Records the best point so far, with a rough variance if the climb has met any curvature.
    pub(super) fn stand(&mut self, point: &[f64], variance: f64, evaluations: u64) {
        if variance.is_finite() && variance > 0.0 {
            self.last = Some(Stand { point: point.to_vec(), variance, evaluations });
        }
    }

    /// What remains of a climb that was cut off: a Gaussian at the best point with equal width in every direction.
    /// `None` if no step was made.
    pub(crate) fn gaussian(&self) -> Option<(Gaussian<Triangular>, u64)> {
        let Stand { point, variance, evaluations } = self.last.as_ref()?;
        let mut factor = vec![0.0; packed_len(point.len())];
        (0..point.len()).for_each(|i| factor[packed_index(i, i)] = variance.sqrt());
        Gaussian::new(point, &factor).ok().map(|q| (q, *evaluations))
    }
}

/// Climbs until gᵀBg, the squared decrement in the learned metric, is below `decrement2`, or until rounding ends
/// the progress within 1e-10 nats.
pub(super) fn find(
    target: &dyn Target,
    start: &[f64],
    iterations: usize,
    decrement2: f64,
    ending: Ending,
    path: &mut Path,
) -> Result<Mode> {
    let enough = decrement2;
    let mut search = Search { target, evaluations: 0, point: start.to_vec(), pull: vec![0.0; start.len()] };
    let mut value = search.evaluate()?;
    if value.is_infinite() {
        return Err(no_mode(0, &search.pull, "the density is not finite at the start; give another start"));
    }
    let mut history = Secants::new(MEMORY);
    let mut restarted = false;
    for iteration in 0..iterations {
        path.pass(&search.point, &history);
        if !history.is_empty() {
            path.stand(&search.point, history.scale(), search.evaluations);
        }
        if ending == Ending::Anywhere && stop::is_urgent() {
            return Ok(search.mode(value));
        }
        let g = search.pull.clone();
        let mut direction = history.apply(&g, |v| v.iter_mut().for_each(|x| *x *= history.scale()));
        let decrement2 = dot(&direction, &g);
        let negligible = decrement2 <= 1e-10 * value.abs().max(1.0);
        // Before any pair is known the metric is the identity, so only a vanishing gradient counts.
        if decrement2 <= if history.is_empty() { 1e-24 } else { enough } {
            path.converged = true;
            path.arrive(&search.point, &history);
            return Ok(search.mode(value));
        }
        direction.iter_mut().for_each(|x| *x = -*x);
        let first = if history.is_empty() { 1.0 / norm(&g).max(1.0) } else { 1.0 };
        let origin = search.point.clone();
        match search.wolfe(&origin, &direction, value, -decrement2, first)? {
            Some(next) => {
                value = next;
                let s: Vec<f64> = search.point.iter().zip(&origin).map(|(a, b)| a - b).collect();
                let y: Vec<f64> = search.pull.iter().zip(&g).map(|(a, b)| a - b).collect();
                path.learn(&s, &y, history.is_empty());
                history.push(s, y);
                restarted = false;
            }
            None => {
                search.point = origin;
                value = search.evaluate()?;
                if !history.is_empty() && negligible {
                    path.converged = true;
                    path.arrive(&search.point, &history);
                    return Ok(search.mode(value));
                }
                if restarted || history.is_empty() {
                    if ending == Ending::Anywhere {
                        path.arrive(&search.point, &history);
                        return Ok(search.mode(value));
                    }
                    let why =
                        "the line search found no decrease; check the gradient, or a kink in the density";
                    return Err(no_mode(iteration + 1, &search.pull, why));
                }
                // The metric may be wrong: discard it once and continue along the gradient.
                history.forget();
                restarted = true;
            }
        }
        if norm(&search.point) > 1e100 {
            if ending == Ending::Anywhere {
                return Ok(search.mode(value));
            }
            return Err(no_mode(iteration + 1, &search.pull, "the density grows without end; is it proper?"));
        }
    }
    path.arrive(&search.point, &history);
    match ending {
        Ending::Anywhere => Ok(search.mode(value)),
        Ending::Mode => {
            Err(no_mode(iterations, &search.pull, "too many iterations; is the posterior proper?"))
        }
    }
}

struct Search<'a> {
    target: &'a dyn Target,
    evaluations: u64,
    point: Vec<f64>,
    pull: Vec<f64>,
}

impl Search<'_> {
    fn evaluate(&mut self) -> Result<f64> {
        self.evaluations += 1;
        potential(self.target, &self.point, &mut self.pull)
    }

    fn mode(self, value: f64) -> Mode {
        let gradient_norm = norm(&self.pull);
        Mode { point: self.point, log_density: -value, gradient_norm, evaluations: self.evaluations }
    }

    /// Value and slope at origin + t·direction; stores the point and its gradient in `self`.
    fn along(&mut self, origin: &[f64], direction: &[f64], t: f64) -> Result<(f64, f64)> {
        self.point.copy_from_slice(origin);
        axpy(t, direction, &mut self.point);
        let value = self.evaluate()?;
        let slope = if value.is_finite() { dot(&self.pull, direction) } else { f64::INFINITY };
        Ok((value, slope))
    }

    /// A step with V(t) ≤ V(0) + c₁tV'(0) and |V'(t)| ≤ c₂|V'(0)|: bracket, then zoom by guarded cubics. `None` if
    /// none is found at working precision.
    fn wolfe(
        &mut self,
        origin: &[f64],
        direction: &[f64],
        value: f64,
        slope: f64,
        first: f64,
    ) -> Result<Option<f64>> {
        const SUFFICIENT: f64 = 1e-4;
        const FLAT: f64 = 0.9;
        let (mut low, mut high) = ((0.0, value, slope), None::<(f64, f64, f64)>);
        let mut t = first;
        for _ in 0..60 {
            let (v, s) = self.along(origin, direction, t)?;
            if !v.is_finite() || v > value + SUFFICIENT * t * slope || v >= low.1 && low.0 > 0.0 {
                high = Some((t, v, s));
            } else if s.abs() <= -FLAT * slope {
                return Ok(Some(v));
            } else {
                if s * (high.map_or(1.0, |h| h.0 - low.0)) >= 0.0 {
                    high = Some(low);
                }
                low = (t, v, s);
            }
            t = match high {
                None => 4.0 * t,
                Some(high) => between(low, high),
            };
            if !(t.is_finite() && high.is_none_or(|h| (h.0 - low.0).abs() > 1e-16 * low.0.max(h.0))) {
                break;
            }
        }
        Ok(None)
    }
}

/// The minimiser of the cubic through two ends, kept away from both; the middle if that fails.
fn between(a: (f64, f64, f64), b: (f64, f64, f64)) -> f64 {
    let width = b.0 - a.0;
    let middle = a.0 + 0.5 * width;
    if !b.1.is_finite() {
        return a.0 + 0.1 * width;
    }
    let d1 = a.2 + b.2 - 3.0 * (b.1 - a.1) / width;
    let root = d1 * d1 - a.2 * b.2;
    if root < 0.0 {
        return middle;
    }
    let d2 = root.sqrt().copysign(width);
    let t = b.0 - width * (b.2 + d2 - d1) / (b.2 - a.2 + 2.0 * d2);
    let inside = (t - a.0) / width;
    if t.is_finite() && (0.1..=0.9).contains(&inside) { t } else { middle }
}

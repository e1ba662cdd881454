//! Evaluation of a batch of draws, on one thread or many, with the same bits.

use super::{Target, own};
#[cfg(feature = "parallel")]
use crate::base::chunked;
use crate::base::error::Result;
use crate::base::scratch::Scratch;
use crate::base::stop;
#[cfg(feature = "parallel")]
use crate::base::stop::Carried;

/// A target with the rule for threads: a `Sync` target may be evaluated in parallel, any other serially.
///
/// Every function that runs on a target takes `impl Into<Evaluator>`, so `&model` is enough:
///
/// | you have | hand over | draws are evaluated |
/// |---|---|---|
/// | a `model` that threads may share (`Sync`) | `&model` | in parallel |
/// | a `Box<dyn Target + Sync>`, an `Arc<dyn Target + Send + Sync>` | `&model`, `&*model` | in parallel |
/// | a `&dyn Target` | the same | one after the other |
/// | a `model` that is not `Sync` | `Evaluator::Serial(&model)` | one after the other |
///
/// The bits are the same either way.
/// ```
/// use provi::target::{Closure, Evaluator, Target};
/// use provi::{Auto, Seed};
/// use std::cell::Cell;
///
/// let calls = Cell::new(0);                                       // not for several threads
/// let model = Closure::new(1, |z: &[f64], gradient: &mut [f64]| {
///     calls.set(calls.get() + 1);
///     gradient[0] = -z[0];
///     -0.5 * z[0] * z[0]
/// })?;
/// let answer = Auto::default().run(Evaluator::Serial(&model), Seed(1))?;
/// assert!(answer.fit.gaussian.mean()[0].abs() < 0.1 && calls.get() > 0);
/// let same = Auto::default().run(&model as &dyn Target, Seed(1))?;
/// assert_eq!(answer.fit.gaussian, same.fit.gaussian);
/// # Ok::<(), provi::Error>(())
/// ```
#[derive(Clone, Copy)]
pub enum Evaluator<'a> {
    /// One chunk after the other.
    Serial(&'a dyn Target),
    /// Chunks in parallel on the current thread pool.
    Parallel(&'a (dyn Target + Sync)),
}

impl<'a, T: Target + Sync> From<&'a T> for Evaluator<'a> {
    fn from(target: &'a T) -> Self {
        Self::Parallel(target)
    }
}

impl<'a> From<&'a (dyn Target + 'a)> for Evaluator<'a> {
    fn from(target: &'a (dyn Target + 'a)) -> Self {
        Self::Serial(target)
    }
}

impl<'a> From<&'a (dyn Target + Sync + 'a)> for Evaluator<'a> {
    fn from(target: &'a (dyn Target + Sync + 'a)) -> Self {
        Self::Parallel(target)
    }
}

impl<'a> From<&'a (dyn Target + Send + Sync + 'a)> for Evaluator<'a> {
    fn from(target: &'a (dyn Target + Send + Sync + 'a)) -> Self {
        Self::Parallel(target)
    }
}

/// A target that wraps another one ([`Evaluator::wrap`]).
pub(crate) trait Wrap {
    /// The wrapper of a target `T`; it is `Sync` if `T` is.
    type Around<'t, T: Target + ?Sized + 't>;
    /// What the wrapper has observed of the evaluations that went through it.
    type Seen;

    /// Wraps `inner`.
    fn around<'t, T: Target + ?Sized>(self, inner: &'t T) -> Self::Around<'t, T>;

    /// The observations so far.
    fn seen<T: Target + ?Sized>(around: &Self::Around<'_, T>) -> Self::Seen;
}

impl std::fmt::Debug for Evaluator<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = if matches!(self, Self::Serial(_)) { "Serial" } else { "Parallel" };
        f.debug_struct(name).field("dim", &self.dim()).finish()
    }
}

/// The least number of calls into which many draws are split, and the most draws that a call receives unasked.
const CALLS: usize = 16;
const TOGETHER: usize = 32;
/// Coordinates of draws that an audit holds at once, at most, where it takes more than usual.
const MOST_NUMBERS: usize = 1 << 18;

impl<'a> Evaluator<'a> {
    /// The target.
    pub fn target(&self) -> &'a dyn Target {
        match self {
            Self::Serial(target) => *target,
            Self::Parallel(target) => *target,
        }
    }

    /// Wraps this target and calls the function with the wrapper, evaluated in parallel if this target is.
    pub(crate) fn wrap<W: Wrap, R>(
        self,
        wrap: W,
        go: impl FnOnce(Evaluator<'_>, &dyn Fn() -> W::Seen) -> R,
    ) -> R
    where
        W::Around<'a, dyn Target + 'a>: Target,
        W::Around<'a, dyn Target + Sync + 'a>: Target + Sync,
    {
        match self {
            Self::Serial(target) => {
                let around = wrap.around(target);
                go(Evaluator::Serial(&around), &|| W::seen(&around))
            }
            Self::Parallel(target) => {
                let around = wrap.around(target);
                go(Evaluator::Parallel(&around), &|| W::seen(&around))
            }
        }
    }

    /// The dimension d.
    pub fn dim(&self) -> usize {
        self.target().dim()
    }

    /// How many of so many draws are evaluated in one call. It does not depend on the number of threads, so neither
    /// do the results. Models of this crate receive more than they ask for if there are still enough calls to share
    /// among threads: a pass over their data costs less per draw then.
    fn chunk(&self, draws: usize) -> usize {
        let target = self.target();
        let more = if target.proves_its_curvature(own::Word) { (draws / CALLS).min(TOGETHER) } else { 1 };
        target.batch().max(more).max(1)
    }

    /// How many draws are best evaluated together: `usual`, or more if a pass of a model of this crate has room for more, as with a device.
    /// Never more than [`MOST_NUMBERS`] coordinates: 8 MB in four arrays, beyond what a forecast counts.
    pub(crate) fn together(&self, usual: usize) -> usize {
        let target = self.target();
        match target.proves_its_curvature(own::Word) {
            true => usual.max(target.batch().min(MOST_NUMBERS / target.dim().max(1))),
            false => usual,
        }
    }

    /// Working memory for `batch` draws, one piece for each chunk.
    pub(crate) fn scratch(&self, batch: usize) -> Vec<Scratch> {
        vec![Scratch::default(); batch.div_ceil(self.chunk(batch))]
    }

    /// log p and ∇ log p at every point. Between two chunks the work may be cut off ([`crate::stop`]).
    pub(crate) fn evaluate(
        &self,
        points: &[f64],
        values: &mut [f64],
        gradients: &mut [f64],
        scratch: &mut [Scratch],
    ) -> Result<()> {
        // There may be fewer draws than the working memory was made for, but no more chunks.
        let (d, draws) = (self.dim(), values.len());
        let chunk = self.chunk(draws).max(draws.div_ceil(scratch.len().max(1)));
        let numbers = chunk.saturating_mul(d);
        #[cfg(feature = "parallel")]
        if let Self::Parallel(target) = self
            && values.len() > chunk
            && rayon::current_num_threads() > 1
        {
            use rayon::prelude::*;
            let enough = values.len().div_ceil(chunk) >= rayon::current_num_threads();
            let signal = Carried::from_here();
            return points
                .par_chunks(numbers)
                .zip(values.par_chunks_mut(chunk))
                .zip(gradients.par_chunks_mut(numbers))
                .zip(scratch.par_iter_mut())
                .try_for_each(|(((z, v), g), s)| {
                    let mut run = || {
                        signal.within(|| {
                            stop::check()?;
                            target.log_densities(z, v, g, s)?;
                            stop::check()
                        })
                    };
                    if enough { chunked::share(run) } else { run() }
                });
        }
        let target = self.target();
        let chunks = points.chunks(numbers).zip(values.chunks_mut(chunk));
        for (((z, v), g), s) in chunks.zip(gradients.chunks_mut(numbers)).zip(scratch) {
            stop::check()?;
            target.log_densities(z, v, g, s)?;
        }
        stop::check()
    }

    /// log p alone at every point, where the target offers that; `false` if it does not.
    pub(crate) fn evaluate_alone(
        &self,
        points: &[f64],
        values: &mut [f64],
        scratch: &mut [Scratch],
    ) -> Result<bool> {
        let chunk = self.chunk(values.len()).max(values.len().div_ceil(scratch.len().max(1)));
        let numbers = chunk.saturating_mul(self.dim());
        #[cfg(feature = "parallel")]
        if let Self::Parallel(target) = self
            && values.len() > chunk
            && rayon::current_num_threads() > 1
        {
            use rayon::prelude::*;
            let enough = values.len().div_ceil(chunk) >= rayon::current_num_threads();
            let signal = Carried::from_here();
            return points
                .par_chunks(numbers)
                .zip(values.par_chunks_mut(chunk))
                .zip(scratch.par_iter_mut())
                .map(|((z, v), s)| {
                    let mut run = || {
                        signal.within(|| {
                            stop::check()?;
                            let done = target.log_densities_alone(z, v, s)?;
                            stop::check().map(|()| done)
                        })
                    };
                    if enough { chunked::share(run) } else { run() }
                })
                .try_reduce(|| true, |all, done| Ok(all && done));
        }
        let target = self.target();
        for ((z, v), s) in points.chunks(numbers).zip(values.chunks_mut(chunk)).zip(scratch) {
            stop::check()?;
            if !target.log_densities_alone(z, v, s)? {
                return Ok(false);
            }
        }
        stop::check().map(|()| true)
    }
}

#[cfg(test)]
mod tests {
    use crate::auto::Auto;
    use crate::base::draws::Seed;
    use crate::base::error::Result;
    use crate::target::Evaluator;
    use crate::target::Target;
    use std::cell::Cell;

    /// A quartic that wants this many points at once, and records the most that it received.
    struct Wanting {
        batch: usize,
        most: Cell<usize>,
    }

    impl Target for Wanting {
        fn dim(&self) -> usize {
            2
        }
        fn log_density(&self, z: &[f64], gradient: &mut [f64]) -> Result<f64> {
            gradient.iter_mut().zip(z).for_each(|(g, z)| *g = -z - 0.1 * z.powi(3));
            Ok(-z.iter().map(|z| 0.5 * z * z + 0.025 * z.powi(4)).sum::<f64>())
        }
        fn log_densities(
            &self,
            points: &[f64],
            values: &mut [f64],
            gradients: &mut [f64],
            _scratch: &mut crate::base::scratch::Scratch,
        ) -> Result<()> {
            self.most.set(self.most.get().max(values.len()));
            for (k, value) in values.iter_mut().enumerate() {
                *value = self.log_density(&points[2 * k..2 * k + 2], &mut gradients[2 * k..2 * k + 2])?;
            }
            Ok(())
        }
        fn batch(&self) -> usize {
            self.batch
        }
    }

    #[test]
    fn the_size_of_a_batch_changes_no_bit() {
        let run = |batch| {
            let target = Wanting { batch, most: Cell::new(0) };
            let auto = Auto { evaluations: Some(2_000), ..Auto::default() };
            let found = auto.run(Evaluator::Serial(&target), Seed(4)).unwrap();
            (found.fit.gaussian, found.fit.neg_elbo, target.most.get())
        };
        let (q, elbo, most) = run(8);
        // The mode's differences come in batches of their own size.
        assert!(most <= 32, "{most}");
        let (other, same, most) = run(usize::MAX);
        assert!(most >= 1000, "{most}");
        assert_eq!((q, elbo), (other, same));
        assert_eq!(run(0).1, elbo);
    }
}

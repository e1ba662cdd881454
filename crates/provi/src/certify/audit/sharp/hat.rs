//! The Gaussian function h, above which p̃ is bounded without draws, and its dual.

use crate::base::chunked::{self, Chunks};
use crate::base::draws::Draws;
use crate::base::error::Result;
use crate::base::linalg::{inverse_factor, norm};
use crate::base::matrix::{Matrix, packed_index, packed_len};
use crate::base::stop;
use crate::certify::audit::Between;
use provi_kernels::{dot, triangle};
use std::ops::Range;

/// h, given by S with SSᵀ = P⁻¹, lower triangular and packed. S defines P, so P has no rounding error.
pub(super) struct Hat {
    pub(super) factor: Vec<f64>,
    /// κ.
    pub(super) height: f64,
    /// log det S, and the sum of the absolute values of its terms.
    pub(super) volume: f64,
    logs: f64,
    /// ‖S‖_F, and an upper bound of ‖S⁻¹‖_F.
    pub(super) spread: f64,
    inverse: f64,
}

impl Hat {
    pub(super) fn new(precision: &Matrix) -> Option<Self> {
        let d = precision.rows();
        let mut factor = vec![0.0; packed_len(d)];
        inverse_factor("h", precision, &mut factor).ok()?;
        let logs: Vec<f64> = (0..d).map(|i| factor[packed_len(i + 1) - 1].ln()).collect();
        let (volume, sizes) = (logs.iter().sum::<f64>(), logs.iter().map(|x| x.abs()).sum::<f64>());
        let root = (0..d).map(|i| precision[(i, i)]).sum::<f64>().sqrt();
        let spread = norm(&factor);
        // S⁻¹ is the factor of `precision` up to a relative error of dε‖S⁻¹‖‖S‖, so if that is small, a tenth more
        // is a bound.
        if !(4.0 * d as f64 * f64::EPSILON * root * spread < 0.05 && volume.is_finite()) {
            return None;
        }
        Some(Self { factor, height: 0.0, volume, logs: sizes, spread, inverse: 1.1 * root })
    }

    /// The same with another κ.
    pub(super) fn at(self, height: f64) -> Self {
        Self { height, ..self }
    }

    /// M, rounded up.
    pub(super) fn mass(&self) -> f64 {
        let lost = (self.factor.len() + 8) as f64 * f64::EPSILON * (self.logs + self.height.abs());
        (self.height + self.volume + lost).exp() * (1.0 + 1e-12)
    }

    /// The standard deviation of v·x under h: ‖Sᵀv‖, rounded up.
    pub(super) fn deviation(&self, v: &[f64]) -> f64 {
        let mut pulled = vec![0.0; v.len()];
        triangle::multiply_transposed(&self.factor, v, &mut pulled);
        norm(&pulled) * (1.0 + 1e-10) + (v.len() + 8) as f64 * f64::EPSILON * self.spread
    }

    /// Replaces e by x = Se ~ N(0, P⁻¹); returns a bound of its rounding error: (d+4)ε of |S||e|.
    pub(super) fn inner(&self, x: &mut [f64]) -> f64 {
        let moved = (x.len() + 4) as f64 * f64::EPSILON * self.spread * norm(x);
        for i in (0..x.len()).rev() {
            x[i] = dot(&self.factor[packed_index(i, 0)..=packed_index(i, i)], &x[..=i]);
        }
        moved
    }

    /// Replaces e by y = S⁻ᵀe ~ N(0, P).
    pub(super) fn outer(&self, y: &mut [f64]) {
        triangle::solve_transposed(&self.factor, y);
    }

    /// Bound of the rounding error of such a y: the solve is exact for a matrix within dε of |S|.
    pub(super) fn outer_moved(&self, y: &[f64]) -> f64 {
        2.0 * (y.len() + 4) as f64 * f64::EPSILON * self.spread * self.inverse * norm(y)
    }
}

/// A draw of h where h is above Kq.
pub(super) struct Higher {
    pub(super) draw: u64,
    /// ½‖e‖².
    pub(super) half: f64,
    /// log Kq/h, rounded down.
    pub(super) core: f64,
    /// Bounds of the rounding error of x, and of the sums of two logarithms.
    pub(super) moved: f64,
    pub(super) lost: f64,
}

/// Draws of h between two checks of the watch.
const BATCH: usize = 4096;
/// Draws of one thread at a time.
const TOGETHER: usize = 512;

/// The draws of h at which h is above Kq, in order, and how many draws were made: `count` unless `between` broke.
pub(super) fn higher(
    draws: &Draws,
    stream: u32,
    (hat, cap): (&Hat, f64),
    (count, d): (usize, usize),
    between: &mut Between<'_>,
) -> Result<(Vec<Higher>, usize)> {
    let look = |range: Range<usize>| {
        let (mut x, mut out) = (vec![0.0; d], Vec::new());
        for draw in range.take_while(|_| !stop::trips()) {
            draws.fill(draw as u64, stream, &mut x);
            let half = 0.5 * dot(&x, &x);
            let moved = hat.inner(&mut x);
            let size = dot(&x, &x);
            let lost = (d + 8) as f64 * f64::EPSILON * (half + size) + moved * (size.sqrt() + moved);
            let few = 8.0 * f64::EPSILON * (1.0 + cap + hat.height.abs() + half);
            let core = cap + half - 0.5 * size - hat.height - lost - few;
            // A NaN is kept, so that it is evaluated.
            if core.is_nan() || core < 0.0 {
                out.push(Higher { draw: draw as u64, half, core, moved, lost: few });
            }
        }
        out
    };
    let (mut found, mut first) = (Vec::new(), 0);
    while first < count && between(0, count as u64)?.is_continue() {
        let len = BATCH.min(count - first);
        let work = len.saturating_mul(d * (d + 16));
        let chunks = Chunks { len, size: TOGETHER, work };
        let range = |part: Range<usize>| first + part.start..first + part.end;
        found.extend(
            chunked::alike(work, || chunked::map(chunks, |part| look(range(part)))).into_iter().flatten(),
        );
        stop::check()?;
        first += len;
    }
    Ok((found, first))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::draws::{Purpose, Seed};
    use std::ops::ControlFlow;

    /// A watch that breaks between two batches leaves whole batches; what they found are the first of what all would find.
    #[test]
    fn draws_of_h_end_between_two_batches() {
        let d = 3;
        let hat = Hat::new(&Matrix::scaled_identity(d, 0.25)).unwrap().at(-1.0);
        let draws = Draws::new(Seed(4), Purpose::Sharp);
        let count = 3 * BATCH + 7;
        let found = |batches: u64| {
            let mut asked = 0;
            let mut between = |_: u64, _: u64| {
                asked += 1;
                Ok(if asked > batches { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
            };
            let (found, made) = higher(&draws, 1, (&hat, 2.0), (count, d), &mut between).unwrap();
            (found.iter().map(|higher| higher.draw).collect::<Vec<_>>(), made)
        };
        let (all, made) = found(u64::MAX);
        assert!(made == count && !all.is_empty() && all.len() < count && all.is_sorted());
        for batches in [0, 1, 2] {
            let (some, made) = found(batches);
            assert_eq!(made, batches as usize * BATCH);
            assert_eq!(some, all.iter().copied().filter(|draw| *draw < made as u64).collect::<Vec<_>>());
        }
    }
}

//! How much memory a run needs, computed before anything large is allocated.
//!
//! A forecast counts the arrays whose size grows with d², n or the number of draws, phase by phase. Each phase
//! frees its memory before the next one begins, so the peak is what is held throughout plus the largest phase.
//! Arrays that grow only with d are not counted, nor is what a user's target allocates when it is evaluated.

pub use crate::base::bytes::Bytes;
use crate::base::error::{Error, Result};
use crate::sgd::estimator::Kind;
use crate::sgd::method::{Choice, Method, Space};
use crate::sgd::subsample::{Sampling, Subsample};
use crate::target::Target;
use std::fmt;

/// The sizes on which a forecast depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// The dimension d.
    pub dim: usize,
    /// Number of observations, or 0.
    pub rows: usize,
    /// Numbers that the design holds, including indices.
    pub stored: usize,
    /// Draws per step of a planned method.
    pub draws: usize,
    /// Whether the target has exact expectations; this decides which algorithm [`Choice::Auto`] uses.
    pub exact: bool,
    /// Whether the answer is audited.
    pub audit: bool,
    /// How many terms each draw of a planned method uses, if not all.
    pub subsample: Option<Subsample>,
}

impl Size {
    /// The sizes of a target, with one draw per step and an audit.
    pub fn of(target: &dyn Target) -> Self {
        let (rows, stored) = target.data_size();
        let (dim, exact) = (target.dim(), target.expectations().is_some());
        Self { dim, rows, stored, draws: 1, exact, audit: true, subsample: None }
    }
}

/// The phase of a run during which memory is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The whole run.
    Data,
    /// While mode, curvature and coordinates are computed.
    Preparation,
    /// While steps are made.
    Steps,
    /// While the answer is audited.
    Audit,
}

/// One use of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Item {
    /// What the memory is for.
    pub what: &'static str,
    /// The phase in which it is held.
    pub phase: Phase,
    /// Size in bytes.
    pub bytes: u64,
}

/// The memory of a run, item by item.
///
/// ```
/// use provi::{Method, auto::Choice, memory::{Forecast, Size}};
///
/// let size = Size { dim: 20_000, rows: 0, stored: 0, draws: 1, exact: false, audit: false, subsample: None };
/// let forecast = Forecast::new(Choice::Planned(Method::ProxEnergy), &size);
/// assert!(forecast.peak().0 < 24 << 30);
/// assert!(forecast.check(Some(1 << 30)).unwrap_err().to_string().contains("prox-energy"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Forecast {
    /// All uses that are counted.
    pub items: Vec<Item>,
    choice: Choice,
    size: Size,
}

/// Secant pairs that the solver on exact expectations keeps, and the points that it holds at once.
const SECANTS: u128 = 2 * 20;
const POINTS: u128 = 4;

/// How many draws of an audit have their ascents running at once in dimension d: as many as 2¹⁸ numbers per array
/// allow, between 16 and 512.
pub(crate) fn ascents_at_once(d: usize) -> usize {
    ((1 << 18) / d.max(1)).clamp(16, 512)
}

/// Bytes that these ascents hold: at most about 40 MB, unless the matrices are far larger. A test of the audit
/// compares this with its arrays.
pub(crate) fn ascent_bytes(d: usize) -> u64 {
    8 * (ascents_at_once(d) * (18 * d + 23)) as u64
}

impl Forecast {
    /// The forecast for one method.
    pub fn new(choice: Choice, size: &Size) -> Self {
        // Wide enough that no product of possible sizes overflows.
        let d = size.dim as u128;
        let (square, packed) = (8 * d * d, 4 * d * (d + 3));
        let (rows, draws) = (size.rows as u128, size.draws.max(1) as u128);
        let mut items = Vec::new();
        let drawn = size.subsample.filter(|_| choice != Choice::Auto);
        let mut add = |phase, what, bytes: u128| {
            items.push(Item { what, phase, bytes: u64::try_from(bytes).unwrap_or(u64::MAX) });
        };
        add(Phase::Data, "design and response", 8 * size.stored as u128 + 16 * rows);
        add(Phase::Data, "answer", packed);
        // Hessian, its factor and inverse, the bounds H_lo and H_hi, and one eigendecomposition.
        add(Phase::Preparation, "mode, curvature and coordinates", 6 * square + packed);
        add(Phase::Preparation, "predictors", 16 * rows);
        match choice {
            Choice::Auto if size.exact => {
                add(Phase::Steps, "iterates with gradients and E∇²V", POINTS * (3 * packed + square));
                add(Phase::Steps, "secant pairs", SECANTS * packed);
                add(Phase::Steps, "expectations of the rows", 72 * rows);
            }
            Choice::Auto => {
                let pairs = d.max(16);
                add(Phase::Steps, "iterate, retreat and average", 3 * packed);
                add(Phase::Steps, "draws", 7 * 8 * pairs * d);
                add(Phase::Steps, "precision and its factor", 4 * square);
            }
            Choice::Planned(method) => {
                add(Phase::Steps, "start and iterate", 2 * packed);
                add(Phase::Steps, "average", 2 * packed);
                match method.estimator() {
                    None if method.walk().is_some() => {
                        add(Phase::Steps, "draws", 8 * d * 9 * (draws + 1));
                        add(Phase::Steps, "moments and their factors", 8 * square + 2 * packed);
                        // Of a match with fewer draws than dimensions.
                        add(Phase::Steps, "matched scores", 3 * 8 * (draws + 1).min(d) * (draws + 1).min(d));
                    }
                    None => {
                        add(Phase::Steps, "expectations", 3 * square + packed + 72 * rows);
                    }
                    Some(kind) => {
                        let one_pass = kind == Kind::Energy && draws == 1;
                        add(Phase::Steps, "draws", 8 * d * if one_pass { 6 * 16 } else { 3 * draws });
                        let inverse = match (kind, method.space()) {
                            (Kind::Energy, _) => 0,
                            (_, Space::Triangular) => packed,
                            (_, Space::Symmetric) => 3 * square + packed,
                        };
                        add(Phase::Steps, "inverse and projection", inverse);
                        // The gradient, and w_0 or an eigendecomposition.
                        let formed = match (method.follows_draws(), method.space()) {
                            (false, _) => 0,
                            (true, Space::Triangular) => 3 * packed,
                            (true, Space::Symmetric) => 4 * square + packed,
                        };
                        add(Phase::Steps, "adaptive steps", formed);
                    }
                }
            }
        }
        if let Some(subsample) = drawn {
            // M_n and π_n while planning; probabilities and the alias table during the steps.
            let law = if subsample.sampling == Sampling::Importance { 24 * rows } else { 0 };
            add(Phase::Preparation, "smoothness of the terms", 24 * rows + law);
            add(Phase::Steps, "terms drawn", 32 * subsample.terms as u128 + law);
        }
        if size.audit {
            // Includes the sums of two threads. Each further thread, up to sixteen, holds one more square.
            add(Phase::Audit, "curvature in the coordinates of q", 8 * square);
            // Two candidates for the ball at once, each with its factors and one eigendecomposition.
            add(Phase::Audit, "metrics and their constants", 13 * square);
            add(Phase::Audit, "draws", 8 * d * (4 * 512 + 400) + 72 * rows);
            add(Phase::Audit, "ascents of the transport bound", u128::from(ascent_bytes(size.dim)));
            // The numbers of its draws until they are bounded, at the usual limit on draws; directions, and
            // candidates for h.
            add(Phase::Audit, "the mass of the posterior", 9_600_000 + 5 * square);
            // Forms of d(d+1)/2 columns for each of some radii, once for each of two threads and once in all.
            if rows > 0 && size.dim <= 31 {
                let (wide, radii) = (d * (d + 1) / 2, if size.dim <= 12 { 12 } else { 7 });
                add(Phase::Audit, "fourth derivatives", 3 * 8 * radii * wide * wide);
            }
        }
        items.retain(|item| item.bytes > 0);
        Self { items, choice, size: *size }
    }

    /// The most memory held at once, including the data.
    pub fn peak(&self) -> Bytes {
        Bytes(self.in_phase(Phase::Data).saturating_add(self.to_come_in().1))
    }

    /// The most memory held at once, without the data, which are in memory when a run begins.
    pub fn to_come(&self) -> Bytes {
        let data = 8 * self.size.stored as u64 + 16 * self.size.rows as u64;
        Bytes(self.peak().0.saturating_sub(data))
    }

    /// Refuses a run that needs more than `available` bytes on top of its data. `None` refuses nothing.
    pub fn check(&self, available: Option<u64>) -> Result<()> {
        let needed = self.to_come();
        let Some(available) = available.filter(|&available| needed.0 > available) else { return Ok(()) };
        let (method, least) = self.least();
        let phase = self.to_come_in().0;
        let largest = self.items.iter().filter(|item| item.phase == phase).max_by_key(|item| item.bytes);
        Err(Error::Memory {
            method: self.choice.to_string(),
            needed,
            largest: largest.map_or("", |item| item.what),
            available: Bytes(available),
            least_method: method.to_string(),
            least,
        })
    }

    /// The method that needs the least memory, with one draw per step.
    fn least(&self) -> (Choice, Bytes) {
        let one = Size { draws: 1, ..self.size };
        let planned = Method::named().map(|(_, method)| Choice::Planned(method));
        std::iter::once(Choice::Auto)
            .chain(planned)
            .filter(|choice| self.size.exact || *choice != Choice::Planned(Method::Exact))
            .map(|choice| (choice, Forecast::new(choice, &one).to_come()))
            .min_by_key(|(_, bytes)| *bytes)
            .unwrap_or((self.choice, self.to_come()))
    }

    fn in_phase(&self, phase: Phase) -> u64 {
        let there = self.items.iter().filter(|item| item.phase == phase);
        there.fold(0, |sum, item| sum.saturating_add(item.bytes))
    }

    fn to_come_in(&self) -> (Phase, u64) {
        let phases = [Phase::Preparation, Phase::Steps, Phase::Audit];
        phases.map(|p| (p, self.in_phase(p))).into_iter().max_by_key(|p| p.1).unwrap_or((Phase::Steps, 0))
    }
}

impl fmt::Display for Forecast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "about {} at most", self.peak())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(dim: usize) -> Size {
        Size { dim, rows: 1000, stored: 1000 * dim, draws: 1, exact: true, audit: true, subsample: None }
    }

    #[test]
    fn every_need_grows_with_the_dimension_the_rows_and_the_draws() {
        let all = Method::named().chain(Method::recipes()).map(|(_, m)| Choice::Planned(m));
        let all = all.chain([Choice::Auto]);
        for choice in all {
            let need = |size: Size| Forecast::new(choice, &size).peak();
            assert!(need(size(100)) < need(size(200)), "{choice}");
            assert!(need(size(100)) < need(Size { rows: 2000, ..size(100) }), "{choice}");
            assert!(need(size(100)) <= need(Size { draws: 1_000_000, ..size(100) }), "{choice}");
        }
    }

    #[test]
    fn what_no_machine_has_overflows_nothing() {
        let all = Method::named().chain(Method::recipes()).map(|(_, m)| Choice::Planned(m));
        let all = all.chain([Choice::Auto]);
        for choice in all {
            let most = Size { draws: u32::MAX as usize, rows: 1 << 40, ..size(1 << 33) };
            let forecast = Forecast::new(choice, &most);
            assert!(forecast.peak().0 > 1 << 60 && forecast.check(Some(1 << 50)).is_err(), "{choice}");
        }
    }

    #[test]
    fn a_small_budget_is_refused_with_the_numbers_and_the_way_out() {
        let forecast = Forecast::new(Choice::Auto, &size(2000));
        assert_eq!(forecast.check(None), Ok(()));
        assert_eq!(forecast.check(Some(u64::MAX)), Ok(()));
        let error = forecast.check(Some(1_000_000)).unwrap_err();
        let Error::Memory { needed, least, .. } = &error else { panic!("{error}") };
        assert!(least < needed);
        let message = error.to_string();
        assert!(message.contains("1.00 MB") && message.contains("secant pairs"), "{message}");
    }
}

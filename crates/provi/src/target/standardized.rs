//! A target in coordinates that do not depend on units.

use super::Target;
use super::evaluate::Evaluator;
use crate::target::standard::Standard;

/// The same density in the coordinates b of β = Tb \[whiten\], with the map back to β. Solvers and audits work in b
/// and return answers for β: what they prove does not depend on the units of the user's columns.
pub struct Standardized<'a> {
    map: Standard,
    target: BoxedTarget<'a>,
}

/// A target, with the rule for its threads.
pub(super) enum BoxedTarget<'a> {
    /// May be evaluated in parallel.
    Shared(Box<dyn Target + Sync + 'a>),
    /// One thread at a time.
    Single(Box<dyn Target + 'a>),
}

impl std::fmt::Debug for Standardized<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Standardized").field("map", &self.map).finish_non_exhaustive()
    }
}

impl<'a> Standardized<'a> {
    /// A target in b that threads may share.
    pub(crate) fn shared(map: Standard, target: impl Target + Sync + 'a) -> Self {
        Self { map, target: BoxedTarget::Shared(Box::new(target)) }
    }

    /// A target in b for one thread.
    pub(crate) fn single(map: Standard, target: impl Target + 'a) -> Self {
        Self { map, target: BoxedTarget::Single(Box::new(target)) }
    }

    /// The map T and the target in b.
    pub(super) fn into_parts(self) -> (Standard, BoxedTarget<'a>) {
        (self.map, self.target)
    }

    /// The map T.
    pub fn map(&self) -> &Standard {
        &self.map
    }

    /// The target in b.
    pub fn target(&self) -> &dyn Target {
        match &self.target {
            BoxedTarget::Shared(target) => &**target,
            BoxedTarget::Single(target) => &**target,
        }
    }

    /// The target in b; evaluated in parallel if `own` is and this target may be.
    pub(crate) fn evaluator(&self, own: Evaluator<'_>) -> Evaluator<'_> {
        match (&self.target, own) {
            (BoxedTarget::Shared(target), Evaluator::Parallel(_)) => Evaluator::Parallel(&**target),
            _ => Evaluator::Serial(self.target()),
        }
    }
}

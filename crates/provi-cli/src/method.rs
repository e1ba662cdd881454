//! Which way a fit goes.

use provi::Method;
use provi::auto::Choice;

use crate::args::FitArgs;
use crate::failure::{Failure, Result};

/// The named method; without a name the automatic path, unless an option speaks of planned steps.
pub(crate) fn choose(args: &FitArgs) -> Result<Choice> {
    let planned = [
        ("--distance", args.distance.is_some()),
        ("--steps", args.steps.is_some()),
        ("--draws", args.step.draws.is_some()),
        ("--coordinates", args.step.coordinates.is_some()),
    ];
    match (args.method, planned.iter().find(|(_, given)| *given)) {
        (Some(Choice::Auto), Some((option, _))) => Err(Failure::AutoHasNoPlan { option }),
        (Some(choice), _) => Ok(choice),
        (None, None) => Ok(Choice::default()),
        (None, Some(_)) => Ok(Choice::Planned(default_plan(args.distance.is_some()))),
    }
}

/// Exact expectations make by far the shortest proved plans; in practice draws are cheaper.
pub(crate) fn default_plan(proved: bool) -> Method {
    if proved { Method::Exact } else { Method::ProjStl }
}

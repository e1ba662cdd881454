//! `provi plan`.

use provi::auto::Choice;
use provi::plan::Needed;
use provi::scalar::Positive;
use provi::{Error, Plan};
use provi_analysis::memory;
use provi_analysis::words::method;
use provi_analysis::words::number::{grouped, plain};

use super::Outcome;
use crate::args::PlanArgs;
use crate::failure::Result;
use crate::output::columns::{Columns, Side};
use crate::output::{style, summary};

pub(crate) fn execute(args: &PlanArgs) -> Result<Outcome> {
    let model = args.model.read()?;
    let planned = args.method.unwrap_or_else(|| args.steps.default_plan(true));
    let planner = args.steps.planner(planned)?;
    let need = memory::forecast(
        model.target.target(),
        Choice::Planned(planned),
        args.steps.draws_or(1),
        args.steps.subsample()?,
        false,
    )?;
    let mut text = format!("{}memory {need}\n", summary::model(&model));
    match (args.goal.distance, args.goal.steps) {
        (Some(accuracy), _) => {
            let compared = planner.compare(model.target.target(), accuracy)?;
            let accuracy = Positive::new("--distance", accuracy)?.get();
            let plan = match planner.to_distance(model.target.target(), accuracy) {
                // Another method may reach what this one cannot: say so before giving up.
                Err(error @ Error::OutOfReach { .. }) => {
                    eprintln!("{}", comparison(&compared));
                    return Err(error.into());
                }
                other => other?,
            };
            text.push_str(&format!("{}\n{}\n", details(&plan), summary::promise(&plan.promise)));
            text.push_str(&comparison(&compared));
            let proved = plan.promise.value.is_some_and(|bound| bound <= accuracy);
            Ok(Outcome { text, proved })
        }
        (None, steps) => {
            let plan = planner.to_steps(model.target.target(), steps.unwrap_or(1))?;
            text.push_str(&format!("{}\n{}", details(&plan), summary::promise(&plan.promise)));
            Ok(Outcome::said(text))
        }
    }
}

/// Steps, schedule, average, and the numbers behind the promise, aligned.
fn details(plan: &Plan) -> String {
    let mut columns = Columns::new(&[("", Side::Left), ("", Side::Left)]);
    let mut row = |name: &str, value: String| columns.push(vec![name.to_owned(), value]);
    row("method", method(&plan.method.to_string(), plan.draws, plan.subsample));
    row("coordinates", summary::coordinates(plan.coordinates()));
    row("steps", grouped(plan.steps));
    row("schedule", plan.schedule.to_string());
    row("average", plan.average.to_string());
    if let Some(c) = &plan.constants {
        row("e₀ ≥ ‖w₀ − w*‖²", plain(c.start));
        row("noise a, b", format!("{}, {}", plain(c.noise.growth), plain(c.noise.floor)));
        row("μ, M", format!("{}, {}", plain(c.convexity), plain(c.smoothness)));
    }
    format!("\n{}", columns.render())
}

fn comparison(needed: &[Needed]) -> String {
    let mut columns =
        Columns::new(&[("steps needed", Side::Left), ("planned", Side::Right), ("closed form", Side::Right)]);
    columns.bold_heading(style::bold());
    let steps = |steps: &provi::Result<u64>| match steps {
        Ok(steps) => grouped(*steps),
        Err(Error::OutOfReach { steps, .. }) => format!("{} (out of reach)", plain(*steps)),
        Err(_) => "not covered".to_owned(),
    };
    for row in needed {
        let closed_form = row.closed_form.as_ref().map_or("".to_owned(), steps);
        columns.push(vec![row.method.to_string(), steps(&row.steps), closed_form]);
    }
    columns.render()
}

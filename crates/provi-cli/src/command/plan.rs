//! `provi plan`.

use provi::auto::Choice;
use provi::average::Average;
use provi::plan::Needed;
use provi::scalar::Positive;
use provi::schedule::Schedule;
use provi::{Error, Plan};
use provi_analysis::model::memory;
use provi_analysis::number::{above, grouped, plain};
use provi_analysis::record::fit_file::{BoundRecord, ModelRecord, to_json};
use provi_analysis::run::recording;
use provi_analysis::show::words::method_within;
use serde::Serialize;

use super::Outcome;
use crate::args::PlanArgs;
use crate::failure::Result;
use crate::output::columns::{Columns, Side};
use crate::output::wrap::wrapped;
use crate::output::{style, summary};

pub(crate) fn execute(args: &PlanArgs) -> Result<Outcome> {
    let model = args.model.read()?;
    model.needs_known_scales("a plan")?;
    let planned = args.method.unwrap_or_else(|| args.steps.default_plan(true));
    let planner = args.steps.planner(planned)?;
    let target = model.target.target();
    let need = memory::forecast(
        target,
        Choice::Planned(planned),
        args.steps.draws_or(1),
        args.steps.subsample()?,
        false,
        None,
    )?;
    let (plan, compared) = match (args.goal.distance, args.goal.steps) {
        (Some(accuracy), _) => {
            let compared = planner.compare(target, accuracy)?;
            let accuracy = Positive::new("--distance", accuracy)?.get();
            match planner.to_distance(target, accuracy) {
                // Another method may reach what this one cannot: show the comparison before failing.
                Err(error @ (Error::OutOfReach { .. } | Error::BelowRounding { .. })) => {
                    eprintln!("{}", comparison(&compared));
                    return Err(error.into());
                }
                other => (other?, compared),
            }
        }
        (None, steps) => (planner.to_steps(target, steps.unwrap_or(1))?, Vec::new()),
    };
    let proved =
        args.goal.distance.is_none_or(|accuracy| plan.promise.value.is_some_and(|bound| bound <= accuracy));
    if let (Some(accuracy), false) = (args.goal.distance, proved) {
        let instead = match (plan.promise.value, &plan.promise.reason) {
            (Some(bound), _) => format!("the bound of this plan is {}", above(bound)),
            (None, reason) => {
                format!("this plan promises nothing: {}", reason.as_deref().unwrap_or("no bound"))
            }
        };
        eprint!("{}", wrapped("", 0, &format!("a distance of at most {accuracy} was not proved; {instead}")));
    }
    let text = if args.json {
        to_json(&Report::new(recording::model(&model), &plan, &compared, args.goal.distance))
    } else {
        let mut text = format!("{}memory {need}\n", summary::model(&model));
        text.push_str(&format!("{}\n{}", details(&plan), summary::promise(&plan.promise)));
        if !compared.is_empty() {
            text.push_str(&format!("\n{}", comparison(&compared)));
        }
        text
    };
    Ok(Outcome { text, proved })
}

/// Steps, schedule, average, and the numbers behind the promise, aligned.
fn details(plan: &Plan) -> String {
    let mut columns = Columns::new(&[("", Side::Left), ("", Side::Left)]);
    let mut row = |name: &str, value: String| columns.push(vec![name.to_owned(), value]);
    let coupling = plan.coupling.named_if_any();
    row("method", method_within(&plan.method.to_string(), plan.draws, coupling, plan.subsample, None));
    if !plan.pattern.is_full() {
        row("family of q", format!("{}; w* is the best Gaussian of it", plan.pattern));
    }
    row("coordinates", summary::coordinates(plan.coordinates(), &plan.pattern));
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
        Err(Error::BelowRounding { .. }) => "out of reach".to_owned(),
        Err(_) => "not covered".to_owned(),
    };
    for row in needed {
        let closed_form = row.closed_form.as_ref().map_or("".to_owned(), steps);
        columns.push(vec![row.method.to_string(), steps(&row.steps), closed_form]);
    }
    columns.render()
}

/// What --json prints.
#[derive(Serialize)]
struct Report<'a> {
    schema: &'static str,
    provi: &'static str,
    model: ModelRecord,
    method: String,
    /// The family of q; absent for every Gaussian.
    #[serde(skip_serializing_if = "Option::is_none")]
    family_of_q: Option<String>,
    coordinates: provi::plan::Coordinates,
    steps: u64,
    draws_per_step: usize,
    /// How they depend on each other; absent for independent draws.
    #[serde(skip_serializing_if = "Option::is_none")]
    coupling: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    subsample: Option<provi::subsample::Subsample>,
    schedule: &'a Schedule,
    average: &'a Average,
    /// The bound that holds before the first draw, and the constants behind it.
    bound: BoundRecord,
    /// The distance asked for; null if steps were given.
    distance: Option<f64>,
    /// Whether the bound is at most that distance; null if none was asked for.
    distance_proved: Option<bool>,
    /// The steps that each method needs for that distance.
    compared: Vec<Compared>,
}

/// The steps of one method: a number, or why there is none.
#[derive(Serialize)]
struct Compared {
    method: String,
    steps: Option<u64>,
    /// The steps by the closed form; null if the method has none.
    closed_form: Option<u64>,
    reason: Option<String>,
}

impl<'a> Report<'a> {
    fn new(model: ModelRecord, plan: &'a Plan, compared: &[Needed], distance: Option<f64>) -> Self {
        let one = |row: &Needed| Compared {
            method: row.method.to_string(),
            steps: row.steps.as_ref().ok().copied(),
            closed_form: row.closed_form.as_ref().and_then(|steps| steps.as_ref().ok().copied()),
            reason: row.steps.as_ref().err().map(ToString::to_string),
        };
        let bound = recording::bound(&plan.promise, plan.constants.as_ref());
        Self {
            schema: "provi-plan/1",
            provi: env!("CARGO_PKG_VERSION"),
            model,
            method: plan.method.to_string(),
            family_of_q: (!plan.pattern.is_full()).then(|| plan.pattern.to_string()),
            coordinates: plan.coordinates(),
            steps: plan.steps,
            draws_per_step: plan.draws,
            coupling: plan.coupling.named_if_any(),
            subsample: plan.subsample,
            schedule: &plan.schedule,
            average: &plan.average,
            distance,
            distance_proved: distance.map(|most| bound.value.is_some_and(|bound| bound <= most)),
            bound,
            compared: compared.iter().map(one).collect(),
        }
    }
}

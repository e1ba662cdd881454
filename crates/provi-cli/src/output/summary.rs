//! The model, the run and its promise, as text.

use provi::auto::Choice;
use provi::plan::{Coordinates, Promise};
use provi::{Pattern, Plan};
use provi_analysis::model::{Model, Origin};
use provi_analysis::number::{above, grouped};
use provi_analysis::record::fit_file::{BoundRecord, FitFile, Kind, ModelRecord};
use provi_analysis::run::recording;
use provi_analysis::show::words::{
    beside_the_formula, counted, describe_correlations, describe_scale, method_within,
};

use super::wrap::wrapped;

/// Family, formula, rows and prior.
pub(crate) fn model(model: &Model) -> String {
    recorded_model(&recording::model(model), model.dim())
}

/// The same from a file.
pub(crate) fn recorded_model(model: &ModelRecord, coefficients: usize) -> String {
    let chosen = match (model.family_chosen, model.family.as_str(), &model.success) {
        (true, "bernoulli", _) => ", as the response is binary",
        (true, "binomial", _) => ", as the response has trials",
        (true, "weibull", _) => ", as the response is a time",
        _ => "",
    };
    let success = model.success.as_ref().map_or(String::new(), |level| format!("; `{level}` counts as 1"));
    let groups = coefficients.saturating_sub(model.population);
    let groups = match (model.population, groups) {
        (0, _) | (_, 0) => String::new(),
        (population, groups) => {
            format!(
                ": {} of the population, {}",
                grouped(population as u64),
                model.beside_the_population(groups)
            )
        }
    };
    let dropped = match model.dropped.rows {
        0 => String::new(),
        rows => format!("; {} with missing values left out", counted(rows as u64, "row")),
    };
    let (family, title) = match model.kind {
        Kind::Formula => (family(model), formula(&model.formula)),
        Kind::Matrix => (format!("{}, of matrices", family(model)), formula(model.title())),
        kind => (kind.name().to_owned(), formula(model.title())),
    };
    // A black box may have no rows.
    let rows = if model.rows > 0 { counted(model.rows as u64, "row") + ", " } else { String::new() };
    let size = format!("{rows}{}{groups}{dropped}", counted(coefficients as u64, "coefficient"));
    let mut text = format!(
        "{}{}{}",
        wrapped("model  ", 9, &format!("{family}{chosen}{success}")),
        wrapped("       ", 9, &title),
        wrapped("       ", 9, &size),
    );
    text.extend(beside_the_formula(model).map(|said| wrapped("       ", 9, &said)));
    for (i, prior) in model.prior.iter().enumerate() {
        text.push_str(&wrapped(if i == 0 { "prior  " } else { "       " }, 9, prior));
    }
    for (i, scale) in model.scales.iter().enumerate() {
        text.push_str(&wrapped(if i == 0 { "scale  " } else { "       " }, 9, &describe_scale(scale)));
    }
    for block in &model.correlations {
        text.push_str(&wrapped("       ", 9, &describe_correlations(block)));
    }
    if model.scales.iter().any(|scale| scale.origin == Origin::Maximised) {
        let note =
            "empirical Bayes: what is estimated here counts as known below, its uncertainty is ignored";
        text.push_str(&wrapped("       ", 9, note));
    }
    for warning in &model.warnings {
        text.push_str(&wrapped("note   ", 7, warning));
    }
    text
}

fn family(model: &ModelRecord) -> String {
    let name = model.family.as_str();
    if let Some(unit) = model.time_unit {
        return format!("{name} (log hazard, unit of time {unit})");
    }
    match name {
        "bernoulli" => "bernoulli (logistic regression)".to_owned(),
        "binomial" => "binomial (logit link)".to_owned(),
        "cloglog" => "cloglog (complementary log-log link)".to_owned(),
        "ordered" => format!("ordered (proportional odds; levels {})", model.categories.join(" < ")),
        "multinomial" => {
            format!("multinomial (levels {}; each against the first)", model.categories.join(", "))
        }
        "student" => match model.options.nu {
            Some(nu) => format!("student (heavy tails; {nu} degrees of freedom)"),
            None => "student (heavy tails; nu degrees of freedom)".to_owned(),
        },
        "betabinomial" => "betabinomial (logit link; trials of a row correlated by rho)".to_owned(),
        "zipoisson" => "zipoisson (log link; no count at all, 0, with probability zi)".to_owned(),
        "poisson" | "negbinomial" | "gamma" | "exponential" => format!("{name} (log link)"),
        other => other.to_owned(),
    }
}

/// Shortens a formula of a hundred columns for the screen; fit.json has all of it.
fn formula(text: &str) -> String {
    const LONGEST: usize = 160;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{} …", text[..end].trim_end_matches(|c| c != '+')),
        None => text.to_owned(),
    }
}

/// One line before a run.
pub(crate) fn announcement(dim: usize, plan: Option<&Plan>) -> String {
    let what = counted(dim as u64, "coefficient");
    match plan {
        None => format!("fitting {what} by auto"),
        Some(plan) => {
            let family = plan.pattern.to_string();
            let family = (!plan.pattern.is_full()).then_some(family.as_str());
            let coupling = plan.coupling.named_if_any();
            let method =
                method_within(&plan.method.to_string(), plan.draws, coupling, plan.subsample, family);
            format!("fitting {what} by {method}: {}", counted(plan.steps, "step"))
        }
    }
}

/// The coordinates of the steps.
pub(crate) fn coordinates(coordinates: Coordinates, pattern: &Pattern) -> String {
    match coordinates {
        Coordinates::Original => "original".to_owned(),
        Coordinates::Curvature if !pattern.is_full() => {
            "curvature: scaled by H_lo within the family".to_owned()
        }
        Coordinates::Laplace if !pattern.is_full() => {
            "laplace: scaled by the curvature at the mode within the family".to_owned()
        }
        Coordinates::Curvature => "curvature: whitened by H_lo".to_owned(),
        Coordinates::Laplace => "laplace: whitened by the curvature at the mode".to_owned(),
        other => format!("{other:?}").to_lowercase(),
    }
}

/// ELBO, effort and, for planned steps, their promise.
pub(crate) fn run(fit: &FitFile) -> String {
    let elbo = -fit.neg_elbo;
    let error = above(fit.neg_elbo_error);
    let planned = fit.method != Choice::Auto.to_string();
    let grounds = if fit.mixture.is_some() {
        format!("summed over the scales; moved by {error} at the last refinement")
    } else if fit.neg_elbo_exact {
        format!("error at most {error}; a lower bound of the log evidence")
    } else {
        format!("standard error {error}")
    };
    let early = if fit.stopped_early { " (stopped early)" } else { "" };
    // Files older than phases have a single number.
    let seconds = fit.phases.map_or(format!("{:.2} s", fit.seconds), |phases| {
        let scales = phases.scales.map_or(String::new(), |seconds| format!("scales {seconds:.2} s, "));
        format!("{scales}fit {:.2} s, audit {:.2} s", phases.fit, phases.audit)
    });
    let search = fit.model.search.as_ref();
    let search = search.map_or(String::new(), |search| wrapped("search ", 7, &search.words));
    let steps = match &fit.mixture {
        Some(mixture) => format!("{} of the scales", counted(mixture.nodes.len() as u64, "value")),
        None => counted(fit.steps, "step"),
    };
    format!(
        "ELBO   {elbo:.4} ({grounds})\nrun    {}, {steps}{early}, {seconds}, seed {}\n{search}{}",
        method_within(
            &fit.method,
            fit.draws_per_step,
            fit.coupling.as_deref(),
            fit.subsample,
            fit.family_of_q.as_deref()
        ),
        fit.seed,
        if planned { bound(&fit.plan_bound) } else { String::new() }
    )
}

/// The bound that holds before any draw, or why there is none.
pub(crate) fn promise(promise: &Promise) -> String {
    bound(&recording::bound(promise, None))
}

/// The same from a file.
pub(crate) fn bound(bound: &BoundRecord) -> String {
    match (bound.value, bound.norm) {
        (Some(value), Some(norm)) => {
            let grounds = bound.provenance.map_or(String::new(), |p| format!("; constants {p}"));
            let key = bound.key.as_ref().map_or(String::new(), |key| format!(" [{key}]"));
            let witness = bound.taken_up.map_or(String::new(), |step| {
                let steps = counted(step, "step");
                wrapped(
                    "       ",
                    7,
                    &format!("taken up after {steps}: if these were made as planned, as the checkpoint says"),
                )
            });
            format!(
                "bound  {} ≤ {}\n       known before the first step{key}{grounds}\n{witness}",
                norm.formula(),
                above(value)
            )
        }
        _ => {
            let reason = bound.reason.as_deref().unwrap_or("no statement covers these steps");
            wrapped("bound  ", 7, &format!("none in advance: {reason}"))
        }
    }
}

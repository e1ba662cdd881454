//! What was fitted, how it went and what is promised, in words.

use provi::Plan;
use provi::auto::Choice;
use provi::plan::{Coordinates, Promise};

use super::fit_file::{BoundRecord, FitFile, ModelRecord};
use super::json;
use super::number::{above, grouped, plain};
use super::wrap::wrapped;
use crate::model::Model;

/// Family, formula, rows and prior.
pub(crate) fn model(model: &Model) -> String {
    recorded_model(&json::model(model), model.dim())
}

/// The same from a file.
pub(crate) fn recorded_model(model: &ModelRecord, coefficients: usize) -> String {
    let chosen =
        if model.family_chosen && model.noise_sd.is_none() { ", as the response is binary" } else { "" };
    format!(
        "model  {}{chosen}\n{}       {}, {}\nprior  {}({}, {}) on every coefficient\n",
        family(model),
        wrapped("       ", 9, &formula(&model.formula)),
        counted(model.rows as u64, "row"),
        counted(coefficients as u64, "coefficient"),
        model.prior.distribution,
        plain(model.prior.mean),
        plain(model.prior.sd),
    )
}

fn family(model: &ModelRecord) -> String {
    match (model.family.as_str(), model.noise_sd) {
        (family, Some(noise_sd)) => format!("{family}, noise sd {}", plain(noise_sd)),
        ("bernoulli", _) => "bernoulli (logistic regression)".to_owned(),
        ("poisson", _) => "poisson (log link)".to_owned(),
        (other, _) => other.to_owned(),
    }
}

/// A formula of a hundred columns need not fill the screen: fit.json has it whole.
fn formula(text: &str) -> String {
    const LONGEST: usize = 160;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{} …", text[..end].trim_end_matches(|c| c != '+')),
        None => text.to_owned(),
    }
}

/// One line before a run.
pub(crate) fn announcement(model: &Model, plan: Option<&Plan>) -> String {
    let what = counted(model.dim() as u64, "coefficient");
    match plan {
        None => format!("fitting {what} by auto"),
        Some(plan) => {
            let method = method(&plan.method.to_string(), plan.draws);
            format!("fitting {what} by {method}: {}", counted(plan.steps, "step"))
        }
    }
}

/// The method with its draws.
pub(crate) fn method(method: &str, draws: usize) -> String {
    match draws {
        0 => format!("{method}, no draws"),
        draws => format!("{method}, {} a step", counted(draws as u64, "draw")),
    }
}

/// Which coordinates the steps are made in.
pub(crate) fn coordinates(coordinates: Coordinates) -> String {
    match coordinates {
        Coordinates::Original => "original".to_owned(),
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
    let grounds = if fit.neg_elbo_exact {
        format!("error at most {error}; a lower bound of the log evidence")
    } else {
        format!("standard error {error}")
    };
    let early = if fit.stopped_early { " (stopped early)" } else { "" };
    format!(
        "ELBO   {elbo:.4} ({grounds})\nrun    {}, {}{early}, {:.2} s, seed {}\n{}",
        method(&fit.method, fit.draws_per_step),
        counted(fit.steps, "step"),
        fit.seconds,
        fit.seed,
        if planned { bound(&fit.plan_bound) } else { String::new() }
    )
}

/// What holds before any draw, or why nothing does.
pub(crate) fn promise(promise: &Promise) -> String {
    bound(&json::bound(promise, None))
}

/// The same from a file.
fn bound(bound: &BoundRecord) -> String {
    match (bound.value, bound.norm) {
        (Some(value), Some(norm)) => {
            let grounds = bound.provenance.map_or(String::new(), |p| format!("; constants {p}"));
            let key = bound.key.as_ref().map_or(String::new(), |key| format!(" [{key}]"));
            format!(
                "bound  {} ≤ {}\n       known before the first step{key}{grounds}\n",
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

pub(crate) fn counted(count: u64, what: &str) -> String {
    format!("{} {what}{}", grouped(count), if count == 1 { "" } else { "s" })
}

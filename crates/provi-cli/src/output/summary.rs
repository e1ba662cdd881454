//! What was fitted, how it went and what is promised, in words.

use provi::plan::{Coordinates, Promise};
use provi::target::Family;
use provi::{Fit, Plan};

use super::number::{above, grouped, plain};
use super::wrap::wrapped;
use crate::model::Model;

/// Family, formula, rows and prior.
pub(crate) fn model(model: &Model) -> String {
    let chosen =
        if model.family_chosen && model.noise_sd().is_none() { ", as the response is binary" } else { "" };
    format!(
        "model  {}{chosen}\n{}       {}, {}\nprior  normal(0, {}) on every coefficient\n",
        family(model.family),
        wrapped("       ", 9, &formula(&model.formula)),
        counted(model.rows as u64, "row"),
        counted(model.dim() as u64, "coefficient"),
        plain(model.prior_scale),
    )
}

fn family(family: Family) -> String {
    match family {
        Family::Gaussian { noise_sd } => format!("gaussian, noise sd {}", plain(noise_sd)),
        Family::Bernoulli => "bernoulli (logistic regression)".to_owned(),
        Family::Poisson => "poisson (log link)".to_owned(),
        other => other.name().to_owned(),
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
pub(crate) fn run(fit: &Fit, planned: bool) -> String {
    let elbo = -fit.neg_elbo.value;
    let error = above(fit.neg_elbo.error);
    let grounds = if fit.neg_elbo.exact {
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
        fit.seed.0,
        if planned { promise(&fit.promise) } else { String::new() }
    )
}

/// What holds before any draw, or why nothing does.
pub(crate) fn promise(promise: &Promise) -> String {
    match (promise.value, promise.norm) {
        (Some(bound), Some(norm)) => {
            let grounds = promise.provenance.map_or(String::new(), |p| format!("; constants {p}"));
            let key = promise.key.map_or(String::new(), |key| format!(" [{key}]"));
            format!(
                "bound  {} ≤ {}\n       known before the first step{key}{grounds}\n",
                norm.formula(),
                above(bound)
            )
        }
        _ => {
            let reason = promise.reason.as_deref().unwrap_or("no statement covers these steps");
            wrapped("bound  ", 7, &format!("none in advance: {reason}"))
        }
    }
}

pub(crate) fn counted(count: u64, what: &str) -> String {
    format!("{} {what}{}", grouped(count), if count == 1 { "" } else { "s" })
}

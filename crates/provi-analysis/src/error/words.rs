//! Words that several errors share.

use crate::number::grouped;

pub(super) fn of_process(process: Option<u32>) -> String {
    process.map_or(String::new(), |process| format!(", process {process}"))
}

pub(super) fn heavy(pareto_k: f64) -> String {
    if pareto_k.is_finite() {
        format!("k̂ = {pareto_k:.2} is above 0.7, the limit,")
    } else {
        "no k̂ could be found, so nothing is known about the tail".to_owned()
    }
}

/// A list of names, at most the first ten.
pub(super) fn listed(names: &[String]) -> String {
    let shown: Vec<String> = names.iter().take(10).map(|name| format!("`{name}`")).collect();
    let more = if names.len() > shown.len() { ", …" } else { "" };
    format!("{}{more}", shown.join(", "))
}

/// "; it has cor(clinic)", or what a model needs to have some.
pub(super) fn correlation_labels(known: &[String]) -> String {
    match known.is_empty() {
        true => "; a term such as (x | clinic), with two or three effects whose scales are integrated over, has some".to_owned(),
        false => format!("; it has {}", known.join(", ")),
    }
}

/// "; its scales are sigma, sd(clinic:(Intercept))".
pub(super) fn scale_labels(known: &[String]) -> String {
    match known {
        [] => "; it has none".to_owned(),
        known => format!("; its scales are {}", known.join(", ")),
    }
}

pub(super) fn scales(known: &[String]) -> String {
    if known.is_empty() {
        ": the formula has none".to_owned()
    } else {
        format!(", which are {}", listed(known))
    }
}

pub(super) fn most_of(group: Option<&(String, usize)>) -> String {
    group.map_or_else(String::new, |(text, levels)| {
        format!(", most of them for the {} levels of `{text}`", grouped(*levels as u64))
    })
}

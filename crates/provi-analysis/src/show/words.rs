//! Sentences that all shells share.

pub mod certificate;

use crate::number::{grouped, plain};
use crate::record::fit_file::ModelRecord;
use crate::record::scale::{Correlations, Origin, Scale};
use provi::subsample::Subsample;

/// A scale, and whether it was given or estimated.
pub fn describe_scale(scale: &Scale) -> String {
    if scale.origin == Origin::Integrated {
        let prior = scale.prior.as_deref().unwrap_or("no prior");
        return format!("{} ~ {prior}, integrated over", scale.label());
    }
    let value = plain(scale.sd);
    let what = if scale.is_noise() {
        format!("noise sd {value}")
    } else if scale.is_gap() {
        format!("{} {value}", scale.name)
    } else if scale.is_smooth() {
        format!("sd of the curve {} {value}", scale.name)
    } else {
        format!("sd between groups {} {value}", scale.name)
    };
    match (scale.origin, scale.vanishing) {
        (Origin::Given, _) => format!("{what}, as given"),
        (Origin::Maximised | Origin::Integrated, false) => {
            format!("{what}, estimated: it maximises the ELBO")
        }
        (Origin::Maximised | Origin::Integrated, true) if scale.is_smooth() => {
            format!("{what}, on its way to 0 as the ELBO grows: no curve is visible")
        }
        (Origin::Maximised | Origin::Integrated, true) => {
            format!("{what}, on its way to 0 as the ELBO grows: these groups do not differ visibly")
        }
    }
}

/// The prior of correlations that are integrated over.
pub fn describe_correlations(block: &Correlations) -> String {
    format!("cor({}) ~ {}, integrated over", block.group, block.prior)
}

/// What a reader of integrated scales must know.
pub const INTEGRATED: &str = "scales are integrated over by a sum over their values, which was refined until it stood still: an estimate, not a proof";

/// The scales in one line, for statements that are conditional on them.
pub fn condition(model: &ModelRecord) -> Option<String> {
    if model.kind == crate::record::fit_file::Kind::Stan {
        return Some(crate::model::compiled::SPACE.to_owned());
    }
    let of = |origin: Origin| {
        let scales = model.scales.iter().filter(|scale| scale.origin == origin);
        let unit = |scale: &Scale| if scale.is_gap() { "" } else { " sd" };
        scales.map(|scale| format!("{}{} = {}", scale.name, unit(scale), plain(scale.sd))).collect::<Vec<_>>()
    };
    let (given, estimated) = (of(Origin::Given), of(Origin::Maximised));
    let mut parts = Vec::new();
    if !given.is_empty() {
        parts.push(format!("for {} as given", given.join(", ")));
    }
    if !estimated.is_empty() {
        let whose = if estimated.len() == 1 { "its" } else { "their" };
        parts.push(format!(
            "empirical Bayes: {} estimated, {whose} uncertainty ignored",
            estimated.join(", ")
        ));
    }
    if model.scales.iter().any(|scale| scale.origin == Origin::Integrated) {
        parts.push(INTEGRATED.to_owned());
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// Weights, offset and exposure in one line; `None` if the model has none besides its formula.
pub fn beside_the_formula(model: &ModelRecord) -> Option<String> {
    let given = |text: &str| match text.starts_with(crate::run::problem::DIGEST) {
        true => String::new(),
        false => format!(" `{text}`"),
    };
    let weights =
        model.weights().map(|w| format!("weights{}: each row's log likelihood times its weight", given(w)));
    let offset = model.offset().map(|o| format!("offset{}, added to the linear predictor", given(o)));
    let exposure =
        model.exposure().map(|e| format!("exposure `{e}`, its logarithm added to the linear predictor"));
    let all: Vec<String> = [weights, offset, exposure].into_iter().flatten().collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// The method with the family of q if that is not every Gaussian, its draws with their coupling, and the number of terms that they use if
/// not all.
pub fn method_within(
    method: &str,
    draws: usize,
    coupling: Option<&str>,
    subsample: Option<Subsample>,
    family: Option<&str>,
) -> String {
    let method = &family.map_or(method.to_owned(), |family| format!("{method} within {family}"));
    let what = coupling.map_or("draw".to_owned(), |coupling| format!("{coupling} draw"));
    match (draws, subsample) {
        (0, _) => format!("{method}, no draws"),
        (draws, None) => format!("{method}, {} a step", counted(draws as u64, &what)),
        (draws, Some(Subsample { terms, sampling })) => {
            let (draws, rows) = (counted(draws as u64, &what), counted(terms as u64, "row"));
            format!("{method}, {draws} a step on {rows} each ({sampling})")
        }
    }
}

/// "1 row", "2,000 rows".
pub fn counted(count: u64, what: &str) -> String {
    format!("{} {what}{}", grouped(count), if count == 1 { "" } else { "s" })
}

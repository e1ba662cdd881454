//! Sentences that every shell says the same way.

pub mod certificate;
pub mod number;

use crate::fit_file::ModelRecord;
use crate::model::{Origin, Scale};
use number::{grouped, plain};
use provi::subsample::Subsample;

/// A scale, and who said it.
pub fn describe_scale(scale: &Scale) -> String {
    let what = match scale.is_noise() {
        true => format!("noise sd {}", plain(scale.sd)),
        false => format!("sd between groups {} {}", scale.name, plain(scale.sd)),
    };
    match (scale.origin, scale.vanishing) {
        (Origin::Given, _) => format!("{what}, fixed"),
        (Origin::Maximised, false) => format!("{what}, which maximises the ELBO"),
        (Origin::Maximised, true) => {
            format!("{what}, on its way to 0 as the ELBO grows: these groups do not differ visibly")
        }
    }
}

/// The scales in one line, for statements that are conditional on them.
pub fn condition(model: &ModelRecord) -> Option<String> {
    let one = |scale: &Scale| {
        let name = if scale.is_noise() { "noise" } else { &scale.name };
        let how = match scale.origin {
            Origin::Given => "fixed",
            Origin::Maximised => "maximised",
        };
        format!("{name} sd = {} ({how})", plain(scale.sd))
    };
    if model.kind == crate::fit_file::Kind::Stan {
        return Some(crate::compiled::SPACE.to_owned());
    }
    let all: Vec<String> = model.scales.iter().map(one).collect();
    (!all.is_empty()).then(|| format!("conditional on {}", all.join(", ")))
}

/// The method with its draws, and the terms they see if not all.
pub fn method(method: &str, draws: usize, subsample: Option<Subsample>) -> String {
    match (draws, subsample) {
        (0, _) => format!("{method}, no draws"),
        (draws, None) => format!("{method}, {} a step", counted(draws as u64, "draw")),
        (draws, Some(Subsample { terms, sampling })) => {
            let (draws, rows) = (counted(draws as u64, "draw"), counted(terms as u64, "row"));
            format!("{method}, {draws} a step on {rows} each ({sampling})")
        }
    }
}

/// "1 row", "2,000 rows".
pub fn counted(count: u64, what: &str) -> String {
    format!("{} {what}{}", grouped(count), if count == 1 { "" } else { "s" })
}

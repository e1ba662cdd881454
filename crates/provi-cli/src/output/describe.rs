//! A fit on the screen, the same after `provi fit` and from its file.

use provi_analysis::Fitted;
use provi_analysis::record::fit_file::Kind;
use provi_analysis::show::rows;
use provi_analysis::show::words::{condition, counted};

use super::wrap::wrapped;
use super::{certificate, estimates, robust, summary, table};
use crate::failure::Result;

/// How much of a fit is shown.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Detail {
    /// Whether to show the effects of groups.
    pub(crate) groups: bool,
    /// Whether to show every column of the table.
    pub(crate) wide: bool,
}

/// The most effects of groups on the screen.
const MOST_EFFECTS: usize = 1_000;

/// Model, posterior, contrasts, run, certificate and estimates; a file older than certificates has fewer. Effects of
/// groups only if asked for.
pub(crate) fn describe(fit: &Fitted, level: f64, detail: Detail) -> Result<String> {
    let file = &fit.file;
    let mut parts: Vec<String> =
        file.trust.iter().map(|trust| wrapped("trust  ", 7, &trust.line())).collect();
    parts.push(summary::recorded_model(&file.model, file.names.len()));
    if let Some(certificate) = &file.certificate {
        let dim = file.names.len();
        let hidden = match (file.model.population, detail.groups) {
            (0, _) => 0,
            (population, true) => dim.saturating_sub(population + MOST_EFFECTS.min(dim)),
            (population, false) => dim.saturating_sub(population),
        };
        let shown = rows::coefficients(fit, certificate).first(dim - hidden)?;
        // A Stan model's own scale comes first; of a formula, the coefficients do.
        let of_formula = file.model.kind == Kind::Formula;
        let own_scale = file.constrained.as_ref().map(|found| table::constrained(found, of_formula));
        parts.extend(own_scale.clone().filter(|_| !of_formula));
        let heading = match own_scale.is_some() && !of_formula {
            true => "on the unconstrained scale\n",
            false => "",
        };
        let rows = match detail.wide {
            true => table::wide(&shown, level)?,
            false => table::posterior(&shown, level, file.posterior.as_ref())?,
        };
        parts.push(format!("{heading}{rows}"));
        parts.extend(own_scale.filter(|_| of_formula));
        if hidden > 0 {
            // The curves come last.
            let curves = file.model.curve_coefficients();
            let effects = match (curves, hidden > curves) {
                (0, _) => format!("{} of groups", counted(hidden as u64, "effect")),
                (_, true) => format!("hidden: {}", file.model.beside_the_population(hidden)),
                (_, false) => format!("{} of curves", counted(hidden as u64, "coefficient")),
            };
            parts.push(match detail.groups {
                true => format!("{effects} more; `provi summary DIR --json` has them\n"),
                false => format!("{effects}; `provi summary DIR --groups` shows them\n"),
            });
        }
        parts.push(table::scales(&rows::scales(fit, level)?, level));
        parts.push(table::contrasts(&rows::contrasts(fit), level)?);
    }
    if let Some(found) = &file.robust {
        parts.push(robust::describe(found, &fit.moments()?[1]));
    }
    parts.push(summary::run(file));
    let condition = condition(&file.model);
    let (condition, estimates) = (condition.as_deref(), file.estimates.as_ref());
    parts.extend(
        file.certificate.as_ref().map(|c| certificate::describe(c, file.least_kl(), estimates, condition)),
    );
    let of_mixture = file.mixture.is_some();
    parts.extend(estimates.map(|e| estimates::describe(file.certificate.as_ref(), e, of_mixture)));
    parts.retain(|part| !part.is_empty());
    Ok(parts.join("\n"))
}

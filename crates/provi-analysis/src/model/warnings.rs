//! Warnings about data that would trouble a fit, or that leave its numbers to the prior; nothing is refused.

use provi::separation::{Separation, separation};
use provi_table::{GroupTerm, INTERCEPT, ModelFrame, Warning};

use crate::error::Result;

/// The most entries of a design that is checked for collinearity and separation.
const MOST_ENTRIES: usize = 1 << 21;

/// All warnings about a frame.
pub fn warnings(frame: &ModelFrame) -> Result<Vec<String>> {
    let mut out = notable(&frame.warnings);
    if frame.rows.saturating_mul(frame.names.len()) <= MOST_ENTRIES {
        out.extend(collinearity(frame));
        out.extend(separated(frame)?);
    }
    Ok(out)
}

/// What the reading of the table found.
pub(super) fn notable(warnings: &[Warning]) -> Vec<String> {
    warnings.iter().map(ToString::to_string).collect()
}

/// A note about correlations that group terms with several columns leave out; `modelled` are the first coefficients of those whose are not left out.
pub(super) fn independent_effects(groups: &[GroupTerm], modelled: &[usize]) -> Vec<String> {
    let left_out =
        |group: &&GroupTerm| group.correlated && group.columns.len() > 1 && !modelled.contains(&group.first);
    let note = |group: &GroupTerm| {
        let factor = group.factors.join(":");
        format!(
            "the effects of one `{factor}` are independent a priori, as `||` would say: no correlation between {} is modelled",
            group.columns.join(" and ")
        )
    };
    groups.iter().filter(left_out).map(note).collect()
}

fn collinearity(frame: &ModelFrame) -> impl Iterator<Item = String> {
    frame.collinearity().dependences.into_iter().map(|found| {
        let others: Vec<String> = found.others.iter().map(|(name, _)| format!("`{name}`")).collect();
        let how = if found.exact { "is a combination of" } else { "is nearly a combination of" };
        format!(
            "`{}` {how} {}: the data cannot tell their effects apart, only the prior does",
            found.column,
            others.join(", ")
        )
    })
}

/// For binary responses: whether some combination of columns predicts all of them.
fn separated(frame: &ModelFrame) -> Result<Option<String>> {
    let binary = |y: &f64| y.abs() <= 0.0 || (y - 1.0).abs() <= 0.0;
    let both = frame.response.iter().any(|y| *y > 0.5) && frame.response.iter().any(|y| *y < 0.5);
    // Group effects have a prior that is part of the model, so a group that is all ones separates nothing.
    if frame.trials.is_some() || !frame.groups.is_empty() || !both || !frame.response.iter().all(binary) {
        return Ok(None);
    }
    let names = |columns: &[usize]| -> String {
        let others = columns.iter().filter(|&&j| frame.names[j] != INTERCEPT || columns.len() == 1);
        others.take(5).map(|&j| format!("`{}`", frame.names[j])).collect::<Vec<_>>().join(", ")
    };
    let response = &frame.response_name;
    // If the search does not converge, there is no warning.
    Ok(
        match separation(&super::design::design(&frame.design)?, &frame.response).unwrap_or(Separation::None)
        {
            Separation::None => None,
            Separation::Complete { columns } => Some(format!(
                "`{response}` is separated by {}: a combination of columns predicts every row, and the size of its \
             coefficients is the prior's alone",
                names(&columns)
            )),
            Separation::Quasi { columns } => Some(format!(
                "`{response}` seems nearly separated by {}: the likelihood grows without end, and the size of those \
             coefficients is the prior's",
                names(&columns)
            )),
        },
    )
}

//! A contrast that names a reference level, which has no coefficient.

use provi_table::{CodedFactor, Recipe};

use crate::error::BadContrast;

/// The same error, or a better one if the text names a category's reference level.
pub(super) fn instead(
    error: BadContrast,
    text: &str,
    names: &[String],
    recipe: Option<&Recipe>,
) -> BadContrast {
    if !matches!(error, BadContrast::UnknownName { .. } | BadContrast::Syntax { .. }) {
        return error;
    }
    let Some(recipe) = recipe else { return error };
    let blocks = std::iter::once(&recipe.population).chain(recipe.groups.iter().map(|group| &group.block));
    for factor in blocks.flat_map(|block| &block.terms).flat_map(|term| &term.factors) {
        let CodedFactor::Category { column, levels, reference: Some(reference) } = factor else { continue };
        let level = &levels[*reference];
        let written = format!("{column}[{level}]");
        let Some(start) = text.find(&written).filter(|_| !names.contains(&written)) else { continue };
        let others = levels.iter().filter(|other| *other != level).map(|other| format!("{column}[{other}]"));
        return BadContrast::ReferenceLevel {
            column: column.clone(),
            level: level.clone(),
            others: others.collect(),
            span: start..start + written.len(),
        };
    }
    error
}

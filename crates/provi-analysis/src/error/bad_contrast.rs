//! What is wrong with a contrast.

use std::ops::Range;

use thiserror::Error;

/// What is wrong with an expression, and where.
#[derive(Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum BadContrast {
    /// Something else than a linear expression.
    #[error("expected {expected}, found {found}; a contrast reads `a - b` or `0.5*a + 0.5*b - c`")]
    Syntax {
        /// What could stand there.
        expected: &'static str,
        /// What does.
        found: String,
        /// Where.
        span: Range<usize>,
    },
    /// A name that is no coefficient's.
    #[error("`{name}` is no coefficient; {}the coefficients are {}", .nearest.as_ref().map_or(String::new(), |n| format!("did you mean `{n}`? ")), listed(.known))]
    UnknownName {
        /// As it was written.
        name: String,
        /// What may have been meant.
        nearest: Option<String>,
        /// Every coefficient.
        known: Vec<String>,
        /// Where.
        span: Range<usize>,
    },
    /// The level that the others of its category are compared with.
    #[error("`{level}` is the reference level of `{column}`: `{column}[{level}]` is 0 by definition, and no coefficient; leave it out, as {} are the differences from `{level}` already", listed(.others))]
    ReferenceLevel {
        /// The category.
        column: String,
        /// Its reference level.
        level: String,
        /// The names of the other levels.
        others: Vec<String>,
        /// Where.
        span: Range<usize>,
    },
    /// A name without an end.
    #[error("a back-quote is never closed")]
    Unclosed {
        /// From the back-quote on.
        span: Range<usize>,
    },
    /// A product or a quotient of coefficients.
    #[error("a contrast is linear: {what}")]
    NotLinear {
        /// What it does not do.
        what: &'static str,
        /// The term.
        span: Range<usize>,
    },
    /// A number by itself.
    #[error("the constant {constant} is no coefficient; leave it out")]
    Constant {
        /// What is left beside the coefficients.
        constant: f64,
        /// All of it.
        span: Range<usize>,
    },
    /// Nothing.
    #[error("every weight is 0, so there is nothing to ask")]
    Zero {
        /// All of it.
        span: Range<usize>,
    },
    /// A number too large, or a division by 0.
    #[error("a weight is not finite")]
    Infinite {
        /// All of it.
        span: Range<usize>,
    },
}

impl BadContrast {
    /// The place in the text.
    pub fn span(&self) -> Range<usize> {
        match self {
            Self::Syntax { span, .. }
            | Self::UnknownName { span, .. }
            | Self::ReferenceLevel { span, .. }
            | Self::Unclosed { span }
            | Self::NotLinear { span, .. }
            | Self::Constant { span, .. }
            | Self::Zero { span }
            | Self::Infinite { span } => span.clone(),
        }
    }
}

fn listed(names: &[String]) -> String {
    let shown: Vec<String> = names.iter().take(10).map(|name| format!("`{name}`")).collect();
    format!("{}{}", shown.join(", "), if names.len() > shown.len() { ", …" } else { "" })
}

//! Errors in a contrast.

use std::ops::Range;

use thiserror::Error;

/// What is wrong with an expression, and where.
#[derive(Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum BadContrast {
    /// The text is not a linear expression.
    #[error("expected {expected}, found {found}; a contrast reads `a - b` or `0.5*a + 0.5*b - c`")]
    Syntax {
        /// What was expected there.
        expected: &'static str,
        /// What was found.
        found: String,
        /// Where in the text.
        span: Range<usize>,
    },
    /// A name that is not a coefficient.
    #[error("`{name}` is not a coefficient; {}the coefficients are {}", .nearest.as_ref().map_or(String::new(), |n| format!("did you mean `{n}`? ")), listed(.known))]
    UnknownName {
        /// The name as written.
        name: String,
        /// The nearest known name, if one is near.
        nearest: Option<String>,
        /// All coefficients.
        known: Vec<String>,
        /// Where in the text.
        span: Range<usize>,
    },
    /// The reference level of a category, with which the other levels are compared.
    #[error("`{level}` is the reference level of `{column}`: `{column}[{level}]` is 0 by definition and not a coefficient; leave it out, because {} already are the differences from `{level}`", listed(.others))]
    ReferenceLevel {
        /// The category.
        column: String,
        /// Its reference level.
        level: String,
        /// The names of the other levels.
        others: Vec<String>,
        /// Where in the text.
        span: Range<usize>,
    },
    /// A back-quote that is never closed.
    #[error("a back-quote is never closed")]
    Unclosed {
        /// From the back-quote to the end.
        span: Range<usize>,
    },
    /// A product or a quotient of coefficients.
    #[error("a contrast is linear: {what}")]
    NotLinear {
        /// What a contrast cannot do.
        what: &'static str,
        /// The term.
        span: Range<usize>,
    },
    /// A constant term.
    #[error("the constant {constant} is not a coefficient; leave it out")]
    Constant {
        /// The constant that remains.
        constant: f64,
        /// The whole text.
        span: Range<usize>,
    },
    /// A contrast whose weights are all zero.
    #[error("every weight is 0, so the contrast is always 0")]
    Zero {
        /// The whole text.
        span: Range<usize>,
    },
    /// A number that is too large, or a division by 0.
    #[error("a weight is not finite")]
    Infinite {
        /// The whole text.
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

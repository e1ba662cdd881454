//! Where an error points: a place in the formula, a column of the table.

use super::Error;
use crate::formula::Span;

/// Errors in the data, which get a place in the formula once it is known which part of it uses them.
macro_rules! of_data {
    ($span:ident) => {
        Self::UnknownColumn { $span, .. }
            | Self::TextColumn { $span, .. }
            | Self::DateColumn { $span, .. }
            | Self::AmbiguousDates { $span, .. }
            | Self::BadDate { $span, .. }
            | Self::NoDates { $span, .. }
            | Self::NoDateText { $span, .. }
            | Self::TextOrder { $span, .. }
            | Self::UnlistedLevel { $span, .. }
            | Self::MixedColumn { $span, .. }
            | Self::EmptyColumn { $span, .. }
            | Self::MissingValue { $span, .. }
            | Self::InfiniteValue { $span, .. }
            | Self::ConstantColumn { $span, .. }
            | Self::OneLevel { $span, .. }
            | Self::NotFinite { $span, .. }
            | Self::TooFewValues { $span, .. }
            | Self::OutOfRange { $span, .. }
            | Self::WholeColumn { $span, .. }
            | Self::ResponseLevels { $span, .. }
    };
}

impl Error {
    /// The bytes of the formula that are wrong, if the error is in the formula.
    ///
    /// ```
    /// let error = provi_table::Formula::parse("y ~ a ~ b").unwrap_err();
    /// assert_eq!(error.span(), Some(6..7));
    /// ```
    pub fn span(&self) -> Option<Span> {
        match self {
            of_data!(span) => span.clone(),
            Self::NothingUnderDot { span, .. }
            | Self::UselessUnderDot { span, .. }
            | Self::ResponseAsPredictor { span, .. }
            | Self::NoTerms { span, .. }
            | Self::Syntax { span, .. }
            | Self::UnclosedName { span, .. }
            | Self::UnclosedText { span, .. }
            | Self::RepeatedLevel { span, .. }
            | Self::Number { span, .. }
            | Self::Misplaced { span, .. }
            | Self::UnknownFunction { span, .. }
            | Self::Argument { span, .. }
            | Self::NoColumn { span, .. }
            | Self::NothingToRemove { span, .. }
            | Self::TooLarge { span, .. } => Some(span.clone()),
            _ => None,
        }
    }

    /// The column that is wrong, if the error is in one.
    pub(crate) fn column(&self) -> Option<&str> {
        match self {
            Self::UnknownColumn { column, .. }
            | Self::TextColumn { column, .. }
            | Self::DateColumn { column, .. }
            | Self::AmbiguousDates { column, .. }
            | Self::BadDate { column, .. }
            | Self::NoDates { column, .. }
            | Self::NoDateText { column, .. }
            | Self::TextOrder { column, .. }
            | Self::UnlistedLevel { column, .. }
            | Self::MixedColumn { column, .. }
            | Self::EmptyColumn { column, .. }
            | Self::MissingValue { column, .. }
            | Self::InfiniteValue { column, .. }
            | Self::OneLevel { column, .. }
            | Self::OutOfRange { column, .. } => Some(column),
            _ => None,
        }
    }

    /// The same error with its place in the formula, if it has one.
    pub(crate) fn at(mut self, place: Option<Span>) -> Self {
        if let of_data!(span) = &mut self {
            *span = place;
        }
        self
    }
}

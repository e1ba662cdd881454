//! Where an error points: a place in the formula, a column of the table.

use super::{BadDates, BadFormula, BadValue, Error, UnfitColumn};
use crate::formula::Span;

/// A field that all of these variants have.
macro_rules! field {
    ($error:expr, $field:ident, $of:ident: $($variant:ident),+) => {
        match $error {
            $($of::$variant { $field, .. })|+ => $field,
        }
    };
}

/// The place of an error in the data, which is given once it is known which part of the formula uses them.
macro_rules! place_of_data {
    ($error:expr) => {
        match $error {
            Error::Column(error) => Some(field!(
                error, span, UnfitColumn: UnknownColumn, TextColumn, UnlistedLevel, MixedColumn, EmptyColumn, ConstantColumn, OneLevel,
                ResponseLevels, WholeColumn, NoOrder, UnusedCategory, CountOfCategories
            )),
            Error::Dates(error) => Some(field!(
                error, span, BadDates: DateColumn, AmbiguousDates, BadDate, NoDates, NoDateText, TextOrder
            )),
            Error::Value(error) => Some(field!(
                error, span, BadValue: MissingValue, InfiniteValue, NotFinite, TooFewValues, TooFewForSmooth, OutOfRange
            )),
            _ => None,
        }
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
        if let Self::Formula(error) = self {
            let span = field!(
                error, span, BadFormula: NothingUnderDot, UselessUnderDot, ResponseAsPredictor, NoTerms, Syntax, UnclosedName, UnclosedText,
                Smooth, RepeatedLevel, Number, Misplaced, UnknownFunction, Argument, NoColumn, NothingToRemove, TooLarge
            );
            return Some(span.clone());
        }
        place_of_data!(self).cloned().flatten()
    }

    /// The column that is wrong, if the error is in one.
    pub(crate) fn column(&self) -> Option<&str> {
        match self {
            Self::Column(
                UnfitColumn::UnknownColumn { column, .. }
                | UnfitColumn::TextColumn { column, .. }
                | UnfitColumn::UnlistedLevel { column, .. }
                | UnfitColumn::MixedColumn { column, .. }
                | UnfitColumn::EmptyColumn { column, .. }
                | UnfitColumn::OneLevel { column, .. },
            )
            | Self::Value(
                BadValue::MissingValue { column, .. }
                | BadValue::InfiniteValue { column, .. }
                | BadValue::OutOfRange { column, .. },
            ) => Some(column),
            Self::Dates(error) => Some(field!(
                error, column, BadDates: DateColumn, AmbiguousDates, BadDate, NoDates, NoDateText, TextOrder
            )),
            _ => None,
        }
    }

    /// The same error with its place in the formula, if it has one.
    pub(crate) fn at(mut self, place: Option<Span>) -> Self {
        if let Some(span) = place_of_data!(&mut self) {
            *span = place;
        }
        self
    }
}

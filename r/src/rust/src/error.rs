//! The library's errors as R's: the library's own message, with options spelled as arguments.

use provi_analysis::Error;
use provi_analysis::options::in_keywords;

/// The message of an error, and the words of the formula that are at fault, if it points into one.
pub(crate) fn described(error: &Error) -> (String, Option<String>) {
    let word = match error {
        Error::Table { error, formula } => {
            error.span().and_then(|span| formula.get(span)).map(|word| word.trim_matches('`').to_owned())
        }
        Error::Contrast { error, text } => text.get(error.span()).map(str::to_owned),
        Error::Response { column, .. } => Some(column.clone()),
        _ => None,
    };
    let way_out = match error {
        Error::Response { .. } => "; correct the value, recode the column, or name another family",
        Error::FitExists { .. } => "; name another folder, or say force = TRUE to replace it",
        _ => "",
    };
    (in_keywords(&error.to_string()) + way_out, word)
}

/// An error without its place.
pub(crate) fn refuse(error: Error) -> savvy::Error {
    savvy::Error::new(described(&error).0)
}

//! What is wrong with a file that should hold a fit.

use thiserror::Error;

#[derive(Debug, Error)]
pub(crate) enum BadFit {
    #[error("it cannot be read: {0}")]
    Unreadable(String),
    #[error("it is not JSON (which has no NaN and no infinity): {0}")]
    Json(String),
    #[error("it is not the fit.json that its schema announces: {0}")]
    Record(String),
    #[error("it has no {0}")]
    Missing(&'static str),
    #[error("it has both `{0}` and `{1}`, where one is enough")]
    Both(String, String),
    #[error("{place} is {found}, where a number is needed")]
    NotNumber { place: String, found: String },
    #[error("{place} is {found}, where a list is needed")]
    NotList { place: String, found: String },
    #[error("{place} has {found} entries, where {expected} are needed")]
    Row { place: String, found: usize, expected: usize },
    #[error("{place} is {found} above the diagonal of a lower triangular factor")]
    NotLower { place: String, found: f64 },
    #[error("its {what} has {found} entries, where {dim} coefficients need {expected}")]
    Spread { what: &'static str, found: usize, expected: usize, dim: usize },
    #[error("it has {found} coefficients, where the model has {expected}")]
    Size { found: usize, expected: usize },
    #[error("it has {names} names for {mean} means")]
    Names { names: usize, mean: usize },
    #[error("`{name}` is no coefficient of the model, which has {}", quoted(.known))]
    UnknownName { name: String, known: Vec<String> },
    #[error("it has coefficient `{name}` twice")]
    Twice { name: String },
    #[error("its header must read `name,mean,<name1>,<name2>,…`, and reads `{0}`")]
    Header(String),
    #[error("its header names the covariance's columns {}, its rows are {}", quoted(.columns), quoted(.rows))]
    Columns { columns: Vec<String>, rows: Vec<String> },
    #[error("the factor in `{file}` cannot be read: {reason}")]
    Factor { file: String, reason: String },
    #[error("the factor in `{file}` has SHA-256 {found}, where fit.json says {expected}")]
    FactorHash { file: String, found: String, expected: String },
    #[error("{0}")]
    Library(#[from] provi::Error),
}

impl BadFit {
    pub(super) fn unreadable(error: &std::io::Error) -> Self {
        Self::Unreadable(error.to_string())
    }
}

fn quoted(names: &[String]) -> String {
    const MOST: usize = 12;
    let mut text = names.iter().take(MOST).map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
    if names.len() > MOST {
        text.push_str(", …");
    }
    text
}

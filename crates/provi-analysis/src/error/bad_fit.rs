//! Errors in a file that should hold a fit.

use thiserror::Error;

/// What is wrong with such a file.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BadFit {
    /// The system or the CSV reader cannot read it.
    #[error("it cannot be read: {0}")]
    Unreadable(String),
    /// It begins like JSON and is not JSON.
    #[error("it is not JSON (which has no NaN and no infinity): {0}")]
    Json(String),
    /// Its schema says that provi wrote it, and its contents say otherwise.
    #[error("it is not the fit.json that its schema announces: {0}")]
    Record(String),
    /// An answer of another family.
    #[error("its base law is {0}: it is no Gaussian, and everything here is about Gaussians")]
    BaseLaw(String),
    /// A part is missing.
    #[error("it has no {0}")]
    Missing(&'static str),
    /// Two keys for the same thing.
    #[error("it has both `{0}` and `{1}`, where one is enough")]
    Both(String, String),
    /// Not a number.
    #[error("{place} is {found}, where a number is needed")]
    NotNumber {
        /// Where in the file.
        place: String,
        /// The value found.
        found: String,
    },
    /// Not a list.
    #[error("{place} is {found}, where a list is needed")]
    NotList {
        /// Where in the file.
        place: String,
        /// The value found.
        found: String,
    },
    /// A row of another length than the others.
    #[error("{place} has {found} entries, where {expected} are needed")]
    Row {
        /// Which row.
        place: String,
        /// The number of entries found.
        found: usize,
        /// The number needed.
        expected: usize,
    },
    /// A factor that is not triangular.
    #[error("{place} is {found} above the diagonal of a lower triangular factor")]
    NotLower {
        /// Where in the file.
        place: String,
        /// The value found.
        found: f64,
    },
    /// A covariance or a factor of another size than the mean.
    #[error("its {what} has {found} entries, where {dim} coefficients need {expected}")]
    Spread {
        /// Covariance or factor.
        what: &'static str,
        /// The number of entries found.
        found: usize,
        /// The number needed.
        expected: usize,
        /// The number of coefficients of the mean.
        dim: usize,
    },
    /// More or fewer coefficients than the model.
    #[error("it has {found} coefficients, where the model has {expected}")]
    Size {
        /// Coefficients of the file.
        found: usize,
        /// Coefficients of the model.
        expected: usize,
    },
    /// More or fewer names than means.
    #[error("it has {names} names for {mean} means")]
    Names {
        /// Number of names.
        names: usize,
        /// Number of means.
        mean: usize,
    },
    /// A name that is not a coefficient of the model.
    #[error("`{name}` is not a coefficient of the model, which has {}", quoted(.known))]
    UnknownName {
        /// The name.
        name: String,
        /// The coefficients of the model.
        known: Vec<String>,
    },
    /// A name that occurs twice.
    #[error("it has coefficient `{name}` twice")]
    Twice {
        /// The name.
        name: String,
    },
    /// A CSV with another header.
    #[error("its header must read `name,mean,<name1>,<name2>,…`, and reads `{0}`")]
    Header(String),
    /// A covariance whose rows and columns differ.
    #[error("its header names the covariance's columns {}, its rows are {}", quoted(.columns), quoted(.rows))]
    Columns {
        /// The header's names.
        columns: Vec<String>,
        /// The names of the rows.
        rows: Vec<String>,
    },
    /// The file of a large fit's factor is missing.
    #[error("the factor in `{file}` cannot be read: {reason}")]
    Factor {
        /// Its name.
        file: String,
        /// The system's message.
        reason: String,
    },
    /// The file of a large fit's factor has another digest.
    #[error("the factor in `{file}` has SHA-256 {found}, where fit.json says {expected}")]
    FactorHash {
        /// Its name.
        file: String,
        /// Its digest.
        found: String,
        /// The digest needed.
        expected: String,
    },
    /// The library refuses the numbers.
    #[error("{0}")]
    Library(#[from] provi::Error),
}

impl BadFit {
    pub(crate) fn unreadable(error: &std::io::Error) -> Self {
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

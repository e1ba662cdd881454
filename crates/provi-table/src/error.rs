//! Errors in a table or a formula: where, what was found, and the way out.

mod column;
mod dates;
mod file;
mod formula;
mod memory;
mod model;
mod place;
mod reason;
mod shards;
#[cfg(test)]
mod tests;
mod value;
mod wording;

pub use column::UnfitColumn;
pub use dates::BadDates;
pub use file::BadFile;
pub use formula::BadFormula;
pub use memory::BadColumns;
pub use model::BadModel;
pub use reason::{BadSmooth, Format, Misplaced, Purpose, ShardTrait};
pub use shards::BadShards;
pub use value::BadValue;
pub(crate) use wording::shown;

/// The crate's result type.
pub type Result<T> = std::result::Result<T, Error>;

/// Everything that this crate refuses, by subject.
///
/// Lines are those of the file, from 1; a [`span`](Error::span) counts bytes of the formula.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file, or its text, that is no table.
    #[error(transparent)]
    File(#[from] BadFile),
    /// Files that are read block by block.
    #[error(transparent)]
    Shards(#[from] BadShards),
    /// A column that does not suit its use.
    #[error(transparent)]
    Column(#[from] UnfitColumn),
    /// A column of dates, or a comparison with one.
    #[error(transparent)]
    Dates(#[from] BadDates),
    /// A value that a model cannot use.
    #[error(transparent)]
    Value(#[from] BadValue),
    /// An error in the formula itself.
    #[error(transparent)]
    Formula(#[from] BadFormula),
    /// A model that the formula and the table do not make.
    #[error(transparent)]
    Model(#[from] BadModel),
}

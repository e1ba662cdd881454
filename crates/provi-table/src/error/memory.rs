//! Errors in columns in memory.

/// What is wrong with columns in memory.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadColumns {
    /// There are no columns.
    #[error("no columns; at least one is needed")]
    None,
    /// Columns of different lengths.
    #[error(
        "column `{column}` has {found} values, where column `{first}` has {expected}; columns of one length are needed"
    )]
    Length {
        /// The column.
        column: String,
        /// Number of its values.
        found: usize,
        /// The first column.
        first: String,
        /// Number of its values.
        expected: usize,
    },
    /// A category with a code that is not a level.
    #[error(
        "row {row} of column `{column}` has the code {code}, where there are {levels} levels, counted from 0; give the level a name, or mark the value as missing"
    )]
    Code {
        /// The column.
        column: String,
        /// The row, from 1.
        row: usize,
        /// The code found.
        code: u32,
        /// The number of levels.
        levels: usize,
    },
    /// A category with two levels of the same name.
    #[error("column `{column}` has the level `{level}` twice; give each a name of its own")]
    Level {
        /// The column.
        column: String,
        /// The name.
        level: String,
    },
}

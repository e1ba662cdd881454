//! Tables and model formulas: from files to design, response and names.
//!
//! ```text
//! bytes, columns ──► Table ──┐
//!                            ├──► ModelFrame ──► Recipe ──┐
//! text ──► Formula ──────────┘    design, response, names ├──► NewRows    the same design, of other rows
//!                                           another Table ┘
//! ```
//!
//! Files too large for memory lead to the same rows in another way:
//!
//! ```text
//! files ──► Shards ──┐  surveys  ┌──► Recipe
//! text ──► Formula ──┴──► Scan ──┴──► FrameRows, block after block
//! ```
//!
//! A [`Table`] holds typed columns and remembers the file's lines. A [`Formula`] is a parsed model, with the place
//! of each word in its text. A [`ModelFrame`] is what a model needs; a [`Recipe`] is how it was made, as data. No
//! value is filled in, and none is dropped or rescaled unless [`FrameOptions`] say so: what cannot be used is
//! refused, with its line.
//!
//! ```
//! use provi_table::{Formula, FrameOptions, ModelFrame, Table};
//!
//! let csv = b"switch,arsenic,town\n1,2.36,Bern\n0,0.71,Basel\n1,1.15,Bern\n";
//! let table = Table::read(csv, "wells.csv")?;
//! let formula = Formula::parse("switch ~ . + (1 | town)")?;
//! let frame = ModelFrame::new(&table, &formula, &FrameOptions::default())?;
//!
//! assert_eq!(frame.names, ["(Intercept)", "arsenic", "(1 | town)[Basel]", "(1 | town)[Bern]"]);
//! assert_eq!(frame.design.population, [1.0, 2.36, 1.0, 0.71, 1.0, 1.15]);
//! assert_eq!(frame.design.groups[0].levels, [Some(1), Some(0), Some(1)]);
//! assert_eq!(frame.response, [1.0, 0.0, 1.0]);
//! assert_eq!(frame.formula, "switch ~ arsenic + (1 | town)");
//! # Ok::<(), provi_table::Error>(())
//! ```

#![forbid(unsafe_code)]

mod cells;
mod column;
mod columns;
mod csv;
mod date;
mod days;
mod describe;
mod error;
mod formula;
mod frame;
mod hands;
mod intern;
mod missing;
mod nearest;
mod parquet;
mod read;
mod records;
mod room;
mod scan;
mod shards;
mod sniff;
mod table;

pub use column::ColumnKind;
pub use columns::Values;
pub use date::{DateOrder, date_of, day_of};
pub use days::DateColumn;
pub use describe::{ColumnSummary, Contents, TableSummary};
pub use error::{
    BadColumns, BadDates, BadFile, BadFormula, BadModel, BadShards, BadSmooth, BadValue, Error, Format,
    Misplaced, Purpose, Result, ShardTrait, UnfitColumn,
};
pub use formula::{
    Comparison, Expression, Factor, Formula, Function, Group, Operation, Response, Smoothing, Span, Spanned,
    Term, TextTest, Trials,
};
pub use frame::{
    Block, CodedColumn, CodedFactor, CodedTerm, Collinearity, CompressedRows, Dependence, DesignRows,
    Dropped, FrameOptions, GroupRecipe, GroupRows, GroupTerm, INTERCEPT, Missing, ModelFrame, NewLevel,
    NewLevels, NewRows, NumberFacts, Offset, OriginalScale, Polynomial, Recipe, Role, Slopes, Smooth, Spans,
    Spline, Variable, Warning,
};
pub use nearest::nearest;
pub use room::{available_memory, read_file, read_stream};
pub use scan::{Budget, FrameRows, Learned, Learning, Part, ResponseSummary, Scan, Survey};
pub use shards::Shards;
pub use table::Table;

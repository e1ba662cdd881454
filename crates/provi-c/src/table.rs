//! The handle of a table: named columns, or a file.

use std::ffi::{c_char, c_int};
use std::path::PathBuf;

use provi_analysis::Error;
use provi_analysis::model::Data;
use provi_table::Values;

use crate::error::{Refused, Result, boxed, status};
use crate::pointer::{array, collected, copied, free, handle, handle_mut, maybe_texts, put, text, texts};

/// A missing value among whole numbers: INT64_MIN, `PROVI_MISSING` in the header.
const MISSING: i64 = i64::MIN;

/// The name of a table in messages.
const NAME: &str = "the table";

/// Rows for a formula.
#[derive(Debug)]
pub(crate) enum Table {
    /// Columns of the same length.
    Columns(Vec<(String, Values)>),
    /// A file, a folder or a pattern.
    File(PathBuf),
}

impl Table {
    fn add(&mut self, name: &str, values: Values) -> Result<()> {
        match self {
            Self::File(path) => Err(Refused::FileColumns { path: path.display().to_string() }),
            Self::Columns(columns) => {
                let expected = columns.first().map_or(values.len(), |(_, first)| first.len());
                if values.len() != expected {
                    let (column, found) = (name.to_owned(), values.len());
                    return Err(Refused::Column { column, found, expected });
                }
                columns.push((name.to_owned(), values));
                Ok(())
            }
        }
    }

    /// The rows for the formula of a fit.
    pub(crate) fn data(&self, formula: &str) -> Result<Data> {
        match self {
            Self::Columns(_) => Ok(Data::from(self.table(formula)?)),
            Self::File(path) => Data::read(path).map_err(|error| Error::table(error, formula).into()),
        }
    }

    /// The rows in memory, for predictions.
    pub(crate) fn table(&self, formula: &str) -> Result<provi_table::Table> {
        let found = match self {
            Self::Columns(columns) => provi_table::Table::from_columns(NAME, columns.clone()),
            Self::File(path) => provi_table::Table::open(path),
        };
        found.map_err(|error| Error::table(error, formula).into())
    }
}

/// A table without columns.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn provi_table_new() -> *mut Table {
    boxed(|| Ok(Table::Columns(Vec::new())))
}

/// A table of a file, which is read when it is needed.
///
/// # Safety
/// `path` is NULL or a text.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn provi_table_read(path: *const c_char) -> *mut Table {
    boxed(|| {
        // SAFETY: as the caller promises.
        let path = PathBuf::from(unsafe { text("path", path) }?);
        Ok(Table::File(path))
    })
}

/// Frees a table.
///
/// # Safety
/// `table` is NULL, or a table that is not used again.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn provi_table_free(table: *mut Table) {
    status(|| {
        // SAFETY: as the caller promises.
        unsafe { free(table) };
        Ok(())
    });
}

/// Adds numbers; NaN is a missing one.
///
/// # Safety
/// `table` is NULL or a table, `name` NULL or a text, and `length` numbers are at `values`.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn provi_table_numbers(
    table: *mut Table,
    name: *const c_char,
    values: *const f64,
    length: usize,
) -> c_int {
    status(|| {
        // SAFETY: as the caller promises.
        let (table, name, values) =
            unsafe { (handle_mut("table", table)?, text("name", name)?, array("values", values, length)?) };
        table.add(name, Values::Numbers(copied("values", values)?))
    })
}

/// Adds whole numbers; the least of them is a missing one.
///
/// # Safety
/// As for [`provi_table_numbers`].
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn provi_table_integers(
    table: *mut Table,
    name: *const c_char,
    values: *const i64,
    length: usize,
) -> c_int {
    status(|| {
        // SAFETY: as the caller promises.
        let (table, name, values) =
            unsafe { (handle_mut("table", table)?, text("name", name)?, array("values", values, length)?) };
        let values = collected("values", values, |(_, &x)| Ok((x != MISSING).then_some(x)))?;
        table.add(name, Values::Integers(values))
    })
}

/// Adds texts, whose levels are sorted; NULL is a missing one.
///
/// # Safety
/// As for [`provi_table_numbers`]; each of the `values` is NULL or a text.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn provi_table_texts(
    table: *mut Table,
    name: *const c_char,
    values: *const *const c_char,
    length: usize,
) -> c_int {
    status(|| {
        // SAFETY: as the caller promises.
        let (table, name, values) = unsafe {
            (handle_mut("table", table)?, text("name", name)?, maybe_texts("values", values, length)?)
        };
        table.add(name, Values::Text(values))
    })
}

/// Adds levels, with an order of their own if `ordered`; a code below 0 is a missing one.
///
/// # Safety
/// As for [`provi_table_numbers`]; `count` texts are at `levels`.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn provi_table_levels(
    table: *mut Table,
    name: *const c_char,
    codes: *const i32,
    length: usize,
    levels: *const *const c_char,
    count: usize,
    ordered: c_int,
) -> c_int {
    status(|| {
        // SAFETY: as the caller promises.
        let (table, name, codes, levels) = unsafe {
            let (table, name) = (handle_mut("table", table)?, text("name", name)?);
            (table, name, array("codes", codes, length)?, texts("levels", levels, count)?)
        };
        let one = |(row, &code): (usize, &i32)| match u32::try_from(code) {
            Ok(level) if level as usize >= count => {
                Err(Refused::Level { column: name.to_owned(), row, code, levels: count })
            }
            level => Ok(level.ok()),
        };
        let codes = collected("codes", codes, one)?;
        table.add(name, Values::Categories { codes, levels, ordered: ordered != 0 })
    })
}

/// The number of rows.
///
/// # Safety
/// `table` is NULL or a table, and a number can be written to `rows`.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn provi_table_rows(table: *const Table, rows: *mut usize) -> c_int {
    status(|| {
        // SAFETY: as the caller promises.
        let found = match unsafe { handle("table", table) }? {
            Table::Columns(columns) => columns.first().map_or(0, |(_, values)| values.len()),
            file => file.table("")?.rows(),
        };
        // SAFETY: as the caller promises.
        unsafe { put("rows", rows, 1, &[found]) }
    })
}

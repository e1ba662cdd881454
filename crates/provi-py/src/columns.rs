//! From columns in Python to a table.

use std::path::PathBuf;

use numpy::PyReadonlyArray1;
use provi_analysis::model::Data;
use provi_table::{Table, Values};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::formula::refuse_table;

/// The source of rows.
#[derive(FromPyObject)]
pub(crate) enum Source<'py> {
    /// The name of a table in messages, and its columns.
    Columns(String, Vec<Column<'py>>),
    /// A file.
    File(PathBuf),
}

/// A name, the type of its values, the values, where they are missing, and the levels of a category.
type Column<'py> =
    (String, String, Bound<'py, PyAny>, Option<PyReadonlyArray1<'py, bool>>, Option<Vec<String>>);

impl Source<'_> {
    /// The rows, ready for a formula.
    pub(crate) fn data(self, formula: &str) -> PyResult<Data> {
        match self {
            Self::File(path) => Data::read(&path).map_err(|error| refuse_table(error, formula)),
            Self::Columns(name, columns) => {
                let typed = columns.into_iter().map(typed).collect::<PyResult<_>>()?;
                let table = Table::from_columns(name, typed).map_err(|error| refuse_table(error, formula))?;
                Ok(Data::from(table))
            }
        }
    }
}

fn typed((name, kind, values, missing, levels): Column<'_>) -> PyResult<(String, Values)> {
    let missing = missing.map(|mask| mask.as_array().to_vec());
    let is_missing =
        |row: usize| missing.as_ref().is_some_and(|mask| mask.get(row).copied().unwrap_or(false));
    let values = match kind.as_str() {
        "numbers" => {
            let entries = array::<f64>(&values)?;
            Values::Numbers(
                entries
                    .into_iter()
                    .enumerate()
                    .map(|(n, x)| if is_missing(n) { f64::NAN } else { x })
                    .collect(),
            )
        }
        "integers" => Values::Integers(optional(array::<i64>(&values)?, is_missing)),
        "booleans" => Values::Booleans(optional(array::<bool>(&values)?, is_missing)),
        "digits" => Values::Digits(values.extract()?),
        "text" => Values::Text(values.extract()?),
        "dates" => Values::Dates(values.extract()?),
        "categories" | "ordered categories" => Values::Categories {
            codes: array::<i64>(&values)?.into_iter().map(|code| u32::try_from(code).ok()).collect(),
            levels: levels.unwrap_or_default(),
            ordered: kind == "ordered categories",
        },
        other => return Err(PyTypeError::new_err(format!("`{other}` is no kind of column"))),
    };
    Ok((name, values))
}

fn array<T: numpy::Element + Copy>(values: &Bound<'_, PyAny>) -> PyResult<Vec<T>> {
    let array: PyReadonlyArray1<'_, T> = values.extract()?;
    Ok(array.as_array().iter().copied().collect())
}

fn optional<T>(values: Vec<T>, is_missing: impl Fn(usize) -> bool) -> Vec<Option<T>> {
    values.into_iter().enumerate().map(|(n, x)| (!is_missing(n)).then_some(x)).collect()
}

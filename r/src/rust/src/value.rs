//! Records as R lists.

use provi::Matrix;
use savvy::{NullSexp, OwnedListSexp, OwnedLogicalSexp, OwnedRealSexp, OwnedStringSexp, Sexp};
use serde::Serialize;
use serde_json::Value;

/// Anything with a record, as nested lists: a list of numbers is a vector, and null in it a missing value.
pub(crate) fn record(value: &impl Serialize) -> savvy::Result<Sexp> {
    to_r(&serde_json::to_value(value).map_err(savvy::Error::new)?)
}

fn to_r(value: &Value) -> savvy::Result<Sexp> {
    Ok(match value {
        Value::Null => NullSexp.into(),
        Value::Bool(flag) => OwnedLogicalSexp::try_from_scalar(*flag)?.into(),
        Value::Number(number) => numbers(&[number.as_f64().unwrap_or(f64::NAN)])?.into(),
        Value::String(text) => OwnedStringSexp::try_from_scalar(text)?.into(),
        Value::Array(values) => array(values)?,
        Value::Object(entries) => {
            let mut out = OwnedListSexp::new(entries.len(), true)?;
            for (i, (name, value)) in entries.iter().enumerate() {
                out.set_value(i, to_r(value)?)?;
                out.set_name(i, name)?;
            }
            out.into()
        }
    })
}

fn array(values: &[Value]) -> savvy::Result<Sexp> {
    let all = |is: fn(&Value) -> bool| !values.is_empty() && values.iter().all(is);
    if all(|value| value.is_number() || value.is_null()) {
        let mut out = OwnedRealSexp::new(values.len())?;
        for (i, value) in values.iter().enumerate() {
            match value.as_f64() {
                Some(x) => out.set_elt(i, x)?,
                None => out.set_na(i)?,
            }
        }
        return Ok(out.into());
    }
    if all(Value::is_string) {
        let texts: Vec<&str> = values.iter().filter_map(Value::as_str).collect();
        return Ok(OwnedStringSexp::try_from_slice(texts)?.into());
    }
    let mut out = OwnedListSexp::new(values.len(), false)?;
    for (i, value) in values.iter().enumerate() {
        out.set_value(i, to_r(value)?)?;
    }
    Ok(out.into())
}

/// Doubles.
pub(crate) fn numbers(values: &[f64]) -> savvy::Result<OwnedRealSexp> {
    OwnedRealSexp::try_from_slice(values)
}

/// Doubles, some of which are missing.
pub(crate) fn maybe_numbers(values: &[Option<f64>]) -> savvy::Result<OwnedRealSexp> {
    let mut out = OwnedRealSexp::new(values.len())?;
    for (i, value) in values.iter().enumerate() {
        match value {
            Some(x) => out.set_elt(i, *x)?,
            None => out.set_na(i)?,
        }
    }
    Ok(out)
}

/// A matrix, which R stores column by column.
pub(crate) fn matrix(matrix: &Matrix) -> savvy::Result<Sexp> {
    let (rows, columns) = (matrix.rows(), matrix.columns());
    let mut out = OwnedRealSexp::new(rows * columns)?;
    let entries = out.as_mut_slice();
    for (i, row) in (0..rows).map(|i| (i, matrix.row(i))) {
        row.iter().enumerate().for_each(|(j, x)| entries[j * rows + i] = *x);
    }
    let size = |n: usize| i32::try_from(n).map_err(|_| savvy::Error::new("R has no matrices of that size"));
    out.set_dim(&[size(rows)?, size(columns)?])?;
    Ok(out.into())
}

/// A named list in the making. R's collector may run at any allocation: what is put into the list is safe from it.
pub(crate) struct List {
    out: OwnedListSexp,
    next: usize,
}

impl List {
    /// Of this many entries.
    pub(crate) fn new(length: usize) -> savvy::Result<Self> {
        Ok(Self { out: OwnedListSexp::new(length, true)?, next: 0 })
    }

    /// The next entry.
    pub(crate) fn put(&mut self, name: &str, value: impl Into<Sexp>) -> savvy::Result<()> {
        self.out.set_value(self.next, value)?;
        self.out.set_name(self.next, name)?;
        self.next += 1;
        Ok(())
    }

    /// The list.
    pub(crate) fn done(self) -> savvy::Result<Sexp> {
        Ok(self.out.into())
    }
}

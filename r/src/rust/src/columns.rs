//! From R vectors to a table.

use provi_table::{Table, Values};
use savvy::{ListSexp, Sexp, TypedSexp};

use crate::error::refuse;

/// R's missing integer, which is also its missing logical.
const MISSING: i32 = i32::MIN;

/// A table from a named list of vectors: doubles, integers, logicals, texts and factors.
pub(crate) fn table(name: &str, columns: &ListSexp, formula: &str) -> savvy::Result<Table> {
    let typed: savvy::Result<Vec<_>> =
        columns.iter().map(|(name, values)| Ok((name.to_owned(), typed(name, values)?))).collect();
    Table::from_columns(name, typed?).map_err(|error| refuse(provi_analysis::Error::table(error, formula)))
}

fn typed(name: &str, values: Sexp) -> savvy::Result<Values> {
    let levels = values.get_attrib("levels")?;
    let classes = values.get_class().unwrap_or_default();
    let is_ordered = classes.contains(&"ordered");
    Ok(match (values.into_typed(), levels) {
        (TypedSexp::Integer(codes), Some(levels)) => {
            let levels = savvy::StringSexp::try_from(levels)?.iter().map(str::to_owned).collect();
            // R counts levels from 1.
            let codes = codes.iter().map(|&code| u32::try_from(code - 1).ok().filter(|_| code != MISSING));
            Values::Categories { codes: codes.collect(), levels, ordered: is_ordered }
        }
        (TypedSexp::Real(numbers), _) => Values::Numbers(numbers.to_vec()),
        (TypedSexp::Integer(numbers), None) => {
            let value = |&x: &i32| (x != MISSING).then_some(i64::from(x));
            Values::Integers(numbers.iter().map(value).collect())
        }
        (TypedSexp::Logical(flags), _) => {
            let value = |&x: &i32| (x != MISSING).then_some(x != 0);
            Values::Booleans(flags.as_slice_raw().iter().map(value).collect())
        }
        (TypedSexp::String(texts), _) => {
            use savvy::NotAvailableValue;
            Values::Text(texts.iter().map(|text| (!text.is_na()).then(|| text.to_owned())).collect())
        }
        _ => {
            return Err(savvy::Error::new(format!(
                "column `{name}` is no vector of numbers, logicals or text, and no factor"
            )));
        }
    })
}

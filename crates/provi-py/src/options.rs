//! From keyword arguments to the options of every shell.
//!
//! The options are those of `provi_analysis::options`: their names, types and error messages are read from there. A
//! keyword is the key of a run file with `_` instead of `-`.

use std::fmt;

use provi_analysis::options::{
    AuditOptions, Layer, ModelOptions, RunOptions, SearchOptions, StepOptions, in_keywords, keys_of,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyString};
use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{Deserialize, Deserializer, Expected, IntoDeserializer, Unexpected, Visitor};
use serde::forward_to_deserialize_any;

/// The options of a run, from keywords. Where the search begins is a separate array.
pub(crate) fn run_options(given: &Bound<'_, PyDict>) -> PyResult<RunOptions> {
    let groups = RunOptions {
        step: take::<StepOptions>(given)?,
        audit: take::<AuditOptions>(given)?,
        search: take::<SearchOptions>(given)?,
        ..RunOptions::default()
    };
    Ok(take::<RunOptions>(given)?.over(groups))
}

/// The options of a model, from keywords.
pub(crate) fn model_options(given: &Bound<'_, PyDict>) -> PyResult<ModelOptions> {
    take(given)
}

/// The keywords of a run.
#[pyfunction]
pub(crate) fn run_keywords() -> Vec<String> {
    let groups = [keys_of::<StepOptions>(), keys_of::<AuditOptions>(), keys_of::<SearchOptions>()];
    // The groups themselves are tables of a run file, not keywords.
    let own = keys_of::<RunOptions>().iter().filter(|key| !["step", "audit"].contains(key));
    own.chain(groups.into_iter().flatten()).map(|key| keyword(key)).collect()
}

/// The keywords of a model; the name of the default prior and the unit of times are only for files.
#[pyfunction]
pub(crate) fn model_keywords() -> Vec<String> {
    let own = keys_of::<ModelOptions>().iter().filter(|key| !["default-prior", "time-unit"].contains(key));
    own.map(|key| keyword(key)).collect()
}

fn keyword(key: &str) -> String {
    key.replace('-', "_")
}

/// A value of a type, from its own keywords; `None` counts as not given.
fn take<T: for<'de> Deserialize<'de>>(given: &Bound<'_, PyDict>) -> PyResult<T> {
    let mut own = Vec::new();
    for key in keys_of::<T>() {
        let name = keyword(key);
        if let Some(value) = given.get_item(&name)?.filter(|value| !value.is_none()) {
            own.push((*key, Value { name, value }));
        }
    }
    T::deserialize(MapDeserializer::new(own.into_iter())).map_err(|Refused(error)| error)
}

/// The value of a keyword.
struct Value<'py> {
    name: String,
    value: Bound<'py, PyAny>,
}

impl Value<'_> {
    fn refuse(&self, needed: &str) -> Refused {
        let shown = self.value.repr().map_or_else(|_| "?".to_owned(), |text| text.to_string());
        Refused(PyTypeError::new_err(format!("{} = {shown}; must be {needed}", self.name)))
    }

    fn number(&self) -> Result<f64, Refused> {
        self.value.extract().map_err(|_| self.refuse("a number"))
    }

    /// A whole number, by the rules of the package's Python half.
    fn whole(&self, most: u64) -> Result<u64, Refused> {
        let rules = self.value.py().import("provi._data").and_then(|module| module.getattr("whole"));
        let checked = rules.and_then(|whole| whole.call1((&self.value, &self.name, most)));
        checked.and_then(|whole| whole.extract()).map_err(Refused)
    }
}

impl<'de, 'py> IntoDeserializer<'de, Refused> for Value<'py> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Value<'_> {
    type Error = Refused;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        match self.value.is_instance_of::<PyString>() {
            true => self.deserialize_string(visitor),
            false => visitor.visit_u64(self.whole(u64::MAX)?),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        visitor.visit_some(self)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        visitor.visit_f64(self.number()?)
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        visitor.visit_u64(self.whole(u64::MAX)?)
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        visitor.visit_u64(self.whole(u32::MAX.into())?)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        match self.value.cast::<PyBool>() {
            Ok(flag) => visitor.visit_bool(flag.is_true()),
            Err(_) => Err(self.refuse("True or False")),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        match self.value.extract() {
            Ok(text) => visitor.visit_string(text),
            Err(_) => Err(self.refuse("a text")),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        self.deserialize_string(visitor)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        let each = self.value.try_iter().map_err(|_| self.refuse("a list"))?;
        let each: PyResult<Vec<_>> =
            each.map(|value| Ok(Value { name: self.name.clone(), value: value? })).collect();
        visitor.visit_seq(SeqDeserializer::new(each.map_err(Refused)?.into_iter()))
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u8 u16 u128 f32 char bytes byte_buf unit unit_struct newtype_struct tuple tuple_struct map
        struct enum identifier ignored_any
    }
}

/// What Python raises: the library's own message as a `ValueError`, a value of another type as a `TypeError`.
#[derive(Debug)]
struct Refused(PyErr);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Refused {}

impl serde::de::Error for Refused {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(PyValueError::new_err(in_keywords(&message.to_string())))
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self(PyTypeError::new_err(format!("{found} was given; must be {expected}")))
    }
}

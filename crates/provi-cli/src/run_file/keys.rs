//! A TOML table whose keys belong to several types: each takes its own, and keys that no type takes are refused
//! with their line.

use std::fmt;

use provi_analysis::options::keys_of;
use serde::de::{Deserialize, DeserializeSeed, Deserializer as _, MapAccess, Visitor};
use toml::Spanned;
use toml::de::{DeTable, DeValue, Deserializer, Error};

pub(super) struct Keys<'a> {
    text: &'a str,
    table: Spanned<DeTable<'a>>,
    /// The keys that have been asked for.
    known: Vec<&'static str>,
}

impl<'a> Keys<'a> {
    pub(super) fn parse(text: &'a str) -> Result<Self, Error> {
        Ok(Self { text, table: DeTable::parse(text)?, known: Vec::new() })
    }

    /// A value of a type, from its own keys.
    pub(super) fn take<T: Deserialize<'a>>(&mut self) -> Result<T, Error> {
        let keys = keys_of::<T>();
        self.known.extend(keys);
        let its: DeTable<'a> =
            keys.iter().filter_map(|key| self.table.get_mut().remove_entry(*key)).collect();
        let its = Spanned::new(self.table.span(), its);
        T::deserialize(Deserializer::from(its)).map_err(|error| self.shown(error))
    }

    /// The keys of an inner table.
    pub(super) fn table(&mut self, key: &'static str) -> Result<Option<Self>, Error> {
        self.known.push(key);
        let Some(value) = self.table.get_mut().remove(key) else { return Ok(None) };
        let span = value.span();
        match value.into_inner() {
            DeValue::Table(table) => {
                Ok(Some(Self { text: self.text, table: Spanned::new(span, table), known: Vec::new() }))
            }
            other => {
                let message = format!("`{key}` is a {}, and must be a table: [{key}]", other.type_str());
                Err(serde::de::Error::custom(message))
            }
        }
    }

    /// Refuses keys that no type took.
    pub(super) fn finish(self) -> Result<(), Error> {
        let (text, known) = (self.text, self.known);
        let refused = Deserializer::from(self.table).deserialize_map(Nothing { known: &known });
        refused.map_err(|error| pointed(error, text))
    }

    fn shown(&self, error: Error) -> Error {
        pointed(error, self.text)
    }
}

/// Adds the line of the error.
fn pointed(mut error: Error, text: &str) -> Error {
    error.set_input(Some(text));
    error
}

/// Accepts no more keys: the first one is the error, at its place in the file.
#[derive(Clone, Copy)]
struct Nothing<'k> {
    known: &'k [&'static str],
}

impl<'de> Visitor<'de> for Nothing<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no more keys")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        map.next_key_seed(self).map(drop)
    }
}

impl<'de> DeserializeSeed<'de> for Nothing<'_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, key: D) -> Result<(), D::Error> {
        let (key, known) = (String::deserialize(key)?, self.known.join("`, `"));
        Err(serde::de::Error::custom(format!("unknown field `{key}`, expected one of `{known}`")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use provi_analysis::options::{AuditOptions, StepOptions};

    fn read(text: &str) -> Result<(StepOptions, AuditOptions), Error> {
        let mut keys = Keys::parse(text)?;
        let both = (keys.take()?, keys.take()?);
        keys.finish()?;
        Ok(both)
    }

    #[test]
    fn each_type_takes_its_own_keys() {
        let (step, audit) = read("accuracy = 0.5\ndraws = 3\naudit-draws = 9\n").unwrap();
        assert_eq!((step.draws, audit.accuracy, audit.audit_draws), (Some(3), Some(0.5), Some(9)));
    }

    #[test]
    fn what_is_wrong_is_pointed_at() {
        let refused = |text: &str| read(text).unwrap_err().to_string();
        let unknown = refused("draws = 3\n\nspeed = 1\n");
        assert!(
            unknown.contains("line 3, column 1") && unknown.contains("unknown field `speed`"),
            "{unknown}"
        );
        assert!(unknown.contains("`draws`") && unknown.contains("`accuracy`"), "{unknown}");
        let typed = refused("draws = 3\naccuracy = 'high'\n");
        assert!(typed.contains("line 2, column 12"), "{typed}");
        let named = refused("coordinates = 'polar'\n");
        assert!(named.contains("line 1") && named.contains("original, curvature, laplace"), "{named}");
    }
}

//! The keys of a type, found from the type itself.

use serde::de::value::Error;
use serde::de::{Deserialize, Deserializer, Visitor};
use serde::forward_to_deserialize_any;

/// The keys of a struct. A reader that fills several structs from one table gives each its own keys.
///
/// ```
/// use provi_analysis::options::{AuditOptions, keys_of};
///
/// let keys = ["accuracy", "kl", "table-accuracy", "failure-probability", "audit-draws"];
/// assert_eq!(keys_of::<AuditOptions>(), keys);
/// ```
pub fn keys_of<'de, T: Deserialize<'de>>() -> &'static [&'static str] {
    let mut found: &'static [&'static str] = &[];
    // Reads no value: a struct asks for its keys first, and they are recorded.
    let _: Result<T, Error> = T::deserialize(Listener(&mut found));
    found
}

struct Listener<'a>(&'a mut &'static [&'static str]);

impl<'de> Deserializer<'de> for Listener<'_> {
    type Error = Error;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Error> {
        *self.0 = fields;
        Err(nothing())
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        Err(nothing())
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

fn nothing() -> Error {
    serde::de::Error::custom("only the keys are asked for")
}

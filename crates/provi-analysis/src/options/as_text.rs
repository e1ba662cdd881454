//! Options that files store as the same text that the command line reads.

use std::fmt::Display;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serializer, de::Error};

/// `#[serde(with = "as_text")]`: a value stored through its `Display` and `FromStr`.
pub(super) fn serialize<T: Display, S: Serializer>(value: &Option<T>, to: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => to.collect_str(value),
        None => to.serialize_none(),
    }
}

pub(super) fn deserialize<'de, T, D>(from: D) -> Result<Option<T>, D::Error>
where
    T: FromStr<Err: Display>,
    D: Deserializer<'de>,
{
    let text = String::deserialize(from)?;
    text.parse().map(Some).map_err(D::Error::custom)
}

/// The same for whole types.
macro_rules! as_text {
    ($($spec:ident),+) => {$(
        impl From<$spec> for String {
            fn from(spec: $spec) -> Self {
                spec.to_string()
            }
        }

        impl TryFrom<String> for $spec {
            type Error = String;

            fn try_from(text: String) -> Result<Self, String> {
                text.parse()
            }
        }
    )+};
}
pub(super) use as_text;

//! From named arguments to the options of every shell.
//!
//! The options are those of `provi_analysis::options`: their names, types and error messages are read from there. An argument is the
//! key of a run file with `_` instead of `-`.

use std::fmt;

use provi_analysis::options::{
    AuditOptions, Layer, ModelOptions, RunOptions, SearchOptions, StepOptions, in_keywords, keys_of,
};
use savvy::{ListSexp, OwnedStringSexp, Sexp, TypedSexp, savvy};
use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{Deserialize, Deserializer, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;

/// The options of a run.
pub(crate) fn run_options(given: &ListSexp) -> savvy::Result<RunOptions> {
    let groups = RunOptions {
        step: take::<StepOptions>(given)?,
        audit: take::<AuditOptions>(given)?,
        search: take::<SearchOptions>(given)?,
        ..RunOptions::default()
    };
    Ok(take::<RunOptions>(given)?.over(groups))
}

/// The options of a model.
pub(crate) fn model_options(given: &ListSexp) -> savvy::Result<ModelOptions> {
    take(given)
}

// The arguments that are options of a run, then those of a model, which the R half does not set itself.
#[savvy]
fn native_keywords() -> savvy::Result<Sexp> {
    let groups = [keys_of::<StepOptions>(), keys_of::<AuditOptions>(), keys_of::<SearchOptions>()];
    // The groups themselves are tables of a run file, and the columns and levels are R's own.
    let own = keys_of::<RunOptions>().iter().filter(|key| !["step", "audit"].contains(key));
    let of_r = ["default-prior", "weights", "offset", "exposure", "reference", "missing", "na", "family"];
    let model = keys_of::<ModelOptions>().iter().filter(|key| !of_r.contains(key));
    let all = own.chain(groups.into_iter().flatten()).chain(model).map(|key| keyword(key));
    Ok(OwnedStringSexp::try_from_slice(all.collect::<Vec<_>>())?.into())
}

fn keyword(key: &str) -> String {
    key.replace('-', "_")
}

/// A value of a type, from its own arguments; NULL counts as not given.
fn take<T: for<'de> Deserialize<'de>>(given: &ListSexp) -> savvy::Result<T> {
    let mut own = Vec::new();
    for key in keys_of::<T>() {
        let name = keyword(key);
        if let Some(value) = given.get(&name).filter(|value| !value.is_null()) {
            own.push((*key, Given { value: Value::of(value), name }));
        }
    }
    T::deserialize(MapDeserializer::new(own.into_iter()))
        .map_err(|Refused(message)| savvy::Error::new(message))
}

/// The value of an argument.
struct Given {
    name: String,
    value: Value,
}

enum Value {
    Numbers(Vec<f64>),
    /// One of several, where some options want numbers, such as gaps, and some want texts: a scale without its group is spelled.
    Entry(f64),
    Texts(Vec<String>),
    Flags(Vec<i32>),
    Other(&'static str),
}

impl Value {
    fn of(value: Sexp) -> Self {
        let kind = value.get_human_readable_type_name();
        match value.into_typed() {
            TypedSexp::Real(numbers) => Self::Numbers(numbers.to_vec()),
            TypedSexp::Integer(numbers) => {
                let number = |&x: &i32| if x == i32::MIN { f64::NAN } else { f64::from(x) };
                Self::Numbers(numbers.iter().map(number).collect())
            }
            TypedSexp::String(texts) => Self::Texts(texts.iter().map(str::to_owned).collect()),
            TypedSexp::Logical(flags) => Self::Flags(flags.as_slice_raw().to_vec()),
            _ => Self::Other(kind),
        }
    }

    fn shown(&self) -> String {
        fn all<T>(values: &[T], one: impl Fn(&T) -> String) -> String {
            match values {
                [only] => one(only),
                values => format!("c({})", values.iter().map(one).collect::<Vec<_>>().join(", ")),
            }
        }
        match self {
            Self::Numbers(numbers) => all(numbers, ToString::to_string),
            Self::Entry(number) => number.to_string(),
            Self::Texts(texts) => all(texts, |text| format!("\"{text}\"")),
            Self::Flags(flags) => all(flags, |flag| match *flag {
                0 => "FALSE".to_owned(),
                i32::MIN => "NA".to_owned(),
                _ => "TRUE".to_owned(),
            }),
            Self::Other(kind) => format!("a {kind}"),
        }
    }
}

impl Given {
    fn refuse(&self, needed: &str) -> Refused {
        Refused(format!("{} = {}; must be {needed}", self.name, self.value.shown()))
    }

    fn number(&self) -> Result<f64, Refused> {
        match self.value {
            Value::Numbers(ref numbers) if numbers.len() == 1 => Ok(numbers[0]),
            Value::Entry(number) => Ok(number),
            _ => Err(self.refuse("one number")),
        }
    }

    /// Beyond 2⁵³ a double is no longer one whole number.
    fn whole(&self, most: f64) -> Result<u64, Refused> {
        let most = most.min(9_007_199_254_740_992.0);
        match self.number()? {
            x if x.fract() == 0.0 && (0.0..=most).contains(&x) => Ok(x as u64),
            _ => Err(self.refuse(&format!("a whole number from 0 to {most}"))),
        }
    }
}

impl<'de> IntoDeserializer<'de, Refused> for Given {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Given {
    type Error = Refused;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        match self.value {
            Value::Texts(_) | Value::Entry(_) => self.deserialize_string(visitor),
            _ => visitor.visit_u64(self.whole(f64::INFINITY)?),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        visitor.visit_some(self)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        visitor.visit_f64(self.number()?)
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        visitor.visit_u64(self.whole(f64::INFINITY)?)
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        visitor.visit_u64(self.whole(u32::MAX.into())?)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        match self.value {
            Value::Flags(ref flags) if matches!(flags[..], [0 | 1]) => visitor.visit_bool(flags[0] == 1),
            _ => Err(self.refuse("TRUE or FALSE")),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        match self.value {
            Value::Texts(ref texts) if texts.len() == 1 => visitor.visit_string(texts[0].clone()),
            Value::Entry(number) => visitor.visit_string(number.to_string()),
            _ => Err(self.refuse("one text")),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        self.deserialize_string(visitor)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        let entries: Vec<Value> = match self.value {
            Value::Texts(ref texts) => texts.iter().map(|text| Value::Texts(vec![text.clone()])).collect(),
            Value::Numbers(ref numbers) => numbers.iter().copied().map(Value::Entry).collect(),
            _ => return Err(self.refuse("numbers or texts")),
        };
        let one = |value| Given { name: self.name.clone(), value };
        visitor.visit_seq(SeqDeserializer::new(entries.into_iter().map(one)))
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u8 u16 u128 f32 char bytes byte_buf unit unit_struct newtype_struct tuple tuple_struct map
        struct enum identifier ignored_any
    }
}

/// What R says about a value.
#[derive(Debug)]
struct Refused(String);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Refused {}

impl serde::de::Error for Refused {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(in_keywords(&message.to_string()))
    }
}

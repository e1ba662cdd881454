//! Mirrors: types of the library as keys of fit.json.
//!
//! A type of the library may change; a key of fit.json may not. So no type of the library is written directly: each
//! type that the file stores has a mirror here, whose fields are the keys. Writing copies a value into its mirror
//! field by field. Reading fills the mirror and hands it to the library's own reader, because only the library may
//! make a statement about a posterior.

mod certificate;
mod checks;
mod functional;
mod plan;

pub(super) use certificate::CertificateKeys;
pub(super) use checks::ChecksKeys;
pub(super) use functional::{FunctionalKeys, MomentBoundsKeys, PosteriorKeys};
pub(super) use plan::{NormKey, ProvenanceKey, SubsampleKeys};

use std::marker::PhantomData;

use serde::de::{DeserializeOwned, Error as _};
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The keys of a type of the library.
pub(super) trait Mirror: Serialize + DeserializeOwned {
    /// The library's type.
    type Of: DeserializeOwned;

    /// The mirror of a value; an error if the file has no word for it.
    fn of(value: &Self::Of) -> Result<Self, String>;

    /// The value that the mirror describes.
    fn back(self) -> Result<Self::Of, String> {
        let keys = serde_json::to_value(self).map_err(|error| error.to_string())?;
        serde_json::from_value(keys).map_err(|error| error.to_string())
    }
}

/// `#[serde(with = "As::<Keys>")]`: a field of the library's type, stored as its mirror.
pub(super) struct As<M>(PhantomData<M>);

impl<M: Mirror> As<M> {
    pub(super) fn serialize<S: Serializer>(value: &M::Of, to: S) -> Result<S::Ok, S::Error> {
        M::of(value).map_err(S::Error::custom)?.serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<M::Of, D::Error> {
        M::deserialize(from)?.back().map_err(D::Error::custom)
    }
}

/// The same for a field that may be empty.
pub(super) struct AsOption<M>(PhantomData<M>);

impl<M: Mirror> AsOption<M> {
    pub(super) fn serialize<S: Serializer>(value: &Option<M::Of>, to: S) -> Result<S::Ok, S::Error> {
        value.as_ref().map(M::of).transpose().map_err(S::Error::custom)?.serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<M::Of>, D::Error> {
        Option::<M>::deserialize(from)?.map(M::back).transpose().map_err(D::Error::custom)
    }
}

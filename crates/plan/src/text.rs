//! The form in result files of bytes and numbers that JSON cannot represent.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Bytes: text if they are UTF-8, otherwise base64.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Text {
    /// Bytes that are UTF-8.
    Plain(String),
    /// Bytes that are not UTF-8.
    Encoded {
        /// The bytes in base64 (RFC 4648, section 4).
        base64: String,
    },
}

impl Text {
    fn of(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::Plain(text.to_owned()),
            Err(_) => Self::Encoded { base64: STANDARD.encode(bytes) },
        }
    }

    fn bytes(self) -> Result<Vec<u8>, base64::DecodeError> {
        match self {
            Self::Plain(text) => Ok(text.into_bytes()),
            Self::Encoded { base64 } => STANDARD.decode(base64),
        }
    }
}

pub(crate) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    Text::of(bytes).serialize(serializer)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    Text::deserialize(deserializer)?.bytes().map_err(D::Error::custom)
}

/// Lists of byte strings.
pub(crate) mod list {
    use super::{Deserialize, Deserializer, Error, Serialize, Serializer, Text};

    pub(crate) fn serialize<S: Serializer>(list: &[Vec<u8>], serializer: S) -> Result<S::Ok, S::Error> {
        list.iter().map(|bytes| Text::of(bytes)).collect::<Vec<Text>>().serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Vec<u8>>, D::Error> {
        let list = Vec::<Text>::deserialize(deserializer)?;
        list.into_iter().map(|text| text.bytes().map_err(D::Error::custom)).collect()
    }
}

/// Lists of byte strings with at least one element.
pub(crate) mod non_empty_list {
    use super::{Deserializer, Error, Serializer, list};
    use crate::NonEmpty;

    pub(crate) fn serialize<S: Serializer>(
        uris: &NonEmpty<Vec<u8>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        list::serialize(uris, serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<NonEmpty<Vec<u8>>, D::Error> {
        list::deserialize(deserializer)?.try_into().map_err(D::Error::custom)
    }
}

/// Paths, which need not be UTF-8.
pub(crate) mod path {
    use super::{
        Deserialize, Deserializer, Error, OsStr, OsStrExt, OsString, OsStringExt, Path, PathBuf, Serialize,
        Serializer, Text,
    };

    pub(crate) fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
        Text::of(OsStr::as_bytes(path.as_os_str())).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
        let bytes = Text::deserialize(deserializer)?.bytes().map_err(D::Error::custom)?;
        Ok(PathBuf::from(OsString::from_vec(bytes)))
    }
}

/// Optional paths.
pub(crate) mod optional_path {
    use super::{Deserialize, Deserializer, PathBuf, Serialize, Serializer, path};

    #[derive(Serialize, Deserialize)]
    struct Named(#[serde(with = "path")] PathBuf);

    #[expect(clippy::ref_option, reason = "serde calls it so")]
    pub(crate) fn serialize<S: Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
        path.clone().map(Named).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<PathBuf>, D::Error> {
        Ok(Option::<Named>::deserialize(deserializer)?.map(|named| named.0))
    }
}

/// Real numbers, with infinities and NaN as words.
pub(crate) mod real {
    use super::{Deserialize, Deserializer, JsonSchema, Serialize, Serializer};

    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(untagged)]
    pub(crate) enum Real {
        Finite(f64),
        Other(Word),
    }

    #[derive(Serialize, Deserialize, JsonSchema)]
    pub(crate) enum Word {
        #[serde(rename = "infinite")]
        Infinite,
        #[serde(rename = "-infinite")]
        NegativeInfinite,
        #[serde(rename = "none")]
        NotANumber,
    }

    pub(crate) fn serialize<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        let real = match *number {
            finite if finite.is_finite() => Real::Finite(finite),
            f64::INFINITY => Real::Other(Word::Infinite),
            f64::NEG_INFINITY => Real::Other(Word::NegativeInfinite),
            _ => Real::Other(Word::NotANumber),
        };
        real.serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        Ok(match Real::deserialize(deserializer)? {
            Real::Finite(number) => number,
            Real::Other(Word::Infinite) => f64::INFINITY,
            Real::Other(Word::NegativeInfinite) => f64::NEG_INFINITY,
            Real::Other(Word::NotANumber) => f64::NAN,
        })
    }
}

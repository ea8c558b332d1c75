//! Reasons why connections fail, in the classes of the classic report.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::merge::merge_fields;

/// Reason for a failed connection. A failed connection is one failure, regardless of the number of calls it
/// carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// A client time limit expired, in any phase.
    ClientTimeout,
    /// The kernel's time limit expired (`ETIMEDOUT`).
    SocketTimeout,
    /// No listener at the port (`ECONNREFUSED`).
    Refused,
    /// Reset, or closed while a reply was due (`ECONNRESET`, `EPIPE`, end of stream).
    Reset,
    /// The process has no file descriptors left (`EMFILE`).
    FdUnavailable,
    /// No local address or port is available (`EADDRNOTAVAIL`).
    AddressUnavailable,
    /// The system's file table is full (`ENFILE`).
    FileTableFull,
    /// Any other system error, or an unintelligible reply.
    Other,
}

impl Failure {
    /// All classes, in the order of [`Errors`].
    pub const ALL: [Self; 8] = [
        Self::ClientTimeout,
        Self::SocketTimeout,
        Self::Refused,
        Self::Reset,
        Self::FdUnavailable,
        Self::AddressUnavailable,
        Self::FileTableFull,
        Self::Other,
    ];
}

/// Name of the class in the classic report.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ClientTimeout => "client-timo",
            Self::SocketTimeout => "socket-timo",
            Self::Refused => "connrefused",
            Self::Reset => "connreset",
            Self::FdUnavailable => "fd-unavail",
            Self::AddressUnavailable => "addrunavail",
            Self::FileTableFull => "ftab-full",
            Self::Other => "other",
        })
    }
}

/// Failed connections by class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Errors {
    counts: [u64; Failure::ALL.len()],
}

impl Errors {
    /// Counts one failed connection.
    pub fn add(&mut self, failure: Failure) {
        self.counts[failure as usize] += 1;
    }

    /// Failed connections of one class.
    #[must_use]
    pub fn count(&self, failure: Failure) -> u64 {
        self.counts[failure as usize]
    }

    /// Failed connections of all classes.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }
}

merge_fields!(Errors {
    add: counts;
});

/// Serializes as an object with the classes that occurred, keyed by their names in the report.
impl Serialize for Errors {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let classes = Failure::ALL.into_iter().filter(|&failure| self.count(failure) > 0);
        serializer.collect_map(classes.map(|failure| (failure.to_string(), self.count(failure))))
    }
}

impl<'de> Deserialize<'de> for Errors {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut errors = Self::default();
        for (name, count) in BTreeMap::<String, u64>::deserialize(deserializer)? {
            let failure = Failure::ALL.into_iter().find(|failure| failure.to_string() == name);
            let failure =
                failure.ok_or_else(|| D::Error::custom(format!("unknown class of errors `{name}`")))?;
            errors.counts[failure as usize] = count;
        }
        Ok(errors)
    }
}

impl JsonSchema for Errors {
    fn schema_name() -> Cow<'static, str> {
        "Errors".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<String> = Failure::ALL.iter().map(ToString::to_string).collect();
        schemars::json_schema!({
            "description": "Failed connections by class; classes without one are left out.",
            "type": "object",
            "propertyNames": { "enum": names },
            "additionalProperties": { "type": "integer", "minimum": 0 },
        })
    }
}

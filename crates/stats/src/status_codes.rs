//! Replies by status code.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::merge::merge_fields;

/// Lowest status code counted.
const FIRST: u16 = 100;

/// Number of status codes: 100 to 999.
const CODES: usize = 900;

/// Complete replies by status code, 100 to 999.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusCodes {
    // Room for every code, so that counting a reply never allocates.
    counts: Box<[u64; CODES]>,
}

impl Default for StatusCodes {
    fn default() -> Self {
        Self { counts: Box::new([0; CODES]) }
    }
}

impl StatusCodes {
    /// Counts one reply with this status, 100 to 999.
    pub(crate) fn add(&mut self, status: u16) {
        self.counts[usize::from(status - FIRST)] += 1;
    }

    /// Codes that occurred with their counts, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (u16, u64)> + '_ {
        (FIRST..).zip(self.counts.iter().copied()).filter(|&(_, count)| count > 0)
    }

    /// Counts by class, 1xx to 5xx.
    #[must_use]
    pub fn by_class(&self) -> [u64; 5] {
        let mut classes = [0; 5];
        self.iter().for_each(|(code, count)| classes[class_of(code)] += count);
        classes
    }
}

merge_fields!(StatusCodes {
    add: counts;
});

/// Returns the class of a status from 0 for 1xx to 4 for 5xx. Statuses from 600 on are among the latter.
///
/// <https://www.rfc-editor.org/rfc/rfc9110#section-15>
pub(crate) fn class_of(status: u16) -> usize {
    usize::from(status / 100).clamp(1, 5) - 1
}

/// Serializes as an object with the codes that occurred.
impl Serialize for StatusCodes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter().map(|(code, count)| (code.to_string(), count)))
    }
}

impl<'de> Deserialize<'de> for StatusCodes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut codes = Self::default();
        for (code, count) in BTreeMap::<String, u64>::deserialize(deserializer)? {
            let index = code.parse::<u16>().ok().and_then(|code| code.checked_sub(FIRST)).map(usize::from);
            let own = index.and_then(|index| codes.counts.get_mut(index));
            *own.ok_or_else(|| {
                D::Error::custom(format!("expected statuses from 100 to 999, got `{code}`"))
            })? = count;
        }
        Ok(codes)
    }
}

impl JsonSchema for StatusCodes {
    fn schema_name() -> Cow<'static, str> {
        "StatusCodes".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({
            "description": "Complete replies by status code; codes that did not occur are left out.",
            "type": "object",
            "propertyNames": { "pattern": "^[1-9][0-9][0-9]$" },
            "additionalProperties": { "type": "integer", "minimum": 0 },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merge::Merge as _;

    #[test]
    fn codes_are_counted_merged_and_written_by_number() {
        let mut codes = StatusCodes::default();
        [200, 503, 200, 100, 999].into_iter().for_each(|code| codes.add(code));
        let mut both = codes.clone();
        both.merge(&codes);
        assert_eq!(both.iter().collect::<Vec<_>>(), [(100, 2), (200, 4), (503, 2), (999, 2)]);
        assert_eq!(both.by_class(), [2, 4, 0, 0, 4]);
        let json = serde_json::to_string(&codes).unwrap();
        assert_eq!(json, r#"{"100":1,"200":2,"503":1,"999":1}"#);
        assert_eq!(serde_json::from_str::<StatusCodes>(&json).unwrap(), codes);
    }

    #[test]
    fn what_is_no_status_is_refused() {
        for code in ["99", "1000", "x", "-200", "70000"] {
            let error = serde_json::from_str::<StatusCodes>(&format!(r#"{{"{code}": 1}}"#)).unwrap_err();
            assert!(error.to_string().contains("expected statuses from 100 to 999"), "{error}");
        }
    }
}

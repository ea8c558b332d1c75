//! Durations saved as whole nanoseconds. One beyond 64 bits (584 years) is saved as the maximum and read as for ever.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub(crate) fn serialize<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    whole(*duration).serialize(serializer)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    Ok(duration(u64::deserialize(deserializer)?))
}

fn whole(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

fn duration(nanos: u64) -> Duration {
    if nanos == u64::MAX { Duration::MAX } else { Duration::from_nanos(nanos) }
}

/// Optional durations.
pub(crate) mod option {
    use super::{Deserialize, Deserializer, Duration, Serialize, Serializer, duration, whole};

    #[expect(clippy::ref_option, reason = "serde calls it so")]
    pub(crate) fn serialize<S: Serializer>(
        limit: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        limit.map(whole).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        Ok(Option::<u64>::deserialize(deserializer)?.map(duration))
    }
}

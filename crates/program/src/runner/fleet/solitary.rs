//! Starts at a time of day, for processes that do not meet.

use std::time::Duration;

use anyhow::bail;
use chrono::{DateTime, FixedOffset, SecondsFormat, Utc};
use httperf_command_line::values::SECONDS_MAX;
use httperf_engine::{Agreement, StopRequest};
use httperf_stats::Instant;

/// The start at a time of day (`--start-at`).
#[derive(Debug)]
pub(crate) struct AtTime {
    at: Instant,
}

impl AtTime {
    /// The start at this time, which is to come.
    ///
    /// # Errors
    /// If it is over, or too far away to be waited for.
    pub(crate) fn new(time: DateTime<FixedOffset>) -> anyhow::Result<Self> {
        let now = httperf_fleet::now();
        let at = (time.to_utc() - DateTime::<Utc>::UNIX_EPOCH).to_std().unwrap_or_default();
        let Some(ahead) = at.checked_sub(now.wall) else {
            let given = time.to_rfc3339_opts(SecondsFormat::AutoSi, true);
            let since = (now.wall.saturating_sub(at)).as_secs();
            bail!("--start-at: expected a time to come, got {given}, which was {since} s ago");
        };
        if ahead > Duration::from_secs(SECONDS_MAX.into()) {
            let given = time.to_rfc3339_opts(SecondsFormat::AutoSi, true);
            let years = SECONDS_MAX / (365 * 86_400);
            bail!("--start-at: expected a time within the next {years} years, got {given}");
        }
        let start = now.clock.saturating_add(ahead);
        Ok(Self { at: Instant::from_nanos(u64::try_from(start.as_nanos()).unwrap_or(u64::MAX)) })
    }
}

impl Agreement for AtTime {
    fn start(&self, stop: &StopRequest) -> Option<Instant> {
        (!stop.is_asked()).then_some(self.at)
    }
}

//! A point in time of a run.

use std::ops::{Add, Sub};
use std::time::Duration;

/// Nanoseconds since an origin chosen by the run's clock, which may be monotonic or virtual.
///
/// Takes 8 bytes instead of the 16 of `std::time::Instant`, and tests can construct it. Differences saturate
/// at zero, sums at the maximum (584 years).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instant(u64);

impl Instant {
    /// Returns the instant this many nanoseconds after the origin.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the origin.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }
}

impl Sub for Instant {
    type Output = Duration;

    fn sub(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(crate::nanos::whole(duration)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_and_sums_saturate() {
        let (early, late) = (Instant::from_nanos(5), Instant::from_nanos(1_000_000_005));
        assert_eq!(late - early, Duration::from_secs(1));
        assert_eq!(early - late, Duration::ZERO);
        assert_eq!(early + Duration::from_secs(1), late);
        assert_eq!(late + Duration::MAX, Instant::from_nanos(u64::MAX));
    }
}

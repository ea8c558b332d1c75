//! Service times by the kernel's clock, for calls whose requests it was asked to stamp.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Timing;
use crate::merge::merge_fields;

/// Times of one such call by the kernel's clock, as far as they are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelTimes {
    /// From the write of the last bytes of the request to their departure from this machine.
    pub send_lag: Option<Duration>,
    /// From then to the arrival of the segment that completed the reply.
    pub service: Option<Duration>,
}

/// Times of all such calls that were answered, by the kernel's clock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KernelFigures {
    /// From the write of the last bytes of a request to the instant at which the kernel passed them to the
    /// device.
    pub send_lag: Timing,
    /// From then to the kernel's receipt of the segment that completed the reply.
    pub service: Timing,
    /// Complete replies without a known service time.
    pub unstamped: u64,
}

impl KernelFigures {
    /// Records a complete reply to a call whose request was to be stamped.
    pub(crate) fn add(&mut self, times: KernelTimes) {
        if let Some(send_lag) = times.send_lag {
            self.send_lag.add(send_lag);
        }
        match times.service {
            Some(service) => self.service.add(service),
            None => self.unstamped += 1,
        }
    }

    /// Share of these replies with a known service time; `None` if there are none.
    #[must_use]
    pub fn share_stamped(&self) -> Option<f64> {
        let stamped = self.service.moments.count();
        let replies = stamped + self.unstamped;
        (replies > 0).then(|| stamped as f64 / replies as f64)
    }
}

merge_fields!(KernelFigures {
    add: send_lag, service, unstamped;
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merge::Merge as _;

    #[test]
    fn known_times_are_added_and_missing_ones_counted() {
        let us = |us| Some(Duration::from_micros(us));
        let mut one = KernelFigures::default();
        assert_eq!(one.share_stamped(), None);
        one.add(KernelTimes { send_lag: us(2), service: us(70) });
        one.add(KernelTimes { send_lag: us(3), service: None });
        one.add(KernelTimes::default());
        let mut other = KernelFigures::default();
        other.add(KernelTimes { send_lag: us(4), service: us(90) });
        one.merge(&other);
        assert_eq!((one.send_lag.moments.count(), one.service.moments.count(), one.unstamped), (3, 2, 2));
        assert_eq!((one.service.moments.max(), one.share_stamped()), (0.000_09, Some(0.5)));
    }
}

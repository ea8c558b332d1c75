//! Service as the kernel saw it, of calls whose requests it was asked to stamp.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Timing;

/// The kernel's times of one such call, as far as they are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelTimes {
    /// From the write of the last bytes of its request to their leaving this machine.
    pub send_lag: Option<Duration>,
    /// From then to the arrival of the segment that completed its reply.
    pub service: Option<Duration>,
}

/// The kernel's times of all of them that were answered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KernelFigures {
    /// From the writes of the last bytes of requests to the instants at which the kernel gave these to the device.
    pub send_lag: Timing,
    /// From then to its receipt of the segments that completed the replies.
    pub service: Timing,
    /// Complete replies of which that is not known.
    pub unstamped: u64,
}

impl KernelFigures {
    /// A reply is complete to a call whose request was to be stamped.
    pub(crate) fn add(&mut self, times: KernelTimes) {
        if let Some(send_lag) = times.send_lag {
            self.send_lag.add(send_lag);
        }
        match times.service {
            Some(service) => self.service.add(service),
            None => self.unstamped += 1,
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.send_lag.merge(&other.send_lag);
        self.service.merge(&other.service);
        self.unstamped += other.unstamped;
    }

    /// The share of these replies of which it is known; `None` without any.
    #[must_use]
    pub fn share_stamped(&self) -> Option<f64> {
        let stamped = self.service.moments.count();
        let replies = stamped + self.unstamped;
        (replies > 0).then(|| stamped as f64 / replies as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_of_a_call_is_added_and_what_is_not_is_counted() {
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

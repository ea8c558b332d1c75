//! How long replies lay in this machine before they were read.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Timing;

/// How long replies lay in this machine before they were read, as far as the kernel stamped them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReceiveFigures {
    /// From the kernel's receipt of the segment that completed a reply to the instant at which it counts as read. Of
    /// replies that were read together, it is that of the last.
    pub lag: Timing,
    /// Complete replies of which it is not known.
    pub unstamped: u64,
    /// How often the wall clock was set while the run went on, by which the kernel stamps. Of several workers or
    /// machines, what one of them saw at most.
    pub clock_steps: u64,
}

impl ReceiveFigures {
    /// A reply is complete that lay there for so long, if that is known.
    pub(crate) fn add(&mut self, lag: Option<Duration>) {
        match lag {
            Some(lag) => self.lag.add(lag),
            None => self.unstamped += 1,
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.lag.merge(&other.lag);
        self.unstamped += other.unstamped;
        self.clock_steps = self.clock_steps.max(other.clock_steps);
    }

    /// The share of complete replies of which it is known; `None` without replies.
    #[must_use]
    pub fn share_stamped(&self) -> Option<f64> {
        let stamped = self.lag.moments.count();
        let replies = stamped + self.unstamped;
        (replies > 0).then(|| stamped as f64 / replies as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(lags: &[u64], unstamped: u64, clock_steps: u64) -> ReceiveFigures {
        let mut figures = ReceiveFigures { clock_steps, ..ReceiveFigures::default() };
        lags.iter().for_each(|&us| figures.add(Some(Duration::from_micros(us))));
        (0..unstamped).for_each(|_| figures.add(None));
        figures
    }

    #[test]
    fn parts_add_up_exactly_in_any_order() {
        let parts = [figures(&[5, 9, 1200], 2, 0), figures(&[], 7, 3), figures(&[6], 0, 1)];
        for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
            let mut all = ReceiveFigures::default();
            order.iter().for_each(|&part| all.merge(&parts[part]));
            assert_eq!(all, figures(&[5, 6, 9, 1200], 9, 3));
        }
    }

    #[test]
    fn replies_without_a_stamp_have_no_lag_and_a_share() {
        assert_eq!(ReceiveFigures::default().share_stamped(), None);
        assert_eq!(figures(&[5, 9, 12], 1, 0).share_stamped(), Some(0.75));
        assert_eq!(figures(&[], 4, 0).share_stamped(), Some(0.0));
    }
}

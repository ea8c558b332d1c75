//! Receive lag: time between the kernel's receipt of a reply and the program's read.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Timing;
use crate::merge::merge_fields;

/// Receive lag of the replies that the kernel stamped. In a closed loop by the program's clock it is asked of one read in 16.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReceiveFigures {
    /// From the kernel's receipt of the segment that completed a reply to the instant at which the reply
    /// counts as read. Replies read together share the lag of the last.
    pub lag: Timing,
    /// Complete replies for which the kernel was asked and had no stamp.
    pub unstamped: u64,
    /// Complete replies that the generator left unread until the next arrival, as nothing waited for them.
    #[serde(default)]
    pub read_late: u64,
    /// Number of times the wall clock, which the kernel's stamps use, was set during the run. Of several
    /// workers or machines, the largest number.
    pub clock_steps: u64,
}

impl ReceiveFigures {
    /// Share of replies with a known lag among those for which the kernel was asked; `None` if it was asked for none.
    #[must_use]
    pub fn share_stamped(&self) -> Option<f64> {
        let stamped = self.lag.moments.count();
        let replies = stamped + self.unstamped;
        (replies > 0).then(|| stamped as f64 / replies as f64)
    }
}

merge_fields!(ReceiveFigures {
    add: lag, unstamped, read_late;
    max: clock_steps;
});

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::merge::Merge as _;

    fn figures(lags: &[u64], unstamped: u64, clock_steps: u64) -> ReceiveFigures {
        let mut figures = ReceiveFigures { clock_steps, ..ReceiveFigures::default() };
        lags.iter().for_each(|&us| figures.lag.add(Duration::from_micros(us)));
        figures.unstamped = unstamped;
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

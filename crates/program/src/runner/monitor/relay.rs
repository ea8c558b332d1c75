//! Takes the seconds of a part of a run to where the whole is watched.

use std::fmt;
use std::sync::Arc;

use httperf_stats::{Interval, Series};

use super::{Consumer, WatchOutcome};

/// Takes the seconds of a part of a run somewhere else. May not wait.
#[derive(Clone)]
pub(crate) struct Relay(Arc<dyn Fn(&Interval) + Send + Sync>);

impl Relay {
    pub(crate) fn new(send: impl Fn(&Interval) + Send + Sync + 'static) -> Self {
        Self(Arc::new(send))
    }
}

impl fmt::Debug for Relay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Relay(…)")
    }
}

pub(super) struct Relaying(pub(super) Relay);

impl Consumer for Relaying {
    fn interval(&mut self, interval: &Interval) {
        (self.0.0)(interval);
    }

    fn partial_interval(&mut self, interval: &Interval) {
        (self.0.0)(interval);
    }

    fn finish(&mut self, _series: Option<&Series>, _outcome: &mut WatchOutcome) {}
}

//! The share of errors: the calls in error, of the calls that were due. Every output takes it from here.
//!
//! Connections that failed are counted besides: one that fails may take several calls with it, or none, as they go to
//! another. Only where a run makes no calls is the share one of connections.

use std::fmt::{self, Display};

use httperf_plan::objective::Share;
use httperf_stats::{CallOutcome, Interval, Summary};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::number::{count, percent, ratio};

/// Calls in error, of the calls that were due.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorFigures {
    /// Calls that were due: those that ended, and those that were pending when the run ended.
    pub due: u64,
    /// Calls that were due and ended.
    pub ended: u64,
    /// Calls that failed: they had no complete reply, or could not be made.
    pub failed: u64,
    /// Calls with a reply of status 400 or above that is not the expected one, and failed no check.
    pub http_errors: u64,
    /// Calls whose reply failed a check.
    pub unexpected: u64,
    /// Share (0 to 1) of the calls that were due that are in error: failed, answered with an error of HTTP, or with an
    /// unexpected reply; of connections that failed, if no calls are made. `None` if none has ended.
    pub share: Option<f64>,
    /// Connections that failed.
    pub connections_failed: u64,
    /// Connections that were tried.
    pub connections_tried: u64,
    /// True if the share is one of connections, as no calls are made.
    pub of_connections: bool,
}

impl ErrorFigures {
    /// Figures of a run.
    #[must_use]
    pub fn of(summary: &Summary) -> Self {
        let outcomes = CallOutcome::ALL.map(|outcome| summary.calls_with(outcome).latency.moments.count());
        let connections_failed = summary.errors.total();
        let calls = Self::of_calls(outcomes, summary.unfinished.moments.count());
        let figures = Self {
            connections_failed,
            // Some fail before they are counted.
            connections_tried: summary.attempts().max(connections_failed),
            of_connections: calls.due + summary.requests == 0,
            ..calls
        };
        figures.with_share()
    }

    /// Figures of some of a run's calls: how many have which outcome, in the order of the variants, and how many none.
    pub(crate) fn of_calls(outcomes: [u64; CallOutcome::ALL.len()], unfinished: u64) -> Self {
        let ended = outcomes.iter().sum();
        let with = |outcome: CallOutcome| outcomes[outcome as usize];
        let figures = Self {
            due: ended + unfinished,
            ended,
            failed: with(CallOutcome::Failure),
            http_errors: with(CallOutcome::HttpError),
            unexpected: with(CallOutcome::Unexpected),
            ..Self::default()
        };
        figures.with_share()
    }

    /// Adds an interval of a run, which may be under way.
    pub fn add(&mut self, interval: &Interval) {
        self.due += interval.offered;
        self.ended += interval.replies + interval.failed_calls;
        self.failed += interval.failed_calls;
        self.unexpected += interval.unexpected;
        // An unexpected reply may have a status of 400 and above as well.
        self.http_errors += interval.error_replies.saturating_sub(interval.unexpected);
        self.connections_failed += interval.errors.total();
        self.connections_tried += interval.arrivals;
        self.of_connections = self.due + self.ended == 0;
        *self = self.with_share();
    }

    fn with_share(self) -> Self {
        Self { share: self.share_of(Share::Errors), ..self }
    }

    /// Number of calls in error; of connections that failed, if no calls are made.
    #[must_use]
    pub fn errors(&self) -> u64 {
        if self.of_connections {
            self.connections_failed
        } else {
            self.failed + self.http_errors + self.unexpected
        }
    }

    /// Number of what the share is of.
    #[must_use]
    pub fn whole(&self) -> u64 {
        match self.of_connections {
            true => self.connections_tried.max(self.connections_failed),
            // In intervals, calls may end that were due before them.
            false => self.due.max(self.ended),
        }
    }

    /// The share in percent; `n/a` if none has ended.
    #[must_use]
    pub fn percent(&self) -> String {
        self.share.map_or_else(|| "n/a".to_owned(), percent)
    }

    /// A share of the calls that were due; `None` if none has ended, or it is no share of these.
    #[must_use]
    pub fn share_of(&self, share: Share) -> Option<f64> {
        let part = match share {
            Share::Errors => self.errors(),
            Share::Failed if self.of_connections => self.connections_failed,
            Share::Failed => self.failed,
            Share::Unexpected if !self.of_connections => self.unexpected,
            _ => return None,
        };
        let is_known = if self.of_connections { self.whole() } else { self.ended } > 0;
        is_known.then(|| ratio(part as f64, self.whole() as f64))
    }
}

/// The share and what it is of: `40.0 % of 1,000 calls`.
impl Display for ErrorFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.of_connections { "connections" } else { "calls" };
        write!(f, "{} of {} {what}", self.percent(), count(self.whole()))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use httperf_stats::{Errors, Failure};

    use super::*;

    fn summary() -> Summary {
        let mut summary = Summary::default();
        for (outcome, calls) in [
            (CallOutcome::Success, 40),
            (CallOutcome::HttpError, 8),
            (CallOutcome::Unexpected, 4),
            (CallOutcome::Failure, 20),
        ] {
            (0..calls).for_each(|_| summary.calls[outcome as usize].latency.add(Duration::from_millis(1)));
        }
        (0..8).for_each(|_| summary.unfinished.add(Duration::from_millis(1)));
        (0..90).for_each(|_| summary.errors.add(Failure::AddressUnavailable));
        summary.connections = 100;
        summary
    }

    #[test]
    fn shares_are_of_the_calls_that_were_due_whatever_becomes_of_connections() {
        let figures = ErrorFigures::of(&summary());
        assert_eq!((figures.due, figures.ended, figures.errors()), (80, 72, 32));
        assert_eq!((figures.connections_failed, figures.connections_tried), (90, 100));
        let shares = [Share::Errors, Share::Failed, Share::Unexpected].map(|share| figures.share_of(share));
        assert_eq!(shares, [Some(0.4), Some(0.25), Some(0.05)]);
        assert_eq!(figures.to_string(), "40.0 % of 80 calls");
    }

    #[test]
    fn without_calls_the_share_is_one_of_connections() {
        let mut summary = Summary { connections: 50, ..Summary::default() };
        (0..5).for_each(|_| summary.errors.add(Failure::Refused));
        let figures = ErrorFigures::of(&summary);
        assert_eq!((figures.share, figures.of_connections), (Some(0.1), true));
        assert_eq!(figures.to_string(), "10.0 % of 50 connections");
        // Calls that are under way say nothing yet.
        (0..50).for_each(|_| summary.unfinished.add(Duration::from_millis(1)));
        let figures = ErrorFigures::of(&summary);
        assert_eq!((figures.share, figures.of_connections), (None, false));
    }

    #[test]
    fn intervals_give_the_shares_of_the_run_that_they_are_of() {
        let mut errors = Errors::default();
        (0..90).for_each(|_| errors.add(Failure::AddressUnavailable));
        let interval = Interval {
            arrivals: 100,
            offered: 40,
            replies: 26,
            failed_calls: 10,
            // Two of the unexpected replies have such a status too.
            http_errors: 6,
            unexpected: 2,
            error_replies: 6,
            errors,
            ..Interval::default()
        };
        let mut figures = ErrorFigures::default();
        figures.add(&interval);
        figures.add(&Interval { errors: Errors::default(), ..interval });
        let whole = ErrorFigures::of(&summary());
        assert_eq!(figures.share, whole.share);
        assert_eq!((figures.due, figures.ended, figures.errors()), (whole.due, whole.ended, whole.errors()));
        assert_eq!(figures.connections_failed, whole.connections_failed);
    }
}

//! The needs of objectives: the parts of a plan without which one cannot be judged.

use super::{Clock, Metric, Objective, Share};
use crate::{Plan, StreamedReplies, WebSocket, Workload};

/// A thing that a plan lacks, without which no run of it can tell anything about a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// TLS.
    Tls,
    /// A workload of sessions.
    Sessions,
    /// Arrivals on a schedule.
    Schedule,
    /// Replies that are read as streams.
    Streams,
    /// Messages on WebSockets that are to be answered.
    Answers,
    /// Pings on WebSockets.
    Pings,
    /// Answers of a language model.
    Model,
    /// The bounds of a good answer of a language model.
    Goodput,
    /// Calls.
    Calls,
    /// Scenarios with checks.
    Checks,
    /// An expectation of replies, such as a status.
    Expectation,
}

impl Objective {
    /// Returns what a plan lacks so that this can be judged; `None` if a run of the plan can tell.
    #[must_use]
    pub fn need(&self, plan: &Plan) -> Option<Need> {
        let lacks = |is_there: bool, need: Need| (!is_there).then_some(need);
        let makes_calls = plan.makes_calls();
        match self.metric {
            Metric::Time { clock, .. } => match clock {
                Clock::Connect => None,
                Clock::Handshake => lacks(plan.tls.is_some(), Need::Tls),
                Clock::Session => lacks(has_sessions(plan), Need::Sessions),
                Clock::Lag => lacks(plan.arrivals.is_scheduled(), Need::Schedule),
                Clock::FirstEvent | Clock::Gap if makes_calls => {
                    lacks(plan.replies.streams.read != StreamedReplies::None, Need::Streams)
                }
                Clock::RoundTrip => lacks(opens(plan, WebSocket::awaits_answers), Need::Answers),
                Clock::Ping => lacks(opens(plan, |websocket| websocket.ping_every.is_some()), Need::Pings),
                Clock::FirstToken | Clock::TokenGap | Clock::PerToken => {
                    lacks(plan.replies.streams.model.is_some(), Need::Model)
                }
                _ => lacks(makes_calls, Need::Calls),
            },
            Metric::Share(share) => match share {
                Share::Errors | Share::Failed => None,
                Share::Abandoned => lacks(has_sessions(plan), Need::Sessions),
                Share::Good => lacks(!plan.replies.streams.goodput.is_empty(), Need::Goodput),
                Share::Checks => lacks(matches!(plan.workload, Workload::Scenarios(_)), Need::Checks),
                Share::Unexpected if matches!(plan.workload, Workload::Scenarios(_)) => None,
                Share::Unexpected if makes_calls => {
                    let is_expected = plan.replies.reads_bodies() || plan.replies.expect.statuses.is_some();
                    lacks(is_expected, Need::Expectation)
                }
                Share::Unexpected | Share::Status(_) => lacks(makes_calls, Need::Calls),
            },
            Metric::Replies => lacks(makes_calls, Need::Calls),
        }
    }
}

fn has_sessions(plan: &Plan) -> bool {
    matches!(plan.workload, Workload::Sessions(_) | Workload::Scenarios(_))
}

/// Returns whether calls open WebSockets of this kind.
fn opens(plan: &Plan, is_wanted: impl Fn(&WebSocket) -> bool) -> bool {
    match &plan.workload {
        Workload::Scenarios(scenarios) => {
            scenarios.requests.iter().filter_map(|request| request.websocket.as_ref()).any(is_wanted)
        }
        _ => plan.request.websocket.as_ref().is_some_and(is_wanted),
    }
}

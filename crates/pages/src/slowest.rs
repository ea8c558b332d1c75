//! Table of the slowest calls and the parts of their latencies.

use std::time::Duration;

use httperf_plan::secrets;
use httperf_report::cut;
use httperf_report::number::{count, fixed, grouped, ratio, time};
use httperf_stats::SlowCall;

/// Maximum number of calls shown; the document may have more.
const CALLS_MAX: usize = 100;

/// Maximum number of characters of a text from a server or a user.
const TEXT_LENGTH: usize = 300;

/// Table of the slowest calls.
pub(super) struct SlowestCalls {
    pub(super) rows: Vec<Row>,
    /// Latency of the slowest call, the length of the longest bar.
    pub(super) longest: String,
    /// Number of calls not shown.
    pub(super) left_out: usize,
    /// True if any call has data for the column; likewise the following fields.
    pub(super) has_receive_lag: bool,
    pub(super) has_transport: bool,
    pub(super) has_quic: bool,
    pub(super) has_server_timing: bool,
}

/// One call. Times are in ms, without the unit.
pub(super) struct Row {
    pub(super) call: String,
    pub(super) due_s: String,
    pub(super) latency: String,
    pub(super) phases: Vec<Phase>,
    pub(super) wait: String,
    pub(super) response: String,
    pub(super) transfer: String,
    pub(super) unread: String,
    pub(super) connection: String,
    pub(super) retransmits: String,
    pub(super) packets_lost: String,
    pub(super) rtt: String,
    pub(super) status: String,
    pub(super) uri: String,
    pub(super) server_timing: String,
}

/// A part of the bar.
pub(super) struct Phase {
    pub(super) class: &'static str,
    /// Width in percent of the slowest call's latency.
    pub(super) width: String,
}

impl SlowestCalls {
    /// Creates the table; `None` if there are no calls.
    /// `failure`: the only kind of failure of the run, so that it is known of each call.
    pub(super) fn of(calls: &[SlowCall], by_kernel: bool, failure: Option<&str>) -> Option<Self> {
        let longest = calls.first()?.latency;
        let shown = &calls[..calls.len().min(CALLS_MAX)];
        Some(Self {
            rows: shown.iter().map(|call| Row::of(call, longest, by_kernel, failure)).collect(),
            longest: time(longest.as_secs_f64() * 1e3),
            left_out: calls.len() - shown.len(),
            has_receive_lag: shown.iter().any(|call| call.receive_lag.is_some()),
            has_transport: shown.iter().any(|call| call.transport.is_some()),
            has_quic: shown.iter().any(|call| call.quic.is_some()),
            has_server_timing: shown.iter().any(|call| call.server_timing.is_some()),
        })
    }
}

impl Row {
    fn of(call: &SlowCall, longest: Duration, by_kernel: bool, failure: Option<&str>) -> Self {
        let known = [call.wait, call.response, call.transfer].into_iter().flatten().sum();
        // Time after the last known instant of a call without a reply.
        let unanswered = call.latency.saturating_sub(known);
        // The last part of a reply's time, which may extend into the time of the status line.
        let part_unread = call.receive_lag.filter(|_| !by_kernel);
        let unread = part_unread.unwrap_or_default();
        let unread_of_response = unread.saturating_sub(call.transfer.unwrap_or_default());
        let parts = [
            ("wait", call.wait),
            ("response", call.response.map(|response| response.saturating_sub(unread_of_response))),
            ("transfer", call.transfer.map(|transfer| transfer.saturating_sub(unread))),
            ("unread", part_unread),
            ("unanswered", call.status.is_none().then_some(unanswered)),
        ];
        let phases = parts.into_iter().filter_map(|(class, part)| {
            let share = ratio(part?.as_secs_f64(), longest.as_secs_f64());
            (share > 0.0).then(|| Phase { class, width: fixed(share * 100.0, 2) })
        });
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "–".to_owned());
        Self {
            call: count(call.call),
            due_s: grouped(call.due.as_secs_f64(), 3),
            latency: in_ms(call.latency),
            phases: phases.collect(),
            wait: or_dash(call.wait.map(in_ms)),
            response: or_dash(call.response.map(in_ms)),
            transfer: or_dash(call.transfer.map(in_ms)),
            unread: or_dash(call.receive_lag.map(in_ms)),
            connection: or_dash(call.connection.map(|_| connection(call))),
            retransmits: or_dash(call.transport.map(|transport| count(transport.retransmits.into()))),
            packets_lost: or_dash(call.quic.map(|quic| count(quic.packets_lost))),
            rtt: or_dash({
                let over_tcp = call.transport.map(|transport| transport.rtt);
                over_tcp.or(call.quic.map(|quic| quic.rtt)).map(in_ms)
            }),
            status: match (call.status, call.mismatch) {
                (None, _) => failure.unwrap_or("no reply").to_owned(),
                (Some(status), None) => status.to_string(),
                (Some(status), Some(mismatch)) => format!("{status}, unexpected {mismatch}"),
            },
            uri: cut(&secrets::url(&call.uri), TEXT_LENGTH),
            server_timing: call
                .server_timing
                .as_deref()
                .map(|text| cut(text, TEXT_LENGTH))
                .unwrap_or_default(),
        }
    }
}

fn connection(call: &SlowCall) -> String {
    match call.connect {
        _ if call.reused => "reused".to_owned(),
        Some(connect) => format!("new in {}", in_ms(connect)),
        None => "new".to_owned(),
    }
}

fn in_ms(time: Duration) -> String {
    grouped(time.as_secs_f64() * 1e3, 3)
}

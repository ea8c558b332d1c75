//! Diagnosis of runs in which nothing works: one sentence for a run whose calls all failed in the same way, and
//! for one whose replies all have the same status of an error.

use std::time::Duration;

use httperf_plan::{Endpoint, Plan, Workload};
use httperf_stats::{CallOutcome, Failure, Summary, TlsSummary};

use crate::number::{count, time};

/// Reason why no call was answered, with a remedy; `None` if a call was answered, none was made, or calls
/// failed in several ways.
#[must_use]
pub fn no_reply(plan: &Plan, summary: &Summary) -> Option<String> {
    let calls = |outcome| summary.calls_with(outcome).latency.moments.count();
    if summary.replies > 0 || summary.in_window().replies > 0 || calls(CallOutcome::Success) > 0 {
        return None;
    }
    // A stream that goes on is a reply.
    if summary.streams.as_deref().is_some_and(|streams| streams.started > 0) {
        return None;
    }
    let server = server(plan);
    let failed = summary.errors.total();
    if failed == 0 {
        let pending = summary.unfinished.moments.count();
        let oldest = summary.unfinished.moments.max() * 1e3;
        let hint = match plan.timeouts.timeout {
            None => "; --timeout T gives such calls up",
            Some(_) => "",
        };
        return (pending > 0).then(|| {
            let (calls, were) = if pending == 1 { ("call", "was") } else { ("calls", "were") };
            format!(
                "no reply: {} {calls} {were} pending when the run ended, the oldest for {}{hint}",
                count(pending),
                time(oldest)
            )
        });
    }
    // Without a transport, the reason is below TLS.
    let tls = summary.tls.as_deref().filter(|tls| !tls.transport.is_empty());
    if let Some(failure) = tls.and_then(TlsSummary::hopeless) {
        let remedy = match failure.is_not_tls() {
            true if plan.makes_calls() => ". Does the port speak plain HTTP? Try http://",
            true => ". Does the port speak plain HTTP? Name one that speaks TLS",
            false => "",
        };
        return Some(format!("no reply: the TLS handshake with {server} failed: {}{remedy}", failure.reason));
    }
    let only = Failure::ALL.into_iter().find(|&failure| summary.errors.count(failure) == failed)?;
    let was_connected = !summary.connect.is_empty();
    let has_begun = !summary.response.is_empty();
    let is_plain = plan.tls.is_none();
    let is_local = plan.targets.iter().all(|target| matches!(target.endpoint, Endpoint::Unix(_)));
    let what = match only {
        Failure::Refused => format!("connection refused by {server}"),
        Failure::ClientTimeout if has_begun => {
            format!("{server} begins replies but does not end them within {}", limit(plan))
        }
        Failure::ClientTimeout if was_connected => {
            format!("{server} takes connections but sends nothing within {}", limit(plan))
        }
        Failure::ClientTimeout => format!("{server} did not take a connection within {}", limit(plan)),
        Failure::SocketTimeout => format!("the kernel gave up connecting to {server}"),
        Failure::Reset if has_begun => format!("{server} broke off every reply"),
        Failure::Reset => format!("{server} closed every connection without a reply"),
        Failure::FdUnavailable => "this program has no file descriptor left".to_owned(),
        Failure::AddressUnavailable => "this machine has no local port left".to_owned(),
        Failure::FileTableFull => "this machine's table of open files is full".to_owned(),
        Failure::Other if was_connected => format!("{server} sends something that is not HTTP"),
        Failure::Other => format!("{server} cannot be reached"),
    };
    let remedy = match only {
        Failure::Refused => ". Is the server up?",
        Failure::Reset if has_begun => "",
        Failure::ClientTimeout if was_connected => ". Is the server stuck, or is --timeout too short?",
        Failure::ClientTimeout | Failure::SocketTimeout => {
            ". Is the address right, and no firewall in between?"
        }
        Failure::Reset | Failure::Other if was_connected && is_plain => {
            ". Does the port speak TLS? Try https://"
        }
        Failure::FdUnavailable | Failure::AddressUnavailable | Failure::FileTableFull => {
            ". `httperf doctor` says what to do"
        }
        Failure::Other if !was_connected && is_local => ". Is the socket there, and open to this user?",
        Failure::Reset | Failure::Other => "",
    };
    Some(format!("no reply: {what} ({0} of {0}){remedy}", count(failed)))
}

/// The only kind of failure of a run, as what became of a call; `None` if there were none or several.
pub(crate) fn only_failure(summary: &Summary) -> Option<&'static str> {
    let mut failures = Failure::ALL.into_iter().filter(|&failure| summary.errors.count(failure) > 0);
    let only = failures.next().filter(|_| failures.next().is_none())?;
    Some(match only {
        Failure::ClientTimeout | Failure::SocketTimeout => "timed out",
        Failure::Refused => "refused",
        Failure::Reset => "reset or closed by the server",
        Failure::FdUnavailable => "had no file descriptor",
        Failure::AddressUnavailable => "had no local port",
        Failure::FileTableFull => "met the system's limit on files",
        Failure::Other => "failed",
    })
}

/// Status of an error that every reply has, with a remedy; `None` if there is none.
#[must_use]
pub fn same_status(plan: &Plan, summary: &Summary) -> Option<String> {
    let mut codes = summary.status_codes.iter();
    let (code, replies) = codes.next().filter(|&(code, _)| code >= 400)?;
    if codes.next().is_some() || summary.calls_with(CallOutcome::Failure).latency.moments.count() > 0 {
        return None;
    }
    if matches!(plan.workload, Workload::Scenarios(_))
        && summary.calls_with(CallOutcome::Success).latency.moments.count() > 0
    {
        // The scenario expects it.
        return None;
    }
    // A model that tells what it lacks was understood.
    let model = summary.streams.as_deref().and_then(|streams| streams.model.as_deref());
    let tells_why = model.is_some_and(|model| model.errors.total() > 0);
    let remedy = match code {
        400 if plan.tls.is_none() && !tells_why => ". Does the port speak TLS? Try https://",
        401 | 407 => ". --basic-auth USER:PASSWORD or --bearer TOKEN sends credentials",
        403 => ". The server denies access",
        404 => ". Is the path right?",
        405 => ". --method METHOD sends another method",
        421 => ". The server does not know this host: --header 'Host: NAME' names another one",
        429 => ". The server limits this client",
        _ => "",
    };
    Some(format!("every reply was {code} ({0} of {0}){remedy}", count(replies)))
}

/// Names the server for a message.
fn server(plan: &Plan) -> String {
    match &plan.targets[..] {
        [only] => only.endpoint.to_string(),
        _ => "every server".to_owned(),
    }
}

fn limit(plan: &Plan) -> String {
    time(plan.timeouts.timeout.map_or(Duration::ZERO, |limit| limit).as_secs_f64() * 1e3)
}

#[cfg(test)]
mod tests {
    use httperf_stats::{StreamSummary, Timing};

    use super::*;

    fn plan() -> Plan {
        httperf_testkit::sim::connections(1, 1, 1)
    }

    fn failed(failure: Failure, times: u64) -> Summary {
        let mut summary = Summary::default();
        for _ in 0..times {
            summary.errors.add(failure);
            summary.calls[CallOutcome::Failure as usize].latency.add(Duration::from_millis(1));
        }
        summary
    }

    fn connected(failure: Failure) -> Summary {
        let mut connect = Timing::default();
        connect.add(Duration::from_millis(1));
        Summary { connect, ..failed(failure, 1000) }
    }

    #[track_caller]
    fn check(summary: &Summary, expected: Option<&str>) {
        assert_eq!(no_reply(&plan(), summary).as_deref(), expected);
    }

    #[test]
    fn calls_that_all_fail_in_one_way_are_explained_in_a_sentence() {
        check(
            &failed(Failure::Refused, 20),
            Some("no reply: connection refused by 127.0.0.1:80 (20 of 20). Is the server up?"),
        );
        check(
            &connected(Failure::Reset),
            Some(
                "no reply: 127.0.0.1:80 closed every connection without a reply (1,000 of 1,000). Does the port speak \
                 TLS? Try https://",
            ),
        );
        check(
            &connected(Failure::Other),
            Some(
                "no reply: 127.0.0.1:80 sends something that is not HTTP (1,000 of 1,000). Does the port speak TLS? Try \
                 https://",
            ),
        );
        check(
            &failed(Failure::FdUnavailable, 3),
            Some(
                "no reply: this program has no file descriptor left (3 of 3). `httperf doctor` says what to do",
            ),
        );
    }

    #[test]
    fn replies_that_have_begun_are_no_sign_of_tls() {
        let begun = |failure| {
            let mut response = Timing::default();
            response.add(Duration::from_millis(1));
            Summary { response, ..connected(failure) }
        };
        check(&begun(Failure::Reset), Some("no reply: 127.0.0.1:80 broke off every reply (1,000 of 1,000)"));
        let timeout = no_reply(&plan(), &begun(Failure::ClientTimeout)).unwrap();
        assert!(
            timeout.starts_with("no reply: 127.0.0.1:80 begins replies but does not end them"),
            "{timeout}"
        );
    }

    #[test]
    fn a_server_that_never_answers_is_told_without_a_timeout_too() {
        let mut silent = Summary::default();
        silent.unfinished.add(Duration::from_millis(4200));
        check(
            &silent,
            Some(
                "no reply: 1 call was pending when the run ended, the oldest for 4.20 s; --timeout T gives such calls \
                 up",
            ),
        );
    }

    #[test]
    fn several_reasons_and_any_reply_are_no_single_fault() {
        let mut both = failed(Failure::Refused, 3);
        both.errors.add(Failure::Reset);
        check(&both, None);
        check(&Summary { replies: 1, ..failed(Failure::Refused, 3) }, None);
        let streams = StreamSummary { started: 1, unfinished: 1, ..StreamSummary::default() };
        let mut open = Summary { streams: Some(Box::new(streams)), ..Summary::default() };
        open.unfinished.add(Duration::from_millis(2000));
        check(&open, None);
        check(&Summary::default(), None);
    }
}

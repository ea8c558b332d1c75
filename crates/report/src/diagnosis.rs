//! Diagnosis of runs in which nothing works: one sentence for a run whose calls all failed in the same way, and
//! for one whose replies all have the same status of an error.

use httperf_plan::{Plan, Workload};
use httperf_stats::{CallOutcome, Summary};

use crate::causes::CauseFigures;
use crate::number::{count, time};

/// Reason why no call was answered, with a remedy; `None` if a call was answered, or none was made. Of several reasons, the
/// most frequent is told in full.
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
    let causes = CauseFigures::of(plan, summary);
    let (first, others) = causes.split_first()?;
    let mut parts = Vec::new();
    for other in others.iter().take(CAUSES_MAX - 1) {
        parts.push(match other.cause == first.cause {
            true => format!("{} with {}", count(other.failures), other.detail),
            false => other.listed(),
        });
    }
    let beyond: u64 = others.iter().skip(CAUSES_MAX - 1).map(|other| other.failures).sum();
    if beyond > 0 {
        parts.push(format!("{} for other reasons", count(beyond)));
    }
    let others = if parts.is_empty() { String::new() } else { format!("; {}", parts.join(", ")) };
    let of = format!("{} of {}{others}", count(first.failures), count(failed));
    let hint = first.hint.as_deref().map_or_else(String::new, |hint| format!(". {hint}"));
    Some(format!("no reply: {} ({of}){hint}", first.sentence))
}

/// Number of causes that are named.
const CAUSES_MAX: usize = 3;

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
        400 if plan.tls.is_none() && !tells_why => {
            ". Is the request right? --print-reply shows the answer; if the port speaks TLS, try https://"
        }
        401 => ". --basic-auth USER:PASSWORD or --bearer TOKEN sends credentials",
        407 => ". The proxy wants credentials: --proxy http://USER:PASSWORD@HOST sends them",
        403 => ". The server denies access",
        404 => ". Is the path right?",
        405 => ". --method METHOD sends another method",
        421 => ". The server does not know this host: --header 'Host: NAME' names another one",
        429 => ". The server limits this client",
        _ => "",
    };
    Some(format!("every reply was {code} ({0} of {0}){remedy}", count(replies)))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use httperf_stats::{Failure, StreamSummary, Timing};

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
                "no reply: 127.0.0.1:80 closed the connection without a reply (1,000 of 1,000). Does the port speak TLS? \
                 Try https://",
            ),
        );
        check(
            &connected(Failure::Other),
            Some(
                "no reply: 127.0.0.1:80 sends something that is not HTTP (1,000 of 1,000). Is it the right port?",
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
        check(
            &begun(Failure::Reset),
            Some("no reply: 127.0.0.1:80 closed the connection in the middle of a reply (1,000 of 1,000)"),
        );
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
    fn of_several_reasons_the_most_frequent_is_told_in_full() {
        let mut both = failed(Failure::Refused, 3);
        both.errors.add(Failure::Reset);
        check(
            &both,
            Some(
                "no reply: connection refused by 127.0.0.1:80 (3 of 4; 1 closed by the server without a reply). Is the \
                 server up?",
            ),
        );
        for failure in [Failure::Other, Failure::FdUnavailable, Failure::FdUnavailable] {
            both.errors.add(failure);
        }
        let many = no_reply(&plan(), &both).unwrap();
        assert!(many.contains("(3 of 7; 2 without a file descriptor, 1 "), "{many}");
        assert!(many.contains(", 1 for other reasons)"), "{many}");
    }

    #[test]
    fn any_reply_makes_it_no_fault_of_the_whole() {
        check(&Summary { replies: 1, ..failed(Failure::Refused, 3) }, None);
        let streams = StreamSummary { started: 1, unfinished: 1, ..StreamSummary::default() };
        let mut open = Summary { streams: Some(Box::new(streams)), ..Summary::default() };
        open.unfinished.add(Duration::from_millis(2000));
        check(&open, None);
        check(&Summary::default(), None);
    }
}

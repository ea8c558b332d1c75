//! A few calls one after the other: whether the server is there, and as quick as it was.

use std::num::NonZeroU64;
use std::time::Duration;

use httperf_plan::scenario::{Scenario, Scenarios, Step};
use httperf_plan::{
    Arrivals, Burst, Connections, Objectives, Phases, Plan, Recording, Script, ScriptedSession, Sessions,
    Workload,
};
use httperf_report::{no_reply, same_status};
use httperf_stats::{CallOutcome, Summary};

/// A server that needs no more than this many times its usual time, or no longer than this, has recovered.
const RECOVERED: (u32, Duration) = (2, Duration::from_millis(10));

/// A plan for `calls` of a plan's requests, one after the other, each on a new connection, to a server that has nothing
/// else to do. It ends after `limit`.
pub(crate) fn probe(plan: &Plan, calls: u64, limit: Duration) -> Plan {
    let workload = match &plan.workload {
        Workload::Connections(connections) => {
            Workload::Connections(Connections::new(calls, connections.calls.min(1)))
        }
        // A replay is never searched or compared: its requests are in a file.
        Workload::Calls(_) | Workload::Replay(_) => Workload::Connections(Connections::new(calls, 1)),
        Workload::Sessions(sessions) => Workload::Sessions(Sessions {
            count: calls,
            script: first_calls(&sessions.script, calls),
            max_open: None,
            retry_on_failure: false,
            ..sessions.clone()
        }),
        Workload::Scenarios(scenarios) => Workload::Scenarios(Box::new(Scenarios {
            count: calls,
            scenarios: scenarios.scenarios.map(first_step),
            max_open: None,
            ..(**scenarios).clone()
        })),
    };
    let recording = Recording { detail: true, split: None, slowest: 0, ..plan.recording };
    plan.clone()
        .edit(|plan| {
            plan.arrivals = Arrivals::Sequential;
            plan.workload = workload;
            plan.runtime = Some(limit);
            plan.phases = Phases::default();
            plan.until = None;
            plan.objectives = Objectives::default();
            plan.recording = recording;
            plan.threads = None;
            plan.spin = false;
        })
        .expect("whoever may make many calls may make one after the other")
}

/// A scenario that makes only its first call.
fn first_step(scenario: &Scenario) -> Scenario {
    let needs_no_call = |step: &&Step| matches!(step, Step::Set { .. } | Step::Row(_));
    let mut steps: Vec<Step> = scenario.steps.iter().take_while(needs_no_call).cloned().collect();
    let first = scenario.calls().first().copied();
    steps.extend(first.map(|request| Step::Call { request, ends_on_failure: false }));
    Scenario { steps, ..scenario.clone() }
}

/// The first call of each of the first `count` sessions, or its first page.
fn first_calls(script: &Script, count: u64) -> Script {
    let think = Duration::ZERO;
    match script {
        Script::Uniform { .. } => Script::Uniform { calls: 1, burst: NonZeroU64::MIN, think },
        Script::Pages { .. } => Script::Pages { pages: 1, think },
        Script::File(sessions) => {
            let first = |session: &ScriptedSession| {
                let requests = [session.bursts.first().requests.first().clone()].into();
                ScriptedSession { bursts: [Burst { requests, think }].into() }
            };
            Script::File(sessions.map(first).take(usize::try_from(count).unwrap_or(usize::MAX)))
        }
    }
}

/// The median of the calls that were answered without an error.
///
/// # Errors
/// The reason why none was, in a sentence with what would mend it.
pub(crate) fn median(plan: &Plan, summary: &Summary) -> Result<Duration, String> {
    let answered = match plan.makes_calls() {
        true => &summary.calls_with(CallOutcome::Success).service,
        false => &summary.connect,
    };
    answered.quantile(0.5).ok_or_else(|| fault(plan, summary))
}

/// Returns the latency of the slowest call that was answered, with whatever status.
///
/// # Errors
/// The reason why none was, in a sentence with what would mend it.
pub(crate) fn slowest(plan: &Plan, summary: &Summary) -> Result<Duration, String> {
    let outcomes = [CallOutcome::Success, CallOutcome::HttpError, CallOutcome::Unexpected];
    let answered = match plan.makes_calls() {
        true => {
            outcomes.iter().filter_map(|&outcome| summary.calls_with(outcome).latency.quantile(1.0)).max()
        }
        false => summary.connect.quantile(1.0),
    };
    answered.ok_or_else(|| fault(plan, summary))
}

/// Returns whether a server is about as quick as it usually is.
pub(crate) fn has_recovered(median: Duration, usual: Duration) -> bool {
    median <= RECOVERED.1.max(usual * RECOVERED.0)
}

/// The reason why no call was answered well. A run says the same at its end.
fn fault(plan: &Plan, summary: &Summary) -> String {
    no_reply(plan, summary)
        .or_else(|| same_status(plan, summary))
        .unwrap_or_else(|| format!("no call was answered well: {}", why_not(summary)))
}

fn why_not(summary: &Summary) -> String {
    if let Some(failure) = summary.tls.as_deref().and_then(|tls| tls.hopeless()) {
        return format!("the TLS handshake failed: {}", failure.reason);
    }
    if let Some(http2) = summary.http2.as_deref()
        && let Some(reason) = http2.hopeless()
    {
        return format!("{} cannot be spoken: {reason}", http2.protocol());
    }
    let class = (1..=5).zip(summary.statuses).max_by_key(|&(_, count)| count).filter(|&(_, count)| count > 0);
    if summary.mismatches.total() > 0 {
        return "no reply was as expected".to_owned();
    }
    if let Some((class, _)) = class {
        return format!("it answers with status {class}xx");
    }
    "no reply in time".to_owned()
}

#[cfg(test)]
mod tests {
    use httperf_stats::{Errors, Failure};
    use httperf_testkit::sim::{calls, connections, file_session, sessions};

    use super::*;

    const LIMIT: Duration = Duration::from_secs(3);
    const CALLS: u64 = 5;

    #[test]
    fn it_makes_single_calls_on_new_connections() {
        for plan in [connections(1000, 50, 5), calls(1000, 200.0, 10)] {
            let probe = probe(&plan, CALLS, LIMIT);
            let Workload::Connections(connections) = &probe.workload else { panic!("{:?}", probe.workload) };
            assert_eq!((connections.count, connections.calls, connections.burst.get()), (CALLS, 1, 1));
            assert_eq!((&probe.arrivals, probe.runtime), (&Arrivals::Sequential, Some(LIMIT)));
        }
        let Workload::Connections(handshakes) =
            probe(&connections(9, 0, 1), CALLS, LIMIT).into_fields().workload
        else {
            panic!()
        };
        assert_eq!(handshakes.calls, 0, "where no calls are made it makes none");
    }

    #[test]
    fn of_a_session_it_makes_the_first_call() {
        let think = Duration::from_secs(9);
        let file = Script::File(vec![file_session(&[&["/a", "/b"], &["/c"]], think); 9].try_into().unwrap());
        let Workload::Sessions(Sessions { script: Script::File(short), count, .. }) =
            probe(&sessions(100, file), CALLS, LIMIT).into_fields().workload
        else {
            panic!("sessions remain sessions")
        };
        assert_eq!((short.len(), count), (CALLS as usize, CALLS));
        assert_eq!(short[0], file_session(&[&["/a"]], Duration::ZERO));
    }

    #[test]
    fn a_server_has_recovered_if_it_is_twice_as_slow_or_quick() {
        let ms = Duration::from_millis;
        assert!(has_recovered(ms(10), ms(1)));
        assert!(!has_recovered(ms(11), ms(1)));
        assert!(has_recovered(ms(200), ms(100)));
        assert!(!has_recovered(ms(201), ms(100)));
    }

    #[test]
    fn what_happened_is_said_in_words() {
        let plan = connections(1, 1, 1);
        let failed_by = |failure| {
            let mut errors = Errors::default();
            errors.add(failure);
            median(&plan, &Summary { errors, ..Summary::default() }).unwrap_err()
        };
        let refused = failed_by(Failure::Refused);
        assert!(
            refused.starts_with("no reply: connection refused by ") && refused.contains(" (1 of 1). "),
            "{refused}"
        );
        assert!(failed_by(Failure::ClientTimeout).contains(" did not take a connection within "));
        let nothing = "no call was answered well: no reply in time";
        assert_eq!(median(&plan, &Summary::default()).unwrap_err(), nothing);
        let busy = Summary { statuses: [0, 0, 0, 0, 5], ..Summary::default() };
        let answers = "no call was answered well: it answers with status 5xx";
        assert_eq!(median(&plan, &busy).unwrap_err(), answers);
    }
}

//! Objectives that a plan cannot measure, and those that can be watched while a run goes on.

use httperf_plan::objective::{Clock, Metric, Objective, Share};
use httperf_plan::{Arrivals, Plan, StreamedReplies, WebSocket, Workload};
use thiserror::Error;

const MODEL: &str = "answers of a language model, which --llm reads";
const CALLS: &str = "calls, of which this run makes none";

/// Errors in objectives.
#[derive(Debug, Error)]
pub enum ObjectiveError {
    /// The plan has no place for what one is about.
    #[error("--slo: `{objective}` needs {needed}")]
    Needs {
        /// The objective.
        objective: Objective,
        /// The thing that the plan lacks.
        needed: &'static str,
    },
    /// Nothing happens in the run for which it could be ended.
    #[error("--abort-on-slo: needs {CALLS}")]
    NoCalls,
    /// None of them can be told while the run goes on.
    #[error(
        "--abort-on-slo: expected an objective that can be told while the run goes on (over latency, errors, failed, \
         unexpected or replies), got `{0}`"
    )]
    Unwatchable(String),
}

/// Refuses objectives that no run of this plan can tell anything about.
pub(super) fn check(plan: &Plan) -> Result<(), ObjectiveError> {
    let objectives = &plan.objectives.all;
    for &objective in objectives {
        if let Some(needed) = lacking(objective.metric(), plan) {
            return Err(ObjectiveError::Needs { objective, needed });
        }
    }
    if plan.objectives.abort && !plan.makes_calls() {
        return Err(ObjectiveError::NoCalls);
    }
    if plan.objectives.abort && !objectives.iter().any(|&objective| can_watch(objective, plan)) {
        let names: Vec<String> = objectives.iter().map(ToString::to_string).collect();
        return Err(ObjectiveError::Unwatchable(names.join(", ")));
    }
    Ok(())
}

/// Returns whether a miss of this objective can be told while a run of the plan goes on.
pub(crate) fn can_watch(objective: Objective, plan: &Plan) -> bool {
    let is_upper = objective.relation().is_upper();
    plan.makes_calls()
        && match objective.metric() {
            Metric::Time { clock, .. } => clock == Clock::Latency,
            Metric::Share(Share::Errors | Share::Failed | Share::Unexpected) => is_upper,
            Metric::Share(Share::Status(class)) => class < 4 && !is_upper,
            Metric::Share(Share::Checks | Share::Good) => false,
            Metric::Replies => true,
        }
}

/// Names what the plan lacks to measure this.
fn lacking(metric: Metric, plan: &Plan) -> Option<&'static str> {
    let expect = &plan.replies.expect;
    let checks_replies = plan.replies.reads_bodies() || expect.statuses.is_some();
    let is_scheduled = !matches!(plan.arrivals, Arrivals::Sequential | Arrivals::Concurrent(_));
    match metric {
        Metric::Time { clock: Clock::Connect, .. } | Metric::Share(Share::Errors | Share::Failed) => None,
        Metric::Time { clock: Clock::Handshake, .. } => {
            plan.tls.is_none().then_some("TLS, which an https:// URL or --ssl asks for")
        }
        Metric::Time { clock: Clock::Session, .. } => {
            (!matches!(plan.workload, Workload::Sessions(_) | Workload::Scenarios(_)))
                .then_some("a session workload (--wsess, --wsesslog or --wsesspage)")
        }
        Metric::Time { clock: Clock::Lag, .. } => {
            (!is_scheduled).then_some("arrivals on a schedule (--rate, --period or --request-rate)")
        }
        Metric::Time { clock: Clock::FirstEvent | Clock::Gap, .. } if plan.makes_calls() => {
            (plan.replies.streams.read == StreamedReplies::None)
                .then_some("replies that are read as streams, which --stream=off turns off")
        }
        Metric::Time { clock: Clock::RoundTrip, .. } => {
            let answers = |websocket: &WebSocket| websocket.awaits_answers();
            (!opens(plan, answers))
                .then_some("messages on WebSockets that are to be answered (a ws:// URL, or --websocket)")
        }
        Metric::Time { clock: Clock::Ping, .. } => (!opens(plan, |websocket| websocket.ping_every.is_some()))
            .then_some("pings on WebSockets (--ws-ping)"),
        Metric::Time { clock: Clock::FirstToken | Clock::TokenGap | Clock::PerToken, .. } => {
            plan.replies.streams.model.is_none().then_some(MODEL)
        }
        Metric::Share(Share::Good) => {
            plan.replies.streams.goodput.is_empty().then_some(
                "the bounds of a good answer (--llm with --goodput, such as 'ttft<500ms,tpot<50ms')",
            )
        }
        Metric::Time { .. } | Metric::Share(Share::Status(_)) | Metric::Replies => {
            (!plan.makes_calls()).then_some(CALLS)
        }
        Metric::Share(Share::Checks) => (!matches!(plan.workload, Workload::Scenarios(_)))
            .then_some("a workload file with checks (`httperf run FILE`)"),
        Metric::Share(Share::Unexpected) if matches!(plan.workload, Workload::Scenarios(_)) => None,
        Metric::Share(Share::Unexpected) if !plan.makes_calls() => Some(CALLS),
        Metric::Share(Share::Unexpected) => {
            (!checks_replies).then_some("an option that says what is expected, such as --expect-status")
        }
    }
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

#[cfg(test)]
mod tests {
    use super::super::tests::{check_error, planned};

    #[test]
    fn what_a_run_cannot_measure_is_refused() {
        for (argv, objective, needed) in [
            (&[][..], "handshake.p99<5ms", "TLS, which an https:// URL or --ssl asks for"),
            (&[], "session.p99<1s", "a session workload (--wsess, --wsesslog or --wsesspage)"),
            (&[], "lag.p99<1ms", "arrivals on a schedule (--rate, --period or --request-rate)"),
            (
                &[],
                "rtt.p99<1s",
                "messages on WebSockets that are to be answered (a ws:// URL, or --websocket)",
            ),
            (&["--websocket"], "ping.p99<1s", "pings on WebSockets (--ws-ping)"),
            (&[], "ttft.p99<1s", "answers of a language model, which --llm reads"),
            (
                &["--llm=openai", "--body=x"],
                "goodput>90%",
                "the bounds of a good answer (--llm with --goodput, such as 'ttft<500ms,tpot<50ms')",
            ),
            (
                &["--stream=off"],
                "first.p99<1s",
                "replies that are read as streams, which --stream=off turns off",
            ),
            (&["--num-calls=0"], "p99<1ms", "calls, of which this run makes none"),
            (&["--num-calls=0"], "2xx>=99%", "calls, of which this run makes none"),
            (&["--num-calls=0"], "replies>1/s", "calls, of which this run makes none"),
            (&["--num-calls=0"], "unexpected<=0%", "calls, of which this run makes none"),
            (&[], "unexpected<=0%", "an option that says what is expected, such as --expect-status"),
        ] {
            let slo = format!("--slo={objective}");
            check_error(&[argv, &[&slo]].concat(), &format!(": --slo: `{objective}` needs {needed}"));
        }
    }

    #[test]
    fn what_a_run_can_measure_is_planned() {
        for argv in [
            &["--ssl", "--slo=handshake.p99<5ms,connect.p99<10ms"][..],
            &["--wsess=1,1,0", "--slo=session.p99<1s"],
            &["--rate=5", "--slo=lag.p99<1ms"],
            &["--request-rate=5", "--duration=1", "--slo=lag.p99<1ms"],
            &["--num-calls=0", "--slo=connect.p99<1ms,errors<1%,failed<1%"],
            &["--expect-status=200", "--slo=unexpected<=0"],
            &["--slo=first.p99<1s,gap.max<1s"],
            &["--websocket", "--ws-ping=1s", "--slo=rtt.p99<1s,ping.max<1s,gap.p50<1s"],
            &[
                "--llm=openai",
                "--body=x",
                "--goodput=ttft<1s",
                "--slo=ttft.p99<1s,itl.p99<1s,tpot.p50<1s,goodput>99%",
            ],
            &["--slo=service.p99<1ms,response.max<1s,transfer.mean<1s,5xx<1%,replies>=1"],
        ] {
            assert!(planned(argv).0.is_ok(), "{argv:?}");
        }
    }

    #[test]
    fn a_run_is_ended_for_what_can_be_told_meanwhile() {
        assert!(planned(&["--abort-on-slo", "--slo=service.p99<1ms,p99<1ms"]).0.is_ok());
        check_error(
            &["--abort-on-slo", "--slo=service.p99<1ms,5xx<1%"],
            ": --abort-on-slo: expected an objective that can be told while the run goes on (over latency, errors, \
             failed, unexpected or replies), got `service.p99<1ms, 5xx<1%`",
        );
        check_error(
            &["--num-calls=0", "--abort-on-slo", "--slo=errors<1%"],
            ": --abort-on-slo: needs calls, of which this run makes none",
        );
    }
}

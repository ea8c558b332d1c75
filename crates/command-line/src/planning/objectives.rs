//! Objectives that a plan cannot measure, and those that can be watched while a run goes on.

use httperf_plan::Plan;
use httperf_plan::objective::{Clock, Metric, Need, Objective, Share};
use thiserror::Error;

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
    /// The plan has no place for what one of a part of the run is about.
    #[error("objectives: `{name}` needs {needed}")]
    PartNeeds {
        /// The objective with its part.
        name: String,
        /// The thing that the plan lacks.
        needed: &'static str,
    },
    /// Nothing happens in the run for which it could be ended.
    #[error("--abort-on-slo: needs {CALLS}")]
    NoCalls,
    /// None of them can be told while the run goes on.
    #[error(
        "--abort-on-slo: expected an objective that can be told while the run goes on (over latency, errors, failed, \
         unexpected or replies), got {0}"
    )]
    Unwatchable(String),
}

/// Refuses objectives that no run of this plan can tell anything about.
pub(super) fn check(plan: &Plan) -> Result<(), ObjectiveError> {
    let objectives = &plan.objectives.all;
    for &objective in objectives {
        if let Some(need) = objective.need(plan) {
            return Err(ObjectiveError::Needs { objective, needed: options_of(need) });
        }
    }
    for scoped in &plan.objectives.scoped {
        if let Some(need) = scoped.objective.need(plan) {
            return Err(ObjectiveError::PartNeeds { name: scoped.name(), needed: options_of(need) });
        }
    }
    if plan.objectives.abort && !plan.makes_calls() {
        return Err(ObjectiveError::NoCalls);
    }
    if plan.objectives.abort && !objectives.iter().any(|&objective| can_watch(objective, plan)) {
        let names: Vec<String> = objectives.iter().map(ToString::to_string).collect();
        let got = match (names.is_empty(), plan.objectives.scoped.is_empty()) {
            (false, _) => format!("`{}`", names.join(", ")),
            (true, false) => "objectives for scenarios, steps and phases alone".to_owned(),
            (true, true) => "no objective".to_owned(),
        };
        return Err(ObjectiveError::Unwatchable(got));
    }
    Ok(())
}

/// Returns whether a miss of this objective can be told while a run of the plan goes on.
pub fn can_watch(objective: Objective, plan: &Plan) -> bool {
    let is_upper = objective.relation().is_upper();
    plan.makes_calls()
        && match objective.metric() {
            Metric::Time { clock, .. } => clock == Clock::Latency,
            Metric::Share(Share::Errors | Share::Failed | Share::Unexpected) => is_upper,
            Metric::Share(Share::Status(class)) => class < 4 && !is_upper,
            Metric::Share(Share::Checks | Share::Abandoned | Share::Good) => false,
            Metric::Replies => true,
        }
}

/// The options that bring what a plan lacks.
fn options_of(need: Need) -> &'static str {
    match need {
        Need::Tls => "TLS, which an https:// URL or --ssl asks for",
        Need::Sessions => "a session workload (--wsess, --wsesslog or --wsesspage, or a workload file)",
        Need::Schedule => "arrivals on a schedule (--rate, --period or --request-rate)",
        Need::Streams => "replies that are read as streams, which --stream=off turns off",
        Need::Answers => "messages on WebSockets that are to be answered (a ws:// URL, or --websocket)",
        Need::Pings => "pings on WebSockets (--ws-ping)",
        Need::Model => "answers of a language model, which --llm reads",
        Need::Goodput => "the bounds of a good answer (--llm with --goodput, such as 'ttft<500ms,tpot<50ms')",
        Need::Calls => CALLS,
        Need::Checks => "a workload file with checks (`httperf run FILE`)",
        Need::Expectation => "an option that says what is expected, such as --expect-status",
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check_error, planned};

    #[test]
    fn what_a_run_cannot_measure_is_refused() {
        for (argv, objective, needed) in [
            (&[][..], "handshake.p99<5ms", "TLS, which an https:// URL or --ssl asks for"),
            (
                &[],
                "session.p99<1s",
                "a session workload (--wsess, --wsesslog or --wsesspage, or a workload file)",
            ),
            (
                &[],
                "abandoned<1%",
                "a session workload (--wsess, --wsesslog or --wsesspage, or a workload file)",
            ),
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
            &["--wsess=1,1,0", "--slo=session.p99<1s,abandoned<1%"],
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

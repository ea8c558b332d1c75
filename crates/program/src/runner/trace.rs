//! The steps of visits as they are judged (`httperf run --trace`), on standard error.

use std::fmt::Write as _;

use httperf_command_line::terminal::lines;
use httperf_engine::StepSeen;
use httperf_load::scenario::Secrets;
use httperf_plan::scenario::{Scenarios, StepRequest, Value};
use httperf_plan::{Plan, Workload};
use httperf_report::not_made;
use httperf_stats::Fate;

/// The most characters of a value that are shown.
const VALUE_MAX: usize = 60;

/// Prints a step: what was sent, what came, each capture and each check.
pub(super) fn show_step(plan: &Plan, seen: &StepSeen<'_>) {
    if let Workload::Scenarios(scenarios) = &plan.workload {
        let secrets = Secrets::of(scenarios, seen.values);
        show(&secrets.redact(&step(scenarios, seen, &secrets)));
    }
}

/// Prints the end of a visit.
pub(super) fn show_end(plan: &Plan, visit: u64, scenario: u32, fate: Fate) {
    let Workload::Scenarios(scenarios) = &plan.workload else { return };
    let scenario = &scenarios.scenarios[scenario as usize];
    let step = |place: u32| {
        let call = scenario.calls()[place as usize];
        &scenarios.requests[call as usize]
    };
    let how = match fate {
        Fate::Completed => "completed".to_owned(),
        Fate::Cut => "cut short by the end of the run".to_owned(),
        Fate::Abandoned { step: None, .. } => "abandoned before its first step".to_owned(),
        Fate::Abandoned { step: Some(place), obstacle: None } => format!("abandoned at {}", step(place).name),
        Fate::Abandoned { step: Some(place), obstacle: Some(obstacle) } => {
            let StepRequest { name, origin, .. } = step(place);
            let origin = if name == origin { String::new() } else { format!("{origin}: ") };
            format!("abandoned at {name}: {origin}{}", not_made(obstacle, &scenarios.variables))
        }
    };
    show(&format!("visit {visit} ({}): {how}\n", scenario.name));
}

/// Prints what nobody may read: a run goes on without it.
fn show(text: &str) {
    lines::complain(text.as_bytes());
}

fn step(scenarios: &Scenarios, seen: &StepSeen<'_>, secrets: &Secrets) -> String {
    let request = &scenarios.requests[seen.request as usize];
    let name = &scenarios.scenarios[seen.scenario as usize].name;
    let (method, target) = seen.sent;
    let mut out = format!("visit {} ({name}): {}", seen.visit, request.name);
    let sent = format!("{} {}", method.escape_ascii(), target.escape_ascii());
    let taken_ms = seen.duration.as_secs_f64() * 1e3;
    let mut put = |line: String| writeln!(out, "{line}").expect("a String takes everything");
    put(String::new());
    put(format!("  {sent}: {} in {taken_ms:.3} ms", seen.status));
    let Some(judgement) = seen.judgement else {
        put("  a redirect, which is followed".to_owned());
        return out;
    };
    if let Some(status) = request.status {
        let got = if judgement.status_differs { format!(": got {}", seen.status) } else { String::new() };
        put(verdict(!judgement.status_differs, &format!("HTTP {status}{got}")));
    }
    if judgement.status_differs {
        return out;
    }
    for (place, capture) in request.captures.iter().enumerate() {
        if judgement.failed_capture == Some(place) {
            let reason = seen.reasons.first().map_or("no value", String::as_str);
            put(verdict(false, &format!("{}: {reason}", capture.label)));
            return out;
        }
        let value = seen.values.get(capture.slot as usize).and_then(Option::as_ref);
        let variable = &scenarios.variables[capture.slot as usize].name;
        put(format!(
            "  captured  {variable} = {}",
            value.map_or_else(|| "nothing".to_owned(), |value| shown(value, secrets))
        ));
    }
    for (place, check) in request.checks.iter().enumerate() {
        match seen.failed_checks.iter().position(|failed| *failed == place) {
            None => put(verdict(true, &check.label)),
            Some(nth) => {
                let reason = seen.reasons.get(nth).map_or("", String::as_str);
                put(verdict(false, &format!("{}: {reason}", check.label)));
            }
        }
    }
    out
}

fn verdict(is_met: bool, what: &str) -> String {
    format!("  {:<8}  {what}", if is_met { "ok" } else { "FAILED" })
}

/// A value in a line, without secrets, cut if it is long.
fn shown(value: &Value, secrets: &Secrets) -> String {
    let text = match value {
        Value::Text(text) => format!("{text:?}"),
        other => serde_json::to_string(other).unwrap_or_default(),
    };
    let text = secrets.redact(&text).into_owned();
    match text.char_indices().nth(VALUE_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

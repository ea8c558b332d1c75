//! Reasons why a comparison is void, and other remarks about it.
//!
//! Plans are compared field by field, as saved. The load must be the same; the generator and the path to the
//! server may be the subject of the comparison, and are mentioned.

use httperf_plan::secrets;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::named::Named;
use crate::differing::{Field, PlanOptions, differing, shortened};
use crate::number::{grouped, per_second, ratio, time};
use crate::result::{Document, same_run};
use crate::verdict::Level;

/// A remark about a comparison.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Remark {
    /// Subject of the remark.
    pub code: Code,
    /// One sentence without its full stop.
    pub text: String,
}

/// Subject of a remark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    /// Actions of each arrival.
    Workload,
    /// Requests, and checks of replies.
    Requests,
    /// HTTP version, TLS, use of HTTP/2.
    Protocol,
    /// Rate and spacing of arrivals.
    Rate,
    /// Warm-up and drain.
    Phases,
    /// A verdict is INVALID.
    Invalid,
    /// A verdict is SUSPECT.
    Suspect,
    /// A run ended early.
    EndedEarly,
    /// Both are the same run.
    SameRun,
    /// The server.
    Target,
    /// Length of the measured phase.
    Duration,
    /// The machine of the generator.
    Machine,
    /// The version of the program.
    Version,
    /// Anything else about the plan: threads, sockets, time limits.
    Plan,
}

/// Effect of a difference between two plans on their comparison.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Weight {
    Void,
    Worth,
    Nothing,
}

/// Subject and effect of a difference, by prefix of the field's path. The first match counts.
const FIELDS: [(&str, Code, Weight); 25] = [
    ("program", Code::Plan, Weight::Nothing),
    ("watch", Code::Plan, Weight::Nothing),
    ("objectives", Code::Plan, Weight::Nothing),
    ("limits", Code::Plan, Weight::Nothing),
    ("recording.slowest", Code::Plan, Weight::Nothing),
    ("recording.split", Code::Plan, Weight::Nothing),
    ("client.index", Code::Plan, Weight::Nothing),
    ("client.stream", Code::Plan, Weight::Nothing),
    ("request.user_agent", Code::Requests, Weight::Nothing),
    // The amount of work follows from the duration.
    ("workload.connections.count", Code::Duration, Weight::Worth),
    ("workload.sessions.count", Code::Duration, Weight::Worth),
    ("workload.calls.count", Code::Duration, Weight::Worth),
    ("runtime_ns", Code::Duration, Weight::Worth),
    ("until", Code::Duration, Weight::Worth),
    ("request.version", Code::Protocol, Weight::Void),
    ("workload", Code::Workload, Weight::Void),
    ("request", Code::Requests, Weight::Void),
    ("uris", Code::Requests, Weight::Void),
    ("replies", Code::Requests, Weight::Void),
    ("arrivals", Code::Rate, Weight::Void),
    ("client.count", Code::Rate, Weight::Void),
    ("targets", Code::Target, Weight::Worth),
    ("phases", Code::Phases, Weight::Worth),
    ("tls", Code::Protocol, Weight::Worth),
    ("http2", Code::Protocol, Weight::Worth),
];

/// Reasons why the figures of the two are not comparable, one sentence each.
pub(super) fn obstacles(base: Named<'_>, new: Named<'_>, options: &PlanOptions) -> Vec<Remark> {
    let mut remarks = by_code(base.document, new.document, Weight::Void, options);
    let asked = [base, new].map(|named| named.document.figures.rate_asked);
    if asked[0] != asked[1] && !remarks.iter().any(|remark| remark.code == Code::Rate) {
        let [base, new] = asked.map(|rate| rate.map_or("none".to_owned(), |rate| grouped(rate, 1)));
        let text = format!("the offered rates differ ({base} and {new} arrivals per second)");
        remarks.push(Remark { code: Code::Rate, text });
    }
    for named in [base, new] {
        remarks.extend(judged(named, Level::Invalid, Code::Invalid));
    }
    remarks
}

/// Other remarks that a reader should see.
pub(super) fn warnings(base: Named<'_>, new: Named<'_>, options: &PlanOptions) -> Vec<Remark> {
    let mut remarks = Vec::new();
    if same_run(base.document, new.document).is_some() {
        let text = format!("`{}` and `{}` are the same run", base.name, new.name);
        remarks.push(Remark { code: Code::SameRun, text });
    }
    for named in [base, new] {
        remarks.extend(judged(named, Level::Suspect, Code::Suspect));
        let ended = named.document.parts.iter().find_map(|part| part.ended_early);
        remarks.extend(
            ended.map(|how| Remark { code: Code::EndedEarly, text: format!("`{}` {how}", named.name) }),
        );
    }
    let subjects = [base, new].map(|named| crate::headings::title(&named.document.plan));
    if subjects[0] != subjects[1] {
        let text = format!("the targets differ: {} and {}", subjects[0], subjects[1]);
        remarks.push(Remark { code: Code::Target, text });
    }
    let lengths = [base, new].map(|named| named.document.figures.duration_s);
    if (lengths[0] - lengths[1]).abs() > 0.1 * lengths[0].max(lengths[1]) {
        let [base, new] = lengths.map(|seconds| time(seconds * 1e3));
        remarks.push(Remark {
            code: Code::Duration,
            text: format!("the measured phases differ in length: {base} and {new}"),
        });
    }
    let machines = [base, new].map(|named| machine(named.document));
    if machines[0] != machines[1] {
        let text = format!("the generators' machines differ: {} and {}", machines[0], machines[1]);
        remarks.push(Remark { code: Code::Machine, text });
    }
    let versions = [base, new].map(|named| version(named.document));
    if versions[0] != versions[1] {
        let text = format!("the versions of httperf differ: {} and {}", versions[0], versions[1]);
        remarks.push(Remark { code: Code::Version, text });
    }
    let others = by_code(base.document, new.document, Weight::Worth, options).into_iter();
    // Remarks on these exist already, as far as they matter.
    remarks.extend(others.filter(|remark| !matches!(remark.code, Code::Target | Code::Duration)));
    remarks
}

fn judged(named: Named<'_>, level: Level, code: Code) -> Option<Remark> {
    let verdict = &named.document.verdict;
    let reasons = verdict.reasons.iter().filter(|reason| reason.level == level);
    let reasons: Vec<String> =
        reasons.map(|reason| format!("{}: {}", reason.finding.name(), reason.finding)).collect();
    let text = format!("`{}` is {level}: {}", named.name, reasons.join("; "));
    (verdict.level == level).then_some(Remark { code, text })
}

/// Machine of the generator, or machines if there are several.
fn machine(document: &Document) -> String {
    let mut machines: Vec<String> = document
        .parts
        .iter()
        .map(|part| {
            let machine = &part.machine;
            let model = machine.processor.as_deref().unwrap_or("unknown processors");
            format!("{} ({} × {model}, {})", machine.host, machine.processors, machine.system)
        })
        .collect();
    machines.dedup();
    machines.join(" with ")
}

fn version(document: &Document) -> String {
    let mut versions: Vec<&str> = document.parts.iter().map(|part| &part.httperf[..]).collect();
    versions.dedup();
    versions.join(", ")
}

/// Differences between plans with this effect, one sentence per subject.
fn by_code(base: &Document, new: &Document, weight: Weight, options: &PlanOptions) -> Vec<Remark> {
    let plans = [base, new].map(|document| {
        let mut plan = serde_json::to_value(&document.plan).expect("a plan can be saved");
        // Differences are named in the order of their paths.
        plan.sort_all_objects();
        plan
    });
    let fields = differing(&plans[0], &plans[1]);
    let mut found: Vec<(Code, String)> = fields
        .iter()
        .filter_map(|field| {
            let (code, own) = judge(field);
            (own == weight).then(|| (code, text(field, code, options)))
        })
        .collect();
    found.sort_by_key(|(code, _)| *code);
    found
        .chunk_by(|one, next| one.0 == next.0)
        .map(|chunk| {
            let code = chunk[0].0;
            // A part of the plan without an option, such as the whole workload, says no more than the subject.
            let options = chunk.iter().filter(|(_, field)| field.starts_with('-'));
            let options: Vec<&str> = options.map(|(_, field)| &field[..]).collect();
            let text = match &options[..] {
                [] => code.what_differs().to_owned(),
                options => format!("{} ({})", code.what_differs(), options.join("; ")),
            };
            Remark { code, text }
        })
        .collect()
}

impl Code {
    fn what_differs(self) -> &'static str {
        match self {
            Self::Workload => "the workloads differ",
            Self::Requests => "the requests differ",
            Self::Protocol => "the protocols differ",
            Self::Rate => "the offered rates differ",
            Self::Phases => "the phases differ",
            _ => "the plans differ",
        }
    }
}

/// Subject and effect of a difference between plans.
fn judge(field: &Field<'_>) -> (Code, Weight) {
    let found = FIELDS.iter().find(|(start, ..)| field.is_in(start));
    let (code, weight) = found.map_or((Code::Plan, Weight::Worth), |&(_, code, weight)| (code, weight));
    // Adding or removing TLS or a warm-up makes runs incomparable; changes of their settings are merely
    // mentioned.
    let is_none = |value: &Value| value.is_null() || *value == 0;
    let is_one_missing = is_none(field.values[0]) != is_none(field.values[1]);
    let is_void = match code {
        Code::Protocol => field.path == "tls" && is_one_missing,
        Code::Phases => is_one_missing,
        _ => false,
    };
    (code, if is_void { Weight::Void } else { weight })
}

/// The field, by the option that sets it, with both values. Requests may contain secrets, so only simple values of theirs
/// are shown.
fn text(field: &Field<'_>, code: Code, options: &PlanOptions) -> String {
    let path = &field.path[..];
    let may_show = |value: &Value| match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
        Value::String(_) => code != Code::Requests || path == "request.method" || path == "uris.fixed",
        Value::Array(_) | Value::Object(_) => false,
    };
    let [base, new] = field.values;
    match may_show(base) && may_show(new) {
        true => format!("{}: {} and {}", field.name(options), shown(path, base), shown(path, new)),
        false => field.name(options).to_owned(),
    }
}

/// Formats a value of the plan.
fn shown(path: &str, value: &Value) -> String {
    match value {
        Value::Number(number) if path == "arrivals.deterministic.period" => {
            per_second(ratio(1.0, number.as_f64().unwrap_or(0.0)))
        }
        Value::Number(mean) if path == "arrivals.exponential.mean" => format!("e{mean}"),
        Value::Number(number) if path.ends_with("_ns") && number.as_u64() == Some(0) => "0 s".to_owned(),
        Value::Number(number) if path.ends_with("_ns") => time(number.as_f64().unwrap_or(0.0) / 1e6),
        Value::Number(number) if number.as_u64() == Some(httperf_plan::UNLIMITED) => "unlimited".to_owned(),
        Value::Null => "none".to_owned(),
        Value::String(text) => format!("`{}`", shortened(&secrets::url(text))),
        other => shortened(&other.to_string()),
    }
}

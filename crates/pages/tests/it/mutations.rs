//! Documents with errors: one value at a time is replaced by an unsuitable one. Each document must either be
//! refused in a sentence that names a field, or be rendered in every form, without a panic or an endless
//! loop.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::abort;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use httperf_plan::{Arrivals, Fraction, Precision, Script, ScriptedSession, Step};
use httperf_report::ReadError;
use httperf_report::result::{Document, Part};
use httperf_stats::Summary;
use httperf_testkit::documents::{pointers, replacements, use_up};
use httperf_testkit::sim::Edit;
use serde_json::{Value, json};

use crate::documents;

/// Reports the current mutation, so that one that runs for ever can be identified.
#[derive(Clone, Default)]
struct Watch(Arc<Mutex<Option<(String, Instant)>>>);

impl Watch {
    /// Longer than any mutation takes on a busy machine.
    const PATIENCE: Duration = Duration::from_secs(120);

    fn start() -> Self {
        let watch = Self::default();
        let watched = watch.clone();
        thread::spawn(move || {
            loop {
                thread::sleep(Duration::from_secs(1));
                if let Some((what, since)) = &*watched.0.lock().expect("nobody panics with it")
                    && since.elapsed() > Self::PATIENCE
                {
                    eprintln!("{what}: takes for ever");
                    abort();
                }
            }
        });
        watch
    }

    fn set(&self, what: Option<String>) {
        *self.0.lock().expect("nobody panics with it") = what.map(|what| (what, Instant::now()));
    }
}

/// Tries every `step`-th mutation of a document, starting with the `first`, and returns the failures.
fn failures(original: &Document, first: usize, step: usize, with_png: bool) -> Vec<String> {
    let mut value: Value = serde_json::from_str(&original.json()).expect("a document is JSON");
    let found = pointers(&value);
    let replacements = replacements();
    let all = found.iter().flat_map(|pointer| replacements.iter().map(move |new| (pointer, new)));
    let watch = Watch::start();
    let mut other = original.clone();
    other.parts[0].run = Some("other".to_owned());
    let mut failures = Vec::new();
    for (pointer, new) in all.skip(first).step_by(step) {
        let what = format!("{pointer} = {new}");
        watch.set(Some(what.clone()));
        let place = value.pointer_mut(pointer).expect("it was there");
        let old = std::mem::replace(place, new.clone());
        let text = value.to_string();
        *value.pointer_mut(pointer).expect("it is still there") = old;
        let outcome = catch_unwind(AssertUnwindSafe(|| match Document::read(text.as_bytes()) {
            Ok(document) => {
                use_up(&document, &other, with_png);
                None
            }
            Err(error) => refusal(pointer, &error),
        }));
        watch.set(None);
        match outcome {
            Ok(None) => {}
            Ok(Some(why)) => failures.push(format!("{what}: {why}")),
            Err(_) => failures.push(format!("{what}: panics")),
        }
    }
    failures
}

/// Checks the message of a refusal: it must name the field, or one that contains it.
fn refusal(pointer: &str, error: &ReadError) -> Option<String> {
    let names: Vec<&str> = pointer.split('/').filter(|name| name.parse::<usize>().is_err()).collect();
    let message = error.to_string();
    let (first, last) = (names[1], names[names.len() - 1]);
    let is_named =
        message.contains(first) && (names.len() < 4 || message.contains(names[2]) || message.contains(last));
    (!is_named).then_some(message)
}

/// A session workload from a file, with a cycle of rates and a precision limit: a plan with nearly all
/// fields.
fn scripted() -> Document {
    let mut document = documents::sessions_over_tls();
    document.plan.change_sessions(|sessions| {
        let burst = httperf_plan::Burst {
            requests: [httperf_plan::Request {
                method: b"GET".to_vec(),
                uri: b"/".to_vec(),
                contents: Vec::new(),
            }]
            .into(),
            think: Duration::ZERO,
        };
        sessions.script = Script::File([ScriptedSession { bursts: [burst].into() }].into());
    });
    let [quantile, share] = [0.5, 0.1].map(|share| Fraction::try_from(share).expect("it is one"));
    document.plan.change(|plan| {
        plan.arrivals = Arrivals::Variable([Step { period: 0.1, duration: 1.0 }].into());
        plan.until = Some(Precision { quantile, share });
    });
    document
}

/// Step between mutations, unless set by `MUTATION_STEP`: trying all takes many minutes. A prime, so that no
/// field or replacement is left out everywhere.
const STEP: usize = 1009;

fn samples() -> Vec<Document> {
    let mut all =
        vec![documents::with_objectives(), documents::over_http2(), scripted(), documents::without_detail()];
    // Allows merging with another document that differs in nothing else.
    all.iter_mut().for_each(|document| document.parts[0].run = Some("one".to_owned()));
    all
}

#[test]
fn an_edited_document_is_refused_by_field_or_rendered() {
    let step = std::env::var("MUTATION_STEP").ok().and_then(|step| step.parse().ok()).unwrap_or(STEP);
    let mut all = Vec::new();
    for (index, document) in samples().iter().enumerate() {
        let failures = failures(document, 101 * index, step, step == 1);
        all.extend(failures.into_iter().map(|failure| format!("document {index}: {failure}")));
    }
    assert!(all.is_empty(), "{} failures: {all:#?}", all.len());
}

#[track_caller]
fn refused(pointer: &str, new: Value, expected: &str) {
    let document =
        if pointer.contains("sessions") || pointer.contains("variable") || pointer.contains("until") {
            scripted()
        } else {
            documents::with_objectives()
        };
    let mut value: Value = serde_json::from_str(&document.json()).expect("a document is JSON");
    *value.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer} is there")) = new;
    let message =
        Document::read(value.to_string().as_bytes()).map(|_| "read").expect_err("it is refused").to_string();
    assert!(message.contains(expected), "{pointer}: {message}");
}

#[test]
fn impossible_values_are_refused_by_field() {
    for (pointer, new, expected) in [
        ("/plan/targets", json!([]), "plan.targets: expected at least one element, got none"),
        (
            "/plan/client/count",
            json!(0),
            "plan.client.count: invalid value: integer `0`, expected a nonzero u32",
        ),
        (
            "/plan/uris",
            json!({"requests": []}),
            "plan.uris.requests: expected at least one element, got none",
        ),
        (
            "/plan/arrivals/variable",
            json!([]),
            "plan.arrivals.variable: expected at least one element, got none",
        ),
        ("/plan/until/quantile", json!(1.0), "plan.until.quantile: expected a number between 0 and 1, got 1"),
        (
            "/plan/workload/sessions/script/file",
            json!([]),
            "plan.workload.sessions.script.file: expected at least one element, got none",
        ),
        (
            "/summary/series/width_ns",
            json!(0),
            "summary.series.width_ns: expected a second times a power of two, got 0",
        ),
        (
            "/summary/replies",
            json!(u64::MAX),
            "summary.replies: expected at most 9007199254740992, got 1844674407",
        ),
        ("/summary/replies", json!(-1), "summary.replies: invalid value: integer `-1`, expected u64"),
        ("/summary/lag/moments/max_ns", json!(0), "summary.lag.moments: expected consistent moments, got "),
        ("/parts", json!([]), "parts: expected at least one run, got none"),
    ] {
        refused(pointer, new, expected);
    }
}

#[test]
fn an_impossible_quantile_is_refused_in_a_verdict() {
    let plan = documents::with_objectives().plan;
    let part: Part = documents::part();
    let document = Document::new(part, plan, Summary::default());
    let mut value: Value = serde_json::from_str(&document.json()).expect("a document is JSON");
    let reasons = value["verdict"]["reasons"].as_array_mut().expect("there are reasons");
    reasons.insert(0, json!({"level": "SUSPECT", "code": "few_samples", "samples": 1, "quantile": 1.0}));
    let message = Document::read(value.to_string().as_bytes()).map(|_| "read").unwrap_err().to_string();
    assert!(
        message.contains("verdict.reasons[0].quantile: expected a number between 0 and 1, got 1"),
        "{message}"
    );
}

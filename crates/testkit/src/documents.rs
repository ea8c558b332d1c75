//! Documents that somebody edited: whatever a value is replaced by, a document is refused in a sentence, or everything
//! that the program does with documents works. Nothing panics, and nothing goes on for ever.

use std::sync::LazyLock;
use std::time::Duration;

use httperf_engine::tls_context;
use httperf_pages::{Report, Saved, page};
use httperf_pictures::{self as pictures, Style};
use httperf_plan::objective::Objective;
use httperf_plan::{
    Arrivals, Fraction, HttpVersion, ListedRequest, Plan, Precision, Script, Step, Template, Tls, UriSource,
    WorkingSet,
};
use httperf_report::capacity::{CapacityReport, CapacitySettings, End, Found, Trial};
use httperf_report::compare::{ComparisonSettings, Named, Rounds, results, rounds};
use httperf_report::result::{Document, Machine, Part, merge};
use httperf_report::sweep::{Recovery, Run, Sweep, SweepSettings};
use httperf_report::tls_lab::{self, Agreed, TlsLabOutcome, TlsLabSettings};
use httperf_report::{Form, Screen, csv_row, hgrm, junit};
use httperf_stats::HandshakeKind;
use serde_json::{Value, json};

use crate::http2::Reply;
use crate::sim::{
    Action, Deed, Edit, Goodbye, Http2Peer, HttpPeer, Link, Peer, RequestSeen, StreamSeen, TlsPeer, at_once,
    calls, connections, file_session, listed, nonzero, reply, run, sessions, tls_server, uniform,
};

/// The most edits of one document: what each finds is found sooner alone.
const EDITS_MAX: usize = 4;

/// A plan that is run again ends after this much virtual time and this many waits, with this many sockets.
const TIME_MAX: Duration = Duration::from_secs(20);
const WAITS_MAX: u64 = 300;
const SOCKETS_MAX: usize = 8;

/// The values that take the place of others.
#[must_use]
pub fn replacements() -> [Value; 11] {
    [
        json!(0),
        json!(-1),
        json!(1),
        json!(1.0),
        json!(1e308),
        json!(u32::MAX),
        json!(u64::MAX),
        json!(""),
        json!([]),
        json!({}),
        json!(null),
    ]
}

/// The ways to all values of a document, as JSON pointers. What programs work out anew is left out.
#[must_use]
pub fn pointers(document: &Value) -> Vec<String> {
    let mut found = Vec::new();
    add_pointers(document, String::new(), &mut found);
    found
}

fn add_pointers(value: &Value, at: String, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                let escaped = name.replace('~', "~0").replace('/', "~1");
                add_pointers(field, format!("{at}/{escaped}"), found);
            }
        }
        Value::Array(elements) => {
            // The first, one in the middle and the last are as good as all.
            let count = elements.len();
            let mut places = vec![0, count / 2, count.saturating_sub(1)];
            places.dedup();
            for place in places.into_iter().filter(|&place| place < count) {
                add_pointers(&elements[place], format!("{at}/{place}"), found);
            }
        }
        _ => {}
    }
    if !at.is_empty() && !at.starts_with("/figures") && !at.starts_with("/objectives") {
        found.push(at);
    }
}

/// Makes every report of a document, compares it with another, and adds it to that.
///
/// # Panics
/// If what is written cannot be read.
pub fn use_up(document: &Document, other: &Document, with_png: bool) {
    let _text = (document.text(true), document.text(false), csv_row(document));
    let json = document.json();
    let again = Document::read(json.as_bytes()).map_err(|error| error.to_string());
    assert_eq!(again.map(|again| again.json()), Ok(json), "what is written can be read");
    let _latency = hgrm(&document.summary.completed().latency).to_string();
    let _junit = junit::xml("x", &[junit::Suite::of(document)]);
    let _page = page(document);
    let style = Style::default();
    let named = |document| Named { name: "a", document };
    let drawn = [
        pictures::percentiles(document, &style),
        pictures::timeline(document, &style),
        pictures::compare(&[("a", other), ("b", document)], &style),
    ];
    if with_png {
        drawn.iter().for_each(|picture| drop(picture.png(1)));
    }
    for force in [false, true] {
        let settings = ComparisonSettings { force, ..ComparisonSettings::default() };
        let (one, other) = (named(document), named(other));
        for comparison in [results(one, &[other], &settings), results(other, &[one], &settings)] {
            use_up_any(&comparison);
        }
    }
    if let Ok(merged) = merge(vec![document.clone(), other.clone()]) {
        let _text = (merged.text(true), merged.json());
    }
}

/// Carries out the plan of a document on the simulated network, for a while.
///
/// # Panics
/// If the engine does.
pub fn rerun(plan: &Plan) {
    // Other settings of TLS than the library knows are refused before a run.
    if plan.tls.as_ref().is_some_and(|tls| tls_context(tls).is_err()) {
        return;
    }
    let link = Link {
        latency: Duration::from_micros(100),
        sockets_max: SOCKETS_MAX,
        time_max: TIME_MAX,
        waits_max: WAITS_MAX,
        ..Link::default()
    };
    let html = |_: &RequestSeen| {
        vec![Action::Send(Duration::from_millis(1), reply(200, "Content-Type: text/html\r\n", PAGE))]
    };
    if plan.tls.is_some() {
        let peer = TlsPeer::new(HttpPeer::new(html), tls_server().build(), Goodbye::Said);
        run_and_report(plan, link, peer);
    } else if plan.request.version == HttpVersion::Http2 {
        // The peer panics if it is told what HTTP/2 forbids, so the requests are those of the sample.
        let sample = over_http2();
        let plan = plan.clone().edit(|plan| {
            (plan.request, plan.uris) = (sample.request.clone(), sample.uris.clone());
        });
        let hello =
            |_: &StreamSeen| vec![Deed::Reply(Duration::from_millis(1), Reply::new(200).body("hello"))];
        if let Ok(plan) = plan {
            run_and_report(&plan, link, Http2Peer::new(hello));
        }
    } else {
        run_and_report(plan, link, HttpPeer::new(html));
    }
}

const PAGE: &str = "<img src=a.png><img src=/b.png>";

fn run_and_report(plan: &Plan, link: Link, peer: impl Peer + 'static) {
    let document = Document::new(part(), plan.clone(), run(plan, link, peer).summary);
    use_up(&document, &document, false);
}

/// Edits a document as `input` says, and does all that can be done with it. The first byte chooses the document; each
/// three bytes that follow choose a value and what takes its place.
///
/// # Panics
/// If anything does.
pub fn check_edits(input: &[u8]) {
    let Some((&seed, edits)) = input.split_first() else { return };
    let seeds = &*SEEDS;
    let mut document = seeds[usize::from(seed) % seeds.len()].clone();
    let replacements = replacements();
    for edit in edits.chunks_exact(3).take(EDITS_MAX) {
        let mut pointers = pointers(&document);
        // A plan has fewer values than what was measured, and leads to more.
        if edit[2] >= 0x40 && document.get("plan").is_some() {
            pointers.retain(|pointer| pointer.starts_with("/plan"));
        }
        let Some(pointer) =
            pointers.get(usize::from(u16::from_le_bytes([edit[0], edit[1]])) % pointers.len().max(1))
        else {
            break;
        };
        let place = document.pointer_mut(pointer).expect("it was found there");
        *place = replacements[usize::from(edit[2]) % replacements.len()].clone();
    }
    check(document.to_string().as_bytes());
}

/// Does with a document all that the program would.
fn check(json: &[u8]) {
    let saved = match Saved::read(json) {
        Ok(saved) => saved,
        Err(error) => {
            let error = error.to_string();
            assert!(!error.is_empty() && !error.contains('\n'), "expected a sentence, got `{error}`");
            return;
        }
    };
    use_up_any(saved.report());
    match &saved {
        Saved::Result(document) => {
            use_up(document, &SAMPLES[0], false);
            rerun(&document.plan);
        }
        Saved::Sweep(sweep) => rerun(&sweep.plan),
        Saved::Capacity(capacity) => rerun(&capacity.plan),
        Saved::Comparison(_) | Saved::TlsLab(_) => {}
    }
}

/// Makes all forms of a document, for wide screens and narrow ones.
///
/// # Panics
/// If what is written cannot be read.
fn use_up_any(report: &dyn Report) {
    for columns in [None, Some(0), Some(80)] {
        let screen = Screen { columns, ..Screen::default() };
        Form::ALL.into_iter().for_each(|form| drop(report.render(form, screen)));
    }
    let _picture = report.picture(&Style::default());
    let json = report.document(Form::Json).expect("every document has itself");
    let again =
        Saved::read(json.as_bytes()).unwrap_or_else(|error| panic!("what is written can be read: {error}"));
    for form in Form::ALL {
        let rendered = |report: &dyn Report| report.render(form, Screen::default());
        assert_eq!(rendered(again.report()), rendered(report), "{form:?}: what is read is what was written");
    }
}

/// Small documents, of every kind.
///
/// # Panics
/// Never: the documents are ours.
#[must_use]
pub fn of_every_kind() -> Vec<Saved> {
    let read = |seed: &Value| Saved::read(seed.to_string().as_bytes()).expect("it is a document");
    SEEDS.iter().map(read).collect()
}

/// Small documents to begin with, as JSON.
static SEEDS: LazyLock<Vec<Value>> = LazyLock::new(|| {
    let parsed = |json: String| serde_json::from_str(&json).expect("a document is JSON");
    let mut seeds: Vec<Value> = SAMPLES.iter().map(|sample| parsed(sample.json())).collect();
    seeds.push(parsed(small_sweep().json()));
    seeds.push(parsed(small_capacity().json()));
    let [base, new] = [0, 1].map(|index| Named { name: "a", document: &SAMPLES[index] });
    let settings = ComparisonSettings { force: true, ..ComparisonSettings::default() };
    seeds.push(parsed(results(base, &[new], &settings).json()));
    let mut turns = Rounds::new(2, 1, ["a", "b"].map(str::to_owned), &settings);
    turns.add([(0, &SAMPLES[0]), (1, &SAMPLES[0])]);
    seeds.push(parsed(rounds(&turns, &settings).json()));
    seeds.push(parsed(small_tls_lab().document(Form::Json).expect("every document has itself")));
    seeds
});

/// Results of small runs of every kind.
static SAMPLES: LazyLock<Vec<Document>> = LazyLock::new(|| {
    let requests = listed(["/{seq}", "/{rand:1-9}"].map(|uri| ListedRequest {
        server: 0,
        method: b"PUT".to_vec(),
        uri: Template::parse(uri.as_bytes()).expect("it is a template"),
        headers: vec![httperf_plan::Header::parse(b"A: {uuid}").expect("it is a field")],
        body: None,
    }));
    let [quantile, share] = [0.5, 0.1].map(|number| Fraction::try_from(number).expect("it is a fraction"));
    let steps = [Step { period: 0.01, duration: 0.02 }, Step { period: 0.02, duration: 0.01 }];
    let script = [file_session(&[&["/a", "/b"], &["/c"]], Duration::from_millis(5))];
    let set = WorkingSet { prefix: b"/set".to_vec(), files: nonzero(20), miss_rate: 0.5 };
    let plans = [
        connections(5, 2, 1).with(|plan| {
            plan.arrivals = Arrivals::Variable(steps.into());
            plan.uris = UriSource::Requests(requests);
            plan.until = Some(Precision { quantile, share });
        }),
        connections(6, 3, 2).with(|plan| {
            plan.arrivals = at_once(2);
            plan.uris = UriSource::WorkingSet(set);
            plan.runtime = Some(Duration::from_secs(1));
            plan.threads = Some(nonzero(2));
        }),
        calls(6, 100.0, 2).with(|plan| {
            plan.arrivals = Arrivals::Uniform { min: 0.005, max: 0.02 };
            plan.uris = UriSource::List { uris: [b"/a".to_vec(), b"/b".to_vec()].into(), wrap: true };
            plan.phases.warmup = Duration::from_millis(20);
            plan.phases.drain = Duration::from_millis(20);
        }),
        sessions(3, uniform(4, 2, Duration::from_millis(5))).with(|plan| {
            plan.tls = Some(Tls::default());
            plan.targets[0].tls_name = Some("server".to_owned());
        }),
        sessions(3, Script::File(script.into())),
        sessions(2, Script::Pages { pages: 2, think: Duration::from_millis(5) })
            .with(|plan| plan.uris = UriSource::Fixed(b"/dir/page.html".to_vec())),
        over_http2(),
    ];
    plans.map(sample).into()
});

fn over_http2() -> Plan {
    connections(3, 4, 2).with(|plan| {
        plan.request.version = HttpVersion::Http2;
        plan.arrivals = Arrivals::Exponential { mean: 0.01 };
    })
}

fn sample(plan: Plan) -> Document {
    let page = |_: &_| vec![Action::Send(Duration::from_millis(1), reply(200, "", "hello"))];
    let summary =
        run(&plan, Link { sockets_max: SOCKETS_MAX, ..Link::default() }, HttpPeer::new(page)).summary;
    Document::new(part(), plan, summary)
}

fn small_sweep() -> Sweep {
    let settings = SweepSettings {
        rates: vec![50.0, 100.0],
        repeats: 1,
        shuffled_by: None,
        stop_after: None,
        pause_s: 0.0,
        settle_s: 0.0,
    };
    let plan = connections(5, 1, 1).with(|plan| plan.runtime = Some(Duration::from_secs(1)));
    let run_at = |rate: f64| {
        let plan = plan.clone().with(|plan| plan.arrivals = plan.arrivals.at_rate(rate));
        Run::new(rate, 0, Recovery::default(), sample(plan))
    };
    let runs = vec![run_at(50.0), run_at(100.0)];
    Sweep::of(settings, plan, runs, None)
}

fn small_capacity() -> CapacityReport {
    let objectives = Objective::parse_list("p50<5ms").expect("it is an objective");
    let settings = CapacitySettings {
        objectives: objectives.clone(),
        implied: None,
        start: 50.0,
        min_rate: 1.0,
        max_rate: None,
        precision: 0.1,
        trials: 5,
        trial_min_s: 1.0,
        trial_max_s: 1.0,
        trial_longest_s: 1.0,
        pause_s: 0.0,
    };
    let plan = connections(50, 1, 1).with(|plan| {
        plan.objectives.all = objectives;
        plan.runtime = Some(Duration::from_secs(1));
    });
    let trials = [50.0, 100.0].map(|rate| {
        let plan = plan.clone().with(|plan| plan.arrivals = plan.arrivals.at_rate(rate));
        Trial::of(rate, &sample(plan))
    });
    let found = Found { sustained: Some(100.0), end: Some(End::NeverReached), ..Found::default() };
    let mut capacity = CapacityReport::new(settings, plan);
    (capacity.part, capacity.trials, capacity.found) = (Some(part()), trials.into(), found);
    capacity
}

fn small_tls_lab() -> tls_lab::Results {
    let ms = Duration::from_millis;
    let trial = tls_lab::Trial {
        p50: ms(1),
        p99: Some(ms(2)),
        sent: 500.0,
        received: 1500.5,
        cpu: ms(1),
        rate: Some(900.0),
        completed: 300,
        failed: 1,
        why_failed: Some("timed out".to_owned()),
    };
    let agreed = Agreed { version: "TLSv1.3".to_owned(), cipher: "AES".to_owned(), group: None };
    let variant = |name: &str, kind, outcome| tls_lab::Variant { name: name.to_owned(), kind, outcome };
    let measured = TlsLabOutcome::Measured { agreed, trials: vec![trial.clone(), trial] };
    let reason = || "refused".to_owned();
    tls_lab::Results {
        server: "https://server:443".to_owned(),
        settings: TlsLabSettings {
            rounds: 3,
            handshakes: 100,
            rate_handshakes: 200,
            concurrency: 8,
            timeout: ms(5000),
            seed: 1,
            is_verified: false,
        },
        rounds: 2,
        variants: vec![
            variant("X25519", HandshakeKind::Full, measured.clone()),
            variant("X25519", HandshakeKind::Resumed, measured),
            variant("P-256", HandshakeKind::Full, TlsLabOutcome::Refused { reason: reason() }),
            variant("P-384", HandshakeKind::Full, TlsLabOutcome::Lost { round: 2, reason: reason() }),
        ],
    }
}

fn part() -> Part {
    Part {
        started: "2026-11-21T07:00:00Z".to_owned(),
        client: None,
        run: Some("one".to_owned()),
        command: vec!["httperf".to_owned()],
        httperf: "1.0.0".to_owned(),
        ended_early: None,
        machine: Machine::default(),
        capacity: None,
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    use super::*;

    /// Documents that are edited at random, unless `DOCUMENT_EDITS` says otherwise.
    const EDITS: u64 = 40;

    #[test]
    fn documents_that_were_edited_at_random_are_refused_or_can_be_used() {
        let count =
            std::env::var("DOCUMENT_EDITS").ok().and_then(|count| count.parse().ok()).unwrap_or(EDITS);
        for seed in 0..count {
            let input: [u8; 1 + 3 * EDITS_MAX] = Pcg64Mcg::seed_from_u64(seed).random();
            // One edit leads further than several, since one of those is refused.
            let edits = 1 + seed as usize % EDITS_MAX;
            check_edits(&input[..1 + 3 * edits]);
        }
    }

    #[test]
    fn documents_that_nobody_edited_can_be_used() {
        (0..SEEDS.len()).for_each(|seed| check_edits(&[seed as u8]));
        let read: usize =
            SEEDS.iter().filter(|seed| Document::read(seed.to_string().as_bytes()).is_ok()).count();
        assert_eq!(read, SAMPLES.len());
        assert!(Sweep::read(small_sweep().json().as_bytes()).is_ok());
    }
}

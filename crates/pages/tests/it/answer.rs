//! The answer at the end of the full report, and that every other output says the same.

use std::time::Duration;

use httperf_pages::page;
use httperf_plan::{Arrivals, Phases, Plan, Timeouts, UNLIMITED};
use httperf_report::result::{Document, EarlyEnd};
use httperf_report::{Colours, Rest, ScenarioRow, Screen, answer, csv_header, csv_row};
use httperf_testkit::sim::{Action, Edit, HttpPeer, Link, Peer, calls, connections, reply, run};

use crate::documents;

fn text(document: &Document) -> String {
    answer(document, Screen::default(), Rest::Above).to_string()
}

/// Calls at 100/s against a server that answers 50/s, one after the other.
fn overloaded(timeout: Option<Duration>, drain: u64) -> Document {
    let mut plan = connections(10_000, 1, 1).with(|plan| {
        plan.arrivals = Arrivals::Deterministic { period: 0.01 };
        plan.runtime = Some(Duration::from_secs(5));
        plan.phases = Phases { warmup: Duration::from_secs(1), drain: Duration::from_secs(drain) };
        plan.timeouts = Timeouts { timeout, think_timeout: None };
    });
    plan.change(|plan| plan.targets[0].host = "shop.example".to_owned());
    let mut free_at = Duration::ZERO;
    let peer = HttpPeer::new(move |request| {
        free_at = free_at.max(request.at) + Duration::from_millis(20);
        vec![Action::Send(free_at - request.at, reply(200, "", "hello"))]
    });
    finished(plan, peer)
}

fn finished(plan: Plan, peer: impl Peer + 'static) -> Document {
    let summary = run(&plan, Link::default(), peer).summary;
    Document::new(documents::part(), plan, summary)
}

/// Keeps connections and answers nothing.
fn silent() -> Document {
    let mut plan = calls(UNLIMITED, 100.0, 4).with(|plan| {
        plan.runtime = Some(Duration::from_secs(2));
        plan.timeouts = Timeouts { timeout: Some(Duration::from_millis(500)), think_timeout: None };
    });
    plan.change(|plan| plan.targets[0].host = "shop.example".to_owned());
    finished(plan, HttpPeer::new(|_| Vec::new()))
}

#[test]
fn a_run_with_objectives_ends_with_its_answer() {
    insta::assert_snapshot!(text(&documents::with_objectives()));
}

#[test]
fn calls_that_timed_out_count_in_the_percentiles() {
    insta::assert_snapshot!(text(&overloaded(Some(Duration::from_secs(2)), 0)));
}

#[test]
fn a_server_that_answers_nothing_has_no_latency() {
    insta::assert_snapshot!(text(&silent()));
}

#[test]
fn an_interrupted_run_says_when_and_what_is_missing() {
    let Document { plan, summary, .. } = overloaded(None, 10);
    let part = |ending| httperf_report::result::Part { ended_early: Some(ending), ..documents::part() };
    let asked = text(&Document::new(part(EarlyEnd::Asked), plan.clone(), summary.clone()));
    assert!(asked.contains("\ninterrupted  after 6.00 s of 6.00 s, without the drain\n"), "{asked}");
    let mut early = summary;
    (early.duration, early.warmup) = (Duration::ZERO, None);
    let early = text(&Document::new(part(EarlyEnd::Asked), plan, early));
    assert!(early.contains(" of 6.00 s, in the warm-up: nothing was measured\n"), "{early}");
}

/// Runs of all kinds, the last but one overloaded.
fn of_all_kinds() -> [Document; 7] {
    [
        documents::with_objectives(),
        documents::sessions_over_tls(),
        documents::over_http2(),
        documents::one_call(),
        documents::visits(),
        overloaded(Some(Duration::from_secs(2)), 10),
        silent(),
    ]
}

#[test]
fn the_answer_fits_on_a_screen() {
    for document in &of_all_kinds() {
        let text = text(document);
        // The prompt takes the last line.
        assert!(text.lines().count() < 24, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(document.text(true).ends_with(&text));
        let coloured =
            answer(document, Screen { columns: None, colours: Colours::Ansi }, Rest::Above).to_string();
        assert_ne!(coloured, text);
        assert_eq!(without_colours(&coloured), text);
    }
}

/// Answers alone, as terminals of these widths show them.
#[test]
fn the_answer_alone_fits_narrow_terminals_without_broken_words() {
    let documents = of_all_kinds();
    let mut golden = String::new();
    for columns in [40, 60, 80, 120] {
        for (number, document) in documents.iter().enumerate() {
            let text = document.answer(Screen { columns: Some(columns), colours: Colours::None });
            let widest = text.lines().map(|line| line.chars().count()).max().unwrap_or_default();
            assert!(widest <= columns, "{columns} columns:\n{text}");
            if document.figures.visits.is_none() && columns >= 60 {
                assert!(
                    text.lines().count() <= if columns == 60 { 30 } else { 23 },
                    "{columns} columns:\n{text}"
                );
            }
            if [0, 5].contains(&number) {
                golden += &format!("==== {columns} columns\n{text}");
            }
        }
    }
    insta::assert_snapshot!(golden);
}

#[test]
fn visits_are_told_by_their_end_with_what_failed_most() {
    let document = documents::visits();
    let figures = document.figures.visits.as_ref().expect("it has visits");
    let sum = |part: fn(&ScenarioRow) -> u64| figures.total.iter().map(part).sum::<u64>();
    let text = text(&document);
    let line = |name: &str| {
        let at = text.find(name).unwrap_or_else(|| panic!("no `{name}` in {text}"));
        let lines: Vec<&str> = text[at..].trim_start().lines().take(3).map(str::trim_start).collect();
        lines.join(" ")
    };
    let visits = line("\nvisits       ");
    let completed = format!("{} completed in ", sum(|row| row.completed));
    assert!(visits.contains(&completed) && sum(|row| row.abandoned) > 0, "{visits}");
    assert!(visits.contains(&format!("; {} abandoned", sum(|row| row.abandoned))), "{visits}");
    let failures = figures.total.iter().flat_map(|row| row.steps.iter().flat_map(|step| &step.failures));
    let most = failures.clone().max_by_key(|failed| failed.replies).expect("some failed");
    let failed = line("\nfailed       ");
    assert!(failed.contains(&format!("{} of ", most.replies)), "{failed}");
    assert!(failed.contains(&format!("; {} more, above", failures.count() - 1)), "{text}");
}

/// Removes escape sequences.
fn without_colours(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |plain, part| plain + part.split_once('m').expect("a sequence of a colour ends").1)
}

#[test]
fn replies_after_the_load_are_in_no_rate_and_the_answer_says_so() {
    // It answers 50/s, of 100/s that are offered for five seconds, and the rest later.
    let drained = text(&overloaded(None, 10));
    assert!(drained.contains("\nreplied      50.0/s  while offered; "), "{drained}");
    let cut = text(&overloaded(None, 0));
    assert!(!cut.contains("while offered"), "{cut}");
}

#[test]
fn all_outputs_say_the_same_digits() {
    for document in [
        overloaded(None, 0),
        overloaded(None, 10),
        overloaded(Some(Duration::from_secs(2)), 0),
        documents::a_busy_moment(),
    ] {
        let figures = &document.figures;
        let (text, page) = (text(&document), page(&document));
        let rate = format!("{:.1}/s", figures.reply_rate);
        let row = |line: &str| line.trim_end().split(',').map(str::to_owned).collect::<Vec<_>>();
        let (names, values) = (row(&csv_header()), row(&csv_row(&document)));
        let cell = |name: &str| {
            let index = names.iter().position(|column| column == name).expect("a column");
            values[index].clone()
        };
        assert!(text.contains(&format!("\nreplied      {rate}  ")), "{text}");
        assert!(page.contains(&rate), "the page has {rate}");
        assert_eq!(cell("reply_rate") + "/s", rate);
        let p99 = figures.all_calls.p99.expect("there are calls enough");
        let shown = p99.to_string();
        assert!(page.contains(&shown.replace('>', "&#62;")), "the page has {shown}");
        let narrow = if p99.or_more { shown.replace(' ', "") } else { shown };
        assert!(text.contains(&narrow), "{narrow} in {text}");
        assert_eq!(cell("all_p99_ms"), format!("{:.3}", p99.ms));
        assert_eq!(cell("all_beyond").contains("p99;"), p99.or_more);
        let json: serde_json::Value = serde_json::from_str(&document.json()).expect("it is JSON");
        assert_eq!(json["figures"]["all_calls"]["p99"]["ms"], p99.ms);
        assert_eq!(json["figures"]["reply_rate"], figures.reply_rate);
    }
}

//! The page as text: its contents, and what must never be in it.

use std::time::Duration;

use httperf_pages::{Report as _, Saved, comparison_page, page, sweep_page};
use httperf_plan::{Authority, Endpoint, Proxy, UNLIMITED};
use httperf_report::compare::{ComparisonSettings, Named, results};
use httperf_report::headings::Names;
use httperf_report::number::{count, per_second, time};
use httperf_report::result::{Document, merge};
use httperf_report::{AllCalls, Kept, Rest, Screen, Times, answer};
use httperf_testkit::documents::of_every_kind;
use httperf_testkit::sim::{Action, Edit, HttpPeer, Link, calls, connections, listed, reply, run, scenarios};
use lol_html::{HtmlRewriter, Settings, element};
use serde_json::Value;

use crate::documents;
use crate::sweeps;

/// Maximum size of a page in bytes.
const SIZE_MAX: usize = 200_000;

/// Maximum size of a page whose lists and texts are as long as pages show them.
const LONGEST_MAX: usize = 1_500_000;

/// An element as parsed by a browser: its name, and its attributes by name.
type Element = (String, Vec<(String, String)>);

fn elements(page: &str) -> Vec<Element> {
    let mut found = Vec::new();
    let collect = element!("*", |element| {
        let attributes = element.attributes().iter().map(|attribute| (attribute.name(), attribute.value()));
        found.push((element.tag_name(), attributes.collect()));
        Ok(())
    });
    let settings = Settings::new().append_element_content_handler(collect);
    let mut rewriter = HtmlRewriter::new(settings, |_: &[u8]| ());
    rewriter.write(page.as_bytes()).expect("a page is HTML");
    rewriter.end().expect("a page is HTML");
    found
}

/// The page without style and scripts.
fn visible(page: &str) -> String {
    let mut text = page.to_owned();
    for (open, close) in [("<style>", "</style>"), ("<script", "</script>")] {
        while let Some(from) = text.find(open) {
            let to = from + text[from..].find(close).expect("what begins ends") + close.len();
            text.replace_range(from..to, "");
        }
    }
    text
}

fn every_kind() -> Vec<Document> {
    vec![
        documents::a_busy_moment(),
        documents::sessions_over_tls(),
        documents::over_http2(),
        documents::over_http3(),
        documents::hostile(),
        documents::without_replies(),
        documents::without_anything(),
        documents::one_call(),
        documents::one_second(),
        documents::without_detail(),
        documents::slow_to_connect(),
        documents::with_objectives(),
        documents::visits(),
        documents::hostile_visits(),
    ]
}

#[test]
fn a_page_names_the_server_and_the_path_to_it() {
    let mut document = documents::one_call();
    let shows = |document: &Document, text: &str| {
        let page = page(document);
        assert!(page.contains(text), "no `{text}` in {}", visible(&page));
    };
    let further = vec![Endpoint::Tcp(([127, 0, 0, 2], 80).into())];
    document.plan.change(|plan| plan.targets[0].further_endpoints = further);
    shows(&document, "http://server at 127.0.0.1:80, 127.0.0.2:80");
    let authority = |host: &str, port| Authority { host: host.into(), port };
    document.plan.change(|plan| plan.targets[0].authority = Some(authority("server.example", 8080)));
    shows(&document, "http://server:8080 at 127.0.0.1:80, 127.0.0.2:80");
    let proxy = Proxy { authority: authority("proxy", 80), authorization: None, tunnel: false };
    document.plan.change(|plan| plan.proxy = Some(proxy));
    shows(&document, "http://server:8080 through the proxy at 127.0.0.1:80");
}

#[test]
fn a_page_shows_a_run() {
    let text = visible(&page(&documents::one_second()));
    // The hashes change with the scripts.
    let (before, rest) = text.split_once("script-src ").unwrap();
    let (_, after) = rest.split_once(';').unwrap();
    insta::assert_snapshot!(format!("{before}script-src …;{after}"));
}

#[test]
fn everything_has_its_place() {
    let page = page(&documents::a_busy_moment());
    let places = [
        "httperf report: http://shop.example</p>",
        "2026-11-21 07:00:00 UTC",
        "</span>VALID</h2>",
        "<summary>server stall",
        "<strong>server stall:</strong> the server stalled for",
        "<dt>p50</dt>",
        "95 %: ",
        "<dt>p99.9</dt>",
        "<dt>max</dt>",
        "<dt>Connections offered</dt>",
        "<dt>Replies</dt>",
        "<dt>Errors</dt>",
        "<dt>Lag p99</dt>",
        "<dt>CPU</dt>",
        "id=\"histogram\"",
        "id=\"latency\"",
        "id=\"throughput\"",
        ">warm-up</text>",
        ">drain</text>",
        "id=\"errors\"",
        "connreset",
        "id=\"lag\"",
        "id=\"lag-percentiles\"",
        "id=\"open\"",
        "id=\"percentile-table\"",
        "id=\"percentiles\"",
        "id=\"slowest-calls\"",
        "<span class=\"response\" style=\"width: ",
        "db;dur=",
        "id=\"groups\"",
        "id=\"again\"",
        "httperf rerun RESULT.json",
        "AMD EPYC",
        "Connection rate: ",
    ];
    let mut from = 0;
    for place in places {
        let at = page[from..].find(place);
        from += at.unwrap_or_else(|| panic!("`{place}` is not where it should be"));
    }
    let of_tls = visible(&self::page(&documents::sessions_over_tls()));
    for text in ["id=\"tls\"", "TLSv1.3 (", "CN=server", "handshake, resumed", "Sessions offered"] {
        assert!(of_tls.contains(text), "{text}");
    }
}

#[test]
fn http2_has_a_section_and_rows_of_its_own() {
    let text = visible(&page(&documents::over_http2()));
    for part in [
        "HTTP/2 in the clear, GET",
        "wait for a stream",
        "wait for a window",
        "<h2 id=\"http2\">HTTP/2</h2>",
        "<dt>Streams</dt><dd>opened 1200, at once on a connection 100 at most and 99.2 on average, unprocessed 3, retried 2",
        "<dt>Reset by the server</dt><dd>INTERNAL_ERROR (1)</dd>",
        "<dt>Connections ended because of</dt><dd>/&#60;img src=x onerror=alert(2)&#62;",
        "<td>139.0</td><td>211.0</td>",
        "<td>160680</td>",
        "900 of 1200 calls waited for a stream because the server allows 100 at once on a connection",
    ] {
        assert!(text.contains(part), "{part}");
    }
    assert!(!visible(&page(&documents::one_second())).contains("id=\"http2\""));
}

#[test]
fn http3_has_the_figures_of_quic_in_text_and_page_alike() {
    let document = documents::over_http3();
    let (text, page) =
        (documents::sections(&["http2"], &document.plan, &document.summary), visible(&page(&document)));
    let row = |name: &str| {
        let found = text.lines().find_map(|line| line.strip_prefix(&format!("{name:<15} ")));
        found.unwrap_or_else(|| panic!("{name}: {text}")).to_owned()
    };
    for (name, title) in [
        ("packets", "Packets"),
        ("datagrams", "Datagrams"),
        ("round trip", "Round trip of connections"),
        ("window", "Congestion window of connections"),
        ("MTU probes", "Probes of the MTU"),
        ("ECN", "ECN"),
        ("buffers", "Buffers of sockets"),
        ("full buffers", "Full buffers"),
    ] {
        let shown = format!("<dt>{title}</dt><dd>{}</dd>", row(name));
        assert!(page.contains(&shown), "{shown}: {page}");
    }
    assert_eq!(row("ECN"), "received ECT(0) 2000, ECT(1) 1, CE 17; ours confirmed on 2 of 3");
    let lost = "19 datagrams or more were lost in this machine";
    assert!(page.contains(lost) && document.text(true).contains(lost), "{page}");
    // On stderr, where text has its warnings.
    assert!(page.contains("--qlog: 2 files are incomplete"), "{page}");
    assert!(page.contains("<th scope=\"col\">packets lost</th>") && !page.contains(">retransmits</th>"));
    assert!(document.text(true).contains(", packets lost: 2"));
}

/// Texts of the cells in the body of a table, row by row.
fn rows(table: &str) -> Vec<Vec<String>> {
    let without_tags = |cell: &str| -> String {
        let mut pieces = cell.split('<');
        let first = pieces.next().unwrap_or_default();
        let rest = pieces.map(|piece| piece.split_once('>').map_or("", |(_, text)| text.trim()));
        std::iter::once(first.trim()).chain(rest).collect()
    };
    let body = table.split_once("<tbody>").and_then(|(_, rest)| rest.split_once("</tbody>"));
    let rows = body.expect("a table has a body").0.split("</tr>");
    let cells = |row: &str| -> Vec<String> {
        let row = row.replace("</th>", "</td>");
        let ended = row.rsplit_once("</td>").map_or("", |(ended, _)| ended);
        ended.split("</td>").map(without_tags).collect()
    };
    rows.filter(|row| row.contains("</td>")).map(cells).collect()
}

/// Compares a row of a table with figures of the JSON document.
#[track_caller]
fn check_row(row: &[String], name: &str, figures: &[&Value]) {
    assert!(row[0].starts_with(name), "{row:?}: {name}");
    assert_eq!(row.len(), figures.len() + 1, "{row:?}");
    for (cell, figure) in row[1..].iter().zip(figures) {
        let number = |text: &str| text.replace(',', "").parse().unwrap_or(f64::NAN);
        let figure = figure.as_f64().unwrap_or(f64::NAN);
        let (cell, figure, tolerance) = match cell.strip_suffix(" %") {
            Some(percent) => (number(percent), 100.0 * figure, 0.051),
            None => (number(cell), figure, 0.000_51),
        };
        assert!(
            (cell - figure).abs() <= tolerance || cell.is_nan() && figure.is_nan(),
            "{row:?}: {cell} {figure}"
        );
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("it is a list")
}

#[test]
fn figures_of_visits_are_those_of_the_document() {
    let document = documents::visits();
    let json: Value = serde_json::from_str(&document.json()).expect("it is JSON");
    let figures = &json["figures"]["visits"];
    let text = visible(&page(&document));
    let (_, section) = text.split_once("id=\"visits\"").expect("there is a section");
    let (section, _) = section.split_once("</section>").expect("what begins ends");
    let tables: Vec<Vec<Vec<String>>> = section.split("<table").skip(1).map(rows).collect();
    // Those of the run, that of failures, and those of each phase.
    let (phases, failed) = (list(&figures["phases"]), &tables[2]);
    assert_eq!((phases.len(), tables.len()), (2, 7));
    check_visits(&figures["total"], &tables[..2]);
    for (phase, tables) in phases.iter().zip(tables[3..].chunks(2)) {
        check_visits(&phase["scenarios"], tables);
        let name = phase["phase"].as_str().expect("it has a name");
        assert!(section.contains(&format!("<summary>Phase {name}</summary>")), "{name}");
    }
    let steps = list(&figures["total"]).iter().flat_map(|scenario| list(&scenario["steps"]));
    let failures: Vec<&Value> = steps.flat_map(|step| list(&step["failures"])).collect();
    assert!(failures.len() > 4 && failures.len() == failed.len(), "{failures:?} {failed:?}");
    for (row, failure) in failed.iter().zip(failures) {
        let look = failure["look"].as_str().expect("it is text");
        let came = failure["statuses"].as_object().map_or_else(String::new, |statuses| {
            let each = statuses.iter().map(|(status, replies)| format!("{status}: {replies}"));
            format!("got {}", each.collect::<Vec<_>>().join(", "))
        });
        let look = look.replace('"', "&#34;").replace('<', "&#60;").replace('>', "&#62;");
        assert_eq!(row[1], look + &came);
        assert_eq!(row[2].replace(',', ""), failure["replies"].to_string());
    }
    assert!(!visible(&page(&documents::one_second())).contains("id=\"visits\""));
}

/// Compares the tables of visits and of steps with the figures of the JSON document.
#[track_caller]
fn check_visits(scenarios: &Value, tables: &[Vec<Vec<String>>]) {
    let scenarios = list(scenarios);
    assert_eq!(tables[0].len(), scenarios.len());
    let mut steps = tables[1].iter();
    for (row, scenario) in tables[0].iter().zip(scenarios) {
        let name = scenario["scenario"].as_str().expect("it has a name");
        let counts = ["completed", "abandoned", "cut"].map(|key| &scenario[key]);
        let times = ["mean", "p50", "p90", "p99", "max"].map(|key| &scenario["duration_ms"][key]);
        check_row(row, name, &[&counts[..], &times].concat());
        for step in list(&scenario["steps"]) {
            let name = format!("{name}/{}", step["step"].as_str().expect("it has a name"));
            let errors = ["failed", "http_errors", "unexpected"].map(|key| step[key].as_u64());
            let errors = Value::from(errors.into_iter().map(|count| count.expect("a count")).sum::<u64>());
            let counts = [&step["calls"], &errors, &step["checks_failed"], &step["abandoned"]];
            let times = ["latency_ms", "service_ms"].map(|clock| [&step[clock]["p50"], &step[clock]["p99"]]);
            let figures = [&counts[..], &times[0], &times[1], &[&step["time_share"]]].concat();
            check_row(steps.next().expect("each step has a row"), &name, &figures);
        }
    }
    assert_eq!(steps.next(), None);
}

#[test]
fn charts_over_time_mark_the_beginnings_of_load_phases() {
    let page = page(&documents::visits());
    let text = visible(&page);
    let charts = text.matches("aria-label=\"Calls that were due").count();
    assert_eq!(charts, 1, "the throughput is a chart over time");
    let (_, throughput) = text.split_once("aria-label=\"Calls that were due").expect("there is a chart");
    let (throughput, _) = throughput.split_once("</figure>").expect("what begins ends");
    assert_eq!(throughput.matches("<line class=\"begin\"").count(), 2);
    // The first two of six seconds are the ramp, whatever follows.
    let named = |name: &str| throughput.contains(&format!(">{name}</text>"));
    assert!(named("ramp") && named("hold"), "{throughput}");
    assert!(text.contains("Dashed lines mark the beginnings of load phases."));
    let other = visible(&self::page(&documents::a_busy_moment()));
    let (_, throughput) = other.split_once("id=\"throughput\"").expect("there is a chart");
    let (throughput, _) = throughput.split_once("</figure>").expect("what begins ends");
    assert!(!throughput.contains("class=\"begin\"") && !other.contains("load phases"));
}

#[test]
fn names_of_load_phases_never_become_markup() {
    let allowed = elements(&page(&documents::visits()));
    let found = elements(&page(&documents::hostile_visits()));
    for (name, attributes) in &found {
        assert!(allowed.iter().any(|(allowed, _)| allowed == name), "{name}");
        assert!(attributes.iter().all(|(attribute, _)| !attribute.starts_with("on")), "{name}");
    }
}

#[test]
fn text_from_outside_never_becomes_markup_or_script() {
    let page = page(&documents::hostile());
    let allowed = elements(&self::page(&documents::a_busy_moment()));
    let names = |elements: &[Element]| {
        let mut names: Vec<String> = elements.iter().map(|(name, _)| name.clone()).collect();
        names.sort();
        names.dedup();
        names
    };
    let found = elements(&page);
    for name in names(&found) {
        assert!(names(&allowed).contains(&name), "{name}");
    }
    assert_eq!(found.iter().filter(|(name, _)| name == "script").count(), 2);
    for (name, attributes) in &found {
        let handler = attributes.iter().find(|(attribute, _)| attribute.starts_with("on"));
        assert_eq!(handler, None, "{name}");
    }
    let (_, data) = page.split_once("<script id=\"charts\" type=\"application/json\">").unwrap();
    let (data, _) = data.split_once("</script>").unwrap();
    assert!(!data.contains('<'), "{data}");
    assert!(!data.contains("evil") && !data.contains("alert"), "{data}");
    // It is displayed literally.
    let text = visible(&page);
    for shown in ["&#60;/script&#62;&#60;script&#62;alert(1)", "&#60;img src=x onerror=alert(2)&#62;"] {
        assert!(text.matches(shown).count() > 5, "{shown}");
    }
}

#[test]
fn a_title_and_a_label_are_on_pages_of_every_kind_and_never_become_markup() {
    let hostile = "</p><script>alert(1)</script>\"'";
    let shown = "&#60;/p&#62;&#60;script&#62;alert(1)&#60;/script&#62;&#34;&#39;";
    let mut kinds = Vec::new();
    for saved in of_every_kind() {
        let report = saved.report();
        kinds.push(report.kind().to_string());
        let plain = report.page();
        assert_eq!(report.named_page(&Names::default()), plain);
        let names = Names { title: Some(hostile.to_owned()), label: Some(format!("label {hostile}")) };
        let page = report.named_page(&names);
        let tags = |page: &str| elements(page).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
        assert_eq!(
            tags(&page).into_iter().filter(|tag| tag != "strong").collect::<Vec<_>>(),
            tags(&plain).into_iter().filter(|tag| tag != "strong").collect::<Vec<_>>()
        );
        let text = visible(&page);
        let (_, facts) = text.split_once("<p class=\"facts-of-run\">").expect("there are facts");
        assert!(facts.starts_with(&format!("label {shown} · ")), "{facts}");
        assert!(text.matches(shown).count() >= 3, "{text}");
        if let Saved::Result(document) = &saved {
            // What the title stood for, and what the run says of the server.
            assert!(facts.contains(" · http") && facts.contains("://server"), "{facts}");
            let heading = text.split_once("<h1>").and_then(|(_, rest)| rest.split_once("</h1>"));
            let heading = heading.expect("there is a heading").0.to_lowercase();
            let first =
                document.conclusion.text.to_lowercase().split(' ').next().unwrap_or_default().to_owned();
            assert!(heading.starts_with(&first), "{heading}");
        }
    }
    kinds.sort();
    kinds.dedup();
    assert_eq!(kinds.len(), 5, "{kinds:?}");
}

#[test]
fn the_page_of_a_capacity_is_headed_by_what_was_found() {
    let capacity = of_every_kind().into_iter().find_map(|saved| match saved {
        Saved::Capacity(capacity) => Some(capacity),
        _ => None,
    });
    let capacity = capacity.expect("there is one");
    let text = visible(&capacity.page());
    let (_, heading) = text.split_once("<h1>").expect("there is a heading");
    let (heading, _) = heading.split_once("</h1>").expect("what begins ends");
    assert_eq!(heading.to_lowercase(), capacity.headline().to_lowercase());
    assert!(text.contains("httperf capacity: http://"), "{text}");
}

#[test]
fn a_page_is_self_contained() {
    for document in every_kind() {
        let page = page(&document);
        for (name, attributes) in elements(&page) {
            for (attribute, value) in attributes {
                let is_reference = ["src", "srcset", "href", "action", "data", "poster", "background"]
                    .contains(&attribute.as_str());
                // Marks of charts refer to shapes of the page itself.
                let is_own = value == "data:," || name == "use" && value.starts_with("#mark-");
                assert!(!is_reference || is_own, "{name} {attribute}={value}");
            }
        }
        let (_, style) = page.split_once("<style>").unwrap();
        let (style, _) = style.split_once("</style>").unwrap();
        for loads in ["@import", "url(", "image-set(", "@font-face"] {
            assert!(!style.contains(loads), "{loads}");
        }
    }
}

#[test]
fn a_page_is_small_enough_to_be_sent_by_mail() {
    let long = [documents::a_busy_minute(), documents::ten_minutes(), documents::twenty_minutes()];
    for document in every_kind().into_iter().chain(long) {
        let size = page(&document).len();
        assert!(size < SIZE_MAX, "{size}");
    }
}

#[test]
fn a_page_of_a_long_run_with_many_steps_is_small_too() {
    let mut document = documents::ten_minutes();
    let mut visits = documents::visits().figures.visits.expect("it has visits");
    let phases = visits.phases.iter_mut().flat_map(|phase| &mut phase.scenarios);
    for scenario in visits.total.iter_mut().chain(phases) {
        scenario.steps = scenario.steps.iter().cycle().take(10).cloned().collect();
    }
    let steps: usize = visits.total.iter().map(|scenario| scenario.steps.len()).sum();
    assert!(steps >= 20, "{steps}");
    document.figures.visits = Some(visits);
    let size = page(&document).len();
    assert!(size < SIZE_MAX, "{size}");
}

#[test]
fn the_answer_comes_first() {
    let order = |document: &Document, places: &[&str]| {
        let text = visible(&page(document));
        let found: Vec<Option<usize>> = places.iter().map(|place| text.find(place)).collect();
        assert!(found.iter().all(Option::is_some) && found.is_sorted(), "{places:?} {found:?}");
        text
    };
    let mut document = documents::with_objectives();
    let word = |document: &Document| {
        let objectives = &document.objectives;
        let is_any = |outcome| objectives.iter().any(|judged| judged.outcome == outcome);
        if is_any(Kept::Missed) {
            "FAIL"
        } else if is_any(Kept::Unknown) {
            "UNDECIDED"
        } else {
            "PASS"
        }
    };
    let outcome = format!("</span>{}</h2>", word(&document));
    let (verdict, tiles) = ("class=\"card judgement verdict", "<dl class=\"tiles five\">");
    order(&document, &[&outcome, verdict, tiles, "id=\"histogram\"", "id=\"over-time\""]);
    document.parts[0].ended_early = None;
    document.objectives.retain(|judged| judged.outcome == Kept::Met);
    if !document.objectives.is_empty() {
        order(&document, &["<title>PASS: ", "</span>PASS</h2>", verdict, tiles]);
    }
    // A result that says nothing about the server says so before anything else, with all reasons.
    document.verdict = sweeps::limited_by_the_generator().runs.pop().expect("there is one").result.verdict;
    let verdict = "<div class=\"card judgement verdict invalid\"";
    let text = order(&document, &["<title>INVALID: ", verdict, "client cpu", "</span>PASS</h2>", tiles]);
    let (_, first) = text.split_once(verdict).expect("it is there");
    let (first, _) = first.split_once(tiles).expect("they are there");
    assert!(!first.contains("<details"), "{first}");
}

#[test]
fn a_single_objective_has_its_reason_in_the_sentence() {
    let mut document = documents::with_objectives();
    document.parts[0].ended_early = None;
    document.objectives.retain(|judged| judged.outcome == Kept::Missed);
    document.objectives.truncate(1);
    let text = visible(&page(&document));
    let missed = &document.objectives[0];
    let sentence = format!("<p>{}: {missed}.</p>", missed.name());
    assert!(
        text.contains(&sentence.replace('<', "&#60;").replace("&#60;p", "<p").replace("&#60;/p", "</p")),
        "{sentence}: {text}"
    );
    assert!(!text.contains(">MISSED</span>"));
}

#[test]
fn figures_of_the_first_screen_are_those_of_the_document() {
    for document in every_kind() {
        let page = page(&document);
        let json: Value = serde_json::from_str(&document.json()).expect("it is JSON");
        let figures = &json["figures"];
        let shown = |name: &str| tile(&page, name).replace("&#62;", ">");
        for name in ["p50", "p90", "p99", "p99.9", "max"] {
            let figure = &figures["all_calls"][name];
            let expected = match figure["ms"].as_f64() {
                None => "n/a".to_owned(),
                Some(ms) if figure["or_more"] == true => format!("> {}", time(ms)),
                Some(ms) => time(ms),
            };
            assert_eq!(shown(name), expected, "{name}");
        }
        let number = |figure: &Value| figure.as_f64().expect("it is a number");
        assert_eq!(shown("Replies"), per_second(number(&figures["reply_rate"])));
        if let Some(rate) = figures["offered_rate"].as_f64() {
            assert!(page.contains(&format!("<dd class=\"value\">{}</dd>", per_second(rate))), "{rate}");
        }
        let errors = &figures["error_share"];
        if document.plan.recording.detail && errors["of_connections"] == false {
            let kinds = ["failed", "http_errors", "unexpected"].map(|kind| number(&errors[kind]));
            assert_eq!(shown("Errors"), count(kinds.iter().sum::<f64>() as u64));
        }
        let lag = figures["lag_ms"]["p99"].as_f64();
        assert_eq!(shown("Lag p99"), lag.map_or_else(|| "n/a".to_owned(), time));
    }
}

#[test]
fn a_chart_is_left_out_if_there_is_nothing_to_draw() {
    let cases = [
        (
            documents::without_anything(),
            &["histogram", "latency", "throughput", "errors", "lag", "open", "percentiles"][..],
        ),
        (
            documents::without_detail(),
            &["histogram", "latency", "throughput", "errors", "lag", "open", "percentiles"],
        ),
        (documents::without_replies(), &["histogram", "latency", "percentiles"]),
        (documents::one_call(), &["histogram", "errors", "lag"]),
    ];
    for (document, missing) in cases {
        let page = page(&document);
        for chart in missing {
            assert!(!page.contains(&format!("id=\"{chart}\"")), "{chart}");
        }
    }
}

#[test]
fn the_text_is_folded() {
    let text = visible(&page(&documents::one_second()));
    assert!(text.contains("<details><summary>Show it</summary><pre>"), "{text}");
}

#[test]
fn the_heading_has_the_whole_url() {
    let mut document = documents::one_call();
    let host = "a-rather-long-name.".repeat(13);
    let path = format!("/{}?b=\"<c>\"", "long/".repeat(100));
    document.plan.change(|plan| {
        plan.targets[0].host.clone_from(&host);
        plan.uris = httperf_plan::UriSource::Fixed(path.clone().into_bytes());
    });
    let escaped = path.replace('"', "&#34;").replace('<', "&#60;").replace('>', "&#62;");
    assert!(
        page(&document).contains(&format!("<p class=\"kicker\">httperf report: http://{host}{escaped}</p>"))
    );
}

#[test]
fn figures_in_tables_and_tiles_are_those_of_the_document() {
    for document in every_kind() {
        let text = visible(&page(&document));
        let (_, table) = text.split_once("id=\"percentile-table\"").expect("there is a table");
        let row = |name: &str| -> Vec<f64> {
            let (_, row) = table.split_once(&format!("<th scope=\"row\">{name}")).expect("there is a row");
            let (row, _) = row.split_once("</tr>").expect("what begins ends");
            row.split("<td>")
                .skip(1)
                .map(|cell| cell.split('<').next().expect("there is a first").replace(',', ""))
                .map(|cell| cell.trim_start_matches("&#62; ").parse().unwrap_or(f64::NAN))
                .collect()
        };
        let check = |cells: &[f64], figures: [Option<f64>; 10], samples: u64| {
            for (cell, figure) in cells.iter().zip(figures) {
                let figure = figure.unwrap_or(f64::NAN);
                assert!(
                    (cell - figure).abs() <= 0.000_5 || cell.is_nan() && figure.is_nan(),
                    "{cell} {figure}"
                );
            }
            assert_eq!(cells.last(), Some(&(samples as f64)));
        };
        let (answered, all) = (&document.figures.latency_ms, &document.figures.all_calls);
        let Times { mean, min, p50, p75, p90, p95, p99, p999, p9999, max, samples } = *answered;
        let figures = [mean, min, p50, p75, p90, p95, p99, p999, p9999, max];
        if all.answered == all.calls {
            check(&row("latency"), figures, samples);
        } else {
            check(&row("answered only"), figures, samples);
            let AllCalls { p50, p75, p90, p95, p99, p999, p9999, max, .. } = *all;
            let [p50, p75, p90, p95, p99, p999, p9999, max] = [p50, p75, p90, p95, p99, p999, p9999, max]
                .map(|found| found.map(|percentile| percentile.ms));
            check(&row("latency"), [None, None, p50, p75, p90, p95, p99, p999, p9999, max], all.calls);
        }
        let (_, replies) = text.split_once("<dt>Replies</dt>").expect("there is a tile");
        let (_, rate) = replies.split_once("<dd class=\"value\">").expect("it has a value");
        let rate: f64 =
            rate.split('/').next().unwrap_or("").replace(',', "").parse().expect("it is a number");
        assert!((rate - document.figures.reply_rate).abs() <= 0.05, "{rate}");
    }
}

/// The value of a tile of a page.
fn tile<'p>(page: &'p str, name: &str) -> &'p str {
    let (_, tile) = page.split_once(&format!("<dt>{name}</dt>")).expect("there is a tile");
    let (_, value) = tile.split_once("<dd class=\"value\">").expect("it has a value");
    value.split_once("</dd>").expect("what begins ends").0
}

#[test]
fn the_rate_of_calls_is_the_one_that_was_offered() {
    let plan = calls(UNLIMITED, 200.0, 1).with(|plan| plan.runtime = Some(Duration::from_secs(2)));
    let peer = HttpPeer::new(|_| vec![Action::Send(Duration::from_millis(20), reply(200, "", "hello"))]);
    let summary = run(&plan, Link::default(), peer).summary;
    let document = Document::new(documents::part(), plan, summary);
    assert!(document.text(true).contains("200.0"), "{}", document.text(true));
    assert_eq!(tile(&page(&document), "Calls offered"), "200.0/s");
}

#[test]
fn each_reply_that_is_an_error_counts_once() {
    // Of each four replies, one has the status 503, one the wrong size, and one both.
    let plan =
        connections(400, 1, 1).with(|plan| plan.replies.expect.size = Some("5".parse().expect("a size")));
    let mut number = 0;
    let peer = HttpPeer::new(move |_| {
        number += 1;
        let status = if number % 2 == 0 { 503 } else { 200 };
        vec![Action::Send(Duration::ZERO, reply(status, "", if number % 4 < 2 { "hello" } else { "hi" }))]
    });
    let summary = run(&plan, Link::default(), peer).summary;
    let page = page(&Document::new(documents::part(), plan, summary));
    assert_eq!(tile(&page, "Errors"), "300");
    assert!(page.contains("75.0 % of 400 calls"));
    // One that is both counts as unexpected.
    assert!(page.contains("100 replies of 4xx and 5xx"));
    assert!(page.contains("200 unexpected replies"));
}

#[test]
fn replies_that_a_step_expects_are_no_errors() {
    let shop = "base = \"http://shop\"\n[arrivals]\nusers = 1\nvisits = 20\n[[scenario]]\nname = \"s\"\nsteps = [{ run = \"a.hurl\" }]";
    let plan = scenarios(shop, &[("a.hurl", "GET {{base}}/a\nHTTP 404\n")]);
    let peer = HttpPeer::new(|_| vec![Action::Send(Duration::ZERO, reply(404, "", "none"))]);
    let summary = run(&plan, Link::default(), peer).summary;
    assert_eq!(summary.statuses[3], 20);
    let document = Document::new(documents::part(), plan, summary);
    assert_eq!(tile(&page(&document), "Errors"), "0");
    let answer = answer(&document, Screen::default(), Rest::Above).to_string();
    assert!(answer.contains("errors") && answer.contains("none"), "{answer}");
}

#[test]
fn ids_are_unique() {
    for document in every_kind() {
        let attributes = elements(&page(&document)).into_iter().flat_map(|(_, attributes)| attributes);
        let (mut ids, mut labels) = (Vec::new(), Vec::new());
        for (name, value) in attributes {
            match name.as_str() {
                "id" => ids.push(value),
                "aria-labelledby" => labels.push(value),
                _ => {}
            }
        }
        let count = ids.len();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), count, "{ids:?}");
        assert!(labels.iter().all(|label| ids.contains(label)), "{labels:?}");
    }
}

#[test]
fn missing_data_is_mentioned() {
    let cases = [
        (documents::without_anything(), "The run was too short to be shown over time."),
        (documents::without_anything(), "The run was stopped early, on request."),
        (documents::without_replies(), "No call was answered, so there is no latency to show."),
        (documents::without_replies(), "There were no replies."),
        (documents::one_call(), "only 1 call was made"),
        (documents::one_second(), "No connection failed."),
        (documents::without_detail(), "were not recorded (--record=classic)"),
    ];
    for (document, sentence) in cases {
        let text = visible(&page(&document));
        assert!(text.contains(sentence), "{sentence}: {text}");
    }
}

#[test]
fn differences_between_the_clocks_are_explained() {
    let sentence = "latency counts from the schedule";
    let text = visible(&page(&documents::slow_to_connect()));
    assert!(text.contains(&format!("<p class=\"card sentence\">{sentence}")), "{text}");
    assert!(!visible(&page(&documents::one_second())).contains(sentence));
}

#[test]
fn a_command_can_be_pasted_into_a_shell() {
    let mut document = documents::one_second();
    document.parts[0].command =
        ["httperf", "--add-header=It's: $HOME\n", "--uri=/a b"].map(str::to_owned).into();
    let text = visible(&page(&document));
    let (_, command) = text.split_once("<div class=\"command\"><code>").unwrap();
    let (command, _) = command.split_once("</code>").unwrap();
    let command = command.replace("&#34;", "\"").replace("&#39;", "'");
    let words = shlex::split(&command).unwrap();
    assert_eq!(words, document.parts[0].command, "{command}");
}

#[test]
fn the_parts_of_a_merged_result_are_all_there() {
    let part = |host: &str, rate: &str| {
        let mut document = documents::one_second();
        document.parts[0].machine.host = host.to_owned();
        document.parts[0].command = vec!["httperf".to_owned(), rate.to_owned()];
        document
    };
    let merged = merge(vec![part("one", "--rate=200"), part("two", "--rate=201")]).unwrap();
    let text = visible(&page(&merged));
    let shown = [
        "2 merged parts",
        "400.0 connections/s requested of 2 parts",
        "--rate=200",
        "--rate=201",
        "<dd>one</dd>",
        "<dd>two</dd>",
    ];
    for shown in shown {
        assert!(text.contains(shown), "{shown}");
    }
}

#[test]
fn long_lists_and_texts_are_truncated() {
    let mut document = documents::one_second();
    let call = document.summary.slowest[0].clone();
    let uri = format!("/{}", "x".repeat(100_000));
    document.summary.slowest = vec![httperf_stats::SlowCall { uri: uri.clone(), ..call }; 5_000];
    document.plan.change(|plan| {
        plan.uris = httperf_plan::UriSource::List { uris: listed(vec![uri.into_bytes(); 100]), wrap: true };
    });
    let page = page(&document);
    assert!(page.len() < LONGEST_MAX, "{}", page.len());
    assert!(page.contains("The result has 4900 more."));
}

#[test]
fn the_page_of_a_sweep_has_everything_in_its_place() {
    let page = sweep_page(&sweeps::limited_by_the_generator());
    let places = [
        "<title>Sweep: http://server, 2026-11-21 07:00:00 UTC</title>",
        "httperf sweep: http://server</p>",
        "2026-11-21 07:00:00 UTC · 8 runs · from loadgen-3",
        "<dt>Knee</dt>",
        "<dt>Most replies without error</dt>",
        "<dt>Limited by the generator</dt>",
        "of 8 runs (12.5 %)",
        "All runs are complete.",
        "At 100 connections/s the generator was the bottleneck",
        "id=\"replies\"",
        "id=\"errors\"",
        "id=\"times\"",
        "id=\"runs\"",
        "<th scope=\"row\">10</th>",
        "<span class=\"kind invalid\">INVALID</span>",
        "client cpu",
        "The notes in full",
        "<strong>client cpu:</strong>",
        "id=\"again\"",
        "10, 20, 30, 40, 50, 60, 80, 100 connections/s",
        "after 3 rates in a row",
        "<dt>Server</dt>",
        "AMD EPYC",
    ];
    let mut from = 0;
    for place in places {
        let at = page[from..].find(place);
        from += at.unwrap_or_else(|| panic!("`{place}` is not where it should be in {}", visible(&page)));
    }
    assert!(page.len() < SIZE_MAX);
    let repeated = visible(&sweep_page(&sweeps::saturating()));
    assert!(repeated.contains("<small>run 2</small>") && !repeated.contains("bottleneck"), "{repeated}");
}

#[test]
fn text_from_outside_never_becomes_markup_or_script_in_the_page_of_a_comparison() {
    let documents = [documents::hostile(), documents::hostile()];
    let page_of = |name| {
        let named = documents.each_ref().map(|document| Named { name, document });
        let settings = ComparisonSettings { force: true, ..ComparisonSettings::default() };
        comparison_page(&results(named[0], &named[1..], &settings))
    };
    let allowed = elements(&page_of("new.json"));
    let page = page_of("</script><script>alert(1)</script><svg/onload=alert(2)>\"'.json");
    let found = elements(&page);
    let names = |elements: &[Element]| elements.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&found), names(&allowed));
    for (name, attributes) in &found {
        assert!(attributes.iter().all(|(attribute, _)| !attribute.starts_with("on")), "{name}");
    }
    let (_, data) = page.split_once("<script id=\"charts\" type=\"application/json\">").unwrap();
    let (data, _) = data.split_once("</script>").unwrap();
    assert!(!data.contains('<') && !data.contains("alert"), "{data}");
    assert!(page.len() < SIZE_MAX);
}

#[test]
fn a_sweep_without_runs_has_a_page() {
    let page = visible(&sweep_page(&sweeps::empty()));
    assert!(page.contains("No run was made.") && page.contains("It is in progress"), "{page}");
}

#[test]
fn text_from_outside_never_becomes_markup_or_script_in_the_page_of_a_sweep() {
    let page = sweep_page(&sweeps::hostile());
    let allowed = elements(&sweep_page(&sweeps::limited_by_the_generator()));
    let found = elements(&page);
    for (name, attributes) in &found {
        assert!(allowed.iter().any(|(allowed, _)| allowed == name), "{name}");
        let handler = attributes.iter().find(|(attribute, _)| attribute.starts_with("on"));
        assert_eq!(handler, None, "{name}");
    }
    assert_eq!(found.iter().filter(|(name, _)| name == "script").count(), 2);
    let (_, data) = page.split_once("<script id=\"charts\" type=\"application/json\">").unwrap();
    let (data, _) = data.split_once("</script>").unwrap();
    assert!(!data.contains('<') && !data.contains("alert"), "{data}");
}

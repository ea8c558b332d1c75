//! Page of variants of TLS: the same kind of page as that of a result, with its protection against hostile text.

use askama::Template;
use httperf_pictures::{Chart, of_tls_lab};
use httperf_report::headings::Names;
use httperf_report::number::count;
use httperf_report::tls_lab::text::{TITLES, TableRow, references, rows};
use httperf_report::tls_lab::{Results, verdict};

use super::about::{Fact, fact};
use super::scripts::{PAGE, Script};
use super::style::STYLE;

/// Renders variants of TLS as an HTML page.
#[must_use]
pub fn tls_lab_page(results: &Results) -> String {
    named_tls_lab_page(results, &Names::default())
}

pub(super) fn named_tls_lab_page(results: &Results, names: &Names) -> String {
    let settings = &results.settings;
    let rounds = match results.is_interrupted() {
        true => format!("{} of {} rounds (interrupted)", count(results.rounds), count(settings.rounds)),
        false => format!("{} rounds", count(results.rounds)),
    };
    let page = Page {
        title: names.title(results.server.clone()),
        facts: names.facts(&results.server).into_iter().chain([rounds]).collect(),
        references: references(results).unwrap_or_default(),
        sentences: verdict(results),
        titles: TITLES.map(|(title, _)| title),
        rows: rows(results),
        charts: of_tls_lab(results),
        settings: vec![
            fact("Rounds", count(settings.rounds)),
            fact("Sequential handshakes per trial", count(settings.handshakes)),
            fact("Further handshakes, for the rate", count(settings.rate_handshakes)),
            fact("Concurrency of those", count(settings.concurrency.into())),
            fact("Time limit", format!("{} s", settings.timeout.as_secs_f64())),
            fact("Seed of the order", settings.seed.to_string()),
            fact("Certificates", if settings.is_verified { "verified" } else { "not verified" }.to_owned()),
        ],
        version: env!("CARGO_PKG_VERSION"),
        style: &STYLE,
        script: &PAGE,
    };
    page.render().expect("writing to memory does not fail")
}

#[derive(Template)]
#[template(path = "tls_lab.html")]
struct Page {
    title: String,
    facts: Vec<String>,
    references: String,
    sentences: Vec<String>,
    titles: [&'static str; TITLES.len()],
    rows: Vec<TableRow>,
    charts: Vec<Chart>,
    settings: Vec<Fact>,
    version: &'static str,
    style: &'static str,
    script: &'static Script,
}

//! Text on narrow terminals.

use httperf_report::compare::{ComparisonSettings, Named, results};
use httperf_report::{Colours, Screen, Written};

use crate::{documents, sweeps};

/// The longest line of a text, with its length.
fn longest(text: &str) -> (usize, &str) {
    text.lines()
        .map(|line| (line.chars().count(), line))
        .max_by_key(|(length, _)| *length)
        .unwrap_or_default()
}

#[test]
fn no_line_is_longer_than_those_of_the_terminal() {
    let results_of =
        |document: fn() -> httperf_report::result::Document| -> Box<dyn Written> { Box::new(document()) };
    let compared = || {
        let [base, new] = [documents::a_busy_minute(), documents::a_busy_moment()];
        let named = |name, document| Named { name, document };
        results(
            named("base.json", &base),
            &[named("new.json", &new)],
            &ComparisonSettings { force: true, ..Default::default() },
        )
    };
    let all: [(&str, Box<dyn Written>); 8] = [
        ("objectives", results_of(documents::with_objectives)),
        ("visits", results_of(documents::visits)),
        ("TLS", results_of(documents::sessions_over_tls)),
        ("HTTP/2", results_of(documents::over_http2)),
        ("HTTP/3", results_of(documents::over_http3)),
        ("sweep", Box::new(sweeps::saturating())),
        ("a limited sweep", Box::new(sweeps::limited_by_the_generator())),
        ("comparison", Box::new(compared())),
    ];
    for columns in [40, 47, 60, 79, 80, 120] {
        let screen = Screen { columns: Some(columns), colours: Colours::None };
        for (name, written) in &all {
            // The classic block has the lines that it always had.
            let is_result = written.kind() == httperf_report::Kind::Result;
            let body = if is_result { String::new() } else { written.body(screen) };
            let text = body + &written.ending(screen);
            let (length, line) = longest(&text);
            assert!(length <= columns, "{name}, {columns} columns, {length}: `{line}`\n{text}");
        }
    }
}

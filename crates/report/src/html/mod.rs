//! HTML page of a result: a single self-contained file that needs neither network nor server.
//!
//! `frame.html` has the common parts of all pages, including their security policy, `page.html` the order of
//! sections, `parts.html` shared macros, `style.css` the style; `page.js` draws the charts and follows the
//! reader's choice of light or dark. The modules here only compute what is shown.
//!
//! Text sent by a server, and much of what a user typed, is treated as hostile. Three measures keep it from
//! becoming markup or script: templates escape everything they insert; the data of the charts contains no `<`
//! and no text from outside; and the page's content security policy allows only its own two scripts, by their
//! hashes, and loads nothing.
//!
//! The charts are drawn by [plotly.js](https://github.com/plotly/plotly.js), which is embedded in the page
//! (4.4 MiB, under the MIT licence; its notice is at the top of the script).

pub(crate) mod about;
mod charts;
mod comparison;
mod scripts;
mod slowest;
mod sweep;
mod tables;
mod tiles;

use askama::Template;

use crate::objectives::{Judged, Kept};
use crate::result::Document;
use crate::times::divergence;
use crate::verdict::{Level, Verdict};

use self::about::Fact;
use self::charts::Charts;
use self::scripts::{PAGE, PLOTLY, Script};
use self::slowest::SlowestCalls;
use self::tables::Table;
use self::tiles::Tile;

pub(crate) use self::about::title;
pub use self::charts::Pictures;
pub use self::comparison::comparison_page;
pub use self::sweep::sweep_page;

/// Length in bytes above which text may be wrapped in a table.
const LONG: usize = 40;

/// Renders a document as an HTML page.
#[must_use]
pub fn page(document: &Document) -> String {
    let Document { plan, verdict, summary, .. } = document;
    let completed = summary.completed();
    let page = Page {
        title: title(plan),
        facts: about::run(document),
        endings: about::endings(document),
        banner: Banner::of(verdict),
        objectives: document.objectives.iter().map(Outcome::of).collect(),
        warnings: summary.warnings().iter().map(ToString::to_string).collect(),
        tiles: tiles::of(document),
        charts: Charts::of(document, &completed),
        has_detail: plan.recording.detail,
        divergence: divergence(summary, &completed.latency),
        failures: tables::failures(summary),
        statuses: tables::statuses(summary),
        mismatches: tables::mismatches(summary),
        compressed: tables::compressed(summary),
        times: tables::times(document),
        slowest: SlowestCalls::of(&summary.slowest, plan.recording.clock),
        groups: summary.groups.as_ref().map(tables::groups),
        tls: summary.tls.as_deref().map(|figures| tables::tls(plan, figures)),
        http2: summary.http2.as_deref().map(tables::http2),
        commands: about::commands(document),
        facts_of_plan: about::plan(plan),
        machines: about::machines(document),
        plan_json: about::plan_json(plan),
        text: document.text(true),
        version: document.parts.first().map_or(String::new(), |part| part.httperf.clone()),
        style: include_str!("style.css"),
        plotly: &PLOTLY,
        script: &PAGE,
    };
    page.render().expect("writing to memory does not fail")
}

#[derive(Template)]
#[template(path = "page.html")]
struct Page {
    title: String,
    facts: Vec<String>,
    endings: Vec<String>,
    banner: Banner,
    objectives: Vec<Outcome>,
    warnings: Vec<String>,
    tiles: Vec<Tile>,
    charts: Charts,
    has_detail: bool,
    divergence: Option<String>,
    failures: Option<Table>,
    statuses: Option<Table>,
    mismatches: Option<Table>,
    compressed: Option<Table>,
    times: Table,
    slowest: Option<SlowestCalls>,
    groups: Option<Table>,
    tls: Option<tables::Protocol>,
    http2: Option<tables::Protocol>,
    commands: Vec<String>,
    facts_of_plan: Vec<Fact>,
    machines: Vec<Vec<Fact>>,
    plan_json: String,
    text: String,
    version: String,
    style: &'static str,
    plotly: &'static Script,
    script: &'static Script,
}

/// The verdict as a symbol, a word and a sentence.
struct Banner {
    class: &'static str,
    symbol: &'static str,
    word: String,
    meaning: &'static str,
    reasons: Vec<Reason>,
}

struct Reason {
    class: &'static str,
    kind: &'static str,
    name: &'static str,
    text: String,
}

impl Banner {
    fn of(verdict: &Verdict) -> Self {
        let (class, symbol, meaning) = match verdict.level {
            Level::Valid => ("valid", "✓", "The figures are reliable."),
            Level::Suspect => ("suspect", "!", "Some of the figures may be off."),
            Level::Invalid => {
                ("invalid", "✕", "The figures describe the generator or its machine rather than the server.")
            }
        };
        let reasons = verdict.reasons.iter().map(|reason| {
            let (class, kind) = match reason.level {
                Level::Valid => ("valid", "note"),
                Level::Suspect => ("suspect", "suspect"),
                Level::Invalid => ("invalid", "invalid"),
            };
            Reason { class, kind, name: reason.finding.name(), text: reason.finding.to_string() }
        });
        Self { class, symbol, word: verdict.level.to_string(), meaning, reasons: reasons.collect() }
    }
}

/// Outcome of an objective.
struct Outcome {
    class: &'static str,
    word: String,
    objective: String,
    text: String,
}

impl Outcome {
    fn of(judged: &Judged) -> Self {
        let class = match judged.outcome {
            Kept::Met => "valid",
            Kept::Missed => "invalid",
            Kept::Unknown => "suspect",
        };
        let (word, objective) = (judged.outcome.to_string(), judged.objective.to_string());
        Self { class, word, objective, text: judged.to_string() }
    }
}

/// Truncates text from outside.
fn cut(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

//! Documents as HTML pages, and with those every form of any document.
//!
//! A page is a single self-contained file that needs neither network nor server.
//!
//! `frame.html` has the common parts of all pages, including their security policy, `page.html` the order of
//! sections, `parts.html` shared macros, `style.css` the style. The charts are SVG by `httperf_pictures`;
//! `page.js` reads off their values and zooms. The modules here only compute what is shown.
//!
//! Text sent by a server, and much of what a user typed, is treated as hostile. Three measures keep it from
//! becoming markup or script: templates escape everything they insert, except the charts, which escape the only
//! text from outside in them, the names of load phases; the data of the charts contains no `<`; and the page's content security policy allows
//! only its own script, by its hash, and loads nothing.

mod about;
mod capacity;
mod comparison;
mod fleet;
mod replay;
mod saved;
mod scripts;
mod slowest;
mod style;
mod sweep;
mod tables;
mod tiles;
mod tls_lab;
mod visible;
mod visits;

use askama::Template;
use httperf_pictures::{RunCharts, has_load_phases};
use httperf_report::headings::Names;
use httperf_report::number::{count, grouped};
use httperf_report::result::Document;
use httperf_report::{
    Judged, Kept, Level, Verdict, divergence, headings, of_connections, of_replies, only_cause,
};

use self::about::Fact;
use self::fleet::Ranks;
use self::replay::Replayed;
use self::scripts::{PAGE, Script};
use self::slowest::SlowestCalls;
use self::style::STYLE;
use self::tables::{Subject, Table};
use self::tiles::{LatencyCard, Tile};
use self::visits::Visits;

pub use self::capacity::capacity_page;
pub use self::comparison::comparison_page;
pub use self::saved::{Report, Saved};
pub use self::sweep::sweep_page;
pub use self::tls_lab::tls_lab_page;

/// Length in bytes above which text may be wrapped in a table.
const LONG: usize = 40;

/// Renders a document as an HTML page.
#[must_use]
pub fn page(document: &Document) -> String {
    named_page(document, &Names::default())
}

fn named_page(document: &Document, names: &Names) -> String {
    let document = &*document.without_secrets();
    let Document { plan, verdict, summary, .. } = document;
    let completed = summary.completed();
    let warnings: Vec<String> = summary.warnings().iter().map(ToString::to_string).collect();
    let banner = Banner::of(verdict, &warnings);
    let outcome = Outcome::of(document);
    let charts = RunCharts::of(document, &completed);
    let page = Page {
        title: names.title(headings::url(plan)),
        is_titled: names.title.is_some(),
        conclusion: capitalised(&document.conclusion.text),
        word: match &outcome {
            Some(outcome) if !banner.is_loud => outcome.word.to_owned(),
            _ => banner.word.clone(),
        },
        facts: names.facts(&headings::url(plan)).into_iter().chain(headings::run(document)).collect(),
        endings: about::endings(document),
        banner,
        outcome,
        objectives: document.objectives.iter().map(Objective::of).collect(),
        warnings,
        latency: LatencyCard::of(document),
        load: tiles::load(document),
        of_protocol: tiles::of_protocol(&document.figures),
        generator: tiles::generator(document),
        interval: match charts.interval_s.round() {
            0.0..=1.0 => "a second".to_owned(),
            seconds => format!("{} seconds", grouped(seconds, 0)),
        },
        charts,
        has_load_phases: has_load_phases(document),
        has_detail: plan.recording.detail,
        divergence: divergence(summary, &completed.latency),
        failures: tables::failures(summary, &document.figures.causes),
        statuses: tables::statuses(summary),
        mismatches: tables::mismatches(summary),
        compressed: tables::compressed(summary),
        visits: document.figures.visits.as_ref().map(Visits::of),
        replay: Replayed::of(document),
        fleet: Ranks::of(document),
        times: tables::times(document),
        slowest: SlowestCalls::of(
            &summary.slowest,
            plan.times_by_kernel(),
            only_cause(plan, summary).as_deref(),
        ),
        groups: summary.groups.as_ref().map(tables::groups),
        of_replies: of_replies(document).iter().map(tables::subject).collect(),
        of_connections: of_connections(document).iter().map(tables::subject).collect(),
        commands: about::commands(&document.parts),
        facts_of_plan: about::plan(plan),
        machines: about::machines(&document.parts),
        plan_json: about::plan_json(plan),
        text: document.text(true),
        version: document.parts.first().map_or(String::new(), |part| part.httperf.clone()),
        style: &STYLE,
        script: &PAGE,
    };
    page.render().expect("writing to memory does not fail")
}

#[derive(Template)]
#[template(path = "page.html")]
struct Page {
    title: String,
    /// True if a user chose the title.
    is_titled: bool,
    conclusion: String,
    /// Outcome in one word, for the title of the window.
    word: String,
    facts: Vec<String>,
    endings: Vec<String>,
    banner: Banner,
    outcome: Option<Outcome>,
    objectives: Vec<Objective>,
    warnings: Vec<String>,
    latency: LatencyCard,
    load: Vec<Tile>,
    /// Figures of streams, WebSockets and gRPC.
    of_protocol: Vec<Tile>,
    generator: Vec<Tile>,
    /// Length of an interval of the series, for people.
    interval: String,
    charts: RunCharts,
    /// True if the charts over time mark the beginnings of load phases.
    has_load_phases: bool,
    has_detail: bool,
    divergence: Option<String>,
    failures: Option<Table>,
    statuses: Option<Table>,
    mismatches: Option<Table>,
    compressed: Option<Table>,
    visits: Option<Visits>,
    replay: Option<Replayed>,
    fleet: Option<Ranks>,
    times: Table,
    slowest: Option<SlowestCalls>,
    groups: Option<Table>,
    of_replies: Vec<Subject>,
    of_connections: Vec<Subject>,
    commands: Vec<String>,
    facts_of_plan: Vec<Fact>,
    machines: Vec<Vec<Fact>>,
    plan_json: String,
    text: String,
    version: String,
    style: &'static str,
    script: &'static Script,
}

/// A sentence with its first letter capital.
fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect()
}

/// The verdict as a symbol, a word and a sentence.
struct Banner {
    class: &'static str,
    symbol: &'static str,
    word: String,
    /// Meaning for the figures, with the first reason.
    meaning: String,
    /// True if it comes before the figures.
    is_loud: bool,
    /// Summary of the reasons and warnings.
    summary: String,
    reasons: Vec<Reason>,
}

struct Reason {
    class: &'static str,
    kind: &'static str,
    name: &'static str,
    text: String,
}

impl Banner {
    fn of(verdict: &Verdict, warnings: &[String]) -> Self {
        let (class, symbol, meaning) = match verdict.level {
            Level::Valid => ("valid", "✓", "The figures are reliable"),
            Level::Suspect => ("suspect", "!", "Some of the figures may be off"),
            Level::Invalid => {
                ("invalid", "✕", "The figures describe the generator or its machine rather than the server")
            }
        };
        let worst = verdict
            .reasons
            .iter()
            .find(|reason| reason.level == verdict.level && reason.level > Level::Valid);
        let meaning = match worst {
            Some(reason) => format!("{meaning}: {}.", reason.finding),
            None => format!("{meaning}."),
        };
        let reasons = verdict.reasons.iter().map(|reason| {
            let (class, kind) = match reason.level {
                Level::Valid => ("valid", "note"),
                Level::Suspect => ("suspect", "suspect"),
                Level::Invalid => ("invalid", "invalid"),
            };
            Reason { class, kind, name: reason.finding.name(), text: reason.finding.to_string() }
        });
        let reasons: Vec<Reason> = reasons.collect();
        let mut names: Vec<&str> = reasons.iter().map(|reason| reason.name).collect();
        if !warnings.is_empty() {
            names.push(if warnings.len() == 1 { "1 warning" } else { "warnings" });
        }
        names.dedup();
        Self {
            class,
            symbol,
            word: verdict.level.to_string(),
            meaning,
            is_loud: verdict.level == Level::Invalid,
            summary: names.join(", "),
            reasons,
        }
    }
}

/// Outcome of all objectives together.
struct Outcome {
    class: &'static str,
    symbol: &'static str,
    word: &'static str,
    meaning: String,
}

impl Outcome {
    fn of(document: &Document) -> Option<Self> {
        let objectives = &document.objectives;
        let met = objectives.iter().filter(|judged| judged.outcome == Kept::Met).count();
        let outcome = document.objectives_outcome()?;
        let (class, symbol) = match outcome {
            Kept::Missed => ("invalid", "✕"),
            Kept::Unknown => ("suspect", "?"),
            Kept::Met => ("valid", "✓"),
        };
        let word = outcome.headline();
        let meaning = match &objectives[..] {
            [only] if only.outcome == outcome => format!("{}: {only}", only.name()),
            [_, _] if met == 2 => "Both objectives were met".to_owned(),
            all if all.len() == met => format!("All {} objectives were met", count(all.len() as u64)),
            all => format!("{} of {} objectives were met", count(met as u64), count(all.len() as u64)),
        };
        Some(Self { class, symbol, word, meaning })
    }
}

/// Outcome of an objective.
struct Objective {
    class: &'static str,
    word: String,
    objective: String,
    text: String,
}

impl Objective {
    fn of(judged: &Judged) -> Self {
        let class = match judged.outcome {
            Kept::Met => "valid",
            Kept::Missed => "invalid",
            Kept::Unknown => "suspect",
        };
        let (word, objective) = (judged.outcome.to_string(), judged.name());
        Self { class, word, objective, text: judged.to_string() }
    }
}

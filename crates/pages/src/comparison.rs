//! Page of a comparison: same style as that of a result, same protection against hostile text.

use askama::Template;
use httperf_pictures::{Chart, compared, role};
use httperf_report::compare::{Against, Comparison, Overall, Remark, Row, RowVerdict, Subject};
use httperf_report::headings::{Names, date};
use httperf_report::number::{count, time};
use httperf_report::{Written as _, cut};

use super::LONG;
use super::scripts::{PAGE, Script};
use super::style::STYLE_OF_COMPARISON;

/// Maximum number of characters of a name.
const NAME_LENGTH: usize = 200;

/// Smallest p-value shown.
const P_VALUE_LEAST: f64 = 1e-4;

/// Renders a comparison as an HTML page, with charts of the data compared.
#[must_use]
pub fn comparison_page(comparison: &Comparison) -> String {
    named_comparison_page(comparison, &Names::default())
}

pub(super) fn named_comparison_page(comparison: &Comparison, names: &Names) -> String {
    let Comparison { base, against, .. } = comparison;
    let several = against.len();
    let new = match &against[..] {
        [only] => cut(&only.new.name, NAME_LENGTH),
        all => format!("{} results", all.len()),
    };
    let worst = against
        .iter()
        .max_by_key(|against| against.outcome())
        .map_or(Overall::NotEnoughData, |one| one.verdict);
    let subject = |role: String, subject: &Subject| SubjectRow {
        role,
        name: cut(&subject.name, NAME_LENGTH),
        target: cut(&subject.target, NAME_LENGTH),
        began: subject.started.as_deref().map_or_else(String::new, date),
        duration: time(subject.duration_s * 1e3),
        replies: count(subject.replies),
        conclusion: subject.conclusion.clone(),
        verdict: match subject.ranks {
            Some(ranks) => format!("{}, a fleet of {ranks}", subject.verdict),
            None => subject.verdict.to_string(),
        },
    };
    let news = (1..).zip(against).map(|(number, against)| subject(role(number, several), &against.new));
    let subjects = format!("{new} against {}", cut(&base.name, NAME_LENGTH));
    let began = base.started.iter().map(|started| format!("base of {}", date(started)));
    let page = Page {
        facts: names.facts(&subjects).into_iter().chain(began).collect(),
        title: names.title(subjects),
        word: worst.word(),
        against: (1..).zip(against).map(|(number, one)| Shown::of(number, several, one)).collect(),
        is_about_shown: against.iter().any(|against| !against.rows.is_empty()),
        about: comparison.about(),
        subjects: std::iter::once(subject("base".to_owned(), base)).chain(news).collect(),
        charts: compared(comparison),
        text: comparison.plain_text(),
        version: env!("CARGO_PKG_VERSION"),
        style: &STYLE_OF_COMPARISON,
        script: &PAGE,
    };
    page.render().expect("writing to memory does not fail")
}

#[derive(Template)]
#[template(path = "comparison.html")]
struct Page {
    title: String,
    word: &'static str,
    facts: Vec<String>,
    against: Vec<Shown>,
    is_about_shown: bool,
    about: String,
    subjects: Vec<SubjectRow>,
    charts: Vec<Chart>,
    text: String,
    version: &'static str,
    style: &'static str,
    script: &'static Script,
}

/// A side of the comparison.
struct SubjectRow {
    role: String,
    name: String,
    target: String,
    began: String,
    duration: String,
    replies: String,
    verdict: String,
    conclusion: String,
}

/// A result compared with the base.
struct Shown {
    id: String,
    /// Role: `new`, or `new 2` if there are several.
    role: String,
    name: String,
    class: &'static str,
    symbol: &'static str,
    word: &'static str,
    meaning: String,
    remarks: Vec<ShownRemark>,
    rows: Vec<ShownRow>,
}

/// A remark: a word and a sentence.
struct ShownRemark {
    class: &'static str,
    kind: &'static str,
    text: String,
}

/// A figure of both sides.
struct ShownRow {
    name: String,
    cells: Vec<String>,
    class: &'static str,
    symbol: &'static str,
    word: &'static str,
    why: Option<String>,
}

impl Shown {
    fn of(number: usize, several: usize, against: &Against) -> Self {
        let class = match against.verdict {
            Overall::Worse => "invalid",
            Overall::Better => "valid",
            Overall::NoDifferenceShown => "neutral",
            Overall::NotEnoughData | Overall::Void => "suspect",
        };
        let remark =
            |class, kind| move |remark: &Remark| ShownRemark { class, kind, text: remark.text.clone() };
        let tolerances = against.tolerances.iter().map(|tolerated| ShownRemark {
            class: "neutral",
            kind: "allowed",
            text: format!("{}: {}", tolerated.tolerance, tolerated.outcome.word()),
        });
        let is_void = against.verdict == Overall::Void;
        let obstacles =
            against.obstacles.iter().map(remark("invalid", if is_void { "void" } else { "forced" }));
        let warnings = against.warnings.iter().map(remark("suspect", "warning"));
        Self {
            id: format!("new-{number}"),
            role: role(number, several),
            name: cut(&against.new.name, NAME_LENGTH),
            class,
            symbol: against.verdict.symbol(),
            word: against.verdict.word(),
            meaning: against.meaning(),
            remarks: tolerances.chain(obstacles).chain(warnings).collect(),
            rows: against.rows.iter().map(ShownRow::of).collect(),
        }
    }
}

impl ShownRow {
    fn of(row: &Row) -> Self {
        let p_value = match row.p_value_corrected {
            Some(p_value) if p_value < P_VALUE_LEAST => format!("< {P_VALUE_LEAST}"),
            Some(p_value) => format!("{p_value:.4}"),
            None => String::new(),
        };
        Self {
            name: row.metric.clone(),
            cells: vec![
                row.change_text(),
                row.interval_text(),
                row.unit.show(row.base),
                row.unit.show(row.new),
                row.difference_text(),
                p_value,
            ],
            class: match row.verdict {
                RowVerdict::Worse => "worse",
                RowVerdict::Better => "better",
                RowVerdict::NoDifferenceShown => "neutral",
                RowVerdict::NotEnoughData => "unknown",
            },
            symbol: row.verdict.symbol(),
            word: row.verdict.word(),
            why: row.why.clone(),
        }
    }
}

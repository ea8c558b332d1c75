//! Results compared: a base with one result or more, or two targets that took turns.
//!
//! [`results`] makes a [`Comparison`] from results that were saved, [`rounds`] from trials made in turns. It is a
//! document by itself, and every form of it is a function of it: a table, Markdown, JSON, a page.

mod junit;
mod markdown;
mod results;
mod rounds;
mod rows;
mod table;
mod void;

use httperf_plan::objective::{Figure, Metric, Share, Tolerance};
use schemars::JsonSchema;
use serde::Serialize;

use crate::document;
use crate::result::Document;
use crate::verdict::Level;

pub use self::results::{Named, results};
pub use self::rounds::{Rounds, Trial, rounds};
pub use self::rows::{Change, Row, RowVerdict, Unit, is_comparable};
pub use self::void::{Code, Remark};

/// What a document of this kind calls itself.
pub const FORMAT: &str = "httperf-comparison";

/// The version of the format that is written.
pub const VERSION: u32 = 1;

/// The confidence of all intervals, and, from 1, the p-value up to which a difference is taken for one.
const CONFIDENCE: f64 = 0.95;

/// Results compared with a base.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "Comparison of httperf", extend("$id" = "urn:httperf:comparison:1"))]
pub struct Comparison {
    /// `httperf-comparison`.
    format: String,
    /// The version of the format.
    version: u32,
    /// The confidence of all intervals, as a share of 1.
    confidence: f64,
    /// How figures were compared.
    pub method: Method,
    /// What the others are compared with.
    pub base: Subject,
    /// Each of the others.
    pub against: Vec<Against>,
    /// What it comes to.
    pub outcome: Outcome,
}

/// How figures were compared.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Two runs, by a bootstrap over their intervals.
    Bootstrap,
    /// Trials of both in turns, pair by pair.
    Paired(Turns),
}

/// Trials of both in turns.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Turns {
    /// Rounds that were asked for, each with one trial of both.
    pub rounds_asked: u32,
    /// Whole rounds that were made.
    pub rounds_made: u32,
    /// Those of them that are left out, because a trial's verdict is INVALID.
    pub rounds_left_out: u32,
    /// Where the order of the trials comes from.
    pub seed: u64,
    /// The trials of whole rounds, in the order in which they were made.
    pub trials: Vec<Trial>,
}

/// What is compared.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Subject {
    /// The name of its file, or what tells it apart from the other.
    pub name: String,
    /// The server, such as `http://shop.example:8080`.
    pub target: String,
    /// When it began: a date and time of RFC 3339, in UTC.
    pub started: Option<String>,
    /// How long it was measured, in seconds; of several trials, all of them.
    pub duration_s: f64,
    /// Complete replies.
    pub replies: u64,
    /// How far its figures can be relied on; of several trials, the worst that counts.
    pub verdict: Level,
}

impl Subject {
    fn of(name: &str, document: &Document) -> Self {
        Self {
            name: name.to_owned(),
            target: crate::html::title(&document.plan),
            started: document.parts.first().map(|part| part.started.clone()),
            duration_s: document.figures.duration_s,
            replies: document.figures.replies,
            verdict: document.verdict.level,
        }
    }
}

/// One of those that are compared with the base.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Against {
    /// What it is.
    pub new: Subject,
    /// What all rows come to.
    pub verdict: Overall,
    /// Figure by figure; none if the comparison is void.
    pub rows: Vec<Row>,
    /// What came of the tolerances.
    pub tolerances: Vec<Tolerated>,
    /// Why the comparison is void, or would be if it had not been forced.
    pub obstacles: Vec<Remark>,
    /// What else a reader of the figures should know.
    pub warnings: Vec<Remark>,
}

/// What all rows come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Overall {
    /// Some figure is worse.
    Worse,
    /// Some figure is better, and none is worse.
    Better,
    /// No figure is shown to differ.
    NoDifferenceShown,
    /// There is too little to tell anything from.
    NotEnoughData,
    /// What was measured is not the same.
    Void,
}

/// A tolerance and what came of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Tolerated {
    /// Such as `p99>+5%`.
    pub tolerance: Tolerance,
    /// What came of it.
    pub outcome: Held,
}

/// What came of a tolerance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Held {
    /// No difference within the interval is too large.
    Kept,
    /// Every difference within the interval is too large.
    Exceeded,
    /// Some are, or there is no interval.
    CannotTell,
}

/// What a comparison comes to, for those who only want to know whether to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Nothing is worse; with tolerances, all are kept.
    Passed,
    /// There is too little to tell, or the comparison is void.
    CannotTell,
    /// Something is worse; with tolerances, one is exceeded.
    Failed,
}

/// How to compare.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// By how much a figure may differ. Without any, nothing may be worse.
    pub tolerances: Vec<Tolerance>,
    /// Whether figures are compared that are not comparable.
    pub force: bool,
}

impl Settings {
    /// What is compared: the usual figures, and what tolerances name beside them.
    #[must_use]
    pub fn metrics(&self) -> Vec<Metric> {
        let latency = |figure| Metric::Time { clock: httperf_plan::objective::Clock::Latency, figure };
        let mut metrics = vec![Metric::Replies, Metric::Share(Share::Errors), latency(Figure::Mean)];
        metrics.extend([0.5, 0.9, 0.99, 0.999].map(|share| latency(Figure::Quantile(share))));
        for tolerance in &self.tolerances {
            // A quantile may have been typed with a rounding error.
            if !metrics.iter().any(|metric| metric.to_string() == tolerance.metric().to_string()) {
                metrics.push(tolerance.metric());
            }
        }
        metrics
    }
}

impl Comparison {
    fn new(method: Method, base: Subject, against: Vec<Against>) -> Self {
        let outcome = against.iter().map(Against::outcome).max().unwrap_or(Outcome::CannotTell);
        Self {
            format: FORMAT.to_owned(),
            version: VERSION,
            confidence: CONFIDENCE,
            method,
            base,
            against,
            outcome,
        }
    }

    /// As a document for programs, with a line end.
    #[must_use]
    pub fn json(&self) -> String {
        document::json(self)
    }

    /// As tables, for people.
    #[must_use]
    pub fn text(&self) -> String {
        table::text(self)
    }

    /// As Markdown, for a pull request.
    #[must_use]
    pub fn markdown(&self) -> String {
        markdown::markdown(self)
    }

    /// How its intervals were found, in a sentence or two.
    pub(crate) fn about(&self) -> String {
        match &self.method {
            Method::Bootstrap => "Intervals of 95 % confidence are from a bootstrap over the seconds of both runs, which keeps together \
                 what is alike. A verdict allows for there being several rows: it may be \"no difference shown\" although \
                 the row's interval leaves out 0."
                .to_owned(),
            Method::Paired(turns) => {
                let used = turns.rounds_made - turns.rounds_left_out;
                format!(
                    "Intervals of 95 % confidence are from the differences within {used} rounds (Student's t). Figures are \
                     means over rounds; the change is the geometric mean of their ratios. A verdict allows for there being \
                     several rows: it may be \"no difference shown\" although the row's interval leaves out 0."
                )
            }
        }
    }
}

impl Against {
    fn new(new: Subject, rows: Vec<Row>, settings: &Settings, remarks: Remarks) -> Self {
        let Remarks { obstacles, warnings } = remarks;
        let tolerances = settings
            .tolerances
            .iter()
            .map(|&tolerance| Tolerated { tolerance, outcome: rows::held(tolerance, &rows) })
            .collect();
        let verdict = match rows.is_empty() {
            true => Overall::Void,
            false => Overall::of(&rows),
        };
        Self { new, verdict, rows, tolerances, obstacles, warnings }
    }

    /// What it comes to.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        if self.verdict == Overall::Void {
            return Outcome::CannotTell;
        }
        if self.tolerances.is_empty() {
            return match self.verdict {
                Overall::Worse => Outcome::Failed,
                Overall::NotEnoughData | Overall::Void => Outcome::CannotTell,
                Overall::Better | Overall::NoDifferenceShown => Outcome::Passed,
            };
        }
        let outcomes = self.tolerances.iter().map(|tolerated| match tolerated.outcome {
            Held::Kept => Outcome::Passed,
            Held::CannotTell => Outcome::CannotTell,
            Held::Exceeded => Outcome::Failed,
        });
        outcomes.max().expect("there are tolerances")
    }

    /// The figures that are so, as one names them.
    fn named(&self, verdict: RowVerdict) -> Option<String> {
        let names: Vec<&str> =
            self.rows.iter().filter(|row| row.verdict == verdict).map(|row| &row.metric[..]).collect();
        (!names.is_empty()).then(|| names.join(", "))
    }

    /// What the verdict means, in a sentence without its full stop.
    pub(crate) fn meaning(&self) -> String {
        match self.verdict {
            Overall::Worse | Overall::Better => self.sentence(),
            Overall::NoDifferenceShown => "no figure is shown to differ".to_owned(),
            Overall::NotEnoughData => "there is too little to tell anything from".to_owned(),
            Overall::Void => "what was measured is not comparable".to_owned(),
        }
    }

    /// The verdict and the figures that led to it.
    fn sentence(&self) -> String {
        let worse = self.named(RowVerdict::Worse).map(|names| format!("worse in {names}"));
        let better = self.named(RowVerdict::Better).map(|names| format!("better in {names}"));
        match (worse, better) {
            (None, None) => self.verdict.word().to_owned(),
            (worse, better) => [worse, better].into_iter().flatten().collect::<Vec<_>>().join("; "),
        }
    }
}

/// What there is to say of a comparison beside its rows.
#[derive(Debug, Default)]
struct Remarks {
    obstacles: Vec<Remark>,
    warnings: Vec<Remark>,
}

impl Overall {
    fn of(rows: &[Row]) -> Self {
        let is_any = |verdict| rows.iter().any(|row| row.verdict == verdict);
        // That nothing is answered by either server is no comparison of their errors.
        let has_replies = rows.iter().any(|row| {
            row.unit != Unit::Share && row.verdict != RowVerdict::NotEnoughData && row.base > Some(0.0)
        });
        match () {
            () if is_any(RowVerdict::Worse) => Self::Worse,
            () if is_any(RowVerdict::Better) => Self::Better,
            () if has_replies => Self::NoDifferenceShown,
            () => Self::NotEnoughData,
        }
    }

    /// As it is written for people.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Worse => RowVerdict::Worse.word(),
            Self::Better => RowVerdict::Better.word(),
            Self::NoDifferenceShown => RowVerdict::NoDifferenceShown.word(),
            Self::NotEnoughData => RowVerdict::NotEnoughData.word(),
            Self::Void => "not comparable",
        }
    }

    /// A sign for it that needs no colour.
    #[must_use]
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Worse => RowVerdict::Worse.symbol(),
            Self::Better => RowVerdict::Better.symbol(),
            Self::NoDifferenceShown => RowVerdict::NoDifferenceShown.symbol(),
            Self::NotEnoughData | Self::Void => RowVerdict::NotEnoughData.symbol(),
        }
    }
}

impl Held {
    /// As it is written for people.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Exceeded => "EXCEEDED",
            Self::CannotTell => "cannot tell",
        }
    }
}

/// The schema of the documents that are written, with a line end.
#[must_use]
pub fn schema() -> String {
    document::schema::<Comparison>()
}

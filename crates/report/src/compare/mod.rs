//! Comparisons: a base with one or more results, or two targets that took turns.
//!
//! [`results`] creates a [`Comparison`] from saved results, [`rounds`] from trials made in turns. It is a
//! document of its own, and every form of it is a function of it: table, Markdown, JSON, page.

mod junit;
mod markdown;
mod named;
mod results;
mod rounds;
mod rows;
pub(crate) mod rows_csv;
pub(crate) mod text;
mod void;

use httperf_plan::objective::{Figure, Metric, Share, Tolerance};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::curves::PercentileCurve;
use crate::differing::PlanOptions;
use crate::document;
use crate::headings;
use crate::read::{self, Kind, ReadError};
use crate::result::Document;
use crate::verdict::Level;

pub use self::named::Named;
pub use self::results::Moment;
pub use self::results::results;
pub use self::rounds::{Rounds, Trial, rounds};
pub use self::rows::{Change, Row, RowVerdict, Unit, is_comparable};
pub use self::void::{Code, Remark};

/// Confidence of all intervals; one minus it is the p-value up to which a difference counts as one.
const CONFIDENCE: f64 = 0.95;

/// Results compared with a base.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "Comparison of httperf", extend("$id" = "urn:httperf:comparison:1"))]
pub struct Comparison {
    /// Name of the format: `httperf-comparison`.
    format: String,
    /// Version of the format.
    version: u32,
    /// Confidence of all intervals, as a share of 1.
    confidence: f64,
    /// Method of comparison.
    pub method: Method,
    /// Base of the comparison.
    pub base: Subject,
    /// Results compared with the base.
    pub against: Vec<Against>,
    /// Overall outcome.
    pub outcome: ComparisonOutcome,
}

/// Method of comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Two runs, by a bootstrap over their intervals.
    Bootstrap,
    /// Alternating trials of both sides, pair by pair.
    Paired(Turns),
}

/// Alternating trials of both sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Turns {
    /// Rounds requested, each with one trial of each side.
    pub rounds_asked: u32,
    /// Complete rounds made.
    pub rounds_made: u32,
    /// Rounds left out because the verdict on one of their trials is INVALID.
    pub rounds_left_out: u32,
    /// Seed of the random order of trials.
    pub seed: u64,
    /// Trials of complete rounds, in the order in which they were made.
    pub trials: Vec<Trial>,
}

/// One side of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Subject {
    /// Name of its file, or another distinctive name.
    pub name: String,
    /// URL of the server, such as `http://shop.example:8080`.
    pub target: String,
    /// Start: an RFC 3339 date and time, in UTC.
    pub started: Option<String>,
    /// Length of the measured phase in seconds; of several trials, their sum.
    pub duration_s: f64,
    /// Complete replies.
    pub replies: u64,
    /// Reliability of its figures; of several trials, the worst that counts.
    pub verdict: Level,
    /// Conclusion of its run in a sentence; of several trials, the conclusions in a word each. Missing in older documents.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub conclusion: String,
    /// Number of ranks that offered the load together, if it was a fleet's (`--fleet`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranks: Option<u32>,
    /// Latency of the answered calls; of several trials, of all that count. Missing in older documents.
    #[serde(default)]
    pub latency: PercentileCurve,
    /// Intervals of the measured phase. Empty for a side of several trials, and in older documents.
    #[serde(default)]
    pub timeline: Vec<Moment>,
}

impl Subject {
    /// Side with this name, without curves.
    fn of(name: &str, document: &Document) -> Self {
        Self {
            name: name.to_owned(),
            target: headings::title(&document.plan),
            started: document.parts.first().map(|part| part.started.clone()),
            duration_s: document.figures.duration_s,
            replies: document.figures.replies,
            verdict: document.verdict.level,
            conclusion: document.conclusion.text.clone(),
            ranks: document.fleet.as_ref().map(|fleet| fleet.size),
            latency: PercentileCurve::default(),
            timeline: Vec::new(),
        }
    }
}

/// A result compared with the base.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Against {
    /// The result.
    pub new: Subject,
    /// Conclusion from all rows.
    pub verdict: Overall,
    /// Rows by figure; empty if the comparison is void.
    pub rows: Vec<Row>,
    /// Outcomes of the tolerances.
    pub tolerances: Vec<Tolerated>,
    /// Reasons why the comparison is void, or would be if it were not forced.
    pub obstacles: Vec<Remark>,
    /// Other remarks that a reader should see.
    pub warnings: Vec<Remark>,
}

/// Conclusion from all rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Overall {
    /// At least one figure is worse.
    Worse,
    /// At least one figure is better, and none is worse.
    Better,
    /// No figure is shown to differ.
    NoDifferenceShown,
    /// There is too little data for any conclusion.
    NotEnoughData,
    /// The measurements are not comparable.
    Void,
}

/// A tolerance and its outcome.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tolerated {
    /// Tolerance, such as `p99>+5%`.
    pub tolerance: Tolerance,
    /// Outcome.
    pub outcome: Held,
}

/// Outcome of a tolerance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Held {
    /// No difference within the interval violates the tolerance.
    Kept,
    /// Every difference within the interval violates the tolerance.
    Exceeded,
    /// Some do, or there is no interval.
    CannotTell,
}

/// Overall outcome, for those who only need to know whether to proceed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ComparisonOutcome {
    /// Nothing is worse; with tolerances, all are kept.
    Passed,
    /// There is too little data, or the comparison is void.
    CannotTell,
    /// Something is worse; with tolerances, one is exceeded.
    Failed,
}

/// Options of a comparison.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ComparisonSettings {
    /// Allowed differences. If there are none, nothing may be worse.
    pub tolerances: Vec<Tolerance>,
    /// Compares figures even if they are not comparable.
    pub force: bool,
    /// Options by which differences between plans are named.
    pub options: PlanOptions,
}

impl ComparisonSettings {
    /// Figures to compare: the default ones, and those of the tolerances.
    #[must_use]
    pub fn metrics(&self) -> Vec<Metric> {
        let latency = |figure| Metric::Time { clock: httperf_plan::objective::Clock::Latency, figure };
        let mut metrics = vec![Metric::Replies, Metric::Share(Share::Errors), latency(Figure::Mean)];
        metrics.extend([0.5, 0.9, 0.99, 0.999].map(|share| latency(Figure::Quantile(share))));
        for tolerance in &self.tolerances {
            // A quantile in a tolerance may have a rounding error.
            if !metrics.iter().any(|metric| metric.to_string() == tolerance.metric().to_string()) {
                metrics.push(tolerance.metric());
            }
        }
        metrics
    }
}

impl Comparison {
    fn new(method: Method, base: Subject, against: Vec<Against>) -> Self {
        let outcome = against.iter().map(Against::outcome).max().unwrap_or(ComparisonOutcome::CannotTell);
        Self {
            format: Kind::Comparison.format().to_owned(),
            version: Kind::Comparison.version(),
            confidence: CONFIDENCE,
            method,
            base,
            against,
            outcome,
        }
    }

    /// Both sides: the base, then the results compared with it.
    pub fn subjects(&self) -> impl Iterator<Item = &Subject> {
        std::iter::once(&self.base).chain(self.against.iter().map(|against| &against.new))
    }

    /// JSON document, with a line end.
    #[must_use]
    pub fn json(&self) -> String {
        document::json(self)
    }

    /// Reads a document.
    ///
    /// # Errors
    /// If it is of another kind, too new, or broken.
    pub fn read(json: &[u8]) -> Result<Self, ReadError> {
        read::fields(Kind::Comparison, json)
    }

    /// Markdown for a pull request.
    #[must_use]
    pub fn markdown(&self) -> String {
        markdown::markdown(self)
    }

    /// Origin of the intervals, in a sentence or two.
    #[must_use]
    pub fn about(&self) -> String {
        match &self.method {
            Method::Bootstrap => "95 % confidence intervals come from a block bootstrap over the seconds of both runs, \
                                  which preserves correlations. Verdicts are corrected for the number of rows: one may be \
                                  \"no difference shown\" although the row's interval excludes 0."
                .to_owned(),
            Method::Paired(turns) => {
                let used = turns.rounds_made - turns.rounds_left_out;
                format!(
                    "95 % confidence intervals come from the differences within {used} rounds (Student's t). Figures are \
                     means over rounds; the change is the geometric mean of their ratios. Verdicts are corrected for the \
                     number of rows: one may be \"no difference shown\" although the row's interval excludes 0."
                )
            }
        }
    }
}

impl Against {
    fn new(new: Subject, rows: Vec<Row>, settings: &ComparisonSettings, remarks: Remarks) -> Self {
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

    /// Outcome for this result.
    #[must_use]
    pub fn outcome(&self) -> ComparisonOutcome {
        if self.verdict == Overall::Void {
            return ComparisonOutcome::CannotTell;
        }
        if self.tolerances.is_empty() {
            return match self.verdict {
                Overall::Worse => ComparisonOutcome::Failed,
                Overall::NotEnoughData | Overall::Void => ComparisonOutcome::CannotTell,
                Overall::Better | Overall::NoDifferenceShown => ComparisonOutcome::Passed,
            };
        }
        let outcomes = self.tolerances.iter().map(|tolerated| match tolerated.outcome {
            Held::Kept => ComparisonOutcome::Passed,
            Held::CannotTell => ComparisonOutcome::CannotTell,
            Held::Exceeded => ComparisonOutcome::Failed,
        });
        outcomes.max().expect("there are tolerances")
    }

    /// Names of the figures with this verdict.
    fn named(&self, verdict: RowVerdict) -> Option<String> {
        let names: Vec<&str> =
            self.rows.iter().filter(|row| row.verdict == verdict).map(|row| &row.metric[..]).collect();
        (!names.is_empty()).then(|| names.join(", "))
    }

    /// Meaning of the verdict, in a sentence without its full stop.
    #[must_use]
    pub fn meaning(&self) -> String {
        match self.verdict {
            Overall::Worse | Overall::Better => self.sentence(),
            Overall::NoDifferenceShown => "no figure is shown to differ".to_owned(),
            Overall::NotEnoughData => "there is too little data for a conclusion".to_owned(),
            Overall::Void => "the measurements are not comparable".to_owned(),
        }
    }

    /// Verdict with the figures that led to it.
    fn sentence(&self) -> String {
        let worse = self.named(RowVerdict::Worse).map(|names| format!("worse in {names}"));
        let better = self.named(RowVerdict::Better).map(|names| format!("better in {names}"));
        match (worse, better) {
            (None, None) => self.verdict.word().to_owned(),
            (worse, better) => [worse, better].into_iter().flatten().collect::<Vec<_>>().join("; "),
        }
    }
}

/// Remarks on a comparison.
#[derive(Debug, Default)]
struct Remarks {
    obstacles: Vec<Remark>,
    warnings: Vec<Remark>,
}

impl Overall {
    fn of(rows: &[Row]) -> Self {
        let is_any = |verdict| rows.iter().any(|row| row.verdict == verdict);
        // Two servers that answer nothing cannot be compared by their errors.
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

    /// Word for people.
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

    /// Symbol that does not depend on colour.
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
    /// Word for people.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Exceeded => "EXCEEDED",
            Self::CannotTell => "cannot tell",
        }
    }
}

/// Schema of the documents written, with a line end.
#[must_use]
pub fn schema() -> String {
    document::schema::<Comparison>()
}

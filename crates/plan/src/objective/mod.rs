//! Objectives: bounds that a server must meet, such as `p99<50ms`, and tolerances: limits on the difference between
//! two runs.
//!
//! ```text
//!   objectives  = objective *( "," objective )
//!   objective   = metric relation bound
//!   metric      = [ clock "." ] figure | share | "replies"
//!   clock       = "latency" | "service" | "response" | "transfer" | "connect" | "handshake" | "session" | "lag"
//!               | "first" | "gap" (events of a stream) | "rtt" | "ping" (WebSockets) | "ttft" | "itl" | "tpot" | "e2e" (answers of a language model)
//!   figure      = "p" number | "mean" | "min" | "max"
//!   share       = "errors" | "failed" | "unexpected" | "checks" | "abandoned" | "goodput" | "1xx" | "2xx" | "3xx" | "4xx" | "5xx"
//!   relation    = "<" | "<=" | ">" | ">="
//!   bound       = number unit
//!   unit        = "us" | "µs" | "ms" | "s" | "m" | "min" | "h" (of a time) | "%" (of a share) | [ "/s" ] (of a rate)
//! ```
//!
//! The default clock is `latency`, and `e2e` is another name for it. Spaces are allowed between the parts. A [`Tolerance`] has a sign before its number,
//! and two more units: `%` of the baseline's figure and, for a share, `pp` (percentage points): `p99>+5%`.

mod needs;
mod parse;

use std::fmt::{self, Display};
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::needs::Need;
pub use self::parse::ParseError;

/// A bound that a figure of a run must meet. The bound is within the range of its metric.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct Objective {
    metric: Metric,
    relation: Relation,
    bound: f64,
}

/// The objectives of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Objectives {
    /// The objectives, such as `p99<50ms`; no two contradict each other.
    pub all: Vec<Objective>,
    /// Ends the run as soon as it has missed an objective.
    pub abort: bool,
    /// The objectives for parts of the run; no two of the same part contradict each other. None by default.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scoped: Vec<ScopedObjective>,
}

/// An objective for a part of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScopedObjective {
    /// The part of the run.
    pub scope: Scope,
    /// The objective for its figures.
    pub objective: Objective,
}

/// A part of a run that has figures of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// The visits that follow the scenario of this name.
    Scenario(String),
    /// The calls of a step.
    Step {
        /// The name of the scenario; `None` takes the step's calls in all scenarios together.
        scenario: Option<String>,
        /// The name of the step.
        step: String,
    },
    /// The arrivals due in the phase of this name.
    Phase(String),
}

/// A limit beyond which the difference between two runs is too large.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct Tolerance {
    metric: Metric,
    relation: Relation,
    change: Change,
}

/// A figure of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Metric {
    /// A time in seconds.
    Time {
        /// The interval that is timed.
        clock: Clock,
        /// The statistic of all such times.
        figure: Figure,
    },
    /// A share of calls or replies, from 0 to 1.
    Share(Share),
    /// Complete replies per second.
    Replies,
}

/// The interval that is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// From the instant at which a call was due to the end of its reply.
    Latency,
    /// From the first byte of a request to the end of its reply.
    Service,
    /// From the first byte of a request to the status line of its reply.
    Response,
    /// From the status line to the end of the reply.
    Transfer,
    /// From `connect` to an established connection, TLS included.
    Connect,
    /// The TLS handshake.
    Handshake,
    /// From the instant at which a session was due to its end.
    Session,
    /// From the instant at which an arrival was due to its start: the generator's own delay.
    Lag,
    /// From the instant at which a call was due to the first event of the stream that answers it.
    FirstEvent,
    /// From one event of a stream to the next that did not come together with it.
    Gap,
    /// From the instant at which a call was due to the first token of a language model's answer.
    FirstToken,
    /// From one token to the next that did not come together with it.
    TokenGap,
    /// The mean time between the tokens of an answer.
    PerToken,
    /// From the instant at which a message on a WebSocket was due to its answer.
    RoundTrip,
    /// From a ping on a WebSocket to its pong.
    Ping,
}

/// A statistic of many times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Figure {
    /// A quantile, above 0 and below 1.
    Quantile(f64),
    /// The mean.
    Mean,
    /// The minimum.
    Min,
    /// The maximum.
    Max,
}

/// A share of calls or replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// Calls without a reply, with a status of 400 or more, or with an unexpected reply, as a share of the calls that were
    /// due.
    Errors,
    /// Calls without a reply, as a share of the calls that were due.
    Failed,
    /// Calls with an unexpected reply, as a share of the calls that were due.
    Unexpected,
    /// Checks that passed, as a share of the checks made on replies.
    Checks,
    /// Visits or sessions that ended at a step or call that failed, as a share of those that ended; of a step, calls that
    /// ended their visit, as a share of calls ended.
    Abandoned,
    /// Calls answered by a language model within all bounds of the goodput, as a share of calls ended.
    Good,
    /// Replies of a status class, 1 to 5, as a share of all replies.
    Status(u8),
}

/// The relation between a figure and its bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// `<`
    Below,
    /// `<=`
    AtMost,
    /// `>`
    Above,
    /// `>=`
    AtLeast,
}

/// A signed difference between a figure and the same figure of the baseline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    /// The difference as a share of the baseline's figure; 0.05 is 5 % more.
    Share(f64),
    /// The difference in the metric's unit: seconds, a share of 1, or replies per second.
    Difference(f64),
}

impl Objective {
    /// Parses one or more objectives separated by commas.
    ///
    /// # Errors
    /// The first error, with its position.
    pub fn parse_list(text: &str) -> Result<Vec<Self>, ParseError> {
        parse::objectives(text)
    }

    /// Returns the metric.
    #[must_use]
    pub fn metric(&self) -> Metric {
        self.metric
    }

    /// Returns the relation that must hold between figure and bound.
    #[must_use]
    pub fn relation(&self) -> Relation {
        self.relation
    }

    /// Returns the bound in the metric's unit: seconds, a share of 1, or replies per second.
    #[must_use]
    pub fn bound(&self) -> f64 {
        self.bound
    }

    /// Returns true if the figure meets the objective.
    #[must_use]
    pub fn is_met_by(&self, figure: f64) -> bool {
        self.relation.holds(figure, self.bound)
    }

    /// Returns two of these objectives that no run can meet together, if there are any.
    #[must_use]
    pub fn contradiction(objectives: &[Self]) -> Option<(Self, Self)> {
        let pairs = objectives.iter().flat_map(|one| objectives.iter().map(move |other| (*one, *other)));
        pairs.into_iter().find(|(upper, lower)| upper.contradicts(*lower))
    }

    /// Returns true if this is an upper bound that excludes the lower bound `lower`.
    fn contradicts(self, lower: Self) -> bool {
        let are_bounds = self.relation.is_upper() && !lower.relation.is_upper();
        if !are_bounds || !self.metric.is_at_least(lower.metric) {
            return false;
        }
        let takes_in_its_bound = self.relation == Relation::AtMost && lower.relation == Relation::AtLeast;
        if takes_in_its_bound { self.bound < lower.bound } else { self.bound <= lower.bound }
    }
}

impl Tolerance {
    /// Parses one or more tolerances separated by commas.
    ///
    /// # Errors
    /// The first error, with its position.
    pub fn parse_list(text: &str) -> Result<Vec<Self>, ParseError> {
        parse::tolerances(text)
    }

    /// Returns the metric.
    #[must_use]
    pub fn metric(&self) -> Metric {
        self.metric
    }

    /// Returns the relation to the change in which a difference is too large.
    #[must_use]
    pub fn relation(&self) -> Relation {
        self.relation
    }

    /// Returns the change at which a difference becomes too large.
    #[must_use]
    pub fn change(&self) -> Change {
        self.change
    }
}

impl Metric {
    /// Returns true if, in any run, this figure is at least as great as `other`.
    fn is_at_least(self, other: Self) -> bool {
        match (self, other) {
            (Self::Time { clock, figure }, Self::Time { clock: other_clock, figure: other_figure }) => {
                clock == other_clock && figure.is_at_least(other_figure)
            }
            (Self::Share(Share::Errors), Self::Share(share)) => {
                matches!(share, Share::Errors | Share::Failed | Share::Unexpected)
            }
            (own, other) => own == other,
        }
    }
}

impl Figure {
    fn is_at_least(self, other: Self) -> bool {
        match (self, other) {
            (Self::Max, _) | (_, Self::Min) => true,
            (Self::Quantile(share), Self::Quantile(other)) => share >= other,
            (own, other) => own == other,
        }
    }
}

impl Relation {
    /// Returns true if the relation holds between figure and bound.
    #[must_use]
    pub fn holds(self, figure: f64, bound: f64) -> bool {
        match self {
            Self::Below => figure < bound,
            Self::AtMost => figure <= bound,
            Self::Above => figure > bound,
            Self::AtLeast => figure >= bound,
        }
    }

    /// Returns true for an upper bound.
    #[must_use]
    pub fn is_upper(self) -> bool {
        matches!(self, Self::Below | Self::AtMost)
    }
}

/// Writes the form that is typed: `p99<50ms`.
impl Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { metric, relation, bound } = self;
        write!(f, "{metric}{relation}{}", Amount(*metric, *bound))
    }
}

/// Writes the form that is typed: `p99>+5%`.
impl Display for Tolerance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { metric, relation, change } = self;
        write!(f, "{metric}{relation}")?;
        let sign = if change.amount() < 0.0 { '-' } else { '+' };
        match (change, metric) {
            (Change::Share(share), _) => write!(f, "{sign}{}%", plain(share.abs() * 100.0)),
            (Change::Difference(share), Metric::Share(_)) => {
                write!(f, "{sign}{}pp", plain(share.abs() * 100.0))
            }
            (Change::Difference(amount), _) => write!(f, "{sign}{}", Amount(*metric, amount.abs())),
        }
    }
}

impl Change {
    /// Returns the number, whatever its unit.
    fn amount(self) -> f64 {
        match self {
            Self::Share(amount) | Self::Difference(amount) => amount,
        }
    }
}

impl Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time { clock: Clock::Latency, figure } => figure.fmt(f),
            Self::Time { clock, figure } => write!(f, "{}.{figure}", clock.name()),
            Self::Share(share) => share.fmt(f),
            Self::Replies => f.write_str("replies"),
        }
    }
}

impl Clock {
    /// All clocks.
    pub const ALL: [Self; 15] = [
        Self::Latency,
        Self::Service,
        Self::Response,
        Self::Transfer,
        Self::Connect,
        Self::Handshake,
        Self::Session,
        Self::Lag,
        Self::FirstEvent,
        Self::Gap,
        Self::FirstToken,
        Self::TokenGap,
        Self::PerToken,
        Self::RoundTrip,
        Self::Ping,
    ];

    /// Returns the name, as it is typed.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Latency => "latency",
            Self::Service => "service",
            Self::Response => "response",
            Self::Transfer => "transfer",
            Self::Connect => "connect",
            Self::Handshake => "handshake",
            Self::Session => "session",
            Self::Lag => "lag",
            Self::FirstEvent => "first",
            Self::Gap => "gap",
            Self::RoundTrip => "rtt",
            Self::Ping => "ping",
            Self::FirstToken => "ttft",
            Self::TokenGap => "itl",
            Self::PerToken => "tpot",
        }
    }
}

impl Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Quantile(share) => write!(f, "p{}", plain(share * 100.0)),
            Self::Mean => f.write_str("mean"),
            Self::Min => f.write_str("min"),
            Self::Max => f.write_str("max"),
        }
    }
}

impl Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Errors => f.write_str("errors"),
            Self::Failed => f.write_str("failed"),
            Self::Unexpected => f.write_str("unexpected"),
            Self::Checks => f.write_str("checks"),
            Self::Abandoned => f.write_str("abandoned"),
            Self::Good => f.write_str("goodput"),
            Self::Status(class) => write!(f, "{class}xx"),
        }
    }
}

impl Display for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Below => "<",
            Self::AtMost => "<=",
            Self::Above => ">",
            Self::AtLeast => ">=",
        })
    }
}

/// A value of a metric, written with its unit.
struct Amount(Metric, f64);

impl Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self(Metric::Time { .. }, seconds) if seconds >= 1.0 => write!(f, "{}s", plain(seconds)),
            Self(Metric::Time { .. }, seconds) if seconds < 1e-3 && seconds > 0.0 => {
                write!(f, "{}us", plain(seconds * 1e6))
            }
            Self(Metric::Time { .. }, seconds) => write!(f, "{}ms", plain(seconds * 1e3)),
            Self(Metric::Share(_), share) => write!(f, "{}%", plain(share * 100.0)),
            Self(Metric::Replies, rate) => write!(f, "{}/s", plain(rate)),
        }
    }
}

/// Returns the share that a percentage such as 99.9 stands for: 0.999, without the error of a division. A rank made from the
/// quotient itself may be one too high: of 1,000 samples, the highest instead of the second.
#[must_use]
pub fn share_of_percent(percent: f64) -> f64 {
    plain(percent / 100.0)
}

/// Rounds to 13 significant digits, to remove the error that arithmetic has added to a typed number.
fn plain(number: f64) -> f64 {
    const DIGITS: i32 = 12;
    let digits_before = if number == 0.0 { 0 } else { number.abs().log10().floor() as i32 };
    let scale = 10_f64.powi((DIGITS - digits_before).clamp(0, 300));
    (number * scale).round() / scale
}

impl ScopedObjective {
    /// Returns the objective with its part in front, such as `buyer: p99<50ms`.
    #[must_use]
    pub fn name(&self) -> String {
        self.scope.name_of(self.objective)
    }
}

impl Scope {
    /// Returns true if a part of this kind has the figure of an objective.
    #[must_use]
    pub fn has(&self, objective: Objective) -> bool {
        match objective.metric {
            Metric::Time { clock: Clock::Session, .. } => !matches!(self, Self::Step { .. }),
            Metric::Time { clock, .. } => {
                matches!(clock, Clock::Latency | Clock::Service | Clock::FirstEvent | Clock::FirstToken)
            }
            Metric::Share(share) => !matches!(share, Share::Good | Share::Status(_)),
            Metric::Replies => true,
        }
    }

    /// Returns the name of the kind with its article, such as `a step`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Scenario(_) => "a scenario",
            Self::Step { .. } => "a step",
            Self::Phase(_) => "a phase",
        }
    }

    /// Returns an objective with this part in front, such as `buyer: p99<50ms`.
    #[must_use]
    pub fn name_of(&self, objective: Objective) -> String {
        match self {
            Self::Scenario(name) => format!("{name}: {objective}"),
            Self::Step { scenario: Some(scenario), step } => format!("{scenario}/{step}: {objective}"),
            Self::Step { scenario: None, step } => format!("{step}: {objective}"),
            Self::Phase(name) => format!("phase {name}: {objective}"),
        }
    }
}

impl From<Objective> for String {
    fn from(objective: Objective) -> Self {
        objective.to_string()
    }
}

impl From<Tolerance> for String {
    fn from(tolerance: Tolerance) -> Self {
        tolerance.to_string()
    }
}

impl TryFrom<String> for Objective {
    type Error = ParseError;

    fn try_from(text: String) -> Result<Self, ParseError> {
        text.parse()
    }
}

impl TryFrom<String> for Tolerance {
    type Error = ParseError;

    fn try_from(text: String) -> Result<Self, ParseError> {
        text.parse()
    }
}

impl FromStr for Objective {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        parse::objective(text)
    }
}

impl FromStr for Tolerance {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        parse::tolerance(text)
    }
}

#[cfg(test)]
mod tests;

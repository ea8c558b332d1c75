//! The scenario workload: visits that follow one of several scenarios, step by step.
//!
//! A scenario is a tree of [`Step`]s. A request that several steps make is kept once, in [`Scenarios::requests`].
//! Variables have numbers, their *slots*: a visit has a value for each of [`Scenarios::variables`], set from constants,
//! feeds, captures and [`Step::Set`]. The `load` crate compiles the tree and carries out the visits.

pub(crate) mod check;
mod feed;
mod gaps;
mod look;
mod request;
mod syntax;
mod text;
mod value;

use std::num::NonZeroU32;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::feed::{AtEnd, Feed, FeedOrder, FeedRows};
pub use self::look::{Attribute, Capture, Check, Filter, Operand, Predicate, Query, Test};
pub use self::request::{StepBodyPart, StepHeader, StepRequest};
pub use self::syntax::{jsonpath, regex, regex_with_group, xpath};
pub use self::text::{Coding, StepText, TextPart};
pub use self::value::Value;
use crate::NonEmpty;

/// The scenario workload: each arrival is a visit, which follows one scenario.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Scenarios {
    /// The maximum number of visits.
    pub count: u64,
    /// The seed of all that is random in visits: the choice of a scenario, think times, rows, UUIDs.
    pub seed: u64,
    /// The scenarios.
    pub scenarios: NonEmpty<Scenario>,
    /// The requests of all steps, in the order in which the files list them.
    pub requests: Vec<StepRequest>,
    /// The sources of rows of values.
    pub feeds: Vec<Feed>,
    /// The variables. The place of one is its slot.
    pub variables: Vec<Variable>,
    /// The lifetime of connections.
    pub connections: Reach,
    /// Stores cookies and sends them back (RFC 6265).
    pub cookies: bool,
    /// The maximum number of visits under way; further ones wait until one has ended. `None` sets none.
    pub max_open: Option<NonZeroU32>,
}

/// One scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Scenario {
    /// The name.
    pub name: String,
    /// The share of visits that follow it, relative to the other weights; above 0.
    pub weight: NonZeroU32,
    /// The feeds, by their places, that give a visit a row at its start.
    pub feeds: Vec<u32>,
    /// The steps, in order.
    pub steps: Vec<Step>,
}

/// One step of a scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// A call.
    Call {
        /// The place of its request in [`Scenarios::requests`].
        request: u32,
        /// Ends the visit after a failed check. A failed call or capture ends it in any case.
        ends_on_failure: bool,
    },
    /// A pause.
    Think(Pause),
    /// The assignment of a value to a variable.
    Set {
        /// The slot of the variable.
        slot: u32,
        /// The value.
        value: Operand,
    },
    /// A row of a feed, by the feed's place: sets the variables of its columns.
    Row(u32),
    /// Steps made several times.
    Repeat {
        /// The least number of times.
        min: u32,
        /// The greatest number of times; each number from `min` on is equally likely.
        max: u32,
        /// The steps.
        steps: Vec<Step>,
    },
    /// One of several sequences of steps.
    Choose(NonEmpty<Choice>),
    /// Steps that depend on a condition.
    If {
        /// The condition: a check on a variable.
        condition: Check,
        /// The steps if it holds.
        then: Vec<Step>,
        /// The steps if it does not.
        otherwise: Vec<Step>,
    },
    /// Steps repeated as long as a condition holds.
    While {
        /// The condition: a check on a variable.
        condition: Check,
        /// The maximum number of times.
        at_most: NonZeroU32,
        /// The steps.
        steps: Vec<Step>,
    },
}

/// One of several sequences of steps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Choice {
    /// Its share of the choices, relative to the other weights; above 0.
    pub weight: NonZeroU32,
    /// The steps.
    pub steps: Vec<Step>,
}

/// A pause of random length.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pause {
    /// Always this long.
    Fixed {
        /// The length in nanoseconds.
        #[serde(rename = "length_ns", with = "crate::nanos")]
        #[schemars(with = "u64")]
        length: Duration,
    },
    /// Uniformly distributed.
    Uniform {
        /// The shortest length in nanoseconds.
        #[serde(rename = "min_ns", with = "crate::nanos")]
        #[schemars(with = "u64")]
        min: Duration,
        /// The longest length in nanoseconds.
        #[serde(rename = "max_ns", with = "crate::nanos")]
        #[schemars(with = "u64")]
        max: Duration,
    },
    /// Exponentially distributed.
    Exponential {
        /// The mean in nanoseconds.
        #[serde(rename = "mean_ns", with = "crate::nanos")]
        #[schemars(with = "u64")]
        mean: Duration,
    },
    /// Log-normally distributed.
    LogNormal {
        /// The median in nanoseconds.
        #[serde(rename = "median_ns", with = "crate::nanos")]
        #[schemars(with = "u64")]
        median: Duration,
        /// The standard deviation of the logarithm; 0 or more.
        sigma: f64,
    },
}

/// A variable of visits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Variable {
    /// The name.
    pub name: String,
    /// The value at the start of each visit; without one, the variable is unset.
    pub initial: Option<Value>,
}

/// The lifetime of a visit's connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// A connection to each server, kept to the end of the visit.
    #[default]
    Visit,
    /// A new connection for each call.
    Call,
}

impl Scenario {
    /// Returns the requests of its calls, each once, in the order in which steps name them. The place of a request in this
    /// list numbers the step in results.
    #[must_use]
    pub fn calls(&self) -> Vec<u32> {
        let mut calls = Vec::new();
        collect_calls(&self.steps, &mut calls);
        calls
    }
}

fn collect_calls(steps: &[Step], calls: &mut Vec<u32>) {
    for step in steps {
        match step {
            Step::Call { request, .. } if !calls.contains(request) => calls.push(*request),
            Step::Call { .. } | Step::Think(_) | Step::Set { .. } | Step::Row(_) => {}
            Step::Repeat { steps, .. } | Step::While { steps, .. } => collect_calls(steps, calls),
            Step::Choose(choices) => choices.iter().for_each(|choice| collect_calls(&choice.steps, calls)),
            Step::If { then, otherwise, .. } => {
                collect_calls(then, calls);
                collect_calls(otherwise, calls);
            }
        }
    }
}

impl Scenarios {
    /// Returns true if a feed whose rows are used once ends the visits with its last row.
    #[must_use]
    pub fn end_with_rows(&self) -> bool {
        let mut taken = self.scenarios.iter().flat_map(|scenario| &scenario.feeds);
        taken.any(|&feed| {
            let feed = &self.feeds[feed as usize];
            feed.order == FeedOrder::Unique && feed.at_end == AtEnd::Stop
        })
    }

    /// Returns true if any step opens a WebSocket.
    #[must_use]
    pub fn open_websockets(&self) -> bool {
        self.requests.iter().any(|request| request.websocket.is_some())
    }

    /// Returns true if any step looks at the body of its reply.
    #[must_use]
    pub fn look_at_bodies(&self) -> bool {
        self.requests.iter().any(StepRequest::looks_at_body)
    }

    /// The greatest number of steps in a visit that are made without a call or a pause between them: a longer run ends
    /// the visit.
    pub const SILENT_STEPS_MAX: u32 = 100_000;

    /// The greatest depth to which steps may contain steps.
    pub const DEPTH_MAX: usize = 16;

    /// The greatest number of steps with figures of their own, over all scenarios and load phases. Each takes 400 KiB.
    pub const FIGURES_MAX: usize = 1000;
}

//! Bounds of the plan on what may go on at once, and whether they decided the figures.
//!
//! An arrival that finds as many others as the plan allows waits, and its wait is part of its latency. If the server is slow,
//! that is right: without the bound, the arrival would wait there. If the server would have answered at once, the figures
//! describe the bound. The two differ by how long arrivals keep their place while most places are free: at the rate of the
//! run, that needs so many places (J. D. C. Little, *A proof for the queuing formula L = λW*, 1961). If there are fewer, the
//! bound decides.

use std::fmt::{self, Display};

use httperf_plan::{Clients, Plan, Workload};
use httperf_stats::{Merge as _, Summary, Timing};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::number::{count, per_second, ratio, time};
use crate::verdict::{Finding, LAG_FROM, LAG_SUSPECT, Level};

/// Shares of the places that are needed on average, above which a bound blurs the figures or decides them: arrivals and
/// replies that come unevenly need more than the average.
const USE_SUSPECT: f64 = 0.5;
const USE_INVALID: f64 = 0.9;

/// Factor by which replies take longer than when most places are free if the server is what makes them wait.
const SLOWED: f64 = 2.0;

/// The places of a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// A connection that calls share (`--concurrency`).
    Connection,
    /// A stream, or a place in a pipeline, of such a connection (`--concurrency`, `--streams`, `--pipeline`).
    Stream,
    /// A connection that may be open (`--max-open`, `--concurrency`).
    OpenConnection,
    /// A session or visit that may go on (`--max-open`).
    Session,
    /// A connection of a client of a recording (`--connections`).
    ClientConnection,
}

impl Place {
    /// Kind of the arrivals that wait, the kind of places, and the options that bound their number.
    fn words(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Connection => ("calls", "connections", "--concurrency"),
            Self::Stream => ("calls", "streams", "--concurrency and --streams, or --pipeline"),
            Self::OpenConnection => {
                ("connections", "connections that may be open", "--max-open or --concurrency")
            }
            Self::Session => ("sessions", "sessions that may go on at once", "--max-open"),
            Self::ClientConnection => ("requests", "connections of their clients", "--connections"),
        }
    }

    /// This many of them, as options ask for it.
    pub(crate) fn limit(self, places: u64) -> String {
        let places = count(places);
        match self {
            Self::Connection => format!("--concurrency {places}"),
            Self::Session => format!("--max-open {places}"),
            Self::Stream | Self::OpenConnection | Self::ClientConnection => {
                let (_, what, options) = self.words();
                format!("{places} {what} ({options})")
            }
        }
    }

    /// Returns how many arrivals per second had one and are through; of visits that is not known.
    fn rate_of(self, summary: &Summary) -> f64 {
        let throughput = summary.throughput();
        match self {
            Self::OpenConnection => throughput.connections,
            Self::Connection | Self::Stream | Self::ClientConnection => throughput.replies,
            Self::Session if summary.visits.is_some() => f64::INFINITY,
            Self::Session => throughput.sessions,
        }
    }
}

/// Bound on what may go on at once.
struct Bound {
    place: Place,
    places: u64,
}

impl Bound {
    fn of(plan: &Plan, summary: &Summary) -> Option<Self> {
        let bound = |place, places| Some(Self { place, places });
        match &plan.workload {
            Workload::Calls(calls) => {
                let connections = u64::from(calls.connections_max(&plan.limits));
                let settings = summary.http2.as_ref().and_then(|http2| http2.server_settings);
                let streams =
                    [calls.pipeline.map(u32::from), settings.and_then(|settings| settings.max_streams)];
                match streams.into_iter().flatten().min() {
                    Some(streams) if streams > 1 || plan.request.version.may_have_streams() => {
                        bound(Place::Stream, connections.saturating_mul(streams.into()))
                    }
                    _ => bound(Place::Connection, connections),
                }
            }
            Workload::Connections(connections) => {
                bound(Place::OpenConnection, connections.max_open?.connections.get().into())
            }
            Workload::Sessions(sessions) => bound(Place::Session, sessions.max_open?.get().into()),
            Workload::Scenarios(scenarios) => bound(Place::Session, scenarios.max_open?.get().into()),
            Workload::Replay(replay) => match replay.clients {
                Clients::Recorded { connections, .. } => {
                    let clients = replay.recorded.clients.saturating_mul(replay.copies.get().into());
                    bound(Place::ClientConnection, clients.saturating_mul(connections.get().into()))
                }
                Clients::Independent { connections } => {
                    bound(Place::ClientConnection, connections.get().into())
                }
            },
        }
    }
}

/// Judges the waits for a place, beside the latencies of calls. The finding is a note if they hardly count, or if the server
/// is what made arrivals wait.
pub(crate) fn judge(plan: &Plan, summary: &Summary, latency: &Timing) -> Option<(Level, Finding)> {
    let arrivals = &summary.arrivals;
    let waits = waits(plan, summary);
    let held = arrivals.held.max(waits.moments.count());
    if held == 0 {
        return None;
    }
    let note = Some((Level::Valid, Finding::ArrivalsHeld { arrivals: held }));
    let whole = summary.sessions.as_ref().map_or(latency, |sessions| &sessions.latency);
    let Some(bound) = Bound::of(plan, summary).filter(|_| is_visible(&waits, arrivals.due, whole)) else {
        return note;
    };
    let rate = match arrivals.span_due.as_secs_f64() {
        span if span > 0.0 => ratio(arrivals.started.saturating_sub(1) as f64, span),
        _ => return note,
    };
    let service = summary.completed().service;
    let kept_s = match arrivals.light.count() {
        0 => service.moments.mean(),
        _ => arrivals.light.mean(),
    };
    let share = |rate: f64| ratio(rate * kept_s, bound.places as f64);
    if share(bound.place.rate_of(summary)) < USE_SUSPECT {
        // The places would have done for twice as many, had the server been as quick as it is when most are free.
        return note;
    }
    let used = share(rate);
    let level = match bound.place {
        // The clients of a recording do not share the load evenly.
        Place::ClientConnection if service.moments.mean() > SLOWED * kept_s => Level::Suspect,
        Place::ClientConnection => Level::Invalid,
        _ if used >= USE_INVALID => Level::Invalid,
        _ if used >= USE_SUSPECT => Level::Suspect,
        _ => return note,
    };
    let finding = Finding::ClientLimit {
        place: bound.place,
        places: bound.places,
        arrivals: held,
        longest_ms: waits.moments.max() * 1e3,
        rate,
        kept_ms: kept_s * 1e3,
        needed: (rate * kept_s).ceil() as u64,
    };
    Some((level, finding))
}

/// Says that calls at this rate, or at some rate, do not fit into what a plan bounds, if each takes as long as those of a first
/// run (Little's law); `None` if they fit, or if other arrivals than calls are bounded.
#[must_use]
pub fn calls_beyond_bound(plan: &Plan, first: &Summary, rate: Option<f64>) -> Option<String> {
    let Workload::Calls(calls) = &plan.workload else { return None };
    let bound = Bound::of(plan, first)?;
    let kept_s = first.completed().service.quantile(0.5)?.as_secs_f64();
    let places = bound.places as f64 * USE_INVALID;
    let is_beyond = rate.map_or(calls.connections.is_some(), |rate| rate * kept_s > places);
    let (_, what, options) = bound.place.words();
    let needed = |rate: f64| {
        format!("; {} need {}", per_second(rate), count((rate * kept_s / USE_INVALID).ceil() as u64))
    };
    is_beyond.then(|| {
        format!(
            "{} {what} ({options}) have room for {} at {} each: trials beyond that describe this limit, not the server{}",
            count(bound.places),
            per_second(ratio(places, kept_s)),
            time(kept_s * 1e3),
            rate.map(needed).unwrap_or_default()
        )
    })
}

/// Waits for room on a connection, and for a stream on one whose number the plan bounds.
fn waits(plan: &Plan, summary: &Summary) -> Timing {
    let mut waits = summary.arrivals.waits.clone();
    if let (Workload::Calls(_), Some(http2)) = (&plan.workload, &summary.http2) {
        waits.merge(&http2.stream_waits);
    }
    waits
}

/// Returns true if the waits are a noticeable share of the latency, at the median or the 99th percentile of `due` arrivals.
fn is_visible(waits: &Timing, due: u64, latency: &Timing) -> bool {
    let waited = ratio(waits.moments.count() as f64, due as f64).min(1.0);
    [0.5, 0.99].into_iter().any(|quantile| {
        // Those that did not wait come first.
        let among_waits = ratio(quantile - (1.0 - waited), waited);
        let wait = if among_waits > 0.0 { waits.quantile(among_waits) } else { None }.unwrap_or_default();
        let latency = latency.quantile(quantile).unwrap_or_default();
        wait >= LAG_FROM && wait.as_secs_f64() >= LAG_SUSPECT * latency.max(wait).as_secs_f64()
    })
}

/// Sentence about a bound.
pub(crate) struct LimitSentence {
    pub(crate) place: Place,
    pub(crate) places: u64,
    pub(crate) longest_ms: f64,
    pub(crate) rate: f64,
    pub(crate) kept_ms: f64,
    pub(crate) needed: u64,
}

impl Display for LimitSentence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, places, options) = self.place.words();
        write!(
            f,
            "{what} waited up to {} for one of {} {places} ({options}): ",
            time(self.longest_ms),
            count(self.places)
        )?;
        let (rate, kept) = (per_second(self.rate), time(self.kept_ms));
        match self.place {
            // As many as this on average, but not for each client.
            Place::ClientConnection => {
                write!(f, "these figures describe that limit; more connections would not")
            }
            _ if self.needed > self.places => {
                write!(
                    f,
                    "these figures describe that limit; {rate} at {kept} need {} or more",
                    count(self.needed)
                )
            }
            _ => write!(
                f,
                "that wait is part of these figures; {rate} at {kept} keep {} busy",
                count(self.needed)
            ),
        }
    }
}

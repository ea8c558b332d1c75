//! The metrics of a run: one list, whatever form they are written in.

use std::borrow::Cow;
use std::fmt::{self, Display};
use std::time::Duration;

use httperf_stats::{Failure, Phase};

use crate::meter::phase_name;
use crate::{Distribution, Meter, PHASES, PhaseTotals, RankTotals, VERDICTS};

/// Metrics with the same name.
#[derive(Debug)]
pub(crate) struct Family<'m> {
    /// Name without the common beginning, unit and suffix; words of one idea are joined by `_`, ideas by dots.
    pub(crate) name: &'static str,
    pub(crate) help: &'static str,
    pub(crate) unit: Unit,
    pub(crate) kind: Kind,
    pub(crate) metrics: Vec<(Labels, Value<'m>)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// A number of things.
    One,
    Seconds,
    PerSecond,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A gauge of one, for its labels.
    Info,
    Counter,
    Gauge,
    Histogram,
}

#[derive(Debug)]
pub(crate) enum Value<'m> {
    Whole(u64),
    Real(f64),
    Times(&'m Distribution),
}

pub(crate) type Labels = Vec<(Label, LabelValue)>;

/// A label, which OpenTelemetry calls an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Label {
    Run,
    Version,
    Host,
    Ranks,
    Rank,
    Phase,
    /// Of a verdict.
    Level,
    /// Of a failure.
    Kind,
    /// Of a visit.
    Outcome,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LabelValue {
    Text(Cow<'static, str>),
    Number(u32),
}

/// A figure with its name, what it is, and the function that takes it from the sums.
pub(crate) struct Figure<F> {
    pub(crate) name: &'static str,
    help: &'static str,
    pub(crate) of: F,
}

const fn figure<F: Copy>(name: &'static str, help: &'static str, of: F) -> Figure<F> {
    Figure { name, help, of }
}

/// Takes a number from sums.
pub(crate) type Count<T> = fn(&T) -> u64;

/// Takes a time from the sums of a rank.
type Time = fn(&RankTotals) -> Duration;

/// Takes times from the sums of a phase.
type Times = fn(&PhaseTotals) -> &Distribution;

/// Counts of each phase.
pub(crate) const COUNTS: [Figure<Count<PhaseTotals>>; 7] = [
    figure("arrivals", "Arrivals that were due and have started", |totals| totals.arrivals),
    figure("calls.offered", "Calls that were due and were made", |totals| totals.offered),
    figure("requests.sent", "Requests written completely", |totals| totals.sent),
    figure("replies", "Complete replies", |totals| totals.replies),
    figure("replies.http_error", "Complete replies with status 400 or above", |totals| totals.http_errors),
    figure("replies.unexpected", "Complete replies that failed a check", |totals| totals.unexpected),
    figure("calls.failed", "Calls that failed", |totals| totals.failed_calls),
];

/// Further counts once there was a stream.
pub(crate) const STREAM_COUNTS: [Figure<Count<PhaseTotals>>; 3] = [
    figure("stream.events", "Events of streams, and messages that came on WebSockets", |totals| {
        totals.streams.events
    }),
    figure("stream.tokens", "Events with content of language models' answers", |totals| {
        totals.streams.tokens
    }),
    figure("messages.sent", "Messages sent on WebSockets", |totals| totals.streams.sent),
];

/// Times of each phase.
const TIMES: [Figure<Times>; 3] = [
    figure("call.latency", "Time from when a call was due to the end of its reply", |totals| &totals.latency),
    figure("call.service", "Time from the first byte of a request to the end of its reply", |totals| {
        &totals.service
    }),
    figure("arrival.lag", "Time from when an arrival was due to its start", |totals| &totals.lag),
];

/// Further times once there was a stream.
const STREAM_TIMES: [Figure<Times>; 1] = [figure(
    "stream.first",
    "Time from when a call was due to the first event of its stream, or to the first token",
    |totals| &totals.streams.first,
)];

/// Counts of each rank.
pub(crate) const RANK_COUNTS: [Figure<Count<RankTotals>>; 4] = [
    figure("rank.arrivals", "Arrivals of a rank that were due and have started", |totals| totals.arrivals),
    figure("rank.calls.offered", "Calls of a rank that were due and were made", |totals| totals.offered),
    figure("rank.replies", "Complete replies to a rank", |totals| totals.replies),
    figure("rank.calls.failed", "Calls of a rank that failed", |totals| totals.failed_calls),
];

/// Times of each rank, which add up or not.
const RANK_TIMES: [(Kind, Figure<Time>); 3] = [
    (
        Kind::Counter,
        figure("rank.generator.cpu", "Processor time of the workers of a rank", |totals| totals.cpu),
    ),
    (
        Kind::Gauge,
        figure("rank.arrival.lag.max", "Largest lag of an arrival of a rank in its last second", |totals| {
            totals.lag_max
        }),
    ),
    (
        Kind::Gauge,
        figure(
            "rank.elapsed",
            "Time from the start of the run to the end of the last second of a rank",
            |totals| totals.elapsed,
        ),
    ),
];

/// All metrics, in the order in which they are written.
pub(crate) fn families(meter: &Meter) -> Vec<Family<'_>> {
    let mut families = Families(Vec::new());
    families.add_about(meter);
    families.add_phases(meter);
    families.add_ranks(meter);
    families.add_now(meter);
    families.0
}

/// The labels of a run.
pub(crate) fn about(meter: &Meter) -> Labels {
    let about = &meter.about;
    let mut labels: Labels = vec![
        (Label::Run, about.run.clone().into()),
        (Label::Version, about.version.clone().into()),
        (Label::Host, about.host.clone().into()),
        (Label::Ranks, LabelValue::Number(about.ranks)),
    ];
    labels.extend(about.rank.map(|rank| (Label::Rank, LabelValue::Number(rank))));
    labels
}

struct Families<'m>(Vec<Family<'m>>);

impl<'m> Families<'m> {
    fn add(
        &mut self,
        kind: Kind,
        (name, unit): (&'static str, Unit),
        help: &'static str,
        metrics: impl IntoIterator<Item = (Labels, Value<'m>)>,
    ) {
        self.0.push(Family { name, help, unit, kind, metrics: metrics.into_iter().collect() });
    }

    fn add_about(&mut self, meter: &'m Meter) {
        self.add(Kind::Info, ("run", Unit::One), "The run", [(about(meter), Value::Whole(1))]);
        let phases =
            PHASES.map(|phase| (of_phase(phase), Value::Whole((meter.phase() == Some(phase)).into())));
        self.add(Kind::Gauge, ("phase", Unit::One), "1 for the phase of the run", phases);
        let verdicts = VERDICTS.into_iter().enumerate().map(|(index, level)| {
            (vec![(Label::Level, level.into())], Value::Whole((meter.now.verdict == Some(index)).into()))
        });
        self.add(Kind::Gauge, ("verdict", Unit::One), "1 for the verdict on the figures so far", verdicts);
        let cpu = [(Vec::new(), Value::Real(meter.cpu.as_secs_f64()))];
        self.add(Kind::Counter, ("generator.cpu", Unit::Seconds), "Processor time of the workers", cpu);
    }

    /// Sums of each phase.
    fn add_phases(&mut self, meter: &'m Meter) {
        let phases = &meter.phases;
        if phases.is_empty() {
            return;
        }
        let (counts, times) = match meter.has_streams {
            true => (&STREAM_COUNTS[..], &STREAM_TIMES[..]),
            false => (&[][..], &[][..]),
        };
        for Figure { name, help, of } in COUNTS.iter().chain(counts) {
            let counts = phases.iter().map(|(phase, totals)| (of_phase(*phase), Value::Whole(of(totals))));
            self.add(Kind::Counter, (name, Unit::One), help, counts);
        }
        if phases.iter().any(|(_, totals)| totals.visits.is_some()) {
            let visits = phases.iter().flat_map(|(phase, totals)| {
                let ended = totals.visits.unwrap_or_default();
                [("completed", ended.completed), ("abandoned", ended.abandoned)].map(|(outcome, count)| {
                    ([of_phase(*phase), vec![(Label::Outcome, outcome.into())]].concat(), Value::Whole(count))
                })
            });
            self.add(Kind::Counter, ("visits", Unit::One), "Visits that have ended", visits);
        }
        let errors = phases.iter().flat_map(|(phase, totals)| {
            Failure::ALL.into_iter().map(|failure| {
                let labels = [of_phase(*phase), vec![(Label::Kind, failure.to_string().into())]].concat();
                (labels, Value::Whole(totals.errors.count(failure)))
            })
        });
        self.add(
            Kind::Counter,
            ("errors", Unit::One),
            "Failed connections by the classes of the report",
            errors,
        );
        for Figure { name, help, of } in TIMES.iter().chain(times) {
            let times = phases.iter().map(|(phase, totals)| (of_phase(*phase), Value::Times(of(totals))));
            self.add(Kind::Histogram, (name, Unit::Seconds), help, times);
        }
    }

    fn add_ranks(&mut self, meter: &'m Meter) {
        if meter.ranks.is_empty() {
            return;
        }
        let ranks = |value: &dyn Fn(&RankTotals) -> Value<'m>| {
            let ranks = (0..).zip(&meter.ranks);
            ranks
                .map(|(rank, totals)| (vec![(Label::Rank, LabelValue::Number(rank))], value(totals)))
                .collect::<Vec<_>>()
        };
        for Figure { name, help, of } in RANK_COUNTS {
            self.add(Kind::Counter, (name, Unit::One), help, ranks(&|totals| Value::Whole(of(totals))));
        }
        for (kind, Figure { name, help, of }) in RANK_TIMES {
            let times = ranks(&|totals| Value::Real(of(totals).as_secs_f64()));
            self.add(kind, (name, Unit::Seconds), help, times);
        }
    }

    /// Figures of the end of the last second.
    fn add_now(&mut self, meter: &'m Meter) {
        let mut gauge =
            |name, unit, help, value| self.add(Kind::Gauge, (name, unit), help, [(Vec::new(), value)]);
        let (last, whole) = (&meter.last, Value::Whole);
        let seconds = |time: Duration| Value::Real(time.as_secs_f64());
        let help = "Time from the start of the run to the end of the last second";
        gauge("elapsed", Unit::Seconds, help, seconds(meter.elapsed));
        let help = "Calls that were made and have not ended";
        gauge("calls.under_way", Unit::One, help, whole(meter.under_way()));
        gauge("connections.open", Unit::One, "Connections that are open", whole(last.open));
        let help = "Largest lag of an arrival in the last second";
        gauge("arrival.lag.max", Unit::Seconds, help, seconds(last.lag_max));
        if let Some(asked) = meter.now.asked_per_s {
            gauge("arrivals.asked", Unit::PerSecond, "Planned rate of arrivals", Value::Real(asked));
        }
        if let Some(visits) = last.visits {
            let help = "Visits that have begun and not ended";
            gauge("visits.under_way", Unit::One, help, whole(visits.open));
        }
        if let Some(streams) = &last.streams {
            let help = "Streams and WebSockets that are open";
            gauge("streams.open", Unit::One, help, whole(streams.open));
        }
    }
}

fn of_phase(phase: Phase) -> Labels {
    vec![(Label::Phase, phase_name(phase).into())]
}

impl Display for LabelValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Number(number) => number.fmt(f),
        }
    }
}

impl From<&'static str> for LabelValue {
    fn from(text: &'static str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for LabelValue {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

#[cfg(test)]
mod tests {
    use httperf_stats::{Classes, Interval, StreamCounts};

    use super::*;
    use crate::Now;
    use crate::meter::tests::{meter, second};

    #[test]
    fn streams_are_there_once_there_was_one() {
        let of_streams = |meter: &Meter| {
            let found = families(meter);
            let names = ["stream.events", "stream.tokens", "messages.sent", "stream.first"];
            names.map(|name| {
                let family = found.iter().find(|family| family.name == name)?;
                Some(
                    family
                        .metrics
                        .iter()
                        .map(|(_, value)| match value {
                            Value::Whole(count) => *count,
                            Value::Times(times) => times.count(),
                            Value::Real(_) => panic!("{name} is no count"),
                        })
                        .collect::<Vec<_>>(),
                )
            })
        };
        let mut meter = meter();
        assert_eq!(of_streams(&meter), [const { None }; 4]);
        let streams = StreamCounts {
            open: 4,
            events: 30,
            tokens: 20,
            sent: 5,
            first: Classes::from_ascending([(700, 2)]),
        };
        let streamed =
            |number| Interval { streams: Some(Box::new(streams.clone())), ..second(number, Phase::Measured) };
        meter.add(&streamed(3), Now::default());
        meter.add(&streamed(4), Now::default());
        let expected = [[0, 60], [0, 40], [0, 10], [0, 4]].map(|counts| Some(counts.to_vec()));
        assert_eq!(of_streams(&meter), expected);
    }
}

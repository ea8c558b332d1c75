//! The metrics of a run by the names that Prometheus knows them by.

use httperf_stats::{Failure, Phase};

use crate::meter::{RANK_CPU, phase_name};
use crate::{Distribution, Meter, PHASES, VERDICTS};

/// Metrics with the same name.
#[derive(Debug)]
pub(crate) struct Family<'m> {
    /// Name without the common beginning, unit and suffix.
    pub(crate) name: &'static str,
    pub(crate) help: &'static str,
    pub(crate) in_seconds: bool,
    pub(crate) kind: Kind,
    pub(crate) metrics: Vec<(Labels, Value<'m>)>,
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

pub(crate) type Labels = Vec<(&'static str, String)>;

/// All metrics, in the order in which they are written.
pub(crate) fn families(meter: &Meter) -> Vec<Family<'_>> {
    let mut families = Families(Vec::new());
    families.add_about(meter);
    families.add_counters(meter);
    families.add_errors(meter);
    families.add_histograms(meter);
    families.add_ranks(meter);
    families.add_now(meter);
    families.0
}

struct Families<'m>(Vec<Family<'m>>);

impl<'m> Families<'m> {
    fn add(&mut self, kind: Kind, name: &'static str, help: &'static str, metrics: Vec<(Labels, Value<'m>)>) {
        self.0.push(Family { name, help, in_seconds: false, kind, metrics });
    }

    fn add_seconds(
        &mut self,
        kind: Kind,
        name: &'static str,
        help: &'static str,
        metrics: Vec<(Labels, Value<'m>)>,
    ) {
        self.0.push(Family { name, help, in_seconds: true, kind, metrics });
    }

    fn add_about(&mut self, meter: &'m Meter) {
        let about = &meter.about;
        let mut labels: Labels = vec![
            ("run", about.run.clone()),
            ("version", about.version.clone()),
            ("host", about.host.clone()),
            ("ranks", about.ranks.to_string()),
        ];
        labels.extend(about.rank.map(|rank| ("rank", rank.to_string())));
        self.add(Kind::Info, "run", "The run", vec![(labels, Value::Whole(1))]);
        let phases = PHASES.map(|phase| of_phase(phase, Value::Whole((meter.phase() == Some(phase)).into())));
        self.add(Kind::Gauge, "phase", "1 for the phase of the run", phases.into());
        let verdicts = VERDICTS.into_iter().enumerate().map(|(index, level)| {
            (vec![("level", level.to_owned())], Value::Whole((meter.now.verdict == Some(index)).into()))
        });
        self.add(Kind::Gauge, "verdict", "1 for the verdict on the figures so far", verdicts.collect());
        let cpu = vec![(Vec::new(), Value::Real(meter.cpu.as_secs_f64()))];
        self.add_seconds(Kind::Counter, "generator_cpu", "Processor time of the workers", cpu);
    }

    fn add_counters(&mut self, meter: &'m Meter) {
        let phases = &meter.phases;
        if phases.is_empty() {
            return;
        }
        for (name, help, counts) in meter.counters() {
            let counts =
                phases.iter().zip(counts).map(|((phase, _), count)| of_phase(*phase, Value::Whole(count)));
            self.add(Kind::Counter, name, help, counts.collect());
        }
        if phases.iter().all(|(_, totals)| totals.visits.is_none()) {
            return;
        }
        let visits = phases.iter().flat_map(|(phase, totals)| {
            let ended = totals.visits.unwrap_or_default();
            [("completed", ended.completed), ("abandoned", ended.abandoned)].map(|(outcome, count)| {
                let labels = vec![("phase", phase_name(*phase).to_owned()), ("outcome", outcome.to_owned())];
                (labels, Value::Whole(count))
            })
        });
        self.add(Kind::Counter, "visits", "Visits that have ended", visits.collect());
    }

    fn add_errors(&mut self, meter: &'m Meter) {
        let errors = meter.phases.iter().flat_map(|(phase, totals)| {
            Failure::ALL.into_iter().map(|failure| {
                let labels = vec![("phase", phase_name(*phase).to_owned()), ("kind", failure.to_string())];
                (labels, Value::Whole(totals.errors.count(failure)))
            })
        });
        self.add(
            Kind::Counter,
            "errors",
            "Failed connections by the classes of the report",
            errors.collect(),
        );
    }

    fn add_histograms(&mut self, meter: &'m Meter) {
        if meter.phases.is_empty() {
            return;
        }
        for (name, help, distributions) in meter.histograms() {
            let phases = meter.phases.iter().zip(distributions);
            let times = phases.map(|((phase, _), times)| of_phase(*phase, Value::Times(times)));
            self.add_seconds(Kind::Histogram, name, help, times.collect());
        }
    }

    fn add_ranks(&mut self, meter: &'m Meter) {
        let ranks = || (0_u32..).zip(&meter.ranks);
        let Some(first) = meter.ranks.first() else { return };
        let of_rank = |rank: u32, value| (vec![("rank", rank.to_string())], value);
        for (index, (name, help, _)) in first.counters().into_iter().enumerate() {
            let counts =
                ranks().map(|(rank, totals)| of_rank(rank, Value::Whole(totals.counters()[index].2)));
            self.add(Kind::Counter, name, help, counts.collect());
        }
        let (name, help) = RANK_CPU;
        let cpu = ranks().map(|(rank, totals)| of_rank(rank, Value::Real(totals.cpu.as_secs_f64())));
        self.add_seconds(Kind::Counter, name, help, cpu.collect());
        for (index, (name, help, _)) in first.gauges().into_iter().enumerate() {
            let times = ranks()
                .map(|(rank, totals)| of_rank(rank, Value::Real(totals.gauges()[index].2.as_secs_f64())));
            self.add_seconds(Kind::Gauge, name, help, times.collect());
        }
    }

    /// Figures of the end of the last second.
    fn add_now(&mut self, meter: &'m Meter) {
        let one = |value| vec![(Vec::new(), Value::Real(value))];
        let elapsed = meter.elapsed.as_secs_f64();
        let help = "Time from the start of the run to the end of the last second";
        self.add_seconds(Kind::Gauge, "elapsed", help, one(elapsed));
        let help = "Calls that were made and have not ended";
        self.add(Kind::Gauge, "calls_under_way", help, one(meter.under_way() as f64));
        self.add(Kind::Gauge, "connections_open", "Connections that are open", one(meter.last.open as f64));
        let help = "Largest lag of an arrival in the last second";
        self.add_seconds(Kind::Gauge, "arrival_lag_max", help, one(meter.last.lag_max.as_secs_f64()));
        if let Some(asked) = meter.now.asked_per_s {
            self.add(Kind::Gauge, "arrivals_asked_per_second", "Planned rate of arrivals", one(asked));
        }
        if let Some(visits) = meter.last.visits {
            let help = "Visits that have begun and not ended";
            self.add(Kind::Gauge, "visits_under_way", help, one(visits.open as f64));
        }
        if let Some(streams) = &meter.last.streams {
            let help = "Streams and WebSockets that are open";
            self.add(Kind::Gauge, "streams_open", help, one(streams.open as f64));
        }
    }
}

fn of_phase(phase: Phase, value: Value<'_>) -> (Labels, Value<'_>) {
    (vec![("phase", phase_name(phase).to_owned())], value)
}

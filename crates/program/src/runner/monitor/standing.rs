//! The progress of a run, from its plan and its intervals so far. Pure: time is an argument.

use std::time::{Duration, Instant};

use httperf_plan::{Arrivals, Plan, Workload};
use httperf_report::ErrorFigures;
use httperf_report::number::count;
use httperf_stats::{Classes, Errors, Interval, Merge as _, Phase, StreamCounts, VisitCounts};

/// The number of intervals that are remembered one by one: five minutes of them.
const RECENT_MAX: usize = 300;

/// A shorter interval, as there may be at the end of a phase, has no rates worth showing.
const SHOWN_FROM: Duration = Duration::from_millis(100);

/// An interval in which an arrival started this much too late deserves a warning.
pub(super) const LAG_WARNING: Duration = Duration::from_millis(10);

/// The most characters of the name of a load phase that are shown.
const PHASE_NAME_MAX: usize = 14;

/// The outline of the plan.
#[derive(Clone, Debug)]
pub(super) struct Outline {
    /// The target of requests.
    pub(super) target: String,
    /// The kind of an arrival: `conn`, `sess` or `call`.
    pub(super) arrival: &'static str,
    arrivals: Arrivals,
    warmup: Duration,
    /// The instant from which no more is offered, if it is known.
    offered_until: Option<Duration>,
    /// The instant at which measuring ends, if the plan sets it.
    measured_until: Option<Duration>,
    drain: Duration,
}

impl Outline {
    pub(super) fn new(plan: &Plan) -> Self {
        let arrival = match &plan.workload {
            Workload::Connections(_) => "conn",
            Workload::Sessions(_) => "sess",
            Workload::Scenarios(_) => "visits",
            Workload::Calls(_) | Workload::Replay(_) => "call",
        };
        let measured_until = plan.runtime.map(|runtime| plan.phases.warmup.saturating_add(runtime));
        let all_started = match &plan.arrivals {
            // The steps last as long as they say, so their mean says nothing of the whole.
            Arrivals::Variable(_) => None,
            Arrivals::Recorded { mean } => Some(mean / f64::from(plan.client.count.get())),
            arrivals => Some(arrivals.mean_interval()).filter(|&interval| interval > 0.0),
        };
        let all_started = all_started
            .and_then(|interval| Duration::try_from_secs_f64(interval * plan.arrivals_max() as f64).ok());
        let all_started = match &plan.arrivals {
            Arrivals::Phased(phased) => Some(phased.length()),
            _ => all_started,
        };
        Self {
            target: target(plan),
            arrival,
            arrivals: plan.arrivals.clone(),
            warmup: plan.phases.warmup,
            offered_until: [measured_until, all_started].into_iter().flatten().min(),
            measured_until,
            drain: plan.phases.drain,
        }
    }

    /// The phase at this time after the start.
    pub(super) fn phase(&self, at: Duration) -> Phase {
        match self.measured_until {
            _ if at < self.warmup => Phase::WarmUp,
            Some(end) if at >= end && !self.drain.is_zero() => Phase::Drain,
            _ => Phase::Measured,
        }
    }

    /// Returns whether load may still be offered at this time.
    pub(super) fn is_offering(&self, at: Duration) -> bool {
        self.phase(at) != Phase::Drain && self.offered_until.is_none_or(|end| at < end)
    }

    /// The length of the run: to the end of the offered load, and then to that of the drain. `None` if unknown.
    pub(super) fn left(&self, at: Duration) -> Option<Duration> {
        let end = match (self.phase(at), self.measured_until) {
            (Phase::Drain, Some(end)) => end.saturating_add(self.drain),
            _ => self.offered_until?,
        };
        Some(end.saturating_sub(at))
    }

    /// The name of the load phase at this time and what is left of it; `None` if there are not several, or all are over.
    pub(super) fn load_phase(&self, at: Duration) -> Option<(String, Duration)> {
        let Arrivals::Phased(phased) = &self.arrivals else { return None };
        if phased.phases.len() == 1 || at >= phased.length() {
            return None;
        }
        let (start, phase) = phased.phase_at(at);
        let is_long = phase.name.chars().count() > PHASE_NAME_MAX;
        let mut name: String =
            phase.name.chars().filter(|letter| !letter.is_control()).take(PHASE_NAME_MAX).collect();
        if is_long {
            name.pop();
            name.push('…');
        }
        Some((name, start.saturating_add(phase.length).saturating_sub(at)))
    }

    /// The planned arrivals per second at this time; `None` if they are not timed, or are over.
    pub(super) fn asked(&self, at: Duration) -> Option<f64> {
        if self.offered_until.is_some_and(|end| at >= end) {
            return None;
        }
        let interval = match &self.arrivals {
            Arrivals::Phased(phased) => {
                let (start, phase) = phased.phase_at(at);
                return Some(phase.rate_at(at.saturating_sub(start)));
            }
            Arrivals::Variable(steps) => {
                let cycle: f64 = steps.iter().map(|step| step.duration).sum();
                let mut rest = at.as_secs_f64() % cycle;
                steps
                    .iter()
                    .find(|step| {
                        rest -= step.duration;
                        rest < 0.0
                    })
                    .map_or(0.0, |step| step.period)
            }
            arrivals => arrivals.mean_interval(),
        };
        (interval > 0.0).then(|| interval.recip())
    }

    /// Returns whether arrivals have a schedule.
    pub(super) fn is_timed(&self) -> bool {
        self.arrivals.is_scheduled()
    }
}

/// Returns the target of requests, as a URL if they all go to the same place.
fn target(plan: &Plan) -> String {
    let target = plan.targets.first();
    let scheme = if plan.tls.is_some() { "https" } else { "http" };
    let endpoint = target.endpoint.to_string();
    let place = if target.host == endpoint { String::new() } else { format!(" at {endpoint}") };
    let first = format!("{scheme}://{}/{place}", target.host);
    match plan.targets.len() {
        1 => first,
        count => format!("{first} and {} more", count - 1),
    }
}

/// The sums of the intervals so far.
#[derive(Clone, Debug)]
pub(super) struct Standing {
    pub(super) outline: Outline,
    /// The last intervals, the newest last.
    recent: Vec<Interval>,
    /// The figures so far, or those of the warm-up as long as that goes on.
    pub(super) so_far: Totals,
    phase: Phase,
    /// Calls that were due and have not ended.
    awaited: u64,
}

/// Intervals taken together.
#[derive(Clone, Debug, Default)]
pub(super) struct Totals {
    /// Connections that failed, by class.
    pub(super) failures: Errors,
    /// Calls in error.
    pub(super) errors: ErrorFigures,
    pub(super) lag_max: Duration,
    pub(super) latency: Classes,
    /// Visits of scenarios, if there are any. `open` is that of the last interval.
    pub(super) visits: Option<VisitCounts>,
    /// Streams and WebSockets, if there were any.
    pub(super) streams: Option<StreamCounts>,
}

impl Standing {
    pub(super) fn new(plan: &Plan) -> Self {
        Self {
            outline: Outline::new(plan),
            recent: Vec::new(),
            so_far: Totals::default(),
            phase: Phase::WarmUp,
            awaited: 0,
        }
    }

    /// Takes the next interval in.
    pub(super) fn add(&mut self, interval: &Interval) {
        if self.phase == Phase::WarmUp && interval.phase != Phase::WarmUp {
            self.so_far = Totals::default();
        }
        self.phase = interval.phase;
        self.awaited =
            (self.awaited + interval.offered).saturating_sub(interval.replies + interval.failed_calls);
        let so_far = &mut self.so_far;
        so_far.failures.merge(&interval.errors);
        so_far.errors.add(interval);
        so_far.lag_max = so_far.lag_max.max(interval.lag_max);
        so_far.latency.merge(&interval.latency);
        if let Some(visits) = &interval.visits {
            so_far.visits.get_or_insert_default().extend(visits);
        }
        if let Some(streams) = &interval.streams {
            so_far.streams.get_or_insert_default().extend(streams);
        }
        if interval.length < SHOWN_FROM {
            return;
        }
        if self.recent.len() == RECENT_MAX {
            self.recent.remove(0);
        }
        self.recent.push(interval.clone());
    }

    /// Words for what goes on at this time after the start.
    pub(super) fn doing(&self, at: Duration) -> String {
        match self.outline.phase(at) {
            Phase::WarmUp => "warm-up".to_owned(),
            Phase::Measured if self.outline.is_offering(at) => "measuring".to_owned(),
            Phase::Measured | Phase::Drain => match self.awaited {
                0 => "all sent".to_owned(),
                1 => "all sent; waiting for 1 reply".to_owned(),
                awaited => format!("all sent; waiting for {} replies", count(awaited)),
            },
        }
    }

    /// The last intervals, the newest last.
    pub(super) fn recent(&self) -> &[Interval] {
        &self.recent
    }

    /// The last interval.
    pub(super) fn last(&self) -> Option<&Interval> {
        self.recent.last()
    }
}

/// The time since the start of a run, for displays: set right by each interval, running on between them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    /// At this instant the run was this old.
    set: (Instant, Duration),
}

impl Clock {
    /// A clock of a run that starts now.
    pub(super) fn start() -> Self {
        Self { set: (Instant::now(), Duration::ZERO) }
    }

    /// An interval has just ended.
    pub(super) fn set(&mut self, end: Duration) {
        self.set = (Instant::now(), end);
    }

    /// The age of the run.
    pub(super) fn elapsed(&self) -> Duration {
        self.set.0.elapsed() + self.set.1
    }
}

/// Plans and intervals made up for tests of the displays.
#[cfg(test)]
pub(super) mod examples {
    use std::time::Duration;

    use httperf_command_line::args::Args;
    use httperf_command_line::grammar::parse::words;
    use httperf_command_line::planning;
    use httperf_command_line::terminal::messages::Program;
    use httperf_plan::Plan;
    use httperf_stats::{Classes, Failure, Interval, Phase, StreamCounts, VisitCounts};
    use httperf_testkit::sim::{Edit, scenarios};

    /// The plan of this command line, with a warm-up of 5 s and a drain of 5 s if it has a runtime.
    pub(crate) fn plan(argv: &[&str]) -> Plan {
        let mut args = Args::default();
        args.parse(&words(&[&["--server=127.0.0.1", "--port=8080"], argv].concat())).unwrap();
        let mut plan = planning::plan(&Program::started_as(&"httperf".into()), &args, &mut |_| {}).unwrap();
        if plan.runtime.is_some() {
            plan.change(|plan| {
                plan.phases.warmup = Duration::from_secs(5);
                plan.phases.drain = Duration::from_secs(5);
            });
        }
        plan
    }

    /// The plan of visits in two load phases.
    pub(crate) fn visits() -> Plan {
        let workload = r#"
            base = "http://shop"
            [arrivals]
            phases = [
              { name = "ramp", for = "10s", rate = "0..20/s" },
              { name = "hold at the limit", for = "20s", rate = "20/s" },
            ]
            [[scenario]]
            name = "visitor"
            steps = [{ run = "a.hurl" }]
        "#;
        scenarios(workload, &[("a.hurl", "GET {{base}}/\n")])
    }

    /// The same second with visits; a few fail.
    pub(crate) fn second_of_visits(second: u64) -> Interval {
        let visits = VisitCounts {
            open: 30 + second,
            completed: 18,
            abandoned: u64::from(second > 7),
            checks_failed: 2 * u64::from(second > 7),
        };
        Interval { visits: Some(visits), arrivals: 20, ..self::second(second, Phase::Measured) }
    }

    /// The same second with answers of a language model.
    pub(crate) fn second_of_streams(second: u64) -> Interval {
        let first = Classes::from_ascending([(203_000, 40), (310_000, 2)]);
        let streams = StreamCounts { open: 10 + second, events: 900, tokens: 800, sent: 0, first };
        Interval { streams: Some(Box::new(streams)), ..self::second(second, Phase::Measured) }
    }

    /// Second number `second` of a run at about 1000 a second.
    pub(crate) fn second(second: u64, phase: Phase) -> Interval {
        let replies = 990 + second % 20;
        let mut interval = Interval {
            from: Duration::from_secs(second),
            length: Duration::from_secs(1),
            phase,
            arrivals: 1000,
            offered: 1000,
            sent: 1000,
            replies,
            open: 12,
            lag_max: Duration::from_micros(120 + second),
            latency: Classes::from_ascending([(310, replies - 20), (920, 15), (1500 + second * 10, 5)]),
            ..Interval::default()
        };
        if second % 10 == 9 {
            interval.errors.add(Failure::ClientTimeout);
            interval.errors.add(Failure::Reset);
            interval.http_errors = 3;
            (interval.failed_calls, interval.error_replies) = (2, 3);
        }
        interval
    }
}

#[cfg(test)]
mod tests {
    use httperf_stats::Failure;

    use super::*;

    fn seconds(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    #[test]
    fn with_a_runtime_it_is_known_what_is_left_of_each_phase() {
        let outline = Outline::new(&examples::plan(&["--rate=10", "--num-conns=100000", "--runtime=60"]));
        for (at, phase, left) in [
            (0, Phase::WarmUp, 65),
            (5, Phase::Measured, 60),
            (64, Phase::Measured, 1),
            (66, Phase::Drain, 4),
        ] {
            let at = seconds(at);
            assert_eq!((outline.phase(at), outline.left(at)), (phase, Some(seconds(left))), "{at:?}");
        }
        assert_eq!(outline.left(seconds(99)), Some(Duration::ZERO));
    }

    #[test]
    fn without_one_the_arrivals_tell() {
        let outline = Outline::new(&examples::plan(&["--rate=10", "--num-conns=100"]));
        assert_eq!(outline.left(seconds(4)), Some(seconds(6)));
        assert_eq!(outline.phase(seconds(99)), Phase::Measured);
        let outline = Outline::new(&examples::plan(&["--num-conns=100"]));
        assert_eq!((outline.left(seconds(4)), outline.asked(seconds(4))), (None, None));
        let outline = Outline::new(&examples::plan(&["--rate=inf", "--num-conns=100"]));
        assert_eq!((outline.left(seconds(4)), outline.asked(seconds(4))), (None, None));
    }

    #[test]
    fn once_all_is_offered_nothing_is_asked_for() {
        let outline = Outline::new(&examples::plan(&["--rate=10", "--num-conns=1000", "--runtime=60"]));
        assert_eq!([64, 65].map(|at| outline.asked(seconds(at))), [Some(10.0), None]);
    }

    #[test]
    fn the_rate_asked_follows_the_steps() {
        let outline = Outline::new(&examples::plan(&["--period=v0.1,2,0.01,3"]));
        let asked = |at| outline.asked(seconds(at)).map(f64::round);
        assert_eq!([0, 1, 2, 4, 5].map(asked), [10.0, 10.0, 100.0, 100.0, 10.0].map(Some));
    }

    #[test]
    fn phases_have_a_name_what_is_left_of_them_and_a_rate_of_their_own() {
        let outline = Outline::new(&examples::visits());
        let seen = |at: u64| (outline.load_phase(seconds(at)), outline.asked(seconds(at)));
        let named = |name: &str, left| Some((name.to_owned(), seconds(left)));
        assert_eq!(seen(0), (named("ramp", 10), Some(0.0)));
        assert_eq!(seen(5), (named("ramp", 5), Some(10.0)));
        assert_eq!(seen(10), (named("hold at the l…", 20), Some(20.0)));
        assert_eq!(seen(30), (None, None));
    }

    #[test]
    fn what_was_warm_up_is_forgotten_when_measuring_begins() {
        let mut standing = Standing::new(&examples::plan(&[]));
        let mut warmup = examples::second(0, Phase::WarmUp);
        warmup.errors.add(Failure::Refused);
        standing.add(&warmup);
        assert_eq!(standing.so_far.failures.total(), 1);
        standing.add(&examples::second(1, Phase::Measured));
        standing.add(&examples::second(2, Phase::Drain));
        assert_eq!(standing.so_far.failures.total(), 0);
        assert_eq!(standing.so_far.latency.total(), 991 + 992);
    }

    #[test]
    fn only_the_last_minutes_are_remembered_one_by_one() {
        let mut standing = Standing::new(&examples::plan(&[]));
        (0..1000).for_each(|number| standing.add(&examples::second(number, Phase::Measured)));
        assert_eq!(standing.recent().len(), RECENT_MAX);
        assert_eq!(standing.recent()[0].from, seconds(700));
    }

    #[test]
    fn what_is_left_of_a_second_counts_and_is_not_shown_as_a_rate() {
        let mut standing = Standing::new(&examples::plan(&["--rate=1000"]));
        standing.add(&examples::second(0, Phase::Measured));
        let whole = standing.so_far.latency.total();
        let sliver = Interval { length: Duration::from_millis(2), ..examples::second(1, Phase::Measured) };
        standing.add(&sliver);
        assert_eq!(standing.last().map(|last| last.from), Some(Duration::ZERO));
        assert!(standing.so_far.latency.total() > whole);
    }
}

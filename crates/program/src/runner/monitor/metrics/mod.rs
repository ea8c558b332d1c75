//! Metrics of a run while it goes on: fetched by Prometheus, sent to OpenTelemetry and InfluxDB.
//!
//! ```text
//!   seconds ─► Meter ─┬─► listener: a thread for each who fetches
//!                     ├─► bounded channel ─► thread ─► receiver of OTLP
//!                     └─► bounded channel ─► thread ─► InfluxDB, or a file
//! ```
//!
//! Nobody of them can hold up the run. What they are told is the business of the `metrics` crate.

mod listener;
mod sender;

use std::ffi::OsString;
use std::fs::File;
use std::io::Write as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::Context;
use httperf_command_line::args::{InfluxTarget, MetricsArgs};
use httperf_command_line::terminal::messages::Program;
use httperf_command_line::terminal::status_line::StatusLine;
use httperf_metrics::{About, Meter, Now, RankTotals, influx, otlp};
use httperf_plan::Plan;
use httperf_report::verdict;
use httperf_stats::{CallOutcome, CpuTime, Interval, Merge as _, Phase, Series, Summary, ThreadUsage};

use crate::runner::Runner;
use crate::runner::fleet::Seat;
use crate::runner::results::file;

use self::listener::Fetches;
use self::sender::Sender;
use super::coverage::Coverage;
use super::standing::Outline;
use super::{Consumer, WatchOutcome};

/// The metrics that are wanted of a run.
#[derive(Clone, Debug)]
pub(crate) struct MetricsSettings {
    args: MetricsArgs,
    about: About,
    fetches: Arc<Fetches>,
}

impl MetricsSettings {
    /// The settings for a run of this name; `None` if nobody wants metrics.
    pub(crate) fn of(args: &MetricsArgs, run: &str, seat: Option<&Seat>) -> Option<Self> {
        args.are_taken().then_some(())?;
        let alone = seat.filter(|seat| !seat.meets());
        let about = About {
            run: run.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            host: rustix::system::uname().nodename().to_string_lossy().into_owned(),
            ranks: seat.map_or(1, |seat| seat.rank.size().get()),
            rank: alone.map(|seat| seat.rank.index()),
        };
        Some(Self { args: args.clone(), about, fetches: Arc::default() })
    }

    /// Keeps the metrics up until the last figures were fetched, if somebody is expected to do so, or until the end is asked for.
    pub(crate) fn linger(&self, runner: &Runner) {
        const GLANCE: Duration = Duration::from_millis(20);
        if self.args.listen.is_none() {
            return;
        }
        let Some(longest) = self.args.linger.or_else(|| self.fetches.next_within()) else { return };
        let start = Instant::now();
        runner.signals.ask_first();
        let mut line = StatusLine::open();
        while !self.fetches.are_complete() && !runner.is_interrupted() {
            let left = longest.saturating_sub(start.elapsed());
            if left.is_zero() {
                break;
            }
            if start.elapsed() > Duration::from_secs(1) {
                line.show(&format!(
                    "waiting for a last fetch of --metrics, {} s at most",
                    left.as_secs() + 1
                ));
            }
            std::thread::sleep(GLANCE.min(left));
        }
    }
}

/// Takes the seconds of a run to those who collect metrics.
pub(super) struct Metrics {
    program: Program,
    plan: Plan,
    outline: Outline,
    meter: Meter,
    /// The ranks' sums of which InfluxDB has been told.
    ranks_told: Vec<RankTotals>,
    /// What is told to those who fetch; `None` if nobody may.
    published: Option<Arc<Mutex<Meter>>>,
    fetches: Arc<Fetches>,
    otlp: Option<Sender>,
    influx: Option<Influx>,
    taken: Coverage,
    so_far: SoFar,
    /// Since 1970.
    started: Duration,
}

/// The destination of lines for InfluxDB.
enum Influx {
    Url(Sender),
    File { name: OsString, file: File, has_failed: bool },
}

impl Metrics {
    pub(super) fn start(settings: &MetricsSettings, plan: &Plan, program: Program) -> anyhow::Result<Self> {
        let MetricsSettings { args, about, fetches } = settings;
        let meter = Meter::new(about.clone());
        let influx = match &args.influx {
            None => None,
            Some(InfluxTarget::File(name)) => {
                let file = file::create(name)
                    .with_context(|| format!("--influx: cannot write `{}`", name.to_string_lossy()))?;
                Some(Influx::File { name: name.clone(), file, has_failed: false })
            }
            Some(InfluxTarget::Url(url)) => Some(Influx::Url(Sender::to_influx(url, program.clone())?)),
        };
        let otlp = args.otlp.as_deref().map(|url| Sender::to_otlp(url, program.clone())).transpose()?;
        let published = match &args.listen {
            None => None,
            Some(address) => {
                let published = Arc::new(Mutex::new(meter.clone()));
                listener::listen(address, &published, fetches)?;
                Some(published)
            }
        };
        Ok(Self {
            program,
            plan: plan.clone(),
            outline: Outline::new(plan),
            meter,
            ranks_told: Vec::new(),
            published,
            fetches: Arc::clone(fetches),
            otlp,
            influx,
            taken: Coverage::default(),
            so_far: SoFar::new(plan, about),
            started: since_1970(),
        })
    }

    fn take(&mut self, interval: &Interval) {
        self.so_far.add(interval);
        let now =
            Now { asked_per_s: self.outline.asked(interval.from), verdict: self.so_far.verdict(&self.plan) };
        self.meter.add(interval, now);
        if self.influx.is_some() {
            // An interval that is taken up at the end was over before.
            let at = (self.started + interval.end()).min(since_1970());
            let mut lines = influx::line(&self.meter.about, interval, now, at);
            lines.push_str(&self.lines_of_ranks(at));
            self.write_influx(lines);
        }
    }

    /// Lines of the ranks that have told of something since this was called before.
    fn lines_of_ranks(&mut self, at: Duration) -> String {
        let (about, ranks) = (&self.meter.about, &self.meter.ranks);
        self.ranks_told.resize(ranks.len(), RankTotals::default());
        let lines = ranks.iter().zip(&mut self.ranks_told).enumerate().map(|(rank, (after, before))| {
            let before = std::mem::replace(before, *after);
            if before == *after { String::new() } else { influx::rank_line(about, rank, &before, after, at) }
        });
        lines.collect()
    }

    fn write_influx(&mut self, lines: String) {
        match &mut self.influx {
            None => {}
            Some(Influx::Url(sender)) => sender.send(lines.into_bytes()),
            Some(Influx::File { name, file, has_failed }) => {
                if let Err(error) = file.write_all(lines.as_bytes())
                    && !std::mem::replace(has_failed, true)
                {
                    self.program
                        .say(format_args!("--influx: cannot write `{}`: {error}", name.to_string_lossy()));
                }
            }
        }
    }

    /// Lets others know what was taken.
    fn publish(&mut self) {
        if let Some(published) = &self.published {
            published.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&self.meter);
        }
        if let Some(sender) = &mut self.otlp {
            sender.send(otlp::request(&self.meter, self.started, since_1970()));
        }
    }
}

impl Consumer for Metrics {
    fn interval(&mut self, interval: &Interval) {
        self.taken.note(interval, true);
        self.take(interval);
        self.publish();
    }

    fn rank_interval(&mut self, rank: u32, interval: &Interval) {
        self.meter.add_of_rank(rank, interval);
    }

    fn finish(&mut self, series: Option<&Series>, outcome: &mut WatchOutcome) {
        let intervals = series.map_or(&[][..], Series::intervals);
        let lacking: Vec<&Interval> =
            intervals.iter().filter(|interval| self.taken.lacks(interval)).collect();
        lacking.into_iter().for_each(|interval| self.take(interval));
        let lines = self.lines_of_ranks(since_1970());
        if !lines.is_empty() {
            self.write_influx(lines);
        }
        self.publish();
        self.fetches.end();
        if let Some(sender) = self.otlp.take() {
            sender.finish();
        }
        match self.influx.take() {
            Some(Influx::Url(sender)) => sender.finish(),
            Some(Influx::File { has_failed, .. }) => outcome.has_failed |= has_failed,
            None => {}
        }
    }
}

/// The measured part of a run so far, as far as the intervals tell of it.
struct SoFar {
    summary: Summary,
    /// Workers of all ranks. Intervals have the processor time of all together.
    workers: u32,
    cpu: Duration,
}

impl SoFar {
    fn new(plan: &Plan, about: &About) -> Self {
        let ranks = if about.rank.is_some() { 1 } else { about.ranks };
        let workers = plan.workers().get().saturating_mul(ranks.max(1));
        Self { summary: Summary::default(), workers, cpu: Duration::ZERO }
    }

    fn add(&mut self, interval: &Interval) {
        if interval.phase != Phase::Measured {
            return;
        }
        let Self { summary, workers, cpu } = self;
        summary.duration += interval.length;
        summary.connections += interval.arrivals;
        summary.errors.merge(&interval.errors);
        summary.calls[CallOutcome::Success as usize].latency.add_classes(&interval.latency);
        if let Some(clocks) = &interval.clocks {
            summary.lag.add_classes(&clocks.lag);
            *cpu += clocks.cpu;
            let each = CpuTime { user: *cpu / *workers, ..CpuTime::default() };
            summary.usage.workers = vec![ThreadUsage { cpu: each, ..ThreadUsage::default() }];
        }
    }

    /// The verdict that these figures alone would get: a place in `httperf_metrics::VERDICTS`. `None` before anything was
    /// measured.
    fn verdict(&self, plan: &Plan) -> Option<usize> {
        (!self.summary.duration.is_zero()).then(|| verdict(plan, &self.summary).level as usize)
    }
}

fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

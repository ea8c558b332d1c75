//! Watchers of a run while it goes on: the progress line, the full-screen view, the interval log, and those that end it
//! early.
//!
//! ```text
//!   worker ─► observer ─► Feed ─┐
//!   worker ─► observer ─► Feed ─┴─► bounded channel ─► thread: assembly ─► consumers
//! ```
//!
//! A worker never waits for any of them: what does not fit into the channel is counted and left out. Consumers see one
//! interval at a time, that of all workers together. A new way of watching is another `Consumer`, made in `consumers`.

mod coverage;
mod figures;
mod interval_log;
mod intervals;
mod live;
mod metrics;
mod objectives;
mod progress;
mod relay;
mod standing;
mod until;

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use httperf_command_line::terminal::lines;
use httperf_command_line::terminal::messages::Program;
use httperf_engine::StopRequest;
use httperf_plan::{Plan, Watch};
use httperf_stats::{Interval, Series};

use crate::runner::gather::Gathered;

use self::interval_log::IntervalLog;
use self::intervals::Intervals;
use self::live::Live;
use self::metrics::Metrics;
use self::objectives::Objectives;
use self::progress::Progress;
use self::relay::Relaying;
use self::until::Until;

/// The most intervals of each worker that may wait for the consumers: a minute's.
const WAITING_MAX: usize = 64;

/// The tick of consumers that only follow the clock.
const SLOW_TICK: Duration = Duration::from_secs(1);

/// The tick if one of them reads the keyboard.
const QUICK_TICK: Duration = Duration::from_millis(100);

pub(crate) use self::interval_log::read_of_rank;
pub(crate) use self::metrics::MetricsSettings;
pub(crate) use self::relay::Relay;

/// The watchers of a run besides the report.
#[derive(Clone, Debug)]
pub struct WatchSettings {
    /// Whose messages are printed.
    pub program: Program,
    /// True if the run is shown on the whole screen.
    pub live: bool,
    /// True if what is shown meanwhile is coloured.
    pub has_colour: bool,
    /// The destination of a line for each second.
    pub interval_log: Option<PathBuf>,
    /// Metrics that are wanted.
    pub(crate) metrics: Option<MetricsSettings>,
    /// The rank of a fleet whose part is watched; `None` if that is the whole.
    pub(crate) rank: Option<u32>,
    /// Takes the seconds of a part of a run to those who watch the whole, here nobody does.
    pub(crate) relay: Option<Relay>,
}

/// Takes a run in as it goes on, on the monitor's thread: it may take its time.
trait Consumer: Send {
    /// An interval has ended.
    fn interval(&mut self, interval: &Interval);

    /// An interval has ended, but a part of it is missing, as a worker was late. The series will have it.
    fn partial_interval(&mut self, _interval: &Interval) {}

    /// A rank of a fleet tells of its interval, or a worker of this rank of its own. That of the whole follows.
    fn rank_interval(&mut self, _rank: u32, _interval: &Interval) {}

    /// Some time has passed, a tick at most.
    fn tick(&mut self) {}

    /// The run is over: adds what became of this consumer to `outcome`. `series` is the whole run, unless it failed.
    fn finish(&mut self, series: Option<&Series>, outcome: &mut WatchOutcome);
}

type Consumers = Vec<Box<dyn Consumer>>;

/// The thread that watches a run.
#[derive(Debug)]
pub struct Monitor {
    /// Gives its consumers back. There is none if there is nothing to do.
    thread: Option<JoinHandle<Consumers>>,
    over: Arc<AtomicBool>,
}

/// The outcome of watching a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WatchOutcome {
    /// Something was asked for and is not complete, such as the interval log. The reason was printed.
    pub has_failed: bool,
    /// The user asked for the end of the run.
    pub ended_by_user: bool,
    /// The run was ended because it had measured as exactly as the plan asks for.
    pub is_exact: bool,
    /// The run was asked to end because it had missed an objective.
    pub has_missed: bool,
}

impl Monitor {
    /// Prepares what is wanted and starts a thread for it. Returns a feed for the observer of each worker, and then one
    /// for each of the `others`: the further ranks of a fleet, if this one watches the whole.
    ///
    /// # Errors
    /// A terminal or a file that is needed and cannot be had.
    pub fn start(
        settings: &WatchSettings,
        plan: &Plan,
        others: usize,
        stop: &StopRequest,
    ) -> anyhow::Result<(Self, Vec<Feed>)> {
        let consumers = consumers(settings, plan, stop)?;
        let tick = if settings.live { QUICK_TICK } else { SLOW_TICK };
        Self::watch(consumers, Sources { workers: plan.workers().get() as usize, others }, tick)
    }

    fn watch(
        mut consumers: Consumers,
        sources: Sources,
        tick: Duration,
    ) -> anyhow::Result<(Self, Vec<Feed>)> {
        let count = sources.count();
        let over = Arc::new(AtomicBool::new(false));
        let feeds = |channel: Option<SyncSender<Message>>| {
            (0..count).map(|source| Feed { source, channel: channel.clone(), missed: 0 }).collect()
        };
        if consumers.is_empty() {
            return Ok((Self { thread: None, over }, feeds(None)));
        }
        let (channel, messages) = sync_channel(WAITING_MAX * count);
        let is_over = Arc::clone(&over);
        let thread = std::thread::Builder::new()
            .name("monitor".into())
            .spawn(move || {
                consume(&messages, sources, &mut consumers, tick, &is_over);
                consumers
            })
            .context("cannot start the thread that watches the run")?;
        Ok((Self { thread: Some(thread), over }, feeds(Some(channel))))
    }

    /// Ends the thread and gives the terminal back. The feeds that came with it must be gone. `series` is the whole
    /// run, unless it failed.
    pub fn finish(mut self, series: Option<&Series>) -> WatchOutcome {
        let mut outcome = WatchOutcome::default();
        match self.thread.take().map(JoinHandle::join) {
            None => {}
            Some(Ok(mut consumers)) => {
                consumers.iter_mut().for_each(|consumer| consumer.finish(series, &mut outcome));
            }
            // It panicked, and has said so itself.
            Some(Err(_)) => outcome.has_failed = true,
        }
        lines::restore();
        outcome
    }
}

/// For runs that end without an end: the terminal is given back all the same.
impl Drop for Monitor {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
        lines::restore();
    }
}

/// All that is wanted, the log first, so that what is said of it is not behind the screen.
fn consumers(settings: &WatchSettings, plan: &Plan, stop: &StopRequest) -> anyhow::Result<Consumers> {
    let mut consumers = Consumers::new();
    if let Some(relay) = &settings.relay {
        if let Some(path) = &settings.interval_log {
            consumers.push(Box::new(IntervalLog::create(path, settings.rank, settings.program.clone())?));
        }
        consumers.push(Box::new(Relaying(relay.clone())));
        return Ok(consumers);
    }
    if let Some(precision) = plan.until {
        consumers.push(Box::new(Until::new(precision, stop.clone())));
    }
    if plan.objectives.abort {
        consumers.push(Box::new(Objectives::new(plan, stop.clone())));
    }
    if let Some(path) = &settings.interval_log {
        consumers.push(Box::new(IntervalLog::create(path, settings.rank, settings.program.clone())?));
    }
    if let Some(metrics) = &settings.metrics {
        consumers.push(Box::new(Metrics::start(metrics, plan, settings.program.clone())?));
    }
    if settings.live {
        ensure!(io::stderr().is_terminal(), "--live: expected a terminal on standard error");
        ensure!(
            !(prints(&plan.watch) && io::stdout().is_terminal()),
            "--live: expected no option that prints to the same terminal while the run goes on"
        );
        consumers.push(Box::new(Live::start(plan, stop.clone(), settings.has_colour)?));
    } else if progress::is_welcome() && !settings.program.is_quiet() && !prints(&plan.watch) {
        consumers.push(Box::new(Progress::new(plan, settings.has_colour)));
    }
    Ok(consumers)
}

/// Returns whether the run prints while it goes on.
fn prints(watch: &Watch) -> bool {
    watch.verbose > 0
        || watch.requests.is_some()
        || watch.replies.is_some()
        || watch.lifetimes
        || watch.periodic
}

/// Those whose intervals make up that of the whole.
#[derive(Clone, Copy, Debug)]
struct Sources {
    /// Workers of this process.
    workers: usize,
    /// Further ranks of the fleet.
    others: usize,
}

impl Sources {
    fn count(self) -> usize {
        self.workers + self.others
    }

    /// The rank of a source; `None` if there is no fleet.
    fn rank(self, source: usize) -> Option<u32> {
        let rank = (source + 1).saturating_sub(self.workers);
        (self.others > 0).then(|| u32::try_from(rank).unwrap_or(u32::MAX))
    }
}

/// Hands out what arrives until nothing more will.
fn consume(
    messages: &Receiver<Message>,
    sources: Sources,
    consumers: &mut Consumers,
    tick: Duration,
    over: &AtomicBool,
) {
    let mut intervals = Intervals::new(sources.count());
    while !over.load(Ordering::Relaxed) {
        match messages.recv_timeout(tick) {
            Ok(Message { source, interval: Some(interval) }) => {
                if let Some(rank) = sources.rank(source) {
                    consumers.iter_mut().for_each(|consumer| consumer.rank_interval(rank, &interval));
                }
                intervals.add(source, interval, Instant::now());
            }
            Ok(Message { source, interval: None }) => intervals.end(source),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        while let Some(gathered) = intervals.next(Instant::now()) {
            consumers.iter_mut().for_each(|consumer| match &gathered {
                Gathered::Whole(interval) => consumer.interval(interval),
                Gathered::Partial(interval) => consumer.partial_interval(interval),
            });
        }
        consumers.iter_mut().for_each(|consumer| consumer.tick());
    }
}

/// A message of a worker, or of another rank, to the monitor.
#[derive(Debug)]
struct Message {
    source: usize,
    /// An interval that has ended; `None` when there will be no more.
    interval: Option<Interval>,
}

/// A worker's end of the channel. Dropping it says that the worker has ended.
#[derive(Debug)]
pub struct Feed {
    source: usize,
    channel: Option<SyncSender<Message>>,
    missed: u64,
}

impl Feed {
    /// Tells of an interval, unless the consumers are far behind. Never waits.
    pub fn interval(&mut self, interval: &Interval) {
        let Some(channel) = &self.channel else { return };
        let message = Message { source: self.source, interval: Some(interval.clone()) };
        self.missed += u64::from(channel.try_send(message).is_err());
    }

    /// The number of intervals that the consumers were not told of.
    #[must_use]
    pub fn missed(&self) -> u64 {
        self.missed
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        if let Some(channel) = &self.channel {
            // This may wait, as the worker has nothing left to do. Where nobody listens any more, there is nobody to
            // tell.
            drop(channel.send(Message { source: self.source, interval: None }));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};

    use super::*;

    fn workers(workers: usize) -> Sources {
        Sources { workers, others: 0 }
    }

    /// Takes one interval, and no other before it is told to go on.
    struct Slow {
        go_on: Receiver<()>,
        seen: Sender<Duration>,
    }

    impl Consumer for Slow {
        fn interval(&mut self, interval: &Interval) {
            self.seen.send(interval.from).unwrap();
            // An error is what telling it for good looks like.
            self.go_on.recv().unwrap_or_default();
        }

        fn finish(&mut self, _: Option<&Series>, outcome: &mut WatchOutcome) {
            outcome.ended_by_user = true;
        }
    }

    /// A monitor of one worker.
    fn watch(consumer: Slow, tick: Duration) -> (Monitor, Feed) {
        let (monitor, mut feeds) = Monitor::watch(vec![Box::new(consumer)], workers(1), tick).unwrap();
        (monitor, feeds.remove(0))
    }

    fn second(number: u64) -> Interval {
        Interval { from: Duration::from_secs(number), ..Interval::default() }
    }

    #[test]
    fn a_consumer_that_sleeps_does_not_hold_up_the_worker() {
        let (go_on, may_go_on) = channel();
        let (seen, was_seen) = channel();
        let slow = Slow { go_on: may_go_on, seen };
        let (monitor, mut feed) = watch(slow, SLOW_TICK);
        feed.interval(&second(0));
        assert_eq!(was_seen.recv().unwrap(), Duration::ZERO);
        // From here on it sleeps, and this thread goes on.
        (1..=100).for_each(|number| feed.interval(&second(number)));
        assert_eq!(feed.missed(), 100 - WAITING_MAX as u64);
        drop(go_on);
        drop(feed);
        let outcome = monitor.finish(None);
        assert!(outcome.ended_by_user, "the consumer was not asked");
        assert_eq!(was_seen.into_iter().count(), WAITING_MAX, "what fitted was lost");
    }

    #[test]
    fn a_monitor_that_is_dropped_ends_its_thread() {
        let (go_on, may_go_on) = channel();
        let (seen, was_seen) = channel();
        drop(go_on);
        let slow = Slow { go_on: may_go_on, seen };
        let (monitor, feed) = watch(slow, QUICK_TICK);
        drop(monitor);
        assert!(was_seen.recv().is_err(), "the consumer is still there");
        drop(feed);
    }

    #[test]
    fn without_consumers_there_is_no_thread_and_nothing_is_missed() {
        let (monitor, mut feeds) = Monitor::watch(Consumers::new(), workers(2), SLOW_TICK).unwrap();
        for feed in &mut feeds {
            feed.interval(&second(0));
            assert_eq!(feed.missed(), 0);
        }
        drop(feeds);
        assert_eq!(monitor.finish(None), WatchOutcome::default());
    }

    #[test]
    fn consumers_see_one_interval_of_all_workers_together() {
        let (go_on, may_go_on) = channel();
        let (seen, was_seen) = channel();
        drop(go_on);
        let slow = Slow { go_on: may_go_on, seen };
        let (monitor, mut feeds) = Monitor::watch(vec![Box::new(slow)], workers(2), QUICK_TICK).unwrap();
        let mut second_feed = feeds.pop().unwrap();
        let mut first_feed = feeds.pop().unwrap();
        (0..3).for_each(|number| first_feed.interval(&second(number)));
        second_feed.interval(&second(0));
        // The others no longer wait for the worker that has ended.
        drop(second_feed);
        drop(first_feed);
        monitor.finish(None);
        assert_eq!(was_seen.into_iter().map(|from| from.as_secs()).collect::<Vec<_>>(), [0, 1, 2]);
    }
}

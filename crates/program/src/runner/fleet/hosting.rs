//! Rank 0: gathers the others, starts with them, and brings together what they measured.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant as SystemInstant};

use anyhow::{Context, bail};
use httperf_command_line::terminal::messages::Program;
use httperf_engine::{Agreement, Part, StopRequest};
use httperf_fleet::{ClockOffset, Driver, Host, HostEvent, MeetingError, now};
use httperf_plan::Plan;
use httperf_report::result::{Document, merge};
use httperf_report::{LostRank, RankClock, ToldSeconds};
use httperf_stats::{Instant, Interval, WatchedClocks};

use crate::runner::monitor::Feed;

use super::board::Board;
use super::{Meeting, Round, Seat, nonce};
use crate::runner::trials::Trial;

/// The time after which those who wait are told for whom, and how often from then on.
const PATIENT: Duration = Duration::from_secs(5);
const AGAIN: Duration = Duration::from_secs(30);

/// The time for results of others when the end was asked for: launchers kill what does not end soon.
const HURRIED: Duration = Duration::from_secs(4);

/// The pause between looks at whether the end was asked for.
const GLANCE: Duration = Duration::from_millis(20);

/// The most strangers that are told of one by one.
const STRANGERS_TOLD: u64 = 3;

/// Rank 0's meeting with the others.
pub(crate) struct Hosting {
    program: Program,
    seat: Seat,
    driver: Driver<Host>,
    shared: Arc<Board<State>>,
}

/// The standing of a meeting, as the thread of the meeting tells of it.
#[derive(Default)]
struct State {
    has_met: bool,
    start: Option<Duration>,
    has_ended: bool,
    failure: Option<MeetingError>,
    /// Those who follow the seconds of other ranks.
    feeds: BTreeMap<u32, Feed>,
    /// Sums of those seconds.
    told: BTreeMap<u32, ToldSeconds>,
    results: BTreeMap<u32, Vec<u8>>,
    lost: Vec<LostRank>,
    complaints: Vec<String>,
    /// True if another rank was asked to end the run.
    was_stopped: bool,
    /// Clocks before the run and behind it.
    clocks: BTreeMap<u32, (Option<ClockOffset>, Option<ClockOffset>)>,
    strangers: u64,
}

impl Hosting {
    /// Opens the meeting and waits for all ranks that are to carry out `plans` with this command.
    ///
    /// # Errors
    /// The exit status if the place cannot be opened, or if the ranks do not come together. The reason was printed.
    pub(crate) fn gather(
        program: &Program,
        seat: &Seat,
        command: &str,
        plans: &[Plan],
        stop: &StopRequest,
    ) -> Result<Self, ExitCode> {
        let hosting =
            Self::open(program, seat, command, plans, stop).map_err(|error| program.fail(&error))?;
        if let Err(error) = hosting.wait_for_all(stop) {
            let status = program.fail(&error);
            // Ranks that come now are told, too.
            hosting.leave();
            return Err(status);
        }
        Ok(hosting)
    }

    fn open(
        program: &Program,
        seat: &Seat,
        command: &str,
        plans: &[Plan],
        stop: &StopRequest,
    ) -> anyhow::Result<Self> {
        let Some(Meeting { place, secret, patience }) = &seat.meeting else { bail!("the ranks do not meet") };
        let links = place.open().with_context(|| format!("--meet: cannot open {place}"))?;
        nonce()?;
        let draw = || nonce().expect("the system has drawn one before");
        let host = Host::new(seat.join(command, plans), secret.clone(), now().clock, *patience, draw);
        let shared = Arc::new(Board::<State>::default());
        let listener = Listener { shared: Arc::clone(&shared), stop: stop.clone(), program: program.clone() };
        let driver = Driver::start(host, links, move |host: &mut Host, event| listener.take(host, event))
            .context("cannot start the thread of the meeting")?;
        Ok(Self { program: program.clone(), seat: seat.clone(), driver, shared })
    }

    /// Announces a run to the other ranks, or a trial.
    pub(crate) fn begin(&self, trial: Option<&Trial>) {
        self.shared.change(State::forget_the_last_run);
        let trial = trial.cloned();
        self.driver.tell(move |host, _| {
            host.begin(|host, rank| {
                Round { local_index: host.local_index(rank), trial: trial.clone() }.json()
            });
        });
    }

    fn wait_for_all(&self, stop: &StopRequest) -> anyhow::Result<()> {
        let began = SystemInstant::now();
        let mut tell_at = began + PATIENT;
        loop {
            let state = self.shared.wait(Some(GLANCE), |state| state.has_met || state.failure.is_some());
            if let Some(failure) = &state.failure {
                bail!("--fleet: {failure}");
            }
            if state.has_met {
                return Ok(());
            }
            drop(state);
            if stop.is_asked() {
                self.driver.tell(|host, _| host.stop());
            }
            if SystemInstant::now() >= tell_at {
                tell_at = SystemInstant::now() + AGAIN;
                let (program, meeting) = (self.program.clone(), self.seat.meeting.clone());
                let place = meeting.map_or_else(String::new, |meeting| meeting.place.to_string());
                self.driver.tell(move |host, _| {
                    let absent: Vec<String> = host.absent().iter().map(u32::to_string).collect();
                    program.warn(format_args!("waiting at {place} for ranks {}", absent.join(", ")));
                });
            }
        }
    }

    /// The part of the run that rank 0 carries out.
    pub(crate) fn part<'a>(&'a self, plan: &'a Plan) -> Part<'a> {
        Part {
            shards: Some(self.seat.shards(plan)),
            first_processor: self.seat.first_processor(plan, 0),
            agreement: Some(self),
            ..Part::whole(plan, None)
        }
    }

    /// The number of other ranks.
    pub(crate) fn others(&self) -> usize {
        self.seat.rank.size().get() as usize - 1
    }

    /// Lets these follow the seconds of the other ranks.
    pub(crate) fn feed(&self, feeds: Vec<Feed>) {
        self.shared.state().feeds = (1..).zip(feeds).collect();
    }

    /// Tells that rank 0 cannot go on.
    pub(crate) fn give_up(&self, reason: String) {
        self.driver.tell(move |host, _| host.fail_own(reason));
    }

    /// Sends the others home, if they are still there, and waits until all were told.
    pub(crate) fn leave(self) {
        self.driver.tell(|host, _| host.dismiss());
        self.driver.join();
    }

    /// Returns the reason why the ranks did not start, if they did not.
    pub(crate) fn failure(&self) -> Option<MeetingError> {
        self.shared.state().failure.clone()
    }

    /// Returns whether another rank was asked to end the run.
    pub(crate) fn was_stopped(&self) -> bool {
        self.shared.state().was_stopped
    }

    /// Waits until the run is over at all ranks. `was_asked`: the end was asked for here.
    pub(crate) fn wait_for_results(&self, was_asked: bool) {
        self.driver.tell(move |host, time| {
            if was_asked {
                host.stop();
            }
            host.own_part_is_over(time);
        });
        let limit = was_asked.then_some(HURRIED);
        let is_over = |state: &State| state.has_ended || state.failure.is_some();
        if !is_over(&self.shared.wait(limit, is_over)) {
            let shared = Arc::clone(&self.shared);
            self.driver.tell(move |host, _| shared.change(|state| state.note_absent(host)));
            drop(self.shared.wait(None, is_over));
        }
        // Feeds that are left would keep the monitor waiting.
        self.shared.state().feeds.clear();
    }

    /// Adds what the other ranks measured to the result of this one, and returns that with what went wrong at others. A
    /// result that cannot be read is lost.
    ///
    /// # Errors
    /// If a result does not fit the others.
    pub(crate) fn merged(&self, own: Document) -> anyhow::Result<(Document, Vec<String>)> {
        let mut state = self.shared.state();
        let plan = own.plan.clone();
        let mut documents = vec![own];
        for (rank, json) in std::mem::take(&mut state.results) {
            let mut document = match Document::read(&json) {
                Ok(document) => document,
                Err(error) => {
                    let reason = format!("its result cannot be read: {error}");
                    state.complaints.push(format!("rank {rank}: {reason}"));
                    let told = state.told.get(&rank).copied();
                    state.lost.push(LostRank { rank, host: String::new(), reason, told });
                    continue;
                }
            };
            // The digests agreed: what may differ is where names of servers lead.
            document.plan = plan.clone();
            let clock = state.clocks.get(&rank).and_then(|(before, after)| rank_clock((*before)?, *after));
            let ranks = document.fleet.iter_mut().flat_map(|fleet| &mut fleet.ranks);
            ranks.for_each(|rank| rank.clock = clock);
            documents.push(document);
        }
        if let Some(fleet) = &mut documents[0].fleet {
            fleet.lost = std::mem::take(&mut state.lost);
            fleet.strangers = state.strangers;
        }
        Ok((merge(documents)?, std::mem::take(&mut state.complaints)))
    }
}

impl Agreement for Hosting {
    fn start(&self, stop: &StopRequest) -> Option<Instant> {
        self.driver.tell(|host, time| host.ready(time.clock));
        loop {
            let state =
                self.shared.wait(Some(GLANCE), |state| state.start.is_some() || state.failure.is_some());
            match (state.start, &state.failure) {
                (_, Some(_)) => return None,
                (Some(at), None) => return Some(instant(at)),
                (None, None) => {}
            }
            drop(state);
            if stop.is_asked() {
                self.driver.tell(|host, _| host.stop());
            }
        }
    }
}

/// An instant of the clock that meetings and workers share.
pub(super) fn instant(at: Duration) -> Instant {
    Instant::from_nanos(u64::try_from(at.as_nanos()).unwrap_or(u64::MAX))
}

fn rank_clock(before: ClockOffset, after: Option<ClockOffset>) -> Option<RankClock> {
    Some(RankClock {
        offset_ns: before.wall_ns,
        uncertainty_ns: u64::try_from(before.uncertainty.as_nanos()).ok()?,
        drift_ns: after.map(|after| after.clock_ns.saturating_sub(before.clock_ns)),
    })
}

impl State {
    /// Gets ready for another run of the same ranks.
    fn forget_the_last_run(&mut self) {
        for (before, after) in self.clocks.values_mut() {
            *before = after.take().or(*before);
        }
        self.start = None;
        self.has_ended = false;
        self.told.clear();
        self.results.clear();
    }

    /// Takes note of the ranks whose results have not come, and that nobody waits for them any more.
    fn note_absent(&mut self, host: &Host) {
        for rank in 1.. {
            let Some(known) = host.known(rank) else { break };
            let is_here = self.results.contains_key(&rank) || self.lost.iter().any(|lost| lost.rank == rank);
            if !is_here {
                let reason = format!("no result within {} s of the end", HURRIED.as_secs());
                let told = self.told.get(&rank).copied();
                self.lost.push(LostRank { rank, host: known.join.host, reason, told });
            }
        }
        self.has_ended = true;
    }
}

/// Takes the events of a meeting, on its thread.
struct Listener {
    shared: Arc<Board<State>>,
    stop: StopRequest,
    program: Program,
}

impl Listener {
    fn take(&self, host: &mut Host, event: HostEvent) {
        self.shared.change(|state| self.note(state, host, event));
    }

    fn note(&self, state: &mut State, host: &mut Host, event: HostEvent) {
        let name = |rank: u32| match host.known(rank) {
            Some(known) => format!("rank {rank} ({})", known.join.host),
            None => format!("rank {rank}"),
        };
        match event {
            HostEvent::Stranger { from, claimed, .. } => {
                state.strangers += 1;
                if state.strangers <= STRANGERS_TOLD {
                    let claim = claimed.map_or_else(String::new, |rank| format!(" as rank {rank}"));
                    self.program.warn(format_args!(
                        "a stranger came to the meeting{claim} from {from} and was sent away: it does not know the secret"
                    ));
                }
            }
            HostEvent::Met => {
                state.has_met = true;
                let mut rank = 1;
                while let Some(known) = host.known(rank) {
                    state.clocks.insert(rank, (known.clock, None));
                    for problem in &known.join.problems {
                        self.program.warn(format_args!("warning: {}: {problem}", name(rank)));
                    }
                    rank += 1;
                }
            }
            HostEvent::Start { at } => state.start = Some(at),
            HostEvent::Second { rank, content } => {
                let read = serde_json::from_slice::<(Interval, Option<Box<WatchedClocks>>)>(&content);
                let Ok((mut second, clocks)) = read else { return };
                second.clocks = clocks;
                let told = state.told.entry(rank).or_default();
                told.add(second.end(), second.offered, second.replies, second.failed_calls);
                if let Some(feed) = state.feeds.get_mut(&rank) {
                    feed.interval(&second);
                }
            }
            HostEvent::StopAsked { rank } => {
                self.program.warn(format_args!("{} was asked to end the run", name(rank)));
                state.was_stopped = true;
                self.stop.ask();
            }
            HostEvent::Silent { rank } => self.program.warn(format_args!("{} says nothing", name(rank))),
            HostEvent::Heard { rank } => self.program.warn(format_args!("{} is back", name(rank))),
            HostEvent::Lost { rank, reason } => {
                self.program.say(format_args!("{} is lost: {reason}", name(rank)));
                let machine = host.known(rank).map_or_else(String::new, |known| known.join.host);
                let told = state.told.get(&rank).copied();
                state.lost.push(LostRank { rank, host: machine, reason, told });
                state.feeds.remove(&rank);
            }
            HostEvent::Outcome { rank, content } => {
                state.results.insert(rank, content);
                state.feeds.remove(&rank);
            }
            HostEvent::Complaint { rank, reason } => {
                state.complaints.push(format!("{}: {reason}", name(rank)));
            }
            HostEvent::Ended => {
                for (rank, clocks) in &mut state.clocks {
                    clocks.1 = host.known(*rank).filter(|known| !known.is_lost).and_then(|known| known.clock);
                }
                state.has_ended = true;
            }
            HostEvent::Failed(error) => {
                state.failure = Some(error);
                state.feeds.clear();
                self.stop.ask();
            }
        }
    }
}

//! Every rank but the first: joins the meeting, carries out its part, and sends what it measured.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use httperf_command_line::args::Args;
use httperf_command_line::terminal::is_below_mpirun;
use httperf_command_line::terminal::messages::Program;
use httperf_engine::{Agreement, Part, StopRequest};
use httperf_fleet::{Driver, Guest, GuestEvent, now};
use httperf_plan::{Plan, Watch};
use httperf_report::result::EarlyEnd;
use httperf_stats::{Instant, Interval};

use crate::runner::Runner;
use crate::runner::monitor::{Relay, WatchSettings};
use crate::runner::results::{CallLog, OwnResult};
use crate::runner::run::carry_out;

use super::board::Board;
use super::hosting::instant;
use super::{Meeting, Round, Seat, nonce};

/// The time for rank 0's last word when the end was asked for.
const HURRIED: Duration = Duration::from_secs(6);

/// The time that rank 0 has for its report when mpirun ends all: it kills them once the first has ended, or in a second.
const MPIRUN_TIME: Duration = Duration::from_secs(1);

/// The time until mpirun says that it is about to end all.
const MPIRUN_NOTICE: Duration = Duration::from_millis(200);

/// The pause between looks at whether the end was asked for.
const GLANCE: Duration = Duration::from_millis(20);

/// Carries out the part of a rank that meets rank 0. It prints nothing but errors: rank 0 reports.
///
/// # Errors
/// The exit status of a part that could not be carried out. The reason was printed.
pub(crate) fn follow(program: &Program, args: &Args, plan: &Plan, seat: &Seat) -> Result<ExitCode, ExitCode> {
    let program = &program.quieted(true);
    let args = &seat.args(args);
    let plan = &silent(plan).map_err(|error| program.fail(&error))?;
    let prepared = Runner::start(program, &[plan], || {
        let calls = args.results.calls.as_deref().map(|name| CallLog::create(name, plan)).transpose()?;
        let own = OwnResult::prepare(&args.results, seat.rank.index())?;
        Ok((calls, own))
    });
    let plans = std::slice::from_ref(plan);
    let (runner, (calls, own)) = prepared.inspect_err(|_| decline(seat, "run", plans))?;
    let followed = || -> anyhow::Result<()> {
        let following = Following::join(seat, "run", plans, &runner.stop)?;
        let Some(round) = following.next_round(&runner)? else { bail!("rank 0 has ended the meeting") };
        let watching = WatchSettings {
            program: program.clone(),
            live: false,
            has_colour: false,
            interval_log: args.interval_log.as_ref().map(Into::into),
            rank: Some(seat.rank.index()),
            metrics: None,
            relay: Some(following.relay()),
        };
        let provenance = runner.provenance();
        let part = following.part(seat, plan, &round);
        let carried = carry_out(program, &runner, &watching, part, calls.as_ref(), None);
        let (summary, watched) = match carried {
            Ok(carried) => carried,
            Err(error) => return Err(following.give_up(error)),
        };
        let asked = runner.signals.was_asked().then_some(EarlyEnd::Asked);
        let ended_early = asked.or(summary.gave_up.then_some(EarlyEnd::Hopeless));
        let document = seat.document(provenance, plan.clone(), summary, ended_early);
        let failures = [
            own.map_or(Ok(()), |own| own.write(&document)),
            calls.map_or(Ok(()), CallLog::finish),
            runner.take_recording_failure().map_or(Ok(()), |failure| Err(anyhow!(failure))),
        ];
        let mut failures: Vec<String> =
            failures.into_iter().filter_map(Result::err).map(|error| format!("{error:#}")).collect();
        failures.iter().for_each(|failure| program.say(failure));
        if watched.has_failed {
            // It has said so itself.
            failures.push("--interval-log: not complete".to_owned());
        }
        let is_complete = failures.is_empty();
        let (json, was_asked) = (document.json().into_bytes(), runner.signals.was_asked());
        following.driver.tell(move |guest, _| {
            if was_asked {
                guest.ask_stop();
            }
            guest.outcome(json);
            failures.into_iter().for_each(|failure| guest.fail(failure));
        });
        following.wait_for_the_end(runner.is_interrupted())?;
        if is_below_mpirun() {
            leave_time_for_the_report(&runner);
        }
        if is_complete { Ok(()) } else { bail!("this rank's own files are not complete") }
    };
    followed().map_err(|error| program.fail(&error))?;
    Ok(runner.exit_code())
}

/// Carries out the parts of a rank in the trials of a command. It prints nothing but errors, and writes no file.
///
/// # Errors
/// The exit status of a part that could not be carried out. The reason was printed.
pub(crate) fn follow_trials(
    program: &Program,
    seat: &Seat,
    command: &str,
    plans: &[Plan],
) -> Result<ExitCode, ExitCode> {
    let program = &program.quieted(true);
    let plans: Vec<Plan> =
        plans.iter().map(silent).collect::<anyhow::Result<_>>().map_err(|error| program.fail(&error))?;
    let prepared = Runner::start(program, &plans.iter().collect::<Vec<_>>(), || Ok(()));
    let (runner, ()) = prepared.inspect_err(|_| decline(seat, command, &plans))?;
    let followed = || -> anyhow::Result<()> {
        let following = Following::join(seat, command, &plans, &runner.stop)?;
        while let Some(round) = following.next_round(&runner)? {
            let plan = round.trial.as_ref().and_then(|trial| trial.plan(&plans));
            let Some(plan) = plan else { bail!("rank 0 announced a trial that this rank does not know") };
            let provenance = runner.provenance();
            let summary = match runner.measure(following.part(seat, &plan, &round)) {
                Ok(summary) => summary,
                Err(error) => return Err(following.give_up(error.into())),
            };
            let ended_early = runner.ending(&summary);
            let document = seat.document(provenance, plan, summary, ended_early);
            let json = document.json().into_bytes();
            following.driver.tell(move |guest, _| guest.outcome(json));
        }
        if is_below_mpirun() {
            leave_time_for_the_report(&runner);
        }
        Ok(())
    };
    followed().map_err(|error| program.fail(&error))?;
    Ok(runner.exit_code())
}

/// Ends no sooner than rank 0 has had time for its report, if mpirun is about to end all.
fn leave_time_for_the_report(runner: &Runner) {
    // When a rank is lost, mpirun may learn of it later than rank 0 does.
    std::thread::sleep(MPIRUN_NOTICE);
    if runner.signals.was_asked() {
        std::thread::sleep(MPIRUN_TIME);
    }
}

/// Comes to the meeting only to say that this rank cannot take part, so that the others need not wait for it.
fn decline(seat: &Seat, command: &str, plans: &[Plan]) {
    let Ok(stop) = StopRequest::new() else { return };
    if let Ok(following) = Following::join(seat, command, plans, &stop) {
        let _printed = following.give_up(anyhow!("it cannot prepare the run, and has said why"));
    }
}

/// The same plan for a process that prints nothing meanwhile: what several print would mix.
fn silent(plan: &Plan) -> anyhow::Result<Plan> {
    let Watch { calls, clocks, .. } = plan.watch;
    Ok(plan.clone().edit(|plan| plan.watch = Watch { calls, clocks, ..Watch::default() })?)
}

/// A rank's meeting with rank 0.
struct Following {
    driver: Arc<Driver<Guest>>,
    shared: Arc<Board<State>>,
}

/// The standing of a meeting, as the thread of the meeting tells of it.
#[derive(Default)]
struct State {
    has_joined: bool,
    round: Option<Round>,
    start: Option<Duration>,
    end: Option<GuestEvent>,
}

impl Following {
    /// Goes to rank 0.
    fn join(seat: &Seat, command: &str, plans: &[Plan], stop: &StopRequest) -> anyhow::Result<Self> {
        let Some(Meeting { place, secret, patience }) = &seat.meeting else { bail!("the ranks do not meet") };
        let links = place
            .come(*patience, &|| !stop.is_asked())
            .with_context(|| format!("--meet: rank 0 cannot be reached at {place}"))?;
        let guest = Guest::new(seat.join(command, plans), secret.clone(), nonce()?, now().clock);
        let shared = Arc::new(Board::<State>::default());
        let (listening, stop_run) = (Arc::clone(&shared), stop.clone());
        let driver = Driver::start(guest, links, move |_: &mut Guest, event| {
            listening.change(|state| state.take(event, &stop_run));
        })
        .context("cannot start the thread of the meeting")?;
        let following = Self { driver: Arc::new(driver), shared };
        loop {
            let state = following.shared.wait(Some(GLANCE), |state| state.has_joined || state.end.is_some());
            if let Some(end) = &state.end {
                bail!(ending(end).unwrap_or_else(|| "rank 0 has ended the meeting".to_owned()));
            }
            if state.has_joined {
                drop(state);
                return Ok(following);
            }
            if stop.is_asked() {
                bail!("the end was asked for before the start");
            }
        }
    }

    /// Waits until a run is announced; `None` if there will be no further one.
    fn next_round(&self, runner: &Runner) -> anyhow::Result<Option<Round>> {
        loop {
            let mut state =
                self.shared.wait(Some(GLANCE), |state| state.round.is_some() || state.end.is_some());
            if let Some(end) = &state.end {
                return ending(end).map_or(Ok(None), |reason| Err(anyhow!(reason)));
            }
            if let Some(round) = state.round.take() {
                return Ok(Some(round));
            }
            drop(state);
            if runner.signals.was_asked() {
                self.driver.tell(|guest, _| guest.ask_stop());
            }
            if runner.is_interrupted() {
                self.wait_for_the_end(true)?;
                return Ok(None);
            }
        }
    }

    fn relay(&self) -> Relay {
        let driver = Arc::clone(&self.driver);
        Relay::new(move |interval: &Interval| {
            let second = (interval, interval.clocks.as_deref());
            let content = serde_json::to_vec(&second).expect("it is plain data with names for keys");
            driver.tell(move |guest, _| guest.second(content));
        })
    }

    fn part<'a>(&'a self, seat: &Seat, plan: &'a Plan, round: &Round) -> Part<'a> {
        Part {
            shards: Some(seat.shards(plan)),
            first_processor: seat.first_processor(plan, round.local_index),
            agreement: Some(self),
            ..Part::whole(plan, None)
        }
    }

    /// Tells rank 0 that this rank cannot go on, unless it was rank 0 that has ended the run.
    fn give_up(&self, error: anyhow::Error) -> anyhow::Error {
        if let Some(reason) = self.shared.state().end.as_ref().and_then(ending) {
            return anyhow!(reason);
        }
        let reason = format!("{error:#}");
        self.driver.tell(move |guest, _| guest.fail(reason));
        // Rank 0 has the last word, which says that it knows.
        let _told = self.wait_for_the_end(true);
        error
    }

    /// Waits for rank 0's last word.
    fn wait_for_the_end(&self, is_hurried: bool) -> anyhow::Result<()> {
        let limit = is_hurried.then_some(HURRIED);
        let state = self.shared.wait(limit, |state| state.end.is_some());
        match state.end.as_ref() {
            Some(end) => ending(end).map_or(Ok(()), |reason| Err(anyhow!(reason))),
            None => bail!("rank 0 has not said that it has the result"),
        }
    }
}

impl Agreement for Following {
    fn start(&self, stop: &StopRequest) -> Option<Instant> {
        self.driver.tell(|guest, _| guest.ready());
        loop {
            let state = self.shared.wait(Some(GLANCE), |state| state.start.is_some() || state.end.is_some());
            if state.end.is_some() {
                return None;
            }
            if let Some(at) = state.start {
                return Some(instant(at));
            }
            if stop.is_asked() {
                return None;
            }
        }
    }
}

impl State {
    /// Takes an event, on the thread of the meeting.
    fn take(&mut self, event: GuestEvent, stop: &StopRequest) {
        match event {
            GuestEvent::Joined => self.has_joined = true,
            GuestEvent::Round { content } => {
                self.start = None;
                // Both are of one version: it can be read.
                self.round = serde_json::from_slice(&content).ok();
            }
            GuestEvent::Start { at } => self.start = Some(at),
            GuestEvent::Stop => stop.ask(),
            GuestEvent::Bye => self.end = Some(event),
            // Alone, a rank would offer a part of the load that nobody asks for.
            GuestEvent::Refused { .. } | GuestEvent::Lost { .. } => {
                self.end = Some(event);
                stop.ask();
            }
        }
    }
}

/// The sentence for an end that is none.
fn ending(event: &GuestEvent) -> Option<String> {
    match event {
        GuestEvent::Refused { reason } => Some(format!("rank 0 has refused: {reason}")),
        GuestEvent::Lost { reason } => Some(format!("rank 0 is lost: {reason}")),
        _ => None,
    }
}

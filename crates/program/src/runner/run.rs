//! One run: watched, judged, and reported.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::anyhow;
use httperf_command_line::args::{Args, ReportForm};
use httperf_command_line::terminal;
use httperf_command_line::terminal::messages::Program;
use httperf_engine::{Observation, Observer, Part};
use httperf_plan::{HttpVersion, Plan};
use httperf_report::result::{Document, EarlyEnd};
use httperf_report::{Colours, Kept, Level, Screen, Verdict, Written as _, no_reply};
use httperf_stats::{HandshakeFailure, Http2Summary, Interval, Summary, TlsSummary, Warning, WatchedClocks};

use super::Runner;
use super::fleet::{self, AtTime, Hosting, Seat};
use super::monitor::{self, Feed, MetricsSettings, Monitor};
use super::print::{Printer, Printing};
use super::results::{CallLog, CallSender, OwnResult, ResultFiles, ensure_run_apart, steps_of};
use super::trace;

/// Carries out the plan, prints its report and writes the files that were asked for. Of a fleet, this is rank 0's task.
/// `read`: the files that were read besides those of the plan and those that options name.
///
/// # Errors
/// The exit status of a run that could not be carried out or reported. The reason was printed.
pub fn run(program: &Program, args: &Args, plan: Plan, read: &[PathBuf]) -> Result<ExitCode, ExitCode> {
    let program = &fleet::named(program, &args.fleet);
    ensure_run_apart(args, &plan, read).map_err(|error| program.fail(&error))?;
    let seat = Seat::of(&args.fleet).map_err(|error| program.fail(&error))?;
    let plan = match &seat {
        Some(seat) => seat.plan(plan).map_err(|error| program.fail(&error))?,
        None => plan,
    };
    match &seat {
        Some(seat) if seat.meets() && !seat.rank.is_first() => fleet::follow(program, args, &plan, seat),
        Some(seat) => lead(program, &seat.args(args), plan, Some(seat)),
        None => lead(program, args, plan, None),
    }
}

/// The files of a run that are opened before it: what cannot be written is known before anything is measured.
struct RunFiles {
    outputs: ResultFiles,
    calls: Option<CallLog>,
    own: Option<OwnResult>,
}

impl RunFiles {
    fn prepare(args: &Args, plan: &Plan, seat: Option<&Seat>) -> anyhow::Result<Self> {
        Ok(Self {
            outputs: ResultFiles::prepare(&args.results)?,
            calls: args.results.calls.as_deref().map(|name| CallLog::create(name, plan)).transpose()?,
            own: OwnResult::prepare(&args.results, seat.map_or(0, |seat| seat.rank.index()))?,
        })
    }
}

/// Carries out a plan alone, as the first of several ranks, or as one that does not meet the others.
fn lead(program: &Program, args: &Args, plan: Plan, seat: Option<&Seat>) -> Result<ExitCode, ExitCode> {
    let at = args.fleet.start_at.map(AtTime::new).transpose().map_err(|error| program.fail(&error))?;
    let (runner, files) = Runner::start(program, &[&plan], || RunFiles::prepare(args, &plan, seat))?;
    runner.warn_of_problems(program, &plan);
    let meeting = seat.filter(|seat| seat.meets());
    let gather = |seat| Hosting::gather(program, seat, "run", std::slice::from_ref(&plan), &runner.stop);
    let hosting = meeting.map(gather).transpose()?;
    if let Some(hosting) = &hosting {
        hosting.begin(None);
    }
    let provenance = runner.provenance();
    let metrics = MetricsSettings::of(&args.metrics, provenance.run(), seat);
    let watching = monitor::WatchSettings {
        program: program.clone(),
        live: args.live,
        has_colour: args.colour.of(&io::stderr()) == Colours::Ansi,
        interval_log: args.interval_log.as_ref().map(Into::into),
        rank: seat.filter(|seat| !seat.meets()).map(|seat| seat.rank.index()),
        metrics: metrics.clone(),
        relay: None,
    };
    let part = match (&hosting, seat) {
        (Some(hosting), _) => hosting.part(&plan),
        (None, Some(seat)) => seat.part(&plan, at.as_ref()),
        (None, None) => Part { agreement: at.as_ref().map(|at| at as _), ..Part::whole(&plan, None) },
    };
    let carried = carry_out(program, &runner, &watching, part, files.calls.as_ref(), hosting.as_ref());
    let (summary, mut watched) = match carried {
        Ok(carried) => carried,
        Err(error) => return Err(broken(program, &error, hosting, files.calls)),
    };
    let was_stopped = hosting.as_ref().is_some_and(Hosting::was_stopped);
    let was_asked = runner.signals.was_asked() || watched.ended_by_user || was_stopped;
    let ended_early = early_end(was_asked, &watched, &summary);
    let document = match seat {
        Some(seat) => seat.document(provenance, plan, summary, ended_early),
        None => provenance.document(plan, summary, ended_early),
    };
    if let Some(Err(error)) = files.own.map(|own| own.write(&document)) {
        program.say(format_args!("{error:#}"));
        watched.has_failed = true;
    }
    let document = match hosting {
        Some(hosting) => {
            let merged = hosting.merged(document);
            hosting.leave();
            let (document, complaints) = merged.map_err(|error| program.fail(&error))?;
            complaints.iter().for_each(|complaint| program.say(complaint));
            watched.has_failed |= !complaints.is_empty();
            document
        }
        None => document,
    };
    let logged = files.calls.map_or(Ok(()), CallLog::finish);
    let mut reported = Ok(());
    // A terminal may take nothing just now, and what waits for a reader from here on may be ended: all else is written.
    let errors = files.outputs.write(&document, || {
        reported = program.print_with(|out| write_report(out, args, &document));
        runner.signals.end_at_once();
    });
    for error in errors.iter().chain(logged.as_ref().err()) {
        program.say(format_args!("{error:#}"));
    }
    let failure = runner.take_recording_failure();
    failure.iter().for_each(|failure| program.say(failure));
    watched.has_failed |= !errors.is_empty() || logged.is_err() || failure.is_some();
    let without_http2 = without_http2(&document);
    tell(program, args, &document, without_http2.is_some());
    if let Some(metrics) = &metrics {
        metrics.linger(&runner);
    }
    reported?;
    if watched.has_failed {
        return Err(ExitCode::FAILURE);
    }
    conclude(program, args, &document, without_http2).map_or_else(|| Ok(runner.exit_code()), Err)
}

/// The run could not be carried out. Says why, also to the other ranks.
fn broken(
    program: &Program,
    error: &anyhow::Error,
    hosting: Option<Hosting>,
    calls: Option<CallLog>,
) -> ExitCode {
    let failure = hosting.as_ref().and_then(Hosting::failure);
    if let Some(hosting) = hosting {
        hosting.give_up(format!("{error:#}"));
        hosting.leave();
    }
    // Why the run broke says more than that its log could not be written.
    let _logged: anyhow::Result<()> = calls.map_or(Ok(()), CallLog::finish);
    match failure {
        Some(failure) => program.fail(&anyhow!("--fleet: {failure}")),
        None => program.fail(error),
    }
}

/// Returns why a run ended before its end, if it did. `was_asked`: somebody asked for that.
fn early_end(was_asked: bool, watched: &monitor::WatchOutcome, summary: &Summary) -> Option<EarlyEnd> {
    let endings = [
        (was_asked, EarlyEnd::Asked),
        (watched.has_missed, EarlyEnd::Missed),
        (watched.is_exact, EarlyEnd::Exact),
        (summary.gave_up, EarlyEnd::Hopeless),
    ];
    endings.into_iter().find(|&(is_so, _)| is_so).map(|(_, ending)| ending)
}

/// Prints warnings, and the verdict or the objectives if the form of the report leaves them out. `is_hopeless`: nothing spoke
/// HTTP/2, which [`conclude`] says.
fn tell(program: &Program, args: &Args, document: &Document, is_hopeless: bool) {
    let is_warning = |warning: &Warning| !is_hopeless || !matches!(warning, Warning::Http2Violations { .. });
    for warning in document.summary.warnings().into_iter().filter(is_warning) {
        program.warn(format_args!("warning: {warning}"));
    }
    match form(args) {
        Printed::Classic => tell_verdict(program, &document.verdict),
        Printed::Document | Printed::Steps => tell_objectives(program, document),
        Printed::Full | Printed::Answer => {}
    }
}

/// Returns the exit status of a result that is no success. Prints the reason if the server does not speak HTTP/2 or TLS.
fn conclude(
    program: &Program,
    args: &Args,
    document: &Document,
    without_http2: Option<String>,
) -> Option<ExitCode> {
    if let Some(reason) = without_http2 {
        return Some(no_http2(program, &document.plan, &reason));
    }
    if let Some(failure) = document.summary.tls.as_deref().and_then(TlsSummary::hopeless) {
        // The answer, alone or at the end of the full report, has said it.
        let printed = form(args);
        if printed == Printed::Answer {
            return Some(ExitCode::from(NO_TLS_STATUS));
        }
        let remedy = (failure.is_not_tls() && printed != Printed::Full)
            .then_some("hint: does the port speak plain HTTP? Try http://");
        let status = no_tls(program, failure);
        remedy.iter().for_each(|remedy| program.say_bare(remedy));
        return Some(status);
    }
    match document.verdict.level {
        Level::Invalid if args.results.strict => Some(ExitCode::from(INVALID_STATUS)),
        _ if !document.met_objectives() => Some(ExitCode::from(OBJECTIVES_STATUS)),
        Level::Suspect if args.results.strict => Some(ExitCode::from(SUSPECT_STATUS)),
        _ => None,
    }
}

/// The exit statuses of runs that cannot be relied on, with `--strict`.
pub(crate) const SUSPECT_STATUS: u8 = 2;
pub(crate) const INVALID_STATUS: u8 = 3;

/// The exit status of a run that is not known to have met its objectives.
pub(crate) const OBJECTIVES_STATUS: u8 = 4;

/// Says what the classic report has no place for: that its figures are not those of the server. What is merely suspect
/// is left to the other reports, so that old scripts hear nothing new of a busy machine.
fn tell_verdict(program: &Program, verdict: &Verdict) {
    for reason in verdict.reasons.iter().filter(|reason| reason.level == Level::Invalid) {
        let (name, finding) = (reason.finding.name(), &reason.finding);
        program.warn(format_args!("verdict: {}: {name}: {finding}", reason.level));
    }
}

/// Says why the exit status is what it is, where standard output carries a document that only programs read.
fn tell_objectives(program: &Program, document: &Document) {
    for judged in document.objectives.iter().filter(|judged| judged.outcome != Kept::Met) {
        program.warn(format_args!("objective: {} {}: {judged}", judged.outcome, judged.name()));
    }
}

/// Returns the reason why no connection spoke HTTP/2, if the server refused it.
fn without_http2(document: &Document) -> Option<String> {
    let summary = &document.summary;
    if let Some(reason) = summary.http2.as_deref().and_then(Http2Summary::hopeless) {
        return Some(reason.to_owned());
    }
    let failure = summary.tls.as_deref().and_then(TlsSummary::hopeless)?;
    let offered = &document.plan.tls.as_ref()?.alpn;
    let is_refused = document.plan.request.version.may_be_http2() && failure.is_no_protocol();
    is_refused.then(|| {
        let offered = String::from_utf8_lossy(&offered.join(&b", "[..])).into_owned();
        format!("the server takes nothing of what it was offered (ALPN), {offered}: {}", failure.reason)
    })
}

/// Says that HTTP/2 cannot be spoken with the server, and returns the exit status for that.
fn no_http2(program: &Program, plan: &Plan, reason: &str) -> ExitCode {
    let protocol = if plan.request.version == HttpVersion::Http3 { "HTTP/3" } else { "HTTP/2" };
    program.say(format_args!("{protocol} cannot be spoken: {reason}"));
    if plan.request.version == HttpVersion::Http2 {
        program.say_bare(match plan.tls {
            Some(_) => "hint: --http-version=auto speaks what the server chooses",
            None => "hint: without --http-version=2, HTTP/1.1 is spoken",
        });
    }
    ExitCode::FAILURE
}

/// Says in the words of the classic tool that TLS cannot be spoken with the server, and returns its exit status for
/// that. Scripts probe servers with it.
fn no_tls(program: &Program, failure: &HandshakeFailure) -> ExitCode {
    let class = failure.class as u8;
    program.say(format_args!("failed to connect to SSL server (err=-1, reason={class})"));
    program.say(format_args!("the first TLS handshake failed: {}", failure.reason));
    for line in &failure.details {
        program.say_bare(line);
    }
    ExitCode::from(NO_TLS_STATUS)
}

/// The exit status of a run in which the first TLS handshake failed and none succeeded.
const NO_TLS_STATUS: u8 = 255;

/// Carries out a part of a run, watched as the settings say; with `hosting`, together with the other ranks. Lines that could not be printed are no error: what was measured is
/// reported all the same.
pub(super) fn carry_out(
    program: &Program,
    runner: &Runner,
    watching: &monitor::WatchSettings,
    part: Part<'_>,
    calls: Option<&CallLog>,
    hosting: Option<&Hosting>,
) -> anyhow::Result<(Summary, monitor::WatchOutcome)> {
    let plan = part.plan;
    let workers = plan.workers().get() as usize;
    let printing = Printing::new(program, plan.watch, workers);
    let mut watchers: Vec<Watcher<'_>> = (0..workers)
        .map(|worker| Watcher {
            plan,
            printer: printing.printer(worker),
            calls: calls.map(CallLog::sender),
            feed: None,
            cpu: Duration::ZERO,
        })
        .collect();
    let mut attempt = || -> anyhow::Result<(Summary, monitor::WatchOutcome)> {
        let others = hosting.map_or(0, Hosting::others);
        let (monitor, mut feeds) = Monitor::start(watching, plan, others, &runner.stop)?;
        if let Some(hosting) = hosting {
            hosting.feed(feeds.split_off(workers));
        }
        watchers.iter_mut().zip(feeds).for_each(|(watcher, feed)| watcher.feed = Some(feed));
        let mut observers: Vec<&mut (dyn Observer + Send)> =
            watchers.iter_mut().map(|watcher| watcher as _).collect();
        let run = runner.observe(part, &mut observers);
        let was_stopped = runner.is_interrupted();
        let series = run.as_ref().ok().map(|summary| &summary.series);
        // What is still on its way is taken before the monitor notices that nothing more will come.
        watchers.iter_mut().for_each(|watcher| watcher.feed = None);
        if let Some(hosting) = hosting {
            match &run {
                Ok(_) => hosting.wait_for_results(was_stopped),
                Err(error) => hosting.give_up(error.to_string()),
            }
        }
        let mut watched = monitor.finish(series);
        // What is only found when the run is over has not ended it.
        watched.has_missed &= was_stopped;
        Ok((run?, watched))
    };
    let carried = attempt();
    let printed = watchers.into_iter().map(|watcher| watcher.printer.finish()).fold(Ok(()), io::Result::and);
    if let (Ok(_), Err(error)) = (&carried, printed) {
        // That fails likewise when the report is printed, unless a full disk has room again.
        let _reported_again: Result<(), ExitCode> = program.stdout_failed(&error);
    }
    carried
}

/// Hands on what happens in a worker to those who want to know.
struct Watcher<'a> {
    plan: &'a Plan,
    printer: Printer<'a>,
    calls: Option<CallSender>,
    feed: Option<Feed>,
    /// Processor time of the worker's thread when the last interval ended.
    cpu: Duration,
}

impl Watcher<'_> {
    /// Tells of an interval; with the processor time since the one before, if somebody wants to know.
    fn tell(&mut self, interval: &Interval) {
        let Some(feed) = &mut self.feed else { return };
        let Some(clocks) = &interval.clocks else { return feed.interval(interval) };
        let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        let now = Duration::try_from(now).unwrap_or_default();
        let cpu = now.saturating_sub(std::mem::replace(&mut self.cpu, now));
        let clocks = Some(Box::new(WatchedClocks { cpu, ..(**clocks).clone() }));
        feed.interval(&Interval { clocks, ..interval.clone() });
    }
}

impl Observer for Watcher<'_> {
    fn observe(&mut self, what: Observation<'_>) {
        match what {
            Observation::Call { sample, start } => {
                if let Some(calls) = &mut self.calls {
                    calls.add(sample, start);
                }
            }
            Observation::Step(seen) => trace::show_step(self.plan, seen),
            Observation::Visit { visit, scenario, fate } => {
                trace::show_end(self.plan, visit, scenario, fate);
            }
            Observation::Interval { interval } => {
                self.tell(interval);
            }
            _ => self.printer.observe(what),
        }
    }

    fn calls_not_logged(&self) -> u64 {
        self.calls.as_ref().map_or(0, CallSender::dropped)
    }

    fn ended(&mut self) {
        self.printer.ended();
        // The others' intervals are not to wait for those of this one.
        self.feed = None;
    }
}

/// The report on standard output when the run is over.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Printed {
    /// The classic block.
    Classic,
    /// The classic block and what has been added to it.
    Full,
    /// The answer alone.
    Answer,
    /// The document.
    Document,
    /// The figures of steps.
    Steps,
}

fn form(args: &Args) -> Printed {
    match args.report_form() {
        _ if args.results.document_on_stdout() => Printed::Document,
        _ if args.results.steps_on_stdout() => Printed::Steps,
        ReportForm::Auto | ReportForm::Classic => Printed::Classic,
        ReportForm::Full => Printed::Full,
        ReportForm::Answer => Printed::Answer,
    }
}

fn write_report(out: &mut dyn Write, args: &Args, document: &Document) -> io::Result<()> {
    let screen = Screen { columns: terminal::columns(), colours: args.colour.of(&io::stdout()) };
    match form(args) {
        Printed::Document => out.write_all(document.without_secrets().json().as_bytes()),
        Printed::Steps => out.write_all(steps_of(document).as_bytes()),
        Printed::Classic => out.write_all(document.text(false).as_bytes()),
        // On a terminal, the one sentence says more than all the zeros.
        Printed::Full
            if args.report == ReportForm::Auto && no_reply(&document.plan, &document.summary).is_some() =>
        {
            out.write_all(document.answer(screen).as_bytes())
        }
        Printed::Full => write!(out, "{}{}", document.body(screen), document.ending(screen)),
        Printed::Answer => out.write_all(document.answer(screen).as_bytes()),
    }
}

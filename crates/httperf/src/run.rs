//! Carries out a plan and prints its report.

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use anyhow::Context;
use httperf_engine::Stop;
use httperf_plan::Plan;
use httperf_stats::{HandshakeFailure, Summary, TlsSummary};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::args::{Args, ReportForm};
use crate::messages::Program;
use crate::monitor::{self, Monitor, Relay};
use crate::print::Printer;

/// What a shell sees of a program that a signal ended: 128 and the signal's number.
const SIGNAL_STATUS: u8 = 128;

/// Carries out the plan and prints its report.
///
/// # Errors
/// The exit status of a run that could not be carried out or reported. The reason was printed.
pub fn run(program: &Program, args: &Args, plan: &Plan) -> Result<ExitCode, ExitCode> {
    let descriptors = httperf_engine::raise_descriptor_limit();
    if plan.watch.verbose >= 1 {
        let name = program.name_text();
        program.print(format!("{name}: maximum number of open descriptors = {descriptors}\n").as_bytes())?;
    }
    let (summary, signals, watched) = carry_out(program, args, plan)?;
    program.print_with(|out| write_report(out, args, plan, &summary))?;
    for warning in summary.warnings() {
        program.warn(format_args!("warning: {warning}"));
    }
    if let Some(failure) = summary.tls.as_deref().and_then(TlsSummary::hopeless) {
        return Err(no_tls(program, failure));
    }
    if watched.has_failed {
        return Err(ExitCode::FAILURE);
    }
    Ok(signals.exit_code())
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

fn carry_out(
    program: &Program,
    args: &Args,
    plan: &Plan,
) -> Result<(Summary, EndSignals, monitor::Outcome), ExitCode> {
    let settings = monitor::Settings {
        program: program.clone(),
        live: args.live,
        interval_log: args.interval_log.as_ref().map(Into::into),
    };
    let mut printer = Printer::new(program, plan.watch);
    let mut attempt = || -> anyhow::Result<_> {
        let stop = Stop::new().context("cannot make a descriptor for waking up")?;
        let signals = EndSignals::watch(stop.clone())?;
        let (monitor, feed) = Monitor::start(&settings, plan, &stop)?;
        let mut observer = Relay::new(feed, &mut printer);
        let run = httperf_engine::run(plan, &mut observer, &stop);
        let series = run.as_ref().ok().map(|summary| &summary.series);
        let watched = monitor.finish(observer.into_feed(), series);
        Ok((run?, signals, watched))
    };
    let outcome = attempt();
    let printed = printer.finish();
    let outcome = outcome.map_err(|error| {
        program.say(format_args!("{error:#}"));
        ExitCode::FAILURE
    })?;
    // What was measured is reported even if the lines before it could not be printed; that fails likewise,
    // unless a full disk has room again.
    if let Err(error) = printed {
        program.stdout_failed(&error);
    }
    Ok(outcome)
}

fn write_report(out: &mut dyn Write, args: &Args, plan: &Plan, summary: &Summary) -> io::Result<()> {
    write!(out, "{}", httperf_report::classic(plan, summary))?;
    let full = match args.report {
        ReportForm::Classic => false,
        ReportForm::Full => true,
        ReportForm::Auto => io::stdout().is_terminal(),
    };
    if full {
        write!(out, "{}{}", httperf_report::latency(summary), httperf_report::tls(plan, summary))?;
    }
    Ok(())
}

/// The signals that end a run early: it then reports what it measured.
pub(crate) struct EndSignals {
    /// The first that came; 0 if none.
    received: Arc<AtomicI32>,
}

impl EndSignals {
    /// Lets SIGINT and SIGTERM ask for the end. A second one has the effect it always has.
    pub(crate) fn watch(stop: Stop) -> anyhow::Result<Self> {
        let received = Arc::new(AtomicI32::new(0));
        let mut signals = Signals::new([SIGINT, SIGTERM]).context("cannot watch for signals")?;
        let first = Arc::clone(&received);
        std::thread::Builder::new()
            .name("signals".into())
            .spawn(move || {
                for signal in &mut signals {
                    if first.compare_exchange(0, signal, Ordering::Relaxed, Ordering::Relaxed).is_err() {
                        monitor::terminal::restore();
                        signal_hook::low_level::emulate_default_handler(signal).unwrap_or_default();
                    }
                    stop.ask();
                }
            })
            .context("cannot start the thread that watches for signals")?;
        Ok(Self { received })
    }

    /// 0 after SIGINT, as in the classic tool; 143 after SIGTERM.
    pub(crate) fn exit_code(&self) -> ExitCode {
        match self.received.load(Ordering::Relaxed) {
            SIGTERM => ExitCode::from(SIGNAL_STATUS + SIGTERM as u8),
            _ => ExitCode::SUCCESS,
        }
    }
}

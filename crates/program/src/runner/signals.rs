//! Signals that ask for the end of a run.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;
use httperf_command_line::terminal::{is_below_mpirun, lines};
use httperf_engine::StopRequest;
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;

/// Makes a file that may not grow (`ulimit -f`) an error of writing, as a full disk is, where the signal for that would end the
/// program.
pub(crate) fn let_full_files_be_errors() {
    // It only has to be caught. Where that is refused, all is as before.
    let _caught = signal_hook::flag::register(SIGXFSZ, Arc::default());
}

/// The exit status of a program that a signal ended, less the signal's number.
const SIGNAL_STATUS: u8 = 128;

/// The signals that end a run early: it then reports what it measured.
#[derive(Debug)]
pub(crate) struct EndSignals {
    /// The first that came; 0 if none.
    received: Arc<AtomicI32>,
    /// True if there is nothing left that one could end early.
    is_over: Arc<AtomicBool>,
}

impl EndSignals {
    /// Lets SIGINT, SIGTERM and SIGHUP ask for the end. A further one has the effect it always has, if it is
    /// [impatient](is_impatient). A SIGHUP that the program was started to ignore, as by `nohup`, stays ignored.
    ///
    /// When mpirun of Open MPI is told to end, it sends SIGCONT, a second later SIGTERM, and right behind that SIGKILL. So
    /// its SIGCONT is the only warning, and counts as SIGTERM.
    pub(crate) fn watch(stop: StopRequest) -> anyhow::Result<Self> {
        let received = Arc::new(AtomicI32::new(0));
        let hangup = (!httperf_sys::is_ignored(SIGHUP)).then_some(SIGHUP);
        let warning = is_below_mpirun().then_some(SIGCONT);
        let watched = [SIGINT, SIGTERM].into_iter().chain(hangup).chain(warning);
        let mut signals = Signals::new(watched).context("cannot watch for signals")?;
        let is_over = Arc::new(AtomicBool::new(false));
        let (first, over) = (Arc::clone(&received), Arc::clone(&is_over));
        std::thread::Builder::new()
            .name("signals".into())
            .spawn(move || {
                let mut asked_at: Option<Instant> = None;
                for signal in &mut signals {
                    let signal = if signal == SIGCONT { SIGTERM } else { signal };
                    // After the run there is nothing that a first one could ask for, and what it waits for may never come.
                    let has_ended = asked_at.is_none() && over.load(Ordering::Relaxed);
                    if is_impatient(asked_at.map(|at| at.elapsed())) || has_ended {
                        lines::restore();
                        signal_hook::low_level::emulate_default_handler(signal).unwrap_or_default();
                    }
                    if asked_at.is_none() {
                        asked_at = Some(Instant::now());
                        first.store(signal, Ordering::Relaxed);
                    }
                    stop.ask();
                }
            })
            .context("cannot start the thread that watches for signals")?;
        Ok(Self { received, is_over })
    }

    /// Lets the next one have the effect it always has: the run is over.
    pub(super) fn end_at_once(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    /// Lets the next one ask for an end again: something goes on that can be ended.
    pub(super) fn ask_first(&self) {
        self.is_over.store(false, Ordering::Relaxed);
    }

    /// Returns whether one came.
    pub(super) fn was_asked(&self) -> bool {
        self.received.load(Ordering::Relaxed) != 0
    }

    /// 0 after SIGINT, as in the classic tool; 143 after SIGTERM, 129 after SIGHUP.
    pub(crate) fn exit_code(&self) -> ExitCode {
        match self.received.load(Ordering::Relaxed) {
            signal @ (SIGTERM | SIGHUP) => ExitCode::from(SIGNAL_STATUS + signal as u8),
            _ => ExitCode::SUCCESS,
        }
    }
}

/// Returns whether asking for the end means *at once*, this long after somebody asked first. What comes right behind that is
/// the same request: `timeout` signals the program and then its group, within microseconds.
pub(crate) fn is_impatient(since_asked: Option<Duration>) -> bool {
    const PATIENCE: Duration = Duration::from_millis(500);
    since_asked.is_some_and(|since| since >= PATIENCE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn asking_again_means_at_once_only_after_a_while() {
        let answers = [None, Some(0), Some(499), Some(500), Some(60_000)]
            .map(|since| is_impatient(since.map(Duration::from_millis)));
        assert_eq!(answers, [false, false, false, true, true]);
    }
}

//! The owner of the terminal on stderr: nobody, a progress line, or the full-screen view.
//!
//! Messages go through here, so that none is torn by a progress line or lost behind the screen; and the terminal is
//! given back from here, however the run ends.

use std::borrow::Cow;
use std::io::{self, Write};
use std::mem;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use httperf_plan::secrets;
use httperf_report::visible;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::crossterm::{execute, queue};

use super::display::show_last;
use super::error_columns;
use crate::grammar::help::wrap;

/// Goes to the beginning of the line and clears it.
const CLEAR_LINE: &[u8] = b"\r\x1b[K";

/// Begins a line where the terminal has one that is empty: up one row, and down again. In what is captured of a terminal,
/// what was cleared would otherwise be the beginning of the line that follows.
pub const BEGIN_LINE: &[u8] = b"\x1b[A\n";

/// The most bytes of messages that are kept while the screen is taken.
const HELD_MAX: usize = 64 * 1024;

static STATE: Mutex<State> = Mutex::new(State { shown: Shown::Nothing, held: Vec::new(), left_out: 0 });

struct State {
    shown: Shown,
    /// Messages that wait for the end of the full-screen view.
    held: Vec<u8>,
    /// The number for which there was no room.
    left_out: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    Nothing,
    Line,
    Screen,
}

/// Held for moments only, and never while a terminal is written to that a worker may have to wait for: a worker that
/// has something to say takes it too.
fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes a message, with its line end, where it will be seen. If that fails there is no one left to tell. What was typed,
/// read or received and is in the message cannot control the terminal, and what is secret in it is hidden.
pub fn complain(message: &[u8]) {
    let hidden = std::str::from_utf8(message).map(secrets::message);
    let message = visible(hidden.as_ref().map_or(message, |text| text.as_bytes()));
    let message = &wrapped(&message)[..];
    let shown = {
        let mut state = state();
        match state.shown {
            Shown::Nothing | Shown::Line => {}
            Shown::Screen if state.held.len() + message.len() > HELD_MAX => state.left_out += 1,
            Shown::Screen => state.held.extend_from_slice(message),
        }
        state.shown
    };
    match shown {
        Shown::Nothing => io::stderr().write_all(message).unwrap_or_default(),
        Shown::Line => io::stderr().write_all(&[CLEAR_LINE, message].concat()).unwrap_or_default(),
        Shown::Screen => {}
    }
}

/// The message with its long lines broken between words, if standard error is a terminal that says how wide it is.
fn wrapped(message: &[u8]) -> Cow<'_, [u8]> {
    let Some((columns, text)) = error_columns().zip(std::str::from_utf8(message).ok()) else {
        return Cow::Borrowed(message);
    };
    if text.lines().all(|line| line.chars().count() <= columns) {
        return Cow::Borrowed(message);
    }
    let lines = text.lines().flat_map(|line| match line.chars().count() {
        length if length <= columns => vec![line.to_owned()],
        _ => wrap(line, columns),
    });
    let lines: String = lines.map(|line| line + "\n").collect();
    Cow::Owned(lines.into_bytes())
}

/// The last message that waits for the end of the full-screen view.
pub fn last_held() -> Option<String> {
    let state = state();
    let line = state.held.trim_ascii_end().rsplit(|&byte| byte == b'\n').next()?;
    (!line.is_empty()).then(|| String::from_utf8_lossy(line).into_owned())
}

/// From now on there is a progress line.
pub fn show_line() {
    restore_on_panic();
    state().shown = Shown::Line;
}

/// Takes the screen for the full-screen view.
pub fn take_screen() -> io::Result<()> {
    restore_on_panic();
    enable_raw_mode()?;
    state().shown = Shown::Screen;
    execute!(io::stderr(), EnterAlternateScreen).inspect_err(|_| restore())
}

/// Returns whether the full-screen view has the screen.
pub fn has_screen() -> bool {
    state().shown == Shown::Screen
}

/// Gives the terminal back as it was, and prints what had to wait for that. Does nothing if nothing is shown.
pub fn restore() {
    let mut state = state();
    let shown = mem::replace(&mut state.shown, Shown::Nothing);
    // Where the terminal is gone, nothing is left to be given back.
    match shown {
        Shown::Nothing => {}
        Shown::Line => show_last(&[CLEAR_LINE, BEGIN_LINE].concat()),
        Shown::Screen => {
            let mut last = Vec::new();
            queue!(last, LeaveAlternateScreen, Show).expect("writing to memory does not fail");
            show_last(&last);
            disable_raw_mode().unwrap_or_default();
            last = [BEGIN_LINE, &mem::take(&mut state.held)].concat();
            let left_out = mem::take(&mut state.left_out);
            if left_out > 0 {
                last.extend_from_slice(format!("and {left_out} more messages\n").as_bytes());
            }
            show_last(&last);
        }
    }
}

/// A panic, on whatever thread, gives the terminal back before it is reported.
fn restore_on_panic() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let report = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            restore();
            report(panic);
        }));
    });
}

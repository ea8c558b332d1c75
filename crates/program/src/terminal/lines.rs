//! The owner of the terminal on stderr: nobody, a progress line, or the full-screen view.
//!
//! Messages go through here, so that none is torn by a progress line or lost behind the screen; and the terminal is
//! given back from here, however the run ends.

use std::borrow::Cow;
use std::io::{self, Write};
use std::mem;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};

/// Goes to the beginning of the line and clears it.
const CLEAR_LINE: &[u8] = b"\r\x1b[K";

/// Begins a line where the terminal has one that is empty: up one row, and down again. In what is captured of a terminal,
/// what was cleared would otherwise be the beginning of the line that follows.
pub(crate) const BEGIN_LINE: &[u8] = b"\x1b[A\n";

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
/// read or received and is in the message cannot control the terminal.
pub(crate) fn complain(message: &[u8]) {
    let message = &visible(message)[..];
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

/// A message with its control characters escaped, except line ends and tabs.
fn visible(message: &[u8]) -> Cow<'_, [u8]> {
    let is_control = |byte: u8| byte.is_ascii_control() && !matches!(byte, b'\n' | b'\t');
    // Those from U+0080 to U+009F, in UTF-8.
    let is_wide = |pair: &[u8]| matches!(pair, [0xc2, 0x80..=0x9f]);
    if !message.iter().any(|&byte| is_control(byte)) && !message.windows(2).any(is_wide) {
        return Cow::Borrowed(message);
    }
    let mut shown = Vec::with_capacity(message.len());
    let mut rest = message;
    while let [byte, after @ ..] = rest {
        if let Some(pair) = rest.get(..2).filter(|pair| is_wide(pair)) {
            shown.extend_from_slice(format!("\\u{{{:x}}}", pair[1]).as_bytes());
            rest = &rest[2..];
            continue;
        }
        match is_control(*byte) {
            true => shown.extend(byte.escape_ascii()),
            false => shown.push(*byte),
        }
        rest = after;
    }
    Cow::Owned(shown)
}

/// The last message that waits for the end of the full-screen view.
pub(crate) fn last_held() -> Option<String> {
    let state = state();
    let line = state.held.trim_ascii_end().rsplit(|&byte| byte == b'\n').next()?;
    (!line.is_empty()).then(|| String::from_utf8_lossy(line).into_owned())
}

/// From now on there is a progress line.
pub(crate) fn show_line() {
    restore_on_panic();
    state().shown = Shown::Line;
}

/// Takes the screen for the full-screen view.
pub(crate) fn take_screen() -> io::Result<()> {
    restore_on_panic();
    enable_raw_mode()?;
    state().shown = Shown::Screen;
    execute!(io::stderr(), EnterAlternateScreen).inspect_err(|_| restore())
}

/// Returns whether the full-screen view has the screen.
pub(crate) fn has_screen() -> bool {
    state().shown == Shown::Screen
}

/// Gives the terminal back as it was, and prints what had to wait for that. Does nothing if nothing is shown.
pub(crate) fn restore() {
    let mut state = state();
    let shown = mem::replace(&mut state.shown, Shown::Nothing);
    let mut stderr = io::stderr();
    // Where the terminal is gone, nothing is left to be given back.
    match shown {
        Shown::Nothing => {}
        Shown::Line => stderr.write_all(&[CLEAR_LINE, BEGIN_LINE].concat()).unwrap_or_default(),
        Shown::Screen => {
            execute!(stderr, LeaveAlternateScreen, Show).unwrap_or_default();
            disable_raw_mode().unwrap_or_default();
            stderr.write_all(BEGIN_LINE).unwrap_or_default();
            stderr.write_all(&mem::take(&mut state.held)).unwrap_or_default();
            let left_out = mem::take(&mut state.left_out);
            if left_out > 0 {
                writeln!(stderr, "and {left_out} more messages").unwrap_or_default();
            }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_cannot_control_the_terminal() {
        let shown = |message: &[u8]| String::from_utf8_lossy(&visible(message)).into_owned();
        assert_eq!(shown(b"got `\x1b[2J\r\x07`\n\tx\n"), "got `\\x1b[2J\\r\\x07`\n\tx\n");
        assert_eq!(shown("a\u{9b}2J ä € …\u{7f}".as_bytes()), "a\\u{9b}2J ä € …\\x7f");
        assert_eq!(&*visible(b"\xff\xc2"), b"\xff\xc2");
    }
}

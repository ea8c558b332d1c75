//! One line on stderr that says what is going on, for whoever sits before a terminal.

use std::io::{self, IsTerminal};

use crate::terminal::display::Display;
use crate::terminal::lines::BEGIN_LINE;
use crate::terminal::{USUAL_COLUMNS, error_columns};

/// Goes to the beginning of the line and clears it.
const CLEAR_LINE: &str = "\r\x1b[K";

/// A line on stderr, if that is a terminal. It is gone when this is dropped.
#[derive(Debug)]
pub struct StatusLine {
    terminal: Option<Display>,
    has_shown: bool,
}

impl StatusLine {
    /// The line of this process: without a terminal, it shows nothing.
    #[must_use]
    pub fn open() -> Self {
        Self { terminal: io::stderr().is_terminal().then(Display::open), has_shown: false }
    }

    /// Shows this instead of what was shown before, as far as the terminal is wide: a second row would stay.
    pub fn show(&mut self, text: &str) {
        if let Some(terminal) = &self.terminal {
            self.has_shown = true;
            let room = error_columns().map_or(USUAL_COLUMNS, |columns| columns - 1);
            let shown: String = text.chars().take(room).collect();
            // Nobody misses it if it cannot be shown.
            terminal.show(format!("{CLEAR_LINE}{shown}").as_bytes());
        }
    }

    /// Takes away what is shown, if anything is.
    pub fn clear(&mut self) {
        if let Some(terminal) = self.terminal.as_ref().filter(|_| self.has_shown) {
            terminal.finish();
            terminal.show(&[CLEAR_LINE.as_bytes(), BEGIN_LINE].concat());
            self.has_shown = false;
        }
    }
}

impl Drop for StatusLine {
    fn drop(&mut self) {
        self.clear();
    }
}

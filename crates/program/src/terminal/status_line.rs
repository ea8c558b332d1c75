//! One line on stderr that says what is going on, for whoever sits before a terminal.

use std::io::{self, IsTerminal, Write};

use crate::terminal::lines::BEGIN_LINE;

/// Goes to the beginning of the line and clears it.
const CLEAR_LINE: &str = "\r\x1b[K";

/// A line on stderr, if that is a terminal. It is gone when this is dropped.
#[derive(Debug)]
pub(crate) struct StatusLine {
    is_terminal: bool,
    has_shown: bool,
}

impl StatusLine {
    pub(crate) fn new() -> Self {
        Self { is_terminal: io::stderr().is_terminal(), has_shown: false }
    }

    /// Shows this instead of what was shown before.
    pub(crate) fn show(&mut self, text: &str) {
        if self.is_terminal {
            self.has_shown = true;
            // Nobody misses it if it cannot be shown.
            write!(io::stderr(), "{CLEAR_LINE}{text}").unwrap_or_default();
        }
    }

    /// Takes away what is shown, if anything is.
    pub(crate) fn clear(&mut self) {
        if self.has_shown {
            self.show("");
            io::stderr().write_all(BEGIN_LINE).unwrap_or_default();
            self.has_shown = false;
        }
    }
}

impl Drop for StatusLine {
    fn drop(&mut self) {
        self.clear();
    }
}

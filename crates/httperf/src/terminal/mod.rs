//! Messages, and lines that come and go while something is under way.

pub(crate) mod colour;
pub(crate) mod lines;
pub mod messages;
pub(crate) mod progress;
pub(crate) mod status_line;

use std::io::{self, IsTerminal};

/// The width of the terminal on standard output, if there is one that says.
pub(crate) fn columns() -> Option<usize> {
    let stdout = io::stdout();
    let size = stdout.is_terminal().then(|| rustix::termios::tcgetwinsize(&stdout).ok()).flatten()?;
    Some(usize::from(size.ws_col)).filter(|&columns| columns > 0)
}

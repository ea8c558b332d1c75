//! Messages, and lines that come and go while something is under way.

pub mod colour;
pub mod display;
pub mod lines;
pub mod messages;
mod pager;
pub mod status_line;

use std::env;
use std::io::{self, IsTerminal};

use rustix::termios::{Winsize, tcgetwinsize};

/// The width of a terminal unless it says otherwise.
pub const USUAL_COLUMNS: usize = 80;

/// Returns true if standard output is a terminal that somebody looks at. mpirun of Open MPI gives each of its processes a
/// terminal of its own, and writes what comes there to wherever its own output goes.
pub fn shows_stdout() -> bool {
    io::stdout().is_terminal() && !is_below_mpirun()
}

/// Returns true if mpirun of Open MPI has started this process.
pub fn is_below_mpirun() -> bool {
    env::var_os("OMPI_COMM_WORLD_RANK").is_some()
}

/// The width of the terminal on standard output, if there is one that says.
pub fn columns() -> Option<usize> {
    size().map(|size| size.ws_col.into()).filter(|&columns| columns > 0)
}

/// The height of that terminal.
pub(crate) fn rows() -> Option<usize> {
    size().map(|size| size.ws_row.into()).filter(|&rows| rows > 0)
}

/// The width of the terminal on standard error, if there is one that says.
pub fn error_columns() -> Option<usize> {
    let size = tcgetwinsize(io::stderr()).ok()?;
    Some(usize::from(size.ws_col)).filter(|&columns| columns > 0)
}

fn size() -> Option<Winsize> {
    shows_stdout().then(|| tcgetwinsize(io::stdout()).ok()).flatten()
}

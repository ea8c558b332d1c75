//! Messages, and lines that come and go while something is under way.

pub mod colour;
pub mod display;
pub mod lines;
pub mod messages;
pub mod status_line;

use std::env;
use std::io::{self, IsTerminal};

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
    let stdout = io::stdout();
    let size = shows_stdout().then(|| rustix::termios::tcgetwinsize(&stdout).ok()).flatten()?;
    Some(usize::from(size.ws_col)).filter(|&columns| columns > 0)
}

//! The choice of coloured output.

use std::env;
use std::io::IsTerminal;

use httperf_report::Colours;

use crate::grammar::{ParseStop, Value};
use crate::terminal::is_below_mpirun;

/// `--color`: when output is coloured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColourChoice {
    /// On a terminal that has colours, unless they are unwelcome.
    #[default]
    Auto,
    /// Wherever the output goes.
    Always,
    /// Nowhere.
    Never,
}

impl ColourChoice {
    /// Reads the value of `--color`.
    pub fn parse(value: Value<'_>) -> Result<Self, ParseStop> {
        match value.bytes() {
            b"auto" => Ok(Self::Auto),
            b"always" => Ok(Self::Always),
            b"never" => Ok(Self::Never),
            _ => Err(value.expected("auto, always or never")),
        }
    }

    /// Colours of what is printed on this stream.
    pub fn of(self, stream: &impl IsTerminal) -> Colours {
        let is_coloured = match self {
            Self::Auto => stream.is_terminal() && !are_unwelcome(),
            Self::Always => true,
            Self::Never => false,
        };
        if is_coloured { Colours::Ansi } else { Colours::None }
    }
}

/// Returns true if the user wants no colours (<https://no-color.org>), the terminal has none, or what looks like one is
/// mpirun, which may write to a file.
fn are_unwelcome() -> bool {
    env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
        || env::var_os("TERM").is_some_and(|terminal| terminal == "dumb")
        || is_below_mpirun()
}

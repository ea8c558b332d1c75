//! Colours of text on a terminal. Nothing is said by colour alone.

use std::fmt::{self, Display};

use anstyle::{AnsiColor, Style};

/// Colours of text for a terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Colours {
    /// Plain text.
    #[default]
    None,
    /// The eight colours that every terminal has.
    Ansi,
}

/// Meaning of a colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    Strong,
    Good,
    Doubtful,
    Bad,
}

impl Colours {
    /// Text in the colour of this tone.
    pub(crate) fn paint<T: Display>(self, tone: Tone, text: T) -> Painted<T> {
        let style = match (self, tone) {
            (Self::None, _) | (_, Tone::Plain) => Style::new(),
            (Self::Ansi, Tone::Strong) => Style::new().bold(),
            (Self::Ansi, Tone::Good) => AnsiColor::Green.on_default().bold(),
            (Self::Ansi, Tone::Doubtful) => AnsiColor::Yellow.on_default().bold(),
            (Self::Ansi, Tone::Bad) => AnsiColor::Red.on_default().bold(),
        };
        Painted { style, text }
    }
}

/// Text with a colour.
pub(crate) struct Painted<T> {
    style: Style,
    text: T,
}

impl<T: Display> Display for Painted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { style, text } = self;
        write!(f, "{style}{text}{style:#}")
    }
}

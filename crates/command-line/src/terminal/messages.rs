//! The name of the program, and its messages: warnings and errors on stderr, everything else on stdout.

use std::ffi::OsString;
use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;

use crate::grammar::help::{self, HelpForm};
use crate::grammar::{Description, ParseStop};
use crate::terminal::lines::complain;
use crate::terminal::pager;

/// The name that prefixes messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    typed: Vec<u8>,
    name: Vec<u8>,
    is_subcommand: bool,
    is_quiet: bool,
}

impl Program {
    /// The program started as `typed` (its `argv[0]`).
    #[must_use]
    pub fn started_as(typed: &OsString) -> Self {
        let typed = typed.as_bytes().to_vec();
        let base_start = typed.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
        let name = typed[base_start..].to_vec();
        Self { typed, name, is_subcommand: false, is_quiet: false }
    }

    /// The same program running a subcommand, which its messages then name too.
    #[must_use]
    pub fn subcommand(&self, word: &str) -> Self {
        let with_word = |name: &[u8]| [name, b" ", word.as_bytes()].concat();
        Self {
            typed: with_word(&self.typed),
            name: with_word(&self.name),
            is_subcommand: true,
            is_quiet: self.is_quiet,
        }
    }

    /// The same program as a rank of a fleet, which its messages then name too.
    #[must_use]
    pub fn at_rank(&self, rank: u32) -> Self {
        let name = [&self.name[..], format!("[{rank}]").as_bytes()].concat();
        Self { name, ..self.clone() }
    }

    /// The same program, saying nothing but errors if `is_quiet`.
    #[must_use]
    pub fn quieted(&self, is_quiet: bool) -> Self {
        Self { is_quiet, ..self.clone() }
    }

    /// Returns whether it runs a subcommand, whose messages no script knows from the classic tool.
    #[must_use]
    pub fn is_subcommand(&self) -> bool {
        self.is_subcommand
    }

    /// Returns whether it says nothing but errors.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.is_quiet
    }

    /// The name it was started by, as bytes.
    #[must_use]
    pub fn typed(&self) -> &[u8] {
        &self.typed
    }

    /// Its base name, as bytes.
    #[must_use]
    pub fn name(&self) -> &[u8] {
        &self.name
    }

    /// Its base name, as text.
    #[must_use]
    pub fn name_text(&self) -> String {
        String::from_utf8_lossy(&self.name).into_owned()
    }

    /// Prints `PROG: MESSAGE` on stderr.
    pub fn say(&self, message: impl Display) {
        self.say_bytes(&[b": ", message.to_string().as_bytes()].concat());
    }

    /// Prints `PROG: MESSAGE` on stderr, unless nothing but errors is wanted.
    pub fn warn(&self, message: impl Display) {
        if !self.is_quiet {
            self.say(message);
        }
    }

    /// Prints `PROG: ERROR` on stderr, with the reasons of the error behind it, and returns the exit status for that.
    pub fn fail(&self, error: &anyhow::Error) -> ExitCode {
        self.say(format_args!("{error:#}"));
        ExitCode::FAILURE
    }

    /// Prints `PROGREST` on stderr, for messages that name their origin (`PROG.origin: …`).
    pub fn say_bytes(&self, rest: &[u8]) {
        complain(&[&self.name[..], rest, b"\n"].concat());
    }

    /// Prints a line on stderr that names no program.
    pub fn say_bare(&self, line: impl Display) {
        complain(format!("{line}\n").as_bytes());
    }

    /// Prints to stdout at once.
    ///
    /// # Errors
    ///
    /// The exit status for a standard output that takes nothing more. The reason was printed.
    pub fn print(&self, bytes: &[u8]) -> Result<(), ExitCode> {
        self.print_with(|out| out.write_all(bytes))
    }

    /// Prints to stdout at once what `write` writes.
    ///
    /// # Errors
    ///
    /// As [`Program::print`].
    pub fn print_with(&self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), ExitCode> {
        let mut stdout = io::BufWriter::new(io::stdout().lock());
        let written = write(&mut stdout).and_then(|()| stdout.flush());
        written.or_else(|error| self.stdout_failed(&error))
    }

    /// Reports that standard output takes nothing more. A reader that has seen enough, such as `head`, may leave early:
    /// that is no error, as in the classic tool.
    ///
    /// # Errors
    ///
    /// As [`Program::print`].
    pub fn stdout_failed(&self, error: &io::Error) -> Result<(), ExitCode> {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Ok(());
        }
        self.say(format_args!("cannot write to standard output: {error}"));
        Err(ExitCode::FAILURE)
    }

    /// Does what a stopped command line asks for, and returns the exit status.
    pub fn stop(&self, command: &Description, stop: &ParseStop) -> ExitCode {
        match stop {
            ParseStop::Usage(message) => {
                complain(&[&self.typed[..], b": ", &message[..], b"\n"].concat());
                ExitCode::FAILURE
            }
            ParseStop::Rejected { message, plain, status } => {
                let is_read = self.is_subcommand || io::stderr().is_terminal();
                let message = plain.as_ref().filter(|_| is_read).unwrap_or(message);
                self.say_bytes(&[b": ", &message[..]].concat());
                ExitCode::from(*status)
            }
            ParseStop::Print(text) => self.print_and_exit(text),
            ParseStop::Help(form) => {
                let text = help::text(command, &self.name_text(), *form, help::width());
                match form {
                    HelpForm::Short => self.print_and_exit(&text),
                    HelpForm::All | HelpForm::Long => self.read_out(&text),
                }
            }
            ParseStop::Version => self.print_and_exit(&format!("{}\n", self.version())),
        }
    }

    /// The version, in the words of the classic tool.
    fn version(&self) -> String {
        let version = env!("CARGO_PKG_VERSION");
        format!("{}: httperf-{version} compiled without DEBUG without TIME_SYSCALLS.", self.name_text())
    }

    /// Shows a text that may be long, and returns the exit status.
    pub fn read_out(&self, text: &str) -> ExitCode {
        pager::show(text);
        self.print_and_exit(text)
    }

    fn print_and_exit(&self, text: &str) -> ExitCode {
        match self.print(text.as_bytes()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(status) => status,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_base_name_prefixes_messages() {
        for (typed, name) in [("/usr/bin/httperf", "httperf"), ("ourperf", "ourperf"), ("./x/", ""), ("", "")]
        {
            assert_eq!(Program::started_as(&typed.into()).name_text(), name);
        }
    }

    #[test]
    fn a_subcommand_is_named_in_its_messages() {
        let program = Program::started_as(&"/bin/httperf".into()).subcommand("serve");
        assert_eq!(program.name_text(), "httperf serve");
        assert_eq!(program.typed, b"/bin/httperf serve");
    }
}

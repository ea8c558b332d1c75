//! The view of a command that makes many measurements: the current one on standard error, and rows on standard output
//! as they are known.

use std::io;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use httperf_command_line::outputs::Outputs;
use httperf_command_line::terminal;
use httperf_command_line::terminal::colour::ColourChoice;
use httperf_command_line::terminal::messages::Program;
use httperf_command_line::terminal::status_line::StatusLine;
use httperf_pages::Report;
use httperf_report::headings::Names;
use httperf_report::{Form, Screen};

/// A view of measurements that are made one after the other.
pub(crate) struct Progress<'a> {
    program: &'a Program,
    line: Option<StatusLine>,
    form: Form,
    names: Names,
    screen: Screen,
    /// Text on standard output so far.
    printed: String,
    /// The exit status for a standard output that takes nothing more.
    failed: Option<ExitCode>,
    began: Instant,
}

impl<'a> Progress<'a> {
    /// Begins. The document is printed as these options say.
    pub(crate) fn new(program: &'a Program, outputs: &Outputs) -> Self {
        Self {
            program,
            line: (!program.is_quiet()).then(StatusLine::open),
            form: outputs.form,
            names: outputs.names.clone(),
            screen: Screen { columns: terminal::columns(), colours: ColourChoice::Auto.of(&io::stdout()) },
            printed: String::new(),
            failed: None,
            began: Instant::now(),
        }
    }

    /// Form in which the document is printed.
    pub(crate) fn form(&self) -> Form {
        self.form
    }

    /// Says what is under way.
    pub(crate) fn show(&mut self, text: &str) {
        if let Some(line) = &mut self.line {
            line.show(text);
        }
    }

    /// Says what is under way, with the time that is left if the rest takes as long as what was done.
    pub(crate) fn show_part(&mut self, text: &str, done: usize, all: usize) {
        match left(self.began.elapsed(), done, all) {
            Some(left) => self.show(&format!("{text}, about {left} left")),
            None => self.show(text),
        }
    }

    /// Says what may spoil the measurements.
    pub(crate) fn warn(&mut self, text: &str) {
        if let Some(line) = &mut self.line {
            line.clear();
        }
        self.program.warn(format_args!("warning: {text}"));
    }

    /// Prints the rows that have been added to a document since the last time.
    pub(crate) fn rows(&mut self, report: &dyn Report) {
        if self.form == Form::Text {
            let body = report.body(self.screen);
            if let Some(rest) = body.strip_prefix(&self.printed[..]) {
                self.print(rest);
                self.printed = body;
            }
        }
    }

    /// Prints what is left of the document.
    ///
    /// # Errors
    /// The exit status for a standard output that takes nothing more. The reason was printed.
    pub(crate) fn finish(mut self, report: &dyn Report) -> Result<(), ExitCode> {
        let whole = report.render_named(self.form, self.screen, &self.names);
        let whole = whole.expect("a command has --format only for the forms of its document");
        match whole.strip_prefix(&self.printed[..]) {
            Some(rest) => self.print(rest),
            // A row has changed after all.
            None => self.print(&format!("\n{whole}")),
        }
        self.failed.map_or(Ok(()), Err)
    }

    fn print(&mut self, text: &str) {
        if text.is_empty() || self.failed.is_some() {
            return;
        }
        if let Some(line) = &mut self.line {
            line.clear();
        }
        self.failed = self.program.print(text.as_bytes()).err();
    }
}

/// Time that the rest takes, in words.
fn left(elapsed: Duration, done: usize, all: usize) -> Option<String> {
    if done == 0 {
        return None;
    }
    Some(in_words(elapsed.as_secs_f64() / done as f64 * all.saturating_sub(done) as f64))
}

/// A time that is a guess, in words.
pub(crate) fn in_words(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 90.0 => format!("{seconds:.0} s"),
        seconds if seconds < 5400.0 => format!("{:.0} min", seconds / 60.0),
        seconds => format!("{:.1} h", seconds / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_takes_as_long_as_what_was_done() {
        let after = |seconds, done, all| left(Duration::from_secs(seconds), done, all);
        assert_eq!(after(10, 0, 8), None);
        assert_eq!(after(10, 1, 8).as_deref(), Some("70 s"));
        assert_eq!(after(30, 3, 40).as_deref(), Some("6 min"));
        assert_eq!(after(3600, 1, 3).as_deref(), Some("2.0 h"));
        assert_eq!(after(10, 9, 8).as_deref(), Some("0 s"));
    }
}

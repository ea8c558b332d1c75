//! Running the program with a result, and what came of it.

use std::fmt;
use std::fs;
use std::path::Path;
use std::time::Duration;

use httperf_stats::Summary;

use super::program::{Exit, Finished, Invocation, under_test};
use super::words;

/// Maximum time of a run on a machine that has other things to do.
const LIMIT: Duration = Duration::from_secs(60);

/// A run: what was printed, and the summary that was saved.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) finished: Finished,
    pub(crate) summary: Summary,
}

impl fmt::Display for Ran {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.finished.fmt(f)
    }
}

/// Runs the program against a port of localhost, with the full report.
pub(crate) fn run(port: u16, arguments: &str, files: &[(&str, &[u8])]) -> Ran {
    run_within(LIMIT, port, arguments, files)
}

/// The same, of a run that may take this long.
pub(crate) fn run_within(limit: Duration, port: u16, arguments: &str, files: &[(&str, &[u8])]) -> Ran {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let result = folder.path().join("result.json");
    let finished = finish_within(limit, port, &format!("{arguments} --output {}", result.display()), files);
    let summary = saved_summary(&result).unwrap_or_else(|error| panic!("{error}: {finished}"));
    Ran { finished, summary }
}

/// The same, of a run that may end before there is a result.
pub(crate) fn finish(port: u16, arguments: &str, files: &[(&str, &[u8])]) -> Finished {
    finish_within(LIMIT, port, arguments, files)
}

fn finish_within(limit: Duration, port: u16, arguments: &str, files: &[(&str, &[u8])]) -> Finished {
    let line = format!("--server localhost --port {port} --timeout 20 --report full {arguments}");
    let mut invocation = Invocation::new(&under_test(), words(&line));
    invocation.files = files.iter().map(|&(name, contents)| (name.to_owned(), contents.to_vec())).collect();
    invocation.limit = limit;
    Finished::of(&invocation)
}

fn saved_summary(file: &Path) -> Result<Summary, String> {
    let text = fs::read(file).map_err(|error| error.to_string())?;
    let mut document: serde_json::Value = serde_json::from_slice(&text).map_err(|error| error.to_string())?;
    serde_json::from_value(document["summary"].take()).map_err(|error| error.to_string())
}

impl Ran {
    /// The run ended well, and the classic report has these values, as printed.
    #[track_caller]
    pub(crate) fn check(&self, expected: &str) {
        assert_eq!(self.finished.exit, Exit::Code(0), "{self}");
        let classic = self.finished.stdout.split("\nTimes  ").next().unwrap_or_default();
        self.finished.check_report(classic, expected);
    }

    /// A line of the full report, without its name.
    #[track_caller]
    pub(crate) fn line(&self, name: &str) -> &str {
        let found = self.finished.stdout.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        found.unwrap_or_else(|| panic!("no line `{name}`: {self}")).trim()
    }
}

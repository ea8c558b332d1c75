//! Running the program, and what came of it.

use std::fmt;
use std::fs;
use std::path::Path;
use std::time::Duration;

use httperf_stats::{Http2Summary, Summary};

use super::peers::Peer;
use crate::support::program::{Exit, Finished, Invocation, under_test};
use crate::support::words;

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

impl Peer {
    /// Runs the program against the server, over HTTP/2.
    pub(crate) fn run(&self, arguments: &str) -> Ran {
        self.run_with(&format!("--http-version 2 {arguments}"), &[])
    }

    /// Runs the program against the server, in a folder with these files.
    pub(crate) fn run_with(&self, arguments: &str, files: &[(&str, &[u8])]) -> Ran {
        let tls = if self.settings.tls { "--ssl" } else { "" };
        run(self.port, &format!("{tls} {arguments}"), files)
    }
}

/// Runs the program against a port of localhost, with the full report.
pub(crate) fn run(port: u16, arguments: &str, files: &[(&str, &[u8])]) -> Ran {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let result = folder.path().join("result.json");
    let finished = finish(port, &format!("{arguments} --output {}", result.display()), files);
    let summary = saved_summary(&result).unwrap_or_else(|error| panic!("{error}: {finished}"));
    Ran { finished, summary }
}

/// The same, of a run that may end before there is a result.
pub(crate) fn finish(port: u16, arguments: &str, files: &[(&str, &[u8])]) -> Finished {
    let line = format!("--server localhost --port {port} --timeout 20 --report full {arguments}");
    let mut invocation = Invocation::new(&under_test(), words(&line));
    invocation.files = files.iter().map(|&(name, contents)| (name.to_owned(), contents.to_vec())).collect();
    invocation.limit = LIMIT;
    Finished::of(&invocation)
}

fn saved_summary(file: &Path) -> Result<Summary, String> {
    let text = fs::read(file).map_err(|error| error.to_string())?;
    let mut document: serde_json::Value = serde_json::from_slice(&text).map_err(|error| error.to_string())?;
    serde_json::from_value(document["summary"].take()).map_err(|error| error.to_string())
}

impl Ran {
    /// What HTTP/2 did.
    pub(crate) fn http2(&self) -> &Http2Summary {
        self.summary.http2.as_ref().expect("HTTP/2 was asked for")
    }

    /// The run ended well, and the classic report has these values, as printed.
    #[track_caller]
    pub(crate) fn check(&self, expected: &str) {
        assert_eq!(self.finished.exit, Exit::Code(0), "{self}");
        let classic = self.finished.stdout.split("\nTimes  ").next().unwrap_or_default();
        self.finished.check_report(classic, expected);
    }

    /// All that was due was made and answered, without an error, over HTTP/2, and as it was expected to be.
    #[track_caller]
    pub(crate) fn is_all_answered(&self) {
        self.check("errors=0");
        let (summary, http2) = (&self.summary, self.http2());
        assert_eq!(summary.replies, summary.statuses[1], "replies of other statuses: {self}");
        assert_eq!(summary.arrivals.started, summary.arrivals.due, "arrivals: {self}");
        assert_eq!(summary.unfinished.moments.count(), 0, "unfinished: {self}");
        assert_eq!(summary.mismatches.total(), 0, "unexpected replies: {self}");
        assert_eq!(http2.spoken.count("HTTP/2"), http2.spoken.total(), "{self}");
        assert!(http2.spoken.total() > 0, "{self}");
        assert_eq!(http2.violations.total(), 0, "{self}");
        // A stream that was opened may not have been sent when the server said so.
        assert!(http2.retried <= http2.unprocessed, "what was not processed was made again: {self}");
    }

    /// So many calls were answered without any trouble, on so many connections, each by a stream.
    #[track_caller]
    pub(crate) fn answers(&self, connections: u64, calls: u64) {
        self.is_all_answered();
        let http2 = self.http2();
        assert_eq!(http2.spoken.count("HTTP/2"), connections, "{self}");
        assert_eq!((self.summary.replies, http2.streams), (calls, calls), "{self}");
        assert_eq!(http2.resets_received.total(), 0, "{self}");
    }

    /// A line of the full report, without its name.
    #[track_caller]
    pub(crate) fn line(&self, name: &str) -> &str {
        let found = self.finished.stdout.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        found.unwrap_or_else(|| panic!("no line `{name}`: {self}")).trim()
    }
}

//! What was seen of one run: by the one who started the program, and by the server it talked to.

use httperf_testkit::server::{ConnectionRecord, Server};

use crate::row::Case;
use crate::support::program::{Invocation, Outcome};
use crate::support::report::Report;
use crate::support::words;

/// One run of one program.
#[derive(Debug)]
pub(crate) struct Observed {
    pub(crate) outcome: Outcome,
    pub(crate) records: Vec<ConnectionRecord>,
    port: u16,
}

impl Observed {
    /// Runs `program` on a case, against a server of its own.
    pub(crate) fn run(program: &std::path::Path, case: &Case) -> std::io::Result<Self> {
        let server = Server::start(case.server.clone())?;
        let port = server.port();
        let mut arguments = Vec::new();
        if case.addressed {
            arguments = words(&format!("--server 127.0.0.1 --port {port}"));
        }
        arguments.extend(words(&case.arguments));
        let outcome = Invocation {
            name: case.name.to_owned(),
            files: case.files.clone(),
            limit: case.limit,
            descriptors: case.descriptors,
            interrupt_after: case.interrupt_after,
            ..Invocation::new(program, arguments)
        }
        .run()?;
        Ok(Self { outcome, records: server.finish(), port })
    }

    pub(crate) fn stdout(&self) -> String {
        let text = String::from_utf8_lossy(&self.outcome.stdout).into_owned();
        text.replace(&format!("--port={}", self.port), "--port=PORT")
    }

    /// stderr without the warning about FD_SETSIZE, which ours has no reason to give, and without the hints of ours.
    pub(crate) fn stderr(&self) -> String {
        let text = String::from_utf8_lossy(&self.outcome.stderr).into_owned();
        let warning = "warning: open file limit > FD_SETSIZE; limiting max. # of open files to FD_SETSIZE";
        // Lines of ours alone: the machine would spoil the test, or has; a hint stands below the message.
        let ours = [": warning: open files: ", ": verdict: INVALID: "];
        let is_expected = |line: &&str| {
            !(line.trim_end().ends_with(warning)
                || line.starts_with("hint: ")
                || ours.iter().any(|part| line.contains(part)))
        };
        text.split_inclusive('\n').filter(is_expected).collect()
    }

    pub(crate) fn echo(&self) -> String {
        self.stdout().lines().next().unwrap_or_default().to_owned()
    }

    pub(crate) fn report(&self) -> Result<Report, String> {
        Report::parse(&self.stdout())
    }

    /// The lines before the burst length, versions masked.
    pub(crate) fn before(&self) -> Result<Vec<String>, String> {
        Ok(self.report()?.before.iter().map(|line| mask_version(line)).collect())
    }

    /// What each connection received, versions masked.
    pub(crate) fn bytes(&self) -> Vec<String> {
        self.records.iter().map(|record| mask_version(&String::from_utf8_lossy(&record.bytes()))).collect()
    }

    /// Request lines without the version, in order of arrival.
    pub(crate) fn request_lines(&self) -> Vec<String> {
        let mut requests: Vec<_> = self.records.iter().flat_map(|record| &record.requests).collect();
        requests.sort_by_key(|request| request.at);
        let line =
            |line: String| line.rsplit_once(" HTTP/").map_or(line.clone(), |(line, _)| line.to_owned());
        requests.into_iter().map(|request| line(request.line())).collect()
    }

    /// When connections were accepted, in seconds from the first.
    pub(crate) fn starts(&self) -> Vec<f64> {
        let Some(first) = self.records.first() else { return Vec::new() };
        self.records.iter().map(|record| (record.accepted - first.accepted).as_secs_f64()).collect()
    }
}

/// Puts `httperf/VER` for the version that a request states.
fn mask_version(text: &str) -> String {
    let mark = "User-Agent: httperf/";
    let mut masked = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(mark) {
        let (before, after) = rest.split_at(at + mark.len());
        masked.push_str(before);
        masked.push_str("VER");
        rest = after.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+'));
    }
    masked + rest
}

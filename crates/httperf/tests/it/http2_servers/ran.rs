//! Runs against servers of HTTP/2, and what is to hold of them.

use httperf_stats::Http2Summary;

use super::peers::Peer;

pub(crate) use crate::support::ran::{Ran, finish, run};

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

impl Ran {
    /// What HTTP/2 did.
    pub(crate) fn http2(&self) -> &Http2Summary {
        self.summary.http2.as_ref().expect("HTTP/2 was asked for")
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
}

//! The log of a connection's events.

use std::fmt;
use std::io::Write;
use std::time::Instant;

use quinn_proto::{QlogConfig, QlogStream};

/// A place for the events of a connection: packets sent, received and lost, and metrics of loss recovery, as qlog in
/// JSON-SEQ. Each record is passed on as pieces of which the first is the record separator alone; nothing is flushed.
///
/// <https://www.ietf.org/archive/id/draft-ietf-quic-qlog-main-schema-12.html>
pub struct Log {
    /// Its title.
    pub title: String,
    /// A description: times in the log count from the beginning of the connection.
    pub description: String,
    /// The writer. What it reports as an error is lost without a word.
    pub writer: Box<dyn Write + Send + Sync>,
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Log").field("title", &self.title).finish_non_exhaustive()
    }
}

impl Log {
    /// Begins a log. `None` if the writer fails.
    pub(super) fn begin(self, start: Instant) -> Option<QlogStream> {
        let mut config = QlogConfig::default();
        config
            .title(Some(self.title))
            .description(Some(self.description))
            .start_time(start)
            .writer(self.writer);
        config.into_stream()
    }
}

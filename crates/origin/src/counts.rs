//! What the server did, in numbers.

use std::fmt;

use crate::fault::Fault;
use crate::stamps::Stamp;
use crate::tls::counts::TlsCounts;

/// What the server did. Every request ends in a reply, in a fault, in both (a fault that
/// [completes the reply](Fault::completes_reply)), or in neither: when its client left before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Connections accepted.
    pub connections: u64,
    /// Connections reset on arrival because too many were open; not among the accepted.
    pub connections_refused: u64,
    /// Connections open at the most.
    pub connections_open_max: u64,
    /// Connections closed because nothing moved on them.
    pub connections_idled_out: u64,
    /// Times the system had no descriptor or memory for another connection.
    pub accept_errors: u64,
    /// Connections that spoke HTTP/1, or would have: all but those of HTTP/2, and those that ended before it was clear.
    pub connections_http1: u64,
    /// Connections that spoke HTTP/2.
    pub connections_http2: u64,
    /// Connections that came to HTTP/2 by `Upgrade: h2c`; among those of HTTP/2.
    pub http2_upgrades: u64,
    /// RST_STREAM frames received.
    pub streams_reset_by_client: u64,
    /// RST_STREAM frames sent.
    pub streams_reset: u64,
    /// GOAWAY frames received.
    pub goaways_received: u64,
    /// GOAWAY frames sent. To close a connection in order takes two.
    pub goaways_sent: u64,
    /// Requests whose header was read.
    pub requests: u64,
    /// Requests that were not HTTP; connections of HTTP/2 that were ended for an error are among them.
    pub requests_malformed: u64,
    /// Whole replies by class of status: index 0 is 2xx. Those lost to a client that left are among them.
    pub replies: [u64; 4],
    /// Replies `503` because too many requests were waiting; among the 5xx.
    pub replies_queue_full: u64,
    /// Bytes of replies handed to the system, headers included; under TLS, as they were before it.
    pub bytes_sent: u64,
    /// Faults, by the order of [`Fault::ALL`].
    pub faults: [u64; Fault::ALL.len()],
    /// What came of the handshakes, if the server speaks TLS.
    pub tls: TlsCounts,
    /// When requests came and replies left, of as many as [`Config::stamps`](crate::Config::stamps) says.
    pub stamps: Vec<Stamp>,
}

impl Counts {
    /// Whole replies of every status.
    #[must_use]
    pub fn replies_total(&self) -> u64 {
        self.replies.iter().sum()
    }

    /// Replies of the class that `status` belongs to.
    #[must_use]
    pub fn replies_like(&self, status: u16) -> u64 {
        self.replies.get(class_index(status)).copied().unwrap_or(0)
    }

    /// How often this fault happened.
    #[must_use]
    pub fn faults_of(&self, fault: Fault) -> u64 {
        self.faults[fault.index()]
    }

    pub(crate) fn add_reply(&mut self, status: u16) {
        self.replies[class_index(status)] += 1;
    }

    pub(crate) fn add_fault(&mut self, fault: Fault) {
        self.faults[fault.index()] += 1;
    }
}

fn class_index(status: u16) -> usize {
    usize::from(status / 100).wrapping_sub(2)
}

impl fmt::Display for Counts {
    /// One aligned line for each count. What never happened is left out, except for the first lines; so are the
    /// connections of HTTP/1 where they are all.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines = vec![
            ("connections accepted".to_owned(), self.connections),
            ("open at the most".to_owned(), self.connections_open_max),
            ("requests".to_owned(), self.requests),
            ("replies".to_owned(), self.replies_total()),
            ("bytes sent".to_owned(), self.bytes_sent),
        ];
        let spoke_http2 = self.connections_http2 > 0;
        let mut seldom: Vec<(String, u64)> = self
            .replies
            .iter()
            .zip(2..)
            .map(|(&count, class)| (format!("replies {class}xx"), count))
            .chain([
                ("replies 503, queue full".to_owned(), self.replies_queue_full),
                ("connections HTTP/1".to_owned(), if spoke_http2 { self.connections_http1 } else { 0 }),
                ("connections HTTP/2".to_owned(), self.connections_http2),
                ("upgrades to HTTP/2".to_owned(), self.http2_upgrades),
                ("streams reset by the client".to_owned(), self.streams_reset_by_client),
                ("streams reset".to_owned(), self.streams_reset),
                ("GOAWAY frames received".to_owned(), self.goaways_received),
                ("GOAWAY frames sent".to_owned(), self.goaways_sent),
                ("requests malformed".to_owned(), self.requests_malformed),
                ("connections refused".to_owned(), self.connections_refused),
                ("connections idled out".to_owned(), self.connections_idled_out),
                ("accept errors".to_owned(), self.accept_errors),
            ])
            .chain(Fault::ALL.iter().map(|&fault| (format!("fault {fault}"), self.faults_of(fault))))
            .chain(self.tls.lines())
            .collect();
        seldom.retain(|&(_, count)| count > 0);
        lines.append(&mut seldom);

        let name_width = lines.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        let count_width = lines.iter().map(|(_, count)| count.to_string().len()).max().unwrap_or(0);
        for (name, count) in lines {
            writeln!(f, "{name:name_width$}  {count:>count_width$}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_aligned_and_what_never_happened_is_left_out() {
        let mut counts =
            Counts { connections: 12, connections_open_max: 3, requests: 1000, ..Counts::default() };
        for status in [200, 204, 503] {
            counts.add_reply(status);
        }
        counts.add_fault(Fault::ResetBody);
        assert_eq!(
            counts.to_string(),
            "connections accepted    12\n\
             open at the most         3\n\
             requests              1000\n\
             replies                  3\n\
             bytes sent               0\n\
             replies 2xx              2\n\
             replies 5xx              1\n\
             fault reset-body         1\n"
        );
    }

    #[test]
    fn replies_are_told_apart_by_class() {
        let mut counts = Counts::default();
        for status in [200, 299, 302, 404, 599] {
            counts.add_reply(status);
        }
        assert_eq!(counts.replies, [2, 1, 1, 1]);
        assert_eq!(counts.replies_like(204), 2);
        assert_eq!(counts.replies_like(100), 0);
        assert_eq!(counts.replies_total(), 5);
    }
}

//! The counts of a server.

use std::fmt;

use crate::fault::Fault;
use crate::stamps::Stamp;
use crate::tls::counts::TlsCounts;

/// The counts of a server. Every request ends in a reply, in a fault, in both (a fault that
/// [completes the reply](Fault::completes_reply)), in a stream that is cut, in a WebSocket, or in none
/// of these, if its client left first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Connections accepted.
    pub connections: u64,
    /// Connections reset on arrival because too many were open; not counted as accepted.
    pub connections_refused: u64,
    /// The largest number of connections open at once.
    pub connections_open_max: u64,
    /// Connections closed because nothing moved on them.
    pub connections_idled_out: u64,
    /// Failures to accept for want of descriptors or memory.
    pub accept_errors: u64,
    /// Connections of HTTP/1: all that spoke no HTTP/2 and did not end before the protocol was clear.
    pub connections_http1: u64,
    /// Connections that spoke HTTP/2.
    pub connections_http2: u64,
    /// Connections that spoke HTTP/3.
    pub connections_http3: u64,
    /// RST_STREAM and RESET_STREAM frames received; over HTTP/3, with retransmissions.
    pub streams_reset_by_client: u64,
    /// The same, sent.
    pub streams_reset: u64,
    /// STOP_SENDING frames received, with retransmissions.
    pub stops_received: u64,
    /// STOP_SENDING frames sent, with retransmissions.
    pub stops_sent: u64,
    /// Retry packets sent.
    pub retries: u64,
    /// Datagrams lost on purpose.
    pub datagrams_lost: u64,
    /// GOAWAY frames received over HTTP/2.
    pub goaways_received: u64,
    /// GOAWAY frames sent. An orderly close takes two over HTTP/2, one over HTTP/3.
    pub goaways_sent: u64,
    /// Requests whose header was read.
    pub requests: u64,
    /// Requests that were not HTTP, including connections of HTTP/2 and HTTP/3 that were ended for an error.
    pub requests_malformed: u64,
    /// Complete replies by class of status: index 0 is 2xx. Those that a client did not stay for are included.
    pub replies: [u64; 4],
    /// Replies `503` because too many requests were waiting; included in the 5xx.
    pub replies_queue_full: u64,
    /// Bytes of replies handed to the system, headers included; under TLS, before encryption.
    pub bytes_sent: u64,
    /// Streams of events begun.
    pub streams: u64,
    /// Events handed over, those around the tokens of completions included.
    pub events: u64,
    /// Tokens of completions among them, and those of completions that were no streams.
    pub tokens: u64,
    /// Streams that broke off as asked; not counted as replies.
    pub streams_cut: u64,
    /// WebSockets opened; not counted as replies.
    pub websockets: u64,
    /// Messages received on them.
    pub messages_received: u64,
    /// Messages sent on them.
    pub messages_sent: u64,
    /// Calls of gRPC that were concluded; those with a reply of HTTP alone are not among them.
    pub rpcs: u64,
    /// Those with a status other than OK.
    pub rpcs_failed: u64,
    /// Messages sent in calls of gRPC.
    pub rpc_messages: u64,
    /// Faults, in the order of [`Fault::ALL`].
    pub faults: [u64; Fault::ALL.len()],
    /// The counts of TLS.
    pub tls: TlsCounts,
    /// The arrivals and replies of the first [`Config::stamps`](crate::Config::stamps) requests.
    pub stamps: Vec<Stamp>,
}

impl Counts {
    /// Complete replies of every status.
    #[must_use]
    pub fn replies_total(&self) -> u64 {
        self.replies.iter().sum()
    }

    /// Complete replies of the class of `status`.
    #[must_use]
    pub fn replies_like(&self, status: u16) -> u64 {
        self.replies.get(class_index(status)).copied().unwrap_or(0)
    }

    /// The number of times that a fault happened.
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
    /// Writes one aligned line for each count. Zeros are left out, except in the first lines, and so are connections of
    /// HTTP/1 where there are no others.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines = vec![
            ("connections accepted".to_owned(), self.connections),
            ("open at the most".to_owned(), self.connections_open_max),
            ("requests".to_owned(), self.requests),
            ("replies".to_owned(), self.replies_total()),
            ("bytes sent".to_owned(), self.bytes_sent),
        ];
        let has_others = self.connections_http2 + self.connections_http3 > 0;
        let mut seldom: Vec<(String, u64)> = self
            .replies
            .iter()
            .zip(2..)
            .map(|(&count, class)| (format!("replies {class}xx"), count))
            .chain([
                ("replies 503, queue full".to_owned(), self.replies_queue_full),
                ("connections HTTP/1".to_owned(), if has_others { self.connections_http1 } else { 0 }),
                ("connections HTTP/2".to_owned(), self.connections_http2),
                ("connections HTTP/3".to_owned(), self.connections_http3),
                ("streams reset by the client".to_owned(), self.streams_reset_by_client),
                ("streams reset".to_owned(), self.streams_reset),
                ("STOP_SENDING frames received".to_owned(), self.stops_received),
                ("STOP_SENDING frames sent".to_owned(), self.stops_sent),
                ("Retry packets sent".to_owned(), self.retries),
                ("datagrams lost on purpose".to_owned(), self.datagrams_lost),
                ("GOAWAY frames received".to_owned(), self.goaways_received),
                ("GOAWAY frames sent".to_owned(), self.goaways_sent),
                ("streams".to_owned(), self.streams),
                ("events sent".to_owned(), self.events),
                ("tokens sent".to_owned(), self.tokens),
                ("streams cut".to_owned(), self.streams_cut),
                ("WebSockets".to_owned(), self.websockets),
                ("messages received".to_owned(), self.messages_received),
                ("messages sent".to_owned(), self.messages_sent),
                ("calls of gRPC".to_owned(), self.rpcs),
                ("calls of gRPC that failed".to_owned(), self.rpcs_failed),
                ("messages of gRPC sent".to_owned(), self.rpc_messages),
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

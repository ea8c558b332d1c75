//! Figures of QUIC: datagrams, packets and what became of them, paths, buffers.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::merge::{Merge, merge_fields};
use crate::{Sizes, Timing};

/// Figures of the QUIC below HTTP/3 in a run. They count in the phase in which they were taken: when a connection ended, or
/// when the phase did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QuicSummary {
    /// UDP datagrams sent.
    pub datagrams_sent: u64,
    /// UDP datagrams received.
    pub datagrams_received: u64,
    /// Packets sent.
    pub packets_sent: u64,
    /// Packets of them that were declared lost, probes of the path's MTU aside (RFC 9002, section 6).
    pub packets_lost: u64,
    /// Bytes of these.
    pub bytes_lost: u64,
    /// Times at which a congestion window was reduced.
    pub congestion_events: u64,
    /// Probes of a path's MTU that were sent, which are among the packets (RFC 8899).
    pub mtu_probes_sent: u64,
    /// Probes of them that were lost: most of them say that the path carries no more.
    pub mtu_probes_lost: u64,
    /// Times at which a path turned out to carry less than it had, so that its MTU was found anew.
    pub black_holes: u64,
    /// Connections whose server first asked for a proof of the address (Retry; RFC 9000, section 8.1.2).
    pub retries: u64,
    /// UDP datagrams that were sent for completed handshakes.
    pub handshake_datagrams_sent: u64,
    /// UDP datagrams that were received for completed handshakes.
    pub handshake_datagrams_received: u64,
    /// The least round-trip time of any connection, in nanoseconds.
    pub rtt_min_ns: Option<u64>,
    /// The smoothed round-trip time of each connection that was established, at its end (RFC 9002, section 5.3).
    pub rtt: Timing,
    /// The congestion window of each of them, at its end.
    pub congestion_window: Sizes,
    /// The largest UDP payload that any path was found to carry, in bytes.
    pub mtu_max: u16,
    /// Marks of congestion on datagrams received.
    pub ecn: EcnMarks,
    /// Connections, among those with a round-trip time, whose server did not confirm our marks ECT(0), so that marks on
    /// what we send tell nothing (RFC 9000, section 13.4.2).
    pub ecn_unconfirmed: u64,
    /// Datagrams that this program's sockets dropped, as their buffers were full: the server had sent them, and they had
    /// arrived. The kernel counts datagrams that it had put together once.
    pub socket_drops: u64,
    /// Attempts to send that had to wait for room in a socket's buffer. Nothing is lost by that.
    pub sends_blocked: u64,
    /// The buffers of the sockets.
    pub buffers: Option<SocketBuffers>,
    /// Files of `--qlog` that are incomplete, as they could not be written or reached the limit of their size.
    pub qlogs_cut: u64,
}

/// Marks of explicit congestion notification (RFC 3168, section 5). Datagrams without a mark are not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EcnMarks {
    /// Datagrams with the mark ECT(0).
    pub ect0: u64,
    /// Datagrams with the mark ECT(1).
    pub ect1: u64,
    /// Datagrams that say that congestion was experienced on their way.
    pub ce: u64,
}

merge_fields!(EcnMarks {
    add: ect0, ect1, ce;
});

/// Sizes of the buffers of UDP sockets, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SocketBuffers {
    /// For what arrives.
    pub receive: BufferSize,
    /// For what is sent.
    pub send: BufferSize,
}

/// Size of a buffer, in bytes as they are given to the system: it reserves twice as many, for what each datagram costs
/// besides (socket(7)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BufferSize {
    /// Asked for.
    pub asked: u64,
    /// Granted.
    pub granted: u64,
}

merge_fields!(SocketBuffers {
    add: receive, send;
});

/// Of two machines, the smaller is kept.
impl Merge for BufferSize {
    fn merge(&mut self, other: &Self) {
        *self = std::cmp::min_by_key(*self, *other, |size| (size.granted, size.asked));
    }
}

impl QuicSummary {
    /// Packets lost as a share of those sent; `None` if none was sent.
    #[must_use]
    pub fn loss(&self) -> Option<f64> {
        (self.packets_sent > 0).then(|| self.packets_lost as f64 / self.packets_sent as f64)
    }

    /// Adds the state of an established connection at its end: its smoothed round-trip time and its congestion window.
    pub fn add_path(&mut self, rtt: Duration, congestion_window: u64) {
        self.rtt.add(rtt);
        self.congestion_window.add(congestion_window);
    }

    /// Keeps a round-trip time if it is the least.
    pub fn note_rtt(&mut self, rtt: Duration) {
        let ns = u64::try_from(rtt.as_nanos()).unwrap_or(u64::MAX);
        self.rtt_min_ns = Some(self.rtt_min_ns.map_or(ns, |least| least.min(ns)));
    }

    /// Keeps sizes of buffers if they are the smallest.
    pub fn note_buffers(&mut self, buffers: SocketBuffers) {
        self.buffers.merge(&Some(buffers));
    }
}

merge_fields!(QuicSummary {
    add: datagrams_sent, datagrams_received, packets_sent, packets_lost, bytes_lost, congestion_events,
        mtu_probes_sent, mtu_probes_lost, black_holes, retries, handshake_datagrams_sent,
        handshake_datagrams_received, rtt, congestion_window, ecn, ecn_unconfirmed, socket_drops,
        sends_blocked, buffers, qlogs_cut;
    least: rtt_min_ns;
    max: mtu_max;
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up_in_any_order() {
        let part = |packets_sent: u64, packets_lost, rtt_ms: Option<u64>, mtu_max, granted| {
            let receive = BufferSize { asked: 100, granted };
            let mut part = QuicSummary {
                packets_sent,
                packets_lost,
                mtu_max,
                ecn: EcnMarks { ect0: packets_sent, ect1: 0, ce: packets_lost },
                buffers: Some(SocketBuffers { receive, send: BufferSize { asked: 50, granted: 50 } }),
                ..QuicSummary::default()
            };
            if let Some(rtt) = rtt_ms.map(Duration::from_millis) {
                part.note_rtt(rtt);
                part.add_path(rtt, packets_sent * 1000);
            }
            part
        };
        let parts =
            [part(90, 1, Some(5), 1200, 70), part(10, 0, None, 1452, 100), part(100, 1, Some(4), 0, 60)];
        let sum = |parts: Vec<&QuicSummary>| {
            let mut sum = QuicSummary::default();
            parts.into_iter().for_each(|part| sum.merge(part));
            sum
        };
        let whole = sum(parts.iter().collect());
        assert_eq!(sum(parts.iter().rev().collect()), whole);
        assert_eq!((whole.packets_sent, whole.packets_lost, whole.mtu_max), (200, 2, 1452));
        assert_eq!((whole.loss(), QuicSummary::default().loss()), (Some(0.01), None));
        assert_eq!((whole.rtt_min_ns, whole.rtt.moments.count()), (Some(4_000_000), 2));
        assert_eq!(whole.congestion_window.median(), Some(90_000));
        assert_eq!(whole.ecn, EcnMarks { ect0: 200, ect1: 0, ce: 2 });
        assert_eq!(whole.buffers.map(|buffers| buffers.receive.granted), Some(60));
        let json = serde_json::to_string(&whole).unwrap();
        assert_eq!(serde_json::from_str::<QuicSummary>(&json).unwrap(), whole);
    }
}

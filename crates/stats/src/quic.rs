//! Figures of QUIC: datagrams, packets and what became of them, round trips.

use std::ops::AddAssign;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Figures of the QUIC below HTTP/3 in a run. They count in the phase in which they were taken: when a connection ended, or
/// when the phase did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
    /// Connections whose server first asked for a proof of the address (Retry; RFC 9000, section 8.1.2).
    pub retries: u64,
    /// UDP datagrams that were sent for completed handshakes.
    pub handshake_datagrams_sent: u64,
    /// UDP datagrams that were received for completed handshakes.
    pub handshake_datagrams_received: u64,
    /// The least round-trip time of any connection, in nanoseconds.
    pub rtt_min_ns: Option<u64>,
    /// The largest UDP payload that any path was found to carry, in bytes.
    pub mtu_max: u16,
}

impl QuicSummary {
    /// Packets lost as a share of those sent; `None` if none was sent.
    #[must_use]
    pub fn loss(&self) -> Option<f64> {
        (self.packets_sent > 0).then(|| self.packets_lost as f64 / self.packets_sent as f64)
    }
}

impl AddAssign for QuicSummary {
    fn add_assign(&mut self, other: Self) {
        self.datagrams_sent += other.datagrams_sent;
        self.datagrams_received += other.datagrams_received;
        self.packets_sent += other.packets_sent;
        self.packets_lost += other.packets_lost;
        self.bytes_lost += other.bytes_lost;
        self.congestion_events += other.congestion_events;
        self.retries += other.retries;
        self.handshake_datagrams_sent += other.handshake_datagrams_sent;
        self.handshake_datagrams_received += other.handshake_datagrams_received;
        self.rtt_min_ns = self.rtt_min_ns.into_iter().chain(other.rtt_min_ns).min();
        self.mtu_max = self.mtu_max.max(other.mtu_max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up_in_any_order() {
        let part = |packets_sent, packets_lost, rtt_min_ns, mtu_max| QuicSummary {
            packets_sent,
            packets_lost,
            rtt_min_ns,
            mtu_max,
            ..QuicSummary::default()
        };
        let parts = [part(90, 1, Some(5), 1200), part(10, 0, None, 1452), part(100, 1, Some(4), 0)];
        let mut sum = QuicSummary::default();
        parts.into_iter().rev().for_each(|part| sum += part);
        assert_eq!(sum, part(200, 2, Some(4), 1452));
        assert_eq!((sum.loss(), QuicSummary::default().loss()), (Some(0.01), None));
    }
}

//! What replies said about other ways to reach their servers, and what came of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Tally;
use crate::merge::{Merge, merge_fields};

/// What replies said about HTTP/3 (`Alt-Svc`, RFC 7838), where connections begin over TCP and new ones go over QUIC once a
/// server says that it speaks HTTP/3. Each worker learns for itself.
///
/// Counts of connections belong to the phase in which these were due, the rest to the run with its warm-up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AltSvcSummary {
    /// The time from the start of the run to the first reply that offered HTTP/3 on the server's own host, in nanoseconds.
    pub first_seen_ns: Option<u64>,
    /// The port that it named.
    pub port: Option<u16>,
    /// Connections initiated over QUIC for that reason.
    pub followed: u64,
    /// Connections of these whose handshake failed, by reason. Their calls failed with them.
    pub failures: Tally,
    /// Offers given up because a connection did not reach the server over QUIC: connections went over TCP again. Each
    /// worker counts its own.
    pub broken: u64,
    /// Offers taken back by the server (`Alt-Svc: clear`, or a field without HTTP/3). Each worker counts its own.
    pub withdrawn: u64,
    /// The first offer of HTTP/3 on another host, which is not followed.
    pub other_host: Option<String>,
    /// The reason why offers were not followed, if all connections of the plan have to go over TCP.
    pub obstacle: Option<String>,
}

impl AltSvcSummary {
    /// Records an offer, made at this time after the start of the run.
    pub fn add_offer(&mut self, seen_ns: u64, port: u16) {
        self.take_earlier(Some((seen_ns, port)));
    }

    fn take_earlier(&mut self, other: Option<(u64, u16)>) {
        let own = self.first_seen_ns.zip(self.port);
        let first = own.into_iter().chain(other).min();
        (self.first_seen_ns, self.port) = first.unzip();
    }
}

merge_fields!(fn add_rest of AltSvcSummary {
    apart: first_seen_ns, port;
    add: followed, failures, broken, withdrawn;
    least: other_host, obstacle;
});

impl Merge for AltSvcSummary {
    /// Of different texts, the smaller in order are kept.
    fn merge(&mut self, other: &Self) {
        self.take_earlier(other.first_seen_ns.zip(other.port));
        self.add_rest(other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up_in_any_order() {
        let part = |seen: Option<(u64, u16)>, followed, other_host: Option<&str>| {
            let mut part = AltSvcSummary { followed, withdrawn: 1, ..AltSvcSummary::default() };
            seen.into_iter().for_each(|(seen_ns, port)| part.add_offer(seen_ns, port));
            part.other_host = other_host.map(str::to_owned);
            part.failures.add_count("connection refused", followed);
            part
        };
        let parts = [
            part(Some((9, 443)), 5, Some("b:1")),
            part(None, 2, None),
            part(Some((7, 8443)), 0, Some("a:2")),
        ];
        let merged = |order: [usize; 3]| {
            let mut sum = AltSvcSummary::default();
            order.iter().for_each(|&index| sum.merge(&parts[index]));
            sum
        };
        let all = merged([0, 1, 2]);
        for order in [[0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            assert_eq!(merged(order), all, "{order:?}");
        }
        assert_eq!((all.first_seen_ns, all.port, all.followed, all.withdrawn), (Some(7), Some(8443), 7, 3));
        assert_eq!((all.failures.total(), all.other_host.as_deref()), (7, Some("a:2")));
    }

    #[test]
    fn the_first_offer_is_kept() {
        let mut figures = AltSvcSummary::default();
        for (seen_ns, port) in [(5, 8443), (8, 443)] {
            figures.add_offer(seen_ns, port);
        }
        assert_eq!((figures.first_seen_ns, figures.port), (Some(5), Some(8443)));
    }
}

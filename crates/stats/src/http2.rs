//! Figures of HTTP/2 and HTTP/3: streams and how they ended, waits, and header compression.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::merge::merge_fields;
use crate::{AltSvcSummary, QuicSummary, Tally, Timing, Warning};

/// Figures of HTTP/2 or HTTP/3 in a run.
///
/// Figures that do not belong to a single call, such as those of compression, count in the phase in which the
/// event happened.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Http2Summary {
    /// Established connections by the protocol negotiated: `HTTP/2`, `HTTP/3`, `HTTP/1.1`.
    pub spoken: Tally,
    /// Streams opened.
    pub streams: u64,
    /// Maximum number of streams open on a connection at once.
    pub concurrent_max: u64,
    /// Number of streams open on the connection each time one was opened, itself included, summed up.
    pub concurrent_sum: u64,
    /// Streams that the server declared unprocessed: refused, or beyond the last one of a GOAWAY.
    pub unprocessed: u64,
    /// Calls made again for that reason.
    pub retried: u64,
    /// Streams reset by the server, by error code.
    pub resets_received: Tally,
    /// Streams reset by the client, by reason: an error in the reply, or a call that was given up.
    pub resets_sent: Tally,
    /// GOAWAY frames received, by error code.
    pub goaways: Tally,
    /// Connections that ended because the server violated the protocol or exceeded a limit, by reason.
    pub violations: Tally,
    /// Waits of calls for one of the streams that the server allows at once; only of those that waited.
    pub stream_waits: Timing,
    /// Waits of request bodies for the server's flow-control windows; only of those that waited. They are
    /// part of a call's latency, but not of its service time.
    pub window_waits: Timing,
    /// Header fields of requests.
    pub request_headers: Compression,
    /// Header fields of replies, including trailers and interim replies.
    pub reply_headers: Compression,
    /// Bytes of frames sent, of any type; over HTTP/3, of UDP datagrams.
    pub bytes_sent: u64,
    /// Bytes of frames received; over HTTP/3, of UDP datagrams.
    pub bytes_received: u64,
    /// The server's settings on the first connection.
    pub server_settings: Option<ServerSettings>,
    /// Reason why HTTP/2 failed on the first connection on which it could not be spoken or its rules were
    /// violated, if any.
    pub first_violation: Option<String>,
    /// Figures of QUIC, over which HTTP/3 goes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quic: Option<QuicSummary>,
    /// What replies said about HTTP/3, if any said something and the plan leaves the choice to the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alt_svc: Option<AltSvcSummary>,
}

/// Error codes of resets that fail no call: the call is made again (RFC 9113, section 8.7; RFC 9114, section 4.1.1).
const HARMLESS: [&str; 2] = ["REFUSED_STREAM", "H3_REQUEST_REJECTED"];

/// Error codes of connections that ended as they may.
const NO_ERROR: [&str; 2] = ["NO_ERROR", "H3_NO_ERROR"];

/// Reasons to reset streams that are no fault of their replies.
const OWN: [&str; 2] = ["no reply in time", "a reply that was complete before its request"];

/// Compression of header fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Compression {
    /// Bytes of names and values before compression.
    pub plain: u64,
    /// Bytes of the header blocks.
    pub encoded: u64,
}

impl Compression {
    /// Size after compression as a share of the size before; `None` if there was nothing to compress.
    #[must_use]
    pub fn ratio(self) -> Option<f64> {
        (self.plain > 0).then(|| self.encoded as f64 / self.plain as f64)
    }

    /// Bytes saved; 0 if compression added some.
    #[must_use]
    pub fn saved(self) -> u64 {
        self.plain.saturating_sub(self.encoded)
    }
}

merge_fields!(Compression {
    add: plain, encoded;
});

/// Settings of a server (RFC 9113, section 6.5.2), with the defaults for those it did not send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct ServerSettings {
    /// Bytes of its dynamic table for decompression.
    pub header_table: u32,
    /// Maximum number of concurrent streams; `None` if unlimited.
    pub max_streams: Option<u32>,
    /// Initial flow-control window of streams.
    pub window: u32,
    /// Maximum size of a frame.
    pub max_frame: u32,
    /// Maximum size of a list of header fields; `None` if unlimited.
    pub header_list: Option<u32>,
}

impl Http2Summary {
    /// Records a connection that ended because the server does not speak HTTP/2 or violated it.
    pub fn add_violation(&mut self, reason: String) {
        self.first_violation.get_or_insert_with(|| reason.clone());
        self.violations.add(reason);
    }

    /// Returns the first violation if HTTP/2 was spoken on no connection at all, so the run as a whole
    /// failed.
    #[must_use]
    pub fn hopeless(&self) -> Option<&str> {
        let spoken = self.spoken.count("HTTP/2") + self.spoken.count("HTTP/3");
        self.first_violation.as_deref().filter(|_| spoken == 0)
    }

    /// The protocols that these are the figures of: `HTTP/3` if it goes over QUIC.
    #[must_use]
    pub fn protocol(&self) -> &'static str {
        match (self.is_mixed(), &self.quic) {
            (true, _) => "HTTP/2 or HTTP/3",
            (false, Some(_)) => "HTTP/3",
            (false, None) => "HTTP/2",
        }
    }

    /// Whether connections spoke HTTP/2 and others HTTP/3.
    #[must_use]
    pub fn is_mixed(&self) -> bool {
        self.quic.is_some() && self.spoken.count("HTTP/2") > 0
    }

    /// Mean number of streams open on a connection when one was opened.
    #[must_use]
    pub fn concurrent_mean(&self) -> Option<f64> {
        (self.streams > 0).then(|| self.concurrent_sum as f64 / self.streams as f64)
    }

    /// Warnings that a reader of the figures should see, most important first.
    pub(crate) fn warnings(&self) -> Vec<Warning> {
        let mut warnings = Vec::new();
        if let Some((reason, _)) = self.violations.by_frequency().first() {
            warnings.push(Warning::Http2Violations {
                connections: self.violations.total(),
                reason: (*reason).to_owned(),
                protocol: self.protocol(),
            });
        }
        if let Some((streams, code)) = most_of(&self.resets_received, &HARMLESS) {
            warnings.push(Warning::StreamsReset { streams, code });
        }
        if let Some((connections, code)) = most_of(&self.goaways, &NO_ERROR) {
            warnings.push(Warning::GoneAway { connections, code });
        }
        if let Some((streams, reason)) = most_of(&self.resets_sent, &OWN) {
            let protocol = self.protocol();
            warnings.push(Warning::RepliesRejected { streams, reason, protocol });
        }
        if let Some(alt_svc) = &self.alt_svc
            && let Some((reason, _)) = alt_svc.failures.by_frequency().first()
        {
            warnings.push(Warning::OfferInVain {
                connections: alt_svc.failures.total(),
                reason: (*reason).to_owned(),
            });
        }
        let calls = self.stream_waits.moments.count();
        if 2 * calls > self.streams {
            let allowed = self.server_settings.and_then(|settings| settings.max_streams);
            warnings.push(Warning::StreamsScarce { calls, streams: self.streams, allowed });
        }
        if let Some(files) = self.quic.as_ref().map(|quic| quic.qlogs_cut).filter(|&files| files > 0) {
            warnings.push(Warning::QlogsCut { files });
        }
        warnings
    }
}

merge_fields!(Http2Summary {
    add: streams, concurrent_sum, unprocessed, retried, spoken, resets_received, resets_sent, goaways,
        violations, stream_waits, window_waits, request_headers, reply_headers, bytes_sent, bytes_received,
        quic, alt_svc;
    max: concurrent_max;
    least: first_violation, server_settings;
});

/// Returns how many there are of all names but these, and the most frequent of them; `None` if there are none.
fn most_of(tally: &Tally, but: &[&str]) -> Option<(u64, String)> {
    let names = tally.by_frequency().into_iter().filter(|(name, _)| !but.contains(name));
    let names: Vec<(&str, u64)> = names.collect();
    let (first, _) = names.first()?;
    Some((names.iter().map(|(_, count)| count).sum(), (*first).to_owned()))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::merge::Merge as _;

    fn tally(counts: &[(&'static str, u64)]) -> Tally {
        let mut tally = Tally::default();
        for &(name, count) in counts {
            (0..count).for_each(|_| tally.add(name));
        }
        tally
    }

    fn waits(count: u64) -> Timing {
        let mut timing = Timing::default();
        (0..count).for_each(|_| timing.add(Duration::from_millis(1)));
        timing
    }

    fn settings(max_streams: Option<u32>) -> ServerSettings {
        ServerSettings {
            header_table: 4096,
            max_streams,
            window: 65_535,
            max_frame: 16_384,
            header_list: None,
        }
    }

    #[track_caller]
    fn check_warnings(summary: &Http2Summary, expected: &[&str]) {
        let warnings: Vec<String> = summary.warnings().iter().map(ToString::to_string).collect();
        assert_eq!(warnings, expected);
    }

    #[test]
    fn a_server_that_follows_the_protocol_causes_no_warning() {
        check_warnings(&Http2Summary::default(), &[]);
        check_warnings(
            &Http2Summary {
                streams: 10,
                resets_received: tally(&[("REFUSED_STREAM", 3)]),
                stream_waits: waits(5),
                ..Http2Summary::default()
            },
            &[],
        );
    }

    #[test]
    fn resets_violations_and_scarce_streams_cause_a_warning_each() {
        let summary = Http2Summary {
            streams: 10,
            violations: tally(&[("a frame that is too large", 2), ("too many PINGs", 1)]),
            resets_received: tally(&[("REFUSED_STREAM", 5), ("INTERNAL_ERROR", 2), ("CANCEL", 1)]),
            stream_waits: waits(6),
            server_settings: Some(settings(Some(2))),
            ..Http2Summary::default()
        };
        let first = [
            "3 connections ended because the server broke the rules of HTTP/2 or went beyond a limit, the most frequent \
             reason: a frame that is too large",
            "the server reset 3 streams, the most frequent code: INTERNAL_ERROR",
        ];
        let scarce = "6 of 10 calls waited for a stream because the server allows 2 at once on a connection; the wait is \
                      part of their latency";
        check_warnings(&summary, &[first[0], first[1], scarce]);
        let scarce = "6 of 10 calls waited for a stream because the server allows only a limited number at once on a connection; the \
                      wait is part of their latency";
        check_warnings(&Http2Summary { server_settings: None, ..summary }, &[first[0], first[1], scarce]);
    }

    #[test]
    fn connections_and_replies_that_end_by_an_error_cause_a_warning() {
        let summary = Http2Summary {
            goaways: tally(&[("NO_ERROR", 9), ("ENHANCE_YOUR_CALM", 3), ("INTERNAL_ERROR", 1)]),
            resets_sent: tally(&[("no reply in time", 5), ("a status 101", 2)]),
            ..Http2Summary::default()
        };
        check_warnings(
            &summary,
            &[
                "the server ended 4 connections with an error, the most frequent code: ENHANCE_YOUR_CALM",
                "2 replies broke a rule of HTTP/2 or went beyond a limit, so that httperf reset the stream, the most frequent \
                 reason: a status 101",
            ],
        );
        let usual = Http2Summary {
            goaways: tally(&[("NO_ERROR", 9)]),
            resets_sent: tally(&[("no reply in time", 5)]),
            ..Http2Summary::default()
        };
        check_warnings(&usual, &[]);
    }

    #[test]
    fn an_offer_of_http3_that_leads_nowhere_causes_a_warning() {
        let mut alt_svc = AltSvcSummary { followed: 3, broken: 1, ..AltSvcSummary::default() };
        alt_svc.failures.add_count("connection refused", 2);
        let summary = Http2Summary { alt_svc: Some(alt_svc), ..Http2Summary::default() };
        let expected = "the server offered HTTP/3 (Alt-Svc), but 2 connections did not reach it over QUIC, the most frequent \
                        reason: connection refused; later ones went over TCP";
        check_warnings(&summary, &[expected]);
    }

    #[test]
    fn the_protocols_that_were_spoken_are_named() {
        let named = |spoken: &[(&'static str, u64)], quic| {
            Http2Summary { spoken: tally(spoken), quic, ..Http2Summary::default() }.protocol()
        };
        assert_eq!(named(&[("HTTP/2", 1), ("HTTP/1.1", 1)], None), "HTTP/2");
        assert_eq!(named(&[("HTTP/3", 1)], Some(QuicSummary::default())), "HTTP/3");
        assert_eq!(named(&[("HTTP/1.1", 1), ("HTTP/3", 1)], Some(QuicSummary::default())), "HTTP/3");
        assert_eq!(named(&[("HTTP/2", 1), ("HTTP/3", 1)], Some(QuicSummary::default())), "HTTP/2 or HTTP/3");
    }

    #[test]
    fn parts_add_up_in_any_order() {
        let part = |streams: u64, concurrent: u64, window: u32| Http2Summary {
            spoken: tally(&[("HTTP/2", streams)]),
            streams,
            concurrent_max: concurrent,
            concurrent_sum: streams * concurrent,
            unprocessed: 1,
            goaways: tally(&[("NO_ERROR", 1)]),
            stream_waits: waits(streams),
            reply_headers: Compression { plain: 100 * streams, encoded: 25 * streams },
            server_settings: Some(ServerSettings { window, ..settings(None) }),
            ..Http2Summary::default()
        };
        let parts = [part(10, 2, 70_000), part(30, 6, 65_535), Http2Summary::default()];
        let merged = |order: [usize; 3]| {
            let mut sum = parts[order[0]].clone();
            order[1..].iter().for_each(|&index| sum.merge(&parts[index]));
            sum
        };
        let all = merged([0, 1, 2]);
        for order in [[0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            assert_eq!(merged(order), all, "{order:?}");
        }
        assert_eq!((all.streams, all.concurrent_max, all.concurrent_mean()), (40, 6, Some(5.0)));
        assert_eq!(
            (all.unprocessed, all.goaways.count("NO_ERROR"), all.stream_waits.moments.count()),
            (2, 2, 40)
        );
        assert_eq!((all.reply_headers.ratio(), all.reply_headers.saved()), (Some(0.25), 3000));
        assert_eq!(all.server_settings.map(|settings| settings.window), Some(65_535));
    }

    #[test]
    fn compression_that_costs_more_saves_nothing() {
        assert_eq!(Compression { plain: 10, encoded: 12 }.saved(), 0);
        assert_eq!(Compression::default().ratio(), None);
    }
}

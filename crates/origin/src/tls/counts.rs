//! The counts of TLS.

use std::collections::BTreeMap;

/// The outcome and the cost of a completed handshake.
#[derive(Debug)]
pub(crate) struct Handshake {
    pub(crate) is_resumed: bool,
    /// True if early data was accepted; `None` if none was offered.
    pub(crate) early_data: Option<bool>,
    pub(crate) is_retried: bool,
    pub(crate) has_client_certificate: bool,
    pub(crate) has_protocol: bool,
    pub(crate) version: &'static str,
    pub(crate) cipher: &'static str,
    pub(crate) group: Option<&'static str>,
    pub(crate) bytes_received: u64,
    pub(crate) bytes_sent: u64,
}

/// The counts of TLS. They do not include the handshakes of connections that idled out, nor those under way when the
/// server stopped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsCounts {
    /// Full handshakes.
    pub full: u64,
    /// Handshakes that resumed a session, with early data or without.
    pub resumed: u64,
    /// Handshakes with early data that was accepted; included in the resumed ones.
    pub early_data_accepted: u64,
    /// Handshakes with early data that was rejected. Counted only by a server that accepts some.
    pub early_data_rejected: u64,
    /// Handshakes with a HelloRetryRequest.
    pub hello_retries: u64,
    /// Full handshakes in which the client showed a certificate.
    pub client_certificates: u64,
    /// Certificates sent compressed.
    pub compressed_certificates: u64,
    /// Failed handshakes by reason.
    pub failed: BTreeMap<String, u64>,
    /// Connections on which TLS failed after the handshake, by reason.
    pub broken: BTreeMap<String, u64>,
    /// Connections that the client closed without a close_notify.
    pub unannounced_closes: u64,
    /// Completed handshakes by version, such as `TLSv1.3`.
    pub versions: BTreeMap<&'static str, u64>,
    /// Completed handshakes by cipher suite.
    pub ciphers: BTreeMap<&'static str, u64>,
    /// Completed handshakes by key-exchange group. Those without a key exchange are in none.
    pub groups: BTreeMap<&'static str, u64>,
    /// Completed handshakes in which ALPN chose a protocol.
    pub protocols_chosen: u64,
    /// Bytes that completed handshakes received, including early data. The answer to early data counts as sent. Over QUIC,
    /// the payloads of datagrams, except for the first that came.
    pub handshake_bytes_received: u64,
    /// Bytes that completed handshakes sent. Tickets of TLS 1.3 mostly follow a handshake and do not count.
    pub handshake_bytes_sent: u64,
}

impl TlsCounts {
    /// Completed handshakes.
    #[must_use]
    pub fn completed(&self) -> u64 {
        self.full + self.resumed
    }

    /// Failed handshakes.
    #[must_use]
    pub fn failed_total(&self) -> u64 {
        self.failed.values().sum()
    }

    pub(crate) fn add(&mut self, handshake: &Handshake) {
        self.full += u64::from(!handshake.is_resumed);
        self.resumed += u64::from(handshake.is_resumed);
        self.early_data_accepted += u64::from(handshake.early_data == Some(true));
        self.early_data_rejected += u64::from(handshake.early_data == Some(false));
        self.hello_retries += u64::from(handshake.is_retried);
        self.client_certificates += u64::from(handshake.has_client_certificate);
        self.protocols_chosen += u64::from(handshake.has_protocol);
        self.handshake_bytes_received += handshake.bytes_received;
        self.handshake_bytes_sent += handshake.bytes_sent;
        *self.versions.entry(handshake.version).or_default() += 1;
        *self.ciphers.entry(handshake.cipher).or_default() += 1;
        if let Some(group) = handshake.group {
            *self.groups.entry(group).or_default() += 1;
        }
    }

    /// Returns a name and a number for each count above 0.
    pub(crate) fn lines(&self) -> Vec<(String, u64)> {
        let mut lines: Vec<(String, u64)> = [
            ("TLS handshakes, full", self.full),
            ("TLS handshakes, resumed", self.resumed),
            ("TLS early data accepted", self.early_data_accepted),
            ("TLS early data rejected", self.early_data_rejected),
            ("TLS handshakes with another hello", self.hello_retries),
            ("TLS client certificates", self.client_certificates),
            ("TLS certificates compressed", self.compressed_certificates),
            ("TLS protocols chosen by ALPN", self.protocols_chosen),
            ("TLS handshake bytes received", self.handshake_bytes_received),
            ("TLS handshake bytes sent", self.handshake_bytes_sent),
            ("TLS closes without close_notify", self.unannounced_closes),
        ]
        .map(|(name, count)| (name.to_owned(), count))
        .into();
        for (what, counts) in
            [("version", &self.versions), ("cipher", &self.ciphers), ("group", &self.groups)]
        {
            lines.extend(counts.iter().map(|(name, &count)| (format!("TLS {what} {name}"), count)));
        }
        for (what, counts) in [("failed", &self.failed), ("broken", &self.broken)] {
            lines.extend(counts.iter().map(|(reason, &count)| (format!("TLS {what}: {reason}"), count)));
        }
        lines.retain(|&(_, count)| count > 0);
        lines
    }
}

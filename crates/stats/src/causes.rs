//! Causes of failures: what was seen when a connection or a call failed, more exactly than the classes of the classic report.
//!
//! Each failure has one cause, and its class follows from that. The `report` crate has a sentence and a remedy for each
//! ([`CauseKind`]).

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::merge::merge_fields;
use crate::{Failure, Tally};

/// Cause of a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailureCause {
    /// Kind.
    pub kind: CauseKind,
    /// Detail that makes it one of its kind, such as an error code or the rule that was broken; empty if nothing does.
    pub detail: Cow<'static, str>,
}

/// Kind of cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CauseKind {
    /// No listener at the port.
    Refused,
    /// There is no way to the address. Detail: the system's error.
    Unreachable,
    /// The connection was not established within the client's time limit.
    ConnectTimedOut,
    /// The kernel's time limit expired.
    KernelTimedOut,
    /// The connection was reset while it was being established.
    ConnectReset,
    /// The process has no file descriptors left.
    NoDescriptor,
    /// No local address or port is available.
    NoPort,
    /// The system's file table is full.
    FileTableFull,
    /// There is no such unix-domain socket.
    NoSocketFile,
    /// This user may not connect.
    NotPermitted,
    /// Another error of the system. Detail: the error.
    System,

    /// A proxy refused a tunnel. Detail: the status of its reply.
    ProxyRefused,
    /// A proxy ended the connection without a reply to a request for a tunnel.
    ProxyClosed,
    /// A proxy did not answer a request for a tunnel in time.
    ProxyTimedOut,
    /// A proxy broke the rules of HTTP. Detail: the rule.
    ProxyMalformed,

    /// The server sent an alert of TLS, in the handshake or later. Detail: its name.
    TlsAlert,
    /// The server answered a TLS handshake with something else.
    NotTls,
    /// The certificate of the server is not trusted. Detail: the reason.
    TlsUntrusted,
    /// A handshake failed for another reason. Detail: the reason.
    TlsFailed,
    /// The server ended the connection in the handshake.
    TlsClosed,
    /// The handshake was not complete within the client's time limit.
    TlsTimedOut,
    /// TLS failed on an established connection. Detail: the reason.
    TlsBroken,
    /// A reply that lasts until the end of the connection ended without a close_notify.
    TlsTruncated,
    /// The server does not speak the protocol of the plan (ALPN). Detail: its choice.
    NoProtocol,

    /// The server ended the connection while a reply was due, before its first byte.
    ClosedUnanswered,
    /// The server ended the connection in the middle of a reply.
    ClosedMidReply,
    /// The connection was reset while a reply was due, before its first byte.
    ResetUnanswered,
    /// The connection was reset in the middle of a reply.
    ResetMidReply,
    /// The server did not take the whole request within the client's time limit.
    SendTimedOut,
    /// The reply did not begin within the client's time limit.
    ReplyTimedOut,
    /// The reply began and did not end within the client's time limit.
    BodyTimedOut,
    /// A reply broke the rules of HTTP/1. Detail: the rule.
    Malformed,
    /// A reply went beyond a limit of this program. Detail: the limit.
    LimitExceeded,
    /// The server sends something that is not HTTP. Detail: its beginning.
    NotHttp,
    /// The server speaks TLS where the plan has none.
    SpeaksTls,
    /// The server speaks HTTP/1 where the plan has HTTP/2.
    SpeaksHttp1,
    /// The server speaks HTTP/2 where the plan has HTTP/1.
    SpeaksHttp2,

    /// The server reset the stream of a call. Detail: the error code.
    StreamReset,
    /// This program reset the stream of a call, as its reply broke a rule or went beyond a limit. Detail: the rule.
    ReplyRejected,
    /// The server ended the connection by GOAWAY, and did not answer calls under way. Detail: the error code.
    GoAway,
    /// The server broke the rules of HTTP/2 or HTTP/3, or went beyond a limit. Detail: the rule.
    Violation,

    /// Nothing came back over QUIC.
    QuicSilent,
    /// A connection of QUIC was idle for too long.
    QuicIdle,
    /// The server speaks no version of QUIC that this program does.
    QuicNoVersion,
    /// The server closed a connection of QUIC. Detail: the error code.
    QuicClosed,
    /// The server knows nothing of a connection of QUIC any more (a stateless reset).
    QuicReset,
    /// The server broke the rules of QUIC. Detail: the error code that it was told.
    QuicViolation,

    /// The server takes no WebSockets over HTTP/2.
    NoWebSockets,
    /// The server of a WebSocket broke the protocol. Detail: the rule.
    WebSocketViolation,
    /// The server of a WebSocket does not take what is sent.
    WebSocketUnread,
    /// The server ended a connection with an open WebSocket.
    WebSocketCut,
    /// The server of a WebSocket did not answer, or did not close it, within the client's time limit.
    WebSocketTimedOut,
}

impl CauseKind {
    /// All kinds.
    pub const ALL: [Self; 52] = [
        Self::Refused,
        Self::Unreachable,
        Self::ConnectTimedOut,
        Self::KernelTimedOut,
        Self::ConnectReset,
        Self::NoDescriptor,
        Self::NoPort,
        Self::FileTableFull,
        Self::NoSocketFile,
        Self::NotPermitted,
        Self::System,
        Self::ProxyRefused,
        Self::ProxyClosed,
        Self::ProxyTimedOut,
        Self::ProxyMalformed,
        Self::TlsAlert,
        Self::NotTls,
        Self::TlsUntrusted,
        Self::TlsFailed,
        Self::TlsClosed,
        Self::TlsTimedOut,
        Self::TlsBroken,
        Self::TlsTruncated,
        Self::NoProtocol,
        Self::ClosedUnanswered,
        Self::ClosedMidReply,
        Self::ResetUnanswered,
        Self::ResetMidReply,
        Self::SendTimedOut,
        Self::ReplyTimedOut,
        Self::BodyTimedOut,
        Self::Malformed,
        Self::LimitExceeded,
        Self::NotHttp,
        Self::SpeaksTls,
        Self::SpeaksHttp1,
        Self::SpeaksHttp2,
        Self::StreamReset,
        Self::ReplyRejected,
        Self::GoAway,
        Self::Violation,
        Self::QuicSilent,
        Self::QuicIdle,
        Self::QuicNoVersion,
        Self::QuicClosed,
        Self::QuicReset,
        Self::QuicViolation,
        Self::NoWebSockets,
        Self::WebSocketViolation,
        Self::WebSocketUnread,
        Self::WebSocketCut,
        Self::WebSocketTimedOut,
    ];

    /// Class of the classic report.
    #[must_use]
    pub const fn class(self) -> Failure {
        match self {
            Self::Refused => Failure::Refused,
            Self::ConnectTimedOut
            | Self::ProxyTimedOut
            | Self::TlsTimedOut
            | Self::SendTimedOut
            | Self::ReplyTimedOut
            | Self::BodyTimedOut
            | Self::WebSocketTimedOut => Failure::ClientTimeout,
            Self::KernelTimedOut | Self::QuicSilent | Self::QuicIdle => Failure::SocketTimeout,
            Self::ConnectReset
            | Self::ProxyClosed
            | Self::TlsClosed
            | Self::TlsTruncated
            | Self::ClosedUnanswered
            | Self::ClosedMidReply
            | Self::ResetUnanswered
            | Self::ResetMidReply
            | Self::StreamReset
            | Self::GoAway
            | Self::QuicClosed
            | Self::QuicReset
            | Self::WebSocketCut => Failure::Reset,
            Self::NoDescriptor => Failure::FdUnavailable,
            Self::NoPort => Failure::AddressUnavailable,
            Self::FileTableFull => Failure::FileTableFull,
            Self::Unreachable
            | Self::NoSocketFile
            | Self::NotPermitted
            | Self::System
            | Self::ProxyRefused
            | Self::ProxyMalformed
            | Self::TlsAlert
            | Self::NotTls
            | Self::TlsUntrusted
            | Self::TlsFailed
            | Self::TlsBroken
            | Self::NoProtocol
            | Self::Malformed
            | Self::LimitExceeded
            | Self::NotHttp
            | Self::SpeaksTls
            | Self::SpeaksHttp1
            | Self::SpeaksHttp2
            | Self::ReplyRejected
            | Self::Violation
            | Self::QuicNoVersion
            | Self::QuicViolation
            | Self::NoWebSockets
            | Self::WebSocketViolation
            | Self::WebSocketUnread => Failure::Other,
        }
    }

    /// The cause of this kind with a detail.
    pub fn with(self, detail: impl Into<Cow<'static, str>>) -> FailureCause {
        FailureCause { kind: self, detail: detail.into() }
    }
}

impl From<CauseKind> for FailureCause {
    fn from(kind: CauseKind) -> Self {
        kind.with("")
    }
}

impl FailureCause {
    /// Class of the classic report.
    #[must_use]
    pub const fn class(&self) -> Failure {
        self.kind.class()
    }
}

/// Failures by cause: as many as there are [`Errors`](crate::Errors).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct FailureCauses {
    /// By kind, the details; an empty one where there is none.
    counts: BTreeMap<CauseKind, Tally>,
}

impl FailureCauses {
    /// Counts one failure.
    pub fn add(&mut self, cause: FailureCause) {
        self.add_count(cause, 1);
    }

    /// Counts several failures.
    pub fn add_count(&mut self, cause: FailureCause, count: u64) {
        if count > 0 {
            self.counts.entry(cause.kind).or_default().add_count(cause.detail, count);
        }
    }

    /// Number of failures of all kinds.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.counts.values().map(Tally::total).sum()
    }

    /// True if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// Number of failures of a kind.
    #[must_use]
    pub fn count(&self, kind: CauseKind) -> u64 {
        self.counts.get(&kind).map_or(0, Tally::total)
    }

    /// Kinds with their details, most frequent first.
    #[must_use]
    pub fn by_frequency(&self) -> Vec<(CauseKind, &Tally)> {
        let mut kinds: Vec<(CauseKind, &Tally)> =
            self.counts.iter().map(|(kind, details)| (*kind, details)).collect();
        kinds.sort_by_key(|(_, details)| std::cmp::Reverse(details.total()));
        kinds
    }
}

merge_fields!(FailureCauses {
    add: counts;
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merge::Merge as _;

    #[test]
    fn all_kinds_are_listed_once_and_in_order() {
        assert!(CauseKind::ALL.is_sorted_by(|one, next| one < next));
        let names: Vec<String> =
            CauseKind::ALL.iter().map(|kind| serde_json::to_string(kind).unwrap()).collect();
        let last = CauseKind::ALL.last().map(|kind| *kind as usize);
        assert_eq!((last, names.len()), (Some(CauseKind::ALL.len() - 1), CauseKind::ALL.len()), "{names:?}");
    }

    #[test]
    fn failures_are_counted_by_kind_and_detail() {
        let mut causes = FailureCauses::default();
        causes.add(CauseKind::StreamReset.with("CANCEL"));
        causes.add(CauseKind::Refused.into());
        causes.add(CauseKind::StreamReset.with("INTERNAL_ERROR"));
        causes.merge(&causes.clone());
        assert_eq!((causes.total(), causes.count(CauseKind::StreamReset)), (6, 4));
        let kinds: Vec<CauseKind> = causes.by_frequency().into_iter().map(|(kind, _)| kind).collect();
        assert_eq!(kinds, [CauseKind::StreamReset, CauseKind::Refused]);
        let json = serde_json::to_string(&causes).unwrap();
        assert_eq!(json, r#"{"refused":{"":2},"stream_reset":{"CANCEL":2,"INTERNAL_ERROR":2}}"#);
        assert_eq!(serde_json::from_str::<FailureCauses>(&json).unwrap(), causes);
    }
}

//! The causes of failures, as they follow from errors and from what was awaited.

use std::borrow::Cow;
use std::io;

use httperf_proto::quic::Loss;
use httperf_proto::tls::{self, FailureKind};
use httperf_proto::{Foreign, ProtocolError, Undone, http3};
use httperf_stats::{CauseKind, FailureCause};
use rustix::io::Errno;

/// The thing that a connection awaits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Awaits {
    /// That the server takes it.
    Connect,
    /// The tunnel through a proxy.
    Tunnel,
    /// The end of a TLS handshake.
    Handshake,
    /// That the server takes a request.
    Request,
    /// The beginning of a reply.
    Reply,
    /// The end of a reply.
    Body,
    /// A message of a WebSocket's server.
    Message,
}

/// Returns the cause of a failure by a system error. The classes that follow are the documented ones; the classic tool mixed
/// some of them up: EADDRNOTAVAIL is `addrunavail`, and EINVAL is not a shortage of descriptors.
pub(crate) fn of_io(error: &io::Error, awaits: Awaits) -> FailureCause {
    match Errno::from_io_error(error) {
        Some(Errno::TIMEDOUT) => CauseKind::KernelTimedOut,
        Some(Errno::CONNREFUSED) => CauseKind::Refused,
        Some(Errno::CONNRESET | Errno::PIPE | Errno::CONNABORTED) => of_reset(awaits),
        Some(Errno::MFILE) => CauseKind::NoDescriptor,
        Some(Errno::NFILE) => CauseKind::FileTableFull,
        Some(Errno::ADDRNOTAVAIL) => CauseKind::NoPort,
        Some(Errno::NOENT) => CauseKind::NoSocketFile,
        Some(Errno::ACCESS | Errno::PERM) => CauseKind::NotPermitted,
        Some(Errno::NETUNREACH | Errno::HOSTUNREACH | Errno::NETDOWN | Errno::HOSTDOWN) => {
            return CauseKind::Unreachable.with(words(error));
        }
        _ => return CauseKind::System.with(words(error)),
    }
    .into()
}

/// Returns the system's words for an error, in which reports are written.
fn words(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((words, _)) => words.to_lowercase(),
        None => text,
    }
}

/// Returns the cause of a failure whose server, or proxy, has ended the connection.
pub(crate) fn of_end(awaits: Awaits) -> CauseKind {
    match awaits {
        Awaits::Connect => CauseKind::ConnectReset,
        Awaits::Tunnel => CauseKind::ProxyClosed,
        Awaits::Handshake => CauseKind::TlsClosed,
        Awaits::Request | Awaits::Reply => CauseKind::ClosedUnanswered,
        Awaits::Body => CauseKind::ClosedMidReply,
        Awaits::Message => CauseKind::WebSocketCut,
    }
}

/// Returns the cause of a failure by a reset.
pub(crate) fn of_reset(awaits: Awaits) -> CauseKind {
    match of_end(awaits) {
        CauseKind::ClosedUnanswered => CauseKind::ResetUnanswered,
        CauseKind::ClosedMidReply => CauseKind::ResetMidReply,
        kind => kind,
    }
}

/// Returns the cause of a failure by the client's time limit.
pub(crate) fn of_timeout(awaits: Awaits) -> CauseKind {
    match awaits {
        Awaits::Connect => CauseKind::ConnectTimedOut,
        Awaits::Tunnel => CauseKind::ProxyTimedOut,
        Awaits::Handshake => CauseKind::TlsTimedOut,
        Awaits::Request => CauseKind::SendTimedOut,
        Awaits::Reply => CauseKind::ReplyTimedOut,
        Awaits::Body => CauseKind::BodyTimedOut,
        Awaits::Message => CauseKind::WebSocketTimedOut,
    }
}

/// Returns the cause of a failure whose server breaks the protocol.
pub(crate) fn of_protocol(error: &ProtocolError, awaits: Awaits) -> FailureCause {
    match error {
        ProtocolError::Truncated => of_end(awaits).into(),
        ProtocolError::Foreign(foreign) => of_foreign(foreign),
        ProtocolError::BadStatusLine { line } => match Foreign::of(line) {
            Some(foreign) => of_foreign(&foreign),
            None => CauseKind::Malformed.with(error.to_string()),
        },
        ProtocolError::HeadTooLarge { .. }
        | ProtocolError::TooManyFields { .. }
        | ProtocolError::TooManyInterim { .. } => CauseKind::LimitExceeded.with(error.to_string()),
        ProtocolError::Http2(error) if error.is_http1() => CauseKind::SpeaksHttp1.into(),
        ProtocolError::Http2(error) if error.is_tls() => CauseKind::SpeaksTls.into(),
        ProtocolError::Http2(error) if error.is_not_http2() => CauseKind::NotHttp.into(),
        ProtocolError::Http2(error) if error.takes_no_websockets() => CauseKind::NoWebSockets.into(),
        ProtocolError::Http2(error) => CauseKind::Violation.with(error.reason),
        ProtocolError::Http3(error) => CauseKind::Violation.with(error.reason),
        ProtocolError::Quic(loss) => of_loss(loss, awaits),
        _ => CauseKind::Malformed.with(error.to_string()),
    }
}

/// Returns the cause of a failure whose server speaks something else than HTTP/1.
pub(crate) fn of_foreign(foreign: &Foreign) -> FailureCause {
    match foreign {
        Foreign::Tls => CauseKind::SpeaksTls.into(),
        Foreign::Http2 => CauseKind::SpeaksHttp2.into(),
        Foreign::Unknown { beginning } => CauseKind::NotHttp.with(beginning.escape_ascii().to_string()),
    }
}

/// Returns the cause of the failure of a call whose connection goes on.
pub(crate) fn of_undone(why: Undone) -> FailureCause {
    match why {
        Undone::Reset(code) => CauseKind::StreamReset.with(code.name()),
        Undone::GoAway(code) => CauseKind::GoAway.with(code.name()),
        Undone::Rejected(rule) => CauseKind::ReplyRejected.with(rule),
    }
}

/// Returns the cause of the loss of a connection of QUIC.
pub(crate) fn of_loss(loss: &Loss, awaits: Awaits) -> FailureCause {
    match loss {
        Loss::TimedOut if awaits == Awaits::Connect => CauseKind::QuicSilent.into(),
        Loss::TimedOut => CauseKind::QuicIdle.into(),
        Loss::Reset => CauseKind::QuicReset.into(),
        Loss::NoVersion => CauseKind::QuicNoVersion.into(),
        Loss::ByUs => CauseKind::QuicViolation.into(),
        Loss::Closed(code, _) => {
            let code = http3::ErrorCode(*code);
            CauseKind::QuicClosed.with(code.name().map_or_else(|| code.to_string().into(), Cow::Borrowed))
        }
        Loss::Failed(failure) => match failure.reason.strip_prefix("QUIC: ") {
            Some(error) if failure.kind == FailureKind::Own => {
                CauseKind::QuicViolation.with(error.to_owned())
            }
            _ => of_tls(failure),
        },
    }
}

/// Returns the cause of a failure of a TLS handshake.
pub(crate) fn of_tls(failure: &tls::Failure) -> FailureCause {
    match &failure.kind {
        FailureKind::Alert(name) => CauseKind::TlsAlert.with(name.clone()),
        FailureKind::Closed(name) => CauseKind::QuicClosed.with(name.clone()),
        FailureKind::NotTls => CauseKind::NotTls.with(failure.reason.clone()),
        FailureKind::Untrusted(why) => CauseKind::TlsUntrusted.with(why.clone()),
        FailureKind::Own => CauseKind::TlsFailed.with(failure.reason.clone()),
    }
}

/// Returns the cause of a failure of TLS on an established connection.
pub(crate) fn of_broken_tls(failure: &tls::Failure) -> FailureCause {
    match of_tls(failure) {
        FailureCause { kind: CauseKind::TlsFailed, detail } => CauseKind::TlsBroken.with(detail),
        cause => cause,
    }
}

#[cfg(test)]
mod tests {
    use httperf_stats::Failure;

    use super::*;

    const ALL: [Awaits; 7] = [
        Awaits::Connect,
        Awaits::Tunnel,
        Awaits::Handshake,
        Awaits::Request,
        Awaits::Reply,
        Awaits::Body,
        Awaits::Message,
    ];

    #[test]
    fn every_documented_errno_has_its_class_whatever_is_awaited() {
        let cases = [
            (Errno::TIMEDOUT, Failure::SocketTimeout),
            (Errno::CONNREFUSED, Failure::Refused),
            (Errno::CONNRESET, Failure::Reset),
            (Errno::PIPE, Failure::Reset),
            (Errno::MFILE, Failure::FdUnavailable),
            (Errno::NFILE, Failure::FileTableFull),
            (Errno::ADDRNOTAVAIL, Failure::AddressUnavailable),
            (Errno::INVAL, Failure::Other),
            (Errno::NETUNREACH, Failure::Other),
            (Errno::HOSTUNREACH, Failure::Other),
            (Errno::NOENT, Failure::Other),
        ];
        for (errno, class) in cases {
            for awaits in ALL {
                assert_eq!(of_io(&errno.into(), awaits).class(), class, "{errno:?}, {awaits:?}");
            }
        }
        let detail = |errno: Errno| of_io(&errno.into(), Awaits::Connect).detail;
        assert_eq!(detail(Errno::HOSTUNREACH), "no route to host");
        assert_eq!(detail(Errno::INVAL), "invalid argument");
    }

    #[test]
    fn an_end_and_a_time_limit_have_a_cause_of_their_own_for_whatever_is_awaited() {
        for awaits in ALL {
            assert_eq!(of_end(awaits).class(), Failure::Reset, "{awaits:?}");
            assert_eq!(of_reset(awaits).class(), Failure::Reset, "{awaits:?}");
            assert_eq!(of_timeout(awaits).class(), Failure::ClientTimeout, "{awaits:?}");
        }
        let kinds: Vec<CauseKind> = ALL.map(of_timeout).to_vec();
        assert!((1..kinds.len()).all(|at| !kinds[..at].contains(&kinds[at])), "{kinds:?}");
    }
}

//! Causes of failures in words: for each kind a sentence, a short form for lists, and a remedy. Every output takes them from
//! here.

use std::time::Duration;

use httperf_plan::{Endpoint, HttpVersion, Plan};
use httperf_stats::{CauseKind, Failure, FailureCause, FailureCauses, Summary, TlsSummary};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::number::{count, time};

/// Failures of one cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CauseFigures {
    /// Kind of cause.
    pub cause: CauseKind,
    /// Detail that makes it one of its kind, such as an error code or the rule that was broken; empty if nothing does.
    pub detail: String,
    /// Number of failures.
    pub failures: u64,
    /// The cause in a sentence.
    pub sentence: String,
    /// A remedy, or a question that leads to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl CauseFigures {
    /// Failures of a run by cause, most frequent first.
    #[must_use]
    pub fn of(plan: &Plan, summary: &Summary) -> Vec<Self> {
        let recorded = recorded(summary);
        let mut causes: Vec<Self> = recorded
            .by_frequency()
            .into_iter()
            .flat_map(|(cause, details)| {
                details.by_frequency().into_iter().map(move |(detail, failures)| Self {
                    cause,
                    detail: detail.to_owned(),
                    failures,
                    sentence: sentence(cause, detail, plan),
                    hint: hint(cause, detail, plan).map(str::to_owned),
                })
            })
            .collect();
        causes.sort_by_key(|cause| std::cmp::Reverse(cause.failures));
        causes
    }

    /// The cause in a few words, which follow a number of failures.
    pub(crate) fn short(&self) -> String {
        filled(words(self.cause).short, &self.detail)
    }

    /// As [`short`](Self::short), after the number.
    pub(crate) fn listed(&self) -> String {
        format!("{} {}", count(self.failures), self.short())
    }
}

/// The only cause of the failures of a run in a few words; `None` if there are none or several.
#[must_use]
pub fn only_cause(plan: &Plan, summary: &Summary) -> Option<String> {
    match &CauseFigures::of(plan, summary)[..] {
        [only] => Some(only.short()),
        _ => None,
    }
}

/// Causes as they were recorded. Versions that did not record any had classes, from which follows less.
fn recorded(summary: &Summary) -> FailureCauses {
    if summary.causes.total() == summary.errors.total() {
        return summary.causes.clone();
    }
    let (was_connected, has_begun) = (!summary.connect.is_empty(), !summary.response.is_empty());
    let of = |failure| match failure {
        Failure::ClientTimeout if has_begun => CauseKind::BodyTimedOut.into(),
        Failure::ClientTimeout if was_connected => CauseKind::ReplyTimedOut.into(),
        Failure::ClientTimeout => CauseKind::ConnectTimedOut.into(),
        Failure::SocketTimeout => CauseKind::KernelTimedOut.into(),
        Failure::Refused => CauseKind::Refused.into(),
        Failure::Reset if has_begun => CauseKind::ClosedMidReply.into(),
        Failure::Reset => CauseKind::ClosedUnanswered.into(),
        Failure::FdUnavailable => CauseKind::NoDescriptor.into(),
        Failure::AddressUnavailable => CauseKind::NoPort.into(),
        Failure::FileTableFull => CauseKind::FileTableFull.into(),
        Failure::Other if was_connected => CauseKind::NotHttp.into(),
        Failure::Other => CauseKind::System.into(),
    };
    let mut causes = FailureCauses::default();
    // Without a transport, the reason is below TLS.
    let tls = summary.tls.as_deref().filter(|tls| !tls.transport.is_empty());
    let hopeless = tls.and_then(TlsSummary::hopeless).map(|failure| {
        let kind = if failure.is_not_tls() { CauseKind::NotTls } else { CauseKind::TlsFailed };
        kind.with(failure.reason.clone())
    });
    for failure in Failure::ALL {
        let cause: FailureCause = hopeless.clone().unwrap_or_else(|| of(failure));
        causes.add_count(cause, summary.errors.count(failure));
    }
    causes
}

/// A cause in words. `{server}` is what the connection was to reach, `{detail}` the detail, `{limit}` the time limit of the
/// client, `{protocol}` that of the plan.
struct Words {
    sentence: &'static str,
    /// For lists, after a number of failures.
    short: &'static str,
}

const fn words(cause: CauseKind) -> Words {
    let (sentence, short) = match cause {
        CauseKind::Refused => ("connection refused by {server}", "refused"),
        CauseKind::Unreachable => ("{server} cannot be reached: {detail}", "unreachable: {detail}"),
        CauseKind::ConnectTimedOut => {
            ("{server} did not take a connection within {limit}", "timed out while connecting")
        }
        CauseKind::KernelTimedOut => ("the kernel gave up connecting to {server}", "timed out in the kernel"),
        CauseKind::ConnectReset => {
            ("{server} reset the connection while it was being opened", "reset while connecting")
        }
        CauseKind::NoDescriptor => ("this program has no file descriptor left", "without a file descriptor"),
        CauseKind::NoPort => ("this machine has no local port left", "without a local port"),
        CauseKind::FileTableFull => {
            ("this machine's table of open files is full", "at the system's limit on files")
        }
        CauseKind::NoSocketFile => ("{server} does not exist", "without a socket to connect to"),
        CauseKind::NotPermitted => ("this user may not connect to {server}", "not permitted to connect"),
        CauseKind::System => ("{server} cannot be reached: {detail}", "failed by the system: {detail}"),

        CauseKind::ProxyRefused => {
            ("{server} refused a tunnel with status {detail}", "refused by the proxy with status {detail}")
        }
        CauseKind::ProxyClosed => {
            ("{server} closed the connection instead of opening a tunnel", "closed by the proxy")
        }
        CauseKind::ProxyTimedOut => {
            ("{server} did not open a tunnel within {limit}", "timed out while the proxy opened a tunnel")
        }
        CauseKind::ProxyMalformed => (
            "{server} answers the request for a tunnel with something that is not HTTP: {detail}",
            "answered by the proxy with something that is not HTTP",
        ),

        CauseKind::TlsAlert => {
            ("{server} ended TLS with the alert {detail}", "ended by the TLS alert {detail}")
        }
        CauseKind::NotTls => {
            ("the TLS handshake with {server} failed: {detail}", "answered with something that is not TLS")
        }
        CauseKind::TlsUntrusted => (
            "the TLS handshake with {server} failed: certificate not trusted: {detail}",
            "with a certificate that is not trusted: {detail}",
        ),
        CauseKind::TlsFailed => {
            ("the TLS handshake with {server} failed: {detail}", "failed in the TLS handshake: {detail}")
        }
        CauseKind::TlsClosed => (
            "the TLS handshake with {server} failed: the server closed the connection",
            "closed in the TLS handshake",
        ),
        CauseKind::TlsTimedOut => (
            "the TLS handshake with {server} failed: it was not complete within {limit}",
            "timed out in the TLS handshake",
        ),
        CauseKind::TlsBroken => {
            ("TLS with {server} failed after the handshake: {detail}", "failed in TLS: {detail}")
        }
        CauseKind::TlsTruncated => (
            "{server} ended replies without a close_notify of TLS, so that they may be cut",
            "ended without a close_notify",
        ),
        CauseKind::NoProtocol => {
            ("{server} does not speak {protocol}: {detail}", "in another protocol: {detail}")
        }

        CauseKind::ClosedUnanswered => {
            ("{server} closed the connection without a reply", "closed by the server without a reply")
        }
        CauseKind::ClosedMidReply => {
            ("{server} closed the connection in the middle of a reply", "closed by the server in a reply")
        }
        CauseKind::ResetUnanswered => {
            ("{server} reset the connection without a reply", "reset by the server without a reply")
        }
        CauseKind::ResetMidReply => {
            ("{server} reset the connection in the middle of a reply", "reset by the server in a reply")
        }
        CauseKind::SendTimedOut => {
            ("{server} did not take the whole request within {limit}", "timed out while sending")
        }
        CauseKind::ReplyTimedOut => {
            ("{server} takes connections but sends nothing within {limit}", "timed out before the reply")
        }
        CauseKind::BodyTimedOut => {
            ("{server} begins replies but does not end them within {limit}", "timed out in the reply")
        }
        CauseKind::Malformed => ("{server} broke a rule of HTTP/1.1: {detail}", "malformed: {detail}"),
        CauseKind::LimitExceeded => {
            ("a reply of {server} went beyond a limit of this program: {detail}", "beyond a limit: {detail}")
        }
        CauseKind::NotHttp => ("{server} sends something that is not HTTP: {detail}", "not HTTP: {detail}"),
        CauseKind::SpeaksTls => ("{server} speaks TLS", "answered in TLS"),
        CauseKind::SpeaksHttp1 => ("{server} answers in HTTP/1, not in HTTP/2", "answered in HTTP/1"),
        CauseKind::SpeaksHttp2 => ("{server} answers in HTTP/2, not in HTTP/1.1", "answered in HTTP/2"),

        CauseKind::StreamReset => {
            ("{server} reset the stream of the call with {detail}", "reset by the server with {detail}")
        }
        CauseKind::ReplyRejected => (
            "a reply of {server} broke a rule of {protocol}, and httperf reset its stream: {detail}",
            "rejected by httperf: {detail}",
        ),
        CauseKind::GoAway => {
            ("{server} ended the connection by GOAWAY with {detail}", "ended by GOAWAY with {detail}")
        }
        CauseKind::Violation => (
            "{server} broke a rule of {protocol} or went beyond a limit: {detail}",
            "ended by httperf: {detail}",
        ),

        CauseKind::QuicSilent => ("nothing came back from {server} over QUIC", "unanswered over QUIC"),
        CauseKind::QuicIdle => {
            ("{server} said nothing for so long that QUIC gave up", "idle for longer than QUIC allows")
        }
        CauseKind::QuicNoVersion => {
            ("{server} speaks no version of QUIC that httperf speaks", "without a common version of QUIC")
        }
        CauseKind::QuicClosed => {
            ("{server} closed the connection with {detail}", "closed by the server with {detail}")
        }
        CauseKind::QuicReset => (
            "{server} does not know the connection any more (a stateless reset of QUIC)",
            "unknown to the server (stateless reset)",
        ),
        CauseKind::QuicViolation => ("{server} broke a rule of QUIC: {detail}", "ended by httperf: {detail}"),

        CauseKind::NoWebSockets => {
            ("{server} takes no WebSockets over HTTP/2 (RFC 8441)", "without WebSockets over HTTP/2")
        }
        CauseKind::WebSocketViolation => {
            ("{server} broke a rule of WebSockets: {detail}", "ended by httperf: {detail}")
        }
        CauseKind::WebSocketUnread => {
            ("{server} does not take what is sent on a WebSocket", "unread by the server")
        }
        CauseKind::WebSocketCut => (
            "{server} ended the connection of a WebSocket without closing that",
            "cut by the server with an open WebSocket",
        ),
        CauseKind::WebSocketTimedOut => {
            ("{server} did not answer on a WebSocket within {limit}", "timed out on a WebSocket")
        }
    };
    Words { sentence, short }
}

fn sentence(cause: CauseKind, detail: &str, plan: &Plan) -> String {
    filled(words(cause).sentence, detail)
        .replace("{server}", &peer(cause, plan))
        .replace("{limit}", &limit(cause, plan))
        .replace("{protocol}", protocol(plan))
}

/// Words with their detail, or without the place for it.
fn filled(words: &str, detail: &str) -> String {
    match detail {
        "" => words.replace(": {detail}", "").replace(" {detail}", ""),
        detail => words.replace("{detail}", detail),
    }
}

/// A remedy for a cause, or a question that leads to one.
fn hint(cause: CauseKind, detail: &str, plan: &Plan) -> Option<&'static str> {
    let is_tls = plan.tls.is_some();
    let is_proxied = plan.proxy.is_some();
    let is_local = plan.targets.iter().all(|target| matches!(target.endpoint, Endpoint::Unix(_)));
    let over_quic = plan.request.version == HttpVersion::Http3;
    Some(match cause {
        CauseKind::Refused if is_proxied => "Is the proxy up?",
        CauseKind::Refused if over_quic => "Is the server up, and does it listen for QUIC (UDP)?",
        CauseKind::Refused => "Is the server up?",
        CauseKind::Unreachable | CauseKind::ConnectTimedOut if over_quic => {
            "Does it speak HTTP/3 (over UDP), and no firewall in between?"
        }
        CauseKind::Unreachable | CauseKind::ConnectTimedOut | CauseKind::KernelTimedOut => {
            "Is the address right, and no firewall in between?"
        }
        CauseKind::NoDescriptor | CauseKind::NoPort | CauseKind::FileTableFull => {
            "`httperf doctor` says what to do"
        }
        CauseKind::NoSocketFile | CauseKind::NotPermitted | CauseKind::System if is_local => {
            "Is the socket there, and open to this user?"
        }
        CauseKind::ProxyRefused => match detail {
            "407" => "It wants credentials: --proxy http://USER:PASSWORD@HOST sends them",
            "403" => "It does not allow this server or this port",
            "405" | "501" => "It opens no tunnels (CONNECT)",
            "502" | "503" | "504" => "It does not reach the server",
            _ => return None,
        },
        CauseKind::ProxyClosed | CauseKind::ProxyMalformed => "Is it an HTTP proxy?",
        CauseKind::ProxyTimedOut => "Does it reach the server?",
        CauseKind::TlsAlert => match detail {
            "certificate_required" => {
                "It wants a certificate of the client: --ssl-certificate FILE shows one"
            }
            "bad_certificate"
            | "unsupported_certificate"
            | "certificate_revoked"
            | "certificate_expired"
            | "certificate_unknown"
            | "unknown_ca"
            | "access_denied" => "It does not accept the certificate of the client (--ssl-certificate)",
            "handshake_failure" | "insufficient_security" => {
                "Does it want a certificate of the client, or other ciphers, groups or signatures than were offered?"
            }
            "protocol_version" => "It wants another version of TLS: --tls-min and --tls-max choose",
            "unrecognized_name" => "It does not know this name: --tls-server-name NAME names another one",
            "no_application_protocol" => "It does not speak the protocol: --http-version chooses another one",
            _ => return None,
        },
        CauseKind::NotTls | CauseKind::TlsClosed | CauseKind::TlsTimedOut => match plan.makes_calls() {
            true => "Does the port speak plain HTTP? Try http://",
            false => "Does the port speak plain HTTP? Name one that speaks TLS",
        },
        CauseKind::TlsUntrusted => "--ssl-ca-file FILE names whom to trust",
        CauseKind::NoProtocol => "--http-version auto speaks what the server chooses",
        CauseKind::ClosedUnanswered | CauseKind::ResetUnanswered
            if plan.request.version == HttpVersion::Http2 && !is_tls =>
        {
            "Does the port speak HTTP/2 without TLS? Try --http-version 1.1"
        }
        CauseKind::ClosedUnanswered | CauseKind::ResetUnanswered if !is_tls => {
            "Does the port speak TLS? Try https://"
        }
        CauseKind::SendTimedOut | CauseKind::ReplyTimedOut => {
            "Is the server stuck, or is --timeout too short?"
        }
        CauseKind::NotHttp => "Is it the right port?",
        CauseKind::SpeaksTls => "Try https://",
        CauseKind::SpeaksHttp1 => "Try --http-version 1.1",
        CauseKind::SpeaksHttp2 => "Try --http-version 2",
        CauseKind::StreamReset | CauseKind::GoAway | CauseKind::QuicClosed => match detail {
            "REFUSED_STREAM" | "H3_REQUEST_REJECTED" => {
                "It is overloaded, or takes fewer streams at once: --streams bounds them"
            }
            "ENHANCE_YOUR_CALM" | "H3_EXCESSIVE_LOAD" => "It finds that this client asks too much of it",
            "INTERNAL_ERROR" | "H3_INTERNAL_ERROR" => "Its log may say why",
            "HTTP_1_1_REQUIRED" | "H3_VERSION_FALLBACK" => "Try --http-version 1.1",
            "CONNECTION_REFUSED" => "Is the server up, or overloaded?",
            _ => return None,
        },
        CauseKind::QuicSilent => "Does it speak HTTP/3 (over UDP), and no firewall in between?",
        CauseKind::QuicNoVersion => "Try --http-version 2",
        CauseKind::QuicReset => {
            "Was it restarted, or are the packets of one connection spread over several servers?"
        }
        CauseKind::NoWebSockets => "Try --http-version 1.1",
        CauseKind::NoSocketFile
        | CauseKind::NotPermitted
        | CauseKind::System
        | CauseKind::ConnectReset
        | CauseKind::TlsFailed
        | CauseKind::TlsBroken
        | CauseKind::TlsTruncated
        | CauseKind::ClosedUnanswered
        | CauseKind::ResetUnanswered
        | CauseKind::ClosedMidReply
        | CauseKind::ResetMidReply
        | CauseKind::BodyTimedOut
        | CauseKind::Malformed
        | CauseKind::LimitExceeded
        | CauseKind::ReplyRejected
        | CauseKind::Violation
        | CauseKind::QuicIdle
        | CauseKind::QuicViolation
        | CauseKind::WebSocketViolation
        | CauseKind::WebSocketUnread
        | CauseKind::WebSocketCut
        | CauseKind::WebSocketTimedOut => return None,
    })
}

/// Names the peer of whom a cause tells: the server, or the proxy in front of it.
fn peer(cause: CauseKind, plan: &Plan) -> String {
    let only = match &plan.targets[..] {
        [only] => Some(only),
        _ => None,
    };
    match (&plan.proxy, only) {
        (Some(proxy), only) if !proxy.tunnel || cause <= CauseKind::ProxyMalformed => {
            only.map_or_else(|| "the proxy".to_owned(), |target| format!("the proxy {}", target.endpoint))
        }
        (Some(_), Some(target)) => target.proxied_authority().to_string(),
        (None, Some(target)) => target.endpoint.to_string(),
        (_, None) => "every server".to_owned(),
    }
}

fn limit(cause: CauseKind, plan: &Plan) -> String {
    let limit = match cause {
        CauseKind::ReplyTimedOut | CauseKind::BodyTimedOut | CauseKind::WebSocketTimedOut => {
            plan.timeouts.reply()
        }
        _ => plan.timeouts.timeout,
    };
    time(limit.unwrap_or(Duration::ZERO).as_secs_f64() * 1e3)
}

fn protocol(plan: &Plan) -> &'static str {
    match plan.request.version {
        HttpVersion::Http3 => "HTTP/3",
        HttpVersion::Http2 | HttpVersion::Auto => "HTTP/2",
        HttpVersion::Http10 | HttpVersion::Http11 => "HTTP/1.1",
    }
}

#[cfg(test)]
mod tests {
    use httperf_plan::{Authority, Proxy};
    use httperf_testkit::sim::{Edit, connections};

    use super::*;

    fn plan() -> Plan {
        connections(1, 1, 1).with(|plan| plan.timeouts.timeout = Some(Duration::from_secs(2)))
    }

    fn over(version: HttpVersion) -> Plan {
        plan().with(|plan| {
            plan.request.version = version;
            plan.tls = (version == HttpVersion::Http3).then(Default::default);
        })
    }

    /// A cause in words, with its remedy.
    fn told(cause: CauseKind, detail: &'static str, plan: &Plan) -> String {
        let mut summary = Summary::default();
        summary.errors.add(cause.class());
        summary.causes.add(cause.with(detail));
        let [only] = &CauseFigures::of(plan, &summary)[..] else { panic!("there is one cause") };
        match &only.hint {
            Some(hint) => format!("{}. {hint}", only.sentence),
            None => only.sentence.clone(),
        }
    }

    #[test]
    fn every_cause_has_a_sentence_and_perhaps_a_remedy() {
        use CauseKind::*;
        let rows: [(CauseKind, &'static str, &str); CauseKind::ALL.len()] = [
            (Refused, "", "connection refused by 127.0.0.1:80. Is the server up?"),
            (
                Unreachable,
                "no route to host",
                "127.0.0.1:80 cannot be reached: no route to host. Is the address right, and no firewall in between?",
            ),
            (
                ConnectTimedOut,
                "",
                "127.0.0.1:80 did not take a connection within 2.00 s. Is the address right, and no firewall in between?",
            ),
            (
                KernelTimedOut,
                "",
                "the kernel gave up connecting to 127.0.0.1:80. Is the address right, and no firewall in between?",
            ),
            (ConnectReset, "", "127.0.0.1:80 reset the connection while it was being opened"),
            (NoDescriptor, "", "this program has no file descriptor left. `httperf doctor` says what to do"),
            (NoPort, "", "this machine has no local port left. `httperf doctor` says what to do"),
            (
                FileTableFull,
                "",
                "this machine's table of open files is full. `httperf doctor` says what to do",
            ),
            (NoSocketFile, "", "127.0.0.1:80 does not exist"),
            (NotPermitted, "", "this user may not connect to 127.0.0.1:80"),
            (System, "invalid argument", "127.0.0.1:80 cannot be reached: invalid argument"),
            (
                ProxyRefused,
                "407",
                "127.0.0.1:80 refused a tunnel with status 407. It wants credentials: --proxy \
                 http://USER:PASSWORD@HOST sends them",
            ),
            (
                ProxyClosed,
                "",
                "127.0.0.1:80 closed the connection instead of opening a tunnel. Is it an HTTP proxy?",
            ),
            (
                ProxyTimedOut,
                "",
                "127.0.0.1:80 did not open a tunnel within 2.00 s. Does it reach the server?",
            ),
            (
                ProxyMalformed,
                "malformed reply header",
                "127.0.0.1:80 answers the request for a tunnel with something that is not HTTP: malformed reply header. Is it \
                 an HTTP proxy?",
            ),
            (
                TlsAlert,
                "certificate_required",
                "127.0.0.1:80 ended TLS with the alert certificate_required. It wants a certificate of the client: \
                 --ssl-certificate FILE shows one",
            ),
            (
                NotTls,
                "wrong version number",
                "the TLS handshake with 127.0.0.1:80 failed: wrong version number. Does the port speak plain HTTP? Try http://",
            ),
            (
                TlsUntrusted,
                "self-signed certificate",
                "the TLS handshake with 127.0.0.1:80 failed: certificate not trusted: self-signed certificate. --ssl-ca-file \
                 FILE names whom to trust",
            ),
            (
                TlsFailed,
                "unsupported protocol",
                "the TLS handshake with 127.0.0.1:80 failed: unsupported protocol",
            ),
            (
                TlsClosed,
                "",
                "the TLS handshake with 127.0.0.1:80 failed: the server closed the connection. Does the port speak plain HTTP? \
                 Try http://",
            ),
            (
                TlsTimedOut,
                "",
                "the TLS handshake with 127.0.0.1:80 failed: it was not complete within 2.00 s. Does the port speak plain HTTP? \
                 Try http://",
            ),
            (TlsBroken, "bad record mac", "TLS with 127.0.0.1:80 failed after the handshake: bad record mac"),
            (
                TlsTruncated,
                "",
                "127.0.0.1:80 ended replies without a close_notify of TLS, so that they may be cut",
            ),
            (
                NoProtocol,
                "the server chose no protocol (ALPN)",
                "127.0.0.1:80 does not speak HTTP/1.1: the server chose no protocol (ALPN). --http-version auto speaks what \
                 the server chooses",
            ),
            (
                ClosedUnanswered,
                "",
                "127.0.0.1:80 closed the connection without a reply. Does the port speak TLS? Try https://",
            ),
            (ClosedMidReply, "", "127.0.0.1:80 closed the connection in the middle of a reply"),
            (
                ResetUnanswered,
                "",
                "127.0.0.1:80 reset the connection without a reply. Does the port speak TLS? Try https://",
            ),
            (ResetMidReply, "", "127.0.0.1:80 reset the connection in the middle of a reply"),
            (
                SendTimedOut,
                "",
                "127.0.0.1:80 did not take the whole request within 2.00 s. Is the server stuck, or is --timeout too short?",
            ),
            (
                ReplyTimedOut,
                "",
                "127.0.0.1:80 takes connections but sends nothing within 2.00 s. Is the server stuck, or is --timeout too \
                 short?",
            ),
            (BodyTimedOut, "", "127.0.0.1:80 begins replies but does not end them within 2.00 s"),
            (
                Malformed,
                "invalid Content-Length",
                "127.0.0.1:80 broke a rule of HTTP/1.1: invalid Content-Length",
            ),
            (
                LimitExceeded,
                "more than 100 header fields in a reply",
                "a reply of 127.0.0.1:80 went beyond a limit of this program: more than 100 header fields in a reply",
            ),
            (
                NotHttp,
                "220 mail",
                "127.0.0.1:80 sends something that is not HTTP: 220 mail. Is it the right port?",
            ),
            (SpeaksTls, "", "127.0.0.1:80 speaks TLS. Try https://"),
            (SpeaksHttp1, "", "127.0.0.1:80 answers in HTTP/1, not in HTTP/2. Try --http-version 1.1"),
            (SpeaksHttp2, "", "127.0.0.1:80 answers in HTTP/2, not in HTTP/1.1. Try --http-version 2"),
            (
                StreamReset,
                "INTERNAL_ERROR",
                "127.0.0.1:80 reset the stream of the call with INTERNAL_ERROR. Its log may say why",
            ),
            (
                ReplyRejected,
                "a status 101",
                "a reply of 127.0.0.1:80 broke a rule of HTTP/1.1, and httperf reset its stream: a status 101",
            ),
            (
                GoAway,
                "ENHANCE_YOUR_CALM",
                "127.0.0.1:80 ended the connection by GOAWAY with ENHANCE_YOUR_CALM. It finds that this client asks too much of \
                 it",
            ),
            (
                Violation,
                "a frame that is too large",
                "127.0.0.1:80 broke a rule of HTTP/1.1 or went beyond a limit: a frame that is too large",
            ),
            (
                QuicSilent,
                "",
                "nothing came back from 127.0.0.1:80 over QUIC. Does it speak HTTP/3 (over UDP), and no firewall in between?",
            ),
            (QuicIdle, "", "127.0.0.1:80 said nothing for so long that QUIC gave up"),
            (
                QuicNoVersion,
                "",
                "127.0.0.1:80 speaks no version of QUIC that httperf speaks. Try --http-version 2",
            ),
            (
                QuicClosed,
                "H3_INTERNAL_ERROR",
                "127.0.0.1:80 closed the connection with H3_INTERNAL_ERROR. Its log may say why",
            ),
            (
                QuicReset,
                "",
                "127.0.0.1:80 does not know the connection any more (a stateless reset of QUIC). Was it restarted, or are the \
                 packets of one connection spread over several servers?",
            ),
            (QuicViolation, "FLOW_CONTROL_ERROR", "127.0.0.1:80 broke a rule of QUIC: FLOW_CONTROL_ERROR"),
            (
                NoWebSockets,
                "",
                "127.0.0.1:80 takes no WebSockets over HTTP/2 (RFC 8441). Try --http-version 1.1",
            ),
            (WebSocketViolation, "a masked frame", "127.0.0.1:80 broke a rule of WebSockets: a masked frame"),
            (WebSocketUnread, "", "127.0.0.1:80 does not take what is sent on a WebSocket"),
            (WebSocketCut, "", "127.0.0.1:80 ended the connection of a WebSocket without closing that"),
            (WebSocketTimedOut, "", "127.0.0.1:80 did not answer on a WebSocket within 2.00 s"),
        ];
        let plan = plan();
        for (place, (cause, detail, expected)) in rows.into_iter().enumerate() {
            assert_eq!(cause, CauseKind::ALL[place], "each has its row, in order");
            assert_eq!(told(cause, detail, &plan), expected);
            let without = told(cause, "", &plan);
            assert!(!without.contains('{') && !without.contains(": ."), "{without}");
            let short = filled(words(cause).short, detail);
            assert!(!short.contains('{') && !short.contains("server}") && short.len() < 90, "{short}");
        }
    }

    #[test]
    fn words_follow_the_protocol() {
        let reset = "broke a rule of HTTP/2, and httperf reset its stream: a status 101";
        assert!(told(CauseKind::ReplyRejected, "a status 101", &over(HttpVersion::Http2)).contains(reset));
        let http3 = over(HttpVersion::Http3);
        assert!(told(CauseKind::Violation, "x", &http3).contains("a rule of HTTP/3 or"));
        assert!(told(CauseKind::Refused, "", &http3).ends_with("listen for QUIC (UDP)?"));
        assert!(told(CauseKind::ConnectTimedOut, "", &http3).contains("HTTP/3 (over UDP)"));
        let closed = told(CauseKind::ClosedUnanswered, "", &over(HttpVersion::Http2));
        assert!(closed.ends_with("Try --http-version 1.1"), "{closed}");
    }

    #[test]
    fn of_a_proxy_the_stage_decides_who_is_named() {
        let through = |tunnel| {
            plan().with(|plan| {
                let at = |host: &str, port| Authority { host: host.to_owned(), port };
                let authority = at("origin.example", 443);
                plan.proxy = Some(Proxy { authority: at("127.0.0.1", 80), authorization: None, tunnel });
                plan.targets[0].authority = Some(authority);
            })
        };
        let [tunnel, forward] = [true, false].map(through);
        assert_eq!(
            told(CauseKind::Refused, "", &tunnel),
            "connection refused by the proxy 127.0.0.1:80. Is the proxy up?"
        );
        assert!(
            told(CauseKind::ProxyRefused, "502", &tunnel)
                .starts_with("the proxy 127.0.0.1:80 refused a tunnel")
        );
        assert!(told(CauseKind::ProxyRefused, "502", &tunnel).ends_with("It does not reach the server"));
        assert!(told(CauseKind::TlsAlert, "x", &tunnel).starts_with("origin.example:443 ended TLS"));
        assert!(told(CauseKind::ClosedUnanswered, "", &forward).starts_with("the proxy 127.0.0.1:80 closed"));
    }
}

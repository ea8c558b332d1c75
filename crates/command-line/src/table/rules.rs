//! Groups of options that rules name, and rules that several options share.

use crate::grammar::{Rule, any_of};

/// Session workloads.
pub(super) const SESSIONS: &[&str] = &["wsess", "wsesslog", "wsesspage"];

/// The schedule of connections, or of sessions.
pub(super) const ARRIVALS: &[&str] = &["rate", "period"];

/// The schedule of calls.
pub(super) const CALL_ARRIVALS: &[&str] = &["request-rate", "request-period"];

/// Bodies of requests.
pub(super) const BODIES: &[&str] = &["body", "body-file", "form"];

/// What says what requests are.
pub(super) const REQUESTS: &[&str] =
    &["body", "body-file", "form", "method", "wlog", "wset", "wsesslog", "wsesspage"];

/// For what only TCP has.
pub(super) const NOT_OVER_UDP: Rule = any_of(&["http-version=3"]).because("HTTP/3 goes over UDP");

/// For what is made of figures that the classic report does not show.
pub(super) const NOT_FROM_CLASSIC_RECORD: Rule =
    any_of(&["record=classic"]).because("the classic record keeps only the figures of the classic report");

/// For what prints to standard output while the run goes on.
pub(super) const NOT_BESIDE_RESULT: Rule =
    any_of(&["json", "output=-", "steps=-"]).because("standard output then carries nothing else");

/// For what is said about QUIC.
pub(super) const OVER_QUIC: Rule =
    any_of(&["http-version=3", "http-version=auto"]).because("those go over QUIC");

/// For what is said about HTTP/2.
pub(super) const OVER_HTTP2: Rule = any_of(&["http-version=2", "http-version=auto"]);

/// For what is said about gRPC, and about WebSockets.
pub(super) const FOR_GRPC: Rule = any_of(&["grpc"]);
pub(super) const FOR_WEBSOCKETS: Rule = any_of(&["websocket", "a URL that begins with ws:// or wss://"]);

/// For what is said about prompts.
pub(super) const FOR_PROMPTS: Rule = any_of(&["prompts"]);

/// For what says how many calls may be outstanding on a connection: each reply makes way for the next call.
pub(super) const KEPT_BUSY: Rule = any_of(&["concurrency", "request-rate", "request-period"]);
pub(super) const NOT_OF_ARRIVALS: Rule =
    any_of(ARRIVALS).because("--burst-length sends the calls of such connections back to back");

/// For older versions of TLS.
pub(super) const NOT_OVER_QUIC: Rule = any_of(&["http-version=3"]).because("HTTP/3 always has TLS 1.3");

//! The protocol of a connection: the options of its engine, how it comes to HTTP/2, and figures of HTTP/2.

use httperf_plan::{Clients, HttpVersion, Limits, Parts, Plan, Script, StreamedReplies, UriSource, Workload};
use httperf_proto::content::Streamed;
use httperf_proto::http1;
use httperf_proto::http2;
use httperf_proto::http3;
use httperf_proto::quic::{self, Figures};
use httperf_proto::request::Scheme;
use httperf_proto::{Compressed, Counts, Engine, ReplyLimits};
use httperf_stats::{Compression, EcnMarks, Http2Summary, Merge as _, ServerSettings, SocketBuffers};

/// The options with which engines are made.
#[derive(Debug)]
pub(super) struct Protocols {
    http1: http1::Options,
    http2: http2::Options,
    http3: http3::Options,
    /// A connection begins with HTTP/2, whatever the server says.
    begins_with_http2: bool,
}

impl Protocols {
    pub(super) fn new(plan: &Plan) -> Self {
        let http1 = http1_options(plan);
        let http2 = http2_options(plan, &http1);
        let http3 = http3_options(plan, &http1);
        Self {
            http1: undecided(plan, http1),
            http2,
            http3,
            begins_with_http2: plan.request.version == HttpVersion::Http2,
        }
    }

    /// Returns the engine of a new connection.
    pub(super) fn engine(&self) -> Engine {
        if self.begins_with_http2 { self.http2_engine() } else { Engine::http1(self.http1) }
    }

    pub(super) fn http2_engine(&self) -> Engine {
        Engine::http2(self.http2)
    }

    /// Returns the engine of a connection of QUIC that has just begun.
    pub(super) fn http3_engine(&self, connection: quic::Connection) -> Engine {
        Engine::http3(connection, self.http3)
    }

    /// Returns the limits of replies.
    pub(super) fn reply_limits(&self) -> ReplyLimits {
        self.http1.limits
    }
}

fn http1_options(plan: &Plan) -> http1::Options {
    let (cookies, pages, pipeline) = match &plan.workload {
        Workload::Connections(_) => (false, false, usize::MAX),
        Workload::Calls(calls) => {
            let own = if plan.request.version.may_have_streams() { usize::MAX } else { 1 };
            (false, false, calls.pipeline.map_or(own, |pipeline| pipeline.get() as usize))
        }
        Workload::Sessions(sessions) => {
            let pipeline = match plan.request.version {
                // A session speaks HTTP/1.0 one call to a connection.
                HttpVersion::Http10 => 1,
                _ => sessions.max_piped_calls.get() as usize,
            };
            (sessions.cookies, matches!(sessions.script, Script::Pages { .. }), pipeline)
        }
        // The header block of each reply may set cookies, or have the address of a redirect.
        Workload::Scenarios(scenarios) => (true, scenarios.look_at_bodies(), 1),
        Workload::Replay(replay) => {
            let cookies = matches!(replay.clients, Clients::Recorded { cookies: true, .. });
            let streams =
                if plan.request.version.may_have_streams() { replay.streams.get() as usize } else { 1 };
            (cookies, false, streams)
        }
    };
    let watched = plan.watch.replies;
    let reads_bodies = pages || plan.replies.reads_bodies();
    http1::Options {
        pipeline,
        header_blocks: cookies
            || reads_bodies
            || plan.replies.streams.grpc.is_some()
            || plan.replies.streams.model.is_some()
            || plan.opens_websockets()
            || watched.is_some_and(Parts::header),
        bodies: reads_bodies || watched.is_some_and(Parts::body),
        streamed: streamed(plan),
        server_timing: plan.recording.detail && plan.recording.slowest > 0,
        alt_svc: plan.learns_alt_svc(),
        limits: reply_limits(&plan.limits),
    }
}

/// Returns the replies that are to be read as streams. Those of a model are read in any case, for its errors. Where calls
/// open WebSockets, those are among them.
fn streamed(plan: &Plan) -> Streamed {
    let streams = &plan.replies.streams;
    if streams.grpc.is_some() {
        return Streamed::All;
    }
    match (streams.model, streams.read) {
        (Some(_), _) | (None, StreamedReplies::All) => Streamed::All,
        (None, StreamedReplies::EventStreams) if plan.recording.detail => Streamed::EventStreams,
        _ if plan.opens_websockets() => Streamed::EventStreams,
        (None, StreamedReplies::EventStreams | StreamedReplies::None) => Streamed::Never,
    }
}

fn http2_options(plan: &Plan, http1: &http1::Options) -> http2::Options {
    let scripted = matches!(
        &plan.workload,
        Workload::Sessions(sessions) if !matches!(sessions.script, Script::Uniform { .. })
    ) || matches!(&plan.workload, Workload::Scenarios(_) | Workload::Replay(_));
    http2::Options {
        streams: http1.pipeline,
        scheme: if plan.tls.is_some() { Scheme::Https } else { Scheme::Http },
        window: plan.http2.window.get(),
        connection_window: plan.http2.connection_window.get(),
        header_table: plan.http2.header_table.get(),
        max_frame: plan.http2.max_frame.get(),
        indexes_targets: matches!(plan.uris, UriSource::Fixed(_)) && !scripted,
        header_blocks: http1.header_blocks,
        trailers: plan.replies.streams.grpc.is_some(),
        bodies: http1.bodies,
        streamed: http1.streamed,
        server_timing: http1.server_timing,
        alt_svc: http1.alt_svc,
        limits: http2::Limits { reply: http1.limits, ..http2::Limits::default() },
    }
}

fn http3_options(plan: &Plan, http1: &http1::Options) -> http3::Options {
    http3::Options {
        streams: http1.pipeline,
        header_table: plan.http2.header_table.get(),
        header_blocks: http1.header_blocks,
        bodies: http1.bodies,
        streamed: http1.streamed,
        server_timing: http1.server_timing,
        alt_svc: http1.alt_svc,
        limits: http3::Limits { reply: http1.limits, ..http3::Limits::default() },
    }
}

fn reply_limits(limits: &Limits) -> ReplyLimits {
    ReplyLimits {
        head_size: limits.reply_head_size,
        fields: limits.reply_fields,
        chunk_line_size: limits.chunk_line_size,
        interim_replies: limits.interim_replies,
    }
}

/// Returns the options of HTTP/1 while the protocol of a connection is open: as many calls as may be outstanding over
/// HTTP/2 are too many for HTTP/1.
fn undecided(plan: &Plan, options: http1::Options) -> http1::Options {
    let bounds_streams = match &plan.workload {
        Workload::Calls(_) | Workload::Replay(_) => true,
        Workload::Connections(connections) => connections.pipeline.get() > 1,
        Workload::Sessions(_) | Workload::Scenarios(_) => false,
    };
    let is_open = plan.request.version == HttpVersion::Auto;
    let pipeline = if is_open && bounds_streams { 1 } else { options.pipeline };
    http1::Options { pipeline, ..options }
}

/// Adds the counts of a connection to the figures of protocols with streams.
pub(super) fn add(summary: &mut Http2Summary, counts: &Counts) {
    summary.streams += counts.streams;
    summary.concurrent_max = summary.concurrent_max.max(counts.concurrent_max);
    summary.concurrent_sum += counts.concurrent_sum;
    summary.unprocessed += counts.unprocessed;
    for &(code, count) in &counts.resets_received {
        summary.resets_received.add_count(code.to_string(), count);
    }
    for &(reason, count) in &counts.resets_sent {
        summary.resets_sent.add_count(reason, count);
    }
    for &(code, count) in &counts.goaways {
        summary.goaways.add_count(code.to_string(), count);
    }
    summary.request_headers.merge(&compression(counts.headers_sent));
    summary.reply_headers.merge(&compression(counts.headers_received));
    summary.bytes_sent += counts.bytes_sent;
    summary.bytes_received += counts.bytes_received;
}

/// Figures of a socket of datagrams, which a connection of QUIC has for itself.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SocketFigures {
    /// Datagrams that it dropped.
    pub(super) dropped: u64,
    /// Attempts to send that it refused.
    pub(super) sends_blocked: u64,
    /// Its buffers, if known.
    pub(super) buffers: Option<SocketBuffers>,
}

/// Adds figures of the QUIC below a connection of HTTP/3, and of its socket.
pub(super) fn add_quic(summary: &mut Http2Summary, figures: &Figures, socket: SocketFigures) {
    summary.bytes_sent += figures.bytes_sent;
    summary.bytes_received += figures.bytes_received;
    let quic = summary.quic.get_or_insert_default();
    quic.datagrams_sent += figures.datagrams_sent;
    quic.datagrams_received += figures.datagrams_received;
    quic.packets_sent += figures.packets_sent;
    quic.packets_lost += figures.packets_lost;
    quic.bytes_lost += figures.bytes_lost;
    quic.congestion_events += figures.congestion_events;
    quic.mtu_probes_sent += figures.mtu_probes_sent;
    quic.mtu_probes_lost += figures.mtu_probes_lost;
    quic.black_holes += figures.black_holes;
    quic.mtu_max = quic.mtu_max.max(figures.mtu);
    quic.ecn.merge(&EcnMarks { ect0: figures.marks.ect0, ect1: figures.marks.ect1, ce: figures.marks.ce });
    if let Some(least) = figures.rtt_min {
        quic.note_rtt(least);
        quic.add_path(figures.rtt, figures.congestion_window);
        quic.ecn_unconfirmed += u64::from(!figures.confirms_marks);
    }
    quic.socket_drops += socket.dropped;
    quic.sends_blocked += socket.sends_blocked;
    if let Some(buffers) = socket.buffers {
        quic.note_buffers(buffers);
    }
}

fn compression(headers: Compressed) -> Compression {
    Compression { plain: headers.plain, encoded: headers.encoded }
}

pub(super) fn server_settings(settings: http2::PeerSettings) -> ServerSettings {
    let http2::PeerSettings { header_table, max_streams, window, max_frame, header_list, .. } = settings;
    ServerSettings { header_table, max_streams, window, max_frame, header_list }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_bounds_replies_as_the_protocols_do_by_default() {
        assert_eq!(reply_limits(&Limits::default()), ReplyLimits::default());
    }
}

//! The section on HTTP/2 or HTTP/3: streams and how they ended, waits, and header compression.

use httperf_stats::{
    AltSvcSummary, BufferSize, Compression, Http2Summary, QuicSummary, ServerSettings, Summary,
};

use crate::figures::Times;
use crate::number::{fixed, ratio, time};
use crate::section::{BothWays, Section, TimesRow};

/// Streams of HTTP/2 or HTTP/3, how they ended, waits, and header compression; `None` unless the plan uses one of them.
///
/// Times are only of calls that had to wait. Sizes are in bytes; those of header fields are means per stream,
/// decompressed (as in the classic report) and on the wire.
pub(crate) fn http2(summary: &Summary) -> Option<Section<'_>> {
    let figures = summary.http2.as_deref()?;
    let (streams_name, bytes_name) = names(figures);
    let mut section = Section::new("http2", figures.protocol())
        .line((streams_name, "Streams"), streams(figures))
        .counts("spoken", &figures.spoken);
    if let Some(figures) = &figures.alt_svc {
        section = section
            .line(("alt-svc", "Alt-Svc"), alt_svc(figures))
            .reasons(("not by QUIC", "Not reached over QUIC"), &figures.failures);
    }
    section = section
        .counts(("resets received", "Reset by the server"), &figures.resets_received)
        .reasons(("resets sent", "Reset by the generator"), &figures.resets_sent)
        .counts(("goaways", "GOAWAYs"), &figures.goaways)
        .reasons(("violations", "Connections ended because of"), &figures.violations)
        .line(("server settings", "Settings of the server"), figures.server_settings.map(describe));
    if let Some(quic) = &figures.quic {
        section = section.line("packets", packets(quic)).line("datagrams", datagrams(quic));
        for (name, long_name, text) in transport_rows(quic) {
            section = section.line((name, long_name), text);
        }
    }
    let about = "of calls that waited at the server's limit on streams";
    let stream_waits = Times::of(&figures.stream_waits);
    let window_waits = Times::of(&figures.window_waits);
    let waits = [
        TimesRow::new("for a stream", "wait for a stream", about, stream_waits),
        TimesRow::new(
            "for a window",
            "wait for a window",
            "of request bodies that waited (flow control)",
            window_waits,
        ),
    ];
    section = section.times("Waits", waits);
    match figures.bytes_sent + figures.bytes_received {
        0 => Some(section),
        _ => {
            Some(section.both_ways(bytes_name, "Header fields of each stream, and all bytes", sizes(figures)))
        }
    }
}

/// Names of the first line and of the table of bytes, as they fit into the first column.
fn names(figures: &Http2Summary) -> (&'static str, &'static str) {
    match (figures.is_mixed(), &figures.quic) {
        (true, _) => ("HTTP/2+3 streams", "HTTP/2+3 [B]"),
        (false, Some(_)) => ("HTTP/3 streams", "HTTP/3 [B]"),
        (false, None) => ("HTTP/2 streams", "HTTP/2 [B]"),
    }
}

/// Header fields, and bytes on the wire.
fn sizes(figures: &Http2Summary) -> [BothWays; 5] {
    let both = [figures.request_headers, figures.reply_headers];
    let each = |bytes: u64| fixed(ratio(bytes as f64, figures.streams as f64), 1);
    let (unit, long_unit) = match (figures.is_mixed(), &figures.quic) {
        (true, _) => ("frames and UDP", "bytes of frames and datagrams"),
        (false, Some(_)) => ("datagrams", "bytes of datagrams"),
        (false, None) => ("frames", "bytes of frames"),
    };
    let bytes = [figures.bytes_sent, figures.bytes_received].map(|bytes| bytes.to_string());
    [
        BothWays::new("fields/stream", "header fields", both.map(|headers| each(headers.plain))),
        BothWays::new("on the wire", "the same on the wire", both.map(|headers| each(headers.encoded))),
        BothWays::new("ratio", "ratio", both.map(ratio_of)),
        BothWays::new("saved", "bytes saved", both.map(|headers| headers.saved().to_string())),
        BothWays::new(unit, long_unit, bytes),
    ]
}

/// What became of offers of HTTP/3 in a line.
fn alt_svc(figures: &AltSvcSummary) -> String {
    let AltSvcSummary { followed, broken, withdrawn, failures, .. } = figures;
    let mut parts = Vec::new();
    if let (Some(seen_ns), Some(port)) = (figures.first_seen_ns, figures.port) {
        parts.push(format!("HTTP/3 at port {port} offered after {}", time(seen_ns as f64 / 1e6)));
    }
    match &figures.obstacle {
        Some(obstacle) => parts.push(format!("not followed: {obstacle}")),
        None if parts.is_empty() && *followed == 0 => {}
        None => {
            parts.push(format!("followed by {followed} connections, {} of them in vain", failures.total()));
        }
    }
    let counted =
        [(broken, "given up"), (withdrawn, "withdrawn")].into_iter().filter(|(count, _)| **count > 0);
    parts.extend(counted.map(|(count, what)| format!("{what} {count}")));
    parts
        .extend(figures.other_host.as_ref().map(|other| format!("{other} is another host and not followed")));
    parts.join("; ")
}

/// Numbers of streams in a line.
fn streams(figures: &Http2Summary) -> String {
    let Http2Summary { streams, concurrent_max, unprocessed, retried, .. } = figures;
    let mean = fixed(figures.concurrent_mean().unwrap_or(0.0), 1);
    format!(
        "opened {streams}, at once on a connection {concurrent_max} at most and {mean} on average, unprocessed \
         {unprocessed}, retried {retried}"
    )
}

/// Packets of QUIC in a line.
fn packets(quic: &QuicSummary) -> String {
    let QuicSummary { packets_sent, packets_lost, bytes_lost, congestion_events, .. } = quic;
    let share = fixed(100.0 * quic.loss().unwrap_or(0.0), 2);
    let rtt = quic
        .rtt_min_ns
        .map_or(String::new(), |rtt| format!(", round trip {} ms at least", fixed(rtt as f64 / 1e6, 3)));
    format!(
        "sent {packets_sent}, lost {packets_lost} ({share} %, {bytes_lost} B), windows reduced {congestion_events} times{rtt}"
    )
}

/// Datagrams of UDP in a line.
fn datagrams(quic: &QuicSummary) -> String {
    let QuicSummary { datagrams_sent, datagrams_received, retries, mtu_max, .. } = quic;
    let (sent, received) = (quic.handshake_datagrams_sent, quic.handshake_datagrams_received);
    format!(
        "sent {datagrams_sent}, received {datagrams_received}; in handshakes {sent} and {received}, Retry {retries}; up \
         to {mtu_max} B each"
    )
}

/// What paths and sockets were like: a name for text, one for pages, and what there is to say. Rows without content are left
/// out.
fn transport_rows(quic: &QuicSummary) -> Vec<(&'static str, &'static str, String)> {
    let QuicSummary { rtt, congestion_window, mtu_probes_sent, mtu_probes_lost, black_holes, .. } = quic;
    let mut rows = Vec::new();
    if let Some(median) = rtt.quantile(0.5) {
        let ms = |seconds: f64| fixed(seconds * 1e3, 3);
        let (median, least, most) = (ms(median.as_secs_f64()), ms(rtt.moments.min()), ms(rtt.moments.max()));
        let text = format!("{median} ms median, {least} to {most} ms (smoothed, at the end)");
        rows.push(("round trip", "Round trip of connections", text));
    }
    if let (Some(median), Some(most)) = (congestion_window.median(), congestion_window.max()) {
        let text = format!("{median} B median, up to {most} B (congestion, at the end)");
        rows.push(("window", "Congestion window of connections", text));
    }
    if !rtt.is_empty() {
        let probes = format!("{mtu_probes_sent} sent, {mtu_probes_lost} lost, black holes {black_holes}");
        rows.push(("MTU probes", "Probes of the MTU", probes));
        let (connections, marks) = (rtt.moments.count(), quic.ecn);
        let confirmed = connections.saturating_sub(quic.ecn_unconfirmed);
        let text = format!(
            "received ECT(0) {}, ECT(1) {}, CE {}; ours confirmed on {confirmed} of {connections}",
            marks.ect0, marks.ect1, marks.ce
        );
        rows.push(("ECN", "ECN", text));
    }
    if let Some(buffers) = quic.buffers {
        let size = |BufferSize { asked, granted }: BufferSize| format!("{granted} of {asked} B");
        let text = format!("receive {}, send {} granted", size(buffers.receive), size(buffers.send));
        rows.push(("buffers", "Buffers of sockets", text));
        let QuicSummary { socket_drops, sends_blocked, .. } = quic;
        let text = format!("dropped {socket_drops} datagrams that arrived, {sends_blocked} sends waited");
        rows.push(("full buffers", "Full buffers", text));
    }
    rows
}

/// Settings of a server in a line.
fn describe(settings: ServerSettings) -> String {
    let ServerSettings { header_table, max_streams, window, max_frame, header_list } = settings;
    let or_any =
        |limit: Option<u32>, unit: &str| limit.map_or("any".to_owned(), |limit| format!("{limit}{unit}"));
    format!(
        "streams {}, window {window} B, frame {max_frame} B, header table {header_table} B, header list {}",
        or_any(max_streams, ""),
        or_any(header_list, " B"),
    )
}

/// Size after compression as a share of the size before.
fn ratio_of(headers: Compression) -> String {
    headers.ratio().map_or_else(|| "n/a".to_owned(), |ratio| fixed(ratio, 3))
}

//! The section on HTTP/2 or HTTP/3: streams and how they ended, waits, and header compression.

use std::fmt::{self, Display};

use httperf_stats::{
    AltSvcSummary, BufferSize, Compression, Http2Summary, QuicSummary, ServerSettings, Summary,
};

use crate::number::{fixed, ratio, time};
use crate::table::{NAME_WIDTH, line, write_reasons, write_tally, write_times, write_times_head};

/// The section `HTTP/2`, or `HTTP/3`, starting with an empty line; empty unless the plan uses one of them.
///
/// Times are formatted as in the section of [`times`](crate::times()), and only of calls that had to wait.
/// Apart from the first line, lines without content are left out. Sizes are in bytes; those of header fields
/// are means per stream, decompressed (as in the classic report) and on the wire.
#[must_use]
pub fn http2(summary: &Summary) -> impl Display + '_ {
    Section { figures: summary.http2.as_deref() }
}

struct Section<'a> {
    figures: Option<&'a Http2Summary>,
}

impl Display for Section<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(figures) = self.figures else { return Ok(()) };
        writeln!(f)?;
        line(f, &format!("{} streams", short_protocol(figures)), streams(figures))?;
        write_tally(f, "spoken", &figures.spoken)?;
        if let Some(figures) = &figures.alt_svc {
            line(f, "alt-svc", alt_svc(figures))?;
            write_reasons(f, "not by QUIC", &figures.failures)?;
        }
        write_tally(f, "resets received", &figures.resets_received)?;
        write_reasons(f, "resets sent", &figures.resets_sent)?;
        write_tally(f, "goaways", &figures.goaways)?;
        write_reasons(f, "violations", &figures.violations)?;
        if let Some(settings) = figures.server_settings {
            line(f, "server settings", describe(settings))?;
        }
        if let Some(quic) = &figures.quic {
            line(f, "packets", packets(quic))?;
            line(f, "datagrams", datagrams(quic))?;
            transport_rows(quic).into_iter().try_for_each(|(name, _, what)| line(f, name, what))?;
        }
        write_waits(f, figures)?;
        write_sizes(f, figures)
    }
}

/// The protocols as they fit into the first column.
fn short_protocol(figures: &Http2Summary) -> &'static str {
    if figures.is_mixed() { "HTTP/2+3" } else { figures.protocol() }
}

/// What became of offers of HTTP/3 in a line.
#[must_use]
pub fn alt_svc(figures: &AltSvcSummary) -> String {
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
#[must_use]
pub fn packets(quic: &QuicSummary) -> String {
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
#[must_use]
pub fn datagrams(quic: &QuicSummary) -> String {
    let QuicSummary { datagrams_sent, datagrams_received, retries, mtu_max, .. } = quic;
    let (sent, received) = (quic.handshake_datagrams_sent, quic.handshake_datagrams_received);
    format!(
        "sent {datagrams_sent}, received {datagrams_received}; in handshakes {sent} and {received}, Retry {retries}; up \
         to {mtu_max} B each"
    )
}

/// What paths and sockets were like: a name for text, one for pages, and what there is to say. Rows without content are left
/// out.
#[must_use]
pub fn transport_rows(quic: &QuicSummary) -> Vec<(&'static str, &'static str, String)> {
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
#[must_use]
pub fn describe(settings: ServerSettings) -> String {
    let ServerSettings { header_table, max_streams, window, max_frame, header_list } = settings;
    let or_any =
        |limit: Option<u32>, unit: &str| limit.map_or("any".to_owned(), |limit| format!("{limit}{unit}"));
    format!(
        "streams {}, window {window} B, frame {max_frame} B, header table {header_table} B, header list {}",
        or_any(max_streams, ""),
        or_any(header_list, " B"),
    )
}

fn write_waits(f: &mut fmt::Formatter<'_>, figures: &Http2Summary) -> fmt::Result {
    let waits = [("for a stream", &figures.stream_waits), ("for a window", &figures.window_waits)];
    if waits.iter().all(|(_, timing)| timing.is_empty()) {
        return Ok(());
    }
    writeln!(f)?;
    write_times_head(f, "Waits")?;
    let mut occurring = waits.into_iter().filter(|(_, timing)| !timing.is_empty());
    occurring.try_for_each(|(name, timing)| write_times(f, name, timing))
}

fn write_sizes(f: &mut fmt::Formatter<'_>, figures: &Http2Summary) -> fmt::Result {
    if figures.bytes_sent == 0 && figures.bytes_received == 0 {
        return Ok(());
    }
    writeln!(
        f,
        "\n{:<NAME_WIDTH$}{:>22}{:>22}",
        format!("{} [B]", short_protocol(figures)),
        "sent",
        "received"
    )?;
    let mut row = |name: &str, [sent, received]: [String; 2]| {
        writeln!(f, "{name:<NAME_WIDTH$}{sent:>22}{received:>22}")
    };
    let both = [figures.request_headers, figures.reply_headers];
    let each = |bytes: u64| fixed(ratio(bytes as f64, figures.streams as f64), 1);
    row("fields/stream", both.map(|headers| each(headers.plain)))?;
    row("on the wire", both.map(|headers| each(headers.encoded)))?;
    row("ratio", both.map(ratio_of))?;
    row("saved", both.map(|headers| headers.saved().to_string()))?;
    let unit = match (figures.is_mixed(), &figures.quic) {
        (true, _) => "frames and UDP",
        (false, Some(_)) => "datagrams",
        (false, None) => "frames",
    };
    row(unit, [figures.bytes_sent, figures.bytes_received].map(|bytes| bytes.to_string()))
}

/// Size after compression as a share of the size before.
#[must_use]
pub fn ratio_of(headers: Compression) -> String {
    headers.ratio().map_or_else(|| "n/a".to_owned(), |ratio| fixed(ratio, 3))
}

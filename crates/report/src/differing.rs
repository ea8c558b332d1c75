//! Differences between two saved plans, field by field.

use serde_json::Value;

/// A field that only one of two plans has, or that differs between them.
pub(crate) struct Field<'a> {
    /// Path of the field, with dots between the names.
    pub(crate) path: String,
    pub(crate) values: [&'a Value; 2],
    /// Both plans call methods of gRPC.
    is_of_rpc: bool,
}

/// Options that set fields of a plan, by prefix of the path. The first match counts.
pub const PLAN_OPTIONS: [(&str, &str); 63] = [
    ("arrivals.deterministic", "--rate"),
    ("arrivals", "--period"),
    ("workload.connections.count", "--num-conns"),
    ("workload.connections.calls", "--num-calls"),
    ("workload.connections.burst", "--burst-length"),
    ("workload.connections.pipeline", "--pipeline"),
    ("workload.connections.think_ns", "--call-pause"),
    ("workload.connections.max_open", "--max-open"),
    ("workload.calls.count", "--num-calls"),
    ("workload.calls.connections", "--concurrency"),
    ("workload.calls.pipeline", "--pipeline"),
    ("workload.sessions", "--wsess"),
    ("uris.prompts.asking.model", "--model"),
    ("uris.prompts.asking.max_tokens", "--max-tokens"),
    ("uris.prompts", "--prompts"),
    ("uris", "--uri"),
    ("request.version", "--http-version"),
    ("request.method", "--method"),
    ("request.host_header", "--no-host-hdr"),
    ("request.extra_headers", "--add-header"),
    ("request.headers", "--header"),
    ("request.body", "--body"),
    ("replies.compressed", "--compressed"),
    ("replies.expect.statuses", "--expect-status"),
    ("replies.expect.size", "--expect-size"),
    ("replies.expect.sha256", "--expect-body-hash"),
    ("timeouts.timeout_ns", "--timeout"),
    ("timeouts.think_timeout_ns", "--think-timeout"),
    ("tls.groups", "--tls-groups"),
    ("tls.ciphers", "--ssl-ciphers"),
    ("tls.resumption", "--tls-resume"),
    ("tls", "--ssl"),
    ("http2.window", "--h2-window"),
    ("http2.connection_window", "--h2-connection-window"),
    ("http2.header_table", "--h2-header-table"),
    ("http2.max_frame", "--h2-max-frame"),
    ("http2.upgrade", "--h2c-upgrade"),
    ("quic.idle_timeout_ns", "--quic-idle-timeout"),
    ("quic.window", "--quic-window"),
    ("quic.stream_window", "--quic-stream-window"),
    ("quic.max_datagram", "--quic-max-datagram"),
    ("quic.congestion", "--quic-congestion"),
    ("quic.qlog", "--qlog"),
    ("proxy", "--proxy"),
    ("sockets.send_buffer", "--send-buffer"),
    ("sockets.recv_buffer", "--recv-buffer"),
    ("sockets.no_delay", "--tcp-nodelay"),
    ("sockets.fast_open", "--tcp-fastopen"),
    ("sockets.traffic_class", "--dscp"),
    ("sockets.close_with_reset", "--close-with-reset"),
    ("sockets.hog", "--hog"),
    ("sockets.sources", "--myaddr"),
    ("runtime_ns", "--duration"),
    ("phases.warmup_ns", "--warmup"),
    ("phases.drain_ns", "--drain"),
    ("until", "--until"),
    ("objectives.all", "--slo"),
    ("recording.detail", "--record"),
    ("recording.split", "--split"),
    ("recording.clock", "--clock"),
    ("recording.kernel_sends", "--kernel-sends"),
    ("threads", "--threads"),
    ("spin", "--spin"),
];

/// Options that set such fields of plans that call methods of gRPC.
const RPC_OPTIONS: [(&str, &str); 2] = [("uris", "--grpc"), ("request.body", "--grpc-data")];

impl Field<'_> {
    /// Name for people: the option that sets the field, or its path if there is none.
    pub(crate) fn name(&self) -> &str {
        let of_rpc = if self.is_of_rpc { &RPC_OPTIONS[..] } else { &[] };
        let option = of_rpc.iter().chain(&PLAN_OPTIONS).find(|(path, _)| self.is_in(path));
        option.map_or(&self.path, |(_, option)| option)
    }

    /// Returns true if this is the field at `path` or lies within it.
    pub(crate) fn is_in(&self, path: &str) -> bool {
        self.path.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }
}

/// Lists the innermost fields that differ.
pub(crate) fn differing<'a>(one: &'a Value, other: &'a Value) -> Vec<Field<'a>> {
    let is_of_rpc = [one, other].iter().all(|plan| plan["replies"]["streams"]["grpc"].is_object());
    let mut found = Vec::new();
    collect(String::new(), [one, other], is_of_rpc, &mut found);
    found
}

fn collect<'a>(path: String, values: [&'a Value; 2], is_of_rpc: bool, found: &mut Vec<Field<'a>>) {
    let [one, other] = values;
    if one == other {
        return;
    }
    if let (Value::Object(own), Value::Object(their)) = (one, other)
        && own.keys().eq(their.keys())
    {
        for (key, value) in own {
            let inner = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            collect(inner, [value, &their[key]], is_of_rpc, found);
        }
        return;
    }
    found.push(Field { path, values, is_of_rpc });
}

/// Truncates long values: it only matters that they differ.
pub(crate) fn shortened(text: &str) -> String {
    const LENGTH: usize = 60;
    match text.char_indices().nth(LENGTH) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_field_has_the_name_of_the_option_that_sets_it() {
        let plan = |body: &str, rpc: bool| {
            let streams =
                if rpc { json!({ "grpc": { "server_streams": false } }) } else { json!({ "grpc": null }) };
            json!({ "request": { "body": body }, "replies": { "streams": streams } })
        };
        let names = |rpc| {
            let plans = [plan("a", rpc), plan("b", rpc)];
            differing(&plans[0], &plans[1]).iter().map(|field| field.name().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!((names(false), names(true)), (vec!["--body".to_owned()], vec!["--grpc-data".to_owned()]));
    }
}

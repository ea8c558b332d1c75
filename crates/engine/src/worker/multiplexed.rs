//! Connections of HTTP/2: how a connection comes to it, and what is different where calls share one without an order.
//!
//! A stream may fail, or be refused, and the connection goes on. A connection may take no further calls and still answer
//! those that it has: then its place is another's, and it is one of its session's `draining` connections until it has
//! none left.

use std::cmp::Reverse;
use std::io;

use httperf_plan::{Arrivals, HttpVersion, Plan, Script, UriSource, Workload};
use httperf_proto::http1;
use httperf_proto::http2::{self, Counts};
use httperf_proto::request::{Request, Scheme};
use httperf_proto::{Awaited, CallId, Engine, Protocol};
use httperf_stats::{Compression, Failure, Http2Summary, Instant, ServerSettings};

use super::connections::{Connection, Stage, at_instant, poll_key};
use super::sessions::retry_pause;
use super::{CallKey, ConnectionKey, SessionKey, Timer, Worker};
use crate::{Network, failure};

/// What engines of HTTP/2 need to know, beside what those of HTTP/1 do.
pub(super) fn options(plan: &Plan, http1: &http1::Options) -> http2::Options {
    let scripted = matches!(
        &plan.workload,
        Workload::Sessions(sessions) if !matches!(sessions.script, Script::Uniform { .. })
    );
    http2::Options {
        streams: http1.pipeline,
        scheme: if plan.tls.is_some() { Scheme::Https } else { Scheme::Http },
        window: plan.http2.window.get(),
        connection_window: plan.http2.connection_window.get(),
        header_table: plan.http2.header_table.get(),
        max_frame: plan.http2.max_frame.get(),
        indexes_targets: matches!(plan.uris, UriSource::Fixed(_)) && !scripted,
        header_blocks: http1.header_blocks,
        bodies: http1.bodies,
        server_timing: http1.server_timing,
        limits: http2::Limits {
            head_size: plan.limits.reply_head_size,
            fields: plan.limits.reply_fields,
            interim_replies: plan.limits.interim_replies,
            ..http2::Limits::default()
        },
    }
}

/// What engines of HTTP/1 need to know: while it is open which protocol a connection will speak, as many calls as may be
/// outstanding over HTTP/2 are too many for HTTP/1.
pub(super) fn undecided(plan: &Plan, options: http1::Options) -> http1::Options {
    let bounds_streams = match &plan.workload {
        Workload::Calls(_) => true,
        Workload::Connections(connections) => connections.pipeline.get() > 1,
        Workload::Sessions(_) => false,
    };
    let is_open = plan.request.version == HttpVersion::Auto;
    let pipeline = if is_open && bounds_streams || plan.http2.upgrade { 1 } else { options.pipeline };
    http1::Options { pipeline, ..options }
}

impl<S> Connection<S> {
    /// A request, as it goes out on this connection.
    pub(super) fn form_of(&self, request: &Request, plan: &Plan, options: &http2::Options) -> Request {
        if plan.http2.upgrade && self.engine.is_in_order() && self.is_new() {
            return http2::asking_for_upgrade(request, options);
        }
        request.clone()
    }
}

impl<N: Network> Worker<'_, '_, N> {
    /// What a new connection begins with.
    pub(super) fn new_engine(&self) -> Engine {
        let is_known = self.plan.request.version == HttpVersion::Http2 && !self.plan.http2.upgrade;
        if is_known { Engine::http2(self.http2) } else { Engine::http1(self.http1) }
    }

    /// Goes by what the server has chosen when TLS was set up. Returns whether the connection can be used.
    pub(super) fn choose_protocol(&mut self, key: ConnectionKey, now: Instant) -> bool {
        let version = self.plan.request.version;
        if !version.may_be_http2() {
            return true;
        }
        let connection = &mut self.connections[key];
        let chosen = connection.secured.as_ref().and_then(|secured| secured.protocol());
        if chosen == Some(b"h2") {
            if version == HttpVersion::Auto {
                let mut engine = Engine::http2(self.http2);
                for call in connection.engine.pending() {
                    let request = self.calls[CallKey::from(call)].request.clone();
                    let submitted = engine.submit(at_instant(now), call, request);
                    submitted.expect("HTTP/2 takes as many calls as HTTP/1");
                }
                connection.engine = engine;
            }
            return true;
        }
        if version == HttpVersion::Auto {
            self.tell_spoken(key, Protocol::Http1, None);
            return true;
        }
        let chosen = chosen.map(|name| String::from_utf8_lossy(name).into_owned());
        let reason = match chosen {
            Some(name) => format!("the server chose {name} (ALPN)"),
            None => "the server chose no protocol (ALPN)".to_owned(),
        };
        self.note_violation(key, reason);
        self.fail(key, Failure::Other, now);
        false
    }

    /// A connection ends because HTTP/2 is not what the server speaks, or as it breaks its rules.
    pub(super) fn note_violation(&mut self, key: ConnectionKey, reason: String) {
        self.recorder.http2(self.due_of(key), |http2| http2.add_violation(reason));
    }

    /// After a failed write, has what is buffered read first: a server may answer before it has the whole request and
    /// close, or say which calls it has not processed. Returns false if the connection should fail at once.
    pub(super) fn hears_out(&mut self, key: ConnectionKey, error: &io::Error) -> bool {
        let connection = &mut self.connections[key];
        let is_closed = connection.stage == Stage::Established && failure::of_io(error) == Failure::Reset;
        if !is_closed {
            return false;
        }
        (connection.is_broken, connection.is_ending) = (true, true);
        if !std::mem::replace(&mut connection.is_unread, true) {
            self.unread.push(key);
        }
        true
    }

    /// A connection fails. A server that closes it without a word may be one that does not know HTTP/2.
    pub(super) fn note_silence(&mut self, key: ConnectionKey, failure: Failure) {
        let connection = &self.connections[key];
        let is_open = connection.stage == Stage::Established && connection.secured.is_none();
        let is_silent = !connection.is_told && connection.engine.protocol() == Protocol::Http2;
        if is_open && is_silent && failure == Failure::Reset {
            self.recorder.http2(self.due_of(key), |http2| {
                // It is no violation, and may have other reasons, unless HTTP/2 is never spoken.
                http2.first_violation.get_or_insert_with(|| "the server closes without a word".to_owned());
            });
        }
    }

    /// The server goes over to HTTP/2, and will answer this call in it.
    pub(super) fn upgrade(&mut self, key: ConnectionKey, call: CallId, now: Instant) {
        let request = self.calls[CallKey::from(call)].request.clone();
        let connection = &mut self.connections[key];
        connection.engine = Engine::upgraded(self.http2, call, request);
        let (session, slot) = (connection.session, connection.slot);
        self.drive_slot(session, slot, now);
    }

    /// Whether any connection may speak HTTP/2: where none does, calls do not pay for it.
    pub(super) fn may_speak_http2(&self) -> bool {
        self.plan.request.version.may_be_http2()
    }

    /// How many bytes a request has, header fields as they are before compression.
    pub(super) fn request_size(&self, key: ConnectionKey, call: CallKey) -> u64 {
        self.connections[key].engine.request_size(&self.calls[call].request)
    }

    /// Tells which protocol is spoken on a connection, once that is clear.
    pub(super) fn tell_protocol(&mut self, key: ConnectionKey) {
        if !self.may_speak_http2() {
            return;
        }
        let Some(connection) = self.connections.get(key) else { return };
        if connection.is_told {
            return;
        }
        let settings = connection.engine.peer_settings();
        if settings.is_some() || !connection.is_new() {
            self.tell_spoken(key, connection.engine.protocol(), settings);
        }
    }

    fn tell_spoken(&mut self, key: ConnectionKey, protocol: Protocol, settings: Option<http2::PeerSettings>) {
        let connection = &mut self.connections[key];
        connection.is_told = true;
        self.recorder.http2(connection.due, |http2| {
            http2.spoken.add(match protocol {
                Protocol::Http1 => "HTTP/1.1",
                Protocol::Http2 => "HTTP/2",
            });
            if http2.server_settings.is_none() {
                http2.server_settings = settings.map(server_settings);
            }
        });
    }

    /// Records what calls of a connection had to wait for.
    pub(super) fn note_stalls(&mut self, key: ConnectionKey) {
        if !self.may_speak_http2() {
            return;
        }
        let Some(connection) = self.connections.get_mut(key) else { return };
        while let Some(stall) = connection.engine.poll_stall() {
            let Some(call) = self.calls.get_mut(CallKey::from(stall.call)) else { continue };
            let intended = call.intended;
            match stall.what {
                Awaited::Stream => self.recorder.http2(intended, |http2| http2.stream_waits.add(stall.time)),
                Awaited::Window => {
                    call.stalled += stall.time;
                    self.recorder.http2(intended, |http2| http2.window_waits.add(stall.time));
                }
            }
        }
    }

    /// The server has not processed a call: makes it again.
    pub(super) fn return_call(&mut self, key: ConnectionKey, call_key: CallKey, now: Instant) {
        self.note_stalls(key);
        let connection = &self.connections[key];
        let (session, slot) = (connection.session, connection.slot);
        let is_draining = connection.engine.capacity() == 0;
        let was_sent = self.calls[call_key].is_sent();
        self.reset_call(call_key, now);
        if matches!(self.plan.workload, Workload::Connections(_)) && is_draining {
            // It goes to another connection once this one is gone, or is not made.
            if self.makes_calls_again() {
                let intended = self.calls[call_key].intended;
                self.recorder.http2(intended, |http2| http2.retried += u64::from(was_sent));
            }
            self.sessions[session].slots[slot].queue.push_back(call_key);
            return;
        }
        let intended = self.calls[call_key].intended;
        if self.try_again(session, slot, call_key, now) {
            self.recorder.http2(intended, |http2| http2.retried += u64::from(was_sent));
        } else {
            self.fail_call(key, call_key, Failure::Reset, now);
        }
    }

    /// Makes a call again, at once if it is the first time, and later each time after. Returns whether it may be.
    fn try_again(&mut self, session: SessionKey, slot: usize, call_key: CallKey, now: Instant) -> bool {
        let call = &mut self.calls[call_key];
        call.attempts += 1;
        let attempts = call.attempts;
        if attempts > self.plan.limits.retries {
            return false;
        }
        let pause = retry_pause(&self.plan.limits, attempts);
        if pause.is_zero() {
            self.make_again(session, slot, call_key, now);
        } else {
            self.sessions[session].pausing.push(call_key);
            self.timers.push(Reverse((now + pause, Timer::Again(session, slot as u32, call_key))));
        }
        true
    }

    /// The pause before another attempt is over, if the call is still to be made.
    pub(super) fn end_pause(&mut self, session: SessionKey, slot: usize, call: CallKey, now: Instant) {
        if let Some(going_on) = self.sessions.get_mut(session)
            && let Some(place) = going_on.pausing.iter().position(|&pausing| pausing == call)
        {
            going_on.pausing.swap_remove(place);
            self.make_again(session, slot, call, now);
        }
    }

    fn make_again(&mut self, session: SessionKey, slot: usize, call: CallKey, now: Instant) {
        self.sessions[session].slots[slot].queue.push_back(call);
        self.drive_slot(session, slot, now);
    }

    /// A call failed, and its connection goes on.
    pub(super) fn fail_call(&mut self, key: ConnectionKey, call: CallKey, failure: Failure, now: Instant) {
        self.note_stalls(key);
        self.recorder.failed(self.calls[call].intended, failure);
        let connection = &self.connections[key];
        let (session, slot) = (connection.session, connection.slot);
        match &self.plan.workload {
            Workload::Calls(_) => self.give_up_call(session, call, now),
            Workload::Connections(_) => {
                self.abandon_call(call, now);
                self.go_on(session, slot, now);
            }
            Workload::Sessions(sessions) if sessions.retry_on_failure => {
                self.reset_call(call, now);
                if !self.try_again(session, slot, call, now) {
                    self.recorder.retries_exhausted(self.sessions[session].ready_at);
                    self.abandon_call(call, now);
                    self.end_session(session, false, now);
                }
            }
            Workload::Sessions(_) => {
                self.abandon_call(call, now);
                self.end_session(session, false, now);
            }
        }
    }

    /// A connection takes no further calls, and still answers those that it has.
    pub(super) fn let_drain(&mut self, key: ConnectionKey, now: Instant) {
        if matches!(self.plan.workload, Workload::Connections(_)) {
            return;
        }
        let connection = &self.connections[key];
        let (session_key, slot) = (connection.session, connection.slot);
        let session = &mut self.sessions[session_key];
        if session.slots[slot].connection == Some(key) {
            session.slots[slot].connection = None;
            session.draining.push(key);
        }
        self.drive_slot(session_key, slot, now);
    }

    /// The time limit of a connection's calls may be over. Gives up those of which it is, if calls are due by themselves or
    /// in a closed loop, and the server goes on talking. Returns whether that is all there is to do.
    pub(super) fn cancel_expired(&mut self, key: ConnectionKey, now: Instant) -> bool {
        let connection = &self.connections[key];
        if connection.engine.is_in_order() || connection.stage != Stage::Established {
            return false;
        }
        let (mut expired, mut next, mut is_silent) = (Vec::new(), None, false);
        for call_key in connection.engine.pending().into_iter().map(CallKey::from) {
            let call = &self.calls[call_key];
            let since = if call.is_sent() { connection.progress } else { call.submitted };
            let to_be_written = self.plan.timeouts.timeout.map(|limit| since + limit);
            let Some(deadline) = call.deadline.or(to_be_written) else { continue };
            if deadline > now {
                next = Some(next.map_or(deadline, |next: Instant| next.min(deadline)));
            } else {
                is_silent |= connection.heard < call.sent.unwrap_or(call.submitted);
                expired.push(call_key);
            }
        }
        let are_alone = self.pool.is_some() || matches!(self.plan.arrivals, Arrivals::Concurrent(_));
        if !expired.is_empty() && (!are_alone || is_silent) {
            return false;
        }
        self.deadlines.set(poll_key(key), next);
        for &call in &expired {
            // What became of one may have ended the connection, and with it the others.
            let Some(connection) = self.connections.get_mut(key) else { break };
            let is_cancelled = connection.engine.cancel(at_instant(now), call.into());
            debug_assert!(is_cancelled, "replies do not come in order");
            self.fail_call(key, call, Failure::ClientTimeout, now);
        }
        if !expired.is_empty() {
            self.flush(key, now);
        }
        if let Some(connection) = self.connections.get(key)
            && connection.engine.is_draining()
            && connection.engine.pending_count() == 0
        {
            self.lose_idle(key, now);
        }
        true
    }

    /// Says on a connection in the clear that is about to be closed that nothing more comes, or what was wrong.
    pub(super) fn say_last(&mut self, key: ConnectionKey) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        if connection.stage != Stage::Established {
            return;
        }
        let last = connection.engine.goodbye();
        if !last.is_empty() {
            // A peer that does not take it does not miss it.
            self.network.write(&connection.socket, [last, &[]]).ok();
        }
    }

    /// Records what happened on a connection so far, in the phase to which this instant belongs.
    pub(super) fn take_counts(&mut self, key: ConnectionKey, at: Instant) {
        if let Some(counts) = self.connections[key].engine.take_counts() {
            self.recorder.http2(at, |http2| add(http2, &counts));
        }
    }

    /// The same for all connections.
    pub(super) fn take_all_counts(&mut self, at: Instant) {
        if self.may_speak_http2() {
            for key in self.connections.keys().collect::<Vec<_>>() {
                self.take_counts(key, at);
            }
        }
    }
}

fn add(summary: &mut Http2Summary, counts: &Counts) {
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
    summary.request_headers += compression(counts.headers_sent);
    summary.reply_headers += compression(counts.headers_received);
    summary.bytes_sent += counts.bytes_sent;
    summary.bytes_received += counts.bytes_received;
}

fn compression(headers: http2::Compressed) -> Compression {
    Compression { plain: headers.plain, encoded: headers.encoded }
}

fn server_settings(settings: http2::PeerSettings) -> ServerSettings {
    let http2::PeerSettings { header_table, max_streams, window, max_frame, header_list } = settings;
    ServerSettings { header_table, max_streams, window, max_frame, header_list }
}

//! Calls: a request and its reply, from creation to the last byte.

use std::time::Duration;

use httperf_load::page::Scanner;
use httperf_load::requests::{Content, Material};
use httperf_load::visit::Next;
use httperf_plan::{HttpVersion, Plan, Split, UriSource};
use httperf_proto::request::{Request, RequestBody, RequestParts};
use httperf_stats::{Carrier, Instant, Recorder, Sample, SlowDetail, Transport};

use super::inspection::Inspection;
use super::{CallKey, SessionKey, Worker};
use crate::{Network, Observation};

/// One call.
pub(super) struct Call {
    pub(super) session: SessionKey,
    /// When it was due.
    pub(super) intended: Instant,
    /// Its number in order of creation, from 0.
    pub(super) serial: u64,
    pub(super) request: Request,
    pub(super) phase: Phase,
    /// When it was given to the connection on which it is.
    pub(super) submitted: Instant,
    /// When its first byte was last sent, if it was.
    pub(super) sent: Option<Instant>,
    /// The connection on which that was.
    pub(super) carrier: Option<Carrier>,
    /// For how long its body waited for the server's windows there.
    pub(super) stalled: Duration,
    /// What the transport had to say when a connection went on which it was not answered, if it is slow.
    pub(super) transport: Option<Box<Transport>>,
    /// Its request counts as written. One that the server cannot have processed, and that is written again, counts once.
    pub(super) is_written: bool,
    /// When its reply must be complete (or go on, before the status line is): `None` before the request is
    /// written, or without a time limit.
    pub(super) deadline: Option<Instant>,
    /// When its status line must be complete, however it goes on, once it has begun.
    pub(super) status_line_due: Option<Instant>,
    /// Attempts in a row that ended in the failure status, or that the server did not process.
    pub(super) attempts: u32,
    /// Finds the objects in its reply, if that is a page.
    pub(super) scanner: Option<Box<Scanner>>,
    /// What is seen of the body of its reply, if that is looked into.
    pub(super) inspection: Option<Box<Inspection>>,
}

/// How far a call has come on its present connection.
#[derive(Clone, Copy, Debug)]
pub(super) enum Phase {
    /// Nothing of it was sent.
    Waiting,
    /// Its first byte was sent.
    Sent { at: Instant },
    /// The status line of its reply was complete.
    Answering { at: Instant, status: u16 },
}

impl Call {
    /// Whether its first byte was sent, on the connection where it is now.
    pub(super) fn is_sent(&self) -> bool {
        !matches!(self.phase, Phase::Waiting)
    }

    /// The call as it ends now, without a reply.
    pub(super) fn sample(&self, now: Instant) -> Sample<'_> {
        Sample {
            call: self.serial,
            uri: self.request.target(),
            status: None,
            intended: self.intended,
            sent: self.sent,
            stalled: self.stalled,
            first_byte: None,
            done: now,
            header_size: 0,
            content_size: 0,
            footer_size: 0,
            decoded_size: None,
            mismatch: None,
            carrier: self.carrier,
            receive_lag: None,
            kernel: None,
        }
    }

    pub(super) fn is_answering(&self) -> bool {
        matches!(self.phase, Phase::Answering { .. })
    }

    /// Until its status line is complete, its reply has so much time `limit` from now on. A line that has begun has
    /// `line_limit` in all.
    pub(super) fn renew_deadline(&mut self, now: Instant, limit: Option<Duration>, line_limit: u32) {
        let Some(limit) = limit else { return };
        let due = *self.status_line_due.get_or_insert(now + limit.saturating_mul(line_limit));
        self.deadline = Some(due.min(now + limit));
    }
}

impl<N: Network> Worker<'_, '_, N> {
    /// Makes the call that a session's visit asks for next. `None` when the run has no URI left for it.
    pub(super) fn create_call(&mut self, session_key: SessionKey, next: &Next<'_>) -> Option<CallKey> {
        let plan = self.plan;
        let session = &mut self.sessions[session_key];
        let depends_on_uri = session.needs_uris();
        let (target, index, issued) = (session.target, session.index, session.issued);
        session.issued += u64::from(matches!(next, Next::FromSource | Next::Page));
        let template = &plan.request;
        let serial = self.shard.nth(self.serials.calls);
        let tells_uris = !matches!(plan.uris, UriSource::Fixed(_)) && plan.watch.verbose >= 1;
        let mut place = None;
        let Material { method, uri, headers, replaces, body } = match next {
            Next::FromSource | Next::Page => {
                let number = self.numbers.next(index, issued);
                if !depends_on_uri && !tells_uris {
                    // The commonest case by far sends the same bytes every time.
                    place = self.requests.place(number, target);
                    if let Some(place) = place
                        && let Some(request) = &self.kept_requests[place]
                    {
                        let request = request.clone();
                        return Some(self.add_call(session_key, request));
                    }
                }
                self.numbers.material(number, &mut self.requests)?
            }
            Next::Scripted(request) => {
                self.requests.around(serial, &request.method, &request.uri, &request.contents)
            }
            Next::Object(uri) => self.requests.around(serial, b"GET", uri, b""),
        };
        match next {
            Next::FromSource | Next::Page if tells_uris => {
                self.observer.observe(Observation::Accessing { uri });
            }
            Next::Object(uri) if plan.watch.verbose >= 2 => {
                self.observer.observe(Observation::Fetching { uri });
            }
            _ => {}
        }
        if matches!(next, Next::Page) {
            self.sessions[session_key].start_page(uri, plan.limits.page_objects);
        }
        let cookie = match &mut self.sessions[session_key].cookies {
            Some(jar) => jar.header(uri, self.network.wall_clock()),
            None => None,
        };
        let head = RequestParts {
            method,
            uri,
            http10: template.version == HttpVersion::Http10,
            keep_alive: !replaces.connection,
            user_agent: (!replaces.user_agent).then_some(&template.user_agent),
            host: (template.host_header && !replaces.host).then_some(&plan.targets[target].host),
            forward: self.proxied.as_ref().and_then(|proxied| proxied.forward(target)),
            extra_headers: &template.extra_headers,
            headers,
            cookie: cookie.as_deref(),
            body: match body {
                Content::None => RequestBody::None,
                Content::Rendered(bytes) => RequestBody::Copied(bytes),
                Content::Shared(bytes) => RequestBody::Shared(bytes),
            },
        };
        let request = head.request();
        if let Some(place) = place {
            self.kept_requests[place] = Some(request.clone());
        }
        Some(self.add_call(session_key, request))
    }

    fn add_call(&mut self, session: SessionKey, request: Request) -> CallKey {
        let serial = self.shard.nth(self.serials.calls);
        self.serials.calls += 1;
        self.recorder.call_made(self.sessions[session].ready_at);
        self.calls.insert(Call {
            session,
            intended: self.sessions[session].ready_at,
            serial,
            request,
            phase: Phase::Waiting,
            submitted: self.sessions[session].ready_at,
            sent: None,
            carrier: None,
            stalled: Duration::ZERO,
            transport: None,
            is_written: false,
            deadline: None,
            status_line_due: None,
            attempts: 0,
            scanner: None,
            inspection: None,
        })
    }

    /// Gives a call up that will have no reply.
    pub(super) fn abandon_call(&mut self, key: CallKey, now: Instant) {
        let Some(call) = self.calls.remove(key) else { return };
        if call.is_sent() {
            self.recorder.reply_given_up(now);
        }
        let sample = call.sample(now);
        record(&mut self.recorder, self.plan, &sample, || SlowDetail {
            transport: call.transport.as_deref().copied(),
            server_timing: None,
        });
        if self.plan.watch.calls {
            self.observer.observe(Observation::Call { sample: &sample, start: self.start });
        }
    }

    /// Forgets what happened to a call on a connection that is gone: it is made again.
    pub(super) fn reset_call(&mut self, key: CallKey, now: Instant) {
        let call = &mut self.calls[key];
        if call.is_sent() {
            self.recorder.reply_given_up(now);
        }
        call.phase = Phase::Waiting;
        call.stalled = Duration::ZERO;
        call.is_written = false;
        call.deadline = None;
        call.status_line_due = None;
        call.scanner = None;
        call.inspection = None;
    }

    /// Time allowed for a reply from now on.
    pub(super) fn reply_deadline(&self, now: Instant) -> Option<Instant> {
        self.plan.timeouts.reply().map(|limit: Duration| now + limit)
    }
}

/// Records a call that has ended. `detail` is asked only if the call is one of the slowest.
pub(super) fn record(
    recorder: &mut Recorder,
    plan: &Plan,
    sample: &Sample<'_>,
    detail: impl FnOnce() -> SlowDetail,
) {
    match plan.recording.split {
        None => recorder.record(sample, None),
        Some(Split::Uri) => recorder.record(sample, Some(sample.uri)),
        Some(Split::Status) => {
            let status = sample.status.map_or_else(|| "none".to_owned(), |status| status.to_string());
            recorder.record(sample, Some(status.as_bytes()));
        }
    }
    if recorder.is_slow(sample.intended, sample.done) {
        recorder.record_slow(sample, detail());
    }
}

/// Bytes from the server as text; `None` for none.
pub(super) fn text(bytes: &[u8]) -> Option<String> {
    (!bytes.is_empty()).then(|| String::from_utf8_lossy(bytes).into_owned())
}

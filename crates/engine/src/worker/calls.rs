//! Calls: a request and its reply, from creation to the last byte.

use std::rc::Rc;
use std::time::Duration;

use httperf_load::page::Scanner;
use httperf_load::visit::Next;
use httperf_plan::{HttpVersion, UriSource};
use httperf_proto::http1::{Request, RequestHead};
use httperf_stats::Instant;

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
    /// How many of the request's bytes are its body.
    pub(super) contents_size: usize,
    /// Its request target, where something depends on it (cookies, pages).
    pub(super) uri: Option<Rc<[u8]>>,
    pub(super) phase: Phase,
    /// When its first byte was last sent, if it was.
    pub(super) sent: Option<Instant>,
    /// When its reply must be complete (or go on, before the status line is): `None` before the request is
    /// written, or without a time limit.
    pub(super) deadline: Option<Instant>,
    /// Attempts that ended in the failure status, in a row.
    pub(super) attempts: u32,
    /// Finds the objects in its reply, if that is a page.
    pub(super) scanner: Option<Box<Scanner>>,
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
    /// Forgets what happened on a connection that is gone: the call is made again.
    pub(super) fn reset(&mut self) {
        self.phase = Phase::Waiting;
        self.deadline = None;
        self.scanner = None;
    }

    pub(super) fn is_answering(&self) -> bool {
        matches!(self.phase, Phase::Answering { .. })
    }
}

impl<N: Network> Worker<'_, '_, N> {
    /// Makes the call that a session's visit asks for next. `None` when the run has no URI left for it.
    pub(super) fn create_call(&mut self, session_key: SessionKey, next: &Next<'_>) -> Option<CallKey> {
        let plan = self.plan;
        let session = &self.sessions[session_key];
        let keeps_uri = session.needs_uris();
        let target = session.target;
        let template = &plan.request;

        // The commonest case by far sends the same bytes every time.
        let unchanging = matches!(next, Next::FromSource) && !keeps_uri;
        if unchanging && let Some(Some(request)) = self.fixed_requests.get(target) {
            let request = request.clone();
            return Some(self.add_call(session_key, request, 0, None));
        }

        let (method, uri, contents): (&[u8], &[u8], &[u8]) = match next {
            Next::FromSource | Next::Page => (&template.method, self.uris.next()?, b""),
            Next::Scripted(request) => (&request.method, &request.uri, &request.contents),
            Next::Object(uri) => (b"GET", uri, b""),
        };
        let listed = !matches!(plan.uris, UriSource::Fixed(_));
        match next {
            Next::FromSource | Next::Page if listed && plan.watch.verbose >= 1 => {
                self.observer.observe(Observation::Accessing { uri });
            }
            Next::Object(uri) if plan.watch.verbose >= 2 => {
                self.observer.observe(Observation::Fetching { uri });
            }
            _ => {}
        }
        let uri_kept: Option<Rc<[u8]>> = keeps_uri.then(|| Rc::from(uri));
        if matches!(next, Next::Page) {
            self.sessions[session_key].start_page(uri, plan.limits.page_objects);
        }
        let cookie = match &mut self.sessions[session_key].cookies {
            Some(jar) => jar.header(uri, self.network.wall_clock()),
            None => None,
        };
        let head = RequestHead {
            method,
            uri,
            http10: template.version == HttpVersion::Http10,
            user_agent: &template.user_agent,
            host: template.host_header.then_some(plan.targets[target].host.as_str()),
            extra_headers: &template.extra_headers,
            cookie: cookie.as_deref(),
            contents,
        };
        let request = head.request();
        let contents_size = contents.len();
        if unchanging && let Some(cached) = self.fixed_requests.get_mut(target) {
            *cached = Some(request.clone());
        }
        Some(self.add_call(session_key, request, contents_size, uri_kept))
    }

    fn add_call(
        &mut self,
        session: SessionKey,
        request: Request,
        contents_size: usize,
        uri: Option<Rc<[u8]>>,
    ) -> CallKey {
        let serial = self.serials.calls;
        self.serials.calls += 1;
        self.calls.insert(Call {
            session,
            intended: self.sessions[session].ready_at,
            serial,
            request,
            contents_size,
            uri,
            phase: Phase::Waiting,
            sent: None,
            deadline: None,
            attempts: 0,
            scanner: None,
        })
    }

    /// Gives a call up that will have no reply.
    pub(super) fn abandon_call(&mut self, key: CallKey, now: Instant) {
        if let Some(call) = self.calls.remove(key) {
            self.recorder.call_failed(call.intended, call.sent, now);
        }
    }

    /// Time allowed for a reply from now on.
    pub(super) fn reply_deadline(&self, now: Instant) -> Option<Instant> {
        self.plan.timeouts.reply().map(|limit: Duration| now + limit)
    }
}

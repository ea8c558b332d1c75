//! The session workload: each arrival is a user, whose bursts of calls go over connections that replace each other.

use std::num::NonZeroU32;

use httperf_load::page::Link;
use httperf_load::visit::Visit;
use httperf_plan::{Excess, HttpVersion, Plan, Script, Sessions};
use httperf_proto::HeaderBlock;

use super::page::Page;
use crate::worker::connections::{Cx, Owner};
use crate::worker::dispatch::arrivals::Due;
use crate::worker::dispatch::jars::Jars;
use crate::worker::dispatch::numbers::Issued;
use crate::worker::dispatch::policy::{Answered, Dispatch, Loss, Policy, Unit};
use crate::worker::dispatch::scripted::{Follows, Scripted};
use crate::worker::dispatch::session::Session;
use crate::worker::dispatch::source::Asks;
use crate::worker::{CallKey, SessionKey};
use crate::{Network, Observation};

/// Sessions of users.
pub(in crate::worker::dispatch) struct UserSessions<'a> {
    sessions: &'a Sessions,
    /// A connection is closed after each reply: HTTP/1.0 is spoken that way, as by the classic tool.
    closes_after_reply: bool,
}

/// The calls of a user.
pub(in crate::worker::dispatch) struct UserCalls<'a> {
    visit: Visit<'a>,
    issued: Issued,
    page: Option<Box<Page>>,
}

impl<'a> UserSessions<'a> {
    pub(in crate::worker::dispatch) fn new(plan: &Plan, sessions: &'a Sessions) -> Self {
        Self { sessions, closes_after_reply: plan.request.version == HttpVersion::Http10 }
    }
}

impl Asks for UserCalls<'_> {
    fn issued(&mut self) -> &mut Issued {
        &mut self.issued
    }

    fn depends_on_uris(&self) -> bool {
        self.page.is_some()
    }

    fn start_page(&mut self, uri: &[u8], objects_max: usize) {
        if let Some(page) = &mut self.page {
            page.start(uri, objects_max);
        }
    }
}

impl<'a> Follows<'a> for UserCalls<'a> {
    fn visit(&mut self) -> &mut Visit<'a> {
        &mut self.visit
    }
}

impl<'a> Policy<'a> for UserSessions<'a> {
    type Own = UserCalls<'a>;

    const UNIT: Unit = Unit::Session;

    fn bound(&self) -> Option<(NonZeroU32, Excess)> {
        self.sessions.max_open.map(|most| (most, Excess::Waits))
    }

    fn start<N: Network>(dispatch: &mut Dispatch<'a, Self>, arrival: Due, _: bool, cx: &mut Cx<'_, '_, N>) {
        let Due { index, at, .. } = arrival;
        let (plan, sessions) = (dispatch.plan, dispatch.policy.sessions);
        let target = plan.target_of(index);
        let has_pages = matches!(sessions.script, Script::Pages { .. });
        let server = &plan.targets[target];
        let page = || Box::new(Page::new(&server.host, server.port(), plan.tls.is_some()));
        let visit = Visit::new(&plan.workload, index);
        let own = UserCalls { visit, issued: Issued::of(index), page: has_pages.then(page) };
        let jars = Jars::new(sessions.cookies.then_some(plan.limits.cookies));
        let key = dispatch.admit(Session::new(own, target, at, cx.now, jars));
        dispatch.pump(key, cx);
    }

    fn take_head<N: Network>(
        dispatch: &mut Dispatch<'a, Self>,
        key: CallKey,
        head: &HeaderBlock,
        cx: &mut Cx<'_, '_, N>,
    ) {
        let call = cx.run.call(key);
        let session = call.session();
        let Some(page) = &dispatch.sessions[session].own.page else { return };
        let (scanner, links) = page.handle_head(call.request().target(), head.as_bytes());
        if let Some(scanner) = scanner {
            cx.run.scan_reply(key, scanner);
        }
        dispatch.add_objects(session, links, cx);
    }

    fn take_links<N: Network>(
        dispatch: &mut Dispatch<'a, Self>,
        call: CallKey,
        links: Vec<Link>,
        cx: &mut Cx<'_, '_, N>,
    ) {
        let session = cx.run.call(call).session();
        dispatch.add_objects(session, links, cx);
        dispatch.pump(session, cx);
    }

    fn answered<N: Network>(dispatch: &mut Dispatch<'a, Self>, answered: Answered, cx: &mut Cx<'_, '_, N>) {
        let Answered { connection, owner, call, status, is_last } = answered;
        let UserSessions { sessions, closes_after_reply } = dispatch.policy;
        if is_last || closes_after_reply {
            dispatch.retire_unprocessed(connection, owner, cx);
        }
        if sessions.failure_status != Some(status) {
            cx.run.end_call(call, cx.now);
            dispatch.go_on(owner, cx);
        } else if sessions.retry_on_failure {
            dispatch.repeat_call(owner, call, cx);
        } else {
            cx.run.remove_call(call);
            dispatch.end_session(owner.session, false, cx);
        }
    }

    fn resumed<N: Network>(dispatch: &mut Dispatch<'a, Self>, session: SessionKey, cx: &mut Cx<'_, '_, N>) {
        dispatch.end_think(session, cx);
    }

    fn lost<N: Network>(dispatch: &mut Dispatch<'a, Self>, loss: Loss, cx: &mut Cx<'_, '_, N>) {
        let retries = dispatch.policy.sessions.retry_on_failure;
        dispatch.replace_lost(loss, retries, cx);
    }

    fn failed<N: Network>(
        dispatch: &mut Dispatch<'a, Self>,
        owner: Owner,
        call: CallKey,
        cx: &mut Cx<'_, '_, N>,
    ) {
        if dispatch.policy.sessions.retry_on_failure {
            cx.run.reset_call(call, cx.now);
            if dispatch.try_again(owner, call, dispatch.plan.limits.retries, cx).is_ok() {
                return;
            }
            cx.run.recorder.retries_exhausted(dispatch.sessions[owner.session].ready_at);
        }
        cx.run.abandon_call(call, cx.now);
        dispatch.end_session(owner.session, false, cx);
    }
}

impl<'a> Scripted<'a> for UserSessions<'a> {
    fn slots_max(&self) -> usize {
        self.sessions.max_connections.get() as usize
    }

    fn calls_max(&self) -> usize {
        self.sessions.max_piped_calls.get() as usize
    }
}

impl<'a> Dispatch<'a, UserSessions<'a>> {
    /// Adds objects to the page of a session. They are due since they were found; those that are found while others
    /// still wait for room on a connection count with them.
    fn add_objects<N: Network>(&mut self, session: SessionKey, links: Vec<Link>, cx: &mut Cx<'_, '_, N>) {
        let session = &mut self.sessions[session];
        let visit = &mut session.own.visit;
        if !visit.is_ready() {
            session.ready_at = cx.now;
        }
        for link in links {
            match link {
                Link::Local(uri) => visit.add_object(uri),
                Link::Foreign(url) if self.plan.watch.verbose >= 2 => {
                    cx.run.observe(Observation::Ignoring { uri: url.as_bytes() });
                }
                Link::Foreign(_) => {}
            }
        }
    }

    /// Makes a call again whose reply had the failure status.
    fn repeat_call<N: Network>(&mut self, owner: Owner, call: CallKey, cx: &mut Cx<'_, '_, N>) {
        cx.run.repeat_call(call);
        let attempts = cx.run.count_attempt(call);
        if attempts > self.plan.limits.retries {
            cx.run.remove_call(call);
        } else {
            // Its reply is recorded. The next attempt is another call, due when the first was.
            cx.run.call_repeated(call);
            self.sessions[owner.session].slots[owner.slot].queue.push_front(call);
        }
        self.wait_and_retry(owner, attempts, cx);
    }
}

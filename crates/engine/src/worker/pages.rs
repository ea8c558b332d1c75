//! What a reply's header and body mean: cookies and the objects of pages to a session, and what is found in them to the
//! call.

use httperf_load::page::{Link, Objects, Scanner, Site, resolve_location};
use httperf_proto::http1;
use httperf_stats::Instant;

use super::inspection::Inspection;
use super::{CallKey, SessionKey, Worker};
use crate::{Network, Observation};

/// The page a session is at.
pub(super) struct Page {
    site: Site,
    /// The objects known so far; `None` before the first page.
    objects: Option<Objects>,
}

impl Page {
    /// `port`: where the server listens, if it is known by a number. `secure`: over TLS.
    pub(super) fn new(host: &str, port: Option<u16>, secure: bool) -> Self {
        Self { site: Site::new(host, port, secure), objects: None }
    }

    /// Goes to the next page.
    pub(super) fn start(&mut self, uri: &[u8], objects_max: usize) {
        self.objects = Some(Objects::new(&self.site, uri, objects_max));
    }
}

impl<N: Network> Worker<'_, '_, N> {
    pub(super) fn handle_head(&mut self, call_key: CallKey, head: &[u8], now: Instant) {
        let call = &mut self.calls[call_key];
        if self.plan.watch.replies.is_some_and(httperf_plan::Parts::header) {
            self.observer.observe(Observation::ReplyHead { call: call.serial, head });
        }
        if self.plan.replies.reads_bodies() {
            call.inspection = Some(Box::new(Inspection::new(head, self.plan)));
        }
        let session_key = call.session;
        let session = &mut self.sessions[session_key];
        let uri = call.request.target();
        if let Some(jar) = &mut session.cookies {
            let wall_clock = self.network.wall_clock();
            for (_, value) in http1::fields(head).filter(|(name, _)| name.eq_ignore_ascii_case(b"set-cookie"))
            {
                jar.store(value, uri, wall_clock);
            }
        }
        let Some(page) = &session.page else { return };
        let Some(objects) = page.objects.clone() else { return };
        let mut links = Vec::new();
        for (name, value) in http1::fields(head) {
            if name.eq_ignore_ascii_case(b"content-type") && is_html(value) {
                call.scanner = Some(Box::new(Scanner::new(&page.site, uri, &objects)));
            } else if name.eq_ignore_ascii_case(b"location") {
                links.extend(resolve_location(&page.site, uri, value).filter(|link| objects.admit(link)));
            }
        }
        self.add_objects(session_key, links, now);
    }

    pub(super) fn handle_body(&mut self, call_key: CallKey, data: &[u8], now: Instant) {
        let call = &mut self.calls[call_key];
        if self.plan.watch.replies.is_some_and(httperf_plan::Parts::body) {
            self.observer.observe(Observation::ReplyBody { call: call.serial, data });
        }
        if let Some(inspection) = &mut call.inspection {
            inspection.push(data);
        }
        let Some(scanner) = &mut call.scanner else { return };
        scanner.push(data);
        let found = scanner.take_found();
        let session = call.session;
        if !found.is_empty() {
            self.add_objects(session, found, now);
            self.pump(session, now);
        }
    }

    /// Objects are due since they were found; those that are found while others still wait for room on a connection
    /// count with them.
    fn add_objects(&mut self, session: SessionKey, links: Vec<Link>, now: Instant) {
        let session = &mut self.sessions[session];
        if !session.visit.is_ready() {
            session.ready_at = now;
        }
        for link in links {
            match link {
                Link::Local(uri) => session.visit.add_object(uri),
                Link::Foreign(url) if self.plan.watch.verbose >= 2 => {
                    self.observer.observe(Observation::Ignoring { uri: url.as_bytes() });
                }
                Link::Foreign(_) => {}
            }
        }
    }
}

/// Whether a `Content-Type` is HTML, whatever its parameters.
fn is_html(content_type: &[u8]) -> bool {
    let media_type = content_type.split(|&byte| byte == b';').next().unwrap_or_default();
    media_type.trim_ascii().eq_ignore_ascii_case(b"text/html")
}

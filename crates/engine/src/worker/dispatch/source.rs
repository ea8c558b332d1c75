//! The requests of calls: which one a call sends, and the ones that are kept because they never change.

use std::time::SystemTime;

use httperf_load::replay::RecordedRequest;
use httperf_load::requests::{Content, Material, Requests};
use httperf_load::visit::Next;
use httperf_load::websocket::Talk;
use httperf_plan::{HttpVersion, Plan, Shard, UriSource, WebSocket};
use httperf_proto::request::{Forward, Opening, Request, RequestBody, RequestParts};
use httperf_proto::websocket::{Key, Offer};

use super::numbers::{Issued, Numbers};
use super::session::Session;
use crate::Observation;
use crate::worker::run::Run;

/// Makes the requests of a shard.
pub(super) struct Source<'a> {
    requests: Requests<'a>,
    numbers: Numbers,
    /// Requests that never change, at their [places](Requests::place).
    kept: Vec<Option<Request>>,
    forwards: Option<Forwards<'a>>,
    /// The observer is told of the URIs that calls have.
    tells_uris: bool,
}

/// The part of a session whose calls take their requests from the run's source.
pub(super) trait Asks {
    /// Returns the calls that were made for its arrival.
    fn issued(&mut self) -> &mut Issued;

    /// Returns whether anything depends on which URI a call has.
    #[inline]
    fn depends_on_uris(&self) -> bool {
        false
    }

    /// A call fetches a page.
    #[inline]
    fn start_page(&mut self, _uri: &[u8], _objects_max: usize) {}
}

/// The additions with which a proxy passes requests on.
struct Forwards<'a> {
    /// The beginning of the absolute form, for each target.
    origins: Vec<String>,
    authorization: Option<&'a str>,
}

impl<'a> Source<'a> {
    pub(super) fn new(plan: &'a Plan, shard: Shard) -> Self {
        let requests = Requests::new(plan);
        let forwards = plan.proxy.as_ref().filter(|proxy| !proxy.tunnel).map(|proxy| Forwards {
            origins: plan.targets.iter().map(|target| target.proxied_authority().http_origin()).collect(),
            authorization: proxy.authorization.as_deref(),
        });
        Self {
            kept: vec![None; requests.places(plan.targets.len())],
            requests,
            numbers: Numbers::new(plan, shard),
            forwards,
            tells_uris: !matches!(plan.uris, UriSource::Fixed(_)) && plan.watch.verbose >= 1,
        }
    }

    /// Returns whether no request is left for the arrival with this number, if there is one.
    pub(super) fn is_used_up(&self, next_arrival: impl FnOnce() -> Option<u64>) -> bool {
        self.numbers.are_used_up(next_arrival, &self.requests)
    }

    /// Returns the next request of a session. `None` when the run has no URI left for it.
    pub(super) fn next<O: Asks>(
        &mut self,
        next: &Next<'_>,
        session: &mut Session<O>,
        clock: impl FnOnce() -> SystemTime,
        run: &mut Run<'_>,
    ) -> Option<Request> {
        let plan = run.plan;
        let target = session.target;
        let mut place = None;
        let Material { method, uri, headers, replaces, body } = match next {
            Next::FromSource | Next::Page => {
                let number = self.numbers.next(session.own.issued());
                let is_opening = plan.request.websocket.is_some();
                let needs_uri = session.jars.are_used() || session.own.depends_on_uris();
                if !needs_uri && !self.tells_uris && !is_opening {
                    // The commonest case by far sends the same bytes every time.
                    place = self.requests.place(number, target);
                    if let Some(place) = place
                        && let Some(request) = &self.kept[place]
                    {
                        return Some(request.clone());
                    }
                }
                self.numbers.material(number, &mut self.requests)?
            }
            Next::Scripted(request) => {
                self.requests.around(run.next_serial(), &request.method, &request.uri, &request.contents)
            }
            Next::Object(uri) => self.requests.around(run.next_serial(), b"GET", uri, b""),
        };
        match next {
            Next::FromSource | Next::Page if self.tells_uris => run.observe(Observation::Accessing { uri }),
            Next::Object(uri) if plan.watch.verbose >= 2 => run.observe(Observation::Fetching { uri }),
            _ => {}
        }
        if matches!(next, Next::Page) {
            session.own.start_page(uri, plan.limits.page_objects);
        }
        let cookie = session.jars.header(target, uri, clock);
        let material = Material { method, uri, headers, replaces, body };
        let websocket = plan.request.websocket.as_ref().map(|websocket| (websocket, run.next_serial()));
        let request =
            request_of(plan, self.forwards.as_ref(), target, &material, cookie.as_deref(), websocket);
        if let Some(place) = place {
            self.kept[place] = Some(request.clone());
        }
        Some(request)
    }

    /// Makes a recorded request, as the call with this number.
    pub(super) fn recorded_request(
        &mut self,
        plan: &Plan,
        target: usize,
        number: u64,
        request: &RecordedRequest,
        cookie: Option<&[u8]>,
    ) -> Request {
        let material = self.requests.recorded(number, request);
        request_of(plan, self.forwards.as_ref(), target, &material, cookie, None)
    }

    /// Makes the request of a step to a target. `websocket`: what is said on the WebSocket that it opens, and the number
    /// of the call.
    pub(super) fn step_request(
        &self,
        plan: &Plan,
        target: usize,
        material: &Material<'_>,
        cookie: Option<&[u8]>,
        websocket: Option<(&WebSocket, u64)>,
    ) -> Request {
        request_of(plan, self.forwards.as_ref(), target, material, cookie, websocket)
    }
}

/// Makes a request to a target.
fn request_of(
    plan: &Plan,
    forwards: Option<&Forwards<'_>>,
    target: usize,
    material: &Material<'_>,
    cookie: Option<&[u8]>,
    websocket: Option<(&WebSocket, u64)>,
) -> Request {
    let opening = websocket.map(|(websocket, call)| {
        let offer = Offer { deflate: websocket.deflate, protocols: websocket.protocols.clone() };
        (
            Key::new(Talk::new(websocket, plan.client, call).nonce()),
            offer.extensions(),
            offer.protocols.join(", "),
        )
    });
    let Material { method, uri, headers, replaces, body } = *material;
    let template = &plan.request;
    let forward = forwards
        .map(|forwards| Forward { origin: &forwards.origins[target], authorization: forwards.authorization });
    let parts = RequestParts {
        method,
        uri,
        http10: template.version == HttpVersion::Http10,
        keep_alive: !replaces.connection,
        user_agent: (!replaces.user_agent).then_some(&template.user_agent),
        host: (template.host_header && !replaces.host).then_some(&plan.targets[target].host),
        forward,
        extra_headers: &template.extra_headers,
        headers,
        cookie,
        body: match body {
            Content::None => RequestBody::None,
            Content::Rendered(bytes) => RequestBody::Copied(bytes),
            Content::Shared(bytes) => RequestBody::Shared(bytes),
        },
        websocket: opening.as_ref().map(|(key, extensions, protocols)| Opening {
            key: key.as_str(),
            extensions,
            protocols,
        }),
    };
    parts.request()
}

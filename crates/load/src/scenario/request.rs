//! The requests of steps: compiled, and filled in for each call.

use std::rc::Rc;
use std::sync::Arc;
use std::time::SystemTime;

use compact_str::CompactString;
use httperf_plan::scenario::{Scenarios, StepBodyPart, StepRequest};
use httperf_plan::{Header, Plan};

use super::program::Program;
use super::visit::Visit;
use super::{Filling, Judgement, Lack, Look, Malformed, Reply, Text, Unset};
use crate::page::{Link, Site, reference, resolve_location};
use crate::requests::{Content, Fill, Material, Replaced};

/// The requests of steps, by their places in [`Scenarios::requests`].
#[derive(Debug)]
pub(super) struct StepRequests<'p> {
    requests: Vec<CompiledRequest<'p>>,
    /// The servers, for redirects.
    sites: Vec<Site>,
    client: httperf_plan::Client,
}

/// One compiled request.
#[derive(Debug)]
pub(super) struct CompiledRequest<'p> {
    pub(super) source: &'p StepRequest,
    pub(super) look: Look<'p>,
    uri: Text<'p>,
    headers: Vec<(&'p str, Text<'p>)>,
    /// The header fields of the plan that the step does not replace.
    shared: Vec<&'p Header>,
    replaces: Replaced,
    asks_for_coding: bool,
    /// It sends the same bytes each time, unless there are cookies.
    is_unchanging: bool,
    body: Option<Body<'p>>,
}

#[derive(Debug)]
enum Body<'p> {
    /// The same bytes for each call.
    Shared(Rc<Arc<[u8]>>),
    Parts(Vec<Part<'p>>),
}

#[derive(Debug)]
enum Part<'p> {
    Text(Text<'p>),
    File(&'p [u8]),
}

/// A redirect that a step follows.
#[derive(Clone, Debug)]
pub(super) struct Redirect {
    /// The redirect as the server sent it.
    pub(super) location: CompactString,
    /// The place of the server among the plan's targets.
    target: usize,
    uri: Vec<u8>,
    /// The call becomes a GET without a body (RFC 9110, section 15.4).
    becomes_get: bool,
}

/// Memory for the parts of a request, used again for each.
#[derive(Debug, Default)]
pub struct RequestBuffers {
    uri: Vec<u8>,
    lines: Vec<u8>,
    body: Vec<u8>,
}

impl<'p> StepRequests<'p> {
    pub(super) fn new(plan: &'p Plan, scenarios: &'p Scenarios) -> Result<Self, Malformed> {
        let compile = |request: &'p StepRequest| {
            CompiledRequest::new(request, plan).map_err(|malformed| malformed.in_request(&request.origin))
        };
        let site = |target: &httperf_plan::Target| Site::new(&target.host, target.port(), plan.tls.is_some());
        Ok(Self {
            requests: scenarios.requests.iter().map(compile).collect::<Result<_, _>>()?,
            sites: plan.targets.iter().map(site).collect(),
            client: plan.client,
        })
    }

    pub(super) fn get(&self, place: u32) -> &CompiledRequest<'p> {
        &self.requests[place as usize]
    }

    /// Returns the redirect of a reply, if it is one to a server of the plan. `uri`: the request target of the call.
    pub(super) fn redirect(
        &self,
        request: &CompiledRequest<'p>,
        before: Option<&Redirect>,
        uri: &[u8],
        reply: &Reply<'_>,
    ) -> Option<Redirect> {
        if !matches!(reply.status, 301 | 302 | 303 | 307 | 308) {
            return None;
        }
        let mut location: Option<&[u8]> = None;
        (reply.read_values)(reply.head, b"location", &mut |value| location = Some(value));
        let location = location?;
        let target = before.map_or(request.source.target as usize, |redirect| redirect.target);
        let (target, uri) = match resolve_location(&self.sites[target], uri, location)? {
            Link::Local(uri) => (target, uri),
            Link::Foreign(url) => self.sites.iter().enumerate().find_map(|(place, site)| {
                match resolve_location(site, b"/", url.as_bytes())? {
                    Link::Local(uri) => Some((place, uri)),
                    Link::Foreign(_) => None,
                }
            })?,
        };
        let is_get = before.is_some_and(|redirect| redirect.becomes_get);
        let becomes_get = match reply.status {
            303 => true,
            301 | 302 => is_get || request.source.method == "POST",
            _ => is_get,
        };
        Some(Redirect { location: reference(location).into(), target, uri, becomes_get })
    }
}

impl<'p> CompiledRequest<'p> {
    fn new(source: &'p StepRequest, plan: &'p Plan) -> Result<Self, Malformed> {
        let headers = source.headers.iter().map(|header| Ok((&header.name[..], Text::new(&header.value)?)));
        let has = |name: &str| source.headers.iter().any(|header| header.name.eq_ignore_ascii_case(name));
        let shared: Vec<&Header> = plan.request.headers.iter().filter(|header| !has(&header.name)).collect();
        let replaces = |name| has(name) || shared.iter().any(|header| header.is(name));
        let body = source.body.as_deref().map(Body::new).transpose()?;
        let is_unchanging = !source.follows
            && source.uri.as_literal().is_some()
            && source.headers.iter().all(|header| header.value.as_literal().is_some())
            && shared.iter().all(|header| header.value.as_literal().is_some())
            && source.websocket.is_none()
            && !matches!(body, Some(Body::Parts(_)));
        Ok(Self {
            source,
            look: Look::new(source)?,
            uri: Text::new(&source.uri)?,
            headers: headers.collect::<Result<_, _>>()?,
            is_unchanging,
            replaces: Replaced {
                host: replaces("Host"),
                user_agent: replaces("User-Agent"),
                connection: replaces("Connection"),
            },
            asks_for_coding: plan.replies.compressed && !replaces("Accept-Encoding"),
            shared,
            body,
        })
    }
}

impl<'p> Body<'p> {
    fn new(parts: &'p [StepBodyPart]) -> Result<Self, Malformed> {
        let parts = parts.iter().map(|part| {
            Ok(match part {
                StepBodyPart::Text(text) => Part::Text(Text::new(text)?),
                StepBodyPart::File(file) => Part::File(&file.contents),
            })
        });
        let parts = parts.collect::<Result<Vec<Part<'p>>, Malformed>>()?;
        let literals = parts.iter().map(|part| match part {
            Part::Text(text) => text.as_literal(),
            Part::File(contents) => Some(*contents),
        });
        Ok(match literals.collect::<Option<Vec<&[u8]>>>() {
            Some(literals) => Self::Shared(Rc::new(literals.concat().into())),
            None => Self::Parts(parts),
        })
    }
}

impl Program<'_> {
    /// Returns the place, among the plan's targets, of the server for the next call of a visit.
    #[must_use]
    pub fn target(&self, visit: &Visit, request: u32) -> usize {
        visit.redirect().map_or(self.requests.get(request).source.target as usize, |redirect| redirect.target)
    }

    /// Returns the number of checks that a judgement of a visit's last call made, the expected status among them.
    #[must_use]
    pub fn checks_made(&self, visit: &Visit, judgement: &Judgement) -> u64 {
        let Some(request) = visit.request() else { return 0 };
        let source = self.requests.get(request).source;
        let is_whole = !judgement.status_differs && judgement.failed_capture.is_none();
        u64::from(source.status.is_some()) + if is_whole { source.checks.len() as u64 } else { 0 }
    }

    /// Returns true if a request is the same for each call, but for cookies. Whoever has kept it calls
    /// [`Visit::count_call`] in place of [`Program::fill`].
    #[must_use]
    pub fn is_unchanging(&self, request: u32) -> bool {
        self.requests.get(request).is_unchanging
    }

    /// Returns the parts of the reply to this request that must be kept.
    #[must_use]
    pub fn needs(&self, request: u32) -> super::Needs {
        let request = self.requests.get(request);
        let needs = request.look.needs();
        super::Needs { head: needs.head || request.source.follows, ..needs }
    }

    /// Fills in the request of a visit's next call.
    ///
    /// # Errors
    /// The variable that has no value.
    pub fn fill<'a>(
        &'a self,
        visit: &'a mut Visit,
        request: u32,
        now: &mut dyn FnMut() -> SystemTime,
        buffers: &'a mut RequestBuffers,
    ) -> Result<Material<'a>, Unset> {
        let compiled = self.requests.get(request);
        let RequestBuffers { uri, lines, body } = buffers;
        uri.clear();
        lines.clear();
        body.clear();
        let redirect = visit.redirect().cloned();
        let mut common = Fill::of_call(self.requests.client, visit.index(), visit.count_call());
        let mut fill = visit.filling(now);
        match &redirect {
            Some(redirect) => uri.extend_from_slice(&redirect.uri),
            None => compiled.uri.write(&mut fill, uri)?,
        }
        let is_plain_get = redirect.as_ref().is_some_and(|redirect| redirect.becomes_get);
        let is_elsewhere =
            redirect.as_ref().is_some_and(|redirect| redirect.target != compiled.source.target as usize);
        let is_left_out =
            |name: &str| is_plain_get && is_one(name, OF_BODY) || is_elsewhere && is_one(name, OF_SERVER);
        for (name, value) in compiled.headers.iter().filter(|(name, _)| !is_left_out(name)) {
            write_field(name, value, &mut fill, lines)?;
        }
        let mut replaces = compiled.replaces;
        replaces.host &= !(is_elsewhere && compiled.headers.iter().any(|(name, _)| is_one(name, &["Host"])));
        for header in &compiled.shared {
            common.write_line(header, lines);
        }
        if compiled.asks_for_coding {
            lines.extend_from_slice(crate::requests::ACCEPT_ENCODING);
        }
        let content = match &compiled.body {
            _ if is_plain_get => Content::None,
            None => Content::None,
            Some(Body::Shared(bytes)) => Content::Shared(bytes),
            Some(Body::Parts(parts)) => {
                for part in parts {
                    match part {
                        Part::Text(text) => text.write(&mut fill, body)?,
                        Part::File(contents) => body.extend_from_slice(contents),
                    }
                }
                Content::Rendered(body)
            }
        };
        if !complete(uri, visit.shows_names()) {
            let slot = compiled.uri.first_variable().unwrap_or_default();
            return Err(Unset { slot, lack: Lack::Path });
        }
        if compiled.source.follows {
            visit.keep_uri(uri);
        }
        Ok(Material {
            method: if is_plain_get { b"GET" } else { compiled.source.method.as_bytes() },
            uri,
            headers: lines,
            replaces,
            body: content,
        })
    }
}

/// Returns whether a name is one of these, in letters of any case.
fn is_one(name: &str, of: &[&str]) -> bool {
    of.iter().any(|other| name.eq_ignore_ascii_case(other))
}

/// Writes a header field. What a variable brings must not begin another one (RFC 9110, section 5.5).
fn write_field(
    name: &str,
    value: &Text<'_>,
    fill: &mut Filling<'_>,
    lines: &mut Vec<u8>,
) -> Result<(), Unset> {
    lines.extend_from_slice(name.as_bytes());
    lines.extend_from_slice(b": ");
    let start = lines.len();
    value.write(fill, lines)?;
    lines[start..].iter_mut().filter(|byte| matches!(byte, b'\r' | b'\n' | 0)).for_each(|byte| *byte = b' ');
    lines.extend_from_slice(b"\r\n");
    Ok(())
}

/// Completes a request target: a query alone is that of the root, blanks and control characters become `+` (RFC 9112, section
/// 3.2). `shows_names`: a variable stands there by its name, and gets a slash before it. Returns false for any other text that
/// does not begin with a slash.
fn complete(uri: &mut Vec<u8>, shows_names: bool) -> bool {
    match uri.first() {
        Some(b'/') => {}
        None | Some(b'?') => uri.insert(0, b'/'),
        Some(_) if shows_names => uri.insert(0, b'/'),
        Some(_) => return false,
    }
    let is_forbidden = |byte: u8| byte <= b' ' || byte == 0x7f;
    if uri.iter().fold(false, |found, &byte| found | is_forbidden(byte)) {
        uri.iter_mut().filter(|byte| is_forbidden(**byte)).for_each(|byte| *byte = b'+');
    }
    true
}

/// Header fields that a call without the step's body does not have.
const OF_BODY: &[&str] = &["Content-Type"];

/// Header fields of a step that are for its server only: a redirect does not carry them to another.
const OF_SERVER: &[&str] = &["Authorization", "Cookie", "Host"];

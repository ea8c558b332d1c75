//! Headings of a run: its server, its time and its machines.

use httperf_plan::{Plan, Target, UriSource, secrets};

use crate::number::time;
use crate::result::{Document, Part};
use crate::visible::cut;

/// Maximum number of characters of a name.
const NAME_LENGTH: usize = 200;

/// Names that a user gives a page or a picture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// Title in place of the subject, such as the server.
    pub title: Option<String>,
    /// Name of what was measured, such as `before`.
    pub label: Option<String>,
}

impl Names {
    /// Title of a page or picture about this subject.
    #[must_use]
    pub fn title(&self, subject: String) -> String {
        self.title.as_ref().map_or(subject, |title| cut(title, NAME_LENGTH))
    }

    /// Facts below the title: the label, and the subject if the title hides it.
    #[must_use]
    pub fn facts(&self, subject: &str) -> Vec<String> {
        let label = self.label.as_ref().map(|label| cut(label, NAME_LENGTH));
        let hidden = self.title.as_ref().map(|_| subject.to_owned());
        label.into_iter().chain(hidden).collect()
    }
}

/// The server: the first target, with the number of the others.
#[must_use]
pub fn title(plan: &Plan) -> String {
    let first = server(plan, plan.targets.first());
    match plan.targets.len() {
        1 => first,
        servers => format!("{first} and {} more", servers - 1),
    }
}

/// Whole URL of the first target, with the number of the others.
#[must_use]
pub fn url(plan: &Plan) -> String {
    let path = match &plan.uris {
        UriSource::Fixed(uri) => String::from_utf8_lossy(uri),
        UriSource::Prompts(prompts) => {
            String::from_utf8_lossy(prompts.asking.uri.as_literal().unwrap_or_default())
        }
        // One method, called with several messages.
        UriSource::Requests(requests) if plan.replies.streams.grpc.is_some() => {
            String::from_utf8_lossy(requests.first().uri.as_literal().unwrap_or_default())
        }
        // Each call has a path of its own.
        _ => "".into(),
    };
    let target = plan.targets.first();
    let first = match path.strip_prefix('/') {
        Some(_) if path != "/" => {
            format!("{}{}", origin(plan, target, target.host.clone()), secrets::url(&path))
        }
        _ => origin(plan, target, target.host.clone()),
    };
    match plan.targets.len() {
        1 => first,
        servers => format!("{first} and {} more", servers - 1),
    }
}

/// Scheme, host and port of a target, truncated.
#[must_use]
pub fn server(plan: &Plan, target: &Target) -> String {
    origin(plan, target, cut(&target.host, NAME_LENGTH))
}

/// Scheme, host and port of a target whose host is shown as given.
fn origin(plan: &Plan, target: &Target, host: String) -> String {
    let is_websocket = plan.request.websocket.is_some();
    let (scheme, usual_port) = match (is_websocket, plan.tls.is_some()) {
        (false, false) => ("http", 80),
        (false, true) => ("https", 443),
        (true, false) => ("ws", 80),
        (true, true) => ("wss", 443),
    };
    // With `--server` and `--port`, as in the classic tool, `Host` has no port.
    let port = match target.port() {
        Some(port) if port != usual_port => format!(":{port}"),
        Some(_) | None => String::new(),
    };
    let host = if target.host.is_empty() {
        target.endpoint.to_string()
    } else if !port.is_empty() && target.host.ends_with(&port) {
        // In a list of requests, `Host` includes the port.
        host
    } else {
        format!("{host}{port}")
    };
    format!("{scheme}://{host}")
}

/// Time, length and machine of the run.
#[must_use]
pub fn run(document: &Document) -> Vec<String> {
    let mut facts = Vec::new();
    let parts = &document.parts;
    if let Some(first) = parts.first() {
        facts.push(date(&first.started));
    }
    facts.push(format!("{} measured", time(document.figures.duration_s * 1e3)));
    match (&parts[..], &document.fleet) {
        ([], _) => {}
        ([part], _) => facts.push(format!("from {}", host(part))),
        (parts, Some(fleet)) => facts.push(match fleet.missing().len() {
            0 => format!("from {} ranks", fleet.size),
            _ => format!("from {} of {} ranks", parts.len(), fleet.size),
        }),
        (parts, None) => facts.push(format!("{} merged parts", parts.len())),
    }
    facts
}

/// Formats `2026-11-21T07:00:00Z` for people.
#[must_use]
pub fn date(started: &str) -> String {
    match started.strip_suffix('Z').and_then(|local| local.split_once('T')) {
        Some((date, time)) => format!("{date} {time} UTC"),
        None => cut(started, NAME_LENGTH),
    }
}

/// Name of the machine.
#[must_use]
pub fn host(part: &Part) -> String {
    cut(&part.machine.host, NAME_LENGTH)
}

//! Steps that open a WebSocket.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use httperf_hurl as hurl;

use super::document::{At, View};
use super::lower::Lowering;
use super::steps::{Steps, snippet};
use super::values;
use crate::scenario::{Pause, Scenarios, Step, StepBodyPart, StepRequest};
use crate::{Answer, Every, Limits, MESSAGE_SIZE, Payload, Process, WebSocket, WebSocketMessage};

/// Parses the times between messages: `1s`, or `exp(1s)` for exponential ones.
pub(super) fn every(text: &str) -> Option<Every> {
    let (period, process) = match values::pause(text)? {
        Pause::Fixed { length } => (length, Process::Even),
        Pause::Exponential { mean } => (mean, Process::Poisson),
        _ => return None,
    };
    (!period.is_zero()).then_some(Every { period, process })
}

/// Parses a time above 0.
pub(super) fn time(text: &str) -> Option<Duration> {
    values::duration(text).filter(|time| !time.is_zero())
}

impl Steps<'_, '_> {
    /// Returns the step that a table with `ws` stands for.
    pub(super) fn websocket(&mut self, view: &View<'_>, url: &At<&str>, ends: bool) -> Vec<Step> {
        let Some(talk) = self.talk(view) else { return Vec::new() };
        let text = view.text("send").map(|text| self.text(view, &text.at, text.value));
        let Some(place) = u32::try_from(self.requests.list.len()).ok() else { return Vec::new() };
        if self.requests.list.len() >= Scenarios::FIGURES_MAX {
            let message = format!("expected at most {} requests in all files", Scenarios::FIGURES_MAX);
            self.problems.push(view.problem(url.at.clone(), message));
            return Vec::new();
        }
        let Some(request) = self.opening(view, url) else { return Vec::new() };
        let line = view.source.text.get(..view.at().start).unwrap_or_default().matches('\n').count() + 1;
        let origin = format!("{}:{line}", view.source.name);
        let name =
            view.text("name").map_or_else(|| format!("ws {}", url.value), |name| name.value.to_owned());
        let body = match text {
            None => None,
            Some(None) => return Vec::new(),
            Some(Some(text)) => Some(vec![StepBodyPart::Text(text)]),
        };
        self.requests.list.push(StepRequest { name, origin, body, websocket: Some(talk), ..request });
        self.requests.places.push((Arc::clone(view.source), url.at.clone()));
        vec![Step::Call { request: place, ends_on_failure: ends }]
    }

    /// What is said; `None` after a problem with it.
    fn talk(&mut self, view: &View<'_>) -> Option<WebSocket> {
        let count = view.whole("messages").map(|count| count.value);
        let every = view.form("every", every).map(|every| every.value);
        let lasts = view.form("for", time).map(|time| time.value);
        let is_silent = count == Some(0);
        for key in ["send", "size", "expect", "every"] {
            if is_silent && view.has(key) {
                let message = format!("expected no `{key}` beside `messages = 0`, which sends none");
                self.problems.push(view.problem(view.key_at(key), message));
                return None;
            }
        }
        if lasts.is_none() && (is_silent || every.is_some() && count.is_none()) {
            let key = if is_silent { "messages" } else { "every" };
            let beside = if is_silent { "`for`" } else { "`for` or `messages`" };
            let message = format!("expected {beside} beside it, which says when the WebSocket ends");
            self.problems.push(view.problem(view.key_at(key), message));
            return None;
        }
        let size = view.small("size").unwrap_or(MESSAGE_SIZE);
        let most = Limits::default().message_size;
        if size.get() as usize > most {
            let message = format!(
                "expected at most {most} bytes, the largest message that is sent and read, got {size}"
            );
            self.problems.push(view.problem(view.key_at("size"), message));
            return None;
        }
        let payload = Payload::Numbered(size);
        let is_open_ended = every.is_some() || lasts.is_some();
        Some(WebSocket {
            message: (!is_silent).then_some(WebSocketMessage { binary: false, payload }),
            expect: match view.text("expect").map(|expect| expect.value) {
                Some("any") => Answer::Any,
                Some("none") => Answer::Nothing,
                _ => Answer::Echo,
            },
            every,
            messages: match count {
                Some(count) => std::num::NonZeroU64::new(count),
                None if is_open_ended => None,
                None => Some(std::num::NonZeroU64::MIN),
            },
            lasts,
            ping_every: view.form("ping", time).map(|time| time.value),
            ..WebSocket::default()
        })
    }

    /// The request that opens it: a GET of its URL, as a Hurl file would have it.
    fn opening(&mut self, view: &View<'_>, url: &At<&str>) -> Option<StepRequest> {
        let (before, address) = match url.value {
            path if path.starts_with('/') => ("GET {{base}}", path.to_owned()),
            text => match text.strip_prefix("ws") {
                Some(rest) if rest.starts_with("://") || rest.starts_with("s://") => {
                    ("GET ", format!("http{rest}"))
                }
                _ => ("GET ", text.to_owned()),
            },
        };
        let entry = format!("{before}{address}\n");
        let mut snippet = snippet(view, url.at.clone(), url.value, before.len());
        snippet.is_verbatim &= address == url.value;
        let mut requests = super::requests::Requests::new(self.requests.version);
        std::mem::swap(&mut requests.servers, &mut self.requests.servers);
        let mut lowering = Lowering {
            source: view.source,
            snippet: Some(snippet),
            folder: Path::new(""),
            names: self.names,
            library: self.library,
            problems: self.problems,
            has_gap: false,
        };
        match hurl::parse(&entry) {
            Ok(file) => drop(lowering.entries("", &file.entries, &mut requests)),
            Err(errors) => lowering.syntax(errors),
        }
        std::mem::swap(&mut requests.servers, &mut self.requests.servers);
        requests.list.pop()
    }
}

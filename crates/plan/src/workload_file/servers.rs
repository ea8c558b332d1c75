//! URLs of requests: the servers, which must be known before the run, and what is asked of them.

use httperf_hurl as hurl;

use super::check::shortened;
use super::encode::encode;
use super::lower::{Lowering, encoded};
use super::names::Meaning;
use crate::scenario::{Coding, StepText, TextPart};
use crate::url::HttpUrl;

/// The servers found so far, in the order of their numbers.
#[derive(Debug, Default)]
pub(super) struct Servers {
    list: Vec<HttpUrl>,
}

impl Servers {
    /// Returns the number of a server; `None` if its scheme is not that of the others.
    fn number(&mut self, url: &HttpUrl) -> Option<u32> {
        let server = HttpUrl { uri: b"/".to_vec(), ..url.clone() };
        if self.list.first().is_some_and(|first| first.https != server.https) {
            return None;
        }
        let place = self.list.iter().position(|known| *known == server).unwrap_or_else(|| {
            self.list.push(server);
            self.list.len() - 1
        });
        u32::try_from(place).ok()
    }

    pub(super) fn into_list(self) -> Vec<HttpUrl> {
        self.list
    }
}

impl Lowering<'_, '_> {
    /// Returns the number of the server and the request target of a request; `None` after a problem with its URL.
    pub(super) fn url(&mut self, request: &hurl::Request, servers: &mut Servers) -> Option<(u32, StepText)> {
        let text = self.text(&request.url);
        if self.has_gap {
            return None;
        }
        let shown = shortened(&self.written(&request.url.span));
        let (origin, rest) = match split(text) {
            Ok(parts) => parts,
            Err(NoServer::Relative) => {
                let message = format!("expected a URL that begins with http:// or https://, got `{shown}`");
                let hint = "begin it with {{base}}, and set `base` in the workload file or with --base";
                self.problem(&request.url.span, message, Some(hint.to_owned()));
                return None;
            }
            Err(NoServer::Variable) => {
                let message = format!("expected a URL whose server is known before the run, got `{shown}`");
                let hint = match self.with_slash(&request.url) {
                    Some(better) => format!("a slash ends the name of the server: `{better}`"),
                    None => {
                        "only constants may name a server: `base`, `[variables]` and --variable".to_owned()
                    }
                };
                self.problem(&request.url.span, message, Some(hint));
                return None;
            }
        };
        let url = match HttpUrl::parse(origin.as_bytes()) {
            Ok(url) => url,
            Err(error) => {
                let message = format!(
                    "expected a URL such as https://host/path ({error}), got `{}`",
                    shortened(&origin)
                );
                let hint =
                    origin.contains('@').then(|| "[BasicAuth] sends a user name and a password".to_owned());
                self.problem(&request.url.span, message, hint);
                return None;
            }
        };
        let Some(target) = servers.number(&url) else {
            let scheme = if url.https { "http" } else { "https" };
            let message =
                format!("expected a URL that begins with {scheme}://, as earlier ones do, got `{shown}`");
            self.problem(&request.url.span, message, None);
            return None;
        };
        let mut uri = encoded(Coding::Url, without_fragment(rest));
        self.add_query(&mut uri, &request.query);
        Some((target, uri))
    }

    /// Returns `{{base}}/{{path}}` for a URL `{{base}}{{path}}`, in which the server is a constant and the path is not;
    /// `None` for any other.
    fn with_slash(&mut self, url: &hurl::Template) -> Option<String> {
        let [hurl::Piece::Expression(base), hurl::Piece::Expression(_), ..] = &url.pieces[..] else {
            return None;
        };
        let hurl::Source::Variable(name) = &base.source else { return None };
        if !base.filters.is_empty() || !matches!(self.names.meaning(name), Some(Meaning::Constant(_))) {
            return None;
        }
        let path = base.span.end..url.span.end;
        Some(shortened(&format!("{}/{}", self.written(&base.span), self.written(&path))))
    }

    /// Appends the parameters of `[Query]`.
    fn add_query(&mut self, uri: &mut StepText, parameters: &[hurl::KeyValue]) {
        let has_query = |part: &TextPart| matches!(part, TextPart::Literal(bytes) if bytes.contains(&b'?'));
        let mut separator = if uri.parts.iter().any(has_query) { b"&" } else { b"?" };
        for parameter in parameters {
            uri.push_literal(separator);
            append(uri, self.encoded(Coding::Query, &parameter.key));
            uri.push_literal(b"=");
            append(uri, self.encoded(Coding::Query, &parameter.value));
            separator = b"&";
        }
    }
}

/// Appends a text to another.
pub(super) fn append(text: &mut StepText, more: StepText) {
    for part in more.parts {
        text.push(part);
    }
}

/// The reason why a URL names no server.
enum NoServer {
    /// It has no scheme.
    Relative,
    /// The server depends on what happens during the run.
    Variable,
}

/// Returns scheme and server of a URL, and what follows, which begins with a slash.
fn split(text: StepText) -> Result<(String, StepText), NoServer> {
    let mut parts = text.parts.into_iter();
    let first = match parts.next() {
        Some(TextPart::Literal(bytes)) => String::from_utf8_lossy(&bytes).into_owned(),
        Some(_) => return Err(NoServer::Variable),
        None => return Err(NoServer::Relative),
    };
    let Some((scheme, after)) = first.split_once("://") else { return Err(NoServer::Relative) };
    if !["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known)) {
        return Err(NoServer::Relative);
    }
    let end = after.find(['/', '\\', '?', '#']);
    if end.is_none() && parts.len() > 0 {
        return Err(NoServer::Variable);
    }
    let (host, path) = after.split_at(end.unwrap_or(after.len()));
    let mut rest = StepText::default();
    rest.push_literal(if path.starts_with('/') { b"" } else { b"/" });
    rest.push_literal(path.as_bytes());
    for part in parts {
        rest.push(part);
    }
    Ok((format!("{scheme}://{host}/"), rest))
}

/// Returns the text before the first `#` of its literals.
fn without_fragment(text: StepText) -> StepText {
    let mut before = StepText::default();
    for part in text.parts {
        match part {
            TextPart::Literal(bytes) => match bytes.iter().position(|&byte| byte == b'#') {
                Some(end) => {
                    before.push_literal(bytes.get(..end).unwrap_or_default());
                    return before;
                }
                None => before.push_literal(&bytes),
            },
            other => before.push(other),
        }
    }
    before
}

/// Returns `user:password` for `Authorization`, encoded as far as it is known.
pub(super) fn credentials(text: StepText) -> StepText {
    let mut value = StepText::literal(b"Basic ");
    match text.as_literal() {
        Some(bytes) => value.push_literal(&encode(Coding::Base64, bytes)),
        None => value.push(TextPart::Encoded { coding: Coding::Base64, text }),
    }
    value
}

//! URLs of requests: the servers, which must be known before the run, and what is asked of them.

use httperf_hurl as hurl;

use super::check::shortened;
use super::encode::encode;
use super::lower::{Lowering, encoded};
use super::problem::Missing;
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
        let begins_with_constant = matches!(request.url.pieces.first(), Some(hurl::Piece::Expression(_)));
        let (origin, rest) = match split(text, begins_with_constant) {
            Ok(parts) => parts,
            Err(NoServer::Relative) => {
                let message = format!("expected a URL that begins with http:// or https://, got `{shown}`");
                let hint = "begin it with {{base}}, and set that: `base` in the workload file";
                self.missing(&request.url.span, message, hint, Missing::Base);
                return None;
            }
            Err(NoServer::Variable) => {
                let message = format!("expected a URL whose server is known before the run, got `{shown}`");
                let hint =
                    "only constants may name a server: `base`, `[variables]` and those given to the run";
                self.problem(&request.url.span, message, Some(hint.to_owned()));
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

/// Returns scheme and server of a URL, and what follows. That begins with a slash, or with a variable: what a reply gives
/// as the path of a resource, such as `Location`, begins with a slash, and any other value ends the visit.
/// `begins_with_constant`: the URL begins with a constant such as `{{base}}`, which ends with the name of the server.
fn split(text: StepText, begins_with_constant: bool) -> Result<(String, StepText), NoServer> {
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
    let follows = parts.as_slice();
    if end.is_none() && !follows.is_empty() && !may_be_path(after, follows, begins_with_constant) {
        return Err(NoServer::Variable);
    }
    let (host, path) = after.split_at(end.unwrap_or(after.len()));
    let mut rest = StepText::default();
    if end.is_some() || follows.is_empty() {
        rest.push_literal(if path.starts_with('/') { b"" } else { b"/" });
    }
    rest.push_literal(path.as_bytes());
    for part in parts {
        rest.push(part);
    }
    Ok((format!("{scheme}://{host}/"), rest))
}

/// Returns true if what follows the name of a server may be a path: a variable, behind which the path goes on or ends. One in
/// the middle of a name, as in `http://shop-{{n}}.example`, is not.
fn may_be_path(host: &str, follows: &[TextPart], begins_with_constant: bool) -> bool {
    let goes_on = match follows.get(1) {
        Some(TextPart::Literal(next)) => {
            next.starts_with(b"/") || next.starts_with(b"?") || next.starts_with(b"#")
        }
        _ => true,
    };
    matches!(follows.first(), Some(TextPart::Variable { .. }))
        && host.ends_with(|last: char| last.is_ascii_alphanumeric() || last == ']')
        && (goes_on || begins_with_constant)
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

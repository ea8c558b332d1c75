//! The one rule that says what is secret, and how it is hidden: in the echo line, in messages, pages and documents.
//!
//! Names decide: what belongs to a name such as `Authorization`, `api_key` or `password` is secret, be it a header field, a
//! parameter of a query, a field of a form or a member of JSON; and so is whatever stands before the `@` of a URL.

use std::borrow::Cow;

use compact_str::CompactString;

use crate::scenario::{Operand, Scenarios, Step, StepBodyPart, StepText, TextPart, Value};
use crate::{
    Body, BodyPart, Header, Payload, Plan, PlanFields, Script, Template, UriSource, WebSocket, Workload,
};

/// Stands for what is hidden.
pub const HIDDEN: &str = "...";

/// The greatest length of a name.
const NAME_MAX: usize = 64;

/// Returns true if what belongs to this name is usually secret.
#[must_use]
pub fn is_secret_name(name: &str) -> bool {
    const PARTS: [&str; 12] = [
        "passw",
        "passphrase",
        "secret",
        "credential",
        "authoriz",
        "authent",
        "cookie",
        "signature",
        "bearer",
        "apikey",
        "accesskey",
        "privatekey",
    ];
    const ENDS: [&str; 5] = ["auth", "key", "token", "session", "sessionid"];
    const WORDS: [&str; 13] =
        ["auth", "authz", "jwt", "key", "token", "pass", "pwd", "pw", "pin", "otp", "sid", "sig", "session"];
    if name.len() > NAME_MAX {
        return false;
    }
    let small = name.to_ascii_lowercase();
    PARTS.iter().any(|part| small.contains(part))
        || ENDS.iter().any(|end| small.ends_with(end))
        || words(name).any(|word| WORDS.contains(&&*word.to_ascii_lowercase()))
}

/// The words of a name such as `X-Api-Key`, `api_key` or `AWSAccessKeyId`.
fn words(name: &str) -> impl Iterator<Item = &str> {
    name.split(|letter: char| !letter.is_alphanumeric()).flat_map(|part| {
        let mut rest = part;
        std::iter::from_fn(move || {
            let mut letters = rest.char_indices().skip(1).peekable();
            let mut before = rest.chars().next()?;
            let end = loop {
                let Some((at, letter)) = letters.next() else { break rest.len() };
                let mut ends_capitals = || letters.peek().is_some_and(|(_, next)| next.is_lowercase());
                if letter.is_uppercase() && (before.is_lowercase() || ends_capitals()) {
                    break at;
                }
                before = letter;
            };
            let (word, others) = rest.split_at(end);
            rest = others;
            Some(word)
        })
    })
}

/// A URL or a path without what is secret: a user with a password, and parameters of secret names.
#[must_use]
pub fn url(text: &str) -> Cow<'_, str> {
    UrlInPieces::default().shown(text)
}

/// A URL that is read piece by piece, between what is filled in.
#[derive(Default)]
struct UrlInPieces {
    /// The query has begun.
    is_query: bool,
    /// The value of a parameter that is secret goes on.
    is_secret: bool,
}

impl UrlInPieces {
    /// Returns the next piece as it may be shown.
    fn shown<'t>(&mut self, piece: &'t str) -> Cow<'t, str> {
        let text = if self.is_query { piece.into() } else { without_user(piece) };
        let (path, query) = match text.split_once('?') {
            _ if self.is_query => ("", &text[..]),
            Some((path, query)) => (&text[..=path.len()], query),
            None => return text,
        };
        self.is_query = true;
        let (query, fragment) = query.split_at(query.find('#').unwrap_or(query.len()));
        let mut shown = path.to_owned();
        for (place, pair) in query.split('&').enumerate() {
            if place > 0 {
                shown.push('&');
                self.is_secret = false;
            }
            let value = match pair.split_once('=') {
                _ if self.is_secret => pair,
                Some((name, value)) if is_secret_name(name) => {
                    shown += &pair[..=name.len()];
                    self.is_secret = true;
                    value
                }
                _ => {
                    shown += pair;
                    continue;
                }
            };
            shown += if value.is_empty() { "" } else { HIDDEN };
        }
        shown += fragment;
        if shown == text { text } else { shown.into() }
    }
}

fn without_user(text: &str) -> Cow<'_, str> {
    let (scheme, rest) = match text.find("://") {
        Some(at) => text.split_at(at + 3),
        None => ("", text),
    };
    let authority = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let at = match rest[..authority].rfind('@') {
        Some(at) if !scheme.is_empty() || rest[..at].contains(':') => Some(at),
        Some(_) => None,
        // A password with a slash that should have been encoded.
        None => {
            let port = rest[..authority].rsplit_once(':').map_or("", |(_, port)| port);
            let is_port = port.bytes().all(|byte| byte.is_ascii_digit());
            if is_port { None } else { rest.rfind('@') }
        }
    };
    match at {
        Some(at) => format!("{scheme}{HIDDEN}{}", &rest[at..]).into(),
        None => text.into(),
    }
}

/// The line of a header field, or several lines, without the values that are secret. A line end may be typed as `\n`.
fn fields(text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        let ends =
            ["\r\n", "\n", "\\r\\n", "\\n"].into_iter().filter_map(|end| Some((rest.find(end)?, end.len())));
        let (length, end) =
            ends.min_by_key(|&(at, length)| (at, usize::MAX - length)).unwrap_or((rest.len(), 0));
        let (line, after) = rest.split_at(length);
        // Whoever forgot the colon has a blank or a sign there.
        let split = line.split_once(':').or_else(|| line.split_once([' ', '\t', '=']));
        match split {
            Some((name, value)) if !value.trim().is_empty() && is_secret_name(name) => {
                let sign = &line[name.len()..=name.len()];
                let sign = if sign == ":" { ": " } else { sign };
                shown += &format!("{name}{sign}{HIDDEN}");
            }
            _ => shown += line,
        }
        shown += &after[..end];
        rest = &after[end..];
    }
    shown
}

/// Returns true if a body names something that is secret.
fn is_secret_body(text: &str) -> bool {
    let is_of_name = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '-';
    let mut rest = text;
    while let Some(start) = rest.find(is_of_name) {
        rest = &rest[start..];
        let length = rest.find(|letter| !is_of_name(letter)).unwrap_or(rest.len());
        let (name, after) = rest.split_at(length);
        let value = after.trim_start_matches(['"', '\'', '\\', ' ']);
        if value.starts_with(['=', ':', '>']) && is_secret_name(name) {
            return true;
        }
        rest = after;
    }
    false
}

/// Part of the value of an option that may be secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// All of it.
    All,
    /// A user with a password, and parameters of secret names.
    Url,
    /// The same, and the one-letter parameters of InfluxDB.
    Influx,
    /// The value of a header field, or of several.
    Fields,
    /// A body; `@` names a file.
    Body,
    /// The text behind `=`, unless that is `@` with the name of a file.
    Pair,
    /// The same, if the name is that of a secret.
    Variable,
    /// Options of its own.
    Options,
}

/// Options whose value may be secret, without their dashes. Those of other tools are here for `httperf like`.
const OPTIONS: [(&str, Kind); 21] = [
    ("bearer", Kind::All),
    ("basic-auth", Kind::All),
    ("header", Kind::Fields),
    ("add-header", Kind::Fields),
    ("proxy", Kind::Url),
    ("otlp", Kind::Url),
    ("influx", Kind::Influx),
    ("base", Kind::Url),
    ("uri", Kind::Url),
    ("form", Kind::Pair),
    ("body", Kind::Body),
    ("grpc-data", Kind::Body),
    ("ws-send", Kind::Body),
    ("variable", Kind::Variable),
    ("a", Kind::Options),
    ("b", Kind::Options),
    ("user", Kind::All),
    ("oauth2-bearer", Kind::All),
    ("proxy-user", Kind::All),
    ("data", Kind::Body),
    ("cookie", Kind::All),
];

/// The kind of an option, or of an abbreviation of it.
fn kind_of(name: &str) -> Option<Kind> {
    let exact = OPTIONS.iter().find(|(option, _)| *option == name);
    // Shorter ones are those of older options.
    let abbreviated = || OPTIONS.iter().find(|(option, _)| name.len() > 2 && option.starts_with(name));
    exact.or_else(abbreviated).map(|&(_, kind)| kind)
}

/// The value of an option as it may be shown. `option` is without its dashes.
#[must_use]
pub fn value(option: &str, value: &str) -> String {
    match kind_of(option) {
        Some(kind) => of_kind(kind, value),
        None => word(value),
    }
}

fn of_kind(kind: Kind, value: &str) -> String {
    let of_pair = |is_secret: &dyn Fn(&str) -> bool| match value.split_once('=') {
        Some((name, text)) if !text.starts_with('@') && is_secret(name) => format!("{name}={HIDDEN}"),
        _ => url(value).into_owned(),
    };
    match kind {
        Kind::All => HIDDEN.to_owned(),
        Kind::Url => url(value).into_owned(),
        Kind::Influx => url(&value.replace("?p=", "?password=").replace("&p=", "&password="))
            .replace(&format!("password={HIDDEN}"), &format!("p={HIDDEN}")),
        Kind::Fields => fields(value),
        Kind::Body if is_secret_body(value) => HIDDEN.to_owned(),
        Kind::Body => value.to_owned(),
        Kind::Pair => of_pair(&|_| true),
        Kind::Variable => of_pair(&is_secret_name),
        Kind::Options => command(&value.split(' ').map(str::to_owned).collect::<Vec<_>>(), true).join(" "),
    }
}

/// A word of a command line as it may be shown, whatever it is: a URL, a header field, or something else.
#[must_use]
pub fn word(text: &str) -> String {
    let shown = url(text).into_owned();
    match shown.split_once(": ") {
        Some((name, _)) if !name.contains(['/', ' ']) => fields(&shown),
        _ => shown,
    }
}

/// A message as it may be shown: without what is secret in the URLs that it names.
#[must_use]
pub fn message(text: &str) -> Cow<'_, str> {
    let may_hold_one = |piece: &str| piece.contains("://") || piece.contains('@') || piece.contains('?');
    if !may_hold_one(text) {
        return Cow::Borrowed(text);
    }
    let ends_piece = |letter: char| letter.is_whitespace() || "`'\"<>(),".contains(letter);
    let pieces = text.split_inclusive(ends_piece).map(|piece| {
        let length = piece.trim_end_matches(ends_piece).len();
        let (piece, end) = piece.split_at(length);
        if may_hold_one(piece) { format!("{}{end}", url(piece)) } else { format!("{piece}{end}") }
    });
    Cow::Owned(pieces.collect())
}

/// Returns true if a text, such as that of a workload file, names something that is secret.
#[must_use]
pub fn mentions_secret(text: &str) -> bool {
    is_secret_body(text)
}

/// The words of a command line as they may be shown, without what is secret.
#[must_use]
pub fn command_line(words: &[String]) -> Vec<String> {
    command(words, false)
}

/// `is_split`: at blanks alone, so that a value may go on in the next words.
fn command(words: &[String], is_split: bool) -> Vec<String> {
    let mut shown: Vec<String> = Vec::with_capacity(words.len());
    let mut awaited: Option<Kind> = None;
    let mut hides_on = false;
    for text in words {
        let is_option = text.starts_with('-');
        // A value may begin with a dash.
        if let Some(kind) = awaited.take() {
            shown.push(if is_split { HIDDEN.to_owned() } else { of_kind(kind, text) });
            hides_on = is_split;
            continue;
        }
        let Some(option) = text.strip_prefix("--") else {
            awaited = match &text[..] {
                // As curl has them.
                "-u" => Some(Kind::All),
                "-H" => Some(Kind::Fields),
                "-d" => Some(Kind::Body),
                _ => None,
            };
            shown.push(if hides_on && !is_option { HIDDEN.to_owned() } else { word(text) });
            continue;
        };
        hides_on = false;
        match option.split_once('=') {
            Some((name, given)) => {
                let hidden = is_split && kind_of(name).is_some();
                hides_on = hidden;
                let given = if hidden { HIDDEN.to_owned() } else { value(name, given) };
                shown.push(format!("--{name}={given}"));
            }
            None => {
                awaited = kind_of(option);
                shown.push(text.clone());
            }
        }
    }
    shown
}

impl Plan {
    /// Returns the plan as it may be shown, without what is secret in it; `None` if nothing is.
    #[must_use]
    pub fn without_secrets(&self) -> Option<Self> {
        let mut fields = self.clone().into_fields();
        let mut hiding = Hiding::default();
        hiding.plan(&mut fields);
        fields.secrets_left_out |= hiding.found;
        // Nothing that is hidden has a say in whether a plan is one. If something had, it would still not be shown.
        hiding.found.then(|| Self::of_checked(fields))
    }
}

fn hidden_body() -> Body {
    Body::text(Template::literal(HIDDEN.as_bytes()))
}

/// Hides what is secret in a plan.
#[derive(Default)]
struct Hiding {
    found: bool,
}

impl Hiding {
    fn plan(&mut self, plan: &mut PlanFields) {
        let request = &mut plan.request;
        self.lines(&mut request.extra_headers);
        let is_form = |header: &Header| {
            header.is("Content-Type") && String::from_utf8_lossy(&header.value.typed()).contains("form")
        };
        let sends_form = request.headers.iter().any(is_form);
        request.headers.iter_mut().for_each(|header| self.header(header));
        request.body.iter_mut().for_each(|body| self.body(body, sends_form));
        request.websocket.iter_mut().for_each(|websocket| self.websocket(websocket));
        if let Some(authorization) = plan.proxy.as_mut().and_then(|proxy| proxy.authorization.as_mut()) {
            HIDDEN.clone_into(authorization);
            self.found = true;
        }
        match &mut plan.uris {
            UriSource::Fixed(uri) => self.uri(uri),
            UriSource::List { uris, .. } => uris.iter_mut().for_each(|uri| self.uri(uri)),
            UriSource::WorkingSet(set) => self.uri(&mut set.prefix),
            UriSource::Template(uri) => self.template(uri),
            UriSource::Requests(requests) => {
                for request in requests.iter_mut() {
                    self.template(&mut request.uri);
                    request.headers.iter_mut().for_each(|header| self.header(header));
                    request.body.iter_mut().for_each(|body| self.body(body, false));
                }
            }
            UriSource::Prompts(prompts) => self.template(&mut prompts.asking.uri),
        }
        match &mut plan.workload {
            Workload::Connections(_) | Workload::Calls(_) | Workload::Replay(_) => {}
            Workload::Sessions(sessions) => {
                if let Script::File(sessions) = &mut sessions.script {
                    let bursts = sessions.iter_mut().flat_map(|session| session.bursts.iter_mut());
                    for request in bursts.flat_map(|burst| burst.requests.iter_mut()) {
                        self.uri(&mut request.uri);
                        self.bytes(&mut request.contents);
                    }
                }
            }
            Workload::Scenarios(scenarios) => self.scenarios(scenarios),
        }
    }

    fn scenarios(&mut self, scenarios: &mut Scenarios) {
        for request in &mut scenarios.requests {
            self.step_text(&mut request.uri, &mut UrlInPieces::default());
            for header in request.headers.iter_mut().filter(|header| is_secret_name(&header.name)) {
                self.step_value(&mut header.value);
            }
            for part in request.body.iter_mut().flatten() {
                if let StepBodyPart::Text(text) = part
                    && is_secret_body(&literals(text))
                {
                    self.step_value(text);
                }
            }
            request.websocket.iter_mut().for_each(|websocket| self.websocket(websocket));
        }
        let names: Vec<bool> =
            scenarios.variables.iter().map(|variable| is_secret_name(&variable.name)).collect();
        for variable in scenarios.variables.iter_mut().filter(|variable| is_secret_name(&variable.name)) {
            if let Some(initial) = &mut variable.initial {
                *initial = hidden_value();
                self.found = true;
            }
        }
        scenarios.scenarios.iter_mut().for_each(|scenario| self.steps(&mut scenario.steps, &names));
    }

    fn steps(&mut self, steps: &mut [Step], names: &[bool]) {
        for step in steps {
            match step {
                Step::Set { slot, value } if names.get(*slot as usize) == Some(&true) => {
                    *value = Operand::Value(hidden_value());
                    self.found = true;
                }
                Step::Call { .. } | Step::Think(_) | Step::Set { .. } | Step::Row(_) => {}
                Step::Repeat { steps, .. } | Step::While { steps, .. } => self.steps(steps, names),
                Step::Choose(choices) => {
                    choices.iter_mut().for_each(|choice| self.steps(&mut choice.steps, names));
                }
                Step::If { then, otherwise, .. } => {
                    self.steps(then, names);
                    self.steps(otherwise, names);
                }
            }
        }
    }

    fn lines(&mut self, lines: &mut Vec<u8>) {
        let Ok(text) = std::str::from_utf8(lines) else { return };
        let shown = fields(text);
        if shown != text {
            *lines = shown.into_bytes();
            self.found = true;
        }
    }

    fn header(&mut self, header: &mut Header) {
        if is_secret_name(&header.name) {
            header.value = Template::literal(HIDDEN.as_bytes());
            self.found = true;
        }
    }

    fn body(&mut self, body: &mut Body, is_form: bool) {
        let is_secret = |part: &BodyPart| match part {
            BodyPart::Text(text) => is_form || is_secret_body(&String::from_utf8_lossy(&text.typed())),
            BodyPart::File(_) => false,
        };
        if body.parts.iter().any(is_secret) {
            *body = hidden_body();
            self.found = true;
        }
    }

    fn websocket(&mut self, websocket: &mut WebSocket) {
        if let Some(message) = &mut websocket.message
            && let Payload::Text(text) = &mut message.payload
            && is_secret_body(&String::from_utf8_lossy(&text.typed()))
        {
            *text = Template::literal(HIDDEN.as_bytes());
            self.found = true;
        }
    }

    fn bytes(&mut self, contents: &mut Vec<u8>) {
        if is_secret_body(&String::from_utf8_lossy(contents)) {
            *contents = HIDDEN.into();
            self.found = true;
        }
    }

    fn uri(&mut self, uri: &mut Vec<u8>) {
        self.piece(uri, &mut UrlInPieces::default());
    }

    /// Hides what is secret in the next piece of a URL.
    fn piece(&mut self, piece: &mut Vec<u8>, url: &mut UrlInPieces) {
        let Ok(text) = std::str::from_utf8(piece) else { return };
        if let Cow::Owned(shown) = url.shown(text) {
            *piece = shown.into_bytes();
            self.found = true;
        }
    }

    fn template(&mut self, template: &mut Template) {
        let mut url = UrlInPieces::default();
        let shown = template.map_literals(|bytes| {
            let mut piece = bytes.to_vec();
            Self::default().piece(&mut piece, &mut url);
            piece
        });
        self.found |= shown != *template;
        *template = shown;
    }

    fn step_text(&mut self, text: &mut StepText, url: &mut UrlInPieces) {
        for part in &mut text.parts {
            match part {
                TextPart::Literal(piece) => self.piece(piece, url),
                TextPart::Encoded { text, .. } => self.step_text(text, url),
                TextPart::Variable { .. } | TextPart::Pick(_) | TextPart::Uuid | TextPart::Date => {}
            }
        }
    }

    /// A value that is secret, unless all of it is filled in.
    fn step_value(&mut self, text: &mut StepText) {
        if !literals(text).is_empty() {
            *text = StepText::literal(HIDDEN.as_bytes());
            self.found = true;
        }
    }
}

fn hidden_value() -> Value {
    Value::Text(CompactString::const_new(HIDDEN))
}

/// The literals of a text, one behind the other.
fn literals(text: &StepText) -> String {
    let parts = text.parts.iter().map(|part| match part {
        TextPart::Literal(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        TextPart::Encoded { text, .. } => literals(text),
        TextPart::Pick(choices) => String::from_utf8_lossy(&choices.join(&b' ')).into_owned(),
        TextPart::Variable { .. } | TextPart::Uuid | TextPart::Date => String::new(),
    });
    parts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Connections, Endpoint, RequestTemplate, Target};

    #[test]
    fn names_tell_what_is_secret() {
        for name in [
            "Authorization",
            "Proxy-Authorization",
            "Cookie",
            "X-Api-Key",
            "x-auth-token",
            "PRIVATE-TOKEN",
            "apikey",
            "api_key",
            "AWSAccessKeyId",
            "X-Amz-Signature",
            "client_secret",
            "password",
            "passwd",
            "access_token",
            "accessToken",
            "sig",
            "Ocp-Apim-Subscription-Key",
            "sessionid",
            "pw",
        ] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in ["Accept", "max_tokens", "author", "keyword", "keepalive", "page", "design", "User-Agent"]
        {
            assert!(!is_secret_name(name), "{name}");
        }
    }

    #[test]
    fn a_url_of_which_pieces_are_filled_in_is_shown_without_secrets() {
        let shown = |pieces: &[&str]| {
            let mut url = UrlInPieces::default();
            pieces.iter().map(|piece| url.shown(piece).into_owned()).collect::<Vec<_>>()
        };
        assert_eq!(shown(&["/s?q=", "&api_key=S3&x=1", "y"]), ["/s?q=", "&api_key=...&x=1", "y"]);
        assert_eq!(shown(&["/s", "/a?token=S3", "S3&x=", "#f"]), ["/s", "/a?token=...", "...&x=", "#f"]);
        assert_eq!(shown(&["http://u:S3@h/?token=", "&pin=S3"]), ["http://...@h/?token=", "&pin=..."]);
        assert_eq!(shown(&["/s?a=1", "&b=2"]), ["/s?a=1", "&b=2"]);
    }

    #[test]
    fn urls_are_shown_without_users_and_secret_parameters() {
        for (text, shown) in [
            ("http://bob:S3@h:1/", "http://...@h:1/"),
            ("http://S3@h/", "http://...@h/"),
            ("bob:S3@h:80/x", "...@h:80/x"),
            ("http://bob:S3/x@h/", "http://...@h/"),
            ("http://bob:S#3?x@h/", "http://...@h/"),
            ("/a?token=S3&x=1&api_key=S3#f", "/a?token=...&x=1&api_key=...#f"),
            ("http://h:80/a?mail=a@b", "http://h:80/a?mail=a@b"),
            ("a@b", "a@b"),
            ("/a?token=", "/a?token="),
        ] {
            assert_eq!(url(text), shown, "{text}");
        }
    }

    #[test]
    fn a_command_line_is_shown_without_secrets() {
        let cases: [(&[&str], &[&str]); 17] = [
            (&["--bearer", "S3"], &["--bearer", "..."]),
            (&["--bear=S3"], &["--bear=..."]),
            (&["--basic-auth=bob:S3"], &["--basic-auth=..."]),
            (&["--header", "X-Api-Key: S3"], &["--header", "X-Api-Key: ..."]),
            (&["--header=Accept: */*"], &["--header=Accept: */*"]),
            (&["--header=Authorization S3"], &["--header=Authorization ..."]),
            (
                &["--add-header=A: b\\nAuthorization: Bearer S3\\n"],
                &["--add-header=A: b\\nAuthorization: ...\\n"],
            ),
            (&["--otlp", "http://u:S3@h/"], &["--otlp", "http://...@h/"]),
            (&["--influx=http://h/write?db=x&u=me&p=S3"], &["--influx=http://h/write?db=x&u=me&p=..."]),
            (&["--form", "pin=S3", "--form", "f=@file"], &["--form", "pin=...", "--form", "f=@file"]),
            (&["--body", "{\"password\": \"S3\"}"], &["--body", "..."]),
            (&["--body", "{\"stream\":true}"], &["--body", "{\"stream\":true}"]),
            (
                &["--variable", "token=S3", "--variable", "n=1"],
                &["--variable", "token=...", "--variable", "n=1"],
            ),
            (&["http://h/?key=S3", "--rate", "5"], &["http://h/?key=...", "--rate", "5"]),
            (&["--a", "--bearer S3 --rate 1"], &["--a", "--bearer ... --rate 1"]),
            (&["--b=--header 'Cookie: a=S3 b' -n"], &["--b=--header ... ... ... -n"]),
            (
                &["like", "curl", "-u", "bob:S3", "-H", "Cookie: S3"],
                &["like", "curl", "-u", "...", "-H", "Cookie: ..."],
            ),
        ];
        for (typed, shown) in cases {
            let typed: Vec<String> = typed.iter().map(|&word| word.to_owned()).collect();
            assert_eq!(command_line(&typed), shown);
            assert_eq!(command_line(&command_line(&typed)), shown, "twice is as once");
        }
    }

    #[test]
    fn messages_are_shown_without_the_users_of_urls() {
        for (text, shown) in [
            ("got `http://bob:S3@h/` (it has a user)", "got `http://...@h/` (it has a user)"),
            ("no reply from http://h/?token=S3, at all", "no reply from http://h/?token=..., at all"),
            ("did you mean http://h/?", "did you mean http://h/?"),
            ("a rate of 5/s", "a rate of 5/s"),
        ] {
            assert_eq!(message(text), shown);
        }
    }

    #[test]
    fn a_plan_is_shown_without_secrets() {
        let target = Target::direct("h", None, Endpoint::Tcp(([127, 0, 0, 1], 80).into()));
        let plan = Plan::builder(target, Workload::Connections(Connections::new(1, 1)));
        assert!(plan.clone().build().unwrap().without_secrets().is_none());
        let header = |name: &str| Header::new(name.as_bytes(), b"S3").unwrap();
        let request = RequestTemplate {
            headers: vec![header("Accept"), header("X-Api-Key")],
            extra_headers: b"Cookie: S3\r\n".to_vec(),
            body: Some(Body::text(Template::literal(b"password=S3"))),
            ..RequestTemplate::default()
        };
        let plan = plan.request(request).uris(UriSource::Fixed(b"/?token=S3&x=1".to_vec())).build().unwrap();
        let shown = plan.without_secrets().unwrap();
        let json = serde_json::to_string(&shown).unwrap();
        assert!(shown.secrets_left_out && json.matches("S3").count() == 1, "{json}");
        assert!(json.contains("/?token=...&x=1") && json.contains("Cookie: ..."), "{json}");
    }
}

//! The opening handshake (RFC 6455, section 4; RFC 8441 over HTTP/2).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use boring::sha::sha1;
use thiserror::Error;

use super::Deflate;
use crate::list::{elements, has_word};

/// The text that a key is hashed with.
const GUID: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

const DEFLATE: &str = "permessage-deflate";

/// The value of `Sec-WebSocket-Key`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    /// Makes a key of a nonce.
    #[must_use]
    pub fn new(nonce: [u8; 16]) -> Self {
        Self(STANDARD.encode(nonce))
    }

    /// The key as it is sent.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the `Sec-WebSocket-Accept` that answers a key as it came.
    #[must_use]
    pub fn accept(key: &[u8]) -> String {
        STANDARD.encode(sha1(&[key, GUID.as_bytes()].concat()))
    }
}

/// What a client offers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Offer {
    /// To compress messages (RFC 7692).
    pub deflate: bool,
    /// Subprotocols, in order of preference.
    pub protocols: Vec<String>,
}

impl Offer {
    /// The value of `Sec-WebSocket-Extensions`; empty if none is offered.
    #[must_use]
    pub fn extensions(&self) -> &'static str {
        if self.deflate { DEFLATE } else { "" }
    }

    /// Checks the header fields of the reply by which a server agrees. `values` returns those of a field; `key`: the key that
    /// was sent, over HTTP/1.
    ///
    /// # Errors
    /// If the server agrees to something else.
    pub fn check<'h, I: Iterator<Item = &'h [u8]>>(
        &self,
        key: Option<&[u8]>,
        values: impl Fn(&'static [u8]) -> I,
    ) -> Result<Accepted, Refusal> {
        if let Some(key) = key {
            if !values(b"upgrade").any(|value| value.trim_ascii().eq_ignore_ascii_case(b"websocket")) {
                return Err(Refusal::Upgrade);
            }
            if !has_word(values(b"connection"), "upgrade") {
                return Err(Refusal::Connection);
            }
            let mut accepts = values(b"sec-websocket-accept");
            if accepts.next().map(<[u8]>::trim_ascii) != Some(Key::accept(key).as_bytes()) {
                return Err(Refusal::Accept);
            }
        }
        let mut deflate = None;
        for extension in values(b"sec-websocket-extensions").flat_map(elements) {
            if !self.deflate || deflate.is_some() {
                return Err(Refusal::Extension(shown(extension)));
            }
            deflate = Some(agreed(extension).ok_or_else(|| Refusal::Extension(shown(extension)))?);
        }
        let mut chosen = values(b"sec-websocket-protocol");
        let protocol = chosen.next().map(|value| String::from_utf8_lossy(value.trim_ascii()).into_owned());
        match &protocol {
            Some(name) if !self.protocols.contains(name) || chosen.next().is_some() => {
                Err(Refusal::Protocol(name.clone()))
            }
            _ => Ok(Accepted { deflate, protocol }),
        }
    }
}

/// What both sides agreed on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accepted {
    /// Compression, from the view of the client.
    pub deflate: Option<Deflate>,
    /// The subprotocol that the server chose.
    pub protocol: Option<String>,
}

/// The reason why the reply of a server opens no WebSocket, although it says so.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// No `Upgrade: websocket`.
    #[error("an opening without `Upgrade: websocket`")]
    Upgrade,
    /// No `Connection: Upgrade`.
    #[error("an opening without `Connection: Upgrade`")]
    Connection,
    /// A `Sec-WebSocket-Accept` that does not answer the key.
    #[error("an opening whose Sec-WebSocket-Accept does not answer the key")]
    Accept,
    /// An extension that was not offered, or not in this form.
    #[error("an opening with the extension `{0}`, which was not offered so")]
    Extension(String),
    /// A subprotocol that was not offered.
    #[error("an opening with the subprotocol `{0}`, which was not offered")]
    Protocol(String),
}

/// Chooses among the extensions that a client offers. Returns what is agreed on, from the view of the server, and the value of
/// `Sec-WebSocket-Extensions`.
#[must_use]
pub fn answer_offer<'h>(values: impl Iterator<Item = &'h [u8]>) -> Option<(Deflate, String)> {
    values.flat_map(elements).find_map(|offer| {
        let mut deflate = Deflate::default();
        let mut parameters = parameters(offer);
        if !parameters.next()?.0.eq_ignore_ascii_case(DEFLATE.as_bytes()) {
            return None;
        }
        for (name, value) in parameters {
            match (&name.to_ascii_lowercase()[..], value) {
                (b"server_no_context_takeover", None) => deflate.resets_own = true,
                (b"client_no_context_takeover", None) => deflate.resets_peer = true,
                // A hint, which need not be answered (RFC 7692, section 7.1.2.2).
                (b"client_max_window_bits", None) => {}
                (b"client_max_window_bits", Some(bits)) => drop(window_bits(bits)?),
                // Our compressor has one window, the largest.
                (b"server_max_window_bits", Some(b"15")) => {}
                _ => return None,
            }
        }
        let mut answer = DEFLATE.to_owned();
        for (name, is_set) in [
            ("server_no_context_takeover", deflate.resets_own),
            ("client_no_context_takeover", deflate.resets_peer),
        ] {
            if is_set {
                answer += "; ";
                answer += name;
            }
        }
        Some((deflate, answer))
    })
}

/// Reads a server's answer to the offer of compression, from the view of the client; `None` if it is not one.
fn agreed(extension: &[u8]) -> Option<Deflate> {
    let mut deflate = Deflate::default();
    let mut parameters = parameters(extension);
    if !parameters.next()?.0.eq_ignore_ascii_case(DEFLATE.as_bytes()) {
        return None;
    }
    let mut seen = Vec::new();
    for (name, value) in parameters {
        let name = name.to_ascii_lowercase();
        match (&name[..], value) {
            (b"server_no_context_takeover", None) => deflate.resets_peer = true,
            (b"client_no_context_takeover", None) => deflate.resets_own = true,
            (b"server_max_window_bits", Some(bits)) => drop(window_bits(bits)?),
            // `client_max_window_bits` was not offered.
            _ => return None,
        }
        if seen.contains(&name) {
            return None;
        }
        seen.push(name);
    }
    Some(deflate)
}

/// Reads a number from 8 to 15 (RFC 7692, section 7.1.2).
fn window_bits(text: &[u8]) -> Option<u8> {
    let bits: u8 = std::str::from_utf8(text).ok()?.parse().ok()?;
    ((8..=15).contains(&bits) && !text.starts_with(b"0") && !text.starts_with(b"+")).then_some(bits)
}

/// Returns the name of an extension and its parameters, each with its value if it has one.
fn parameters(extension: &[u8]) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
    extension.split(|&byte| byte == b';').map(|parameter| {
        let mut parts = parameter.splitn(2, |&byte| byte == b'=');
        let name = parts.next().unwrap_or_default().trim_ascii();
        let value = parts.next().map(<[u8]>::trim_ascii);
        (name, value.map(unquoted))
    })
}

fn unquoted(value: &[u8]) -> &[u8] {
    value.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")).unwrap_or(value)
}

/// The number of characters of a peer's text that a message shows.
const SHOWN: usize = 60;

fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).chars().take(SHOWN).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 6455, section 1.3.
    const KEY: &[u8] = b"dGhlIHNhbXBsZSBub25jZQ==";
    const ACCEPT: &str = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";

    fn offer() -> Offer {
        Offer { deflate: true, protocols: vec!["chat".into(), "superchat".into()] }
    }

    fn check(offer: &Offer, key: Option<&[u8]>, fields: &[(&str, &str)]) -> Result<Accepted, Refusal> {
        offer.check(key, |name| {
            let found = fields.iter().filter(move |(its, _)| its.as_bytes() == name);
            found.map(|(_, value)| value.as_bytes()).collect::<Vec<_>>().into_iter()
        })
    }

    const GOOD: [(&str, &str); 3] =
        [("upgrade", "WebSocket"), ("connection", "keep-alive, Upgrade"), ("sec-websocket-accept", ACCEPT)];

    #[test]
    fn the_accept_is_that_of_the_example() {
        assert_eq!(Key::new(*b"the sample nonce").as_str().as_bytes(), KEY);
        assert_eq!(Key::accept(KEY), ACCEPT);
        assert_eq!(check(&offer(), Some(KEY), &GOOD), Ok(Accepted::default()));
    }

    #[test]
    fn what_does_not_open_a_websocket_is_named() {
        for (place, expected) in [(0, Refusal::Upgrade), (1, Refusal::Connection), (2, Refusal::Accept)] {
            let mut fields = GOOD;
            fields[place].1 = "x";
            assert_eq!(check(&offer(), Some(KEY), &fields), Err(expected));
        }
        assert_eq!(check(&offer(), None, &[]), Ok(Accepted::default()), "HTTP/2 has no such fields");
        let with = |name, value| [&GOOD[..], &[(name, value)]].concat();
        for (fields, expected) in [
            (with("sec-websocket-protocol", "other"), Refusal::Protocol("other".into())),
            (with("sec-websocket-extensions", "x-other"), Refusal::Extension("x-other".into())),
            (
                with("sec-websocket-extensions", "permessage-deflate; client_max_window_bits=10"),
                Refusal::Extension("permessage-deflate; client_max_window_bits=10".into()),
            ),
            (
                with("sec-websocket-extensions", "permessage-deflate; server_max_window_bits=7"),
                Refusal::Extension("permessage-deflate; server_max_window_bits=7".into()),
            ),
            (
                with("sec-websocket-extensions", "permessage-deflate, permessage-deflate"),
                Refusal::Extension("permessage-deflate".into()),
            ),
        ] {
            assert_eq!(check(&offer(), Some(KEY), &fields), Err(expected), "{fields:?}");
        }
        let unasked = with("sec-websocket-extensions", "permessage-deflate");
        let expected = Refusal::Extension("permessage-deflate".into());
        assert_eq!(check(&Offer::default(), Some(KEY), &unasked), Err(expected));
    }

    #[test]
    fn both_sides_agree_on_the_same() {
        for (offered, expected) in [
            ("permessage-deflate", Some((false, false, "permessage-deflate"))),
            (
                "permessage-deflate; client_max_window_bits; server_no_context_takeover",
                Some((true, false, "permessage-deflate; server_no_context_takeover")),
            ),
            (
                "x-other, permessage-deflate; server_max_window_bits=9, PERMESSAGE-DEFLATE; client_no_context_takeover",
                Some((false, true, "permessage-deflate; client_no_context_takeover")),
            ),
            ("permessage-deflate; server_max_window_bits=\"15\"", Some((false, false, "permessage-deflate"))),
            ("permessage-deflate; unknown", None),
            ("permessage-deflate; server_max_window_bits=10", None),
            ("", None),
        ] {
            let answer = answer_offer([offered.as_bytes()].into_iter());
            let found =
                answer.as_ref().map(|(deflate, text)| (deflate.resets_own, deflate.resets_peer, &text[..]));
            assert_eq!(found, expected, "{offered}");
            if let Some((server, text)) = answer {
                let fields =
                    [&GOOD[..], &[("sec-websocket-extensions", &text), ("sec-websocket-protocol", "chat")]]
                        .concat();
                let accepted = check(&offer(), Some(KEY), &fields).unwrap();
                let client = accepted.deflate.unwrap();
                assert_eq!((client.resets_own, client.resets_peer), (server.resets_peer, server.resets_own));
                assert_eq!(accepted.protocol.as_deref(), Some("chat"));
            }
        }
    }
}

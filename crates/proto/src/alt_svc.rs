//! `Alt-Svc`: where else, and in which protocol, a server can be reached (RFC 7838, section 3).

use std::time::Duration;

use crate::list;
use crate::token::is_token;

/// The size of the largest value that is read; a larger one is as if it were malformed.
pub const FIELD_SIZE: usize = 4096;

/// The number of alternatives that are read. Those behind them are passed over.
pub const ALTERNATIVES_MAX: usize = 32;

/// The length of the longest host (RFC 1035, section 2.3.4, with the brackets and dots that may be around it).
const HOST_SIZE: usize = 255;

/// The time for which an alternative holds without `ma`: 24 hours.
///
/// <https://www.rfc-editor.org/rfc/rfc7838#section-3.1>
const USUAL_MAX_AGE: Duration = Duration::from_secs(24 * 60 * 60);

/// The value of an `Alt-Svc` field, or of several, joined by commas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AltSvc {
    /// All alternatives that were known are void.
    Clear,
    /// These alternatives take the place of those that were known; the first is preferred most.
    Alternatives(Vec<Alternative>),
}

/// A way to reach a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alternative {
    /// The protocol's name as in ALPN, such as `h3`.
    pub protocol: Vec<u8>,
    /// The host; empty for that of the server itself.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The time for which it holds.
    pub max_age: Duration,
}

/// Appends a value of `Alt-Svc` to those before it. What is beyond [`FIELD_SIZE`] shows by one byte more than that.
pub(crate) fn put(value: &[u8], all: &mut Vec<u8>) {
    list::join(value, all, FIELD_SIZE + 1);
}

impl AltSvc {
    /// Reads a value. `None` if it is malformed: then it says nothing. An alternative that nobody can reach, such as one at
    /// port 0, is left out.
    #[must_use]
    pub fn parse(value: &[u8]) -> Option<Self> {
        if value.len() > FIELD_SIZE {
            return None;
        }
        let value = value.trim_ascii();
        // "clear" is case-sensitive, and nothing may be beside it.
        if value == b"clear" {
            return Some(Self::Clear);
        }
        let mut rest = Rest(value);
        let (mut alternatives, mut is_empty) = (Vec::new(), true);
        loop {
            rest.skip_blanks();
            if rest.0.is_empty() {
                break;
            }
            // A list may have empty elements (RFC 9110, section 5.6.1.2).
            if rest.take(b',') {
                continue;
            }
            is_empty = false;
            let alternative = rest.alternative()?;
            rest.skip_blanks();
            if !rest.0.is_empty() && !rest.take(b',') {
                return None;
            }
            if alternatives.len() < ALTERNATIVES_MAX {
                alternatives.extend(alternative);
            }
        }
        (!is_empty).then_some(Self::Alternatives(alternatives))
    }
}

/// The part of a value that has not been read.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, byte: u8) -> bool {
        let rest = self.0.strip_prefix(&[byte]);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    fn skip_blanks(&mut self) {
        while self.take(b' ') || self.take(b'\t') {}
    }

    fn token(&mut self) -> Option<&'a [u8]> {
        let size = self.0.iter().take_while(|&&byte| is_token(byte)).count();
        let (token, rest) = self.0.split_at(size);
        self.0 = rest;
        (size > 0).then_some(token)
    }

    /// <https://www.rfc-editor.org/rfc/rfc9110#section-5.6.4>
    fn quoted(&mut self) -> Option<Vec<u8>> {
        let mut bytes = self.0.strip_prefix(b"\"")?.iter();
        let mut text = Vec::new();
        loop {
            let byte = match *bytes.next()? {
                b'"' => break,
                b'\\' => *bytes.next()?,
                byte => byte,
            };
            if byte < b' ' && byte != b'\t' || byte == 0x7F {
                return None;
            }
            text.push(byte);
        }
        self.0 = bytes.as_slice();
        Some(text)
    }

    /// Reads an alternative with its parameters. `None` if it is malformed, `Some(None)` if it cannot be reached.
    fn alternative(&mut self) -> Option<Option<Alternative>> {
        let protocol = decoded(self.token()?);
        if !self.take(b'=') {
            return None;
        }
        let authority = authority(&self.quoted()?);
        let mut max_age = None;
        loop {
            let before = self.0;
            self.skip_blanks();
            if !self.take(b';') {
                self.0 = before;
                break;
            }
            self.skip_blanks();
            let name = self.token()?;
            if !self.take(b'=') {
                return None;
            }
            let value = if self.0.first() == Some(&b'"') { self.quoted()? } else { self.token()?.to_vec() };
            // The first counts, others are passed over.
            if name.eq_ignore_ascii_case(b"ma") && max_age.is_none() {
                max_age = Some(seconds(&value)?);
            }
        }
        let (Some(protocol), Some((host, port))) = (protocol, authority) else { return Some(None) };
        Some(Some(Alternative { protocol, host, port, max_age: max_age.unwrap_or(USUAL_MAX_AGE) }))
    }
}

/// Decodes the name of a protocol.
///
/// <https://www.rfc-editor.org/rfc/rfc7838#section-3>
fn decoded(token: &[u8]) -> Option<Vec<u8>> {
    let mut name = Vec::with_capacity(token.len());
    let mut bytes = token.iter();
    while let Some(&byte) = bytes.next() {
        if byte != b'%' {
            name.push(byte);
            continue;
        }
        let mut digit = || char::from(*bytes.next()?).to_digit(16);
        name.push((digit()? * 16 + digit()?) as u8);
    }
    Some(name)
}

/// Splits `[uri-host] ":" port` (RFC 3986, section 3.2).
fn authority(text: &[u8]) -> Option<(String, u16)> {
    let text = std::str::from_utf8(text).ok()?;
    let (host, port) = text.rsplit_once(':')?;
    let fits = host.len() <= HOST_SIZE;
    let is_host = match host.strip_prefix('[') {
        Some(inner) => inner.strip_suffix(']').is_some_and(|inner| !inner.contains(['[', ']'])),
        None => !host.contains([':', '[', ']']),
    };
    let is_shown =
        host.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'/' | b'?' | b'#' | b'@'));
    let port = Some(port).filter(|port| port.bytes().all(|byte| byte.is_ascii_digit()))?.parse().ok()?;
    (fits && is_host && is_shown && port > 0).then(|| (host.to_owned(), port))
}

/// Reads delta-seconds, which saturate at 136 years.
fn seconds(value: &[u8]) -> Option<Duration> {
    if value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let add = |number: u32, digit: &u8| number.saturating_mul(10).saturating_add(u32::from(digit - b'0'));
    Some(Duration::from_secs(value.iter().fold(0, add).into()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn alternative(protocol: &str, host: &str, port: u16, seconds: u64) -> Alternative {
        let max_age = Duration::from_secs(seconds);
        Alternative { protocol: protocol.into(), host: host.into(), port, max_age }
    }

    #[track_caller]
    fn check(value: &str, expected: &[Alternative]) {
        let read = AltSvc::parse(value.as_bytes());
        assert_eq!(read, Some(AltSvc::Alternatives(expected.to_vec())), "{value}");
    }

    #[test]
    fn alternatives_are_read_in_order() {
        check("h3=\":443\"", &[alternative("h3", "", 443, 86_400)]);
        check("h3=\":443\"; ma=60", &[alternative("h3", "", 443, 60)]);
        check(
            "h3=\":8443\";ma=\"3600\" ; persist=1, h2=\"alt.example:8000\"\t,,h3-29=\"[::1]:1\"; v=\"46,43\"; MA=5",
            &[
                alternative("h3", "", 8443, 3600),
                alternative("h2", "alt.example", 8000, 86_400),
                alternative("h3-29", "[::1]", 1, 5),
            ],
        );
        check(" , h3=\":65535\"; ma=0;ma=7 ,", &[alternative("h3", "", 65_535, 0)]);
        check("h3=\"\\:4\\43\"", &[alternative("h3", "", 443, 86_400)]);
        // The example of RFC 7838, section 3.
        check(
            "w%3Dx%3Ay#z=\":1\", x%25y=\":2\"",
            &[alternative("w=x:y#z", "", 1, 86_400), alternative("x%y", "", 2, 86_400)],
        );
    }

    #[test]
    fn a_word_alone_takes_all_back() {
        assert_eq!(AltSvc::parse(b" clear "), Some(AltSvc::Clear));
        for value in ["CLEAR", "Clear", "clear, h3=\":443\"", "clear;ma=1"] {
            assert_eq!(AltSvc::parse(value.as_bytes()), None, "{value}");
        }
    }

    #[test]
    fn a_malformed_value_says_nothing() {
        for value in [
            "",
            " ",
            ",",
            "h3",
            "h3=",
            "h3=:443",
            "h3=\":443",
            "=\":443\"",
            "h3 =\":443\"",
            "h3=\":443\" h2=\":443\"",
            "h3=\":443\";",
            "h3=\":443\"; ma",
            "h3=\":443\"; ma=",
            "h3=\":443\"; ma=-1",
            "h3=\":443\"; ma=1s",
            "h3=\":443\"; ma=\"",
            "h3=\":443\\",
            "h3=\":\x01443\"",
            "h3=\":443\"; =1",
            "h\u{e9}=\":443\"",
        ] {
            assert_eq!(AltSvc::parse(value.as_bytes()), None, "{value:?}");
        }
    }

    #[test]
    fn an_alternative_that_nobody_can_reach_is_left_out() {
        for value in [
            "h3=\"\"",
            "h3=\"443\"",
            "h3=\":\"",
            "h3=\":0\"",
            "h3=\":65536\"",
            "h3=\":+1\"",
            "h3=\"a b:1\"",
            "h3=\"::1:443\"",
            "h3=\"[::1:443\"",
            "h3=\"a@b:443\"",
            "h3=\"\u{e9}:443\"",
            "h3%=\":443\"",
            "h3%4=\":443\"",
            "%zz=\":443\"",
        ] {
            check(&format!("{value}, h2=\":1\""), &[alternative("h2", "", 1, 86_400)]);
        }
    }

    #[test]
    fn what_a_server_sends_is_bounded() {
        check(&format!("h3=\"{}:443\"", "a".repeat(256)), &[]);
        let many = vec!["h3=\":443\""; ALTERNATIVES_MAX + 5].join(",");
        check(&many, &vec![alternative("h3", "", 443, 86_400); ALTERNATIVES_MAX]);
        check("h3=\":443\"; ma=99999999999999999999", &[alternative("h3", "", 443, u32::MAX.into())]);
        let long = |size: usize| format!("h3=\":443\"; x={}", "y".repeat(size - 13));
        assert!(AltSvc::parse(long(FIELD_SIZE).as_bytes()).is_some());
        assert_eq!(AltSvc::parse(long(FIELD_SIZE + 1).as_bytes()), None);
        let mut all = Vec::new();
        put(long(FIELD_SIZE).as_bytes(), &mut all);
        put(b"h2=\":1\"", &mut all);
        assert_eq!((all.len(), AltSvc::parse(&all)), (FIELD_SIZE + 1, None));
    }

    /// Protocol, host, port, `ma`, and whether that is quoted.
    type Parts = (Vec<u8>, String, u16, Option<u32>, bool);

    fn printed(alternatives: &[Parts]) -> String {
        let one = |(protocol, host, port, age, quoted): &Parts| {
            let name: String = protocol
                .iter()
                .map(|&byte| match is_token(byte) && byte != b'%' {
                    true => char::from(byte).to_string(),
                    false => format!("%{byte:02X}"),
                })
                .collect();
            let age = match (age, quoted) {
                (None, _) => String::new(),
                (Some(age), false) => format!("; ma={age}"),
                (Some(age), true) => format!(";ma=\"{age}\";x=\"a\\\"b\""),
            };
            format!("{name}=\"{host}:{port}\"{age}")
        };
        alternatives.iter().map(one).collect::<Vec<_>>().join(" ,")
    }

    proptest! {
        #[test]
        fn what_was_printed_is_read_again(
            alternatives in prop::collection::vec(
                (
                    prop::collection::vec(any::<u8>(), 1..6),
                    prop_oneof![Just(String::new()), "[a-z0-9.-]{1,12}", Just("[2001:db8::1]".to_owned())],
                    1..=u16::MAX,
                    prop::option::of(any::<u32>()),
                    any::<bool>(),
                ),
                1..6,
            )
        ) {
            let expected = alternatives
                .iter()
                .map(|(protocol, host, port, age, _)| Alternative {
                    protocol: protocol.clone(),
                    host: host.clone(),
                    port: *port,
                    max_age: age.map_or(USUAL_MAX_AGE, |age| Duration::from_secs(age.into())),
                })
                .collect();
            prop_assert_eq!(AltSvc::parse(printed(&alternatives).as_bytes()), Some(AltSvc::Alternatives(expected)));
        }

        #[test]
        fn any_bytes_are_read_or_refused(
            parts in prop::collection::vec(
                prop_oneof![
                    prop::sample::select(&[
                        "h3", "=", "\"", ":", "443", ";", ",", "ma", " ", "\\", "%", "[", "]", "clear", "h3=\":443\"", "\t"
                    ][..]).prop_map(|part| part.as_bytes().to_vec()),
                    prop::collection::vec(any::<u8>(), 0..3),
                ],
                0..20,
            )
        ) {
            let value = parts.concat();
            if let Some(AltSvc::Alternatives(read)) = AltSvc::parse(&value) {
                prop_assert!(read.len() <= ALTERNATIVES_MAX);
                prop_assert!(read.iter().all(|one| one.port > 0 && !one.protocol.is_empty()));
            }
        }
    }
}

//! The cookies of one session (`--session-cookies`).
//!
//! The rules are those of RFC 6265 and its revision, with three exceptions: a session talks to a single
//! server and must work as it did with the classic tool, which ignored all attributes.
//!
//! - `Domain` is ignored: every cookie belongs to that server only.
//! - `Secure` is ignored: servers are often tested without the TLS in front of them, and their sessions would
//!   break without their cookies.
//! - The bytes received up to the first `;` are sent back, even if they have no name.

use std::cmp::Reverse;
use std::time::{Duration, SystemTime};

use chrono::NaiveDate;

/// Maximum size of a cookie, name and value together.
///
/// <https://datatracker.ietf.org/doc/html/draft-ietf-httpbis-rfc6265bis#section-5.6>
const COOKIE_SIZE_MAX: usize = 4096;

/// The cookies of one session.
#[derive(Clone, Debug)]
pub struct Jar {
    /// Sorted in the order of sending.
    cookies: Vec<Cookie>,
    count_max: usize,
    /// Number of cookies ever added.
    added: u64,
}

#[derive(Clone, Debug)]
struct Cookie {
    /// Bytes to send: those received before the first `;`.
    pair: Vec<u8>,
    path: Vec<u8>,
    /// `None` for the length of the session.
    expires: Option<SystemTime>,
    /// Number of cookies added before it.
    age_rank: u64,
}

impl Jar {
    /// Creates an empty jar for at most `count_max` cookies.
    #[must_use]
    pub fn new(count_max: usize) -> Self {
        Self { cookies: Vec::new(), count_max, added: 0 }
    }

    /// Stores the value of a `Set-Cookie` field in the reply to a request for `request_uri`.
    ///
    /// It replaces a cookie with the same name and path; if it has expired already, that is all it does. If
    /// the jar is full, the oldest cookie is removed. Cookies that are empty, too large, or contain control
    /// characters are ignored.
    pub fn store(&mut self, set_cookie_value: &[u8], request_uri: &[u8], now: SystemTime) {
        let mut parts = set_cookie_value.split(|&byte| byte == b';');
        let pair = parts.next().unwrap_or_default();
        let is_control = |byte: &u8| byte.is_ascii_control() && *byte != b'\t';
        let is_empty = matches!(pair.trim_ascii(), b"" | b"=");
        if is_empty || pair.len() > COOKIE_SIZE_MAX || set_cookie_value.iter().any(is_control) {
            return;
        }
        let attributes = Attributes::parse(parts);
        let path = attributes.path.unwrap_or_else(|| default_path(path_of(request_uri)));
        let expires = attributes.expires(now);
        let existing =
            self.cookies.iter().position(|cookie| cookie.name() == name_of(pair) && cookie.path == path);
        if expires.is_some_and(|expires| expires <= now) {
            if let Some(index) = existing {
                self.cookies.remove(index);
            }
            return;
        }
        if let Some(index) = existing {
            let cookie = &mut self.cookies[index];
            pair.clone_into(&mut cookie.pair);
            cookie.expires = expires;
            return;
        }
        self.make_room(now);
        if self.cookies.len() < self.count_max {
            self.add(Cookie { pair: pair.to_vec(), path: path.to_vec(), expires, age_rank: self.added });
        }
    }

    /// Value of the `Cookie` field of a request for `request_uri`; `None` if no cookie applies.
    pub fn header(&mut self, request_uri: &[u8], now: SystemTime) -> Option<Vec<u8>> {
        self.drop_expired(now);
        let request_path = path_of(request_uri);
        let mut value: Option<Vec<u8>> = None;
        for cookie in self.cookies.iter().filter(|cookie| path_matches(request_path, &cookie.path)) {
            match &mut value {
                Some(value) => {
                    value.extend_from_slice(b"; ");
                    value.extend_from_slice(&cookie.pair);
                }
                None => value = Some(cookie.pair.clone()),
            }
        }
        value
    }

    /// Inserts a cookie: longer paths first, then earlier ones.
    ///
    /// <https://www.rfc-editor.org/rfc/rfc6265#section-5.4>
    fn add(&mut self, cookie: Cookie) {
        let rank = |cookie: &Cookie| (Reverse(cookie.path.len()), cookie.age_rank);
        let index = self.cookies.partition_point(|other| rank(other) < rank(&cookie));
        self.cookies.insert(index, cookie);
        self.added += 1;
    }

    fn make_room(&mut self, now: SystemTime) {
        if self.cookies.len() < self.count_max {
            return;
        }
        self.drop_expired(now);
        if self.cookies.len() < self.count_max {
            return;
        }
        let oldest = self.cookies.iter().enumerate().min_by_key(|(_, cookie)| cookie.age_rank);
        if let Some((index, _)) = oldest {
            self.cookies.remove(index);
        }
    }

    fn drop_expired(&mut self, now: SystemTime) {
        self.cookies.retain(|cookie| cookie.expires.is_none_or(|expires| expires > now));
    }
}

impl Cookie {
    fn name(&self) -> &[u8] {
        name_of(&self.pair)
    }
}

/// Name of a cookie: the part before the `=`, or empty if there is none.
fn name_of(pair: &[u8]) -> &[u8] {
    pair.iter().position(|&byte| byte == b'=').map_or(b"", |end| pair[..end].trim_ascii())
}

/// Supported attributes. If one is repeated, the last value counts.
#[derive(Default)]
struct Attributes<'a> {
    path: Option<&'a [u8]>,
    date: Option<SystemTime>,
    /// Seconds; below 1 if expired.
    age_max: Option<i64>,
}

impl<'a> Attributes<'a> {
    fn parse(parts: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut attributes = Self::default();
        for part in parts {
            let split = part.iter().position(|&byte| byte == b'=');
            let (name, value) = split.map_or((part, &b""[..]), |at| (&part[..at], &part[at + 1..]));
            let (name, value) = (name.trim_ascii(), value.trim_ascii());
            if name.eq_ignore_ascii_case(b"path") {
                attributes.path = value.starts_with(b"/").then_some(value);
            } else if name.eq_ignore_ascii_case(b"max-age") {
                attributes.age_max = age(value).or(attributes.age_max);
            } else if name.eq_ignore_ascii_case(b"expires") {
                attributes.date = date(value).or(attributes.date);
            }
        }
        attributes
    }

    /// Expiry: `Max-Age` takes precedence over `Expires`; a time too far in the future to represent is never.
    fn expires(&self, now: SystemTime) -> Option<SystemTime> {
        match self.age_max {
            Some(seconds) => match u64::try_from(seconds) {
                Ok(seconds) => now.checked_add(Duration::from_secs(seconds)),
                Err(_) => Some(now),
            },
            None => self.date,
        }
    }
}

/// Value of `Max-Age`: digits with an optional minus sign. Numbers too large to represent saturate.
fn age(value: &[u8]) -> Option<i64> {
    let (negative, digits) = match value.strip_prefix(b"-") {
        Some(digits) => (true, digits),
        None => (false, value),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let seconds = digits
        .iter()
        .fold(0_i64, |seconds, digit| seconds.saturating_mul(10).saturating_add(i64::from(digit - b'0')));
    Some(if negative { -seconds } else { seconds })
}

/// Parses a date in any form that servers use: parts are identified by their syntax.
///
/// <https://www.rfc-editor.org/rfc/rfc6265#section-5.1.1>
fn date(value: &[u8]) -> Option<SystemTime> {
    let (mut time, mut day, mut month, mut year) = (None, None, None, None);
    for token in value.split(|&byte| is_date_delimiter(byte)).filter(|token| !token.is_empty()) {
        if time.is_none()
            && let Some(found) = time_of_day(token)
        {
            time = Some(found);
        } else if day.is_none()
            && let Some(found) = leading_digits(token, 1..=2)
        {
            day = Some(found);
        } else if month.is_none()
            && let Some(found) = month_name(token)
        {
            month = Some(found);
        } else if year.is_none()
            && let Some(found) = leading_digits(token, 2..=4)
        {
            year = Some(found);
        }
    }
    let year = match year? {
        year @ 70..=99 => year + 1900,
        year @ 0..=69 => year + 2000,
        year if year < 1601 => return None,
        year => year,
    };
    let (hour, minute, second) = time?;
    let date = NaiveDate::from_ymd_opt(year.into(), month?, day?.into())?;
    Some(date.and_hms_opt(hour, minute, second)?.and_utc().into())
}

fn is_date_delimiter(byte: u8) -> bool {
    matches!(byte, b'\t' | b' '..=b'/' | b';'..=b'@' | b'['..=b'`' | b'{'..=b'~')
}

/// Parses three numbers of one or two digits, separated by colons; other characters may follow.
fn time_of_day(token: &[u8]) -> Option<(u32, u32, u32)> {
    let mut fields = token.splitn(3, |&byte| byte == b':');
    let mut whole = || {
        let field = fields.next()?;
        leading_digits(field, 1..=2).filter(|_| field.len() <= 2 && field.iter().all(u8::is_ascii_digit))
    };
    let (hour, minute) = (whole()?, whole()?);
    let second = leading_digits(fields.next()?, 1..=2)?;
    Some((hour.into(), minute.into(), second.into()))
}

/// Parses the leading digits of `token`, if their number is in range.
fn leading_digits(token: &[u8], size: std::ops::RangeInclusive<usize>) -> Option<u16> {
    let digits = token.iter().take_while(|byte| byte.is_ascii_digit());
    if !size.contains(&digits.clone().count()) {
        return None;
    }
    Some(digits.fold(0, |number, digit| number * 10 + u16::from(digit - b'0')))
}

/// Returns the number of a month.
fn month_name(token: &[u8]) -> Option<u32> {
    const NAMES: [&[u8; 3]; 12] =
        [b"jan", b"feb", b"mar", b"apr", b"may", b"jun", b"jul", b"aug", b"sep", b"oct", b"nov", b"dec"];
    let name = token.get(..3)?.to_ascii_lowercase();
    let index = NAMES.iter().position(|known| name == known[..])?;
    u32::try_from(index + 1).ok()
}

/// Path of a request target, which may have a query or be a whole URL; `/` if it has none.
fn path_of(request_uri: &[u8]) -> &[u8] {
    let end = request_uri.iter().position(|byte| matches!(byte, b'?' | b'#')).unwrap_or(request_uri.len());
    let target = &request_uri[..end];
    let path = if target.starts_with(b"/") {
        target
    } else {
        let authority = target.windows(3).position(|window| window == b"://").map(|at| &target[at + 3..]);
        let path = authority.and_then(|rest| Some(&rest[rest.iter().position(|&byte| byte == b'/')?..]));
        path.unwrap_or_default()
    };
    if path.is_empty() { b"/" } else { path }
}

/// Directory of a path, for cookies without a path.
///
/// <https://www.rfc-editor.org/rfc/rfc6265#section-5.1.4>
fn default_path(path: &[u8]) -> &[u8] {
    match path.iter().rposition(|&byte| byte == b'/') {
        None | Some(0) => b"/",
        Some(end) => &path[..end],
    }
}

/// <https://www.rfc-editor.org/rfc/rfc6265#section-5.1.4>
fn path_matches(request_path: &[u8], cookie_path: &[u8]) -> bool {
    request_path
        .strip_prefix(cookie_path)
        .is_some_and(|rest| rest.is_empty() || cookie_path.ends_with(b"/") || rest.starts_with(b"/"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// 2026-01-01 00:00:00 UTC.
    const NEW_YEAR: u64 = 1_767_225_600;

    fn at(second: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(NEW_YEAR + second)
    }

    /// A jar with these values, each with the URI of its request, stored at second 0.
    fn jar(stored: &[(&str, &str)]) -> Jar {
        let mut jar = Jar::new(10);
        for (uri, value) in stored {
            jar.store(value.as_bytes(), uri.as_bytes(), at(0));
        }
        jar
    }

    fn sent(jar: &mut Jar, uri: &str, second: u64) -> String {
        let value = jar.header(uri.as_bytes(), at(second));
        value.map_or_else(|| "-".to_owned(), |value| value.escape_ascii().to_string())
    }

    #[track_caller]
    fn check(stored: &[(&str, &str)], uri: &str, expected: &str) {
        assert_eq!(sent(&mut jar(stored), uri, 0), expected);
    }

    #[test]
    fn a_single_cookie_is_sent_back_byte_for_byte() {
        check(&[("/", "S=k; path=/")], "/a", "S=k");
        check(&[("/", "S=k")], "/", "S=k");
        check(&[("/", "  S = \"k v\"  ;x")], "/", "  S = \\\"k v\\\"  ");
        check(&[("/", "token")], "/", "token");
        check(&[("/", "=x")], "/", "=x");
        check(&[("/", "a=b=c,d")], "/", "a=b=c,d");
    }

    #[test]
    fn bytes_need_not_be_text() {
        let mut jar = Jar::new(10);
        jar.store(b"a=\xff\xe9; path=/\xff", b"/\xff/x", at(0));
        assert_eq!(jar.header(b"/\xff/y", at(0)), Some(b"a=\xff\xe9".to_vec()));
        assert_eq!(jar.header(b"/\xfe/y", at(0)), None);
    }

    #[test]
    fn an_empty_jar_sends_no_field() {
        check(&[], "/", "-");
    }

    #[test]
    fn malformed_cookies_are_ignored() {
        let large = format!("a={}", "x".repeat(COOKIE_SIZE_MAX));
        for value in ["", ";", " ; path=/", "=", "a=b\r\nc", "a=\0", "a=b; path=/\x7f", &large] {
            check(&[("/", value)], "/", "-");
        }
        check(&[("/", &large[2..])], "/", &large[2..]);
        check(&[("/", "a=b\tc")], "/", "a=b\\tc");
    }

    #[test]
    fn cookies_of_different_names_are_sent_in_the_order_they_came() {
        check(&[("/", "b=1"), ("/", "a=2"), ("/", "c=3")], "/", "b=1; a=2; c=3");
    }

    #[test]
    fn a_cookie_with_the_same_name_and_path_replaces_the_old_one() {
        check(&[("/", "a=1"), ("/", "b=2"), ("/", "a=3")], "/", "a=3; b=2");
        check(&[("/", "a=1"), ("/", " a =3;Path=/")], "/", " a =3");
        check(&[("/", "token"), ("/", "other")], "/", "other");
        check(&[("/", "a=1"), ("/", "A=2")], "/", "a=1; A=2");
    }

    #[test]
    fn longer_paths_are_sent_first() {
        check(
            &[("/", "r=1"), ("/", "d=2; path=/x/y"), ("/", "r=3; path=/x"), ("/", "e=4; path=/x/y")],
            "/x/y/z",
            "d=2; e=4; r=3; r=1",
        );
    }

    #[test]
    fn a_path_includes_everything_below_it() {
        let stored = &[("/", "a=1; path=/x/y")];
        check(stored, "/x/y", "a=1");
        check(stored, "/x/y?q=/z", "a=1");
        check(stored, "/x/y/", "a=1");
        check(stored, "/x/yz", "-");
        check(stored, "/x", "-");
        check(stored, "http://host:1/x/y/z", "a=1");
        check(&[("/", "a=1; path=/x/")], "/x/y", "a=1");
        check(&[("/", "a=1; path=/x/")], "/x", "-");
    }

    #[test]
    fn a_cookie_without_a_path_belongs_to_the_directory_of_its_request() {
        check(&[("/x/y", "a=1")], "/x", "a=1");
        check(&[("/x/y", "a=1")], "/x/z?q", "a=1");
        check(&[("/x/y", "a=1")], "/", "-");
        check(&[("/x/y/", "a=1")], "/x/z", "-");
        check(&[("/x?/y/z", "a=1")], "/", "a=1");
        check(&[("http://h/x/y", "a=1")], "/x/z", "a=1");
        check(&[("http://h", "a=1")], "/", "a=1");
        check(&[("*", "a=1")], "index.html", "a=1");
        check(&[("/x/y", "a=1; path=z")], "/x/z", "a=1");
        check(&[("/x/y", "a=1; path=/q; path=")], "/x/z", "a=1");
        check(&[("/x/y", "a=1; path=/q; path=/")], "/", "a=1");
    }

    #[test]
    fn secure_and_domain_do_not_matter() {
        check(&[("/", "a=1; Secure; HttpOnly; Domain=elsewhere.example; SameSite=Strict")], "/", "a=1");
    }

    #[test]
    fn a_cookie_ends_after_its_max_age() {
        let mut jar = jar(&[("/", "a=1; Max-Age=10; Expires=Thu, 01 Jan 1970 00:00:00 GMT"), ("/", "b=2")]);
        assert_eq!(sent(&mut jar, "/", 9), "a=1; b=2");
        assert_eq!(sent(&mut jar, "/", 10), "b=2");
    }

    #[test]
    fn a_cookie_ends_at_its_date() {
        let mut jar = jar(&[("/", "a=1; expires=Thu, 01-Jan-26 00:00:30 GMT")]);
        assert_eq!(sent(&mut jar, "/", 29), "a=1");
        assert_eq!(sent(&mut jar, "/", 30), "-");
    }

    #[test]
    fn an_expired_cookie_deletes_the_old_one() {
        for attribute in ["max-age=0", "MAX-AGE=-5", "expires=Thu, 01 Jan 1970 00:00:00 GMT"] {
            check(&[("/", "a=1"), ("/", "b=2"), ("/", &format!("a=; {attribute}"))], "/", "b=2");
            check(&[("/x/y", "a=1"), ("/", &format!("a=; {attribute}"))], "/x/z", "a=1");
        }
    }

    #[test]
    fn a_malformed_expiry_is_ignored() {
        for attribute in ["max-age=", "max-age=1x", "max-age=+0", "expires=", "expires=never", "expires"] {
            check(&[("/", &format!("a=1; {attribute}"))], "/", "a=1");
        }
        check(&[("/", "a=1; max-age=99999999999999999999999")], "/", "a=1");
    }

    #[test]
    fn the_oldest_cookie_is_removed_if_the_jar_is_full() {
        let mut jar = Jar::new(2);
        for value in ["a=1; path=/", "b=2", "a=3", "c=4; max-age=5"] {
            jar.store(value.as_bytes(), b"/", at(0));
        }
        assert_eq!(sent(&mut jar, "/", 0), "b=2; c=4");
        jar.store(b"d=5", b"/", at(5));
        assert_eq!(sent(&mut jar, "/", 5), "b=2; d=5");
        let mut none = Jar::new(0);
        none.store(b"a=1", b"/", at(0));
        assert_eq!(sent(&mut none, "/", 0), "-");
    }

    #[track_caller]
    fn check_date(text: &str, expected: Option<u64>) {
        let expected = expected.map(|seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(date(text.as_bytes()), expected, "{text}");
    }

    #[test]
    fn all_forms_of_dates_are_parsed() {
        let moment = Some(784_111_777);
        check_date("Sun, 06 Nov 1994 08:49:37 GMT", moment);
        check_date("Sunday, 06-Nov-94 08:49:37 GMT", moment);
        check_date("Sun Nov  6 08:49:37 1994", moment);
        check_date("8:49:37 6 november 94", moment);
        check_date("1994 nov 6th 08:49:37.5 UTC", moment);
        check_date("6th Nov 1994x 08:49:37.5", moment);
        check_date("Thu, 01 Jan 2026 00:00:00 GMT", Some(NEW_YEAR));
        check_date("Fri, 31 Dec 9999 23:59:59 GMT", Some(253_402_300_799));
        check_date("01 Jan 69 00:00:00", Some(3_124_224_000));
    }

    #[test]
    fn malformed_dates_are_rejected() {
        for text in [
            "",
            "06 Nov 1994",
            "06 Nov 08:49:37",
            "Nov 1994 08:49:37",
            "06 1994 08:49:37",
            "31 Feb 1994 08:49:37",
            "06 Nov 1600 08:49:37",
            "06 Nov 1994 24:00:00",
            "06 Nov 1994 08:60:00",
            "06 Nov 1994 008:49:37",
            "06 Nov 1994 08:49",
            "06 Nov 19941 08:49:37",
        ] {
            check_date(text, None);
        }
    }

    const ANY_DATE: &str = "[0-9:]{0,9} ?[0-9a-z]{0,4} ?(jan|Dec)?-?[0-9]{0,5} [0-9:]{0,9}";

    proptest! {
        #[test]
        fn the_jar_keeps_within_its_limit_and_its_order(
            values in prop::collection::vec("[a-e]=[x-z](; path=/[a-c]?(/[a-c])?)?(; max-age=-?[0-9])?", 0..40),
            uri in "/[a-c]?(/[a-c])?",
            count_max in 0..6_usize,
        ) {
            let mut jar = Jar::new(count_max);
            for (second, value) in (0..).zip(&values) {
                jar.store(value.as_bytes(), uri.as_bytes(), at(second));
                prop_assert!(jar.cookies.len() <= count_max);
            }
            let keys: Vec<_> =
                jar.cookies.iter().map(|cookie| (Reverse(cookie.path.len()), cookie.age_rank)).collect();
            prop_assert!(keys.is_sorted());
            let header = jar.header(uri.as_bytes(), at(values.len() as u64));
            for pair in header.iter().flat_map(|header| header.split(|&byte| byte == b';')) {
                let stored = |value: &String| value.as_bytes().starts_with(pair.trim_ascii());
                prop_assert!(values.iter().any(stored));
            }
        }

        #[test]
        fn any_bytes_are_accepted(value: Vec<u8>, uri: Vec<u8>) {
            let mut jar = Jar::new(3);
            jar.store(&value, &uri, at(0));
            if let Some(header) = jar.header(&uri, at(0)) {
                prop_assert!(value.starts_with(&header));
            }
        }

        #[test]
        fn any_text_is_a_date_after_1600_or_none(text in ANY_DATE) {
            let earliest = SystemTime::UNIX_EPOCH - Duration::from_secs(11_644_473_600);
            prop_assert!(date(text.as_bytes()).is_none_or(|date| date >= earliest));
        }
    }
}

//! The target as one URL, and whether it is the one that is loaded.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::Path;

use httperf_plan::url::{HttpUrl, UrlError};

use super::Args;
use crate::grammar::ParseStop;

/// A word that names a target: a URL, or a server without a scheme.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypedUrl {
    /// The word, as it was typed.
    pub text: Vec<u8>,
    /// Its parts, or the reason why it is no URL of a server. Only a URL that is the target has to be a good one.
    pub parsed: Result<HttpUrl, UrlError>,
}

impl TypedUrl {
    /// The word as a URL, if it begins with a scheme, or else names a server clearly, which is `http` then.
    ///
    /// Without a scheme, `localhost`, an address, `HOST:PORT` and `HOST.NAME/PATH` name a server; `name` and `file.txt` do
    /// not.
    pub fn from_word(word: &[u8]) -> Option<Self> {
        let url = if has_scheme(word) {
            Cow::Borrowed(word)
        } else if std::str::from_utf8(word).is_ok_and(names_server) {
            Cow::Owned([b"http://", word].concat())
        } else {
            return None;
        };
        Some(Self { text: word.to_vec(), parsed: HttpUrl::parse_any(&url) })
    }
}

/// Returns whether a word begins as `http://` does, with any scheme.
fn has_scheme(word: &[u8]) -> bool {
    let Some(end) = word.windows(3).position(|part| part == b"://") else { return false };
    let scheme = &word[..end];
    scheme.first().is_some_and(u8::is_ascii_alphabetic)
        && scheme.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
}

/// Returns whether a word without a scheme names a server beyond doubt.
fn names_server(word: &str) -> bool {
    let end = word.find(['/', '?', '#']).unwrap_or(word.len());
    let (authority, path) = word.split_at(end);
    let is_port = |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    if let Some(bracketed) = authority.strip_prefix('[') {
        let Some((address, rest)) = bracketed.split_once(']') else { return false };
        let is_whole = rest.is_empty() || rest.strip_prefix(':').is_some_and(is_port);
        let address = address.split_once('%').map_or(address, |(address, _)| address);
        return is_whole && address.parse::<Ipv6Addr>().is_ok();
    }
    let (host, has_port) = match authority.rsplit_once(':') {
        Some((host, port)) if is_port(port) => (host, true),
        _ => (authority, false),
    };
    if host.parse::<Ipv4Addr>().is_ok() || host.eq_ignore_ascii_case("localhost") {
        return true;
    }
    // `results.d/x` may be a file as well as a server.
    let is_file = || Path::new(word).exists();
    is_host_name(host) && (has_port || host.contains('.') && path.starts_with('/') && !is_file())
}

/// Returns whether a word could be the name of a host. A number is none.
pub(super) fn is_host_name(word: &str) -> bool {
    let is_end = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
    is_end(word.chars().next())
        && is_end(word.chars().next_back())
        && word.chars().all(|letter| letter.is_alphanumeric() || matches!(letter, '-' | '_' | '.'))
        && word.chars().any(char::is_alphabetic)
}

impl Args {
    /// The URL that is the target.
    #[must_use]
    pub fn url(&self) -> Option<&HttpUrl> {
        let url = self.typed_urls.first().filter(|_| self.target_option().is_none())?;
        url.parsed.as_ref().ok()
    }

    /// The option that says what the target is, and leaves a URL no say: the first of several.
    pub fn target_option(&self) -> Option<&'static str> {
        let options = [
            ("--server", self.server.is_some()),
            ("--port", self.port.is_some()),
            ("--uri", self.uri.is_some()),
        ];
        options.into_iter().find(|&(_, is_given)| is_given).map(|(option, _)| option)
    }

    /// Refuses a target that is no URL of a server, and a second one.
    pub(super) fn check_url(&self) -> Result<(), ParseStop> {
        if self.target_option().is_some() {
            return Ok(());
        }
        if let [first, second, ..] = &self.typed_urls[..] {
            let message =
                [b"expected one URL, got `", &first.text[..], b"` and `", &second.text, b"`"].concat();
            let hint = "`httperf ab URL URL` compares two servers, --targets FILE takes URLs from a file";
            return Err(ParseStop::rejected(message).with_hint(Some(hint.to_owned())));
        }
        match self.typed_urls.first() {
            Some(TypedUrl { text, parsed: Err(reason) }) => {
                let start = b"expected a URL such as http://host:8080/path, got `";
                let reason = format!("` ({reason})");
                Err(ParseStop::rejected([start, &text[..], reason.as_bytes()].concat()))
            }
            _ => Ok(()),
        }
    }

    /// A warning that names URLs that are not the target, and the target.
    pub(crate) fn unused_url_warning(&self) -> Option<String> {
        let option = self.target_option().filter(|_| !self.typed_urls.is_empty())?;
        let urls: Vec<_> = self.typed_urls.iter().map(|url| String::from_utf8_lossy(&url.text)).collect();
        let noun = if urls.len() == 1 { "URL" } else { "URLs" };
        let (urls, target) = (urls.join("`, `"), self.target());
        Some(format!("warning: ignoring the {noun} `{urls}`, as {option} says what is loaded: {target}"))
    }

    /// The load, for messages.
    fn target(&self) -> String {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let uri = text(&self.uri());
        if let Some(file) = &self.servers {
            return format!("{uri} of the servers in {}, port {}", file.to_string_lossy(), self.port());
        }
        if let Some(path) = &self.unix_socket {
            return format!("{uri} at the socket {}", path.to_string_lossy());
        }
        let mut target = String::from(match (self.websocket().is_some(), self.uses_tls()) {
            (false, false) => "http://",
            (false, true) => "https://",
            (true, false) => "ws://",
            (true, true) => "wss://",
        });
        let host = text(self.server());
        let host = if host.contains(':') { format!("[{host}]") } else { host };
        let usual_port = if self.uses_tls() { 443 } else { 80 };
        target.push_str(&host);
        if self.port() != usual_port {
            write!(target, ":{}", self.port()).expect("writing to a string succeeds");
        }
        target + &uri
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::parsed;
    use super::*;

    /// Checks the target, which is the same in either order of the words.
    #[track_caller]
    fn check(argv: &[&str], target: &str) -> Args {
        let args = parsed(argv).unwrap();
        assert_eq!(args.target(), target, "{argv:?}");
        let turned: Vec<&str> = argv.iter().rev().copied().collect();
        assert_eq!(parsed(&turned).unwrap().target(), target, "{turned:?}");
        args
    }

    #[test]
    fn a_url_is_the_target_unless_an_option_says_so_wherever_it_stands() {
        check(&["http://b:2/b?q#f", "--timeout=1", "--server-name=x"], "http://b:2/b?q");
        check(&["http://b:2/b", "--server=a"], "http://a/");
        check(&["http://b:2/b", "--port=1"], "http://localhost:1/");
        check(&["http://b:2/b", "--uri=/a"], "http://localhost/a");
        check(&["http://b:2/b", "--uri=/"], "http://localhost/");
        check(&["https://b:2/b", "--server=::1", "--port=1", "--uri=/a"], "http://[::1]:1/a");
        check(&["http://b:2/b", "--server=a", "--ssl"], "https://a/");
        check(&["http://b:2/b", "--port=8080", "--servers=names"], "/ of the servers in names, port 8080");
        check(&["http://b:2/b", "--uri=/a", "--unix-socket=s"], "/a at the socket s");
    }

    #[test]
    fn a_server_may_be_named_without_a_scheme() {
        for (word, target) in [
            ("localhost", "http://localhost/"),
            ("LocalHost:8080", "http://localhost:8080/"),
            ("localhost:8080/path?q", "http://localhost:8080/path?q"),
            ("localhost/x", "http://localhost/x"),
            ("10.0.0.5", "http://10.0.0.5/"),
            ("10.0.0.5:8080", "http://10.0.0.5:8080/"),
            ("[::1]:8080", "http://[::1]:8080/"),
            ("[::1]/x", "http://[::1]/x"),
            ("example.com/x", "http://example.com/x"),
            ("web-1:80", "http://web-1/"),
        ] {
            check(&[word], target);
        }
        for word in [
            "foo", "12:30", "1", "true", "file.txt", "./x", "../x.y/z", "/x.y/z", "a b:80", "x:", ":80",
            "[::1", "[x]:1",
        ] {
            assert_eq!(TypedUrl::from_word(word.as_bytes()), None, "{word}");
        }
    }

    #[test]
    fn only_http_is_spoken() {
        for word in ["ftp://host/", "grpc://host/", "h2://host/"] {
            let message = format!(
                "expected a URL such as http://host:8080/path, got `{word}` (it begins neither with http:// nor with \
                 https://)"
            );
            assert_eq!(parsed(&[word]).map(drop), Err(ParseStop::rejected(message)));
        }
    }

    #[test]
    fn one_url_at_most_is_the_target() {
        let message = "expected one URL, got `http://b:2/b` and `c:80`\nhint: `httperf ab URL URL` compares two servers, \
                       --targets FILE takes URLs from a file";
        assert_eq!(parsed(&["http://b:2/b", "c:80"]).map(drop), Err(ParseStop::rejected(message)));
        check(&["http://b:2/b", "c:80", "--port=1"], "http://localhost:1/");
    }

    #[test]
    fn a_url_that_is_passed_over_is_named_with_the_target() {
        let warning = |argv: &[&str]| parsed(argv).unwrap().unused_url_warning();
        assert_eq!(warning(&["http://b:2/b"]), None);
        assert_eq!(warning(&["--server=a", "word"]), None);
        assert_eq!(
            warning(&["--uri=/a", "http://b:2/b", "--server=a"]).as_deref(),
            Some("warning: ignoring the URL `http://b:2/b`, as --server says what is loaded: http://a/a")
        );
        assert_eq!(
            warning(&["b:2", "http://c/", "--port=1"]).as_deref(),
            Some(
                "warning: ignoring the URLs `b:2`, `http://c/`, as --port says what is loaded: http://localhost:1/"
            )
        );
    }

    #[test]
    fn a_url_that_is_passed_over_need_not_be_a_good_one() {
        assert!(parsed(&["--port=1", "http://[", "http://user@host/"]).is_ok());
        assert!(parsed(&["http://["]).is_err());
    }
}

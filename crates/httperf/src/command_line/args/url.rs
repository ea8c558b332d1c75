//! The target as one URL, and whether it is the one that is loaded.

use std::fmt::Write as _;

use httperf_plan::url::{HttpUrl, UrlError};

use super::Args;
use crate::command_line::grammar::ParseStop;

/// A word that begins as a URL does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypedUrl {
    /// The word.
    pub text: Vec<u8>,
    /// Its parts, or the reason why it is no URL of a server. Only a URL that is the target has to be a good one.
    pub parsed: Result<HttpUrl, UrlError>,
}

impl TypedUrl {
    /// The word as a URL, if it begins with `http://` or `https://`.
    pub(crate) fn from_word(word: &[u8]) -> Option<Self> {
        let starts_with = |scheme: &str| {
            word.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme.as_bytes()))
        };
        let is_url = starts_with("http://") || starts_with("https://");
        is_url.then(|| Self { text: word.to_vec(), parsed: HttpUrl::parse(word) })
    }
}

impl Args {
    /// The URL that is the target.
    #[must_use]
    pub fn url(&self) -> Option<&HttpUrl> {
        let url = self.typed_url.as_ref().filter(|_| self.target_option().is_none())?;
        url.parsed.as_ref().ok()
    }

    /// The option that says what the target is, and leaves a URL no say: the first of several.
    pub(crate) fn target_option(&self) -> Option<&'static str> {
        let options = [
            ("--server", self.server.is_some()),
            ("--port", self.port.is_some()),
            ("--uri", self.uri.is_some()),
        ];
        options.into_iter().find(|&(_, is_given)| is_given).map(|(option, _)| option)
    }

    /// Refuses a target that is no URL of a server.
    pub(super) fn check_url(&self) -> Result<(), ParseStop> {
        match &self.typed_url {
            Some(TypedUrl { text, parsed: Err(reason) }) if self.target_option().is_none() => {
                let start = b"expected a URL such as http://host:8080/path, got `";
                let reason = format!("` ({reason})");
                Err(ParseStop::rejected([start, &text[..], reason.as_bytes()].concat()))
            }
            _ => Ok(()),
        }
    }

    /// A warning that names a URL that is not the target, and the target.
    pub(crate) fn unused_url_warning(&self) -> Option<String> {
        let (url, option) = (self.typed_url.as_ref()?, self.target_option()?);
        let url = String::from_utf8_lossy(&url.text);
        let target = self.target();
        Some(format!("warning: ignoring the URL `{url}`, as {option} says what is loaded: {target}"))
    }

    /// The load, for messages.
    fn target(&self) -> String {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let uri = text(self.uri());
        if let Some(file) = &self.servers {
            return format!("{uri} of the servers in {}, port {}", file.to_string_lossy(), self.port());
        }
        if let Some(path) = &self.unix_socket {
            return format!("{uri} at the socket {}", path.to_string_lossy());
        }
        let mut target = String::from(if self.uses_tls() { "https://" } else { "http://" });
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

    /// Returns the target, whatever the order of the words.
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
    fn of_several_urls_the_last_counts() {
        let args = parsed(&["http://b:2/b", "http://c"]).unwrap();
        assert_eq!((args.server(), args.port(), args.uri()), (&b"c"[..], 80, &b"/"[..]));
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
    }

    #[test]
    fn a_url_that_is_passed_over_need_not_be_a_good_one() {
        assert!(parsed(&["--port=1", "http://[", "http://user@host/"]).is_ok());
        assert!(parsed(&["http://["]).is_err());
    }
}

//! The file that `--wsesslog` names: sessions as bursts of requests.
//!
//! ```text
//! # A comment: `#` in the first column.
//! /page.html think=2.0
//!     /picture.gif
//!     /form method=POST contents="name=x&text=\"quoted\""
//! /next.html
//!
//! /a-session-of-its-own.html
//! ```
//!
//! A blank line ends a session. A line that starts in the first column starts a burst; an indented one
//! adds to it. There are no limits on the length of a line or of contents, nor on the number of sessions;
//! a NUL is a byte like any other.

use std::fmt;
use std::time::Duration;

use thiserror::Error;

use crate::{Burst, NonEmpty, Request, ScriptedSession, number};

/// The methods that a request may name. Text after the name is ignored (`method=POSTX` is POST), as existing scripts
/// rely on it. CONNECT is missing: its reply would turn the connection into a tunnel.
const METHODS: [&str; 10] =
    ["DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PROPFIND", "PUT", "REPORT", "TRACE"];

/// An error in a session file. Messages are those of the classic tool where it has one.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// A `method=` with an unknown method.
    #[error("did not recognize method '{method}' in {file_name}")]
    UnknownMethod {
        /// The name given.
        method: String,
        /// The name of the file.
        file_name: String,
    },
    /// An unknown argument after the URI.
    #[error("did not recognize arg '{word}' in {file_name}")]
    UnknownArgument {
        /// The argument.
        word: String,
        /// The name of the file.
        file_name: String,
    },
    /// The file ends where a string should continue on the next line.
    #[error("premature EOF seen in '{file_name}'")]
    PrematureEnd {
        /// The name of the file.
        file_name: String,
    },
    /// The file has only comments and blank lines.
    #[error("{file_name} does not contain any session")]
    NoSessions {
        /// The name of the file.
        file_name: String,
    },
}

/// A likely mistake in a session file, which does not stop the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The name of the file.
    pub file_name: String,
    /// The line, from 1.
    pub line: usize,
    /// The kind of mistake.
    pub kind: WarningKind,
}

/// The kind of mistake that a [`Warning`] describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarningKind {
    /// The line ends inside quotes; the line feed becomes the last byte of the contents.
    UnterminatedQuote,
    /// The carriage return of the line end becomes the last byte of the contents, as in the classic tool; a blank
    /// before it would prevent that.
    CarriageReturn,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file_name, line, kind } = self;
        let text = match kind {
            WarningKind::UnterminatedQuote => {
                "the quotes of contents= are not closed, so the line end is sent"
            }
            WarningKind::CarriageReturn => {
                "contents= ends with the carriage return of the line end, which is sent"
            }
        };
        write!(f, "{file_name}:{line}: {text}")
    }
}

/// Parses the sessions of a file, in order. A burst without `think=` is followed by `default_think`. `file_name` is
/// only for messages.
///
/// # Errors
///
/// If a line has an unknown method or argument, the file ends within a string, or it has no session.
pub fn parse(
    text: &[u8],
    file_name: &str,
    default_think: Duration,
) -> Result<(NonEmpty<ScriptedSession>, Vec<Warning>), Error> {
    let mut parser = Parser {
        input: Input { rest: text, line: 1 },
        file_name,
        default_think,
        sessions: Vec::new(),
        warnings: Vec::new(),
        bursts: Vec::new(),
    };
    while let Some(&first) = parser.input.rest.first() {
        parser.line(first)?;
    }
    parser.end_session();
    let sessions = NonEmpty::try_from(parser.sessions);
    let sessions = sessions.map_err(|_| Error::NoSessions { file_name: file_name.to_owned() })?;
    Ok((sessions, parser.warnings))
}

struct Parser<'a> {
    input: Input<'a>,
    file_name: &'a str,
    default_think: Duration,
    sessions: Vec<ScriptedSession>,
    warnings: Vec<Warning>,
    /// The bursts of the session being read.
    bursts: Vec<Burst>,
}

impl Parser<'_> {
    /// Reads a line that starts with the byte `first`, and the lines on which its contents continue.
    fn line(&mut self, first: u8) -> Result<(), Error> {
        if first == b'#' {
            self.input.skip_line();
            return Ok(());
        }
        self.input.skip_blanks();
        let uri = self.input.word();
        if uri.is_empty() {
            self.end_session();
            self.input.skip_line();
            return Ok(());
        }
        let mut request = Request { method: b"GET".to_vec(), uri: uri.to_vec(), contents: Vec::new() };
        let think = self.arguments(&mut request)?;
        match self.bursts.last_mut() {
            Some(burst) if is_space(first) => {
                burst.requests.push(request);
                burst.think = think.unwrap_or(burst.think);
            }
            _ => self
                .bursts
                .push(Burst { requests: [request].into(), think: think.unwrap_or(self.default_think) }),
        }
        Ok(())
    }

    /// Reads the arguments up to the end of the line into `request`, and returns the value of the last `think=`.
    fn arguments(&mut self, request: &mut Request) -> Result<Option<Duration>, Error> {
        let mut think = None;
        loop {
            self.input.skip_blanks();
            let start = self.input;
            let word = self.input.word();
            if word.is_empty() {
                self.input.skip_line();
                return Ok(think);
            }
            if let Some(name) = argument(word, b"method=") {
                request.method = self.method(name)?;
            } else if let Some(seconds) = argument(word, b"think=").and_then(number::leading_real) {
                think = Some(saturating_duration(seconds));
            } else if argument(word, b"contents=").is_some() {
                self.input = start;
                self.input.advance(b"contents=".len());
                request.contents = self.contents()?;
            } else {
                let word = String::from_utf8_lossy(word).into_owned();
                return Err(Error::UnknownArgument { word, file_name: self.file_name.to_owned() });
            }
        }
    }

    fn method(&self, name: &[u8]) -> Result<Vec<u8>, Error> {
        METHODS.iter().find(|method| name.starts_with(method.as_bytes())).map_or_else(
            || {
                let method = String::from_utf8_lossy(name).into_owned();
                Err(Error::UnknownMethod { method, file_name: self.file_name.to_owned() })
            },
            |method| Ok(method.as_bytes().to_vec()),
        )
    }

    /// Reads the string after `contents=`, which may continue over several lines. The blank, tab or line feed that ends
    /// it stays in the input.
    fn contents(&mut self) -> Result<Vec<u8>, Error> {
        let mut contents = Vec::new();
        let mut quote = None;
        let string = self.input.rest;
        while let Some(&byte) = self.input.rest.first() {
            match byte {
                b'\n' => break,
                b' ' | b'\t' if quote.is_none() => return Ok(contents),
                b'\'' | b'"' if quote.is_none() => quote = Some(byte),
                _ if quote == Some(byte) => quote = None,
                b'\\' => {
                    self.input.advance(1);
                    contents.extend(self.escaped()?);
                    continue;
                }
                _ => contents.push(byte),
            }
            self.input.advance(1);
        }
        let string = &string[..string.len() - self.input.rest.len()];
        let line_ends = !self.input.rest.is_empty();
        if quote.is_some() {
            self.warn(WarningKind::UnterminatedQuote);
            // As in the classic tool, open quotes include the line feed but not the next line.
            contents.extend(line_ends.then_some(b'\n'));
        } else if line_ends && string.last() == Some(&b'\r') {
            self.warn(WarningKind::CarriageReturn);
        }
        Ok(contents)
    }

    /// Returns the byte for the escape whose backslash was just read; `None` at the end of the file.
    fn escaped(&mut self) -> Result<Option<u8>, Error> {
        let Some(&byte) = self.input.rest.first() else { return Ok(None) };
        self.input.advance(1);
        match byte {
            b'n' => Ok(Some(b'\n')),
            b'r' => Ok(Some(b'\r')),
            b't' => Ok(Some(b'\t')),
            b'\n' if self.input.rest.is_empty() => {
                Err(Error::PrematureEnd { file_name: self.file_name.to_owned() })
            }
            other => Ok(Some(other)),
        }
    }

    fn warn(&mut self, kind: WarningKind) {
        let file_name = self.file_name.to_owned();
        self.warnings.push(Warning { file_name, line: self.input.line, kind });
    }

    fn end_session(&mut self) {
        if let Ok(bursts) = NonEmpty::try_from(std::mem::take(&mut self.bursts)) {
            self.sessions.push(ScriptedSession { bursts });
        }
    }
}

/// The text that is still to be read.
#[derive(Clone, Copy)]
struct Input<'a> {
    rest: &'a [u8],
    /// The number of the line in which `rest` starts.
    line: usize,
}

impl<'a> Input<'a> {
    fn advance(&mut self, count: usize) {
        let (read, rest) = self.rest.split_at(count);
        self.line += read.iter().filter(|&&byte| byte == b'\n').count();
        self.rest = rest;
    }

    fn skip_blanks(&mut self) {
        let is_blank = |byte: &&u8| is_space(**byte) && **byte != b'\n';
        self.advance(self.rest.iter().take_while(is_blank).count());
    }

    /// Reads up to the next white space.
    fn word(&mut self) -> &'a [u8] {
        let word = &self.rest[..self.rest.iter().take_while(|byte| !is_space(**byte)).count()];
        self.advance(word.len());
        word
    }

    /// Skips the rest of the line and its end.
    fn skip_line(&mut self) {
        let size = self.rest.iter().position(|&byte| byte == b'\n').map_or(self.rest.len(), |end| end + 1);
        self.advance(size);
    }
}

/// Returns true for white space as in C's `isspace`, which includes the vertical tab.
fn is_space(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == b'\x0b'
}

/// Returns the text after `name` in `word`, if it is not empty.
fn argument<'a>(word: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    word.strip_prefix(name).filter(|value| !value.is_empty())
}

/// Returns a think time. Negative numbers and NaN become 0, numbers that are too large the maximum.
fn saturating_duration(seconds: f64) -> Duration {
    if seconds > 0.0 { Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX) } else { Duration::ZERO }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const DEFAULT_THINK: Duration = Duration::from_millis(500);

    fn parsed(text: &[u8]) -> (NonEmpty<ScriptedSession>, Vec<Warning>) {
        parse(text, "F", DEFAULT_THINK).unwrap()
    }

    /// One string per session: requests as `METHOD URI contents`, `+` before one that joins a burst, and
    /// the think time in milliseconds after each burst.
    fn outline(sessions: &[ScriptedSession]) -> Vec<String> {
        let request = |request: &Request| {
            format!(
                "{} {} {}",
                request.method.escape_ascii(),
                request.uri.escape_ascii(),
                request.contents.escape_ascii()
            )
        };
        let burst = |burst: &Burst| {
            let requests: Vec<String> = burst.requests.iter().map(request).collect();
            format!("{}[{}]", requests.join("+"), burst.think.as_millis())
        };
        let session =
            |session: &ScriptedSession| session.bursts.iter().map(burst).collect::<Vec<_>>().join("|");
        sessions.iter().map(session).collect()
    }

    #[track_caller]
    fn check(text: &[u8], expected: &[&str]) {
        assert_eq!(outline(&parsed(text).0), expected, "{}", text.escape_ascii());
    }

    /// The line is `/a contents=TEXT`; a request `/b` on the next line must not be affected.
    #[track_caller]
    fn check_contents(text: &[u8], expected: &[u8]) {
        let (sessions, _) = parsed(&[b"/a contents=", text, b"\n/b\n"].concat());
        let requests: Vec<&Request> = sessions[0].bursts.iter().flat_map(|burst| &burst.requests).collect();
        assert_eq!(requests.len(), 2, "{}", text.escape_ascii());
        assert_eq!(requests[0].contents, expected, "{}", text.escape_ascii());
        assert_eq!((&requests[1].uri[..], &requests[1].contents[..]), (&b"/b"[..], &b""[..]));
    }

    #[track_caller]
    fn check_error(text: &[u8], expected: &str) {
        assert_eq!(parse(text, "F", DEFAULT_THINK).unwrap_err().to_string(), expected);
    }

    #[track_caller]
    fn check_warnings(text: &[u8], expected: &[&str]) {
        let warnings: Vec<String> = parsed(text).1.iter().map(ToString::to_string).collect();
        assert_eq!(warnings, expected);
    }

    #[test]
    fn the_example_of_the_manual_gives_two_sessions() {
        let text = b"# comment\n\
            /foo.html think=2.0\n\
            \t/pict1.gif\n\
            \t/pict2.gif\n\
            /foo2.html method=POST contents='Post data'\n\
            \t/pict3.gif\n\
            \t/pict4.gif\n\
            \n\
            /foo3.html method=POST contents=\"Multiline\\\ndata\"\n\
            /foo4.html method=HEAD\n";
        check(
            text,
            &[
                "GET /foo.html +GET /pict1.gif +GET /pict2.gif [2000]\
                 |POST /foo2.html Post data+GET /pict3.gif +GET /pict4.gif [500]",
                "POST /foo3.html Multiline\\ndata[500]|HEAD /foo4.html [500]",
            ],
        );
    }

    #[test]
    fn lines_of_white_space_end_a_session_and_comments_do_not() {
        check(b"\n\n/a\n \n\t\x0b\r\n/b\n", &["GET /a [500]", "GET /b [500]"]);
        check(b"/a\n#\n# x\n/b", &["GET /a [500]|GET /b [500]"]);
        check(b"/a\r\n\r\n/b\r\n", &["GET /a [500]", "GET /b [500]"]);
        check(b"\x0c/b\n/c\x0cmethod=POST\n", &["GET /b [500]|POST /c [500]"]);
    }

    #[test]
    fn an_indented_first_request_starts_a_burst() {
        check(b"  /a\n  /b\n/c\n", &["GET /a +GET /b [500]|GET /c [500]"]);
        check(b"/x\n\n /a\n", &["GET /x [500]", "GET /a [500]"]);
    }

    #[test]
    fn the_uri_is_taken_literally() {
        check(b"http://x/?q='a\"#f\n", &["GET http://x/?q=\\'a\\\"#f [500]"]);
        check(b"/a\0b\n/\xff\n", &["GET /a\\x00b [500]|GET /\\xff [500]"]);
    }

    #[test]
    fn a_method_is_matched_as_a_prefix() {
        check(b"/a method=POSTX\n/b method=HEADER\n", &["POST /a [500]|HEAD /b [500]"]);
        check(b"/a method=PROPFIND\n/b method=PATCH\n", &["PROPFIND /a [500]|PATCH /b [500]"]);
        check_error(b"/a method=post\n", "did not recognize method 'post' in F");
        check_error(b"/a method=POS\n", "did not recognize method 'POS' in F");
        check_error(b"/a method=\"POST\"\n", "did not recognize method '\"POST\"' in F");
    }

    #[test]
    fn the_last_think_of_a_burst_counts() {
        check(b"/a think=1\n /b think=2 think=3\n /c\n", &["GET /a +GET /b +GET /c [3000]"]);
    }

    #[test]
    fn a_think_time_is_read_leniently() {
        let think = |value: &str| parsed(format!("/a think={value}\n").as_bytes()).0[0].bursts[0].think;
        assert_eq!(think("0.1s"), Duration::from_millis(100));
        assert_eq!(think("+.5"), Duration::from_millis(500));
        assert_eq!(think("5."), Duration::from_secs(5));
        assert_eq!(think("1e-3"), Duration::from_millis(1));
        assert_eq!(think("2e"), Duration::from_secs(2));
        assert_eq!(think("0x1.8p1z"), Duration::from_secs(3));
        assert_eq!(think("0x"), Duration::ZERO);
        assert_eq!(think("-1"), Duration::ZERO);
        assert_eq!(think("nan"), Duration::ZERO);
        assert_eq!(think("INFINITY"), Duration::MAX);
        assert_eq!(think("1e999"), Duration::MAX);
        assert_eq!(think("0x1p99999999999"), Duration::MAX);
    }

    #[test]
    fn quoted_and_plain_parts_are_joined() {
        check_contents(b"abc", b"abc");
        check_contents(b"'a'b\"c d\"e", b"abc de");
        check_contents(b"'a\"b'", b"a\"b");
        check_contents(b"\"tab\there\"", b"tab\there");
        check_contents(b"''", b"");
        check_contents(b"a\x0bb", b"a\x0bb");
        check_contents(b"\"x\"think=2", b"xthink=2");
        check_contents(b"a\0\xffb", b"a\0\xffb");
    }

    #[test]
    fn a_backslash_escapes_inside_and_outside_quotes() {
        check_contents(b"\"a\\\"b\\'c\\\\d\\ e\\x\\0\\t\\n\\r|\"", b"a\"b'c\\d ex0\t\n\r|");
        check_contents(b"a\\ b\\\"c\\'\\\\", b"a b\"c'\\");
        check_contents(b"'a\\'b\"c'", b"a'b\"c");
    }

    #[test]
    fn contents_continue_after_a_backslash_at_the_end_of_a_line() {
        check_contents(b"\"a\\\nb\"", b"a\nb");
        check_contents(b"ab\\\ncd", b"ab\ncd");
        check_contents(b"\"a\\\n#b\\\n\\\n#c\"", b"a\n#b\n\n#c");
        check_contents(b"\"x\"\\\nyy", b"x\nyy");
        check(b"/a contents=\"a\\\nb\" method=POST\n  /c\n", &["POST /a a\\nb+GET /c [500]"]);
        check_error(b"/a contents=ab\\\n cd\n", "did not recognize arg 'cd' in F");
    }

    #[test]
    fn the_last_contents_of_a_line_count() {
        check_contents(b"'' contents=zz contents=yy", b"yy");
        check_contents(b"yy contents=''", b"");
    }

    #[test]
    fn an_end_after_a_continued_line_is_premature() {
        check_error(b"/a contents=ab\\\n", "premature EOF seen in 'F'");
        check_error(b"/a contents=\"q\\\n", "premature EOF seen in 'F'");
        check(b"/a contents=ab\\", &["GET /a ab[500]"]);
    }

    #[test]
    fn an_unterminated_quote_sends_the_line_end_and_warns() {
        let warning = "the quotes of contents= are not closed, so the line end is sent";
        check_contents(b"\"a b", b"a b\n");
        check_contents(b"x\"y\"\"", b"xy\n");
        check_contents(b"\"x\\\n", b"x\n\n");
        check(b"/a contents=\"ab", &["GET /a ab[500]"]);
        check_warnings(b"# c\n/a\n/b contents='x\\\ny\n/c\n", &[&format!("F:4: {warning}")]);
        check_warnings(b"/a contents='x' method=POST\n", &[]);
    }

    #[test]
    fn a_carriage_return_of_the_line_end_is_sent_and_warned_about() {
        let warning = "contents= ends with the carriage return of the line end, which is sent";
        check_contents(b"abc\r", b"abc\r");
        check_contents(b"\"abc\"\r", b"abc\r");
        check_contents(b"\"abc\" \r", b"abc");
        check_warnings(b"/a contents=abc\r\n/b contents=c\n", &[&format!("F:1: {warning}")]);
        check_warnings(b"/a contents='abc' method=POST\r\n/b contents='\r'\n/c contents=\\r\n", &[]);
    }

    #[test]
    fn other_words_are_not_recognized() {
        for word in ["x", "#x", "=x", "contents=", "method=", "think=", "think=abc", "METHOD=GET", "\\"] {
            check_error(
                format!("/a method=GET {word} 3\n").as_bytes(),
                &format!("did not recognize arg '{word}' in F"),
            );
        }
    }

    #[test]
    fn a_file_without_sessions_is_an_error() {
        check_error(b"", "F does not contain any session");
        check_error(b"# only\n\n \n#comments", "F does not contain any session");
    }

    #[test]
    fn neither_lines_nor_sessions_are_limited() {
        let body = vec![b'x'; 1_000_000];
        let (sessions, _) = parsed(&[b"/a contents=", &body[..], b"\n"].concat());
        assert_eq!(sessions[0].bursts[0].requests[0].contents, body);
        assert_eq!(parsed(&b"/a\n\n".repeat(1001)).0.len(), 1001);
    }

    fn printed(sessions: &[ScriptedSession]) -> Vec<u8> {
        let mut text = Vec::new();
        for session in sessions {
            text.extend(b"# a session\n");
            for burst in &session.bursts {
                for (index, request) in burst.requests.iter().enumerate() {
                    text.extend_from_slice(if index == 0 { b"" } else { b"\t" });
                    text.extend_from_slice(&request.uri);
                    text.extend_from_slice(b" method=");
                    text.extend_from_slice(&request.method);
                    text.extend(format!(" think={}", burst.think.as_secs_f64()).bytes());
                    text.extend_from_slice(b" contents=\"");
                    text.extend(request.contents.iter().flat_map(|&byte| match byte {
                        b'"' | b'\\' => vec![b'\\', byte],
                        // Both ways of writing a line feed.
                        b'\n' if index % 2 == 0 => b"\\n".to_vec(),
                        b'\n' => b"\\\n".to_vec(),
                        _ => vec![byte],
                    }));
                    text.extend_from_slice(b"\"\n");
                }
            }
            text.push(b'\n');
        }
        text
    }

    fn any_sessions() -> impl Strategy<Value = Vec<ScriptedSession>> {
        let method = prop::sample::select(METHODS.to_vec()).prop_map(|name| name.as_bytes().to_vec());
        let uri = prop::collection::vec(any::<u8>().prop_filter("no space", |byte| !is_space(*byte)), 0..20)
            .prop_map(|rest| [b"/", &rest[..]].concat());
        let contents = prop::collection::vec(any::<u8>(), 0..30);
        let request =
            (method, uri, contents).prop_map(|(method, uri, contents)| Request { method, uri, contents });
        let burst =
            (prop::collection::vec(request, 1..4), 0..10_000_u64).prop_map(|(requests, millis)| Burst {
                requests: requests.try_into().expect("there is one"),
                think: Duration::from_millis(millis),
            });
        let session = prop::collection::vec(burst, 1..4)
            .prop_map(|bursts| ScriptedSession { bursts: bursts.try_into().expect("there is one") });
        prop::collection::vec(session, 1..4)
    }

    /// Bytes that mean something in any order, and lines that begin like good ones.
    const ANY_TEXT: &str =
        "[ab#'\"\\\\ \\n\\t\\r=]{0,40}|([a/]( |\\t)?(contents=|think=|method=)[^ ]{0,9}\\n?){0,4}";

    proptest! {
        #[test]
        fn printed_sessions_come_back(sessions in any_sessions()) {
            let (again, warnings) = parsed(&printed(&sessions));
            prop_assert_eq!(again.into_vec(), sessions);
            prop_assert!(warnings.is_empty());
        }

        #[test]
        fn any_text_is_parsed_or_refused(text in ANY_TEXT) {
            // What is read has no empty list in it by its type.
            let _read = parse(text.as_bytes(), "F", DEFAULT_THINK);
        }

        #[test]
        fn a_number_is_read_as_the_standard_library_reads_it(number in 0.0..1e12_f64) {
            prop_assert_eq!(number::leading_real(format!("{number}").as_bytes()), Some(number));
            prop_assert_eq!(number::leading_real(format!("-{number:e}x").as_bytes()), Some(-number));
        }
    }
}

//! Header blocks of replies: the status line, and the fields that frame the body and decide on reuse (RFC
//! 9112, sections 4, 6.3 and 9.3).

use std::mem::MaybeUninit;

use super::framing::{Body, Chunked};
use crate::content::Content;
use crate::header_block::Marks;
use crate::limits::SERVER_TIMING_SIZE;
use crate::list::{self, elements};
use crate::status::{RESET_CONTENT, SWITCHING_PROTOCOLS, is_interim, is_status};
use crate::token::is_token;
use crate::{ProtocolError, Reuse, alt_svc};

/// The largest number of header fields that an engine reads, whatever its options.
pub const MAX_FIELDS: usize = 256;

/// The meaning of a header block.
#[derive(Clone, Debug)]
pub(super) struct Head {
    pub(super) status: u16,
    pub(super) reuse: Reuse,
    /// A `Connection` field said `close`, which no other revokes.
    closes: bool,
    chunked: bool,
    /// A transfer coding that lasts until the end of the connection.
    other_coding: bool,
    /// `Err` matters only if the body depends on it.
    length: Result<Option<u64>, ProtocolError>,
    pub(super) marks: Marks,
    pub(super) content: Content,
    /// The status line is valid, and nothing else in the block has to be kept.
    is_plain: bool,
}

/// The lists of values of fields that are wanted, each `None` if nobody wants it. A block that has one is not cached.
#[derive(Debug, Default)]
pub(super) struct Wanted<'a> {
    pub(super) server_timing: Option<&'a mut Vec<u8>>,
    pub(super) alt_svc: Option<&'a mut Vec<u8>>,
}

impl Wanted<'_> {
    fn sizes(&self) -> [usize; 2] {
        [&self.server_timing, &self.alt_svc].map(|list| list.as_ref().map_or(0, |list| list.len()))
    }

    fn truncate(&mut self, sizes: [usize; 2]) {
        for (list, size) in [&mut self.server_timing, &mut self.alt_svc].into_iter().zip(sizes) {
            if let Some(list) = list {
                list.truncate(size);
            }
        }
    }
}

impl Head {
    /// Parses a complete header block, from the status line to the empty line. Appends the values of fields that are
    /// wanted to `wanted`.
    pub(super) fn parse(
        block: &[u8],
        fields_max: usize,
        mut wanted: Wanted<'_>,
    ) -> Result<Self, ProtocolError> {
        let (line, fields_start) = first_line(block).ok_or(ProtocolError::BadHead)?;
        let StatusLine { status, persistent } = StatusLine::parse(line)?;
        // Behind it there is no HTTP.
        let persistent = persistent && status != SWITCHING_PROTOCOLS;
        let mut head = Self {
            status,
            reuse: if persistent { Reuse::Keep } else { Reuse::Close },
            closes: false,
            chunked: false,
            other_coding: false,
            length: Ok(None),
            marks: Marks::default(),
            content: Content::default(),
            is_plain: status != SWITCHING_PROTOCOLS,
        };
        if head.read_regular_fields(&block[fields_start..], fields_max, &mut wanted) {
            return Ok(head);
        }
        let mut fields = [const { MaybeUninit::<httparse::Header<'_>>::uninit() }; MAX_FIELDS];
        let fields = &mut fields[..fields_max.min(MAX_FIELDS)];
        let mut reply = httparse::Response::new(&mut []);
        let mut config = httparse::ParserConfig::default();
        config
            .ignore_invalid_headers_in_responses(true)
            .allow_obsolete_multiline_headers_in_responses(true)
            .allow_spaces_after_header_name_in_responses(true)
            .allow_multiple_spaces_in_response_status_delimiters(true);
        match config.parse_response_with_uninit_headers(&mut reply, block, fields) {
            Ok(httparse::Status::Complete(_)) => head.read_fields(reply.headers, &mut wanted),
            Ok(httparse::Status::Partial) => return Err(ProtocolError::BadHead),
            Err(httparse::Error::TooManyHeaders) => {
                return Err(ProtocolError::TooManyFields { limit: fields_max });
            }
            // Most likely a status line that the classic tool accepts and httparse does not, such as `HTTP/1.2 200`: its
            // fields count all the same.
            Err(_) => {
                let mut copy = b"HTTP/1.0 200\r\n".to_vec();
                copy.extend_from_slice(&block[fields_start..]);
                let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
                let mut reply = httparse::Response::new(&mut fields[..fields_max.min(MAX_FIELDS)]);
                match config.parse_response(&mut reply, &copy) {
                    Ok(httparse::Status::Complete(_)) => head.read_fields(reply.headers, &mut wanted),
                    Err(httparse::Error::TooManyHeaders) => {
                        return Err(ProtocolError::TooManyFields { limit: fields_max });
                    }
                    Ok(httparse::Status::Partial) | Err(_) => return Err(ProtocolError::BadHead),
                }
            }
        }
        if status == SWITCHING_PROTOCOLS {
            head.reuse = Reuse::Close;
        }
        // Lines that httparse skips may be fields to others.
        head.marks = Marks::of(block);
        Ok(head)
    }

    /// Reads field lines if all of them are regular, as those of nearly every server are. Returns false, with
    /// nothing read, if one is not: then httparse decides.
    fn read_regular_fields(&mut self, lines: &[u8], fields_max: usize, wanted: &mut Wanted<'_>) -> bool {
        if !self.is_plain || !has_regular_bytes(lines) {
            return false;
        }
        let mut read = self.clone();
        let kept = wanted.sizes();
        let mut rest = lines;
        for _ in 0..=fields_max.min(MAX_FIELDS) {
            if rest == b"\r\n" {
                *self = read;
                return true;
            }
            let Some((name, value, after)) = regular_field(rest) else { break };
            read.read_field(name, value, wanted);
            rest = after;
        }
        wanted.truncate(kept);
        false
    }

    fn read_fields(&mut self, fields: &[httparse::Header<'_>], wanted: &mut Wanted<'_>) {
        for field in fields {
            self.read_field(field.name.as_bytes(), field.value, wanted);
        }
    }

    fn read_field(&mut self, name: &[u8], value: &[u8], wanted: &mut Wanted<'_>) {
        // The length alone rules out nearly all names.
        match name.len() {
            7 if name.eq_ignore_ascii_case(b"alt-svc") => {
                if let Some(kept) = &mut wanted.alt_svc {
                    alt_svc::put(value, kept);
                    self.is_plain = false;
                }
            }
            10 if name.eq_ignore_ascii_case(b"connection") => self.read_connection(value),
            10 => self.marks.add(name),
            12 => self.content.read_field(name, value),
            16 => {
                self.marks.add(name);
                self.content.read_field(name, value);
            }
            13 if name.eq_ignore_ascii_case(b"server-timing") => {
                if let Some(kept) = &mut wanted.server_timing {
                    list::join(value, kept, SERVER_TIMING_SIZE);
                    self.is_plain = false;
                }
            }
            14 if name.eq_ignore_ascii_case(b"content-length") => self.read_length(value),
            17 if name.eq_ignore_ascii_case(b"transfer-encoding") => self.read_coding(value),
            _ => {}
        }
    }

    /// <https://www.rfc-editor.org/rfc/rfc9112#section-9.3>
    fn read_connection(&mut self, value: &[u8]) {
        for option in elements(value) {
            if option.eq_ignore_ascii_case(b"close") {
                self.closes = true;
                self.reuse = Reuse::Close;
            }
            if option.eq_ignore_ascii_case(b"keep-alive") && !self.closes {
                self.reuse = Reuse::Keep;
            }
        }
    }

    /// <https://www.rfc-editor.org/rfc/rfc9112#section-6.3>: a list of equal values is one value.
    fn read_length(&mut self, value: &[u8]) {
        // It is no list (RFC 9110, section 8.6): an empty item is an error.
        for item in value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii) {
            self.length = match (&self.length, parse_length(item)) {
                (Ok(None), Some(length)) => Ok(Some(length)),
                (Ok(Some(before)), Some(length)) if *before == length => Ok(Some(length)),
                _ => Err(ProtocolError::BadLength),
            };
        }
    }

    /// <https://www.rfc-editor.org/rfc/rfc9112#section-6.1>: only the last coding delimits the body.
    fn read_coding(&mut self, value: &[u8]) {
        for coding in elements(value) {
            self.chunked = coding.eq_ignore_ascii_case(b"chunked");
            self.other_coding = !self.chunked && !coding.eq_ignore_ascii_case(b"identity");
        }
    }

    /// Returns whether the whole meaning is in this value, without an error.
    pub(super) fn is_plain(&self) -> bool {
        self.is_plain && self.length.is_ok()
    }

    pub(super) fn is_interim(&self) -> bool {
        is_interim(self.status)
    }

    /// Returns the framing of the body (<https://www.rfc-editor.org/rfc/rfc9112#section-6.3>).
    /// `has_no_content` overrides the fields.
    #[inline]
    pub(super) fn body(&self, has_no_content: bool) -> Result<Body, ProtocolError> {
        if has_no_content {
            return Ok(Body::Length(0));
        }
        if self.chunked {
            return Ok(Body::Chunked(Chunked::new()));
        }
        if self.other_coding {
            return Ok(Body::UntilClose);
        }
        Ok(match self.length.clone()? {
            Some(length) => Body::Length(length),
            // It has no content (RFC 9110, section 15.3.6), so that nothing follows if its fields do not say so.
            None if self.status == RESET_CONTENT => Body::Length(0),
            None => Body::UntilClose,
        })
    }
}

/// Returns whether these lines contain no control characters except tabs and CR LF line ends.
fn has_regular_bytes(lines: &[u8]) -> bool {
    let (mut returns, mut feeds, mut others) = (0_usize, 0_usize, 0_usize);
    for &byte in lines {
        returns += usize::from(byte == b'\r');
        feeds += usize::from(byte == b'\n');
        others += usize::from(byte < b' ' && byte != b'\t' || byte == 0x7F);
    }
    // `regular_field` checks that each feed has its own return before it.
    others == returns + feeds && returns == feeds
}

/// Splits off the first line, if it is a field line without blanks around its name: name, value, and the
/// lines after it.
fn regular_field(lines: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let name_size = lines.iter().take_while(|&&byte| is_token(byte)).count();
    let value = lines[name_size..].strip_prefix(b":").filter(|_| name_size > 0)?;
    let end = memchr::memchr(b'\n', value)?;
    let line = value[..end].strip_suffix(b"\r")?;
    Some((&lines[..name_size], line.trim_ascii(), &value[end + 1..]))
}

/// The first line of a reply: `HTTP/A.B STATUS`, with anything after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StatusLine {
    /// The status, 100 to 999.
    pub(super) status: u16,
    /// True if the version keeps connections open unless told otherwise (1.1 and later).
    persistent: bool,
}

impl StatusLine {
    /// Parses a line without its end. As lenient as the classic tool: any version, any number of blanks.
    pub(super) fn parse(line: &[u8]) -> Result<Self, ProtocolError> {
        Self::read(line).unwrap_or_else(|| Err(ProtocolError::BadStatusLine { line: line.into() }))
    }

    fn read(line: &[u8]) -> Option<Result<Self, ProtocolError>> {
        let rest = line.strip_prefix(b"HTTP/")?;
        let (major, rest) = number(rest)?;
        let (minor, rest) = number(rest.strip_prefix(b".")?)?;
        let digits = rest.trim_ascii_start();
        if digits.len() == rest.len() {
            return None;
        }
        let negative = digits.first() == Some(&b'-');
        let (status, _) = number(digits.strip_prefix(b"-").unwrap_or(digits))?;
        if negative || !is_status(status) {
            return Some(Err(ProtocolError::BadStatus));
        }
        Some(Ok(Self { status: status as u16, persistent: (major, minor) >= (1, 1) }))
    }
}

/// Splits off a decimal number, which saturates.
fn number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let digits = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let value = bytes[..digits]
        .iter()
        .fold(0u64, |value, digit| value.saturating_mul(10).saturating_add(u64::from(digit - b'0')));
    (digits > 0).then_some((value, &bytes[digits..]))
}

fn parse_length(item: &[u8]) -> Option<u64> {
    if !item.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(item).ok()?.parse().ok()
}

/// Finds the end of a header block that begins in `bytes`, searching from `from` on: the offset after its
/// empty line. Empty lines before the status line belong to the block.
pub(super) fn find_end(bytes: &[u8], from: usize) -> Option<usize> {
    let start = leading_line_ends(bytes);
    let mut at = from.max(start);
    while let Some(offset) = memchr::memchr(b'\n', &bytes[at..]) {
        let next = at + offset + 1;
        match bytes.get(next..) {
            Some([b'\n', ..]) => return Some(next + 1),
            Some([b'\r', b'\n', ..]) => return Some(next + 2),
            _ => at = next,
        }
    }
    None
}

/// Returns the first line that is not empty, without its end, and the offset of the next one; `None` while it
/// is incomplete.
pub(super) fn first_line(bytes: &[u8]) -> Option<(&[u8], usize)> {
    let start = leading_line_ends(bytes);
    let end = start + memchr::memchr(b'\n', &bytes[start..])?;
    let line = &bytes[start..end];
    Some((line.strip_suffix(b"\r").unwrap_or(line), end + 1))
}

pub(super) fn leading_line_ends(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|&&byte| byte == b'\r' || byte == b'\n').count()
}

/// Returns the fields of a header block as handed out by [`crate::Event::ReplyHead`]: names and values
/// without blanks around them. Lines that are no fields are skipped.
#[must_use]
pub fn fields(head: &[u8]) -> Fields<'_> {
    Fields { rest: first_line(head).map_or(&[], |(_, end)| &head[end..]) }
}

/// Returns the values of the fields with this name, in any case, as [`fields`] reads them. Far quicker than to read all
/// fields.
pub fn values<'a>(head: &'a [u8], name: &[u8]) -> impl Iterator<Item = &'a [u8]> {
    // No field is read with such a name.
    let is_name = !name.is_empty()
        && name.trim_ascii().len() == name.len()
        && !name.iter().any(|byte| matches!(byte, b':' | b'\n'));
    let lines = first_line(head).filter(|_| is_name).map_or(&b""[..], |(_, end)| &head[end - 1..]);
    let first = name.first().copied().unwrap_or_default();
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            let start = from + line_start(&lines[from..], first)?;
            from = start;
            let line = &lines[start..];
            if let Some((own, rest)) = line.split_at_checked(name.len())
                && own.eq_ignore_ascii_case(name)
            {
                let rest = &rest[..memchr::memchr(b'\n', rest).unwrap_or(rest.len())];
                if let Some(value) = rest.trim_ascii_start().strip_prefix(b":") {
                    return Some(value.trim_ascii());
                }
            }
        }
    })
}

/// Finds the first line after a line end that begins with this byte, in either case if it is a letter; some that it finds
/// begin with another. Most replies are searched for fields that they have not, or have once: blocks without such a line
/// are passed over whole.
fn line_start(bytes: &[u8], first: u8) -> Option<usize> {
    const BLOCK: usize = 32;
    let is_start = |end: u8, next: u8| (end == b'\n') & (next | 0x20 == first | 0x20);
    let mut from = 0;
    while let Some((block, _)) = bytes[from..].split_first_chunk::<{ BLOCK + 1 }>() {
        let pairs = block[..BLOCK].iter().zip(&block[1..]);
        if pairs.fold(false, |found, (&end, &next)| found | is_start(end, next)) {
            break;
        }
        from += BLOCK;
    }
    let place = bytes[from..].windows(2).position(|pair| is_start(pair[0], pair[1]))?;
    Some(from + place + 1)
}

/// See [`fields`].
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Fields<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        while !self.rest.is_empty() {
            let end = memchr::memchr(b'\n', self.rest).unwrap_or(self.rest.len());
            let line = &self.rest[..end];
            self.rest = self.rest.get(end + 1..).unwrap_or_default();
            if let Some(colon) = memchr::memchr(b':', line) {
                let name = &line[..colon];
                if !name.is_empty() && !name.first().is_some_and(u8::is_ascii_whitespace) {
                    return Some((name.trim_ascii_end(), line[colon + 1..].trim_ascii()));
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn wanted(lists: &mut [Vec<u8>; 2]) -> Wanted<'_> {
        let [server_timing, alt_svc] = lists;
        Wanted { server_timing: Some(server_timing), alt_svc: Some(alt_svc) }
    }

    /// Reads a header block in both ways: the quick one's result, if the block is regular, and the parser's.
    fn both(lines: &str, fields_max: usize) -> (Option<String>, String) {
        let block = format!("HTTP/1.1 200 OK\r\n{lines}\r\n");
        let told = |read: Result<Head, ProtocolError>, lists: &[Vec<u8>; 2]| {
            let [timing, elsewhere] = lists.each_ref().map(|list| String::from_utf8_lossy(list));
            read.map_or_else(|error| error.to_string(), |head| format!("{head:?} {timing} {elsewhere}"))
        };
        let (_, fields_start) = first_line(block.as_bytes()).unwrap();
        let mut lists = [Vec::new(), Vec::new()];
        // The quick way is not taken after an unusual status line.
        let fresh = || Head {
            status: 200,
            reuse: Reuse::Keep,
            closes: false,
            chunked: false,
            other_coding: false,
            length: Ok(None),
            marks: Marks::default(),
            content: Content::default(),
            is_plain: true,
        };
        let mut head = fresh();
        let is_regular =
            head.read_regular_fields(&block.as_bytes()[fields_start..], fields_max, &mut wanted(&mut lists));
        let quick = is_regular.then(|| told(Ok(head), &lists));
        let mut lists = [Vec::new(), Vec::new()];
        let mut head = fresh();
        let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
        let mut reply = httparse::Response::new(&mut fields[..fields_max]);
        let mut config = httparse::ParserConfig::default();
        config
            .ignore_invalid_headers_in_responses(true)
            .allow_obsolete_multiline_headers_in_responses(true)
            .allow_spaces_after_header_name_in_responses(true);
        let read = match config.parse_response(&mut reply, block.as_bytes()) {
            Ok(_) => {
                head.read_fields(reply.headers, &mut wanted(&mut lists));
                Ok(head)
            }
            Err(_) => Err(ProtocolError::BadHead),
        };
        (quick, told(read, &lists))
    }

    #[test]
    fn usual_field_lines_need_no_parser_and_unusual_ones_do() {
        for (lines, is_regular) in [
            ("", true),
            ("Content-Length: 5\r\nDate: Sat, 21 Nov 2026 10:33:42 GMT\r\n", true),
            ("A:b\r\nB:\r\nC: \t d \t \r\n", true),
            ("A: b\n", false),
            ("A : b\r\n", false),
            (": b\r\n", false),
            ("A: b\r\n folded\r\n", false),
            ("A: b\0\r\n", false),
            ("A: b\rc\r\n", false),
            ("no field\r\n", false),
            ("A: b\r\n\r\nB: c\r\n", false),
        ] {
            let (quick, parsed) = both(lines, 8);
            assert_eq!(quick.is_some(), is_regular, "{lines:?}");
            assert!(quick.is_none_or(|quick| quick == parsed), "{lines:?}");
        }
        assert_eq!(both(&"A: b\r\n".repeat(9), 8).0, None, "more fields than may be");
        assert!(both(&"A: b\r\n".repeat(8), 8).0.is_some());
    }

    proptest! {
        #[test]
        fn field_lines_mean_the_same_read_quickly(
            lines in prop::collection::vec(
                (
                    prop_oneof![
                        Just("Content-Length"), Just("connection"), Just("Transfer-Encoding"), Just("Server-Timing"),
                        Just("Alt-Svc"), Just("X"), Just("a b"), Just("")
                    ],
                    prop_oneof![
                        "[ -~]{0,8}", "[0-9]{1,3}", Just("close".to_owned()), Just(" chunked".to_owned()),
                        Just("keep-alive, close".to_owned()), "[\\x00-\\x7f]{0,4}", "\\PC{0,3}"
                    ],
                    prop_oneof![9 => Just("\r\n"), 1 => Just("\n"), 1 => Just("\r")],
                ),
                0..10,
            )
        ) {
            let lines: String = lines.iter().map(|(name, value, end)| format!("{name}:{value}{end}")).collect();
            let (quick, parsed) = both(&lines, 8);
            if let Some(quick) = quick {
                prop_assert_eq!(quick, parsed);
            }
        }
    }

    proptest! {
        #[test]
        fn values_are_those_of_the_fields_with_the_name(
            parts in prop::collection::vec(
                prop::sample::select(&["a", "A", "ab", "b", ":", ": ", " ", "\t", "\r\n", "\n", "\r", "a: b\r\n", "HTTP/1.1 200", "x-a-name-of-31-bytes-and-a-line: "][..]),
                0..24,
            ),
            name in prop::sample::select(&["a", "ab", "AB", "b", "", "a:", " a", "a ", "a b", "a\nb", "HTTP/1.1 200", "a\r"][..]),
        ) {
            let head = parts.concat();
            let expected: Vec<&[u8]> = fields(head.as_bytes())
                .filter(|(own, _)| own.eq_ignore_ascii_case(name.as_bytes()))
                .map(|(_, value)| value)
                .collect();
            let found: Vec<&[u8]> = values(head.as_bytes(), name.as_bytes()).collect();
            prop_assert_eq!(found, expected);
        }
    }
}

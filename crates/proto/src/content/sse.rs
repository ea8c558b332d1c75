//! Server-sent events: a stream of `text/event-stream` read as it arrives.
//!
//! <https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream>

use std::time::Duration;

use memchr::{memchr, memchr2};

/// The media type of event streams.
pub const MEDIA_TYPE: &[u8] = b"text/event-stream";

/// The size of an event's data, and of a line, that a parser keeps by default, in bytes.
pub const EVENT_SIZE: usize = 1 << 20;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Returns true if this value of `Content-Type` names an event stream, with or without parameters.
#[must_use]
pub fn is_media_type(value: &[u8]) -> bool {
    let essence = value.split(|&byte| byte == b';').next().unwrap_or_default();
    essence.trim_ascii().eq_ignore_ascii_case(MEDIA_TYPE)
}

/// Something that is complete in a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item<'a> {
    /// An event.
    Event(Event<'a>),
    /// A comment: servers send them to keep connections alive.
    Comment,
    /// The time that a client should wait before it connects again.
    Retry(Duration),
}

/// An event. Its text is as it came: UTF-8, unless the server broke the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event<'a> {
    /// The type, if the event named one. An event without one is a `message`.
    pub name: Option<&'a [u8]>,
    /// The data; lines are joined by line feeds.
    pub data: &'a [u8],
    /// The identifier that was named last, by this event or an earlier one; empty without one.
    pub last_id: &'a [u8],
    /// True if data or a line was longer than the parser keeps; what follows is missing.
    pub is_cut: bool,
}

/// A parser of an event stream. The same bytes give the same items wherever they are cut.
///
/// An item is complete when the end of its last line has arrived; a CR ends a line, whether or not an LF follows. Memory is
/// bounded: of a longer event, and of a longer line, the beginning is kept.
#[derive(Debug)]
pub struct Parser {
    /// The number of bytes kept of a line, and of an event's data.
    size_max: usize,
    /// The beginning of a line whose end has not arrived.
    line: Vec<u8>,
    /// A part of that line was dropped.
    is_line_cut: bool,
    /// The last line ended with CR, so an LF that follows belongs to it.
    skips_feed: bool,
    /// The first line may begin with a byte order mark.
    is_first_line: bool,
    name: Vec<u8>,
    /// The data of the event so far, each line with a line feed behind it.
    data: Vec<u8>,
    last_id: Vec<u8>,
    is_cut: bool,
}

impl Default for Parser {
    fn default() -> Self {
        Self::new(EVENT_SIZE)
    }
}

impl Parser {
    /// Makes a parser that keeps at most `size_max` bytes of a line, and of an event's data.
    #[must_use]
    pub fn new(size_max: usize) -> Self {
        Self {
            size_max,
            line: Vec::new(),
            is_line_cut: false,
            skips_feed: false,
            is_first_line: true,
            name: Vec::new(),
            data: Vec::new(),
            last_id: Vec::new(),
            is_cut: false,
        }
    }

    /// Reads the next bytes of the stream, and calls `found` for each item that they complete.
    pub fn push(&mut self, mut bytes: &[u8], found: &mut impl FnMut(Item<'_>)) {
        if self.skips_feed && !bytes.is_empty() {
            self.skips_feed = false;
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        while let Some(end) = memchr2(b'\r', b'\n', bytes) {
            let (line, terminator) = (&bytes[..end], bytes[end]);
            bytes = &bytes[end + 1..];
            if terminator == b'\r' {
                match bytes.first() {
                    Some(b'\n') => bytes = &bytes[1..],
                    Some(_) => {}
                    None => self.skips_feed = true,
                }
            }
            self.end_line(line, found);
        }
        self.keep_line(bytes);
    }

    /// Returns true if the stream would end within an event: bytes have come since the last empty line.
    #[must_use]
    pub fn is_within_event(&self) -> bool {
        !self.line.is_empty() || !self.data.is_empty() || !self.name.is_empty()
    }

    /// Keeps a part of a line whose end has not arrived.
    fn keep_line(&mut self, part: &[u8]) {
        // Nothing is needed of a comment but that it is one.
        let room = if self.line.first() == Some(&b':') { 0 } else { self.size_max - self.line.len() };
        self.is_line_cut |= part.len() > room;
        self.line.extend_from_slice(&part[..part.len().min(room)]);
    }

    /// Handles a line, of which `rest` came last.
    fn end_line(&mut self, rest: &[u8], found: &mut impl FnMut(Item<'_>)) {
        if self.line.is_empty() && rest.len() <= self.size_max {
            self.handle_line(rest, found);
            return;
        }
        self.keep_line(rest);
        let mut line = std::mem::take(&mut self.line);
        self.is_cut |= std::mem::take(&mut self.is_line_cut) && line.first() != Some(&b':');
        self.handle_line(&line, found);
        line.clear();
        self.line = line;
    }

    fn handle_line(&mut self, mut line: &[u8], found: &mut impl FnMut(Item<'_>)) {
        if std::mem::take(&mut self.is_first_line) {
            line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        }
        if line.is_empty() {
            self.dispatch(found);
            return;
        }
        let (name, value) = match memchr(b':', line) {
            Some(0) => {
                found(Item::Comment);
                return;
            }
            Some(colon) => {
                let value = &line[colon + 1..];
                (&line[..colon], value.strip_prefix(b" ").unwrap_or(value))
            }
            None => (line, &[][..]),
        };
        match name {
            b"data" => {
                let room = self.size_max.saturating_sub(self.data.len());
                self.is_cut |= value.len() > room;
                self.data.extend_from_slice(&value[..value.len().min(room)]);
                // With the line feed, an event whose data is an empty line differs from one without data.
                if self.data.len() <= self.size_max {
                    self.data.push(b'\n');
                }
            }
            b"event" => {
                self.name.clear();
                self.name.extend_from_slice(value);
            }
            b"id" if !value.contains(&b'\0') => {
                self.last_id.clear();
                self.last_id.extend_from_slice(value);
            }
            b"retry" => {
                if let Some(time) = milliseconds(value) {
                    found(Item::Retry(time));
                }
            }
            _ => {}
        }
    }

    /// Hands out the event that an empty line ends. One without data is no event.
    fn dispatch(&mut self, found: &mut impl FnMut(Item<'_>)) {
        if let Some((_, data)) = self.data.split_last() {
            found(Item::Event(Event {
                name: (!self.name.is_empty()).then_some(&self.name),
                data,
                last_id: &self.last_id,
                is_cut: self.is_cut,
            }));
        }
        self.data.clear();
        self.name.clear();
        self.is_cut = false;
    }
}

/// Reads a number of milliseconds in decimal digits alone.
fn milliseconds(value: &[u8]) -> Option<Duration> {
    if value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(value).ok()?.parse().ok().map(Duration::from_millis)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// An item with bytes of its own.
    #[derive(Clone, Debug, PartialEq, Eq)]
    enum Owned {
        Event { name: Option<String>, data: String, id: String, is_cut: bool },
        Comment,
        Retry(u64),
    }

    fn owned(item: Item<'_>) -> Owned {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        match item {
            Item::Event(Event { name, data, last_id, is_cut }) => {
                Owned::Event { name: name.map(text), data: text(data), id: text(last_id), is_cut }
            }
            Item::Comment => Owned::Comment,
            Item::Retry(time) => Owned::Retry(time.as_millis() as u64),
        }
    }

    fn parsed(size_max: usize, pieces: &[&[u8]]) -> (Vec<Owned>, bool) {
        let (mut parser, mut items) = (Parser::new(size_max), Vec::new());
        pieces.iter().for_each(|piece| parser.push(piece, &mut |item| items.push(owned(item))));
        (items, parser.is_within_event())
    }

    fn event(data: &str) -> Owned {
        Owned::Event { name: None, data: data.to_owned(), id: String::new(), is_cut: false }
    }

    fn named(name: &str, data: &str, id: &str) -> Owned {
        Owned::Event {
            name: (!name.is_empty()).then(|| name.to_owned()),
            data: data.to_owned(),
            id: id.to_owned(),
            is_cut: false,
        }
    }

    /// Checks the items of a stream, cut in two at each byte, and byte by byte.
    #[track_caller]
    fn check(stream: &[u8], expected: &[Owned]) {
        for cut in 0..=stream.len() {
            let (items, _) = parsed(EVENT_SIZE, &[&stream[..cut], &stream[cut..]]);
            assert_eq!(items, expected, "cut at byte {cut}");
        }
        let bytes: Vec<&[u8]> = stream.chunks(1).collect();
        assert_eq!(parsed(EVENT_SIZE, &bytes).0, expected, "byte by byte");
    }

    #[test]
    fn lines_end_with_cr_lf_or_both() {
        check(b"data: a\n\ndata: b\n\n", &[event("a"), event("b")]);
        check(b"data: a\r\rdata: b\r\r", &[event("a"), event("b")]);
        check(b"data: a\r\n\r\ndata: b\r\n\r\n", &[event("a"), event("b")]);
        check(b"data: a\n\rdata: b\r\n\n", &[event("a"), event("b")]);
    }

    #[test]
    fn an_event_is_complete_with_the_carriage_return_of_its_empty_line() {
        let (items, _) = parsed(EVENT_SIZE, &[b"data: a\r\n\r"]);
        assert_eq!(items, [event("a")]);
    }

    #[test]
    fn examples_of_the_standard_are_read_as_it_says() {
        check(b"data: YHOO\ndata: +2\ndata: 10\n\n", &[event("YHOO\n+2\n10")]);
        check(
            b": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n",
            &[
                Owned::Comment,
                named("", "first event", "1"),
                named("", "second event", ""),
                named("", " third event", ""),
            ],
        );
        // The last block is without an empty line behind it.
        check(b"data\n\ndata\ndata\n\ndata:", &[event(""), event("\n")]);
        check(b"data:test\n\ndata: test\n\n", &[event("test"), event("test")]);
    }

    #[test]
    fn a_byte_order_mark_counts_at_the_beginning_alone() {
        check(b"\xEF\xBB\xBFdata: a\n\n", &[event("a")]);
        check(b"\xEF\xBB\xBF\xEF\xBB\xBFdata: a\n\n", &[]);
        check(b"\n\xEF\xBB\xBFdata: a\n\n", &[]);
    }

    #[test]
    fn names_last_for_an_event_and_identifiers_for_longer() {
        check(b"event: add\nid: 7\ndata: x\n\ndata: y\n\n", &[named("add", "x", "7"), named("", "y", "7")]);
        check(b"event: lost\n\ndata: y\n\n", &[event("y")]);
        check(b"id: 7\n\nid: a\0b\ndata: y\n\n", &[named("", "y", "7")]);
    }

    #[test]
    fn a_retry_is_a_number_of_milliseconds() {
        check(b"retry: 1500\n", &[Owned::Retry(1500)]);
        for wrong in ["", "-1", "1.5", "1s", "99999999999999999999999"] {
            check(format!("retry: {wrong}\n").as_bytes(), &[]);
        }
    }

    #[test]
    fn unknown_fields_are_ignored() {
        check(b"Data: a\ndata : b\ncolour: red\ndata: c\n\n", &[event("c")]);
    }

    #[test]
    fn the_end_of_a_stream_within_an_event_is_seen() {
        for (stream, is_within) in [
            ("", false),
            ("data: a\n\n", false),
            ("data: a\n", true),
            ("dat", true),
            (": c\n", false),
            ("\r", false),
        ] {
            assert_eq!(parsed(EVENT_SIZE, &[stream.as_bytes()]).1, is_within, "{stream:?}");
        }
    }

    #[test]
    fn endless_lines_comments_and_events_take_bounded_memory() {
        let mut parser = Parser::new(100);
        let mut count = 0;
        for start in [&b"data: "[..], b": ", b"id: ", b"unknown"] {
            parser.push(start, &mut |_| count += 1);
            (0..1000).for_each(|_| parser.push(&[b'x'; 1000], &mut |_| count += 1));
            parser.push(b"\n", &mut |_| count += 1);
        }
        (0..1000).for_each(|_| parser.push(b"data: 0123456789\n", &mut |_| count += 1));
        let held = parser.line.capacity() + parser.data.capacity() + parser.last_id.capacity();
        assert!(held < 5000, "{held} bytes are held");
        assert_eq!(count, 1, "the comment");
    }

    #[test]
    fn what_is_longer_than_kept_is_cut_and_said() {
        let cut =
            |data: &str| Owned::Event { name: None, data: data.into(), id: String::new(), is_cut: true };
        let items = |stream: &[u8]| {
            let whole = parsed(8, &[stream]).0;
            assert_eq!(whole, parsed(8, &stream.chunks(1).collect::<Vec<_>>()).0, "byte by byte");
            whole
        };
        assert_eq!(items(b"data: 0123456789\n\ndata:ok\n\n"), [cut("01"), event("ok")]);
        assert_eq!(items(b"data:012\ndata:345\ndata:678\n\n"), [cut("012\n345\n")]);
        assert_eq!(items(b":0123456789\ndata:ok\n\n"), [Owned::Comment, event("ok")]);
    }

    proptest! {
        #[test]
        fn where_a_stream_is_cut_does_not_show(
            parts in prop::collection::vec(
                prop::sample::select(vec![
                    "data", "event", "id", "retry", ":", " ", "\r", "\n", "\r\n", "x", "7", "\u{feff}", "\0", "é",
                ]),
                0..60,
            ),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
            size_max in 1_usize..40,
        ) {
            let stream = parts.concat().into_bytes();
            let mut ends: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
            ends.push(stream.len());
            ends.sort_unstable();
            let mut start = 0;
            let pieces: Vec<&[u8]> =
                ends.into_iter().map(|end| &stream[std::mem::replace(&mut start, end)..end]).collect();
            prop_assert_eq!(parsed(size_max, &pieces), parsed(size_max, &[&stream]));
        }

        /// A plain reading of the standard, of the whole text at once.
        #[test]
        fn events_are_those_of_the_standards_algorithm(
            parts in prop::collection::vec(
                prop::sample::select(vec![
                    "data: a", "data:b", "data", "event: e", "event", "id: 1", "id", ": c", "retry: 5", "other: x",
                    "\r", "\n", "\r\n", "\n\n",
                ]),
                0..40,
            ),
        ) {
            let text = parts.concat();
            prop_assert_eq!(parsed(EVENT_SIZE, &[text.as_bytes()]).0, by_the_standard(&text));
        }
    }

    fn by_the_standard(text: &str) -> Vec<Owned> {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let complete = text.rfind('\n').map_or("", |end| &text[..end]);
        let (mut items, mut data, mut name, mut id) =
            (Vec::new(), String::new(), String::new(), String::new());
        if !text.contains('\n') {
            return items;
        }
        for line in complete.split('\n') {
            if line.is_empty() {
                if !data.is_empty() {
                    data.pop();
                    items.push(named(&name, &data, &id));
                }
                (data, name) = (String::new(), String::new());
                continue;
            }
            let (field, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match field {
                "" => items.push(Owned::Comment),
                "data" => data += &format!("{value}\n"),
                "event" => name = value.to_owned(),
                "id" => id = value.to_owned(),
                "retry" => items.extend(value.parse().ok().map(Owned::Retry)),
                _ => {}
            }
        }
        items
    }
}

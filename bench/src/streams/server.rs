//! The stream server answers each request with tokens at fixed intervals, as OpenAI's API streams them, and records when
//! each request came and each token left. It has one thread, one poller, and a heap of pending tokens.
//!
//! A request comes when the kernel receives its last segment. A token leaves when the server starts writing it, however
//! late that is. Both are instants of the wall clock, which the kernel uses.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use rustix::net::{SendFlags, send};

use crate::open_files;
use crate::stamped::{Connection, Ready, Sockets, wall_clock_ns};
use crate::words::Words;

/// Instants of an answer's tokens, and the file for the record.
#[derive(Debug)]
pub(crate) struct Options {
    first: Duration,
    gap: Duration,
    tokens: u32,
    /// File to write the record to.
    record: PathBuf,
}

impl Options {
    pub(crate) fn parse(mut words: Words) -> anyhow::Result<Self> {
        let mut ms = |name: &str| -> anyhow::Result<Duration> {
            let value = words.value(name)?;
            Ok(Duration::from_millis(
                value.with_context(|| format!("{name}: expected a number, got nothing"))?,
            ))
        };
        let (first, gap) = (ms("--first-ms")?, ms("--gap-ms")?);
        let options = Options {
            first,
            gap,
            tokens: words.value("--tokens")?.context("--tokens: expected a number, got nothing")?,
            record: words.value("--record")?.context("--record: expected a file, got nothing")?,
        };
        words.finish()?;
        ensure!(options.tokens > 0, "--tokens: expected a number above 0, got 0");
        Ok(options)
    }
}

/// An answer: when its request came, and when each of its tokens left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stream {
    pub(super) request_ns: u64,
    pub(super) tokens_ns: Vec<u64>,
}

/// Serves until SIGTERM or SIGINT, then writes its record.
pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    open_files::raise();
    let mut server = Server::start(options)?;
    println!("listening on {}", server.sockets.address()?);
    server.serve()?;
    write_record(&options.record, &server.streams)?;
    let complete = server.streams.iter().filter(|stream| stream.tokens_ns.len() == server.tokens.len());
    println!(
        "server: requests {} complete {} unstamped {}",
        server.streams.len(),
        complete.count(),
        server.unstamped_count
    );
    Ok(())
}

/// Writes a line for each answer: when its request came, and when each token left.
fn write_record(path: &Path, streams: &[Stream]) -> anyhow::Result<()> {
    let cannot_write = || format!("cannot write {}", path.display());
    let mut file = BufWriter::new(File::create(path).with_context(cannot_write)?);
    for stream in streams {
        let mut line = stream.request_ns.to_string();
        for token_ns in &stream.tokens_ns {
            write!(line, " {token_ns}").expect("a String takes any text");
        }
        writeln!(file, "{line}").with_context(cannot_write)?;
    }
    file.flush().with_context(cannot_write)
}

/// Parses a server's record, in the order in which requests came.
pub(super) fn read_record(text: &str) -> anyhow::Result<Vec<Stream>> {
    let read = |line: &str| -> Option<Stream> {
        let mut instants = line.split(' ').map(|word| word.parse().ok());
        Some(Stream { request_ns: instants.next()??, tokens_ns: instants.collect::<Option<Vec<u64>>>()? })
    };
    let mut streams = text
        .lines()
        .map(|line| read(line).with_context(|| format!("expected an answer, got `{line}`")))
        .collect::<anyhow::Result<Vec<Stream>>>()?;
    streams.sort_by_key(|stream| stream.request_ns);
    Ok(streams)
}

struct Server {
    sockets: Sockets,
    first: Duration,
    gap: Duration,
    /// Header and first event, sent right away.
    opening: Vec<u8>,
    /// A chunk for each token of an answer.
    tokens: Vec<Vec<u8>>,
    /// Chunks behind the last token.
    closing: Vec<u8>,
    streams: Vec<Stream>,
    due: BinaryHeap<Reverse<Due>>,
    /// Requests without a kernel stamp, which count from when they were read.
    unstamped_count: u64,
}

/// A pending token. The earliest comes first; of several at the same time, that of the earliest request.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Due {
    at: Instant,
    /// Index among the answers.
    stream: usize,
    token: usize,
    connection: u64,
}

impl Server {
    fn start(options: &Options) -> anyhow::Result<Self> {
        Ok(Server {
            sockets: Sockets::listen()?,
            first: options.first,
            gap: options.gap,
            opening: opening(),
            tokens: (0..options.tokens).map(token_chunk).collect(),
            closing: closing_chunks(options.tokens),
            streams: Vec::new(),
            due: BinaryHeap::new(),
            unstamped_count: 0,
        })
    }

    fn serve(&mut self) -> anyhow::Result<()> {
        loop {
            for ready in self.sockets.wait(self.due.peek().map(|Reverse(due)| due.at))? {
                match ready {
                    Ready::Stop => return Ok(()),
                    Ready::Listener => self.sockets.accept()?,
                    Ready::Connection(number) => self.read(number),
                }
            }
            self.send_due();
        }
    }

    /// Reads from a connection, and begins the answer to each request.
    fn read(&mut self, number: u64) {
        let Some(arrival) = self.sockets.read(number) else { return };
        let Some(connection) = self.sockets.connection(number) else { return };
        while let Some(method) = take_request(&mut connection.input) {
            let begins = method == b"POST";
            if !sends_all(connection, if begins { &self.opening } else { NOT_FOUND }) {
                self.sockets.close(number);
                return;
            }
            if begins {
                self.unstamped_count += u64::from(!arrival.is_stamped);
                let request_ns = arrival.received_ns;
                let stream = self.streams.len();
                self.streams.push(Stream { request_ns, tokens_ns: Vec::with_capacity(self.tokens.len()) });
                self.due.push(Reverse(Due {
                    at: arrival.read + self.first,
                    stream,
                    token: 0,
                    connection: number,
                }));
            }
        }
        self.sockets.close_if_endless(number);
    }

    fn send_due(&mut self) {
        while let Some(Reverse(due)) = self.due.peek() {
            if due.at > Instant::now() {
                return;
            }
            let Some(Reverse(due)) = self.due.pop() else { return };
            // A client that has gone gets nothing more.
            let Some(connection) = self.sockets.connection(due.connection) else { continue };
            // Before the call: the peer may have it before the call returns.
            let now_ns = wall_clock_ns();
            let mut is_sent = sends_all(connection, &self.tokens[due.token]);
            if is_sent {
                self.streams[due.stream].tokens_ns.push(now_ns);
            }
            let next = due.token + 1;
            if next == self.tokens.len() {
                is_sent = is_sent && sends_all(connection, &self.closing);
            } else if is_sent {
                // From now: a server that was late does not catch up, as a model does not. Tokens that are written
                // together would come together at any client.
                self.due.push(Reverse(Due { at: Instant::now() + self.gap, token: next, ..due }));
            }
            if !is_sent {
                self.sockets.close(due.connection);
            }
        }
    }
}

/// Returns true if the socket took all of it. A client that lets an answer pile up beyond its socket has its connection
/// closed.
fn sends_all(connection: &Connection, bytes: &[u8]) -> bool {
    send(&connection.socket, bytes, SendFlags::NOSIGNAL) == Ok(bytes.len())
}

/// Clients may ask what else the server has.
const NOT_FOUND: &[u8] = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";

/// The header, and the event of the role, which is no token.
fn opening() -> Vec<u8> {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
    let role =
        event(r#"[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}],"usage":null"#);
    [head.as_bytes(), &chunk(&role)].concat()
}

/// The chunk of a token, counted from 0: one event.
fn token_chunk(index: u32) -> Vec<u8> {
    chunk(&event(&format!(
        r#"[{{"index":0,"delta":{{"content":"t{index} "}},"finish_reason":null}}],"usage":null"#
    )))
}

/// The chunks behind the last token, as one write: the reason of the end, the usage, and the marks of the end.
fn closing_chunks(tokens: u32) -> Vec<u8> {
    let reason = event(r#"[{"index":0,"delta":{},"finish_reason":"length"}],"usage":null"#);
    let usage = event(&format!(
        r#"[],"usage":{{"prompt_tokens":8,"completion_tokens":{tokens},"total_tokens":{}}}"#,
        tokens + 8
    ));
    let mut bytes = chunk(&format!("{reason}{usage}data: [DONE]\n\n"));
    bytes.extend_from_slice(b"0\r\n\r\n");
    bytes
}

fn event(choices: &str) -> String {
    format!(
        "data: {{\"id\":\"bench\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"bench\",\
         \"choices\":{choices}}}\n\n"
    )
}

fn chunk(text: &str) -> Vec<u8> {
    format!("{:x}\r\n{text}\r\n", text.len()).into_bytes()
}

/// Takes the first request, if it and its body are complete, and returns its method. Requests have bodies of known
/// lengths, or none.
fn take_request(bytes: &mut Vec<u8>) -> Option<Vec<u8>> {
    const END: &[u8] = b"\r\n\r\n";
    let head = bytes.windows(END.len()).position(|window| window == END)? + END.len();
    let text = String::from_utf8_lossy(&bytes[..head]).to_ascii_lowercase();
    let body: usize = text
        .lines()
        .find_map(|line| line.strip_prefix("content-length:"))
        .map_or(Some(0), |length| length.trim().parse().ok())?;
    if bytes.len() < head.checked_add(body)? {
        return None;
    }
    let method = bytes.split(|&byte| byte == b' ').next().unwrap_or_default().to_vec();
    bytes.drain(..head + body);
    Some(method)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_taken_with_its_body() {
        let text = b"POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n{\"a\"}GET / HTTP/1.1\r\n\r\n";
        let end = text.len() - b"GET / HTTP/1.1\r\n\r\n".len();
        for cut in 0..end {
            assert_eq!(take_request(&mut text[..cut].to_vec()), None, "{cut}");
        }
        let mut bytes = text.to_vec();
        assert_eq!(take_request(&mut bytes).as_deref(), Some(&b"POST"[..]));
        assert_eq!(take_request(&mut bytes).as_deref(), Some(&b"GET"[..]));
        assert_eq!(take_request(&mut bytes), None);
    }

    #[test]
    fn chunks_have_the_lengths_that_they_tell() {
        let opening = String::from_utf8(opening()).unwrap();
        let (_, body) = opening.split_once("\r\n\r\n").unwrap();
        let token = String::from_utf8(token_chunk(7)).unwrap();
        let closing = String::from_utf8(closing_chunks(7)).unwrap();
        let closing = closing.strip_suffix("0\r\n\r\n").unwrap();
        for chunk in [body, &token, closing] {
            let (size, text) = chunk.split_once("\r\n").unwrap();
            let text = text.strip_suffix("\r\n").unwrap();
            assert_eq!(usize::from_str_radix(size, 16).unwrap(), text.len(), "{chunk}");
            for event in text.split_terminator("\n\n") {
                let data = event.strip_prefix("data: ").unwrap();
                assert!(
                    data == "[DONE]" || serde_json::from_str::<serde_json::Value>(data).is_ok(),
                    "{data}"
                );
            }
        }
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let stream = |request_ns, tokens_ns: &[u64]| Stream { request_ns, tokens_ns: tokens_ns.to_vec() };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("record");
        write_record(&path, &[stream(5, &[7, 9]), stream(3, &[])]).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(read_record(&text).unwrap(), [stream(3, &[]), stream(5, &[7, 9])]);
        assert!(read_record("5 x\n").is_err());
    }

    #[test]
    fn of_tokens_the_earliest_is_due_first() {
        let start = Instant::now();
        let due = |ms, stream| {
            Reverse(Due { at: start + Duration::from_millis(ms), stream, token: 0, connection: 0 })
        };
        let mut heap: BinaryHeap<_> = [due(3, 0), due(1, 2), due(1, 1)].into();
        let order: Vec<usize> = std::iter::from_fn(|| heap.pop()).map(|Reverse(due)| due.stream).collect();
        assert_eq!(order, [1, 2, 0]);
    }
}

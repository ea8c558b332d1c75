//! The reference server answers each request after a predetermined delay, and records when the request came
//! and when its reply left. It has one thread, one poller, and a heap of pending replies.
//!
//! A request comes when the kernel receives its last segment, even during a stall. A reply leaves when the
//! server starts writing it. Both are instants of the wall clock, which the kernel uses.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::Context;
use rustix::net::{SendFlags, send};

use super::delays::{Delays, Sequence};
use crate::exchanges::Exchange;
use crate::open_files;
use crate::stamped::{Ready, Sockets, wall_clock_ns};
use crate::words::Words;

/// Delays of the server, and the file for its record.
#[derive(Debug)]
pub(crate) struct Options {
    delays: Delays,
    /// File to write the record to.
    record: PathBuf,
    stall: Option<Stall>,
}

/// A period in which nothing is read and nothing is answered.
#[derive(Debug, Clone, Copy)]
struct Stall {
    /// Time after the first request.
    after: Duration,
    length: Duration,
}

impl Options {
    pub(crate) fn parse(mut words: Words) -> anyhow::Result<Self> {
        let after: Option<u64> = words.value("--stall-after-ms")?;
        let length: Option<u64> = words.value("--stall-ms")?;
        let options = Options {
            delays: words.value("--delays")?.context("--delays: expected a name, got nothing")?,
            record: words.value("--record")?.context("--record: expected a file, got nothing")?,
            stall: after.zip(length).map(|(after, length)| Stall {
                after: Duration::from_millis(after),
                length: Duration::from_millis(length),
            }),
        };
        words.finish()?;
        Ok(options)
    }
}

/// Serves until SIGTERM or SIGINT, then writes its record.
pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    open_files::raise();
    let mut server = Server::start(options)?;
    println!("listening on {}", server.sockets.address()?);
    server.serve()?;
    write_record(&options.record, &server.exchanges)?;
    let reply_count = server.exchanges.iter().filter(|exchange| exchange.replied_ns.is_some()).count();
    println!(
        "server: requests {} replies {reply_count} unstamped {}",
        server.exchanges.len(),
        server.unstamped_count
    );
    Ok(())
}

/// Writes a line for each request: its connection, when it came, and when its reply left, if it did.
fn write_record(path: &Path, exchanges: &[Exchange]) -> anyhow::Result<()> {
    let cannot_write = || format!("cannot write {}", path.display());
    let mut file = BufWriter::new(File::create(path).with_context(cannot_write)?);
    for exchange in exchanges {
        let replied = exchange.replied_ns.map_or_else(|| "-".to_owned(), |time_ns| time_ns.to_string());
        writeln!(file, "{} {} {replied}", exchange.connection, exchange.request_ns)
            .with_context(cannot_write)?;
    }
    file.flush().with_context(cannot_write)
}

/// Parses a server's record, in the order in which requests came.
pub(crate) fn read_record(text: &str) -> anyhow::Result<Vec<Exchange>> {
    let read = |line: &str| -> Option<Exchange> {
        let mut words = line.split(' ');
        let connection = words.next()?.parse().ok()?;
        let request_ns = words.next()?.parse().ok()?;
        let replied_ns = match words.next()? {
            "-" => None,
            time => Some(time.parse().ok()?),
        };
        Some(Exchange { connection, request_ns, replied_ns })
    };
    let mut exchanges = text
        .lines()
        .map(|line| read(line).with_context(|| format!("expected a request, got `{line}`")))
        .collect::<anyhow::Result<Vec<Exchange>>>()?;
    exchanges.sort_by_key(|exchange| exchange.request_ns);
    Ok(exchanges)
}

/// Initial capacity, to avoid moving the record.
const EXPECTED_EXCHANGES: usize = 1 << 20;

struct Server {
    sockets: Sockets,
    delays: Sequence,
    stall: Option<Stall>,
    first_request: Option<Instant>,
    exchanges: Vec<Exchange>,
    due: BinaryHeap<Reverse<Due>>,
    /// Requests without a kernel stamp, which count from when they were read.
    unstamped_count: u64,
}

/// A pending reply. The earliest comes first; of several at the same time, that of the earliest request.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Due {
    at: Instant,
    /// Index among the exchanges.
    exchange: usize,
    /// True if the connection ends with it.
    closes: bool,
}

impl Server {
    fn start(options: &Options) -> anyhow::Result<Self> {
        Ok(Server {
            sockets: Sockets::listen()?,
            delays: options.delays.sequence(),
            stall: options.stall,
            first_request: None,
            exchanges: Vec::with_capacity(EXPECTED_EXCHANGES),
            due: BinaryHeap::new(),
            unstamped_count: 0,
        })
    }

    fn serve(&mut self) -> anyhow::Result<()> {
        loop {
            let ready = self.sockets.wait(self.due.peek().map(|Reverse(due)| due.at))?;
            self.stall_if_due();
            for ready in ready {
                match ready {
                    Ready::Stop => return Ok(()),
                    Ready::Listener => self.sockets.accept()?,
                    Ready::Connection(number) => self.read(number),
                }
            }
            self.answer_due();
        }
    }

    fn stall_if_due(&mut self) {
        let (Some(stall), Some(first)) = (self.stall, self.first_request) else { return };
        if first.elapsed() >= stall.after {
            self.stall = None;
            sleep(stall.length);
        }
    }

    /// Reads from a connection, and schedules the reply to each request.
    fn read(&mut self, number: u64) {
        let Some(arrival) = self.sockets.read(number) else { return };
        let Some(connection) = self.sockets.connection(number) else { return };
        while let Some(head) = take_head(&mut connection.input) {
            self.first_request.get_or_insert(arrival.read);
            self.unstamped_count += u64::from(!arrival.is_stamped);
            let exchange = self.exchanges.len();
            self.exchanges.push(Exchange {
                connection: number,
                request_ns: arrival.received_ns,
                replied_ns: None,
            });
            let at = arrival.read + self.delays.draw();
            self.due.push(Reverse(Due { at, exchange, closes: asks_to_close(&head) }));
        }
        self.sockets.close_if_endless(number);
    }

    fn answer_due(&mut self) {
        while let Some(Reverse(due)) = self.due.peek() {
            if due.at > Instant::now() {
                return;
            }
            let exchange = &mut self.exchanges[due.exchange];
            if let Some(connection) = self.sockets.connection(exchange.connection) {
                let reply = if due.closes { CLOSING_REPLY } else { REPLY };
                // Before the call: the peer may have it before the call returns.
                let now_ns = wall_clock_ns();
                let sent = send(&connection.socket, reply, SendFlags::NOSIGNAL);
                // A reply fits in an empty socket; a peer that reads none has its connection closed.
                let is_sent = sent == Ok(reply.len());
                if is_sent {
                    exchange.replied_ns = Some(now_ns);
                }
                if due.closes || !is_sent {
                    self.sockets.close(exchange.connection);
                }
            }
            self.due.pop();
        }
    }
}

/// ab, which speaks HTTP/1.0, needs to be told that the connection stays open.
const REPLY: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\nConnection: keep-alive\r\n\r\nHello world\n";
const CLOSING_REPLY: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\nConnection: close\r\n\r\nHello world\n";

/// Takes the head of the first request, if it is complete. Requests have no bodies.
fn take_head(bytes: &mut Vec<u8>) -> Option<Vec<u8>> {
    const END: &[u8] = b"\r\n\r\n";
    let end = bytes.windows(END.len()).position(|window| window == END)? + END.len();
    Some(bytes.drain(..end).collect())
}

/// Returns true if a request asks to close the connection after the reply: over HTTP/1.0 by default, over
/// HTTP/1.1 if it says so.
fn asks_to_close(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head).to_ascii_lowercase();
    let mut lines = text.lines();
    let is_http10 = lines.next().is_some_and(|line| line.ends_with("http/1.0"));
    match lines.find_map(|line| line.strip_prefix("connection:")).map(str::trim) {
        Some("close") => true,
        Some("keep-alive") => false,
        _ => is_http10,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_taken_when_all_of_it_is_here() {
        let text = b"GET /a HTTP/1.1\r\n\r\nGET /b HTTP/1.1\r\n\r\n";
        let (first, second) = text.split_at(text.len() / 2);
        for cut in 0..first.len() {
            assert_eq!(take_head(&mut first[..cut].to_vec()), None, "{cut}");
        }
        let mut bytes = text.to_vec();
        assert_eq!(take_head(&mut bytes).as_deref(), Some(first));
        assert_eq!(take_head(&mut bytes).as_deref(), Some(second));
        assert_eq!(take_head(&mut bytes), None);
    }

    #[test]
    fn a_connection_is_closed_when_the_request_says_so() {
        for (head, expected) in [
            ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", false),
            ("GET / HTTP/1.1\r\nHost: a\r\nConnection: Close\r\n\r\n", true),
            ("GET / HTTP/1.0\r\nHost: a\r\n\r\n", true),
            ("GET / HTTP/1.0\r\nconnection: Keep-Alive\r\n\r\n", false),
        ] {
            assert_eq!(asks_to_close(head.as_bytes()), expected, "{head}");
        }
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let at = |request_ns, replied_ns| Exchange { connection: 7, request_ns, replied_ns };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("record");
        write_record(&path, &[at(5, Some(9)), at(3, None)]).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(read_record(&text).unwrap(), [at(3, None), at(5, Some(9))]);
        assert!(read_record("7 5\n").is_err());
    }

    #[test]
    fn of_replies_the_earliest_is_due_first() {
        let start = Instant::now();
        let due = |milliseconds, exchange| {
            Reverse(Due { at: start + Duration::from_millis(milliseconds), exchange, closes: false })
        };
        let mut heap: BinaryHeap<_> = [due(3, 0), due(1, 2), due(1, 1)].into();
        let order: Vec<usize> = std::iter::from_fn(|| heap.pop()).map(|Reverse(due)| due.exchange).collect();
        assert_eq!(order, [1, 2, 0]);
    }
}

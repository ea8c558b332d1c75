//! A minimal open loop over kept connections: a request when it is due, on the connection that has been free for longest. It counts
//! replies by their sizes, over HTTP/2 by the frames that end them, and reads one clock to keep to its schedule.
//!
//! It can wake for every reply, or sleep for the schedule alone and read what has come when the next request is due.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddrV4, TcpStream};
use std::num::NonZeroU64;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use boring::ssl::{SslConnector, SslMethod, SslStream, SslVerifyMode};
use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::thread::{ClockId, clock_nanosleep_relative, set_current_timer_slack};

use super::{EVENT_BATCH, READ_SIZE, announced_size, cpu_times};
use crate::words::Words;

/// Options of the loop.
#[derive(Debug)]
pub(crate) struct Options {
    target: SocketAddrV4,
    uri: String,
    connections: usize,
    /// Requests per second.
    rate: f64,
    seconds: f64,
    is_http2: bool,
    is_secured: bool,
    /// Sleeps for the schedule alone.
    reads_late: bool,
    /// The time by which requests may be late so that they go together.
    slack: Duration,
}

impl Options {
    pub(crate) fn parse(mut words: Words) -> anyhow::Result<Self> {
        let options = Options {
            target: words.value("--target")?.context("--target: expected ADDR:PORT, got nothing")?,
            uri: words.value("--uri")?.unwrap_or_else(|| "/".to_owned()),
            connections: words.value("--connections")?.unwrap_or(64),
            rate: words.value("--rate")?.context("--rate: expected a number, got nothing")?,
            seconds: words.value("--seconds")?.unwrap_or(3.0),
            is_http2: words.flag("--http2"),
            is_secured: words.flag("--tls"),
            reads_late: words.flag("--read-late"),
            slack: Duration::from_micros(words.value("--slack-us")?.unwrap_or(0)),
        };
        words.finish()?;
        ensure!(options.connections > 0, "--connections: expected at least 1, got `0`");
        ensure!(options.rate > 0.0, "--rate: expected above 0, got `{}`", options.rate);
        Ok(options)
    }

    fn due(&self, number: u64) -> Duration {
        Duration::from_secs_f64(number as f64 / self.rate)
    }
}

/// Runs the loop and prints two lines: counts and costs.
pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    // Linux wakes sleepers up to 50 us late otherwise.
    set_current_timer_slack(NonZeroU64::new(1))?;
    let poller = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let mut buffer = vec![0; READ_SIZE];
    let mut connections = Vec::with_capacity(options.connections);
    for number in 0..options.connections {
        let connection = Connection::open(options, &mut buffer)?;
        let flags = EventFlags::IN | EventFlags::ET;
        epoll::add(&poller, connection.stream.fd(), EventData::new_u64(number as u64), flags)?;
        connections.push(connection);
    }
    let start = Instant::now();
    let replies = carry_out(options, &poller, &mut connections, &mut buffer, start)?;
    let duration = start.elapsed().as_secs_f64();
    let (user, system) = cpu_times()?;
    println!("bare: connections {} replies {replies} errors 0 duration {duration:.6} s", options.connections);
    println!("bare: cpu user {:.6} s system {:.6} s", user.as_secs_f64(), system.as_secs_f64());
    Ok(())
}

/// Makes the requests, and returns the number of replies.
fn carry_out(
    options: &Options,
    poller: &OwnedFd,
    connections: &mut [Connection],
    buffer: &mut [u8],
    start: Instant,
) -> anyhow::Result<u64> {
    let total = (options.rate * options.seconds) as u64;
    let mut free: VecDeque<usize> = (0..connections.len()).collect();
    let (mut sent, mut replies) = (0, 0);
    let mut events = Vec::with_capacity(EVENT_BATCH);
    while replies < total {
        let elapsed = start.elapsed();
        while sent < total
            && options.due(sent) <= elapsed
            && let Some(number) = free.pop_front()
        {
            connections[number].request()?;
            sent += 1;
        }
        let left = (sent < total && !free.is_empty())
            .then(|| (options.due(sent) + options.slack).saturating_sub(start.elapsed()));
        let mut timeout = left.map(Timespec::try_from).transpose().context("the rate is too low")?;
        if let Some(timeout) = timeout.as_mut().filter(|_| options.reads_late) {
            // One that is cut short wakes the loop early, and it sleeps again.
            let _ = clock_nanosleep_relative(ClockId::Monotonic, &*timeout);
            *timeout = Timespec { tv_sec: 0, tv_nsec: 0 };
        }
        match epoll::wait(poller, spare_capacity(&mut events), timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        for event in events.drain(..) {
            let number = event.data.u64() as usize;
            if connections[number].read(buffer)? {
                replies += 1;
                free.push_back(number);
            }
        }
    }
    Ok(replies)
}

/// A socket below TLS. All that has come is read at once: TLS asks for the header of each record first.
#[derive(Debug)]
struct ReadAhead {
    socket: TcpStream,
    ahead: Vec<u8>,
    /// Bytes of it that were handed on, and those that are there.
    used: usize,
    filled: usize,
}

impl Read for ReadAhead {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.used == self.filled {
            (self.used, self.filled) = (0, 0);
            self.filled = self.socket.read(&mut self.ahead)?;
        }
        let count = buffer.len().min(self.filled - self.used);
        buffer[..count].copy_from_slice(&self.ahead[self.used..self.used + count]);
        self.used += count;
        Ok(count)
    }
}

impl Write for ReadAhead {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A transport that does not block.
enum Stream {
    Clear(TcpStream),
    Secured(Box<SslStream<ReadAhead>>),
}

impl Stream {
    fn fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Clear(stream) => stream.as_fd(),
            Self::Secured(stream) => stream.get_ref().socket.as_fd(),
        }
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Clear(stream) => stream.write_all(bytes),
            Self::Secured(stream) => stream.write_all(bytes),
        }
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Clear(stream) => stream.read(buffer),
            Self::Secured(stream) => stream.read(buffer),
        }
    }
}

/// A connection with one request at a time.
struct Connection {
    stream: Stream,
    wire: Wire,
}

/// The protocol of a connection, as far as it tells where a reply ends.
enum Wire {
    Http1 { request: Vec<u8>, reply_size: usize, received: usize },
    Http2(Frames),
}

impl Connection {
    /// Opens a connection and makes a request, whose reply tells how long the others are.
    fn open(options: &Options, buffer: &mut [u8]) -> anyhow::Result<Self> {
        let tcp = TcpStream::connect(options.target)?;
        tcp.set_nodelay(true)?;
        let mut stream = if options.is_secured {
            let mut builder = SslConnector::builder(SslMethod::tls())?;
            builder.set_verify(SslVerifyMode::NONE);
            builder.set_alpn_protos(if options.is_http2 { b"\x02h2" } else { b"\x08http/1.1" })?;
            let tcp = ReadAhead { socket: tcp, ahead: vec![0; READ_SIZE], used: 0, filled: 0 };
            Stream::Secured(Box::new(builder.build().connect("localhost", tcp)?))
        } else {
            Stream::Clear(tcp)
        };
        let wire = if options.is_http2 {
            stream.write_all(&preface())?;
            Wire::Http2(Frames::new(&options.uri, options.is_secured))
        } else {
            let request =
                format!("GET {} HTTP/1.1\r\nUser-Agent: bare\r\nHost: 127.0.0.1\r\n\r\n", options.uri);
            stream.write_all(request.as_bytes())?;
            let mut reply = Vec::new();
            let reply_size = loop {
                let count = stream.read(buffer)?;
                ensure!(count > 0, "the server closed a connection");
                reply.extend_from_slice(&buffer[..count]);
                if let Some(size) = announced_size(&reply)?.filter(|size| *size <= reply.len()) {
                    break size;
                }
            };
            Wire::Http1 { request: request.into_bytes(), reply_size, received: 0 }
        };
        match &stream {
            Stream::Clear(tcp) => tcp.set_nonblocking(true)?,
            Stream::Secured(tls) => tls.get_ref().socket.set_nonblocking(true)?,
        }
        Ok(Self { stream, wire })
    }

    fn request(&mut self) -> anyhow::Result<()> {
        // All earlier requests are answered, so that the socket has room.
        match &mut self.wire {
            Wire::Http1 { request, .. } => self.stream.write_all(request),
            Wire::Http2(frames) => self.stream.write_all(frames.next_request()),
        }
        .context("cannot write a request")
    }

    /// Reads what has come. Returns whether the reply is complete.
    fn read(&mut self, buffer: &mut [u8]) -> anyhow::Result<bool> {
        let mut is_complete = false;
        loop {
            let count = match self.stream.read(buffer) {
                Ok(0) => anyhow::bail!("the server closed a connection"),
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(is_complete),
                Err(error) => return Err(error).context("cannot read a reply"),
            };
            match &mut self.wire {
                Wire::Http1 { reply_size, received, .. } => {
                    *received += count;
                    ensure!(*received <= *reply_size, "received more than the expected reply");
                    if *received == *reply_size {
                        *received = 0;
                        is_complete = true;
                    }
                }
                Wire::Http2(frames) => {
                    is_complete |= frames.take(&buffer[..count]);
                    if std::mem::take(&mut frames.owes_ack) {
                        self.stream.write_all(&frame(SETTINGS, ACK, 0, &[]))?;
                    }
                }
            }
            // A short read has emptied the socket.
            let is_drained = match &self.stream {
                Stream::Clear(_) => count < buffer.len(),
                Stream::Secured(tls) => {
                    let ahead = tls.get_ref();
                    ahead.used == ahead.filled && ahead.filled < ahead.ahead.len()
                }
            };
            if is_complete && is_drained {
                return Ok(true);
            }
        }
    }
}

const DATA: u8 = 0x0;
const HEADERS: u8 = 0x1;
const SETTINGS: u8 = 0x4;
const WINDOW_UPDATE: u8 = 0x8;
const ACK: u8 = 0x1;
const END_STREAM: u8 = 0x1;
const END_HEADERS: u8 = 0x4;
/// Bytes of a frame's header (RFC 9113, section 4.1).
const FRAME_HEADER: usize = 9;

/// The frames of a connection over HTTP/2 (RFC 9113).
struct Frames {
    request: Vec<u8>,
    stream: u32,
    /// The header of the frame that is being read, as far as it has come.
    head: Vec<u8>,
    /// Bytes of its payload that are missing.
    left: usize,
    ends_stream: bool,
    owes_ack: bool,
}

impl Frames {
    fn new(uri: &str, is_secured: bool) -> Self {
        // From the static table (RFC 7541, appendix A): GET; http or https. Literals: :path, :authority, user-agent.
        let mut block = vec![0x82, if is_secured { 0x87 } else { 0x86 }];
        for (name, value) in [(&[0x04][..], uri), (&[0x01], "127.0.0.1"), (&[0x0f, 0x2b], "bare")] {
            block.extend_from_slice(name);
            block.push(value.len() as u8);
            block.extend_from_slice(value.as_bytes());
        }
        Self {
            request: frame(HEADERS, END_STREAM | END_HEADERS, 0, &block),
            stream: 1,
            head: Vec::with_capacity(FRAME_HEADER),
            left: 0,
            ends_stream: false,
            owes_ack: false,
        }
    }

    fn next_request(&mut self) -> &[u8] {
        self.request[5..FRAME_HEADER].copy_from_slice(&self.stream.to_be_bytes());
        self.stream += 2;
        &self.request
    }

    /// Takes bytes of the server. Returns whether a stream has ended with them.
    fn take(&mut self, mut bytes: &[u8]) -> bool {
        let mut has_ended = false;
        while !bytes.is_empty() {
            if self.head.len() < FRAME_HEADER {
                let count = bytes.len().min(FRAME_HEADER - self.head.len());
                self.head.extend_from_slice(&bytes[..count]);
                bytes = &bytes[count..];
                if self.head.len() < FRAME_HEADER {
                    break;
                }
                let (kind, flags) = (self.head[3], self.head[4]);
                self.left = usize::from(self.head[0]) << 16
                    | usize::from(self.head[1]) << 8
                    | usize::from(self.head[2]);
                self.ends_stream = matches!(kind, DATA | HEADERS) && flags & END_STREAM != 0;
                self.owes_ack |= kind == SETTINGS && flags & ACK == 0;
            }
            let count = bytes.len().min(self.left);
            (bytes, self.left) = (&bytes[count..], self.left - count);
            if self.left == 0 {
                has_ended |= self.ends_stream;
                self.head.clear();
            }
        }
        has_ended
    }
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    bytes.extend_from_slice(&[kind, flags]);
    bytes.extend_from_slice(&stream.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// The first bytes of a connection: windows that no server waits for.
fn preface() -> Vec<u8> {
    let window = ((1_u32 << 23) - 1).to_be_bytes();
    let settings = frame(SETTINGS, 0, 0, &[&[0, 4][..], &window].concat());
    let update = frame(WINDOW_UPDATE, 0, 0, &((1_u32 << 30) - 1).to_be_bytes());
    [&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..], &settings, &update].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_ends_with_its_last_frame_wherever_reads_cut_it() {
        let reply = [frame(HEADERS, END_HEADERS, 1, b"head"), frame(DATA, END_STREAM, 1, b"body")].concat();
        for cut in 0..reply.len() {
            let mut frames = Frames::new("/", false);
            assert!(!frames.take(&reply[..cut]), "{cut}");
            assert!(frames.take(&reply[cut..]), "{cut}");
        }
        let mut frames = Frames::new("/", false);
        assert!(!frames.take(&frame(SETTINGS, 0, 0, &[])) && frames.owes_ack);
        assert!(frames.take(&frame(DATA, END_STREAM, 1, &[])), "an empty frame ends it as well");
    }

    #[test]
    fn each_request_has_a_stream_of_its_own() {
        let mut frames = Frames::new("/1k", true);
        let streams: Vec<u8> = (0..3).map(|_| frames.next_request()[8]).collect();
        assert_eq!(streams, [1, 3, 5]);
    }
}

//! A minimal, fast server: one thread, one poller, the same reply to everything.
//!
//! It is the other side of every measurement, so that the client is the bottleneck. It only understands
//! enough of HTTP to find the end of a request without a body.

use std::net::SocketAddrV4;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use anyhow::{Context, bail};
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::{Errno, read};
use rustix::net::{
    AddressFamily, SendFlags, SocketAddrAny, SocketFlags, SocketType, accept_with, bind, getsockname, listen,
    send, socket_with, sockopt,
};
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::open_files;
use crate::words::Words;

/// Options of the server.
#[derive(Debug)]
pub(crate) struct Options {
    listen: SocketAddrV4,
    body_size: usize,
    /// Reads and never answers.
    stall: bool,
    /// Closes after the first reply, for clients that wait for this.
    close: bool,
    /// Sends the header fields that nginx sends with a file.
    nginx_head: bool,
    /// Sends a page with a link, from which a step can take a value.
    page: bool,
}

impl Options {
    pub(crate) fn parse(mut words: Words) -> anyhow::Result<Self> {
        let options = Options {
            listen: words.value("--listen")?.unwrap_or_else(|| SocketAddrV4::new([127, 0, 0, 1].into(), 0)),
            body_size: words.value("--body-size")?.unwrap_or(1024),
            stall: words.flag("--stall"),
            close: words.flag("--close"),
            nginx_head: words.flag("--nginx-head"),
            page: words.flag("--page"),
        };
        words.finish()?;
        Ok(options)
    }
}

/// Serves until SIGTERM or SIGINT, then prints its counts.
pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    open_files::raise();
    let mut server = Server::start(options)?;
    println!("listening on {}", server.address()?);
    server.serve()?;
    println!(
        "server: connections {} requests {} replies {} open {}",
        server.connection_count, server.request_count, server.reply_count, server.open_count
    );
    Ok(())
}

/// More than the system grants: it reduces the number to its own limit.
const BACKLOG: i32 = 65_535;
/// Maximum number accepted per turn, so that a flood of new connections does not starve the existing ones.
const ACCEPT_BATCH: usize = 256;
const EVENT_BATCH: usize = 1024;
/// Larger than any request of a bench, so one read empties the socket.
const READ_SIZE: usize = 16 * 1024;

/// The fields that nginx sends with a file, the same in each reply.
const NGINX_FIELDS: &str = "Server: nginx/1.22.1\r\n\
    Date: Sat, 21 Nov 2026 10:47:46 GMT\r\n\
    Content-Type: text/plain\r\n\
    Last-Modified: Sat, 21 Nov 2026 10:47:45 GMT\r\n\
    Connection: keep-alive\r\n\
    ETag: \"6b0176d1-400\"\r\n\
    Accept-Ranges: bytes\r\n";

const LISTENER: u64 = u64::MAX;
const STOP: u64 = u64::MAX - 1;

struct Server {
    poller: OwnedFd,
    listener: OwnedFd,
    /// A byte arrives here when the process is asked to end.
    _stop: UnixStream,
    reply: Vec<u8>,
    stall: bool,
    close: bool,
    connections: Vec<Option<Connection>>,
    free_slots: Vec<usize>,
    connection_count: u64,
    request_count: u64,
    reply_count: u64,
    open_count: u64,
}

struct Connection {
    socket: OwnedFd,
    head: HeadEnd,
    /// Unsent bytes of replies. Replies are identical, so the number also gives the position in the reply.
    unsent: usize,
}

/// Fate of a connection after an event.
#[derive(PartialEq)]
enum Fate {
    Keep,
    Close,
}

impl Server {
    fn start(options: &Options) -> anyhow::Result<Self> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let listener = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
        sockopt::set_socket_reuseaddr(&listener, true)?;
        bind(&listener, &options.listen).with_context(|| format!("cannot listen on {}", options.listen))?;
        listen(&listener, BACKLOG)?;

        let (stop, stop_writer) = UnixStream::pair()?;
        signal_hook::low_level::pipe::register(SIGTERM, stop_writer.try_clone()?)?;
        signal_hook::low_level::pipe::register(SIGINT, stop_writer)?;

        let poller = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&poller, &listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
        epoll::add(&poller, &stop, EventData::new_u64(STOP), EventFlags::IN)?;

        let connection_field = if options.close { "Connection: close\r\n" } else { "" };
        let other_fields = if options.nginx_head { NGINX_FIELDS } else { "" };
        let mut reply = format!(
            "HTTP/1.1 200 OK\r\n{other_fields}Content-Length: {}\r\n{connection_field}\r\n",
            options.body_size
        )
        .into_bytes();
        reply.extend(body(options));

        Ok(Server {
            poller,
            listener,
            _stop: stop,
            reply,
            stall: options.stall,
            close: options.close,
            connections: Vec::new(),
            free_slots: Vec::new(),
            connection_count: 0,
            request_count: 0,
            reply_count: 0,
            open_count: 0,
        })
    }

    fn address(&self) -> anyhow::Result<SocketAddrV4> {
        let address: SocketAddrAny = getsockname(&self.listener)?;
        Ok(SocketAddrV4::try_from(address)?)
    }

    fn serve(&mut self) -> anyhow::Result<()> {
        let mut events = Vec::with_capacity(EVENT_BATCH);
        let mut buffer = vec![0; READ_SIZE];
        loop {
            match epoll::wait(&self.poller, spare_capacity(&mut events), None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            for event in events.drain(..) {
                match event.data.u64() {
                    STOP => return Ok(()),
                    LISTENER => self.accept()?,
                    slot => self.handle(slot as usize, event.flags, &mut buffer),
                }
            }
        }
    }

    fn accept(&mut self) -> anyhow::Result<()> {
        for _ in 0..ACCEPT_BATCH {
            let socket = match accept_with(&self.listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC) {
                Ok(socket) => socket,
                // Without free descriptors, new connections wait in the queue until others have closed.
                Err(Errno::AGAIN | Errno::MFILE | Errno::NFILE) => break,
                // The peer gave up while it waited in the queue.
                Err(Errno::CONNABORTED | Errno::INTR) => continue,
                Err(error) => bail!("cannot accept connection {}: {error}", self.connection_count + 1),
            };
            let slot = self.free_slots.pop().unwrap_or_else(|| {
                self.connections.push(None);
                self.connections.len() - 1
            });
            // Edge-triggered, so one registration is enough.
            let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
            epoll::add(&self.poller, &socket, EventData::new_u64(slot as u64), flags)?;
            self.connections[slot] = Some(Connection { socket, head: HeadEnd::default(), unsent: 0 });
            self.connection_count += 1;
            self.open_count += 1;
        }
        Ok(())
    }

    fn handle(&mut self, slot: usize, flags: EventFlags, buffer: &mut [u8]) {
        let Some(connection) = &mut self.connections[slot] else { return };
        let mut fate = Fate::Keep;
        let mut requests = 0;
        if flags.contains(EventFlags::IN) {
            (requests, fate) = connection.read_requests(flags.contains(EventFlags::RDHUP), buffer);
        }
        if flags.intersects(EventFlags::ERR | EventFlags::HUP) {
            fate = Fate::Close;
        }
        self.request_count += requests as u64;
        if !self.stall && fate == Fate::Keep {
            connection.unsent += requests * self.reply.len();
            let (replies, after_write) = connection.write_replies(&self.reply);
            self.reply_count += replies;
            fate = after_write;
            if self.close && replies > 0 && connection.unsent == 0 {
                fate = Fate::Close;
            }
        }
        if fate == Fate::Close {
            self.connections[slot] = None;
            self.free_slots.push(slot);
            self.open_count -= 1;
        }
    }
}

/// Start and end of a page. The value in the link has more than 23 bytes.
const PAGE: [&str; 2] =
    ["<html>\n<body>\n<a href=\"/basket/5f1c0c3a9d7e4b62a8f0b1d2c3e4f506\">", "</a>\n</body>\n</html>\n"];

/// Body of each reply: a filler, in a page if that is asked for and fits.
fn body(options: &Options) -> Vec<u8> {
    let mut body = vec![b'x'; options.body_size];
    let [start, end] = PAGE.map(str::as_bytes);
    if options.page && body.len() >= start.len() + end.len() {
        let end_at = body.len() - end.len();
        body[..start.len()].copy_from_slice(start);
        body[end_at..].copy_from_slice(end);
    }
    body
}

impl Connection {
    /// Reads everything available; returns the number of requests completed.
    fn read_requests(&mut self, peer_is_done: bool, buffer: &mut [u8]) -> (usize, Fate) {
        let mut requests = 0;
        loop {
            match read(&self.socket, &mut *buffer) {
                Ok(0) => return (requests, Fate::Close),
                Ok(size) => {
                    requests += self.head.count_in(&buffer[..size]);
                    // A short read has emptied the socket; only the end of the stream can follow, and that
                    // was reported.
                    if size < buffer.len() && !peer_is_done {
                        return (requests, Fate::Keep);
                    }
                }
                Err(Errno::AGAIN) => return (requests, Fate::Keep),
                Err(_) => return (requests, Fate::Close),
            }
        }
    }

    /// Writes pending bytes, as far as the socket accepts them; returns the number of replies completed.
    fn write_replies(&mut self, reply: &[u8]) -> (u64, Fate) {
        let mut replies = 0;
        while self.unsent > 0 {
            let start = (reply.len() - self.unsent % reply.len()) % reply.len();
            match send(&self.socket, &reply[start..], SendFlags::NOSIGNAL) {
                Ok(size) => {
                    self.unsent -= size;
                    replies += u64::from(start + size == reply.len());
                }
                // With no descriptor left, newcomers wait in the queue until others have gone.
                Err(Errno::AGAIN | Errno::MFILE | Errno::NFILE) => break,
                Err(_) => return (replies, Fate::Close),
            }
        }
        (replies, Fate::Keep)
    }
}

/// Finds the empty line that ends a request, however the bytes are split.
#[derive(Debug, Default)]
struct HeadEnd {
    /// Number of bytes of CR LF CR LF matched at the end.
    matched: u8,
}

impl HeadEnd {
    fn count_in(&mut self, bytes: &[u8]) -> usize {
        let mut heads = 0;
        for &byte in bytes {
            self.matched = match (self.matched, byte) {
                (0 | 2, b'\r') | (1, b'\n') => self.matched + 1,
                (3, b'\n') => {
                    heads += 1;
                    0
                }
                (_, b'\r') => 1,
                _ => 0,
            };
        }
        heads
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_heads(bytes: &[u8], expected: usize) {
        for cut in 0..=bytes.len() {
            let mut head = HeadEnd::default();
            let found = head.count_in(&bytes[..cut]) + head.count_in(&bytes[cut..]);
            assert_eq!(found, expected, "split at byte {cut}");
        }
    }

    #[test]
    fn each_empty_line_ends_a_request() {
        check_heads(b"GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\n\r\n", 2);
        check_heads(b"GET / HTTP/1.1\r\nHost: a\r\n", 0);
    }

    #[test]
    fn a_repeated_carriage_return_does_not_hide_the_end() {
        check_heads(b"GET / HTTP/1.1\r\r\n\r\n", 1);
        check_heads(b"GET / HTTP/1.1\r\n\r\r\n\r\n", 1);
    }
}

//! A minimal client: opens a connection when it is due, sends a fixed request, reads the reply to its end,
//! closes. It has no report, no histogram, no timeouts, and seven kinds of system calls. Whatever httperf
//! costs beyond this is overhead. `kept` is the equivalent for persistent connections.

pub(crate) mod kept;
pub(crate) mod scheduled;

use std::io::{Read, Write};
use std::net::{SocketAddrV4, TcpStream};
use std::num::NonZeroU64;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use nix::sys::resource::{UsageWho, getrusage};
use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::{Errno, read, write};
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with, sockopt};
use rustix::thread::set_current_timer_slack;

use crate::child::duration_of;
use crate::words::Words;

/// Options of the client.
#[derive(Debug)]
pub(crate) struct Options {
    target: SocketAddrV4,
    conns: u64,
    /// Connections per second; 0 opens one whenever the window allows.
    rate: f64,
    /// Maximum number of open connections.
    window: usize,
    reset: bool,
}

impl Options {
    pub(crate) fn parse(mut words: Words) -> anyhow::Result<Self> {
        let rate = words.value("--rate")?.unwrap_or(0.0);
        let options = Options {
            target: words.value("--target")?.context("--target: expected ADDR:PORT, got nothing")?,
            conns: words.value("--conns")?.context("--conns: expected a number, got nothing")?,
            rate,
            window: words.value("--window")?.unwrap_or(if rate > 0.0 { SCHEDULED_WINDOW } else { 1 }),
            reset: words.flag("--close-with-reset"),
        };
        words.finish()?;
        Ok(options)
    }
}

/// Makes the connections and prints two lines: counts and costs.
pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let reply_size = reply_size(options.target, REQUEST)
        .with_context(|| format!("no usable reply from {}", options.target))?;
    let mut client = Client {
        poller: epoll::create(epoll::CreateFlags::CLOEXEC)?,
        options,
        reply_size,
        connections: Vec::new(),
        free_slots: Vec::new(),
        started: 0,
        replies: 0,
        errors: 0,
    };
    // For maximum precision: by default Linux wakes sleepers up to 50 us late, several of them together.
    set_current_timer_slack(NonZeroU64::new(1))?;
    let start = Instant::now();
    client.run(start)?;
    let duration = start.elapsed();

    let (user, system) = cpu_times()?;
    println!(
        "bare: connections {} replies {} errors {} duration {:.6} s",
        client.started,
        client.replies,
        client.errors,
        duration.as_secs_f64()
    );
    println!(
        "bare: cpu user {:.6} s system {:.6} s, {:.0} connections per CPU second",
        user.as_secs_f64(),
        system.as_secs_f64(),
        client.started as f64 / (user + system).as_secs_f64()
    );
    Ok(())
}

/// Limit on open connections at a rate: beyond the machine's capacity, the client falls behind with this many
/// open and so shows that capacity.
const SCHEDULED_WINDOW: usize = 4096;

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nUser-Agent: bare\r\nHost: 127.0.0.1\r\n\r\n";
const EVENT_BATCH: usize = 1024;
const READ_SIZE: usize = 64 * 1024;

struct Client<'a> {
    options: &'a Options,
    poller: OwnedFd,
    /// Replies are identical, so the size of one tells where each ends.
    reply_size: usize,
    connections: Vec<Option<Connection>>,
    free_slots: Vec<usize>,
    started: u64,
    replies: u64,
    errors: u64,
}

struct Connection {
    socket: OwnedFd,
    request_sent: bool,
    received: usize,
}

/// State of a connection after an event.
enum Step {
    Waiting,
    Answered,
    Failed,
}

impl Client<'_> {
    fn run(&mut self, start: Instant) -> anyhow::Result<()> {
        let mut events = Vec::with_capacity(EVENT_BATCH);
        let mut buffer = vec![0; READ_SIZE];
        loop {
            let elapsed = start.elapsed();
            while self.may_start() && self.due() <= elapsed {
                self.open()?;
            }
            if self.open_count() == 0 && self.started == self.options.conns {
                return Ok(());
            }
            let timeout = self.may_start().then(|| self.until_due(start));
            match epoll::wait(&self.poller, spare_capacity(&mut events), timeout.as_ref()) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            for event in events.drain(..) {
                self.handle(event.data.u64() as usize, &mut buffer);
            }
        }
    }

    fn may_start(&self) -> bool {
        self.started < self.options.conns && self.open_count() < self.options.window
    }

    fn open_count(&self) -> usize {
        self.connections.len() - self.free_slots.len()
    }

    /// Due time of the next connection, after the start.
    fn due(&self) -> Duration {
        if self.options.rate > 0.0 {
            Duration::from_secs_f64(self.started as f64 / self.options.rate)
        } else {
            Duration::ZERO
        }
    }

    fn until_due(&self, start: Instant) -> Timespec {
        let duration = self.due().saturating_sub(start.elapsed());
        Timespec::try_from(duration).expect("a test does not last for ages")
    }

    fn open(&mut self) -> anyhow::Result<()> {
        self.started += 1;
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = match socket_with(AddressFamily::INET, SocketType::STREAM, flags, None) {
            Ok(socket) => socket,
            Err(Errno::MFILE | Errno::NFILE) => {
                self.errors += 1;
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        if self.options.reset {
            sockopt::set_socket_linger(&socket, Some(Duration::ZERO))?;
        }
        match connect(&socket, &self.options.target) {
            Ok(()) | Err(Errno::INPROGRESS) => {}
            Err(_) => {
                self.errors += 1;
                return Ok(());
            }
        }
        let slot = self.free_slots.pop().unwrap_or_else(|| {
            self.connections.push(None);
            self.connections.len() - 1
        });
        // Edge-triggered, so one registration is enough.
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::ET;
        epoll::add(&self.poller, &socket, EventData::new_u64(slot as u64), flags)?;
        self.connections[slot] = Some(Connection { socket, request_sent: false, received: 0 });
        Ok(())
    }

    fn handle(&mut self, slot: usize, buffer: &mut [u8]) {
        let Some(connection) = &mut self.connections[slot] else { return };
        match connection.advance(self.reply_size, buffer) {
            Step::Waiting => return,
            Step::Answered => self.replies += 1,
            Step::Failed => self.errors += 1,
        }
        self.connections[slot] = None;
        self.free_slots.push(slot);
    }
}

impl Connection {
    fn advance(&mut self, reply_size: usize, buffer: &mut [u8]) -> Step {
        if !self.request_sent {
            // The request fits in any socket buffer: the first write either accepts all of it or nothing.
            self.request_sent = matches!(write(&self.socket, REQUEST), Ok(size) if size == REQUEST.len());
            return if self.request_sent { Step::Waiting } else { Step::Failed };
        }
        loop {
            match read(&self.socket, &mut *buffer) {
                Ok(0) => return Step::Failed,
                Ok(size) => {
                    self.received += size;
                    if self.received >= reply_size {
                        return Step::Answered;
                    }
                }
                Err(Errno::AGAIN) => return Step::Waiting,
                Err(_) => return Step::Failed,
            }
        }
    }
}

/// User and system time of this process so far.
fn cpu_times() -> anyhow::Result<(Duration, Duration)> {
    let usage = getrusage(UsageWho::RUSAGE_SELF)?;
    Ok((duration_of(usage.user_time()), duration_of(usage.system_time())))
}

/// Sends one request with blocking calls and measures the reply, head and body.
fn reply_size(target: SocketAddrV4, request: &[u8]) -> anyhow::Result<usize> {
    let mut stream = TcpStream::connect(target)?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    stream.write_all(request)?;
    let mut reply = Vec::new();
    let mut buffer = vec![0; READ_SIZE];
    loop {
        let size = stream.read(&mut buffer)?;
        if size == 0 {
            bail!("the connection ended within the head of the reply");
        }
        reply.extend_from_slice(&buffer[..size]);
        if let Some(size) = announced_size(&reply)? {
            return Ok(size);
        }
    }
}

/// Size of a reply whose head is complete.
fn announced_size(reply: &[u8]) -> anyhow::Result<Option<usize>> {
    let Some(head_size) = reply.windows(4).position(|window| window == b"\r\n\r\n").map(|at| at + 4) else {
        return Ok(None);
    };
    let head = String::from_utf8_lossy(&reply[..head_size]);
    let body_size = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    match body_size {
        Some(body_size) => Ok(Some(head_size + body_size)),
        None => bail!("the reply has no Content-Length"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_is_as_long_as_its_head_and_the_announced_body() {
        let head = b"HTTP/1.1 200 OK\r\ncontent-length: 12\r\n\r\n";
        assert_eq!(announced_size(head).unwrap(), Some(head.len() + 12));
        assert_eq!(announced_size(&head[..head.len() - 1]).unwrap(), None);
    }

    #[test]
    fn a_reply_without_a_length_is_refused() {
        assert!(announced_size(b"HTTP/1.1 200 OK\r\n\r\n").is_err());
    }
}

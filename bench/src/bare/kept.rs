//! A minimal closed loop: writes the same request to several connections, counts the bytes of the replies,
//! writes again. It has one edge-triggered registration per connection, one `write` and one `read` per reply,
//! and one `epoll_wait` for all ready connections. It reads no clock, records no times and looks at no byte
//! of a reply.

use std::net::{SocketAddrV4, TcpStream};
use std::os::fd::OwnedFd;
use std::time::Duration;

use anyhow::{Context, ensure};
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::{Errno, read, write};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};

use super::{EVENT_BATCH, READ_SIZE, cpu_times, reply_size};
use crate::words::Words;

/// Options of the loop.
#[derive(Debug)]
pub(crate) struct Options {
    target: SocketAddrV4,
    uri: String,
    connections: usize,
    /// Requests written at once; the next ones follow when all are answered.
    pipeline: usize,
    end: End,
}

/// Condition to stop.
#[derive(Debug, Clone, Copy)]
enum End {
    After(Duration),
    /// Number of replies, exceeded by those that arrive in the same turn.
    Replies(u64),
}

impl Options {
    pub(crate) fn parse(mut words: Words) -> anyhow::Result<Self> {
        let seconds = words.value("--seconds")?.map(Duration::from_secs_f64);
        let options = Options {
            target: words.value("--target")?.context("--target: expected ADDR:PORT, got nothing")?,
            uri: words.value("--uri")?.unwrap_or_else(|| "/".to_owned()),
            connections: words.value("--connections")?.unwrap_or(1),
            pipeline: words.value("--pipeline")?.unwrap_or(1),
            end: match (seconds, words.value("--requests")?) {
                (Some(duration), None) => End::After(duration),
                (None, Some(count)) => End::Replies(count),
                _ => anyhow::bail!("expected either --seconds or --requests"),
            },
        };
        words.finish()?;
        ensure!(options.connections > 0, "--connections: expected at least 1, got `0`");
        ensure!(options.pipeline > 0, "--pipeline: expected at least 1, got `0`");
        Ok(options)
    }
}

/// Key of the timer that ends the run, instead of the index of a connection.
const TIMER: u64 = u64::MAX;

/// Runs the loop and prints two lines: counts and costs.
pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let request = format!("GET {} HTTP/1.1\r\nUser-Agent: bare\r\nHost: 127.0.0.1\r\n\r\n", options.uri);
    let reply_size = reply_size(options.target, request.as_bytes())
        .with_context(|| format!("no usable reply from {}", options.target))?;
    let requests = request.repeat(options.pipeline).into_bytes();
    let replies_size = reply_size * options.pipeline;

    let poller = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let mut connections = Vec::with_capacity(options.connections);
    for index in 0..options.connections {
        let stream = TcpStream::connect(options.target)?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        let socket = OwnedFd::from(stream);
        epoll::add(&poller, &socket, EventData::new_u64(index as u64), EventFlags::IN | EventFlags::ET)?;
        connections.push(Connection { socket, missing: replies_size });
    }
    let replies_max = match options.end {
        End::After(_) => u64::MAX,
        End::Replies(count) => count,
    };
    // Held open until the end.
    let _timer = match options.end {
        End::After(duration) => Some(end_after(duration, &poller)?),
        End::Replies(_) => None,
    };

    let start = std::time::Instant::now();
    for connection in &connections {
        connection.write(&requests)?;
    }
    let mut replies = 0;
    let mut events = Vec::with_capacity(EVENT_BATCH);
    let mut buffer = vec![0; READ_SIZE];
    'run: while replies < replies_max {
        match epoll::wait(&poller, spare_capacity(&mut events), None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        for event in events.drain(..) {
            if event.data.u64() == TIMER {
                break 'run;
            }
            let connection = &mut connections[event.data.u64() as usize];
            if connection.read(&mut buffer)? {
                replies += options.pipeline as u64;
                connection.missing = replies_size;
                connection.write(&requests)?;
            }
        }
    }
    let duration = start.elapsed();

    let (user, system) = cpu_times()?;
    println!(
        "bare: connections {} replies {replies} errors 0 duration {:.6} s",
        options.connections,
        duration.as_secs_f64()
    );
    println!("bare: cpu user {:.6} s system {:.6} s", user.as_secs_f64(), system.as_secs_f64());
    Ok(())
}

struct Connection {
    socket: OwnedFd,
    /// Remaining bytes of the replies.
    missing: usize,
}

impl Connection {
    fn write(&self, requests: &[u8]) -> anyhow::Result<()> {
        // All replies to earlier requests are complete, so the socket's buffer is empty.
        let size = write(&self.socket, requests).context("cannot write a request")?;
        ensure!(size == requests.len(), "a request was written in part only");
        Ok(())
    }

    /// Reads everything available. Returns true if all replies are complete.
    fn read(&mut self, buffer: &mut [u8]) -> anyhow::Result<bool> {
        loop {
            match read(&self.socket, &mut *buffer) {
                Ok(0) => anyhow::bail!("the server closed a connection"),
                Ok(size) => {
                    self.missing =
                        self.missing.checked_sub(size).context("received more than the expected replies")?;
                    // A read that does not fill the buffer has emptied the socket: anything later is a new
                    // edge.
                    if self.missing == 0 || size < buffer.len() {
                        return Ok(self.missing == 0);
                    }
                }
                Err(Errno::AGAIN) => return Ok(false),
                Err(error) => return Err(error).context("cannot read a reply"),
            }
        }
    }
}

/// Registers a timer with the poller.
fn end_after(duration: Duration, poller: &OwnedFd) -> anyhow::Result<OwnedFd> {
    let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)?;
    let once = Itimerspec {
        it_interval: Timespec { tv_sec: 0, tv_nsec: 0 },
        it_value: Timespec::try_from(duration).context("--seconds: expected a duration")?,
    };
    timerfd_settime(&timer, TimerfdTimerFlags::empty(), &once)?;
    epoll::add(poller, &timer, EventData::new_u64(TIMER), EventFlags::IN)?;
    Ok(timer)
}

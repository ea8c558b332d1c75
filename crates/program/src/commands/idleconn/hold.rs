//! Idle connections: opened, watched, and opened again when the server closes them.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use httperf_engine::{StopRequest, met_itself};
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};

/// The number of connections that are being established at a time: a server's queue of them is short.
const CONNECTING_MAX: u64 = 64;

/// The time without new connections after one was refused.
const PAUSE: Duration = Duration::from_secs(1);

/// The longest time for which the end goes unnoticed.
const TURN: Duration = Duration::from_millis(50);

/// The number of reports of the poller that are taken at once.
const EVENTS_MAX: usize = 256;

/// Result of holding connections.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    /// Connections established.
    pub(super) created: u64,
    /// Those of them that the server closed, or on which it said something.
    pub(super) closed: u64,
    pub(super) time: Duration,
}

/// The reason for an early end.
#[derive(Debug)]
pub(super) enum HoldError {
    /// It has been reported, and this is the exit status.
    Reported(ExitCode),
    System(Errno),
}

#[derive(Debug)]
struct Connection {
    socket: OwnedFd,
    /// It is established.
    is_open: bool,
}

/// Holds `count` connections until the end is asked for. `refused` is told, at most once a second, why one could not be
/// established.
pub(super) fn hold(
    server: SocketAddr,
    count: u64,
    duration: Option<Duration>,
    stop: &StopRequest,
    refused: &mut dyn FnMut(String) -> Result<(), ExitCode>,
) -> Result<Held, HoldError> {
    let poller = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(HoldError::System)?;
    let mut connections: Vec<Option<Connection>> = (0..count).map(|_| None).collect();
    let mut empty: Vec<usize> = (0..connections.len()).rev().collect();
    let mut events = Vec::with_capacity(EVENTS_MAX);
    let (mut created, mut closed, mut connecting) = (0, 0, 0);
    let began = Instant::now();
    let mut resumes = began;
    while !stop.is_asked() && duration.is_none_or(|duration| began.elapsed() < duration) {
        let mut failure = None;
        while connecting < CONNECTING_MAX && Instant::now() >= resumes && failure.is_none() {
            let Some(place) = empty.pop() else { break };
            match connect(server, &poller, place) {
                Ok(socket) => {
                    connections[place] = Some(Connection { socket, is_open: false });
                    connecting += 1;
                }
                Err(errno) => {
                    empty.push(place);
                    failure = Some(errno);
                }
            }
        }
        events.clear();
        let turn = Timespec::try_from(TURN).expect("a turn is short");
        match epoll::wait(&poller, rustix::buffer::spare_capacity(&mut events), Some(&turn)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(HoldError::System(errno)),
        }
        for event in &events {
            let place = event.data.u64() as usize;
            let flags = event.flags;
            let is_over =
                flags.intersects(epoll::EventFlags::IN | epoll::EventFlags::RDHUP | epoll::EventFlags::HUP);
            let Some(connection) = &mut connections[place] else { continue };
            let error = if connection.is_open {
                None
            } else {
                connecting -= 1;
                let error = sockopt::socket_error(&connection.socket).map_or_else(Some, Result::err);
                error.or_else(|| met_itself(&connection.socket).then_some(Errno::CONNREFUSED))
            };
            if error.is_none() && !connection.is_open {
                connection.is_open = true;
                created += 1;
            }
            if connection.is_open && is_over {
                closed += 1;
            }
            if error.is_some() || is_over {
                connections[place] = None;
                empty.push(place);
            }
            failure = failure.or(error);
        }
        if let Some(errno) = failure
            && Instant::now() >= resumes
        {
            refused(words(errno)).map_err(HoldError::Reported)?;
            resumes = Instant::now() + PAUSE;
        }
    }
    Ok(Held { created, closed, time: began.elapsed() })
}

/// Begins a connection, and has it watched.
fn connect(server: SocketAddr, poller: &OwnedFd, place: usize) -> Result<OwnedFd, Errno> {
    let family = if server.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
    match rustix::net::connect(&socket, &server) {
        Ok(()) | Err(Errno::INPROGRESS) => {}
        Err(errno) => return Err(errno),
    }
    let interest =
        epoll::EventFlags::IN | epoll::EventFlags::OUT | epoll::EventFlags::RDHUP | epoll::EventFlags::ET;
    epoll::add(poller, &socket, epoll::EventData::new_u64(place as u64), interest)?;
    Ok(socket)
}

/// The system's words for an error, without its number.
fn words(errno: Errno) -> String {
    let text = io::Error::from(errno).to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

//! A connection of a scripted server: one thread reads and records, another follows the script.

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use rustix::net::sockopt;

use super::behaviour::{Order, Reply, Script, Step};
use super::record::{ConnectionRecord, End, Ended, Read, Received};
use super::requests::Splitter;

/// Maximum number of bytes recorded per connection; further bytes are read and dropped.
const RECORD_SIZE_MAX: usize = 4 * 1024 * 1024;

/// Time limit of a write to a client that does not read.
const WRITE_WAIT: Duration = Duration::from_secs(10);

/// Maximum length of a connection.
const CONNECTION_WAIT: Duration = Duration::from_secs(60);

/// State shared by all threads of a server.
#[derive(Debug, Default)]
pub(super) struct Shared {
    script: Script,
    /// Number of requests to the server so far, for [`Order::PerServer`].
    turn: AtomicUsize,
    state: Mutex<State>,
    /// Notified when a connection starts or ends, and when the server stops.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    stopped: bool,
    records: Vec<ConnectionRecord>,
    /// One for each record, to wake the threads that use it.
    streams: Vec<Weak<TcpStream>>,
}

impl Shared {
    pub(super) fn new(script: Script) -> Self {
        Self { script, ..Self::default() }
    }

    pub(super) fn records(&self) -> Vec<ConnectionRecord> {
        self.state().records.clone()
    }

    pub(super) fn stopped(&self) -> bool {
        self.state().stopped
    }

    pub(super) fn stop(&self) {
        let mut state = self.state();
        state.stopped = true;
        for stream in state.streams.iter().filter_map(Weak::upgrade) {
            // Fails if the connection has already ended.
            let _ = stream.shutdown(Shutdown::Both);
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Waits, at most `wait`, until the connection from `last_port` has been accepted and all others have
    /// ended.
    pub(super) fn wait_until_ended_up_to(&self, last_port: Option<u16>, wait: Duration) {
        let pending = |state: &mut State| {
            let is_last = |record: &ConnectionRecord| Some(record.peer_port) == last_port;
            let accepted = last_port.is_none() || state.records.iter().any(is_last);
            !accepted || state.records.iter().any(|record| record.ended.is_none() && !is_last(record))
        };
        let waited = self.changed.wait_timeout_while(self.state(), wait, pending);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    /// Records a new connection; returns `None` if there are too many.
    pub(super) fn admit(
        self: &Arc<Self>,
        stream: TcpStream,
        peer: SocketAddr,
        max: usize,
    ) -> Option<Connection> {
        let accepted = Instant::now();
        let stream = Arc::new(stream);
        let mut state = self.state();
        let index = state.records.len();
        if index >= max || prepare(&stream).is_err() {
            return None;
        }
        state.records.push(ConnectionRecord {
            peer_port: peer.port(),
            accepted,
            reads: Vec::new(),
            requests: Vec::new(),
            ended: None,
        });
        state.streams.push(Arc::downgrade(&stream));
        drop(state);
        self.changed.notify_all();
        Some(Connection { shared: Arc::clone(self), stream, index, reset: Arc::default() })
    }

    /// Sleeps for `pause`; returns `false` if the server is stopped meanwhile.
    fn pause(&self, pause: Duration) -> bool {
        let waited = self.changed.wait_timeout_while(self.state(), pause, |state| !state.stopped);
        !waited.unwrap_or_else(PoisonError::into_inner).0.stopped
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn prepare(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_write_timeout(Some(WRITE_WAIT))?;
    stream.set_read_timeout(Some(CONNECTION_WAIT))
}

/// An accepted connection whose threads are not running yet.
#[derive(Debug)]
pub(super) struct Connection {
    shared: Arc<Shared>,
    stream: Arc<TcpStream>,
    index: usize,
    /// True once the script has reset the connection.
    reset: Arc<AtomicBool>,
}

impl Connection {
    /// Serves the connection until it ends.
    pub(super) fn run(self) {
        let (sender, receiver) = mpsc::channel();
        let speaker = Speaker {
            shared: Arc::clone(&self.shared),
            stream: Arc::clone(&self.stream),
            reset: Arc::clone(&self.reset),
        };
        let Ok(speaking) =
            thread::Builder::new().name("speaker".into()).spawn(move || speaker.run(&receiver))
        else {
            self.note_end(End::Failed);
            return;
        };
        let how = self.listen(&sender);
        drop(sender);
        self.note_end(how);
        // The last owner of the stream closes it; after a reset this sends the RST.
        drop(self.stream);
        speaking.join().expect("the speaking thread ends at the first error and does not panic");
    }

    /// Reads and records until the connection ends.
    fn listen(&self, requests: &Sender<bool>) -> End {
        let mut splitter = Splitter::default();
        let mut buffer = [0; 16 * 1024];
        let mut recorded = 0;
        loop {
            let size = match (&*self.stream).read(&mut buffer) {
                _ if self.reset.load(Ordering::SeqCst) => return End::ServerRst,
                _ if self.shared.stopped() => return End::Stopped,
                Ok(0) => return End::ClientFin,
                Ok(size) => size,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return End::ClientRst,
                Err(_) => return End::Failed,
            };
            let at = Instant::now();
            let bytes = &buffer[..size];
            let complete = splitter.push(bytes);
            recorded += size;
            let heads: Vec<bool> = complete.iter().map(|request| is_head(request)).collect();
            if recorded <= RECORD_SIZE_MAX {
                let record = &mut self.shared.state().records[self.index];
                record.reads.push(Read { at, bytes: bytes.to_vec() });
                record.requests.extend(complete.into_iter().map(|bytes| Received { at, bytes }));
            }
            for head in heads {
                // The speaker has ended if the script has closed: anything that follows is only recorded.
                let _ = requests.send(head);
            }
        }
    }

    fn note_end(&self, how: End) {
        self.shared.state().records[self.index].ended = Some(Ended { at: Instant::now(), how });
        self.shared.changed.notify_all();
    }
}

/// Returns true for a HEAD request, which may follow a blank line and gets no body.
fn is_head(request: &[u8]) -> bool {
    request.trim_ascii_start().starts_with(b"HEAD ")
}

/// The half of a connection that follows the script.
#[derive(Debug)]
struct Speaker {
    shared: Arc<Shared>,
    stream: Arc<TcpStream>,
    reset: Arc<AtomicBool>,
}

/// Continuation after a reply.
enum Next {
    Continue,
    End,
}

impl Speaker {
    /// Replies to each request; `true` stands for a HEAD.
    fn run(self, requests: &Receiver<bool>) {
        let script = &self.shared.script;
        if let Ok(Next::End) | Err(_) = self.say(&script.greeting, false) {
            return;
        }
        for (turn_here, head) in requests.iter().enumerate() {
            let turn = match script.order {
                Order::PerConnection => turn_here,
                Order::PerServer => self.shared.turn.fetch_add(1, Ordering::SeqCst),
            };
            let Some(count) = std::num::NonZero::new(script.replies.len()) else { continue };
            if let Ok(Next::End) | Err(_) = self.say(&script.replies[turn % count], head) {
                return;
            }
        }
    }

    fn say(&self, reply: &Reply, head: bool) -> io::Result<Next> {
        // Each group of adjacent pieces goes out in one write, so a client that reads once sees everything
        // that a script without pauses sends at once.
        let mut out = Vec::new();
        for (index, step) in reply.steps.iter().enumerate() {
            match step {
                Step::Send(bytes) => out.extend_from_slice(bytes),
                Step::Body(bytes) if !head => out.extend_from_slice(bytes),
                Step::Body(_) => {}
                Step::Pause(pause) => {
                    if !self.shared.pause(*pause) {
                        return Ok(Next::End);
                    }
                }
                Step::Close => {
                    self.stream.shutdown(Shutdown::Write)?;
                    return Ok(Next::End);
                }
                Step::Reset => {
                    self.reset()?;
                    return Ok(Next::End);
                }
            }
            let more = reply.steps.get(index + 1);
            if !out.is_empty() && !matches!(more, Some(Step::Send(_) | Step::Body(_))) {
                (&*self.stream).write_all(&out)?;
                out.clear();
            }
        }
        Ok(Next::Continue)
    }

    /// Turns the close of the stream into a RST, and wakes the reader so that it releases the stream.
    fn reset(&self) -> io::Result<()> {
        sockopt::set_socket_linger(&*self.stream, Some(Duration::ZERO))?;
        self.reset.store(true, Ordering::SeqCst);
        self.stream.shutdown(Shutdown::Read)
    }
}

//! A relay that makes a race happen: it holds back what a server says until the client has used up the window that streams
//! begin with, and checks that the client keeps to the windows all the same.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::sync::{Condvar, Mutex};
use std::thread;
use std::time::Duration;

use httperf_testkit::http2::frames::{Frame, flag, kind};
use httperf_testkit::http2::{Incoming, Server};
use httperf_testkit::tcp::listen;

/// How many bytes the client may send on a stream before it knows better (RFC 9113, section 6.9.2).
pub(crate) const WINDOW_AT_FIRST: usize = 65_535;

/// How long to wait for the client to use that up, and for either side to say something.
const LIMIT: Duration = Duration::from_secs(30);

/// What was seen of one connection.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// What the client sent until the relay knew the server's settings.
    early: Vec<u8>,
    /// The server as RFC 9113 has it, which panics if the client breaks a rule.
    model: Option<Server>,
    /// How many bytes came from the client.
    bytes: usize,
    /// How much content of requests, in all and when the server's settings were acknowledged first.
    pub(crate) content: usize,
    pub(crate) content_before_settings: Option<usize>,
}

impl Seen {
    fn handle_client(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len();
        let Some(model) = &mut self.model else {
            self.early.extend_from_slice(bytes);
            return;
        };
        for incoming in model.receive(bytes) {
            match incoming {
                Incoming::Data { bytes, .. } => self.content += bytes.len(),
                Incoming::SettingsAck => {
                    self.content_before_settings.get_or_insert(self.content);
                }
                _ => {}
            }
        }
    }

    fn handle_server(&mut self, frame: &Frame) {
        match (frame.kind, &mut self.model) {
            (kind::SETTINGS, model) if !frame.has(flag::ACK) => {
                let settings: Vec<(u16, u32)> = (0..frame.payload.len() / 6)
                    .map(|place| {
                        let at = 6 * place;
                        let id = u16::from_be_bytes([frame.payload[at], frame.payload[at + 1]]);
                        (id, frame.number(at + 2))
                    })
                    .collect();
                match model {
                    Some(model) => model.settings(&settings),
                    None => {
                        *model = Some(Server::new(&settings));
                        let early = std::mem::take(&mut self.early);
                        self.bytes -= early.len();
                        self.handle_client(&early);
                    }
                }
            }
            (kind::WINDOW_UPDATE, Some(model)) => model.grant(frame.stream, frame.number(0)),
            _ => {}
        }
    }
}

/// Relays one connection to this port of 127.0.0.1 while `client` runs, which is told the port to connect to.
pub(crate) fn relay<R>(server: u16, client: impl FnOnce(u16) -> R) -> (R, Seen) {
    let (listener, port) = listen();
    let (seen, used_up) = (Mutex::new(Seen::default()), Condvar::new());
    let result = thread::scope(|scope| {
        scope.spawn(|| {
            let (client, _) = listener.accept().expect("the client connects");
            let server = TcpStream::connect(("127.0.0.1", server)).expect("the server listens");
            for socket in [&client, &server] {
                socket.set_read_timeout(Some(LIMIT)).expect("that can be set");
                socket.set_nodelay(true).expect("that can be set");
            }
            scope.spawn({
                let (client, server) = (copy(&client), copy(&server));
                let (seen, used_up) = (&seen, &used_up);
                move || {
                    from_client(client, server, |bytes| {
                        let mut seen = seen.lock().expect("nothing panicked");
                        seen.handle_client(bytes);
                        if seen.bytes > WINDOW_AT_FIRST {
                            used_up.notify_all();
                        }
                    });
                }
            });
            from_server(server, client, |frame| {
                let guard = seen.lock().expect("nothing panicked");
                // It is only a matter of time: the client has a body that is larger.
                let (mut guard, waited) = used_up
                    .wait_timeout_while(guard, LIMIT, |seen| seen.bytes <= WINDOW_AT_FIRST)
                    .expect("nothing panicked");
                assert!(!waited.timed_out(), "the client has sent {} bytes", guard.bytes);
                guard.handle_server(frame);
            });
        });
        client(port)
    });
    (result, seen.into_inner().expect("nothing panicked"))
}

fn copy(socket: &TcpStream) -> TcpStream {
    socket.try_clone().expect("a descriptor is free")
}

fn from_client(mut client: TcpStream, mut server: TcpStream, mut look: impl FnMut(&[u8])) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(count @ 1..) = client.read(&mut buffer) {
        look(&buffer[..count]);
        if server.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    let _: std::io::Result<()> = server.shutdown(Shutdown::Both);
}

fn from_server(mut server: TcpStream, mut client: TcpStream, mut look: impl FnMut(&Frame)) {
    let (mut unread, mut buffer) = (Vec::new(), vec![0; 1 << 16]);
    while let Ok(count @ 1..) = server.read(&mut buffer) {
        unread.extend_from_slice(&buffer[..count]);
        let mut rest = &unread[..];
        while let Some(frame) = Frame::take(&mut rest) {
            look(&frame);
            if client.write_all(&frame.bytes()).is_err() {
                return;
            }
        }
        unread = rest.to_vec();
    }
    let _: std::io::Result<()> = client.shutdown(Shutdown::Both);
}

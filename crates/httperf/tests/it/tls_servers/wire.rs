//! What TLS looks like on the wire: a proxy that passes bytes on and keeps the first flight of either side.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use httperf_testkit::tcp::listen;

/// Passes connections on to a port, and records them.
#[derive(Debug)]
pub(crate) struct Recorder {
    pub(crate) port: u16,
    seen: Arc<Mutex<Vec<Flights>>>,
}

/// What was sent on one connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flights {
    pub(crate) client: Vec<u8>,
    pub(crate) server: Vec<u8>,
}

/// What happens to a connection instead of its being passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mischief {
    /// Closed when the client has spoken.
    Close,
    /// Kept open in silence.
    Stall,
    /// Answered with what is no TLS.
    Garbage,
}

impl Recorder {
    /// Starts one in front of `port`. The first connections meet with mischief, one kind after the other.
    pub(crate) fn start(port: u16, mischief: Vec<Mischief>) -> Self {
        Self::between(vec![port], mischief)
    }

    /// Starts one in front of several ports, which take connections in turn.
    pub(crate) fn between(ports: Vec<u16>, mischief: Vec<Mischief>) -> Self {
        let (listener, own_port) = listen();
        let seen = Arc::default();
        let record = Arc::clone(&seen);
        // It ends with the test's process.
        thread::spawn(move || {
            let (mut mischief, mut ports) = (mischief.into_iter(), ports.into_iter().cycle());
            let mut stalled = Vec::new();
            for client in listener.incoming().map_while(Result::ok) {
                match mischief.next() {
                    Some(kind) => stalled.extend(misbehave(client, kind)),
                    None => pass_on(client, ports.next().expect("there is a port"), &record),
                }
            }
        });
        Self { port: own_port, seen }
    }

    /// The connections so far.
    pub(crate) fn seen(&self) -> Vec<Flights> {
        self.seen.lock().expect("nobody panics with it").clone()
    }
}

/// Returns a connection that is to stay open.
fn misbehave(mut client: TcpStream, kind: Mischief) -> Option<TcpStream> {
    let mut hello = [0; 4096];
    // Whether it spoke does not matter.
    let _ = client.read(&mut hello);
    match kind {
        Mischief::Close => None,
        Mischief::Stall => Some(client),
        Mischief::Garbage => {
            let _ = client.write_all(b"this is no TLS at all\r\n");
            None
        }
    }
}

fn pass_on(client: TcpStream, port: u16, record: &Arc<Mutex<Vec<Flights>>>) {
    let server = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("the server accepts");
    let index = {
        let mut seen = record.lock().expect("nobody panics with it");
        seen.push(Flights::default());
        seen.len() - 1
    };
    let both = [(client.try_clone(), server.try_clone(), true), (Ok(server), Ok(client), false)];
    for (from, to, is_client) in both {
        let (mut from, mut to) = (from.expect("a descriptor is free"), to.expect("a descriptor is free"));
        let record = Arc::clone(record);
        thread::spawn(move || {
            let mut room = [0; 16384];
            while let Ok(count @ 1..) = from.read(&mut room) {
                let mut seen = record.lock().expect("nobody panics with it");
                let flights = &mut seen[index];
                let side = if is_client { &mut flights.client } else { &mut flights.server };
                side.extend_from_slice(&room[..count]);
                drop(seen);
                if to.write_all(&room[..count]).is_err() {
                    break;
                }
            }
            // The other direction may have closed it already.
            let _ = to.shutdown(std::net::Shutdown::Write);
        });
    }
}

/// The first handshake message of a flight (RFC 8446, sections 4 and 5.1), with its header.
pub(crate) fn first_message(flight: &[u8]) -> &[u8] {
    assert_eq!(flight[0], 22, "a record of the handshake");
    let length = usize::from(flight[6]) << 16 | usize::from(flight[7]) << 8 | usize::from(flight[8]);
    &flight[5..5 + 4 + length]
}

/// The host name in a ClientHello (RFC 6066, section 3).
pub(crate) fn sni(hello: &[u8]) -> Option<String> {
    // Header, version, random; then session id, cipher suites, compression methods, and the extensions.
    let mut at = 4 + 2 + 32;
    at += 1 + usize::from(hello[at]);
    at += 2 + number(hello, at);
    at += 1 + usize::from(hello[at]);
    let end = at + 2 + number(hello, at);
    at += 2;
    while at < end {
        let (kind, size) = (number(hello, at), number(hello, at + 2));
        if kind == 0 {
            // The length of the list, the kind of name, the length of the name.
            return String::from_utf8(hello[at + 4 + 5..at + 4 + size].to_vec()).ok();
        }
        at += 4 + size;
    }
    None
}

fn number(bytes: &[u8], at: usize) -> usize {
    usize::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]))
}

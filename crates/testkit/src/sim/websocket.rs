//! A server of WebSockets that follows a script.

use std::collections::HashMap;
use std::time::Duration;

use httperf_proto::websocket::{Connection, Event, Key, MessageKind, Options, Role};

use super::{Action, Peer, Reception};

/// Something that a server of WebSockets sends.
#[derive(Clone, Debug)]
pub enum Say {
    /// A text, this long after what it answers.
    Text(Duration, String),
    /// A close with this code.
    Close(Duration, u16),
    /// Bytes as they are, which may break the rules.
    Raw(Duration, Vec<u8>),
    /// The end of the connection, without a close.
    End(Duration),
}

/// What a server of WebSockets has heard.
#[derive(Clone, Copy, Debug)]
pub enum WsHeard<'a> {
    /// The WebSocket is open.
    Opening,
    /// A message came.
    Message(&'a str),
}

/// Opens a WebSocket for each connection, this long after it was asked for, and says what a function returns for its
/// opening and for each message. It answers pings at once, and agrees to the client's close.
pub struct WebSocketPeer<F> {
    opens_after: Duration,
    say: F,
    connections: HashMap<usize, State>,
}

enum State {
    Opening(Vec<u8>),
    Open(Box<Connection>),
}

impl<F: FnMut(usize, WsHeard<'_>) -> Vec<Say>> WebSocketPeer<F> {
    /// Creates a peer. `say` takes the number of the connection, and what was heard.
    pub fn new(opens_after: Duration, say: F) -> Self {
        Self { opens_after, say, connections: HashMap::new() }
    }
}

impl<F> std::fmt::Debug for WebSocketPeer<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WebSocketPeer").field("connections", &self.connections.len()).finish_non_exhaustive()
    }
}

impl<F: FnMut(usize, WsHeard<'_>) -> Vec<Say>> Peer for WebSocketPeer<F> {
    fn accept(&mut self, connection: usize, _: Duration) -> Reception {
        self.connections.insert(connection, State::Opening(Vec::new()));
        Reception::Accept
    }

    fn receive(&mut self, connection: usize, _: Duration, bytes: &[u8]) -> Vec<Action> {
        let Self { opens_after, say, connections } = self;
        let state = connections.get_mut(&connection).expect("it was accepted");
        let mut actions = Vec::new();
        let mut input = bytes;
        let request;
        if let State::Opening(unread) = state {
            unread.extend_from_slice(bytes);
            let Some(end) = unread.windows(4).position(|window| window == b"\r\n\r\n") else {
                return actions;
            };
            request = std::mem::take(unread);
            input = &request[end + 4..];
            actions.push(Action::Send(*opens_after, agreement(&request[..end])));
            actions
                .extend(say(connection, WsHeard::Opening).into_iter().map(|said| action(*opens_after, said)));
            let options =
                Options { role: Role::Server, message_size: 1 << 24, deflate: None, fragment: None };
            *state = State::Open(Box::new(Connection::new(options)));
        }
        let State::Open(codec) = state else { return actions };
        let mut is_closed = false;
        while let Some(event) = codec.poll_event(&mut input).expect("our own client keeps to the rules") {
            match event {
                Event::Message { data, .. } => {
                    let text = String::from_utf8_lossy(data).into_owned();
                    actions.extend(
                        say(connection, WsHeard::Message(&text))
                            .into_iter()
                            .map(|said| action(Duration::ZERO, said)),
                    );
                }
                Event::Closed { .. } => is_closed = true,
                Event::Ping | Event::Pong(_) => {}
            }
        }
        let mut output = Vec::new();
        codec.take_output(&mut output);
        if !output.is_empty() {
            actions.push(Action::Send(Duration::ZERO, output));
        }
        if is_closed {
            actions.push(Action::Close(Duration::ZERO));
        }
        actions
    }
}

fn action(base: Duration, said: Say) -> Action {
    let frame = |write: &dyn Fn(&mut Connection)| {
        let mut codec =
            Connection::new(Options { role: Role::Server, message_size: 0, deflate: None, fragment: None });
        write(&mut codec);
        let mut output = Vec::new();
        codec.take_output(&mut output);
        output
    };
    match said {
        Say::Text(after, text) => {
            Action::Send(base + after, frame(&|codec| codec.send(MessageKind::Text, text.as_bytes())))
        }
        Say::Close(after, code) => Action::Send(base + after, frame(&|codec| codec.close(code, ""))),
        Say::Raw(after, bytes) => Action::Send(base + after, bytes),
        Say::End(after) => Action::Close(base + after),
    }
}

fn agreement(request: &[u8]) -> Vec<u8> {
    let request = String::from_utf8_lossy(request);
    let key = request.lines().find_map(|line| line.strip_prefix("Sec-WebSocket-Key: ")).unwrap_or_default();
    let accept = Key::accept(key.as_bytes());
    format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Accept: {accept}\r\n\r\n"
    )
    .into_bytes()
}

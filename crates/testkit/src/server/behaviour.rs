//! What a scripted server does, as values. Nothing here touches a socket.

use std::time::Duration;

/// What a server does with those who connect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Behaviour {
    /// Accepts everyone and follows the script.
    Serve(Script),
    /// Listens with a full queue and never accepts: a connect is neither answered nor refused.
    FullBacklog,
    /// Nothing listens: a connect is refused.
    Refuse,
}

/// What is said on the connections of a server that serves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    /// Said on every connection as soon as it is accepted.
    pub greeting: Reply,
    /// Answers to requests, in turn and from the start again; none answers nothing.
    pub replies: Vec<Reply>,
    /// What the turns are counted over.
    pub order: Order,
}

/// What the turns of replies are counted over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// The k-th request of each connection is given reply k.
    #[default]
    PerConnection,
    /// The k-th request that the server receives, on whichever connection, is given reply k.
    PerServer,
}

/// The answer to one request: steps in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// What to do, in order.
    pub steps: Vec<Step>,
}

/// One step of a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Write these bytes. Neighbouring pieces go out in one write.
    Send(Vec<u8>),
    /// Write these bytes. Neighbouring pieces go out in one write. unless the request was a HEAD.
    Body(Vec<u8>),
    /// Wait.
    Pause(Duration),
    /// Send a FIN and answer nothing more on this connection.
    Close,
    /// Send a RST.
    Reset,
}

/// `Content-Length: 5` and `hello`, the reply that most tests ask for.
const HELLO: &[u8] = b"hello";

impl Behaviour {
    /// Keeps connections alive and answers `200` with `hello`.
    #[must_use]
    pub fn ok() -> Self {
        Self::each(Reply::ok(HELLO))
    }

    /// As [`Behaviour::ok`] with a body of `size` bytes.
    #[must_use]
    pub fn ok_sized(size: usize) -> Self {
        Self::each(Reply::ok(&vec![b'x'; size]))
    }

    /// As [`Behaviour::ok`], each reply held back for `delay`. Replies of one connection follow one another.
    #[must_use]
    pub fn delayed(delay: Duration) -> Self {
        Self::each(Reply::ok(HELLO).delayed(delay))
    }

    /// Announces with each reply that it closes, and closes.
    #[must_use]
    pub fn close() -> Self {
        Self::each(Reply::with_header(200, "Connection: close\r\n", HELLO).closing())
    }

    /// Closes after each reply without saying so.
    #[must_use]
    pub fn close_unannounced() -> Self {
        Self::each(Reply::ok(HELLO).closing())
    }

    /// Gives no length: the body ends with the connection.
    #[must_use]
    pub fn eof_body() -> Self {
        Self::each(Reply::bytes(b"HTTP/1.1 200 OK\r\n\r\n").body(HELLO).closing())
    }

    /// Sends `hello` in one chunk.
    #[must_use]
    pub fn chunked() -> Self {
        Self::each(Reply::bytes(CHUNKED_HEADER).body(b"5\r\nhello\r\n0\r\n\r\n"))
    }

    /// Sends 26 bytes in chunks whose sizes are in upper-case hexadecimal, with extensions and with trailers.
    #[must_use]
    pub fn chunked_with_trailers() -> Self {
        let body: &[u8] =
            b"1A;name=value;quoted=\"a b\"\r\nabcdefghijklmnopqrstuvwxyz\r\n0;last\r\nX-Sum: 1\r\nX-End: 2\r\n\r\n";
        Self::each(Reply::bytes(CHUNKED_HEADER).body(body))
    }

    /// Reads requests and never answers.
    #[must_use]
    pub fn stall() -> Self {
        Self::Serve(Script::default())
    }

    /// Answers each request with a RST.
    #[must_use]
    pub fn reset() -> Self {
        Self::each(Reply::default().resetting())
    }

    /// Closes on each request without an answer.
    #[must_use]
    pub fn hang_up() -> Self {
        Self::each(Reply::default().closing())
    }

    /// Answers the k-th request of the server with `Set-Cookie: S=k; path=/`, for k from 0 to `count` − 1.
    #[must_use]
    pub fn cookies(count: usize) -> Self {
        let reply = |k| Reply::with_header(200, &format!("Set-Cookie: S={k}; path=/\r\n"), HELLO);
        Self::in_turn(Order::PerServer, (0..count).map(reply))
    }

    /// Answers the k-th request of the server with the k-th of these statuses, and from the start again.
    /// Those that may not have a body have none, the others have `hello`.
    #[must_use]
    pub fn statuses(statuses: &[u16]) -> Self {
        Self::in_turn(Order::PerServer, statuses.iter().map(|&status| Reply::status(status)))
    }

    /// Sends a header that promises `pieces` bytes, then one byte after each `pause`.
    #[must_use]
    pub fn trickle(pieces: usize, pause: Duration) -> Self {
        let mut reply =
            Reply::bytes(format!("HTTP/1.1 200 OK\r\nContent-Length: {pieces}\r\n\r\n").as_bytes());
        for _ in 0..pieces {
            reply = reply.pause(pause).body(b"x");
        }
        Self::each(reply)
    }

    /// As [`Behaviour::ok`], with bare line feeds as line ends.
    #[must_use]
    pub fn lf_only() -> Self {
        Self::each(Reply::bytes(b"HTTP/1.1 200 OK\nContent-Length: 5\n\n").body(HELLO))
    }

    /// As [`Behaviour::ok`], every byte written on its own, `pause` apart.
    #[must_use]
    pub fn byte_by_byte(pause: Duration) -> Self {
        Self::each(Reply::ok(HELLO).byte_by_byte(pause))
    }

    /// Answers every request with these bytes, whatever they are, and keeps the connection.
    #[must_use]
    pub fn raw(bytes: &[u8]) -> Self {
        Self::each(Reply::bytes(bytes))
    }

    /// Gives every request the same reply.
    #[must_use]
    pub fn each(reply: Reply) -> Self {
        Self::in_turn(Order::PerConnection, [reply])
    }

    /// Gives requests these replies in turn.
    #[must_use]
    pub fn in_turn(order: Order, replies: impl IntoIterator<Item = Reply>) -> Self {
        Self::Serve(Script { greeting: Reply::default(), replies: replies.into_iter().collect(), order })
    }
}

const CHUNKED_HEADER: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

impl Reply {
    /// `200 OK` with a body and its length.
    #[must_use]
    pub fn ok(body: &[u8]) -> Self {
        Self::with_header(200, "", body)
    }

    /// A reply with `status`, this block of header lines (each with its line end), a length and a body.
    #[must_use]
    pub fn with_header(status: u16, header: &str, body: &[u8]) -> Self {
        let length = body.len();
        let reason = reason(status);
        let head = format!("HTTP/1.1 {status} {reason}\r\n{header}Content-Length: {length}\r\n\r\n");
        // One write for both, as most servers do it; a HEAD gets the head alone.
        Self { steps: vec![Step::Send(head.into_bytes()), Step::Body(body.to_vec())] }
    }

    /// A reply with `status`: with `hello`, unless such a reply has no body.
    #[must_use]
    pub fn status(status: u16) -> Self {
        if matches!(status, 100..=199 | 204 | 205 | 304) {
            let reason = reason(status);
            return Self::bytes(format!("HTTP/1.1 {status} {reason}\r\n\r\n").as_bytes());
        }
        Self::with_header(status, "", HELLO)
    }

    /// These bytes.
    #[must_use]
    pub fn bytes(bytes: &[u8]) -> Self {
        Self { steps: vec![Step::Send(bytes.to_vec())] }
    }

    /// Then these bytes.
    #[must_use]
    pub fn send(mut self, bytes: &[u8]) -> Self {
        self.steps.push(Step::Send(bytes.to_vec()));
        self
    }

    /// Then these bytes, unless the request was a HEAD.
    #[must_use]
    pub fn body(mut self, bytes: &[u8]) -> Self {
        self.steps.push(Step::Body(bytes.to_vec()));
        self
    }

    /// Then a wait.
    #[must_use]
    pub fn pause(mut self, pause: Duration) -> Self {
        self.steps.push(Step::Pause(pause));
        self
    }

    /// Then a FIN.
    #[must_use]
    pub fn closing(mut self) -> Self {
        self.steps.push(Step::Close);
        self
    }

    /// Then a RST.
    #[must_use]
    pub fn resetting(mut self) -> Self {
        self.steps.push(Step::Reset);
        self
    }

    /// The same reply, held back for `delay`.
    #[must_use]
    pub fn delayed(mut self, delay: Duration) -> Self {
        self.steps.insert(0, Step::Pause(delay));
        self
    }

    /// The same reply, each byte in a write of its own, with a pause after each.
    #[must_use]
    pub fn byte_by_byte(self, pause: Duration) -> Self {
        let mut steps = Vec::new();
        for step in self.steps {
            match step {
                Step::Send(bytes) => {
                    steps.extend(bytes.iter().flat_map(|&byte| [Step::Send(vec![byte]), Step::Pause(pause)]));
                }
                Step::Body(bytes) => {
                    steps.extend(bytes.iter().flat_map(|&byte| [Step::Body(vec![byte]), Step::Pause(pause)]));
                }
                Step::Pause(_) | Step::Close | Step::Reset => steps.push(step),
            }
        }
        Self { steps }
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        100 => "Continue",
        200 => "OK",
        204 => "No Content",
        205 => "Reset Content",
        301 => "Moved Permanently",
        304 => "Not Modified",
        404 => "Not Found",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        _ => "Other",
    }
}

//! Behaviour of a scripted server, as values. Nothing here touches a socket.

use std::time::Duration;

use httperf_proto::status::is_sent_without_content;

/// Behaviour of a server towards clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Behaviour {
    /// Accepts every connection and follows the script.
    Serve(Script),
    /// Listens with a full backlog and never accepts: a connect is neither answered nor refused.
    FullBacklog,
    /// Does not listen: a connect is refused.
    Refuse,
}

/// Bytes sent on the connections of a server that serves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    /// Sent on every connection as soon as it is accepted.
    pub greeting: Reply,
    /// Replies to requests, used in a cycle; if there are none, requests are not answered.
    pub replies: Vec<Reply>,
    /// Scope of the cycle.
    pub order: Order,
}

/// Scope in which replies are cycled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// The k-th request of each connection gets reply k.
    #[default]
    PerConnection,
    /// The k-th request of the server, on any connection, gets reply k.
    PerServer,
}

/// Reply to a request: a sequence of steps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// Steps, in order.
    pub steps: Vec<Step>,
}

/// One step of a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Writes these bytes. Adjacent pieces go out in one write.
    Send(Vec<u8>),
    /// Writes these bytes unless the request was a HEAD. Adjacent pieces go out in one write.
    Body(Vec<u8>),
    /// Waits.
    Pause(Duration),
    /// Sends a FIN and answers nothing more on this connection.
    Close,
    /// Sends a RST.
    Reset,
}

/// Body of the default reply.
const HELLO: &[u8] = b"hello";

impl Behaviour {
    /// Keeps connections alive and answers `200` with `hello`.
    #[must_use]
    pub fn ok() -> Self {
        Self::each(Reply::ok(HELLO))
    }

    /// Like [`Behaviour::ok`] with a body of `size` bytes.
    #[must_use]
    pub fn ok_sized(size: usize) -> Self {
        Self::each(Reply::ok(&vec![b'x'; size]))
    }

    /// Like [`Behaviour::ok`], with each reply delayed by `delay`. Replies of a connection are sequential.
    #[must_use]
    pub fn delayed(delay: Duration) -> Self {
        Self::each(Reply::ok(HELLO).delayed(delay))
    }

    /// Closes after each reply, and announces it.
    #[must_use]
    pub fn close() -> Self {
        Self::each(Reply::with_header(200, "Connection: close\r\n", HELLO).closing())
    }

    /// Closes after each reply without announcing it.
    #[must_use]
    pub fn close_unannounced() -> Self {
        Self::each(Reply::ok(HELLO).closing())
    }

    /// Sends no length: the body ends with the connection.
    #[must_use]
    pub fn eof_body() -> Self {
        Self::each(Reply::bytes(b"HTTP/1.1 200 OK\r\n\r\n").body(HELLO).closing())
    }

    /// Sends `hello` in one chunk.
    #[must_use]
    pub fn chunked() -> Self {
        Self::each(Reply::bytes(CHUNKED_HEADER).body(b"5\r\nhello\r\n0\r\n\r\n"))
    }

    /// Sends 26 bytes in chunks with upper-case hexadecimal sizes, extensions and trailers.
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

    /// Closes the connection at each request, without an answer.
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

    /// Answers the k-th request of the server with the k-th of these statuses, in a cycle. The body is
    /// `hello` unless the status forbids one.
    #[must_use]
    pub fn statuses(statuses: &[u16]) -> Self {
        Self::in_turn(Order::PerServer, statuses.iter().map(|&status| Reply::status(status)))
    }

    /// Sends a header that announces `pieces` bytes, then one byte after each `pause`.
    #[must_use]
    pub fn trickle(pieces: usize, pause: Duration) -> Self {
        let mut reply =
            Reply::bytes(format!("HTTP/1.1 200 OK\r\nContent-Length: {pieces}\r\n\r\n").as_bytes());
        for _ in 0..pieces {
            reply = reply.pause(pause).body(b"x");
        }
        Self::each(reply)
    }

    /// Like [`Behaviour::ok`], with bare line feeds as line ends.
    #[must_use]
    pub fn lf_only() -> Self {
        Self::each(Reply::bytes(b"HTTP/1.1 200 OK\nContent-Length: 5\n\n").body(HELLO))
    }

    /// Like [`Behaviour::ok`], with each byte in a write of its own, `pause` apart.
    #[must_use]
    pub fn byte_by_byte(pause: Duration) -> Self {
        Self::each(Reply::ok(HELLO).byte_by_byte(pause))
    }

    /// Answers every request with these bytes and keeps the connection.
    #[must_use]
    pub fn raw(bytes: &[u8]) -> Self {
        Self::each(Reply::bytes(bytes))
    }

    /// Gives every request the same reply.
    #[must_use]
    pub fn each(reply: Reply) -> Self {
        Self::in_turn(Order::PerConnection, [reply])
    }

    /// Cycles through these replies.
    #[must_use]
    pub fn in_turn(order: Order, replies: impl IntoIterator<Item = Reply>) -> Self {
        Self::Serve(Script { greeting: Reply::default(), replies: replies.into_iter().collect(), order })
    }
}

const CHUNKED_HEADER: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

impl Reply {
    /// Creates a `200 OK` with a body and its length.
    #[must_use]
    pub fn ok(body: &[u8]) -> Self {
        Self::with_header(200, "", body)
    }

    /// Creates a reply with `status`, these header lines (each with its line end), a length and a body.
    #[must_use]
    pub fn with_header(status: u16, header: &str, body: &[u8]) -> Self {
        let length = body.len();
        let reason = reason(status);
        let head = format!("HTTP/1.1 {status} {reason}\r\n{header}Content-Length: {length}\r\n\r\n");
        // One write for both, as in most servers; a HEAD gets only the head.
        Self { steps: vec![Step::Send(head.into_bytes()), Step::Body(body.to_vec())] }
    }

    /// Creates a reply with `status` and the body `hello`, unless the status forbids one.
    #[must_use]
    pub fn status(status: u16) -> Self {
        if is_sent_without_content(status) {
            let reason = reason(status);
            return Self::bytes(format!("HTTP/1.1 {status} {reason}\r\n\r\n").as_bytes());
        }
        Self::with_header(status, "", HELLO)
    }

    /// Creates a reply of these bytes.
    #[must_use]
    pub fn bytes(bytes: &[u8]) -> Self {
        Self { steps: vec![Step::Send(bytes.to_vec())] }
    }

    /// Appends these bytes.
    #[must_use]
    pub fn send(mut self, bytes: &[u8]) -> Self {
        self.steps.push(Step::Send(bytes.to_vec()));
        self
    }

    /// Appends these bytes, unless the request was a HEAD.
    #[must_use]
    pub fn body(mut self, bytes: &[u8]) -> Self {
        self.steps.push(Step::Body(bytes.to_vec()));
        self
    }

    /// Appends a wait.
    #[must_use]
    pub fn pause(mut self, pause: Duration) -> Self {
        self.steps.push(Step::Pause(pause));
        self
    }

    /// Appends a FIN.
    #[must_use]
    pub fn closing(mut self) -> Self {
        self.steps.push(Step::Close);
        self
    }

    /// Appends a RST.
    #[must_use]
    pub fn resetting(mut self) -> Self {
        self.steps.push(Step::Reset);
        self
    }

    /// Delays the reply by `delay`.
    #[must_use]
    pub fn delayed(mut self, delay: Duration) -> Self {
        self.steps.insert(0, Step::Pause(delay));
        self
    }

    /// Sends each byte in a write of its own, with a pause after each.
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

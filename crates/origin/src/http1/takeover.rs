//! Replies that hyper would not write: malformed ones, and trailers that were not asked for.
//!
//! The service never answers such a request. It hands over a [`Takeover`] and waits. Once hyper has written all it
//! holds, the driver takes the wire (and any bytes that hyper read ahead) back from it and comes here. If the reply
//! leaves the connection usable, the wire goes on to a fresh hyper connection.

use std::fmt::Write as _;
use std::io;
use std::rc::Rc;
use std::time::SystemTime;

use httperf_proto::status::forbids_content;
use hyper::header;
use hyper::http::request::Parts;
use hyper::{Method, Version};
use tokio::io::AsyncWriteExt as _;

use crate::body::ReplyBody;
use crate::content::{Checksum, Content};
use crate::fault::{BAD_LINE, FILLER_LINES, FILLER_SIZE, Fault, GARBAGE, SURPLUS};
use crate::link::{Ending, Link};
use crate::reply::{SERVER_NAME, lists};
use crate::route::Answer;
use crate::websocket::{End, Opening, converse};
use crate::wire::{Wire, within};

/// The next use of a wire taken from hyper.
#[derive(Debug)]
pub(crate) enum Takeover {
    /// Close it in order.
    Close,
    /// Close it behind a reply that breaks off.
    Cut,
    /// Write this reply.
    Reply(Ticket),
    /// Open a WebSocket.
    WebSocket(Box<Opening>),
}

/// A reply to write, with the properties of its request that still matter.
#[derive(Debug)]
pub(crate) struct Ticket {
    answer: Answer,
    is_head: bool,
    /// The version of the request.
    version: Version,
    /// True if the client allows another request on the connection.
    client_keeps: bool,
    ending: Ending,
}

impl Ticket {
    pub(crate) fn new(answer: Answer, request: &Parts, ending: Ending) -> Self {
        let has_option = |option| lists(&request.headers, &header::CONNECTION, option);
        let client_keeps = match request.version {
            Version::HTTP_11 => !has_option("close"),
            _ => has_option("keep-alive"),
        };
        Self {
            answer,
            is_head: request.method == Method::HEAD,
            version: request.version,
            client_keeps,
            ending,
        }
    }

    fn has_body(&self) -> bool {
        self.answer.has_body(self.is_head)
    }

    /// Returns the mark of a body's end that is right for this reply.
    fn mark(&self) -> Mark {
        match self.answer.content {
            Content::Stream(_) if self.version == Version::HTTP_11 => Mark::Chunks,
            Content::Stream(_) => Mark::Close,
            _ => Mark::Size,
        }
    }

    fn head(&self, framing: Mark) -> Vec<u8> {
        let answer = &self.answer;
        let mut head = String::with_capacity(256);
        let mut line = |args: std::fmt::Arguments<'_>| {
            head.write_fmt(args).and_then(|()| head.write_str("\r\n")).expect("a String takes any text");
        };
        line(format_args!("HTTP/1.1 {}", answer.status));
        line(format_args!("Server: {SERVER_NAME}"));
        line(format_args!("Date: {}", httpdate::fmt_http_date(SystemTime::now())));
        line(format_args!("Content-Type: {}", answer.content.media_type()));
        match framing {
            Mark::Size if forbids_content(answer.status.as_u16()) => {}
            Mark::Size => line(format_args!("Content-Length: {}", answer.content.size().unwrap_or(0))),
            Mark::NotASize => line(format_args!("Content-Length: plenty")),
            Mark::Chunks => line(format_args!("Transfer-Encoding: chunked")),
            Mark::ChunksAndTrailer => {
                line(format_args!("Transfer-Encoding: chunked"));
                line(format_args!("Trailer: Server-Checksum"));
            }
            Mark::Close => {}
        }
        if framing == Mark::Close || !self.client_keeps || self.ending == Ending::Announced {
            line(format_args!("Connection: close"));
        } else if self.version != Version::HTTP_11 {
            line(format_args!("Connection: keep-alive"));
        }
        let mut head = head.into_bytes();
        for (name, value) in &answer.fields {
            head.extend_from_slice(name.as_str().as_bytes());
            head.extend_from_slice(b": ");
            head.extend_from_slice(value.as_bytes());
            head.extend_from_slice(b"\r\n");
        }
        if answer.fault == Some(Fault::BadHeader) {
            head.extend_from_slice(BAD_LINE);
        }
        if answer.fault == Some(Fault::HugeHeader) {
            for index in 0..FILLER_LINES {
                head.extend_from_slice(format!("Filler-{index:03}: ").as_bytes());
                head.resize(head.len() + FILLER_SIZE, b'x');
                head.extend_from_slice(b"\r\n");
            }
        }
        head.extend_from_slice(b"\r\n");
        head
    }
}

/// The mark of a body's end in a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    Size,
    NotASize,
    Chunks,
    ChunksAndTrailer,
    Close,
}

/// Carries out a takeover. Returns the wire if the connection goes on.
pub(crate) async fn perform(wire: Wire, link: &Rc<Link>, takeover: Takeover) -> io::Result<Option<Wire>> {
    let linger = link.shared.config.limits.linger;
    let ticket = match takeover {
        Takeover::Close => {
            within(linger, wire.close()).await;
            return Ok(None);
        }
        Takeover::Cut => {
            within(linger, wire.cut()).await;
            return Ok(None);
        }
        Takeover::Reply(ticket) => ticket,
        Takeover::WebSocket(opening) => {
            open_websocket(wire, link, *opening).await?;
            return Ok(None);
        }
    };
    let mut reply = Reply { wire, ticket, unsent: Vec::new(), link };
    match reply.ticket.answer.fault {
        // Over HTTP/1, `goaway` is just the announcement.
        None | Some(Fault::Goaway) => reply.chunked_with_trailer().await?,
        Some(Fault::Reset | Fault::ResetStream) => {
            reply.wire.reset();
            return Ok(None);
        }
        Some(Fault::ResetBody) => {
            reply.half().await?;
            reply.flush().await?;
            reply.wire.reset();
            return Ok(None);
        }
        Some(Fault::Stall | Fault::Silence) => {
            let _waiting = link.prepare();
            reply.wire.discard().await;
            return Ok(None);
        }
        Some(Fault::Close | Fault::RefuseStream | Fault::GoawayError) => reply.ticket.client_keeps = false,
        Some(Fault::Truncate) => {
            reply.half().await?;
            reply.flush().await?;
            within(linger, reply.wire.cut()).await;
            return Ok(None);
        }
        Some(Fault::Garbage | Fault::BadFrame) => {
            reply.send(GARBAGE).await?;
            reply.ticket.client_keeps = false;
        }
        Some(Fault::NoLength) => reply.whole(Mark::Close).await?,
        Some(Fault::BadLength) => {
            reply.whole(Mark::NotASize).await?;
            reply.ticket.client_keeps = false;
        }
        Some(Fault::BadHeader | Fault::StopSending) => {
            reply.ticket.client_keeps = false;
            reply.whole(reply.ticket.mark()).await?;
        }
        Some(Fault::BadChunk) => {
            reply.chunked_badly().await?;
            reply.ticket.client_keeps = false;
        }
        Some(Fault::Interim) => {
            reply.send(INTERIM_REPLIES).await?;
            reply.whole(reply.ticket.mark()).await?;
        }
        Some(Fault::Surplus) => {
            reply.whole(reply.ticket.mark()).await?;
            reply.send(SURPLUS).await?;
        }
        // hyper writes trickled replies, which are well-formed.
        Some(Fault::HugeHeader | Fault::Trickle) => reply.whole(reply.ticket.mark()).await?,
    }
    reply.flush().await?;
    if reply.ticket.client_keeps && reply.ticket.ending == Ending::None {
        return Ok(Some(reply.wire));
    }
    within(linger, reply.wire.close()).await;
    Ok(None)
}

/// Opens a WebSocket, and talks there until it ends.
async fn open_websocket(mut wire: Wire, link: &Rc<Link>, opening: Opening) -> io::Result<()> {
    wire.write_all(&opening.head()).await?;
    let Opening { deflate, conversation, .. } = opening;
    wire.flush().await?;
    let end = converse(&mut wire, link, deflate, conversation).await?;
    let linger = link.shared.config.limits.linger;
    match end {
        End::Closed => within(linger, wire.close()).await,
        End::Cut => within(linger, wire.cut()).await,
    }
    Ok(())
}

/// <https://www.rfc-editor.org/rfc/rfc9110#section-15.2.1> and
/// <https://www.rfc-editor.org/rfc/rfc8297#section-2>
const INTERIM_REPLIES: &[u8] =
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n";

struct Reply<'a> {
    link: &'a Rc<Link>,
    wire: Wire,
    ticket: Ticket,
    /// Bytes gathered for the next write.
    unsent: Vec<u8>,
}

/// <https://www.rfc-editor.org/rfc/rfc9112#section-7.1>
const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

/// Bytes that are gathered before a write.
const GATHER_SIZE: usize = 64 * 1024;

impl Reply<'_> {
    /// Sends the header and the whole body.
    async fn whole(&mut self, mark: Mark) -> io::Result<()> {
        let head = self.ticket.head(mark);
        self.send(&head).await?;
        if self.ticket.has_body() {
            self.body(self.ticket.answer.content.clone(), mark).await?;
            if mark == Mark::Chunks {
                self.send(LAST_CHUNK).await?;
            }
        }
        if mark == Mark::Close {
            self.ticket.client_keeps = false;
        }
        Ok(())
    }

    /// Sends the header and half of the body, or half of the header if there is no body.
    async fn half(&mut self) -> io::Result<()> {
        let mark = self.ticket.mark();
        let head = self.ticket.head(mark);
        if !self.ticket.has_body() {
            return self.send(&head[..head.len() / 2]).await;
        }
        self.send(&head).await?;
        self.body(self.ticket.answer.content.half(), mark).await
    }

    /// Sends a body, in chunks if that is its mark. The pieces of a stream leave one by one.
    async fn body(&mut self, content: Content, mark: Mark) -> io::Result<()> {
        let is_stream = matches!(content, Content::Stream(_));
        if is_stream {
            self.flush().await?;
        }
        let is_chunked = matches!(mark, Mark::Chunks | Mark::ChunksAndTrailer);
        let mut body = ReplyBody::<()>::new(content, !is_chunked, self.link);
        while let Some(piece) = body.piece().await {
            // A reply that is written by hand has a fault, and then it is not cut.
            let piece = piece.map_err(io::Error::other)?;
            if is_chunked {
                self.chunk(&piece).await?;
            } else {
                self.send(&piece).await?;
            }
            if is_stream {
                self.flush().await?;
            }
        }
        Ok(())
    }

    async fn chunked_with_trailer(&mut self) -> io::Result<()> {
        let head = self.ticket.head(Mark::ChunksAndTrailer);
        self.send(&head).await?;
        let mut checksum = Checksum::default();
        let mut body = ReplyBody::<()>::new(self.ticket.answer.content.clone(), false, self.link);
        while let Some(piece) = body.piece().await {
            let piece = piece.map_err(io::Error::other)?;
            checksum.add(&piece);
            self.chunk(&piece).await?;
        }
        self.send(format!("0\r\nServer-Checksum: {checksum}\r\n\r\n").as_bytes()).await
    }

    async fn chunked_badly(&mut self) -> io::Result<()> {
        let head = self.ticket.head(Mark::Chunks);
        self.send(&head).await?;
        if self.ticket.is_head {
            return Ok(());
        }
        self.body(self.ticket.answer.content.half(), Mark::Chunks).await?;
        self.send(b"not a size\r\n").await
    }

    async fn chunk(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.send(format!("{:x}\r\n", bytes.len()).as_bytes()).await?;
        self.send(bytes).await?;
        self.send(b"\r\n").await
    }

    async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.unsent.extend_from_slice(bytes);
        if self.unsent.len() >= GATHER_SIZE { self.flush().await } else { Ok(()) }
    }

    async fn flush(&mut self) -> io::Result<()> {
        self.wire.write_all(&self.unsent).await?;
        self.unsent.clear();
        Ok(())
    }
}

//! One connection from accept to close: hyper reads the requests and writes the sound replies; the others are
//! written by hand (`takeover.rs`).

use std::cell::{Cell, RefCell};
use std::convert::Infallible;
use std::future::{Future, pending, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use hyper::header::{self, HeaderValue};
use hyper::http::request::Parts;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, Version};
use hyper_util::rt::TokioIo;

use crate::body::ReplyBody;
use crate::config::Framing;
use crate::fault::Fault;
use crate::http2::{self, Upgrade};
use crate::reply::{add_fields, prepare};
use crate::route::Answer;
use crate::server::Shared;
use crate::socket::{Socket, Transport};
use crate::stamps::{self, Stamp};
use crate::takeover::{self, Takeover, Ticket};
use crate::wire::{self, Wire};

/// Serves a connection until either side closes it.
pub(crate) async fn run(transport: Transport, shared: Rc<Shared>) {
    let _open = shared.note_open();
    let link = Rc::new(Link::new(shared));
    let served = async {
        let mut wire = Wire::new(secure(transport, &link).await?, Rc::clone(&link));
        if http2::is_wanted(&mut wire, &link).await? {
            // Few connections need the room that this takes.
            Box::pin(http2::serve(wire, &link)).await;
        } else {
            serve_http1(wire, &link).await?;
        }
        Some(())
    };
    link.unless_idle(served).await;
}

/// Speaks HTTP/1 until the connection is over. `None` if it ended early.
async fn serve_http1(mut wire: Wire, link: &Rc<Link>) -> Option<()> {
    link.shared.counts.borrow_mut().connections_http1 += 1;
    loop {
        let (taken, takeover) = serve(wire, link).await?;
        // The connection's last bytes may fail to reach a client that left: nobody is there to tell.
        wire = takeover::perform(taken, link, takeover).await.ok().flatten()?;
    }
}

/// Does the TLS handshake, if there is to be one. `None` if that failed.
async fn secure(transport: Transport, link: &Rc<Link>) -> Option<Socket> {
    let Some(acceptor) = &link.shared.acceptor else { return Some(Socket::Plain(transport)) };
    // Without memory for another connection there is none.
    let mut stream = acceptor.stream(transport, link).ok()?;
    match stream.handshake().await {
        Ok(()) => Some(Socket::Tls(Box::new(stream))),
        Err(_) => {
            // The client reads the alert that says why only if it is not reset meanwhile.
            takeover::within(link.shared.config.limits.linger, wire::close(stream.silenced())).await;
            None
        }
    }
}

/// Lets hyper serve the connection until it is over (`None`) or a reply must be written without hyper.
async fn serve(wire: Wire, link: &Rc<Link>) -> Option<(Wire, Takeover)> {
    let service = service_fn(|request| reply(Rc::clone(link), request));
    let mut connection =
        http1::Builder::new().title_case_headers(true).serve_connection(TokioIo::new(wire), service);
    let takeover = poll_fn(|context| {
        if let Poll::Ready(result) = Pin::new(&mut connection).poll(context) {
            if result.is_err_and(|error| error.is_parse()) {
                link.shared.counts.borrow_mut().requests_malformed += 1;
            }
            return Poll::Ready(None);
        }
        // Whenever hyper is waiting, it has tried to write all it holds. Unless the socket did not take it,
        // earlier replies are out, and the wire can be taken.
        if link.is_write_blocked.get() {
            return Poll::Pending;
        }
        match link.takeover.take() {
            Some(takeover) => Poll::Ready(Some(takeover)),
            None => Poll::Pending,
        }
    })
    .await?;
    let parts = connection.into_parts();
    let mut wire = parts.io.into_inner();
    wire.put_back(parts.read_buf);
    Some((wire, takeover))
}

/// Answers one request: with a response for hyper, or by asking for a takeover, which drops this future.
async fn reply(link: Rc<Link>, request: Request<Incoming>) -> Result<Response<ReplyBody>, Infallible> {
    if link.takeover.borrow().is_some() {
        // The connection is about to close: this request came too late.
        return pending().await;
    }
    let (request, body) = request.into_parts();
    if let Some(upgrade) = Upgrade::asked_for(&request, &body, &link) {
        link.takeover.replace(Some(Takeover::Upgrade(upgrade)));
        return pending().await;
    }
    let (answer, ending) = prepare(&link, &request, discard(body)).await;
    if needs_takeover(&answer, &request) {
        let ticket = Ticket::new(answer, &request, ending);
        link.takeover.replace(Some(Takeover::Reply(ticket)));
        return pending().await;
    }
    Ok(response(&link, &answer, ending, request.version))
}

async fn discard(mut body: Incoming) -> hyper::Result<()> {
    if body.is_end_stream() {
        return Ok(());
    }
    while let Some(frame) = body.frame().await {
        frame?;
    }
    Ok(())
}

fn needs_takeover(answer: &Answer, request: &Parts) -> bool {
    match answer.fault {
        Some(Fault::Trickle) => false,
        // Hyper keeps trailers from clients that did not ask for them.
        None | Some(Fault::Goaway) => {
            answer.framing == Framing::Trailers
                && request.version == Version::HTTP_11
                && request.method != Method::HEAD
        }
        Some(_) => true,
    }
}

fn response(link: &Rc<Link>, answer: &Answer, ending: Ending, version: Version) -> Response<ReplyBody> {
    let shared = &link.shared;
    let is_sized = answer.framing == Framing::Length;
    let mut body = ReplyBody::new(answer.content.clone(), is_sized);
    if answer.fault == Some(Fault::Trickle) {
        body = body.trickle(&shared.timer, shared.config.trickle);
    }
    if ending == Ending::Silent {
        body = body.close_at_end(link);
    }
    let mut response = Response::new(body);
    *response.status_mut() = answer.status;
    // Before chunks there was only the close to end such a body.
    let ends_with_close = !is_sized && version != Version::HTTP_11;
    let closes = ending == Ending::Announced || ends_with_close;
    if closes {
        // Or else hyper adds `keep-alive` to the `close` of a reply to HTTP/1.0.
        *response.version_mut() = version;
    }
    let headers = response.headers_mut();
    if closes {
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    add_fields(headers, answer);
    response
}

/// Whether a reply is its connection's last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Not as far as the server is concerned.
    None,
    /// It is, and says so.
    Announced,
    /// It is, and the client finds out.
    Silent,
}

/// What the parts of a connection tell each other.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) shared: Rc<Shared>,
    /// What to do with the wire once hyper has written what it holds.
    takeover: RefCell<Option<Takeover>>,
    /// Whether the socket refused bytes when it was last offered some.
    is_write_blocked: Cell<bool>,
    /// How many replies are on their way through queue and delay, so that silence is not idleness.
    preparing: Cell<u64>,
    replies: Cell<u64>,
    /// Bytes moved in either direction since idleness was last looked for.
    traffic: Cell<u64>,
    /// When bytes were last read, if stamps are taken.
    read_at: Cell<Duration>,
    /// The stamps of replies that are about to be written.
    stamps: RefCell<Vec<Stamp>>,
}

impl Link {
    fn new(shared: Rc<Shared>) -> Self {
        Self {
            shared,
            takeover: RefCell::new(None),
            is_write_blocked: Cell::new(false),
            preparing: Cell::new(0),
            replies: Cell::new(0),
            traffic: Cell::new(0),
            read_at: Cell::default(),
            stamps: RefCell::default(),
        }
    }

    /// Has the connection closed as soon as hyper has written what it holds.
    pub(crate) fn close_when_flushed(&self) {
        self.takeover.replace(Some(Takeover::Close));
    }

    /// Keeps the connection, although nothing moves on it, until the result is dropped.
    pub(crate) fn prepare(&self) -> Preparing<'_> {
        self.preparing.set(self.preparing.get() + 1);
        Preparing(self)
    }

    /// When bytes were last read, if stamps are taken.
    pub(crate) fn read_at(&self) -> Duration {
        self.read_at.get()
    }

    pub(crate) fn note_traffic(&self, size: usize) {
        self.traffic.set(self.traffic.get() + size as u64);
    }

    /// Whether the socket refused bytes when it was last offered some.
    pub(crate) fn is_write_blocked(&self) -> bool {
        self.is_write_blocked.get()
    }

    /// So many bytes were read.
    pub(crate) fn note_read(&self, size: usize) {
        self.note_traffic(size);
        if size > 0 && self.shared.config.stamps > 0 {
            self.read_at.set(stamps::now());
        }
    }

    /// The reply to this request is made, and not written yet.
    pub(crate) fn begin_stamp(&self, request: &Parts, received: Duration) {
        if self.shared.counts.borrow().stamps.len() < self.shared.config.stamps {
            let target = match request.uri.path_and_query() {
                Some(path) if request.version == Version::HTTP_2 => path.to_string(),
                _ => request.uri.to_string(),
            };
            self.stamps.borrow_mut().push(Stamp { target, received, handed: received });
        }
    }

    /// Bytes are about to be written.
    pub(crate) fn note_reply(&self) {
        for stamp in self.stamps.borrow_mut().drain(..) {
            self.shared.counts.borrow_mut().stamps.push(Stamp { handed: stamps::now(), ..stamp });
        }
    }

    pub(crate) fn note_write(&self, poll: &Poll<io::Result<usize>>) {
        self.is_write_blocked.set(poll.is_pending());
        if let Poll::Ready(Ok(size)) = poll {
            let size = *size as u64;
            self.traffic.set(self.traffic.get() + size);
            self.shared.counts.borrow_mut().bytes_sent += size;
        }
    }

    pub(crate) fn count_reply(&self) -> Ending {
        self.replies.set(self.replies.get() + 1);
        match self.shared.config.close_after {
            Some(close) if self.replies.get() >= close.replies => {
                if close.announced {
                    Ending::Announced
                } else {
                    Ending::Silent
                }
            }
            _ => Ending::None,
        }
    }

    /// What the future results in; `None` also if the connection was idle for too long first.
    async fn unless_idle<T>(&self, future: impl Future<Output = Option<T>>) -> Option<T> {
        let idle = self.shared.config.limits.idle;
        let mut future = pin!(future);
        let mut look = pin!(tokio::time::sleep(idle));
        poll_fn(|context| {
            if let Poll::Ready(output) = future.as_mut().poll(context) {
                return Poll::Ready(output);
            }
            while look.as_mut().poll(context).is_ready() {
                let is_silent = self.traffic.replace(0) == 0;
                if is_silent && self.preparing.get() == 0 {
                    self.shared.counts.borrow_mut().connections_idled_out += 1;
                    return Poll::Ready(None);
                }
                look.as_mut().reset(tokio::time::Instant::now() + idle);
            }
            Poll::Pending
        })
        .await
    }
}

/// A reply that is on its way, although nothing moves.
#[derive(Debug)]
pub(crate) struct Preparing<'a>(&'a Link);

impl Drop for Preparing<'_> {
    fn drop(&mut self) {
        self.0.preparing.set(self.0.preparing.get() - 1);
    }
}

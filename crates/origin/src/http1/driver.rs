//! HTTP/1 on one connection: hyper reads the requests and writes well-formed replies; the others are written by hand
//! (`takeover.rs`).

use std::cell::RefCell;
use std::convert::Infallible;
use std::future::{Future as _, pending, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::task::Poll;

use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use hyper::header::{self, HeaderValue};
use hyper::http::request::Parts;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, Version};
use hyper_util::rt::TokioIo;

use super::takeover::{self, Takeover, Ticket};
use crate::body::ReplyBody;
use crate::config::Framing;
use crate::fault::Fault;
use crate::intake::Intake;
use crate::link::{Ending, Link};
use crate::reply::{add_fields, prepare};
use crate::route::Answer;
use crate::websocket::Opening;
use crate::wire::Wire;

/// Speaks HTTP/1 until the connection is over. `None` if it ended early.
pub(crate) async fn serve(mut wire: Wire, link: &Rc<Link>) -> Option<()> {
    link.shared.counts.borrow_mut().connections_http1 += 1;
    loop {
        let (taken, takeover) = serve_with_hyper(wire, link).await?;
        // Writing fails when the client has left, and then nobody is there to tell.
        wire = takeover::perform(taken, link, takeover).await.ok().flatten()?;
    }
}

/// A slot for the next use of the wire, which the driver empties once hyper has written all it holds.
#[derive(Debug)]
struct Handover {
    link: Rc<Link>,
    takeover: RefCell<Option<Takeover>>,
}

/// A guard of a reply's body that asks for an unannounced close behind the reply.
#[derive(Debug)]
struct CloseWhenDropped(Rc<Handover>);

impl Drop for CloseWhenDropped {
    fn drop(&mut self) {
        self.0.takeover.replace(Some(Takeover::Close));
    }
}

type HyperResponse = Response<ReplyBody<CloseWhenDropped>>;

/// Lets hyper serve the connection until it is over (`None`) or the wire is needed without hyper.
async fn serve_with_hyper(wire: Wire, link: &Rc<Link>) -> Option<(Wire, Takeover)> {
    let handover = Rc::new(Handover { link: Rc::clone(link), takeover: RefCell::default() });
    let service = service_fn(|request| reply(Rc::clone(&handover), request));
    let mut connection =
        http1::Builder::new().title_case_headers(true).serve_connection(TokioIo::new(wire), service);
    let takeover = poll_fn(|context| {
        if let Poll::Ready(result) = Pin::new(&mut connection).poll(context) {
            if result.as_ref().is_err_and(hyper::Error::is_parse) {
                link.shared.counts.borrow_mut().requests_malformed += 1;
            }
            // The error of a body is that it breaks off.
            let is_broken_off = result.is_err_and(|error| error.is_user());
            return Poll::Ready(is_broken_off.then_some(Takeover::Cut));
        }
        // When hyper waits, it has tried to write all it holds. Unless the socket refused some, earlier replies are
        // out and the wire can be taken.
        if link.is_write_blocked() {
            return Poll::Pending;
        }
        match handover.takeover.take() {
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

/// Answers a request: with a response for hyper, or with a takeover, which drops this future.
async fn reply(handover: Rc<Handover>, request: Request<Incoming>) -> Result<HyperResponse, Infallible> {
    let link = &handover.link;
    if handover.takeover.borrow().is_some() {
        // The connection is about to close, and this request came too late.
        return pending().await;
    }
    let (request, body) = request.into_parts();
    let (mut answer, ending) = {
        let intake = Intake::default();
        prepare(link, &request, &intake, read(body, &intake)).await
    };
    if let Some(conversation) = answer.websocket.take() {
        let opening = Box::new(Opening::new(&request, *conversation));
        handover.takeover.replace(Some(Takeover::WebSocket(opening)));
        return pending().await;
    }
    if needs_takeover(&answer, &request) {
        let ticket = Ticket::new(answer, &request, ending);
        handover.takeover.replace(Some(Takeover::Reply(ticket)));
        return pending().await;
    }
    Ok(response(&handover, &answer, ending, request.version))
}

async fn read(mut body: Incoming, intake: &Intake) -> hyper::Result<()> {
    if body.is_end_stream() {
        return Ok(());
    }
    while let Some(frame) = body.frame().await {
        if let Some(data) = frame?.data_ref() {
            intake.take_in(data);
        }
    }
    Ok(())
}

fn needs_takeover(answer: &Answer, request: &Parts) -> bool {
    match answer.fault {
        Some(Fault::Trickle) => false,
        // hyper withholds trailers from clients that did not ask for them.
        None | Some(Fault::Goaway) => {
            answer.framing == Framing::Trailers
                && request.version == Version::HTTP_11
                && request.method != Method::HEAD
        }
        Some(_) => true,
    }
}

fn response(handover: &Rc<Handover>, answer: &Answer, ending: Ending, version: Version) -> HyperResponse {
    let shared = &handover.link.shared;
    let is_sized = answer.framing == Framing::Length;
    let mut body = ReplyBody::new(answer.content.clone(), is_sized, &handover.link);
    if answer.fault == Some(Fault::Trickle) {
        body = body.trickle(&shared.timer, shared.config.trickle);
    }
    if ending == Ending::Silent {
        body = body.guarded(CloseWhenDropped(Rc::clone(handover)));
    }
    let mut response = Response::new(body);
    *response.status_mut() = answer.status;
    // HTTP/1.0 has no chunks: only the close ends such a body.
    let ends_with_close = !is_sized && version != Version::HTTP_11;
    let closes = ending == Ending::Announced || ends_with_close;
    if closes {
        // Otherwise hyper would add `keep-alive` to the `close` of a reply to HTTP/1.0.
        *response.version_mut() = version;
    }
    let headers = response.headers_mut();
    if closes {
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    add_fields(headers, answer);
    response
}

//! One request of a connection, and its reply.

use std::future::{Future as _, pending, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::{Poll, ready};

use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, RecvStream, SendStream};
use hyper::{Method, Request, StatusCode, header};

use super::desk::{Desk, End};
use super::frames::{DATA, END_HEADERS, HEADERS, frame_header};
use super::{rpc, websocket};
use crate::body::ReplyBody;
use crate::config::Framing;
use crate::content::Checksum;
use crate::fault::{BAD_HEADER_BLOCK, Fault, SURPLUS};
use crate::grpc;
use crate::intake::Intake;
use crate::link::Ending;
use crate::reply::{early_hints, framed_head, has_framed_trailers, interim, lists, prepare, trailers};
use crate::route::Answer;
use crate::stream::pieces::BrokenOff;
use crate::websocket::{Opening, is_asked_for};

/// Answers a request, or gives up when its stream is reset.
pub(super) async fn answer(request: Request<RecvStream>, mut respond: SendResponse<Bytes>, desk: Rc<Desk>) {
    let (request, mut body) = request.into_parts();
    if !body.is_end_stream() && lists(&request.headers, &header::EXPECT, "100-continue") {
        // This fails only if the stream was reset, which shows below.
        let _: Result<(), h2::Error> = respond.send_informational(interim(StatusCode::CONTINUE));
    }
    if grpc::is_called(&request) {
        return rpc::answer(request, body, respond, desk).await;
    }
    let is_websocket = is_asked_for(&request);
    let prepared = {
        let intake = Intake::default();
        let read = async {
            // What comes on a WebSocket is not the body of a request.
            if is_websocket { Ok(()) } else { read(&mut body, &intake, &desk).await }
        };
        let mut prepared = pin!(prepare(&desk.link, &request, &intake, read));
        poll_fn(|context| match respond.poll_reset(context) {
            Poll::Ready(_) => Poll::Ready(None),
            Poll::Pending => prepared.as_mut().poll(context).map(Some),
        })
        .await
    };
    let Some((mut answer, ending)) = prepared else {
        // h2 may have reset the stream for an error in the body.
        if matches!(poll_fn(|context| body.poll_data(context)).await, Some(Err(error)) if error.is_library())
        {
            desk.link.shared.counts.borrow_mut().requests_malformed += 1;
        }
        return;
    };
    if let Some(conversation) = answer.websocket.take() {
        let opening = Opening::new(&request, *conversation);
        // It fails only if the client has reset the stream or left.
        let _: Result<(), h2::Error> = websocket::open(body, respond, &desk.link, opening).await;
        return;
    }
    let reply = Reply { answer, ending, is_head: request.method == Method::HEAD, desk };
    // Sending fails only if the client has reset the stream or left.
    let _: Result<(), h2::Error> = reply.send(respond).await;
}

/// Reads the body, and opens the window again for more.
pub(super) async fn read(body: &mut RecvStream, intake: &Intake, desk: &Desk) -> Result<(), h2::Error> {
    loop {
        let size = tokio::select! {
            biased;
            data = body.data() => match data {
                Some(data) => {
                    let data = data?;
                    intake.take_in(&data);
                    data.len()
                }
                None => return Ok(()),
            },
            // A window that has shrunk may have no room left until it is opened, which h2 considers only when capacity is
            // released.
            () = desk.new_settings() => 0,
        };
        body.flow_control().release_capacity(size)?;
    }
}

/// A reply that is due.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) answer: Answer,
    pub(super) ending: Ending,
    pub(super) is_head: bool,
    pub(super) desk: Rc<Desk>,
}

impl Reply {
    pub(super) async fn send(self, mut respond: SendResponse<Bytes>) -> Result<(), h2::Error> {
        let desk = &*self.desk;
        if let Some(size) = self.answer.window {
            desk.set_window(size);
        }
        if self.ending == Ending::Announced {
            desk.go_away(Reason::NO_ERROR);
        }
        match self.answer.fault {
            Some(Fault::Reset) => self.end_with(End::Reset).await,
            Some(Fault::Close) => self.end_with(End::Close).await,
            Some(Fault::Garbage) => self.end_with(End::Garbage).await,
            Some(Fault::Stall) => {
                let _waiting = desk.link.prepare();
                poll_fn(|context| respond.poll_reset(context)).await?;
            }
            Some(Fault::Silence) => self.end_with(End::Silence).await,
            Some(fault @ (Fault::BadHeader | Fault::BadFrame)) => {
                desk.flushed().await;
                let stream = match fault {
                    Fault::BadHeader => respond.stream_id().as_u32(),
                    // Headers belong to a stream.
                    _ => 0,
                };
                let header = frame_header(HEADERS, END_HEADERS, stream, BAD_HEADER_BLOCK.len());
                desk.write_foreign(&[&header, BAD_HEADER_BLOCK].concat());
                poll_fn(|context| respond.poll_reset(context)).await?;
            }
            Some(Fault::ResetStream) => respond.send_reset(Reason::INTERNAL_ERROR),
            Some(Fault::RefuseStream) => respond.send_reset(Reason::REFUSED_STREAM),
            Some(Fault::GoawayError) => {
                desk.go_away(Reason::ENHANCE_YOUR_CALM);
                // Otherwise the stream would be reset first.
                poll_fn(|context| respond.poll_reset(context)).await?;
            }
            Some(Fault::ResetBody | Fault::Truncate | Fault::BadChunk) => self.send_half(respond).await?,
            Some(Fault::Interim) => {
                respond.send_informational(interim(StatusCode::CONTINUE))?;
                respond.send_informational(early_hints())?;
                self.send_whole(respond).await?;
            }
            None
            | Some(
                Fault::Trickle
                | Fault::NoLength
                | Fault::BadLength
                | Fault::HugeHeader
                | Fault::Surplus
                | Fault::Goaway
                // h2 resets the stream of a request whose body nobody wants (NO_ERROR) behind the reply.
                | Fault::StopSending,
            ) => self.send_whole(respond).await?,
        }
        Ok(())
    }

    /// Ends the connection, and this task with it.
    async fn end_with(&self, end: End) -> ! {
        self.desk.end_with(end);
        pending().await
    }

    async fn send_whole(&self, mut respond: SendResponse<Bytes>) -> Result<(), h2::Error> {
        let answer = &self.answer;
        let has_trailers = has_framed_trailers(answer, self.is_head);
        let has_body = answer.has_body(self.is_head);
        let mut stream =
            respond.send_response(framed_head(&self.answer, self.is_head), !has_body && !has_trailers)?;
        let mut checksum = Checksum::default();
        if has_body {
            let is_sized = answer.framing == Framing::Length;
            let mut body = ReplyBody::new(answer.content.clone(), is_sized, &self.desk.link);
            if answer.fault == Some(Fault::Trickle) {
                let shared = &self.desk.link.shared;
                body = body.trickle(&shared.timer, shared.config.trickle);
            }
            let seen = has_trailers.then_some(&mut checksum);
            if send_body(&mut stream, body, !has_trailers, seen).await?.is_err() {
                // A reset discards what is not written yet.
                self.desk.flushed().await;
                stream.send_reset(Reason::INTERNAL_ERROR);
                return Ok(());
            }
        }
        if has_trailers {
            stream.send_trailers(trailers(&checksum))?;
        }
        if answer.fault == Some(Fault::Surplus) {
            self.desk.flushed().await;
            let header = frame_header(DATA, 0, stream.stream_id().as_u32(), SURPLUS.len());
            self.desk.write_foreign(&[&header, SURPLUS].concat());
        }
        if self.ending == Ending::Silent {
            self.desk.flushed().await;
            self.end_with(End::Close).await;
        }
        Ok(())
    }

    /// Sends the header and half of the body, and then what the fault puts in place of the rest.
    async fn send_half(&self, mut respond: SendResponse<Bytes>) -> Result<(), h2::Error> {
        let mut stream = respond.send_response(framed_head(&self.answer, self.is_head), false)?;
        let has_body = self.answer.has_body(self.is_head);
        let half = self.answer.content.half();
        if has_body && !half.is_empty() {
            let body = ReplyBody::new(half, true, &self.desk.link);
            let Ok(()) = send_body(&mut stream, body, false, None).await? else {
                unreachable!("a reply with a fault is not cut")
            };
        }
        if self.answer.fault == Some(Fault::Truncate) && has_body {
            return stream.send_data(Bytes::new(), true);
        }
        // A reset discards what is not written yet.
        self.desk.flushed().await;
        if self.answer.fault == Some(Fault::ResetBody) {
            self.end_with(End::Reset).await;
        }
        stream.send_reset(Reason::INTERNAL_ERROR);
        Ok(())
    }
}

/// Sends a body that is not empty as the windows allow, with the end of the stream if that `is_end`. A body that breaks off
/// has no end.
async fn send_body(
    stream: &mut SendStream<Bytes>,
    mut body: ReplyBody,
    is_end: bool,
    mut checksum: Option<&mut Checksum>,
) -> Result<Result<(), BrokenOff>, h2::Error> {
    while let Some(piece) = next_piece(stream, &mut body).await? {
        let Ok(mut data) = piece else { return Ok(Err(BrokenOff)) };
        if let Some(checksum) = &mut checksum {
            checksum.add(&data);
        }
        let is_last = body.is_over();
        while !data.is_empty() {
            let room = room(stream, data.len()).await?;
            let part = data.split_to(room.min(data.len()));
            stream.send_data(part, is_end && is_last && data.is_empty())?;
        }
    }
    Ok(Ok(()))
}

/// Awaits the next piece of the body; fails if the client resets the stream first.
async fn next_piece(
    stream: &mut SendStream<Bytes>,
    body: &mut ReplyBody,
) -> Result<Option<Result<Bytes, BrokenOff>>, h2::Error> {
    poll_fn(|context| {
        let Poll::Ready(piece) = body.poll_piece(context) else {
            return stream
                .poll_reset(context)
                .map(|reason| Err(reason.map_or_else(|error| error, h2::Error::from)));
        };
        Poll::Ready(Ok(piece))
    })
    .await
}

/// Waits until the windows allow at least one byte; returns the number they allow.
pub(super) async fn room(stream: &mut SendStream<Bytes>, wanted: usize) -> Result<usize, h2::Error> {
    stream.reserve_capacity(wanted);
    poll_fn(|context| {
        loop {
            let room = stream.capacity();
            if room > 0 {
                return Poll::Ready(Ok(room));
            }
            match ready!(stream.poll_capacity(context)) {
                Some(Ok(_)) => {}
                Some(Err(error)) => return Poll::Ready(Err(error)),
                None => return Poll::Ready(Err(Reason::STREAM_CLOSED.into())),
            }
        }
    })
    .await
}

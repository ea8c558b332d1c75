//! One request of a connection, and its reply.

use std::future::pending;
use std::rc::Rc;
use std::time::{Duration, Instant};

use bytes::{Buf as _, Bytes};
use h3::error::{Code, StreamError};
use h3::server::{RequestResolver, RequestStream};
use hyper::{Method, StatusCode, header};
use tokio::sync::Notify;

use super::desk::{Desk, Order};
use super::frames::{HEADERS, RESERVED_STREAM, SETTINGS, frame};
use super::pipe::{Pipe, Receiver, SendHandle, Sender};
use crate::body::ReplyBody;
use crate::config::Framing;
use crate::content::Checksum;
use crate::fault::{BAD_HEADER_BLOCK, Fault, GARBAGE, SURPLUS};
use crate::intake::Intake;
use crate::link::Ending;
use crate::reply::{early_hints, framed_head, has_framed_trailers, interim, lists, prepare, trailers};
use crate::route::Answer;
use crate::stream::pieces::BrokenOff;

/// Answers a request, or gives up when the client does.
pub(super) async fn answer(request: RequestResolver<Pipe, Bytes>, handle: SendHandle, desk: Rc<Desk>) {
    let (request, stream) = match request.resolve_request().await {
        Ok((request, stream)) => (request.into_parts().0, stream),
        Err(error) => return give_up(&error, &handle, &desk),
    };
    let (mut sender, mut receiver) = stream.split();
    if lists(&request.headers, &header::EXPECT, "100-continue")
        && sender.send_response(interim(StatusCode::CONTINUE)).await.is_err()
    {
        return;
    }
    let reset = Notify::new();
    let intake = Intake::default();
    let prepared = tokio::select! {
        biased;
        prepared = prepare(&desk.link, &request, &intake, read(&mut receiver, &intake, &reset)) => Some(prepared),
        _ = handle.over() => None,
        () = reset.notified() => None,
    };
    let Some((answer, ending)) = prepared else { return handle.reset(Code::H3_REQUEST_CANCELLED) };
    if answer.fault == Some(Fault::StopSending) {
        receiver.stop_sending(Code::H3_NO_ERROR);
    }
    let is_head = request.method == Method::HEAD;
    let mut reply = Reply { answer, ending, is_head, sender, handle, desk };
    if reply.send().await.is_err() {
        // The client has stopped the stream or left, or does not take a header of this size.
        reply.handle.reset(Code::H3_REQUEST_CANCELLED);
    }
}

/// Ends a stream on which no request came. Errors of the connection are counted with its end.
fn give_up(error: &StreamError, handle: &SendHandle, desk: &Desk) {
    match error {
        StreamError::StreamError { .. } => desk.link.shared.counts.borrow_mut().requests_malformed += 1,
        StreamError::RemoteTerminate { .. } => handle.reset(Code::H3_REQUEST_CANCELLED),
        _ => {}
    }
}

/// Reads the body. Never returns if the client resets it instead, but tells `reset`.
async fn read(
    body: &mut RequestStream<Receiver, Bytes>,
    intake: &Intake,
    reset: &Notify,
) -> Result<(), StreamError> {
    let read = async {
        while let Some(mut data) = body.recv_data().await? {
            while data.has_remaining() {
                intake.take_in(data.chunk());
                data.advance(data.chunk().len());
            }
        }
        body.recv_trailers().await.map(drop)
    };
    match read.await {
        Err(StreamError::RemoteTerminate { .. }) => {
            reset.notify_one();
            pending().await
        }
        result => result,
    }
}

/// A reply that is due.
struct Reply {
    answer: Answer,
    ending: Ending,
    is_head: bool,
    sender: RequestStream<Sender, Bytes>,
    handle: SendHandle,
    desk: Rc<Desk>,
}

impl Reply {
    async fn send(&mut self) -> Result<(), StreamError> {
        if self.ending == Ending::Announced {
            self.desk.leave(Order::GoAway);
        }
        match self.answer.fault {
            Some(Fault::Reset) => self.order(Order::Close(Code::H3_INTERNAL_ERROR)).await,
            Some(Fault::Close) => self.order(Order::Close(Code::H3_NO_ERROR)).await,
            Some(Fault::GoawayError) => self.order(Order::Close(Code::H3_EXCESSIVE_LOAD)).await,
            Some(Fault::Silence) => self.order(Order::FallSilent).await,
            Some(Fault::Stall) => {
                let _waiting = self.desk.link.prepare();
                self.until_over().await;
                self.handle.reset(Code::H3_REQUEST_CANCELLED);
            }
            Some(Fault::ResetStream) => self.handle.reset(Code::H3_INTERNAL_ERROR),
            Some(Fault::RefuseStream) => self.handle.reset(Code::H3_REQUEST_REJECTED),
            Some(Fault::Garbage) => self.write_last(GARBAGE).await,
            Some(Fault::BadHeader) => self.write_last(&frame(HEADERS, BAD_HEADER_BLOCK)).await,
            Some(Fault::BadFrame) => self.write_last(&frame(SETTINGS, &[])).await,
            Some(Fault::ResetBody | Fault::Truncate | Fault::BadChunk) => self.send_half().await?,
            Some(Fault::Interim) => {
                self.sender.send_response(interim(StatusCode::CONTINUE)).await?;
                self.sender.send_response(early_hints()).await?;
                self.send_whole().await?;
            }
            None
            | Some(
                Fault::Trickle
                | Fault::NoLength
                | Fault::BadLength
                | Fault::HugeHeader
                | Fault::Surplus
                | Fault::Goaway
                | Fault::StopSending,
            ) => self.send_whole().await?,
        }
        Ok(())
    }

    /// Leaves an order that ends the connection, and this task with it.
    async fn order(&self, order: Order) -> ! {
        self.desk.leave(order);
        pending().await
    }

    /// Waits until the client has all that was written, or gives up.
    async fn until_over(&self) {
        // Either way the stream is over.
        let _: Result<Option<quinn::VarInt>, quinn::StoppedError> = self.handle.over().await;
    }

    /// Writes bytes that are no reply and ends the stream.
    async fn write_last(&self, bytes: &[u8]) {
        if self.handle.write_last(bytes).await.is_ok() {
            self.until_over().await;
        }
    }

    async fn send_whole(&mut self) -> Result<(), StreamError> {
        self.sender.send_response(framed_head(&self.answer, self.is_head)).await?;
        let has_trailers = has_framed_trailers(&self.answer, self.is_head);
        let mut checksum = Checksum::default();
        if self.answer.has_body(self.is_head) {
            let is_sized = self.answer.framing == Framing::Length;
            let mut body = ReplyBody::new(self.answer.content.clone(), is_sized, &self.desk.link);
            if self.answer.fault == Some(Fault::Trickle) {
                let shared = &self.desk.link.shared;
                body = body.trickle(&shared.timer, shared.config.trickle);
            }
            if self.send_body(body, has_trailers.then_some(&mut checksum)).await?.is_err() {
                self.handle.reset(Code::H3_INTERNAL_ERROR);
                return Ok(());
            }
        }
        if has_trailers {
            self.sender.send_trailers(trailers(&checksum)).await?;
        }
        self.sender.finish().await?;
        if self.answer.fault == Some(Fault::Surplus) {
            self.send_surplus().await;
        }
        // A close, of this connection or by an earlier GOAWAY, would cut off what is on its way.
        self.until_over().await;
        if self.ending == Ending::Silent {
            self.order(Order::Close(Code::H3_NO_ERROR)).await;
        }
        Ok(())
    }

    /// Sends a body as the windows allow. One that breaks off has no end.
    async fn send_body(
        &mut self,
        mut body: ReplyBody,
        mut checksum: Option<&mut Checksum>,
    ) -> Result<Result<(), BrokenOff>, StreamError> {
        while let Some(piece) = body.piece().await {
            let Ok(data) = piece else { return Ok(Err(BrokenOff)) };
            if let Some(checksum) = &mut checksum {
                checksum.add(&data);
            }
            self.sender.send_data(data).await?;
        }
        Ok(Ok(()))
    }

    /// Sends bytes that belong to no reply on a stream of their own.
    async fn send_surplus(&self) {
        let Ok(mut stream) = self.desk.connection.open_uni().await else { return };
        // This fails only if the client refuses the stream or leaves.
        let _: Result<(), quinn::WriteError> =
            stream.write_all(&[&[RESERVED_STREAM], SURPLUS].concat()).await;
    }

    /// Sends the header and half of the body, and then what the fault puts in place of the rest.
    async fn send_half(&mut self) -> Result<(), StreamError> {
        self.sender.send_response(framed_head(&self.answer, self.is_head)).await?;
        let has_body = self.answer.has_body(self.is_head);
        let half = self.answer.content.half();
        if has_body && !half.is_empty() {
            let body = ReplyBody::new(half, true, &self.desk.link);
            let Ok(()) = self.send_body(body, None).await? else {
                unreachable!("a reply with a fault is not cut")
            };
        }
        if self.answer.fault == Some(Fault::Truncate) && has_body {
            self.sender.finish().await?;
            self.until_over().await;
            return Ok(());
        }
        // A reset discards what is not sent yet, and clients discard what they have not read.
        self.desk.link.shared.timer.sleep_until(Instant::now() + BEFORE_RESET).await;
        if self.answer.fault == Some(Fault::ResetBody) {
            self.order(Order::Close(Code::H3_INTERNAL_ERROR)).await;
        }
        self.handle.reset(Code::H3_INTERNAL_ERROR);
        Ok(())
    }
}

/// The time for half of a reply to arrive before a reset.
const BEFORE_RESET: Duration = Duration::from_millis(20);

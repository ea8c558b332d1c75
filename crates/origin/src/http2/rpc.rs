//! A call of gRPC on a stream.

use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;
use std::time::{Instant, SystemTime};

use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, RecvStream, SendStream};
use httperf_proto::grpc::MEDIA_TYPE;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Response, StatusCode};

use super::desk::Desk;
use super::stream::{self, Reply, room};
use crate::grpc::conclusion::{Conclusion, DEADLINE_EXCEEDED};
use crate::grpc::messages::{Messages, framed};
use crate::grpc::test::Series;
use crate::grpc::{self, Work};
use crate::intake::Intake;
use crate::link::Ending;
use crate::reply::{SERVER_NAME, prepare};
use crate::stamps;

/// Answers a call, or gives up when its stream is reset.
pub(super) async fn answer(request: Parts, body: RecvStream, respond: SendResponse<Bytes>, desk: Rc<Desk>) {
    let received = Instant::now();
    let deadline = grpc::deadline(&request, received);
    let (deadline, refusal) = match deadline {
        Ok(deadline) => (deadline, None),
        Err(refusal) => (None, Some(refusal)),
    };
    let call = Call { desk, deadline };
    // It fails only if the client has reset the stream or left.
    let _: Result<(), h2::Error> = call.answer(request, body, respond, refusal).await;
}

struct Call {
    desk: Rc<Desk>,
    /// The end of the time that the client gives it.
    deadline: Option<Instant>,
}

impl Call {
    async fn answer(
        self,
        request: Parts,
        mut body: RecvStream,
        mut respond: SendResponse<Bytes>,
        refusal: Option<Conclusion>,
    ) -> Result<(), h2::Error> {
        let intake = Intake::default();
        let is_read_whole = grpc::is_read_whole(&request);
        let read =
            async { if is_read_whole { stream::read(&mut body, &intake, &self.desk).await } else { Ok(()) } };
        let (answer, ending) = tokio::select! {
            biased;
            reset = poll_reset(&mut respond) => return reset,
            prepared = prepare(&self.desk.link, &request, &intake, read) => prepared,
            () = self.deadline_passes() => return self.conclude(respond, &late()),
        };
        if answer.fault.is_some() || answer.status != StatusCode::OK {
            // A proxy before a server of gRPC may answer like this.
            let desk = Rc::clone(&self.desk);
            return Reply { answer, ending, is_head: false, desk }.send(respond).await;
        }
        if ending == Ending::Announced {
            self.desk.go_away(Reason::NO_ERROR);
        }
        let limits = &self.desk.link.shared.config.limits;
        if let Some(refusal) = refusal {
            return self.conclude(respond, &refusal);
        }
        if !is_read_whole {
            return self.reflect(body, respond).await;
        }
        match grpc::work(&request, intake.kept().as_deref(), limits) {
            Err(conclusion) => self.conclude(respond, &conclusion),
            Ok(Work::Say(message)) => {
                let mut stream = respond.send_response(head(), false)?;
                self.say(&mut stream, message).await?;
                self.end(stream, &Conclusion::OK)
            }
            Ok(Work::Watch(message)) => {
                let mut stream = respond.send_response(head(), false)?;
                self.say(&mut stream, message).await?;
                let _waiting = self.desk.link.prepare();
                poll_reset(&mut stream).await
            }
            Ok(Work::Series(delay, series)) => {
                let header_due = Instant::now() + delay;
                if !delay.is_zero() && !self.waits_until(header_due, &mut respond).await? {
                    return self.conclude(respond, &late());
                }
                if series.messages == 0 {
                    return self.conclude(respond, &series.conclusion);
                }
                let stream = respond.send_response(head(), false)?;
                self.series(stream, &series).await
            }
        }
    }

    /// Sends messages when they are due.
    async fn series(&self, mut stream: SendStream<Bytes>, series: &Series) -> Result<(), h2::Error> {
        let begun = Instant::now();
        for number in 0..series.messages {
            let due = begun + series.due(number);
            if due > Instant::now() && !self.waits_until(due, &mut stream).await? {
                return self.end(stream, &late());
            }
            // The time at which it leaves is in it.
            let _held = self.desk.link.hold(series.reply_size()).await;
            let message = framed(&series.reply(number, stamps::unix_ns()));
            self.say(&mut stream, message).await?;
        }
        self.end(stream, &series.conclusion)
    }

    /// Answers messages as they come.
    async fn reflect(&self, mut body: RecvStream, mut respond: SendResponse<Bytes>) -> Result<(), h2::Error> {
        let mut messages = Messages::new(self.desk.link.shared.config.limits.grpc_message_size);
        let mut stream = respond.send_response(head(), false)?;
        while let Some(data) = body.data().await {
            let data = data?;
            body.flow_control().release_capacity(data.len())?;
            messages.push(&data);
            loop {
                let answer = match messages.poll_message() {
                    Ok(None) => break,
                    Ok(Some(message)) => grpc::reflect(message),
                    Err(conclusion) => Err(conclusion),
                };
                match answer {
                    Ok(answer) => self.say(&mut stream, answer).await?,
                    Err(conclusion) => return self.end(stream, &conclusion),
                }
            }
        }
        self.end(stream, &messages.end())
    }

    /// Sends a message that is framed already.
    async fn say(&self, stream: &mut SendStream<Bytes>, mut message: Bytes) -> Result<(), h2::Error> {
        while !message.is_empty() {
            let room = room(stream, message.len()).await?;
            let part = message.split_to(room.min(message.len()));
            // What waits to be written does not keep the whole message.
            stream.send_data(Bytes::copy_from_slice(&part), false)?;
        }
        self.desk.link.shared.counts.borrow_mut().rpc_messages += 1;
        Ok(())
    }

    /// Ends a call that has said nothing.
    fn conclude(&self, mut respond: SendResponse<Bytes>, conclusion: &Conclusion) -> Result<(), h2::Error> {
        let mut head = head();
        conclusion.add_fields(head.headers_mut());
        self.count(conclusion);
        respond.send_response(head, true).map(drop)
    }

    /// Ends a call behind its messages.
    fn end(&self, mut stream: SendStream<Bytes>, conclusion: &Conclusion) -> Result<(), h2::Error> {
        let mut trailers = HeaderMap::new();
        conclusion.add_fields(&mut trailers);
        self.count(conclusion);
        stream.send_trailers(trailers)
    }

    fn count(&self, conclusion: &Conclusion) {
        let mut counts = self.desk.link.shared.counts.borrow_mut();
        counts.rpcs += 1;
        counts.rpcs_failed += u64::from(*conclusion != Conclusion::OK);
    }

    /// Waits for the end of the client's time.
    async fn deadline_passes(&self) {
        match self.deadline {
            Some(deadline) => self.desk.link.shared.timer.sleep_until(deadline).await,
            None => std::future::pending().await,
        }
    }

    /// Waits until an instant, or the end of the client's time, and returns false then. An error if the stream is reset.
    async fn waits_until(&self, due: Instant, stream: &mut impl MayBeReset) -> Result<bool, h2::Error> {
        let _waiting = self.desk.link.prepare();
        tokio::select! {
            biased;
            () = self.deadline_passes() => Ok(false),
            () = self.desk.link.shared.timer.sleep_until(due) => Ok(true),
            reset = poll_reset(stream) => reset.map(|()| false),
        }
    }
}

/// A stream that the client may reset.
trait MayBeReset {
    fn poll_reset(&mut self, context: &mut std::task::Context<'_>) -> Poll<Result<Reason, h2::Error>>;
}

impl MayBeReset for SendStream<Bytes> {
    fn poll_reset(&mut self, context: &mut std::task::Context<'_>) -> Poll<Result<Reason, h2::Error>> {
        Self::poll_reset(self, context)
    }
}

impl MayBeReset for SendResponse<Bytes> {
    fn poll_reset(&mut self, context: &mut std::task::Context<'_>) -> Poll<Result<Reason, h2::Error>> {
        Self::poll_reset(self, context)
    }
}

/// Waits until the stream is reset, which is an error.
async fn poll_reset(stream: &mut impl MayBeReset) -> Result<(), h2::Error> {
    poll_fn(|context| {
        stream.poll_reset(context).map(|reason| Err(reason.map_or_else(|error| error, h2::Error::from)))
    })
    .await
}

/// The end of a call whose time is over.
fn late() -> Conclusion {
    Conclusion::new(DEADLINE_EXCEEDED, "the time that the client gave is over")
}

/// The header of a reply.
fn head() -> Response<()> {
    let mut response = Response::new(());
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
    headers.insert(header::SERVER, HeaderValue::from_static(SERVER_NAME));
    let date = httpdate::fmt_http_date(SystemTime::now());
    headers.insert(header::DATE, HeaderValue::try_from(date).expect("a date is a valid field value"));
    response
}

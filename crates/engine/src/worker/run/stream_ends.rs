//! Ends of the streams that replies are: event streams, answers of language models, messages of gRPC.

use httperf_plan::Plan;
use httperf_proto::{HeaderBlock, grpc, http1};
use httperf_stats::{GrpcEnd, Instant, Mismatch, ModelEnd, Recorder, StreamCall, StreamFate};

use super::call::{Call, Phase};
use super::stream::{ReceivedMessages, Stream};

/// The stream of a call that has ended, and the check that it failed.
pub(super) struct EndedStream {
    /// `None` for a model's reply that was not streamed.
    pub(super) call: Option<StreamCall>,
    pub(super) mismatch: Option<Mismatch>,
    /// The end of a call of gRPC whose reply is complete.
    pub(super) rpc: Option<Box<GrpcEnd>>,
}

/// Records the end of a call's stream, if it has one.
pub(super) fn end_stream(
    recorder: &mut Recorder,
    plan: &Plan,
    call: &mut Call,
    fate: StreamFate,
    now: Instant,
) -> Option<EndedStream> {
    // Most replies are none, and do not pay for those that are.
    #[cold]
    fn end(
        recorder: &mut Recorder,
        plan: &Plan,
        (due, phase, head): (Instant, Phase, Option<HeaderBlock>),
        stream: Box<Stream>,
        fate: StreamFate,
        now: Instant,
    ) -> EndedStream {
        let mut end = stream.end(fate, due, now, &plan.replies.streams.goodput);
        if let (Some(ModelEnd { error: Some(error), .. }), Some(head)) = (&mut end.model, &head)
            && let Some(value) = http1::values(head.as_bytes(), b"retry-after").next()
        {
            error.push_str(&format!(" (Retry-After: {})", String::from_utf8_lossy(value)));
        }
        recorder.stream_ended(due, &end);
        let is_answer = end.model.as_ref().is_none_or(ModelEnd::is_answer);
        // A status of an error says all there is to say.
        let is_success = matches!(phase, Phase::Answering { status: 200..=299, .. });
        let is_complete = is_success && fate == StreamFate::Completed;
        let mismatch = match end.is_unread && end.model.is_none() {
            true => Some(Mismatch::Undecodable),
            false => (!is_answer).then_some(Mismatch::Answer),
        };
        EndedStream {
            call: end.is_streamed.then(|| end.call()),
            mismatch: mismatch.filter(|_| is_complete),
            rpc: None,
        }
    }

    if plan.replies.streams.grpc.is_some() {
        return Some(end_rpc(recorder, plan, call, fate, now));
    }
    let reader = call.reader.as_mut()?;
    let stream = reader.take_stream()?;
    Some(end(recorder, plan, (call.intended, call.phase, reader.section.take()), stream, fate, now))
}

/// Records the end of a call of gRPC, and of its stream if the server's messages have times of their own.
fn end_rpc(
    recorder: &mut Recorder,
    plan: &Plan,
    call: &mut Call,
    fate: StreamFate,
    now: Instant,
) -> EndedStream {
    let mut ended = EndedStream { call: None, mismatch: None, rpc: None };
    let mut received = ReceivedMessages::default();
    if let Some(mut stream) = call.reader.as_mut().and_then(|reader| reader.take_stream()) {
        received = stream.messages();
        let end = stream.end(fate, call.intended, now, &plan.replies.streams.goodput);
        if end.is_streamed {
            recorder.stream_ended(call.intended, &end);
            ended.call = Some(end.call());
        }
    }
    if let (StreamFate::Completed, Phase::Answering { status, .. }) = (fate, call.phase) {
        let section = call.reader.as_mut().and_then(|reader| reader.section.take());
        let section = section.as_ref().map_or(&b""[..], HeaderBlock::as_bytes);
        let mut outcome = grpc::outcome(section, status);
        let is_unary = plan.replies.streams.grpc.is_some_and(|grpc| !grpc.server_streams);
        if is_unary && !received.is_malformed {
            outcome = outcome.of_unary_call(received.count);
        }
        let end = GrpcEnd {
            status: outcome.status.to_name(),
            message: outcome.message,
            is_told: outcome.is_told,
            received: received.count,
            received_bytes: received.size,
            is_malformed: received.is_malformed,
        };
        recorder.grpc_ended(call.intended, &end);
        // A status of an error says all there is to say.
        let is_unexpected = (200..300).contains(&status) && !end.is_success();
        ended.mismatch = is_unexpected.then_some(Mismatch::Rpc);
        ended.rpc = Some(Box::new(end));
    }
    ended
}

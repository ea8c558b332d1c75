//! Samples of calls that have ended, and where they go.

use std::time::Duration;

use httperf_load::replay::RecordedRequest;
use httperf_plan::{Plan, Split};
use httperf_stats::{Instant, RecordedReply, Recorder, Sample, SlowDetail, StepCall};

use super::call::{Call, Look, Origin, Phase};
use crate::{Observation, Observer};

impl Call {
    /// Returns its sample if it ends at `now` without a reply.
    pub(super) fn sample(&self, now: Instant) -> Sample<'_> {
        let (step, recorded, shown_uri) = match &self.origin {
            Origin::Source => (None, None, None),
            Origin::Step { look, shown_uri } => {
                let step = look.map(|Look { place, failed, .. }| StepCall { place, failed });
                (step, None, shown_uri.as_deref())
            }
            Origin::Recorded(request) => (None, Some(recorded_reply(request)), None),
        };
        Sample {
            sent: self.sent,
            stalled: self.stalled,
            carrier: self.carrier,
            step,
            recorded,
            ..unsent(self.serial, shown_uri.unwrap_or_else(|| self.request.target()), self.intended, now)
        }
    }

    /// Returns its sample if it has opened a WebSocket at this instant, which goes on at `now`.
    pub(super) fn opened(&self, plan: &Plan, at: Instant, now: Instant) -> Sample<'_> {
        let Phase::Answering { at: first_byte, status } = self.phase else { return self.sample(now) };
        Sample {
            status: Some(status),
            first_byte: Some(first_byte),
            expected: self.expects(plan, status),
            ..self.sample(at.max(first_byte))
        }
    }

    /// Returns whether the status of its reply is one that the plan or its step expects, or one below 500 that was recorded.
    pub(super) fn expects(&self, plan: &Plan, status: u16) -> bool {
        let is_of_origin = match &self.origin {
            Origin::Source => false,
            Origin::Step { look, .. } => look.is_some_and(|look| look.expects_status),
            Origin::Recorded(request) => status < 500 && request.status == Some(status),
        };
        is_of_origin
            || plan.replies.expect.statuses.as_ref().is_some_and(|statuses| statuses.contains(status))
    }
}

/// Returns the sample of a call that ends at `now` without having been sent.
#[inline]
pub(super) fn unsent(call: u64, uri: &[u8], intended: Instant, now: Instant) -> Sample<'_> {
    Sample {
        call,
        uri,
        status: None,
        intended,
        sent: None,
        stalled: Duration::ZERO,
        first_byte: None,
        done: now,
        header_size: 0,
        content_size: 0,
        footer_size: 0,
        decoded_size: None,
        mismatch: None,
        carrier: None,
        receive_lag: None,
        kernel: None,
        step: None,
        recorded: None,
        stream: None,
        rpc: None,
        expected: false,
    }
}

/// Returns the reply that was recorded for a request.
fn recorded_reply(request: &RecordedRequest) -> RecordedReply {
    RecordedReply { status: request.status, took: request.took }
}

/// Records a call that has ended. `detail` is asked only if the call is one of the slowest.
pub(super) fn record(
    plan: &Plan,
    recorder: &mut Recorder,
    observer: &mut dyn Observer,
    start: Instant,
    sample: &Sample<'_>,
    detail: impl FnOnce() -> SlowDetail,
) {
    match plan.recording.split {
        None => recorder.record(sample, None),
        Some(Split::Uri) => recorder.record(sample, Some(sample.uri)),
        Some(Split::Status) => {
            let status = sample.status.map_or_else(|| "none".to_owned(), |status| status.to_string());
            recorder.record(sample, Some(status.as_bytes()));
        }
    }
    if recorder.is_slow(sample.intended, sample.done) {
        recorder.record_slow(sample, detail());
    }
    if plan.watch.calls {
        observer.observe(Observation::Call { sample, start });
    }
}

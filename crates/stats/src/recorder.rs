//! Takes what happens during a run. One per worker; nothing in it is shared or locked.

use std::borrow::Cow;
use std::time::Duration;

use crate::call::Slowest;
use crate::series::SeriesRecorder;
use crate::stall::Silence;
use crate::{
    Certificate, EarlyRequests, Failure, Groups, Handshake, HandshakeFailure, Http2Summary, Instant,
    Interval, Outcome, Pauses, Phase, RateWindows, Sample, SessionSummary, SlowDetail, Summary, TlsSummary,
    Usage, WarmUp, Window,
};

/// How a session ended.
#[derive(Clone, Copy, Debug)]
pub struct SessionEnd {
    /// Whether every call was answered to satisfaction.
    pub completed: bool,
    /// When it was due.
    pub intended: Instant,
    /// When it began.
    pub started: Instant,
    /// When it ended.
    pub ended: Instant,
    /// Complete replies it received.
    pub replies: u64,
    /// Connections it established.
    pub connections: u64,
}

/// What one sampling instant shows.
#[derive(Clone, Copy, Debug)]
pub struct TickRates {
    /// Replies per second since the previous one.
    pub replies: f64,
    /// Completed sessions per second since the previous one.
    pub sessions: f64,
}

/// Which figures to keep beside those of connections and calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Those of sessions.
    pub sessions: bool,
    /// Those of TLS.
    pub tls: bool,
    /// Those of HTTP/2.
    pub http2: bool,
    /// Histograms of both clocks, the series, silences: all that the classic report does not show.
    pub detail: bool,
    /// Those of groups of calls.
    pub groups: bool,
    /// How many of the slowest calls.
    pub slowest: usize,
}

impl Figures {
    /// All of connections and calls, as a run without options has them.
    pub const USUAL: Self =
        Self { sessions: false, tls: false, http2: false, detail: true, groups: false, slowest: 10 };
}

/// What is known when a run ends.
#[derive(Clone, Debug, Default)]
pub struct End {
    /// When it ended.
    pub at: Instant,
    /// How long the measured phase was.
    pub duration: Duration,
    /// What that took from the machine.
    pub usage: Usage,
    /// Calls of which an observer was to be told and could not be.
    pub calls_not_logged: u64,
}

/// Takes what happens during a run.
///
/// What was `due` before the measured phase is kept apart. Where a method asks for it, that is when the connection, the
/// call or the session was due of which it tells.
#[derive(Debug)]
pub struct Recorder {
    figures: Figures,
    start: Instant,
    measured_from: Instant,
    measured: Box<Summary>,
    /// What was due before it was measured.
    warmup: Option<Box<Summary>>,
    open: u64,
    burst: Burst,
    /// All that had happened when measuring began, and when it ended.
    window: [Option<Window>; 2],
    /// All that had happened at the last sampling instant, and when that was.
    sampled: (Window, Instant),
    /// What has happened since then and the time that it took, once nothing is offered any more.
    unsampled: Option<(Window, Duration)>,
    series: SeriesRecorder,
    silence: Silence,
    slowest: Slowest,
    /// When the first and the last arrival of the measured phase were due and were started.
    arrivals: Option<[(Instant, Instant); 2]>,
    /// Arrivals that were due in the measured phase and were not started.
    arrivals_missed: u64,
}

/// Connects initiated in one turn of the loop.
#[derive(Debug, Default)]
struct Burst {
    turn: u64,
    count: u64,
}

impl Recorder {
    /// Starts recording at the `start` of a run of which what is due from `measured_from` on is to be measured.
    #[must_use]
    pub fn new(start: Instant, measured_from: Instant, figures: Figures) -> Self {
        let summary = || {
            Box::new(Summary {
                sessions: figures.sessions.then(SessionSummary::default),
                tls: figures.tls.then(Box::default),
                http2: figures.http2.then(Box::default),
                groups: figures.groups.then(Groups::default),
                ..Summary::default()
            })
        };
        let has_warmup = measured_from > start;
        let phase = if has_warmup { Phase::WarmUp } else { Phase::Measured };
        Self {
            figures,
            start,
            measured_from,
            measured: summary(),
            warmup: has_warmup.then(summary),
            open: 0,
            burst: Burst::default(),
            window: [(!has_warmup).then(Window::default), None],
            sampled: (Window::default(), measured_from),
            unsampled: None,
            series: SeriesRecorder::new(start, phase),
            silence: Silence::new(start),
            slowest: Slowest::new(if figures.detail { figures.slowest } else { 0 }),
            arrivals: None,
            arrivals_missed: 0,
        }
    }

    /// The run starts then, not when this was made. What was recorded so far belongs to what comes first: the warm-up,
    /// or the measured phase. In the series, connections that failed before the start are errors of the first interval.
    pub fn restart(&mut self, start: Instant, measured_from: Instant) {
        let has_warmup = measured_from > start;
        let errors = self.series.current().errors;
        self.start = start;
        self.measured_from = measured_from;
        self.window = [(!has_warmup).then(Window::default), None];
        self.sampled.1 = measured_from;
        self.series = SeriesRecorder::new(start, if has_warmup { Phase::WarmUp } else { Phase::Measured });
        self.series.current().errors = errors;
        self.silence = Silence::new(start);
    }

    /// The warm-up is over.
    pub fn begin_measuring(&mut self, now: Instant) {
        self.measured.concurrent_max = self.open;
        self.measured.pauses = Pauses::default();
        self.silence.restart(now);
        let so_far = self.so_far();
        self.window[0] = Some(so_far);
        self.sampled = (so_far, now);
        self.series.enter(Phase::Measured, self.measured_from, self.open);
    }

    /// Nothing is offered any more, since then.
    pub fn begin_draining(&mut self, since: Instant) {
        self.window[1] = Some(self.so_far());
        self.series.enter(Phase::Drain, since, self.open);
        self.unsampled = Some(self.since_sampled(since));
    }

    /// What has happened since the last sampling instant, and how long ago that was.
    fn since_sampled(&self, now: Instant) -> (Window, Duration) {
        let (before, at) = self.sampled;
        (self.so_far() - before, now - at)
    }

    /// All that has happened so far, whatever phase it was due in.
    fn so_far(&self) -> Window {
        let mut all = self.measured.totals();
        if let Some(warmup) = &self.warmup {
            all += warmup.totals();
        }
        all
    }

    /// The figures to which something belongs that was due at this instant.
    fn of(&mut self, due: Instant) -> &mut Summary {
        match &mut self.warmup {
            Some(warmup) if due < self.measured_from => warmup,
            _ => &mut self.measured,
        }
    }

    fn is_measured(&self, due: Instant) -> bool {
        due >= self.measured_from
    }

    /// A connection object came into being, whether or not it will get a socket.
    pub fn connection_opened(&mut self, due: Instant) {
        self.open += 1;
        let open = self.open;
        let summary = self.of(due);
        summary.concurrent_max = summary.concurrent_max.max(open);
    }

    /// A socket was made and a connect is about to be initiated, in this turn of the loop.
    pub fn connect_initiated(&mut self, due: Instant, turn: u64) {
        // As in the classic tool, a turn counts once a later one connects: the last never does.
        let ended = (turn != self.burst.turn)
            .then(|| std::mem::replace(&mut self.burst, Burst { turn, count: 0 }).count);
        self.burst.count += 1;
        let summary = self.of(due);
        summary.connections += 1;
        if let Some(count) = ended {
            summary.connect_burst_max = summary.connect_burst_max.max(count);
        }
    }

    /// A connection was established, this long after its connect was initiated.
    pub fn connect_done(&mut self, due: Instant, time: Duration) {
        self.of(due).connect.add(time);
    }

    /// A connection that TLS is to secure has its transport, this long after its connect was initiated.
    pub fn transport_done(&mut self, due: Instant, time: Duration) {
        self.tls(due, |tls| tls.transport.add(time));
    }

    /// A TLS handshake was completed.
    pub fn handshake_done(&mut self, due: Instant, handshake: &Handshake<'_>) {
        self.tls(due, |tls| tls.add(handshake));
    }

    /// A TLS handshake failed. The connection's own failure is reported beside it.
    pub fn handshake_failed(&mut self, due: Instant, failure: HandshakeFailure) {
        self.tls(due, |tls| tls.add_failure(failure));
    }

    /// A connection failed before its TLS handshake could begin.
    pub fn handshake_impossible(&mut self, due: Instant, failure: HandshakeFailure) {
        self.tls(due, |tls| tls.note_first_failure(failure));
    }

    /// TLS failed on an established connection, for this reason.
    pub fn tls_error(&mut self, due: Instant, reason: Cow<'static, str>) {
        self.tls(due, |tls| tls.errors.add(reason));
    }

    /// The server showed its certificate. The first one of a phase is kept.
    pub fn certificate_shown(&mut self, due: Instant, certificate: impl FnOnce() -> Option<Certificate>) {
        self.tls(due, |tls| {
            if tls.certificate.is_none() {
                tls.certificate = certificate();
            }
        });
    }

    /// Requests that travelled as 0-RTT data met this end.
    pub fn early_requests(&mut self, due: Instant, outcome: EarlyRequests) {
        self.tls(due, |tls| tls.early_requests += outcome);
    }

    /// A reply that the end of the connection delimits was followed by no close_notify.
    pub fn truncated(&mut self, due: Instant) {
        self.tls(due, |tls| tls.truncated += 1);
    }

    /// An idle connection was ended by the server without a close_notify.
    pub fn unclean_close(&mut self, due: Instant) {
        self.tls(due, |tls| tls.unclean_closes += 1);
    }

    fn tls(&mut self, due: Instant, note: impl FnOnce(&mut TlsSummary)) {
        if let Some(tls) = &mut self.of(due).tls {
            note(tls);
        }
    }

    /// Something happened on a connection that may speak HTTP/2.
    pub fn http2(&mut self, due: Instant, note: impl FnOnce(&mut Http2Summary)) {
        if let Some(http2) = &mut self.of(due).http2 {
            note(http2);
        }
    }

    /// A call was made that was due then.
    pub fn call_made(&mut self, due: Instant) {
        if self.figures.detail {
            self.series.at(due, self.open).offered += 1;
        }
    }

    /// A call that was due then and counted as made is not made after all.
    pub fn call_withdrawn(&mut self, due: Instant) {
        if self.figures.detail {
            let interval = self.series.at(due, self.open);
            interval.offered = interval.offered.saturating_sub(1);
        }
    }

    /// A reply is awaited from now on: the first byte of a request was written.
    pub fn reply_awaited(&mut self, now: Instant) {
        self.silence.awaits(now);
    }

    /// A reply is no longer awaited: it came.
    pub fn reply_settled(&mut self) {
        self.silence.settled();
    }

    /// A reply is no longer awaited: its request is given up, or is to be made again.
    pub fn reply_given_up(&mut self, now: Instant) {
        self.silence.given_up(now);
    }

    /// A TLS handshake has begun: the server is to answer it.
    pub fn handshake_awaited(&mut self, now: Instant) {
        self.silence.awaits_handshake(now);
    }

    /// Bytes of a TLS handshake came from the server.
    pub fn handshake_heard(&mut self, now: Instant) {
        self.silence.handshake_heard(now);
    }

    /// A TLS handshake is complete.
    pub fn handshake_settled(&mut self) {
        self.silence.handshake_settled();
    }

    /// A TLS handshake has failed, or was given up.
    pub fn handshake_given_up(&mut self, now: Instant) {
        self.silence.handshake_given_up(now);
    }

    /// A complete reply came before the whole of its request was written.
    pub fn answered_early(&mut self, due: Instant) {
        self.of(due).answered_early += 1;
    }

    /// A request of this many bytes was written completely.
    pub fn request_sent(&mut self, due: Instant, size: u64) {
        let summary = self.of(due);
        summary.requests += 1;
        summary.request_bytes += size;
        self.series.current().sent += 1;
    }

    /// Bytes of replies came from the server.
    pub fn heard(&mut self, now: Instant) {
        self.silence.heard(now);
    }

    /// The generator should have run and did not, and for this long did not look whether anything came.
    pub fn paused_for(&mut self, time: Duration) {
        self.silence.deaf_for(time);
        if self.figures.detail && self.window[1].is_none() {
            self.measured.pauses.add(time);
        }
    }

    /// A status line arrived, this long after its request began to be sent.
    pub fn reply_started(&mut self, due: Instant, status: u16, response: Duration) {
        let summary = self.of(due);
        summary.response.add(response);
        match status {
            200 => summary.periodic.0 += 1,
            302 => summary.periodic.1 += 1,
            _ => {}
        }
    }

    /// A call has ended, with a reply or without. `group`: the one it belongs to, if calls are told apart.
    pub fn record(&mut self, sample: &Sample<'_>, group: Option<&[u8]>) {
        let detail = self.figures.detail;
        let is_measured = self.is_measured(sample.intended);
        let outcome = sample.outcome();
        let summary = self.of(sample.intended);
        if let (Some(status), Some(first_byte)) = (sample.status, sample.first_byte) {
            summary.replies += 1;
            summary.transfer.add(sample.done - first_byte);
            summary.header_bytes += sample.header_size;
            summary.content_bytes += sample.content_size;
            summary.footer_bytes += sample.footer_size;
            summary.statuses[usize::from(status / 100 - 1)] += 1;
            if let Some(decoded_size) = sample.decoded_size {
                summary.compressed.replies += 1;
                summary.compressed.bytes += sample.content_size;
                summary.compressed.decoded_bytes += decoded_size;
            }
            if let Some(mismatch) = sample.mismatch {
                summary.mismatches.add(mismatch);
            }
        }
        let interval = self.series.current();
        match sample.status {
            Some(status) => {
                interval.replies += 1;
                interval.http_errors += u64::from(status >= 400);
                interval.unexpected += u64::from(outcome == Outcome::Unexpected);
            }
            None => interval.failed_calls += 1,
        }
        if !detail {
            return;
        }
        let latency = sample.latency();
        if outcome.is_completed() && (is_measured || self.series.current().phase == Phase::WarmUp) {
            self.series.add_latency(latency);
        }
        let summary = self.of(sample.intended);
        if sample.status.is_some() {
            summary.receive.add(sample.receive_lag);
        }
        let clocks = &mut summary.calls[outcome as usize];
        clocks.latency.add(latency);
        if let (Some(sent), Some(service)) = (sample.sent, sample.service()) {
            clocks.service.add(service);
            if outcome != Outcome::Failure {
                summary.wait.add(sent - sample.intended);
            }
        }
        if let (Some(groups), Some(group)) = (&mut summary.groups, group) {
            groups.add(group, sample);
        }
    }

    /// The wall clock, by which the kernel stamps what it receives, was set so often.
    pub fn clock_stepped(&mut self, steps: u64) {
        self.measured.receive.clock_steps = steps;
    }

    /// The run ends, and a call that was due then is neither answered nor given up.
    pub fn unfinished(&mut self, due: Instant, now: Instant) {
        self.of(due).unfinished.add(now - due);
    }

    /// The run ends, and a session that was due then has not ended.
    pub fn session_unfinished(&mut self, due: Instant, now: Instant) {
        if let Some(sessions) = &mut self.of(due).sessions {
            sessions.unfinished.add(now - due);
        }
    }

    /// The run ends, and an arrival that was due then has not begun: it waits for room if there is none, and was
    /// missed by the generator otherwise. It counts as one call that is unfinished.
    pub fn arrival_missed(&mut self, due: Instant, is_waiting: bool, now: Instant) {
        if !self.figures.detail {
            return;
        }
        self.unfinished(due, now);
        self.session_unfinished(due, now);
        let open = self.open;
        self.series.at(due, open).offered += 1;
        if self.is_measured(due) {
            self.arrivals_missed += 1;
            self.measured.arrivals.waiting += u64::from(is_waiting);
        }
    }

    /// Whether a call is among the slowest so far; [`Recorder::record_slow`] wants to hear of it then.
    #[must_use]
    pub fn is_slow(&self, intended: Instant, now: Instant) -> bool {
        self.is_measured(intended) && self.slowest.wants(now - intended)
    }

    /// A call has ended that is among the slowest so far.
    pub fn record_slow(&mut self, sample: &Sample<'_>, detail: SlowDetail) {
        self.slowest.add(sample, self.start, detail);
    }

    /// Work began on a scheduled arrival that was due then. The generator's own error counts from there, or from
    /// `room_since`: when there was room again among the connections that may be open, if it had to wait for that.
    pub fn arrival_started(&mut self, due: Instant, room_since: Option<Instant>, now: Instant) {
        if !self.figures.detail {
            return;
        }
        let lag = now - room_since.unwrap_or(due);
        // When it would have begun had there been room from the first.
        let begun = due + lag;
        let interval = self.series.at(due, self.open);
        interval.arrivals += 1;
        interval.lag_max = interval.lag_max.max(lag);
        let is_measured = self.is_measured(due);
        let summary = self.of(due);
        summary.lag.add(lag);
        summary.arrivals.started += 1;
        summary.arrivals.held += u64::from(room_since.is_some());
        if is_measured {
            let figures = &mut self.measured.arrivals;
            match &mut self.arrivals {
                None => self.arrivals = Some([(due, begun); 2]),
                Some([_, last]) => {
                    figures.intervals_due.add(due - last.0);
                    figures.intervals_started.add(begun - last.1);
                    *last = (due, begun);
                }
            }
        }
    }

    /// Work began on what was due after a pause of a session or a connection, which was over then.
    pub fn timer_fired(&mut self, due: Instant, now: Instant) {
        if self.figures.detail {
            self.of(due).lag.add(now - due);
        }
    }

    /// An arrival was started that has to wait for room.
    pub fn arrival_held(&mut self, due: Instant) {
        self.of(due).arrivals.held += 1;
    }

    /// A connection is gone. `lifetime`, from its connect on, if it completed at least one call.
    pub fn connection_closed(&mut self, due: Instant, lifetime: Option<Duration>) {
        self.open -= 1;
        if let Some(lifetime) = lifetime {
            self.of(due).lifetimes.add(lifetime);
        }
    }

    /// A connection failed.
    pub fn failed(&mut self, due: Instant, failure: Failure) {
        self.of(due).errors.add(failure);
        self.series.current().errors.add(failure);
    }

    /// A session ended.
    pub fn session_ended(&mut self, end: SessionEnd) {
        let Some(sessions) = &mut self.of(end.intended).sessions else { return };
        *sessions.lengths.entry(end.replies).or_default() += 1;
        let (lifetime, latency) = (end.ended - end.started, end.ended - end.intended);
        if end.completed {
            sessions.completed += 1;
            sessions.connections += end.connections;
            sessions.lifetime += lifetime;
            sessions.latency.add(latency);
            sessions.service.add(lifetime);
        } else {
            sessions.failed += 1;
            sessions.failtime += lifetime;
            sessions.failed_latency.add(latency);
        }
    }

    /// The server closed a connection of a connection workload, as it had announced, before these calls were
    /// made.
    pub fn closed_early(&mut self, due: Instant, calls_left: u64) {
        let summary = self.of(due);
        summary.closed_early += 1;
        summary.calls_not_offered += calls_left;
    }

    /// An arrival was skipped because too many connections were open.
    pub fn arrival_skipped(&mut self, due: Instant) {
        self.of(due).arrivals_skipped += 1;
    }

    /// A session gave up after too many retries in a row.
    pub fn retries_exhausted(&mut self, due: Instant) {
        self.of(due).retries_exhausted += 1;
    }

    /// Takes a rate sample over the time since the previous one.
    pub fn tick(&mut self, now: Instant) -> TickRates {
        let (since, time) = self.since_sampled(now);
        self.sampled = (self.so_far(), now);
        let summary = &mut self.measured;
        let replies = summary.reply_rates.add(since.replies, time);
        let sessions =
            summary.sessions.as_mut().map_or(0.0, |sessions| sessions.rates.add(since.sessions, time));
        TickRates { replies, sessions }
    }

    /// When the interval of the series that goes on is to end.
    #[must_use]
    pub fn interval_end(&self) -> Instant {
        self.series.next_end()
    }

    /// Ends the interval of the series that is over. Returns the next that has ended: call it until there is none.
    pub fn end_interval(&mut self, now: Instant) -> Option<Interval> {
        self.series.advance(now, self.open);
        self.series.take_ended()
    }

    /// Ends the interval that goes on, as the run ends. Then call [`Recorder::end_interval`] until there is none.
    pub fn end_last_interval(&mut self, now: Instant) {
        let phase = self.series.current().phase;
        self.series.enter(phase, now, self.open);
    }

    /// Connections open now.
    #[must_use]
    pub fn open(&self) -> u64 {
        self.open
    }

    /// Replies so far with status 200, and with status 302, those of the warm-up included.
    #[must_use]
    pub fn periodic(&self) -> (u64, u64) {
        let (ok, found) = self.measured.periodic;
        let (warmup_ok, warmup_found) = self.warmup.as_ref().map_or((0, 0), |warmup| warmup.periodic);
        (ok + warmup_ok, found + warmup_found)
    }

    /// Ends recording.
    #[must_use]
    pub fn finish(mut self, end: End) -> Summary {
        let so_far = self.so_far();
        let (unsampled, time) = self.unsampled.unwrap_or_else(|| self.since_sampled(end.at));
        let [from, to] = self.window;
        let mut summary = *self.measured;
        // A run that was stopped in its warm-up has measured nothing.
        summary.window = Some(from.map_or_else(Window::default, |from| to.unwrap_or(so_far) - from));
        summary.reply_windows = RateWindows::new(&summary.reply_rates, unsampled.replies, time);
        if let Some(sessions) = &mut summary.sessions {
            sessions.windows = RateWindows::new(&sessions.rates, unsampled.sessions, time);
        }
        summary.duration = end.duration;
        summary.usage = end.usage;
        summary.calls_not_logged = end.calls_not_logged;
        summary.warmup = self.warmup.map(|warmup| WarmUp {
            duration: self.measured_from - self.start,
            connections: warmup.connections,
            requests: warmup.requests,
            replies: warmup.replies,
            errors: warmup.errors,
        });
        if self.figures.detail {
            summary.arrivals.due = summary.arrivals.started + self.arrivals_missed;
            if let Some([first, last]) = self.arrivals {
                summary.arrivals.first_due = first.0 - self.start;
                summary.arrivals.first_started = first.1 - self.start;
                summary.arrivals.span_due = last.0 - first.0;
                summary.arrivals.span_started = last.1 - first.1;
            }
            summary.stall = self.silence.longest(end.at);
            summary.series = self.series.finish(end.at, self.open);
            summary.slowest = self.slowest.into_sorted();
        }
        summary
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Compressed, Mismatch, Mismatches};
    use crate::{HandshakeFailureClass, HandshakeKind, Timing};

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    fn reply(status: u16) -> Sample<'static> {
        Sample {
            call: 0,
            uri: b"/",
            status: Some(status),
            intended: at(0),
            sent: Some(at(1)),
            stalled: Duration::ZERO,
            first_byte: Some(at(1)),
            done: at(3),
            header_size: 38,
            content_size: 5,
            footer_size: 0,
            decoded_size: None,
            mismatch: None,
            carrier: None,
            receive_lag: None,
        }
    }

    fn recorder(figures: Figures) -> Recorder {
        Recorder::new(at(0), at(0), figures)
    }

    fn end(recorder: Recorder) -> Summary {
        recorder.finish(End { at: at(1000), duration: Duration::from_secs(1), ..End::default() })
    }

    #[test]
    fn the_last_connect_burst_never_counts() {
        for (turns, expected) in
            [(&[][..], 0), (&[1], 0), (&[1, 2], 1), (&[1, 1, 1, 4], 3), (&[1, 4, 4, 4, 4], 1)]
        {
            let mut recorder = recorder(Figures::USUAL);
            turns.iter().for_each(|&turn| recorder.connect_initiated(at(0), turn));
            assert_eq!(end(recorder).connect_burst_max, expected, "{turns:?}");
        }
    }

    #[test]
    fn replies_are_counted_by_class_with_their_sizes() {
        let mut recorder = recorder(Figures::USUAL);
        for status in [200, 204, 301, 404, 599] {
            recorder.record(&reply(status), None);
        }
        let summary = end(recorder);
        assert_eq!(summary.statuses, [0, 2, 1, 1, 1]);
        assert_eq!((summary.replies, summary.header_bytes, summary.content_bytes), (5, 190, 25));
        assert_eq!(summary.transfer.moments.sum(), 0.01);
    }

    #[test]
    fn calls_are_timed_by_two_clocks_and_by_outcome() {
        let mut recorder = recorder(Figures::USUAL);
        recorder.record(&reply(200), None);
        recorder.record(&reply(503), None);
        let failed = Sample { status: None, first_byte: None, done: at(10), ..reply(200) };
        recorder.record(&Sample { sent: None, ..failed }, None);
        recorder.record(&Sample { sent: Some(at(4)), ..failed }, None);
        let summary = end(recorder);
        let of = |outcome| {
            let clocks = summary.calls_with(outcome);
            let mean_ms = |timing: &Timing| timing.moments.mean() * 1e3;
            (clocks.latency.moments.count(), mean_ms(&clocks.latency), mean_ms(&clocks.service))
        };
        assert_eq!(of(Outcome::Success), (1, 3.0, 2.0));
        assert_eq!(of(Outcome::HttpError), (1, 3.0, 2.0));
        assert_eq!(of(Outcome::Failure), (2, 10.0, 6.0));
        assert_eq!(summary.wait.moments.mean(), 1e-3);
        assert_eq!(summary.completed().latency.moments.count(), 2);
    }

    #[test]
    fn unexpected_replies_are_counted_by_kind_and_timed_apart() {
        let mut recorder = recorder(Figures { groups: true, ..Figures::USUAL });
        recorder.record(&reply(200), Some(b"/"));
        for (status, mismatch) in [(200, Mismatch::Size), (503, Mismatch::Status), (200, Mismatch::Size)] {
            recorder.record(&Sample { mismatch: Some(mismatch), ..reply(status) }, Some(b"/"));
        }
        recorder.record(&Sample { decoded_size: Some(40), ..reply(200) }, Some(b"/"));
        let summary = end(recorder);
        assert_eq!((summary.replies, summary.statuses), (5, [0, 4, 0, 0, 1]));
        assert_eq!(summary.mismatches, Mismatches { status: 1, size: 2, ..Mismatches::default() });
        assert_eq!(summary.compressed, Compressed { replies: 1, bytes: 5, decoded_bytes: 40 });
        let counts = Outcome::ALL.map(|outcome| summary.calls_with(outcome).latency.moments.count());
        assert_eq!(counts, [2, 0, 0, 3]);
        assert_eq!(summary.completed().latency.moments.count(), 2);
        let intervals = summary.series.intervals();
        let [replies, errors, unexpected] = [
            intervals.iter().map(|interval| interval.replies).sum::<u64>(),
            intervals.iter().map(|interval| interval.http_errors).sum(),
            intervals.iter().map(|interval| interval.unexpected).sum(),
        ];
        assert_eq!((replies, errors, unexpected), (5, 1, 3));
        let groups = summary.groups.unwrap();
        let (_, group) = groups.iter().next().unwrap();
        assert_eq!((group.outcomes, group.latency.moments.count()), ([2, 0, 0, 3], 2));
    }

    #[test]
    fn results_from_before_replies_were_checked_are_read() {
        let json = serde_json::to_value(end(recorder(Figures::USUAL))).unwrap();
        let mut older = json.clone();
        older["calls"].as_array_mut().unwrap().pop();
        for field in ["mismatches", "compressed"] {
            older.as_object_mut().unwrap().remove(field);
        }
        let read: Summary = serde_json::from_value(older).unwrap();
        assert_eq!(serde_json::to_value(read).unwrap(), json);
        let mut broken = json;
        broken["calls"].as_array_mut().unwrap().extend([serde_json::json!(null)]);
        assert!(serde_json::from_value::<Summary>(broken).is_err());
    }

    #[test]
    fn rates_are_taken_over_the_real_time_between_samples() {
        let mut recorder = recorder(Figures { sessions: true, ..Figures::USUAL });
        (0..20).for_each(|_| recorder.record(&reply(200), None));
        assert_eq!(recorder.tick(at(5000)).replies, 4.0);
        (0..30).for_each(|_| recorder.record(&reply(200), None));
        assert_eq!(recorder.tick(at(15_000)).replies, 3.0);
        assert_eq!(recorder.tick(at(15_000)).replies, 0.0, "no time, no rate");
        let summary = end(recorder);
        let rates = summary.reply_rates.moments();
        assert_eq!((rates.count(), rates.max()), (3, 4.0));
    }

    #[test]
    fn connections_open_at_once_are_counted_at_their_most() {
        let mut recorder = recorder(Figures::USUAL);
        recorder.connection_opened(at(0));
        recorder.connection_opened(at(0));
        recorder.connection_closed(at(0), None);
        recorder.connection_opened(at(0));
        recorder.connection_closed(at(0), Some(Duration::from_millis(7)));
        assert_eq!(recorder.open(), 1);
        let summary = end(recorder);
        assert_eq!(summary.concurrent_max, 2);
        assert_eq!(summary.lifetimes.moments.count(), 1);
    }

    /// Everything of TLS that a worker can tell, each in a different number.
    fn tell_of_tls(recorder: &mut Recorder) {
        recorder.transport_done(at(0), Duration::from_micros(50));
        let failure = HandshakeFailure {
            class: HandshakeFailureClass::Transport,
            reason: "timed out".into(),
            details: Vec::new(),
        };
        recorder.handshake_failed(at(0), failure);
        let handshake = Handshake {
            kind: HandshakeKind::Full,
            time: Duration::from_micros(700),
            sent: 300,
            received: 1500,
            hello_retry: false,
            version: "TLSv1.3",
            cipher: "TLS_AES_128_GCM_SHA256",
            group: Some("X25519"),
            signature: Some("ed25519"),
            protocol: None,
            compressed_certificate: false,
        };
        (0..2).for_each(|_| recorder.handshake_done(at(0), &handshake));
        for subject in ["CN=first", "CN=second"] {
            let certificate = || Certificate {
                subject: subject.to_owned(),
                key: "Ed25519".to_owned(),
                chain_length: 1,
                days_left: 9,
            };
            recorder.certificate_shown(at(0), || Some(certificate()));
        }
        recorder.early_requests(at(0), EarlyRequests { accepted: 3, rejected: 2, replayed: 1 });
        recorder.early_requests(at(0), EarlyRequests { accepted: 1, ..EarlyRequests::default() });
        (0..3).for_each(|_| recorder.truncated(at(0)));
        (0..4).for_each(|_| recorder.unclean_close(at(0)));
    }

    #[test]
    fn what_tls_did_is_kept_if_its_figures_were_asked_for() {
        let mut recorder = recorder(Figures { tls: true, ..Figures::USUAL });
        tell_of_tls(&mut recorder);
        let tls = end(recorder).tls.unwrap();
        assert_eq!((tls.transport.moments.count(), tls.completed(), tls.failed()), (1, 2, 1));
        assert_eq!(tls.first_failure.as_ref().map(|failure| &*failure.reason), Some("timed out"));
        assert_eq!(tls.early_requests, EarlyRequests { accepted: 4, rejected: 2, replayed: 1 });
        assert_eq!((tls.truncated, tls.unclean_closes), (3, 4));
    }

    #[test]
    fn without_figures_of_tls_nothing_of_it_is_kept() {
        let mut recorder = recorder(Figures::USUAL);
        tell_of_tls(&mut recorder);
        recorder.certificate_shown(at(0), || panic!("nobody wants to see it"));
        assert!(end(recorder).tls.is_none());
    }

    #[test]
    fn of_the_certificates_that_are_shown_the_first_is_kept() {
        let mut recorder = recorder(Figures { tls: true, ..Figures::USUAL });
        recorder.certificate_shown(at(0), || None);
        tell_of_tls(&mut recorder);
        recorder.certificate_shown(at(0), || panic!("one is enough"));
        assert_eq!(end(recorder).tls.unwrap().certificate.unwrap().subject, "CN=first");
    }

    #[test]
    fn sessions_are_counted_by_their_end_and_length() {
        let mut recorder = recorder(Figures { sessions: true, ..Figures::USUAL });
        for (completed, replies) in [(true, 3), (true, 3), (false, 0)] {
            recorder.session_ended(SessionEnd {
                completed,
                intended: at(0),
                started: at(1000),
                ended: at(3000),
                replies,
                connections: 2,
            });
        }
        let sessions = end(recorder).sessions.unwrap();
        assert_eq!((sessions.completed, sessions.failed, sessions.connections), (2, 1, 4));
        assert_eq!(sessions.lengths.into_iter().collect::<Vec<_>>(), [(0, 1), (3, 2)]);
        assert_eq!((sessions.lifetime, sessions.failtime), (Duration::from_secs(4), Duration::from_secs(2)));
    }

    #[test]
    fn what_was_due_before_the_measured_phase_is_not_measured() {
        let mut recorder = Recorder::new(at(0), at(10), Figures::USUAL);
        let call = |due: u64, done: u64| Sample {
            intended: at(due),
            sent: Some(at(due)),
            stalled: Duration::ZERO,
            first_byte: Some(at(done)),
            done: at(done),
            ..reply(200)
        };
        recorder.connection_opened(at(2));
        recorder.connect_initiated(at(2), 1);
        recorder.arrival_started(at(2), None, at(3));
        recorder.record(&call(2, 5), None);
        recorder.begin_measuring(at(10));
        recorder.connection_opened(at(12));
        recorder.arrival_started(at(12), None, at(12));
        recorder.record(&call(9, 700), None);
        recorder.record(&call(12, 14), None);
        recorder.failed(at(9), Failure::Reset);
        recorder.begin_draining(at(900));
        recorder.record(&call(899, 950), None);
        let summary = end(recorder);
        assert_eq!((summary.replies, summary.connections, summary.concurrent_max), (2, 0, 2));
        assert_eq!(summary.calls_with(Outcome::Success).latency.moments.max(), 0.051);
        assert_eq!((summary.lag.moments.count(), summary.errors.total()), (1, 0));
        let warmup = summary.warmup.unwrap();
        assert_eq!((warmup.connections, warmup.replies, warmup.errors.total()), (1, 2, 1));
        let phases: Vec<_> = summary
            .series
            .intervals()
            .iter()
            .map(|interval| (interval.phase, interval.replies, interval.latency.total()))
            .collect();
        assert_eq!(phases, [(Phase::WarmUp, 1, 1), (Phase::Measured, 2, 1), (Phase::Drain, 1, 1)]);
    }

    #[test]
    fn without_detail_only_what_the_classic_report_shows_is_recorded() {
        let mut recorder = recorder(Figures { detail: false, ..Figures::USUAL });
        recorder.arrival_started(at(0), None, at(1));
        recorder.record(&reply(200), None);
        assert!(!recorder.is_slow(at(0), at(5)));
        let summary = end(recorder);
        assert_eq!((summary.replies, summary.transfer.moments.count()), (1, 1));
        assert!(summary.lag.is_empty() && summary.completed().latency.is_empty());
        assert!(summary.series.intervals().is_empty() && summary.slowest.is_empty());
    }

    #[test]
    fn the_series_counts_each_thing_where_it_happened_and_what_was_due_where_it_was_due() {
        let mut recorder = recorder(Figures::USUAL);
        recorder.call_made(at(900));
        recorder.arrival_started(at(900), None, at(900));
        assert!(recorder.end_interval(at(999)).is_none());
        assert_eq!(recorder.end_interval(at(1000)).unwrap().offered, 1);
        // Two that were due before, and were started only now.
        recorder.call_made(at(950));
        recorder.arrival_started(at(950), None, at(1950));
        recorder.record(&Sample { first_byte: Some(at(1990)), done: at(1990), ..reply(404) }, None);
        assert_eq!(recorder.interval_end(), at(2000));
        let summary = recorder.finish(End { at: at(3500), ..End::default() });
        let intervals = summary.series.intervals();
        let counts: Vec<_> = intervals
            .iter()
            .map(|interval| (interval.arrivals, interval.offered, interval.http_errors))
            .collect();
        assert_eq!(counts, [(2, 2, 0), (0, 0, 1), (0, 0, 0), (0, 0, 0)]);
        assert_eq!(intervals[0].lag_max, Duration::from_secs(1));
        assert_eq!(intervals[3].length, Duration::from_millis(500));
        assert!(intervals[1].latency.quantile(0.5).unwrap() >= Duration::from_millis(1990));
    }

    #[test]
    fn a_long_run_has_longer_intervals_instead_of_more_of_them() {
        let mut recorder = recorder(Figures::USUAL);
        for second in 0..10_000 {
            recorder.call_made(at(second * 1000));
            let told = recorder.end_interval(at(second * 1000 + 1000)).unwrap();
            assert_eq!((told.offered, told.length), (1, Duration::from_secs(1)), "told by the second");
        }
        let summary = recorder.finish(End { at: at(10_000_000), ..End::default() });
        let series = &summary.series;
        assert!((500..1200).contains(&series.intervals().len()), "{}", series.intervals().len());
        assert_eq!(series.width(), Duration::from_secs(16));
        let mut end = Duration::ZERO;
        for interval in series.intervals() {
            assert_eq!(interval.from, end);
            assert_eq!(interval.offered, interval.length.as_secs());
            end = interval.end();
        }
        assert_eq!(end, Duration::from_secs(10_000));
    }

    #[test]
    fn parts_of_a_run_add_up_in_any_order() {
        let part = |seed: u64| {
            let mut recorder =
                recorder(Figures { sessions: true, tls: true, groups: true, ..Figures::USUAL });
            tell_of_tls(&mut recorder);
            for call in 0..40 {
                let done = at(seed * 7 + call * call % 300);
                let sample =
                    Sample { call, first_byte: Some(done), done, ..reply(200 + 100 * (call % 4) as u16) };
                recorder.record(&sample, Some(if call % 2 == 0 { b"even" } else { b"odd" }));
                if recorder.is_slow(sample.intended, done) {
                    recorder.record_slow(&sample, SlowDetail::default());
                }
                recorder.arrival_started(at(call * seed), None, at(call * seed + 1));
            }
            recorder.tick(at(500 + seed));
            recorder.finish(End {
                at: at(1000 * seed),
                duration: Duration::from_secs(seed),
                ..End::default()
            })
        };
        let parts: Vec<Summary> = (1..=3).map(part).collect();
        let merged = |order: [usize; 3]| {
            let mut all = parts[order[0]].clone();
            order[1..].iter().for_each(|&index| all.merge(&parts[index], 10));
            all
        };
        let all = merged([0, 1, 2]);
        for order in [[0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            assert_eq!(merged(order), all, "{order:?}");
        }
        assert_eq!((all.replies, all.slowest.len(), all.series.intervals().len()), (120, 10, 3));
        assert_eq!(all.completed().latency.moments.count(), 120);
        let json = serde_json::to_string(&all).unwrap();
        assert_eq!(serde_json::from_str::<Summary>(&json).unwrap(), all, "saved and read again");
    }
}

//! Collects the events of a run. One per worker; nothing in it is shared or locked.

mod connections;
mod streams;

use std::time::Duration;

use crate::call::Slowest;
use crate::merge::Merge;
use crate::series::SeriesRecorder;
use crate::stall::Silence;
use crate::visits::VisitsRecorder;
use crate::{
    CallOutcome, FailureCause, Groups, Http2Summary, InFlight, Instant, Interval, Pauses, Phase, QuicSummary,
    RateWindows, Sample, SessionSummary, SlowDetail, StepFigures, StepPlace, StreamCall, Summary, Usage,
    VisitEnd, VisitsShape, WarmUp, Window,
};

/// Data of a session that ended.
#[derive(Clone, Copy, Debug)]
pub struct SessionEnd {
    /// True if every call was answered satisfactorily.
    pub completed: bool,
    /// Instant at which it was due.
    pub intended: Instant,
    /// Instant at which it began.
    pub started: Instant,
    /// Instant at which it ended.
    pub ended: Instant,
    /// Complete replies received.
    pub replies: u64,
    /// Connections established.
    pub connections: u64,
}

/// Rates at a sampling instant.
#[derive(Clone, Copy, Debug)]
pub struct TickRates {
    /// Replies per second since the previous sample.
    pub replies: f64,
    /// Completed sessions per second since the previous sample.
    pub sessions: f64,
}

/// Selection of figures to record in addition to the basic ones of connections and calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordedFigures {
    /// Figures of sessions.
    pub sessions: bool,
    /// Figures of TLS.
    pub tls: bool,
    /// Figures of HTTP/2.
    pub http2: bool,
    /// Those of QUIC, if those of HTTP/2 stand for HTTP/3.
    pub quic: bool,
    /// Everything that the classic report does not show: histograms of latency and service time, the series,
    /// stalls.
    pub detail: bool,
    /// Figures by group of calls.
    pub groups: bool,
    /// Number of slowest calls to keep.
    pub slowest: usize,
    /// Kernel times of calls.
    pub kernel: bool,
    /// Service times and lags of each interval, for those who watch the run.
    pub clocks: bool,
    /// Figures of language models.
    pub models: bool,
}

impl RecordedFigures {
    /// Default figures of a run without options.
    pub const USUAL: Self = Self {
        sessions: false,
        tls: false,
        http2: false,
        quic: false,
        detail: true,
        groups: false,
        slowest: 10,
        kernel: false,
        clocks: false,
        models: false,
    };
}

/// Data known when a run ends.
#[derive(Clone, Debug, Default)]
pub struct End {
    /// End of the run.
    pub at: Instant,
    /// Length of the measured phase.
    pub duration: Duration,
    /// Resources used during the measured phase.
    pub usage: Usage,
    /// Calls that could not be reported to an observer.
    pub calls_not_logged: u64,
    /// Time from the planned start to the beginning.
    pub begun_late: Duration,
}

/// Collects the events of a run.
///
/// Events of connections, calls and sessions that were due before the measured phase are kept apart. Methods
/// take the intended instant of the connection, call or session as `due`.
#[derive(Debug)]
pub struct Recorder {
    figures: RecordedFigures,
    start: Instant,
    measured_from: Instant,
    measured: Box<Summary>,
    /// Summary of what was due in the warm-up.
    warmup: Option<Box<Summary>>,
    open: u64,
    burst: Burst,
    /// Totals at the beginning and at the end of the measured phase.
    window: [Option<Window>; 2],
    /// Totals at the last sampling instant, and that instant.
    sampled: (Window, Instant),
    /// Counts since the last sample when draining began, and the time they took.
    unsampled: Option<(Window, Duration)>,
    series: SeriesRecorder,
    silence: Silence,
    /// Replies due, and the time for which replies were, at the beginning and at the end of the measured phase.
    in_flight: [Option<(u64, Duration)>; 2],
    slowest: Slowest,
    /// Due and start instants of the first and last arrivals of the measured phase.
    arrivals: Option<[(Instant, Instant); 2]>,
    /// Arrivals due in the measured phase that were not started.
    arrivals_missed: u64,
    /// Visits of scenarios that were due in the measured phase, if the workload has any.
    visits: Option<VisitsRecorder>,
}

/// Connects initiated in one turn of the loop.
#[derive(Debug, Default)]
struct Burst {
    turn: u64,
    count: u64,
}

impl Recorder {
    /// Starts recording at the `start` of a run. Whatever is due from `measured_from` on is measured.
    #[must_use]
    pub fn new(start: Instant, measured_from: Instant, figures: RecordedFigures) -> Self {
        let summary = || {
            Box::new(Summary {
                sessions: figures.sessions.then(SessionSummary::default),
                tls: figures.tls.then(Box::default),
                http2: figures.http2.then(|| {
                    let quic = figures.quic.then(QuicSummary::default);
                    Box::new(Http2Summary { quic, ..Http2Summary::default() })
                }),
                kernel: figures.kernel.then(Box::default),
                groups: figures.groups.then(Groups::default),
                ..Summary::default()
            })
        };
        let has_warmup = measured_from > start;
        let phase = if has_warmup { Phase::WarmUp } else { Phase::Measured };
        let mut series = SeriesRecorder::new(start, phase);
        if figures.clocks {
            series.watch_clocks();
        }
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
            series,
            silence: Silence::new(start),
            in_flight: [None; 2],
            slowest: Slowest::new(if figures.detail { figures.slowest } else { 0 }),
            arrivals: None,
            arrivals_missed: 0,
            visits: None,
        }
    }

    /// Records visits of scenarios as well.
    pub fn record_visits(&mut self, shape: &VisitsShape) {
        self.visits = Some(VisitsRecorder::new(shape, self.start));
        self.series.count_visits();
    }

    /// Moves the start of the run. Events recorded so far belong to the first phase: the warm-up or the
    /// measured phase. In the series, connections that failed before the start are errors of the first
    /// interval.
    pub fn restart(&mut self, start: Instant, measured_from: Instant) {
        let has_warmup = measured_from > start;
        let errors = self.series.current().errors;
        self.start = start;
        self.measured_from = measured_from;
        self.window = [(!has_warmup).then(Window::default), None];
        self.sampled.1 = measured_from;
        self.series = SeriesRecorder::new(start, if has_warmup { Phase::WarmUp } else { Phase::Measured });
        self.series.current().errors = errors;
        if self.figures.clocks {
            self.series.watch_clocks();
        }
        self.silence = Silence::new(start);
        if let Some(visits) = &mut self.visits {
            visits.restart(start);
            self.series.count_visits();
        }
    }

    /// Ends the warm-up.
    pub fn begin_measuring(&mut self, now: Instant) {
        self.measured.concurrent_max = self.open;
        self.measured.pauses = Pauses::default();
        self.silence.restart(now);
        self.in_flight[0] = Some(self.in_flight_at(now));
        let so_far = self.so_far();
        self.window[0] = Some(so_far);
        self.sampled = (so_far, now);
        self.series.enter(Phase::Measured, self.measured_from, self.open);
    }

    /// Begins the drain: no load has been offered since this instant.
    pub fn begin_draining(&mut self, since: Instant) {
        self.window[1] = Some(self.so_far());
        self.in_flight[1] = Some(self.in_flight_at(since));
        self.series.enter(Phase::Drain, since, self.open);
        self.unsampled = Some(self.since_sampled(since));
    }

    /// Counts since the last sampling instant, and the time since then.
    fn since_sampled(&self, now: Instant) -> (Window, Duration) {
        let (before, at) = self.sampled;
        (self.so_far() - before, now - at)
    }

    fn in_flight_at(&self, now: Instant) -> (u64, Duration) {
        (self.silence.awaited(), self.silence.awaited_time(now))
    }

    /// Totals so far, whatever phase the events were due in.
    fn so_far(&self) -> Window {
        let mut all = self.measured.totals();
        if let Some(warmup) = &self.warmup {
            all.merge(&warmup.totals());
        }
        all
    }

    /// Summary of the phase that contains the instant `due`.
    fn of(&mut self, due: Instant) -> &mut Summary {
        match &mut self.warmup {
            Some(warmup) if due < self.measured_from => warmup,
            _ => &mut self.measured,
        }
    }

    fn is_measured(&self, due: Instant) -> bool {
        due >= self.measured_from
    }

    /// Returns true if the server has spoken the protocol of the run, HTTP/2 or TLS, on any connection. Over
    /// HTTP/2 with TLS, a handshake is not enough.
    #[must_use]
    pub fn has_been_understood(&self) -> bool {
        let mut phases = [Some(&self.measured), self.warmup.as_ref()].into_iter().flatten();
        phases.any(|summary| match (&summary.http2, &summary.tls) {
            (Some(http2), _) => http2.spoken.total() > 0,
            (None, Some(tls)) => tls.completed() > 0,
            (None, None) => true,
        })
    }

    /// Records that the run ends because the server does not speak the protocol.
    pub fn gave_up(&mut self) {
        self.measured.gave_up = true;
    }

    /// Records a call that was made.
    pub fn call_made(&mut self, due: Instant) {
        if self.figures.detail {
            self.series.note_at(due, self.open, |interval| interval.offered += 1);
        }
    }

    /// Takes back a call that was recorded as made.
    pub fn call_withdrawn(&mut self, due: Instant) {
        if self.figures.detail {
            self.series.withdraw_at(due, self.open);
        }
    }

    /// Begins waiting for a reply: the first byte of a request was written.
    pub fn reply_awaited(&mut self, now: Instant) {
        self.silence.awaits(now);
    }

    /// Ends waiting for a reply: it came at this instant.
    pub fn reply_settled(&mut self, at: Instant) {
        self.silence.settled(at);
    }

    /// Ends waiting for a reply: its request was given up.
    pub fn reply_given_up(&mut self, now: Instant) {
        self.silence.given_up(now, now);
    }

    /// Ends waiting for a reply to a request that was sent at this instant and will be made again. As in its service time, only
    /// the last attempt counts among the replies in flight.
    pub fn reply_taken_back(&mut self, sent: Instant, now: Instant) {
        self.silence.given_up(now, sent);
    }

    /// Begins waiting for a TLS handshake.
    pub fn handshake_awaited(&mut self, now: Instant) {
        self.silence.awaits_handshake(now);
    }

    /// Records bytes of a TLS handshake from the server.
    pub fn handshake_heard(&mut self, now: Instant) {
        self.silence.handshake_heard(now);
    }

    /// Ends waiting for a TLS handshake: it is complete.
    pub fn handshake_settled(&mut self) {
        self.silence.handshake_settled();
    }

    /// Ends waiting for a TLS handshake: it failed or was given up.
    pub fn handshake_given_up(&mut self, now: Instant) {
        self.silence.handshake_given_up(now);
    }

    /// Records a complete reply that came before its request was written completely.
    pub fn answered_early(&mut self, due: Instant) {
        self.of(due).answered_early += 1;
    }

    /// Records a request of this size that was written completely.
    pub fn request_sent(&mut self, due: Instant, size: u64) {
        let summary = self.of(due);
        summary.requests += 1;
        summary.request_bytes += size;
        self.series.current().sent += 1;
    }

    /// Records bytes of replies from the server.
    pub fn heard(&mut self, now: Instant) {
        self.silence.heard(now);
    }

    /// Records a pause of the generator, during which it could not notice anything from the server.
    pub fn paused_for(&mut self, time: Duration) {
        self.silence.deaf_for(time);
        if self.figures.detail && self.window[1].is_none() {
            self.measured.pauses.add(time);
        }
    }

    /// Records a complete reply for which the kernel was asked and had no stamp.
    pub fn unstamped(&mut self, due: Instant) {
        self.of(due).receive.unstamped += 1;
    }

    /// Records a complete reply that was left unread on purpose.
    pub fn read_late(&mut self, due: Instant) {
        self.of(due).receive.read_late += 1;
    }

    /// Records a status line, this long after the first byte of its request.
    pub fn reply_started(&mut self, due: Instant, status: u16, response: Duration) {
        let summary = self.of(due);
        summary.response.add(response);
        match status {
            200 => summary.periodic.0 += 1,
            302 => summary.periodic.1 += 1,
            _ => {}
        }
    }

    /// Records the end of a call, with or without a reply. `group`: its group, if calls are grouped.
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
            summary.status_codes.add(status);
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
                interval.http_errors += u64::from(status >= 400 && !sample.expected);
                interval.unexpected += u64::from(outcome == CallOutcome::Unexpected);
                interval.error_replies += u64::from(outcome != CallOutcome::Success);
            }
            None => interval.failed_calls += 1,
        }
        if !detail {
            return;
        }
        let latency = sample.latency();
        if outcome.is_completed() && (is_measured || self.series.current().phase == Phase::WarmUp) {
            self.series.add_latency(latency);
            if self.figures.clocks
                && let Some(service) = sample.service()
            {
                self.series.add_service(service);
            }
        }
        let summary = self.of(sample.intended);
        if sample.status.is_some() {
            if let Some(lag) = sample.receive_lag {
                summary.receive.lag.add(lag);
            }
            if let (Some(figures), Some(times)) = (&mut summary.kernel, sample.kernel) {
                figures.add(times);
            }
        }
        let clocks = &mut summary.calls[outcome as usize];
        clocks.latency.add(latency);
        if let (Some(sent), Some(service)) = (sample.sent, sample.service()) {
            clocks.service.add(service);
            if outcome != CallOutcome::Failure {
                summary.wait.add(sent - sample.intended);
            }
        }
        if let (Some(groups), Some(group)) = (&mut summary.groups, group) {
            groups.add(group, sample);
        }
        if let (Some(visits), Some(step), true) = (&mut self.visits, sample.step, is_measured) {
            visits.add_call(step.place, sample, self.series.current().phase);
        }
        if let Some(recorded) = sample.recorded {
            self.of(sample.intended).replay.get_or_insert_default().add(recorded, sample);
        }
    }

    /// Returns the figures of a step, to count its failed checks and captures; `None` in the warm-up.
    pub fn step(&mut self, place: StepPlace, due: Instant) -> Option<&mut StepFigures> {
        let is_measured = self.is_measured(due);
        self.visits.as_mut().filter(|_| is_measured).map(|visits| visits.step(place, due))
    }

    /// Records a call of a step that is neither answered nor given up when the run ends.
    ///
    /// `stream`: its reply so far, if that is a stream.
    pub fn step_unfinished(
        &mut self,
        place: StepPlace,
        due: Instant,
        now: Instant,
        stream: Option<&StreamCall>,
    ) {
        if self.is_measured(due)
            && let Some(visits) = &mut self.visits
        {
            visits.add_unfinished(place, due, now, stream);
        }
    }

    /// Records failed checks of a reply.
    pub fn checks_failed(&mut self, count: u64) {
        self.series.checks_failed(count);
    }

    /// Records the start of a visit.
    pub fn visit_started(&mut self) {
        self.series.visit_started();
    }

    /// Records that a feed, by its number, has no row left for a further visit.
    pub fn feed_used_up(&mut self, feed: u32) {
        if let Some(visits) = &mut self.visits {
            visits.feed_used_up(feed);
        }
    }

    /// Records the end of a visit.
    pub fn visit_ended(&mut self, end: &VisitEnd) {
        self.series.visit_ended(end.fate);
        if self.is_measured(end.intended)
            && let Some(visits) = &mut self.visits
        {
            visits.end_visit(end);
        }
    }

    /// Sets the number of times the wall clock, which the kernel's stamps use, was set.
    pub fn clock_stepped(&mut self, steps: u64) {
        self.measured.receive.clock_steps = steps;
    }

    /// Sets the number of files of `--qlog` that are incomplete.
    pub fn qlogs_cut(&mut self, files: u64) {
        if let Some(quic) = self.measured.http2.as_mut().and_then(|http3| http3.quic.as_mut()) {
            quic.qlogs_cut = files;
        }
    }

    /// Records a call that is neither answered nor given up when the run ends.
    pub fn unfinished(&mut self, due: Instant, now: Instant) {
        self.of(due).unfinished.add(now - due);
    }

    /// Records a session that has not ended when the run does.
    pub fn session_unfinished(&mut self, due: Instant, now: Instant) {
        if let Some(sessions) = &mut self.of(due).sessions {
            sessions.unfinished.add(now - due);
        }
    }

    /// Records an arrival that has not begun when the run ends: either it waits for room, or the generator
    /// missed it. It counts as one unfinished call.
    pub fn arrival_missed(&mut self, due: Instant, is_waiting: bool, now: Instant) {
        if !self.figures.detail {
            return;
        }
        self.unfinished(due, now);
        self.session_unfinished(due, now);
        self.series.note_at(due, self.open, |interval| interval.offered += 1);
        if self.is_measured(due) {
            self.arrivals_missed += 1;
            if is_waiting {
                self.measured.arrivals.waiting += 1;
                self.measured.arrivals.waits.add(now - due);
            }
        }
    }

    /// Returns true if a call is among the slowest so far and should be passed to [`Recorder::record_slow`].
    #[must_use]
    pub fn is_slow(&self, intended: Instant, now: Instant) -> bool {
        self.is_measured(intended) && self.slowest.wants(now - intended)
    }

    /// Records a call that is among the slowest so far.
    pub fn record_slow(&mut self, sample: &Sample<'_>, detail: SlowDetail) {
        self.slowest.add(sample, self.start, detail);
    }

    /// Records the start of a scheduled arrival. Its lag counts from `due`, or, if it had to wait for room
    /// among the connections that may be open, from `room_since`.
    pub fn arrival_started(&mut self, due: Instant, room_since: Option<Instant>, now: Instant) {
        if !self.figures.detail {
            return;
        }
        let lag = now - room_since.unwrap_or(due);
        // Instant at which it would have begun without waiting for room.
        let begun = due + lag;
        self.series.note_at(due, self.open, |interval| {
            interval.arrivals += 1;
            interval.lag_max = interval.lag_max.max(lag);
        });
        self.series.add_lag(lag);
        let is_measured = self.is_measured(due);
        let summary = self.of(due);
        summary.lag.add(lag);
        summary.arrivals.started += 1;
        if let Some(room_since) = room_since {
            summary.arrivals.held += 1;
            summary.arrivals.waits.add(room_since - due);
        }
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

    /// Records the start of work that was due at the end of a pause of a session or a connection.
    pub fn timer_fired(&mut self, due: Instant, now: Instant) {
        if self.figures.detail {
            self.of(due).lag.add(now - due);
        }
    }

    /// Records an arrival that has to wait for room.
    pub fn arrival_held(&mut self, due: Instant) {
        self.of(due).arrivals.held += 1;
    }

    /// Records the wait of such an arrival, which has room since `now` or still waits at the end.
    pub fn had_waited(&mut self, due: Instant, now: Instant) {
        self.of(due).arrivals.waits.add(now - due);
    }

    /// Records for how long an arrival kept its place that found most places free.
    pub fn held_place_lightly(&mut self, due: Instant, time: Duration) {
        self.of(due).arrivals.light.add(time);
    }

    /// Records that the connection is established that was opened for a call.
    pub fn waited_for_connection(&mut self, due: Instant, now: Instant) {
        self.of(due).arrivals.opening.add(now - due);
    }

    /// Records a failed connection.
    pub fn failed(&mut self, due: Instant, cause: FailureCause) {
        let class = cause.class();
        let summary = self.of(due);
        summary.errors.add(class);
        summary.causes.add(cause);
        self.series.current().errors.add(class);
    }

    /// Records the end of a session.
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

    /// Records that the server closed a connection of a connection workload, as announced, with calls left to
    /// make.
    pub fn closed_early(&mut self, due: Instant, calls_left: u64) {
        let summary = self.of(due);
        summary.closed_early += 1;
        summary.calls_not_offered += calls_left;
    }

    /// Records an arrival that was skipped because too many connections were open.
    pub fn arrival_skipped(&mut self, due: Instant) {
        self.of(due).arrivals_skipped += 1;
    }

    /// Records a session that failed after too many retries in a row.
    pub fn retries_exhausted(&mut self, due: Instant) {
        self.of(due).retries_exhausted += 1;
    }

    /// Takes a rate sample of the time since the previous one.
    pub fn tick(&mut self, now: Instant) -> TickRates {
        let (since, time) = self.since_sampled(now);
        self.sampled = (self.so_far(), now);
        let summary = &mut self.measured;
        let replies = summary.reply_rates.add(since.replies, time);
        let sessions =
            summary.sessions.as_mut().map_or(0.0, |sessions| sessions.rates.add(since.sessions, time));
        TickRates { replies, sessions }
    }

    /// End of the current interval of the series.
    #[must_use]
    pub fn interval_end(&self) -> Instant {
        self.series.next_end()
    }

    /// Completes all intervals of the series that end by `now` and returns the next completed one. Call it
    /// until it returns `None`.
    pub fn end_interval(&mut self, now: Instant) -> Option<Interval> {
        self.series.advance(now, self.open);
        self.series.take_ended()
    }

    /// Completes the interval in progress at the end of the run. Then call [`Recorder::end_interval`] until
    /// it returns `None`.
    pub fn end_last_interval(&mut self, now: Instant) {
        let phase = self.series.current().phase;
        self.series.enter(phase, now, self.open);
    }

    /// Number of open connections.
    #[must_use]
    pub fn open(&self) -> u64 {
        self.open
    }

    /// Replies so far with status 200 and with status 302, those of the warm-up included.
    #[must_use]
    pub fn periodic(&self) -> (u64, u64) {
        let (ok, found) = self.measured.periodic;
        let (warmup_ok, warmup_found) = self.warmup.as_ref().map_or((0, 0), |warmup| warmup.periodic);
        (ok + warmup_ok, found + warmup_found)
    }

    /// Ends recording and returns the summary.
    #[must_use]
    pub fn finish(mut self, end: End) -> Summary {
        let so_far = self.so_far();
        let [in_flight_before, in_flight_after] = self.in_flight;
        let (at_begin, time_before) = in_flight_before.unwrap_or_default();
        let (at_end, time_after) = in_flight_after.unwrap_or_else(|| self.in_flight_at(end.at));
        let (unsampled, time) = self.unsampled.unwrap_or_else(|| self.since_sampled(end.at));
        let [from, to] = self.window;
        if self.measured.gave_up
            && from.is_none()
            && let Some(warmup) = self.warmup.take()
        {
            // The failures of the warm-up are all that there is to report.
            self.measured = Box::new(Summary { gave_up: true, ..*warmup });
        }
        let mut summary = *self.measured;
        if let Some(warmup) = &self.warmup {
            summary.arrivals.light.merge(&warmup.arrivals.light);
        }
        // A run that was stopped in its warm-up has measured nothing.
        summary.window = Some(from.map_or_else(Window::default, |from| to.unwrap_or(so_far) - from));
        summary.reply_windows = RateWindows::new(&summary.reply_rates, unsampled.replies, time);
        if let Some(sessions) = &mut summary.sessions {
            sessions.windows = RateWindows::new(&sessions.rates, unsampled.sessions, time);
        }
        let time_us = time_after.saturating_sub(time_before).as_micros() as u64;
        summary.in_flight = Some(InFlight { time_us, at_begin, at_end });
        summary.statuses = summary.status_codes.by_class();
        summary.duration = end.duration;
        summary.usage = end.usage;
        summary.calls_not_logged = end.calls_not_logged;
        summary.begun_late = end.begun_late;
        summary.warmup = self.warmup.map(|warmup| WarmUp {
            // A run may be stopped in it.
            duration: self.measured_from.min(end.at) - self.start,
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
        summary.visits = self.visits.map(|visits| Box::new(visits.finish()));
        summary
    }
}

#[cfg(test)]
mod tests;

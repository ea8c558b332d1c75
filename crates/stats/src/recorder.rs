//! Takes what happens during a run. One per worker; nothing in it is shared or locked.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use crate::{
    Certificate, CpuTime, EarlyRequests, Errors, Failure, Handshake, HandshakeFailure, Instant, Lifetimes,
    Outcome, RateMoments, SessionSummary, Summary, Timing, TlsSummary,
};

/// One completed call.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// The status of the reply, 100 to 599.
    pub status: u16,
    /// When the call was due: what its user waits for begins here.
    pub intended: Instant,
    /// When the first byte of its request was handed over.
    pub sent: Instant,
    /// When the status line was complete.
    pub first_byte: Instant,
    /// When the reply was complete.
    pub done: Instant,
    /// Bytes of the reply's header block.
    pub header_size: u64,
    /// Bytes of its body.
    pub content_size: u64,
    /// Bytes of its trailers.
    pub footer_size: u64,
}

/// How a session ended.
#[derive(Clone, Copy, Debug)]
pub struct SessionEnd {
    /// Whether every call was answered to satisfaction.
    pub completed: bool,
    /// From its creation to its end.
    pub lifetime: Duration,
    /// From the instant at which it was due to its end.
    pub latency: Duration,
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
}

/// Takes what happens during a run.
#[derive(Debug)]
pub struct Recorder {
    summary: Summary,
    open: u64,
    burst: Burst,
    /// Replies and completed sessions at the last sampling instant, and when that was.
    sampled: (u64, u64, Instant),
}

/// Connects initiated in one turn of the loop.
#[derive(Debug, Default)]
struct Burst {
    turn: u64,
    count: u64,
}

impl Recorder {
    /// Starts recording.
    #[must_use]
    pub fn new(start: Instant, figures: Figures) -> Self {
        let summary = Summary {
            duration: Duration::ZERO,
            connections: 0,
            requests: 0,
            replies: 0,
            concurrent_max: 0,
            connect_burst_max: 0,
            lifetimes: Lifetimes::default(),
            connect: Timing::default(),
            response: Timing::default(),
            calls: Default::default(),
            wait: Timing::default(),
            lag: Timing::default(),
            transfer: Duration::ZERO,
            request_bytes: 0,
            header_bytes: 0,
            content_bytes: 0,
            footer_bytes: 0,
            statuses: [0; 5],
            reply_rates: RateMoments::default(),
            cpu: CpuTime::default(),
            errors: Errors::default(),
            sessions: figures.sessions.then(|| SessionSummary {
                rates: RateMoments::default(),
                completed: 0,
                failed: 0,
                connections: 0,
                lifetime: Duration::ZERO,
                failtime: Duration::ZERO,
                lengths: BTreeMap::new(),
                latency: Timing::default(),
            }),
            tls: figures.tls.then(Box::default),
            periodic: (0, 0),
            calls_not_offered: 0,
            closed_early: 0,
            arrivals_skipped: 0,
            retries_exhausted: 0,
        };
        Self { summary, open: 0, burst: Burst::default(), sampled: (0, 0, start) }
    }

    /// A connection object came into being, whether or not it will get a socket.
    pub fn connection_opened(&mut self) {
        self.open += 1;
        self.summary.concurrent_max = self.summary.concurrent_max.max(self.open);
    }

    /// A socket was made and a connect is about to be initiated, in this turn of the loop.
    pub fn connect_initiated(&mut self, turn: u64) {
        self.summary.connections += 1;
        // As in the classic tool, a turn counts once a later one connects: the last never does.
        if turn != self.burst.turn {
            self.summary.connect_burst_max = self.summary.connect_burst_max.max(self.burst.count);
            self.burst = Burst { turn, count: 0 };
        }
        self.burst.count += 1;
    }

    /// A connection was established, this long after its connect was initiated.
    pub fn connect_done(&mut self, time: Duration) {
        self.summary.connect.add(time);
    }

    /// A connection that TLS is to secure has its transport, this long after its connect was initiated.
    pub fn transport_done(&mut self, time: Duration) {
        self.tls(|tls| tls.transport.add(time));
    }

    /// A TLS handshake was completed.
    pub fn handshake_done(&mut self, handshake: &Handshake<'_>) {
        self.tls(|tls| tls.add(handshake));
    }

    /// A TLS handshake failed. The connection's own failure is reported beside it.
    pub fn handshake_failed(&mut self, failure: HandshakeFailure) {
        self.tls(|tls| tls.add_failure(failure));
    }

    /// A connection failed before its TLS handshake could begin.
    pub fn handshake_impossible(&mut self, failure: HandshakeFailure) {
        self.tls(|tls| tls.note_first_failure(failure));
    }

    /// TLS failed on an established connection, for this reason.
    pub fn tls_error(&mut self, reason: Cow<'static, str>) {
        self.tls(|tls| tls.errors.add(reason));
    }

    /// The server showed its certificate. The first one is kept.
    pub fn certificate_shown(&mut self, certificate: impl FnOnce() -> Option<Certificate>) {
        self.tls(|tls| {
            if tls.certificate.is_none() {
                tls.certificate = certificate();
            }
        });
    }

    /// Requests that travelled as 0-RTT data met this end.
    pub fn early_requests(&mut self, outcome: EarlyRequests) {
        self.tls(|tls| tls.early_requests += outcome);
    }

    /// A reply that the end of the connection delimits was followed by no close_notify.
    pub fn truncated(&mut self) {
        self.tls(|tls| tls.truncated += 1);
    }

    /// An idle connection was ended by the server without a close_notify.
    pub fn unclean_close(&mut self) {
        self.tls(|tls| tls.unclean_closes += 1);
    }

    fn tls(&mut self, note: impl FnOnce(&mut TlsSummary)) {
        if let Some(tls) = &mut self.summary.tls {
            note(tls);
        }
    }

    /// A request of this many bytes was written completely.
    pub fn request_sent(&mut self, size: u64) {
        self.summary.requests += 1;
        self.summary.request_bytes += size;
    }

    /// A status line arrived, this long after its request began to be sent.
    pub fn reply_started(&mut self, status: u16, response: Duration) {
        self.summary.response.add(response);
        match status {
            200 => self.summary.periodic.0 += 1,
            302 => self.summary.periodic.1 += 1,
            _ => {}
        }
    }

    /// A call was completed.
    pub fn record(&mut self, sample: &Sample) {
        let summary = &mut self.summary;
        summary.replies += 1;
        summary.transfer += sample.done - sample.first_byte;
        summary.header_bytes += sample.header_size;
        summary.content_bytes += sample.content_size;
        summary.footer_bytes += sample.footer_size;
        summary.statuses[usize::from(sample.status / 100 - 1)] += 1;
        let outcome = if sample.status < 400 { Outcome::Success } else { Outcome::HttpError };
        let clocks = &mut summary.calls[outcome as usize];
        clocks.latency.add(sample.done - sample.intended);
        clocks.service.add(sample.done - sample.sent);
        summary.wait.add(sample.sent - sample.intended);
    }

    /// A call that was due at `intended` will have no reply: its time is over, its connection or its session is.
    /// `sent`: when the first byte of its request was handed over, if it was.
    pub fn call_failed(&mut self, intended: Instant, sent: Option<Instant>, now: Instant) {
        let clocks = &mut self.summary.calls[Outcome::Failure as usize];
        clocks.latency.add(now - intended);
        if let Some(sent) = sent {
            clocks.service.add(now - sent);
        }
    }

    /// Work on a scheduled arrival began this long after it was due: the generator's own error.
    pub fn arrival_started(&mut self, lag: Duration) {
        self.summary.lag.add(lag);
    }

    /// A connection is gone. `lifetime`, from its connect on, if it completed at least one call.
    pub fn connection_closed(&mut self, lifetime: Option<Duration>) {
        self.open -= 1;
        if let Some(lifetime) = lifetime {
            self.summary.lifetimes.add(lifetime);
        }
    }

    /// A connection failed.
    pub fn failed(&mut self, failure: Failure) {
        self.summary.errors.add(failure);
    }

    /// A session ended.
    pub fn session_ended(&mut self, end: SessionEnd) {
        let Some(sessions) = &mut self.summary.sessions else { return };
        *sessions.lengths.entry(end.replies).or_default() += 1;
        if end.completed {
            sessions.completed += 1;
            sessions.connections += end.connections;
            sessions.lifetime += end.lifetime;
            sessions.latency.add(end.latency);
        } else {
            sessions.failed += 1;
            sessions.failtime += end.lifetime;
        }
    }

    /// The server closed a connection of a connection workload, as it had announced, before these calls were
    /// made.
    pub fn closed_early(&mut self, calls_left: u64) {
        self.summary.closed_early += 1;
        self.summary.calls_not_offered += calls_left;
    }

    /// An arrival was skipped because too many connections were open.
    pub fn arrival_skipped(&mut self) {
        self.summary.arrivals_skipped += 1;
    }

    /// A session gave up after too many retries in a row.
    pub fn retries_exhausted(&mut self) {
        self.summary.retries_exhausted += 1;
    }

    /// Takes a rate sample over the time since the previous one.
    pub fn tick(&mut self, now: Instant) -> TickRates {
        let (replies_before, sessions_before, before) = self.sampled;
        let completed = self.summary.sessions.as_ref().map_or(0, |sessions| sessions.completed);
        let seconds = (now - before).as_secs_f64();
        let rate = |count: u64| if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
        let rates = TickRates {
            replies: rate(self.summary.replies - replies_before),
            sessions: rate(completed - sessions_before),
        };
        self.sampled = (self.summary.replies, completed, now);
        self.summary.reply_rates.add(rates.replies);
        if let Some(sessions) = &mut self.summary.sessions {
            sessions.rates.add(rates.sessions);
        }
        rates
    }

    /// Connections open now.
    #[must_use]
    pub fn open(&self) -> u64 {
        self.open
    }

    /// Replies so far with status 200, and with status 302.
    #[must_use]
    pub fn periodic(&self) -> (u64, u64) {
        self.summary.periodic
    }

    /// Ends recording.
    #[must_use]
    pub fn finish(mut self, duration: Duration, cpu: CpuTime) -> Summary {
        self.summary.duration = duration;
        self.summary.cpu = cpu;
        self.summary
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{HandshakeFailureClass, HandshakeKind};

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    fn reply(status: u16) -> Sample {
        Sample {
            status,
            intended: at(0),
            sent: at(1),
            first_byte: at(1),
            done: at(3),
            header_size: 38,
            content_size: 5,
            footer_size: 0,
        }
    }

    fn end(recorder: Recorder) -> Summary {
        recorder.finish(Duration::from_secs(1), CpuTime::default())
    }

    #[test]
    fn the_last_connect_burst_never_counts() {
        for (turns, expected) in
            [(&[][..], 0), (&[1], 0), (&[1, 2], 1), (&[1, 1, 1, 4], 3), (&[1, 4, 4, 4, 4], 1)]
        {
            let mut recorder = Recorder::new(at(0), Figures::default());
            turns.iter().for_each(|&turn| recorder.connect_initiated(turn));
            assert_eq!(end(recorder).connect_burst_max, expected, "{turns:?}");
        }
    }

    #[test]
    fn replies_are_counted_by_class_with_their_sizes() {
        let mut recorder = Recorder::new(at(0), Figures::default());
        for status in [200, 204, 301, 404, 599] {
            recorder.record(&reply(status));
        }
        let summary = end(recorder);
        assert_eq!(summary.statuses, [0, 2, 1, 1, 1]);
        assert_eq!((summary.replies, summary.header_bytes, summary.content_bytes), (5, 190, 25));
        assert_eq!(summary.transfer, Duration::from_millis(10));
    }

    #[test]
    fn calls_are_timed_by_two_clocks_and_by_outcome() {
        let mut recorder = Recorder::new(at(0), Figures::default());
        recorder.record(&reply(200));
        recorder.record(&reply(503));
        recorder.call_failed(at(0), None, at(10));
        recorder.call_failed(at(0), Some(at(4)), at(10));
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
    fn rates_are_taken_over_the_real_time_between_samples() {
        let mut recorder = Recorder::new(at(0), Figures { sessions: true, ..Figures::default() });
        (0..20).for_each(|_| recorder.record(&reply(200)));
        assert_eq!(recorder.tick(at(5000)).replies, 4.0);
        (0..30).for_each(|_| recorder.record(&reply(200)));
        assert_eq!(recorder.tick(at(15_000)).replies, 3.0);
        assert_eq!(recorder.tick(at(15_000)).replies, 0.0, "no time, no rate");
        let summary = end(recorder);
        assert_eq!((summary.reply_rates.count(), summary.reply_rates.max()), (3, 4.0));
    }

    #[test]
    fn connections_open_at_once_are_counted_at_their_most() {
        let mut recorder = Recorder::new(at(0), Figures::default());
        recorder.connection_opened();
        recorder.connection_opened();
        recorder.connection_closed(None);
        recorder.connection_opened();
        recorder.connection_closed(Some(Duration::from_millis(7)));
        assert_eq!(recorder.open(), 1);
        let summary = end(recorder);
        assert_eq!(summary.concurrent_max, 2);
        assert_eq!(summary.lifetimes.moments.count(), 1);
    }

    /// Everything of TLS that a worker can tell, each in a different number.
    fn tell_of_tls(recorder: &mut Recorder) {
        recorder.transport_done(Duration::from_micros(50));
        let failure = HandshakeFailure {
            class: HandshakeFailureClass::Transport,
            reason: "timed out".into(),
            details: Vec::new(),
        };
        recorder.handshake_failed(failure);
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
        (0..2).for_each(|_| recorder.handshake_done(&handshake));
        for subject in ["CN=first", "CN=second"] {
            let certificate = || Certificate {
                subject: subject.to_owned(),
                key: "Ed25519".to_owned(),
                chain_length: 1,
                days_left: 9,
            };
            recorder.certificate_shown(|| Some(certificate()));
        }
        recorder.early_requests(EarlyRequests { accepted: 3, rejected: 2, replayed: 1 });
        recorder.early_requests(EarlyRequests { accepted: 1, ..EarlyRequests::default() });
        (0..3).for_each(|_| recorder.truncated());
        (0..4).for_each(|_| recorder.unclean_close());
    }

    #[test]
    fn what_tls_did_is_kept_if_its_figures_were_asked_for() {
        let mut recorder = Recorder::new(at(0), Figures { tls: true, ..Figures::default() });
        tell_of_tls(&mut recorder);
        let tls = end(recorder).tls.unwrap();
        assert_eq!((tls.transport.moments.count(), tls.completed(), tls.failed()), (1, 2, 1));
        assert_eq!(tls.first_failure.as_ref().map(|failure| &*failure.reason), Some("timed out"));
        assert_eq!(tls.early_requests, EarlyRequests { accepted: 4, rejected: 2, replayed: 1 });
        assert_eq!((tls.truncated, tls.unclean_closes), (3, 4));
    }

    #[test]
    fn without_figures_of_tls_nothing_of_it_is_kept() {
        let mut recorder = Recorder::new(at(0), Figures::default());
        tell_of_tls(&mut recorder);
        recorder.certificate_shown(|| panic!("nobody wants to see it"));
        assert!(end(recorder).tls.is_none());
    }

    #[test]
    fn of_the_certificates_that_are_shown_the_first_is_kept() {
        let mut recorder = Recorder::new(at(0), Figures { tls: true, ..Figures::default() });
        recorder.certificate_shown(|| None);
        tell_of_tls(&mut recorder);
        recorder.certificate_shown(|| panic!("one is enough"));
        assert_eq!(end(recorder).tls.unwrap().certificate.unwrap().subject, "CN=first");
    }

    #[test]
    fn sessions_are_counted_by_their_end_and_length() {
        let mut recorder = Recorder::new(at(0), Figures { sessions: true, ..Figures::default() });
        for (completed, replies) in [(true, 3), (true, 3), (false, 0)] {
            recorder.session_ended(SessionEnd {
                completed,
                lifetime: Duration::from_secs(2),
                latency: Duration::from_secs(3),
                replies,
                connections: 2,
            });
        }
        let sessions = end(recorder).sessions.unwrap();
        assert_eq!((sessions.completed, sessions.failed, sessions.connections), (2, 1, 4));
        assert_eq!(sessions.lengths.into_iter().collect::<Vec<_>>(), [(0, 1), (3, 2)]);
        assert_eq!((sessions.lifetime, sessions.failtime), (Duration::from_secs(4), Duration::from_secs(2)));
    }
}

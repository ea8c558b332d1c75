//! Figures of a run that is over.

use std::fmt::{self, Display};
use std::time::Duration;

use httperf_pages::Report as _;
use httperf_plan::objective::share_of_percent;
use httperf_report::result::Document;
use httperf_report::{AllCalls, Kept, Level, Written as _};
use httperf_stats::{Summary, Timing, samples_needed};

/// The figures of a run, and a verdict on their reliability. Its text is the report that `httperf --report full` prints.
///
/// All figures are those of what was due in the measured phase, without the [`warm_up`](crate::Load::warm_up). The processor
/// time in the text and the documents is that of the whole process: a server in it is included.
#[derive(Clone, Debug)]
pub struct Report {
    document: Document,
}

/// The verdict on a run: whether its figures are those of the server. Says nothing about how good they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// The figures are reliable.
    Valid,
    /// Some figures may be off.
    Suspect,
    /// The figures are those of the generator or of its machine.
    Invalid,
}

impl Report {
    pub(crate) fn of(document: Document) -> Self {
        Self { document }
    }

    /// The latency of all calls that were due: from the instant at which each was due to the end of its reply.
    #[must_use]
    pub fn latency(&self) -> Latency<'_> {
        Latency { summary: &self.document.summary }
    }

    /// The latency of the calls that had a complete reply, with any status unless
    /// [`expect_status`](crate::Load::expect_status) says which are right.
    #[must_use]
    pub fn answered_latency(&self) -> Times {
        Times(self.document.summary.completed().latency)
    }

    /// The time of the same calls from the first byte of a request to the end of its reply. It leaves out the time for
    /// which a call waited for a connection.
    #[must_use]
    pub fn service_time(&self) -> Times {
        Times(self.document.summary.completed().service)
    }

    /// The time from a connect to its end, with the TLS handshake, of the same [`connections`](Self::connections).
    #[must_use]
    pub fn connect_time(&self) -> Times {
        Times(self.document.summary.connect.clone())
    }

    /// The delay with which the generator started work that was due. Large values make the verdict
    /// [`Suspect`](Verdict::Suspect) or [`Invalid`](Verdict::Invalid).
    #[must_use]
    pub fn lag(&self) -> Times {
        Times(self.document.summary.lag.clone())
    }

    /// The number of calls that were due: answered, failed and unfinished.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.document.figures.all_calls.calls
    }

    /// The number of calls with a usable reply.
    #[must_use]
    pub fn answered(&self) -> u64 {
        self.document.figures.all_calls.answered
    }

    /// The number of calls that failed, or whose replies had a status that is not right.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.document.figures.all_calls.failed
    }

    /// The number of calls that were pending when the run ended.
    #[must_use]
    pub fn unfinished(&self) -> u64 {
        self.document.figures.all_calls.unfinished
    }

    /// The number of complete replies with this status.
    #[must_use]
    pub fn replies_with(&self, status: u16) -> u64 {
        let codes = self.document.summary.status_codes.iter();
        codes.filter(|&(code, _)| code == status).map(|(_, count)| count).sum()
    }

    /// The number of connects. The connections that the calls of a [`rate`](crate::Load::rate) share are opened before the
    /// first call: with a warm-up they belong to it, and only those that replaced others count.
    #[must_use]
    pub fn connections(&self) -> u64 {
        self.document.summary.connections
    }

    /// Complete replies per second: the throughput.
    #[must_use]
    pub fn reply_rate(&self) -> f64 {
        self.document.figures.reply_rate
    }

    /// The length of the measured phase.
    #[must_use]
    pub fn duration(&self) -> Duration {
        self.document.summary.duration
    }

    /// The verdict on the measurement.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        match self.document.verdict.level {
            Level::Valid => Verdict::Valid,
            Level::Suspect => Verdict::Suspect,
            Level::Invalid => Verdict::Invalid,
        }
    }

    /// Returns whether the run ended before its time because the server does not speak the protocol, such as HTTP/2 or TLS.
    #[must_use]
    pub fn ended_early(&self) -> bool {
        self.document.summary.gave_up
    }

    /// The reasons for the verdict, worst first, followed by notes: each a name, a colon and a sentence.
    #[must_use]
    pub fn reasons(&self) -> Vec<String> {
        let reasons = self.document.verdict.reasons.iter();
        reasons.map(|reason| format!("{}: {}", reason.finding.name(), reason.finding)).collect()
    }

    /// Returns whether each of the [`objectives`](crate::Load::objectives) is known to have been met; true if there are
    /// none.
    #[must_use]
    pub fn met_objectives(&self) -> bool {
        self.document.met_objectives()
    }

    /// The objectives that were missed or cannot be judged for lack of data, each with its measured value.
    #[must_use]
    pub fn missed_objectives(&self) -> Vec<String> {
        let judged = self.document.objectives.iter().filter(|judged| judged.outcome != Kept::Met);
        judged.map(|judged| format!("{}: {judged}", judged.name())).collect()
    }

    /// The result document, as `--output` writes it: `httperf report`, `compare` and `merge` read it.
    #[must_use]
    pub fn json(&self) -> String {
        self.document.json()
    }

    /// The report as a page for browsers, as `--html` writes it.
    #[must_use]
    pub fn html(&self) -> String {
        self.document.page()
    }
}

impl Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.document.plain_text())
    }
}

impl Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Valid => "VALID",
            Self::Suspect => "SUSPECT",
            Self::Invalid => "INVALID",
        })
    }
}

/// The latency of all calls that were due. Those that failed count as longer than any other; those that were pending at
/// the end count for every time shorter than they had been due for. A percentile that falls among them is
/// [`Duration::MAX`], so that it is below no bound.
#[derive(Clone, Copy, Debug)]
pub struct Latency<'a> {
    summary: &'a Summary,
}

impl Latency<'_> {
    /// The median.
    ///
    /// # Panics
    /// If there were fewer than 2 calls.
    #[must_use]
    pub fn p50(&self) -> Duration {
        self.enough(50.0)
    }

    /// The 90th percentile.
    ///
    /// # Panics
    /// If there were fewer than 10 calls.
    #[must_use]
    pub fn p90(&self) -> Duration {
        self.enough(90.0)
    }

    /// The 99th percentile.
    ///
    /// # Panics
    /// If there were fewer than 100 calls.
    #[must_use]
    pub fn p99(&self) -> Duration {
        self.enough(99.0)
    }

    /// The 99.9th percentile.
    ///
    /// # Panics
    /// If there were fewer than 1000 calls.
    #[must_use]
    pub fn p999(&self) -> Duration {
        self.enough(99.9)
    }

    /// The longest.
    ///
    /// # Panics
    /// If there was no call.
    #[must_use]
    pub fn max(&self) -> Duration {
        self.enough(100.0)
    }

    /// A percentile, such as 99.5, to 3 significant digits; `None` if there were too few calls for it.
    ///
    /// # Panics
    /// If it is not from 0 to 100.
    #[must_use]
    pub fn percentile(&self, percent: f64) -> Option<Duration> {
        let found = AllCalls::percentile(self.summary, share(percent))?;
        Some(if found.or_more { Duration::MAX } else { Duration::from_secs_f64(found.ms / 1e3) })
    }

    fn enough(self, percent: f64) -> Duration {
        self.percentile(percent).unwrap_or_else(|| {
            let needed = samples_needed(share(percent));
            let calls = AllCalls::of(self.summary).calls;
            panic!("percentile {percent}: expected at least {needed} calls, got {calls}")
        })
    }
}

/// A distribution of times.
#[derive(Clone, Debug)]
pub struct Times(Timing);

impl Times {
    /// The number of times.
    #[must_use]
    pub fn samples(&self) -> u64 {
        self.0.moments.count()
    }

    /// The mean; `None` if there are no times.
    #[must_use]
    pub fn mean(&self) -> Option<Duration> {
        self.of_any(|timing| timing.moments.mean())
    }

    /// The shortest; `None` if there are no times.
    #[must_use]
    pub fn min(&self) -> Option<Duration> {
        self.of_any(|timing| timing.moments.min())
    }

    /// The longest; `None` if there are no times.
    #[must_use]
    pub fn max(&self) -> Option<Duration> {
        self.of_any(|timing| timing.moments.max())
    }

    /// A percentile, such as 99.5, to 3 significant digits; `None` if there are too few times for it.
    ///
    /// # Panics
    /// If it is not from 0 to 100.
    #[must_use]
    pub fn percentile(&self, percent: f64) -> Option<Duration> {
        self.0.supported_quantile(share(percent))
    }

    fn of_any(&self, seconds: impl Fn(&Timing) -> f64) -> Option<Duration> {
        (self.samples() > 0).then(|| Duration::from_secs_f64(seconds(&self.0)))
    }
}

fn share(percent: f64) -> f64 {
    assert!((0.0..=100.0).contains(&percent), "a percentile: expected a number from 0 to 100, got {percent}");
    share_of_percent(percent)
}

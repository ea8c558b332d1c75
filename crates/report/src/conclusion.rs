//! The conclusion of a run: what it says of the server, in a word and a sentence. The verdict says whether it can be relied on.
//!
//! A server keeps up if it answers the load while it is offered. It falls behind if a part is answered late or not at all, and
//! latency grows meanwhile: a reply that merely takes long is no sign of that, nor is one by chance. Where arrivals wait for
//! replies, a slow server gets less load, and whether it would keep up with more stays open.

use std::fmt::{self, Display};

use httperf_plan::{Arrivals, Plan, Workload};
use httperf_stats::{CauseKind, Interval, Summary};
use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::statuses;
use crate::answered::answered_share;
use crate::backlog::queue_grows;
use crate::causes::CauseFigures;
use crate::colours::Tone;
use crate::diagnosis::no_reply;
use crate::errors::ErrorFigures;
use crate::figures::RunFigures;
use crate::number::{count, fixed, per_second, percent, ratio, time};
use crate::streams::open_streams;
use crate::verdict::{Finding, Verdict};

/// Share of the load that may be answered late whether or not latency grows.
const LATE_MIN: f64 = 0.03;

/// Share of the calls that may stay without an answer, or time out, in a run that keeps up.
const UNANSWERED_MAX: f64 = 0.05;

/// Share of errors that makes them the conclusion.
const ERRORS_MIN: f64 = 0.01;

/// Smallest number of arrivals that shows whether a server keeps up.
const ARRIVALS_MIN: u64 = 20;

/// Shortest period of silence that is the conclusion, in seconds. Shorter ones are notes of the verdict.
const SILENCE_MIN_S: f64 = 0.25;

/// Number of reasons that are named.
const REASONS_MAX: usize = 2;

/// Conclusion of a run about the server.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Conclusion {
    /// The conclusion in a word.
    pub kind: ConclusionKind,
    /// The same in a sentence whose subject is the server.
    pub text: String,
    /// Share of the load (0 to 1) that was answered without an error while it was offered; `None` if arrivals wait for replies.
    pub answered_in_time: Option<f64>,
    /// True if latency grew as long as the load lasted.
    pub latency_grows: bool,
    /// Longest period in which replies were due and nothing came, if it is worth a word.
    pub stood_still: Option<StoodStill>,
}

/// Conclusion of a run about the server, in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConclusionKind {
    /// Nothing: no load was measured.
    NothingMeasured,
    /// It answered nothing.
    NoReply,
    /// Nothing about its limit: the generator, or a bound of the plan, was the limit.
    ClientLimited,
    /// It answers a part of the load late or not at all.
    FallsBehind,
    /// It turns calls away.
    Refuses,
    /// It answers calls with errors, or cuts them off.
    Fails,
    /// It kept up but for a time in which it answered nothing.
    StoodStill,
    /// It answers all of the load in time.
    KeepsUp,
    /// It answers; whether it keeps up cannot be said of this load.
    Answers,
}

/// A period in which replies were due and nothing came.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StoodStill {
    /// Its beginning, in seconds since the start of the run.
    pub from_s: f64,
    /// Its length in seconds.
    pub length_s: f64,
}

impl Display for ConclusionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl ConclusionKind {
    /// Its words.
    pub(crate) fn words(self) -> String {
        self.to_string().replace('_', " ")
    }

    /// Tone: good news, bad news, or neither.
    pub(crate) fn tone(self) -> Tone {
        match self {
            Self::KeepsUp => Tone::Good,
            Self::NoReply | Self::FallsBehind | Self::Refuses | Self::Fails => Tone::Bad,
            Self::NothingMeasured | Self::ClientLimited | Self::StoodStill => Tone::Doubtful,
            Self::Answers => Tone::Plain,
        }
    }
}

/// Calls in error with the reasons, the most frequent first.
struct Errors {
    share: f64,
    are_refusals: bool,
    /// Those that took as long as a call may.
    timed_out: f64,
    reasons: Vec<String>,
}

impl Conclusion {
    /// Draws the conclusion from a run.
    pub(crate) fn of(plan: &Plan, summary: &Summary, figures: &RunFigures, verdict: &Verdict) -> Self {
        let is_timed = plan.arrivals.is_scheduled();
        let answered_in_time = answered_share(plan, summary).filter(|_| is_timed);
        let silence = verdict.reasons.iter().find_map(|reason| match reason.finding {
            Finding::ServerStall { length_s, from_s } => Some(StoodStill { from_s, length_s }),
            _ => None,
        });
        let (kind, text, latency_grows) = judge(plan, summary, figures, verdict, answered_in_time);
        let stood_still = silence.filter(|silence| silence.length_s >= SILENCE_MIN_S);
        let stands = stood_still.map(|StoodStill { from_s, length_s }| {
            format!("stood still for {} at {} s", time(length_s * 1e3), fixed(from_s, 1))
        });
        let (kind, text) = match (kind, stands) {
            (ConclusionKind::KeepsUp, Some(stands)) => {
                (ConclusionKind::StoodStill, format!("{stands}, and keeps up otherwise"))
            }
            (
                ConclusionKind::NothingMeasured | ConclusionKind::NoReply | ConclusionKind::ClientLimited,
                _,
            )
            | (_, None) => (kind, text),
            (_, Some(stands)) => (kind, format!("{text}; {stands}")),
        };
        Self { kind, text, answered_in_time, latency_grows, stood_still }
    }
}

/// The conclusion from the intervals of a run that goes on; `None` as long as they say too little.
#[must_use]
pub fn conclusion_so_far(intervals: &[Interval]) -> Option<(ConclusionKind, String)> {
    let sum = |part: fn(&Interval) -> u64| intervals.iter().map(part).sum::<u64>();
    let due = sum(|interval| interval.offered);
    if due < ARRIVALS_MIN {
        return None;
    }
    let in_time = ratio(sum(|interval| interval.replies) as f64, due as f64).min(1.0);
    Some(match queue_grows(intervals, in_time)? {
        true if 1.0 - in_time >= LATE_MIN => {
            let text =
                format!("falls behind: {} of the load answered so far, and latency grows", percent(in_time));
            (ConclusionKind::FallsBehind, text)
        }
        _ => (ConclusionKind::KeepsUp, "keeps up so far".to_owned()),
    })
}

/// The conclusion but for periods of silence, and whether latency grows.
fn judge(
    plan: &Plan,
    summary: &Summary,
    figures: &RunFigures,
    verdict: &Verdict,
    in_time: Option<f64>,
) -> (ConclusionKind, String, bool) {
    if let Some(why) = no_reply(plan, summary) {
        return (ConclusionKind::NoReply, why, false);
    }
    let errors = Errors::of(plan, summary, figures);
    if figures.error_share.whole() == 0 && figures.replies == 0 {
        let is_over = !plan.phases.warmup.is_zero() && summary.duration.is_zero();
        let why =
            if is_over { ": the load ended in the warm-up; --duration X offers load after it" } else { "" };
        return (ConclusionKind::NothingMeasured, format!("nothing was measured{why}"), false);
    }
    if let Some(finding) = verdict.client_limits().next() {
        return (ConclusionKind::ClientLimited, limited_by(finding), false);
    }
    let Some(in_time) = in_time else {
        let (kind, text) = errors.conclusion(&figures.error_share).unwrap_or_else(|| {
            (ConclusionKind::Answers, format!("{}{}", closed_loop(plan, figures), errors.aside()))
        });
        return (kind, text, false);
    };
    let late = 1.0 - in_time - (errors.share - errors.timed_out);
    let rises = queue_grows(summary.series.intervals(), in_time);
    let grows = rises == Some(true) && late >= LATE_MIN;
    if grows || errors.timed_out + unanswered(plan, summary, figures) > UNANSWERED_MAX {
        let growth = if grows { ", and latency grows as long as the load lasts" } else { "" };
        let mut text = format!("falls behind: answers {} of the load in time{growth}", percent(in_time));
        if let Some((_, errors)) = errors.conclusion(&figures.error_share).filter(|_| !errors.is_of_time()) {
            text = format!("{text}; {errors}");
        }
        return (ConclusionKind::FallsBehind, text, grows);
    }
    if let Some((kind, text)) = errors.conclusion(&figures.error_share) {
        return (kind, text, false);
    }
    let rate = figures.offered_rate.map_or_else(String::new, |rate| format!(" with {}", per_second(rate)));
    let (kind, text) = match summary.arrivals.due {
        due if due < ARRIVALS_MIN => {
            (ConclusionKind::Answers, "answers; too few calls to tell whether it keeps up".to_owned())
        }
        _ if late >= LATE_MIN && rises.is_none() => {
            let text = format!("answers{rate}; the load was too short to tell whether it keeps up");
            (ConclusionKind::Answers, text)
        }
        _ => (ConclusionKind::KeepsUp, format!("keeps up{rate}")),
    };
    (kind, text + &errors.aside(), false)
}

/// Share of the calls that had time to end and did not. Without a drain, none had.
fn unanswered(plan: &Plan, summary: &Summary, figures: &RunFigures) -> f64 {
    if plan.runtime.is_some() && plan.phases.drain.is_zero() {
        return 0.0;
    }
    // A stream that is open was answered.
    let unfinished = summary.unfinished.moments.count().saturating_sub(open_streams(summary));
    ratio(unfinished as f64, figures.error_share.whole().max(unfinished) as f64)
}

/// Names the limit that is not the server's.
fn limited_by(finding: &Finding) -> String {
    match finding {
        Finding::AtRank { finding, .. } => limited_by(finding),
        Finding::ClientLimit { place, places, .. } => {
            format!("limited by {}, not by the server", place.limit(*places))
        }
        finding => format!("limited by the generator, not by the server: {finding}"),
    }
}

/// Says how much came from a server whose replies decide when it is asked again.
fn closed_loop(plan: &Plan, figures: &RunFigures) -> String {
    let rate = per_second(figures.reply_rate);
    match plan.arrivals {
        _ if figures.replies == 1 => match figures.latency_ms.mean {
            Some(ms) => format!("answers in {}", time(ms)),
            None => "answers".to_owned(),
        },
        Arrivals::Concurrent(most) if most.get() > 1 => {
            let what = match plan.workload {
                Workload::Scenarios(_) | Workload::Sessions(_) => "users",
                _ => "connections",
            };
            format!("answers {rate} to {} {what} that wait for their replies", count(most.get().into()))
        }
        _ => format!("answers {rate}, one call after another"),
    }
}

impl Errors {
    fn of(plan: &Plan, summary: &Summary, figures: &RunFigures) -> Self {
        let all: &ErrorFigures = &figures.error_share;
        let share = |calls: u64| ratio(calls as f64, all.whole() as f64);
        // By number, words and whether they are refusals.
        let mut kinds: Vec<(u64, String, bool)> = figures
            .causes
            .iter()
            .map(|cause| (cause.failures, cause.short(), cause.cause == CauseKind::Refused))
            .collect();
        if all.http_errors > 0 {
            let codes = statuses(summary).into_iter();
            let codes = codes.filter(|(code, _)| code.starts_with(['4', '5']));
            kinds.extend(codes.map(|(code, replies)| {
                let is_refusal = matches!(&*code, "429" | "503");
                (replies.min(all.http_errors), code, is_refusal)
            }));
        }
        if all.unexpected > 0 {
            kinds.push((all.unexpected, "not as expected".to_owned(), false));
        }
        kinds.sort_by_key(|(calls, ..)| std::cmp::Reverse(*calls));
        let refused: u64 = kinds.iter().filter(|(.., is_refusal)| *is_refusal).map(|(calls, ..)| calls).sum();
        let timed_out: u64 =
            figures.causes.iter().filter(|cause| is_timeout(cause)).map(|cause| cause.failures).sum();
        let limit = if plan.makes_calls() { all.failed } else { all.connections_failed };
        Self {
            share: all.share.unwrap_or(0.0),
            are_refusals: refused * 2 > all.errors(),
            timed_out: share(timed_out.min(limit)),
            reasons: kinds.into_iter().map(|(_, words, _)| words).take(REASONS_MAX).collect(),
        }
    }

    /// Returns true if nearly all of them took as long as a call may: that is lateness.
    fn is_of_time(&self) -> bool {
        self.share - self.timed_out < ERRORS_MIN
    }

    /// The conclusion that they are, if there are enough.
    fn conclusion(&self, of: &ErrorFigures) -> Option<(ConclusionKind, String)> {
        if self.share < ERRORS_MIN {
            return None;
        }
        let (share, reasons) = (percent(self.share), self.reasons.join(", "));
        let calls = if of.of_connections { "connections" } else { "calls" };
        Some(match self.are_refusals {
            true => (ConclusionKind::Refuses, format!("refuses {share} of the {calls} ({reasons})")),
            false => (ConclusionKind::Fails, format!("fails {share} of the {calls} ({reasons})")),
        })
    }

    /// A few of them, beside another conclusion.
    fn aside(&self) -> String {
        match self.share {
            0.0 => String::new(),
            share => format!(", but for {} in error ({})", percent(share), self.reasons.join(", ")),
        }
    }
}

fn is_timeout(cause: &CauseFigures) -> bool {
    matches!(
        cause.cause,
        CauseKind::ConnectTimedOut
            | CauseKind::KernelTimedOut
            | CauseKind::ProxyTimedOut
            | CauseKind::TlsTimedOut
            | CauseKind::SendTimedOut
            | CauseKind::ReplyTimedOut
            | CauseKind::BodyTimedOut
    )
}

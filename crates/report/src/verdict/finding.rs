//! Findings about a run, and their words.

use std::fmt::{self, Display};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::in_flight;
use crate::number::{count, counted, fixed, percent, quantile_name, ratio, time, were};
use crate::places::{LimitSentence, Place};

/// A finding about a run. Shares are of 1, rates are per second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum Finding {
    /// A worker's thread needed nearly all of a processor.
    ClientCpu {
        /// Share of the time in which it ran or was ready to run.
        share: f64,
    },
    /// Arrivals were started late.
    ScheduleLag {
        /// Quantile at which lag and latency are compared.
        quantile: f64,
        /// Quantile of the lag, in milliseconds.
        lag_ms: f64,
        /// Quantile of the latency, in milliseconds.
        latency_ms: f64,
    },
    /// Replies waited in this machine before they were read.
    ReceiveLag {
        /// Quantile at which lag and latency are compared.
        quantile: f64,
        /// Quantile of the receive lag, in milliseconds.
        lag_ms: f64,
        /// Quantile of the latency, in milliseconds.
        latency_ms: f64,
    },
    /// The wall clock, which the kernel's stamps use, was set.
    ClockSet {
        /// Number of times.
        times: u64,
    },
    /// Replies were to be timed by the kernel's clock, but some have no stamp.
    Unstamped {
        /// Replies without a stamp.
        replies: u64,
        /// Share of all replies.
        share: f64,
    },
    /// Arrivals started at a lower rate than scheduled.
    Rate {
        /// Scheduled arrivals per second.
        asked: f64,
        /// Arrivals started per second.
        achieved: f64,
    },
    /// The intervals between arrivals deviated from the schedule.
    ArrivalProcess {
        /// Mean deviation in milliseconds, between arrivals of the same worker.
        off_ms: f64,
        /// Mean interval of the whole schedule, in milliseconds.
        mean_ms: f64,
    },
    /// Arrivals were skipped at the limit on open connections.
    ArrivalsSkipped {
        /// Number of arrivals.
        arrivals: u64,
        /// Share of the arrivals due.
        share: f64,
    },
    /// Arrivals waited for room among the connections that may be open.
    ArrivalsHeld {
        /// Number of arrivals.
        arrivals: u64,
    },
    /// Arrivals waited for a place that the plan bounds the number of, and that bound is part of the figures.
    ClientLimit {
        /// The places that they waited for.
        place: Place,
        /// Number of these places.
        places: u64,
        /// Number of arrivals that waited.
        arrivals: u64,
        /// Longest wait in milliseconds.
        longest_ms: f64,
        /// Arrivals per second.
        rate: f64,
        /// Mean time in milliseconds for which an arrival kept its place that found most of them free.
        kept_ms: f64,
        /// Number of places that this rate and time need on average.
        needed: u64,
    },
    /// Calls waited for a connection that was opened for them.
    OpenedForCalls {
        /// Number of calls that did.
        calls: u64,
        /// Number of all calls that were due.
        all: u64,
        /// Longest wait in milliseconds.
        longest_ms: f64,
    },
    /// A feed had no row left for a further visit: none started any more.
    FeedUsedUp {
        /// Name of the feed.
        feed: String,
    },
    /// Connections failed because the process or system had no file descriptors left.
    Descriptors {
        /// Number of connections.
        connections: u64,
    },
    /// Connections failed because no local port was available.
    Ports {
        /// Number of connections.
        connections: u64,
    },
    /// Datagrams were lost in buffers of this machine.
    DatagramsLost {
        /// Datagrams that arrived and found the buffer of a socket full, whatever program it belongs to. Those that came
        /// together count once, so they may be more.
        received: u64,
        /// Datagrams of them that were for the generator itself.
        own: u64,
        /// Datagrams that found no room on their way out.
        sent: u64,
    },
    /// The hypervisor gave processor time to other guests.
    TimeStolen {
        /// Share of all processors' time.
        share: f64,
    },
    /// A worker's thread was ready to run, but other programs ran.
    KeptWaiting {
        /// Share of the time; of several workers, that of the one that waited longest.
        share: f64,
        /// Number of times it was preempted.
        preempted: u64,
    },
    /// The generator did not run when it should have: it was stopped, or others had its processor.
    Paused {
        /// Share of the time in which it did not run; of several workers, that of the one that paused
        /// longest.
        share: f64,
        /// Longest pause in milliseconds.
        longest_ms: f64,
        /// Number of pauses.
        times: u64,
    },
    /// Too few calls for some percentiles.
    FewSamples {
        /// Calls with a reply; established connections if no calls are made.
        samples: u64,
        /// Lowest quantile without enough samples.
        quantile: f64,
    },
    /// Calls were pending or waiting for room when the run ended, so their latencies are unknown.
    Unfinished {
        /// Number of calls.
        calls: u64,
        /// Share of all calls due.
        share: f64,
        /// Time since the first of them was due, in seconds.
        longest_s: f64,
    },
    /// Planned calls were never made, as the server closed their connections before.
    CallsNotMade {
        /// Number of calls.
        calls: u64,
        /// Share of all calls planned on the connections that were opened.
        share: f64,
        /// Number of connections closed early.
        connections: u64,
    },
    /// The number of replies in flight is not their rate times their time: times or counts are wrong.
    InFlight {
        /// Mean number of replies that were due at a time.
        measured: f64,
        /// The number that follows from their rate and service time.
        by_law: f64,
    },
    /// Calls are missing from the call log.
    LogIncomplete {
        /// Number of calls.
        calls: u64,
    },
    /// The plan disabled the records that a verdict needs.
    NotRecorded,
    /// Handshakes were to resume sessions, but few did.
    NotResumed {
        /// Share of the handshakes that were to resume one.
        asked: f64,
        /// Share of those that did.
        share: f64,
    },
    /// The server sent nothing for a while although replies were due.
    ServerStall {
        /// Length in seconds.
        length_s: f64,
        /// Beginning, in seconds since the start of the run.
        from_s: f64,
    },
    /// The run became steady late, without a warm-up that would have kept its beginning out of the figures.
    SteadyFrom {
        /// Seconds since the beginning of the measured phase.
        seconds: f64,
    },
    /// The run never became steady.
    NeverSteady,
    /// A finding about the part of one rank of a fleet, which the whole does not show.
    AtRank {
        /// The rank.
        rank: u32,
        /// The finding.
        finding: Box<Finding>,
    },
    /// Results of ranks of a fleet are missing.
    RanksMissing {
        /// Number of ranks that are missing.
        ranks: u32,
        /// Number of ranks.
        size: u32,
    },
}

impl Finding {
    /// Name of the finding, such as `client cpu`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::ClientCpu { .. } => "client cpu",
            Self::ScheduleLag { .. } => "schedule lag",
            Self::ReceiveLag { .. } => "receive lag",
            Self::ClockSet { .. } => "clock set",
            Self::Unstamped { .. } => "unstamped",
            Self::Rate { .. } => "rate",
            Self::ArrivalProcess { .. } => "arrival process",
            Self::ArrivalsSkipped { .. } => "arrivals skipped",
            Self::ArrivalsHeld { .. } => "arrivals held",
            Self::ClientLimit { .. } => "client limit",
            Self::OpenedForCalls { .. } => "opened for calls",
            Self::FeedUsedUp { .. } => "feed used up",
            Self::Paused { .. } => "paused",
            Self::Descriptors { .. } => "descriptors",
            Self::Ports { .. } => "ports",
            Self::DatagramsLost { .. } => "datagrams lost",
            Self::TimeStolen { .. } => "time stolen",
            Self::KeptWaiting { .. } => "kept waiting",
            Self::FewSamples { .. } => "few samples",
            Self::Unfinished { .. } => "unfinished",
            Self::CallsNotMade { .. } => "calls not made",
            Self::InFlight { .. } => "in flight",
            Self::LogIncomplete { .. } => "log incomplete",
            Self::NotRecorded => "not recorded",
            Self::NotResumed { .. } => "not resumed",
            Self::ServerStall { .. } => "server stall",
            Self::SteadyFrom { .. } => "steady from",
            Self::NeverSteady => "never steady",
            Self::AtRank { finding, .. } => finding.name(),
            Self::RanksMissing { .. } => "ranks missing",
        }
    }
}

/// Describes the finding and its meaning in one clause.
impl Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::ClientCpu { share } => write!(
                f,
                "a generator thread was busy for {} of the time: the generator set the pace, not the server",
                percent(share)
            ),
            // Nothing was answered as it should be.
            Self::ScheduleLag { quantile, lag_ms, latency_ms: 0.0 } => {
                write!(f, "arrivals started {} ms late ({})", fixed(lag_ms, 3), quantile_name(quantile))
            }
            Self::ScheduleLag { quantile, lag_ms, latency_ms } => write!(
                f,
                "arrivals started {} ms late, out of a latency of {} ms ({})",
                fixed(lag_ms, 3),
                fixed(latency_ms, 3),
                quantile_name(quantile)
            ),
            Self::ReceiveLag { quantile, lag_ms, latency_ms } => write!(
                f,
                "replies waited {} ms in this machine before they were read, out of a latency of {} ms ({})",
                fixed(lag_ms, 3),
                fixed(latency_ms, 3),
                quantile_name(quantile)
            ),
            Self::ClockSet { times } => write!(
                f,
                "the wall clock was set during the run (count: {times}): replies received at that moment have no receive lag"
            ),
            Self::Unstamped { replies, share } => write!(
                f,
                "{} ({}) came without a kernel time stamp; the wait until reading is part of the times",
                counted(replies, "reply"),
                percent(share)
            ),
            Self::Rate { asked, achieved } => write!(
                f,
                "{} arrivals per second were due, but only {} were started",
                fixed(asked, 1),
                fixed(achieved, 1)
            ),
            Self::ArrivalProcess { off_ms, mean_ms } => write!(
                f,
                "intervals between arrivals deviated by {} ms on average, from a mean of {} ms: arrivals came in bursts",
                fixed(off_ms, 3),
                fixed(mean_ms, 3)
            ),
            Self::ArrivalsSkipped { arrivals, share } => write!(
                f,
                "{} ({}) {} skipped because --max-connections were open",
                counted(arrivals, "arrival"),
                percent(share),
                were(arrivals)
            ),
            Self::ArrivalsHeld { arrivals } => write!(
                f,
                "{} waited at the limit on open connections; the wait is part of the latency",
                counted(arrivals, "arrival")
            ),
            Self::ClientLimit { place, places, longest_ms, rate, kept_ms, needed, .. } => {
                LimitSentence { place, places, longest_ms, rate, kept_ms, needed }.fmt(f)
            }
            Self::OpenedForCalls { calls, all, longest_ms } => write!(
                f,
                "{} of {} calls waited for a connection to open, up to {}; that is part of their latency",
                count(calls),
                count(all),
                time(longest_ms)
            ),
            Self::FeedUsedUp { ref feed } => {
                write!(f, "no visit started after the feed `{feed}` had no row left")
            }
            Self::Descriptors { connections } => {
                let connections = counted(connections, "connection");
                write!(f, "{connections} failed because no file descriptor was left (ulimit -n)")
            }
            Self::Ports { connections } => write!(
                f,
                "{} failed because no local port was left; more local addresses help (--myaddr)",
                counted(connections, "connection")
            ),
            Self::DatagramsLost { received, own, sent } => {
                // A server on this machine may have lost what was not for us.
                let elsewhere = if received > own { "on the way" } else { "at the server or on the way" };
                write!(
                    f,
                    "{} datagrams or more were lost in this machine's own buffers, not {elsewhere}: {received} that \
                     arrived ({own} of them for the generator), {sent} on their way out; larger buffers help \
                     (net.core.rmem_max and --recv-buffer)",
                    received + sent
                )
            }
            Self::TimeStolen { share } => {
                write!(f, "{} of the machine's time went to other virtual machines", percent(share))
            }
            Self::KeptWaiting { share, preempted } => write!(
                f,
                "a generator thread waited for a processor {} of the time and was preempted {}",
                percent(share),
                often(preempted)
            ),
            Self::Paused { share, longest_ms, times } => write!(
                f,
                "the generator was paused for {} of the time, {}, for up to {} ms: replies that came meanwhile were read late",
                percent(share),
                often(times),
                fixed(longest_ms, 1)
            ),
            Self::FewSamples { samples, quantile } => {
                let are = if samples == 1 { "sample is" } else { "samples are" };
                write!(f, "{samples} {are} too few for {} and above", quantile_name(quantile))
            }
            Self::Unfinished { calls, share, longest_s } => write!(
                f,
                "{} ({}) {} still unanswered when the run ended, the oldest after {} s: percentiles of \
                 answered calls leave them out; --drain lets them finish",
                counted(calls, "call"),
                percent(share),
                were(calls),
                fixed(longest_s, 3)
            ),
            Self::CallsNotMade { calls, share, connections } => write!(
                f,
                "{} ({}) {} never made: the server closed {} early",
                counted(calls, "planned call"),
                percent(share),
                were(calls),
                counted(connections, "connection")
            ),
            Self::InFlight { measured, by_law } => write!(
                f,
                "{} replies were due at a time, on average, but their rate times their service time is {}: times or \
                 counts of this result are wrong",
                in_flight::number(measured),
                in_flight::number(by_law)
            ),
            Self::LogIncomplete { calls } => {
                let are = if calls == 1 { "is" } else { "are" };
                write!(f, "{} {are} missing from the call log", counted(calls, "call"))
            }
            Self::NotRecorded => f.write_str("--record=classic omits the figures that a verdict needs"),
            Self::NotResumed { asked, share } => write!(
                f,
                "{} of the handshakes were to resume a session, but {} did: the server gave no tickets, or took none",
                percent(asked),
                percent(share)
            ),
            Self::ServerStall { length_s, from_s } => write!(
                f,
                "the server stalled for {} s, {} s into the run: replies were due, but nothing came",
                fixed(length_s, 2),
                fixed(from_s, 2)
            ),
            Self::SteadyFrom { seconds } => write!(
                f,
                "the run was steady after {} s; --warmup would exclude the time before that from the figures",
                fixed(seconds, 0)
            ),
            Self::NeverSteady => f.write_str("latency never became steady during the measured phase"),
            Self::AtRank { rank, ref finding } => write!(f, "rank {rank}: {finding}"),
            Self::RanksMissing { ranks, size } => write!(
                f,
                "the results of {ranks} of {size} ranks are missing: {} of the load is not in the figures",
                percent(ratio(f64::from(ranks), f64::from(size)))
            ),
        }
    }
}

/// A number of times in words.
fn often(times: u64) -> String {
    match times {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        times => format!("{} times", count(times)),
    }
}

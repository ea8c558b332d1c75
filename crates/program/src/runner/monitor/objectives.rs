//! `--abort-on-slo`: ends a run as soon as it has missed an objective.
//!
//! At the end of each second of the measured phase, objectives are held against all intervals of it so far. Intervals
//! know less than the summary at the end: latencies to two digits, no other times, and statuses as 400 and above. Where
//! that leaves a choice, an objective counts as not missed, and the run goes on.

use std::time::Duration;

use httperf_command_line::planning::can_watch;
use httperf_engine::StopRequest;
use httperf_plan::Plan;
use httperf_plan::objective::{Figure, Metric, Objective, Share};
use httperf_report::ErrorFigures;
use httperf_stats::{Classes, Interval, Merge as _, Phase, Series, rank, samples_needed};

use super::{Consumer, WatchOutcome};

/// At how many ends of seconds in a row an objective must have been missed.
const IN_A_ROW: u32 = 3;

/// Fewer calls end no run, unless nothing that follows can make good what they show.
const CALLS_MIN: u64 = 100;

/// By how much of itself a latency of an interval may be less than the value of its class.
const CLASS_WIDTH: f64 = 0.01;

/// Asks for the end of the run when an objective has been missed for some seconds.
pub(super) struct Objectives {
    /// Each that can be told, and at how many ends of seconds it has been missed since it last was not.
    watched: Vec<(Objective, u32)>,
    stop: StopRequest,
    seen: SeenIntervals,
    is_missed: bool,
}

impl Objectives {
    pub(super) fn new(plan: &Plan, stop: StopRequest) -> Self {
        let all = plan.objectives.all.iter().copied();
        let watched = all.filter(|&objective| can_watch(objective, plan)).map(|objective| (objective, 0));
        Self { watched: watched.collect(), stop, seen: SeenIntervals::default(), is_missed: false }
    }
}

impl Consumer for Objectives {
    fn interval(&mut self, interval: &Interval) {
        if interval.phase != Phase::Measured || self.is_missed {
            return;
        }
        self.seen.add(interval);
        if interval.length < SECOND {
            // What is left of the phase is no second.
            return;
        }
        for (objective, misses) in &mut self.watched {
            *misses = if self.seen.misses(*objective) { *misses + 1 } else { 0 };
            self.is_missed |= *misses == IN_A_ROW;
        }
        if self.is_missed {
            self.stop.ask();
        }
    }

    fn finish(&mut self, _: Option<&Series>, outcome: &mut WatchOutcome) {
        outcome.has_missed = self.is_missed;
    }
}

const SECOND: Duration = Duration::from_secs(1);

/// The figures so far.
#[derive(Debug, Default)]
struct SeenIntervals {
    /// Latencies of the calls with a usable reply.
    latency: Classes,
    replies: u64,
    http_errors: u64,
    errors: ErrorFigures,
    /// Seconds that are over, the replies in them, and those in the last of them.
    seconds: u64,
    replies_in_seconds: u64,
    replies_in_last: u64,
}

impl SeenIntervals {
    fn add(&mut self, interval: &Interval) {
        self.latency.merge(&interval.latency);
        self.replies += interval.replies;
        self.http_errors += interval.http_errors;
        self.errors.add(interval);
        if interval.length >= SECOND {
            self.seconds += 1;
            self.replies_in_seconds += interval.replies;
            self.replies_in_last = interval.replies;
        }
    }

    /// Returns whether an objective is missed so far, by enough calls to say so.
    fn misses(&self, objective: Objective) -> bool {
        match objective.metric() {
            Metric::Time { figure, .. } => self.misses_time(objective, figure),
            Metric::Share(share) => self.misses_share(objective, share),
            Metric::Replies => {
                // A slow start is not held against a rate that is kept by now.
                let mean = self.replies_in_seconds as f64 / self.seconds.max(1) as f64;
                !objective.is_met_by(mean) && !objective.is_met_by(self.replies_in_last as f64)
            }
        }
    }

    fn misses_time(&self, objective: Objective, figure: Figure) -> bool {
        let is_upper = objective.relation().is_upper();
        let (count, endless) = (self.latency.total(), self.errors.failed + self.errors.unexpected);
        let all = count + endless;
        let needed = match figure {
            Figure::Quantile(share) => samples_needed(share).max(CALLS_MIN),
            Figure::Mean => CALLS_MIN,
            // Nothing that follows makes the greatest less, or the least greater.
            Figure::Max if is_upper => 1,
            Figure::Min if !is_upper => 1,
            Figure::Max | Figure::Min => CALLS_MIN,
        };
        if all < needed {
            return false;
        }
        let at_rank = |rank: u64| self.latency.quantile((rank as f64 - 0.5) / count as f64);
        let value = match figure {
            Figure::Quantile(share) => {
                let rank = rank(share, all);
                at_rank(rank).filter(|_| rank <= count)
            }
            Figure::Max => at_rank(count).filter(|_| endless == 0),
            Figure::Min => at_rank(1),
            Figure::Mean if count == 0 => None,
            Figure::Mean => Some(Duration::from_secs_f64(self.latency.sum_us() as f64 / 1e6 / count as f64)),
        };
        match value {
            None => is_upper,
            // A value is the upper end of its class.
            Some(value) if is_upper => !objective.is_met_by(value.as_secs_f64() * (1.0 - CLASS_WIDTH)),
            Some(value) => !objective.is_met_by(value.as_secs_f64()),
        }
    }

    fn misses_share(&self, objective: Objective, share: Share) -> bool {
        let (part, whole) = match share {
            Share::Errors => (self.errors.errors(), self.errors.whole()),
            Share::Failed => (self.errors.failed, self.errors.whole()),
            Share::Unexpected => (self.errors.unexpected, self.errors.whole()),
            // Intervals count none of these; such an objective is not watched.
            Share::Checks | Share::Abandoned | Share::Good => return false,
            // At most.
            Share::Status(_) => (self.replies - self.http_errors, self.replies),
        };
        let bound = objective.bound();
        let needed = match objective.relation().is_upper() {
            // Nothing that follows makes good what must not happen at all.
            true if bound == 0.0 => 1,
            true => samples_needed(1.0 - bound).max(CALLS_MIN),
            false => samples_needed(bound).max(CALLS_MIN),
        };
        whole >= needed && !objective.is_met_by(part as f64 / whole as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::super::standing::examples;
    use super::*;

    /// A second with this many calls that took 10 ms, and this many that failed.
    fn second(answered: u64, failed: u64) -> Interval {
        Interval {
            length: SECOND,
            replies: answered,
            failed_calls: failed,
            latency: Classes::from_ascending([(10_000, answered)]),
            ..Interval::default()
        }
    }

    fn watch(objectives: &str) -> Objectives {
        let plan = examples::plan(&["--rate=100", "--expect-status=200", "--slo", objectives]);
        Objectives::new(&plan, StopRequest::new().expect("a descriptor is free"))
    }

    /// After how many of these intervals the run is ended for an objective.
    fn ended_after(objectives: &str, intervals: impl IntoIterator<Item = Interval>) -> Option<usize> {
        let mut watch = watch(objectives);
        let ended = intervals.into_iter().position(|interval| {
            watch.interval(&interval);
            watch.stop.is_asked()
        });
        let mut outcome = WatchOutcome::default();
        watch.finish(None, &mut outcome);
        assert_eq!(outcome.has_missed, ended.is_some());
        ended.map(|index| index + 1)
    }

    fn all_alike(interval: &Interval) -> impl Iterator<Item = Interval> {
        std::iter::repeat_n(interval.clone(), 20)
    }

    #[track_caller]
    fn check(interval: &Interval, cases: &[(&str, Option<usize>)]) {
        for &(objective, expected) in cases {
            assert_eq!(ended_after(objective, all_alike(interval)), expected, "{objective}");
        }
    }

    #[test]
    fn a_run_ends_when_an_objective_was_missed_three_times_in_a_row() {
        check(
            &second(200, 0),
            &[
                ("p99<5ms", Some(3)),
                ("p99<20ms", None),
                ("p99>20ms", Some(3)),
                ("mean<9ms", Some(3)),
                ("max<9ms", Some(3)),
                ("min>=11ms", Some(3)),
                ("replies>=300", Some(3)),
                ("replies>=200", None),
                ("replies<200", Some(3)),
                ("p99<20ms,p50<5ms", Some(3)),
            ],
        );
    }

    #[test]
    fn a_second_that_makes_it_good_begins_the_count_anew() {
        let slow = Interval { latency: Classes::from_ascending([(50_000, 200)]), ..second(200, 0) };
        let (good, bad) = (second(4_000, 0), slow);
        let seconds = [&bad, &bad, &good, &bad, &bad, &bad, &bad];
        assert_eq!(ended_after("p90<20ms", seconds.into_iter().cloned()), Some(6));
    }

    #[test]
    fn calls_without_a_usable_reply_count_as_endless() {
        check(
            &second(95, 10),
            &[
                ("p90<20ms", None),
                ("p91<20ms", Some(3)),
                ("max<60s", Some(3)),
                ("failed<9%", Some(3)),
                ("failed<10%", None),
                ("errors<9%", Some(3)),
                ("unexpected<=0", None),
            ],
        );
        let wrong = Interval { unexpected: 10, http_errors: 8, error_replies: 10, ..second(95, 0) };
        let unexpected = Interval { replies: 105, ..wrong };
        check(
            &unexpected,
            &[
                ("p91<20ms", Some(3)),
                ("errors<9%", Some(3)),
                // Eight of the ten have such a status as well.
                ("errors<10%", None),
                ("unexpected<=0", Some(3)),
                ("2xx>=93%", Some(3)),
                ("2xx>=92%", None),
            ],
        );
    }

    #[test]
    fn a_few_calls_end_no_run() {
        // The hundredth call comes in the tenth second, the thousandth never.
        check(
            &second(9, 1),
            &[
                ("p50<5ms", Some(12)),
                ("p99.9<5ms", None),
                ("errors<5%", Some(12)),
                ("errors<0.1%", None),
                // What cannot be made good needs no more.
                ("failed<=0", Some(3)),
                ("max<5ms", Some(3)),
            ],
        );
    }

    #[test]
    fn a_rate_that_is_kept_after_a_slow_start_is_not_missed() {
        let seconds = [100, 180, 200, 200, 200, 200].map(|replies| second(replies, 0));
        assert_eq!(ended_after("replies>=195", seconds), None);
        let dying = [200, 200, 200, 0, 0, 0, 0].map(|replies| second(replies, 0));
        assert_eq!(ended_after("replies>=195", dying), Some(6));
    }

    #[test]
    fn what_classes_leave_open_ends_no_run() {
        // Recorded as 10 ms is what took between 9.92 and 10 ms.
        check(&second(200, 0), &[("p99<9.95ms", None), ("p99<9.85ms", Some(3))]);
    }

    #[test]
    fn only_seconds_of_the_measured_phase_count() {
        for phase in [Phase::WarmUp, Phase::Drain] {
            assert_eq!(ended_after("p99<5ms", all_alike(&Interval { phase, ..second(200, 0) })), None);
        }
        let half = Interval { length: SECOND / 2, ..second(200, 0) };
        assert_eq!(ended_after("p99<5ms", all_alike(&half)), None);
    }

    #[test]
    fn what_intervals_do_not_tell_is_not_watched() {
        let watch =
            watch("service.p99<1ms,connect.p99<1ms,response.max<1ms,transfer.mean<1ms,lag.p99<1ms,5xx<1%");
        assert!(watch.watched.is_empty());
    }
}

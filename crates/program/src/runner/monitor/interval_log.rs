//! `--interval-log`: a line of JSON for each interval, written as it ends. `docs/reference/interval-log.md` describes
//! it.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use httperf_command_line::terminal::messages::Program;
use httperf_report::ToldSeconds;
use httperf_stats::{Classes, Errors, Interval, Phase, Series, StreamCounts, VisitCounts};
use serde::{Deserialize, Serialize};

use crate::runner::results::file;

use super::coverage::Coverage;
use super::{Consumer, WatchOutcome};

/// The log of a run, complete up to the last interval that has ended: nothing is held back.
pub(super) struct IntervalLog {
    program: Program,
    /// The rank of a fleet whose part this is; `None` for a whole run.
    rank: Option<u32>,
    name: String,
    file: File,
    /// Bytes of complete lines.
    length: u64,
    written: Coverage,
    has_failed: bool,
}

impl IntervalLog {
    /// An empty log.
    pub(super) fn create(path: &Path, rank: Option<u32>, program: Program) -> anyhow::Result<Self> {
        let name = path.display().to_string();
        let file = file::create(path.as_os_str())
            .with_context(|| format!("--interval-log: cannot write `{name}`"))?;
        Ok(Self { program, rank, name, file, length: 0, written: Coverage::default(), has_failed: false })
    }

    /// Writes a line. If that fails it is said once, and nothing of the line remains.
    fn write(&mut self, interval: &Interval) -> bool {
        let mut line = serde_json::to_vec(&Line::of(interval, self.rank))
            .expect("a line is plain data with names for keys");
        line.push(b'\n');
        let Err(error) = self.file.write_all(&line) else {
            self.length += line.len() as u64;
            return true;
        };
        // Half a line would spoil the next one. What has no length to be cut (a pipe, a device) is beyond help.
        let _cut = self.file.set_len(self.length).and_then(|()| self.file.seek(SeekFrom::Start(self.length)));
        if !self.has_failed {
            self.has_failed = true;
            self.program.say(format_args!("--interval-log: cannot write `{}`: {error}", self.name));
        }
        false
    }
}

impl Consumer for IntervalLog {
    fn interval(&mut self, interval: &Interval) {
        let is_written = self.write(interval);
        self.written.note(interval, is_written);
    }

    /// Adds what is missing: the last interval, which did not end by itself, and whatever could not be written in time.
    fn finish(&mut self, series: Option<&Series>, outcome: &mut WatchOutcome) {
        let intervals = series.map_or(&[][..], Series::intervals);
        for interval in intervals {
            if self.written.lacks(interval) {
                self.write(interval);
            }
        }
        outcome.has_failed = self.has_failed;
    }
}

/// A line of the log. Lines of several generators can be added: counts and classes as they are, percentiles from the
/// classes.
#[derive(Serialize)]
struct Line<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    rank: Option<u32>,
    from_s: f64,
    length_s: f64,
    phase: Phase,
    arrivals: u64,
    offered: u64,
    sent: u64,
    replies: u64,
    http_errors: u64,
    unexpected: u64,
    failed_calls: u64,
    errors: &'a Errors,
    open: u64,
    lag_max_us: u64,
    latency_us: Percentiles,
    latency_classes_us: &'a Classes,
    #[serde(skip_serializing_if = "Option::is_none")]
    visits: Option<VisitCounts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    streams: Option<Streams<'a>>,
}

#[derive(Serialize)]
struct Streams<'a> {
    open: u64,
    events: u64,
    tokens: u64,
    sent: u64,
    first_us: Percentiles,
    first_classes_us: &'a Classes,
}

impl<'a> From<&'a StreamCounts> for Streams<'a> {
    fn from(counts: &'a StreamCounts) -> Self {
        let StreamCounts { open, events, tokens, sent, ref first } = *counts;
        Self { open, events, tokens, sent, first_us: Percentiles::from(first), first_classes_us: first }
    }
}

/// In microseconds; `None` where there are too few for it.
#[derive(Serialize)]
struct Percentiles {
    p50: Option<u64>,
    p90: Option<u64>,
    p99: Option<u64>,
    p999: Option<u64>,
    max: Option<u64>,
    count: u64,
}

impl<'a> Line<'a> {
    fn of(interval: &'a Interval, rank: Option<u32>) -> Self {
        Self {
            rank,
            from_s: interval.from.as_secs_f64(),
            length_s: interval.length.as_secs_f64(),
            phase: interval.phase,
            arrivals: interval.arrivals,
            offered: interval.offered,
            sent: interval.sent,
            replies: interval.replies,
            http_errors: interval.http_errors,
            unexpected: interval.unexpected,
            failed_calls: interval.failed_calls,
            errors: &interval.errors,
            open: interval.open,
            lag_max_us: whole_micros(interval.lag_max),
            latency_us: Percentiles::from(&interval.latency),
            latency_classes_us: &interval.latency,
            visits: interval.visits,
            streams: interval.streams.as_deref().map(Streams::from),
        }
    }
}

impl From<&Classes> for Percentiles {
    fn from(classes: &Classes) -> Self {
        let quantile = |share| classes.supported_quantile(share).map(whole_micros);
        Self {
            p50: quantile(0.5),
            p90: quantile(0.9),
            p99: quantile(0.99),
            p999: quantile(0.999),
            max: quantile(1.0),
            count: classes.total(),
        }
    }
}

fn whole_micros(duration: Duration) -> u64 {
    u64::try_from((duration.as_nanos() + 500) / 1000).unwrap_or(u64::MAX)
}

/// What the log of one rank of a fleet says of its part: the rank, and the sums of its lines. `None` if the text is no such
/// log. A last line that was cut short is passed over.
pub(crate) fn read_of_rank(text: &[u8]) -> Option<(u32, ToldSeconds)> {
    #[derive(Deserialize)]
    struct LineOfRank {
        rank: u32,
        from_s: f64,
        length_s: f64,
        offered: u64,
        replies: u64,
        failed_calls: u64,
    }
    let mut told: Option<(u32, ToldSeconds)> = None;
    for line in text.split(|&byte| byte == b'\n') {
        let Ok(line) = serde_json::from_slice::<LineOfRank>(line) else { continue };
        let end = Duration::try_from_secs_f64(line.from_s + line.length_s).ok()?;
        let (rank, told) = told.get_or_insert((line.rank, ToldSeconds::default()));
        if *rank != line.rank {
            return None;
        }
        told.add(end, line.offered, line.replies, line.failed_calls);
    }
    told
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::standing::examples::{second, second_of_streams, second_of_visits};
    use super::*;

    fn program() -> Program {
        Program::started_as(&"httperf".into())
    }

    /// The whole series of a run of these intervals.
    fn series(intervals: &[Interval]) -> Series {
        let text = serde_json::json!({ "width_ns": 1_000_000_000, "intervals": intervals }).to_string();
        serde_json::from_str(&text).unwrap()
    }

    fn seconds_in(path: &Path) -> Vec<f64> {
        let text = fs::read_to_string(path).unwrap();
        text.lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["from_s"].as_f64().unwrap())
            .collect()
    }

    #[test]
    fn a_line_has_all_that_happened_in_the_interval() {
        let line = serde_json::to_string(&Line::of(&second(9, Phase::Measured), None)).unwrap();
        assert_eq!(
            line,
            r#"{"from_s":9.0,"length_s":1.0,"phase":"measured","arrivals":1000,"offered":1000,"sent":1000,"#
                .to_owned()
                + r#""replies":999,"http_errors":3,"unexpected":0,"failed_calls":2,"errors":{"client-timo":1,"connreset":1},"#
                + r#""open":12,"lag_max_us":129,"#
                + r#""latency_us":{"p50":310,"p90":310,"p99":920,"p999":null,"max":1590,"count":999},"#
                + r#""latency_classes_us":[[310,979],[920,15],[1590,5]]}"#
        );
    }

    #[test]
    fn the_log_of_a_rank_can_be_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut log = IntervalLog::create(&path, Some(3), program()).unwrap();
        let seconds: Vec<Interval> = (0..3).map(|number| second(number, Phase::Measured)).collect();
        seconds.iter().for_each(|second| log.interval(second));
        let replies = seconds.iter().map(|second| second.replies).sum();
        let mut text = fs::read(&path).unwrap();
        let told = ToldSeconds { until_ns: 3_000_000_000, offered: 3000, replies, failed_calls: 0 };
        assert_eq!(read_of_rank(&text), Some((3, told)));
        text.truncate(text.len() - 9);
        assert_eq!(read_of_rank(&text).map(|(_, told)| told.offered), Some(2000), "a line was cut short");
        let mut whole = IntervalLog::create(&path, None, program()).unwrap();
        whole.interval(&second(0, Phase::Measured));
        assert_eq!(read_of_rank(&fs::read(&path).unwrap()), None, "that of a whole run has no rank");
    }

    #[test]
    fn a_line_of_a_run_of_scenarios_has_visits() {
        let line = serde_json::to_string(&Line::of(&second_of_visits(9), None)).unwrap();
        let visits = r#","visits":{"open":39,"completed":18,"abandoned":1,"checks_failed":2}}"#;
        assert!(line.ends_with(visits), "{line}");
    }

    #[test]
    fn a_line_of_a_run_of_streams_has_their_events() {
        let line = serde_json::to_string(&Line::of(&second_of_streams(9), None)).unwrap();
        let streams = r#","streams":{"open":19,"events":900,"tokens":800,"sent":0,"first_us":{"p50":203000,"p90":203000,"p99":null,"p999":null,"max":310000,"count":42},"first_classes_us":[[203000,40],[310000,2]]}}"#;
        assert!(line.ends_with(streams), "{line}");
    }

    #[test]
    fn each_line_is_there_when_its_interval_has_ended() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut log = IntervalLog::create(&path, None, program()).unwrap();
        log.interval(&second(0, Phase::Measured));
        assert_eq!(seconds_in(&path), [0.0]);
        log.interval(&second(1, Phase::Measured));
        assert_eq!(seconds_in(&path), [0.0, 1.0]);
    }

    #[test]
    fn what_was_not_told_in_time_follows_at_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut log = IntervalLog::create(&path, None, program()).unwrap();
        let all: Vec<Interval> = (0..7).map(|number| second(number, Phase::Measured)).collect();
        for told in [1, 2, 5] {
            log.interval(&all[told]);
        }
        let mut outcome = WatchOutcome::default();
        log.finish(Some(&series(&all)), &mut outcome);
        assert_eq!(seconds_in(&path), [1.0, 2.0, 5.0, 0.0, 3.0, 4.0, 6.0]);
        assert!(!outcome.has_failed);
    }

    #[test]
    fn a_log_that_cannot_be_written_is_a_failure_but_no_end() {
        let mut log = IntervalLog::create(Path::new("/dev/full"), None, program()).unwrap();
        let all: Vec<Interval> = (0..3).map(|number| second(number, Phase::Measured)).collect();
        all.iter().for_each(|interval| log.interval(interval));
        let mut outcome = WatchOutcome::default();
        log.finish(Some(&series(&all)), &mut outcome);
        assert!(outcome.has_failed);
    }
}

//! InfluxDB's line protocol: a line for each second.
//!
//! <https://docs.influxdata.com/influxdb/v2/reference/syntax/line-protocol/>

use std::fmt::Write as _;
use std::time::Duration;

use httperf_stats::{Classes, Failure, Interval};

use crate::families::{COUNTS, Figure, RANK_COUNTS, STREAM_COUNTS};
use crate::meter::phase_name;
use crate::{About, Now, PhaseTotals, RankTotals, VERDICTS};

const WRITES: &str = "a String takes everything";

/// The line of an interval that ended at this time since 1970. Counts are those of the interval; quantiles of too few times
/// are left out.
#[must_use]
pub fn line(about: &About, interval: &Interval, now: Now, at: Duration) -> String {
    let mut line = "httperf".to_owned();
    tag(&mut line, "host", &about.host);
    tag(&mut line, "phase", phase_name(interval.phase));
    tag(&mut line, "rank", &about.rank.map_or_else(String::new, |rank| rank.to_string()));
    tag(&mut line, "run", &about.run);
    let mut fields = Vec::new();
    let mut totals = PhaseTotals::default();
    totals.add(interval);
    let of_streams = if interval.streams.is_some() { &STREAM_COUNTS[..] } else { &[] };
    for Figure { name, of, .. } in COUNTS.iter().chain(of_streams) {
        fields.push(format!("{}={}i", name.replace('.', "_"), of(&totals)));
    }
    fields.push(format!("connections_open={}i", interval.open));
    for failure in Failure::ALL {
        let count = interval.errors.count(failure);
        if count > 0 {
            fields.push(format!("errors_{}={count}i", failure.to_string().replace('-', "_")));
        }
    }
    fields.push(format!("length_s={}", interval.length.as_secs_f64()));
    fields.push(format!("lag_max_s={}", interval.lag_max.as_secs_f64()));
    fields.extend(now.asked_per_s.map(|asked| format!("arrivals_asked_per_s={asked}")));
    fields.extend(now.verdict.map(|verdict| format!("verdict={}i", verdict.min(VERDICTS.len() - 1))));
    if let Some(visits) = interval.visits {
        fields.push(format!("visits_under_way={}i", visits.open));
        fields.push(format!("visits_completed={}i", visits.completed));
        fields.push(format!("visits_abandoned={}i", visits.abandoned));
    }
    if let Some(streams) = &interval.streams {
        fields.push(format!("streams_open={}i", streams.open));
        quantiles(&mut fields, "stream_first", &streams.first);
    }
    quantiles(&mut fields, "latency", &interval.latency);
    if let Some(clocks) = &interval.clocks {
        quantiles(&mut fields, "service", &clocks.service);
        quantiles(&mut fields, "lag", &clocks.lag);
        fields.push(format!("generator_cpu_s={}", clocks.cpu.as_secs_f64()));
    }
    writeln!(line, " {} {}", fields.join(","), at.as_nanos()).expect(WRITES);
    line
}

/// The line of a rank of a fleet: what it has told of from `before` to `after`, at this time since 1970.
#[must_use]
pub fn rank_line(
    about: &About,
    rank: usize,
    before: &RankTotals,
    after: &RankTotals,
    at: Duration,
) -> String {
    let mut line = "httperf_rank".to_owned();
    tag(&mut line, "host", &about.host);
    tag(&mut line, "rank", &rank.to_string());
    tag(&mut line, "run", &about.run);
    let counts = RANK_COUNTS.map(|Figure { name, of, .. }| {
        let name = name.trim_start_matches("rank.").replace('.', "_");
        format!("{name}={}i", of(after) - of(before))
    });
    writeln!(
        line,
        " {},elapsed_s={},generator_cpu_s={},lag_max_s={} {}",
        counts.join(","),
        after.elapsed.as_secs_f64(),
        after.cpu.saturating_sub(before.cpu).as_secs_f64(),
        after.lag_max.as_secs_f64(),
        at.as_nanos()
    )
    .expect(WRITES);
    line
}

/// Adds a tag, unless it has no value.
fn tag(line: &mut String, name: &str, value: &str) {
    if !value.is_empty() {
        write!(line, ",{name}={}", escaped(value)).expect(WRITES);
    }
}

fn quantiles(fields: &mut Vec<String>, name: &str, times: &Classes) {
    for (title, share) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p999", 0.999)] {
        if let Some(time) = times.supported_quantile(share) {
            fields.push(format!("{name}_{title}_s={}", time.as_secs_f64()));
        }
    }
}

/// The value of a tag.
fn escaped(value: &str) -> String {
    let mut out = String::new();
    for character in value.chars().filter(|character| !character.is_control()) {
        if matches!(character, ',' | '=' | ' ' | '\\') {
            out.push('\\');
        }
        out.push(character);
    }
    out
}

#[cfg(test)]
mod tests {
    use httperf_stats::Phase;

    use super::*;
    use crate::meter::tests::{meter, second};

    #[test]
    fn a_second_is_a_line() {
        let now = Now { asked_per_s: Some(12.5), verdict: Some(1) };
        let line =
            line(&meter().about, &second(4, Phase::Measured), now, Duration::from_millis(1_700_000_000_500));
        assert_eq!(
            line,
            "httperf,host=n\\ 1,phase=measured,run=r1 arrivals=10i,calls_offered=10i,requests_sent=9i,replies=8i,\
             replies_http_error=2i,replies_unexpected=1i,calls_failed=1i,connections_open=3i,errors_connrefused=1i,length_s=1,\
             lag_max_s=0.00007,arrivals_asked_per_s=12.5,verdict=1i,latency_p50_s=0.001,service_p50_s=0.0009,\
             lag_p50_s=0.00003,lag_p90_s=0.00003,generator_cpu_s=0.02 1700000000500000000\n"
        );
    }

    #[test]
    fn a_second_of_a_rank_is_a_line_too() {
        let after = meter().ranks[3];
        let before = RankTotals { replies: 6, cpu: Duration::from_millis(10), ..RankTotals::default() };
        assert_eq!(
            rank_line(&meter().about, 3, &before, &after, Duration::from_secs(7)),
            "httperf_rank,host=n\\ 1,rank=3,run=r1 arrivals=20i,calls_offered=20i,replies=10i,calls_failed=2i,\
             elapsed_s=3,generator_cpu_s=0.03,lag_max_s=0.00007 7000000000\n"
        );
    }

    #[test]
    fn what_separates_parts_of_a_line_is_escaped_in_tags() {
        assert_eq!(escaped("a,b=c d\\e\n"), "a\\,b\\=c\\ d\\\\e");
    }
}

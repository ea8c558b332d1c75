//! Parsers for the output of each program.

use crate::exchanges::Percentiles;

/// Figures reported by a program.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Reported {
    pub(super) replies: u64,
    pub(super) errors: u64,
    pub(super) rate: f64,
    pub(super) latency: Percentiles,
    pub(super) service: Percentiles,
}

pub(super) fn reported_by_httperf(output: &str) -> Option<Reported> {
    let total = output.lines().find(|line| line.starts_with("Total: connections "))?;
    let errors = output.lines().find(|line| line.starts_with("Errors: total "))?;
    let (replies, duration_s): (u64, f64) =
        (number_after(total, " replies ")?, number_after(total, " test-duration ")?);
    Some(Reported {
        replies,
        errors: number_after(errors, " total ")?,
        rate: replies as f64 / duration_s,
        ..Reported::default()
    })
}

pub(super) fn reported_by_bare(output: &str) -> Option<Reported> {
    let line = output.lines().find(|line| line.starts_with("bare: connections "))?;
    let (replies, duration_s): (u64, f64) =
        (number_after(line, " replies ")?, number_after(line, " duration ")?);
    Some(Reported { replies, rate: replies as f64 / duration_s, ..Reported::default() })
}

/// Percentiles in httperf's JSON: from the due instants, and from sending.
pub(super) fn percentiles_of_httperf(document: &str) -> Option<(Percentiles, Percentiles)> {
    let document: serde_json::Value = serde_json::from_str(document).ok()?;
    let percentiles = |name: &str| {
        let times = &document["figures"][name];
        let us = |figure: &str| times[figure].as_f64().map(|ms| ms * 1e3);
        times.is_object().then(|| Percentiles {
            p50_us: us("p50"),
            p90_us: us("p90"),
            p99_us: us("p99"),
            max_us: us("max"),
        })
    };
    Some((percentiles("latency_ms")?, percentiles("service_ms")?))
}

/// wrk and wrk2 print percentiles with `--latency`.
pub(super) fn reported_by_wrk(output: &str) -> Option<Reported> {
    let line = |start: &str| output.lines().map(str::trim).find(|line| line.starts_with(start));
    let socket_errors: u64 = line("Socket errors:")
        .map_or(0, |line| line.split([' ', ',']).filter_map(|word| word.parse::<u64>().ok()).sum());
    let refused: u64 =
        line("Non-2xx or 3xx responses:").and_then(|line| number_after(line, ": ")).unwrap_or(0);
    let word_us = |line: &str, index: usize| microseconds(line.split_whitespace().nth(index)?);
    // wrk2 prints more digits.
    let percentile = |short: &str, long: &str| word_us(line(long).or(line(short))?, 1);
    let is_asked = percentile("50%", "50.000%").is_some();
    Some(Reported {
        replies: number_before(output, " requests in ")?,
        errors: socket_errors + refused,
        rate: number_after(line("Requests/sec:")?, ":")?,
        latency: Percentiles {
            p50_us: percentile("50%", "50.000%"),
            p90_us: percentile("90%", "90.000%"),
            p99_us: percentile("99%", "99.000%"),
            // Mean, standard deviation, maximum.
            max_us: line("Latency  ").filter(|_| is_asked).and_then(|line| word_us(line, 3)),
        },
        service: Percentiles::default(),
    })
}

pub(super) fn reported_by_h2load(output: &str) -> Option<Reported> {
    let requests = output.lines().find(|line| line.starts_with("requests: "))?;
    Some(Reported {
        replies: number_before(requests, " succeeded, ")?,
        errors: number_before::<u64>(requests, " failed, ")? + number_before::<u64>(requests, " errored, ")?,
        rate: number_before(output, " req/s, ")?,
        ..Reported::default()
    })
}

/// Percentiles of the calls that h2load lists with `--log-file`, since its report has none. Each line has the
/// start of a call, its status, and its duration in microseconds.
pub(super) fn percentiles_of_h2load(log: &str) -> Option<Percentiles> {
    let times: Option<Vec<f64>> =
        log.lines().map(|line| line.split_whitespace().nth(2)?.parse().ok()).collect();
    Some(Percentiles::of(times?))
}

pub(super) fn reported_by_ab(output: &str) -> Option<Reported> {
    let value = |name: &str| output.lines().find(|line| line.starts_with(name));
    let replies: u64 = number_after(value("Complete requests:")?, ":")?;
    let duration_s: f64 = number_after(value("Time taken for tests:")?, ":")?;
    let us = |share: &str| {
        let line = output.lines().map(str::trim).find(|line| line.starts_with(share))?;
        number_after::<f64>(line, "%").map(|ms| ms * 1e3)
    };
    Some(Reported {
        replies,
        errors: number_after(value("Failed requests:")?, ":")?,
        rate: replies as f64 / duration_s,
        latency: Percentiles { p50_us: us("50%"), p90_us: us("90%"), p99_us: us("99%"), max_us: us("100%") },
        service: Percentiles::default(),
    })
}

pub(super) fn reported_by_oha(output: &str) -> Option<Reported> {
    let document: serde_json::Value = serde_json::from_str(output).ok()?;
    let sum = |name: &str| -> u64 {
        let counts = document[name].as_object();
        // Calls pending at the end are not errors.
        counts
            .into_iter()
            .flatten()
            .filter(|(why, _)| *why != "aborted due to deadline")
            .filter_map(|(_, count)| count.as_u64())
            .sum()
    };
    let replies = sum("statusCodeDistribution");
    let us = |seconds: &serde_json::Value| seconds.as_f64().map(|seconds| seconds * 1e6);
    let percentiles = &document["latencyPercentiles"];
    Some(Reported {
        replies,
        errors: sum("errorDistribution"),
        rate: replies as f64 / document["summary"]["total"].as_f64()?,
        latency: Percentiles {
            p50_us: us(&percentiles["p50"]),
            p90_us: us(&percentiles["p90"]),
            p99_us: us(&percentiles["p99"]),
            max_us: us(&document["summary"]["slowest"]),
        },
        service: Percentiles::default(),
    })
}

pub(super) fn reported_by_hey(output: &str) -> Option<Reported> {
    let lines = || output.lines().map(str::trim);
    let after = |start: &str, mark: &str| {
        lines().find(|line| line.starts_with(start)).and_then(|line| number_after::<f64>(line, mark))
    };
    let us = |share: &str| after(share, " in ").map(|seconds| seconds * 1e6);
    // Each line of both lists has a number in brackets; they differ in what follows.
    let count = |title: &str, bracketed: fn(&str) -> Option<u64>| -> u64 {
        lines().skip_while(|line| *line != title).skip(1).map_while(bracketed).sum()
    };
    Some(Reported {
        replies: count("Status code distribution:", |line| number_before(line, " responses")),
        errors: count("Error distribution:", |line| number_before(&line.replace(['[', ']'], " "), "\t")),
        rate: after("Requests/sec:", ":")?,
        latency: Percentiles {
            p50_us: us("50%"),
            p90_us: us("90%"),
            p99_us: us("99%"),
            max_us: after("Slowest:", ":").map(|seconds| seconds * 1e6),
        },
        service: Percentiles::default(),
    })
}

/// Parses the number before the first `mark`.
fn number_before<T: std::str::FromStr>(text: &str, mark: &str) -> Option<T> {
    let (before, _) = text.split_once(mark)?;
    before.split_whitespace().next_back()?.parse().ok()
}

/// Parses the number after the first `mark`.
fn number_after<T: std::str::FromStr>(text: &str, mark: &str) -> Option<T> {
    let (_, after) = text.split_once(mark)?;
    after.split_whitespace().next()?.parse().ok()
}

/// Parses a time in wrk's format.
fn microseconds(text: &str) -> Option<f64> {
    let unit_at = text.find(|c: char| c.is_ascii_alphabetic())?;
    let (number, unit) = text.split_at(unit_at);
    let factor = match unit {
        "us" => 1.0,
        "ms" => 1e3,
        "s" => 1e6,
        "m" => 60e6,
        _ => return None,
    };
    number.parse::<f64>().ok().map(|number| number * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_of_httperf_is_read() {
        let report = "\nTotal: connections 8 requests 300 replies 298 test-duration 2.000 s\n\
                      \nErrors: total 2 client-timo 1 socket-timo 0 connrefused 0 connreset 1\n";
        let expected = Reported { replies: 298, errors: 2, rate: 149.0, ..Reported::default() };
        assert_eq!(reported_by_httperf(report), Some(expected));
    }

    #[test]
    fn a_report_of_wrk_is_read_with_its_errors() {
        let report = "Running 3s test @ http://127.0.0.1:18099/1k\n  1 threads and 8 connections\n\
                      \x20 Thread Stats   Avg      Stdev     Max   +/- Stdev\n    Latency   107.88us  101.45us   3.13ms\n\
                      \x20 158453 requests in 4.00s, 191.01MB read\n\
                      \x20 Socket errors: connect 0, read 3, write 0, timeout 1\n\
                      \x20 Non-2xx or 3xx responses: 2\nRequests/sec:  39613.25\nTransfer/sec:     47.75MB\n";
        let expected = Reported { replies: 158_453, errors: 6, rate: 39_613.25, ..Reported::default() };
        assert_eq!(reported_by_wrk(report), Some(expected));
    }

    #[test]
    fn percentiles_of_wrk_are_read_with_their_units() {
        let report = "Running 1s test @ http://127.0.0.1:18471/1k\n  1 threads and 8 connections\n\
                      \x20 Thread Stats   Avg      Stdev     Max   +/- Stdev\n\
                      \x20   Latency   110.14us  299.86us   5.44ms   98.84%\n\
                      \x20   Req/Sec    72.21k     2.21k   74.72k    72.73%\n\
                      \x20 Latency Distribution\n     50%   80.00us\n     75%   87.00us\n\
                      \x20    90%   93.00us\n     99%    0.98ms\n\
                      \x20 78926 requests in 1.10s, 95.14MB read\n\
                      Requests/sec:  71777.86\nTransfer/sec:     86.52MB\n";
        let expected = Percentiles {
            p50_us: Some(80.0),
            p90_us: Some(93.0),
            p99_us: Some(980.0),
            max_us: Some(5_440.0),
        };
        assert_eq!(reported_by_wrk(report).unwrap().latency, expected);
    }

    #[test]
    fn a_latency_of_wrk2_is_read_with_its_unit() {
        let report = "  Latency Distribution (HdrHistogram - Recorded Latency)\n 50.000%  621.00us\n 99.000%    1.35ms\n\
                      \x20 2000 requests in 2.00s, 2.4MB read\nRequests/sec:   1000.00\n";
        assert_eq!(reported_by_wrk(report).unwrap().latency.p99_us, Some(1_350.0));
    }

    #[test]
    fn a_report_of_h2load_is_read() {
        let report = "finished in 1.01s, 41805.00 req/s, 50.39MB/s\n\
                      requests: 41805 total, 41933 started, 41805 done, 41800 succeeded, 5 failed, 1 errored, 0 timeout\n";
        let expected = Reported { replies: 41_800, errors: 6, rate: 41_805.0, ..Reported::default() };
        assert_eq!(reported_by_h2load(report), Some(expected));
    }

    #[test]
    fn a_report_of_ab_is_read() {
        let report = "Time taken for tests:   2.000 seconds\nComplete requests:      7800\nFailed requests:        3\n";
        let expected = Reported { replies: 7_800, errors: 3, rate: 3_900.0, ..Reported::default() };
        assert_eq!(reported_by_ab(report), Some(expected));
    }

    #[test]
    fn percentiles_of_ab_are_read_in_whole_milliseconds() {
        let report = "Time taken for tests:   4.000 seconds\nComplete requests:      37645\nFailed requests:        0\n\
                      Requests per second:    9411.18 [#/sec] (mean)\n\n\
                      Percentage of the requests served within a certain time (ms)\n\
                      \x20 50%      1\n  66%      2\n  75%      3\n  80%      5\n  90%      8\n  95%     10\n\
                      \x20 98%     11\n  99%     12\n 100%    513 (longest request)\n";
        let expected = Percentiles {
            p50_us: Some(1_000.0),
            p90_us: Some(8_000.0),
            p99_us: Some(12_000.0),
            max_us: Some(513_000.0),
        };
        assert_eq!(reported_by_ab(report).unwrap().latency, expected);
    }

    #[test]
    fn a_report_of_hey_is_read() {
        let report = "\nSummary:\n  Total:\t1.0010 secs\n  Slowest:\t0.0086 secs\n  Fastest:\t0.0000 secs\n\
                      \x20 Average:\t0.0003 secs\n  Requests/sec:\t27975.0173\n  \n\
                      Latency distribution:\n  10% in 0.0001 secs\n  25% in 0.0001 secs\n  50% in 0.0002 secs\n\
                      \x20 75% in 0.0003 secs\n  90% in 0.0005 secs\n  95% in 0.0006 secs\n  99% in 0.0012 secs\n\n\
                      Details (average, fastest, slowest):\n  req write:\t0.0000 secs, 0.0000 secs, 0.0054 secs\n\n\
                      Status code distribution:\n  [200]\t28001 responses\n  [404]\t2 responses\n\n\
                      Error distribution:\n  [3]\tGet \"http://127.0.0.1:1/\": connection refused\n";
        let reported = reported_by_hey(report).unwrap();
        assert_eq!((reported.replies, reported.errors, reported.rate.round()), (28_003, 3, 27_975.0));
        let us = |percentile: Option<f64>| percentile.map(f64::round);
        assert_eq!((us(reported.latency.p50_us), us(reported.latency.p90_us)), (Some(200.0), Some(500.0)));
        assert_eq!(
            (us(reported.latency.p99_us), us(reported.latency.max_us)),
            (Some(1_200.0), Some(8_600.0))
        );
    }

    #[test]
    fn percentiles_of_h2load_are_those_of_the_calls_it_lists() {
        let log = "1795321475000100\t200\t1500\n1795321475000200\t200\t900\n1795321475000300\t200\t1100\n";
        let percentiles = percentiles_of_h2load(log).unwrap();
        assert_eq!((percentiles.p50_us, percentiles.max_us), (Some(1_100.0), Some(1_500.0)));
        assert_eq!(percentiles_of_h2load("1795321475000100\t200\n"), None);
    }

    #[test]
    fn percentiles_of_httperf_are_read_from_its_json() {
        let document = r#"{"figures": {
            "latency_ms": {"samples": 2, "p50": 0.156, "p90": 0.188, "p99": null, "max": 8.669467},
            "service_ms": {"samples": 2, "p50": 0.5, "p90": 1.5, "p99": 2.5, "max": 4.0}}}"#;
        let (latency, service) = percentiles_of_httperf(document).unwrap();
        assert_eq!((latency.p50_us, latency.p99_us), (Some(156.0), None));
        assert_eq!((service.p99_us, service.max_us), (Some(2_500.0), Some(4_000.0)));
        assert_eq!(percentiles_of_httperf("{}"), None);
    }

    #[test]
    fn a_report_of_oha_is_read_without_what_was_cut_at_the_end() {
        let report = r#"{"summary": {"total": 2.0, "slowest": 0.0625}, "latencyPercentiles": {"p99": 0.0015},
                         "statusCodeDistribution": {"200": 1000, "404": 10},
                         "errorDistribution": {"aborted due to deadline": 64, "connection refused": 1}}"#;
        let reported = reported_by_oha(report).unwrap();
        assert_eq!((reported.replies, reported.errors, reported.rate), (1_010, 1, 505.0));
        assert_eq!((reported.latency.p99_us, reported.latency.max_us), (Some(1_500.0), Some(62_500.0)));
    }
}

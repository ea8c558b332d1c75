//! How the output of each program is read.

/// What a program says of its run.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Said {
    pub(super) replies: u64,
    pub(super) errors: u64,
    pub(super) rate: f64,
    pub(super) latency_p99_us: Option<f64>,
    pub(super) service_p99_us: Option<f64>,
}

pub(super) fn said_by_httperf(output: &str) -> Option<Said> {
    let total = output.lines().find(|line| line.starts_with("Total: connections "))?;
    let errors = output.lines().find(|line| line.starts_with("Errors: total "))?;
    let (replies, duration_s): (u64, f64) =
        (number_after(total, " replies ")?, number_after(total, " test-duration ")?);
    Some(Said {
        replies,
        errors: number_after(errors, " total ")?,
        rate: replies as f64 / duration_s,
        ..Said::default()
    })
}

pub(super) fn said_by_bare(output: &str) -> Option<Said> {
    let line = output.lines().find(|line| line.starts_with("bare: connections "))?;
    let (replies, duration_s): (u64, f64) =
        (number_after(line, " replies ")?, number_after(line, " duration ")?);
    Some(Said { replies, rate: replies as f64 / duration_s, ..Said::default() })
}

pub(super) fn said_by_wrk(output: &str) -> Option<Said> {
    let line = |start: &str| output.lines().map(str::trim).find(|line| line.starts_with(start));
    let socket_errors: u64 = line("Socket errors:")
        .map_or(0, |line| line.split([' ', ',']).filter_map(|word| word.parse::<u64>().ok()).sum());
    let refused: u64 =
        line("Non-2xx or 3xx responses:").and_then(|line| number_after(line, ": ")).unwrap_or(0);
    Some(Said {
        replies: number_before(output, " requests in ")?,
        errors: socket_errors + refused,
        rate: number_after(line("Requests/sec:")?, ":")?,
        latency_p99_us: line("99.000%")
            .or(line("99%"))
            .and_then(|line| microseconds(line.split_whitespace().nth(1)?)),
        service_p99_us: None,
    })
}

pub(super) fn said_by_h2load(output: &str) -> Option<Said> {
    let requests = output.lines().find(|line| line.starts_with("requests: "))?;
    Some(Said {
        replies: number_before(requests, " succeeded, ")?,
        errors: number_before::<u64>(requests, " failed, ")? + number_before::<u64>(requests, " errored, ")?,
        rate: number_before(output, " req/s, ")?,
        ..Said::default()
    })
}

pub(super) fn said_by_ab(output: &str) -> Option<Said> {
    let value = |name: &str| output.lines().find(|line| line.starts_with(name));
    let replies: u64 = number_after(value("Complete requests:")?, ":")?;
    let duration_s: f64 = number_after(value("Time taken for tests:")?, ":")?;
    Some(Said {
        replies,
        errors: number_after(value("Failed requests:")?, ":")?,
        rate: replies as f64 / duration_s,
        ..Said::default()
    })
}

pub(super) fn said_by_oha(output: &str) -> Option<Said> {
    let document: serde_json::Value = serde_json::from_str(output).ok()?;
    let sum = |name: &str| -> u64 {
        let counts = document[name].as_object();
        // What was under way at the end is not an error.
        counts
            .into_iter()
            .flatten()
            .filter(|(why, _)| *why != "aborted due to deadline")
            .filter_map(|(_, count)| count.as_u64())
            .sum()
    };
    let replies = sum("statusCodeDistribution");
    Some(Said {
        replies,
        errors: sum("errorDistribution"),
        rate: replies as f64 / document["summary"]["total"].as_f64()?,
        latency_p99_us: document["latencyPercentiles"]["p99"].as_f64().map(|seconds| seconds * 1e6),
        service_p99_us: None,
    })
}

/// The number before the first `mark`.
fn number_before<T: std::str::FromStr>(text: &str, mark: &str) -> Option<T> {
    let (before, _) = text.split_once(mark)?;
    before.split_whitespace().next_back()?.parse().ok()
}

/// The number after the first `mark`.
fn number_after<T: std::str::FromStr>(text: &str, mark: &str) -> Option<T> {
    let (_, after) = text.split_once(mark)?;
    after.split_whitespace().next()?.parse().ok()
}

/// A time as wrk writes it.
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
        let expected = Said { replies: 298, errors: 2, rate: 149.0, ..Said::default() };
        assert_eq!(said_by_httperf(report), Some(expected));
    }

    #[test]
    fn a_report_of_wrk_is_read_with_its_errors() {
        let report = "Running 3s test @ http://127.0.0.1:18099/1k\n  1 threads and 8 connections\n\
                      \x20 Thread Stats   Avg      Stdev     Max   +/- Stdev\n    Latency   107.88us  101.45us   3.13ms\n\
                      \x20 158453 requests in 4.00s, 191.01MB read\n\
                      \x20 Socket errors: connect 0, read 3, write 0, timeout 1\n\
                      \x20 Non-2xx or 3xx responses: 2\nRequests/sec:  39613.25\nTransfer/sec:     47.75MB\n";
        let expected = Said { replies: 158_453, errors: 6, rate: 39_613.25, ..Said::default() };
        assert_eq!(said_by_wrk(report), Some(expected));
    }

    #[test]
    fn a_latency_of_wrk2_is_read_with_its_unit() {
        let report = "  Latency Distribution (HdrHistogram - Recorded Latency)\n 50.000%  621.00us\n 99.000%    1.35ms\n\
                      \x20 2000 requests in 2.00s, 2.4MB read\nRequests/sec:   1000.00\n";
        assert_eq!(said_by_wrk(report).unwrap().latency_p99_us, Some(1_350.0));
    }

    #[test]
    fn a_report_of_h2load_is_read() {
        let report = "finished in 1.01s, 41805.00 req/s, 50.39MB/s\n\
                      requests: 41805 total, 41933 started, 41805 done, 41800 succeeded, 5 failed, 1 errored, 0 timeout\n";
        let expected = Said { replies: 41_800, errors: 6, rate: 41_805.0, ..Said::default() };
        assert_eq!(said_by_h2load(report), Some(expected));
    }

    #[test]
    fn a_report_of_ab_is_read() {
        let report = "Time taken for tests:   2.000 seconds\nComplete requests:      7800\nFailed requests:        3\n";
        let expected = Said { replies: 7_800, errors: 3, rate: 3_900.0, ..Said::default() };
        assert_eq!(said_by_ab(report), Some(expected));
    }

    #[test]
    fn a_report_of_oha_is_read_without_what_was_cut_at_the_end() {
        let report = r#"{"summary": {"total": 2.0}, "latencyPercentiles": {"p99": 0.0015},
                         "statusCodeDistribution": {"200": 1000, "404": 10},
                         "errorDistribution": {"aborted due to deadline": 64, "connection refused": 1}}"#;
        let said = said_by_oha(report).unwrap();
        assert_eq!((said.replies, said.errors, said.rate), (1_010, 1, 505.0));
        assert_eq!(said.latency_p99_us, Some(1_500.0));
    }
}

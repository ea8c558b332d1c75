//! Table 6e: calls at a fixed rate over persistent connections, observed by a packet capture rather than by
//! the programs themselves.

use std::collections::HashMap;

use super::Options;
use super::calls::in_turn;
use super::programs::{Load, Outcome, Program, Site};
use crate::exchanges::{self, Exchange, Percentiles, Schedule, Scheduled};
use crate::output::{Table, median, progress, thousands};
use crate::pcap::{self, Segment};
use crate::tcpdump::Tcpdump;

/// Number of connections.
const CONNECTIONS: u32 = 64;

/// Observations of a run in a capture.
#[derive(Debug)]
struct Captured {
    outcome: Outcome,
    /// Requests per second.
    rate: f64,
    lag_p50_us: f64,
    lag_p99_us: f64,
    lag_max_us: f64,
    /// From the due instant to the last part of the reply.
    latency_p99_us: f64,
    /// From the request to the last part of the reply.
    service_p99_us: f64,
}

/// Result of an attempt to capture.
enum Capture {
    Taken(Box<Captured>),
    Refused(String),
}

/// Measures when requests leave, and whether the latencies reported by programs are correct.
pub(super) fn measure(site: &Site<'_>, options: &Options) -> anyhow::Result<Vec<Table>> {
    let (rate, capacity) = match options.rate {
        Some(rate) => (rate, String::new()),
        None => half_of_capacity(site, options)?,
    };
    let mut lag = Table::new(
        format!(
            "Table 6e. {} calls/s{capacity}, over {CONNECTIONS} connections, lag in us: {} alternating pairs, {} s each",
            thousands(rate as u64),
            options.pairs,
            options.seconds
        ),
        &["program", "sent/s", "lag p50", "lag p99", "max", "p99 to httperf's", "of pairs", "CPU us/reply"],
    );
    let mut latency = Table::new(
        "Table 6e, the same runs: p99 in us, as reported and as captured",
        &[
            "program",
            "service reported",
            "captured",
            "difference",
            "of runs",
            "latency reported",
            "captured",
            "difference",
            "of runs",
        ],
    );
    if !site.bench.ours.knows("--request-rate") {
        lag.note("not measured: the program under test has no --request-rate");
        return Ok(vec![lag]);
    }
    let load = Load { rate: Some(rate), ..Load::closed_loop(CONNECTIONS, options.seconds) };
    for program in [Program::Wrk2, Program::Oha, Program::H2load] {
        if !program.is_installed() {
            lag.note(format!("{program} is not installed"));
            continue;
        }
        let pairs =
            in_turn(options.pairs, || run(site, Program::Httperf, &load), || run(site, program, &load))?;
        let mut captured = Vec::new();
        for pair in pairs {
            match pair {
                (Capture::Taken(ours), Capture::Taken(theirs)) => captured.push((*ours, *theirs)),
                (Capture::Refused(reason), _) | (_, Capture::Refused(reason)) => {
                    lag.note(format!("not measured: no packet capture ({reason})"));
                    return Ok(vec![lag]);
                }
            }
        }
        let ratios: Vec<f64> =
            captured.iter().map(|(ours, theirs)| theirs.lag_p99_us / ours.lag_p99_us).collect();
        let (ours, theirs): (Vec<Captured>, Vec<Captured>) = captured.into_iter().unzip();
        lag.row(lag_row(Program::Httperf, &ours, &[]));
        lag.row(lag_row(program, &theirs, &ratios));
        latency.row(latency_row(Program::Httperf, &ours));
        latency.row(latency_row(program, &theirs));
    }
    lag.note("goal: lag p99 of the others at least 10 times httperf's in the row above");
    lag.note("lag of requests when captured, with the schedule aligned with the earliest of them");
    lag.note("h2load and wrk2 have a schedule for each connection, and are compared with that");
    latency.note("goal: httperf's latency p99 within 200 us of the captured one");
    latency.note("service: from the request to the last segment of its reply; latency: from when it was due");
    Ok(vec![lag, latency])
}

/// Half of the throughput of a closed loop over as many connections, with a description.
fn half_of_capacity(site: &Site<'_>, options: &Options) -> anyhow::Result<(f64, String)> {
    let capacity = site.run(Program::Httperf, &Load::closed_loop(CONNECTIONS, options.seconds))?.rate;
    // Makes the share of each connection an integer.
    let step = f64::from(CONNECTIONS) * 25.0;
    let rate = (capacity / 2.0 / step).floor().max(1.0) * step;
    Ok((rate, format!(", half of {}", thousands(capacity as u64))))
}

fn lag_row(program: Program, captured: &[Captured], ratios: &[f64]) -> Vec<String> {
    let of = |value: fn(&Captured) -> f64| median(&captured.iter().map(value).collect::<Vec<_>>());
    let (ratio, spread) = median_and_spread(ratios, 1);
    vec![
        program.to_string(),
        thousands(of(|captured| captured.rate).round() as u64),
        format!("{:.1}", of(|captured| captured.lag_p50_us)),
        format!("{:.1}", of(|captured| captured.lag_p99_us)),
        format!("{:.0}", of(|captured| captured.lag_max_us)),
        ratio,
        spread,
        format!("{:.2}", of(|captured| captured.outcome.cpu_us_per_reply())),
    ]
}

fn latency_row(program: Program, runs: &[Captured]) -> Vec<String> {
    let mut cells = vec![program.to_string()];
    let service = |run: &Captured| (run.outcome.service.p99_us, run.service_p99_us);
    let latency = |run: &Captured| (run.outcome.latency.p99_us, run.latency_p99_us);
    for p99s in [runs.iter().map(service).collect::<Vec<_>>(), runs.iter().map(latency).collect()] {
        let (reported, captured): (Vec<Option<f64>>, Vec<f64>) = p99s.into_iter().unzip();
        let pairs = reported.iter().zip(&captured);
        let differences: Vec<f64> =
            pairs.filter_map(|(reported, captured)| Some((*reported)? - captured)).collect();
        let reported: Vec<f64> = reported.into_iter().flatten().collect();
        let (difference, spread) = median_and_spread(&differences, 0);
        let reported = median_and_spread(&reported, 0).0;
        cells.extend([reported, format!("{:.0}", median(&captured)), difference, spread]);
    }
    cells
}

/// Median, with minimum and maximum; dashes if there are no values.
fn median_and_spread(values: &[f64], digits: usize) -> (String, String) {
    if values.is_empty() {
        return ("-".to_owned(), "-".to_owned());
    }
    let smallest = values.iter().copied().fold(f64::INFINITY, f64::min);
    let largest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (format!("{:.digits$}", median(values)), format!("{smallest:.digits$}..{largest:.digits$}"))
}

/// Makes one run while capturing every segment with a payload.
fn run(site: &Site<'_>, program: Program, load: &Load) -> anyhow::Result<Capture> {
    let port = site.port;
    // Size of the packet minus both headers.
    let filter = format!("tcp port {port} and ip[2:2] - ((ip[0] & 0xf) << 2) - ((tcp[12] & 0xf0) >> 2) != 0");
    let tcpdump = match Tcpdump::start(site.bench.cores.server, &filter)? {
        Ok(tcpdump) => tcpdump,
        Err(reason) => return Ok(Capture::Refused(reason)),
    };
    // h2load would have to list all its calls.
    let percentiles = program != Program::H2load;
    let outcome = site.run(program, &Load { percentiles, ..*load })?;
    progress("reading the capture");
    let segments = match tcpdump.finish()? {
        Ok(capture) => pcap::segments(&capture)?,
        Err(reason) => return Ok(Capture::Refused(reason)),
    };
    let rate = load.rate.expect("a fixed rate is what is measured");
    let exchanges = paired(&segments, port);
    anyhow::ensure!(exchanges.len() > 1, "the capture shows no requests of {program}");
    Ok(Capture::Taken(Box::new(look(&exchanges, program.schedule(), rate, load.connections, outcome))))
}

/// Pairs requests with replies. Each connection has one outstanding call, and each request is one segment.
fn paired(segments: &[Segment], server_port: u16) -> Vec<Exchange> {
    let mut all: Vec<Exchange> = Vec::new();
    let mut latest: HashMap<u64, (usize, u32)> = HashMap::new();
    for segment in segments.iter().filter(|segment| segment.payload_size > 0) {
        if segment.destination_port == server_port {
            let client_port = u64::from(segment.source.1);
            // A retransmission has the sequence number of the first.
            if latest.get(&client_port).is_some_and(|&(_, sequence)| sequence == segment.sequence) {
                continue;
            }
            latest.insert(client_port, (all.len(), segment.sequence));
            all.push(Exchange { connection: client_port, request_ns: segment.time_ns, replied_ns: None });
        } else if let Some(&(index, _)) = latest.get(&segment.destination_port.into()) {
            all[index].replied_ns = Some(segment.time_ns);
        }
    }
    all.sort_by_key(|exchange| exchange.request_ns);
    all
}

fn look(
    exchanges: &[Exchange],
    schedule: Schedule,
    rate: f64,
    connections: u32,
    outcome: Outcome,
) -> Captured {
    let scheduled = Scheduled::of(exchanges, schedule, rate, connections);
    let lag = Percentiles::of(scheduled.lags_us);
    let latency = Percentiles::of(scheduled.latencies_us);
    let service = Percentiles::of(exchanges.iter().filter_map(Exchange::service_us).collect());
    let known = |percentile: Option<f64>| percentile.unwrap_or(f64::NAN);
    Captured {
        outcome,
        rate: exchanges::rate(exchanges),
        lag_p50_us: known(lag.p50_us),
        lag_p99_us: known(lag.p99_us),
        lag_max_us: known(lag.max_us),
        latency_p99_us: known(latency.p99_us),
        service_p99_us: known(service.p99_us),
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    const SERVER: u16 = 80;

    fn segment(time_us: u64, source: u16, destination: u16, sequence: u32) -> Segment {
        Segment {
            time_ns: time_us * 1_000,
            source: (Ipv4Addr::LOCALHOST, source),
            destination_port: destination,
            sequence,
            payload_size: 10,
        }
    }

    #[test]
    fn a_reply_ends_with_its_last_segment_and_belongs_to_its_connection() {
        let segments = [
            segment(100, 1, SERVER, 5),
            segment(110, 2, SERVER, 5),
            segment(130, SERVER, 1, 9),
            segment(150, SERVER, 1, 19),
            segment(160, SERVER, 2, 9),
            segment(170, 1, SERVER, 15),
        ];
        let expected = [
            Exchange { connection: 1, request_ns: 100_000, replied_ns: Some(150_000) },
            Exchange { connection: 2, request_ns: 110_000, replied_ns: Some(160_000) },
            Exchange { connection: 1, request_ns: 170_000, replied_ns: None },
        ];
        assert_eq!(paired(&segments, SERVER), expected);
    }

    #[test]
    fn a_request_sent_again_counts_once() {
        let segments = [segment(100, 1, SERVER, 5), segment(400, 1, SERVER, 5), segment(500, SERVER, 1, 9)];
        let expected = [Exchange { connection: 1, request_ns: 100_000, replied_ns: Some(500_000) }];
        assert_eq!(paired(&segments, SERVER), expected);
    }
}

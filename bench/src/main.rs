//! Measures httperf from outside: cost of a connection, adherence to the schedule, memory of an open
//! connection, accuracy of reports. `bench/README.md` describes how each figure is taken.
//!
//! The program is both the harness and the programs it uses: bare clients, a fast server, and a server that
//! records the truth.

mod accuracy;
mod bare;
mod child;
mod cores;
mod exchanges;
mod fleet;
mod http3;
mod instructions;
mod lag;
mod memory;
mod nghttpd;
mod nginx;
mod open_files;
mod output;
mod pcap;
mod ports;
mod rates;
mod record;
mod scenarios;
mod server;
mod smoke;
mod speed;
mod stamped;
mod streams;
mod tcpdump;
mod tls;
mod tools;
mod words;

use std::process::ExitCode;

use anyhow::bail;

use crate::output::Output;
use crate::speed::multiplexed;
use crate::tools::Bench;
use crate::words::Words;

const USAGE: &str = "\
Usage: httperf-bench COMMAND [OPTION]...

  rates    table 1: one request per connection, at rising rates
                    [--rates R,R,...] [--seconds S] [--pairs N] [--pair-rate R]
  lag      table 2: how late connections start, seen from outside
                    [--lag-rate R] [--lag-seconds S]
  memory   table 3: resident memory per idle open connection, and 100,000 connections from four addresses
                    [--connections N,N,...] [--total N]
  tls      tables 4: handshakes, requests, bodies and memory over TLS
                    [--tls-pairs N] [--tls-handshakes N]
  record   tables 5: what recording costs in CPU time and in memory, and what a display does to the lag
                    [--record-pairs N] [--record-requests N] [--growth-seconds S]
  speed    tables 6: calls per second and what each costs, against wrk, h2load, ab, oha and a bare epoll loop
                    [--speed-pairs N] [--speed-seconds S] [--speed-connections N,N,...] [--speed-rate R]
                    [--speed-tables a,b,c,d,e,f,g]
  http2    tables 8: calls over HTTP/2 and what each costs, against h2load, and memory per idle connection
                    [--http2-pairs N] [--http2-seconds S] [--http2-tables a,b,c,d,e]
  http3    tables 12: calls over HTTP/3 and what each costs, against h2load and oha; handshakes, memory, lag
                    [--http3-pairs N] [--http3-seconds S] [--http3-tables a,b,c,d]
  accuracy tables 9: what load generators say of their calls, beside what happened
                    [--accuracy-seconds S] [--accuracy-rate R] [--accuracy-connections N]
                    [--accuracy-delays log-normal,two-modes,stall,jitter]
  scenarios tables 10: what a step of a scenario costs, against plain calls, wrk, oha and hurl, and memory of visits
                    [--scenario-rounds N] [--scenario-steps N] [--scenario-visits N]
  fleet    tables 11: CPU of a rank with and without reports each second, how far apart ranks start, merging
                    [--fleet-pairs N] [--fleet-seconds S] [--fleet-sizes N,N,...]
  streams  tables 13: times of streamed answers as httperf and aiperf report them, beside what happened
                    [--streams N,N,...] [--streams-seconds S] [--streams-rounds N]
  instructions  table 7: instructions per call in user space, counted by callgrind
                    [--dev counts those of the dev build next to this program]
                    [--save records them] [--check fails if they have risen by more than 3 %, or 15 % with --dev]
  all      all tables, with the options of each
  smoke    every piece for a moment; fails if one does not work
  bare     the bare client    --target ADDR:PORT --conns N [--rate R] [--window N] [--close-with-reset]
  bare-kept the bare client of kept connections    --target ADDR:PORT (--seconds S | --requests N)
                    [--uri PATH] [--connections N] [--pipeline N]
  bare-scheduled  the bare client at a fixed rate    --target ADDR:PORT --rate R [--seconds S] [--uri PATH]
                    [--connections N] [--http2] [--tls] [--read-late] [--slack-us US]
  bare-tls the bare client of TLS    --target ADDR:PORT --conns N [--groups LIST] [--resume]
  bare-quic the bare client of QUIC    --target ADDR:PORT --conns N [--group NAME]
  server   the bench server   [--listen ADDR:PORT] [--body-size N] [--nginx-head] [--page] [--stall] [--close]
  accuracy-server  the reference server of tables 9    --delays NAME --record FILE
                    [--stall-after-ms MS --stall-ms MS]
  stream-server  the stream server of tables 13    --first-ms MS --gap-ms MS --tokens N --record FILE

Tables take --save to keep what they print in bench/results/.
HTTPERF_BIN names the program under test; by default it is the workspace's own, built first.
";

fn main() -> ExitCode {
    match run(Words::new(std::env::args().skip(1))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("httperf-bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(mut words: Words) -> anyhow::Result<()> {
    match words.command().as_deref() {
        Some("bare") => bare::run(&bare::Options::parse(words)?),
        Some("bare-kept") => bare::kept::run(&bare::kept::Options::parse(words)?),
        Some("bare-scheduled") => bare::scheduled::run(&bare::scheduled::Options::parse(words)?),
        Some("bare-quic") => http3::bare::run(&http3::bare::Options::parse(words)?),
        Some("bare-tls") => tls::bare::run(&tls::bare::Options::parse(words)?),
        Some("server") => server::run(&server::Options::parse(words)?),
        Some("accuracy-server") => accuracy::server::run(&accuracy::server::Options::parse(words)?),
        Some("stream-server") => streams::server::run(&streams::server::Options::parse(words)?),
        Some("instructions") => instructions::run(&instructions::Options::parse(words)?),
        Some("smoke") => {
            words.finish()?;
            smoke::run()
        }
        Some(
            table @ ("rates" | "lag" | "memory" | "tls" | "record" | "speed" | "http2" | "http3" | "accuracy"
            | "scenarios" | "fleet" | "streams" | "all"),
        ) => measure(table, words),
        Some("help" | "--help" | "-h") => {
            print!("{USAGE}");
            Ok(())
        }
        Some(other) => bail!("expected a command, got `{other}`\n{USAGE}"),
        None => bail!("expected a command\n{USAGE}"),
    }
}

fn measure(table: &str, mut words: Words) -> anyhow::Result<()> {
    let wanted = |name: &str| table == name || table == "all";
    let save = words.flag("--save");
    let rates = rates::Options::parse(&mut words)?;
    let lag = lag::Options::parse(&mut words)?;
    let memory = memory::Options::parse(&mut words)?;
    let ports = ports::Options::parse(&mut words)?;
    let tls = tls::Options::parse(&mut words)?;
    let record = record::Options::parse(&mut words)?;
    let speed = speed::Options::parse(&mut words)?;
    let http2 = multiplexed::Options::parse(&mut words)?;
    let http3 = http3::Options::parse(&mut words)?;
    let accuracy = accuracy::Options::parse(&mut words)?;
    let scenarios = scenarios::Options::parse(&mut words)?;
    let fleet = fleet::Options::parse(&mut words)?;
    let streams = streams::Options::parse(&mut words)?;
    words.finish()?;

    let bench = Bench::prepare()?;
    let mut output = Output::default();
    output.block(&bench.description());
    if wanted("rates") {
        output.block(&rates::measure_rates(&bench, &rates)?.to_string());
        output.block(&rates::measure_pairs(&bench, &rates)?.to_string());
    }
    if wanted("lag") {
        output.block(&lag::measure(&bench, &lag)?.to_string());
    }
    if wanted("memory") {
        output.block(&memory::measure(&bench, &memory)?.to_string());
        output.block(&ports::measure(&bench, &ports)?.to_string());
    }
    if wanted("tls") {
        for table in tls::measure(&bench, &tls)? {
            output.block(&table);
        }
    }
    if wanted("record") {
        for table in record::measure(&bench, &record)? {
            output.block(&table.to_string());
        }
    }
    if wanted("speed") {
        for table in speed::measure(&bench, &speed)? {
            output.block(&table);
        }
    }
    if wanted("http2") {
        for table in multiplexed::measure(&bench, &http2)? {
            output.block(&table);
        }
    }
    if wanted("http3") {
        for table in http3::measure(&bench, &http3)? {
            output.block(&table);
        }
    }
    if wanted("accuracy") {
        for table in accuracy::measure(&bench, &accuracy)? {
            output.block(&table);
        }
    }
    if wanted("scenarios") {
        for table in scenarios::measure(&bench, &scenarios)? {
            output.block(&table);
        }
    }
    if wanted("fleet") {
        for table in fleet::measure(&bench, &fleet)? {
            output.block(&table.to_string());
        }
    }
    if wanted("streams") {
        for table in streams::measure(&bench, &streams)? {
            output.block(&table);
        }
    }
    if wanted("instructions") {
        output.block(&instructions::measure_table()?);
    }
    if save {
        let path = output.save()?;
        eprintln!("saved as {}", path.display());
    }
    Ok(())
}

//! Tables 4: cost of TLS. Handshakes compared with bare BoringSSL and `openssl s_time`, requests and large
//! bodies compared with wrk and h2load, and memory of idle connections. The server is nginx.

pub(crate) mod bare;
mod peers;

use std::time::Duration;

use anyhow::{Context, ensure};
use rustix::process::Signal;

use self::peers::{Peer, Work};
use crate::memory::{rss_kib, wait_for_sockets};
use crate::nginx::Nginx;
use crate::output::{Table, median, progress, thousands};
use crate::tools::Bench;
use crate::words::Words;

/// Extent of the measurement.
#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) pairs: u32,
    pub(crate) handshakes: u64,
    pub(crate) requests: u64,
    pub(crate) bodies: u64,
    pub(crate) idle: u64,
}

impl Default for Options {
    fn default() -> Self {
        Options { pairs: 5, handshakes: 5_000, requests: 200_000, bodies: 2_000, idle: 5_000 }
    }
}

impl Options {
    pub(crate) fn parse(words: &mut Words) -> anyhow::Result<Self> {
        let default = Options::default();
        Ok(Options {
            pairs: words.value("--tls-pairs")?.unwrap_or(default.pairs),
            handshakes: words.value("--tls-handshakes")?.unwrap_or(default.handshakes),
            ..default
        })
    }
}

/// Concurrent connections for requests and bodies.
const CONNECTIONS: u64 = 20;

/// Measures all tables on TLS, or notes that nginx is not installed.
pub(crate) fn measure(bench: &Bench, options: &Options) -> anyhow::Result<Vec<String>> {
    let Some(server) = Nginx::start(bench.cores.server)? else {
        return Ok(vec!["Tables 4: nginx is not installed, so TLS is not measured\n".to_owned()]);
    };
    let handshakes = |title: &str, resume: bool| {
        let work = Work::Handshakes { count: options.handshakes, resume };
        compare(bench, &server, title, "CPU us/handshake", &work, options.pairs)
    };
    Ok(vec![
        handshakes("Table 4a. Full handshakes, one after the other, X25519", false)?.to_string(),
        handshakes("Table 4b. Resumed handshakes, one after the other, X25519", true)?.to_string(),
        compare(
            bench,
            &server,
            "Table 4c. Requests of 1 KiB on 20 connections that are kept",
            "CPU us/request",
            &Work::Requests { count: options.requests, connections: CONNECTIONS },
            options.pairs,
        )?
        .to_string(),
        compare(
            bench,
            &server,
            "Table 4d. Bodies of 1 MiB on one connection",
            "CPU us/body",
            &Work::Bodies { count: options.bodies },
            options.pairs,
        )?
        .to_string(),
        idle_memory(bench, &server, options.idle)?.to_string(),
    ])
}

/// Measures the program under test and its peers in turn, so that disturbances affect all alike.
fn compare(
    bench: &Bench,
    server: &Nginx,
    title: &str,
    unit: &str,
    work: &Work,
    rounds: u32,
) -> anyhow::Result<Table> {
    let peers: Vec<Peer> =
        Peer::ALL.into_iter().filter(|peer| peer.does(work) && peer.is_installed()).collect();
    let mut costs: Vec<Vec<f64>> = vec![Vec::new(); peers.len()];
    let mut rates: Vec<Vec<f64>> = vec![Vec::new(); peers.len()];
    for _ in 0..rounds {
        for (index, peer) in peers.iter().enumerate() {
            progress(&format!("{peer}, {work}"));
            let done = peer.work(bench, server.port, work)?;
            ensure!(done.count > 0, "{peer} did nothing in {work}");
            costs[index].push(done.cpu.as_secs_f64() * 1e6 / done.count as f64);
            rates[index].push(done.count as f64 / done.cpu.as_secs_f64());
        }
    }
    let mut table = Table::new(title, &["program", unit, "per CPU second", "httperf's relative cost"]);
    for (index, peer) in peers.iter().enumerate() {
        let ratios: Vec<f64> =
            costs[0].iter().zip(&costs[index]).map(|(ours, theirs)| ours / theirs).collect();
        table.row(vec![
            peer.to_string(),
            format!("{:.1}", median(&costs[index])),
            thousands(median(&rates[index]) as u64),
            format!("{:.2}", median(&ratios)),
        ]);
    }
    table.note(format!("medians of {rounds} rounds; the ratio is taken within each round"));
    for peer in Peer::ALL.into_iter().filter(|peer| peer.does(work) && !peer.is_installed()) {
        table.note(format!("{peer} is not installed"));
    }
    Ok(table)
}

/// Connections that have made a call and wait for their next one.
fn idle_memory(bench: &Bench, server: &Nginx, connections: u64) -> anyhow::Result<Table> {
    let hold = |count: u64| -> anyhow::Result<u64> {
        progress(&format!("memory with {} idle TLS connections", thousands(count)));
        let rate = 500.0;
        let seconds = count as f64 / rate + 5.0;
        let command = Peer::Httperf.command(
            bench,
            server.port,
            &[&format!("--wsess={count},2,{}", seconds * 2.0), &format!("--rate={rate}"), "--ssl"],
        );
        let mut client = crate::child::Running::start(command, bench.cores.client)?;
        wait_for_sockets(&mut client, count, Duration::from_secs_f64(seconds + 10.0))?;
        // The last replies are still in transit.
        std::thread::sleep(Duration::from_millis(500));
        let rss = rss_kib(&client)?;
        client.send(Signal::INT)?;
        client.finish(Duration::from_secs(10))?;
        Ok(rss)
    };
    let few = 10;
    let (base, held) = (hold(few).context("with few connections")?, hold(connections)?);
    let each = (held.saturating_sub(base)) as f64 / (connections - few) as f64;
    let mut table = Table::new(
        "Table 4e. Resident memory with idle TLS connections",
        &["connections", "RSS KiB", "KiB each"],
    );
    table.row(vec![few.to_string(), thousands(base), "base".into()]);
    table.row(vec![thousands(connections), thousands(held), format!("{each:.1}")]);
    Ok(table)
}

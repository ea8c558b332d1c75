//! Closed loops: tables 6a to 6d, and 6f.

use super::Options;
use super::programs::{Load, Outcome, Program, Site};
use crate::output::{Table, median, thousands};

/// Outstanding calls on a pipelined connection.
const DEPTH: u32 = 16;
/// Concurrent connections if each has only one call.
const NEW_CONNECTIONS: u32 = 64;
/// Numbers of connections for large bodies.
const BODY_CONNECTIONS: [u32; 2] = [1, 8];
/// Number of connections that threads share.
const SHARED_CONNECTIONS: u32 = 64;

/// Figure that is compared in addition to replies per second.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Cost {
    /// Processor time per reply; less is better.
    CpuPerReply,
    /// Replies per second of processor time; more is better.
    RepliesPerCpu,
}

/// Table 6a.
pub(super) fn kept(site: &Site<'_>, options: &Options) -> anyhow::Result<Vec<Table>> {
    let mut table = table("6a. Keep-alive, GET of 1 KiB, one thread", options, Cost::CpuPerReply);
    for program in [Program::Wrk, Program::Bare] {
        for &connections in &options.connections {
            let load = Load::closed_loop(connections, options.seconds);
            compare(&mut table, site, options, program, &load, Cost::CpuPerReply)?;
        }
    }
    table.note("goals: CPU at most 0.85 of wrk's and 1.10 of bare epoll's, replies/s at least 1.00 of wrk's");
    Ok(vec![table])
}

/// Table 6b.
pub(super) fn pipelined(site: &Site<'_>, options: &Options) -> anyhow::Result<Vec<Table>> {
    let mut table =
        table("6b. The same with 16 calls under way on each connection", options, Cost::CpuPerReply);
    for program in [Program::Wrk, Program::H2load, Program::Bare] {
        for &connections in &options.connections {
            let in_bursts = program != Program::H2load;
            let load = Load { pipeline: DEPTH, in_bursts, ..Load::closed_loop(connections, options.seconds) };
            compare(&mut table, site, options, program, &load, Cost::CpuPerReply)?;
        }
    }
    table.note("goal: CPU at most 0.90 of wrk's and h2load's");
    table.note("wrk (with its script) and bare epoll write 16 requests after 16 replies; httperf in their pairs does the same");
    table.note(
        "h2load (--h1) writes a request for each reply; httperf (--pipeline) in its pairs does the same",
    );
    Ok(vec![table])
}

/// Table 6c.
pub(super) fn connection_each(site: &Site<'_>, options: &Options) -> anyhow::Result<Vec<Table>> {
    let mut table = table("6c. A connection for each call", options, Cost::RepliesPerCpu);
    for program in [Program::Ab, Program::Wrk] {
        let load = Load { connection_each: true, ..Load::closed_loop(NEW_CONNECTIONS, options.seconds) };
        compare(&mut table, site, options, program, &load, Cost::RepliesPerCpu)?;
    }
    table.note("goal: connections per CPU second at least 1.10 of theirs");
    table.note("all with the kernel's default buffers");
    table.note("httperf and wrk send `Connection: close`, ab uses HTTP/1.0; none closes with RST");
    Ok(vec![table])
}

/// Table 6d.
pub(super) fn bodies(site: &Site<'_>, options: &Options) -> anyhow::Result<Vec<Table>> {
    let mut table = table("6d. Bodies of 1 MiB", options, Cost::CpuPerReply);
    for program in [Program::Wrk, Program::Bare] {
        for connections in BODY_CONNECTIONS {
            let load = Load { file: "1m", ..Load::closed_loop(connections, options.seconds) };
            compare(&mut table, site, options, program, &load, Cost::CpuPerReply)?;
        }
    }
    table.note("goal: CPU per byte, which is that per reply, at most 1.00 of wrk's");
    table.note("all with the kernel's default buffers; wrk and the bare program read every byte");
    Ok(vec![table])
}

/// Table 6f.
pub(super) fn two_threads(site: &Site<'_>, options: &Options) -> anyhow::Result<Vec<Table>> {
    let mut table = table("6f. Two threads against one", options, Cost::CpuPerReply);
    if !site.bench.ours.knows("--threads") {
        table.note("not measured: the program under test has no --threads");
        return Ok(vec![table]);
    }
    let one = Load::closed_loop(SHARED_CONNECTIONS, options.seconds);
    let two = Load { threads: 2, ..one };
    let run = |load: &Load| site.run(Program::Httperf, load);
    let pairs = in_turn(options.pairs, || run(&two), || run(&one))?;
    row(&mut table, &format!("one thread, {SHARED_CONNECTIONS} conns"), &pairs, Cost::CpuPerReply);
    table.note("goal: CPU at most 1.05 of that with one thread");
    let cores = site.bench.cores;
    if cores.second_client == cores.server {
        table.note(format!(
            "the second thread shares core {} with the server: there is no third",
            cores.server
        ));
    }
    Ok(vec![table])
}

pub(crate) fn table(title: &str, options: &Options, cost: Cost) -> Table {
    let cost = match cost {
        Cost::CpuPerReply => "CPU us/reply",
        Cost::RepliesPerCpu => "per CPU s",
    };
    Table::new(
        format!("Table {title}: {} alternating pairs, {} s each", options.pairs, options.seconds),
        &["httperf against", "replies/s", "theirs", "ratio", "of pairs", cost, "theirs", "ratio", "of pairs"],
    )
}

/// Measures pairs and adds a row for them, or a note if the other program is not available.
fn compare(
    table: &mut Table,
    site: &Site<'_>,
    options: &Options,
    program: Program,
    load: &Load,
    cost: Cost,
) -> anyhow::Result<()> {
    let name =
        format!("{program}, {} conn{}", load.connections, if load.connections == 1 { "" } else { "s" });
    if !program.is_installed() {
        table.note(format!("{name}: not installed"));
        return Ok(());
    }
    let pairs = in_turn(options.pairs, || site.run(Program::Httperf, load), || site.run(program, load))?;
    row(table, &name, &pairs, cost);
    Ok(())
}

/// Measures both in turn. The order alternates, so that neither always finds the state left by the other.
pub(crate) fn in_turn<T>(
    pairs: usize,
    mut ours: impl FnMut() -> anyhow::Result<T>,
    mut theirs: impl FnMut() -> anyhow::Result<T>,
) -> anyhow::Result<Vec<(T, T)>> {
    (0..pairs)
        .map(|pair| {
            if pair % 2 == 0 {
                let ours = ours()?;
                Ok((ours, theirs()?))
            } else {
                let theirs = theirs()?;
                Ok((ours()?, theirs))
            }
        })
        .collect()
}

pub(crate) fn row(table: &mut Table, name: &str, pairs: &[(Outcome, Outcome)], cost: Cost) {
    let mut cells = vec![name.to_owned()];
    cells.extend(medians_and_ratio(pairs, |outcome| outcome.rate, 0));
    cells.extend(match cost {
        Cost::CpuPerReply => medians_and_ratio(pairs, Outcome::cpu_us_per_reply, 2),
        Cost::RepliesPerCpu => medians_and_ratio(pairs, |outcome| 1e6 / outcome.cpu_us_per_reply(), 0),
    });
    table.row(cells);
    let errors = |errors: u64, who: &str| (errors > 0).then(|| format!("{name}: {errors} errors {who}"));
    let (ours, theirs) = pairs.iter().fold((0, 0), |sum, (a, b)| (sum.0 + a.errors, sum.1 + b.errors));
    for note in [errors(ours, "of httperf"), errors(theirs, "of the other")].into_iter().flatten() {
        table.note(note);
    }
}

/// Medians of ours, of theirs, and of the ratios within pairs, with minimum and maximum of the latter.
pub(crate) fn medians_and_ratio<T>(
    pairs: &[(T, T)],
    value: impl Fn(&T) -> f64,
    digits: usize,
) -> [String; 4] {
    let (ours, theirs): (Vec<f64>, Vec<f64>) = pairs.iter().map(|(a, b)| (value(a), value(b))).unzip();
    let ratios: Vec<f64> = ours.iter().zip(&theirs).map(|(ours, theirs)| ours / theirs).collect();
    let smallest = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let largest = ratios.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let number = |value: f64| match digits {
        0 => thousands(value.round() as u64),
        _ => format!("{value:.digits$}"),
    };
    [
        number(median(&ours)),
        number(median(&theirs)),
        format!("{:.3}", median(&ratios)),
        format!("{smallest:.2}..{largest:.2}"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ratio_is_taken_within_pairs() {
        let pairs = [(1.0, 2.0), (30.0, 10.0), (100.0, 100.0)];
        assert_eq!(medians_and_ratio(&pairs, |value| *value, 1), ["30.0", "10.0", "1.000", "0.50..3.00"]);
    }

    #[test]
    fn pairs_take_turns_in_going_first() {
        let order = std::cell::RefCell::new(String::new());
        let run = |name: char| {
            order.borrow_mut().push(name);
            Ok(name)
        };
        let pairs = in_turn(3, || run('a'), || run('b')).unwrap();
        assert_eq!(order.into_inner(), "abbaab");
        assert_eq!(pairs, [('a', 'b'); 3]);
    }
}

//! Checks of this machine for what would spoil a measurement, each a function of a system and of a plan.

mod system;

use std::collections::HashSet;

use httperf_plan::{Arrivals, Clients, Endpoint, Plan, SourceAddresses, Target, Workload};

pub(crate) use self::system::System;

/// The problems of this machine that would spoil a run of this plan, a sentence for each.
#[must_use]
pub(crate) fn problems(plan: &Plan) -> Vec<String> {
    let findings = all(&System::this(), &Need::of(plan));
    let problems = findings.into_iter().filter(|finding| finding.level == Level::Problem);
    problems
        .map(|Finding { name, text, remedy, .. }| match remedy {
            Some(remedy) => format!("{name}: {text}; mended by: {remedy}"),
            None => format!("{name}: {text}"),
        })
        .collect()
}

/// The plan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Need {
    /// Connections opened per second.
    pub(crate) rate: f64,
    /// Connections open at once.
    pub(crate) connections: u64,
    /// Connections that the run makes in all.
    pub(crate) total: u64,
    /// Combinations of a local address and an address of a server, each with ports of its own.
    pub(crate) pairs: u64,
    /// True if local ports are chosen by this program (`--hog`) and not by the kernel.
    pub(crate) is_hogging: bool,
    /// Threads that share the work.
    pub(crate) threads: u32,
    /// True if the server is on this machine.
    pub(crate) is_local: bool,
}

/// The assumed lifetime of a connection in a run with a rate; nobody knows it beforehand.
const OPEN_SECONDS: f64 = 0.1;

impl Need {
    /// The needs of a plan.
    pub(crate) fn of(plan: &Plan) -> Self {
        // A session opens a second connection only for calls that go side by side.
        let count = match &plan.workload {
            Workload::Connections(connections) => connections.count,
            Workload::Sessions(sessions) => sessions.count,
            Workload::Scenarios(scenarios) => scenarios.count,
            Workload::Calls(calls) => plan.pool_connections_expected(calls).into(),
            Workload::Replay(replay) => match replay.clients {
                Clients::Recorded { .. } => {
                    replay.recorded.clients.saturating_mul(replay.copies.get().into())
                }
                Clients::Independent { connections } => connections.get().into(),
            },
        };
        let interval = plan.arrivals.mean_interval();
        let (rate, at_once) = match plan.arrivals {
            Arrivals::Sequential => (0.0, 1.0),
            Arrivals::Concurrent(most) => (0.0, f64::from(most.get())),
            _ if interval > 0.0 => (1.0 / interval, OPEN_SECONDS / interval),
            _ => (0.0, count as f64),
        };
        let offered = plan
            .runtime
            .map_or(f64::INFINITY, |runtime| rate * runtime.saturating_add(plan.phases.warmup).as_secs_f64());
        let is_timed = rate > 0.0;
        let total = if is_timed { (count as f64).min(offered) } else { count as f64 } as u64;
        // Several servers may be behind one proxy.
        let servers: HashSet<&Endpoint> = plan.targets.iter().flat_map(Target::endpoints).collect();
        let is_tcp = servers.iter().any(|endpoint| matches!(endpoint, Endpoint::Tcp(_)));
        let is_local = servers.iter().all(|endpoint| match endpoint {
            Endpoint::Tcp(address) => address.ip().is_loopback(),
            Endpoint::Unix(_) => true,
        });
        // A connection that ends with a reset leaves no port behind, and one over a unix socket has none.
        let leaves_ports = is_tcp && !plan.sockets.close_with_reset;
        Self {
            rate: if leaves_ports { rate } else { 0.0 },
            connections: at_once.min(total as f64) as u64,
            total: if is_tcp { total } else { 0 },
            pairs: pairs(&plan.sockets.sources, servers.len() as u64, plan.sockets.hog),
            is_hogging: plan.sockets.hog,
            threads: plan.workers().get(),
            is_local,
        }
    }
}

/// The number of pairs of a local address and one of this many server addresses: each has ports of its own.
pub(crate) fn pairs(sources: &SourceAddresses, servers: u64, is_hogging: bool) -> u64 {
    let sources = u64::try_from(sources.len()).unwrap_or(u64::MAX).max(1);
    // A port that is bound before it is known where it goes is bound for all servers.
    if is_hogging { sources } else { sources.saturating_mul(servers.max(1)) }
}

/// The finding of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) level: Level,
    pub(crate) name: &'static str,
    pub(crate) text: String,
    /// A command, or what else to do.
    pub(crate) remedy: Option<String>,
}

/// Its severity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// As it should be.
    Good,
    /// Worth knowing; it may cost exactness.
    Note,
    /// The plan cannot be measured like this.
    Problem,
}

/// All findings, in the order of the checks. What this system does not have is left out.
pub(crate) fn all(system: &System, need: &Need) -> Vec<Finding> {
    [
        Some(open_files(system, need)),
        local_ports(system, need),
        backlog(system, need),
        connection_tracking(system, need),
        datagram_buffers(system),
        Some(processors(system, need)),
        processor_quota(system),
        governor(system),
        clock(system),
        other_work(system),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn good(name: &'static str, text: String) -> Finding {
    Finding { level: Level::Good, name, text, remedy: None }
}

/// Files that the program opens besides its connections, with room to spare.
const OTHER_FILES: u64 = 50;

/// The program raises its soft limit to the hard one by itself.
fn open_files(system: &System, need: &Need) -> Finding {
    let (_, most) = system.open_files;
    let needed = need.connections.saturating_add(OTHER_FILES);
    let text = format!("{most} files may be open, {needed} are needed");
    if most >= needed {
        return good("open files", text);
    }
    let remedy =
        format!("ulimit -n {needed} as root, or `* hard nofile {needed}` in /etc/security/limits.conf");
    Finding { level: Level::Problem, name: "open files", text, remedy: Some(remedy) }
}

/// The time for which Linux keeps a port whose connection was closed first at this end (`TCP_TIMEWAIT_LEN`).
const TIME_WAIT_SECONDS: f64 = 60.0;

/// Ports from 1024 on, which `--hog` uses.
const HOGGED_PORTS: u64 = 65_536 - 1024;

/// Ports of one local address towards one server: held by open connections and, for a minute, by closed ones, unless
/// the kernel takes those again (`tcp_tw_reuse`: 1 everywhere, 2 on the loopback interface, after a second). It never
/// takes them for a program that chooses its ports.
fn local_ports(system: &System, need: &Need) -> Option<Finding> {
    let range = system.read("/proc/sys/net/ipv4/ip_local_port_range")?;
    let mut bounds = range.split_whitespace().filter_map(|bound| bound.parse::<u64>().ok());
    let (first, last) = (bounds.next()?, bounds.next()?);
    let ports = if need.is_hogging { HOGGED_PORTS } else { (last + 1).saturating_sub(first) };
    let reuse = system.number("/proc/sys/net/ipv4/tcp_tw_reuse").unwrap_or(0);
    let is_reused = !need.is_hogging && (reuse == 1 || reuse == 2 && need.is_local);
    let wait_seconds = if is_reused { 1.0 } else { TIME_WAIT_SECONDS };
    let at_once = (need.connections as f64 + need.rate * wait_seconds).min(need.total as f64);
    let needed = (at_once / need.pairs as f64).ceil();
    let of_what = match (need.pairs, need.is_hogging) {
        (1, false) => "one server".to_owned(),
        (1, true) => "all servers".to_owned(),
        (pairs, false) => format!("each of {pairs} pairs of a local address and a server's"),
        (pairs, true) => format!("each of {pairs} local addresses"),
    };
    let text = format!(
        "{ports} local ports for {of_what}, {needed:.0} are needed at {} connections per second{}",
        need.rate,
        if is_reused { "" } else { ", as a closed one keeps its port for 60 s" }
    );
    if ports as f64 >= needed {
        return Some(good("local ports", text));
    }
    let remedy = if need.is_hogging {
        "more local addresses (--myaddr), or --close-with-reset"
    } else {
        "sysctl -w net.ipv4.ip_local_port_range='1024 65535' net.ipv4.tcp_tw_reuse=1, or more local addresses \
         (--myaddr), or --close-with-reset"
    };
    Some(Finding { level: Level::Problem, name: "local ports", text, remedy: Some(remedy.to_owned()) })
}

/// The time that a busy server may take to accept, without dropping connections.
const ACCEPT_SECONDS: f64 = 0.1;

/// Connections that may wait to be accepted, where the server runs here.
fn backlog(system: &System, need: &Need) -> Option<Finding> {
    let most = system.number("/proc/sys/net/core/somaxconn").filter(|_| need.is_local)?;
    let needed = (need.rate * ACCEPT_SECONDS).ceil();
    let text = format!(
        "{most} connections may wait for a server here to accept them, {needed:.0} come in a tenth of a second"
    );
    if most as f64 >= needed {
        return Some(good("backlog", text));
    }
    let remedy =
        format!("sysctl -w net.core.somaxconn={needed:.0}, and the same in the server's configuration");
    Some(Finding { level: Level::Note, name: "backlog", text, remedy: Some(remedy) })
}

/// A firewall's table, which has an entry for every connection and keeps it for a while.
fn connection_tracking(system: &System, need: &Need) -> Option<Finding> {
    let most = system.number("/proc/sys/net/netfilter/nf_conntrack_max")?;
    let used = system.number("/proc/sys/net/netfilter/nf_conntrack_count").unwrap_or(0);
    let kept_seconds =
        system.number("/proc/sys/net/netfilter/nf_conntrack_tcp_timeout_time_wait").unwrap_or(120);
    if used == 0 {
        // It is there, and nothing uses it.
        return Some(good("conntrack", "connections are not tracked".to_owned()));
    }
    let needed = used as f64 + need.connections as f64 + need.rate * kept_seconds as f64;
    let text = format!("{most} connections can be tracked, {needed:.0} are needed");
    if most as f64 >= needed {
        return Some(good("conntrack", text));
    }
    let remedy = format!("sysctl -w net.netfilter.nf_conntrack_max={needed:.0}");
    Some(Finding { level: Level::Problem, name: "conntrack", text, remedy: Some(remedy) })
}

/// Buffers of UDP sockets, which HTTP/3 needs: what does not fit into them is lost.
fn datagram_buffers(system: &System) -> Option<Finding> {
    let limit = |name: &str| system.number(&format!("/proc/sys/net/core/{name}"));
    let (receive, send) = (limit("rmem_max")?, limit("wmem_max")?);
    let asked = httperf_engine::DATAGRAM_BUFFER as u64;
    let text =
        format!("{receive} B to receive and {send} B to send are granted, HTTP/3 asks for {asked} each");
    if receive.min(send) >= asked {
        return Some(good("UDP buffers", text));
    }
    let (receive, send) = (receive.max(asked), send.max(asked));
    let remedy = format!("sysctl -w net.core.rmem_max={receive} net.core.wmem_max={send}");
    Some(Finding { level: Level::Note, name: "UDP buffers", text, remedy: Some(remedy) })
}

fn processors(system: &System, need: &Need) -> Finding {
    let (count, threads) = (system.processors, need.threads);
    let text = format!("{count} may be used");
    if threads as usize > count {
        return Finding {
            level: Level::Problem,
            name: "processors",
            text: format!("{text}, for which {threads} threads would keep each other waiting"),
            remedy: Some(format!("--threads={count}, or --threads=auto")),
        };
    }
    if count > 1 || !need.is_local {
        return good("processors", text);
    }
    Finding {
        level: Level::Note,
        name: "processors",
        text: format!("{text}, which the server on this machine shares"),
        remedy: Some("running the server on another machine".to_owned()),
    }
}

/// The share of the processors that a container may use (cgroups v2 `cpu.max`, v1 `cpu.cfs_quota_us`).
fn processor_quota(system: &System) -> Option<Finding> {
    let (quota_us, period_us) = quota_v2(system).or_else(|| quota_v1(system))?;
    let share = quota_us / period_us;
    let text = format!("a quota of {share:.2} processors, after which this process stands still for a while");
    let level = if share < 1.0 { Level::Problem } else { Level::Note };
    let remedy =
        "taking the quota off: docker run without --cpus, a pod without limits.cpu, or an empty CPUQuota=";
    Some(Finding { level, name: "quota", text, remedy: Some(remedy.to_owned()) })
}

/// Quota and period; `None` without a quota.
fn quota_v2(system: &System) -> Option<(f64, f64)> {
    let groups = system.read("/proc/self/cgroup")?;
    let own = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    // The quota may be that of a group above.
    let mut path = own.trim_end_matches('/');
    loop {
        if let Some(limit) = system.read(&format!("/sys/fs/cgroup{path}/cpu.max"))
            && let Some((quota, period)) = limit.split_once(' ')
            && let (Ok(quota), Ok(period)) = (quota.parse(), period.parse())
        {
            return Some((quota, period));
        }
        path = &path[..path.rfind('/')?];
    }
}

fn quota_v1(system: &System) -> Option<(f64, f64)> {
    let quota: f64 = system.read("/sys/fs/cgroup/cpu/cpu.cfs_quota_us")?.parse().ok()?;
    let period: f64 = system.read("/sys/fs/cgroup/cpu/cpu.cfs_period_us")?.parse().ok()?;
    (quota > 0.0 && period > 0.0).then_some((quota, period))
}

/// Processors that slow down when there is little to do make the little take longer.
fn governor(system: &System) -> Option<Finding> {
    let governors: Vec<String> = system
        .names("/sys/devices/system/cpu")
        .iter()
        .filter_map(|name| system.read(&format!("/sys/devices/system/cpu/{name}/cpufreq/scaling_governor")))
        .collect();
    let slow = governors.iter().find(|governor| *governor != "performance");
    match slow {
        None if governors.is_empty() => None,
        None => Some(good("governor", "performance".to_owned())),
        Some(slow) => Some(Finding {
            level: Level::Note,
            name: "governor",
            text: format!("{slow}: processors change their speed with the load"),
            remedy: Some("cpupower frequency-set -g performance".to_owned()),
        }),
    }
}

/// Clocks that are read without a call of the kernel, in some 20 ns. Others take a microsecond and more.
const QUICK_CLOCKS: [&str; 5] =
    ["tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter", "arm,sp804"];

fn clock(system: &System) -> Option<Finding> {
    let folder = "/sys/devices/system/clocksource/clocksource0";
    let current = system.read(&format!("{folder}/current_clocksource"))?;
    if QUICK_CLOCKS.contains(&current.as_str()) {
        return Some(good("clock", current));
    }
    let available = system.read(&format!("{folder}/available_clocksource")).unwrap_or_default();
    let better = available.split_whitespace().find(|name| QUICK_CLOCKS.contains(name));
    let remedy = better.map(|name| format!("echo {name} > {folder}/current_clocksource"));
    let text = format!("{current}, which takes long to read");
    Some(Finding { level: Level::Note, name: "clock", text, remedy })
}

/// From this load per processor on, something else is at work here.
const BUSY: f64 = 0.3;

fn other_work(system: &System) -> Option<Finding> {
    let load: f64 = system.read("/proc/loadavg")?.split(' ').next()?.parse().ok()?;
    let text = format!("load {load:.2} over the last minute");
    if load <= BUSY * system.processors as f64 {
        return Some(good("other work", text));
    }
    let remedy = "waiting until it is done, or stopping it (`top` shows what it is)".to_owned();
    Some(Finding { level: Level::Note, name: "other work", text, remedy: Some(remedy) })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const NEED: Need = Need {
        rate: 1000.0,
        connections: 1000,
        total: u64::MAX,
        pairs: 1,
        is_hogging: false,
        threads: 1,
        is_local: true,
    };

    /// A system with these files.
    fn system(files: &[(&str, &str)]) -> (System, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        for (path, contents) in files {
            let path = folder.path().join(path.trim_start_matches('/'));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("{contents}\n")).unwrap();
        }
        let system = System { root: folder.path().to_owned(), open_files: (1024, 20_000), processors: 2 };
        (system, folder)
    }

    #[track_caller]
    fn check(files: &[(&str, &str)], need: &Need, name: &str, level: Option<Level>) {
        let (system, _folder) = system(files);
        let findings = all(&system, need);
        let found = findings.iter().find(|finding| finding.name == name);
        assert_eq!(found.map(|finding| finding.level), level, "{files:?}: {findings:?}");
        // What is wrong can be mended, as far as there is something better.
        assert!(found.is_none_or(|finding| finding.level != Level::Problem || finding.remedy.is_some()));
    }

    #[test]
    fn a_system_that_says_nothing_has_only_what_every_system_has() {
        let (system, _folder) = system(&[]);
        let names: Vec<&str> = all(&system, &NEED).iter().map(|finding| finding.name).collect();
        assert_eq!(names, ["open files", "processors"]);
    }

    #[test]
    fn files_must_suffice_for_the_connections() {
        check(&[], &NEED, "open files", Some(Level::Good));
        check(&[], &Need { connections: 20_000, ..NEED }, "open files", Some(Level::Problem));
    }

    #[test]
    fn ports_wait_for_a_minute_unless_they_are_taken_again() {
        let range = ("/proc/sys/net/ipv4/ip_local_port_range", "32768\t60999");
        let reuse = |value| [range, ("/proc/sys/net/ipv4/tcp_tw_reuse", value)];
        let far = Need { is_local: false, ..NEED };
        for (value, need, level) in [
            ("0", NEED, Level::Problem),
            ("1", NEED, Level::Good),
            ("1", far, Level::Good),
            ("2", NEED, Level::Good),
            ("2", far, Level::Problem),
            ("2", Need { rate: 400.0, ..far }, Level::Good),
            ("1", Need { rate: 40_000.0, ..NEED }, Level::Problem),
        ] {
            check(&reuse(value), &need, "local ports", Some(level));
        }
    }

    #[test]
    fn every_pair_of_addresses_has_ports_of_its_own() {
        let files = [
            ("/proc/sys/net/ipv4/ip_local_port_range", "32768\t60999"),
            ("/proc/sys/net/ipv4/tcp_tw_reuse", "2"),
        ];
        let many = Need { rate: 3000.0, is_local: false, ..NEED };
        for (need, level) in [
            (many, Level::Problem),
            (Need { pairs: 6, ..many }, Level::Problem),
            (Need { pairs: 7, ..many }, Level::Good),
            // No port that waits is taken again, but there are more.
            (Need { is_hogging: true, rate: 1000.0, ..NEED }, Level::Good),
            (Need { is_hogging: true, rate: 1100.0, ..NEED }, Level::Problem),
            (Need { is_hogging: true, pairs: 3, ..many }, Level::Good),
        ] {
            check(&files, &need, "local ports", Some(level));
        }
        let mut sources = SourceAddresses::default();
        assert_eq!((pairs(&sources, 3, false), pairs(&sources, 3, true)), (3, 1));
        assert!(sources.push([127, 0, 0, 1].into(), [127, 0, 0, 4].into()));
        assert_eq!((pairs(&sources, 3, false), pairs(&sources, 3, true)), (12, 4));
    }

    #[test]
    fn the_backlog_matters_where_the_server_is() {
        let file = [("/proc/sys/net/core/somaxconn", "128")];
        check(&file, &NEED, "backlog", Some(Level::Good));
        check(&file, &Need { rate: 5000.0, ..NEED }, "backlog", Some(Level::Note));
        check(&file, &Need { rate: 5000.0, is_local: false, ..NEED }, "backlog", None);
    }

    #[test]
    fn a_table_of_connections_must_hold_those_that_were_closed_too() {
        let files = |count| {
            [
                ("/proc/sys/net/netfilter/nf_conntrack_max", "65536"),
                ("/proc/sys/net/netfilter/nf_conntrack_count", count),
            ]
        };
        check(&files("0"), &NEED, "conntrack", Some(Level::Good));
        check(&files("10"), &NEED, "conntrack", Some(Level::Problem));
        check(&files("10"), &Need { rate: 100.0, ..NEED }, "conntrack", Some(Level::Good));
    }

    #[test]
    fn buffers_of_datagrams_should_be_as_large_as_is_asked() {
        let of =
            |receive, send| [("/proc/sys/net/core/rmem_max", receive), ("/proc/sys/net/core/wmem_max", send)];
        check(&of("2097152", "4194304"), &NEED, "UDP buffers", Some(Level::Good));
        check(&of("4194304", "212992"), &NEED, "UDP buffers", Some(Level::Note));
        let (system, _folder) = system(&of("212992", "4194304"));
        assert_eq!(
            datagram_buffers(&system).unwrap().remedy.as_deref(),
            Some("sysctl -w net.core.rmem_max=2097152 net.core.wmem_max=4194304")
        );
    }

    #[test]
    fn a_quota_below_one_processor_is_a_problem_wherever_it_comes_from() {
        let group = ("/proc/self/cgroup", "0::/a/b");
        check(&[group, ("/sys/fs/cgroup/a/b/cpu.max", "max 100000")], &NEED, "quota", None);
        check(&[group, ("/sys/fs/cgroup/a/b/cpu.max", "50000 100000")], &NEED, "quota", Some(Level::Problem));
        check(&[group, ("/sys/fs/cgroup/a/cpu.max", "150000 100000")], &NEED, "quota", Some(Level::Note));
        let v1 = |quota| {
            [
                ("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", quota),
                ("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000"),
            ]
        };
        check(&v1("-1"), &NEED, "quota", None);
        check(&v1("20000"), &NEED, "quota", Some(Level::Problem));
    }

    #[test]
    fn every_processor_should_keep_its_speed() {
        let of = |first, second| {
            [
                ("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", first),
                ("/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", second),
            ]
        };
        check(&of("performance", "performance"), &NEED, "governor", Some(Level::Good));
        check(&of("performance", "powersave"), &NEED, "governor", Some(Level::Note));
    }

    #[test]
    fn a_slow_clock_is_replaced_if_there_is_a_quick_one() {
        let of = |current, available| {
            let folder = "/sys/devices/system/clocksource/clocksource0";
            system(&[
                (&format!("{folder}/current_clocksource"), current),
                (&format!("{folder}/available_clocksource"), available),
            ])
        };
        let remedy = |current, available| {
            let (system, _folder) = of(current, available);
            clock(&system).unwrap().remedy
        };
        assert_eq!(remedy("tsc", "tsc hpet"), None);
        assert_eq!(
            remedy("hpet", "hpet tsc").as_deref(),
            Some("echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource")
        );
        assert_eq!(remedy("hpet", "hpet acpi_pm"), None);
    }

    #[test]
    fn other_work_on_the_machine_is_noted() {
        check(&[("/proc/loadavg", "0.40 0.1 0.1 1/200 300")], &NEED, "other work", Some(Level::Good));
        check(&[("/proc/loadavg", "1.50 0.1 0.1 1/200 300")], &NEED, "other work", Some(Level::Note));
    }

    #[test]
    fn a_single_processor_should_not_be_shared_with_the_server() {
        let (mut system, _folder) = system(&[]);
        system.processors = 1;
        assert_eq!(processors(&system, &NEED).level, Level::Note);
        assert_eq!(processors(&system, &Need { is_local: false, ..NEED }).level, Level::Good);
    }

    #[test]
    fn more_threads_than_processors_are_too_many() {
        let (system, _folder) = system(&[]);
        assert_eq!(processors(&system, &Need { threads: 2, ..NEED }).level, Level::Good);
        let found = processors(&system, &Need { threads: 3, ..NEED });
        assert_eq!(found.level, Level::Problem);
        assert_eq!(found.text, "2 may be used, for which 3 threads would keep each other waiting");
    }
}

//! Free local ports for a run: those of connections that were closed a moment ago are not (`TIME_WAIT`).

use std::collections::HashMap;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::time::{Duration, Instant};

use httperf_plan::{Endpoint, Plan, Target, Workload};

use crate::runner::Runner;

/// Local ports, for each local address towards each server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ports {
    /// The number of free ports where there are fewest.
    pub(crate) free: u64,
    /// The number that the run needs.
    pub(crate) needed: u64,
    /// The number of all of them.
    pub(crate) all: u64,
}

/// Ports from 1024 on, which `--hog` uses.
const HOGGED: (u64, u64) = (1024, 65_535);

/// The assumed length of a plan that has no end: longer than there are ports for.
const ENDLESS_S: f64 = 3600.0;

impl Ports {
    /// Reads the state that a run of this plan finds below `root`, which stands for `/`, if as many processes on as many
    /// machines share its connections; `None` if there is nothing to wait for: no connections over TCP, or a system that
    /// gives such ports to new connections at once.
    pub(crate) fn look(plan: &Plan, ranks: u32, root: &Path) -> Option<Self> {
        let path = root.join("proc/sys/net/ipv4/tcp_tw_reuse");
        let reuse =
            fs::read_to_string(path).ok().and_then(|text| text.trim().parse::<u64>().ok()).unwrap_or(0);
        let is_local = servers(plan).iter().all(|server| server.ip().is_loopback());
        let is_reused = !plan.sockets.hog && (reuse == 1 || reuse == 2 && is_local);
        if is_reused { None } else { Self::count(plan, ranks, root) }
    }

    /// As [`look`](Self::look), whether or not the system gives ports of closed connections to new ones: it does so only a
    /// second later.
    pub(crate) fn count(plan: &Plan, ranks: u32, root: &Path) -> Option<Self> {
        let servers = servers(plan);
        if servers.is_empty() {
            return None;
        }
        let read = |path: &str| fs::read_to_string(root.join(path)).ok();
        let (first, last) = match plan.sockets.hog {
            true => HOGGED,
            false => {
                let range = read("proc/sys/net/ipv4/ip_local_port_range")?;
                let mut bounds = range.split_whitespace().filter_map(|bound| bound.parse::<u64>().ok());
                (bounds.next()?, bounds.next()?)
            }
        };
        let all = (last + 1).saturating_sub(first);
        let tables = ["proc/net/tcp", "proc/net/tcp6"].map(|path| read(path).unwrap_or_default());
        let waiting = tables.iter().map(|table| most_waiting(table, &servers)).max().unwrap_or(0);
        let pairs = servers.len() as f64 * (plan.sockets.sources.len().max(1) as f64) * f64::from(ranks);
        // A run that needs more than there are finds as many as there can be.
        let needed = ((connections(plan) / pairs).ceil() as u64).min(all);
        Some(Self { free: all.saturating_sub(waiting), needed, all })
    }

    /// Looks until there are enough local ports. Returns those there are, if that takes longer than until the deadline, or if
    /// somebody asks for the end. `show` is told before each wait.
    pub(crate) fn await_enough(
        look: &dyn Fn() -> Option<Self>,
        runner: &Runner,
        deadline: Instant,
        show: &mut dyn FnMut(),
    ) -> Option<Self> {
        /// The time between two readings of the kernel's tables, which may be long.
        const GLANCE: Duration = Duration::from_millis(500);
        loop {
            let ports = look().filter(|ports| !ports.suffice())?;
            if Instant::now() >= deadline || runner.is_interrupted() {
                return Some(ports);
            }
            show();
            runner.pause(GLANCE.min(deadline.saturating_duration_since(Instant::now())));
        }
    }

    pub(super) fn suffice(self) -> bool {
        self.free >= self.needed
    }
}

/// The servers of a plan that are reached over TCP.
fn servers(plan: &Plan) -> Vec<SocketAddr> {
    let endpoints = plan.targets.iter().flat_map(Target::endpoints);
    let addresses = endpoints.filter_map(|endpoint| match endpoint {
        Endpoint::Tcp(address) => Some(*address),
        Endpoint::Unix(_) => None,
    });
    addresses.collect()
}

/// The approximate number of connections that a run opens.
fn connections(plan: &Plan) -> f64 {
    if let Workload::Calls(calls) = &plan.workload {
        return plan.pool_connections_expected(calls).into();
    }
    let offered_s =
        plan.runtime.map_or(ENDLESS_S, |runtime| runtime.saturating_add(plan.phases.warmup).as_secs_f64());
    let interval = plan.arrivals.mean_interval();
    let arrivals = if interval > 0.0 { offered_s / interval } else { f64::INFINITY };
    arrivals.min(plan.arrivals_max() as f64)
}

/// Returns the number of closed connections that keep their port in a table of the kernel's, among those from the same local address to the
/// same of these servers: where there are most.
fn most_waiting(table: &str, servers: &[SocketAddr]) -> u64 {
    /// `TCP_TIME_WAIT` in the kernel's `include/net/tcp_states.h`.
    const TIME_WAIT: &str = "06";
    let mut counts: HashMap<(IpAddr, SocketAddr), u64> = HashMap::new();
    for line in table.lines().skip(1) {
        let mut fields = line.split_whitespace().skip(1);
        let (Some(local), Some(remote), Some(TIME_WAIT)) = (fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        if let (Some(local), Some(remote)) = (address(local), address(remote))
            && servers.contains(&remote)
        {
            *counts.entry((local.ip(), remote)).or_default() += 1;
        }
    }
    counts.into_values().max().unwrap_or(0)
}

/// An address as the kernel prints it: words of 32 bits in the machine's order of bytes, a colon, and the port.
fn address(text: &str) -> Option<SocketAddr> {
    let (address, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let words: Vec<[u8; 4]> = address
        .as_bytes()
        .chunks(8)
        .map(|word| Some(u32::from_str_radix(str::from_utf8(word).ok()?, 16).ok()?.to_ne_bytes()))
        .collect::<Option<_>>()?;
    let address = match words[..] {
        [v4] => IpAddr::V4(Ipv4Addr::from(v4)),
        [a, b, c, d] => {
            let bytes = [a, b, c, d].concat();
            Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?).to_canonical()
        }
        _ => return None,
    };
    Some(SocketAddr::new(address, port))
}

#[cfg(test)]
mod tests {
    use httperf_plan::{Arrivals, UNLIMITED};
    use httperf_testkit::sim::{Edit, calls, connections};
    use tempfile::TempDir;

    use super::*;

    /// Two closed connections from 192.0.2.7 to 198.51.100.9:80, one from 192.0.2.8, one to another port, one that is
    /// open, and one that the server closed.
    const TCP: &str = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 070200C0:8001 096433C6:0050 06 00000000:00000000 03:00001770 00000000     0        0 0 3 0000000000000000
   1: 070200C0:8002 096433C6:0050 06 00000000:00000000 03:00001770 00000000     0        0 0 3 0000000000000000
   2: 080200C0:8002 096433C6:0050 06 00000000:00000000 03:00001770 00000000     0        0 0 3 0000000000000000
   3: 070200C0:8003 096433C6:0051 06 00000000:00000000 03:00001770 00000000     0        0 0 3 0000000000000000
   4: 070200C0:8004 096433C6:0050 01 00000000:00000000 00:00000000 00000000     0        0 1 1 0000000000000000
   5: 070200C0:0050 096433C6:8001 06 00000000:00000000 03:00001770 00000000     0        0 0 3 0000000000000000
";

    /// The same towards 2001:db8::9, port 80, and one that is an IPv4 address in the form of IPv6.
    const TCP6: &str = "\
  sl  local_address                         remote_address                        st tx_queue rx_queue
   0: B80D0120000000000000000007000000:8001 B80D0120000000000000000009000000:0050 06 00000000:00000000
   1: 0000000000000000FFFF0000070200C0:8001 0000000000000000FFFF0000096433C6:0050 06 00000000:00000000
";

    fn machine(reuse: &str, range: &str) -> TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in [
            ("proc/net/tcp", TCP),
            ("proc/net/tcp6", TCP6),
            ("proc/sys/net/ipv4/tcp_tw_reuse", reuse),
            ("proc/sys/net/ipv4/ip_local_port_range", range),
        ] {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    fn plan_to(server: &str, rate: f64, seconds: u64) -> Plan {
        connections(UNLIMITED, 1, 1).with(|plan| {
            plan.arrivals = Arrivals::Deterministic { period: 1.0 / rate };
            plan.targets = [Target::direct("server", None, Endpoint::Tcp(server.parse().unwrap()))].into();
            plan.runtime = Some(Duration::from_secs(seconds));
        })
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn closed_connections_count_for_their_local_address_and_server() {
        let count = |table, server: &str| most_waiting(table, &[server.parse().unwrap()]);
        assert_eq!(count(TCP, "198.51.100.9:80"), 2);
        assert_eq!(count(TCP, "198.51.100.9:81"), 1);
        assert_eq!(count(TCP, "198.51.100.10:80"), 0);
        assert_eq!(count(TCP6, "[2001:db8::9]:80"), 1);
        assert_eq!(count(TCP6, "198.51.100.9:80"), 1);
        assert_eq!(count("", "198.51.100.9:80"), 0);
        assert_eq!(count("head\nrubbish\n 1: x:y z 06\n", "198.51.100.9:80"), 0);
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn a_run_needs_a_port_for_each_connection() {
        let machine = machine("0\n", "32768\t32867\n");
        let look = |rate, seconds| {
            Ports::look(&plan_to("198.51.100.9:80", rate, seconds), 1, machine.path()).unwrap()
        };
        assert_eq!(look(9.0, 10), Ports { free: 98, needed: 90, all: 100 });
        assert!(look(9.0, 10).suffice());
        assert!(!look(9.9, 10).suffice());
        assert_eq!(
            look(50.0, 10),
            Ports { free: 98, needed: 100, all: 100 },
            "all of them, when there are too few"
        );
    }

    #[test]
    fn nothing_is_waited_for_where_the_system_reuses_ports() {
        let look = |reuse, server, hog| {
            let mut plan = plan_to(server, 10.0, 1);
            plan.change(|plan| plan.sockets.hog = hog);
            Ports::look(&plan, 1, machine(reuse, "32768 60999").path())
        };
        assert_eq!(look("1\n", "198.51.100.9:80", false), None);
        assert_eq!(look("2\n", "127.0.0.1:80", false), None);
        assert!(look("2\n", "198.51.100.9:80", false).is_some());
        assert!(look("2\n", "127.0.0.1:80", true).is_some());
        assert_eq!(Ports::look(&plan_to("198.51.100.9:80", 10.0, 1), 1, Path::new("/nonexistent")), None);
    }

    #[test]
    fn calls_over_kept_connections_need_few_ports() {
        let mut plan = calls(UNLIMITED, 1e6, 10);
        plan.change(|plan| plan.targets = plan_to("198.51.100.9:80", 1.0, 1).into_fields().targets);
        assert_eq!(Ports::look(&plan, 1, machine("0", "32768 60999").path()).unwrap().needed, 10);
    }
}

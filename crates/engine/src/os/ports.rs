//! Local ports that this program selects instead of the kernel.
//!
//! With `--hog`, a socket is bound to a port from 1024 on. Without it, the kernel selects one of the ephemeral ports
//! when a connection is made. It first searches half of them one by one, and a run that has used these up pays for the
//! search with each connection: at 16,000 connections/s it takes most of a processor. A run that opens many
//! connections therefore names the next port itself (`IP_LOCAL_PORT_RANGE`, Linux 6.3, ip(7)), in rounds: that port has
//! been closed for longest. The kernel still decides at the connect whether a port can be used.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use httperf_plan::scenario::{Reach, Scenarios};
use httperf_plan::{Clients, Endpoint, Plan, Replay, Target, UNLIMITED, Workload};

/// The first port that needs no privilege.
const FIRST: u16 = 1024;

/// The maximum number of ports tried for a connection. Each try takes one to three microseconds, which delay the
/// schedule.
const ATTEMPTS_MAX: u32 = 256;

/// The number of ports tried after a search in which all were in use.
const ATTEMPTS_MIN: u32 = 16;

/// The number of further tries earned by each port found, which keeps failed searches a small part of the work.
const ATTEMPTS_EARNED: u32 = 4;

/// The number of consecutive ports in use after which the search continues elsewhere: an earlier run, or another
/// program, may have used thousands of adjacent ports.
const STRETCH: u32 = 16;

/// The number of random ports from which the start of a round is selected if many ports may be in use: the one followed
/// by the most free ports.
const BEGINNINGS: usize = 16;

/// The share of the ephemeral ports that a run must need towards one server to select ports itself.
const MANY: f64 = 1.0 / 4.0;

/// The selection of local ports.
#[derive(Debug)]
pub(super) enum Ports {
    /// The kernel selects.
    Kernel {
        /// The ephemeral ports.
        range: Option<(u16, u16)>,
        /// The number of connections until the run counts as one with many.
        left: u64,
    },
    /// The program selects from all ports above 1023, for each source address (`--hog`).
    Hogged(Rounds<IpAddr>),
    /// The program selects from the ephemeral ports, for each source address and server.
    Ephemeral(Rounds<(Option<IpAddr>, SocketAddr)>),
}

impl Ports {
    /// Creates the selection for a plan. `root` replaces `/` in paths of system files.
    pub(super) fn new(plan: &Plan, root: &Path) -> Self {
        if plan.sockets.hog {
            let taken = taken(root);
            return Self::Hogged(Rounds::avoiding((FIRST, u16::MAX), |port| taken[usize::from(port)]));
        }
        // With TCP Fast Open, the port is selected when the first bytes are sent.
        let range = ephemeral(root).filter(|_| !plan.sockets.fast_open);
        let few = range.map_or(f64::INFINITY, |(first, last)| f64::from(last - first + 1) * MANY);
        let mut ports = Self::Kernel { range, left: few as u64 };
        if connections(plan) >= few {
            ports.choose();
        }
        ports
    }

    /// Selects ephemeral ports in the program from now on, if their range is known.
    fn choose(&mut self) {
        if let Self::Kernel { range: Some(range), .. } = *self {
            *self = Self::Ephemeral(Rounds::new(range));
        }
    }

    /// Leaves the selection to the kernel from now on.
    pub(super) fn leave_to_kernel(&mut self) {
        *self = Self::Kernel { range: None, left: u64::MAX };
    }

    /// Counts a connection, since a run may make more connections than planned.
    pub(super) fn note_connection(&mut self) {
        if let Self::Kernel { left, .. } = self {
            *left = left.saturating_sub(1);
            if *left == 0 {
                self.choose();
            }
        }
    }
}

/// Estimates the number of connections that a visit makes to one server.
fn connections_of_visit(scenarios: &Scenarios) -> u32 {
    match scenarios.connections {
        Reach::Visit => 1,
        Reach::Call => {
            let calls = scenarios.scenarios.iter().map(|scenario| scenario.calls().len()).max();
            calls.and_then(|calls| u32::try_from(calls).ok()).unwrap_or(1)
        }
    }
}

/// Estimates the number of connections that the clients of a recording make: each as many as it may.
fn connections_of_replay(replay: &Replay) -> f64 {
    let copies = f64::from(replay.copies.get());
    match replay.clients {
        Clients::Independent { connections } => connections.get().into(),
        Clients::Recorded { connections, .. } => {
            let clients = replay.recorded.clients as f64 * f64::from(connections.get());
            copies * clients.min(replay.recorded.requests as f64)
        }
    }
}

/// Estimates the number of connections that a plan makes from one local address to one server.
fn connections(plan: &Plan) -> f64 {
    let each = match &plan.workload {
        Workload::Connections(_) => 1,
        Workload::Sessions(sessions) => sessions.max_connections.get(),
        Workload::Scenarios(scenarios) => connections_of_visit(scenarios),
        Workload::Calls(calls) => return plan.pool_connections_expected(calls).into(),
        Workload::Replay(replay) => return connections_of_replay(replay),
    };
    let count = |count: u64| if count == UNLIMITED { f64::INFINITY } else { count as f64 };
    let interval = plan.arrivals.mean_interval();
    let in_time = match plan.runtime {
        Some(runtime) if interval > 0.0 => {
            runtime.saturating_add(plan.phases.warmup).as_secs_f64() / interval
        }
        _ => f64::INFINITY,
    };
    let servers = plan.targets.iter().flat_map(Target::endpoints);
    let servers = servers.filter(|endpoint| matches!(endpoint, Endpoint::Tcp(_))).count().max(1);
    let pairs = servers as f64 * plan.sockets.sources.len().max(1) as f64;
    in_time.min(count(plan.arrivals_max())) * f64::from(each) / pairs
}

/// Returns the first and the last port that a connection of this plan may come from.
pub(super) fn local_ports(plan: &Plan, root: &Path) -> (u16, u16) {
    let ephemeral = ephemeral(root).filter(|_| !plan.sockets.hog);
    ephemeral.unwrap_or((FIRST, u16::MAX))
}

/// Returns the range of ephemeral ports.
fn ephemeral(root: &Path) -> Option<(u16, u16)> {
    let range = fs::read_to_string(root.join("proc/sys/net/ipv4/ip_local_port_range")).ok()?;
    let mut ends = range.split_whitespace().filter_map(|end| end.parse().ok());
    Some((ends.next()?, ends.next()?)).filter(|(first, last)| first <= last)
}

/// Returns, for each port, true if any socket uses it on any address, including closed ones in `TIME_WAIT`.
fn taken(root: &Path) -> Vec<bool> {
    let mut taken = vec![false; usize::from(u16::MAX) + 1];
    for table in ["proc/net/tcp", "proc/net/tcp6"] {
        let Ok(text) = fs::read_to_string(root.join(table)) else { continue };
        let ports = text.lines().skip(1).filter_map(|line| {
            let (_, port) = line.split_whitespace().nth(1)?.rsplit_once(':')?;
            u16::from_str_radix(port, 16).ok()
        });
        ports.for_each(|port| taken[usize::from(port)] = true);
    }
    taken
}

/// Rounds through a range of ports, one for each `K`.
#[derive(Debug)]
pub(super) struct Rounds<K> {
    range: (u16, u16),
    /// The port at which each round starts.
    begin: u16,
    /// The rounds. Most runs have few, for which a comparison or two are faster than a hash.
    rounds: BTreeMap<K, Round>,
}

#[derive(Debug)]
struct Round {
    next: u16,
    /// The number of ports to try for a connection.
    attempts: u32,
}

impl<K: Ord> Rounds<K> {
    /// Creates rounds that start at a random port, so that successive or simultaneous runs do not use the same ports.
    fn new(range: (u16, u16)) -> Self {
        let random = RandomState::new().build_hasher().finish() % u64::from(size(range));
        Self { range, begin: further(range, range.0, random as u32), rounds: BTreeMap::new() }
    }

    /// Creates rounds that start at a random port followed by few ports in use.
    fn avoiding(range: (u16, u16), is_taken: impl Fn(u16) -> bool) -> Self {
        let free_ports = |rounds: &Self| {
            let ports = (0..size(range)).map(|by| further(range, rounds.begin, by));
            ports.take_while(|&port| !is_taken(port)).count()
        };
        let several = std::iter::repeat_with(|| Self::new(range)).take(BEGINNINGS);
        several.max_by_key(free_ports).expect("there are some")
    }

    /// Tries ports in turn until `attempt` finds a free one.
    ///
    /// # Errors
    /// The first error of `attempt`.
    pub(super) fn find<E>(
        &mut self,
        key: K,
        mut attempt: impl FnMut(u16) -> Result<bool, E>,
    ) -> Result<Search, E> {
        let (range, begin) = (self.range, self.begin);
        let round = self.rounds.entry(key).or_insert(Round { next: begin, attempts: ATTEMPTS_MAX });
        let most = round.attempts.min(size(range));
        for tried in 1..=most {
            let port = round.next;
            round.next = further(range, port, 1);
            if attempt(port)? {
                round.attempts = (round.attempts + ATTEMPTS_EARNED).min(ATTEMPTS_MAX);
                return Ok(Search::Found);
            }
            if tried.is_multiple_of(STRETCH) && most < size(range) {
                round.next = further(range, round.next, leap(range));
            }
        }
        let is_again = round.attempts < ATTEMPTS_MAX;
        round.attempts = ATTEMPTS_MIN;
        Ok(if is_again { Search::InVainAgain } else { Search::InVain })
    }
}

/// The outcome of a search for a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Search {
    /// A port was free.
    Found,
    /// None of many ports was free.
    InVain,
    /// None of a few ports was free, shortly after none of many was.
    InVainAgain,
}

/// Returns the number of ports in a range.
fn size((first, last): (u16, u16)) -> u32 {
    u32::from(last) - u32::from(first) + 1
}

/// Returns the port `by` places further on, wrapping round at the end of the range.
fn further(range: (u16, u16), port: u16, by: u32) -> u16 {
    let place = (u32::from(port - range.0) + by) % size(range);
    range.0 + place as u16
}

/// Returns the golden section of a range: steps of that length reach evenly spread ports.
fn leap(range: (u16, u16)) -> u32 {
    (f64::from(size(range)) * 0.618_033_988_749_895) as u32
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::time::Duration;

    use httperf_plan::{Arrivals, PlanFields};
    use httperf_testkit::sim::{Edit, at_once, calls, connections as planned};
    use tempfile::TempDir;

    use super::*;

    /// Searches a free port, and counts the tries.
    fn find(rounds: &mut Rounds<u8>, key: u8, is_taken: impl Fn(u16) -> bool) -> (Option<u16>, u32) {
        let (mut tried, mut found) = (0, None);
        let is_found = rounds.find(key, |port| {
            tried += 1;
            found = (!is_taken(port)).then_some(port);
            Ok::<bool, Infallible>(found.is_some())
        });
        assert_eq!(is_found == Ok(Search::Found), found.is_some());
        (found, tried)
    }

    fn rounds(range: (u16, u16)) -> Rounds<u8> {
        Rounds::new(range)
    }

    #[test]
    fn ports_go_round_for_each_address_by_itself() {
        let mut rounds = rounds((FIRST, u16::MAX));
        let mut first: Vec<u16> = (0..64_512).map(|_| find(&mut rounds, 1, |_| false).0.unwrap()).collect();
        assert_eq!(find(&mut rounds, 1, |_| false).0, Some(first[0]), "round again");
        assert_eq!(
            find(&mut rounds, 2, |_| false).0,
            Some(first[0]),
            "another address has a round of its own"
        );
        assert_eq!(first[1], further((FIRST, u16::MAX), first[0], 1));
        first.sort_unstable();
        assert!(first.into_iter().eq(FIRST..=u16::MAX), "each port once");
    }

    #[test]
    fn rounds_begin_elsewhere_each_time() {
        let begins: Vec<u16> = (0..4).map(|_| rounds((FIRST, u16::MAX)).begin).collect();
        assert!(begins.iter().any(|begin| *begin != begins[0]), "{begins:?}");
    }

    #[test]
    fn ports_that_an_earlier_run_used_side_by_side_are_leapt_over() {
        let is_taken = |port: u16| (20_000..60_000).contains(&port);
        // With a check before the start, the first port tried is free.
        let mut looked = Rounds::avoiding((FIRST, u16::MAX), is_taken);
        assert_eq!(find(&mut looked, 1, is_taken).1, 1);
        // Without it, a few stretches are tried at most.
        let mut rounds = rounds((FIRST, u16::MAX));
        let tried: Vec<u32> = (0..5000)
            .map(|_| {
                let (found, tried) = find(&mut rounds, 1, is_taken);
                assert!(found.is_some_and(|port| !is_taken(port)));
                tried
            })
            .collect();
        assert!(tried.iter().all(|&tried| tried <= 6 * STRETCH + 1), "{:?}", tried.iter().max());
        assert!(tried.iter().sum::<u32>() < 5200, "hardly any is tried in vain");
    }

    #[test]
    fn an_address_without_a_free_port_is_not_searched_for_long() {
        let mut rounds = rounds((FIRST, u16::MAX));
        let tries = |rounds: &mut Rounds<u8>, key, is_full: bool| find(rounds, key, |_| is_full).1;
        assert_eq!((tries(&mut rounds, 1, true), tries(&mut rounds, 1, true)), (256, 16));
        assert_eq!(tries(&mut rounds, 2, true), 256, "another address may have some");
        assert_eq!((tries(&mut rounds, 1, false), tries(&mut rounds, 1, true)), (1, 20));
        assert!((0..100).all(|_| tries(&mut rounds, 1, false) == 1));
        assert_eq!(tries(&mut rounds, 1, true), 256);
        // In a small range, each port is tried once.
        let mut small = Rounds::new((50_000, 50_009));
        assert_eq!(find(&mut small, 1, |port| port != 50_007).0, Some(50_007));
        assert_eq!(find(&mut small, 1, |_| true).1, 10);
        let mut single = Rounds::new((7, 7));
        assert_eq!(find(&mut single, 1, |_| false).0, Some(7));
    }

    fn machine(range: &str, table: &str) -> TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in [("proc/net/tcp", table), ("proc/sys/net/ipv4/ip_local_port_range", range)] {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    #[test]
    fn every_socket_has_its_port_whatever_its_state() {
        let table = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:8001 0100007F:0050 06 00000000:00000000 03:00001770 00000000     0        0 0 3 0000000000000000
   1: 00000000:0050 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0000000000000000
   rubbish
";
        let taken = taken(machine("", table).path());
        let ports: Vec<usize> = (0..taken.len()).filter(|&port| taken[port]).collect();
        assert_eq!(ports, [0x50, 0x8001]);
        assert!(!super::taken(Path::new("/nonexistent")).contains(&true));
    }

    #[test]
    fn ports_are_chosen_here_when_a_run_needs_many() {
        let machine = machine("32768\t60999\n", "");
        let is_chosen = |change: &dyn Fn(&mut PlanFields)| {
            let plan = planned(UNLIMITED, 1, 1).with(|plan| {
                plan.arrivals = Arrivals::Deterministic { period: 0.001 };
                plan.runtime = Some(Duration::from_secs(7));
                change(plan);
            });
            matches!(Ports::new(&plan, machine.path()), Ports::Ephemeral(_))
        };
        assert!(!is_chosen(&|_| {}), "7,000 connections find one each");
        assert!(is_chosen(&|plan| plan.runtime = Some(Duration::from_secs(8))));
        assert!(is_chosen(&|plan| plan.arrivals = at_once(8)), "nobody knows how many there will be");
        assert!(!is_chosen(&|plan| {
            plan.runtime = None;
            plan.workload = planned(5000, 1, 1).into_fields().workload;
        }));
        assert!(!is_chosen(&|plan| {
            plan.runtime = Some(Duration::from_secs(8));
            plan.sockets.sources.push([127, 0, 0, 1].into(), [127, 0, 0, 2].into());
        }));
        assert!(!is_chosen(&|plan| *plan = calls(UNLIMITED, 1e6, 100).into_fields()));
        assert!(!is_chosen(&|plan| {
            plan.arrivals = at_once(8);
            plan.sockets.fast_open = true;
        }));
        assert!(!matches!(
            Ports::new(&planned(UNLIMITED, 1, 1), Path::new("/nonexistent")),
            Ports::Ephemeral(_)
        ));
        // A pool makes many connections if the server closes each of them.
        let mut ports = Ports::new(&calls(UNLIMITED, 1e6, 100), machine.path());
        (0..7057).for_each(|_| ports.note_connection());
        assert!(matches!(ports, Ports::Kernel { .. }));
        ports.note_connection();
        assert!(matches!(ports, Ports::Ephemeral(_)));
        ports.leave_to_kernel();
        (0..100_000).for_each(|_| ports.note_connection());
        assert!(matches!(ports, Ports::Kernel { .. }));
    }
}

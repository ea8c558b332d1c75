//! Linux's counters of this process, this thread and this machine.

use std::fs;
use std::time::Duration;

use httperf_stats::{Counters, CpuTime, ThreadUsage, UdpLosses};
use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::time::TimeVal;

/// Reads all counters. Those that the system lacks are 0.
pub(super) fn read() -> Counters {
    let usage = |who| getrusage(who).expect("getrusage knows processes and threads");
    let thread = usage(UsageWho::RUSAGE_THREAD);
    let machine = fs::read_to_string("/proc/stat").ok().and_then(|text| machine(&text)).unwrap_or_default();
    Counters {
        process: cpu_time(&usage(UsageWho::RUSAGE_SELF)),
        thread: ThreadUsage {
            cpu: cpu_time(&thread),
            kept_waiting: kept_waiting().unwrap_or_default(),
            preempted: thread.involuntary_context_switches().unsigned_abs(),
        },
        stolen: machine.stolen,
        processors: machine.processors,
        udp: udp_losses(&network_counters("snmp"), &network_counters("snmp6")),
    }
}

/// Reads counters of the network namespace of this thread. Empty if the system has none.
fn network_counters(name: &str) -> String {
    fs::read_to_string(format!("/proc/thread-self/net/{name}")).unwrap_or_default()
}

/// Returns the datagrams that the machine has lost, over IPv4 (a line of names, and one of values) and IPv6 (a name and
/// its value in each line).
fn udp_losses(snmp: &str, snmp6: &str) -> UdpLosses {
    let mut lines = snmp.lines().filter_map(|line| line.strip_prefix("Udp: "));
    let (names, values) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    let over_ipv4 = names.split_whitespace().zip(values.split_whitespace());
    let over_ipv6 = snmp6.lines().filter_map(|line| {
        let mut words = line.strip_prefix("Udp6")?.split_whitespace();
        words.next().zip(words.next())
    });
    let mut losses = UdpLosses::default();
    for (name, value) in over_ipv4.chain(over_ipv6) {
        let count = match name {
            "RcvbufErrors" | "MemErrors" => &mut losses.receive,
            "SndbufErrors" => &mut losses.send,
            _ => continue,
        };
        *count += value.parse().unwrap_or(0);
    }
    losses
}

fn cpu_time(usage: &Usage) -> CpuTime {
    CpuTime { user: duration(usage.user_time()), system: duration(usage.system_time()) }
}

fn duration(time: TimeVal) -> Duration {
    Duration::from_secs(time.tv_sec().unsigned_abs()) + Duration::from_micros(time.tv_usec().unsigned_abs())
}

/// Returns the time this thread waited for a processor: the second number of `schedstat`, in nanoseconds.
///
/// <https://docs.kernel.org/scheduler/sched-stats.html#proc-pid-schedstat>
fn kept_waiting() -> Option<Duration> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().nth(1)?.parse().ok().map(Duration::from_nanos)
}

/// The figures of `/proc/stat` (proc_stat(5)).
#[derive(Debug, Default, PartialEq, Eq)]
struct Machine {
    stolen: Duration,
    processors: u32,
}

/// Parses the `steal` column of the first line, in ticks of 10 ms, and counts the processors, each with its own line,
/// whether or not this thread may use them.
fn machine(stat: &str) -> Option<Machine> {
    let mut lines = stat.lines();
    let ticks: u64 = lines.next()?.split_whitespace().nth(8)?.parse().ok()?;
    let per_second = rustix::param::clock_ticks_per_second().max(1);
    Some(Machine {
        stolen: Duration::from_nanos(ticks.saturating_mul(1_000_000_000 / per_second)),
        processors: u32::try_from(lines.take_while(|line| line.starts_with("cpu")).count()).ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_is_all_of_its_processors() {
        let stat =
            "cpu  1 2 3 4 5 6 7 250 0 0\ncpu0 1 1 1 1 1 1 1 100 0 0\ncpu3 0 1 2 3 4 5 6 150 0 0\nintr 5 6\n";
        let stolen = Duration::from_millis(2500);
        assert_eq!(machine(stat), Some(Machine { stolen, processors: 2 }));
        assert_eq!(machine(""), None);
    }

    #[test]
    fn losses_of_both_internet_protocols_add_up() {
        let snmp = "Ip: Forwarding\nIp: 1\n\
                    Udp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors InCsumErrors IgnoredMulti MemErrors\n\
                    Udp: 100 2 31 90 20 4 7 0 1\n\
                    UdpLite: InDatagrams RcvbufErrors\nUdpLite: 5 5\n";
        let snmp6 = "Ip6InReceives 5\nUdp6InDatagrams 9\nUdp6RcvbufErrors \t300\nUdp6SndbufErrors 40\nUdp6MemErrors 0\n\
                     UdpLite6RcvbufErrors 7\n";
        assert_eq!(udp_losses(snmp, snmp6), UdpLosses { receive: 321, send: 44 });
        assert_eq!(udp_losses("", "Udp6"), UdpLosses::default());
    }

    #[test]
    fn linux_counts_what_a_socket_has_no_room_for() {
        let before = read();
        let receiver = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        rustix::net::sockopt::set_socket_recv_buffer_size(&receiver, 4096).unwrap();
        let sender = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        sender.connect(receiver.local_addr().unwrap()).unwrap();
        (0..100).for_each(|_| drop(sender.send(&[7; 1000])));
        let dropped = httperf_sys::dropped_datagrams(&receiver).unwrap();
        let lost = read().since(&before).udp.receive;
        // Others on this machine may lose some as well.
        assert!(dropped > 0 && lost >= dropped.into(), "{lost} lost, {dropped} by this socket");
    }

    #[test]
    fn linux_says_what_a_thread_has_used() {
        let before = read();
        let mut sum = 0_u64;
        while read().thread.cpu == before.thread.cpu {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        let usage = read().since(&before);
        assert!(usage.workers[0].cpu.total() > Duration::ZERO, "after {sum} additions");
        // The two are read one after the other.
        let slack = Duration::from_millis(50);
        assert!(usage.cpu.total() + slack >= usage.workers[0].cpu.total());
        assert!(usage.processors > 0);
    }
}

//! The machine that a result was measured on.

use std::fs;

use httperf_report::result::Machine;

use crate::runner::machine;

/// This machine.
pub(super) fn this(open_files: u64) -> Machine {
    let names = rustix::system::uname();
    let text = |name: &std::ffi::CStr| name.to_string_lossy().into_owned();
    Machine {
        host: text(names.nodename()),
        system: format!("{} {} {}", text(names.sysname()), text(names.release()), text(names.machine())),
        processor: machine::processor_name(),
        processors: u32::try_from(machine::processor_count()).unwrap_or(u32::MAX),
        memory: memory(),
        open_files,
        local_ports: local_ports(),
    }
}

/// The value behind a name and a colon, in the first line that has it.
fn field(file: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn memory() -> Option<u64> {
    let kilobytes = field("/proc/meminfo", "MemTotal")?;
    kilobytes.strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

fn local_ports() -> Option<(u16, u16)> {
    let text = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").ok()?;
    let mut bounds = text.split_whitespace().map(str::parse);
    Some((bounds.next()?.ok()?, bounds.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linux_says_what_machine_it_runs_on() {
        let machine = this(1024);
        assert!(machine.system.starts_with("Linux ") && !machine.host.is_empty(), "{machine:?}");
        assert!(machine.memory.is_some_and(|bytes| bytes > 1 << 20) && machine.processors > 0);
        assert!(machine.local_ports.is_some_and(|(first, last)| first < last));
    }
}

//! This machine, as Linux describes it.

use std::fs;
use std::thread::available_parallelism;

use httperf_report::result::Machine;
use serde::{Deserialize, Serialize};

/// A machine with its system and this program: figures hold for no other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineIdentity {
    /// The name of the processor.
    pub cpu: String,
    /// The number of its processors.
    pub processors: usize,
    /// The release of the kernel.
    pub kernel: String,
    /// The version of httperf.
    pub httperf: String,
    /// The build that runs: `release`, or `debug`, which checks itself as it goes and is slower.
    #[serde(default = "release")]
    pub build: String,
}

/// The build of results that do not tell theirs.
fn release() -> String {
    "release".to_owned()
}

impl MachineIdentity {
    /// This one.
    #[must_use]
    pub fn this() -> Self {
        let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        Self {
            cpu: processor_name().unwrap_or_else(|| "unknown".to_owned()),
            processors: processor_count(),
            kernel: kernel.trim().to_owned(),
            httperf: env!("CARGO_PKG_VERSION").to_owned(),
            build: if cfg!(debug_assertions) { "debug".to_owned() } else { release() },
        }
    }
}

/// The description of this machine in a result document. `open_files` is the limit of this process.
#[must_use]
pub fn this(open_files: u64) -> Machine {
    let names = rustix::system::uname();
    let text = |name: &std::ffi::CStr| name.to_string_lossy().into_owned();
    Machine {
        host: text(names.nodename()),
        system: format!("{} {} {}", text(names.sysname()), text(names.release()), text(names.machine())),
        processor: processor_name(),
        processors: u32::try_from(processor_count()).unwrap_or(u32::MAX),
        memory: memory(),
        open_files,
        local_ports: local_ports(),
    }
}

/// The name of the first processor, by the names of its fields on x86 and on others; `None` if Linux has none.
#[must_use]
pub fn processor_name() -> Option<String> {
    processor_name_in(&cpu_info())
}

/// The number of processors of the machine, whether or not this process may use them.
#[must_use]
pub fn processor_count() -> usize {
    let count =
        cpu_info().lines().filter(|line| field_of(line).is_some_and(|(name, _)| name == "processor")).count();
    // Some systems list none.
    if count > 0 { count } else { available_parallelism().map_or(1, std::num::NonZero::get) }
}

fn cpu_info() -> String {
    fs::read_to_string("/proc/cpuinfo").unwrap_or_default()
}

fn processor_name_in(cpu_info: &str) -> Option<String> {
    let value = |name: &str| {
        let fields = cpu_info.lines().filter_map(field_of);
        fields.filter(|(field, _)| *field == name).map(|(_, value)| value.to_owned()).next()
    };
    let arm = || Some(format!("implementer {} part {}", value("CPU implementer")?, value("CPU part")?));
    value("model name").or_else(arm)
}

fn field_of(line: &str) -> Option<(&str, &str)> {
    line.split_once(':').map(|(name, value)| (name.trim(), value.trim()))
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
    fn a_processor_is_called_what_the_system_calls_it() {
        let name = |text: &str| processor_name_in(text);
        let x86 = "processor\t: 0\nmodel name\t: AMD EPYC: x\nflags : a\n";
        assert_eq!(name(x86).as_deref(), Some("AMD EPYC: x"));
        let arm = "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n";
        assert_eq!(name(arm).as_deref(), Some("implementer 0x41 part 0xd0c"));
        assert_eq!(name(""), None);
        assert!(processor_count() > 0);
    }

    #[test]
    fn this_machine_is_the_same_each_time() {
        let machine = MachineIdentity::this();
        assert_eq!(machine, MachineIdentity::this());
        assert!(machine.processors > 0 && !machine.kernel.is_empty());
    }

    #[test]
    fn linux_says_what_machine_it_runs_on() {
        let machine = this(1024);
        assert!(machine.system.starts_with("Linux ") && !machine.host.is_empty(), "{machine:?}");
        assert!(machine.memory.is_some_and(|bytes| bytes > 1 << 20) && machine.processors > 0);
        assert!(machine.local_ports.is_some_and(|(first, last)| first < last));
    }
}

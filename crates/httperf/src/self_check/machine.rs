//! Which machine this is, for figures that hold on no other.

use std::fs;

use rustix::thread::{CpuSet, sched_getaffinity};
use serde::{Deserialize, Serialize};

/// A machine with its system and this program: what figures of the one do not hold for the other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// What the processor is called.
    pub cpu: String,
    /// How many processors this process may use.
    pub processors: usize,
    /// The release of the kernel.
    pub kernel: String,
    /// The version of httperf.
    pub httperf: String,
}

impl Machine {
    /// This one.
    #[must_use]
    pub fn this() -> Self {
        let processors = sched_getaffinity(None).map_or(1, |usable: CpuSet| usable.count() as usize);
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let kernel = read("/proc/sys/kernel/osrelease").trim().to_owned();
        Self {
            cpu: cpu_name(&read("/proc/cpuinfo")),
            processors,
            kernel,
            httperf: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}

/// What `/proc/cpuinfo` calls the first processor, by the names of its fields on x86 and on others.
fn cpu_name(cpuinfo: &str) -> String {
    let value = |name: &str| {
        cpuinfo.lines().find_map(|line| {
            let (field, value) = line.split_once(':')?;
            (field.trim() == name).then(|| value.trim().to_owned())
        })
    };
    let arm = || Some(format!("implementer {} part {}", value("CPU implementer")?, value("CPU part")?));
    value("model name").or_else(arm).unwrap_or_else(|| "unknown".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_processor_is_called_what_the_system_calls_it() {
        assert_eq!(cpu_name("processor\t: 0\nmodel name\t: AMD EPYC: x\nflags : a\n"), "AMD EPYC: x");
        let arm = "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n";
        assert_eq!(cpu_name(arm), "implementer 0x41 part 0xd0c");
        assert_eq!(cpu_name(""), "unknown");
    }

    #[test]
    fn this_machine_is_the_same_each_time() {
        let machine = Machine::this();
        assert_eq!(machine, Machine::this());
        assert!(machine.processors > 0 && !machine.kernel.is_empty());
    }
}

//! What this machine is, as Linux has it.

use std::fs;
use std::thread::available_parallelism;

/// What the first processor is called, by the names of its fields on x86 and on others; `None` if Linux does not say.
pub(crate) fn processor_name() -> Option<String> {
    processor_name_in(&cpu_info())
}

/// How many processors the machine has, whether or not this process may use them.
pub(crate) fn processor_count() -> usize {
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
}

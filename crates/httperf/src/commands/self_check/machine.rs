//! Which machine this is, for figures that hold on no other.

use std::fs;

use serde::{Deserialize, Serialize};

use crate::runner::machine;

/// A machine with its system and this program: what figures of the one do not hold for the other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// What the processor is called.
    pub cpu: String,
    /// How many processors it has.
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
        let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        Self {
            cpu: machine::processor_name().unwrap_or_else(|| "unknown".to_owned()),
            processors: machine::processor_count(),
            kernel: kernel.trim().to_owned(),
            httperf: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_the_same_each_time() {
        let machine = Machine::this();
        assert_eq!(machine, Machine::this());
        assert!(machine.processors > 0 && !machine.kernel.is_empty());
    }
}

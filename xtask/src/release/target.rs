//! The platforms that releases are built for.

use anyhow::Context as _;

/// Platforms, those of the most common machines first.
pub(super) const TARGETS: [Target; 4] = [
    Target { triple: "x86_64-unknown-linux-gnu", arch: Arch::X86, libc: Libc::Gnu },
    Target { triple: "x86_64-unknown-linux-musl", arch: Arch::X86, libc: Libc::Musl },
    Target { triple: "aarch64-unknown-linux-gnu", arch: Arch::Arm, libc: Libc::Gnu },
    Target { triple: "aarch64-unknown-linux-musl", arch: Arch::Arm, libc: Libc::Musl },
];

/// The oldest C library that packages for distributions run with: that of Debian 10 and RHEL 8.
pub(super) const GLIBC: &str = "2.28";

/// A platform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Target {
    /// Rust's name.
    pub(super) triple: &'static str,
    pub(super) arch: Arch,
    pub(super) libc: Libc,
}

/// A processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arch {
    X86,
    Arm,
}

/// A C library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Libc {
    /// That of the distribution, linked when the program starts.
    Gnu,
    /// Linked into the program.
    Musl,
}

impl Target {
    pub(super) fn named(triple: &str) -> anyhow::Result<Self> {
        TARGETS.into_iter().find(|target| target.triple == triple).with_context(|| {
            let known = TARGETS.map(|target| target.triple).join(", ");
            format!("--target: expected one of {known}; got `{triple}`")
        })
    }

    /// The name that the linker is given, with the version of the C library if that matters.
    pub(super) fn for_linker(self) -> String {
        match self.libc {
            Libc::Gnu => format!("{}.{GLIBC}", self.triple),
            Libc::Musl => self.triple.to_owned(),
        }
    }

    /// Whether programs for it run on this machine.
    pub(super) fn runs_here(self) -> bool {
        self.arch.name() == std::env::consts::ARCH
    }
}

impl Arch {
    /// The name in Rust, RPM and file names.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::X86 => "x86_64",
            Self::Arm => "aarch64",
        }
    }

    /// The name in Debian and in images.
    pub(super) fn short_name(self) -> &'static str {
        match self {
            Self::X86 => "amd64",
            Self::Arm => "arm64",
        }
    }
}

//! Why connections fail, in the classes of the classic report.

use std::fmt;

/// Why a connection failed. One failed connection is one failure, however many calls it carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The client's own time limit ran out, in any phase.
    ClientTimeout,
    /// The kernel's time limit ran out (`ETIMEDOUT`).
    SocketTimeout,
    /// Nobody listens (`ECONNREFUSED`).
    Refused,
    /// Reset, or closed while a reply was due (`ECONNRESET`, `EPIPE`, end of the stream).
    Reset,
    /// No descriptor left in this process (`EMFILE`).
    FdUnavailable,
    /// No local address or port left (`EADDRNOTAVAIL`).
    AddressUnavailable,
    /// No descriptor left in the system (`ENFILE`).
    FileTableFull,
    /// Any other error of the system, or a reply that cannot be understood.
    Other,
}

impl Failure {
    /// All classes, in the order of [`Errors`].
    pub const ALL: [Self; 8] = [
        Self::ClientTimeout,
        Self::SocketTimeout,
        Self::Refused,
        Self::Reset,
        Self::FdUnavailable,
        Self::AddressUnavailable,
        Self::FileTableFull,
        Self::Other,
    ];
}

/// The report's word for it.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ClientTimeout => "client-timo",
            Self::SocketTimeout => "socket-timo",
            Self::Refused => "connrefused",
            Self::Reset => "connreset",
            Self::FdUnavailable => "fd-unavail",
            Self::AddressUnavailable => "addrunavail",
            Self::FileTableFull => "ftab-full",
            Self::Other => "other",
        })
    }
}

/// Failed connections by class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Errors {
    counts: [u64; Failure::ALL.len()],
}

impl Errors {
    /// Counts one failed connection.
    pub fn add(&mut self, failure: Failure) {
        self.counts[failure as usize] += 1;
    }

    /// Failed connections of one class.
    #[must_use]
    pub fn count(&self, failure: Failure) -> u64 {
        self.counts[failure as usize]
    }

    /// Failed connections of all classes.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }
}

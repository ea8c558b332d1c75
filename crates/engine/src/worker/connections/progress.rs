//! Progress of a transport, and of the bytes on it.

use std::io;

use httperf_stats::Instant;

/// Progress of a transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// The socket is being connected.
    Connecting,
    /// A proxy is asked for a tunnel.
    Tunnelling,
    /// The TLS handshake is under way.
    Handshaking,
    /// It carries calls.
    Established,
}

/// Outcome of a write.
pub(super) enum Write {
    /// There is nothing to write.
    Idle,
    /// The socket takes no more for now.
    Blocked,
    /// The socket took bytes, `count` of which belong to requests, at `at`. `is_all`: it took all of them.
    Sent { count: usize, at: Instant, is_all: bool },
}

/// Returns the number of bytes that a socket took, `None` if it takes no more for now. After a signal it may.
pub(super) fn taken(written: io::Result<usize>) -> io::Result<Option<usize>> {
    match written {
        Ok(count) => Ok(Some(count)),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(Some(0)),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(error),
    }
}

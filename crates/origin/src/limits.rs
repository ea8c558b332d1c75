//! Named bounds on what clients may make the server hold or do, and the process's bound on descriptors.

use std::io;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Bounds on what clients may make the server hold or do.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections open at once; more are reset on arrival. `None` leaves it to the descriptor limit.
    pub connections: Option<u32>,
    /// Connections that the kernel may hold for us before they are accepted.
    pub backlog: u32,
    /// A connection on which no byte moves for this long, while no reply is being prepared, is closed.
    pub idle: Duration,
    /// The longest a reply is delayed, whatever a distribution or a path says.
    pub delay: Duration,
    /// Images on a page that `/page/N` asks for.
    pub page_images: u32,
    /// How long to wait for a client to close after us before the socket is dropped.
    pub linger: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: None,
            backlog: 4096,
            idle: Duration::from_secs(300),
            delay: Duration::from_secs(3600),
            page_images: 10_000,
            linger: Duration::from_secs(2),
        }
    }
}

/// Raises the soft limit on open descriptors to the hard one, for a server that is to hold many connections.
/// Returns the limit now in force; `None` means there is none.
pub fn raise_descriptor_limit() -> io::Result<Option<u64>> {
    let limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })?;
    }
    Ok(limit.maximum)
}

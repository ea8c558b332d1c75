//! Limits on clients, and the process's limit of open descriptors.

use std::io;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Limits on what clients can make the server hold or do.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections open at once; those beyond are reset on arrival. `None` leaves it to the descriptor limit.
    pub connections: Option<u32>,
    /// Connections that the kernel may queue until they are accepted.
    pub backlog: u32,
    /// The time without traffic after which a connection is closed, unless a reply is being prepared.
    pub idle: Duration,
    /// The maximum delay of a reply, whatever a distribution or a path asks for.
    pub delay: Duration,
    /// The maximum number of images that `/page/N` may ask for.
    pub page_images: u32,
    /// The maximum number of events in a stream, and of tokens in a completion.
    pub events: u32,
    /// The maximum number of events in one write.
    pub events_together: u32,
    /// The maximum size of an event's data that a path may ask for.
    pub event_size: u64,
    /// The maximum size of a message on a WebSocket, decompressed; a larger one ends it.
    pub message_size: usize,
    /// The maximum size of a message of gRPC, either way; a larger one ends its call.
    pub grpc_message_size: usize,
    /// The maximum size of a request's body that an answer depends on; other bodies are read and forgotten.
    pub request_kept: usize,
    /// The time to wait for a client to close after the server before the socket is dropped.
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
            events: 1_000_000,
            events_together: 1000,
            event_size: 64 << 10,
            message_size: 16 << 20,
            grpc_message_size: 4 << 20,
            request_kept: 8 << 20,
            linger: Duration::from_secs(2),
        }
    }
}

/// Raises the soft limit of open descriptors to the hard one, for a server with many connections. Returns the limit now
/// in force; `None` if there is none.
pub fn raise_descriptor_limit() -> io::Result<Option<u64>> {
    let limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })?;
    }
    Ok(limit.maximum)
}

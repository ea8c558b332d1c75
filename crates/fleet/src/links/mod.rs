//! Ways for bytes between ranks: sockets, or files in a shared folder.

mod folder;
mod place;
mod tcp;

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{EventfdFlags, eventfd};

use crate::host_event::PeerId;
use crate::wire::Time;

pub use self::place::{MeetingPlace, NotAPlace};

/// Something that a link has for its side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// A peer is there, and comes from this place: an address, or a file.
    Connected(PeerId, String),
    /// A peer has sent bytes.
    Bytes(PeerId, Vec<u8>),
    /// A peer is gone, for this reason.
    Closed(PeerId, String),
}

/// The links of a side to its peers.
pub trait Links: Send {
    /// Waits this long, or until there is something for the side, and adds that to `inputs` with the time of its arrival.
    fn wait(&mut self, timeout: Duration, inputs: &mut Vec<(Time, Input)>);

    /// Sends bytes to a peer, as soon as it takes them.
    fn send(&mut self, peer: PeerId, bytes: Vec<u8>);

    /// Closes the link to a peer when all was sent.
    fn close(&mut self, peer: PeerId);

    /// Returns true if everything was sent.
    fn is_idle(&self) -> bool;

    /// Returns what ends a wait early.
    fn wake(&self) -> Wake;
}

/// Ends a wait early, from another thread.
#[derive(Clone, Debug)]
pub struct Wake(Arc<OwnedFd>);

impl Wake {
    fn new() -> io::Result<Self> {
        Ok(Self(Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?)))
    }

    /// Ends the wait that goes on, or the next.
    pub fn wake(&self) {
        // This only fails if the counter is full, and then the wait ends anyway.
        let _full = rustix::io::write(&*self.0, &1_u64.to_ne_bytes());
    }

    /// Lets the next wait last.
    fn clear(&self) {
        let _empty = rustix::io::read(&*self.0, &mut [0; 8]);
    }
}

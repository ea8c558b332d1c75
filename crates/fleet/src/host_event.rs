//! Events of a meeting, for rank 0.

use std::time::Duration;

use crate::clock::ClockOffset;
use crate::meeting_error::MeetingError;
use crate::wire::Join;

/// A connection to rank 0, as its driver names it.
pub type PeerId = u64;

/// An event of a meeting, for rank 0.
#[derive(Clone, Debug, PartialEq)]
pub enum HostEvent {
    /// A peer was sent away: it does not know the secret, or what it sent is no message. Its claim cannot be relied on.
    Stranger {
        /// The connection.
        peer: PeerId,
        /// Where it came from.
        from: String,
        /// The rank that it claimed to be, if it got that far.
        claimed: Option<u32>,
    },
    /// All ranks are there, and their clocks are known.
    Met,
    /// The run starts then, on the own clock.
    Start {
        /// The instant.
        at: Duration,
    },
    /// A second of a rank has ended. The content is the program's.
    Second {
        /// The rank.
        rank: u32,
        /// What it sent.
        content: Vec<u8>,
    },
    /// A rank asks for the end of the run.
    StopAsked {
        /// The rank.
        rank: u32,
    },
    /// A rank has said nothing for a while.
    Silent {
        /// The rank.
        rank: u32,
    },
    /// A rank that was silent is back.
    Heard {
        /// The rank.
        rank: u32,
    },
    /// A rank is gone, and what it measured with it.
    Lost {
        /// The rank.
        rank: u32,
        /// The reason, for the end of a sentence.
        reason: String,
    },
    /// The result of a rank. The content is the program's.
    Outcome {
        /// The rank.
        rank: u32,
        /// What it sent.
        content: Vec<u8>,
    },
    /// A rank has sent its result and could not do something else.
    Complaint {
        /// The rank.
        rank: u32,
        /// The reason: a sentence.
        reason: String,
    },
    /// The run is over at all ranks, and clocks were compared.
    Ended,
    /// The ranks cannot make the run. All were told and sent away.
    Failed(MeetingError),
}

/// Another rank, as far as rank 0 knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// The process, as it described itself.
    pub join: Join,
    /// Its clock.
    pub clock: Option<ClockOffset>,
    /// True if it is gone.
    pub is_lost: bool,
}

//! Several equal processes that carry out one run: the ranks of a fleet.
//!
//! * [`rank`]: which of them this one is.
//! * [`Host`] and [`Guest`]: how they meet, agree on a start, and bring together what they measured. Both are values
//!   without sockets and clocks.
//! * [`MeetingPlace`] and [`Driver`]: the sockets or files by which they do, and the thread on which they live.
//!
//! What ranks tell each other of a run (plans, seconds, results) is the program's: here it is bytes.

#[cfg(any(test, fuzzing))]
pub mod fuzzing;
pub mod rank;

mod clock;
mod driver;
mod guest;
mod host;
mod host_event;
mod links;
mod meeting_error;
mod secret;
mod wire;

pub use clock::ClockOffset;
pub use driver::{Driver, Side, now};
pub use guest::{Guest, GuestEvent};
pub use host::Host;
pub use host_event::{HostEvent, Known, PeerId};
pub use links::{Input, Links, MeetingPlace, NotAPlace, Wake};
pub use meeting_error::MeetingError;
pub use secret::{Nonce, Secret};
pub use wire::{Join, Time};

//! Calls of the system and of BoringSSL that have no safe wrapper elsewhere, or none that is fast enough. Every `unsafe`
//! block of the project is in this crate, in small functions that are safe to call with any arguments.

#![expect(unsafe_code, reason = "the one place for it; each block says why it is sound")]

mod datagrams;
mod messages;
mod process;
mod socket;
mod stamps;
pub mod tls;

pub use datagrams::{Arrived, dropped_datagrams, prepare_datagrams, receive_datagrams, send_datagrams};
pub use process::is_ignored;
pub use socket::{Instruction, TcpInfo, attach_filter, set_local_port_range, tcp_info};
pub use stamps::{Sent, Stamped, number_sent, receive, send_stamped, stamp_received, take_sent};
